/* SPDX-License-Identifier: MIT */
/* A loop as several, each of some of its iterations (index_sets.c): shared by peel.c and split_loops.c. */
#ifndef ATLED_INDEX_SETS_H
#define ATLED_INDEX_SETS_H
#include "facts/ranges.h"
#include "opt/opt.h"

typedef struct Pieces {
  World *w;
  const Node *loop;
  Node **ops;   /* of the loop, new */
  Node **state; /* slots, then the arrays of stacked results, after the pieces so far */
  int nslots, nparts;
} Pieces;

/* Some iterations in a row: from + i, and after the first `before` of them `skipped` more (NULL: none is skipped). */
typedef struct Piece {
  Graph *body;
  Node *count, *from, *before, *skipped;
} Piece;

/* Can the results be filled in piece by piece, and the slices be read likewise? */
bool pieces_are_possible(const Node *loop);
/* May the iterations run in another order? */
bool pieces_are_independent(World *w, const Node *loop);
Pieces pieces_of(World *w, const Node *loop, Node **ops);
/* n pieces of one count in one loop, an iteration of each in turn. */
void pieces_run(Pieces *s, const Piece *p, int n);
/* n pieces that follow each other, one loop each, in the loop's direction. */
void pieces_run_each(Pieces *s, const Piece *p, int n);
/* What the loop yields. */
Node *pieces_result(const Pieces *s);

/* Splits the loop of f, over new operands, where its index passes what a branch compares it with; NULL: no branch does
 * (split_loops.c). */
Node *opt_split_loops(Ranges *p, Frame *f, Frame *body, Node *loop, Node **ops);
#endif
