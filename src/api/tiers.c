/* SPDX-License-Identifier: MIT */
/* Mode `auto`: compiles hot code while the evaluator goes on.
 *
 *   evaluator ── tick, each SLICE instructions ──► is a requested fragment ready? attach it
 *                                                  is something hot? request a fragment
 *
 * Two fragments may be compiled at the same time, a small one and a larger one: what takes GCC a tenth of a second
 * isn't queued behind what takes many. So inner loops get machine code first where the code around them is large.
 *
 * The program never waits and nothing is started again: attached code takes over at the next call, or at the head of
 * a loop. Both tiers agree to the bit, so what a program prints doesn't depend on when the compiler finishes.
 *
 * Other threads of the VM (threads.c) have ticks of their own: they propose what is hot in them, and take over what was
 * attached. The VM's own thread alone asks and attaches.
 *
 * A tick happens inside the evaluator, so exhausted memory isn't an error here: the fragment stays evaluated. */
#include "api/settings.h"
#include "lir/image.h"
#include "lir/loops.h"
#include "runtime/pool.h"
#include <setjmp.h>
#include <string.h>
#include <time.h>

/* Instructions between ticks, a millisecond or so. Ticks after a change before more is asked for. */
enum { SLICE = 1 << 18, QUIET = 6 };
/* The requests: for a small fragment, of some instructions, and for a larger one. */
enum { FEW, MANY, SMALL = 512 };

static void drop_fragment(TierRequest *q) {
  q->fragment = NULL;
  q->mod = NULL;
  arena_free(&q->arena);
}

/* ---- Attaching --------------------------------------------------------------------------------------------------- */
static void attach(AtledVM *vm, int request) {
  TierRequest *q = &vm->tiers.requests[request];
  const LFragment *p = q->fragment;
  Mod *native;
  JitEntry *entries = NEW_ARRAY(&q->arena, JitEntry, p->nroots);
  if (!jit_attach_fragment(vm->jit, request, q->mod, p, entries, &native)) return;
  for (int k = 0; k < p->nroots; k++) {
    if (p->roots[k].head < 0) eval_attach_function(q->mod, p->roots[k].func);
    else eval_attach_loop(q->mod, &p->roots[k], entries[k], native);
  }
  __atomic_add_fetch(&vm->tiers.attached, 1, __ATOMIC_RELEASE);
}

static void settle(AtledVM *vm, int request, JitAnswer answer) {
  Tiers *t = &vm->tiers;
  TierRequest *q = &t->requests[request];
  if (answer == JIT_WORKING) return;
  const char *why = NULL;
  if (answer == JIT_READY && q->mod) attach(vm, request);
  else if (answer == JIT_READY) jit_forget_asked(vm->jit, request, false);
  else if (!jit_available(vm->jit, &why)) t->off = true;
  else why = jit_why(vm->jit);
  if (why && !t->why[0]) snprintf(t->why, sizeof t->why, "%s", why);
  t->quiet = t->tick + QUIET;
  rt_clear_error(&vm->rt); /* of memory */
  drop_fragment(q);
}

/* ---- Notes ------------------------------------------------------------------------------------------------------- */
/* Of each fragment: function, head, the number of functions that it takes along, these. */
enum { NOTE_FUNC, NOTE_HEAD, NOTE_COUNT, NOTE_CALLED };

static bool make_room(AtledVM *vm, Notes *notes, size_t more) {
  if (notes->len + more <= notes->cap) return true;
  size_t cap = 2 * notes->cap + more;
  int32_t *data = heap_realloc(&vm->heap, notes->data, notes->cap * sizeof *data, cap * sizeof *data);
  if (!data) return false;
  notes->data = data;
  notes->cap = cap;
  return true;
}

static void note_fragment(AtledVM *vm, const TierRequest *q) {
  const LFragment *p = q->fragment;
  Unit *u = run_unit_of(vm, q->mod);
  if (!u || vm->rt.coin || !make_room(vm, &u->notes, NOTE_CALLED + (size_t)p->module->nfuncs)) return;
  int32_t *note = u->notes.data + u->notes.len, n = 0;
  note[NOTE_FUNC] = p->roots[0].func;
  note[NOTE_HEAD] = p->roots[0].head;
  for (int k = 1; k < p->module->nfuncs; k++)
    if (p->module->funcs[k]->ncode) note[NOTE_CALLED + n++] = p->funcs[k];
  note[NOTE_COUNT] = n;
  u->notes.len += NOTE_CALLED + (size_t)n;
  u->notes.news = true;
}

