/* SPDX-License-Identifier: MIT */
/* What works on any structure, leaf by leaf: arithmetic on tuples, arrays, lists, …, and the primitives that optimisers
 * are written with (map_floats, inner, floats, with_floats).
 *
 * One walk over the *type* makes the code for all of them. A tuple becomes its parts, an array a loop, a variant a
 * switch on the constructor; a recursive variant becomes a recursive Func, one for each type, kind of walk and
 * place. The walk may thread state from leaf to leaf (a sum, a count, an array that is filled) and may build the
 * structure anew. Parts that hold no leaf of the wanted kind are not walked. */
#include "elab/elab_internal.h"
#include <string.h>

typedef struct Walk {
  StructKind kind;
  BinOp op;
  unsigned target;
  bool flipped, rebuilds;
  int nstate, naccs;
  IrType *const *state_types;
  Var extra; /* node NULL: none */
  Span at;
} Walk;
enum { MAX_STATE = 2 };

static Node *walk(Ctx *c, const Walk *w, Node *a, Node *b, Node **state);

/* ---- Leaves ------------------------------------------------------------------------ */

static Node *write_leaf(Ctx *c, Node *a, Node **state) {
  state[0] = ir_update(c->w, state[0], &state[1], 1, a);
  state[1] = ir_op2(c->w, OP_IADD, state[1], ir_int(c->w, 1));
  return a;
}

static Node *read_leaf(Ctx *c, Node *from, Node **state) {
  Node *x = ir_index(c->w, from, &state[0], 1);
  state[0] = ir_op2(c->w, OP_IADD, state[0], ir_int(c->w, 1));
  return x;
}

static Node *leaf(Ctx *c, const Walk *w, Node *a, Node *b, Node **state) {
  bool is_float = a->type->kind == T_FLOAT;
  Node *extra = w->extra.node ? el_read(c, &w->extra) : NULL;
  switch (w->kind) {
  case SK_BINARY: return el_scalar_op(c, w->op, a, b, w->at);
  case SK_SCALE: return w->flipped ? el_scalar_op(c, w->op, extra, a, w->at) : el_scalar_op(c, w->op, a, extra, w->at);
  case SK_NEGATE: return ir_op1(c->w, is_float ? OP_FNEG : OP_INEG, a);
  case SK_ZEROS: return is_float ? ir_float(c->w, 0) : ir_int(c->w, 0);
  case SK_MAP: return el_apply_value(c, extra, a, w->at);
  case SK_MAP2: return el_apply_value(c, el_apply_value(c, extra, a, w->at), b, w->at);
  case SK_INNER: state[0] = el_add_product(c, state[0], a, b, w->at); return a;
  case SK_COUNT: state[0] = ir_op2(c->w, OP_IADD, state[0], ir_int(c->w, 1)); return a;
  case SK_WRITE: return write_leaf(c, a, state);
  case SK_READ: return read_leaf(c, extra, state);
  }
  return a;
}

/* ---- Products and arrays -------------------------------------------------------------- */

static Node *walk_tuple(Ctx *c, const Walk *w, Node *a, Node *b, Node **state) {
  Node **parts = NEW_ARRAY(c->e->arena, Node *, a->type->n + 1);
  for (int i = 0; i < a->type->n; i++) parts[i] = walk(c, w, ir_get(c->w, a, i), b ? ir_get(c->w, b, i) : NULL, state);
  return w->rebuilds ? ir_tuple(c->w, a->type, parts) : a;
}

typedef struct Rows {
  const Walk *w;
  Var a, b;
} Rows;

static Node *row(Ctx *c, void *user, Node *i, Node **state) {
  Rows *r = user;
  Node *a = ir_index(c->w, el_read(c, &r->a), &i, 1);
  Node *b = r->b.node ? ir_index(c->w, el_read(c, &r->b), &i, 1) : NULL;
  return walk(c, r->w, a, b, state);
}

