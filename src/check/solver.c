/* SPDX-License-Identifier: MIT */
/* Relations between types that can't be decided where they arise: what `*`,
 * `/`, `@`, `++`, `p.field` and a shape mean depends on types that may be known
 * later only.
 *
 * The fields used of a record whose type is open say that it is one, hence no
 * scalar, and each of them has one type, however often it is used.
 *
 * A relation waits on its open variables (Type.pending). When one is bound, or
 * becomes a scalar, the relation is made ready again, and tc_solve() tries it:
 * each step either decides it, improves what is known, or leaves it waiting.
 * The rules only ever use what is known for certain, so the order of attempts
 * doesn't matter. At the end of an item what is left is made part of a function's
 * type (generalise.c), or settled by its default (relation_settle).
 *
 * `*` has these meanings: both sides one type, leaf by leaf; or scalar times
 * structure; or structure times scalar. So as soon as one side is a scalar the
 * result is the other side's type, and as soon as one side is a structure, the
 * result is that structure. */
#include "check/check_internal.h"

Constraint *tc_relation_new(Checker *c, ConstraintKind kind, Span at, Type *t0, Type *t1, Type *t2) {
  Constraint *k = NEW(c->temp, Constraint);
  k->kind = kind;
  k->at = k->origin = at;
  k->t[0] = t0;
  k->t[1] = t1;
  k->t[2] = t2;
  k->n = t2 ? 3 : t1 ? 2 : 1;
  k->queued = true;
  vec_push(c->temp, c->s.relations, k);
  vec_push(c->temp, c->s.ready, k);
  return k;
}

void tc_relation_holds(Checker *c, Type *t, unsigned classes) {
  tc_relation_new(c, C_HOLDS, c->at, t, NULL, NULL)->classes = classes;
}

void tc_relation_field(Checker *c, Span at, Type *record, Sym field, Type *type) {
  tc_relation_new(c, C_FIELD, at, record, type, NULL)->field = field;
}

static void copy_what(Constraint *to, const Constraint *from) {
  to->field = from->field;
  to->classes = from->classes;
  to->divides = from->divides;
  to->origin = from->origin;
}

void tc_relation_used(Checker *c, const Constraint *k, Sym function, Span at, Type *const args[3]) {
  Constraint *new = tc_relation_new(c, k->kind, at, args[0], args[1], args[2]);
  Via *via = NEW(c->arena, Via);
  *via = (Via){function, k->via};
  new->via = via;
  copy_what(new, k);
}

static void wake_all(Checker *c, const Waiting *w) {
  for (; w; w = w->next) {
    if (w->k->queued || w->k->done) continue;
    w->k->queued = true;
    vec_push(c->temp, c->s.ready, w->k);
  }
}

void tc_relation_wake(Checker *c, Type *var) {
  wake_all(c, var->pending);
  var->pending = NULL;
}

/* When two variables become one, that is news only to relations that wait for both: waking the fewer ones does,
 * so a long chain of products isn't tried again at each link. */
void tc_relation_merge(Checker *c, Type *v, Type *t) {
  Waiting *mine = v->pending, *theirs = t->pending;
  unsigned kinds = CLASS_SCALAR | CLASS_RECORD;
  bool renamed = t->kind == TY_VAR && t->level != LEVEL_GENERIC && (t->classes & kinds) == (v->classes & kinds);
  if (renamed && mine && (!theirs || mine->n > theirs->n)) {
    t->pending = mine;
    wake_all(c, theirs);
  } else {
    wake_all(c, mine);
  }
  v->pending = NULL;
}

static void wait_for(Checker *c, Type *t, Constraint *k) {
  Waiting *first = t->pending;
  if (first && first->k == k) return;
  Waiting *w = NEW(c->temp, Waiting);
  *w = (Waiting){k, first, first ? first->n + 1 : 1};
  t->pending = w;
}

