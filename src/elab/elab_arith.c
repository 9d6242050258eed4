/* SPDX-License-Identifier: MIT */
/* Operators: which operation one means at the types it is used at.
 *
 * On two ints or two floats an operator is one operation. `+ - * /` on structures go leaf by leaf (elab_struct.c): in a
 * structure that holds floats only the floats are computed with, else the ints. Comparison of structures is the
 * runtime's; its COMPARE gives 2 where a NaN makes two values unordered, which no comparison accepts. */
#include "elab/elab_internal.h"
#include <math.h>

Node *el_rt(Ctx *c, const char *name, IrType *result, IrType *type_arg, Node **args, int n, Span at) {
  return ir_rt(c->w, ir_rt_find(name), result, type_arg, args, n, el_site(c, at));
}

/* ---- + - * / ------------------------------------------------------------------------- */

static bool is_number(const IrType *t) { return t->kind == T_INT || t->kind == T_FLOAT; }

/* A constant of the library, as `nan`, is meant; so is x - x there, which asks whether x is finite. */
Node *el_trapped(Ctx *c, Op op, Node *y, Node **xs, int n, Span at) {
  if (!c->w->traps) return y;
  Site site = el_site(c, at);
  bool meant = y->op == OP_FLOAT || (op == OP_FSUB && xs[0] == xs[1]);
  const char *text = c->e->rule ? arena_printf(c->w->temp, "%c%s", c->e->rule, op_names[op]) : op_names[op];
  return meant && ir_site_info(c->w, site)->library ? y : ir_trapped(c->w, op, text, y, xs, n, site);
}

Node *el_cut(Ctx *c, const char *what, Node *x, Span at) {
  if (c->w->traps != TRAP_CUTS || !(el_leaves(c->e, x->type) & LEAF_FLOAT)) return x;
  return ir_mark(c->w, what, x, el_site(c, at));
}

/* An operation on two floats, or on a float and an int. */
static Node *float_op(Ctx *c, Op op, Node *a, Node *b, Span at) {
  return el_trapped(c, op, ir_op2(c->w, op, a, b), (Node *[]){a, b}, 2, at);
}

Node *el_scalar_op(Ctx *c, BinOp op, Node *a, Node *b, Span at) {
  bool f = a->type->kind == T_FLOAT;
  if (f)
    return float_op(c, op == BIN_ADD ? OP_FADD : op == BIN_SUB ? OP_FSUB : op == BIN_MUL ? OP_FMUL : OP_FDIV, a, b, at);
  switch (op) {
  case BIN_ADD: return ir_op2(c->w, OP_IADD, a, b);
  case BIN_SUB: return ir_op2(c->w, OP_ISUB, a, b);
  case BIN_MUL: return ir_op2(c->w, OP_IMUL, a, b);
  default: break;
  }
  return ir_op2(c->w, OP_IDIV, a, ir_check(c->w, OP_CHECK_NONZERO, b, NULL, NULL, el_site(c, at)));
}

static unsigned computed_leaves(Ctx *c, IrType *t) { return el_leaves(c->e, t) & LEAF_FLOAT ? LEAF_FLOAT : LEAF_INT; }

static Node *scale(Ctx *c, BinOp op, Node *structure, Node *scalar, bool flipped, Span at) {
  unsigned target = computed_leaves(c, structure->type);
  if (target == LEAF_FLOAT && scalar->type->kind == T_INT) scalar = ir_op1(c->w, OP_FLOAT_OF_INT, scalar);
  return el_leafwise(c, SK_SCALE, op, target, structure, NULL, scalar, flipped, at);
}

static Node *arithmetic(Ctx *c, BinOp op, Node *a, Node *b, Span at) {
  if (a->type == b->type && is_number(a->type)) return el_scalar_op(c, op, a, b, at);
  if (is_number(a->type) && !is_number(b->type)) return scale(c, op, b, a, true, at);
  if (is_number(b->type) && !is_number(a->type)) return scale(c, op, a, b, false, at);
  if (a->type != b->type) return el_error(c, at, a->type, "unsupported", "these can't be computed with together");
  return el_leafwise(c, SK_BINARY, op, computed_leaves(c, a->type), a, b, NULL, false, at);
}

