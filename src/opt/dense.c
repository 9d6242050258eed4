/* SPDX-License-Identifier: MIT */
/* Accumulators that are known to be dense become arrays, so that adding into one is a load, an addition and a store.
 *
 * Runs last: while derivatives may still be taken, an accumulator has to be recognisable as one. TO_BAG marks what
 * comes from an array. It is pushed through additions (here), into branches (captures.c does that with every capture)
 * and out of them, through the state of loops, and through calls. */
#include "opt/opt.h"

typedef struct Dense {
  World *w;
  bool calls, changed; /* calls: functions may get arrays */
} Dense;

static bool is_dense(const Node *n) { return n->op == OP_TO_BAG; }

static bool is_zeros(const Node *bag) { return is_dense(bag) && bag->ops[0]->op == OP_ZEROS; }

static Node *to_bag(World *w, Node *array, IrType *bag) { return ir_make(w, OP_TO_BAG, bag, &array, 1); }

/* Where an array b is added to an array a: at indices `is` of a, `given` of them, and from `offset` on in the dimension
 * after these (NULL: from its start). */
typedef struct Place {
  Node **is, *offset;
  int given;
} Place;

/* a with what is in b added there, element by element. js: indices of b, `dim` of them, for which it is done. */
static Node *added_to(World *w, Node *a, Node *b, Place at, Node **js, int dim) {
  LoopBuilder *loop = loop_open(w, false);
  int rank = ir_rank(a->type), n = at.given + dim;
  Node **is = NEW_ARRAY(w->arena, Node *, rank), **in = NEW_ARRAY(w->arena, Node *, rank);
  Node *to = loop_add(loop, LOOP_ACC, a), *from = loop_add(loop, LOOP_CAPTURED, b);
  for (int k = 0; k < n; k++) is[k] = loop_add(loop, LOOP_CAPTURED, at.is[k]);
  for (int k = 0; k < dim; k++) in[k] = loop_add(loop, LOOP_CAPTURED, js[k]);
  is[n] = in[dim] = loop_index(loop);
  if (at.offset) is[n] = ir_op2(w, OP_IADD, loop_add(loop, LOOP_CAPTURED, at.offset), is[n]);
  Node *sum = n + 1 < rank ? added_to(w, to, from, (Place){is, NULL, at.given}, in, dim + 1) : NULL;
  if (!sum) {
    Node *x = ir_op2(w, OP_CADD, ir_index(w, to, is, rank), ir_index(w, from, in, rank - at.given));
    sum = ir_update(w, to, is, rank, x);
  }
  loop_next(loop, to, sum);
  loop_close(loop, ir_len(w, b, dim), NULL, 0);
  return loop_result(loop, to);
}

Node *opt_array_sum(World *w, Node *a, Node *b) { return added_to(w, a, b, (Place){0}, NULL, 0); }

/* The array that bag x is part of, shift (to_bag b) dims offset n, or is, to_bag b; NULL: neither. */
static Node *array_in(const Node *x, Node **offset) {
  const Node *whole = x->op == OP_SHIFT ? x->ops[0] : x;
  *offset = x->op == OP_SHIFT ? x->ops[x->nops - 2] : NULL;
  return is_dense(whole) && ir_is_plain(ir_base(whole->ops[0]->type)) ? whole->ops[0] : NULL;
}

/* to_bag a + b for an array b or part of one; to_bag (zeros …) + to_bag b = to_bag b */
static Node *dense_sum(World *w, Node **ops) {
  bool both = is_dense(ops[0]) && is_dense(ops[1]);
  if (both && (is_zeros(ops[0]) || is_zeros(ops[1]))) return ops[is_zeros(ops[0])];
  Node *a = ops[!is_dense(ops[0])], *offset, *b = array_in(ops[is_dense(ops[0])], &offset);
  return is_dense(a) && b ? to_bag(w, added_to(w, a->ops[0], b, (Place){.offset = offset}, NULL, 0), a->type) : NULL;
}

/* bag_reshape (to_bag a) = to_bag (reshape a) */
static Node *dense_reshaped(World *w, const Node *n, Node **ops) {
  if (!ir_is_plain(ir_base(n->type))) return NULL;
  return to_bag(w, ir_reshape(w, ir_dense_type(w, n->type), ops[0]->ops[0], ops + 1 + n->attr.i, 0), n->type);
}

/* Is x an accumulator made of an array with arrays for all bags in its entries? */
static bool is_structured(World *w, const Node *x) {
  return is_dense(x) && !ir_is_plain(ir_base(x->type)) && x->ops[0]->type == ir_dense_type(w, x->type);
}

