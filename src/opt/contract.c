/* SPDX-License-Identifier: MIT */
/* Contraction: a product that only sums read is added without being rounded, FMA. Which ones is decided here and
 * nowhere else (GCC is told not to), since it must not depend on what else is computed in the same place: a function
 * and its derivative would take different arms of a branch on such a sum. So there are two times. Before
 * differentiation the program's own sums are contracted, and those that aren't are marked to stay apart: what
 * differentiation adds may use a product once more, or drop a use, and that changes nothing. At the end it is the
 * turn of the sums that passes and derivative rules made, and of those whose order is free (CADD).
 *
 *   a * b + c = fma a b c      a * b - c = fma a b (-c)      c - a * b = fma (-a) b c
 *
 * What a loop adds to a number that it carries isn't contracted: there the additions wait for each other while
 * products can be made beforehand, several at once. */
#include "opt/opt.h"
#include <math.h>

typedef struct Contract {
  World *w;
  bool last;
} Contract;
typedef struct Frame {
  Uses *uses;
  Map chains; /* what adds to parameters */
} Frame;

static bool is_sum(const Contract *c, const Node *n) {
  if (n->op == OP_CADD) return c->last && n->type->kind == T_FLOAT;
  return (n->op == OP_FADD || n->op == OP_FSUB) && !n->attr.i;
}

/* Is product y product x or its opposite? x * c and x * -c are one product but for the sign, as x * y and -(x * y) are
 * where y is no constant, so they are contracted both or not at all. */
static bool is_same_but_for_sign(const Node *x, const Node *y) {
  if (x == y || y->op != OP_FMUL || x->ops[0] != y->ops[0]) return x == y;
  const Node *c = x->ops[1], *d = y->ops[1];
  return c->op == OP_FLOAT && d->op == OP_FLOAT && fabs(c->attr.f) == fabs(d->attr.f);
}

/* Is x a sum of parameter k and other things? Its additions are noted. */
static bool adds_to(Frame *f, const Node *x, int64_t k, int depth) {
  if (x->op == OP_PARAM) return x->attr.i == k;
  if (x->op != OP_FADD && x->op != OP_FSUB && x->op != OP_CADD) return false;
  if (depth == LIMIT_SUM_CHAIN) return !limit_reached(f->chains.arena, AT_SUM_CHAIN);
  bool found = adds_to(f, x->ops[0], k, depth + 1) || (x->op != OP_FSUB && adds_to(f, x->ops[1], k, depth + 1));
  if (found) map_put(&f->chains, x, f);
  return found;
}

/* Result k of a loop's body is what becomes of parameter 1 + k. */
static void find_chains(Frame *f, const Node *result) {
  if (result->op != OP_TUPLE) adds_to(f, result, 1, 0);
  for (int k = 0; result->op == OP_TUPLE && k < result->nops; k++) adds_to(f, result->ops[k], 1 + k, 0);
}

static void *find_uses(void *user, Graph *g) {
  const Contract *c = user;
  Frame *f = NEW(c->w->temp, Frame);
  f->uses = graph_uses(c->w, g);
  map_init(&f->chains, c->w->temp);
  find_chains(f, g->result);
  return f;
}

/* Is x read by nothing but sums that don't add to parameters? */
static bool only_sums_read(const Contract *c, const Frame *f, const Node *x) {
  FOR_USES (use, f->uses, x)
    if (!is_sum(c, use->user) || map_get(&f->chains, use->user)) return false;
  return uses_first(f->uses, x) < uses_end(f->uses, x); /* else the graph yields it */
}

/* Is x a product that only such sums read, and its opposite too, where there is one? */
static bool only_added(const Contract *c, const Frame *f, const Node *x) {
  if (x->op != OP_FMUL || !only_sums_read(c, f, x)) return false;
  if (x->ops[1]->op != OP_FLOAT) return true;
  FOR_USES (use, f->uses, x->ops[0])
    if (is_same_but_for_sign(x, use->user) && !only_sums_read(c, f, use->user)) return false;
  return true;
}

/* -(a * b), the factors in `product`. */
static void negate(World *w, Node **product) {
  int k = product[1]->op == OP_FLOAT;
  product[k] = ir_op1(w, OP_FNEG, product[k]);
}

/* a * b - a * b, which is 0 where both are rounded: fused, it would be the rounding error of one. */
static bool is_of_opposites(const Node *sum) {
  return sum->ops[0]->op == OP_FMUL && is_same_but_for_sign(sum->ops[0], sum->ops[1]);
}

static Node *apart(const Contract *c, const Node *n, Node **ops) { return c->last ? NULL : ir_apart(c->w, n, ops); }

static Node *contract(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)graphs;
  const Contract *c = user;
  const Frame *f = frame;
  if (!is_sum(c, n)) return NULL;
  if (map_get(&f->chains, n) || is_of_opposites(n)) return apart(c, n, ops);
  int k = only_added(c, f, n->ops[1]) && ops[1]->op == OP_FMUL;
  if (!k && !(only_added(c, f, n->ops[0]) && ops[0]->op == OP_FMUL)) return apart(c, n, ops);
  Node *product[] = {ops[k]->ops[0], ops[k]->ops[1]}, *rest = ops[1 - k];
  if (n->op == OP_FSUB && k) negate(c->w, product);
  if (n->op == OP_FSUB && !k) rest = ir_op1(c->w, OP_FNEG, rest);
  return ir_op3(c->w, OP_FMA, product[0], product[1], rest);
}

Graph *opt_contract(World *w, Graph *g, bool last) {
  if (!w->contract) return g;
  Contract c = {w, last};
  return ir_rewrite(w, g, (RewritePass){.user = &c, .begin = find_uses, .node = contract});
}
