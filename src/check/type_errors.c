/* SPDX-License-Identifier: MIT */
/* The wording of type errors. c->clash holds the innermost pair of types that
 * differ; the message shows the whole types, the hint looks at the pair. */
#include "check/check_internal.h"
#include <ctype.h>
#include <string.h>

/* ---- Classes --------------------------------------------------------------------- */
static const char *class_message(Checker *c, unsigned cls, Type *t) {
  const char *text = type_text(c, t);
  Leaves l;
  tc_scan_leaves(c, t, &l);
  switch (cls) {
  case CLASS_DIFF: return tc_format(c, "there is no float in the type %s, so there is nothing to differentiate", text);
  case CLASS_SCALAR: return tc_format(c, "an int or a float is needed here, not %s", text);
  case CLASS_NUM: return tc_format(c, "numbers are needed here, not %s", text);
  case CLASS_ORD: return tc_format(c, "functions have no order, so %s can't be compared", text);
  case CLASS_EQ: return tc_format(c, "functions have no equality, so %s can't be compared", text);
  default: return tc_format(c, "functions can't be shown, and there is one in %s", text);
  }
}

/* `f(1, 2)` where it gives a function: arguments that were meant one by one. */
static const char *missing_argument_hint(Checker *c, Span at) {
  const char *text = sources_get(c->diags->sources, at.source)->text + at.start, *end = text + (at.end - at.start);
  if (at.source && end - text > 2 && *text == '(' && end[-1] == ')') text++, end--;
  const char *name = text;
  while (text < end && (isalnum((unsigned char)*text) || strchr("_'.", *text))) text++;
  int length = (int)(text - name), depth = 0;
  while (text < end && *text == ' ') text++;
  bool call = at.source && length > 0 && length < 30 && text < end && *text == '(' && end[-1] == ')', several = false;
  for (; call && text < end; text++) {
    depth += (*text == '(' || *text == '[' || *text == '{') - (*text == ')' || *text == ']' || *text == '}');
    several |= *text == ',' && depth == 1;
    call = depth > 0 || text + 1 == end;
  }
  if (call && several)
    return tc_format(c, "`%.*s` takes its arguments one after the other: %.*s a b", length, name, length, name);
  return "is an argument missing? a call as an argument stands in parentheses: print (f x)";
}

bool tc_no_errors(const Checker *c) { return c->diags->errors == c->s.errors && !c->s.doubtful; }

/* What takes a number, and gets an array. */
static const char *elements_hint(const Type *array) {
  return type_repr(array->args[0])->kind == TY_ARRAY ? "of each float of a matrix it is: map_floats f a"
                                                     : "of each element it is: [ f x | x in xs ]";
}

void tc_report_class(Checker *c, Place p) {
  if (c->clash.kind != CLASH_CLASS) {
    tc_report_clash(c, c->clash.a, c->clash.b, p);
    return;
  }
  Type *t = type_repr(c->clash.a);
  unsigned cls = c->clash.cls;
  DiagId id = cls == CLASS_DIFF ? D_NO_FLOAT : D_CLASS;
  Diag *d = diag_error(c->diags, p.at, tc_diag_code(id), "%s", class_message(c, cls, t));
  d->label = p.label;
  d->also = p.also;
  d->also_label = p.also_label;
  if (cls == CLASS_DIFF && t->kind == TY_INT) d->hint = "derivatives are taken of floats: 3.0 is one, and `float n`";
  if (cls == CLASS_DIFF && t->kind == TY_FUN)
    d->hint = "a function has no derivative of its own; give it its arguments";
  if (cls == CLASS_NUM && t->kind == TY_STRING) d->hint = "strings are joined with `++`";
  if (cls == CLASS_NUM && t->kind == TY_BOOL) d->hint = "the logical operators are `&&`, `||` and `not`";
  if (cls == CLASS_NUM && t->kind == TY_UNIT)
    d->hint = "a call takes only what stands directly behind it: print (a * b)";
  if (cls == CLASS_SCALAR && t->kind == TY_ARRAY) d->hint = elements_hint(t);
  if (cls == CLASS_SHOW) d->hint = missing_argument_hint(c, p.at);
  if (cls == CLASS_EQ && t->kind == TY_FUN) d->hint = "compare what they give: f x = g x";
  if (p.hint) d->hint = p.hint;
}

