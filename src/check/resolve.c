/* SPDX-License-Identifier: MIT */
/* From type expressions to types, and type declarations.
 *
 * Source types say nothing of effects, so each arrow gets one by where it
 * stands. In an annotation: a fresh variable. In a variant: one hidden
 * parameter of the declaration, so that functions stored in a value keep their
 * effect. In an alias: a variable that is fresh at each use of the alias. In a
 * foreign declaration: see resolve_foreign. */
#include "check/check_internal.h"
#include <string.h>

typedef struct Resolver {
  VarNames *vars;
  const char *closed; /* no other type variables than `vars`: says where; NULL: new ones are made */
  bool whole;         /* no open records */
  Type *effect;       /* of all arrows; NULL: fresh ones */
  Types *collect;     /* where to put the effect variables of an alias, or NULL */
} Resolver;

static Type *resolve(Checker *c, Resolver *r, TypeExpr *te);

static Type *generic_var(Checker *c, unsigned classes) {
  Type *t = type_new(c, TY_VAR, 0);
  t->level = LEVEL_GENERIC;
  t->id = c->next_id++;
  t->classes = classes;
  return t;
}

static Type *arrow_effect(Checker *c, Resolver *r) {
  if (r->effect) return r->effect;
  if (!r->collect) return type_effect_var(c);
  Type *e = generic_var(c, CLASS_EFFECT);
  vec_push(c->arena, *r->collect, e);
  return e;
}

static Type *resolve_var(Checker *c, Resolver *r, TypeExpr *te) {
  for (int i = 0; i < r->vars->len; i++)
    if (r->vars->data[i].name == te->name.name) return r->vars->data[i].type;
  if (r->closed) {
    Diag *d = diag_error(c->diags, te->span, tc_diag_code(D_UNBOUND_TYPE),
                         "the type variable '%s isn't a parameter of %s", te->name.name, r->closed);
    d->hint = tc_format(c, "parameters stand before the name: type '%s %s = …", te->name.name, r->closed);
    return c->t_error;
  }
  Type *v = type_var(c, 0);
  v->level = c->s.level ? 1 : 0; /* it is the same variable all over the item */
  v->user_name = te->name.name;
  TypeVarName n = {te->name.name, v};
  vec_push(c->temp, *r->vars, n);
  return v;
}

/* Whether a type of that name was declared, or opened: not one of the library, whose items are read when they are
 * looked up. */
static bool is_declared(const Checker *c, Sym name) {
  const Module *m = c->s.module;
  bool found = map_get(&m->types, name) != NULL;
  for (int i = 0; i < m->opened.len; i++) found |= map_get(&m->opened.data[i]->types, name) != NULL;
  return found;
}

static Type *builtin(Checker *c, const Name *of) {
  Sym name = of->name;
  if (of->module || is_declared(c, name)) return NULL;
  if (!strcmp(name, "int")) return c->t_int;
  if (!strcmp(name, "float")) return c->t_float;
  if (!strcmp(name, "bool")) return c->t_bool;
  if (!strcmp(name, "string")) return c->t_string;
  if (!strcmp(name, "unit")) return c->t_unit;
  return NULL;
}

static void wrong_arity(Checker *c, TypeExpr *te, int wanted) {
  Diag *d = diag_error(c->diags, te->span, tc_diag_code(D_TYPE_ARITY), "the type `%s` takes %d parameter%s, not %d",
                       te->name.name, wanted, wanted == 1 ? "" : "s", te->nargs);
  if (wanted == 1) d->hint = tc_format(c, "a parameter stands before: `int %s`", te->name.name);
  const TypeExpr *before = wanted == 0 && te->nargs == 1 ? te->args[0] : NULL;
  if (before && before->kind == TE_NAME && before->nargs == 0 && !builtin(c, &before->name))
    d->hint = tc_format(c, "a parameter stands before: `%s %s`", te->name.name, before->name.name);
}

static bool resolve_alias(Checker *c, TypeName *t);