Node *el_negate(Ctx *c, Node *a, Span at) {
  return el_leafwise(c, SK_NEGATE, BIN_SUB, computed_leaves(c, a->type), a, NULL, NULL, false, at);
}

static Node *remainder_of(Ctx *c, Node *a, Node *b, Span at) {
  return ir_op2(c->w, OP_IREM, a, ir_check(c->w, OP_CHECK_NONZERO, b, NULL, NULL, el_site(c, at)));
}

static Node *power(Ctx *c, Node *a, Node *n, Span at) {
  if (a->type->kind == T_FLOAT) return float_op(c, OP_FPOWI, a, n, at);
  return ir_op2(c->w, OP_IPOW, a, ir_check_nat(c->w, n, sym_of(c->e->syms, "exponent"), el_site(c, at)));
}

/* ---- Sums and matrix products ------------------------------------------------------------ */

/* With strict floating point a sum goes from left to right; else its loop has an accumulator, whose order is free. With
 * traps each addition is one operation, too, but for sums of floats (counts_nans). */
bool el_sums_in_order(const Ctx *c) { return c->w->strict || (c->w->traps && c->w->traps != TRAP_PLACES); }

Node *el_add_term(Ctx *c, Node *sum, Node *x, Span at) {
  return el_sums_in_order(c) ? float_op(c, OP_FADD, sum, x, at) : ir_op2(c->w, OP_CADD, sum, x);
}

Node *el_add_product(Ctx *c, Node *sum, Node *x, Node *y, Span at) {
  return el_add_term(c, sum, float_op(c, OP_FMUL, x, y, at), at);
}

/* With traps for NaN a sum of floats keeps its free order. Beside it the terms that are NaN are counted:
 *
 *   s, k = loop { s + x, k + (is_nan x ? 1 : 0) };  trap_nan "+" s (0 < k ? nan : inf) -inf
 *
 * A sum of numbers is NaN only where inf and -inf meet, so these are the operands. */
static bool counts_nans(const Ctx *c) { return c->w->traps == TRAP_NANS && !c->w->strict; }

/* state: the sum, and the count if there is one. */
static void add_to_sum(Ctx *c, Node **state, Node *x, Span at) {
  World *w = c->w;
  if (!counts_nans(c)) {
    state[0] = el_add_term(c, state[0], x, at);
    return;
  }
  Node *one = ir_op3(w, OP_SELECT, ir_op1(w, OP_IS_NAN, x), ir_float(w, 1), ir_float(w, 0));
  state[0] = ir_op2(w, OP_CADD, state[0], x);
  state[1] = ir_op2(w, OP_CADD, state[1], one);
}

typedef struct Terms {
  Var a, b;
  Span at;
} Terms;
typedef Node *(*TermFn)(Ctx *c, void *user, Node *i, Node **state);

static Node *sum_loop(Ctx *c, Node *n, TermFn body, void *user, Span at) {
  World *w = c->w;
  bool counts = counts_nans(c);
  Node *state[] = {ir_float(w, 0), ir_float(w, 0)};
  int naccs = counts ? 2 : !el_sums_in_order(c);
  LoopSpec s = {.n = n, .state = state, .nstate = 1 + counts, .naccs = naccs, .body = body, .user = user, .at = at};
  el_loop(c, &s);
  if (!counts) return state[0];
  Node *some = ir_op2(w, OP_FLT, ir_float(w, 0), state[1]);
  Node *ends[] = {ir_op3(w, OP_SELECT, some, ir_float(w, NAN), ir_float(w, INFINITY)), ir_float(w, -INFINITY)};
  return el_trapped(c, OP_FADD, state[0], ends, 2, at);
}

static Node *dot_term(Ctx *c, void *user, Node *i, Node **state) {
  Terms *t = user;
  Node *x = ir_index(c->w, el_read(c, &t->a), &i, 1), *y = ir_index(c->w, el_read(c, &t->b), &i, 1);
  add_to_sum(c, state, float_op(c, OP_FMUL, x, y, t->at), t->at);
  return NULL;
}

