/* SPDX-License-Identifier: MIT */
/* Tables for hash-consing: nodes, graphs and types that are equal are one pointer. Open addressing, at most half full;
 * nothing is ever taken out, but by rolling back (support/arena.c). */
#include "ir/ir_internal.h"

void *table_find(Table *t, uint32_t hash, bool (*same)(const void *, const void *), const void *key) {
  if (!t->cap) return NULL;
  for (size_t i = hash & (t->cap - 1);; i = (i + 1) & (t->cap - 1)) {
    if (!t->slots[i]) return NULL;
    if (same(t->slots[i], key)) return t->slots[i];
  }
}

static void **table_free_slot(const Table *t, uint32_t hash) {
  size_t i = hash & (t->cap - 1);
  while (t->slots[i]) i = (i + 1) & (t->cap - 1);
  return &t->slots[i];
}

void table_insert(World *w, Table *t, uint32_t hash, void *entry, uint32_t (*hash_of)(const void *)) {
  if (2 * (t->count + 1) > t->cap) {
    Table grown = {.cap = t->cap ? 2 * t->cap : 64, .count = t->count, .made = w->arena->epoch};
    grown.slots = NEW_ARRAY(w->arena, void *, grown.cap);
    for (size_t i = 0; i < t->cap; i++)
      if (t->slots[i]) *table_free_slot(&grown, hash_of(t->slots[i])) = t->slots[i];
    *t = grown;
  }
  void **slot = table_free_slot(t, hash);
  if (t->made != w->arena->epoch) SAVE(w->arena, *slot);
  *slot = entry;
  t->count++;
}
