/* SPDX-License-Identifier: MIT */
/* Rewrite rules: `rule twice m : transpose (transpose m) = m`.
 *
 * A rule is checked as the function of its parameters that gives both sides, which have one type:
 *
 *   rule NAME x y : LEFT = RIGHT   →   fun x y -> (LEFT, RIGHT)
 *
 * The left side is a call of a function, over parameters, literals, operations and further calls of functions and
 * constructors. What it calls is listed in RewriteRule.uses, and the rule with each of these functions
 * (Binding.rewrites): elaboration makes a pattern of the rule at all types at which the functions are used together. So
 * the types of these functions have to tell all types of the rule. */
#include "check/check_internal.h"

#define CALL_HINT "the left side calls a function, as in: rule again xs : sort (sort xs) = sort xs"
#define PART_HINT "parameters, literals, operations, and calls of functions and constructors can"

typedef struct Left {
  Checker *c;
  const Item *item;
  Vec(RuleUse) uses;
  Map met; /* parameters that occur */
} Left;

static const Expr *sides_of(const Item *item) { return item->expr->kind == E_FUN ? item->expr->args[0] : item->expr; }

static int nparams_of(const Item *item) { return item->expr->kind == E_FUN ? item->expr->nparams : 0; }

static const Pat *plain(const Pat *p) { return p->kind == P_ANNOT ? p->args[0] : p; }

static Diag *report(Checker *c, Span at, const char *message) {
  return diag_error(c->diags, at, tc_diag_code(D_REWRITE), "%s", message);
}

/* ---- Functions that may be called on the left ---------------------------------------------------- */
/* How many arguments a call of the function has; 0: it isn't defined by its parameters. */
static int arity_of(const Binding *b) {
  if (b->pullback) return b->pullback->expr->nparams;
  if (b->tangent) return b->tangent->expr->nparams / 2;
  int n = 0;
  for (const TypeExpr *t = b->kind == BIND_FOREIGN ? b->item->annot : NULL; t && t->kind == TE_FUN; t = t->args[1]) n++;
  for (const Expr *e = binding_fun(b); e && e->kind == E_FUN; e = e->args[0]) n += e->nparams;
  return n;
}

static bool is_callable(const Binding *b) { return b->kind == BIND_TOP || b->kind == BIND_FOREIGN; }

/* The prelude's function that `@` of two matrices calls; NULL if there is none. */
static Binding *matrix_product(const Checker *c) { return c->matmul; }

static bool is_matrix(Type *t) {
  t = type_repr(t);
  return t->kind == TY_ARRAY && type_repr(t->args[0])->kind == TY_ARRAY;
}

static bool is_product_of_matrices(const Expr *e) {
  return e->kind == E_BINARY && e->op == BIN_MATMUL && is_matrix(e->args[0]->type) && is_matrix(e->args[1]->type);
}

static void add_use(Left *l, Binding *f, Type **inst, Span at) {
  vec_push(l->c->arena, l->uses, ((RuleUse){f, inst, at}));
}

static void report_arity(const Left *l, const Expr *call, const Binding *f, int got) {
  int n = arity_of(f);
  if (n)
    diag_error(l->c->diags, call->span, tc_diag_code(D_REWRITE), "`%s` is called with %d argument%s, not %d", f->name,
               n, n == 1 ? "" : "s", got)
        ->hint = "a rule rewrites whole calls";
  else
    diag_error(l->c->diags, call->span, tc_diag_code(D_REWRITE), "`%s` isn't defined with parameters", f->name)->hint =
        "a rule rewrites calls of functions that are: let f x = …";
}

/* A call of f by name: f e e. */
static void visit_call(Left *l, const Expr *call) {
  const Expr *f = call->args[0];
  Binding *b = f->binding;
  if (is_callable(b) && arity_of(b) == call->nargs - 1) add_use(l, b, f->inst, f->span);
  else if (is_callable(b)) report_arity(l, call, b, call->nargs - 1);
  else if (b->kind != BIND_PRIM)
    report(l->c, f->span, "a parameter isn't called on the left side of a rule")->hint = PART_HINT;
}

/* ---- The left side -------------------------------------------------------------------------------------- */
static void visit(Left *l, const Expr *e);

static void visit_parts(Left *l, const Expr *e) {
  for (int i = 0; i < e->nargs; i++) visit(l, e->args[i]);
}

