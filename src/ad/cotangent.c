/* SPDX-License-Identifier: MIT */
/* Cotangent types, and the way between them and the values users see.
 *
 *   float -> float           tuple -> tuple of the components' (unit where there is no float)
 *   array -> bag             variant -> null | the same constructor with the payload's
 *   function -> environment  int, bool, string, unit, token -> unit: no slot
 *
 * The map is idempotent: bags, environments and cotangent variants are their own cotangents, so any order of
 * differentiation stays inside these types. Tangents use the same types. Conversions are code: loops over arrays, one
 * recursive function for each variant type. What becomes of functions stands in carriers.c. */
#include "ad/ad_internal.h"

/* ---- Types --------------------------------------------------------------------------- */
static bool slot_below(World *w, IrType *t, Map *seen) {
  switch (t->kind) {
  case T_FLOAT: case T_BAG: case T_ENV: case T_FUN: return true;
  case T_TUPLE: case T_ARRAY:
    for (int i = 0; i < t->n; i++)
      if (slot_below(w, t->args[i], seen)) return true;
    return false;
  case T_VARIANT:
    if (t->cotangent) return true;
    if (map_get(seen, t)) return false;
    map_put(seen, t, t);
    for (int i = 0; i < t->nctors; i++)
      if (slot_below(w, t->ctors[i].payload, seen)) return true;
    return false;
  default: return false;
  }
}

bool ad_has_slot(World *w, IrType *t) { return ad_cotangent(w, t)->kind != T_UNIT; }

static IrType *variant_cotangent(World *w, IrType *t) {
  IrType *c = ir_variant_type(w, t->name, t, NULL, 0);
  t->cot = c; /* before the constructors: the type may be recursive */
  c->cot = c;
  c->cotangent = true;
  c->nctors = t->nctors + 1;
  c->ctors = NEW_ARRAY(w->arena, IrCtor, c->nctors);
  c->ctors[0] = (IrCtor){sym_of(w->syms, "null"), ir_type(w, T_UNIT)};
  for (int i = 0; i < t->nctors; i++) c->ctors[i + 1] = (IrCtor){t->ctors[i].name, ad_cotangent(w, t->ctors[i].payload)};
  return c;
}

static IrType *compute(World *w, IrType *t) {
  Map seen;
  map_init(&seen, w->arena);
  if (!slot_below(w, t, &seen)) return ir_type(w, T_UNIT);
  switch (t->kind) {
  case T_TUPLE: {
    IrType **ts = NEW_ARRAY(w->arena, IrType *, t->n);
    for (int i = 0; i < t->n; i++) ts[i] = ad_cotangent(w, t->args[i]);
    return ir_tuple_type(w, ts, t->names, t->n);
  }
  case T_ARRAY: case T_BAG: return ir_bag_type(w, ad_cotangent(w, t->args[0]));
  case T_FUN: return ir_env_type(w, t);
  case T_VARIANT: return t->cotangent ? t : variant_cotangent(w, t);
  default: return t;
  }
}

IrType *ad_cotangent(World *w, IrType *t) {
  if (!t->cot) t->cot = compute(w, t);
  return t->cot;
}

bool ad_is_zero(const Node *c) { return c->op == OP_ZERO || c->op == OP_UNIT || (c->op == OP_FLOAT && c->attr.f == 0); }

/* ---- Conversions ------------------------------------------------------------------------ */
typedef enum Way { TO_COTANGENT, TO_PUBLIC, TO_START } Way;
typedef struct Conversion { World *w; Way way; IrType *t; Node *x, *y; Site site; } Conversion;

static Node *convert(World *w, Way way, IrType *t, Node *x, Node *y, Site site);

static Node *convert_element(Region *r, Region *outer, Node *i, void *user) {
  Conversion *c = user;
  Node *x = region_import(r, outer, c->x), *e = ir_index(c->w, x, &i, 1);
  Node *y = c->y ? region_import(r, outer, c->y) : NULL;
  if (y) y = c->way == TO_PUBLIC ? ir_bag_get(c->w, y, x, i) : ir_index(c->w, y, &i, 1);
  Node *out = convert(c->w, c->way, c->t->args[0], e, y, c->site);
  return c->way == TO_COTANGENT ? ir_fill(c->w, out, e) : out;
}

static Node *convert_array(World *w, Way way, IrType *t, Node *x, Node *y, Site site) {
  if (way == TO_COTANGENT && y)
    for (int i = 0, n = ir_rank(t); i < n; i++)
      x = ir_op2(w, OP_AFTER, x, ir_check(w, OP_CHECK_SIZE, ir_len(w, x, i), ir_len(w, y, i), NULL, site));
  IrType *base = ir_base(t);
  bool same = ad_cotangent(w, base) == base;
  if (same && way == TO_PUBLIC) return ir_fill(w, y, x);
  Conversion c = {w, way, t, x, y, site};
  Node *a = same ? x : ir_build(w, ir_len(w, x, 0), convert_element, &c);
  return way == TO_PUBLIC ? a : ir_to_bag(w, a);
}