bool tc_expect_class(Checker *c, Type *t, unsigned classes, Span at) {
  c->at = at;
  if (tc_require(c, t, classes)) return true;
  tc_report_class(c, (Place){.at = at});
  return false;
}

/* ---- Clashes ---------------------------------------------------------------------- */
static bool pair_is(const Clash *k, TypeKind x, TypeKind y) {
  TypeKind a = type_repr(k->a)->kind, b = type_repr(k->b)->kind;
  return (a == x && b == y) || (a == y && b == x);
}

static bool has_field(const Type *record, Sym name) {
  for (int i = 0; i < record->n; i++)
    if (record->names[i] == name) return true;
  return false;
}

/* The fields that one record has and the other lacks; NULL if there are none. Where the other has no fields of its own,
   and lacks several, it is mostly meant to have them from a record of defaults. */
static const char *missing_fields(Checker *c, Type *a, Type *b) {
  Vec(Sym) names = {0};
  for (int i = 0; i < a->n; i++)
    if (!has_field(b, a->names[i])) vec_push(c->temp, names, a->names[i]);
  if (names.len == 0) return NULL;
  if (names.len == 1 || b->n == 0 || a->n - names.len < b->n)
    return tc_format(c, "the field `%s` is in one of the records only", names.data[0]);
  Str text = {.arena = c->temp};
  for (int i = 0; i < names.len; i++)
    str_printf(&text, "%s`%s`", i == 0 ? "" : i + 1 < names.len ? ", " : " and ", names.data[i]);
  return tc_format(c, "the fields %s are in one of the records only; `{r with %s = e}` takes them from a record r",
                   text.data, b->names[0]);
}

/* Two records with the same fields: the first whose types differ. */
static const char *differing_field(Checker *c, Type *want, Type *got) {
  bool alike = want->kind == TY_RECORD && got->kind == TY_RECORD && want->n == got->n;
  for (int i = 0; alike && i < want->n; i++) alike = want->names[i] == got->names[i];
  for (int i = 0; alike && i < want->n; i++) {
    const char *a = tc_kind_text(c, want->args[i]), *b = tc_kind_text(c, got->args[i]);
    if (strcmp(a, b) != 0) return tc_format(c, "the field `%s` is %s here, and %s is expected", want->names[i], b, a);
  }
  return NULL;
}

/* Whether a place is the argument of a call `name …`. */
static bool is_argument_of(Checker *c, Span at, const char *name) {
  const char *text = sources_get(c->diags->sources, at.source)->text;
  size_t n = strlen(name), start = at.start;
  while (start > 0 && (text[start - 1] == ' ' || text[start - 1] == '(')) start--;
  bool call = at.source && start >= n && start < at.start && strncmp(text + start - n, name, n) == 0;
  return call && (start == n || !strchr("_'.", text[start - n - 1])) &&
         (start == n || !isalnum((unsigned char)text[start - n - 1]));
}

/* An int where a float is needed, or the other way round. */
static const char *number_hint(Checker *c, Type *want, Type *got, Span at) {
  if (want->kind == TY_INT && got->kind == TY_FLOAT && is_argument_of(c, at, "float")) return "it is a float already";
  if (want->kind == TY_FLOAT && got->kind == TY_INT)
    return tc_format(c, "`float %s` makes a float of it", tc_short_text(c, at, "n"));
  if (want->kind == TY_INT && got->kind == TY_FLOAT)
    return tc_format(c, "`int %s` makes an int of it, without the fraction", tc_short_text(c, at, "x"));
  return "`float n` makes a float of an int, and `int x` an int of a float; the literal 1.0 is a float";
}

/* A constructor's name that both types have stands for the one declared last. */
static const char *shadowed_hint(Checker *c, const Type *a, const Type *b) {
  for (int i = 0; i < a->data->nctors; i++)
    for (int j = 0; j < b->data->nctors; j++) {
      Sym name = a->data->ctors[i]->name;
      if (name == b->data->ctors[j]->name)
        return tc_format(
            c, "both types have a constructor `%s`, and the name stands for the one declared last: rename one", name);
    }
  return NULL;
}

static bool is_unknown(Type *t) { return type_repr(t)->kind == TY_VAR && !tc_is_scalar(t); }

