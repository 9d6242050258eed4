/* SPDX-License-Identifier: MIT */
/* Lowering end to end: graphs made by the IR's builders are lowered, verified, run by the evaluator, and their results
 * compared; after each run no object may be left. Also that updates in loops are in place, that nested stacking
 * allocates once, and that tail calls run in constant stack. */
#include "check.h"
#include "eval/eval.h"
#include "ir/ir_internal.h"
#include "lower/lower.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static Heap heap;
static Arena arena;
static SymTable syms;
static World *w;
static Rt rt;
static IrType *I, *F, *B, *S, *FA, *IA, *FM;
static LModule *last;
static Mod *loaded; /* results may hold its strings */

static Slot *no_global(void *user, int index) {
  (void)index;
  return user;
}

static Slot int_slot(int64_t v) { return (Slot){.i = v}; }
static Slot float_slot(double v) { return (Slot){.f = v}; }

/* Lowers and runs g; false if it fails. Owned results are the caller's. */
static bool run(Graph *g, const Slot *args, Slot *res) {
  const char *wrong = ir_verify(w, g);
  CHECK_STR(wrong ? wrong : "fine", "fine");
  LowerEntry e = {g, "entry", NULL};
  last = lower_module(w, &arena, &e, 1);
  wrong = lir_verify(last);
  CHECK_STR(wrong ? wrong : "fine", "fine");
  if (getenv("SHOW")) {
    Str s = {&arena, NULL, 0, 0};
    ir_print(w, g, &s);
    lir_print(last, &s);
    puts(s.data);
  }
  if (wrong) return false;
  Str text = {.arena = &arena};
  lir_print(last, &text);
  LModule *read = lir_read(&arena, text.data); /* which runs as the module does that it was printed from */
  CHECK_STR(read->error ? read->error : "fine", "fine");
  if (loaded) eval_forget(loaded), mod_free(loaded);
  loaded = mod_new(&rt, read, no_global, NULL);
  CHECK(loaded != NULL);
  rt_clear_error(&rt);
  return rt_call(&rt, loaded->funcs[e.func->index], args, res) == 0;
}

static int count_op(LOp op) {
  int n = 0;
  for (int f = 0; f < last->nfuncs; f++)
    for (int i = 0; i < last->funcs[f]->ncode; i++) n += last->funcs[f]->code[i].op == op;
  return n;
}

/* Instructions of one kind that stand in a loop. */
static int count_in_loops(LOp op) {
  int n = 0;
  for (int f = 0; f < last->nfuncs; f++) {
    const LFunc *fn = last->funcs[f];
    for (int i = 0; i < fn->ncode; i++) {
      if (fn->code[i].op != op) continue;
      for (int j = i + 1; j < fn->ncode; j++) {
        bool back = false;
        for (int l = 0; fn->code[j].op == LOP_JUMP && l < i; l++)
          back |= fn->code[l].op == LOP_LABEL && fn->code[l].imm.i == fn->code[j].imm.i;
        if (back) {
          n++;
          break;
        }
      }
    }
  }
  return n;
}

static void nothing_left(void) { CHECK(rt.live == 0); }

static Node *P(int k, IrType *t) { return ir_param(w, k, t); }

static void scalars_and_tuples(void) {
  IrType *ps[] = {F, F}, *ft[] = {F, F};
  Node *pair = ir_pair(w, ir_op2(w, OP_FADD, P(0, F), P(1, F)), ir_op2(w, OP_FMUL, P(0, F), P(1, F)));
  (void)ft;
  Slot args[] = {float_slot(3), float_slot(4)}, res[2];
  CHECK(run(ir_graph(w, ps, 2, pair, NULL), args, res));
  CHECK(res[0].f == 7 && res[1].f == 12);
  nothing_left();
}

