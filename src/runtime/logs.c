/* SPDX-License-Identifier: MIT */
/* Reading bags that are logs, by the sums of their entries.
 *
 * A log that is read for the first time, and isn't short, gets the sum of the entries of each index, and a hash table
 * from indices to sums: open addressing, at most half full, what is in it being 1 + the number of the sum. Entries that
 * are appended later are added at the next read. So a read costs about as much as the additions since the last one,
 * however long the log is. The entries stay as they are: whether a log is read before it is added to another changes
 * no digit. Only logs of numbers have sums: others' entries hold references, and adding these can fail halfway. */
#include "runtime/pool.h"
#include "runtime/runtime_internal.h"
#include <string.h>

enum { SHORT_LOG = 8, LEAST_TABLE = 32 };

static int64_t stride_of(const LogObj *l) { return 1 + l->h.desc->args[0]->nslots; }
static size_t table_bytes(int64_t size) { return (size_t)size * sizeof(int64_t); }
static size_t sums_bytes(const LogObj *l, int64_t size) { return (size_t)(size / 2 * stride_of(l)) * sizeof(Slot); }

void rt_log_drop_table(Rt *rt, LogObj *l) {
  heap_realloc(rt->heap, l->sums, sums_bytes(l, l->table_size), 0);
  heap_realloc(rt->heap, l->table, table_bytes(l->table_size), 0);
  l->table = NULL;
  l->sums = NULL;
  l->table_size = l->nsums = l->entered = 0;
}

/* The place in the table of index i, or of what isn't there yet. */
static int64_t *place_of(const LogObj *l, int64_t i) {
  int64_t mask = l->table_size - 1;
  int64_t at = (int64_t)hash_mix(0, (uint64_t)i) & mask;
  while (l->table[at] && l->sums[(l->table[at] - 1) * stride_of(l)].i != i) at = (at + 1) & mask;
  return &l->table[at];
}

/* Room for the sums of `more` further indices; false: there is no memory for it. */
static bool make_room(Rt *rt, LogObj *l, int64_t more) {
  int64_t wanted = l->nsums + more, size = LEAST_TABLE;
  if (2 * wanted <= l->table_size) return true;
  while (size < 4 * wanted) size *= 2;
  int64_t *table = heap_realloc(rt->heap, NULL, 0, table_bytes(size));
  if (!table) return false;
  Slot *sums = heap_realloc(rt->heap, l->sums, sums_bytes(l, l->table_size), sums_bytes(l, size));
  if (!sums) {
    heap_realloc(rt->heap, table, table_bytes(size), 0);
    return false;
  }
  heap_realloc(rt->heap, l->table, table_bytes(l->table_size), 0);
  memset(table, 0, table_bytes(size));
  l->table = table;
  l->sums = sums;
  l->table_size = size;
  for (int64_t k = 0; k < l->nsums; k++) *place_of(l, sums[k * stride_of(l)].i) = k + 1;
  return true;
}

/* Adds the entries that were appended since the last read. */
static void enter_rest(LogObj *l) {
  int64_t stride = stride_of(l);
  for (; l->entered < l->len; l->entered++) {
    const Slot *e = l->entries + l->entered * stride;
    int64_t *place = place_of(l, e[0].i);
    if (*place) {
      Slot *sum = l->sums + (*place - 1) * stride;
      for (int64_t s = 1; s < stride; s++)
        if (l->h.desc->args[0]->slots[s - 1] == SLOT_FLOAT) sum[s].f += e[s].f;
      continue;
    }
    memcpy(l->sums + l->nsums * stride, e, (size_t)stride * sizeof(Slot));
    *place = ++l->nsums;
  }
}

static bool enter(Rt *rt, LogObj *l) {
  if (!make_room(rt, l, l->len - l->entered)) return false;
  enter_rest(l);
  return true;
}

/* Entries of a shared log don't grow, so one thread makes its sums, once. */
static bool enter_shared(Rt *rt, LogObj *l) {
  rt_lock_shared(rt);
  bool entered = l->entered == l->len || enter(rt, l);
  rt_unlock_shared(rt);
  return entered;
}

bool rt_log_enter(Rt *rt, LogObj *l) {
  if (l->len <= SHORT_LOG || l->h.desc->pointers) return false;
  return rt_is_shared(rt, &l->h) ? enter_shared(rt, l) : enter(rt, l);
}

const Slot *rt_log_entry(const LogObj *l, int64_t i) {
  int64_t k = *place_of(l, i);
  return k ? l->sums + (k - 1) * stride_of(l) + 1 : NULL;
}
