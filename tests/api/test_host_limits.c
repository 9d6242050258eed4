/* SPDX-License-Identifier: MIT */
/* Limits that a host sets: for each a pair, what is within it and what is beyond, in both tiers; then the VM is as
 * before. Limits of memory and time are those of test_out_of_memory.c and test_stopping.c. */
#include "check.h"
#include <atled.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct Written {
  char text[256];
  size_t length;
} Written;

static bool take(void *user, AtledStream stream, const char *text, size_t length) {
  Written *w = user;
  (void)stream;
  if (w->length + length < sizeof w->text) memcpy(w->text + w->length, text, length);
  w->length += length;
  return true;
}

static AtledConfig config_of(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  return config;
}

/* The error of a call that failed so. */
static void check_error(AtledVM *vm, AtledStatus got, AtledStatus want, const char *kind, const char *message) {
  const AtledDiagnostic *d = atled_error(vm);
  CHECK(got == want && d);
  if (!d) return;
  CHECK_STR(d->kind, kind);
  CHECK_STR(d->message, message);
}

/* ---- Output ------------------------------------------------------------------------------------------------------ */
static void test_output(AtledJit jit) {
  static const char message[] = "the program writes more than 10 bytes (output_limit)";
  Written w = {.length = 0};
  AtledConfig config = config_of(jit);
  config.output_limit = 10;
  config.output = take;
  config.user = &w;
  AtledVM *vm = atled_new(&config);
  CHECK(atled_eval(vm, "t", "write \"12345\"\neprint \"6789\"") == ATLED_OK && w.length == 10);
  CHECK(atled_eval(vm, "t", "write \"1234567890\"") == ATLED_OK && w.length == 20); /* counted anew in each call */
  check_error(vm, atled_eval(vm, "t", "write \"12345\"\neprint \"67890\""), ATLED_RUNTIME_ERROR, "output-limit",
              message);
  CHECK(atled_error(vm)->line == 2 && w.length == 25); /* what would exceed it isn't written */
  check_error(vm, atled_eval(vm, "t", "attempt (fun () -> write \"1234567890a\")"), ATLED_RUNTIME_ERROR, "output-limit",
              message);
  check_error(vm, atled_eval(vm, "t", "let rec f n = write \"\\n\"; f (n + 1)\nf 0"), ATLED_RUNTIME_ERROR,
              "output-limit", message);
  CHECK(w.length == 35 && atled_eval(vm, "t", "print 1") == ATLED_OK && w.length == 37);
  atled_free(vm);
}

/* ---- Sources ----------------------------------------------------------------------------------------------------- */
static void test_source(void) {
  static const char message[] = "`t` has more than 20 bytes (source_limit)";
  AtledConfig config = config_of(ATLED_JIT_OFF);
  config.source_limit = 20;
  AtledVM *vm = atled_new(&config);
  CHECK(vm && atled_eval(vm, "t", "let a = 12345678 * 1") == ATLED_OK);
  check_error(vm, atled_eval(vm, "t", "let b = 123456789 * 1"), ATLED_COMPILE_ERROR, "source-limit", message);
  check_error(vm, atled_check(vm, "t", "let b = 123456789 * 1"), ATLED_COMPILE_ERROR, "source-limit", message);
  AtledFunction *f = NULL;
  CHECK(atled_get(vm, "a", "int", &f) == ATLED_OK);
  atled_release(f);
  CHECK(atled_get(vm, "a + a + a + a + a + a", "int", &f) == ATLED_COMPILE_ERROR);
  CHECK(strcmp(atled_error(vm)->kind, "source-limit") == 0 && atled_eval(vm, "t", "a") == ATLED_OK);
  atled_free(vm);
}

static void write_file(const char *path, size_t size) {
  FILE *file = fopen(path, "w");
  CHECK(file);
  if (!file) return;
  for (size_t i = 0; i < size; i++) fputc(i % 2 ? '\n' : '#', file);
  fclose(file);
}

/* A file is read no further than to see that it is too large. */
static void test_files(void) {
  char folder[] = "/tmp/atled_limitsXXXXXX", small[64], large[64], message[160];
  if (!mkdtemp(folder)) return;
  snprintf(small, sizeof small, "%s/small.atl", folder);
  snprintf(large, sizeof large, "%s/large.atl", folder);
  write_file(small, 100000);
  write_file(large, 20000000);
  AtledConfig config = config_of(ATLED_JIT_OFF);
  config.source_limit = 100000;
  config.memory_limit = 8 << 20;
  AtledVM *vm = atled_new(&config);
  CHECK(vm && atled_eval_file(vm, small) == ATLED_OK);
  snprintf(message, sizeof message, "`%s` has more than 100000 bytes (source_limit)", large);
  check_error(vm, atled_eval_file(vm, large), ATLED_COMPILE_ERROR, "source-limit", message);
  char import[160];
  snprintf(import, sizeof import, "import \"%s\" as Small\n1", small);
  CHECK(atled_eval(vm, "t", import) == ATLED_OK);
  snprintf(import, sizeof import, "\nimport \"%s\" as Large", large);
  check_error(vm, atled_eval(vm, "t", import), ATLED_COMPILE_ERROR, "source-limit", message);
  CHECK(atled_error(vm)->line == 2);
  atled_free(vm);
  unlink(small);
  unlink(large);
  rmdir(folder);
}

/* ---- Time -------------------------------------------------------------------------------------------------------- */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void wait_for(double seconds) {
  struct timespec t = {0, (long)(seconds * 1e9)};
  nanosleep(&t, NULL);
}

