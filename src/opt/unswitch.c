/* SPDX-License-Identifier: MIT */
/* Loop unswitching: a branch in a loop's body on something that is the same in all iterations moves before the loop,
 * which becomes one for each arm.
 *
 *   for i < n: x[i] = if m < 3 then f i else g i
 *   →
 *   if m < 3 then (for i < n: x[i] = f i) else (for i < n: x[i] = g i)
 *
 * Only where an arm has a loop of its own: then each of the loops may run several iterations at once, or have no calls,
 * which the other arm would hinder. Branches between numbers become selections or cost little. */
#include "facts/ir_loop_facts.h"
#include "ir/edit.h"
#include "opt/opt.h"

static bool is_loop(const Node *x) { return x->op == OP_LOOP; }

/* Is x a branch on a bool that can't fail, with a loop in one of its arms? */
static bool has_loop_in_arm(World *w, const Node *x) {
  if (x->op != OP_SWITCH || x->ngraphs != 2 || x->ops[0]->type->kind != T_BOOL) return false;
  if (ir_is_constant(x->ops[0]) || x->ops[0]->flags & (NODE_FAILS | NODE_COSTLY | NODE_CALLS)) return false;
  return ir_reaches(w, x->graphs[0], is_loop) || ir_reaches(w, x->graphs[1], is_loop);
}

/* Has the body few nodes outside the arms? These are duplicated. */
static bool is_rest_small(World *w, const Graph *body, const Node *branch) {
  int rest = body->size - branch->graphs[0]->size - branch->graphs[1]->size;
  return rest <= LIMIT_UNSWITCHED || !limit_reached(w->arena, AT_UNSWITCHED);
}

/* The selector of the first such branch in the body that is loop-invariant; NULL: there is none. *outside: the selector
 * in the graph around the loop. */
static Node *find_selector(World *w, const Node *loop, Node **ops, Graph *body, Node **outside) {
  LoopFacts facts = loop_facts(w, loop->loop, ops + loop_first(loop->loop), body, false);
  Node **nodes;
  int n = ir_order(w->temp, body, &nodes);
  for (int k = 0; k < n; k++) {
    if (!has_loop_in_arm(w, nodes[k])) continue;
    *outside = loop_invariant(&facts, nodes[k]->ops[0]);
    if (*outside && !ir_is_constant(*outside) && is_rest_small(w, body, nodes[k])) return nodes[k]->ops[0];
  }
  return NULL;
}

/* The loop over other operands, with a constant for the selector in its body. */
static Node *with_constant(World *w, const Node *loop, Node **ops, Graph *body, Node *selector, bool value) {
  Map known;
  map_init(&known, w->temp);
  map_put(&known, selector, ir_bool(w, value));
  Graph *g = ir_graph_over(w, body, &known);
  LoopEdit *e = edit_loop(w, loop, ops, &g);
  edit_inputs(e);
  return edit_value(e);
}

static Node *unswitch(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)frame;
  World *w = user;
  if (n->op != OP_LOOP || n->loop->has_cond) return NULL;
  Node *outside = NULL, *selector = find_selector(w, n, ops, graphs[0], &outside);
  if (!selector) return NULL;
  BranchBuilder *b = branch_open(w, outside);
  Node **caps = NEW_ARRAY(w->temp, Node *, n->nops + 1);
  for (int k = 0; k < n->nops; k++) caps[k] = branch_add(b, ops[k]);
  branch_arm(b, with_constant(w, n, caps, graphs[0], selector, false), NULL);
  branch_arm(b, with_constant(w, n, caps, graphs[0], selector, true), NULL);
  return branch_close(b);
}

Graph *opt_unswitch(World *w, Graph *g) { return ir_rewrite(w, g, (RewritePass){.user = w, .node = unswitch}); }
