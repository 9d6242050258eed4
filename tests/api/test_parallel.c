/* SPDX-License-Identifier: MIT */
/* VMs with several threads, in all modes: the same digits with any number of them; functions of `par` that fail, are
 * interrupted at random instants, exhaust their time or memory, or call the host; hosts that fork and that ask for no
 * threads or a thousand million; eight VMs with four threads each, in eight threads. Each time the VM is as good as
 * before, and nothing is left behind.
 *
 * usage: api_parallel [INTERRUPTS] */
#define _GNU_SOURCE
#include "check.h"
#include <atled.h>
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const program =
    "let rec spin (n : int) (x : float) : float = if n = 0 then x else spin (n - 1) (x * 0.999 + 0.5)\n"
    "type tree = Leaf of float | Node of tree * float[] * tree\n"
    "let rec grow (n : int) (x : float) : tree =\n"
    "  if n <= 1 then Leaf (spin 40 x)\n"
    "  else (let (a, b) = par (fun () -> grow (n / 2) (x * 1.01)) (fun () -> grow (n - n / 2) (x + 0.1)) in\n"
    "        Node (a, [ x * float i | i < 6 ], b))\n"
    "let rec total (t : tree) : float =\n"
    "  match t with Leaf x -> x\n"
    "  | Node (a, xs, b) -> (let (p, q) = par (fun () -> total a) (fun () -> total b) in p + q + sum xs)\n"
    "let rec places (xs : float[]) (lo : int) (n : int) : float =\n"
    "  if n = 1 then xs[lo % length xs] * xs[lo * 7 % length xs]\n"
    "  else (let (a, b) = par (fun () -> places xs lo (n / 2)) (fun () -> places xs (lo + n / 2) (n - n / 2)) in a + "
    "b)\n"
    "let blocks m = (let terms w = [ exp (sin (w[i % 5] * float i)) | i < m ] in\n"
    "  let ws = [0.1, 0.2, 0.3, 0.4, 0.5] in sum (map sqrt (terms ws)) + sum (grad (fun w -> sum (terms w)) ws))\n"
    "let run n = (let m = int n in\n"
    "  let g = grad (fun v -> places v 0 m) [ sin (float i) | i < 100 ] in\n"
    "  total (grow m 0.3) + grad (fun x -> total (grow m x)) 0.7 + sum g + blocks (25 * m))\n"
    "let arrays n = (let m = int n in\n"
    "  let part k = (let mut a = [ float (i + k) | i < m ] in a[0] <- spin 1000 1.0; sum (map sqrt a)) in\n"
    "  let (a, b) = par (fun () -> part 1) (fun () -> part 2) in a + b)\n"
    "let failing n = (let (a, b) = par (fun () -> spin 20000 n) (fun () -> spin 300 n + fail \"second\") in a + b)\n"
    "let first n = (let (a, b) = par (fun () -> spin 300 n + fail \"first\") (fun () -> spin 100000000000 n) in a + "
    "b)\n";

static AtledStatus run_text(AtledVM *vm, const char *text) { return atled_eval(vm, "test", text); }

static AtledVM *new_vm(AtledJit jit, int threads) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.threads = threads;
  AtledVM *vm = atled_new(&config);
  CHECK(vm && run_text(vm, program) == ATLED_OK);
  return vm;
}

static AtledFunction *get(AtledVM *vm, const char *expression) {
  AtledFunction *f = NULL;
  CHECK(atled_get(vm, expression, "float -> float", &f) == ATLED_OK);
  return f;
}

static AtledStatus call(AtledFunction *f, double x, double *result) { return atled_call_double(f, &x, 1, result); }

/* ---- Digits ------------------------------------------------------------------------------------------------------ */
static const int numbers[] = {2, 3, 4, 16};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static double value_with(AtledJit jit, int threads, int times) {
  AtledVM *vm = new_vm(jit, threads);
  AtledFunction *f = get(vm, "run");
  double first = 0, next = 0;
  CHECK(call(f, 700, &first) == ATLED_OK);
  int64_t live = atled_live_objects(vm);
  for (int k = 1; k < times; k++) CHECK(call(f, 700, &next) == ATLED_OK && next == first);
  CHECK(atled_live_objects(vm) == live);
  atled_release(f);
  atled_free(vm);
  return first;
}

