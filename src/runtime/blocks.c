/* SPDX-License-Identifier: MIT */
/* Blocks of memory for objects.
 *
 * Small blocks come from pages of blocks of one size. A page's blocks that are free are linked by their first words.
 * For each size one page is current: its free blocks are at rt->free_list[class], from where machine code takes them
 * without a call. A block that is freed goes back to its page, which is found by the block's address, since pages
 * are aligned to their size; so memory that one size no longer needs serves another, and goes back to the system.
 * Blocks are linked some thousand bytes at a time, when they are first wanted: memory that isn't needed isn't
 * touched.
 *
 * Pages belong to the Rt of the thread that took them. A block that another thread frees goes to Rt.returned of the
 * page's owner, which takes it from there when it needs blocks next.
 *
 * Pages are cut from segments. What the last steps of a long computation needed the next one will need too, and
 * fresh memory costs the system more than the computation: so as many pages are kept as were in use at once in this
 * or the last period, which is as long as it takes for twice that many pages to become empty. Segments beyond that
 * are freed when they are empty; all that are empty are freed before any request of the VM for memory fails.
 *
 * Small arrays are such blocks too: their sizes are multiples of 64, and so are their places. Those of up to 32 KB,
 * aligned likewise, are recycled through rt->free_arrays: what thousands of steps kept, the next run keeps again, and
 * the C library would have given it back to the system meanwhile, to fetch it page by page. When a lot is kept, of
 * sizes that perhaps nobody wants any more, all of it goes. Of large ones the last few are kept for arrays of the same
 * size. Sanitizers see through all this only when it is off, so it is off under them. */
#include "runtime/runtime_internal.h"
#include <string.h>

enum {
  LINKED_BYTES = 1 << 12,
  FIRST_SEGMENT = 8,
  SEGMENT = 32 /* pages */,
  LARGE_SEGMENT = 256,
  MANY_PAGES = 512,
  FEW_PAGES = 64,
  PERIOD = 2,
};
struct Segment {
  Segment *next, *prev; /* among all of this VM */
  size_t bytes;
  int npages, fresh; /* usable pages; the first `fresh` of them have been used at least once */
  int used;          /* pages that hold blocks */
  char *pages;       /* the first one */
};

enum { FIRST_BLOCK = 64 };
_Static_assert(sizeof(BlockPage) <= FIRST_BLOCK, "blocks come after it");

/* Doubly linked lists of pages and of segments. */
#define LINK(list, x)                                                                                                  \
  do {                                                                                                                 \
    (x)->prev = NULL;                                                                                                  \
    (x)->next = *(list);                                                                                               \
    if (*(list)) (*(list))->prev = (x);                                                                                \
    *(list) = (x);                                                                                                     \
  } while (0)
#define UNLINK(list, x)                                                                                                \
  do {                                                                                                                 \
    if ((x)->prev) (x)->prev->next = (x)->next;                                                                        \
    else *(list) = (x)->next;                                                                                          \
    if ((x)->next) (x)->next->prev = (x)->prev;                                                                        \
  } while (0)

/* ---- Segments ---------------------------------------------------------------------------------------------------- */
static bool add_segment(Rt *rt) {
  int n = rt->npages >= MANY_PAGES ? LARGE_SEGMENT : rt->segments ? SEGMENT : FIRST_SEGMENT;
  size_t bytes = (size_t)n * RT_PAGE_BYTES;
  Segment *s = heap_realloc(rt->heap, NULL, 0, bytes);
  if (!s) return false;
  heap_prefer_large_pages(rt->heap, s, bytes);
  uintptr_t first = ((uintptr_t)(s + 1) + RT_PAGE_BYTES - 1) & ~(uintptr_t)(RT_PAGE_BYTES - 1);
  *s = (Segment){.bytes = bytes, .pages = (char *)first};
  s->npages = (int)(((uintptr_t)s + bytes - first) / RT_PAGE_BYTES);
  LINK(&rt->segments, s);
  rt->npages += s->npages;
  return true;
}

static BlockPage *page_at(const Segment *s, int k) { return (BlockPage *)(s->pages + (size_t)k * RT_PAGE_BYTES); }

static void free_segment(Rt *rt, Segment *s) {
  for (int k = 0; k < s->fresh; k++) UNLINK(&rt->spare_pages, page_at(s, k));
  UNLINK(&rt->segments, s);
  rt->npages -= s->npages;
  heap_realloc(rt->heap, s, s->bytes, 0);
}

/* Frees the segments without blocks as long as more pages would be left than `keep`. Were there any? */
static bool trim(Rt *rt, int64_t keep) {
  bool any = false;
  for (Segment *s = rt->segments, *next; s; s = next) {
    next = s->next;
    if (s->used || rt->npages <= keep) continue;
    free_segment(rt, s);
    any = true;
  }
  return any;
}

/* ---- Large blocks of arrays -------------------------------------------------------------------------------------- */
static const size_t LARGE_LEAST = RT_LISTED_ARRAY, LARGE_MOST = 64 << 20; /* of one; of all that are kept */

