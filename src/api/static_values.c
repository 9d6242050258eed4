/* SPDX-License-Identifier: MIT */
/* Computes the values of `static` for the compiler (World.evaluator).
 *
 *   graph without parameters ─ optimise, differentiate, lower ─ run in the evaluator ─ value ─► constant
 *
 * Globals that have run already, at the prompt, are read likewise. The value is read back as nodes of the graph:
 * numbers, strings, tuples, constructors, and arrays of them. What fails, takes too many instructions, or is too large
 * gets no constant; a warning says why, and the program computes it when it runs. An interrupt, the end of the time or
 * of memory ends the compilation, as if it had come between two passes. */
#include "api/pipeline.h"
#include "runtime/runtime.h"
#include <setjmp.h>
#include <string.h>

/* ---- From values to constants ------------------------------------------------------------------------------------ */
typedef struct Reading {
  World *w;
  int64_t parts;   /* that may still be read */
  int depth;       /* of constructors around */
  const char *why; /* it can't be read; NULL: it can */
} Reading;

static Node *refuse(Reading *r, const char *why) {
  if (!r->why) r->why = why;
  return NULL;
}

static bool takes(Reading *r, int64_t parts) {
  if (parts <= r->parts) {
    r->parts -= parts;
    return true;
  }
  refuse(r, "its value is too large for a constant");
  return false;
}

static Node *read_value(Reading *r, IrType *t, const Slot **at);

static Node *read_string(Reading *r, const StringObj *s) {
  return takes(r, s->len) ? ir_string(r->w, sym_intern(r->w->syms, s->bytes, (size_t)s->len)) : NULL;
}

static Node *read_tuple(Reading *r, IrType *t, const Slot **at) {
  Node **xs = NEW_ARRAY(r->w->arena, Node *, t->n + 1);
  for (int k = 0; k < t->n; k++)
    if (!(xs[k] = read_value(r, t->args[k], at))) return NULL;
  return ir_tuple(r->w, t, xs);
}

/* The rows of an array's elements, and what is no number of them. */
typedef struct Elements {
  int64_t *slots;
  Nodes ops;
} Elements;

static bool read_element(Reading *r, IrType *t, const Slot **at, Elements *out) {
  if (t->kind == T_UNIT) return true;
  if (t->kind == T_TUPLE) {
    for (int k = 0; k < t->n; k++)
      if (!read_element(r, t->args[k], at, out)) return false;
    return true;
  }
  if (ir_is_number(t)) {
    *out->slots++ = (*at)++->i;
    return true;
  }
  Node *x = read_value(r, t, at);
  if (!x) return false;
  *out->slots++ = 0;
  vec_push(r->w->arena, out->ops, x);
  return true;
}

static Node *read_array(Reading *r, IrType *t, const ArrayObj *a) {
  World *w = r->w;
  int rank = ir_rank(t);
  int64_t n = 1, *dims = NEW_ARRAY(w->arena, int64_t, rank);
  for (int k = 0; k < rank; k++) n *= dims[k] = a->dims[k];
  int64_t nslots = n * a->h.desc->args[0]->nslots;
  if (!takes(r, nslots)) return NULL;
  Elements e = {.slots = NEW_ARRAY(w->arena, int64_t, nslots + 1)};
  int64_t *slots = e.slots;
  const Slot *at = a->data;
  for (int64_t i = 0; i < n; i++) {
    heap_look_at(w->arena->heap, (uint32_t)i);
    if (!read_element(r, ir_base(t), &at, &e)) return NULL;
  }
  return ir_constant_array(w, t, dims, slots, nslots, e.ops.data, e.ops.len);
}

static Node *read_variant(Reading *r, IrType *t, const Obj *p) {
  if (!t->nctors) return refuse(r, "its value is no data");
  if (!takes(r, 1)) return NULL;
  if (r->depth == LIMIT_STATIC_NESTING) return refuse(r, "its value is nested too deep for a constant");
  int tag = (int)rt_tag(p);
  if (!rt_is_object(p)) return ir_inj(r->w, t, tag, NULL);
  const Slot *fields = ((const BoxObj *)p)->fields;
  r->depth++;
  Node *payload = read_value(r, t->ctors[tag].payload, &fields);
  r->depth--;
  return payload ? ir_inj(r->w, t, tag, payload) : NULL;
}

