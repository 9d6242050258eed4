/* SPDX-License-Identifier: MIT */
/* Updates that are overwritten: `p[i].x <- a; p[i].y <- b` updates one element twice. The second update holds the first
 * one's value already, since reading an element just written gives what was written (ir_index). So when nothing
 * else needs the array between the two, the first goes. Where something does need it, merging would leave two
 * updates of one array, hence a copy. */
#include "opt/opt.h"
#include <string.h>

typedef struct Frame {
  Map users;
} Frame; /* node -> how many operands refer to it */

static void *count_users(void *user, Graph *g) {
  World *w = user;
  Frame *f = NEW(w->arena, Frame);
  map_init(&f->users, w->arena);
  Node **nodes;
  int n = ir_order(w->arena, g, &nodes);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < nodes[i]->nops; k++) {
      Node *x = nodes[i]->ops[k];
      if (x->op == OP_UPDATE) map_put(&f->users, x, (char *)map_get(&f->users, x) + 1);
    }
  return f;
}

static Node *merge(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)graphs;
  const Frame *f = frame;
  if (n->op != OP_UPDATE || n->ops[0]->op != OP_UPDATE || (uintptr_t)map_get(&f->users, n->ops[0]) != 1) return NULL;
  const Node *before = ops[0];
  int indices = n->nops - 2;
  if (before->op != OP_UPDATE || before->nops != n->nops ||
      memcmp(before->ops + 1, ops + 1, (size_t)indices * sizeof *ops))
    return NULL;
  return ir_update(user, before->ops[0], ops + 1, indices, ops[indices + 1]);
}

Graph *opt_updates(World *w, Graph *g) {
  return ir_rewrite(w, g, (RewritePass){.user = w, .begin = count_users, .node = merge});
}
