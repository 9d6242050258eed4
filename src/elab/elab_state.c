/* SPDX-License-Identifier: MIT */
/* State of elaboration: variables and the token, closures, joins of branches, loops.
 *
 * The IR has no mutable state. A `let mut` variable is a Var whose node is replaced at an assignment, and the token
 * is one more such variable that nobody sees. Where control branches, each arm starts from the same state; the
 * variables that some arm changed come out of the switch as further results of every arm. A loop carries the
 * variables that its body assigns, found by a scan beforehand (elab_scan.c), since a loop's parameters have to be
 * known before its body is elaborated.
 *
 * A check whose value is unit (assert, fail, a call) would be lost where nothing uses that unit. If there is a token,
 * the token is made to come after it (el_settle); else the check goes on as the value until someone can attach it to
 * a value that is used: the end of a block, a loop, a function. */
#include "elab/elab_internal.h"
#include <string.h>

void el_init_ctx(Ctx *c, Elab *e, const Ctx *outer, Span at, Sym function, const Subst *subst) {
  *c = (Ctx){.e = e, .w = e->w, .subst = subst, .function = function};
  c->definition = outer ? outer->definition : (uint32_t)hash_mix(at.source, at.start);
  map_init(&c->vars, e->arena);
  c->region = region_open(e->w, NULL);
}

Site el_site(Ctx *c, Span at) {
  bool library = at.source && sources_get(c->e->sources, at.source)->library;
  return ir_site(c->w, at, c->function, c->definition, library);
}

Var el_var(Ctx *c, Node *x) { return (Var){x, c->region, NULL}; }

Node *el_read(Ctx *c, const Var *v) {
  return v->region == c->region ? v->node : region_import(c->region, v->region, v->node);
}

void el_bind(Ctx *c, Binding *b, Node *x) {
  Var *v = NEW(c->e->arena, Var);
  *v = el_var(c, x);
  map_put(&c->vars, b, v);
}

/* Outside of the present Func only definitions are visible: values come as its parameters. */
Var *el_lookup(Ctx *c, Binding *b) {
  Var *v = map_get(&c->vars, b);
  for (Ctx *o = c->outer; !v && o; o = o->outer) {
    v = map_get(&o->vars, b);
    if (v && !v->def) v = NULL;
  }
  return v;
}

Node *el_token(Ctx *c) {
  if (c->token.node) return el_read(c, &c->token);
  return el_error(c, (Span){0}, c->e->t_token, "effect-not-allowed", "an effect can't happen here");
}

Node *el_take(Ctx *c, Node *value_and_token) {
  c->token = el_var(c, ir_get(c->w, value_and_token, 1));
  return ir_get(c->w, value_and_token, 0);
}

Node *el_after(Ctx *c, Node *x, Node *first) {
  if (first->op == OP_UNIT || !(first->flags & NODE_FAILS)) return x;
  return ir_op2(c->w, OP_AFTER, x, first);
}

const Node *el_mark(const Ctx *c) { return c->token.node; }

Node *el_behind(Ctx *c, const Node *mark, Node *x) {
  if (!c->token.node || c->token.node == mark || x->type->kind == T_UNIT) return x;
  if (x->type->kind == T_TUPLE) {
    Node **parts = NEW_ARRAY(c->e->arena, Node *, x->type->n + 1);
    for (int i = 0; i < x->type->n; i++) parts[i] = el_behind(c, mark, ir_get(c->w, x, i));
    return ir_tuple(c->w, x->type, parts);
  }
  if (el_leaves(c->e, x->type) & LEAF_FUN) return x;
  return ir_after(c->w, x, el_token(c), WAITS_END); /* the lengths of an array wait, too */
}

void el_all_behind(Ctx *c, const Node *mark, Node **xs, int n) {
  for (int i = 0; i < n; i++) xs[i] = el_behind(c, mark, xs[i]);
}

