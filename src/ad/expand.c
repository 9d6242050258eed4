/* SPDX-License-Identifier: MIT */
/* The driver: replaces VJP and JVP by what they mean, innermost first, in all graphs an entry reaches; then, when no
 * outer derivative can be left, removes STOP and CHECKPOINT. Definitions themselves are never changed: functions are copied.
 *
 * A function that isn't known here can only be one of the closures of its type that the program makes. The dispatcher of a
 * function type asks which, and calls that graph with the captures taken out of the closure; so to differentiation
 * an unknown call is a branch between known ones, and a function value needs no twin at run time. */
#include "ad/ad_internal.h"

/* ---- The two modes ------------------------------------------------------------------- */
Target ad_target(World *w, Node *f, Node *x, Node *token, Site site) {
  bool known = f->op == OP_CLOSURE;
  Nodes args = {0};
  vec_push(w->arena, args, x);
  if (token) vec_push(w->arena, args, token);
  int own = args.len;
  if (!known) vec_push(w->arena, args, f);
  for (int i = 0; known && i < f->nops; i++) vec_push(w->arena, args, f->ops[i]);
  if (known) return (Target){f->graphs[0], args.data};
  IrType *ps[3] = {x->type, token ? token->type : f->type, f->type};
  Node *pf = ir_param(w, own, f->type), *pt = token ? ir_param(w, 1, token->type) : NULL;
  Node *y = ir_apply(w, pf, ir_param(w, 0, x->type), pt, site);
  return (Target){ir_graph(w, ps, own + 1, y, NULL), args.data};
}

/* The pullback users see: 'b -> 'a, a closure over the residuals and the shapes. */
static Node *public_pullback(World *w, Combined *c, Node **args, Node *x, Node *y, bool effect, Site site) {
  Region *out = region_open(w, NULL), *r = region_open(w, out);
  Split s = ad_split(w, c, NULL);
  Node *dy = region_param(r, y->type), **in = NEW_ARRAY(w->arena, Node *, c->total + s.nres);
  for (int i = 0; i < c->p; i++) in[i] = ir_zero(w, c->types[i]);
  Node *d = ad_to_cotangent(w, y->type, dy, region_import(r, out, y), site);
  in[c->p] = effect ? ir_only(w, c->types[c->p], 0, d) : d;
  if (c->nacc) in[c->p + 1] = ad_start(w, x->type, region_import(r, out, x));
  for (int j = 0; j < s.nres; j++) in[c->total + j] = region_import(r, out, ir_substitute(w, s.res[j], args, c->p, 0));
  Node *acc = c->nacc ? ir_get(w, ir_substitute(w, s.back, in, c->total + s.nres, 0), 0) : ir_unit(w);
  Node *dx = ad_to_public(w, x->type, region_import(r, out, x), acc);
  return ir_closure(w, region_close(r, dx, NULL), ir_fun_type(w, y->type, x->type, false), r->caps.data, r->ncaps);
}

Node *ad_vjp(World *w, Node *f, Node *x, Node *token, Site site) {
  Target t = ad_target(w, f, x, token, site);
  bool *active = NEW_ARRAY(w->arena, bool, t.g->nparams);
  active[0] = true;
  Combined *c = ad_combine(w, t.g, active, NULL, true);
  Node *value = ir_substitute(w, c->y, t.args, c->p, site), *y = token ? ir_get(w, value, 0) : value;
  Node *both = ir_pair(w, y, public_pullback(w, c, t.args, x, y, token != NULL, site));
  return token ? ir_pair(w, both, ir_get(w, value, 1)) : both;
}

static Node *expand_jvp(World *w, Rewriter *r, const Node *n, Node **ops) {
  Node *x = ops[1], *token = n->nops == 4 ? ops[3] : NULL;
  IrType *b = ops[0]->type->args[1];
  Target t = ad_target(w, ops[0], x, token, n->site);
  bool *active = NEW_ARRAY(w->arena, bool, t.g->nparams);
  active[0] = ad_has_slot(w, x->type);
  Graph *g = ad_tangent(w, t.g, active);
  if (g->flags & NODE_AD) g = rewrite_graph(r, g);
  if (active[0]) t.args[0] = ir_pair(w, x, ad_to_cotangent(w, x->type, ops[2], x, n->site));
  Node *both = ir_instantiate(w, g, t.args, n->site), *y = ir_get(w, both, 0), *dy = ir_get(w, both, 1);
  if (!token) return ir_pair(w, y, ad_to_public(w, b, y, dy));
  Node *v = ir_get(w, y, 0);
  return ir_pair(w, ir_pair(w, v, ad_to_public(w, b, v, ir_get(w, dy, 0))), ir_get(w, y, 1));
}

