/* SPDX-License-Identifier: MIT */
/* The driver: replaces VJP and JVP by what they mean, innermost first, in all graphs an entry reaches; then, when no
 * outer derivative can be left, removes STOP and CHECKPOINT. Definitions themselves are never changed: functions are
 * copied. */
#include "ad/ad_internal.h"

/* ---- The two modes ------------------------------------------------------------------- */
/* What of the direction dx can fail: it may have another shape than x. */
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
  if (kept && pullback->op == OP_CLOSURE) ir_register_closure(w, pullback);
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

/* Once no derivative is left outside, what only derivatives see goes. */
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
  compilation(w)->rules = rules;
  g = ir_rewrite(w, g, (RewritePass){.user = w, .begin = find_kept, .node = expand_node});
  compilation(w)->rules = NULL;
  return ir_rewrite(w, g, (RewritePass){.user = w, .node = strip_node});
}
