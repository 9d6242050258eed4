/* SPDX-License-Identifier: MIT */
/* Partial sums (lower/lower_lanes.c): LIMIT_LANES of them are the elements of an array in the frame. A loop on vectors
 * has them in vectors meanwhile; if all iterations of such a loop are on vectors, they are never anywhere else. Those
 * of a loop within one on vectors are an array of vectors. */
#include "jit/wide.h"

static Lv *array_of(const Fn *k, const LInstr *i) {
  const int32_t *list = i->op == LOP_LANE_SUM ? i->args : i->res;
  return map_get(&k->partial, (const void *)(intptr_t)(list[0] + 1));
}

static Lv *sum_at(const Fn *k, Lv *array, Rv *index) {
  return k->e->g->context_new_array_access(k->e->ctx, NULL, rv(k->e, array), index);
}

static void open_array(Fn *k, const int32_t *regs, int n) {
  Emit *e = k->e;
  const void *key = (const void *)(intptr_t)(regs[0] + 1);
  if (map_get(&k->partial, key)) return;
  Type *type = e->g->context_new_array_type(e->ctx, NULL, e->t_f64, n);
  Lv *array = e->g->function_new_local(k->fn, NULL, e->g->type_get_aligned(type, sizeof(double) * (size_t)n), "sums");
  map_put(&k->partial, key, array);
  for (int j = 0; j < n; j++) {
    Lv *element = sum_at(k, array, k_i32(e, j));
    if (regs[j] < k->f->nparams) assign(k, element, reg(k, regs[j]));
    k->regs[regs[j]] = element;
  }
}

static Wide *sums_in_vectors(Fn *k) {
  Wide *w = NEW(k->e->arena, Wide);
  for (int p = 0; p < LANES / k->e->width; p++)
    w->part[p] = k->e->g->function_new_local(k->fn, NULL, vector_type(k->e, k->e->width), "sums");
  return w;
}

void mark_wide_sums(Fn *k, const LaneLoop *l, bool whole) {
  for (int c = l->first; c < l->end; c++) {
    const LInstr *i = &k->f->code[c];
    if (i->op != LOP_LANE_ADD || i->a != l->index) continue;
    Lv *array = array_of(k, i);
    map_put(&k->wide_sums, array, k);
    if (whole && !map_get(&k->vector_sums, array)) map_put(&k->vector_sums, array, sums_in_vectors(k));
  }
}

void open_partial_sums(Fn *k) {
  for (int c = 0; c < k->f->ncode; c++) {
    const LInstr *i = &k->f->code[c];
    if (i->op == LOP_LANE_OPEN || i->op == LOP_LANE_ADD) open_array(k, i->res, i->nres);
    if (i->op == LOP_LANE_SUM) open_array(k, i->args, i->nargs);
  }
}

/* Where a loop on vectors adds, the array is written and read in vectors too: a vector can't be loaded in time from
 * what was just stored in parts. */
static bool is_wide_sum(const Fn *k, const LInstr *i) { return map_get(&k->wide_sums, array_of(k, i)) != NULL; }

/* NULL: they are in memory where no loop on vectors is. */
static Wide *vectors_of(const Fn *k, const LInstr *i) { return map_get(&k->vector_sums, array_of(k, i)); }

void emit_lane_open(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Lv *array = array_of(k, i);
  const Wide *vectors = vectors_of(k, i);
  int step = is_wide_sum(k, i) ? e->width : 1;
  for (int j = 0; j < i->nres; j += step) {
    Rv *elements[LANES];
    for (int n = 0; n < step; n++) elements[n] = j + n ? k_f64(e, -0.0) : reg(k, i->a);
    if (step == 1) {
      assign_reg(k, i->res[j], elements[0]);
      continue;
    }
    Type *type = vector_type(e, step);
    assign(k, vectors ? vectors->part[j / step] : vector_from(e, type, sum_at(k, array, k_i32(e, j))),
           e->g->context_new_rvalue_from_vector(e->ctx, NULL, type, (size_t)step, elements));
  }
}

void emit_lane_add(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Lv *sum = sum_at(k, array_of(k, i), binary(e, GB_AND, e->t_i64, reg(k, i->a), k_i64(e, i->nres - 1)));
  Rv *args[] = {reg(k, i->b), i->c < 0 ? NULL : reg(k, i->c), rv(e, sum)};
  assign(k, sum, i->c < 0 ? binary(e, GB_PLUS, e->t_f64, args[2], args[0]) : call_libm(e, "fma", 3, args));
}

