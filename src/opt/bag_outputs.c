/* SPDX-License-Identifier: MIT */
/* Accumulators that start empty, where it pays to give them a whole array at once.
 *
 * A loop that adds one entry per iteration, at its own index, to an empty accumulator of as many entries as it has
 * iterations makes an array: it gets a stacked output instead. A loop that carries an accumulator which isn't empty,
 * and takes entries out of it, would make it dense by the first of them: it starts with an array, if it runs at all.
 * opt_dense turns what is done with these arrays into loads and stores. */
#include "opt/opt.h"
#include "graph/graph.h"

typedef struct Bags {
  World *w;
  bool changed;
} Bags;

/* The loop's operands without the trip count: carried, accumulators, slices, captures. */
typedef struct View {
  World *w;
  const LoopInfo *l;
  Node *n, **ops;
  Graph *body;
  int slots, own; /* state; parameters of the body before its captures */
} View;

static View view_of(World *w, const Node *n, Node **ops, Graph *body) {
  const LoopInfo *l = n->loop;
  int slots = loop_slots(l);
  return (View){w, l, l->has_cond ? NULL : ops[0], ops + loop_first(l), body, slots, 1 + loop_captures(l)};
}

static bool reads_param(World *w, const Graph *g, Node *x, int from, int to) {
  Node **nodes;
  int n = ir_order(w->arena, ir_graph(w, g->params, g->nparams, x, NULL), &nodes);
  for (int i = 0; i < n; i++)
    if (nodes[i]->op == OP_PARAM && nodes[i]->attr.i >= from && nodes[i]->attr.i < to) return true;
  return false;
}

/* Node x of the body in terms of the graph around, NULL if it isn't the same in all iterations. */
static Node *outside(const View *v, Node *x) {
  if (reads_param(v->w, v->body, x, 0, v->own)) return NULL;
  Node **args = NEW_ARRAY(v->w->arena, Node *, v->body->nparams + 1);
  for (int i = 0; i < v->body->nparams; i++) args[i] = i < v->own ? ir_zero(v->w, v->body->params[i]) : v->ops[i - 1];
  return ir_substitute(v->w, x, args, v->body->nparams, 0);
}

/* ---- One entry per iteration ------------------------------------------------------------ */
/* The entry that slot k of the state gets in each iteration; NULL if it isn't of that form. */
static Node *entry_of(const View *v, int k) {
  const Node *r = v->body->result->op == OP_TUPLE ? v->body->result->ops[k] : NULL;
  if (!v->n || k < v->l->ncarried || v->ops[k]->op != OP_ZERO || !r || r->op != OP_ACC_AT) return NULL;
  int rank = ir_rank(r->type);
  Node *x = r->ops[r->nops - 1], *bag = r->ops[0], *i = r->ops[1 + rank];
  if (bag->op != OP_PARAM || bag->attr.i != 1 + k || r->nops != rank + 3 || i->op != OP_PARAM || i->attr.i != 0)
    return NULL;
  if (x->type->kind == T_BAG) x = x->op == OP_TO_BAG ? x->ops[0] : NULL; /* a whole row, if there is one */
  if (!x || outside(v, r->ops[1]) != v->n || reads_param(v->w, v->body, x, 1 + k, 2 + k)) return NULL;
  return x;
}

static Node *stacked_entries(World *w, const Node *n, Node **ops, Graph **graphs) {
  View v = view_of(w, n, ops, graphs[0]);
  int parts = v.slots + v.l->nstacked, more = 0;
  Node **xs = NEW_ARRAY(w->arena, Node *, parts + v.slots + 1);
  int *stack = NEW_ARRAY(w->arena, int, v.slots + 1);
  for (int k = 0; k < parts; k++) xs[k] = ir_get(w, v.body->result, k);
  for (int k = 0; k < v.slots; k++) {
    Node *x = entry_of(&v, k);
    if (!x) continue;
    stack[k] = parts + more;
    xs[parts + more++] = x;
    xs[k] = ir_param(w, 1 + k, v.body->params[1 + k]);
  }
  if (!more) return NULL;
  Node **arrays = NEW_ARRAY(w->arena, Node *, more), **out = NEW_ARRAY(w->arena, Node *, parts + 1);
  Node *loop = ir_loop_stacking(w, n, ops, ir_record(w, xs, parts), xs + parts, more, arrays);
  for (int k = 0; k <= parts; k++) {
    bool stacked = k < v.slots && stack[k];
    out[k] = stacked ? ir_make(w, OP_TO_BAG, n->type->args[k], &arrays[stack[k] - parts], 1) : ir_get(w, loop, k);
  }
  return ir_tuple(w, n->type, out);
}

/* ---- Entries taken out ------------------------------------------------------------------- */
/* Is bag x of a graph certain to be more than null, if parameter `full` (-1: none) is? */
static bool not_null(const Node *x, int full, int depth) {
  if (depth > 50) return false;
  const Node *whole = x->op == OP_GET ? x->ops[0] : NULL;
  switch (x->op) {
  case OP_TO_BAG:
  case OP_ACC_AT: return true;
  case OP_PARAM: return x->attr.i == full;
  case OP_CUPDATE: return not_null(x->ops[0], full, depth + 1);
  case OP_CADD: return not_null(x->ops[0], full, depth + 1) || not_null(x->ops[1], full, depth + 1);
  case OP_GET: break;
  default: return false;
  }
  if (whole->op == OP_TAKE) return x->attr.i == 0 && not_null(whole->ops[0], full, depth + 1);
  int k = (int)x->attr.i;
  if (whole->op != OP_LOOP || k >= loop_slots(whole->loop)) return false;
  if (!not_null(whole->ops[k + loop_first(whole->loop)], full, depth + 1)) return false;
  const Node *r = whole->graphs[0]->result;
  return k >= whole->loop->ncarried || (r->op == OP_TUPLE && not_null(r->ops[k], 1 + k, depth + 1));
}

