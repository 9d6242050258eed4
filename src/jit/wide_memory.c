/* SPDX-License-Identifier: MIT */
/* Loads and stores of several iterations, and additions to places of arrays (wide.h). */
#include "jit/wide.h"

Lv *element_at(const LaneEmit *x, const LInstr *i, Rv *row) {
  Emit *e = x->k->e;
  if (i->b < 0) row = k_i64(e, 0);
  if (i->b >= 0 && i->imm.i != 1) row = binary(e, GB_MULT, e->t_i64, row, k_i64(e, i->imm.i));
  Rv *index = i->c ? binary(e, GB_PLUS, e->t_i64, row, k_i64(e, i->c)) : row;
  return slot_at(e, reg(x->k, i->a), index, is_float(x, i->dst) ? e->t_f64 : e->t_i64);
}

/* The row that the LOAD or STORE uses in a lane; indices: its register's values in memory, if that varies. */
static Rv *row_of(const LaneEmit *x, const LInstr *i, Lv *indices, Rv *lane) {
  if (i->b < 0) return NULL;
  switch (kind_of(x, i->b)) {
  case LANE_UNIFORM: return reg(x->k, i->b);
  case LANE_STRIDED: return strided_lane(x, i->b, lane);
  default: return rv(x->k->e, lane_at(x, indices, lane));
  }
}

static Lv *indices_of(LaneEmit *x, const LInstr *i) {
  return i->b >= 0 && kind_of(x, i->b) == LANE_INTS ? in_memory(x, i->b) : NULL;
}

/* ---- Loads and stores -------------------------------------------------------------------------------------------- */
/* The vector at an address, for the lanes of a mask. The asm reads and writes memory that GCC doesn't see. */
void masked_access(const LaneEmit *x, WideOp op, Lv *out, Rv *v, Rv *at, Rv *mask) {
  const GccApi *g = wide_api(x);
  const char *vector = x->width == 8 ? "v" : "x";
  gcc_jit_extended_asm *a = g->block_add_extended_asm(x->k->cur, NULL, wide_text(op, x->width));
  g->extended_asm_set_volatile_flag(a, 1);
  if (out) g->extended_asm_add_output_operand(a, NULL, x->width == 8 ? "=v" : "=x", out);
  if (v) g->extended_asm_add_input_operand(a, NULL, vector, v);
  g->extended_asm_add_input_operand(a, NULL, "r", at);
  g->extended_asm_add_input_operand(a, NULL, wide_masks(x) ? vector : "Yk", mask);
  g->extended_asm_add_clobber(a, "memory");
}

static void masked(const LaneEmit *x, WideOp op, Lv *out, Rv *v, Lv *first, Rv *mask) {
  masked_access(x, op, out, v, address(x->k->e, first), mask);
}

/* ---- Elements anywhere, by one instruction ----------------------------------------------------------------------- */
/* Is the index of each lane a number of the array, which an instruction takes? Not for ints: a lane that isn't done has
 * 0, and may be divided by. */
static bool may_gather(const LaneEmit *x, WideOp op, const LInstr *i) {
  return wide_text(op, x->width) && is_float(x, i->dst) && i->imm.i == 1;
}

static Rv *lanes_done(const LaneEmit *x, int p) {
  return x->some ? x->some->mask[p] : cast(x->k->e, k_i32(x->k->e, 255), x->mask);
}

/* Emits GATHER or SCATTER, with `out` or `v`. The first operands are made before: see emit_wide. */
static void emit_gather(LaneEmit *x, WideOp op, const LInstr *i, int p, Lv *out, Rv *v) {
  const GccApi *g = wide_api(x);
  LInstr start = *i;
  start.b = -1;
  Rv *at = address(x->k->e, element_at(x, &start, NULL)), *index = int_part(x, i->b, p), *mask = lanes_done(x, p);
  gcc_jit_extended_asm *a = g->block_add_extended_asm(x->k->cur, NULL, wide_text(op, x->width));
  g->extended_asm_set_volatile_flag(a, 1);
  if (out) g->extended_asm_add_output_operand(a, NULL, "=&v", out);
  if (v) g->extended_asm_add_input_operand(a, NULL, "v", v);
  g->extended_asm_add_input_operand(a, NULL, "r", at);
  g->extended_asm_add_input_operand(a, NULL, "v", index);
  g->extended_asm_add_input_operand(a, NULL, "Yk", mask);
  g->extended_asm_add_clobber(a, "k1");
  g->extended_asm_add_clobber(a, "memory");
}

