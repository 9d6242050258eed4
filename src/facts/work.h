/* SPDX-License-Identifier: MIT */
/* How much work an iteration of a loop is, as an expression over what the loop's operands are (work.c). */
#ifndef ATLED_WORK_H
#define ATLED_WORK_H
#include "ir/world.h"

/* In simple operations, with calls of the C library or the runtime as several: fixed + varying, the latter a float
 * node of the graph around the loop, or NULL. */
typedef struct Work {
  double fixed;
  Node *varying;
  bool in_turn; /* something in it is called by one thread at a time */
  bool guessed; /* it may be more: a number of iterations isn't known, or not all was looked at */
} Work;
/* Of an iteration of this counted loop, with its operands without the trip count. Trip counts of loops inside are those
 * that the operands tell; others are guessed. */
Work work_of_iteration(World *w, const Node *loop, Node **ops);
Node *work_node(World *w, Work a); /* as a float */
#endif
