/* SPDX-License-Identifier: MIT */
/* The alarm of time limits.
 *
 * Machine code looks only at the interrupt flag, never at the time. So a VM with
 * a time limit has a thread that sleeps until the deadline and then sets the
 * flag to RT_CLOCK; rt_poll looks at the time itself and forgets an alarm that
 * came too late, when the call it was for had ended already.
 *
 * A fork copies the clock without its thread, and its lock perhaps held: the child makes both anew. */
#define _GNU_SOURCE
#include "api/clock.h"
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_SLEEP = 3600 }; /* seconds: a deadline may lie beyond what a time_t holds */
enum { NO_PROCESS = 0 };

struct Clock {
  Rt *rt;
  pid_t process; /* that has the thread, or NO_PROCESS */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  double deadline; /* 0: nothing to wait for */
  bool end;
};

double clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_until(Clock *c, double deadline) {
  double end = fmin(deadline, clock_now() + LONGEST_SLEEP);
  struct timespec t = {(time_t)end, (long)((end - (double)(time_t)end) * 1e9)};
  pthread_cond_timedwait(&c->changed, &c->lock, &t);
}

static void *watch(void *arg) {
  Clock *c = arg;
  pthread_mutex_lock(&c->lock);
  while (!c->end) {
    if (c->deadline <= 0) {
      pthread_cond_wait(&c->changed, &c->lock);
    } else if (clock_now() < c->deadline) {
      sleep_until(c, c->deadline);
    } else {
      c->deadline = 0;
      rt_interrupt(c->rt, RT_CLOCK);
    }
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

static bool start(Clock *c) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  c->deadline = 0;
  c->process = start_thread(c) ? getpid() : NO_PROCESS;
  return c->process != NO_PROCESS;
}

Clock *clock_new(Rt *rt) {
  Clock *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->rt = rt;
  if (start(c)) return c;
  free(c);
  return NULL;
}

static void set(Clock *c, double deadline, bool end) {
  pthread_mutex_lock(&c->lock);
  c->deadline = deadline;
  c->end = end;
  pthread_cond_signal(&c->changed);
  pthread_mutex_unlock(&c->lock);
}

/* In a child that was forked the lock of the parent's clock is never taken, nor destroyed, which would wait for the
 * thread. */
static bool has_thread(const Clock *c) { return c->process == getpid(); }

bool clock_start(Clock *c, double deadline) {
  bool runs = has_thread(c) || start(c);
  if (runs) set(c, deadline, false);
  return runs;
}

void clock_stop(Clock *c) {
  if (has_thread(c)) set(c, 0, false);
}

void clock_free(Clock *c) {
  if (!c) return;
  if (has_thread(c)) {
    set(c, 0, true);
    pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
  }
  free(c);
}
