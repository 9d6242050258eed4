/* SPDX-License-Identifier: MIT */
/* Code for LIMIT_LANES iterations of a loop at once, or LIMIT_TURN where the processor has registers for that: what
 * emit_lanes.c and the files of operations share.
 *
 * A value of `lanes` numbers is in lanes / width vectors, where `width` is what the processor's have. GCC has vectors
 * of its own with + - * /; all else is one instruction of asm (lanes.def), which GCC neither rewrites nor contracts.
 *
 *   emit_lanes.c     the loop
 *   emit_private.c   the loop, if its arrays are private to a lane
 *   wide.c           vectors, and registers as operands
 *   wide_scalar.c    operations and functions
 *   wide_kernels.c   exp, log, tanh and erf in line
 *   lane_tests.c     tests before the loop
 *   wide_memory.c    loads, stores, additions to places
 *   wide_window.c    additions to neighbours
 *   wide_reduction.c additions to reduction arrays
 *   partial_sums.c   partial sums in memory and in vectors */
#ifndef ATLED_WIDE_H
#define ATLED_WIDE_H
#include "jit/emit.h"

enum { LANES = LIMIT_LANES, TURN_LANES = LIMIT_TURN, PARTS = LANES / 2 };
typedef struct Wide {
  Lv *part[PARTS];
} Wide;
typedef enum WideOp {
#define W(NAME, ...) W_##NAME,
#include "jit/lanes.def"
  W_COUNT
} WideOp;
/* Which of the iterations are done; NULL: all. */
typedef struct Some {
  Rv *mask[PARTS];      /* by vector */
  Rv *count;            /* the first so many, at least 1 */
  Rv *lane[TURN_LANES]; /* number n, or 0 where that isn't done */
  Lv *from, *to;        /* NULL, or: lanes from … to - 1, as masks say, of those that `lane` knows. count is `to` */
  Lv *masks[PARTS];
  Lv *bits; /* NULL, or the same as bits of an int */
} Some;
typedef struct Agreed Agreed;
/* Of a loop that does turns: */
typedef struct Turn {
  Lv *rises; /* 1: places have risen so far */
  Lv *most;  /* so many iterations may be done at once */
  Map last;  /* array + 1 -> its last place in this turn */
} Turn;
/* From the first lane to each, in bytes: the register times `bytes`, times the lane. */
typedef struct Distances {
  int by;
  int64_t bytes;
  Lv *of[TURN_LANES];
  struct Distances *next;
} Distances;
typedef struct Window Window;
/* The loop under construction. */
typedef struct LaneEmit {
  Fn *k;
  LaneLoop l;
  int lanes, width, parts;     /* iterations at once, numbers of a vector, vectors of a value */
  Type *floats, *longs, *mask; /* vectors, and a mask of one */
  Map values;                  /* register + 1 -> Wide: what varies */
  Map splats;                  /* register + 1 -> vector, made before the loop: what is the same in all, from outside */
  Map sums;                    /* array of partial sums -> Wide */
  Map inner_sums;              /* the first register of an inner loop's partial sums, + 1 -> array of vectors */
  Map waves;                   /* the later one of a sine and a cosine -> Wide */
  Block **labels;              /* of the body's LABELs */
  Block *before, *after;       /* around the loop */
  Distances *distances;
  Window *windows; /* elements that wait in registers for further additions: wide_window.c */
  Block *bail;     /* where the iterations are done one by one from the first of these on; NULL: nowhere */
  Some *some;
  Turn *turn;           /* NULL, or: the loop does halves of turns first (emit_private.c) */
  Agreed *agreed;       /* of a loop with private arrays: which lanes are done (emit_private.c) */
  Block *opening;       /* of such a loop: before its body, where lanes that are done are known */
  Lv *sign, *magnitude; /* masks of bits */
} LaneEmit;

static inline const GccApi *wide_api(const LaneEmit *x) { return x->k->e->g; }
static inline bool wide_masks(const LaneEmit *x) { return x->width != LANES; }
static inline LaneKind kind_of(const LaneEmit *x, int r) { return lanes_kind(x->k->lanes, r); }
static inline bool is_float(const LaneEmit *x, int r) { return x->k->f->regs[r].kind == R_FLOAT; }

/* ---- emit_lanes.c, emit_private.c -------------------------------------------------------------------------------- */
void emit_body(LaneEmit *x, bool own_labels);
void emit_private_loop(LaneEmit *x);
void emit_agreed_branch(LaneEmit *x, const LInstr *i);
void emit_agreed_failure(LaneEmit *x, const LInstr *i, Rv *failed);

