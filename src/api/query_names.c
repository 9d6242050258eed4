/* SPDX-License-Identifier: MIT */
/* What each name in a part of a source is, for editors that colour by meaning: ATLED_ASK_NAMES.
 *
 * name_places gives the names in the order of the tree, which isn't always that of the text, and some twice (a sugared
 * expression has its parts in two places). The answer is sorted, and one name is there once. */
#include "api/query.h"
#include <stdlib.h>

typedef struct NameList {
  Ask *ask;
  Vec(NamePlace) names;
} NameList;

static void collect(void *user, const NamePlace *p) {
  NameList *list = user;
  const AtledQuery *q = &list->ask->query;
  if (p->at.end >= q->at && p->at.start <= q->to) vec_push(&list->ask->vm->scratch, list->names, *p);
}

static int by_place(const void *a, const void *b) {
  uint32_t x = ((const NamePlace *)a)->at.start, y = ((const NamePlace *)b)->at.start;
  return (x > y) - (x < y);
}

static bool is_function(const NamePlace *p) {
  const Type *t = p->binding ? type_repr(p->binding->type) : NULL;
  return t && t->kind == TY_FUN;
}

static const char *what_of(const NamePlace *p) {
  if (p->what != NAME_VALUE) return name_whats[p->what];
  return p->parameter ? "parameter" : is_function(p) ? "function" : "value";
}

/* Is it of the library? A module is, if its file is. */
static bool is_library(AtledVM *vm, const NamePlace *p) {
  if (p->what == NAME_MODULE) return p->module && p->module->library;
  return p->what != NAME_FIELD && p->target.source && sources_get(&vm->sources, p->target.source)->library;
}

static void add_name(Ask *a, const NamePlace *p) {
  json_next(&a->out, NULL);
  str_addc(&a->out, '{');
  json_number(&a->out, "start", p->at.start);
  json_number(&a->out, "end", p->at.end);
  json_text(&a->out, "what", what_of(p));
  json_flag(&a->out, "defines", p->what != NAME_FIELD && same_target(p->at, p->target));
  json_flag(&a->out, "mutable", p->binding && p->binding->kind == BIND_MUT);
  json_flag(&a->out, "library", is_library(a->vm, p));
  str_addc(&a->out, '}');
}

void ask_names(Ask *a) {
  NameList list = {.ask = a};
  name_places(a->vm, a->plan.program, collect, &list);
  if (list.names.len) qsort(list.names.data, (size_t)list.names.len, sizeof *list.names.data, by_place);
  uint32_t end = 0;
  str_addc(&a->out, '[');
  for (int i = 0; i < list.names.len; i++) {
    const NamePlace *p = &list.names.data[i];
    if (p->at.start < end) continue;
    add_name(a, p);
    end = p->at.end;
  }
  str_addc(&a->out, ']');
}