static void wait(Checker *c, Constraint *k) {
  Leaves l;
  if (k->kind == C_FIELD) { /* what the field is says nothing of the record */
    Type *record = type_repr(k->t[0]);
    if (record->level != LEVEL_GENERIC) wait_for(c, record, k);
    return;
  }
  for (int i = 0; i < k->n; i++) {
    tc_scan_leaves(c, k->t[i], &l);
    for (int j = 0; j < l.nopen; j++) wait_for(c, l.open[j], k);
  }
}

/* ---- Steps: true when the relation is decided ------------------------------------ */
static Place place_of(Checker *c, const Constraint *k) {
  return (Place){.at = k->at, .label = k->via ? tc_format(c, "needed by this use of `%s`", k->via->function) : NULL};
}

static const char int_float_hint[] =
    "`float n` makes a float of an int, and `int x` an int of a float; the literal 1.0 is a float";

static void fail_mismatch(Checker *c, Constraint *k, Type *want, Type *got) {
  Place p = place_of(c, k);
  bool numbers = tc_is_scalar(want) && tc_is_scalar(got); /* in the body of the function: not what stands here */
  if (k->via && numbers) p.hint = int_float_hint;
  tc_report_clash(c, want, got, p);
}

static bool same(Checker *c, Constraint *k, Type *a, Type *b) {
  if (!tc_unify(c, a, b)) fail_mismatch(c, k, a, b);
  return true;
}

static bool classed(Checker *c, Constraint *k, Type *t, unsigned classes) {
  if (!tc_require(c, t, classes)) tc_report_class(c, place_of(c, k));
  return true;
}

/* Known to be no scalar. */
static bool is_structure(Type *t) {
  t = type_repr(t);
  return t->kind != TY_VAR ? !tc_is_scalar(t) : (t->classes & CLASS_RECORD) != 0;
}

/* The relation goes on as another one, of the two types. */
static bool becomes(Checker *c, Constraint *k, ConstraintKind kind, Type *t0, Type *t1) {
  Constraint *new = tc_relation_new(c, kind, k->at, t0, t1, NULL);
  new->divides = k->divides;
  new->via = k->via;
  return true;
}

static bool step_mul(Checker *c, Constraint *k) {
  Type *r = type_repr(k->t[0]), *a = type_repr(k->t[1]), *b = type_repr(k->t[2]);
  if (tc_is_scalar(a)) return same(c, k, r, b) && becomes(c, k, C_SCALE, a, b);
  if (tc_is_scalar(b)) return same(c, k, r, a) && becomes(c, k, C_SCALE, b, a);
  if (a == b || (is_structure(a) && is_structure(b)) || tc_is_scalar(r)) {
    if (!tc_unify(c, a, b)) {
      fail_mismatch(c, k, a, b);
      return true;
    }
    return same(c, k, a, r);
  }
  if (is_structure(a) || r == a) return same(c, k, r, a) && becomes(c, k, C_DIVISOR, a, b);
  if (is_structure(b) || r == b) return same(c, k, r, b) && becomes(c, k, C_DIVISOR, b, a);
  return false;
}

static bool step_divisor(Checker *c, Constraint *k) {
  Type *a = type_repr(k->t[0]), *b = type_repr(k->t[1]);
  if (a == b) return true;
  if (tc_is_scalar(b)) return becomes(c, k, C_SCALE, b, a);
  if (is_structure(b) || tc_is_scalar(a)) return same(c, k, a, b);
  return false;
}

static bool step_scale(Checker *c, Constraint *k) {
  Type *s = type_repr(k->t[0]), *t = type_repr(k->t[1]);
  if (t->kind == TY_ERROR || s->kind == TY_ERROR) return true;
  if (tc_is_scalar(t)) return same(c, k, t, s);
  Leaves l;
  tc_scan_leaves(c, t, &l);
  if (l.has_float) return same(c, k, c->t_float, s);
  if (!l.nopen) return l.has_int ? same(c, k, c->t_int, s) : classed(c, k, t, CLASS_NUM);
  if (s->kind == TY_FLOAT) return classed(c, k, t, CLASS_DIFF);
  if (l.nopen > 1 || l.has_int || l.open[0] == t) return false;
  return becomes(c, k, C_SCALE, s, l.open[0]);
}

