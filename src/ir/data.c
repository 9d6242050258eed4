/* SPDX-License-Identifier: MIT */
/* Constant arrays: one leaf, however many elements and dimensions.
 *
 * An array of constants, whose rows have one length, is a node DATA: the scalars of all its elements in row-major
 * order, tuples taken apart, in one block. What isn't a number (strings, variants, arrays in tuples) are its
 * operands, which are constants too, in the same order; their places in the block are zero. Parts of it share its
 * block. Making it and reading it at known indices is all that is done here. To all else it is a constant like a
 * number: it moves into nested graphs, costs nothing and has no derivative. */
#include "ir/ir_internal.h"
#include <string.h>

/* How many scalars an element of type t has; into *operands, how many of them are no numbers. */
static int64_t scalars(const IrType *t, int64_t *operands) {
  if (t->kind == T_UNIT) return 0;
  if (t->kind != T_TUPLE) {
    *operands += !ir_is_number(t);
    return 1;
  }
  int64_t n = 0;
  for (int k = 0; k < t->n; k++) n += scalars(t->args[k], operands);
  return n;
}

static int64_t bits_of(const Node *x) {
  if (x->op != OP_FLOAT) return x->attr.i;
  int64_t bits;
  memcpy(&bits, &x->attr.f, sizeof bits);
  return bits;
}

/* ---- Making ---------------------------------------------------------------------- */
typedef struct Filler {
  int64_t *slots;
  Node **ops;
} Filler;

/* Appends the scalars of constant x. */
static void fill(Filler *f, Node *x) {
  if (x->op == OP_TUPLE) {
    for (int k = 0; k < x->nops; k++) fill(f, x->ops[k]);
  } else if (ir_is_number(x->type)) {
    *f->slots++ = bits_of(x);
  } else if (x->type->kind != T_UNIT) {
    *f->slots++ = 0;
    *f->ops++ = x;
  }
}

static Node *intern(World *w, IrType *t, ArrayData *d, Node **ops, int64_t nops) {
  int rank = ir_rank(t);
  d->hash = hash_bytes(d->dims, sizeof *d->dims * (size_t)rank, 7);
  d->hash = hash_bytes(d->slots, sizeof *d->slots * (size_t)d->nslots, d->hash);
  return ir_intern(w, &(Node){.op = OP_DATA, .type = t, .ops = ops, .nops = (int)nops, .attr.data = d});
}

Node *ir_constant_array(World *w, IrType *array, int64_t *dims, int64_t *slots, int64_t nslots, Node **ops, int64_t n) {
  ArrayData *d = NEW(w->arena, ArrayData);
  *d = (ArrayData){.dims = dims, .slots = slots, .nslots = nslots};
  return intern(w, array, d, ops, n);
}

static Node *data_of_elements(World *w, IrType *t, Node **xs, int n) {
  int64_t operands = 0, width = scalars(t->args[0], &operands);
  ArrayData *d = NEW(w->arena, ArrayData);
  Filler f = {NEW_ARRAY(w->arena, int64_t, n * width + 1), NEW_ARRAY(w->arena, Node *, n * operands + 1)};
  Node **ops = f.ops;
  d->dims = NEW_ARRAY(w->arena, int64_t, ir_rank(t));
  d->dims[0] = n;
  d->slots = f.slots;
  d->nslots = n * width;
  for (int i = 0; i < n; i++) fill(&f, xs[i]);
  return intern(w, t, d, ops, n * operands);
}

static Node *data_of_rows(World *w, IrType *t, Node **rows, int n) {
  int rank = ir_rank(t), nops = 0;
  const ArrayData *first = rows[0]->attr.data;
  int64_t *slots = NEW_ARRAY(w->arena, int64_t, n * first->nslots + 1);
  Node **ops = NEW_ARRAY(w->arena, Node *, (int64_t)n * rows[0]->nops + 1);
  ArrayData *d = NEW(w->arena, ArrayData);
  d->dims = NEW_ARRAY(w->arena, int64_t, rank);
  d->dims[0] = n;
  memcpy(d->dims + 1, first->dims, sizeof *d->dims * (size_t)(rank - 1));
  d->slots = slots;
  for (int i = 0; i < n; i++) {
    const Node *row = rows[i];
    if (first->nslots) memcpy(slots + d->nslots, row->attr.data->slots, sizeof *slots * (size_t)first->nslots);
    if (row->nops) memcpy(ops + nops, row->ops, sizeof *ops * (size_t)row->nops);
    d->nslots += first->nslots;
    nops += row->nops;
  }
  return intern(w, t, d, ops, nops);
}

