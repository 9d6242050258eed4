/* SPDX-License-Identifier: MIT */
/* Editing loops and functions (ir/edit.h): operands, nodes and results are replaced, dropped and added; those who read
 * the old loop get a value of its type. */
#include "ir/edit.h"
#include "check.h"
#include "world.h"

static IrType *F, *I, *V;

/* What the edits start from, over the graph (n : int, s : float, a, b : float[], c : float):
 *   the sum s + Σ (a[i] / c), and the array of b[i] * c, for i < n. */
static Node *outer(int k) {
  IrType *types[] = {I, F, V, V, F};
  return ir_param(w, k, types[k]);
}

static Node *loop_of_two(void) {
  LoopBuilder *b = loop_open(w, false);
  Node *s = loop_add(b, LOOP_ACC, outer(1)), *a = loop_add(b, LOOP_SLICED, outer(2));
  Node *x = loop_add(b, LOOP_SLICED, outer(3)), *c = loop_add(b, LOOP_CAPTURED, outer(4));
  loop_next(b, s, ir_op2(w, OP_CADD, s, ir_op2(w, OP_FDIV, a, c)));
  loop_stack(b, ir_op2(w, OP_FMUL, x, c));
  loop_close(b, outer(0), NULL, 0);
  return loop_value(b);
}

static bool is_verified(Node *x) {
  IrType *types[] = {I, F, V, V, F};
  return !ir_verify(w, ir_graph(w, types, 5, x, NULL));
}

static Node *result_of(const Node *loop, int k) { return loop->graphs[0]->result->ops[k]; }

/* No change: the same loop. */
static void nothing(void) {
  Node *loop = loop_of_two();
  CHECK(edit_value(edit_loop(w, loop, loop->ops, loop->graphs)) == loop);
}

/* a / c → a * q, with q = 1 / c captured. */
static void one_more_capture(void) {
  Node *loop = loop_of_two(), *q = ir_op2(w, OP_FDIV, ir_float(w, 1), outer(4));
  Node *division = result_of(loop, 0)->ops[1];
  CHECK(division->op == OP_FDIV);
  LoopEdit *e = edit_loop(w, loop, loop->ops, loop->graphs);
  edit_capture(e, 0, division, q);
  Node *made = edit_value(e);
  CHECK(made->op == OP_LOOP && made->loop->ncaps == 2 && made->type == loop->type && is_verified(made));
  CHECK(result_of(made, 0)->ops[1]->op == OP_PARAM && made->ops[made->nops - 1] == q);
}

/* The accumulator goes; who reads it gets what the caller says. */
static void dropped_slot(void) {
  Node *loop = loop_of_two();
  LoopEdit *e = edit_loop(w, loop, loop->ops, loop->graphs);
  e->args[1] = ir_float(w, 0);
  edit_close(e);
  CHECK(ir_is_constant(e->results[0]));
  e->results[0] = outer(1);
  Node *made = edit_value(e);
  CHECK(made->op == OP_TUPLE && made->ops[0] == outer(1) && made->type == loop->type && is_verified(made));
  const Node *rest = made->ops[1]->ops[0];
  CHECK(rest->op == OP_LOOP && rest->loop->naccs == 0 && rest->loop->nstacked == 1 && rest->loop->nsliced == 1);
}

/* So does the stacked result, and what it alone read. */
static void dropped_stacked(void) {
  Node *loop = loop_of_two();
  LoopEdit *e = edit_loop(w, loop, loop->ops, loop->graphs);
  edit_body(e, NULL, NULL, 0);
  e->next[1] = NULL;
  Node *made = edit_value(e), *rest = made->ops[0]->ops[0];
  CHECK(made->op == OP_TUPLE && made->type == loop->type && is_verified(made));
  CHECK(rest->loop->nstacked == 0 && rest->loop->naccs == 1 && rest->loop->nsliced == 1);
}

/* One more accumulator and one more stacked result, of nodes of the old body, and another trip count. */
static void more_results(void) {
  Node *loop = loop_of_two(), *extra[] = {result_of(loop, 0)->ops[1], result_of(loop, 1)};
  LoopEdit *e = edit_loop(w, loop, loop->ops, loop->graphs);
  e->count = ir_op2(w, OP_IADD, outer(0), outer(0));
  edit_inputs(e);
  Node *sum = loop_add(e->b, LOOP_ACC, ir_float(w, 0));
  edit_body(e, NULL, extra, 2);
  loop_next(e->b, sum, ir_op2(w, OP_CADD, sum, extra[1]));
  edit_yield(e);
  int k = loop_stack(e->b, extra[0]);
  CHECK(k == 1);
  Node *made = edit_value(e), *whole = loop_value(e->b);
  CHECK(whole->loop->naccs == 2 && whole->loop->nstacked == 2 && whole->ops[0] == e->count);
  CHECK(ir_get(w, made, 0) == ir_get(w, whole, 0) && ir_get(w, made, 1) == ir_get(w, whole, 2));
  Node *all[] = {made, loop_result(e->b, sum), loop_stacked(e->b, k)};
  CHECK(is_verified(ir_record(w, all, 3)));
}

