/* SPDX-License-Identifier: MIT */
/* The primitives that `foreign "prim" name` (or "prim!", with an effect, or "prim of pure", of functions that have
 * none) binds. A leading `_` of the name is ignored, so that a module can keep a primitive to itself. Any of them
 * may be partially applied or used as a value.
 *
 * Three sorts, looked up in this order:
 *
 *   1. The table below: what isn't one operation, or depends on the type.
 *        derivatives   vjp f x · jvp f x dx · stop_gradient x · checkpoint f x
 *        compiling     static f (the value of f (), computed when the program is compiled)
 *        errors        fail message · assert condition · attempt f
 *        arrays        length a · shape a (int[] of all dimensions) · tabulate n f · zeros d · ones d · reshape d a
 *                      (d: an int, or an array of ints, one for each dimension of the result) · flatten a
 *                      unfold p f s (while p s: a part of (a, s) = f s is an element and the next s; the last s, too)
 *                      unsafe_index a i (no check) · count_between a b (how many ints from a up to b, b excluded)
 *        strings       str_size s (bytes) · str_byte s i · unsafe_byte s i (no check)
 *        sums          sum a (floats in any order; ints; structures if not empty) · dot a b
 *        parallel      par f g · pmap f xs
 *        numbers       float n · int x · abs x · sign x (int or float) · min a b · max a b (any ord; a tie gives the
 *                      first, a NaN among floats gives NaN)
 *                      pow x y · powi x n · fmin a b · fmax a b (rules are looked up under these names)
 *                      compare a b · hash a (the order of sorting, and a hash that agrees)
 *                      bit_and bit_or bit_xor shift_left shift_right (logical)
 *        tests         arbitrary n (a value of any type, chosen by n; functions that their argument changes)
 *        structures    zeros_like x · map_floats f x · map_floats2 f x y · inner x y · floats x · with_floats x fs
 *   2. Scalar operations, by their text in ir/ops.def: sin cos exp log sqrt floor atan2 hypot erf gamma lgamma digamma
 *      trigamma is_nan not and or …
 *   3. Primitives of the runtime, by their name in prims/rt.def: show print equal str_split regex_find read_file …
 *
 * The derivative rules of 2, and of those in 1 that become one operation, are written in the prelude as a
 * `pullback` or `tangent` of the name. */
#include "elab/elab_internal.h"
#include "graph/graph.h"
#include <string.h>

/* ---- Derivatives and errors ---------------------------------------------------------------- */

/* The token, if the function that is handed over has an effect. */
static Node *token_for(PrimCall *p, const Node *f) { return f->type->effect ? el_token(p->c) : NULL; }

static Node *taken(PrimCall *p, const Node *f, Node *x) { return f->type->effect ? el_take(p->c, x) : x; }

static Node *do_vjp(PrimCall *p) {
  Node *f = p->args[0];
  return taken(p, f, ir_vjp(p->c->w, f, p->args[1], token_for(p, f), el_site(p->c, p->at)));
}

static Node *do_jvp(PrimCall *p) {
  Node *f = p->args[0];
  return taken(p, f, ir_jvp(p->c->w, f, p->args[1], p->args[2], token_for(p, f), el_site(p->c, p->at)));
}

static Node *do_checkpoint(PrimCall *p) {
  Node *f = p->args[0];
  return taken(p, f, ir_checkpoint(p->c->w, f, p->args[1], token_for(p, f), el_site(p->c, p->at)));
}

static Node *do_attempt(PrimCall *p) {
  Node *f = p->args[0];
  return taken(p, f, ir_attempt(p->c->w, f, p->result, token_for(p, f), el_site(p->c, p->at)));
}

static Node *do_static(PrimCall *p) {
  Ctx *c = p->c;
  Node *x = el_apply_value(c, p->args[0], ir_unit(c->w), p->at);
  if (el_leaves(c->e, p->result) & LEAF_FUN)
    return el_error(c, p->at, p->result, "unsupported", "`static` is for data: this value holds a function");
  return ir_static(c->w, x, el_site(c, p->at));
}

static Node *do_stop(PrimCall *p) { return ir_op1(p->c->w, OP_STOP, el_cut(p->c, "stop_gradient", p->args[0], p->at)); }

static Node *do_fail(PrimCall *p) { return ir_fail(p->c->w, FAIL_USER, p->result, p->args[0], el_site(p->c, p->at)); }

