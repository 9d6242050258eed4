/* SPDX-License-Identifier: MIT */
/* The texts a VM has read, and how byte offsets become lines and columns.
 * A source is copied when added, unless it is a constant of the program, and
 * never changes, so tokens, trees and diagnostics refer to it by index and offset
 * only. */
#include "support/support.h"
#include <string.h>

void sources_init(Sources *s, Arena *a) {
  memset(s, 0, sizeof *s);
  s->arena = a;
  sources_add(s, "", "", 0);
}

static void find_lines(Sources *s, Source *src) {
  int n = 1;
  for (const char *p = src->text; (p = memchr(p, '\n', src->len - (size_t)(p - src->text))); p++)
    heap_look_at(s->arena->heap, (uint32_t)n++);
  uint32_t *lines = NEW_ARRAY(s->arena, uint32_t, n);
  src->lines = lines;
  src->nlines = 1;
  for (const char *p = src->text; (p = memchr(p, '\n', src->len - (size_t)(p - src->text))); p++) {
    heap_look_at(s->arena->heap, (uint32_t)src->nlines);
    lines[src->nlines++] = (uint32_t)(p + 1 - src->text);
  }
}

static uint32_t add(Sources *s, Source *src) {
  vec_push(s->arena, s->all, src);
  return (uint32_t)(s->all.len - 1);
}

uint32_t sources_add(Sources *s, const char *name, const char *text, size_t len) {
  if (len >= UINT32_MAX) heap_out_of_memory(s->arena->heap);
  Source *src = NEW(s->arena, Source);
  src->name = arena_strndup(s->arena, name, strlen(name));
  src->text = arena_strndup(s->arena, text, len);
  src->len = len;
  find_lines(s, src);
  return add(s, src);
}

uint32_t sources_add_constant(Sources *s, const char *name, const char *text, size_t len, const uint32_t *lines,
                              int nlines) {
  Source *src = NEW(s->arena, Source);
  *src = (Source){.name = name, .text = text, .len = len, .lines = lines, .nlines = nlines, .constant = true};
  return add(s, src);
}

/* ---- Loans ------------------------------------------------------------------------- */
#define LENT 0x80000000u

static uint32_t free_slot(SourceLoans *l) {
  uint32_t k = 0;
  while (k < l->n && l->all[k]) k++;
  if (k < l->n) return k;
  uint32_t n = l->n ? 2 * l->n : 8;
  const Source **all = heap_realloc(l->heap, l->all, sizeof(Source *) * l->n, sizeof(Source *) * n);
  if (!all) heap_out_of_memory(l->heap);
  memset(all + l->n, 0, sizeof(Source *) * (n - l->n));
  l->all = all;
  l->n = n;
  return k;
}

uint32_t sources_lend(SourceLoans *l, const Sources *s, uint32_t id, Arena *arena) {
  const Source *src = sources_get(s, id);
  Source *copy = NEW(arena, Source);
  *copy = *src;
  if (!src->constant) {
    copy->name = arena_strndup(arena, src->name, strlen(src->name));
    copy->text = arena_strndup(arena, src->text, src->len);
    uint32_t *lines = NEW_ARRAY(arena, uint32_t, src->nlines);
    memcpy(lines, src->lines, sizeof *lines * (size_t)src->nlines);
    copy->lines = lines;
  }
  uint32_t k = free_slot(l);
  l->all[k] = copy;
  return LENT | k;
}

void sources_take_back(SourceLoans *l, uint32_t id) { l->all[id & ~LENT] = NULL; }

void sources_loans_free(SourceLoans *l) {
  heap_realloc(l->heap, l->all, sizeof(Source *) * l->n, 0);
  l->all = NULL;
  l->n = 0;
}

/* ---- Looking up -------------------------------------------------------------------- */
Source *sources_get(const Sources *s, uint32_t id) {
  if (id & LENT && s->loans && (id & ~LENT) < s->loans->n && s->loans->all[id & ~LENT])
    return (Source *)(uintptr_t)s->loans->all[id & ~LENT];
  return id < (uint32_t)s->all.len ? s->all.data[id] : s->all.data[0];
}

void span_position(const Sources *s, Span at, int *line, int *column) {
  const Source *src = sources_get(s, at.source);
  uint32_t start = at.start <= src->len ? at.start : (uint32_t)src->len;
  int lo = 0, hi = src->nlines;
  while (hi - lo > 1) {
    int mid = lo + (hi - lo) / 2;
    if (src->lines[mid] <= start) lo = mid;
    else hi = mid;
  }
  int col = 1;
  for (uint32_t i = src->lines[lo]; i < start; col++) {
    int len = utf8_sequence(src->text + i, src->len - i, NULL);
    i += len ? (uint32_t)len : 1;
  }
  *line = lo + 1;
  *column = col;
}
