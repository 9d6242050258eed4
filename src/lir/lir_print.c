/* SPDX-License-Identifier: MIT */
/* Lowered code as text, for `atled ir --stage=lir` and for tests.
 *
 * One instruction per line: destination, operation, operands, arguments, results. Registers are written with their
 * kind: i3 integer, f4 float, p5 pointer (p5! owned), r6 raw. */
#include "lower/lower_internal.h"

static const char *const lop_names[LOP_COUNT] = {
#define L(NAME) #NAME,
    LIR_OPS(L)
#undef L
};

static void print_reg(const LFunc *f, int r, Str *out) {
  if (r < 0 || r >= f->nregs) str_printf(out, "#%d", r);
  else str_printf(out, "%c%d%s", "ifpr"[f->regs[r].kind], r, f -> regs[r].owned ? "!" : "");
}

static void print_list(const LFunc *f, const char *before, const int32_t *r, int n, bool labels, Str *out) {
  if (!n) return;
  str_puts(out, before);
  for (int i = 0; i < n; i++) {
    if (i) str_puts(out, ", ");
    if (labels) str_printf(out, "L%d", r[i]);
    else print_reg(f, r[i], out);
  }
}

typedef struct OperandPrint {
  const LFunc *f;
  const LInstr *in;
  Str *out;
} OperandPrint;

static void print_use(void *user, int32_t *reg, Role role) {
  OperandPrint *p = user;
  (void)role;
  const int32_t *fields[] = {&p->in->a, &p->in->b, &p->in->c};
  for (int i = 0; i < 3; i++)
    if (reg == fields[i]) {
      str_printf(p->out, " %c=", 'a' + i);
      print_reg(p->f, *reg, p->out);
    }
}

static void print_immediate(const LInstr *in, Str *out) {
  switch (in->op) {
  case LOP_FLOAT: str_printf(out, " %.17g", in->imm.f); break;
  case LOP_LABEL:
  case LOP_JUMP:
  case LOP_BRANCH: str_printf(out, " L%lld", (long long)in->imm.i); break;
  case LOP_CHECK_NAT: str_printf(out, " %s", in->imm.text ? in->imm.text : ""); break;
  case LOP_GLOBAL: str_printf(out, " %d.%d", in->a, in->b); break;
  case LOP_FIELD:
  case LOP_FIELD_AT:
  case LOP_CAPTURE:
  case LOP_ENV_FIELD: str_printf(out, " .%d", in->b); break;
  case LOP_NEW_BOX: str_printf(out, " %lld tag %d", (long long)in->imm.i, in->b); break;
  case LOP_LOAD:
  case LOP_STORE: str_printf(out, " *%lld+%d%s", (long long)in->imm.i, in->c, in->sub ? " take" : ""); break;
  case LOP_LOOP_HEAD: str_puts(out, in->b ? " innermost" : ""); break;
  case LOP_INT:
  case LOP_STRING:
  case LOP_BOX:
  case LOP_IMMEDIATE:
  case LOP_CALL:
  case LOP_FOREIGN:
  case LOP_RT:
  case LOP_NEW_ARRAY:
  case LOP_SET_DIM:
  case LOP_DIM:
  case LOP_VIEW:
  case LOP_NEW_CLOSURE:
  case LOP_FUNC_ID:
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
  case LOP_NEW_ENV: str_printf(out, " %lld", (long long)in->imm.i); break;
  default: break;
  }
}

static void print_instr(const LModule *m, const LFunc *f, LInstr *in, Str *out) {
  str_puts(out, in->op == LOP_LABEL ? "  " : "    ");
  if (in->dst >= 0) {
    print_reg(f, in->dst, out);
    str_puts(out, " = ");
  }
  print_list(f, "", in->res, in->nres, false, out);
  if (in->nres) str_puts(out, " = ");
  str_puts(out, in->op == LOP_SCALAR ? op_names[in->sub] : lop_names[in->op]);
  if (in->op == LOP_RT) str_printf(out, " prim %d", in->sub);
  print_immediate(in, out);
  OperandPrint p = {f, in, out};
  lir_roles(m, in, print_use, &p);
  print_list(f, " (", in->args, in->nargs, in->op == LOP_SWITCH, out);
  str_puts(out, in->nargs ? ")\n" : "\n");
}

void lir_print(const LModule *m, Str *out) {
  int left = 0;
  if (m->error) str_printf(out, "error: %s\n", m->error);
  for (int i = 0; i < m->nfuncs; i++) {
    LFunc *f = m->funcs[i];
    str_printf(out, "func %d %s (", i, f->name);
    for (int k = 0; k < f->nparams; k++) {
      if (k) str_puts(out, ", ");
      print_reg(f, k, out);
    }
    str_printf(out, ") -> %d%s%s%s\n", f->nresults, f->may_fail ? " fails" : "", f->recursive ? " recursive" : "",
               f->is_entry ? " entry" : "");
    for (int k = 0; k < f->ncode; k++) print_instr(m, f, &f->code[k], out);
    left += !f->ncode && !f->library;
  }
  /* a module is compiled whole: what has no code here is all that could be left to the evaluator */
  str_printf(out, "%d functions, %d calls into the evaluator when compiled\n", m->nfuncs, left);
}
