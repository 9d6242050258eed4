/* SPDX-License-Identifier: MIT */
/* Tests of src/jit on modules built by hand: arithmetic, loops, calls, errors and what
 * they release, closures, boxes, arrays, bags; the disk cache (hit, corrupt entry, two
 * processes, size limit), missing tools, and that a compile leaves the process as it
 * was. With an argument it prints times instead. */
#include "check.h"
#include "eval/eval.h"
#include "jit/jit.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- A VM and modules by hand ------------------------------------------------------------------------------------ */
static Heap heap;
static Arena arena;
static Rt rt;
static Jit *jit;
static char cache_dir[64];

typedef struct Code {
  Vec(LInstr) code;
  Vec(LReg) regs;
  LFunc *f;
} Code;

static LModule *module_of(int nfuncs) {
  static uint64_t hash = 1000;
  LModule *m = NEW(&arena, LModule);
  m->arena = &arena;
  m->funcs = NEW_ARRAY(&arena, LFunc *, nfuncs);
  m->hash = hash++;
  return m;
}

/* A new function with parameters and results of the given kinds: i, f, p (borrowed), o (owned pointer). */
static Code function(LModule *m, const char *params, const char *results) {
  Code c = {.f = NEW(&arena, LFunc)};
  c.f->name = "f";
  c.f->index = m->nfuncs;
  m->funcs[m->nfuncs++] = c.f;
  c.f->nparams = (int)strlen(params);
  c.f->nresults = (int)strlen(results);
  c.f->result_kinds = NEW_ARRAY(&arena, uint8_t, c.f->nresults + 1);
  for (int k = 0; k < c.f->nresults; k++)
    c.f->result_kinds[k] = results[k] == 'i' ? R_INT : results[k] == 'f' ? R_FLOAT : R_PTR;
  for (int k = 0; k < c.f->nparams; k++) {
    LReg r = {params[k] == 'i' ? R_INT : params[k] == 'f' ? R_FLOAT : R_PTR, params[k] == 'o'};
    vec_push(&arena, c.regs, r);
  }
  return c;
}

static int new_reg(Code *c, int kind, bool owned) {
  LReg r = {(uint8_t)kind, owned};
  vec_push(&arena, c->regs, r);
  return c->regs.len - 1;
}
static int ireg(Code *c) { return new_reg(c, R_INT, false); }
static int freg(Code *c) { return new_reg(c, R_FLOAT, false); }
static int oreg(Code *c) { return new_reg(c, R_PTR, true); }

static void add(Code *c, LInstr i) { vec_push(&arena, c->code, i); }
static int32_t *list(int n, const int *xs) {
  int32_t *p = NEW_ARRAY(&arena, int32_t, n + 1);
  for (int k = 0; k < n; k++) p[k] = xs[k];
  return p;
}
#define LIST(...)   list((int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__})
#define ADD(c, ...) add((c), (LInstr){__VA_ARGS__})
#define NOREG       .a = -1, .b = -1, .c = -1

static int int_const(Code *c, int64_t v) {
  int r = ireg(c);
  ADD(c, .op = LOP_INT, .dst = r, .imm.i = v);
  return r;
}
static int scalar(Code *c, int kind, int op, int a, int b) {
  int r = new_reg(c, kind, false);
  ADD(c, .op = LOP_SCALAR, .sub = (uint16_t)op, .dst = r, .a = a, .b = b, .c = -1);
  return r;
}
static void label(Code *c, int l) {
  ADD(c, .op = LOP_LABEL, .imm.i = l);
  if (l >= c->f->nlabels) c->f->nlabels = l + 1;
}
static void finish(Code *c, bool entry) {
  c->f->code = c->code.data;
  c->f->ncode = c->code.len;
  c->f->regs = c->regs.data;
  c->f->nregs = c->regs.len;
  c->f->is_entry = entry;
  c->f->id = 77 + (uint64_t)c->f->index;
}

static Vec(Mod *) mods;

static Slot *no_global(void *user, int index) {
  (void)user, (void)index;
  return NULL;
}

static Mod *instance(LModule *m) {
  Mod *mod = mod_new(&rt, m, no_global, NULL);
  if (mod) vec_push(&arena, mods, mod);
  return mod;
}

static Mod *compile(LModule *m) {
  Mod *mod = instance(m);
  const char *why = NULL;
  bool ok = jit_compile(jit, mod, &why);
  if (!ok) fprintf(stderr, "not compiled: %s\n", why);
  CHECK(ok);
  return ok ? mod : NULL;
}

static Status run(Mod *m, int f, const Slot *args, Slot *res) {
  if (!m) return 99;
  CHECK(m->funcs[f]->native == m);
  return rt_call(&rt, m->funcs[f], args, res);
}

/* Machine code and evaluator, which must agree: results (numbers), errors with place and trace, objects left. */
static Status run_both(Mod *m, int f, const Slot *args, Slot *res) {
  if (!m) return 99;
  Slot want[8];
  int64_t live = rt.live;
  RtFunc evaluated = *m->funcs[f];
  evaluated.entry = NULL;
  Status status = rt_call(&rt, &evaluated, args, want);
  int64_t left = rt.live - live;
  RtError error = rt.error;
  rt_clear_error(&rt);
  live = rt.live;
  CHECK(run(m, f, args, res) == status && rt.live - live == left);
  CHECK(rt.error.kind == error.kind && rt.error.site == error.site && rt.error.ntrace == error.ntrace);
  for (int k = 0; k < error.ntrace; k++) CHECK(rt.error.trace[k] == error.trace[k]);
  if (status) CHECK_STR(rt.error.message, error.message);
  for (int k = 0; !status && k < m->funcs[f]->nresults; k++)
    CHECK(memcmp(&res[k], &want[k], sizeof *res) == 0 || (res[k].f != res[k].f && want[k].f != want[k].f));
  return status;
}

/* ---- Scalars ----------------------------------------------------------------------------------------------------- */
/* One module with a function per operation; its operands come as arguments. */
static Mod *scalar_module(const char *params, const char *result, const int *ops, int n) {
  LModule *m = module_of(n);
  for (int k = 0; k < n; k++) {
    Code c = function(m, params, result);
    int r = scalar(&c, *result == 'i' ? R_INT : R_FLOAT, ops[k], 0, params[1] ? 1 : -1);
    ADD(&c, .op = LOP_RETURN, .args = LIST(r), .nargs = 1);
    finish(&c, true);
  }
  return compile(m);
}

