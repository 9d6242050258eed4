/* SPDX-License-Identifier: MIT */
/* Forks of little work become pairs:
 *
 *   fork (fun () -> x * y) (fun () -> heavy x)   →   (x * y, heavy x)
 *
 * A pair can be optimised with what is around it, and an arm below LIMIT_SMALL_ARM operations takes less time than
 * handing it to another thread. Only the graph decides. Loops of unknown length, recursion, unknown functions, and
 * operations on whole arrays count as much work. Branches count as their longest arm. */
#include "graph/graph.h"
#include "ir/world.h"
#include "opt/opt.h"

/* The operations of g, or some number above `most`. */
static int64_t work_of(World *w, Graph *g, int64_t most);

static bool is_large(const IrType *t) { return t->kind == T_ARRAY || t->kind == T_BAG || t->kind == T_STRING; }

static int64_t work_of_operation(const Node *n, int64_t most) {
  if (op_flags[n->op] & OPF_Q || n->op == OP_INDEX || n->op == OP_BYTE || n->op == OP_PARAM || ir_is_constant(n))
    return 1;
  bool large = is_large(n->type);
  for (int k = 0; k < n->nops; k++) large |= is_large(n->ops[k]->type);
  return large ? most + 1 : 1;
}

static int64_t work_of_branch(World *w, const Node *n, int64_t most) {
  int64_t work = 0;
  for (int k = 0; k < n->ngraphs && work <= most; k++) {
    int64_t arm = work_of(w, n->graphs[k], most);
    if (arm > work) work = arm;
  }
  return work + 1;
}

static int64_t work_of_loop(World *w, const Node *n, int64_t most) {
  if (n->loop->has_cond || n->ops[0]->op != OP_INT || n->ops[0]->attr.i > most) return most + 1;
  int64_t times = n->ops[0]->attr.i;
  return times > 0 ? 1 + times * work_of(w, n->graphs[0], most / times) : 1;
}

static int64_t work_of_call(World *w, const Node *n, int64_t most) {
  bool known = n->op == OP_CALL && n->attr.func->graph && !n->attr.func->recursive;
  return known ? 1 + work_of(w, n->attr.func->graph, most) : most + 1;
}

static int64_t work_of_node(World *w, const Node *n, int64_t most) {
  switch (ir_shape(n)) {
  case IR_STRAIGHT: return ir_is_fork(n) ? most + 1 : work_of_operation(n, most);
  case IR_BRANCH: return work_of_branch(w, n, most);
  case IR_LOOP: return work_of_loop(w, n, most);
  case IR_CALL: return work_of_call(w, n, most);
  }
  return most + 1;
}

static int64_t work_of(World *w, Graph *g, int64_t most) {
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  int64_t work = 0;
  for (int i = 0; i < n && work <= most; i++) work += work_of_node(w, nodes[i], most - work);
  return work;
}

static Node *choose(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  World *w = user;
  if (!ir_is_fork(n)) return NULL;
  Node *x = rewrite_node(r, n, ops, graphs);
  Fork f = ir_fork_arms(w, x);
  for (int k = 0; k < 2; k++)
    if (work_of(w, f.arm[k].g, LIMIT_SMALL_ARM) <= LIMIT_SMALL_ARM && limit_reached(w->arena, AT_SMALL_ARM))
      return ir_fork_in_order(w, f);
  return x;
}

Graph *opt_choose_forks(World *w, Graph *g) {
  return g->flags & NODE_FORKS ? ir_rewrite(w, g, (RewritePass){.user = w, .node = choose}) : g;
}
