/* SPDX-License-Identifier: MIT */
/* Additions to reduction arrays (lower/privatise.c), of LANES iterations or of a turn (lir/lane_turns.c). Where all
 * lanes are done there are no masks. Else, in a loop that does turns, it is seen whether the places rise. */
#include "jit/wide.h"

static Rv *are_all_done(const LaneEmit *x) {
  Emit *e = x->k->e;
  return compare(e, GC_EQ, rv(e, x->some->bits), k_i64(e, (1 << x->lanes) - 1));
}

static Lv *last_place(LaneEmit *x, const LInstr *store) {
  Emit *e = x->k->e;
  const void *key = (const void *)(intptr_t)(store->a + 1);
  Lv *last = map_get(&x->turn->last, key);
  if (last) return last;
  last = e->g->function_new_local(x->k->fn, NULL, e->t_i64, "last");
  map_put(&x->turn->last, key, last);
  e->g->block_add_assignment(x->opening, NULL, last, k_i64(e, -1));
  return last;
}

/* Where the loop does turns, and not all lanes: takes note of the place that the STORE adds to. */
static void note_place(LaneEmit *x, const LInstr *store) {
  if (!x->turn) return;
  Emit *e = x->k->e;
  Lv *last = last_place(x, store);
  Block *falls = new_block(x->k), *next = new_block(x->k);
  Rv *low = likely(e, compare(e, GC_LE, reg(x->k, store->b), rv(e, last)), false);
  e->g->block_end_with_conditional(x->k->cur, NULL, low, falls, next);
  e->g->block_add_assignment(falls, NULL, x->turn->rises, k_i64(e, 0));
  e->g->block_end_with_jump(falls, NULL, next);
  x->k->cur = next;
  assign(x->k, last, reg(x->k, store->b));
}

/* a * b + c, number by number. */
static Rv *fused_numbers(LaneEmit *x, Rv **in) {
  Emit *e = x->k->e;
  Lv *numbers[3];
  Rv *sums[LANES];
  for (int k = 0; k < 3; k++) {
    numbers[k] = lanes_in_memory(x, e->t_f64);
    assign(x->k, vector_from(e, x->floats, lane_at(x, numbers[k], k_i32(e, 0))), in[k]);
  }
  for (int n = 0; n < x->width; n++) {
    Rv *args[3];
    for (int k = 0; k < 3; k++) args[k] = rv(e, lane_at(x, numbers[k], k_i32(e, n)));
    sums[n] = call_libm(e, "fma", 3, args);
  }
  return wide_of(x, x->floats, sums);
}

/* op (old, the terms of vector p) */
static Rv *reduced(LaneEmit *x, const LaneTerm *t, Rv *old, int p) {
  Emit *e = x->k->e;
  const LInstr *op = t->operation;
  const int32_t operands[] = {op->a, op->b, op->c};
  Rv *in[3] = {NULL};
  for (int k = 0; k < 3; k++)
    if (operands[k] >= 0) in[k] = k == t->self ? old : float_part(x, operands[k], p);
  if (op->sub != OP_FMA) return binary(e, op->sub == OP_FSUB ? GB_MINUS : GB_PLUS, x->floats, in[0], in[1]);
  return wide_text(W_FMA, x->width) ? fused_onto(x, in[0], in[1], in[2]) : fused_numbers(x, in);
}

/* Each number gets the terms of its lanes, lane n and n + LANES of a turn, in this order; some: of those that are
 * done. */
static void add_to_numbers(LaneEmit *x, const LaneTerm *t, bool some) {
  Emit *e = x->k->e;
  for (int q = 0; q < LANES / x->width; q++) {
    Lv *place = element_at(x, t->store, strided_lane(x, t->store->b, k_i64(e, q * x->width)));
    Lv *number = wide_local(x, x->floats);
    assign(x->k, number, rv(e, vector_from(e, x->floats, place)));
    for (int p = q; p < x->parts; p += LANES / x->width) {
      Rv *sum = reduced(x, t, rv(e, number), p);
      assign(x->k, number, some ? blend(x, x->floats, rv(e, number), sum, x->some->mask[p]) : sum);
    }
    assign(x->k, vector_from(e, x->floats, place), rv(e, number));
  }
}

void emit_reduction(LaneEmit *x, int store) {
  Emit *e = x->k->e;
  LaneTerm t = lanes_term(x->k->lanes, store);
  Block *whole = new_block(x->k), *part = new_block(x->k), *next = new_block(x->k);
  e->g->block_end_with_conditional(x->k->cur, NULL, likely(e, are_all_done(x), true), whole, part);
  x->k->cur = whole;
  add_to_numbers(x, &t, false);
  e->g->block_end_with_jump(x->k->cur, NULL, next);
  x->k->cur = part;
  note_place(x, t.store);
  add_to_numbers(x, &t, true);
  e->g->block_end_with_jump(x->k->cur, NULL, next);
  x->k->cur = next;
}
