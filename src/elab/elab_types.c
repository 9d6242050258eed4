/* SPDX-License-Identifier: MIT */
/* Types of the checker to types of the IR.
 *
 * The checker's types are trees with variables. Under a substitution for the quantified variables of the
 * definitions that are being instantiated each is monomorphic, and the IR interns those: equal types are one
 * pointer, which is what instances are looked up by. A variable that nothing decided takes a default: an effect is
 * pure, a number an int, what must hold a float a float, any other is unit (its values can't be looked at).
 *
 * An effect is an argument of a type like any other. Where it stands alone it is represented by T_TOKEN (an
 * effect) or T_UNIT (none). */
#include "elab/elab_internal.h"

static IrType *default_type(Elab *e, const Type *v) {
  if (v->classes & CLASS_DIFF) return e->t_float;
  if (v->classes & (CLASS_NUM | CLASS_SCALAR)) return e->t_int;
  return e->t_unit;
}

static IrType *variable_type(Elab *e, const Subst *s, Type *v) {
  for (; s; s = s->outer)
    for (int i = 0; i < s->n; i++)
      if (s->vars[i] == v) return s->types[i];
  return default_type(e, v);
}

/* Variants whose constructors are being converted, innermost first. */
typedef struct UnderWay {
  const DataDecl *data;
  IrType *type;
  const struct UnderWay *outer;
} UnderWay;
typedef struct Conv {
  Elab *e;
  int depth;
  const UnderWay *under_way;
} Conv;
static IrType *convert(Conv *k, const Subst *s, Type *t);

static IrType **convert_all(Conv *k, const Subst *s, Type **ts, int n) {
  IrType **out = NEW_ARRAY(k->e->arena, IrType *, n + 1);
  for (int i = 0; i < n; i++) out[i] = convert(k, s, ts[i]);
  return out;
}

/* Without a place, which types don't have: that of the item is filled in. */
static void too_large(Elab *e, const char *message) {
  if (e->diags && !e->failed) diag_error(e->diags, (Span){0}, "type-too-large", "%s", message);
  e->failed = true;
}

/* A declaration that mentions itself at ever larger types would go on for ever, and what it mentions may double each
 * time. What is under way then isn't what it should be: it is made again, and refused again, when it is next used. */
static bool is_endless(Conv *k, const DataDecl *d) {
  int n = 0;
  for (const UnderWay *u = k->under_way; u; u = u->outer) n += u->data == d;
  if (n < LIMIT_DATA_UNDER_WAY) return false;
  too_large(k->e, "a type here contains itself at ever larger types");
  for (const UnderWay *u = k->under_way; u; u = u->outer) vec_push(k->e->arena, k->e->unfit, u->type);
  return true;
}

/* Interned before its constructors are converted, since they may mention it. */
static IrType *convert_data(Conv *k, const Subst *s, Type *t) {
  Elab *e = k->e;
  DataDecl *d = t->data;
  IrType **args = convert_all(k, s, t->args, t->n);
  IrType *v = ir_variant_type(e->w, d->name, d, args, t->n);
  if (v->ctors) return v;
  if (is_endless(k, d)) return e->t_unit;
  SAVE(e->arena, *v);
  v->ctors = NEW_ARRAY(e->arena, IrCtor, d->nctors + 1);
  v->nctors = d->nctors;
  v->shown_as = d->shown_as;
  Subst params = {d->params, args, d->nparams < t->n ? d->nparams : t->n, NULL};
  for (int i = 0; i < d->nctors; i++) {
    v->ctors[i].name = d->ctors[i]->name;
    v->ctors[i].cons = d->ctors[i]->cons;
    v->ctors[i].keys = d->ctors[i]->keys;
    v->ctors[i].payload = e->t_unit;
  }
  UnderWay here = {d, v, k->under_way};
  k->under_way = &here;
  for (int i = 0; i < d->nctors; i++)
    if (d->ctors[i]->arg) v->ctors[i].payload = convert(k, &params, d->ctors[i]->arg);
  k->under_way = here.outer;
  return v;
}

static IrType *convert_shallow(Conv *k, const Subst *s, Type *t) {
  World *w = k->e->w;
  switch (t->kind) {
  case TY_TUPLE: return ir_tuple_type(w, convert_all(k, s, t->args, t->n), NULL, t->n);
  case TY_RECORD: return ir_tuple_type(w, convert_all(k, s, t->args, t->n), t->names, t->n);
  case TY_ARRAY: return ir_array_type(w, convert(k, s, t->args[0]));
  case TY_FUN: {
    IrType *p = convert(k, s, t->args[0]);
    k->depth--; /* many parameters are no nesting */
    IrType *r = convert(k, s, t->args[1]);
    k->depth++;
    return ir_fun_type(w, p, r, convert(k, s, t->args[2]) == k->e->t_token);
  }
  default: return convert_data(k, s, t);
  }
}

