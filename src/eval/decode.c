/* SPDX-License-Identifier: MIT */
/* Decoding lowered code for the dispatch loop.
 *
 * A function is decoded when it is first called; the result hangs in Mod.decoded. Decoding drops LABEL and LOOP_HEAD,
 * turns labels into addresses of instructions, and each operation into the address of its handler. A call that is
 * directly followed by the RETURN of its results becomes a tail call: everything the frame owned was released or moved
 * before, so nothing is left for it to do. */
#include "eval/eval_internal.h"
#include <string.h>

static bool is_tail_call(const LFunc *f, const LInstr *call) {
  const LInstr *in = call + 1;
  while (in < f->code + f->ncode && (in->op == LOP_NULLPTR || (in->op == LOP_RELEASE && call->op == LOP_APPLY))) in++;
  if (in >= f->code + f->ncode || in->op != LOP_RETURN || in->nargs != call->nres) return false;
  for (int k = 0; k < call->nres; k++)
    if (in->args[k] != call->res[k]) return false;
  return true;
}

static void free_decoded(Rt *rt, DFunc *d) {
  if (!d) return;
  rt_give_back(rt, d->code, (size_t)d->ncode, sizeof *d->code);
  rt_give_back(rt, d->targets, (size_t)d->ntargets, sizeof *d->targets);
  rt_give_back(rt, d->owned, (size_t)d->nowned, sizeof *d->owned);
  for (int k = 0; k < d->nloops && d->loops; k++) loop_code_free(rt, d->loops[k].code);
  rt_give_back(rt, d->loops, (size_t)d->nloops, sizeof *d->loops);
  rt_give_back(rt, d, 1, sizeof *d);
}

/* By label. */
typedef struct Places {
  int32_t decoded; /* position in the decoded code */
  int32_t at, end; /* instructions: its own, and the last jump back to it; -1: none */
} Places;

/* Counts what is to be allocated and finds the labels. */
static void measure(DFunc *d, Places *labels, const Handlers *h) {
  const LFunc *f = d->f;
  for (int i = 0; i < f->ncode; i++) {
    const LInstr *in = &f->code[i];
    if (in->op == LOP_LABEL && labels) labels[in->imm.i] = (Places){d->ncode, i, -1};
    if (!eval_handler(h, in)) continue;
    d->ncode++;
    if (lir_ops[in->op].flow == LFLOW_SWITCH) d->ntargets += in->nargs;
  }
  for (int i = 0; i < f->ncode && labels; i++)
    for (int64_t k = 0, l; (l = lir_target(&f->code[i], (int)k)) >= 0; k++)
      if (labels[l].at < i) {
        d->nloops += labels[l].end < 0;
        labels[l].end = i;
      }
  for (int k = 0; k < f->nregs; k++)
    if (f->regs[k].owned && f->regs[k].kind == R_PTR) {
      d->nowned++;
      if (k < f->nparams) d->nowned_params++;
    }
}

static void list_loops(DFunc *d, const Places *labels) {
  const LFunc *f = d->f;
  int n = 0;
  for (int i = 0; i < f->ncode; i++) {
    if (f->code[i].op != LOP_LABEL) continue;
    const Places *p = &labels[f->code[i].imm.i];
    if (p->end >= 0) d->loops[n++] = (DLoop){.head = i, .end = p->end, .at = d->code + p->decoded};
  }
}

/* The innermost loop around instruction i, or NULL; those from loops[n] on begin later. */
static DLoop *loop_around(DFunc *d, int n, int i) {
  while (n > 0 && d->loops[n - 1].end < i) n--;
  return n > 0 ? &d->loops[n - 1] : NULL;
}

/* The POLL at instruction i counts the turns of the loop that it is in. */
static int64_t *turns_of(DFunc *d, int n, int i) {
  DLoop *l = loop_around(d, n, i);
  if (!l) return &d->heat.begun;
  l->polled = true;
  return &l->heat.begun;
}

/* A jump back to the LABEL at instruction `head`, where one of the loops before loops[n] begins. If its turns meet no
 * POLL, it counts them and pays for what nothing in them paid for. */