/* Can the numbers of iterations that are neighbours be loaded, or stored, as vectors? Where lanes aren't done, others'
 * numbers need masks; without instructions for these the lanes are done one by one. */
static bool is_vector_access(const LaneEmit *x, const LInstr *i) {
  if (!lanes_is_row(x->k->lanes, i)) return false;
  return !x->some || lanes_is_private(x->k->lanes, i) || wide_text(W_MASKED_LOAD, x->width);
}

static void load_row(LaneEmit *x, const LInstr *i, Type *type) {
  Emit *e = x->k->e;
  for (int p = 0; p < x->parts; p++) {
    Lv *first = element_at(x, i, strided_lane(x, i->b, k_i64(e, p * x->width)));
    if (x->some && !lanes_is_private(x->k->lanes, i))
      masked(x, W_MASKED_LOAD, value_of(x, i->dst)->part[p], NULL, first, x->some->mask[p]);
    else put(x, i->dst, p, rv(e, vector_from(e, type, first)));
  }
}

/* How many bytes behind the first lane's element that of a lane is. Distances that registers determine are computed
 * before the loop, once for all arrays. */
static Rv *distance_of(LaneEmit *x, const LInstr *i, int lane) {
  Emit *e = x->k->e;
  LaneStride s = lanes_stride(x->k->lanes, i->b);
  int64_t bytes = s.times * i->imm.i * (int64_t)sizeof(Slot);
  if (s.by < 0 && !x->opening) return k_i64(e, bytes * lane);
  for (Distances *d = x->distances; d; d = d->next)
    if (d->by == s.by && d->bytes == bytes) return rv(e, d->of[lane]);
  Distances *d = NEW(e->arena, Distances);
  *d = (Distances){.by = s.by, .bytes = bytes, .next = x->distances};
  x->distances = d;
  Rv *apart = s.by < 0 ? k_i64(e, bytes) : binary(e, GB_MULT, e->t_i64, reg(x->k, s.by), k_i64(e, bytes));
  for (int n = 0; n < x->lanes; n++) {
    d->of[n] = e->g->function_new_local(x->k->fn, NULL, e->t_i64, "distance");
    Rv *steps = x->opening ? x->some->lane[n] : k_i64(e, n);
    e->g->block_add_assignment(x->opening ? x->opening : x->before, NULL, d->of[n],
                               binary(e, GB_MULT, e->t_i64, apart, steps));
  }
  return rv(e, d->of[lane]);
}

static Rv *spaced_element(LaneEmit *x, const LInstr *i, Lv *first, int lane) {
  Emit *e = x->k->e;
  Type *number = is_float(x, i->dst) ? e->t_f64 : e->t_i64;
  Rv *distance = x->some && !x->opening ? binary(e, GB_MULT, e->t_i64, x->some->lane[lane], distance_of(x, i, 1))
                                        : distance_of(x, i, lane);
  Rv *at = address(e, e->g->context_new_array_access(e->ctx, NULL, rv(e, first), distance));
  return rv(e, e->g->rvalue_dereference(cast(e, at, e->g->type_get_pointer(number)), NULL));
}

/* Where the first lane's element is, as a pointer to bytes. */
static Lv *first_element(const LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  Type *bytes = e->g->type_get_pointer(e->g->context_get_type(e->ctx, GT_CHAR));
  Lv *first = e->g->function_new_local(x->k->fn, NULL, bytes, "first");
  assign(x->k, first, cast(e, address(e, element_at(x, i, reg(x->k, i->b))), bytes));
  return first;
}

/* Numbers that aren't neighbours. A lane that isn't done loads what the first one does. */
static void load_elements(LaneEmit *x, const LInstr *i, Type *type) {
  Emit *e = x->k->e;
  Lv *indices = indices_of(x, i), *first = indices ? NULL : first_element(x, i);
  for (int p = 0; p < x->parts; p++) {
    Rv *elements[LANES];
    for (int n = 0; n < x->width; n++) {
      int lane = p * x->width + n;
      Rv *which = x->some ? x->some->lane[lane] : k_i64(e, lane);
      elements[n] = first ? spaced_element(x, i, first, lane) : rv(e, element_at(x, i, row_of(x, i, indices, which)));
    }
    put(x, i->dst, p, wide_of(x, type, elements));
  }
}

