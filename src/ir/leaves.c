/* SPDX-License-Identifier: MIT */
/* Leaves of graphs, and tuples: what all other constructors are made with, and what needs none of them.
 *
 * A tuple of all that was taken out of another one is that one: (get 0 t, …, get (n - 1) t) = t. */
#include "ir/ir_internal.h"

Node *ir_param(World *w, int k, IrType *t) { return ir_intern(w, &(Node){.op = OP_PARAM, .type = t, .attr.i = k}); }
Node *ir_int(World *w, int64_t v) {
  return ir_intern(w, &(Node){.op = OP_INT, .type = ir_type(w, T_INT), .attr.i = v});
}
Node *ir_float(World *w, double v) {
  return ir_intern(w, &(Node){.op = OP_FLOAT, .type = ir_type(w, T_FLOAT), .attr.f = v});
}
Node *ir_bool(World *w, bool v) {
  return ir_intern(w, &(Node){.op = OP_BOOL, .type = ir_type(w, T_BOOL), .attr.i = v});
}
Node *ir_string(World *w, Sym s) {
  return ir_intern(w, &(Node){.op = OP_STRING, .type = ir_type(w, T_STRING), .attr.text = s});
}
Node *ir_text(World *w, const char *text) { return ir_string(w, sym_of(w->syms, text)); }
Node *ir_unit(World *w) { return ir_intern(w, &(Node){.op = OP_UNIT, .type = ir_type(w, T_UNIT)}); }
Node *ir_global(World *w, int global) {
  Node *x = ir_intern(w, &(Node){.op = OP_GLOBAL, .type = w->globals.data[global].type, .attr.i = global});
  Node *known = ir_known_number(w, x);
  return known ? known : x;
}

Node *ir_zero(World *w, IrType *t) {
  if (t->kind == T_FLOAT) return ir_float(w, 0);
  if (t->kind == T_INT) return ir_int(w, 0);
  if (t->kind == T_BOOL) return ir_bool(w, false);
  if (t->kind == T_UNIT) return ir_unit(w);
  if (t->kind == T_TUPLE) {
    Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
    for (int i = 0; i < t->n; i++) xs[i] = ir_zero(w, t->args[i]);
    return ir_tuple(w, t, xs);
  }
  return ir_intern(w, &(Node){.op = OP_ZERO, .type = t});
}

/* ---- Tuples ------------------------------------------------------------------------- */
static Node *tuple_of_gets(IrType *t, Node **xs) {
  Node *whole = xs[0]->op == OP_GET ? xs[0]->ops[0] : NULL;
  if (!whole || whole->type != t) return NULL;
  for (int i = 0; i < t->n; i++)
    if (xs[i]->op != OP_GET || xs[i]->ops[0] != whole || xs[i]->attr.i != i) return NULL;
  return whole;
}

Node *ir_tuple(World *w, IrType *t, Node **xs) {
  if (t->n == 0) return ir_unit(w);
  Node *whole = tuple_of_gets(t, xs);
  return whole ? whole : ir_raw(w, OP_TUPLE, t, xs, t->n);
}

Node *ir_pair(World *w, Node *a, Node *b) {
  Node *xs[2] = {a, b};
  return ir_tuple(w, ir_pair_type(w, a->type, b->type), xs);
}

Node *ir_record(World *w, Node **xs, int n) {
  IrType **ts = NEW_ARRAY(w->arena, IrType *, n + 1);
  for (int i = 0; i < n; i++) ts[i] = xs[i]->type;
  return ir_tuple(w, ir_tuple_type(w, ts, NULL, n), xs);
}

Node *ir_only(World *w, IrType *tuple, int k, Node *x) {
  Node **xs = NEW_ARRAY(w->arena, Node *, tuple->n);
  for (int i = 0; i < tuple->n; i++) xs[i] = i == k ? x : ir_zero(w, tuple->args[i]);
  return ir_tuple(w, tuple, xs);
}
