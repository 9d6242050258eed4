/* SPDX-License-Identifier: MIT */
/* Values whose cost is asked for: made, named by sizes, joined where two ways meet. */
#include "facts/cost.h"
#include <string.h>

static CostValue *new_value(const CostStudy *s, CostValue v) {
  CostValue *out = NEW(s->a, CostValue);
  *out = v;
  return out;
}

CostValue *cost_unknown(const CostStudy *s) { return new_value(s, (CostValue){.kind = COST_UNKNOWN}); }
CostValue *cost_int(const CostStudy *s, int64_t i) {
  return new_value(s, (CostValue){.kind = COST_INT, .exact = true, .i = i});
}
CostValue *cost_real(const CostStudy *s, double f) { return new_value(s, (CostValue){.kind = COST_REAL, .f = f}); }
CostValue *cost_text(const CostStudy *s, const char *text, int64_t length) {
  return new_value(s, (CostValue){.kind = COST_TEXT, .text = text, .i = length});
}
CostValue *cost_tuple(const CostStudy *s, CostValue **parts, int n) {
  return new_value(s, (CostValue){.kind = COST_TUPLE, .n = n, .parts = parts});
}

CostValue *cost_choice(const CostStudy *s, const IrType *t, int tag, CostValue *payload) {
  CostValue **parts = NEW_ARRAY(s->a, CostValue *, 1);
  parts[0] = payload;
  return new_value(s, (CostValue){.kind = COST_CHOICE, .type = t, .i = tag, .n = 1, .parts = parts});
}

CostValue *cost_array(const CostStudy *s, const IrType *t, const Poly **dims, CostValue **elements, int count,
                      CostValue *elem) {
  int rank = ir_rank(t);
  return new_value(s, (CostValue){.kind = COST_ARRAY,
                                  .type = ir_base((IrType *)(uintptr_t)t),
                                  .rank = rank,
                                  .dims = dims,
                                  .n = elements ? count : 0,
                                  .parts = elements,
                                  .elem = elem ? elem : cost_unknown(s)});
}

/* ---- Symbolic arguments ------------------------------------------------------------------------------------------ */
/* n, m, k, then n4, n5, …; a size is looked up by what it means. */
static const Poly *size(CostStudy *s, const char *means) {
  static const char *const names[] = {"n", "m", "k"};
  for (int k = 0; k < s->nsizes; k++)
    if (strcmp(s->symbols[k].means, means) == 0) return poly_symbol(s->a, k);
  if (s->nsizes == COST_SIZES) return NULL;
  int at = s->nsizes++;
  s->symbols[at].name = at < 3 ? names[at] : arena_printf(s->a, "n%d", at + 1);
  s->symbols[at].means = means;
  return poly_symbol(s->a, at);
}

static CostValue *array_argument(CostStudy *s, const IrType *t, const char *path) {
  int rank = ir_rank(t);
  const Poly **dims = NEW_ARRAY(s->a, const Poly *, rank);
  const char *row = path;
  for (int k = 0; k < rank; k++) {
    dims[k] = size(s, arena_printf(s->a, "length %s", row));
    row = arena_printf(s->a, "%s[0]", row);
  }
  const IrType *base = ir_base((IrType *)(uintptr_t)t);
  return cost_array(s, t, dims, NULL, 0,
                    base->kind == T_TUPLE || base->kind == T_ARRAY ? cost_argument(s, base, row) : NULL);
}

CostValue *cost_argument(CostStudy *s, const IrType *t, const char *path) {
  CostValue *v = cost_unknown(s);
  if (t->kind == T_ARRAY) v = array_argument(s, t, path);
  if (t->kind == T_INT) v = cost_number(s, size(s, path));
  if (t->kind == T_TUPLE) {
    CostValue **parts = NEW_ARRAY(s->a, CostValue *, t->n + 1);
    for (int k = 0; k < t->n; k++)
      parts[k] = cost_argument(s, t->args[k],
                               t->names ? arena_printf(s->a, "%s.%s", path, t->names[k])
                                        : arena_printf(s->a, "%s (item %d)", path, k + 1));
    v = cost_tuple(s, parts, t->n);
  }
  v->given = true;
  return v;
}
