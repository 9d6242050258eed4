/* SPDX-License-Identifier: MIT */
/* Products, and negations, that GCC must not see as such.
 *
 * What is contracted to one operation with one rounding is decided by opt/contract.c, and GCC is told to contract
 * nothing. Its vectoriser does so nonetheless (GCC 12 and others): of sums and differences side by side, as in the
 * product of complex numbers,
 *
 *   u = a * b + c          becomes           (u, v) = fmsubadd((a, d), (b, e), (c, f))
 *   v = d * e - f
 *
 * where the minuend is a product. A sum is a difference to GCC, too, where an operand is a negation or turns out to be
 * a negative constant, also one that it finds by inlining or unrolling: x + (-0.5) is x - 0.5. So a product that may
 * be an operand of either is written fma(a, b, -0.0), which is a * b rounded once, its sign of zero too; on some CPUs
 * it takes a cycle longer. The vectoriser begins at what is stored side by side, so what memory never sees doesn't
 * matter: most conditions of loops don't.
 *
 * GCC also makes -(a * b) - c of -(a * b + c), where a sum of zeros has the other sign: so where a number may come from
 * such an operation, its negation changes the sign bit of what GCC takes for an integer. */
#include "jit/emit.h"

/* What is known of a register, whatever is in it when. */
enum {
  SEEN = 1,    /* memory or other code sees it, or a number made of it */
  MINUEND = 2, /* GCC may subtract something from it */
  FUSED = 4    /* it may come from a product and sum in one operation, also of another function that GCC inlines */
};
typedef struct Plan {
  const LFunc *f;
  uint8_t *facts;
  bool news;
} Plan;

static bool is_float(const LFunc *f, int r) { return r >= 0 && f->regs[r].kind == R_FLOAT; }

static void learn(Plan *p, int r, unsigned facts) {
  if (!is_float(p->f, r) || (p->facts[r] & facts) == facts) return;
  p->facts[r] |= (uint8_t)facts;
  p->news = true;
}

/* Do other code and memory get to see the registers args[…]? Where they aren't values, they are sizes or labels. */
static bool hands_on(const LInstr *i) { return lir_holds(i->op, LOPERAND_ARGS) == 'v'; }

static void learn_scalar(Plan *p, const LInstr *i) {
  unsigned facts = is_float(p->f, i->dst) ? p->facts[i->dst] : 0, seen = facts & SEEN;
  bool same = i->sub == OP_FNEG || i->sub == OP_SELECT;
  bool sum = i->sub == OP_FADD || i->sub == OP_CADD;
  bool minuend = (same && facts & MINUEND) || (sum && seen);
  learn(p, i->a, seen | (minuend || (i->sub == OP_FSUB && seen) ? MINUEND : 0));
  learn(p, i->b, seen | (minuend ? MINUEND : 0));
  learn(p, i->c, seen | (minuend ? MINUEND : 0));
  bool fused = i->sub == OP_FMA || (i->sub == OP_FMUL && facts & MINUEND);
  if (i->sub == OP_SELECT && is_float(p->f, i->dst)) fused = (p->facts[i->b] | p->facts[i->c]) & FUSED;
  if (fused) learn(p, i->dst, FUSED);
}

static void learn_instr(Plan *p, const LInstr *i) {
  if (i->op == LOP_SCALAR) learn_scalar(p, i);
  if (i->op == LOP_MOVE && is_float(p->f, i->dst)) {
    learn(p, i->a, p->facts[i->dst] & (SEEN | MINUEND));
    learn(p, i->dst, p->facts[i->a] & FUSED);
  }
  if (i->op == LOP_LOAD) learn(p, i->dst, FUSED);
  for (int k = 0; k < i->nres && i->op == LOP_CALL; k++) learn(p, i->res[k], FUSED);
  if (i->op == LOP_STORE) learn(p, i->dst, SEEN | MINUEND);
  if (i->op == LOP_LANE_ADD) {
    learn(p, i->b, SEEN | MINUEND);
    learn(p, i->c, SEEN | MINUEND);
  }
  if (i->op == LOP_LANE_SUM) learn(p, i->dst, FUSED);
  for (int k = 0; k < i->nargs && hands_on(i); k++) learn(p, i->args[k], SEEN | MINUEND);
}

const uint8_t *plan_products(Arena *a, const LFunc *f) {
  Plan p = {.f = f, .facts = NEW_ARRAY(a, uint8_t, f->nregs + 1), .news = true};
  for (int r = 0; r < f->nparams; r++) learn(&p, r, FUSED);
  while (p.news) {
    p.news = false;
    for (int k = f->ncode - 1; k >= 0; k--) learn_instr(&p, &f->code[k]);
  }
  return p.facts;
}

Rv *flip_sign(const Emit *e, Rv *a) {
  Rv *bits = e->g->context_new_bitcast(e->ctx, NULL, a, e->t_i64);
  return e->g->context_new_bitcast(e->ctx, NULL, binary(e, GB_XOR, e->t_i64, bits, k_i64(e, INT64_MIN)), e->t_f64);
}

Rv *emit_negation(Fn *k, const LInstr *i, Rv *a) {
  Emit *e = k->e;
  if (!e->fuses || !(k->products[i->a] & FUSED)) return e->g->context_new_unary_op(e->ctx, NULL, GU_MINUS, e->t_f64, a);
  return flip_sign(e, a);
}

Rv *emit_product(Fn *k, const LInstr *i, Rv *a, Rv *b) {
  Emit *e = k->e;
  if (!e->fuses || !(k->products[i->dst] & MINUEND)) return binary(e, GB_MULT, e->t_f64, a, b);
  Rv *args[] = {a, b, k_f64(e, -0.0)};
  return call(e, e->g->context_get_builtin_function(e->ctx, "__builtin_fma"), 3, args);
}
