/* SPDX-License-Identifier: MIT */
/* Move semantics for heap-allocated variants (boxes): at its last use the fields of a uniquely referenced box are moved
 * out without reference counting, and a later allocation of the same size reuses its memory (reuse analysis).
 *
 *   FIELD f0 of b, FIELD f1 of b, …        →  f0, f1, … = OPEN b          (openings_move)
 *   f0, f1, … = OPEN b   …   NEW_BOX       →  e, f0, f1, … = EMPTY b   …   REFILL e   (openings_reuse)
 *
 * What is read from a box belongs to it, so whatever is put elsewhere gets a reference of its own, and loses the box's
 * when that is released. OPEN moves the fields out of a box that nobody else holds, and costs no counting. So it is
 * done where a field is put elsewhere and the box isn't needed afterwards. A parameter that is opened is owned
 * (own_params): the recursive functions that rebuild a tree along a path own the tree. Such inference of what is
 * borrowed is by Ullrich and de Moura, "Counting immutable beans", IFL 2019. But what a loop walks along stays
 * borrowed: see walkers.c, which says when it is owned.
 *
 * A box made later on the same way, with as many slots, reuses the memory of the one that was opened, if nobody else
 * held that ("reuse analysis": Reinking, Xie, de Moura and Leijen, "Perceus", PLDI 2021). In between the emptied box
 * is a register like others, whose fields are NULL; ownership releases it on ways that make no box, and after errors.
 * Which are available at a place is a forward analysis of the code in order; at the heads of loops none is. */
#include "lower/lower_internal.h"
#include <string.h>

/* ---- Where boxes are last read ----------------------------------------------------------------------------------- */
typedef struct Groups {
  const LFunc *f;
  bool *last; /* per instruction: a FIELD after which its box isn't used */
} Groups;

static void note_last(void *user, int at) { ((Groups *)user)->last[at] = true; }

/* The number of FIELDs from instruction `at` on that read all of a box in order; 0: there are none. */
static int fields_from(const LFunc *f, int at) {
  int n = 0;
  for (; at + n < f->ncode; n++) {
    const LInstr *in = &f->code[at + n];
    if (in->op != LOP_FIELD || in->a != f->code[at].a || in->b != n || in->dst == in->a) break;
  }
  return n;
}

static bool reads_boxes(const LFunc *f) {
  for (int i = 0; i < f->ncode; i++)
    if (f->code[i].op == LOP_FIELD) return true;
  return false;
}

void openings_find(Fn *fn) {
  LFunc *f = fn->f;
  if (!reads_boxes(f)) return;
  Groups g = {f, NEW_ARRAY(fn->m->arena, bool, f->ncode + 1)};
  own_last_reads(fn, note_last, &g);
  for (int i = 0; i < f->ncode; i++) {
    int n = fields_from(f, i);
    if (n && g.last[i + n - 1]) vec_push(fn->m->arena, fn->openings, ((Opening){i, n}));
    if (n) i += n - 1;
  }
}

/* ---- Which of them are opened ------------------------------------------------------------------------------------ */
typedef struct RegUses {
  const LInstr *in;
  const bool *walker;
  int *web;                       /* per register: one that it is moved to or from, by which they are linked */
  bool *taken, *moved, *borrowed; /* is put elsewhere; only into a register; belongs to others */
} RegUses;

static int web_of(const RegUses *u, int r) {
  while (u->web[r] != r) r = u->web[r] = u->web[u->web[r]];
  return r;
}

static void scan_use(void *user, int32_t *reg, Role role) {
  RegUses *u = user;
  bool defines = role == ROLE_DEF || role == ROLE_DEF_BORROWED;
  if (role == ROLE_TAKE && u->in->op != LOP_MOVE) u->taken[*reg] = true;
  if (role == ROLE_TAKE && u->in->op == LOP_MOVE) u->moved[*reg] |= !(u->walker && u->walker[u->in->dst]);
  if (role == ROLE_DEF_BORROWED || (defines && lir_never_counted(u->in->op))) u->borrowed[*reg] = true;
}

