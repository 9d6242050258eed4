/* SPDX-License-Identifier: MIT */
/* Derivatives of calls and checkpoints, in both modes.
 *
 * Reverse mode replaces a function that isn't inlined by two, its twins: f▸ also returns a tape, the residuals; f◂ is
 * the backward pass over that. Both calls thread the accumulators of the arguments.
 *
 *   forward    y = f x   →   (y, tape) = f▸ x
 *   backward                 x̄ = f◂ tape ȳ x̄
 *
 * Forward mode calls a function of values and tangents: (y, ẏ) = ḟ x ẋ. Either function is remembered before its body
 * is made, so calls in a recursion, mutual ones too, find it.
 *
 * A function with a derivative rule is replaced by a call of the rule: its pullback in reverse mode, its tangent in
 * forward mode. If it has only one of them, the other mode transposes that. An unknown function is a call of the
 * dispatcher of its type (graph/dispatch.c). A checkpoint keeps nothing: its backward pass runs the function again. */
#include "ad/ad_internal.h"

typedef struct CallMemo {
  Func *f;
  StagedFunc *twins;
  Node *value; /* of a twin or of the rule: (y, tape) or (y, pullback) */
} CallMemo;

/* The function that CALL calls, or the dispatcher of an APPLY. */
static Func *call_target(World *w, const Node *n) {
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
  Func *f = m->f = call_target(w, n);
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

/* x, what the rule of a function of floats adds to the cotangent of an argument: trapped, for the rule isn't. */
static Node *trapped_rule(const Diff *r, const Node *n, const Func *f, Node *x, Node *d) {
  if (!r->w->traps || x->type->kind != T_FLOAT || d->type->kind != T_FLOAT || !f->name) return x;
  for (int i = 0; i < n->nops; i++)
    if (!ir_is_number(n->ops[i]->type) || n->ops[i]->type->kind == T_BOOL) return x;
  return ad_trapped(r->w, f->name, x, ad_fwd_all(r, n->ops, n->nops), n->nops, d, NULL, NULL, n->site);
}

static void rule_backward(Diff *r, const Node *n, CallMemo *m, Node *d) {
  World *w = r->w;
  Node *dy = ad_to_public(w, m->f->result, ir_get(w, m->value, 0), d);
  Node *cots = ir_apply(w, ir_get(w, m->value, 1), dy, NULL, n->site);
  for (int i = 0; i < n->nops; i++) {
    Node *x = n->ops[i], *c = n->nops == 1 ? cots : ir_get(w, cots, i);
    if (ad_active(r, x)) ad_add(r, x, trapped_rule(r, n, m->f, ad_from_rule(w, x->type, c, ad_fwd(r, x), n->site), d));
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

/* ---- Forward mode ------------------------------------------------------------------------------- */
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

void ad_call_tangent(Diff *f, int at) {
  World *w = f->w;
  Node *n = f->nodes[at];
  Func *fn = call_target(w, n);
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
  ad_set_dual(f, at, ir_call(w, dual_function(w, fn, act), all.data, n->site));
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

/* A checkpoint of the function over duals, those of its captures too: a reverse mode outside runs both again. */
void ad_checkpoint_tangent(Diff *f, int at) {
  World *w = f->w;
  const Node *n = f->nodes[at];
  Node *token = n->nops == 3 ? n->ops[2] : NULL;
  Target t = ir_target(w, n->ops[0], n->ops[1], token, n->site);
  int own = token ? 2 : 1, ncaps = t.g->nparams - own;
  Node **args = NEW_ARRAY(w->arena, Node *, t.g->nparams);
  Graph *g = ad_dual_target(f, &t, token != NULL, args);
  IrType *fun = ir_fun_type(w, args[0]->type, token ? g->result->type->args[0] : g->result->type, token != NULL);
  Node *both = ir_checkpoint(w, ir_closure(w, g, fun, args + own, ncaps), args[0], token ? args[1] : NULL, n->site);
  if (token) ad_set_dual_outside(f, at, ir_get(w, both, 0), ir_get(w, both, 1));
  else ad_set_dual(f, at, both);
}
