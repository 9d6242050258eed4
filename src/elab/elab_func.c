/* SPDX-License-Identifier: MIT */
/* Functions: their instances, calls of them, and what they are as values.
 *
 * A definition with parameters becomes a Func of all of them at once for each choice of types (`Instance`, looked
 * up by the interned types). Its own parameters come first; for a local definition what it captures follows, as a
 * closed Func sees nothing around it; the token is last. A Callee is anything of known arity: such a function, a
 * primitive, a constructor, an operator. Called with enough arguments it is one node (el_call). With fewer, or as a
 * value, it is a chain of unary closures that end in the call (el_eta).
 *
 * An instance is entered in its table before its body is elaborated: that is how recursion finds it. */
#include "elab/elab_internal.h"
#include <string.h>

static Node *el_coerce(Ctx *c, Node *x, IrType *to);

/* What a Func is made from. */
typedef struct Def {
  Ctx *outer;
  Sym name;
  Span span;
  const Subst *subst;
  Expr *value;
  const Prim *prim; /* instead of value */
  IrType *type;
  int arity;
  Binding **captures;
  int ncaptures;
} Def;

BindingInfo *el_info(Elab *e, Binding *b) {
  if (!b->elab) {
    SAVE(e->arena, b->elab);
    b->elab = NEW(e->arena, BindingInfo);
  }
  return b->elab;
}

bool el_is_function(const Binding *b) {
  return b->kind == BIND_PRIM || b->kind == BIND_FOREIGN || binding_fun(b) || b->pullback || b->tangent;
}

static bool is_literal(const Expr *e) {
  while (e->kind == E_ANNOT || e->kind == E_NEGATE) e = e->args[0];
  return e->kind == E_INT || e->kind == E_FLOAT || e->kind == E_BOOL || e->kind == E_STRING || e->kind == E_UNIT;
}

/* Whether the value is computed once and stored. Library modules aren't run: their values are elaborated where used. */
bool el_is_global(const Binding *b) {
  return b->kind == BIND_TOP && !el_is_function(b) && !b->nqvars && b->let && !(b->module && b->module->library) &&
         !is_literal(b->let->value);
}

/* ---- Shape of a definition ------------------------------------------------------ */

static Expr *strip(Expr *e) {
  while (e->kind == E_ANNOT) e = e->args[0];
  return e;
}

/* `fun p q -> fun r -> …` has three parameters. */
static int count_params(Expr *e) {
  int n = 0;
  for (e = strip(e); e->kind == E_FUN; e = strip(e->args[0])) n += e->nparams;
  return n;
}

static int binding_arity(Binding *b, const IrType *type) {
  if (b->pullback) return b->pullback->expr->nparams;
  if (b->tangent) return b->tangent->expr->nparams / 2;
  Expr *fun = binding_fun(b);
  return fun ? count_params(fun) : el_count_arrows(type);
}

/* ---- Making Funcs ------------------------------------------------------------------ */

static void declare(Elab *e, const Def *d, Instance *in) {
  int n = 0;
  IrType **params = NEW_ARRAY(e->arena, IrType *, d->arity + d->ncaptures + 1), *t = d->type;
  for (int i = 0; i < d->arity; i++, t = t->args[1]) params[n++] = t->args[0];
  for (int i = 0; i < d->ncaptures; i++) params[n++] = el_lookup(d->outer, d->captures[i])->node->type;
  in->effect = el_arrow_effect(d->type, d->arity);
  in->arity = d->arity;
  if (in->effect) {
    params[n++] = e->t_token;
    t = ir_tuple_type(e->w, (IrType *[]){t, e->t_token}, NULL, 2);
  }
  in->func = ir_func(e->w, d->name, params, n, t);
  in->func->span = d->span;
}

static Node *apply_all(Ctx *c, Node *f, Node **args, int n, Span at) {
  for (int i = 0; i < n; i++) f = el_apply_value(c, f, args[i], at);
  return f;
}

