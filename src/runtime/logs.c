/* SPDX-License-Identifier: MIT */
/* Reading bags that are logs, by a hash table of their entries.
 *
 * A log that is read for the first time, and isn't short, gets a table from indices to entries: open addressing, at
 * most half full, what is in it being 1 + the number of the entry. Entries of one index become one. Entries that are
 * appended later enter the table at the next read. So a read costs about as much as the additions since the last one,
 * however long the log is. Only logs of numbers have tables: others' entries hold references, and adding these can
 * fail halfway. */
#include "runtime/runtime_internal.h"
#include <string.h>

enum { SHORT_LOG = 8, LEAST_TABLE = 32 };

static int64_t stride_of(const LogObj *l) { return 1 + l->h.desc->args[0]->nslots; }
static size_t table_bytes(int64_t size) { return (size_t)size * sizeof(int64_t); }

void rt_log_drop_table(Rt *rt, LogObj *l) {
  heap_realloc(rt->heap, l->table, table_bytes(l->table_size), 0);
  l->table = NULL;
  l->table_size = l->entered = 0;
}

/* The place in the table of index i, or of what isn't there yet. */
static int64_t *place_of(const LogObj *l, int64_t i) {
  int64_t mask = l->table_size - 1;
  int64_t at = (int64_t)hash_mix(0, (uint64_t)i) & mask;
  while (l->table[at] && l->entries[(l->table[at] - 1) * stride_of(l)].i != i) at = (at + 1) & mask;
  return &l->table[at];
}

/* A table for all entries, with nothing in it; false: there is no memory for it. */
static bool make_table(Rt *rt, LogObj *l) {
  int64_t size = LEAST_TABLE;
  while (size < 4 * l->len) size *= 2;
  rt_log_drop_table(rt, l);
  if (!(l->table = heap_realloc(rt->heap, NULL, 0, table_bytes(size)))) return false;
  memset(l->table, 0, table_bytes(size));
  l->table_size = size;
  return true;
}

/* Enters what was appended, and moves the entries up that remain. */
static void enter_rest(LogObj *l) {
  int64_t stride = stride_of(l), left = l->entered;
  for (int64_t k = l->entered; k < l->len; k++) {
    Slot *e = l->entries + k * stride;
    int64_t *place = place_of(l, e[0].i);
    if (*place) {
      Slot *first = l->entries + (*place - 1) * stride;
      for (int64_t s = 1; s < stride; s++)
        if (l->h.desc->args[0]->slots[s - 1] == SLOT_FLOAT) first[s].f += e[s].f;
      continue;
    }
    if (left != k) memcpy(l->entries + left * stride, e, (size_t)stride * sizeof(Slot));
    *place = ++left;
  }
  l->len = l->entered = left;
}

bool rt_log_enter(Rt *rt, LogObj *l) {
  if (l->len <= SHORT_LOG || l->h.desc->pointers) return false;
  if (l->table_size < 2 * l->len && !make_table(rt, l)) return false;
  enter_rest(l);
  return true;
}

const Slot *rt_log_entry(const LogObj *l, int64_t i) {
  int64_t k = *place_of(l, i);
  return k ? l->entries + (k - 1) * stride_of(l) + 1 : NULL;
}