/* for i < n carrying a : a[i + 1] <- a[i] + 1 */
static void update_in_place(void) {
  Node *i = P(0, I), *a = P(1, FA);
  Node *v = ir_op2(w, OP_FADD, ir_index(w, a, &i, 1), ir_float(w, 1));
  Node *i1 = ir_op2(w, OP_IADD, i, ir_int(w, 1));
  Node *upd = ir_update(w, a, &i1, 1, v);
  IrType *bp[] = {I, FA}, *rt1[] = {FA};
  Graph *body = ir_graph(w, bp, 2, ir_tuple(w, ir_tuple_type(w, rt1, NULL, 1), &upd), NULL);
  LoopInfo info = {.ncarried = 1};
  Node *n = P(0, I), *dims = ir_op2(w, OP_IADD, n, ir_int(w, 1));
  Node *z = ir_zeros(w, FA, &dims, 0);
  Node *loop = ir_loop(w, &info, n, &z, body, NULL, 0);
  Node *end = ir_get(w, loop, 0);
  Slot args[] = {int_slot(5)}, res[1];
  IrType *ps[] = {I};
  CHECK(run(ir_graph(w, ps, 1, ir_index(w, end, &n, 1), NULL), args, res));
  CHECK(res[0].f == 5);
  CHECK(count_op(LOP_UNIQUE) == 0);
  CHECK(count_in_loops(LOP_DATA) == 0);
  nothing_left();
  /* of an argument: made unshared once, and the caller's array stays as it was */
  IrType *pa[] = {I, FA};
  Node *arg = P(1, FA);
  loop = ir_loop(w, &info, n, &arg, body, NULL, 0);
  Node *sum = ir_op2(w, OP_FADD, ir_index(w, ir_get(w, loop, 0), &n, 1), ir_index(w, arg, &n, 1));
  int64_t len = 6;
  ArrayObj *array = rt_new_array(&rt, rt.desc_float_array, &len, true);
  Slot args2[] = {int_slot(5), {.p = &array->h}};
  CHECK(run(ir_graph(w, pa, 2, sum, NULL), args2, res));
  CHECK(res[0].f == 5);
  CHECK(count_op(LOP_UNIQUE) == 1 && count_in_loops(LOP_UNIQUE) == 0);
  CHECK(array->h.rc == 1);
  rt_release(&rt, &array->h);
  nothing_left();
}

/* [[i * j | j < m] | i < n]: one allocation, written through */
static void nested_stacking(void) {
  Node *prod = ir_op2(w, OP_IMUL, P(0, I), P(1, I));
  IrType *ip[] = {I, I}, *it[] = {I};
  Graph *inner = ir_graph(w, ip, 2, ir_tuple(w, ir_tuple_type(w, it, NULL, 1), &prod), NULL);
  LoopInfo ii = {.nstacked = 1, .ncaps = 1};
  Node *cap = P(0, I);
  Node *row = ir_get(w, ir_loop(w, &ii, P(1, I), &cap, inner, NULL, 0), 0);
  IrType *op[] = {I, I}, *ot[] = {IA};
  Graph *outer = ir_graph(w, op, 2, ir_tuple(w, ir_tuple_type(w, ot, NULL, 1), &row), NULL);
  Node *m = P(1, I);
  Node *matrix = ir_get(w, ir_loop(w, &ii, P(0, I), &m, outer, NULL, 0), 0);
  IrType *ps[] = {I, I};
  Slot args[] = {int_slot(3), int_slot(4)}, res[1];
  CHECK(run(ir_graph(w, ps, 2, matrix, NULL), args, res));
  ArrayObj *a = (ArrayObj *)res[0].p;
  CHECK(a->dims[0] == 3 && a->dims[1] == 4 && a->data[11].i == 6 && a->data[6].i == 2);
  CHECK(count_op(LOP_NEW_ARRAY) == 1);
  rt_release(&rt, res[0].p);
  nothing_left();
  /* rows that grow with i have different lengths: fails, and leaves nothing */
  Node *bad = ir_get(w, ir_loop(w, &ii, P(0, I), &cap, inner, NULL, 0), 0);
  Graph *outer2 = ir_graph(w, op, 2, ir_tuple(w, ir_tuple_type(w, ot, NULL, 1), &bad), NULL);
  Node *ragged = ir_get(w, ir_loop(w, &ii, P(0, I), &m, outer2, NULL, 7), 0);
  CHECK(!run(ir_graph(w, ps, 2, ragged, NULL), args, res));
  CHECK(rt.error.kind == ERR_IRREGULAR);
  nothing_left();
  args[0] = int_slot(1);
  CHECK(run(ir_graph(w, ps, 2, ragged, NULL), args, res));
  a = (ArrayObj *)res[0].p;
  CHECK(a->dims[0] == 1 && a->dims[1] == 0);
  rt_release(&rt, res[0].p);
  nothing_left();
}

/* sum of a[i][j] over a matrix: rows are never made */
static void matrix_sum(void) {
  Node *acc = ir_op2(w, OP_CADD, P(1, F), P(2, F));
  IrType *ip[] = {I, F, F}, *t1[] = {F};
  Graph *inner = ir_graph(w, ip, 3, ir_tuple(w, ir_tuple_type(w, t1, NULL, 1), &acc), NULL);
  LoopInfo info = {.naccs = 1, .nsliced = 1};
  Node *row = P(2, FA), *ops[] = {ir_float(w, 0), row};
  Node *rowsum = ir_get(w, ir_loop(w, &info, ir_len(w, row, 0), ops, inner, NULL, 0), 0);
  Node *acc2 = ir_op2(w, OP_CADD, P(1, F), rowsum);
  IrType *op[] = {I, F, FA};
  Graph *outer = ir_graph(w, op, 3, ir_tuple(w, ir_tuple_type(w, t1, NULL, 1), &acc2), NULL);
  Node *ops2[] = {ir_float(w, 0), P(0, FM)};
  Node *all = ir_get(w, ir_loop(w, &info, ir_len(w, P(0, FM), 0), ops2, outer, NULL, 0), 0);
  int64_t dims[] = {3, 2};
  ArrayObj *a = rt_new_array(&rt, rt.desc_float_matrix, dims, true);
  for (int i = 0; i < 6; i++) a->data[i].f = i;
  Slot args[] = {{.p = &a->h}}, res[1];
  CHECK(run(ir_graph(w, &FM, 1, all, NULL), args, res));
  CHECK(res[0].f == 15);
  CHECK(count_op(LOP_VIEW) == 0);
  rt_release(&rt, &a->h);
  nothing_left();
}

