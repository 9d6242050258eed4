/* SPDX-License-Identifier: MIT */
/* Fails the n-th allocation for n = 1, 2, … until a program gets through: each time the call must end with
 * ATLED_NO_MEMORY, the VM must go on to work, and no object may be left over. */
#include "check.h"
#include <atled.h>
#include <string.h>

static const char *const program = "type t = A of float | B of string\n"
                                   "let f x = sum [ x * float i | i < 10 ]\n"
                                   "let l = A (grad f 2.0) :: B (show [1, 2]) :: Nil\n"
                                   "let g = match l with | A x :: _ -> fun y -> x * y | _ -> fun y -> y\n";

static AtledStatus evaluate(AtledVM *vm) { return atled_eval(vm, "oom", program); }

static AtledStatus format(AtledVM *vm) {
  const char *text;
  AtledStatus status = atled_format(vm, "oom", program, &text);
  CHECK(!text == (status != ATLED_OK));
  return status;
}

/* Of a program whose last item isn't finished. */
static AtledStatus ask(AtledVM *vm, AtledQuestion question) {
  const char *source = "let f (x : float) = x\ntype t = K\nlet g {a, ..} y = if y then (f a.";
  const char *json;
  AtledQuery q = {question, "oom", source, strlen(source), strlen(source), NULL};
  AtledStatus status = atled_query(vm, &q, &json);
  CHECK(!json == (status != ATLED_OK));
  return status;
}

static AtledStatus ask_words(AtledVM *vm) { return ask(vm, ATLED_ASK_WORDS); }
static AtledStatus ask_call(AtledVM *vm) { return ask(vm, ATLED_ASK_CALL); }
static AtledStatus ask_outline(AtledVM *vm) { return ask(vm, ATLED_ASK_OUTLINE); }
static AtledStatus ask_names(AtledVM *vm) { return ask(vm, ATLED_ASK_NAMES); }

static int64_t sweep(AtledStatus (*work)(AtledVM *vm), int64_t from, int64_t step) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  for (int64_t n = from;; n += step) {
    AtledVM *vm = atled_new(&config);
    if (!vm) return -1;
    atled_fail_allocation(vm, n);
    AtledStatus status = work(vm);
    atled_fail_allocation(vm, 0);
    CHECK(status == ATLED_OK || status == ATLED_NO_MEMORY);
    if (status == ATLED_NO_MEMORY) {
      CHECK(atled_error(vm) != NULL);
      CHECK_STR(atled_error(vm)->kind, "memory");
    }
    atled_free(vm);
    if (status == ATLED_OK) return n;
  }
}

/* A VM with a limit is made, or isn't: where nothing is left for the prelude's text, for one. */
static void small_limits(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  for (config.memory_limit = 2 << 10; config.memory_limit < 1 << 20; config.memory_limit += 1 << 10) {
    AtledVM *vm = atled_new(&config);
    AtledStatus status = vm ? atled_eval(vm, "limit", "let x = 1") : ATLED_NO_MEMORY;
    CHECK(status == ATLED_OK || status == ATLED_NO_MEMORY);
    atled_free(vm);
  }
}

int main(void) {
  CHECK(sweep(evaluate, 1, 1) > 0);
  CHECK(sweep(format, 1, 1) > 0);
  CHECK(sweep(ask_words, 1, 1) > 0);
  CHECK(sweep(ask_call, 1, 1) > 0);
  CHECK(sweep(ask_outline, 1, 1) > 0);
  CHECK(sweep(ask_names, 1, 1) > 0);
  small_limits();
  return check_result();
}
