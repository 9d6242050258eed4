/* SPDX-License-Identifier: MIT */
/* The compiler's pipeline for one source, for the files of this folder. */
#ifndef ATLED_PIPELINE_H
#define ATLED_PIPELINE_H
#include "api/vm.h"

/* One item that computes something. */
typedef struct Step {
  Item *item;
  Module *module;
  ElabItem elab;
  Graph *final; /* optimised, without derivatives to be taken */
  Pool *pool;   /* what its function values may be */
  int nrules;   /* rewrite rules of higher numbers don't hold in it */
} Step;

typedef struct OldName {
  Sym name;
  Binding *binding; /* NULL: there was none */
} OldName;

typedef Vec(Use) UseList; /* names are texts */

typedef struct Plan {
  Program *program;
  int first_item;   /* of the program, in main->items */
  int nmodules;     /* the VM's before it */
  Vec(OldName) old; /* what the program's names meant before */
  Undo *undo;       /* the same of all that it defines: undo.c */
  Vec(Step) steps;
  bool warns;        /* of steps that are known to fail, before it runs */
  bool endless_rule; /* has been reported */
  bool whole;        /* it is to be kept: see program.c */
  bool learns;       /* what a graph tells of globals is used as soon as it is elaborated */
} Plan;

/* Parses and checks. On ATLED_OK the items are in vm->main. */
AtledStatus plan_front(AtledVM *vm, const char *name, const char *source, size_t len, Plan *plan);
/* The same for who asks about a source that may have errors: of these nothing is reported, and items without an error
 * of the syntax are checked as far as they can be. Not ATLED_OK: the source has too many bytes. */
AtledStatus plan_look(AtledVM *vm, const char *name, const char *source, size_t len, Plan *plan);
/* Names mean again what they did before plan_front or plan_look. */
void plan_forget(AtledVM *vm, Plan *plan);
/* Makes `let it = e` of each checked expression e of the program whose type is known and isn't unit. */
void plan_name_values(AtledVM *vm, Plan *plan);
/* Elaborates the items of fresh modules and of the program; of the program's tests and benchmarks those that are to be
 * reported on. */
typedef enum Reported { REPORT_NONE, REPORT_TESTS = 1, REPORT_BENCHES = 2 } Reported; /* bits */
AtledStatus plan_elaborate(AtledVM *vm, Plan *plan, Reported reported);
/* One more step, of a graph that no item has. */
void plan_add_graph(AtledVM *vm, Plan *plan, Graph *g);
/* Optimises every step; `stages`, if not NULL, has room for one per step. */
AtledStatus plan_optimise(AtledVM *vm, Plan *plan, OptStages *stages);
/* The same in parts: all steps up to their derivatives; what comes then of one; and, of those from step `first` on to
 * which functions came that derivatives of later steps made, again. `stages`: one for each step. */
void plan_begin_steps(AtledVM *vm, Plan *plan, OptStages *stages);
void plan_begin_step(AtledVM *vm, Plan *plan, OptStages *stages, int i); /* the first part, of one step */
AtledStatus plan_finish_step(AtledVM *vm, Plan *plan, OptStages *stages, int i);
/* The second part, without its errors of derivatives that need a rule. */
AtledStatus plan_finish_graph(AtledVM *vm, Plan *plan, OptStages *stages, int i);
AtledStatus plan_finish_again(AtledVM *vm, Plan *plan, OptStages *stages, int first);
/* Undoes the definitions of main's items from number `item` on. */
void plan_take_back(AtledVM *vm, Plan *plan, int item);
/* Each variable that an item defines, if it is a let, in source order. */
typedef void (*PatFn)(void *user, const Pat *p);
void plan_each_variable(const Item *item, PatFn fn, void *user);

/* ---- stages.c ---- */
/* Keeps the steps that define the name, or makes one of its function, with what all steps tell of their globals. */
AtledStatus plan_select(AtledVM *vm, Plan *plan, const char *of);

/* ---- study.c ---- */
/* Is the expression, which was checked, a function of one argument, or one beside its argument? Reports what it is. */
AtledStatus study_check(AtledVM *vm, const char *expression, const Expr *e);

/* ---- study_cost.c ---- */
/* Writes what the function costs, of "f" or "f x": see ATLED_STUDY_COST. Not ATLED_OK: after a report. */
AtledStatus study_cost(AtledVM *vm, const char *expression, Str *out);

/* ---- study_point.c ---- */
/* Runs "f x" and its pullback, and writes what has a part in the derivative there: see ATLED_STUDY_WHY. Nothing is
 * written where nothing was found. Not ATLED_OK: after a report. */
AtledStatus study_point(AtledVM *vm, const char *expression, Str *out);

/* ---- evaluate.c ---- */
const Desc *step_value_desc(AtledVM *vm, const Step *s); /* of the value of the step's entry, without a token */

/* ---- undo.c ---- */
/* Before a program is checked: remembers what the names of its types, constructors and modules mean. */
void undo_remember(AtledVM *vm, Plan *plan);
void undo_take_back(AtledVM *vm, const Plan *plan); /* of a program that was checked only: they mean that again */
/* Before it runs: puts all of that aside where it stays. After it has defined something: keeps it for atled_undo. */
void undo_put_aside(AtledVM *vm, Plan *plan);
void undo_keep(AtledVM *vm, const Plan *plan);

/* ---- stale_uses.c ---- */
/* Before a program runs: what of the modules of files its definitions use. It is a warning where one uses a module that
 * was edited since. */
UseList uses_of(AtledVM *vm, const Plan *plan);
/* After it has run: remembers them, and names what still uses modules that it has read again. */
void uses_keep(AtledVM *vm, const UseList *uses);

/* ---- reported_items.c ---- */
typedef struct Reports {
  Reported kinds; /* which are run */
  AtledTestReport test;
  AtledBenchReport bench;
  void *user;
  int failed;
} Reports;
/* Runs a test or benchmark, and reports on it. False: it ended the run, and rt.error says how. */
bool reports_run(AtledVM *vm, Unit *unit, const Step *s, const LFunc *f, Reports *r);

/* ---- batches.c ---- */
/* Optimises and lowers every step: its entry, and the unit that has it. */
AtledStatus batches_lower(AtledVM *vm, Plan *plan, LowerEntry *entries, Unit **units);

/* ---- program.c ---- */
/* Has the VM done nothing yet, and does its config allow it? */
bool program_may_be_kept(const AtledVM *vm);
/* Keeps the program of such a VM, which is lowered and hasn't run, for the next run of it. */
void program_keep(AtledVM *vm, const Plan *plan, const LowerEntry *entries, Unit *const *units);
/* Runs the program in such a VM as it was kept. False: it isn't there, and nothing has been done. */
bool program_run_kept(AtledVM *vm, const char *name, const char *source, size_t len, AtledStatus *status);

/* ---- keep.c ---- */
/* Marks the place before a program that only defines is run. False: it doesn't. */
bool keep_mark(AtledVM *vm, const Plan *plan);
/* After it has run. *moved: the plan is gone with all that the program made, and the results are there. False after
 * a report: see roll_back in vm.c. */
bool keep_definitions(AtledVM *vm, const Plan *plan, bool *moved);
#endif