/* A record that is to be shown by the name that it was written by. */
static Type *named_record(Checker *c, Type *t, const TypeName *name, Type *const *args) {
  if (t->kind != TY_RECORD) return t;
  Type *named = NEW(c->arena, Type);
  *named = *t;
  named->alias = type_alias_use(c->arena, &(AliasUse){name, (Type **)(uintptr_t)args, name->nparams});
  return named;
}

static Type *expand_alias(Checker *c, Resolver *r, const TypeName *t, Type **args) {
  Type *all = t->alias;
  if (t->neffects) {
    Type **effects = NEW_ARRAY(c->temp, Type *, t->neffects);
    for (int i = 0; i < t->neffects; i++) effects[i] = arrow_effect(c, r);
    all = type_subst(c->arena, all, t->effects, effects, t->neffects);
  }
  return named_record(c, type_subst(c->arena, all, t->params, args, t->nparams), t, args);
}

Type *tc_instantiate_alias(Checker *c, const TypeName *t, Type **args) {
  return expand_alias(c, &(Resolver){0}, t, args);
}

static Type *resolve_name(Checker *c, Resolver *r, TypeExpr *te) {
  Type *known = builtin(c, &te->name);
  if (known) {
    if (!te->nargs) return known;
    wrong_arity(c, te, 0);
    return c->t_error;
  }
  TypeName *t = tc_lookup_type(c, te->name);
  Type **args = NEW_ARRAY(c->temp, Type *, te->nargs + 1);
  for (int i = 0; i < te->nargs; i++) args[i] = resolve(c, r, te->args[i]);
  if (!t) return c->t_error;
  te->declared = t->name_span;
  if (t->nparams != te->nargs) {
    wrong_arity(c, te, t->nparams);
    return c->t_error;
  }
  if (t->data) {
    if (t->data->nparams > te->nargs) args[te->nargs] = arrow_effect(c, r);
    return type_data(c, t->data, args);
  }
  if (t->decl && !resolve_alias(c, t)) return c->t_error;
  return t->alias ? expand_alias(c, r, t, args) : c->t_error;
}

/* Fields sorted by name; names and types change places together. */
static void sort_fields(Sym *names, Type **types, int n) {
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && strcmp(names[j], names[j - 1]) < 0; j--) {
      Sym s = names[j];
      names[j] = names[j - 1];
      names[j - 1] = s;
      Type *t = types[j];
      types[j] = types[j - 1];
      types[j - 1] = t;
    }
}

Type *type_record(Checker *c, const Sym *fields, Type *const *types, int n, Span at) {
  Type *t = type_new(c, TY_RECORD, n);
  t->names = NEW_ARRAY(c->arena, Sym, n ? n : 1);
  for (int i = 0; i < n; i++) {
    t->names[i] = fields[i];
    t->args[i] = types[i];
  }
  sort_fields(t->names, t->args, n);
  for (int i = 1; i < n; i++)
    if (t->names[i] == t->names[i - 1]) {
      diag_error(c->diags, at, tc_diag_code(D_DUPLICATE), "the field `%s` stands twice in this record", t->names[i]);
      return c->t_error;
    }
  return t;
}

/* {w : float, ..}: any record with these fields. */
static Type *resolve_open_record(Checker *c, const Resolver *r, const TypeExpr *te, Type *const *parts) {
  if (r->closed || r->whole) {
    diag_error(c->diags, te->span, tc_diag_code(D_OPEN_RECORD), "an open record can't stand here")->hint =
        "`..` is for annotations: a declared type names all of its fields";
    return c->t_error;
  }
  Type *t = type_var(c, CLASS_RECORD);
  for (int i = 0; i < te->nargs; i++) tc_relation_field(c, te->args[i]->span, t, te->fields[i], parts[i]);
  return t;
}

/* (t as 'r) */
static Type *resolve_as(Checker *c, Resolver *r, TypeExpr *te) {
  Type *name = resolve_var(c, r, te), *t = resolve(c, r, te->args[0]);
  tc_expect_type(c, name, t, (Place){.at = te->span});
  return name;
}

