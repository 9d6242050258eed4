/* SPDX-License-Identifier: MIT */
/* Top-level items.
 *
 * A definition and the derivative rules that directly follow it are checked
 * together, so that the rule takes part in the inference of the function's type
 * and both are over the same quantified variables. An item with an error
 * leaves its names behind with the error type, which fits everywhere: later
 * items then don't complain about it. */
#include "check/check_internal.h"
#include "support/host_library.h"
#include "support/rights.h"
#include <string.h>

/* Begins the checking of items of m with nothing in scope but the module. */
void tc_state_begin(Checker *c, Module *m, LazyItem *lazy) {
  c->s = (State){.module = m, .lazy_item = lazy, .effect = c->t_effect};
  map_init(&c->s.locals, c->temp);
}

/* Each item starts with empty lists; their memory is used again. */
static void reset_item(Checker *c) {
  c->s.vars.len = c->s.bound.len = c->s.relations.len = c->s.ready.len = c->s.rec_uses.len = 0;
  c->s.rule_effects.len = 0;
  c->s.used.len = c->s.type_vars.len = c->s.matches.len = c->s.discarded.len = c->s.formats.len = c->s.lacking.len = 0;
  c->s.level = c->s.depth = c->s.loops = 0;
  c->s.doubtful = false;
  c->s.rights = 0;
}

void tc_module_put(Checker *c, Module *m, Binding *b) {
  (void)c;
  map_put(&m->values, b->name, b);
}

/* ---- Derivative rules ------------------------------------------------------------ */
static int arity_of(const Binding *f) {
  const Expr *fun = binding_fun(f);
  if (fun) return fun->nparams;
  if (f->kind != BIND_TOP && f->item) return tc_count_arrows(f->item->annot);
  int n = 0;
  for (Type *t = type_repr(f->type); t->kind == TY_FUN; t = type_repr(t->args[1])) n++;
  return n;
}

static Type *curried(Checker *c, Type **params, int n, Type *result) {
  for (int i = n - 1; i >= 0; i--) result = type_fun(c, params[i], result, type_effect_var(c));
  return result;
}

/* The type of the rule of f : a -> b -> r. Pullback: a -> b -> r * (r -> a * b). Tangent: a -> b -> a -> b -> r * r. */
static Type *rule_type(Checker *c, const Item *rule, Type **params, int n, Type *result) {
  Type *parts[2] = {result, result};
  if (rule->kind == I_PULLBACK) {
    Type *arguments = n == 1 ? params[0] : type_tuple(c, params, n);
    parts[1] = type_fun(c, result, arguments, type_effect_var(c));
    return curried(c, params, n, type_tuple(c, parts, 2));
  }
  Type **twice = NEW_ARRAY(c->temp, Type *, 2 * n);
  for (int i = 0; i < n; i++) twice[i] = twice[n + i] = params[i];
  return curried(c, twice, 2 * n, type_tuple(c, parts, 2));
}

static const char *rule_word(const Item *rule) { return rule->kind == I_PULLBACK ? "pullback" : "tangent"; }

static const char *rule_hint(const Item *rule) {
  if (rule->kind == I_TANGENT) return "a tangent is written: tangent f x dx = (value, derivative)";
  return rule->expr->nparams == 1
             ? "a pullback is written: pullback f x = (value, fun d -> dx)"
             : "a pullback of several parameters is written: pullback f x y = (value, fun d -> (dx, dy))";
}

