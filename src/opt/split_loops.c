/* SPDX-License-Identifier: MIT */
/* Loops cut in two (index-set splitting) at a number that the index is compared with, where a branch depends on that:
 * as in what two arrays one after the other make.
 *
 *   [ if i < n then x[i] else y[i - n] | i < n + m ]   →   x[i] for i < n;  y[i - n] from n to n + m - 1
 *
 * Halves of one length whose iterations may run in any order are one loop, which does iteration i of both: it reads
 * once what both of them need. What holds in a half follows from linear forms (linear.c), with the cut in the index's
 * place.
 *
 * Of comparisons with several numbers it is the first one's; those known to be the same are known, too. */
#include "facts/ir_loop_facts.h"
#include "ir/world.h"
#include "opt/index_sets.h"

typedef struct Cut {
  Ranges *p;
  Frame *f, *body;
  Node *loop;
  Node **ops; /* of the loop, new */
  Node *at;   /* before what the cut is, in the body: a captured number or a constant */
  int by;     /* to be added: 0 or 1 */
} Cut;

/* ---- Where ------------------------------------------------------------------------------------------------------- */
static bool is_same_throughout(const Cut *c, const Node *x) {
  if (x->op == OP_INT) return x->attr.i > LIMIT_PEELED; /* else peel.c */
  const LoopInfo *l = c->loop->loop;
  return x->op == OP_PARAM && x->attr.i > 0 && loop_part(l, (int)x->attr.i - 1) == LOOP_CAPTURED;
}

static bool compares_ints(const Node *x) {
  return (x->op == OP_ILT || x->op == OP_ILE) && x->ops[0]->type->kind == T_INT;
}

/* Is `test` whether the index is below something? Then that is where to cut. */
static bool find_place(Cut *c, const Node *test) {
  if (!compares_ints(test)) return false;
  for (int k = 0; k < 2; k++) {
    if (!fact_is_param(test->ops[k], 0) || !is_same_throughout(c, test->ops[1 - k])) continue;
    c->at = test->ops[1 - k];
    c->by = (test->op == OP_ILE) == (k == 0); /* i <= x, x < i: the first part ends with x */
    return true;
  }
  return false;
}

static bool find_branch(Cut *c) {
  Node **nodes;
  int n = ir_order(c->p->w->temp, c->body->g, &nodes);
  for (int k = 0; k < n; k++)
    if (nodes[k]->op == OP_SWITCH && find_place(c, nodes[k]->ops[0])) return true;
  return false;
}

/* ---- What holds in a part ---------------------------------------------------------------------------------------- */
/* Has all of it been evaluated before the loop? */
static bool are_met(const Cut *c, const Guard *g) {
  for (; g; g = g->next)
    if (g->frame != c->f || !frame_depends(c->p, c->f, c->loop, g->node)) return false;
  return true;
}

/* Is e >= 0, by what the loop depends on? */
static bool holds(const Cut *c, const Lin *e) {
  const Guard *used = NULL;
  return prove(c->p, c->f, c->loop, *e, true, &used) && are_met(c, used);
}

static Lin form(const Cut *c, Frame *f, Node *x) {
  const Linear *l = linear(c->p, f, x);
  return are_met(c, l->guards) ? l->lin : (Lin){.bad = true};
}

static Lin place(const Cut *c) {
  Lin at = form(c, c->body, c->at);
  at.c += c->by;
  return at;
}

/* What the comparison x is in the part before the cut, or in that from it on; NULL: one or the other. */
static Node *truth_in(const Cut *c, const Node *x, bool before) {
  Node *index = ir_param(c->p->w, 0, c->body->g->params[0]);
  Lin a = form(c, c->body, x->ops[0]), i = form(c, c->body, index), e = form(c, c->body, x->ops[1]), at = place(c);
  if (a.bad || e.bad || at.bad) return NULL;
  e = lin_add(&e, &a, -1); /* true where that is >= 0 */
  if (x->op == OP_ILT) e.c -= 1;
  int64_t by = lin_coefficient(&e, i.t[0].atom);
  if (!by) return NULL;
  if (before) at.c -= 1;
  e = lin_add(&e, &i, -by);
  e = lin_add(&e, &at, by); /* the least or greatest of the part */
  Lin opposite = lin_int(-1);
  opposite = lin_add(&opposite, &e, -1);
  bool rises = (by > 0) != before;
  if (e.bad || opposite.bad || !holds(c, rises ? &e : &opposite)) return NULL;
  return ir_bool(c->p->w, rises);
}

static Graph *body_in(const Cut *c, bool before) {
  World *w = c->p->w;
  Graph *g = c->body->g;
  Node **nodes;
  Map known;
  int n = ir_order(w->temp, g, &nodes);
  map_init(&known, w->temp);
  for (int k = 0; k < n; k++) {
    Node *truth = compares_ints(nodes[k]) ? truth_in(c, nodes[k], before) : NULL;
    if (truth) map_put(&known, nodes[k], truth);
  }
  return ir_graph_over(w, g, &known);
}

/* ---- The pass ---------------------------------------------------------------------------------------------------- */
/* The cut outside the loop, between 0 and the number of iterations. */
static Node *place_outside(const Cut *c) {
  World *w = c->p->w;
  const LoopInfo *l = c->loop->loop;
  Node *at = c->at->op == OP_INT ? c->at : c->ops[loop_first(l) + (int)c->at->attr.i - 1], *n = c->ops[0];
  Lin low = place(c), trips = form(c, c->f, c->loop->ops[0]), left = lin_add(&trips, &low, -1);
  if (left.bad || !holds(c, &left)) at = ir_op2(w, OP_IMIN, at, ir_op2(w, OP_IADD, n, ir_int(w, -c->by)));
  at = ir_op2(w, OP_IADD, at, ir_int(w, c->by)); /* which doesn't overflow any more */
  return low.bad || !holds(c, &low) ? ir_op2(w, OP_IMAX, at, ir_int(w, 0)) : at;
}

static bool has_equal_halves(const Cut *c) {
  Lin at = place(c), trips = form(c, c->f, c->loop->ops[0]), more = lin_add(&trips, &at, -2), less = lin_int(0);
  less = lin_add(&less, &more, -1);
  return !more.bad && !less.bad && holds(c, &more) && holds(c, &less);
}

Node *opt_split_loops(Ranges *p, Frame *f, Frame *body, Node *loop, Node **ops) {
  World *w = p->w;
  Cut c = {.p = p, .f = f, .body = body, .loop = loop, .ops = ops};
  if (!pieces_are_possible(loop) || !find_branch(&c)) return NULL;
  Pieces all = pieces_of(w, loop, ops);
  Node *at = place_outside(&c);
  Piece before = {body_in(&c, true), at, ir_int(w, 0), NULL, NULL};
  Piece after = {body_in(&c, false), ir_op2(w, OP_ISUB, ops[0], at), at, NULL, NULL};
  if (pieces_are_independent(w, loop) && has_equal_halves(&c)) {
    before.count = after.count = ir_op2(w, OP_AFTER, at, ops[0]);
    pieces_run(&all, (Piece[]){before, after}, 2);
  } else pieces_run_each(&all, (Piece[]){before, after}, 2);
  return pieces_result(&all);
}
