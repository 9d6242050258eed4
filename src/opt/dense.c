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

/* a with what is in b added, element by element: b's first dimension is a's dimension `first`. is: the indices before
 * dimension `dim` of a. */
static Node *added_to(World *w, Node *a, Node *b, Node **is, int first, int dim) {
  LoopBuilder *loop = loop_open(w, false);
  int rank = ir_rank(a->type);
  Node **in = NEW_ARRAY(w->arena, Node *, rank);
  Node *to = loop_add(loop, LOOP_ACC, a), *from = loop_add(loop, LOOP_CAPTURED, b);
  for (int k = 0; k < dim; k++) in[k] = loop_add(loop, LOOP_CAPTURED, is[k]);
  in[dim] = loop_index(loop);
  Node *sum = dim + 1 < rank ? added_to(w, to, from, in, first, dim + 1) : NULL;
  if (!sum) {
    Node *x = ir_op2(w, OP_CADD, ir_index(w, to, in, rank), ir_index(w, from, in + first, rank - first));
    sum = ir_update(w, to, in, rank, x);
  }
  loop_next(loop, to, sum);
  loop_close(loop, ir_len(w, b, dim - first), NULL, 0);
  return loop_result(loop, to);
}

/* to_bag a + to_bag b */
static Node *dense_sum(World *w, Node **ops) {
  Node *a = ops[0]->ops[0], *b = ops[1]->ops[0];
  return ir_is_plain(ir_base(a->type)) ? to_bag(w, added_to(w, a, b, NULL, 0, 0), ops[0]->type) : NULL;
}

/* bag_reshape (to_bag a) = to_bag (reshape a) */
static Node *dense_reshaped(World *w, const Node *n, Node **ops) {
  if (!ir_is_plain(ir_base(n->type))) return NULL;
  return to_bag(w, ir_reshape(w, opt_array_of(w, n->type), ops[0]->ops[0], ops + 1 + n->attr.i, 0), n->type);
}

/* acc_at (to_bag a) dims is v = to_bag (a with a[is] + v), where v is a whole element of numbers, or a row to_bag r. */
static Node *dense_add(World *w, Node **ops, int n) {
  Node *a = ops[0]->ops[0], *v = ops[n - 1];
  int rank = ir_rank(a->type), given = n - 2 - rank;
  Node **is = ops + 1 + rank;
  if (given < rank && is_dense(v) && ir_is_plain(ir_base(a->type)))
    return to_bag(w, added_to(w, a, v->ops[0], is, given, given), ops[0]->type);
  if (given != rank || !ir_is_plain(v->type)) return NULL;
  Node *sum = ir_op2(w, OP_CADD, ir_index(w, a, is, rank), v);
  return to_bag(w, ir_update(w, a, is, rank, sum), ops[0]->type);
}

/* take (to_bag a) dims is, where that is a row: a copy of it, and zeros in its place. */
static Node *dense_row(World *w, Node **ops, int n) {
  Node *a = ops[0]->ops[0];
  int rank = ir_rank(a->type), given = n - 1 - rank;
  if (!ir_is_plain(ir_base(a->type))) return NULL;
  Node **is = ops + 1 + rank, *row = ir_index(w, a, is, given);
  Node *rest = ir_update(w, a, is, given, ir_zeros(w, row->type, ir_dims(w, row), 0));
  return ir_pair(w, to_bag(w, rest, ops[0]->type), ir_to_bag(w, ir_copy_rows(w, row)));
}

/* take (to_bag a) dims is, and cupdate (to_bag a) dims is v, of an element of numbers. */
static Node *dense_replace(World *w, const Node *n, Node **ops) {
  bool take = n->op == OP_TAKE;
  Node *a = ops[0]->ops[0];
  int rank = ir_rank(a->type), given = n->nops - 1 - rank - !take;
  Node **is = ops + 1 + rank;
  if (take && given < rank) return dense_row(w, ops, n->nops);
  Node *old = take ? ir_index(w, a, is, given) : ops[n->nops - 1];
  if (given != rank || !ir_is_plain(old->type)) return NULL;
  Node *b = to_bag(w, ir_update(w, a, is, rank, take ? ir_zero(w, old->type) : old), ops[0]->type);
  return take ? ir_pair(w, b, old) : b;
}

/* ---- Loops: dense state is carried as arrays ------------------------------------------ */
static Node *root_array(World *w, Node *bag, int depth);

/* The capture that result k (-1: the whole) of all arms of s comes from by additions; -1 if there is none. */
static int arms_root(World *w, const Node *s, int k, int depth) {
  int which = -1;
  for (int i = 0; i < s->ngraphs; i++) {
    Node *x = s->graphs[i]->result;
    const Node *root = root_array(w, k >= 0 ? ir_get(w, x, k) : x, depth + 1);
    if (!root || root->op != OP_PARAM || (i && root->attr.i != which)) return -1;
    which = (int)root->attr.i;
  }
  return which;
}

/* The array that a bag was, or the parameter, before something was added to it: their dimensions are the same. NULL:
 * it is none of this. */