/* ---- wide.c ------------------------------------------------------------------------------------------------------ */
Type *vector_type(Emit *e, int n);
/* The vector of this type that begins with the element. */
Lv *vector_from(const Emit *e, Type *vector, Lv *first);
/* The text of the operation for vectors of so many numbers. */
const char *wide_text(WideOp op, int width);
Lv *wide_local(const LaneEmit *x, Type *t);
Wide *new_wide(const LaneEmit *x, Type *t);
/* out = op in…, for one vector. out may be in[0] with FMA_ADD. */
void emit_wide(const LaneEmit *x, WideOp op, Lv *out, Rv **in);
Rv *wide2(const LaneEmit *x, WideOp op, Type *t, Rv *a, Rv *b);
Rv *wide_of(const LaneEmit *x, Type *type, Rv **elements);
Rv *splat(const LaneEmit *x, Type *type, Rv *v);
Rv *blend(const LaneEmit *x, Type *type, Rv *no, Rv *yes, Rv *mask); /* by lane: mask ? yes : no */
Rv *inverted(const LaneEmit *x, Rv *mask);
Rv *wide_and(const LaneEmit *x, Rv *a, Rv *b); /* of masks */
Rv *wide_or(const LaneEmit *x, Rv *a, Rv *b);
Rv *sign_bits(LaneEmit *x);
Rv *magnitude_bits(LaneEmit *x);
/* A register as vector number p of its numbers, whatever its kind. */
Rv *float_part(LaneEmit *x, int r, int p);
Rv *int_part(LaneEmit *x, int r, int p);
Rv *mask_part(LaneEmit *x, int r, int p);
/* What a STRIDED register is in an iteration. */
Rv *strided_lane(const LaneEmit *x, int r, Rv *lane);
/* Where the value of a register that varies is; made when first asked for. */
Wide *value_of(LaneEmit *x, int r);
void put(LaneEmit *x, int r, int p, Rv *v);
/* The value of a register as numbers in memory, one a lane. */
Lv *in_memory(LaneEmit *x, int r);
Lv *lanes_in_memory(LaneEmit *x, Type *element);
Lv *lane_at(const LaneEmit *x, Lv *array, Rv *lane);
/* Calls fn with the number of each lane that is done, in the order of iterations: the first in a loop, the second only
 * where their number isn't known. */
typedef void (*LaneFn)(LaneEmit *x, Rv *lane, void *user);
void loop_over_lanes(LaneEmit *x, LaneFn fn, void *user);
void each_lane(LaneEmit *x, LaneFn fn, void *user);

/* ---- partial_sums.c ---------------------------------------------------------------------------------------------- */
/* The partial sums that the loop adds to are read and written in vectors everywhere; whole: and are nowhere else. */
void mark_wide_sums(Fn *k, const LaneLoop *l, bool whole);
void emit_wide_sum(LaneEmit *x, const LInstr *i);
/* The terms of the sum in order whose last instruction is number `instr`. */
void emit_total(LaneEmit *x, int instr);
void open_inner_sums(LaneEmit *x, const LInstr *i);
void close_inner_sums(LaneEmit *x, const LInstr *i);

/* ---- wide_scalar.c, wide_memory.c -------------------------------------------------------------------------------- */
void emit_wide_scalar(LaneEmit *x, const LInstr *i);
/* a * b + c, rounded once; not with SSE2. onto: in the register of c, else in that of a. */
Rv *fused(const LaneEmit *x, Rv *a, Rv *b, Rv *c);
Rv *fused_onto(const LaneEmit *x, Rv *a, Rv *b, Rv *c);
/* W_MASKED_LOAD into out (zeros in other lanes), or W_MASKED_STORE of v. The operands are made before. */
void masked_access(const LaneEmit *x, WideOp op, Lv *out, Rv *v, Rv *at, Rv *mask);
void emit_wide_load(LaneEmit *x, const LInstr *i);
void emit_wide_store(LaneEmit *x, const LInstr *i);
/* Is the index of the CHECK_INDEX wrong in any lane that is done? */
Rv *is_any_outside(LaneEmit *x, const LInstr *i);
/* Of a trap: is its number NaN, or infinite, in any lane that is done? And does it stop the program in any? */
Rv *is_any_bad(LaneEmit *x, const LInstr *i);
Rv *is_any_trapped(LaneEmit *x, const LInstr *i);
/* The additions to an array that end with the STORE at index `last`. */
void emit_wide_additions(LaneEmit *x, int last);
/* Element `row` of the array that the LOAD or STORE names. */
Lv *element_at(const LaneEmit *x, const LInstr *i, Rv *row);

/* ---- wide_reduction.c -------------------------------------------------------------------------------------------- */
/* The addition to a reduction array that ends with this STORE. */
void emit_reduction(LaneEmit *x, int store);

/* ---- wide_window.c ----------------------------------------------------------------------------------------------- */
/* Adds n terms to neighbours, in this order. `first` is where main begins; term k belongs apart[k] elements, less than
 * LANES, from where lane 0 of it is (wide_window.c). */
void emit_window(LaneEmit *x, const LaneTerm *terms, const int *apart, int n, Lv *first);
/* Stores what waits. */
void close_windows(LaneEmit *x);

/* ---- wide_kernels.c ---------------------------------------------------------------------------------------------- */
/* Is there code for vectors of the function? */
bool has_kernel(FunctionName name);
Rv *emit_kernel(LaneEmit *x, FunctionName name, Rv *v);

/* ---- lane_tests.c ------------------------------------------------------------------------------------------------ */
/* Do the loop's pairs of places tell that its next `left` iterations don't meet? Computed before the loop. */
Rv *all_pairs_pass(const LaneEmit *x, Rv *left);
#endif
