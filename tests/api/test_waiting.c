/* SPDX-License-Identifier: MIT */
/* A host in whose surroundings something never comes: files that are FIFOs, pipes that nobody reads or writes, and the
 * thread of the clock in a child that was forked. No call waits for ever; limits and interrupts end it, and no signal
 * ends the host. */
#define _GNU_SOURCE
#include "check.h"
#include <atled.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static AtledVM *make(AtledJit jit, double time_limit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.time_limit = time_limit;
  return atled_new(&config);
}

/* Did the call end by an error of this kind? */
static bool failed(const AtledVM *vm, AtledStatus status, const char *kind) {
  const AtledDiagnostic *d = atled_error(vm);
  bool ok = status != ATLED_OK && d && strcmp(d->kind, kind) == 0;
  if (!ok) fprintf(stderr, "%s expected, not status %d: %s\n", kind, status, d ? d->rendered : "");
  return ok;
}

/* The status of a child that does that, -1 if a signal ended it. */
static int in_child(int (*does)(void *arg), void *arg) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(does(arg));
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- Fork -------------------------------------------------------------------------------------------------------- */
static const char endless[] = "let mut n = 0 in while n >= 0 do n <- (n + 1) % 7 done";

static int use_and_free(void *arg) {
  AtledVM *vm = arg;
  bool ok = atled_eval(vm, "t", "1 + 1") == ATLED_OK && failed(vm, atled_eval(vm, "t", endless), "time") &&
            atled_eval(vm, "t", "1 + 1") == ATLED_OK;
  atled_free(vm);
  return !ok;
}

static int only_free(void *arg) {
  atled_free(arg);
  return 0;
}

static int use_in_grandchild(void *arg) { return in_child(use_and_free, arg); }

static void test_fork(AtledJit jit) {
  AtledVM *vm = make(jit, 0.3);
  CHECK(atled_eval(vm, "t", "2 + 2") == ATLED_OK); /* there is a clock now */
  for (int k = 0; k < 20; k++) CHECK(in_child(only_free, vm) == 0);
  CHECK(in_child(use_and_free, vm) == 0);
  CHECK(in_child(use_in_grandchild, vm) == 0);
  CHECK(use_and_free(vm) == 0);
}

int main(void) {
  const AtledJit modes[] = {ATLED_JIT_OFF, ATLED_JIT_ALWAYS, ATLED_JIT_AUTO};
  alarm(300); /* what hangs fails */
  for (int k = 0; k < 3; k++) test_fork(modes[k]);
  CHECK(now() > 0);
  return check_result();
}
