/* SPDX-License-Identifier: MIT */
/* Induction variables: an int that a loop carries and that grows by the same in each iteration, or by what grows by the
 * same, is computed from the loop's index. Then iterations don't need each other for it.
 *
 *   loop i < n, c = c0: … c …; c' = c + b - i    →    loop i < n: … c0 + b * i - i * (i - 1) / 2 …
 *
 * Loops that count up, and whose trip count is known before them. Ints wrap, so the sum is the same in any form; the
 * product i * (i - 1), which is halved, doesn't wrap for any number of iterations that a loop can run. */
#include "facts/ir_loop_facts.h"
#include "graph/graph.h"
#include "ir/world.h"
#include "opt/opt.h"

/* constant + index * i + the numbers in `outside`, which are the same in all iterations, + self * the carried int. */
typedef struct Growth {
  LoopFacts *facts;
  World *w;
  int slot;
  int64_t constant, index, self;
  Node *outside; /* before the loop; NULL: 0 */
} Growth;

static void add_outside(Growth *g, Node *x, int sign) {
  Node *sum = g->outside ? g->outside : ir_int(g->w, 0);
  g->outside = ir_op2(g->w, sign > 0 ? OP_IADD : OP_ISUB, sum, x);
}

/* Adds what x is to g, or subtracts it; false: x isn't such a sum. */
static bool add_growth(Growth *g, Node *x, int sign, int depth) {
  if (depth > LIMIT_SMALL_SUM) {
    limit_reached(g->w->arena, AT_SMALL_SUM);
    return false;
  }
  if (fact_is_param(x, 1 + g->slot)) g->self += sign;
  else if (fact_is_param(x, 0)) g->index += sign;
  else if (x->op == OP_INT) g->constant += sign * x->attr.i;
  else if (x->op == OP_IADD || x->op == OP_ISUB)
    return add_growth(g, x->ops[0], sign, depth + 1) &&
           add_growth(g, x->ops[1], x->op == OP_IADD ? sign : -sign, depth + 1);
  else {
    Node *same = loop_invariant_number(g->facts, x);
    if (!same) return false;
    add_outside(g, same, sign);
  }
  return true;
}

static bool is_moderate(int64_t v) { return v > -(1 << 20) && v < 1 << 20; }

/* Does slot k grow so? */
static bool find_growth(World *w, LoopFacts *facts, int k, Growth *g) {
  *g = (Growth){.facts = facts, .w = w, .slot = k};
  const Node *result = facts->body->result;
  Node *next = result->op == OP_TUPLE ? result->ops[k] : NULL;
  if (!next || next->type->kind != T_INT || !add_growth(g, next, 1, 0)) return false;
  return g->self == 1 && is_moderate(g->index) && is_moderate(g->constant);
}

/* start + step * i + index * (i * (i - 1) / 2) */
static Node *value_at(World *w, Node *start, Node *step, int64_t index, Node *i) {
  Node *x = ir_op2(w, OP_IADD, start, ir_op2(w, OP_IMUL, step, i));
  if (!index) return x;
  Node *twice = ir_op2(w, OP_IMUL, i, ir_op2(w, OP_IADD, i, ir_int(w, -1)));
  Node *pairs = ir_op2(w, OP_IDIV, twice, ir_int(w, 2));
  return ir_op2(w, OP_IADD, x, ir_op2(w, OP_IMUL, pairs, ir_int(w, index)));
}

static Node *step_of(World *w, const Growth *g) {
  Node *constant = ir_int(w, g->constant);
  return g->outside ? ir_op2(w, OP_IADD, g->outside, constant) : constant;
}

static Node *compute_ints(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r, (void)frame;
  World *w = user;
  if (n->op != OP_LOOP || n->loop->has_cond || n->loop->down || !n->loop->ncarried) return NULL;
  const LoopInfo *l = n->loop;
  LoopFacts facts = loop_facts(w, l, ops + loop_first(l), graphs[0], false);
  Growth *grows = NEW_ARRAY(w->temp, Growth, l->ncarried);
  bool *found = NEW_ARRAY(w->temp, bool, l->ncarried), any = false;
  for (int k = 0; k < l->ncarried; k++) any |= found[k] = find_growth(w, &facts, k, &grows[k]);
  if (!any) return NULL;
  LoopEdit *e = edit_loop(w, n, ops, graphs);
  for (int k = 0; k < l->ncarried; k++)
    if (found[k]) e->args[1 + k] = ir_zero(w, graphs[0]->params[1 + k]); /* until all inputs are taken */
  edit_inputs(e);
  for (int k = 0; k < l->ncarried; k++) {
    if (!found[k]) continue;
    Node *start = loop_add(e->b, LOOP_CAPTURED, ops[1 + k]);
    Node *step = loop_add(e->b, LOOP_CAPTURED, step_of(w, &grows[k]));
    e->args[1 + k] = value_at(w, start, step, grows[k].index, e->args[0]);
  }
  edit_close(e);
  Node *trips = ir_op2(w, OP_IMAX, ops[0], ir_int(w, 0));
  for (int k = 0; k < l->ncarried; k++)
    if (found[k]) e->results[k] = value_at(w, ops[1 + k], step_of(w, &grows[k]), grows[k].index, trips);
  return edit_value(e);
}

Graph *opt_induction(World *w, Graph *g) { return ir_rewrite(w, g, (RewritePass){.user = w, .node = compute_ints}); }
