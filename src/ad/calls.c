/* SPDX-License-Identifier: MIT */
/* Reverse mode of calls, and of the call that a vjp is.
 *
 * A call that stays a call gets twins of its function, its two stages: a forward function that also returns a tape,
 * and a backward function from the tape, the cotangent of the result and the accumulators of the arguments to those
 * accumulators. Twins are kept before their bodies are made, so recursion, mutual too, needs no other care.
 *
 * A function with a rule of its own is a call of that rule. An unknown function is a call of the dispatcher of its
 * type. */
#include "ad/ad_internal.h"

typedef struct CallMemo {
  Func *f;
  StagedFunc *twins;
  Node *value; /* of a twin or of the rule: (y, tape) or (y, pullback) */
} CallMemo;

Func *ad_call_target(World *w, const Node *n) {
  const char *unknown = "this function value can't be differentiated: it was made after the derivative was compiled";
  const char *itself =
      "this function value can't be differentiated: it may be one that takes derivatives of itself; how "
      "often has to be known: match n with 1 -> deriv f x | 2 -> deriv (deriv f) x | …";
  return n->op == OP_CALL ? n->attr.func : ir_dispatcher(w, n->ops[0]->type, unknown, itself);
}

Func *ad_opaque_function(World *w, Sym name, Graph *g) {
  Func *f = ir_func(w, name, g->params, g->nparams, g->result->type);
  f->opaque = true;
  f->recursive = (g->flags & (NODE_CALLS | NODE_APPLIES | NODE_AD)) != 0;
  ir_func_finish(w, f, g->result);
  return f;
}

/* ---- Twins --------------------------------------------------------------------------- */
static StagedFunc *make_twins(World *w, Func *f, const Fact *params, bool rerun) {
  const char *name = rerun ? "twins, may run again" : "twins";
  void **known = ir_memo_closures(w, f, name, params, (size_t)f->nparams);
  if (*known) return *known;
  Vec(IrType *) late = {0};
  vec_push(w->arena, late, ad_cotangent(w, f->result));
  bool *again = NEW_ARRAY(w->arena, bool, f->nparams + 1);
  for (int i = 0; i < f->nparams; i++) {
    again[i] = !(params[i] & OVERWRITTEN);
    if (params[i] & ACTIVE) vec_push(w->arena, late, ad_cotangent(w, f->params[i]));
  }
  IrType *accs = ir_tuple_type(w, late.data + 1, NULL, late.len - 1);
  StagedFunc *t = *known = ir_stage_func(w, f, again, late.data, late.len, accs);
  Combined *c = ad_combine(w, f->graph, params, rerun);
  Split s = ir_split(w, c->back, c->p, t->known);
  ir_stage_func_finish(w, t, c->y, &s);
  return t;
}

/* ---- Forward ---------------------------------------------------------------------------- */
void ad_call_forward(Diff *r, int at) {
  World *w = r->w;
  Node *n = r->nodes[at], **args = ad_fwd_all(r, n->ops, n->nops);
  CallMemo *m = r->memo[at] = NEW(w->arena, CallMemo);
  Func *f = m->f = ad_call_target(w, n);
  if (f->pullback) m->value = ir_call(w, f->pullback, args, n->site);
  else if (f->graph && !f->tangent) {
    m->twins = make_twins(w, f, ad_facts(r, n->ops, n->nops, ACTIVE | OVERWRITTEN), r->rerun);
    m->value = ir_call(w, m->twins->early, args, n->site);
  }
  r->fwd[at] = m->value ? ir_get(w, m->value, 0) : ad_rebuild(r, n);
}

/* ---- Backward ------------------------------------------------------------------------------ */
static void twin_backward(Diff *r, const Node *n, CallMemo *m, Node *d) {
  Nodes args = {0};
  vec_push(r->w->arena, args, ir_get(r->w, m->value, 1));
  for (int i = 0; i < n->nops; i++)
    if (m->twins->known[i]) vec_push(r->w->arena, args, ad_fwd(r, n->ops[i]));
  vec_push(r->w->arena, args, d);
  ad_region_accs(r, n->ops, n->nops, &args);
  ad_region_all_done(r, n->ops, n->nops, ir_call(r->w, m->twins->late, args.data, n->site));
}

