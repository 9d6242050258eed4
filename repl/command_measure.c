/* SPDX-License-Identifier: MIT */
/* Commands that take times, and how code is run meanwhile, and what it stops at. */
#define _GNU_SOURCE /* asprintf */
#include "options.h"
#include "repl.h"
#include "session.h"
#include "times.h"
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

static bool lacks_expression(const char *rest, const char *command) {
  if (!*rest) printf("an expression is missing: `:%s EXPR`\n", command);
  return !*rest;
}

void command_time(Session *s, const char *rest) {
  char text[32];
  if (lacks_expression(rest, "time")) return;
  double start = seconds_now();
  s->host.enter(s->host.prompt, rest);
  printf("time: %s\n", seconds_text(seconds_now() - start, text, sizeof text));
}

/* ---- Benchmarks ------------------------------------------------------------------------------------ */
static void report_bench(void *user, const AtledBench *b) {
  char median[32], spread[32], best[32];
  (void)user;
  if (b->message) {
    fputs(b->message, stderr);
    return;
  }
  printf("%s ± %s (best %s, %lld runs)\n", seconds_text(b->median, median, sizeof median),
         seconds_text(b->spread, spread, sizeof spread), seconds_text(b->best, best, sizeof best), (long long)b->runs);
}

/* As machine code, unless the user wants none. */
void command_bench(Session *s, const char *rest) {
  char *source;
  AtledVM *vm = s->host.vm;
  if (lacks_expression(rest, "bench") || asprintf(&source, "bench \"\" = %s", rest) < 0) return;
  if (s->jit == ATLED_JIT_AUTO) atled_set_jit(vm, ATLED_JIT_ALWAYS);
  interrupt_target(vm);
  AtledStatus status = atled_bench(vm, "<bench>", source, report_bench, NULL);
  interrupt_target(NULL);
  if (status != ATLED_OK && status != ATLED_TEST_FAILURE) session_show(s, status);
  atled_set_jit(vm, s->jit);
  free(source);
}

void command_jit(Session *s, const char *rest) {
  static const char modes[] = "auto|off|always", *const names[] = {"auto", "off", "always"};
  int mode = choice_of(modes, rest);
  if (!*rest) printf("%s\n", names[s->jit]);
  else if (mode < 0) printf("`:jit` takes off, auto or always, not `%s`\n", rest);
  else atled_set_jit(s->host.vm, s->jit = (AtledJit)mode);
}

void command_trap(Session *s, const char *rest) {
  static const char *const names[] = {"off", "nan", "inf"};
  int trap = choice_of("off|nan|inf", rest);
  if (!*rest) printf("%s\n", names[s->trap]);
  else if (trap < 0) printf("`:trap` takes off, nan or inf, not `%s`\n", rest);
  else atled_set_trap(s->host.vm, s->trap = (AtledTrap)trap);
}

static void show_study(Session *s, AtledStudy study, const char *rest) {
  const char *text;
  interrupt_target(s->host.vm);
  AtledStatus status = atled_study(s->host.vm, study, rest, &text);
  interrupt_target(NULL);
  if (status == ATLED_OK) fputs(text, stdout);
  else session_show(s, status);
}

void command_why(Session *s, const char *rest) {
  if (!*rest) printf("a function is missing: `:why F [X]`\n");
  else show_study(s, ATLED_STUDY_WHY, rest);
}

void command_cost(Session *s, const char *rest) {
  if (!*rest) printf("a function is missing: `:cost F [X]`\n");
  else show_study(s, ATLED_STUDY_COST, rest);
}

/* Is it the type of a function? */
static bool has_arrow(const char *type) {
  int depth = 0;
  for (; *type; type++) {
    depth += strchr("([{", *type) != NULL;
    depth -= strchr(")]}", *type) != NULL;
    if (depth == 0 && strncmp(type, " -> ", 4) == 0) return true;
  }
  return false;
}

/* False, after an error or a message, where the expression isn't one of a function and all of its arguments. */
static bool is_applied(Session *s, const char *expression) {
  const char *type;
  AtledStatus status = atled_type(s->host.vm, expression, &type);
  if (status != ATLED_OK) session_show(s, status);
  else if (has_arrow(type)) printf("an argument is missing, `%s` is a function: `:check F X`\n", expression);
  else return true;
  return false;
}

/* `f x` are the last arguments of the library's function: so a partial application stands in parentheses. */
void command_check(Session *s, const char *rest) {
  char *source;
  AtledVM *vm = s->host.vm;
  if (!*rest) printf("a function and its argument are missing: `:check F X`\n");
  if (!*rest || !is_applied(s, rest) || asprintf(&source, "print (Test.report %s)", rest) < 0) return;
  interrupt_target(vm);
  AtledStatus status = atled_eval(vm, "<check>", source);
  interrupt_target(NULL);
  if (status != ATLED_OK) session_show(s, status);
  free(source);
}
