/* SPDX-License-Identifier: MIT */
/* Relations between types that can't be decided where they arise: what `*`,
 * `/`, `@`, `++`, `p.field` and a shape mean depends on types that may be known
 * later only.
 *
 * A relation waits on its open variables (Type.pending). When one is bound, or
 * becomes a scalar, the relation is made ready again, and tc_solve() tries it:
 * each step either decides it, improves what is known, or leaves it waiting.
 * The rules only ever use what is known for certain, so the order of attempts
 * doesn't matter. At the end of an item what is left is settled by its default
 * (relation_settle), or, for operators, made part of a function's type
 * (generalise.c).
 *
 * `*` has these meanings: both sides one type, leaf by leaf; or scalar times
 * structure; or structure times scalar. So as soon as one side is a scalar the
 * result is the other side's type, and as soon as one side is a structure, the
 * result is that structure. */
#include "check/check_internal.h"

Constraint *tc_relation_new(Checker *c, ConstraintKind kind, Span at, Type *t0, Type *t1, Type *t2) {
  Constraint *k = NEW(c->temp, Constraint);
  k->kind = kind;
  k->at = at;
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

/* What operators mean becomes part of a function's type; the rest is settled with the item. */
bool tc_relation_generalises(const Constraint *k) { return k->kind <= C_CONCAT; }

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
  bool renamed =
      t->kind == TY_VAR && t->level != LEVEL_GENERIC && tc_is_scalar(t) == ((v->classes & CLASS_SCALAR) != 0);
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
  for (int i = 0; i < k->n; i++) {
    tc_scan_leaves(c, k->t[i], &l);
    for (int j = 0; j < l.nopen; j++) wait_for(c, l.open[j], k);
  }
}

/* ---- Steps: true when the relation is decided ------------------------------------ */
static Place place_of(Checker *c, const Constraint *k) {
  return (Place){.at = k->at, .label = k->user ? tc_format(c, "needed by this use of `%s`", k->user) : NULL};
}

static const char int_float_hint[] =
    "`float n` makes a float of an int, and `int x` an int of a float; the literal 1.0 is a float";

