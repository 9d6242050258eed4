/* SPDX-License-Identifier: MIT */
/* Arrays and loops: subscripts, comprehensions, assignment, `for`, `while`.
 *
 * Whatever can fail is a check node of its own, with the place it fails at; the raw operations behind it assume
 * that all is well. A comprehension is a loop with one stacked output for each generator, nested. An assignment to
 * a path makes the whole value anew from the inside out: lowering does it in place. */
#include "elab/elab_internal.h"

/* ---- Subscripts --------------------------------------------------------------------- */

typedef struct Sub {
  bool slice;
  Var lo, hi;
  Span at;
} Sub; /* node NULL: left out */
typedef struct SubList {
  const Sub *subs;
  int n;
  Var array;
  Span at;
} SubList;

static Node *checked_index(Ctx *c, Node *a, int dim, Node *i, Span at) {
  return ir_check(c->w, OP_CHECK_INDEX, i, ir_len(c->w, a, dim), NULL, el_site(c, at));
}

static Node *slice(Ctx *c, Node *a, const Sub *s) {
  if (!s->lo.node && !s->hi.node) return a;
  Node *n = ir_len(c->w, a, 0);
  Node *lo = s->lo.node ? el_read(c, &s->lo) : ir_int(c->w, 0);
  Node *hi = s->hi.node ? el_read(c, &s->hi) : n;
  lo = ir_check(c->w, OP_CHECK_SLICE, lo, hi, n, el_site(c, s->at));
  return ir_slice(c->w, a, lo, ir_op2(c->w, OP_ISUB, hi, lo));
}

static Node *subscripts(Ctx *c, Node *a, const Sub *subs, int n, Span at);

static Node *slice_row(Ctx *c, void *user, Node *i, Node **state) {
  (void)state;
  SubList *l = user;
  return subscripts(c, ir_index(c->w, el_read(c, &l->array), &i, 1), l->subs, l->n, l->at);
}

static IrType *subscript_type(IrType *t, const Sub *subs, int n) {
  if (!n) return t;
  return subs[0].slice ? NULL : subscript_type(t->args[0], subs + 1, n - 1);
}

/* The type of `a[subs]`. */
static IrType *sliced_type(Ctx *c, IrType *t, const Sub *subs, int n) {
  IrType *plain = subscript_type(t, subs, n);
  if (plain) return plain;
  IrType *rest = sliced_type(c, t->args[0], subs + 1, n - 1);
  return subs[0].slice ? ir_array_type(c->w, rest) : rest;
}

static Node *subscripts(Ctx *c, Node *a, const Sub *subs, int n, Span at) {
  if (!n) return a;
  if (subs[0].slice) {
    Node *b = slice(c, a, subs);
    if (n == 1) return b;
    SubList rows = {subs + 1, n - 1, el_var(c, b), at};
    IrType *elem = sliced_type(c, b->type->args[0], subs + 1, n - 1);
    return el_build(c, ir_len(c->w, b, 0), elem, false, true, at, slice_row, &rows);
  }
  int m = 0;
  Node **is = NEW_ARRAY(c->e->arena, Node *, n);
  for (; m < n && !subs[m].slice; m++) is[m] = checked_index(c, a, m, el_read(c, &subs[m].lo), subs[m].at);
  return subscripts(c, ir_index(c->w, a, is, m), subs + m, n - m, at);
}

static Var optional(Ctx *c, Expr *e) { return e ? el_var(c, el_expr(c, e)) : (Var){0}; }

static void wait_behind(Ctx *c, const Node *mark, Var *v) {
  if (v->node) *v = el_var(c, el_behind(c, mark, el_read(c, v)));
}

Node *el_index(Ctx *c, Expr *e) {
  const Node *mark = el_mark(c);
  Node *a = el_expr(c, e->args[0]);
  Sub *subs = NEW_ARRAY(c->e->arena, Sub, e->nsubs);
  for (int i = 0; i < e->nsubs; i++) {
    Subscript *s = &e->subs[i];
    subs[i] = (Sub){.slice = s->is_slice, .at = s->span};
    subs[i].lo = optional(c, s->lo);
    subs[i].hi = optional(c, s->hi);
  }
  for (int i = 0; i < e->nsubs; i++) {
    wait_behind(c, mark, &subs[i].lo);
    wait_behind(c, mark, &subs[i].hi);
  }
  return subscripts(c, a, subs, e->nsubs, e->span);
}

/* ---- Comprehensions --------------------------------------------------------------------- */

typedef struct Level {
  Expr *e;
  int k;
  Var source;
  IrType *elem;
} Level;

