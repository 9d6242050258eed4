/* SPDX-License-Identifier: MIT */
/* Machine code of parts of a module, while the module runs.
 *
 *   jit_ask ── key ── cache? ── yes ─────────────────────────────────────────► READY
 *      └─ no ── order to the compiler's process ── WORKING ── jit_look … ──► READY ── jit_attach_fragment
 *
 * What is asked for is kept in the Jit until it is attached or forgotten. Each request has a compiler of its own. */
#include "jit/jit_internal.h"
#include "jit/rt_table.h"
#include "lir/image.h"
#include "support/phases.h"
#include "support/quiet.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a module keeps of a fragment. */
typedef struct JitFragment JitFragment;
struct JitFragment {
  Mod *native;
  void *dl;
  JitFragment *next;
};

/* ---- Forgetting -------------------------------------------------------------------------------------------------- */
/* Is it the compiler's process that is at it? What is ready by now is kept: a farewell would come too late. */
static bool is_under_way(Jit *j, JitRequest *a, bool finish) {
  Result result = {0};
  if (!a->order || a->compiler.order != a->order) return false;
  if (finish && compiler_look(&a->compiler, &result) == COMPILER_REPLIED && result.ok) jit_keep(j, a->order);
  return a->compiler.order != NULL;
}

static void forget(Jit *j, JitRequest *a, bool finish) {
  jit_own(j);
  bool left = is_under_way(j, a, finish) && compiler_stop(&a->compiler, finish && a->order->cache_dir[0]);
  if (left) folder_leave(&a->folder);
  else folder_remove(&a->folder);
  turn_end(&a->claim);
  if (a->order) jit_free_order(j, a->order);
  *a = (JitRequest){.compiler = a->compiler};
}

void jit_forget_asked(Jit *j, int request, bool finish) { forget(j, &j->requests[request], finish); }

/* ---- Asking ------------------------------------------------------------------------------------------------------ */
enum { LOOKS = 32 }; /* between those for what another process makes */

static JitAnswer fail(Jit *j, JitRequest *a) {
  j->stats.failures++;
  forget(j, a, false);
  return JIT_FAILED;
}

static JitAnswer ready(Jit *j) {
  j->stats.compiles++;
  return JIT_READY;
}

static JitAnswer make_here(Jit *j, JitRequest *a) {
  Phase before = phase_enter(j->heap, PHASE_COMPILE);
  bool ok = jit_carry_out_here(j, a->fragment->module, a->order);
  phase_leave(j->heap, before);
  return ok ? ready(j) : fail(j, a);
}

static JitAnswer look(Jit *j, JitRequest *a);

/* It is this process's turn. */
static JitAnswer begin(Jit *j, JitRequest *a, uint64_t key) {
  if (!(a->order = jit_new_order(j, a->fragment->module, key, &a->folder))) return fail(j, a);
  a->order->size = a->size;
  a->order->background = true;
  if (!jit_wants_process(j)) return make_here(j, a);
  CompilerEnd end = compiler_begin(&a->compiler, a->order, a->image);
  if (end == COMPILER_NONE) return make_here(j, a);
  if (end == COMPILER_WORKING) return look(j, a);
  jit_explain(j, end);
  return fail(j, a);
}

static bool never(void *user) {
  (void)user;
  return false;
}

static uint64_t key_of(Jit *j, const JitRequest *a) { return jit_key(j, a->fragment->module, image_hash(a->image)); }

static void open_request(Jit *j, JitRequest *a, const LFragment *p, const void *image, size_t n) {
  forget(j, a, false);
  a->fragment = p;
  a->image = image;
  a->size = n;
}

static JitAnswer ask_cached(Jit *j, JitRequest *a, const LFragment *p, const void *image) {
  jit_own(j);
  open_request(j, a, p, image, 0);
  if (!j->cache.dir[0]) return JIT_FAILED;
  Order *order = a->order = heap_realloc(j->heap, NULL, 0, sizeof *order);
  if (!order) return JIT_FAILED;
  *order = (Order){.key = key_of(j, a)};
  Phase before = phase_enter(j->heap, PHASE_LOAD);
  bool found = cache_find(&j->cache, order->key, order->so, sizeof order->so);
  phase_leave(j->heap, before);
  if (found) {
    j->stats.cache_hits++;
    return JIT_READY;
  }
  forget(j, a, false);
  return JIT_FAILED;
}

static JitAnswer in_turn(Jit *j, JitRequest *a) {
  uint64_t key = key_of(j, a);
  a->elsewhere = false;
  switch (turn_take(&j->cache, key, &a->claim, 0, never, NULL)) {
  case TURN_THERE: return ask_cached(j, a, a->fragment, a->image);
  case TURN_TAKEN: a->elsewhere = true; return JIT_WORKING;
  default: return begin(j, a, key);
  }
}

static JitAnswer ask(Jit *j, JitRequest *a, const LFragment *p, const void *image, size_t n) {
  const char *why;
  if (ask_cached(j, a, p, image) == JIT_READY) return JIT_READY;
  if (!jit_available(j, &why)) return JIT_FAILED;
  open_request(j, a, p, image, n);
  return in_turn(j, a);
}

