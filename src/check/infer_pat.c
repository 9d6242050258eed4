/* SPDX-License-Identifier: MIT */
/* Patterns: the type of the values a pattern is for, and the bindings it makes.
 *
 * Bindings go to a list first; the caller puts them in scope when the values
 * they name are known. In an or-pattern both sides must bind the same names;
 * the right side's patterns share the left side's bindings. */
#include "check/check_internal.h"

static Binding *find_binding(const Bindings *bs, Sym name) {
  for (int i = 0; i < bs->len; i++)
    if (bs->data[i]->name == name) return bs->data[i];
  return NULL;
}

static Binding *new_binding(Checker *c, Pat *p, Type *t, Bindings *out, BindingKind kind) {
  if (find_binding(out, p->name.name))
    diag_error(c->diags, p->span, tc_diag_code(D_DUPLICATE), "`%s` is bound twice in this pattern", p->name.name);
  Binding *b = NEW(c->arena, Binding);
  b->kind = kind;
  b->name = p->name.name;
  b->span = p->name.span.source ? p->name.span : p->span;
  b->type = t;
  b->depth = c->s.depth;
  b->loops = c->s.loops;
  if (kind == BIND_TOP) b->module = c->s.module;
  vec_push(c->temp, *out, b);
  p->binding = b;
  return b;
}

static Type *pat_record(Checker *c, Pat *p, Bindings *out, BindingKind kind) {
  Type **types = NEW_ARRAY(c->temp, Type *, p->nargs ? p->nargs : 1);
  for (int i = 0; i < p->nargs; i++) types[i] = tc_infer_pat(c, p->args[i], out, kind);
  if (!p->open) return type_record(c, p->fields, types, p->nargs, p->span);
  Type *t = type_var(c, CLASS_RECORD);
  for (int i = 0; i < p->nargs; i++) tc_relation_field(c, p->args[i]->span, t, p->fields[i], types[i]);
  return t;
}

/* The type of a constructor's values, with fresh arguments; *arg is what it takes, or NULL. */
Type *tc_ctor_type(Checker *c, Ctor *k, Type **arg) {
  DataDecl *d = k->data;
  Type **args = NEW_ARRAY(c->temp, Type *, d->nparams ? d->nparams : 1);
  for (int i = 0; i < d->nparams; i++) args[i] = type_var(c, d->params[i]->classes);
  *arg = ctor_arg_type(c->arena, k, args);
  return type_data(c, d, args);
}

static Type *pat_ctor(Checker *c, Pat *p, Bindings *out, BindingKind kind) {
  Ctor *k = p->ctor = tc_lookup_ctor(c, p->name);
  if (!k) {
    if (p->nargs) tc_infer_pat(c, p->args[0], out, kind);
    return c->t_error;
  }
  Type *arg, *t = tc_ctor_type(c, k, &arg);
  if (p->nargs) {
    Type *got = tc_infer_pat(c, p->args[0], out, kind);
    if (arg)
      tc_expect_type(
          c, arg, got,
          (Place){.at = p->args[0]->span, .also = k->span, .also_label = "the constructor is declared here"});
  }
  if (!!arg != !!p->nargs) {
    Diag *d = diag_error(c->diags, p->span, tc_diag_code(D_CTOR_ARITY), "the constructor `%s` takes %s", k->name,
                         arg ? "an argument" : "no argument");
    if (arg) d->hint = tc_format(c, "`%s _` matches any", k->name);
    d->also = k->span;
    d->also_label = "declared here";
  }
  return t;
}

static bool is_cons(Checker *c, const Pat *p) {
  return p->kind == P_CTOR && p->name.name == sym_of(c->syms, "::") && p->nargs == 1 && p->args[0]->kind == P_TUPLE &&
         p->args[0]->nargs == 2;
}

/* p :: q :: …, along the chain: all heads have one type, all tails the list's. */
static Type *pat_cons(Checker *c, Pat *p, Bindings *out, BindingKind kind) {
  Ctor *k = tc_lookup_ctor(c, p->name);
  Type *arg = NULL, *list = k ? tc_ctor_type(c, k, &arg) : c->t_error;
  Type *elem = arg && arg->kind == TY_TUPLE ? arg->args[0] : c->t_error;
  for (;; p = p->args[0]->args[1]) {
    Pat *pair = p->args[0];
    p->ctor = k;
    p->type = list;
    pair->type = arg ? arg : c->t_error;
    tc_expect_type(c, elem, tc_infer_pat(c, pair->args[0], out, kind), (Place){.at = pair->args[0]->span});
    if (is_cons(c, pair->args[1])) continue;
    tc_expect_type(c, list, tc_infer_pat(c, pair->args[1], out, kind), (Place){.at = pair->args[1]->span});
    return list;
  }
}

