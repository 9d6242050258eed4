/* SPDX-License-Identifier: MIT */
/* Accumulators that are known to be dense become arrays, so that adding into one is a load, an addition and a store.
 *
 * Runs last: while derivatives may still be taken, an accumulator has to be recognisable as one. TO_BAG marks what
 * comes from an array. It is pushed through additions (here), into branches (regions.c does that with every capture)
 * and out of them, and through the state of loops. */
#include "opt/opt.h"

typedef struct Dense {
  World *w;
  bool changed;
} Dense;

static bool is_dense(const Node *n) { return n->op == OP_TO_BAG; }

static Node *to_bag(World *w, Node *array, IrType *bag) { return ir_make(w, OP_TO_BAG, bag, &array, 1); }

/* acc_at (to_bag a) dims is v = to_bag (a with a[is] + v), where v is a number. */
static Node *dense_add(World *w, Node **ops, int n) {
  Node *a = ops[0]->ops[0], *v = ops[n - 1];
  int rank = ir_rank(a->type);
  if (n - 2 - rank != rank || v->type->kind != T_FLOAT) return NULL;
  Node **is = ops + 1 + rank;
  Node *sum = ir_op2(w, OP_CADD, ir_index(w, a, is, rank), v);
  return to_bag(w, ir_update(w, a, is, rank, sum), ops[0]->type);
}

/* take (to_bag a) dims is, and cupdate (to_bag a) dims is v, of a number. */
static Node *dense_replace(World *w, const Node *n, Node **ops) {
  bool take = n->op == OP_TAKE;
  Node *a = ops[0]->ops[0];
  int rank = ir_rank(a->type);
  Node **is = ops + 1 + rank, *old = take ? ir_index(w, a, is, n->nops - 1 - rank) : ops[n->nops - 1];
  if (n->nops - 1 - rank - !take != rank || old->type->kind != T_FLOAT) return NULL;
  Node *b = to_bag(w, ir_update(w, a, is, rank, take ? ir_float(w, 0) : old), ops[0]->type);
  return take ? ir_pair(w, b, old) : b;
}

/* What a bag is as an array of the shape of `like`: itself if it is dense, else filled. */
static Node *as_array(World *w, Node *bag, Node *like) {
  if (is_dense(bag)) return bag->ops[0];
  int rank = ir_rank(like->type);
  Node **ops = NEW_ARRAY(w->arena, Node *, rank + 1);
  ops[0] = bag;
  for (int k = 0; k < rank; k++) ops[1 + k] = ir_len(w, like, k);
  return ir_make(w, OP_FILL, like->type, ops, rank + 1);
}

/* ---- Loops: dense state is carried as arrays ------------------------------------------ */
static Graph *unwrapped_body(World *w, Graph *body, Node **ops, int slots) {
  IrType **ts = NEW_ARRAY(w->arena, IrType *, body->nparams + 1);
  Node **args = NEW_ARRAY(w->arena, Node *, body->nparams + 1), **ps = NEW_ARRAY(w->arena, Node *, body->nparams + 1);
  for (int i = 0; i < body->nparams; i++) {
    bool dense = i >= 1 && i <= slots && is_dense(ops[i - 1]);
    ts[i] = dense ? ops[i - 1]->ops[0]->type : body->params[i];
    ps[i] = ir_param(w, i, ts[i]);
    args[i] = dense ? to_bag(w, ps[i], body->params[i]) : ps[i];
  }
  Node *r = ir_instantiate(w, body, args, 0);
  int n = r->type->n;
  Node **xs = NEW_ARRAY(w->arena, Node *, n + 1);
  IrType **rt = NEW_ARRAY(w->arena, IrType *, n + 1);
  for (int k = 0; k < n; k++) {
    xs[k] = ir_get(w, r, k);
    if (k < slots && is_dense(ops[k])) xs[k] = as_array(w, xs[k], ps[1 + k]);
    rt[k] = xs[k]->type;
  }
  return ir_graph(w, ts, body->nparams, ir_tuple(w, ir_tuple_type(w, rt, NULL, n), xs), body->name);
}

