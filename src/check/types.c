/* SPDX-License-Identifier: MIT */
/* Making, copying and scanning types.
 *
 * Types are built once and never changed, but for variables, which are linked
 * to what they turn out to be. Always look at type_repr(t). A type may share
 * parts and be, written out, exponentially large; so every walk has a budget
 * of steps and a limit of depth. */
#include "check/check_internal.h"
#include <string.h>

Type *type_new(Checker *c, TypeKind kind, int n) {
  Type *t = NEW(c->arena, Type);
  t->kind = kind;
  t->n = n;
  if (n) t->args = NEW_ARRAY(c->arena, Type *, n);
  return t;
}

Type *type_var(Checker *c, unsigned classes) {
  Type *t = type_new(c, TY_VAR, 0);
  t->level = c->s.level;
  t->id = c->next_id++;
  t->classes = classes;
  vec_push(c->temp, c->s.vars, t);
  return t;
}

Type *type_effect_var(Checker *c) { return type_var(c, CLASS_EFFECT); }

Type *type_fun(Checker *c, Type *param, Type *result, Type *effect) {
  Type *t = type_new(c, TY_FUN, 3);
  t->args[0] = param;
  t->args[1] = result;
  t->args[2] = effect;
  return t;
}

Type *type_array(Checker *c, Type *elem) {
  Type *t = type_new(c, TY_ARRAY, 1);
  t->args[0] = elem;
  return t;
}

Type *type_tuple(Checker *c, Type **parts, int n) {
  Type *t = type_new(c, TY_TUPLE, n);
  memcpy(t->args, parts, sizeof(Type *) * (size_t)n);
  return t;
}

Type *type_data(Checker *c, DataDecl *d, Type **args) {
  Type *t = type_new(c, TY_DATA, d->nparams);
  t->data = d;
  if (d->nparams) memcpy(t->args, args, sizeof(Type *) * (size_t)d->nparams);
  return t;
}

bool tc_is_scalar(Type *t) {
  t = type_repr(t);
  return t->kind == TY_INT || t->kind == TY_FLOAT || (t->kind == TY_VAR && (t->classes & CLASS_SCALAR));
}

