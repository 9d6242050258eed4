/* SPDX-License-Identifier: MIT */
/* Contexts: the run-time state of calls by native pointers, of one call at a time each.
 *
 * A context has an Rt, with free lists, error, interrupt and stack limit of its own, and a Mod for each module of the
 * pin that it was used for last. A thread goes on using the one of its Caller; others are found in a list that is
 * only ever added to, and taken by an exchange. All live as long as the VM.
 *
 * A context allocates by the VM's allocator, in the thread that calls; what it holds counts for the VM's limit. */
#include "api/native.h"
#include <string.h>

/* ---- Making ------------------------------------------------------------------------------------------------------ */
static Status no_evaluator(Rt *rt, RtFunc *f, const Slot *args, Slot *res) {
  (void)f, (void)args, (void)res;
  return rt_error(rt, ERR_RULE, 0, "a function that a native pointer calls has no machine code");
}

/* The headers of vectors stand behind the context. */
static size_t header_offset(size_t k) { return sizeof(Context) + k * (sizeof(ArrayObj) + sizeof(int64_t)); }

static Context *new_context(Callers *all) {
  Context *c = heap_realloc(&all->contexts_heap, NULL, 0, header_offset(2));
  if (!c) return NULL;
  memset(c, 0, header_offset(2));
  heap_init(&c->heap);
  c->heap.fn = all->heap->fn;
  c->heap.user = all->heap->user;
  c->heap.whole = all->heap;
  rt_init(&c->rt, &c->heap);
  c->rt.evaluate = no_evaluator;
  c->busy = 1;
  c->in = (ArrayObj *)(void *)((char *)c + header_offset(0));
  c->out = (ArrayObj *)(void *)((char *)c + header_offset(1));
  c->array.p = &c->in->h;
  Context *first = __atomic_load_n(&all->contexts, __ATOMIC_ACQUIRE);
  do c->next = first;
  while (!__atomic_compare_exchange_n(&all->contexts, &first, c, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return c;
}

static void unbind(Context *c) {
  heap_realloc(&c->heap, c->mods, sizeof *c->mods * (size_t)c->nmods, 0);
  heap_realloc(&c->heap, c->results, sizeof *c->results * (size_t)c->nresults, 0);
  heap_realloc(&c->heap, c->args, sizeof *c->args * (size_t)c->nargs, 0);
  heap_realloc(&c->heap, c->lent, c->lent_bytes, 0);
  c->mods = c->rt.mods = NULL;
  c->results = c->args = NULL;
  c->lent = NULL;
  c->nmods = c->nresults = c->nargs = 0;
  c->lent_bytes = 0;
  c->pin = 0;
}

/* Room for arguments of the general form, and the headers of arrays among them. */
static bool bind_arguments(Context *c, const Pin *p) {
  c->args = heap_realloc(&c->heap, NULL, 0, sizeof *c->args * (p->nargs + 1));
  if (!c->args) return false;
  c->nargs = (int)p->nargs + 1;
  c->lent = heap_realloc(&c->heap, NULL, 0, p->lent + 1);
  if (!c->lent) return false;
  c->lent_bytes = p->lent + 1;
  memset(c->lent, 0, c->lent_bytes);
  for (size_t k = 0; k < p->nargs; k++) {
    if (p->params[k].desc->kind != D_ARRAY) continue;
    c->args[k].raw = c->lent + p->params[k].header;
    c->args[k].p->rc = RT_IMMORTAL;
    c->args[k].p->desc = p->params[k].desc;
  }
  return true;
}

/* Makes it one of the pin. */
static bool bind(Context *c, const Pin *p) {
  unbind(c);
  c->mods = heap_realloc(&c->heap, NULL, 0, sizeof *c->mods * (size_t)p->nmodules);
  if (!c->mods) return false;
  c->nmods = p->nmodules;
  c->results = heap_realloc(&c->heap, NULL, 0, sizeof *c->results * (size_t)(p->nresults + 1));
  if (!c->results) return false;
  c->nresults = p->nresults + 1;
  if (p->params && !bind_arguments(c, p)) return false;
  for (int k = 0; k < p->nmodules; k++) {
    c->mods[k] = *p->modules[k].mod;
    c->mods[k].rt = &c->rt;
    c->mods[k].table = &p->table;
  }
  c->rt.mods = c->mods;
  c->rt.strict = p->vm->config.strict;
  c->rt.functions = &p->vm->functions;
  c->in->h = c->out->h = (Obj){.rc = RT_IMMORTAL, .desc = p->param};
  c->of = p;
  c->pin = p->number;
  return true;
}

void contexts_free(Callers *all) {
  for (Context *c = all->contexts, *next; c; c = next) {
    next = c->next;
    clock_free(c->clock);
    unbind(c);
    rt_clear_error(&c->rt);
    rt_destroy(&c->rt);
    heap_realloc(&all->contexts_heap, c, header_offset(2), 0);
  }
  all->contexts = NULL;
}

/* ---- Taking ------------------------------------------------------------------------------------------------------ */
/* Is it nobody's now? Then it is the caller's. */
static bool take(Context *c) {
  int32_t free = 0;
  return __atomic_compare_exchange_n(&c->busy, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* A Caller's own context stays busy for others: it is this thread's, or a new one. */
static Context *take_any(Callers *all, Caller *home, uintptr_t thread) {
  if (home->thread == thread && !home->context) {
    Context *c = home->context = new_context(all);
    if (c) __atomic_store_n(&c->owner, home, __ATOMIC_RELEASE);
    return c;
  }
  for (Context *c = __atomic_load_n(&all->contexts, __ATOMIC_ACQUIRE); c; c = c->next)
    if (!__atomic_load_n(&c->owner, __ATOMIC_ACQUIRE) && take(c)) {
      if (c->thread == thread || !__atomic_load_n(&c->failure.number, __ATOMIC_RELAXED)) return c;
      context_give(c); /* the other thread wasn't told yet, or may still read the message */
    }
  return new_context(all);
}

/* Of a context that the caller has taken. */
static void forget_failure(Context *c) {
  __atomic_store_n(&c->failure.number, 0, __ATOMIC_RELAXED);
  if (c->failure.told) c->failure.told = 0;
}

Context *context_take_slowly(Callers *all, const Pin *p) {
  uintptr_t thread = caller_thread();
  Context *c = context_own(all, thread);
  if (c) __atomic_store_n(&c->busy, 1, __ATOMIC_RELAXED);
  else c = take_any(all, caller_home(all, thread), thread);
  if (c && (c->thread != thread || c->failure.told)) forget_failure(c);
  if (c && c->thread != thread) __atomic_store_n(&c->thread, thread, __ATOMIC_RELAXED);
  if (c && (c->pin == p->number || bind(c, p))) return c;
  if (c) context_give(c);
  __atomic_store_n(&all->lost, 1, __ATOMIC_RELEASE);
  return NULL;
}

void contexts_interrupt(Callers *all) {
  for (Context *c = __atomic_load_n(&all->contexts, __ATOMIC_ACQUIRE); c; c = c->next)
    if (__atomic_load_n(&c->busy, __ATOMIC_RELAXED)) rt_interrupt(&c->rt, RT_INTERRUPTED);
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */
static PinPlace place_of_site(const Pin *p, uint32_t site) {
  for (int k = 0; k < p->nmodules; k++) {
    uint32_t number = site - p->modules[k].mod->site_base;
    if (number > 0 && number < p->modules[k].nsites) return p->modules[k].places[number];
  }
  return (PinPlace){0};
}

/* The innermost place that is the user's. */
static PinPlace place_of_error(const Pin *p, const RtError *e) {
  PinPlace at = place_of_site(p, e->site);
  for (int k = 0; k < e->ntrace && !at.file; k++) at = place_of_site(p, e->trace[k]);
  return at;
}

void context_failed(Context *c, const Pin *p) {
  const RtError *e = &c->rt.error;
  Failure *f = &c->failure;
  PinPlace at = place_of_error(p, e);
  snprintf(f->message, sizeof f->message, "%s", e->message);
  snprintf(f->file, sizeof f->file, "%s", at.file ? at.file : "");
  if (at.file)
    snprintf(f->rendered, sizeof f->rendered, "%s:%d:%d: error: %s\n", f->file, at.line, at.column, f->message);
  else snprintf(f->rendered, sizeof f->rendered, "error: %s\n", f->message);
  f->diagnostic = (AtledDiagnostic){.severity = ATLED_ERROR,
                                    .kind = report_kind(e->kind),
                                    .message = f->message,
                                    .file = at.file ? f->file : NULL,
                                    .line = at.line,
                                    .column = at.column,
                                    .rendered = f->rendered};
  f->told = 0;
  __atomic_store_n(&f->number, __atomic_add_fetch(&p->vm->callers->failures, 1, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
  rt_clear_error(&c->rt);
}
