/* SPDX-License-Identifier: MIT */
/* Loops whose arrays are private to a lane (lower/privatise.c), on vectors. Unlike other loops (emit_lanes.c) they hold
 * the making of arrays, and branches and checks that iterations may differ at. Their code is made once:
 *
 *   test      left = n - i; if (left <= 0) leave
 *   start     count = min (left, lanes); lanes 0 … count - 1 are done
 *   opening   what depends on which lanes are done: masks, and where each lane reads; one that isn't done reads what
 *             the first one that is reads, for its own places needn't exist
 *   run       body, in which only lanes that are done change what lasts
 *   end       i = i + count; go to test
 *
 *   alone     lane 0 is done alone: go to opening;  then lane 1, …, lane count - 1; then end
 *
 * A loop that does turns of LIMIT_TURN iterations (lir/lane_turns.c) first does LANES of them, then the others of the
 * turn; it does so until a turn has added to places of each reduction array that rose.
 *
 * Where iterations differ at a branch, or an index is wrong, nothing that lasts has been changed, and `alone` does all
 * of them again one by one, in their order: there is nothing to differ any more, and the first error is the one that
 * is reported. */
#include "jit/wide.h"
#include <string.h>

struct Agreed {
  Lv *first, *end; /* lanes first … end - 1 are to be done */
  Lv *one;         /* the lane that is done alone, -1: all are done */
  Lv *bits;        /* which lanes are done */
  Block *alone;    /* NULL: iterations never differ */
  uint64_t *begin; /* the registers that may hold a reference when an iteration begins */
};

static Lv *local_int(const LaneEmit *x, const char *name) {
  return x->k->e->g->function_new_local(x->k->fn, NULL, x->k->e->t_i64, name);
}

/* ---- Which lanes are done ---------------------------------------------------------------------------------------- */
/* from <= lane < to, for vector p. */
static Rv *range_mask(LaneEmit *x, Rv *from, Rv *to, int p) {
  Emit *e = x->k->e;
  if (!wide_masks(x))
    return cast(e, binary(e, GB_RSHIFT, e->t_i64, rv(e, x->agreed->bits), k_i64(e, p * x->width)), x->mask);
  Rv *steps[LANES], *next[LANES];
  for (int n = 0; n < x->width; n++) {
    steps[n] = k_i64(e, p * x->width + n);
    next[n] = k_i64(e, p * x->width + n + 1);
  }
  Rv *below = wide2(x, W_INT_GREATER, x->mask, splat(x, x->longs, to), wide_of(x, x->longs, steps));
  Rv *above = wide2(x, W_INT_GREATER, x->mask, wide_of(x, x->longs, next), splat(x, x->longs, from));
  return wide_and(x, below, above);
}

static void set_range(LaneEmit *x, Rv *from, Rv *to) {
  Emit *e = x->k->e;
  Rv *one = k_i64(e, 1);
  Rv *bits =
      binary(e, GB_MINUS, e->t_i64, binary(e, GB_LSHIFT, e->t_i64, one, to), binary(e, GB_LSHIFT, e->t_i64, one, from));
  assign(x->k, x->agreed->bits, bits);
  assign(x->k, x->some->from, from);
  assign(x->k, x->some->to, to);
}

/* Lanes first … end - 1 are done. */
static void begin_range(LaneEmit *x, Rv *first, Rv *end) {
  Agreed *a = x->agreed;
  assign(x->k, a->first, first);
  assign(x->k, a->end, end);
  assign(x->k, a->one, k_i64(x->k->e, -1));
  set_range(x, rv(x->k->e, a->first), rv(x->k->e, a->end));
}

/* The opening: masks, and the lane whose places each lane reads. */
static void emit_opening(LaneEmit *x) {
  Emit *e = x->k->e;
  Some *s = x->some;
  Rv *from = rv(e, s->from), *to = rv(e, s->to);
  x->k->cur = x->opening;
  for (int p = 0; p < x->parts; p++) assign(x->k, s->masks[p], range_mask(x, from, to, p));
  for (int n = 0; n < x->lanes; n++) {
    Lv *lane = local_int(x, "lane");
    Rv *done =
        binary(e, GB_AND, e->t_i64, binary(e, GB_RSHIFT, e->t_i64, rv(e, x->agreed->bits), k_i64(e, n)), k_i64(e, 1));
    Rv *behind = binary(e, GB_MINUS, e->t_i64, k_i64(e, n), from);
    assign(x->k, lane, binary(e, GB_PLUS, e->t_i64, from, binary(e, GB_MULT, e->t_i64, done, behind)));
    s->lane[n] = rv(e, lane);
  }
}

static void make_some(LaneEmit *x) {
  Emit *e = x->k->e;
  Some *s = x->some = NEW(e->arena, Some);
  s->from = local_int(x, "from");
  s->to = local_int(x, "to");
  s->count = rv(e, s->to);
  s->bits = x->agreed->bits;
  for (int p = 0; p < x->parts; p++) {
    s->masks[p] = wide_local(x, x->mask);
    s->mask[p] = rv(e, s->masks[p]);
  }
}