static void make_back(DFunc *d, int n, int head, const DInstr **paid, DInstr *out, const Handlers *h) {
  while (n > 0 && d->loops[n - 1].head != head) n--;
  DLoop *l = n > 0 ? &d->loops[n - 1] : NULL;
  if (!l || l->polled) return;
  if (*paid < l->at) d->cost += (int)(l->at - *paid);
  out->go = h->back;
  out->a = n - 1;
  out->c = (int32_t)(out - (*paid > l->at ? *paid : l->at)) + 1;
  *paid = out;
}

static void translate(const Rt *rt, DFunc *d, const Places *labels, const Handlers *h) {
  const LFunc *f = d->f;
  const DInstr **target = d->targets;
  DInstr *out = d->code;
  const DInstr *paid = d->code;
  int nloops = 0;
  for (int i = 0; i < f->ncode; i++) {
    const LInstr *in = &f->code[i];
    while (nloops < d->nloops && d->loops[nloops].head <= i) nloops++;
    if (!eval_handler(h, in)) continue;
    LFlow flow = lir_ops[in->op].flow;
    *out = (DInstr){.dst = in->dst, .a = in->a, .b = in->b, .c = in->c, .src = in};
    out->imm.i = in->imm.i;
    out->go = eval_handler(h, in);
    if (rt->operations && eval_is_counted(f, in)) out->go = h->counted;
    if (flow == LFLOW_JUMP || flow == LFLOW_BRANCH) out->imm.to = d->code + labels[in->imm.i].decoded;
    if (in->op == LOP_JUMP && out->imm.to <= out) make_back(d, nloops, labels[in->imm.i].at, &paid, out, h);
    if (flow == LFLOW_SWITCH) {
      out->imm.table = target;
      for (int k = 0; k < in->nargs; k++) *target++ = d->code + labels[in->args[k]].decoded;
    }
    if (in->op == LOP_CALL || in->op == LOP_APPLY || in->op == LOP_POLL) {
      out->c = (int32_t)(out - paid) + 1;
      paid = out;
    }
    if (in->op == LOP_POLL) out->imm.turns = turns_of(d, nloops, i);
    if (in->op == LOP_CALL && is_tail_call(f, in)) out->go = h->tail_call;
    if (in->op == LOP_APPLY && is_tail_call(f, in)) out->go = h->tail_apply;
    out++;
  }
  d->cost += (int)(out - paid);
  int n = 0;
  for (int k = 0; k < f->nregs; k++)
    if (f->regs[k].owned && f->regs[k].kind == R_PTR) d->owned[n++] = k;
}

DFunc *eval_decode(Mod *m, int index, const Handlers *h) {
  Rt *rt = m->rt;
  DFunc *d = rt_zeroed(rt, 1, sizeof *d);
  if (!d) return NULL;
  d->f = m->code->funcs[index];
  size_t nlabels = (size_t)d->f->nlabels;
  Places *labels = rt_zeroed(rt, nlabels, sizeof *labels);
  d->native = __atomic_load_n(&m->funcs[index]->entry, __ATOMIC_RELAXED) != NULL;
  measure(d, labels, h);
  d->code = rt_zeroed(rt, (size_t)d->ncode, sizeof *d->code);
  d->targets = rt_zeroed(rt, (size_t)d->ntargets, sizeof *d->targets);
  d->owned = rt_zeroed(rt, (size_t)d->nowned, sizeof *d->owned);
  d->loops = rt_zeroed(rt, (size_t)d->nloops, sizeof *d->loops);
  bool fine = labels && d->code && d->targets && d->owned && d->loops;
  if (fine) list_loops(d, labels);
  if (fine) translate(rt, d, labels, h);
  rt_give_back(rt, labels, nlabels, sizeof *labels);
  if (fine) {
    __atomic_store_n((DFunc **)&m->decoded[index], d, __ATOMIC_RELEASE); /* other threads may follow it */
    if (rt->worker) eval_follow_function(m, index);
    return d;
  }
  free_decoded(rt, d);
  return NULL;
}

static void forget_decoded(Mod *m) {
  for (int k = 0; k < m->nfuncs; k++) {
    free_decoded(m->rt, m->decoded[k]);
    m->decoded[k] = NULL;
  }
}

void eval_forget(Mod *m) {
  for (int k = 0; k < m->npeers; k++) forget_decoded(m->peers[k]);
  rt_foreigns_free(m, m->code->nforeigns);
}
