/* SPDX-License-Identifier: MIT */
/* Interned strings. Two symbols of one table are equal when their pointers are.
 *
 * The table is open addressing over pointers to the characters. In front of the
 * characters stand their hash and length, so growing rehashes nothing and
 * sym_len is a load. Symbols may hold NUL bytes (string literals do). */
#include "support/support.h"
#include <string.h>

typedef struct SymHeader {
  uint32_t hash;
  uint32_t len;
} SymHeader;

enum { FIRST_SLOTS = 256 };

static const SymHeader *header_of(Sym s) { return (const SymHeader *)(const void *)s - 1; }

size_t sym_len(Sym s) { return header_of(s)->len; }

void symtable_init(SymTable *t, Arena *a) {
  t->arena = a;
  t->count = 0;
  t->cap = FIRST_SLOTS;
  t->slots = NEW_ARRAY(a, Sym, t->cap);
  t->made = a->epoch;
}

static void grow(SymTable *t) {
  size_t cap = 2 * t->cap;
  Sym *slots = NEW_ARRAY(t->arena, Sym, cap);
  for (size_t i = 0; i < t->cap; i++) {
    if (!t->slots[i]) continue;
    size_t j = header_of(t->slots[i])->hash & (cap - 1);
    while (slots[j]) j = (j + 1) & (cap - 1);
    slots[j] = t->slots[i];
  }
  t->slots = slots;
  t->cap = cap;
  t->made = t->arena->epoch;
}

/* Where a symbol of this hash stands or belongs. */
static size_t find(const SymTable *t, uint32_t hash, const char *s, size_t n) {
  size_t i = hash & (t->cap - 1);
  for (; t->slots[i]; i = (i + 1) & (t->cap - 1)) {
    const SymHeader *h = header_of(t->slots[i]);
    if (h->hash == hash && h->len == n && memcmp(t->slots[i], s, n) == 0) break;
  }
  return i;
}

Sym sym_intern(SymTable *t, const char *s, size_t n) {
  if (n >= UINT32_MAX) heap_out_of_memory(t->arena->heap);
  uint32_t hash = (uint32_t)hash_bytes(s, n, 0);
  size_t i = find(t, hash, s, n);
  if (t->slots[i]) return t->slots[i];
  if (2 * (t->count + 1) > t->cap) {
    grow(t);
    i = find(t, hash, s, n);
  }
  SymHeader *h = arena_alloc(t->arena, sizeof *h + n + 1);
  h->hash = hash;
  h->len = (uint32_t)n;
  char *text = (char *)(h + 1);
  if (n) memcpy(text, s, n);
  if (t->made != t->arena->epoch) SAVE(t->arena, t->slots[i]);
  t->slots[i] = text;
  t->count++;
  return text;
}

Sym sym_of(SymTable *t, const char *zero_terminated) { return sym_intern(t, zero_terminated, strlen(zero_terminated)); }
