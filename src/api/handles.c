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
 * argument may be (a part of) the last result, as in `w = step(w)`. Arrays of
 * that are given as views, which keep it alive where the new result refers to it. */
#include "api/pipeline.h"
#include <string.h>

/* A result as the host has it. */
typedef struct Outcome {
  Slot *slots;
  bool filled; /* they hold references */
  Arena trees; /* what AtledValues of it point to */
} Outcome;

/* A source that the handle has a copy of. */
typedef struct Loan {
  uint32_t of, as; /* ids; as 0: it wasn't made, for want of memory */
} Loan;

struct AtledFunction {
  AtledVM *vm;
  Unit *unit;
  Slot value; /* the closure; arity 0: none, its value is last */
  int arity;
  const Desc *param; /* a D_TUPLE when arity > 1 */
  const Desc *result;
  Slot *args;
  Outcome last, next;    /* the host's; the one of the call that is running */
  Span place;            /* of the expression */
  Arena arena;           /* of the handle */
  uint32_t first_source; /* of the entry that made it */
  Vec(Loan) loans;
};

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

/* The source of the closure described above. */
static const char *wrap(AtledVM *vm, const GetCall *c, int arity) {
  Str s = {.arena = &vm->scratch}, params = {.arena = &vm->scratch}, args = {.arena = &vm->scratch};
  for (int i = 0; i < arity; i++) {
    str_printf(&params, "%sa%d", i ? ", " : "", i);
    str_printf(&args, " a%d", i);
  }
  str_printf(&s, "(%s\n : %s)", c->expression, c->type);
  if (arity) str_printf(&s, "\n |> (fun f -> fun (%s) -> f%s)", params.data, args.data);
  return s.data;
}

/* Is the program one expression of the host's, with its type? What closes the bracket around it, or is more than one
 * expression, is something else. */
static bool is_wrapped(const Program *p, int arity) {
  if (p->items.len != 1 || p->items.data[0]->kind != I_EXPR) return false;
  const Expr *e = p->items.data[0]->expr;
  if (arity && (e->kind != E_BINARY || e->op != BIN_PIPE)) return false;
  return (arity ? e->args[0] : e)->kind == E_ANNOT;
}

static const Desc *desc_of(AtledVM *vm, IrType *t) {
  const Desc *d = rt_desc(&vm->rt, lower_desc(vm->world, t));
  if (!d) heap_out_of_memory(&vm->heap);
  return d;
}

