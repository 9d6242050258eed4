/* SPDX-License-Identifier: MIT */
/* Scalar operations and functions on vectors (wide.h). What has no vectors is done number by number. */
#include "jit/wide.h"

static Rv *constant(const LaneEmit *x, double v) { return splat(x, x->floats, k_f64(x->k->e, v)); }

/* ---- Scalar operations ------------------------------------------------------------------------------------------- */
static Rv *mask_of(const LaneEmit *x, WideOp op, Rv *a, Rv *b) { return wide2(x, op, x->mask, a, b); }

/* A tie goes to the first; unordered operands give their sum, a NaN. */
static Rv *extremum(const LaneEmit *x, WideOp op, Rv *a, Rv *b) {
  Rv *found = wide2(x, op, x->floats, b, a);
  return blend(x, x->floats, found, binary(x->k->e, GB_PLUS, x->floats, a, b), mask_of(x, W_UNORDERED, a, b));
}

static Rv *sign_of(const LaneEmit *x, Rv *a) {
  Rv *zero = constant(x, 0), *positive = mask_of(x, W_LT, zero, a), *negative = mask_of(x, W_LT, a, zero);
  Rv *ones = blend(x, x->floats, a, constant(x, 1), positive);
  return blend(x, x->floats, ones, constant(x, -1), negative);
}

static bool converts_ints(const LaneEmit *x) { return wide_text(W_FLOAT_OF_LONG, x->width) != NULL; }

static Rv *float_of_int(LaneEmit *x, const LInstr *i, int p) {
  Emit *e = x->k->e;
  if (converts_ints(x)) return wide2(x, W_FLOAT_OF_LONG, x->floats, int_part(x, i->a, p), NULL);
  Rv *elements[LANES];
  for (int n = 0; n < x->width; n++) elements[n] = cast(e, strided_lane(x, i->a, k_i64(e, p * x->width + n)), e->t_f64);
  return wide_of(x, x->floats, elements);
}

Rv *fused(const LaneEmit *x, Rv *a, Rv *b, Rv *c) {
  Lv *out = wide_local(x, x->floats);
  Rv *in[] = {a, b, c};
  emit_wide(x, W_FMA, out, in);
  return rv(x->k->e, out);
}

Rv *fused_onto(const LaneEmit *x, Rv *a, Rv *b, Rv *c) {
  Lv *out = wide_local(x, x->floats);
  Rv *in[] = {c, a, b};
  emit_wide(x, W_FMA_ADD, out, in);
  return rv(x->k->e, out);
}

/* Is the number that a product is added to needed no more, probably? */
static bool adds_onto(const LaneEmit *x, const LInstr *i) {
  const LInstr *c = lanes_definition(x->k->lanes, i->c);
  return c && c->op == LOP_LOAD && kind_of(x, i->c) != LANE_UNIFORM;
}

/* Of floats: the result of a vector. */
static Rv *float_result(LaneEmit *x, const LInstr *i, int p) {
  Emit *e = x->k->e;
  if (i->sub == OP_SELECT)
    return blend(x, x->floats, float_part(x, i->c, p), float_part(x, i->b, p), mask_part(x, i->a, p));
  if (i->sub == OP_FLOAT_OF_INT) return float_of_int(x, i, p);
  Rv *a = float_part(x, i->a, p), *b = i->b >= 0 ? float_part(x, i->b, p) : NULL;
  switch (i->sub) {
  case OP_FADD:
  case OP_CADD: return binary(e, GB_PLUS, x->floats, a, b);
  case OP_FSUB: return binary(e, GB_MINUS, x->floats, a, b);
  case OP_FMUL: return binary(e, GB_MULT, x->floats, a, b);
  case OP_FDIV: return binary(e, GB_DIVIDE, x->floats, a, b);
  case OP_FMA: return (adds_onto(x, i) ? fused_onto : fused)(x, a, b, float_part(x, i->c, p));
  case OP_FMIN: return extremum(x, W_MIN, a, b);
  case OP_FMAX: return extremum(x, W_MAX, a, b);
  case OP_FNEG: return wide2(x, W_XOR, x->floats, a, sign_bits(x));
  case OP_ABS: return wide2(x, W_AND, x->floats, a, magnitude_bits(x));
  case OP_SQRT: return wide2(x, W_SQRT, x->floats, a, NULL);
  case OP_FLOOR: return wide2(x, W_FLOOR, x->floats, a, NULL);
  case OP_CEIL: return wide2(x, W_CEIL, x->floats, a, NULL);
  case OP_TRUNC: return wide2(x, W_TRUNC, x->floats, a, NULL);
  default: return sign_of(x, a); /* OP_SIGN */
  }
}

