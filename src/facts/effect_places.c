/* SPDX-License-Identifier: MIT */
/* Where effects and what may fail stand in the source: see effect_places.h.
 *
 * A check waits for the effects before it by an operand (AFTER) where elaboration could add one. Else only its place
 * tells which effects come before it. */
#include "facts/effect_places.h"

static bool may_fail_inside(const Node *x) {
  bool fails = false;
  for (int k = 0; k < x->ngraphs; k++) fails |= (x->graphs[k]->flags & NODE_FAILS) != 0;
  return fails;
}

/* Does the loop stack rows that may be of several lengths? That is an error. */
static bool stacks_rows(World *w, const Node *x) {
  bool differ = false;
  for (int k = 0; k < x->type->n; k++) differ |= ir_rows_may_differ(w, x, k);
  return differ;
}

bool fact_may_delay_effects(World *w, const Node *x) {
  if (ir_is_effect(x)) return false;
  switch (x->op) {
  case OP_LOOP: return x->loop->has_cond || may_fail_inside(x) || stacks_rows(w, x);
  case OP_SWITCH: return may_fail_inside(x);
  case OP_ARRAY: return x->nops > 1 && x->ops[0]->type->kind == T_ARRAY; /* rows of several lengths */
  case OP_RESHAPE: return x->site != 0;
  case OP_RT: return x->attr.rt->fails;
  case OP_CALL: return !x->attr.func->graph || x->attr.func->graph->flags & (NODE_FAILS | NODE_ENDLESS);
  default: return op_flags[x->op] & OPF_F;
  }
}

/* The place of the first effect in the graphs of x, or if x has no effects, of the first node that may fail; 0: there
 * is none. Only places that belong to a node's identity count: the first of the loops that are equal but for their
 * places stands for all. */
static Site place_inside(World *w, const Node *x) {
  bool effect = ir_is_effect(x);
  for (int k = 0; k < x->ngraphs; k++) {
    Node **nodes;
    int n = ir_order(w->temp, x->graphs[k], &nodes);
    for (int i = 0; i < n; i++) {
      bool meant = effect ? ir_is_effect(nodes[i]) : fact_may_delay_effects(w, nodes[i]);
      Site s = !meant ? 0 : ir_site_is_identity(nodes[i]) ? nodes[i]->site : place_inside(w, nodes[i]);
      if (s) return s;
    }
  }
  return 0;
}

Site fact_place(World *w, const Node *x) {
  bool inner = x->op == OP_SWITCH ? !x->site : x->op == OP_LOOP && !ir_is_effect(x) && !x->loop->has_cond;
  Site s = inner ? place_inside(w, x) : 0;
  return s ? s : x->site;
}

/* Does place s stand before place t where one lies in the other, as that of a function does in that of the call of grad
 * that gets it? By the innermost places, if they are in one function. */
static bool stands_before_inside(const World *w, Site s, Site t) {
  const SiteInfo *x = ir_site_info(w, s), *y = ir_site_info(w, t);
  if (ir_site_standing(w, t, s) == STANDS_BEFORE) return false;
  return x->function && x->function == y->function && x->at.source == y->at.source && x->at.end <= y->at.start;
}

bool fact_place_is_before(const World *w, Site effect, Site here) {
  return ir_site_standing(w, effect, here) != STANDS_ELSEWHERE || stands_before_inside(w, effect, here);
}