/* An infinite list type and: length by recursion with an accumulator, in constant stack. */
static IrType *list_type(void) {
  static const int key;
  IrType *t = ir_variant_type(w, sym_of(&syms, "numbers"), &key, NULL, 0);
  if (!t->ctors) {
    t->ctors = NEW_ARRAY(&arena, IrCtor, 2);
    t->nctors = 2;
    IrType *cell[] = {S, t};
    t->ctors[0] = (IrCtor){.name = sym_of(&syms, "Nil"), .payload = ir_type(w, T_UNIT)};
    t->ctors[1] = (IrCtor){.name = sym_of(&syms, "Cons"), .payload = ir_tuple_type(w, cell, NULL, 2)};
  }
  return t;
}

static Func *list_length(IrType *L) {
  IrType *ps[] = {L, I};
  Func *len = ir_func(w, sym_of(&syms, "len"), ps, 2, I);
  len->recursive = true;
  Node *tail = ir_get(w, ir_uninj(w, P(0, L), 1), 1);
  Node *args[] = {tail, ir_op2(w, OP_IADD, P(1, I), ir_int(w, 1))};
  Graph *arms[2] = {ir_graph(w, ps, 2, P(1, I), NULL), ir_graph(w, ps, 2, ir_call(w, len, args, 0), NULL)};
  Node *caps[] = {P(0, L), P(1, I)};
  ir_func_finish(w, len, ir_switch(w, ir_tag(w, P(0, L)), arms, 2, caps, 2));
  return len;
}

static void lists(void) {
  IrType *L = list_type();
  Func *len = list_length(L);
  /* build n cells in a loop, then take the length */
  Node *fields[] = {ir_string(w, sym_of(&syms, "x")), P(1, L)};
  Node *cell = ir_inj(w, L, 1, ir_tuple(w, L->ctors[1].payload, fields));
  IrType *bp[] = {I, L}, *t1[] = {L};
  Graph *body = ir_graph(w, bp, 2, ir_tuple(w, ir_tuple_type(w, t1, NULL, 1), &cell), NULL);
  LoopInfo info = {.ncarried = 1};
  Node *nil = ir_inj(w, L, 0, NULL);
  Node *list = ir_get(w, ir_loop(w, &info, P(0, I), &nil, body, NULL, 0), 0);
  Node *args[] = {list, ir_int(w, 0)};
  Slot in[] = {int_slot(1000000)}, res[2];
  CHECK(run(ir_graph(w, &I, 1, ir_call(w, len, args, 0), NULL), in, res));
  CHECK(res[0].i == 1000000);
  nothing_left();
  /* the list is used again: shared, not consumed */
  Node *both = ir_pair(w, ir_call(w, len, args, 0), list);
  in[0] = int_slot(10);
  CHECK(run(ir_graph(w, &I, 1, both, NULL), in, res));
  CHECK(res[0].i == 10);
  CHECK(rt.live == 10);
  rt_release(&rt, res[1].p);
  nothing_left();
}

/* even and odd call each other last: a million deep in constant stack, with a string handed through. */
static void mutual_tail_calls(void) {
  IrType *ps[] = {I, S}, *sel[] = {I, S};
  Func *f[2] = {ir_func(w, sym_of(&syms, "even"), ps, 2, S), ir_func(w, sym_of(&syms, "odd"), ps, 2, S)};
  f[0]->recursive = f[1]->recursive = true;
  Node *caps[] = {P(0, I), P(1, S)};
  for (int k = 0; k < 2; k++) {
    Node *args[] = {ir_op2(w, OP_ISUB, P(0, I), ir_int(w, 1)), P(1, S)};
    Node *done = k ? ir_string(w, sym_of(&syms, "odd")) : P(1, S);
    Graph *arms[] = {ir_graph(w, sel, 2, ir_call(w, f[1 - k], args, 0), NULL), ir_graph(w, sel, 2, done, NULL)};
    ir_func_finish(w, f[k], ir_switch(w, ir_op2(w, OP_IEQ, P(0, I), ir_int(w, 0)), arms, 2, caps, 2));
  }
  Node *text = ir_rt(w, ir_rt_find("show"), S, I, (Node *[]){P(0, I)}, 1, 0);
  Node *args[] = {P(0, I), text};
  Slot in[] = {int_slot(1000000)}, res[1];
  CHECK(run(ir_graph(w, &I, 1, ir_call(w, f[0], args, 0), NULL), in, res));
  CHECK_STR(((StringObj *)res[0].p)->bytes, "1000000");
  CHECK(count_op(LOP_CALL) <= 1);
  rt_release(&rt, res[0].p);
  nothing_left();
}

