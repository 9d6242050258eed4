/* SPDX-License-Identifier: MIT */
/* Scalar operations: a rule each says how machine code does it.
 *
 * Most are one binary operation, comparison or libm call; helpers.c has those
 * that need a branch. Booleans are 0 or 1 in an integer register. Where C's
 * operation isn't total (shifts, division, conversion) the row picks a guarded one. */
#include "jit/emit.h"

typedef enum How { UNKNOWN, PRODUCT, SUM, BINARY, COMPARE, LIBM, FUNCTION_OF_TABLE, TABLE, HELPER, SPECIAL } How;
typedef struct Rule {
  How how;
  unsigned op; /* GB_, GC_, FN_, TF_ or H_ */
  const char *libm;
} Rule;

/* clang-format off */
#define RULE_IADD BINARY, GB_PLUS, NULL
#define RULE_ISUB BINARY, GB_MINUS, NULL
#define RULE_IMUL BINARY, GB_MULT, NULL
#define RULE_IDIV HELPER, H_IDIV, NULL
#define RULE_IREM HELPER, H_IREM, NULL
#define RULE_BYTES SPECIAL, 0, NULL
#define RULE_NATIVE SPECIAL, 0, NULL
#define RULE_INEG SPECIAL, 0, NULL
#define RULE_ISUBS HELPER, H_ISUBS, NULL
#define RULE_IPOW TABLE, TF_rt_ipow, NULL
#define RULE_IMIN SPECIAL, 0, NULL
#define RULE_IMAX SPECIAL, 0, NULL
#define RULE_IAND BINARY, GB_AND, NULL
#define RULE_IOR BINARY, GB_OR, NULL
#define RULE_IXOR BINARY, GB_XOR, NULL
#define RULE_ISHL SPECIAL, 0, NULL
#define RULE_ISHR SPECIAL, 0, NULL
#define RULE_IEQ COMPARE, GC_EQ, NULL
#define RULE_INE COMPARE, GC_NE, NULL
#define RULE_ILT COMPARE, GC_LT, NULL
#define RULE_ILE COMPARE, GC_LE, NULL
#define RULE_FADD SUM, 0, NULL
#define RULE_FSUB BINARY, GB_MINUS, NULL
#define RULE_FMA LIBM, 0, "fma"
#define RULE_FMUL PRODUCT, 0, NULL
#define RULE_FDIV BINARY, GB_DIVIDE, NULL
#define RULE_FNEG SPECIAL, 0, NULL
#define RULE_FPOWI SPECIAL, 0, NULL
#define RULE_FMIN HELPER, H_FMIN, NULL
#define RULE_FMAX HELPER, H_FMAX, NULL
#define RULE_FEQ COMPARE, GC_EQ, NULL
#define RULE_FNE COMPARE, GC_NE, NULL
#define RULE_FLT COMPARE, GC_LT, NULL
#define RULE_FLE COMPARE, GC_LE, NULL
#define RULE_SIGN HELPER, H_SIGN, NULL
#define RULE_DIGAMMA TABLE, TF_rt_digamma, NULL
#define RULE_TRIGAMMA TABLE, TF_rt_trigamma, NULL
#define RULE_IS_NAN SPECIAL, 0, NULL
#define RULE_FLOAT_OF_INT SPECIAL, 0, NULL
#define RULE_INT_OF_FLOAT HELPER, H_INT_OF_FLOAT, NULL
#define RULE_NOT SPECIAL, 0, NULL
#define RULE_AND BINARY, GB_AND, NULL
#define RULE_OR BINARY, GB_OR, NULL
#define RULE_BEQ COMPARE, GC_EQ, NULL
#define RULE_SELECT SPECIAL, 0, NULL
/* clang-format on */

static const Rule rules[OP_COUNT] = {
#define OP(name, text, signature, flags)
#define SCALAR(name, text, signature, flags)   [OP_##name] = {RULE_##name},
#define FLOAT1(name, text, function, flags)    [OP_##name] = {LIBM, 0, #function},
#define FUNCTION(name, text, signature, flags) [OP_##name] = {FUNCTION_OF_TABLE, FN_##name, NULL},
#include "ir/ops.def"
#undef OP
    [OP_CADD] = {SUM, 0, NULL}, [OP_TAG] = {HELPER, H_TAG, NULL}};

/* ---- Functions of the VM's table -------------------------------------------------------------------------------- */
/* They are called by the pointers in it (support/functions.h). GCC must not know what they compute: its own values of
 * libm's functions at constants, which it also finds by unrolling, differ in the last bit, and it replaces
 * sinh(atanh(x)) by x/sqrt((1-x)*(1+x)), or sin(atan(x)), in some places even with -frounding-math. What a program
 * prints must not depend on when its machine code was ready. */
static const char *const of_libm[FN_COUNT] = {
#define WAVE(NAME, libm, member)                     [FN_##NAME] = #libm,
#define FUNCTION1(NAME, libm, sleef, accuracy, lost) [FN_##NAME] = #libm,
#define FUNCTION2(NAME, libm, sleef, accuracy, lost) [FN_##NAME] = #libm,
#include "support/functions.def"
};

Rv *load_functions(Fn *k) { return load(k->e, rt_of(k), offsetof(Rt, functions), k->e->t_ptr); }

static Type *type_of_function(Emit *e, int n) {
  Type *params[] = {e->t_f64, e->t_f64};
  return e->g->context_new_function_ptr_type(e->ctx, NULL, e->t_f64, n, params, 0);
}

/* As functions_EXP and its like do it:
 *
 *   exp x   →   guarded_exp (f, x): double result = f (x); return fabs (result) == INFINITY ? exp (x) : result; */
