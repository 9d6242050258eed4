/* SPDX-License-Identifier: MIT */
/* Types as lowered code sees them: the row of slots of a value (Layout), and the run-time descriptor (Desc)
 * from which the runtime shows, compares, copies and frees values.
 *
 * Both are made once per type and cached in it, in the world's arena. Variants may be recursive, so a descriptor
 * is entered into the cache before its parts are made. */
#include "lower/lower_internal.h"
#include <string.h>

const Layout *lower_layout(World *w, const IrType *t) {
  if (t->layout) return t->layout;
  Layout *l = NEW(w->arena, Layout);
  switch (t->kind) {
  case T_UNIT:
  case T_TOKEN: break;
  case T_TUPLE:
    for (int i = 0; i < t->n; i++) l->n += lower_layout(w, t->args[i])->n;
    l->kinds = NEW_ARRAY(w->arena, uint8_t, l->n + 1);
    for (int i = 0, at = 0; i < t->n; i++) {
      const Layout *part = lower_layout(w, t->args[i]);
      if (part->n) memcpy(l->kinds + at, part->kinds, (size_t)part->n);
      at += part->n;
    }
    break;
  default:
    l->n = 1;
    l->kinds = NEW_ARRAY(w->arena, uint8_t, 1);
    l->kinds[0] = t->kind == T_INT || t->kind == T_BOOL ? R_INT : t->kind == T_FLOAT ? R_FLOAT : R_PTR;
  }
  SAVE(w->arena, ((IrType *)(uintptr_t)t)->layout);
  ((IrType *)(uintptr_t)t)->layout = l;
  return l;
}

int lower_slots(World *w, const IrType *t) { return lower_layout(w, t)->n; }

int lower_offset(World *w, const IrType *t, int k) {
  int n = 0;
  for (int i = 0; i < k; i++) n += lower_slots(w, t->args[i]);
  return n;
}

bool lower_holds_arrays(const IrType *t) {
  if (t->kind == T_ARRAY || t->kind == T_BAG) return true;
  if (t->kind != T_TUPLE) return false;
  for (int i = 0; i < t->n; i++)
    if (lower_holds_arrays(t->args[i])) return true;
  return false;
}

static DescKind desc_kind(IrKind k) {
  switch (k) {
  case T_INT: return D_INT;
  case T_FLOAT: return D_FLOAT;
  case T_BOOL: return D_BOOL;
  case T_STRING: return D_STRING;
  case T_UNIT:
  case T_TOKEN: return D_UNIT;
  case T_TUPLE: return D_TUPLE;
  case T_ARRAY: return D_ARRAY;
  case T_FUN: return D_FUN;
  case T_VARIANT: return D_VARIANT;
  case T_BAG: return D_BAG;
  case T_ENV: return D_ENV;
  }
  return D_UNIT;
}

bool layout_has_pointers(const Layout *l) {
  for (int i = 0; i < l->n; i++)
    if (l->kinds[i] == R_PTR) return true;
  return false;
}

static int link_of(const Layout *l) {
  int link = -1;
  for (int i = 0; i < l->n; i++) {
    if (l->kinds[i] == R_FLOAT) continue;
    if (l->kinds[i] != R_PTR || link >= 0) return -1;
    link = i;
  }
  return link;
}

static const char *kind_name(DescKind k) {
  static const char *const names[] = {"int",   "float",    "bool",    "string", "unit",        "tuple",
                                      "array", "function", "variant", "bag",    "environment", "opaque"};
  return names[k];
}

static const Desc *desc_of(World *w, IrType *t);
static void slot_descs(World *w, IrType *t, const Desc **out);

static void desc_of_tuple(World *w, IrType *t, Desc *d) {
  d->n = t->n;
  d->args = NEW_ARRAY(w->arena, const Desc *, t->n + 1);
  for (int i = 0; i < t->n; i++) d->args[i] = desc_of(w, t->args[i]);
  if (!t->names) return;
  d->names = NEW_ARRAY(w->arena, const char *, t->n + 1);
  for (int i = 0; i < t->n; i++) d->names[i] = t->names[i];
}

static void desc_of_variant(World *w, IrType *t, Desc *d) {
  d->n = t->nctors;
  d->name = t->name;
  d->shown_as = t->shown_as;
  d->args = NEW_ARRAY(w->arena, const Desc *, t->nctors + 1);
  d->names = NEW_ARRAY(w->arena, const char *, t->nctors + 1);
  for (int i = 0; i < t->nctors; i++) {
    d->names[i] = t->ctors[i].name;
    if (t->ctors[i].cons) d->cons = 1 + i;
    d->args[i] = desc_of(w, t->ctors[i].payload ? t->ctors[i].payload : ir_type(w, T_UNIT));
  }
}

