/* SPDX-License-Identifier: MIT */
/* Vectors, and registers of lowered code as vectors: see wide.h. */
#include "jit/wide.h"
#include <string.h>

typedef struct WideRow {
  const char *operands, *text[3]; /* by AVX-512, AVX2, SSE2 */
} WideRow;
static const WideRow rows[W_COUNT] = {
#define W(NAME, operands, avx512, avx2, sse2) [W_##NAME] = {operands, {avx512, avx2, sse2}},
#include "jit/lanes.def"
};

static const void *key_of(int r) { return (const void *)(intptr_t)(r + 1); }

Lv *wide_local(const LaneEmit *x, Type *t) { return wide_api(x)->function_new_local(x->k->fn, NULL, t, "wide"); }

Wide *new_wide(const LaneEmit *x, Type *t) {
  Wide *w = NEW(x->k->e->arena, Wide);
  for (int p = 0; p < x->parts; p++) w->part[p] = wide_local(x, t);
  return w;
}

Type *vector_type(Emit *e, int n) {
  if (!e->vectors[n]) e->vectors[n] = e->g->type_get_vector(e->t_f64, (size_t)n);
  return e->vectors[n];
}

Lv *vector_from(const Emit *e, Type *vector, Lv *first) {
  Type *memory = e->g->type_get_aligned(vector, sizeof(double));
  return e->g->rvalue_dereference(cast(e, e->g->lvalue_get_address(first, NULL), e->g->type_get_pointer(memory)), NULL);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */
const char *wide_text(WideOp op, int width) { return rows[op].text[width == 8 ? 0 : width == 4 ? 1 : 2]; }

/* The operands are made before: libgccjit crashes on an asm that reads what is made after it. */
void emit_wide(const LaneEmit *x, WideOp op, Lv *out, Rv **in) {
  const GccApi *g = wide_api(x);
  const WideRow *row = &rows[op];
  const char *vector = x->width == 8 ? "v" : "x";
  gcc_jit_extended_asm *a = g->block_add_extended_asm(x->k->cur, NULL, wide_text(op, x->width));
  bool replaces = !strstr(wide_text(op, x->width), "%1");
  char kind = row->operands[0];
  bool bits = kind == 'k' && !wide_masks(x);
  g->extended_asm_add_output_operand(a, NULL, bits ? "=Yk" : kind == 'i' ? "=r" : x->width == 8 ? "=v" : "=x", out);
  for (int n = 0; row->operands[n + 1]; n++) {
    bool mask = row->operands[n + 1] == 'k' && !wide_masks(x);
    g->extended_asm_add_input_operand(a, NULL, replaces && n == 0 ? "0" : mask ? "Yk" : vector, in[n]);
  }
}

Rv *wide2(const LaneEmit *x, WideOp op, Type *t, Rv *a, Rv *b) {
  Lv *out = wide_local(x, t);
  Rv *in[] = {a, b};
  emit_wide(x, op, out, in);
  return rv(x->k->e, out);
}

Rv *wide_of(const LaneEmit *x, Type *type, Rv **elements) {
  return wide_api(x)->context_new_rvalue_from_vector(x->k->e->ctx, NULL, type, (size_t)x->width, elements);
}

Rv *splat(const LaneEmit *x, Type *type, Rv *v) {
  Rv *elements[LANES];
  for (int n = 0; n < x->width; n++) elements[n] = v;
  return wide_of(x, type, elements);
}

/* A mask of bits for floats, made before the loop. */
static Rv *bits(LaneEmit *x, Lv **kept, int64_t pattern) {
  if (!*kept) {
    *kept = wide_local(x, x->longs);
    wide_api(x)->block_add_assignment(x->before, NULL, *kept, splat(x, x->longs, k_i64(x->k->e, pattern)));
  }
  return rv(x->k->e, *kept);
}
Rv *sign_bits(LaneEmit *x) { return bits(x, &x->sign, INT64_MIN); }
Rv *magnitude_bits(LaneEmit *x) { return bits(x, &x->magnitude, INT64_MAX); }

Rv *blend(const LaneEmit *x, Type *type, Rv *no, Rv *yes, Rv *mask) {
  Lv *out = wide_local(x, type);
  Rv *in[] = {no, yes, mask};
  if (x->width != 2) {
    emit_wide(x, W_BLEND, out, in);
    return rv(x->k->e, out);
  }
  Rv *first = wide2(x, W_AND, type, mask, yes), *second = wide2(x, W_AND_NOT, type, mask, no);
  return wide2(x, W_OR, type, first, second);
}

Rv *inverted(const LaneEmit *x, Rv *mask) {
  Emit *e = x->k->e;
  if (!wide_masks(x)) return binary(e, GB_XOR, x->mask, mask, cast(e, k_i32(e, 255), x->mask));
  return wide2(x, W_XOR, x->mask, mask, splat(x, x->longs, k_i64(e, -1)));
}

Rv *wide_and(const LaneEmit *x, Rv *a, Rv *b) {
  return wide_masks(x) ? wide2(x, W_AND, x->mask, a, b) : binary(x->k->e, GB_AND, x->mask, a, b);
}
Rv *wide_or(const LaneEmit *x, Rv *a, Rv *b) {
  return wide_masks(x) ? wide2(x, W_OR, x->mask, a, b) : binary(x->k->e, GB_OR, x->mask, a, b);
}

/* ---- Registers --------------------------------------------------------------------------------------------------- */
Wide *value_of(LaneEmit *x, int r) {
  Wide *known = map_get(&x->values, key_of(r));
  if (known) return known;
  LaneKind kind = kind_of(x, r);
  Wide *made = new_wide(x, kind == LANE_BOOLS ? x->mask : kind == LANE_INTS ? x->longs : x->floats);
  map_put(&x->values, key_of(r), made);
  return made;
}

void put(LaneEmit *x, int r, int p, Rv *v) { assign(x->k, value_of(x, r)->part[p], v); }

/* A uniform register as a vector. */
static Rv *uniform_vector(LaneEmit *x, int r, Type *type) {
  if (lanes_is_inside(x->k->lanes, r)) return splat(x, type, reg(x->k, r));
  Lv *known = map_get(&x->splats, key_of(r));
  if (!known) {
    known = wide_local(x, type);
    map_put(&x->splats, key_of(r), known);
    wide_api(x)->block_add_assignment(x->before, NULL, known, splat(x, type, reg(x->k, r)));
  }
  return rv(x->k->e, known);
}

Rv *float_part(LaneEmit *x, int r, int p) {
  if (kind_of(x, r) == LANE_UNIFORM) return uniform_vector(x, r, x->floats);
  return rv(x->k->e, value_of(x, r)->part[p]);
}

static Rv *step_of(const LaneEmit *x, int r, Rv *lane) {
  Emit *e = x->k->e;
  LaneStride s = lanes_stride(x->k->lanes, r);
  Rv *steps = s.times == 1 ? lane : binary(e, GB_MULT, e->t_i64, lane, k_i64(e, s.times));
  return s.by < 0 ? steps : binary(e, GB_MULT, e->t_i64, steps, reg(x->k, s.by));
}

Rv *strided_lane(const LaneEmit *x, int r, Rv *lane) {
  return binary(x->k->e, GB_PLUS, x->k->e->t_i64, reg(x->k, r), step_of(x, r, lane));
}

/* i, i + stride, i + 2 stride, … */
static Rv *strided_part(const LaneEmit *x, int r, int p) {
  Emit *e = x->k->e;
  Rv *steps[LANES];
  for (int n = 0; n < x->width; n++) steps[n] = step_of(x, r, k_i64(e, p * x->width + n));
  return binary(e, GB_PLUS, x->longs, splat(x, x->longs, reg(x->k, r)), wide_of(x, x->longs, steps));
}

Rv *int_part(LaneEmit *x, int r, int p) {
  Emit *e = x->k->e;
  switch (kind_of(x, r)) {
  case LANE_UNIFORM: return uniform_vector(x, r, x->longs);
  case LANE_STRIDED: return strided_part(x, r, p);
  case LANE_BOOLS:
    return blend(x, x->longs, splat(x, x->longs, k_i64(e, 0)), splat(x, x->longs, k_i64(e, 1)), mask_part(x, r, p));
  default: return rv(e, value_of(x, r)->part[p]);
  }
}

/* A uniform bool as a mask: all bits, or none. */
static Rv *uniform_mask(const LaneEmit *x, int r) {
  Emit *e = x->k->e;
  Rv *all = e->g->context_new_unary_op(e->ctx, NULL, GU_MINUS, e->t_i64, reg(x->k, r));
  if (!wide_masks(x)) return cast(e, all, x->mask);
  Rv *vector = splat(x, x->longs, all);
  return wide2(x, W_OR, x->mask, vector, vector);
}

Rv *mask_part(LaneEmit *x, int r, int p) {
  switch (kind_of(x, r)) {
  case LANE_UNIFORM: return uniform_mask(x, r);
  case LANE_BOOLS: return rv(x->k->e, value_of(x, r)->part[p]);
  default: {
    Rv *zero = splat(x, x->longs, k_i64(x->k->e, 0));
    return inverted(x, wide2(x, W_INT_EQ, x->mask, int_part(x, r, p), zero));
  }
  }
}

/* ---- Lanes one by one -------------------------------------------------------------------------------------------- */
Lv *lanes_in_memory(LaneEmit *x, Type *element) {
  Emit *e = x->k->e;
  Type *type = e->g->context_new_array_type(e->ctx, NULL, element, x->lanes);
  return wide_local(x, e->g->type_get_aligned(type, sizeof(double) * LANES));
}

Lv *lane_at(const LaneEmit *x, Lv *array, Rv *lane) {
  Emit *e = x->k->e;
  return e->g->context_new_array_access(e->ctx, NULL, rv(e, array), lane);
}

Lv *in_memory(LaneEmit *x, int r) {
  Emit *e = x->k->e;
  bool number = is_float(x, r);
  Lv *array = lanes_in_memory(x, number ? e->t_f64 : e->t_i64);
  for (int p = 0; p < x->parts; p++) {
    Rv *part = number ? float_part(x, r, p) : int_part(x, r, p);
    assign(x->k, vector_from(e, number ? x->floats : x->longs, lane_at(x, array, k_i32(e, p * x->width))), part);
  }
  return array;
}

/* for (n = 0; n < count; n++) fn (n)        or        for (n = count - 1; n >= 0; n--) fn (n) */
void loop_over_lanes(LaneEmit *x, LaneFn fn, void *user) {
  Emit *e = x->k->e;
  Rv *count = x->some ? x->some->count : k_i64(e, x->lanes);
  Lv *n = e->g->function_new_local(x->k->fn, NULL, e->t_i64, "lane");
  Block *body = new_block(x->k), *next = new_block(x->k);
  Rv *first = x->some && x->some->from ? rv(e, x->some->from) : k_i64(e, 0);
  assign(x->k, n, x->l.down ? binary(e, GB_MINUS, e->t_i64, count, k_i64(e, 1)) : first);
  e->g->block_end_with_jump(x->k->cur, NULL, body);
  x->k->cur = body;
  fn(x, rv(e, n), user);
  assign(x->k, n, binary(e, GB_PLUS, e->t_i64, rv(e, n), k_i64(e, x->l.down ? -1 : 1)));
  Rv *more = x->l.down ? compare(e, GC_GE, rv(e, n), k_i64(e, 0)) : compare(e, GC_LT, rv(e, n), count);
  e->g->block_end_with_conditional(x->k->cur, NULL, more, body, next);
  x->k->cur = next;
}

void each_lane(LaneEmit *x, LaneFn fn, void *user) {
  if (x->some) loop_over_lanes(x, fn, user);
  for (int n = 0; n < x->lanes && !x->some; n++) fn(x, k_i64(x->k->e, x->l.down ? x->lanes - 1 - n : n), user);
}