static bool step_holds(Checker *c, Constraint *k) {
  Leaves l;
  tc_scan_leaves(c, k->t[0], &l);
  if (l.has_float || (k->classes == CLASS_NUM && l.has_int)) return true;
  return l.nopen <= 1 && classed(c, k, l.nopen ? l.open[0] : k->t[0], k->classes);
}

/* 1 for a vector, 2 for a matrix, 0 when not known, -1 for anything else. */
static int float_rank(Checker *c, Type *t) {
  t = type_repr(t);
  if (t->kind == TY_VAR) return 0;
  if (t->kind != TY_ARRAY) return -1;
  Type *e = type_repr(t->args[0]);
  if (e->kind == TY_ARRAY) return tc_unify(c, e->args[0], c->t_float) ? 2 : -1;
  if (tc_is_scalar(e)) return tc_unify(c, e, c->t_float) ? 1 : -1;
  return e->kind == TY_VAR ? 0 : -1;
}

static bool set_rank(Checker *c, Constraint *k, Type *t, int rank) {
  Type *of = c->t_float;
  for (; rank > 0; rank--) of = type_array(c, of);
  return same(c, k, of, t);
}

/* Reads the function that multiplies two matrices, with its rewrite rules: calls on their left sides are to stay calls
 * from the beginning. */
static void need_matmul(Checker *c) {
  if (!c->prelude || c->matmul) return;
  SAVE(c->arena, c->matmul);
  c->matmul = tc_module_value(c, c->prelude, sym_of(c->syms, "matmul"));
}

/* Two matrices give a matrix, a matrix and a vector a vector, two vectors a number. */
static bool step_matmul(Checker *c, Constraint *k) {
  Type *r = type_repr(k->t[0]);
  int a = float_rank(c, k->t[1]), b = float_rank(c, k->t[2]);
  if (a < 0) return same(c, k, type_array(c, type_array(c, c->t_float)), k->t[1]);
  if (b < 0) return same(c, k, type_array(c, type_array(c, c->t_float)), k->t[2]);
  int result = tc_is_scalar(r) ? 0 : float_rank(c, r) > 0 ? float_rank(c, r) : -1;
  if (result == 0) a = b = 1;
  else if (result == 2) a = b = 2;
  else if (result == 1 && a) b = 3 - a;
  else if (result == 1 && b) a = 3 - b;
  if (!a || !b) return false;
  if (a == 2 && b == 2) need_matmul(c);
  return set_rank(c, k, k->t[1], a) && set_rank(c, k, k->t[2], b) && set_rank(c, k, r, a + b - 2);
}

static bool step_concat(Checker *c, Constraint *k) {
  Type *t = type_repr(k->t[0]);
  if (t->kind == TY_VAR && !tc_is_scalar(t) && !is_structure(t)) return false;
  bool list = tc_is_predefined(c, t, "list");
  if (t->kind == TY_STRING || t->kind == TY_ARRAY || t->kind == TY_ERROR || list) return true;
  Diag *d = diag_error(c->diags, k->at, tc_diag_code(D_TYPE_MISMATCH), "`++` joins strings, lists or arrays, not %s",
                       tc_is_scalar(t) && t->kind == TY_VAR ? "numbers" : type_text(c, t));
  if (tc_is_scalar(t)) d->hint = "numbers are added with `+`; `show x` makes a string";
  return true;
}

/* ---- Fields -------------------------------------------------------------------------- */
static const char *fields_hint(Checker *c, const Type *record) {
  Str text = {.arena = c->temp};
  for (int i = 0; i < record->n && i < 8; i++) str_printf(&text, "%s`%s`", i ? ", " : "", record->names[i]);
  return tc_format(c, "its fields are %s%s", text.data, record->n > 8 ? ", …" : "");
}