static Node *root_array(World *w, Node *bag, int depth) {
  if (depth > LIMIT_BAG_CHAIN && limit_reached(w->arena, AT_BAG_CHAIN)) return NULL;
  Node *whole = bag->op == OP_GET ? bag->ops[0] : bag;
  int k = bag->op == OP_GET ? (int)bag->attr.i : -1;
  switch (whole->op) {
  case OP_PARAM: return k < 0 ? bag : NULL;
  case OP_TO_BAG: return bag->ops[0];
  case OP_ACC_AT:
  case OP_CUPDATE: return root_array(w, bag->ops[0], depth + 1);
  case OP_TAKE: return k == 0 ? root_array(w, whole->ops[0], depth + 1) : NULL;
  case OP_CADD: { /* a parameter rather than what was made here */
    Node *first = k < 0 ? root_array(w, bag->ops[0], depth + 1) : NULL;
    if (k >= 0 || (first && first->op == OP_PARAM)) return first;
    Node *second = root_array(w, bag->ops[1], depth + 1);
    return second ? second : first;
  }
  case OP_SWITCH: {
    int cap = arms_root(w, whole, k, depth);
    return cap >= 0 ? root_array(w, whole->ops[1 + cap], depth + 1) : NULL;
  }
  case OP_LOOP: {
    if (k >= loop_slots(whole->loop)) return NULL;
    const Node *root = root_array(w, ir_get(w, whole->graphs[0]->result, k), depth + 1);
    if (!root || root->op != OP_PARAM || root->attr.i != 1 + k) return NULL;
    return root_array(w, whole->ops[k + loop_first(whole->loop)], depth + 1);
  }
  default: return NULL;
  }
}

Node *opt_bag_root(World *w, Node *bag) { return root_array(w, bag, 0); }
int opt_branch_root(World *w, const Node *branch, int k) { return arms_root(w, branch, k, 0); }

/* What a bag is as an array: itself if it is dense; filled if it was before something was added; else NULL. */
static Node *as_array(World *w, Node *bag) {
  if (is_dense(bag)) return bag->ops[0];
  Node *root = root_array(w, bag, 0);
  return root && root->type->kind == T_ARRAY ? ir_fill(w, bag, root) : NULL;
}

/* The loop whose slots in `dense` are arrays; NULL, and fewer of them, if some are no arrays afterwards. */
static LoopBuilder *unwrapped_loop(World *w, const Node *n, Node **ops, Graph *body, bool *dense) {
  const LoopInfo *l = n->loop;
  Node **args = NEW_ARRAY(w->temp, Node *, body->nparams), **inner = NEW_ARRAY(w->temp, Node *, body->nparams);
  LoopBuilder *b = loop_open(w, l->down);
  args[0] = loop_index(b);
  for (int k = 0; k < loop_inputs(l); k++) {
    bool array = k < loop_slots(l) && dense[k];
    args[1 + k] = inner[k] = loop_add(b, loop_part(l, k), array ? ops[1 + k]->ops[0] : ops[1 + k]);
    if (array) args[1 + k] = to_bag(w, inner[k], body->params[1 + k]);
  }
  Node *r = ir_instantiate(w, body, args, 0);
  bool all = true;
  loop_yield(b, r);
  for (int k = 0; k < loop_slots(l); k++) {
    Node *array = dense[k] ? as_array(w, ir_get(w, r, k)) : NULL;
    if (array) loop_next(b, inner[k], array);
    all &= !dense[k] || array;
    dense[k] = array != NULL;
  }
  if (!all) return NULL;
  loop_close(b, ops[0], NULL, n->site);
  return b;
}

static Node *dense_loop(World *w, Node *n, Node **ops, Graph **graphs) {
  int slots = loop_slots(n->loop);
  bool any = !n->loop->has_cond, *dense = NEW_ARRAY(w->temp, bool, slots + 1);
  LoopBuilder *b = NULL;
  for (int k = 0; any && k < slots; k++) dense[k] = is_dense(ops[1 + k]);
  while (any && !b) {
    any = false;
    for (int k = 0; k < slots; k++) any |= dense[k];
    if (any) b = unwrapped_loop(w, n, ops, graphs[0], dense);
  }
  if (!b) return NULL;
  Node **out = NEW_ARRAY(w->temp, Node *, n->type->n);
  for (int k = 0; k < n->type->n; k++) {
    out[k] = ir_get(w, loop_value(b), k);
    if (k < slots && dense[k]) out[k] = to_bag(w, out[k], n->type->args[k]);
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

static Node *unmarked(World *w, const Node *r, const bool *dense) {
  if (is_dense(r)) return r->ops[0];
  Node **xs = NEW_ARRAY(w->temp, Node *, r->nops + 1);
  for (int k = 0; k < r->nops; k++) xs[k] = dense[k] ? r->ops[k]->ops[0] : r->ops[k];
  return ir_record(w, xs, r->nops);
}

static Node *dense_switch(World *w, Node *n, Node **ops, Graph **graphs) {
  Node *plain = ir_rebuild(w, n, ops, graphs);
  if (plain->op != OP_SWITCH) return NULL;
  IrType *t = plain->type;
  bool whole = t->kind == T_BAG && all_dense(plain->graphs, plain->ngraphs, -1), any = whole;
  bool *dense = NEW_ARRAY(w->arena, bool, t->n + 1);
  for (int k = 0; t->kind == T_TUPLE && k < t->n; k++) any |= dense[k] = all_dense(plain->graphs, plain->ngraphs, k);
  if (!any) return NULL;
  Node **results = NEW_ARRAY(w->temp, Node *, plain->ngraphs);
  for (int a = 0; a < plain->ngraphs; a++) results[a] = unmarked(w, plain->graphs[a]->result, dense);
  Node *s = ir_switch_yielding(w, plain, plain->ops, plain->graphs, results);
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
  if (n->op == OP_BAG_RESHAPE && is_dense(ops[0])) x = dense_reshaped(d->w, n, ops);
  if (n->op == OP_CADD && is_dense(ops[0]) && is_dense(ops[1])) x = dense_sum(d->w, ops);
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
