/* SPDX-License-Identifier: MIT */
/* Decoding lowered code for the dispatch loop, and instantiating modules.
 *
 * A function is decoded when it is first called; the result hangs in Mod.decoded. Decoding drops LABEL and LOOP_HEAD,
 * turns labels into addresses of instructions, and each operation into the address of its handler. A call that is
 * directly followed by the RETURN of its results becomes a tail call: everything the frame owned was released or moved
 * before, so nothing is left for it to do. */
#include "eval/eval_internal.h"
#include <string.h>

/* Where the dispatch loop goes for it; NULL: nowhere, it is dropped. */
static const void *handler(const Handlers *h, const LInstr *in) {
  return lir_ops[in->op].sub == LSUB_OP ? h->scalar[in->sub] : h->op[in->op];
}

static bool is_tail_call(const LFunc *f, const LInstr *call) {
  const LInstr *in = call + 1;
  while (in < f->code + f->ncode && (in->op == LOP_NULLPTR || (in->op == LOP_RELEASE && call->op == LOP_APPLY))) in++;
  if (in >= f->code + f->ncode || in->op != LOP_RETURN || in->nargs != call->nres) return false;
  for (int k = 0; k < call->nres; k++)
    if (in->args[k] != call->res[k]) return false;
  return true;
}

static void *zeroed(Rt *rt, size_t n, size_t size) {
  void *p = heap_realloc(rt->heap, NULL, 0, n && size ? n * size : 1);
  if (p) memset(p, 0, n * size);
  else rt_out_of_memory(rt);
  return p;
}

static void give_back(Rt *rt, void *p, size_t n, size_t size) {
  if (p) heap_realloc(rt->heap, p, n && size ? n * size : 1, 0);
}

void eval_decoded_free(Rt *rt, DFunc *d) {
  if (!d) return;
  give_back(rt, d->code, (size_t)d->ncode, sizeof *d->code);
  give_back(rt, d->targets, (size_t)d->ntargets, sizeof *d->targets);
  give_back(rt, d->owned, (size_t)d->nowned, sizeof *d->owned);
  foreign_free(rt, d->foreign);
  give_back(rt, d, 1, sizeof *d);
}

/* Counts what is to be allocated and finds the labels: positions in the decoded code. */
static void measure(DFunc *d, int32_t *labels, const Handlers *h) {
  const LFunc *f = d->f;
  for (int i = 0; i < f->ncode; i++) {
    const LInstr *in = &f->code[i];
    if (in->op == LOP_LABEL && labels) labels[in->imm.i] = d->ncode;
    if (!handler(h, in)) continue;
    d->ncode++;
    if (lir_ops[in->op].flow == LFLOW_SWITCH) d->ntargets += in->nargs;
  }
  for (int k = 0; k < f->nregs; k++)
    if (f->regs[k].owned && f->regs[k].kind == R_PTR) {
      d->nowned++;
      if (k < f->nparams) d->nowned_params++;
    }
}

static void translate(DFunc *d, const int32_t *labels, const Handlers *h) {
  const LFunc *f = d->f;
  const DInstr **target = d->targets;
  DInstr *out = d->code, *paid = d->code;
  bool unpolled = false; /* in an innermost loop, whose iterations nothing else pays for */
  for (int i = 0; i < f->ncode; i++) {
    const LInstr *in = &f->code[i];
    if (in->op == LOP_LOOP_HEAD) unpolled = in->b;
    if (in->op == LOP_POLL) unpolled = false;
    if (!handler(h, in)) continue;
    LFlow flow = lir_ops[in->op].flow;
    *out = (DInstr){.dst = in->dst, .a = in->a, .b = in->b, .c = in->c, .src = in};
    out->imm.i = in->imm.i;
    out->go = handler(h, in);
    if (flow == LFLOW_JUMP || flow == LFLOW_BRANCH) out->imm.to = d->code + labels[in->imm.i];
    if (in->op == LOP_JUMP && unpolled && out->imm.to <= out) {
      unpolled = false;
      out->go = h->back;
      out->c = (int32_t)(out - out->imm.to) + 1;
    }
    if (flow == LFLOW_SWITCH) {
      out->imm.table = target;
      for (int k = 0; k < in->nargs; k++) *target++ = d->code + labels[in->args[k]];
    }
    if (in->op == LOP_CALL || in->op == LOP_APPLY || in->op == LOP_POLL) {
      out->c = (int32_t)(out - paid) + 1;
      paid = out;
    }
    if (in->op == LOP_CALL && is_tail_call(f, in)) out->go = h->tail_call;
    if (in->op == LOP_APPLY && is_tail_call(f, in)) out->go = h->tail_apply;
    out++;
  }
  int n = 0;
  for (int k = 0; k < f->nregs; k++)
    if (f->regs[k].owned && f->regs[k].kind == R_PTR) d->owned[n++] = k;
}

