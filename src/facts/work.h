/* SPDX-License-Identifier: MIT */
/* How much work an iteration of a loop is, as an expression over what the loop's operands are (work.c). */
#ifndef ATLED_WORK_H
#define ATLED_WORK_H
#include "ir/world.h"

/* fixed + varying; the latter a float node of the graph around the loop, or NULL. */
typedef struct Amount {
  double fixed;
  Node *varying;
} Amount;
typedef struct Work {
  Amount operations; /* simple ones; calls of the C library or the runtime count as more */
  Amount additions;  /* to elements of arrays */
} Work;
/* Of an iteration of this counted loop, with its operands without the trip count. Trip counts of loops inside are those
 * that the operands tell; others are guessed. */
Work work_of_iteration(World *w, const Node *loop, Node **ops);
Node *amount_node(World *w, Amount a); /* as a float */
#endif