/* A closure that captures an array and a string, applied twice, and returned. */
static void closures(void) {
  IrType *FI = ir_fun_type(w, I, F, false);
  IrType *gp[] = {I, FA};
  Node *i = P(0, I);
  Graph *g = ir_graph(w, gp, 2, ir_index(w, P(1, FA), &i, 1), NULL);
  Node *cap = P(0, FA);
  Node *c = ir_closure(w, g, FI, &cap, 1);
  IrType *hp[] = {FI, I};
  Func *twice = ir_func(w, sym_of(&syms, "twice"), hp, 2, F);
  twice->recursive = true; /* keeps it from being inlined */
  Node *n = P(1, I), *down[] = {P(0, FI), ir_op2(w, OP_ISUB, n, ir_int(w, 1))};
  Node *here = ir_apply(w, P(0, FI), n, NULL, 0);
  Graph *arms[2] = {ir_graph(w, hp, 2, ir_op2(w, OP_FADD, here, ir_call(w, twice, down, 0)), NULL),
                    ir_graph(w, hp, 2, ir_float(w, 0), NULL)};
  Node *caps[] = {P(0, FI), P(1, I)};
  ir_func_finish(w, twice, ir_switch(w, ir_op2(w, OP_ILT, n, ir_int(w, 0)), arms, 2, caps, 2));
  Node *args[] = {c, P(1, I)};
  IrType *ps[] = {FA, I};
  Node *both = ir_pair(w, ir_call(w, twice, args, 0), c);
  int64_t len = 4;
  ArrayObj *a = rt_new_array(&rt, rt.desc_float_array, &len, true);
  for (int k = 0; k < 4; k++) a->data[k].f = k;
  Slot in[] = {{.p = &a->h}, int_slot(3)}, res[2];
  CHECK(run(ir_graph(w, ps, 2, both, NULL), in, res));
  CHECK(res[0].f == 6);
  CHECK(a->h.rc == 2);
  rt_release(&rt, res[1].p);
  CHECK(a->h.rc == 1);
  rt_release(&rt, &a->h);
  nothing_left();
}

/* while with a growing stack of strings; fails in the middle for some inputs */
static void growing(void) {
  Node *i = P(0, I), *strings[] = {P(1, S), P(1, S)};
  const RtPrim *concat = ir_rt_find("concat_string");
  Node *s = ir_rt(w, concat, S, NULL, strings, 2, 0);
  Node *checked = ir_check(w, OP_CHECK_INDEX, i, P(2, I), NULL, 3);
  Node *row = ir_op2(w, OP_AFTER, s, checked);
  IrType *bp[] = {I, S, I}, *ts[] = {S, S}, *cp[] = {I, S, I};
  Node *rs[] = {row, row};
  Graph *body = ir_graph(w, bp, 3, ir_tuple(w, ir_tuple_type(w, ts, NULL, 2), rs), NULL);
  Graph *cond = ir_graph(w, cp, 3, ir_op2(w, OP_ILT, i, ir_int(w, 6)), NULL);
  LoopInfo info = {.ncarried = 1, .nstacked = 1, .ncaps = 1, .has_cond = true};
  Node *ops[] = {ir_string(w, sym_of(&syms, "ab")), P(0, I)};
  Node *loop = ir_loop(w, &info, NULL, ops, body, cond, 0);
  Node *both = ir_pair(w, ir_get(w, loop, 1), ir_get(w, loop, 2));
  Graph *g = ir_graph(w, &I, 1, both, NULL);
  Slot in[] = {int_slot(100)}, res[2];
  CHECK(run(g, in, res));
  ArrayObj *a = (ArrayObj *)res[0].p;
  CHECK(a->dims[0] == 6 && res[1].i == 6 && ((StringObj *)a->data[5].p)->len == 128);
  rt_release(&rt, res[0].p);
  nothing_left();
  in[0] = int_slot(4);
  CHECK(!run(g, in, res));
  CHECK(rt.error.kind == ERR_INDEX);
  nothing_left();
}