/* An array of numbers is known to be zero, or to be so many, without a look at its elements. */
static bool walk_block(Ctx *c, const Walk *w, Node *a, Node **state, Node **out) {
  int rank = ir_rank(a->type);
  IrKind base = ir_base(a->type)->kind;
  if (base != T_FLOAT && base != T_INT) return false;
  Node **dims = NEW_ARRAY(c->e->arena, Node *, rank), *n = ir_int(c->w, 1);
  for (int k = 0; k < rank; k++) {
    dims[k] = ir_len(c->w, a, k);
    n = ir_op2(c->w, OP_IMUL, n, dims[k]);
  }
  *out = a;
  if (w->kind == SK_ZEROS) *out = ir_zeros(c->w, a->type, dims, el_site(c, w->at));
  if (w->kind == SK_COUNT) state[0] = ir_op2(c->w, OP_IADD, state[0], n);
  return w->kind == SK_ZEROS || w->kind == SK_COUNT;
}

static Node *walk_array(Ctx *c, const Walk *w, Node *a, Node *b, Node **state) {
  Node *out;
  if (walk_block(c, w, a, state, &out)) return out;
  Node *n = ir_len(c->w, a, 0);
  if (b) n = ir_check(c->w, OP_CHECK_SIZE, n, ir_len(c->w, b, 0), NULL, el_site(c, w->at));
  Rows r = {w, el_var(c, a), b ? el_var(c, b) : (Var){0}};
  /* An accumulator can't be handed to an inner loop: that one starts from zero and its sum is added. */
  Node *inner[MAX_STATE] = {NULL, NULL};
  for (int k = 0; k < w->nstate; k++) inner[k] = w->kind == SK_INNER ? ir_float(c->w, 0) : state[k];
  LoopSpec s = {.n = n,
                .state = inner,
                .nstate = w->nstate,
                .naccs = el_sums_in_order(c) ? 0 : w->naccs,
                .elem = w->rebuilds ? a->type->args[0] : NULL,
                .sized = true,
                .body = row,
                .user = &r,
                .at = w->at};
  Node *built = el_loop(c, &s);
  for (int k = 0; k < w->nstate; k++)
    state[k] = w->kind == SK_INNER ? el_add_term(c, state[k], inner[k], w->at) : inner[k];
  return w->rebuilds ? built : a;
}

/* ---- Variants ----------------------------------------------------------------------------- */

typedef Vec(IrType *) TypeList;

static void add_parts(Elab *e, TypeList *l, const IrType *t) {
  if (t->kind == T_TUPLE || t->kind == T_ARRAY)
    for (int i = 0; i < t->n; i++) vec_push(e->arena, *l, t->args[i]);
  if (t->kind == T_VARIANT)
    for (int i = 0; i < t->nctors; i++) vec_push(e->arena, *l, t->ctors[i].payload);
}

static bool contains_itself(Elab *e, IrType *t) {
  TypeList todo = {0};
  Map seen;
  map_init(&seen, e->arena);
  add_parts(e, &todo, t);
  while (todo.len) {
    IrType *x = todo.data[--todo.len];
    if (x == t) return true;
    if (map_get(&seen, x)) continue;
    map_put(&seen, x, x);
    add_parts(e, &todo, x);
  }
  return false;
}

/* The structure (if it is built) and the state, as one value. */
static Node *pack(Ctx *c, const Walk *w, Node *built, Node **state) {
  Node *parts[MAX_STATE + 1];
  IrType *types[MAX_STATE + 1];
  int n = 0;
  if (w->rebuilds) parts[n++] = built;
  for (int k = 0; k < w->nstate; k++) parts[n++] = state[k];
  for (int k = 0; k < n; k++) types[k] = parts[k]->type;
  return ir_tuple(c->w, ir_tuple_type(c->w, types, NULL, n), parts);
}

static IrType *pack_type(Ctx *c, const Walk *w, IrType *t) {
  IrType *types[MAX_STATE + 1];
  int n = 0;
  if (w->rebuilds) types[n++] = t;
  for (int k = 0; k < w->nstate; k++) types[n++] = w->state_types[k];
  return ir_tuple_type(c->w, types, NULL, n);
}

