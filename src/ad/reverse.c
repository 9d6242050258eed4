/* SPDX-License-Identifier: MIT */
/* Reverse mode: the combined form of a graph; and the bookkeeping of both modes.
 *
 * One walk over the nodes of the graph makes the forward nodes; one walk back, from the result, keeps for each node the
 * cotangent it has received so far and, when the node's turn comes, hands on to its operands what they get: one rule per
 * node, however often it is used. A node without cotangent is skipped: zero is the absence of one. What the two walks
 * make stands in one space of parameters (ad_internal.h), so when both are wanted at once nothing has to be stored, and
 * when they are wanted apart ad_split reads off what the backward pass needs. */
#include "ad/ad_internal.h"

/* ---- Bookkeeping -------------------------------------------------------------------- */
static int position(const Diff *r, const Node *x) { return (int)(uintptr_t)map_get(&r->pos, x) - 1; }
Node *ad_fwd(const Diff *r, const Node *x) { return r->fwd[position(r, x)]; }
bool ad_active(const Diff *r, const Node *x) { return r->act[position(r, x)]; }
bool ad_unstable(const Diff *r, const Node *x) { return r->unstable[position(r, x)]; }

Node **ad_fwd_all(const Diff *r, Node **xs, int n) {
  Node **out = NEW_ARRAY(r->w->arena, Node *, n + 1);
  for (int i = 0; i < n; i++) out[i] = ad_fwd(r, xs[i]);
  return out;
}

bool *ad_active_all(const Diff *r, Node **xs, int n) {
  bool *out = NEW_ARRAY(r->w->arena, bool, n + 1);
  for (int i = 0; i < n; i++) out[i] = ad_active(r, xs[i]);
  return out;
}

Node *ad_cot(const Diff *r, const Node *x) {
  Node *c = r->cot[position(r, x)];
  return c ? c : ir_zero(r->w, ad_cotangent(r->w, x->type));
}

