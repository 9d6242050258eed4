/* SPDX-License-Identifier: MIT */
/* What nodes may change in place: see changes.h. Recursion goes into the arms of branches. */
#include "facts/changes.h"

void changes_init(Changes *c, Arena *arena) {
  c->arena = arena;
  map_init(&c->params, arena);
}

/* The parameter of a graph that x is, or is a part of (*part); NULL: neither. */
static const Node *param_behind(const Node *x, bool *part) {
  for (*part = false; fact_renames(x) || fact_is_part(x); x = x->ops[0]) *part |= x->op == OP_UNINJ;
  return x->op == OP_PARAM ? x : NULL;
}

static const uint8_t *changes_params(Changes *c, Graph *g) {
  uint8_t *known = map_get(&c->params, g);
  if (known) return known;
  known = NEW_ARRAY(c->arena, uint8_t, g->nparams + 1);
  Node **order;
  int n = ir_order(c->arena, g, &order);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < order[i]->nops; k++) {
      bool part;
      const Node *p = param_behind(order[i]->ops[k], &part);
      unsigned changed = p && p->attr.i < g->nparams ? changes_operand(c, order[i], k) : 0;
      if (changed) known[p->attr.i] |= (uint8_t)(part ? CHANGES_PART : changed);
    }
  map_put(&c->params, g, known);
  return known;
}

unsigned changes_param(Changes *c, Graph *g, int k) { return changes_params(c, g)[k]; }

unsigned changes_operand(Changes *c, const Node *u, int k) {
  unsigned all = 0;
  switch (u->op) {
  case OP_CADD:
  case OP_CALL: return CHANGES_ITSELF;
  case OP_LOOP: {
    int state = k - loop_first(u->loop);
    return state >= 0 && state < loop_slots(u->loop) ? CHANGES_ITSELF : 0;
  }
  case OP_SWITCH:
    for (int i = 0; k > 0 && i < u->ngraphs; i++) all |= changes_param(c, u->graphs[i], ir_inner_param(u, i, k));
    return all;
  default: return k == 0 && op_flags[u->op] & OPF_W ? CHANGES_ITSELF : 0;
  }
}
