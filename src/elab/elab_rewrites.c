/* SPDX-License-Identifier: MIT */
/* Patterns of rewrite rules (check/rewrite_rules.c).
 *
 * A rule has a pattern for all types at which the functions on its left side have instances together: both sides as
 * graphs over the rule's parameters (IrRule), listed with the function that the left side begins with. Patterns are
 * made when the last of these instances is, or when the rule's item is elaborated: from then on it holds. Calls of all
 * functions on the left stay calls (Func.ruled) as soon as the rule is checked, until rules have been tried
 * (opt/rewriting.c); so what one rule makes is matched by another whichever is declared first.
 *
 * When a rule is declared its patterns at one choice of types are made at once: what is wrong with it is reported
 * then, and not where its functions are first used. */
#include "elab/elab_internal.h"
#include "graph/graph.h"
#include "parser/parser.h"
#include <string.h>

typedef struct Patterns { /* RewriteRule.elab: the types for which patterns were made, or couldn't be */
  Vec(IrType **) made;
} Patterns;

static const Expr *sides_of(const Item *item) { return item->expr->kind == E_FUN ? item->expr->args[0] : item->expr; }

static int nparams_of(const Item *item) { return item->expr->kind == E_FUN ? item->expr->nparams : 0; }

/* ---- Types ------------------------------------------------------------------------------------------ */
static bool match_type(Subst *s, Type *t, IrType *x);

static bool match_types(Subst *s, Type *const *ts, IrType *const *xs, int n) {
  for (int i = 0; i < n; i++)
    if (!match_type(s, ts[i], xs[i])) return false;
  return true;
}

static bool match_variable(Subst *s, const Type *v, IrType *x) {
  for (int i = 0; i < s->n; i++) {
    if (s->vars[i] != v) continue;
    if (!s->types[i]) s->types[i] = x;
    return s->types[i] == x;
  }
  return true;
}

/* Finds types for variables of t with which it is x. True too where t only looks like x: uses_fit decides. */
static bool match_type(Subst *s, Type *t, IrType *x) {
  t = type_repr(t);
  switch (t->kind) {
  case TY_VAR: return match_variable(s, t, x);
  case TY_ARRAY: return x->kind == T_ARRAY && match_type(s, t->args[0], x->args[0]);
  case TY_FUN: return x->kind == T_FUN && match_types(s, t->args, x->args, 2);
  case TY_TUPLE:
  case TY_RECORD: return x->kind == T_TUPLE && x->n == t->n && match_types(s, t->args, x->args, t->n);
  case TY_DATA: return x->kind == T_VARIANT && x->n == t->n && match_types(s, t->args, x->args, t->n);
  default: return true;
  }
}

static bool is_effect(const Type *variable) { return (variable->classes & CLASS_EFFECT) != 0; }

/* Is the function used at the types of the instance? */
static bool use_fits(Elab *e, const Subst *s, const RuleUse *u, const Instance *in) {
  for (int k = 0; k < u->function->nqvars; k++) {
    IrType *t = u->inst ? el_ir_type(e, s, u->inst[k]) : e->t_unit;
    if (t != in->inst[k]) return false;
  }
  return true;
}

static bool is_pure_instance(const Elab *e, const Instance *in) {
  return in->func && !in->effect && !in->failed && in->traps == TRAP_NOTHING && e->w->traps == TRAP_NOTHING;
}

/* ---- Patterns --------------------------------------------------------------------------------------- */
static Diag *report(Elab *e, Span at, const char *message) {
  e->failed = true;
  return e->diags ? diag_error(e->diags, at, "rewrite-rule", "%s", message) : NULL;
}

/* How many calls of functions with rules the pattern holds; marks the parameters that it holds. */
static int count_calls(const Node *x, bool *params) {
  int n = x->op == OP_CALL && x->attr.func->ruled;
  if (x->op == OP_PARAM) params[x->attr.i] = true;
  for (int i = 0; i < x->nops; i++) n += count_calls(x->ops[i], params);
  return n;
}

