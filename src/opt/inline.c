/* SPDX-License-Identifier: MIT */
/* Inlining of what is called in one place only: nothing is written twice by that. Pullbacks are such functions: in the
 * graph of the function that they belong to, their loops can be joined with its own. What is very large stays apart,
 * for the C compiler takes more than twice as long for a function of twice the size. Before derivatives are taken, it
 * lets a loop's derivative see what the loop calls: which sizes stay, what an iteration needs to keep. Functions with a
 * derivative rule stay until then.
 *
 * Calls of small functions were inlined as they were made (ir_call). */
#include "opt/opt.h"
#include "graph/graph.h"
#include "ir/compilation.h"

typedef struct Calls {
  World *w;
  Map count; /* Func * -> how many CALLs there are, as a number */
} Calls;

typedef struct EachCall {
  World *w;
  void (*fn)(void *user, const Node *call);
  void *user;
} EachCall;

static void each_call_in(void *user, Graph *g) {
  const EachCall *e = user;
  Node **nodes;
  int n = ir_order(e->w->temp, g, &nodes);
  for (int i = 0; i < n; i++)
    if (nodes[i]->op == OP_CALL) e->fn(e->user, nodes[i]);
}

void opt_each_call(World *w, Graph *g, void (*fn)(void *user, const Node *call), void *user) {
  ir_walk_graphs(w, g, each_call_in, &(EachCall){w, fn, user});
}

static void count_call(void *user, const Node *call) {
  Map *count = &((Calls *)user)->count;
  map_put(count, call->attr.func, (void *)((uintptr_t)map_get(count, call->attr.func) + 1));
}

static Node *inlined(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  (void)graphs;
  Calls *c = user;
  if (n->op != OP_CALL) return NULL;
  Func *f = n->attr.func;
  if (!f->graph || f->recursive || (f->opaque && !compilation(c->w)->inline_rules)) return NULL;
  if ((uintptr_t)map_get(&c->count, f) != 1) return NULL;
  if (f->graph->size > LIMIT_INLINE_ONCE && limit_reached(c->w->arena, AT_INLINE_ONCE)) return NULL;
  return ir_instantiate(c->w, rewrite_graph(r, f->graph), ops, n->site);
}

Graph *opt_inline(World *w, Graph *g) {
  Calls c = {.w = w};
  map_init(&c.count, w->temp);
  opt_each_call(w, g, count_call, &c);
  return ir_rewrite(w, g, (RewritePass){.user = &c, .node = inlined});
}
