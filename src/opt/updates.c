/* SPDX-License-Identifier: MIT */
/* Updates that are overwritten: `p[i].x <- a; p[i].y <- b` updates one element twice. The second update holds the first
 * one's value already, since reading an element just written gives what was written (ir_index). So when nothing
 * else needs the array between the two, the first goes. Where something does need it, merging would leave two
 * updates of one array, hence a copy. */
#include "opt/opt.h"
#include <string.h>

static void *find_uses(void *user, Graph *g) { return graph_uses(user, g); }

static Node *merge(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)graphs;
  if (n->op != OP_UPDATE || n->ops[0]->op != OP_UPDATE || uses_count(frame, n->ops[0]) != 1) return NULL;
  const Node *before = ops[0];
  int indices = n->nops - 2;
  if (before->op != OP_UPDATE || before->nops != n->nops ||
      memcmp(before->ops + 1, ops + 1, (size_t)indices * sizeof *ops))
    return NULL;
  return ir_update(user, before->ops[0], ops + 1, indices, ops[indices + 1]);
}

Graph *opt_updates(World *w, Graph *g) {
  return ir_rewrite(w, g, (RewritePass){.user = w, .begin = find_uses, .node = merge});
}
