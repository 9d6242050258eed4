/* SPDX-License-Identifier: MIT */
/* Scalar nodes: constant folding and identities, applied as the node is made.
 *
 * What the user wrote keeps its IEEE meaning: only identities that hold for every float, NaN and signed zero
 * included, are used on FADD … FDIV. CADD is the addition of contributions to accumulators; its order isn't
 * promised, so like terms are collected there: a + a + x*3 + x becomes 2*a + 4*x. Not so in strict mode. In either the
 * zero that stands for no contribution is dropped: added, it would change the sign of a zero. */
#include "ir/ir_internal.h"
#include <math.h>
#include <string.h>

static Node *cadd(World *w, Node *a, Node *b);

static bool both_int(const Node *a, const Node *b) { return a->op == OP_INT && b->op == OP_INT; }
static bool both_float(const Node *a, const Node *b) { return a->op == OP_FLOAT && b->op == OP_FLOAT; }

/* By the operation's signature. a: its first operand. */
static IrType *result_type(World *w, Op op, const Node *a) {
  switch (strchr(op_signatures[op], ':')[1]) {
  case 'i': return ir_type(w, T_INT);
  case 'f': return ir_type(w, T_FLOAT);
  case 'b': return ir_type(w, T_BOOL);
  default: return a->type;
  }
}

/* ---- One operand ------------------------------------------------------------------- */
typedef double (*Fn1)(double);
typedef double (*Function1)(const Functions *, double);
static double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x == x ? 0.0 : x; }
static const Fn1 float_functions[OP_COUNT] = {
#define OP(name, text, signature, flags)
#define SCALAR(name, text, signature, flags)
#define FLOAT1(name, text, function, flags) [OP_##name] = function,
#include "ir/ops.def"
#undef OP
    [OP_SIGN] = sign_of};
static const Function1 functions_one[OP_COUNT] = {
#define WAVE(NAME, libm, member)                     [OP_##NAME] = functions_##NAME,
#define FUNCTION1(NAME, libm, sleef, accuracy, lost) [OP_##NAME] = functions_##NAME,
#include "support/functions.def"
};

/* Those that the program will call; NULL: they aren't there. */
static const Functions *functions_of(World *w) {
  char why[1];
  if (!w->functions) return &functions_of_libm;
  return functions_open(w->functions, why, sizeof why) ? w->functions : NULL;
}

static Node *fold_function1(World *w, Op op, double x) {
  const Functions *f = functions_of(w);
  return f ? ir_float(w, functions_one[op](f, x)) : NULL;
}

static Node *fold_function2(World *w, double (*function)(const Functions *, double, double), double x, double y) {
  const Functions *f = functions_of(w);
  return f ? ir_float(w, function(f, x, y)) : NULL;
}

static Node *fold1(World *w, Op op, Node *a) {
  if (a->op == OP_FLOAT) {
    double x = a->attr.f;
    Fn1 f = float_functions[op];
    if (f) return ir_float(w, f(x));
    if (functions_one[op]) return fold_function1(w, op, x);
    if (op == OP_FNEG) return ir_float(w, -x);
    if (op == OP_IS_NAN) return ir_bool(w, x != x);
    if (op == OP_INT_OF_FLOAT && fabs(x) < 9e18) return ir_int(w, (int64_t)x);
  }
  if (a->op == OP_INT) {
    if (op == OP_INEG) return ir_int(w, (int64_t)(0 - (uint64_t)a->attr.i));
    if (op == OP_FLOAT_OF_INT) return ir_float(w, (double)a->attr.i);
  }
  if (a->op == OP_BOOL && op == OP_NOT) return ir_bool(w, !a->attr.i);
  return NULL;
}

/*  -(-x) = x    -(x * c) = x * (-c)    -(x / c) = x / (-c)    for a constant c */
static Node *negate(World *w, Node *a) {
  if (a->op == OP_FNEG) return a->ops[0];
  if ((a->op == OP_FMUL || a->op == OP_FDIV) && a->ops[1]->op == OP_FLOAT)
    return ir_op2(w, (Op)a->op, a->ops[0], ir_float(w, -a->ops[1]->attr.f));
  return ir_raw(w, OP_FNEG, a->type, &a, 1);
}

