/* SPDX-License-Identifier: MIT */
/* Begins and ends compilations. Compilations nest: the inner one's counts of limits are added to the outer one's. A
 * compilation has its own memory. It may refer to the world; of the world only World.compilation and World.temp (and
 * Heap.reached) refer to it, and they are set here alone. */
#include "ir/compilation.h"

void compilation_begin(World *w) {
  Heap *heap = w->arena->heap;
  Compilation *c = heap_realloc(heap, NULL, 0, sizeof *c);
  if (!c) heap_out_of_memory(heap);
  *c = (Compilation){.outer = w->compilation, .ids = w->next_id, .met = w->met, .identities = w->identities};
  arena_init(&c->arena, heap);
  map_init(&c->resited, &c->arena);
  map_init(&c->unrolled, &c->arena);
  map_init(&c->unroll_counts, &c->arena);
  map_init(&c->endless, &c->arena);
  map_init(&c->patterns, &c->arena);
  map_init(&c->memos, &c->arena);
  map_init(&c->uses, &c->arena);
  map_init(&c->fates, &c->arena);
  w->compilation = c;
  w->temp = &c->arena;
  heap->reached = c->reached;
}

void compilation_end(World *w) {
  Compilation *c = w->compilation;
  if (!c) return;
  w->compilation = c->outer;
  w->temp = c->outer ? &c->outer->arena : NULL;
  Heap *heap = c->arena.heap;
  for (int k = 0; c->outer && k < LIMIT_COUNT; k++) c->outer->reached[k] += c->reached[k];
  heap->reached = c->outer ? c->outer->reached : NULL;
  arena_free(&c->arena);
  heap_realloc(heap, c, sizeof *c, 0);
}

Graph *ir_without_rules(World *w, Graph *g, Graph *(*pass)(World *w, Graph *g, void *user), void *user) {
  Compilation *c = compilation(w);
  bool before = c->inline_rules;
  c->inline_rules = true;
  g = pass(w, g, user);
  c->inline_rules = before;
  return g;
}

Graph *ir_with_rules(World *w, Graph *g, Graph *(*pass)(World *w, Graph *g, void *user), void *user) {
  Compilation *c = compilation(w), before = *c;
  c->heads = HEADS_REWRITTEN;
  c->inline_rules = false;
  g = pass(w, g, user);
  c->heads = before.heads;
  c->inline_rules = before.inline_rules;
  return g;
}

bool ir_is_older(const World *w, const IrType *t) { return t->id <= compilation(w)->ids; }
