/* SPDX-License-Identifier: MIT */
/* Loops whose iterations run several at once, on vectors (lir/lanes.c says which), and partial sums.
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
 * Without the part with masks the loop itself does what is left, and, where it is entered in its midst, what comes
 * before the first index that LANES divides. Where neither can be, it has no code.
 *
 * A value of LANES numbers is in LANES / width vectors, where `width` is what the processor's have. GCC has vectors of
 * its own with + - * /; all else is one instruction of asm (lanes.def), which GCC neither rewrites nor contracts.
 *
 * Partial sums are the elements of an array in the frame. The loop on vectors has them in vectors meanwhile. */
#include "jit/emit.h"

enum { LANES = LIMIT_LANES, PARTS = LANES / 2 };
typedef struct Wide {
  Lv *part[PARTS];
} Wide;
typedef enum WideOp {
#define W(NAME, ...) W_##NAME,
#include "jit/lanes.def"
  W_COUNT
} WideOp;
typedef struct WideRow {
  const char *operands, *text[3]; /* by AVX-512, AVX2, SSE2 */
} WideRow;
static const WideRow rows[W_COUNT] = {
#define W(NAME, operands, avx512, avx2, sse2) [W_##NAME] = {operands, {avx512, avx2, sse2}},
#include "jit/lanes.def"
};

/* The loop on vectors under construction. */
typedef struct LaneEmit {
  Fn *k;
  LaneLoop l;
  LaneState state;
  int width, parts;
  Type *floats, *longs, *mask; /* vectors, and a mask of one */
  Wide **values;               /* by register: what varies, floats or masks */
  Wide **splats;               /* by register: what is the same in all, from outside */
  bool *inside;                /* by register: the body defines it */
  Map sums;                    /* array of partial sums -> Wide */
  Map waves;                   /* the later one of a sine and a cosine -> Wide */
  Block *before, *after;       /* around the loop */
  Rv **some;                   /* masks of the iterations that are done, by vector; NULL: all */
  Lv *sign, *magnitude;        /* masks of bits */
} LaneEmit;

static const GccApi *api(const LaneEmit *x) { return x->k->e->g; }
static gcc_jit_context *context(const LaneEmit *x) { return x->k->e->ctx; }
static bool wide_masks(const LaneEmit *x) { return x->width != LANES; }
static Lv *new_local(const LaneEmit *x, Type *t) { return api(x)->function_new_local(x->k->fn, NULL, t, "wide"); }
static Wide *new_wide(const LaneEmit *x, Type *t) {
  Wide *w = NEW(x->k->e->arena, Wide);
  for (int p = 0; p < x->parts; p++) w->part[p] = new_local(x, t);
  return w;
}

static Type *vector_type(Emit *e, int n) {
  if (!e->vectors[n]) e->vectors[n] = e->g->type_get_vector(e->t_f64, (size_t)n);
  return e->vectors[n];
}

/* ---- Partial sums ------------------------------------------------------------------------------------------------ */
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

/* Marks the arrays that a loop on vectors adds to. */
static void mark_wide(Fn *k, const LaneLoop *l) {
  for (int c = l->first; c < l->end; c++)
    if (k->f->code[c].op == LOP_LANE_ADD) map_put(&k->wide_sums, array_of(k, &k->f->code[c]), k);
}

static void find_lane_loops(Fn *k) {
  for (int c = 0; c < k->f->ncode; c++) {
    LaneLoop *l = k->f->code[c].op == LOP_LABEL ? NEW(k->e->arena, LaneLoop) : NULL;
    if (!l || !lanes_find(k->e->arena, k->lanes, c, l) || l->why) continue;
    map_put(&k->lane_loops, &k->f->code[c], l);
    mark_wide(k, l);
  }
}

void open_partial_sums(Fn *k) {
  for (int c = 0; c < k->f->ncode; c++) {
    const LInstr *i = &k->f->code[c];
    if (i->op == LOP_LANE_OPEN || i->op == LOP_LANE_ADD) open_array(k, i->res, i->nres);
    if (i->op == LOP_LANE_SUM) open_array(k, i->args, i->nargs);
  }
  if (k->lanes) find_lane_loops(k);
}

/* Where a loop on vectors adds, the array is written and read in vectors too: a vector can't be loaded in time from
 * what was just stored in parts. */
