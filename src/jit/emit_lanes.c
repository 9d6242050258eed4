/* SPDX-License-Identifier: MIT */
/* Loops whose iterations run several at once, on vectors (lir/lanes.c says which).
 *
 * Lowered code is that of one iteration. Before each such loop stands a loop of LANES iterations a turn, made of the
 * same instructions, and behind that, with masks, what is left:
 *
 *   before    partial sums, and what is the same in all iterations, into vectors
 *   test      while (i + LANES <= limit) { body; i = i + LANES; }
 *   left      if (i < limit) { body with masks; i = limit; }
 *   after     partial sums back to memory
 *
 *   body:     f1 = LOAD r0[i]     →    f1 = vector at &r0[i]
 *             f2 = * f1 f3        →    f2 = f1 * (f3, f3, …)
 *             LANE_ADD i, f2      →    sums = sums + f2
 *
 * What is the same in all iterations, the conditions and indices of inner loops among it, is computed once, as in the
 * loop itself; of an int that grows by the same, the first iteration's.
 *
 * A loop that counts down does so in steps of LANES; within these, lane 0 is the last iteration.
 *
 * Without the part with masks the loop itself does what is left, and, where it is entered in its midst, what comes
 * before the first index that LANES divides. Where neither can be, it has no code. */
#include "jit/wide.h"

/* ---- Which loops, and how ---------------------------------------------------------------------------------------- */
/* Is what is left done at once, too? What a masked store wrote can't be loaded for some twenty cycles, so a loop that
 * writes does the rest one by one, unless an iteration takes longer because it has inner loops or calls functions. SSE2
 * has no masks for memory: there only functions are worth it. */
static bool has_masked_rest(const Fn *k, const LaneLoop *l) {
  bool stores = false, calls = false;
  for (int c = l->first; c < l->end; c++) {
    const LInstr *i = &k->f->code[c];
    stores |= i->op == LOP_STORE;
    calls |= i->op == LOP_SCALAR && lir_calls_function(i);
  }
  return calls || (k->e->width > 2 && (!stores || l->nested || l->sums));
}

/* Is there never anything left? */
static bool has_no_rest(const Fn *k, const LaneLoop *l) {
  int64_t n = lanes_trips(k->lanes, l);
  return l->from_zero && n > 0 && n % LANES == 0;
}

/* Are all iterations on vectors? */
static bool is_whole(const Fn *k, const LaneLoop *l) {
  if (l->privatised) return true;
  if (l->checks || l->tests) return false;
  return has_no_rest(k, l) || (has_masked_rest(k, l) && (l->from_zero || !l->sums));
}

