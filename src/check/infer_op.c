/* SPDX-License-Identifier: MIT */
/* Operators.
 *
 * Chains of operators may be long: left-leaning ones are taken apart into a
 * spine and typed from the innermost operand outwards; right-leaning ones
 * (`::`, `++`) are walked along their right sides. */
#include "check/check_internal.h"

static const char *number_hint(Type *t) {
  return type_repr(t)->kind == TY_STRING ? "strings are joined with `++`" : NULL;
}

/* A function as an operand: f -1, which is a difference, or a call that lacks an argument. */
static bool report_function(Checker *c, BinOp op, Type *t, const Expr *e, const Expr *right) {
  if (!e || type_repr(t)->kind != TY_FUN) return false;
  Diag *d = diag_error(c->diags, e->span, tc_diag_code(D_CLASS), "a function can't be an operand of `%s`: this is %s",
                       binop_text(op), type_text(c, t));
  bool literal = right && (right->kind == E_INT || right->kind == E_FLOAT || right->kind == E_VAR);
  d->hint = op == BIN_SUB && e->kind == E_VAR && literal ? "a negative argument stands in parentheses: f (-1)"
                                                         : "is an argument missing?";
  return true;
}

/* v + 1.0, 2 / v: a number and an array. */
static const char *broadcast_hint(Checker *c, BinOp op, Type *l, Type *r, const Expr *le, const Expr *re) {
  l = type_repr(l);
  r = type_repr(r);
  bool left = r->kind == TY_ARRAY;
  const Type *array = left ? r : l;
  if (!le || !re || !tc_is_scalar(left ? l : r) || array->kind != TY_ARRAY) return NULL;
  const char *number = tc_short_text(c, left ? le->span : re->span, "c");
  const char *a = tc_short_text(c, left ? re->span : le->span, "a"), *sign = binop_text(op);
  const char *each = left ? tc_format(c, "%s %s x", number, sign) : tc_format(c, "x %s %s", sign, number);
  if (type_repr(array->args[0])->kind == TY_ARRAY)
    return tc_format(c, "there is no broadcasting: map_floats (fun x -> %s) %s", each, a);
  return tc_format(c, "there is no broadcasting: [ %s | x in %s ], or map (fun x -> %s) %s", each, a, each, a);
}

/* Both operands of one type, of the classes. */
static Type *same_operands(Checker *c, BinOp op, Type *l, Type *r, unsigned classes, const Expr *le, const Expr *re,
                           Span at) {
  if (classes & CLASS_NUM && (report_function(c, op, l, le, re) || report_function(c, op, r, re, NULL)))
    return c->t_error;
  if (type_repr(l)->kind == TY_STRING && classes & CLASS_NUM && type_repr(r)->kind == TY_STRING) {
    diag_error(c->diags, at, tc_diag_code(D_CLASS), "strings aren't numbers")->hint = number_hint(l);
    return l;
  }
  bool call = le && le->kind == E_APPLY && type_repr(l)->kind == TY_UNIT;
  bool text = op == BIN_ADD && type_repr(l)->kind == TY_STRING;
  Place p = {.at = re ? re->span : at,
             .also = le ? le->span : (Span){0},
             .also_label = "the other operand",
             .hint = call   ? "a call takes only what stands directly behind it: print (a + b)"
                     : text ? "strings are joined with `++`, and `show x` makes a string of anything"
                            : broadcast_hint(c, op, l, r, le, re)};
  if (tc_expect_type(c, l, r, p)) tc_expect_class(c, l, classes, le ? le->span : at);
  return l;
}

/* int * float: both are known, so the int is at fault. */
static bool report_mixed(Checker *c, Type *l, Type *r, const Expr *le, const Expr *re) {
  TypeKind a = type_repr(l)->kind, b = type_repr(r)->kind;
  if (!le || !re || !((a == TY_INT && b == TY_FLOAT) || (a == TY_FLOAT && b == TY_INT))) return false;
  const Expr *wrong = a == TY_INT ? le : re, *right = a == TY_INT ? re : le;
  return !tc_expect_type(c, c->t_float, c->t_int,
                         (Place){.at = wrong->span, .also = right->span, .also_label = "the other operand"});
}

