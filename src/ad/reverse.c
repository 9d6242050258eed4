/* SPDX-License-Identifier: MIT */
/* Reverse mode of a graph: its combined form. And what both modes know of a graph's nodes.
 *
 *   graph x: a = sin x; y = a * a   →   forward nodes    a = sin x; y = a * a
 *                                       backward nodes   ā = D * a + D * a; x̄' = x̄ + ā * cos x
 *
 * where D is the cotangent of y, and x̄ the accumulator of x. The forward walk visits the nodes in order and makes the
 * forward nodes. The backward walk visits them in reverse order. It keeps the sum of the cotangents that each node has
 * received, and applies the node's rule, which adds to its operands' cotangents: one rule for each node, however often
 * that is used. A node that received none is skipped, for an absent cotangent is zero.
 *
 * The nodes of both walks are read over the same parameters (Combined). So nothing is stored if value and gradient are
 * wanted together. If they are wanted apart, ir_split finds the residuals: forward nodes that backward nodes read. */
#include "ad/ad_internal.h"
#include "facts/changes.h"

/* ---- Bookkeeping -------------------------------------------------------------------- */
static int position(const Diff *r, const Node *x) { return (int)(uintptr_t)map_get(&r->pos, x) - 1; }
Node *ad_fwd(const Diff *r, const Node *x) {
  int at = position(r, x);
  return at < 0 ? (Node *)(uintptr_t)x : r->fwd[at];
}

static Fact fact_of(const Diff *r, const Node *x) {
  int at = position(r, x);
  return at < 0 ? 0 : r->facts[at];
}

bool ad_active(const Diff *r, const Node *x) { return fact_of(r, x) & ACTIVE; }

Node **ad_fwd_all(const Diff *r, Node **xs, int n) {
  Node **out = NEW_ARRAY(r->w->arena, Node *, n + 1);
  for (int i = 0; i < n; i++) out[i] = ad_fwd(r, xs[i]);
  return out;
}

Fact *ad_facts(const Diff *r, Node **xs, int n, Fact which) {
  Fact *out = NEW_ARRAY(r->w->arena, Fact, n + 1);
  for (int i = 0; i < n; i++) out[i] = fact_of(r, xs[i]) & which;
  return out;
}

Node *ad_cot(const Diff *r, const Node *x) {
  Node *c = r->cot[position(r, x)];
  return c ? c : ir_zero(r->w, ad_cotangent(r->w, x->type));
}

/* a + b, where two contributions are trapped: inf and -inf may meet. An accumulator gets their sum, since the order of
 * what is added to that is free: acc + t, u → acc + trap (t + u). */
static Node *sum_of(World *w, Node *a, Node *b) {
  int trap = a->op == OP_CADD && ir_is_trap(a->ops[0]) ? 0 : 1;
  Node *term = a->op == OP_CADD ? a->ops[trap] : a, *acc = a->op == OP_CADD ? a->ops[1 - trap] : NULL;
  if (!ir_is_trap(term) || !ir_is_trap(b)) return ir_op2(w, OP_CADD, a, b);
  Node *ops[] = {ir_float(w, 0), term, b};
  Node *sum = ir_trapped(w, OP_FADD, "<+", ir_op2(w, OP_CADD, term, b), ops, 3, b->site);
  return acc ? ir_op2(w, OP_CADD, acc, sum) : sum;
}

void ad_add(Diff *r, const Node *x, Node *cot) {
  Node **c = &r->cot[position(r, x)];
  if (ad_active(r, x)) *c = *c ? sum_of(r->w, *c, cot) : cot;
}

Node *ad_take(Diff *r, const Node *x) {
  Node *c = ad_cot(r, x);
  r->cot[position(r, x)] = NULL;
  return c;
}

void ad_put(Diff *r, const Node *x, Node *acc) {
  Node **c = &r->cot[position(r, x)];
  *c = *c ? ir_op2(r->w, OP_CADD, acc, *c) : acc;
}

