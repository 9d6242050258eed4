/* SPDX-License-Identifier: MIT */
/* What a closure keeps: the tape, if it is a pullback. */
#include "facts/cost_internal.h"

static void keep(CostStudy *s, const CostValue *v, const IrType *t, Cost *out, Map *seen);

static bool holds_numbers_alone(const IrType *t) {
  if (t->kind != T_TUPLE) return ir_is_number(t) || t->kind == T_UNIT;
  for (int k = 0; k < t->n; k++)
    if (!holds_numbers_alone(t->args[k])) return false;
  return true;
}

/* Elements that aren't known one by one are all like `elem`. */
static void keep_elements(CostStudy *s, const CostValue *v, const Poly *n, Cost *out, Map *seen) {
  Cost one = {0};
  for (int k = 0; k < v->n; k++) keep(s, v->parts[k], v->type, out, seen);
  if (v->parts) return;
  keep(s, v->elem, v->type, &one, seen);
  for (int k = 0; k < one.lines.len; k++) {
    const CostLine *l = &one.lines.data[k];
    cost_add_to(s, out, l->line, l->ops, poly_mul(s->a, l->bytes, n));
  }
}

static void keep_array(CostStudy *s, const CostValue *v, Cost *out, Map *seen) {
  const Poly *n = cost_count_of(s, v);
  if (!n) {
    cost_note(s, "an array whose size is only known when the program runs");
    return;
  }
  cost_add_to(s, out, s->line, poly_constant(s->a, 0), poly_scale(s->a, n, 8.0 * cost_slots(v->type)));
  if (!holds_numbers_alone(v->type)) keep_elements(s, v, n, out, seen);
}

static void keep(CostStudy *s, const CostValue *v, const IrType *t, Cost *out, Map *seen) {
  const Poly *none = poly_constant(s->a, 0);
  if (v->given || t->kind == T_TOKEN || t->kind == T_UNIT) return;
  if (t->kind != T_TUPLE && !ir_is_number(t)) {
    if (map_get(seen, v)) return;
    map_put(seen, v, (void *)(uintptr_t)1);
  }
  s->line = v->line ? v->line : s->line;
  switch (v->kind) {
  case COST_TUPLE:
    for (int k = 0; k < v->n; k++) keep(s, v->parts[k], t->args[k], out, seen);
    return;
  case COST_ARRAY: keep_array(s, v, out, seen); return;
  case COST_CLOSURE:
    for (int k = 0; k < v->n; k++) {
      bool number = ir_is_number(v->node->ops[k]->type);
      if (number && map_get(seen, v->parts[k])) continue;
      if (number) map_put(seen, v->parts[k], (void *)(uintptr_t)1);
      int line = v->parts[k]->line ? v->parts[k]->line : v->line;
      cost_add_to(s, out, line, none, poly_constant(s->a, 8.0 * cost_slots(v->node->ops[k]->type)));
      keep(s, v->parts[k], v->node->ops[k]->type, out, seen);
    }
    return;
  case COST_CHOICE:
    if (t->kind == T_VARIANT && cost_slots(t->ctors[v->i].payload)) {
      cost_add_to(s, out, s->line, none, poly_constant(s->a, 8.0 * cost_slots(t->ctors[v->i].payload) + 16));
      keep(s, v->parts[0], t->ctors[v->i].payload, out, seen);
    }
    return;
  case COST_UNKNOWN:
    if (!ir_is_number(t)) cost_note(s, "what is kept of data that is only known when the program runs");
    return;
  case COST_INT:
  case COST_REAL:
  case COST_TEXT: return;
  }
}

void cost_kept(CostStudy *s, CostValue *f, Cost *out) {
  Map seen;
  map_init(&seen, s->a);
  s->line = 0;
  keep(s, f, f->kind == COST_CLOSURE ? f->node->type : ir_type(s->w, T_FUN), out, &seen);
}