static Rv *differ(const LaneEmit *x, Rv *a, Rv *b) {
  return wide_masks(x) ? wide2(x, W_XOR, x->mask, a, b) : binary(x->k->e, GB_XOR, x->mask, a, b);
}

static Rv *bool_result(LaneEmit *x, const LInstr *i, int p) {
  switch (i->sub) {
  case OP_FEQ: return mask_of(x, W_EQ, float_part(x, i->a, p), float_part(x, i->b, p));
  case OP_FNE: return mask_of(x, W_NE, float_part(x, i->a, p), float_part(x, i->b, p));
  case OP_FLT: return mask_of(x, W_LT, float_part(x, i->a, p), float_part(x, i->b, p));
  case OP_FLE: return mask_of(x, W_LE, float_part(x, i->a, p), float_part(x, i->b, p));
  case OP_IEQ: return mask_of(x, W_INT_EQ, int_part(x, i->a, p), int_part(x, i->b, p));
  case OP_INE: return inverted(x, mask_of(x, W_INT_EQ, int_part(x, i->a, p), int_part(x, i->b, p)));
  case OP_ILT: return mask_of(x, W_INT_GREATER, int_part(x, i->b, p), int_part(x, i->a, p));
  case OP_ILE: return inverted(x, mask_of(x, W_INT_GREATER, int_part(x, i->a, p), int_part(x, i->b, p)));
  case OP_IS_NAN: return mask_of(x, W_UNORDERED, float_part(x, i->a, p), float_part(x, i->a, p));
  case OP_NOT: return inverted(x, mask_part(x, i->a, p));
  case OP_AND: return wide_and(x, mask_part(x, i->a, p), mask_part(x, i->b, p));
  case OP_OR: return wide_or(x, mask_part(x, i->a, p), mask_part(x, i->b, p));
  default: return inverted(x, differ(x, mask_part(x, i->a, p), mask_part(x, i->b, p))); /* OP_BEQ */
  }
}

/* Of ints: the result of a vector. */
static Rv *int_result(LaneEmit *x, const LInstr *i, int p) {
  Emit *e = x->k->e;
  if (i->sub == OP_SELECT) return blend(x, x->longs, int_part(x, i->c, p), int_part(x, i->b, p), mask_part(x, i->a, p));
  Rv *a = int_part(x, i->a, p), *b = i->b >= 0 ? int_part(x, i->b, p) : NULL;
  switch (i->sub) {
  case OP_IADD: return binary(e, GB_PLUS, x->longs, a, b);
  case OP_ISUB: return binary(e, GB_MINUS, x->longs, a, b);
  case OP_IMUL: return binary(e, GB_MULT, x->longs, a, b);
  case OP_IAND: return binary(e, GB_AND, x->longs, a, b);
  case OP_IOR: return binary(e, GB_OR, x->longs, a, b);
  case OP_IXOR: return binary(e, GB_XOR, x->longs, a, b);
  case OP_IMIN: return blend(x, x->longs, a, b, mask_of(x, W_INT_GREATER, a, b));
  case OP_IMAX: return blend(x, x->longs, a, b, mask_of(x, W_INT_GREATER, b, a));
  default: return binary(e, GB_MINUS, x->longs, splat(x, x->longs, k_i64(e, 0)), a); /* OP_INEG */
  }
}

/* ---- Number by number -------------------------------------------------------------------------------------------- */
typedef struct Elementwise {
  const LInstr *i;
  int32_t regs[3];
  Lv *operands[3], *result; /* arrays; NULL: the register holds the number */
} Elementwise;

