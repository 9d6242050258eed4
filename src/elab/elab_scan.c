/* SPDX-License-Identifier: MIT */
/* Questions asked of a piece of syntax before it is elaborated: has it an effect, which variables does
 * it assign, which does it capture.
 *
 * One walk serves all: `scan` visits an expression and what is below it in no particular order, from a list instead of
 * by recursion, because blocks may be thousands of expressions long. The visitor says whether to go below. */
#include "elab/elab_internal.h"

typedef Vec(Expr *) ExprList;
typedef struct Scan {
  Ctx *c;
  Elab *e;
  bool found;
  Map set, bound;
  Vec(Binding *) refs;
  Vec(Var *) vars;
} Scan;
/* Returns whether to look below. */
typedef bool (*Visit)(Scan *s, Expr *e);

static void add_all(Arena *a, ExprList *l, Expr **es, int n) {
  for (int i = 0; i < n; i++)
    if (es[i]) vec_push(a, *l, es[i]);
}

static void add_children(Arena *a, ExprList *l, Expr *e) {
  add_all(a, l, e->args, e->nargs);
  for (int i = 0; e->kind == E_LET && i < e->nlets; i++) add_all(a, l, &e->lets[i].value, 1);
  for (int i = 0; e->kind == E_MATCH && i < e->ncases; i++) {
    add_all(a, l, &e->cases[i].guard, 1);
    add_all(a, l, &e->cases[i].body, 1);
  }
  for (int i = 0; e->kind == E_COMPREHENSION && i < e->ngens; i++) add_all(a, l, &e->gens[i].bound, 1);
  for (int i = 0; e->kind == E_INDEX && i < e->nsubs; i++) {
    add_all(a, l, &e->subs[i].lo, 1);
    add_all(a, l, &e->subs[i].hi, 1);
  }
  for (int i = 0; e->kind == E_INTERP && i < e->nparts; i++) add_all(a, l, &e->parts[i].hole, 1);
}

static void scan(Scan *s, Expr **es, int n, Visit visit) {
  ExprList todo = {0};
  add_all(s->e->arena, &todo, es, n);
  while (todo.len && !s->found) {
    Expr *e = todo.data[--todo.len];
    if (visit(s, e)) add_children(s->e->arena, &todo, e);
  }
}

/* ---- Effects ------------------------------------------------------------------- */

static bool applies_effect(Ctx *c, Expr *f, int n) {
  Type *t = type_repr(f->type);
  for (; n > 0 && t->kind == TY_FUN; n--) {
    if (el_effect(c, t->args[2])) return true;
    t = type_repr(t->args[1]);
  }
  return false;
}

static bool visit_effect(Scan *s, Expr *e) {
  if (e->kind == E_FUN) return false;
  if (e->kind == E_APPLY) s->found |= applies_effect(s->c, e->args[0], e->nargs - 1);
  if (e->kind == E_BINARY && e->op == BIN_PIPE) s->found |= applies_effect(s->c, e->args[1], 1);
  if (e->kind == E_BINARY && e->op == BIN_PIPE_LEFT) s->found |= applies_effect(s->c, e->args[0], 1);
  return true;
}

bool scan_effect(Ctx *c, Expr *e) {
  Scan s = {.c = c, .e = c->e};
  scan(&s, &e, 1, visit_effect);
  return s.found;
}

static bool visit_clock_within(Scan *s, Expr *e) {
  const Binding *b = e->kind == E_VAR ? e->binding : NULL;
  const RtPrim *rt = b && b->kind == BIND_PRIM ? ir_rt_find(*b->name == '_' ? b->name + 1 : b->name) : NULL;
  s->found |= rt && rt->clock;
  return true;
}

static bool visit_clock(Scan *s, Expr *e) { return e->kind != E_FUN && visit_clock_within(s, e); }

bool scan_clock(Ctx *c, Expr **es, int n, bool within) {
  Scan s = {.c = c, .e = c->e};
  scan(&s, es, n, within ? visit_clock_within : visit_clock);
  return s.found;
}

static bool visit_work(Scan *s, Expr *e) {
  static const ExprKind plain[] = {E_INT, E_FLOAT, E_BOOL,   E_STRING, E_UNIT,  E_VAR,   E_CTOR,
                                   E_FUN, E_TUPLE, E_RECORD, E_WITH,   E_FIELD, E_ANNOT, E_SEQ};
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    if (e->kind == plain[i]) return e->kind != E_FUN;
  IrType *t = el_type(s->c, e->type);
  s->found |= (e->kind != E_BINARY && e->kind != E_NEGATE) || (t->kind != T_INT && t->kind != T_FLOAT) ||
              e->op == BIN_PIPE || e->op == BIN_PIPE_LEFT;
  return true;
}

bool scan_work(Ctx *c, Expr *e) {
  Scan s = {.c = c, .e = c->e};
  scan(&s, &e, 1, visit_work);
  return s.found;
}

static bool visit_unit_call(Scan *s, Expr *e) {
  if (e->kind == E_FUN) return false;
  bool call = e->kind == E_APPLY || (e->kind == E_BINARY && (e->op == BIN_PIPE || e->op == BIN_PIPE_LEFT)) ||
              e->kind == E_MATCH;
  s->found |= call && el_type(s->c, e->type)->kind == T_UNIT;
  return true;
}

