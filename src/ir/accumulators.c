/* SPDX-License-Identifier: MIT */
/* The types of accumulators. A value of many parts may be read in many places, and each may have something
 * to contribute to some of the floats in it; an accumulator collects what there is for all of them, and
 * has the shape of the value:
 *
 *   float -> float           tuple -> tuple of the components' (unit where there is no float)
 *   array -> bag             variant -> null | the same constructor with the payload's
 *   function -> environment  int, bool, string, unit, token -> unit: nothing to contribute to
 *
 * Each of these types has a zero, and a sum, CADD. The map is idempotent: bags, environments and nullable
 * variants are their own accumulators. */
#include "ir/ir_internal.h"

static bool holds_float(IrType *t, Map *seen) {
  switch (t->kind) {
  case T_FLOAT:
  case T_BAG:
  case T_ENV:
  case T_FUN: return true;
  case T_TUPLE:
  case T_ARRAY:
    for (int i = 0; i < t->n; i++)
      if (holds_float(t->args[i], seen)) return true;
    return false;
  case T_VARIANT:
    if (t->nullable) return true;
    if (map_get(seen, t)) return false;
    map_put(seen, t, t);
    for (int i = 0; i < t->nctors; i++)
      if (holds_float(t->ctors[i].payload, seen)) return true;
    return false;
  default: return false;
  }
}

static IrType *nullable_variant(World *w, IrType *t) {
  IrType *c = ir_variant_type(w, t->name, t, NULL, 0);
  t->accumulator = c; /* before the constructors: the type may be recursive */
  c->accumulator = c;
  c->nullable = true;
  c->nctors = t->nctors + 1;
  c->ctors = NEW_ARRAY(w->arena, IrCtor, c->nctors);
  c->ctors[0] = (IrCtor){.name = sym_of(w->syms, "null"), .payload = ir_type(w, T_UNIT)};
  for (int i = 0; i < t->nctors; i++)
    c->ctors[i + 1] = (IrCtor){.name = t->ctors[i].name, .payload = ir_accumulator(w, t->ctors[i].payload)};
  return c;
}

static IrType *compute(World *w, IrType *t) {
  Map seen;
  map_init(&seen, w->arena);
  if (!holds_float(t, &seen)) return ir_type(w, T_UNIT);
  switch (t->kind) {
  case T_TUPLE: {
    IrType **ts = NEW_ARRAY(w->arena, IrType *, t->n);
    for (int i = 0; i < t->n; i++) ts[i] = ir_accumulator(w, t->args[i]);
    return ir_tuple_type(w, ts, t->names, t->n);
  }
  case T_ARRAY:
  case T_BAG: return ir_bag_type(w, ir_accumulator(w, t->args[0]));
  case T_FUN: return ir_env_type(w, t);
  case T_VARIANT: return t->nullable ? t : nullable_variant(w, t);
  default: return t;
  }
}

IrType *ir_accumulator(World *w, IrType *t) {
  if (!t->accumulator) {
    SAVE(w->arena, t->accumulator);
    t->accumulator = compute(w, t);
  }
  return t->accumulator;
}

bool ir_is_plain(const IrType *t) {
  for (int i = 0; i < t->n && t->kind == T_TUPLE; i++)
    if (!ir_is_plain(t->args[i])) return false;
  return t->kind == T_TUPLE || t->kind == T_FLOAT || t->kind == T_UNIT;
}

IrType *ir_env_payload(World *w, const Graph *g, const IrType *fun) {
  int own = 1 + fun->effect, n = g->nparams - own;
  IrType **ts = NEW_ARRAY(w->arena, IrType *, n + 1);
  for (int i = 0; i < n; i++) ts[i] = ir_accumulator(w, g->params[own + i]);
  return ir_tuple_type(w, ts, NULL, n);
}