static Node *comprehension_level(Ctx *c, Expr *e, int k, IrType *type);

static Node *comprehension_body(Ctx *c, void *user, Node *i, Node **state) {
  (void)state;
  Level *l = user;
  Generator *g = &l->e->gens[l->k];
  Node *x = i;
  if (!g->is_range) x = ir_index(c->w, el_read(c, &l->source), &i, 1);
  el_bind_pattern(c, g->pat, x, g->span);
  if (l->k + 1 < l->e->ngens) return comprehension_level(c, l->e, l->k + 1, l->elem);
  return el_expr(c, l->e->args[0]);
}

static bool is_plain(Ctx *c, Expr *e);

static bool are_plain(Ctx *c, Expr **es, int n) {
  for (int k = 0; k < n; k++)
    if (es[k] && !is_plain(c, es[k])) return false;
  return true;
}

/* The same of the elements of an array, if these are arrays. */
static bool has_plain_elements(Ctx *c, Expr **es, int n) {
  return !n || el_type(c, es[0]->type)->kind != T_ARRAY || are_plain(c, es, n);
}

/* The same of what generators from k on, and the body, make. */
static bool has_plain_levels(Ctx *c, const Expr *e, int k) {
  for (; k < e->ngens; k++)
    if (!is_plain(c, e->gens[k].bound)) return false;
  return has_plain_elements(c, e->args, 1);
}

static bool has_plain_subs(Ctx *c, const Expr *e) {
  for (int k = 0; k < e->nsubs; k++)
    if (e->subs[k].is_slice && !are_plain(c, (Expr *[]){e->subs[k].lo, e->subs[k].hi}, 2)) return false;
  return true;
}

/* Are the lengths of e told by names, literals, comprehensions, operators and primitives? Then what inlining does to
 * functions doesn't decide whether they are known. */
static bool is_plain(Ctx *c, Expr *e) {
  switch (e->kind) {
  case E_VAR:
  case E_INT:
  case E_FLOAT:
  case E_BOOL: return true;
  case E_ARRAY: return has_plain_elements(c, e->args, e->nargs);
  case E_COMPREHENSION: return has_plain_levels(c, e, 0);
  case E_INDEX: return has_plain_subs(c, e) && is_plain(c, e->args[0]);
  case E_BINARY: return e->op != BIN_PIPE && e->op != BIN_PIPE_LEFT && are_plain(c, e->args, e->nargs);
  case E_APPLY: {
    const Expr *f = e->args[0];
    return f->kind == E_VAR && f->binding->kind == BIND_PRIM && are_plain(c, e->args + 1, e->nargs - 1);
  }
  case E_FIELD:
  case E_NEGATE:
  case E_ANNOT: return are_plain(c, e->args, e->nargs);
  default: return false;
  }
}

/* Do the arrays that generator k's level consists of keep their sizes where there are none? */
static bool has_plain_rows(Ctx *c, const Expr *e, int k) {
  return k + 1 < e->ngens ? has_plain_levels(c, e, k + 1) : is_plain(c, e->args[0]);
}

static Node *comprehension_level(Ctx *c, Expr *e, int k, IrType *type) {
  Generator *g = &e->gens[k];
  const Node *mark = el_mark(c);
  Node *bound = el_expr(c, g->bound), *n;
  if (g->is_range) n = ir_op2(c->w, OP_IMAX, bound, ir_int(c->w, 0));
  else n = ir_len(c->w, bound, 0);
  n = el_behind(c, mark, n);
  bool effect = scan_effect(c, e->args[0]);
  for (int i = k + 1; i < e->ngens; i++) effect |= scan_effect(c, e->gens[i].bound);
  Level l = {e, k, el_var(c, bound), type->args[0]};
  bool sized = l.elem->kind == T_ARRAY && has_plain_rows(c, e, k);
  return el_build(c, n, l.elem, effect, sized, e->span, comprehension_body, &l);
}

Node *el_comprehension(Ctx *c, Expr *e) { return comprehension_level(c, e, 0, el_type(c, e->type)); }

/* ---- Assignment ----------------------------------------------------------------------------- */

typedef struct Step {
  Node *index;
  Sym field;
  Span at;
} Step; /* one of them */
typedef Vec(Step) Path;
typedef struct Assignment {
  const Step *steps;
  int n;
  Expr *e;
  Node *value;
} Assignment;

static void path_subscripts(Ctx *c, Path *p, Expr *place) {
  for (int i = 0; i < place->nsubs; i++) {
    Step s = {.at = place->subs[i].span};
    if (place->subs[i].is_slice) {
      el_error(c, s.at, c->e->t_unit, "slice-assignment", "a slice can't be assigned to");
      continue;
    }
    s.index = el_expr(c, place->subs[i].lo);
    vec_push(c->e->arena, *p, s);
  }
}

