/* SPDX-License-Identifier: MIT */
/* Which threads are in which pin: so old code is freed while others call, and no caller waits or locks.
 *
 *   caller: state = CALLER_ENTERS; state = now; call; state = thread     VM: now = new; barrier; is any state == old?
 *
 * These are hazard pointers whose fence is paid for by the side that is rare: the VM's thread has the system run a
 * barrier on all processors (membarrier). A thread keeps the Caller that it has found once. A thread that finds none,
 * since 64 others have them, a call from within a call of the same thread, and all calls on a system without such
 * barriers are visitors: they are counted, and while there are some nothing is freed. */
#define _GNU_SOURCE
#include "api/native.h"
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/membarrier.h>
#endif

static bool barriers_are_there(void) {
#if defined __linux__ && defined SYS_membarrier
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
  return false;
#endif
}

/* What other threads wrote before is to be seen afterwards, and what they read after it is new. */
static void barrier_everywhere(void) {
#if defined __linux__ && defined SYS_membarrier
  syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

Callers *callers_new(Heap *heap) {
  Callers *c = heap_alloc_aligned(heap, sizeof *c, true);
  if (!c) return NULL;
  c->heap = heap;
  heap_init(&c->contexts_heap);
  c->contexts_heap.fn = heap->fn;
  c->contexts_heap.user = heap->user;
  c->contexts_heap.whole = heap;
  c->swift = barriers_are_there();
  return c;
}

void callers_free(Callers *c) {
  if (!c) return;
  for (Pin *p = c->replaced, *next; p; p = next) {
    next = p->next;
    pin_free(p);
  }
  contexts_free(c);
  heap_free_aligned(c->heap, c, sizeof *c);
}

/* ---- Calls that take the long way -------------------------------------------------------------------------------- */
/* This thread's, or one that nobody has had; NULL: there is none, or a call of this thread is under way. */
static Caller *find_caller(Callers *c, uintptr_t thread) {
  Caller *home = caller_home(c, thread);
  for (int k = 0; k < CALLERS; k++) {
    Caller *at = &c->all[(home - c->all + k) % CALLERS];
    uintptr_t owner = __atomic_load_n(&at->thread, __ATOMIC_ACQUIRE);
    if (owner == thread) return caller_is_idle(at, thread) ? at : NULL;
    if (owner) continue;
    if (!__atomic_compare_exchange_n(&at->thread, &owner, thread, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
    __atomic_store_n(&at->state, thread, __ATOMIC_RELEASE);
    return at;
  }
  return NULL;
}

const Pin *callers_enter(Callers *c, Pin *const *now, Caller **mine) {
  *mine = c->swift ? find_caller(c, caller_thread()) : NULL;
  if (*mine) return caller_enter(*mine, now);
  __atomic_add_fetch(&c->visitors, 1, __ATOMIC_SEQ_CST);
  return __atomic_load_n(now, __ATOMIC_SEQ_CST);
}

void callers_leave(Callers *c, Caller *mine) {
  if (mine) caller_leave(mine, mine->thread);
  else __atomic_sub_fetch(&c->visitors, 1, __ATOMIC_SEQ_CST);
}

/* ---- Freeing ----------------------------------------------------------------------------------------------------- */
static bool anybody_in(const Callers *c, const Pin *p) {
  for (int k = 0; k < CALLERS; k++) {
    uintptr_t state = __atomic_load_n(&c->all[k].state, __ATOMIC_ACQUIRE);
    if (state == (uintptr_t)p || state == CALLER_ENTERS) return true;
  }
  return false;
}

void callers_forget(Callers *c, Pin *p) {
  if (p) {
    p->next = c->replaced;
    c->replaced = p;
  }
  if (!c->replaced) return;
  barrier_everywhere();
  if (__atomic_load_n(&c->visitors, __ATOMIC_SEQ_CST)) return;
  for (Pin **link = &c->replaced; *link;) {
    Pin *old = *link;
    if (anybody_in(c, old)) {
      link = &old->next;
      continue;
    }
    *link = old->next;
    pin_free(old);
  }
}