static Type *field_of(const Type *record, Sym field) {
  for (int i = 0; record->kind == TY_RECORD && i < record->n; i++)
    if (record->names[i] == field) return record->args[i];
  return NULL;
}

/* How a function's use comes to need the field, and where the field is used. */
static void show_way(Checker *c, const Constraint *k, Diag *d) {
  if (!k->via) return;
  Str label = {.arena = c->temp};
  str_printf(&label, "needed by this use of `%s`", k->via->function);
  int shown = 0;
  for (const Via *v = k->via->inner; v; v = v->inner) {
    if (++shown < 6) str_printf(&label, ", which uses `%s`", v->function);
    else if (!v->inner) str_printf(&label, ", … `%s`", v->function);
  }
  d->label = label.data;
  d->also = k->origin;
  d->also_label = tc_format(c, "here its field `%s` is used", k->field);
}

static void report_not_a_record(Checker *c, const Constraint *k, Type *t) {
  bool number = t->kind == TY_VAR;
  Diag *d = diag_error(c->diags, k->at, tc_diag_code(D_NOT_A_RECORD), "%s has no fields: `%s` needs a record",
                       number ? "a number" : type_text(c, t), k->field);
  show_way(c, k, d);
  if (t->kind == TY_TUPLE) d->hint = "the parts of a tuple are taken by a pattern: let (a, b) = p in …";
  else if (t->kind == TY_STRING && tc_library_has(c, "Str", k->field))
    d->hint = tc_format(c, "functions of strings are in a module: Str.%s", k->field);
  else if (tc_module_value(c, c->s.module, k->field))
    d->hint = tc_format(c, "`%s` is a function: write `%s x`", k->field, k->field);
}

/* The same use of the same value: said together. */
static bool is_sibling(const Constraint *k, const Constraint *of, const Type *record) {
  bool here = k->at.source == of->at.source && k->at.start == of->at.start && k->at.end == of->at.end;
  return !k->done && k->kind == C_FIELD && here && of->via && type_repr(k->t[0]) == record;
}

/* The fields that the use needs and the record lacks; those besides k's are settled. */
static const char *missing_fields(Checker *c, const Constraint *k, const Type *record) {
  Vec(Sym) names = {0};
  vec_push(c->temp, names, k->field);
  for (int i = 0; i < c->s.relations.len; i++) {
    Constraint *other = c->s.relations.data[i];
    if (other == k || !is_sibling(other, k, record) || field_of(record, other->field)) continue;
    vec_push(c->temp, names, other->field);
    other->done = true;
    tc_unify(c, other->t[1], c->t_error);
  }
  Str text = {.arena = c->temp};
  str_puts(&text, names.len > 1 ? "are no fields " : "is no field ");
  for (int i = 0; i < names.len; i++)
    str_printf(&text, "%s`%s`", i == 0 ? "" : i + 1 < names.len ? ", " : " and ", names.data[i]);
  return text.data;
}

/* Whether the lack was reported at another use of the same value. */
static bool told_before(Checker *c, const Constraint *k, const Type *record) {
  for (int i = 0; i < c->s.lacking.len; i++)
    if (c->s.lacking.data[i].record == record && c->s.lacking.data[i].field == k->field) return k->via != NULL;
  Lacking l = {record, k->field};
  vec_push(c->temp, c->s.lacking, l);
  return false;
}

static void fail_field(Checker *c, const Constraint *k, Type *t) {
  if (told_before(c, k, t)) return;
  if (t->kind != TY_RECORD) {
    report_not_a_record(c, k, t);
    return;
  }
  const char *fields = missing_fields(c, k, t);
  Diag *d = diag_error(c->diags, k->at, tc_diag_code(D_UNKNOWN_FIELD), "there %s in %s", fields, type_text(c, t));
  Sym near = nearest_name(k->field, t->names, t->n);
  d->hint = near ? tc_format(c, "did you mean `%s`?", near) : fields_hint(c, t);
  show_way(c, k, d);
}