/* Both sides bind the same names at the same types. */
static void share_bindings(Checker *c, Pat *p, const Bindings *left) {
  if (p->kind == P_VAR || p->kind == P_AS) {
    Binding *b = find_binding(left, p->name.name);
    if (b) {
      tc_expect_type(c, b->type, p->binding->type,
                     (Place){.at = p->span, .also = b->span, .also_label = "bound here too"});
      p->binding = b;
    }
  }
  for (int i = 0; i < p->nargs; i++) share_bindings(c, p->args[i], left);
}

static Type *pat_or(Checker *c, Pat *p, Bindings *out, BindingKind kind) {
  Bindings left = {0}, right = {0};
  Type *l = tc_infer_pat(c, p->args[0], &left, kind);
  Type *r = tc_infer_pat(c, p->args[1], &right, kind);
  tc_expect_type(c, l, r,
                 (Place){.at = p->args[1]->span, .also = p->args[0]->span, .also_label = "both sides need one type"});
  for (int i = 0; i < left.len + right.len; i++) {
    Binding *b = i < left.len ? left.data[i] : right.data[i - left.len];
    if (!find_binding(i < left.len ? &right : &left, b->name))
      diag_error(c->diags, b->span, tc_diag_code(D_UNBOUND_NAME), "`%s` is bound on one side of `|` only", b->name);
  }
  share_bindings(c, p->args[1], &left);
  for (int i = 0; i < left.len; i++) {
    if (find_binding(out, left.data[i]->name))
      diag_error(c->diags, p->span, tc_diag_code(D_DUPLICATE), "`%s` is bound twice in this pattern",
                 left.data[i]->name);
    vec_push(c->temp, *out, left.data[i]);
  }
  return l;
}

static Type *pat_type(Checker *c, Pat *p, Bindings *out, BindingKind kind) {
  switch (p->kind) {
  case P_WILD: return type_var(c, 0);
  case P_VAR: return new_binding(c, p, type_var(c, 0), out, kind)->type;
  case P_INT: p->f = (double)p->i; return type_var(c, CLASS_SCALAR);
  case P_FLOAT: return c->t_float;
  case P_BOOL: return c->t_bool;
  case P_STRING: return c->t_string;
  case P_UNIT: return c->t_unit;
  case P_RECORD: return pat_record(c, p, out, kind);
  case P_CTOR: return is_cons(c, p) ? pat_cons(c, p, out, kind) : pat_ctor(c, p, out, kind);
  case P_OR: return pat_or(c, p, out, kind);
  case P_TUPLE: {
    Type *t = type_new(c, TY_TUPLE, p->nargs);
    for (int i = 0; i < p->nargs; i++) t->args[i] = tc_infer_pat(c, p->args[i], out, kind);
    return t;
  }
  case P_ARRAY: {
    Type *elem = type_var(c, 0);
    for (int i = 0; i < p->nargs; i++)
      tc_expect_type(c, elem, tc_infer_pat(c, p->args[i], out, kind), (Place){.at = p->args[i]->span});
    return type_array(c, elem);
  }
  case P_AS: {
    Type *t = tc_infer_pat(c, p->args[0], out, kind);
    new_binding(c, p, t, out, kind);
    return t;
  }
  case P_ANNOT: {
    Type *t = tc_infer_pat(c, p->args[0], out, kind), *want = tc_resolve_annotation(c, p->annot);
    tc_expect_type(c, want, t, (Place){.at = p->args[0]->span, .also = p->annot->span, .also_label = "annotated here"});
    return want;
  }
  }
  return c->t_error;
}

Type *tc_infer_pat(Checker *c, Pat *p, Bindings *out, BindingKind kind) { return p->type = pat_type(c, p, out, kind); }

void tc_push_bindings(Checker *c, const Bindings *bs) {
  for (int i = 0; i < bs->len; i++) tc_local_push(c, bs->data[i]);
}

/* A pattern outside of match is looked at with the item's matches: it should match everything. */
void tc_must_match(Checker *c, Pat *p) {
  if (p->kind == P_VAR || p->kind == P_WILD || p->kind == P_UNIT) return;
  MatchCheck m = {.scrutinee = p->type, .pat = p, .at = p->span};
  vec_push(c->temp, c->s.matches, m);
}
