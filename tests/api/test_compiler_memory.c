/* SPDX-License-Identifier: MIT */
/* Compiles under limits of the process's address space, from too little for the compiler up to enough. Whatever
 * becomes of the compile, the host goes on and has as much memory as before, and its VMs go on in the evaluator. Of
 * a compiler that runs out of memory the error says so: its process isn't just gone. */
#include "check.h"
#include <atled.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MB = 1 << 20, LEAST = 12, STEP = 4, MOST = 48 };

/* A long function: its compile takes 20 MB. */
static char program[8192];

static void write_program(void) {
  char *p = program + sprintf(program, "let f x =\n  let y = x in\n");
  for (int k = 0; k < 40; k++)
    p += sprintf(p, "  let y = if y > %d.0 then y * cos (y + x) else exp (0.0 - y * y) + y / %d.0 in\n", k, k + 2);
  sprintf(p, "  y\n");
}

static AtledVM *make(AtledJit jit, bool in_process) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.jit_in_process = in_process;
  config.strict = true;
  config.stack_size = (size_t)8 * MB;
  return atled_new(&config);
}

/* The memory that the process has mapped, in MB. */
static long mapped(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld", &pages) != 1) pages = 0;
  if (f) fclose(f);
  return pages * sysconf(_SC_PAGESIZE) / MB;
}

static double slope(AtledVM *vm) {
  AtledFunction *f = NULL;
  double x = 0.5, y = -1;
  if (atled_eval(vm, "program", program) != ATLED_OK || atled_get(vm, "grad f", "float -> float", &f) != ATLED_OK ||
      atled_call_double(f, &x, 1, &y) != ATLED_OK)
    y = -1;
  atled_release(f);
  return y;
}

enum { COMPILED, NOT_LOADED, GAVE_UP, FAILED, OUTCOMES };

static int outcome(const AtledVM *vm, bool compiled) {
  if (compiled) return COMPILED;
  const AtledDiagnostic *e = atled_error(vm);
  if (!e) return FAILED;
  if (strstr(e->message, "be loaded")) return NOT_LOADED;
  /* GCC notices most failed allocations; at others it exits or crashes, alone */
  return strstr(e->message, "can't compile") ? GAVE_UP : FAILED;
}

/* In a process with `room` MB more than it has now. */
static int host(long room, bool in_process, double expected) {
  AtledVM *vm = make(ATLED_JIT_ALWAYS, in_process), *other = make(ATLED_JIT_OFF, in_process);
  struct rlimit limit = {(rlim_t)(mapped() + room) * MB, RLIM_INFINITY};
  if (!vm || !other || setrlimit(RLIMIT_AS, &limit) != 0) return FAILED;
  int result = outcome(vm, slope(vm) == expected);
  if (atled_eval(other, "other", "let a = [ float i | i < 1000 ]\nassert (sum a = 499500.0)") != ATLED_OK)
    return FAILED;
  atled_free(other);
  atled_free(vm);
  return result;
}

static void test_limits(bool in_process, double expected) {
  int seen[OUTCOMES] = {0};
  for (long room = LEAST; room <= MOST; room += STEP) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) _exit(host(room, in_process, expected));
    CHECK(waitpid(child, &status, 0) == child);
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) < FAILED;
    CHECK(ended);
    if (!ended)
      fprintf(stderr, "with %ld MB%s: status %x\n", room, in_process ? " in the process" : "", (unsigned)status);
    else seen[WEXITSTATUS(status)]++;
  }
  CHECK(seen[COMPILED] > 0 && seen[NOT_LOADED] > 0 && seen[GAVE_UP] > 0);
}

int main(void) {
  setenv("ATLED_CACHE", "", 1);
  write_program();
  AtledVM *vm = make(ATLED_JIT_OFF, false);
  double expected = slope(vm);
  atled_free(vm);
  test_limits(false, expected);
  test_limits(true, expected);
  return check_result();
}