/* A record given to a function has the field with another type than the function needs. */
static bool field_fits(Checker *c, const Constraint *k, Type *t, Type *field) {
  if (tc_unify(c, field, k->t[1])) return true;
  if (!k->via) {
    tc_report_clash(c, field, k->t[1], (Place){.at = k->at});
    return true;
  }
  /* A class is what is needed only where the type itself is open: a literal's type has classes, too. */
  bool open = type_repr(k->t[1])->kind == TY_VAR;
  unsigned cls = open && c->clash.kind == CLASH_CLASS ? c->clash.cls : 0;
  const char *needed = cls & (CLASS_NUM | CLASS_SCALAR) ? "a number"
                       : cls & CLASS_DIFF               ? "a float"
                                                        : tc_kind_text(c, k->t[1]);
  Diag *d = diag_error(c->diags, k->at, tc_diag_code(D_TYPE_MISMATCH), "the field `%s` is %s in %s, but %s is needed",
                       k->field, type_text(c, field), type_text(c, t), needed);
  show_way(c, k, d);
  return true;
}

/* Another use of the same field of the same open record has its type. */
static bool step_open_field(Checker *c, Constraint *k, Type *t) {
  for (const Waiting *w = t->level == LEVEL_GENERIC ? NULL : t->pending; w; w = w->next) {
    const Constraint *other = w->k;
    if (other == k || other->done || other->kind != C_FIELD || other->field != k->field) continue;
    if (type_repr(other->t[0]) == t) return same(c, k, other->t[1], k->t[1]);
  }
  return false;
}

static bool step_field(Checker *c, Constraint *k) {
  Type *t = type_repr(k->t[0]), *field = field_of(t, k->field);
  if (t->kind == TY_VAR && tc_require(c, t, CLASS_RECORD)) return step_open_field(c, k, t);
  if (field) return field_fits(c, k, t, field);
  fail_field(c, k, t);
  tc_unify(c, k->t[1], c->t_error);
  return true;
}

static Type *innermost(Type *t) {
  t = type_repr(t);
  while (t->kind == TY_ARRAY) t = type_repr(t->args[0]);
  return t;
}

static bool step_leaf(Checker *c, Constraint *k) {
  Type *t = innermost(k->t[1]);
  bool leaf = t->kind != TY_VAR || tc_is_scalar(t) || is_structure(t) || t == type_repr(k->t[0]);
  return leaf && same(c, k, t, k->t[0]);
}

static bool step(Checker *c, Constraint *k) {
  c->at = k->at;
  for (int i = 0; i < k->n; i++)
    if (type_repr(k->t[i])->kind == TY_ERROR) {
      for (int j = 0; j < k->n; j++) tc_unify(c, k->t[j], c->t_error);
      return true;
    }
  switch (k->kind) {
  case C_MUL: return step_mul(c, k);
  case C_DIVISOR: return step_divisor(c, k);
  case C_SCALE: return step_scale(c, k);
  case C_HOLDS: return step_holds(c, k);
  case C_MATMUL: return step_matmul(c, k);
  case C_CONCAT: return step_concat(c, k);
  case C_FIELD: return step_field(c, k);
  case C_LEAF: return step_leaf(c, k);
  }
  return true;
}

void tc_solve(Checker *c) {
  while (c->s.ready.len) {
    Constraint *k = c->s.ready.data[--c->s.ready.len];
    k->queued = false;
    if (k->done) continue;
    if (step(c, k)) k->done = true;
    else wait(c, k);
  }
}

void tc_report_endless_record(Checker *c, Constraint *k) {
  Diag *d = diag_error(c->diags, k->at, tc_diag_code(D_INFINITE_TYPE),
                       "the field `%s` of this record would contain the record itself", k->field);
  d->hint = "what contains others of its kind is a variant: type node = End | Node of {value : int, next : node}";
  show_way(c, k, d);
  k->done = true;
  tc_unify(c, k->t[0], c->t_error);
}

