/* SPDX-License-Identifier: MIT */
/* Threads that run arms of forks: work stealing.
 *
 *   fork:   offer the second arm ──► a deque ──► an idle thread takes the oldest offer of any thread
 *           call the first arm
 *           take the second one back and call it; or, if another thread has it, wait
 *
 * Each thread has a deque of its offers: the owner adds and removes at one end, thieves take at the other (D. Chase,
 * Y. Lev, Dynamic circular work-stealing deque, SPAA 2005; orders of memory as in N. M. Lê and others, Correct and
 * efficient work-stealing for weak memory models, PPoPP 2013, but with operations in one order instead of fences, which
 * the thread sanitizer doesn't know). An arm is offered only if some thread is idle, so a fork costs a load where all
 * are busy, and the deques are short.
 *
 * Whoever waits for an arm takes offers of the thread that has it, and of no other (D. Wagner, B. Calder, Leapfrogging,
 * PPoPP 1993). These belong to the arm that is waited for: so stacks grow no deeper than in one thread, and what is
 * stopped is on top of them.
 *
 * An arm that fails leaves its error with the job. If the first arm failed, the second is stopped: the thread that has
 * it is interrupted, finds the flag of the job, or of one around it, and ends with ERR_STOPPED. What only the VM's own
 * thread may do (ERR_ELSEWHERE), and what fails for lack of memory while other arms hold some, is done again by that
 * thread, at the outermost fork, with nothing beside it. Arms have no effects, so that can't be observed.
 *
 * Idle threads look for offers for a while, then sleep. */
#define _GNU_SOURCE
#include "runtime/pool.h"
#include "runtime/runtime_internal.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Turns without success before a thread yields its processor at each, and before it sleeps. */
enum { PATIENT_TURNS = 2000, AWAKE_TURNS = 4000, NOBODY = -1, SLEEP_NS = 1000000, LEAST_STACK = 1 << 20 };

typedef struct Deque {
  int64_t top, bottom;
  Job *jobs[LIMIT_OFFERED];
} Deque;
_Static_assert((LIMIT_OFFERED & (LIMIT_OFFERED - 1)) == 0, "a position is taken modulo it");

typedef struct Thread {
  Deque deque;
  Rt *rt;
  Pool *pool;
  pthread_t thread;
  bool started;
  size_t stack_bytes;
  Heap heap; /* of a worker */
  Rt own;
} Thread;

struct Pool {
  Thread **threads; /* [0]: the VM's own */
  int n;
  PoolOwner owner;
  pid_t process;
  bool prepared; /* PoolOwner.prepare was called in this run */
  bool off;      /* nothing is offered any more */
  bool forked;   /* pool_is_forked has found that */
  bool started;
  int32_t idle;     /* threads that look for work, or sleep */
  int32_t sleepers; /* those that sleep */
  int32_t waiters;  /* threads that sleep until an arm is done */
  bool end;
  pthread_mutex_t lock, cache, foreign;
  pthread_cond_t work, done;
};

#define LOAD(p)     __atomic_load_n(p, __ATOMIC_SEQ_CST)
#define STORE(p, x) __atomic_store_n(p, x, __ATOMIC_SEQ_CST)

/* ---- Deques ------------------------------------------------------------------------------------------------------ */
static bool deque_push(Deque *d, Job *j) {
  int64_t b = __atomic_load_n(&d->bottom, __ATOMIC_RELAXED), t = __atomic_load_n(&d->top, __ATOMIC_ACQUIRE);
  if (b - t >= LIMIT_OFFERED) return false;
  __atomic_store_n(&d->jobs[b % LIMIT_OFFERED], j, __ATOMIC_RELAXED);
  STORE(&d->bottom, b + 1);
  return true;
}

