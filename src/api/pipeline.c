/* SPDX-License-Identifier: MIT */
/* From source text to values.
 *
 *   text ─ parse ─ check ─┬─ elaborate each item ─ optimise, differentiate ─┐
 *    imports, checked ────┘                                                 │
 *     when first met       values ─ run the entries in order ─ lower all into one module
 *
 * A source is parsed and checked whole: nothing runs before all of it has a type.
 * Each item that computes something becomes a graph, hence one entry of the
 * module; the values of its bindings go into globals, where later items find
 * them. When an entry fails, what it and the items after it would have
 * defined is taken back. */
#include "api/pipeline.h"
#include <errno.h>
#include <string.h>

/* ---- Names and results ----------------------------------------------------------- */
/* Each variable of a pattern; both sides of an or-pattern bind the same ones. */
static void each_variable(const Pat *p, PatFn fn, void *user) {
  if (p->kind == P_VAR || p->kind == P_AS) fn(user, p);
  int n = p->kind == P_OR ? 1 : p->nargs;
  for (int i = 0; i < n; i++) each_variable(p->args[i], fn, user);
}

void plan_each_variable(const Item *item, PatFn fn, void *user) {
  for (int i = 0; item->kind == I_LET && i < item->nlets; i++) each_variable(item->lets[i].pat, fn, user);
}

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

/* ---- Front ------------------------------------------------------------------------- */
typedef struct Remember {
  AtledVM *vm;
  Plan *plan;
} Remember;

static void remember_name(const Remember *r, Sym name) {
  OldName old = {name, map_get(&r->vm->main->values, name)};
  vec_push(&r->vm->scratch, r->plan->old, old);
}
static void remember_variable(void *user, const Pat *p) { remember_name(user, p->name.name); }

static void remember_names(AtledVM *vm, Plan *plan) {
  Remember r = {vm, plan};
  for (int i = 0; i < plan->program->items.len; i++) {
    const Item *item = plan->program->items.data[i];
    plan_each_variable(item, remember_variable, &r);
    if (item->kind == I_FOREIGN) remember_name(&r, item->name.name);
  }
}

static void define_variable(void *user, const Pat *p) {
  Module *m = user;
  map_put(&m->values, p->name.name, p->binding);
}

void plan_take_back(AtledVM *vm, Plan *plan, int item) {
  Module *m = vm->main;
  for (int i = 0; i < plan->old.len; i++) map_put(&m->values, plan->old.data[i].name, plan->old.data[i].binding);
  for (int i = plan->first_item; i < item; i++) {
    plan_each_variable(m->items.data[i], define_variable, m);
    if (m->items.data[i]->kind == I_FOREIGN)
      map_put(&m->values, m->items.data[i]->name.name, m->items.data[i]->binding);
  }
  m->items.len = item;
}

AtledStatus plan_front(AtledVM *vm, const char *name, const char *source, size_t len, Plan *plan) {
  memset(plan, 0, sizeof *plan);
  Module *m = vm->main;
  uint32_t id = sources_add(&vm->sources, name, source, len);
  m->path = sources_get(&vm->sources, id)->name;
  m->source = id;
  plan->first_item = m->items.len;
  plan->nmodules = vm->modules.len;
  plan->program = parse_program(vm->lexer, &vm->arena, &vm->syms, &vm->diags, id);
  bool incomplete = vm->diags.incomplete;
  remember_names(vm, plan);
  /* Main stands among the modules while it is checked, so that an import of it closes a cycle. */
  vec_push(&vm->arena, vm->modules, m);
  vec_push(&vm->arena, vm->loading, m);
  m->loading = true;
  /* What an item with a syntax error would define is missing, so later phases would only complain about that. */
  if (!incomplete && !vm->diags.errors) check_program(vm->checker, m, plan->program, &vm->diags);
  m->loading = false;
  vm->loading.len = 0;
  modules_forget(vm, m);
  if (!report_diags(vm)) return ATLED_OK;
  plan_take_back(vm, plan, plan->first_item);
  return incomplete ? ATLED_INCOMPLETE : ATLED_COMPILE_ERROR;
}

/* ---- Middle ------------------------------------------------------------------------- */
/* Gives the item's place to diagnostics from `first` on that have none, and keeps one of them. */
static void place_diags(AtledVM *vm, int first, Span item) {
  bool placed = false;
  int kept = first;
  for (int i = first; i < vm->diags.all.len; i++) {
    Diag d = vm->diags.all.data[i];
    if (!d.at.source && placed) continue;
    placed |= !d.at.source;
    if (!d.at.source) d.at = item;
    vm->diags.all.data[kept++] = d;
  }
  vm->diags.all.len = kept;
}

static void elaborate_items(AtledVM *vm, Plan *plan, Module *m, int first, bool tests) {
  for (int i = first; i < m->items.len; i++) {
    Step step = {.item = m->items.data[i], .module = m};
    if (step.item->kind == I_TEST && !(tests && m == vm->main)) continue;
    int before = vm->diags.all.len;
    if (elab_item(vm->elab, m, step.item, &vm->diags, &step.elab) && step.elab.graph)
      vec_push(&vm->scratch, plan->steps, step);
    place_diags(vm, before, step.item->span);
  }
}

