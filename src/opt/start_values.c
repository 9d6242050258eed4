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

/* How often each node of a graph is used, counted where the first sum is met: few graphs have one. */
struct BagUses {
  Graph *g; /* NULL: it was counted */
  Map counts;
};

static void use(Map *uses, Node *x) { map_put(uses, x, (void *)((uintptr_t)map_get(uses, x) + 1)); }

BagUses *opt_bag_uses(World *w, Graph *g) {
  BagUses *uses = NEW(w->temp, BagUses);
  uses->g = g;
  return uses;
}

static const Map *counted(World *w, BagUses *uses) {
  if (!uses->g) return &uses->counts;
  Node **nodes;
  map_init(&uses->counts, w->temp);
  int n = ir_order(w->temp, uses->g, &nodes);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < nodes[i]->nops; k++) use(&uses->counts, nodes[i]->ops[k]);
  use(&uses->counts, uses->g->result);
  uses->g = NULL;
  return &uses->counts;
}

bool opt_bag_is_used_once(World *w, BagUses *uses, const Node *x) {
  return (uintptr_t)map_get(counted(w, uses), x) == 1;
}

/* The loop whose accumulator x is, or NULL. */
static Node *loop_of(const Node *x) {
  Node *loop = x->op == OP_GET ? x->ops[0] : NULL;
  if (!loop || loop->op != OP_LOOP || x->attr.i >= loop_slots(loop->loop)) return NULL;
  return x->attr.i >= loop->loop->ncarried ? loop : NULL;
}

static int start_of(const Node *x) { return (int)x->attr.i + loop_first(x->ops[0]->loop); }

/* Is all that x holds added to an empty accumulator, on the way to a sum that alone needs it? */
static bool begins_empty(World *w, const Map *uses, const Node *x, int depth) {
  if (x->op == OP_ZERO) return true;
  if (depth > LIMIT_BAG_CHAIN) return !limit_reached(w->arena, AT_BAG_CHAIN);
  if ((uintptr_t)map_get(uses, x) != 1) return false;
  if (x->op == OP_ACC_AT) return begins_empty(w, uses, x->ops[0], depth + 1);
  Node *loop = loop_of(x);
  return loop && (uintptr_t)map_get(uses, loop) == 1 && begins_empty(w, uses, loop->ops[start_of(x)], depth + 1);
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

Node *opt_start_value(World *w, BagUses *uses, const Node *n, Node **ops) {
  const Map *counts = counted(w, uses);
  for (int k = 1; k >= 0; k--) {
    Node *y = begins_empty(w, counts, n->ops[k], 0) ? begun_with(w, ops[k], ops[1 - k]) : NULL;
    if (y) return y;
  }
  return NULL;
}