static bool take_top(Deque *d, int64_t t) {
  return __atomic_compare_exchange_n(&d->top, &t, t + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Takes the offer back that was made last; false: a thief has it. */
static bool deque_pop(Deque *d) {
  int64_t b = __atomic_load_n(&d->bottom, __ATOMIC_RELAXED) - 1;
  STORE(&d->bottom, b);
  int64_t t = LOAD(&d->top);
  if (t < b) return true;
  bool mine = t == b && take_top(d, t);
  __atomic_store_n(&d->bottom, b + 1, __ATOMIC_RELAXED);
  return mine;
}

/* The oldest offer; NULL: there is none, or another thief was faster. */
static Job *deque_steal(Deque *d) {
  int64_t t = LOAD(&d->top), b = LOAD(&d->bottom);
  if (t >= b) return NULL;
  Job *j = __atomic_load_n(&d->jobs[t % LIMIT_OFFERED], __ATOMIC_RELAXED);
  return take_top(d, t) ? j : NULL;
}

static bool has_offers(Deque *d) { return LOAD(&d->top) < LOAD(&d->bottom); }

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */
static Status call(Rt *rt, const Arm *a) { return a->call(rt, a); }

/* An error leaves the Rt; NULL: there is no memory for it. */
static RtError *take_error(Rt *rt) {
  RtError *e = heap_realloc(rt->heap, NULL, 0, sizeof *e);
  if (!e) {
    rt_clear_error(rt);
    return NULL;
  }
  *e = rt->error;
  rt->error.text = NULL; /* which has moved */
  rt_clear_error(rt);
  return e;
}

static void put_error(Rt *rt, RtError *e) {
  rt_clear_error(rt);
  if (!e) {
    rt_out_of_memory(rt);
    return;
  }
  rt->error = *e;
  heap_realloc(rt->heap, e, sizeof *e, 0);
}

static void drop_error(Rt *rt, RtError *e) {
  if (!e) return;
  rt_release(rt, e->text);
  heap_realloc(rt->heap, e, sizeof *e, 0);
}

/* What the worker's Rt shares with the VM's own during a run. It writes nothing: see rt_leave_worker. */
static void follow(Rt *rt, const Rt *main) {
  rt->strict = main->strict;
  rt->functions = main->functions;
  rt->rights = main->rights;
  rt->evaluate = main->evaluate;
  rt->eval_stack_limit = main->eval_stack_limit;
  rt->place = main->place;
  rt->user = main->user;
  if (main->coin && !rt->coin) rt->coin = hash_mix(main->coin, (uint64_t)rt->worker) | 1;
}

/* After that the job may be gone. */
static void finish(Pool *p, Job *j) {
  STORE(&j->done, 1);
  if (!LOAD(&p->waiters)) return;
  pthread_mutex_lock(&p->lock);
  pthread_cond_broadcast(&p->done);
  pthread_mutex_unlock(&p->lock);
}

/* Runs a job that this thread has taken from another one. Returns its error, if it was one. */
static ErrorKind run_job(Rt *rt, Job *j) {
  Job *before = rt->job;
  int32_t depth = rt->fork_depth;
  ErrorKind kind = ERR_NONE;
  STORE(&j->thief, rt->worker);
  rt->job = j;
  rt->fork_depth = j->depth;
  j->status = pool_stops(rt) ? rt_fail_ended(rt, ERR_STOPPED) : call(rt, j->arm);
  if (j->status) {
    kind = rt->error.kind;
    j->error = take_error(rt);
  }
  rt->job = before;
  rt->fork_depth = depth;
  finish(rt->pool, j);
  return kind;
}

static void stop_job(Pool *p, Job *j) {
  STORE(&j->stopped, 1);
  int32_t thief = LOAD(&j->thief);
  if (thief != NOBODY) rt_interrupt(p->threads[thief]->rt, RT_STOP);
}

static void init_locks(Pool *p) {
  pthread_condattr_t monotonic;
  pthread_mutexattr_t recursive;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&p->lock, NULL);
  pthread_mutex_init(&p->cache, NULL);
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&p->foreign, &recursive);
  pthread_mutexattr_destroy(&recursive);
  pthread_cond_init(&p->work, &monotonic);
  pthread_cond_init(&p->done, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

/* What isn't there any more may hold the locks. */
bool pool_is_forked(Pool *p) {
  if (p->process == getpid()) return false;
  if (!p->forked) init_locks(p);
  p->forked = true;
  STORE(&p->off, true);
  return true;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */
static struct timespec soon(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_nsec += SLEEP_NS;
  if (t.tv_nsec >= 1000000000) t = (struct timespec){t.tv_sec + 1, t.tv_nsec - 1000000000};
  return t;
}

static inline void pause_a_little(int turn) {
  if (turn >= PATIENT_TURNS) sched_yield();
#if defined(__x86_64__)
  else __builtin_ia32_pause();
#endif
}

/* Sleeps until some arm is done, or a moment is over. */
static void doze(Pool *p, const Job *j) {
  struct timespec end = soon();
  pthread_mutex_lock(&p->lock);
  __atomic_add_fetch(&p->waiters, 1, __ATOMIC_SEQ_CST);
  if (!LOAD(&j->done)) pthread_cond_timedwait(&p->done, &p->lock, &end);
  __atomic_sub_fetch(&p->waiters, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&p->lock);
}

/* The thread that had the job is gone. */
static void do_here(Rt *rt, Job *j) {
  j->status = call(rt, j->arm);
  if (j->status) j->error = take_error(rt);
  j->done = 1;
}

/* What is compiled meanwhile serves the others. `fails`: an error is in rt->error, which the tick would clear. */
static void doze_and_tick(Rt *rt, Job *j, bool fails) {
  if (pool_is_forked(rt->pool)) {
    do_here(rt, j);
    return;
  }
  doze(rt->pool, j);
  if (!fails && rt->worker == 0 && rt->budget >= 0 && rt->tick) rt->tick(rt->ticker, NULL);
}

/* Does another thread's offer while this one waits for job j. False: there is none. */
static bool help(Rt *rt, Job *j, bool *fails) {
  int32_t thief = LOAD(&j->thief);
  Job *other = thief == NOBODY ? NULL : deque_steal(&rt->pool->threads[thief]->deque);
  if (!other) return false;
  ErrorKind kind = run_job(rt, other);
  if (kind == ERR_INTERRUPT || kind == ERR_TIME) *fails = rt_fail_ended(rt, kind);
  return true;
}

/* Until the job is done. True: rt->error says why what waits for it fails, whatever became of it. */
static bool wait_for(Rt *rt, Job *j, bool fails) {
  Pool *p = rt->pool;
  bool failed_before = fails, told = fails;
  for (int turn = 0; !LOAD(&j->done); turn++) {
    if (!fails && rt_look(rt)) fails = true;
    if (fails && !told) {
      stop_job(p, j);
      told = true;
    }
    if (!fails && help(rt, j, &fails)) turn = 0;
    else if (turn < AWAKE_TURNS) pause_a_little(turn);
    else doze_and_tick(rt, j, fails);
  }
  return fails && !failed_before;
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */
static void drop_results(Rt *rt, const Arm *a) { rt_release_slots(rt, a->type->slots, a->type->nslots, a->results); }

static void wake_one(Pool *p) {
  if (!LOAD(&p->sleepers)) return;
  pthread_mutex_lock(&p->lock);
  pthread_cond_signal(&p->work);
  pthread_mutex_unlock(&p->lock);
}

static bool start_threads(Pool *p);

/* Is all ready for arms of this thread to run elsewhere? */
static bool is_prepared(Rt *rt) {
  Pool *p = rt->pool;
  if (p->prepared || rt->worker) return true;
  if (rt->offered) return false; /* a run within a fork: threads may be at work */
  for (int k = 1; k < p->n; k++) follow(p->threads[k]->rt, rt);
  p->prepared = p->owner.prepare(p->owner.user, p) && (p->started || start_threads(p));
  if (!p->prepared) STORE(&p->off, true);
  return p->prepared;
}

/* other: the closure of the arm that stays here, which may be the same one. */
static bool offer(Rt *rt, Job *j, const Obj *other) {
  Obj *closure = j->arm->closure;
  Pool *p = rt->pool;
  if (!is_prepared(rt)) return false;
  bool shared = closure == other ? rt_share(rt, closure) : rt_hand_over(rt, closure);
  if (!shared) { /* objects are half shared then */
    rt_clear_error(rt);
    STORE(&p->off, true);
    return false;
  }
  if (!deque_push(&p->threads[rt->worker]->deque, j)) return false;
  wake_one(p);
  return true;
}

static void begin_pool(Rt *rt) {
  void (*begin)(void *user) = rt->begin_pool;
  rt->begin_pool = NULL;
  begin(rt->user);
}

/* Could another thread take an arm? */
static bool is_wanted(Rt *rt) {
  if (rt->begin_pool) begin_pool(rt);
  Pool *p = rt->pool;
  bool idle = p && __atomic_load_n(&p->idle, __ATOMIC_RELAXED) > 0;
  return idle && !rt->alone && !__atomic_load_n(&p->off, __ATOMIC_RELAXED);
}

/* Behind the first arm, whose results are there. */
static Status call_second(Rt *rt, const Arm *const arms[2]) {
  if (!call(rt, arms[1])) return 0;
  drop_results(rt, arms[0]);
  return 1;
}

static Status call_in_order(Rt *rt, const Arm *const arms[2]) { return call(rt, arms[0]) ? 1 : call_second(rt, arms); }

/* Both arms have been called, or the second wasn't after the first failed. */
static Status join(Rt *rt, Job *j, bool failed) {
  if (!failed && !j->status) return 0;
  if (!j->status) drop_results(rt, j->arm);
  if (failed) drop_error(rt, j->error);
  else put_error(rt, j->error);
  return 1;
}

/* A thread's failure is the VM's only if its own thread, with nothing beside it, fails too. Is that one to try now? */
static bool is_to_be_tried_alone(const Rt *rt, ErrorKind kind) {
  return rt->worker == 0 && (kind == ERR_ELSEWHERE || (kind == ERR_MEMORY && rt->offered == 1));
}

static Status call_alone(Rt *rt, const Arm *a) {
  rt->alone++;
  Status status = call(rt, a);
  rt->alone--;
  return status;
}

/* The second arm again, after it has failed in another thread. */
static void try_alone(Rt *rt, Job *j) {
  ErrorKind kind = j->error ? j->error->kind : ERR_MEMORY;
  if (!is_to_be_tried_alone(rt, kind)) return;
  drop_error(rt, j->error);
  j->error = NULL;
  j->status = call_alone(rt, j->arm);
  if (j->status) j->error = take_error(rt);
}

/* The first arm's results are there unless `first` is set. */
static Status wait_and_join(Rt *rt, Job *j, Status first, const Arm *const arms[2]) {
  if (first) stop_job(rt->pool, j);
  bool fails = wait_for(rt, j, first != 0);
  if (!first && !fails && j->status) try_alone(rt, j);
  Status status = join(rt, j, first || fails);
  if (status && !first) drop_results(rt, arms[0]);
  return status;
}

static Status fork_apart(Rt *rt, Job *j, const Arm *const arms[2]) {
  Status first = call(rt, arms[0]);
  if (!deque_pop(&rt->pool->threads[rt->worker]->deque)) return wait_and_join(rt, j, first, arms);
  return first ? 1 : call_second(rt, arms);
}

Status pool_fork(Rt *rt, const Arm *const arms[2]) {
  Job j = {.arm = arms[1], .outer = rt->job, .depth = rt->fork_depth, .thief = NOBODY};
  if (!is_wanted(rt) || !offer(rt, &j, arms[0]->closure)) return call_in_order(rt, arms);
  rt->offered++;
  Status status = fork_apart(rt, &j, arms);
  bool again = status && rt->error.kind == ERR_MEMORY && is_to_be_tried_alone(rt, ERR_MEMORY);
  rt->offered--;
  if (!again) return status;
  rt_clear_error(rt);
  rt->alone++;
  status = call_in_order(rt, arms);
  rt->alone--;
  return status;
}

/* ---- Workers ----------------------------------------------------------------------------------------------------- */
/* An offer of any thread, from the next one on. */
static Job *find_offer(Thread *t) {
  Pool *p = t->pool;
  for (int k = 1; k < p->n; k++) {
    Job *j = deque_steal(&p->threads[(t->rt->worker + k) % p->n]->deque);
    if (j) return j;
  }
  return NULL;
}

static bool any_offers(Pool *p) {
  for (int k = 0; k < p->n; k++)
    if (has_offers(&p->threads[k]->deque)) return true;
  return false;
}

/* Until there is an offer, or the pool ends. */
static void sleep_until_work(Pool *p) {
  pthread_mutex_lock(&p->lock);
  __atomic_add_fetch(&p->sleepers, 1, __ATOMIC_SEQ_CST);
  if (!LOAD(&p->end) && !any_offers(p)) pthread_cond_wait(&p->work, &p->lock);
  __atomic_sub_fetch(&p->sleepers, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg) {
  Thread *t = arg;
  Pool *p = t->pool;
  char here;
  rt_set_stack_limit(t->rt, &here - (t->stack_bytes - LEAST_STACK / 2));
  p->owner.begin(p->owner.user);
  for (int turn = 0; !LOAD(&p->end); turn++) {
    Job *j = find_offer(t);
    if (j) {
      __atomic_sub_fetch(&p->idle, 1, __ATOMIC_RELAXED);
      run_job(t->rt, j);
      __atomic_add_fetch(&p->idle, 1, __ATOMIC_RELAXED);
      turn = 0;
    } else if (turn < AWAKE_TURNS) {
      pause_a_little(turn);
    } else {
      sleep_until_work(p);
      turn = 0;
    }
  }
  return NULL;
}

static bool start_thread(Pool *p, Thread *t) {
  const size_t page = 1 << 16;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  for (size_t n = p->owner.stack_bytes; n >= LEAST_STACK && !t->started; n /= 2) {
    t->stack_bytes = n / page * page;
    t->started = pthread_attr_setstacksize(&attributes, t->stack_bytes) == 0 &&
                 pthread_create(&t->thread, &attributes, work, t) == 0;
  }
  pthread_attr_destroy(&attributes);
  return t->started;
}

/* Threads that can't be started are left out; false: all of them. They take none of the host's signals. */
static bool start_threads(Pool *p) {
  sigset_t all, before;
  int n = 0;
  p->started = true;
  p->idle = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int k = 1; k < p->n; k++) n += start_thread(p, p->threads[k]);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  __atomic_add_fetch(&p->idle, n, __ATOMIC_RELAXED);
  return n > 0;
}

/* ---- Made and freed ---------------------------------------------------------------------------------------------- */
static void free_thread(Heap *heap, Thread *t) {
  if (!t) return;
  if (t->rt == &t->own) rt_destroy(t->rt);
  heap_realloc(heap, t, sizeof *t, 0);
}

static Thread *new_thread(Pool *p, Rt *main, int k) {
  Thread *t = heap_realloc(main->heap, NULL, 0, sizeof *t);
  if (!t) return NULL;
  memset(t, 0, sizeof *t);
  t->pool = p;
  t->rt = k ? &t->own : main;
  if (!k) return t;
  heap_init(&t->heap);
  t->heap.fn = main->heap->fn;
  t->heap.user = main->heap->user;
  t->heap.whole = main->heap;
  rt_init(t->rt, &t->heap);
  t->rt->worker = k;
  t->rt->pool = p;
  return t;
}

/* Heap.reclaim of the VM: what is kept by its own thread, and by the others while they do nothing. */
static bool give_kept(void *user) {
  Pool *p = user;
  bool any = false;
  for (int k = 0; k < p->n && (k == 0 || rt_is_quiet(p->threads[0]->rt)); k++) any |= rt_give_kept(p->threads[k]->rt);
  return any;
}

static void free_all(Pool *p, Heap *heap) {
  for (int k = 0; k < p->n; k++) free_thread(heap, p->threads[k]);
  heap_realloc(heap, p->threads, sizeof *p->threads * (size_t)p->n, 0);
  heap_realloc(heap, p, sizeof *p, 0);
}

Pool *pool_new(Rt *main, int threads, const PoolOwner *owner) {
  int n = threads < LIMIT_THREADS ? threads : LIMIT_THREADS;
  if (n < 2) return NULL;
  Pool *p = heap_realloc(main->heap, NULL, 0, sizeof *p);
  if (!p) return NULL;
  *p = (Pool){.n = n, .owner = *owner, .process = getpid(), .idle = n - 1};
  if (p->owner.stack_bytes < LEAST_STACK) p->owner.stack_bytes = LEAST_STACK;
  p->threads = heap_realloc(main->heap, NULL, 0, sizeof *p->threads * (size_t)n);
  if (p->threads) memset(p->threads, 0, sizeof *p->threads * (size_t)n);
  bool fine = p->threads != NULL;
  for (int k = 0; k < n && fine; k++) fine = (p->threads[k] = new_thread(p, main, k)) != NULL;
  if (!fine) {
    if (p->threads) free_all(p, main->heap);
    else heap_realloc(main->heap, p, sizeof *p, 0);
    return NULL;
  }
  init_locks(p);
  for (int k = 0; k < n; k++) {
    p->threads[k]->rt->shared_lock = &p->cache;
    p->threads[k]->rt->foreign_lock = &p->foreign;
  }
  main->pool = p;
  main->heap->reclaim = give_kept;
  main->heap->reclaim_user = p;
  return p;
}

static void end_threads(Pool *p) {
  pthread_mutex_lock(&p->lock);
  STORE(&p->end, true);
  pthread_cond_broadcast(&p->work);
  pthread_mutex_unlock(&p->lock);
  for (int k = 1; k < p->n; k++)
    if (p->threads[k]->started) pthread_join(p->threads[k]->thread, NULL);
  pthread_mutex_destroy(&p->lock);
  pthread_mutex_destroy(&p->cache);
  pthread_mutex_destroy(&p->foreign);
  pthread_cond_destroy(&p->work);
  pthread_cond_destroy(&p->done);
}

void pool_free(Pool *p) {
  if (!p) return;
  Rt *main = p->threads[0]->rt;
  if (p->process == getpid()) end_threads(p);
  main->pool = NULL;
  main->shared_lock = main->foreign_lock = NULL;
  rt_keep_blocks(main);
  free_all(p, main->heap);
}

int pool_size(const Pool *p) { return p->n; }

Rt *pool_rt(Pool *p, int k) { return p->threads[k]->rt; }

void pool_unprepare(Pool *p) { p->prepared = false; }

void pool_gather(Pool *p) {
  Rt *main = p->threads[0]->rt;
  for (int k = 1; k < p->n; k++) {
    Rt *rt = p->threads[k]->rt;
    main->live += rt->live;
    main->arrays_made += rt->arrays_made;
    main->array_bytes += rt->array_bytes;
    main->evaluations += rt->evaluations;
    rt->live = rt->arrays_made = rt->array_bytes = rt->evaluations = 0;
  }
}
