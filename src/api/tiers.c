/* SPDX-License-Identifier: MIT */
/* Mode `auto`: machine code for what is hot, while the evaluator goes on.
 *
 *   evaluator ── tick, each SLICE instructions ──► is the piece that was asked for ready? attach it
 *                                                  else, if none is asked for: ask for the hottest
 *
 * Nothing waits and nothing starts again: attached code takes over at the next call, or when a loop comes to its head.
 * Both tiers agree to the bit, so what a program prints doesn't depend on when the compiler is done.
 *
 * A tick happens inside the evaluator, so memory that runs out here is no reason to leave: the piece stays
 * evaluated. */
#include "api/settings.h"
#include "lir/image.h"
#include "lir/loops.h"
#include <setjmp.h>
#include <string.h>
#include <time.h>

/* Instructions between ticks, a millisecond or so. Ticks after a change before more is asked for. */
enum { SLICE = 1 << 18, QUIET = 6 };

static void drop_piece(Tiers *t) {
  t->piece = NULL;
  t->mod = NULL;
  arena_free(&t->arena);
}

/* ---- Attaching --------------------------------------------------------------------------------------------------- */
static void attach(AtledVM *vm) {
  Tiers *t = &vm->tiers;
  const LPiece *p = t->piece;
  Mod *native;
  JitEntry *entries = NEW_ARRAY(&t->arena, JitEntry, p->nroots);
  if (!jit_attach_piece(vm->jit, t->mod, p, entries, &native)) return;
  for (int k = 0; k < p->nroots; k++) {
    if (p->roots[k].head < 0) eval_attach_function(t->mod, p->roots[k].func);
    else eval_attach_loop(t->mod, &p->roots[k], entries[k], native);
  }
}

static void settle(AtledVM *vm, JitAnswer answer) {
  Tiers *t = &vm->tiers;
  if (answer == JIT_WORKING) return;
  const char *why = NULL;
  if (answer == JIT_READY && t->mod) attach(vm);
  else if (answer == JIT_READY) jit_forget_asked(vm->jit, false);
  else if (!jit_available(vm->jit, &why)) t->off = true;
  else why = jit_why(vm->jit);
  if (why && !t->why[0]) snprintf(t->why, sizeof t->why, "%s", why);
  t->quiet = t->tick + QUIET;
  rt_clear_error(&vm->rt); /* of memory */
  drop_piece(t);
}

/* ---- Notes ------------------------------------------------------------------------------------------------------- */
/* Of each piece: function, head, the number of functions that it takes along, these. */
enum { NOTE_FUNC, NOTE_HEAD, NOTE_COUNT, NOTE_CALLED };

static Unit *unit_of(const AtledVM *vm, const Mod *m) {
  Unit *u = vm->units;
  while (u && u->mod != m) u = u->next;
  return u;
}

static bool make_room(AtledVM *vm, Notes *notes, size_t more) {
  if (notes->len + more <= notes->cap) return true;
  size_t cap = 2 * notes->cap + more;
  int32_t *data = heap_realloc(&vm->heap, notes->data, notes->cap * sizeof *data, cap * sizeof *data);
  if (!data) return false;
  notes->data = data;
  notes->cap = cap;
  return true;
}

static void note_piece(AtledVM *vm, const LPiece *p) {
  Unit *u = unit_of(vm, vm->tiers.mod);
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
  Tiers *t = &vm->tiers;
  const LModule *code = m->code;
  int func = note[NOTE_FUNC], head = note[NOTE_HEAD];
  if (func < 0 || func >= code->nfuncs || head < -1 || head >= code->funcs[func]->ncode) return;
  if (head >= 0 && code->funcs[func]->code[head].op != LOP_LABEL) return;
  bool *called = NEW_ARRAY(&t->arena, bool, code->nfuncs + 1);
  for (int k = 0; k < note[NOTE_COUNT]; k++)
    if (note[NOTE_CALLED + k] >= 0 && note[NOTE_CALLED + k] < code->nfuncs) called[note[NOTE_CALLED + k]] = true;
  Str image = {.arena = &t->arena};
  t->mod = m;
  t->piece = piece_make(&t->arena, code, &(LPieceRoot){.func = func, .head = head}, 1, called);
  if (!t->piece) return;
  image_write(t->piece->module, &image);
  if (jit_ask_cached(vm->jit, t->piece, image.data) == JIT_READY && eval_asked(m, func, head)) attach(vm);
}