/* Gives the module the code that the note means, if it is in the cache. */
static void recall(AtledVM *vm, Mod *m, const int32_t *note) {
  TierRequest *q = &vm->tiers.requests[FEW];
  const LModule *code = m->code;
  int func = note[NOTE_FUNC], head = note[NOTE_HEAD];
  if (func < 0 || func >= code->nfuncs || head < -1 || head >= code->funcs[func]->ncode) return;
  if (head >= 0 && code->funcs[func]->code[head].op != LOP_LABEL) return;
  bool *called = NEW_ARRAY(&q->arena, bool, code->nfuncs + 1);
  for (int k = 0; k < note[NOTE_COUNT]; k++)
    if (note[NOTE_CALLED + k] >= 0 && note[NOTE_CALLED + k] < code->nfuncs) called[note[NOTE_CALLED + k]] = true;
  Str image = {.arena = &q->arena};
  q->mod = m;
  q->fragment = fragment_make(&q->arena, code, &(LFragmentRoot){.func = func, .head = head}, 1, called);
  if (!q->fragment) return;
  image_write(q->fragment->module, &image);
  if (jit_ask_cached(vm->jit, FEW, q->fragment, image.data) == JIT_READY && eval_asked(m, func, head)) attach(vm, FEW);
}

/* What was hot in earlier runs of the module needn't become hot again. */
static void recall_all(AtledVM *vm, int request, const void *arg) {
  Unit *u = *(Unit *const *)arg;
  Notes *notes = &u->notes;
  if (!(notes->data = jit_read_notes(vm->jit, u->code, &notes->len))) return;
  notes->cap = notes->len;
  for (size_t at = 0; at + NOTE_CALLED <= notes->len;) {
    const int32_t *note = notes->data + at;
    if (note[NOTE_COUNT] < 0 || (size_t)note[NOTE_COUNT] > notes->len - at - NOTE_CALLED) return;
    recall(vm, u->mod, note);
    jit_forget_asked(vm->jit, request, false);
    drop_fragment(&vm->tiers.requests[request]);
    at += NOTE_CALLED + (size_t)note[NOTE_COUNT];
  }
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */
static void ask(AtledVM *vm, int request, Mod *m, const LFragmentRoot *roots, int nroots, const bool *called) {
  TierRequest *q = &vm->tiers.requests[request];
  Str image = {.arena = &q->arena};
  q->mod = m;
  q->fragment = fragment_make(&q->arena, m->code, roots, nroots, called);
  if (!q->fragment) return;
#ifdef ATLED_VERIFY
  const char *wrong = lir_verify(q->fragment->module);
  if (wrong) snprintf(vm->tiers.why, sizeof vm->tiers.why, "a fragment of lowered code: %s", wrong);
#endif
  note_fragment(vm, q);
  image_write(q->fragment->module, &image);
  settle(vm, request, jit_ask(vm->jit, request, q->fragment, image.data, image.len));
}

static void ask_for(AtledVM *vm, int request, const void *arg) {
  const EvalHot *hot = arg;
  eval_asked(hot->mod, hot->func, hot->head);
  bool *called = NEW_ARRAY(&vm->tiers.requests[request].arena, bool, hot->mod->nfuncs + 1);
  eval_called(hot->mod, called);
  ask(vm, request, hot->mod, &(LFragmentRoot){.func = hot->func, .head = hot->head}, 1, called);
}

/* Does it for a request, and nothing more where memory runs out, or the call is to end. */
static void within_memory(AtledVM *vm, void (*what)(AtledVM *vm, int request, const void *arg), int request,
                          const void *arg) {
  jmp_buf here, *volatile outer = vm->heap.on_oom;
  TierRequest *q = &vm->tiers.requests[request];
  if (setjmp(here) == 0) {
    vm->heap.on_oom = &here;
    alarm_watch(vm);
    what(vm, request, arg);
  } else {
    jit_forget_asked(vm->jit, request, false);
    q->fragment = NULL;
  }
  vm->heap.on_oom = outer;
  vm->heap.alarm = NULL;
  if (!q->fragment) drop_fragment(q);
}

static void look(AtledVM *vm, int request, const void *unused) {
  (void)unused;
  settle(vm, request, jit_look(vm->jit, request));
}

static bool is_small(const EvalHot *hot) { return hot->size <= SMALL; }

/* The outermost that is small, or isn't, behind as many calls of closures as any: what is called so takes the time, and
 * isn't taken along by what calls it. NULL: there is none. */
static const EvalHot *choose(const EvalHot *hot, int n, bool small) {
  const EvalHot *best = NULL;
  for (int k = 0; k < n; k++)
    if (is_small(&hot[k]) == small && (!best || hot[k].depth > best->depth)) best = &hot[k];
  return best;
}

/* Takes what the VM's other threads found hot and hasn't been asked for. How many, of at most `max`. */
static int take_proposals(AtledVM *vm, EvalHot *hot, int max) {
  Tiers *t = &vm->tiers;
  int n = 0;
  if (!__atomic_load_n(&t->nproposed, __ATOMIC_RELAXED)) return 0;
  rt_lock_shared(&vm->rt);
  for (int k = 0; k < t->nproposed && n < max; k++) {
    const EvalHot *p = &t->proposed[k];
    if (!eval_is_asked(p->mod, p->func, p->head)) hot[n++] = *p;
  }
  __atomic_store_n(&t->nproposed, 0, __ATOMIC_RELAXED);
  rt_unlock_shared(&vm->rt);
  return n;
}

/* What is small comes first, and what is larger after it, unless that has made it cold. */
static void ask_for_hottest(AtledVM *vm, void *frame) {
  enum { PATIENCE = 24 };
  Tiers *t = &vm->tiers;
  EvalHot hot[TIER_CANDIDATES];
  int n = eval_hottest(frame, t->tick, hot, TIER_CANDIDATES);
  if (t->tick >= t->quiet) n += take_proposals(vm, hot + n, TIER_CANDIDATES - n);
  if (!n || t->tick < t->quiet) return;
  const EvalHot *small = choose(hot, n, true), *large = choose(hot, n, false);
  bool wait = small || t->requests[FEW].fragment;
  if (small && !t->requests[FEW].fragment) within_memory(vm, ask_for, FEW, small);
  if (large && !t->requests[MANY].fragment && (!wait || large->ticks >= PATIENCE))
    within_memory(vm, ask_for, MANY, large);
}

/* Rt.tick. */
static void tick(void *user, void *frame) {
  AtledVM *vm = user;
  Tiers *t = &vm->tiers;
  vm->rt.budget = SLICE;
  t->tick++;
  if (!run_jit(vm)) return;
  for (int k = 0; k < JIT_REQUESTS; k++)
    if (t->requests[k].fragment) within_memory(vm, look, k, NULL);
  ask_for_hottest(vm, frame);
  vm->rt.ticks = t->tick;
  vm->rt.compiling = t->requests[FEW].fragment || t->requests[MANY].fragment;
  if (t->off) vm->rt.budget = -1;
}

/* ---- Other threads ----------------------------------------------------------------------------------------------- */
/* The VM's own thread alone asks for machine code. Others tell it what is hot in them. */
static void propose(AtledVM *vm, Rt *rt, void *frame) {
  Tiers *t = &vm->tiers;
  EvalHot hot[TIER_CANDIDATES];
  int n = eval_hottest(frame, ++rt->ticks, hot, TIER_CANDIDATES);
  if (!n) return;
  rt_lock_shared(rt);
  for (int k = 0; k < n; k++) {
    t->proposed[k] = hot[k];
    t->proposed[k].mod = hot[k].mod->peers[0];
  }
  __atomic_store_n(&t->nproposed, n, __ATOMIC_RELAXED);
  rt_unlock_shared(rt);
}

void tiers_tick_worker(void *worker, void *frame) {
  Rt *rt = worker;
  AtledVM *vm = rt->user;
  rt->budget = SLICE;
  int32_t attached = __atomic_load_n(&vm->tiers.attached, __ATOMIC_ACQUIRE);
  if (rt->attached != attached) {
    for (Unit *u = vm->units; u; u = u->next)
      if (u->code && u->mod) eval_follow(mod_here(rt, u->mod));
    rt->attached = attached;
  }
  propose(vm, rt, frame);
}

/* ---- For tests --------------------------------------------------------------------------------------------------- */
/* A fragment of the module's functions and loops: in two parts, so that functions call each other within a fragment
 * and by way of the runtime. */
static void ask_for_part(AtledVM *vm, Mod *m, int part, int parts) {
  Vec(LFragmentRoot) roots = {0};
  Arena *a = &vm->tiers.requests[FEW].arena;
  for (int f = 0; f < m->nfuncs; f++) {
    if (f % parts != part) continue;
    eval_asked(m, f, -1);
    vec_push(a, roots, ((LFragmentRoot){.func = f, .head = -1}));
    for (int k = 0, head; (head = eval_loop_head(m, f, k)) >= 0; k++) {
      eval_asked(m, f, head);
      if (loop_body(a, m->code->funcs[f], head)) vec_push(a, roots, ((LFragmentRoot){.func = f, .head = head}));
    }
  }
  ask(vm, FEW, m, roots.data, roots.len, NEW_ARRAY(a, bool, m->nfuncs + 1));
  while (vm->tiers.requests[FEW].fragment) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    settle(vm, FEW, jit_look(vm->jit, FEW));
  }
}