/* From the variable to the place. */
static void path_of(Ctx *c, Path *p, Expr *place) {
  if (place->kind == E_ANNOT || place->kind == E_FIELD || place->kind == E_INDEX) path_of(c, p, place->args[0]);
  if (place->kind == E_INDEX) path_subscripts(c, p, place);
  if (place->kind != E_FIELD) return;
  Step s = {.field = place->text, .at = place->span};
  vec_push(c->e->arena, *p, s);
}

static Node *updated(Ctx *c, Node *old, const Assignment *a, int k);

static Node *updated_field(Ctx *c, Node *old, const Assignment *a, int k) {
  IrType *t = old->type;
  int at = el_field(t, a->steps[k].field);
  Node **parts = NEW_ARRAY(c->e->arena, Node *, t->n);
  for (int i = 0; i < t->n; i++) parts[i] = ir_get(c->w, old, i);
  parts[at] = updated(c, parts[at], a, k + 1);
  return ir_tuple(c->w, t, parts);
}

/* A row that replaces another must have its length. */
static Node *checked_row(Ctx *c, Node *row, Node *array, int m, Span at) {
  for (int d = 0; d < ir_rank(row->type); d++) {
    Node *n = ir_check(c->w, OP_CHECK_SIZE, ir_len(c->w, row, d), ir_len(c->w, array, m + d), NULL, el_site(c, at));
    row = el_after(c, row, n);
  }
  return row;
}

/* As many indices at once as there are dimensions: a row is not taken out and put back. */
static Node *updated_element(Ctx *c, Node *old, const Assignment *a, int k) {
  int m = 0, rank = ir_rank(old->type);
  Node **is = NEW_ARRAY(c->e->arena, Node *, rank + 1);
  for (; m < rank && k + m < a->n && a->steps[k + m].index; m++)
    is[m] = checked_index(c, old, m, a->steps[k + m].index, a->steps[k + m].at);
  bool plain = k + m == a->n && !a->e->compound;
  Node *element = plain ? a->value : updated(c, ir_index(c->w, old, is, m), a, k + m);
  return ir_update(c->w, old, is, m, checked_row(c, element, old, m, a->steps[k].at));
}

static Node *updated(Ctx *c, Node *old, const Assignment *a, int k) {
  if (k < a->n) return a->steps[k].index ? updated_element(c, old, a, k) : updated_field(c, old, a, k);
  return a->e->compound ? el_binary(c, a->e->op, old, a->value, old->type, a->e->span) : a->value;
}

Node *el_assign(Ctx *c, Expr *e) {
  const Node *mark = el_mark(c);
  Path p = {0};
  Expr *root = e->args[0];
  path_of(c, &p, root);
  while (root->kind != E_VAR && root->nargs) root = root->args[0];
  Node *value = el_expr(c, e->args[1]);
  for (int i = 0; i < p.len; i++)
    if (p.data[i].index) p.data[i].index = el_behind(c, mark, p.data[i].index);
  if (e->compound || value->type->kind == T_ARRAY) value = el_behind(c, mark, value);
  Var *v = el_lookup(c, e->binding ? e->binding : root->binding);
  if (!v || !v->node)
    return el_error(c, e->span, c->e->t_unit, "unsupported", "this variable can't be assigned to here");
  Assignment a = {p.data, p.len, e, value};
  *v = el_var(c, updated(c, el_read(c, v), &a, 0));
  return ir_unit(c->w);
}

/* ---- for and while ------------------------------------------------------------------------------ */

/* State of a loop: the assigned variables, then (if any) what checks hang on, then the condition. */
typedef struct Loop {
  Expr *e;
  Var **vars;
  int nvars;
  int check, cond; /* places in the state, or -1 */
  Var from;
} Loop;

static void vars_in(Ctx *c, const Loop *l, Node **state) {
  for (int k = 0; k < l->nvars; k++) *l->vars[k] = el_var(c, state[k]);
}

static void loop_statement(Ctx *c, const Loop *l, Expr *body, Node **state) {
  Node *x = el_settle(c, el_expr(c, body));
  if (l->check >= 0) state[l->check] = el_after(c, state[l->check], x);
}

static Node *for_body(Ctx *c, void *user, Node *i, Node **state) {
  Loop *l = user;
  vars_in(c, l, state);
  el_bind_pattern(c, l->e->var, ir_op2(c->w, l->e->down ? OP_ISUB : OP_IADD, el_read(c, &l->from), i), l->e->var->span);
  loop_statement(c, l, l->e->args[2], state);
  for (int k = 0; k < l->nvars; k++) state[k] = el_read(c, l->vars[k]);
  return NULL;
}

