/* SPDX-License-Identifier: MIT */
/* Tests of src/eval with functions put together by hand: scalars, loops, calls, tail calls, deep recursion, closures,
 * foreign functions, clean-up after errors, traces, budget and interrupt, failure of every allocation. */
#include "check.h"
#include "eval/eval.h"
#include "runtime/runtime_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static Heap heap;
static Arena arena;
static Rt rt;

/* ---- Building code ----------------------------------------------------------------------------------------------- */
typedef struct Builder {
  LFunc *f;
  Vec(LInstr) code;
} Builder;

static LInstr *emit(Builder *b, LOp op, int dst, int a, int c) {
  LInstr in = {.op = (uint16_t)op, .dst = dst, .a = a, .b = c, .c = -1, .site = (Site)(b->code.len + 1)};
  vec_push(&arena, b->code, in);
  return &b->code.data[b->code.len - 1];
}
static void scalar(Builder *b, Op sub, int dst, int a, int c) { emit(b, LOP_SCALAR, dst, a, c)->sub = (uint16_t)sub; }
static void integer(Builder *b, int dst, int64_t v) { emit(b, LOP_INT, dst, -1, -1)->imm.i = v; }
static void jump(Builder *b, LOp op, int a, int label) { emit(b, op, -1, a, -1)->imm.i = label; }
static int32_t *list(int n, const int *xs) {
  int32_t *p = NEW_ARRAY(&arena, int32_t, n ? n : 1);
  for (int k = 0; k < n; k++) p[k] = xs[k];
  return p;
}
static LInstr *with(LInstr *in, int nargs, const int *args, int nres, const int *res) {
  in->args = list(nargs, args);
  in->nargs = (int16_t)nargs;
  in->res = list(nres, res);
  in->nres = (int16_t)nres;
  return in;
}
#define REGS(...)                                                                                                      \
  (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]) { __VA_ARGS__ }
#define NONE 0, NULL

/* regs: i f p r, capitals P for owned pointers */
static Builder begin(LModule *m, int index, int nparams, const char *regs, const char *results) {
  LFunc *f = NEW(&arena, LFunc);
  f->index = index;
  f->nparams = nparams;
  f->nregs = (int)strlen(regs);
  f->regs = NEW_ARRAY(&arena, LReg, f->nregs + 1);
  for (int k = 0; k < f->nregs; k++)
    f->regs[k] = (LReg){regs[k] == 'i'   ? R_INT
                        : regs[k] == 'f' ? R_FLOAT
                        : regs[k] == 'r' ? R_RAW
                                         : R_PTR,
                        regs[k] == 'P'};
  f->nresults = (int)strlen(results);
  f->result_kinds = NEW_ARRAY(&arena, uint8_t, f->nresults + 1);
  for (int k = 0; k < f->nresults; k++)
    f->result_kinds[k] = results[k] == 'i' ? R_INT : results[k] == 'f' ? R_FLOAT : R_PTR;
  f->nlabels = 8;
  f->id = 100 + (uint64_t)index;
  m->funcs[index] = f;
  return (Builder){.f = f};
}
static void end(Builder *b) {
  b->f->code = b->code.data;
  b->f->ncode = b->code.len;
}

static Slot *no_global(void *user, int index) {
  (void)index;
  return user;
}
static LModule *module(int nfuncs) {
  LModule *m = NEW(&arena, LModule);
  m->funcs = NEW_ARRAY(&arena, LFunc *, nfuncs);
  m->nfuncs = nfuncs;
  m->descs = NEW_ARRAY(&arena, const Desc *, 4);
  m->descs[0] = rt.desc_float_array;
  m->descs[1] = rt.desc_int_array;
  m->ndescs = 2;
  return m;
}
static Status call(Mod *m, int index, int n, const Slot *args, Slot *res) {
  (void)n;
  rt_clear_error(&rt);
  return rt_call(&rt, m->funcs[index], args, res);
}
static void clean(Mod *m, const char *where) {
  eval_forget(m);
  mod_free(m);
  if (rt.live) fprintf(stderr, "%s: %lld objects left\n", where, (long long)rt.live);
  CHECK(rt.live == 0);
  rt_clear_error(&rt);
  rt.budget = -1;
}