static Type *scaling(Checker *c, BinOp op, Type *l, Type *r, const Expr *le, const Expr *re, Span at) {
  if (report_function(c, op, l, le, re) || report_function(c, op, r, re, NULL) || report_mixed(c, l, r, le, re))
    return c->t_error;
  if (!tc_expect_class(c, l, CLASS_NUM, le ? le->span : at) || !tc_expect_class(c, r, CLASS_NUM, re ? re->span : at))
    return c->t_error;
  const char *hint = op == BIN_DIV && tc_is_scalar(l) ? broadcast_hint(c, op, l, r, le, re) : NULL;
  if (hint) {
    tc_expect_type(c, l, r, (Place){.at = re->span, .also = le->span, .also_label = "the other operand", .hint = hint});
    return c->t_error;
  }
  if (op == BIN_DIV) {
    tc_relation_new(c, C_DIVISOR, at, l, r, NULL)->divides = true;
    tc_solve(c);
    return l;
  }
  Type *result = type_var(c, CLASS_NUM);
  tc_relation_new(c, C_MUL, at, result, l, r);
  tc_solve(c);
  return result;
}

/* `hint` is for a float operand, instead of how to convert it. */
static void operand(Checker *c, Type *want, Type *got, const Expr *e, Span at, const char *hint) {
  const Type *t = type_repr(got);
  bool is_float = t->kind == TY_FLOAT;
  if (want == c->t_int && t->kind == TY_VAR && t->classes & CLASS_DIFF && !(t->classes & CLASS_RECORD)) {
    got = c->t_float; /* it can't be an int, and will mostly be this */
    is_float = true;
  }
  tc_expect_type(c, want, got, (Place){.at = e ? e->span : at, .hint = is_float ? hint : NULL});
}

static bool report_int_matrix(Checker *c, Type *t, Span at) {
  for (t = type_repr(t); t->kind == TY_ARRAY;) t = type_repr(t->args[0]);
  if (t->kind != TY_INT) return false;
  diag_error(c->diags, at, tc_diag_code(D_TYPE_MISMATCH), "`@` multiplies floats, and this holds ints")->hint =
      "[1.0, 2.0] holds floats; `map float v` makes floats of the ints of an array, `map (map float) m` of a matrix";
  return true;
}

static Type *matmul(Checker *c, Type *l, Type *r, const Expr *le, const Expr *re, Span at) {
  if (report_int_matrix(c, l, le ? le->span : at) || report_int_matrix(c, r, re ? re->span : at)) return c->t_error;
  Type *result = type_var(c, 0);
  tc_relation_new(c, C_MATMUL, at, result, l, r);
  tc_solve(c);
  return result;
}

/* The result of an operator on operands of types l and r; le, re are the operands for messages, or NULL. */
Type *tc_arithmetic(Checker *c, BinOp op, Type *l, Type *r, const Expr *le, const Expr *re, Span at) {
  switch (op) {
  case BIN_ADD:
  case BIN_SUB: return same_operands(c, op, l, r, CLASS_NUM, le, re, at);
  case BIN_MUL:
  case BIN_DIV: return scaling(c, op, l, r, le, re, at);
  case BIN_REM:
    operand(c, c->t_int, l, le, at, "`%` is for ints: the remainder of floats is x - y * floor (x / y)");
    operand(c, c->t_int, r, re, at, "`%` is for ints: the remainder of floats is x - y * floor (x / y)");
    return c->t_int;
  case BIN_POW_INT:
    tc_expect_class(c, l, CLASS_SCALAR, le ? le->span : at);
    operand(c, c->t_int, r, re, at, "the exponent of `^` is an int: powers of floats are x ** y");
    return l;
  case BIN_POW:
    operand(c, c->t_float, l, le, at, NULL);
    operand(c, c->t_float, r, re, at, NULL);
    return c->t_float;
  case BIN_MATMUL: return matmul(c, l, r, le, re, at);
  case BIN_EQ:
  case BIN_NE:
  case BIN_CLOSE: same_operands(c, op, l, r, CLASS_EQ, le, re, at); return c->t_bool;
  case BIN_LT:
  case BIN_LE:
  case BIN_GT:
  case BIN_GE: same_operands(c, op, l, r, CLASS_ORD, le, re, at); return c->t_bool;
  default: return c->t_error;
  }
}