static Node *do_assert(PrimCall *p) {
  Node *message = ir_string(p->c->w, sym_of(p->c->e->syms, "assertion failed"));
  return ir_assert(p->c->w, p->args[0], message, el_site(p->c, p->at));
}

/* ---- Arrays ------------------------------------------------------------------------------------ */

static Node *do_length(PrimCall *p) { return ir_len(p->c->w, p->args[0], 0); }

static Node *do_shape(PrimCall *p) {
  Ctx *c = p->c;
  int rank = ir_rank(p->args[0]->type);
  Node **dims = NEW_ARRAY(c->e->arena, Node *, rank);
  for (int k = 0; k < rank; k++) dims[k] = ir_len(c->w, p->args[0], k);
  return ir_array(c->w, c->e->t_int, dims, rank, 0);
}

static Node *do_size(PrimCall *p) { return ir_op1(p->c->w, OP_BYTES, p->args[0]); }

static Node *do_unsafe_byte(PrimCall *p) { return ir_byte(p->c->w, p->args[0], p->args[1]); }

static Node *do_byte(PrimCall *p) {
  World *w = p->c->w;
  Node *i = ir_check(w, OP_CHECK_INDEX, p->args[1], do_size(p), NULL, el_site(p->c, p->at));
  return ir_byte(w, p->args[0], i);
}

static Node *do_unsafe_index(PrimCall *p) { return ir_index(p->c->w, p->args[0], &p->args[1], 1); }

typedef struct Mapping {
  Var f, xs;
  bool maps;
  Span at;
} Mapping;

static Node *map_element(Ctx *c, void *user, Node *i, Node **state) {
  (void)state;
  Mapping *m = user;
  Node *x = m->maps ? ir_index(c->w, el_read(c, &m->xs), &i, 1) : i;
  return el_apply_value(c, el_read(c, &m->f), x, m->at);
}

static Node *do_tabulate(PrimCall *p) {
  Ctx *c = p->c;
  Node *f = p->args[1];
  Mapping m = {.f = el_var(c, f), .at = p->at};
  Node *n = ir_op2(c->w, OP_IMAX, p->args[0], ir_int(c->w, 0));
  return el_build(c, n, f->type->args[1], f->type->effect, false, p->at, map_element, &m);
}

typedef struct Unfolding {
  Var goes_on, step;
  Span at;
} Unfolding;

static Node *unfold_step(Ctx *c, void *user, Node *i, Node **state) {
  (void)i;
  Unfolding *u = user;
  Node *both = el_apply_value(c, el_read(c, &u->step), state[0], u->at);
  state[0] = ir_get(c->w, both, 1);
  return ir_get(c->w, both, 0);
}

static Node *unfold_goes_on(Ctx *c, void *user, Node **state) {
  Unfolding *u = user;
  return el_apply_value(c, el_read(c, &u->goes_on), state[0], u->at);
}

static Node *do_unfold(PrimCall *p) {
  Ctx *c = p->c;
  Unfolding u = {el_var(c, p->args[0]), el_var(c, p->args[1]), p->at};
  Node *parts[2] = {NULL, p->args[2]};
  LoopSpec s = {.state = &parts[1],
                .nstate = 1,
                .elem = p->result->args[0]->args[0],
                .body = unfold_step,
                .cond = unfold_goes_on,
                .user = &u,
                .at = p->at};
  parts[0] = el_loop(c, &s);
  return ir_tuple(c->w, p->result, parts);
}

static Node *do_pmap(PrimCall *p) {
  Ctx *c = p->c;
  Node *f = p->args[0], *xs = p->args[1];
  Mapping m = {el_var(c, f), el_var(c, xs), true, p->at};
  return el_build(c, ir_len(c->w, xs, 0), f->type->args[1], f->type->effect, false, p->at, map_element, &m);
}

static Node *do_par(PrimCall *p) {
  Ctx *c = p->c;
  Node *unit = ir_unit(c->w);
  Site site = el_site(c, p->at);
  Target first = ir_target(c->w, p->args[0], unit, NULL, site), second = ir_target(c->w, p->args[1], unit, NULL, site);
  return ir_fork(c->w, (Fork){{first, second}}, site);
}

/* The dimensions that an int or an array of ints asks for. */
static Node **dimensions(PrimCall *p, Node *d, int rank) {
  Ctx *c = p->c;
  Node **dims = NEW_ARRAY(c->e->arena, Node *, rank + 1);
  Sym what = sym_of(c->e->syms, "a size");
  Site site = el_site(c, p->at);
  if (d->type->kind == T_ARRAY)
    d = el_after(c, d, ir_check(c->w, OP_CHECK_SIZE, ir_len(c->w, d, 0), ir_int(c->w, rank), NULL, site));
  for (int k = 0; k < rank; k++) {
    Node *at = ir_int(c->w, k);
    Node *n = d->type->kind == T_ARRAY ? ir_index(c->w, d, &at, 1) : d;
    dims[k] = ir_check_nat(c->w, n, what, site);
  }
  return dims;
}

