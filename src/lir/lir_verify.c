/* SPDX-License-Identifier: MIT */
/* The checks of lowered code: registers exist and have the right kinds, labels are placed once, tables are not
 * exceeded, every function ends in a jump or a return, and references are counted soundly as far as a linear
 * look can tell: only pointers are retained and released, only owned ones released. */
#include "lir/lir.h"

typedef struct Check {
  const LModule *m;
  const LFunc *f;
  const LInstr *in;
} Check;

static bool in_range(int64_t i, int n) { return i >= 0 && i < n; }

/* ---- What the rows of lir.def say -------------------------------------------------------------------------------- */
static const char *check_register(const Check *c, int32_t reg, char holds) {
  if (!in_range(reg, c->f->nregs)) return "a register out of range";
  LRegKind kind = c->f->regs[reg].kind;
  switch (holds) {
  case 'i': return kind == R_INT ? NULL : "an integer expected";
  case 'f': return kind == R_FLOAT ? NULL : "a float expected";
  case 'p': return kind == R_PTR ? NULL : "a pointer expected";
  case 'r': return kind == R_RAW ? NULL : "a data register expected";
  case 'v': return kind != R_RAW ? NULL : "a value expected";
  default: return NULL;
  }
}

/* One of dst, a, b, c. */
static const char *check_field(const Check *c, LOperand k, int32_t value) {
  char use = lir_use(c->in->op, k), holds = lir_holds(c->in->op, k);
  if (use == '-') return value == -1 ? NULL : "an operand too many";
  if (use == '#') return holds != 'g' || in_range(value, c->m->nglobals) ? NULL : "a global out of range";
  return use == 'o' && value == -1 ? NULL : check_register(c, value, holds);
}

static const char *check_list(const Check *c, LOperand k, const int32_t *list, int n) {
  char use = lir_use(c->in->op, k), holds = lir_holds(c->in->op, k);
  if (use == '-') return n == 0 ? NULL : "a list too many";
  for (int i = 0; use != '#' && i < n; i++) {
    const char *wrong = check_register(c, list[i], holds);
    if (wrong) return wrong;
  }
  return NULL;
}

static const char *check_operands(const Check *c) {
  const int32_t fields[] = {c->in->dst, c->in->a, c->in->b, c->in->c};
  const char *wrong = NULL;
  for (LOperand k = LOPERAND_DST; k <= LOPERAND_C && !wrong; k++) wrong = check_field(c, k, fields[k]);
  if (!wrong) wrong = check_list(c, LOPERAND_ARGS, c->in->args, c->in->nargs);
  return wrong ? wrong : check_list(c, LOPERAND_RES, c->in->res, c->in->nres);
}

static const char *check_immediate(const Check *c) {
  const LModule *m = c->m;
  int64_t i = c->in->imm.i;
  switch (lir_ops[c->in->op].imm) {
  case LIMM_NONE: return i == 0 ? NULL : "an immediate too many";
  case LIMM_INT:
  case LIMM_FLOAT:
  case LIMM_TEXT: return NULL;
  case LIMM_LABEL: return in_range(i, c->f->nlabels) ? NULL : "a label out of range";
  case LIMM_STRING: return in_range(i, m->nstrings) ? NULL : "a string out of range";
  case LIMM_BOX: return in_range(i, m->nboxes) ? NULL : "a box out of range";
  case LIMM_FUNC: return in_range(i, m->nfuncs) ? NULL : "a function out of range";
  case LIMM_FOREIGN: return in_range(i, m->nforeigns) ? NULL : "a foreign function out of range";
  case LIMM_OPT_DESC:
    if (i == -1) return NULL;
    return in_range(i, m->ndescs) ? NULL : "a descriptor out of range";
  case LIMM_DESC: return in_range(i, m->ndescs) ? NULL : "a descriptor out of range";
  }
  return NULL;
}

static const char *check_sub(const Check *c) {
  uint32_t sub = c->in->sub;
  switch (lir_ops[c->in->op].sub) {
  case LSUB_NONE: return sub == 0 ? NULL : "a sub too many";
  case LSUB_OP: return sub < OP_COUNT && (op_flags[sub] & OPF_S) ? NULL : "an operation that isn't scalar";
  case LSUB_PRIM: return sub < RTP_COUNT ? NULL : "a primitive out of range";
  case LSUB_DESC: return in_range(sub, c->m->ndescs) ? NULL : "a descriptor out of range";
  case LSUB_TAKE: return sub <= 1 ? NULL : "a sub that is no flag";
  }
  return NULL;
}

