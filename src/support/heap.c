/* SPDX-License-Identifier: MIT */
/* The accounting allocator under everything else.
 *
 * Each VM owns one Heap. Every byte it uses passes heap_realloc, which counts
 * it, refuses it beyond the limit, and can be told to fail at the n-th request
 * so that tests sweep all out-of-memory paths. Callers give the old size of a
 * block, so no header is kept.
 *
 * The counters are changed atomically because run-time code of several threads
 * allocates from one Heap; the rest of the struct is set up before threads run.
 * Blocks of 64-byte alignment are over-allocated, and the byte before the
 * aligned address says how far back the block really starts. */
#include "support/support.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, LARGE_PAGE = 2 << 20, LARGE_BLOCK = 4 << 20 };

void heap_init(Heap *h) {
  memset(h, 0, sizeof *h);
  h->fail_at = -1;
}

static void *raw_realloc(Heap *h, void *p, size_t old_size, size_t new_size) {
  if (h->fn) return h->fn(h->user, p, old_size, new_size);
  if (new_size == 0) {
    free(p);
    return NULL;
  }
  return realloc(p, new_size);
}

/* The system's fresh pages are zero already: they aren't touched before they are used. */
static void *raw_zeroed(Heap *h, size_t size) {
  if (!h->fn) return calloc(1, size);
  void *p = h->fn(h->user, NULL, 0, size);
  if (p) memset(p, 0, size);
  return p;
}

static void unbook(Heap *h, size_t n) {
  for (; h; h = h->whole) __atomic_sub_fetch(&h->bytes, n, __ATOMIC_RELAXED);
}

/* What one thread takes another may give back: so the bytes of a part of a heap may be fewer than none. */
static bool book_here(Heap *h, size_t grow) {
  size_t now = __atomic_add_fetch(&h->bytes, grow, __ATOMIC_RELAXED);
  if (h->whole && (ptrdiff_t)now < 0) return true;
  if ((!h->whole && now < grow) || (h->limit && now > h->limit)) {
    __atomic_sub_fetch(&h->bytes, grow, __ATOMIC_RELAXED);
    return false;
  }
  size_t peak = __atomic_load_n(&h->peak, __ATOMIC_RELAXED);
  while (now > peak && !__atomic_compare_exchange_n(&h->peak, &peak, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
  return true;
}

/* Books `grow` more bytes; false when a limit forbids it. */
static bool book(Heap *h, size_t grow) {
  if (!book_here(h, grow)) return false;
  if (!h->whole || book(h->whole, grow)) return true;
  __atomic_sub_fetch(&h->bytes, grow, __ATOMIC_RELAXED);
  return false;
}

static bool reclaim(Heap *h) { return h->reclaim && h->reclaim(h->reclaim_user); }

/* Is this request the one that a test has chosen, of the heap or of the whole that it is part of? */
static bool is_to_fail(Heap *h) {
  for (; h; h = h->whole)
    if (__atomic_load_n(&h->fail_at, __ATOMIC_RELAXED) > 0 && __atomic_sub_fetch(&h->fail_at, 1, __ATOMIC_RELAXED) == 0)
      return true;
  return false;
}

/* book, after giving back what is only kept if need be; false also for the injected failure. */
static bool reserve(Heap *h, size_t grow) {
  if (is_to_fail(h)) return false;
  return book(h, grow) || (reclaim(h) && book(h, grow));
}

void *heap_realloc(Heap *h, void *p, size_t old_size, size_t new_size) {
  if (!p) old_size = 0;
  if (new_size > old_size) {
    size_t grow = new_size - old_size;
    if (!reserve(h, grow)) return NULL;
    void *q = raw_realloc(h, p, old_size, new_size);
    if (!q && reclaim(h)) q = raw_realloc(h, p, old_size, new_size);
    if (!q) unbook(h, grow);
    return q;
  }
  if (!p) return NULL;
  void *q = raw_realloc(h, p, old_size, new_size);
  unbook(h, old_size - new_size);
  return q || new_size == 0 ? q : p; /* a shrink that the system refuses keeps the block */
}

static void *alloc_zeroed(Heap *h, size_t size) {
  if (!reserve(h, size)) return NULL;
  void *p = raw_zeroed(h, size);
  if (!p && reclaim(h)) p = raw_zeroed(h, size);
  if (!p) unbook(h, size);
  return p;
}

/* Large blocks from the system are better mapped by large pages: touching a page for the first time costs more than
 * what an array's element does. */
void heap_prefer_large_pages(const Heap *h, void *base, size_t n) {
  if (h->fn || n < LARGE_BLOCK) return;
  uintptr_t first = ((uintptr_t)base + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1), end = (uintptr_t)base + n;
  if (end > first) madvise((void *)first, (end - first) & ~(uintptr_t)(LARGE_PAGE - 1), MADV_HUGEPAGE);
}

void *heap_alloc_aligned(Heap *h, size_t n, bool zero) {
  if (n > SIZE_MAX - ALIGNMENT) return NULL;
  char *base = zero ? alloc_zeroed(h, n + ALIGNMENT) : heap_realloc(h, NULL, 0, n + ALIGNMENT);
  if (!base) return NULL;
  heap_prefer_large_pages(h, base, n);
  size_t back = ALIGNMENT - ((uintptr_t)base & (ALIGNMENT - 1));
  base[back - 1] = (char)back;
  return base + back;
}

void heap_free_aligned(Heap *h, void *p, size_t n) {
  if (!p) return;
  char *base = (char *)p - ((unsigned char *)p)[-1];
  heap_realloc(h, base, n + ALIGNMENT, 0);
}

_Noreturn void heap_out_of_memory(Heap *h) {
  if (h->on_oom) longjmp(*h->on_oom, 1);
  fputs("atled: out of memory\n", stderr);
  abort();
}
