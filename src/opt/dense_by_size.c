/* SPDX-License-Identifier: MIT */
/* Chooses the representation of accumulators when the program runs, where their sizes and the number of iterations that
 * add to them are seen to have nothing in common: the loop becomes two.
 *
 *   loop i < n: b += (i, x i)    where b has m entries
 *   →
 *   if m / 8 <= n then (loop i < n: b' += (i, x i)) else (loop i < n: b += (i, x i))    where b' = to_bag (fill b m)
 *
 * So an array whose length only a check of each index bounds costs what one of known length does. Of nested loops the
 * outermost one is taken. Then choose_dense and dense run again, which go on with what is an array now. */
#include "ir/remarks.h"
#include "ir/world.h"
#include "opt/opt.h"

typedef struct Choice {
  World *w;
  Map loops, bodies; /* that become two, and their bodies: Node *, Graph * of what is rewritten */
  int inside;        /* of how many such bodies the graph under way is a part */
} Choice;

/* The condition under which slots of the loop are arrays from its start; NULL: there are none. dims: theirs. */
static Node *condition(World *w, const Node *n, Node **ops, Graph *body, Node ***dims) {
  Node *all = NULL;
  for (int k = 0; k < loop_slots(n->loop); k++) {
    Node *few = NULL;
    dims[k] = opt_dims_if_few(w, n, ops, body, k, &few);
    if (dims[k]) all = all ? ir_op2(w, OP_AND, all, few) : few;
  }
  return all && !ir_is_constant(all) ? all : NULL;
}

static Node ***no_dims(World *w, const Node *n) { return NEW_ARRAY(w->arena, Node **, loop_inputs(n->loop) + 1); }

static bool is_small(World *w, const Graph *body) {
  return body->size <= LIMIT_DOUBLED_BY_SIZE || !limit_reached(w->arena, AT_DOUBLED_BY_SIZE);
}

static void find_loops(Choice *c, Graph *g) {
  Node **nodes;
  int n = ir_order(c->w->temp, g, &nodes);
  for (int i = 0; i < n; i++) {
    Node *x = nodes[i];
    if (x->op != OP_LOOP || x->loop->has_cond || !condition(c->w, x, x->ops, x->graphs[0], no_dims(c->w, x))) continue;
    if (!is_small(c->w, x->graphs[0])) continue;
    ir_remark(c->w, "dense_by_size", x->site,
              "two loops: dense where the accumulators are small for so many iterations");
    map_put(&c->loops, x, x);
    map_put(&c->bodies, x->graphs[0], x);
  }
}

static Graph *choose_in(void *user, Rewriter *r, Graph *g) {
  Choice *c = user;
  bool chosen = map_get(&c->bodies, g) != NULL;
  c->inside += chosen;
  if (!c->inside) find_loops(c, g);
  Graph *out = rewrite_nodes(r, g);
  c->inside -= chosen;
  return out;
}

static Node *choose(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r, (void)frame;
  Choice *c = user;
  World *w = c->w;
  if (!map_get(&c->loops, n)) return NULL;
  Node ***dims = no_dims(w, n), *few = condition(w, n, ops, graphs[0], dims);
  if (!few) return NULL;
  BranchBuilder *b = branch_open(w, few);
  Node **in = NEW_ARRAY(w->temp, Node *, n->nops);
  for (int k = 0; k < n->nops; k++) in[k] = branch_add(b, ops[k]);
  for (int k = 0; k < loop_slots(n->loop); k++)
    for (int i = 0; dims[k] && i < ir_rank(n->type->args[k]); i++) dims[k][i] = branch_add(b, dims[k][i]);
  branch_arm(b, ir_rebuild(w, n, in, graphs), NULL);
  branch_arm(b, opt_start_filled(w, n, in, graphs[0], dims), NULL);
  return branch_close(b);
}

Graph *opt_dense_by_size(World *w, Graph *g) {
  Choice c = {.w = w};
  map_init(&c.loops, w->temp);
  map_init(&c.bodies, w->temp);
  Graph *out = ir_rewrite(w, g, (RewritePass){.user = &c, .graph = choose_in, .node = choose});
  bool changed = c.loops.count > 0;
  for (int round = 0; changed; round++) {
    bool more = false;
    out = opt_choose_dense(w, out, round, &changed);
    out = opt_dense(w, out, round, &more);
    changed |= more;
  }
  return out;
}