/* The TAKE by which x, the next value of an accumulator, is made from parameter k, in this graph or one of its
 * loops: its dimensions in terms of the body of `v`, written to dims. */
static bool find_take(const View *v, const Node *x, int k, Node **dims, int depth) {
  const Node *whole = x->op == OP_GET ? x->ops[0] : NULL;
  if (depth > 50) return false;
  if (x->op == OP_ACC_AT || x->op == OP_CUPDATE) return find_take(v, x->ops[0], k, dims, depth + 1);
  if (!whole) return false;
  if (whole->op == OP_TAKE && x->attr.i == 0) {
    int rank = ir_rank(x->type);
    for (int i = 0; i < rank; i++)
      if (!(dims[i] = outside(v, whole->ops[1 + i]))) return false;
    return true;
  }
  if (whole->op != OP_LOOP || x->attr.i >= whole->loop->ncarried || whole->graphs[0]->result->op != OP_TUPLE)
    return false;
  View inner = view_of(v->w, whole, whole->ops, whole->graphs[0]);
  int rank = ir_rank(x->type);
  if (!find_take(&inner, inner.body->result->ops[x->attr.i], (int)x->attr.i, dims, depth + 1)) return false;
  for (int i = 0; i < rank; i++)
    if (!(dims[i] = outside(v, dims[i]))) return false;
  return true;
}

static Node *fill(World *w, Node *bag, IrType *array, Node **dims, int rank) {
  Node **ops = NEW_ARRAY(w->arena, Node *, rank + 1);
  ops[0] = bag;
  for (int i = 0; i < rank; i++) ops[1 + i] = dims[i];
  return ir_make(w, OP_FILL, array, ops, rank + 1);
}

static IrType *array_of(World *w, const IrType *bag) {
  return ir_array_type(w, bag->args[0]->kind == T_BAG ? array_of(w, bag->args[0]) : bag->args[0]);
}

/* Does anything but its own steps keep slot k from being an array? Its dimensions if not. */
static Node **fillable(const View *v, int k) {
  IrType *t = v->ops[k]->type;
  if (!v->n || k >= v->l->ncarried || t->kind != T_BAG || ir_base(t)->kind != T_FLOAT ||
      v->body->result->op != OP_TUPLE)
    return NULL;
  if (v->ops[k]->op == OP_TO_BAG || !not_null(v->ops[k], -1, 0)) return NULL;
  Node **dims = NEW_ARRAY(v->w->arena, Node *, ir_rank(t));
  return find_take(v, v->body->result->ops[k], k, dims, 0) ? dims : NULL;
}

static Node *filled_start(World *w, const Node *n, Node **ops, Graph **graphs) {
  View v = view_of(w, n, ops, graphs[0]);
  int total = v.body->nparams - 1;
  Node **in = NEW_ARRAY(w->arena, Node *, total + 1), **idle = NEW_ARRAY(w->arena, Node *, n->type->n);
  bool any = false;
  for (int k = 0; k < v.l->nstacked; k++)
    if (n->type->args[v.slots + k]->kind != T_ARRAY) return NULL;
  Region *runs = region_open(w, region_open(w, NULL)), *rests = region_open(w, runs->outer);
  for (int k = 0; k < total; k++) {
    Node **dims = k < v.slots ? fillable(&v, k) : NULL;
    in[k] = region_import(runs, runs->outer, v.ops[k]);
    if (k < v.slots) idle[k] = region_import(rests, rests->outer, v.ops[k]);
    if (!dims) continue;
    any = true;
    IrType *t = v.ops[k]->type;
    int rank = ir_rank(t);
    for (int i = 0; i < rank; i++) dims[i] = region_import(runs, runs->outer, dims[i]);
    Node *a = fill(w, in[k], array_of(w, t), dims, rank);
    in[k] = ir_make(w, OP_TO_BAG, t, &a, 1);
  }
  if (!any) return NULL;
  for (int k = 0; k < v.l->nstacked; k++)
    idle[v.slots + k] = ir_array(w, n->type->args[v.slots + k]->args[0], NULL, 0, 0);
  idle[v.slots + v.l->nstacked] = ir_int(w, 0);
  Node *trips = region_import(runs, runs->outer, v.n);
  Node *results[2] = {ir_tuple(w, n->type, idle), ir_loop(w, v.l, trips, in, v.body, NULL, n->site)}, **caps;
  Graph *arms[2];
  int ncaps;
  region_close_arms((Region *[]){rests, runs}, results, 2, arms, &caps, &ncaps);
  return ir_switch(w, ir_op2(w, OP_ILT, ir_int(w, 0), v.n), arms, 2, caps, ncaps);
}

static Node *bags_node(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)frame;
  Bags *b = user;
  Node *x = n->op == OP_LOOP ? stacked_entries(b->w, n, ops, graphs) : NULL;
  if (!x && n->op == OP_LOOP) x = filled_start(b->w, n, ops, graphs);
  b->changed |= x != NULL;
  return x;
}

Graph *opt_bags(World *w, Graph *g, bool *changed) {
  Bags b = {.w = w};
  g = ir_rewrite(w, g, (RewritePass){.user = &b, .node = bags_node});
  *changed = b.changed;
  return g;
}