/* An array updated in one arm only, in a loop; then the old and the new version are both used. */
static void updates_in_arms(void) {
  Node *i = P(0, I), *a = P(1, FA);
  IrType *ap[] = {I, FA}, *t1[] = {FA};
  Node *two = ir_float(w, 2);
  Graph *arms[2] = {ir_graph(w, ap, 2, a, NULL), ir_graph(w, ap, 2, ir_update(w, a, &i, 1, two), NULL)};
  Node *caps[] = {i, a};
  Node *sel = ir_switch(w, ir_op2(w, OP_IEQ, ir_op2(w, OP_IAND, i, ir_int(w, 1)), ir_int(w, 1)), arms, 2, caps, 2);
  Graph *body = ir_graph(w, ap, 2, ir_tuple(w, ir_tuple_type(w, t1, NULL, 1), &sel), NULL);
  LoopInfo info = {.ncarried = 1};
  Node *n = P(0, I), *z = ir_zeros(w, FA, &n, 0);
  Node *end = ir_get(w, ir_loop(w, &info, n, &z, body, NULL, 0), 0);
  Slot in[] = {int_slot(5)}, res[2];
  CHECK(run(ir_graph(w, &I, 1, end, NULL), in, res));
  ArrayObj *r = (ArrayObj *)res[0].p;
  CHECK(r->data[0].f == 0 && r->data[1].f == 2 && r->data[3].f == 2 && r->data[4].f == 0);
  CHECK(count_in_loops(LOP_UNIQUE) == 0 && count_in_loops(LOP_DATA) == 0);
  rt_release(&rt, res[0].p);
  nothing_left();
  /* both versions: value semantics */
  Node *zero = ir_int(w, 0), *u = ir_update(w, end, &zero, 1, ir_float(w, 9));
  CHECK(run(ir_graph(w, &I, 1, ir_pair(w, u, end), NULL), in, res));
  CHECK(((ArrayObj *)res[0].p)->data[0].f == 9 && ((ArrayObj *)res[1].p)->data[0].f == 0);
  rt_release(&rt, res[0].p);
  rt_release(&rt, res[1].p);
  nothing_left();
}

/* A row of a matrix is read by the arm, or the loop, that updates the matrix: it is the old row. */
static void rows_of_old_versions(void) {
  Node *zero = ir_int(w, 0), *n = P(0, I), *dims[] = {n, n}, *at[] = {zero, zero};
  Node *m = ir_update(w, ir_zeros(w, FM, dims, 0), at, 2, ir_float(w, 3));
  Node *row = ir_index(w, m, &zero, 1);
  IrType *ap[] = {FM, FA};
  Node *at1[] = {zero, ir_int(w, 1)}, *one = ir_int(w, 1);
  Node *up = ir_update(w, ir_update(w, P(0, FM), at, 2, ir_float(w, 7)), at1, 2, ir_float(w, 8));
  Node *read = ir_op2(w, OP_FADD, ir_index(w, P(1, FA), &zero, 1), ir_index(w, P(1, FA), &one, 1));
  Graph *arms[] = {ir_graph(w, ap, 2, ir_pair(w, up, read), NULL),
                   ir_graph(w, ap, 2, ir_pair(w, P(0, FM), ir_float(w, 1)), NULL)};
  Node *caps[] = {m, row};
  Node *sw = ir_switch(w, ir_op2(w, OP_ILT, n, ir_int(w, 0)), arms, 2, caps, 2);
  Slot in[] = {int_slot(2)}, res[2];
  CHECK(run(ir_graph(w, &I, 1, sw, NULL), in, res));
  CHECK(res[1].f == 3 && ((ArrayObj *)res[0].p)->data[0].f == 7);
  rt_release(&rt, res[0].p);
  nothing_left();
  /* in a loop: m[0][0] <- row[0] + 1, twice */
  IrType *bp[] = {I, FM, FA}, *t1[] = {FM};
  Node *next = ir_update(w, P(1, FM), at, 2, ir_op2(w, OP_FADD, ir_index(w, P(2, FA), &zero, 1), ir_float(w, 1)));
  Graph *body = ir_graph(w, bp, 3, ir_tuple(w, ir_tuple_type(w, t1, NULL, 1), &next), NULL);
  LoopInfo info = {.ncarried = 1, .ncaps = 1};
  Node *end = ir_get(w, ir_loop(w, &info, n, caps, body, NULL, 0), 0);
  CHECK(run(ir_graph(w, &I, 1, end, NULL), in, res));
  CHECK(((ArrayObj *)res[0].p)->data[0].f == 4);
  rt_release(&rt, res[0].p);
  nothing_left();
}

