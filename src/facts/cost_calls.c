/* SPDX-License-Identifier: MIT */
/* Closures and functions, applied to what is known of their arguments. */
#include "facts/cost_internal.h"

CostValue *cost_typed_unknown(CostStudy *s, const IrType *t) {
  if (t->kind == T_ARRAY) return cost_unknown_array(s, t);
  if (t->kind != T_TUPLE) return cost_unknown(s);
  CostValue **parts = NEW_ARRAY(s->a, CostValue *, t->n + 1);
  for (int k = 0; k < t->n; k++) parts[k] = cost_typed_unknown(s, t->args[k]);
  return cost_tuple(s, parts, t->n);
}

CostValue *cost_apply_closure(CostStudy *s, const IrType *result, const CostValue *f, CostValue **own, int nown) {
  if (f->kind != COST_CLOSURE) {
    cost_note(s, "a function that is only known when the program runs");
    return cost_typed_unknown(s, result);
  }
  Graph *g = f->node->graphs[0];
  CostValue **args = NEW_ARRAY(s->a, CostValue *, g->nparams + 1);
  int first = g->nparams - f->n;
  for (int k = 0; k < g->nparams; k++) args[k] = k >= first ? f->parts[k - first] : k < nown ? own[k] : cost_unknown(s);
  return cost_graph(s, g, args);
}

static const char *recursion(const CostStudy *s, const Func *f, const char *what) {
  if (!f->span.source || !f->name) return arena_printf(s->a, "recursion that %s", what);
  return arena_printf(s->a, "the recursion of `%s`, which %s", f->name, what);
}

/* Recursion over data that is known, as a map that the function reads, goes as far as that goes. */
static bool has_known_data(CostValue **ops, int n) {
  for (int k = 0; k < n; k++)
    if (ops[k]->kind == COST_CHOICE) return true;
  return false;
}

CostValue *cost_call(CostStudy *s, const Node *n, CostValue **ops) {
  Func *f = n->attr.func;
  if (!f->graph) {
    cost_note(s, arena_printf(s->a, "the C function `%s`", f->name));
    return cost_typed_unknown(s, n->type);
  }
  if (f->recursive && (!(s->concrete || has_known_data(ops, n->nops)) || s->depth > LIMIT_COST_CALLS || s->left <= 0)) {
    cost_note(s, recursion(s, f, s->concrete ? "goes too far" : "goes as far as its data says"));
    return cost_typed_unknown(s, n->type);
  }
  return cost_graph(s, f->graph, ops);
}