static bool is_wide_sum(const Fn *k, const LInstr *i) { return map_get(&k->wide_sums, array_of(k, i)) != NULL; }

/* The vector of this type that begins with the element. */
static Lv *vector_from(const Emit *e, Type *vector, Lv *first) {
  Type *memory = e->g->type_get_aligned(vector, sizeof(double));
  return e->g->rvalue_dereference(cast(e, e->g->lvalue_get_address(first, NULL), e->g->type_get_pointer(memory)), NULL);
}

void emit_lane_open(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Lv *array = array_of(k, i);
  int step = is_wide_sum(k, i) ? e->width : 1;
  for (int j = 0; j < i->nres; j += step) {
    Rv *elements[LANES];
    for (int n = 0; n < step; n++) elements[n] = j + n ? k_f64(e, -0.0) : reg(k, i->a);
    if (step == 1) {
      assign_reg(k, i->res[j], elements[0]);
      continue;
    }
    Type *type = vector_type(e, step);
    assign(k, vector_from(e, type, sum_at(k, array, k_i32(e, j))),
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
  gcc_jit_extended_asm *asm_of = g->block_add_extended_asm(k->cur, NULL, rows[op].text[k->e->width == 2 ? 2 : 1]);
  g->extended_asm_add_output_operand(asm_of, NULL, "=x", out);
  g->extended_asm_add_input_operand(asm_of, NULL, k->e->width == 2 ? "0" : "x", a);
  return rv(k->e, out);
}

/* The tree over eight sums: halves of the array are added, then halves of that vector, then its two numbers. */
static Rv *sum_of_vectors(const Fn *k, Lv *array) {
  Emit *e = k->e;
  int width = e->width == 2 ? 2 : 4;
  Type *two = vector_type(e, 2), *type = vector_type(e, width);
  Rv *sums[4];
  for (int n = 0; n < LANES / width; n++) sums[n] = rv(e, vector_from(e, type, sum_at(k, array, k_i32(e, n * width))));
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
    assign_reg(k, i->dst, sum_of_vectors(k, array_of(k, i)));
    return;
  }
  Rv *sums[LANES];
  for (int j = 0; j < i->nargs; j++) sums[j] = reg(k, i->args[j]);
  for (int n = i->nargs / 2; n > 0; n /= 2)
    for (int j = 0; j < n; j++) sums[j] = binary(e, GB_PLUS, e->t_f64, sums[j], sums[j + n]);
  assign_reg(k, i->dst, sums[0]);
}

/* ---- Vectors ----------------------------------------------------------------------------------------------------- */
static int level_of(const LaneEmit *x) { return x->width == 8 ? 0 : x->width == 4 ? 1 : 2; }

/* out = op in…, for one vector. out may be in[0] with FMA_ADD. The operands are made before: libgccjit crashes on an
 * asm that reads what is made after it. */
static void emit_wide(const LaneEmit *x, WideOp op, Lv *out, Rv **in) {
  const GccApi *g = api(x);
  const WideRow *row = &rows[op];
  const char *vector = x->width == 8 ? "v" : "x";
  gcc_jit_extended_asm *a = g->block_add_extended_asm(x->k->cur, NULL, row->text[level_of(x)]);
  bool replaces = op == W_FMA || op == W_FMA_ADD || (x->width == 2 && row->operands[2]);
  char kind = row->operands[0];
  bool bits = kind == 'k' && !wide_masks(x);
  g->extended_asm_add_output_operand(a, NULL, bits ? "=Yk" : kind == 'i' ? "=r" : x->width == 8 ? "=v" : "=x", out);
  for (int n = 0; row->operands[n + 1]; n++) {
    bool mask = row->operands[n + 1] == 'k' && !wide_masks(x);
    g->extended_asm_add_input_operand(a, NULL, replaces && n == 0 ? "0" : mask ? "Yk" : vector, in[n]);
  }
}

static Rv *wide2(const LaneEmit *x, WideOp op, Type *t, Rv *a, Rv *b) {
  Lv *out = new_local(x, t);
  Rv *in[] = {a, b};
  emit_wide(x, op, out, in);
  return rv(x->k->e, out);
}

static Rv *vector_of(const LaneEmit *x, Type *type, Rv **elements) {
  return api(x)->context_new_rvalue_from_vector(context(x), NULL, type, (size_t)x->width, elements);
}

static Rv *splat(const LaneEmit *x, Type *type, Rv *v) {
  Rv *elements[LANES];
  for (int n = 0; n < x->width; n++) elements[n] = v;
  return vector_of(x, type, elements);
}

/* A mask of bits for floats, made before the loop. */
static Rv *bits(LaneEmit *x, Lv **kept, int64_t pattern) {
  if (!*kept) {
    *kept = new_local(x, x->longs);
    api(x)->block_add_assignment(x->before, NULL, *kept, splat(x, x->longs, k_i64(x->k->e, pattern)));
  }
  return rv(x->k->e, *kept);
}
static Rv *sign_bits(LaneEmit *x) { return bits(x, &x->sign, INT64_MIN); }
static Rv *magnitude_bits(LaneEmit *x) { return bits(x, &x->magnitude, INT64_MAX); }

static Rv *constant(const LaneEmit *x, double v) { return splat(x, x->floats, k_f64(x->k->e, v)); }

/* %3 ? %2 : %1 */
static Rv *blend(const LaneEmit *x, Rv *no, Rv *yes, Rv *mask) {
  Lv *out = new_local(x, x->floats);
  Rv *in[] = {no, yes, mask};
  if (x->width != 2) {
    emit_wide(x, W_BLEND, out, in);
    return rv(x->k->e, out);
  }
  Rv *first = wide2(x, W_AND, x->floats, mask, yes), *second = wide2(x, W_AND_NOT, x->floats, mask, no);
  return wide2(x, W_OR, x->floats, first, second);
}

/* ---- Operands ---------------------------------------------------------------------------------------------------- */
/* A uniform register as a vector. */
static Rv *uniform_float(LaneEmit *x, int r) {
  if (x->inside[r]) return splat(x, x->floats, reg(x->k, r));
  if (!x->splats[r]) {
    x->splats[r] = NEW(x->k->e->arena, Wide);
    x->splats[r]->part[0] = new_local(x, x->floats);
    api(x)->block_add_assignment(x->before, NULL, x->splats[r]->part[0], splat(x, x->floats, reg(x->k, r)));
  }
  return rv(x->k->e, x->splats[r]->part[0]);
}

static Rv *float_part(LaneEmit *x, int r, int part) {
  if (x->state.kinds[r] == LANE_UNIFORM) return uniform_float(x, r);
  return rv(x->k->e, x->values[r]->part[part]);
}

/* A uniform bool as a mask: all bits, or none. */
static Rv *uniform_mask(const LaneEmit *x, int r) {
  Emit *e = x->k->e;
  Rv *all = e->g->context_new_unary_op(e->ctx, NULL, GU_MINUS, e->t_i64, reg(x->k, r));
  if (!wide_masks(x)) return cast(e, all, x->mask);
  Rv *vector = splat(x, x->longs, all);
  return wide2(x, W_OR, x->mask, vector, vector);
}

static Rv *mask_part(LaneEmit *x, int r, int part) {
  if (x->state.kinds[r] == LANE_UNIFORM) return uniform_mask(x, r);
  return rv(x->k->e, x->values[r]->part[part]);
}

static void put(LaneEmit *x, int r, int part, Rv *v) { assign(x->k, x->values[r]->part[part], v); }

/* ---- Scalar operations ------------------------------------------------------------------------------------------- */
static Rv *mask_of(const LaneEmit *x, WideOp op, Rv *a, Rv *b) { return wide2(x, op, x->mask, a, b); }

/* A tie goes to the first; unordered operands give their sum, a NaN. */
static Rv *extremum(const LaneEmit *x, WideOp op, Rv *a, Rv *b) {
  Rv *found = wide2(x, op, x->floats, b, a);
  return blend(x, found, binary(x->k->e, GB_PLUS, x->floats, a, b), mask_of(x, W_UNORDERED, a, b));
}

static Rv *sign_of(const LaneEmit *x, Rv *a) {
  Rv *zero = constant(x, 0), *positive = mask_of(x, W_LT, zero, a), *negative = mask_of(x, W_LT, a, zero);
  return blend(x, blend(x, a, constant(x, 1), positive), constant(x, -1), negative);
}

static Rv *fused(const LaneEmit *x, Rv *a, Rv *b, Rv *c) {
  Lv *out = new_local(x, x->floats);
  Rv *in[] = {a, b, c};
  emit_wide(x, W_FMA, out, in);
  return rv(x->k->e, out);
}

/* Of floats: the result of a vector. */
static Rv *float_result(LaneEmit *x, const LInstr *i, int p) {
  Emit *e = x->k->e;
  if (i->sub == OP_SELECT) return blend(x, float_part(x, i->c, p), float_part(x, i->b, p), mask_part(x, i->a, p));
  Rv *a = float_part(x, i->a, p), *b = i->b >= 0 ? float_part(x, i->b, p) : NULL;
  switch (i->sub) {
  case OP_FADD:
  case OP_CADD: return binary(e, GB_PLUS, x->floats, a, b);
  case OP_FSUB: return binary(e, GB_MINUS, x->floats, a, b);
  case OP_FMUL: return binary(e, GB_MULT, x->floats, a, b);
  case OP_FDIV: return binary(e, GB_DIVIDE, x->floats, a, b);
  case OP_FMA: return fused(x, a, b, float_part(x, i->c, p));
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

static Rv *inverted(const LaneEmit *x, Rv *mask) {
  Emit *e = x->k->e;
  if (!wide_masks(x)) return binary(e, GB_XOR, x->mask, mask, cast(e, k_i32(e, 255), x->mask));
  return wide2(x, W_XOR, x->mask, mask, splat(x, x->longs, k_i64(e, -1)));
}

static Rv *of_masks(const LaneEmit *x, unsigned op, WideOp wide, Rv *a, Rv *b) {
  return wide_masks(x) ? wide2(x, wide, x->mask, a, b) : binary(x->k->e, op, x->mask, a, b);
}

static Rv *bool_result(LaneEmit *x, const LInstr *i, int p) {
  switch (i->sub) {
  case OP_FEQ: return mask_of(x, W_EQ, float_part(x, i->a, p), float_part(x, i->b, p));
  case OP_FNE: return mask_of(x, W_NE, float_part(x, i->a, p), float_part(x, i->b, p));
  case OP_FLT: return mask_of(x, W_LT, float_part(x, i->a, p), float_part(x, i->b, p));
  case OP_FLE: return mask_of(x, W_LE, float_part(x, i->a, p), float_part(x, i->b, p));
  case OP_IS_NAN: return mask_of(x, W_UNORDERED, float_part(x, i->a, p), float_part(x, i->a, p));
  case OP_NOT: return inverted(x, mask_part(x, i->a, p));
  case OP_AND: return of_masks(x, GB_AND, W_AND, mask_part(x, i->a, p), mask_part(x, i->b, p));
  case OP_OR: return of_masks(x, GB_OR, W_OR, mask_part(x, i->a, p), mask_part(x, i->b, p));
  default: return inverted(x, of_masks(x, GB_XOR, W_XOR, mask_part(x, i->a, p), mask_part(x, i->b, p))); /* OP_BEQ */
  }
}

/* float (i + n), float (i + n + 1), … */
static Rv *float_of_index(const LaneEmit *x, const LInstr *i, int p) {
  Emit *e = x->k->e;
  Rv *elements[LANES];
  for (int n = 0; n < x->width; n++)
    elements[n] = binary(e, GB_PLUS, e->t_i64, reg(x->k, i->a), k_i64(e, p * x->width + n));
  if (x->width == 8) {
    Lv *longs = new_local(x, x->longs);
    Rv *steps[LANES];
    for (int n = 0; n < x->width; n++) steps[n] = k_i64(e, n);
    assign(x->k, longs,
           binary(e, GB_PLUS, x->longs, splat(x, x->longs, reg(x->k, i->a)), vector_of(x, x->longs, steps)));
    return wide2(x, W_FLOAT_OF_LONG, x->floats, rv(e, longs), NULL);
  }
  for (int n = 0; n < x->width; n++) elements[n] = cast(e, elements[n], e->t_f64);
  return vector_of(x, x->floats, elements);
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
  Lv *in[] = {new_local(x, x->floats), new_local(x, x->floats)}, *out = new_local(x, x->floats);
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
    Lv *result = new_local(x, x->floats);
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
    Lv *both = new_local(x, two);
    assign(x->k, both, e->g->context_new_call_through_ptr(e->ctx, NULL, target, 1, &a));
    int own = i->sub == OP_COS;
    if (later) assign(x->k, later->part[p], rv(e, e->g->lvalue_access_field(both, NULL, fields[1 - own])));
    put(x, i->dst, p, rv(e, e->g->lvalue_access_field(both, NULL, fields[own])));
  }
  if (other) map_put(&x->waves, other, later);
}

static void emit_wide_scalar(LaneEmit *x, const LInstr *i, LaneKind kind) {
  FunctionName name = lir_function(i);
  if (name == FN_SIN || name == FN_COS) emit_wide_wave(x, i);
  else if (name != FN_COUNT) emit_call_of(x, i, name);
  for (int p = 0; p < x->parts && name == FN_COUNT; p++) {
    if (kind == LANE_BOOLS) put(x, i->dst, p, bool_result(x, i, p));
    else put(x, i->dst, p, i->sub == OP_FLOAT_OF_INT ? float_of_index(x, i, p) : float_result(x, i, p));
  }
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */
/* How many iterations are left, at least 1. */
static Rv *iterations_left(const LaneEmit *x) {
  Emit *e = x->k->e;
  return binary(e, GB_MINUS, e->t_i64, reg(x->k, x->l.limit), reg(x->k, x->l.index));
}

/* Element i + lane of the array that the LOAD or STORE names. */
static Lv *element_of_lane(const LaneEmit *x, const LInstr *i, int lane) {
  Emit *e = x->k->e;
  Rv *row = reg(x->k, i->b);
  if (i->imm.i != 1) row = binary(e, GB_MULT, e->t_i64, row, k_i64(e, i->imm.i));
  Rv *index = binary(e, GB_PLUS, e->t_i64, row, k_i64(e, i->c + lane * i->imm.i));
  return slot_at(e, reg(x->k, i->a), index, e->t_f64);
}

/* Its vector from that on, where neighbours are neighbours in memory. */
static Lv *vector_at(const LaneEmit *x, Lv *first) { return vector_from(x->k->e, x->floats, first); }

/* The same for the iterations that are done. The asm reads and writes memory that GCC doesn't see. */
static void masked(const LaneEmit *x, WideOp op, Lv *out, Rv *v, Lv *first, Rv *mask) {
  const GccApi *g = api(x);
  const char *vector = x->width == 8 ? "v" : "x";
  Rv *at = address(x->k->e, first); /* libgccjit crashes if operands are made after the statement */
  gcc_jit_extended_asm *a = g->block_add_extended_asm(x->k->cur, NULL, rows[op].text[level_of(x)]);
  g->extended_asm_set_volatile_flag(a, 1);
  if (out) g->extended_asm_add_output_operand(a, NULL, x->width == 8 ? "=v" : "=x", out);
  if (v) g->extended_asm_add_input_operand(a, NULL, vector, v);
  g->extended_asm_add_input_operand(a, NULL, "r", at);
  g->extended_asm_add_input_operand(a, NULL, wide_masks(x) ? vector : "Yk", mask);
  g->extended_asm_add_clobber(a, "memory");
}

static void emit_wide_load(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  for (int p = 0; p < x->parts; p++) {
    Rv *elements[LANES];
    if (i->imm.i == 1 && x->some) {
      masked(x, W_MASKED_LOAD, x->values[i->dst]->part[p], NULL, element_of_lane(x, i, p * x->width), x->some[p]);
      continue;
    }
    if (i->imm.i == 1) {
      put(x, i->dst, p, rv(e, vector_at(x, element_of_lane(x, i, p * x->width))));
      continue;
    }
    for (int n = 0; n < x->width; n++) elements[n] = rv(e, element_of_lane(x, i, p * x->width + n));
    put(x, i->dst, p, vector_of(x, x->floats, elements));
  }
}

static void emit_wide_store(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  for (int p = 0; p < x->parts; p++) {
    Rv *v = float_part(x, i->dst, p);
    if (i->imm.i == 1 && x->some) {
      masked(x, W_MASKED_STORE, NULL, v, element_of_lane(x, i, p * x->width), x->some[p]);
      continue;
    }
    if (i->imm.i == 1) {
      assign(x->k, vector_at(x, element_of_lane(x, i, p * x->width)), v);
      continue;
    }
    Lv *copy = new_local(x, x->floats);
    assign(x->k, copy, v);
    for (int n = 0; n < x->width; n++)
      assign(x->k, element_of_lane(x, i, p * x->width + n), rv(e, slot_at(e, address(e, copy), k_i64(e, n), e->t_f64)));
  }
}

/* ---- Sums -------------------------------------------------------------------------------------------------------- */
/* The sums in vectors: loaded before the loop, stored after it. */
static Wide *wide_sums(LaneEmit *x, const LInstr *i) {
  Lv *array = array_of(x->k, i);
  Wide *known = map_get(&x->sums, array);
  if (known) return known;
  Emit *e = x->k->e;
  Wide *sums = new_wide(x, x->floats);
  map_put(&x->sums, array, sums);
  for (int p = 0; p < x->parts; p++) {
    Lv *place = vector_at(x, sum_at(x->k, array, k_i32(e, p * x->width)));
    e->g->block_add_assignment(x->before, NULL, sums->part[p], rv(e, place));
    e->g->block_add_assignment(x->after, NULL, place, rv(e, sums->part[p]));
  }
  return sums;
}

static void emit_wide_sum(LaneEmit *x, const LInstr *i) {
  Emit *e = x->k->e;
  const Wide *sums = wide_sums(x, i);
  for (int p = 0; p < x->parts; p++) {
    Rv *old = rv(e, sums->part[p]), *in[] = {old, float_part(x, i->b, p), i->c < 0 ? NULL : float_part(x, i->c, p)};
    Lv *sum = x->some ? new_local(x, x->floats) : sums->part[p];
    if (i->c < 0) assign(x->k, sum, binary(e, GB_PLUS, x->floats, old, in[1]));
    else emit_wide(x, W_FMA_ADD, sum, in);
    if (x->some) assign(x->k, sums->part[p], blend(x, old, rv(e, sum), x->some[p]));
  }
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */
static void emit_wide_move(LaneEmit *x, const LInstr *i) {
  for (int p = 0; p < x->parts; p++) put(x, i->dst, p, rv(x->k->e, x->values[i->a]->part[p]));
}

static void emit_wide_instr(LaneEmit *x, const LInstr *i) {
  LaneState before = x->state;
  if (i->op == LOP_LANE_ADD) emit_wide_sum(x, i);
  if (i->op == LOP_STORE) emit_wide_store(x, i);
  if (i->op == LOP_LANE_ADD || i->op == LOP_STORE) return;
  uint8_t old = before.kinds[i->dst];
  LaneKind kind = lanes_step(&x->state, i);
  if (kind == LANE_UNIFORM || kind == LANE_LINEAR) {
    emit_instr(x->k, i);
    return;
  }
  if (!x->values[i->dst]) x->values[i->dst] = new_wide(x, kind == LANE_BOOLS ? x->mask : x->floats);
  x->state.kinds[i->dst] = old; /* while operands are read, of which it may be one */
  if (i->op == LOP_LOAD) emit_wide_load(x, i);
  else if (i->op == LOP_MOVE) emit_wide_move(x, i);
  else emit_wide_scalar(x, i, kind);
  x->state.kinds[i->dst] = (uint8_t)kind;
}

static void set_types(LaneEmit *x) {
  Emit *e = x->k->e;
  const GccApi *g = e->g;
  x->width = e->width;
  x->parts = LANES / x->width;
  x->floats = vector_type(e, x->width);
  x->longs = g->type_get_vector(e->t_i64, (size_t)x->width);
  x->mask = wide_masks(x) ? x->floats : g->context_get_type(e->ctx, GT_UCHAR);
}

/* Are there iterations for vectors, from a number that LANES divides if there are sums? */
static Rv *is_wide_start(const LaneEmit *x, bool masked_rest) {
  Emit *e = x->k->e;
  Rv *enough = compare(e, GC_GE, iterations_left(x), k_i64(e, masked_rest ? 1 : LANES));
  if (!x->l.sums) return enough;
  Rv *odd = binary(e, GB_AND, e->t_i64, reg(x->k, x->l.index), k_i64(e, LANES - 1));
  return e->g->context_new_binary_op(e->ctx, NULL, GB_LOGICAL_AND, e->t_bool, enough,
                                     compare(e, GC_EQ, odd, k_i64(e, 0)));
}

/* Is what is left done at once, too? What a masked store wrote can't be loaded for some twenty cycles, so a loop that
 * writes does the rest one by one, unless it calls functions, which take longer. */
static bool has_masked_rest(const LaneEmit *x) {
  bool stores = false, calls = false, fields = false;
  for (int c = x->l.first; c < x->l.end; c++) {
    const LInstr *i = &x->k->f->code[c];
    fields |= (i->op == LOP_LOAD || i->op == LOP_STORE) && i->imm.i != 1 && i->b >= 0;
    stores |= i->op == LOP_STORE;
    calls |= i->op == LOP_SCALAR && lir_calls_function(i);
  }
  return x->width > 2 && !fields && (!stores || calls);
}

static void emit_body(LaneEmit *x) {
  x->state = lanes_begin(x->k->e->arena, x->k->lanes, &x->l);
  map_init(&x->waves, x->k->e->arena);
  for (int c = x->l.first; c < x->l.end; c++) emit_wide_instr(x, &x->k->f->code[c]);
}

/* Masks of the first `left` iterations. */
static void make_masks(LaneEmit *x, Rv *left) {
  Emit *e = x->k->e;
  x->some = NEW_ARRAY(e->arena, Rv *, x->parts);
  for (int p = 0; p < x->parts; p++) {
    Lv *mask = new_local(x, x->mask);
    Rv *steps[LANES];
    for (int n = 0; n < x->width; n++) steps[n] = k_i64(e, p * x->width + n);
    if (wide_masks(x)) {
      Rv *in[] = {splat(x, x->longs, left), vector_of(x, x->longs, steps)};
      emit_wide(x, W_GREATER, mask, in);
    } else {
      Rv *bit = binary(e, GB_LSHIFT, e->t_i64, k_i64(e, 1), left);
      assign(x->k, mask, cast(e, binary(e, GB_MINUS, e->t_i64, bit, k_i64(e, 1)), x->mask));
    }
    x->some[p] = rv(e, mask);
  }
}

/* What is left, 1 to LANES - 1 iterations, on vectors of which a part counts. */
static void emit_masked_rest(LaneEmit *x, Block *next) {
  Emit *e = x->k->e;
  Block *body = new_block(x->k);
  Rv *left = iterations_left(x);
  e->g->block_end_with_conditional(x->k->cur, NULL, compare(e, GC_GT, left, k_i64(e, 0)), body, next);
  x->k->cur = body;
  make_masks(x, left);
  emit_body(x);
  x->some = NULL;
  assign_reg(x->k, x->l.index, reg(x->k, x->l.limit));
  e->g->block_end_with_jump(x->k->cur, NULL, next);
}

static void open_loop(LaneEmit *x) {
  Fn *k = x->k;
  size_t n = (size_t)k->f->nregs + 1;
  set_types(x);
  x->values = NEW_ARRAY(k->e->arena, Wide *, n);
  x->splats = NEW_ARRAY(k->e->arena, Wide *, n);
  x->inside = NEW_ARRAY(k->e->arena, bool, n);
  map_init(&x->sums, k->e->arena);
  for (int c = x->l.first; c < x->l.end; c++)
    if (lir_defines_dst(k->f->code[c].op)) x->inside[k->f->code[c].dst] = true;
  x->before = new_block(k);
  x->after = new_block(k);
}

int emit_lanes(Fn *k, int head) {
  Emit *e = k->e;
  const LaneLoop *l = map_get(&k->lane_loops, &k->f->code[head]);
  if (!l) return head;
  LaneEmit x = {.k = k, .l = *l};
  open_loop(&x);
  Block *test = new_block(k), *body = new_block(k), *left = new_block(k);
  bool masked_rest = has_masked_rest(&x), whole = masked_rest && (l->from_zero || !l->sums);
  Block *rest = whole ? k->labels[l->exit] : new_block(k);
  if (whole) e->g->block_end_with_jump(k->cur, NULL, x.before);
  else e->g->block_end_with_conditional(k->cur, NULL, is_wide_start(&x, masked_rest), x.before, rest);
  k->cur = test;
  e->g->block_end_with_conditional(test, NULL, compare(e, GC_GE, iterations_left(&x), k_i64(e, LANES)), body, left);
  k->cur = body;
  emit_body(&x);
  assign_reg(k, x.l.index, binary(e, GB_PLUS, e->t_i64, reg(k, x.l.index), k_i64(e, LANES)));
  e->g->block_end_with_jump(k->cur, NULL, test);
  k->cur = left;
  if (masked_rest) emit_masked_rest(&x, x.after);
  else e->g->block_end_with_jump(left, NULL, x.after);
  e->g->block_end_with_jump(x.before, NULL, test);
  e->g->block_end_with_jump(x.after, NULL, rest);
  k->cur = whole ? NULL : rest;
  return whole ? l->end + 1 : head;
}
