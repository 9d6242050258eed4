/* SPDX-License-Identifier: MIT */
/* Expressions: tc_infer() gives each its type and notes on the tree what
 * elaboration needs.
 *
 * Plain bottom-up inference: children first, then what their types must be
 * (expect_type), in the order of evaluation. What can't be decided yet goes to the
 * solver. State.effect is the effect of the function body around; every call's
 * effect is unified with it. Chains that may be very long (`;`, `let … in`,
 * `else if`) are walked in a loop, so that the C stack doesn't grow with them. */
#include "check/check_internal.h"
#include "support/rights.h"
#include <string.h>

/* ---- Names ------------------------------------------------------------------------ */
static bool is_captured_mut(const Checker *c, const Binding *b) {
  return b && b->kind == BIND_MUT && b->depth < c->s.depth;
}

/* Once for each variable; of an assignment, whose value may use the variable too, at the variable. */
static void report_captured(Checker *c, const Expr *e) {
  Binding *b = e->binding;
  const Expr *assigned = c->s.assigned;
  if (b->captured || (assigned && assigned != e && assigned->binding == b)) return;
  b->captured = true;
  Diag *d = diag_error(c->diags, e->span, tc_diag_code(D_CAPTURED_MUT),
                       "the `mut` variable `%s` is captured by a function", b->name);
  d->also = b->span;
  d->also_label = "declared here";
  d->hint = tc_format(
      c, "bind its value to another name before the function, let v = %s in …; a loop may use and change it", b->name);
  if (assigned == e)
    d->hint =
        "a function can't change it: write a loop, for i = 0 to length xs - 1 do … done, or carry it through a `fold`";
}

void tc_need_rights(Checker *c, unsigned rights, Name name, Span at) {
  c->s.rights |= rights;
  unsigned lacking = rights & ~c->rights.granted;
  if (!lacking || c->s.module->library) return;
  const char *dot = name.module ? "." : "";
  diag_error(c->diags, at, tc_diag_code(D_DENIED), "`%s%s%s` needs the right to %s, which isn't granted",
             name.module ? name.module : "", dot, name.name, right_does(lacking))
      ->hint = right_grant_hint(lacking);
}

/* The type of the variable; also marks uses whose `inst` is known at the end of their group only. */
static Type *use_variable(Checker *c, Expr *e) {
  Binding *b = e->binding = tc_lookup_value(c, e->name);
  if (!b) return c->t_error;
  c->s.doubtful |= b->type->kind == TY_ERROR || (b->kind == BIND_TOP && b->item && b->item->doubtful);
  if (b->item && b->item->rights) tc_need_rights(c, b->item->rights, e->name, e->span);
  if (is_captured_mut(c, b)) report_captured(c, e);
  bool local = b->kind == BIND_LOCAL || b->kind == BIND_MUT;
  if (!b->nqvars && (b->rec || !local)) {
    RecUse u = {e, b};
    vec_push(c->temp, c->s.rec_uses, u);
  }
  return tc_instantiate(c, b, e->span, &e->inst);
}

/* zeros, ones, reshape: see type_by_rank. */
bool tc_typed_by_rank(const Checker *c, const Binding *b) {
  return b &&
         (tc_is_prelude_prim(c, b, "zeros") || tc_is_prelude_prim(c, b, "ones") || tc_is_prelude_prim(c, b, "reshape"));
}

/* `zeros`, `ones` and `reshape` take a dimension, or an array literal of dimensions whose length is the rank
 * of the result. This is the type of their use with `dims` as first argument, or without one if NULL, whatever
 * simpler type they are declared with. */
