/* SPDX-License-Identifier: MIT */
/* What a host can see: the program after each stage of the compiler, types,
 * documentation, visible names, the results of the last evaluation as text, where time goes, and the cache
 * on disk. */
#include "api/pipeline.h"
#include "api/settings.h"
#include "jit/toolchain/cache.h"
#include <stdlib.h>
#include <string.h>

/* ---- Stages --------------------------------------------------------------------- */
typedef struct IrCall {
  const char *name, *source, *of;
  AtledStage stage;
  bool dot;
  Str out;
} IrCall;

static const Graph *stage_graph(const OptStages *s, AtledStage stage) {
  switch (stage) {
  case ATLED_STAGE_BUILT: return s->built;
  case ATLED_STAGE_OPTIMISED: return s->optimised;
  case ATLED_STAGE_DIFFERENTIATED: return s->differentiated;
  default: return s->final;
  }
}

static void add_graph_step(AtledVM *vm, Plan *plan, Graph *g) {
  Step s = {.elab.graph = g};
  vec_push(&vm->scratch, plan->steps, s);
}

/* Has it a graph for each type of record that it is given? Other types that are left open have a default. */
static bool takes_any_record(const Binding *b) {
  for (int k = 0; k < b->nqvars; k++)
    if (b->qvars[k]->classes & CLASS_RECORD) return true;
  return false;
}

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
  if (takes_any_record(b))
    return report_bad_argument(
        vm, "`%s` takes any record with its fields, and has a graph for each: give a type to its parameter", of);
  Func *f = elab_function(vm->elab, b, NULL, 0, &vm->diags);
  if (report_diags(vm)) return ATLED_COMPILE_ERROR;
  if (!f || !f->graph) return report_bad_argument(vm, "`%s` has no graph", of);
  add_graph_step(vm, plan, f->graph);
  return ATLED_OK;
}

/* The same, with what all steps tell of their globals. */
static AtledStatus select_learnt(AtledVM *vm, Plan *plan, const char *of) {
  OptStages *stages = NEW_ARRAY(&vm->scratch, OptStages, plan->steps.len + 1);
  AtledStatus status = plan_optimise(vm, plan, stages);
  if (vm->heap.reached) memset(vm->heap.reached, 0, sizeof *vm->heap.reached * LIMIT_COUNT);
  return status == ATLED_OK ? select_name(vm, plan, of) : status;
}

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
}

static void print_stage(AtledVM *vm, Plan *plan, const OptStages *stages, IrCall *c) {
  if (c->stage == ATLED_STAGE_LOWERED) {
    lir_print(lower_plan(vm, plan), &c->out);
    return;
  }
  if (c->stage == ATLED_STAGE_LIMITS) {
    print_limits(vm, plan, &c->out);
    return;
  }
  for (int i = 0; i < plan->steps.len; i++) {
    const Graph *g = stage_graph(&stages[i], c->stage);
    if (c->dot) ir_print_dot(vm->world, g, &c->out);
    else ir_print(vm->world, g, &c->out);
  }
}

static AtledStatus ir_body(AtledVM *vm, void *arg) {
  IrCall *c = arg;
  c->out.arena = &vm->scratch;
  if ((unsigned)c->stage > ATLED_STAGE_LIMITS) return report_bad_argument(vm, "there is no stage %d", (int)c->stage);
  Plan plan;
  AtledStatus status = plan_front(vm, c->name, c->source, strlen(c->source), &plan);
  if (status != ATLED_OK) return status;
  if (c->stage == ATLED_STAGE_PARSED) {
    ast_print(plan.program, &c->out);
  } else if (c->stage == ATLED_STAGE_TYPED) {
    typed_print(vm->main, plan.program, &c->out);
  } else {
    status = plan_elaborate(vm, &plan, REPORT_TESTS | REPORT_BENCHES);
    if (status == ATLED_OK && c->of) status = select_learnt(vm, &plan, c->of);
    if (status != ATLED_OK) return status;
    OptStages *stages = NEW_ARRAY(&vm->scratch, OptStages, plan.steps.len + 1);
    status = plan_optimise(vm, &plan, stages);
    if (status == ATLED_OK) print_stage(vm, &plan, stages, c);
  }
  plan_take_back(vm, &plan, plan.first_item);
  return status;
}

AtledStatus atled_ir(AtledVM *vm, const char *name, const char *source, AtledStage stage, bool dot, const char *of,
                     const char **text) {
  if (!text) return vm_reject_null(vm, "the place for the text");
  *text = "";
  if (!name || !source) return vm_reject_null(vm, name ? "the source" : "the name of the source");
  IrCall c = {.name = name, .source = source, .of = of, .stage = stage, .dot = dot};
  AtledStatus status = vm_call(vm, ir_body, &c);
  *text = status == ATLED_OK && c.out.data ? c.out.data : "";
  return status;
}

/* ---- Types, documentation, names -------------------------------------------------------- */
typedef struct TextCall {
  const char *what;
  Str out;
} TextCall;