/* v added to accumulator b, which is an array: v first, where that only has entries of its own. */
static Node *added(World *w, Node *b, Node *v) {
  if (v->op == OP_ZERO) return b;
  return v->op == OP_ACC_AT ? edit_operand(w, v, 0, added(w, b, v->ops[0])) : ir_op2(w, OP_CADD, b, v);
}

/* Element e of an array, with arrays for bags, and v, an accumulator, added or put in its place. */
static Node *entry_with(World *w, Node *e, Node *v, bool add) {
  if (v->type->kind == T_TUPLE) {
    Node **xs = NEW_ARRAY(w->arena, Node *, v->type->n);
    for (int k = 0; k < v->type->n; k++) xs[k] = entry_with(w, ir_get(w, e, k), ir_get(w, v, k), add);
    return ir_tuple(w, e->type, xs);
  }
  if (v->type->kind == T_BAG) return ir_fill_like(w, add ? added(w, to_bag(w, e, v->type), v) : v, e);
  return add ? ir_op2(w, OP_CADD, e, v) : v;
}

static Node *structured_add(World *w, Node **ops, int n, bool add) {
  Node *a = ops[0]->ops[0];
  int rank = ir_rank(a->type);
  if (n - 2 - rank != rank) return NULL;
  Node **is = ops + 1 + rank, *e = entry_with(w, ir_index(w, a, is, rank), ops[n - 1], add);
  return to_bag(w, ir_update(w, a, is, rank, e), ops[0]->type);
}

/* acc_at (to_bag a) dims is v = to_bag (a with a[is] + v), where v is a whole element of numbers, a row to_bag r, or
 * part of one, shift (to_bag r) dims offset n. */