bool scan_unit_calls(Ctx *c, Expr *e) {
  Scan s = {.c = c, .e = c->e};
  scan(&s, &e, 1, visit_unit_call);
  return s.found;
}

/* ---- Assigned variables ---------------------------------------------------------- */

static Binding *assigned_root(const Expr *e) {
  if (e->binding) return e->binding;
  const Expr *p = e->args[0];
  while (p->kind != E_VAR && p->nargs) p = p->args[0];
  return p->binding;
}

static bool visit_assigned(Scan *s, Expr *e) {
  if (e->kind == E_FUN) return false;
  if (e->kind != E_ASSIGN) return true;
  Binding *b = assigned_root(e);
  if (b && !map_get(&s->set, b)) {
    map_put(&s->set, b, b);
    vec_push(s->e->arena, s->refs, b);
  }
  return true;
}

static bool is_live(Ctx *c, const Var *v) {
  for (int i = 0; i < c->muts.len; i++)
    if (c->muts.data[i] == v) return true;
  return false;
}

Var **scan_assigned(Ctx *c, Expr **es, int n, int *count) {
  Scan s = {.c = c, .e = c->e};
  map_init(&s.set, c->e->arena);
  scan(&s, es, n, visit_assigned);
  for (int i = 0; i < s.refs.len; i++) {
    Var *v = map_get(&c->vars, s.refs.data[i]);
    if (v && is_live(c, v)) vec_push(c->e->arena, s.vars, v);
  }
  *count = s.vars.len;
  return s.vars.data;
}

/* ---- Captured variables ------------------------------------------------------------ */

static void bind_all(Scan *s, Pat *p) {
  if (!p) return;
  if (p->binding) map_put(&s->bound, p->binding, p);
  for (int i = 0; i < p->nargs; i++) bind_all(s, p->args[i]);
}

static void reference(Scan *s, Binding *b) {
  if (!b || b->kind == BIND_TOP || b->kind == BIND_PRIM || b->kind == BIND_FOREIGN || map_get(&s->set, b)) return;
  map_put(&s->set, b, b);
  vec_push(s->e->arena, s->refs, b);
}

static bool visit_captures(Scan *s, Expr *e) {
  for (int i = 0; e->kind == E_FUN && i < e->nparams; i++) bind_all(s, e->params[i]);
  for (int i = 0; e->kind == E_LET && i < e->nlets; i++) bind_all(s, e->lets[i].pat);
  for (int i = 0; e->kind == E_MATCH && i < e->ncases; i++) bind_all(s, e->cases[i].pat);
  for (int i = 0; e->kind == E_COMPREHENSION && i < e->ngens; i++) bind_all(s, e->gens[i].pat);
  if (e->kind == E_FOR) bind_all(s, e->var);
  if (e->kind == E_VAR) reference(s, e->binding);
  return true;
}

typedef Vec(Binding *) BindingList;

static void add_capture(Ctx *c, BindingList *out, Binding *b) {
  for (int i = 0; i < out->len; i++)
    if (out->data[i] == b) return;
  vec_push(c->e->arena, *out, b);
}

/* The bindings whose values the expressions need from outside, through local definitions as well; without
 * those of `group`, which are the definitions themselves. */
Binding **scan_captures(Ctx *c, Expr **es, int n, Binding **group, int ngroup, int *count) {
  Scan s = {.c = c, .e = c->e};
  map_init(&s.set, c->e->arena);
  map_init(&s.bound, c->e->arena);
  scan(&s, es, n, visit_captures);
  for (int i = 0; i < ngroup; i++) map_put(&s.bound, group[i], group[i]);
  BindingList out = {0};
  for (int i = 0; i < s.refs.len; i++) {
    Binding *b = s.refs.data[i];
    Var *v = map_get(&s.bound, b) ? NULL : el_lookup(c, b);
    if (!v) continue;
    if (!v->def) add_capture(c, &out, b);
    for (int k = 0; v->def && k < v->def->ncaptures; k++) add_capture(c, &out, v->def->captures[k]);
  }
  *count = out.len;
  return out.data;
}

/* ---- Recursion ------------------------------------------------------------------------ */

static bool visit_refs(Scan *s, Expr *e) {
  if (e->kind == E_VAR && e->binding) map_put(&s->set, e->binding, e);
  return true;
}

/* Whether the member of a group of definitions can come to call itself. */
bool scan_reaches_itself(Elab *e, Binding *const *group, Expr *const *values, int n, int member) {
  Map *refs = NEW_ARRAY(e->arena, Map, n);
  bool *reached = NEW_ARRAY(e->arena, bool, n);
  int *todo = NEW_ARRAY(e->arena, int, n + 1), ntodo = 0;
  todo[ntodo++] = member;
  for (int i = 0; i < n; i++) {
    Scan s = {.e = e};
    map_init(&s.set, e->arena);
    Expr *value = values[i];
    scan(&s, &value, 1, visit_refs);
    refs[i] = s.set;
  }
  while (ntodo) {
    int at = todo[--ntodo];
    for (int i = 0; i < n; i++) {
      if (reached[i] || !map_get(&refs[at], group[i])) continue;
      reached[i] = true;
      todo[ntodo++] = i;
    }
  }
  return reached[member];
}
