/* SPDX-License-Identifier: MIT */
/* Results: slots to values of the host.
 *
 * A result is a tree of AtledValues in the outcome's arena, down to scalars, strings and arrays of numbers, which are
 * read where the VM has them. Data may be nested as deeply as memory allows, so what isn't filled in yet waits in a
 * list, never on the machine stack. Bools take a byte each with the host and a slot with the VM, so arrays of them are
 * copied. A function, and an array of more dimensions than a host's, is text. */
#include "api/handles.h"
#include <string.h>

/* A value that isn't filled in. */
typedef struct Unfilled {
  const Desc *d;
  const Slot *s;
  AtledValue *v;
} Unfilled;

typedef struct Out {
  Rt *rt;
  Outcome *o;
  Arena *trees;   /* the outcome's */
  bool inside;    /* of a variant, a list or an array */
  bool failed;    /* rt.error is set */
  Arena *working; /* of the list */
  Vec(Unfilled) unfilled;
} Out;

static bool is_interrupted(Out *out) {
  Rt *rt = out->rt;
  if (!out->failed && rt_interrupted(rt) && rt_poll(rt)) out->failed = true;
  return out->failed;
}

static void get(Out *out, const Desc *d, const Slot *s, AtledValue *v);

/* Values without parts are filled in at once. */
static void push(Out *out, const Desc *d, const Slot *s, AtledValue *v) {
  const Desc *parts = d->kind == D_ARRAY ? d->args[0] : d;
  if (parts->kind != D_TUPLE && parts->kind != D_VARIANT) {
    get(out, d, s, v);
    return;
  }
  Unfilled u = {d, s, v};
  vec_push(out->working, out->unfilled, u);
}

static AtledValue *new_items(Out *out, int64_t n) {
  if (n < 0 || (uint64_t)n > SIZE_MAX / 2 / sizeof(AtledValue)) heap_out_of_memory(out->rt->heap);
  return n ? NEW_ARRAY(out->trees, AtledValue, n) : NULL;
}

static const char *text_of(const Slot *s, size_t *length) {
  const StringObj *text = (const StringObj *)(const void *)s->p;
  *length = (size_t)text->len;
  return text->bytes;
}

/* ---- Arrays ---------------------------------------------------------------------------------------- */
/* The block that has the elements, unless they are the host's own. */
static ArrayObj *block_of(ArrayObj *a) {
  ArrayObj *block = a->owner ? (ArrayObj *)(void *)a->owner : a;
  uintptr_t at = (uintptr_t)block->data, first = (uintptr_t)block;
  return at >= first && at < first + block->bytes ? block : NULL;
}

static void note_block(Out *out, ArrayObj *a) {
  ArrayObj *block = out->inside ? block_of(a) : NULL;
  if (block) vec_push(out->trees, out->o->blocks, block);
}

static const bool *copy_bools(Out *out, const Slot *s, int64_t n) {
  bool *all = NEW_ARRAY(out->trees, bool, n);
  for (int64_t i = 0; i < n; i++) all[i] = s[i].i != 0;
  return all;
}

static const AtledText *copy_texts(Out *out, const Slot *s, int64_t n) {
  if ((uint64_t)n > SIZE_MAX / 2 / sizeof(AtledText)) heap_out_of_memory(out->rt->heap);
  AtledText *all = NEW_ARRAY(out->trees, AtledText, n);
  for (int64_t i = 0; i < n; i++) { all[i].bytes = text_of(&s[i], &all[i].length); }
  return all;
}

/* `n` elements that lie one after the other. */
static void get_elements(Out *out, const Desc *base, const Slot *s, int64_t n, AtledValue *v) {
  v->kind = ATLED_ARRAY;
  v->element = value_kind(base);
  v->length = (size_t)n;
  if (n == 0) return;
  switch (v->element) {
  case ATLED_UNIT: return;
  case ATLED_FLOAT:
  case ATLED_INT: v->as.data = s; return;
  case ATLED_BOOL: v->as.bools = copy_bools(out, s, n); return;
  case ATLED_STRING: v->as.texts = copy_texts(out, s, n); return;
  default: break;
  }
  AtledValue *items = new_items(out, n);
  v->as.items = items;
  for (int64_t i = 0; i < n && !is_interrupted(out); i++, s += base->nslots) push(out, base, s, &items[i]);
  out->inside = true;
}

static void get_array(Out *out, const Desc *d, const Slot *s, AtledValue *v) {
  ArrayObj *a = (ArrayObj *)(void *)s->p;
  v->rank = d->rank;
  memcpy(v->dims, a->dims, sizeof *a->dims * (size_t)d->rank);
  get_elements(out, d->args[0], a->data, value_count(d->rank, a->dims), v);
  if (v->element == ATLED_FLOAT || v->element == ATLED_INT) note_block(out, a);
}

/* ---- Tuples, lists, variants ----------------------------------------------------------------------- */
/* Components first … end of a tuple. */
static AtledValue get_components(Out *out, const Desc *d, const Slot *s, int first, int end) {
  AtledValue *items = new_items(out, end - first);
  for (int i = first; i < end; s += d->args[i++]->nslots) push(out, d->args[i], s, &items[i - first]);
  return atled_tuple(items, (size_t)(end - first));
}

