/* SPDX-License-Identifier: MIT */
/* Sums that GCC must not see as such.
 *
 * Where a loop adds to a number only if a condition holds, the if-conversion of GCC 12 (and others) adds 0.0 otherwise:
 *
 *   if (c) s = s + x;        becomes        s = s + (c ? x : 0.0);
 *
 * and -0.0 + 0.0 is 0.0. Differences are converted in the same way, and s - 0.0 is s. So a sum that a register gets
 * where it else keeps an operand of the sum is written s - (-x), whose negation changes the sign bit of what GCC takes
 * for an integer. A number that began as 0.0 and is only added to is never -0.0: its sums stay sums. */
#include "jit/emit.h"
#include <math.h>

/* What holds for a register throughout the function. */
enum {
  MAY_BE_MINUS_ZERO = 1,
  KEEPS_FIRST = 2, /* of a sum: some register gets either it or its first operand */
  KEEPS_SECOND = 4 /* the same of its second operand */
};
typedef Vec(int) Regs;
typedef struct Copies {
  Regs *from, *to; /* by register: where it is copied from, and to */
} Copies;

static bool is_float(const LFunc *f, int r) { return r >= 0 && f->regs[r].kind == R_FLOAT; }
static bool is_sum(const LInstr *i) { return i->op == LOP_SCALAR && (i->sub == OP_FADD || i->sub == OP_CADD); }
static bool is_select(const LInstr *i) { return i->op == LOP_SCALAR && i->sub == OP_SELECT; }

/* May the instruction put -0.0 into its float register? x + y is -0.0 only if both are. */
static bool makes_minus_zero(const LInstr *i, const uint8_t *facts) {
  if (i->op == LOP_FLOAT) return i->imm.f == 0 && signbit(i->imm.f);
  if (i->op == LOP_MOVE) return facts[i->a] & MAY_BE_MINUS_ZERO;
  if (is_sum(i)) return facts[i->a] & facts[i->b] & MAY_BE_MINUS_ZERO;
  if (is_select(i)) return (facts[i->b] | facts[i->c]) & MAY_BE_MINUS_ZERO;
  return i->op != LOP_SCALAR || i->sub != OP_FLOAT_OF_INT;
}

static void find_minus_zeros(const LFunc *f, uint8_t *facts) {
  bool news = true;
  for (int r = 0; r < f->nparams; r++) facts[r] = MAY_BE_MINUS_ZERO;
  for (int k = 0; k < f->ncode; k++)
    for (int n = 0; n < f->code[k].nres && lir_defines_results(f->code[k].op); n++)
      facts[f->code[k].res[n]] = MAY_BE_MINUS_ZERO;
  while (news) {
    news = false;
    for (int k = 0; k < f->ncode; k++) {
      const LInstr *i = &f->code[k];
      if (!lir_defines_dst(i->op) || !is_float(f, i->dst) || facts[i->dst] || !makes_minus_zero(i, facts)) continue;
      facts[i->dst] = MAY_BE_MINUS_ZERO;
      news = true;
    }
  }
}

static void add_copy(Arena *a, Copies *c, int from, int to) {
  vec_push(a, c->to[from], to);
  vec_push(a, c->from[to], from);
}

static Copies find_copies(Arena *a, const LFunc *f) {
  Copies c = {NEW_ARRAY(a, Regs, f->nregs + 1), NEW_ARRAY(a, Regs, f->nregs + 1)};
  for (int k = 0; k < f->ncode; k++) {
    const LInstr *i = &f->code[k];
    if (!is_float(f, i->dst)) continue;
    if (i->op == LOP_MOVE) add_copy(a, &c, i->a, i->dst);
    if (!is_select(i)) continue;
    add_copy(a, &c, i->b, i->dst);
    add_copy(a, &c, i->c, i->dst);
  }
  return c;
}

/* The operands of the sum that the register keeps where it doesn't get the sum. */
static unsigned kept_in(const Copies *c, int r, const LInstr *sum, const uint8_t *facts) {
  unsigned kept = 0;
  for (int k = 0; k < c->from[r].len; k++) {
    int s = c->from[r].data[k];
    if (s == sum->dst || !(facts[s] & MAY_BE_MINUS_ZERO)) continue;
    if (s == sum->a) kept |= KEEPS_FIRST;
    if (s == sum->b) kept |= KEEPS_SECOND;
  }
  return kept;
}

const uint8_t *plan_sums(Arena *a, const LFunc *f) {
  uint8_t *facts = NEW_ARRAY(a, uint8_t, f->nregs + 1);
  if (!has_loops(f)) return facts;
  find_minus_zeros(f, facts);
  Copies copies = find_copies(a, f);
  for (int k = 0; k < f->ncode; k++) {
    const LInstr *i = &f->code[k];
    if (!is_sum(i)) continue;
    unsigned kept = kept_in(&copies, i->dst, i, facts);
    const Regs *to = &copies.to[i->dst];
    for (int n = 0; n < to->len; n++) kept |= kept_in(&copies, to->data[n], i, facts);
    facts[i->dst] |= (uint8_t)kept;
  }
  return facts;
}

Rv *emit_sum(Fn *k, const LInstr *i, Rv *a, Rv *b) {
  Emit *e = k->e;
  unsigned facts = k->sums[i->dst];
  if (facts & KEEPS_FIRST) return binary(e, GB_MINUS, e->t_f64, a, flip_sign(e, b));
  if (facts & KEEPS_SECOND) return binary(e, GB_MINUS, e->t_f64, b, flip_sign(e, a));
  return binary(e, GB_PLUS, e->t_f64, a, b);
}
