/* SPDX-License-Identifier: MIT */
/* Let-polymorphism: which variables of a definition are quantified, and what
 * becomes of the others.
 *
 * A definition is inferred one level deeper than its surroundings
 * (enter_level); variables still of that level at its end (leave_level) are its
 * own. Those in its type are quantified, in place: the types in its body refer
 * to the same variables, which get LEVEL_GENERIC, and Binding.qvars lists them.
 * The open relations between them become part of its scheme, with all their
 * variables. Variables in neither get their default: an int, a pure
 * effect, unit.
 *
 * What isn't quantified in an inner let waits for the surroundings: its
 * variables are lowered to their level. At the level of the item nothing can
 * wait, so everything is settled by default.
 *
 * Effects need no quantifier in a definition that isn't a value: an effect
 * variable that stands only for what the value itself does is made pure, and
 * each use loosens that (type_loosen). That of a `mut` variable stays open:
 * what is assigned later decides it, too. */
#include "check/check_internal.h"
#include <string.h>

Marks tc_enter_level(Checker *c) {
  c->s.level++;
  return (Marks){c->s.vars.len, c->s.relations.len, c->s.rec_uses.len};
}

/* ---- Values ------------------------------------------------------------------ */
/* Parameters a binding's function takes one after the other; 0 when it isn't a known function. */
static int known_arity(const Binding *b) {
  const Expr *fun = binding_fun(b);
  if (fun) return fun->nparams;
  if (b->kind == BIND_PRIM || b->kind == BIND_FOREIGN) return b->item ? tc_count_arrows(b->item->annot) : 0;
  return 0;
}

static bool all_values(Checker *c, Expr *const *es, int n) {
  for (int i = 0; i < n; i++)
    if (!tc_is_value(c, es[i])) return false;
  return true;
}

/* Whether evaluating e does no work, so that doing it at each use is the same. */
bool tc_is_value(Checker *c, const Expr *e) {
  while (e->kind == E_ANNOT) e = e->args[0];
  switch (e->kind) {
  case E_INT:
  case E_FLOAT:
  case E_BOOL:
  case E_STRING:
  case E_UNIT:
  case E_FUN:
  case E_CTOR:
  case E_OPERATOR: return true;
  case E_VAR: return !e->binding || e->binding->kind != BIND_MUT;
  case E_ARRAY: return e->nargs == 0;
  case E_TUPLE:
  case E_RECORD:
  case E_WITH: return all_values(c, e->args, e->nargs);
  case E_NEGATE: return e->args[0]->kind == E_INT || e->args[0]->kind == E_FLOAT;
  case E_APPLY: {
    const Expr *f = e->args[0];
    bool known = f->kind == E_CTOR || (f->kind == E_VAR && f->binding && known_arity(f->binding) > e->nargs - 1);
    return known && all_values(c, e->args + 1, e->nargs - 1);
  }
  case E_BINARY:
    for (; e->kind == E_BINARY && e->op == BIN_CONS; e = e->args[1])
      if (!tc_is_value(c, e->args[0])) return false;
    if (e->kind != E_BINARY) return tc_is_value(c, e);
    return e->op == BIN_COMPOSE && tc_is_value(c, e->args[0]) && tc_is_value(c, e->args[1]);
  default: return false;
  }
}

/* ---- Variables of a type ------------------------------------------------------- */
typedef struct VarSet { /* in the order found */
  Types list;
  Map members;
} VarSet;

static VarSet new_set(Checker *c) {
  VarSet s = {0};
  map_init(&s.members, c->temp);
  return s;
}

static bool has_var(const VarSet *s, const Type *v) { return map_get(&s->members, v) != NULL; }

static void add_var(Checker *c, VarSet *s, Type *v) {
  if (has_var(s, v)) return;
  vec_push(c->temp, s->list, v);
  map_put(&s->members, v, v);
}