/* A name that isn't called. */
static void visit_name(Left *l, const Expr *e) { map_put(&l->met, e->binding, e->binding); }

static void visit_apply(Left *l, const Expr *e) {
  const Expr *f = e->args[0];
  if (f->kind == E_VAR) visit_call(l, e);
  else if (f->kind != E_CTOR)
    report(l->c, f->span, "only a function with a name is called on the left side of a rule")->hint = PART_HINT;
  for (int i = 1; i < e->nargs; i++) visit(l, e->args[i]);
}

static void visit(Left *l, const Expr *e) {
  switch (e->kind) {
  case E_VAR: visit_name(l, e); return;
  case E_APPLY: visit_apply(l, e); return;
  case E_BINARY:
    if (is_product_of_matrices(e) && matrix_product(l->c)) add_use(l, matrix_product(l->c), NULL, e->op_span);
    visit_parts(l, e);
    return;
  case E_INT:
  case E_FLOAT:
  case E_BOOL:
  case E_STRING:
  case E_UNIT:
  case E_CTOR:
  case E_OPERATOR: return;
  case E_TUPLE:
  case E_RECORD:
  case E_FIELD:
  case E_ARRAY:
  case E_NEGATE:
  case E_ANNOT: visit_parts(l, e); return;
  default: report(l->c, e->span, "this can't stand on the left side of a rule")->hint = PART_HINT; return;
  }
}

static const Expr *bare(const Expr *e) {
  while (e->kind == E_ANNOT) e = e->args[0];
  return e;
}

static void report_operation(Checker *c, Span at, const char *name) {
  Diag *d =
      diag_error(c->diags, at, tc_diag_code(D_REWRITE), "a rule can't begin with `%s`, which is an operation", name);
  d->hint = "operations have normal forms of their own; define a function that uses it, and write rules about that";
}

/* What a rule begins with is the function whose calls it rewrites. */
static bool check_head(Checker *c, const Expr *left) {
  left = bare(left);
  const Expr *f = left->kind == E_APPLY ? left->args[0] : left;
  if (left->kind == E_APPLY && f->kind == E_VAR && is_callable(f->binding)) return true;
  if (is_product_of_matrices(left) && matrix_product(c)) return true;
  if (left->kind == E_APPLY && f->kind == E_VAR && f->binding->kind == BIND_PRIM)
    report_operation(c, f->span, f->name.name);
  else if (left->kind == E_BINARY) report_operation(c, left->op_span, binop_text(left->op));
  else if (f->kind == E_CTOR)
    report(c, f->span, "a rule can't begin with a constructor: what that makes equals nothing else")->hint = CALL_HINT;
  else if (left->kind == E_APPLY && f->kind == E_VAR)
    report(c, f->span, "a rule begins with a function that is defined at top level, not with a parameter")->hint =
        CALL_HINT;
  else report(c, left->span, "a rule begins with the call of a function")->hint = CALL_HINT;
  return false;
}

static bool check_parameters(Checker *c, const Item *item) {
  for (int i = 0; i < nparams_of(item); i++) {
    const Pat *p = item->expr->params[i];
    if (plain(p)->kind == P_VAR) continue;
    report(c, p->span, "a parameter of a rule is a name")->hint = "with its type, if need be: (m : float[][])";
    return false;
  }
  return true;
}

static const Pat *parameter(const Item *item, Sym name) {
  for (int i = 0; i < nparams_of(item); i++)
    if (plain(item->expr->params[i])->name.name == name) return plain(item->expr->params[i]);
  return NULL;
}

static void check_uses_of_parameters(const Left *l) {
  for (int i = 0; i < nparams_of(l->item); i++) {
    const Pat *p = plain(l->item->expr->params[i]);
    if (!map_get(&l->met, p->binding))
      diag_error(l->c->diags, p->span, tc_diag_code(D_REWRITE), "`%s` doesn't occur on the left side", p->name.name)
          ->hint = "a rule finds its parameters in the call that it rewrites";
  }
  for (int i = 0; i < l->item->nknown; i++) {
    const Name *n = &l->item->known[i];
    if (!parameter(l->item, n->name))
      diag_error(l->c->diags, n->span, tc_diag_code(D_REWRITE), "`%s` is no parameter of the rule", n->name);
  }
}