void tc_check_rule(Checker *c, Item *rule, Binding *f) {
  int n = arity_of(f), wanted = rule->kind == I_PULLBACK ? n : 2 * n;
  Item **slot = rule->kind == I_PULLBACK ? &f->pullback : &f->tangent;
  rule->binding = f;
  if (*slot)
    diag_error(c->diags, rule->name.span, tc_diag_code(D_DUPLICATE), "`%s` has a %s already", f->name, rule_word(rule));
  *slot = rule;
  c->s.in_rule = true;
  Type *got = tc_infer(c, rule->expr);
  c->s.in_rule = false;
  if (n == 0) {
    if (type_repr(f->type)->kind != TY_ERROR)
      diag_error(c->diags, rule->name.span, tc_diag_code(D_MISPLACED_RULE), "`%s` is not a function", f->name);
    return;
  }
  if (rule->expr->nparams != wanted) {
    Diag *d = diag_error(c->diags, rule->name.span, tc_diag_code(D_RULE_ARITY), "this %s takes %d parameter%s, not %d",
                         rule_word(rule), wanted, wanted == 1 ? "" : "s", rule->expr->nparams);
    d->hint = rule->kind == I_PULLBACK ? "the parameters are those of the function"
                                       : "the parameters are those of the function, then a direction for each";
    return;
  }
  Type **params = NEW_ARRAY(c->temp, Type *, n), *t = type_repr(f->type);
  for (int i = 0; i < n; i++, t = type_repr(t->args[1])) {
    if (t->kind != TY_FUN) return;
    params[i] = t->args[0];
  }
  tc_expect_type(c, rule_type(c, rule, params, n, t), got,
                 (Place){.at = rule->expr->args[0]->span,
                         .also = f->span,
                         .also_label = "the rule has this function's type",
                         .hint = rule_hint(rule)});
}

/* Has a call of t with n arguments a known effect? */
static bool call_has_effect(Type *t, int n) {
  t = type_repr(t);
  for (; n > 0 && t->kind == TY_FUN; n--) {
    if (type_repr(t->args[2])->kind == TY_EFFECT) return true;
    t = type_repr(t->args[1]);
  }
  return false;
}

/* A pullback's effect may also be one of the function that takes the cotangent. */
static bool rule_has_effect(const Item *rule) {
  int n = rule->expr->nparams;
  if (call_has_effect(rule->expr->type, n)) return true;
  Type *t = type_repr(rule->expr->type);
  for (; n > 0 && t->kind == TY_FUN; n--) t = type_repr(t->args[1]);
  return rule->kind == I_PULLBACK && t->kind == TY_TUPLE && t->n == 2 && call_has_effect(t->args[1], 1);
}

/* The first call with an effect in the rule. */
static Span place_of_effect(const Checker *c, const Item *rule) {
  for (int i = 0; i < c->s.rule_effects.len; i++) {
    EffectUse u = c->s.rule_effects.data[i];
    bool inside = u.at.source == rule->span.source && u.at.start >= rule->span.start && u.at.start < rule->span.end;
    if (inside && type_repr(u.effect)->kind == TY_EFFECT) return u.at;
  }
  return rule->name.span;
}

static void check_rule_effects(Checker *c, Item *const *rules, int n) {
  if (!tc_no_errors(c)) return;
  for (int i = 0; i < n; i++) {
    const Item *rule = rules[i];
    const Binding *f = rule->binding;
    if (call_has_effect(f->type, arity_of(f)))
      diag_error(c->diags, rule->name.span, tc_diag_code(D_EFFECT),
                 "`%s` has an effect, so it can't have a derivative rule", f->name);
    else if (rule_has_effect(rule))
      diag_error(c->diags, place_of_effect(c, rule), tc_diag_code(D_EFFECT),
                 "the %s of `%s` has an effect here: a derivative rule can't have one", rule_word(rule), f->name)
          ->hint = "`watch \"name\" x` is x, and writes its derivatives to standard error";
  }
}

void tc_report_unfit_rule(Checker *c, const Item *rule, const Binding *f) {
  Diag *d = diag_error(c->diags, rule->expr->args[0]->span, tc_diag_code(D_TYPE_MISMATCH),
                       "no type of `%s` fits this %s", f->name, rule_word(rule));
  d->also = f->span;
  d->also_label = "the rule has this function's type";
  d->hint = rule_hint(rule);
}

/* ---- Definitions ------------------------------------------------------------------- */
bool tc_defines(const Item *item, Sym name) {
  if (item->kind == I_FOREIGN) return item->name.name == name;
  for (int i = 0; item->kind == I_LET && i < item->nlets; i++)
    if (item->lets[i].pat->kind == P_VAR && item->lets[i].pat->name.name == name) return true;
  return false;
}

Span tc_place_defined(const Item *item, Sym name) {
  for (int i = 0; item->kind == I_LET && i < item->nlets; i++)
    if (item->lets[i].pat->kind == P_VAR && item->lets[i].pat->name.name == name) return item->lets[i].pat->span;
  return item->name.span;
}

static bool is_rule(const Item *item) { return item->kind == I_PULLBACK || item->kind == I_TANGENT; }