/* Is what was written on the left side still there, after normal forms? */
static bool check_left(Elab *e, const RewriteRule *r, const Node *left) {
  int n = nparams_of(r->item);
  bool *met = NEW_ARRAY(e->arena, bool, n + 1), all = left->op == OP_CALL && left->attr.func->ruled;
  all &= count_calls(left, met) == r->nuses;
  for (int i = 0; i < n; i++) all &= met[i];
  if (all) return true;
  Diag *d = report(e, sides_of(r->item)->args[0]->span, "nothing matches this left side: normal forms change it");
  if (d) d->hint = "what operations make of constants and of each other is done before rules are tried";
  return false;
}

/* Would the rule apply to what it makes? */
static bool check_right(Elab *e, const RewriteRule *r, const IrRule *rule) {
  if (r->item->nknown || !ir_rule_matches_itself(e->w, rule)) return true;
  Diag *d = report(e, sides_of(r->item)->args[1]->span, "the rule applies to what it makes: it would never end");
  if (d) d->hint = "turn the sides round, or make what is on the right smaller than the left";
  return false;
}

static const Sym *param_names(Elab *e, const Item *item) {
  Sym *names = NEW_ARRAY(e->arena, Sym, nparams_of(item) + 1);
  for (int i = 0; i < nparams_of(item); i++) {
    const Pat *p = item->expr->params[i];
    names[i] = p->kind == P_ANNOT ? p->args[0]->name.name : p->name.name;
  }
  return names;
}

/* Both sides at these types; NULL after an error. */
static IrRule *make_rule(Elab *e, const RewriteRule *r, const Subst *s) {
  Item *item = r->item;
  int n = nparams_of(item);
  Ctx c;
  el_init_ctx(&c, e, NULL, item->span, item->name.name, s);
  IrType **types = NEW_ARRAY(e->arena, IrType *, n + 1);
  for (int i = 0; i < n; i++) {
    Pat *p = item->expr->params[i];
    types[i] = el_type(&c, p->type);
    el_bind_pattern(&c, p, region_param(c.region, types[i]), p->span);
  }
  const Expr *sides = sides_of(item);
  Node *left = el_expr(&c, sides->args[0]), *right = el_expr(&c, sides->args[1]);
  if (e->failed || !check_left(e, r, left)) return NULL;
  IrRule *rule = NEW(e->arena, IrRule);
  *rule = (IrRule){.name = item->name.name, .at = item->name.span, .number = r->number, .off = &r->off};
  rule->left = left;
  rule->right = ir_graph(e->w, types, n, right, item->name.name);
  rule->library = item->binding->module->library;
  rule->names = param_names(e, item);
  bool *known = NEW_ARRAY(e->arena, bool, n + 1);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < item->nknown; k++) known[i] |= item->known[k].name == rule->names[i];
  rule->known = known;
  return check_right(e, r, rule) ? rule : NULL;
}

static Patterns *patterns_of(Elab *e, RewriteRule *r) {
  if (!r->elab) {
    SAVE(e->arena, r->elab);
    r->elab = NEW(e->arena, Patterns);
  }
  return r->elab;
}

static bool has_pattern(const Patterns *all, IrType *const *types, int n) {
  for (int i = 0; i < all->made.len; i++)
    if (!n || !memcmp(all->made.data[i], types, sizeof *types * (size_t)n)) return true;
  return false;
}

static void make_pattern(Elab *e, RewriteRule *r, const Subst *s) {
  Patterns *all = patterns_of(e, r);
  for (int i = 0; i < s->n; i++)
    if (!s->types[i]) return;
  if (has_pattern(all, s->types, s->n)) return;
  Subst *own = NEW(e->arena, Subst);
  *own = *s;
  own->types = NEW_ARRAY(e->arena, IrType *, s->n + 1);
  memcpy(own->types, s->types, sizeof *s->types * (size_t)s->n);
  SAVE(e->arena, *all);
  vec_push(e->arena, all->made, own->types);
  IrRule *rule = make_rule(e, r, own);
  if (rule) ir_add_rule(e->w, rule);
}

