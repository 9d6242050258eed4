/* SPDX-License-Identifier: MIT */
/* Native pointers: plain C functions of handles.
 *
 *   host ──► value_of_numbers (f, x, n) ──► caller_enter ──► Pin.code.code ┬─ machine code of the function's own
 * (jit/abi.c)                                                                    └─ call_in_context: a context, the
  * entry, copies
 *
 * The pointer is a function of this file, the same for all handles, and the handle says what it runs. So the handle's
 * code may be replaced while the pointer stays. A call writes to nothing that another thread reads but its Caller. */
#include "api/handles.h"
#include <math.h>
#include <string.h>

/* ---- Calls that need a context ----------------------------------------------------------------------------------- */
static inline void lend_array(ArrayObj *a, const double *x, size_t n) {
  a->data = (Slot *)(uintptr_t)x;
  a->dims[0] = (int64_t)n;
}

static __attribute__((noinline)) double fail(Context *c) {
  context_failed(c, c->of);
  return NAN;
}

/* Copies the second result to where it is wanted, if it is. Gives the first one. */
static __attribute__((noinline)) double take_array(Context *c) {
  ArrayObj *a = (ArrayObj *)(void *)c->results[1].p;
  Slot *g = c->out->data;
  int64_t n = c->in->dims[0];
  bool fits = a->dims[0] == n;
  if (fits && g && n) memmove(g, a->data, (size_t)n * sizeof *g);
  if (!fits)
    rt_error(&c->rt, ERR_SHAPE, 0, "the second result has length %lld, and x has length %lld", (long long)a->dims[0],
             (long long)n);
  rt_release(&c->rt, &a->h);
  return fits ? c->results[0].f : fail(c);
}

static __attribute__((noinline)) bool refuse_arguments(Context *c, const Pin *p, const double *x, size_t n) {
  if (!p->array && n != p->nargs)
    rt_error(&c->rt, ERR_SHAPE, 0, "the function takes %zu numbers, not %zu", p->nargs, n);
  else if (n > (size_t)LIMIT_ELEMENTS) rt_error(&c->rt, ERR_SHAPE, 0, "an array of %zu elements is too large", n);
  else if (n && !x) rt_error(&c->rt, ERR_SHAPE, 0, "the array of numbers is NULL");
  return c->rt.error.kind != ERR_NONE;
}

Status context_apply_rest(Context *c, const Slot *args, Status status) {
  const Pin *p = c->of;
  if (status == RT_TAIL) return rt_make_call(&c->rt, c->results);
  return p->entry ? status : rt_apply(&c->rt, p->closure.p, args, (int)p->nargs, c->results);
}

/* The second result is made in g where that is possible. */
static inline double run_array(Context *c, const Pin *p, const double *x, size_t n, double *g, bool gradient) {
  lend_array(c->in, x, n);
  if (gradient) lend_array(c->out, g, n);
  if (gradient && g && ((uintptr_t)(g + n) <= (uintptr_t)x || (uintptr_t)(x + n) <= (uintptr_t)g)) c->rt.gift = c->out;
  Status status = context_apply(c, p, &c->array);
  c->rt.gift = NULL;
  if (__builtin_expect(status != 0, 0)) return fail(c);
  if (gradient && c->results[1].p != &c->out->h) return take_array(c);
  return c->results[0].f;
}

static double run_numbers(Context *c, const Pin *p, const double *x, size_t n, double *g) {
  if (context_apply(c, p, (const Slot *)(const void *)x) != 0) return fail(c);
  if (g && n && p->nresults > 1) memcpy(g, c->results + 1, n * sizeof *g);
  return c->results[0].f;
}

/* JitPin.other. */
static double call_in_context(void *self, const double *x, size_t n, double *g, const JitPin *code) {
  const Pin *p = (const Pin *)(const void *)code;
  Context *c = context_take(((const AtledFunction *)self)->native.callers, p);
  if (!c) return NAN;
  context_set_stack(c);
  double y;
  bool usual = p->array ? n <= (size_t)LIMIT_ELEMENTS && x : n == p->nargs && x;
  if (!usual && refuse_arguments(c, p, x, n)) y = fail(c);
  else y = p->array ? run_array(c, p, x, n, g, p->nresults > 1) : run_numbers(c, p, x, n, g);
  context_give(c);
  return y;
}