/* Two arrays swapped in each iteration, both updated. */
static void swapped_buffers(void) {
  Node *i = P(0, I), *a = P(1, FA), *b = P(2, FA);
  Node *v = ir_op2(w, OP_FADD, ir_index(w, a, &i, 1), ir_float(w, 1));
  Node *next[] = {ir_update(w, b, &i, 1, v), a};
  IrType *bp[] = {I, FA, FA}, *t2[] = {FA, FA};
  Graph *body = ir_graph(w, bp, 3, ir_tuple(w, ir_tuple_type(w, t2, NULL, 2), next), NULL);
  LoopInfo info = {.ncarried = 2};
  Node *n = P(0, I), *z = ir_zeros(w, FA, &n, 0), *init[] = {z, z};
  Node *loop = ir_loop(w, &info, n, init, body, NULL, 0);
  Slot in[] = {int_slot(4)}, res[2];
  CHECK(run(ir_graph(w, &I, 1, ir_pair(w, ir_get(w, loop, 0), ir_get(w, loop, 1)), NULL), in, res));
  ArrayObj *x = (ArrayObj *)res[0].p, *y = (ArrayObj *)res[1].p;
  CHECK(x != y);
  CHECK(y->data[0].f == 1 && y->data[2].f == 1 && x->data[1].f == 1 && x->data[3].f == 1);
  CHECK(x->data[0].f == 0 && y->data[1].f == 0);
  CHECK(count_in_loops(LOP_UNIQUE) == 0);
  rt_release(&rt, res[0].p);
  rt_release(&rt, res[1].p);
  nothing_left();
}

/* for i < n carrying m : m[i], m[i + 1] <- m[i + 1], m[i]: the rows are copied, not the matrix. */
static void exchanged_rows(void) {
  Node *i = P(0, I), *m = P(1, FM), *i1 = ir_op2(w, OP_IADD, i, ir_int(w, 1));
  Node *above = ir_index(w, m, &i, 1), *below = ir_index(w, m, &i1, 1);
  Node *u = ir_update(w, ir_update(w, m, &i, 1, below), &i1, 1, above);
  IrType *bp[] = {I, FM}, *t1[] = {FM};
  Graph *body = ir_graph(w, bp, 2, ir_tuple(w, ir_tuple_type(w, t1, NULL, 1), &u), NULL);
  LoopInfo info = {.ncarried = 1};
  Node *n = P(0, I), *dims[] = {ir_op2(w, OP_IADD, n, ir_int(w, 1)), ir_int(w, 2)}, *zero = ir_int(w, 0);
  Node *at[] = {zero, ir_int(w, 1)}, *start = ir_update(w, ir_zeros(w, FM, dims, 0), at, 2, ir_float(w, 7));
  Node *end = ir_get(w, ir_loop(w, &info, n, &start, body, NULL, 0), 0);
  Slot in[] = {int_slot(3)}, res[1];
  CHECK(run(ir_graph(w, &I, 1, end, NULL), in, res));
  ArrayObj *a = (ArrayObj *)res[0].p;
  CHECK(a->data[7].f == 7 && a->data[1].f == 0 && a->data[6].f == 0);
  CHECK(count_op(LOP_UNIQUE) == 0 && count_op(LOP_COPY) == 2);
  rt_release(&rt, res[0].p);
  nothing_left();
}

/* for i < n carrying b : b <- Full (a[i] <- 1) where b is Full a: the array is taken out of its box, and changed in
 * place unless somebody else holds the box. */
static void updates_in_boxes(void) {
  static const int key;
  IrType *box = ir_variant_type(w, sym_of(&syms, "box"), &key, NULL, 0);
  box->ctors = NEW_ARRAY(&arena, IrCtor, 2);
  box->nctors = 2;
  box->ctors[0] = (IrCtor){.name = sym_of(&syms, "Empty"), .payload = ir_type(w, T_UNIT)};
  box->ctors[1] = (IrCtor){.name = sym_of(&syms, "Full"), .payload = FA};
  Node *i = P(1, I), *full = ir_inj(w, box, 1, ir_update(w, ir_uninj(w, P(0, box), 1), &i, 1, ir_float(w, 1)));
  IrType *ap[] = {box, I}, *bp[] = {I, box}, *t1[] = {box};
  Graph *arms[] = {ir_graph(w, ap, 2, P(0, box), NULL), ir_graph(w, ap, 2, full, NULL)};
  Node *caps[] = {P(1, box), P(0, I)}, *next = ir_switch(w, ir_tag(w, P(1, box)), arms, 2, caps, 2);
  Graph *body = ir_graph(w, bp, 2, ir_tuple(w, ir_tuple_type(w, t1, NULL, 1), &next), NULL);
  LoopInfo info = {.ncarried = 1};
  Node *n = P(0, I), *b = P(1, box), *end = ir_get(w, ir_loop(w, &info, n, &b, body, NULL, 0), 0);
  Node *zeros = ir_inj(w, box, 1, ir_zeros(w, FA, &n, 0));
  Slot in[] = {int_slot(4), {0}}, boxed[1], res[1];
  CHECK(run(ir_graph(w, &I, 1, zeros, NULL), in, boxed));
  in[1] = boxed[0];
  IrType *ps[] = {I, box};
  CHECK(run(ir_graph(w, ps, 2, end, NULL), in, res));
  CHECK(count_op(LOP_COPY) == 0 && count_op(LOP_EMPTY) == 1 && count_op(LOP_REFILL) == 1);
  ArrayObj *before = (ArrayObj *)((BoxObj *)boxed[0].p)->fields[0].p,
           *after = (ArrayObj *)((BoxObj *)res[0].p)->fields[0].p;
  CHECK(before != after && before->data[3].f == 0 && after->data[0].f == 1 && after->data[3].f == 1);
  rt_release(&rt, boxed[0].p);
  rt_release(&rt, res[0].p);
  nothing_left();
}