static void rule_backward(Diff *r, const Node *n, CallMemo *m, Node *d) {
  World *w = r->w;
  Node *dy = ad_to_public(w, m->f->result, ir_get(w, m->value, 0), d);
  Node *cots = ir_apply(w, ir_get(w, m->value, 1), dy, NULL, n->site);
  for (int i = 0; i < n->nops; i++) {
    Node *x = n->ops[i], *c = n->nops == 1 ? cots : ir_get(w, cots, i);
    if (ad_active(r, x)) ad_add(r, x, ad_from_rule(w, x->type, c, ad_fwd(r, x), n->site));
  }
}

/* Only a tangent rule: the tangent is linear in the directions, so its reverse derivative is the pullback, wherever
 * that is taken. */
static void tangent_backward(Diff *r, const Node *n, CallMemo *m, Node *d) {
  World *w = r->w;
  Graph *g = m->f->tangent->graph;
  Fact *facts = NEW_ARRAY(w->arena, Fact, g->nparams + 1);
  for (int i = 0; i < n->nops; i++) facts[n->nops + i] = ACTIVE;
  Combined *c = ad_combine(w, g, facts, false);
  IrType **types = c->back->params;
  Node **args = NEW_ARRAY(w->arena, Node *, c->back->nparams);
  for (int i = 0; i < n->nops; i++) {
    args[i] = ad_fwd(r, n->ops[i]);
    args[n->nops + i] = ad_general_public(w, n->ops[i]->type, args[i]);
  }
  args[c->p] = ir_only(w, types[c->p], 1, d);
  for (int i = c->p + 1; i < c->back->nparams; i++) args[i] = ir_zero(w, types[i]);
  Node *accs = ir_instantiate(w, c->back, args, n->site);
  for (int i = 0, k = 0; i < n->nops; i++)
    if (c->active[n->nops + i]) ad_add(r, n->ops[i], ad_uncarried(w, n->ops[i]->type, ir_get(w, accs, k++)));
}

void ad_call_backward(Diff *r, int at, Node *d) {
  const Node *n = r->nodes[at];
  CallMemo *m = r->memo[at];
  if (m->twins) twin_backward(r, n, m, d);
  else if (m->value) rule_backward(r, n, m, d);
  else if (m->f->tangent && m->f->tangent->graph) tangent_backward(r, n, m, d);
  else
    for (int i = 0; i < n->nops; i++)
      ad_add(r, n->ops[i], ad_no_graph(r->w, ad_cotangent(r->w, n->ops[i]->type), m->f, n->site));
}

/* ---- Checkpoints: the backward pass is a call that computes the function again ------------------- */
void ad_checkpoint_backward(Diff *r, int at, Node *d) {
  World *w = r->w;
  const Node *n = r->nodes[at];
  Target t = ir_target(w, n->ops[0], n->ops[1], n->nops == 3 ? n->ops[2] : NULL, n->site);
  int nx = t.g->nparams;
  Combined *c = ad_combine(w, t.g, ad_facts(r, t.args, nx, ACTIVE), r->rerun);
  Func *f = ad_opaque_function(w, c->g->name, c->back); /* inlined, it would share its work with the forward pass */
  Nodes args = {0};
  for (int i = 0; i < nx; i++) vec_push(w->arena, args, ad_fwd(r, t.args[i]));
  vec_push(w->arena, args, d);
  ad_region_accs(r, t.args, nx, &args);
  ad_region_all_done(r, t.args, nx, ir_call(w, f, args.data, n->site));
}