/* ---- The pointers ------------------------------------------------------------------------------------------------ */
static __attribute__((noinline)) double call_slowly(AtledFunction *f, const double *x, size_t n, double *g) {
  Native *s = &f->native;
  Caller *mine;
  const Pin *p = callers_enter(s->callers, &s->now, &mine);
  bool other = !p->array && (n != p->nargs || (p->nresults > 1 && !g));
  double y = (other ? p->code.other : p->code.code)(f, x, n, g, &p->code);
  callers_leave(s->callers, mine);
  return y;
}

/* Of numbers, and of arrays: what these are stays the same when the code is replaced. */
static inline double call_numbers(AtledFunction *f, const double *x, size_t n, double *g, bool gradient) {
  Native *s = &f->native;
  uintptr_t thread = caller_thread();
  Caller *c = caller_home(s->callers, thread);
  if (__builtin_expect(!caller_is_idle(c, thread), 0)) return call_slowly(f, x, n, g);
  const Pin *p = caller_enter(c, &s->now);
  if (__builtin_expect(n != p->nargs || (gradient && !g), 0)) {
    caller_leave(c, thread);
    return call_slowly(f, x, n, g);
  }
  double y = p->code.code(f, x, n, g, &p->code);
  caller_leave(c, caller_thread());
  return y;
}

enum { USUAL = INT32_MAX }; /* elements, at least one */
static inline double call_array(AtledFunction *f, const double *x, size_t n, double *g, bool gradient) {
  Native *s = &f->native;
  uintptr_t thread = caller_thread();
  Caller *c = caller_home(s->callers, thread);
  if (__builtin_expect(!caller_is_idle(c, thread), 0)) return call_slowly(f, x, n, g);
  const Pin *p = caller_enter(c, &s->now);
  Context *k = c->context;
  if (__builtin_expect(!k || k->pin != p->number || !x || n - 1 >= USUAL || !stack_limit_is_near(&k->rt), 0)) {
    caller_leave(c, thread);
    return call_slowly(f, x, n, g);
  }
  __atomic_store_n(&k->busy, 1, __ATOMIC_RELAXED);
  double y = run_array(k, p, x, n, g, gradient);
  context_give(k);
  caller_leave(c, caller_thread());
  return y;
}

static double value_of_numbers(AtledFunction *f, const double *x, size_t n) {
  return call_numbers(f, x, n, NULL, false);
}
static double gradient_of_numbers(AtledFunction *f, const double *x, size_t n, double *g) {
  return call_numbers(f, x, n, g, true);
}
static double value_of_array(AtledFunction *f, const double *x, size_t n) { return call_array(f, x, n, NULL, false); }
static double gradient_of_array(AtledFunction *f, const double *x, size_t n, double *g) {
  return call_array(f, x, n, g, true);
}

/* ---- Making them ------------------------------------------------------------------------------------------------- */
static bool all_floats(const uint8_t *kinds, int n) {
  for (int k = 0; k < n; k++)
    if (kinds[k] != SLOT_FLOAT) return false;
  return true;
}

static bool is_vector(const Desc *d) { return d->kind == D_ARRAY && d->rank == 1 && d->args[0]->kind == D_FLOAT; }

/* Does the type have this form? */
static bool has_form(const AtledFunction *f, AtledForm form) {
  const Desc *p = f->param, *r = f->result;
  int n = p->nslots;
  bool array = is_vector(p);
  if (!array && !all_floats(p->slots, n)) return false;
  if (form == ATLED_VALUE) return r->nslots == 1 && r->slots[0] == SLOT_FLOAT;
  if (r->kind != D_TUPLE || r->nslots != n + 1 || r->slots[0] != SLOT_FLOAT) return false;
  return array ? r->n == 2 && is_vector(r->args[1]) : all_floats(r->slots, r->nslots);
}

static AtledStatus check_form(AtledVM *vm, const AtledFunction *f, AtledForm form) {
  if ((unsigned)form > ATLED_GENERAL)
    return report_bad_argument(vm, "there is no form %d of native pointers", (int)form);
  if (!f->arity) return report_bad_argument(vm, "a value has no native pointer");
  if (form == ATLED_GENERAL ? general_fits(f) : has_form(f, form)) return ATLED_OK;
  if (form == ATLED_GENERAL)
    return report_bad_argument(
        vm,
        "this form needs a function of numbers, bools, arrays of numbers, and tuples and records "
        "of these, to the same; `%s` has something else",
        f->parts.text);
  return report_bad_argument(vm, form == ATLED_VALUE
                                     ? "this form needs a function of floats, or of a float[], to a float"
                                     : "this form needs a function of floats, or of a float[], to a float and as many "
                                       "floats more, or another float[]");
}

