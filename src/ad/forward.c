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

/* The body of a loop with tangents: own parameters i, carried, their tangents, accs, theirs, slices, theirs, then captures
 * and theirs. */
typedef struct DualLoop {
  World *w;
  const LoopInfo *l;
  bool *act;            /* of the old body's parameters */
  Vec(IrType *) params;
  Vec(int) place;       /* old parameter k is new parameter place[k] */
  Vec(int) tplace;      /* its tangent, or -1 */
} DualLoop;

static void place_range(DualLoop *d, const Graph *b, int from, int to) {
  World *w = d->w;
  for (int i = from; i < to; i++) {
    vec_push(w->arena, d->place, d->params.len);
    vec_push(w->arena, d->params, b->params[i]);
  }
  for (int i = from; i < to; i++) {
    vec_push(w->arena, d->tplace, d->act[i] ? d->params.len : -1);
    if (d->act[i]) vec_push(w->arena, d->params, ad_cotangent(w, b->params[i]));
  }
}

static DualLoop dual_layout(World *w, const Graph *b, const LoopInfo *l, bool *act, bool cond) {
  DualLoop d = {.w = w, .l = l, .act = act};
  int at = 1;
  place_range(&d, b, 0, 1);
  place_range(&d, b, at, at + l->ncarried);
  at += l->ncarried;
  if (!cond) {
    place_range(&d, b, at, at + l->naccs);
    at += l->naccs;
    place_range(&d, b, at, at + l->nsliced);
    at += l->nsliced;
  }
  place_range(&d, b, at, b->nparams);
  return d;
}

/* Elements of a tangent array that are bags themselves come as rows of an array. */
static IrType *slice_type(World *w, IrType *t) { return t->kind == T_BAG ? ir_array_type(w, slice_type(w, t->args[0])) : t; }

static Graph *dual_body(World *w, Graph *b, DualLoop *d) {
  Graph *t = ad_tangent(w, b, d->act);
  Node **args = NEW_ARRAY(w->arena, Node *, t->nparams + 1);
  int at = b->nparams, slots = d->l->ncarried + d->l->naccs, first = 1 + slots, last = first + d->l->nsliced;
  for (int i = 0; i < b->nparams; i++) args[i] = ir_param(w, d->place.data[i], b->params[i]);
  for (int i = 0; i < b->nparams; i++) {
    if (!d->act[i]) continue;
    IrType *ct = ad_cotangent(w, b->params[i]);
    int k = d->tplace.data[i];
    if (i >= first && i < last) d->params.data[k] = slice_type(w, ct);
    Node *p = ir_param(w, k, d->params.data[k]);
    args[at++] = p->type == ct ? p : ir_make(w, OP_TO_BAG, ct, &p, 1);
  }
  Node *both = ir_instantiate(w, t, args, 0);
  Vec(Node *) out = {0};
  Node *y = ir_get(w, both, 0), *dy = ir_get(w, both, 1);
  int bounds[4] = {0, d->l->ncarried, slots, slots + d->l->nstacked};
  for (int part = 0; part < 3; part++) {
    for (int k = bounds[part]; k < bounds[part + 1]; k++) vec_push(w->arena, out, ir_get(w, y, k));
    for (int k = bounds[part]; k < bounds[part + 1]; k++) {
      bool active = part < 2 ? d->act[1 + k] : ad_result_active(w, b, d->act, k);
      if (!active) continue;
      Node *x = ir_get(w, dy, k), *row = ir_get(w, y, k);
      int nd;
      Node **dims = part == 2 && x->type->kind == T_BAG ? ad_dims(w, row, row->type, &nd) : NULL;
      vec_push(w->arena, out, dims ? ad_fill(w, x, dims, nd) : x);
    }
  }
  return ir_graph(w, d->params.data, d->params.len, ad_tuple(w, out.data, out.len), b->name);
}

static Graph *dual_cond(World *w, Graph *c, DualLoop *d) {
  Node **args = NEW_ARRAY(w->arena, Node *, c->nparams + 1);
  for (int i = 0; i < c->nparams; i++) args[i] = ir_param(w, d->place.data[i], c->params[i]);
  return ir_graph(w, d->params.data, d->params.len, ir_instantiate(w, c, args, 0), c->name);
}

static int count_active(const bool *act, int from, int to) {
  int n = 0;
  for (int i = from; i < to; i++) n += act[i];
  return n;
}