static Node *do_zeros(PrimCall *p) {
  return ir_zeros(p->c->w, p->result, dimensions(p, p->args[0], ir_rank(p->result)), el_site(p->c, p->at));
}

typedef struct Filled {
  Var *dims;
  int n, k;
  IrType *type;
  Span at;
} Filled;

static Node *fill(Ctx *c, void *user, Node *i, Node **state) {
  (void)i;
  (void)state;
  Filled f = *(Filled *)user;
  if (f.k == f.n) return f.type->kind == T_FLOAT ? ir_float(c->w, 1) : ir_int(c->w, 1);
  Node *n = el_read(c, &f.dims[f.k++]);
  f.type = f.type->args[0];
  return el_build(c, n, f.type, false, true, f.at, fill, &f);
}

static Node *do_ones(PrimCall *p) {
  Ctx *c = p->c;
  Filled f = {.n = ir_rank(p->result), .type = p->result, .at = p->at};
  Node **dims = dimensions(p, p->args[0], f.n);
  f.dims = NEW_ARRAY(c->e->arena, Var, f.n);
  for (int k = 0; k < f.n; k++) f.dims[k] = el_var(c, dims[k]);
  return fill(c, &f, NULL, NULL);
}

static Node *do_reshape(PrimCall *p) {
  Node **dims = dimensions(p, p->args[0], ir_rank(p->result));
  return ir_reshape(p->c->w, p->result, p->args[1], dims, el_site(p->c, p->at));
}

/* One level less: the first two dimensions become one. */
static Node *do_flatten(PrimCall *p) {
  Ctx *c = p->c;
  Node *a = p->args[0];
  int rank = ir_rank(a->type);
  Node **dims = NEW_ARRAY(c->e->arena, Node *, rank);
  dims[0] = ir_op2(c->w, OP_IMUL, ir_len(c->w, a, 0), ir_len(c->w, a, 1));
  for (int k = 1; k + 1 < rank; k++) dims[k] = ir_len(c->w, a, k + 1);
  return ir_reshape(c->w, p->result, a, dims, el_site(c, p->at));
}

static Node *do_count_between(PrimCall *p) { return ir_count_between(p->c->w, p->args[0], p->args[1], false); }

static Node *do_sum(PrimCall *p) { return el_sum(p->c, p->args[0], p->at); }

static Node *do_dot(PrimCall *p) { return el_dot(p->c, p->args[0], p->args[1], p->at); }

/* ---- Numbers ------------------------------------------------------------------------------------- */

static Node *do_float(PrimCall *p) {
  return p->args[0]->type->kind == T_FLOAT ? p->args[0] : ir_op1(p->c->w, OP_FLOAT_OF_INT, p->args[0]);
}

static Node *do_int(PrimCall *p) {
  return p->args[0]->type->kind == T_INT ? p->args[0]
                                         : ir_op1(p->c->w, OP_INT_OF_FLOAT, el_cut(p->c, "int", p->args[0], p->at));
}

/* y, what `op` makes of the call's floats: recorded where a study of a point asks for that; else it has no trap. */
static Node *at_point(PrimCall *p, Op op, Node *y) {
  return p->c->w->traps == TRAP_POINT ? el_trapped(p->c, op, y, p->args, p->prim->arity, p->at) : y;
}

static Node *do_abs(PrimCall *p) {
  World *w = p->c->w;
  Node *x = p->args[0];
  if (x->type->kind == T_FLOAT) return el_trapped(p->c, OP_ABS, ir_op1(w, OP_ABS, x), p->args, 1, p->at);
  return ir_op2(w, OP_IMAX, x, ir_op1(w, OP_INEG, x));
}

static Node *do_sign(PrimCall *p) {
  World *w = p->c->w;
  Node *x = p->args[0];
  if (x->type->kind == T_FLOAT) return ir_op1(w, OP_SIGN, el_cut(p->c, "sign", x, p->at));
  return ir_op2(w, OP_IMAX, ir_op2(w, OP_IMIN, x, ir_int(w, 1)), ir_int(w, -1));
}

typedef struct Pick {
  Var a, b;
} Pick;