/* ---- Where iterations differ ------------------------------------------------------------------------------------- */
/* A block that gives up the arrays of this attempt, and does the iterations one by one. */
static Block *give_up(LaneEmit *x) {
  Fn *k = x->k;
  const Flow *w = &k->flow;
  Block *block = new_block(k), *here = k->cur;
  k->cur = block;
  for (int n = 0; n < w->nowned; n++) {
    bool made = (w->now[n / 64] & ~x->agreed->begin[n / 64]) >> (n % 64) & 1;
    if (made) emit_instr(k, &(LInstr){.op = LOP_RELEASE, .dst = -1, .a = w->reg_of[n], .b = -1, .c = -1});
  }
  k->e->g->block_end_with_jump(k->cur, NULL, x->agreed->alone);
  k->cur = here;
  return block;
}

/* Which lanes the mask has, as bits of an int. */
static Rv *bits_of(LaneEmit *x, Rv **masks) {
  Emit *e = x->k->e;
  Rv *all = NULL;
  for (int p = 0; p < x->parts; p++) {
    Rv *bits =
        wide_masks(x) ? cast(e, wide2(x, W_SIGNS, e->t_i32, masks[p], NULL), e->t_i64) : cast(e, masks[p], e->t_i64);
    if (p) bits = binary(e, GB_LSHIFT, e->t_i64, bits, k_i64(e, (int64_t)p * x->width));
    all = all ? binary(e, GB_OR, e->t_i64, all, bits) : bits;
  }
  return all;
}

/* All lanes that are done go the same way, or each goes alone. */
void emit_agreed_branch(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  Rv *masks[PARTS], *active = rv(e, x->agreed->bits);
  for (int p = 0; p < x->parts; p++) masks[p] = mask_part(x, i->a, p);
  Lv *taken = local_int(x, "taken");
  assign(x->k, taken, binary(e, GB_AND, e->t_i64, bits_of(x, masks), active));
  Block *next = new_block(x->k), *others = new_block(x->k), *apart = give_up(x);
  e->g->block_end_with_conditional(x->k->cur, NULL, compare(e, GC_EQ, rv(e, taken), active), next, others);
  Rv *none = likely(e, compare(e, GC_EQ, rv(e, taken), k_i64(e, 0)), true);
  e->g->block_end_with_conditional(others, NULL, none, x->labels[i->imm.i], apart);
  x->k->cur = next;
}

/* The numbers that the instruction reads of the lane that is done alone, in the registers of an ordinary iteration. */
static void read_lane(LaneEmit *x, const LInstr *i) {
  int only[] = {i->a};
  const int32_t *regs = i->nargs ? i->args : only;
  for (int n = 0; n < (i->nargs ? i->nargs : 1); n++)
    if (kind_of(x, regs[n]) != LANE_UNIFORM)
      assign_reg(x->k, regs[n], rv(x->k->e, lane_at(x, in_memory(x, regs[n]), rv(x->k->e, x->agreed->one))));
}

