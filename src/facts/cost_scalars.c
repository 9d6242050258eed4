/* SPDX-License-Identifier: MIT */
/* Scalar operations on what is known of numbers: exact where all operands are, polynomials of ints where they aren't.
 *
 * A polynomial is compared with another as if its symbols, which stand for sizes and steps, were large: a formula is
 * about inputs that aren't small. Indices of loops have any value, so what depends on one isn't decided. */
#include "facts/cost.h"
#include <math.h>

const Poly *cost_poly(const CostStudy *s, const CostValue *v) {
  if (v->kind != COST_INT) return NULL;
  return v->exact ? poly_constant(s->a, (double)v->i) : v->poly;
}

CostValue *cost_number(const CostStudy *s, const Poly *p) {
  double c;
  if (!p) return cost_unknown(s);
  if (poly_is_constant(p, &c) && c == floor(c) && fabs(c) < 9e15) return cost_int(s, (int64_t)c);
  CostValue *v = NEW(s->a, CostValue);
  *v = (CostValue){.kind = COST_INT, .poly = p};
  return v;
}

/* ---- Bounds ------------------------------------------------------------------------------------------------------ */
/* A lower bound of p without the index of loop k: 0 or the greatest index, as the sign of each term asks for. */
static const Poly *least(const CostStudy *s, const Poly *p, int k) {
  int symbol = POLY_SYMBOLS - 1 - k;
  const Poly *sum = poly_constant(s->a, 0), *greatest = poly_add(s->a, s->limits[k], poly_constant(s->a, -1));
  for (int i = 0; p && i < p->n; i++) {
    Poly *one = arena_alloc(s->a, sizeof(Poly) + sizeof(PolyTerm));
    int power = p->terms[i].exponents[symbol];
    if (power && p->terms[i].c > 0) continue;
    one->n = 1;
    one->terms[0] = p->terms[i];
    one->terms[0].exponents[symbol] = 0;
    const Poly *term = one;
    for (int e = 0; e < power; e++) term = poly_mul(s->a, term, greatest);
    sum = poly_add(s->a, sum, term);
  }
  return p ? sum : NULL;
}

/* Is p never negative? */
static bool is_natural(const CostStudy *s, const Poly *p) {
  for (int k = s->nindices - 1; k >= 0; k--)
    if (poly_has(p, POLY_SYMBOLS - 1 - k)) p = least(s, p, k);
  for (int i = 0; p && i < p->n; i++)
    if (p->terms[i].c < 0) return false;
  return p != NULL;
}

static bool at_least(const CostStudy *s, const Poly *p, const Poly *q) {
  return is_natural(s, poly_add(s->a, p, poly_scale(s->a, q, -1)));
}

/* ---- Polynomials ------------------------------------------------------------------------------------------------- */
enum { UNDECIDED = 2 };
/* The sign of p where sizes are large: -1, 0, 1. */
static int sign_of(const CostStudy *s, const Poly *p) {
  double c, large = 0;
  if (!p) return UNDECIDED;
  if (poly_is_constant(p, &c)) return c < 0 ? -1 : c > 0;
  for (int i = 0; i < p->n; i++) {
    double term = p->terms[i].c;
    for (int k = 0; k < POLY_SYMBOLS; k++) {
      if (p->terms[i].exponents[k] && k >= POLY_SYMBOLS - s->nindices) return UNDECIDED;
      for (int e = 0; e < p->terms[i].exponents[k]; e++) term *= 1e6;
    }
    large += term;
  }
  return fabs(large) < 1e5 ? UNDECIDED : large < 0 ? -1 : 1;
}

/* Do all terms have one sign? Else it depends on which size is greater. */
static bool is_plain(const Poly *p) {
  for (int i = 0; p && i < p->n; i++) {
    bool constant = true;
    for (int k = 0; k < POLY_SYMBOLS; k++) constant &= !p->terms[i].exponents[k];
    if (!constant && p->terms[i].c * p->terms[0].c < 0) return false;
  }
  return p != NULL;
}

static int order(const CostStudy *s, const Poly *p, const Poly *q) {
  const Poly *d = poly_add(s->a, p, poly_scale(s->a, q, -1));
  double c;
  return poly_is_constant(d, &c) || is_plain(d) ? sign_of(s, d) : UNDECIDED;
}

