/* SPDX-License-Identifier: MIT */
/* Passes of src/opt on graphs made by hand: checks that facts or other checks imply (opt_checks). */
#include "opt/opt.h"
#include "check.h"
#include "world.h"

static IrType *I, *A;

/* Parameters of the graphs here: an array and two ints. */
static Node *a(void) { return ir_param(w, 0, A); }
static Node *j(void) { return ir_param(w, 1, I); }
static Node *k(void) { return ir_param(w, 2, I); }
static Node *len(void) { return ir_len(w, a(), 0); }
static Node *plus(Node *x, int64_t c) { return ir_op2(w, OP_IADD, x, ir_int(w, c)); }
static Node *checked(Node *i, Node *n, Site site) { return ir_check(w, OP_CHECK_INDEX, i, n, NULL, site); }
static Node *at(Node *i) { return ir_index(w, a(), &i, 1); }

static void count_check(void *user, Graph *g) {
  Node **nodes;
  int n = ir_order(&arena, g, &nodes);
  for (int i = 0; i < n; i++) *(int *)user += nodes[i]->op >= OP_CHECK_INDEX && nodes[i]->op <= OP_CHECK_NAT;
}

/* The graph of `result` after the pass; how many checks it keeps. */
static Graph *pass(Node *result, int *kept) {
  IrType *ps[3] = {A, I, I};
  Graph *g = opt_checks(w, ir_graph(w, ps, 3, result, NULL));
  CHECK(!ir_verify(w, g));
  *kept = 0;
  ir_walk_graphs(w, g, count_check, kept);
  return g;
}

static int kept(Node *result) {
  int n;
  pass(result, &n);
  return n;
}

/* [ a[i + offset] | i < n ], with a check against `bound`, as its sum. */
static Node *read_all(Node *n, int64_t offset, Node *bound) {
  Region *outer = region_open(w, NULL), *in = region_open(w, outer);
  Node *i = region_param(in, I), *acc = region_param(in, I), *array = region_import(in, outer, a());
  Node *index = checked(plus(i, offset), region_import(in, outer, bound), 7);
  Node *sum = ir_op2(w, OP_IADD, acc, ir_index(w, array, &index, 1));
  Graph *body = region_close(in, ir_record(w, &sum, 1), NULL);
  Node *ops[4] = {ir_int(w, 0)};
  for (int c = 0; c < in->ncaps; c++) ops[1 + c] = in->caps.data[c];
  return ir_get(w, ir_loop(w, &(LoopInfo){.ncarried = 1, .ncaps = in->ncaps}, n, ops, body, NULL, 0), 0);
}

static void index_of_a_loop(void) {
  Node *short_by_2 = ir_op2(w, OP_IMAX, plus(len(), -2), ir_int(w, 0));
  CHECK(kept(read_all(short_by_2, 0, len())) == 0);
  CHECK(kept(read_all(short_by_2, 2, len())) == 0);
  CHECK(kept(read_all(short_by_2, 3, len())) == 1);
  CHECK(kept(read_all(short_by_2, -1, len())) == 1);
  CHECK(kept(read_all(j(), 0, len())) == 1);
  CHECK(kept(read_all(len(), 0, k())) == 1);
}

/* A sum that may wrap says nothing about its operands. */
static void wrapping(void) {
  Node *both = ir_op2(w, OP_IADD, at(checked(plus(j(), 2), len(), 1)), at(checked(plus(j(), 1), len(), 2)));
  CHECK(kept(both) == 2);
  Node *around = ir_op2(w, OP_IADD, at(checked(j(), len(), 1)), at(checked(plus(j(), -1), len(), 2)));
  CHECK(kept(around) == 2);
}

static void same_check_twice(void) {
  Node *twice = ir_op2(w, OP_IADD, at(checked(j(), len(), 1)), ir_op2(w, OP_IMUL, at(checked(j(), len(), 2)), k()));
  CHECK(kept(twice) == 1);
}

static bool needs(const Node *x, Op op) {
  if (x->op == op) return true;
  for (int i = 0; i < x->nops; i++)
    if (needs(x->ops[i], op)) return true;
  return false;
}

/* sum over i < k of a[i], beside a[k]: the check of k serves for all i, so the loop has to wait for it. */
static void loop_waits_for_check(void) {
  int n;
  Node *sum = read_all(ir_op2(w, OP_IMAX, k(), ir_int(w, 0)), 0, len());
  Graph *g = pass(ir_op2(w, OP_IADD, sum, at(checked(k(), len(), 3))), &n);
  CHECK(n == 1);
  Node **nodes;
  int count = ir_order(&arena, g, &nodes), loops = 0;
  for (int i = 0; i < count; i++) {
    if (nodes[i]->op != OP_LOOP) continue;
    loops++;
    CHECK(needs(nodes[i], OP_CHECK_INDEX));
  }
  CHECK(loops == 1);
}

/* A check that needs the loop's result can't serve the loop. */
static void check_that_comes_later(void) {
  Node *sum = read_all(ir_op2(w, OP_IMAX, k(), ir_int(w, 0)), 0, len());
  Node *later = checked(ir_op2(w, OP_AFTER, k(), sum), len(), 3);
  CHECK(kept(ir_op2(w, OP_IADD, sum, at(later))) == 2);
}

/* Of two checks that imply each other, one stays. */
static void no_circle(void) {
  Node *n = ir_check(w, OP_CHECK_SIZE, j(), k(), NULL, 1), *m = ir_check(w, OP_CHECK_SIZE, k(), j(), NULL, 2);
  CHECK(kept(ir_op2(w, OP_IADD, ir_op2(w, OP_IMUL, n, n), m)) == 1);
}

int main(void) {
  open_world();
  I = ir_type(w, T_INT);
  A = ir_array_type(w, I);
  index_of_a_loop();
  wrapping();
  same_check_twice();
  loop_waits_for_check();
  check_that_comes_later();
  no_circle();
  return close_world();
}
