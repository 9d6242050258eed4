/* SPDX-License-Identifier: MIT */
/* Recursion that forks does so to a depth of LIMIT_FORK_DEPTH forks, and is sequential below:
 *
 *   rec f x = … fork (fun () -> f a) (fun () -> f b) …
 *   →
 *   rec f x = … if fork_here then fork (fun () -> f a) (fun () -> f b) else (f_sequential a, f_sequential b) …
 *   rec f_sequential x = … (f_sequential a, f_sequential b) …
 *
 * Most calls of a recursion are the deep ones. These are as fast as if there were no forks: derivatives add to one
 * accumulator instead of one for each arm, arms need no closures, and calls are optimised with what is around them.
 * Which calls fork depends on the program alone, not on the number of threads; so do the digits.
 *
 * A first rewriting makes the branches, of which both arms call f. The second one replaces the arms that don't fork by
 * what a rewriter of its own makes of them: that takes all branches so, and makes f_sequential when it comes to a call
 * of f. Only forks in which something is called, or forks, get a branch. */
#include "graph/graph.h"
#include "ir/world.h"
#include "opt/opt.h"

enum { ORDERED, FORKED }; /* the arms of a branch on fork_here */

static bool is_choice(const Node *n) { return n->op == OP_SWITCH && ir_is_fork_here(n->ops[0]); }

/* ---- Branches ---------------------------------------------------------------------------------------------------- */
static Fork captured(BranchBuilder *b, World *w, Fork f) {
  for (int k = 0; k < 2; k++) {
    Target *t = &f.arm[k];
    Node **args = NEW_ARRAY(w->arena, Node *, t->g->nparams);
    args[0] = t->args[0];
    for (int i = 1; i < t->g->nparams; i++) args[i] = branch_add(b, t->args[i]);
    t->args = args;
  }
  return f;
}

static Node *choice(World *w, Fork f, Site site) {
  BranchBuilder *b = branch_open(w, ir_fork_here(w));
  Fork in = captured(b, w, f);
  branch_arm(b, ir_fork_in_order(w, in), NULL);
  branch_arm(b, ir_fork(w, in, site), NULL);
  return branch_close(b);
}

static Node *choose(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  World *w = user;
  if (!ir_is_fork(n)) return NULL;
  Node *x = rewrite_node(r, n, ops, graphs);
  Fork f = ir_fork_arms(w, x);
  int inside = f.arm[0].g->flags | f.arm[1].g->flags;
  return inside & (NODE_CALLS | NODE_FORKS) ? choice(w, f, n->site) : x;
}

/* ---- The sequential version -------------------------------------------------------------------------------------- */
static Node *in_order(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  World *w = user;
  if (is_choice(n)) return ir_instantiate(w, graphs[ORDERED], ops + 1, 0);
  return ir_is_fork(n) ? ir_fork_in_order(w, ir_fork_arms(w, rewrite_node(r, n, ops, graphs))) : NULL;
}

static Node *separate(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  if (!is_choice(n)) return NULL;
  Graph *arms[] = {[ORDERED] = rewriter_run(user, n->graphs[ORDERED]), [FORKED] = graphs[FORKED]};
  return rewrite_node(r, n, ops, arms);
}

Graph *opt_bound_forks(World *w, Graph *g) {
  if (!(g->flags & NODE_FORKS)) return g;
  g = ir_rewrite(w, g, (RewritePass){.user = w, .node = choose});
  Rewriter *sequential = rewriter_new(w, (RewritePass){.user = w, .node = in_order});
  return ir_rewrite(w, g, (RewritePass){.user = sequential, .node = separate});
}