Node *el_settle(Ctx *c, Node *value) {
  if (value->type->kind != T_UNIT || value->op == OP_UNIT) return value;
  if (!(value->flags & NODE_FAILS)) return ir_unit(c->w);
  if (!c->token.node) return value;
  c->token = el_var(c, el_after(c, el_token(c), value));
  return ir_unit(c->w);
}

/* A unit inside a tuple is a constant to the IR: a check that goes that way takes an int along. */
Node *el_pack_check(Ctx *c, Node *x) { return x->type->kind == T_UNIT ? el_after(c, ir_int(c->w, 0), x) : x; }

Node *el_unpack_check(Ctx *c, Node *x, IrType *t) { return t->kind == T_UNIT ? el_after(c, ir_unit(c->w), x) : x; }

Node *el_with_token(Ctx *c, Node *value) {
  value = el_settle(c, value);
  return ir_pair(c->w, value, el_token(c));
}

Node *el_error(Ctx *c, Span at, IrType *t, const char *code, const char *message) {
  if (c->e->diags) diag_error(c->e->diags, at, code, "%s", message);
  c->e->failed = true;
  return ir_zero(c->w, t);
}

bool el_deep(Ctx *c, Span at) {
  char here;
  uintptr_t now = (uintptr_t)&here, base = c->e->stack_base;
  uintptr_t used = now < base ? base - now : now - base;
  if (used < LIMIT_C_STACK) return false;
  el_error(c, at, c->e->t_unit, "too-deep", "this is nested too deeply");
  return true;
}

/* ---- Closures ----------------------------------------------------------------- */

Node *el_closure(Ctx *c, IrType *fun, Sym name, ClosureBody body, void *user) {
  Region *outer = c->region, *r = region_open(c->w, outer);
  Ctx saved = *c;
  Node *x = region_param(r, fun->args[0]);
  c->outer_muts = c->muts.len;
  c->bound = (Vars){0};
  c->token = (Var){0};
  if (fun->effect) c->token = (Var){region_param(r, c->e->t_token), r, NULL};
  c->region = r;
  Node *value = body(c, user, x);
  if (fun->effect) value = el_with_token(c, value);
  Graph *g = region_close(r, value, name);
  c->region = outer;
  c->token = saved.token;
  c->outer_muts = saved.outer_muts;
  c->bound = saved.bound;
  return ir_closure(c->w, g, fun, r->caps.data, r->caps.len);
}

/* ---- Branches ------------------------------------------------------------------ */

static Var *state_slot(Ctx *c, int k) { return k ? c->muts.data[k - 1] : &c->token; }

static void state_restore(Ctx *c, const Var *from, int n) {
  for (int k = 0; k < n; k++) *state_slot(c, k) = from[k];
}

static void state_save(Ctx *c, Var *to, int n) {
  for (int k = 0; k < n; k++) to[k] = *state_slot(c, k);
}

void join_open(Ctx *c, Join *j, int narms) {
  Arena *a = c->e->arena;
  int n = c->muts.len + 1;
  *j = (Join){.narms = narms, .outer = c->region, .nstate = n};
  j->regions = NEW_ARRAY(a, Region *, narms);
  j->values = NEW_ARRAY(a, Node *, narms);
  j->before = NEW_ARRAY(a, Var, n);
  j->after = NEW_ARRAY(a, Var, n * narms);
  state_save(c, j->before, n);
}

void join_arm(Ctx *c, Join *j, int arm) {
  j->arm = arm;
  j->regions[arm] = c->region = region_open(c->w, j->outer);
}

void join_end(Ctx *c, Join *j, Node *value) {
  j->values[j->arm] = el_settle(c, value);
  state_save(c, j->after + j->arm * j->nstate, j->nstate);
  state_restore(c, j->before, j->nstate);
  c->region = j->outer;
}

static bool state_changed(const Join *j, int k) {
  for (int i = 0; i < j->narms; i++) {
    const Var *v = &j->after[i * j->nstate + k];
    if (v->node != j->before[k].node || v->region != j->before[k].region) return true;
  }
  return false;
}

