/* SPDX-License-Identifier: MIT */
/* From source text to values.
 *
 *   text ─ parse ─ check ─┬─ elaborate each item ─ optimise, differentiate ─┐
 *    imports, checked ────┘                         pipeline.c, batches.c   │
 *     when first met         values ─ run the entries in order ─ lower into modules, mostly one
 *
 * A source is parsed and checked whole: nothing runs before all of it has a type.
 * Each item that computes something becomes a graph, hence one entry of a
 * module; the values of its bindings go into globals, where later items find
 * them. When an entry fails, what it and the items after it would have
 * defined is taken back. */
#include "api/foreseen.h"
#include "api/pipeline.h"
#include "api/settings.h"
#include <errno.h>
#include <string.h>

/* ---- Results --------------------------------------------------------------------- */
typedef struct ResultSink {
  AtledVM *vm;
  ResultList *all;
} ResultSink;

static void add_binding_result(void *user, const Pat *p) {
  const ResultSink *s = user;
  AtledVM *vm = s->vm;
  Result r = {.name = p->binding->name, .binding = p->binding, .since = vm->arena.epoch};
  int global = elab_global(p->binding);
  if (global >= 0) {
    r.slots = run_global(vm, global);
    r.desc = vm->globals.data[global]->desc;
  }
  vec_push(&vm->scratch, *s->all, r);
}

static void add_foreign_result(const ResultSink *s, const Item *item) {
  Result r = {.name = item->binding->name, .binding = item->binding, .since = s->vm->arena.epoch};
  vec_push(&s->vm->scratch, *s->all, r);
}

/* ---- Back ------------------------------------------------------------------------------ */
/* Moves an entry's results to the globals that the item defines. */
static void store_globals(AtledVM *vm, const Step *s, const Slot *res) {
  for (int i = 0; i < s->elab.nglobals; i++) {
    Slot *slots = run_global(vm, s->elab.globals[i]);
    Global *g = vm->globals.data[s->elab.globals[i]];
    if (g->set) run_release_slots(vm, g->desc, slots);
    memcpy(slots, res, sizeof *res * (size_t)g->desc->nslots);
    res += g->desc->nslots;
    g->set = true;
    run_learn_dims(vm, s->elab.globals[i]);
  }
}

/* The type of the entry's value, without a token. */
const Desc *step_value_desc(AtledVM *vm, const Step *s) {
  IrType *t = s->elab.graph->result->type;
  return lower_desc(vm->world, s->elab.effect ? t->args[0] : t);
}

/* Makes all that needs memory after the step has run, so that its values find a place. */
static Slot *make_room(AtledVM *vm, const Step *s, int n) {
  Slot *res = NEW_ARRAY(&vm->scratch, Slot, n + 1);
  const Desc *desc = step_value_desc(vm, s);
  for (int i = 0; i < s->elab.nglobals; i++) run_global(vm, s->elab.globals[i]);
  if (s->item->kind != I_EXPR || s->module != vm->main) return res;
  Result r = {
      .type = s->item->expr->type, .shown = s->item->shown, .desc = desc, .slots = res, .since = vm->arena.epoch};
  vec_push(&vm->scratch, vm->results, r);
  return res;
}

static void keep_value(AtledVM *vm, Slot *res) { vm->results.data[vm->results.len - 1].owned = res; }

/* What a failed step leaves undefined: its item and all after it; its module too, unless that is the main one. */
static void abandon(AtledVM *vm, Plan *plan, const Step *failed) {
  int item = plan->first_item;
  if (failed->module == vm->main)
    while (vm->main->items.data[item] != failed->item) item++;
  bool gone = failed->module == vm->main;
  for (int i = 0; i < vm->fresh.len; i++) {
    gone |= vm->fresh.data[i] == failed->module;
    if (gone && failed->module != vm->main) modules_forget(vm, vm->fresh.data[i]);
  }
  plan_take_back(vm, plan, item);
}

static AtledStatus fail_step(AtledVM *vm, Plan *plan, const Step *s) {
  AtledStatus status = report_runtime_error(vm, s->item->span);
  abandon(vm, plan, s);
  vm->fresh.len = 0;
  return status;
}