static Node *dense_add(World *w, Node **ops, int n) {
  if (is_structured(w, ops[0])) return structured_add(w, ops, n, true);
  Node *a = ops[0]->ops[0], *v = ops[n - 1];
  int rank = ir_rank(a->type), given = n - 2 - rank;
  Node **is = ops + 1 + rank, *offset, *row = given < rank ? array_in(v, &offset) : NULL;
  if (row) return to_bag(w, added_to(w, a, row, (Place){is, offset, given}, NULL, 0), ops[0]->type);
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

/* take (to_bag a) dims is, of an element of other things than numbers. */
static Node *structured_take(World *w, Node **ops, const Node *n) {
  int rank = ir_rank(ops[0]->type);
  if (n->nops - 1 - rank != rank) return NULL;
  Node **put = NEW_ARRAY(w->arena, Node *, n->nops + 1);
  for (int k = 0; k < n->nops; k++) put[k] = ops[k];
  put[n->nops] = ir_zero(w, n->type->args[1]);
  Node *entry = ir_make(w, OP_BAG_GET, n->type->args[1], ops, n->nops);
  return ir_pair(w, structured_add(w, put, n->nops + 1, false), entry);
}

/* take (to_bag a) dims is, and cupdate (to_bag a) dims is v, of an element of numbers. */
static Node *dense_replace(World *w, const Node *n, Node **ops) {
  bool take = n->op == OP_TAKE;
  if (is_structured(w, ops[0])) {
    if (opt_holds_bag(ir_base(ops[0]->type))) return NULL; /* its sizes may be others than those of what was there */
    return take ? structured_take(w, ops, n) : structured_add(w, ops, n->nops, false);
  }
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
/* What a bag is as an array: itself if it is dense; filled if it was before something was added to it; else NULL. */
static Node *as_array(World *w, Node *bag) {
  if (is_dense(bag)) return bag->ops[0];
  Node *root = opt_provenance(w, bag);
  if (!root || root->type->kind != T_ARRAY) return NULL;
  Node *array = ir_fill(w, bag, root);
  if (array->type == root->type) return array;
  return opt_bag_keeps_shapes(w, bag) ? ir_fill_like(w, bag, root) : NULL;
}

/* Makes the body of a loop whose slots in `dense` are arrays; false, and fewer of them, if some are no arrays
 * afterwards. */
static bool stay_arrays(LoopEdit *e, bool *dense) {
  int slots = loop_slots(e->l);
  bool all = true;
  for (int k = 0; k < slots; k++)
    if (dense[k]) e->ops[k] = e->ops[k]->ops[0];
  edit_inputs(e);
  for (int k = 0; k < slots; k++)
    if (dense[k]) e->args[1 + k] = to_bag(e->w, e->in[k], e->loop->type->args[k]);
  edit_body(e, NULL, NULL, 0);
  for (int k = 0; k < slots; k++) {
    Node *array = dense[k] ? as_array(e->w, e->next[k]) : NULL;
    bool stays = array && array->type == e->in[k]->type;
    if (stays) e->next[k] = array;
    all &= stays || !dense[k];
    dense[k] = stays;
  }
  return all;
}

static Node *dense_loop(World *w, Node *n, Node **ops, Graph **graphs) {
  int slots = loop_slots(n->loop);
  bool any = !n->loop->has_cond, *dense = NEW_ARRAY(w->temp, bool, slots + 1);
  LoopEdit *e = NULL;
  for (int k = 0; any && k < slots; k++) dense[k] = is_dense(ops[1 + k]);
  while (any && !e) {
    any = false;
    for (int k = 0; k < slots; k++) any |= dense[k];
    if (any) e = edit_loop(w, n, ops, graphs);
    if (any && !stay_arrays(e, dense)) e = NULL;
  }
  if (!e) return NULL;
  edit_close(e);
  for (int k = 0; k < slots; k++)
    if (dense[k]) e->results[k] = to_bag(w, e->results[k], n->type->args[k]);
  return edit_value(e);
}

/* ---- Branches: what every arm marks is marked outside ------------------------------------- */
/* Takes the marks off what is marked in all of n values of type t, parts of tuples one by one. Were there any? */
static bool unmark(World *w, Node **xs, int n, IrType *t) {
  bool all = true, any = false;
  for (int a = 0; a < n; a++) all = all && is_dense(xs[a]) && xs[a]->ops[0]->type == xs[0]->ops[0]->type;
  for (int a = 0; all && a < n; a++) xs[a] = xs[a]->ops[0];
  if (all || t->kind != T_TUPLE) return all;
  Node ***parts = NEW_ARRAY(w->temp, Node **, n), **of_all = NEW_ARRAY(w->temp, Node *, n);
  for (int a = 0; a < n; a++) parts[a] = NEW_ARRAY(w->temp, Node *, t->n);
  for (int k = 0; k < t->n; k++) {
    for (int a = 0; a < n; a++) of_all[a] = ir_get(w, xs[a], k);
    any |= unmark(w, of_all, n, t->args[k]);
    for (int a = 0; a < n; a++) parts[a][k] = of_all[a];
  }
  for (int a = 0; any && a < n; a++) xs[a] = ir_record(w, parts[a], t->n);
  return any;
}

/* x, which is of type t but for arrays in the places of bags, with marks on these. */
static Node *mark(World *w, Node *x, IrType *t) {
  if (t->kind != T_TUPLE) return t->kind == T_BAG && x->type->kind == T_ARRAY ? to_bag(w, x, t) : x;
  Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
  for (int k = 0; k < t->n; k++) xs[k] = mark(w, ir_get(w, x, k), t->args[k]);
  return ir_tuple(w, t, xs);
}

static Node *dense_switch(World *w, Node *n, Node **ops, Graph **graphs) {
  Node *plain = ir_rebuild(w, n, ops, graphs);
  if (plain->op != OP_SWITCH) return NULL;
  Node **results = NEW_ARRAY(w->temp, Node *, plain->ngraphs);
  for (int a = 0; a < plain->ngraphs; a++) results[a] = plain->graphs[a]->result;
  if (!unmark(w, results, plain->ngraphs, plain->type)) return NULL;
  return mark(w, ir_switch_yielding(w, plain, plain->ops, plain->graphs, results), plain->type);
}

/* ---- Calls: functions that get arrays, and yield what these become --------------------------------------------- */
/* How an accumulator is handed over: as it is; as an array; or, where it is zeros in all calls, not at all but for its
 * dimensions: the function makes it, or has something to begin with that is better than zeros. */
enum { AS_BAG, AS_ARRAY, AS_ZEROS };

/* Does a function that calls itself, and by itself alone, hand over zeros as accumulator k each time? */
static bool begins_anew(World *w, const Graph *g, const Func *f, int k, int *calls) {
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  for (int i = 0; i < n; i++) {
    bool call = nodes[i]->op == OP_CALL && nodes[i]->attr.func == f;
    if (call && !is_zeros(nodes[i]->ops[k])) return false;
    *calls += call;
    for (int a = 0; a < nodes[i]->ngraphs; a++)
      if (!begins_anew(w, nodes[i]->graphs[a], f, k, calls)) return false;
  }
  return true;
}

static bool may_be_zeros(World *w, const Func *f, int k) {
  int calls = 0;
  return begins_anew(w, f->graph, f, k, &calls) && f->recursive == (calls > 0);
}

/* What stands for parameter k of f, handed over so. */
static Node *param_so(FuncEdit *e, int k, int how) {
  World *w = e->w;
  IrType *t = how == AS_BAG ? e->f->params[k] : ir_dense_type(w, e->f->params[k]);
  if (how == AS_BAG) return edit_param(e, t);
  if (how == AS_ARRAY) return to_bag(w, edit_param(e, t), e->f->params[k]);
  Node **dims = NEW_ARRAY(w->arena, Node *, ir_rank(t));
  for (int i = 0; i < ir_rank(t); i++) dims[i] = edit_param(e, ir_type(w, T_INT));
  return to_bag(w, ir_zeros(w, t, dims, 0), e->f->params[k]);
}

/* Result k of f, which is x when f's parameters are args: an array if it is one then, or came from zeros. */
static Node *result_as_array(World *w, const Func *f, int k, Node *x, const uint8_t *how, Node **args) {
  if (x->type->kind != T_BAG) return x;
  int root = opt_call_provenance(w, f, k);
  Node *array = root >= 0 && how[root] == AS_ZEROS ? ir_fill(w, x, args[root]->ops[0]) : as_array(w, x);
  return array ? array : x;
}

/* Function f with parameters handed over as `how` says, and with arrays for the results that are arrays then. */
static Func *with_arrays(World *w, const Func *f, const uint8_t *how) {
  void **known = ir_memo(w, f, "with arrays", how, (size_t)f->nparams);
  if (*known) return *known;
  void **count = ir_memo(w, f, "how often with arrays", NULL, 0);
  if ((uintptr_t)*count >= LIMIT_BAG_FUNCTIONS && limit_reached(w->arena, AT_BAG_FUNCTIONS)) return NULL;
  *count = (char *)*count + 1;
  FuncEdit e = edit_func(w, f);
  for (int k = 0; k < f->nparams; k++) e.args[k] = param_so(&e, k, how[k]);
  Node *result = edit_func_result(&e), **xs = NEW_ARRAY(w->temp, Node *, f->result->n + 1);
  for (int k = 0; k < f->result->n; k++) xs[k] = result_as_array(w, f, k, ir_get(w, result, k), how, e.args);
  return *known = edit_func_close(&e, ir_record(w, xs, f->result->n));
}

/* Adds to args what is handed over for operand x, parameter k of f. How? */
static int hand_over(World *w, const Func *f, int k, Node *x, Nodes *args) {
  bool bag = x->type->kind == T_BAG && ir_is_plain(ir_base(x->type));
  Node *array = bag ? as_array(w, x) : NULL;
  if (array && array->op == OP_ZEROS && f->graph && may_be_zeros(w, f, k)) {
    for (int i = 0; i < array->nops; i++) vec_push(w->temp, *args, array->ops[i]);
    return AS_ZEROS;
  }
  vec_push(w->temp, *args, array ? array : x);
  return array ? AS_ARRAY : AS_BAG;
}

/* Of f's calls of itself within, too, an accumulator is an array if it was one: else each round of passes would find
 * the call one level deeper. */
static Node *dense_call(World *w, Rewriter *r, const Node *n, Node **ops) {
  const Func *f = n->attr.func;
  bool any = false;
  uint8_t *how = NEW_ARRAY(w->temp, uint8_t, n->nops + 1);
  Nodes args = {0};
  for (int k = 0; k < n->nops; k++) any |= (how[k] = (uint8_t)hand_over(w, f, k, ops[k], &args)) != AS_BAG;
  if (!any || !f->graph || f->result->kind != T_TUPLE) return NULL;
  Func *out = with_arrays(w, f, how);
  return out ? mark(w, ir_call(w, rewrite_func(r, out), args.data, n->site), f->result) : NULL;
}

static Node *dense_node(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  Dense *d = user;
  Node *x = NULL;
  if (n->op == OP_ACC_AT && is_dense(ops[0])) x = dense_add(d->w, ops, n->nops);
  if ((n->op == OP_TAKE || n->op == OP_CUPDATE) && is_dense(ops[0])) x = dense_replace(d->w, n, ops);
  if (n->op == OP_BAG_RESHAPE && is_dense(ops[0])) x = dense_reshaped(d->w, n, ops);
  if (n->op == OP_CADD && n->type->kind == T_BAG) x = dense_sum(d->w, ops);
  if (n->op == OP_LOOP) x = dense_loop(d->w, n, ops, graphs);
  if (n->op == OP_SWITCH) x = dense_switch(d->w, n, ops, graphs);
  if (n->op == OP_CALL && d->calls) x = dense_call(d->w, r, n, ops);
  d->changed |= x != NULL;
  return x;
}

Graph *opt_dense(World *w, Graph *g, int round, bool *changed) {
  Dense d = {.w = w, .calls = round < LIMIT_BAG_ROUNDS};
  g = ir_rewrite(w, g, (RewritePass){.user = &d, .node = dense_node});
  *changed = d.changed;
  return g;
}
