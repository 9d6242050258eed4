/* SPDX-License-Identifier: MIT */
/* `par f g` as a node: a primitive of the runtime that gets two closures without parameters and yields the pair of
 * their values. Each function keeps a graph of its own, into which no pass looks from outside. So nothing of one arm
 * is merged with the other, or moved out of it. */
#include "graph/graph.h"
#include "ir/world.h"
#include <string.h>

bool ir_is_fork(const Node *n) { return n->op == OP_RT && !strcmp(n->attr.rt->name, "fork"); }

bool ir_is_fork_blocks(const Node *n) { return n->op == OP_RT && !strcmp(n->attr.rt->name, "fork_blocks"); }

Node *ir_fork_here(World *w) {
  Node *unit = ir_unit(w);
  return ir_rt(w, ir_rt_find("fork_here"), ir_type(w, T_BOOL), NULL, &unit, 1, 0);
}

bool ir_is_fork_here(const Node *n) { return n->op == OP_RT && !strcmp(n->attr.rt->name, "fork_here"); }

Fork ir_fork_arms(World *w, const Node *n) {
  Fork f;
  for (int k = 0; k < 2; k++) f.arm[k] = ir_target(w, n->ops[k], ir_unit(w), NULL, n->site);
  return f;
}

static Node *arm_closure(World *w, Target t) {
  IrType *type = ir_fun_type(w, ir_type(w, T_UNIT), t.g->result->type, false);
  return ir_closure(w, t.g, type, t.args + 1, t.g->nparams - 1);
}

Node *ir_fork(World *w, Fork f, Site site) {
  Node *ops[2] = {arm_closure(w, f.arm[0]), arm_closure(w, f.arm[1])};
  IrType *first = f.arm[0].g->result->type, *second = f.arm[1].g->result->type;
  IrType *pair = ir_pair_type(w, first, second);
  return ir_rt(w, ir_rt_find("fork"), pair, pair, ops, 2, site);
}

Node *ir_fork_in_order(World *w, Fork f) {
  Node *first = ir_instantiate(w, f.arm[0].g, f.arm[0].args, 0);
  return ir_pair(w, first, ir_instantiate(w, f.arm[1].g, f.arm[1].args, 0));
}
