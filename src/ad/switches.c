/* SPDX-License-Identifier: MIT */
/* Derivatives of branches, in both modes. Reverse mode cuts each arm in two stages (graph/split.c); r are the residuals
 * of the arm that ran, which the arms share the places of:
 *
 *   forward    y = switch c: f(x) | g(x)   →   (y, r) = switch c: (f(x), residuals) | (g(x), residuals)
 *   backward                                   x̄ += switch c: pullback of f over r | pullback of g over r
 *
 * Forward mode switches between the arms over duals: (y, ẏ) = switch c: (f(x), ḟ(x, ẋ)) | (g(x), ġ(x, ẋ)). */
#include "ad/ad_internal.h"

void ad_switch_forward(Diff *r, int at) {
  World *w = r->w;
  Node *n = r->nodes[at], **ops = ad_fwd_all(r, n->ops, n->nops);
  StagedSwitch *s = r->memo[at] = NEW(w->arena, StagedSwitch);
  *s = (StagedSwitch){.selector = ops[0], .caps = ops + 1, .ncaps = n->nops - 1, .narms = n->ngraphs};
  Fact *facts = ad_facts(r, n->ops + 1, s->ncaps, ACTIVE | OVERWRITTEN);
  Node **ys = NEW_ARRAY(w->arena, Node *, s->narms);
  s->arms = NEW_ARRAY(w->arena, Split, s->narms);
  for (int t = 0; t < s->narms; t++) {
    ys[t] = ad_stages(r, n->graphs[t], facts, &s->arms[t])->y;
    for (int j = 0; j < s->arms[t].nres; j++) s->arms[t].res[j] = ad_taped(w, s->arms[t].res[j], facts);
  }
  r->fwd[at] = ir_switch_early(w, s, ys);
}

void ad_switch_backward(Diff *r, int at, Node *d) {
  Node *n = r->nodes[at];
  Nodes late = {0};
  vec_push(r->w->arena, late, d);
  ad_region_accs(r, n->ops + 1, n->nops - 1, &late);
  if (late.len == 1) return;
  Node *accs = ir_switch_late(r->w, r->memo[at], late.data, late.len);
  ad_region_all_done(r, n->ops + 1, n->nops - 1, accs);
}

void ad_switch_tangent(Diff *f, int at) {
  World *w = f->w;
  Node *n = f->nodes[at];
  Fact *act = ad_facts(f, n->ops + 1, n->nops - 1, ACTIVE);
  BranchBuilder *b = branch_open(w, ad_fwd(f, n->ops[0]));
  for (int i = 1; i < n->nops; i++) branch_add(b, ad_dual(f, n->ops[i]));
  for (int t = 0; t < n->ngraphs; t++) branch_graph(b, ad_tangent(w, n->graphs[t], act));
  ad_set_dual(f, at, branch_close(b));
}
