/* SPDX-License-Identifier: MIT */
/* What of a program is known to fail before it runs: for `check`, and for the warnings of a run. */
#ifndef ATLED_FORESEEN_H
#define ATLED_FORESEEN_H
#include "api/pipeline.h"

typedef struct Foreseen {
  ErrorKind kind;
  const char *message;
} Foreseen;

/* How the failures of a graph are reported. */
typedef struct ForeseenIn {
  Severity severity;
  const Item *item; /* whose graph it is */
  bool function;    /* it is a function's, which may never be called */
  const Map *kept;  /* places that alone count, of foreseen_places; NULL: all do */
  Map *reported;    /* those of which nothing is to be said any more; what is reported is added. Or NULL */
} ForeseenIn;

/* Does each run of g fail, as far as is known? met: what is known of functions, shared by such questions, or NULL. */
bool foreseen_fails(AtledVM *vm, Graph *g, Map *met);
/* Adds to the VM's diagnostics what can be said of that. */
void foreseen_report(AtledVM *vm, Graph *g, const ForeseenIn *in);
/* Adds the places of all in g that may fail. */
void foreseen_places(AtledVM *vm, Graph *g, Map *places);
/* Adds the places of the program in functions that these graphs attempt: what fails there may be meant to. */
void foreseen_attempted(AtledVM *vm, Graph *const *graphs, int n, Map *places);
/* Adds an error for each derivative that the graph needs, derivatives being taken, of a function without a rule. */
bool foreseen_missing_rules(AtledVM *vm, Graph *g);
/* Is there a C function without a rule that something calls? */
bool foreseen_lacks_rules(const AtledVM *vm);

/* ---- shapes.c ---- */
/* Adds to a message about the operation at this place, in an item of the program, where its arrays are made and which
 * shapes they have. */
void shapes_note(AtledVM *vm, Span operation, Diag *d);

/* ---- static_check.c ---- */
/* Elaborates the plan's program without running it, and reports what is known to fail, and derivatives without a rule.
 * ATLED_COMPILE_ERROR: something of that is an error. */
AtledStatus check_foresee(AtledVM *vm, Plan *plan);
/* Before the program runs: warns of step i, which is final, if it is the first that is known to fail, and the plan
 * warns. */
void check_warn_of_step(AtledVM *vm, Plan *plan, const OptStages *stages, int i);
#endif