/* The check that `like` is of constructor k, as the value given for its derivative is. */
static Node *same_constructor(World *w, IrType *t, Node *like, int k) {
  const char *text = "different shapes: a derivative with %s for a value without";
  Node *same = ir_op2(w, OP_IEQ, ir_tag(w, like), ir_int(w, k));
  return ir_assert(w, same, ir_string(w, sym_of(w->syms, arena_printf(w->arena, text, t->ctors[k].name))), 0);
}

static Node *convert_arm(World *w, Way way, IrType *t, Node **caps, int ncaps, int k) {
  bool public = way == TO_PUBLIC, shaped = ncaps == 2 && !public;
  IrType *to = public ? t : ad_cotangent(w, t), *payload = t->ctors[k].payload;
  Node *check = shaped ? same_constructor(w, t, caps[1], k) : ir_unit(w), *x = ir_op2(w, OP_AFTER, caps[0], check), *y = NULL;
  if (!ad_has_slot(w, payload)) return public ? x : ir_op2(w, OP_AFTER, ir_zero(w, to), check);
  if (ncaps == 2) y = ir_uninj(w, ir_op2(w, OP_AFTER, caps[1], check), k + public);
  return ir_inj(w, to, k + !public, convert(w, way, payload, ir_uninj(w, x, k), y, 0));
}

/* One function for each variant type, way, and whether there is y. */
static Node *convert_variant(World *w, Way way, IrType *t, Node *x, Node *y, Site site) {
  static const char *const names[] = {"cotangent", "shaped cotangent", "public"};
  int which = way == TO_PUBLIC ? 2 : y != NULL, n = y ? 2 : 1;
  IrType *c = ad_cotangent(w, t), *ps[2] = {t, way == TO_PUBLIC ? c : t};
  const void *key = (const void *)(uintptr_t)(hash_mix(hash_mix(t->id, (uint64_t)which), 0xad) | 1);
  Func *f = map_get(&w->conversions, key);
  if (!f) {
    f = ir_func(w, sym_of(w->syms, names[which]), ps, n, way == TO_PUBLIC ? t : c);
    f->recursive = true;
    map_put(&w->conversions, key, f);
    Graph **arms = NEW_ARRAY(w->arena, Graph *, t->nctors);
    Node *caps[2] = {ir_param(w, 0, t), ir_param(w, 1, ps[1])};
    for (int k = 0; k < t->nctors; k++) arms[k] = ir_graph(w, ps, n, convert_arm(w, way, t, caps, n, k), NULL);
    ir_func_finish(w, f, ir_switch(w, ir_tag(w, caps[0]), arms, t->nctors, caps, n));
  }
  return ir_call(w, f, (Node *[]){x, y}, site);
}

/* y: the cotangent (to public); what x must have the shape of, or NULL (to cotangent). */
static Node *convert(World *w, Way way, IrType *t, Node *x, Node *y, Site site) {
  IrType *c = ad_cotangent(w, t);
  if (c->kind == T_UNIT) return way == TO_PUBLIC ? x : ir_unit(w);
  if (way == TO_START && t->kind != T_TUPLE)
    return t->kind == T_ARRAY && ir_base(t)->kind == T_FLOAT ? ir_to_bag(w, ir_fill(w, ir_zero(w, c), x)) : ir_zero(w, c);
  switch (t->kind) {
  case T_TUPLE: {
    Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
    for (int i = 0; i < t->n; i++)
      xs[i] = convert(w, way, t->args[i], ir_get(w, x, i), y ? ir_get(w, y, i) : NULL, site);
    return ir_tuple(w, way == TO_PUBLIC ? t : c, xs);
  }
  case T_ARRAY: return convert_array(w, way, t, x, y, site);
  case T_VARIANT:
    if (!t->cotangent) return convert_variant(w, way, t, x, y, site);
    return way == TO_PUBLIC ? y : x;
  case T_FUN: return way == TO_PUBLIC ? x : ir_zero(w, c);
  default: return way == TO_PUBLIC ? y : x;
  }
}

Node *ad_to_cotangent(World *w, IrType *t, Node *x, Node *like, Site site) {
  Node *c = convert(w, TO_COTANGENT, t, x, like, site);
  return like ? ad_from_carriers(w, t, x, like, c, site) : c;
}
Node *ad_to_public(World *w, IrType *t, Node *x, Node *cot) {
  return ad_with_carriers(w, t, convert(w, TO_PUBLIC, t, x, cot, 0), cot);
}
Node *ad_start(World *w, IrType *t, Node *x) { return convert(w, TO_START, t, x, NULL, 0); }
Node *ad_zero_public(World *w, IrType *t, Node *x) { return ad_to_public(w, t, x, ir_zero(w, ad_cotangent(w, t))); }
