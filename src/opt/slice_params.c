/* SPDX-License-Identifier: MIT */
/* Array parameters of recursive functions whose recursive calls pass slices of the same parameter. The parameter is
 * replaced by three: the whole array, a start and a length.
 *
 *   two v = … two v[..2] + sin (two v[2..])  →  two w s n = … two w s 2 + sin (two w (s + 2) (n - 2))
 *
 * The calls allocate no slice, and the derivative has one accumulator, that of the whole array. Without the rewriting
 * each call allocates an accumulator for its own slice, and its caller adds that to its own: quadratic work. For mutual
 * recursion the condition is a cycle in the graph of parameters, whose edges are calls that pass a parameter, or a
 * slice of it, as another parameter; one edge at least has to be a slice.
 *
 * This file finds the parameters and creates the functions. index_composition.c rewrites the calls, and moves the
 * slice operation that replaces the parameter in the new function to its uses. */
#include "opt/opt.h"

/* A parameter, and one that it is handed on as. */
typedef struct Param {
  Func *f;
  int k;
  bool taken;  /* over the whole, a start and a length */
  bool begins; /* reached from where the edge that is looked at ends */
  bool leads;  /* leads to where it begins */
} Param;

typedef struct Edge {
  int from, to;
  bool slice;
} Edge;

/* Where an array comes from: one of `params` (-1: none), or a slice of it. */
typedef struct Origin {
  int param;
  bool slice;
} Origin;

struct SliceParams {
  World *w;
  Map first; /* function -> 1 + index of its first parameter in `params` */
  Map made;  /* function -> the one over places */
  Vec(Func *) funcs;
  Vec(Param) params;
  Vec(Edge) edges;
};

/* ---- What is handed on ------------------------------------------------------------------------------------------- */
static bool may_change(const Func *f) { return f->recursive && f->graph && !f->opaque && !f->pullback && !f->tangent; }

static void add_called(void *user, const Node *call) {
  SliceParams *s = user;
  Func *f = call->attr.func;
  if (!may_change(f) || map_get(&s->first, f)) return;
  map_put(&s->first, f, (void *)(uintptr_t)(1 + s->params.len));
  vec_push(s->w->temp, s->funcs, f);
  for (int k = 0; k < f->nparams; k++) vec_push(s->w->temp, s->params, ((Param){.f = f, .k = k}));
}

static int index_of(const SliceParams *s, const Func *f) { return (int)(uintptr_t)map_get(&s->first, f) - 1; }

static Origin origin_of(const Node *x, const Origin *params) {
  Origin o = {.param = -1};
  if (x->type->kind != T_ARRAY) return o;
  bool slice = false;
  for (; x->op == OP_SLICE || x->op == OP_AFTER; x = x->ops[0]) slice |= x->op == OP_SLICE;
  if (x->op == OP_PARAM) o = params[x->attr.i];
  o.slice |= slice;
  return o;
}

static void see_call(SliceParams *s, const Node *call, const Origin *params) {
  int first = index_of(s, call->attr.func);
  for (int k = 0; first >= 0 && k < call->nops; k++) {
    Origin o = origin_of(call->ops[k], params);
    if (o.param >= 0) vec_push(s->w->temp, s->edges, ((Edge){o.param, first + k, o.slice}));
  }
}

static void see_graph(SliceParams *s, Graph *g, const Origin *params);

/* Graph a of branch or loop x. */
static void see_inside(SliceParams *s, const Node *x, int a, const Origin *params) {
  Graph *g = x->graphs[a];
  Origin *inner = NEW_ARRAY(s->w->temp, Origin, g->nparams + 1);
  for (int p = 0; p < g->nparams; p++) inner[p].param = -1;
  for (int k = 0; k < x->nops; k++) {
    bool captured = x->op == OP_SWITCH || loop_part(x->loop, k - loop_first(x->loop)) == LOOP_CAPTURED;
    int p = captured ? ir_inner_param(x, a, k) : -1;
    if (p >= 0) inner[p] = origin_of(x->ops[k], params);
  }
  see_graph(s, g, inner);
}

static void see_graph(SliceParams *s, Graph *g, const Origin *params) {
  Node **nodes;
  int n = ir_order(s->w->temp, g, &nodes);
  for (int i = 0; i < n; i++) {
    if (nodes[i]->op == OP_CALL) see_call(s, nodes[i], params);
    for (int a = 0; ir_is_control(nodes[i]) && a < nodes[i]->ngraphs; a++) see_inside(s, nodes[i], a, params);
  }
}

/* ---- Which are taken so ------------------------------------------------------------------------------------------ */
/* Marks the parameters on the way from the end of slicing edge e back to its beginning. */
static void see_cycle(SliceParams *s, Edge e) {
  for (int i = 0; i < s->params.len; i++) {
    s->params.data[i].begins = i == e.to;
    s->params.data[i].leads = i == e.from;
  }
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < s->edges.len; i++) {
      Param *from = &s->params.data[s->edges.data[i].from], *to = &s->params.data[s->edges.data[i].to];
      more |= (from->begins && !to->begins) || (to->leads && !from->leads);
      to->begins |= from->begins;
      from->leads |= to->leads;
    }
  }
  for (int i = 0; i < s->params.len; i++)
    s->params.data[i].taken |= s->params.data[i].begins && s->params.data[i].leads;
}

SliceParams *opt_slice_params(World *w, Graph *g) {
  SliceParams *s = NEW(w->temp, SliceParams);
  s->w = w;
  map_init(&s->first, w->temp);
  map_init(&s->made, w->temp);
  opt_each_call(w, g, add_called, s);
  for (int i = 0; i < s->funcs.len; i++) {
    const Func *f = s->funcs.data[i];
    Origin *params = NEW_ARRAY(w->temp, Origin, f->nparams + 1);
    for (int k = 0; k < f->nparams; k++) params[k].param = index_of(s, f) + k;
    see_graph(s, f->graph, params);
  }
  for (int i = 0; i < s->edges.len; i++) {
    Edge e = s->edges.data[i];
    if (e.slice && !(s->params.data[e.from].taken && s->params.data[e.to].taken)) see_cycle(s, e);
  }
  return s;
}

bool opt_takes_slice(const SliceParams *s, const Func *f, int k) {
  int first = index_of(s, f);
  return first >= 0 && s->params.data[first + k].taken;
}

bool opt_takes_slices(const SliceParams *s, const Func *f) {
  for (int k = 0; k < f->nparams; k++)
    if (opt_takes_slice(s, f, k)) return true;
  return false;
}

/* ---- Functions over places --------------------------------------------------------------------------------------- */
Func *opt_func_over_places(SliceParams *s, Func *f) {
  Func *out = map_get(&s->made, f);
  if (out) return out;
  FuncEdit e = edit_func(s->w, f);
  IrType *number = ir_type(s->w, T_INT);
  for (int k = 0; k < f->nparams; k++) {
    e.args[k] = edit_param(&e, f->params[k]);
    if (!opt_takes_slice(s, f, k)) continue;
    Node *from = edit_param(&e, number), *n = edit_param(&e, number);
    e.args[k] = ir_slice(s->w, e.args[k], from, n);
  }
  out = edit_func_close(&e, edit_func_result(&e));
  map_put(&s->made, f, out);
  return out;
}
