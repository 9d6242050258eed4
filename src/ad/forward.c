/* SPDX-License-Identifier: MIT */
/* Forward mode: a graph of values becomes a graph of values and tangents, node by node. Tangents have the types of
 * cotangents (a tangent of an array is a bag, dense where it comes from an array), and an absent one is zero. */
#include "ad/ad_internal.h"

typedef struct Forward {
  World *w;
  Node **nodes;
  int n;
  Map pos;
  Node **val, **tan;   /* tan NULL: zero */
} Forward;

static int position(const Forward *f, const Node *x) { return (int)(uintptr_t)map_get(&f->pos, x) - 1; }
static Node *val(const Forward *f, const Node *x) { return f->val[position(f, x)]; }
static Node *tan_or_null(const Forward *f, const Node *x) { return f->tan[position(f, x)]; }
static Node *tangent(const Forward *f, const Node *x) {
  Node *t = tan_or_null(f, x);
  return t ? t : ir_zero(f->w, ad_cotangent(f->w, x->type));
}

static Node **vals(const Forward *f, Node **xs, int n) {
  Node **out = NEW_ARRAY(f->w->arena, Node *, n + 1);
  for (int i = 0; i < n; i++) out[i] = val(f, xs[i]);
  return out;
}

static bool any_tangent(const Forward *f, const Node *n) {
  for (int i = 0; i < n->nops; i++)
    if (tan_or_null(f, n->ops[i])) return true;
  return false;
}

/* A scalar function's pullback is multiplication by its partials: applied to the tangents it gives their products. */
static Node *scalar_tangent(const Forward *f, const Node *n, int at) {
  World *w = f->w;
  Node *args[3], *out[3], *sum = NULL;
  for (int i = 0; i < n->nops; i++) args[i] = val(f, n->ops[i]);
  for (int i = 0; i < n->nops; i++) {
    Node *t = tan_or_null(f, n->ops[i]);
    if (!t) continue;
    ad_scalar_rule(w, n, args, f->val[at], t, out);
    if (out[i]) sum = sum ? ir_op2(w, OP_CADD, sum, out[i]) : out[i];
  }
  return sum;
}

/* ---- Regions ----------------------------------------------------------------------------- */
static void tangent_switch(Forward *f, int at) {
  World *w = f->w;
  Node *n = f->nodes[at];
  int ncaps = n->nops - 1;
  bool *act = NEW_ARRAY(w->arena, bool, ncaps + 1);
  Vec(Node *) caps = {0};
  for (int i = 0; i < ncaps; i++) vec_push(w->arena, caps, val(f, n->ops[i + 1]));
  for (int i = 0; i < ncaps; i++) {
    act[i] = tan_or_null(f, n->ops[i + 1]) != NULL;
    if (act[i]) vec_push(w->arena, caps, tangent(f, n->ops[i + 1]));
  }
  Graph **arms = NEW_ARRAY(w->arena, Graph *, n->ngraphs);
  for (int t = 0; t < n->ngraphs; t++) arms[t] = ad_tangent(w, n->graphs[t], act);
  Node *both = ir_switch(w, val(f, n->ops[0]), arms, n->ngraphs, caps.data, caps.len);
  f->val[at] = ir_get(w, both, 0);
  f->tan[at] = ir_get(w, both, 1);
}

/* A loop whose active state and captures are pairs (value, tangent), which the normal form of loops takes apart. Tangents of
 * slices are read from their arrays, captured; tangents of stacked results are stacked after them. */
typedef struct PairLoop {
  Forward *f;
  const Node *n;
  const LoopInfo *l;
  Graph *body;
  bool *act;            /* of the body's parameters */
  Node **ops;           /* primal operands */
  Vec(Node *) in;       /* operands of the new loop */
  Vec(IrType *) params; /* of the new body */
  LoopInfo info;
} PairLoop;

static bool is_slice(const PairLoop *p, int param) {
  int first = 1 + p->l->ncarried + p->l->naccs;
  return param >= first && param < first + p->l->nsliced;
}

