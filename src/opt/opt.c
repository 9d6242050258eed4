/* SPDX-License-Identifier: MIT */
/* The pass pipeline; opt.h draws it. */
#include "opt/opt.h"
#include "ad/ad.h"
#include "graph/graph.h"

static void *no_checks(void *user, Graph *g) {
  (void)g;
  World *w = user;
  Map *seen = NEW(w->arena, Map);
  map_init(seen, w->arena);
  return seen;
}

/* Of equal checks in one graph, which differ in their places, one is enough: all of them are made, and which one
 * reports is free. What is read behind them becomes equal too. */
static Node *check_once(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)graphs;
  if (n->op != OP_CHECK_INDEX && n->op != OP_CHECK_SLICE && n->op != OP_CHECK_SIZE) return NULL;
  Node *any = ir_check(user, (Op)n->op, ops[0], ops[1], n->nops > 2 ? ops[2] : NULL, 0), *first = map_get(frame, any);
  if (!first) map_put(frame, any, first = ir_rebuild(user, n, ops, NULL));
  return first;
}

static Graph *simplify(World *w, Graph *g) {
  w->renormalise = true;
  g = ir_rewrite(w, g, (RewritePass){.user = w, .begin = no_checks, .node = check_once});
  w->renormalise = false;
  return g;
}

static void holds_ad(void *user, Graph *g) {
  if (g->flags & NODE_AD) *(bool *)user = true;
}

void opt_before_derivatives(World *w, OptStages *s) {
  w->inline_rules = false;
  s->optimised =
      opt_contract(w, opt_fuse(w, opt_prune(w, opt_closures(w, opt_recursion(w, simplify(w, s->built))))), false);
  s->pool = ir_pool(w, s->optimised, s->globals, s->nglobals);
}

void opt_derivatives_and_after(World *w, OptStages *s) {
  Graph *g = s->optimised;
  bool ad = false;
  ir_walk_graphs(w, g, holds_ad, &ad);
  for (int i = 0; ad && i < 2 && (i == 0 || ir_pool_grew(w, s->pool));
       i++) { /* again with the pullbacks that it makes */
    ir_use_pool(w, s->pool);
    g = ad_expand(w, s->optimised);
  }
  s->differentiated = g;
  w->inline_rules = true;
  g = opt_compose(w, opt_params(w, opt_prune(w, simplify(w, g))));
  for (bool more = true, made = false; more; more |= made) { /* one level of nested loops at a time */
    g = opt_bags(w, g, &made);
    g = opt_dense(w, g, &more);
  }
  s->final = opt_contract(w, opt_fuse(w, opt_checks(w, opt_updates(w, opt_prune(w, simplify(w, g))))), true);
  w->inline_rules = false;
}

Graph *opt_pipeline(World *w, Graph *g, OptStages *stages) {
  OptStages s = {.built = g};
  opt_before_derivatives(w, &s);
  opt_derivatives_and_after(w, &s);
  if (stages) *stages = s;
  return s.final;
}