static Node *pick_arm(Ctx *c, void *user, bool second) {
  Pick *k = user;
  return el_read(c, second ? &k->b : &k->a);
}

/* b where it is strictly better. */
static Node *extreme(PrimCall *p, Op of_floats, Op of_ints, bool max) {
  Ctx *c = p->c;
  Node *a = p->args[0], *b = p->args[1];
  if (a->type->kind == T_FLOAT) return at_point(p, of_floats, ir_op2(c->w, of_floats, a, b));
  if (a->type->kind == T_INT) return ir_op2(c->w, of_ints, a, b);
  Pick k = {el_var(c, a), el_var(c, b)};
  return el_if(c, max ? el_less(c, a, b) : el_less(c, b, a), pick_arm, &k, a->type);
}

static Node *xor_shifted(World *w, Node *x) { return ir_op2(w, OP_IXOR, x, ir_op2(w, OP_ISHR, x, ir_int(w, 33))); }

static Node *times(World *w, Node *x, uint64_t factor) { return ir_op2(w, OP_IMUL, x, ir_int(w, (int64_t)factor)); }

/* Of an int as the runtime does it (runtime/hash.c). */
static Node *do_hash(PrimCall *p) {
  World *w = p->c->w;
  Node *x = p->args[0];
  if (x->type->kind != T_INT) return el_rt(p->c, "hash", p->c->e->t_int, x->type, p->args, 1, p->at);
  x = ir_op2(w, OP_IADD, x, ir_int(w, (int64_t)0x9e3779b97f4a7c15u));
  x = times(w, xor_shifted(w, x), 0xff51afd7ed558ccdu);
  return xor_shifted(w, times(w, xor_shifted(w, x), 0xc4ceb9fe1a85ec53u));
}

static Node *do_min(PrimCall *p) { return extreme(p, OP_FMIN, OP_IMIN, false); }

static Node *do_max(PrimCall *p) { return extreme(p, OP_FMAX, OP_IMAX, true); }

/* ---- Structures ------------------------------------------------------------------------------------ */

static Node *do_zeros_like(PrimCall *p) {
  unsigned target = el_leaves(p->c->e, p->args[0]->type) & LEAF_FLOAT ? LEAF_FLOAT : LEAF_INT;
  return el_leafwise(p->c, SK_ZEROS, BIN_ADD, target, p->args[0], NULL, NULL, false, p->at);
}

static Node *do_map_floats(PrimCall *p) {
  return el_leafwise(p->c, SK_MAP, BIN_ADD, LEAF_FLOAT, p->args[1], NULL, p->args[0], false, p->at);
}

static Node *do_map_floats2(PrimCall *p) {
  return el_leafwise(p->c, SK_MAP2, BIN_ADD, LEAF_FLOAT, p->args[1], p->args[2], p->args[0], false, p->at);
}

static Node *do_inner(PrimCall *p) { return el_inner(p->c, p->args[0], p->args[1], p->at); }

static Node *do_floats(PrimCall *p) { return el_floats(p->c, p->args[0], p->at); }

static Node *do_with_floats(PrimCall *p) { return el_with_floats(p->c, p->args[0], p->args[1], p->at); }

/* ---- Operations and the runtime ----------------------------------------------------------------------- */

static Node *do_op(PrimCall *p) {
  Op op = (Op)p->prim->op;
  int n = p->prim->arity;
  bool step = op == OP_FLOOR || op == OP_CEIL || op == OP_ROUND || op == OP_TRUNC;
  if (step) p->args[0] = el_cut(p->c, op_names[op], p->args[0], p->at);
  Node **x = p->args, *y = n == 1   ? ir_op1(p->c->w, op, x[0])
                           : n == 2 ? ir_op2(p->c->w, op, x[0], x[1])
                                    : ir_op3(p->c->w, op, x[0], x[1], x[2]);
  return el_trapped(p->c, op, y, x, n, p->at);
}

static Node *arbitrary(Ctx *c, IrType *t, Node *number, Span at);

typedef struct ArbitraryFunction {
  IrType *result;
  Var number;
  Span at;
} ArbitraryFunction;