static void test_digits(void) {
  double expected = value_with(ATLED_JIT_OFF, 2, 3);
  for (int k = 0; k < NUMBERS; k++)
    for (int jit = ATLED_JIT_AUTO; jit <= ATLED_JIT_ALWAYS; jit++)
      CHECK(value_with((AtledJit)jit, numbers[k], 40) == expected);
}

/* The environment gives threads to a host that asks for nothing, but not to one whose allocator may be for one. */
static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  (void)user, (void)old_size;
  if (new_size) return realloc(block, new_size);
  free(block);
  return NULL;
}
static int threads_of_process(void);
static int threads_unasked(int threads, bool allocates) {
  int before = threads_of_process();
  AtledConfig config;
  atled_config_init(&config);
  CHECK(config.threads == 0);
  config.jit = ATLED_JIT_OFF;
  config.threads = threads;
  if (allocates) config.allocate = allocate;
  AtledVM *vm = atled_new(&config);
  CHECK(vm && run_text(vm, program) == ATLED_OK);
  AtledFunction *f = get(vm, "run");
  double y;
  CHECK(call(f, 700, &y) == ATLED_OK);
  int more = threads_of_process() - before;
  atled_release(f);
  atled_free(vm);
  return 1 + more;
}
static void test_environment(void) {
  CHECK(threads_unasked(0, false) == 1);
  setenv("ATLED_THREADS", "3", 1);
  CHECK(threads_unasked(0, false) == 3);
  CHECK(threads_unasked(1, false) == 1);
  CHECK(threads_unasked(0, true) == 1);
  CHECK(threads_unasked(2, true) == 2);
  unsetenv("ATLED_THREADS");
}

static int threads_of_process(void) {
  DIR *d = opendir("/proc/self/task");
  int n = 0;
  for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
  if (d) closedir(d);
  return n;
}

/* Threads start when there is something to do, and end with the VM. */
static void test_numbers(void) {
  int before = threads_of_process();
  CHECK(value_with(ATLED_JIT_OFF, 1000000000, 2) == value_with(ATLED_JIT_OFF, 2, 1));
  CHECK(value_with(ATLED_JIT_OFF, -1, 2) != 0 && value_with(ATLED_JIT_OFF, 0, 2) != 0);
  CHECK(threads_of_process() == before);
  AtledVM *vm = new_vm(ATLED_JIT_OFF, 4);
  CHECK(threads_of_process() == before);
  CHECK(run_text(vm, "let fine = run 300.0 > 0.0") == ATLED_OK);
  CHECK(threads_of_process() == before + 3);
  atled_free(vm);
  CHECK(threads_of_process() == before);
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */
static bool says(AtledVM *vm, const char *text) {
  const AtledDiagnostic *d = atled_error(vm);
  return d && strstr(d->message, text);
}

static void expect_failure(AtledVM *vm, AtledFunction *f, double x, const char *text) {
  double result;
  CHECK(call(f, x, &result) != ATLED_OK);
  CHECK(says(vm, text));
}

static void test_failures(AtledJit jit) {
  AtledVM *vm = new_vm(jit, 3);
  AtledFunction *failing = get(vm, "failing"), *first = get(vm, "first"), *run = get(vm, "run");
  double before, after;
  CHECK(call(run, 300, &before) == ATLED_OK);
  int64_t live = atled_live_objects(vm);
  for (int k = 0; k < 20; k++) {
    expect_failure(vm, failing, 1.0, "second");
    expect_failure(vm, first, 1.0, "first");
    CHECK(call(run, 300, &after) == ATLED_OK && before == after);
  }
  CHECK(atled_live_objects(vm) == live);
  atled_release(failing);
  atled_release(first);
  atled_release(run);
  atled_free(vm);
}

typedef struct Interrupter {
  AtledVM *vm;
  unsigned microseconds;
} Interrupter;

static void *interrupt(void *arg) {
  const Interrupter *i = arg;
  usleep(i->microseconds);
  atled_interrupt(i->vm);
  return NULL;
}

static void test_interrupts(AtledJit jit, unsigned times) {
  enum { LONGEST = 8000 };
  AtledVM *vm = new_vm(jit, 4);
  AtledFunction *run = get(vm, "run");
  double before, after;
  CHECK(call(run, 700, &before) == ATLED_OK);
  int64_t live = atled_live_objects(vm);
  for (unsigned k = 0; k < times; k++) {
    Interrupter i = {vm, k * 7919u % LONGEST};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, interrupt, &i) == 0);
    AtledStatus status = call(run, 700, &after);
    CHECK(status == ATLED_OK ? after == before : says(vm, "interrupted"));
    pthread_join(thread, NULL);
    atled_clear_interrupt(vm);
  }
  CHECK(call(run, 700, &after) == ATLED_OK && after == before);
  CHECK(atled_live_objects(vm) == live);
  atled_release(run);
  atled_free(vm);
}