static RegUses find_uses(Fn *fn) {
  LFunc *f = fn->f;
  Arena *a = fn->m->arena;
  RegUses u = {.walker = own_walkers(fn->m->mod, f)};
  u.web = NEW_ARRAY(a, int, f->nregs + 1);
  u.taken = NEW_ARRAY(a, bool, f->nregs + 1);
  u.moved = NEW_ARRAY(a, bool, f->nregs + 1);
  u.borrowed = NEW_ARRAY(a, bool, f->nregs + 1);
  for (int r = 0; r < f->nregs; r++) u.web[r] = r;
  for (int i = 0; i < f->ncode; i++) {
    u.in = &f->code[i];
    lir_roles(fn->m->mod, &f->code[i], scan_use, &u);
    if (u.in->op == LOP_MOVE) u.web[web_of(&u, u.in->dst)] = web_of(&u, u.in->a);
  }
  return u;
}

/* A field that only replaces the box it was read from, as in a loop along a list, would gain nothing: where others hold
 * the list, all of its boxes are shared. */
static bool moves_a_field(const LFunc *f, const RegUses *u, const Opening *o) {
  const LInstr *in = &f->code[o->at];
  if (u->borrowed[in->a] || (u->walker && u->walker[in->a] && in->a >= f->nparams)) return false;
  for (int k = 0; k < o->n; k++) {
    int r = in[k].dst;
    if (f->regs[r].kind != R_PTR) continue;
    if (u->taken[r] || (u->moved[r] && web_of(u, r) != web_of(u, in->a))) return true;
  }
  return false;
}

/* FIELDs to OPEN, in place; the instructions that are left over are removed later. */
static void open_group(Fn *fn, const Opening *o, bool *gone) {
  LInstr *in = &fn->f->code[o->at];
  int32_t *res = NEW_ARRAY(fn->m->arena, int32_t, o->n);
  for (int k = 0; k < o->n; k++) {
    res[k] = in[k].dst;
    gone[o->at + k] = k > 0;
  }
  *in = (LInstr){.op = LOP_OPEN, .dst = -1, .a = in->a, .b = -1, .c = -1, .res = res, .nres = o->n, .site = in->site};
}

static void remove_gone(Fn *fn, const bool *gone) {
  LFunc *f = fn->f;
  int n = 0, next = 0;
  for (int i = 0; i < f->ncode; i++) {
    for (; next < fn->openings.len && fn->openings.data[next].at == i; next++) fn->openings.data[next].at = n;
    if (!gone[i]) f->code[n++] = f->code[i];
  }
  f->ncode = n;
}

bool openings_move(Fn *fn) {
  if (!fn->openings.len) return false;
  RegUses u = find_uses(fn);
  bool *gone = NULL;
  int kept = 0;
  for (int i = 0; i < fn->openings.len; i++) {
    Opening o = fn->openings.data[i];
    if (!moves_a_field(fn->f, &u, &o)) {
      fn->openings.data[kept++] = o;
      continue;
    }
    if (!gone) gone = NEW_ARRAY(fn->m->arena, bool, fn->f->ncode + 1);
    open_group(fn, &o, gone);
  }
  fn->openings.len = kept;
  if (gone) remove_gone(fn, gone);
  return gone != NULL;
}

/* ---- Memory that is used again ----------------------------------------------------------------------------------- */
typedef struct Emptied {
  int at, nslots; /* the OPEN */
  int reg;        /* of the emptied box; -1: no use was found */
} Emptied;
typedef struct Reuse {
  Fn *fn;
  Arena *arena;
  LFunc *f;
  Vec(Emptied) all;
  int words;
  uint64_t **at_label; /* what is available where the label is reached; NULL: it wasn't yet */
  int *place;          /* of each label */
  uint64_t *now;
  bool reachable;
} Reuse;