AtledStatus plan_elaborate(AtledVM *vm, Plan *plan, bool tests) {
  for (int i = 0; i < vm->fresh.len; i++) elaborate_items(vm, plan, vm->fresh.data[i], 0, false);
  elaborate_items(vm, plan, vm->main, plan->first_item, tests);
  if (!report_diags(vm)) return ATLED_OK;
  plan_take_back(vm, plan, plan->first_item);
  return ATLED_COMPILE_ERROR;
}

#ifdef ATLED_VERIFY
/* In builds for testing the graph is looked over after each stage. */
static AtledStatus verify_stages(AtledVM *vm, const OptStages *s) {
  Graph *const graphs[] = {s->built, s->optimised, s->differentiated, s->final};
  static const char *const names[] = {"built", "optimised", "differentiated", "final"};
  for (int i = 0; i < 4; i++) {
    const char *wrong = ir_verify(vm->world, graphs[i]);
    if (wrong) return report_error(vm, ATLED_COMPILE_ERROR, "verifier", "%s graph: %s", names[i], wrong);
  }
  return ATLED_OK;
}
#else
static AtledStatus verify_stages(AtledVM *vm, const OptStages *s) {
  (void)vm;
  (void)s;
  return ATLED_OK;
}
#endif

/* What an item's graph tells of the globals that it makes; later ones rely on it. */
static void learn_globals(World *w, const ElabItem *e, Node *result) {
  Node *values = e->effect ? ir_get(w, result, 0) : result;
  for (int k = 0; k < e->nglobals; k++) ir_learn_global(w, e->globals[k], ir_get(w, values, k));
}

void plan_begin_steps(AtledVM *vm, Plan *plan, OptStages *stages) {
  for (int i = 0; i < plan->steps.len; i++) {
    const ElabItem *e = &plan->steps.data[i].elab;
    stages[i] = (OptStages){.built = e->graph, .globals = e->globals, .nglobals = e->nglobals};
    opt_before_derivatives(vm->world, &stages[i]);
    learn_globals(vm->world, e, stages[i].optimised->result);
  }
}

AtledStatus plan_finish_step(AtledVM *vm, Plan *plan, OptStages *stages, int i) {
  OptStages *s = &stages[i];
  s->rules = elab_rules(vm->elab, s->optimised, s->pool);
  opt_derivatives_and_after(vm->world, s);
  plan->steps.data[i].final = s->final;
  plan->steps.data[i].pool = s->pool;
  return verify_stages(vm, s);
}

AtledStatus plan_finish_again(AtledVM *vm, Plan *plan, OptStages *stages, int first) {
  AtledStatus status = ATLED_OK;
  for (int i = first; i < plan->steps.len && status == ATLED_OK; i++)
    if (ir_pool_grew(vm->world, stages[i].pool)) status = plan_finish_step(vm, plan, stages, i);
  return status;
}

