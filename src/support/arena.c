/* SPDX-License-Identifier: MIT */
/* Arenas: memory of a compiler stage, released all at once.
 *
 * An arena is a list of blocks; allocation bumps a pointer in the newest one.
 * Small requests share blocks that double in size up to a bound, a large one
 * gets a block of its own behind the newest so that the space left there isn't
 * wasted. Memory is zeroed when handed out. Out of memory leaves by
 * heap_out_of_memory, so callers never see NULL; so does a compilation that is to
 * end, when it needs a block (heap_look).
 *
 * A mark is the place where the newest block was filled up to, and a journal: the
 * bytes that were changed since in older memory, latest first. Marks nest; an inner
 * one that is committed leaves its journal to the outer. */
#include "support/support.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 16 * 1024, LARGEST_BLOCK = 1024 * 1024, ALIGN = 16 };

/* n bytes that stood at p. */
typedef struct Saved Saved;
struct Saved {
  Saved *before;
  void *p;
  size_t n;
  char bytes[];
};

struct Journal {
  Journal *outer;
  Arena memory;
  Saved *latest, *first;
  char *cur, *end; /* the arena's at the mark */
  uint32_t epoch;  /* its number */
};

struct ArenaBlock {
  ArenaBlock *next;
  size_t size;    /* of the whole block, this header included */
  uint64_t epoch; /* the arena's when it was allocated */
  uint64_t unused;
};
_Static_assert(sizeof(ArenaBlock) % ALIGN == 0, "blocks start aligned");

void arena_init(Arena *a, Heap *h) {
  memset(a, 0, sizeof *a);
  a->heap = h;
}

/* The innermost one. */
static void free_journal(Arena *a) {
  Journal *j = a->journal;
  a->journal = j->outer;
  arena_free(&j->memory);
  heap_realloc(a->heap, j, sizeof *j, 0);
}

void arena_free(Arena *a) {
  while (a->journal) free_journal(a);
  for (ArenaBlock *b = a->blocks, *next; b; b = next) {
    next = b->next;
    heap_realloc(a->heap, b, b->size, 0);
  }
  a->blocks = NULL;
  a->cur = a->end = NULL;
}

