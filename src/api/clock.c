/* SPDX-License-Identifier: MIT */
/* The alarm of time limits.
 *
 * Machine code looks only at the interrupt flag, never at the time. So a VM with
 * a time limit has a thread that sleeps until the deadline and then sets the
 * flag to RT_CLOCK; rt_poll looks at the time itself and forgets an alarm that
 * came too late, when the call it was for had ended already.
 *
 * A call stores its deadline and is done: it takes no lock and wakes nobody, unless the thread would sleep for longer
 * than the call may. The deadlines of calls with one time limit only grow, so a thread that wakes at the deadline of an
 * earlier call, and goes on sleeping until that of the latest, is never late. Call and thread each store their own time
 * before they read the other's, in one order for both: one of the two sees the other.
 *
 * A fork copies the clock without its thread, and its lock perhaps held. The clock lies in a page of its own, which the
 * system gives the child as zeros (where it can't: the process is compared); the child makes thread and lock anew. */
#define _GNU_SOURCE
#include "api/clock.h"
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_SLEEP = 3600 };       /* seconds: a deadline may lie beyond what a time_t holds */
static const double LATENESS = 1e-3; /* seconds that the thread may sleep beyond a deadline */

struct Clock {
  bool has_thread; /* false in a child that was forked */
  pid_t process;   /* that has the thread, where the page isn't wiped by a fork; else 0 */
  Rt *rt;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  double deadline; /* stored by calls; 0: nothing to wait for */
  double next;     /* stored by the thread: when it looks again; infinite: when it is woken */
  bool end;
};

double clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double load(const double *at) {
  double x;
  __atomic_load(at, &x, __ATOMIC_SEQ_CST);
  return x;
}

static void store(double *at, double x) { __atomic_store(at, &x, __ATOMIC_SEQ_CST); }

/* Would the thread sleep on for too long? */
static bool is_too_late(const Clock *c, double deadline) {
  return deadline > 0 && deadline + LATENESS < load(&c->next);
}

/* Until c->next, or somebody wakes the thread. */
static void sleep_until_next(Clock *c) {
  if (isinf(c->next)) {
    pthread_cond_wait(&c->changed, &c->lock);
    return;
  }
  double end = fmin(c->next, clock_now() + LONGEST_SLEEP);
  struct timespec t = {(time_t)end, (long)((end - (double)(time_t)end) * 1e9)};
  pthread_cond_timedwait(&c->changed, &c->lock, &t);
}

/* Rings if the deadline is still that one. */
static void ring(Clock *c, double deadline) {
  double none = 0;
  if (__atomic_compare_exchange(&c->deadline, &deadline, &none, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    rt_interrupt(c->rt, RT_CLOCK);
}

static void *watch(void *arg) {
  Clock *c = arg;
  pthread_mutex_lock(&c->lock);
  while (!c->end) {
    double deadline = load(&c->deadline);
    if (deadline > 0 && clock_now() >= deadline) {
      ring(c, deadline);
      continue;
    }
    store(&c->next, deadline > 0 ? fmax(deadline, clock_now() + LATENESS) : INFINITY);
    if (!is_too_late(c, load(&c->deadline))) sleep_until_next(c);
  }
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

/* The thread takes none of the host's signals. */
static bool start_thread(Clock *c) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool ok = pthread_create(&c->thread, NULL, watch, c) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return ok;
}

/* On a clock without a thread in this process, whatever a fork has left in it. */
static bool start(Clock *c, Rt *rt) {
  pthread_condattr_t monotonic;
  memset(c, 0, sizeof *c);
  c->rt = rt;
  c->next = INFINITY;
  if (madvise(c, sizeof *c, MADV_WIPEONFORK) != 0) c->process = getpid();
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  c->has_thread = start_thread(c);
  return c->has_thread;
}

Clock *clock_new(void) {
  Clock *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return c == MAP_FAILED ? NULL : c;
}

static bool has_thread(const Clock *c) { return c->has_thread && (!c->process || c->process == getpid()); }

/* Has the thread look at its clock again, by `next` at the latest. */
static void wake(Clock *c, double next) {
  pthread_mutex_lock(&c->lock);
  store(&c->next, next);
  pthread_cond_signal(&c->changed);
  pthread_mutex_unlock(&c->lock);
}

bool clock_start(Clock *c, Rt *rt, double deadline) {
  if (!has_thread(c) && !start(c, rt)) return false;
  store(&c->deadline, deadline);
  if (is_too_late(c, deadline)) wake(c, deadline);
  return true;
}

void clock_stop(Clock *c) {
  double none = 0;
  __atomic_store(&c->deadline, &none, __ATOMIC_RELEASE);
}

/* In a child that was forked the parent's lock is never taken, nor destroyed, which would wait for the thread. */
void clock_free(Clock *c) {
  if (!c) return;
  if (has_thread(c)) {
    pthread_mutex_lock(&c->lock);
    c->end = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
  }
  munmap(c, sizeof *c);
}
