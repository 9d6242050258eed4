/* SPDX-License-Identifier: MIT */
/* The order of nodes that the backward pass of a graph reverses: what reads an array comes before what changes it in
 * place, unless it depends on that.
 *
 *   b' = update b i x; s = loop … b …   →   s = loop … b …; b' = update b i x
 *
 * The cotangent of b' is a whole array, and becomes that of b. When the backward pass of the reader runs after that of
 * the update it adds to this array; before it, it would need an array of zeros of its own in each iteration of a loop
 * around, and the cost theorem would not hold.
 *
 * A node's level is the greatest of those of its operands. That of a node which changes an array is above it and above
 * the levels of the array's readers. The order is that of the levels; among equals, that of the graph. */
#include "ad/ad_internal.h"
#include "facts/changes.h"

typedef struct Levels {
  const Diff *r;
  Uses *uses;
  int *level; /* by position */
} Levels;

/* True if n may change its operand k in place, an array that has a cotangent. */
static bool changes_active(const Diff *r, const Node *n, int k) {
  const Node *x = n->ops[k];
  return ad_active(r, x) && ir_holds_arrays(r->w, x->type) && changes_operand(r->w, n, k) & CHANGES;
}

/* The least level of the node at position i, which changes x, above those of x's readers. */
static int above_readers(const Levels *l, int i, const Node *x) {
  int level = l->level[i];
  FOR_USES (use, l->uses, x) {
    bool reads = use->at != i && !changes_active(l->r, use->user, use->operand);
    if (!reads || l->level[use->at] < level) continue;
    if (use->at < i || !fact_depends(l->r->w, use->user, l->r->nodes[i])) level = l->level[use->at] + 1;
  }
  return level;
}

/* Raises levels by those of operands and readers; true if any was raised. */
static bool raise_levels(const Levels *l) {
  const Diff *r = l->r;
  bool raised = false;
  for (int i = 0; i < r->n; i++) {
    const Node *n = r->nodes[i];
    int before = l->level[i];
    for (int k = 0; k < n->nops; k++) {
      int of = l->level[uses_position(l->uses, n->ops[k])];
      if (of > l->level[i]) l->level[i] = of;
    }
    for (int k = 0; k < n->nops; k++)
      if (changes_active(r, n, k)) l->level[i] = above_readers(l, i, n->ops[k]);
    raised |= l->level[i] > before;
  }
  return raised;
}

/* Positions sorted by level; equal ones keep their order. */
static int *sorted(const Levels *l, int n) {
  int most = 0;
  for (int i = 0; i < n; i++)
    if (l->level[i] > most) most = l->level[i];
  int *next = NEW_ARRAY(l->r->w->temp, int, most + 2), *order = NEW_ARRAY(l->r->w->temp, int, n + 1);
  for (int i = 0; i < n; i++) next[l->level[i] + 1]++;
  for (int k = 1; k <= most; k++) next[k] += next[k - 1];
  for (int i = 0; i < n; i++) order[next[l->level[i]]++] = i;
  return order;
}

int *ad_backward_order(const Diff *r, Graph *g) {
  Levels l = {.r = r, .uses = graph_uses(r->w, g), .level = NEW_ARRAY(r->w->temp, int, r->n + 1)};
  for (int round = 0; raise_levels(&l); round++)
    if (round == LIMIT_ORDER_ROUNDS && limit_reached(r->w->arena, AT_ORDER_ROUNDS)) break;
  return sorted(&l, r->n);
}
