/* SPDX-License-Identifier: MIT */
/* What a host can see: types, documentation, visible names, the results of the last evaluation as text, where time
 * goes, and the cache on disk. stages.c shows the program after a stage of the compiler. */
#include "api/handles.h"
#include "api/pipeline.h"
#include "api/settings.h"
#include "jit/toolchain/cache.h"
#include <stdlib.h>
#include <string.h>

/* ---- Types, documentation, names -------------------------------------------------------- */
typedef struct TextCall {
  const char *what;
  Str out;
} TextCall;

/* The expression is checked as it stands, for its errors, and then as a definition, which generalises its type. */
static AtledStatus check_expression(AtledVM *vm, const char *what, const Binding **b) {
  Plan plan;
  AtledStatus status = plan_front(vm, "<expression>", what, strlen(what), &plan);
  if (status != ATLED_OK) return status;
  bool expression = plan.program->items.len == 1 && plan.program->items.data[0]->kind == I_EXPR;
  plan_take_back(vm, &plan, plan.first_item);
  if (!expression) return report_bad_argument(vm, "this isn't an expression");
  const char *definition = arena_printf(&vm->scratch, "let it =\n %s", what);
  status = plan_front(vm, "<expression>", definition, strlen(definition), &plan);
  if (status != ATLED_OK) return status;
  *b = plan.program->items.data[0]->lets[0].pat->binding;
  plan_take_back(vm, &plan, plan.first_item);
  return ATLED_OK;
}

static AtledStatus type_body(AtledVM *vm, void *arg) {
  TextCall *c = arg;
  const Binding *b = NULL;
  c->out.arena = &vm->scratch;
  AtledStatus status = check_expression(vm, c->what, &b);
  if (status == ATLED_OK) binding_type_print(vm->checker, vm->main, b, &c->out);
  return status;
}

AtledStatus inspect_type(AtledVM *vm, const char *expression, Type **type) {
  const Binding *b = NULL;
  AtledStatus status = check_expression(vm, expression, &b);
  if (status != ATLED_OK) return status;
  *type = b->type;
  for (int i = 0; i < b->nqvars; i++) {
    if (b->qvars[i]->classes & (CLASS_EFFECT | CLASS_NUM | CLASS_SCALAR | CLASS_DIFF)) continue;
    Str text = {.arena = &vm->scratch};
    binding_type_print(vm->checker, vm->main, b, &text);
    return report_bad_argument(vm, "a look-up without a type needs one that is known, and `%s` has the type `%s`",
                               expression, text.data);
  }
  return ATLED_OK;
}

