/* SPDX-License-Identifier: MIT */
/* Forward mode: a graph of values becomes a graph of values and tangents, node by node. Tangents have the types of
 * cotangents (a tangent of an array is a bag, dense where it comes from an array), and an absent one is zero.
 *
 * Nested graphs take pairs (value, tangent) for what is active, and return pairs. The normal forms of branches and
 * loops take them apart. */
#include "ad/ad_internal.h"

/* x, as a pair if it has a tangent. */
static Node *dual(const Diff *f, const Node *x) {
  return ad_active(f, x) ? ir_pair(f->w, ad_fwd(f, x), ad_cot(f, x)) : ad_fwd(f, x);
}

static void set_dual(Diff *f, int at, Node *pair) {
  f->fwd[at] = ir_get(f->w, pair, 0);
  f->cot[at] = ir_get(f->w, pair, 1);
}

/* ---- Branches and loops -------------------------------------------------------------------- */
static void tangent_switch(Diff *f, int at) {
  World *w = f->w;
  Node *n = f->nodes[at];
  Fact *act = ad_facts(f, n->ops + 1, n->nops - 1, ACTIVE);
  BranchBuilder *b = branch_open(w, ad_fwd(f, n->ops[0]));
  for (int i = 1; i < n->nops; i++) branch_add(b, dual(f, n->ops[i]));
  for (int t = 0; t < n->ngraphs; t++) branch_graph(b, ad_tangent(w, n->graphs[t], act));
  set_dual(f, at, branch_close(b));
}

/* What stands for the body's n parameters in the loop over duals. Of a sliced array with a tangent the element's
 * tangent is read at the index. */
static Node **dual_operands(Diff *f, LoopBuilder *b, const Node *loop, int n, const Fact *facts) {
  World *w = f->w;
  const LoopInfo *l = loop->loop;
  Node **ops = loop->ops + loop_first(l);
  Node **args = NEW_ARRAY(w->arena, Node *, n);
  args[0] = loop_index(b);
  for (int i = 1; i < n; i++) {
    LoopPart part = loop_part(l, i - 1);
    Node *x = ad_fwd(f, ops[i - 1]), *dx = ad_cot(f, ops[i - 1]);
    if (part != LOOP_SLICED || !facts[i]) args[i] = loop_add(b, part, facts[i] ? ir_pair(w, x, dx) : x);
    else {
      Node *e = loop_add(b, part, x), *array = loop_add(b, LOOP_CAPTURED, x);
      args[i] = ir_pair(w, e, ir_bag_get(w, loop_add(b, LOOP_CAPTURED, dx), array, args[0]));
    }
  }
  return args;
}

/* The condition, over values alone. */
static Node *dual_cond(World *w, const LoopInfo *l, Graph *cond, int n, Node **args, const Fact *facts) {
  Node **values = NEW_ARRAY(w->temp, Node *, n);
  for (int i = 0; i < n; i++) values[i] = i && facts[i] ? ir_get(w, args[i], 0) : args[i];
  return ir_instantiate(w, cond, loop_cond_args(w, l, cond, values), 0);
}

static void tangent_loop(Diff *f, int at) {
  World *w = f->w;
  Node *n = f->nodes[at];
  const LoopInfo *l = n->loop;
  Graph *body = n->graphs[0];
  int slots = loop_slots(l), last = slots + l->nstacked, p = body->nparams;
  Fact *facts = ad_body_facts(f, n);
  LoopBuilder *b = loop_open(w, l->down);
  Node **args = dual_operands(f, b, n, p, facts);
  Node *both = ir_instantiate(w, ad_tangent(w, body, facts), args, 0);
  Node *y = ir_get(w, both, 0), *dy = ir_get(w, both, 1);
  int *tangents = NEW_ARRAY(w->arena, int, last + 1); /* where those of a stacked result are stacked, or 0 */
  for (int k = 0; k < slots; k++) {
    Node *x = ir_get(w, y, k);
    loop_next(b, args[1 + k], facts[1 + k] ? ir_pair(w, x, ir_get(w, dy, k)) : x);
  }
  for (int k = slots; k < last; k++) loop_stack(b, ir_get(w, y, k));
  for (int k = slots; k < last; k++) {
    Node *dx = ir_get(w, dy, k);
    tangents[k] = ad_is_zero(dx) ? 0 : loop_stack(b, ir_fill(w, dx, ir_get(w, y, k)));
  }
  Node *cond = l->has_cond ? dual_cond(w, l, n->graphs[1], p, args, facts) : NULL;
  loop_close(b, cond ? NULL : ad_fwd(f, n->ops[0]), cond, n->site);
  IrType *ct = ad_cotangent(w, n->type);
  Node **ys = NEW_ARRAY(w->arena, Node *, last + 1), **ts = NEW_ARRAY(w->arena, Node *, last + 1);
  for (int k = 0; k <= last; k++) {
    ts[k] = ir_zero(w, ct->args[k]);
    ys[k] = k < slots ? loop_result(b, args[1 + k]) : k < last ? loop_stacked(b, k - slots) : loop_trips(b);
    if (k < slots && facts[1 + k]) ts[k] = ir_get(w, ys[k], 1), ys[k] = ir_get(w, ys[k], 0);
    if (tangents[k]) ts[k] = ir_to_bag(w, loop_stacked(b, tangents[k]));
  }
  f->fwd[at] = ir_tuple(w, n->type, ys);
  f->cot[at] = ir_tuple(w, ct, ts);
}