static AtledStatus run_steps(AtledVM *vm, Plan *plan, Unit **units, const LowerEntry *entries, Reports *reports) {
  for (int i = 0; i < plan->steps.len; i++) {
    const Step *s = &plan->steps.data[i];
    Unit *unit = units[i];
    const LFunc *f = entries[i].func;
    if (s->item->kind == I_TEST || s->item->kind == I_BENCH || s->item->kind == I_RULE) {
      if (!reports_run(vm, unit, s, f, reports)) return fail_step(vm, plan, s);
      continue;
    }
    Slot *res = make_room(vm, s, f->nresults);
    if (run_function(vm, unit, f, NULL, res) != 0) return fail_step(vm, plan, s);
    if (s->item->kind == I_LET) store_globals(vm, s, res);
    else if (s->module == vm->main) keep_value(vm, res);
    else run_release_slots(vm, step_value_desc(vm, s), res);
  }
  vm->fresh.len = 0;
  return ATLED_OK;
}

/* Puts the definitions among the results, in source order with the values of expressions. */
static void collect_results(AtledVM *vm, const Plan *plan) {
  const Result *values = vm->results.data;
  ResultList all = {0};
  int next = 0;
  for (int i = plan->first_item; i < vm->main->items.len; i++) {
    const Item *item = vm->main->items.data[i];
    ResultSink sink = {vm, &all};
    plan_each_variable(item, add_binding_result, &sink);
    if (item->kind == I_FOREIGN) add_foreign_result(&sink, item);
    if (item->kind == I_EXPR) vec_push(&vm->scratch, all, values[next++]);
  }
  vm->results = all;
}

/* Has the program left anything but values of expressions? */
static bool defined_something(const AtledVM *vm, const Plan *plan) {
  bool any = vm->modules.len > plan->nmodules;
  for (int i = plan->first_item; i < vm->main->items.len; i++) {
    ItemKind kind = vm->main->items.data[i]->kind;
    any |= kind != I_EXPR && kind != I_TEST && kind != I_BENCH;
  }
  return any;
}

/* ---- All of it ---------------------------------------------------------------------------- */
/* Before anything runs. False: rt.error says why it can't. */
static bool may_run(AtledVM *vm, const Plan *plan, Unit **units) {
  bool may = run_begin(vm) == 0;
  for (int i = 0; i < plan->steps.len && may; i++)
    if (i == 0 || units[i] != units[i - 1]) may = run_compile(vm, units[i]);
  return may;
}

static AtledStatus run_items(AtledVM *vm, Plan *plan, Reports *reports) {
  AtledStatus status = plan_elaborate(vm, plan, reports ? reports->kinds : REPORT_NONE);
  int n = plan->steps.len;
  if (status != ATLED_OK || n == 0) return status;
  LowerEntry *entries = NEW_ARRAY(&vm->scratch, LowerEntry, n);
  Unit **units = NEW_ARRAY(&vm->scratch, Unit *, n);
  status = batches_lower(vm, plan, entries, units);
  if (status != ATLED_OK) {
    plan_take_back(vm, plan, plan->first_item);
    return status;
  }
  if (plan->whole) program_keep(vm, plan, entries, units);
  return may_run(vm, plan, units) ? run_steps(vm, plan, units, entries, reports)
                                  : fail_step(vm, plan, &plan->steps.data[0]);
}

static AtledStatus run_plan(AtledVM *vm, Plan *plan, Reports *reports) {
  settings_check(vm);
  if (!reports) undo_put_aside(vm, plan);
  UseList uses = uses_of(vm, plan);
  bool defines = !reports && keep_mark(vm, plan), moved = false;
  AtledStatus status = run_items(vm, plan, reports);
  if (defines && status != ATLED_OK) vm_commit(vm);
  else if (defines && !keep_definitions(vm, plan, &moved)) status = ATLED_COMPILE_ERROR;
  if (status == ATLED_OK && !moved) collect_results(vm, plan);
  vm->defined = moved || defined_something(vm, plan);
  if (status == ATLED_OK && vm->defined && !reports) {
    undo_keep(vm, plan);
    uses_keep(vm, &uses);
  }
  return status;
}

/* ---- Public ------------------------------------------------------------------------------ */
typedef struct EvalCall {
  const char *name, *source;
  Reports *reports;
  bool check_only, types_only; /* atled_check; without elaborating */
  bool names_values;           /* atled_enter */
} EvalCall;

