/* SPDX-License-Identifier: MIT */
/* Small static functions of the emitted module, which GCC inlines: counting, uniqueness, guarded integer
 * division, saturating conversion, minimum and maximum.
 *
 * Each is built block by block when the module first uses it. They are branches
 * and plain arithmetic, so that GCC turns them into selects where it vectorises.
 * Division: INT_MIN / -1 would trap, so a divisor of -1 is a negation. */
#include "jit/emit.h"
#include <limits.h>
#include <stdio.h>

/* A helper under construction. */
typedef struct H {
  Emit *e;
  gcc_jit_function *fn;
  Rv *a, *b;
  Block *entry;
} H;

static H begin(Emit *e, const char *name, Type *result, Type *type_a, Type *type_b) {
  const GccApi *g = e->g;
  gcc_jit_param *params[2] = {g->context_new_param(e->ctx, NULL, type_a, "a"), NULL};
  if (type_b) params[1] = g->context_new_param(e->ctx, NULL, type_b, "b");
  H h = {.e = e};
  h.fn = g->context_new_function(e->ctx, NULL, GF_INTERNAL, result, name, type_b ? 2 : 1, params, 0);
  h.a = g->param_as_rvalue(params[0]);
  h.b = type_b ? g->param_as_rvalue(params[1]) : NULL;
  h.entry = g->function_new_block(h.fn, NULL);
  return h;
}

static Block *block(const H *h) { return h->e->g->function_new_block(h->fn, NULL); }
static void give(const H *h, Block *b, Rv *v) { h->e->g->block_end_with_return(b, NULL, v); }
static void leave(const H *h, Block *b) { h->e->g->block_end_with_void_return(b, NULL); }
/* Ends b: yes if the condition holds, else no. */
static void split(const H *h, Block *b, Rv *condition, Block *yes, Block *no) {
  h->e->g->block_end_with_conditional(b, NULL, condition, yes, no);
}
/* Ends b by returning v if the condition holds; the block for the other case. */
static Block *give_if(const H *h, Block *b, Rv *condition, Rv *v) {
  Block *yes = block(h), *no = block(h);
  split(h, b, condition, yes, no);
  give(h, yes, v);
  return no;
}

/* A count goes up here, but that of an object that other threads can reach. */
static gcc_jit_function *make_retain(Emit *e) {
  H h = begin(e, "retain", e->t_void, e->t_ptr, e->t_ptr);
  Block *object = block(&h), *counted = block(&h), *other = block(&h), *shared = block(&h), *done = block(&h);
  split(&h, h.entry, is_object(e, h.b), object, done);
  Lv *rc = place(e, h.b, offsetof(Obj, rc), e->t_i32);
  split(&h, object, likely(e, compare(e, GC_GT, rv(e, rc), k_i32(e, 0)), true), counted, other);
  e->g->block_add_assignment(counted, NULL, rc, binary(e, GB_PLUS, e->t_i32, rv(e, rc), k_i32(e, 1)));
  leave(&h, counted);
  split(&h, other, likely(e, compare(e, GC_GT, rv(e, rc), k_i32(e, RT_IMMORTAL)), false), shared, done);
  e->g->block_add_eval(shared, NULL, CALL_TABLE(e, h.a, rt_retain, h.b));
  leave(&h, shared);
  leave(&h, done);
  return h.fn;
}

/* A count goes down here; last references and immortal objects are the runtime's to deal with. */
static gcc_jit_function *make_release(Emit *e) {
  H h = begin(e, "release", e->t_void, e->t_ptr, e->t_ptr);
  Block *object = block(&h), *done = block(&h), *last = block(&h), *shared = block(&h);
  split(&h, h.entry, is_object(e, h.b), object, done);
  Lv *rc = place(e, h.b, offsetof(Obj, rc), e->t_i32);
  split(&h, object, compare(e, GC_LE, rv(e, rc), k_i32(e, 1)), last, shared);
  e->g->block_add_assignment(shared, NULL, rc, binary(e, GB_MINUS, e->t_i32, rv(e, rc), k_i32(e, 1)));
  leave(&h, shared);
  e->g->block_add_eval(last, NULL, CALL_TABLE(e, h.a, rt_release, load_rt(e, h.a), h.b));
  leave(&h, last);
  leave(&h, done);
  return h.fn;
}

