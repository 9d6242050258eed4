/* SPDX-License-Identifier: MIT */
/* Functions and values that cross the border between a host and its VM.
 *
 * A handle holds a closure of one parameter, a tuple of all the host's arguments:
 * `grad f` at `float -> float -> float` becomes
 *   (grad f : float -> float -> float) |> fun f -> fun (a, b) -> f a b
 * so the optimiser sees function and call together. Arguments are laid out as
 * slots by the type's Desc. Arrays of the host get a header whose data pointer
 * is the host's, with counts like any other object, so code never writes to
 * them; results are read in place.
 *
 * A handle has room for two results, the host's and the one that is being made: an
 * argument may be (a part of) the last result, as in `w = step(w)`. Where the host
 * gives up such an argument, its arrays are moved into the call, and updated in
 * place if nothing else holds them. */
#include "api/handles.h"
#include "api/pipeline.h"
#include <string.h>

/* ---- Looking up --------------------------------------------------------------------- */
typedef struct GetCall {
  const char *expression, *type;
  AtledFunction *f;
} GetCall;

static int count_arrows(Type *t) {
  int n = 0;
  for (t = type_repr(t); t->kind == TY_FUN; t = type_repr(t->args[1])) n++;
  return n;
}

/* The source of the closure described above. Where no type is given the annotation stands for any. */
static const char *wrap(AtledVM *vm, const GetCall *c, int arity) {
  Str s = {.arena = &vm->scratch}, params = {.arena = &vm->scratch}, args = {.arena = &vm->scratch};
  for (int i = 0; i < arity; i++) {
    str_printf(&params, "%sa%d", i ? ", " : "", i);
    str_printf(&args, " a%d", i);
  }
  str_printf(&s, "(%s\n : %s)", c->expression, c->type ? c->type : "'looked_up");
  if (arity) str_printf(&s, "\n |> (fun f -> fun (%s) -> f%s)", params.data, args.data);
  return s.data;
}

/* The host's expression with its type, if the program is just that. NULL: something closes the bracket around it, or is
 * more than one expression. */
static const Expr *wrapped(const Program *p, int arity) {
  if (p->items.len != 1 || p->items.data[0]->kind != I_EXPR) return NULL;
  const Expr *e = p->items.data[0]->expr;
  if (arity && (e->kind != E_BINARY || e->op != BIN_PIPE)) return NULL;
  if (arity) e = e->args[0];
  return e->kind == E_ANNOT ? e : NULL;
}

static const Desc *desc_of(AtledVM *vm, IrType *t) {
  const Desc *d = rt_desc(&vm->rt, lower_desc(vm->world, t));
  if (!d) heap_out_of_memory(&vm->heap);
  return d;
}

static bool has_pointers(const Desc *d) {
  for (int i = 0; i < d->nslots; i++)
    if (d->slots[i] == SLOT_PTR) return true;
  return false;
}

static void lay_out(AtledFunction *f, IrType *t, AtledVM *vm) {
  if (f->arity) {
    f->param = desc_of(vm, t->args[0]);
    f->result = desc_of(vm, t->args[1]);
    f->pointers = has_pointers(f->param);
    f->args = NEW_ARRAY(&f->arena, Slot, f->param->nslots + 1);
    f->moved = NEW_ARRAY(&f->arena, bool, f->param->nslots + 1);
    f->homes = NEW_ARRAY(&f->arena, int, f->param->nslots + 1);
  } else {
    f->result = desc_of(vm, t);
  }
  f->result_pointers = has_pointers(f->result);
  f->last->slots = NEW_ARRAY(&f->arena, Slot, f->result->nslots + 1);
  f->next->slots = NEW_ARRAY(&f->arena, Slot, f->result->nslots + 1);
  f->simple_result = value_is_simple(f->result);
  f->scalars = plain_kinds(f);
}

