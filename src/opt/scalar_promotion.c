/* SPDX-License-Identifier: MIT */
/* Scalar promotion: what a loop adds to one element of an array, the same in all iterations, is a sum of its own, which
 * is added to that element afterwards. Of several additions to one array each may be promoted: their order is free.
 * An element may be a tuple of numbers, and what is added may be subtracted.
 *
 *   loop j < n: a[i] += x[j]   →   s = sum of x[j], j < n;  if 0 < n: a[i] += s
 *
 * So the sum stays in a register, and nothing in the loop may change what else it reads. If the loop doesn't run, i is
 * perhaps no index of a. Derivatives add so wherever a loop reads one element again and again.
 *
 * Runs when places are no longer checked where they are used. The order of these additions is free. */
#include "facts/ir_loop_facts.h"
#include "opt/opt.h"

/* What is added to a number, x; NULL: it stays. */
typedef struct Term {
  Node *x;
  bool negated;
} Term;
/* What is added to one place: a number, or the numbers of a tuple. */
typedef struct Sum {
  int slot;  /* of the old loop: the array */
  Node **is; /* the place, in terms of the graph around */
  int n;
  IrType *element; /* of the array */
  Term *terms;     /* in the body */
  int nterms;
} Sum;

typedef struct Promotion {
  World *w;
  const Node *loop;
  LoopFacts facts;
  Vec(Sum) sums;
} Promotion;

/* ---- Additions --------------------------------------------------------------------------------------------------- */
/* Is x the element that the UPDATE replaces? */
static bool is_replaced(const Node *x, const Node *update) {
  if (x->op != OP_INDEX || x->nops != update->nops - 1) return false;
  for (int k = 0; k < x->nops; k++)
    if (x->ops[k] != update->ops[k]) return false;
  return true;
}

/* Is it number k of that element, k < 0: the element itself? */
static bool is_old(const Node *x, const Node *update, int k) {
  if (k < 0) return is_replaced(x, update);
  return x->op == OP_GET && x->attr.i == k && is_replaced(x->ops[0], update);
}

static bool find_term(const World *w, const Node *value, const Node *update, int k, Term *t) {
  *t = (Term){0};
  if (value->type->kind != T_FLOAT) return false;
  if (is_old(value, update, k)) return true;
  if (value->op == OP_FSUB && !w->strict && is_old(value->ops[0], update, k)) {
    *t = (Term){value->ops[1], true};
    return true;
  }
  if (value->op != OP_CADD) return false;
  for (int side = 0; side < 2; side++)
    if (is_old(value->ops[side], update, k)) t->x = value->ops[1 - side];
  return t->x != NULL;
}

/* Does the UPDATE only add to the numbers of its element? Then s gets the terms. */
static bool find_terms(World *w, const Node *update, Sum *s) {
  if (update->op != OP_UPDATE) return false;
  const Node *value = update->ops[update->nops - 1];
  bool tuple = value->op == OP_TUPLE;
  s->element = value->type;
  s->nterms = tuple ? value->nops : 1;
  s->terms = NEW_ARRAY(w->temp, Term, s->nterms);
  for (int k = 0; k < s->nterms; k++)
    if (!find_term(w, tuple ? value->ops[k] : value, update, tuple ? k : -1, &s->terms[k])) return false;
  return s->nterms > 0;
}

static Node *plus_term(World *w, Node *old, const Term *t) {
  return !t->x ? old : ir_op2(w, t->negated ? OP_FSUB : OP_CADD, old, t->x);
}

/* The array with the terms added to its element at `is`. */
static Node *with_terms(World *w, Node *array, Node **is, const Sum *s, const Term *terms) {
  Node *old = ir_index(w, array, is, s->n);
  if (s->element->kind == T_FLOAT) return ir_update(w, array, is, s->n, plus_term(w, old, terms));
  Node **numbers = NEW_ARRAY(w->temp, Node *, s->nterms);
  for (int k = 0; k < s->nterms; k++) numbers[k] = plus_term(w, ir_get(w, old, k), &terms[k]);
  return ir_update(w, array, is, s->n, ir_tuple(w, s->element, numbers));
}

static bool find_place(Promotion *p, const Node *update, Sum *s) {
  s->n = update->nops - 2;
  s->is = NEW_ARRAY(p->w->temp, Node *, update->nops);
  for (int k = 0; k < s->n; k++)
    if (!(s->is[k] = loop_invariant_number(&p->facts, update->ops[1 + k]))) return false;
  return true;
}

