/* SPDX-License-Identifier: MIT */
/* Hosts whose thread rounds upwards, traps what has no number, flushes subnormals to zero, or writes numbers with a
 * decimal comma. Programs, the compiler and its folding of constants give the values they always give, and the thread
 * is afterwards as it was. A VM that flushes subnormals itself does so in its calls alone. */
#define _GNU_SOURCE
#include "check.h"
#include <atled.h>
#include <fenv.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* Definitions whose values depend on all of that: `zero` hides the operands from the compiler, the others don't. */
static const char source[] =
    "let zero = float (length args)\n"
    "let third = (1.0 + zero) / 3.0\n"
    "let folded = 1.0 / 3.0\n"
    "let poles = [1.0 / zero, 1.0 / 0.0, inf - inf, sqrt (-1.0), log zero, exp (1000.0 + zero)]\n"
    "let small = (1e-310 + zero) * 0.5\n"
    "let text = $\"{1.5 + zero:.2f} {1234567.5:,.1f} {0.5 + zero:e} {0.1 + zero:.3}\"\n"
    "let read = float_of_string \"2.5\"\n"
    "let json = Json.parse \"[0.1, 1e-3]\"\n"
    "let slope = $\"{grad (fun x -> sin x / x) (0.7 + zero):.12f}\"\n";
static const char *const values[] = {"0.0",
                                     "0.3333333333333333",
                                     "0.3333333333333333",
                                     "[inf, inf, nan, nan, -inf, inf]",
                                     "5e-311",
                                     "\"1.50 1,234,567.5 5.000000e-01 0.1\"",
                                     "Some 2.5",
                                     "Array [Number 0.1, Number 0.001]",
                                     "\"-0.222098277834\""};

static void check_values(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.strict = true;
  AtledVM *vm = atled_new(&config);
  AtledFunction *f = NULL;
  AtledResult result;
  CHECK(atled_eval(vm, "surroundings", source) == ATLED_OK);
  for (int i = 0; i < (int)(sizeof values / sizeof *values); i++)
    CHECK(atled_result(vm, i, &result) && strcmp(result.value, values[i]) == 0);
  double x = 0.0, y = 0.0;
  CHECK(atled_get(vm, "fun x -> 1.0 / x", "float -> float", &f) == ATLED_OK);
  CHECK(atled_call_double(f, &x, 1, &y) == ATLED_OK && y > 1e308);
  atled_release(f);
  atled_free(vm);
}

static void check_all_modes(void) {
  check_values(ATLED_JIT_OFF);
  check_values(ATLED_JIT_AUTO);
  check_values(ATLED_JIT_ALWAYS);
}

static void test_rounding(void) {
  static const int directions[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (int i = 0; i < 3; i++) {
    fesetround(directions[i]);
    check_all_modes();
    CHECK(fegetround() == directions[i]);
  }
  fesetround(FE_TONEAREST);
}

static void test_traps(void) {
  const int all = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW;
  feenableexcept(all);
  check_all_modes();
  CHECK(fegetexcept() == all);
  fedisableexcept(FE_ALL_EXCEPT);
  feclearexcept(FE_ALL_EXCEPT);
}

static void test_flushing(void) {
#if defined __x86_64__
  enum { FLUSH_TO_ZERO = 0x8000, SUBNORMALS_ARE_ZERO = 0x40 };
  const unsigned before = __builtin_ia32_stmxcsr(), flushing = before | FLUSH_TO_ZERO | SUBNORMALS_ARE_ZERO;
  __builtin_ia32_ldmxcsr(flushing);
  check_all_modes();
  CHECK((__builtin_ia32_stmxcsr() & (FLUSH_TO_ZERO | SUBNORMALS_ARE_ZERO)) == (FLUSH_TO_ZERO | SUBNORMALS_ARE_ZERO));
  __builtin_ia32_ldmxcsr(before);
#endif
}

/* Few machines have such a locale installed, many can make one. */
static void test_decimal_comma(void) {
  char folder[] = "/tmp/atled-locale-XXXXXX", command[200];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1", folder, folder);
  bool made = system(command) != -1;
  setenv("LOCPATH", folder, 1);
  if (made && setlocale(LC_ALL, "de_DE.UTF-8")) {
    check_all_modes();
    CHECK_STR(localeconv()->decimal_point, ",");
    CHECK(strtod("1,5", NULL) == 1.5);
  } else {
    fprintf(stderr, "no locale with a decimal comma can be made here\n");
  }
  setlocale(LC_ALL, "C");
  snprintf(command, sizeof command, "rm -rf %s", folder);
  CHECK(system(command) == 0);
}

/* What the VM was asked to flush, in each mode and one and several calls; the host's own thread keeps subnormals. */
static void check_asked(AtledJit jit, bool flush) {
#if defined __x86_64__
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.flush_subnormals = flush;
  AtledVM *vm = atled_new(&config);
  AtledFunction *f = NULL, *g = NULL;
  const unsigned before = __builtin_ia32_stmxcsr() & ~0x3fu;
  CHECK(atled_eval(vm, "flush", "let halves (v : float[]) = sum [ x * 0.5 | x in v ]") == ATLED_OK);
  CHECK(atled_get(vm, "fun x -> x * 1e-300", "float -> float", &f) == ATLED_OK);
  CHECK(atled_get(vm, "fun (x : float) -> halves [ x | i < 20 ]", "float -> float", &g) == ATLED_OK);
  for (int k = 0; k < 3; k++) {
    double small = 1e-10, smallest = 0x1p-1022, y = 1;
    CHECK(atled_call_double(f, &small, 1, &y) == ATLED_OK && (flush ? y == 0 : y == 1e-310));
    CHECK(atled_call_double(g, &smallest, 1, &y) == ATLED_OK && (flush ? y == 0 : y == 0x14p-1023));
    CHECK((__builtin_ia32_stmxcsr() & ~0x3fu) == before);
  }
  atled_release(f);
  atled_release(g);
  atled_free(vm);
#else
  (void)jit, (void)flush;
#endif
}

static void test_asked(void) {
  for (int flush = 0; flush < 2; flush++) {
    check_asked(ATLED_JIT_OFF, flush);
    check_asked(ATLED_JIT_AUTO, flush);
    check_asked(ATLED_JIT_ALWAYS, flush);
  }
}

int main(void) {
  check_all_modes();
  test_rounding();
  test_traps();
  test_flushing();
  test_asked();
  test_decimal_comma();
  return check_result();
}
