/* SPDX-License-Identifier: MIT */
/* Lowered code as text, for `atled ir --stage=lowered` and for tests.
 *
 * One instruction per line: destination, results, operation, immediate, sub, operands a, b and c, arguments, site. What
 * an operation has of these says its row in lir.def. Registers are written with their kind: i3 integer, f4 float, p5
 * pointer (p5! owned), r6 raw. */
#include "lir/lir.h"

static void print_reg(const LFunc *f, int r, Str *out) {
  if (r < 0 || r >= f->nregs) str_printf(out, "#%d", r);
  else str_printf(out, "%c%d%s", "ifpr"[f->regs[r].kind], r, f -> regs[r].owned ? "!" : "");
}

static void print_list(const LFunc *f, const int32_t *r, int n, bool labels, Str *out) {
  for (int i = 0; i < n; i++) {
    if (i) str_puts(out, ", ");
    if (labels) str_printf(out, "L%d", r[i]);
    else print_reg(f, r[i], out);
  }
}

static void print_immediate(const LInstr *in, Str *out) {
  switch (lir_ops[in->op].imm) {
  case LIMM_NONE: break;
  case LIMM_FLOAT: str_printf(out, " %.17g", in->imm.f); break;
  case LIMM_TEXT: str_printf(out, " \"%s\"", in->imm.text ? in->imm.text : ""); break;
  case LIMM_LABEL: str_printf(out, " L%lld", (long long)in->imm.i); break;
  case LIMM_INT:
  case LIMM_STRING:
  case LIMM_BOX:
  case LIMM_FUNC:
  case LIMM_FOREIGN:
  case LIMM_DESC:
  case LIMM_OPT_DESC: str_printf(out, " %lld", (long long)in->imm.i); break;
  }
}

static void print_sub(const LInstr *in, Str *out) {
  switch (lir_ops[in->op].sub) {
  case LSUB_NONE:
  case LSUB_OP: break; /* its name is the instruction's */
  case LSUB_PRIM: str_printf(out, " %s", ir_rt_name((int)in->sub)); break;
  case LSUB_DESC:
  case LSUB_TAKE:
    if (in->sub) str_printf(out, " sub=%u", in->sub);
  }
}

static void print_operands(const LFunc *f, const LInstr *in, Str *out) {
  const int32_t fields[] = {in->dst, in->a, in->b, in->c};
  for (LOperand k = LOPERAND_A; k <= LOPERAND_C; k++) {
    if (fields[k] < 0) continue;
    str_printf(out, " %c=", "dabc"[k]);
    if (lir_use(in->op, k) == '#') str_printf(out, "%d", fields[k]);
    else print_reg(f, fields[k], out);
  }
}

static void print_instr(const LFunc *f, const LInstr *in, Str *out) {
  str_puts(out, in->op == LOP_LABEL ? "  " : "    ");
  if (in->dst >= 0) {
    print_reg(f, in->dst, out);
    str_puts(out, " = ");
  }
  print_list(f, in->res, in->nres, false, out);
  if (in->nres) str_puts(out, " = ");
  str_puts(out, lir_ops[in->op].sub == LSUB_OP ? op_names[in->sub] : lir_ops[in->op].name);
  print_immediate(in, out);
  print_sub(in, out);
  print_operands(f, in, out);
  if (in->nargs) {
    str_puts(out, " (");
    print_list(f, in->args, in->nargs, lir_holds(in->op, LOPERAND_ARGS) == 'l', out);
    str_puts(out, ")");
  }
  if (in->site) str_printf(out, " @%u", in->site);
  str_puts(out, "\n");
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
    for (int k = 0; k < f->ncode; k++) print_instr(f, &f->code[k], out);
    left += !f->ncode && !f->library;
  }
  /* a module is compiled whole: what has no code here is all that could be left to the evaluator */
  str_printf(out, "%d functions, %d calls into the evaluator when compiled\n", m->nfuncs, left);
}
