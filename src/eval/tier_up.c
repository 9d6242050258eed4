/* SPDX-License-Identifier: MIT */
/* Tier-up: which functions and loops are compiled to machine code, and how running loops change over.
 *
 * A tick comes after a fixed number of evaluated instructions. At a tick the functions of the top frames, and the
 * loops around their current instructions, get one count more. Those that were entered again and again meanwhile
 * (calls and iterations are counted) will probably be entered again: they are hot. The outermost hot one includes
 * the others.
 *
 * ENTER replaces the first instruction of a loop that has machine code (on-stack replacement). The replaced
 * instruction is kept, with a jump behind it, for a test that wants the loop evaluated nevertheless. */
#include "eval/eval_internal.h"
#include "support/phases.h"
#include <string.h>

/* Frames that are looked at; functions whose sizes are added; ticks until something is hot; ticks that a turn may take,
 * so that the change isn't waited for too long; after so many ticks with longer turns the count starts again. */
enum { FRAMES = 64, SIZED = 32, HOT = 6, LONG_TURN = 16, LONG_LOOK = 64 };

struct LoopCode {
  Status (*entry)(Mod *native, const Slot *args, Slot *res);
  Mod *native;
  LFragmentLoop part;
  const DInstr **exits;
  DInstr evaluated[2];
  size_t size; /* of this block */
};

/* ---- What is hot ------------------------------------------------------------------------------------------------- */
static void warm(Heat *h, int32_t tick) {
  if (h->last == tick) return;
  h->last = tick;
  if (h->ticks >= LONG_LOOK) h->ticks = 0;
  if (h->ticks++ == 0) h->seen = h->begun;
}

static bool is_hot(const Heat *h) {
  int64_t turns = h->begun - h->seen;
  return !h->asked && h->ticks >= HOT && turns >= 2 && h->ticks <= turns * LONG_TURN;
}

/* Is the loop around instruction i? */
static bool is_around(const DLoop *l, int64_t i) { return l->head <= i && i <= l->end; }

/* What is hot so far. */
typedef struct Found {
  EvalHot *hot;
  int n, max, depth;
  int32_t tick;
} Found;

/* Instructions of the module that are counted, and functions whose instructions are. */
typedef struct Size {
  const Mod *m;
  int n, nfuncs, funcs[SIZED];
} Size;

static void add_function(Size *s, int func) {
  const LFunc *f = s->m->code->funcs[func];
  for (int k = 0; k < s->nfuncs; k++)
    if (s->funcs[k] == func) return;
  if (s->nfuncs == SIZED) s->n = EVAL_SIZES + 1;
  else s->funcs[s->nfuncs++] = func;
  s->n += f->ncode;
}

static void add_calls(Size *s, const LFunc *f, int from, int to) {
  for (int i = from; i < to && s->n <= EVAL_SIZES; i++)
    if (f->code[i].op == LOP_CALL && s->m->decoded[f->code[i].imm.i]) add_function(s, (int)f->code[i].imm.i);
}

/* Of what stands from instruction `from` to `to`, and whatever that calls. */
static int size_of(const Mod *m, const LFunc *f, int from, int to) {
  Size s = {.m = m, .n = to - from};
  add_calls(&s, f, from, to);
  for (int k = 0; k < s.nfuncs; k++) {
    const LFunc *called = m->code->funcs[s.funcs[k]];
    add_calls(&s, called, 0, called->ncode);
  }
  return s.n;
}

static void look_at(Found *all, Heat *h, const Frame *f, int head, int from, int to) {
  warm(h, all->tick);
  if (all->n == all->max || !is_hot(h)) return;
  const LFunc *code = f->fn->f;
  if (!h->size) h->size = size_of(f->mod, code, from, to);
  for (int k = 0; k < all->n; k++) /* another frame of a recursive function */
    if (all->hot[k].mod == f->mod && all->hot[k].func == code->index && all->hot[k].head == head) return;
  all->hot[all->n++] = (EvalHot){f->mod, code->index, head, h->size, h->ticks, all->depth};
}

static void look_at_frame(Found *all, const Frame *f) {
  DFunc *d = f->fn;
  int64_t at = f->pc->src - d->f->code;
  all->depth += f->caller && f->caller->pc->src->op == LOP_APPLY;
  look_at(all, &d->heat, f, -1, 0, d->f->ncode);
  for (int k = 0; k < d->nloops; k++)
    if (is_around(&d->loops[k], at))
      look_at(all, &d->loops[k].heat, f, d->loops[k].head, d->loops[k].head, d->loops[k].end + 1);
}

int eval_hottest(const void *frame, int32_t tick, EvalHot *hot, int max) {
  const Frame *frames[FRAMES];
  int n = 0;
  Found all = {.hot = hot, .max = max, .tick = tick};
  for (const Frame *f = frame; f && n < FRAMES; f = f->caller) frames[n++] = f;
  while (n > 0) look_at_frame(&all, frames[--n]);
  return all.n;
}

void eval_called(const Mod *m, bool *called) {
  for (int k = 0; k < m->nfuncs; k++) called[k] = m->decoded[k] != NULL;
}

/* ---- Attaching --------------------------------------------------------------------------------------------------- */
static DFunc *decoded(Mod *m, int func) {
  return m->decoded[func] ? m->decoded[func] : eval_decode(m, func, eval_handlers());
}

static DLoop *find_loop(DFunc *d, int head) {
  for (int k = 0; k < d->nloops; k++)
    if (d->loops[k].head == head) return &d->loops[k];
  return NULL;
}

bool eval_asked(Mod *m, int func, int head) {
  DFunc *d = decoded(m, func);
  if (!d) return false;
  if (head < 0) return d->heat.asked = true;
  DLoop *l = find_loop(d, head);
  return l && (l->heat.asked = true);
}