/* One node per arm that holds its value (if `valued`) and the changed variables. */
static Node **arm_results(Ctx *c, const Join *j, const int *changed, int n, bool valued) {
  Node **out = NEW_ARRAY(c->e->arena, Node *, j->narms);
  Node **parts = NEW_ARRAY(c->e->arena, Node *, n + 1);
  IrType **types = NEW_ARRAY(c->e->arena, IrType *, n + 1);
  for (int i = 0; i < j->narms; i++) {
    int m = 0;
    c->region = j->regions[i];
    if (valued) parts[m++] = el_pack_check(c, j->values[i]);
    for (int k = 0; k < n; k++) parts[m++] = el_read(c, &j->after[i * j->nstate + changed[k]]);
    for (int k = 0; k < m; k++) types[k] = parts[k]->type;
    out[i] = ir_tuple(c->w, ir_tuple_type(c->w, types, NULL, m), parts);
  }
  c->region = j->outer;
  return out;
}

static Node *join_switch(Ctx *c, Join *j, Node *selector, Node **results, const int *map, int nmap) {
  if (!map) return region_branch(selector, j->regions, results, j->narms);
  Region **arms = NEW_ARRAY(c->e->arena, Region *, nmap);
  Node **values = NEW_ARRAY(c->e->arena, Node *, nmap);
  for (int i = 0; i < nmap; i++) arms[i] = j->regions[map[i]], values[i] = results[map[i]];
  return region_branch(selector, arms, values, nmap);
}

Node *join_close(Ctx *c, Join *j, Node *selector, IrType *t, const int *map, int nmap) {
  int *changed = NEW_ARRAY(c->e->arena, int, j->nstate), n = 0;
  for (int k = 0; k < j->nstate; k++)
    if (state_changed(j, k)) changed[n++] = k;
  bool valued = t->kind != T_UNIT;
  for (int i = 0; i < j->narms; i++) valued |= j->values[i]->op != OP_UNIT;
  if (!n) return valued ? join_switch(c, j, selector, j->values, map, nmap) : ir_unit(c->w);
  Node *all = join_switch(c, j, selector, arm_results(c, j, changed, n, valued), map, nmap);
  for (int k = 0; k < n; k++) *state_slot(c, changed[k]) = el_var(c, ir_get(c->w, all, k + valued));
  return valued ? el_unpack_check(c, ir_get(c->w, all, 0), t) : ir_unit(c->w);
}

/* ---- Loops ----------------------------------------------------------------------- */

/* Opens a region with the parameters of a body (with accumulators) or of a condition. */
static Region *loop_region(Ctx *c, const LoopSpec *s, Region *outer, int nstate, Node **i, Node **state, Node **token) {
  Region *r = region_open(c->w, outer);
  int ncarried = s->nstate - s->naccs;
  *i = region_param(r, c->e->t_int);
  for (int k = 0; k < ncarried; k++) state[k] = region_param(r, s->state[k]->type);
  *token = s->effect ? region_param(r, c->e->t_token) : NULL;
  for (int k = ncarried; k < nstate; k++) state[k] = region_param(r, s->state[k]->type);
  return r;
}

static Node *loop_result_of(Ctx *c, const LoopSpec *s, Node **state, Node *elem) {
  int n = 0, ncarried = s->nstate - s->naccs;
  Node **parts = NEW_ARRAY(c->e->arena, Node *, s->nstate + 2);
  IrType **types = NEW_ARRAY(c->e->arena, IrType *, s->nstate + 2);
  for (int k = 0; k < ncarried; k++) parts[n++] = state[k];
  if (s->effect) parts[n++] = el_token(c);
  for (int k = ncarried; k < s->nstate; k++) parts[n++] = state[k];
  if (s->elem) parts[n++] = elem;
  for (int k = 0; k < n; k++) types[k] = parts[k]->type;
  return ir_tuple(c->w, ir_tuple_type(c->w, types, NULL, n), parts);
}

