/* SPDX-License-Identifier: MIT */
/* Branches: the arm that is chosen; where that isn't known the greater one, or both where lowering makes a selection
 * of it. */
#include "facts/cost_internal.h"

static bool only_fails(const Graph *g) { return g->result->op == OP_FAIL; }

static CostValue *eval_arm(CostStudy *s, Graph *g, CostValue **ops, Cost *out) {
  Cost *outer = s->cost;
  s->cost = out;
  CostValue *v = cost_graph(s, g, ops + 1);
  s->cost = outer;
  return v;
}

/* As lowering has it (lower/lower_control.c): an arm of so little work that it is computed where the other is taken. */
static bool is_cheap(CostStudy *s, const Graph *g, bool lanes) {
  const Body *b = cost_body_of(s, g);
  int work = 0;
  for (int i = 0; i < b->n; i++) {
    unsigned flags = op_flags[b->nodes[i]->op];
    bool scalar = flags & OPF_S && !(flags & OPF_F) && b->nodes[i]->type->kind == T_FLOAT;
    if (!(flags & OPF_B) && !(lanes && scalar)) return false;
    if (flags & OPF_S) work += flags & OPF_B ? 1 : LIMIT_SELECT_WORK;
  }
  if (work > (lanes ? LIMIT_LANE_SELECT_WORK : LIMIT_SELECT_WORK)) return false;
  return ir_is_number(g->result->type) || g->result->type->kind == T_TUPLE;
}

static bool selects(CostStudy *s, const Node *n) {
  bool lanes = s->lanes && n->ops[0]->op != OP_PARAM;
  return n->ngraphs == 2 && n->ops[0]->type->kind == T_BOOL && is_cheap(s, n->graphs[0], lanes) &&
         is_cheap(s, n->graphs[1], lanes);
}

static int floats_of(const IrType *t) {
  int n = t->kind == T_FLOAT;
  for (int k = 0; k < t->n && t->kind == T_TUPLE; k++) n += floats_of(t->args[k]);
  return n;
}

static CostValue *eval_selection(CostStudy *s, const Node *n, CostValue **ops) {
  CostValue *arms[2];
  bool changed = false;
  for (int k = 0; k < 2; k++) arms[k] = cost_graph(s, n->graphs[k], ops + 1);
  cost_add_ops(s, floats_of(n->type));
  if (ops[0]->kind == COST_INT && ops[0]->exact) return arms[ops[0]->i != 0];
  return cost_join(s, arms[0], arms[1], &changed);
}

CostValue *cost_switch(CostStudy *s, const Node *n, CostValue **ops) {
  if (selects(s, n)) return eval_selection(s, n, ops);
  if (ops[0]->kind == COST_INT && ops[0]->exact) {
    int64_t k = ops[0]->i;
    return cost_graph(s, n->graphs[k >= 0 && k < n->ngraphs ? k : n->ngraphs - 1], ops + 1);
  }
  CostValue *all = NULL;
  Cost most = {0};
  bool changed = false;
  for (int k = 0; k < n->ngraphs; k++) {
    Cost one = {0};
    if (only_fails(n->graphs[k])) continue;
    CostValue *v = eval_arm(s, n->graphs[k], ops, &one);
    if (!all) most = one;
    else if (cost_bound(s, &most, &one)) s->uncertain++;
    all = all ? cost_join(s, all, v, &changed) : v;
  }
  cost_add(s, s->cost, &most);
  return all ? all : cost_unknown(s);
}
