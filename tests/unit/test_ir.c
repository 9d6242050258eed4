/* SPDX-License-Identifier: MIT */
/* The IR's normal forms: hash-consing, folding, like terms, branches, loops, beta-reduction, unrolling. */
#include "ir/ir.h"
#include "check.h"
#include "world.h"
#include <string.h>

static IrType *F, *I;

static Node *x(void) { return ir_param(w, 0, F); }
static Node *y(void) { return ir_param(w, 1, F); }

static void hash_consing(void) {
  CHECK(ir_op2(w, OP_FADD, x(), y()) == ir_op2(w, OP_FADD, y(), x()));
  CHECK(ir_op2(w, OP_FSUB, x(), y()) != ir_op2(w, OP_FSUB, y(), x()));
  CHECK(ir_op2(w, OP_FADD, ir_float(w, 0.1), ir_float(w, 0.2)) == ir_float(w, 0.1 + 0.2));
  CHECK(ir_float(w, 0.0) != ir_float(w, -0.0));
}

static void ieee_is_kept(void) {
  Node *plus0 = ir_op2(w, OP_FADD, x(), ir_float(w, 0));
  CHECK(plus0 != x()); /* -0 + 0 is 0 */
  CHECK(ir_op2(w, OP_FMUL, x(), ir_float(w, 0))->op == OP_FMUL);
  CHECK(ir_op2(w, OP_FMUL, x(), ir_float(w, 1)) == x());
}

static void like_terms(void) {
  Node *two = ir_op2(w, OP_CADD, x(), x());
  Node *three = ir_op2(w, OP_CADD, two, x());
  CHECK(three == ir_op2(w, OP_FMUL, x(), ir_float(w, 3)));
  Node *none = ir_op2(w, OP_CADD, three, ir_op1(w, OP_FNEG, three));
  CHECK(none == ir_op2(w, OP_FMUL, x(), ir_float(w, 0))); /* inf - inf is none */
}

static Graph *unary(Node *result) { return ir_graph(w, &F, 1, result, NULL); }

static void beta(void) {
  Graph *sq = unary(ir_op2(w, OP_FMUL, x(), x()));
  Node *f = ir_closure(w, sq, ir_fun_type(w, F, F, false), NULL, 0);
  CHECK(ir_apply(w, f, y(), NULL, 0) == ir_op2(w, OP_FMUL, y(), y()));
  CHECK(unary(ir_op2(w, OP_FMUL, x(), x())) == sq);
}

static void known_recursion_unrolls(void) {
  /* pow x n = if n = 0 then 1 else x * pow x (n - 1) */
  IrType *ps[2] = {F, I};
  Func *f = ir_func(w, "pow", ps, 2, F);
  f->recursive = true;
  Node *n = ir_param(w, 1, I);
  Region *r[2] = {region_open(w, NULL), region_open(w, NULL)};
  Region *outer = region_open(w, NULL);
  Node *px = region_param(outer, F), *pn = region_param(outer, I);
  r[0]->outer = r[1]->outer = outer;
  Node *xi = region_import(r[0], outer, px), *ni = region_import(r[0], outer, pn);
  Node *args[2] = {xi, ir_op2(w, OP_ISUB, ni, ir_int(w, 1))};
  Node *rs[2] = {ir_op2(w, OP_FMUL, xi, ir_call(w, f, args, 0)), ir_float(w, 1)};
  ir_func_finish(w, f, region_branch(ir_op2(w, OP_IEQ, n, ir_int(w, 0)), r, rs, 2));
  CHECK(!ir_verify(w, f->graph));
  Node *call[2] = {x(), ir_int(w, 5)};
  Node *five = ir_call(w, f, call, 0);
  CHECK(five->op == OP_FMUL);
  CHECK(ir_count(w, unary(five)).total == 4);
  Node *unknown[2] = {x(), n};
  CHECK(ir_call(w, f, unknown, 0)->op == OP_CALL);
}

static void loop_normal_form(void) {
  /* a loop that carries (s, k) with k constant: k becomes a capture, the tuple goes */
  IrType *pair[2] = {F, F};
  IrType *t = ir_tuple_type(w, pair, NULL, 2);
  IrType *ps[2] = {I, t};
  Node *st = ir_param(w, 1, t);
  Node *next = ir_pair(w, ir_op2(w, OP_FADD, ir_get(w, st, 0), ir_get(w, st, 1)), ir_get(w, st, 1));
  IrType *out[1] = {t};
  Graph *body = ir_graph(w, ps, 2, ir_tuple(w, ir_tuple_type(w, out, NULL, 1), &next), NULL);
  Node *init = ir_pair(w, x(), y());
  Node *n = ir_param(w, 2, I);
  Node *l = ir_loop(w, &(LoopInfo){.ncarried = 1}, n, &init, body, NULL, 0);
  Node *s = ir_get(w, ir_get(w, l, 0), 0);
  CHECK(s->op == OP_GET && s->ops[0]->op == OP_LOOP && s->ops[0]->loop->ncarried == 1 && s->ops[0]->loop->ncaps == 1);
  CHECK(ir_get(w, ir_get(w, l, 0), 1) == y());
  IrType *all[3] = {F, F, I};
  CHECK(!ir_verify(w, ir_graph(w, all, 3, s, NULL)));
}

