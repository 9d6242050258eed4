/* SPDX-License-Identifier: MIT */
/* The program after each stage of the compiler, as text: of a source, or of a graph's text from a stage on. */
#include "api/pipeline.h"
#include "ir/remarks.h"
#include <stdlib.h>
#include <string.h>

typedef struct IrCall {
  const char *name, *source, *of;
  AtledStage from, stage; /* from: of a graph's text */
  bool dot;
  Remarks remarks;
  Str out;
} IrCall;

static bool is_stage(AtledStage stage) {
  return (unsigned)stage < (unsigned)ATLED_STAGE_RUN + (unsigned)passes_count();
}

/* The run whose graphs are shown; -1: a stage's are. */
static int run_of(AtledStage stage) { return (int)stage >= ATLED_STAGE_RUN ? (int)stage - ATLED_STAGE_RUN : -1; }

static const Graph *stage_graph(const AtledVM *vm, const OptStages *s, AtledStage stage) {
  switch ((int)stage) {
  case ATLED_STAGE_BUILT: return s->built;
  case ATLED_STAGE_OPTIMISED: return s->optimised;
  case ATLED_STAGE_DIFFERENTIATED: return s->differentiated;
  default: return run_of(stage) < 0 ? s->final : watch_shown(vm, s);
  }
}

/* ---- One name -------------------------------------------------------------------- */
/* Keeps the steps that define the name; a function has none, so its graph is made for it. */
static AtledStatus select_name(AtledVM *vm, Plan *plan, const char *of) {
  Binding *b = checker_lookup(vm->checker, vm->main, sym_of(&vm->syms, of));
  if (!b) return report_bad_argument(vm, "no top-level name `%s`", of);
  int kept = 0;
  for (int i = 0; i < plan->steps.len; i++) {
    const ElabItem *e = &plan->steps.data[i].elab;
    for (int k = 0; k < e->nglobals; k++)
      if (e->bindings[k] == b) plan->steps.data[kept++] = plan->steps.data[i];
  }
  plan->steps.len = kept;
  if (kept) return ATLED_OK;
  if (binding_has_open_record(b))
    return report_bad_argument(
        vm, "`%s` takes any record with its fields, and has a graph for each: give a type to its parameter", of);
  Func *f = elab_function(vm->elab, b, NULL, 0, &vm->diags);
  if (report_diags(vm)) return ATLED_COMPILE_ERROR;
  if (!f || !f->graph) return report_bad_argument(vm, "`%s` has no graph", of);
  plan_add_graph(vm, plan, f->graph);
  return ATLED_OK;
}

static void forget_rules(AtledVM *vm) {
  for (int i = 0; i < vm->world->funcs.len; i++)
    for (IrRule *r = vm->world->funcs.data[i]->rules; r; r = r->next) r->applied = 0;
}

AtledStatus plan_select(AtledVM *vm, Plan *plan, const char *of) {
  OptStages *stages = NEW_ARRAY(&vm->scratch, OptStages, plan->steps.len + 1);
  AtledStatus status = plan_optimise(vm, plan, stages);
  if (vm->heap.reached) memset(vm->heap.reached, 0, sizeof *vm->heap.reached * LIMIT_COUNT);
  forget_rules(vm);
  return status == ATLED_OK ? select_name(vm, plan, of) : status;
}

/* ---- Lowered code, limits ---------------------------------------------------------- */
static const LModule *lower_plan(AtledVM *vm, const Plan *plan) {
  LowerEntry *entries = NEW_ARRAY(&vm->scratch, LowerEntry, plan->steps.len + 1);
  for (int i = 0; i < plan->steps.len; i++) entries[i] = (LowerEntry){.graph = plan->steps.data[i].final};
  return lower_module(vm->world, &vm->scratch, entries, plan->steps.len);
}

/* What the limits make of a module that jit/translate.c compiles in another process. */
static void count_sizes(const Arena *a, const LModule *m) {
  int64_t total = 0;
  for (int k = 0; k < m->nfuncs; k++) {
    total += m->funcs[k]->ncode;
    if (m->funcs[k]->ncode > LIMIT_LONG_FUNCTION) limit_reached(a, AT_LONG_FUNCTION);
    if (m->funcs[k]->ncode > LIMIT_HUGE_FUNCTION) limit_reached(a, AT_HUGE_FUNCTION);
  }
  if (total > LIMIT_HUGE_MODULE) limit_reached(a, AT_HUGE_MODULE);
}

/* How often each rewrite rule was applied. */
static void print_rules(AtledVM *vm, Str *out) {
  for (int i = 0; i < vm->world->funcs.len; i++)
    for (const IrRule *r = vm->world->funcs.data[i]->rules; r; r = r->next)
      if (r->applied)
        str_printf(out, "%8u  rule %-27s  %-16s  %s\n", r->applied, r->name, "ir", "calls that it replaced");
}