/* The place with a source of the handle's own, if the entry read its source. */
static void keep_place(AtledFunction *f, Span *at) {
  AtledVM *vm = f->vm;
  if (at->source < f->first_source || sources_get(&vm->sources, at->source)->library) return;
  for (int i = 0; i < f->loans.len; i++)
    if (f->loans.data[i].of == at->source) {
      at->source = f->loans.data[i].as;
      return;
    }
  Loan loan = {at->source, 0};
  vec_push(&f->arena, f->loans, loan);
  at->source = f->loans.data[f->loans.len - 1].as = sources_lend(&vm->loans, &vm->sources, at->source, &f->arena);
}

/* What the entry made but for the unit goes at its end: errors of later calls are shown in the handle's sources. */
static void keep_places(AtledFunction *f) {
  keep_place(f, &f->place);
  for (int k = 1; k < f->unit->nsites; k++) keep_place(f, &f->unit->sites[k].at);
}

/* The number of arguments, from the given type or the one that the expression has. */
static AtledStatus find_arity(AtledVM *vm, const GetCall *c, int *arity) {
  Type *type = NULL;
  if (!c->type) {
    AtledStatus status = inspect_type(vm, c->expression, &type);
    if (status == ATLED_OK) *arity = count_arrows(type);
    return status;
  }
  type = checker_parse_type(vm->checker, vm->main, &vm->diags, vm->lexer, c->type);
  if (report_diags(vm) || !type) return ATLED_COMPILE_ERROR;
  if (type_has_variables(type))
    return report_bad_argument(vm, "the type of a look-up has no type variables, as `%s` has", c->type);
  *arity = count_arrows(type);
  return ATLED_OK;
}

/* Checks the closure, and elaborates and optimises it as the plan's last step. */
static AtledStatus compile(AtledVM *vm, const GetCall *c, Plan *plan) {
  AtledFunction *f = c->f;
  const char *text = wrap(vm, c, f->arity);
  if (plan_front(vm, "<expression>", text, strlen(text), plan) != ATLED_OK) return ATLED_COMPILE_ERROR;
  const Expr *e = wrapped(plan->program, f->arity);
  if (!e) {
    plan_take_back(vm, plan, plan->first_item);
    return report_bad_argument(vm, "not an expression: %s", c->expression);
  }
  signature_note(f, e->type, e->args[0]);
  AtledStatus status = plan_elaborate(vm, plan, REPORT_NONE);
  if (status != ATLED_OK) return status;
  status = plan_optimise(vm, plan, NULL);
  plan_take_back(vm, plan, plan->first_item);
  f->place = (Span){plan->program->source, 1, 1 + (uint32_t)strlen(c->expression)};
  return status;
}

AtledStatus handle_look_up(AtledFunction *f, const char *expression, const char *type) {
  AtledVM *vm = f->vm;
  GetCall c = {expression, type, f};
  Plan plan;
  f->first_source = (uint32_t)vm->sources.all.len;
  AtledStatus status = find_arity(vm, &c, &f->arity);
  if (status == ATLED_OK) status = compile(vm, &c, &plan);
  if (status != ATLED_OK) return status;
  Step *s = &plan.steps.data[plan.steps.len - 1];
  IrType *t = s->elab.graph->result->type;
  lay_out(f, s->elab.effect ? t->args[0] : t, vm);
  LowerEntry entry = {.graph = s->final};
  f->unit = run_unit(vm, &entry, 1);
  if (!f->unit) return ATLED_COMPILE_ERROR;
  run_unit_hold(f->unit);
  Slot *value = f->arity ? &f->value : f->last->slots;
  if (run_begin(vm) != 0 || run_function(vm, f->unit, entry.func, NULL, value) != 0)
    return report_runtime_error(vm, f->place);
  f->last->filled = f->arity == 0;
  keep_places(f);
  return ATLED_OK;
}

