/* SPDX-License-Identifier: MIT */
/* Programs while malloc itself fails, in the library and in what it calls: the C library, the loader, regular
 * expressions. The n-th call of malloc fails, once or with all after it, while a VM is made, a program evaluated, a
 * function looked up, called, given a native pointer and replaced. Nothing of that may crash or hang, or give a wrong
 * value. Then the same VM does everything again, with memory, and must give what a VM gives that always had memory.
 *
 * usage: LD_PRELOAD=failing_malloc.so api_system_memory [STRIDE]     (1: each n) */
#define _GNU_SOURCE
#include "check.h"
#include "memory_sweep.h"
#include <atled.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t *left, *asked; /* of failing_malloc.c */
static int32_t *sticky;

enum { TEXT = 1 << 16 };
typedef struct Seen {
  char text[TEXT];
  size_t length;
} Seen;
static Seen seen;

static void add(const char *text, size_t n) {
  if (n > TEXT - seen.length - 1) n = TEXT - seen.length - 1;
  memcpy(seen.text + seen.length, text, n);
  seen.length += n;
  seen.text[seen.length] = 0;
}

static void write_out(void *unused, const char *text, size_t n) {
  (void)unused;
  add(text, n);
}

static void add_number(double x) { add((const char *)&x, sizeof x); }

/* What the host sees of a function: by call, by native pointer, and replaced. A pointer that fails gives NaN. */
static void use_function(AtledVM *vm, const SweepProgram *p) {
  AtledFunction *f;
  AtledNative native;
  double x = 1.5, y;
  if (atled_get(vm, p->get, "float -> float", &f) != ATLED_OK) return;
  if (atled_call_double(f, &x, 1, &y) == ATLED_OK) add_number(y);
  if (atled_native(f, ATLED_VALUE, &native) == ATLED_OK && !isnan(y = native.value(f, &x, 1))) add_number(y);
  if (atled_replace(f, "fun x -> x * 4.0") == ATLED_OK && atled_call_double(f, &x, 1, &y) == ATLED_OK) CHECK(y == 6);
  atled_release(f);
}

static void use(AtledVM *vm, const SweepProgram *p) {
  seen.length = 0;
  AtledStatus status = atled_eval(vm, "program", p->source);
  const AtledDiagnostic *e = atled_error(vm);
  CHECK((e != NULL) == (status != ATLED_OK));
  if (e) add(e->message, strlen(e->message));
  if (p->get) use_function(vm, p);
}

static AtledVM *new_vm(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.write = write_out;
  return atled_new(&config);
}

/* Call n of malloc fails; 0: none. *want: what is seen in the end, or NULL. Returns the calls until then. */
static int64_t run(const SweepProgram *p, AtledJit jit, int64_t n, bool all, const Seen *want) {
  int64_t before = *asked;
  *sticky = all;
  *left = n - 1;
  AtledVM *vm = new_vm(jit);
  if (vm) use(vm, p);
  int64_t calls = *asked - before;
  *left = -1;
  if (!vm) vm = new_vm(jit);
  CHECK(vm != NULL);
  use(vm, p);
  if (want && (want->length != seen.length || memcmp(want->text, seen.text, seen.length) != 0)) {
    fprintf(stderr, "%s, call %lld%s\n--- then\n%s\n--- with memory\n%s\n", p->name, (long long)n,
            all ? " and all after it" : "", seen.text, want->text);
    CHECK(!"the same");
  }
  atled_free(vm);
  return calls;
}

int main(int argc, char **argv) {
  int64_t stride = argc > 1 ? atoi(argv[1]) : 401, runs = 0;
  char cache[] = "/tmp/atled-system-XXXXXX", command[128];
  static Seen want;
  left = dlsym(RTLD_DEFAULT, "failing_malloc_left");
  asked = dlsym(RTLD_DEFAULT, "failing_malloc_asked");
  sticky = dlsym(RTLD_DEFAULT, "failing_malloc_sticky");
  if (!left || !asked || !sticky) return fputs("failing_malloc.so isn't preloaded\n", stderr), 1;
  if (!mkdtemp(cache)) return 1;
  setenv("ATLED_CACHE", cache, 1); /* all is compiled once */
  alarm(argc > 1 ? 36000 : 380);   /* what hangs fails */
  for (int i = 0; i < SWEEP_PROGRAMS; i++) {
    AtledJit jit = i % 3 == 2 ? ATLED_JIT_ALWAYS : i % 3 == 1 ? ATLED_JIT_AUTO : ATLED_JIT_OFF;
    run(&sweep_programs[i], jit, 0, false, NULL);
    want = seen;
    int64_t last = run(&sweep_programs[i], jit, 0, false, &want);
    for (int64_t n = 1 + i % stride; n <= last; n += stride, runs += 2) {
      run(&sweep_programs[i], jit, n, false, &want);
      run(&sweep_programs[i], jit, n, true, &want);
    }
  }
  snprintf(command, sizeof command, "rm -rf %s", cache);
  if (system(command) != 0) return 1;
  printf("%lld runs\n", (long long)runs);
  return check_result();
}
