/* SPDX-License-Identifier: MIT */
/* Rewriting: all graphs that one reaches are made anew, bottom-up, through nested graphs and called functions. A
 * pass is a function that says what becomes of a node whose operands and graphs are done. Everything goes through
 * the normalising constructors, so simplification is part of every pass; functions are copied, never changed. */
#include "graph/graph.h"
#include "ir/world.h"

/* A graph with an identity that is being rewritten. While it is, other graphs may be made that would call what
 * becomes of it and can't yet: what was made meanwhile isn't kept for later uses. */
typedef struct Busy {
  struct Busy *outer;
  uint64_t identity;
  int made; /* of the rewriter's `made` before it */
  bool missed;
} Busy;

typedef struct Made {
  Map *in;
  void *key;
} Made;

struct Rewriter {
  World *w;
  Map graphs, funcs;
  Vec(Made) made; /* the keys of both maps, in order */
  Busy *busy;     /* the innermost */
  RewritePass pass;
};

int rewrite_depth(const Rewriter *r) {
  int n = 0;
  for (const Busy *b = r->busy; b; b = b->outer) n++;
  return n;
}

static void miss(Rewriter *r, Busy *b) {
  if (!b->missed) compilation(r->w)->version++;
  b->missed = true;
}

bool rewrite_miss(Rewriter *r, const Graph *g) {
  for (Busy *b = r->busy; b; b = b->outer) {
    if (b->identity != g->identity) continue;
    miss(r, b);
    return true;
  }
  return false;
}

void rewrite_miss_all(Rewriter *r) {
  for (Busy *b = r->busy; b; b = b->outer) miss(r, b);
}

static void keep(Rewriter *r, Map *in, void *key, void *made) {
  map_put(in, key, made);
  vec_push(r->w->temp, r->made, ((Made){in, key}));
}

static void forget(Rewriter *r, const Busy *b) {
  for (int i = b->made; i < r->made.len; i++) map_put(r->made.data[i].in, r->made.data[i].key, NULL);
  r->made.len = b->made;
  compilation(r->w)->version++;
}

static Func *declare(Rewriter *r, Func *f, bool *is_new) {
  Func *n = map_get(&r->funcs, f);
  *is_new = !n;
  if (n) return n;
  n = ir_func(r->w, f->name, f->params, f->nparams, f->result);
  n->recursive = f->recursive;
  n->opaque = f->opaque;
  n->outlined = f->outlined;
  if (f->opaque) n->ruled = f->ruled; /* others are written out now */
  n->made_for = f->made_for;
  n->foreign = f->foreign;
  n->span = f->span;
  keep(r, &r->funcs, f, n);
  keep(r, &r->funcs, n, n);
  return n;
}

/* The rules are declared before the graph of any of them is made: a rule may use derivatives of its own function. */
static void fill(Rewriter *r, Func *f, Func *n) {
  bool new_pullback = false, new_tangent = false;
  if (f->pullback) n->pullback = declare(r, f->pullback, &new_pullback);
  if (f->tangent) n->tangent = declare(r, f->tangent, &new_tangent);
  if (new_pullback) fill(r, f->pullback, n->pullback);
  if (new_tangent) fill(r, f->tangent, n->tangent);
  if (f->graph) ir_func_finish(r->w, n, rewrite_graph(r, f->graph)->result);
}

/* While rewrite rules are tried, functions whose calls they may match are no copies; these are written out later. */
static bool stays(const Rewriter *r, const Func *f) {
  return f->ruled && !f->opaque && compilation(r->w)->heads != HEADS_WRITTEN_OUT;
}

Func *rewrite_func(Rewriter *r, Func *f) {
  if (!f || stays(r, f)) return f;
  bool is_new;
  Func *n = declare(r, f, &is_new);
  if (is_new) fill(r, f, n);
  return n;
}

Node *rewrite_node(Rewriter *r, Node *n, Node **ops, Graph **graphs) {
  World *w = r->w;
  switch (n->op) {
  case OP_PARAM: return n;
  case OP_CALL: return ir_call(w, rewrite_func(r, n->attr.func), ops, n->site);
  case OP_CLOSURE_CAP: return ir_closure_cap(w, ops[0], graphs[0], (int)n->attr.i);
  case OP_GRAPH_ID: return ir_graph_id(w, graphs[0]);
  case OP_INJ:
  case OP_UNINJ:
    if (n->ngraphs) return ir_env(w, (Op)n->op, n->type, graphs[0], ops[0]);
    return ir_rebuild(w, n, ops, graphs);
  default: return ir_rebuild(w, n, ops, graphs);
  }
}

Graph *rewrite_nodes(Rewriter *r, Graph *g) {
  World *w = r->w;
  void *frame = r->pass.begin ? r->pass.begin(r->pass.user, g) : NULL;
  const GraphBody *b = graph_body(w, g);
  const int *operand = b->operands;
  Node **made = NEW_ARRAY(w->temp, Node *, b->n);
  for (int i = 0; i < b->n; i++) {
    Node *x = b->nodes[i];
    Node **ops = NEW_ARRAY(w->temp, Node *, x->nops + 1);
    Graph **graphs = NEW_ARRAY(w->temp, Graph *, x->ngraphs + 1);
    for (int k = 0; k < x->nops; k++) ops[k] = made[*operand++];
    for (int k = 0; k < x->ngraphs; k++) graphs[k] = rewrite_graph(r, x->graphs[k]);
    Node *y = r->pass.node ? r->pass.node(r->pass.user, r, frame, x, ops, graphs) : NULL;
    made[i] = y ? ir_placed(w, y, x->site) : rewrite_node(r, x, ops, graphs);
  }
  return ir_graph(w, g->params, g->nparams, made[b->n - 1], g->name);
}

static Graph *make(Rewriter *r, Graph *g) {
  return r->pass.graph ? r->pass.graph(r->pass.user, r, g) : rewrite_nodes(r, g);
}

static Graph *make_identified(Rewriter *r, Graph *g) {
  Busy here = {r->busy, g->identity, r->made.len, false};
  r->busy = &here;
  Graph *out = ir_identified(r->w, make(r, g), here.identity);
  r->busy = here.outer;
  if (here.missed) forget(r, &here);
  return out;
}

Graph *rewrite_graph(Rewriter *r, Graph *g) {
  heap_look(r->w->arena->heap);
  Graph *done = map_get(&r->graphs, g);
  if (done) return done;
  Graph *out = g->identity ? make_identified(r, g) : make(r, g);
  keep(r, &r->graphs, g, out);
  keep(r, &r->graphs, out, out);
  return out;
}

Rewriter *rewriter_new(World *w, RewritePass pass) {
  Rewriter *r = NEW(w->temp, Rewriter);
  r->w = w;
  r->pass = pass;
  map_init(&r->graphs, w->temp);
  map_init(&r->funcs, w->temp);
  return r;
}

Graph *rewriter_run(Rewriter *r, Graph *g) {
  Compilation *c = compilation(r->w);
  Rewriter *outer = c->rewriter;
  bool renormalise = c->renormalise, general_calls = c->general_calls;
  c->rewriter = r;
  c->renormalise = r->pass.renormalise;
  c->general_calls = r->pass.general_calls;
  g = rewrite_graph(r, g);
  c->rewriter = outer;
  c->renormalise = renormalise;
  c->general_calls = general_calls;
  return g;
}

Graph *ir_rewrite(World *w, Graph *g, RewritePass pass) { return rewriter_run(rewriter_new(w, pass), g); }