/* Arrays of constants are one leaf; reading them at known places leaves nothing. */
static void constant_arrays(void) {
  Node *a[3] = {ir_float(w, 1), ir_float(w, -2.5), ir_op2(w, OP_FDIV, ir_float(w, 1), ir_float(w, 4))},
       *b[3] = {a[2], a[1], a[0]};
  Node *rows[2] = {ir_array(w, F, a, 3, 0), ir_array(w, F, b, 3, 0)};
  IrType *vector = ir_array_type(w, F);
  CHECK(rows[0]->op == OP_DATA && rows[0]->nops == 0 && rows[0] == ir_array(w, F, a, 3, 0) && rows[0] != rows[1]);
  Node *m = ir_array(w, vector, rows, 2, 0), *cube[2] = {m, m};
  CHECK(m->op == OP_DATA && m->nops == 0 && m->attr.data->nslots == 6);
  Node *c = ir_array(w, m->type, cube, 2, 0), *at[3] = {ir_int(w, 1), ir_int(w, 1), ir_int(w, 0)};
  CHECK(ir_len(w, c, 0) == ir_int(w, 2) && ir_len(w, c, 2) == ir_int(w, 3));
  CHECK(ir_index(w, c, at, 3) == a[2] && ir_index(w, c, at, 2) == rows[1] &&
        ir_index(w, ir_index(w, c, at, 1), at + 1, 2) == a[2]);
  Node *from = ir_slice(w, rows[0], ir_int(w, 1), ir_int(w, 2)), *zero = ir_int(w, 0);
  CHECK(ir_index(w, from, &zero, 1) == a[1] && ir_len(w, from, 0) == ir_int(w, 2));
  Node *outside = ir_int(w, 3);
  CHECK(ir_index(w, rows[0], &outside, 1)->op == OP_INDEX);
  /* irregular, or not constant */
  Node *ragged[2] = {rows[0], ir_array(w, F, a, 2, 0)}, *varying[2] = {x(), a[0]};
  CHECK(ir_array(w, vector, ragged, 2, 0)->op == OP_ARRAY && ir_array(w, F, varying, 2, 0)->op == OP_ARRAY);
  /* no numbers only: what isn't one is an operand */
  Node *named[2] = {ir_pair(w, ir_string(w, sym_of(&syms, "a")), rows[0]),
                    ir_pair(w, ir_string(w, sym_of(&syms, "b")), rows[1])};
  Node *pairs = ir_array(w, named[0]->type, named, 2, 0), *one = ir_int(w, 1);
  CHECK(pairs->op == OP_DATA && pairs->nops == 4 && ir_index(w, pairs, &one, 1) == named[1]);
  CHECK(ir_array(w, F, NULL, 0, 0)->op == OP_DATA && ir_len(w, ir_array(w, vector, NULL, 0, 0), 1) == ir_int(w, 0));
  /* a constant, which no graph captures */
  Region *outer = region_open(w, NULL), *inner = region_open(w, outer);
  CHECK(region_import(inner, outer, m) == m && inner->ncaps == 0);
  Node *all[2] = {c, pairs};
  CHECK(!ir_verify(w, ir_graph(w, NULL, 0, ir_record(w, all, 2), NULL)));
}

/* A long one is printed whole, and a hash tells it from others. */
static void long_constants(void) {
  enum { N = 20000 };
  static Node *xs[N];
  for (int i = 0; i < N; i++) xs[i] = ir_float(w, i);
  Graph *g = ir_graph(w, NULL, 0, ir_array(w, F, xs, N, 0), NULL);
  Str text = {.arena = &arena};
  ir_print(w, g, &text);
  CHECK(strstr(text.data, "20000: 0.0 1.0 2.0 ") && strstr(text.data, " 9999.0 10000.0 ") &&
        strstr(text.data, " 19999.0\n"));
  CHECK(g->size == 1);
  xs[N / 2] = ir_float(w, -1);
  Graph *other = ir_graph(w, NULL, 0, ir_array(w, F, xs, N, 0), NULL);
  CHECK(other != g && ir_hash(w, g) != ir_hash(w, other));
}

int main(void) {
  open_world();
  F = ir_type(w, T_FLOAT);
  I = ir_type(w, T_INT);
  hash_consing();
  ieee_is_kept();
  like_terms();
  beta();
  known_recursion_unrolls();
  loop_normal_form();
  constant_arrays();
  long_constants();
  return close_world();
}