static void check_definition(Checker *c, Module *m, Item *item, Item **rules, int nrules) {
  for (int i = 0; i < item->nlets; i++)
    if (item->lets[i].mut)
      diag_error(c->diags, item->span, tc_diag_code(D_TOP_MUT), "`let mut` is for local variables")->hint =
          "bind it inside an expression: let mut x = … in …";
  int mark = c->s.undo.len;
  tc_check_let_group(c, item->lets, item->nlets, item->rec, item, rules, nrules);
  check_rule_effects(c, rules, nrules);
  int end = c->s.undo.len;
  for (int i = mark; i < end; i++) tc_module_put(c, m, map_get(&c->s.locals, c->s.undo.data[i].name));
  tc_local_pop_to(c, mark);
}

/* ---- Rewrite rules ------------------------------------------------------------------- */
static Binding *rule_binding(Checker *c, Module *m, Item *item) {
  Binding *b = NEW(c->arena, Binding);
  b->kind = BIND_TOP;
  b->name = item->name.name;
  b->span = item->name.span;
  b->module = m;
  b->item = item;
  return item->binding = b;
}

static void infer_sides(Checker *c, Module *m, Item *item) {
  Marks marks = tc_enter_level(c);
  Binding *b = rule_binding(c, m, item);
  c->s.in_rule = true;
  b->type = tc_infer(c, item->expr);
  c->s.in_rule = false;
  const Expr *sides = (item->expr->kind == E_FUN ? item->expr->args[0] : item->expr);
  Place place = {.at = sides->args[1]->span, .also = sides->args[0]->span, .also_label = "the left side has this type"};
  tc_expect_type(c, sides->args[0]->type, sides->args[1]->type, place);
  tc_leave_level(c, marks, &b, 1, GEN_FUNCTION);
}

/* Type variables that nothing decides are floats in a test. */
static void make_floats(Checker *c, Type *t, int depth) {
  t = type_repr(t);
  if (t->kind == TY_VAR && !(t->classes & CLASS_EFFECT)) tc_unify(c, t, c->t_float);
  for (int i = 0; i < t->n && depth < LIMIT_TYPE_DEPTH; i++) make_floats(c, t->args[i], depth + 1);
}

static void add_test(Checker *c, const Module *m, Item *item) {
  bool own = !m->library && !m->name;
  item->run = c->tests_rules && own ? tc_rule_test(c, item) : NULL;
  if (!item->run) return;
  Marks marks = tc_enter_level(c);
  Type *t = tc_infer(c, item->run);
  make_floats(c, item->run->args[1]->type, 0);
  tc_leave_expression(c, marks, t);
}

static void check_rewrite_rule(Checker *c, Module *m, Item *item) {
  infer_sides(c, m, item);
  if (tc_no_errors(c)) tc_check_rewrite_rule(c, m, item);
  if (item->rewrite) add_test(c, m, item);
}

static bool is_scalar(const Type *t) { return t->kind == TY_INT || t->kind == TY_FLOAT || t->kind == TY_BOOL; }

/* May a C function take it, or give it? An array that it gives has its length: `sized`. */
static bool crosses_to_c(Type *t, bool sized) {
  t = type_repr(t);
  if (t->kind == TY_ARRAY && sized) {
    t = type_repr(t->args[0]);
    return t->kind == TY_INT || t->kind == TY_FLOAT;
  }
  return is_scalar(t) || t->kind == TY_STRING || t->kind == TY_UNIT;
}

static bool is_effect_of_all_threads(const char *library) {
  size_t n = strlen(library);
  return n > 1 && (strcmp(library + n - 2, "!&") == 0 || strcmp(library + n - 2, "&!") == 0);
}

static void check_foreign_type(Checker *c, const Item *item, Type *t) {
  bool function = false;
  if (is_effect_of_all_threads(item->text))
    diag_error(c->diags, item->span, tc_diag_code(D_FOREIGN_TYPE), "an effect isn't called by several threads")->hint =
        "a library is written with `!` or `&` at its end, not with both";
  for (t = type_repr(t); t->kind == TY_FUN; t = type_repr(t->args[1])) {
    function = true;
    if (!crosses_to_c(t->args[0], true)) break;
  }
  if (function && crosses_to_c(t, item->expr)) return;
  diag_error(c->diags, item->annot->span, tc_diag_code(D_FOREIGN_TYPE), "a C function can't have this type")->hint =
      "it takes and gives ints, floats, bools, strings, `unit`, `float[]` and `int[]`; an array that it gives has its "
      "length: (n : int) -> float[2 * n]";
}

