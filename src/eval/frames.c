/* SPDX-License-Identifier: MIT */
/* The evaluator's stack: segments on the heap, each twice as large as the last, so that frames never move and a deep
 * recursion needs no contiguous memory. The segment after the current one is kept when it falls empty, so that a
 * loop of calls across a boundary doesn't allocate. The sum of all segments is limited. */
#include "eval/eval_internal.h"
#include <string.h>

struct Segment {
  Segment *prev, *next;
  char *top, *end;
  max_align_t data[];
};
enum { FIRST_BYTES = 32 << 10, LARGEST_BYTES = 32 << 20 };

static size_t capacity(const Segment *s) { return (size_t)(s->end - (const char *)s->data); }

static void free_segment(Rt *rt, Segment *s) {
  if (s) heap_realloc(rt->heap, s, sizeof *s + capacity(s), 0);
}

static size_t total(const Segment *s) {
  size_t sum = 0;
  for (; s; s = s->prev) sum += capacity(s);
  return sum;
}

/* Makes the next segment current; it has room for `bytes`. */
static Segment *advance(Rt *rt, Segment *s, size_t bytes) {
  if (s && s->next) {
    if (capacity(s->next) >= bytes) return rt->eval_stack = s->next;
    free_segment(rt, s->next);
    s->next = NULL;
  }
  size_t size = s ? 2 * capacity(s) : FIRST_BYTES;
  if (size > LARGEST_BYTES) size = LARGEST_BYTES;
  if (size < bytes) size = bytes;
  if (total(s) + size > rt->eval_stack_limit) {
    rt_fail_stack(rt, 0);
    return NULL;
  }
  Segment *fresh = heap_realloc(rt->heap, NULL, 0, sizeof *fresh + size);
  if (!fresh) {
    rt_out_of_memory(rt);
    return NULL;
  }
  fresh->prev = s;
  fresh->next = NULL;
  fresh->top = (char *)fresh->data;
  fresh->end = fresh->top + size;
  if (s) s->next = fresh;
  rt->eval_stack = fresh;
  return fresh;
}

void *stack_push(Rt *rt, size_t bytes) {
  Segment *s = rt->eval_stack;
  if (!s || (size_t)(s->end - s->top) < bytes) {
    s = advance(rt, s, bytes);
    if (!s) return NULL;
  }
  void *p = s->top;
  s->top += bytes;
  return p;
}

void stack_pop(Rt *rt, void *p) {
  Segment *s = rt->eval_stack;
  s->top = p;
  if (p == (void *)s->data && s->prev) {
    free_segment(rt, s->next); /* at most one empty segment is kept */
    s->next = NULL;
    rt->eval_stack = s->prev;
  }
}

void eval_destroy(Rt *rt) {
  Segment *s = rt->eval_stack;
  if (!s) return;
  free_segment(rt, s->next);
  for (Segment *prev; s; s = prev) {
    prev = s->prev;
    free_segment(rt, s);
  }
  rt->eval_stack = NULL;
}