static Node *dense_loop(World *w, Node *n, Node **ops, Graph **graphs) {
  const LoopInfo *l = n->loop;
  int slots = loop_slots(l), counted = loop_first(l), total = n->nops - counted;
  bool any = false;
  for (int k = 0; k < slots; k++) any |= is_dense(ops[counted + k]);
  if (!any || l->has_cond) return NULL;
  Graph *body = unwrapped_body(w, graphs[0], ops + counted, slots);
  Node **in = NEW_ARRAY(w->arena, Node *, total + 1), **out = NEW_ARRAY(w->arena, Node *, n->type->n);
  for (int k = 0; k < total; k++)
    in[k] = k < slots && is_dense(ops[counted + k]) ? ops[counted + k]->ops[0] : ops[counted + k];
  Node *loop = ir_loop(w, l, ops[0], in, body, NULL, n->site);
  for (int k = 0; k < n->type->n; k++) {
    out[k] = ir_get(w, loop, k);
    if (k < slots && is_dense(ops[counted + k])) out[k] = to_bag(w, out[k], n->type->args[k]);
  }
  return ir_tuple(w, n->type, out);
}

/* ---- Branches: what every arm marks is marked outside ------------------------------------- */
static bool all_dense(Graph **arms, int n, int k) {
  for (int a = 0; a < n; a++) {
    const Node *r = arms[a]->result;
    if (k >= 0) {
      if (r->op != OP_TUPLE) return false;
      r = r->ops[k];
    }
    if (!is_dense(r)) return false;
  }
  return true;
}

static Graph *unmarked_arm(World *w, Graph *arm, const bool *dense) {
  const Node *r = arm->result;
  if (!is_dense(r)) {
    Node **xs = NEW_ARRAY(w->arena, Node *, r->nops + 1);
    IrType **ts = NEW_ARRAY(w->arena, IrType *, r->nops + 1);
    for (int k = 0; k < r->nops; k++) {
      xs[k] = dense[k] ? r->ops[k]->ops[0] : r->ops[k];
      ts[k] = xs[k]->type;
    }
    return ir_graph(w, arm->params, arm->nparams, ir_tuple(w, ir_tuple_type(w, ts, NULL, r->nops), xs), arm->name);
  }
  return ir_graph(w, arm->params, arm->nparams, r->ops[0], arm->name);
}

static Node *dense_switch(World *w, Node *n, Node **ops, Graph **graphs) {
  Node *plain = ir_switch(w, ops[0], graphs, n->ngraphs, ops + 1, n->nops - 1);
  if (plain->op != OP_SWITCH) return NULL;
  IrType *t = plain->type;
  bool whole = t->kind == T_BAG && all_dense(plain->graphs, plain->ngraphs, -1), any = whole;
  bool *dense = NEW_ARRAY(w->arena, bool, t->n + 1);
  for (int k = 0; t->kind == T_TUPLE && k < t->n; k++) any |= dense[k] = all_dense(plain->graphs, plain->ngraphs, k);
  if (!any) return NULL;
  Graph **arms = NEW_ARRAY(w->arena, Graph *, plain->ngraphs);
  for (int a = 0; a < plain->ngraphs; a++) arms[a] = unmarked_arm(w, plain->graphs[a], dense);
  Node *s = ir_switch(w, plain->ops[0], arms, plain->ngraphs, plain->ops + 1, plain->nops - 1);
  if (whole) return to_bag(w, s, t);
  Node **out = NEW_ARRAY(w->arena, Node *, t->n);
  for (int k = 0; k < t->n; k++) out[k] = dense[k] ? to_bag(w, ir_get(w, s, k), t->args[k]) : ir_get(w, s, k);
  return ir_tuple(w, t, out);
}

static Node *dense_node(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)frame;
  Dense *d = user;
  Node *x = NULL;
  if (n->op == OP_ACC_AT && is_dense(ops[0])) x = dense_add(d->w, ops, n->nops);
  if ((n->op == OP_TAKE || n->op == OP_CUPDATE) && is_dense(ops[0])) x = dense_replace(d->w, n, ops);
  if (n->op == OP_LOOP) x = dense_loop(d->w, n, ops, graphs);
  if (n->op == OP_SWITCH) x = dense_switch(d->w, n, ops, graphs);
  d->changed |= x != NULL;
  return x;
}

Graph *opt_dense(World *w, Graph *g, bool *changed) {
  Dense d = {.w = w};
  g = ir_rewrite(w, g, (RewritePass){.user = &d, .node = dense_node});
  *changed = d.changed;
  return g;
}
