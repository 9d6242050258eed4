/* SPDX-License-Identifier: MIT */
/* Checks that two structures have the same keys (IrCtor.keys): where they are combined leaf by leaf, and where one
 * is a derivative of the other. */
#include "ir/ir_internal.h"

static Node *is_same_key(World *w, Node *a, Node *b) {
  Node *args[2] = {a, b};
  if (a->type->kind == T_INT) return ir_op2(w, OP_IEQ, a, b);
  Node *order = ir_rt(w, ir_rt_find("order"), ir_type(w, T_INT), a->type, args, 2, 0);
  return ir_op2(w, OP_IEQ, order, ir_int(w, 0));
}

static Node *shown(World *w, Node *x) { return ir_rt(w, ir_rt_find("show"), ir_type(w, T_STRING), x->type, &x, 1, 0); }

static Node *joined(World *w, Node **parts, int n) {
  IrType *string = ir_type(w, T_STRING);
  Node *all = ir_array(w, string, parts, n, 0);
  return ir_rt(w, ir_rt_find("concat_strings"), string, NULL, &all, 1, 0);
}

/* The first key of x, which is of constructor k; NULL: it has none. */
static Node *key_of(World *w, Node *x, int k) {
  const IrCtor *c = &x->type->ctors[k];
  if (!c->keys) return NULL;
  Node *payload = ir_uninj(w, x, k);
  int i = 0;
  bool tuple = c->payload->kind == T_TUPLE;
  while (i < (tuple ? c->payload->n : 1) && c->keys[i] != KEY) i++;
  if (!tuple) return i == 0 ? payload : NULL;
  return i < c->payload->n ? ir_get(w, payload, i) : NULL;
}

Node *ir_missing_key(World *w, Node *a, int k, Node *b) {
  Node *key = key_of(w, a, k);
  if (!key && a->type->nctors == 2) key = key_of(w, b, 1 - k);
  Node *parts[2] = {ir_text(w, "different keys: only one of two values has "), key ? shown(w, key) : NULL};
  return key ? joined(w, parts, 2) : NULL;
}

/* Not an assertion: its message would be made where the keys are the same, too. */
Node *ir_same_key(World *w, Node *a, Node *b, Site site) {
  IrType *unit = ir_type(w, T_UNIT);
  BranchBuilder *branch = branch_open(w, is_same_key(w, a, b));
  Node *x = branch_add(branch, a), *y = branch_add(branch, b);
  Node *parts[4] = {ir_text(w, "different keys: "), shown(w, x), ir_text(w, " and "), shown(w, y)};
  branch_arm(branch, ir_fail(w, FAIL_SHAPE, unit, joined(w, parts, 4), site), NULL);
  branch_arm(branch, ir_unit(w), NULL);
  return branch_close(branch);
}