bool tc_is_predefined(const Checker *c, const Type *t, const char *name) {
  return t->kind == TY_DATA && c->prelude && t->data->module == c->prelude && t->data->name == sym_of(c->syms, name);
}

/* A record whose type is open met something else. */
static const char *open_record_hint(Checker *c, const Type *record, const Type *other) {
  for (int i = 0; i < c->s.relations.len; i++) {
    const Constraint *k = c->s.relations.data[i];
    if (k->done || k->kind != C_FIELD || type_repr(k->t[0]) != record || k->via) continue;
    if (tc_module_value(c, c->s.module, k->field))
      return tc_format(c, "`%s` is a function: write `%s x`", k->field, k->field);
  }
  return other->kind == TY_ARRAY ? "of each element of an array: [f p | p in ps]" : NULL;
}

static const char *clash_hint(Checker *c, Type *want, Type *got, Span at) {
  Clash *k = &c->clash;
  want = type_repr(want);
  got = type_repr(got);
  if (k->kind == CLASH_CLASS) k->a = want, k->b = got;
  Type *a = type_repr(k->a), *b = type_repr(k->b);
  if (a->kind == TY_VAR && a->classes & CLASS_RECORD) return open_record_hint(c, a, b);
  if (b->kind == TY_VAR && b->classes & CLASS_RECORD) return open_record_hint(c, b, a);
  const char *field = differing_field(c, want, got);
  if (field) return field;
  if (pair_is(k, TY_INT, TY_FLOAT)) return number_hint(c, want, got, at);
  if (pair_is(k, TY_DATA, TY_DATA) && a->data != b->data && shadowed_hint(c, a, b)) return shadowed_hint(c, a, b);
  if (got->kind == TY_FUN && want->kind != TY_FUN && want->kind != TY_VAR) return "is an argument missing?";
  if (pair_is(k, TY_RECORD, TY_RECORD)) {
    const char *hint = missing_fields(c, a, b);
    return hint ? hint : missing_fields(c, b, a);
  }
  if (got->kind == TY_STRING && tc_is_scalar(want)) return "`int_of_string` and `float_of_string` read numbers";
  if (want->kind == TY_STRING && tc_is_scalar(got)) return "`show x` makes a string";
  if (want->kind == TY_ARRAY && got->kind == TY_STRING)
    return "`Str.chars s` is the array of a string's characters, `Str.length s` their number";
  if (tc_is_predefined(c, got, "option") && !is_unknown(want) && !is_unknown(got->args[0]))
    return "a match takes the value out of an option, or `Option.default d o`";
  if (tc_is_predefined(c, want, "option") && !is_unknown(got))
    return "an option is `Some x` or `None`; a match takes the value out of it, or `Option.default d o`";
  if (tc_is_predefined(c, want, "list") && !is_unknown(got) && got->kind != TY_ARRAY)
    return "a list is written 1 :: 2 :: Nil";
  if (tc_is_predefined(c, want, "list") && got->kind == TY_ARRAY)
    return "a list is written 1 :: 2 :: Nil, and `to_list a` makes one of an array";
  if (want->kind == TY_ARRAY && tc_is_predefined(c, got, "list")) return "`of_list l` makes an array of a list";
  return NULL;
}

/* A literal like 3 is an int or a float; its type is a variable until that is known. */
const char *tc_kind_text(Checker *c, Type *t) {
  return type_repr(t)->kind == TY_VAR && tc_is_scalar(t) ? "a number" : type_text(c, t);
}

/* A number where something else is needed, or the other way round. */
static bool is_number_clash(const Checker *c, Type *want, Type *got) {
  if (c->clash.kind != CLASH_CLASS || c->clash.cls != CLASS_SCALAR) return false;
  return (type_repr(want)->kind == TY_VAR) != (type_repr(got)->kind == TY_VAR) &&
         (tc_is_scalar(want) || tc_is_scalar(got));
}

/* ---- Clashes with what was noted before ----------------------------------------------- */
void tc_note_call(Checker *c, const Expr *call, Type *result) {
  const Expr *f = call->args[0];
  bool sum = f->kind == E_VAR && f->binding && f->binding->module == c->prelude && !strcmp(f->name.name, "sum");
  if (sum && type_repr(result)->kind == TY_ARRAY) vec_push(c->temp, c->s.sums, call->span);
}