static bool same_dims(const Node *a, const Node *b) {
  return memcmp(a->attr.data->dims, b->attr.data->dims, sizeof(int64_t) * (size_t)ir_rank(a->type)) == 0;
}

/*  array 1.0 2.0 = data [1.0, 2.0]    array (data [1.0]) (data [2.0]) = data [[1.0], [2.0]] */
Node *ir_data(World *w, IrType *array, Node **xs, int n) {
  bool rows = array->args[0]->kind == T_ARRAY;
  for (int i = 0; i < n; i++) {
    if (xs[i]->flags & NODE_VARIES) return NULL;
    if (rows && !same_dims(xs[0], xs[i])) return NULL;
  }
  return rows && n ? data_of_rows(w, array, xs, n) : data_of_elements(w, array, xs, n);
}

/* ---- Reading ---------------------------------------------------------------------- */
typedef struct Reader {
  const int64_t *slots;
  Node **ops;
} Reader;

static Node *element(World *w, IrType *t, Reader *r) {
  if (t->kind == T_UNIT) return ir_unit(w);
  if (t->kind == T_TUPLE) {
    Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
    for (int k = 0; k < t->n; k++) xs[k] = element(w, t->args[k], r);
    return ir_tuple(w, t, xs);
  }
  int64_t bits = *r->slots++;
  double f;
  memcpy(&f, &bits, sizeof f);
  switch (t->kind) {
  case T_INT: return ir_int(w, bits);
  case T_BOOL: return ir_bool(w, bits != 0);
  case T_FLOAT: return ir_float(w, f);
  default: return *r->ops++;
  }
}

/*  index (data [[1, 2], [3, 4]]) 1 = data [3, 4]    index (data [[1, 2], [3, 4]]) 1 0 = 3 */
Node *ir_data_at(World *w, const Node *data, Node **is, int n) {
  const ArrayData *d = data->attr.data;
  IrType *t = data->type;
  int64_t size = d->nslots, nops = data->nops, slot = 0, op = 0;
  for (int k = 0; k < n; k++, t = t->args[0]) {
    if (is[k]->op != OP_INT || is[k]->attr.i < 0 || is[k]->attr.i >= d->dims[k]) return NULL;
    size /= d->dims[k];
    nops /= d->dims[k];
    slot += is[k]->attr.i * size;
    op += is[k]->attr.i * nops;
  }
  Reader r = {d->slots + slot, data->ops + op};
  if (t->kind != T_ARRAY) return element(w, t, &r);
  ArrayData *part = NEW(w->arena, ArrayData);
  *part = (ArrayData){.dims = d->dims + n, .slots = r.slots, .nslots = size};
  return intern(w, t, part, r.ops, nops);
}

/* ---- For the verifier and the text form ---------------------------------------------------- */
const char *ir_data_wrong(const Node *n) {
  const ArrayData *d = n->attr.data;
  int64_t count = 1, operands = 0;
  int64_t width = scalars(ir_base(n->type), &operands);
  for (int k = 0; k < ir_rank(n->type); k++) count *= d->dims[k];
  if (d->nslots != count * width) return "as many scalars as elements need are expected";
  if (n->nops != count * operands) return "as many operands as elements need are expected";
  for (int k = 0; k < n->nops; k++)
    if (n->ops[k]->flags & NODE_VARIES) return "an element isn't constant";
  return NULL;
}

static void add_kinds(const IrType *t, IrKind *kinds, int *n) {
  for (int k = 0; t->kind == T_TUPLE && k < t->n; k++) add_kinds(t->args[k], kinds, n);
  if (t->kind != T_TUPLE && t->kind != T_UNIT) kinds[(*n)++] = ir_is_number(t) ? t->kind : T_VARIANT;
}

IrKind *ir_data_kinds(World *w, IrType *array, int *n) {
  int64_t operands = 0;
  IrKind *kinds = NEW_ARRAY(w->arena, IrKind, scalars(ir_base(array), &operands) + 1);
  *n = 0;
  add_kinds(ir_base(array), kinds, n);
  return kinds;
}

Node *ir_data_of(World *w, IrType *array, ArrayData d, Node **ops, int nops) {
  ArrayData *copy = NEW(w->arena, ArrayData);
  *copy = d;
  return intern(w, array, copy, ops, nops);
}
