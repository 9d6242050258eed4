/* SPDX-License-Identifier: MIT */
/* The threads of a VM that run arms of forks.
 *
 * A pool has an Rt for each thread: number 0 is the VM's own, which the calling thread uses; the others are those of
 * its workers. A fork offers its second arm to the others and calls the first; then it takes the second one back and
 * calls it, too, or waits for the thread that has it. How threads share objects: shared.c. */
#ifndef ATLED_POOL_H
#define ATLED_POOL_H
#include "runtime/runtime.h"
#include <pthread.h>

/* One of the two functions of a fork. Arms of loops have more behind this (fork_blocks.c). */
typedef struct Arm {
  Status (*call)(Rt *rt, const struct Arm *arm);
  Obj *closure; /* NULL: the arm reads no objects but arrays of numbers, whose counts it leaves as they are */
  const Desc *type;
  Slot *results; /* of this type */
} Arm;

/* An arm that is offered. It lies on the stack of the thread that offers it, which waits for it to end. */
typedef struct Job {
  const Arm *arm;
  RtError *error;    /* of an arm that failed in another thread; NULL: there was no memory for it */
  struct Job *outer; /* that the thread which offers this one runs */
  Status status;
  int32_t depth;   /* Rt.fork_depth in it */
  int32_t thief;   /* the thread that took it, or -1; this and the rest is read by other threads */
  int32_t stopped; /* it is to end */
  int32_t done;
} Job;
/* Has a fork failed that the job under way in this thread belongs to? Then the job is to end. */
static inline bool pool_stops(const Rt *rt) {
  for (const Job *j = rt->job; j; j = j->outer)
    if (__atomic_load_n(&j->stopped, __ATOMIC_SEQ_CST)) return true;
  return false;
}

/* Around changes of what is cached in shared objects, or belongs to the VM as a whole. */
static inline void rt_lock_shared(Rt *rt) {
  if (rt->shared_lock) pthread_mutex_lock(rt->shared_lock);
}
static inline void rt_unlock_shared(Rt *rt) {
  if (rt->shared_lock) pthread_mutex_unlock(rt->shared_lock);
}

/* What a pool needs from its owner. */
typedef struct PoolOwner {
  void *user;
  /* Called by the VM's own thread before the first arm of a run is offered: shares the globals, and makes all modules
   * ready for the pool's threads (mod_join). False: no arm is offered; no error is set. */
  bool (*prepare)(void *user, Pool *p);
  /* Called in each new thread, whose surroundings it sets up. */
  void (*begin)(void *user);
  size_t stack_bytes; /* of a worker; where the system grants less: the largest half, quarter, … that it does */
} PoolOwner;

/* A pool of so many threads, the calling one among them, whose own Rt is `main`. Threads are started when there is
 * something for them to do. NULL: out of memory, or no thread beside the calling one is wanted. */
Pool *pool_new(Rt *main, int threads, const PoolOwner *owner);
/* Ends the threads; no arm may be under way. What lies in memory of their Rts may not be used afterwards. */
void pool_free(Pool *p);
/* How many Rts there are, and one of them. */
int pool_size(const Pool *p);
Rt *pool_rt(Pool *p, int k);
/* From now on nothing is offered before PoolOwner.prepare was called again. */
void pool_unprepare(Pool *p);
/* Is this a process that was forked from the one with the threads? They don't exist then: nothing is offered. */
bool pool_is_forked(Pool *p);
/* Counts of the workers' Rts go to the VM's own. No arm may be under way. */
void pool_gather(Pool *p);

/* Calls both arms, perhaps at once: of two that fail, the error of the first counts, and the second is stopped. On
 * success the slots of both results are owned by the caller; otherwise there are none. An arm may be called again after
 * it has failed. */
Status pool_fork(Rt *rt, const Arm *const arms[2]);
/* The same, in an order that chance decides where Rt.steal is set. */
Status rt_fork(Rt *rt, const Arm *const arms[2]);
#endif