/* A value chosen by the function's number, the floats of it scaled by the cosine of what the argument's add up to. */
static Node *arbitrary_result(Ctx *c, void *user, Node *x) {
  const ArbitraryFunction *f = user;
  Node *number = ir_op2(c->w, OP_IADD, el_read(c, &f->number), ir_int(c->w, 1));
  Node *y = arbitrary(c, f->result, number, f->at);
  bool depends = el_leaves(c->e, x->type) & LEAF_FLOAT && el_leaves(c->e, y->type) & LEAF_FLOAT;
  if (!depends) return y;
  Node *sum = el_sum(c, el_floats(c, x, f->at), f->at);
  return el_leafwise(c, SK_SCALE, BIN_MUL, LEAF_FLOAT, y, NULL, ir_op1(c->w, OP_COS, sum), true, f->at);
}

/* Functions are made here, all else by the runtime. */
static Node *arbitrary(Ctx *c, IrType *t, Node *number, Span at) {
  if (t->kind == T_FUN && !t->effect) {
    ArbitraryFunction f = {t->args[1], el_var(c, number), at};
    return el_closure(c, t, c->function, arbitrary_result, &f);
  }
  if (t->kind != T_TUPLE || !(el_leaves(c->e, t) & LEAF_FUN)) return el_rt(c, "arbitrary", t, t, &number, 1, at);
  Node **parts = NEW_ARRAY(c->e->arena, Node *, t->n + 1);
  for (int i = 0; i < t->n; i++)
    parts[i] = arbitrary(c, t->args[i], ir_op2(c->w, OP_IADD, number, ir_int(c->w, 4 * i)), at);
  return ir_tuple(c->w, t, parts);
}

static Node *do_arbitrary(PrimCall *p) { return arbitrary(p->c, p->result, p->args[0], p->at); }

static Node *do_rt(PrimCall *p) {
  const RtPrim *rt = p->prim->rt;
  Ctx *c = p->c;
  int n = ir_rt_operands(rt);
  Node **args = NEW_ARRAY(c->e->arena, Node *, n + 1);
  memcpy(args, p->args, sizeof *args * (size_t)n);
  bool derives = el_leaves(c->e, p->result) & LEAF_FLOAT;
  for (int k = 0; k < n && !derives; k++) args[k] = el_cut(c, p->prim->name, args[k], p->at);
  if (rt->effect) args[n++] = el_token(c);
  IrType *type_arg = rt->typed ? args[0]->type : NULL;
  Node *x = ir_rt(c->w, rt, p->result, type_arg, args, n, el_site(c, p->at));
  return rt->effect ? el_take(c, x) : x;
}

static Node *choice(World *w, Node *condition, Node *yes, Node *no) { return ir_op3(w, OP_SELECT, condition, yes, no); }

/* The order of sorting: of numbers by operations, so that no call is made. NaN is above all numbers. */
static Node *do_compare(PrimCall *p) {
  World *w = p->c->w;
  Node *a = p->args[0], *b = p->args[1], *rest = ir_int(w, 0);
  bool is_float = a->type->kind == T_FLOAT;
  if (!is_float && a->type->kind != T_INT) return el_rt(p->c, "order", p->result, a->type, p->args, 2, p->at);
  Op less = is_float ? OP_FLT : OP_ILT;
  if (is_float) {
    Node *both = choice(w, ir_op1(w, OP_IS_NAN, b), ir_int(w, 0), ir_int(w, 1));
    rest = choice(w, ir_op1(w, OP_IS_NAN, a), both, ir_int(w, -1));
    rest = choice(w, ir_op2(w, OP_FEQ, a, b), ir_int(w, 0), rest);
  }
  rest = choice(w, ir_op2(w, less, b, a), ir_int(w, 1), rest);
  return choice(w, ir_op2(w, less, a, b), ir_int(w, -1), rest);
}

/* ---- Looking them up ------------------------------------------------------------------------------------ */