static Type *type_by_rank(Checker *c, const Binding *b, const Expr *dims, Span at) {
  bool literal = dims && dims->kind == E_ARRAY;
  int rank = literal ? dims->nargs : 1;
  Type *d = literal ? type_array(c, c->t_int) : c->t_int;
  if (tc_is_prelude_prim(c, b, "reshape")) {
    Type *element = type_var(c, 0), *leaf = type_var(c, 0), *result = leaf;
    tc_relation_new(c, C_LEAF, at, leaf, element, NULL);
    for (int i = 0; i < rank; i++) result = type_array(c, result);
    return type_fun(c, d, type_fun(c, type_array(c, element), result, type_effect_var(c)), type_effect_var(c));
  }
  Type *array = c->t_float;
  for (int i = 0; i < rank; i++) array = type_array(c, array);
  return type_fun(c, d, array, type_effect_var(c));
}

/* A computed array of dimensions doesn't tell the rank. */
static bool dims_known(Checker *c, const Binding *b, const Expr *dims) {
  if (dims->kind == E_ARRAY || type_repr(dims->type)->kind != TY_ARRAY) return true;
  diag_error(c->diags, dims->span, tc_diag_code(D_ARRAY_LITERAL),
             "the dimensions of `%s` must be an int or an array literal of ints", b->name)
      ->hint = "the rank of the result must be known: write them as in `[rows, columns]`";
  return false;
}

/* A variable of open type becomes one dimension by this use. */
static void note_dims(Checker *c, const Expr *f, const Expr *dims) {
  if (dims->kind != E_VAR || type_repr(dims->type)->kind != TY_VAR) return;
  RankUse use = {dims->name.name, f->name.name, dims->span};
  vec_push(c->temp, c->s.rank_uses, use);
}

static Type *infer_var(Checker *c, Expr *e) {
  Type *t = use_variable(c, e);
  return tc_typed_by_rank(c, e->binding) ? type_by_rank(c, e->binding, NULL, e->span) : t;
}

static Type *infer_ctor(Checker *c, Expr *e) {
  Ctor *k = e->ctor = tc_lookup_ctor(c, e->name);
  if (!k) return c->t_error;
  Type *arg, *t = tc_ctor_type(c, k, &arg);
  return arg ? type_fun(c, arg, t, type_effect_var(c)) : t;
}

/* ---- Application --------------------------------------------------------------------- */
/* A call's effect is at most that of the function around. Which calls matter is known at the function's end only:
 * one that prints may call anything, and what else it calls needs no effect for that. */
void tc_use_effect(Checker *c, Type *effect, Span at) {
  effect = type_repr(effect);
  Type *here = type_repr(c->s.effect);
  const EffectUse use = {effect, at};
  if (c->s.in_rule && effect->kind != TY_PURE) vec_push(c->temp, c->s.rule_effects, use);
  if (effect->kind == TY_PURE || here->kind == TY_EFFECT || effect == here) return;
  if (effect->kind == TY_VAR) vec_push(c->temp, c->s.used, effect);
  else if (!tc_unify(c, here, effect)) tc_report_clash(c, here, effect, (Place){.at = at});
}

Body tc_begin_body(Checker *c) {
  Body b = {c->s.effect, c->s.used.len};
  c->s.effect = type_effect_var(c);
  return b;
}

Type *tc_end_body(Checker *c, Body b) {
  Type *effect = c->s.effect;
  for (int i = b.used; i < c->s.used.len; i++)
    if (type_repr(c->s.used.data[i])->kind == TY_EFFECT) tc_unify(c, effect, c->t_effect);
  for (int i = b.used; i < c->s.used.len && type_repr(effect)->kind != TY_EFFECT; i++) {
    Type *used = type_repr(c->s.used.data[i]);
    if (used->kind == TY_VAR && used->level != LEVEL_GENERIC) tc_unify(c, effect, used);
  }
  c->s.used.len = b.used;
  c->s.effect = b.outer;
  return effect;
}

