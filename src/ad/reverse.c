/* SPDX-License-Identifier: MIT */
/* Reverse mode: the combined form of a graph.
 *
 * One walk over the nodes of the graph makes the forward nodes; one walk back, from the result, keeps for each node the
 * cotangent it has received so far and, when the node's turn comes, hands on to its operands what they get: one rule per
 * node, however often it is used. A node without cotangent is skipped: zero is the absence of one. What the two walks
 * make stands in one space of parameters (ad_internal.h), so when both are wanted at once nothing has to be stored, and
 * when they are wanted apart ad_split reads off what the backward pass needs.
 *
 * The switch below is over kinds of nodes. Derivatives of scalar functions come from rules written in the library. */
#include "ad/ad_internal.h"
#include <string.h>

/* ---- Bookkeeping -------------------------------------------------------------------- */
static int position(const Reverse *r, const Node *x) { return (int)(uintptr_t)map_get(&r->pos, x) - 1; }
Node *ad_fwd(const Reverse *r, const Node *x) { return r->fwd[position(r, x)]; }
bool ad_active(const Reverse *r, const Node *x) { return r->act[position(r, x)]; }
bool ad_unstable(const Reverse *r, const Node *x) { return r->unstable[position(r, x)]; }

void ad_add(Reverse *r, const Node *x, Node *cot) {
  int k = position(r, x);
  if (!r->act[k] || !cot) return;
  r->adj[k] = r->adj[k] ? ir_op2(r->w, OP_CADD, r->adj[k], cot) : cot;
}

Node *ad_take(Reverse *r, const Node *x) {
  int k = position(r, x);
  Node *a = r->adj[k];
  r->adj[k] = NULL;
  return a ? a : ir_zero(r->w, ad_cotangent(r->w, x->type));
}

void ad_put(Reverse *r, const Node *x, Node *acc) {
  int k = position(r, x);
  r->adj[k] = r->adj[k] ? ir_op2(r->w, OP_CADD, acc, r->adj[k]) : acc;
}

Node *ad_region_acc(Reverse *r, const Node *x) {
  IrType *c = ad_cotangent(r->w, x->type);
  return ad_is_plain(c) ? ir_zero(r->w, c) : ad_take(r, x);
}

void ad_region_done(Reverse *r, const Node *x, Node *acc) {
  if (ad_is_plain(acc->type)) ad_add(r, x, acc);
  else ad_put(r, x, acc);
}

Node *ad_no_rule(World *w, IrType *t, const char *what, Site site) {
  Str s = {.arena = w->arena};
  str_printf(&s, "%s has no derivative rule", what);
  return ir_fail(w, t, ir_string(w, sym_of(w->syms, s.data)), site);
}

/* ---- Scalar operations ------------------------------------------------------------------ */
static bool never_zero(const Node *d) { return d->op == OP_FLOAT && d->attr.f != 0; }

/* x, but 0 where it is the NaN that a zero cotangent makes of a partial which is infinite. The cotangent alone doesn't
 * decide: x has to keep its own derivative by d where d is 0. */
static Node *unless_zero(World *w, Node *d, Node *x) {
  if (never_zero(d)) return x;
  Node *lost = ir_op2(w, OP_AND, ir_op2(w, OP_FEQ, d, ir_float(w, 0)), ir_op1(w, OP_IS_NAN, x));
  return ir_op3(w, OP_SELECT, lost, ir_float(w, 0), x);
}

static void divide_rule(World *w, Node **args, Node *value, Node *d, Node **out) {
  Node *q = ir_op2(w, OP_FDIV, d, args[1]);
  bool safe = args[1]->op == OP_FLOAT && args[1]->attr.f != 0;
  out[0] = safe ? q : unless_zero(w, d, q);
  out[1] = safe ? ir_op1(w, OP_FNEG, ir_op2(w, OP_FMUL, q, value)) : unless_zero(w, d, ir_op1(w, OP_FNEG, ir_op2(w, OP_FMUL, q, value)));
}

static void library_rule(World *w, const Node *n, Node **args, Node *d, Node **out) {
  Func *rule = w->rule ? w->rule(w->rule_user, (Op)n->op) : NULL;
  if (!rule || !rule->pullback || !rule->pullback->graph) {
    for (int i = 0; i < n->nops; i++)
      if (args[i]->type->kind == T_FLOAT) out[i] = ad_no_rule(w, args[i]->type, op_names[n->op], n->site);
    return;
  }
  Node *both = ir_instantiate(w, rule->pullback->graph, args, 0);
  Node *cot = ir_apply(w, ir_get(w, both, 1), d, NULL, 0);
  for (int i = 0; i < n->nops; i++) {
    Node *c = n->nops == 1 ? cot : ir_get(w, cot, i);
    out[i] = args[i]->type->kind == T_FLOAT ? c : NULL;
  }
}

