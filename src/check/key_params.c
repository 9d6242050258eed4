/* SPDX-License-Identifier: MIT */
/* Parameters of variants that are marked `key`, and types declared `as "…"`.
 *
 *   type (key 'k, 'v) t as "Map.of_array" = Empty | Bin of ('k, 'v) t * 'k * 'v * ('k, 'v) t * int
 *
 * What such a parameter stands for is compared and shown, but holds no leaves: arithmetic and derivatives leave it as
 * it is. A component of a constructor's argument belongs to the keys as a whole or not at all, so each Ctor says which
 * do (Ctor.keys). Nor are leaves the ints of such a type's own, sizes or heights. A type declared `as` is a tree: its
 * values are shown as what lies between the subtrees, in order. */
#include "check/check_internal.h"

typedef struct KeyScan {
  const DataDecl *of;
  bool key, leaf; /* found: a parameter marked `key`, and anything with leaves */
} KeyScan;

static void scan(KeyScan *s, Type *t, int depth) {
  t = type_repr(t);
  if (depth > LIMIT_TYPE_DEPTH) return;
  if (t->kind == TY_INT || t->kind == TY_FLOAT || t->kind == TY_FUN) s->leaf = true;
  for (int i = 0; t->kind == TY_VAR && i < s->of->nparams; i++)
    if (s->of->params[i] == t) *(s->of->keys[i] ? &s->key : &s->leaf) = true;
  for (int i = 0; t->kind != TY_VAR && i < t->n; i++)
    if (t->kind != TY_DATA || !t->data->keys[i]) scan(s, t->args[i], depth + 1);
}

static bool has_keys(const DataDecl *d) {
  bool any = false;
  for (int i = 0; i < d->nparams; i++) any |= d->keys[i];
  return any;
}

static CtorPart part(Checker *c, const Ctor *k, Type *t) {
  KeyScan s = {.of = k->data};
  if (has_keys(k->data) && type_repr(t)->kind == TY_INT) return PART_COUNT;
  scan(&s, t, 0);
  if (s.key && s.leaf)
    diag_error(c->diags, k->span, tc_diag_code(D_TYPE_MISMATCH),
               "`%s` has a component in which a parameter marked `key` stands beside what isn't one", k->name)
        ->hint = "make them components of their own: Node of 'k * 'v, not Node of ('k * 'v)[]";
  return s.key ? PART_KEY : PART_LEAVES;
}

static bool has_components(const Type *t) { return t->kind == TY_TUPLE || t->kind == TY_RECORD; }

void tc_find_keys(Checker *c, Ctor *k) {
  if (!k->arg) return;
  Type *t = type_repr(k->arg);
  int n = has_components(t) ? t->n : 1;
  uint8_t any = 0, *keys = NEW_ARRAY(c->arena, uint8_t, n + 1);
  for (int i = 0; i < n; i++) any |= keys[i] = (uint8_t)part(c, k, has_components(t) ? t->args[i] : t);
  if (any) k->keys = keys;
}

static bool is_self(const DataDecl *d, const Type *t) { return t->kind == TY_DATA && t->data == d; }

/* Two components of the type itself, with at least one between them. */
static bool is_branching(const DataDecl *d, const Ctor *k) {
  const Type *t = k->arg ? type_repr(k->arg) : NULL;
  int n = 0, first = -1, last = -1;
  if (!t || t->kind != TY_TUPLE) return false;
  for (int i = 0; i < t->n; i++) {
    if (!is_self(d, type_repr(t->args[i]))) continue;
    if (n++ == 0) first = i;
    last = i;
  }
  return n == 2 && last > first + 1;
}

void tc_check_shown_as(Checker *c, const TypeDecl *decl, const DataDecl *d) {
  int leaves = 0, branchings = 0;
  if (!d->shown_as) return;
  for (int i = 0; i < d->nctors; i++)
    if (!d->ctors[i]->arg) leaves++;
    else if (is_branching(d, d->ctors[i])) branchings++;
  if (leaves == 1 && branchings == 1 && d->nctors == 2) return;
  diag_error(c->diags, decl->shown_span, tc_diag_code(D_TYPE_MISMATCH), "`as` stands only in declarations of trees")
      ->hint = "one constructor without argument, one with two subtrees: type 'k t as \"of_array\" = Empty | Bin of 'k "
               "t * 'k * 'k t";
}

void tc_check_alias_marks(Checker *c, const TypeDecl *d) {
  bool marked = d->shown_as != NULL;
  for (int i = 0; i < d->nparams; i++) marked |= d->keys[i];
  if (marked)
    diag_error(c->diags, d->span, tc_diag_code(D_TYPE_MISMATCH),
               "`%s` is an abbreviation: only variants take `key` and "
               "`as`",
               d->name);
}