/* out = op a, of other sizes than the loop's vectors. */
static Rv *narrow(const Fn *k, WideOp op, Type *t, Rv *a) {
  const GccApi *g = k->e->g;
  Lv *out = g->function_new_local(k->fn, NULL, t, "narrow");
  gcc_jit_extended_asm *asm_of = g->block_add_extended_asm(k->cur, NULL, wide_text(op, k->e->width == 2 ? 2 : 4));
  g->extended_asm_add_output_operand(asm_of, NULL, "=x", out);
  g->extended_asm_add_input_operand(asm_of, NULL, k->e->width == 2 ? "0" : "x", a);
  return rv(k->e, out);
}

/* The sums as vectors of two or four. */
static void load_sums(const Fn *k, const LInstr *i, Type *type, int width, Rv **sums) {
  Emit *e = k->e;
  const Wide *vectors = vectors_of(k, i);
  Lv *array = array_of(k, i);
  for (int n = 0; n < LANES / width; n++) {
    if (!vectors) sums[n] = rv(e, vector_from(e, type, sum_at(k, array, k_i32(e, n * width))));
    else if (width == e->width) sums[n] = rv(e, vectors->part[n]);
    else sums[n] = narrow(k, n ? W_UPPER_FOUR : W_LOWER_FOUR, type, rv(e, vectors->part[0]));
  }
}

/* The tree over eight sums: halves of the array are added, then halves of that vector, then its two numbers. */
static Rv *sum_of_vectors(const Fn *k, const LInstr *i) {
  Emit *e = k->e;
  int width = e->width == 2 ? 2 : 4;
  Type *two = vector_type(e, 2), *type = vector_type(e, width);
  Rv *sums[4];
  load_sums(k, i, type, width, sums);
  for (int n = LANES / width / 2; n > 0; n /= 2)
    for (int j = 0; j < n; j++) sums[j] = binary(e, GB_PLUS, type, sums[j], sums[j + n]);
  Lv *sum = e->g->function_new_local(k->fn, NULL, type, "sum"),
     *pair = e->g->function_new_local(k->fn, NULL, two, "pair");
  assign(k, sum, sums[0]);
  Rv *both = rv(e, sum);
  if (width == 4)
    both = binary(e, GB_PLUS, two, narrow(k, W_LOWER_HALF, two, both), narrow(k, W_UPPER_HALF, two, both));
  assign(k, pair, both);
  return binary(e, GB_PLUS, e->t_f64, narrow(k, W_LOWER, e->t_f64, rv(e, pair)),
                narrow(k, W_UPPER, e->t_f64, rv(e, pair)));
}

void emit_lane_sum(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  if (is_wide_sum(k, i)) {
    assign_reg(k, i->dst, sum_of_vectors(k, i));
    return;
  }
  Rv *sums[LANES];
  for (int j = 0; j < i->nargs; j++) sums[j] = reg(k, i->args[j]);
  for (int n = i->nargs / 2; n > 0; n /= 2)
    for (int j = 0; j < n; j++) sums[j] = binary(e, GB_PLUS, e->t_f64, sums[j], sums[j + n]);
  assign_reg(k, i->dst, sums[0]);
}

/* ---- Sums -------------------------------------------------------------------------------------------------------- */
/* The sums in vectors: loaded before the loop, stored after it. */
static Wide *wide_sums(LaneEmit *x, const LInstr *i) {
  Lv *array = array_of(x->k, i);
  Wide *known = map_get(&x->sums, array);
  if (!known) known = vectors_of(x->k, i);
  if (known) return known;
  Emit *e = x->k->e;
  Wide *sums = new_wide(x, x->floats);
  map_put(&x->sums, array, sums);
  for (int p = 0; p < LANES / x->width; p++) {
    Lv *place = vector_from(e, x->floats, sum_at(x->k, array, k_i32(e, p * x->width)));
    e->g->block_add_assignment(x->before, NULL, sums->part[p], rv(e, place));
    e->g->block_add_assignment(x->after, NULL, place, rv(e, sums->part[p]));
  }
  return sums;
}

static void add_to_vectors(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  const Wide *sums = wide_sums(x, i);
  for (int p = 0; p < x->parts; p++) {
    Lv *part = sums->part[p % (LANES / x->width)];
    Rv *old = rv(e, part), *in[] = {old, float_part(x, i->b, p), i->c < 0 ? NULL : float_part(x, i->c, p)};
    Lv *sum = x->some ? wide_local(x, x->floats) : part;
    if (i->c < 0) assign(x->k, sum, binary(e, GB_PLUS, x->floats, old, in[1]));
    else emit_wide(x, W_FMA_ADD, sum, in);
    if (x->some) assign(x->k, part, blend(x, x->floats, old, rv(e, sum), x->some->mask[p]));
  }
}

