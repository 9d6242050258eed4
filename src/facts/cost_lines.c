/* SPDX-License-Identifier: MIT */
/* The nodes of a graph in order, each with the line that its cost belongs to: its own; else that of the first node that
 * uses it; else that of an operand. Nodes that are equal but for their places are one, as they are in a program without
 * places. */
#include "facts/cost_internal.h"

static void take_lines_of_users(const Body *b) {
  const int *operand = b->operands;
  for (int i = 0; i < b->n; i++) operand += b->nodes[i]->nops;
  for (int i = b->n - 1; i >= 0; i--) {
    operand -= b->nodes[i]->nops;
    for (int k = 0; k < b->nodes[i]->nops && b->lines[i]; k++)
      if (!b->lines[operand[k]]) b->lines[operand[k]] = b->lines[i];
  }
}

/* What no node with a line uses is of the line of an operand. */
static void take_lines_of_operands(const Body *b) {
  const int *operand = b->operands;
  for (int i = 0; i < b->n; i++)
    for (int k = 0; k < b->nodes[i]->nops; k++, operand++)
      if (!b->lines[i]) b->lines[i] = b->lines[*operand];
}

static bool equal_but_for_places(const Body *b, const int *starts, int i, int k) {
  const Node *x = b->nodes[i], *y = b->nodes[k];
  if (x->op != y->op || x->type != y->type || x->nops != y->nops || x->attr.i != y->attr.i) return false;
  for (int o = 0; o < x->nops; o++)
    if (b->same[b->operands[starts[i] + o]] != b->same[b->operands[starts[k] + o]]) return false;
  return true;
}

static void find_same(const CostStudy *s, Body *b) {
  Map seen;
  map_init(&seen, s->a);
  b->same = NEW_ARRAY(s->a, int, b->n + 1);
  int *starts = NEW_ARRAY(s->a, int, b->n + 1), at = 0;
  for (int i = 0; i < b->n; i++) {
    const Node *x = b->nodes[i];
    starts[i] = at;
    b->same[i] = i;
    uint64_t h = hash_mix(x->op, (uint64_t)x->attr.i);
    for (int o = 0; o < x->nops; o++) h = hash_mix(h, (uint64_t)b->same[b->operands[at++]]);
    if (!(op_flags[x->op] & OPF_S) || op_flags[x->op] & OPF_F) continue;
    const void *key = (const void *)(uintptr_t)(h | 1);
    int k = (int)(uintptr_t)map_get(&seen, key) - 1;
    if (k >= 0 && equal_but_for_places(b, starts, i, k)) b->same[i] = k;
    else map_put(&seen, key, (void *)(uintptr_t)(i + 1));
  }
}

/* What is needed but for the message of an error. */
static void find_needed(const CostStudy *s, Body *b, const Graph *g) {
  int at = 0;
  b->needed = NEW_ARRAY(s->a, bool, b->n + 1);
  for (int i = 0; i < b->n; i++) {
    b->needed[i] = b->nodes[i] == g->result;
    at += b->nodes[i]->nops;
  }
  for (int i = b->n - 1; i >= 0; i--) {
    const Node *x = b->nodes[i];
    at -= x->nops;
    for (int k = 0; k < x->nops && b->needed[i]; k++)
      if (x->op != OP_FAIL && (x->op != OP_CHECK || k == 0)) b->needed[b->operands[at + k]] = true;
  }
}

/* The first line within a branch or loop that has none itself. */
static int line_within(CostStudy *s, const Node *x) {
  for (int k = 0; k < x->ngraphs && ir_is_control(x); k++) {
    const Body *b = cost_body_of(s, x->graphs[k]);
    for (int i = 0; i < b->n; i++)
      if (b->lines[i]) return b->lines[i];
  }
  return 0;
}

Body *cost_body_of(CostStudy *s, const Graph *g) {
  Body *b = map_get(&s->bodies, g);
  if (b) return b;
  b = NEW(s->a, Body);
  b->n = ir_order(s->a, g, &b->nodes);
  b->lines = NEW_ARRAY(s->a, int, b->n + 1);
  Map place;
  map_init(&place, s->a);
  int total = 0, at = 0;
  for (int i = 0; i < b->n; i++) total += b->nodes[i]->nops;
  b->operands = NEW_ARRAY(s->a, int, total + 1);
  for (int i = 0; i < b->n; i++) {
    const Node *x = b->nodes[i];
    for (int k = 0; k < x->nops; k++) b->operands[at++] = (int)(uintptr_t)map_get(&place, x->ops[k]) - 1;
    map_put(&place, x, (void *)(uintptr_t)(i + 1));
    b->lines[i] = x->site ? s->line_of(s->user, x->site) : 0;
    if (!b->lines[i]) b->lines[i] = line_within(s, x);
  }
  take_lines_of_users(b);
  take_lines_of_operands(b);
  find_needed(s, b, g);
  find_same(s, b);
  map_put(&s->bodies, g, b);
  return b;
}