static const char *check_site(const Check *c) {
  if (c->m->sites && c->in->site >= (uint32_t)c->m->nsites) return "a site out of range";
  return c->in->site && lir_ops[c->in->op].fails == LFAILS_NEVER ? "a site of what can't fail" : NULL;
}

/* ---- What is special to some ------------------------------------------------------------------------------------- */
static const char *check_call(const Check *c) {
  const LInstr *in = c->in;
  const LFunc *f = c->m->funcs[in->imm.i];
  if (in->nargs != f->nparams || in->nres != f->nresults) return "a call with a wrong number of registers";
  for (int i = 0; i < in->nargs; i++)
    if (c->f->regs[in->args[i]].kind != f->regs[i].kind) return "an argument of a wrong kind";
  for (int i = 0; i < in->nres; i++)
    if (c->f->regs[in->res[i]].kind != f->result_kinds[i]) return "a result of a wrong kind";
  return NULL;
}

static const char *check_return(const Check *c) {
  if (c->in->nargs != c->f->nresults) return "a return of a wrong number of registers";
  for (int i = 0; i < c->in->nargs; i++)
    if (c->f->regs[c->in->args[i]].kind != c->f->result_kinds[i]) return "a result of a wrong kind";
  return NULL;
}

static const char *check_special(const Check *c) {
  const LReg *r = c->f->regs;
  if (lir_use(c->in->op, LOPERAND_ARGS) == 'c') return check_call(c);
  if (lir_ops[c->in->op].flow == LFLOW_RETURN) return check_return(c);
  int lanes = c->in->op == LOP_LANE_SUM ? c->in->nargs : c->in->nres;
  bool partial = c->in->op == LOP_LANE_OPEN || c->in->op == LOP_LANE_ADD || c->in->op == LOP_LANE_SUM;
  if (partial && (lanes < 1 || lanes & (lanes - 1))) return "partial sums whose number is no power of two";
  if (c->in->op == LOP_MOVE && r[c->in->dst].kind != r[c->in->a].kind) return "a move between kinds";
  if ((c->in->op == LOP_RELEASE || c->in->op == LOP_KEEP) && !r[c->in->a].owned) return "a release of what isn't owned";
  return NULL;
}

static const char *check_instr(const Check *c) {
  const char *(*const checks[])(const Check *) = {check_operands, check_immediate, check_sub, check_site,
                                                  check_special};
  const char *wrong = NULL;
  for (size_t k = 0; k < sizeof checks / sizeof *checks && !wrong; k++) wrong = checks[k](c);
  return wrong;
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */
static const char *check_labels(const LModule *m, const LFunc *f) {
  Vec(int) placed = {0};
  for (int i = 0; i < f->nlabels; i++) vec_push(m->arena, placed, 0);
  for (int i = 0; i < f->ncode; i++)
    if (f->code[i].op == LOP_LABEL) {
      if (!in_range(f->code[i].imm.i, f->nlabels)) return "a label out of range";
      if (placed.data[f->code[i].imm.i]++) return "a label placed twice";
    }
  for (int i = 0; i < f->ncode; i++)
    for (int64_t k = 0, l; (l = lir_target(&f->code[i], (int)k)) >= 0; k++)
      if (!in_range(l, f->nlabels) || !placed.data[l]) return "a jump to nowhere";
  return NULL;
}

static const char *check_func(const LModule *m, const LFunc *f) {
  if (f->ncode == 0) return m->fragment ? NULL : "no code";
  LFlow last = lir_ops[f->code[f->ncode - 1].op].flow;
  if (last != LFLOW_RETURN && last != LFLOW_JUMP) return "the end is fallen off";
  for (int i = 0; i < f->ncode; i++) {
    const char *wrong = check_instr(&(Check){m, f, &f->code[i]});
    if (wrong) return arena_printf(m->arena, "%s, at instruction %d", wrong, i);
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
