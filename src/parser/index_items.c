/* SPDX-License-Identifier: MIT */
/* The index of a library module: which of its items defines a name.
 *
 * index_items is run when Atled is built, by the program that makes the library's
 * sources a part of it, and by tests; index_find is what is left to do when a
 * program runs. The index is arrays of numbers without pointers, so it needs no
 * work when the library is loaded. A function's derivative rules are read with it: their
 * ranges join its own, the one before. Another derivative rule is an item of its own, which
 * is read, and reported, when its function is. So are rewrite rules that directly follow a
 * definition: the one of the functions on the left that is used last. */
#include "parser/parser.h"
#include <stdlib.h>
#include <string.h>

/* ---- Making ------------------------------------------------------------------------ */

typedef struct Indexer {
  Arena *arena;
  Vec(IndexItem) items;
  Vec(IndexName) names;
  Str pool;
} Indexer;

/* Comment lines may stand above what the item begins with. */
static bool begins_after_comments(const Source *src, const ItemRange *r, const char *word) {
  const char *s = src->text + r->start;
  for (const char *line = s; *line == '#'; s = line)
    if (!(line = strchr(line, '\n')) || !*++line) return false;
  return strncmp(s, word, strlen(word)) == 0;
}

static bool range_is_rule(const Source *src, const ItemRange *r) {
  return begins_after_comments(src, r, "pullback") || begins_after_comments(src, r, "tangent");
}

/* A rewrite rule has no name that others use: it is read with the item before it. */
static bool range_is_rewriting(const Source *src, const ItemRange *r) { return begins_after_comments(src, r, "rule "); }

static bool defines(const ItemRange *r, Sym name) {
  for (int i = 0; i < r->nnames; i++)
    if (r->names[i] == name) return true;
  return false;
}

static void add_name(Indexer *x, Sym name, IndexSpace space, bool is_exported) {
  IndexName n = {(uint32_t)x->pool.len, (uint16_t)(x->items.len - 1), (uint8_t)space, is_exported};
  str_add(&x->pool, name, strlen(name) + 1);
  vec_push(x->arena, x->names, n);
}

static void add_item(Indexer *x, const ItemRange *r, bool rule) {
  vec_push(x->arena, x->items, ((IndexItem){r->start, r->end}));
  for (int i = 0; i < r->nnames; i++) {
    bool constructor = r->names[i][0] >= 'A' && r->names[i][0] <= 'Z';
    IndexSpace space = rule ? INDEX_RULE : r->type && !constructor ? INDEX_TYPE : INDEX_VALUE;
    add_name(x, r->names[i], space, !rule && r->names[0][0] != '_');
  }
}

static int compare(const ItemIndex *index, const IndexName *n, IndexSpace space, const char *name) {
  return n->space != space ? (int)n->space - (int)space : strcmp(index->pool + n->text, name);
}

/* Inserts name k into those sorted before it, instead of an equal one. */
static void sort_in(ItemIndex *index, uint16_t *sorted, int k) {
  const IndexName *n = &index->names[k];
  int at = index->nsorted, order = -1;
  while (at > 0 && (order = compare(index, &index->names[sorted[at - 1]], n->space, index->pool + n->text)) > 0) at--;
  bool equal = at > 0 && order == 0;
  if (!equal) memmove(sorted + at + 1, sorted + at, sizeof *sorted * (size_t)(index->nsorted++ - at));
  sorted[equal ? at - 1 : at] = (uint16_t)k;
}

ItemIndex *index_items(Lexer *lx, Arena *arena, SymTable *syms, const Source *src) {
  ItemRange *ranges;
  int n = split_items(lx, arena, syms, src, &ranges);
  Indexer x = {.arena = arena, .pool = {.arena = arena}};
  const ItemRange *last = NULL; /* that is no rule */
  for (int i = 0; i < n && x.items.len < UINT16_MAX && x.names.len + ranges[i].nnames <= UINT16_MAX; i++) {
    bool rule = range_is_rule(src, &ranges[i]) && ranges[i].nnames == 1;
    if (last && (range_is_rewriting(src, &ranges[i]) || (rule && defines(last, ranges[i].names[0])))) {
      x.items.data[x.items.len - 1].end = ranges[i].end;
      continue;
    }
    last = &ranges[i];
    add_item(&x, &ranges[i], rule);
  }
  ItemIndex *index = NEW(arena, ItemIndex);
  uint16_t *sorted = NEW_ARRAY(arena, uint16_t, x.names.len + 1);
  *index = (ItemIndex){.items = x.items.data,
                       .nitems = x.items.len,
                       .names = x.names.data,
                       .nnames = x.names.len,
                       .sorted = sorted,
                       .pool = x.pool.data};
  for (int k = 0; k < x.names.len; k++) sort_in(index, sorted, k);
  return index;
}

/* ---- Looking up -------------------------------------------------------------------- */

int index_find(const ItemIndex *index, IndexSpace space, const char *name) {
  int low = 0, high = index->nsorted;
  while (low < high) {
    int middle = low + (high - low) / 2;
    const IndexName *n = &index->names[index->sorted[middle]];
    int order = compare(index, n, space, name);
    if (order == 0) return n->item;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return -1;
}