/* Arrays of strings: elements replaced in place, old ones freed, the new one read from the same array. */
static void pointer_elements(void) {
  IrType *SA = ir_array_type(w, S);
  Node *i = P(0, I), *a = P(1, SA);
  Node *i1 = ir_op2(w, OP_IADD, i, ir_int(w, 1));
  Node *x = ir_index(w, a, &i, 1), *both[] = {x, ir_index(w, a, &i1, 1)};
  const RtPrim *concat = ir_rt_find("concat_string");
  Node *joined = ir_rt(w, concat, S, NULL, both, 2, 0);
  Node *u = ir_update(w, a, &i1, 1, joined);
  Node *u2 = ir_update(w, u, &i, 1, ir_index(w, u, &i1, 1));
  IrType *bp[] = {I, SA}, *t1[] = {SA};
  Graph *body = ir_graph(w, bp, 2, ir_tuple(w, ir_tuple_type(w, t1, NULL, 1), &u2), NULL);
  LoopInfo info = {.ncarried = 1};
  Node *elems[4];
  for (int k = 0; k < 4; k++)
    elems[k] = ir_rt(w, ir_rt_find("show"), S, I, (Node *[]){ir_op2(w, OP_IADD, P(0, I), ir_int(w, k))}, 1, 0);
  Node *init = ir_array(w, S, elems, 4, 0);
  Node *loop = ir_loop(w, &info, ir_int(w, 3), &init, body, NULL, 0);
  Slot in[] = {int_slot(1)}, res[1];
  CHECK(run(ir_graph(w, &I, 1, ir_get(w, loop, 0), NULL), in, res));
  ArrayObj *r = (ArrayObj *)res[0].p;
  CHECK_STR(((StringObj *)r->data[3].p)->bytes, "1234");
  CHECK_STR(((StringObj *)r->data[2].p)->bytes, "1234");
  CHECK_STR(((StringObj *)r->data[0].p)->bytes, "12");
  CHECK(count_op(LOP_UNIQUE) == 0);
  rt_release(&rt, res[0].p);
  nothing_left();
}

/* A bag as accumulator in a loop, then filled. */
static void bags(void) {
  IrType *BF = ir_bag_type(w, F);
  Node *i = P(0, I), *n = P(2, I);
  Node *ops[] = {P(1, BF), n, ir_op2(w, OP_IREM, i, ir_int(w, 3)), ir_float(w, 1)};
  Node *acc = ir_make(w, OP_ACC_AT, BF, ops, 4);
  IrType *bp[] = {I, BF, I}, *t1[] = {BF};
  Graph *body = ir_graph(w, bp, 3, ir_tuple(w, ir_tuple_type(w, t1, NULL, 1), &acc), NULL);
  LoopInfo info = {.naccs = 1, .ncaps = 1};
  Node *init[] = {ir_zero(w, BF), P(0, I)};
  Node *bag = ir_get(w, ir_loop(w, &info, P(0, I), init, body, NULL, 0), 0);
  Node *fill[] = {bag, P(0, I)};
  Slot in[] = {int_slot(10)}, res[2];
  CHECK(run(ir_graph(w, &I, 1, ir_make(w, OP_FILL, FA, fill, 2), NULL), in, res));
  ArrayObj *r = (ArrayObj *)res[0].p;
  CHECK(r->dims[0] == 10 && r->data[0].f == 4 && r->data[2].f == 3 && r->data[3].f == 0);
  rt_release(&rt, res[0].p);
  nothing_left();
}