static void pair_operands(PairLoop *p) {
  Forward *f = p->f;
  World *w = f->w;
  vec_push(w->arena, p->params, ir_type(w, T_INT));
  for (int i = 1; i < p->body->nparams; i++) {
    Node *x = val(f, p->ops[i - 1]);
    bool slice = is_slice(p, i);
    if (p->act[i] && !slice) x = ir_pair(w, x, tangent(f, p->ops[i - 1]));
    vec_push(w->arena, p->in, x);
    vec_push(w->arena, p->params, slice ? p->body->params[i] : x->type);
  }
  for (int i = 1; i < p->body->nparams; i++) {
    if (!p->act[i] || !is_slice(p, i)) continue;
    Node *x = ir_pair(w, val(f, p->ops[i - 1]), tangent(f, p->ops[i - 1]));
    vec_push(w->arena, p->in, x);
    vec_push(w->arena, p->params, x->type);
    p->info.ncaps++;
  }
}

static Node *slice_tangent(World *w, Node *pair) {
  int nd;
  Node *array = ir_get(w, pair, 0), **dims = ad_dims(w, array, array->type, &nd), *i = ir_param(w, 0, ir_type(w, T_INT));
  return ad_bag_op(w, OP_BAG_GET, ad_cotangent(w, array->type->args[0]), ir_get(w, pair, 1), dims, nd, &i, 1, NULL);
}

static Graph *pair_body(PairLoop *p, int *stacked) {
  World *w = p->f->w;
  int n = p->body->nparams, at = n, extra = n, slots = p->l->ncarried + p->l->naccs;
  Graph *t = ad_tangent(w, p->body, p->act);
  Node **args = NEW_ARRAY(w->arena, Node *, t->nparams + 1);
  for (int i = 0; i < n; i++) {
    Node *x = ir_param(w, i, p->params.data[i]);
    bool pair = p->act[i] && !is_slice(p, i);
    args[i] = pair ? ir_get(w, x, 0) : x;
    if (pair) args[at++] = ir_get(w, x, 1);
    else if (p->act[i]) {
      args[at++] = slice_tangent(w, ir_param(w, extra, p->params.data[extra]));
      extra++;
    }
  }
  Node *both = ir_instantiate(w, t, args, 0), *y = ir_get(w, both, 0), *dy = ir_get(w, both, 1);
  Vec(Node *) out = {0};
  for (int k = 0; k < slots + p->l->nstacked; k++) {
    Node *x = ir_get(w, y, k);
    vec_push(w->arena, out, k < slots && p->act[1 + k] ? ir_pair(w, x, ir_get(w, dy, k)) : x);
  }
  for (int k = slots; k < slots + p->l->nstacked; k++) {
    Node *x = ir_get(w, dy, k), *row = ir_get(w, y, k);
    if (x->op == OP_ZERO || x->op == OP_UNIT || x->op == OP_FLOAT) continue;
    int nd;
    Node **dims = ad_dims(w, row, row->type, &nd);
    vec_push(w->arena, out, x->type->kind == T_BAG ? ad_fill(w, x, dims, nd) : x);
    stacked[k - slots] = ++p->info.nstacked;
  }
  return ir_graph(w, p->params.data, p->params.len, ad_tuple(w, out.data, out.len), p->body->name);
}

static Graph *pair_cond(PairLoop *p, Graph *cond) {
  World *w = p->f->w;
  int own = 1 + p->l->ncarried, skip = p->l->naccs + p->l->nsliced;
  Vec(IrType *) ts = {0};
  Node **args = NEW_ARRAY(w->arena, Node *, cond->nparams + 1);
  for (int i = 0; i < p->params.len; i++) {
    if (i >= own && i < own + skip) continue;
    if (ts.len < cond->nparams) {
      Node *x = ir_param(w, ts.len, p->params.data[i]);
      args[ts.len] = p->act[i] ? ir_get(w, x, 0) : x;
    }
    vec_push(w->arena, ts, p->params.data[i]);
  }
  return ir_graph(w, ts.data, ts.len, ir_instantiate(w, cond, args, 0), cond->name);
}