static AtledStatus eval_body(AtledVM *vm, void *arg) {
  EvalCall *c = arg;
  Plan plan;
  checker_test_rules(vm->checker, c->reports && c->reports->kinds & REPORT_TESTS);
  AtledStatus status = plan_front(vm, c->name, c->source, strlen(c->source), &plan);
  checker_test_rules(vm->checker, false);
  if (status != ATLED_OK) return status;
  if (c->names_values) plan_name_values(vm, &plan);
  plan.warns = !c->names_values && !c->reports;
  if (!c->check_only) {
    status = run_plan(vm, &plan, c->reports);
    if (status != ATLED_OK || !c->reports || !c->reports->failed) return status;
    bool tests = c->reports->kinds == REPORT_TESTS;
    return report_error(vm, ATLED_TEST_FAILURE, tests ? "test" : "bench",
                        tests ? "tests failed: %d" : "benchmarks failed: %d", c->reports->failed);
  }
  if (!c->types_only) status = check_foresee(vm, &plan);
  plan_forget(vm, &plan);
  return status;
}

AtledStatus atled_eval(AtledVM *vm, const char *name, const char *source) {
  if (!name || !source) return vm_reject_null(vm, name ? "the source" : "the name of the source");
  EvalCall c = {.name = name, .source = source};
  return vm_call(vm, eval_body, &c);
}

static AtledStatus run_body(AtledVM *vm, void *arg) {
  const EvalCall *c = arg;
  Plan plan;
  AtledStatus status;
  size_t len = strlen(c->source);
  bool whole = program_may_be_kept(vm);
  if (whole && program_run_kept(vm, c->name, c->source, len, &status)) return status;
  status = plan_front(vm, c->name, c->source, len, &plan);
  if (status != ATLED_OK) return status;
  plan.warns = true;
  plan.whole = whole;
  return run_plan(vm, &plan, NULL);
}

AtledStatus atled_run(AtledVM *vm, const char *name, const char *source) {
  if (!name || !source) return vm_reject_null(vm, name ? "the source" : "the name of the source");
  EvalCall c = {.name = name, .source = source};
  return vm_call(vm, run_body, &c);
}

AtledStatus atled_enter(AtledVM *vm, const char *name, const char *source) {
  if (!name || !source) return vm_reject_null(vm, name ? "the source" : "the name of the source");
  EvalCall c = {.name = name, .source = source, .names_values = true};
  return vm_call(vm, eval_body, &c);
}

AtledStatus atled_check(AtledVM *vm, const char *name, const char *source) {
  if (!name || !source) return vm_reject_null(vm, name ? "the source" : "the name of the source");
  EvalCall c = {.name = name, .source = source, .check_only = true};
  return vm_call(vm, eval_body, &c);
}

AtledStatus atled_check_types(AtledVM *vm, const char *name, const char *source) {
  if (!name || !source) return vm_reject_null(vm, name ? "the source" : "the name of the source");
  EvalCall c = {.name = name, .source = source, .check_only = true, .types_only = true};
  return vm_call(vm, eval_body, &c);
}

AtledStatus atled_test(AtledVM *vm, const char *name, const char *source, AtledTestReport report, void *user) {
  if (!name || !source) return vm_reject_null(vm, name ? "the source" : "the name of the source");
  Reports reports = {.kinds = REPORT_TESTS, .test = report, .user = user};
  EvalCall c = {.name = name, .source = source, .reports = &reports};
  return vm_call(vm, eval_body, &c);
}

AtledStatus atled_bench(AtledVM *vm, const char *name, const char *source, AtledBenchReport report, void *user) {
  if (!name || !source) return vm_reject_null(vm, name ? "the source" : "the name of the source");
  Reports reports = {.kinds = REPORT_BENCHES, .bench = report, .user = user};
  EvalCall c = {.name = name, .source = source, .reports = &reports};
  return vm_call(vm, eval_body, &c);
}

static AtledStatus eval_file_body(AtledVM *vm, void *arg) {
  const char *path = arg;
  size_t len = 0;
  char *text = modules_read_file(vm, path, &len);
  if (!text) return report_bad_argument(vm, "can't read `%s`: %s", path, modules_read_error());
  Plan plan;
  AtledStatus status = plan_front(vm, path, text, len, &plan);
  plan.warns = true;
  return status == ATLED_OK ? run_plan(vm, &plan, NULL) : status;
}

AtledStatus atled_eval_file(AtledVM *vm, const char *path) {
  return path ? vm_call(vm, eval_file_body, (void *)(uintptr_t)path) : vm_reject_null(vm, "the path");
}