static void test_time(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.threads = 3;
  config.time_limit = 0.5;
  AtledVM *vm = atled_new(&config);
  CHECK(run_text(vm,
                 "let rec spin (n : int) (x : float) : float = if n = 0 then x else spin (n - 1) (x * 0.999 + 0.5)\n"
                 "let rec long (k : int) : float = if k = 0 then spin 100000000000 1.0\n"
                 "  else (let (a, b) = par (fun () -> long (k - 1)) (fun () -> long (k - 1)) in a + b)\n"
                 "long 5") == ATLED_RUNTIME_ERROR);
  CHECK(says(vm, "time limit"));
  CHECK(run_text(vm, "let fine = spin 10 1.0 > 0.0") == ATLED_OK);
  atled_free(vm);
}

/* Two arms at once exceed the limit, one after the other don't. */
static void test_memory(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.threads = 3;
  config.memory_limit = 160 << 20;
  AtledVM *vm = atled_new(&config);
  CHECK(run_text(vm, program) == ATLED_OK);
  AtledFunction *arrays = get(vm, "arrays");
  double expected, result;
  CHECK(call(arrays, 1000, &result) == ATLED_OK);
  CHECK(call(arrays, 5e6, &expected) == ATLED_OK);
  for (int k = 0; k < 5; k++) {
    CHECK(call(arrays, 5e6, &result) == ATLED_OK && result == expected);
    expect_failure(vm, arrays, 3e7, "memory");
  }
  atled_release(arrays);
  atled_free(vm);
}

static void test_failing_allocations(AtledJit jit) {
  AtledVM *vm = new_vm(jit, 3);
  AtledFunction *run = get(vm, "run");
  double before, after;
  CHECK(call(run, 60, &before) == ATLED_OK);
  int64_t live = atled_live_objects(vm);
  for (int n = 1; n < 60; n++) {
    atled_fail_allocation(vm, n);
    AtledStatus status = call(run, 60, &after);
    CHECK(status == ATLED_OK ? after == before : status == ATLED_NO_MEMORY || says(vm, "memory"));
  }
  atled_fail_allocation(vm, 0);
  CHECK(call(run, 60, &after) == ATLED_OK && after == before);
  CHECK(atled_live_objects(vm) == live);
  atled_release(run);
  atled_free(vm);
}

/* ---- Several VMs ------------------------------------------------------------------------------------------------- */
enum { VMS = 8 };
/* Counts nothing: CHECK is for one thread. */
static bool runs_equally(AtledVM *vm, double *value) {
  AtledFunction *f = NULL;
  double next;
  bool fine = vm && run_text(vm, program) == ATLED_OK && atled_get(vm, "run", "float -> float", &f) == ATLED_OK &&
              call(f, 700, value) == ATLED_OK;
  for (int k = 0; k < 8 && fine; k++) fine = call(f, 700, &next) == ATLED_OK && next == *value;
  atled_release(f);
  return fine;
}
static void *serve(void *value) {
  AtledConfig config;
  atled_config_init(&config);
  config.threads = 4;
  AtledVM *vm = atled_new(&config);
  if (!runs_equally(vm, value)) *(double *)value = 0;
  atled_free(vm);
  return NULL;
}
static void test_vms(void) {
  double values[VMS];
  pthread_t threads[VMS];
  for (int k = 0; k < VMS; k++) CHECK(pthread_create(&threads[k], NULL, serve, &values[k]) == 0);
  for (int k = 0; k < VMS; k++) pthread_join(threads[k], NULL);
  double expected = value_with(ATLED_JIT_OFF, 1, 1);
  for (int k = 0; k < VMS; k++) CHECK(values[k] == expected);
}

/* ---- Hosts ------------------------------------------------------------------------------------------------------- */
static pthread_t caller;
static int elsewhere, calls;