static JitAnswer look(Jit *j, JitRequest *a) {
  Result result = {0};
  jit_own(j);
  if (!a->order && !a->elsewhere) return ask(j, a, a->fragment, a->image, a->size);
  if (a->elsewhere) return ++a->looks % LOOKS ? JIT_WORKING : in_turn(j, a);
  CompilerEnd end = compiler_look(&a->compiler, &result);
  if (end == COMPILER_WORKING) return JIT_WORKING;
  if (end == COMPILER_NONE) return make_here(j, a);
  jit_explain(j, end);
  if (end == COMPILER_REPLIED && result.ok) return ready(j);
  if (end == COMPILER_REPLIED) jit_refuse(j, result.why);
  if (result.missing) jit_lack(j, result.why);
  return fail(j, a);
}

JitAnswer jit_ask(Jit *j, int request, const LFragment *p, const void *image, size_t n) {
  return ask(j, &j->requests[request], p, image, n);
}

JitAnswer jit_ask_cached(Jit *j, int request, const LFragment *p, const void *image) {
  return ask_cached(j, &j->requests[request], p, image);
}

JitAnswer jit_look(Jit *j, int request) { return look(j, &j->requests[request]); }

/* ---- Attaching --------------------------------------------------------------------------------------------------- */
/* The entries of the roots; functions get theirs once all are known to be there. */
static bool find_entries(void *dl, const LFragment *p, JitEntry *entries) {
  for (int k = 0; k < p->nroots; k++)
    if (!(entries[k] = jit_entry(dl, k))) return false;
  return true;
}

/* Also for the threads of the VM's pool, if it has one. NULL: out of memory. */
static Mod *new_native(Mod *m, const LFragment *p) {
  Mod *native = mod_new_fragment(m, p);
  if (!native) return NULL;
  native->table = &rt_table;
  if (!m->rt->pool || mod_join(native, m->rt->pool)) return native;
  mod_free_fragment(native);
  return NULL;
}

/* Machine code reads `direct` before `native`, which only some processors do in that order. */
static bool may_become_direct(const Rt *rt) {
#if defined(__x86_64__)
  (void)rt;
  return true;
#else
  return rt->offered == 0;
#endif
}

/* A function that has machine code keeps it: other threads, and callers under way, read entry, native and direct one by
 * one, and these belong together. */
static void give_entry(RtFunc *f, Mod *native, JitEntry entry, void *dl, int root) {
  if (f->entry) return;
  f->native = native;
  __atomic_store_n(&f->entry, entry, __ATOMIC_RELEASE);
  if (rt_flip(native->rt) && may_become_direct(native->rt))
    __atomic_store_n(&f->direct, jit_direct(dl, root), __ATOMIC_RELEASE);
}

bool jit_attach_fragment(Jit *j, int request, Mod *m, const LFragment *p, JitEntry *entries, Mod **native) {
  JitRequest *a = &j->requests[request];
  JitFragment *fragment = heap_realloc(j->heap, NULL, 0, sizeof *fragment);
  void *dl = fragment ? jit_open(j, a->order->so) : NULL;
  bool ok = dl && find_entries(dl, p, entries) && (*native = new_native(m, p));
  if (dl && !ok) dlclose(dl);
  if (!ok) cache_forget(&j->cache, a->order->key);
  else if (a->folder.path[0]) jit_keep(j, a->order);
  forget(j, a, false);
  if (!ok) {
    if (fragment) heap_realloc(j->heap, fragment, sizeof *fragment, 0);
    return false;
  }
  *fragment = (JitFragment){*native, dl, m->fragments};
  m->fragments = fragment;
  for (int k = 0; k < p->nroots; k++)
    if (p->roots[k].head < 0) give_entry(m->funcs[p->roots[k].func], *native, entries[k], dl, k);
  return true;
}

bool jit_join_fragments(Mod *m, Pool *p) {
  for (JitFragment *f = m->fragments; f; f = f->next)
    if (!mod_join(f->native, p)) return false;
  return true;
}

void jit_unload_fragments(Mod *m) {
  for (JitFragment *p = m->fragments, *next; p; p = next) {
    next = p->next;
    mod_free_fragment(p->native);
    dlclose(p->dl);
    heap_realloc(m->rt->heap, p, sizeof *p, 0);
  }
  m->fragments = NULL;
}

/* ---- Notes ------------------------------------------------------------------------------------------------------- */
static uint64_t notes_key(Jit *j, const LModule *m) { return hash_mix(jit_key(j, m, m->hash), 'n'); }

void jit_keep_notes(Jit *j, const LModule *m, const int32_t *notes, size_t n) {
  jit_keep_block(j, notes_key(j, m), notes, n * sizeof *notes);
}

int32_t *jit_read_notes(Jit *j, const LModule *m, size_t *n) {
  uint64_t key = notes_key(j, m);
  size_t room = jit_block_room(j, key) / sizeof(int32_t) * sizeof(int32_t);
  int32_t *notes = room ? heap_realloc(j->heap, NULL, 0, room) : NULL;
  if (!notes) return NULL;
  *n = jit_read_block(j, key, notes, room) / sizeof *notes;
  int32_t *fitting = *n ? heap_realloc(j->heap, notes, room, *n * sizeof *notes) : NULL;
  if (!fitting) heap_realloc(j->heap, notes, room, 0);
  return fitting;
}