/*  not (not x) = x    tag (inj k x) = k    closure_id (closure g …) = graph_id g    bytes "abc" = 3 */
Node *ir_normal1(World *w, Op op, Node *a) {
  Node *c = fold1(w, op, a);
  if (c) return c;
  if (op == OP_FNEG) return negate(w, a);
  if ((op == OP_NOT || op == OP_INEG) && a->op == op) return a->ops[0];
  if (op == OP_BYTES && a->op == OP_STRING) return ir_int(w, (int64_t)sym_len(a->attr.text));
  if (op == OP_TAG && a->op == OP_INJ) return ir_int(w, a->attr.i);
  if (op == OP_TAG && a->op == OP_ZERO) return ir_int(w, 0);
  if (op == OP_CLOSURE_ID && a->op == OP_CLOSURE)
    return ir_intern(w, &(Node){.op = OP_GRAPH_ID, .type = ir_type(w, T_INT), .ngraphs = 1, .graphs = a->graphs});
  return ir_raw(w, op, result_type(w, op, a), &a, 1);
}

/* ---- Two operands -------------------------------------------------------------------- */
static Node *fold_int(World *w, Op op, int64_t a, int64_t b) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  switch (op) {
  case OP_IADD: return ir_int(w, (int64_t)(x + y));
  case OP_ISUB: return ir_int(w, (int64_t)(x - y));
  case OP_ISUBS: return ir_int(w, __builtin_sub_overflow(a, b, &a) ? (b < 0 ? INT64_MAX : INT64_MIN) : a);
  case OP_IMUL: return ir_int(w, (int64_t)(x * y));
  case OP_IDIV: return b == 0 ? NULL : ir_int(w, b == -1 ? (int64_t)(0 - x) : a / b);
  case OP_IREM: return b == 0 ? NULL : ir_int(w, b == -1 ? 0 : a % b);
  case OP_IMIN: return ir_int(w, a < b ? a : b);
  case OP_IMAX: return ir_int(w, a > b ? a : b);
  case OP_IAND: return ir_int(w, (int64_t)(x & y));
  case OP_IOR: return ir_int(w, (int64_t)(x | y));
  case OP_IXOR: return ir_int(w, (int64_t)(x ^ y));
  case OP_ISHL: return ir_int(w, (int64_t)(x << (y & 63)));
  case OP_ISHR: return ir_int(w, (int64_t)(x >> (y & 63)));
  case OP_IEQ: return ir_bool(w, a == b);
  case OP_INE: return ir_bool(w, a != b);
  case OP_ILT: return ir_bool(w, a < b);
  case OP_ILE: return ir_bool(w, a <= b);
  default: return NULL;
  }
}

static Node *fold_float(World *w, Op op, double a, double b) {
  switch (op) {
  case OP_FADD: return ir_float(w, a + b);
  case OP_FSUB: return ir_float(w, a - b);
  case OP_FMUL: return ir_float(w, a * b);
  case OP_FDIV: return ir_float(w, a / b);
  case OP_FEQ: return ir_bool(w, a == b);
  case OP_FNE: return ir_bool(w, a != b);
  case OP_FLT: return ir_bool(w, a < b);
  case OP_FLE: return ir_bool(w, a <= b);
  case OP_ATAN2: return fold_function2(w, functions_ATAN2, a, b);
  case OP_HYPOT: return fold_function2(w, functions_HYPOT, a, b);
  default: return NULL;
  }
}

static bool power_of_two(double x) {
  int e;
  return fabs(frexp(x, &e)) == 0.5 && e > -100 && e < 100;
}

/* x ^ n by squarings:  x ^ 5 = x * (x * x) * (x * x)  with one x * x. */
static Node *product_power(World *w, Node *x, int64_t n) {
  Node *r = NULL, *sq = x;
  for (; n; n >>= 1) {
    if (n & 1) r = r ? ir_op2(w, OP_FMUL, r, sq) : sq;
    if (n > 1) sq = ir_op2(w, OP_FMUL, sq, sq);
  }
  return r;
}

