/* SPDX-License-Identifier: MIT */
/* The driver of differentiation. It replaces the derivatives in all graphs that an entry reaches, innermost first:
 *
 *   vjp f x      →   (y, pullback)   the value, and a closure over the residuals from ȳ to x̄ (reverse.c)
 *   jvp f x dx   →   (y, dy)         the value, and its derivative in direction dx (forward.c)
 *
 * Then no derivative is left that could see STOP and CHECKPOINT, and these are removed. Functions are copied, never
 * changed. */
#include "ad/ad_internal.h"

/* ---- Pullbacks ------------------------------------------------------------------------ */
/* What a derivative is ordered after: a number that depends on what can fail of the value, and on the effects, if the
 * function has any. */
static Node *errors_of_value(World *w, Combined *c, bool effect) {
  if (c->errors) return c->errors;
  c->errors = ir_errors(w, c->g->params, c->p, effect ? ir_get(w, c->y, 0) : c->y);
  if (effect) c->errors = ir_op2(w, OP_AFTER, c->errors, ir_get(w, c->y, 1));
  return c->errors;
}

/* A residual of a function with effects: what may fail in it, and not in the value, is ordered after all effects. */
static Node *after_effects(World *w, Combined *c, Node *residual) {
  Graph *g = ir_graph(w, c->g->params, c->p, residual, NULL);
  Node **args = NEW_ARRAY(w->temp, Node *, c->p + 1);
  for (int i = 0; i < c->p; i++) args[i] = ir_param(w, i, c->g->params[i]);
  return ir_instantiate_after(w, g, args, errors_of_value(w, c, true), c->y);
}

/* The pullback that users see, of type 'b -> 'a: a closure over the residuals, the shapes of x and y, and the number
 * that stands for the value's errors. Its own errors come after all effects of the function. */
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

/* ---- The two modes ------------------------------------------------------------------- */
/* The errors of the direction dx, which may have another shape than x. */
static Node *errors_of_direction(World *w, Node *x, Node *dx, Site site) {
  IrType *types[2] = {x->type, x->type};
  Node *d = ad_to_cotangent(w, x->type, ir_param(w, 1, x->type), ir_param(w, 0, x->type), site);
  return ir_substitute(w, ir_errors(w, types, 2, d), (Node *[]){x, dx}, 2, 0);
}

static Node *expand_jvp(World *w, Rewriter *r, const Node *n, Node **ops) {
  Node *x = ops[1], *token = n->nops == 4 ? ops[3] : NULL;
  IrType *b = ops[0]->type->args[1];
  Target t = ir_target(w, ops[0], x, token, n->site);
  Fact *facts = NEW_ARRAY(w->arena, Fact, t.g->nparams);
  facts[0] = ad_has_slot(w, x->type) ? ACTIVE : 0;
  Graph *g = ad_tangent(w, t.g, facts);
  if (g->flags & NODE_AD) g = rewrite_graph(r, g);
  if (facts[0]) t.args[0] = ir_pair(w, x, ad_to_cotangent(w, x->type, ops[2], x, n->site));
  Node *both = ir_instantiate(w, g, t.args, n->site), *y = ir_get(w, both, 0), *dy = ir_get(w, both, 1);
  Node *value = token ? ir_get(w, y, 0) : y, *primal = ir_get(w, g->result, 0);
  Node *errors = ir_errors(w, g->params, g->nparams, token ? ir_get(w, primal, 0) : primal);
  dy = token ? ir_get(w, dy, 0) : ad_is_zero(dy) ? ir_waiting(w, dy, y) : dy;
  dy = ad_to_public(w, b, value, dy);
  dy = ir_op2(w, OP_AFTER, dy, ir_substitute(w, errors, t.args, g->nparams, n->site));
  if (facts[0]) dy = ir_op2(w, OP_AFTER, dy, errors_of_direction(w, x, ops[2], n->site));
  return token ? ir_pair(w, ir_pair(w, value, dy), ir_get(w, y, 1)) : ir_pair(w, value, dy);
}

/* The VJP whose pullback is x or a component of x, or NULL. */
static Node *pullback_in(Node *x) {
  if (x->op == OP_VJP) return x;
  Node *v = x->op == OP_GET ? pullback_in(x->ops[0]) : NULL;
  if (!v) return NULL;
  bool outer = x->ops[0] == v && v->nops == 3; /* of ((value, pullback), token) */
  return x->attr.i == !outer ? v : NULL;
}

/* The VJPs in g whose pullbacks may be applied elsewhere, where they are unknown functions. */
static void *find_kept(void *user, Graph *g) {
  World *w = user;
  Map *kept = NEW(w->temp, Map);
  map_init(kept, w->temp);
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < nodes[i]->nops && nodes[i]->op != OP_GET; k++) {
      Node *v = pullback_in(nodes[i]->ops[k]);
      if (v && ir_escapes(nodes[i], k)) map_put(kept, v, v);
    }
  Node *v = pullback_in(g->result);
  if (v) map_put(kept, v, v);
  return kept;
}

static Node *expand_vjp(World *w, Node **ops, int nops, bool kept, Site site) {
  Node *out = ad_vjp(w, ops[0], ops[1], nops == 3 ? ops[2] : NULL, site);
  Node *pullback = ir_get(w, nops == 3 ? ir_get(w, out, 0) : out, 1);
  if (kept && pullback->op == OP_CLOSURE) ir_register_pullback(w, pullback);
  return out;
}

static Node *expand_node(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)graphs;
  bool derivative = n->op == OP_VJP || n->op == OP_JVP;
  if (derivative && ir_paths_end(user)) return ad_unmade(user, n->type);
  if (n->op == OP_VJP) return expand_vjp(user, ops, n->nops, map_get(frame, n) != NULL, n->site);
  if (n->op == OP_JVP) return expand_jvp(user, r, n, ops);
  return NULL;
}

/* Removes what only derivatives see. */
static Node *strip_node(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)frame;
  (void)graphs;
  if (n->op == OP_STOP) return ops[0];
  if (n->op == OP_CHECKPOINT) return ir_apply(user, ops[0], ops[1], n->nops == 3 ? ops[2] : NULL, n->site);
  return NULL;
}

/* ---- Entry ------------------------------------------------------------------------------------------ */
Graph *ad_expand(World *w, Graph *g, Func *const *rules) {
  static const Construct constructs[] = {
      [OPERATION] = {ad_keep, ad_rule_backward, ad_rule_tangent},
      [ATTEMPT] = {ad_attempt_forward, ad_attempt_backward, ad_attempt_tangent},
      [FORK] = {ad_fork_forward, ad_fork_backward, ad_fork_tangent},
      [BRANCH] = {ad_switch_forward, ad_switch_backward, ad_switch_tangent},
      [LOOP] = {ad_loop_forward, ad_loop_backward, ad_loop_tangent},
      [CALL] = {ad_call_forward, ad_call_backward, ad_call_tangent},
      [CHECKPOINT] = {ad_keep, ad_checkpoint_backward, ad_checkpoint_tangent},
  };
  compilation(w)->differentiation = &(struct Differentiation){rules, constructs};
  g = ir_rewrite(w, g, (RewritePass){.user = w, .begin = find_kept, .node = expand_node});
  compilation(w)->differentiation = NULL;
  return ir_rewrite(w, g, (RewritePass){.user = w, .node = strip_node});
}