/* The body of the definition, applied to its parameters. */
static Node *def_body(Ctx *c, const Def *d, Node **args) {
  if (d->prim) return prim_call(c, d->prim, args, d->type, d->span);
  if (count_params(d->value) != d->arity) return apply_all(c, el_expr(c, d->value), args, d->arity, d->span);
  Expr *e = strip(d->value);
  for (int k = 0; e->kind == E_FUN; e = strip(e->args[0]))
    for (int i = 0; i < e->nparams; i++) el_bind_pattern(c, e->params[i], args[k++], e->params[i]->span);
  return el_expr(c, e);
}

static void finish(Elab *e, const Def *d, Instance *in) {
  Ctx c;
  el_init_ctx(&c, e, d->outer, d->span, d->name, d->subst);
  c.outer = d->outer;
  Func *f = in->func;
  Node **args = NEW_ARRAY(e->arena, Node *, f->nparams + 1);
  for (int i = 0; i < f->nparams; i++) args[i] = region_param(c.region, f->params[i]);
  for (int i = 0; i < d->ncaptures; i++) el_bind(&c, d->captures[i], args[d->arity + i]);
  if (in->effect) c.token = el_var(&c, args[f->nparams - 1]);
  Node *value = el_deep(&c, d->span) ? ir_zero(e->w, el_result_type(d->type, d->arity)) : def_body(&c, d, args);
  if (in->effect) value = el_with_token(&c, value);
  if (value->type != f->result)
    value = el_error(&c, d->span, f->result, "unsupported", "this definition can't be used at this type");
  ir_func_finish(e->w, f, value);
}

static Instance *find_instance(const Instances *all, IrType **inst, int n, Trap traps) {
  for (int i = 0; i < all->len; i++)
    if (all->data[i]->traps != traps) continue;
    else if (!n || !memcmp(all->data[i]->inst, inst, sizeof *inst * (size_t)n)) return all->data[i];
  return NULL;
}

static Instance *add_instance(Elab *e, Instances *all, IrType **inst) {
  Instance *in = NEW(e->arena, Instance);
  in->inst = inst;
  in->traps = e->w->traps;
  vec_push(e->arena, *all, in);
  return in;
}

/* Elaborates the body. `in_progress` counts the instances of this definition that are under way. */
static void elaborate_instance(Elab *e, const Def *d, Instance *in, int *in_progress, Span use) {
  bool failed_before = e->failed;
  e->failed = false;
  if (*in_progress >= LIMIT_SAME_INSTANCES || e->depth >= LIMIT_INSTANCES) {
    if (e->diags)
      diag_error(e->diags, use, "polymorphic-recursion",
                 "`%s` would have to exist at endlessly many types: it calls itself at ever larger ones", d->name);
    e->failed = true;
    ir_func_finish(e->w, in->func, ir_zero(e->w, in->func->result));
  } else {
    ++*in_progress;
    e->depth++;
    finish(e, d, in);
    e->depth--;
    --*in_progress;
  }
  in->failed = e->failed;
  e->failed |= failed_before;
}

/* ---- Top-level functions --------------------------------------------------------------- */

static bool binding_recursive(Elab *e, Binding *b) {
  if (!b->rec || !b->group) return false;
  Expr **values = NEW_ARRAY(e->arena, Expr *, b->ngroup);
  int member = 0;
  for (int i = 0; i < b->ngroup; i++) {
    values[i] = b->group[i]->let->value;
    if (b->group[i] == b) member = i;
  }
  return scan_reaches_itself(e, b->group, values, b->ngroup, member);
}

static void report_rule_effect(Elab *e, const Binding *b, Span use) {
  if (e->diags)
    diag_error(e->diags, use, "unsupported",
               "`%s` has a derivative rule, so neither it nor a function given to it can have an effect", b->name);
  e->failed = true;
}

/* Has the rule, at these types, an effect, or the function that a pullback gives? */
static bool rule_has_effect(IrType *rule, int n, bool pullback) {
  if (el_arrow_effect(rule, n)) return true;
  return pullback && el_arrow_effect(el_result_type(rule, n)->args[1], 1);
}

/* A derivative rule as a Func: `n` parameters, with the types the function is at. NULL if it has an effect, as that of
 * a function that was given one. */
