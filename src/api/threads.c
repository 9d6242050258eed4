/* SPDX-License-Identifier: MIT */
/* The threads of a VM: its pool (runtime/pool.h), and what they need to run the VM's code.
 *
 * Pool and threads are made at the first fork. At the first fork of each run all that threads reach without being given
 * it is made ready for them: globals are marked as shared, and modules get a form for each thread. */
#include "api/environment.h"
#include "api/vm.h"
#include "jit/jit.h"
#include "lir/lir.h"
#include "runtime/pool.h"
#include <unistd.h>

static int threads_of(const AtledConfig *config) {
  int n = config->threads;
  if (n < 0) n = (int)sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > LIMIT_THREADS ? LIMIT_THREADS : n;
}

static bool share_globals(AtledVM *vm) {
  for (int k = 0; k < vm->globals.len; k++) {
    const Global *g = vm->globals.data[k];
    for (int i = 0; g && g->set && i < g->desc->nslots; i++)
      if (g->desc->slots[i] == SLOT_PTR && !rt_share(&vm->rt, g->slots[i].p)) return false;
  }
  return true;
}

static bool join_module(Mod *m, Pool *p) { return !m || (jit_join_fragments(m, p) && mod_join(m, p)); }

/* PoolOwner.prepare */
static bool prepare(void *user, Pool *p) {
  AtledVM *vm = user;
  bool fine = share_globals(vm);
  for (Unit *u = vm->units; fine && u; u = u->next) fine = !u->code || join_module(u->mod, p);
  for (int k = 1; k < pool_size(p); k++) {
    Rt *rt = pool_rt(p, k);
    rt->tick = tiers_tick_worker;
    rt->ticker = rt;
    rt->budget = vm->rt.budget < 0 ? -1 : 0; /* it looks at once for what there is */
  }
  if (!fine) rt_clear_error(&vm->rt); /* of memory */
  return fine;
}

/* PoolOwner.begin: the thread lasts as long as the VM. */
static void begin(void *user) {
  const AtledVM *vm = user;
  Environment thread;
  environment_enter(&thread, vm->locale, vm->config.flush_subnormals);
}

/* Rt.begin_pool */
static void make_pool(void *user) {
  AtledVM *vm = user;
  size_t stack = vm->config.stack_size ? vm->config.stack_size : (size_t)LIMIT_STACK_BYTES;
  PoolOwner owner = {.user = vm, .prepare = prepare, .begin = begin, .stack_bytes = stack};
  pool_new(&vm->rt, threads_of(&vm->config), &owner);
}

void threads_begin(AtledVM *vm) {
  Pool *p = vm->rt.pool;
  if (p) {
    (void)pool_is_forked(p);
    pool_unprepare(p);
  } else if (!vm->threads_made) {
    vm->threads_made = true;
    if (vm->config.threads < 0 || vm->config.threads > 1) vm->rt.begin_pool = make_pool;
  }
}

void threads_end(AtledVM *vm) {
  if (vm->rt.pool && vm->rt.offered == 0) pool_gather(vm->rt.pool);
}

void threads_free(AtledVM *vm) {
  Pool *p = vm->rt.pool;
  for (int k = 1; p && k < pool_size(p); k++) eval_destroy(pool_rt(p, k));
  pool_free(p);
}