static void fail_mismatch(Checker *c, Constraint *k, Type *want, Type *got) {
  Place p = place_of(c, k);
  bool numbers = tc_is_scalar(want) && tc_is_scalar(got); /* in the body of the function: not what stands here */
  if (k->user && numbers) p.hint = int_float_hint;
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

static bool is_var(Type *t) { return type_repr(t)->kind == TY_VAR; }

/* The relation goes on as another one, of the two types. */
static bool becomes(Checker *c, Constraint *k, ConstraintKind kind, Type *t0, Type *t1) {
  Constraint *new = tc_relation_new(c, kind, k->at, t0, t1, NULL);
  new->divides = k->divides;
  new->user = k->user;
  return true;
}

static bool step_mul(Checker *c, Constraint *k) {
  Type *r = type_repr(k->t[0]), *a = type_repr(k->t[1]), *b = type_repr(k->t[2]);
  if (tc_is_scalar(a)) return same(c, k, r, b) && becomes(c, k, C_SCALE, a, b);
  if (tc_is_scalar(b)) return same(c, k, r, a) && becomes(c, k, C_SCALE, b, a);
  if (a == b || (!is_var(a) && !is_var(b)) || tc_is_scalar(r)) {
    if (!tc_unify(c, a, b)) {
      fail_mismatch(c, k, a, b);
      return true;
    }
    return same(c, k, a, r);
  }
  if (!is_var(a) || r == a) return same(c, k, r, a) && becomes(c, k, C_DIVISOR, a, b);
  if (!is_var(b) || r == b) return same(c, k, r, b) && becomes(c, k, C_DIVISOR, b, a);
  return false;
}

static bool step_divisor(Checker *c, Constraint *k) {
  Type *a = type_repr(k->t[0]), *b = type_repr(k->t[1]);
  if (a == b) return true;
  if (tc_is_scalar(b)) return becomes(c, k, C_SCALE, b, a);
  if (!is_var(b) || tc_is_scalar(a)) return same(c, k, a, b);
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
  return set_rank(c, k, k->t[1], a) && set_rank(c, k, k->t[2], b) && set_rank(c, k, r, a + b - 2);
}

static bool step_concat(Checker *c, Constraint *k) {
  Type *t = type_repr(k->t[0]);
  if (t->kind == TY_VAR && !tc_is_scalar(t)) return false;
  bool list = tc_is_predefined(c, t, "list");
  if (t->kind == TY_STRING || t->kind == TY_ARRAY || t->kind == TY_ERROR || list) return true;
  Diag *d = diag_error(c->diags, k->at, tc_diag_code(D_TYPE_MISMATCH), "`++` joins strings, lists or arrays, not %s",
                       t->kind == TY_VAR ? "numbers" : type_text(c, t));
  if (tc_is_scalar(t)) d->hint = "numbers are added with `+`; `show x` makes a string";
  return true;
}

static const char *fields_hint(Checker *c, const Type *record) {
  Str text = {.arena = c->temp};
  for (int i = 0; i < record->n && i < 8; i++) str_printf(&text, "%s`%s`", i ? ", " : "", record->names[i]);
  return tc_format(c, "its fields are %s%s", text.data, record->n > 8 ? ", …" : "");
}

static void fail_field(Checker *c, Constraint *k, Type *t) {
  if (t->kind != TY_RECORD) {
    Diag *d = diag_error(c->diags, k->at, tc_diag_code(D_NOT_A_RECORD), "%s has no fields: `%s` needs a record",
                         type_text(c, t), k->field);
    if (t->kind == TY_TUPLE) d->hint = "the parts of a tuple are taken by a pattern: let (a, b) = p in …";
    else if (tc_module_value(c, c->s.module, k->field))
      d->hint = tc_format(c, "`%s` is a function: write `%s x`", k->field, k->field);
    return;
  }
  Diag *d = diag_error(c->diags, k->at, tc_diag_code(D_UNKNOWN_FIELD), "there is no field `%s` in %s", k->field,
                       type_text(c, t));
  Sym near = nearest_name(k->field, t->names, t->n);
  d->hint = near ? tc_format(c, "did you mean `%s`?", near) : fields_hint(c, t);
}

static bool step_field(Checker *c, Constraint *k) {
  Type *t = type_repr(k->t[0]);
  if (t->kind == TY_VAR) return false;
  if (t->kind == TY_ERROR) return tc_unify(c, k->t[1], c->t_error) || true;
  for (int i = 0; t->kind == TY_RECORD && i < t->n; i++)
    if (t->names[i] == k->field) return same(c, k, t->args[i], k->t[1]);
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
  return (t->kind != TY_VAR || tc_is_scalar(t) || t == type_repr(k->t[0])) && same(c, k, t, k->t[0]);
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
    diag_error(c->diags, k->at, tc_diag_code(D_AMBIGUOUS), "%s", message)->hint =
        field ? "annotate the record, as in `(p : point)`, or declare its `type` before"
              : "annotate an operand, as in `(s : string)`";
  }
  k->done = true;
  for (int i = 0; i < k->n; i++) tc_unify(c, k->t[i], c->t_error);
}

void tc_relation_settle(Checker *c, Constraint *k) {
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
  case C_CONCAT:
  case C_FIELD: report_ambiguous(c, k); break;
  }
  tc_solve(c);
  k->done = true;
}

/* A record that is still open is of the latest type declared with all the fields used of it. */
static bool settle_record(Checker *c, Type *record) {
  Vec(Sym) fields = {0};
  for (int i = 0; i < c->s.relations.len; i++) {
    Constraint *k = c->s.relations.data[i];
    if (!k->done && k->kind == C_FIELD && type_repr(k->t[0]) == record) vec_push(c->temp, fields, k->field);
  }
  TypeName *t = tc_record_type_with(c, fields.data, fields.len);
  if (!t) return false;
  Type **args = NEW_ARRAY(c->temp, Type *, t->nparams ? t->nparams : 1);
  c->s.level++; /* of the item that is about to end: it may quantify them */
  for (int i = 0; i < t->nparams; i++) args[i] = type_var(c, 0);
  tc_unify(c, record, tc_instantiate_alias(c, t, args));
  tc_solve(c);
  c->s.level--;
  return true;
}

void tc_settle_fields(Checker *c) {
  for (int i = 0; i < c->s.relations.len; i++) {
    Constraint *k = c->s.relations.data[i];
    if (k->done || k->kind != C_FIELD) continue;
    Type *record = type_repr(k->t[0]);
    if (record->kind == TY_VAR && !settle_record(c, record)) tc_relation_settle(c, k);
  }
}
