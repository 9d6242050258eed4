/* SPDX-License-Identifier: MIT */
/* Whether relations between open types can hold at all.
 *
 * The solver decides a relation when its types are known, so what contradicts
 * itself in a function with open types would come out at its uses only. Here
 * copies of the relations are tried: `*` and `/` have a few meanings each
 * (solver.c), one is chosen for each relation that the choices before leave
 * open, and the solver does the rest. A choice that leads to an error is taken
 * back by trying again from the start, with the next meaning for the last
 * relation that has one (depth first). Mostly the first trial ends well: both
 * sides of one type everywhere. Beyond a budget the relations count as
 * possible. */
#include "check/check_internal.h"

typedef enum Meaning { ONE_TYPE, SCALAR_RIGHT, SCALAR_LEFT, MEANINGS } Meaning;

typedef struct Trial {
  Checker *c;
  Map vars;          /* variables, and their copies */
  Vec(int) meanings; /* of the open relations, in the order met */
  Span at;           /* of the relation decided last */
} Trial;

static Type *copy(Trial *t, Type *of, int depth) {
  Checker *c = t->c;
  of = type_repr(of);
  if (of->kind == TY_VAR) {
    Type *v = map_get(&t->vars, of);
    if (!v) map_put(&t->vars, of, v = type_var(c, of->classes));
    return v;
  }
  if (!of->n || depth > LIMIT_TYPE_DEPTH || c->steps-- <= 0) return of;
  Type *new = NEW(c->arena, Type);
  *new = *of;
  new->args = NEW_ARRAY(c->arena, Type *, of->n);
  for (int i = 0; i < of->n; i++) new->args[i] = copy(t, of->args[i], depth + 1);
  return new;
}

static void copy_relation(Trial *t, const Constraint *k) {
  Type *args[3] = {0};
  for (int i = 0; i < k->n; i++) args[i] = copy(t, k->t[i], 0);
  Constraint *new = tc_relation_new(t->c, k->kind, k->at, args[0], args[1], args[2]);
  new->field = k->field;
  new->classes = k->classes;
  new->divides = k->divides;
}

/* False where it contradicts what is known. A divisor has no scalar on its left. */
static bool choose(Checker *c, const Constraint *k, Meaning m) {
  bool product = k->kind == C_MUL;
  Type *left = k->t[product ? 1 : 0], *right = k->t[product ? 2 : 1];
  switch (m) {
  case ONE_TYPE: return tc_unify(c, left, right);
  case SCALAR_RIGHT: return tc_require(c, right, CLASS_SCALAR);
  default: return product && tc_require(c, left, CLASS_SCALAR);
  }
}

/* The next open `*` or `/` from the relation `from` on; their number if there is none. */
static int next_open(const Checker *c, int from) {
  for (; from < c->s.relations.len; from++) {
    const Constraint *k = c->s.relations.data[from];
    if (!k->done && (k->kind == C_MUL || k->kind == C_DIVISOR)) break;
  }
  return from;
}

/* Gives the open relations the meanings chosen, others the first one. True if no error comes of it; else those tried
 * end with the one that led to it. */
static bool try_meanings(Trial *t, Constraint *const *given, int n) {
  Checker *c = t->c;
  map_init(&t->vars, c->temp);
  c->steps = LIMIT_TYPE_STEPS;
  for (int i = 0; i < n; i++)
    if (!given[i]->done) copy_relation(t, given[i]);
  tc_solve(c);
  int made = 0, at = next_open(c, 0);
  for (; !c->diags->errors && at < c->s.relations.len; at = next_open(c, at)) {
    const Constraint *k = c->s.relations.data[at];
    if (made == t->meanings.len) vec_push(c->temp, t->meanings, ONE_TYPE);
    t->at = k->at;
    bool possible = choose(c, k, t->meanings.data[made++]);
    tc_solve(c);
    if (!possible || c->diags->errors) break;
  }
  t->meanings.len = made;
  return !c->diags->errors && at == c->s.relations.len;
}

/* One trial in a state and an arena of its own, so that nothing is left of it. */
static bool trial_succeeds(Trial *t, Constraint *const *given, int n) {
  Checker *c = t->c;
  State saved = c->s;
  Arena *arena = c->arena;
  Diags *outer = c->diags, own;
  Span at = c->at;
  diags_init(&own, c->temp, c->sources);
  c->diags = &own;
  c->arena = c->temp;
  tc_state_begin(c, saved.module, saved.lazy_item);
  c->s.level = 1;
  bool good = try_meanings(t, given, n);
  c->s = saved;
  c->arena = arena;
  c->diags = outer;
  c->at = at;
  return good;
}

bool tc_relations_fit(Checker *c, Constraint *const *given, int n, Span *at) {
  Trial t = {.c = c};
  for (int work = LIMIT_FIT_WORK; work > 0; work -= n + t.meanings.len) {
    if (trial_succeeds(&t, given, n)) return true;
    *at = t.at;
    while (t.meanings.len && ++t.meanings.data[t.meanings.len - 1] == MEANINGS) t.meanings.len--;
    if (!t.meanings.len) return false;
  }
  return limit_reached(c->arena, AT_FIT_WORK);
}