/* ---- Calls ------------------------------------------------------------------------------------ */
/* Parameters of f, then the tangents of the active ones. No pairs: calls are specialised for arguments that are
 * functions. */
static Func *dual_function(World *w, Func *f, const Fact *act) {
  void **known = ir_memo_closures(w, f, "dual", act, (size_t)f->nparams);
  if (*known) return *known;
  Vec(IrType *) ps = {0};
  Node **args = NEW_ARRAY(w->arena, Node *, f->nparams + 1);
  for (int i = 0; i < f->nparams; i++) vec_push(w->arena, ps, f->params[i]);
  for (int i = 0; i < f->nparams; i++) {
    args[i] = ir_param(w, i, f->params[i]);
    if (!act[i]) continue;
    vec_push(w->arena, ps, ad_cotangent(w, f->params[i]));
    args[i] = ir_pair(w, args[i], ir_param(w, ps.len - 1, ps.data[ps.len - 1]));
  }
  IrType *result = ir_pair_type(w, f->result, ad_cotangent(w, f->result));
  Func *d = *known = ir_func(w, f->name, ps.data, ps.len, result);
  d->recursive = f->recursive;
  d->span = f->span;
  ir_func_finish(w, d, ir_instantiate(w, ad_tangent(w, f->graph, act), args, 0));
  return d;
}

/* dy, if what the pullback gives for functions that have tangents carries something: else those would be lost. */
static Node *nothing_lost(Diff *f, const Node *n, Node *pullback, Node *zero, Node *dy) {
  World *w = f->w;
  Node *cots = ir_apply(w, pullback, zero, NULL, n->site);
  for (int i = 0; i < n->nops; i++) {
    if (n->ops[i]->type->kind != T_FUN || !ad_active(f, n->ops[i])) continue;
    Node *carries = ad_is_carrier(w, n->nops == 1 ? cots : ir_get(w, cots, i));
    dy = ir_op2(w, OP_AFTER, dy, ir_assert(w, carries, ad_lost_function(w), n->site));
  }
  return dy;
}

/* From floats to a float: such a rule is multiplication by the partials, which may be infinite. */
static bool is_scalar_rule(World *w, const Func *fn, const Node *n) {
  for (int i = 0; i < n->nops; i++)
    if (n->ops[i]->type->kind != T_FLOAT && ad_has_slot(w, n->ops[i]->type)) return false;
  return fn->result->kind == T_FLOAT;
}

static Node *partials_tangent(Diff *f, const Node *n, Node *pullback, Node **ts) {
  Node *sum = ir_float(f->w, 0);
  for (int i = 0; i < n->nops; i++) {
    if (!ad_active(f, n->ops[i]) || ad_is_zero(ts[i])) continue;
    Node *cots = ir_apply(f->w, pullback, ts[i], NULL, n->site);
    sum = ir_op2(f->w, OP_CADD, sum, n->nops == 1 ? cots : ir_get(f->w, cots, i));
  }
  return sum;
}

/* A rule written in the language, for tangents as users see them. */
static void rule_tangent(Diff *f, int at, Func *fn, Node **args, const Node *n) {
  World *w = f->w;
  Node **all = NEW_ARRAY(w->arena, Node *, 2 * n->nops), **ts = all + n->nops, *both, *dy;
  for (int i = 0; i < n->nops; i++) {
    all[i] = args[i];
    ts[i] = ad_to_public(w, n->ops[i]->type, args[i], ad_cot(f, n->ops[i]));
  }
  if (fn->tangent) {
    both = ir_call(w, fn->tangent, all, n->site);
    dy = ir_get(w, both, 1);
  } else if (is_scalar_rule(w, fn, n)) {
    both = ir_call(w, fn->pullback, args, n->site);
    dy = partials_tangent(f, n, ir_get(w, both, 1), ts);
  } else { /* the pullback is linear: its own pullback, wherever that is taken, takes tangents to tangents */
    both = ir_call(w, fn->pullback, args, n->site);
    Node *zero = ad_zero_public(w, fn->result, ir_get(w, both, 0));
    Node *point = ad_general_public(w, fn->result, ir_get(w, both, 0));
    Node *back = ir_get(w, ad_vjp(w, ir_get(w, both, 1), point, NULL, n->site), 1);
    dy = ir_apply(w, back, n->nops == 1 ? ts[0] : ir_tuple(w, back->type->args[0], ts), NULL, n->site);
    dy = nothing_lost(f, n, ir_get(w, both, 1), zero, dy);
  }
  f->fwd[at] = ir_get(w, both, 0);
  f->cot[at] = ad_to_cotangent(w, fn->result, dy, NULL, n->site);
}

