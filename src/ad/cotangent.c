/* SPDX-License-Identifier: MIT */
/* Cotangent types, and the way between them and the values users see.
 *
 *   float -> float           tuple -> tuple of the components' (unit where there is no float)
 *   array -> bag             variant -> null | the same constructor with the payload's
 *   function -> environment  int, bool, string, unit, token -> unit: no slot
 *
 * The map is idempotent: bags, environments and cotangent variants are their own cotangents, so any order of
 * differentiation stays inside these types. Tangents use the same types. Conversions are code: loops over arrays, one
 * recursive function for each variant type. */
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

bool ad_is_plain(const IrType *c) {
  if (c->kind == T_TUPLE) {
    for (int i = 0; i < c->n; i++)
      if (!ad_is_plain(c->args[i])) return false;
    return true;
  }
  return c->kind == T_FLOAT || c->kind == T_UNIT;
}

/* ---- Small builders --------------------------------------------------------------------- */
Node *ad_tuple(World *w, Node **xs, int n) {
  IrType **ts = NEW_ARRAY(w->arena, IrType *, n + 1);
  for (int i = 0; i < n; i++) ts[i] = xs[i]->type;
  return ir_tuple(w, ir_tuple_type(w, ts, NULL, n), xs);
}

Node *ad_one_component(World *w, IrType *tuple, int k, Node *x) {
  Node **xs = NEW_ARRAY(w->arena, Node *, tuple->n);
  for (int i = 0; i < tuple->n; i++) xs[i] = i == k ? x : ir_zero(w, tuple->args[i]);
  return ir_tuple(w, tuple, xs);
}

Node **ad_dims(World *w, Node *array, IrType *type, int *n) {
  *n = ir_rank(type);
  Node **dims = NEW_ARRAY(w->arena, Node *, *n + 1);
  for (int i = 0; i < *n; i++) dims[i] = ir_len(w, array, i);
  return dims;
}

Node *ad_bag_op(World *w, Op op, IrType *t, Node *bag, Node **dims, int ndims, Node **is, int n, Node *v) {
  Node **ops = NEW_ARRAY(w->arena, Node *, ndims + n + 2);
  int k = 0;
  ops[k++] = bag;
  for (int i = 0; i < ndims; i++) ops[k++] = dims[i];
  for (int i = 0; i < n; i++) ops[k++] = is[i];
  if (v) ops[k++] = v;
  return ir_make(w, op, t, ops, k);
}

/* The array type that a bag fills to. */
static IrType *filled_type(World *w, IrType *bag) {
  return bag->kind == T_BAG ? ir_array_type(w, filled_type(w, bag->args[0])) : bag;
}

Node *ad_fill(World *w, Node *bag, Node **dims, int ndims) {
  return ad_bag_op(w, OP_FILL, filled_type(w, bag->type), bag, dims, ndims, NULL, 0, NULL);
}

static Node *as_bag(World *w, Node *array, IrType *bag) { return ir_make(w, OP_TO_BAG, bag, &array, 1); }

/* [ element i | i < n ]: `make` builds the element in region r from the imported nodes. */
typedef Node *(*ElementFn)(World *w, Region *r, Region *outer, Node *i, void *user);
static Node *build_array(World *w, Region *outer, Node *n, ElementFn make, void *user) {
  Region *r = region_open(w, outer);
  Node *i = region_param(r, ir_type(w, T_INT));
  Node *e = make(w, r, outer, i, user);
  LoopInfo l = {.nstacked = 1};
  Graph *body = region_close(r, ad_tuple(w, &e, 1), NULL);
  l.ncaps = r->ncaps;
  return ir_get(w, ir_loop(w, &l, n, r->caps.data, body, NULL, 0), 0);
}

/* Regions import from an outer region; these conversions are built in no particular one. */
static Region *anywhere(World *w) { return region_open(w, NULL); }

/* ---- To cotangents ------------------------------------------------------------------------- */
typedef struct Conversion { IrType *t; Node *x, *like, *cot; Site site; } Conversion;

