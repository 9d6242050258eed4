/* SPDX-License-Identifier: MIT */
/* Specialisation: functions made once more for the closures that a call passes to them.
 *
 * A function without a derivative rule gets the captures of the closures as parameters in place of these:
 *
 *   map(f, xs) = … f x …,  map(closure g (t), ys)   →   map_g(t, xs) = … g(x, t) …,  map_g(t, ys)
 *
 * A function with a rule stays a call until differentiation is done, and differentiation needs its operands as they
 * are. So it is specialised together with its rules and keeps its parameters: one that is a closure of graph g is
 * replaced, in the graphs, by the closure of g over what the parameter captures. The function that a VJP or JVP
 * differentiates is specialised to functions within the point in the same way.
 *
 *   argmin(f, x0) = … grad f …,  argmin(closure g (t), y)
 *     →   argmin_g(f, x0) = … grad (closure g (f.capture 0)) …,  argmin_g(closure g (t), y)
 *   vjp (fun (h, y) -> h y) (closure g (t), x)
 *     →   vjp (fun (h, y) -> g (y, h.capture 0)) (closure g (t), x)
 *
 * There an identity (Graph.identity) fixes the order of a closure's captures. That is done where all is made anew
 * (simplify): before that closures may become simpler.
 *
 * Specialisation within specialisation stops at a depth: LIMIT_SPECIAL_DEPTH. */
#include "ir/ir_internal.h"

/* ---- Functions without a rule --------------------------------------------------------------- */
/* A function that takes derivatives is specialised less deep: each level would be differentiated once more
 * than the one before. */
static bool worth_specialising(World *w, Node **args, int n, int depth) {
  bool found = false;
  for (int i = 0; i < n; i++) {
    if (args[i]->op != OP_CLOSURE) continue;
    bool derives = args[i]->graphs[0]->flags & NODE_AD;
    if (depth >= (derives ? LIMIT_SPECIAL_DERIVATIVES : LIMIT_SPECIAL_DEPTH))
      return !limit_reached(w->arena, derives ? AT_SPECIAL_DERIVATIVES : AT_SPECIAL_DEPTH);
    found = true;
  }
  return found;
}

/* What f was specialised to. */
static Map *specialised(World *w, Func *f) {
  if (f->specialised) return f->specialised;
  SAVE(w->arena, f->specialised);
  f->specialised = NEW(w->arena, Map);
  map_init(f->specialised, w->arena);
  return f->specialised;
}

/* f with its function arguments replaced by the graphs they have here; their captures become parameters. */
Node *ir_specialised_call(World *w, Func *f, Node **args, Site site) {
  Compilation *c = compilation(w);
  if (c->general_calls || !worth_specialising(w, args, f->nparams, c->special_depth)) return NULL;
  uint64_t h = f->id;
  Vec(Node *) actual = {0};
  Vec(IrType *) types = {0};
  Node **formal = NEW_ARRAY(w->arena, Node *, f->nparams);
  for (int i = 0; i < f->nparams; i++) {
    Node *a = args[i];
    int own = a->op == OP_CLOSURE ? a->nops : 1;
    Node **part = a->op == OP_CLOSURE ? a->ops : &args[i], **ps = NEW_ARRAY(w->arena, Node *, own + 1);
    for (int k = 0; k < own; k++) {
      ps[k] = ir_param(w, actual.len, part[k]->type);
      vec_push(w->arena, actual, part[k]);
      vec_push(w->arena, types, part[k]->type);
    }
    formal[i] = a->op == OP_CLOSURE ? ir_closure(w, a->graphs[0], a->type, ps, own) : ps[0];
    h = hash_mix(h, a->op == OP_CLOSURE ? a->graphs[0]->id : 0);
    for (int k = 0; k < own && a->op == OP_CLOSURE; k++) h = hash_mix(h, part[k]->type->id);
  }
  const void *key = (const void *)(uintptr_t)(h | 1);
  Map *known = specialised(w, f);
  Func *s = map_get(known, key);
  if (!s) {
    s = ir_func(w, f->name, types.data, types.len, f->result);
    s->recursive = f->recursive;
    s->span = f->span;
    map_put(known, key, s);
    Inlining around = c->inlining;
    c->inlining = (Inlining){0}; /* what the function becomes doesn't depend on where it is first called */
    c->special_depth++;
    ir_func_finish(w, s, ir_instantiate(w, f->graph, formal, 0));
    c->special_depth--;
    c->inlining = around;
  }
  return s->graph ? ir_call(w, s, actual.data, site) : ir_plain_call(w, s, actual.data, site);
}

/* ---- Known functions behind parameters -------------------------------------------------------- */
/* A number for the closures in x, through tuples; 0: none. Gives their graphs an identity. With places, it differs for
 * copies of a graph that differ in the places of their errors. */