/* Adds the open variables of t above the level. */
static void collect(Checker *c, Type *t, int level, VarSet *out, int depth) {
  t = type_repr(t);
  if (depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return;
  if (t->kind == TY_VAR && t->level > level && t->level != LEVEL_GENERIC) add_var(c, out, t);
  for (int i = 0; i < t->n; i++) collect(c, t->args[i], level, out, depth + 1);
}

static bool mentions_below(Checker *c, Type *t, int level, int depth) {
  t = type_repr(t);
  if (depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return false;
  if (t->kind == TY_VAR) return t->level <= level;
  for (int i = 0; i < t->n; i++)
    if (mentions_below(c, t->args[i], level, depth + 1)) return true;
  return false;
}

/* Variables of t outside of functions that are numbers: a non-function's literals. */
static void lower_scalars(Checker *c, Type *t, int level, int depth) {
  t = type_repr(t);
  if (t->kind == TY_FUN || depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return;
  if (t->kind == TY_VAR && t->level > level && t->classes & CLASS_SCALAR) {
    if (level) t->level = level;
    else tc_unify(c, t, c->t_int);
    return;
  }
  for (int i = 0; i < t->n; i++) lower_scalars(c, t->args[i], level, depth + 1);
}

/* Effect variables on arrows that only what the value does decides become pure; others are left. */
static void polarity(Checker *c, Type *t, int level, bool positive, VarSet *pure, VarSet *other, int depth) {
  t = type_repr(t);
  if (depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return;
  if (t->kind == TY_VAR && t->classes & CLASS_EFFECT && t->level > level) add_var(c, positive ? pure : other, t);
  for (int i = 0; i < t->n; i++)
    polarity(c, t->args[i], level, t->kind == TY_FUN && i == 0 ? !positive : positive, pure, other, depth + 1);
}

static void settle_effects(Checker *c, Type *t, int level) {
  VarSet pure = new_set(c), other = new_set(c);
  c->steps = LIMIT_TYPE_STEPS;
  polarity(c, t, level, true, &pure, &other, 0);
  for (int i = 0; i < pure.list.len; i++)
    if (!has_var(&other, pure.list.data[i])) tc_unify(c, pure.list.data[i], c->t_pure);
}

/* ---- Relations ------------------------------------------------------------------- */
static void lower_relation(Checker *c, const Constraint *k, int level) {
  for (int i = 0; i < k->n; i++) tc_lower_levels(c, k->t[i], level);
}

/* Of its types those that decide whose it is: for a field the record, from which the field's type follows. */
static int deciding(const Constraint *k) { return k->kind == C_FIELD ? 1 : k->n; }

static bool shared(Checker *c, const Constraint *k, int level) {
  c->steps = LIMIT_TYPE_STEPS;
  for (int i = 0; i < deciding(k); i++)
    if (mentions_below(c, k->t[i], level, 0)) return true;
  return false;
}

static bool mentions(Checker *c, Type *t, const VarSet *vs, int depth) {
  t = type_repr(t);
  if (depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return false;
  if (t->kind == TY_VAR) return has_var(vs, t);
  for (int i = 0; i < t->n; i++)
    if (mentions(c, t->args[i], vs, depth + 1)) return true;
  return false;
}

static bool touches(Checker *c, const Constraint *k, const VarSet *vs) {
  c->steps = LIMIT_TYPE_STEPS;
  for (int i = 0; i < deciding(k); i++)
    if (mentions(c, k->t[i], vs, 0)) return true;
  return false;
}

/* Relations with a variable of the surroundings stay there, and with them all their other variables. */
static void leave_shared(Checker *c, Marks m) {
  bool changed = true;
  Vec(Constraint *) left = {0};
  for (int i = m.relations; i < c->s.relations.len; i++)
    if (!c->s.relations.data[i]->done) vec_push(c->temp, left, c->s.relations.data[i]);
  while (changed) {
    changed = false;
    for (int i = 0; i < left.len; i++) {
      if (!left.data[i] || !shared(c, left.data[i], c->s.level)) continue;
      lower_relation(c, left.data[i], c->s.level);
      left.data[i] = NULL;
      changed = true;
    }
  }
}

/* Products of the same types have the same type. Pairs are found by a commutative hash; a collision only hides one. */
static void join_products(Checker *c, Marks m) {
  Map seen;
  map_init(&seen, c->temp);
  for (int i = m.relations; i < c->s.relations.len; i++) {
    Constraint *k = c->s.relations.data[i];
    if (k->done || k->kind != C_MUL) continue;
    Type *a = type_repr(k->t[1]), *b = type_repr(k->t[2]);
    const void *key = (const void *)(((uintptr_t)a + (uintptr_t)b) | 1);
    const Constraint *first = map_get(&seen, key);
    map_put(&seen, key, k);
    if (!first) continue;
    Type *x = type_repr(first->t[1]), *y = type_repr(first->t[2]);
    if (!(a == x && b == y) && !(a == y && b == x)) continue;
    k->done = true;
    tc_unify(c, k->t[0], first->t[0]);
  }
  tc_solve(c);
}

/* What operators mean becomes part of a function's type, what fields a record has of that of any value. */
static bool generalises(const Constraint *k, Generality g) {
  return g == GEN_FUNCTION || (g == GEN_VALUE && k->kind == C_FIELD);
}

/* Settles what can't wait: relations of an item that don't become part of its type. Fields first: they say most. */
static void settle_item(Checker *c, Marks m, Binding **bs, int n, Generality g) {
  VarSet kept = new_set(c), shown = new_set(c);
  c->steps = LIMIT_TYPE_STEPS;
  for (int i = 0; i < n; i++) collect(c, bs[i]->type, 0, &kept, 0);
  if (c->s.shown) collect(c, c->s.shown, 0, &shown, 0);
  for (int pass = 0; pass < 2; pass++)
    for (int i = m.relations; i < c->s.relations.len; i++) {
      Constraint *k = c->s.relations.data[i];
      Leftover left = touches(c, k, &kept) ? LEFT_ERROR : touches(c, k, &shown) ? LEFT_CLOSED : LEFT_USED;
      if ((k->kind == C_FIELD) == (pass == 0) && !generalises(k, g)) tc_relation_settle(c, k, left);
    }
}

static void lower_waiting(Checker *c, Marks m, Generality g) {
  for (int i = m.relations; i < c->s.relations.len; i++) {
    Constraint *k = c->s.relations.data[i];
    if (!k->done && !generalises(k, g)) lower_relation(c, k, c->s.level);
  }
}

/* Relations connected with the quantified variables quantify all their variables. */
static void join_connected(Checker *c, Marks m, VarSet *quantified) {
  int before;
  do {
    before = quantified->list.len;
    for (int i = m.relations; i < c->s.relations.len; i++) {
      const Constraint *k = c->s.relations.data[i];
      if (k->done || shared(c, k, c->s.level) || !touches(c, k, quantified)) continue;
      for (int j = 0; j < k->n; j++) collect(c, k->t[j], c->s.level, quantified, 0);
    }
  } while (quantified->list.len > before);
}

/* What no types fit is said where it is defined, not at every use. */
static void check_fit(Checker *c, Constraint *const *relations, int n) {
  Span at = {0};
  bool fields = true;
  for (int i = 0; i < n; i++) fields &= relations[i]->kind == C_FIELD;
  if (fields || !tc_no_errors(c) || tc_relations_fit(c, relations, n, &at)) return;
  diag_error(c->diags, at, tc_diag_code(D_TYPE_MISMATCH), "no types fit both this and the rest of the function")->hint =
      "`*` and `/` take two values of one type, or a number and any structure of numbers";
}

/* The relations between quantified variables. */
static Scheme *keep_relations(Checker *c, Marks m, const VarSet *quantified) {
  Vec(Constraint *) kept = {0};
  for (int i = m.relations; i < c->s.relations.len; i++) {
    Constraint *k = c->s.relations.data[i];
    if (k->done || !touches(c, k, quantified)) continue;
    vec_push(c->temp, kept, k);
  }
  if (!kept.len) return NULL;
  check_fit(c, kept.data, kept.len);
  Scheme *s = NEW(c->arena, Scheme);
  s->relations = NEW_ARRAY(c->arena, Constraint, kept.len);
  s->n = kept.len;
  for (int i = 0; i < kept.len; i++) {
    kept.data[i]->done = true;
    s->relations[i] = *kept.data[i];
  }
  return s;
}

/* Relations between variables of this level only, which nothing else will ever decide. */
static bool settle_unconnected(Checker *c, Marks m, const VarSet *quantified) {
  bool any = false;
  for (int i = m.relations; i < c->s.relations.len; i++) {
    Constraint *k = c->s.relations.data[i];
    if (k->done || shared(c, k, c->s.level) || touches(c, k, quantified)) continue;
    tc_relation_settle(c, k, LEFT_USED);
    any = true;
  }
  return any;
}

/* ---- Records within themselves ------------------------------------------------------ */
typedef struct RecordNode { /* an open record */
  Type *var;
  Vec(Constraint *) fields;
  int holders;        /* fields of records not yet found to end that have it in their type */
  Constraint *holder; /* one of them */
} RecordNode;
typedef Vec(RecordNode *) RecordNodes;

static RecordNodes open_records(Checker *c, Marks m, Map *nodes) {
  RecordNodes all = {0};
  map_init(nodes, c->temp);
  for (int i = m.relations; i < c->s.relations.len; i++) {
    Constraint *k = c->s.relations.data[i];
    Type *var = type_repr(k->t[0]);
    if (k->done || k->kind != C_FIELD || var->kind != TY_VAR) continue;
    RecordNode *n = map_get(nodes, var);
    if (!n) {
      n = NEW(c->temp, RecordNode);
      n->var = var;
      map_put(nodes, var, n);
      vec_push(c->temp, all, n);
    }
    vec_push(c->temp, n->fields, k);
  }
  return all;
}

/* Adds `by` to the holders of the records in n's fields; those that have none left go to *out. */
static void hold(Checker *c, const Map *nodes, const RecordNode *n, int by, RecordNodes *out) {
  for (int i = 0; i < n->fields.len; i++) {
    VarSet vars = new_set(c);
    c->steps = LIMIT_TYPE_STEPS;
    collect(c, n->fields.data[i]->t[1], -1, &vars, 0);
    for (int j = 0; j < vars.list.len; j++) {
      RecordNode *held = map_get(nodes, vars.list.data[j]);
      if (!held) continue;
      held->holders += by;
      held->holder = n->fields.data[i];
      if (!held->holders) vec_push(c->temp, *out, held);
    }
  }
}

/* Whatever isn't held by another one is taken away, until nothing is left, or only what holds itself. */
static void check_records_end(Checker *c, Marks m) {
  Map nodes;
  RecordNodes all = open_records(c, m, &nodes), ends = {0};
  for (int i = 0; i < all.len; i++) hold(c, &nodes, all.data[i], 1, &ends);
  for (int i = 0; i < all.len; i++)
    if (!all.data[i]->holders) vec_push(c->temp, ends, all.data[i]);
  int n = 0;
  for (; n < ends.len; n++) hold(c, &nodes, ends.data[n], -1, &ends);
  if (n == all.len || !tc_no_errors(c)) return;
  RecordNode *left = NULL;
  for (int i = 0; i < all.len; i++) {
    if (!all.data[i]->holders) continue;
    left = all.data[i];
    hold(c, &nodes, left, 1, &ends);
  }
  for (int i = 0; i < all.len; i++) left = map_get(&nodes, type_repr(left->holder->t[0])); /* on to the circle */
  tc_report_endless_record(c, left->holder);
}

/* ---- Defaults -------------------------------------------------------------------- */
/* What rests on a name whose definition has an error may be of any type: nothing is said of its uses. */
static void default_var(Checker *c, Type *v) {
  tc_unify(c, v,
           v->classes & CLASS_EFFECT                 ? c->t_pure
           : c->s.doubtful                           ? c->t_error
           : v->classes & CLASS_DIFF                 ? c->t_float
           : v->classes & (CLASS_NUM | CLASS_SCALAR) ? c->t_int
                                                     : c->t_unit);
}

/* Gives what belongs to this level alone its default, and forgets what is decided. */
static void default_rest(Checker *c, Marks m, const VarSet *quantified) {
  int kept = m.vars;
  for (int i = m.vars; i < c->s.vars.len; i++) {
    Type *v = c->s.vars.data[i];
    if (v->link || v->level == LEVEL_GENERIC || has_var(quantified, v)) continue;
    if (v->level > c->s.level) default_var(c, v);
    else c->s.vars.data[kept++] = v;
    if (i + 1 == c->s.vars.len) tc_solve(c); /* which may add variables */
  }
  tc_solve(c);
  if (c->s.vars.len > kept) c->s.vars.len = kept;
  kept = m.relations;
  for (int i = m.relations; i < c->s.relations.len; i++)
    if (!c->s.relations.data[i]->done) c->s.relations.data[kept++] = c->s.relations.data[i];
  c->s.relations.len = kept;
}

/* Whether a variable of t has no default. */
static bool has_unknown(Checker *c, Type *t) {
  VarSet open = new_set(c);
  c->steps = LIMIT_TYPE_STEPS;
  collect(c, t, 0, &open, 0);
  for (int i = 0; i < open.list.len; i++)
    if (!(open.list.data[i]->classes & (CLASS_EFFECT | CLASS_NUM | CLASS_SCALAR | CLASS_DIFF))) return true;
  return false;
}

/* Settles open records of t whose fields are just those of a declared type: they are of the latest such type. */
static void settle_closed_records(Checker *c, Type *t, int depth) {
  t = type_repr(t);
  if (depth > LIMIT_TYPE_DEPTH || !has_unknown(c, t)) return;
  TypeName *name = t->kind == TY_RECORD ? tc_record_type_of(c, t) : NULL;
  if (name) {
    Type **args = NEW_ARRAY(c->temp, Type *, name->nparams ? name->nparams : 1);
    c->s.level++; /* of the item that is about to end */
    for (int i = 0; i < name->nparams; i++) args[i] = type_var(c, 0);
    tc_unify(c, t, tc_instantiate_alias(c, name, args));
    c->s.level--;
    return;
  }
  for (int i = 0; i < t->n; i++) settle_closed_records(c, t->args[i], depth + 1);
}

/* A value computed once can't have an open type. */
static void report_open(Checker *c, Binding *b) {
  if (!tc_no_errors(c) || !has_unknown(c, b->type)) return;
  Diag *d = diag_error(c->diags, b->span, tc_diag_code(D_AMBIGUOUS), "the type of `%s` isn't fully known: %s", b->name,
                       type_text(c, b->type));
  d->hint = tc_format(c, "annotate it, as in `let %s : int[] = …`", b->name);
}

/* ---- Leaving ------------------------------------------------------------------------ */
static void quantify(Checker *c, Marks m, Binding **bs, int n, Generality g) {
  VarSet quantified;
  do {
    quantified = new_set(c);
    join_products(c, m);
    leave_shared(c, m);
    c->steps = LIMIT_TYPE_STEPS;
    for (int i = 0; i < n; i++) {
      if (g == GEN_VALUE) lower_scalars(c, bs[i]->type, c->s.level, 0);
      collect(c, bs[i]->type, c->s.level, &quantified, 0);
    }
    join_connected(c, m, &quantified);
  } while (settle_unconnected(c, m, &quantified));
  Scheme *scheme = keep_relations(c, m, &quantified);
  default_rest(c, m, &quantified);
  int nvars = quantified.list.len;
  Type **vars = nvars ? NEW_ARRAY(c->arena, Type *, nvars) : NULL;
  for (int i = 0; i < nvars; i++) {
    vars[i] = quantified.list.data[i];
    vars[i]->level = LEVEL_GENERIC;
    vars[i]->pending = NULL;
  }
  for (int i = 0; i < n; i++) {
    bs[i]->qvars = vars;
    bs[i]->nqvars = nvars;
    bs[i]->scheme = scheme;
  }
}

/* Uses of a recursive function in its own group are at its own quantified variables. */
static void patch_rec_uses(Checker *c, Marks m, Binding **bs, int n) {
  int kept = m.rec_uses;
  for (int i = m.rec_uses; i < c->s.rec_uses.len; i++) {
    RecUse u = c->s.rec_uses.data[i];
    bool own = false;
    for (int j = 0; j < n; j++) own |= bs[j] == u.binding;
    if (own) u.use->inst = u.binding->qvars;
    else c->s.rec_uses.data[kept++] = u;
  }
  c->s.rec_uses.len = kept;
}

void tc_leave_level(Checker *c, Marks m, Binding **bs, int n, Generality g) {
  c->s.level--;
  bool top = c->s.level == 0;
  tc_solve(c);
  check_records_end(c, m);
  if (top) settle_item(c, m, bs, n, g);
  else lower_waiting(c, m, g);
  if (g != GEN_NONE) {
    quantify(c, m, bs, n, g);
  } else {
    for (int i = 0; i < n; i++) {
      if (bs[i]->kind != BIND_MUT) settle_effects(c, bs[i]->type, c->s.level);
      if (top && tc_no_errors(c)) settle_closed_records(c, bs[i]->type, 0);
      if (top) report_open(c, bs[i]);
      else tc_lower_levels(c, bs[i]->type, c->s.level);
    }
    default_rest(c, m, &(VarSet){0});
  }
  patch_rec_uses(c, m, bs, n);
}

const char *tc_leave_expression(Checker *c, Marks m, Type *t) {
  VarSet open = new_set(c);
  tc_solve(c);
  c->steps = LIMIT_TYPE_STEPS;
  collect(c, t, c->s.level - 1, &open, 0);
  c->s.shown = type_repr(t)->kind == TY_FUN ? t : NULL;
  tc_leave_level(c, m, NULL, 0, GEN_NONE);
  c->s.shown = NULL;
  int n = 0;
  for (int i = 0; i < open.list.len; i++)
    if (open.list.data[i]->link == c->t_unit) open.list.data[n++] = open.list.data[i];
  for (int i = 0; i < n; i++) open.list.data[i]->link = NULL;
  const char *text = n ? type_text(c, t) : NULL;
  for (int i = 0; i < n; i++) open.list.data[i]->link = c->t_unit;
  return text;
}

/* ---- Uses ------------------------------------------------------------------------------ */

static Type *copy(Checker *c, Type *t, int depth);

static const AliasUse *copy_alias(Checker *c, const AliasUse *alias, int depth) {
  AliasUse *new = type_alias_use(c->arena, alias);
  for (int i = 0; i < alias->nargs; i++) new->args[i] = copy(c, alias->args[i], depth + 1);
  return new;
}

/* t with the quantified variables replaced by what their `pending` says for the moment. */
static Type *copy(Checker *c, Type *t, int depth) {
  t = type_repr(t);
  if (t->kind == TY_VAR) return t->level == LEVEL_GENERIC && t->pending ? t->pending : t;
  if (!t->n || depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return t;
  Type *few[8];
  Type **args = t->n <= 8 ? few : NEW_ARRAY(c->temp, Type *, t->n);
  bool changed = false;
  for (int i = 0; i < t->n; i++) {
    args[i] = copy(c, t->args[i], depth + 1);
    changed |= args[i] != type_repr(t->args[i]);
  }
  if (!changed) return t;
  Type *new = NEW(c->arena, Type);
  *new = *t;
  new->args = NEW_ARRAY(c->arena, Type *, t->n);
  memcpy(new->args, args, sizeof(Type *) * (size_t)t->n);
  if (t->kind == TY_RECORD && t->alias) new->alias = copy_alias(c, t->alias, depth);
  return new;
}

bool binding_has_open_record(const Binding *b) {
  for (int k = 0; k < b->nqvars; k++)
    if (b->qvars[k]->classes & CLASS_RECORD) return true;
  return false;
}

bool binding_has_relations(const Binding *b) {
  const Scheme *s = b->scheme;
  return s && s->n > 0;
}

/* The type of b at a use, with fresh variables for its quantified ones, given in inst. */
Type *tc_instantiate(Checker *c, Binding *b, Span at, Type ***inst) {
  *inst = NULL;
  if (!b->nqvars) return type_loosen(c, b->type);
  Type **fresh = NEW_ARRAY(c->arena, Type *, b->nqvars);
  for (int i = 0; i < b->nqvars; i++) {
    fresh[i] = type_var(c, b->qvars[i]->classes);
    fresh[i]->user_name = NULL;
    SAVE(c->arena, b->qvars[i]->pending);
    b->qvars[i]->pending = fresh[i];
  }
  c->steps = LIMIT_TYPE_STEPS;
  Type *t = copy(c, b->type, 0);
  const Scheme *s = b->scheme;
  for (int i = 0; s && i < s->n; i++) {
    const Constraint *k = &s->relations[i];
    Type *args[3] = {0};
    for (int j = 0; j < k->n; j++) args[j] = copy(c, k->t[j], 0);
    tc_relation_used(c, k, b->name, at, args);
  }
  for (int i = 0; i < b->nqvars; i++) b->qvars[i]->pending = NULL;
  *inst = fresh;
  if (c->steps > 0) return t;
  diag_error(c->diags, at, tc_diag_code(D_TYPE_TOO_LARGE), "the type of `%s` is too large", b->name);
  return c->t_error;
}
