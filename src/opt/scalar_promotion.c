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
#include "opt/opt.h"

/* What is added to one place. */
typedef struct Sum {
  int slot;        /* of the old loop: the array */
  Node **is, *sum; /* the place, in terms of the graph around; afterwards what is added */
  int n;
  Node *addend, *inner; /* in the body; the accumulator of the new loop */
} Sum;

typedef struct Promotion {
  World *w;
  const Node *loop;
  Vec(Sum) sums;
} Promotion;

static Node *outside(World *w, const Node *loop, Node *x, int depth) {
  const LoopInfo *l = loop->loop;
  if (x->op == OP_PARAM) {
    int64_t input = x->attr.i - 1;
    return input >= loop_captures(l) ? loop->ops[loop_first(l) + input] : NULL;
  }
  if (x->op == OP_INT) return x;
  if (x->op != OP_IADD && x->op != OP_ISUB && x->op != OP_IMUL) return NULL;
  if (depth > LIMIT_HOIST_DEPTH && limit_reached(w->arena, AT_HOIST_DEPTH)) return NULL;
  Node *a = outside(w, loop, x->ops[0], depth + 1), *b = outside(w, loop, x->ops[1], depth + 1);
  return a && b ? ir_op2(w, (Op)x->op, a, b) : NULL;
}

Node *opt_outside(World *w, const Node *loop, Node *x) { return outside(w, loop, x, 0); }

Node *opt_added(const Node *x) {
  if (x->op != OP_UPDATE || x->ops[x->nops - 1]->op != OP_CADD) return NULL;
  const Node *sum = x->ops[x->nops - 1];
  for (int side = 0; side < 2; side++) {
    const Node *old = sum->ops[side];
    bool same = sum->type->kind == T_FLOAT && old->op == OP_INDEX && old->nops == x->nops - 1;
    for (int k = 0; same && k < old->nops; k++) same = old->ops[k] == x->ops[k];
    if (same) return sum->ops[1 - side];
  }
  return NULL;
}

static bool find_place(Promotion *p, int slot, const Node *x, Node *addend) {
  Sum s = {.slot = slot, .n = x->nops - 2, .addend = addend, .is = NEW_ARRAY(p->w->temp, Node *, x->nops)};
  for (int k = 0; k < s.n; k++)
    if (!(s.is[k] = opt_outside(p->w, p->loop, x->ops[1 + k]))) return false;
  vec_push(p->w->temp, p->sums, s);
  return true;
}

/* x, what the iteration leaves of the array `slot`, without the additions that are found to be promoted. */
static Node *without_sums(Promotion *p, int slot, Node *x) {
  Node *addend = opt_added(x);
  if (!addend) return x;
  Node *rest = without_sums(p, slot, x->ops[0]);
  if (find_place(p, slot, x, addend)) return rest;
  if (rest == x->ops[0]) return x;
  Node *sum = ir_op2(p->w, OP_CADD, ir_index(p->w, rest, x->ops + 1, x->nops - 2), addend);
  return ir_update(p->w, rest, x->ops + 1, x->nops - 2, sum);
}

/* The array with the sum added to its element, if the loop has run. */
static Node *with_sum(World *w, Node *array, Node *trips, const Sum *s) {
  BranchBuilder *b = branch_open(w, ir_op2(w, OP_ILT, ir_int(w, 0), trips));
  Node *in = branch_add(b, array), *sum = branch_add(b, s->sum), **is = NEW_ARRAY(w->temp, Node *, s->n + 1);
  for (int k = 0; k < s->n; k++) is[k] = branch_add(b, s->is[k]);
  branch_arm(b, in, NULL);
  branch_arm(b, ir_update(w, in, is, s->n, ir_op2(w, OP_CADD, ir_index(w, in, is, s->n), sum)), NULL);
  return branch_close(b);
}

static Node *promoted(Promotion *p, Node **results) {
  World *w = p->w;
  const Node *n = p->loop;
  const LoopInfo *l = n->loop;
  const Graph *body = n->graphs[0];
  int parts = body->result->nops, inputs = loop_inputs(l);
  Node **args = NEW_ARRAY(w->temp, Node *, body->nparams), **out = NEW_ARRAY(w->temp, Node *, parts + p->sums.len);
  for (int k = 0; k < parts; k++) out[k] = results[k];
  for (int k = 0; k < p->sums.len; k++) out[parts + k] = p->sums.data[k].addend;
  Graph *all = ir_graph(w, body->params, body->nparams, ir_record(w, out, parts + p->sums.len), body->name);
  LoopBuilder *b = loop_open(w, l->down);
  args[0] = loop_index(b);
  for (int k = 0; k < inputs; k++) args[1 + k] = loop_add(b, loop_part(l, k), n->ops[loop_first(l) + k]);
  for (int k = 0; k < p->sums.len; k++) p->sums.data[k].inner = loop_add(b, LOOP_ACC, ir_float(w, 0));
  Node *r = ir_instantiate(w, all, args, 0);
  for (int k = 0; k < loop_slots(l); k++) loop_next(b, args[1 + k], ir_get(w, r, k));
  for (int k = loop_slots(l); k < parts; k++) loop_stack(b, ir_get(w, r, k));
  for (int k = 0; k < p->sums.len; k++) {
    Sum *s = &p->sums.data[k];
    loop_next(b, s->inner, ir_op2(w, OP_CADD, s->inner, ir_get(w, r, parts + k)));
  }
  Node *cond = l->has_cond ? ir_instantiate(w, n->graphs[1], loop_cond_args(w, l, n->graphs[1], args), 0) : NULL;
  loop_close(b, cond ? NULL : n->ops[0], cond, n->site);
  Node **xs = NEW_ARRAY(w->temp, Node *, n->type->n), *trips = loop_trips(b);
  for (int k = 0; k < n->type->n - 1; k++)
    xs[k] = k < loop_slots(l) ? loop_result(b, args[1 + k]) : loop_stacked(b, k - loop_slots(l));
  xs[n->type->n - 1] = trips;
  for (int k = 0; k < p->sums.len; k++) {
    Sum *s = &p->sums.data[k];
    s->sum = loop_result(b, s->inner);
    xs[s->slot] = with_sum(w, xs[s->slot], trips, s);
  }
  return ir_tuple(w, n->type, xs);
}

static Node *promote(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  if (n->op != OP_LOOP || !n->loop->naccs) return NULL;
  Node *loop = rewrite_node(r, n, ops, graphs);
  if (loop->op != OP_LOOP || loop->graphs[0]->result->op != OP_TUPLE) return loop;
  Promotion p = {.w = user, .loop = loop};
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
