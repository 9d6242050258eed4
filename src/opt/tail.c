/* SPDX-License-Identifier: MIT */
/* Recursion that is iteration: a function whose calls of itself are all tail calls becomes a loop.
 *
 *   f(p) = if c(p) then f(next(p)) else exit(p)      →      f(p) = loop p while c do next; exit(p)
 *
 * The result of such a function is a tree of branches over calls of itself and other values. From this tree three are made:
 * `continues` (is the leaf that is reached a call?), `next` (its arguments), and `exit` (its value). What the branches
 * test is evaluated for each of them, so it must not be costly. Loops are better than recursion for all that comes later:
 * derivatives keep rows in one growing array instead of an object and a stack frame for each step. */
#include "opt/opt.h"

typedef struct Tail {
  World *w;
  Map loops; /* function -> what it becomes; itself when it stays */
} Tail;

/* One of the three trees under construction. */
typedef struct Tree {
  World *w;
  Func *f;
  enum { CONTINUES, NEXT, EXIT } which;
  IrType *type;
} Tree;

/* ---- Which functions ------------------------------------------------------------------------------------------------ */
typedef struct Count { World *w; Func *f; int calls; } Count;

/* Counts the calls of c->f in g and the graphs nested in it. */
static void count_calls(Count *c, Graph *g) {
  Node **nodes;
  int n = ir_order(c->w->temp, g, &nodes);
  for (int i = 0; i < n; i++) {
    c->calls += nodes[i]->op == OP_CALL && nodes[i]->attr.func == c->f;
    for (int k = 0; k < nodes[i]->ngraphs; k++) count_calls(c, nodes[i]->graphs[k]);
  }
}

/* Tail calls of f in the tree of x; -1 when a branch tests something costly. */
static int count_tail_calls(const Func *f, const Node *x) {
  if (x->op == OP_CALL) return x->attr.func == f;
  if (x->op != OP_SWITCH) return 0;
  int total = 0;
  for (int k = 0; k < x->ngraphs; k++) {
    int n = count_tail_calls(f, x->graphs[k]->result);
    if (n < 0) return -1;
    total += n;
  }
  return total > 0 && x->ops[0]->flags & NODE_COSTLY ? -1 : total;
}

static bool is_iteration(World *w, Func *f) {
  if (!f->recursive || !f->graph || f->opaque || f->pullback || f->tangent) return false;
  int tail = count_tail_calls(f, f->graph->result);
  if (tail <= 0) return false;
  Count c = {.w = w, .f = f};
  count_calls(&c, f->graph);
  return c.calls == tail;
}

/* ---- The trees ---------------------------------------------------------------------------------------------------------- */
static Node *leaf(const Tree *t, Node *x) {
  bool calls = x->op == OP_CALL && x->attr.func == t->f;
  switch (t->which) {
  case CONTINUES: return ir_bool(t->w, calls);
  case NEXT: return calls ? ir_record(t->w, x->ops, t->f->nparams) : ir_zero(t->w, t->type);
  default: return calls ? ir_zero(t->w, t->type) : x;
  }
}

/* Has the tree of x leaves that `next`, or `exit`, is asked for? */
static bool concerns(const Tree *t, const Node *x) {
  if (x->op == OP_SWITCH && count_tail_calls(t->f, x) > 0) {
    for (int k = 0; k < x->ngraphs; k++)
      if (concerns(t, x->graphs[k]->result)) return true;
    return false;
  }
  bool calls = count_tail_calls(t->f, x) > 0;
  return t->which == NEXT ? calls : !calls;
}

/* The tree for x, a node that stands where the function's result does. Where it is known which arm was taken, since no
 * other one concerns this tree, the branch isn't taken again. */
static Node *tree(const Tree *t, Node *x) {
  World *w = t->w;
  if (x->op != OP_SWITCH || count_tail_calls(t->f, x) == 0) return leaf(t, x);
  int concerned = 0, last = 0;
  for (int k = 0; k < x->ngraphs; k++)
    if (concerns(t, x->graphs[k]->result)) concerned++, last = k;
  Graph **arms = NEW_ARRAY(w->arena, Graph *, x->ngraphs);
  for (int k = 0; k < x->ngraphs; k++) {
    Graph *a = x->graphs[k];
    arms[k] = ir_graph(w, a->params, a->nparams, tree(t, a->result), a->name);
  }
  if (t->which != CONTINUES && concerned == 1) return ir_instantiate(w, arms[last], x->ops + 1, 0);
  return ir_switch(w, x->ops[0], arms, x->ngraphs, x->ops + 1, x->nops - 1);
}

/* f's graph over n values that start with its parameters. */
static Graph *tree_graph(const Tree *t, int shift) {
  World *w = t->w;
  Func *f = t->f;
  IrType **types = NEW_ARRAY(w->arena, IrType *, f->nparams + 1);
  Node **args = NEW_ARRAY(w->arena, Node *, f->nparams + 1);
  types[0] = ir_type(w, T_INT);
  for (int k = 0; k < f->nparams; k++) {
    types[k + shift] = f->params[k];
    args[k] = ir_param(w, k + shift, f->params[k]);
  }
  Node *x = ir_substitute(w, tree(t, f->graph->result), args, f->nparams, 0);
  return ir_graph(w, types, f->nparams + shift, x, f->name);
}

static Func *iterate(World *w, Func *f) {
  Tree continues = {w, f, CONTINUES, NULL}, next = {w, f, NEXT, NULL}, exits = {w, f, EXIT, f->result};
  next.type = ir_tuple_type(w, f->params, NULL, f->nparams);
  Graph *body = tree_graph(&next, 1), *cond = tree_graph(&continues, 1), *end = tree_graph(&exits, 0);
  Node **args = NEW_ARRAY(w->arena, Node *, f->nparams + 1);
  for (int k = 0; k < f->nparams; k++) args[k] = ir_param(w, k, f->params[k]);
  LoopInfo *l = NEW(w->arena, LoopInfo);
  *l = (LoopInfo){.ncarried = f->nparams, .has_cond = true};
  Node *loop = ir_loop(w, l, NULL, args, body, cond, 0);
  for (int k = 0; k < f->nparams; k++) args[k] = ir_get(w, loop, k);
  Func *n = ir_func(w, f->name, f->params, f->nparams, f->result);
  n->span = f->span;
  ir_func_finish(w, n, ir_instantiate(w, end, args, 0));
  return n;
}

/* ---- The pass ----------------------------------------------------------------------------------------------------------- */
static Node *call_loop(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  (void)graphs;
  Tail *t = user;
  if (n->op != OP_CALL || !n->attr.func->recursive) return NULL;
  Func *f = n->attr.func, *loop = map_get(&t->loops, f);
  if (!loop) map_put(&t->loops, f, loop = is_iteration(t->w, f) ? iterate(t->w, f) : f);
  return loop == f ? NULL : ir_call(t->w, rewrite_func(r, loop), ops, n->site);
}

Graph *opt_tail(World *w, Graph *g) {
  Tail *t = NEW(w->temp, Tail);
  t->w = w;
  map_init(&t->loops, w->temp);
  return ir_rewrite(w, g, (RewritePass){.user = t, .node = call_loop});
}