/* Where the check or trap fails in a lane. A lane that is done alone fails as the loop itself does. */
void emit_agreed_failure(LaneEmit *x, const LInstr *i, Rv *failed) {
  Emit *e = x->k->e;
  Block *wrong = new_block(x->k), *alone = new_block(x->k), *next = new_block(x->k);
  e->g->block_end_with_conditional(x->k->cur, NULL, failed, wrong, next);
  Rv *several = compare(e, GC_LT, rv(e, x->agreed->one), k_i64(e, 0));
  e->g->block_end_with_conditional(wrong, NULL, several, give_up(x), alone);
  x->k->cur = alone;
  read_lane(x, i);
  emit_instr(x->k, i);
  e->g->block_end_with_jump(x->k->cur, NULL, next);
  x->k->cur = next;
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */
static void open_agreed(LaneEmit *x) {
  Fn *k = x->k;
  Agreed *a = x->agreed = NEW(k->e->arena, Agreed);
  size_t size = sizeof(uint64_t) * (size_t)k->flow.words;
  a->first = local_int(x, "first");
  a->end = local_int(x, "end");
  a->one = local_int(x, "one");
  a->bits = local_int(x, "bits");
  a->alone = x->l.agrees ? new_block(k) : NULL;
  a->begin = NEW_ARRAY(k->e->arena, uint64_t, k->flow.words + 1);
  memcpy(a->begin, k->flow.now, size);
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */
static void open_turn(LaneEmit *x) {
  Emit *e = x->k->e;
  x->turn = NEW(e->arena, Turn);
  map_init(&x->turn->last, e->arena);
  x->turn->rises = local_int(x, "rises");
  x->turn->most = local_int(x, "most");
  e->g->block_add_assignment(x->before, NULL, x->turn->rises, k_i64(e, 1));
  e->g->block_add_assignment(x->before, NULL, x->turn->most, k_i64(e, LANES));
}

/* Lanes of the turn that are left are done next. Then whole turns may be done, if places rose. */
static void emit_rest_of_turn(LaneEmit *x, Lv *count) {
  Emit *e = x->k->e;
  Block *rest = new_block(x->k), *done = new_block(x->k);
  Rv *end = rv(e, x->agreed->end), *left = compare(e, GC_LT, end, rv(e, count));
  e->g->block_end_with_conditional(x->k->cur, NULL, left, rest, done);
  x->k->cur = rest;
  begin_range(x, end, rv(e, count));
  e->g->block_end_with_jump(x->k->cur, NULL, x->opening);
  x->k->cur = done;
  Rv *more = binary(e, GB_MULT, e->t_i64, rv(e, x->turn->rises), k_i64(e, x->lanes - LANES));
  assign(x->k, x->turn->most, binary(e, GB_PLUS, e->t_i64, more, k_i64(e, LANES)));
}

/* ---- The loop's parts -------------------------------------------------------------------------------------------- */
/* to = min (to, most) */
static void limit(LaneEmit *x, Lv *to, Rv *most) {
  Emit *e = x->k->e;
  Block *less = new_block(x->k), *next = new_block(x->k);
  Rv *above = likely(e, compare(e, GC_LT, most, rv(e, to)), false);
  e->g->block_end_with_conditional(x->k->cur, NULL, above, less, next);
  e->g->block_add_assignment(less, NULL, to, most);
  e->g->block_end_with_jump(less, NULL, next);
  x->k->cur = next;
}

/* The first lanes are done, as many as there are iterations left. */
static void emit_start(LaneEmit *x, Lv *count) {
  Emit *e = x->k->e;
  Rv *left = binary(e, GB_MINUS, e->t_i64, reg(x->k, x->l.limit), reg(x->k, x->l.index));
  Lv *end = local_int(x, "end");
  assign(x->k, count, k_i64(e, x->lanes));
  limit(x, count, left);
  assign(x->k, end, rv(e, count));
  if (x->turn) limit(x, end, rv(e, x->turn->most));
  begin_range(x, k_i64(e, 0), rv(e, end));
}

/* After a lane that was done alone the next one follows. */
static void emit_next_alone(LaneEmit *x) {
  Emit *e = x->k->e;
  Rv *one = rv(e, x->agreed->one), *next_lane = binary(e, GB_PLUS, e->t_i64, one, k_i64(e, 1));
  Rv *first = rv(e, x->agreed->first);
  Block *again = new_block(x->k), *more = new_block(x->k), *done = new_block(x->k);
  e->g->block_end_with_conditional(x->k->cur, NULL, likely(e, compare(e, GC_LT, one, k_i64(e, 0)), true), done, again);
  x->k->cur = again;
  assign(x->k, x->agreed->one, next_lane);
  e->g->block_end_with_conditional(x->k->cur, NULL, compare(e, GC_LT, one, rv(e, x->agreed->end)), more, done);
  x->k->cur = more;
  set_range(x, one, next_lane);
  e->g->block_end_with_jump(x->k->cur, NULL, x->opening);
  x->k->cur = x->agreed->alone;
  assign(x->k, x->agreed->one, first);
  set_range(x, first, binary(e, GB_PLUS, e->t_i64, first, k_i64(e, 1)));
  e->g->block_end_with_jump(x->k->cur, NULL, x->opening);
  x->k->cur = done;
}

/* From the block before the loop on. */
void emit_private_loop(LaneEmit *x) {
  Fn *k = x->k;
  Emit *e = k->e;
  Block *test = new_block(k), *start = new_block(k), *run = new_block(k);
  Lv *count = local_int(x, "count");
  open_agreed(x);
  make_some(x);
  x->opening = new_block(k);
  if (x->lanes > LANES) open_turn(x);
  e->g->block_end_with_jump(k->cur, NULL, x->before);
  Rv *any = compare(e, GC_LT, reg(k, x->l.index), reg(k, x->l.limit));
  e->g->block_end_with_conditional(test, NULL, any, start, x->after);
  k->cur = start;
  emit_start(x, count);
  e->g->block_end_with_jump(k->cur, NULL, x->opening);
  emit_opening(x);
  k->cur = run;
  emit_body(x, false);
  if (x->l.agrees) emit_next_alone(x);
  if (x->turn) emit_rest_of_turn(x, count);
  assign_reg(k, x->l.index, binary(e, GB_PLUS, e->t_i64, reg(k, x->l.index), rv(e, count)));
  e->g->block_end_with_jump(k->cur, NULL, test);
  e->g->block_end_with_jump(x->opening, NULL, run);
  e->g->block_end_with_jump(x->before, NULL, test);
  e->g->block_end_with_jump(x->after, NULL, k->labels[x->l.exit]);
  memcpy(k->flow.now, x->agreed->begin, sizeof(uint64_t) * (size_t)k->flow.words);
  k->flow.reachable = true;
}