static void test_int_scalars(void) {
  int ops[] = {OP_IADD, OP_ISUB, OP_IMUL, OP_IDIV, OP_IREM, OP_IPOW, OP_IMIN, OP_IMAX, OP_IAND,
               OP_IOR,  OP_IXOR, OP_ISHL, OP_ISHR, OP_IEQ,  OP_INE,  OP_ILT,  OP_ILE};
  Mod *m = scalar_module("ii", "i", ops, sizeof ops / sizeof *ops);
  static const struct {
    int op;
    int64_t a, b, want;
  } cases[] = {{0, INT64_MAX, 1, INT64_MIN},
               {1, 3, 5, -2},
               {2, INT64_MAX, 2, -2},
               {3, INT64_MIN, -1, INT64_MIN},
               {3, -7, 2, -3},
               {4, INT64_MIN, -1, 0},
               {4, -7, 3, -1},
               {5, 3, 4, 81},
               {6, -3, 2, -3},
               {7, -3, 2, 2},
               {8, 12, 10, 8},
               {9, 12, 10, 14},
               {10, 12, 10, 6},
               {11, 1, 64, 1},
               {11, 1, 63, INT64_MIN},
               {12, -1, 60, 15},
               {12, 8, 67, 1},
               {13, 4, 4, 1},
               {14, 4, 4, 0},
               {15, -1, 0, 1},
               {16, 0, 0, 1},
               {16, 1, 0, 0}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    Slot args[] = {{.i = cases[k].a}, {.i = cases[k].b}}, res;
    CHECK(run_both(m, cases[k].op, args, &res) == 0 && res.i == cases[k].want);
  }
  if (m) jit_unload(m);
}

static bool same(double a, double b) { return a == b || (a != a && b != b); }

static void test_float_scalars(void) {
  int two[] = {OP_FADD, OP_FDIV, OP_FMIN, OP_FMAX, OP_FPOW, OP_ATAN2, OP_HYPOT};
  Mod *m = scalar_module("ff", "f", two, sizeof two / sizeof *two);
  double nan = NAN;
  struct {
    int op;
    double a, b, want;
  } cases[] = {{0, 1.5, 2, 3.5}, {1, 1, 0, INFINITY},      {2, 1, 2, 1},           {2, 2, 1, 1},
               {2, nan, 1, nan}, {2, 1, nan, nan},         {3, 1, 2, 2},           {3, 2, 1, 2},
               {3, nan, 1, nan}, {4, 2, 0.5, pow(2, 0.5)}, {5, 1, 2, atan2(1, 2)}, {6, 3, 4, 5}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    Slot args[] = {{.f = cases[k].a}, {.f = cases[k].b}}, res;
    CHECK(run_both(m, cases[k].op, args, &res) == 0 && same(res.f, cases[k].want));
  }
  int one[] = {OP_FNEG,  OP_ABS,   OP_SIGN,  OP_FLOOR, OP_CEIL,  OP_ROUND,  OP_TRUNC, OP_SQRT,
               OP_CBRT,  OP_EXP,   OP_EXPM1, OP_LOG,   OP_LOG1P, OP_LOG2,   OP_LOG10, OP_SIN,
               OP_COS,   OP_TAN,   OP_ASIN,  OP_ACOS,  OP_ATAN,  OP_SINH,   OP_COSH,  OP_TANH,
               OP_ASINH, OP_ACOSH, OP_ATANH, OP_ERF,   OP_ERFC,  OP_TGAMMA, OP_LGAMMA};
  Mod *u = scalar_module("f", "f", one, sizeof one / sizeof *one);
  volatile double unfolded = 0.625; /* libm is to compute what we want, not this file's compiler */
  double x = unfolded;
  double want[] = {-x,       x,        1,        0,       1,        1,         0,        sqrt(x),
                   cbrt(x),  exp(x),   expm1(x), log(x),  log1p(x), log2(x),   log10(x), sin(x),
                   cos(x),   tan(x),   asin(x),  acos(x), atan(x),  sinh(x),   cosh(x),  tanh(x),
                   asinh(x), acosh(x), atanh(x), erf(x),  erfc(x),  tgamma(x), lgamma(x)};
  for (size_t k = 0; k < sizeof one / sizeof *one; k++) {
    Slot args[] = {{.f = x}}, res;
    CHECK(run_both(u, (int)k, args, &res) == 0 && same(res.f, want[k]));
  }
  int to_int[] = {OP_INT_OF_FLOAT, OP_IS_NAN};
  Mod *c = scalar_module("f", "i", to_int, 2);
  struct {
    double x;
    int64_t i;
  } conversions[] = {{1e300, INT64_MAX}, {-1e300, INT64_MIN}, {nan, 0}, {-2.9, -2}, {9.3e18, INT64_MAX}};
  for (size_t k = 0; k < 5; k++) {
    Slot args[] = {{.f = conversions[k].x}}, res;
    CHECK(run_both(c, 0, args, &res) == 0 && res.i == conversions[k].i);
    CHECK(run_both(c, 1, args, &res) == 0 && res.i == (conversions[k].x != conversions[k].x));
  }
}

/* Every operation that lowering may send as SCALAR has a rule. */
static void test_all_scalars(void) {
  static const int ops[] = {
#define OP(NAME, text, signature, flags)
#define SCALAR(NAME, text, signature, flags) OP_##NAME,
#include "ir/ops.def"
#undef OP
  };
  for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
    const char *signature = op_signatures[ops[k]], *result = strchr(signature, ':') + 1;
    char params[8] = "";
    int n = op_operands((Op)ops[k]);
    for (int p = 0; p < n; p++)
      params[p] = signature[p] == 'f' || signature[p] == '.' ? 'f' : signature[p] == 's' ? 'p' : 'i';
    bool number = *result == 'f' || *result == '.';
    LModule *m = module_of(1);
    Code c = function(m, params, number ? "f" : "i");
    int r = new_reg(&c, number ? R_FLOAT : R_INT, false);
    ADD(&c, .op = LOP_SCALAR, .sub = (uint16_t)ops[k], .dst = r, .a = 0, .b = n > 1 ? 1 : -1, .c = n > 2 ? 2 : -1);
    ADD(&c, .op = LOP_RETURN, .args = LIST(r), .nargs = 1);
    finish(&c, true);
    Mod *mod = compile(m);
    if (mod) jit_unload(mod);
  }
}

