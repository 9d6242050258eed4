/* SPDX-License-Identifier: MIT */
/* Operations on arrays: their sizes as polynomials, and their elements as far as these are known. An array that is made
 * counts its bytes here. */
#include "facts/cost_internal.h"
#include <string.h>

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */
int cost_slots(const IrType *t) {
  if (t->kind == T_UNIT || t->kind == T_TOKEN) return 0;
  if (t->kind != T_TUPLE) return 1;
  int n = 0;
  for (int k = 0; k < t->n; k++) n += cost_slots(t->args[k]);
  return n;
}

const Poly *cost_count_of(const CostStudy *s, const CostValue *v) {
  const Poly *p = poly_constant(s->a, 1);
  if (v->kind != COST_ARRAY) return NULL;
  for (int k = 0; k < v->rank; k++) {
    if (cost_exact(v->dims[k]) == 0) return poly_constant(s->a, 0); /* how long its rows would be doesn't matter */
    p = v->dims[k] ? poly_mul(s->a, p, v->dims[k]) : NULL;
  }
  return p;
}

/* An array that a node makes: its bytes are counted here. */
CostValue *cost_made(CostStudy *s, CostValue *v, double ops) {
  v->line = s->line;
  int slots = cost_slots(v->type);
  cost_add_many(s, ops * slots, 8.0 * slots, cost_count_of(s, v));
  return v;
}

static const Poly **dims_from(const CostStudy *s, CostValue **ops, int n) {
  const Poly **dims = NEW_ARRAY(s->a, const Poly *, n + 1);
  for (int k = 0; k < n; k++) dims[k] = cost_poly(s, ops[k]);
  return dims;
}