/* Component k of the tuple x if it has an accumulator of its own (start_from), which is in use, and isn't among xs;
 * else NULL. */
static Node *part_with_acc(const Diff *r, const Node *x, int k, Node **xs, int n) {
  Node *part = ir_get(r->w, (Node *)(uintptr_t)x, k);
  if (part->op != OP_GET || position(r, part) < 0 || !r->cot[position(r, part)]) return NULL;
  for (int i = 0; i < n; i++)
    if (xs[i] == part) return NULL;
  return part;
}

static bool has_parts(const Node *x) { return x->op == OP_PARAM && x->type->kind == T_TUPLE; }

Node *ad_region_acc(Diff *r, const Node *x, Node **xs, int n) {
  World *w = r->w;
  IrType *c = ad_cotangent(w, x->type);
  if (ir_is_plain(c)) return ir_zero(w, c);
  Node *acc = ad_take(r, x);
  if (!has_parts(x)) return acc;
  Node **parts = NEW_ARRAY(w->arena, Node *, x->type->n);
  for (int k = 0; k < x->type->n; k++) {
    const Node *part = part_with_acc(r, x, k, xs, n);
    parts[k] = ir_get(w, acc, k);
    if (!part) continue;
    parts[k] = ir_op2(w, OP_CADD, r->cot[position(r, part)], parts[k]);
    r->cot[position(r, part)] = ir_zero(w, parts[k]->type); /* moved, and expected back */
  }
  return ir_tuple(w, c, parts);
}

void ad_region_done(Diff *r, const Node *x, Node **xs, int n, Node *acc) {
  World *w = r->w;
  if (ir_is_plain(acc->type)) {
    ad_add(r, x, acc);
    return;
  }
  Node **rest = NEW_ARRAY(w->arena, Node *, x->type->n + 1);
  for (int k = 0; has_parts(x) && k < x->type->n; k++) {
    const Node *part = part_with_acc(r, x, k, xs, n);
    rest[k] = ir_get(w, acc, k);
    if (!part) continue;
    ad_put(r, part, rest[k]);
    rest[k] = ir_zero(w, rest[k]->type);
  }
  ad_put(r, x, has_parts(x) ? ir_tuple(w, acc->type, rest) : acc);
}

void ad_region_accs(Diff *r, Node **xs, int n, Nodes *out) {
  for (int i = 0; i < n; i++)
    if (ad_active(r, xs[i])) vec_push(r->w->arena, *out, ad_region_acc(r, xs[i], xs, n));
}

void ad_region_all_done(Diff *r, Node **xs, int n, Node *accs) {
  for (int i = 0, k = 0; i < n; i++)
    if (ad_active(r, xs[i])) ad_region_done(r, xs[i], xs, n, ir_get(r->w, accs, k++));
}

Diff *ad_begin(World *w, Graph *g, const Fact *params) {
  Diff *r = NEW(w->arena, Diff);
  Node **nodes;
  int n = ir_order(w->arena, g, &nodes), room = n + g->nparams;
  *r = (Diff){.w = w, .n = n, .nodes = NEW_ARRAY(w->arena, Node *, room)};
  r->fwd = NEW_ARRAY(w->arena, Node *, room);
  r->facts = NEW_ARRAY(w->arena, Fact, room);
  r->cot = NEW_ARRAY(w->arena, Node *, room);
  r->memo = NEW_ARRAY(w->arena, void *, room);
  map_init(&r->pos, w->arena);
  for (int i = 0; i < room; i++) {
    Node *x = i < n ? nodes[i] : ir_param(w, i - n, g->params[i - n]);
    r->nodes[i] = r->fwd[i] = x;
    if (i < n || position(r, x) < 0) map_put(&r->pos, x, (void *)(uintptr_t)(i + 1));
    if (x->op != OP_PARAM) continue;
    r->facts[i] = params[x->attr.i];
    if (!ad_has_slot(w, x->type)) r->facts[i] &= OVERWRITTEN;
  }
  map_init(&r->traps, w->arena);
  for (int i = 0; i < n; i++) {
    const Node *x = nodes[i];
    if (ir_is_trap(x) && !map_get(&r->traps, x->ops[0])) map_put(&r->traps, x->ops[0], nodes[i]);
  }
  return r;
}

