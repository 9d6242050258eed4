/* SPDX-License-Identifier: MIT */
/* Which arrays that a loop carries are never changed in place, but replaced: to keep one costs a reference, so a second
 * stage may read them as they were in any iteration. Of an array that is updated, keeping it would make the next update
 * a copy of the whole; unless it is one anyway, since what updates it reads the array as it was, too. */
#include "graph/graph.h"

/* What array x shares its elements with. */
static const Node *owner_of(const Node *x) {
  while (x->op == OP_INDEX || x->op == OP_SLICE || x->op == OP_RESHAPE || x->op == OP_AFTER || x->op == OP_STOP)
    x = x->ops[0];
  return x;
}

static bool is_given(World *w, Graph *g, int k);

/* May u change operand k in place, or hand it to what may? */
static bool may_change(World *w, const Node *u, int k) {
  switch (u->op) {
  case OP_LEN:
  case OP_INDEX:
  case OP_SLICE:
  case OP_RESHAPE:
  case OP_AFTER:
  case OP_STOP: return false;
  case OP_LOOP: {
    int input = k - loop_first(u->loop);
    if (input < 0 || loop_part(u->loop, input) == LOOP_SLICED) return false;
    return loop_part(u->loop, input) != LOOP_CAPTURED || is_given(w, u->graphs[0], ir_inner_param(u, 0, k));
  }
  case OP_SWITCH:
    for (int i = 0; k > 0 && i < u->ngraphs; i++)
      if (is_given(w, u->graphs[i], ir_inner_param(u, i, k))) return true;
    return false;
  default: return u->ops[k]->type->kind == T_ARRAY;
  }
}

/* Is parameter k of g, or a part of it, given to what may change it? Results are. */
static bool is_given(World *w, Graph *g, int k) {
  void **known = ir_memo(w, g, "given", &k, sizeof k);
  if (*known) return *known == g;
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  const Node *result = owner_of(g->result);
  bool given = result->op == OP_PARAM && result->attr.i == k;
  for (int i = 0; !given && i < n; i++)
    for (int j = 0; !given && j < nodes[i]->nops; j++) {
      const Node *x = owner_of(nodes[i]->ops[j]);
      given = x->op == OP_PARAM && x->attr.i == k && may_change(w, nodes[i], j);
    }
  *ir_memo(w, g, "given", &k, sizeof k) = given ? (void *)g : (void *)nodes;
  return given;
}

bool ir_loop_copies(World *w, const Node *loop, int k) {
  const Node *x = loop->ops[k];
  if (loop->op != OP_LOOP || !may_change(w, loop, k)) return false;
  for (int j = loop_first(loop->loop); j < loop->nops; j++)
    if (j != k && owner_of(loop->ops[j]) == x && !may_change(w, loop, j)) return true;
  return false;
}

/* The same of the body of a loop that carries it: what it becomes another carried array as is kept if that one is. */
static bool is_kept(World *w, const LoopInfo *l, const Graph *body, int k, const bool *kept) {
  Node **nodes;
  int n = ir_order(w->temp, body, &nodes);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < nodes[i]->nops; j++) {
      const Node *x = owner_of(nodes[i]->ops[j]);
      if (x->op != OP_PARAM || x->attr.i != 1 + k) continue;
      bool next = nodes[i] == body->result && nodes[i]->op == OP_TUPLE;
      bool changed = may_change(w, nodes[i], j) && !(x == nodes[i]->ops[j] && ir_loop_copies(w, nodes[i], j));
      if (next ? j < l->ncarried && !kept[j] : changed) return false;
    }
  return true;
}

bool *ir_carried_kept(World *w, const LoopInfo *l, const Graph *body) {
  bool *kept = NEW_ARRAY(w->arena, bool, loop_slots(l) + 1);
  for (int k = 0; k < l->ncarried; k++) kept[k] = body->result->op == OP_TUPLE && body->params[1 + k]->kind == T_ARRAY;
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

bool ir_is_part_of_state(const LoopInfo *l, const Node *x) {
  bool part = false;
  for (; x->op == OP_SLICE || x->op == OP_INDEX || x->op == OP_RESHAPE || x->op == OP_AFTER || x->op == OP_UPDATE;
       x = x->ops[0])
    part |= x->op == OP_SLICE || x->op == OP_INDEX;
  return part && x->op == OP_PARAM && x->attr.i > 0 && loop_part(l, (int)x->attr.i - 1) <= LOOP_ACC;
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