static Func *rule_func(Elab *e, Binding *b, const Subst *s, Item *rule, int n, Span use) {
  Def d = {.name = b->name, .span = rule->span, .subst = s, .value = rule->expr, .arity = n};
  d.type = el_ir_type(e, s, rule->expr->type);
  if (rule_has_effect(d.type, n, rule->kind == I_PULLBACK)) {
    report_rule_effect(e, b, use);
    return NULL;
  }
  Instance in = {0};
  int in_progress = 0;
  char outer = e->rule;
  declare(e, &d, &in);
  e->rule = rule->kind == I_PULLBACK ? '[' : ']';
  elaborate_instance(e, &d, &in, &in_progress, rule->span);
  e->rule = outer;
  return in.func;
}

/* Where its type has an effect only because its surroundings have one, a function with a rule is a wrapper of its
 * pure instance: rules know nothing of tokens. */
static void wrap_pure_instance(Elab *e, Binding *b, Instance *in, Span use) {
  IrType **pure = NEW_ARRAY(e->arena, IrType *, b->nqvars + 1);
  for (int i = 0; i < b->nqvars; i++) pure[i] = b->qvars[i]->classes & CLASS_EFFECT ? e->t_unit : in->inst[i];
  Func *f = in->func, *g = b->nqvars ? el_instance(e, b, pure, use)->func : f;
  Node **args = NEW_ARRAY(e->arena, Node *, f->nparams + 1);
  bool fits = g->nparams == f->nparams - 1;
  for (int i = 0; i < f->nparams; i++) args[i] = ir_param(e->w, i, f->params[i]);
  for (int i = 0; fits && i < g->nparams; i++) fits = g->params[i] == f->params[i];
  if (!fits) {
    report_rule_effect(e, b, use);
    in->failed = true;
    ir_func_finish(e->w, f, ir_zero(e->w, f->result));
    return;
  }
  ir_func_finish(e->w, f, ir_tuple(e->w, f->result, (Node *[]){ir_call(e->w, g, args, 0), args[f->nparams - 1]}));
}

static Sym foreign_library(Elab *e, const Item *item) {
  size_t n = strlen(item->text);
  return sym_intern(e->syms, item->text, n - tc_foreign_effect(item));
}

static void report_no_primitive(Elab *e, const Binding *b) {
  e->failed = true;
  if (e->diags) diag_error(e->diags, b->span, "unknown-primitive", "%s", prim_lacking(e, b));
}

/* Does it take numbers alone, and give one? */
static bool is_of_numbers(const IrType *t) {
  for (; t->kind == T_FUN; t = t->args[1])
    if (!ir_is_number(t->args[0])) return false;
  return ir_is_number(t);
}

/* Rules of the library's functions of numbers, and what they are made of, go through NaN on purpose (`_unless_lost`).
 * They have no traps: what a rule yields is trapped (ad/rules.c, ad/calls.c). Returns World.traps as it was. */
static Trap without_traps(Elab *e, const Binding *b, const IrType *type, bool rule) {
  Trap was = e->w->traps;
  bool library = b->module && b->module->library, inner = *b->name == '_' && b->kind != BIND_PRIM;
  if (library && is_of_numbers(type) && (rule || inner)) e->w->traps = TRAP_NOTHING;
  return was;
}

static Func *length_func(Elab *e, Binding *b, const Subst *s, int arity) {
  Def d = {.name = b->name, .span = b->item->expr->args[0]->span, .subst = s, .value = b->item->expr, .arity = arity};
  d.type = el_ir_type(e, s, b->item->expr->type);
  Instance in = {0};
  int in_progress = 0;
  declare(e, &d, &in);
  elaborate_instance(e, &d, &in, &in_progress, d.span);
  return in.func;
}

static void bind_to_c(Elab *e, const Binding *b, Func *f) {
  f->opaque = true;
  f->foreign.library = foreign_library(e, b->item);
  f->foreign.symbol = b->name;
}

/* The body of a C function that gives an array: a call of the C function itself, whose last argument is the length. */
static void call_sized(Elab *e, Binding *b, const Subst *s, const Def *d, Instance *in) {
  Func *f = in->func, *length = length_func(e, b, s, d->arity);
  Ctx c;
  el_init_ctx(&c, e, NULL, d->span, d->name, d->subst);
  int n = d->arity, total = f->nparams + 1;
  IrType **params = NEW_ARRAY(e->arena, IrType *, total);
  Node **args = NEW_ARRAY(e->arena, Node *, total);
  for (int i = 0; i < f->nparams; i++) {
    int at = i < n ? i : i + 1;
    params[at] = f->params[i];
    args[at] = region_param(c.region, f->params[i]);
  }
  params[n] = length->result;
  args[n] = ir_call(e->w, length, args, el_site(&c, b->item->expr->args[0]->span));
  Func *g = ir_func(e->w, b->name, params, total, f->result);
  g->span = b->span;
  bind_to_c(e, b, g);
  ir_func_finish(e->w, f, ir_call(e->w, g, args, el_site(&c, b->span)));
}

