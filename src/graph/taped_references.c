/* SPDX-License-Identifier: MIT */
/* Which carried arrays of a loop can be taped by reference.
 *
 * An array that is never updated in place, only replaced by another one, can be: the tape holds a reference, and the
 * second stage reads the array as it was in any iteration. To keep a reference to an array that is updated would
 * make the next update copy the whole array. That costs nothing more where the update copies anyway, since it also
 * reads the array as it was. The same holds for values that refer to arrays, like variants. */
#include "graph/graph.h"

/* What becomes of the arrays that an operand holds: they are changed in place, or may be; the value holds them, too. */
enum { CHANGED = 1, HELD = 2 };

static int becomes_in(World *w, Graph *g, int k);

static int becomes_in_loop(World *w, const Node *u, int k) {
  int input = k - loop_first(u->loop);
  if (input < 0 || loop_part(u->loop, input) == LOOP_SLICED) return 0;
  if (loop_part(u->loop, input) != LOOP_CAPTURED) return CHANGED;
  return becomes_in(w, u->graphs[0], ir_inner_param(u, 0, k)) ? CHANGED : 0;
}

/* What becomes of operand k of u. */
static int becomes(World *w, const Node *u, int k) {
  int all = 0;
  switch (u->op) {
  case OP_LEN:
  case OP_TAG: return 0;
  case OP_INDEX:
  case OP_SLICE:
  case OP_RESHAPE:
  case OP_AFTER: return k == 0 ? HELD : 0;
  case OP_STOP:
  case OP_INJ:
  case OP_UNINJ:
  case OP_TUPLE:
  case OP_GET: return HELD;
  case OP_LOOP: return becomes_in_loop(w, u, k);
  case OP_SWITCH:
    for (int i = 0; k > 0 && i < u->ngraphs; i++) all |= becomes_in(w, u->graphs[i], ir_inner_param(u, i, k));
    return all;
  default: return ir_holds_arrays(w, u->ops[k]->type) ? CHANGED : 0;
  }
}

static bool result_holds(World *w, Graph *g, int k, int slot);

/* Does component `slot` of tuple x hold arrays that a node of `held` holds? */
static bool component_holds(World *w, const Map *held, const Node *x, int slot) {
  if (x->op == OP_TUPLE) return map_get(held, x->ops[slot]);
  if (x->op != OP_SWITCH) return map_get(held, x);
  for (int j = 1; j < x->nops; j++)
    for (int i = 0; i < x->ngraphs && map_get(held, x->ops[j]); i++)
      if (result_holds(w, x->graphs[i], ir_inner_param(x, i, j), slot)) return true;
  return false;
}

static bool holds(World *w, const Map *held, const Node *u, int k) {
  if (u->op == OP_PARAM) return u->attr.i == k;
  if (u->op == OP_GET) return component_holds(w, held, u->ops[0], (int)u->attr.i);
  for (int j = 0; j < u->nops; j++)
    if (map_get(held, u->ops[j]) && (becomes(w, u, j) & HELD)) return true;
  return false;
}

/* Those of a graph's nodes that hold arrays which parameter k holds. */
static Map holders(World *w, Node **nodes, int n, int k) {
  Map held;
  map_init(&held, w->temp);
  for (int i = 0; i < n; i++)
    if (ir_holds_arrays(w, nodes[i]->type) && holds(w, &held, nodes[i], k)) map_put(&held, nodes[i], nodes[i]);
  return held;
}

/* Does component `slot` of g's result hold arrays that parameter k holds? */
static bool result_holds(World *w, Graph *g, int k, int slot) {
  const int facts[2] = {k, slot};
  uintptr_t known = (uintptr_t)*ir_memo(w, g, "result holds", facts, sizeof facts);
  if (known) return known == 2;
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  Map held = holders(w, nodes, n, k);
  bool yes = component_holds(w, &held, g->result, slot);
  *ir_memo(w, g, "result holds", facts, sizeof facts) = (void *)(uintptr_t)(yes ? 2 : 1);
  return yes;
}