bool ad_visit(Diff *r, int at) {
  const Node *n = r->nodes[at];
  if (n->op == OP_STOP || !ad_has_slot(r->w, n->type)) return false;
  for (int i = 0; i < n->nops; i++)
    if (ad_active(r, n->ops[i])) return r->facts[at] |= ACTIVE;
  return false;
}

/* Is it a choice that is to be recorded where its operands are active? */
static bool is_recorded(const Node *n) { return ir_is_trap(n) && *n->attr.text == '?'; }

/* It is recorded, with those of its operands that are floats. */
static Node *recorded(World *w, const Node *n, Node **ops) {
  Node **floats = NEW_ARRAY(w->temp, Node *, n->nops);
  int count = 0;
  for (int i = 0; i < n->nops; i++)
    if (ops[i]->type->kind == T_FLOAT) floats[count++] = ops[i];
  return ir_trap(w, (Op)n->op, ir_recorded_text(w, n->attr.text), floats, count, n->site);
}

Node *ad_rebuild(const Diff *r, Node *n) {
  Node **ops = ad_fwd_all(r, n->ops, n->nops);
  if (is_recorded(n) && ad_active(r, n)) return recorded(r->w, n, ops);
  for (int i = 0; i < n->nops; i++)
    if (ops[i] != n->ops[i]) return ir_rebuild(r->w, n, ops, n->graphs);
  return n;
}

void ad_keep(Diff *r, int at) { r->fwd[at] = ad_rebuild(r, r->nodes[at]); }

const Construct *ad_construct(const Diff *r, const Node *n) {
  const Construct *table = compilation(r->w)->differentiation->constructs;
  switch (ir_shape(n)) {
  case IR_STRAIGHT: return &table[ir_is_attempt(n) ? ATTEMPT : ir_is_fork(n) ? FORK : OPERATION];
  case IR_BRANCH: return &table[BRANCH];
  case IR_LOOP: return &table[LOOP];
  case IR_CALL: return &table[n->op == OP_CHECKPOINT ? CHECKPOINT : CALL];
  }
  return NULL;
}

/* ---- The two walks ------------------------------------------------------------------------------------ */
/* True if n holds an array that is overwritten between two runs of this graph, or that shares memory with one. What a
 * primitive makes is new, and so is what other operations make of accumulators. */
static bool is_overwritten(const Diff *r, const Node *n) {
  const Node *loop = n->op == OP_GET && n->ops[0]->op == OP_LOOP ? n->ops[0] : NULL;
  if (!ir_holds_arrays(r->w, n->type) || n->op == OP_LOOP || n->op == OP_RT) return false;
  if (op_flags[n->op] & OPF_W) return n->op == OP_UPDATE || n->op == OP_ACC_AT || n->op == OP_CUPDATE;
  if (loop)
    return n->attr.i < loop_slots(loop->loop) &&
           fact_of(r, loop->ops[n->attr.i + loop_first(loop->loop)]) & OVERWRITTEN;
  for (int k = 0; k < n->nops; k++)
    if (fact_of(r, n->ops[k]) & OVERWRITTEN && changes_operand(r->w, n, k) & HOLDS) return true;
  return false;
}

static void forward(Diff *r, int at) {
  const Node *n = r->nodes[at];
  bool active = ad_visit(r, at);
  if (is_overwritten(r, n)) r->facts[at] |= OVERWRITTEN;
  if (active) ad_construct(r, n)->forward(r, at);
  else ad_keep(r, at);
}

static void backward(Diff *r, int at) {
  Node *d = r->cot[at];
  if (!d || r->nodes[at]->op == OP_PARAM) return;
  r->cot[at] = NULL;
  if (d->op != OP_ZERO) ad_construct(r, r->nodes[at])->backward(r, at, d);
}