AtledStatus plan_optimise(AtledVM *vm, Plan *plan, OptStages *stages) {
  AtledStatus status = ATLED_OK;
  if (!stages) stages = NEW_ARRAY(&vm->scratch, OptStages, plan->steps.len + 1);
  plan_begin_steps(vm, plan, stages);
  for (int i = 0; i < plan->steps.len && status == ATLED_OK; i++) status = plan_finish_step(vm, plan, stages, i);
  return status == ATLED_OK ? plan_finish_again(vm, plan, stages, 0) : status;
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
static const Desc *value_desc(AtledVM *vm, const Step *s) {
  IrType *t = s->elab.graph->result->type;
  return lower_desc(vm->world, s->elab.effect ? t->args[0] : t);
}

/* Makes all that needs memory after the step has run, so that its values find a place. */
static Slot *make_room(AtledVM *vm, const Step *s, int n) {
  Slot *res = NEW_ARRAY(&vm->scratch, Slot, n + 1);
  const Desc *desc = value_desc(vm, s);
  for (int i = 0; i < s->elab.nglobals; i++) run_global(vm, s->elab.globals[i]);
  if (s->item->kind != I_EXPR || s->module != vm->main) return res;
  Result r = {
      .type = s->item->expr->type, .shown = s->item->shown, .desc = desc, .slots = res, .since = vm->arena.epoch};
  vec_push(&vm->scratch, vm->results, r);
  return res;
}

static void keep_value(AtledVM *vm, Slot *res) { vm->results.data[vm->results.len - 1].owned = res; }

typedef struct TestRun {
  AtledTestReport report;
  void *user;
  int failed;
} TestRun;

static void report_test(AtledVM *vm, const Step *s, TestRun *tests, const char *message) {
  int line, column;
  span_position(&vm->sources, s->item->span, &line, &column);
  tests->failed += message != NULL;
  if (tests->report) tests->report(tests->user, s->item->text, line, message);
}

/* Runs a test; a failure in it is the test's, not the run's. False: it ended the run. */
static bool run_test(AtledVM *vm, Unit *unit, const Step *s, const LFunc *f, TestRun *tests) {
  Slot res[1] = {{0}};
  if (run_function(vm, unit, f, NULL, res) == 0) {
    report_test(vm, s, tests, res[0].i ? NULL : "is false");
    return true;
  }
  if (vm->rt.error.kind == ERR_EXIT || vm->rt.error.kind == ERR_OUTPUT) return false;
  int before = vm->reports.len;
  report_runtime_error(vm, s->item->span);
  report_test(vm, s, tests, vm->reports.data[before].rendered);
  return true;
}

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

static AtledStatus run_steps(AtledVM *vm, Plan *plan, Unit **units, const LowerEntry *entries, TestRun *tests) {
  for (int i = 0; i < plan->steps.len; i++) {
    const Step *s = &plan->steps.data[i];
    Unit *unit = units[i];
    const LFunc *f = entries[i].func;
    if (s->item->kind == I_TEST) {
      if (!run_test(vm, unit, s, f, tests)) return fail_step(vm, plan, s);
      continue;
    }
    Slot *res = make_room(vm, s, f->nresults);
    if (run_function(vm, unit, f, NULL, res) != 0) return fail_step(vm, plan, s);
    if (s->item->kind == I_LET) store_globals(vm, s, res);
    else if (s->module == vm->main) keep_value(vm, res);
    else run_release_slots(vm, value_desc(vm, s), res);
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
    any |= kind != I_EXPR && kind != I_TEST;
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

static AtledStatus run_items(AtledVM *vm, Plan *plan, TestRun *tests) {
  AtledStatus status = plan_elaborate(vm, plan, tests != NULL);
  int n = plan->steps.len;
  if (status != ATLED_OK || n == 0) return status;
  LowerEntry *entries = NEW_ARRAY(&vm->scratch, LowerEntry, n);
  Unit **units = NEW_ARRAY(&vm->scratch, Unit *, n);
  status = batches_lower(vm, plan, entries, units);
  if (status != ATLED_OK) {
    plan_take_back(vm, plan, plan->first_item);
    return status;
  }
  return may_run(vm, plan, units) ? run_steps(vm, plan, units, entries, tests)
                                  : fail_step(vm, plan, &plan->steps.data[0]);
}

static AtledStatus run_plan(AtledVM *vm, Plan *plan, TestRun *tests) {
  bool defines = !tests && keep_mark(vm, plan), moved = false;
  AtledStatus status = run_items(vm, plan, tests);
  if (defines && status != ATLED_OK) vm_commit(vm);
  else if (defines && !keep_definitions(vm, plan, &moved)) status = ATLED_COMPILE_ERROR;
  if (status == ATLED_OK && !moved) collect_results(vm, plan);
  vm->defined = moved || defined_something(vm, plan);
  return status;
}

/* ---- Public ------------------------------------------------------------------------------ */
typedef struct EvalCall {
  const char *name, *source;
  TestRun *tests;
  bool check_only;
} EvalCall;

static AtledStatus eval_body(AtledVM *vm, void *arg) {
  EvalCall *c = arg;
  Plan plan;
  AtledStatus status = plan_front(vm, c->name, c->source, strlen(c->source), &plan);
  if (status != ATLED_OK) return status;
  if (!c->check_only) {
    status = run_plan(vm, &plan, c->tests);
    if (status != ATLED_OK || !c->tests || !c->tests->failed) return status;
    return report_error(vm, ATLED_TEST_FAILURE, "test", "tests failed: %d", c->tests->failed);
  }
  plan_take_back(vm, &plan, plan.first_item);
  return ATLED_OK;
}

AtledStatus atled_eval(AtledVM *vm, const char *name, const char *source) {
  if (!name || !source) return vm_reject_null(vm, name ? "the source" : "the name of the source");
  EvalCall c = {.name = name, .source = source};
  return vm_call(vm, eval_body, &c);
}

AtledStatus atled_check(AtledVM *vm, const char *name, const char *source) {
  if (!name || !source) return vm_reject_null(vm, name ? "the source" : "the name of the source");
  EvalCall c = {.name = name, .source = source, .check_only = true};
  return vm_call(vm, eval_body, &c);
}

AtledStatus atled_test(AtledVM *vm, const char *name, const char *source, AtledTestReport report, void *user) {
  if (!name || !source) return vm_reject_null(vm, name ? "the source" : "the name of the source");
  TestRun tests = {report, user, 0};
  EvalCall c = {.name = name, .source = source, .tests = &tests};
  return vm_call(vm, eval_body, &c);
}

static AtledStatus eval_file_body(AtledVM *vm, void *arg) {
  const char *path = arg;
  size_t len = 0;
  char *text = modules_read_file(vm, path, &len);
  if (!text) return report_bad_argument(vm, "can't read `%s`: %s", path, modules_read_error());
  Plan plan;
  AtledStatus status = plan_front(vm, path, text, len, &plan);
  return status == ATLED_OK ? run_plan(vm, &plan, NULL) : status;
}

AtledStatus atled_eval_file(AtledVM *vm, const char *path) {
  return path ? vm_call(vm, eval_file_body, (void *)(uintptr_t)path) : vm_reject_null(vm, "the path");
}