void emit_wide_load(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  Type *type = is_float(x, i->dst) ? x->floats : x->longs;
  if (kind_of(x, i->b) == LANE_UNIFORM)
    for (int p = 0; p < x->parts; p++)
      put(x, i->dst, p, splat(x, type, rv(e, element_at(x, i, row_of(x, i, NULL, NULL)))));
  else if (is_vector_access(x, i)) load_row(x, i, type);
  else if (kind_of(x, i->b) == LANE_INTS && may_gather(x, W_GATHER, i))
    for (int p = 0; p < x->parts; p++) emit_gather(x, W_GATHER, i, p, value_of(x, i->dst)->part[p], NULL);
  else load_elements(x, i, type);
}

typedef struct Storing {
  const LInstr *i;
  Lv *indices, *values;
} Storing;

static void store_lane(LaneEmit *x, Rv *lane, void *user) {
  const Storing *s = user;
  Emit *e = x->k->e;
  assign(x->k, element_at(x, s->i, row_of(x, s->i, s->indices, lane)), rv(e, lane_at(x, s->values, lane)));
}

void emit_wide_store(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  bool number = is_float(x, i->dst);
  if (!lanes_is_row(x->k->lanes, i) && x->some && may_gather(x, W_SCATTER, i)) {
    for (int p = 0; p < x->parts; p++) emit_gather(x, W_SCATTER, i, p, NULL, float_part(x, i->dst, p));
    return;
  }
  if (!is_vector_access(x, i)) {
    Storing s = {i, indices_of(x, i), in_memory(x, i->dst)};
    each_lane(x, store_lane, &s);
    return;
  }
  for (int p = 0; p < x->parts; p++) {
    Rv *v = number ? float_part(x, i->dst, p) : int_part(x, i->dst, p);
    Lv *first = element_at(x, i, strided_lane(x, i->b, k_i64(e, p * x->width)));
    Type *type = number ? x->floats : x->longs;
    bool own = lanes_is_private(x->k->lanes, i), made_here = own && lanes_is_inside(x->k->lanes, i->a);
    if (x->some && !own) masked(x, W_MASKED_STORE, NULL, v, first, x->some->mask[p]);
    else if (x->some && !made_here) {
      Rv *old = rv(e, vector_from(e, type, first));
      assign(x->k, vector_from(e, type, first), blend(x, type, old, v, x->some->mask[p]));
    } else assign(x->k, vector_from(e, type, first), v);
  }
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */
/* Where an index isn't in 0 … n - 1, in vector p. */
static Rv *outside(LaneEmit *x, const LInstr *i, int p) {
  Emit *e = x->k->e;
  Rv *index = int_part(x, i->a, p), *zero = splat(x, x->longs, k_i64(e, 0));
  Rv *inside = wide2(x, W_INT_GREATER, x->mask, int_part(x, i->b, p), index);
  Rv *low = wide2(x, W_INT_GREATER, x->mask, zero, index);
  return wide_or(x, inverted(x, inside), low);
}

/* Is the mask that `lanes` makes for a vector set in any lane that is done? */
static Rv *is_any(LaneEmit *x, const LInstr *i, Rv *(*lanes)(LaneEmit *, const LInstr *, int p)) {
  Emit *e = x->k->e;
  Rv *any = NULL;
  for (int p = 0; p < x->parts; p++) {
    Rv *mask = lanes(x, i, p);
    if (x->some) mask = wide_and(x, mask, x->some->mask[p]);
    Rv *bits = wide_masks(x) ? wide2(x, W_SIGNS, e->t_i32, mask, NULL) : cast(e, mask, e->t_i32);
    any = any ? binary(e, GB_OR, e->t_i32, any, bits) : bits;
  }
  return likely(e, compare(e, GC_NE, any, k_i32(e, 0)), false);
}

Rv *is_any_outside(LaneEmit *x, const LInstr *i) { return is_any(x, i, outside); }

/* ---- Traps ------------------------------------------------------------------------------------------------------- */
static Rv *are_nan(LaneEmit *x, Rv *a) { return wide2(x, W_UNORDERED, x->mask, a, a); }

/* NaN or infinite: a - a isn't 0 then. */
static Rv *are_not_finite(LaneEmit *x, Rv *a) {
  Emit *e = x->k->e;
  return wide2(x, W_NE, x->mask, binary(e, GB_MINUS, x->floats, a, a), splat(x, x->floats, k_f64(e, 0)));
}

static Rv *bad_lanes(LaneEmit *x, const LInstr *i, int p) {
  Rv *y = float_part(x, i->args[0], p);
  return i->op == LOP_TRAP_NAN ? are_nan(x, y) : are_not_finite(x, y);
}

/* Of the lanes in `found`, those of whose operands none is in what `of` says of it. */
static Rv *without(LaneEmit *x, const LInstr *i, int p, Rv *found, Rv *(*of)(LaneEmit *, Rv *)) {
  for (int k = 1; k < i->nargs; k++) found = wide_and(x, found, inverted(x, of(x, float_part(x, i->args[k], p))));
  return found;
}

/* As rt_trap_nan and rt_trap_inf decide. */
static Rv *trapped_lanes(LaneEmit *x, const LInstr *i, int p) {
  Rv *y = float_part(x, i->args[0], p), *nan = are_nan(x, y), *trapped = without(x, i, p, nan, are_nan);
  if (i->op == LOP_TRAP_NAN) return trapped;
  Rv *infinite = wide_and(x, are_not_finite(x, y), inverted(x, nan));
  return wide_or(x, trapped, without(x, i, p, infinite, are_not_finite));
}

Rv *is_any_bad(LaneEmit *x, const LInstr *i) { return is_any(x, i, bad_lanes); }
Rv *is_any_trapped(LaneEmit *x, const LInstr *i) { return is_any(x, i, trapped_lanes); }

/* ---- Additions --------------------------------------------------------------------------------------------------- */
typedef struct Addition {
  LaneTerm term;
  Lv *indices, *operands[3]; /* in memory; NULL: the same in all */
  Lv *sum;                   /* NULL, or what the place holds meanwhile */
  LanePlace place;           /* of neighbours */
  bool done;
} Addition;
typedef struct Additions {
  Addition *at;
  int n;
} Additions;

static void open_addition(LaneEmit *x, Addition *a) {
  const int32_t operands[] = {a->term.operation->a, a->term.operation->b, a->term.operation->c};
  for (int k = 0; k < 3; k++)
    if (k != a->term.self && operands[k] >= 0 && kind_of(x, operands[k]) != LANE_UNIFORM)
      a->operands[k] = in_memory(x, operands[k]);
  a->indices = indices_of(x, a->term.store);
}

/* place = op (place, numbers of the lane) */
static void add_lane(LaneEmit *x, const Addition *a, Rv *lane) {
  Emit *e = x->k->e;
  const LInstr *op = a->term.operation;
  const int32_t operands[] = {op->a, op->b, op->c};
  Lv *place = a->sum ? a->sum : element_at(x, a->term.store, row_of(x, a->term.store, a->indices, lane));
  Rv *in[3] = {NULL};
  for (int k = 0; k < 3; k++)
    if (operands[k] >= 0)
      in[k] = k == a->term.self ? rv(e, place)
              : a->operands[k]  ? rv(e, lane_at(x, a->operands[k], lane))
                                : reg(x->k, operands[k]);
  if (op->sub == OP_FMA) assign(x->k, place, call_libm(e, "fma", 3, in));
  else assign(x->k, place, binary(e, op->sub == OP_FSUB ? GB_MINUS : GB_PLUS, e->t_f64, in[0], in[1]));
}

static void add_lanes(LaneEmit *x, Rv *lane, void *user) {
  const Additions *all = user;
  for (int k = 0; k < all->n; k++) add_lane(x, &all->at[k], lane);
}

/* To one place: that is loaded and stored once. */
static void add_in_register(LaneEmit *x, Addition *a) {
  Emit *e = x->k->e;
  Rv *row = row_of(x, a->term.store, NULL, NULL);
  a->sum = e->g->function_new_local(x->k->fn, NULL, e->t_f64, "sum");
  assign(x->k, a->sum, rv(e, element_at(x, a->term.store, row)));
  Additions one = {a, 1};
  each_lane(x, add_lanes, &one);
  assign(x->k, element_at(x, a->term.store, row), rv(e, a->sum));
}

/* ---- Additions to neighbours ------------------------------------------------------------------------------------- */
static bool comes_before(const LaneEmit *x, const Addition *a, const Addition *b) {
  return x->l.down ? a->place.offset < b->place.offset : a->place.offset > b->place.offset;
}

/* a[i - 1] += x; a[i] += y; a[i + 1] += z   →   vectors at a[i + 1] += z, then a[i] += y, then a[i - 1] += x
 *
 * So each element gets z of iteration i - 1, then y of i, then x of i + 1, as if it were done one by one; where the
 * loop counts down, the other way round. Places that
 * can't be compared, as those of other rows of a matrix, must be `lanes` or more apart: then no element gets terms of
 * both within the same iterations. */
static bool are_neighbours(const LaneEmit *x, Additions *all) {
  for (int k = 0; k < all->n; k++) {
    if (!is_vector_access(x, all->at[k].term.store)) return false;
    all->at[k].place = lanes_place(x->k->lanes, all->at[k].term.store);
  }
  for (int k = 1; k < all->n; k++)
    for (int n = k; n > 0 && comes_before(x, &all->at[n], &all->at[n - 1]); n--) {
      Addition later = all->at[n];
      all->at[n] = all->at[n - 1];
      all->at[n - 1] = later;
    }
  return true;
}

/* Are they `lanes` or more apart, if they can't be compared? */
static Rv *far_apart(const LaneEmit *x, const Additions *all, int *pairs) {
  Emit *e = x->k->e;
  Rv *far = NULL;
  *pairs = 0;
  for (int k = 0; k < all->n; k++)
    for (int n = 0; n < k; n++) {
      const LInstr *a = all->at[k].term.store, *b = all->at[n].term.store;
      if (lanes_comparable(x->k->lanes, &all->at[k].place, &all->at[n].place)) continue;
      Rv *between = binary(e, GB_MINUS, e->t_i64, reg(x->k, a->b), reg(x->k, b->b));
      between = binary(e, GB_PLUS, e->t_i64, between, k_i64(e, a->c - b->c + x->lanes - 1));
      Rv *one = compare(e, GC_GT, cast(e, between, e->t_u64), cast(e, k_i64(e, 2 * x->lanes - 2), e->t_u64));
      far = far ? e->g->context_new_binary_op(e->ctx, NULL, GB_LOGICAL_AND, e->t_bool, far, one) : one;
      ++*pairs;
    }
  return far;
}

/* Do two of them go to places less than `lanes` apart, so that a vector is loaded of which a part was just stored? That
 * takes some twelve cycles, unless such elements wait in registers (may_wait). */
static bool are_overlapping(const LaneEmit *x, const Additions *all) {
  for (int k = 0; k < all->n; k++)
    for (int n = 0; n < k; n++) {
      const LanePlace *a = &all->at[k].place, *b = &all->at[n].place;
      int64_t apart = a->offset - b->offset;
      if (lanes_comparable(x->k->lanes, a, b) && apart && apart > -x->lanes && apart < x->lanes) return true;
    }
  return false;
}

static void add_vectors(LaneEmit *x, const LaneTerm *t) {
  Emit *e = x->k->e;
  const LInstr *op = t->operation, *store = t->store;
  const int32_t operands[] = {op->a, op->b, op->c};
  for (int p = 0; p < x->parts; p++) {
    Lv *old = wide_local(x, x->floats), *sum = wide_local(x, x->floats);
    Lv *first = element_at(x, store, strided_lane(x, store->b, k_i64(e, p * x->width)));
    if (x->some) masked(x, W_MASKED_LOAD, old, NULL, first, x->some->mask[p]);
    else assign(x->k, old, rv(e, vector_from(e, x->floats, first)));
    Rv *in[3] = {NULL};
    for (int k = 0; k < 3; k++)
      if (operands[k] >= 0) in[k] = k == t->self ? rv(e, old) : float_part(x, operands[k], p);
    if (op->sub == OP_FMA) emit_wide(x, W_FMA, sum, in);
    else assign(x->k, sum, binary(e, op->sub == OP_FSUB ? GB_MINUS : GB_PLUS, x->floats, in[0], in[1]));
    if (x->some) masked(x, W_MASKED_STORE, NULL, rv(e, sum), first, x->some->mask[p]);
    else assign(x->k, vector_from(e, x->floats, first), rv(e, sum));
  }
}

/* Those in the row of instructions that ends with `last`. */
static Additions additions_until(LaneEmit *x, int last) {
  const LInstr *code = x->k->f->code;
  const LaneFacts *lanes = x->k->lanes;
  int first = lanes_row_start(lanes, last);
  Additions all = {NEW_ARRAY(x->k->e->arena, Addition, last - first + 1), 0};
  for (int c = first; c <= last; c++) {
    bool waits =
        lanes_role(lanes, c) == LANE_WAITS && lanes_array(lanes, code[c].a) == lanes_array(lanes, code[last].a);
    if (waits || c == last) all.at[all.n++] = (Addition){.term = lanes_term(lanes, c)};
  }
  return all;
}

/* Do all of them add to places of their own, the same in all iterations? */
static bool are_separate(const LaneEmit *x, const Additions *all) {
  for (int k = 0; k < all->n; k++) {
    if (kind_of(x, all->at[k].term.store->b) != LANE_UNIFORM) return false;
    for (int n = 0; n < k; n++)
      if (!lanes_differ(x->k->lanes, all->at[k].term.store, all->at[n].term.store)) return false;
  }
  return true;
}

/* Those from `first` on that can be compared with it, marked as done. */
static int comparable_with(const LaneEmit *x, Additions *all, int first, LaneTerm *terms, int *apart) {
  int n = 0;
  for (int k = first; k < all->n; k++) {
    Addition *a = &all->at[k];
    if (a->done || !lanes_comparable(x->k->lanes, &all->at[first].place, &a->place)) continue;
    a->done = true;
    terms[n] = a->term;
    apart[n++] = (int)a->place.offset;
  }
  return n;
}

/* Can additions to neighbours wait in registers? */
static bool may_wait(const LaneEmit *x, const int *apart, int n) {
  int64_t span = (int64_t)apart[0] - apart[n - 1];
  return x->width == LANES && !x->some && !x->l.loops && span && span > -LANES && span < LANES;
}

/* On vectors, in this order: those that can be compared together, where that is possible. */
static void add_neighbours(LaneEmit *x, Additions *all) {
  LaneTerm *terms = NEW_ARRAY(x->k->e->arena, LaneTerm, all->n);
  int *apart = NEW_ARRAY(x->k->e->arena, int, all->n);
  for (int k = 0; k < all->n; k++) {
    if (all->at[k].done) continue;
    int n = comparable_with(x, all, k, terms, apart), end = apart[n - 1];
    const LInstr *last = terms[n - 1].store;
    if (!may_wait(x, apart, n)) {
      for (int j = 0; j < n; j++) add_vectors(x, &terms[j]);
      continue;
    }
    for (int j = 0; j < n; j++) apart[j] = x->l.down ? end - apart[j] : apart[j] - end;
    emit_window(x, terms, apart, n, element_at(x, last, reg(x->k, last->b)));
  }
}

/* In the order of iterations. */
static void add_in_order(LaneEmit *x, Additions *all) {
  for (int k = 0; k < all->n; k++) open_addition(x, &all->at[k]);
  if (!are_separate(x, all)) each_lane(x, add_lanes, all);
  else
    for (int k = 0; k < all->n; k++) add_in_register(x, &all->at[k]);
}

/* On vectors, if they are far apart. */
static void add_if_far(LaneEmit *x, Additions *neighbours, Additions *in_order, Rv *far) {
  Emit *e = x->k->e;
  Block *wide = new_block(x->k), *narrow = new_block(x->k), *next = new_block(x->k);
  e->g->block_end_with_conditional(x->k->cur, NULL, likely(e, far, true), wide, narrow);
  x->k->cur = wide;
  add_neighbours(x, neighbours);
  e->g->block_end_with_jump(x->k->cur, NULL, next);
  x->k->cur = narrow;
  for (int k = 0; k < in_order->n; k++) open_addition(x, &in_order->at[k]);
  loop_over_lanes(x, add_lanes, in_order);
  e->g->block_end_with_jump(x->k->cur, NULL, next);
  x->k->cur = next;
}

void emit_wide_additions(LaneEmit *x, int last) {
  Additions in_order = additions_until(x, last), sorted = additions_until(x, last);
  int pairs = 0;
  bool neighbours = are_neighbours(x, &sorted) && (x->width == LANES || !are_overlapping(x, &sorted));
  Rv *far = neighbours ? far_apart(x, &sorted, &pairs) : NULL;
  if (!neighbours || pairs > LIMIT_LANE_PAIRS) add_in_order(x, &in_order);
  else if (far) add_if_far(x, &sorted, &in_order, far);
  else add_neighbours(x, &sorted);
}