/* args[1] of a bag is the descriptor of the array that it is when dense. */
static void desc_of_elements(World *w, IrType *t, Desc *d) {
  IrType *base = ir_base(t);
  d->rank = ir_rank(t);
  d->pointers = layout_has_pointers(lower_layout(w, base));
  d->n = t->kind == T_BAG ? 2 : 1;
  d->args = NEW_ARRAY(w->arena, const Desc *, 2);
  d->args[0] = desc_of(w, base);
  if (t->kind != T_BAG) return;
  IrType *dense = base;
  for (int i = 0; i < d->rank; i++) dense = ir_array_type(w, dense);
  d->args[1] = desc_of(w, dense);
}

static const Desc *desc_of(World *w, IrType *t) {
  if (t->desc) return t->desc;
  Desc *d = NEW(w->arena, Desc);
  SAVE(w->arena, t->desc);
  t->desc = d;
  d->kind = desc_kind(t->kind);
  d->name = kind_name(d->kind);
  const Layout *l = lower_layout(w, t);
  d->nslots = l->n;
  d->slots = NEW_ARRAY(w->arena, uint8_t, l->n + 1);
  for (int i = 0; i < l->n; i++)
    d->slots[i] = l->kinds[i] == R_PTR ? SLOT_PTR : l->kinds[i] == R_FLOAT ? SLOT_FLOAT : SLOT_INT;
  if (t->kind == T_TUPLE) desc_of_tuple(w, t, d);
  if (t->kind == T_VARIANT) desc_of_variant(w, t, d);
  if (t->kind == T_VARIANT && !t->nctors) d->kind = D_OPAQUE;
  if (t->kind == T_ARRAY || t->kind == T_BAG) desc_of_elements(w, t, d);
  d->link = link_of(l);
  d->slot_descs = NEW_ARRAY(w->arena, const Desc *, l->n + 1);
  slot_descs(w, t, d->slot_descs);
  return d;
}

static void slot_descs(World *w, IrType *t, const Desc **out) {
  const Layout *l = lower_layout(w, t);
  if (t->kind == T_TUPLE) {
    for (int i = 0, at = 0; i < t->n; i++) {
      slot_descs(w, t->args[i], out + at);
      at += lower_slots(w, t->args[i]);
    }
  } else if (l->n) {
    out[0] = l->kinds[0] == R_PTR ? desc_of(w, t) : NULL;
  }
}

/* ---- Identity ---------------------------------------------------------------------------------------------------- */
typedef Vec(const Desc *) DescQueue;

static uint64_t number_of(Arena *a, Map *seen, DescQueue *queue, const Desc *d) {
  if (!map_get(seen, d)) {
    vec_push(a, *queue, d);
    map_put(seen, d, (void *)(uintptr_t)queue->len);
  }
  return (uint64_t)(uintptr_t)map_get(seen, d);
}

static uint64_t hash_text(uint64_t h, const char *s) { return hash_bytes(s ? s : "", s ? strlen(s) : 0, h); }

/* Descriptors form a graph with cycles: from d on they are numbered as they are met, breadth first, and parts enter the
 * hash by number. */
static DescQueue reached_from(Arena *a, const Desc *d, uint64_t *hash) {
  Map seen;
  DescQueue queue = {0};
  uint64_t h = 0xde5c;
  map_init(&seen, a);
  number_of(a, &seen, &queue, d);
  for (int i = 0; i < queue.len; i++) {
    d = queue.data[i];
    h = hash_mix(h, (uint64_t)d->kind << 32 | (uint64_t)d->rank << 16 | (uint64_t)d->cons << 2 |
                        (uint64_t)(d->names != NULL) << 1 | d->pointers);
    h = hash_text(hash_mix(h, (uint64_t)d->n << 32 | (uint64_t)d->nslots), d->name);
    if (d->shown_as) h = hash_text(h, d->shown_as);
    for (int k = 0; k < d->n; k++) {
      if (d->names) h = hash_text(h, d->names[k]);
      h = hash_mix(h, number_of(a, &seen, &queue, d->args[k]));
    }
  }
  *hash = h | 1;
  return queue;
}

/* Those that d reaches were made with it, or have theirs already. */
const Desc *lower_desc(World *w, IrType *t) {
  const Desc *d = desc_of(w, t);
  uint64_t hash;
  if (d->id) return d;
  DescQueue reached = reached_from(w->temp, d, &hash);
  for (int i = 0; i < reached.len; i++) {
    Desc *part = (Desc *)(uintptr_t)reached.data[i];
    if (part->id) continue;
    reached_from(w->temp, part, &hash);
    part->id = hash;
  }
  return d;
}
