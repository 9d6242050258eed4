/* SPDX-License-Identifier: MIT */
/* The gradient of a function as source text: atled_derivative_source.
 *
 *   program, and `let grad_f it = grad (f) it` behind it
 *     ─ elaborate, optimise, differentiate ─ the passes that make plainer what is to be read (`shows`)
 *     ─ src/source: print ─ src/format: lay out */
#include "api/pipeline.h"
#include "format/format.h"
#include "source/source.h"
#include <ctype.h>
#include <string.h>

typedef struct SourceCall {
  const char *name, *source, *function;
  Str out;
} SourceCall;

/* ---- Passes ----------------------------------------------------------------------------------------------------- */
/* Passes after derivatives end where they stop making the text shorter: loops that are peeled, fused or cut in blocks
 * say the same in more words. So do, before derivatives, sums that stay beside products of matrices, and checks apart
 * from what they are for. A product and a sum that are rounded once can't be written at all. */
static bool shows(int run) {
  static const char *const after[] = {
      "simplify",     "prune", "if_convert",   "inline", "params", "unpack_accumulators",
      "choose_dense", "dense", "fill_entries", "checks"};
  static const char *const not_before[] = {"hoist", "matrix_products", "contract"};
  PassRun r = passes_get(run);
  bool before = r.stage == STAGE_BEFORE;
  const char *const *names = before ? not_before : after;
  for (size_t i = 0; i < (before ? sizeof not_before : sizeof after) / sizeof *names; i++)
    if (strcmp(r.name, names[i]) == 0) return !before;
  return before;
}

static PassWatch chosen_passes(const AtledVM *vm) {
  PassWatch p = vm->watched.watch;
  p.timed = false;
  for (int k = 0; k < passes_count(); k++)
    if (!shows(k)) p.off |= (uint64_t)1 << k;
  return p;
}