/* Whether the place ends with the one inside, but for closing brackets. */
static bool ends_with(Checker *c, Span at, Span inside) {
  if (!at.source || at.source != inside.source || inside.start < at.start || inside.end > at.end) return false;
  const char *text = sources_get(c->diags->sources, at.source)->text;
  return strspn(text + inside.end, " \n)") >= at.end - inside.end;
}

/* `1.0 + sum [ … | i < n, j < m ]`: a sum of rows where a number was meant. */
static const char *sum_hint(Checker *c, Type *want, Type *got, Place p) {
  const Type *array = type_repr(got)->kind == TY_ARRAY ? type_repr(got) : type_repr(want);
  bool number = tc_is_scalar(want) || tc_is_scalar(got);
  if (!number || array->kind != TY_ARRAY) return NULL;
  const Type *element = type_repr(array->args[0]); /* a variable: what a product has made is open */
  if (element->kind != TY_VAR && element->kind != TY_INT && element->kind != TY_FLOAT) return NULL;
  for (int i = 0; i < c->s.sums.len; i++)
    if (ends_with(c, p.at, c->s.sums.data[i]) || ends_with(c, p.also, c->s.sums.data[i]))
      return "`sum` adds up the rows of a matrix, `sum (flatten m)` all of its numbers";
  return NULL;
}

/* `reshape dims …`, where dims is an array elsewhere: says where it became one int. */
static void show_dims(Checker *c, Type *want, Type *got, Place p, Diag *d) {
  bool one = type_repr(want)->kind == TY_INT || type_repr(got)->kind == TY_INT;
  bool many = type_repr(want)->kind == TY_ARRAY || type_repr(got)->kind == TY_ARRAY;
  for (int i = 0; one && many && i < c->s.rank_uses.len; i++) {
    const RankUse *use = &c->s.rank_uses.data[i];
    const char *text = sources_get(c->diags->sources, p.at.source)->text + p.at.start;
    bool same = sym_len(use->variable) == p.at.end - p.at.start && !memcmp(text, use->variable, sym_len(use->variable));
    if (!p.at.source || !same) continue;
    d->also = use->at;
    d->also_label = tc_format(c, "one dimension here, since it isn't an array literal");
    d->hint = tc_format(c, "the rank of the result must be known: write the dimensions as in `%s [rows, columns]`",
                        use->function);
    return;
  }
}

static Diag *clash_error(Checker *c, Type *want, Type *got, Span at) {
  switch (c->clash.kind) {
  case CLASH_INFINITE: {
    Diag *d = diag_error(c->diags, at, tc_diag_code(D_INFINITE_TYPE), "this needs an infinite type: %s within %s",
                         type_text(c, c->clash.a), type_text(c, c->clash.b));
    d->hint = "does a call have one argument too few or too many?";
    return d;
  }
  case CLASH_SIZE: return diag_error(c->diags, at, tc_diag_code(D_TYPE_TOO_LARGE), "the type of this is too large");
  case CLASH_EFFECT: {
    Diag *d = diag_error(c->diags, at, tc_diag_code(D_EFFECT), "a function with an effect can't be used here");
    d->hint = "`par`, `pmap`, `map_floats`, those of `Par` and `static` need functions that don't print, read or write";
    return d;
  }
  default: {
    Diag *d = diag_error(c->diags, at, tc_diag_code(D_TYPE_MISMATCH), "expected %s, found %s", tc_kind_text(c, want),
                         tc_kind_text(c, got));
    d->hint = clash_hint(c, want, got, at);
    return d;
  }
  }
}

void tc_report_clash(Checker *c, Type *want, Type *got, Place p) {
  if (c->clash.kind == CLASH_CLASS && !is_number_clash(c, want, got)) {
    tc_report_class(c, p);
    return;
  }
  Diag *d = clash_error(c, want, got, p.at);
  d->label = p.label;
  d->also = p.also;
  d->also_label = p.also_label;
  const char *sum = sum_hint(c, want, got, p);
  if (p.hint) d->hint = p.hint;
  if (sum) d->hint = sum;
  show_dims(c, want, got, p, d);
}

bool tc_expect_type(Checker *c, Type *want, Type *got, Place p) {
  c->at = p.at;
  if (!tc_unify(c, want, got)) {
    tc_report_clash(c, want, got, p);
    return false;
  }
  tc_solve(c);
  return true;
}
