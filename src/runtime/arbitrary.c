/* SPDX-License-Identifier: MIT */
/* Values of any type, chosen by a number: for what `atled test` tries rewrite rules at.
 *
 * Equal numbers give equal values. Most dimensions of the arrays of one value are the same small number, so that
 * products and sums of its arrays mostly fit. Arrays of arrays have elements, for of those
 * without any not all dimensions are known. Ints are small, floats lie between -2 and 2, some of them are 0 or 1.
 * Constructors with an argument get rarer with depth, so that trees end. What was made before a failure hangs in the
 * result, whose other pointers are NULL. */
#include "runtime/runtime_internal.h"
#include "support/support.h"

enum { SIZES = 4, ENDS = 12 };

typedef struct Maker {
  Rt *rt;
  uint64_t state;
  int64_t size; /* of most dimensions */
  uint32_t site;
  int depth;
  int64_t turns;
} Maker;

/* SplitMix64: Steele, Lea and Flood, OOPSLA 2014. */
static uint64_t next(Maker *m) {
  uint64_t z = m->state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* A number below n > 0. */
static int64_t below(Maker *m, int64_t n) { return (int64_t)(next(m) % (uint64_t)n); }

static double some_float(Maker *m) {
  if (below(m, 8) == 0) return (double)below(m, 2);
  return 4 * ((double)(next(m) >> 11) * 0x1p-53) - 2;
}

static int64_t some_size(Maker *m) { return below(m, 4) ? m->size : below(m, SIZES); }

static Status some_string(Maker *m, Slot *out) {
  static const char *const parts[] = {"a", "b", "A", " ", "1", "é"};
  char text[2 * SIZES];
  size_t n = 0;
  for (int64_t k = some_size(m); k > 0; k--)
    for (const char *p = parts[below(m, 6)]; *p; p++) text[n++] = *p;
  out->p = rt_new_string(m->rt, text, n);
  return out->p ? 0 : 1;
}

static Status some_value(Maker *m, const Desc *d, Slot *out);

static Status some_tuple(Maker *m, const Desc *d, Slot *out) {
  Status status = 0;
  for (int k = 0; k < d->n && !status; out += d->args[k++]->nslots) status = some_value(m, d->args[k], out);
  return status;
}

static Status some_array(Maker *m, const Desc *d, Slot *out) {
  int64_t dims[LIMIT_RANK], n = 1;
  for (int k = 0; k < d->rank; k++) {
    dims[k] = some_size(m);
    if (d->rank > 1 && dims[k] == 0) dims[k] = 1;
    n *= dims[k];
  }
  ArrayObj *a = rt_new_array(m->rt, d, dims, true);
  if (!a) return 1;
  out->p = &a->h;
  Status status = 0;
  for (int64_t k = 0; k < n && !status; k++) status = some_value(m, d->args[0], &a->data[k * d->args[0]->nslots]);
  return status;
}

/* The constructor: deep inside one without an argument, if there is any. */
static int64_t some_tag(Maker *m, const Desc *d) {
  int64_t tag = below(m, d->n);
  bool ends = below(m, ENDS) < m->depth;
  for (int k = 0; k < d->n && ends && d->args[tag]->kind != D_UNIT; k++) tag = (tag + 1) % d->n;
  return tag;
}

static Status some_variant(Maker *m, const Desc *d, Slot *out) {
  int64_t tag = some_tag(m, d);
  out->p = rt_immediate(tag);
  if (d->args[tag]->kind == D_UNIT) return 0;
  BoxObj *box = rt_new_box(m->rt, d, tag);
  if (!box) return 1;
  for (int k = 0; k < d->args[tag]->nslots; k++) box->fields[k].p = NULL;
  out->p = &box->h;
  return some_value(m, d->args[tag], box->fields);
}

static Status some_part(Maker *m, const Desc *d, Slot *out) {
  switch (d->kind) {
  case D_INT: out->i = below(m, 8) - 2; return 0;
  case D_FLOAT: out->f = some_float(m); return 0;
  case D_BOOL: out->i = below(m, 2); return 0;
  case D_UNIT: return 0;
  case D_STRING: return some_string(m, out);
  case D_TUPLE: return some_tuple(m, d, out);
  case D_ARRAY: return some_array(m, d, out);
  case D_VARIANT:
    if (d->n && !d->shown_as) return some_variant(m, d, out);
    break;
  default: break;
  }
  return rt_error(m->rt, ERR_FAIL, m->site, "no values of the type %s can be tried", d->name ? d->name : "function");
}

static Status some_value(Maker *m, const Desc *d, Slot *out) {
  if (rt_look_at(m->rt, ++m->turns)) return 1;
  if (m->depth > LIMIT_ARBITRARY_DEPTH) return rt_error(m->rt, ERR_FAIL, m->site, "values of this type don't end");
  m->depth++;
  Status status = some_part(m, d, out);
  m->depth--;
  return status;
}

/* args: the number. */
PRIM(prim_arbitrary) {
  Maker m = {.rt = rt, .state = (uint64_t)args[0].i, .size = args[0].i & (SIZES - 1), .site = site};
  for (int k = 0; k < type->nslots; k++) res[k].p = NULL;
  return some_value(&m, type, res);
}
