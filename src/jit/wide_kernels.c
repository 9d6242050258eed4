/* SPDX-License-Identifier: MIT */
/* exp, log, tanh and erf of vectors, in line: the text of support/kernel_bodies.h, where a number is the value of a
 * vector in the code that is made. Its operations are those of the functions of one number, so the digits are the
 * same. */
#include "jit/wide.h"
#include <string.h>

static Rv *kept(const LaneEmit *x, Rv *v) {
  Lv *local = wide_local(x, x->floats);
  assign(x->k, local, v);
  return rv(x->k->e, local);
}

static Rv *native(const LaneEmit *x, unsigned op, Rv *a, Rv *b) {
  return kept(x, binary(x->k->e, op, x->floats, a, b));
}

static Rv *number(const LaneEmit *x, double v) { return splat(x, x->floats, k_f64(x->k->e, v)); }

static Rv *number_of_bits(const LaneEmit *x, uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return number(x, v);
}

/* Rounded once where there is an instruction for it, as the functions of one number do. */
static Rv *mul_add(const LaneEmit *x, Rv *a, Rv *b, Rv *c) {
  return x->k->e->fuses ? fused(x, a, b, c) : native(x, GB_PLUS, native(x, GB_MULT, a, b), c);
}

/* a 2^n by two factors, each a normal number: 1023 + n / 2 at the end of a number's bits is shifted to the exponent. */
static Rv *scaled(const LaneEmit *x, Rv *a, Rv *n) {
  if (wide_text(W_SCALE, x->width)) return wide2(x, W_SCALE, x->floats, a, n);
  Rv *to_exponent = number(x, 0x1.8p52 + 1023);
  Rv *half = mul_add(x, n, number(x, 0.5), to_exponent);
  Rv *rest = native(x, GB_MINUS, n, native(x, GB_MINUS, half, to_exponent));
  Rv *first = wide2(x, W_UP_52, x->floats, half, NULL);
  Rv *second = wide2(x, W_UP_52, x->floats, native(x, GB_PLUS, rest, to_exponent), NULL);
  return native(x, GB_MULT, native(x, GB_MULT, a, first), second);
}

typedef Rv *Value;
#define KERNEL                     static
#define NUMBER                     Value
#define CONDITION                  Value
#define CONTEXT                    LaneEmit *code,
#define PASS                       code,
#define CONSTANT(v)                number(code, v)
#define BITS(b)                    number_of_bits(code, b)
#define ADD(a, b)                  native(code, GB_PLUS, a, b)
#define SUB(a, b)                  native(code, GB_MINUS, a, b)
#define MUL(a, b)                  native(code, GB_MULT, a, b)
#define DIV(a, b)                  native(code, GB_DIVIDE, a, b)
#define MUL_ADD(a, b, c)           mul_add(code, a, b, c)
#define RESIDUAL(a, q, d)          (code->k->e->fuses ? fused(code, NEGATIVE(q), d, a) : kernel_residual(code, a, q, d))
#define LESS(a, b)                 wide2(code, W_LT, code->mask, a, b)
#define EQUAL(a, b)                wide2(code, W_EQ, code->mask, a, b)
#define CHOOSE(condition, yes, no) blend(code, code->floats, no, yes, condition)
#define LOWER(a, b)                wide2(code, W_MIN, code->floats, a, b)
#define HIGHER(a, b)               wide2(code, W_MAX, code->floats, a, b)
#define NEGATIVE(a)                wide2(code, W_XOR, code->floats, a, sign_bits(code))
#define MAGNITUDE(a)               wide2(code, W_AND, code->floats, a, magnitude_bits(code))
#define SIGN_OF(a)                 wide2(code, W_AND, code->floats, a, sign_bits(code))
#define WITH_SIGN(a, sign)         wide2(code, W_OR, code->floats, a, sign)
#define LONG_ADD(a, b)             wide2(code, W_LONG_ADD, code->floats, a, b)
#define LONG_SUB(a, b)             wide2(code, W_LONG_SUB, code->floats, a, b)
#define LONG_OR(a, b)              wide2(code, W_OR, code->floats, a, b)
#define UP_52(a)                   wide2(code, W_UP_52, code->floats, a, NULL)
#define DOWN_52(a)                 wide2(code, W_DOWN_52, code->floats, a, NULL)
#define LEADING(a)                 wide2(code, W_AND, code->floats, a, number_of_bits(code, ~(uint64_t)0 << 27))
#define SCALE(a, n)                scaled(code, a, n)
#include "support/kernel_bodies.h"

typedef Rv *(*KernelFn)(LaneEmit *, Rv *);
static const KernelFn kernels[FN_COUNT] = {
#define KERNEL1(NAME, name) [FN_##NAME] = kernel_##name,
#include "support/kernels.def"
};

bool has_kernel(FunctionName name) { return name != FN_COUNT && kernels[name]; }

Rv *emit_kernel(LaneEmit *x, FunctionName name, Rv *v) { return kernels[name](x, v); }
