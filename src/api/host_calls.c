/* SPDX-License-Identifier: MIT */
/* Calls of the host's functions by running code, in the evaluator and machine code alike.
 *
 * Arguments are given where they are; only trees, of tuples, lists and the like, are made, in an arena of the call. The
 * result becomes slots within atled_return, so nothing that it points to is needed afterwards: what lies in a buffer of
 * the call, or in an argument, is shared, and the rest is copied.
 *
 * Nothing here refers to the VM: a call may run beside others, with an Rt of its own. Memory that arenas lack ends in a
 * jump to here, never past running code. */
#include "api/hosts.h"
#include "api/handles.h"
#include <string.h>

enum { FEW = 8 };

typedef struct HostCall {
  AtledCall call; /* first: what the host sees */
  const HostFunction *f;
  Rt *rt;
  uint32_t site;
  const Slot *args;
  Slot *res;
  bool returned, failed;
  Outcome trees; /* of the arguments */
  Arena working;
  AtledValue few[FEW], *values; /* the arguments */
  Obj **made;                   /* buffers and values of the host's */
  int nmade;
} HostCall;

/* ---- Memory ------------------------------------------------------------------------------------------------------ */
/* Runs what may leave for want of memory. False: it failed, and rt->error is set. */
static bool guarded(HostCall *h, bool (*body)(HostCall *h, void *arg), void *arg) {
  Heap *heap = h->rt->heap;
  jmp_buf here, *outer = heap->on_oom;
  heap->on_oom = &here;
  bool good = setjmp(here) ? rt_out_of_memory(h->rt) == 0 : body(h, arg);
  heap->on_oom = outer;
  return good;
}

