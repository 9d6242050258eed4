/* SPDX-License-Identifier: MIT */
/* What each instruction does with its registers: one table, from which ownership, the verifier and the printer work.
 *
 * ROLE_READ looks at a value, ROLE_TAKE consumes the reference, ROLE_INOUT replaces it in place, ROLE_DEF defines a
 * register with a reference of its own, ROLE_DEF_BORROWED with one that belongs to a container. The roles of
 * numbers are the same, without consequences. */
#include "lower/lower_internal.h"

/* One letter for each of dst a b c args res: r read, t take, i in and out, d define, b define borrowed, - no
 * register. */

static const char *const shapes[LOP_COUNT] = {
    [LOP_SCALAR] = "drrr--",       [LOP_MOVE] = "dt----",          [LOP_INT] = "d-----",
    [LOP_FLOAT] = "d-----",        [LOP_STRING] = "d-----",        [LOP_BOX] = "d-----",
    [LOP_NULLPTR] = "d-----",      [LOP_IMMEDIATE] = "d-----",     [LOP_GLOBAL] = "b-----",
    [LOP_LABEL] = "------",        [LOP_JUMP] = "------",          [LOP_BRANCH] = "-r----",
    [LOP_SWITCH] = "-r----",       [LOP_LOOP_HEAD] = "------",     [LOP_POLL] = "------",
    [LOP_CHECK_INDEX] = "-rr---",  [LOP_CHECK_SLICE] = "-rrr--",   [LOP_CHECK_SIZE] = "-rr---",
    [LOP_CHECK_ROW] = "-rr---",    [LOP_CHECK_NONZERO] = "-r----", [LOP_CHECK_DEPTH] = "-rr---",
    [LOP_CHECK_NAT] = "-r----",    [LOP_ASSERT] = "-rr---",        [LOP_FAIL] = "-r----",
    [LOP_CALL] = "----rd",         [LOP_FOREIGN] = "----rd",       [LOP_APPLY] = "-r--rd",
    [LOP_RT] = "----rd",           [LOP_RETAIN] = "-r----",        [LOP_RELEASE] = "-t----",
    [LOP_NEW_ARRAY] = "d---r-",    [LOP_GROW] = "irr---",          [LOP_SET_DIM] = "-rr---",
    [LOP_DIM] = "dr----",          [LOP_DATA] = "dr----",          [LOP_LOAD] = "brr---",
    [LOP_STORE] = "trr---",        [LOP_VIEW] = "drr-r-",          [LOP_UNIQUE] = "dt----",
    [LOP_COPY] = "dr----",         [LOP_NEW_BOX] = "d---t-",       [LOP_TAG] = "dr----",
    [LOP_FIELD] = "br----",        [LOP_OPEN] = "-t---d",          [LOP_FIELD_AT] = "dr----",
    [LOP_NEW_CLOSURE] = "d---t-",  [LOP_CAPTURE] = "br----",       [LOP_CLOSURE_ID] = "dr----",
    [LOP_FUNC_ID] = "d-----",      [LOP_ACC_AT] = "ir--rt",        [LOP_ACC_SUB] = "irrtr-",
    [LOP_BAG_GET] = "-rr-rd",      [LOP_BAG_SUB] = "drrrr-",       [LOP_BAG_TAKE] = "ir--rd",
    [LOP_BAG_TAKE_SUB] = "irr-rd", [LOP_BAG_SET] = "ir--rt",       [LOP_BAG_SET_SUB] = "irrtr-",
    [LOP_BAG_FILL] = "dt--r-",     [LOP_CADD] = "dtt---",          [LOP_NEW_ENV] = "d---t-",
    [LOP_ENV_FIELD] = "br----",    [LOP_IS_NULL] = "dr----",       [LOP_RETURN] = "----t-",
};

static Role role_of(char c) {
  switch (c) {
  case 't': return ROLE_TAKE;
  case 'i': return ROLE_INOUT;
  case 'd': return ROLE_DEF;
  case 'b': return ROLE_DEF_BORROWED;
  default: return ROLE_READ;
  }
}

static void give(RoleFn fn, void *user, int32_t *reg, char c) {
  if (c != '-' && *reg >= 0) fn(user, reg, role_of(c));
}

static void give_uses(const LModule *m, LInstr *in, const char *shape, RoleFn fn, void *user) {
  int32_t *fields[] = {&in->dst, &in->a, &in->b, &in->c};
  for (int i = 1; i < 4; i++)
    if (shape[i] == 'r') give(fn, user, fields[i], 'r');
  for (int i = 0; shape[4] == 'r' && i < in->nargs; i++) {
    bool taken = in->op == LOP_CALL && m->funcs[in->imm.i]->regs[i].owned;
    give(fn, user, &in->args[i], taken ? 't' : 'r');
  }
  for (int i = 0; i < 4; i++)
    if (shape[i] == 't') give(fn, user, fields[i], 't');
  for (int i = 0; shape[4] == 't' && i < in->nargs; i++) give(fn, user, &in->args[i], 't');
  for (int i = 0; shape[5] == 't' && i < in->nres; i++) give(fn, user, &in->res[i], 't');
}

void lir_roles(const LModule *m, LInstr *in, RoleFn fn, void *user) {
  const char *shape = shapes[in->op];
  give_uses(m, in, shape, fn, user);
  if (shape[0] == 'i') fn(user, &in->dst, ROLE_INOUT);
  if (shape[0] == 'd') fn(user, &in->dst, ROLE_DEF);
  if (shape[0] == 'b') fn(user, &in->dst, in->op == LOP_LOAD && in->sub ? ROLE_DEF : ROLE_DEF_BORROWED);
  for (int i = 0; shape[5] == 'd' && i < in->nres; i++) fn(user, &in->res[i], ROLE_DEF);
}

bool lir_fails(const LModule *m, const LInstr *in) {
  switch (in->op) {
  case LOP_CALL: return m->funcs[in->imm.i]->may_fail;
  case LOP_POLL:
  case LOP_CHECK_INDEX:
  case LOP_CHECK_SLICE:
  case LOP_CHECK_SIZE:
  case LOP_CHECK_ROW:
  case LOP_CHECK_NONZERO:
  case LOP_CHECK_DEPTH:
  case LOP_CHECK_NAT:
  case LOP_ASSERT:
  case LOP_FAIL:
  case LOP_APPLY:
  case LOP_RT:
  case LOP_NEW_ARRAY:
  case LOP_GROW:
  case LOP_VIEW:
  case LOP_UNIQUE:
  case LOP_COPY:
  case LOP_NEW_BOX:
  case LOP_NEW_CLOSURE:
  case LOP_ACC_AT:
  case LOP_ACC_SUB:
  case LOP_BAG_GET:
  case LOP_BAG_SUB:
  case LOP_BAG_TAKE:
  case LOP_BAG_TAKE_SUB:
  case LOP_BAG_SET:
  case LOP_BAG_SET_SUB:
  case LOP_BAG_FILL:
  case LOP_CADD:
  case LOP_NEW_ENV: return true;
  default: return false;
  }
}