/* x ^ n for constant n. Those below 3 are what the run-time function does. Others become products, which cost less
 * and vectorise, only when no derivative is taken any more: those of products and quotients overflow where n * x ^
 * (n - 1) doesn't. In strict mode only the products that the run-time function makes too. */
static Node *constant_power(World *w, Node *x, int64_t n) {
  if (n == 0) return ir_float(w, 1);
  if (n == 1 || n == 2) return product_power(w, x, n);
  int64_t most = w->strict ? 3 : LIMIT_POWER, least = w->strict ? -1 : -LIMIT_POWER;
  if (!compilation(w)->inline_rules) return NULL;
  if (n > most || n < least) {
    limit_reached(w->arena, AT_POWER);
    return NULL;
  }
  return n < 0 ? ir_op2(w, OP_FDIV, ir_float(w, 1), product_power(w, x, -n)) : product_power(w, x, n);
}

/*  x + (-y) = x - y    (-x) + y = y - x    x + x = x * 2    x - (-y) = x + y    x - 0 = x
 *  x * 1 = x    x * (-1) = -x    (-x) * (-y) = x * y    (-x) * c = x * (-c)    (-x) * y = -(x * y)
 *  x / 1 = x    x / 2^k = x * 2^-k    (-x) / c = x / (-c)    for constants c */
static Node *float_identity(World *w, Op op, Node *a, Node *b) {
  switch (op) {
  case OP_FADD:
    if (b->op == OP_FNEG) return ir_op2(w, OP_FSUB, a, b->ops[0]);
    if (a->op == OP_FNEG) return ir_op2(w, OP_FSUB, b, a->ops[0]);
    if (a == b) return ir_op2(w, OP_FMUL, a, ir_float(w, 2));
    return NULL;
  case OP_FSUB:
    if (b->op == OP_FNEG) return ir_op2(w, OP_FADD, a, b->ops[0]);
    if (b->op == OP_FLOAT && b->attr.f == 0 && !signbit(b->attr.f)) return a;
    return NULL;
  case OP_FMUL:
    if (is_float_const(b, 1)) return a;
    if (is_float_const(b, -1)) return ir_op1(w, OP_FNEG, a);
    if (a->op == OP_FNEG && b->op == OP_FNEG) return ir_op2(w, OP_FMUL, a->ops[0], b->ops[0]);
    if (a->op == OP_FNEG && b->op == OP_FLOAT) return ir_op2(w, OP_FMUL, a->ops[0], ir_float(w, -b->attr.f));
    if (a->op == OP_FNEG) return ir_op1(w, OP_FNEG, ir_op2(w, OP_FMUL, a->ops[0], b));
    if (b->op == OP_FNEG) return ir_op1(w, OP_FNEG, ir_op2(w, OP_FMUL, a, b->ops[0]));
    return NULL;
  case OP_FDIV:
    if (is_float_const(b, 1)) return a;
    if (b->op == OP_FLOAT && power_of_two(b->attr.f)) return ir_op2(w, OP_FMUL, a, ir_float(w, 1 / b->attr.f));
    if (a->op == OP_FNEG && b->op == OP_FLOAT) return ir_op2(w, OP_FDIV, a->ops[0], ir_float(w, -b->attr.f));
    return NULL;
  case OP_FPOWI: return b->op == OP_INT ? constant_power(w, a, b->attr.i) : NULL;
  default: return NULL;
  }
}

bool ir_is_natural(const Node *x) {
  switch (x->op) {
  case OP_INT: return x->attr.i >= 0;
  case OP_LEN:
  case OP_BYTES:
  case OP_BYTE:
  case OP_CHECK_INDEX:
  case OP_CHECK_NAT: return true;
  case OP_IMAX: return ir_is_natural(x->ops[1]) || ir_is_natural(x->ops[0]);
  case OP_CHECK_SIZE: return ir_is_natural(x->ops[0]) || ir_is_natural(x->ops[1]);
  case OP_SELECT: return ir_is_natural(x->ops[1]) && ir_is_natural(x->ops[2]);
  case OP_CHECK_DEPTH:
  case OP_AFTER: return ir_is_natural(x->ops[0]);
  default: return false;
  }
}