/* ---- Control, calls, errors -------------------------------------------------------------------------------------- */
/* int f(int n): sum of i * i for i < n, with a poll at the back edge. */
static void test_loop(void) {
  LModule *m = module_of(1);
  Code c = function(m, "i", "i");
  c.f->may_fail = true;
  int i = int_const(&c, 0), sum = int_const(&c, 0), one = int_const(&c, 1);
  label(&c, 0);
  ADD(&c, .op = LOP_LOOP_HEAD);
  int go = scalar(&c, R_INT, OP_ILT, i, 0);
  ADD(&c, .op = LOP_BRANCH, .a = go, .imm.i = 1);
  int square = scalar(&c, R_INT, OP_IMUL, i, i);
  ADD(&c, .op = LOP_SCALAR, .sub = OP_IADD, .dst = sum, .a = sum, .b = square, .c = -1);
  ADD(&c, .op = LOP_SCALAR, .sub = OP_IADD, .dst = i, .a = i, .b = one, .c = -1);
  ADD(&c, .op = LOP_POLL);
  ADD(&c, .op = LOP_JUMP, .imm.i = 0);
  label(&c, 1);
  ADD(&c, .op = LOP_RETURN, .args = LIST(sum), .nargs = 1);
  finish(&c, true);
  Mod *mod = compile(m);
  Slot arg = {.i = 1000}, res;
  CHECK(run_both(mod, 0, &arg, &res) == 0 && res.i == 332833500);
  rt_interrupt(&rt, RT_INTERRUPTED);
  CHECK(run(mod, 0, &arg, &res) != 0 && rt.error.kind == ERR_INTERRUPT);
  rt_clear_interrupt(&rt);
  rt_clear_error(&rt);
}

static void test_switch(void) {
  LModule *m = module_of(1);
  Code c = function(m, "i", "i");
  int r = ireg(&c);
  ADD(&c, .op = LOP_SWITCH, .a = 0, .args = LIST(0, 1, 2), .nargs = 3);
  for (int k = 0; k < 3; k++) {
    label(&c, k);
    ADD(&c, .op = LOP_INT, .dst = r, .imm.i = 10 + k);
    ADD(&c, .op = LOP_RETURN, .args = LIST(r), .nargs = 1);
  }
  label(&c, 3); /* nothing leads here */
  ADD(&c, .op = LOP_JUMP, .imm.i = 3);
  finish(&c, true);
  Mod *mod = compile(m);
  static const int64_t cases[][2] = {{0, 10}, {1, 11}, {2, 12}, {3, 12}, {-1, 12}};
  for (int k = 0; k < 5; k++) {
    Slot arg = {.i = cases[k][0]}, res;
    CHECK(run_both(mod, 0, &arg, &res) == 0 && res.i == cases[k][1]);
  }
}

static LModule *fib_module(void) {
  LModule *m = module_of(1);
  Code c = function(m, "i", "i");
  c.f->may_fail = c.f->recursive = true;
  int two = int_const(&c, 2), one = int_const(&c, 1);
  int small = scalar(&c, R_INT, OP_ILT, 0, two);
  ADD(&c, .op = LOP_BRANCH, .a = small, .imm.i = 0);
  ADD(&c, .op = LOP_RETURN, .args = LIST(0), .nargs = 1);
  label(&c, 0);
  int a = scalar(&c, R_INT, OP_ISUB, 0, one), b = scalar(&c, R_INT, OP_ISUB, 0, two), x = ireg(&c), y = ireg(&c);
  ADD(&c, .op = LOP_CALL, .imm.i = 0, .args = LIST(a), .nargs = 1, .res = LIST(x), .nres = 1, .site = 5);
  ADD(&c, .op = LOP_CALL, .imm.i = 0, .args = LIST(b), .nargs = 1, .res = LIST(y), .nres = 1, .site = 6);
  int s = scalar(&c, R_INT, OP_IADD, x, y);
  ADD(&c, .op = LOP_RETURN, .args = LIST(s), .nargs = 1);
  finish(&c, true);
  return m;
}

static void test_recursion(void) {
  Mod *mod = compile(fib_module());
  Slot arg = {.i = 20}, res;
  CHECK(run(mod, 0, &arg, &res) == 0 && res.i == 6765);
  char *limit = rt.stack_limit;
  rt_set_stack_limit(&rt, (char *)((uintptr_t)&arg - 16384));
  arg.i = 1000000;
  CHECK(run(mod, 0, &arg, &res) != 0 && rt.error.kind == ERR_STACK && rt.error.ntrace == LIMIT_TRACE);
  CHECK(rt.error.site == 5 && rt.error.trace[0] == 5);
  rt_set_stack_limit(&rt, limit);
  rt_clear_error(&rt);
}

static const Desc *float_array_desc(LModule *m) {
  m->descs = NEW_ARRAY(&arena, const Desc *, 4);
  m->ndescs = 1;
  return m->descs[0] = rt.desc_float_array;
}

