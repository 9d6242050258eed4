/* SPDX-License-Identifier: MIT */
/* The pass pipeline; opt.h draws it. */
#include "opt/opt.h"
#include "ad/ad.h"

static Graph *simplify(World *w, Graph *g) {
  w->renormalise = true;
  g = ir_rewrite(w, g, (RewritePass){0});
  w->renormalise = false;
  return g;
}

static void holds_ad(void *user, Graph *g) {
  if (g->flags & NODE_AD) *(bool *)user = true;
}

Graph *opt_pipeline(World *w, Graph *g, OptStages *stages) {
  OptStages s = {.built = g};
  w->inline_rules = false;
  g = s.optimised = opt_prune(w, simplify(w, g));
  ad_register_closures(w, g);
  bool ad = false;
  ir_walk_graphs(w, g, holds_ad, &ad);
  if (ad) g = ad_expand(w, g);
  s.differentiated = g;
  w->inline_rules = true;
  g = opt_prune(w, simplify(w, g));
  for (bool more = true; more;) g = opt_dense(w, g, &more); /* one level of nested loops at a time */
  g = opt_prune(w, simplify(w, g));
  w->inline_rules = false;
  s.final = g;
  if (stages) *stages = s;
  return g;
}