static const BoxObj *cell_of(const Desc *d, const Slot *s) {
  return rt_is_object(s->p) && rt_tag(s->p) == d->cons - 1 ? (const BoxObj *)(const void *)s->p : NULL;
}

static void get_list(Out *out, const Desc *d, const Slot *s, AtledValue *v) {
  const Desc *head = d->args[d->cons - 1]->args[0];
  int64_t n = 0;
  const BoxObj *first = cell_of(d, s);
  for (const BoxObj *c = first; c && !is_interrupted(out); c = cell_of(d, &c->fields[head->nslots])) n++;
  AtledValue *items = new_items(out, n);
  *v = atled_list(items, (size_t)n);
  for (const BoxObj *c = first; c && !is_interrupted(out); c = cell_of(d, &c->fields[head->nslots]))
    push(out, head, c->fields, items++);
}

/* The entries of a tree as an array, below the name by which it is shown. */
static void get_tree(Out *out, const Desc *d, const Slot *s, AtledValue *v) {
  if (rt_tree_entries(out->rt, d, s->p, &out->o->entries)) {
    out->failed = true;
    return;
  }
  TreeEntry e = rt_tree_entry(d);
  TreeEntries all = out->o->entries;
  AtledValue *array = new_items(out, 1);
  *v = atled_variant(d->shown_as, array);
  *array = (AtledValue){.kind = ATLED_ARRAY, .rank = 1, .dims = {all.n}, .length = (size_t)all.n};
  const Desc *only = e.end == e.first + 1 ? e.payload->args[e.first] : NULL;
  if (only) {
    Slot *row = NEW_ARRAY(out->trees, Slot, all.n * only->nslots + 1);
    for (int64_t i = 0; i < all.n; i++) memcpy(row + i * only->nslots, all.at[i], sizeof *row * (size_t)only->nslots);
    get_elements(out, only, row, all.n, array);
  } else {
    AtledValue *items = new_items(out, all.n);
    array->element = ATLED_TUPLE;
    array->as.items = items;
    for (int64_t i = 0; i < all.n; i++) items[i] = get_components(out, e.payload, all.at[i], e.first, e.end);
  }
  rt_tree_entries_free(out->rt, &all);
  out->o->entries = (TreeEntries){0};
}

static void get_variant(Out *out, const Desc *d, const Slot *s, AtledValue *v) {
  out->inside = true;
  if (value_is_list(d)) {
    get_list(out, d, s, v);
    return;
  }
  if (d->shown_as) {
    get_tree(out, d, s, v);
    return;
  }
  int tag = (int)rt_tag(s->p);
  AtledValue *payload = d->args[tag]->kind == D_UNIT ? NULL : new_items(out, 1);
  *v = atled_variant(d->names[tag], payload);
  v->tag = tag;
  if (payload) push(out, d->args[tag], ((const BoxObj *)(const void *)s->p)->fields, payload);
}

static void get_text(Out *out, const Desc *d, const Slot *s, AtledValue *v) {
  Str text = {.arena = out->trees};
  out->failed |= rt_show(out->rt, d, s, false, &text) != 0;
  *v = (AtledValue){.kind = ATLED_OTHER, .length = text.len, .as.string = text.data ? text.data : ""};
}

/* ---- Any value --------------------------------------------------------------------------------------- */
/* v is zero. */
static void get(Out *out, const Desc *d, const Slot *s, AtledValue *v) {
  v->kind = value_kind(d);
  switch (v->kind) {
  case ATLED_UNIT: return;
  case ATLED_BOOL: v->as.boolean = s->i != 0; return;
  case ATLED_INT: v->as.integer = s->i; return;
  case ATLED_FLOAT: v->as.number = s->f; return;
  case ATLED_STRING: v->as.string = text_of(s, &v->length); return;
  case ATLED_ARRAY: get_array(out, d, s, v); return;
  case ATLED_TUPLE:
  case ATLED_RECORD:
    *v = get_components(out, d, s, 0, d->n);
    v->names = d->names;
    if (d->names) v->kind = ATLED_RECORD;
    return;
  case ATLED_LIST:
  case ATLED_VARIANT: get_variant(out, d, s, v); return;
  case ATLED_OPAQUE:
    v->name = d->name;
    v->as.data = ((const OpaqueObj *)(const void *)s->p)->pointer;
    v->reserved[0] = s->p;
    return;
  case ATLED_OTHER: get_text(out, d, s, v); return;
  }
}

bool value_get(Rt *rt, Outcome *o, Arena *working, const Desc *d, const Slot *s, AtledValue *v) {
  Out out = {.rt = rt, .o = o, .trees = &o->trees, .working = working};
  *v = (AtledValue){0};
  get(&out, d, s, v);
  while (out.unfilled.len && !is_interrupted(&out)) {
    Unfilled u = out.unfilled.data[--out.unfilled.len];
    get(&out, u.d, u.s, u.v);
  }
  if (out.unfilled.cap) arena_free(working);
  return !out.failed;
}
