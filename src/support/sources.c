/* SPDX-License-Identifier: MIT */
/* The texts a VM has read, and how byte offsets become lines and columns.
 * A source is copied when added and never changes, so tokens, trees and
 * diagnostics refer to it by index and offset only. */
#include "support/support.h"
#include <string.h>

void sources_init(Sources *s, Arena *a) {
  memset(s, 0, sizeof *s);
  s->arena = a;
  sources_add(s, "", "", 0);
}

static void find_lines(Sources *s, Source *src) {
  int n = 1;
  for (const char *p = src->text; (p = memchr(p, '\n', src->len - (size_t)(p - src->text))); p++) n++;
  src->lines = NEW_ARRAY(s->arena, uint32_t, n);
  src->nlines = 1;
  for (const char *p = src->text; (p = memchr(p, '\n', src->len - (size_t)(p - src->text))); p++)
    src->lines[src->nlines++] = (uint32_t)(p + 1 - src->text);
}

uint32_t sources_add(Sources *s, const char *name, const char *text, size_t len) {
  if (len >= UINT32_MAX) heap_out_of_memory(s->arena->heap);
  Source *src = NEW(s->arena, Source);
  src->name = arena_strndup(s->arena, name, strlen(name));
  src->text = arena_strndup(s->arena, text, len);
  src->len = len;
  find_lines(s, src);
  vec_push(s->arena, s->all, src);
  return (uint32_t)(s->all.len - 1);
}

Source *sources_get(const Sources *s, uint32_t id) {
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
