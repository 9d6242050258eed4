/* SPDX-License-Identifier: MIT */
/* Caches of facts about graphs, functions and types. Facts that hold for good live as long as the graphs; facts that
 * depend on the closures a program makes live for one compilation. */
#include "ir/world.h"
#include "graph/graph.h"
#include <string.h>

typedef struct Memo {
  const char *name;
  void *facts, *it;
  size_t n;
  int version; /* of the closures that may be called; 0: no matter */
  struct Memo *next;
} Memo;

static void **find(Map *memos, int version, const void *owner, const char *name, const void *facts, size_t n) {
  Arena *a = memos->arena;
  Memo *first = map_get(memos, owner);
  for (Memo *m = first; m; m = m->next) {
    if (m->n != n || m->version != version || strcmp(m->name, name) != 0) continue;
    if (n && memcmp(m->facts, facts, n) != 0) continue;
    SAVE(a, m->it); /* the caller may set it */
    return &m->it;
  }
  Memo *m = NEW(a, Memo);
  *m = (Memo){name, NEW_ARRAY(a, char, n + 1), NULL, n, version, first};
  if (n) memcpy(m->facts, facts, n);
  map_put(memos, owner, m);
  return &m->it;
}

void **ir_memo(World *w, const void *owner, const char *name, const void *facts, size_t n) {
  return find(&tables(w)->memos, 0, owner, name, facts, n);
}

void **ir_memo_closures(World *w, const void *owner, const char *name, const void *facts, size_t n) {
  Compilation *c = compilation(w);
  return find(&c->memos, c->version, owner, name, facts, n);
}
