/* SPDX-License-Identifier: MIT */
/* A fact about lowered code that both back ends need: whether a call takes a register's reference with it.
 *
 * A callee takes its owned parameters, also when it fails. Lowering then clears the
 * register directly after the call, unless a result overwrites it. If instead the
 * register is used further, a RETAIN before the call made a second reference for
 * the callee, and the register's own must be released by whoever cleans up. */
#include "lir/lir.h"

bool lir_moves_argument(const LFunc *f, const LInstr *call, int32_t reg) {
  for (int k = 0; k < call->nres; k++)
    if (call->res[k] == reg) return true;
  for (const LInstr *in = call + 1; in < f->code + f->ncode && (in->op == LOP_NULLPTR || in->op == LOP_MOVE); in++) {
    if (in->op == LOP_MOVE && in->a == reg) return false;
    if (in->dst == reg) return true;
  }
  return false;
}
