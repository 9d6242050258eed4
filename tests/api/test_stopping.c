/* SPDX-License-Identifier: MIT */
/* Whatever a call does, a time limit and an interrupt end it soon: slow programs for each phase of the compiler, for
 * loops of running programs and for the runtime's own, stopped at several moments. The error is the same everywhere,
 * and the VM is as good as before.
 *
 * How late a stop comes is measured by the processor time that the calling thread takes from then on, so that other
 * processes don't count, without giving memory back to the system. `api_stopping --figures [NAME…]` prints the
 * latest of each program, at more moments. */
#define _GNU_SOURCE
#include "check.h"
#include "stopping.h"
#include <atled.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A promise of 50 ms for an idle machine; sanitizers, shared cores and slow ones take more. */
static const double allowed = 0.3;

static void ignore_output(void *user, const char *text, size_t n) {
  (void)user;
  (void)text;
  (void)n;
}

/* ---- Programs as text -------------------------------------------------------------------------------------------- */
typedef struct Text {
  char *data;
  size_t len, cap;
} Text;

static void add(Text *t, const char *s, size_t n) {
  if (t->len + n + 1 > t->cap) t->data = realloc(t->data, t->cap = 2 * t->cap + n + 1);
  memcpy(t->data + t->len, s, n);
  t->data[t->len += n] = 0;
}

/* `$i` is k, `$j` k - 1. */
static void add_repeated(Text *t, const char *s, int k) {
  for (const char *dollar; (dollar = strchr(s, '$')); s = dollar + 2) {
    char number[16];
    add(t, s, (size_t)(dollar - s));
    add(t, number, (size_t)snprintf(number, sizeof number, "%d", dollar[1] == 'i' ? k : k - 1));
  }
  add(t, s, strlen(s));
}

static char *write_program(const Slow *p) {
  Text t = {0};
  add(&t, p->before, strlen(p->before));
  for (int k = 1; k <= p->n; k++) add_repeated(&t, p->repeated, k);
  add(&t, p->after, strlen(p->after));
  return t.data;
}

/* ---- A second thread: it stops the call, or notes when its time was over ----------------------------------------- */
typedef struct Watch {
  AtledVM *vm;     /* to interrupt when the caller's processor time is `after`; NULL: the limit ends it */
  double after;    /* seconds since the beginning */
  clockid_t clock; /* of the caller's processor time */
  double begun, begun_cpu;
  bool ended;
  double *freeing;              /* what freeing has taken */
  double stop, stop_cpu, freed; /* when it was to end; 0: it hasn't been yet; what freeing had taken by then */
} Watch;

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { WAITING = 20 };

static void *watch(void *arg) {
  Watch *w = arg;
  while (!__atomic_load_n(&w->ended, __ATOMIC_SEQ_CST)) {
    double at = now(CLOCK_MONOTONIC), cpu = now(w->clock);
    bool waits = at - w->begun >= WAITING * w->after; /* it takes no processor time */
    if (w->vm ? cpu - w->begun_cpu >= w->after || waits : at - w->begun >= w->after) {
      w->stop = at;
      w->stop_cpu = cpu;
      __atomic_load(w->freeing, &w->freed, __ATOMIC_RELAXED);
      if (w->vm) atled_interrupt(w->vm);
      break;
    }
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
  }
  return NULL;
}

/* ---- One stop ---------------------------------------------------------------------------------------------------- */
typedef struct Stop {
  const Slow *p;
  const char *source;
  AtledJit jit;
  bool interrupt; /* else the time limit */
  double after;
} Stop;

typedef struct Late {
  AtledStatus status;
  double cpu, wall; /* seconds */
} Late;

/* The host's allocator; it adds up the processor time that freeing takes. */
static void *allocate(void *freeing, void *block, size_t old_size, size_t new_size) {
  (void)old_size;
  if (new_size) return realloc(block, new_size);
  double *total = freeing, begun = now(CLOCK_THREAD_CPUTIME_ID);
  free(block);
  double took = *total + now(CLOCK_THREAD_CPUTIME_ID) - begun;
  __atomic_store(total, &took, __ATOMIC_RELAXED);
  return NULL;
}

static AtledVM *make(const Stop *s, double *freeing) {
  AtledConfig config;
  atled_config_init(&config);
  config.allocate = allocate;
  config.user = freeing;
  config.jit = s->jit;
  config.write = ignore_output;
  if (!s->interrupt) config.time_limit = s->after;
  return atled_new(&config);
}

static AtledStatus carry_out(const Stop *s, AtledVM *vm, AtledFunction *f) {
  const char *text;
  AtledFunction *made = NULL;
  AtledStatus status;
  switch (s->p->call) {
  case CALL: {
    AtledValue arg = atled_int(s->p->argument);
    return atled_call(f, &arg, 1, NULL);
  }
  case CHECK_ONLY: return atled_check(vm, "slow", s->source);
  case FORMAT: return atled_format(vm, "slow", s->source, &text);
  case IR: return atled_ir(vm, "slow", s->source, ATLED_STAGE_FINAL, false, NULL, &text);
  case TYPE: return atled_type(vm, s->source, &text);
  case GET:
    status = atled_get(vm, s->source, "float -> float", &made);
    atled_release(made);
    return status;
  case RESULT: {
    AtledResult r;
    return atled_result(vm, 0, &r) ? ATLED_OK : ATLED_RUNTIME_ERROR;
  }
  default: return atled_eval(vm, "slow", s->source);
  }
}