static CostValue *decided(const CostStudy *s, int sign, bool when_less, bool when_equal, bool when_greater) {
  if (sign == UNDECIDED) return cost_unknown(s);
  return cost_int(s, sign < 0 ? when_less : sign ? when_greater : when_equal);
}

static CostValue *symbolic(const CostStudy *s, Op op, const Poly *p, const Poly *q) {
  double c;
  switch (op) {
  case OP_IADD: return cost_number(s, poly_add(s->a, p, q));
  case OP_ISUB:
  case OP_ISUBS: return cost_number(s, poly_add(s->a, p, poly_scale(s->a, q, -1)));
  case OP_IMUL: return cost_number(s, poly_mul(s->a, p, q));
  case OP_IDIV: return poly_is_constant(q, &c) && c ? cost_number(s, poly_scale(s->a, p, 1 / c)) : cost_unknown(s);
  case OP_IMIN: {
    if (at_least(s, q, p)) return cost_number(s, p);
    if (at_least(s, p, q)) return cost_number(s, q);
    int sign = order(s, p, q);
    return sign == UNDECIDED ? cost_unknown(s) : cost_number(s, sign < 0 ? p : q);
  }
  case OP_IMAX: {
    if (at_least(s, p, q)) return cost_number(s, p);
    if (at_least(s, q, p)) return cost_number(s, q);
    int sign = order(s, p, q);
    return sign == UNDECIDED ? cost_unknown(s) : cost_number(s, sign > 0 ? p : q);
  }
  case OP_IEQ: return decided(s, order(s, p, q), false, true, false);
  case OP_INE: return decided(s, order(s, p, q), true, false, true);
  case OP_ILT:
    if (at_least(s, p, q)) return cost_int(s, 0);
    if (at_least(s, poly_add(s->a, q, poly_constant(s->a, -1)), p)) return cost_int(s, 1);
    return decided(s, order(s, p, q), true, false, false);
  case OP_ILE:
    if (at_least(s, q, p)) return cost_int(s, 1);
    if (at_least(s, poly_add(s->a, p, poly_constant(s->a, -1)), q)) return cost_int(s, 0);
    return decided(s, order(s, p, q), true, true, false);
  default: return cost_unknown(s);
  }
}

/* ---- Exact numbers ----------------------------------------------------------------------------------------------- */
static CostValue *int_of(const CostStudy *s, double x) {
  if (x != x) return cost_int(s, 0);
  return cost_int(s, x > 9.2e18 ? INT64_MAX : x < -9.2e18 ? INT64_MIN : (int64_t)x);
}

static int64_t power_of(int64_t x, int64_t n) {
  uint64_t r = 1, square = (uint64_t)x;
  for (; n > 0; n >>= 1, square *= square)
    if (n & 1) r *= square;
  return (int64_t)r;
}

static CostValue *exact_ints(const CostStudy *s, Op op, int64_t a, int64_t b) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  switch (op) {
  case OP_IADD: return cost_int(s, (int64_t)(x + y));
  case OP_ISUB: return cost_int(s, (int64_t)(x - y));
  case OP_ISUBS: return cost_int(s, __builtin_sub_overflow(a, b, &a) ? (b < 0 ? INT64_MAX : INT64_MIN) : a);
  case OP_IMUL: return cost_int(s, (int64_t)(x * y));
  case OP_IDIV: return b == 0 ? cost_unknown(s) : cost_int(s, b == -1 ? (int64_t)(0 - x) : a / b);
  case OP_IREM: return b == 0 ? cost_unknown(s) : cost_int(s, b == -1 ? 0 : a % b);
  case OP_INEG: return cost_int(s, (int64_t)(0 - x));
  case OP_IPOW: return cost_int(s, power_of(a, b));
  case OP_IMIN: return cost_int(s, a < b ? a : b);
  case OP_IMAX: return cost_int(s, a > b ? a : b);
  case OP_IAND:
  case OP_AND: return cost_int(s, (int64_t)(x & y));
  case OP_IOR:
  case OP_OR: return cost_int(s, (int64_t)(x | y));
  case OP_IXOR: return cost_int(s, (int64_t)(x ^ y));
  case OP_ISHL: return cost_int(s, (int64_t)(x << (y & 63)));
  case OP_ISHR: return cost_int(s, (int64_t)(x >> (y & 63)));
  case OP_IEQ:
  case OP_BEQ: return cost_int(s, a == b);
  case OP_INE: return cost_int(s, a != b);
  case OP_ILT: return cost_int(s, a < b);
  case OP_ILE: return cost_int(s, a <= b);
  case OP_NOT: return cost_int(s, !a);
  case OP_FLOAT_OF_INT: return cost_real(s, (double)a);
  default: return cost_unknown(s);
  }
}