static void pair_results(PairLoop *p, int at, Node *loop, const int *stacked) {
  Forward *f = p->f;
  World *w = f->w;
  IrType *t = p->n->type, *ct = ad_cotangent(w, t);
  int slots = p->l->ncarried + p->l->naccs;
  Node **ys = NEW_ARRAY(w->arena, Node *, t->n), **ts = NEW_ARRAY(w->arena, Node *, t->n);
  for (int k = 0; k < t->n; k++) {
    Node *x = ir_get(w, loop, k < t->n - 1 ? k : loop->type->n - 1);
    bool pair = k < slots && p->act[1 + k];
    ys[k] = pair ? ir_get(w, x, 0) : x;
    ts[k] = pair ? ir_get(w, x, 1) : ir_zero(w, ct->args[k]);
    if (k < slots || k == t->n - 1 || !stacked[k - slots]) continue;
    Node *d = ir_get(w, loop, slots + stacked[k - slots] - 1);
    ts[k] = ir_make(w, OP_TO_BAG, ct->args[k], &d, 1);
  }
  f->val[at] = ir_tuple(w, t, ys);
  f->tan[at] = ir_tuple(w, ct, ts);
}

static void tangent_loop(Forward *f, int at) {
  World *w = f->w;
  Node *n = f->nodes[at];
  int counted = !n->loop->has_cond;
  PairLoop p = {.f = f, .n = n, .l = n->loop, .body = n->graphs[0], .ops = n->ops + counted, .info = *n->loop};
  bool *have = NEW_ARRAY(w->arena, bool, p.body->nparams + 1);
  for (int i = 0; i + 1 < p.body->nparams; i++) have[i] = tan_or_null(f, p.ops[i]) != NULL;
  p.act = ad_body_activity(w, p.body, p.l, have);
  pair_operands(&p);
  int *stacked = NEW_ARRAY(w->arena, int, p.l->nstacked + 1); /* 1 + the stacked result that is the tangent, 0: none */
  Graph *body = pair_body(&p, stacked), *cond = counted ? NULL : pair_cond(&p, n->graphs[1]);
  pair_results(&p, at, ir_loop(w, &p.info, counted ? val(f, n->ops[0]) : NULL, p.in.data, body, cond, n->site), stacked);
}

/* ---- Calls ------------------------------------------------------------------------------------ */
typedef struct DualFunc { bool *active; Func *f; struct DualFunc *next; } DualFunc;

static Func *dual_function(World *w, Func *f, const bool *act) {
  DualFunc *d = map_get(&w->duals, f);
  for (DualFunc *x = d; x; x = x->next) {
    bool same = true;
    for (int i = 0; i < f->nparams; i++) same &= x->active[i] == act[i];
    if (same) return x->f;
  }
  DualFunc *fresh = NEW(w->arena, DualFunc);
  fresh->active = NEW_ARRAY(w->arena, bool, f->nparams + 1);
  Vec(IrType *) ps = {0};
  for (int i = 0; i < f->nparams; i++) vec_push(w->arena, ps, f->params[i]);
  for (int i = 0; i < f->nparams; i++) {
    fresh->active[i] = act[i];
    if (act[i]) vec_push(w->arena, ps, ad_cotangent(w, f->params[i]));
  }
  IrType *rs[2] = {f->result, ad_cotangent(w, f->result)};
  fresh->f = ir_func(w, f->name, ps.data, ps.len, ir_tuple_type(w, rs, NULL, 2));
  fresh->f->recursive = f->recursive;
  fresh->f->span = f->span;
  fresh->next = d;
  map_put(&w->duals, f, fresh);
  ir_func_finish(w, fresh->f, ad_tangent(w, f->graph, act)->result);
  return fresh->f;
}

