/* SPDX-License-Identifier: MIT */
/* Functions of one code are one function. Each entry of a program is optimised by itself, so what several of them call
 * was lowered as often:  print (run a) … print (run b)  are two copies of all that `run` calls.
 *
 * Partition refinement: at first all functions are one that differ in nothing but what they call. Then those are told
 * apart that call different ones, until nothing changes. What remains is the coarsest partition, so recursive functions
 * are found equal too. Entries and closures have an identity, and stay. */
#include "lower/lower_internal.h"
#include <string.h>

typedef struct Equal {
  Lower *m;
  int n;
  int *like;   /* per function: the first one of its class */
  int *before; /* the same, as it was in the round before */
} Equal;

static bool calls(const LInstr *i) { return lir_ops[i->op].imm == LIMM_FUNC; }

/* ---- Equal but for what is called -------------------------------------------------------------------------------- */
static uint64_t hash_numbers(uint64_t h, const int32_t *xs, int n) {
  return hash_mix(h, n ? hash_bytes(xs, sizeof *xs * (size_t)n, 1) : 0);
}

static uint64_t hash_code(const LFunc *f) {
  uint64_t h = hash_mix((uint64_t)f->nparams, hash_bytes(f->name, strlen(f->name), 1));
  for (int k = 0; k < f->ncode; k++) {
    const LInstr *i = &f->code[k];
    h = hash_mix(hash_mix(h, (uint64_t)i->op << 32 | i->sub), calls(i) ? 0 : (uint64_t)i->imm.i);
    h = hash_mix(hash_mix(h, (uint64_t)i->dst << 32 | (uint32_t)i->a), (uint64_t)i->b << 32 | (uint32_t)i->c);
    h = hash_numbers(hash_numbers(hash_mix(h, i->site), i->args, i->nargs), i->res, i->nres);
  }
  return h;
}

static bool same_numbers(const int32_t *a, const int32_t *b, int n) {
  return n == 0 || memcmp(a, b, sizeof *a * (size_t)n) == 0;
}

static bool same_instr(const LInstr *a, const LInstr *b) {
  return a->op == b->op && a->sub == b->sub && a->dst == b->dst && a->a == b->a && a->b == b->b && a->c == b->c &&
         (calls(a) || a->imm.i == b->imm.i) && a->site == b->site && a->nargs == b->nargs && a->nres == b->nres &&
         same_numbers(a->args, b->args, a->nargs) && same_numbers(a->res, b->res, a->nres);
}

static bool same_registers(const LFunc *a, const LFunc *b) {
  if (a->nregs != b->nregs || a->nparams != b->nparams || a->nresults != b->nresults) return false;
  for (int k = 0; k < a->nregs; k++)
    if (a->regs[k].kind != b->regs[k].kind || a->regs[k].owned != b->regs[k].owned) return false;
  return a->nresults == 0 || memcmp(a->result_kinds, b->result_kinds, (size_t)a->nresults) == 0;
}

static bool same_code(const LFunc *a, const LFunc *b) {
  bool same = a->ncode == b->ncode && a->nlabels == b->nlabels && strcmp(a->name, b->name) == 0 && same_registers(a, b);
  for (int k = 0; same && k < a->ncode; k++) same = same_instr(&a->code[k], &b->code[k]);
  return same;
}

/* ---- Classes ----------------------------------------------------------------------------------------------------- */
static void find_like(Equal *e) {
  Map first; /* hash of the code -> 1 + the function that was met last with it */
  int *next = NEW_ARRAY(e->m->arena, int, e->n + 1);
  map_init(&first, e->m->arena);
  for (int k = 0; k < e->n; k++) {
    LFunc *f = e->m->funcs.data[k];
    e->like[k] = k;
    if (f->is_entry) continue;
    const void *key = (const void *)(uintptr_t)(hash_code(f) | 1);
    next[k] = (int)(uintptr_t)map_get(&first, key);
    for (int other = next[k]; other && e->like[k] == k; other = next[other - 1])
      if (same_code(e->m->funcs.data[other - 1], f)) e->like[k] = e->like[other - 1];
    map_put(&first, key, (void *)(uintptr_t)(k + 1));
  }
}

/* Do two functions of one class call functions of the same classes? */
static bool call_alike(const Equal *e, int a, int b) {
  const LFunc *f = e->m->funcs.data[a], *g = e->m->funcs.data[b];
  for (int k = 0; k < f->ncode; k++)
    if (calls(&f->code[k]) && e->before[f->code[k].imm.i] != e->before[g->code[k].imm.i]) return false;
  return true;
}

/* Tells apart what calls functions that were told apart; false: nothing. */
static bool refine(Equal *e) {
  bool changed = false;
  memcpy(e->before, e->like, sizeof *e->like * (size_t)e->n);
  for (int k = 0; k < e->n; k++) {
    if (e->before[k] == k) continue;
    int other = e->before[k];
    while (other < k && (e->before[other] != e->before[k] || !call_alike(e, other, k))) other++;
    e->like[k] = other == k ? k : e->like[other];
    changed |= e->like[k] != e->before[k];
  }
  return changed;
}

/* ---- One of each ------------------------------------------------------------------------------------------------- */
static bool stays(const Equal *e, const LFunc *f) { return e->like[f->index] == f->index; }

static void drop_others(Equal *e) {
  Lower *m = e->m;
  int *number = NEW_ARRAY(m->arena, int, e->n + 1), funcs = 0, fns = 0;
  for (int k = 0; k < e->n; k++) number[k] = e->like[k] == k ? funcs++ : number[e->like[k]];
  for (int k = 0; k < m->fns.len; k++)
    if (stays(e, m->fns.data[k]->f)) m->fns.data[fns++] = m->fns.data[k];
  for (int k = 0; k < e->n; k++) {
    LFunc *f = m->funcs.data[k];
    if (!stays(e, f)) continue;
    for (int i = 0; i < f->ncode; i++)
      if (calls(&f->code[i])) f->code[i].imm.i = number[f->code[i].imm.i];
    m->funcs.data[number[k]] = f;
  }
  m->funcs.len = funcs;
  m->fns.len = fns;
  for (int k = 0; k < funcs; k++) m->funcs.data[k]->index = k;
}

void lower_share_equal(Lower *m) {
  Equal e = {.m = m, .n = m->funcs.len};
  e.like = NEW_ARRAY(m->arena, int, e.n + 1);
  e.before = NEW_ARRAY(m->arena, int, e.n + 1);
  find_like(&e);
  while (refine(&e)) {}
  drop_others(&e);
}