static CostValue *exact_floats(const CostStudy *s, Op op, double a, double b, double c) {
  switch (op) {
  case OP_FADD: return cost_real(s, a + b);
  case OP_FSUB: return cost_real(s, a - b);
  case OP_FMUL: return cost_real(s, a * b);
  case OP_FDIV: return cost_real(s, a / b);
  case OP_FMA: return cost_real(s, fma(a, b, c));
  case OP_FNEG: return cost_real(s, -a);
  case OP_FMIN: return cost_real(s, b < a ? b : a);
  case OP_FMAX: return cost_real(s, b > a ? b : a);
  case OP_FEQ: return cost_int(s, a == b);
  case OP_FNE: return cost_int(s, a != b);
  case OP_FLT: return cost_int(s, a < b);
  case OP_FLE: return cost_int(s, a <= b);
  case OP_SIGN: return cost_real(s, a > 0 ? 1 : a < 0 ? -1 : a);
  case OP_IS_NAN: return cost_int(s, a != a);
  case OP_INT_OF_FLOAT:
    return int_of(s, a);
/* clang-format off */
#define OP(NAME, text, signature, flags)
#define SCALAR(NAME, text, signature, flags)
#define FUNCTION(NAME, text, signature, flags)
#define FLOAT1(NAME, text, function, flags) case OP_##NAME: return cost_real(s, function(a));
#include "ir/ops.def"
#undef OP
#define WAVE(NAME, libm, member) case OP_##NAME: return cost_real(s, libm(a));
#define FUNCTION1(NAME, libm, sleef, accuracy, lost) case OP_##NAME: return cost_real(s, libm(a));
#define FUNCTION2(NAME, libm, sleef, accuracy, lost) case OP_##NAME: return cost_real(s, libm(a, b));
#include "support/functions.def"
    /* clang-format on */
  default: return cost_unknown(s);
  }
}

/* ---- All --------------------------------------------------------------------------------------------------------- */
static bool is_int(const CostValue *v) { return v->kind == COST_INT && v->exact; }

/* false and x = false; true or x = true */
static CostValue *lazy(const CostStudy *s, Op op, CostValue **ops) {
  for (int k = 0; k < 2; k++)
    if (is_int(ops[k]) && ops[k]->i == (op == OP_OR)) return ops[k];
  return is_int(ops[0]) ? ops[1] : is_int(ops[1]) ? ops[0] : cost_unknown(s);
}

CostValue *cost_scalar(CostStudy *s, const Node *n, CostValue **ops) {
  Op op = (Op)n->op;
  if (op == OP_SELECT) return is_int(ops[0]) ? ops[ops[0]->i ? 1 : 2] : cost_unknown(s);
  if (op == OP_AND || op == OP_OR) return lazy(s, op, ops);
  bool ints = true, floats = true;
  for (int k = 0; k < n->nops; k++) ints &= is_int(ops[k]), floats &= ops[k]->kind == COST_REAL;
  if (ints) return exact_ints(s, op, ops[0]->i, n->nops > 1 ? ops[1]->i : 0);
  if (floats) return exact_floats(s, op, ops[0]->f, n->nops > 1 ? ops[1]->f : 0, n->nops > 2 ? ops[2]->f : 0);
  if (op == OP_FPOWI && ops[0]->kind == COST_REAL && is_int(ops[1]))
    return cost_real(s, pow(ops[0]->f, (double)ops[1]->i));
  if (op == OP_INEG && ops[0]->kind == COST_INT) return cost_number(s, poly_scale(s->a, ops[0]->poly, -1));
  if (n->nops != 2 || ops[0]->kind != COST_INT || ops[1]->kind != COST_INT) return cost_unknown(s);
  return symbolic(s, op, cost_poly(s, ops[0]), cost_poly(s, ops[1]));
}