/* Between -2^62 and 2^62: a length, a constant, or a sum of these. */
static bool is_small(World *w, const Node *x, int depth) {
  if (x->op == OP_INT) return x->attr.i > -(1LL << (62 - depth)) && x->attr.i < 1LL << (62 - depth);
  if (ir_is_size(x) || x->op == OP_BYTE) return true;
  if (x->op != OP_IADD && x->op != OP_ISUB) return false;
  if (depth >= LIMIT_SMALL_SUM) return !limit_reached(w->arena, AT_SMALL_SUM);
  return is_small(w, x->ops[0], depth + 1) && is_small(w, x->ops[1], depth + 1);
}

/* Numbers of one sign, or small ones, don't overflow:  len a -sat len b = len a - len b. */
static Node *saturating_identity(World *w, Node *a, Node *b) {
  if (is_int_const(b, 0)) return a;
  bool fits = (ir_is_natural(a) && ir_is_natural(b)) || (is_small(w, a, 1) && is_small(w, b, 1));
  return a == b || fits ? ir_op2(w, OP_ISUB, a, b) : NULL;
}

/* Is x = max y d, for a constant d above c? */
static bool is_above(const Node *x, int64_t c) {
  return x->op == OP_IMAX && x->ops[1]->op == OP_INT && x->ops[1]->attr.i > c;
}

/*  x + 0 = x    (x + c) + d = x + (c + d)    x - c = x + (-c)    x - x = 0    (x + y) - x = y    for constants c, d
 *  x * 1 = x    x * 0 = 0    x / 1 = x    max x x = x    max n 0 = n, if n is natural    x = x is true, x < x false,
 *  c < max x d is true for c < d */
static Node *int_identity(World *w, Op op, Node *a, Node *b) {
  switch (op) {
  case OP_ISUBS: return saturating_identity(w, a, b);
  case OP_IADD:
    if (is_int_const(b, 0)) return a;
    if (b->op == OP_INT && a->op == OP_IADD && a->ops[1]->op == OP_INT)
      return ir_op2(w, OP_IADD, a->ops[0], ir_op2(w, OP_IADD, a->ops[1], b));
    return NULL;
  case OP_ISUB:
    if (b->op == OP_INT) return ir_op2(w, OP_IADD, a, ir_int(w, (int64_t)(0 - (uint64_t)b->attr.i)));
    if (a == b) return ir_waiting(w, ir_int(w, 0), a);
    for (int k = 0; a->op == OP_IADD && k < 2; k++)
      if (a->ops[k] == b) return ir_waiting(w, a->ops[1 - k], b);
    return NULL;
  case OP_IMUL: return is_int_const(b, 1) ? a : is_int_const(b, 0) ? ir_waiting(w, b, a) : NULL;
  case OP_IDIV: return is_int_const(b, 1) ? a : NULL;
  case OP_IMAX:
  case OP_IMIN: return a == b ? a : op == OP_IMAX && is_int_const(b, 0) && ir_is_natural(a) ? a : NULL;
  case OP_IEQ:
    if (a->op == OP_GRAPH_ID && b->op == OP_GRAPH_ID && a->graphs[0]->identity && b->graphs[0]->identity)
      return ir_bool(w, a->graphs[0]->identity == b->graphs[0]->identity);
    return a == b ? ir_waiting(w, ir_bool(w, true), a) : NULL;
  case OP_ILE: return a == b ? ir_waiting(w, ir_bool(w, true), a) : NULL;
  case OP_INE:
  case OP_ILT:
    if (a->op == OP_INT && is_above(b, a->attr.i)) return ir_waiting(w, ir_bool(w, true), b);
    return a == b ? ir_waiting(w, ir_bool(w, false), a) : NULL;
  default: return NULL;
  }
}