Node *el_dot(Ctx *c, Node *a, Node *b, Span at) {
  Terms t = {el_var(c, a), el_var(c, b), at};
  Node *n = ir_check(c->w, OP_CHECK_SIZE, ir_len(c->w, a, 0), ir_len(c->w, b, 0), NULL, el_site(c, at));
  return sum_loop(c, n, dot_term, &t, at);
}

static Node *sum_term(Ctx *c, void *user, Node *i, Node **state) {
  Terms *t = user;
  Node *x = ir_index(c->w, el_read(c, &t->a), &i, 1);
  if (x->type->kind == T_FLOAT) add_to_sum(c, state, x, t->at);
  else state[0] = ir_op2(c->w, OP_IADD, state[0], x);
  return NULL;
}

static Node *sum_parts(Ctx *c, void *user, Node *i, Node **state) {
  Terms *t = user;
  state[0] = arithmetic(c, BIN_ADD, state[0], ir_index(c->w, el_read(c, &t->a), &i, 1), t->at);
  return NULL;
}

/* The zero of tuples and records of numbers of one kind; NULL for all else. */
static Node *zero_of(Ctx *c, IrType *t, IrKind *kind) {
  if (is_number(t)) {
    if (*kind != T_UNIT && *kind != t->kind) return NULL;
    *kind = t->kind;
    return ir_zero(c->w, t);
  }
  if (t->kind != T_TUPLE) return NULL;
  Node **parts = NEW_ARRAY(c->e->arena, Node *, t->n);
  for (int i = 0; i < t->n; i++)
    if (!(parts[i] = zero_of(c, t->args[i], kind))) return NULL;
  return ir_tuple(c->w, t, parts);
}

/* Element i + 1, added to what there is. */
static Node *sum_structure(Ctx *c, void *user, Node *i, Node **state) {
  Terms *t = user;
  Node *k = ir_op2(c->w, OP_IADD, i, ir_int(c->w, 1));
  state[0] = arithmetic(c, BIN_ADD, state[0], ir_index(c->w, el_read(c, &t->a), &k, 1), t->at);
  return NULL;
}

static bool holds_numbers_only(const IrType *t) {
  if (t->kind != T_TUPLE) return is_number(t);
  for (int i = 0; i < t->n; i++)
    if (!holds_numbers_only(t->args[i])) return false;
  return true;
}

typedef struct Zeros {
  Var array;
  IrType *element;
  int dim;
  Span at;
} Zeros;

/* Zeros of the size that the rows of an array have from dimension `dim` on. */
static Node *zero_rows(Ctx *c, void *user, Node *i, Node **state) {
  (void)i;
  (void)state;
  const Zeros *z = user;
  if (z->element->kind != T_ARRAY) return ir_zero(c->w, z->element);
  Zeros row = {z->array, z->element->args[0], z->dim + 1, z->at};
  return el_build(c, ir_len(c->w, el_read(c, &z->array), z->dim), row.element, false, true, z->at, zero_rows, &row);
}

static Node *sum_of_none(Ctx *c, const Terms *t) {
  IrType *element = t->a.node->type->args[0];
  Zeros z = {t->a, element, 1, t->at};
  if (holds_numbers_only(ir_base(element))) return zero_rows(c, &z, NULL, NULL);
  Sym why = sym_of(c->e->syms, "sum of an empty array: the shape of its zero isn't known without an element");
  return ir_fail(c->w, FAIL_USER, element, ir_string(c->w, why), el_site(c, t->at));
}

static Node *sum_from_first(Ctx *c, void *user, bool empty) {
  Terms *t = user;
  if (empty) return sum_of_none(c, t);
  Node *a = el_read(c, &t->a), *zero = ir_int(c->w, 0), *sum = ir_index(c->w, a, &zero, 1);
  Node *others = ir_op2(c->w, OP_IMAX, ir_op2(c->w, OP_ISUB, ir_len(c->w, a, 0), ir_int(c->w, 1)), zero);
  LoopSpec s = {.n = others, .state = &sum, .nstate = 1, .body = sum_structure, .user = t, .at = t->at};
  el_loop(c, &s);
  return sum;
}

/* The sum of an array of anything that adds. Where it is empty: zero, if the type and the length of rows tell what that
 * is, else an error. Numbers of one kind are added to zero; all else is added to the first element, whose other leaves
 * the sum has. */