/* Do calls of its instances stay calls, for rewrite rules to match them? */
static bool is_ruled(const Elab *e, const Binding *b) {
  if (e->w->no_rules || e->w->traps != TRAP_NOTHING) return false;
  for (const RuleList *l = b->rewrites; l; l = l->next)
    if (!l->rule->ended && el_may_hold(e, l->rule)) return true;
  return false;
}

static void define_top(Elab *e, Binding *b, const Subst *s, Instance *in, Span use) {
  Def d = {.name = b->name, .span = b->span, .subst = s, .type = el_ir_type(e, s, b->type)};
  d.arity = binding_arity(b, d.type);
  if (b->kind == BIND_PRIM) d.prim = prim_find(e, b);
  else if (b->let) d.value = b->let->value;
  declare(e, &d, in);
  Func *f = in->func;
  if (b->kind == BIND_PRIM && !d.prim) {
    report_no_primitive(e, b);
    in->failed = true;
    ir_func_finish(e->w, f, ir_zero(e->w, f->result));
    return;
  }
  bool opaque = b->pullback || b->tangent || b->kind == BIND_FOREIGN;
  bool has_effect = b->kind == BIND_FOREIGN && tc_foreign_effect(b->item);
  if (opaque && in->effect && !has_effect) {
    wrap_pure_instance(e, b, in, use);
    return;
  }
  f->recursive = binding_recursive(e, b);
  f->opaque = b->pullback || b->tangent;
  if (!in->effect && is_ruled(e, b)) ir_mark_ruled(e->w, f);
  if (b->kind == BIND_FOREIGN && b->item->expr) {
    call_sized(e, b, s, &d, in);
  } else if (b->kind == BIND_FOREIGN) {
    bind_to_c(e, b, f);
  } else {
    Trap traps = without_traps(e, b, d.type, false);
    elaborate_instance(e, &d, in, &el_info(e, b)->in_progress, use);
    e->w->traps = traps;
  }
  Trap traps = without_traps(e, b, d.type, true);
  if (b->pullback) f->pullback = rule_func(e, b, s, b->pullback, d.arity, use);
  if (b->tangent) f->tangent = rule_func(e, b, s, b->tangent, 2 * d.arity, use);
  e->w->traps = traps;
  in->failed |= (b->pullback && !f->pullback) || (b->tangent && !f->tangent);
}

/* A type that the entry made goes with it, if it defines nothing. */
static bool types_are_older(const World *w, IrType **inst, int n) {
  for (int i = 0; i < n; i++)
    if (!ir_is_older(w, inst[i])) return false;
  return true;
}

Instance *el_instance(Elab *e, Binding *b, IrType **inst, Span use) {
  Instances *all = &el_info(e, b)->instances;
  Instance *in = find_instance(all, inst, b->nqvars, e->w->traps);
  if (in) {
    if (in->failed && e->diags) {
      diag_error(e->diags, use, "unusable", "`%s` can't be used: see the error in its definition", b->name);
      e->failed = true;
    }
    return in;
  }
  Subst *s = NEW(e->arena, Subst);
  *s = (Subst){b->qvars, inst, b->nqvars, NULL};
  SAVE(e->arena, *el_info(e, b));
  in = add_instance(e, all, inst);
  e->functions_made += types_are_older(e->w, inst, b->nqvars);
  char rule = e->rule;
  e->rule = 0;
  define_top(e, b, s, in, use);
  e->rule = rule;
  if (in->func->ruled) vec_push(e->arena, e->renewed, b);
  return in;
}