/* The scalar operation on the numbers of a lane, in the registers of an ordinary iteration. */
static void do_lane(LaneEmit *x, Rv *lane, void *user) {
  Emit *e = x->k->e;
  const Elementwise *w = user;
  for (int k = 0; k < 3; k++)
    if (w->operands[k]) assign_reg(x->k, w->regs[k], rv(e, lane_at(x, w->operands[k], lane)));
  emit_scalar(x->k, w->i);
  assign(x->k, lane_at(x, w->result, lane), reg(x->k, w->i->dst));
}

/* f2 = op f1   →   for each lane: f1 = value of the lane; f2 = op f1; result of the lane = f2 */
static void emit_elementwise(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  bool number = is_float(x, i->dst);
  Elementwise w = {i, {i->a, i->b, i->c}, {NULL}, lanes_in_memory(x, number ? e->t_f64 : e->t_i64)};
  Lv *saved[3] = {NULL};
  for (int k = 0; k < 3; k++) {
    if (w.regs[k] < 0 || kind_of(x, w.regs[k]) == LANE_UNIFORM) continue;
    w.operands[k] = in_memory(x, w.regs[k]);
    if (kind_of(x, w.regs[k]) != LANE_STRIDED) continue;
    saved[k] = e->g->function_new_local(x->k->fn, NULL, e->t_i64, "strided");
    assign(x->k, saved[k], reg(x->k, w.regs[k]));
  }
  loop_over_lanes(x, do_lane, &w);
  for (int k = 0; k < 3; k++)
    if (saved[k]) assign_reg(x->k, w.regs[k], rv(e, saved[k]));
  for (int p = 0; p < x->parts; p++)
    put(x, i->dst, p,
        rv(e, vector_from(e, number ? x->floats : x->longs, lane_at(x, w.result, k_i32(e, p * x->width)))));
}

