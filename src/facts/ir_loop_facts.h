/* SPDX-License-Identifier: MIT */
/* Loop facts: which nodes of a loop's body are loop-invariant, how they move with the loop's index, and what an
 * iteration does to the loop's arrays.
 *
 * A LoopFacts answers for one body over one list of inputs; a pass makes it, asks, and drops it when it rewrites the
 * loop. Index forms are found once per node: an invariant number is one whose step is 0. */
#ifndef ATLED_IR_LOOP_FACTS_H
#define ATLED_IR_LOOP_FACTS_H
#include "ir/ir.h"

/* A number of the body as  step * i + start,  where i is the loop's index and start is loop-invariant. */
typedef struct IndexForm {
  bool affine; /* it is of this form, and step is known */
  int64_t step;
  bool constant; /* start is the constant c */
  int64_t c;
  /* Does the node, or what it is made of, depend on the index; on slots or elements of sliced arrays? Of neither: it
   * can be made before the loop. */
  bool reads_index, reads_state;
} IndexForm;

typedef struct LoopFacts {
  World *w;
  const LoopInfo *l;
  Node **inputs; /* of the loop: operands without the trip count */
  Graph *body;
  const IndexForm *params; /* of each parameter of the body; NULL: they follow from l */
  bool unchecked;          /* numbers are looked at without the checks that yield them */
  Map forms, starts;       /* node of the body -> IndexForm *; Node *: see loop_start */
} LoopFacts;

LoopFacts loop_facts(World *w, const LoopInfo *l, Node **inputs, Graph *body, bool unchecked);
static inline LoopFacts loop_facts_of(World *w, const Node *loop, bool unchecked) {
  return loop_facts(w, loop->loop, loop->ops + loop_first(loop->loop), loop->graphs[0], unchecked);
}
/* Of graph g, whose captures have those forms: an arm in a loop's body, or an inner loop's body seen from the outer
 * loop. Of these, loop_index_form alone can be asked. */
LoopFacts loop_facts_inside(World *w, Graph *g, const IndexForm *params, bool unchecked);
const IndexForm *loop_index_form(LoopFacts *f, const Node *x);
/* What stands for the body's parameters before the loop: 0 for the index, an input for a capture, else an empty value;
 * a fresh array. */
Node **loop_outer_args(const LoopFacts *f);
/* Node x of the body before the loop, if it is loop-invariant; else NULL. What fails in it fails there, too. */
Node *loop_invariant(LoopFacts *f, Node *x);
/* The start of number x, before the loop. Made of arithmetic that can't fail, even where the loop doesn't run; NULL: it
 * takes more, or isn't affine. */
Node *loop_start(LoopFacts *f, Node *x);
/* The same if x is loop-invariant; else NULL. */
Node *loop_invariant_number(LoopFacts *f, Node *x);

/* An upper bound of int x, as it is written; INT64_MAX: none is seen. */
int64_t fact_at_most(const Node *x, int depth);

/* ---- Slots ---- */
/* x without checks of it, and without what it is ordered after. */
static inline Node *fact_unchecked(const Node *x) {
  while (x->op == OP_AFTER || op_flags[x->op] & OPF_V) x = x->ops[0];
  return (Node *)x;
}
static inline bool fact_is_param(const Node *x, int64_t p) { return x->op == OP_PARAM && x->attr.i == p; }
/* The term of  next = p + term,  a sum of free order with parameter p; NULL: it is none. */
Node *fact_term(const Node *next, int p);
/* Is x  p[i],  where parameter p of a loop's body is an array and i the loop's index? */
static inline bool fact_is_own_element(const Node *x, int64_t p) {
  return x->op == OP_INDEX && x->nops == 2 && fact_is_param(x->ops[0], p) && fact_is_param(x->ops[1], 0);
}
/* Do all nodes of the body but one (NULL: none) read array p at the loop's index only? */
bool fact_is_read_in_order(World *w, Graph *body, int p, const Node *but);
/* The UPDATE at the loop's index that makes the next value of slot s, a vector, if the vector and that value are read
 * for nothing but the element at this index; else NULL. Then no iteration reads what another one writes. */
Node *fact_filled_in_order(World *w, Graph *body, int s);
#endif
