/* SPDX-License-Identifier: MIT */
/* The rows of lir.def as a table, and what each instruction does with its registers: from it ownership, the verifier
 * and the printer work. */
#include "lir/lir.h"

const LirOp lir_ops[LOP_COUNT] = {
#define L(name, operands, imm, sub, fails, flow, simple, evaluator)                                                    \
  [LOP_##name] = {#name, operands, LIMM_##imm, LSUB_##sub, LFAILS_##fails, LFLOW_##flow, LSIMPLE_##simple},
#include "lir/lir.def"
#undef L
};

/* ---- Roles ------------------------------------------------------------------------------------------------------- */
static bool reads(char use) { return use == 'r' || use == 'o' || use == 'k'; }

static void give_args(const LModule *m, LInstr *in, RoleFn fn, void *user) {
  char use = lir_use(in->op, LOPERAND_ARGS);
  if (use != 'r' && use != 'c') return;
  for (int i = 0; i < in->nargs; i++) {
    bool taken = use == 'c' && m->funcs[in->imm.i]->regs[i].owned;
    if (in->args[i] >= 0) fn(user, &in->args[i], taken ? ROLE_TAKE : ROLE_READ);
  }
}

/* Are the results of op replaced in place? */
static bool replaces_results(LOp op) { return lir_use(op, LOPERAND_RES) == 'i'; }

static void give_list(int32_t *regs, int n, Role role, RoleFn fn, void *user) {
  for (int i = 0; i < n; i++)
    if (regs[i] >= 0) fn(user, &regs[i], role);
}

static void give_uses(const LModule *m, LInstr *in, RoleFn fn, void *user) {
  int32_t *fields[] = {&in->dst, &in->a, &in->b, &in->c};
  for (LOperand k = LOPERAND_A; k <= LOPERAND_C; k++)
    if (reads(lir_use(in->op, k)) && *fields[k] >= 0) fn(user, fields[k], ROLE_READ);
  give_args(m, in, fn, user);
  for (LOperand k = LOPERAND_DST; k <= LOPERAND_C; k++)
    if (lir_use(in->op, k) == 't' && *fields[k] >= 0) fn(user, fields[k], ROLE_TAKE);
  if (lir_use(in->op, LOPERAND_ARGS) == 't') give_list(in->args, in->nargs, ROLE_TAKE, fn, user);
  if (lir_use(in->op, LOPERAND_RES) == 't') give_list(in->res, in->nres, ROLE_TAKE, fn, user);
}

void lir_roles(const LModule *m, LInstr *in, RoleFn fn, void *user) {
  give_uses(m, in, fn, user);
  switch (lir_use(in->op, LOPERAND_DST)) {
  case 'i': fn(user, &in->dst, ROLE_INOUT); break;
  case 'u':
  case 'd': fn(user, &in->dst, ROLE_DEF); break;
  case 'b': fn(user, &in->dst, lir_ops[in->op].sub == LSUB_TAKE && in->sub ? ROLE_DEF : ROLE_DEF_BORROWED); break;
  default: break;
  }
  if (lir_use(in->op, LOPERAND_RES) == 'd') give_list(in->res, in->nres, ROLE_DEF, fn, user);
  if (replaces_results(in->op)) give_list(in->res, in->nres, ROLE_INOUT, fn, user);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */
FunctionName lir_function(const LInstr *in) {
  if (in->op != LOP_SCALAR) return FN_COUNT;
  switch (in->sub) {
#define WAVE(NAME, libm, member)                                                                                       \
  case OP_##NAME:                                                                                                      \
    return FN_##NAME;
#define FUNCTION1(NAME, libm, sleef, accuracy, lost) WAVE(NAME, libm, )
#define FUNCTION2(NAME, libm, sleef, accuracy, lost) WAVE(NAME, libm, )
#include "support/functions.def"
  default: return FN_COUNT;
  }
}

bool lir_calls_function(const LInstr *in) {
  return lir_function(in) != FN_COUNT || (in->op == LOP_SCALAR && in->sub == OP_FPOWI);
}

bool lir_calls_functions(const LModule *m) {
  for (int f = 0; f < m->nfuncs; f++)
    for (int k = 0; k < m->funcs[f]->ncode; k++)
      if (lir_calls_function(&m->funcs[f]->code[k])) return true;
  return false;
}

/* ---- Facts ------------------------------------------------------------------------------------------------------- */
bool lir_defines_dst(LOp op) {
  char use = lir_use(op, LOPERAND_DST);
  return use == 'd' || use == 'u' || use == 'b' || use == 'i';
}

bool lir_defines_results(LOp op) { return lir_use(op, LOPERAND_RES) == 'd'; }
bool lir_never_counted(LOp op) { return lir_use(op, LOPERAND_DST) == 'u'; }

bool lir_fails(const LModule *m, const LInstr *in) {
  switch (lir_ops[in->op].fails) {
  case LFAILS_MAY: return true;
  case LFAILS_CALLEE: return m->funcs[in->imm.i]->may_fail;
  case LFAILS_NEVER: break;
  }
  return false;
}

bool lir_simple(const LInstr *in, LRegKind dst) {
  LSimple simple = lir_ops[in->op].simple;
  return simple == LSIMPLE_YES || (simple == LSIMPLE_NUMBERS && dst != R_PTR);
}

int64_t lir_target(const LInstr *in, int k) {
  switch (lir_ops[in->op].flow) {
  case LFLOW_JUMP:
  case LFLOW_BRANCH: return k == 0 ? in->imm.i : -1;
  case LFLOW_SWITCH: return k < in->nargs ? in->args[k] : -1;
  case LFLOW_NEXT:
  case LFLOW_RETURN:
  case LFLOW_FAIL: break;
  }
  return -1;
}