static Node *unpack(Ctx *c, const Walk *w, Node *all, Node *a, Node **state) {
  for (int k = 0; k < w->nstate; k++) state[k] = ir_get(c->w, all, k + w->rebuilds);
  return w->rebuilds ? ir_get(c->w, all, 0) : a;
}

typedef struct Cells {
  const Walk *w;
  Var a, b;
  Var state[MAX_STATE];
  int tag;
} Cells;

/* Keys stay as they are. */
static Node *walk_payload(Ctx *c, const Walk *w, const IrCtor *k, Node *a, Node *b, Node **state) {
  if (!k->keys) return walk(c, w, a, b, state);
  Node **parts = NEW_ARRAY(c->e->arena, Node *, a->type->n + 1);
  for (int i = 0; b && i < a->type->n; i++)
    if (k->keys[i] == KEY) {
      Node *same = ir_same_key(c->w, ir_get(c->w, a, i), ir_get(c->w, b, i), el_site(c, w->at));
      a = el_after(c, a, same);
      b = el_after(c, b, same);
    }
  for (int i = 0; i < a->type->n; i++) {
    Node *x = ir_get(c->w, a, i), *y = b ? ir_get(c->w, b, i) : NULL;
    parts[i] = k->keys[i] ? x : walk(c, w, x, y, state);
  }
  return w->rebuilds ? ir_tuple(c->w, a->type, parts) : a;
}

static Node *constructor_arm(Ctx *c, Cells *k) {
  Node *a = el_read(c, &k->a), *state[MAX_STATE];
  for (int i = 0; i < k->w->nstate; i++) state[i] = el_read(c, &k->state[i]);
  if (!(el_payload_leaves(c->e, &a->type->ctors[k->tag]) & k->w->target)) return pack(c, k->w, a, state);
  Node *b = k->b.node ? ir_uninj(c->w, el_read(c, &k->b), k->tag) : NULL;
  Node *x = walk_payload(c, k->w, &a->type->ctors[k->tag], ir_uninj(c->w, a, k->tag), b, state);
  return pack(c, k->w, k->w->rebuilds ? ir_inj(c->w, a->type, k->tag, x) : a, state);
}

static Node *constructor_name(Ctx *c, Node *x) {
  IrType *t = x->type;
  Join j;
  join_open(c, &j, t->nctors);
  for (int i = 0; i < t->nctors; i++) {
    join_arm(c, &j, i);
    join_end(c, &j, ir_string(c->w, t->ctors[i].name));
  }
  return join_close(c, &j, ir_tag(c->w, x), c->e->t_string, NULL, 0);
}

static Node *different_shapes(Ctx *c, Cells *k) {
  Node *a = el_read(c, &k->a), *parts[4];
  IrType *type = pack_type(c, k->w, a->type);
  Node *key = ir_missing_key(c->w, a, k->tag, el_read(c, &k->b));
  if (key) return ir_fail(c->w, FAIL_SHAPE, type, key, el_site(c, k->w->at));
  parts[0] = ir_string(c->w, sym_of(c->e->syms, "different shapes: "));
  parts[1] = ir_string(c->w, a->type->ctors[k->tag].name);
  parts[2] = ir_string(c->w, sym_of(c->e->syms, " and "));
  parts[3] = constructor_name(c, el_read(c, &k->b));
  Node *all = ir_array(c->w, c->e->t_string, parts, 4, 0);
  Node *message = el_rt(c, "concat_strings", c->e->t_string, NULL, &all, 1, k->w->at);
  return ir_fail(c->w, FAIL_SHAPE, type, message, el_site(c, k->w->at));
}

static Node *same_constructor(Ctx *c, void *user, bool same) {
  return same ? constructor_arm(c, user) : different_shapes(c, user);
}