/* The result of applying a function of type f, which `fun_expr` is unless it is NULL, to one argument; its effect is
 * used here. */
static Type *apply_to(Checker *c, Type *f, Type *arg, const Expr *fun_expr, Span fspan, Span argspan) {
  tc_solve(c);
  f = type_repr(f);
  if (f->kind == TY_ERROR) return f;
  if (f->kind != TY_FUN) {
    Type *fun = type_fun(c, type_var(c, 0), type_var(c, 0), type_effect_var(c));
    if (f->kind != TY_VAR || tc_is_scalar(f)) {
      diag_error(c->diags, fspan, tc_diag_code(D_NOT_A_FUNCTION), "this is not a function: it is %s",
                 f->kind == TY_VAR ? "a number" : type_text(c, f))
          ->hint = "`x |> f` is `f x`: on the far side of the operator stands a function";
      return c->t_error;
    }
    tc_expect_type(c, fun, f, (Place){.at = fspan});
    f = fun;
  }
  const char *hint = fun_expr ? tc_list_hint(c, fun_expr, f->args[0], arg) : NULL;
  tc_expect_type(c, f->args[0], arg,
                 (Place){.at = argspan, .also = fspan, .also_label = "the function it is given to", .hint = hint});
  tc_use_effect(c, f->args[2], fspan);
  tc_solve(c);
  return f->args[1];
}

/* f >> g: its effect is that of both. */
static Type *compose(Checker *c, Type *f, Type *g, Span fspan, Span gspan) {
  Body body = tc_begin_body(c);
  Type *arg = type_var(c, 0);
  Type *middle = apply_to(c, f, arg, NULL, fspan, fspan);
  Type *result = apply_to(c, g, middle, NULL, gspan, fspan);
  return type_fun(c, arg, result, tc_end_body(c, body));
}

/* ---- Binary expressions ------------------------------------------------------------ */
static bool leans_right(const Expr *e) { return e->kind == E_BINARY && (e->op == BIN_CONS || e->op == BIN_CONCAT); }

static Type *combine(Checker *c, Expr *e, Type *l, Type *r) {
  const Expr *le = e->args[0], *re = e->args[1];
  if (e->kind != E_BINARY) {
    operand(c, c->t_bool, l, le, e->span, NULL);
    operand(c, c->t_bool, r, re, e->span, NULL);
    return c->t_bool;
  }
  switch (e->op) {
  case BIN_PIPE: return apply_to(c, r, l, re, re->span, le->span);
  case BIN_PIPE_LEFT: return apply_to(c, l, r, le, le->span, re->span);
  case BIN_COMPOSE: return compose(c, l, r, le->span, re->span);
  default: return tc_arithmetic(c, e->op, l, r, le, re, e->span);
  }
}

static Type *infer_left(Checker *c, Expr *e) {
  Vec(Expr *) spine = {0};
  for (; (e->kind == E_BINARY && !leans_right(e)) || e->kind == E_AND || e->kind == E_OR; e = e->args[0])
    vec_push(c->temp, spine, e);
  Type *t = tc_infer(c, e);
  for (int i = spine.len - 1; i >= 0; i--) {
    Expr *x = spine.data[i];
    t = x->type = combine(c, x, t, tc_infer(c, x->args[1]));
  }
  return t;
}

static Type *infer_cons(Checker *c, Expr *e) {
  Name name = {.name = sym_of(c->syms, "::"), .span = e->op_span};
  Ctor *k = tc_lookup_ctor(c, name);
  Type *arg = NULL, *list = k ? tc_ctor_type(c, k, &arg) : c->t_error;
  Type *elem = arg && type_repr(arg)->kind == TY_TUPLE ? type_repr(arg)->args[0] : c->t_error;
  for (const Expr *first = e->args[0];; e = e->args[1]) {
    e->ctor = k;
    e->type = list;
    Place p = {.at = e->args[0]->span};
    Type *t = tc_infer(c, e->args[0]);
    if (e->args[0] != first) {
      p.also = first->span;
      p.also_label = "all elements have one type; this is the first";
    }
    tc_expect_type(c, elem, t, p);
    Expr *rest = e->args[1];
    if (rest->kind == E_BINARY && rest->op == BIN_CONS) continue;
    tc_expect_type(c, list, tc_infer(c, rest),
                   (Place){.at = rest->span, .also = first->span, .also_label = "its elements"});
    return list;
  }
}