void ad_scalar_rule(World *w, const Node *n, Node **args, Node *value, Node *d, Node **out) {
  for (int i = 0; i < n->nops; i++) out[i] = NULL;
  switch (n->op) {
  case OP_FADD: out[0] = out[1] = d; return;
  case OP_FSUB: out[0] = d; out[1] = ir_op1(w, OP_FNEG, d); return;
  case OP_FNEG: out[0] = ir_op1(w, OP_FNEG, d); return;
  case OP_FMUL:
    out[0] = ir_op2(w, OP_FMUL, d, args[1]);
    out[1] = ir_op2(w, OP_FMUL, d, args[0]);
    return;
  case OP_FDIV: divide_rule(w, args, value, d, out); return;
  case OP_SELECT:
    if (n->type->kind != T_FLOAT) return;
    out[1] = ir_op3(w, OP_SELECT, args[0], d, ir_float(w, 0));
    out[2] = ir_op3(w, OP_SELECT, args[0], ir_float(w, 0), d);
    return;
  default: library_rule(w, n, args, d, out);
  }
}

static void scalar_backward(Reverse *r, const Node *n, int at, Node *d) {
  Node *args[3], *out[3];
  for (int i = 0; i < n->nops; i++) args[i] = ad_fwd(r, n->ops[i]);
  ad_scalar_rule(r->w, n, args, r->fwd[at], d, out);
  for (int i = 0; i < n->nops; i++)
    if (out[i]) ad_add(r, n->ops[i], out[i]);
}

/* ---- Products, sums, closures --------------------------------------------------------------- */
static void structure_backward(Reverse *r, const Node *n, Node *d) {
  World *w = r->w;
  const Node *x = n->nops ? n->ops[0] : NULL;
  switch (n->op) {
  case OP_TUPLE:
    for (int i = 0; i < n->nops; i++)
      if (ad_active(r, n->ops[i])) ad_add(r, n->ops[i], ir_get(w, d, i));
    return;
  case OP_GET: ad_add(r, x, ad_one_component(w, ad_cotangent(w, x->type), (int)n->attr.i, d)); return;
  case OP_INJ:
    if (n->ngraphs) ad_add(r, x, ir_env(w, OP_UNINJ, x->type, n->graphs[0], d));
    else ad_add(r, x, ir_uninj(w, d, (int)n->attr.i + !n->type->cotangent));
    return;
  case OP_UNINJ:
    if (n->ngraphs) ad_add(r, x, ir_env(w, OP_INJ, x->type, n->graphs[0], d));
    else ad_add(r, x, ir_inj(w, ad_cotangent(w, x->type), (int)n->attr.i + !x->type->cotangent, d));
    return;
  case OP_AFTER: ad_add(r, x, d); return;
  default: return;
  }
}

/* The type of a closure's environment payload: cotangents of its captures. */
static IrType *payload_type(World *w, const Graph *g, int own) {
  int n = g->nparams - own;
  IrType **ts = NEW_ARRAY(w->arena, IrType *, n + 1);
  for (int i = 0; i < n; i++) ts[i] = ad_cotangent(w, g->params[own + i]);
  return ir_tuple_type(w, ts, NULL, n);
}

static void closure_backward(Reverse *r, const Node *n, Node *d) {
  World *w = r->w;
  if (n->op == OP_CLOSURE) {
    if (!n->nops) return;
    Node *caps = ir_env(w, OP_UNINJ, payload_type(w, n->graphs[0], 1 + n->type->effect), n->graphs[0], d);
    for (int i = 0; i < n->nops; i++)
      if (ad_active(r, n->ops[i])) ad_add(r, n->ops[i], ir_get(w, caps, i));
    return;
  }
  const Node *f = n->ops[0];
  IrType *pt = payload_type(w, n->graphs[0], 1 + f->type->effect);
  ad_add(r, f, ir_env(w, OP_INJ, ad_cotangent(w, f->type), n->graphs[0], ad_one_component(w, pt, (int)n->attr.i, d)));
}

