/* SPDX-License-Identifier: MIT */
/* Forks: both functions of a `par` are called, and the pair of their values is the result. Arms have no effects, so
 * their order can't be observed: of two that fail the first in the order of the program decides. Where the VM has
 * threads, one of them may take the second arm (pool.c). For tests, chance picks the order (Rt.steal). */
#include "runtime/pool.h"
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

static bool ends_the_run(ErrorKind kind) {
  return kind == ERR_MEMORY || kind == ERR_INTERRUPT || kind == ERR_TIME || kind == ERR_EXIT || kind == ERR_STOPPED ||
         kind == ERR_ELSEWHERE;
}

Status rt_fork(Rt *rt, const Arm *const arms[2]) {
  if (!rt->steal || !starts_with_second(rt)) return pool_fork(rt, arms);
  if (arms[1]->call(rt, arms[1])) {
    if (ends_the_run(rt->error.kind)) return 1;
    rt_clear_error(rt); /* the first arm may fail, too; if it doesn't, this one fails again */
    return pool_fork(rt, arms);
  }
  if (!arms[0]->call(rt, arms[0])) return 0;
  rt_release_slots(rt, arms[1]->type->slots, arms[1]->type->nslots, arms[1]->results);
  return 1;
}

/* Recursion forks where it isn't deep yet: there are enough parts then for all threads. What threads there are has no
 * influence. */
PRIM(prim_fork_here) {
  PRIM_UNUSED;
  res->i = rt->fork_depth < LIMIT_FORK_DEPTH;
  return 0;
}

static Status call_function(Rt *rt, const Arm *a) { return rt_apply(rt, a->closure, NULL, 0, a->results); }

/* type: of the pair. */
PRIM(prim_fork) {
  PRIM_UNUSED;
  const Arm first = {call_function, args[0].p, type->args[0], res};
  const Arm second = {call_function, args[1].p, type->args[1], res + type->args[0]->nslots};
  rt->fork_depth++;
  Status status = rt_fork(rt, (const Arm *const[]){&first, &second});
  rt->fork_depth--;
  return status;
}
