/* SPDX-License-Identifier: MIT */
/* Scalar operations: one row each says how machine code does it.
 *
 * Most are one binary operation, comparison or libm call; helpers.c has those
 * that need a branch. Booleans are 0 or 1 in an integer register. Where C's
 * operation isn't total (shifts, division, conversion) the row picks a guarded one. */
#include "jit/emit.h"

typedef enum How { UNKNOWN, PRODUCT, BINARY, COMPARE, LIBM, TABLE, HELPER, SPECIAL } How;
typedef struct Rule {
  How how;
  unsigned op; /* GB_, GC_, TF_ or H_ */
  const char *libm;
  int n; /* operands */
} Rule;

/* clang-format off */
static const Rule rules[OP_COUNT] = {
    [OP_IADD] = {BINARY, GB_PLUS, NULL, 2}, [OP_ISUB] = {BINARY, GB_MINUS, NULL, 2},
    [OP_IMUL] = {BINARY, GB_MULT, NULL, 2}, [OP_IDIV] = {HELPER, H_IDIV, NULL, 2},
    [OP_IREM] = {HELPER, H_IREM, NULL, 2},  [OP_INEG] = {SPECIAL, 0, NULL, 1},
    [OP_ISUBS] = {HELPER, H_ISUBS, NULL, 2},
    [OP_IPOW] = {TABLE, TF_rt_ipow, NULL, 2}, [OP_IMIN] = {SPECIAL, 0, NULL, 2},
    [OP_IMAX] = {SPECIAL, 0, NULL, 2},      [OP_IAND] = {BINARY, GB_AND, NULL, 2},
    [OP_IOR] = {BINARY, GB_OR, NULL, 2},    [OP_IXOR] = {BINARY, GB_XOR, NULL, 2},
    [OP_ISHL] = {SPECIAL, 0, NULL, 2},      [OP_ISHR] = {SPECIAL, 0, NULL, 2},
    [OP_IEQ] = {COMPARE, GC_EQ, NULL, 2},   [OP_INE] = {COMPARE, GC_NE, NULL, 2},
    [OP_ILT] = {COMPARE, GC_LT, NULL, 2},   [OP_ILE] = {COMPARE, GC_LE, NULL, 2},
    [OP_FADD] = {BINARY, GB_PLUS, NULL, 2}, [OP_FSUB] = {BINARY, GB_MINUS, NULL, 2},
    [OP_FMA] = {LIBM, 0, "fma", 3},
    [OP_FMUL] = {PRODUCT, 0, NULL, 2}, [OP_FDIV] = {BINARY, GB_DIVIDE, NULL, 2},
    [OP_FNEG] = {SPECIAL, 0, NULL, 1},      [OP_FPOWI] = {TABLE, TF_rt_powi, NULL, 2},
    [OP_FPOW] = {TABLE, TF_rt_pow, NULL, 2}, [OP_FMIN] = {HELPER, H_FMIN, NULL, 2},
    [OP_FMAX] = {HELPER, H_FMAX, NULL, 2},  [OP_CADD] = {BINARY, GB_PLUS, NULL, 2},
    [OP_FEQ] = {COMPARE, GC_EQ, NULL, 2},   [OP_FNE] = {COMPARE, GC_NE, NULL, 2},
    [OP_FLT] = {COMPARE, GC_LT, NULL, 2},   [OP_FLE] = {COMPARE, GC_LE, NULL, 2},
    [OP_ABS] = {LIBM, 0, "fabs", 1},        [OP_SIGN] = {HELPER, H_SIGN, NULL, 1},
    [OP_FLOOR] = {LIBM, 0, "floor", 1},     [OP_CEIL] = {LIBM, 0, "ceil", 1},
    [OP_ROUND] = {LIBM, 0, "round", 1},     [OP_TRUNC] = {LIBM, 0, "trunc", 1},
    [OP_SQRT] = {LIBM, 0, "sqrt", 1},       [OP_CBRT] = {LIBM, 0, "cbrt", 1},
    [OP_EXP] = {LIBM, 0, "exp", 1},         [OP_EXPM1] = {LIBM, 0, "expm1", 1},
    [OP_LOG] = {LIBM, 0, "log", 1},         [OP_LOG1P] = {LIBM, 0, "log1p", 1},
    [OP_LOG2] = {LIBM, 0, "log2", 1},       [OP_LOG10] = {LIBM, 0, "log10", 1},
    [OP_SIN] = {LIBM, 0, "sin", 1},         [OP_COS] = {LIBM, 0, "cos", 1},
    [OP_TAN] = {LIBM, 0, "tan", 1},         [OP_ASIN] = {LIBM, 0, "asin", 1},
    [OP_ACOS] = {LIBM, 0, "acos", 1},       [OP_ATAN] = {LIBM, 0, "atan", 1},
    [OP_ATAN2] = {LIBM, 0, "atan2", 2},     [OP_SINH] = {LIBM, 0, "sinh", 1},
    [OP_COSH] = {LIBM, 0, "cosh", 1},       [OP_TANH] = {LIBM, 0, "tanh", 1},
    [OP_ASINH] = {LIBM, 0, "asinh", 1},     [OP_ACOSH] = {LIBM, 0, "acosh", 1},
    [OP_ATANH] = {LIBM, 0, "atanh", 1},     [OP_HYPOT] = {LIBM, 0, "hypot", 2},
    [OP_ERF] = {LIBM, 0, "erf", 1},         [OP_ERFC] = {LIBM, 0, "erfc", 1},
    [OP_TGAMMA] = {LIBM, 0, "tgamma", 1},   [OP_LGAMMA] = {LIBM, 0, "lgamma", 1},
    [OP_DIGAMMA] = {TABLE, TF_rt_digamma, NULL, 1}, [OP_TRIGAMMA] = {TABLE, TF_rt_trigamma, NULL, 1},
    [OP_IS_NAN] = {SPECIAL, 0, NULL, 1},    [OP_FLOAT_OF_INT] = {SPECIAL, 0, NULL, 1},
    [OP_INT_OF_FLOAT] = {HELPER, H_INT_OF_FLOAT, NULL, 1},
    [OP_NOT] = {SPECIAL, 0, NULL, 1},       [OP_AND] = {BINARY, GB_AND, NULL, 2},
    [OP_OR] = {BINARY, GB_OR, NULL, 2},     [OP_BEQ] = {COMPARE, GC_EQ, NULL, 2},
    [OP_SELECT] = {SPECIAL, 0, NULL, 3},    [OP_TAG] = {HELPER, H_TAG, NULL, 1},
};
/* clang-format on */

