/* SPDX-License-Identifier: MIT */
/* Operations that the evaluator counts if it is asked to (Rt.operations): those of src/facts/cost.c, as they are done.
 *
 *   one      arithmetic, function or comparison of floats; a float chosen; a slot of an array or bag read or written
 *   two      a product and sum in one
 *   2 m k n  a product of matrices
 *
 * Work on ints, addresses, jumps and calls isn't counted, nor is what joins the partial sums of a loop. */
#include "eval/eval_internal.h"
#include "ir/ir.h"
#include <string.h>

static bool is_matrix_product(const LInstr *in) {
  if (in->op != LOP_RT) return false;
  const char *name = ir_rt_row((int)in->sub)->name;
  return strcmp(name, "matrix_product") == 0 || strcmp(name, "sums_product") == 0;
}

static bool is_float_operation(int op) { return strchr(op_signatures[op], 'f') || op == OP_CADD; }

static bool is_float(const LFunc *f, int reg) { return f->regs[reg].kind == R_FLOAT; }

/* A cell that was made before what it leads to gets that (lower/lower_cons.c): no element of an array. */
static bool is_link(const LFunc *f, const LInstr *in) {
  return in->op == LOP_STORE && in->b < 0 && f->regs[in->dst].kind == R_PTR;
}

bool eval_is_counted(const LFunc *f, const LInstr *in) {
  if (is_link(f, in)) return false;
  switch (in->op) {
  case LOP_SCALAR: return is_float_operation((int)in->sub) || (in->sub == OP_SELECT && is_float(f, in->dst));
  case LOP_LANE_ADD:
  case LOP_LOAD:
  case LOP_STORE:
  case LOP_ACC_AT:
  case LOP_BAG_GET:
  case LOP_BAG_SET: return true;
  default: return is_matrix_product(in);
  }
}

static int64_t matrix_operations(const LInstr *in, const Slot *r) {
  const int64_t *a = ((const ArrayObj *)r[in->args[2]].p)->dims, *b = ((const ArrayObj *)r[in->args[3]].p)->dims;
  bool ta = r[in->args[0]].i != 0, tb = r[in->args[1]].i != 0;
  return 2 * a[ta] * a[!ta] * b[!tb];
}

int64_t eval_operations(const LInstr *in, const Slot *r) {
  switch (in->op) {
  case LOP_SCALAR: return in->sub == OP_FMA ? 2 : 1;
  case LOP_LANE_ADD: return in->c < 0 ? 1 : 2;
  case LOP_ACC_AT:
  case LOP_BAG_GET:
  case LOP_BAG_SET: return in->nres;
  case LOP_RT: return matrix_operations(in, r);
  default: return 1;
  }
}
