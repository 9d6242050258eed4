/* SPDX-License-Identifier: MIT */
/* Forward mode: a graph of values becomes a graph of values and tangents, node by node. Tangents have the types of
 * cotangents (a tangent of an array is a bag, dense where it comes from an array), and an absent one is zero.
 *
 * Nested graphs take pairs (value, tangent) for what is active, and return pairs. The normal forms of branches and loops take
 * them apart. */
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
  Node *n = f->nodes[at], **caps = NEW_ARRAY(w->arena, Node *, n->nops);
  bool *act = ad_active_all(f, n->ops + 1, n->nops - 1);
  for (int i = 1; i < n->nops; i++) caps[i - 1] = dual(f, n->ops[i]);
  Graph **arms = NEW_ARRAY(w->arena, Graph *, n->ngraphs);
  for (int t = 0; t < n->ngraphs; t++) arms[t] = ad_tangent(w, n->graphs[t], act);
  set_dual(f, at, ir_switch(w, ad_fwd(f, n->ops[0]), arms, n->ngraphs, caps, n->nops - 1));
}

/* The loop over duals. Slices become captures that are read at the index, so that all parameters stay in their places. */
typedef struct DualLoop {
  World *w;
  const LoopInfo *l;
  LoopInfo info;
  bool *act;            /* of the body's parameters */
  IrType **types;       /* of the new body's parameters */
  int slots, n;
  int *tangent_of;      /* where the tangents of a stacked result are stacked; 0: they are zero */
} DualLoop;

static Node *element(DualLoop *p, Node *array, Node *i, bool active) {
  if (!active) return ir_index(p->w, array, &i, 1);
  Node *x = ir_get(p->w, array, 0);
  return ir_pair(p->w, ir_index(p->w, x, &i, 1), ir_bag_get(p->w, ir_get(p->w, array, 1), x, i));
}

static Graph *dual_body(DualLoop *p, Graph *body) {
  World *w = p->w;
  int slots = p->slots;
  Node **args = NEW_ARRAY(w->arena, Node *, p->n);
  for (int i = 0; i < p->n; i++) {
    args[i] = ir_param(w, i, p->types[i]);
    if (i > slots && i <= slots + p->l->nsliced) args[i] = element(p, args[i], args[0], p->act[i]);
  }
  Node *both = ir_instantiate(w, ad_tangent(w, body, p->act), args, 0);
  Node *y = ir_get(w, both, 0), *dy = ir_get(w, both, 1);
  Nodes out = {0};
  for (int k = 0; k < slots + p->l->nstacked; k++) {
    Node *x = ir_get(w, y, k);
    vec_push(w->arena, out, k < slots && p->act[1 + k] ? ir_pair(w, x, ir_get(w, dy, k)) : x);
  }
  for (int k = slots; k < slots + p->l->nstacked; k++) {
    Node *dx = ir_get(w, dy, k);
    if (ad_is_zero(dx)) continue;
    p->tangent_of[k] = out.len;
    vec_push(w->arena, out, ir_fill(w, dx, ir_get(w, y, k)));
  }
  p->info.nstacked = out.len - slots;
  return ir_graph(w, p->types, p->n, ir_record(w, out.data, out.len), body->name);
}

static Graph *dual_cond(DualLoop *p, Graph *cond) {
  World *w = p->w;
  int carried = p->l->ncarried, n = 1 + carried + p->info.ncaps, j = 0;
  IrType **ts = NEW_ARRAY(w->arena, IrType *, n);
  Node **args = NEW_ARRAY(w->arena, Node *, n);
  for (int k = 0; k < n; k++) {
    int i = k <= carried ? k : k + p->l->naccs; /* the body's parameter */
    ts[k] = p->types[i];
    Node *x = ir_param(w, k, ts[k]);
    if (i <= carried || i > p->slots + p->l->nsliced) args[j++] = p->act[i] ? ir_get(w, x, 0) : x;
  }
  return ir_graph(w, ts, n, ir_instantiate(w, cond, args, 0), cond->name);
}

static Node *dual_results(DualLoop *p, IrType *t, Node *loop) {
  World *w = p->w;
  Node **ys = NEW_ARRAY(w->arena, Node *, t->n), **ts = NEW_ARRAY(w->arena, Node *, t->n);
  IrType *ct = ad_cotangent(w, t);
  for (int k = 0; k < t->n; k++) {
    bool pair = k < p->slots && p->act[1 + k];
    Node *x = ir_get(w, loop, k < t->n - 1 ? k : loop->type->n - 1);
    ys[k] = pair ? ir_get(w, x, 0) : x;
    if (pair) ts[k] = ir_get(w, x, 1);
    else if (p->tangent_of[k]) ts[k] = ir_to_bag(w, ir_get(w, loop, p->tangent_of[k]));
    else ts[k] = ir_zero(w, ct->args[k]);
  }
  return ir_pair(w, ir_tuple(w, t, ys), ir_tuple(w, ct, ts));
}

