/* SPDX-License-Identifier: MIT */
/* Guards against endless counting that aren't needed. A result that is known without running a loop is ordered after
 * one that never ends if the trip count stands for endless counting (ir/loop_bounds.c). Where the count depends on the
 * index of the loop around, that can only be told from there: an index, and what is a little more, is natural.
 *
 *   loop i < n: (m = max (k -sat (i + 1)) 0; s' = after s (while m = 2^63 - 1 do done))   →   loop i < n: s' = s
 *
 * since m is k at most. What waits for a guard isn't seen to be what it is: a value that all iterations leave as it was
 * seems carried. */
#include "opt/opt.h"
#include "ir/edit.h"
#include "ir/world.h"

/* In the body of a loop. No loop gets to the 2^62nd iteration. */
static bool is_natural(const Node *x) {
  if (x->op == OP_PARAM) return x->attr.i == 0;
  bool more = x->op == OP_IADD && x->ops[1]->op == OP_INT && x->ops[1]->attr.i >= 0 && x->ops[1]->attr.i < 1LL << 62;
  return more ? is_natural(x->ops[0]) : ir_is_natural(x);
}

static Node *without_guards(World *w, Node *n, Node **ops, Graph **graphs) {
  Node **nodes;
  int count = ir_order(w->temp, graphs[0], &nodes);
  LoopEdit *e = NULL;
  for (int i = 0; i < count; i++) {
    Node *x = nodes[i]->op == OP_GET ? nodes[i]->ops[0] : nodes[i];
    if (nodes[i] == x || !ir_guards_ending(x) || ir_may_saturate(x->ops[0], is_natural)) continue;
    if (!e) e = edit_loop(w, n, ops, graphs);
    map_put(&e->over, nodes[i], ir_int(w, 0));
  }
  return e ? edit_value(e) : NULL;
}

static Node *remove_guards(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)frame;
  return n->op == OP_LOOP ? without_guards(user, n, ops, graphs) : NULL;
}

Graph *opt_endless(World *w, Graph *g) { return ir_rewrite(w, g, (RewritePass){.user = w, .node = remove_guards}); }