CostValue *cost_unknown_array(const CostStudy *s, const IrType *t) {
  return cost_array(s, t, NEW_ARRAY(s->a, const Poly *, ir_rank(t) + 1), NULL, 0, NULL);
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */
int64_t cost_exact(const Poly *p) {
  double c;
  return p && poly_is_constant(p, &c) && c >= 0 && c < 1e9 ? (int64_t)c : -1;
}

/* Base elements of one element, if exact; else -1. */
static int64_t stride_of(const CostValue *v, int from) {
  int64_t n = 1;
  for (int k = from; k < v->rank && n >= 0; k++) {
    int64_t d = cost_exact(v->dims[k]);
    n = d < 0 ? -1 : n * d;
  }
  return n;
}

/* Where the element at the indices begins among v's known ones; -1: unknown. */
static int64_t place_of(const CostValue *v, CostValue **is, int n) {
  int64_t at = 0;
  for (int k = 0; k < n; k++) {
    int64_t stride = stride_of(v, k + 1);
    if (is[k]->kind != COST_INT || !is[k]->exact || stride < 0) return -1;
    at += is[k]->i * stride;
  }
  return at >= 0 && v->parts && at + stride_of(v, n) <= v->n ? at : -1;
}

CostValue *cost_element(CostStudy *s, const IrType *t, CostValue *v, CostValue **is, int n) {
  if (v->kind != COST_ARRAY) return t->kind == T_ARRAY ? cost_unknown_array(s, t) : cost_unknown(s);
  int64_t at = place_of(v, is, n);
  if (t->kind != T_ARRAY || n >= v->rank) return at >= 0 ? v->parts[at] : v->elem;
  CostValue *row = NEW(s->a, CostValue);
  *row = *v;
  row->rank -= n;
  row->dims += n;
  row->parts = at >= 0 ? v->parts + at : NULL;
  row->n = at >= 0 ? (int)stride_of(v, n) : 0;
  return row;
}

CostValue *cost_slice(CostStudy *s, const Node *n, CostValue **ops) {
  if (ops[0]->kind != COST_ARRAY) return cost_unknown_array(s, n->type);
  CostValue *v = NEW(s->a, CostValue);
  *v = *ops[0];
  v->dims = NEW_ARRAY(s->a, const Poly *, v->rank + 1);
  memcpy(v->dims, ops[0]->dims, sizeof *v->dims * (size_t)v->rank);
  v->dims[0] = cost_poly(s, ops[2]);
  int64_t stride = stride_of(v, 1), count = cost_exact(v->dims[0]), at = place_of(ops[0], ops + 1, 1);
  bool known = at >= 0 && stride >= 0 && count >= 0 && at + count * stride <= ops[0]->n;
  v->parts = known ? ops[0]->parts + at : NULL;
  v->n = known ? (int)(count * stride) : 0;
  return v;
}

CostValue *cost_update(CostStudy *s, const Node *n, CostValue **ops) {
  CostValue *a = ops[0], *x = ops[n->nops - 1];
  if (x->kind == COST_ARRAY) cost_add_many(s, 2.0 * cost_slots(x->type), 0, cost_count_of(s, x));
  else cost_add_ops(s, cost_slots(n->ops[n->nops - 1]->type));
  if (a->kind != COST_ARRAY) return cost_unknown_array(s, n->type);
  CostValue *v = NEW(s->a, CostValue);
  bool changed = false;
  *v = *a;
  v->given = false;
  v->line = s->line;
  int64_t at = a->n <= LIMIT_COST_COPIES ? place_of(a, ops + 1, n->nops - 2) : -1;
  int count = x->kind == COST_ARRAY ? x->n : 1;
  v->parts = NULL, v->n = 0;
  v->elem = cost_join(s, a->elem, x->kind == COST_ARRAY ? x->elem : x, &changed);
  if (at < 0 || (x->kind == COST_ARRAY && !x->parts)) return v;
  v->n = a->n;
  v->parts = NEW_ARRAY(s->a, CostValue *, a->n + 1);
  memcpy(v->parts, a->parts, sizeof *v->parts * (size_t)a->n);
  for (int k = 0; k < count; k++) v->parts[at + k] = x->kind == COST_ARRAY ? x->parts[k] : x;
  return v;
}

/* An array of these elements, which are arrays of one shape themselves or base elements. */
CostValue *cost_array_of(CostStudy *s, const IrType *t, const Poly *length, CostValue **xs, int n, CostValue *any) {
  int rank = ir_rank(t);
  bool changed = false, known = xs != NULL;
  const Poly **dims = NEW_ARRAY(s->a, const Poly *, rank + 1);
  dims[0] = length;
  for (int k = 1; k < rank; k++) dims[k] = any->kind == COST_ARRAY ? any->dims[k - 1] : NULL;
  int each = rank > 1 ? any->n : 1, total = 0;
  for (int i = 0; i < n && known; i++)
    known = rank == 1 || (xs[i]->kind == COST_ARRAY && xs[i]->n == each && xs[i]->parts);
  known &= (int64_t)n * each <= LIMIT_COST_ELEMENTS;
  CostValue **parts = known ? NEW_ARRAY(s->a, CostValue *, n * each + 1) : NULL, *elem = rank > 1 ? any->elem : any;
  for (int i = 0; i < n && known; i++)
    for (int k = 0; k < each; k++) parts[total++] = rank > 1 ? xs[i]->parts[k] : xs[i];
  for (int i = 0; i < n && xs; i++) elem = cost_join(s, elem ? elem : xs[i], rank > 1 ? xs[i]->elem : xs[i], &changed);
  return cost_array(s, t, dims, parts, total, elem);
}

/* Slots of a constant array that are under way. What is neither a number nor a tuple is the next operand. */
typedef struct Constants {
  const int64_t *slots;
  CostValue **ops;
} Constants;

static CostValue *next_constant(CostStudy *s, Constants *c, const IrType *t) {
  double f;
  if (t->kind == T_TUPLE) {
    CostValue **parts = NEW_ARRAY(s->a, CostValue *, t->n + 1);
    for (int k = 0; k < t->n; k++) parts[k] = next_constant(s, c, t->args[k]);
    return cost_tuple(s, parts, t->n);
  }
  if (t->kind == T_UNIT) return cost_unknown(s);
  int64_t bits = *c->slots++;
  if (!ir_is_number(t)) return *c->ops++;
  memcpy(&f, &bits, sizeof f);
  return t->kind == T_FLOAT ? cost_real(s, f) : cost_int(s, bits);
}

CostValue *cost_constant_array(CostStudy *s, const Node *n, CostValue **ops) {
  const ArrayData *d = n->attr.data;
  int rank = ir_rank(n->type);
  IrType *base = ir_base(n->type);
  const Poly **dims = NEW_ARRAY(s->a, const Poly *, rank + 1);
  for (int k = 0; k < rank; k++) dims[k] = poly_constant(s->a, (double)d->dims[k]);
  int each = cost_slots(base);
  bool known = each > 0 && d->nslots <= LIMIT_COST_ELEMENTS;
  int count = known ? (int)d->nslots / each : 0;
  CostValue **xs = known ? NEW_ARRAY(s->a, CostValue *, count + 1) : NULL;
  Constants c = {d->slots, ops};
  for (int i = 0; i < count; i++) xs[i] = next_constant(s, &c, base);
  CostValue *v = cost_array(s, n->type, dims, xs, count, NULL);
  v->given = true;
  return v;
}

CostValue *cost_zero(CostStudy *s, const IrType *t) {
  CostValue **parts;
  switch (t->kind) {
  case T_INT:
  case T_BOOL: return cost_int(s, 0);
  case T_FLOAT: return cost_real(s, 0);
  case T_TUPLE:
    parts = NEW_ARRAY(s->a, CostValue *, t->n + 1);
    for (int k = 0; k < t->n; k++) parts[k] = cost_zero(s, t->args[k]);
    return cost_tuple(s, parts, t->n);
  default: {
    CostValue *none = cost_unknown(s);
    none->given = true;
    return none;
  }
  }
}

CostValue *cost_zeros(CostStudy *s, const Node *n, CostValue **ops) {
  CostValue *v = cost_array(s, n->type, dims_from(s, ops, n->nops), NULL, 0, cost_zero(s, ir_base(n->type)));
  int64_t count = stride_of(v, 0);
  if (s->concrete && count >= 0 && count <= LIMIT_COST_COPIES) {
    v->n = (int)count;
    v->parts = NEW_ARRAY(s->a, CostValue *, count + 1);
    for (int k = 0; k < v->n; k++) v->parts[k] = v->elem;
  }
  return cost_made(s, v, 0);
}

/* A bag becomes an array with the dimensions given; one that is dense is it already. */
CostValue *cost_fill(CostStudy *s, const Node *n, CostValue **ops) {
  if (ops[0]->kind == COST_ARRAY || n->type->kind != T_ARRAY) return ops[0];
  return cost_made(s, cost_array(s, n->type, dims_from(s, ops + 1, n->nops - 1), NULL, 0, NULL), 0);
}

CostValue *cost_fill_like(CostStudy *s, const Node *n, CostValue **ops) {
  if (ops[0]->kind == COST_ARRAY || n->type->kind != T_ARRAY) return ops[0];
  CostValue *like = ops[1]->kind == COST_ARRAY ? ops[1] : cost_unknown_array(s, n->type);
  return cost_made(s, cost_array(s, n->type, like->dims, NULL, 0, NULL), 0);
}

CostValue *cost_reshape(CostStudy *s, const Node *n, CostValue **ops) {
  CostValue *v =
      cost_array(s, n->type, dims_from(s, ops + 1, n->nops - 1), ops[0]->kind == COST_ARRAY ? ops[0]->parts : NULL,
                 ops[0]->n, ops[0]->kind == COST_ARRAY ? ops[0]->elem : NULL);
  v->line = ops[0]->line;
  v->given = ops[0]->given;
  return v;
}

CostValue *cost_length(CostStudy *s, const Node *n, const CostValue *v) {
  return v->kind == COST_ARRAY && n->attr.i < v->rank ? cost_number(s, v->dims[n->attr.i]) : cost_unknown(s);
}