/* dst = condition ? yes : no. */
static void select_into(Fn *k, int dst, Rv *condition, Rv *yes, Rv *no) {
  Emit *e = k->e;
  Block *a = new_block(k), *b = new_block(k), *next = new_block(k);
  e->g->block_end_with_conditional(k->cur, NULL, condition, a, b);
  k->cur = a;
  assign_reg(k, dst, yes);
  e->g->block_end_with_jump(a, NULL, next);
  k->cur = b;
  assign_reg(k, dst, no);
  e->g->block_end_with_jump(b, NULL, next);
  k->cur = next;
}

static void emit_special(Fn *k, const LInstr *i, Rv *a, Rv *b) {
  Emit *e = k->e;
  switch (i->sub) {
  case OP_INEG:
  case OP_FNEG: {
    Type *t = i->sub == OP_INEG ? e->t_i64 : e->t_f64;
    assign_reg(k, i->dst, e->g->context_new_unary_op(e->ctx, NULL, GU_MINUS, t, a));
    break;
  }
  case OP_IMIN: select_into(k, i->dst, compare(e, GC_LE, a, b), a, b); break;
  case OP_IMAX: select_into(k, i->dst, compare(e, GC_GE, a, b), a, b); break;
  case OP_ISHL: {
    Rv *count = binary(e, GB_AND, e->t_i64, b, k_i64(e, 63));
    assign_reg(k, i->dst, binary(e, GB_LSHIFT, e->t_i64, a, count));
    break;
  }
  case OP_ISHR: {
    Rv *count = cast(e, binary(e, GB_AND, e->t_i64, b, k_i64(e, 63)), e->t_u64);
    assign_reg(k, i->dst, cast(e, binary(e, GB_RSHIFT, e->t_u64, cast(e, a, e->t_u64), count), e->t_i64));
    break;
  }
  case OP_IS_NAN: assign_reg(k, i->dst, compare(e, GC_NE, a, a)); break;
  case OP_FLOAT_OF_INT: assign_reg(k, i->dst, cast(e, a, e->t_f64)); break;
  case OP_NOT: assign_reg(k, i->dst, binary(e, GB_XOR, e->t_i64, a, k_i64(e, 1))); break;
  default: select_into(k, i->dst, compare(e, GC_NE, a, k_i64(e, 0)), b, reg(k, i->c)); break;
  }
}

void emit_scalar(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  const Rule *r = i->sub < OP_COUNT ? &rules[i->sub] : &rules[0];
  Rv *a = reg(k, i->a), *b = r->n > 1 ? reg(k, i->b) : NULL, *c = r->n > 2 ? reg(k, i->c) : NULL, *args[] = {a, b, c};
  switch (r->how) {
  case BINARY: assign_reg(k, i->dst, binary(e, r->op, type_of_kind(e, k->f->regs[i->dst].kind), a, b)); break;
  case PRODUCT: assign_reg(k, i->dst, emit_product(k, i, a, b)); break;
  case COMPARE: assign_reg(k, i->dst, compare(e, r->op, a, b)); break;
  case LIBM: assign_reg(k, i->dst, call_libm(e, r->libm, r->n, args)); break;
  case TABLE: assign_reg(k, i->dst, call_table(e, k->mod, (RtTableFn)r->op, r->n, args)); break;
  case HELPER: assign_reg(k, i->dst, call_helper(e, (Helper)r->op, a, b)); break;
  case SPECIAL: emit_special(k, i, a, b); break;
  default: fail_emit(e, "scalar operation %d has no machine code", i->sub); break;
  }
}