/* ---- Pullbacks ------------------------------------------------------------------------ */
/* What the derivative waits for: what can fail of the value, and the effects, if the function has any. */
static Node *errors_of_value(World *w, Combined *c, bool effect) {
  if (c->errors) return c->errors;
  c->errors = ir_errors(w, c->g->params, c->p, effect ? ir_get(w, c->y, 0) : c->y);
  if (effect) c->errors = ir_op2(w, OP_AFTER, c->errors, ir_get(w, c->y, 1));
  return c->errors;
}

/* A residual, where what isn't done for the value fails after all effects. */
static Node *after_effects(World *w, Combined *c, Node *residual) {
  Graph *g = ir_graph(w, c->g->params, c->p, residual, NULL);
  Node **args = NEW_ARRAY(w->temp, Node *, c->p + 1);
  for (int i = 0; i < c->p; i++) args[i] = ir_param(w, i, c->g->params[i]);
  return ir_instantiate_after(w, g, args, errors_of_value(w, c, true), c->y);
}

/* The pullback users see: 'b -> 'a, a closure over the residuals and the shapes, and what can fail of the value. What
 * fails in it does so after all effects of the function. */
static Node *public_pullback(World *w, Combined *c, Node **args, Node *x, Node *y, bool effect, Site site) {
  Node *errors = ir_substitute(w, errors_of_value(w, c, effect), args, c->p, site);
  Split s = ir_split(w, c->back, c->p, NULL);
  Region *out = region_open(w, NULL), *r = region_open(w, out);
  int total = c->back->nparams;
  Node *dy = region_param(r, y->type), **in = NEW_ARRAY(w->arena, Node *, s.late->nparams);
  Node *first = region_import(r, out, errors);
  for (int i = 0; i < c->p; i++) in[i] = ir_zero(w, c->g->params[i]);
  if (effect && y->type->kind != T_FLOAT) dy = ir_after(w, dy, first, WAITS_ERROR);
  Node *d = ad_to_cotangent(w, y->type, dy, region_import(r, out, y), site);
  in[c->p] = effect ? ir_only(w, c->back->params[c->p], 0, d) : d;
  if (c->nacc) in[c->p + 1] = ad_start(w, x->type, region_import(r, out, x));
  for (int j = 0; j < s.nres; j++) {
    Node *residual = effect ? after_effects(w, c, s.res[j]) : s.res[j];
    in[total + j] = region_import(r, out, ir_substitute(w, residual, args, c->p, site));
  }
  Node *accs = effect ? ir_instantiate_after(w, s.late, in, first, NULL) : ir_instantiate(w, s.late, in, 0);
  Node *acc = c->nacc ? ir_get(w, accs, 0) : ir_unit(w);
  Node *dx = ad_to_public(w, x->type, region_import(r, out, x), acc);
  dx = ir_op2(w, OP_AFTER, dx, ir_errors(w, r->params.data, r->params.len, d));
  dx = ir_after(w, dx, first, WAITS_ERROR);
  /* nothing else tells that it ended */
  if (y->flags & NODE_ENDLESS && ad_is_zero(acc)) dx = ir_after(w, dx, region_import(r, out, y), WAITS_END);
  IrType *fun = ir_fun_type(w, y->type, x->type, false);
  return ir_closure(w, region_close(r, dx, NULL), fun, r->caps.data, r->ncaps);
}

Node *ad_vjp(World *w, Node *f, Node *x, Node *token, Site site) {
  Target t = ir_target(w, f, x, token, site);
  Fact *facts = NEW_ARRAY(w->arena, Fact, t.g->nparams);
  facts[0] = ACTIVE;
  Combined *c = ad_combine(w, t.g, facts, true);
  Node *value = ir_substitute(w, c->y, t.args, c->p, site), *y = token ? ir_get(w, value, 0) : value;
  Node *both = ir_pair(w, y, public_pullback(w, c, t.args, x, y, token != NULL, site));
  return token ? ir_pair(w, both, ir_get(w, value, 1)) : both;
}
