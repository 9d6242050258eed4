/* SPDX-License-Identifier: MIT */
/* Overlaps of rewrite rules: terms to which two rules apply in places that share a call (critical pairs, Knuth and
 * Bendix 1970). One rule applies to the whole term, the other to a call within it; if what they make isn't brought to
 * one normal form by all rules, the result depends on the order of rewriting.
 *
 *   twice m : flip (flip m) = m       sum m : total (flip m) = total m
 *   the term total (flip (flip m))    by twice: total m    by sum: total (flip m), then total m
 *
 * The term is found by unification of a call on the left side of one rule with the left side of the other. Parameters
 * of the first rule keep their numbers, those of the second follow. */
#include "graph/graph.h"
#include "ir/world.h"

typedef struct Unifier {
  World *w;
  int n;
  Node **bound; /* what parameters are made equal to; NULL: nothing yet */
} Unifier;

static Node *resolved(const Unifier *u, Node *x) {
  while (x->op == OP_PARAM && u->bound[x->attr.i]) x = u->bound[x->attr.i];
  return x;
}

/* Does the parameter stand in x? */
static bool occurs(const Unifier *u, const Node *param, Node *x) {
  x = resolved(u, x);
  if (x == param) return true;
  for (int i = 0; i < x->nops; i++)
    if (occurs(u, param, x->ops[i])) return true;
  return false;
}

static bool bind(const Unifier *u, const Node *param, Node *x) {
  if (param->type != x->type || occurs(u, param, x)) return false;
  u->bound[param->attr.i] = x;
  return true;
}

static bool unify(const Unifier *u, Node *a, Node *b) {
  a = resolved(u, a);
  b = resolved(u, b);
  if (a == b) return true;
  if (a->op == OP_PARAM) return bind(u, a, b);
  if (b->op == OP_PARAM) return bind(u, b, a);
  if (!ir_same_operation(a, b)) return false;
  for (int i = 0; i < a->nops; i++)
    if (!unify(u, a->ops[i], b->ops[i])) return false;
  return true;
}

/* ---- Substitution ----------------------------------------------------------------------------------- */
typedef struct Values {
  const Unifier *u;
  IrType **types; /* of the parameters */
  Node **value;   /* what each stands for in the end; NULL: not known yet */
} Values;

static void find_value(Values *v, int k);

static void find_values_in(Values *v, const Node *x) {
  if (x->op == OP_PARAM && !v->value[x->attr.i]) find_value(v, (int)x->attr.i);
  for (int i = 0; i < x->nops; i++) find_values_in(v, x->ops[i]);
}

static void find_value(Values *v, int k) {
  World *w = v->u->w;
  Node *bound = v->u->bound[k];
  if (bound) find_values_in(v, bound);
  v->value[k] = bound ? ir_substitute(w, bound, v->value, v->u->n, 0) : ir_param(w, k, v->types[k]);
}

static Node **find_values(const Unifier *u, IrType **types) {
  Values v = {u, types, NEW_ARRAY(u->w->temp, Node *, u->n + 1)};
  for (int k = 0; k < u->n; k++)
    if (!v.value[k]) find_value(&v, k);
  return v.value;
}

/* ---- Overlaps --------------------------------------------------------------------------------------- */
/* Two rules side by side: all parameters are numbered one after the other. */
typedef struct Pair {
  World *w;
  const IrRule *r, *q;
  int n; /* parameters of both */
  IrType **types;
  Graph *left; /* of r */
  Node *inner; /* the left side of q, over its own numbers */
  Node **of_q; /* the parameters of q */
} Pair;

static Pair make_pair(World *w, const IrRule *r, const IrRule *q) {
  int first = r->right->nparams, more = q->right->nparams;
  Pair p = {.w = w, .r = r, .q = q, .n = first + more, .types = NEW_ARRAY(w->temp, IrType *, first + more + 1)};
  p.of_q = NEW_ARRAY(w->temp, Node *, more + 1);
  for (int k = 0; k < first; k++) p.types[k] = r->right->params[k];
  for (int k = 0; k < more; k++) {
    p.types[first + k] = q->right->params[k];
    p.of_q[k] = ir_param(w, first + k, p.types[first + k]);
  }
  p.left = ir_graph(w, r->right->params, first, r->left, r->name);
  p.inner = ir_substitute(w, q->left, p.of_q, more, 0);
  return p;
}