static Late stop_call(const Stop *s, AtledVM *vm, AtledFunction *f, double *freeing) {
  Watch w = {.vm = s->interrupt ? vm : NULL, .after = s->after, .freeing = freeing};
  pthread_t thread;
  pthread_getcpuclockid(pthread_self(), &w.clock);
  w.begun = now(CLOCK_MONOTONIC);
  w.begun_cpu = now(w.clock);
  CHECK(pthread_create(&thread, NULL, watch, &w) == 0);
  Late late = {.status = carry_out(s, vm, f)};
  double end = now(CLOCK_MONOTONIC), end_cpu = now(w.clock);
  __atomic_store_n(&w.ended, true, __ATOMIC_SEQ_CST);
  pthread_join(thread, NULL);
  atled_clear_interrupt(vm);
  if (w.stop > 0) late.wall = end - w.stop, late.cpu = end_cpu - w.stop_cpu - (*freeing - w.freed);
  return late;
}

/* False: its time was over before the call that is to be stopped. */
static bool prepare(const Stop *s, AtledVM *vm, AtledFunction **f) {
  if (s->p->call != CALL && s->p->call != RESULT) return true;
  AtledStatus status = atled_eval(vm, "definitions", s->source);
  if (status == ATLED_OK && s->p->call == CALL) status = atled_get(vm, "run", "int -> float", f);
  if (status == ATLED_OK) return true;
  bool late = atled_error(vm) && strcmp(atled_error(vm)->kind, "time") == 0;
  if (!late) fprintf(stderr, "%s: %s\n", s->p->name, atled_error(vm) ? atled_error(vm)->rendered : "?");
  CHECK(late);
  return false;
}

static void check_error(const Stop *s, AtledVM *vm) {
  const AtledDiagnostic *e = atled_error(vm);
  CHECK_STR(e ? e->kind : NULL, s->interrupt ? "interrupt" : "time");
  CHECK_STR(e ? e->message : NULL, s->interrupt ? "interrupted" : "the time limit is over");
}

static void check_after(AtledVM *vm) {
  AtledResult r = {0};
  CHECK(atled_eval(vm, "after", "let twice x = 2 * x\ntwice 21") == ATLED_OK);
  CHECK(atled_result(vm, 1, &r));
  CHECK_STR(r.value, "42");
}

/* False: nothing was to be stopped; it had ended. */
static bool stop_once(Stop s, Late *late) {
  AtledVM *vm;
  AtledFunction *f = NULL;
  double freeing = 0;
  for (;; s.after *= 2) {
    vm = make(&s, &freeing);
    if (prepare(&s, vm, &f)) break;
    atled_free(vm);
  }
  *late = stop_call(&s, vm, f, &freeing);
  bool stopped = late->status == ATLED_RUNTIME_ERROR;
  if (stopped) check_error(&s, vm);
  check_after(vm);
  atled_release(f);
  atled_free(vm);
  return stopped;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */
static const double moments[] = {0.1, 0.05, 0.02, 0.1, 0.3, 0.6, 1.0};
/* On a fast machine some end by themselves before the first of these. */
static const double first_moments[] = {0.1, 0.03, 0.01, 0.003};

/* One stop, and whether there was one. */
static bool stop_soon(const Slow *p, const char *source, AtledJit jit, bool interrupt, Late *late) {
  for (int k = 0; k < (int)(sizeof first_moments / sizeof *first_moments); k++)
    if (stop_once((Stop){p, source, jit, interrupt, first_moments[k]}, late)) return true;
  return false;
}

/* The latest of its stops, and whether there was one. */
static bool stop_often(const Slow *p, const char *source, AtledJit jit, bool interrupt, int n, Late *latest) {
  bool any = false;
  *latest = (Late){0};
  for (int k = 0; k < n; k++) {
    Late late;
    if (!stop_once((Stop){p, source, jit, interrupt, moments[k]}, &late)) continue;
    any = true;
    if (late.cpu > latest->cpu) *latest = late;
  }
  return any;
}

static void test(const Slow *p, bool figures) {
  char *source = write_program(p);
  bool runs = p->call == CALL;
  for (int mode = 0; mode < (runs || p->waits ? 2 : 1); mode++) {
    AtledJit jit = mode || p->waits ? ATLED_JIT_ALWAYS : ATLED_JIT_OFF;
    Late late[2];
    for (int k = 0; k < 2; k++) {
      bool any = figures ? stop_often(p, source, jit, k == 0, runs ? 2 : 7, &late[k])
                         : stop_soon(p, source, jit, k == 0, &late[k]);
      if (!any) fprintf(stderr, "%s: it ends by itself\n", p->name);
      CHECK(any);
      CHECK(figures || late[k].cpu < allowed);
    }
    if (figures)
      printf("%-32s %-8s interrupt %6.1f ms (%6.1f)   limit %6.1f ms (%6.1f)\n", p->name,
             jit == ATLED_JIT_OFF ? "off" : "always", 1e3 * late[0].cpu, 1e3 * late[0].wall, 1e3 * late[1].cpu,
             1e3 * late[1].wall);
    fflush(stdout);
  }
  free(source);
}

static bool wanted(const Slow *p, int nnames, char **names) {
  for (int k = 0; k < nnames; k++)
    if (strstr(p->name, names[k])) return true;
  return nnames == 0;
}

int main(int argc, char **argv) {
  bool figures = argc > 1 && strcmp(argv[1], "--figures") == 0;
  char folder[] = "/tmp/atled-test-XXXXXX", command[64];
  CHECK(mkdtemp(folder) != NULL);
  setenv("ATLED_CACHE", folder, 1);
  int first = figures ? 2 : 1;
  for (const Slow *p = slow_programs; p->name; p++)
    if (wanted(p, argc - first, argv + first)) test(p, figures);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  CHECK(system(command) == 0);
  return check_result();
}