/* ---- Arrays ------------------------------------------------------------------------------------ */
static Node **fwd_all(Reverse *r, Node **xs, int n) {
  Node **out = NEW_ARRAY(r->w->arena, Node *, n + 1);
  for (int i = 0; i < n; i++) out[i] = ad_fwd(r, xs[i]);
  return out;
}

static void reshape_backward(Reverse *r, const Node *n, Node *d) {
  World *w = r->w;
  const Node *a = n->ops[0];
  int old, now;
  Node **to = ad_dims(w, ad_fwd(r, a), a->type, &old), **from = ad_dims(w, ad_fwd(r, n), n->type, &now);
  Node **ops = NEW_ARRAY(w->arena, Node *, 1 + old + now);
  ops[0] = d;
  memcpy(ops + 1, from, sizeof(Node *) * (size_t)now);
  memcpy(ops + 1 + now, to, sizeof(Node *) * (size_t)old);
  Node proto = {.op = OP_BAG_RESHAPE, .type = ad_cotangent(w, a->type), .nops = 1 + old + now, .attr.i = now};
  ad_add(r, a, ir_rebuild(w, &proto, ops, NULL));
}

static void array_backward(Reverse *r, const Node *n, Node *d) {
  World *w = r->w;
  const Node *a = n->nops ? n->ops[0] : NULL;
  if (n->op == OP_ARRAY) {
    int nd;
    Node **dims = ad_dims(w, ad_fwd(r, n), n->type, &nd);
    for (int i = 0; i < n->nops; i++) {
      Node *k = ir_int(w, i);
      if (ad_active(r, n->ops[i])) ad_add(r, n->ops[i], ad_bag_op(w, OP_BAG_GET, ad_cotangent(w, n->ops[i]->type), d, dims, nd, &k, 1, NULL));
    }
    return;
  }
  int nd;
  Node **dims = ad_dims(w, ad_fwd(r, a), a->type, &nd), **rest = fwd_all(r, n->ops + 1, n->nops - 1);
  IrType *bag = ad_cotangent(w, a->type);
  switch (n->op) {
  case OP_INDEX: ad_put(r, a, ad_bag_op(w, OP_ACC_AT, bag, ad_take(r, a), dims, nd, rest, n->nops - 1, d)); return;
  case OP_SLICE: ad_add(r, a, ad_bag_op(w, OP_SHIFT, bag, d, dims, nd, rest, 2, NULL)); return;
  case OP_UPDATE: {
    const Node *v = n->ops[n->nops - 1];
    IrType *ts[2] = {bag, ad_cotangent(w, v->type)};
    Node *t = ad_bag_op(w, OP_TAKE, ir_tuple_type(w, ts, NULL, 2), d, dims, nd, rest, n->nops - 2, NULL);
    ad_add(r, v, ir_get(w, t, 1));
    ad_add(r, a, ir_get(w, t, 0));
    return;
  }
  default: return;
  }
}

/* ---- Operations of earlier differentiations: bags ------------------------------------------------- */
static void bag_backward(Reverse *r, const Node *n, Node *d) {
  World *w = r->w;
  const Node *b = n->ops[0];
  int nd = ir_rank(b->type), last = n->nops - 1;
  IrType *bag = ad_cotangent(w, b->type);
  Node **f = fwd_all(r, n->ops, n->nops), **dims = f + 1, **is = f + 1 + nd;
  switch (n->op) {
  case OP_CADD: ad_add(r, b, d); ad_add(r, n->ops[1], d); return;
  case OP_ACC_AT:
    ad_add(r, n->ops[last], ad_bag_op(w, OP_BAG_GET, ad_cotangent(w, n->ops[last]->type), d, dims, nd, is, n->nops - nd - 2, NULL));
    ad_add(r, b, d);
    return;
  case OP_BAG_GET: ad_put(r, b, ad_bag_op(w, OP_ACC_AT, bag, ad_take(r, b), dims, nd, is, n->nops - nd - 1, d)); return;
  case OP_TAKE:
    ad_add(r, b, ad_bag_op(w, OP_CUPDATE, bag, ir_get(w, d, 0), dims, nd, is, n->nops - nd - 1, ir_get(w, d, 1)));
    return;
  case OP_CUPDATE: {
    const Node *v = n->ops[last];
    IrType *ts[2] = {bag, ad_cotangent(w, v->type)};
    Node *t = ad_bag_op(w, OP_TAKE, ir_tuple_type(w, ts, NULL, 2), d, dims, nd, is, n->nops - nd - 2, NULL);
    ad_add(r, v, ir_get(w, t, 1));
    ad_add(r, b, ir_get(w, t, 0));
    return;
  }
  case OP_BAG_SLICE: ad_add(r, b, ad_bag_op(w, OP_SHIFT, bag, d, dims, nd, is, 2, NULL)); return;
  case OP_SHIFT: ad_add(r, b, ad_bag_op(w, OP_BAG_SLICE, bag, d, dims, nd, is, 2, NULL)); return;
  case OP_FILL: case OP_TO_BAG: ad_add(r, b, d); return;
  default: return;
  }
}