/* sum i for i < n, by a loop: i = 1, s = 2, one = 3, test = 4 */
static void build_sum(LModule *m, int index) {
  Builder b = begin(m, index, 1, "iiiii", "i");
  integer(&b, 1, 0);
  integer(&b, 2, 0);
  integer(&b, 3, 1);
  jump(&b, LOP_LABEL, -1, 0);
  emit(&b, LOP_LOOP_HEAD, -1, -1, 1);
  scalar(&b, OP_ILT, 4, 1, 0);
  jump(&b, LOP_BRANCH, 4, 1);
  scalar(&b, OP_IADD, 2, 2, 1);
  scalar(&b, OP_IADD, 1, 1, 3);
  emit(&b, LOP_POLL, -1, -1, -1);
  jump(&b, LOP_JUMP, -1, 0);
  jump(&b, LOP_LABEL, -1, 1);
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(2), NONE);
  end(&b);
}

/* fib n: two calls */
static void build_fib(LModule *m, int index) {
  Builder b = begin(m, index, 1, "iiiiii", "i");
  integer(&b, 1, 2);
  scalar(&b, OP_ILT, 2, 0, 1);
  jump(&b, LOP_BRANCH, 2, 0);
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(0), NONE);
  jump(&b, LOP_LABEL, -1, 0);
  scalar(&b, OP_ISUB, 3, 0, 1);
  with(emit(&b, LOP_CALL, -1, -1, -1), REGS(3), REGS(4))->imm.i = index;
  integer(&b, 1, 1);
  scalar(&b, OP_ISUB, 3, 0, 1);
  with(emit(&b, LOP_CALL, -1, -1, -1), REGS(3), REGS(5))->imm.i = index;
  scalar(&b, OP_IADD, 4, 4, 5);
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(4), NONE);
  end(&b);
}

/* down n = if n = 0 then 0 else [1 +] down (n - 1); with `tail` without the addition */
static void build_down(LModule *m, int index, bool tail) {
  Builder b = begin(m, index, 1, "iii", "i");
  jump(&b, LOP_BRANCH, 0, 0);
  integer(&b, 1, 1);
  scalar(&b, OP_ISUB, 2, 0, 1);
  with(emit(&b, LOP_CALL, -1, -1, -1), REGS(2), REGS(2))->imm.i = index;
  if (!tail) scalar(&b, OP_IADD, 2, 2, 1);
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(2), NONE);
  jump(&b, LOP_LABEL, -1, 0);
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(0), NONE);
  end(&b);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What a clock has seen that ticks every 1,000 instructions. */
typedef struct Ticks {
  int n;
  bool found;
  EvalHot hot;
} Ticks;
static void count_tick(void *ticker, void *frame) {
  Ticks *t = ticker;
  t->n++;
  rt.budget = 1000;
  if (!t->found) t->found = eval_hottest(frame, t->n, &t->hot, 1) > 0;
}

static void test_loops_and_calls(bool timing) {
  LModule *lm = module(4);
  build_sum(lm, 0);
  build_fib(lm, 1);
  build_down(lm, 2, false);
  build_down(lm, 3, true);
  Mod *m = mod_new(&rt, lm, no_global, NULL);
  Slot x = {.i = 1000}, res;
  CHECK(call(m, 0, 1, &x, &res) == 0 && res.i == 499500);
  x.i = 20;
  CHECK(call(m, 1, 1, &x, &res) == 0 && res.i == 6765);
  x.i = 1000000;
  CHECK(call(m, 2, 1, &x, &res) == 0 && res.i == 1000000);
  x.i = 3000000;
  size_t before = heap.peak;
  CHECK(call(m, 3, 1, &x, &res) == 0 && res.i == 0 && heap.peak == before);
  rt.eval_stack_limit = 1 << 20;
  eval_destroy(&rt);
  CHECK(call(m, 2, 1, &x, &res) == 1 && rt.error.kind == ERR_STACK && rt.error.depth > 1000 && rt.error.site == 4);
  rt.eval_stack_limit = (size_t)1 << 30;
  if (timing) {
    x.i = 50000000;
    double start = seconds();
    call(m, 0, 1, &x, &res);
    printf("loop: %.0f M instructions/s\n", 6e-6 * (double)x.i / (seconds() - start));
    x.i = 32;
    start = seconds();
    call(m, 1, 1, &x, &res);
    printf("fib 32: %.3f s\n", seconds() - start);
  }
  Ticks ticks = {0};
  rt.tick = count_tick;
  rt.ticker = &ticks;
  rt.budget = 1000;
  x.i = 10000;
  CHECK(call(m, 0, 1, &x, &res) == 0 && ticks.n >= 60 && ticks.n <= 90);
  CHECK(ticks.found && ticks.hot.mod == m && ticks.hot.func == 0 && ticks.hot.head == 3);
  CHECK(ticks.hot.size > 3 && ticks.hot.size < lm->funcs[0]->ncode && ticks.hot.depth == 0);
  ticks.found = false; /* it stays hot until somebody has asked for it */
  CHECK(call(m, 0, 1, &x, &res) == 0 && ticks.found && eval_asked(m, 0, 3));
  ticks.found = false;
  CHECK(call(m, 0, 1, &x, &res) == 0 && ticks.found && ticks.hot.head == -1); /* that was the third call */
  rt.tick = NULL;
  rt.budget = 1000000;
  CHECK(call(m, 0, 1, &x, &res) == 0 && rt.budget < 1000000 - 60000 && rt.budget > 1000000 - 90000);
  rt.budget = -1;
  rt.interrupt = 1;
  CHECK(call(m, 0, 1, &x, &res) == 1 && rt.error.kind == ERR_INTERRUPT && rt.interrupt == 0);
  rt.deadline = seconds() + 0.02;
  x.i = INT64_MAX;
  CHECK(call(m, 0, 1, &x, &res) == 1 && rt.error.kind == ERR_TIME);
  rt.deadline = 0;
  clean(m, "loops and calls");
}