/* Starts the backward walk with accumulator acc of parameter x. If x is a tuple, each component that is read by itself
 * gets its part of acc. */
static void start_from(Diff *r, Node *x, Node *acc) {
  World *w = r->w;
  Node **rest = x->type->kind == T_TUPLE ? NEW_ARRAY(w->arena, Node *, x->type->n + 1) : NULL;
  for (int k = 0; rest && k < x->type->n; k++) rest[k] = ir_get(w, acc, k);
  for (int i = 0; rest && i < r->n; i++) {
    Node *part = r->nodes[i];
    if (part->op != OP_GET || part->ops[0] != x || !(r->facts[i] & ACTIVE)) continue;
    start_from(r, part, rest[part->attr.i]);
    rest[part->attr.i] = ir_zero(w, rest[part->attr.i]->type);
  }
  ad_add(r, x, rest ? ir_tuple(w, acc->type, rest) : acc);
}

/* The types of the combined form's parameters. */
static IrType **declare(World *w, Combined *c, const Fact *params) {
  IrType **types = NEW_ARRAY(w->arena, IrType *, 2 * c->p + 1);
  c->active = NEW_ARRAY(w->arena, bool, c->p + 1);
  types[c->p] = ad_cotangent(w, c->g->result->type);
  for (int i = 0; i < c->p; i++) {
    types[i] = c->g->params[i];
    c->active[i] = (params[i] & ACTIVE) && ad_has_slot(w, types[i]);
    if (c->active[i]) types[c->p + 1 + c->nacc++] = ad_cotangent(w, types[i]);
  }
  return types;
}

Node *ad_unmade(World *w, IrType *t) { return ir_fail(w, FAIL_RULE, t, ir_text(w, ""), 0); }

Graph *ad_unless_ended(World *w, Graph *g) {
  return ir_paths_end(w) ? ir_graph(w, g->params, g->nparams, ad_unmade(w, g->result->type), g->name) : g;
}

Combined *ad_combine(World *w, Graph *g, const Fact *params, bool rerun) {
  const char *name = rerun ? "combined, may run again" : "combined";
  void **known = ir_memo_closures(w, g, name, params, (size_t)g->nparams);
  if (*known) return *known;
  Combined *c = NEW(w->arena, Combined);
  c->g = g = ad_unless_ended(w, g);
  c->p = g->nparams;
  IrType **types = declare(w, c, params);
  Diff *r = ad_begin(w, g, params);
  r->rerun = rerun;
  for (int i = 0; i < r->n; i++)
    if (r->nodes[i]->op != OP_PARAM) forward(r, i);
  c->y = ad_fwd(r, g->result);
  Nodes inputs = {0}, accs = {0};
  for (int i = 0; i < c->p; i++)
    if (c->active[i]) vec_push(w->arena, inputs, ir_param(w, i, g->params[i]));
  for (int k = 0, at = c->p + 1; k < c->nacc; k++, at++) start_from(r, inputs.data[k], ir_param(w, at, types[at]));
  ad_add(r, g->result, ir_param(w, c->p, types[c->p]));
  const int *order = ad_backward_order(r, g);
  for (int i = r->n - 1; i >= 0; i--) backward(r, order[i]);
  for (int k = 0; k < c->nacc; k++) vec_push(w->arena, accs, ad_take(r, inputs.data[k]));
  c->back = ir_graph(w, types, c->p + 1 + c->nacc, ir_record(w, accs.data, accs.len), g->name);
  return *known = c;
}

Combined *ad_stages(Diff *r, Graph *g, const Fact *facts, Split *out) {
  Known *known = NEW_ARRAY(r->w->arena, Known, g->nparams + 1);
  for (int i = 0; i < g->nparams; i++) known[i] = facts[i] & OVERWRITTEN ? KNOWN_SHAPE : KNOWN_VALUE;
  Combined *c = ad_combine(r->w, g, facts, r->rerun);
  *out = ir_split(r->w, c->back, c->p, known);
  return c;
}