static IrType **el_instance_types(Ctx *c, Binding *b, Type *const *inst) {
  IrType **out = NEW_ARRAY(c->e->arena, IrType *, b->nqvars + 1);
  for (int i = 0; i < b->nqvars; i++) out[i] = el_type(c, inst ? inst[i] : b->qvars[i]);
  return out;
}

/* ---- Local functions ---------------------------------------------------------------------- */

static const Subst *local_subst(Ctx *c, LocalDef *d, IrType **inst) {
  Subst *s = NEW(c->e->arena, Subst);
  *s = (Subst){d->binding->qvars, inst, d->binding->nqvars, d->subst};
  return s;
}

static Instance *local_instance(Ctx *c, LocalDef *l, IrType **inst, Span use) {
  Instance *in = find_instance(&l->instances, inst, l->binding->nqvars, c->w->traps);
  if (in) return in;
  in = add_instance(c->e, &l->instances, inst);
  Def d = {.outer = c,
           .name = l->binding->name,
           .span = l->binding->span,
           .value = l->value,
           .captures = l->captures,
           .ncaptures = l->ncaptures};
  d.subst = local_subst(c, l, inst);
  d.type = el_ir_type(c->e, d.subst, l->binding->type);
  d.arity = count_params(l->value);
  declare(c->e, &d, in);
  in->func->recursive = l->recursive;
  elaborate_instance(c->e, &d, in, &l->in_progress, use);
  return in;
}

typedef Vec(Binding *) BindingList;

static void pattern_bindings(Elab *e, Pat *p, BindingList *out) {
  if (p->binding) vec_push(e->arena, *out, p->binding);
  for (int i = 0; i < p->nargs; i++) pattern_bindings(e, p->args[i], out);
}

/* The value of a local definition that isn't a function, at one choice of types. */
static Node *local_value(Ctx *c, LocalDef *l, IrType **inst) {
  const Subst *saved = c->subst;
  c->subst = local_subst(c, l, inst);
  Node *x = el_expr(c, l->value);
  Pat *p = l->binding->let->pat;
  BindingList bs = {0};
  pattern_bindings(c->e, p, &bs);
  Var **defs = NEW_ARRAY(c->e->arena, Var *, bs.len + 1);
  for (int i = 0; i < bs.len; i++) defs[i] = map_get(&c->vars, bs.data[i]);
  el_bind_pattern(c, p, x, p->span);
  Var *v = map_get(&c->vars, l->binding);
  Node *value = v && v->node ? el_read(c, v) : x;
  for (int i = 0; i < bs.len; i++) map_put(&c->vars, bs.data[i], defs[i]);
  c->subst = saved;
  return value;
}

static LocalDef *add_local(Ctx *c, Binding *b, Expr *value, bool is_fun) {
  LocalDef *l = NEW(c->e->arena, LocalDef);
  l->binding = b;
  l->value = value;
  l->is_fun = is_fun;
  l->subst = c->subst;
  return l;
}

static void bind_local(Ctx *c, LocalDef *l) {
  Var *v = NEW(c->e->arena, Var);
  v->def = l;
  map_put(&c->vars, l->binding, v);
}

static void let_rec(Ctx *c, Expr *let) {
  Arena *a = c->e->arena;
  int n = let->nlets, ncaptures;
  Binding **group = NEW_ARRAY(a, Binding *, n);
  Expr **values = NEW_ARRAY(a, Expr *, n);
  LocalDef **defs = NEW_ARRAY(a, LocalDef *, n);
  for (int i = 0; i < n; i++) {
    Pat *p = let->lets[i].pat;
    while (p->kind == P_ANNOT) p = p->args[0];
    group[i] = p->binding;
    values[i] = let->lets[i].value;
    defs[i] = add_local(c, group[i], values[i], true);
  }
  Binding **captures = scan_captures(c, values, n, group, n, &ncaptures);
  for (int i = 0; i < n; i++) {
    defs[i]->captures = captures;
    defs[i]->ncaptures = ncaptures;
    defs[i]->recursive = scan_reaches_itself(c->e, group, values, n, i);
    bind_local(c, defs[i]);
  }
}

