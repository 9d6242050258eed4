/* SPDX-License-Identifier: MIT */
/* Calls of functions of numbers, which go straight into machine code: they give what the evaluator gives, whatever the
 * host's surroundings are, and what is out of the ordinary is told as ever. */
#include "check.h"
#include <atled.h>
#include <fenv.h>
#include <string.h>

static const char source[] = "let square (x : float) = x * x\n"
                             "let third (x : float) = x / 3.0\n"
                             "let less (x : float) (n : int) = x < float n\n"
                             "let choose (b : bool) (m : int) (n : int) = if b then m else n\n"
                             "let no (b : bool) = not b\n"
                             "let scaled k = fun (x : float) -> k * x\n"
                             "let divided (m : int) (n : int) = m / n\n"
                             "let fine (x : float) = sin x + exp (-x * x)\n";

static AtledVM *vm_of(AtledJit jit, double time_limit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.time_limit = time_limit;
  AtledVM *vm = atled_new(&config);
  CHECK(vm && atled_eval(vm, "t", source) == ATLED_OK);
  return vm;
}

static AtledFunction *get(AtledVM *vm, const char *expression, const char *type) {
  AtledFunction *f = NULL;
  CHECK(atled_get(vm, expression, type, &f) == ATLED_OK && f);
  return f;
}

static double call_float(AtledFunction *f, double x) {
  AtledValue arg = atled_float(x), y = {0};
  CHECK(atled_call(f, &arg, 1, &y) == ATLED_OK && y.kind == ATLED_FLOAT);
  return y.as.number;
}

static void test_kinds(AtledVM *vm) {
  AtledFunction *less = get(vm, "less", "float -> int -> bool"), *no = get(vm, "no", "bool -> bool");
  AtledFunction *choose = get(vm, "choose", "bool -> int -> int -> int");
  AtledValue y, numbers[] = {atled_float(1.5), atled_int(2)}, wrong[] = {atled_int(1), atled_int(2)};
  CHECK(atled_call(less, numbers, 2, &y) == ATLED_OK && y.kind == ATLED_BOOL && y.as.boolean);
  numbers[0].as.number = 2.5;
  CHECK(atled_call(less, numbers, 2, numbers) == ATLED_OK && numbers[0].kind == ATLED_BOOL && !numbers[0].as.boolean);
  AtledValue three[] = {atled_bool(false), atled_int(-7), atled_int(INT64_MIN)};
  CHECK(atled_call(choose, three, 3, &y) == ATLED_OK && y.kind == ATLED_INT && y.as.integer == INT64_MIN);
  three[0].as.boolean = true;
  CHECK(atled_call(choose, three, 3, &y) == ATLED_OK && y.as.integer == -7);
  CHECK(atled_call(no, three, 1, &y) == ATLED_OK && y.kind == ATLED_BOOL && !y.as.boolean);
  CHECK(atled_call(less, wrong, 2, &y) == ATLED_BAD_ARGUMENT && atled_error(vm));
  CHECK(atled_call(less, numbers, 1, &y) == ATLED_BAD_ARGUMENT);
  CHECK(atled_call(no, three, 1, &y) == ATLED_OK && !atled_error(vm)); /* the report of the call before is gone */
  atled_release(less);
  atled_release(choose);
  atled_release(no);
}

/* What rounds differently, traps or flushes in the host doesn't reach the program. */
static void test_surroundings(AtledVM *vm) {
  AtledFunction *third = get(vm, "third", "float -> float"), *scaled = get(vm, "scaled 0.1", "float -> float");
  double up, y = call_float(third, 1.0), z = call_float(scaled, 3.0), x = 1.0, numbers;
  CHECK(y == 1.0 / 3.0 && z == 0.1 * 3.0);
  CHECK(atled_call_double(third, &x, 1, &numbers) == ATLED_OK && numbers == y);
  CHECK(fesetround(FE_UPWARD) == 0);
  up = call_float(third, 1.0);
  CHECK(atled_call_double(third, &x, 1, &numbers) == ATLED_OK);
  CHECK(fegetround() == FE_UPWARD && fesetround(FE_TONEAREST) == 0);
  CHECK(up == y && numbers == y);
  atled_release(third);
  atled_release(scaled);
}

/* An interrupt ends the call that comes next; what can fail goes the general way. */
static void test_ends(AtledVM *vm) {
  AtledFunction *square = get(vm, "square", "float -> float"), *divided = get(vm, "divided", "int -> int -> int");
  AtledValue y, x = atled_float(3.0), ints[] = {atled_int(7), atled_int(0)};
  CHECK(atled_call(divided, ints, 2, &y) == ATLED_RUNTIME_ERROR && strcmp(atled_error(vm)->kind, "division") == 0);
  CHECK(call_float(square, 3.0) == 9.0 && !atled_error(vm));
  atled_interrupt(vm);
  CHECK(atled_call(square, &x, 1, &y) == ATLED_RUNTIME_ERROR && strcmp(atled_error(vm)->kind, "interrupt") == 0);
  CHECK(call_float(square, 3.0) == 9.0);
  atled_release(square);
  atled_release(divided);
}

/* Gradients and functions of the C library, to the last bit those of the evaluator. */
static void test_values(AtledVM *vm, AtledVM *evaluator) {
  static const char *const expressions[] = {"fine", "grad fine", "grad (grad fine)", "square", "grad third"};
  for (size_t k = 0; k < sizeof expressions / sizeof *expressions; k++) {
    AtledFunction *f = get(vm, expressions[k], "float -> float");
    AtledFunction *g = get(evaluator, expressions[k], "float -> float");
    for (int i = -20; i <= 20; i++) CHECK(call_float(f, 0.37 * i) == call_float(g, 0.37 * i));
    atled_release(f);
    atled_release(g);
  }
}

int main(void) {
  static const AtledJit modes[] = {ATLED_JIT_ALWAYS, ATLED_JIT_AUTO, ATLED_JIT_OFF};
  AtledVM *evaluator = vm_of(ATLED_JIT_OFF, 0);
  for (int k = 0; k < 6; k++) {
    AtledVM *vm = vm_of(modes[k / 2], k % 2 ? 100 : 0);
    test_kinds(vm);
    test_surroundings(vm);
    test_ends(vm);
    test_values(vm, evaluator);
    atled_free(vm);
  }
  atled_free(evaluator);
  return check_result();
}