static uint64_t known_closures(World *w, const Node *x, bool places) {
  if (x->op == OP_CLOSURE) {
    ir_identify(w, x->graphs[0]);
    return places ? x->graphs[0]->id : x->graphs[0]->identity;
  }
  uint64_t h = 0;
  for (int i = 0; x->op == OP_TUPLE && i < x->nops; i++) {
    uint64_t k = known_closures(w, x->ops[i], places);
    if (k) h = hash_mix(hash_mix(h, (uint64_t)i + 1), k);
  }
  return h;
}

static Node *closure_behind(World *w, Graph *g, Node *p) {
  int own = 1 + p->type->effect, n = g->nparams - own;
  Node **caps = NEW_ARRAY(w->arena, Node *, n + 1);
  for (int k = 0; k < n; k++) caps[k] = ir_closure_cap(w, p, g, k);
  return ir_closure(w, g, p->type, caps, n);
}

/* p, which is x at run time: the closures in x are closures of their graphs over what is captured in p. */
static Node *known_behind(World *w, const Node *x, Node *p) {
  if (x->op == OP_CLOSURE) return closure_behind(w, x->graphs[0], p);
  if (x->op != OP_TUPLE) return p;
  Node **parts = NEW_ARRAY(w->arena, Node *, x->nops + 1);
  for (int i = 0; i < x->nops; i++) parts[i] = known_behind(w, x->ops[i], ir_get(w, p, i));
  return ir_tuple(w, x->type, parts);
}

/* The graph of g with its first n parameters known as they are in xs. */
static Node *result_for(World *w, Graph *g, Node **xs, int n) {
  Node **args = NEW_ARRAY(w->arena, Node *, g->nparams + 1);
  for (int i = 0; i < g->nparams; i++) {
    args[i] = ir_param(w, i, g->params[i]);
    if (i < n) args[i] = known_behind(w, xs[i], args[i]);
  }
  return ir_instantiate(w, g, args, 0);
}

static bool is_too_deep(World *w) {
  return compilation(w)->special_depth >= LIMIT_SPECIAL_DEPTH && limit_reached(w->arena, AT_SPECIAL_DEPTH);
}

Node *ir_differentiated(World *w, Node *f, Node *x) {
  Compilation *c = compilation(w);
  if (!c->renormalise || f->op != OP_CLOSURE || !known_closures(w, x, false) || is_too_deep(w)) return f;
  Graph *g = f->graphs[0];
  c->special_depth++;
  g = ir_graph(w, g->params, g->nparams, result_for(w, g, &x, 1), g->name);
  c->special_depth--;
  return ir_closure(w, g, f->type, f->ops, f->nops);
}

/* ---- Functions with a rule --------------------------------------------------------------------- */
static bool is_finished(const Func *f) {
  if (!f->graph || (!f->pullback && !f->tangent)) return false;
  return (!f->pullback || f->pullback->graph) && (!f->tangent || f->tangent->graph);
}

static Func *declare_like(World *w, const Func *f) {
  Func *s = ir_func(w, f->name, f->params, f->nparams, f->result);
  s->recursive = f->recursive;
  s->span = f->span;
  return s;
}

static void finish_for(World *w, const Func *f, Func *s, Node **args, int n) {
  if (f) ir_func_finish(w, s, result_for(w, f->graph, args, n));
}

/* s, declared: f for what is known of args. */
static void make_for(World *w, const Func *f, Func *s, Node **args, const uint64_t *made_for) {
  Compilation *c = compilation(w);
  s->opaque = true;
  s->ruled = f->ruled;
  s->made_for = made_for;
  if (f->pullback) s->pullback = declare_like(w, f->pullback);
  if (f->tangent) s->tangent = declare_like(w, f->tangent);
  Inlining around = c->inlining;
  c->inlining = (Inlining){0};
  c->special_depth++;
  finish_for(w, f, s, args, f->nparams);
  finish_for(w, f->pullback, s->pullback, args, f->nparams);
  finish_for(w, f->tangent, s->tangent, args, f->nparams);
  c->special_depth--;
  c->inlining = around;
}

Node *ir_opaque_call(World *w, Func *f, Node **args, Site site) {
  Compilation *c = compilation(w);
  if (!c->renormalise || c->general_calls || !is_finished(f)) return ir_plain_call(w, f, args, site);
  uint64_t *made_for = NEW_ARRAY(w->arena, uint64_t, f->nparams), h = 0;
  for (int i = 0; i < f->nparams; i++) {
    made_for[i] = known_closures(w, args[i], false);
    if (f->made_for && (!made_for[i] || made_for[i] == f->made_for[i])) made_for[i] = f->made_for[i];
    else if (made_for[i]) h = hash_mix(hash_mix(h, (uint64_t)i + 1), known_closures(w, args[i], true));
  }
  if (!h || is_too_deep(w)) return ir_plain_call(w, f, args, site);
  Map *known = specialised(w, f);
  const void *key = (const void *)(uintptr_t)(h | 1);
  Func *s = map_get(known, key);
  if (!s) {
    s = declare_like(w, f);
    map_put(known, key, s);
    make_for(w, f, s, args, made_for);
  }
  return ir_plain_call(w, s, args, site);
}
