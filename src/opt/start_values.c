/* SPDX-License-Identifier: MIT */
/* Sums of accumulators, one of which begins empty and only gets a few entries: these are added to the other one.
 *
 *   acc_at (loop accs zero …) dims i x +. b   becomes   acc_at (loop accs b …) dims i x
 *
 * Where b is an array, as the state of a loop often is, the sum would cost as much as it has entries, and so would the
 * loop's own array: in each iteration around, whatever is added. Accumulators that pay for an array of their own have
 * got it before, and stay apart. */
#include "opt/opt.h"
#include "graph/graph.h"

/* The loop whose accumulator x is, or NULL. */
static Node *loop_of(const Node *x) {
  Node *loop = x->op == OP_GET ? x->ops[0] : NULL;
  if (!loop || loop->op != OP_LOOP || x->attr.i >= loop_slots(loop->loop)) return NULL;
  return x->attr.i >= loop->loop->ncarried ? loop : NULL;
}

static int start_of(const Node *x) { return (int)x->attr.i + loop_first(x->ops[0]->loop); }

/* Is all that x holds added to an empty accumulator, on the way to a sum that alone needs it? */
static bool begins_empty(World *w, Uses *uses, const Node *x, int depth) {
  if (x->op == OP_ZERO) return true;
  if (depth > LIMIT_BAG_CHAIN) return !limit_reached(w->arena, AT_BAG_CHAIN);
  if (uses_count(uses, x) != 1) return false;
  if (x->op == OP_ACC_AT) return begins_empty(w, uses, x->ops[0], depth + 1);
  Node *loop = loop_of(x);
  return loop && uses_count(uses, loop) == 1 && begins_empty(w, uses, loop->ops[start_of(x)], depth + 1);
}

/* x added to b; NULL if it doesn't begin empty any more. */
static Node *begun_with(World *w, const Node *x, Node *b) {
  if (x->op == OP_ZERO) return b;
  const Node *adds = x->op == OP_ACC_AT ? x : loop_of(x);
  if (!adds) return NULL;
  int at = adds == x ? 0 : start_of(x);
  Node *start = begun_with(w, adds->ops[at], b);
  if (!start) return NULL;
  Node *y = edit_operand(w, adds, at, start);
  return adds == x ? y : ir_get(w, y, (int)x->attr.i);
}

Node *opt_start_value(World *w, Uses *uses, const Node *n, Node **ops) {
  for (int k = 1; k >= 0; k--) {
    Node *y = begins_empty(w, uses, n->ops[k], 0) ? begun_with(w, ops[k], ops[1 - k]) : NULL;
    if (y) return y;
  }
  return NULL;
}