void ad_add(Diff *r, const Node *x, Node *cot) {
  Node **c = &r->cot[position(r, x)];
  if (ad_active(r, x)) *c = *c ? ir_op2(r->w, OP_CADD, *c, cot) : cot;
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

/* Floats only: adding costs nothing. */
static bool is_plain(const IrType *c) {
  for (int i = 0; i < c->n && c->kind == T_TUPLE; i++)
    if (!is_plain(c->args[i])) return false;
  return c->kind == T_TUPLE || c->kind == T_FLOAT || c->kind == T_UNIT;
}

Node *ad_region_acc(Diff *r, const Node *x) {
  IrType *c = ad_cotangent(r->w, x->type);
  return is_plain(c) ? ir_zero(r->w, c) : ad_take(r, x);
}

void ad_region_done(Diff *r, const Node *x, Node *acc) {
  if (is_plain(acc->type)) ad_add(r, x, acc);
  else ad_put(r, x, acc);
}

void ad_region_accs(Diff *r, Node **xs, int n, Nodes *out) {
  for (int i = 0; i < n; i++)
    if (ad_active(r, xs[i])) vec_push(r->w->arena, *out, ad_region_acc(r, xs[i]));
}

void ad_region_all_done(Diff *r, Node **xs, int n, Node *accs) {
  for (int i = 0, k = 0; i < n; i++)
    if (ad_active(r, xs[i])) ad_region_done(r, xs[i], ir_get(r->w, accs, k++));
}

typedef struct Entry {
  Derived what;
  int closures;        /* how many unknown calls could mean then */
  bool *active, *unstable;
  void *it;
  struct Entry *next;
} Entry;

void **ad_derived(World *w, void **owner, Derived what, int n, const bool *active, const bool *unstable) {
  for (Entry *e = *owner; e; e = e->next) {
    bool same = e->what == what && e->closures == w->nclosures;
    for (int i = 0; i < n && same; i++)
      same = e->active[i] == active[i] && e->unstable[i] == (unstable && unstable[i]);
    if (same) return &e->it;
  }
  Entry *e = NEW(w->arena, Entry);
  *e = (Entry){what, w->nclosures, NEW_ARRAY(w->arena, bool, n + 1), NEW_ARRAY(w->arena, bool, n + 1), NULL, *owner};
  for (int i = 0; i < n; i++) {
    e->active[i] = active[i];
    e->unstable[i] = unstable && unstable[i];
  }
  *owner = e;
  return &e->it;
}

Diff *ad_begin(World *w, Graph *g, const bool *active) {
  Diff *r = NEW(w->arena, Diff);
  Node **nodes;
  int n = ir_order(w->arena, g, &nodes), room = n + g->nparams;
  *r = (Diff){.w = w, .n = n, .nodes = NEW_ARRAY(w->arena, Node *, room)};
  r->fwd = NEW_ARRAY(w->arena, Node *, room);
  r->act = NEW_ARRAY(w->arena, bool, room);
  r->cot = NEW_ARRAY(w->arena, Node *, room);
  r->memo = NEW_ARRAY(w->arena, void *, room);
  r->unstable = NEW_ARRAY(w->arena, bool, room);
  map_init(&r->pos, w->arena);
  for (int i = 0; i < room; i++) {
    Node *x = i < n ? nodes[i] : ir_param(w, i - n, g->params[i - n]);
    r->nodes[i] = r->fwd[i] = x;
    if (i < n || position(r, x) < 0) map_put(&r->pos, x, (void *)(uintptr_t)(i + 1));
    if (x->op == OP_PARAM) r->act[i] = active[x->attr.i] && ad_has_slot(w, x->type);
  }
  return r;
}

bool ad_visit(Diff *r, int at) {
  const Node *n = r->nodes[at];
  for (int i = 0; i < n->nops; i++) r->act[at] |= ad_active(r, n->ops[i]);
  if (n->op == OP_STOP || !ad_has_slot(r->w, n->type)) r->act[at] = false;
  return r->act[at];
}

Node *ad_rebuild(const Diff *r, Node *n) {
  Node **ops = ad_fwd_all(r, n->ops, n->nops);
  for (int i = 0; i < n->nops; i++)
    if (ops[i] != n->ops[i]) return ir_rebuild(r->w, n, ops, n->graphs);
  return n;
}

/* ---- The two walks ------------------------------------------------------------------------------------ */
/* An array that is overwritten from one run of this graph to the next, or may share memory with one. */
static bool is_unstable(const Diff *r, const Node *n) {
  if (n->type->kind != T_ARRAY && n->type->kind != T_BAG) return n->op == OP_GET && ad_unstable(r, n->ops[0]);
  switch (n->op) {
  case OP_UPDATE: case OP_ACC_AT: case OP_CUPDATE: return true;
  case OP_SWITCH: case OP_CALL: case OP_APPLY: case OP_SLICE: case OP_INDEX: case OP_AFTER: case OP_GET: case OP_RESHAPE:
    for (int i = 0; i < n->nops; i++)
      if (ad_unstable(r, n->ops[i])) return true;
    return false;
  default: return false;
  }
}

static void forward(Diff *r, int at) {
  Node *n = r->nodes[at];
  bool active = ad_visit(r, at);
  r->unstable[at] = is_unstable(r, n);
  if (active && n->op == OP_SWITCH) ad_switch_forward(r, at);
  else if (active && n->op == OP_LOOP) ad_loop_forward(r, at);
  else if (active && (n->op == OP_CALL || n->op == OP_APPLY)) ad_call_forward(r, at);
  else r->fwd[at] = ad_rebuild(r, n);
}

static void backward(Diff *r, int at) {
  Node *d = r->cot[at];
  if (!d || r->nodes[at]->op == OP_PARAM) return;
  r->cot[at] = NULL;
  if (d->op == OP_ZERO) return;
  switch (r->nodes[at]->op) {
  case OP_SWITCH: ad_switch_backward(r, at, d); return;
  case OP_LOOP: ad_loop_backward(r, at, d); return;
  case OP_CALL: case OP_APPLY: ad_call_backward(r, at, d); return;
  case OP_CHECKPOINT: ad_checkpoint_backward(r, at, d); return;
  default: ad_rule_backward(r, at, d);
  }
}

/* Parameters of the combined form after those of g: D, and accumulators. */
static void declare(World *w, Combined *c, const bool *active) {
  c->types = NEW_ARRAY(w->arena, IrType *, 2 * c->p + 1);
  c->active = NEW_ARRAY(w->arena, bool, c->p + 1);
  c->types[c->p] = ad_cotangent(w, c->g->result->type);
  for (int i = 0; i < c->p; i++) {
    c->types[i] = c->g->params[i];
    c->active[i] = active[i] && ad_has_slot(w, c->types[i]);
    if (c->active[i]) c->types[c->p + 1 + c->nacc++] = ad_cotangent(w, c->types[i]);
  }
  c->total = c->p + 1 + c->nacc;
}

/* Parameter x has accumulator acc. Where x is a tuple its components get theirs, so that what is done with them adds to it. */
static void start_from(Diff *r, Node *x, Node *acc) {
  World *w = r->w;
  Node **rest = x->type->kind == T_TUPLE ? NEW_ARRAY(w->arena, Node *, x->type->n + 1) : NULL;
  for (int k = 0; rest && k < x->type->n; k++) rest[k] = ir_get(w, acc, k);
  for (int i = 0; rest && i < r->n; i++) {
    Node *part = r->nodes[i];
    if (part->op != OP_GET || part->ops[0] != x || !r->act[i]) continue;
    start_from(r, part, rest[part->attr.i]);
    rest[part->attr.i] = ir_zero(w, rest[part->attr.i]->type);
  }
  ad_add(r, x, rest ? ir_tuple(w, acc->type, rest) : acc);
}

Combined *ad_combine(World *w, Graph *g, const bool *active, const bool *unstable, bool rerun) {
  void **known = ad_derived(w, &g->ad, rerun ? D_COMBINED_RERUN : D_COMBINED, g->nparams, active, unstable);
  if (*known) return *known;
  Combined *c = NEW(w->arena, Combined);
  c->g = g;
  c->p = g->nparams;
  declare(w, c, active);
  Diff *r = ad_begin(w, g, active);
  r->rerun = rerun;
  for (int i = 0; i < r->n; i++) {
    Node *x = r->nodes[i];
    if (x->op != OP_PARAM) forward(r, i);
    else r->unstable[i] = unstable && unstable[x->attr.i];
  }
  c->y = ad_fwd(r, g->result);
  Nodes params = {0}, accs = {0};
  for (int i = 0; i < c->p; i++)
    if (c->active[i]) vec_push(w->arena, params, ir_param(w, i, g->params[i]));
  for (int k = 0; k < c->nacc; k++) start_from(r, params.data[k], ir_param(w, c->p + 1 + k, c->types[c->p + 1 + k]));
  ad_add(r, g->result, ir_param(w, c->p, c->types[c->p]));
  for (int i = r->n - 1; i >= 0; i--) backward(r, i);
  for (int k = 0; k < c->nacc; k++) vec_push(w->arena, accs, ad_take(r, params.data[k]));
  c->accs = ir_record(w, accs.data, accs.len);
  return *known = c;
}