/* What stands for a graph's captures in the loop. Condition and body may have some in common. */
static void add_captures(LoopBuilder *b, const Region *r, Map *captured, Node **args) {
  for (int k = 0; k < r->caps.len; k++) {
    Node *x = r->caps.data[k], *inside = map_get(captured, x);
    if (!inside) map_put(captured, x, inside = loop_add(b, LOOP_CAPTURED, x));
    args[r->nown + k] = inside;
  }
}

/* Adds the state and yields what stands for the parameters of body, or condition. */
static Node **loop_operands(Ctx *c, const LoopSpec *s, LoopBuilder *b, Node *token) {
  int n = 0, ncarried = s->nstate - s->naccs;
  Node **args = NEW_ARRAY(c->e->arena, Node *, s->nstate + 2);
  args[n++] = loop_index(b);
  for (int k = 0; k < ncarried; k++) args[n++] = loop_add(b, LOOP_CARRIED, s->state[k]);
  if (s->effect) args[n++] = loop_add(b, LOOP_CARRIED, token);
  for (int k = ncarried; k < s->nstate; k++) args[n++] = loop_add(b, LOOP_ACC, s->state[k]);
  return args;
}

/* The result of a graph whose region is r, in the loop; its own parameters are some of those of the body. */
static Node *in_loop(Ctx *c, LoopBuilder *b, Region *r, Node *result, Node **own, Map *captured) {
  Node **args = NEW_ARRAY(c->e->arena, Node *, r->nown + r->caps.len + 1);
  memcpy(args, own, sizeof *own * (size_t)r->nown);
  add_captures(b, r, captured, args);
  return ir_substitute(c->w, result, args, r->nown + r->caps.len, 0);
}

static Node *loop_cond(Ctx *c, const LoopSpec *s, Region *outer, LoopBuilder *b, Node **own, Map *captured) {
  int ncarried = s->nstate - s->naccs;
  Node *i, **state = NEW_ARRAY(c->e->arena, Node *, s->nstate + 1), *token;
  Region *r = c->region = loop_region(c, s, outer, ncarried, &i, state, &token);
  c->token = (Var){0};
  return in_loop(c, b, r, s->cond(c, s->user, state), own, captured);
}

Node *el_loop(Ctx *c, LoopSpec *s) {
  if (!s->nstate && !s->effect && !s->elem && !s->cond) return NULL; /* nothing comes out of it */
  Region *outer = c->region;
  Var outside = c->token;
  Node *token = s->effect ? el_token(c) : NULL, *i, *inner;
  Node **state = NEW_ARRAY(c->e->arena, Node *, s->nstate + 1);
  Region *r = c->region = loop_region(c, s, outer, s->nstate, &i, state, &inner);
  c->token = (Var){inner, inner ? r : NULL, NULL};
  Node *elem = s->body(c, s->user, i, state);
  Node *result = loop_result_of(c, s, state, elem);

  LoopBuilder *b = loop_open(c->w, false);
  Node **own = loop_operands(c, s, b, token);
  Map captured;
  map_init(&captured, c->w->temp);
  loop_yield(b, in_loop(c, b, r, result, own, &captured));
  if (s->sized) loop_size_all(b);
  Node *cond = s->cond ? loop_cond(c, s, outer, b, own, &captured) : NULL;
  loop_close(b, cond ? NULL : s->n, cond, el_site(c, s->at));
  c->region = outer;
  c->token = outside;

  Node *all = s->loop = loop_value(b);
  int n = 0, ncarried = s->nstate - s->naccs;
  for (int k = 0; k < ncarried; k++) s->state[k] = ir_get(c->w, all, n++);
  if (s->effect) c->token = el_var(c, ir_get(c->w, all, n++));
  for (int k = ncarried; k < s->nstate; k++) s->state[k] = ir_get(c->w, all, n++);
  return s->elem ? ir_get(c->w, all, n) : NULL;
}

Node *el_build(Ctx *c, Node *n, IrType *elem, bool effect, bool sized, Span at,
               Node *(*body)(Ctx *, void *, Node *, Node **), void *user) {
  LoopSpec s = {.n = n, .elem = elem, .effect = effect, .sized = sized, .body = body, .user = user, .at = at};
  return el_loop(c, &s);
}