/*  x && x = x    x && true = x    x && false = false    x || false = x    (x = true) = x    (x = false) = not x */
static Node *bool_identity(World *w, Op op, Node *a, Node *b) {
  if (op == OP_AND) return a == b ? a : b->op == OP_BOOL ? (b->attr.i ? a : ir_waiting(w, b, a)) : NULL;
  if (op == OP_OR) return a == b ? a : b->op == OP_BOOL ? (b->attr.i ? ir_waiting(w, b, a) : a) : NULL;
  if (op == OP_BEQ && b->op == OP_BOOL) return b->attr.i ? a : ir_op1(w, OP_NOT, a);
  return NULL;
}

/* Constants stand second in commutative operations; the order of others doesn't depend on what was compiled before. */
static void sort_operands(Node **a, Node **b) {
  bool swap = ir_is_constant(*a) != ir_is_constant(*b) ? ir_is_constant(*a) : ir_before(*b, *a);
  if (!swap) return;
  Node *t = *a;
  *a = *b;
  *b = t;
}

Node *ir_normal2(World *w, Op op, Node *a, Node *b) {
  if (op == OP_CADD) return cadd(w, a, b);
  if (op_flags[op] & OPF_C) sort_operands(&a, &b);
  Node *r = NULL;
  if (both_int(a, b)) r = fold_int(w, op, a->attr.i, b->attr.i);
  else if (both_float(a, b)) r = fold_float(w, op, a->attr.f, b->attr.f);
  if (!r) r = float_identity(w, op, a, b);
  if (!r) r = int_identity(w, op, a, b);
  if (!r) r = bool_identity(w, op, a, b);
  if (r) return r;
  return ir_raw(w, op, result_type(w, op, a), (Node *[]){a, b}, 2);
}

/* ---- Sums of contributions --------------------------------------------------------------- */
typedef struct Term {
  double coef;
  Node *core;
} Term; /* core NULL: a constant */
typedef struct Sum {
  Term terms[2 * LIMIT_SUM_TERMS];
  int n;
  bool merged;
} Sum;

/* May a * x * b be x * (a * b)? Not if that overflows or underflows; and 0 * x may be no number. */
static bool holds_product(double a, double b) { return isnormal(a * b); }

/* Strips signs and constant factors from a product, a few levels deep:  -(x * 3) * y = -3 * (x * y). */
static Node *strip(World *w, Node *x, double *coef, int depth) {
  if (depth > LIMIT_FACTORS && limit_reached(w->arena, AT_FACTORS)) return x;
  if (x->op == OP_FNEG) {
    *coef = -*coef;
    return strip(w, x->ops[0], coef, depth + 1);
  }
  if (x->op == OP_FMUL && x->ops[1]->op == OP_FLOAT && holds_product(*coef, x->ops[1]->attr.f)) {
    *coef *= x->ops[1]->attr.f;
    return strip(w, x->ops[0], coef, depth + 1);
  }
  if (x->op == OP_FMUL) {
    double c = 1;
    Node *a = strip(w, x->ops[0], &c, depth + 1), *b = strip(w, x->ops[1], &c, depth + 1);
    if (c == 1 || !holds_product(*coef, c)) return x;
    *coef *= c;
    return ir_op2(w, OP_FMUL, a, b);
  }
  return x;
}

static void sum_add(Sum *s, double coef, Node *core) {
  for (int i = 0; i < s->n; i++)
    if (s->terms[i].core == core && isfinite(s->terms[i].coef + coef)) {
      s->terms[i].coef += coef;
      s->merged = true;
      return;
    }
  s->terms[s->n++] = (Term){coef, core};
}

static int count_terms(const Node *x, int limit) {
  if (x->op != OP_CADD || limit <= 1) return 1;
  int n = count_terms(x->ops[0], limit);
  return n >= limit ? n : n + count_terms(x->ops[1], limit - n);
}

