/* SPDX-License-Identifier: MIT */
/* `atled why`, `atled cost` and `atled check-grad`: what `:why`, `:cost` and `:check` say at the prompt, about a
 * function of a file. The file is run first, for the function may be a value that the program makes. */
#define _GNU_SOURCE /* asprintf */
#include "options.h"
#include "repl.h"
#include <stdio.h>
#include <stdlib.h>

typedef AtledStatus (*StudyFn)(AtledVM *vm, const Options *o);

/* Function and argument are expressions, and arguments of a function. NULL after a message. */
static char *call_text(const Options *o, const char *before, const char *after) {
  char *text;
  bool at = o->at != NULL;
  int n = asprintf(&text, "%s(%s)%s%s%s%s", before, o->of, at ? " (" : "", at ? o->at : "", at ? ")" : "", after);
  if (n < 0) fputs("atled: out of memory\n", stderr);
  return n < 0 ? NULL : text;
}

static AtledStatus print_study(AtledVM *vm, const Options *o, AtledStudy study) {
  char *call = call_text(o, "", "");
  if (!call) return ATLED_NO_MEMORY;
  const char *text;
  AtledStatus status = atled_study(vm, study, call, &text);
  fputs(text, stdout);
  free(call);
  return status;
}

static AtledStatus print_paths(AtledVM *vm, const Options *o) { return print_study(vm, o, ATLED_STUDY_WHY); }
static AtledStatus print_cost(AtledVM *vm, const Options *o) { return print_study(vm, o, ATLED_STUDY_COST); }

static AtledStatus print_comparison(AtledVM *vm, const Options *o) {
  char *call = call_text(o, "match Test.beside_differences ",
                         " with (far, text) -> (print text; if far > 0 then exit 1 else ())");
  if (!call) return ATLED_NO_MEMORY;
  AtledStatus status = atled_eval(vm, "<check-grad>", call);
  free(call);
  return status;
}

static int study(Options *o, StudyFn fn) {
  char *text = slurp(o->rest[0]);
  if (!text) return no_input(o->rest[0]);
  AtledVM *vm = new_vm(&o->config);
  if (!vm) {
    free(text);
    return EXIT_SOFTWARE;
  }
  interrupt_target(vm);
  AtledStatus status = atled_eval(vm, shown_name(o->rest[0]), text);
  if (status == ATLED_OK) status = fn(vm, o);
  interrupt_target(NULL);
  free(text);
  return end_vm(vm, status);
}

static int refuse_without(const Options *o, const char *verb, const char *what) {
  fprintf(stderr, "atled: `%s` needs %s\n", verb, what);
  return options_refuse(o->verb);
}

int explain_paths(Options *o) {
  if (o->nrest != 1) return options_refuse(o->verb);
  if (!o->of) return refuse_without(o, "why", "the name of a function: `--of=NAME`");
  return study(o, print_paths);
}

int explain_cost(Options *o) {
  if (o->nrest != 1) return options_refuse(o->verb);
  if (!o->of) return refuse_without(o, "cost", "the name of a function: `--of=NAME`");
  return study(o, print_cost);
}

int check_gradient(Options *o) {
  if (o->nrest != 1) return options_refuse(o->verb);
  if (!o->of) return refuse_without(o, "check-grad", "the name of a function: `--of=NAME`");
  if (!o->at) return refuse_without(o, "check-grad", "an argument of the function: `--at=EXPR`");
  return study(o, print_comparison);
}