/* The expression is checked as it stands, for its errors, and then as a definition, which generalises its type. */
static AtledStatus type_body(AtledVM *vm, void *arg) {
  TextCall *c = arg;
  c->out.arena = &vm->scratch;
  Plan plan;
  AtledStatus status = plan_front(vm, "<expression>", c->what, strlen(c->what), &plan);
  if (status != ATLED_OK) return status;
  bool expression = plan.program->items.len == 1 && plan.program->items.data[0]->kind == I_EXPR;
  plan_take_back(vm, &plan, plan.first_item);
  if (!expression) return report_bad_argument(vm, "this isn't an expression");
  const char *definition = arena_printf(&vm->scratch, "let it =\n %s", c->what);
  status = plan_front(vm, "<expression>", definition, strlen(definition), &plan);
  if (status != ATLED_OK) return status;
  const LetBinding *let = &plan.program->items.data[0]->lets[0];
  const Binding *alone = let->value->kind == E_VAR ? let->value->binding : NULL;
  binding_type_print(let->pat->binding, alone ? names_of_records(vm, alone) : NULL, &c->out);
  plan_take_back(vm, &plan, plan.first_item);
  return ATLED_OK;
}

static AtledStatus doc_body(AtledVM *vm, void *arg) {
  TextCall *c = arg;
  c->out.arena = &vm->scratch;
  const Binding *b = names_value(vm, c->what);
  if (!b) return names_report_none(vm, c->what);
  str_printf(&c->out, "%s : ", c->what);
  binding_type_print(b, names_of_records(vm, b), &c->out);
  const char *doc = b->item ? b->item->doc : NULL;
  if (doc) str_printf(&c->out, "\n%s", doc);
  if (c->out.data[c->out.len - 1] != '\n') str_addc(&c->out, '\n');
  return ATLED_OK;
}

static AtledStatus text_call(AtledVM *vm, AtledStatus (*body)(AtledVM *vm, void *arg), const char *what,
                             const char **text) {
  if (!text) return vm_reject_null(vm, "the place for the text");
  *text = "";
  if (!what) return vm_reject_null(vm, "the text");
  TextCall c = {.what = what};
  AtledStatus status = vm_call(vm, body, &c);
  *text = status == ATLED_OK && c.out.data ? c.out.data : "";
  return status;
}

AtledStatus atled_type(AtledVM *vm, const char *expression, const char **text) {
  return text_call(vm, type_body, expression, text);
}
AtledStatus atled_doc(AtledVM *vm, const char *name, const char **text) { return text_call(vm, doc_body, name, text); }

typedef struct NamesCall {
  const char *prefix;
  const char **names;
  int n;
} NamesCall;

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static AtledStatus names_body(AtledVM *vm, void *arg) {
  NamesCall *c = arg;
  Sym *all;
  int n = checker_visible_names(vm->checker, vm->main, &all, &vm->scratch);
  size_t len = strlen(c->prefix);
  c->names = NEW_ARRAY(&vm->scratch, const char *, n + 1);
  for (int i = 0; i < n; i++)
    if (strncmp(all[i], c->prefix, len) == 0) c->names[c->n++] = all[i];
  qsort(c->names, (size_t)c->n, sizeof *c->names, by_name);
  return ATLED_OK;
}

int atled_names(AtledVM *vm, const char *prefix, const char *const **names) {
  if (!names) return 0;
  NamesCall c = {.prefix = prefix ? prefix : ""};
  if (vm_call_unlimited(vm, names_body, &c) != ATLED_OK) c.n = 0;
  *names = c.names;
  return c.n;
}

/* ---- Results as text ------------------------------------------------------------------------ */
int atled_result_count(const AtledVM *vm) { return vm ? vm->results.len : 0; }

typedef struct ResultCall {
  Result *result;
  AtledResult *out;
  const AtledView *view; /* NULL: as source would write it */
} ResultCall;

/* A constant (`let n = 8`) has no place of its own: it is part of each use. To be shown it is evaluated. */
static AtledStatus evaluate_constant(AtledVM *vm, Result *r) {
  if (r->desc || type_repr(r->binding->type)->kind == TY_FUN) return ATLED_OK;
  Graph *g = elab_value(vm->elab, (Binding *)(uintptr_t)r->binding, NULL, &vm->diags);
  if (report_diags(vm) || !g) return ATLED_COMPILE_ERROR;
  Plan plan = {0};
  add_graph_step(vm, &plan, g);
  AtledStatus status = plan_optimise(vm, &plan, NULL);
  if (status != ATLED_OK) return status;
  LowerEntry entry = {.graph = plan.steps.data[0].final};
  Unit *unit = run_unit(vm, &entry, 1);
  if (!unit) return ATLED_COMPILE_ERROR;
  Slot *slots = NEW_ARRAY(&vm->scratch, Slot, entry.func->nresults + 1);
  const Desc *desc = lower_desc(vm->world, g->result->type);
  if (!unit) return ATLED_COMPILE_ERROR;
  if (run_begin(vm) != 0 || run_function(vm, unit, entry.func, NULL, slots) != 0)
    return report_runtime_error(vm, (Span){0});
  r->evaluated = vm->arena.epoch;
  r->desc = desc;
  r->slots = r->owned = slots;
  return ATLED_OK;
}

