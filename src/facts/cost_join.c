/* SPDX-License-Identifier: MIT */
/* What is known of a value where two ways meet, and where an index goes out of scope. */
#include "facts/cost_internal.h"
#include <string.h>

CostValue *cost_join(CostStudy *s, CostValue *a, CostValue *b, bool *changed);

static CostValue *join_parts(CostStudy *s, CostValue *a, const CostValue *b, bool *changed) {
  CostValue *v = NEW(s->a, CostValue);
  *v = *a;
  v->parts = NEW_ARRAY(s->a, CostValue *, a->n + 1);
  for (int k = 0; k < a->n; k++) v->parts[k] = cost_join(s, a->parts[k], b->parts[k], changed);
  return v;
}

static CostValue *join_arrays(CostStudy *s, CostValue *a, const CostValue *b, bool *changed) {
  if (a->rank != b->rank) return cost_unknown(s);
  CostValue *v = NEW(s->a, CostValue);
  *v = *a;
  v->dims = NEW_ARRAY(s->a, const Poly *, a->rank + 1);
  for (int k = 0; k < a->rank; k++) {
    v->dims[k] = a->dims[k] && b->dims[k] && poly_same(a->dims[k], b->dims[k]) ? a->dims[k] : NULL;
    *changed |= a->dims[k] && !v->dims[k];
  }
  *changed |= a->n > 0;
  v->n = 0, v->parts = NULL;
  v->given &= b->given;
  v->elem = cost_join(s, a->elem, b->elem, changed);
  return v;
}

/* What is known of both; *changed where that is less than what is known of a. */
CostValue *cost_join(CostStudy *s, CostValue *a, CostValue *b, bool *changed) {
  if (a == b || a->kind == COST_UNKNOWN) return a;
  if (a->kind == b->kind) switch (a->kind) {
    case COST_INT:
      if (poly_same(cost_poly(s, a), cost_poly(s, b))) return a;
      break;
    case COST_REAL:
      if (a->f == b->f) return a;
      break;
    case COST_TEXT:
      if (a->i == b->i && memcmp(a->text, b->text, (size_t)a->i) == 0) return a;
      break;
    case COST_TUPLE:
      if (a->n == b->n) return join_parts(s, a, b, changed);
      break;
    case COST_ARRAY: return join_arrays(s, a, b, changed);
    case COST_CLOSURE:
      if (a->node == b->node) return join_parts(s, a, b, changed);
      break;
    case COST_CHOICE:
      if (a->i == b->i) return join_parts(s, a, b, changed);
      break;
    case COST_UNKNOWN: break;
    }
  *changed = true;
  return cost_unknown(s);
}

/* v where the symbol is out of scope: what depends on it isn't known. */
CostValue *cost_without(CostStudy *s, CostValue *v, int symbol) {
  if (v->kind == COST_INT && !v->exact && poly_has(v->poly, symbol)) return cost_unknown(s);
  if (v->kind != COST_TUPLE && v->kind != COST_ARRAY) return v;
  CostValue *out = NEW(s->a, CostValue);
  *out = *v;
  if (v->kind == COST_TUPLE) {
    out->parts = NEW_ARRAY(s->a, CostValue *, v->n + 1);
    for (int k = 0; k < v->n; k++) out->parts[k] = cost_without(s, v->parts[k], symbol);
    return out;
  }
  out->dims = NEW_ARRAY(s->a, const Poly *, v->rank + 1);
  for (int k = 0; k < v->rank; k++) out->dims[k] = poly_has(v->dims[k], symbol) ? NULL : v->dims[k];
  return out;
}