static void tangent_loop(Diff *f, int at) {
  World *w = f->w;
  Node *n = f->nodes[at], **ops = n->ops + !n->loop->has_cond;
  Graph *body = n->graphs[0];
  DualLoop p = {.w = w, .l = n->loop, .info = *n->loop, .n = body->nparams, .slots = n->loop->ncarried + n->loop->naccs};
  p.act = ad_body_activity(w, body, p.l, ad_active_all(f, ops, p.n - 1));
  p.types = NEW_ARRAY(w->arena, IrType *, p.n);
  p.tangent_of = NEW_ARRAY(w->arena, int, n->type->n);
  p.info.nsliced = 0;
  p.info.ncaps += p.l->nsliced;
  Node **in = NEW_ARRAY(w->arena, Node *, p.n);
  p.types[0] = ir_type(w, T_INT);
  for (int i = 1; i < p.n; i++) {
    const Node *x = ops[i - 1];
    in[i - 1] = p.act[i] ? ir_pair(w, ad_fwd(f, x), ad_cot(f, x)) : ad_fwd(f, x);
    p.types[i] = in[i - 1]->type;
  }
  Graph *b = dual_body(&p, body), *cond = p.l->has_cond ? dual_cond(&p, n->graphs[1]) : NULL;
  Node *count = cond ? NULL : ad_fwd(f, n->ops[0]);
  set_dual(f, at, dual_results(&p, n->type, ir_loop(w, &p.info, count, in, b, cond, n->site)));
}

/* ---- Calls ------------------------------------------------------------------------------------ */
/* Parameters of f, then the tangents of the active ones. No pairs: calls are specialised for arguments that are functions. */
static Func *dual_function(World *w, Func *f, const bool *act) {
  void **known = ad_derived(w, &f->ad, D_DUAL, f->nparams, act, NULL);
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
  } else { /* the pullback is linear in its cotangent: its own pullback, at zero, takes tangents to tangents */
    both = ir_call(w, fn->pullback, args, n->site);
    Node *zero = ad_zero_public(w, fn->result, ir_get(w, both, 0));
    Node *back = ir_get(w, ad_vjp(w, ir_get(w, both, 1), zero, NULL, n->site), 1);
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
    f->cot[at] = ad_no_rule(w, ad_cotangent(w, n->type), fn->name ? fn->name : "a foreign function", n->site);
    return;
  }
  bool *act = ad_active_all(f, n->ops, n->nops);
  Nodes all = {0};
  for (int i = 0; i < n->nops; i++) vec_push(w->arena, all, args[i]);
  for (int i = 0; i < n->nops; i++)
    if (act[i]) vec_push(w->arena, all, ad_cot(f, n->ops[i]));
  set_dual(f, at, ir_call(w, dual_function(w, fn, act), all.data, n->site));
}

/* A checkpoint of the function of values and tangents, those of its captures too: a reverse mode outside computes both again. */
static void tangent_checkpoint(Diff *f, int at) {
  World *w = f->w;
  Node *n = f->nodes[at], *token = n->nops == 3 ? n->ops[2] : NULL;
  Target t = ad_target(w, n->ops[0], n->ops[1], token, n->site);
  int nx = t.g->nparams, own = token ? 2 : 1;
  bool *act = ad_active_all(f, t.args, nx);
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
  both = ir_checkpoint(w, ir_closure(w, g, fun, args + own, nx - own), args[0], token ? args[1] : NULL, n->site);
  Node *pair = token ? ir_get(w, both, 0) : both, *y = ir_get(w, pair, 0), *dy = ir_get(w, pair, 1);
  f->fwd[at] = token ? ir_pair(w, y, ir_get(w, both, 1)) : y;
  f->cot[at] = token ? ir_only(w, ad_cotangent(w, n->type), 0, dy) : dy;
}

/* ---- The walk ----------------------------------------------------------------------------------- */
static void step(Diff *f, int at) {
  Node *n = f->nodes[at];
  bool active = ad_visit(f, at);
  if (active && n->op == OP_SWITCH) tangent_switch(f, at);
  else if (active && n->op == OP_LOOP) tangent_loop(f, at);
  else if (active && (n->op == OP_CALL || n->op == OP_APPLY)) tangent_call(f, at);
  else if (active && n->op == OP_CHECKPOINT) tangent_checkpoint(f, at);
  else {
    f->fwd[at] = ad_rebuild(f, n);
    if (active) f->cot[at] = ad_rule_tangent(f, at);
  }
  f->act[at] = f->cot[at] != NULL;
}

Graph *ad_tangent(World *w, Graph *g, const bool *active) {
  Diff *f = ad_begin(w, g, active);
  IrType **ts = NEW_ARRAY(w->arena, IrType *, g->nparams + 1);
  for (int i = 0; i < g->nparams; i++) {
    bool pair = active[i] && ad_has_slot(w, g->params[i]);
    ts[i] = pair ? ir_pair_type(w, g->params[i], ad_cotangent(w, g->params[i])) : g->params[i];
  }
  for (int i = 0; i < f->n; i++) {
    Node *n = f->nodes[i];
    if (n->op != OP_PARAM) step(f, i);
    else if (f->act[i]) set_dual(f, i, ir_param(w, (int)n->attr.i, ts[n->attr.i]));
    else f->fwd[i] = ir_param(w, (int)n->attr.i, ts[n->attr.i]);
  }
  return ir_graph(w, ts, g->nparams, ir_pair(w, ad_fwd(f, g->result), ad_cot(f, g->result)), g->name);
}