static gcc_jit_function *guard_of(Emit *e, FunctionName name, Type *type, int n) {
  const void *key = (const void *)(uintptr_t)(name + 1u);
  gcc_jit_function *known = map_get(&e->guards, key);
  if (known) return known;
  gcc_jit_function *made = make_guard(e, of_libm[name], type, n, functions_lost(name));
  map_put(&e->guards, key, made);
  return made;
}

/* ---- Sine and cosine of one number ------------------------------------------------------------------------------- */
static bool is_wave(const LInstr *i) { return i->op == LOP_SCALAR && (i->sub == OP_SIN || i->sub == OP_COS); }

/* The next cosine (sine) of the number whose sine (cosine) instruction i computes, later in its basic block; NULL. */
const LInstr *wave_partner(const LFunc *f, const LInstr *i) {
  const LInstr *end = f->code + f->ncode;
  if (end - i > LIMIT_PARTNER_LOOK) end = i + LIMIT_PARTNER_LOOK;
  for (const LInstr *j = i + 1; i->dst != i->a && j < end; j++) {
    if (is_wave(j) && j->a == i->a && j->sub != i->sub) return j;
    if (j->op == LOP_LABEL || lir_ops[j->op].flow != LFLOW_NEXT) return NULL;
    if (lir_defines_dst(j->op) && j->dst == i->a) return NULL;
    for (int n = 0; n < j->nres && lir_defines_results(j->op); n++)
      if (j->res[n] == i->a) return NULL;
  }
  return NULL;
}

/* One call computes both:
 *
 *   s = sin x; …; c = cos x        →        both = waves (x); s = both.first; w = both.second; …; c = w */
static void emit_wave(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Lv *known = map_get(&k->waves, i);
  if (known) {
    assign_reg(k, i->dst, rv(e, known));
    return;
  }
  Type *two = e->two[SLOT_FLOAT][SLOT_FLOAT];
  gcc_jit_field **fields = e->two_value[SLOT_FLOAT][SLOT_FLOAT];
  Rv *x = reg(k, i->a);
  if (!k->both) k->both = e->g->function_new_local(k->fn, NULL, two, "both");
  Type *type = e->g->context_new_function_ptr_type(e->ctx, NULL, two, 1, &e->t_f64, 0);
  Rv *target = load(e, load_functions(k), offsetof(Functions, waves), type);
  assign(k, k->both, e->g->context_new_call_through_ptr(e->ctx, NULL, target, 1, &x));
  Rv *both[] = {rv(e, e->g->lvalue_access_field(k->both, NULL, fields[0])),
                rv(e, e->g->lvalue_access_field(k->both, NULL, fields[1]))};
  const LInstr *other = wave_partner(k->f, i);
  if (other) {
    Lv *later = e->g->function_new_local(k->fn, NULL, e->t_f64, "wave");
    assign(k, later, both[i->sub == OP_SIN]);
    map_put(&k->waves, other, later);
  }
  assign_reg(k, i->dst, both[i->sub == OP_COS]);
}

static void emit_function(Fn *k, const LInstr *i, FunctionName name, int n, Rv **args) {
  Emit *e = k->e;
  if (is_wave(i)) {
    emit_wave(k, i);
    return;
  }
  Type *type = type_of_function(e, n);
  Rv *target = load(e, load_functions(k), offsetof(Functions, of) + (size_t)name * sizeof(double (*)(double)), type);
  if (functions_lost(name) != FUNCTION_NEVER) {
    Rv *guarded[] = {target, args[0], args[1]};
    assign_reg(k, i->dst, call(e, guard_of(e, name, type, n), n + 1, guarded));
  } else {
    assign_reg(k, i->dst, e->g->context_new_call_through_ptr(e->ctx, NULL, target, n, args));
  }
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */
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
  case OP_BYTES: assign_reg(k, i->dst, load(e, a, offsetof(StringObj, len), e->t_i64)); break;
  case OP_NATIVE: assign_reg(k, i->dst, k_i64(e, 1)); break;
  case OP_INEG: assign_reg(k, i->dst, e->g->context_new_unary_op(e->ctx, NULL, GU_MINUS, e->t_i64, a)); break;
  case OP_FNEG: assign_reg(k, i->dst, emit_negation(k, i, a)); break;
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
  case OP_FPOWI: {
    Rv *args[] = {load_functions(k), a, b};
    assign_reg(k, i->dst, CALL_TABLE(e, k->mod, rt_powi, args[0], args[1], args[2]));
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
  int n = op_operands((Op)i->sub);
  Rv *a = reg(k, i->a), *b = n > 1 ? reg(k, i->b) : NULL, *c = n > 2 ? reg(k, i->c) : NULL, *args[] = {a, b, c};
  switch (r->how) {
  case BINARY: assign_reg(k, i->dst, binary(e, r->op, type_of_kind(e, k->f->regs[i->dst].kind), a, b)); break;
  case PRODUCT: assign_reg(k, i->dst, emit_product(k, i, a, b)); break;
  case SUM: assign_reg(k, i->dst, emit_sum(k, i, a, b)); break;
  case COMPARE: assign_reg(k, i->dst, compare(e, r->op, a, b)); break;
  case LIBM: assign_reg(k, i->dst, call_libm(e, r->libm, n, args)); break;
  case FUNCTION_OF_TABLE: emit_function(k, i, (FunctionName)r->op, n, args); break;
  case TABLE: assign_reg(k, i->dst, call_table(e, k->mod, (RtTableFn)r->op, n, args)); break;
  case HELPER: assign_reg(k, i->dst, call_helper(e, (Helper)r->op, a, b)); break;
  case SPECIAL: emit_special(k, i, a, b); break;
  default: fail_emit(e, "scalar operation %d has no machine code", i->sub); break;
  }
}