static Type *tc_infer_apply(Checker *c, Expr *e) {
  Expr *f = e->args[0];
  Type *t = f->type = f->kind == E_VAR ? use_variable(c, f) : tc_infer(c, f);
  if (f->kind == E_VAR && tc_typed_by_rank(c, f->binding)) {
    tc_infer(c, e->args[1]);
    if (!dims_known(c, f->binding, e->args[1])) return c->t_error;
    note_dims(c, f, e->args[1]);
    t = f->type = type_by_rank(c, f->binding, e->args[1], e->span);
  }
  for (int i = 1; i < e->nargs; i++) {
    Type *got = e->args[i]->type ? e->args[i]->type : tc_infer(c, e->args[i]);
    tc_solve(c);
    t = type_repr(t);
    if (t->kind == TY_VAR && !(t->classes & (CLASS_SCALAR | CLASS_NUM | CLASS_ORD | CLASS_EQ | CLASS_SHOW))) {
      Type *fun = type_fun(c, type_var(c, 0), type_var(c, 0), type_effect_var(c));
      tc_expect_type(c, fun, t, (Place){.at = f->span});
      t = fun;
    }
    if (t->kind != TY_FUN) {
      if (t->kind != TY_ERROR) tc_report_no_function(c, e, t, i - 1);
      for (i++; i < e->nargs; i++) tc_infer(c, e->args[i]);
      return c->t_error;
    }
    if (!tc_expect_argument(c, e, i, t, got)) return c->t_error; /* others may be wrong for the same reason */
    tc_use_effect(c, t->args[2], e->span);
    t = t->args[1];
  }
  tc_solve(c);
  tc_note_call(c, e, t);
  return t;
}

/* ---- Functions and lets --------------------------------------------------------------- */
static Type *infer_fun(Checker *c, Expr *e) {
  int mark = c->s.undo.len;
  int loops = c->s.loops;
  Body body = tc_begin_body(c);
  c->s.depth++;
  c->s.loops = 0;
  Bindings bs = {0};
  for (int i = 0; i < e->nparams; i++) {
    tc_infer_pat(c, e->params[i], &bs, BIND_LOCAL);
    tc_must_match(c, e->params[i]);
  }
  tc_push_bindings(c, &bs);
  Type *t = tc_infer(c, e->args[0]), *effect = tc_end_body(c, body);
  for (int i = e->nparams - 1; i >= 0; i--)
    t = type_fun(c, e->params[i]->type, t, i == e->nparams - 1 ? effect : type_effect_var(c));
  tc_local_pop_to(c, mark);
  c->s.depth--;
  c->s.loops = loops;
  return t;
}

/* The type of a function of n parameters with another result, equal to its own. */
static Type *with_result(Checker *c, Type *fun, int n, Type *result) {
  if (n == 0) return result;
  return type_fun(c, fun->args[0], with_result(c, fun->args[1], n - 1, result), fun->args[2]);
}

/* An annotated type stays as it was written: declared records are shown by their names. */
static Type *infer_value(Checker *c, LetBinding *let) {
  Type *t = tc_infer(c, let->value);
  if (!let->result) return t;
  bool fun = let->has_params && let->value->kind == E_FUN;
  Type *got = fun ? let->value->args[0]->type : t, *want = tc_resolve_annotation(c, let->result);
  Place place = {.at = fun ? let->value->args[0]->span : let->value->span,
                 .also = let->result->span,
                 .also_label = "annotated here"};
  if (!tc_expect_type(c, want, got, place)) return t;
  return fun ? with_result(c, t, let->value->nparams, want) : want;
}

static Generality generality(Checker *c, const LetBinding *let) {
  const Expr *e = let->value;
  while (e->kind == E_ANNOT) e = e->args[0];
  if (let->mut || !tc_is_value(c, e)) return GEN_NONE;
  return e->kind == E_FUN || type_repr(e->type)->kind == TY_FUN ? GEN_FUNCTION : GEN_VALUE;
}

static void complete_binding(Binding *b, LetBinding *let, Item *item) {
  b->let = let;
  b->item = item;
}

/* Whether what is open of the definition begun at m can be decided; true if it has errors anyway. */
static bool definition_fits(Checker *c, Marks m) {
  Span at;
  tc_solve(c);
  return !tc_no_errors(c) ||
         tc_relations_fit(c, c->s.relations.data + m.relations, c->s.relations.len - m.relations, &at);
}