void find_lane_loops(Fn *k) {
  int n;
  const LaneChoice *choices = lanes_choose(k->e->arena, k->lanes, k->f, k->e->width, &n);
  for (int c = 0; c < n; c++) {
    const LaneLoop *l = &choices[c].loop;
    if (choices[c].verdict != LANES_TAKEN) continue;
    map_put(&k->lane_loops, &k->f->code[l->head], NEW(k->e->arena, char));
    mark_wide_sums(k, l, is_whole(k, l));
  }
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */
static void emit_wide_move(LaneEmit *x, const LInstr *i) {
  bool number = is_float(x, i->dst), bools = kind_of(x, i->dst) == LANE_BOOLS;
  for (int p = 0; p < x->parts; p++)
    put(x, i->dst, p, number ? float_part(x, i->a, p) : bools ? mask_part(x, i->a, p) : int_part(x, i->a, p));
}

/* A number that is the same in all iterations here, but not everywhere in the body. */
static void emit_wide_constant(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  bool number = is_float(x, i->dst);
  Rv *v = number ? k_f64(e, i->imm.f) : k_i64(e, i->imm.i);
  for (int p = 0; p < x->parts; p++) put(x, i->dst, p, splat(x, number ? x->floats : x->longs, v));
}

static void emit_jump(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  Block *to = x->labels[i->imm.i];
  if (i->op == LOP_LABEL) {
    if (x->k->cur) e->g->block_end_with_jump(x->k->cur, NULL, to);
    x->k->cur = to;
  } else if (i->op == LOP_JUMP) {
    e->g->block_end_with_jump(x->k->cur, NULL, to);
    x->k->cur = NULL;
  } else if (kind_of(x, i->a) != LANE_UNIFORM) {
    emit_agreed_branch(x, i);
  } else {
    Block *next = new_block(x->k);
    Rv *condition = compare(e, GC_NE, reg(x->k, i->a), k_i64(e, 0));
    e->g->block_end_with_conditional(x->k->cur, NULL, condition, next, to);
    x->k->cur = next;
  }
}

static void emit_varying(LaneEmit *x, const LInstr *i) {
  switch (i->op) {
  case LOP_LOAD: emit_wide_load(x, i); break;
  case LOP_MOVE: emit_wide_move(x, i); break;
  case LOP_SCALAR: emit_wide_scalar(x, i); break;
  case LOP_LANE_SUM: close_inner_sums(x, i); break;
  case LOP_INT:
  case LOP_FLOAT: emit_wide_constant(x, i); break;
  default: fail_emit(x->k->e, "%s has no vectors", lir_ops[i->op].name); break;
  }
}

/* If the index of any lane is wrong, the iterations are done one by one, so that the first wrong one is reported. */
static void emit_wide_check(LaneEmit *x, const LInstr *i) {
  if (kind_of(x, i->a) == LANE_UNIFORM) emit_instr(x->k, i);
  else if (x->agreed) emit_agreed_failure(x, i, is_any_outside(x, i));
  else {
    Block *next = new_block(x->k);
    x->k->e->g->block_end_with_conditional(x->k->cur, NULL, is_any_outside(x, i), x->bail, next);
    x->k->cur = next;
  }
}

static bool has_varying_args(const LaneEmit *x, const LInstr *i) {
  for (int k = 0; k < i->nargs; k++)
    if (kind_of(x, i->args[k]) != LANE_UNIFORM) return true;
  return false;
}

/* Most vectors hold no NaN. Of one that does the operands are looked at; only where the trap stops the program in a
 * lane, the iterations are done one by one. So changes that the iterations have made are discarded with the error. */
static void emit_wide_trap(LaneEmit *x, const LInstr *i) {
  if (!has_varying_args(x, i)) {
    emit_instr(x->k, i);
    return;
  }
  const GccApi *g = x->k->e->g;
  Block *suspect = new_block(x->k), *next = new_block(x->k);
  g->block_end_with_conditional(x->k->cur, NULL, is_any_bad(x, i), suspect, next);
  x->k->cur = suspect;
  if (x->agreed) emit_agreed_failure(x, i, is_any_trapped(x, i));
  else {
    Block *good = new_block(x->k);
    g->block_end_with_conditional(suspect, NULL, is_any_trapped(x, i), x->bail, good);
    x->k->cur = good;
  }
  g->block_end_with_jump(x->k->cur, NULL, next);
  x->k->cur = next;
}

static void emit_wide_instr(LaneEmit *x, int c) {
  const LInstr *i = &x->k->f->code[c];
  LaneRole addition = lanes_role(x->k->lanes, c);
  if (addition == LANE_ADDS && lanes_is_private(x->k->lanes, i)) emit_reduction(x, c);
  else if (addition == LANE_ADDS) emit_wide_additions(x, c);
  if (addition == LANE_TOTAL) emit_total(x, c);
  if (addition != LANE_PLAIN) return;
  switch (i->op) {
  case LOP_LABEL:
  case LOP_JUMP:
  case LOP_BRANCH: emit_jump(x, i); break;
  case LOP_LANE_ADD: emit_wide_sum(x, i); break;
  case LOP_LANE_OPEN: open_inner_sums(x, i); break;
  case LOP_STORE: emit_wide_store(x, i); break;
  case LOP_CHECK_INDEX: emit_wide_check(x, i); break;
  case LOP_TRAP_NAN:
  case LOP_TRAP_INF: emit_wide_trap(x, i); break;
  default:
    if (i->dst >= 0 && lir_defines_dst(i->op) && kind_of(x, i->dst) > LANE_STRIDED) emit_varying(x, i);
    else emit_instr(x->k, i);
  }
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */
static void set_types(LaneEmit *x) {
  Emit *e = x->k->e;
  const GccApi *g = e->g;
  x->width = e->width;
  x->lanes = x->l.doubled && x->width == LANES ? TURN_LANES : LANES;
  x->parts = x->lanes / x->width;
  x->floats = vector_type(e, x->width);
  if (!e->vectors_of_ints) e->vectors_of_ints = g->type_get_vector(e->t_i64, (size_t)x->width);
  x->longs = e->vectors_of_ints;
  x->mask = wide_masks(x) ? x->floats : g->context_get_type(e->ctx, GT_UCHAR);
}

static Rv *iterations_left(const LaneEmit *x) {
  Emit *e = x->k->e;
  Rv *index = reg(x->k, x->l.index), *limit = reg(x->k, x->l.limit);
  return x->l.down ? binary(e, GB_MINUS, e->t_i64, index, limit) : binary(e, GB_MINUS, e->t_i64, limit, index);
}

static void move_index(const LaneEmit *x, Rv *by) {
  Emit *e = x->k->e;
  assign_reg(x->k, x->l.index, binary(e, GB_PLUS, e->t_i64, reg(x->k, x->l.index), by));
}

/* Are there iterations for vectors, from a number that LANES divides if there are sums? */
static Rv *is_wide_start(const LaneEmit *x, bool masked_rest) {
  Emit *e = x->k->e;
  Rv *enough = compare(e, GC_GE, iterations_left(x), k_i64(e, masked_rest ? 1 : LANES));
  if (x->l.tests) enough = binary(e, GB_LOGICAL_AND, e->t_bool, enough, all_pairs_pass(x, iterations_left(x)));
  if (!x->l.sums) return enough;
  Rv *odd = binary(e, GB_AND, e->t_i64, reg(x->k, x->l.index), k_i64(e, LANES - 1));
  return binary(e, GB_LOGICAL_AND, e->t_bool, enough, compare(e, GC_EQ, odd, k_i64(e, 0)));
}

void emit_body(LaneEmit *x, bool own_labels) {
  const LInstr *code = x->k->f->code;
  map_init(&x->waves, x->k->e->arena);
  for (int c = x->l.first; c < x->l.end; c++) {
    if (code[c].op != LOP_LABEL || !x->k->flow.at_label[code[c].imm.i]) continue;
    x->labels[code[c].imm.i] = own_labels ? new_block(x->k) : x->k->labels[code[c].imm.i];
  }
  for (int c = x->l.first; c < x->l.end; c++) {
    bool here = x->k->cur || (code[c].op == LOP_LABEL && x->k->flow.at_label[code[c].imm.i]);
    if (here) emit_wide_instr(x, c);
    if (x->agreed) flow_step(&x->k->flow, &code[c]);
  }
}

/* Where a check fails: the iterations are done one by one, from the first of these on. */
static void emit_bail(LaneEmit *x, Rv *done) {
  Emit *e = x->k->e;
  Block *here = x->k->cur;
  x->k->cur = x->bail;
  if (!x->some) close_windows(x);
  if (x->l.down) move_index(x, binary(e, GB_MINUS, e->t_i64, done, k_i64(e, 1)));
  e->g->block_end_with_jump(x->bail, NULL, x->after);
  x->k->cur = here;
}

/* The body for `done` iterations; its index is afterwards that of the next one. */
static void emit_iterations(LaneEmit *x, bool own_labels, Rv *done) {
  Emit *e = x->k->e;
  if (x->l.down) move_index(x, binary(e, GB_MINUS, e->t_i64, k_i64(e, 1), done));
  x->bail = x->l.checks ? new_block(x->k) : NULL;
  emit_body(x, own_labels);
  move_index(x, x->l.down ? k_i64(e, -1) : done);
  if (x->bail) emit_bail(x, done);
}

/* The mask of the first `left` iterations in vector p. */
static Rv *make_mask(LaneEmit *x, Rv *left, int p) {
  Emit *e = x->k->e;
  Lv *mask = wide_local(x, x->mask);
  Rv *steps[LANES];
  for (int n = 0; n < x->width; n++) steps[n] = k_i64(e, p * x->width + n);
  if (wide_masks(x)) {
    Rv *in[] = {splat(x, x->longs, left), wide_of(x, x->longs, steps)};
    emit_wide(x, W_INT_GREATER, mask, in);
  } else {
    Rv *bit = binary(e, GB_LSHIFT, e->t_i64, k_i64(e, 1), left);
    assign(x->k, mask, cast(e, binary(e, GB_MINUS, e->t_i64, bit, k_i64(e, 1)), x->mask));
  }
  return rv(e, mask);
}

/* n where lane n is done, else 0. */
static Rv *done_lane(LaneEmit *x, Rv *left, int n) {
  Emit *e = x->k->e;
  Rv *done = compare(e, GC_LT, k_i64(e, n), left);
  return binary(e, GB_MULT, e->t_i64, cast(e, done, e->t_i64), k_i64(e, n));
}

static void find_some(LaneEmit *x) {
  Emit *e = x->k->e;
  x->some = NEW(e->arena, Some);
  Lv *left = e->g->function_new_local(x->k->fn, NULL, e->t_i64, "left");
  assign(x->k, left, iterations_left(x));
  x->some->count = rv(e, left);
  for (int p = 0; p < x->parts; p++) x->some->mask[p] = make_mask(x, rv(e, left), p);
  for (int n = 0; n < LANES; n++) x->some->lane[n] = done_lane(x, rv(e, left), n);
}

/* What is left, 1 to LANES - 1 iterations, on vectors of which a part counts. */
static void emit_masked_rest(LaneEmit *x, Block *next) {
  Emit *e = x->k->e;
  Block *body = new_block(x->k);
  e->g->block_end_with_conditional(x->k->cur, NULL, compare(e, GC_GT, iterations_left(x), k_i64(e, 0)), body, next);
  x->k->cur = body;
  find_some(x);
  emit_iterations(x, true, x->some->count);
  x->some = NULL;
  e->g->block_end_with_jump(x->k->cur, NULL, next);
}

static void open_loop(LaneEmit *x) {
  Fn *k = x->k;
  Arena *a = k->e->arena;
  set_types(x);
  map_init(&x->values, a);
  map_init(&x->splats, a);
  map_init(&x->sums, a);
  map_init(&x->inner_sums, a);
  x->labels = NEW_ARRAY(a, Block *, k->f->nlabels + 1);
  x->before = new_block(k);
  x->after = new_block(k);
}

int emit_lanes(Fn *k, int head) {
  Emit *e = k->e;
  LaneEmit x = {.k = k};
  if (!map_get(&k->lane_loops, &k->f->code[head]) || !lanes_find(k->lanes, head, &x.l)) return head;
  if (x.l.first > head + 4) emit_instr(k, &k->f->code[head + 2]); /* the limit */
  open_loop(&x);
  if (x.l.privatised) {
    emit_private_loop(&x);
    k->cur = NULL;
    return x.l.end + 1;
  }
  Block *test = new_block(k), *body = new_block(k), *left = new_block(k);
  bool whole = is_whole(k, &x.l), masked_rest = !has_no_rest(k, &x.l) && has_masked_rest(k, &x.l);
  Block *rest = whole ? k->labels[x.l.exit] : new_block(k);
  if (whole) e->g->block_end_with_jump(k->cur, NULL, x.before);
  else e->g->block_end_with_conditional(k->cur, NULL, is_wide_start(&x, masked_rest), x.before, rest);
  k->cur = test;
  e->g->block_end_with_conditional(test, NULL, compare(e, GC_GE, iterations_left(&x), k_i64(e, LANES)), body, left);
  k->cur = body;
  emit_iterations(&x, !whole, k_i64(e, LANES));
  e->g->block_end_with_jump(k->cur, NULL, test);
  k->cur = left;
  close_windows(&x);
  if (masked_rest) emit_masked_rest(&x, x.after);
  else e->g->block_end_with_jump(left, NULL, x.after);
  e->g->block_end_with_jump(x.before, NULL, test);
  e->g->block_end_with_jump(x.after, NULL, rest);
  k->cur = whole ? NULL : rest;
  return whole ? x.l.end + 1 : head;
}
