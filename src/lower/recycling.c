/* SPDX-License-Identifier: MIT */
/* Blocks of arrays that a loop makes and gives up in each turn.
 *
 * Where a loop makes an array of numbers it does so by RENEW, from a register of its own, the spare; and what would be
 * a release of that array, under whatever name it dies, becomes KEEP while the spare may be wanted again (ownership.c).
 * So from the second turn on the block is there, and nothing is allocated: also where the array becomes what the loop
 * carries, whose old and new value then take turns in two blocks.
 *
 * An array and what it is moved to are one web. A web has one spare for each outermost loop, which is NULL in front of
 * it and dies behind it; ownership sees to all of that, since the spare is a register like others. Where nothing was
 * kept in the end, RENEW is NEW_ARRAY again. */
#include "lower/lower_internal.h"

typedef struct Spare {
  int reg, root, start; /* the register; of the web; where the loop begins */
  int64_t desc;
  bool kept;
  int next; /* of the same web: its number + 1 */
} Spare;
struct Spares {
  Fn *fn;
  Arena *arena;
  LFunc *f;
  int nregs, *parent;
  int *first; /* by root: the number + 1 of a spare */
  Vec(Spare) all;
};

/* ---- Webs -------------------------------------------------------------------------------------------------------- */
static int root_of(const Spares *s, int r) {
  while (s->parent[r] != r) r = s->parent[r] = s->parent[s->parent[r]];
  return r;
}

static void find_webs(Spares *s) {
  s->parent = NEW_ARRAY(s->arena, int, s->nregs + 1);
  for (int r = 0; r < s->nregs; r++) s->parent[r] = r;
  for (int i = 0; i < s->f->ncode; i++) {
    const LInstr *in = &s->f->code[i];
    if (in->op == LOP_MOVE || in->op == LOP_UNIQUE) s->parent[root_of(s, in->dst)] = root_of(s, in->a);
  }
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
/* The last instruction that leads back to each label, by the place of the label; 0: none does. */
static int *find_backs(const Spares *s) {
  int *at = NEW_ARRAY(s->arena, int, s->fn->nlabels + 1), *backs = NEW_ARRAY(s->arena, int, s->f->ncode + 1);
  for (int i = 0; i < s->f->ncode; i++)
    if (s->f->code[i].op == LOP_LABEL) at[s->f->code[i].imm.i] = i + 1;
  for (int i = 0; i < s->f->ncode; i++)
    for (int64_t k = 0, l; (l = lir_target(&s->f->code[i], (int)k)) >= 0; k++)
      if (at[l] && at[l] <= i) backs[at[l] - 1] = i;
  return backs;
}

/* ---- Spares ------------------------------------------------------------------------------------------------------ */
/* Numbers alone: what holds references has to be emptied, and is full of NULL at first. */
static bool is_plain(const Spares *s, const LInstr *in) {
  if (in->op != LOP_NEW_ARRAY) return false;
  const Desc *d = s->fn->m->mod->descs[in->imm.i];
  return d->kind == D_ARRAY && !d->pointers;
}

static int spare_for(Spares *s, const LInstr *in, int start) {
  int root = root_of(s, in->dst);
  for (int k = s->first[root]; k; k = s->all.data[k - 1].next)
    if (s->all.data[k - 1].start == start && s->all.data[k - 1].desc == in->imm.i) return s->all.data[k - 1].reg;
  Spare made = {fn_reg(s->fn, R_PTR), root, start, in->imm.i, false, s->first[root]};
  vec_push(s->arena, s->all, made);
  s->first[root] = s->all.len;
  return made.reg;
}

static void renew(Spares *s, LInstr *in, int start) {
  int32_t *res = NEW_ARRAY(s->arena, int32_t, 1);
  res[0] = in->dst;
  in->op = LOP_RENEW;
  in->dst = spare_for(s, in, start);
  in->res = res;
  in->nres = 1;
}

/* Before the loop the register of a recycled block is NULL: there is no block yet. */
static LInstr empty_spare(const Spare *p) {
  return (LInstr){.op = LOP_NULLPTR, .dst = p->reg, .a = -1, .b = -1, .c = -1};
}

static void put_empty(Spares *s) {
  Vec(LInstr) out = {0};
  int next = 0;
  for (int i = 0; i < s->f->ncode; i++) {
    for (; next < s->all.len && s->all.data[next].start == i; next++)
      vec_push(s->arena, out, empty_spare(&s->all.data[next]));
    vec_push(s->arena, out, s->f->code[i]);
  }
  s->f->code = out.data;
  s->f->ncode = out.len;
}

Spares *spares_plan(Fn *fn) {
  Arena *a = fn->m->arena;
  Spares *s = NEW(a, Spares);
  *s = (Spares){.fn = fn, .arena = a, .f = fn->f, .nregs = fn->regs.len};
  const int *backs = find_backs(s);
  int start = -1, end = -1;
  for (int i = 0; i < s->f->ncode; i++) {
    if (i > end) start = i;
    if (backs[i] > end) end = backs[i];
    if (i >= end || !is_plain(s, &s->f->code[i])) continue;
    if (!s->parent) {
      find_webs(s);
      s->first = NEW_ARRAY(a, int, s->nregs + 1);
    }
    renew(s, &s->f->code[i], start);
  }
  if (!s->all.len) return NULL;
  put_empty(s);
  return s;
}

int spares_next(const Spares *s, int reg, int k, int *spare) {
  if (!s || reg >= s->nregs) return 0;
  k = k ? s->all.data[k - 1].next : s->first[root_of(s, reg)];
  if (k) *spare = s->all.data[k - 1].reg;
  return k;
}

LInstr spares_keep(Spares *s, int k, int reg) {
  Spare *p = &s->all.data[k - 1];
  p->kept = true;
  return (LInstr){.op = LOP_KEEP, .dst = p->reg, .a = reg, .b = -1, .c = -1, .imm.i = p->desc};
}

/* ---- What wasn't kept -------------------------------------------------------------------------------------------- */
static bool is_idle(const Spares *s, int reg) {
  return reg >= s->nregs && reg < s->nregs + s->all.len && !s->all.data[reg - s->nregs].kept;
}

/* Makes an instruction of an idle spare what it was; false: it goes. */
static bool restore(const Spares *s, LInstr *in) {
  if (in->op == LOP_RELEASE && is_idle(s, in->a)) return false;
  if (in->op == LOP_NULLPTR && is_idle(s, in->dst)) return false;
  if (in->op != LOP_RENEW || !is_idle(s, in->dst)) return true;
  in->op = LOP_NEW_ARRAY;
  in->dst = in->res[0];
  in->nres = 0;
  return true;
}

void spares_finish(Spares *s) {
  int n = 0;
  for (int i = 0; i < s->f->ncode; i++)
    if (restore(s, &s->f->code[i])) s->f->code[n++] = s->f->code[i];
  s->f->ncode = n;
}