/* A rule that leaves nothing a function's open type could be is wrong, if it is the first to do so. */
static void check_rules(Checker *c, Marks m, const Bindings *bs, Item **rules, int n) {
  int mark = c->s.undo.len;
  bool fits = definition_fits(c, m);
  tc_push_bindings(c, bs);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < bs->len; j++) {
      if (bs->data[j]->name != rules[i]->name.name) continue;
      tc_check_rule(c, rules[i], bs->data[j]);
      if (!fits || definition_fits(c, m)) continue;
      tc_report_unfit_rule(c, rules[i], bs->data[j]);
      fits = false;
    }
  tc_local_pop_to(c, mark);
}

/* Ends the level of a definition. Rules of functions whose type is still open take part in its inference; rules
 * of others come after it, when the names are in the module, so that two functions' rules can use each other. */
static void leave_definition(Checker *c, Marks m, const Bindings *bs, Generality g, Item **rules, int nrules) {
  bool open = false;
  tc_solve(c);
  for (int i = 0; i < bs->len; i++) open |= tc_is_open(c, bs->data[i]->type);
  if (open && nrules) check_rules(c, m, bs, rules, nrules);
  tc_leave_level(c, m, bs->data, bs->len, g);
  if (open || !nrules) return;
  for (int i = 0; i < bs->len; i++) tc_module_put(c, c->s.module, bs->data[i]);
  m = tc_enter_level(c);
  check_rules(c, m, bs, rules, nrules);
  tc_leave_level(c, m, NULL, 0, GEN_NONE);
}

static void check_let(Checker *c, LetBinding *let, Item *item, Item **rules, int nrules, Bindings *out) {
  Marks m = tc_enter_level(c);
  Unfinished here = {let->value->kind == E_FUN && let->pat->kind == P_VAR ? let->pat->name.name : NULL,
                     c->s.unfinished};
  c->s.unfinished = &here;
  Type *t = infer_value(c, let);
  c->s.unfinished = here.outer;
  Bindings bs = {0};
  Type *want = tc_infer_pat(c, let->pat, &bs, item ? BIND_TOP : let->mut ? BIND_MUT : BIND_LOCAL);
  tc_expect_type(c, want, t, (Place){.at = let->value->span, .also = let->pat->span, .also_label = "bound to this"});
  tc_must_match(c, let->pat);
  for (int i = 0; i < bs.len; i++) complete_binding(bs.data[i], let, item);
  leave_definition(c, m, &bs, generality(c, let), rules, nrules);
  for (int i = 0; i < bs.len; i++) vec_push(c->temp, *out, bs.data[i]);
}

static void check_rec_group(Checker *c, LetBinding *lets, int n, Item *item, Item **rules, int nrules, Bindings *out) {
  Marks m = tc_enter_level(c);
  int mark = c->s.undo.len;
  for (int i = 0; i < n; i++) {
    if (lets[i].value->kind != E_FUN || lets[i].pat->kind != P_VAR)
      diag_error(c->diags, lets[i].pat->span, tc_diag_code(D_REC_VALUE), "`let rec` defines functions only")->hint =
          "give it a parameter, as in `let rec f x = …`";
    tc_infer_pat(c, lets[i].pat, out, item ? BIND_TOP : BIND_LOCAL);
  }
  tc_push_bindings(c, out);
  Binding **group = NEW_ARRAY(c->arena, Binding *, out->len);
  for (int i = 0; i < out->len; i++) {
    Binding *b = group[i] = out->data[i];
    for (int j = 0; j < n; j++)
      if (lets[j].pat->kind == P_VAR && lets[j].pat->binding == b) complete_binding(b, &lets[j], item);
    b->rec = true;
    b->group = group;
    b->ngroup = out->len;
  }
  for (int i = 0; i < n; i++) {
    int errors = c->diags->errors;
    Type *t = infer_value(c, &lets[i]);
    Place p = {.at = lets[i].value->span, .also = lets[i].pat->span, .also_label = "as it is used"};
    if (c->diags->errors == errors) tc_expect_type(c, lets[i].pat->type, t, p);
    else tc_unify(c, lets[i].pat->type, t); /* a clash would come of what was reported */
  }
  tc_local_pop_to(c, mark);
  leave_definition(c, m, out, GEN_FUNCTION, rules, nrules);
}