static void free_large(Rt *rt, struct LargeBlock *b) {
  if (!b->p) return;
  rt->large_bytes -= b->size;
  heap_free_aligned(rt->heap, b->p, b->size);
  b->p = NULL;
}

static bool free_all_large(Rt *rt) {
  bool any = rt->large_bytes > 0;
  for (size_t k = 0; k < sizeof rt->large / sizeof *rt->large; k++) free_large(rt, &rt->large[k]);
  return any;
}

static void *take_large(Rt *rt, size_t size) {
  for (size_t k = 0; size >= LARGE_LEAST && k < sizeof rt->large / sizeof *rt->large; k++) {
    struct LargeBlock *b = &rt->large[k];
    if (!b->p || b->size != size) continue;
    void *p = b->p;
    rt->large_bytes -= size;
    b->p = NULL;
    return p;
  }
  return NULL;
}

/* A place for a block: an empty one, else the next one in turn, whose block goes. So blocks that are used again and
 * again outlast many of other sizes. */
static struct LargeBlock *large_place(Rt *rt) {
  const int n = sizeof rt->large / sizeof *rt->large;
  for (int k = 0; k < n; k++)
    if (!rt->large[k].p) return &rt->large[k];
  struct LargeBlock *b = &rt->large[rt->large_next];
  rt->large_next = (rt->large_next + 1) % n;
  free_large(rt, b);
  return b;
}

static bool keep_large(Rt *rt, void *p, size_t size) {
  if (!RT_RECYCLE || size < LARGE_LEAST || size > LARGE_MOST / 2) return false;
  const int n = sizeof rt->large / sizeof *rt->large;
  for (int k = 0; k < n && rt->large_bytes + size > LARGE_MOST; k++)
    free_large(rt, &rt->large[(rt->large_next + k) % n]);
  *large_place(rt) = (struct LargeBlock){p, size};
  rt->large_bytes += size;
  return true;
}

/* ---- Memory that is only kept ------------------------------------------------------------------------------------ */
static bool free_listed_arrays(Rt *rt) {
  bool any = rt->free_array_bytes > 0;
  for (size_t k = 0; k < sizeof rt->free_arrays / sizeof *rt->free_arrays; k++)
    while (rt->free_arrays[k]) {
      void *p = rt->free_arrays[k];
      memcpy(&rt->free_arrays[k], p, sizeof(Obj *));
      heap_free_aligned(rt->heap, p, (k + 1) * 64);
    }
  rt->free_array_bytes = 0;
  return any;
}

static void count_used(Rt *rt, Segment *s) {
  s->used++;
  if (++rt->used_pages > rt->peak) rt->peak = rt->used_pages;
}

static BlockPage *take_page(Rt *rt) {
  BlockPage *p = rt->spare_pages;
  if (p) {
    UNLINK(&rt->spare_pages, p);
    count_used(rt, p->segment);
    return p;
  }
  Segment *s = rt->segments;
  if (!s || s->fresh == s->npages) {
    if (!add_segment(rt)) return NULL;
    s = rt->segments;
  }
  p = page_at(s, s->fresh++);
  p->segment = s;
  count_used(rt, s);
  return p;
}

static int64_t to_keep(const Rt *rt) { return FEW_PAGES + (rt->peak > rt->last_peak ? rt->peak : rt->last_peak); }

/* Of a page without blocks in use, which is in no list. */
static void give_page(Rt *rt, BlockPage *p) {
  LINK(&rt->spare_pages, p);
  rt->used_pages--;
  Segment *s = p->segment;
  if (--s->used == 0 && s != rt->segments && rt->npages > to_keep(rt)) free_segment(rt, s);
  if (++rt->given < PERIOD * to_keep(rt)) return;
  rt->given = 0;
  rt->last_peak = rt->peak;
  rt->peak = rt->used_pages;
  trim(rt, to_keep(rt));
}

/* ---- Pages ------------------------------------------------------------------------------------------------------- */
static void set_current(BlockPage *p, Rt *rt) { __atomic_store_n(&p->current, rt, __ATOMIC_RELAXED); }

static void make_current(Rt *rt, int class, BlockPage *p) {
  if (rt->current_page[class]) set_current(rt->current_page[class], NULL);
  rt->current_page[class] = p;
  set_current(p, rt);
}

/* Links some more blocks of the current page to the class's free list, which is empty. */
static void link_blocks(Rt *rt, int class, BlockPage *p) {
  int size = (class + 1) * RT_BLOCK_GRAIN, stop = p->linked + LINKED_BYTES;
  Obj *list = NULL;
  if (stop > p->end) stop = p->end;
  int first = p->linked;
  while (p->linked + size <= stop || p->linked == first) p->linked += size;
  for (int at = p->linked - size; at >= first; at -= size) {
    memcpy((char *)p + at, &list, sizeof list);
    list = (Obj *)((char *)p + at);
  }
  rt->free_list[class] = list;
}