static Type *resolve_parts(Checker *c, Resolver *r, TypeExpr *te) {
  Type **parts = NEW_ARRAY(c->temp, Type *, te->nargs ? te->nargs : 1);
  for (int i = 0; i < te->nargs; i++) parts[i] = resolve(c, r, te->args[i]);
  if (te->kind == TE_RECORD && te->open) return resolve_open_record(c, r, te, parts);
  if (te->kind == TE_RECORD) return type_record(c, te->fields, parts, te->nargs, te->span);
  return type_tuple(c, parts, te->nargs);
}

static Type *resolve(Checker *c, Resolver *r, TypeExpr *te) {
  switch (te->kind) {
  case TE_VAR: return resolve_var(c, r, te);
  case TE_NAME: return resolve_name(c, r, te);
  case TE_ARRAY: return type_array(c, resolve(c, r, te->args[0]));
  case TE_TUPLE:
  case TE_RECORD: return resolve_parts(c, r, te);
  case TE_AS: return resolve_as(c, r, te);
  case TE_FUN: {
    Type *param = resolve(c, r, te->args[0]);
    return type_fun(c, param, resolve(c, r, te->args[1]), arrow_effect(c, r));
  }
  }
  return c->t_error;
}

/* ---- Constraints -------------------------------------------------------------- */
static unsigned class_named(const char *name) {
  static const struct {
    const char *name;
    unsigned cls;
  } classes[] = {{"num", CLASS_NUM}, {"scalar", CLASS_SCALAR}, {"ord", CLASS_ORD},
                 {"eq", CLASS_EQ},   {"show", CLASS_SHOW},     {"diff", CLASS_DIFF}};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (!strcmp(name, classes[i].name)) return classes[i].cls;
  return 0;
}

static void apply_constraints(Checker *c, Resolver *r, TypeExpr *te) {
  for (int i = 0; i < te->nconstraints; i++) {
    ConstraintExpr *k = &te->constraints[i];
    unsigned cls = class_named(k->cls);
    if (!cls) {
      diag_error(c->diags, k->span, tc_diag_code(D_UNBOUND_TYPE), "there is no constraint `%s`", k->cls)->hint =
          "constraints are num, scalar, ord, eq, show and diff";
      continue;
    }
    TypeExpr var = {.kind = TE_VAR, .span = k->span, .name = {.name = k->var, .span = k->span}};
    tc_expect_class(c, resolve_var(c, r, &var), cls, k->span);
  }
}

Type *tc_resolve_annotation(Checker *c, TypeExpr *te) {
  Resolver r = {.vars = &c->s.type_vars};
  apply_constraints(c, &r, te);
  return resolve(c, &r, te);
}

int tc_count_arrows(const TypeExpr *te) {
  int n = 0;
  for (; te && te->kind == TE_FUN; te = te->args[1]) n++;
  return n;
}

/* A foreign function's type. Calling it with all its arguments has the effect of the functions it is given (all
 * arrows in parameters and its own last arrow share one effect); its other arrows have none. `pure`: promises
 * nothing about when and how often it calls them, so they must have none. */
Type *tc_resolve_foreign(Checker *c, Item *item, bool effect, bool pure) {
  Resolver fresh = {.vars = &c->s.type_vars, .whole = true};
  Resolver shared = fresh;
  shared.effect = pure ? c->t_pure : type_effect_var(c);
  apply_constraints(c, &fresh, item->annot);
  Types params = {0};
  TypeExpr *te = item->annot;
  for (; te->kind == TE_FUN; te = te->args[1]) vec_push(c->temp, params, resolve(c, &shared, te->args[0]));
  Type *t = resolve(c, &fresh, te);
  for (int i = params.len - 1; i >= 0; i--) {
    bool last = i == params.len - 1;
    Type *e = last && effect ? c->t_effect : last && shared.effect->kind == TY_VAR ? shared.effect : type_effect_var(c);
    t = type_fun(c, params.data[i], t, e);
  }
  return t;
}