/* The value in slots from *at on, which it moves behind them; NULL: see Reading.why. */
static Node *read_value(Reading *r, IrType *t, const Slot **at) {
  switch (t->kind) {
  case T_UNIT: return ir_unit(r->w);
  case T_INT: return ir_int(r->w, (*at)++->i);
  case T_FLOAT: return ir_float(r->w, (*at)++->f);
  case T_BOOL: return ir_bool(r->w, (*at)++->i != 0);
  case T_STRING: return read_string(r, (const StringObj *)(*at)++->p);
  case T_TUPLE: return read_tuple(r, t, at);
  case T_ARRAY: return read_array(r, t, (const ArrayObj *)(*at)++->p);
  case T_VARIANT: return read_variant(r, t, (*at)++->p);
  default: return refuse(r, "its value is no data");
  }
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */
/* Adds a warning, once for a place of the program. */
static void warn(AtledVM *vm, Site site, const char *why) {
  const SiteInfo *place = ir_shown_place(vm->world, site);
  for (int i = 0; i < vm->diags.all.len; i++) {
    const Diag *d = &vm->diags.all.data[i];
    if (d->at.source == place->at.source && d->at.start == place->at.start && !strcmp(d->code, "static")) return;
  }
  diag_warning(&vm->diags, place->at, "static", "`static` makes no constant of this: %s", why)->hint =
      "it is computed when the program runs";
}

/* After a run that failed: warns, or ends the compilation where memory or the time has ended, or somebody interrupts.
 * The error is gone. */
static void give_up(AtledVM *vm, bool over, Site site) {
  ErrorKind kind = (ErrorKind)vm->rt.error.kind;
  char why[sizeof vm->rt.error.message + 16];
  if (over) snprintf(why, sizeof why, "it takes more than %d instructions", LIMIT_STATIC_STEPS);
  else snprintf(why, sizeof why, "it fails: %s", vm->rt.error.message);
  rt_clear_error(&vm->rt);
  if (kind == ERR_MEMORY) heap_out_of_memory(&vm->heap);
  bool stopped = !over && (kind == ERR_INTERRUPT || kind == ERR_TIME);
  if (stopped) rt_interrupt(&vm->rt, kind == ERR_INTERRUPT ? RT_INTERRUPTED : RT_CLOCK);
  heap_look(&vm->heap);
  warn(vm, site, why);
}

/* Reads and releases the value, also where memory or time ends meanwhile. */
static Node *read_result(AtledVM *vm, IrType *type, const Desc *desc, Slot *res, Site site) {
  Heap *heap = &vm->heap;
  Reading r = {.w = vm->world, .parts = LIMIT_STATIC_PARTS};
  const Slot *at = res;
  jmp_buf here, *volatile outer = heap->on_oom;
  Node *volatile value = NULL;
  bool jumped = setjmp(here) != 0;
  if (!jumped) {
    heap->on_oom = &here;
    value = read_value(&r, type, &at);
    if (!value) warn(vm, site, r.why);
  }
  heap->on_oom = outer;
  run_release_slots(vm, desc, res);
  if (jumped) heap_out_of_memory(heap);
  return value;
}

static Node *run(AtledVM *vm, Unit *u, const LFunc *f, IrType *type, Site site) {
  World *w = vm->world;
  Slot *res = NEW_ARRAY(w->arena, Slot, f->nresults + 1);
  const Desc *desc = lower_desc(w, type);
  const int32_t *alarm = vm->heap.alarm;
  bool over;
  vm->heap.alarm = NULL; /* the runtime looks for it itself, and nothing may jump over what it does */
  Status status = run_evaluated(vm, u, f, LIMIT_STATIC_STEPS, &over, res);
  vm->heap.alarm = alarm;
  if (status == 0) return read_result(vm, type, desc, res, site);
  give_up(vm, over, site);
  return NULL;
}

/* The graph's last stage; NULL: it takes a derivative of what has none, which the program's own graph will report. */
static Graph *compile(AtledVM *vm, Graph *g, int nrules) {
  World *w = vm->world;
  OptStages *s = NEW(w->arena, OptStages);
  const void *outer = w->watch ? w->watch->entry : NULL;
  *s = (OptStages){.built = g, .nrules = nrules};
  opt_before_derivatives(w, s);
  s->rules = elab_rules(vm->elab, s->optimised, s->pool);
  opt_derivatives_and_after(w, s);
  if (w->watch) w->watch->entry = outer;
  return s->final;
}

static Node *static_value(void *user, Graph *g, int nrules, Site site) {
  AtledVM *vm = user;
  Graph *final = compile(vm, g, nrules);
  if (!(final->result->flags & NODE_VARIES)) return final->result;
  LowerEntry entry = {.graph = final};
  int reports = vm->reports.len, first = vm->first_error;
  Unit *u = run_unit(vm, &entry, 1);
  if (!u) { /* the program has the same graph, and will have the same error */
    vm->reports.len = reports;
    vm->first_error = first;
    return NULL;
  }
  Node *value = run(vm, u, entry.func, g->result->type, site);
  run_unit_free(vm, u);
  return value;
}

/* Of an item that has run: no item that is compiled with it is asked for. */
static Node *global_value(void *user, int k) {
  AtledVM *vm = user;
  const Global *g = k < vm->globals.len ? vm->globals.data[k] : NULL;
  Reading r = {.w = vm->world, .parts = LIMIT_STATIC_PARTS};
  const Slot *at = g ? g->slots : NULL;
  return g && g->set ? read_value(&r, vm->world->globals.data[k].type, &at) : NULL;
}

void static_values_begin(AtledVM *vm) {
  vm->world->evaluator.value = static_value;
  vm->world->evaluator.global = global_value;
  vm->world->evaluator.user = vm;
}
