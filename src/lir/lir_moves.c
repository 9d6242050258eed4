/* SPDX-License-Identifier: MIT */
/* Whether a call moves the reference of an argument's register to the callee. Both back ends ask this, to know what
 * they must release after a failure.
 *
 * A callee consumes its owned parameters, also when it fails. Two cases:
 *
 *   the register isn't used after the call    lowering clears it directly after the call, unless a result overwrites
 *                                             it: the reference has moved
 *   the register is used after the call       a RETAIN before the call made a second reference for the callee: the
 *                                             register still owns its own */
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
