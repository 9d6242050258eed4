/* SPDX-License-Identifier: MIT */
/* Tables for hash-consing: nodes, graphs and types that are equal are one pointer. Open addressing, at most half full;
 * nothing is ever taken out, but by rolling back (support/arena.c). */
#include "ir/ir_internal.h"

/* What stands in `hashes` for a hash: 0 is a free slot. The low bits choose the slot, so they stay. */
static uint32_t taken(uint32_t hash) { return hash | 1u << 31; }

void *table_find(Table *t, uint32_t hash, bool (*same)(const void *, const void *), const void *key) {
  if (!t->cap) return NULL;
  for (size_t i = hash & (t->cap - 1); t->hashes[i]; i = (i + 1) & (t->cap - 1))
    if (t->hashes[i] == taken(hash) && same(t->slots[i], key)) return t->slots[i];
  return NULL;
}

static size_t table_free_slot(const Table *t, uint32_t hash) {
  size_t i = hash & (t->cap - 1);
  while (t->hashes[i]) i = (i + 1) & (t->cap - 1);
  return i;
}

static void table_grow(World *w, Table *t) {
  Table grown = {.cap = t->cap ? 2 * t->cap : 64, .count = t->count, .made = w->arena->epoch};
  if (grown.cap > 1u << 31) heap_out_of_memory(w->arena->heap);
  grown.slots = NEW_ARRAY(w->arena, void *, grown.cap);
  grown.hashes = NEW_ARRAY(w->arena, uint32_t, grown.cap);
  for (size_t i = 0; i < t->cap; i++) {
    if (!t->hashes[i]) continue;
    size_t k = table_free_slot(&grown, t->hashes[i]);
    grown.slots[k] = t->slots[i];
    grown.hashes[k] = t->hashes[i];
  }
  *t = grown;
}

void table_insert(World *w, Table *t, uint32_t hash, void *entry) {
  if (2 * (t->count + 1) > t->cap) table_grow(w, t);
  size_t i = table_free_slot(t, hash);
  if (t->made != w->arena->epoch) {
    SAVE(w->arena, t->slots[i]);
    SAVE(w->arena, t->hashes[i]);
  }
  t->slots[i] = entry;
  t->hashes[i] = taken(hash);
  t->count++;
}