/* An array that is the only one of its block stays; copying is the runtime's. */
static gcc_jit_function *make_unique(Emit *e) {
  H h = begin(e, "unique", e->t_ptr, e->t_ptr, e->t_ptr);
  Block *once = block(&h), *copied = block(&h), *own = block(&h);
  split(&h, h.entry, compare(e, GC_EQ, load(e, h.b, offsetof(Obj, rc), e->t_i32), k_i32(e, 1)), once, copied);
  Rv *owner = load(e, h.b, offsetof(ArrayObj, owner), e->t_ptr);
  split(&h, once, compare(e, GC_EQ, owner, k_null(e)), own, copied);
  give(&h, own, h.b);
  give(&h, copied, CALL_TABLE(e, h.a, rt_unique, load_rt(e, h.a), h.b));
  return h.fn;
}

/* Indices that go round, (i + 1) % n, are below 2 n: a difference takes a cycle, a division twenty. The block for all
 * others. */
static Block *give_near_remainder(const H *h, Block *b) {
  Emit *e = h->e;
  Block *positive = block(h), *near = block(h), *other = block(h);
  split(h, b, compare(e, GC_GE, binary(e, GB_OR, e->t_i64, h->a, h->b), k_i64(e, 0)), positive, other);
  Rv *a = cast(e, h->a, e->t_u64), *n = cast(e, h->b, e->t_u64);
  split(h, positive, compare(e, GC_LT, a, binary(e, GB_PLUS, e->t_u64, n, n)), near, other);
  near = give_if(h, near, compare(e, GC_LT, h->a, h->b), h->a);
  give(h, near, binary(e, GB_MINUS, e->t_i64, h->a, h->b));
  return other;
}

static gcc_jit_function *make_division(Emit *e, bool remainder) {
  H h = begin(e, remainder ? "irem" : "idiv", e->t_i64, e->t_i64, e->t_i64);
  Rv *special = remainder ? k_i64(e, 0) : e->g->context_new_unary_op(e->ctx, NULL, GU_MINUS, e->t_i64, h.a);
  Block *b = remainder ? give_near_remainder(&h, h.entry) : h.entry;
  b = give_if(&h, b, compare(e, GC_EQ, h.b, k_i64(e, -1)), special);
  give(&h, b, binary(e, remainder ? GB_MODULO : GB_DIVIDE, e->t_i64, h.a, h.b));
  return h.fn;
}

/* The difference is out of range where a and b differ in sign, and it from a. */
static gcc_jit_function *make_saturating_difference(Emit *e) {
  H h = begin(e, "isubs", e->t_i64, e->t_i64, e->t_i64);
  Rv *zero = k_i64(e, 0), *d = binary(e, GB_MINUS, e->t_i64, h.a, h.b);
  Rv *signs = binary(e, GB_AND, e->t_i64, binary(e, GB_XOR, e->t_i64, h.a, h.b), binary(e, GB_XOR, e->t_i64, h.a, d));
  Block *b = give_if(&h, h.entry, compare(e, GC_GE, signs, zero), d);
  b = give_if(&h, b, compare(e, GC_LT, h.b, zero), k_i64(e, INT64_MAX));
  give(&h, b, k_i64(e, INT64_MIN));
  return h.fn;
}

/* GCC makes trunc x of (double)(int64_t)x, which is -0.0 for -1 < x < 0 and for -0.0. So only what is 1 or more, or -1
 * or less, is converted as such: all else is 0, NaN too. */
static gcc_jit_function *make_int_of_float(Emit *e) {
  H h = begin(e, "int_of_float", e->t_i64, e->t_f64, NULL);
  const double limit = 9223372036854775808.0; /* 2^63 */
  Block *b = give_if(&h, h.entry, compare(e, GC_GE, h.a, k_f64(e, limit)), k_i64(e, INT64_MAX));
  b = give_if(&h, b, compare(e, GC_LT, h.a, k_f64(e, -limit)), k_i64(e, INT64_MIN));
  Rv *magnitude = call_libm(e, "fabs", 1, &h.a);
  b = give_if(&h, b, compare(e, GC_GE, magnitude, k_f64(e, 1)), cast(e, h.a, e->t_i64));
  give(&h, b, k_i64(e, 0));
  return h.fn;
}

