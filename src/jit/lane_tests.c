/* SPDX-License-Identifier: MIT */
/* The test before a loop on vectors whose iterations may meet at places of an array (lir/lane_pairs.c). */
#include "jit/wide.h"

/* The register's int in the next iteration, computed before the loop. */
static Rv *int_before(const LaneEmit *x, int r) {
  Emit *e = x->k->e;
  if (!lanes_is_inside(x->k->lanes, r)) return reg(x->k, r);
  const LInstr *in = lanes_definition(x->k->lanes, r);
  if (in->op == LOP_INT) return k_i64(e, in->imm.i);
  unsigned op = in->sub == OP_IADD ? GB_PLUS : in->sub == OP_ISUB ? GB_MINUS : GB_MULT;
  return binary(e, op, e->t_i64, int_before(x, in->a), int_before(x, in->b));
}

static Rv *place_before(const LaneEmit *x, const LInstr *in) {
  Emit *e = x->k->e;
  Rv *offset = k_i64(e, in->c);
  return in->b < 0 ? offset : binary(e, GB_PLUS, e->t_i64, int_before(x, in->b), offset);
}

/* - n < d < n */
static Rv *is_within(const LaneEmit *x, Rv *d, Rv *n) {
  Emit *e = x->k->e;
  Rv *from_zero = binary(e, GB_PLUS, e->t_i64, d, binary(e, GB_MINUS, e->t_i64, n, k_i64(e, 1)));
  Rv *count = binary(e, GB_MINUS, e->t_i64, binary(e, GB_PLUS, e->t_i64, n, n), k_i64(e, 1));
  return compare(e, GC_LT, cast(e, from_zero, e->t_u64), cast(e, count, e->t_u64));
}

/* Both move by s: s > 0, and they are less than s apart, or LANES * s or more. A register that tells s may hold any
 * number: without s > 0 the rest means nothing. */
static Rv *stay_apart(const LaneEmit *x, const LanePair *pair) {
  Emit *e = x->k->e;
  LaneStride stride = lanes_stride(x->k->lanes, pair->moving->b);
  int64_t times = stride.times < 0 ? -stride.times : stride.times;
  Rv *s = k_i64(e, times);
  if (stride.by >= 0) s = binary(e, GB_MULT, e->t_i64, s, reg(x->k, stride.by));
  Rv *d = binary(e, GB_MINUS, e->t_i64, place_before(x, pair->moving), place_before(x, pair->other));
  Rv *near = is_within(x, d, s), *meet = is_within(x, d, binary(e, GB_MULT, e->t_i64, s, k_i64(e, LANES)));
  Rv *apart = compare(e, GC_EQ, near, meet); /* less than s apart is also less than LANES * s apart */
  return binary(e, GB_LOGICAL_AND, e->t_bool, compare(e, GC_GT, s, k_i64(e, 0)), apart);
}

/* The other one isn't among the `left` places that the one that moves comes to. */
static Rv *is_never_met(const LaneEmit *x, const LanePair *pair, Rv *left) {
  Emit *e = x->k->e;
  bool up = (lanes_stride(x->k->lanes, pair->moving->b).times > 0) != x->l.down;
  Rv *moving = place_before(x, pair->moving), *other = place_before(x, pair->other);
  Rv *ahead = binary(e, GB_MINUS, e->t_i64, up ? other : moving, up ? moving : other);
  return compare(e, GC_GE, cast(e, ahead, e->t_u64), cast(e, left, e->t_u64));
}

Rv *all_pairs_pass(const LaneEmit *x, Rv *left) {
  int n;
  const LanePair *pairs = lanes_pairs(x->k->lanes, &n);
  Rv *pass = NULL;
  for (int k = 0; k < n; k++) {
    Rv *one = pairs[k].stays ? is_never_met(x, &pairs[k], left) : stay_apart(x, &pairs[k]);
    pass = pass ? binary(x->k->e, GB_LOGICAL_AND, x->k->e->t_bool, pass, one) : one;
  }
  return pass;
}
