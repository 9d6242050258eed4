/* SPDX-License-Identifier: MIT */
/* A hash map from pointers (or integers in a uintptr_t) to pointers, and the
 * hash functions used everywhere.
 *
 * Open addressing with linear probing, at most half full; nothing is ever
 * removed, so no tombstones. The first put allocates: empty maps are free.
 * A key's slot is the top of its product with an odd number (Fibonacci hashing);
 * hash_mix is the finaliser of splitmix64. Neither is meant to resist chosen keys. */
#include "support/support.h"
#include <string.h>

uint64_t hash_mix(uint64_t h, uint64_t x) {
  h = h * 0x9e3779b97f4a7c15u + x; /* pairs of small numbers stay apart: some keys are hashes alone */
  h ^= h >> 30;
  h *= 0xbf58476d1ce4e5b9u;
  h ^= h >> 27;
  h *= 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed) {
  const char *s = p;
  uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15u);
  for (; n >= 8; s += 8, n -= 8) {
    uint64_t word;
    memcpy(&word, s, 8);
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  uint64_t tail = 0;
  if (n) memcpy(&tail, s, n);
  return hash_mix(h, tail);
}

void map_init(Map *m, Arena *a) {
  memset(m, 0, sizeof *m);
  m->arena = a;
  m->saved = a->epoch;
}

/* The slot of `key`, or the free one where it belongs. */
static size_t find(const void **keys, size_t cap, const void *key) {
  size_t i = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u >> (__builtin_clzll(cap) + 1);
  while (keys[i] && keys[i] != key) i = (i + 1) & (cap - 1);
  return i;
}

void *map_get(const Map *m, const void *key) {
  if (!m->count) return NULL;
  return m->vals[find(m->keys, m->cap, key)];
}

static void grow(Map *m) {
  size_t cap = m->cap ? 2 * m->cap : 16;
  const void **keys = NEW_ARRAY(m->arena, const void *, cap);
  void **vals = NEW_ARRAY(m->arena, void *, cap);
  for (size_t i = 0; i < m->cap; i++) {
    if (!m->keys[i]) continue;
    size_t j = find(keys, cap, m->keys[i]);
    keys[j] = m->keys[i];
    vals[j] = m->vals[i];
  }
  m->keys = keys;
  m->vals = vals;
  m->cap = cap;
  m->made = m->arena->epoch;
}

/* For arena_roll_back: of the header once for each mark, of a slot in arrays older than it each time. */
static void save_header(Map *m) {
  if (m->saved == m->arena->epoch) return;
  SAVE(m->arena, *m);
  m->saved = m->arena->epoch;
}

static void save_slot(Map *m, size_t i) {
  if (m->made == m->arena->epoch) return;
  SAVE(m->arena, m->keys[i]);
  SAVE(m->arena, m->vals[i]);
}

void map_put(Map *m, const void *key, void *val) {
  save_header(m);
  if (2 * (m->count + 1) > m->cap) grow(m);
  size_t i = find(m->keys, m->cap, key);
  save_slot(m, i);
  if (!m->keys[i]) m->count++;
  m->keys[i] = key;
  m->vals[i] = val;
}