/* ---- Declarations --------------------------------------------------------------- */
/* Whether functions are written in te or come with a type it names. */
static bool has_functions(Checker *c, const TypeExpr *te) {
  if (!te) return false;
  if (te->kind == TE_FUN) return true;
  for (int i = 0; i < te->nargs; i++)
    if (has_functions(c, te->args[i])) return true;
  if (te->kind != TE_NAME || builtin(c, &te->name)) return false;
  TypeName *t = tc_find_type(c, te->name);
  return t && (t->neffects || (t->data && t->data->nparams > t->nparams));
}

static bool group_has_functions(Checker *c, const Item *item) {
  for (int i = 0; i < item->ntypes; i++) {
    const TypeDecl *d = &item->types[i];
    if (has_functions(c, d->alias)) return true;
    for (int j = 0; j < d->nctors; j++)
      if (has_functions(c, d->ctors[j].arg)) return true;
  }
  return false;
}

static VarNames params_of(Checker *c, const TypeDecl *d, Type **params) {
  VarNames vars = {0};
  for (int i = 0; i < d->nparams; i++) {
    for (int j = 0; j < i; j++)
      if (d->params[j] == d->params[i])
        diag_error(c->diags, d->span, tc_diag_code(D_DUPLICATE), "the parameter '%s stands twice", d->params[i]);
    TypeVarName n = {d->params[i], params[i]};
    vec_push(c->temp, vars, n);
  }
  return vars;
}

static void report_size(Checker *c, Span at, const char *name) {
  diag_error(c->diags, at, tc_diag_code(D_TYPE_TOO_LARGE), "the type `%s` is too large", name)->hint =
      "written out, an abbreviation has at most 300,000 parts and 1,000 arrows; what names a variant is one part";
}

/* What is too large is erroneous, so that what is declared by it doesn't grow further. */
static bool resolve_alias(Checker *c, TypeName *t) {
  if (t->resolving) {
    diag_error(c->diags, t->span, tc_diag_code(D_CYCLE), "the type `%s` is an abbreviation of itself", t->name)->hint =
        "only variants can be recursive: type t = A of t | B";
    return false;
  }
  TypeDecl *d = t->decl;
  t->resolving = true;
  VarNames vars = params_of(c, d, t->params);
  Types effects = {0};
  Resolver r = {.vars = &vars, .closed = d->name, .collect = &effects};
  Type *alias = resolve(c, &r, d->alias);
  t->resolving = false;
  t->decl = NULL;
  c->steps = LIMIT_TYPE_STEPS;
  if (effects.len > LIMIT_ALIAS_ARROWS || !tc_within_size(c, alias, 0)) {
    report_size(c, t->span, t->name);
    alias = c->t_error;
    effects.len = 0;
  }
  t->alias = alias;
  t->effects = effects.data;
  t->neffects = effects.len;
  return true;
}

static TypeName *declare_name(Checker *c, TypeDecl *d, bool functions) {
  Module *m = c->s.module;
  TypeName *t = NEW(c->arena, TypeName);
  t->name = d->name;
  t->module = m;
  t->span = d->span;
  t->name_span = d->name_span;
  t->nparams = d->nparams;
  int hidden = !d->alias && functions;
  t->params = NEW_ARRAY(c->arena, Type *, d->nparams + 1);
  for (int i = 0; i < d->nparams; i++) t->params[i] = generic_var(c, 0);
  if (hidden) t->params[d->nparams] = generic_var(c, CLASS_EFFECT);
  if (d->alias) {
    tc_check_alias_marks(c, d);
    t->decl = d;
  } else {
    t->data = NEW(c->arena, DataDecl);
    t->data->name = d->name;
    t->data->module = m;
    t->data->span = d->span;
    t->data->name_span = d->name_span;
    t->data->params = t->params;
    t->data->nparams = d->nparams + hidden;
    t->data->keys = NEW_ARRAY(c->arena, bool, d->nparams + 1);
    for (int i = 0; i < d->nparams; i++) t->data->keys[i] = d->keys[i];
    t->data->shown_as = d->shown_as;
  }
  t->previous = m->latest_type;
  m->latest_type = t;
  map_put(&m->types, d->name, t);
  return t;
}

