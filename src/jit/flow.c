/* SPDX-License-Identifier: MIT */
/* Which owned registers may hold a reference at each instruction, and what can be reached.
 *
 * When an instruction fails, the function releases its owned registers. Most of them
 * are NULL there, and releasing all of them at every exit would make the clean-up
 * blocks quadratic. So a forward analysis over the linear code tracks, as a bit
 * set, the owned registers that may be non-NULL; states meet at labels by union.
 * The emitter runs flow_step until nothing changes and then once more along with
 * the translation, asking flow_on_failure at each instruction that may fail.
 * Unreachable code is found on the way, since libgccjit refuses unreachable blocks. */
#include "jit/emit.h"
#include <string.h>

void flow_init(Flow *w, Arena *a, const LModule *m, const LFunc *f) {
  *w = (Flow){.arena = a, .f = f, .m = m};
  w->owned_of = NEW_ARRAY(a, int, f->nregs + 1);
  w->reg_of = NEW_ARRAY(a, int, f->nregs + 1);
  for (int r = 0; r < f->nregs; r++) {
    bool owned = f->regs[r].kind == R_PTR && f->regs[r].owned;
    w->owned_of[r] = owned ? w->nowned : -1;
    if (owned) w->reg_of[w->nowned++] = r;
  }
  w->words = (w->nowned + 63) / 64;
  w->at_label = NEW_ARRAY(a, uint64_t *, f->nlabels + 1);
  w->now = NEW_ARRAY(a, uint64_t, w->words + 1);
}

static void set(Flow *w, int r, bool held) {
  if (r < 0 || w->owned_of[r] < 0) return;
  (held ? set_bit : clear_bit)(w->now, w->owned_of[r]);
}

void flow_restart(Flow *w) {
  memset(w->now, 0, sizeof(uint64_t) * (size_t)w->words);
  for (int r = 0; r < w->f->nparams; r++) set(w, r, true);
  w->reachable = true;
}

/* The current state reaches label l. True if that is news. */
static bool reach(Flow *w, int64_t l) {
  uint64_t *there = w->at_label[l];
  if (!there) {
    there = w->at_label[l] = NEW_ARRAY(w->arena, uint64_t, w->words + 1);
    memcpy(there, w->now, sizeof(uint64_t) * (size_t)w->words);
    return true;
  }
  bool news = false;
  for (int k = 0; k < w->words; k++) {
    if (w->now[k] & ~there[k]) news = true;
    there[k] |= w->now[k];
  }
  return news;
}

static bool step_label(Flow *w, int64_t l) {
  bool news = w->reachable && reach(w, l);
  if (w->at_label[l]) memcpy(w->now, w->at_label[l], sizeof(uint64_t) * (size_t)w->words);
  w->reachable = w->at_label[l] != NULL;
  return news;
}

bool flow_step(Flow *w, const LInstr *i) {
  if (i->op == LOP_LABEL) return step_label(w, i->imm.i);
  if (!w->reachable) return false;
  bool news = false;
  if (i->op == LOP_RELEASE || i->op == LOP_KEEP) set(w, i->a, false);
  if (lir_defines_dst(i->op)) set(w, i->dst, i->op != LOP_NULLPTR);
  if (lir_defines_results(i->op))
    for (int k = 0; k < i->nres; k++) set(w, i->res[k], true);
  for (int64_t k = 0, l; (l = lir_target(i, (int)k)) >= 0; k++) news |= reach(w, l);
  LFlow flow = lir_ops[i->op].flow;
  w->reachable = flow == LFLOW_NEXT || flow == LFLOW_BRANCH;
  return news;
}

static void drop(const Flow *w, int r, uint64_t *out) {
  if (r >= 0 && w->owned_of[r] >= 0) clear_bit(out, w->owned_of[r]);
}

void flow_on_failure(const Flow *w, const LInstr *i, uint64_t *out) {
  memcpy(out, w->now, sizeof(uint64_t) * (size_t)w->words);
  if (!i) return;
  switch (i->op) {
  case LOP_CALL: { /* what was moved to the callee is gone, whatever happened */
    const LFunc *callee = w->m->funcs[i->imm.i];
    for (int k = 0; k < i->nargs; k++)
      if (callee->regs[k].kind == R_PTR && callee->regs[k].owned && lir_moves_argument(w->f, i, i->args[k]))
        drop(w, i->args[k], out);
    break;
  }
  default: break;
  }
}

bool has_loops(const LFunc *f) {
  for (int c = 0; c < f->ncode; c++)
    if (f->code[c].op == LOP_LOOP_HEAD) return true;
  return false;
}