static AtledStatus get_body(AtledVM *vm, void *arg) {
  (void)vm;
  const GetCall *c = arg;
  return handle_look_up(c->f, c->expression, c->type);
}

static AtledStatus no_memory(AtledVM *vm, void *unused) {
  (void)unused;
  heap_out_of_memory(&vm->heap);
}

AtledStatus handle_no_memory(AtledVM *vm) { return vm_call_unlimited(vm, no_memory, NULL); }

AtledFunction *handle_new(AtledVM *vm) {
  AtledFunction *f = heap_realloc(&vm->heap, NULL, 0, sizeof *f);
  if (!f) return NULL;
  memset(f, 0, sizeof *f);
  f->vm = vm;
  vm->handles++;
  arena_init(&f->arena, &vm->heap);
  f->last = &f->outcomes[0];
  f->next = &f->outcomes[1];
  arena_init(&f->last->trees, &vm->heap);
  arena_init(&f->next->trees, &vm->heap);
  return f;
}

AtledStatus atled_get(AtledVM *vm, const char *expression, const char *type, AtledFunction **out) {
  if (!vm) return ATLED_BAD_ARGUMENT;
  if (out) *out = NULL;
  if (vm->running) return vm_refuse(vm);
  if (!out) return vm_reject_null(vm, "the place for the handle");
  if (!expression) return vm_reject_null(vm, "the expression");
  AtledFunction *f = handle_new(vm);
  if (!f) return handle_no_memory(vm);
  GetCall c = {expression, type, f};
  AtledStatus status = vm_call(vm, get_body, &c);
  if (status != ATLED_OK) {
    atled_release(f);
    return status;
  }
  *out = f;
  return ATLED_OK;
}

/* What the host's values point to, besides what the slots hold. */
static void forget_trees(AtledVM *vm, Outcome *o) {
  if (o->entries.at) rt_tree_entries_free(&vm->rt, &o->entries);
  if (o->trees.blocks) arena_free(&o->trees);
  o->entries.at = NULL;
  memset(&o->blocks, 0, sizeof o->blocks);
  o->sorted = o->kept = o->lost = false;
}

void handle_drop_outcome(AtledFunction *f, Outcome *o) {
  if (o->filled && f->result_pointers) run_release_slots(f->vm, f->result, o->slots);
  o->filled = false;
  forget_trees(f->vm, o);
  run_unit_drop(f->vm, o->unit);
  o->unit = NULL;
}

void handle_free(AtledFunction *f) {
  AtledVM *vm = f->vm;
  handle_drop_outcome(f, f->last);
  handle_drop_outcome(f, f->next);
  rt_release(&vm->rt, f->value.p);
  for (int i = 0; i < f->loans.len; i++)
    if (f->loans.data[i].as) sources_take_back(&vm->loans, f->loans.data[i].as);
  run_unit_drop(vm, f->unit);
  arena_free(&f->arena);
  heap_realloc(&vm->heap, f, sizeof *f, 0);
  vm->handles--;
}

void atled_release(AtledFunction *f) {
  if (!f || f->vm->running) return;
  AtledVM *vm = f->vm;
  native_release(&f->native);
  handle_free(f);
  if (vm->closing) atled_free(vm);
}

int atled_arity(const AtledFunction *f) { return f ? f->arity : 0; }

/* ---- Calling ------------------------------------------------------------------------------ */
typedef struct CallArgs {
  AtledFunction *f;
  const AtledValue *args;
  int nargs;
  const double *numbers; /* instead of args */
  AtledValue *result;
  double *number;
  AtledValue *into;
  int given_up; /* the argument in whose place the result goes; -1: none */
  bool moved;   /* a part of the last result was given to the call */
} CallArgs;

static AtledStatus put_numbers(AtledVM *vm, const CallArgs *c) {
  const AtledFunction *f = c->f;
  const Desc *d = f->param;
  for (int i = 0; i < c->nargs; i++)
    if (d->nslots != c->nargs || d->slots[i] != SLOT_FLOAT)
      return report_bad_argument(vm, "argument %d: the function doesn't take floats alone", i + 1);
  memcpy(f->args, c->numbers, sizeof *c->numbers * (size_t)c->nargs);
  return ATLED_OK;
}