/* ATLED_COIN=SEED: everything has machine code from the beginning, and chance decides where it runs. */
static void toss(AtledVM *vm, Unit *u) {
  int64_t seed = vm->tiers.coin;
  if (seed < 0 || u->begun || !run_jit(vm)) return;
  int parts = (int)(seed % 3) + 1;
  if (!vm->rt.coin) vm->rt.coin = hash_mix((uint64_t)seed, 1) | 1;
  for (int part = 0; part < parts; part++) ask_for_part(vm, u->mod, part, parts);
}

/* ---- Around a run ------------------------------------------------------------------------------------------------ */
/* Has the code loops, jumps or recursion? What has none was hot in no earlier run: nothing can be recalled. */
static bool may_be_hot(const LModule *code) {
  for (int k = 0; k < code->nfuncs; k++)
    if (code->funcs[k]->nlabels || code->funcs[k]->recursive) return true;
  return false;
}

static bool may_recall(AtledVM *vm, const Unit *u) {
  return !u->begun && !vm->rt.coin && !vm->tiers.requests[FEW].fragment && may_be_hot(u->code) && run_jit(vm);
}

void tiers_begin(AtledVM *vm, Unit *u) {
  Tiers *t = &vm->tiers;
  if (!t->begun) {
    for (int k = 0; k < JIT_REQUESTS; k++) arena_init(&t->requests[k].arena, &vm->heap);
    t->coin = settings_coin();
    t->begun = true;
  }
  vm->rt.tick = tick;
  vm->rt.ticker = vm;
  if (vm->rt.budget < 0 && !t->off) vm->rt.budget = SLICE;
  if (may_recall(vm, u)) within_memory(vm, recall_all, FEW, &u);
  toss(vm, u);
  u->begun = true;
}