#define NO_OP (-1)
static const Prim table[] = {
    {"vjp", 2, do_vjp, NO_OP, NULL},
    {"jvp", 3, do_jvp, NO_OP, NULL},
    {"stop_gradient", 1, do_stop, NO_OP, NULL},
    {"static", 1, do_static, NO_OP, NULL},
    {"checkpoint", 2, do_checkpoint, NO_OP, NULL},
    {"fail", 1, do_fail, NO_OP, NULL},
    {"attempt", 1, do_attempt, NO_OP, NULL},
    {"assert", 1, do_assert, NO_OP, NULL},
    {"length", 1, do_length, NO_OP, NULL},
    {"shape", 1, do_shape, NO_OP, NULL},
    {"unsafe_index", 2, do_unsafe_index, NO_OP, NULL},
    {"str_size", 1, do_size, OP_BYTES, NULL},
    {"str_byte", 2, do_byte, NO_OP, NULL},
    {"unsafe_byte", 2, do_unsafe_byte, NO_OP, NULL},
    {"tabulate", 2, do_tabulate, NO_OP, NULL},
    {"unfold", 3, do_unfold, NO_OP, NULL},
    {"count_between", 2, do_count_between, NO_OP, NULL},
    {"zeros", 1, do_zeros, NO_OP, NULL},
    {"ones", 1, do_ones, NO_OP, NULL},
    {"reshape", 2, do_reshape, NO_OP, NULL},
    {"flatten", 1, do_flatten, NO_OP, NULL},
    {"sum", 1, do_sum, NO_OP, NULL},
    {"dot", 2, do_dot, NO_OP, NULL},
    {"par", 2, do_par, NO_OP, NULL},
    {"pmap", 2, do_pmap, NO_OP, NULL},
    {"float", 1, do_float, OP_FLOAT_OF_INT, NULL},
    {"int", 1, do_int, OP_INT_OF_FLOAT, NULL},
    {"abs", 1, do_abs, OP_ABS, NULL},
    {"sign", 1, do_sign, OP_SIGN, NULL},
    {"min", 2, do_min, OP_FMIN, NULL},
    {"max", 2, do_max, OP_FMAX, NULL},
    {"hash", 1, do_hash, NO_OP, NULL},
    {"fmin", 2, do_op, OP_FMIN, NULL},
    {"fmax", 2, do_op, OP_FMAX, NULL},
    {"pow", 2, do_op, OP_FPOW, NULL},
    {"powi", 2, do_op, OP_FPOWI, NULL},
    {"bit_and", 2, do_op, OP_IAND, NULL},
    {"bit_or", 2, do_op, OP_IOR, NULL},
    {"bit_xor", 2, do_op, OP_IXOR, NULL},
    {"shift_left", 2, do_op, OP_ISHL, NULL},
    {"shift_right", 2, do_op, OP_ISHR, NULL},
    {"compare", 2, do_compare, NO_OP, NULL},
    {"zeros_like", 1, do_zeros_like, NO_OP, NULL},
    {"map_floats", 2, do_map_floats, NO_OP, NULL},
    {"map_floats2", 3, do_map_floats2, NO_OP, NULL},
    {"inner", 2, do_inner, NO_OP, NULL},
    {"floats", 1, do_floats, NO_OP, NULL},
    {"with_floats", 2, do_with_floats, NO_OP, NULL},
    {"arbitrary", 1, do_arbitrary, NO_OP, NULL},
};
enum { NTABLE = sizeof table / sizeof *table };

/* Does the binding have the type that the runtime's table says? Classes of variables aside. */
static bool binds_as(Elab *e, const Binding *b, const RtPrim *rt) {
  Str type = {.arena = e->arena};
  type_print(e->checker, NULL, b->type, &type);
  return !strcmp(type.data, rt->type);
}

const Prim *prim_find(Elab *e, const Binding *b) {
  Sym name = *b->name == '_' ? b->name + 1 : b->name;
  for (int i = 0; i < NTABLE; i++)
    if (!strcmp(table[i].name, name)) return &table[i];
  int op = ir_op_find(name);
  const RtPrim *rt = op < 0 ? ir_rt_find(name) : NULL;
  if (op < 0 && (!rt || !binds_as(e, b, rt))) return NULL;
  Prim *p = NEW(e->arena, Prim);
  *p = (Prim){name, op < 0 ? ir_rt_operands(rt) : op_operands((Op)op), op < 0 ? do_rt : do_op, op, rt};
  return p;
}

const char *prim_lacking(Elab *e, const Binding *b) {
  Sym name = *b->name == '_' ? b->name + 1 : b->name;
  const RtPrim *rt = ir_rt_find(name);
  if (!rt) return arena_printf(e->arena, "there is no primitive `%s`: src/prims/rt.def has no such row", name);
  return arena_printf(e->arena, "the primitive `%s` has another type: the row of src/prims/rt.def says %s", name,
                      rt->type);
}

Node *prim_call(Ctx *c, const Prim *p, Node **args, IrType *type, Span at) {
  PrimCall k = {c, p, args, el_result_type(type, p->arity), at};
  return p->fn(&k);
}

/* The n-th name (from 0) under which the prelude may have the operation, NULL after the last. */
const char *prim_op_name(Op op, int n) {
  if (n == 0) return op_names[op];
  for (int i = 0; i < NTABLE; i++)
    if (table[i].op == (int)op && --n == 0) return table[i].name;
  return NULL;
}