/* Checks the definitions and puts their names in scope. */
void tc_check_let_group(Checker *c, LetBinding *lets, int n, bool rec, Item *item, Item **rules, int nrules) {
  Bindings out = {0};
  if (rec) check_rec_group(c, lets, n, item, rules, nrules, &out);
  else
    for (int i = 0; i < n; i++) check_let(c, &lets[i], item, rules, nrules, &out);
  tc_push_bindings(c, &out);
}

/* ---- Chains: e1; let … in if … else … ----------------------------------------------------- */
static void infer_condition(Checker *c, Expr *e) {
  Type *t = tc_infer(c, e);
  Place p = {
      .at = e->span, .label = "a condition is a bool", .hint = tc_is_scalar(t) ? "a number is compared: x <> 0" : NULL};
  tc_expect_type(c, c->t_bool, t, p);
}

static Type *infer_chain(Checker *c, Expr *e) {
  Vec(Expr *) chain = {0};
  int mark = c->s.undo.len;
  for (;;) {
    if (e->kind == E_LET) {
      tc_check_let_group(c, e->lets, e->nlets, e->rec, NULL, NULL, 0);
    } else if (e->kind == E_SEQ) {
      tc_infer(c, e->args[0]);
      vec_push(c->temp, c->s.discarded, e->args[0]);
    } else if (e->kind == E_IF && e->nargs == 3) {
      infer_condition(c, e->args[0]);
      tc_infer(c, e->args[1]);
    } else {
      break;
    }
    vec_push(c->temp, chain, e);
    e = e->args[e->nargs - 1];
  }
  Type *t = tc_infer(c, e);
  for (int i = chain.len - 1; i >= 0; i--) {
    Expr *x = chain.data[i];
    if (x->kind == E_IF) {
      Place p = {.at = x->args[2]->span,
                 .also = x->args[1]->span,
                 .also_label = "both branches have one type; this is the other"};
      t = tc_expect_type(c, x->args[1]->type, t, p) ? x->args[1]->type : c->t_error;
    }
    x->type = t;
  }
  tc_local_pop_to(c, mark);
  return t;
}

static Type *infer_if_only(Checker *c, Expr *e) {
  infer_condition(c, e->args[0]);
  Type *t = tc_infer(c, e->args[1]);
  if (!tc_unify(c, c->t_unit, t)) {
    diag_error(c->diags, e->args[1]->span, tc_diag_code(D_MISSING_ELSE),
               "expected unit, found %s: this `if` has no `else`", tc_is_scalar(t) ? "a number" : type_text(c, t))
        ->hint = "add an `else` branch, which gives the value when the condition is false";
  }
  return c->t_unit;
}

/* `[]` and `x :: rest` in one match. */
static const char *sequence_hint(Checker *c, Type *a, Type *b) {
  a = type_repr(a);
  b = type_repr(b);
  bool array = a->kind == TY_ARRAY || b->kind == TY_ARRAY;
  if (!array || !(tc_is_predefined(c, a, "list") || tc_is_predefined(c, b, "list"))) return NULL;
  return "lists are matched by `Nil` and `x :: rest`, arrays by `[]` and `[x, y]`";
}

