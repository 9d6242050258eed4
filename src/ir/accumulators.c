/* SPDX-License-Identifier: MIT */
/* The types of accumulators. A value of many parts may be read in many places, and each may have something
 * to contribute to some of the floats in it; an accumulator collects what there is for all of them, and
 * has the shape of the value:
 *
 *   float -> float           tuple -> tuple of the components' (unit where there is no float)
 *   array -> bag             variant -> null | the same constructor with the payload's
 *   function -> environment  int, bool, string, unit, token -> unit: nothing to contribute to
 *
 * Of a payload keys (IrCtor.keys) become unit, whatever they hold.
 *
 * Each of these types has a zero, and a sum, CADD. The map is idempotent: bags, environments and nullable
 * variants are their own accumulators. */
#include "ir/ir_internal.h"

static bool holds_float(IrType *t, Map *seen);

static bool payload_holds_float(const IrCtor *c, Map *seen) {
  const IrType *t = c->payload;
  if (!c->keys) return holds_float(c->payload, seen);
  for (int i = 0; t->kind == T_TUPLE && i < t->n; i++)
    if (!c->keys[i] && holds_float(t->args[i], seen)) return true;
  return false;
}

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
      if (payload_holds_float(&t->ctors[i], seen)) return true;
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
    c->ctors[i + 1] = (IrCtor){.name = t->ctors[i].name, .payload = ir_payload_accumulator(w, &t->ctors[i])};
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

/* ---- Payloads with keys ---------------------------------------------------------------------- */
IrType *ir_payload_accumulator(World *w, const IrCtor *c) {
  IrType *t = c->payload, *unit = ir_type(w, T_UNIT);
  if (!c->keys) return ir_accumulator(w, t);
  if (t->kind != T_TUPLE) return unit;
  IrType **ts = NEW_ARRAY(w->arena, IrType *, t->n);
  bool any = false;
  for (int i = 0; i < t->n; i++) {
    ts[i] = c->keys[i] ? unit : ir_accumulator(w, t->args[i]);
    any |= ts[i]->kind != T_UNIT;
  }
  return any ? ir_tuple_type(w, ts, t->names, t->n) : unit;
}

Node *ir_without_keys(World *w, const IrCtor *c, Node *x) {
  IrType *t = ir_payload_accumulator(w, c);
  if (!c->keys || t->kind == T_UNIT) return t->kind == T_UNIT ? ir_unit(w) : x;
  Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
  for (int i = 0; i < t->n; i++) xs[i] = c->keys[i] ? ir_unit(w) : ir_get(w, x, i);
  return ir_tuple(w, t, xs);
}

Node *ir_with_keys(World *w, const IrCtor *c, Node *x) {
  IrType *t = ir_accumulator(w, c->payload);
  if (!c->keys || t->kind == T_UNIT) return x;
  if (x->type->kind == T_UNIT) return ir_zero(w, t);
  Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
  for (int i = 0; i < t->n; i++) xs[i] = c->keys[i] ? ir_zero(w, t->args[i]) : ir_get(w, x, i);
  return ir_tuple(w, t, xs);
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
