/* SPDX-License-Identifier: MIT */
/* The general form of native pointers: scalars, and arrays with dimensions.
 *
 *   AtledNativeArg[] ──► slots, headers over the host's elements ──► entry ──► slots ──► the host's buffers
 *
 * A parameter's slots are its type's scalars and arrays in order, so a slot is an argument. Headers lie in the context,
 * and their counts are immortal: code never changes them, and copies what it updates. A result that is one of them, or
 * a view of one, is copied before buffers are written, since these may be the same memory. */
#include "api/handles.h"
#include <string.h>

/* ---- Types ------------------------------------------------------------------------------------------------------- */
static bool is_number(const Desc *d) { return d->kind == D_INT || d->kind == D_FLOAT; }

/* Are its slots numbers of the host? */
static bool is_element(const Desc *d) {
  if (d->kind != D_TUPLE) return is_number(d);
  for (int k = 0; k < d->n; k++)
    if (!is_element(d->args[k])) return false;
  return d->nslots > 0;
}

static bool fits(const Desc *d) {
  if (d->kind == D_ARRAY) return is_element(d->args[0]);
  if (d->kind != D_TUPLE) return is_number(d) || d->kind == D_BOOL || d->kind == D_UNIT;
  for (int k = 0; k < d->n; k++)
    if (!fits(d->args[k])) return false;
  return true;
}

bool general_fits(const AtledFunction *f) { return fits(f->param) && fits(f->result); }

static size_t header_bytes(const Desc *d) { return sizeof(ArrayObj) + sizeof(int64_t) * (size_t)d->rank; }

/* Adds the leaves of d at `to`; *lent: bytes of headers so far. */
static Leaf *flatten(const Desc *d, Leaf *to, size_t *lent) {
  if (d->kind == D_UNIT) return to;
  if (d->kind != D_TUPLE) {
    *to = (Leaf){d, *lent};
    if (d->kind == D_ARRAY) *lent += header_bytes(d);
    return to + 1;
  }
  for (int k = 0; k < d->n; k++) to = flatten(d->args[k], to, lent);
  return to;
}