static void tangent_call(Diff *f, int at) {
  World *w = f->w;
  Node *n = f->nodes[at];
  Func *fn = ad_call_target(w, n);
  Node **args = ad_fwd_all(f, n->ops, n->nops);
  if (fn->tangent || fn->pullback) {
    rule_tangent(f, at, fn, args, n);
    return;
  }
  if (!fn->graph) {
    f->fwd[at] = ad_rebuild(f, n);
    f->cot[at] = ad_no_graph(w, ad_cotangent(w, n->type), fn, n->site);
    return;
  }
  Fact *act = ad_facts(f, n->ops, n->nops, ACTIVE);
  Nodes all = {0};
  for (int i = 0; i < n->nops; i++) vec_push(w->arena, all, args[i]);
  for (int i = 0; i < n->nops; i++)
    if (act[i]) vec_push(w->arena, all, ad_cot(f, n->ops[i]));
  set_dual(f, at, ir_call(w, dual_function(w, fn, act), all.data, n->site));
}

/* A checkpoint of the function of values and tangents, those of its captures too: a reverse mode outside computes
 * both again. */
static void tangent_checkpoint(Diff *f, int at) {
  World *w = f->w;
  Node *n = f->nodes[at], *token = n->nops == 3 ? n->ops[2] : NULL;
  Target t = ir_target(w, n->ops[0], n->ops[1], token, n->site);
  int nx = t.g->nparams, own = token ? 2 : 1;
  Fact *act = ad_facts(f, t.args, nx, ACTIVE);
  Graph *g = ad_tangent(w, t.g, act);
  Node **args = ad_fwd_all(f, t.args, nx), *both = g->result;
  for (int i = 0; i < nx; i++)
    if (act[i]) args[i] = ir_pair(w, args[i], ad_cot(f, t.args[i]));
  if (token) { /* ((y, token), (dy, nothing)) as ((y, dy), token) */
    Node *y = ir_get(w, both, 0), *pair = ir_pair(w, ir_get(w, y, 0), ir_get(w, ir_get(w, both, 1), 0));
    both = ir_pair(w, pair, ir_get(w, y, 1));
    g = ir_graph(w, g->params, nx, both, g->name);
  }
  IrType *fun = ir_fun_type(w, args[0]->type, token ? both->type->args[0] : both->type, token != NULL);
  Node *dual = ir_closure(w, g, fun, args + own, nx - own);
  both = ir_checkpoint(w, dual, args[0], token ? args[1] : NULL, n->site);
  Node *pair = token ? ir_get(w, both, 0) : both, *y = ir_get(w, pair, 0), *dy = ir_get(w, pair, 1);
  f->fwd[at] = token ? ir_pair(w, y, ir_get(w, both, 1)) : y;
  f->cot[at] = token ? ir_only(w, ad_cotangent(w, n->type), 0, dy) : dy;
}

/* ---- The walk ----------------------------------------------------------------------------------- */
static void step(Diff *f, int at) {
  Node *n = f->nodes[at];
  bool active = ad_visit(f, at);
  switch (active ? ir_shape(n) : IR_STRAIGHT) {
  case IR_STRAIGHT:
    if (active && ir_is_attempt(n)) {
      ad_attempt_tangent(f, at);
      break;
    }
    f->fwd[at] = ad_rebuild(f, n);
    if (active) f->cot[at] = ad_rule_tangent(f, at);
    break;
  case IR_BRANCH: tangent_switch(f, at); break;
  case IR_LOOP: tangent_loop(f, at); break;
  case IR_CALL:
    if (n->op == OP_CHECKPOINT) tangent_checkpoint(f, at);
    else tangent_call(f, at);
    break;
  }
  f->facts[at] = f->cot[at] ? ACTIVE : 0;
}

Graph *ad_tangent(World *w, Graph *g, const Fact *params) {
  g = ad_unless_ended(w, g);
  Diff *f = ad_begin(w, g, params);
  IrType **ts = NEW_ARRAY(w->arena, IrType *, g->nparams + 1);
  for (int i = 0; i < g->nparams; i++) {
    bool pair = (params[i] & ACTIVE) && ad_has_slot(w, g->params[i]);
    ts[i] = pair ? ir_pair_type(w, g->params[i], ad_cotangent(w, g->params[i])) : g->params[i];
  }
  for (int i = 0; i < f->n; i++) {
    Node *n = f->nodes[i];
    if (n->op != OP_PARAM) step(f, i);
    else if (f->facts[i]) set_dual(f, i, ir_param(w, (int)n->attr.i, ts[n->attr.i]));
    else f->fwd[i] = ir_param(w, (int)n->attr.i, ts[n->attr.i]);
  }
  Node *y = ad_fwd(f, g->result);
  return ir_graph(w, ts, g->nparams, ir_pair(w, y, ad_cot(f, g->result)), g->name);
}
