/* SPDX-License-Identifier: MIT */
/* Comparisons of structures of which enough is known, so that a search by keys is followed: as runtime/compare.c has
 * them, but for arrays and NaN, which are left open. */
#include "facts/cost_internal.h"
#include <string.h>

enum { OPEN = 2 }; /* it isn't known */

static int order(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int order_texts(const CostValue *a, const CostValue *b) {
  int c = memcmp(a->text, b->text, (size_t)(a->i < b->i ? a->i : b->i));
  return c ? order(c, 0) : order(a->i, b->i);
}

static int compare(const CostValue *a, const CostValue *b, const IrType *t, int depth);

static int compare_parts(const CostValue *a, const CostValue *b, const IrType *t, int depth) {
  int c = 0;
  for (int k = 0; k < t->n && c == 0; k++) c = compare(a->parts[k], b->parts[k], t->args[k], depth + 1);
  return c;
}

static int compare_choices(const CostValue *a, const CostValue *b, const IrType *t, int depth) {
  if (a->i != b->i || a->i < 0 || a->i >= t->nctors) return order(a->i, b->i);
  return compare(a->parts[0], b->parts[0], t->ctors[a->i].payload, depth + 1);
}

/* -1, 0, 1 or OPEN. */
static int compare(const CostValue *a, const CostValue *b, const IrType *t, int depth) {
  if (t->kind == T_UNIT) return 0;
  if (a->kind != b->kind || depth > LIMIT_CUT_DEPTH) return OPEN;
  switch (a->kind) {
  case COST_INT: return a->exact && b->exact ? order(a->i, b->i) : OPEN;
  case COST_REAL: return a->f == b->f || a->f < b->f || a->f > b->f ? (a->f > b->f) - (a->f < b->f) : OPEN;
  case COST_TEXT: return order_texts(a, b);
  case COST_TUPLE: return compare_parts(a, b, t, depth);
  case COST_CHOICE: return t->kind == T_VARIANT && t->ctors ? compare_choices(a, b, t, depth) : OPEN;
  default: return OPEN;
  }
}

/* Comparing keys without floats is no operation on floats, so nothing is left out. */
static bool is_plain_key(const IrType *t) {
  if (t->kind != T_TUPLE) return t->kind == T_INT || t->kind == T_BOOL || t->kind == T_STRING || t->kind == T_UNIT;
  for (int k = 0; k < t->n; k++)
    if (!is_plain_key(t->args[k])) return false;
  return true;
}

CostValue *cost_compare(CostStudy *s, const Node *n, CostValue **ops, bool equal) {
  const IrType *t = n->ops[0]->type;
  int c = compare(ops[0], ops[1], t, 0);
  if (c == OPEN || !is_plain_key(t)) cost_note(s, "comparing structures");
  if (c == OPEN) return cost_unknown(s);
  return cost_int(s, equal ? c == 0 : c);
}