/* Operands in the order of the new parameters. */
static void push_range(Forward *f, Node **ops, const bool *act, int from, int to, bool sliced, Node ***out, int *n) {
  World *w = f->w;
  for (int i = from; i < to; i++) (*out)[(*n)++] = val(f, ops[i]);
  for (int i = from; i < to; i++) {
    if (!act[1 + i]) continue;
    Node *t = tangent(f, ops[i]);
    if (sliced) {
      int nd;
      Node *a = val(f, ops[i]), **dims = ad_dims(w, a, a->type, &nd);
      t = ad_fill(w, t, dims, nd);
    }
    (*out)[(*n)++] = t;
  }
}

/* The old loop's value and tangent from the new loop's. */
static void dual_results(Forward *f, int at, const Node *loop, const LoopInfo *l, const LoopInfo *nl, const bool *act, Graph *b) {
  World *w = f->w;
  Node *n = f->nodes[at];
  int slots = l->ncarried + l->naccs, total = slots + l->nstacked;
  Node **ys = NEW_ARRAY(w->arena, Node *, total + 1), **ts = NEW_ARRAY(w->arena, Node *, total + 1);
  IrType *ct = ad_cotangent(w, n->type);
  int bounds[4] = {0, l->ncarried, slots, total}, k = 0;
  for (int part = 0; part < 3; part++) {
    for (int i = bounds[part]; i < bounds[part + 1]; i++) ys[i] = ir_get(w, (Node *)loop, k++);
    for (int i = bounds[part]; i < bounds[part + 1]; i++) {
      bool active = part < 2 ? act[1 + i] : ad_result_active(w, b, act, i);
      Node *t = active ? ir_get(w, (Node *)loop, k++) : ir_zero(w, ct->args[i]);
      ts[i] = active && part == 2 ? ir_make(w, OP_TO_BAG, ct->args[i], &t, 1) : t;
    }
  }
  (void)nl;
  ys[total] = ir_get(w, (Node *)loop, loop->type->n - 1);
  ts[total] = ir_unit(w);
  f->val[at] = ir_tuple(w, n->type, ys);
  f->tan[at] = ir_tuple(w, ct, ts);
}

static void tangent_loop(Forward *f, int at) {
  World *w = f->w;
  Node *n = f->nodes[at];
  const LoopInfo *l = n->loop;
  Graph *b = n->graphs[0];
  int counted = !l->has_cond, slots = l->ncarried + l->naccs, nparams = b->nparams;
  Node **ops = n->ops + counted;
  bool *have = NEW_ARRAY(w->arena, bool, nparams + 1);
  for (int i = 0; i + 1 < nparams; i++) have[i] = tan_or_null(f, ops[i]) != NULL;
  bool *act = ad_body_activity(w, b, l, have);
  DualLoop d = dual_layout(w, b, l, act, false);
  Graph *body = dual_body(w, b, &d), *cond = NULL;
  if (l->has_cond) {
    Graph *c = n->graphs[1];
    bool *cact = NEW_ARRAY(w->arena, bool, c->nparams + 1);
    for (int i = 0; i < 1 + l->ncarried; i++) cact[i] = act[i];
    for (int i = 1 + l->ncarried; i < c->nparams; i++) cact[i] = act[i + l->naccs + l->nsliced];
    DualLoop dc = dual_layout(w, c, l, cact, true);
    cond = dual_cond(w, c, &dc);
  }
  Node **out = NEW_ARRAY(w->arena, Node *, 2 * nparams);
  int nout = 0, s2 = slots + l->nsliced;
  push_range(f, ops, act, 0, l->ncarried, false, &out, &nout);
  push_range(f, ops, act, l->ncarried, slots, false, &out, &nout);
  push_range(f, ops, act, slots, s2, true, &out, &nout);
  push_range(f, ops, act, s2, nparams - 1, false, &out, &nout);
  LoopInfo nl = *l;
  nl.ncarried += count_active(act, 1, 1 + l->ncarried);
  nl.naccs += count_active(act, 1 + l->ncarried, 1 + slots);
  nl.nsliced += count_active(act, 1 + slots, 1 + s2);
  nl.ncaps += count_active(act, 1 + s2, nparams);
  nl.nstacked = body->result->type->n - nl.ncarried - nl.naccs;
  Node *loop = ir_loop(w, &nl, counted ? val(f, n->ops[0]) : NULL, out, body, cond, n->site);
  dual_results(f, at, loop, l, &nl, act, b);
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