/* Compiling may take longer than the limit; it goes on meanwhile, and a later call finds its code. */
static AtledFunction *get(AtledVM *vm, const char *expression) {
  AtledFunction *f = NULL;
  for (int k = 0; k < 500 && atled_get(vm, expression, "float -> float", &f) != ATLED_OK; k++) wait_for(0.01);
  CHECK(f);
  return f;
}

/* A call that ends at once, many of them, a pause, and then one that is stopped: whatever the clock's thread was doing
 * meanwhile, it isn't late. */
static void test_clock(void) {
  AtledConfig config = config_of(ATLED_JIT_ALWAYS);
  config.time_limit = 0.1;
  AtledVM *vm = atled_new(&config);
  AtledFunction *quick = get(vm, "fun x -> x * x");
  AtledFunction *endless = get(vm, "fun x -> let rec f y = if y < 0.0 then y else f (y * 0.5 + 1.0) in f x");
  double x = 2, y = 0;
  for (int k = 0; k < 12 && quick && endless; k++) {
    for (int i = 0; i < 1000 * k; i++) CHECK(atled_call_double(quick, &x, 1, &y) == ATLED_OK && y == 4);
    wait_for(0.03 * k);
    double begin = now();
    CHECK(atled_call_double(endless, &x, 1, &y) == ATLED_RUNTIME_ERROR);
    double took = now() - begin;
    CHECK(took > 0.099 && took < 5); /* on a busy machine; 50 ms late at most on one that isn't */
    CHECK_STR(atled_error(vm)->kind, "time");
  }
  atled_release(quick);
  atled_release(endless);
  atled_free(vm);
}

/* ---- Compiling --------------------------------------------------------------------------------------------------- */
/* A source of n nested parentheses. */
static char *nested(int n) {
  char *text = malloc(2 * (size_t)n + 2);
  if (!text) abort();
  memset(text, '(', (size_t)n);
  text[n] = '1';
  memset(text + n + 1, ')', (size_t)n);
  text[2 * n + 1] = '\0';
  return text;
}

static void test_nesting(void) {
  AtledConfig config = config_of(ATLED_JIT_OFF);
  config.nesting_limit = 20;
  AtledVM *vm = atled_new(&config);
  char *within = nested(19), *beyond = nested(20);
  CHECK(vm && atled_eval(vm, "t", within) == ATLED_OK);
  check_error(vm, atled_eval(vm, "t", beyond), ATLED_COMPILE_ERROR, "nesting", "this is nested too deeply");
  CHECK(atled_error(vm)->line == 1 && atled_error(vm)->column == 21);
  CHECK(atled_eval(vm, "t", "print (Linalg.det [[2.0]])") == ATLED_OK); /* the library has no limit */
  atled_free(vm);
  free(within);
  free(beyond);
}

/* Eight derivatives of one another: seconds of work. */
static const char steep[] = "let f x = sin (x * exp (x * cos x))\n"
                            "let g n = grad (fun a -> grad (fun b -> grad (fun c -> grad (fun d -> grad (fun e -> grad "
                            "(fun h -> grad (fun i -> "
                            "grad (fun j -> f (j * f (i * f (h * e)))) i) h) e) d) c) b) a) n\nprint (g 0.5)";

/* The work is refused; less of it isn't, nor is it anything in the next call. */
static void check_compile_limit(AtledConfig config, const char *message) {
  AtledFunction *f = NULL;
  AtledVM *vm = atled_new(&config);
  CHECK(vm && atled_eval(vm, "t", "let square (x : float) = x * x") == ATLED_OK);
  check_error(vm, atled_eval(vm, "t", steep), ATLED_COMPILE_ERROR, "compile-limit", message);
  CHECK(atled_get(vm, "grad square", "float -> float", &f) == ATLED_OK);
  AtledValue x = atled_float(1.5), y;
  CHECK(atled_call(f, &x, 1, &y) == ATLED_OK && y.as.number == 3.0);
  CHECK(atled_get(vm, "g", "float -> float", &f) == ATLED_COMPILE_ERROR); /* it defined nothing */
  atled_release(f);
  atled_free(vm);
}

static void test_compile_limits(AtledJit jit) {
  AtledConfig config = config_of(jit);
  config.compile_time = 0.1;
  double start = now();
  check_compile_limit(config, "compiling this takes more than the host allows (compile_time)");
  CHECK(now() - start < 10);
  config = config_of(jit);
  config.compile_memory = 20 << 20;
  check_compile_limit(config, "compiling this takes more than the host allows (compile_memory)");
  config = config_of(jit);
  config.node_limit = 20000;
  check_compile_limit(config, "compiling this takes more than the host allows (node_limit)");
}

/* They end no program that runs. */
static void test_running(AtledJit jit) {
  AtledConfig config = config_of(jit);
  config.compile_time = 0.2;
  config.compile_memory = 50 << 20;
  config.node_limit = 100000;
  AtledVM *vm = atled_new(&config);
  CHECK(vm);
  AtledStatus status = atled_eval(vm, "t",
                                  "let f n = (let mut s = 0.0 in for i = 0 to n do s <- s + sin (float i) done; s)\n"
                                  "print (f 30000000 + sum [ float i | i < 10000000 ])");
  CHECK(status == ATLED_OK);
  atled_free(vm);
}

int main(void) {
  test_output(ATLED_JIT_OFF);
  test_output(ATLED_JIT_ALWAYS);
  test_source();
  test_files();
  test_clock();
  test_nesting();
  test_compile_limits(ATLED_JIT_OFF);
  test_compile_limits(ATLED_JIT_ALWAYS);
  test_running(ATLED_JIT_OFF);
  test_running(ATLED_JIT_AUTO);
  return check_result();
}