/* f owned xs, i: checks i < length, xs[i], releases; g i: makes an array, calls f with it; h i: g i through a
 * closure. */
static void build_errors(LModule *m) {
  Builder b = begin(m, 0, 2, "Piirf", "f");
  emit(&b, LOP_DIM, 2, 0, -1);
  emit(&b, LOP_CHECK_INDEX, -1, 1, 2);
  emit(&b, LOP_DATA, 3, 0, -1);
  LInstr *load = emit(&b, LOP_LOAD, 4, 3, 1);
  load->imm.i = 1;
  load->c = 0;
  emit(&b, LOP_RELEASE, -1, 0, -1);
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(4), NONE);
  end(&b);
  b = begin(m, 1, 1, "iiPfP", "f");
  integer(&b, 1, 3);
  with(emit(&b, LOP_NEW_ARRAY, 2, -1, 1), REGS(1), NONE);
  with(emit(&b, LOP_NEW_ARRAY, 4, -1, 1), REGS(1), NONE);
  with(emit(&b, LOP_CALL, -1, -1, -1), REGS(2, 0), REGS(3))->imm.i = 0;
  emit(&b, LOP_NULLPTR, 2, -1, -1);
  emit(&b, LOP_RELEASE, -1, 4, -1);
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(3), NONE);
  end(&b);
  /* closure code: own parameter i, captured array (owned by the code) */
  b = begin(m, 2, 2, "iPf", "f");
  b.f->ncaps = 1;
  with(emit(&b, LOP_CALL, -1, -1, -1), REGS(1, 0), REGS(2))->imm.i = 0;
  emit(&b, LOP_NULLPTR, 1, -1, -1);
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(2), NONE);
  end(&b);
  b = begin(m, 3, 1, "iiPPf", "f");
  integer(&b, 1, 3);
  with(emit(&b, LOP_NEW_ARRAY, 2, -1, 1), REGS(1), NONE);
  with(emit(&b, LOP_NEW_CLOSURE, 3, -1, -1), REGS(2), NONE)->imm.i = 2;
  emit(&b, LOP_NULLPTR, 2, -1, -1);
  with(emit(&b, LOP_APPLY, -1, 3, -1), REGS(0), REGS(4));
  emit(&b, LOP_RELEASE, -1, 3, -1);
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(4), NONE);
  end(&b);
}