static Node *walk_cells(Ctx *c, Cells *k) {
  Node *a = el_read(c, &k->a);
  IrType *t = a->type, *packed = pack_type(c, k->w, t);
  Join j;
  join_open(c, &j, t->nctors);
  for (k->tag = 0; k->tag < t->nctors; k->tag++) {
    join_arm(c, &j, k->tag);
    Node *x;
    if (k->b.node && t->nctors > 1) {
      Node *tag = ir_tag(c->w, el_read(c, &k->b));
      x = el_if(c, ir_op2(c->w, OP_IEQ, tag, ir_int(c->w, k->tag)), same_constructor, k, packed);
    } else {
      x = constructor_arm(c, k);
    }
    join_end(c, &j, x);
  }
  return join_close(c, &j, ir_tag(c->w, a), packed, NULL, 0);
}

/* Equal keys: the same function will do. */
static const void *walk_key(Elab *e, const Walk *w) {
  char text[120];
  int n = snprintf(text, sizeof text, "%d %d %u %d %d %u %u", (int)w->kind, (int)w->op, w->target, (int)w->flipped,
                   w->extra.node ? (int)w->extra.node->type->id : -1, w->at.source, w->at.start);
  return sym_intern(e->syms, text, (size_t)n);
}

static void define_walk(Ctx *outer, const Walk *w, Func *f, bool has_b) {
  Ctx c;
  el_init_ctx(&c, outer->e, outer, w->at, outer->function, NULL);
  Walk inner = *w;
  Cells k = {.w = &inner};
  int n = 0;
  Node **p = NEW_ARRAY(c.e->arena, Node *, f->nparams);
  for (int i = 0; i < f->nparams; i++) p[i] = region_param(c.region, f->params[i]);
  k.a = el_var(&c, p[n++]);
  if (has_b) k.b = el_var(&c, p[n++]);
  if (w->extra.node) inner.extra = el_var(&c, p[n++]);
  for (int i = 0; i < w->nstate; i++) k.state[i] = el_var(&c, p[n++]);
  ir_func_finish(c.w, f, walk_cells(&c, &k));
}

static Func *walk_func(Ctx *c, const Walk *w, IrType *t, bool has_b) {
  Elab *e = c->e;
  const void *key = walk_key(e, w);
  Site site = c->w->traps ? el_site(c, w->at) : 0;
  for (int i = 0; i < e->struct_funcs.len; i++) {
    StructFunc *s = &e->struct_funcs.data[i];
    if (s->type == t && s->key == key && s->traps == c->w->traps && s->site == site) return s->func;
  }
  IrType *params[3 + MAX_STATE];
  int n = 0;
  params[n++] = t;
  if (has_b) params[n++] = t;
  if (w->extra.node) params[n++] = w->extra.node->type;
  for (int i = 0; i < w->nstate; i++) params[n++] = w->state_types[i];
  Func *f = ir_func(c->w, t->name, params, n, pack_type(c, w, t));
  f->recursive = true;
  f->span = w->at;
  StructFunc s = {t, key, f, c->w->traps, site};
  vec_push(e->arena, e->struct_funcs, s);
  define_walk(c, w, f, has_b);
  return f;
}

static Node *walk_variant(Ctx *c, const Walk *w, Node *a, Node *b, Node **state) {
  Node *inner[MAX_STATE] = {NULL, NULL}, *all;
  for (int k = 0; k < w->nstate; k++) inner[k] = w->kind == SK_INNER ? ir_float(c->w, 0) : state[k];
  if (contains_itself(c->e, a->type)) {
    Func *f = walk_func(c, w, a->type, b != NULL);
    Node *args[3 + MAX_STATE];
    int n = 0;
    args[n++] = a;
    if (b) args[n++] = b;
    if (w->extra.node) args[n++] = el_read(c, &w->extra);
    for (int k = 0; k < w->nstate; k++) args[n++] = inner[k];
    all = ir_call(c->w, f, args, el_site(c, w->at));
  } else {
    Cells k = {.w = w, .a = el_var(c, a), .b = b ? el_var(c, b) : (Var){0}};
    for (int i = 0; i < w->nstate; i++) k.state[i] = el_var(c, inner[i]);
    all = walk_cells(c, &k);
  }
  Node *built = unpack(c, w, all, a, inner);
  for (int k = 0; k < w->nstate; k++)
    state[k] = w->kind == SK_INNER ? el_add_term(c, state[k], inner[k], w->at) : inner[k];
  return built;
}