/* x, what the iteration leaves of the array `slot`, without the additions that are found to be promoted. */
static Node *without_sums(Promotion *p, int slot, Node *x) {
  Sum s = {.slot = slot};
  if (!find_terms(p->w, x, &s)) return x;
  Node *rest = without_sums(p, slot, x->ops[0]);
  if (find_place(p, x, &s)) {
    vec_push(p->w->temp, p->sums, s);
    return rest;
  }
  return rest == x->ops[0] ? x : with_terms(p->w, rest, x->ops + 1, &s, s.terms);
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */
/* The array with the sums added to its element, if the loop has run. */
static Node *with_sums(World *w, Node *array, Node *trips, const Sum *s, Node **totals) {
  BranchBuilder *b = branch_open(w, ir_op2(w, OP_ILT, ir_int(w, 0), trips));
  Node *in = branch_add(b, array), **is = NEW_ARRAY(w->temp, Node *, s->n + 1);
  Term *terms = NEW_ARRAY(w->temp, Term, s->nterms);
  for (int k = 0; k < s->nterms; k++)
    if (totals[k]) terms[k].x = branch_add(b, totals[k]);
  for (int k = 0; k < s->n; k++) is[k] = branch_add(b, s->is[k]);
  branch_arm(b, in, NULL);
  branch_arm(b, with_terms(w, in, is, s, terms), NULL);
  return branch_close(b);
}

/* The terms of all sums that there are; NULL elsewhere. */
static Node **all_terms(const Promotion *p, int *n) {
  *n = 0;
  for (int k = 0; k < p->sums.len; k++) *n += p->sums.data[k].nterms;
  Node **terms = NEW_ARRAY(p->w->temp, Node *, *n + 1);
  for (int k = 0, at = 0; k < p->sums.len; k++)
    for (int t = 0; t < p->sums.data[k].nterms; t++) terms[at++] = p->sums.data[k].terms[t].x;
  return terms;
}

/* The loop with an accumulator for each term, which is added to its number afterwards. */
static Node *promoted(Promotion *p, Node **results) {
  World *w = p->w;
  int n, used = 0;
  LoopEdit *e = edit_loop(w, p->loop, p->loop->ops, p->loop->graphs);
  Node **terms = all_terms(p, &n), **sums = NEW_ARRAY(w->temp, Node *, n + 1), **xs = NEW_ARRAY(w->temp, Node *, n + 1);
  edit_inputs(e);
  for (int k = 0; k < n; k++)
    if (terms[k]) sums[k] = loop_add(e->b, LOOP_ACC, ir_float(w, 0));
  for (int k = 0; k < n; k++)
    if (terms[k]) xs[used++] = terms[k];
  edit_body(e, results, xs, used);
  for (int k = 0, at = 0, x = 0; k < p->sums.len; k++)
    for (int t = 0; t < p->sums.data[k].nterms; t++, at++)
      if (terms[at])
        loop_next(e->b, sums[at], ir_op2(w, p->sums.data[k].terms[t].negated ? OP_FSUB : OP_CADD, sums[at], xs[x++]));
  edit_close(e);
  for (int k = 0, at = 0; k < p->sums.len; at += p->sums.data[k++].nterms) {
    const Sum *s = &p->sums.data[k];
    Node **totals = NEW_ARRAY(w->temp, Node *, s->nterms);
    for (int t = 0; t < s->nterms; t++) totals[t] = sums[at + t] ? loop_result(e->b, sums[at + t]) : NULL;
    e->results[s->slot] = with_sums(w, e->results[s->slot], loop_trips(e->b), s, totals);
  }
  return edit_value(e);
}

static Node *promote(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  if (n->op != OP_LOOP || !n->loop->naccs) return NULL;
  Node *loop = rewrite_node(r, n, ops, graphs);
  if (loop->op != OP_LOOP || loop->graphs[0]->result->op != OP_TUPLE) return loop;
  Promotion p = {.w = user, .loop = loop, .facts = loop_facts_of(user, loop, false)};
  const Node *result = loop->graphs[0]->result;
  Node **results = NEW_ARRAY(p.w->temp, Node *, result->nops + 1);
  for (int k = 0; k < result->nops; k++) {
    bool array =
        loop_part(loop->loop, k) == LOOP_ACC && k < loop_slots(loop->loop) && result->ops[k]->type->kind == T_ARRAY;
    results[k] = array ? without_sums(&p, k, result->ops[k]) : result->ops[k];
  }
  return p.sums.len ? promoted(&p, results) : loop;
}

Graph *opt_scalar_promotion(World *w, Graph *g) { return ir_rewrite(w, g, (RewritePass){.user = w, .node = promote}); }