/* ---- Types ---------------------------------------------------------------------------------------------- */
static bool holds(Type *t, const Type *variable, int depth) {
  t = type_repr(t);
  if (t == variable) return true;
  for (int i = 0; i < t->n && depth < LIMIT_TYPE_DEPTH; i++)
    if (holds(t->args[i], variable, depth + 1)) return true;
  return false;
}

static bool is_told(const Left *l, const Type *variable) {
  for (int i = 0; i < l->uses.len; i++) {
    const RuleUse *u = &l->uses.data[i];
    for (int k = 0; u->inst && k < u->function->nqvars; k++)
      if (holds(u->inst[k], variable, 0)) return true;
  }
  return false;
}

static void check_types_told(const Left *l, const Binding *rule) {
  for (int i = 0; i < rule->nqvars; i++) {
    if (rule->qvars[i]->classes & CLASS_EFFECT || is_told(l, rule->qvars[i])) continue;
    report(l->c, sides_of(l->item)->args[0]->span,
           "the functions that are called here don't tell all types of the rule")
        ->hint = "give parameters their types, as in: rule r (m : float[][]) : …";
    return;
  }
}

/* The first call with an effect. */
static void check_effects(Checker *c, const Item *item) {
  for (int i = 0; i < c->s.rule_effects.len; i++) {
    EffectUse u = c->s.rule_effects.data[i];
    if (type_repr(u.effect)->kind != TY_EFFECT) continue;
    diag_error(c->diags, u.at, tc_diag_code(D_EFFECT), "`%s` has an effect here: a rule can't have one",
               item->name.name);
    return;
  }
}

/* ---- The item ------------------------------------------------------------------------------------------- */
static void add_rule(Checker *c, Binding *f, RewriteRule *rule) {
  RuleList **last = &f->rewrites;
  while (*last && (*last)->rule != rule) last = &(*last)->next;
  if (*last) return; /* called twice on the left */
  SAVE(c->arena, *last);
  *last = NEW(c->arena, RuleList);
  (*last)->rule = rule;
}

/* The rule of this name that stands in an older source; NULL: there is none. */
static RewriteRule *older_rule(Checker *c, const Module *m, const Item *item) {
  for (int i = 0; i < m->items.len; i++) {
    const Item *old = m->items.data[i];
    bool same = old->kind == I_RULE && old->rewrite && old->name.name == item->name.name;
    if (same && old->span.source != item->span.source && !old->rewrite->ended) return old->rewrite;
    if (same && old->span.source == item->span.source)
      diag_error(c->diags, item->name.span, tc_diag_code(D_DUPLICATE), "there is a rule `%s` already", item->name.name);
  }
  return NULL;
}

static void set_ended(Checker *c, RewriteRule *rule, bool ended) {
  SAVE(c->arena, rule->ended);
  SAVE(c->arena, rule->off);
  rule->ended = rule->off = ended;
}

void rewrite_rule_take_back(Checker *c, RewriteRule *rule) {
  if (!rule) return; /* something was wrong with it */
  set_ended(c, rule, true);
  if (rule->replaces) set_ended(c, rule->replaces, false);
}

/* The library's rules hold from now on, others when their item is elaborated. */
static void register_rule(Checker *c, const Module *m, Item *item, const Left *l, RewriteRule *older) {
  RewriteRule *r = NEW(c->arena, RewriteRule);
  *r = (RewriteRule){.item = item, .uses = l->uses.data, .nuses = l->uses.len, .off = !m->library, .replaces = older};
  if (older) set_ended(c, older, true);
  item->rewrite = r;
  for (int i = 0; i < r->nuses; i++) add_rule(c, r->uses[i].function, r);
}

void tc_check_rewrite_rule(Checker *c, Module *m, Item *item) {
  const Expr *left = sides_of(item)->args[0];
  int errors = c->diags->errors;
  Left l = {.c = c, .item = item};
  map_init(&l.met, c->temp);
  if (!check_parameters(c, item) || !check_head(c, left)) return;
  visit(&l, left);
  if (c->diags->errors == errors) check_uses_of_parameters(&l);
  if (c->diags->errors == errors) check_types_told(&l, item->binding);
  check_effects(c, item);
  RewriteRule *older = older_rule(c, m, item);
  if (c->diags->errors == errors) register_rule(c, m, item, &l, older);
}