static bool decode_foreign(Mod *m, DFunc *d) {
  const LFunc *f = d->f;
  uint8_t kinds[64];
  for (int k = 0; k < f->nparams && k < 64; k++) kinds[k] = f->regs[k].kind;
  d->foreign =
      foreign_new(m->rt, f->library, f->symbol, kinds, f->nparams, f->nresults ? f->result_kinds[0] : SLOT_INT, 0);
  return d->foreign != NULL;
}

DFunc *eval_decode(Mod *m, int index, const Handlers *h) {
  Rt *rt = m->rt;
  DFunc *d = zeroed(rt, 1, sizeof *d);
  if (!d) return NULL;
  d->f = m->code->funcs[index];
  bool fine;
  if (d->f->symbol) {
    fine = decode_foreign(m, d);
  } else {
    size_t nlabels = (size_t)d->f->nlabels;
    int32_t *labels = zeroed(rt, nlabels, sizeof *labels);
    measure(d, labels, h);
    d->code = zeroed(rt, (size_t)d->ncode, sizeof *d->code);
    d->targets = zeroed(rt, (size_t)d->ntargets, sizeof *d->targets);
    d->owned = zeroed(rt, (size_t)d->nowned, sizeof *d->owned);
    fine = labels && d->code && d->targets && d->owned;
    if (fine) translate(d, labels, h);
    give_back(rt, labels, nlabels, sizeof *labels);
  }
  if (fine) {
    m->decoded[index] = d;
    return d;
  }
  eval_decoded_free(rt, d);
  return NULL;
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */
static RtFunc *new_func(Rt *rt, Mod *m, LFunc *code) {
  RtFunc *f = zeroed(rt, 1, sizeof *f);
  if (!f) return NULL;
  *f = (RtFunc){.mod = m,
                .code = code,
                .id = code->id,
                .nparams = code->nparams,
                .nresults = code->nresults,
                .ncaps = code->ncaps,
                .acc_kinds = code->acc_kinds,
                .nacc = code->nacc,
                .acc_descs = code->acc_descs};
  f->param_kinds = zeroed(rt, (size_t)f->nparams, 1);
  if (!f->param_kinds) {
    give_back(rt, f, 1, sizeof *f);
    return NULL;
  }
  for (int k = 0; k < f->nparams; k++) f->param_kinds[k] = code->regs[k].kind;
  return f;
}

/* The module's own objects: no reference to them is counted. */
static void make_immortal(Rt *rt, Obj *o) {
  o->rc = RT_IMMORTAL;
  rt->live--;
}

/* Later boxes hold earlier ones, and go first. */
static void free_immortals(Rt *rt, Obj **objects, int n) {
  for (int k = n - 1; objects && k >= 0; k--)
    if (objects[k]) {
      objects[k]->rc = 1;
      rt->live++;
      rt_release(rt, objects[k]);
    }
  give_back(rt, objects, (size_t)n, sizeof *objects);
}

/* Constant k of the module, which may refer to those before it. */
static Status make_box(Mod *m, int k) {
  const LBox *b = &m->code->boxes[k];
  const Desc *desc = m->descs[b->desc];
  Slot *fields;
  if (b->dims) {
    ArrayObj *a = rt_new_array(m->rt, desc, b->dims, false);
    if (!a) return 1;
    m->boxes[k] = &a->h;
    fields = a->data;
  } else {
    BoxObj *box = rt_new_box(m->rt, desc, b->tag);
    if (!box) return 1;
    m->boxes[k] = &box->h;
    fields = box->fields;
  }
  if (!b->kinds && b->nfields) memcpy(fields, b->fields, (size_t)b->nfields * sizeof *fields);
  for (int64_t i = 0; b->kinds && i < b->nfields; i++) {
    int64_t value = b->fields[i].i;
    if (b->kinds[i] == LFIELD_STRING) fields[i].p = m->strings[value];
    else if (b->kinds[i] == LFIELD_BOX) fields[i].p = m->boxes[value];
    else fields[i].i = value;
  }
  make_immortal(m->rt, m->boxes[k]);
  return 0;
}

static Status fill_module(Mod *m, Slot *(*global)(void *user, int index), void *user) {
  Rt *rt = m->rt;
  for (int k = 0; k < m->nfuncs; k++)
    if (!(m->funcs[k] = new_func(rt, m, m->code->funcs[k]))) return 1;
  for (int k = 0; k < m->nstrings; k++) {
    Sym s = m->code->strings[k];
    if (!(m->strings[k] = rt_new_string(rt, s, sym_len(s)))) return 1;
    make_immortal(rt, m->strings[k]);
  }
  for (int k = 0; k < m->nboxes; k++)
    if (make_box(m, k)) return 1;
  for (int k = 0; k < m->nglobals; k++) m->globals[k] = global(user, m->code->globals[k]);
  return 0;
}

Mod *mod_new(Rt *rt, LModule *code, Slot *(*global)(void *user, int index), void *user) {
  Mod *m = zeroed(rt, 1, sizeof *m);
  if (!m) return NULL;
  *m = (Mod){.rt = rt,
             .code = code,
             .descs = code->descs,
             .ndescs = code->ndescs,
             .nfuncs = code->nfuncs,
             .nstrings = code->nstrings,
             .nboxes = code->nboxes,
             .nglobals = code->nglobals};
  m->funcs = zeroed(rt, (size_t)m->nfuncs, sizeof *m->funcs);
  m->strings = zeroed(rt, (size_t)m->nstrings, sizeof *m->strings);
  m->boxes = zeroed(rt, (size_t)m->nboxes, sizeof *m->boxes);
  m->globals = zeroed(rt, (size_t)m->nglobals, sizeof *m->globals);
  m->decoded = zeroed(rt, (size_t)m->nfuncs, sizeof *m->decoded);
  m->foreigns = zeroed(rt, (size_t)code->nforeigns, sizeof *m->foreigns);
  if (m->funcs && m->strings && m->boxes && m->globals && m->decoded && m->foreigns &&
      fill_module(m, global, user) == 0)
    return m;
  mod_free(m);
  return NULL;
}

void mod_free(Mod *m) {
  if (!m) return;
  Rt *rt = m->rt;
  for (int k = 0; m->funcs && k < m->nfuncs; k++)
    if (m->funcs[k]) {
      give_back(rt, m->funcs[k]->param_kinds, (size_t)m->funcs[k]->nparams, 1);
      give_back(rt, m->funcs[k], 1, sizeof *m->funcs[k]);
    }
  for (int k = 0; m->decoded && k < m->nfuncs; k++) eval_decoded_free(rt, m->decoded[k]);
  for (int k = 0; m->foreigns && k < m->code->nforeigns; k++) foreign_free(rt, m->foreigns[k]);
  give_back(rt, m->funcs, (size_t)m->nfuncs, sizeof *m->funcs);
  free_immortals(rt, m->boxes, m->nboxes);
  free_immortals(rt, m->strings, m->nstrings);
  give_back(rt, m->globals, (size_t)m->nglobals, sizeof *m->globals);
  give_back(rt, m->decoded, (size_t)m->nfuncs, sizeof *m->decoded);
  give_back(rt, m->foreigns, (size_t)m->code->nforeigns, sizeof *m->foreigns);
  give_back(rt, m, 1, sizeof *m);
}