Node *el_sum(Ctx *c, Node *a, Span at) {
  Terms t = {el_var(c, a), {0}, at};
  Node *n = ir_len(c->w, a, 0);
  IrType *element = a->type->args[0];
  if (element->kind == T_FLOAT) return sum_loop(c, n, sum_term, &t, at);
  Node *sum = zero_of(c, element, &(IrKind){T_UNIT});
  if (!sum) return el_if(c, ir_op2(c->w, OP_IEQ, n, ir_int(c->w, 0)), sum_from_first, &t, element);
  LoopSpec s = {
      .n = n, .state = &sum, .nstate = 1, .body = element->kind == T_INT ? sum_term : sum_parts, .user = &t, .at = at};
  el_loop(c, &s);
  return sum;
}

typedef struct Product {
  Var a, b, j;
  Span at;
} Product;

static Node *row_times_vector(Ctx *c, void *user, Node *i, Node **state) {
  (void)state;
  Product *p = user;
  return el_dot(c, ir_index(c->w, el_read(c, &p->a), &i, 1), el_read(c, &p->b), p->at);
}

static Node *column_term(Ctx *c, void *user, Node *i, Node **state) {
  Product *p = user;
  Node *at[2] = {i, el_read(c, &p->j)};
  Node *x = ir_index(c->w, el_read(c, &p->a), &i, 1), *y = ir_index(c->w, el_read(c, &p->b), at, 2);
  add_to_sum(c, state, float_op(c, OP_FMUL, x, y, p->at), p->at);
  return NULL;
}

static Node *vector_times_column(Ctx *c, void *user, Node *j, Node **state) {
  (void)state;
  Product p = *(Product *)user;
  p.j = el_var(c, j);
  return sum_loop(c, ir_len(c->w, el_read(c, &p.a), 0), column_term, &p, p.at);
}

/* vector @ matrix. The lengths are compared once, before the loop. */
static Node *vector_times_matrix(Ctx *c, Node *a, Node *b, Span at) {
  Node *n = ir_check(c->w, OP_CHECK_SIZE, ir_len(c->w, a, 0), ir_len(c->w, b, 0), NULL, el_site(c, at));
  Product p = {el_var(c, el_after(c, a, n)), el_var(c, b), {0}, at};
  return el_build(c, ir_len(c->w, b, 1), c->e->t_float, false, true, at, vector_times_column, &p);
}

static Node *row_times_matrix(Ctx *c, void *user, Node *i, Node **state) {
  (void)state;
  Product *p = user;
  return vector_times_matrix(c, ir_index(c->w, el_read(c, &p->a), &i, 1), el_read(c, &p->b), p->at);
}

/* The prelude's function of that name, which has a derivative rule; NULL where there is none. Its quantified variables
 * are effects: of none. */
static Func *prelude_product(Elab *e, const char *name, Span at) {
  Binding *f = e->checker && e->prelude ? checker_lookup(e->checker, e->prelude, sym_of(e->syms, name)) : NULL;
  if (!f || !el_is_function(f)) return NULL;
  IrType **inst = NEW_ARRAY(e->arena, IrType *, f->nqvars + 1);
  for (int i = 0; i < f->nqvars; i++) inst[i] = e->t_unit;
  return el_instance(e, f, inst, at)->func;
}

/* Without the prelude, and where each addition is trapped, the product is spelled out. */
static Node *matrix_times_matrix(Ctx *c, Node *a, Node *b, Span at) {
  Elab *e = c->e;
  bool plain = !c->w->traps || c->w->traps == TRAP_PLACES;
  const char *name = plain ? "matmul" : counts_nans(c) ? "_trapped_matmul" : NULL;
  Func *f = name ? prelude_product(e, name, at) : NULL;
  Node *args[2] = {a, b};
  if (f) return ir_call(c->w, f, args, el_site(c, at));
  Product p = {el_var(c, a), el_var(c, b), {0}, at};
  return el_build(c, ir_len(c->w, a, 0), ir_array_type(c->w, e->t_float), false, true, at, row_times_matrix, &p);
}