static bool few_terms(World *w, const Node *a, const Node *b) {
  bool few = count_terms(a, LIMIT_SUM_TERMS) + count_terms(b, LIMIT_SUM_TERMS) <= LIMIT_SUM_TERMS;
  return few || !limit_reached(w->arena, AT_SUM_TERMS);
}

static void collect(World *w, Node *x, double sign, Sum *s) {
  if (x->op == OP_CADD) {
    collect(w, x->ops[0], sign, s);
    collect(w, x->ops[1], sign, s);
    return;
  }
  if (x->op == OP_FLOAT) {
    sum_add(s, sign * x->attr.f, NULL);
    return;
  }
  double c = sign;
  Node *core = strip(w, x, &c, 0);
  sum_add(s, c, core);
}

static Node *scaled(World *w, Term t) {
  if (!t.core) return ir_float(w, t.coef);
  return ir_op2(w, OP_FMUL, t.core, ir_float(w, t.coef));
}

/* Terms that cancel are 0 * core, since they may be no numbers. */
static Node *sum_build(World *w, const Sum *s) {
  Node *r = NULL;
  for (int pass = 0; pass < 2; pass++) /* positive terms first, so that the rest are subtractions */
    for (int i = 0; i < s->n; i++) {
      Term t = s->terms[i];
      if ((t.coef == 0 && !t.core) || (t.coef < 0) != pass) continue;
      if (!r) r = scaled(w, t);
      else if (pass) r = ir_op2(w, OP_FSUB, r, scaled(w, (Term){-t.coef, t.core}));
      else r = ir_raw(w, OP_CADD, r->type, (Node *[]){r, scaled(w, t)}, 2);
    }
  return r ? r : ir_float(w, 0);
}

/*  a + a + x * 3 + x = a * 2 + x * 4    a + (-b) = a - b */
static Node *cadd_float(World *w, Node *a, Node *b) {
  if (b->op == OP_CADD && a->op != OP_CADD) {
    Node *t = a;
    a = b;
    b = t;
  }
  if (!w->strict && few_terms(w, a, b)) {
    Sum s = {.n = 0};
    collect(w, a, 1, &s);
    collect(w, b, 1, &s);
    if (s.merged) return sum_build(w, &s);
  }
  if (b->op == OP_FNEG) return ir_op2(w, OP_FSUB, a, b->ops[0]);
  if (a->op == OP_FNEG) return ir_op2(w, OP_FSUB, b, a->ops[0]);
  return ir_raw(w, OP_CADD, a->type, (Node *[]){a, b}, 2);
}

static bool is_zero(const Node *n) {
  return n->op == OP_ZERO || (n->op == OP_FLOAT && n->attr.f == 0) || n->op == OP_UNIT;
}

/*  0 + a = a    (a, b) + (c, d) = (a + c, b + d)    a + acc_at 0 i x = acc_at a i x */
static Node *cadd(World *w, Node *a, Node *b) {
  if (is_zero(a)) return b;
  if (is_zero(b)) return a;
  if (a->type->kind == T_FLOAT) return cadd_float(w, a, b);
  if (a->type->kind == T_TUPLE) {
    Node **xs = NEW_ARRAY(w->arena, Node *, a->type->n);
    for (int i = 0; i < a->type->n; i++) xs[i] = cadd(w, ir_get(w, a, i), ir_get(w, b, i));
    return ir_tuple(w, a->type, xs);
  }
  /* a bag with one contribution is that contribution, made to the other bag */
  if (a->op == OP_ACC_AT && a->ops[0]->op == OP_ZERO) {
    Node *t = a;
    a = b;
    b = t;
  }
  if (b->op == OP_ACC_AT && b->ops[0]->op == OP_ZERO) {
    Node **ops = NEW_ARRAY(w->arena, Node *, b->nops);
    for (int i = 1; i < b->nops; i++) ops[i] = b->ops[i];
    ops[0] = a;
    return ir_make(w, OP_ACC_AT, b->type, ops, b->nops);
  }
  return ir_raw(w, OP_CADD, a->type, (Node *[]){a, b}, 2);
}