static Node *walk(Ctx *c, const Walk *w, Node *a, Node *b, Node **state) {
  if (!(el_leaves(c->e, a->type) & w->target)) return a;
  switch (a->type->kind) {
  case T_TUPLE: return walk_tuple(c, w, a, b, state);
  case T_ARRAY: return walk_array(c, w, a, b, state);
  case T_VARIANT: return walk_variant(c, w, a, b, state);
  default: return leaf(c, w, a, b, state);
  }
}

/* ---- The operations ----------------------------------------------------------------------------- */

Node *el_leafwise(Ctx *c, StructKind kind, BinOp op, unsigned target, Node *a, Node *b, Node *extra, bool flipped,
                  Span at) {
  Walk w = {.kind = kind, .op = op, .target = target, .flipped = flipped, .rebuilds = true, .at = at};
  if (extra) w.extra = el_var(c, extra);
  return walk(c, &w, a, b, NULL);
}

/* The sum of products of the floats of two structures of one type. */
Node *el_inner(Ctx *c, Node *a, Node *b, Span at) {
  IrType *types[1] = {c->e->t_float};
  Walk w = {.kind = SK_INNER, .target = LEAF_FLOAT, .nstate = 1, .naccs = 1, .state_types = types, .at = at};
  Node *sum = ir_float(c->w, 0);
  walk(c, &w, a, b, &sum);
  return sum;
}

static Node *count_floats(Ctx *c, Node *a, Span at) {
  IrType *types[1] = {c->e->t_int};
  Walk w = {.kind = SK_COUNT, .target = LEAF_FLOAT, .nstate = 1, .state_types = types, .at = at};
  Node *n = ir_int(c->w, 0);
  walk(c, &w, a, NULL, &n);
  return n;
}

static bool is_float_block(IrType *t) { return t->kind == T_ARRAY && ir_base(t)->kind == T_FLOAT; }

/* All floats in order, as an array. */
Node *el_floats(Ctx *c, Node *a, Span at) {
  IrType *array = ir_array_type(c->w, c->e->t_float);
  if (a->type == array) return a;
  Node *n = count_floats(c, a, at);
  if (is_float_block(a->type)) return ir_reshape(c->w, array, a, &n, el_site(c, at));
  IrType *types[2] = {array, c->e->t_int};
  Walk w = {.kind = SK_WRITE, .target = LEAF_FLOAT, .nstate = 2, .state_types = types, .at = at};
  Node *state[MAX_STATE] = {ir_zeros(c->w, array, &n, el_site(c, at)), ir_int(c->w, 0)};
  walk(c, &w, a, NULL, state);
  return state[0];
}

/* The structure with its floats replaced by those of the array, of which there must be as many. */
Node *el_with_floats(Ctx *c, Node *a, Node *floats, Span at) {
  Node *n = ir_check(c->w, OP_CHECK_SIZE, ir_len(c->w, floats, 0), count_floats(c, a, at), NULL, el_site(c, at));
  floats = el_after(c, floats, n);
  if (a->type == floats->type) return floats;
  if (is_float_block(a->type)) {
    Node **dims = NEW_ARRAY(c->e->arena, Node *, ir_rank(a->type));
    for (int k = 0; k < ir_rank(a->type); k++) dims[k] = ir_len(c->w, a, k);
    return ir_reshape(c->w, a->type, floats, dims, el_site(c, at));
  }
  IrType *types[1] = {c->e->t_int};
  Walk w = {.kind = SK_READ, .target = LEAF_FLOAT, .rebuilds = true, .nstate = 1, .state_types = types, .at = at};
  w.extra = el_var(c, floats);
  Node *next = ir_int(c->w, 0);
  return walk(c, &w, a, NULL, &next);
}