static AtledStatus optimise(AtledVM *vm, Plan *plan) {
  PassWatch chosen = chosen_passes(vm), *before = vm->world->watch;
  OptStages *stages = NEW_ARRAY(&vm->scratch, OptStages, plan->steps.len + 1);
  vm->world->watch = &chosen;
  AtledStatus status = plan_optimise(vm, plan, stages);
  vm->world->watch = before;
  return status;
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */
static bool is_plain_name(const char *text) {
  if (!islower((unsigned char)*text)) return false;
  for (; *text; text++)
    if (!isalnum((unsigned char)*text) && *text != '_') return false;
  return true;
}

static const char *derivative_name(AtledVM *vm, const char *function) {
  return is_plain_name(function) ? arena_printf(&vm->scratch, "grad_%s", function) : "gradient";
}

static const Binding *binding_of(AtledVM *vm, const char *name) {
  return checker_lookup(vm->checker, vm->main, sym_of(&vm->syms, name));
}

static bool is_value(void *user, const char *name) {
  AtledVM *vm = user;
  const Binding *b = binding_of(vm, name);
  return b && b->module == vm->main && type_repr(b->type)->kind != TY_FUN;
}

/* A name of the library, or of a value that the text may read. */
static bool is_taken(void *user, const char *name) {
  const Binding *b = binding_of(user, name);
  return (b && b->module && b->module->library) || is_value(user, name);
}

/* The name of the variable; NULL: it isn't one that can be written in any program. */
static const char *variable_name(const Pat *p) {
  while (p->kind == P_ANNOT) p = p->args[0];
  return p->kind == P_VAR && is_plain_name(p->name.name) ? p->name.name : NULL;
}

/* The parameter of the function that is differentiated: of its definition, or as it is written. */
static const Pat *parameter_of(const Plan *plan) {
  const Item *item = plan->program->items.data[plan->program->items.len - 1];
  const Expr *e = item->lets[0].value->args[0]->args[1];
  while (e && e->kind == E_ANNOT) e = e->args[0];
  if (e && e->kind == E_VAR) e = e->binding && e->binding->let ? e->binding->let->value : NULL;
  return e && e->kind == E_FUN && e->nparams ? e->params[0] : NULL;
}

static void name_parameter(AtledVM *vm, const Plan *plan, SourceRequest *r) {
  const Pat *p = parameter_of(plan);
  while (p && p->kind == P_ANNOT) p = p->args[0];
  if (!p) return;
  r->parameter = variable_name(p);
  if (p->kind != P_TUPLE) return;
  const char **parts = NEW_ARRAY(&vm->scratch, const char *, p->nargs + 1);
  for (int k = 0; k < p->nargs; k++) parts[k] = variable_name(p->args[k]);
  r->parts = parts;
  r->nparts = p->nargs;
}

/* ---- Open records ------------------------------------------------------------------------------------------------ */
/* Where the parameter ends in the text of a function's type. */
static size_t parameter_length(const char *text) {
  int depth = 0;
  for (const char *at = text; *at; at++) {
    depth += strchr("([{", *at) != NULL;
    depth -= strchr(")]}", *at) != NULL;
    if (depth == 0 && strncmp(at, " -> ", 4) == 0) return (size_t)(at - text);
  }
  return strlen(text);
}

/* The type of the parameter where records have the fields that the function uses and no others, and variables are
 * floats, which they are by default. */
static const char *closed_parameter(AtledVM *vm, const Binding *b) {
  Str type = {.arena = &vm->scratch}, out = {.arena = &vm->scratch};
  binding_type_print(vm->checker, vm->main, b, &type);
  const char *at = type.data;
  for (const char *next; (next = strstr(at, " => "));) at = next + 4;
  for (const char *end = at + parameter_length(at); at < end;) {
    bool rest = strncmp(at, ", ..", 4) == 0, named = strncmp(at, " as '", 5) == 0, variable = *at == '\'';
    if (!rest && !named && !variable) str_printf(&out, "%c", *at);
    if (variable) str_puts(&out, "float");
    at += rest ? 4 : named ? 5 : 1;
    while ((named || variable) && (isalnum((unsigned char)*at) || *at == '_')) at++;
  }
  return out.data ? out.data : "";
}

/* ---- The text --------------------------------------------------------------------------------------------------- */
static AtledStatus lay_out(AtledVM *vm, SourceCall *c) {
  size_t len = c->out.len;
  uint32_t id = sources_add(&vm->sources, "<derivative>", c->out.data, len);
  const char *text = format_source(vm->lexer, &vm->scratch, &vm->syms, &vm->diags, id, &len);
  if (report_diags(vm) || !text) return ATLED_COMPILE_ERROR;
  c->out.data = (char *)text;
  return ATLED_OK;
}

static AtledStatus print(AtledVM *vm, SourceCall *c, const Plan *plan, const SourceRequest *request) {
  const char *why = NULL;
  compilation_begin(vm->world);
  bool printed = source_print(vm->world, plan->steps.data[0].final, request, &c->out, &why);
  compilation_end(vm->world);
  if (!printed)
    return report_bad_argument(vm, "the derivative of `%s` can't be written as source: it %s", c->function, why);
  return lay_out(vm, c);
}

static AtledStatus check(AtledVM *vm, const SourceCall *c, const char *items, Plan *plan) {
  const char *text = arena_printf(&vm->scratch, "%s\n\n%s", c->source, items);
  return plan_front(vm, c->name, text, strlen(text), plan);
}

/* The program with more items; what there is to report of text that nobody wrote isn't. */
static AtledStatus check_quietly(AtledVM *vm, const SourceCall *c, const char *items, Plan *plan) {
  void (*diagnostic)(void *, const AtledDiagnostic *) = vm->config.diagnostic;
  int reports = vm->reports.len, first_error = vm->first_error;
  vm->config.diagnostic = NULL;
  AtledStatus status = check(vm, c, items, plan);
  vm->config.diagnostic = diagnostic;
  if (status != ATLED_OK && status != ATLED_COMPILE_ERROR) return status;
  vm->reports.len = reports;
  vm->first_error = first_error;
  return status;
}

static const char *definition(AtledVM *vm, const SourceCall *c, const char *name, const char *parameter) {
  return arena_printf(&vm->scratch, "let %s =\n fun %s -> grad (%s\n ) it\n", name, parameter, c->function);
}

/* Defines `name` with a type for the parameter where it takes any record with its fields. */
static AtledStatus define_closed(AtledVM *vm, const SourceCall *c, const char *name, Plan *plan) {
  AtledStatus status = check(vm, c, definition(vm, c, name, "it"), plan);
  const Binding *b = status == ATLED_OK ? binding_of(vm, name) : NULL;
  if (!b || !binding_has_open_record(b)) return status;
  const char *parameter = arena_printf(&vm->scratch, "(it : %s)", closed_parameter(vm, b));
  plan_take_back(vm, plan, plan->first_item);
  status = check_quietly(vm, c, definition(vm, c, name, parameter), plan);
  if (status != ATLED_COMPILE_ERROR) return status;
  return report_bad_argument(vm, "`%s` takes any record with its fields: give a type to its parameter", c->function);
}

/* A value that the text reads may have a type that the text declares anew, for what calls keep of it. */
static AtledStatus verify(AtledVM *vm, const SourceCall *c) {
  Plan plan;
  AtledStatus status = check_quietly(vm, c, c->out.data, &plan);
  if (status == ATLED_OK) plan_take_back(vm, &plan, plan.first_item);
  if (status != ATLED_COMPILE_ERROR) return status;
  return report_bad_argument(
      vm, "the derivative of `%s` can't be written as source: it needs a type of the program for a value that it reads",
      c->function);
}

static AtledStatus source_body(AtledVM *vm, void *arg) {
  SourceCall *c = arg;
  c->out.arena = &vm->scratch;
  const char *name = derivative_name(vm, c->function);
  Plan plan;
  AtledStatus status = define_closed(vm, c, name, &plan);
  if (status != ATLED_OK) return status;
  SourceRequest request = {.function = name, .is_taken = is_taken, .is_value = is_value, .user = vm};
  status = plan_elaborate(vm, &plan, REPORT_NONE);
  if (status == ATLED_OK) name_parameter(vm, &plan, &request);
  if (status == ATLED_OK) status = plan_select(vm, &plan, name);
  if (status != ATLED_OK) return status;
  status = optimise(vm, &plan);
  if (status == ATLED_OK) status = print(vm, c, &plan, &request);
  plan_take_back(vm, &plan, plan.first_item);
  return status == ATLED_OK ? verify(vm, c) : status;
}

AtledStatus atled_derivative_source(AtledVM *vm, const char *name, const char *source, const char *function,
                                    const char **text) {
  if (!text) return vm_reject_null(vm, "the place for the text");
  *text = "";
  if (!source || !function) return vm_reject_null(vm, source ? "the function" : "the source");
  SourceCall c = {.name = name ? name : "<expression>", .source = source, .function = function};
  AtledStatus status = vm_call(vm, source_body, &c);
  if (status == ATLED_OK) *text = c.out.data;
  return status;
}