static void half(AtledCall *c) {
  elsewhere += !pthread_equal(pthread_self(), caller);
  calls++;
  atled_return(c, atled_float(c->args[0].as.number / 2));
}

/* The host's functions are called by the thread that called the VM. */
static void test_host_functions(AtledJit jit) {
  AtledVM *vm = new_vm(jit, 4);
  AtledHostFunction f = {.name = "half", .type = "float -> float", .call = half, .flags = ATLED_PURE};
  caller = pthread_self();
  elsewhere = calls = 0;
  CHECK(atled_define(vm, &f) == ATLED_OK);
  CHECK(run_text(
            vm,
            "let rec halves (n : int) (x : float) : float =\n"
            "  if n = 1 then half (spin 200 x)\n"
            "  else (let (a, b) = par (fun () -> halves (n / 2) x) (fun () -> halves (n - n / 2) (x + 1.0)) in a + b)\n"
            "let all n = halves (int n) 1.0\n"
            "let rec sums (n : int) (x : float) : float = if n = 1 then spin 200 x / 2.0\n"
            "  else sums (n / 2) x + sums (n - n / 2) (x + 1.0)") == ATLED_OK);
  AtledFunction *all = get(vm, "all");
  double result, expected;
  AtledFunction *sums = get(vm, "fun n -> sums (int n) 1.0");
  CHECK(call(sums, 200, &expected) == ATLED_OK);
  for (int k = 0; k < 10; k++) CHECK(call(all, 200, &result) == ATLED_OK && result == expected);
  CHECK(elsewhere == 0 && calls >= 2000);
  atled_release(all);
  atled_release(sums);
  atled_free(vm);
}

/* The child has the calling thread alone, and goes on. */
static void test_process(AtledJit jit) {
  AtledVM *vm = new_vm(jit, 4);
  AtledFunction *run = get(vm, "run");
  double before, after;
  CHECK(call(run, 300, &before) == ATLED_OK);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool fine = call(run, 300, &after) == ATLED_OK && after == before;
    atled_release(run);
    atled_free(vm);
    _exit(fine ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(call(run, 300, &after) == ATLED_OK && after == before);
  atled_release(run);
  atled_free(vm);
}

#ifndef __SANITIZE_THREAD__
/* A callback forks while other threads are at work: the child does the rest alone. */
static bool in_child;

static void forks_once(AtledCall *c) {
  if (++calls == 10) in_child = fork() == 0;
  if (in_child) alarm(60);
  atled_return(c, atled_float(c->args[0].as.number / 2));
}

static void test_process_within(AtledJit jit) {
  AtledVM *vm = new_vm(jit, 4);
  AtledHostFunction f = {.name = "half", .type = "float -> float", .call = forks_once, .flags = ATLED_PURE};
  calls = 0;
  CHECK(atled_define(vm, &f) == ATLED_OK);
  CHECK(run_text(vm, "let rec mixed (n : int) (x : float) : float =\n"
                     "  if n = 1 then half (spin 2000 x)\n"
                     "  else (let (a, b) = par (fun () -> mixed (n / 2) x) (fun () -> spin 200000 x) in a + b)\n"
                     "let all n = fold (fun s k -> s + mixed (int n) (float k)) 0.0 [ k | k < 40 ]") == ATLED_OK);
  AtledFunction *all = get(vm, "all");
  double result = 0, again = 0;
  bool fine = call(all, 64, &result) == ATLED_OK && call(all, 64, &again) == ATLED_OK && result == again;
  atled_release(all);
  atled_free(vm);
  if (in_child) _exit(fine ? 0 : 1);
  int status = -1;
  CHECK(fine && wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

int main(int argc, char **argv) {
  unsigned interrupts = argc > 1 ? (unsigned)atoi(argv[1]) : 120;
  test_digits();
  test_vms();
  test_numbers();
  test_environment();
  for (int jit = ATLED_JIT_AUTO; jit <= ATLED_JIT_ALWAYS; jit++) {
    test_failures((AtledJit)jit);
    test_interrupts((AtledJit)jit, interrupts);
    test_time((AtledJit)jit);
    test_memory((AtledJit)jit);
    test_failing_allocations((AtledJit)jit);
    test_host_functions((AtledJit)jit);
    test_process((AtledJit)jit);
#ifndef __SANITIZE_THREAD__ /* which knows no forks of processes with several threads */
    test_process_within((AtledJit)jit);
#endif
  }
  return check_result();
}