static void lay_out(AtledFunction *f, IrType *t, AtledVM *vm) {
  if (f->arity) {
    f->param = desc_of(vm, t->args[0]);
    f->result = desc_of(vm, t->args[1]);
    f->args = NEW_ARRAY(&f->arena, Slot, f->param->nslots + 1);
  } else {
    f->result = desc_of(vm, t);
  }
  f->last.slots = NEW_ARRAY(&f->arena, Slot, f->result->nslots + 1);
  f->next.slots = NEW_ARRAY(&f->arena, Slot, f->result->nslots + 1);
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

static AtledStatus get_body(AtledVM *vm, void *arg) {
  GetCall *c = arg;
  AtledFunction *f = c->f;
  f->first_source = (uint32_t)vm->sources.all.len;
  Type *type = checker_parse_type(vm->checker, vm->main, &vm->diags, vm->lexer, c->type);
  if (report_diags(vm) || !type) return ATLED_COMPILE_ERROR;
  if (type_has_variables(type))
    return report_bad_argument(vm, "the type of a look-up has no type variables, as `%s` has", c->type);
  f->arity = count_arrows(type);
  const char *text = wrap(vm, c, f->arity);
  Plan plan;
  AtledStatus status = plan_front(vm, "<expression>", text, strlen(text), &plan);
  if (status != ATLED_OK) return ATLED_COMPILE_ERROR;
  if (!is_wrapped(plan.program, f->arity)) {
    plan_take_back(vm, &plan, plan.first_item);
    return report_bad_argument(vm, "not an expression: %s", c->expression);
  }
  status = plan_elaborate(vm, &plan, REPORT_NONE);
  if (status != ATLED_OK) return status;
  status = plan_optimise(vm, &plan, NULL);
  plan_take_back(vm, &plan, plan.first_item);
  if (status != ATLED_OK) return status;
  Step *s = &plan.steps.data[plan.steps.len - 1];
  IrType *t = s->elab.graph->result->type;
  lay_out(f, s->elab.effect ? t->args[0] : t, vm);
  LowerEntry entry = {.graph = s->final};
  f->place = (Span){plan.program->source, 1, 1 + (uint32_t)strlen(c->expression)};
  f->unit = run_unit(vm, &entry, 1);
  if (!f->unit) return ATLED_COMPILE_ERROR;
  f->unit->held = true;
  Slot *value = f->arity ? &f->value : f->last.slots;
  if (run_begin(vm) != 0 || run_function(vm, f->unit, entry.func, NULL, value) != 0)
    return report_runtime_error(vm, f->place);
  f->last.filled = f->arity == 0;
  keep_places(f);
  return ATLED_OK;
}

static AtledStatus no_memory(AtledVM *vm, void *unused) {
  (void)unused;
  heap_out_of_memory(&vm->heap);
}

AtledStatus atled_get(AtledVM *vm, const char *expression, const char *type, AtledFunction **out) {
  if (!vm) return ATLED_BAD_ARGUMENT;
  if (out) *out = NULL;
  if (vm->running) return vm_refuse(vm);
  if (!out) return vm_reject_null(vm, "the place for the handle");
  if (!expression || !type) return vm_reject_null(vm, expression ? "the type" : "the expression");
  AtledFunction *f = heap_realloc(&vm->heap, NULL, 0, sizeof *f);
  if (!f) return vm_call_unlimited(vm, no_memory, NULL);
  memset(f, 0, sizeof *f);
  f->vm = vm;
  vm->handles++;
  arena_init(&f->arena, &vm->heap);
  arena_init(&f->last.trees, &vm->heap);
  arena_init(&f->next.trees, &vm->heap);
  GetCall c = {expression, type, f};
  AtledStatus status = vm_call(vm, get_body, &c);
  if (status != ATLED_OK) {
    atled_release(f);
    return status;
  }
  *out = f;
  return ATLED_OK;
}

static void drop(AtledFunction *f, Outcome *o) {
  if (o->filled) run_release_slots(f->vm, f->result, o->slots);
  o->filled = false;
  arena_free(&o->trees);
}

void atled_release(AtledFunction *f) {
  if (!f || f->vm->running) return;
  AtledVM *vm = f->vm;
  drop(f, &f->last);
  rt_release(&vm->rt, f->value.p);
  for (int i = 0; i < f->loans.len; i++)
    if (f->loans.data[i].as) sources_take_back(&vm->loans, f->loans.data[i].as);
  run_unit_free(vm, f->unit);
  arena_free(&f->arena);
  heap_realloc(&vm->heap, f, sizeof *f, 0);
  vm->handles--;
  if (vm->closing) atled_free(vm);
}

int atled_arity(const AtledFunction *f) { return f ? f->arity : 0; }

/* ---- Values in -------------------------------------------------------------------------- */
static const char *const kind_texts[] = {"unit",        "bool",      "int",   "float", "string",
                                         "float array", "int array", "tuple", "other"};

static AtledStatus misfit(AtledVM *vm, const AtledValue *v, const char *wanted) {
  bool known = v->kind >= ATLED_UNIT && v->kind <= ATLED_OTHER;
  return report_bad_argument(vm, "an argument is %s where %s is needed", known ? kind_texts[v->kind] : "of no kind",
                             wanted);
}

/* How many elements, none negative in number, and so few that sizes can't overflow. */
static AtledStatus count_elements(AtledVM *vm, const AtledValue *v, int64_t *count) {
  bool empty = false;
  int64_t n = 1;
  for (int i = 0; i < v->rank; i++) {
    if (v->dims[i] < 0) return report_bad_argument(vm, "an argument has dimension %lld", (long long)v->dims[i]);
    if (v->dims[i] && (__builtin_mul_overflow(n, v->dims[i], &n) || n > LIMIT_ELEMENTS))
      return report_bad_argument(vm, "an argument's dimensions are too large");
    empty |= v->dims[i] == 0;
  }
  *count = empty ? 0 : n;
  if (v->length && v->length != (size_t)*count)
    return report_bad_argument(vm, "an argument has length %zu, and dimensions of %lld elements", v->length,
                               (long long)*count);
  return *count && !v->as.floats ? report_bad_argument(vm, "an argument's elements are NULL") : ATLED_OK;
}

/* The array in a result that these elements are part of, or NULL. */
static ArrayObj *array_around(const Desc *d, const Slot *s, const Slot *data, int64_t count) {
  if (d->kind == D_ARRAY && d->rank <= ATLED_MAX_RANK && (d->args[0]->kind == D_FLOAT || d->args[0]->kind == D_INT)) {
    ArrayObj *a = (ArrayObj *)(void *)s->p;
    int64_t n = 1;
    for (int i = 0; i < d->rank; i++) n *= a->dims[i];
    bool within = (uintptr_t)data >= (uintptr_t)a->data && (uintptr_t)(data + count) <= (uintptr_t)(a->data + n);
    return within && ((uintptr_t)data - (uintptr_t)a->data) % sizeof *data == 0 ? a : NULL;
  }
  ArrayObj *found = NULL;
  for (int i = 0; d->kind == D_TUPLE && i < d->n && !found; i++) {
    found = array_around(d->args[i], s, data, count);
    s += d->args[i]->nslots;
  }
  return found;
}

/* A view of the last result, or a header over the host's elements. */
static AtledStatus put_array(AtledFunction *f, const Desc *d, const AtledValue *v, Slot *out) {
  AtledVM *vm = f->vm;
  DescKind base = d->args[0]->kind;
  bool fits = (v->kind == ATLED_FLOATS && base == D_FLOAT) || (v->kind == ATLED_INTS && base == D_INT);
  if (!fits || v->rank != d->rank) return misfit(vm, v, "an array of other elements or rank");
  if (v->rank > ATLED_MAX_RANK)
    return report_bad_argument(vm, "an argument has rank %d, and a host's arrays at most %d", v->rank, ATLED_MAX_RANK);
  int64_t none[ATLED_MAX_RANK] = {0}, count = 0;
  AtledStatus status = count_elements(vm, v, &count);
  if (status != ATLED_OK) return status;
  const Slot *data = (const Slot *)(const void *)v->as.floats;
  ArrayObj *around = f->last.filled && count ? array_around(f->result, f->last.slots, data, count) : NULL;
  if (around) {
    ArrayObj *view = rt_view(&vm->rt, d, around, data - around->data, v->dims);
    if (!view) return report_runtime_error(vm, (Span){0});
    out->p = &view->h;
    return ATLED_OK;
  }
  ArrayObj *a = rt_new_array(&vm->rt, d, none, false);
  if (!a) return report_runtime_error(vm, (Span){0});
  for (int i = 0; i < v->rank; i++) a->dims[i] = v->dims[i];
  a->data = (Slot *)(uintptr_t)v->as.floats;
  out->p = &a->h;
  return ATLED_OK;
}

static AtledStatus put_string(AtledVM *vm, const AtledValue *v, Slot *out) {
  if (v->kind != ATLED_STRING) return misfit(vm, v, "a string");
  if (!v->as.string) return report_bad_argument(vm, "an argument's string is NULL");
  size_t bad;
  if (!utf8_valid(v->as.string, v->length, &bad))
    return report_bad_argument(vm, "an argument's string isn't UTF-8: byte %zu", bad);
  out->p = rt_new_string(&vm->rt, v->as.string, v->length);
  return out->p ? ATLED_OK : report_runtime_error(vm, (Span){0});
}

static AtledStatus put(AtledFunction *f, const Desc *d, const AtledValue *v, Slot *out) {
  AtledVM *vm = f->vm;
  switch (d->kind) {
  case D_UNIT: return v->kind == ATLED_UNIT ? ATLED_OK : misfit(vm, v, "unit");
  case D_BOOL:
    if (v->kind != ATLED_BOOL) return misfit(vm, v, "a bool");
    out->i = v->as.boolean;
    return ATLED_OK;
  case D_INT:
    if (v->kind != ATLED_INT) return misfit(vm, v, "an int");
    out->i = v->as.integer;
    return ATLED_OK;
  case D_FLOAT:
    if (v->kind != ATLED_FLOAT) return misfit(vm, v, "a float");
    out->f = v->as.number;
    return ATLED_OK;
  case D_STRING: return put_string(vm, v, out);
  case D_ARRAY: return put_array(f, d, v, out);
  case D_TUPLE: {
    if (v->kind != ATLED_TUPLE || v->length != (size_t)d->n) return misfit(vm, v, "a tuple of another size");
    if (!v->as.items) return report_bad_argument(vm, "an argument's items are NULL");
    AtledStatus status = ATLED_OK;
    for (int i = 0; i < d->n && status == ATLED_OK; i++) {
      status = put(f, d->args[i], &v->as.items[i], out);
      out += d->args[i]->nslots;
    }
    return status;
  }
  default: return report_bad_argument(vm, "a host can't make a value of this type");
  }
}

/* ---- Values out ------------------------------------------------------------------------- */
static void get_array(const Desc *d, const Slot *s, AtledValue *v) {
  const ArrayObj *a = (const ArrayObj *)(const void *)s->p;
  v->kind = d->args[0]->kind == D_FLOAT ? ATLED_FLOATS : ATLED_INTS;
  v->rank = d->rank;
  v->length = 1;
  for (int i = 0; i < d->rank; i++) {
    v->dims[i] = a->dims[i];
    v->length *= (size_t)a->dims[i];
  }
  v->as.floats = (const double *)(const void *)a->data;
}

static void get(AtledFunction *f, Arena *trees, const Desc *d, const Slot *s, AtledValue *v) {
  *v = (AtledValue){0};
  switch (d->kind) {
  case D_UNIT: return;
  case D_BOOL: *v = atled_bool(s->i != 0); return;
  case D_INT: *v = atled_int(s->i); return;
  case D_FLOAT: *v = atled_float(s->f); return;
  case D_STRING: {
    const StringObj *text = (const StringObj *)(const void *)s->p;
    *v = (AtledValue){.kind = ATLED_STRING, .length = (size_t)text->len, .as.string = text->bytes};
    return;
  }
  case D_TUPLE: {
    AtledValue *items = NEW_ARRAY(trees, AtledValue, d->n);
    for (int i = 0; i < d->n; i++) {
      get(f, trees, d->args[i], s, &items[i]);
      s += d->args[i]->nslots;
    }
    *v = atled_tuple(items, (size_t)d->n);
    return;
  }
  default: break;
  }
  if (d->kind == D_ARRAY && d->rank <= ATLED_MAX_RANK && (d->args[0]->kind == D_FLOAT || d->args[0]->kind == D_INT)) {
    get_array(d, s, v);
    return;
  }
  Str text = {.arena = trees};
  v->kind = ATLED_OTHER;
  if (rt_show(&f->vm->rt, d, s, false, &text) != 0) rt_clear_error(&f->vm->rt);
  v->as.string = text.data ? text.data : "";
  v->length = text.len;
}

/* ---- Calling ------------------------------------------------------------------------------ */
typedef struct CallArgs {
  AtledFunction *f;
  const AtledValue *args;
  int nargs;
  const double *numbers; /* instead of args */
  AtledValue *result;
  double *number;
} CallArgs;

static AtledStatus put_arguments(AtledVM *vm, const CallArgs *c) {
  AtledFunction *f = c->f;
  if (c->nargs != f->arity)
    return report_bad_argument(vm, "the function takes %d arguments, not %d", f->arity, c->nargs);
  if (!c->numbers && !c->args) return report_bad_argument(vm, "the array of arguments is NULL");
  if (c->numbers) {
    const Desc *d = f->param;
    for (int i = 0; i < c->nargs; i++)
      if (d->nslots != c->nargs || d->slots[i] != SLOT_FLOAT)
        return report_bad_argument(vm, "an argument isn't a float");
    memcpy(f->args, c->numbers, sizeof *c->numbers * (size_t)c->nargs);
    return ATLED_OK;
  }
  Slot *out = f->args;
  AtledStatus status = ATLED_OK;
  for (int i = 0; i < f->arity && status == ATLED_OK; i++) {
    const Desc *d = f->arity > 1 ? f->param->args[i] : f->param;
    status = put(f, d, &c->args[i], out);
    out += d->nslots;
  }
  return status;
}

static AtledStatus call_body(AtledVM *vm, void *arg) {
  CallArgs *c = arg;
  AtledFunction *f = c->f;
  alarm_set(vm);
  if (vm->reports.len || vm->out_of_memory) report_reset(vm);
  if (c->number && !(f->result->nslots == 1 && f->result->slots[0] == SLOT_FLOAT))
    return report_bad_argument(vm, "the function's result isn't a float");
  if (!f->arity && c->nargs) return report_bad_argument(vm, "this is no function");
  Outcome *o = f->arity ? &f->next : &f->last;
  if (f->arity) {
    AtledStatus status = put_arguments(vm, c);
    if (status != ATLED_OK) return status;
    if (run_begin(vm) != 0 || run_closure(vm, f->unit, f->value.p, f->args, f->param->nslots, o->slots) != 0)
      return report_runtime_error(vm, f->place);
    o->filled = true;
  }
  arena_free(&o->trees);
  if (c->result) get(f, &o->trees, f->result, o->slots, c->result);
  if (c->number) *c->number = o->slots[0].f;
  return ATLED_OK;
}

/* However the call ended, also by running out of memory in its midst: what it was given goes, and one of the two
 * results. */
static AtledStatus call_handle(CallArgs *c) {
  AtledFunction *f = c->f;
  if (f->vm->closing) return ATLED_BAD_ARGUMENT;
  if (f->vm->running) return vm_refuse(f->vm);
  if (f->arity) memset(f->args, 0, sizeof *f->args * (size_t)f->param->nslots);
  AtledStatus status = vm_call_quick(f->vm, call_body, c);
  if (!f->arity) return status;
  run_release_slots(f->vm, f->param, f->args);
  if (status == ATLED_OK) {
    Outcome before = f->last;
    f->last = f->next;
    f->next = before;
  }
  drop(f, &f->next);
  return status;
}

AtledStatus atled_call(AtledFunction *f, const AtledValue *args, int nargs, AtledValue *result) {
  if (!f) return ATLED_BAD_ARGUMENT;
  AtledValue made; /* the arguments may stand where the result goes */
  CallArgs c = {.f = f, .args = args, .nargs = nargs, .result = result ? &made : NULL};
  AtledStatus status = call_handle(&c);
  if (result && status == ATLED_OK) *result = made;
  return status;
}

AtledStatus atled_call_double(AtledFunction *f, const double *args, int nargs, double *result) {
  static const double none[1];
  if (!f) return ATLED_BAD_ARGUMENT;
  if (!args && nargs > 0) return vm_reject_null(f->vm, "the array of arguments");
  CallArgs c = {.f = f, .numbers = args ? args : none, .nargs = nargs, .number = result};
  return call_handle(&c);
}

/* ---- Making values -------------------------------------------------------------------------- */
AtledValue atled_bool(bool b) { return (AtledValue){.kind = ATLED_BOOL, .as.boolean = b}; }
AtledValue atled_int(int64_t i) { return (AtledValue){.kind = ATLED_INT, .as.integer = i}; }
AtledValue atled_float(double x) { return (AtledValue){.kind = ATLED_FLOAT, .as.number = x}; }
AtledValue atled_string(const char *s) {
  return (AtledValue){.kind = ATLED_STRING, .length = s ? strlen(s) : 0, .as.string = s};
}
AtledValue atled_floats(const double *data, size_t n) {
  return (AtledValue){.kind = ATLED_FLOATS, .rank = 1, .dims = {(int64_t)n}, .length = n, .as.floats = data};
}
AtledValue atled_matrix(const double *data, size_t rows, size_t columns) {
  return (AtledValue){.kind = ATLED_FLOATS,
                      .rank = 2,
                      .dims = {(int64_t)rows, (int64_t)columns},
                      .length = rows * columns,
                      .as.floats = data};
}
AtledValue atled_tuple(const AtledValue *items, size_t n) {
  return (AtledValue){.kind = ATLED_TUPLE, .length = n, .as.items = items};
}