/* The length of the array that it gives: an int made of the arguments, without effects. */
static void check_foreign_size(Checker *c, Item *item, Type *t) {
  Types params = {0};
  for (t = type_repr(t); t->kind == TY_FUN; t = type_repr(t->args[1])) vec_push(c->temp, params, t->args[0]);
  Type *wanted = c->t_int;
  for (int i = params.len - 1; i >= 0; i--) wanted = type_fun(c, params.data[i], wanted, c->t_pure);
  tc_expect_type(
      c, wanted, tc_infer(c, item->expr),
      (Place){.at = item->expr->args[0]->span, .label = "the array's length is an int, made without effects"});
}

/* An effect's library is written with a `!` at the end. */
bool tc_foreign_effect(const Item *item) {
  size_t n = strlen(item->text);
  return n > 0 && item->text[n - 1] == '!';
}

/* A module's own names of primitives begin with `_`. */
static unsigned rights_of_primitive(const Checker *c, Sym name) {
  return c->rights.needed ? c->rights.needed(*name == '_' ? name + 1 : name) : 0;
}

static void check_foreign(Checker *c, Module *m, Item *item, Item **rules, int nrules) {
  bool effect = tc_foreign_effect(item), pure = !strcmp(item->text, "prim of pure"), host = host_library(item->text);
  bool prim = pure || !strcmp(item->text, "prim!") || !strcmp(item->text, "prim");
  Marks marks = tc_enter_level(c);
  Binding *b = NEW(c->arena, Binding);
  b->kind = prim ? BIND_PRIM : BIND_FOREIGN;
  b->name = item->name.name;
  b->span = item->name.span;
  b->module = m;
  b->item = item;
  b->type = tc_resolve_foreign(c, item, effect, pure);
  item->binding = b;
  if (prim && !m->library)
    diag_error(c->diags, item->span, tc_diag_code(D_FOREIGN_TYPE), "only the standard library binds primitives");
  if (host && !sources_get(c->sources, item->span.source)->host)
    diag_error(c->diags, item->span, tc_diag_code(D_FOREIGN_TYPE), "only a host binds its functions");
  if (!prim && !host && tc_no_errors(c)) check_foreign_type(c, item, b->type);
  if ((prim || host) && item->expr)
    diag_error(c->diags, item->annot->span, tc_diag_code(D_FOREIGN_TYPE),
               "only a C function's array has its length here");
  if (item->expr && tc_no_errors(c)) check_foreign_size(c, item, b->type);
  tc_need_rights(c, prim ? rights_of_primitive(c, b->name) : host ? 0 : RIGHT_FOREIGN, item->name, item->span);
  tc_leave_level(c, marks, &b, 1, GEN_FUNCTION);
  tc_module_put(c, m, b);
  marks = tc_enter_level(c);
  for (int i = 0; i < nrules; i++) tc_check_rule(c, rules[i], b);
  tc_leave_level(c, marks, NULL, 0, GEN_NONE);
  check_rule_effects(c, rules, nrules);
}

/* What the left side of an `=` that was meant for a definition would define: x of `x = 4`, f of `f y = 4`; or NULL. */
static const Expr *meant_name(const Expr *equation) {
  if (equation->kind != E_BINARY || equation->op != BIN_EQ) return NULL;
  const Expr *left = equation->args[0], *f = left->kind == E_APPLY ? left->args[0] : left;
  return f->kind == E_VAR && !f->name.module ? f : NULL;
}

static const char *definition_hint(Checker *c, const Expr *equation, const Expr *f) {
  return tc_format(c, "a definition begins with `let`: let %s%s = …", f->name.name, equation->args[0] == f ? "" : " x");
}

/* `x = 3` or `f x = …` with nothing of that name: a definition that lacks its `let`. */
static bool lacks_let(Checker *c, const Expr *e) {
  const Expr *f = meant_name(e);
  if (!f || tc_module_value(c, c->s.module, f->name.name)) return false;
  Diag *d = diag_error(c->diags, f->span, tc_diag_code(D_UNBOUND_NAME), "there is no `%s`", f->name.name);
  d->hint = habit_of_word(f->name.name);
  if (!d->hint) d->hint = definition_hint(c, e, f);
  return true;
}