/* f(n, i): a new array of n, a callee that takes it and fails unless i < n, then an element of another one. */
static void test_error_cleanup(void) {
  LModule *m = module_of(2);
  float_array_desc(m);
  Code take = function(m, "oi", "i"); /* takes an array; fails unless its argument is below the length */
  take.f->may_fail = true;
  int n = ireg(&take);
  ADD(&take, .op = LOP_DIM, .dst = n, .a = 0);
  ADD(&take, .op = LOP_CHECK_INDEX, .a = 1, .b = n, .site = 3);
  ADD(&take, .op = LOP_RELEASE, .a = 0);
  ADD(&take, .op = LOP_RETURN, .args = LIST(n), .nargs = 1);
  finish(&take, false);
  Code c = function(m, "ii", "fi");
  c.f->may_fail = true;
  int kept = oreg(&c), given = oreg(&c), len = ireg(&c), raw = new_reg(&c, R_RAW, false), x = freg(&c);
  ADD(&c, .op = LOP_NEW_ARRAY, .dst = kept, .b = 1, .args = LIST(0), .nargs = 1);
  ADD(&c, .op = LOP_NEW_ARRAY, .dst = given, .b = 1, .args = LIST(0), .nargs = 1);
  ADD(&c, .op = LOP_CALL, .imm.i = 0, .args = LIST(given, 1), .nargs = 2, .res = LIST(len), .nres = 1, .site = 9);
  ADD(&c, .op = LOP_NULLPTR, .dst = given);
  ADD(&c, .op = LOP_DATA, .dst = raw, .a = kept);
  ADD(&c, .op = LOP_FLOAT, .dst = x, .imm.f = 2.5);
  ADD(&c, .op = LOP_STORE, .dst = x, .a = raw, .b = 1, .c = 0, .imm.i = 1);
  ADD(&c, .op = LOP_LOAD, .dst = x, .a = raw, .b = 1, .c = 0, .imm.i = 1);
  ADD(&c, .op = LOP_RELEASE, .a = kept);
  ADD(&c, .op = LOP_RETURN, .args = LIST(x, len), .nargs = 2);
  finish(&c, true);
  Mod *mod = compile(m);
  int64_t live = rt.live;
  Slot args[] = {{.i = 4}, {.i = 3}}, res[2];
  CHECK(run_both(mod, 1, args, res) == 0 && res[0].f == 2.5 && res[1].i == 4 && rt.live == live);
  args[1].i = 4;
  CHECK(run_both(mod, 1, args, res) != 0 && rt.error.kind == ERR_INDEX && rt.live == live);
  CHECK(rt.error.site == 3 && rt.error.ntrace == 1 && rt.error.trace[0] == 9);
  CHECK_STR(rt.error.message, "index 4 is out of bounds for an array of length 4");
  rt_clear_error(&rt);
  args[0].i = 400; /* too large for blocks to be recycled */
  for (int64_t k = 1; k <= 2; k++) {
    heap.fail_at = k; /* each of the two arrays */
    args[1].i = 0;
    CHECK(run(mod, 1, args, res) != 0 && rt.error.kind == ERR_MEMORY && rt.live == live);
    heap.fail_at = -1;
    rt_clear_error(&rt);
  }
}

/* f(i): takes 70 arrays, releases every third one, and fails in between wherever i says: what it holds then is
 * released once. */
static void test_many_held(void) {
  enum { N = 70 };
  LModule *m = module_of(1);
  float_array_desc(m);
  Code c = function(m, "i", "i");
  c.f->may_fail = true;
  int held[N], below = ireg(&c), limit;
  for (int k = 0; k < N; k++) held[k] = oreg(&c);
  for (int k = 0; k < 2 * N; k++) { /* step k fails if i is k */
    int which = k % N;
    bool second = k >= N;
    limit = int_const(&c, k);
    ADD(&c, .op = LOP_SCALAR, .sub = OP_INE, .dst = below, .a = 0, .b = limit, .c = -1);
    ADD(&c, .op = LOP_CHECK_NONZERO, .a = below, .b = -1, .c = -1, .site = (Site)k + 1);
    if (!second) ADD(&c, .op = LOP_NEW_ARRAY, .dst = held[which], .b = 1, .args = LIST(limit), .nargs = 1);
    else if (which % 3 == 0) ADD(&c, .op = LOP_RELEASE, .a = held[which]);
  }
  for (int k = 0; k < N; k++)
    if (k % 3) ADD(&c, .op = LOP_RELEASE, .a = held[k]);
  ADD(&c, .op = LOP_RETURN, .args = LIST(0), .nargs = 1);
  finish(&c, true);
  Mod *mod = compile(m);
  int64_t live = rt.live;
  Slot res[1];
  for (int64_t i = 0; i <= 2 * N; i++) {
    Status failed = run_both(mod, 0, &(Slot){.i = i}, res);
    CHECK(failed == (i < 2 * N) && rt.live == live && (!failed || rt.error.site == (Site)i + 1));
    rt_clear_error(&rt);
  }
}

/* f(a, x array, y array): y[i] += a * x[i] ^ 2 for all i. */
static LModule *axpy_module(void) {
  LModule *m = module_of(1);
  float_array_desc(m);
  Code c = function(m, "fpp", "i");
  int n = ireg(&c), x = new_reg(&c, R_RAW, false), y = new_reg(&c, R_RAW, false), u = freg(&c), v = freg(&c);
  ADD(&c, .op = LOP_DIM, .dst = n, .a = 1);
  ADD(&c, .op = LOP_DATA, .dst = x, .a = 1);
  ADD(&c, .op = LOP_DATA, .dst = y, .a = 2);
  int i = int_const(&c, 0), one = int_const(&c, 1), two = int_const(&c, 2);
  label(&c, 0);
  ADD(&c, .op = LOP_LOOP_HEAD, .b = 1);
  int go = scalar(&c, R_INT, OP_ILT, i, n);
  ADD(&c, .op = LOP_BRANCH, .a = go, .imm.i = 1);
  ADD(&c, .op = LOP_LOAD, .dst = u, .a = x, .b = i, .c = 0, .imm.i = 1);
  ADD(&c, .op = LOP_LOAD, .dst = v, .a = y, .b = i, .c = 0, .imm.i = 1);
  int s = scalar(&c, R_FLOAT, OP_FADD, v, scalar(&c, R_FLOAT, OP_FMUL, 0, scalar(&c, R_FLOAT, OP_FPOWI, u, two)));
  ADD(&c, .op = LOP_STORE, .dst = s, .a = y, .b = i, .c = 0, .imm.i = 1);
  ADD(&c, .op = LOP_SCALAR, .sub = OP_IADD, .dst = i, .a = i, .b = one, .c = -1);
  ADD(&c, .op = LOP_JUMP, .imm.i = 0);
  label(&c, 1);
  ADD(&c, .op = LOP_RETURN, .args = LIST(n), .nargs = 1);
  finish(&c, true);
  return m;
}