static Type *infer_match(Checker *c, Expr *e) {
  bool inner = c->s.inner_match == e;
  Type *scrutinee = tc_infer(c, e->args[0]), *result = type_var(c, 0);
  for (int i = 0; i < e->ncases; i++) {
    MatchCase *k = &e->cases[i];
    int mark = c->s.undo.len;
    Bindings bs = {0};
    Type *p = tc_infer_pat(c, k->pat, &bs, BIND_LOCAL);
    const char *hint =
        inner ? "the cases go to the inner match: put it in parentheses" : sequence_hint(c, scrutinee, p);
    tc_expect_type(
        c, scrutinee, p,
        (Place){.at = k->pat->span, .also = e->args[0]->span, .also_label = "what is matched", .hint = hint});
    tc_push_bindings(c, &bs);
    if (k->guard) infer_condition(c, k->guard);
    c->s.inner_match = k->body->kind == E_MATCH && !k->body->paren ? k->body : NULL;
    Type *t = tc_infer(c, k->body);
    Place place = {.at = k->body->span};
    if (i > 0) {
      place.also = e->cases[0].body->span;
      place.also_label = "all cases have one type; this is the first";
    }
    tc_expect_type(c, result, t, place);
    tc_local_pop_to(c, mark);
  }
  MatchCheck m = {.scrutinee = scrutinee, .cases = e->cases, .n = e->ncases, .at = e->args[0]->span};
  vec_push(c->temp, c->s.matches, m);
  return result;
}

/* ---- Data ---------------------------------------------------------------------------------- */
static Type *infer_tuple(Checker *c, Expr *e) {
  Type *t = type_new(c, TY_TUPLE, e->nargs);
  for (int i = 0; i < e->nargs; i++) t->args[i] = tc_infer(c, e->args[i]);
  return t;
}

static Type *infer_array(Checker *c, Expr *e) {
  Type *elem = type_var(c, 0);
  for (int i = 0; i < e->nargs; i++) {
    Place p = {.at = e->args[i]->span};
    if (i > 0) {
      p.also = e->args[0]->span;
      p.also_label = "all elements have one type; this is the first";
    }
    tc_expect_type(c, elem, tc_infer(c, e->args[i]), p);
  }
  return type_array(c, elem);
}

static Type *infer_record(Checker *c, Expr *e) {
  Type **types = NEW_ARRAY(c->temp, Type *, e->nargs ? e->nargs : 1);
  for (int i = 0; i < e->nargs; i++) types[i] = tc_infer(c, e->args[i]);
  return type_record(c, e->fields, types, e->nargs, e->span);
}

static Type *infer_with(Checker *c, Expr *e) {
  Type *t = tc_infer(c, e->args[0]);
  for (int i = 1; i < e->nargs; i++) {
    Type *value = tc_infer(c, e->args[i]);
    tc_relation_field(c, e->args[i]->span, t, e->fields[i - 1], value);
    tc_solve(c);
  }
  return t;
}

static Type *infer_field(Checker *c, Expr *e) {
  Type *t = tc_infer(c, e->args[0]), *field = type_var(c, 0);
  tc_relation_field(c, e->span, t, e->text, field);
  tc_solve(c);
  return field;
}

static void expect_int(Checker *c, Expr *e, const char *why) {
  if (e) tc_expect_type(c, c->t_int, tc_infer(c, e), (Place){.at = e->span, .label = why});
}

static const char *index_hint(const Type *t) {
  if (t->kind == TY_TUPLE) return "the parts of a tuple are taken by a pattern: let (a, b) = p in …";
  if (t->kind == TY_STRING) return "a part of a string is `Str.sub s start count`";
  if (t->kind == TY_DATA && t->data->shown_as && !strcmp(t->data->shown_as, "Map.of_array"))
    return "the value of a key is `Map.get k m`, an option, or `Map.find default k m`";
  if (t->kind == TY_DATA) return "an element of a list is `List.nth l i`";
  return NULL;
}

/* Each index takes the outermost dimension away, each slice keeps it. */
static Type *infer_index(Checker *c, Expr *e) {
  Type *t = tc_infer(c, e->args[0]);
  int kept = 0;
  for (int i = 0; i < e->nsubs; i++) {
    Subscript *s = &e->subs[i];
    tc_solve(c);
    Type *array = type_repr(t);
    if (array->kind != TY_ARRAY) {
      array = type_array(c, type_var(c, 0));
      tc_expect_type(
          c, array, t,
          (Place){.at = e->args[0]->span, .label = "only arrays are indexed", .hint = index_hint(type_repr(t))});
    }
    expect_int(c, s->lo, "an index is an int");
    if (s->is_slice) expect_int(c, s->hi, "an index is an int");
    kept += s->is_slice;
    t = array->args[0];
  }
  for (; kept > 0; kept--) t = type_array(c, t);
  return t;
}