static void check_expression(Checker *c, Item *item) {
  if (lacks_let(c, item->expr)) return;
  Marks marks = tc_enter_level(c);
  item->run = tc_reported_expr(c, item);
  Type *t = tc_infer(c, item->run ? item->run : item->expr);
  if (item->kind == I_TEST && !item->run)
    tc_expect_type(c, c->t_bool, t, (Place){.at = item->expr->span, .label = "a test is a bool"});
  item->shown = tc_leave_expression(c, marks, t);
}

static void check_import(Checker *c, Module *m, Item *item) {
  if (!c->loader.import) {
    diag_error(c->diags, item->span, tc_diag_code(D_UNBOUND_MODULE), "files can't be imported here");
    return;
  }
  Module *imported = c->loader.import(c->loader.user, m, item->text, item->span);
  if (!imported) { /* what is wrong was reported: names of the module are let pass */
    imported = checker_new_module(c, item->name.name, NULL, 0);
    imported->failed = true;
  }
  map_put(&m->modules, item->name.name, imported);
}

static void check_open(Checker *c, Module *m, Item *item) {
  Module *opened = tc_lookup_module(c, item->name.name, item->name.span);
  if (opened) vec_push(c->arena, m->opened, opened);
}

/* ---- After an item ------------------------------------------------------------------- */
static bool fits(const InterpPart *hole, FormatOf of) {
  return format_parse(hole->format, sym_len(hole->format), of, &(Format){0});
}

static bool may_hold(Type *t, TypeKind number, int depth) {
  t = type_repr(t);
  if (t->kind == number || t->kind == TY_VAR) return true;
  for (int i = 0; i < t->n && depth < LIMIT_TYPE_DEPTH; i++)
    if (may_hold(t->args[i], number, depth + 1)) return true;
  return false;
}

/* A structure of numbers, each of which gets the format. */
static bool fits_each(const InterpPart *hole, Type *t) {
  if (t->kind == TY_INT || t->kind == TY_FLOAT || t->kind == TY_VAR) return false;
  return (may_hold(t, TY_FLOAT, 0) && fits(hole, FORMAT_FLOAT)) || (may_hold(t, TY_INT, 0) && fits(hole, FORMAT_INT));
}

/* What the type leaves open is found out when the program runs, unless nothing fits. */
static void check_formats(Checker *c) {
  for (int i = 0; i < c->s.formats.len; i++) {
    const InterpPart *hole = c->s.formats.data[i];
    Type *t = type_repr(hole->hole->type);
    if (t->kind == TY_ERROR || fits_each(hole, t)) continue;
    bool open = t->kind == TY_VAR, scalar = open && t->classes & CLASS_SCALAR;
    bool good = ((open || t->kind == TY_INT) && fits(hole, FORMAT_INT)) ||
                ((open || t->kind == TY_FLOAT) && fits(hole, FORMAT_FLOAT)) ||
                (!scalar && t->kind != TY_INT && t->kind != TY_FLOAT && fits(hole, FORMAT_TEXT));
    if (good) continue;
    diag_error(c->diags, hole->hole->span, tc_diag_code(D_FORMAT), "\"%s\" is not a format for %s", hole->format,
               t->kind == TY_INT     ? "an int"
               : t->kind == TY_FLOAT ? "a float"
               : scalar              ? "a number"
               : open                ? "anything"
                                     : "a text")
        ->hint =
        "ints take d x X o b, ints and floats e f g %, as in `{x:.3f}`; all else takes a width, as in `{s:>8}`";
  }
}

static void check_discarded(Checker *c) {
  for (int i = 0; i < c->s.discarded.len; i++) {
    Expr *e = c->s.discarded.data[i];
    Type *t = type_repr(e->type);
    bool open = t->kind == TY_VAR; /* and may become unit, unless it holds numbers */
    if (t->kind == TY_UNIT || t->kind == TY_ERROR) continue;
    if (open && !(t->classes & (CLASS_NUM | CLASS_SCALAR | CLASS_DIFF))) continue;
    Diag *d = diag_warning(c->diags, e->span, tc_diag_code(D_DISCARDED), "this value of type %s is thrown away",
                           open ? "int or float" : type_text(c, t));
    if (open && !(t->classes & CLASS_SCALAR)) d->message = "this value, which holds numbers, is thrown away";
    bool equation = e->kind == E_BINARY && e->op == BIN_EQ;
    d->hint = t->kind == TY_FUN ? "is an argument missing?"
              : equation        ? "`=` compares: assignment is written `<-`"
                                : "`ignore (…)` throws a value away without a warning";
  }
}