static void test_arrays(void) {
  Mod *mod = compile(axpy_module());
  int64_t n = 37, live = rt.live;
  ArrayObj *x = rt_new_array(&rt, rt.desc_float_array, &n, true), *y = rt_new_array(&rt, rt.desc_float_array, &n, true);
  for (int k = 0; k < n; k++) x->data[k].f = k, y->data[k].f = 1;
  Slot args[] = {{.f = 2}, {.p = &x->h}, {.p = &y->h}}, res;
  CHECK(run(mod, 0, args, &res) == 0 && res.i == n);
  for (int k = 0; k < n; k++) CHECK(y->data[k].f == 1 + 2.0 * k * k);
  rt_release(&rt, &x->h);
  rt_release(&rt, &y->h);
  CHECK(rt.live == live);
}

/* A bag's way through machine code: two contributions and the array they make. */
static void test_bag(void) {
  static Desc bag_desc;
  static const Desc *bag_args[2];
  bag_args[0] = rt.desc_float_array->args[0];
  bag_args[1] = rt.desc_float_array;
  bag_desc = *rt.desc_float_array;
  bag_desc.kind = D_BAG;
  bag_desc.args = bag_args;
  LModule *m = module_of(1);
  float_array_desc(m);
  m->descs[m->ndescs++] = &bag_desc;
  Code c = function(m, "if", "o");
  c.f->may_fail = true;
  int bag = oreg(&c), array = oreg(&c), at = int_const(&c, 2);
  for (int k = 0; k < 2; k++)
    ADD(&c, .op = LOP_ACC_AT, .dst = bag, .a = at, .imm.i = 1, .args = LIST(0), .nargs = 1, .res = LIST(1), .nres = 1);
  ADD(&c, .op = LOP_BAG_FILL, .dst = array, .a = bag, .imm.i = 0, .args = LIST(0), .nargs = 1);
  ADD(&c, .op = LOP_NULLPTR, .dst = bag);
  ADD(&c, .op = LOP_RETURN, .args = LIST(array), .nargs = 1);
  finish(&c, true);
  Mod *mod = compile(m);
  int64_t live = rt.live;
  Slot args[] = {{.i = 5}, {.f = 1.5}}, res;
  CHECK(run(mod, 0, args, &res) == 0);
  ArrayObj *a = (ArrayObj *)res.p;
  CHECK(a->dims[0] == 5 && a->data[2].f == 3 && a->data[0].f == 0 && a->data[4].f == 0);
  rt_release(&rt, res.p);
  CHECK(rt.live == live);
}

/* f(n, i): passes an array to a callee that takes it, and keeps a reference; the callee fails if i isn't below n. */
static void test_kept_argument(void) {
  LModule *m = module_of(2);
  float_array_desc(m);
  Code take = function(m, "oi", "i");
  take.f->may_fail = true;
  int n = ireg(&take);
  ADD(&take, .op = LOP_DIM, .dst = n, .a = 0);
  ADD(&take, .op = LOP_CHECK_INDEX, .a = 1, .b = n, .site = 3);
  ADD(&take, .op = LOP_RELEASE, .a = 0);
  ADD(&take, .op = LOP_RETURN, .args = LIST(n), .nargs = 1);
  finish(&take, false);
  Code c = function(m, "ii", "ii");
  c.f->may_fail = true;
  int array = oreg(&c), len = ireg(&c), again = ireg(&c);
  ADD(&c, .op = LOP_NEW_ARRAY, .dst = array, .args = LIST(0), .nargs = 1);
  ADD(&c, .op = LOP_RETAIN, .a = array);
  ADD(&c, .op = LOP_CALL, .imm.i = 0, .args = LIST(array, 1), .nargs = 2, .res = LIST(len), .nres = 1, .site = 9);
  ADD(&c, .op = LOP_DIM, .dst = again, .a = array);
  ADD(&c, .op = LOP_RELEASE, .a = array);
  ADD(&c, .op = LOP_RETURN, .args = LIST(len, again), .nargs = 2);
  finish(&c, true);
  Mod *mod = compile(m);
  int64_t live = rt.live;
  Slot args[] = {{.i = 4}, {.i = 3}}, res[2];
  CHECK(run_both(mod, 1, args, res) == 0 && res[0].i == 4 && res[1].i == 4 && rt.live == live);
  args[1].i = 9;
  CHECK(run_both(mod, 1, args, res) != 0 && rt.error.kind == ERR_INDEX && rt.live == live);
  rt_clear_error(&rt);
}