void general_prepare(Pin *p, const AtledFunction *f) {
  size_t unused = 0;
  if (!general_fits(f)) return;
  p->leaves = NEW_ARRAY(&p->arena, Leaf, f->result->nslots + 1);
  flatten(f->result, p->leaves, &unused);
  p->params = NEW_ARRAY(&p->arena, Leaf, f->param->nslots + 1);
  flatten(f->param, p->params, &p->lent);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */
static const char *shape_text(char (*text)[200], int rank, const int64_t *dims) {
  size_t at = 0;
  **text = 0;
  for (int k = 0; k < rank && at < sizeof *text; k++)
    at += (size_t)snprintf(*text + at, sizeof *text - at, "%s%lld", k ? " x " : "", (long long)dims[k]);
  return *text;
}

#define BAD(c, ...) (rt_error(&(c)->rt, ERR_SHAPE, 0, __VA_ARGS__), false)

static int32_t fail(Context *c, int32_t status) {
  context_failed(c, c->of);
  return status;
}

static int32_t fail_running(Context *c) {
  return fail(c, c->rt.error.kind == ERR_MEMORY ? ATLED_NO_MEMORY : ATLED_RUNTIME_ERROR);
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */
static bool put_array(Context *c, size_t k, const AtledNativeArg *v) {
  const Desc *d = c->of->params[k].desc;
  ArrayObj *a = c->args[k].raw;
  if (!v->dims) return BAD(c, "argument %zu: the dimensions are NULL", k + 1);
  int64_t count = value_count(d->rank, v->dims);
  if (count == -1) return BAD(c, "argument %zu: a dimension is negative", k + 1);
  if (count < 0) return BAD(c, "argument %zu: an array of so many elements is too large", k + 1);
  if (count && !v->as.data) return BAD(c, "argument %zu: the array is NULL", k + 1);
  a->data = (Slot *)(uintptr_t)v->as.data;
  memcpy(a->dims, v->dims, sizeof *a->dims * (size_t)d->rank);
  return true;
}

static bool put_arguments(Context *c, const Pin *p, const AtledNativeArg *args) {
  for (size_t k = 0; k < p->nargs; k++) {
    DescKind kind = p->params[k].desc->kind;
    if (kind == D_FLOAT) c->args[k].f = args[k].as.number;
    else if (kind != D_ARRAY) c->args[k].i = kind == D_BOOL ? args[k].as.integer != 0 : args[k].as.integer;
    else if (!put_array(c, k, &args[k])) return false;
  }
  return true;
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */
static ArrayObj *array_at(const Context *c, int k) { return (ArrayObj *)(void *)c->results[k].p; }

static bool is_lent(const Context *c, const void *object) {
  return (uintptr_t)object - (uintptr_t)c->lent < c->lent_bytes;
}

static bool buffer_fits(Context *c, int k, const AtledNativeResult *to) {
  const ArrayObj *a = array_at(c, k);
  int rank = a->h.desc->rank;
  char needed[200], given[200];
  if (!to->as.data) return true;
  if (!to->dims) return BAD(c, "result %d: the dimensions are NULL", k + 1);
  if (memcmp(to->dims, a->dims, sizeof *a->dims * (size_t)rank) == 0) return true;
  return BAD(c, "result %d: a buffer of %s elements is needed, not of %s", k + 1, shape_text(&needed, rank, a->dims),
             shape_text(&given, rank, to->dims));
}

/* Where the host's memory is handed on, that of the result is another's. */
static bool own_result(Context *c, int k) {
  ArrayObj *a = array_at(c, k);
  if (!is_lent(c, a) && !is_lent(c, a->owner)) return true;
  ArrayObj *copy = rt_copy(&c->rt, a);
  if (!copy) return false;
  rt_release(&c->rt, &a->h);
  c->results[k].p = &copy->h;
  return true;
}

static bool results_fit(Context *c, const Pin *p, const AtledNativeResult *results, int32_t *status) {
  for (int k = 0; k < p->nresults; k++) {
    if (p->leaves[k].desc->kind != D_ARRAY) continue;
    *status = ATLED_BAD_ARGUMENT;
    if (!buffer_fits(c, k, &results[k])) return false;
    *status = ATLED_NO_MEMORY;
    if (p->nresults > 1 && !own_result(c, k)) return false;
  }
  *status = ATLED_OK;
  return true;
}

static void write_results(const Context *c, const Pin *p, AtledNativeResult *results) {
  for (int k = 0; k < p->nresults; k++) {
    const Desc *d = p->leaves[k].desc;
    if (d->kind == D_FLOAT) results[k].as.number = c->results[k].f;
    else if (d->kind != D_ARRAY) results[k].as.integer = c->results[k].i;
    else if (results[k].as.data) {
      const ArrayObj *a = array_at(c, k);
      size_t slots = (size_t)value_count(d->rank, a->dims) * (size_t)d->args[0]->nslots;
      if (slots) memmove(results[k].as.data, a->data, slots * sizeof(Slot));
    }
  }
}

static int32_t take_results(Context *c, const Pin *p, AtledNativeResult *results) {
  int32_t status;
  if (results_fit(c, p, results, &status)) write_results(c, p, results);
  for (int k = 0; k < p->nresults; k++)
    if (p->leaves[k].desc->kind == D_ARRAY) rt_release(&c->rt, c->results[k].p);
  return status == ATLED_OK ? status : fail(c, status);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
/* Without a clock, for want of memory or threads, the deadline is only looked at where the runtime looks. */
static void start_clock(Context *c, double limit) {
  c->rt.deadline = clock_now() + limit;
  if (!c->clock) c->clock = clock_new();
  if (c->clock) clock_start(c->clock, &c->rt, c->rt.deadline);
}

static Status run(Context *c, const Pin *p) {
  double limit = p->vm->config.time_limit;
  if (!(limit > 0)) return context_apply(c, p, c->args); /* it may be no number */
  start_clock(c, limit);
  Status status = context_apply(c, p, c->args);
  c->rt.deadline = 0;
  if (c->clock) clock_stop(c->clock);
  return status;
}

static int32_t call_in_context(Context *c, const Pin *p, const AtledNativeArg *args, size_t nargs,
                               AtledNativeResult *results, size_t nresults) {
  bool fine = true;
  if (nargs != p->nargs || nresults != (size_t)p->nresults)
    fine = BAD(c, "the function has %zu arguments and %d results, not %zu and %zu", p->nargs, p->nresults, nargs,
               nresults);
  else if ((nargs && !args) || (nresults && !results)) fine = BAD(c, "the array of arguments or results is NULL");
  if (!fine || !put_arguments(c, p, args)) return fail(c, ATLED_BAD_ARGUMENT);
  return run(c, p) == 0 ? take_results(c, p, results) : fail_running(c);
}

int32_t general_call(AtledFunction *f, const AtledNativeArg *args, size_t nargs, AtledNativeResult *results,
                     size_t nresults) {
  Callers *all = f->native.callers;
  Caller *mine;
  const Pin *p = callers_enter(all, &f->native.now, &mine);
  Context *c = context_take(all, p);
  int32_t status = ATLED_NO_MEMORY;
  if (c) {
    context_set_stack(c);
    status = call_in_context(c, p, args, nargs, results, nresults);
    context_give(c);
  }
  callers_leave(all, mine);
  return status;
}