static Node *while_body(Ctx *c, void *user, Node *i, Node **state) {
  (void)i;
  Loop *l = user;
  vars_in(c, l, state);
  loop_statement(c, l, l->e->args[1], state);
  if (l->cond >= 0) state[l->cond] = el_expr(c, l->e->args[0]);
  for (int k = 0; k < l->nvars; k++) state[k] = el_read(c, l->vars[k]);
  return NULL;
}

static Node *while_cond(Ctx *c, void *user, Node **state) {
  Loop *l = user;
  if (l->cond >= 0) return state[l->cond];
  vars_in(c, l, state);
  return el_expr(c, l->e->args[0]);
}

static Node *run_loop(Ctx *c, Loop *l, LoopSpec *s, Expr *body) {
  l->check = !s->effect && scan_unit_calls(c, body) ? l->nvars : -1;
  s->nstate = l->nvars + (l->check >= 0) + (l->cond >= 0);
  if (l->cond >= 0) l->cond = s->nstate - 1;
  s->state = NEW_ARRAY(c->e->arena, Node *, s->nstate + 1);
  if (l->cond >= 0) s->state[l->cond] = el_expr(c, l->e->args[0]);
  for (int k = 0; k < l->nvars; k++) s->state[k] = el_read(c, l->vars[k]);
  if (l->check >= 0) s->state[l->check] = el_pack_check(c, ir_unit(c->w));
  s->user = l;
  s->at = l->e->span;
  el_loop(c, s);
  vars_in(c, l, s->state);
  if (l->check < 0)
    return s->cond && !s->effect ? el_settle(c, ir_after_loop(c->w, ir_unit(c->w), s->loop)) : ir_unit(c->w);
  return el_settle(c, el_unpack_check(c, s->state[l->check], c->e->t_unit));
}

Node *el_for(Ctx *c, Expr *e) {
  const Node *mark = el_mark(c);
  Node *from = el_expr(c, e->args[0]), *to = el_expr(c, e->args[1]);
  Node *trips = e->down ? ir_count_between(c->w, to, from, true) : ir_count_between(c->w, from, to, true);
  trips = el_behind(c, mark, trips);
  Loop l = {.e = e, .cond = -1, .from = el_var(c, from)};
  l.vars = scan_assigned(c, &e->args[2], 1, &l.nvars);
  LoopSpec s = {.n = trips, .effect = scan_effect(c, e->args[2]), .body = for_body};
  return run_loop(c, &l, &s, e->args[2]);
}

/* A condition that assigns or has an effect can't be a graph of its own: its value is carried instead. */
Node *el_while(Ctx *c, Expr *e) {
  Loop l = {.e = e};
  int assigned_in_cond;
  scan_assigned(c, e->args, 1, &assigned_in_cond);
  l.vars = scan_assigned(c, e->args, 2, &l.nvars);
  bool effect = scan_effect(c, e->args[0]);
  l.cond = effect || assigned_in_cond ? 0 : -1;
  LoopSpec s = {.effect = effect || scan_effect(c, e->args[1]), .body = while_body, .cond = while_cond};
  return run_loop(c, &l, &s, e->args[1]);
}

/* ---- Appending --------------------------------------------------------------------------------------- */

typedef struct Append {
  Var a, b, n, i;
} Append;

static Node *append_arm(Ctx *c, void *user, bool left) {
  Append *p = user;
  Node *i = el_read(c, &p->i);
  if (!left) i = ir_op2(c->w, OP_ISUB, i, el_read(c, &p->n));
  return ir_index(c->w, el_read(c, left ? &p->a : &p->b), &i, 1);
}

static Node *append_element(Ctx *c, void *user, Node *i, Node **state) {
  (void)state;
  Append p = *(Append *)user;
  p.i = el_var(c, i);
  return el_if(c, ir_op2(c->w, OP_ILT, i, el_read(c, &p.n)), append_arm, &p, p.a.node->type->args[0]);
}

Node *el_array_append(Ctx *c, Node *a, Node *b, Span at) {
  Node *n = ir_len(c->w, a, 0);
  Append p = {el_var(c, a), el_var(c, b), el_var(c, n), {0}};
  Node *sum = ir_possible_length(c->w, ir_op2(c->w, OP_IADD, n, ir_len(c->w, b, 0)), el_site(c, at));
  return el_build(c, sum, a->type->args[0], false, true, at, append_element, &p);
}