/* Vector p of an inner loop's partial sum number n. */
static Lv *inner_sum(LaneEmit *x, const LInstr *i, Rv *n, int p) {
  Emit *e = x->k->e;
  const int32_t *list = i->op == LOP_LANE_SUM ? i->args : i->res;
  const void *key = (const void *)(intptr_t)(list[0] + 1);
  Lv *array = map_get(&x->inner_sums, key);
  if (!array) {
    Type *type = e->g->context_new_array_type(e->ctx, NULL, e->t_f64, LANES * x->lanes);
    array = wide_local(x, e->g->type_get_aligned(type, sizeof(double) * LANES));
    map_put(&x->inner_sums, key, array);
  }
  Rv *first = binary(e, GB_MULT, e->t_i64, n, k_i64(e, x->lanes));
  return vector_from(e, x->floats, lane_at(x, array, binary(e, GB_PLUS, e->t_i64, first, k_i64(e, p * x->width))));
}

void open_inner_sums(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  for (int p = 0; p < x->parts; p++)
    for (int n = 0; n < i->nres; n++)
      assign(x->k, inner_sum(x, i, k_i64(e, n), p), n ? splat(x, x->floats, k_f64(e, -0.0)) : float_part(x, i->a, p));
}

static void add_to_inner_sums(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  Rv *n = binary(e, GB_AND, e->t_i64, reg(x->k, i->a), k_i64(e, i->nres - 1));
  for (int p = 0; p < x->parts; p++) {
    Lv *place = inner_sum(x, i, n, p), *sum = wide_local(x, x->floats);
    assign(x->k, sum, rv(e, place));
    Rv *in[] = {rv(e, sum), float_part(x, i->b, p), i->c < 0 ? NULL : float_part(x, i->c, p)};
    if (i->c < 0) assign(x->k, sum, binary(e, GB_PLUS, x->floats, in[0], in[1]));
    else emit_wide(x, W_FMA_ADD, sum, in);
    assign(x->k, place, rv(e, sum));
  }
}

void emit_wide_sum(LaneEmit *x, const LInstr *i) {
  if (i->a == x->l.index) add_to_vectors(x, i);
  else add_to_inner_sums(x, i);
}

void close_inner_sums(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  for (int p = 0; p < x->parts; p++) {
    Rv *sums[LANES];
    for (int n = 0; n < i->nargs; n++) sums[n] = rv(e, inner_sum(x, i, k_i64(e, n), p));
    for (int n = i->nargs / 2; n > 0; n /= 2)
      for (int j = 0; j < n; j++) sums[j] = binary(e, GB_PLUS, x->floats, sums[j], sums[j + n]);
    put(x, i->dst, p, sums[0]);
  }
}

/* ---- Sums in order ----------------------------------------------------------------------------------------------- */
typedef struct Total {
  LaneTotal of;
  Lv *sum, *operands[LANE_CHAIN][3]; /* in memory; NULL: the same in all */
} Total;

/* sum = op (sum, numbers of the lane), for each term */
static void add_terms(LaneEmit *x, Rv *lane, void *user) {
  const Total *t = user;
  Emit *e = x->k->e;
  for (int k = 0; k < t->of.n; k++) {
    const LInstr *op = t->of.terms[k];
    const int32_t operands[] = {op->a, op->b, op->c};
    Rv *in[3] = {NULL};
    for (int j = 0; j < 3; j++)
      if (operands[j] >= 0)
        in[j] = j == t->of.self[k]  ? rv(e, t->sum)
                : t->operands[k][j] ? rv(e, lane_at(x, t->operands[k][j], lane))
                                    : reg(x->k, operands[j]);
    Rv *sum = op->sub == OP_FMA ? call_libm(e, "fma", 3, in)
                                : binary(e, op->sub == OP_FSUB ? GB_MINUS : GB_PLUS, e->t_f64, in[0], in[1]);
    assign(x->k, t->sum, sum);
  }
}

void emit_total(LaneEmit *x, int instr) {
  Emit *e = x->k->e;
  Total t = {.of = lanes_total(x->k->lanes, instr)};
  t.sum = e->g->function_new_local(x->k->fn, NULL, e->t_f64, "total");
  for (int k = 0; k < t.of.n; k++) {
    const int32_t operands[] = {t.of.terms[k]->a, t.of.terms[k]->b, t.of.terms[k]->c};
    for (int j = 0; j < 3; j++)
      if (operands[j] >= 0 && j != t.of.self[k] && kind_of(x, operands[j]) != LANE_UNIFORM)
        t.operands[k][j] = in_memory(x, operands[j]);
  }
  assign(x->k, t.sum, reg(x->k, t.of.reg));
  each_lane(x, add_terms, &t);
  assign_reg(x->k, t.of.reg, rv(e, t.sum));
}