/* Tangents as users see them, for a rule written in the language. */
static void rule_tangent(Forward *f, int at, Func *fn, Node **args, const Node *n) {
  World *w = f->w;
  Node *dy;
  if (fn->tangent && fn->tangent->graph) {
    Node **all = NEW_ARRAY(w->arena, Node *, 2 * n->nops);
    for (int i = 0; i < n->nops; i++) {
      all[i] = args[i];
      all[n->nops + i] = ad_to_public(w, n->ops[i]->type, args[i], tangent(f, n->ops[i]));
    }
    Node *both = ir_call(w, fn->tangent, all, n->site);
    f->val[at] = ir_get(w, both, 0);
    dy = ir_get(w, both, 1);
  } else {
    /* the pullback is linear in its cotangent: its own pullback, at zero, takes tangents to tangents */
    Node *both = ir_call(w, fn->pullback, args, n->site);
    f->val[at] = ir_get(w, both, 0);
    Node *zero = ad_zero_public(w, fn->result, f->val[at]);
    Node *back = ir_get(w, ir_vjp(w, ir_get(w, both, 1), zero, NULL, n->site), 1);
    Node **ts = NEW_ARRAY(w->arena, Node *, n->nops);
    for (int i = 0; i < n->nops; i++) ts[i] = ad_to_public(w, n->ops[i]->type, args[i], tangent(f, n->ops[i]));
    Node *dx = n->nops == 1 ? ts[0] : ir_tuple(w, back->type->args[0], ts);
    dy = ir_apply(w, back, dx, NULL, n->site);
  }
  f->tan[at] = ad_to_cotangent(w, fn->result, dy, NULL, n->site);
}

static void tangent_call(Forward *f, int at) {
  World *w = f->w;
  Node *n = f->nodes[at];
  Func *fn = ad_call_target(w, n);
  Node **args = vals(f, n->ops, n->nops);
  if ((fn->tangent && fn->tangent->graph) || (fn->pullback && fn->pullback->graph)) {
    rule_tangent(f, at, fn, args, n);
    return;
  }
  if (!fn->graph) {
    f->val[at] = ir_rebuild(w, n, args, n->graphs);
    f->tan[at] = ad_no_rule(w, ad_cotangent(w, n->type), fn->name ? fn->name : "a foreign function", n->site);
    return;
  }
  bool *act = NEW_ARRAY(w->arena, bool, n->nops + 1);
  Vec(Node *) all = {0};
  for (int i = 0; i < n->nops; i++) vec_push(w->arena, all, args[i]);
  for (int i = 0; i < n->nops; i++) {
    act[i] = tan_or_null(f, n->ops[i]) != NULL;
    if (act[i]) vec_push(w->arena, all, tangent(f, n->ops[i]));
  }
  Node *both = ir_call(w, dual_function(w, fn, act), all.data, n->site);
  f->val[at] = ir_get(w, both, 0);
  f->tan[at] = ir_get(w, both, 1);
}

/* ---- Single operations ---------------------------------------------------------------------------- */
static Node *array_tangent(Forward *f, const Node *n) {
  World *w = f->w;
  const Node *a = n->ops[0];
  IrType *ct = ad_cotangent(w, n->type);
  int nd;
  if (n->op == OP_ARRAY) {
    Node **xs = NEW_ARRAY(w->arena, Node *, n->nops + 1);
    for (int i = 0; i < n->nops; i++) {
      xs[i] = tangent(f, n->ops[i]);
      if (xs[i]->type->kind != T_BAG) continue;
      Node **dims = ad_dims(w, val(f, n->ops[i]), n->ops[i]->type, &nd);
      xs[i] = ad_fill(w, xs[i], dims, nd);
    }
    Node *arr = ir_array(w, xs[0]->type, xs, n->nops, n->site);
    return ir_make(w, OP_TO_BAG, ct, &arr, 1);
  }
  Node **dims = ad_dims(w, val(f, a), a->type, &nd), **rest = vals(f, n->ops + 1, n->nops - 1), *t = tangent(f, a);
  switch (n->op) {
  case OP_INDEX: return ad_bag_op(w, OP_BAG_GET, ct, t, dims, nd, rest, n->nops - 1, NULL);
  case OP_SLICE: return ad_bag_op(w, OP_BAG_SLICE, ct, t, dims, nd, rest, 2, NULL);
  case OP_UPDATE: return ad_bag_op(w, OP_CUPDATE, ct, t, dims, nd, rest, n->nops - 2, tangent(f, n->ops[n->nops - 1]));
  default: {
    Node **ops = NEW_ARRAY(w->arena, Node *, nd + n->nops);
    ops[0] = t;
    for (int i = 0; i < nd; i++) ops[1 + i] = dims[i];
    for (int i = 1; i < n->nops; i++) ops[nd + i] = rest[i - 1];
    Node proto = {.op = OP_BAG_RESHAPE, .type = ct, .nops = nd + n->nops, .attr.i = nd};
    return ir_rebuild(w, &proto, ops, NULL);
  }
  }
}

