/* SPDX-License-Identifier: MIT */
/* Facts about globals for code that reads them: ints, bools and dimensions of arrays. Globals never change, so
 *
 *   let points = [ [ f i j | j < 4 ] | i < count () ]      len 1 (global points) = 4
 *
 * and a loop over such a row has a known trip count. There is a fact for each int and bool in a global's value and for
 * each dimension of its arrays; tuples are flattened, so the facts of a component precede those of the next. There is
 * no fact for floats: constant folding would round where contracted code doesn't, so a function's value and the value
 * beside its gradient would differ. Some facts come from the graph of the value (graph/global_facts.c), the dimensions
 * from the value itself. */
#include "ir/ir_internal.h"

static bool is_int_or_bool(const IrType *t) { return t->kind == T_INT || t->kind == T_BOOL; }

int ir_fact_slots(const IrType *t) {
  if (is_int_or_bool(t)) return 1;
  if (t->kind == T_ARRAY) return ir_rank(t);
  int n = 0;
  for (int k = 0; t->kind == T_TUPLE && k < t->n; k++) n += ir_fact_slots(t->args[k]);
  return n;
}

/* ---- Facts ------------------------------------------------------------------------------------------------------- */
int64_t *ir_global_facts(World *w, int global) {
  GlobalInfo *info = &w->globals.data[global];
  int n = ir_fact_slots(info->type);
  if (n && !info->facts) {
    info->facts = NEW_ARRAY(w->arena, int64_t, n);
    for (int k = 0; k < n; k++) info->facts[k] = FACT_UNKNOWN;
  }
  return info->facts;
}

/* The facts of x, a global or part of one; NULL: it isn't one, or nothing is known. */
static const int64_t *facts_of(const World *w, const Node *x) {
  if (x->op == OP_GLOBAL) return w->globals.data[x->attr.global].facts;
  const int64_t *at = x->op == OP_GET ? facts_of(w, x->ops[0]) : NULL;
  for (int k = 0; at && k < x->attr.i; k++) at += ir_fact_slots(x->ops[0]->type->args[k]);
  return at;
}

Node *ir_known_number(World *w, const Node *x) {
  const int64_t *fact = is_int_or_bool(x->type) ? facts_of(w, x) : NULL;
  if (!fact || *fact == FACT_UNKNOWN) return NULL;
  return x->type->kind == T_INT ? ir_int(w, *fact) : ir_bool(w, *fact != 0);
}

Node *ir_known_length(World *w, const Node *array, int dim) {
  const int64_t *facts = facts_of(w, array);
  return facts && facts[dim] != FACT_UNKNOWN ? ir_int(w, facts[dim]) : NULL;
}