static Type *infer_comprehension(Checker *c, Expr *e) {
  int mark = c->s.undo.len;
  c->s.loops++;
  for (int i = 0; i < e->ngens; i++) {
    Generator *g = &e->gens[i];
    Bindings bs = {0};
    if (g->is_range) {
      expect_int(c, g->bound, "a bound is an int");
      tc_unify(c, tc_infer_pat(c, g->pat, &bs, BIND_LOCAL), c->t_int);
    } else {
      Type *elem = type_var(c, 0);
      tc_expect_type(c, type_array(c, elem), tc_infer(c, g->bound),
                     (Place){.at = g->bound->span, .label = "`in` goes over an array"});
      tc_expect_type(c, elem, tc_infer_pat(c, g->pat, &bs, BIND_LOCAL),
                     (Place){.at = g->pat->span, .also = g->bound->span, .also_label = "the array"});
      tc_must_match(c, g->pat);
    }
    tc_push_bindings(c, &bs);
  }
  Type *t = tc_infer(c, e->args[0]);
  for (int i = 0; i < e->ngens; i++) t = type_array(c, t);
  c->s.loops--;
  tc_local_pop_to(c, mark);
  return t;
}

static Type *infer_interpolation(Checker *c, Expr *e) {
  for (int i = 0; i < e->nparts; i++) {
    InterpPart *part = &e->parts[i];
    if (part->hole) tc_expect_class(c, tc_infer(c, part->hole), CLASS_SHOW, part->hole->span);
    if (part->format) vec_push(c->temp, c->s.formats, part);
  }
  return c->t_string;
}

/* ---- Statements ------------------------------------------------------------------------------ */
static Expr *root_of(Expr *place) {
  while (place->kind == E_FIELD || place->kind == E_INDEX) place = place->args[0];
  return place;
}

static void check_root(Checker *c, Expr *e) {
  Expr *root = e->args[0];
  for (; root->kind == E_FIELD || root->kind == E_INDEX; root = root->args[0])
    for (int i = 0; root->kind == E_INDEX && i < root->nsubs; i++)
      if (root->subs[i].is_slice)
        diag_error(c->diags, root->subs[i].span, tc_diag_code(D_NOT_MUTABLE), "a slice can't be assigned to");
  Binding *b = e->binding = root->kind == E_VAR ? root->binding : NULL;
  if (root->kind == E_VAR && !b) return;
  if (!b || b->kind != BIND_MUT) {
    Diag *d = diag_error(c->diags, root->span, tc_diag_code(D_NOT_MUTABLE),
                         "`%s` can't be assigned to: it is no `mut` variable", b ? b->name : "this");
    if (b) {
      d->also = b->span;
      d->also_label = "bound here";
      const Expr *place = e->args[0];
      bool field = place->kind == E_FIELD && place->args[0] == root;
      d->hint = field
                    ? tc_format(c, "a record with another `%s` is {%s with %s = …}", place->text, b->name, place->text)
                    : tc_format(c, "a local variable that changes is bound by: let mut %s = …", b->name);
    }
  } else if (b->loops < c->s.loops) {
    diag_error(c->diags, e->span, tc_diag_code(D_ASSIGN_IN_COMPREHENSION), "a comprehension can't assign to `%s`",
               b->name)
        ->hint = "use a `for` loop";
  }
}

static Type *infer_assign(Checker *c, Expr *e) {
  Expr *place = e->args[0], *value = e->args[1];
  const Expr *around = c->s.assigned, *root = c->s.assigned = root_of(place);
  Type *t = tc_infer(c, place);
  if (root->kind != E_VAR || !is_captured_mut(c, root->binding)) c->s.assigned = around;
  Type *v = tc_infer(c, value);
  c->s.assigned = around;
  check_root(c, e);
  if (e->compound) v = tc_arithmetic(c, e->op, t, v, place, value, e->span);
  tc_expect_type(c, t, v, (Place){.at = value->span, .also = place->span, .also_label = "what is assigned to"});
  return c->t_unit;
}

