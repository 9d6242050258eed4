/* SPDX-License-Identifier: MIT */
/* Items of which a report is made: what is evaluated for it, as a syntax tree that is checked like any other.
 *
 *   test "t" = a < b      match (a, b) with (l, r) -> (l < r, l, r)
 *   bench "b" = e         Bench.time (fun () -> e) ()
 *   rule r x y : a = b    Test.rule_exact (fun (x, y) -> (a, b)), a text: what is wrong; where the types hold floats
 *                         Test.rule_close, or Test.rule_smooth, which looks at derivatives, too
 *
 * So both sides of a comparison are computed once, and known to the report. The names of the variables can't be
 * written, so no name in a or b means them. */
#include "check/check_internal.h"

static Expr *new_expr(Checker *c, ExprKind kind, Span span, int nargs) {
  Expr *e = NEW(c->arena, Expr);
  e->kind = kind;
  e->span = span;
  e->nargs = nargs;
  e->args = NEW_ARRAY(c->arena, Expr *, nargs + 1);
  return e;
}

static Expr *variable(Checker *c, const char *module, const char *name, Span span) {
  Expr *e = new_expr(c, E_VAR, span, 0);
  e->name = (Name){.module = module ? sym_of(c->syms, module) : NULL, .name = sym_of(c->syms, name), .span = span};
  return e;
}

static Pat *new_pattern(Checker *c, PatKind kind, Span span, int nargs) {
  Pat *p = NEW(c->arena, Pat);
  p->kind = kind;
  p->span = span;
  p->nargs = nargs;
  p->args = NEW_ARRAY(c->arena, Pat *, nargs + 1);
  return p;
}

static const char *const side_names[] = {"left side", "right side"};

static Expr *with_sides(Checker *c, const Expr *comparison) {
  Span at = comparison->span;
  Expr *both = new_expr(c, E_TUPLE, at, 2), *shown = new_expr(c, E_TUPLE, at, 3), *again = NEW(c->arena, Expr);
  Pat *sides = new_pattern(c, P_TUPLE, at, 2);
  *again = *comparison;
  again->args = NEW_ARRAY(c->arena, Expr *, 2);
  for (int i = 0; i < 2; i++) {
    Expr *side = comparison->args[i];
    both->args[i] = side;
    sides->args[i] = new_pattern(c, P_VAR, side->span, 0);
    sides->args[i]->name = (Name){.name = sym_of(c->syms, side_names[i]), .span = side->span};
    again->args[i] = variable(c, NULL, side_names[i], side->span);
    shown->args[i + 1] = variable(c, NULL, side_names[i], side->span);
  }
  shown->args[0] = again;
  Expr *match = new_expr(c, E_MATCH, at, 1);
  match->args[0] = both;
  match->cases = NEW(c->arena, MatchCase);
  *match->cases = (MatchCase){.pat = sides, .body = shown, .span = at};
  match->ncases = 1;
  return match;
}

static Expr *timed(Checker *c, Expr *e) {
  Expr *function = new_expr(c, E_FUN, e->span, 1), *call = new_expr(c, E_APPLY, e->span, 3);
  function->args[0] = e;
  function->nparams = 1;
  function->params = NEW_ARRAY(c->arena, Pat *, 1);
  function->params[0] = new_pattern(c, P_UNIT, e->span, 0);
  call->args[0] = variable(c, "Bench", "time", e->span);
  call->args[1] = function;
  call->args[2] = new_expr(c, E_UNIT, e->span, 0);
  return call;
}

/* fun () -> …, fun x -> …, fun (x, y) -> … */
static Expr *function_of_all(Checker *c, Expr *equation) {
  bool any = equation->kind == E_FUN;
  Expr *f = new_expr(c, E_FUN, equation->span, 1);
  int n = any ? equation->nparams : 0;
  Pat *all = new_pattern(c, n ? P_TUPLE : P_UNIT, equation->span, n);
  for (int i = 0; i < n; i++) all->args[i] = equation->params[i];
  f->args[0] = any ? equation->args[0] : equation;
  f->nparams = 1;
  f->params = NEW_ARRAY(c->arena, Pat *, 1);
  f->params[0] = n == 1 ? equation->params[0] : all;
  return f;
}

/* What the types of all parameters hold, and those of the sides. */
static void scan_rule(Checker *c, const Item *rule, Leaves *params, Leaves *sides) {
  Type *t = type_repr(rule->binding->type);
  *params = (Leaves){.budget = LIMIT_TYPE_STEPS};
  *sides = *params;
  for (; t->kind == TY_FUN && rule->expr->kind == E_FUN && t->args[1]; t = type_repr(t->args[1])) {
    Leaves one = {.budget = LIMIT_TYPE_STEPS};
    tc_scan_leaves(c, t->args[0], &one);
    params->has_float |= one.has_float || one.nopen > 0;
    params->has_fun |= one.has_fun;
  }
  tc_scan_leaves(c, t, sides);
}

Expr *tc_rule_test(Checker *c, const Item *rule) {
  Leaves params, sides;
  scan_rule(c, rule, &params, &sides);
  bool floats = sides.has_float || sides.nopen > 0, smooth = floats && params.has_float && !params.has_fun;
  if (sides.has_fun) return NULL;
  Expr *call = new_expr(c, E_APPLY, rule->span, 2);
  const char *name = smooth           ? "rule_smooth"
                     : params.has_fun ? (floats ? "rule_close_of_functions" : "rule_exact_of_functions")
                                      : (floats ? "rule_close" : "rule_exact");
  call->args[0] = variable(c, "Test", name, rule->span);
  call->args[1] = function_of_all(c, rule->again);
  return call;
}

Expr *tc_reported_expr(Checker *c, const Item *item) {
  const Expr *e = item->expr;
  if (item->kind == I_BENCH) return timed(c, item->expr);
  bool compares = item->kind == I_TEST && e->kind == E_BINARY && e->op >= BIN_EQ && e->op <= BIN_CLOSE;
  return compares ? with_sides(c, e) : NULL;
}
