/* SPDX-License-Identifier: MIT */
/* What a definition compiles to doesn't depend on what came before it in the VM: the final graphs and the lowered code
 * of each program, from which alone machine code is made, are those of a new VM after 5,000 other entries too, which
 * unroll recursions, specialise functions, make closures and take derivatives. */
#include "check.h"
#include "memory_sweep.h"
#include <atled.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 5000 };

static const SweepProgram more[] = {
    {"power",
     "let rec pow x n = if n = 0 then 1.0 else x * pow x (n - 1)\nlet f x = pow x 5\nlet g = grad f\nprint (g 1.1)\n",
     NULL},
    {"wide",
     "let rec tree x n = if n = 0 then x else tree (sin x) (n - 1) + tree (cos x) (n - 1)\nprint (grad (fun x -> tree "
     "x 5) 0.4)\n",
     NULL},
    {"endless", "let rec up x n = if x > 10.0 then float n else up (x + float n) (n + 1)\nprint (up 0.5 1)\n", NULL},
};
enum { MORE = sizeof more / sizeof *more };

static const SweepProgram *program(int i) { return i < MORE ? &more[i] : &sweep_programs[i - MORE]; }

static void write_nothing(void *user, const char *text, size_t n) {
  (void)user;
  (void)text;
  (void)n;
}

static AtledVM *new_vm(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  config.write = write_nothing;
  return atled_new(&config);
}

/* A program of the list, or one with a use of the same recursion that is followed for 20 steps. */
static void eval_other(AtledVM *vm, int i) {
  char text[256];
  if (i == 0) atled_eval(vm, "power", "let rec power x n = if n = 0 then 1.0 else x * power x (n - 1)");
  snprintf(text, sizeof text, "let p%d x = power x 20 + %d.0\nlet d%d = grad p%d 1.01\n", i, i, i, i);
  if (i % 3) atled_eval(vm, "power", text);
  else atled_eval(vm, "program", program(i / 3 % (MORE + SWEEP_PROGRAMS))->source);
}

/* What machine code does not hold, numbers of globals, functions and sources, is the VM's: without those of `mark`,
 * of which each ends with its word. */
static void leave_out(char *text, const char *mark) {
  for (char *at = text; (at = strstr(at, mark));) {
    char *from = at + strlen(mark);
    memmove(from, from + strcspn(from, " \n"), strlen(from + strcspn(from, " \n")) + 1);
    at = from;
  }
}

static char *shown(AtledVM *vm, const SweepProgram *p, AtledStage stage) {
  const char *text;
  AtledStatus status = atled_ir(vm, "program", p->source, stage, false, NULL, &text);
  char *copy = strdup(status == ATLED_OK ? text : "nothing");
  char number[24];
  for (int k = 0; stage == ATLED_STAGE_LOWERED && k < 200; k++) {
    snprintf(number, sizeof number, "\nglobal %d ", k);
    leave_out(copy, number);
    snprintf(number, sizeof number, "\nsite %d ", k);
    leave_out(copy, number);
  }
  for (int k = 1; stage == ATLED_STAGE_LOWERED && k < 400; k++) { /* in sources, which are the VM's */
    char site[16];
    snprintf(site, sizeof site, "\nsite %d ", k);
    leave_out(copy, site);
  }
  for (int k = 1; stage == ATLED_STAGE_FINAL && k < 100; k++) { /* a node that is no new one has its first place */
    snprintf(number, sizeof number, "\nsite %d = ", k);
    leave_out(copy, number);
  }
  if (stage == ATLED_STAGE_FINAL) leave_out(copy, " definition ");
  if (stage == ATLED_STAGE_LOWERED) leave_out(copy, "entry id=");
  return copy;
}

static void compare(AtledVM *used, AtledVM *fresh, const SweepProgram *p) {
  static const AtledStage stages[] = {ATLED_STAGE_FINAL, ATLED_STAGE_LOWERED};
  for (int i = 0; i < 2; i++) {
    char *want = shown(fresh, p, stages[i]), *got = shown(used, p, stages[i]);
    if (strcmp(want, got) != 0) fprintf(stderr, "%s\n", p->name);
    CHECK_STR(got, want);
    free(want);
    free(got);
  }
}

static void compare_with_new(AtledVM *used, const SweepProgram *p) {
  AtledVM *fresh = new_vm();
  compare(used, fresh, p);
  atled_free(fresh);
}

/* ---- Long sources -------------------------------------------------------------------------------------------- */
/* Of each derivative its code stays, not what its making took: some MB. The values are those of one item alone. */
static void test_many_derivatives(void) {
  enum { ITEMS = 60, LIMIT = 110 << 20 };
  static char source[ITEMS * 300];
  static const char item[] =
      "(hessian (fun v -> logsumexp (v * %d.5) + sum [ sin x * v[0] | x in v ] + tanh (v[0] * v[1])) "
      "[1.0, 2.0])[0][1]\n";
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  AtledVM *alone = atled_new(&config);
  config.memory_limit = LIMIT;
  AtledVM *vm = atled_new(&config);
  char *p = source;
  for (int k = 0; k < ITEMS; k++) {
    if (k % 2) p += sprintf(p, "let h%d = ", k);
    p += sprintf(p, item, k);
  }
  CHECK(atled_eval(vm, "t", source) == ATLED_OK && atled_result_count(vm) == ITEMS);
  for (int k = 0; k < ITEMS; k += 29) {
    AtledResult all, one;
    char text[300];
    snprintf(text, sizeof text, item, k);
    CHECK(atled_eval(alone, "t", text) == ATLED_OK && atled_result(alone, 0, &one) && atled_result(vm, k, &all));
    CHECK(strcmp(all.value, one.value) == 0);
  }
  CHECK(atled_eval(vm, "t", "h1 + h59") == ATLED_OK);
  atled_free(alone);
  atled_free(vm);
}

int main(void) {
  AtledVM *used = new_vm();
  for (int i = 0; i < ENTRIES; i++) eval_other(used, i);
  for (int i = 0; i < MORE + SWEEP_PROGRAMS; i++) compare_with_new(used, program(i));
  /* the recursion that all those entries used */
  static const char *const use = "let q x = power x 5\nlet dq = grad q 1.1\n";
  AtledVM *fresh = new_vm();
  eval_other(fresh, 0);
  const SweepProgram p = {"used again", use, NULL};
  compare(used, fresh, &p);
  atled_free(fresh);
  atled_free(used);
  test_many_derivatives();
  return check_result();
}