static bool has_vectors(const LaneEmit *x, const LInstr *i) {
  switch (i->sub) {
  case OP_IADD:
  case OP_ISUB:
  case OP_IMUL:
  case OP_IAND:
  case OP_IOR:
  case OP_IXOR:
  case OP_IMIN:
  case OP_IMAX:
  case OP_INEG:
  case OP_FADD:
  case OP_FSUB:
  case OP_FMUL:
  case OP_FDIV:
  case OP_CADD:
  case OP_FNEG:
  case OP_FMIN:
  case OP_FMAX:
  case OP_ABS:
  case OP_SQRT:
  case OP_FLOOR:
  case OP_CEIL:
  case OP_TRUNC:
  case OP_SIGN:
  case OP_SELECT: return true;
  case OP_FMA: return wide_text(W_FMA, x->width) != NULL;
  case OP_FLOAT_OF_INT: return converts_ints(x) || kind_of(x, i->a) == LANE_STRIDED;
  default: return kind_of(x, i->dst) == LANE_BOOLS;
  }
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */
/* Is a number of the vector lost? An int that is 0 if none is. */
static Rv *any_lost(LaneEmit *x, Rv *v, FunctionLost lost) {
  Emit *e = x->k->e;
  double wrong = lost == FUNCTION_ZEROS ? 0 : (double)INFINITY;
  Rv *mask = mask_of(x, W_EQ, wide2(x, W_AND, x->floats, v, magnitude_bits(x)), constant(x, wrong));
  if (!wide_masks(x)) return cast(e, mask, e->t_i32);
  return wide2(x, W_SIGNS, e->t_i32, mask, NULL);
}

/* Where results are lost the runtime computes them again. */
static void mend(LaneEmit *x, FunctionName name, Lv *result, Rv *a, Rv *b) {
  Emit *e = x->k->e;
  Block *again = new_block(x->k), *next = new_block(x->k);
  Rv *lost = compare(e, GC_NE, any_lost(x, rv(e, result), functions_lost(name)), k_i32(e, 0));
  e->g->block_end_with_conditional(x->k->cur, NULL, likely(e, lost, false), again, next);
  x->k->cur = again;
  Lv *in[] = {wide_local(x, x->floats), wide_local(x, x->floats)}, *out = wide_local(x, x->floats);
  assign(x->k, in[0], a);
  assign(x->k, in[1], b ? b : a);
  assign(x->k, out, rv(e, result));
  evaluate(x->k, CALL_TABLE(e, x->k->mod, rt_mend, k_i32(e, (int)name), address(e, in[0]), address(e, in[1]),
                            address(e, out), k_i32(e, x->width)));
  assign(x->k, result, rv(e, out));
  e->g->block_end_with_jump(again, NULL, next);
  x->k->cur = next;
}

static void emit_call_of(LaneEmit *x, const LInstr *i, FunctionName name) {
  Emit *e = x->k->e;
  int n = i->b >= 0 ? 2 : 1;
  Type *params[] = {x->floats, x->floats},
       *type = e->g->context_new_function_ptr_type(e->ctx, NULL, x->floats, n, params, 0);
  for (int p = 0; p < x->parts; p++) {
    Rv *args[] = {float_part(x, i->a, p), n > 1 ? float_part(x, i->b, p) : NULL};
    Rv *target = load(e, load_functions(x->k), offsetof(Functions, wide) + (size_t)name * sizeof(void *), type);
    Lv *result = wide_local(x, x->floats);
    assign(x->k, result, e->g->context_new_call_through_ptr(e->ctx, NULL, target, n, args));
    if (functions_lost(name) != FUNCTION_NEVER) mend(x, name, result, args[0], args[1]);
    put(x, i->dst, p, rv(e, result));
  }
}

/* A sine or cosine, and, if it comes later, the other one of the same number. */
static void emit_wide_wave(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  const Wide *known = map_get(&x->waves, i);
  for (int p = 0; known && p < x->parts; p++) put(x, i->dst, p, rv(e, known->part[p]));
  if (known) return;
  gcc_jit_field *fields[] = {e->g->context_new_field(e->ctx, NULL, x->floats, "first"),
                             e->g->context_new_field(e->ctx, NULL, x->floats, "second")};
  Type *two = e->g->struct_as_type(e->g->context_new_struct_type(e->ctx, NULL, "waves", 2, fields));
  Type *type = e->g->context_new_function_ptr_type(e->ctx, NULL, two, 1, &x->floats, 0);
  const LInstr *other = wave_partner(x->k->f, i);
  Wide *later = other ? new_wide(x, x->floats) : NULL;
  for (int p = 0; p < x->parts; p++) {
    Rv *a = float_part(x, i->a, p);
    Rv *target = load(e, load_functions(x->k), offsetof(Functions, wide_waves), type);
    Lv *both = wide_local(x, two);
    assign(x->k, both, e->g->context_new_call_through_ptr(e->ctx, NULL, target, 1, &a));
    int own = i->sub == OP_COS;
    if (later) assign(x->k, later->part[p], rv(e, e->g->lvalue_access_field(both, NULL, fields[1 - own])));
    put(x, i->dst, p, rv(e, e->g->lvalue_access_field(both, NULL, fields[own])));
  }
  if (other) map_put(&x->waves, other, later);
}

/* s = a * b + s, in the registers of s. */
static void emit_wide_sum_of_products(LaneEmit *x, const LInstr *i) {
  for (int p = 0; p < x->parts; p++) {
    Lv *sum = value_of(x, i->dst)->part[p];
    Rv *in[] = {rv(x->k->e, sum), float_part(x, i->a, p), float_part(x, i->b, p)};
    emit_wide(x, W_FMA_ADD, sum, in);
  }
}

void emit_wide_scalar(LaneEmit *x, const LInstr *i) {
  FunctionName name = lir_function(i);
  LaneKind kind = kind_of(x, i->dst);
  bool sums = i->sub == OP_FMA && i->c == i->dst && i->a != i->dst && i->b != i->dst && kind == LANE_FLOATS;
  if (name == FN_SIN || name == FN_COS) emit_wide_wave(x, i);
  else if (sums && wide_text(W_FMA, x->width)) emit_wide_sum_of_products(x, i);
  else if (has_kernel(name))
    for (int p = 0; p < x->parts; p++) put(x, i->dst, p, emit_kernel(x, name, float_part(x, i->a, p)));
  else if (name != FN_COUNT) emit_call_of(x, i, name);
  else if (!has_vectors(x, i)) emit_elementwise(x, i);
  else
    for (int p = 0; p < x->parts; p++)
      put(x, i->dst, p,
          kind == LANE_BOOLS  ? bool_result(x, i, p)
          : kind == LANE_INTS ? int_result(x, i, p)
                              : float_result(x, i, p));
}