AtledStatus native_pin(const AtledFunction *f, Pin **made) {
  AtledVM *vm = f->vm;
  if (vm->config.jit == ATLED_JIT_OFF)
    return report_bad_argument(vm, "a native pointer is machine code, which the mode ATLED_JIT_OFF excludes");
  Pin *p = *made = pin_new(vm, "with a native pointer");
  if (!p) heap_out_of_memory(&vm->heap);
  if (run_begin(vm) != 0) return report_runtime_error(vm, (Span){0});
  AtledStatus status = pin_fill(p, f->value.p);
  p->param = f->param;
  p->result = f->result;
  p->array = is_vector(f->param);
  general_prepare(p, f);
  p->code.other = call_in_context;
  if (!p->code.code) p->code.code = call_in_context;
  return status;
}

typedef struct NativeCall {
  AtledFunction *f;
  AtledForm form;
  Pin *made;
} NativeCall;

static AtledStatus native_body(AtledVM *vm, void *arg) {
  NativeCall *c = arg;
  AtledStatus status = check_form(vm, c->f, c->form);
  if (status != ATLED_OK) return status;
  if (!vm->callers) {
    Callers *all = callers_new(&vm->heap);
    if (!all) heap_out_of_memory(&vm->heap);
    __atomic_store_n(&vm->callers, all, __ATOMIC_RELEASE);
  }
  return c->f->native.now ? ATLED_OK : native_pin(c->f, &c->made);
}

AtledStatus atled_native(AtledFunction *f, AtledForm form, AtledNative *out) {
  if (!f) return ATLED_BAD_ARGUMENT;
  AtledVM *vm = f->vm;
  if (out) *out = (AtledNative){0};
  if (vm->closing) return ATLED_BAD_ARGUMENT;
  if (vm->running) return vm_refuse(vm);
  if (!out) return vm_reject_null(vm, "the place for the pointer");
  NativeCall c = {.f = f, .form = form};
  AtledStatus status = vm_call(vm, native_body, &c);
  if (status != ATLED_OK) {
    pin_free(c.made);
    return status;
  }
  f->native.callers = vm->callers;
  if (c.made) __atomic_store_n(&f->native.now, c.made, __ATOMIC_SEQ_CST);
  if (form == ATLED_GENERAL) out->general = general_call;
  else if (form == ATLED_VALUE) out->value = is_vector(f->param) ? value_of_array : value_of_numbers;
  else out->gradient = is_vector(f->param) ? gradient_of_array : gradient_of_numbers;
  return ATLED_OK;
}

void native_replace(Native *n, Pin *p) {
  if (!p) return;
  Pin *old = n->now;
  __atomic_store_n(&n->now, p, __ATOMIC_SEQ_CST);
  callers_forget(n->callers, old);
}

void native_release(Native *n) {
  Pin *p = n->now;
  n->now = NULL;
  if (p) callers_forget(n->callers, p);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */
const AtledDiagnostic *atled_native_error(const AtledFunction *f) {
  static const AtledDiagnostic no_memory = {
      .severity = ATLED_ERROR, .kind = "memory", .message = "out of memory", .rendered = "error: out of memory\n"};
  Callers *all = f ? f->native.callers : NULL;
  uintptr_t thread = caller_thread();
  Context *found = NULL;
  uint64_t newest = 0;
  for (Context *c = all ? __atomic_load_n(&all->contexts, __ATOMIC_ACQUIRE) : NULL; c; c = c->next) {
    /* The number is read first: who made it wrote the thread before. */
    uint64_t number = __atomic_load_n(&c->failure.number, __ATOMIC_ACQUIRE);
    if (number <= newest || __atomic_load_n(&c->thread, __ATOMIC_RELAXED) != thread || c->failure.told) continue;
    found = c;
    newest = number;
  }
  if (!found) return all && __atomic_exchange_n(&all->lost, 0, __ATOMIC_ACQ_REL) ? &no_memory : NULL;
  found->failure.told = 1;
  return &found->failure.diagnostic;
}