/* Is the array in its own block, and held by the last result and the argument alone? */
static bool is_theirs_alone(const Obj *p) {
  const ArrayObj *a = (const ArrayObj *)(const void *)p;
  uintptr_t data = (uintptr_t)a->data, block = (uintptr_t)a;
  return p->desc->kind == D_ARRAY && p->rc == 2 && !a->owner && data >= block && data < block + a->bytes;
}

/* An array that the function takes, and that the last result holds otherwise, leaves that. */
static void move_slot(CallArgs *c, int k) {
  AtledFunction *f = c->f;
  Obj *p = f->args[k].p;
  for (int i = 0; i < f->result->nslots; i++) {
    Slot *s = &f->last->slots[i];
    if (f->result->slots[i] != SLOT_PTR || s->p != p || !is_theirs_alone(p)) continue;
    rt_release(&f->vm->rt, p);
    s->p = NULL;
    f->moved[k] = c->moved = true;
    f->homes[k] = i;
    return;
  }
}

static void move_argument(CallArgs *c, int first, int nslots) {
  const AtledFunction *f = c->f;
  for (int k = first; k < first + nslots; k++)
    if (f->param->slots[k] == SLOT_PTR && rt_is_object(f->args[k].p) && rt_takes(f->value.p, k)) move_slot(c, k);
}

AtledStatus handle_wrong_arity(const AtledFunction *f, int nargs) {
  return report_bad_argument(f->vm, "the function takes %d argument%s, not %d", f->arity, f->arity == 1 ? "" : "s",
                             nargs);
}

static AtledStatus put_arguments(AtledVM *vm, CallArgs *c) {
  AtledFunction *f = c->f;
  if (c->nargs != f->arity) return handle_wrong_arity(f, c->nargs);
  if (!c->numbers && !c->args) return report_bad_argument(vm, "the array of arguments is NULL");
  if (c->numbers) return put_numbers(vm, c);
  int at = 0, first = 0, nslots = 0;
  for (int i = 0; i < f->arity; i++) {
    const Desc *d = f->arity > 1 ? f->param->args[i] : f->param;
    ValuePlace here = {NULL, PLACE_ARGUMENT, 0, i, NULL, NULL};
    AtledStatus status = value_put_argument(f, NULL, &here, d, &c->args[i], f->args + at);
    if (status != ATLED_OK) return status;
    if (i == c->given_up) first = at, nslots = d->nslots;
    at += d->nslots;
  }
  if (nslots && f->last->filled && f->pointers) move_argument(c, first, nslots);
  return ATLED_OK;
}

static AtledStatus run_handle(AtledVM *vm, CallArgs *c) {
  AtledFunction *f = c->f;
  AtledStatus status = put_arguments(vm, c);
  if (status != ATLED_OK) return status;
  const bool *moved = c->moved ? f->moved : NULL;
  if (run_begin(vm) != 0 || run_closure(vm, f->unit, f->value.p, f->args, moved, f->param->nslots, f->next->slots) != 0)
    return report_runtime_error(vm, f->place);
  f->next->filled = true;
  return ATLED_OK;
}