static void find_openings(Reuse *r) {
  for (int i = 0; i < r->f->ncode; i++) {
    const LInstr *in = &r->f->code[i];
    if (in->op == LOP_OPEN && in->nres) vec_push(r->arena, r->all, ((Emptied){i, in->nres, -1}));
    if (in->op == LOP_LABEL) r->place[in->imm.i] = i;
  }
}

/* Control goes from instruction `from` to the label. Ways back make nothing available. */
static void reach(Reuse *r, int64_t label, int from) {
  uint64_t *there = r->at_label[label];
  size_t size = sizeof(uint64_t) * (size_t)r->words;
  if (!there) {
    there = r->at_label[label] = NEW_ARRAY(r->arena, uint64_t, r->words);
    memcpy(there, r->now, size);
  }
  if (r->place[label] < from) return;
  for (int w = 0; w < r->words; w++) there[w] &= r->now[w];
}

static void pass_label(Reuse *r, int at, const bool *is_head) {
  int64_t label = r->f->code[at].imm.i;
  if (r->reachable) reach(r, label, at);
  size_t size = sizeof(uint64_t) * (size_t)r->words;
  if (r->at_label[label] && !is_head[label]) memcpy(r->now, r->at_label[label], size);
  else memset(r->now, 0, size);
  r->reachable = true;
}

/* The box is made in the memory of the one that was opened last among those that are available. */
static void refill(Reuse *r, LInstr *in) {
  int nslots = r->fn->m->mod->descs[in->imm.i]->args[in->b]->nslots;
  if (nslots != in->nargs) return;
  for (int k = r->all.len - 1; k >= 0; k--) {
    Emptied *e = &r->all.data[k];
    if (e->nslots != nslots || !bit_is_set(r->now, k)) continue;
    clear_bit(r->now, k);
    if (e->reg < 0) e->reg = fn_reg(r->fn, R_PTR);
    in->op = LOP_REFILL;
    in->a = e->reg;
    return;
  }
}

static void empty_opened(Reuse *r) {
  for (int k = 0; k < r->all.len; k++) {
    LInstr *in = &r->f->code[r->all.data[k].at];
    if (r->all.data[k].reg < 0) continue;
    in->op = LOP_EMPTY;
    in->dst = r->all.data[k].reg;
  }
}

/* Labels that are reached from behind. */
static bool *find_heads(const Reuse *r) {
  bool *heads = NEW_ARRAY(r->arena, bool, r->fn->nlabels + 1);
  for (int i = 0; i < r->f->ncode; i++)
    for (int64_t k = 0, l; (l = lir_target(&r->f->code[i], (int)k)) >= 0; k++) heads[l] |= r->place[l] < i;
  return heads;
}

void openings_reuse(Fn *fn) {
  Arena *a = fn->m->arena;
  Reuse r = {.fn = fn, .arena = a, .f = fn->f, .reachable = true};
  r.place = NEW_ARRAY(a, int, fn->nlabels + 1);
  find_openings(&r);
  if (!r.all.len) return;
  r.words = (r.all.len + 63) / 64;
  r.now = NEW_ARRAY(a, uint64_t, r.words);
  r.at_label = NEW_ARRAY(a, uint64_t *, fn->nlabels + 1);
  const bool *heads = find_heads(&r);
  for (int i = 0, next = 0; i < r.f->ncode; i++) {
    LInstr *in = &r.f->code[i];
    if (in->op == LOP_LABEL) pass_label(&r, i, heads);
    if (in->op == LOP_NEW_BOX) refill(&r, in);
    if (next < r.all.len && r.all.data[next].at == i) set_bit(r.now, next++);
    for (int64_t k = 0, l; (l = lir_target(in, (int)k)) >= 0; k++) reach(&r, l, i);
    LFlow flow = lir_ops[in->op].flow;
    if (flow != LFLOW_NEXT && flow != LFLOW_BRANCH && flow != LFLOW_FAIL) r.reachable = false;
  }
  empty_opened(&r);
  fn_publish_regs(fn);
}
