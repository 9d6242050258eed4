/* SPDX-License-Identifier: MIT */
/* atled_check as an editor calls it: what is sure to fail, with its kind, places and severity; nothing runs, nothing is
 * defined, and nothing is left of it however often it is called. What a run warns of. */
#include "check.h"
#include <atled.h>
#include <stdlib.h>
#include <string.h>

typedef struct Host {
  int written, diagnostics;
} Host;

static void write_nothing(void *user, const char *text, size_t n) {
  (void)text;
  (void)n;
  ((Host *)user)->written++;
}

static void count(void *user, const AtledDiagnostic *d) {
  (void)d;
  ((Host *)user)->diagnostics++;
}

static AtledVM *new_vm(Host *host) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  config.write = write_nothing;
  config.diagnostic = count;
  config.user = host;
  return atled_new(&config);
}

static bool is_one(AtledVM *vm, AtledSeverity severity, const char *kind, int line, int column) {
  const AtledDiagnostic *d = atled_diagnostic(vm, 0);
  return atled_diagnostic_count(vm) == 1 && d->severity == severity && !strcmp(d->kind, kind) && d->line == line &&
         d->column == column;
}

static void test_shapes(AtledVM *vm) {
  const char *source = "let xs = [1.0, 2.0]\nlet ys = ones 3\nprint (dot xs ys)";
  CHECK(atled_check(vm, "t.atl", source) == ATLED_COMPILE_ERROR);
  CHECK(is_one(vm, ATLED_ERROR, "shape", 3, 7));
  const AtledDiagnostic *d = atled_error(vm);
  CHECK_STR(d->message, "different shapes: length 2 and length 3");
  CHECK(d->note_count == 2 && d->notes[0]->line == 1 && d->notes[1]->line == 2);
  CHECK_STR(d->notes[0]->message, "this array has the shape [2]");
  CHECK_STR(d->notes[1]->message, "this array has the shape [3]");
}

static void test_severities(AtledVM *vm, Host *host) {
  CHECK(atled_check(vm, "t", "print 1\nlet f x = x + [1, 2][2]") == ATLED_OK);
  CHECK(is_one(vm, ATLED_WARNING, "index", 2, 22) && host->diagnostics == 1);
  CHECK(atled_check(vm, "t", "foreign \"libm.so.6\" j0 : float -> float\nlet f x = grad j0 x") == ATLED_COMPILE_ERROR);
  CHECK(is_one(vm, ATLED_ERROR, "rule", 2, 16));
  CHECK(atled_check(vm, "t", "print (attempt (fun () -> [1, 2][2]))") == ATLED_OK && !atled_diagnostic_count(vm));
  CHECK(atled_check(vm, "t", "exit 3\nprint [1][2]") == ATLED_OK && !atled_diagnostic_count(vm));
  CHECK(host->written == 0);
}

/* What was defined before counts, with its size; what is checked isn't defined. */
static void test_definitions(AtledVM *vm) {
  CHECK(atled_eval(vm, "a", "let table = [1.0, 2.0]") == ATLED_OK);
  CHECK(atled_check(vm, "t", "let x = table[2]") == ATLED_COMPILE_ERROR && is_one(vm, ATLED_ERROR, "index", 1, 15));
  CHECK(atled_check(vm, "t", "let x = table[1]") == ATLED_OK);
  CHECK(atled_eval(vm, "t", "x") == ATLED_COMPILE_ERROR);
  CHECK(atled_eval(vm, "t", "table[1]") == ATLED_OK);
}

static void test_memory(AtledVM *vm) {
  const char *source =
      "let f x = sum [ sin (x * float i) | i < 10 ]\nlet g x = grad f x + x * x\nprint (g 1.0)\nlet y = [1][1]";
  size_t before = 0;
  for (int i = 0; i < 50; i++) {
    CHECK(atled_check(vm, "t", source) == ATLED_COMPILE_ERROR);
    if (i == 10) before = atled_memory_used(vm);
  }
  CHECK(atled_memory_used(vm) <= before);
}

/* A run warns once, of what it comes to first. A prompt says it when it happens. */
static void test_runs(AtledVM *vm, Host *host) {
  CHECK(atled_eval(vm, "t", "print 1\nprint [1, 2][2]\nprint [1, 2][3]") == ATLED_RUNTIME_ERROR);
  CHECK(host->written > 0 && atled_diagnostic_count(vm) == 2 && atled_diagnostic(vm, 0)->severity == ATLED_WARNING);
  CHECK(atled_diagnostic(vm, 0)->line == 2 && atled_error(vm) == atled_diagnostic(vm, 1) && atled_error(vm)->line == 2);
  CHECK(atled_enter(vm, "t", "[1, 2][2]") == ATLED_RUNTIME_ERROR && atled_diagnostic_count(vm) == 1);
}

/* Memory that ends anywhere leaves a VM that works. */
static void test_no_memory(AtledVM *vm) {
  const char *source = "let f (xs : float[]) = xs + [1.0]\nprint (grad (fun x -> x * x) 1.0)\nprint [1][2]\nlet r = "
                       "Regex.test \"(\" \"\"";
  AtledStatus status = ATLED_NO_MEMORY;
  for (int64_t n = 1; status == ATLED_NO_MEMORY; n += n / 8 + 1) {
    atled_fail_allocation(vm, n);
    status = atled_check(vm, "t", source);
  }
  atled_fail_allocation(vm, 0);
  CHECK(status == ATLED_COMPILE_ERROR && atled_diagnostic_count(vm) == 2);
  CHECK(atled_eval(vm, "t", "sin 0.0") == ATLED_OK);
}

int main(void) {
  Host host = {0};
  AtledVM *vm = new_vm(&host);
  test_shapes(vm);
  host.diagnostics = 0;
  test_severities(vm, &host);
  test_definitions(vm);
  test_memory(vm);
  test_runs(vm, &host);
  test_no_memory(vm);
  atled_free(vm);
  return check_result();
}
