/* SPDX-License-Identifier: MIT */
/* The checks of lowered code: registers exist and have the right kinds, labels are placed once, tables are not
 * exceeded, every function ends in a jump or a return, and references are counted soundly as far as a linear
 * look can tell: only pointers are retained and released, only owned ones released. */
#include "lower/lower_internal.h"

typedef struct Check {
  const LModule *m;
  const LFunc *f;
  LInstr *in;
  const char *wrong;
} Check;

static void check_reg(void *user, int32_t *reg, Role role) {
  Check *c = user;
  (void)role;
  if (*reg < 0 || *reg >= c->f->nregs) c->wrong = "a register out of range";
}

static bool in_range(int64_t i, int n) { return i >= 0 && i < n; }

static const char *check_table(const Check *c) {
  const LInstr *in = c->in;
  const LModule *m = c->m;
  switch (in->op) {
  case LOP_STRING: return in_range(in->imm.i, m->nstrings) ? NULL : "a string out of range";
  case LOP_BOX: return in_range(in->imm.i, m->nboxes) ? NULL : "a box out of range";
  case LOP_GLOBAL: return in_range(in->a, m->nglobals) ? NULL : "a global out of range";
  case LOP_NEW_CLOSURE:
  case LOP_FUNC_ID:
  case LOP_NEW_ENV: return in_range(in->imm.i, m->nfuncs) ? NULL : "a function out of range";
  case LOP_FOREIGN: return in_range(in->imm.i, m->nforeigns) ? NULL : "a foreign function out of range";
  case LOP_NEW_ARRAY:
  case LOP_VIEW:
  case LOP_NEW_BOX:
  case LOP_ACC_AT:
  case LOP_ACC_SUB:
  case LOP_BAG_GET:
  case LOP_BAG_SUB:
  case LOP_BAG_TAKE:
  case LOP_BAG_TAKE_SUB:
  case LOP_BAG_SET:
  case LOP_BAG_SET_SUB:
  case LOP_BAG_FILL:
  case LOP_CADD: return in_range(in->imm.i, m->ndescs) ? NULL : "a descriptor out of range";
  case LOP_CALL: {
    if (!in_range(in->imm.i, m->nfuncs)) return "a function out of range";
    const LFunc *f = m->funcs[in->imm.i];
    if (in->nargs != f->nparams || in->nres != f->nresults) return "a call with a wrong number of registers";
    for (int i = 0; i < in->nargs; i++)
      if (c->f->regs[in->args[i]].kind != f->regs[i].kind) return "an argument of a wrong kind";
    for (int i = 0; i < in->nres; i++)
      if (c->f->regs[in->res[i]].kind != f->result_kinds[i]) return "a result of a wrong kind";
    return NULL;
  }
  default: return NULL;
  }
}

static const char *check_kinds(const Check *c) {
  const LInstr *in = c->in;
  const LReg *r = c->f->regs;
  switch (in->op) {
  case LOP_MOVE: return r[in->dst].kind == r[in->a].kind ? NULL : "a move between kinds";
  case LOP_INT:
  case LOP_DIM:
  case LOP_TAG:
  case LOP_IS_NULL: return r[in->dst].kind == R_INT ? NULL : "an integer expected";
  case LOP_FLOAT: return r[in->dst].kind == R_FLOAT ? NULL : "a float expected";
  case LOP_RELEASE: return r[in->a].kind == R_PTR && r[in->a].owned ? NULL : "a release of what isn't owned";
  case LOP_RETAIN:
  case LOP_UNIQUE:
  case LOP_COPY:
  case LOP_DATA: return r[in->a].kind == R_PTR ? NULL : "a pointer expected";
  case LOP_LOAD:
  case LOP_STORE: return r[in->a].kind == R_RAW ? NULL : "a data register expected";
  case LOP_BRANCH:
  case LOP_SWITCH: return r[in->a].kind == R_INT ? NULL : "a condition that isn't an integer";
  case LOP_SCALAR:
    return (op_flags[in->sub] & OPF_S) && r[in->dst].kind != R_RAW ? NULL : "an operation that isn't scalar";
  case LOP_RETURN:
    if (in->nargs != c->f->nresults) return "a return of a wrong number of registers";
    for (int i = 0; i < in->nargs; i++)
      if (r[in->args[i]].kind != c->f->result_kinds[i]) return "a result of a wrong kind";
    return NULL;
  default: return NULL;
  }
}

static const char *check_labels(const LModule *m, const LFunc *f) {
  Vec(int) placed = {0};
  for (int i = 0; i < f->nlabels; i++) vec_push(m->arena, placed, 0);
  for (int i = 0; i < f->ncode; i++)
    if (f->code[i].op == LOP_LABEL) {
      if (!in_range(f->code[i].imm.i, f->nlabels)) return "a label out of range";
      if (placed.data[f->code[i].imm.i]++) return "a label placed twice";
    }
  for (int i = 0; i < f->ncode; i++) {
    const LInstr *in = &f->code[i];
    if ((in->op == LOP_JUMP || in->op == LOP_BRANCH) && (!in_range(in->imm.i, f->nlabels) || !placed.data[in->imm.i]))
      return "a jump to nowhere";
    for (int k = 0; in->op == LOP_SWITCH && k < in->nargs; k++)
      if (!in_range(in->args[k], f->nlabels) || !placed.data[in->args[k]]) return "a switch to nowhere";
  }
  return NULL;
}

static const char *check_func(const LModule *m, LFunc *f) {
  if (f->ncode == 0) return "no code";
  uint32_t last = f->code[f->ncode - 1].op;
  if (last != LOP_RETURN && last != LOP_JUMP) return "the end is fallen off";
  for (int i = 0; i < f->ncode; i++) {
    Check c = {m, f, &f->code[i], NULL};
    if (c.in->op == LOP_CALL && !in_range(c.in->imm.i, m->nfuncs)) return "a function out of range";
    if (c.in->op != LOP_CALL || c.in->nargs == m->funcs[c.in->imm.i]->nparams) lir_roles(m, c.in, check_reg, &c);
    if (!c.wrong) c.wrong = check_table(&c);
    if (!c.wrong) c.wrong = check_kinds(&c);
    if (c.wrong) return arena_printf(m->arena, "%s, at instruction %d", c.wrong, i);
  }
  return check_labels(m, f);
}

const char *lir_verify(const LModule *m) {
  if (m->error) return m->error;
  for (int i = 0; i < m->nfuncs; i++) {
    const char *wrong = check_func(m, m->funcs[i]);
    if (wrong) return arena_printf(m->arena, "%s: %s", m->funcs[i]->name, wrong);
  }
  return NULL;
}