static Node *element_to_cotangent(World *w, Region *r, Region *outer, Node *i, void *user) {
  Conversion *c = user;
  Node *x = ir_index(w, region_import(r, outer, c->x), &i, 1);
  Node *like = c->like ? ir_index(w, region_import(r, outer, c->like), &i, 1) : NULL;
  Node *e = ad_to_cotangent(w, c->t->args[0], x, like, c->site);
  if (e->type->kind != T_BAG) return e;
  int nd;
  Node **dims = ad_dims(w, x, x->type, &nd);
  return ad_fill(w, e, dims, nd);
}

static Func *variant_function(World *w, IrType *t, const char *which, IrType **params, int n, IrType *result, bool *is_new) {
  const void *key = (const void *)(uintptr_t)(hash_mix(hash_mix(t->id, (uint64_t)which[0]), 0xad) | 1);
  Func *f = map_get(&w->conversions, key);
  *is_new = !f;
  if (f) return f;
  f = ir_func(w, sym_of(w->syms, which), params, n, result);
  f->recursive = true;
  map_put(&w->conversions, key, f);
  return f;
}

/* The check that `like` is of constructor k, as the value given for its derivative is. */
static Node *same_constructor(World *w, IrType *t, Node *like, int k) {
  const char *text = arena_printf(w->arena, "different shapes: a derivative with %s for a value without", t->ctors[k].name);
  Node *same = ir_op2(w, OP_IEQ, ir_tag(w, like), ir_int(w, k));
  return ir_assert(w, same, ir_string(w, sym_of(w->syms, text)), 0);
}

static Node *variant_to_cotangent(World *w, IrType *t, Node *x, Node *like, Site site) {
  IrType *c = ad_cotangent(w, t), *ps[2] = {t, t};
  int n = like ? 2 : 1;
  bool is_new;
  Func *f = variant_function(w, t, like ? "shaped cotangent" : "cotangent", ps, n, c, &is_new);
  if (is_new) {
    Graph **arms = NEW_ARRAY(w->arena, Graph *, t->nctors);
    Node *caps[2] = {ir_param(w, 0, t), ir_param(w, 1, t)};
    for (int k = 0; k < t->nctors; k++) {
      IrType *p = t->ctors[k].payload;
      Node *check = like ? same_constructor(w, t, caps[1], k) : ir_unit(w);
      Node *v = ir_op2(w, OP_AFTER, caps[0], check), *l = like ? ir_op2(w, OP_AFTER, caps[1], check) : NULL;
      Node *e = ad_has_slot(w, p) ? ir_inj(w, c, k + 1, ad_to_cotangent(w, p, ir_uninj(w, v, k), l ? ir_uninj(w, l, k) : NULL, 0))
                                  : ir_op2(w, OP_AFTER, ir_zero(w, c), check);
      arms[k] = ir_graph(w, ps, n, e, NULL);
    }
    ir_func_finish(w, f, ir_switch(w, ir_tag(w, caps[0]), arms, t->nctors, caps, n));
  }
  return ir_call(w, f, (Node *[]){x, like}, site);
}

static Node *array_to_cotangent(World *w, IrType *t, Node *x, Node *like, Site site) {
  if (like)
    for (int i = 0, n = ir_rank(t); i < n; i++)
      x = ir_op2(w, OP_AFTER, x, ir_check(w, OP_CHECK_SIZE, ir_len(w, x, i), ir_len(w, like, i), NULL, site));
  IrType *bag = ad_cotangent(w, t), *base = ir_base(t);
  if (ad_cotangent(w, base) == base) return as_bag(w, x, bag);
  Conversion c = {.t = t, .x = x, .like = like, .site = site};
  return as_bag(w, build_array(w, anywhere(w), ir_len(w, x, 0), element_to_cotangent, &c), bag);
}