/* ---- Defaults --------------------------------------------------------------------- */
static void settle_scale(Checker *c, Constraint *k) {
  Leaves l;
  tc_scan_leaves(c, k->t[1], &l);
  if (l.nopen) same(c, k, l.open[0], k->t[0]);
}

static void settle_matmul(Checker *c, Constraint *k) {
  int a = float_rank(c, k->t[1]), b = float_rank(c, k->t[2]);
  if (!a) set_rank(c, k, k->t[1], 2);
  if (!b) set_rank(c, k, k->t[2], 2);
}

static void report_ambiguous(Checker *c, Constraint *k) {
  bool field = k->kind == C_FIELD;
  if (tc_no_errors(c)) {
    const char *message = field ? tc_format(c, "it isn't known which record `.%s` is a field of", k->field)
                                : "it isn't known what `++` joins here";
    Diag *d = diag_error(c->diags, k->at, tc_diag_code(D_AMBIGUOUS), "%s", message);
    d->hint = field ? "annotate the record, as in `(p : point)`, or declare its `type` before"
                    : "annotate an operand, as in `(s : string)`";
    if (field) show_way(c, k, d);
  }
  k->done = true;
  for (int i = 0; i < k->n; i++) tc_unify(c, k->t[i], c->t_error);
}

/* A record that is still open is of the latest type declared with all the fields used of it. */
static bool settle_record(Checker *c, Type *record, const Sym *fields, int n) {
  TypeName *t = tc_record_type_with(c, fields, n);
  if (!t) return false;
  Type **args = NEW_ARRAY(c->temp, Type *, t->nparams ? t->nparams : 1);
  c->s.level++; /* of the item that is about to end: it may quantify them */
  for (int i = 0; i < t->nparams; i++) args[i] = type_var(c, 0);
  tc_unify(c, record, tc_instantiate_alias(c, t, args));
  tc_solve(c);
  c->s.level--;
  return true;
}

/* If there is none, and only uses of functions made it a record, nothing of the program is ever such a record: one of
 * just these fields will do. */
static void settle_field(Checker *c, Constraint *k, Leftover left) {
  Type *record = type_repr(k->t[0]);
  Vec(Sym) fields = {0};
  Types types = {0};
  bool closed = left != LEFT_ERROR;
  for (int i = 0; i < c->s.relations.len; i++) {
    Constraint *other = c->s.relations.data[i];
    if (other->done || other->kind != C_FIELD || type_repr(other->t[0]) != record) continue;
    vec_push(c->temp, fields, other->field);
    vec_push(c->temp, types, other->t[1]);
    closed &= left == LEFT_CLOSED || other->via;
  }
  bool free = tc_no_errors(c) && record->level != LEVEL_GENERIC;
  if (free && settle_record(c, record, fields.data, fields.len)) return;
  if (free && closed) tc_unify(c, record, type_record(c, fields.data, types.data, fields.len, k->at));
  else report_ambiguous(c, k);
}

void tc_relation_settle(Checker *c, Constraint *k, Leftover record) {
  if (k->done) return;
  switch (k->kind) {
  case C_MUL:
    if (same(c, k, k->t[1], k->t[2])) same(c, k, k->t[1], k->t[0]);
    break;
  case C_DIVISOR: same(c, k, k->t[0], k->t[1]); break;
  case C_SCALE: settle_scale(c, k); break;
  case C_HOLDS: {
    Leaves l;
    tc_scan_leaves(c, k->t[0], &l);
    if (l.nopen) classed(c, k, l.open[0], k->classes);
    break;
  }
  case C_MATMUL: settle_matmul(c, k); break;
  case C_LEAF: same(c, k, innermost(k->t[1]), k->t[0]); break;
  case C_CONCAT: report_ambiguous(c, k); break;
  case C_FIELD: settle_field(c, k, record); break;
  }
  tc_solve(c);
  k->done = true;
}