/* xs ++ x. */
static const char *element_hint(Type *arrays, Type *got) {
  arrays = type_repr(arrays);
  if (arrays->kind != TY_ARRAY) return NULL;
  const Type *element = type_repr(arrays->args[0]), *t = type_repr(got);
  bool fits = t->kind == element->kind || (t->kind == TY_VAR && tc_is_scalar(got) && tc_is_scalar(arrays->args[0]));
  return fits ? "`xs ++ [x]` has one element more" : NULL;
}

static Type *infer_concat(Checker *c, Expr *e) {
  Type *t = type_var(c, 0);
  const Expr *first = e->args[0];
  tc_relation_new(c, C_CONCAT, e->span, t, NULL, NULL);
  for (;; e = e->args[1]) {
    e->type = t;
    Place p = {.at = e->args[0]->span};
    Type *got = tc_infer(c, e->args[0]);
    if (e->args[0] != first) {
      p.also = first->span;
      p.also_label = "the first operand";
    } else if (first->kind == E_APPLY && type_repr(got)->kind == TY_UNIT) { /* print "a" ++ "b" */
      diag_error(c->diags, first->span, tc_diag_code(D_TYPE_MISMATCH), "`++` joins strings, lists or arrays, not unit")
          ->hint = "a call takes only what stands directly behind it: print (a ++ b)";
      got = c->t_error;
    }
    tc_expect_type(c, t, got, p);
    Expr *rest = e->args[1];
    if (rest->kind == E_BINARY && rest->op == BIN_CONCAT) continue;
    Type *last = tc_infer(c, rest);
    tc_expect_type(
        c, t, last,
        (Place){
            .at = rest->span, .also = first->span, .also_label = "the first operand", .hint = element_hint(t, last)});
    tc_solve(c);
    return t;
  }
}

Type *tc_infer_binary(Checker *c, Expr *e) {
  if (!leans_right(e)) return infer_left(c, e);
  return e->op == BIN_CONS ? infer_cons(c, e) : infer_concat(c, e);
}

/* ---- `(+)`: an operator as a function ------------------------------------------------- */
static Type *operator_result(Checker *c, Expr *e, Type *l, Type *r) {
  if (e->op == BIN_CONCAT) {
    tc_relation_new(c, C_CONCAT, e->span, l, NULL, NULL);
    tc_expect_type(c, l, r, (Place){.at = e->span});
    return l;
  }
  if (e->op == BIN_CONS) {
    Name name = {.name = sym_of(c->syms, "::"), .span = e->span};
    Ctor *k = e->ctor = tc_lookup_ctor(c, name);
    if (!k) return c->t_error;
    Type *arg, *list = tc_ctor_type(c, k, &arg), *pair[2] = {l, r};
    tc_expect_type(c, arg, type_tuple(c, pair, 2), (Place){.at = e->span});
    return list;
  }
  return tc_arithmetic(c, e->op, l, r, NULL, NULL, e->span);
}

Type *tc_infer_operator(Checker *c, Expr *e) {
  Type *l = type_var(c, 0), *r = type_var(c, 0), *result;
  Body body = tc_begin_body(c);
  if (e->op == BIN_PIPE) result = apply_to(c, r, l, NULL, e->span, e->span);
  else if (e->op == BIN_PIPE_LEFT) result = apply_to(c, l, r, NULL, e->span, e->span);
  else if (e->op == BIN_COMPOSE) result = compose(c, l, r, e->span, e->span);
  else result = operator_result(c, e, l, r);
  return type_fun(c, l, type_fun(c, r, result, tc_end_body(c, body)), type_effect_var(c));
}