static void test_errors(void) {
  LModule *lm = module(4);
  build_errors(lm);
  Mod *m = mod_new(&rt, lm, no_global, NULL);
  Slot x = {.i = 2}, res;
  for (int f = 1; f <= 3; f += 2) {
    x.i = 2;
    CHECK(call(m, f, 1, &x, &res) == 0 && res.f == 0 && rt.live == 0);
    x.i = 7;
    CHECK(call(m, f, 1, &x, &res) == 1 && rt.live == 0);
    CHECK_STR(rt.error.message, "index 7 is out of bounds for an array of length 3");
    CHECK(rt.error.site == 2);
  }
  /* calls of closures that come last leave no trace, and neither does what the closure calls last */
  CHECK(rt.error.ntrace == 0);
  for (int n = 1; n < 30; n++)
    for (int f = 1; f <= 3; f += 2) {
      eval_forget(m);
      mod_free(m);
      m = mod_new(&rt, lm, no_global, NULL);
      eval_destroy(&rt);
      heap.fail_at = n;
      x.i = n % 2 ? 2 : 7;
      Status s = call(m, f, 1, &x, &res);
      heap.fail_at = -1;
      CHECK(s == 0 || rt.error.kind == ERR_MEMORY || rt.error.kind == ERR_INDEX);
      CHECK(rt.live == 0);
    }
  clean(m, "errors");
  for (int n = 1; n < 30; n++) {
    heap.fail_at = n;
    m = mod_new(&rt, lm, no_global, NULL);
    heap.fail_at = -1;
    if (m) eval_forget(m), mod_free(m);
    rt_clear_error(&rt);
  }
}

/* Each scalar operation against C. */
static void test_scalars(void) {
  static const struct {
    Op op;
    const char *kinds;
    double a, b, want;
  } rows[] = {{OP_FADD, "fff", 1, 2, 3},
              {OP_FPOWI, "fif", 3, 3, 27},
              {OP_FPOW, "fff", 2, 0.5, M_SQRT2},
              {OP_FMIN, "fff", 2, 1, 1},
              {OP_FMAX, "fff", 2, 1, 2},
              {OP_FLT, "ffi", 1, 2, 1},
              {OP_ROUND, "f-f", 2.5, 0, 3},
              {OP_SIGN, "f-f", -3, 0, -1},
              {OP_ATAN2, "fff", 1, -1, 3 * M_PI / 4},
              {OP_IS_NAN, "f-i", NAN, 0, 1},
              {OP_INT_OF_FLOAT, "f-i", -2.7, 0, -2},
              {OP_FLOAT_OF_INT, "i-f", 5, 0, 5},
              {OP_IDIV, "iii", -7, 2, -3},
              {OP_IREM, "iii", -7, 2, -1},
              {OP_IDIV, "iii", 7, -1, -7},
              {OP_IREM, "iii", 7, -1, 0},
              {OP_IPOW, "iii", 3, 4, 81},
              {OP_ISHR, "iii", -1, 63, 1},
              {OP_ISHL, "iii", 1, 4, 16},
              {OP_NOT, "i-i", 1, 0, 0},
              {OP_IMIN, "iii", 3, 2, 2},
              {OP_LGAMMA, "f-f", 5, 0, 3.1780538303479458},
              {OP_DIGAMMA, "f-f", 1, 0, -0.57721566490153286}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    LModule *lm = module(1);
    char regs[4] = {rows[k].kinds[0], rows[k].kinds[1] == 'f' ? 'f' : 'i', rows[k].kinds[2], 0};
    Builder b = begin(lm, 0, 2, regs, regs + 2);
    scalar(&b, rows[k].op, 2, 0, 1);
    with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(2), NONE);
    end(&b);
    Mod *m = mod_new(&rt, lm, no_global, NULL);
    Slot args[2], res;
    if (regs[0] == 'f') args[0].f = rows[k].a;
    else args[0].i = (int64_t)rows[k].a;
    if (regs[1] == 'f') args[1].f = rows[k].b;
    else args[1].i = (int64_t)rows[k].b;
    CHECK(call(m, 0, 2, args, &res) == 0);
    double got = regs[2] == 'f' ? res.f : (double)res.i;
    CHECK(fabs(got - rows[k].want) <= 1e-15 * fabs(got));
    clean(m, "scalar");
  }
}

static void test_foreign_and_prims(void) {
  LModule *lm = module(2);
  uint8_t kinds[] = {SLOT_FLOAT, SLOT_INT};
  SymTable syms;
  symtable_init(&syms, &arena);
  LForeign foreign = {sym_of(&syms, "libm.so.6"), sym_of(&syms, "ldexp"), 2, kinds, SLOT_FLOAT, 0};
  LForeign missing = {sym_of(&syms, "libm.so.6"), sym_of(&syms, "no_such_function"), 2, kinds, SLOT_FLOAT, 0};
  LForeign both[] = {foreign, missing};
  lm->foreigns = both;
  lm->nforeigns = 2;
  LText text = {"a-b", 3};
  lm->strings = &text;
  lm->nstrings = 1;
  for (int k = 0; k < 2; k++) {
    Builder b = begin(lm, k, 2, "fifPi", "fi");
    with(emit(&b, LOP_FOREIGN, -1, -1, -1), REGS(0, 1), REGS(2))->imm.i = k;
    emit(&b, LOP_STRING, 3, -1, -1);
    with(emit(&b, LOP_RT, -1, -1, -1), REGS(3), REGS(4))->sub = RTP_STR_LENGTH;
    b.code.data[b.code.len - 1].imm.i = -1;
    with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(2, 4), NONE);
    end(&b);
  }
  Mod *m = mod_new(&rt, lm, no_global, NULL);
  Slot args[2] = {{.f = 3}, {.i = 2}}, res[2];
  CHECK(call(m, 0, 2, args, res) == 0 && res[0].f == 12 && res[1].i == 3);
  CHECK(call(m, 1, 2, args, res) == 1 &&
        strstr(rt.error.message, "there is no function `no_such_function` in \"libm.so.6\""));
  clean(m, "foreign");
}