/* The node in normal form by all rules. */
static Graph *normalise(World *w, Graph *g, void *user) {
  (void)user;
  return ir_rewrite(w, g, (RewritePass){.renormalise = true});
}

static Node *normal(const Pair *p, Node *x) {
  return ir_with_rules(p->w, ir_graph(p->w, p->types, p->n, x, NULL), normalise, NULL)->result;
}

/* The node with all calls written out. */
static Node *written_out(const Pair *p, Node *x) {
  Compilation *c = compilation(p->w);
  c->heads = HEADS_WRITTEN_OUT;
  Node *out = normalise(p->w, ir_graph(p->w, p->types, p->n, x, NULL), NULL)->result;
  c->heads = HEADS_STAY;
  return out;
}

/* Functions that are equal needn't have one normal form. */
static bool holds_function(const Node *x) {
  bool found = x->op == OP_CLOSURE;
  for (int i = 0; i < x->nops && !found; i++) found = holds_function(x->ops[i]);
  return found;
}

static bool is_free_sum(const Node *x) {
  return x->op == OP_FADD || x->op == OP_FMUL || x->op == OP_IADD || x->op == OP_IMUL;
}

/* The terms of a sum, or the factors of a product, however it is nested. */
static void terms_of(World *w, Op op, Node *x, Nodes *out) {
  if (x->op == op)
    for (int i = 0; i < x->nops; i++) terms_of(w, op, x->ops[i], out);
  else vec_push(w->temp, *out, x);
}

static bool same_terms(const Pair *p, Node *x, Node *y);

/* Are they sums of the same terms in any order? */
static bool same_sums(const Pair *p, Node *x, Node *y) {
  Nodes xs = {0}, ys = {0};
  terms_of(p->w, (Op)x->op, x, &xs);
  terms_of(p->w, (Op)x->op, y, &ys);
  for (int i = 0; i < xs.len; i++) {
    int k = 0;
    while (k < ys.len && !same_terms(p, xs.data[i], ys.data[k])) k++;
    if (k == ys.len) return false;
    ys.data[k] = ys.data[--ys.len];
  }
  return ys.len == 0;
}

/* Are they equal, but for the order in which sums and products of numbers are computed? */
static bool same_terms(const Pair *p, Node *x, Node *y) {
  if (ir_matches(p->w, x, y, p->n)) return true;
  if (x->op == y->op && is_free_sum(x)) return same_sums(p, x, y);
  bool same = x->nops && ir_same_operation(x, y);
  for (int i = 0; i < x->nops && same; i++) same = same_terms(p, x->ops[i], y->ops[i]);
  return same;
}

static bool are_one(const Pair *p, Node *x, Node *y) {
  if (same_terms(p, x, y) || holds_function(x) || holds_function(y)) return true;
  return same_terms(p, written_out(p, x), written_out(p, y));
}

/* Does q, applied to the call x on the left side of r, lead to another result than r? */
static bool leads_elsewhere(const Pair *p, const Node *x, RuleOverlap *out) {
  Unifier u = {p->w, p->n, NEW_ARRAY(p->w->temp, Node *, p->n + 1)};
  if (!unify(&u, (Node *)(uintptr_t)x, p->inner)) return false;
  Node **values = find_values(&u, p->types);
  Map over;
  map_init(&over, p->w->temp);
  map_put(&over, x, ir_instantiate(p->w, p->q->right, values + p->r->right->nparams, 0));
  Node *one = normal(p, ir_instantiate(p->w, p->r->right, values, 0));
  Node *other = normal(p, ir_instantiate_over(p->w, p->left, values, 0, &over));
  if (are_one(p, one, other)) return false;
  *out = (RuleOverlap){ir_instantiate(p->w, p->left, values, 0), one, other};
  return true;
}

bool ir_rules_disagree(World *w, const IrRule *r, const IrRule *q, RuleOverlap *out) {
  w->compilation->nrules = w->nrules;
  Pair p = make_pair(w, r, q);
  const GraphBody *b = graph_body(w, p.left);
  for (int i = 0; i < b->n; i++) {
    const Node *x = b->nodes[i];
    bool whole = x == p.left->result;
    if (x->op != OP_CALL || (whole && r->number <= q->number)) continue; /* once for both */
    if (leads_elsewhere(&p, x, out)) return true;
  }
  return false;
}