/* What was hot in earlier runs of the module needn't become hot again. */
static void recall_all(AtledVM *vm, void *unit) {
  Unit *u = unit;
  Notes *notes = &u->notes;
  if (!(notes->data = jit_read_notes(vm->jit, u->code, &notes->len))) return;
  notes->cap = notes->len;
  for (size_t at = 0; at + NOTE_CALLED <= notes->len;) {
    const int32_t *note = notes->data + at;
    if (note[NOTE_COUNT] < 0 || (size_t)note[NOTE_COUNT] > notes->len - at - NOTE_CALLED) return;
    recall(vm, u->mod, note);
    jit_forget_asked(vm->jit, false);
    drop_piece(&vm->tiers);
    at += NOTE_CALLED + (size_t)note[NOTE_COUNT];
  }
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */
static void ask(AtledVM *vm, Mod *m, const LPieceRoot *roots, int nroots, const bool *called) {
  Tiers *t = &vm->tiers;
  Str image = {.arena = &t->arena};
  t->mod = m;
  t->piece = piece_make(&t->arena, m->code, roots, nroots, called);
  if (!t->piece) return;
#ifdef ATLED_VERIFY
  const char *wrong = lir_verify(t->piece->module);
  if (wrong) snprintf(t->why, sizeof t->why, "a piece of lowered code: %s", wrong);
#endif
  note_piece(vm, t->piece);
  image_write(t->piece->module, &image);
  settle(vm, jit_ask(vm->jit, t->piece, image.data, image.len));
}

static void ask_for_hottest(AtledVM *vm, void *frame) {
  Tiers *t = &vm->tiers;
  EvalHot hot;
  if (!eval_hottest(frame, t->tick, &hot) || t->tick < t->quiet) return;
  eval_asked(hot.mod, hot.func, hot.head);
  bool *called = NEW_ARRAY(&t->arena, bool, hot.mod->nfuncs + 1);
  eval_called(hot.mod, called);
  ask(vm, hot.mod, &(LPieceRoot){.func = hot.func, .head = hot.head}, 1, called);
}

/* Does it, and nothing more where memory runs out, or the call is to end. */
static void within_memory(AtledVM *vm, void (*what)(AtledVM *vm, void *arg), void *arg) {
  jmp_buf here, *volatile outer = vm->heap.on_oom;
  if (setjmp(here) == 0) {
    vm->heap.on_oom = &here;
    alarm_watch(vm);
    what(vm, arg);
  } else {
    jit_forget_asked(vm->jit, false);
    vm->tiers.piece = NULL;
  }
  vm->heap.on_oom = outer;
  vm->heap.alarm = NULL;
  if (!vm->tiers.piece) drop_piece(&vm->tiers);
}

static void go_on(AtledVM *vm, void *frame) {
  if (vm->tiers.piece) settle(vm, jit_look(vm->jit));
  else ask_for_hottest(vm, frame);
}

/* Rt.tick. */
static void tick(void *user, void *frame) {
  AtledVM *vm = user;
  Tiers *t = &vm->tiers;
  vm->rt.budget = SLICE;
  t->tick++;
  if (!run_jit(vm)) return;
  within_memory(vm, go_on, frame);
  if (t->off) vm->rt.budget = -1;
}

/* ---- For tests --------------------------------------------------------------------------------------------------- */
/* A piece of the module's functions and loops: in two parts, so that functions call each other within a piece and by
 * way of the runtime. */
static void ask_for_part(AtledVM *vm, Mod *m, int part, int parts) {
  Vec(LPieceRoot) roots = {0};
  Arena *a = &vm->tiers.arena;
  for (int f = 0; f < m->nfuncs; f++) {
    if (f % parts != part) continue;
    eval_asked(m, f, -1);
    vec_push(a, roots, ((LPieceRoot){.func = f, .head = -1}));
    for (int k = 0, head; (head = eval_loop_head(m, f, k)) >= 0; k++) {
      eval_asked(m, f, head);
      if (loop_body(a, m->code->funcs[f], head)) vec_push(a, roots, ((LPieceRoot){.func = f, .head = head}));
    }
  }
  ask(vm, m, roots.data, roots.len, NEW_ARRAY(a, bool, m->nfuncs + 1));
  while (vm->tiers.piece) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    settle(vm, jit_look(vm->jit));
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
void tiers_begin(AtledVM *vm, Unit *u) {
  Tiers *t = &vm->tiers;
  if (!t->arena.heap) {
    arena_init(&t->arena, &vm->heap);
    t->coin = settings_coin();
  }
  vm->rt.tick = tick;
  vm->rt.ticker = vm;
  if (vm->rt.budget < 0 && !t->off) vm->rt.budget = SLICE;
  if (!u->begun && !vm->rt.coin && !t->piece && run_jit(vm)) within_memory(vm, recall_all, u);
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

void tiers_forget(AtledVM *vm, Unit *u) {
  Notes *notes = &u->notes;
  if (vm->tiers.mod == u->mod) vm->tiers.mod = NULL;
  if (notes->news && vm->jit) jit_keep_notes(vm->jit, u->code, notes->data, notes->len);
  if (notes->data) heap_realloc(&vm->heap, notes->data, notes->cap * sizeof *notes->data, 0);
  *notes = (Notes){0};
}