static void bag_reshape_backward(Reverse *r, const Node *n, Node *d) {
  int now = (int)n->attr.i, old = n->nops - 1 - now;
  Node **ops = NEW_ARRAY(r->w->arena, Node *, n->nops);
  ops[0] = d;
  for (int i = 0; i < old; i++) ops[1 + i] = ad_fwd(r, n->ops[1 + now + i]);
  for (int i = 0; i < now; i++) ops[1 + old + i] = ad_fwd(r, n->ops[1 + i]);
  Node proto = {.op = OP_BAG_RESHAPE, .type = ad_cotangent(r->w, n->ops[0]->type), .nops = n->nops, .attr.i = old};
  ad_add(r, n->ops[0], ir_rebuild(r->w, &proto, ops, NULL));
}

/* ---- The two walks ------------------------------------------------------------------------------------ */
static bool is_scalar_op(const Node *n) { return (op_flags[n->op] & OPF_S) && n->type->kind == T_FLOAT; }

static void backward(Reverse *r, int at) {
  const Node *n = r->nodes[at];
  Node *d = r->adj[at];
  if (!d || !r->act[at] || n->op == OP_PARAM) return;
  r->adj[at] = NULL;
  if (d->op == OP_ZERO) return;
  switch (n->op) {
  case OP_SWITCH: ad_switch_backward(r, at, d); return;
  case OP_LOOP: ad_loop_backward(r, at, d); return;
  case OP_CALL: case OP_APPLY: ad_call_backward(r, at, d); return;
  case OP_CHECKPOINT: ad_checkpoint_backward(r, at, d); return;
  case OP_CLOSURE: case OP_CLOSURE_CAP: closure_backward(r, n, d); return;
  case OP_ARRAY: case OP_INDEX: case OP_SLICE: case OP_UPDATE: array_backward(r, n, d); return;
  case OP_RESHAPE: reshape_backward(r, n, d); return;
  case OP_BAG_RESHAPE: bag_reshape_backward(r, n, d); return;
  case OP_CADD: case OP_ACC_AT: case OP_BAG_GET: case OP_TAKE: case OP_CUPDATE: case OP_BAG_SLICE: case OP_SHIFT: case OP_FILL: case OP_TO_BAG:
    bag_backward(r, n, d);
    return;
  case OP_RT:
    for (int i = 0; i < n->nops; i++)
      if (ad_active(r, n->ops[i])) ad_add(r, n->ops[i], ad_no_rule(r->w, ad_cotangent(r->w, n->ops[i]->type), n->attr.rt->name, n->site));
    return;
  default:
    if (is_scalar_op(n)) scalar_backward(r, n, at, d);
    else structure_backward(r, n, d);
  }
}

static Node *rebuild_forward(Reverse *r, int at) {
  Node *n = r->nodes[at];
  Node **ops = fwd_all(r, n->ops, n->nops);
  for (int i = 0; i < n->nops; i++)
    if (ops[i] != n->ops[i]) return ir_rebuild(r->w, n, ops, n->graphs);
  return n;
}

/* An array that is overwritten from one run of this graph to the next, or may share memory with one. */
static bool is_unstable(const Reverse *r, const Node *n) {
  if (n->type->kind != T_ARRAY && n->type->kind != T_BAG) return n->op == OP_GET && r->unstable[position(r, n->ops[0])];
  switch (n->op) {
  case OP_UPDATE: case OP_ACC_AT: case OP_CUPDATE: return true;
  case OP_SWITCH: case OP_CALL: case OP_APPLY: case OP_SLICE: case OP_INDEX: case OP_AFTER: case OP_GET: case OP_RESHAPE:
    for (int i = 0; i < n->nops; i++)
      if (r->unstable[position(r, n->ops[i])]) return true;
    return false;
  default: return false;
  }
}