static void expect_statement(Checker *c, Expr *e) {
  tc_infer(c, e);
  vec_push(c->temp, c->s.discarded, e);
}

static Type *infer_for(Checker *c, Expr *e) {
  int mark = c->s.undo.len;
  expect_int(c, e->args[0], "a bound is an int");
  expect_int(c, e->args[1], "a bound is an int");
  Bindings bs = {0};
  tc_unify(c, tc_infer_pat(c, e->var, &bs, BIND_LOCAL), c->t_int);
  tc_push_bindings(c, &bs);
  expect_statement(c, e->args[2]);
  tc_local_pop_to(c, mark);
  return c->t_unit;
}

/* An array, unless it is known to be a list. */
static Type *infer_elements(Checker *c, Expr *e) {
  Type *elem = type_var(c, 0), *array = type_array(c, elem), *t = tc_infer(c, e->args[0]);
  e->nargs = tc_is_predefined(c, t, "list") ? 2 : 1;
  if (e->nargs == 2) tc_unify(c, tc_infer(c, e->args[1]), type_fun(c, t, array, type_effect_var(c)));
  else tc_expect_type(c, array, t, (Place){.at = e->args[0]->span, .label = "`in` goes over an array or a list"});
  return array;
}

static Type *infer_annotated(Checker *c, Expr *e) {
  Type *t = tc_infer(c, e->args[0]), *want = tc_resolve_annotation(c, e->annot);
  tc_expect_type(c, want, t, (Place){.at = e->args[0]->span, .also = e->annot->span, .also_label = "annotated here"});
  return want;
}

static Type *infer_plain(Checker *c, Expr *e) {
  switch (e->kind) {
  case E_INT: e->f = (double)e->i; return type_var(c, CLASS_SCALAR);
  case E_FLOAT: return c->t_float;
  case E_BOOL: return c->t_bool;
  case E_STRING: return c->t_string;
  case E_UNIT: return c->t_unit;
  case E_INTERP: return infer_interpolation(c, e);
  case E_VAR: return infer_var(c, e);
  case E_CTOR: return infer_ctor(c, e);
  case E_OPERATOR: return tc_infer_operator(c, e);
  case E_TUPLE: return infer_tuple(c, e);
  case E_RECORD: return infer_record(c, e);
  case E_WITH: return infer_with(c, e);
  case E_FIELD: return infer_field(c, e);
  case E_ARRAY: return infer_array(c, e);
  case E_COMPREHENSION: return infer_comprehension(c, e);
  case E_INDEX: return infer_index(c, e);
  case E_APPLY: return tc_infer_apply(c, e);
  case E_FUN: return infer_fun(c, e);
  case E_IF: return e->nargs == 2 ? infer_if_only(c, e) : infer_chain(c, e);
  case E_LET:
  case E_SEQ: return infer_chain(c, e);
  case E_MATCH: return infer_match(c, e);
  case E_BINARY:
  case E_AND:
  case E_OR: return tc_infer_binary(c, e);
  case E_NEGATE: {
    Type *t = tc_infer(c, e->args[0]);
    tc_expect_class(c, t, CLASS_NUM, e->args[0]->span);
    return t;
  }
  case E_ASSIGN: return infer_assign(c, e);
  case E_FOR: return infer_for(c, e);
  case E_WHILE:
    infer_condition(c, e->args[0]);
    expect_statement(c, e->args[1]);
    return c->t_unit;
  case E_ELEMENTS: return infer_elements(c, e);
  case E_ANNOT: return infer_annotated(c, e);
  case E_ERROR: return c->t_error;
  }
  return c->t_error;
}

Type *tc_infer(Checker *c, Expr *e) { return e->type = infer_plain(c, e); }