/* Finds the types of all uses from `use` on among the instances that there are. */
static void complete(Elab *e, RewriteRule *r, int use, Subst *s) {
  if (use == r->nuses) {
    make_pattern(e, r, s);
    return;
  }
  const RuleUse *u = &r->uses[use];
  const Instances *all = &el_info(e, u->function)->instances;
  IrType **before = NEW_ARRAY(e->arena, IrType *, s->n + 1);
  memcpy(before, s->types, sizeof *before * (size_t)s->n);
  for (int i = 0; i < all->len; i++) {
    const Instance *in = all->data[i];
    bool fits = is_pure_instance(e, in) && (!u->inst || match_types(s, u->inst, in->inst, u->function->nqvars));
    if (fits && use_fits(e, s, u, in)) complete(e, r, use + 1, s);
    memcpy(s->types, before, sizeof *before * (size_t)s->n);
  }
}

static void mark_instances(Elab *e, const RewriteRule *r) {
  if (e->w->no_rules) return;
  for (int i = 0; i < r->nuses; i++) {
    const Instances *all = &el_info(e, r->uses[i].function)->instances;
    for (int k = 0; k < all->len; k++)
      if (is_pure_instance(e, all->data[k])) ir_mark_ruled(e->w, all->data[k]->func);
  }
}

static void number_rule(Elab *e, RewriteRule *r) {
  if (r->number) return;
  SAVE(e->arena, r->number);
  SAVE(e->arena, e->w->nrules);
  r->number = ++e->w->nrules;
}

static void complete_rule(Elab *e, RewriteRule *r) {
  if (r->off || !el_may_hold(e, r)) return;
  number_rule(e, r);
  const Binding *b = r->item->binding;
  Subst s = {b->qvars, NEW_ARRAY(e->arena, IrType *, b->nqvars + 1), b->nqvars, NULL};
  for (int i = 0; i < b->nqvars; i++) s.types[i] = is_effect(b->qvars[i]) ? e->t_unit : NULL;
  mark_instances(e, r);
  complete(e, r, 0, &s);
}

void el_rewrites(Elab *e, const Binding *b) {
  const Entry saved = el_enter(e, NULL); /* what is wrong with a rule was reported when it was declared */
  for (const RuleList *l = b->rewrites; l; l = l->next) complete_rule(e, l->rule);
  el_leave(e, saved);
}

/* ---- Overlaps --------------------------------------------------------------------------------------- */
/* Two rules, for the names of parameters. */
typedef struct TermText {
  Elab *e;
  const IrRule *r, *q;
  Str *out;
} TermText;

static void print_term(const TermText *t, const Node *x, bool inner);

static void print_call(const TermText *t, const char *name, const Node *x, bool inner) {
  if (inner && x->nops) str_addc(t->out, '(');
  str_puts(t->out, name);
  for (int i = 0; i < x->nops; i++) {
    str_addc(t->out, ' ');
    print_term(t, x->ops[i], true);
  }
  if (inner && x->nops) str_addc(t->out, ')');
}

/* The operator of an operation on two numbers, "*" for "*."; NULL: it has a name. */
static const char *operator_text(Elab *e, const Node *x) {
  const char *name = op_names[x->op];
  if (x->nops != 2 || (*name >= 'a' && *name <= 'z')) return NULL;
  return arena_strndup(e->arena, name, strcspn(name, "."));
}

static void print_operation(const TermText *t, const char *op, const Node *x, bool inner) {
  str_puts(t->out, inner ? "(" : "");
  print_term(t, x->ops[0], true);
  str_printf(t->out, " %s ", op);
  print_term(t, x->ops[1], true);
  str_puts(t->out, inner ? ")" : "");
}

static void print_tuple(const TermText *t, const Node *x) {
  for (int i = 0; i < x->nops; i++) {
    str_puts(t->out, i ? ", " : "(");
    print_term(t, x->ops[i], false);
  }
  str_addc(t->out, ')');
}

static void print_term(const TermText *t, const Node *x, bool inner) {
  int64_t first = t->r->right->nparams;
  const char *op = operator_text(t->e, x);
  switch (x->op) {
  case OP_PARAM: str_puts(t->out, x->attr.i < first ? t->r->names[x->attr.i] : t->q->names[x->attr.i - first]); return;
  case OP_INT: str_printf(t->out, "%lld", (long long)x->attr.i); return;
  case OP_FLOAT: str_printf(t->out, "%g", x->attr.f); return;
  case OP_BOOL: str_puts(t->out, x->attr.i ? "true" : "false"); return;
  case OP_TUPLE: print_tuple(t, x); return;
  case OP_CALL: print_call(t, x->attr.func->name, x, inner); return;
  case OP_LOOP:
  case OP_SWITCH:
  case OP_GET: str_puts(t->out, "…"); return; /* what was written out */
  default:
    if (op) print_operation(t, op, x, inner);
    else print_call(t, op_names[x->op], x, inner);
    return;
  }
}