static int rank_of(Type *t) {
  int rank = 0;
  for (t = type_repr(t); t->kind == TY_ARRAY; t = type_repr(t->args[0])) rank++;
  return rank;
}

static IrType *convert(Conv *k, const Subst *s, Type *t) {
  Elab *e = k->e;
  t = type_repr(t);
  switch (t->kind) {
  case TY_VAR: return variable_type(e, s, t);
  case TY_INT: return e->t_int;
  case TY_FLOAT: return e->t_float;
  case TY_BOOL: return e->t_bool;
  case TY_STRING: return e->t_string;
  case TY_EFFECT: return e->t_token;
  case TY_TUPLE:
  case TY_RECORD:
  case TY_ARRAY:
  case TY_FUN:
  case TY_DATA: break;
  default: return e->t_unit;
  }
  /* Only a type whose constructors mention it at ever larger types gets this deep. */
  if (k->depth > LIMIT_DATA_NESTING) {
    too_large(e, "a type here contains itself at ever larger types");
    return e->t_unit;
  }
  bool array = t->kind == TY_ARRAY;
  if (array && rank_of(t) > LIMIT_RANK) too_large(e, "an array has at most 16 dimensions");
  k->depth += !array;
  IrType *r = convert_shallow(k, s, t);
  k->depth -= !array;
  return r;
}

IrType *el_ir_type(Elab *e, const Subst *s, Type *t) {
  Conv k = {e, 0, NULL};
  return convert(&k, s, t);
}

IrType *elab_ir_type(Elab *e, Type *t) { return el_ir_type(e, NULL, t); }

IrType *el_type(Ctx *c, Type *t) { return el_ir_type(c->e, c->subst, t); }

bool el_effect(Ctx *c, Type *effect) { return el_type(c, effect) == c->e->t_token; }

IrType *el_result_type(IrType *fun, int n) {
  while (n-- > 0 && fun->kind == T_FUN) fun = fun->args[1];
  return fun;
}

bool el_arrow_effect(const IrType *fun, int n) {
  while (--n > 0 && fun->kind == T_FUN) fun = fun->args[1];
  return fun->kind == T_FUN && fun->effect;
}

int el_count_arrows(const IrType *fun) {
  int n = 0;
  for (; fun->kind == T_FUN; fun = fun->args[1]) n++;
  return n;
}

int el_field(const IrType *record, Sym name) {
  for (int i = 0; i < record->n; i++)
    if (record->names && record->names[i] == name) return i;
  return 0;
}

int el_cons_tag(const IrType *variant) {
  for (int i = 0; i < variant->nctors; i++)
    if (variant->ctors[i].cons) return i;
  return -1;
}

static unsigned leaf_bit(const IrType *t) {
  switch (t->kind) {
  case T_FLOAT: return LEAF_FLOAT;
  case T_INT: return LEAF_INT;
  case T_FUN: return LEAF_FUN;
  default: return 0;
  }
}

typedef Vec(IrType *) TypeList;

static void add_type(Elab *e, TypeList *todo, Map *seen, IrType *t) {
  if (map_get(seen, t)) return;
  map_put(seen, t, t);
  vec_push(e->arena, *todo, t);
}

/* But for keys. */
static void add_payload(Elab *e, TypeList *todo, Map *seen, const IrCtor *c) {
  const IrType *t = c->payload;
  if (!c->keys) add_type(e, todo, seen, c->payload);
  for (int i = 0; c->keys && t->kind == T_TUPLE && i < t->n; i++)
    if (!c->keys[i]) add_type(e, todo, seen, t->args[i]);
}

unsigned el_payload_leaves(Elab *e, const IrCtor *c) {
  const IrType *t = c->payload;
  unsigned bits = 0;
  if (!c->keys) return el_leaves(e, c->payload);
  for (int i = 0; t->kind == T_TUPLE && i < t->n; i++)
    if (!c->keys[i]) bits |= el_leaves(e, t->args[i]);
  return bits;
}

/* Variants may be recursive: each type below t is looked at once. What a function captures is no leaf. */
unsigned el_leaves(Elab *e, IrType *t) {
  void *known = map_get(&e->leaves, t);
  if (known) return (unsigned)((uintptr_t)known - 1);
  unsigned bits = 0;
  TypeList todo = {0};
  Map seen;
  map_init(&seen, e->arena);
  add_type(e, &todo, &seen, t);
  for (int k = 0; k < todo.len; k++) {
    IrType *x = todo.data[k];
    bits |= leaf_bit(x);
    if (x->kind == T_TUPLE || x->kind == T_ARRAY)
      for (int i = 0; i < x->n; i++) add_type(e, &todo, &seen, x->args[i]);
    if (x->kind == T_VARIANT)
      for (int i = 0; i < x->nctors; i++) add_payload(e, &todo, &seen, &x->ctors[i]);
  }
  map_put(&e->leaves, t, (void *)(uintptr_t)(bits + 1));
  return bits;
}