int eval_loop_head(Mod *m, int func, int k) {
  DFunc *d = decoded(m, func);
  return d && k < d->nloops ? d->loops[k].head : -1;
}

void eval_attach_function(Mod *m, int func) {
  DFunc *d = m->decoded[func];
  if (d) d->native = true;
}

/* The first decoded instruction from instruction i on. */
static const DInstr *decoded_at(const DFunc *d, int i) {
  int low = 0, high = d->ncode;
  while (low < high) {
    int middle = (low + high) / 2;
    if (d->code[middle].src < d->f->code + i) low = middle + 1;
    else high = middle;
  }
  return &d->code[low];
}

static struct LoopCode *new_code(Rt *rt, const LFragmentLoop *p) {
  size_t exits = sizeof(DInstr *) * (size_t)p->nexits;
  size_t size = sizeof(struct LoopCode) + exits + sizeof(int32_t) * (size_t)(p->nin + p->nout + p->ntaken);
  struct LoopCode *l = heap_realloc(rt->heap, NULL, 0, size);
  if (!l) return NULL;
  int32_t *regs = (int32_t *)((char *)(l + 1) + exits);
  *l = (struct LoopCode){.part = *p, .exits = (const DInstr **)(l + 1), .size = size};
  if (p->nin) memcpy(l->part.in = regs, p->in, sizeof *regs * (size_t)p->nin);
  if (p->nout) memcpy(l->part.out = regs + p->nin, p->out, sizeof *regs * (size_t)p->nout);
  if (p->ntaken) memcpy(l->part.taken = regs + p->nin + p->nout, p->taken, sizeof *regs * (size_t)p->ntaken);
  l->part.exits = NULL;
  return l;
}

/* Puts ENTER at the head of the loop, whose code is complete but for that. Other threads may look at loop->code. */
static void enter_by(DLoop *loop, struct LoopCode *l) {
  const Handlers *h = eval_handlers();
  l->evaluated[0] = *loop->at;
  l->evaluated[1] = (DInstr){.go = h->op[LOP_JUMP], .imm.to = loop->at + 1, .src = loop->at->src};
  __atomic_store_n(&loop->code, l, __ATOMIC_RELEASE);
  loop->at->imm.loop = l;
  loop->at->go = h->enter;
}

bool eval_attach_loop(Mod *m, const LFragmentRoot *root, Status (*entry)(Mod *, const Slot *, Slot *), Mod *native) {
  DFunc *d = decoded(m, root->func);
  DLoop *loop = d ? find_loop(d, root->head) : NULL;
  struct LoopCode *l = loop && !loop->code ? new_code(m->rt, &root->loop) : NULL;
  if (!l) return false;
  l->entry = entry;
  l->native = native;
  for (int k = 0; k < l->part.nexits; k++) l->exits[k] = decoded_at(d, root->loop.exits[k]);
  enter_by(loop, l);
  return true;
}

/* ---- Other threads ----------------------------------------------------------------------------------------------- */
/* Gives this thread's form of a loop, whose function is d, the machine code that the VM's own form has. */
static void follow_loop(Rt *rt, const DFunc *d, DLoop *loop, const struct LoopCode *own) {
  struct LoopCode *l = new_code(rt, &own->part);
  if (!l) return;
  l->entry = own->entry;
  l->native = own->native;
  for (int k = 0; k < l->part.nexits; k++) l->exits[k] = decoded_at(d, (int)(own->exits[k]->src - d->f->code));
  enter_by(loop, l);
}

void eval_follow_function(Mod *peer, int func) {
  DFunc *d = peer->decoded[func], *own = __atomic_load_n((DFunc **)&peer->peers[0]->decoded[func], __ATOMIC_ACQUIRE);
  if (!d) return;
  d->native = __atomic_load_n(&peer->funcs[func]->entry, __ATOMIC_RELAXED) != NULL;
  for (int k = 0; own && k < d->nloops; k++) {
    const struct LoopCode *code = __atomic_load_n(&own->loops[k].code, __ATOMIC_ACQUIRE);
    if (code && !d->loops[k].code) follow_loop(peer->rt, d, &d->loops[k], code);
  }
}

void eval_follow(Mod *peer) {
  for (int k = 0; k < peer->nfuncs; k++) eval_follow_function(peer, k);
}

bool eval_is_asked(const Mod *m, int func, int head) {
  DFunc *d = m->decoded[func];
  const DLoop *l = d && head >= 0 ? find_loop(d, head) : NULL;
  return head < 0 ? d && d->heat.asked : l && l->heat.asked;
}

void loop_code_free(Rt *rt, struct LoopCode *l) {
  if (l) heap_realloc(rt->heap, l, l->size, 0);
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */
const DInstr *loop_evaluated(const struct LoopCode *l) { return l->evaluated; }

const DInstr *loop_enter(Rt *rt, const struct LoopCode *l, Slot *r) {
  const LFragmentLoop *p = &l->part;
  Slot *args = stack_push(rt, (size_t)(p->nin + p->nout + 2) / 2 * 2 * sizeof(Slot)), *res = args + p->nin;
  if (!args) return NULL;
  for (int k = 0; k < p->nin; k++) args[k] = r[p->in[k]];
  for (int k = 0; k < p->ntaken; k++) r[p->taken[k]].p = NULL;
  Phase before = phase_enter(rt->heap, PHASE_RUN);
  Status status = l->entry(mod_here(rt, l->native), args, res);
  phase_leave(rt->heap, before);
  for (int k = 0; k < p->nout && !status; k++) r[p->out[k]] = res[1 + k];
  const DInstr *next = status ? NULL : l->exits[res[0].i];
  stack_pop(rt, args);
  return next;
}