static void *resize(HostCall *h, void *p, size_t old, size_t new) {
  void *q = heap_realloc(h->rt->heap, p, old, new);
  if (!q && new) rt_out_of_memory(h->rt);
  return q;
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */
static bool get_arguments(HostCall *h, void *unused) {
  (void)unused;
  const Slot *s = h->args;
  for (int i = 0; i < h->f->nargs; s += h->f->params[i++]->nslots)
    if (!value_get(h->rt, &h->trees, &h->working, h->f->params[i], s, &h->values[i])) return false;
  return true;
}

static bool are_simple(const HostFunction *f) {
  for (int i = 0; i < f->nargs; i++)
    if (!value_is_simple(f->params[i])) return false;
  return true;
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */
static ArrayObj *buffer_around(const HostCall *h, const Slot *data, int64_t count) {
  for (int i = 0; i < h->nmade; i++) {
    ArrayObj *a = (ArrayObj *)(void *)h->made[i];
    if (a->h.desc->kind != D_ARRAY) continue;
    uintptr_t first = (uintptr_t)a->data, at = (uintptr_t)data;
    if (at >= first && (at - first) / sizeof *data + (size_t)count <= (size_t)a->dims[0]) return a;
  }
  return NULL;
}

/* ValueSource.around: buffers, and arrays among the arguments. */
static ArrayObj *array_around(void *call, const Slot *data, int64_t count) {
  const HostCall *h = call;
  ArrayObj *a = buffer_around(h, data, count);
  const Slot *s = h->args;
  for (int i = 0; i < h->f->nargs && !a; s += h->f->params[i++]->nslots)
    a = value_array_around(h->f->params[i], s, data, count);
  return a;
}

static void drop_result(HostCall *h) {
  const Desc *d = h->f->result;
  for (int i = 0; i < d->nslots; i++)
    if (d->slots[i] == SLOT_PTR) rt_release(h->rt, h->res[i].p);
  memset(h->res, 0, sizeof *h->res * (size_t)d->nslots);
}

static bool put_result(HostCall *h, void *value) {
  ValueSource from = {
      .to = {.rt = h->rt, .function = h->f->name, .site = h->site, .texts = &h->working},
      .around = array_around,
      .user = h,
      .unit_for_none = h->f->rule,
  };
  ValuePlace at = {.kind = PLACE_RESULT};
  return value_put(&from, h->rt, &at, h->f->result, value, h->res) == ATLED_OK;
}

static AtledStatus failure(const HostCall *h) {
  return h->rt->error.kind == ERR_MEMORY ? ATLED_NO_MEMORY : ATLED_BAD_ARGUMENT;
}

AtledStatus atled_return(AtledCall *call, AtledValue result) {
  HostCall *h = (HostCall *)call;
  if (!h) return ATLED_BAD_ARGUMENT;
  if (h->failed) return failure(h);
  if (h->returned) drop_result(h);
  h->returned = true;
  h->failed = !guarded(h, put_result, &result);
  return h->failed ? failure(h) : ATLED_OK;
}

/* The object lasts as long as the call. NULL: it is gone. */
static void *keep(HostCall *h, Obj *o) {
  size_t size = sizeof *h->made * (size_t)h->nmade;
  Obj **all = o ? resize(h, h->made, size, size + sizeof *all) : NULL;
  if (all) h->made = all;
  if (all) all[h->nmade++] = o;
  else rt_release(h->rt, o);
  if (!all) h->failed = rt_out_of_memory(h->rt);
  return all ? o : NULL;
}

void *atled_buffer(AtledCall *call, size_t n) {
  HostCall *h = (HostCall *)call;
  if (!h || h->failed) return NULL;
  int64_t dims[] = {(int64_t)n};
  ArrayObj *a = NULL;
  if (n <= (size_t)LIMIT_ELEMENTS) a = rt_new_array(h->rt, h->rt->desc_float_array, dims, true);
  return keep(h, a ? &a->h : NULL) ? a->data : NULL;
}

/* ---- Values of the host's ---------------------------------------------------------------------------------------- */
AtledValue atled_opaque(AtledCall *call, const char *type, void *pointer, void (*finaliser)(void *pointer)) {
  HostCall *h = (HostCall *)call;
  OpaqueObj *x = h && !h->failed ? rt_new_opaque(h->rt, NULL, pointer, finaliser) : NULL;
  if (!x && finaliser) finaliser(pointer);
  if (!h || h->failed || !keep(h, x ? &x->h : NULL)) return (AtledValue){0};
  return (AtledValue){.kind = ATLED_OPAQUE, .name = type, .as.data = pointer, .reserved = {x}};
}

void *atled_opaque_get(const AtledValue *v, const char *type) {
  bool fits = v && type && v->kind == ATLED_OPAQUE && v->name && strcmp(v->name, type) == 0 && v->reserved[0];
  return fits ? ((const OpaqueObj *)v->reserved[0])->pointer : NULL;
}

/* ---- Failure ----------------------------------------------------------------------------------------------------- */
void atled_fail(AtledCall *call, const char *message) {
  HostCall *h = (HostCall *)call;
  if (!h || h->failed) return;
  char text[sizeof h->rt->error.message];
  size_t n = strnlen(message ? message : "", sizeof text - 1), bad;
  memcpy(text, message ? message : "", n);
  text[n] = 0;
  bool cut = message && message[n];
  while (!utf8_valid(text, n, &bad)) {
    if (cut && bad + 4 > n) text[n = bad] = 0;
    else text[bad] = '?';
  }
  h->failed = true;
  rt_error(h->rt, ERR_HOST, h->site, "%s", n ? text : "the host's function failed");
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
static bool prepare(HostCall *h) {
  const HostFunction *f = h->f;
  arena_init(&h->trees.trees, h->rt->heap);
  arena_init(&h->working, h->rt->heap);
  memset(h->res, 0, sizeof *h->res * (size_t)f->result->nslots);
  h->values = h->few;
  if (f->nargs > FEW) h->values = resize(h, NULL, 0, sizeof *h->values * (size_t)f->nargs);
  if (!h->values) return false;
  h->call = (AtledCall){.user = f->user, .args = h->values, .nargs = f->nargs};
  return are_simple(f) ? get_arguments(h, NULL) : guarded(h, get_arguments, NULL);
}

/* What the host did, judged. */
static bool succeeded(HostCall *h) {
  Rt *rt = h->rt;
  if (h->failed) return false;
  if (!h->returned && h->f->result->kind != D_UNIT)
    return rt_error(rt, ERR_HOST, h->site, "the host's function `%s` gave no result", h->f->name) == 0;
  return !(rt_interrupted(rt) && rt_poll(rt));
}

static void clean_up(HostCall *h) {
  rt_tree_entries_free(h->rt, &h->trees.entries);
  arena_free(&h->trees.trees);
  arena_free(&h->working);
  for (int i = 0; i < h->nmade; i++) rt_release(h->rt, h->made[i]);
  resize(h, h->made, sizeof *h->made * (size_t)h->nmade, 0);
  if (h->values != h->few) resize(h, h->values, sizeof *h->values * (size_t)h->f->nargs, 0);
}

Status host_call(const RtHost *host, Rt *rt, const Slot *args, Slot *res, uint32_t site) {
  const HostFunction *f = (const HostFunction *)host;
  HostCall h = {.f = f, .rt = rt, .site = site, .args = args, .res = res};
  if (rt->stack_limit && (char *)&h - rt->stack_limit < LIMIT_HOST_STACK) return rt_fail_stack(rt, site);
  bool good = prepare(&h);
  if (good) f->call(&h.call);
  good = good && succeeded(&h);
  if (!good) drop_result(&h);
  clean_up(&h);
  return !good;
}