/* Definitions that are elaborated again at each use. False if this isn't one. */
static bool let_general(Ctx *c, LetBinding *l) {
  BindingList bs = {0};
  int nq = 0;
  pattern_bindings(c->e, l->pat, &bs);
  for (int i = 0; i < bs.len; i++) nq += bs.data[i]->nqvars;
  if (!nq) return false;
  for (int i = 0; i < bs.len; i++) {
    LocalDef *d = add_local(c, bs.data[i], l->value, count_params(l->value) > 0);
    d->captures = scan_captures(c, &l->value, 1, NULL, 0, &d->ncaptures);
    bind_local(c, d);
  }
  return true;
}

static void let_mut(Ctx *c, LetBinding *l, Node *x) {
  BindingList bs = {0};
  pattern_bindings(c->e, l->pat, &bs);
  el_bind_pattern(c, l->pat, x, l->span);
  for (int i = 0; i < bs.len; i++) vec_push(c->e->arena, c->muts, (Var *)map_get(&c->vars, bs.data[i]));
}

/* Is there something that the pattern doesn't fit? */
static bool may_miss(const Pat *p) {
  if (p->kind == P_WILD || p->kind == P_UNIT || p->kind == P_VAR) return false;
  if (p->kind != P_TUPLE && p->kind != P_RECORD && p->kind != P_AS && p->kind != P_ANNOT) return true;
  for (int i = 0; i < p->nargs; i++)
    if (may_miss(p->args[i])) return true;
  return false;
}

Node *el_let(Ctx *c, Expr *let) {
  Node *checks = ir_unit(c->w);
  if (let->rec) {
    let_rec(c, let);
    return checks;
  }
  for (int i = 0; i < let->nlets; i++) {
    LetBinding *l = &let->lets[i];
    if (let_general(c, l)) continue;
    const Node *mark = el_mark(c);
    Node *x = el_expr(c, l->value);
    if (may_miss(l->pat)) x = el_behind(c, mark, x);
    if (x->type->kind == T_UNIT) {
      x = el_settle(c, x);
      if (x->op != OP_UNIT) checks = el_after(c, checks->op == OP_UNIT ? x : checks, x);
      x = ir_unit(c->w);
    }
    if (c->clock == CLOCK_READ) vec_push(c->e->arena, c->bound, el_var(c, x));
    if (l->mut) let_mut(c, l, x);
    else el_bind_pattern(c, l->pat, x, l->span);
  }
  return checks;
}

/* ---- Callees --------------------------------------------------------------------------------- */

static bool prim_callee(Ctx *c, Expr *e, Callee *out) {
  Binding *b = e->binding;
  const Prim *p = prim_find(c->e, b);
  if (!p) {
    report_no_primitive(c->e, b);
    return false;
  }
  if (p->op < 0 && (b->pullback || b->tangent)) return false;
  out->prim = p;
  out->arity = p->arity;
  return true;
}

static bool variable_callee(Ctx *c, Expr *e, Callee *out) {
  Binding *b = e->binding;
  out->name = b->name;
  if (b->kind == BIND_PRIM && prim_callee(c, e, out)) return true;
  if (b->kind == BIND_LOCAL || b->kind == BIND_MUT) {
    Var *v = el_lookup(c, b);
    if (!v || !v->def || !v->def->is_fun) return false;
    out->def = v->def;
    out->instance = local_instance(c, v->def, el_instance_types(c, b, e->inst), e->span);
  } else {
    if (!el_is_function(b)) return false;
    out->instance = el_instance(c->e, b, el_instance_types(c, b, e->inst), e->span);
  }
  out->arity = out->instance->arity;
  return true;
}

/* What can be called by name. `head` is without annotations. */
bool el_callee(Ctx *c, Expr *head, Callee *out) {
  *out = (Callee){.type = el_type(c, head->type), .op = -1};
  switch (head->kind) {
  case E_VAR: return variable_callee(c, head, out);
  case E_CTOR:
    out->ctor = head->ctor;
    out->name = head->ctor->name;
    out->arity = 1;
    return head->ctor->arg != NULL;
  case E_OPERATOR:
    out->op = (int)head->op;
    out->name = sym_of(c->e->syms, binop_text(head->op));
    out->arity = 2;
    return true;
  default: return false;
  }
}

