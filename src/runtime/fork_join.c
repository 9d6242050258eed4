/* SPDX-License-Identifier: MIT */
/* Forks: both functions of a `par` are called, one after the other, and the pair of their values is the result. Arms
 * have no effects, so the order can't be observed: of two that fail the first in the order of the program decides. For
 * tests, chance picks the order (Rt.steal). */
#include "runtime/runtime_internal.h"

/* Xorshift (G. Marsaglia, Xorshift RNGs, 2003). */
static bool starts_with_second(Rt *rt) {
  uint64_t x = rt->steal;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  rt->steal = x;
  return x >> 63;
}

static Status call_arm(Rt *rt, const Desc *type, const Slot *args, Slot *res, int arm) {
  return rt_apply(rt, args[arm].p, NULL, 0, arm ? res + type->args[0]->nslots : res);
}

static void release_arm(Rt *rt, const Desc *type, Slot *res, int arm) {
  const Desc *t = type->args[arm];
  rt_release_slots(rt, t->slots, t->nslots, arm ? res + type->args[0]->nslots : res);
}

static Status call_in_order(Rt *rt, const Desc *type, const Slot *args, Slot *res) {
  if (call_arm(rt, type, args, res, 0)) return 1;
  if (!call_arm(rt, type, args, res, 1)) return 0;
  release_arm(rt, type, res, 0);
  return 1;
}

static bool ends_the_run(ErrorKind kind) {
  return kind == ERR_MEMORY || kind == ERR_INTERRUPT || kind == ERR_TIME || kind == ERR_EXIT;
}

/* type: of the pair. */
PRIM(prim_fork) {
  PRIM_UNUSED;
  if (!rt->steal || !starts_with_second(rt)) return call_in_order(rt, type, args, res);
  if (call_arm(rt, type, args, res, 1)) {
    if (ends_the_run(rt->error.kind)) return 1;
    rt_clear_error(rt); /* the first arm may fail, too; if it doesn't, this one fails again */
    return call_in_order(rt, type, args, res);
  }
  if (!call_arm(rt, type, args, res, 0)) return 0;
  release_arm(rt, type, res, 1);
  return 1;
}
