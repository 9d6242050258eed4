/* SPDX-License-Identifier: MIT */
/* Types of the IR: interned, so that equal types are one pointer. Variants are nominal: their identity is the
 * declaration with its arguments, and their constructors are filled in afterwards, since they may be recursive. */
#include "ir/ir_internal.h"
#include <string.h>

static uint32_t type_hash(const IrType *t) {
  uint64_t h = hash_mix(t->kind, (uint64_t)t->n * 2 + t->effect);
  h = hash_mix(h, (uint64_t)(uintptr_t)t->key);
  for (int i = 0; i < t->n; i++) {
    h = hash_mix(h, t->args[i]->id);
    if (t->names) h = hash_mix(h, (uint64_t)(uintptr_t)t->names[i]);
  }
  return (uint32_t)(h ^ h >> 32);
}

static bool type_same(const void *p, const void *q) {
  const IrType *a = p, *b = q;
  if (a->kind != b->kind || a->n != b->n || a->effect != b->effect || a->key != b->key) return false;
  if (!a->names != !b->names) return false;
  for (int i = 0; i < a->n; i++)
    if (a->args[i] != b->args[i] || (a->names && a->names[i] != b->names[i])) return false;
  return true;
}

static IrType *type_intern(World *w, const IrType *proto) {
  uint32_t h = type_hash(proto);
  IrType *t = table_find(&tables(w)->types, h, type_same, proto);
  if (t) return t;
  t = NEW(w->arena, IrType);
  *t = *proto;
  t->id = ++w->next_id;
  if (t->n) {
    t->args = NEW_ARRAY(w->arena, IrType *, t->n);
    memcpy(t->args, proto->args, sizeof(IrType *) * (size_t)t->n);
    if (t->names) {
      t->names = NEW_ARRAY(w->arena, Sym, t->n);
      memcpy(t->names, proto->names, sizeof(Sym) * (size_t)t->n);
    }
  }
  table_insert(w, &tables(w)->types, h, t);
  return t;
}

IrType *ir_type(World *w, IrKind k) {
  IrType **slot = &tables(w)->plain[k];
  if (!*slot) *slot = type_intern(w, &(IrType){.kind = k});
  return *slot;
}

IrType *ir_tuple_type(World *w, IrType **args, Sym *names, int n) {
  if (n == 0) return ir_type(w, T_UNIT);
  return type_intern(w, &(IrType){.kind = T_TUPLE, .n = n, .args = args, .names = names});
}

IrType *ir_pair_type(World *w, IrType *a, IrType *b) {
  IrType *ts[2] = {a, b};
  return ir_tuple_type(w, ts, NULL, 2);
}

IrType *ir_array_type(World *w, IrType *elem) {
  return type_intern(w, &(IrType){.kind = T_ARRAY, .n = 1, .args = &elem});
}

IrType *ir_fun_type(World *w, IrType *param, IrType *result, bool effect) {
  IrType *args[2] = {param, result};
  return type_intern(w, &(IrType){.kind = T_FUN, .n = 2, .args = args, .effect = effect});
}

IrType *ir_bag_type(World *w, IrType *elem) { return type_intern(w, &(IrType){.kind = T_BAG, .n = 1, .args = &elem}); }

IrType *ir_env_type(World *w, IrType *fun) { return type_intern(w, &(IrType){.kind = T_ENV, .n = 1, .args = &fun}); }

IrType *ir_variant_type(World *w, Sym name, const void *key, IrType **args, int n) {
  return type_intern(w, &(IrType){.kind = T_VARIANT, .name = name, .key = key, .args = args, .n = n});
}

int ir_rank(const IrType *t) {
  int r = 0;
  if (t->kind != T_ARRAY && t->kind != T_BAG) return 0;
  for (IrKind k = t->kind; t->kind == k; t = t->args[0]) r++;
  return r;
}

IrType *ir_base(IrType *t) {
  if (t->kind != T_ARRAY && t->kind != T_BAG) return t;
  IrKind k = t->kind;
  while (t->kind == k) t = t->args[0];
  return t;
}

static bool holds_arrays(const IrType *t, Map *seen) {
  if (t->kind == T_ARRAY || t->kind == T_BAG) return true;
  if (t->kind == T_TUPLE)
    for (int i = 0; i < t->n; i++)
      if (holds_arrays(t->args[i], seen)) return true;
  if (t->kind != T_VARIANT || map_get(seen, t)) return false;
  map_put(seen, t, seen);
  for (int i = 0; i < t->nctors; i++)
    if (holds_arrays(t->ctors[i].payload, seen)) return true;
  return false;
}

bool ir_holds_arrays(World *w, const IrType *t) {
  Map seen;
  map_init(&seen, w->temp);
  return holds_arrays(t, &seen);
}