/* Builds stacks, views and bags of n floats in one function; gives the sum of what it finds. */
static void build_arrays(LModule *lm) {
  Builder b = begin(lm, 0, 1, "iiiPrfiPPfPff", "ff");
  enum { N, ZERO, I, STACK, RAW, X, TEST, VIEW, BAG, Y, OTHER, Z, ONE };
  integer(&b, ZERO, 0);
  integer(&b, I, 0);
  with(emit(&b, LOP_NEW_ARRAY, STACK, -1, 0), REGS(ZERO), NONE);
  emit(&b, LOP_FLOAT, ONE, -1, -1)->imm.f = 1;
  integer(&b, TEST, 1);
  jump(&b, LOP_LABEL, -1, 0);
  emit(&b, LOP_GROW, STACK, I, TEST);
  emit(&b, LOP_DATA, RAW, STACK, -1);
  scalar(&b, OP_FLOAT_OF_INT, X, I, -1);
  LInstr *store = emit(&b, LOP_STORE, X, RAW, I);
  store->imm.i = 1;
  store->c = 0;
  scalar(&b, OP_IADD, I, I, TEST);
  scalar(&b, OP_ILT, TEST, I, N);
  emit(&b, LOP_POLL, -1, -1, -1);
  jump(&b, LOP_BRANCH, TEST, 1);
  jump(&b, LOP_JUMP, -1, 0);
  jump(&b, LOP_LABEL, -1, 1);
  emit(&b, LOP_SET_DIM, -1, STACK, N)->imm.i = 0;
  integer(&b, I, 2); /* elements 2 and 3 */
  with(emit(&b, LOP_VIEW, VIEW, STACK, I), REGS(I), NONE);
  emit(&b, LOP_UNIQUE, VIEW, VIEW, -1);
  /* a bag of n: at 3 twice x = 5, then the view shifted by 2 */
  emit(&b, LOP_FLOAT, X, -1, -1)->imm.f = 5;
  integer(&b, I, 3);
  for (int k = 0; k < 2; k++) with(emit(&b, LOP_ACC_AT, BAG, I, -1), REGS(N), REGS(X))->imm.i = 2;
  integer(&b, TEST, 2);
  LInstr *sub = with(emit(&b, LOP_ACC_SUB, BAG, TEST, TEST), REGS(N), NONE);
  sub->imm.i = 2;
  sub->c = VIEW;
  emit(&b, LOP_NULLPTR, VIEW, -1, -1);
  emit(&b, LOP_MOVE, OTHER, BAG, -1);
  emit(&b, LOP_RETAIN, -1, OTHER, -1);
  with(emit(&b, LOP_CADD, BAG, BAG, OTHER), REGS(N), NONE)->imm.i = 2;
  emit(&b, LOP_NULLPTR, OTHER, -1, -1);
  with(emit(&b, LOP_BAG_GET, -1, I, BAG), NONE, REGS(Z))->imm.i = 2;
  with(emit(&b, LOP_BAG_TAKE, BAG, I, -1), REGS(N), REGS(Y))->imm.i = 2;
  with(emit(&b, LOP_BAG_SET, BAG, I, -1), REGS(N), REGS(ONE))->imm.i = 2;
  with(emit(&b, LOP_BAG_FILL, BAG, BAG, -1), REGS(N), NONE)->imm.i = 0;
  emit(&b, LOP_DATA, RAW, BAG, -1);
  LInstr *load = emit(&b, LOP_LOAD, X, RAW, -1);
  load->c = 3;
  scalar(&b, OP_FADD, Y, Y, X);
  emit(&b, LOP_RELEASE, -1, STACK, -1);
  emit(&b, LOP_RELEASE, -1, BAG, -1);
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(Y, Z), NONE);
  end(&b);
}

