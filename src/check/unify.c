/* SPDX-License-Identifier: MIT */
/* Equality of types, by unification with levels.
 *
 * A variable has the level of the let inside of which it was made; binding it
 * lowers the levels of what it is bound to, so that at the end of a let the
 * variables of a deeper level are those nothing outside knows. Binding also
 * passes the variable's classes on (require) and wakes the relations that wait
 * for it (solver.c). A failure leaves what was unified before it, which does no
 * harm: the error is reported and the program is not run. */
#include "check/check_internal.h"

static bool clash(Checker *c, ClashKind kind, Type *a, Type *b, unsigned cls) {
  c->clash = (Clash){kind, a, b, cls};
  return false;
}

/* Quantified variables meet unification only where a derivative rule is checked against a finished type. */
static bool is_rigid(const Type *t) { return t->kind == TY_VAR && t->level == LEVEL_GENERIC; }

/* Lowers levels in t to that of v and looks for v in it. */
static bool adopt(Checker *c, Type *v, Type *t, int depth) {
  t = type_repr(t);
  if (t == v) return clash(c, CLASH_INFINITE, v, t, 0);
  if (depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return clash(c, CLASH_SIZE, v, t, 0);
  if (t->kind == TY_VAR && t->level > v->level && !is_rigid(t)) t->level = v->level;
  for (int i = 0; i < t->n; i++)
    if (!adopt(c, v, t->args[i], depth + 1)) {
      if (c->clash.kind == CLASH_INFINITE) c->clash.b = t;
      return false;
    }
  return true;
}

static void set_link(Checker *c, Type *v, Type *t) {
  SAVE(c->arena, v->link);
  v->link = t;
  vec_push(c->temp, c->s.bound, v);
}

/* Whether v, which has a field, can be t, or the other way round. */
static bool record_fits(const Type *v, const Type *t) {
  if (t->kind != TY_VAR) return t->kind == TY_RECORD || !(v->classes & CLASS_RECORD);
  unsigned both = CLASS_RECORD | CLASS_SCALAR;
  return ((v->classes | t->classes) & both) != both;
}

static bool bind(Checker *c, Type *v, Type *t) {
  bool effect = t->kind == TY_PURE || t->kind == TY_EFFECT || (t->kind == TY_VAR && t->classes & CLASS_EFFECT);
  if (effect != !!(v->classes & CLASS_EFFECT)) return clash(c, CLASH_TYPES, v, t, 0);
  if (!record_fits(v, t)) return clash(c, CLASH_TYPES, v, t, 0);
  if (!adopt(c, v, t, 0)) return false;
  set_link(c, v, t);
  tc_relation_merge(c, v, t);
  if (t->kind == TY_VAR && !t->user_name) t->user_name = v->user_name;
  unsigned classes = v->classes & ~(unsigned)CLASS_EFFECT;
  if (!classes || tc_require(c, t, classes)) return true;
  v->link = NULL; /* the message should show what it was */
  return false;
}

/* What an erroneous type meets is erroneous too, so that nothing more is said of it. */
static bool spread_error(Checker *c, Type *a, Type *b) {
  Type *v = a->kind == TY_ERROR ? b : a;
  if (v->kind == TY_VAR && !is_rigid(v) && !(v->classes & CLASS_EFFECT)) {
    set_link(c, v, c->t_error);
    tc_relation_wake(c, v);
  }
  return true;
}

static bool unify_at(Checker *c, Type *a, Type *b, int depth) {
  a = type_repr(a);
  b = type_repr(b);
  if (a == b) return true;
  if (a->kind == TY_ERROR || b->kind == TY_ERROR) return spread_error(c, a, b);
  if (depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return clash(c, CLASH_SIZE, a, b, 0);
  if (a->kind == TY_VAR && !is_rigid(a)) return bind(c, a, b);
  if (b->kind == TY_VAR && !is_rigid(b)) return bind(c, b, a);
  if (a->kind != b->kind || is_rigid(a)) {
    bool effect = a->kind == TY_PURE || a->kind == TY_EFFECT;
    return clash(c, effect ? CLASH_EFFECT : CLASH_TYPES, a, b, 0);
  }
  if (a->n != b->n || (a->kind == TY_DATA && a->data != b->data)) return clash(c, CLASH_TYPES, a, b, 0);
  for (int i = 0; a->kind == TY_RECORD && i < a->n; i++)
    if (a->names[i] != b->names[i]) return clash(c, CLASH_TYPES, a, b, 0);
  for (int i = 0; i < a->n; i++)
    if (!unify_at(c, a->args[i], b->args[i], depth + 1)) return false;
  return true;
}

bool tc_unify(Checker *c, Type *a, Type *b) {
  c->steps = LIMIT_TYPE_STEPS;
  return unify_at(c, a, b, 0);
}

/* ---- Classes -------------------------------------------------------------------- */
/* ord, eq, show: all parts must have them; nothing with a function in it has. */
static bool require_parts(Checker *c, Type *t, unsigned classes) {
  Leaves l;
  tc_scan_leaves(c, t, &l);
  if (l.has_fun) return clash(c, CLASH_CLASS, t, NULL, classes & -classes);
  for (int i = 0; i < l.nopen; i++) l.open[i]->classes |= classes;
  return true;
}

/* num, diff: some leaf must be a number. */
static bool require_leaf(Checker *c, Type *t, unsigned cls) {
  Leaves l;
  tc_scan_leaves(c, t, &l);
  if (l.has_float || (cls == CLASS_NUM && l.has_int)) return true;
  if (!l.nopen) return clash(c, CLASH_CLASS, t, NULL, cls);
  if (l.nopen == 1) return tc_require(c, l.open[0], cls);
  tc_relation_holds(c, t, cls);
  return true;
}

/* A quantified variable has the classes it was declared with, and what follows from them. */
static bool require_rigid(Checker *c, Type *v, unsigned classes) {
  unsigned has = v->classes;
  if (has & CLASS_DIFF) has |= CLASS_NUM;
  if (has & CLASS_SCALAR) has |= CLASS_NUM | CLASS_ORD | CLASS_EQ | CLASS_SHOW;
  if (has & CLASS_ORD) has |= CLASS_EQ;
  unsigned lacks = classes & ~has;
  return !lacks || clash(c, CLASH_CLASS, v, NULL, lacks & -lacks);
}

static bool require_var(Checker *c, Type *v, unsigned classes) {
  if (is_rigid(v)) return require_rigid(c, v, classes);
  unsigned kinds = CLASS_SCALAR | CLASS_RECORD, before = v->classes & kinds;
  if (((before | classes) & kinds) == kinds) return clash(c, CLASH_CLASS, v, NULL, CLASS_SCALAR);
  v->classes |= classes;
  unsigned float_only = CLASS_SCALAR | CLASS_DIFF;
  if ((v->classes & float_only) == float_only) return bind(c, v, c->t_float);
  if (!before && classes & kinds) tc_relation_wake(c, v);
  return true;
}

bool tc_require(Checker *c, Type *t, unsigned classes) {
  t = type_repr(t);
  switch (t->kind) {
  case TY_ERROR:
  case TY_FLOAT: return true;
  case TY_VAR: return require_var(c, t, classes);
  case TY_INT: return !(classes & CLASS_DIFF) || clash(c, CLASH_CLASS, t, NULL, CLASS_DIFF);
  default: break;
  }
  if (classes & CLASS_SCALAR) return clash(c, CLASH_CLASS, t, NULL, CLASS_SCALAR);
  unsigned parts = classes & (CLASS_ORD | CLASS_EQ | CLASS_SHOW);
  if (parts && !require_parts(c, t, parts)) return false;
  if (classes & CLASS_DIFF) return require_leaf(c, t, CLASS_DIFF);
  return !(classes & CLASS_NUM) || require_leaf(c, t, CLASS_NUM);
}

static void lower(Checker *c, Type *t, int level, int depth) {
  t = type_repr(t);
  if (depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return;
  if (t->kind == TY_VAR && t->level > level && !is_rigid(t)) t->level = level;
  for (int i = 0; i < t->n; i++) lower(c, t->args[i], level, depth + 1);
}

void tc_lower_levels(Checker *c, Type *t, int level) {
  c->steps = LIMIT_TYPE_STEPS;
  lower(c, t, level, 0);
}
