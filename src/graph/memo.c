/* SPDX-License-Identifier: MIT */
/* What passes remember about graphs, functions and types. */
#include "ir/world.h"
#include "graph/graph.h"
#include <string.h>

typedef struct Memo {
  const char *name;
  void *facts, *it;
  size_t n;
  int closures; /* registered then; -1: no matter */
  struct Memo *next;
} Memo;

static void **find(World *w, const void *owner, const char *name, const void *facts, size_t n, int closures) {
  Map *memos = &tables(w)->memos;
  Memo *first = map_get(memos, owner);
  for (Memo *m = first; m; m = m->next) {
    if (m->n != n || m->closures != closures || strcmp(m->name, name) != 0) continue;
    if (n && memcmp(m->facts, facts, n) != 0) continue;
    SAVE(w->arena, m->it); /* the caller may set it */
    return &m->it;
  }
  Memo *m = NEW(w->arena, Memo);
  *m = (Memo){name, NEW_ARRAY(w->arena, char, n + 1), NULL, n, closures, first};
  if (n) memcpy(m->facts, facts, n);
  map_put(memos, owner, m);
  return &m->it;
}

void **ir_memo(World *w, const void *owner, const char *name, const void *facts, size_t n) {
  return find(w, owner, name, facts, n, -1);
}

void **ir_memo_closures(World *w, const void *owner, const char *name, const void *facts, size_t n) {
  return find(w, owner, name, facts, n, tables(w)->version);
}
