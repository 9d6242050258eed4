/* SPDX-License-Identifier: MIT */
/* Scalar promotion: what a loop adds to one element of an array, the same in all iterations, is a sum of its own, which
 * is added to that element afterwards.
 *
 *   loop j < n: a[i] += x[j]   →   s = sum of x[j], j < n;  if 0 < n: a[i] += s
 *
 * So the sum stays in a register, and nothing in the loop may change what else it reads. If the loop doesn't run, i is
 * perhaps no index of a. Derivatives add so wherever a loop reads one element again and again.
 *
 * Runs when places are no longer checked where they are used. The order of these additions is free. */
#include "facts/ir_loop_facts.h"
#include "opt/opt.h"

/* What is added to one place. */
typedef struct Sum {
  int slot;  /* of the old loop: the array */
  Node **is; /* the place, in terms of the graph around */
  int n;
  Node *addend; /* in the body */
} Sum;

typedef struct Promotion {
  World *w;
  const Node *loop;
  LoopFacts facts;
  Vec(Sum) sums;
} Promotion;

static bool find_place(Promotion *p, int slot, const Node *x, Node *addend) {
  Sum s = {.slot = slot, .n = x->nops - 2, .addend = addend, .is = NEW_ARRAY(p->w->temp, Node *, x->nops)};
  for (int k = 0; k < s.n; k++)
    if (!(s.is[k] = loop_invariant_number(&p->facts, x->ops[1 + k]))) return false;
  vec_push(p->w->temp, p->sums, s);
  return true;
}

/* x, what the iteration leaves of the array `slot`, without the additions that are found to be promoted. */
static Node *without_sums(Promotion *p, int slot, Node *x) {
  Node *addend = fact_added(x);
  if (!addend) return x;
  Node *rest = without_sums(p, slot, x->ops[0]);
  if (find_place(p, slot, x, addend)) return rest;
  if (rest == x->ops[0]) return x;
  Node *sum = ir_op2(p->w, OP_CADD, ir_index(p->w, rest, x->ops + 1, x->nops - 2), addend);
  return ir_update(p->w, rest, x->ops + 1, x->nops - 2, sum);
}

/* The array with the sum added to its element, if the loop has run. */
static Node *with_sum(World *w, Node *array, Node *trips, const Sum *s, Node *total) {
  BranchBuilder *b = branch_open(w, ir_op2(w, OP_ILT, ir_int(w, 0), trips));
  Node *in = branch_add(b, array), *sum = branch_add(b, total), **is = NEW_ARRAY(w->temp, Node *, s->n + 1);
  for (int k = 0; k < s->n; k++) is[k] = branch_add(b, s->is[k]);
  branch_arm(b, in, NULL);
  branch_arm(b, ir_update(w, in, is, s->n, ir_op2(w, OP_CADD, ir_index(w, in, is, s->n), sum)), NULL);
  return branch_close(b);
}

/* The loop with an accumulator for each sum, which is added to its element afterwards. */
static Node *promoted(Promotion *p, Node **results) {
  World *w = p->w;
  int n = p->sums.len;
  LoopEdit *e = edit_loop(w, p->loop, p->loop->ops, p->loop->graphs);
  Node **sums = NEW_ARRAY(w->temp, Node *, n), **addends = NEW_ARRAY(w->temp, Node *, n);
  edit_inputs(e);
  for (int k = 0; k < n; k++) sums[k] = loop_add(e->b, LOOP_ACC, ir_float(w, 0));
  for (int k = 0; k < n; k++) addends[k] = p->sums.data[k].addend;
  edit_body(e, results, addends, n);
  for (int k = 0; k < n; k++) loop_next(e->b, sums[k], ir_op2(w, OP_CADD, sums[k], addends[k]));
  edit_close(e);
  for (int k = 0; k < n; k++) {
    const Sum *s = &p->sums.data[k];
    e->results[s->slot] = with_sum(w, e->results[s->slot], loop_trips(e->b), s, loop_result(e->b, sums[k]));
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
