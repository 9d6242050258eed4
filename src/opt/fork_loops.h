/* SPDX-License-Identifier: MIT */
/* Loops that can be run in blocks (splittable.c), for fork_loops.c. */
#ifndef ATLED_FORK_LOOPS_H
#define ATLED_FORK_LOOPS_H
#include "graph/graph.h"
#include "support/joins.h"

/* Can the loop be run in blocks? */
bool opt_is_splittable(World *w, const Node *loop);
/* How slot k of the loop is put together from those of blocks; JOIN_NONE: it can't be. */
Join opt_join_of(World *w, const Node *loop, int k);
#endif