static const char *term_text(Elab *e, const IrRule *r, const IrRule *q, const Node *x) {
  Str out = {.arena = e->arena};
  print_term(&(TermText){e, r, q, &out}, x, false);
  return out.data;
}

typedef struct Overlaps {
  Elab *e;
  Diags *diags;
  int since; /* pairs of which one rule has a higher number are looked at */
  Map told;  /* numbers of pairs that were reported: a rule has patterns at several types */
} Overlaps;

static bool has_conditions(const IrRule *r) {
  for (int i = 0; i < r->right->nparams; i++)
    if (r->known[i]) return true;
  return false;
}

/* Warns if q can apply within what r applies to, with another result. Whether conditions hold isn't known there. */
static void check_overlap(Overlaps *o, const IrRule *r, const IrRule *q) {
  Elab *e = o->e;
  RuleOverlap found;
  const void *pair = (const void *)(uintptr_t)((uint64_t)r->number << 32 | (unsigned)q->number);
  bool asked = (r->number > o->since || q->number > o->since) && !*r->off && !*q->off && !map_get(&o->told, pair);
  if (!asked || has_conditions(r) || has_conditions(q) || !ir_rules_disagree(e->w, r, q, &found)) return;
  map_put(&o->told, pair, o);
  Diag *d = diag_warning(o->diags, r->number > q->number ? r->at : q->at, "rewrite-rule",
                         "the rules `%s` and `%s` make different things of `%s`", r->name, q->name,
                         term_text(e, r, q, found.term));
  d->hint = arena_printf(e->arena, "`%s` makes `%s` of it, and after `%s` it becomes `%s`", r->name,
                         term_text(e, r, q, found.one), q->name, term_text(e, r, q, found.other));
}

typedef Vec(const IrRule *) RuleNodes;

void elab_check_rules(Elab *e, int since, Diags *diags) {
  Overlaps o = {e, diags, since, {0}};
  RuleNodes all = {0};
  if (e->w->nrules == since) return;
  map_init(&o.told, e->w->temp);
  for (int i = 0; i < e->w->funcs.len; i++)
    for (const IrRule *r = e->w->funcs.data[i]->rules; r; r = r->next)
      if (!r->library) vec_push(e->w->temp, all, r); /* what those make is equal, if not of one form */
  for (int i = 0; i < all.len; i++)
    for (int k = 0; k < all.len; k++) check_overlap(&o, all.data[i], all.data[k]);
}

/* ---- Declarations ----------------------------------------------------------------------------------- */
/* A type at which a generic rule is looked at. */
static IrType *sample_type(Elab *e, const Type *variable) { return is_effect(variable) ? e->t_unit : e->t_float; }

/* The instance of the use at these types: making it makes the rule's patterns. */
static void use_function(Elab *e, const Subst *s, const RuleUse *u) {
  int n = u->function->nqvars;
  IrType **inst = NEW_ARRAY(e->arena, IrType *, n + 1);
  for (int k = 0; k < n; k++) inst[k] = u->inst ? el_ir_type(e, s, u->inst[k]) : e->t_unit;
  el_instance(e, u->function, inst, u->at);
}

bool el_rewrite_rule(Elab *e, const Item *item, Diags *diags) {
  RewriteRule *r = item->rewrite;
  const Binding *b = item->binding;
  if (e->w->no_rules || e->w->traps != TRAP_NOTHING) return true;
  Subst s = {b->qvars, NEW_ARRAY(e->arena, IrType *, b->nqvars + 1), b->nqvars, NULL};
  for (int i = 0; i < b->nqvars; i++) s.types[i] = sample_type(e, b->qvars[i]);
  const Entry saved = el_enter(e, diags);
  for (int i = 0; i < r->nuses; i++) use_function(e, &s, &r->uses[i]); /* the rule is off: errors are reported below */
  SAVE(e->arena, r->off);
  r->off = false;
  complete_rule(e, r);
  return el_leave(e, saved);
}