static void print_limits(AtledVM *vm, const Plan *plan, Str *out) {
  const uint32_t *reached = vm->heap.reached;
  count_sizes(&vm->arena, lower_plan(vm, plan));
  str_printf(out, "%8s  %-19s  %13s  %-16s  %s\n", "reached", "limit", "value", "in", "what is given up");
  for (int k = 0; k < LIMIT_COUNT; k++) {
    const LimitInfo *l = &limit_infos[k];
    char name[32] = "", seen[16];
    for (size_t i = 0; l->name[i] && i + 1 < sizeof name; i++)
      name[i] = l->name[i] == '_' ? ' ' : (char)(l->name[i] | 32);
    snprintf(seen, sizeof seen, "%u", reached ? reached[k] : 0);
    bool counted = strcmp(l->how, "COUNTED") == 0, error = strcmp(l->how, "ERROR") == 0;
    str_printf(out, "%8s  %-19s  %13lld  %-16s  %s\n",
               counted ? seen
               : error ? "error"
                       : "shown",
               name, (long long)l->value, l->where, l->given_up);
  }
  print_rules(vm, out);
}

/* ---- Remarks ---------------------------------------------------------------------- */
typedef struct PlacedRemark {
  const Remark *remark;
  Span at;
} PlacedRemark;

static int by_place(const void *a, const void *b) {
  const PlacedRemark *x = a, *y = b;
  if (x->at.source != y->at.source) return x->at.source < y->at.source ? -1 : 1;
  if (x->at.start != y->at.start) return x->at.start < y->at.start ? -1 : 1;
  int order = strcmp(x->remark->pass, y->remark->pass);
  return order ? order : strcmp(x->remark->text, y->remark->text);
}

static void print_remarks(AtledVM *vm, const Remarks *r, Str *out) {
  PlacedRemark *all = NEW_ARRAY(&vm->scratch, PlacedRemark, r->all.len + 1);
  for (int i = 0; i < r->all.len; i++)
    all[i] = (PlacedRemark){&r->all.data[i], ir_shown_place(vm->world, r->all.data[i].at)->at};
  qsort(all, (size_t)r->all.len, sizeof *all, by_place);
  for (int i = 0; i < r->all.len; i++) {
    if (i > 0 && by_place(&all[i - 1], &all[i]) == 0) continue;
    int line, column;
    span_position(&vm->sources, all[i].at, &line, &column);
    if (all[i].at.source)
      str_printf(out, "%s:%d:%d: ", sources_get(&vm->sources, all[i].at.source)->name, line, column);
    str_printf(out, "%s: %s\n", all[i].remark->pass, all[i].remark->text);
  }
}

/* ---- Calls ------------------------------------------------------------------------ */
static void print_graph(AtledVM *vm, const Graph *g, IrCall *c) {
  if (c->dot) ir_print_dot(vm->world, g, &c->out);
  else ir_print(vm->world, g, &c->out);
}

static void print_stage(AtledVM *vm, Plan *plan, const OptStages *stages, IrCall *c) {
  if (c->stage == ATLED_STAGE_LOWERED) lir_print(lower_plan(vm, plan), &c->out);
  else if (c->stage == ATLED_STAGE_LIMITS) print_limits(vm, plan, &c->out);
  else if (c->stage == ATLED_STAGE_REMARKS) print_remarks(vm, &c->remarks, &c->out);
  else
    for (int i = 0; i < plan->steps.len; i++) {
      const Graph *g = stage_graph(vm, &stages[i], c->stage);
      if (g) print_graph(vm, g, c);
    }
}

/* Has what the stage shows kept from here on, until `show_no_more`. */
static void show(AtledVM *vm, IrCall *c) {
  c->remarks.arena = &vm->scratch;
  if (c->stage == ATLED_STAGE_REMARKS) vm->world->remarks = &c->remarks;
  if (run_of(c->stage) >= 0) watch_show(vm, run_of(c->stage));
}

static void show_no_more(AtledVM *vm) {
  vm->world->remarks = NULL;
  watch_end_show(vm);
}

static AtledStatus ir_body(AtledVM *vm, void *arg) {
  IrCall *c = arg;
  c->out.arena = &vm->scratch;
  if (!is_stage(c->stage)) return report_bad_argument(vm, "there is no stage %d", (int)c->stage);
  Plan plan;
  AtledStatus status = plan_front(vm, c->name, c->source, strlen(c->source), &plan);
  if (status != ATLED_OK) return status;
  if (c->stage == ATLED_STAGE_PARSED) {
    ast_print(plan.program, &c->out);
  } else if (c->stage == ATLED_STAGE_TYPED) {
    typed_print(vm->checker, vm->main, plan.program, &c->out);
  } else {
    status = plan_elaborate(vm, &plan, REPORT_TESTS | REPORT_BENCHES);
    if (status == ATLED_OK && c->of) status = plan_select(vm, &plan, c->of);
    if (status != ATLED_OK) return status;
    OptStages *stages = NEW_ARRAY(&vm->scratch, OptStages, plan.steps.len + 1);
    show(vm, c);
    status = plan_optimise(vm, &plan, stages);
    if (status == ATLED_OK) print_stage(vm, &plan, stages, c);
  }
  plan_take_back(vm, &plan, plan.first_item);
  return status;
}