static AtledStatus call_body(AtledVM *vm, void *arg) {
  CallArgs *c = arg;
  AtledFunction *f = c->f;
  alarm_set(vm);
  if (vm->reports.len || vm->out_of_memory) report_reset(vm);
  if (c->number && !(f->result->nslots == 1 && f->result->slots[0] == SLOT_FLOAT))
    return report_bad_argument(vm, "the function's result isn't a float");
  if (!f->arity && c->nargs) return report_bad_argument(vm, "this is no function, and takes no arguments");
  Outcome *o = f->arity ? f->next : f->last;
  AtledStatus status = f->arity ? run_handle(vm, c) : ATLED_OK;
  if (status != ATLED_OK) return status;
  if (c->into) return value_write(vm, f->result, o->slots, c->into);
  if (!f->arity) forget_trees(vm, o); /* a constant's values are made anew at each call */
  if (c->result && !value_get(&vm->rt, o, &vm->lowering, f->result, o->slots, c->result))
    return report_runtime_error(vm, f->place);
  if (c->number) *c->number = o->slots[0].f;
  return ATLED_OK;
}

/* What was moved out of the last result goes back, unless the function has got it. */
static void take_back(AtledFunction *f) {
  for (int k = 0; k < f->param->nslots; k++) {
    if (!f->moved[k]) continue;
    f->moved[k] = false;
    if (!f->args[k].p) f->last->lost = true;
    else f->last->slots[f->homes[k]] = f->args[k];
    f->args[k].p = NULL;
  }
}

/* However the call ended, also by running out of memory in its midst: what it was given goes, and one of the two
 * results. */
static AtledStatus call_handle(CallArgs *c) {
  AtledFunction *f = c->f;
  if (f->vm->closing) return ATLED_BAD_ARGUMENT;
  if (f->vm->running) return vm_refuse(f->vm);
  if (f->pointers) memset(f->args, 0, sizeof *f->args * (size_t)f->param->nslots);
  AtledStatus status = vm_call_quick(f->vm, call_body, c);
  if (c->moved) take_back(f);
  if (f->pointers) run_release_slots(f->vm, f->param, f->args);
  if (status == ATLED_OK && !c->into && f->arity) {
    Outcome *before = f->last;
    f->last = f->next;
    f->next = before;
  }
  if (status == ATLED_OK || f->arity) handle_drop_outcome(f, f->next);
  return status;
}

/* The argument whose place is the result's, or -1. */
static int find_given_up(const AtledValue *args, int nargs, const AtledValue *result) {
  uintptr_t first = (uintptr_t)args, at = (uintptr_t)result;
  if (!args || !result || nargs <= 0 || at < first || (at - first) % sizeof *args != 0) return -1;
  return (at - first) / sizeof *args < (uintptr_t)nargs ? (int)((at - first) / sizeof *args) : -1;
}

AtledStatus atled_call(AtledFunction *f, const AtledValue *args, int nargs, AtledValue *result) {
  if (!f) return ATLED_BAD_ARGUMENT;
  if (plain_call(f, args, nargs, result)) return ATLED_OK;
  AtledValue made; /* whose making may fail */
  CallArgs c = {.f = f, .args = args, .nargs = nargs, .result = result};
  c.given_up = find_given_up(args, nargs, result);
  if (result && !f->simple_result) c.result = &made;
  AtledStatus status = call_handle(&c);
  if (status == ATLED_OK && c.result == &made) *result = made;
  else if (c.moved && f->last->lost) *result = (AtledValue){0};
  return status;
}

AtledStatus atled_call_double(AtledFunction *f, const double *args, int nargs, double *result) {
  static const double none[1];
  if (!f) return ATLED_BAD_ARGUMENT;
  if (!args && nargs > 0) return vm_reject_null(f->vm, "the array of arguments");
  if (plain_call_floats(f, args, nargs, result)) return ATLED_OK;
  CallArgs c = {.f = f, .numbers = args ? args : none, .nargs = nargs, .number = result, .given_up = -1};
  return call_handle(&c);
}

AtledStatus atled_call_into(AtledFunction *f, const AtledValue *args, int nargs, AtledValue *into) {
  if (!f) return ATLED_BAD_ARGUMENT;
  if (!into) return vm_reject_null(f->vm, "the place for the result");
  CallArgs c = {.f = f, .args = args, .nargs = nargs, .into = into, .given_up = -1};
  return call_handle(&c);
}