static Node *call_func(Ctx *c, const Callee *f, Node **args, Span at) {
  Func *fn = f->instance->func;
  int n = 0;
  Node **all = NEW_ARRAY(c->e->arena, Node *, fn->nparams + 1);
  for (; n < f->arity; n++) all[n] = args[n];
  for (int i = 0; f->def && i < f->def->ncaptures; i++) all[n++] = el_read(c, el_lookup(c, f->def->captures[i]));
  if (f->instance->effect) all[n++] = el_token(c);
  Node *x = ir_call(c->w, fn, all, el_site(c, at));
  return f->instance->effect ? el_take(c, x) : x;
}

/* Calls f with all its arguments. */
static Node *el_call(Ctx *c, const Callee *f, Node **args, Span at) {
  IrType *result = el_result_type(f->type, f->arity);
  Node *x;
  if (f->instance) x = call_func(c, f, args, at);
  else if (f->prim) x = prim_call(c, f->prim, args, f->type, at);
  else if (f->ctor) x = ir_inj(c->w, result, f->ctor->tag, args[0]);
  else x = el_binary(c, (BinOp)f->op, args[0], args[1], result, at);
  return el_coerce(c, x, result);
}

typedef struct Eta {
  const Callee *f;
  Var *args;
  int n;
  Span at;
} Eta;
static Node *eta_body(Ctx *c, void *user, Node *x);

static Node *eta_closure(Ctx *c, const Eta *k) {
  return el_closure(c, el_result_type(k->f->type, k->n), k->f->name, eta_body, (void *)k);
}

static Node *eta_body(Ctx *c, void *user, Node *x) {
  const Eta *k = user;
  int n = k->n + 1;
  Eta *next = NEW(c->e->arena, Eta);
  *next = (Eta){k->f, NEW_ARRAY(c->e->arena, Var, n), n, k->at};
  memcpy(next->args, k->args, sizeof(Var) * (size_t)k->n);
  next->args[k->n] = el_var(c, x);
  if (n < k->f->arity) return eta_closure(c, next);
  Node **args = NEW_ARRAY(c->e->arena, Node *, n);
  for (int i = 0; i < n; i++) args[i] = el_read(c, &next->args[i]);
  return el_call(c, k->f, args, k->at);
}

/* Where what fails in it says so itself, and not at the place `at` where it is mentioned: in a function of the
 * program. So that is the same function wherever it is mentioned. */
static Span place_of_value(const Ctx *c, const Callee *f, Span at) {
  bool has_places = f->instance && !f->instance->func->foreign.symbol;
  uint32_t source = has_places ? f->instance->func->span.source : 0;
  return source && !sources_get(c->e->sources, source)->library ? (Span){0} : at;
}

/* The function that takes the rest of the arguments. */
Node *el_eta(Ctx *c, const Callee *f, Node **args, int n, Span at) {
  Eta k = {f, NEW_ARRAY(c->e->arena, Var, n + 1), n, place_of_value(c, f, at)};
  for (int i = 0; i < n; i++) k.args[i] = el_var(c, args[i]);
  return eta_closure(c, &k);
}

Node *el_apply_value(Ctx *c, Node *f, Node *x, Span at) {
  if (f->type->kind != T_FUN) return el_error(c, at, c->e->t_unit, "unsupported", "this isn't a function here");
  if (!f->type->effect) return ir_apply(c->w, f, x, NULL, el_site(c, at));
  return el_take(c, ir_apply(c->w, f, x, el_token(c), el_site(c, at)));
}

/* ---- Application -------------------------------------------------------------------------------- */

static Node *apply_callee(Ctx *c, const Callee *f, Node **args, int n, Span at) {
  if (n < f->arity) return el_eta(c, f, args, n, at);
  return apply_all(c, el_call(c, f, args, at), args + f->arity, n - f->arity, at);
}

/* Before a call that can fail, but for an effect, which is in order anyway. What is a constant stays one for a function
 * that may be made for it; an operation's own operands all wait. */
static void arguments_behind(Ctx *c, const Callee *f, const Node *mark, Node **args, int n) {
  bool scalar = f && f->prim && f->prim->op >= 0, effect = f && f->prim && f->prim->rt && f->prim->rt->effect;
  if (scalar || effect || (f && (f->ctor || n < f->arity))) return;
  for (int i = 0; i < n; i++)
    if ((f && !f->instance) || !ir_is_constant(args[i])) args[i] = el_behind(c, mark, args[i]);
}