/* `x = 4` between other items compares, and nobody sees the result: not what was meant. */
static void check_equation(Checker *c, const Item *item) {
  const Expr *e = item->expr;
  if (e->kind != E_BINARY || e->op != BIN_EQ) return;
  const Expr *f = meant_name(e);
  diag_warning(c->diags, e->span, tc_diag_code(D_DISCARDED), "the result of this comparison is thrown away")->hint =
      f == e->args[0] ? definition_hint(c, e, f) : "`print` shows it, `assert` ends the program where it is false";
}

static void put_error(Checker *c, Module *m, Sym name, Span span) {
  Binding *b = NEW(c->arena, Binding);
  b->kind = BIND_TOP;
  b->name = name;
  b->span = span;
  b->module = m;
  b->type = c->t_error;
  tc_module_put(c, m, b);
}

static void put_pattern_errors(Checker *c, Module *m, const Pat *p) {
  bool named = p->kind == P_VAR || p->kind == P_AS;
  if (named) put_error(c, m, p->name.name, p->name.span.source ? p->name.span : p->span);
  for (int i = 0; i < p->nargs; i++) put_pattern_errors(c, m, p->args[i]);
}

static void leave_errors(Checker *c, Module *m, const Item *item) {
  for (int i = 0; item->kind == I_LET && i < item->nlets; i++) put_pattern_errors(c, m, item->lets[i].pat);
  if (item->kind == I_FOREIGN) put_error(c, m, item->name.name, item->name.span);
}

/* What later items learn of older types they don't write there: it would outlive them (arena_roll_back). */
static void settle_types(Checker *c) {
  for (int i = 0; i < c->s.bound.len; i++) {
    heap_look_at(c->arena->heap, (uint32_t)i);
    Type *v = c->s.bound.data[i];
    if (v->link) v->link = type_repr(v->link);
    v->settled = v->link != NULL;
  }
  c->s.bound.len = 0;
}

static void check_item(Checker *c, Module *m, Item *item, Item **rules, int nrules) {
  switch (item->kind) {
  case I_LET: check_definition(c, m, item, rules, nrules); return;
  case I_FOREIGN: check_foreign(c, m, item, rules, nrules); return;
  case I_EXPR:
  case I_TEST:
  case I_BENCH: check_expression(c, item); return;
  case I_TYPE: tc_declare_types(c, item); return;
  case I_IMPORT: check_import(c, m, item); return;
  case I_OPEN: check_open(c, m, item); return;
  case I_PULLBACK:
  case I_TANGENT:
    diag_error(c->diags, item->name.span, tc_diag_code(D_MISPLACED_RULE),
               "this %s doesn't stand directly after the definition of `%s`", rule_word(item), item->name.name);
    return;
  case I_RULE: check_rewrite_rule(c, m, item); return;
  case I_ERROR: return;
  }
}

int tc_check_items(Checker *c, Module *m, Item **items, int i, int n) {
  Item *item = items[i];
  int end = i + 1;
  while (end < n && is_rule(items[end]) && tc_defines(item, items[end]->name.name)) end++;
  int errors = c->diags->errors;
  reset_item(c);
  c->s.errors = errors;
  c->s.later = items + end;
  c->s.nlater = n - end;
  check_item(c, m, item, items + i + 1, end - i - 1);
  check_formats(c);
  item->doubtful = c->s.doubtful;
  item->rights = c->s.rights;
  if (c->diags->errors > errors || item->kind == I_ERROR) {
    leave_errors(c, m, item);
    settle_types(c);
    return end;
  }
  check_discarded(c);
  if (item->kind == I_EXPR && n > 1) check_equation(c, item);
  tc_check_matches(c);
  settle_types(c);
  for (; i < end; i++) vec_push(c->arena, m->items, items[i]);
  return end;
}