/* A condition reads what stands for the loop's inputs:  while s < c: s + c, with s as a pair of s and 1. */
static void condition(void) {
  LoopBuilder *b = loop_open(w, false);
  Node *s = loop_add(b, LOOP_CARRIED, outer(1)), *c = loop_add(b, LOOP_CAPTURED, outer(4));
  loop_next(b, s, ir_op2(w, OP_FADD, s, c));
  loop_close(b, NULL, ir_op2(w, OP_FLT, s, c), 0);
  Node *loop = loop_value(b);
  LoopEdit *e = edit_loop(w, loop, loop->ops, loop->graphs);
  e->ops[0] = ir_pair(w, outer(1), ir_float(w, 1));
  edit_inputs(e);
  Node *two = e->in[0];
  e->args[1] = ir_get(w, two, 0);
  edit_body(e, NULL, NULL, 0);
  e->next[0] = ir_pair(w, e->next[0], ir_op2(w, OP_FADD, ir_get(w, two, 1), e->next[0]));
  edit_close(e);
  e->results[0] = ir_get(w, e->results[0], 0);
  Node *made = edit_value(e);
  CHECK(made->type == loop->type && is_verified(made));
  const Node *whole = made->ops[0]->ops[0];
  CHECK(whole->op == OP_LOOP && whole->loop->has_cond && whole->loop->ncarried == 2);
}

/* Two loops become one: the second takes its accumulator from the first. */
static void two_in_one(void) {
  Node *loop = loop_of_two();
  LoopBuilder *b = loop_open_like(w, loop);
  LoopEdit *one = edit_loop_into(w, b, loop, loop->ops, loop->graphs);
  LoopEdit *two = edit_loop_into(w, b, loop, loop->ops, loop->graphs);
  edit_yield(one);
  two->args[1] = one->next[0];
  two->in[0] = one->in[0];
  edit_yield(two);
  loop_close(b, outer(0), NULL, 0);
  Node *values[] = {edit_value(one), edit_value(two)}, *whole = loop_value(b);
  CHECK(whole->op == OP_LOOP && whole->loop->naccs == 1 && whole->loop->nstacked == 2);
  CHECK(values[0]->type == loop->type && ir_get(w, values[0], 0) == ir_get(w, values[1], 0));
  CHECK(ir_get(w, values[0], 1) == ir_get(w, whole, 1) && ir_get(w, values[1], 1) == ir_get(w, whole, 2));
  CHECK(is_verified(ir_record(w, values, 2)));
}

/* Results that aren't made: the body is what the others read. */
static void unmade_results(void) {
  Node *loop = loop_of_two(), *results[] = {NULL, result_of(loop, 1)};
  LoopEdit *e = edit_loop(w, loop, loop->ops, loop->graphs);
  e->args[1] = ir_float(w, 0);
  edit_body(e, results, NULL, 0);
  CHECK(!e->next[0] && e->next[1]);
  Node *made = edit_value(e), *rest = made->ops[1]->ops[0];
  CHECK(ir_is_constant(made->ops[0]) && rest->op == OP_LOOP && rest->loop->nsliced == 1 && is_verified(made));
}

/* f (x, y) k = x * y  →  f' x y = (x * y, y) */
static void other_signature(void) {
  IrType *ts[2] = {F, F}, *pair = ir_tuple_type(w, ts, NULL, 2), *params[2] = {pair, I};
  Node *p = ir_param(w, 0, pair);
  Func *f = ir_func(w, "f", params, 2, F);
  f->recursive = true;
  ir_func_finish(w, f, ir_op2(w, OP_FMUL, ir_get(w, p, 0), ir_get(w, p, 1)));
  FuncEdit e = edit_func(w, f);
  Node *x = edit_param(&e, F), *y = edit_param(&e, F);
  e.args[0] = ir_pair(w, x, y);
  e.args[1] = ir_int(w, 0);
  Func *g = edit_func_close(&e, ir_pair(w, edit_func_result(&e), y));
  CHECK(g->nparams == 2 && g->params[0] == F && g->result == pair && g->recursive && g->name == f->name);
  CHECK(g->graph->result == ir_pair(w, ir_op2(w, OP_FMUL, x, y), y) && !ir_verify(w, g->graph));
}

int main(void) {
  open_world();
  F = ir_type(w, T_FLOAT);
  I = ir_type(w, T_INT);
  V = ir_array_type(w, F);
  nothing();
  one_more_capture();
  dropped_slot();
  dropped_stacked();
  more_results();
  condition();
  two_in_one();
  unmade_results();
  other_signature();
  return close_world();
}