static AtledStatus doc_body(AtledVM *vm, void *arg) {
  TextCall *c = arg;
  c->out.arena = &vm->scratch;
  const Binding *b = names_value(vm, c->what);
  if (!b) return report_bad_argument(vm, "nothing is named `%s`", c->what);
  str_printf(&c->out, "%s : ", c->what);
  binding_type_print(vm->checker, vm->main, b, &c->out);
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
  for (int i = 0; i < n; i++) /* copied: names of the library that nothing else uses go with this call */
    if (strncmp(all[i], c->prefix, len) == 0) c->names[c->n++] = arena_strndup(&vm->scratch, all[i], strlen(all[i]));
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

/* A constant (`let n = 8`) has no place of its own: it is part of each use. To be shown it is evaluated, at the types
 * that variables have by default; one with functions of open records has no such type, and is shown as a function. */
static AtledStatus evaluate_constant(AtledVM *vm, Result *r) {
  if (r->desc || type_repr(r->binding->type)->kind == TY_FUN || binding_has_open_record(r->binding)) return ATLED_OK;
  Graph *g = elab_value(vm->elab, (Binding *)(uintptr_t)r->binding, NULL, &vm->diags);
  if (report_diags(vm) || !g) return ATLED_COMPILE_ERROR;
  Plan plan = {0};
  plan_add_graph(vm, &plan, g);
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
  View view = {.columns = v->columns > 0 ? v->columns : 80, .lines = v->lines > 0 ? v->lines : 24};
  if (view.columns > LIMIT_WINDOW) view.columns = LIMIT_WINDOW;
  if (view.lines > LIMIT_WINDOW) view.lines = LIMIT_WINDOW;
  view.digits = v->digits > 0 && v->digits < 17 ? v->digits : 0;
  int used = (r->name ? utf8_width(r->name, strlen(r->name)) : 1) + utf8_width(type->data, type->len) + 6;
  view.used = used + (v->used > 0 && v->used < LIMIT_WINDOW ? v->used : 0);
  return rt_present(&vm->rt, r->desc, r->slots, view, out);
}

static AtledStatus result_body(AtledVM *vm, void *arg) {
  ResultCall *c = arg;
  Result *r = c->result;
  AtledStatus status = r->binding ? evaluate_constant(vm, r) : ATLED_OK;
  if (status != ATLED_OK) return status;
  vm->heap.alarm = NULL; /* the value's text is made by the runtime, which looks itself */
  Str type = {.arena = &vm->scratch}, value = {.arena = &vm->scratch};
  if (r->binding) binding_type_print(vm->checker, vm->main, r->binding, &type);
  else if (r->shown) str_puts(&type, r->shown);
  else type_print(vm->checker, vm->main, r->type, &type);
  if (!r->desc) str_puts(&value, "<fun>");
  else if (c->view ? view_value(vm, r, c->view, &type, &value) : rt_show(&vm->rt, r->desc, r->slots, false, &value))
    return report_runtime_error(vm, (Span){0});
  *c->out = (AtledResult){r->name, type.data, value.data ? value.data : ""};
  return ATLED_OK;
}

/* What was reported of the evaluation stays, unless there is something to report of this call. */
static bool result_call(AtledVM *vm, int index, const AtledView *view, AtledResult *out, size_t size) {
  if (!vm || !out || vm->running || index < 0 || index >= vm->results.len) return false;
  AtledResult result = {0};
  ResultCall c = {&vm->results.data[index], &result, view};
  ReportList before = vm->reports;
  int first_error = vm->first_error;
  report_forget(vm);
  if (vm_call_keeping(vm, result_body, &c) != ATLED_OK) return false;
  vm->reports = before;
  vm->first_error = first_error;
  struct_give(out, size, &result, sizeof result);
  return true;
}

bool atled_result_sized(AtledVM *vm, int index, AtledResult *out, size_t size) {
  return result_call(vm, index, NULL, out, size);
}

bool atled_result_view_sized(AtledVM *vm, int index, const AtledView *view, size_t view_size, AtledResult *out,
                             size_t size) {
  AtledView own = {0};
  return (!view || struct_take(&own, sizeof own, view, view_size)) && result_call(vm, index, &own, out, size);
}

/* ---- Phases ------------------------------------------------------------------------------ */
static AtledPhase phase_of_compiler(const AtledVM *vm) {
  JitStats s = vm->jit ? jit_stats(vm->jit) : (JitStats){0};
  return (AtledPhase){"compiler", s.process_seconds, s.process_orders, s.process_memory, true};
}

static AtledPhase phase_of(const AtledVM *vm, int index) {
  const PhaseTotal *t = &vm->phases.all[index];
  return (AtledPhase){phase_name((Phase)index), t->seconds, t->count, t->memory, false};
}

bool atled_phase_sized(const AtledVM *vm, int index, AtledPhase *out, size_t size) {
  if (!vm || !out || !vm->heap.phases || index < 0 || index > PHASE_COUNT) return false;
  AtledPhase phase = index < PHASE_COUNT ? phase_of(vm, index) : phase_of_compiler(vm);
  struct_give(out, size, &phase, sizeof phase);
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

AtledStatus atled_cache_sized(AtledVM *vm, AtledCache *out, size_t size) {
  if (!out) return vm_reject_null(vm, "the place for the cache's data");
  AtledCache cache = {0};
  AtledStatus status = vm_call_unlimited(vm, cache_body, &cache);
  struct_give(out, size, &cache, sizeof cache);
  return status;
}

static AtledStatus clear_body(AtledVM *vm, void *unused) {
  (void)unused;
  cache_clear(find_cache(vm));
  return ATLED_OK;
}

AtledStatus atled_clear_cache(AtledVM *vm) { return vm_call_unlimited(vm, clear_body, NULL); }