static Node *matrix_product(Ctx *c, Node *a, Node *b, Span at) {
  int ra = ir_rank(a->type), rb = ir_rank(b->type);
  if (ra == 1 && rb == 1) return el_dot(c, a, b, at);
  if (ra == 1) return vector_times_matrix(c, a, b, at);
  if (rb > 1) return matrix_times_matrix(c, a, b, at);
  Product p = {el_var(c, a), el_var(c, b), {0}, at};
  return el_build(c, ir_len(c->w, a, 0), c->e->t_float, false, true, at, row_times_vector, &p);
}

/* ---- ++ ------------------------------------------------------------------------------------------ */

typedef struct Cell {
  Func *func;
  Var a, b;
} Cell;

static Node *append_nil(Ctx *c, Cell *k) { return el_read(c, &k->b); }

static Node *append_cell(Ctx *c, Cell *k, int tag) {
  Node *a = el_read(c, &k->a), *cell = ir_uninj(c->w, a, tag);
  Node *args[2] = {ir_get(c->w, cell, 1), el_read(c, &k->b)};
  Node *parts[2] = {ir_get(c->w, cell, 0), ir_call(c->w, k->func, args, 0)};
  return ir_inj(c->w, a->type, tag, ir_tuple(c->w, cell->type, parts));
}

static void define_append(Ctx *outer, Func *f, IrType *list, int tag) {
  Ctx c;
  el_init_ctx(&c, outer->e, outer, (Span){0}, f->name, NULL);
  Cell k = {.func = f};
  Node *a = region_param(c.region, list), *b = region_param(c.region, list);
  k.a = el_var(&c, a);
  k.b = el_var(&c, b);
  Join j;
  join_open(&c, &j, 2);
  for (int arm = 0; arm < 2; arm++) {
    join_arm(&c, &j, arm);
    join_end(&c, &j, arm == tag ? append_cell(&c, &k, tag) : append_nil(&c, &k));
  }
  ir_func_finish(c.w, f, join_close(&c, &j, ir_tag(c.w, a), list, NULL, 0));
}

/* One recursive function for each type of list. */
static Node *el_list_append(Ctx *c, Node *a, Node *b, Span at) {
  Elab *e = c->e;
  Sym name = sym_of(e->syms, "++");
  Func *f = NULL;
  for (int i = 0; i < e->struct_funcs.len; i++)
    if (e->struct_funcs.data[i].type == a->type && e->struct_funcs.data[i].key == name)
      f = e->struct_funcs.data[i].func;
  if (!f) {
    f = ir_func(c->w, name, (IrType *[]){a->type, a->type}, 2, a->type);
    f->recursive = true;
    f->span = at;
    StructFunc s = {.type = a->type, .key = name, .func = f};
    vec_push(e->arena, e->struct_funcs, s);
    define_append(c, f, a->type, el_cons_tag(a->type));
  }
  Node *args[2] = {a, b};
  return ir_call(c->w, f, args, el_site(c, at));
}

static Node *concatenate(Ctx *c, Node *a, Node *b, Span at) {
  Node *args[2] = {a, b};
  switch (a->type->kind) {
  case T_STRING: return el_rt(c, "concat_string", a->type, NULL, args, 2, at);
  case T_ARRAY: return el_array_append(c, a, b, at);
  default: return el_list_append(c, a, b, at);
  }
}

static Node *cons(Ctx *c, Node *a, Node *b) {
  int tag = el_cons_tag(b->type);
  Node *parts[2] = {a, b};
  return ir_inj(c->w, b->type, tag, ir_tuple(c->w, b->type->ctors[tag].payload, parts));
}

/* ---- Comparison --------------------------------------------------------------------------------------- */

static Node *compare(Ctx *c, Node *a, Node *b) {
  Node *args[2] = {a, b};
  return el_rt(c, "compare", c->e->t_int, a->type, args, 2, (Span){0});
}

Node *el_equal(Ctx *c, Node *a, Node *b) {
  Node *args[2] = {a, b};
  switch (a->type->kind) {
  case T_INT: return ir_op2(c->w, OP_IEQ, a, b);
  case T_FLOAT: return ir_op2(c->w, OP_FEQ, a, b);
  case T_BOOL: return ir_op2(c->w, OP_BEQ, a, b);
  case T_UNIT: return ir_bool(c->w, true);
  default: return el_rt(c, "equal", c->e->t_bool, a->type, args, 2, (Span){0});
  }
}