/* What becomes of parameter k of g; held: by the result. */
static int becomes_in(World *w, Graph *g, int k) {
  uintptr_t known = (uintptr_t)*ir_memo(w, g, "becomes", &k, sizeof k);
  if (known) return (int)known - 1;
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  Map held = holders(w, nodes, n, k);
  int all = map_get(&held, g->result) ? HELD : 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < nodes[i]->nops; j++)
      if (map_get(&held, nodes[i]->ops[j])) all |= becomes(w, nodes[i], j) & CHANGED;
  *ir_memo(w, g, "becomes", &k, sizeof k) = (void *)((uintptr_t)all + 1);
  return all;
}

/* What array x shares its elements with. */
static const Node *owner_of(const Node *x) {
  while (x->op == OP_INDEX || x->op == OP_SLICE || x->op == OP_RESHAPE || x->op == OP_AFTER || x->op == OP_STOP)
    x = x->ops[0];
  return x;
}

bool ir_loop_copies(World *w, const Node *loop, int k) {
  const Node *x = loop->ops[k];
  if (loop->op != OP_LOOP || !(becomes_in(w, loop->graphs[0], ir_inner_param(loop, 0, k)) & CHANGED)) return false;
  for (int j = loop_first(loop->loop); j < loop->nops; j++)
    if (j != k && owner_of(loop->ops[j]) == x && !becomes(w, loop, j)) return true;
  return false;
}

/* Does the body of a loop leave the arrays unchanged that carried value k holds? Of what they become a part in the next
 * iteration `kept` tells the same. */
static bool is_kept(World *w, const LoopInfo *l, const Graph *body, int k, const bool *kept) {
  Node **nodes;
  int n = ir_order(w->temp, body, &nodes);
  Map held = holders(w, nodes, n, 1 + k);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < nodes[i]->nops; j++) {
      const Node *x = nodes[i]->ops[j];
      bool copied = x->op == OP_PARAM && ir_loop_copies(w, nodes[i], j);
      if (map_get(&held, x) && !copied && (becomes(w, nodes[i], j) & CHANGED)) return false;
    }
  for (int j = 0; j < l->ncarried; j++)
    if (!kept[j] && component_holds(w, &held, body->result, j)) return false;
  return true;
}

bool *ir_carried_kept(World *w, const LoopInfo *l, const Graph *body) {
  bool *kept = NEW_ARRAY(w->arena, bool, loop_slots(l) + 1);
  for (int k = 0; k < l->ncarried; k++) {
    const IrType *t = body->params[1 + k];
    kept[k] = t->kind != T_BAG && ir_holds_arrays(w, t);
  }
  for (bool more = true; more;) {
    more = false;
    for (int k = 0; k < l->ncarried; k++) {
      if (!kept[k] || is_kept(w, l, body, k, kept)) continue;
      kept[k] = false;
      more = true;
    }
  }
  return kept;
}

int ir_viewed_param(const Node *x) {
  bool view = false;
  for (;; x = x->ops[0]) {
    switch (x->op) {
    case OP_SLICE:
    case OP_INDEX: view |= x->type->kind == T_ARRAY; break;
    case OP_RESHAPE:
    case OP_AFTER:
    case OP_UPDATE:
    case OP_UNINJ:
    case OP_GET: break;
    default: return view && x->op == OP_PARAM ? (int)x->attr.i : -1;
    }
  }
}

/* Is x made here, by a loop, as a literal, or of what a loop added up? */
static bool is_made(const Node *x) {
  while (x->op == OP_AFTER) x = x->ops[0];
  if (x->op == OP_FILL) x = x->ops[0];
  else if (x->op == OP_GET) return x->ops[0]->op == OP_LOOP && x->attr.i >= loop_slots(x->ops[0]->loop);
  else return x->op == OP_ARRAY;
  return x->op == OP_GET && x->ops[0]->op == OP_LOOP;
}

bool ir_is_new_row(World *w, const Node *loop, Node **ops, Node *x) {
  if (x->type->kind != T_ARRAY || !ir_is_plain(ir_base(x->type))) return false;
  int64_t k = x->op == OP_PARAM ? x->attr.i - 1 : -1;
  const Node *result = loop->graphs[0]->result;
  if (k >= 0 && (k >= loop->loop->ncarried || result->op != OP_TUPLE)) return false;
  return is_made(k >= 0 ? result->ops[k] : x) && ir_shape_is_fixed(w, loop, ops, x);
}