/* A growable stack: n rows of one slot, then its length set. */
static void test_grow(void) {
  LModule *m = module_of(1);
  float_array_desc(m);
  Code c = function(m, "i", "if");
  c.f->may_fail = true;
  int zero = int_const(&c, 0), i = int_const(&c, 0), one = int_const(&c, 1), array = oreg(&c),
      raw = new_reg(&c, R_RAW, false);
  ADD(&c, .op = LOP_NEW_ARRAY, .dst = array, .args = LIST(zero), .nargs = 1);
  label(&c, 0);
  ADD(&c, .op = LOP_LOOP_HEAD);
  ADD(&c, .op = LOP_BRANCH, .a = scalar(&c, R_INT, OP_ILT, i, 0), .imm.i = 1);
  ADD(&c, .op = LOP_GROW, .dst = array, .a = i, .b = one);
  ADD(&c, .op = LOP_DATA, .dst = raw, .a = array);
  int x = scalar(&c, R_FLOAT, OP_FLOAT_OF_INT, i, -1);
  ADD(&c, .op = LOP_STORE, .dst = x, .a = raw, .b = i, .imm.i = 1);
  ADD(&c, .op = LOP_SCALAR, .sub = OP_IADD, .dst = i, .a = i, .b = one, .c = -1);
  ADD(&c, .op = LOP_JUMP, .imm.i = 0);
  label(&c, 1);
  ADD(&c, .op = LOP_SET_DIM, .a = array, .b = i, .imm.i = 0);
  int n = ireg(&c), last = freg(&c), end = scalar(&c, R_INT, OP_ISUB, i, one);
  ADD(&c, .op = LOP_DIM, .dst = n, .a = array);
  ADD(&c, .op = LOP_DATA, .dst = raw, .a = array);
  ADD(&c, .op = LOP_LOAD, .dst = last, .a = raw, .b = end, .imm.i = 1);
  ADD(&c, .op = LOP_RELEASE, .a = array);
  ADD(&c, .op = LOP_RETURN, .args = LIST(n, last), .nargs = 2);
  finish(&c, true);
  Mod *mod = compile(m);
  Slot arg = {.i = 100}, res[2];
  CHECK(run_both(mod, 0, &arg, res) == 0 && res[0].i == 100 && res[1].f == 99);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */
static void test_closure(void) {
  LModule *m = module_of(2);
  float_array_desc(m);
  Code inner = function(m, "fp", "f"); /* x, captured array: x * a[0] */
  inner.f->ncaps = 1;
  int raw = new_reg(&inner, R_RAW, false), y = freg(&inner);
  ADD(&inner, .op = LOP_DATA, .dst = raw, .a = 1);
  ADD(&inner, .op = LOP_LOAD, .dst = y, .a = raw, .b = -1, .c = 0, .imm.i = 1);
  ADD(&inner, .op = LOP_RETURN, .args = LIST(scalar(&inner, R_FLOAT, OP_FMUL, 0, y)), .nargs = 1);
  finish(&inner, true);
  Code c = function(m, "pf", "fii"); /* borrows the array */
  c.f->may_fail = true;
  int f = oreg(&c), r = freg(&c), id = ireg(&c), want = ireg(&c);
  ADD(&c, .op = LOP_RETAIN, .a = 0);
  ADD(&c, .op = LOP_NEW_CLOSURE, .dst = f, .imm.i = 0, .args = LIST(0), .nargs = 1);
  ADD(&c, .op = LOP_APPLY, .a = f, .args = LIST(1), .nargs = 1, .res = LIST(r), .nres = 1, .site = 2);
  ADD(&c, .op = LOP_CLOSURE_ID, .dst = id, .a = f);
  ADD(&c, .op = LOP_FUNC_ID, .dst = want, .imm.i = 0);
  ADD(&c, .op = LOP_RELEASE, .a = f);
  ADD(&c, .op = LOP_RETURN, .args = LIST(r, id, want), .nargs = 3);
  finish(&c, true);
  Mod *mod = compile(m);
  int64_t live = rt.live, n = 1;
  ArrayObj *a = rt_new_array(&rt, rt.desc_float_array, &n, true);
  a->data[0].f = 3;
  Slot args[] = {{.p = &a->h}, {.f = 7}}, res[3];
  CHECK(run_both(mod, 1, args, res) == 0 && res[0].f == 21 && res[1].i == 77 && res[2].i == 77);
  rt_release(&rt, &a->h);
  CHECK(rt.live == live);
}

static Desc float_desc = {.kind = D_FLOAT, .nslots = 1, .slots = (uint8_t[]){SLOT_FLOAT}};
static Desc unit_desc = {.kind = D_UNIT};
static Desc option_desc = {.kind = D_VARIANT,
                           .nslots = 1,
                           .slots = (uint8_t[]){SLOT_PTR},
                           .n = 2,
                           .args = (const Desc *[]){&unit_desc, &float_desc},
                           .names = (const char *[]){"None", "Some"}};

static void test_box(void) {
  LModule *m = module_of(1);
  m->descs = NEW_ARRAY(&arena, const Desc *, 1);
  m->descs[m->ndescs++] = &option_desc;
  Code c = function(m, "f", "iifi");
  c.f->may_fail = true;
  int some = oreg(&c), none = oreg(&c), t = ireg(&c), u = ireg(&c), x = freg(&c), null = ireg(&c);
  ADD(&c, .op = LOP_NEW_BOX, .dst = some, .b = 1, .imm.i = 0, .args = LIST(0), .nargs = 1);
  ADD(&c, .op = LOP_IMMEDIATE, .dst = none, .imm.i = 0);
  ADD(&c, .op = LOP_TAG, .dst = t, .a = some);
  ADD(&c, .op = LOP_TAG, .dst = u, .a = none);
  ADD(&c, .op = LOP_FIELD, .dst = x, .a = some, .b = 0);
  ADD(&c, .op = LOP_RELEASE, .a = some);
  ADD(&c, .op = LOP_RELEASE, .a = none);
  ADD(&c, .op = LOP_IS_NULL, .dst = null, .a = some);
  ADD(&c, .op = LOP_RETURN, .args = LIST(t, u, x, null), .nargs = 4);
  finish(&c, true);
  Mod *mod = compile(m);
  int64_t live = rt.live;
  Slot arg = {.f = 1.25}, res[4];
  CHECK(run_both(mod, 0, &arg, res) == 0 && res[0].i == 1 && res[1].i == 0 && res[2].f == 1.25 && res[3].i == 1);
  CHECK(rt.live == live);
}

/* A module that isn't as it should be is refused with a message. */
static void test_refusal(void) {
  LModule *m = module_of(1);
  Code c = function(m, "i", "i");
  ADD(&c, .op = LOP_POLL);
  ADD(&c, .op = LOP_RETURN, .args = LIST(0), .nargs = 1);
  finish(&c, true);
  const char *why = NULL;
  Mod *mod = instance(m);
  CHECK(!jit_compile(jit, mod, &why) && why && strstr(why, "never failing") && !mod->dl && !mod->funcs[0]->entry);
}

static void test_foreign(void) {
  LModule *m = module_of(1);
  m->foreigns = NEW_ARRAY(&arena, LForeign, 1);
  m->nforeigns = 1;
  m->foreigns[0] = (LForeign){"libm.so.6", "fma", 3, (uint8_t[]){R_FLOAT, R_FLOAT, R_FLOAT}, R_FLOAT, 0};
  Code c = function(m, "fff", "f");
  c.f->may_fail = true;
  int r = freg(&c);
  ADD(&c, .op = LOP_FOREIGN, .args = LIST(0, 1, 2), .nargs = 3, .res = LIST(r), .nres = 1);
  ADD(&c, .op = LOP_RETURN, .args = LIST(r), .nargs = 1);
  finish(&c, true);
  Slot args[] = {{.f = 2}, {.f = 3}, {.f = 4}}, res;
  CHECK(run_both(compile(m), 0, args, &res) == 0 && res.f == 10);
  m->foreigns[0].symbol = "no_such_function";
  m->hash++;
  CHECK(run_both(compile(m), 0, args, &res) == 1 && strstr(rt.error.message, "no_such_function"));
  m->hash += 1000;
}

/* ---- The cache --------------------------------------------------------------------------------------------------- */
static Jit *another_jit(size_t limit) {
  JitOptions o = jit_default_options();
  o.in_process = true;
  o.cache_dir = cache_dir;
  o.cache_limit = limit;
  return jit_new(&heap, o);
}

/* Counts the entries, and overwrites a byte in each if asked to. */
static int entries(bool damage) {
  DIR *d = opendir(cache_dir);
  int n = 0;
  for (struct dirent *f; d && (f = readdir(d));) {
    if (!strstr(f->d_name, ".so")) continue;
    n++;
    if (!damage) continue;
    char path[512], copy[600];
    snprintf(path, sizeof path, "%s/%s", cache_dir, f->d_name);
    snprintf(copy, sizeof copy, "%s/.copy", cache_dir);
    char command[4096]; /* a copy, since the object itself may be mapped */
    snprintf(command, sizeof command,
             "cp %s %s && printf x | dd of=%s bs=1 seek=600 conv=notrunc status=none && mv %s %s", path, copy, copy,
             copy, path);
    CHECK(system(command) == 0);
  }
  if (d) closedir(d);
  return n;
}

static void clear_cache(void) {
  char command[100];
  snprintf(command, sizeof command, "rm -rf %s/*", cache_dir);
  CHECK(system(command) == 0);
}

static void test_cache(void) {
  clear_cache();
  LModule *m = fib_module();
  const char *why = NULL;
  Jit *a = another_jit(0), *b = another_jit(0);
  Mod *first = instance(m), *second = instance(m), *third = instance(m);
  Slot arg = {.i = 10}, res;
  CHECK(jit_compile(a, first, &why) && jit_stats(a).compiles == 1 && entries(false) == 1);
  CHECK(jit_compile(b, second, &why) && jit_stats(b).compiles == 0 && jit_stats(b).cache_hits == 1);
  jit_unload(first); /* the other one still holds the object */
  CHECK(run(second, 0, &arg, &res) == 0 && res.i == 55);
  jit_unload(second);
  entries(true);
  CHECK(jit_compile(b, third, &why) && jit_stats(b).compiles == 1);
  CHECK(run(third, 0, &arg, &res) == 0 && res.i == 55);
  jit_unload(third);
  jit_free(a);
  jit_free(b);
}

static void test_cache_processes(void) {
  clear_cache();
  LModule *m = fib_module();
  pid_t pids[2];
  for (int k = 0; k < 2; k++) {
    pids[k] = fork();
    if (pids[k] == 0) {
      const char *why = NULL;
      Jit *j = another_jit(0);
      Mod *mod = instance(m);
      Slot arg = {.i = 10}, res;
      _exit(!(jit_compile(j, mod, &why) && run(mod, 0, &arg, &res) == 0 && res.i == 55));
    }
  }
  for (int k = 0; k < 2; k++) {
    int status = -1;
    CHECK(waitpid(pids[k], &status, 0) == pids[k] && status == 0);
  }
  CHECK(entries(false) == 1);
}

static void test_cache_limit(void) {
  clear_cache();
  const char *why = NULL;
  for (int k = 0; k < 4; k++) {
    Jit *j = another_jit(k < 2 ? 2000 : 40000); /* less than one object, and enough for one or two */
    Mod *mod = instance(fib_module());
    Slot arg = {.i = 10}, res;
    CHECK(jit_compile(j, mod, &why) && run(mod, 0, &arg, &res) == 0 && res.i == 55 && !jit_keeps_nothing(j));
    CHECK(k < 2 ? entries(false) == 0 : entries(false) > 0);
    jit_unload(mod);
    jit_free(j);
  }
}

static void test_no_cache(void) {
  JitOptions o = jit_default_options();
  o.cache_dir = "";
  Jit *j = jit_new(&heap, o);
  const char *why = NULL;
  Mod *mod = instance(fib_module());
  Slot arg = {.i = 10}, res;
  CHECK(jit_compile(j, mod, &why) && run(mod, 0, &arg, &res) == 0 && res.i == 55);
  jit_unload(mod);
  CHECK(!mod->funcs[0]->entry);
  jit_free(j);
}

static void test_open_folder(void) {
  char dir[] = "/tmp/atled-test-XXXXXX";
  CHECK(mkdtemp(dir) && chmod(dir, 0777) == 0);
  JitOptions o = jit_default_options();
  o.cache_dir = dir;
  Jit *j = jit_new(&heap, o);
  const char *why = NULL;
  Mod *mod = instance(fib_module());
  CHECK(!jit_keeps_nothing(j) && jit_compile(j, mod, &why) && rmdir(dir) == 0); /* nothing was put there */
  CHECK(jit_keeps_nothing(j) && strstr(jit_keeps_nothing(j), "others can get into"));
  jit_free(j);
}

/* ---- The process around it --------------------------------------------------------------------------------------- */
static void handler(int sig) { (void)sig; }

static void test_process_unchanged(void) {
  struct sigaction mine = {.sa_handler = handler}, now;
  int signals[] = {SIGINT, SIGHUP, SIGTERM, SIGPIPE};
  struct rlimit before, after;
  for (int k = 0; k < 4; k++) sigaction(signals[k], &mine, NULL);
  getrlimit(RLIMIT_STACK, &before);
  setlocale(LC_ALL, "C");
  setenv("TMPDIR", "/tmp", 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  compile(fib_module());
  CHECK_STR(setlocale(LC_ALL, NULL), "C");
  CHECK_STR(getenv("TMPDIR"), "/tmp");
  getrlimit(RLIMIT_STACK, &after);
  CHECK(before.rlim_cur == after.rlim_cur && before.rlim_max == after.rlim_max);
  for (int k = 0; k < 4; k++) {
    sigaction(signals[k], NULL, &now);
    CHECK(now.sa_handler == handler);
    signal(signals[k], SIG_DFL);
  }
}

/* ---- A process of its own ---------------------------------------------------------------------------------------- */
static void test_compile_elsewhere(void) {
  JitOptions o = jit_default_options();
  o.cache_dir = "";
  Jit *j = jit_new(&heap, o);
  const char *why = NULL;
  Mod *mod = instance(fib_module());
  Slot arg = {.i = 10}, res;
  CHECK(jit_compile(j, mod, &why) && run(mod, 0, &arg, &res) == 0 && res.i == 55);
  CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
  jit_unload(mod);
  jit_free(j);
}

static void remember(void *user, const char *text) { snprintf(user, 300, "%s", text); }

static void test_missing_tools(void) {
  char path[4096], told[300] = "";
  snprintf(path, sizeof path, "%s", getenv("PATH"));
  setenv("PATH", "", 1);
  JitOptions o = jit_default_options();
  o.cache_dir = "";
  o.message = remember;
  o.user = told;
  Jit *j = jit_new(&heap, o);
  const char *why = NULL;
  Mod *mod = instance(fib_module());
  CHECK(!jit_available(j, &why) && why && strstr(why, "program `as`"));
  CHECK(!jit_compile(j, mod, &why) && why && strstr(why, "program `as`") && !mod->dl);
  CHECK_STR(told, why);
  jit_free(j);
  setenv("PATH", path, 1);
}

static void test_out_of_memory(void) {
  LModule *m = fib_module();
  const char *why = NULL;
  for (int64_t k = 1;; k++) {
    CHECK(k < 1000);
    if (k >= 1000) break;
    Mod *mod = instance(m);
    size_t before = heap.bytes;
    heap.fail_at = k;
    bool ok = jit_compile(jit, mod, &why);
    heap.fail_at = -1;
    CHECK(heap.bytes == before);
    if (ok) break;
    CHECK_STR(why, "out of memory");
  }
}

/* ---- Times ------------------------------------------------------------------------------------------------------- */
static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

__attribute__((noinline)) static int64_t fib(int64_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static LModule *long_module(int n) {
  LModule *m = module_of(1);
  Code c = function(m, "ff", "f");
  int a = 0, b = 1;
  for (int k = 0; k < n; k++) {
    int r = scalar(&c, R_FLOAT, k % 3 == 0 ? OP_FMUL : k % 3 == 1 ? OP_FADD : OP_FSUB, a, b);
    a = b;
    b = r;
    if (k > 20 && k % 7 == 0) a = r - 17;
  }
  ADD(&c, .op = LOP_RETURN, .args = LIST(b), .nargs = 1);
  finish(&c, true);
  return m;
}

static void measure_axpy(void) {
  Mod *mod = compile(axpy_module());
  int64_t n = 1000;
  ArrayObj *x = rt_new_array(&rt, rt.desc_float_array, &n, true), *y = rt_new_array(&rt, rt.desc_float_array, &n, true);
  Slot args[] = {{.f = 2}, {.p = &x->h}, {.p = &y->h}}, res;
  double t = now_ms();
  for (int k = 0; k < 100000; k++) run(mod, 0, args, &res);
  printf("y[i] += a * x[i]^2: %.3f ns per element\n", (now_ms() - t) / 100000 / (double)n * 1e6);
  rt_release(&rt, &x->h);
  rt_release(&rt, &y->h);
}

static void measure(void) {
  const char *why = NULL;
  clear_cache();
  LModule *m = NULL;
  for (int k = 0; k < 6; k++) {
    double t = now_ms();
    compile(m = fib_module());
    printf("tiny module: %.2f ms\n", now_ms() - t);
  }
  for (int k = 0; k < 3; k++) {
    Jit *j = another_jit(0);
    Mod *mod = instance(m);
    double t = now_ms();
    jit_compile(j, mod, &why);
    printf("cached: %.3f ms (%d hits)\n", now_ms() - t, (int)jit_stats(j).cache_hits);
    jit_free(j);
  }
  Mod *mod = instance(m);
  jit_compile(jit, mod, &why);
  Slot arg = {.i = 38}, res;
  double t = now_ms();
  run(mod, 0, &arg, &res);
  double mine = now_ms() - t;
  t = now_ms();
  int64_t c = fib(38);
  double theirs = now_ms() - t;
  printf("fib 38: %.1f ms, C %.1f ms%s\n", mine, theirs, c == res.i ? "" : " WRONG");
  measure_axpy();
  for (int n = 500; n <= 16000; n *= 2) {
    t = now_ms();
    compile(long_module(n));
    printf("straight line of %d: %.0f ms\n", n, now_ms() - t);
  }
}

int main(int argc, char **argv) {
  (void)argv;
  heap_init(&heap);
  arena_init(&arena, &heap);
  rt_init(&rt, &heap);
  char here;
  rt_set_stack_limit(&rt, (char *)((uintptr_t)&here - (1 << 20)));
  strcpy(cache_dir, "/tmp/atled-test-XXXXXX");
  if (!mkdtemp(cache_dir)) return 1;
  rt.evaluate = eval_function;
  jit = another_jit(0);
  if (argc > 1) {
    measure();
  } else {
    test_missing_tools();
    test_compile_elsewhere();
    test_int_scalars();
    test_float_scalars();
    test_all_scalars();
    test_loop();
    test_switch();
    test_recursion();
    test_error_cleanup();
    test_many_held();
    test_kept_argument();
    test_grow();
    test_arrays();
    test_bag();
    test_closure();
    test_box();
    test_refusal();
    test_foreign();
    test_process_unchanged();
    test_cache();
    test_cache_processes();
    test_cache_limit();
    test_no_cache();
    test_open_folder();
    test_out_of_memory();
  }
  clear_cache();
  rmdir(cache_dir);
  for (int k = 0; k < mods.len; k++) {
    jit_unload(mods.data[k]);
    eval_forget(mods.data[k]);
    mod_free(mods.data[k]);
  }
  jit_free(jit);
  CHECK(rt.live == 0);
  eval_destroy(&rt);
  rt_destroy(&rt);
  arena_free(&arena);
  return check_result();
}