/* a < b */
Node *el_less(Ctx *c, Node *a, Node *b) {
  switch (a->type->kind) {
  case T_INT: return ir_op2(c->w, OP_ILT, a, b);
  case T_FLOAT: return ir_op2(c->w, OP_FLT, a, b);
  default: return ir_op2(c->w, OP_IEQ, compare(c, a, b), ir_int(c->w, -1));
  }
}

static Node *less_or_equal(Ctx *c, Node *a, Node *b) {
  switch (a->type->kind) {
  case T_INT: return ir_op2(c->w, OP_ILE, a, b);
  case T_FLOAT: return ir_op2(c->w, OP_FLE, a, b);
  default: return ir_op2(c->w, OP_ILE, compare(c, a, b), ir_int(c->w, 0));
  }
}

static Node *close_to(Ctx *c, Node *a, Node *b, Span at) {
  Node *args[2] = {a, b};
  return el_rt(c, "close", c->e->t_bool, a->type, args, 2, at);
}

/* ---- All of them ----------------------------------------------------------------------------------------- */

typedef struct Composed {
  Var f, g;
  Span at;
} Composed;

static Node *composed(Ctx *c, void *user, Node *x) {
  Composed *k = user;
  return el_apply_value(c, el_read(c, &k->g), el_apply_value(c, el_read(c, &k->f), x, k->at), k->at);
}

static Node *el_compose(Ctx *c, Node *f, Node *g, IrType *type, Span at) {
  Composed k = {el_var(c, f), el_var(c, g), at};
  return el_closure(c, type, NULL, composed, &k);
}

/* y, what a comparison of the floats a and b yields, recorded where a study asks for that (TRAP_POINT). */
static Node *recorded(Ctx *c, BinOp op, Node *y, Node *a, Node *b, Span at) {
  if (c->w->traps != TRAP_POINT || a->type->kind != T_FLOAT || y->type->kind != T_BOOL) return y;
  Site site = el_site(c, at);
  if (ir_site_info(c->w, site)->library) return y;
  bool decides = at.source == c->e->condition.source && at.start == c->e->condition.start;
  const char *what = arena_printf(c->w->temp, "?%s%s", decides ? "if " : "", binop_text(op));
  return ir_recorded(c->w, what, y, a, b, site);
}

static Node *binary(Ctx *c, BinOp op, Node *a, Node *b, IrType *result, Span at) {
  if (result->kind == T_BOOL) a = el_cut(c, binop_text(op), a, at), b = el_cut(c, binop_text(op), b, at);
  switch (op) {
  case BIN_ADD:
  case BIN_SUB:
  case BIN_MUL:
  case BIN_DIV: return arithmetic(c, op, a, b, at);
  case BIN_REM: return remainder_of(c, a, b, at);
  case BIN_POW_INT: return power(c, a, b, at);
  case BIN_POW: return float_op(c, OP_FPOW, a, b, at);
  case BIN_MATMUL: return matrix_product(c, a, b, at);
  case BIN_CONCAT: return concatenate(c, a, b, at);
  case BIN_CONS: return cons(c, a, b);
  case BIN_EQ: return el_equal(c, a, b);
  case BIN_NE: return ir_op1(c->w, OP_NOT, el_equal(c, a, b));
  case BIN_LT: return el_less(c, a, b);
  case BIN_LE: return less_or_equal(c, a, b);
  case BIN_GT: return el_less(c, b, a);
  case BIN_GE: return less_or_equal(c, b, a);
  case BIN_CLOSE: return close_to(c, a, b, at);
  case BIN_PIPE: return el_apply_value(c, b, a, at);
  case BIN_PIPE_LEFT: return el_apply_value(c, a, b, at);
  case BIN_COMPOSE: return el_compose(c, a, b, result, at);
  }
  return a;
}

Node *el_binary(Ctx *c, BinOp op, Node *a, Node *b, IrType *result, Span at) {
  return recorded(c, op, binary(c, op, a, b, result, at), a, b, at);
}