void tiers_end(AtledVM *vm) {
  Tiers *t = &vm->tiers;
  if (t->why[0] && !vm->warned_no_jit) {
    vm->warned_no_jit = true;
    report_warning(vm, "no-compiler", "can't compile, so this runs in the slower evaluator: %s", t->why);
  }
}

/* No thread runs code of the module any more, but what was hot in one may not have been taken yet. */
static void drop_proposals(AtledVM *vm, const Mod *m) {
  Tiers *t = &vm->tiers;
  int kept = 0;
  rt_lock_shared(&vm->rt);
  for (int k = 0; k < t->nproposed; k++)
    if (t->proposed[k].mod != m) t->proposed[kept++] = t->proposed[k];
  __atomic_store_n(&t->nproposed, kept, __ATOMIC_RELAXED);
  rt_unlock_shared(&vm->rt);
}

void tiers_forget(AtledVM *vm, Unit *u) {
  Notes *notes = &u->notes;
  drop_proposals(vm, u->mod);
  for (int k = 0; k < JIT_REQUESTS; k++)
    if (vm->tiers.requests[k].mod == u->mod) vm->tiers.requests[k].mod = NULL;
  if (notes->news && vm->jit) jit_keep_notes(vm->jit, u->code, notes->data, notes->len);
  if (notes->data) heap_realloc(&vm->heap, notes->data, notes->cap * sizeof *notes->data, 0);
  *notes = (Notes){0};
}
