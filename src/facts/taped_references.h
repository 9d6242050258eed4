/* SPDX-License-Identifier: MIT */
/* Which arrays a tape keeps by reference, and which it copies. */
#ifndef ATLED_TAPED_REFERENCES_H
#define ATLED_TAPED_REFERENCES_H
#include "ir/ir.h"

/* Which carried values of a loop refer to arrays none of which its body changes in place: it replaces them. */
bool *ir_carried_kept(World *w, const LoopInfo *l, Graph *body);
/* Is operand k of a loop an array that it changes and also reads as it was before the loop? It is copied then. */
bool ir_loop_copies(World *w, const Node *loop, int k);
/* Is x, a value in the loop's body, an array of numbers that is new in every iteration, and has the same dimensions in
 * all? Making it costs what a copy does. */
bool ir_is_new_row(World *w, const Node *loop, Node **ops, Node *x);
#endif