static Status view_value(AtledVM *vm, const Result *r, const AtledView *v, const Str *type, Str *out) {
  enum { MOST = 2000 }; /* columns and lines of a window, to be laid out in reasonable time */
  View view = {.columns = v->columns > 0 ? v->columns : 80, .lines = v->lines > 0 ? v->lines : 24};
  if (view.columns > MOST) view.columns = MOST;
  if (view.lines > MOST) view.lines = MOST;
  view.digits = v->digits > 0 && v->digits < 17 ? v->digits : 0;
  int used = (r->name ? utf8_width(r->name, strlen(r->name)) : 1) + utf8_width(type->data, type->len) + 6;
  view.used = used + (v->used > 0 && v->used < MOST ? v->used : 0);
  return rt_present(&vm->rt, r->desc, r->slots, view, out);
}

static AtledStatus result_body(AtledVM *vm, void *arg) {
  ResultCall *c = arg;
  Result *r = c->result;
  AtledStatus status = r->binding ? evaluate_constant(vm, r) : ATLED_OK;
  if (status != ATLED_OK) return status;
  vm->heap.alarm = NULL; /* the value's text is made by the runtime, which looks itself */
  Str type = {.arena = &vm->scratch}, value = {.arena = &vm->scratch};
  if (r->binding) binding_type_print(r->binding, NULL, &type);
  else if (r->shown) str_puts(&type, r->shown);
  else type_print(r->type, &type);
  if (!r->desc) str_puts(&value, "<fun>");
  else if (c->view ? view_value(vm, r, c->view, &type, &value) : rt_show(&vm->rt, r->desc, r->slots, false, &value))
    return report_runtime_error(vm, (Span){0});
  *c->out = (AtledResult){r->name, type.data, value.data ? value.data : ""};
  return ATLED_OK;
}

/* What was reported of the evaluation stays, unless there is something to report of this call. */
static bool result_call(AtledVM *vm, int index, const AtledView *view, AtledResult *out) {
  if (!vm || !out || vm->running || index < 0 || index >= vm->results.len) return false;
  ResultCall c = {&vm->results.data[index], out, view};
  ReportList before = vm->reports;
  int first_error = vm->first_error;
  report_forget(vm);
  if (vm_call_keeping(vm, result_body, &c) != ATLED_OK) return false;
  vm->reports = before;
  vm->first_error = first_error;
  return true;
}

bool atled_result(AtledVM *vm, int index, AtledResult *out) { return result_call(vm, index, NULL, out); }

bool atled_result_view(AtledVM *vm, int index, const AtledView *view, AtledResult *out) {
  static const AtledView plain;
  return result_call(vm, index, view ? view : &plain, out);
}

/* ---- Phases ------------------------------------------------------------------------------ */
bool atled_phase(const AtledVM *vm, int index, AtledPhase *out) {
  if (!vm || !out || !vm->heap.phases || index < 0 || index > PHASE_COUNT) return false;
  if (index < PHASE_COUNT) {
    const PhaseTotal *t = &vm->phases.all[index];
    *out = (AtledPhase){phase_name((Phase)index), t->seconds, t->count, t->memory, false};
    return true;
  }
  JitStats s = vm->jit ? jit_stats(vm->jit) : (JitStats){0};
  *out = (AtledPhase){"compiler", s.process_seconds, s.process_orders, s.process_memory, true};
  return true;
}

/* ---- The cache --------------------------------------------------------------------------- */
static Cache *find_cache(AtledVM *vm) {
  Cache *c = NEW(&vm->scratch, Cache);
  cache_init(c, &vm->heap, settings_cache_folder(vm), settings_cache_limit(vm));
  return c;
}

static AtledStatus cache_body(AtledVM *vm, void *arg) {
  const Cache *c = find_cache(vm);
  CacheUsage u = cache_usage(c);
  *(AtledCache *)arg = (AtledCache){.folder = c->dir[0] ? c->dir : NULL,
                                    .why = c->why[0] ? c->why : NULL,
                                    .entries = u.entries,
                                    .bytes = (int64_t)u.bytes,
                                    .limit = (int64_t)c->limit,
                                    .oldest = 1e-9 * (double)u.oldest,
                                    .newest = 1e-9 * (double)u.newest};
  return ATLED_OK;
}

AtledStatus atled_cache(AtledVM *vm, AtledCache *out) {
  if (!out) return vm_reject_null(vm, "the place for the cache's data");
  *out = (AtledCache){0};
  return vm_call_unlimited(vm, cache_body, out);
}

static AtledStatus clear_body(AtledVM *vm, void *unused) {
  (void)unused;
  cache_clear(find_cache(vm));
  return ATLED_OK;
}

AtledStatus atled_clear_cache(AtledVM *vm) { return vm_call_unlimited(vm, clear_body, NULL); }