static AtledStatus print_text(AtledVM *vm, AtledStatus (*body)(AtledVM *vm, void *arg), IrCall *c, const char **text) {
  AtledStatus status = vm_call(vm, body, c);
  if (vm && vm->world) show_no_more(vm);
  *text = status == ATLED_OK && c->out.data ? c->out.data : "";
  return status;
}

AtledStatus atled_ir(AtledVM *vm, const char *name, const char *source, AtledStage stage, bool dot, const char *of,
                     const char **text) {
  if (!text) return vm_reject_null(vm, "the place for the text");
  *text = "";
  if (!name || !source) return vm_reject_null(vm, name ? "the source" : "the name of the source");
  IrCall c = {.name = name, .source = source, .of = of, .stage = stage, .dot = dot};
  return print_text(vm, ir_body, &c, text);
}

/* ---- A graph's text ---------------------------------------------------------------- */
/* The place of a stage of graphs in their order; -1: it has none. */
static int rank_of(AtledStage stage) {
  int run = run_of(stage), n = passes_count();
  if (run >= 0) return passes_get(run).stage == STAGE_BEFORE ? 1 + run : 3 + run;
  switch ((int)stage) {
  case ATLED_STAGE_BUILT: return 0;
  case ATLED_STAGE_OPTIMISED: return 1 + passes_first_after();
  case ATLED_STAGE_DIFFERENTIATED: return 2 + passes_first_after();
  case ATLED_STAGE_PARSED:
  case ATLED_STAGE_TYPED: return -1;
  default: return 3 + n;
  }
}

/* The stages of a graph that is at stage `from`. */
static OptStages stages_from(Graph *g, AtledStage from) {
  int rank = rank_of(from), first = passes_first_after(), run = run_of(from);
  OptStages s = {.built = g, .from = rank == 0 ? 0 : run >= 0 ? run + 1 : first};
  s.given = rank > 1 + first;
  if (s.given) s.differentiated = g;
  return s;
}

static AtledStatus text_body(AtledVM *vm, void *arg) {
  IrCall *c = arg;
  c->out.arena = &vm->scratch;
  bool known = is_stage(c->from) && is_stage(c->stage);
  int from = known ? rank_of(c->from) : -1, to = known ? rank_of(c->stage) : -1;
  if (from < 0 || from >= rank_of(ATLED_STAGE_FINAL) || to < 0)
    return report_bad_argument(vm, "a graph's text isn't of this stage");
  if (to < from) return report_bad_argument(vm, "the stage to be shown comes before the one that the text is of");
  const char *wrong = NULL;
  Graph *g = ir_read(vm->world, c->source, &wrong);
  if (g) wrong = ir_verify(vm->world, g);
  if (!g || wrong) return report_bad_argument(vm, "this is no graph's text: %s", wrong);
  Plan plan = {0};
  plan_add_graph(vm, &plan, g);
  OptStages s = stages_from(g, c->from);
  show(vm, c);
  opt_before_derivatives(vm->world, &s);
  s.rules = elab_rules(vm->elab, s.optimised, s.pool);
  opt_derivatives_and_after(vm->world, &s);
  plan.steps.data[0].final = s.final;
  print_stage(vm, &plan, &s, c);
  return ATLED_OK;
}

AtledStatus atled_ir_text(AtledVM *vm, const char *graph, AtledStage from, AtledStage to, bool dot, const char **text) {
  if (!text) return vm_reject_null(vm, "the place for the text");
  *text = "";
  if (!graph) return vm_reject_null(vm, "the graph's text");
  IrCall c = {.source = graph, .from = from, .stage = to, .dot = dot};
  return print_text(vm, text_body, &c, text);
}

/* ---- Runs of passes ------------------------------------------------------------------ */
bool atled_pass_sized(const AtledVM *vm, int index, AtledPass *out, size_t size) {
  if (!out || index < 0 || index >= passes_count()) return false;
  PassRun r = passes_get(index);
  AtledPass pass = {.does = r.does, .before = r.stage == STAGE_BEFORE};
  passes_name(index, pass.name);
  if (vm) {
    pass.seconds = vm->watched.watch.seconds[index];
    pass.count = vm->watched.watch.count[index];
  }
  struct_give(out, size, &pass, sizeof pass);
  return true;
}
