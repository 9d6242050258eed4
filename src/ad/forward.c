/* SPDX-License-Identifier: MIT */
/* Forward mode: a graph of values becomes a graph of duals, pairs of a value and its tangent, node by node:
 *
 *   graph x: y = f(x)   →   graph (x, ẋ): (y, ẏ), where ẏ = ∂f/∂x * ẋ
 *
 * Only active parameters, those that are differentiated, are pairs. Tangents have the types of cotangents: that of an
 * array is an accumulator, dense where it comes from an array. The tangent of a node that isn't active is absent, which
 * means zero. */
#include "ad/ad_internal.h"

Node *ad_dual(const Diff *f, const Node *x) {
  return ad_active(f, x) ? ir_pair(f->w, ad_fwd(f, x), ad_cot(f, x)) : ad_fwd(f, x);
}

void ad_set_dual(Diff *f, int at, Node *pair) {
  f->fwd[at] = ir_get(f->w, pair, 0);
  f->cot[at] = ir_get(f->w, pair, 1);
}

Graph *ad_dual_target(Diff *f, const Target *t, bool effect, Node **args) {
  World *w = f->w;
  int n = t->g->nparams;
  Graph *g = ad_tangent(w, t->g, ad_facts(f, t->args, n, ACTIVE));
  for (int i = 0; i < n; i++) args[i] = ad_dual(f, t->args[i]);
  if (!effect) return g;
  Node *y = ir_get(w, g->result, 0), *dy = ir_get(w, ir_get(w, g->result, 1), 0);
  return ir_graph(w, g->params, n, ir_pair(w, ir_pair(w, ir_get(w, y, 0), dy), ir_get(w, y, 1)), g->name);
}

void ad_set_dual_outside(Diff *f, int at, Node *dual, Node *token) {
  if (!token) {
    ad_set_dual(f, at, dual);
    return;
  }
  f->fwd[at] = ir_pair(f->w, ir_get(f->w, dual, 0), token);
  f->cot[at] = ir_only(f->w, ad_cotangent(f->w, f->nodes[at]->type), 0, ir_get(f->w, dual, 1));
}

/* ---- The walk ----------------------------------------------------------------------------------- */
static void step(Diff *f, int at) {
  const Node *n = f->nodes[at];
  if (ad_visit(f, at)) ad_construct(f, n)->tangent(f, at);
  else ad_keep(f, at);
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
    else if (f->facts[i]) ad_set_dual(f, i, ir_param(w, (int)n->attr.i, ts[n->attr.i]));
    else f->fwd[i] = ir_param(w, (int)n->attr.i, ts[n->attr.i]);
  }
  Node *y = ad_fwd(f, g->result);
  return ir_graph(w, ts, g->nparams, ir_pair(w, y, ad_cot(f, g->result)), g->name);
}