static size_t round_up(const Arena *a, size_t n) {
  if (n > SIZE_MAX / 2) heap_out_of_memory(a->heap);
  return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static ArenaBlock *block_new(Arena *a, size_t size) {
  heap_look(a->heap);
  ArenaBlock *b = heap_realloc(a->heap, NULL, 0, size);
  if (!b) heap_out_of_memory(a->heap);
  b->size = size;
  b->epoch = a->epoch;
  b->next = NULL;
#ifdef ATLED_VERIFY
  memset(b + 1, 0, size - sizeof *b); /* arena_difference reads all of it */
#endif
  return b;
}

/* Its bytes aren't zeroed. */
static void *alloc_own_block(Arena *a, size_t n) {
  ArenaBlock *b = block_new(a, n + sizeof *b);
  if (a->blocks) {
    b->next = a->blocks->next;
    a->blocks->next = b;
  } else {
    a->blocks = b;
  }
  return b + 1;
}

/* Copies n bytes, or zeroes them where `from` is NULL. Many megabytes take longer than a stop may be late. */
static void fill(Arena *a, char *to, const char *from, size_t n) {
  for (size_t at = 0; at < n; at += LARGEST_BLOCK) {
    size_t piece = n - at < LARGEST_BLOCK ? n - at : LARGEST_BLOCK;
    if (at) heap_look(a->heap);
    if (from) memcpy(to + at, from + at, piece);
    else memset(to + at, 0, piece);
  }
}

static bool needs_own_block(const Arena *a, size_t n) { return (size_t)(a->end - a->cur) < n && n > FIRST_BLOCK / 4; }

static void add_block(Arena *a) {
  size_t size = a->blocks ? 2 * a->blocks->size : FIRST_BLOCK;
  if (size > LARGEST_BLOCK) size = LARGEST_BLOCK;
  ArenaBlock *b = block_new(a, size);
  b->next = a->blocks;
  a->blocks = b;
  a->cur = (char *)(b + 1);
  a->end = (char *)b + size;
}

void *arena_alloc(Arena *a, size_t n) {
  n = round_up(a, n ? n : 1);
  if (needs_own_block(a, n)) {
    char *own = alloc_own_block(a, n);
    fill(a, own, NULL, n);
    return own;
  }
  if ((size_t)(a->end - a->cur) < n) add_block(a);
  char *p = a->cur;
  a->cur += n;
  if (n > 4 * ALIGN) return memset(p, 0, n);
  memset(p, 0, ALIGN); /* without calls */
  if (n > ALIGN) memset(p + ALIGN, 0, ALIGN);
  if (n > 2 * ALIGN) memset(p + n - 2 * ALIGN, 0, 2 * ALIGN);
  return p;
}

void *arena_grow(Arena *a, void *p, size_t old_size, size_t new_size) {
  if (p && new_size <= old_size) return p;
  if (p && (char *)p + round_up(a, old_size ? old_size : 1) == a->cur) {
    size_t extent = round_up(a, new_size);
    if ((size_t)(a->end - (char *)p) >= extent) {
      a->cur = (char *)p + extent;
      memset((char *)p + old_size, 0, extent - old_size);
      return p;
    }
  }
  size_t extent = round_up(a, new_size ? new_size : 1);
  bool own = needs_own_block(a, extent);
  char *q = own ? alloc_own_block(a, extent) : arena_alloc(a, new_size);
  size_t kept = p ? old_size : 0;
  if (kept) fill(a, q, p, kept);
  if (own) fill(a, q + kept, NULL, extent - kept);
  return q;
}

/* ---- Marks ---------------------------------------------------------------- */
void arena_mark(Arena *a) {
  Journal *j = heap_realloc(a->heap, NULL, 0, sizeof *j);
  if (!j) heap_out_of_memory(a->heap);
  *j = (Journal){.outer = a->journal, .cur = a->cur, .end = a->end, .epoch = ++a->epoch};
  arena_init(&j->memory, a->heap);
  a->journal = j;
}

void arena_save(Arena *a, void *p, size_t n) {
  Journal *j = a->journal;
  if (!j) return;
  Saved *s = arena_alloc(&j->memory, sizeof *s + n);
  s->before = j->latest;
  s->p = p;
  s->n = n;
  memcpy(s->bytes, p, n);
  j->latest = s;
  if (!j->first) j->first = s;
}

/* Leaves what the journal holds to the outer one. */
static void hand_over(Journal *j) {
  Journal *outer = j->outer;
  if (!j->first) return;
  j->first->before = outer->latest;
  outer->latest = j->latest;
  if (!outer->first) outer->first = j->first;
  ArenaBlock **end = &outer->memory.blocks;
  while (*end) end = &(*end)->next;
  *end = j->memory.blocks;
  j->memory.blocks = NULL;
}

uint32_t arena_marked(const Arena *a) { return a->journal ? a->journal->epoch : 0; }

void arena_commit(Arena *a) {
  if (!a->journal) return;
  if (a->journal->outer) hand_over(a->journal);
  free_journal(a);
}

static void free_since(Arena *a, uint32_t epoch) {
  for (ArenaBlock **link = &a->blocks, *b; (b = *link);) {
    if (b->epoch < epoch) {
      link = &b->next;
      continue;
    }
    *link = b->next;
    heap_realloc(a->heap, b, b->size, 0);
  }
}

void arena_roll_back(Arena *a) {
  Journal *j = a->journal;
  if (!j) return;
  for (const Saved *s = j->latest; s; s = s->before) memcpy(s->p, s->bytes, s->n);
  free_since(a, j->epoch);
  a->cur = j->cur;
  a->end = j->end;
  free_journal(a);
}

#ifdef ATLED_VERIFY
struct ArenaCopy {
  ArenaCopy *next;
  const char *from;
  size_t n;
  char bytes[];
};

ArenaCopy *arena_copy(const Arena *a) {
  ArenaCopy *all = NULL;
  for (const ArenaBlock *b = a->blocks; b; b = b->next) {
    const char *from = (const char *)(b + 1), *end = (const char *)b + b->size;
    if (b == a->blocks && a->cur >= from && a->cur <= end) end = a->cur;
    ArenaCopy *c = malloc(sizeof *c + (size_t)(end - from));
    if (!c) break;
    *c = (ArenaCopy){all, from, (size_t)(end - from)};
    memcpy(c->bytes, from, c->n);
    all = c;
  }
  return all;
}

const void *arena_difference(const Arena *a, const ArenaCopy *copy) {
  const void *found = NULL;
  for (const ArenaCopy *c = copy; c && !found; c = c->next) {
    bool there = false;
    for (const ArenaBlock *b = a->blocks; b; b = b->next) there |= (const char *)(b + 1) == c->from;
    for (size_t i = 0; there && !found && i + 8 <= c->n; i += 8)
      if (memcmp(c->from + i, c->bytes + i, 8) != 0) found = c->from + i;
  }
  return found;
}

void arena_copy_free(ArenaCopy *copy) {
  for (ArenaCopy *next; copy; copy = next) {
    next = copy->next;
    free(copy);
  }
}
#endif

char *arena_strndup(Arena *a, const char *s, size_t n) {
  char *p = arena_alloc(a, n + 1);
  if (n) memcpy(p, s, n);
  return p;
}

char *arena_printf(Arena *a, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *p = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
  if (n > 0) vsnprintf(p, (size_t)n + 1, fmt, again);
  va_end(again);
  return p;
}