/* What `e :: e` makes and `p :: p` takes apart. */
static void check_cons(Checker *c, const Ctor *k, const DataDecl *data) {
  const Type *arg = k->arg ? type_repr(k->arg) : NULL,
             *tail = arg && arg->kind == TY_TUPLE && arg->n == 2 ? type_repr(arg->args[1]) : NULL;
  if ((arg && arg->kind == TY_ERROR) || (tail && tail->kind == TY_ERROR)) return;
  bool same = tail && tail->kind == TY_DATA && tail->data == data;
  for (int i = 0; same && i < data->nparams; i++) same = type_repr(tail->args[i]) == data->params[i];
  if (same) return;
  diag_error(c->diags, k->span, tc_diag_code(D_TYPE_MISMATCH),
             "`::` has to join an element and a value of the type `%s` itself", data->name)
      ->hint = "as in type 'a list = Nil | (::) of 'a * 'a list";
}

static void declare_ctors(Checker *c, TypeDecl *d, TypeName *t) {
  if (d->nctors > LIMIT_CONSTRUCTORS) {
    diag_error(c->diags, d->span, tc_diag_code(D_TYPE_TOO_LARGE), "`%s` has %d constructors, and a type can have %d",
               d->name, d->nctors, LIMIT_CONSTRUCTORS);
    d->nctors = LIMIT_CONSTRUCTORS;
  }
  DataDecl *data = t->data;
  VarNames vars = params_of(c, d, t->params);
  Resolver r = {.vars = &vars, .closed = d->name};
  r.effect = data->nparams > d->nparams ? t->params[d->nparams] : c->t_pure;
  data->ctors = NEW_ARRAY(c->arena, Ctor *, d->nctors ? d->nctors : 1);
  int parts = LIMIT_TYPE_STEPS;
  for (int i = 0; i < d->nctors; i++) {
    Ctor *ctor = NEW(c->arena, Ctor);
    ctor->name = d->ctors[i].name;
    ctor->tag = i;
    ctor->data = data;
    ctor->span = d->ctors[i].span;
    if (d->ctors[i].arg) ctor->arg = resolve(c, &r, d->ctors[i].arg);
    c->steps = parts;
    if (ctor->arg && !tc_within_size(c, ctor->arg, 0)) {
      report_size(c, ctor->span, ctor->name);
      ctor->arg = c->t_error;
    }
    parts = c->steps;
    ctor->cons = ctor->name == sym_of(c->syms, "::"); /* which only the parser spells so */
    if (ctor->cons) check_cons(c, ctor, data);
    tc_find_keys(c, ctor);
    for (int j = 0; j < i; j++)
      if (data->ctors[j]->name == ctor->name)
        diag_error(c->diags, ctor->span, tc_diag_code(D_DUPLICATE), "the constructor `%s` stands twice", ctor->name);
    data->ctors[i] = ctor;
    map_put(&c->s.module->ctors, ctor->name, ctor);
  }
  data->nctors = d->nctors;
  tc_check_shown_as(c, d, data);
}

void tc_declare_types(Checker *c, Item *item) {
  bool functions = group_has_functions(c, item);
  TypeName **names = NEW_ARRAY(c->temp, TypeName *, item->ntypes);
  for (int i = 0; i < item->ntypes; i++) {
    for (int j = 0; j < i; j++)
      if (item->types[j].name == item->types[i].name)
        diag_error(c->diags, item->types[i].span, tc_diag_code(D_DUPLICATE), "the type `%s` is declared twice",
                   item->types[i].name);
    names[i] = declare_name(c, &item->types[i], functions);
  }
  for (int i = 0; i < item->ntypes; i++)
    if (names[i]->decl) resolve_alias(c, names[i]);
  for (int i = 0; i < item->ntypes; i++)
    if (names[i]->data) declare_ctors(c, &item->types[i], names[i]);
}
