/* SPDX-License-Identifier: MIT */
/* Registers and blocks of the function under construction: what all instructions are made with. */
#include "jit/emit.h"

Rv *reg(const Fn *k, int r) { return rv(k->e, k->regs[r]); }
Block *new_block(const Fn *k) { return k->e->g->function_new_block(k->fn, NULL); }
void assign(const Fn *k, Lv *to, Rv *v) { k->e->g->block_add_assignment(k->cur, NULL, to, v); }
void evaluate(const Fn *k, Rv *v) { k->e->g->block_add_eval(k->cur, NULL, v); }

void assign_reg(const Fn *k, int r, Rv *v) {
  if (r < 0) {
    evaluate(k, v);
    return;
  }
  /* Comparisons and statuses are narrower than a register; for the rest this is no conversion. */
  assign(k, k->regs[r], k->f->regs[r].kind == R_INT ? cast(k->e, v, k->e->t_i64) : v);
}

Block *branch_unless(Fn *k, Rv *ok) {
  Block *yes = new_block(k), *no = new_block(k);
  k->e->g->block_end_with_conditional(k->cur, NULL, likely(k->e, ok, true), yes, no);
  k->cur = yes;
  return no;
}

Lv *load_rt_once(Fn *k) {
  Lv *rt = k->e->g->function_new_local(k->fn, NULL, k->e->t_ptr, "rt");
  assign(k, rt, load_rt(k->e, k->mod));
  return rt;
}

Rv *rt_of(Fn *k) { return rv(k->e, k->rt ? k->rt : load_rt_once(k)); }