static Node *expand_node(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)graphs;
  (void)frame;
  ((World *)user)->expander = r;
  if (n->op == OP_VJP) return ad_vjp(user, ops[0], ops[1], n->nops == 3 ? ops[2] : NULL, n->site);
  if (n->op == OP_JVP) return expand_jvp(user, r, n, ops);
  return NULL;
}

/* Once no derivative is left outside, what only derivatives see goes. */
static Node *strip_node(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)frame;
  (void)graphs;
  if (n->op == OP_STOP) return ops[0];
  if (n->op == OP_CHECKPOINT) return ir_apply(user, ops[0], ops[1], n->nops == 3 ? ops[2] : NULL, n->site);
  return NULL;
}

/* ---- Unknown functions ------------------------------------------------------------------------ */
typedef struct Candidates { Vec(Graph *) all; } Candidates;

static void register_closure(World *w, Node *closure) {
  Candidates *c = map_get(&w->closures, closure->type);
  if (!c) {
    c = NEW(w->arena, Candidates);
    map_put(&w->closures, closure->type, c);
  }
  for (int i = 0; i < c->all.len; i++)
    if (c->all.data[i] == closure->graphs[0]) return;
  if (!closure->graphs[0]->identity) closure->graphs[0]->identity = ++w->identities;
  vec_push(w->arena, c->all, closure->graphs[0]);
  w->nclosures++;
}

/* A closure that is only applied or differentiated where it is made is always known. */
static bool escapes(const Node *user, int operand) {
  bool applies = user->op == OP_APPLY || user->op == OP_VJP || user->op == OP_JVP || user->op == OP_CHECKPOINT;
  return !(applies && operand == 0);
}

static void register_graph(void *user, Graph *g) {
  World *w = user;
  Node **nodes;
  int n = ir_order(w->arena, g, &nodes);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < nodes[i]->nops; k++)
      if (nodes[i]->ops[k]->op == OP_CLOSURE && escapes(nodes[i], k)) register_closure(w, nodes[i]->ops[k]);
  if (g->result->op == OP_CLOSURE) register_closure(w, g->result);
}

void ad_register_closures(World *w, Graph *g) { ir_walk_graphs(w, g, register_graph, w); }

static Node *call_candidate(World *w, Graph *g, Node **caps, int own) {
  Node **args = NEW_ARRAY(w->arena, Node *, g->nparams + 1);
  for (int i = 0; i < own; i++) args[i] = caps[1 + i];
  for (int i = own; i < g->nparams; i++) args[i] = ir_closure_cap(w, caps[0], g, i - own);
  return ir_call(w, ir_graph_func(w, g), args, 0);
}

/* types: of the function, its argument and the token, if any; n of them. */
static Node *dispatch(World *w, const Candidates *c, IrType **types, int n, IrType *result) {
  Rewriter *e = w->expander;
  Node *caps[3];
  for (int i = 0; i < n; i++) caps[i] = ir_param(w, i, types[i]);
  const char *unknown = "this function value can't be differentiated: it was made outside the program";
  Node *y = ir_fail(w, result, ir_string(w, sym_of(w->syms, unknown)), 0);
  for (int i = 0; c && i < c->all.len; i++) {
    Graph *g = c->all.data[i];
    if (e && rewrite_busy(e, g)) continue;
    if (e) g = rewrite_graph(e, g);
    Node *is = ir_op2(w, OP_IEQ, ir_op1(w, OP_CLOSURE_ID, caps[0]), ir_graph_id(w, g));
    Node *call = call_candidate(w, g, caps, n - 1);
    Graph *arms[2] = {ir_graph(w, types, n, y, NULL), ir_graph(w, types, n, call, NULL)};
    y = ir_switch(w, is, arms, 2, caps, n);
  }
  return y;
}

Func *ad_dispatcher(World *w, IrType *fun) {
  Candidates *c = map_get(&w->closures, fun);
  const void *key = (const void *)(uintptr_t)(hash_mix(hash_mix(fun->id, c ? (uint64_t)c->all.len : 0), 0xd15) | 1);
  Func *f = map_get(&w->conversions, key);
  if (f) return f;
  IrType *ts[3] = {fun, fun->args[0], ir_type(w, T_TOKEN)};
  IrType *result = fun->effect ? ir_pair_type(w, fun->args[1], ts[2]) : fun->args[1];
  f = ir_func(w, sym_of(w->syms, "apply"), ts, 2 + fun->effect, result);
  f->recursive = true;
  map_put(&w->conversions, key, f);
  ir_func_finish(w, f, dispatch(w, c, ts, 2 + fun->effect, result));
  return f;
}

/* ---- Entry ------------------------------------------------------------------------------------------ */
Graph *ad_expand(World *w, Graph *g) {
  g = ir_rewrite(w, g, (RewritePass){.user = w, .node = expand_node});
  return ir_rewrite(w, g, (RewritePass){.user = w, .node = strip_node});
}
