/* SPDX-License-Identifier: MIT */
/* Def-use chains of one graph: for each node, the operands of other nodes that refer to it.
 *
 * Uses of nested graphs' nodes are those graphs' own: a branch or loop uses what it captures, as an operand. The tables
 * are filled when the first question is asked, and hold as long as the graph is looked at, which never changes. */
#ifndef ATLED_DEF_USES_H
#define ATLED_DEF_USES_H
#include "ir/ir.h"

typedef struct NodeUse {
  Node *user;
  int at, operand; /* the user's position; which of its operands it is */
} NodeUse;
typedef struct Uses {
  Arena *arena;
  Node **nodes; /* operands first; the result is last */
  int n;
  int *start; /* uses of nodes[i]: all[start[i]] up to all[start[i + 1]], in the users' order; NULL until asked for */
  NodeUse *all;
  Map pos;      /* node -> position + 1 */
  int *effects; /* see uses_effects_before; NULL until asked for */
} Uses;

Uses *graph_uses(World *w, Graph *g); /* made once for each graph that is compiled */
/* The same of these n nodes, in another order of the graph. */
Uses *uses_in_order(Arena *a, Node **nodes, int n);
int uses_position(Uses *u, const Node *x); /* -1: not in this graph */
/* How many operands refer to x. That the graph yields it is one use more. */
int uses_count(Uses *u, const Node *x);
/* The only use of x, which the graph doesn't yield; NULL: there are others, or none. */
const NodeUse *uses_only(Uses *u, const Node *x);
/* How many effects of the graph x depends on. They form a chain: each depends on those before it. */
int uses_effects_before(Uses *u, const Node *x);
/* Does x depend on `on`, a node of the same graph? */
bool fact_depends(World *w, Node *x, const Node *on);
/* For each position: does that node depend on x, other than through `but`? So does x itself. */
bool *uses_dependents(Uses *u, const Node *x, const Node *but);
/* The uses of x other than being the graph's result: from the first one up to the end. */
const NodeUse *uses_first(Uses *u, const Node *x);
const NodeUse *uses_end(Uses *u, const Node *x);
#define FOR_USES(use, uses, x)                                                                                         \
  for (const NodeUse *use = uses_first(uses, x), *use##_end = uses_end(uses, x); use < use##_end; use++)
#endif