Node *ad_to_cotangent(World *w, IrType *t, Node *x, Node *like, Site site) {
  if (!ad_has_slot(w, t)) return ir_unit(w);
  switch (t->kind) {
  case T_TUPLE: {
    Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
    for (int i = 0; i < t->n; i++) xs[i] = ad_to_cotangent(w, t->args[i], ir_get(w, x, i), like ? ir_get(w, like, i) : NULL, site);
    return ir_tuple(w, ad_cotangent(w, t), xs);
  }
  case T_ARRAY: return array_to_cotangent(w, t, x, like, site);
  case T_VARIANT: return t->cotangent ? x : variant_to_cotangent(w, t, x, like, site);
  case T_FUN: return ir_zero(w, ad_cotangent(w, t));
  default: return x;
  }
}

/* ---- To values ------------------------------------------------------------------------------- */
static Node *element_to_public(World *w, Region *r, Region *outer, Node *i, void *user) {
  Conversion *c = user;
  Node *x = region_import(r, outer, c->x), *cot = region_import(r, outer, c->cot);
  int nd;
  Node **dims = ad_dims(w, x, c->t, &nd);
  IrType *elem = c->t->args[0];
  Node *e = ad_bag_op(w, OP_BAG_GET, ad_cotangent(w, elem), cot, dims, nd, &i, 1, NULL);
  return ad_to_public(w, elem, ir_index(w, x, &i, 1), e);
}

static Node *variant_to_public(World *w, IrType *t, Node *x, Node *cot) {
  IrType *ps[2] = {t, ad_cotangent(w, t)};
  bool is_new;
  Func *f = variant_function(w, t, "public", ps, 2, t, &is_new);
  if (is_new) {
    Graph **arms = NEW_ARRAY(w->arena, Graph *, t->nctors);
    Node *caps[2] = {ir_param(w, 0, t), ir_param(w, 1, ps[1])};
    for (int k = 0; k < t->nctors; k++) {
      IrType *p = t->ctors[k].payload;
      Node *e = ad_has_slot(w, p) ? ir_inj(w, t, k, ad_to_public(w, p, ir_uninj(w, caps[0], k), ir_uninj(w, caps[1], k + 1))) : caps[0];
      arms[k] = ir_graph(w, ps, 2, e, NULL);
    }
    ir_func_finish(w, f, ir_switch(w, ir_tag(w, caps[0]), arms, t->nctors, caps, 2));
  }
  return ir_call(w, f, (Node *[]){x, cot}, 0);
}

Node *ad_to_public(World *w, IrType *t, Node *x, Node *cot) {
  if (!ad_has_slot(w, t)) return x;
  switch (t->kind) {
  case T_TUPLE: {
    Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
    for (int i = 0; i < t->n; i++) xs[i] = ad_to_public(w, t->args[i], ir_get(w, x, i), ir_get(w, cot, i));
    return ir_tuple(w, t, xs);
  }
  case T_ARRAY: {
    int nd;
    Node **dims = ad_dims(w, x, t, &nd);
    IrType *base = ir_base(t);
    if (ad_cotangent(w, base) == base) return ad_fill(w, cot, dims, nd);
    Conversion c = {.t = t, .x = x, .cot = cot};
    return build_array(w, anywhere(w), dims[0], element_to_public, &c);
  }
  case T_VARIANT: return t->cotangent ? cot : variant_to_public(w, t, x, cot);
  case T_FUN: return x;
  default: return cot;
  }
}

Node *ad_zero_public(World *w, IrType *t, Node *primal) { return ad_to_public(w, t, primal, ir_zero(w, ad_cotangent(w, t))); }

Node *ad_start(World *w, IrType *t, Node *x) {
  IrType *c = ad_cotangent(w, t);
  if (t->kind == T_TUPLE && c->kind == T_TUPLE) {
    Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
    for (int i = 0; i < t->n; i++) xs[i] = ad_start(w, t->args[i], ir_get(w, x, i));
    return ir_tuple(w, c, xs);
  }
  if (t->kind != T_ARRAY || ir_base(t)->kind != T_FLOAT) return ir_zero(w, c);
  int nd;
  return as_bag(w, ir_zeros(w, t, ad_dims(w, x, t, &nd)), c);
}
