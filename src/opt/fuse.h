/* SPDX-License-Identifier: MIT */
/* What the ways of fusing loops share: fuse.c. */
#ifndef ATLED_FUSE_H
#define ATLED_FUSE_H
#include "ir/world.h"
#include "opt/opt.h"

typedef struct Fusion {
  World *w;
  const Node *loop; /* the consumer */
  Node *n, **ops;   /* of the consumer: trip count, the other operands */
  Node **olds;      /* what these were before the pass, which is what was counted; NULL: the producer's */
  const LoopInfo *l;
  Graph *body;
  Node *producer;
  bool *fused; /* per operand: an output of the producer */
  int slots;
} Fusion;

/* Does the use read one element of a vector? */
static inline bool fuse_is_element(const NodeUse *use) {
  return use->user->op == OP_INDEX && use->user->nops == 2 && use->operand == 0;
}
/* Element i of an output of a loop with independent iterations: what its body makes there of the operands `ops`,
 * without the trip count. */
Node *fuse_element(World *w, const Node *loop, int output, Node **ops, Node *i);
/* The consumer's trip count, which waits for what the producer's does: checks of what it reads. */
Node *fuse_count(const Fusion *f);
/* The consumer, which computes the elements of operand k, the producer's only output, itself; NULL if it reads it in
 * other ways than described in fuse_reads.c. */
Node *fuse_read(const Fusion *f, int k);
/* Does the loop change an array that the loop `by` reads as it was before? They can't be one without a copy. */
bool fuse_changes_what_is_read(const Node *loop, const Node *by);
/* An array of numbers, or of tuples of numbers and arrays. */
bool fuse_is_fusible(const IrType *t);
/* In `over`: puts `element` for what the body reads of array p, its parameter, at the loop's index. */
void fuse_put_elements(World *w, Graph *body, int p, Node *element, Map *over);
#endif