static void test_arrays(void) {
  static uint8_t ptr[] = {SLOT_PTR};
  const Desc *args[] = {rt.desc_float_array->args[0], rt.desc_float_array};
  Desc bag = *rt.desc_float_array;
  bag.kind = D_BAG;
  bag.args = args;
  bag.slots = ptr;
  LModule *lm = module(1);
  lm->descs[2] = &bag;
  lm->ndescs = 3;
  build_arrays(lm);
  Mod *m = mod_new(&rt, lm, no_global, NULL);
  /* at 3: 2 (5 + 5 + 3) from the accumulations, 1 set afterwards */
  for (int64_t n = 4; n < 40; n += 7) {
    Slot x = {.i = n}, res[2];
    CHECK(call(m, 0, 1, &x, res) == 0 && res[0].f == 27 && res[1].f == 26);
    CHECK(rt.live == 0);
  }
  for (int fail = 1; fail < 40; fail++) {
    Slot x = {.i = 5}, res[2];
    heap.fail_at = fail;
    Status s = call(m, 0, 1, &x, res);
    heap.fail_at = -1;
    CHECK(rt.live == 0 && (s == 0 || rt.error.kind == ERR_MEMORY));
  }
  clean(m, "arrays");
}

/* length of a list of three cells, the switch on tags, the null cotangent; through a tail-applied closure */
static void test_variants(void) {
  static uint8_t ptr[] = {SLOT_PTR};
  static Desc unit = {.kind = D_UNIT}, listed;
  static const Desc *args[] = {&unit, &listed};
  listed = (Desc){.kind = D_VARIANT, .nslots = 1, .slots = ptr, .n = 2, .args = args};
  LModule *lm = module(2);
  lm->descs[2] = &listed;
  lm->ndescs = 3;
  /* count list n = match list with Nil -> n | Cell rest -> count rest (n + 1), the list borrowed */
  Builder b = begin(lm, 0, 2, "piii", "i");
  emit(&b, LOP_TAG, 2, 0, -1);
  with(emit(&b, LOP_SWITCH, -1, 2, -1), REGS(0, 1), NONE);
  jump(&b, LOP_LABEL, -1, 0);
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(1), NONE);
  jump(&b, LOP_LABEL, -1, 1);
  emit(&b, LOP_FIELD, 0, 0, 0);
  integer(&b, 3, 1);
  scalar(&b, OP_IADD, 1, 1, 3);
  with(emit(&b, LOP_CALL, -1, -1, -1), REGS(0, 1), REGS(1))->imm.i = 0;
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(1), NONE);
  end(&b);
  b = begin(lm, 1, 1, "iPii", "i");
  emit(&b, LOP_IMMEDIATE, 1, -1, -1)->imm.i = 0;
  for (int k = 0; k < 3; k++) with(emit(&b, LOP_NEW_BOX, 1, -1, 1), REGS(1), NONE)->imm.i = 2;
  integer(&b, 2, 0);
  with(emit(&b, LOP_CALL, -1, -1, -1), REGS(1, 2), REGS(2))->imm.i = 0;
  emit(&b, LOP_RELEASE, -1, 1, -1);
  emit(&b, LOP_IS_NULL, 3, 1, -1);
  scalar(&b, OP_IADD, 2, 2, 3);
  emit(&b, LOP_TAG, 3, 1, -1);
  scalar(&b, OP_IADD, 2, 2, 3);
  with(emit(&b, LOP_RETURN, -1, -1, -1), REGS(2), NONE);
  end(&b);
  Mod *m = mod_new(&rt, lm, no_global, NULL);
  Slot x = {.i = 0}, res;
  CHECK(call(m, 1, 1, &x, &res) == 0 && res.i == 4);
  clean(m, "variants");
}

int main(int argc, char **argv) {
  (void)argv;
  heap_init(&heap);
  arena_init(&arena, &heap);
  rt_init(&rt, &heap);
  rt.evaluate = eval_function;
  test_loops_and_calls(argc > 1);
  test_errors();
  test_scalars();
  test_foreign_and_prims();
  test_variants();
  test_arrays();
  eval_destroy(&rt);
  rt_destroy(&rt);
  arena_free(&arena);
  CHECK(heap.bytes == 0);
  return check_result();
}