/* `head` applied to args, of which some may be evaluated already. `(f x) y` is `f x y`. */
Node *el_apply(Ctx *c, Expr *head, Arg *args, int n, const Node *mark, Span at) {
  head = strip(head);
  if (head->kind == E_APPLY) {
    int m = head->nargs - 1;
    Arg *all = NEW_ARRAY(c->e->arena, Arg, m + n);
    for (int i = 0; i < m; i++) all[i] = (Arg){head->args[i + 1], NULL};
    memcpy(all + m, args, sizeof *args * (size_t)n);
    return el_apply(c, head->args[0], all, m + n, mark, at);
  }
  Callee *f = NEW(c->e->arena, Callee);
  bool known = el_callee(c, head, f);
  Node *value = known ? NULL : el_expr(c, head);
  Node **nodes = NEW_ARRAY(c->e->arena, Node *, n);
  for (int i = 0; i < n; i++) nodes[i] = args[i].node ? args[i].node : el_expr(c, args[i].expr);
  arguments_behind(c, known ? f : NULL, mark, nodes, n);
  return known ? apply_callee(c, f, nodes, n, at) : apply_all(c, value, nodes, n, at);
}

/* ---- Values ---------------------------------------------------------------------------------------- */

/* A top-level value that isn't a function. */
static Node *el_binding_value(Ctx *c, Binding *b, IrType **inst, Span at) {
  BindingInfo *info = el_info(c->e, b);
  if (info->global) return ir_global(c->w, info->global - 1);
  if (!b->let || el_deep(c, at)) return el_error(c, at, c->e->t_unit, "unsupported", "this has no value here");
  Subst s = {b->qvars, inst, b->nqvars, NULL};
  const Subst *saved = c->subst;
  Var token = c->token;
  c->subst = arena_alloc(c->e->arena, sizeof s);
  memcpy((void *)c->subst, &s, sizeof s);
  c->token = (Var){0};
  Node *x = el_expr(c, b->let->value);
  el_bind_pattern(c, b->let->pat, x, b->let->pat->span);
  Var *v = map_get(&c->vars, b);
  c->subst = saved;
  c->token = token;
  return v ? el_read(c, v) : x;
}

typedef struct Coercion {
  Var f;
  IrType *to;
} Coercion;

static Node *coerce_body(Ctx *c, void *user, Node *x) {
  Coercion *k = user;
  Node *f = el_read(c, &k->f);
  Node *y = el_apply_value(c, f, el_coerce(c, x, f->type->args[0]), (Span){0});
  return el_coerce(c, y, k->to->args[1]);
}

/* A function without effect may stand where one with an effect is allowed: it takes the token and hands it on. */
static Node *el_coerce(Ctx *c, Node *x, IrType *to) {
  if (x->type == to || x->type->kind != to->kind) return x;
  if (to->kind == T_FUN) {
    Coercion k = {el_var(c, x), to};
    return el_closure(c, to, NULL, coerce_body, &k);
  }
  if (to->kind != T_TUPLE || to->n != x->type->n) return x;
  Node **parts = NEW_ARRAY(c->e->arena, Node *, to->n);
  for (int i = 0; i < to->n; i++) parts[i] = el_coerce(c, ir_get(c->w, x, i), to->args[i]);
  return ir_tuple(c->w, to, parts);
}

static Node *local_variable(Ctx *c, Expr *e) {
  Var *v = el_lookup(c, e->binding);
  if (!v) return el_error(c, e->span, el_type(c, e->type), "unsupported", "this variable has no value here");
  if (v->def) return local_value(c, v->def, el_instance_types(c, e->binding, e->inst));
  return el_read(c, v);
}

Node *el_variable(Ctx *c, Expr *e) {
  Callee *f = NEW(c->e->arena, Callee);
  if (el_callee(c, e, f)) return el_eta(c, f, NULL, 0, e->span);
  Binding *b = e->binding;
  Node *x;
  if (b->kind == BIND_LOCAL || b->kind == BIND_MUT) x = local_variable(c, e);
  else x = el_binding_value(c, b, el_instance_types(c, b, e->inst), e->span);
  return el_coerce(c, x, el_type(c, e->type));
}