/* Operations on cotangents are linear in them: the same on the tangents, indices and dimensions as they are. */
static Node *linear_tangent(Forward *f, const Node *n) {
  Node **ops = NEW_ARRAY(f->w->arena, Node *, n->nops);
  for (int i = 0; i < n->nops; i++) ops[i] = ad_has_slot(f->w, n->ops[i]->type) ? tangent(f, n->ops[i]) : val(f, n->ops[i]);
  Node proto = *n;
  proto.type = n->op == OP_FILL ? n->type : ad_cotangent(f->w, n->type);
  Node *t = ir_rebuild(f->w, &proto, ops, n->graphs);
  return n->op == OP_FILL ? ir_make(f->w, OP_TO_BAG, ad_cotangent(f->w, n->type), &t, 1) : t;
}

static Node *structure_tangent(Forward *f, const Node *n) {
  World *w = f->w;
  IrType *ct = ad_cotangent(w, n->type);
  const Node *x = n->nops ? n->ops[0] : NULL;
  switch (n->op) {
  case OP_TUPLE: {
    Node **xs = NEW_ARRAY(w->arena, Node *, n->nops);
    for (int i = 0; i < n->nops; i++) xs[i] = tangent(f, n->ops[i]);
    return ir_tuple(w, ct, xs);
  }
  case OP_GET: return ir_get(w, tangent(f, x), (int)n->attr.i);
  case OP_INJ:
    if (n->ngraphs) return ir_env(w, OP_INJ, ct, n->graphs[0], tangent(f, x));
    return ir_inj(w, ct, (int)n->attr.i + !n->type->cotangent, tangent(f, x));
  case OP_UNINJ:
    if (n->ngraphs) return ir_env(w, OP_UNINJ, ct, n->graphs[0], tangent(f, x));
    return ir_uninj(w, tangent(f, x), (int)n->attr.i + !x->type->cotangent);
  case OP_AFTER: return tangent(f, x);
  case OP_CLOSURE: {
    Node **xs = NEW_ARRAY(w->arena, Node *, n->nops + 1);
    for (int i = 0; i < n->nops; i++) xs[i] = tangent(f, n->ops[i]);
    return ir_env(w, OP_INJ, ct, n->graphs[0], ad_tuple(w, xs, n->nops));
  }
  case OP_CLOSURE_CAP: {
    const Graph *g = n->graphs[0];
    int own = 1 + x->type->effect, nc = g->nparams - own;
    IrType **ts = NEW_ARRAY(w->arena, IrType *, nc + 1);
    for (int i = 0; i < nc; i++) ts[i] = ad_cotangent(w, g->params[own + i]);
    return ir_get(w, ir_env(w, OP_UNINJ, ir_tuple_type(w, ts, NULL, nc), n->graphs[0], tangent(f, x)), (int)n->attr.i);
  }
  case OP_RT: return ad_no_rule(w, ct, n->attr.rt->name, n->site);
  default: return NULL;
  }
}

