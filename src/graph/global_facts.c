/* SPDX-License-Identifier: MIT */
/* Facts about a global that follow from the graph of its value: constant ints and bools, and constant dimensions of
 * arrays (ir/globals.c says how they are used). Also the value itself, if it depends on nothing that is only known when
 * the program runs (opt/statics.c). Items are analysed in order, so facts of earlier globals help with later ones. */
#include "graph/graph.h"

static void learn_number(int64_t *fact, const Node *x) {
  if (x->op == OP_INT || x->op == OP_BOOL) *fact = x->attr.i;
}

static void learn(World *w, int64_t *facts, Node *x) {
  const IrType *t = x->type;
  if (t->kind != T_TUPLE && t->kind != T_ARRAY && ir_fact_slots(t)) learn_number(facts, x);
  for (int k = 0; t->kind == T_ARRAY && k < ir_rank(t); k++) learn_number(facts + k, ir_len(w, x, k));
  for (int k = 0; t->kind == T_TUPLE && k < t->n; k++) {
    learn(w, facts, ir_get(w, x, k));
    facts += ir_fact_slots(t->args[k]);
  }
}

void ir_learn_global(World *w, int global, Node *value) {
  int64_t *facts = ir_global_facts(w, global);
  if (facts) learn(w, facts, value);
  if (!value->nparams) w->globals.data[global].value = value;
}