/* A block comes back to a page that isn't current: then all its blocks have been linked. */
static void put_back(Rt *rt, BlockPage *p, Obj *block) {
  memcpy(block, &p->free, sizeof p->free);
  p->free = block;
  if (p->nfree++ == 0) LINK(&rt->pages[p->class], p);
  if (p->nfree * (p->class + 1) * RT_BLOCK_GRAIN < p->end - FIRST_BLOCK) return;
  UNLINK(&rt->pages[p->class], p);
  give_page(rt, p);
}

/* Takes what other threads gave back. */
static void take_returned(Rt *rt) {
  Obj *block = __atomic_exchange_n(&rt->returned, NULL, __ATOMIC_ACQUIRE);
  for (Obj *next; block; block = next) {
    memcpy(&next, block, sizeof next);
    rt_block_free(rt, block, (size_t)(rt_page_of(block)->class + 1) * RT_BLOCK_GRAIN);
  }
}

static void return_to(Rt *owner, Obj *block) {
  Obj *first = __atomic_load_n(&owner->returned, __ATOMIC_RELAXED);
  do memcpy(block, &first, sizeof first);
  while (!__atomic_compare_exchange_n(&owner->returned, &first, block, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

void rt_block_give_back(Rt *rt, BlockPage *p, Obj *block) {
  if (p->owner == rt) put_back(rt, p, block);
  else if (!rt_is_quiet(rt)) return_to(p->owner, block);
  else rt_block_free(p->owner, block, (size_t)(p->class + 1) * RT_BLOCK_GRAIN); /* whose thread does nothing now */
}

/* Fills the class's free list, which is empty. */
static bool refill(Rt *rt, int class) {
  if (__atomic_load_n(&rt->returned, __ATOMIC_RELAXED)) take_returned(rt);
  if (rt->free_list[class]) return true;
  BlockPage *p = rt->current_page[class];
  if (p && p->linked < p->end) {
    link_blocks(rt, class, p);
    return true;
  }
  if ((p = rt->pages[class])) {
    UNLINK(&rt->pages[class], p);
    rt->free_list[class] = p->free;
    p->free = NULL;
    p->nfree = 0;
    make_current(rt, class, p);
    return true;
  }
  if (!(p = take_page(rt))) return false;
  int size = (class + 1) * RT_BLOCK_GRAIN;
  p->owner = rt;
  p->free = NULL;
  p->class = class;
  p->nfree = 0;
  p->linked = FIRST_BLOCK;
  p->end = FIRST_BLOCK + (RT_PAGE_BYTES - FIRST_BLOCK) / size * size;
  make_current(rt, class, p);
  link_blocks(rt, class, p);
  return true;
}

bool rt_give_kept(Rt *rt) {
  take_returned(rt);
  rt->peak = rt->last_peak = rt->used_pages;
  bool arrays = free_listed_arrays(rt), large = free_all_large(rt);
  return trim(rt, 0) || arrays || large;
}

static bool give_all(void *user) { return rt_give_kept(user); }

void rt_keep_blocks(Rt *rt) {
  rt->heap->reclaim = give_all;
  rt->heap->reclaim_user = rt;
}

void rt_blocks_free(Rt *rt) {
  rt->heap->reclaim = NULL;
  free_all_large(rt);
  while (rt->segments) {
    Segment *s = rt->segments;
    rt->segments = s->next;
    heap_realloc(rt->heap, s, s->bytes, 0);
  }
  free_listed_arrays(rt);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */
void *rt_block_new(Rt *rt, size_t size) {
  if (!rt_block_is_small(size)) {
    void *p = heap_realloc(rt->heap, NULL, 0, size);
    if (!p) rt_out_of_memory(rt);
    return p;
  }
  int class = rt_block_class(size);
  if (!rt->free_list[class] && !refill(rt, class)) {
    rt_out_of_memory(rt);
    return NULL;
  }
  Obj *p = rt->free_list[class];
  memcpy(&rt->free_list[class], p, sizeof p);
  return p;
}

void *rt_array_block_new(Rt *rt, size_t size, bool zero) {
  rt->arrays_made++;
  rt->array_bytes += (int64_t)size;
  void *p = rt_recycled_array(rt, size);
  if (!p && rt_block_is_small(size) && refill(rt, rt_block_class(size))) p = rt_recycled_array(rt, size);
  if (!p) p = take_large(rt, size);
  if (!p) return rt_block_is_small(size) ? NULL : heap_alloc_aligned(rt->heap, size, zero);
  return zero ? memset(p, 0, size) : p;
}

void rt_array_block_free(Rt *rt, void *p, size_t size) {
  if (RT_RECYCLE && size <= RT_LISTED_ARRAY && rt->free_array_bytes + size > RT_KEPT_ARRAYS) free_listed_arrays(rt);
  if (!rt_recycle_array(rt, p, size) && !keep_large(rt, p, size)) heap_free_aligned(rt->heap, p, size);
}