/* Every allocation of a run fails in turn: each time an error, and nothing left. */
static void out_of_memory(void) {
  IrType *L = list_type();
  Node *fields[] = {ir_rt(w, ir_rt_find("show"), S, I, (Node *[]){P(0, I)}, 1, 0), P(1, L)};
  Node *cell = ir_inj(w, L, 1, ir_tuple(w, L->ctors[1].payload, fields));
  IrType *bp[] = {I, L}, *ts[] = {L, L};
  Node *rs[] = {cell, P(1, L)};
  Graph *body = ir_graph(w, bp, 2, ir_tuple(w, ir_tuple_type(w, ts, NULL, 2), rs), NULL);
  LoopInfo info = {.ncarried = 1, .nstacked = 1};
  Node *nil = ir_inj(w, L, 0, NULL);
  Node *loop = ir_loop(w, &info, P(0, I), &nil, body, NULL, 0);
  Node *both = ir_pair(w, ir_get(w, loop, 0), ir_get(w, loop, 1));
  LowerEntry e = {ir_graph(w, &I, 1, both, NULL), "entry", NULL};
  last = lower_module(w, &arena, &e, 1);
  Mod *m = mod_new(&rt, last, no_global, NULL);
  for (int64_t at = 1; at < 200; at++) {
    Slot in[] = {int_slot(5)}, res[2];
    rt_clear_error(&rt);
    heap.fail_at = at;
    Status st = rt_call(&rt, m->funcs[e.func->index], in, res);
    heap.fail_at = -1;
    if (st == 0) {
      rt_release(&rt, res[0].p);
      rt_release(&rt, res[1].p);
    }
    CHECK(rt.live == 0);
    if (st == 0) break;
    CHECK(at < 199);
  }
  eval_forget(m);
  mod_free(m);
}

/* A table of constants is the module's: one instruction. An update copies it; a list of tables and names needs no
 * more. */
static void constant_tables(void) {
  enum { ROWS = 150, COLUMNS = 5 };
  Node *rows[ROWS], *row[COLUMNS];
  for (int i = 0; i < ROWS; i++) {
    for (int k = 0; k < COLUMNS; k++) row[k] = ir_float(w, 10 * i + k);
    rows[i] = ir_array(w, F, row, COLUMNS, 0);
  }
  Node *table = ir_array(w, FA, rows, ROWS, 0), *at[] = {P(0, I), ir_int(w, 2)};
  IrType *ps[] = {I};
  Slot args[] = {int_slot(7)}, res[2];
  CHECK(run(ir_graph(w, ps, 1, table, NULL), args, res));
  CHECK(last->nboxes == 1 && last->funcs[0]->ncode <= 3 && ((ArrayObj *)res[0].p)->data[7 * COLUMNS + 2].f == 72);
  nothing_left();
  Node *changed = ir_update(w, table, at, 2, ir_float(w, -1)), *both = ir_pair(w, changed, table);
  for (int again = 0; again < 2; again++) {
    args[0].i = 7 + again;
    CHECK(run(ir_graph(w, ps, 1, both, NULL), args, res));
    const ArrayObj *a = (ArrayObj *)res[0].p, *b = (ArrayObj *)res[1].p;
    CHECK(a != b && a->dims[0] == ROWS && a->dims[1] == COLUMNS && a->data[args[0].i * COLUMNS + 2].f == -1);
    for (int i = 0; i < ROWS * COLUMNS; i++) CHECK(b->data[i].f == 10 * (i / COLUMNS) + i % COLUMNS);
    rt_release(&rt, res[0].p);
    rt_release(&rt, res[1].p);
    nothing_left();
  }
  Node *names[] = {ir_string(w, sym_of(&syms, "one")), ir_string(w, sym_of(&syms, "two"))};
  Node *text = ir_array(w, S, names, 2, 0), *index = P(0, I);
  args[0].i = 1;
  CHECK(run(ir_graph(w, ps, 1, ir_index(w, text, &index, 1), NULL), args, res));
  CHECK_STR(((StringObj *)res[0].p)->bytes, "two");
  CHECK(count_op(LOP_STRING) == 0);
  rt_release(&rt, res[0].p);
  nothing_left();
}

int main(void) {
  heap_init(&heap);
  arena_init(&arena, &heap);
  symtable_init(&syms, &arena);
  w = world_new(&arena, &syms, false, false);
  compilation_begin(w);
  rt_init(&rt, &heap);
  rt.evaluate = eval_function;
  rt.budget = -1;
  I = ir_type(w, T_INT), F = ir_type(w, T_FLOAT), B = ir_type(w, T_BOOL), S = ir_type(w, T_STRING);
  FA = ir_array_type(w, F), IA = ir_array_type(w, I), FM = ir_array_type(w, FA);
  scalars_and_tuples();
  update_in_place();
  nested_stacking();
  matrix_sum();
  lists();
  mutual_tail_calls();
  closures();
  growing();
  updates_in_arms();
  rows_of_old_versions();
  swapped_buffers();
  pointer_elements();
  exchanged_rows();
  updates_in_boxes();
  bags();
  constant_tables();
  out_of_memory();
  eval_forget(loaded);
  mod_free(loaded);
  eval_destroy(&rt);
  rt_destroy(&rt);
  compilation_end(w);
  arena_free(&arena);
  return check_result();
}