static void forward(Reverse *r, int at) {
  const Node *n = r->nodes[at];
  for (int i = 0; i < n->nops; i++) r->act[at] |= r->act[position(r, n->ops[i])];
  if (n->op == OP_STOP || !ad_has_slot(r->w, n->type)) r->act[at] = false;
  r->unstable[at] = is_unstable(r, n);
  if (r->act[at] && n->op == OP_SWITCH) ad_switch_forward(r, at);
  else if (r->act[at] && n->op == OP_LOOP) ad_loop_forward(r, at);
  else if (r->act[at] && (n->op == OP_CALL || n->op == OP_APPLY)) ad_call_forward(r, at);
  else r->fwd[at] = rebuild_forward(r, at);
}

static Reverse *start(World *w, Graph *g, const bool *active, const bool *unstable, bool rerun) {
  Reverse *r = NEW(w->arena, Reverse);
  r->w = w;
  r->g = g;
  r->rerun = rerun;
  r->n = ir_order(w->arena, g, &r->nodes);
  r->fwd = NEW_ARRAY(w->arena, Node *, r->n);
  r->adj = NEW_ARRAY(w->arena, Node *, r->n);
  r->act = NEW_ARRAY(w->arena, bool, r->n);
  r->unstable = NEW_ARRAY(w->arena, bool, r->n);
  r->memo = NEW_ARRAY(w->arena, void *, r->n);
  map_init(&r->pos, w->arena);
  for (int i = 0; i < r->n; i++) map_put(&r->pos, r->nodes[i], (void *)(uintptr_t)(i + 1));
  for (int i = 0; i < r->n; i++) {
    Node *n = r->nodes[i];
    if (n->op != OP_PARAM) {
      forward(r, i);
      continue;
    }
    r->fwd[i] = n;
    r->act[i] = active[n->attr.i] && ad_has_slot(w, n->type);
    r->unstable[i] = unstable && unstable[n->attr.i];
  }
  return r;
}

static bool same_flags(const bool *a, const bool *b, int n) {
  for (int i = 0; i < n; i++)
    if ((a && a[i]) != (b && b[i])) return false;
  return true;
}

/* Parameter x has accumulator acc. Where x is a tuple its components get theirs, so that what is done with them adds to it. */
static void start_from(Reverse *r, Node *x, Node *acc) {
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
  for (Combined *c = g->ad; c; c = c->next)
    if (c->rerun == rerun && same_flags(c->active, active, g->nparams) && same_flags(c->unstable, unstable, g->nparams)) return c;
  Combined *c = NEW(w->arena, Combined);
  c->g = g;
  c->rerun = rerun;
  c->active = NEW_ARRAY(w->arena, bool, g->nparams + 1);
  c->unstable = NEW_ARRAY(w->arena, bool, g->nparams + 1);
  c->p = g->nparams;
  for (int i = 0; i < g->nparams; i++) {
    c->active[i] = active[i];
    c->unstable[i] = unstable && unstable[i];
  }
  Reverse *r = start(w, g, active, unstable, rerun);
  c->y = ad_fwd(r, g->result);
  c->accs = NEW_ARRAY(w->arena, Node *, g->nparams + 1);
  Node **param = NEW_ARRAY(w->arena, Node *, g->nparams + 1); /* the node of each active parameter, if it is used */
  for (int i = 0; i < r->n; i++)
    if (r->nodes[i]->op == OP_PARAM && r->act[i]) param[r->nodes[i]->attr.i] = r->nodes[i];
  for (int i = 0; i < g->nparams; i++) {
    if (!active[i] || !ad_has_slot(w, g->params[i])) continue;
    c->accs[c->nacc] = ir_param(w, c->p + 1 + c->nacc, ad_cotangent(w, g->params[i]));
    if (param[i]) start_from(r, param[i], c->accs[c->nacc]);
    c->nacc++;
  }
  ad_add(r, g->result, ir_param(w, c->p, ad_cotangent(w, g->result->type)));
  for (int i = r->n - 1; i >= 0; i--) backward(r, i);
  for (int i = 0, k = 0; i < g->nparams; i++)
    if (active[i] && ad_has_slot(w, g->params[i])) {
      if (param[i]) c->accs[k] = ad_take(r, param[i]);
      k++;
    }
  c->next = g->ad;
  g->ad = c;
  return c;
}
