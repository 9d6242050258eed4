/* SPDX-License-Identifier: MIT */
/* Def-use chains: see uses.h. A counting sort of all operands by the node that they refer to. */
#include "facts/uses.h"
#include "ir/world.h"

Uses *uses_in_order(Arena *a, Node **nodes, int n) {
  Uses *u = NEW(a, Uses);
  *u = (Uses){.arena = a, .nodes = nodes, .n = n};
  return u;
}

Uses *graph_uses(World *w, Graph *g) {
  Map *known = &compilation(w)->uses;
  Uses *u = map_get(known, g);
  if (u) return u;
  const GraphBody *b = graph_body(w, g);
  u = uses_in_order(w->temp, b->nodes, b->n);
  map_put(known, g, u);
  return u;
}

static int position(const Uses *u, const Node *x) { return (int)(uintptr_t)map_get(&u->pos, x) - 1; }

static void fill(Uses *u) {
  int *start = NEW_ARRAY(u->arena, int, u->n + 2), total = 0;
  map_init(&u->pos, u->arena);
  for (int i = 0; i < u->n; i++) {
    map_put(&u->pos, u->nodes[i], (void *)(uintptr_t)(i + 1));
    total += u->nodes[i]->nops;
  }
  int *operands = NEW_ARRAY(u->arena, int, total + 1), *next = operands;
  for (int i = 0; i < u->n; i++)
    for (int k = 0; k < u->nodes[i]->nops; k++) start[2 + (*next++ = position(u, u->nodes[i]->ops[k]))]++;
  for (int i = 2; i < u->n + 2; i++) start[i] += start[i - 1];
  u->start = start; /* start[i + 1] is where the next use of nodes[i] goes */
  u->all = NEW_ARRAY(u->arena, NodeUse, total + 1);
  next = operands;
  for (int i = 0; i < u->n; i++)
    for (int k = 0; k < u->nodes[i]->nops; k++) u->all[start[1 + *next++]++] = (NodeUse){u->nodes[i], i, k};
}

int uses_position(Uses *u, const Node *x) {
  if (!u->start) fill(u);
  return position(u, x);
}

const NodeUse *uses_first(Uses *u, const Node *x) {
  int at = uses_position(u, x);
  return u->all + (at < 0 ? 0 : u->start[at]);
}

const NodeUse *uses_end(Uses *u, const Node *x) {
  int at = uses_position(u, x);
  return u->all + (at < 0 ? 0 : u->start[at + 1]);
}

int uses_count(Uses *u, const Node *x) {
  bool result = x == u->nodes[u->n - 1];
  return (int)(uses_end(u, x) - uses_first(u, x)) + result;
}

const NodeUse *uses_only(Uses *u, const Node *x) {
  const NodeUse *first = uses_first(u, x);
  return uses_end(u, x) - first == 1 ? first : NULL;
}

int uses_effects_before(Uses *u, const Node *x) {
  int at = uses_position(u, x), *before = u->effects;
  if (before) return before[at];
  u->effects = before = NEW_ARRAY(u->arena, int, u->n + 1);
  for (int i = 0; i < u->n; i++) {
    int n = before[i] + ir_is_effect(u->nodes[i]);
    for (int k = u->start[i]; k < u->start[i + 1]; k++)
      if (n > before[u->all[k].at]) before[u->all[k].at] = n;
  }
  return before[at];
}

bool fact_depends(World *w, Node *x, const Node *on) {
  IrType *none = NULL;
  Node **nodes;
  int n = x->id < on->id ? 0 : ir_order(w->temp, ir_graph(w, &none, 0, x, NULL), &nodes); /* operands come first */
  for (int i = 0; i < n; i++)
    if (nodes[i] == on) return true;
  return false;
}

bool *uses_dependents(Uses *u, const Node *x, const Node *but) {
  bool *depends = NEW_ARRAY(u->arena, bool, u->n + 1);
  for (int i = uses_position(u, x); i >= 0 && i < u->n; i++) {
    if (u->nodes[i] == x) depends[i] = true;
    if (!depends[i] || u->nodes[i] == but) continue;
    for (int k = u->start[i]; k < u->start[i + 1]; k++) depends[u->all[k].at] = true;
  }
  return depends;
}