static void step(Forward *f, int at) {
  Node *n = f->nodes[at];
  if (n->op != OP_STOP && ad_has_slot(f->w, n->type) && any_tangent(f, n)) {
    if (n->op == OP_SWITCH) { tangent_switch(f, at); return; }
    if (n->op == OP_LOOP) { tangent_loop(f, at); return; }
    if (n->op == OP_CALL || n->op == OP_APPLY) { tangent_call(f, at); return; }
    if (n->op == OP_CHECKPOINT) { /* nothing is remembered in forward mode */
      f->val[at] = ir_rebuild(f->w, n, vals(f, n->ops, n->nops), n->graphs);
      Node *both = ir_jvp(f->w, val(f, n->ops[0]), val(f, n->ops[1]), ad_to_public(f->w, n->ops[1]->type, val(f, n->ops[1]), tangent(f, n->ops[1])), n->nops == 3 ? val(f, n->ops[2]) : NULL, n->site);
      Node *dy = n->nops == 3 ? ir_get(f->w, ir_get(f->w, both, 0), 1) : ir_get(f->w, both, 1);
      f->tan[at] = ad_to_cotangent(f->w, n->nops == 3 ? n->type->args[0] : n->type, dy, NULL, n->site);
      if (n->nops == 3) f->tan[at] = ad_one_component(f->w, ad_cotangent(f->w, n->type), 0, f->tan[at]);
      return;
    }
  }
  Node **ops = vals(f, n->ops, n->nops);
  f->val[at] = n->nops ? ir_rebuild(f->w, n, ops, n->graphs) : n;
  if (n->op == OP_STOP || !ad_has_slot(f->w, n->type) || !any_tangent(f, n)) return;
  switch (n->op) {
  case OP_ARRAY: case OP_INDEX: case OP_SLICE: case OP_UPDATE: case OP_RESHAPE: f->tan[at] = array_tangent(f, n); return;
  case OP_CADD: case OP_ACC_AT: case OP_BAG_GET: case OP_TAKE: case OP_CUPDATE: case OP_BAG_SLICE: case OP_SHIFT: case OP_FILL:
  case OP_BAG_RESHAPE:
    f->tan[at] = linear_tangent(f, n);
    return;
  case OP_TO_BAG: f->tan[at] = tangent(f, n->ops[0]); return;
  default: f->tan[at] = (op_flags[n->op] & OPF_S) && n->type->kind == T_FLOAT ? scalar_tangent(f, n, at) : structure_tangent(f, n);
  }
}

Graph *ad_tangent(World *w, Graph *g, const bool *active) {
  Forward f = {.w = w};
  f.n = ir_order(w->arena, g, &f.nodes);
  f.val = NEW_ARRAY(w->arena, Node *, f.n);
  f.tan = NEW_ARRAY(w->arena, Node *, f.n);
  map_init(&f.pos, w->arena);
  Vec(IrType *) ps = {0};
  int *tparam = NEW_ARRAY(w->arena, int, g->nparams + 1);
  for (int i = 0; i < g->nparams; i++) vec_push(w->arena, ps, g->params[i]);
  for (int i = 0; i < g->nparams; i++) {
    if (!active[i] || !ad_has_slot(w, g->params[i])) continue;
    tparam[i] = ps.len;
    vec_push(w->arena, ps, ad_cotangent(w, g->params[i]));
  }
  for (int i = 0; i < f.n; i++) {
    Node *n = f.nodes[i];
    map_put(&f.pos, n, (void *)(uintptr_t)(i + 1));
    if (n->op != OP_PARAM) {
      step(&f, i);
      continue;
    }
    f.val[i] = n;
    int k = (int)n->attr.i;
    if (tparam[k]) f.tan[i] = ir_param(w, tparam[k], ps.data[tparam[k]]);
  }
  Node *t = f.tan[f.n - 1];
  if (!t) t = ir_zero(w, ad_cotangent(w, g->result->type));
  return ir_graph(w, ps.data, ps.len, ir_pair(w, f.val[f.n - 1], t), g->name);
}