/* A tie goes to the first; unordered operands give their sum, a NaN. */
static gcc_jit_function *make_extremum(Emit *e, bool maximum) {
  H h = begin(e, maximum ? "fmax2" : "fmin2", e->t_f64, e->t_f64, e->t_f64);
  Block *b = give_if(&h, h.entry, compare(e, maximum ? GC_GE : GC_LE, h.a, h.b), h.a);
  b = give_if(&h, b, compare(e, maximum ? GC_LT : GC_GT, h.a, h.b), h.b);
  give(&h, b, binary(e, GB_PLUS, e->t_f64, h.a, h.b));
  return h.fn;
}

/* 1 or -1; zeros and NaN are themselves. */
static gcc_jit_function *make_sign(Emit *e) {
  H h = begin(e, "sign", e->t_f64, e->t_f64, NULL);
  Block *b = give_if(&h, h.entry, compare(e, GC_GT, h.a, k_f64(e, 0)), k_f64(e, 1));
  b = give_if(&h, b, compare(e, GC_LT, h.a, k_f64(e, 0)), k_f64(e, -1));
  give(&h, b, h.a);
  return h.fn;
}

/* Of an immediate it is in the pointer's bits; NULL is constructor 0. */
static gcc_jit_function *make_tag(Emit *e) {
  H h = begin(e, "tag", e->t_i64, e->t_ptr, NULL);
  Block *b = give_if(&h, h.entry, is_object(e, h.a), cast(e, load(e, h.a, offsetof(Obj, tag), e->t_i32), e->t_i64));
  Rv *bits = e->g->context_new_bitcast(e->ctx, NULL, h.a, e->t_i64);
  give(&h, b, binary(e, GB_RSHIFT, e->t_i64, bits, k_i64(e, 1)));
  return h.fn;
}

gcc_jit_function *make_guard(Emit *e, const char *libm, Type *function, int n, FunctionLost lost) {
  const GccApi *g = e->g;
  gcc_jit_param *params[3];
  Rv *args[3];
  for (int k = 0; k <= n; k++) params[k] = g->context_new_param(e->ctx, NULL, k ? e->t_f64 : function, k ? "x" : "f");
  H h = {.e = e};
  char name[32];
  snprintf(name, sizeof name, "guarded_%s", libm);
  h.fn = g->context_new_function(e->ctx, NULL, GF_INTERNAL, e->t_f64, name, n + 1, params, 0);
  h.entry = block(&h);
  for (int k = 0; k <= n; k++) args[k] = g->param_as_rvalue(params[k]);
  Lv *result = g->function_new_local(h.fn, NULL, e->t_f64, "result");
  g->block_add_assignment(h.entry, NULL, result, g->context_new_call_through_ptr(e->ctx, NULL, args[0], n, args + 1));
  Rv *found = rv(e, result), *magnitude = call_libm(e, "fabs", 1, &found);
  Rv *wrong = compare(e, GC_EQ, magnitude, k_f64(e, lost == FUNCTION_ZEROS ? 0 : (double)INFINITY));
  Block *again = block(&h), *right = block(&h);
  split(&h, h.entry, likely(e, wrong, false), again, right);
  give(&h, again, call_libm(e, libm, n, args + 1));
  give(&h, right, found);
  return h.fn;
}

gcc_jit_function *make_helper(Emit *e, Helper h) {
  switch (h) {
  case H_RETAIN: return make_retain(e);
  case H_RELEASE: return make_release(e);
  case H_UNIQUE: return make_unique(e);
  case H_IDIV: return make_division(e, false);
  case H_IREM: return make_division(e, true);
  case H_ISUBS: return make_saturating_difference(e);
  case H_INT_OF_FLOAT: return make_int_of_float(e);
  case H_FMIN: return make_extremum(e, false);
  case H_FMAX: return make_extremum(e, true);
  case H_SIGN: return make_sign(e);
  default: return make_tag(e);
  }
}