static bool open_at(Checker *c, Type *t, int depth) {
  t = type_repr(t);
  if (t->kind == TY_VAR) return !(t->classes & CLASS_EFFECT);
  if (depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return false;
  for (int i = 0; i < t->n; i++)
    if (open_at(c, t->args[i], depth + 1)) return true;
  return false;
}

/* Whether a type variable (not an effect) is in t. */
bool tc_is_open(Checker *c, Type *t) {
  c->steps = LIMIT_TYPE_STEPS;
  return open_at(c, t, 0);
}

bool tc_within_size(Checker *c, Type *t, int depth) {
  t = type_repr(t);
  if (depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return false;
  for (int i = 0; i < t->n; i++)
    if (!tc_within_size(c, t->args[i], depth + 1)) return false;
  return true;
}

/* ---- Copies ------------------------------------------------------------------ */
/* t with other arguments; t itself when they are the same. */
static Type *with_args(Arena *a, Type *t, Type **args) {
  if (!memcmp(args, t->args, sizeof(Type *) * (size_t)t->n)) return t;
  Type *copy = NEW(a, Type);
  *copy = *t;
  copy->args = NEW_ARRAY(a, Type *, t->n);
  memcpy(copy->args, args, sizeof(Type *) * (size_t)t->n);
  return copy;
}

AliasUse *type_alias_use(Arena *a, const AliasUse *of) {
  AliasUse *copy = NEW(a, AliasUse);
  *copy = (AliasUse){of->name, NEW_ARRAY(a, Type *, of->nargs + 1), of->nargs};
  memcpy(copy->args, of->args, sizeof(Type *) * (size_t)of->nargs);
  return copy;
}

typedef struct Subst {
  Arena *arena;
  Type *const *vars;
  Type *const *with;
  int n;
} Subst;

static Type *subst(const Subst *s, Type *t, int depth);

/* A record keeps its name, with other arguments. */
static const AliasUse *subst_alias(const Subst *s, const AliasUse *alias, int depth) {
  AliasUse *copy = type_alias_use(s->arena, alias);
  for (int i = 0; i < alias->nargs; i++) copy->args[i] = subst(s, alias->args[i], depth + 1);
  return copy;
}

static Type *subst(const Subst *s, Type *t, int depth) {
  t = type_repr(t);
  if (t->kind == TY_VAR) {
    for (int i = 0; i < s->n; i++)
      if (s->vars[i] == t) return s->with[i];
    return t;
  }
  if (!t->n || depth > LIMIT_TYPE_DEPTH) return t;
  Type *few[8];
  Type **args = t->n <= 8 ? few : NEW_ARRAY(s->arena, Type *, t->n);
  for (int i = 0; i < t->n; i++) {
    Type *old = type_repr(t->args[i]), *new = subst(s, old, depth + 1);
    args[i] = new == old ? t->args[i] : new; /* so that with_args can see what changed */
  }
  Type *out = with_args(s->arena, t, args);
  if (out != t && t->kind == TY_RECORD && t->alias) out->alias = subst_alias(s, t->alias, depth);
  return out;
}

Type *type_subst(Arena *a, Type *t, Type *const *vars, Type *const *with, int n) {
  return n ? subst(&(Subst){a, vars, with, n}, t, 0) : t;
}

Type *ctor_arg_type(Arena *a, const Ctor *ctor, Type *const *data_args) {
  if (!ctor->arg) return NULL;
  return type_subst(a, ctor->arg, ctor->data->params, data_args, ctor->data->nparams);
}

/* Whether pure functions occur in t where a copy may loosen them. */
static bool has_pure(Checker *c, Type *t, int depth) {
  t = type_repr(t);
  if (t->kind == TY_PURE) return true;
  if (depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return false;
  for (int i = t->kind == TY_FUN ? 1 : 0; i < t->n; i++)
    if (has_pure(c, t->args[i], depth + 1)) return true;
  return false;
}

static Type *loosen(Checker *c, Type *t, int depth) {
  t = type_repr(t);
  if (t->kind == TY_PURE) return type_effect_var(c);
  if (!t->n || depth > LIMIT_TYPE_DEPTH) return t;
  Type *few[8];
  Type **args = t->n <= 8 ? few : NEW_ARRAY(c->temp, Type *, t->n);
  for (int i = 0; i < t->n; i++) {
    bool keep = t->kind == TY_FUN && i == 0;
    args[i] = !keep && has_pure(c, t->args[i], depth) ? loosen(c, t->args[i], depth + 1) : t->args[i];
  }
  return with_args(c->arena, t, args);
}

Type *type_loosen(Checker *c, Type *t) {
  c->steps = LIMIT_TYPE_STEPS;
  t = type_repr(t);
  return t->n && has_pure(c, t, 0) ? loosen(c, t, 0) : t;
}

/* ---- Leaves -------------------------------------------------------------------- */
/* What a variant's constructors hold, found once for each declaration. */
typedef struct DataLeaves {
  bool has_float, has_int, has_fun;
  bool *params; /* which parameters are leaves */
} DataLeaves;

typedef struct LeafScan {
  Checker *c;
  Vec(DataDecl *) seen;
  DataLeaves *out;
  DataDecl *of;
} LeafScan;

static void scan_decl(LeafScan *s, DataDecl *d);

/* Over a constructor's argument, whose variables are those of the declaration scanned. */
static void scan_generic(LeafScan *s, Type *t, int depth) {
  t = type_repr(t);
  if (depth > LIMIT_TYPE_DEPTH) return;
  switch (t->kind) {
  case TY_FLOAT: s->out->has_float = true; return;
  case TY_INT: s->out->has_int = true; return;
  case TY_FUN: s->out->has_fun = true; return;
  case TY_VAR:
    for (int i = 0; i < s->of->nparams; i++)
      if (s->of->params[i] == t) s->out->params[i] = true;
    return;
  case TY_DATA: scan_decl(s, t->data); break; /* and its arguments but keys, whether it holds them or not */
  default: break;
  }
  for (int i = 0; i < t->n; i++)
    if (t->kind != TY_DATA || !t->data->keys[i]) scan_generic(s, t->args[i], depth + 1);
}

/* Over the argument of a constructor, but for keys. */
static void scan_argument(LeafScan *s, const Ctor *k) {
  Type *t = k->arg ? type_repr(k->arg) : NULL;
  if (!t || (k->keys && t->kind != TY_TUPLE && t->kind != TY_RECORD)) return;
  if (!k->keys) scan_generic(s, t, 0);
  for (int i = 0; k->keys && i < t->n; i++)
    if (!k->keys[i]) scan_generic(s, t->args[i], 0);
}

static void scan_decl(LeafScan *s, DataDecl *d) {
  for (int i = 0; i < s->seen.len; i++)
    if (s->seen.data[i] == d) return;
  vec_push(s->c->temp, s->seen, d);
  for (int i = 0; i < d->nctors; i++) scan_argument(s, d->ctors[i]);
}

static DataLeaves *data_leaves(Checker *c, DataDecl *d) {
  DataLeaves *l = map_get(&c->data_leaves, d);
  if (l) return l;
  Arena *a = c->data_leaves.arena; /* c->arena may be one of a trial */
  l = NEW(a, DataLeaves);
  l->params = NEW_ARRAY(a, bool, d->nparams ? d->nparams : 1);
  LeafScan s = {.c = c, .out = l, .of = d};
  scan_decl(&s, d);
  map_put(&c->data_leaves, d, l);
  return l;
}

static void scan(Checker *c, Type *t, Leaves *out, int depth) {
  t = type_repr(t);
  if (depth > LIMIT_TYPE_DEPTH || out->budget-- <= 0) return;
  switch (t->kind) {
  case TY_FLOAT: out->has_float = true; return;
  case TY_INT: out->has_int = true; return;
  case TY_FUN: out->has_fun = true; return;
  case TY_VAR:
    if (t->classes & CLASS_EFFECT) return;
    for (int i = 0; i < out->nopen; i++)
      if (out->open[i] == t) return;
    if (out->nopen < (int)(sizeof out->open / sizeof *out->open)) out->open[out->nopen++] = t;
    return;
  case TY_DATA: {
    DataLeaves *l = data_leaves(c, t->data);
    out->has_float |= l->has_float;
    out->has_int |= l->has_int;
    out->has_fun |= l->has_fun;
    for (int i = 0; i < t->n; i++)
      if (l->params[i]) scan(c, t->args[i], out, depth + 1);
    return;
  }
  default:
    for (int i = 0; i < t->n; i++) scan(c, t->args[i], out, depth + 1);
  }
}

/* The leaves of t: what numbers it holds, and up to 64 of its open variables, each once. What functions
 * hold doesn't count. */
void tc_scan_leaves(Checker *c, Type *t, Leaves *out) {
  *out = (Leaves){.budget = LIMIT_TYPE_STEPS};
  scan(c, t, out, 0);
}

/* ---- For other stages ---------------------------------------------------------- */
typedef struct FloatScan {
  DataDecl *seen[LIMIT_FLOAT_TYPES];
  int nseen, budget;
} FloatScan;

static bool holds_float(FloatScan *s, Type *t, int depth);

static bool argument_holds_float(FloatScan *s, const Ctor *k, int depth) {
  Type *t = k->arg ? type_repr(k->arg) : NULL;
  if (!t || (k->keys && t->kind != TY_TUPLE && t->kind != TY_RECORD)) return false;
  if (!k->keys) return holds_float(s, t, depth);
  for (int i = 0; i < t->n; i++)
    if (!k->keys[i] && holds_float(s, t->args[i], depth + 1)) return true;
  return false;
}

static bool holds_float(FloatScan *s, Type *t, int depth) {
  t = type_repr(t);
  if (t->kind == TY_FLOAT) return true;
  if (t->kind == TY_FUN || depth > LIMIT_TYPE_DEPTH || s->budget-- <= 0) return false;
  for (int i = 0; i < t->n; i++)
    if (!(t->kind == TY_DATA && t->data->keys[i]) && holds_float(s, t->args[i], depth + 1)) return true;
  if (t->kind != TY_DATA || s->nseen == LIMIT_FLOAT_TYPES) return false;
  for (int i = 0; i < s->nseen; i++)
    if (s->seen[i] == t->data) return false;
  s->seen[s->nseen++] = t->data;
  for (int i = 0; i < t->data->nctors; i++)
    if (argument_holds_float(s, t->data->ctors[i], depth + 1)) return true;
  return false;
}

bool type_holds_float(Type *t) {
  FloatScan s = {.budget = LIMIT_TYPE_STEPS};
  return holds_float(&s, t, 0);
}

bool type_has_variables(Type *t) {
  t = type_repr(t);
  bool found = t->kind == TY_VAR && !(t->classes & CLASS_EFFECT);
  for (int i = 0; i < t->n && !found; i++) found = type_has_variables(t->args[i]);
  return found;
}

static Type *move(Arena *a, SymTable *syms, Type *t, int *budget);

/* NULL, too, where an argument can't be moved: it stands nowhere in the record. */
static const AliasUse *move_alias(Arena *a, SymTable *syms, const AliasUse *alias, int *budget) {
  AliasUse *to = type_alias_use(a, alias);
  for (int i = 0; i < alias->nargs; i++)
    if (!(to->args[i] = move(a, syms, alias->args[i], budget))) return NULL;
  return to;
}

static Type *move(Arena *a, SymTable *syms, Type *t, int *budget) {
  t = type_repr(t);
  if (t->kind == TY_VAR || (--*budget < 0 && limit_reached(a, AT_TYPE_KEPT))) return NULL;
  if (!t->n && t->kind != TY_DATA) return t;
  Type *to = NEW(a, Type);
  *to = *t;
  to->args = NEW_ARRAY(a, Type *, t->n);
  for (int i = 0; i < t->n; i++)
    if (!(to->args[i] = move(a, syms, t->args[i], budget))) return NULL;
  if (t->kind == TY_RECORD && t->alias) to->alias = move_alias(a, syms, t->alias, budget);
  if (t->names) to->names = NEW_ARRAY(a, Sym, t->n);
  for (int i = 0; t->names && i < t->n; i++)
    to->names[i] = syms ? sym_of(syms, t->names[i]) : arena_strndup(a, t->names[i], strlen(t->names[i]));
  return to;
}

Type *type_move(Arena *a, SymTable *syms, Type *t) { return move(a, syms, t, &(int){LIMIT_TYPE_KEPT}); }
