/* SPDX-License-Identifier: MIT */
/* What nodes may change in place, which the schedule puts after what reads it: arrays among the slots of an operand,
 * and, by branches and loops, arrays that an operand refers to, a variant. Both are asked of nested graphs, and
 * remembered for each. */
#include "lower/lower_internal.h"

static const Node *graph_param(const Node *x) {
  while (x->op == OP_GET || sched_is_same_array(x)) x = x->ops[0];
  return x->op == OP_PARAM ? x : NULL;
}

static const bool *consumed_params(Lower *m, Graph *g);

bool sched_consumes(Lower *m, const Node *u, int k) {
  switch (u->op) {
  case OP_UPDATE:
  case OP_ACC_AT:
  case OP_TAKE:
  case OP_CUPDATE:
  case OP_FILL:
  case OP_SHIFT: return k == 0;
  case OP_CADD:
  case OP_CALL: return true;
  case OP_LOOP: {
    int first = loop_first(u->loop);
    return k >= first && k < first + loop_slots(u->loop);
  }
  case OP_SWITCH:
    for (int i = 0; k > 0 && i < u->ngraphs; i++)
      if (consumed_params(m, u->graphs[i])[ir_inner_param(u, i, k)]) return true;
    return false;
  default: return false;
  }
}

static const bool *consumed_params(Lower *m, Graph *g) {
  bool *known = map_get(&m->consumed, g);
  if (known) return known;
  known = NEW_ARRAY(m->arena, bool, g->nparams + 1);
  Node **order;
  int n = ir_order(m->arena, g, &order);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < order[i]->nops; k++) {
      const Node *x = order[i]->ops[k];
      if (!lower_holds_arrays(x->type)) continue;
      const Node *p = graph_param(x);
      if (p && p->attr.i < g->nparams && sched_consumes(m, order[i], k)) known[p->attr.i] = true;
    }
  map_put(&m->consumed, g, known);
  return known;
}

bool sched_consumes_param(Lower *m, Graph *g, int k) { return consumed_params(m, g)[k]; }

/* The parameter of a graph that x is a part of what it holds; NULL: of none. */
static const Node *holding_param(const Node *x) {
  while (sched_is_part(x) || sched_is_same_array(x)) x = x->ops[0];
  return x->op == OP_PARAM ? x : NULL;
}

static const bool *changed_params(Lower *m, Graph *g);

bool sched_changes_held(Lower *m, const Node *u, int k) {
  bool control = u->op == OP_LOOP || (u->op == OP_SWITCH && k > 0);
  if (!control || u->ops[k]->type->kind != T_VARIANT || !ir_holds_arrays(m->w, u->ops[k]->type)) return false;
  if (u->op == OP_LOOP) return sched_consumes(m, u, k);
  for (int i = 0; i < u->ngraphs; i++)
    if (changed_params(m, u->graphs[i])[ir_inner_param(u, i, k)]) return true;
  return false;
}

/* Which parameters of g are variants that refer to arrays which it may change in place. */
static const bool *changed_params(Lower *m, Graph *g) {
  bool *known = map_get(&m->changed, g);
  if (known) return known;
  known = NEW_ARRAY(m->arena, bool, g->nparams + 1);
  Node **order;
  int n = ir_order(m->arena, g, &order);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < order[i]->nops; k++) {
      const Node *x = order[i]->ops[k], *p = holding_param(x);
      if (!p || p->attr.i >= g->nparams || p->type->kind != T_VARIANT) continue;
      bool array = lower_holds_arrays(x->type) && order[i]->op != OP_CALL && sched_consumes(m, order[i], k);
      if (array || sched_changes_held(m, order[i], k)) known[p->attr.i] = true;
    }
  map_put(&m->changed, g, known);
  return known;
}
