/* SPDX-License-Identifier: MIT */
/* Substitution and what is built on it: beta-reduction, inlining, and unrolling of recursion on known arguments.
 * Specialisation on known functions is in specialise.c.
 *
 * Graphs are closed, so instantiating one visits only its own nodes. Nested graphs are shared; only their source
 * places may be extended by the call they are inlined at. Growth is bounded in four ways:
 *
 * - A graph over LIMIT_INLINE_SIZE stays a call.
 * - Specialisation and unrolling stop at a depth.
 * - Unrolling stops after a number of steps per definition, too, and is kept only if no recursive call is left.
 * - Inlining within inlining doesn't terminate where a function reaches itself through data. It stops at a depth and
 *   a number, and then its outermost call stays a call. */
#include "ir/ir_internal.h"
#include "ir/remarks.h"
#include <string.h>

/* ---- Instantiation --------------------------------------------------------------- */
static Graph *resite(World *w, Graph *g, Site site) {
  if (!site || !(g->flags & NODE_FAILS)) return g;
  /* exact: a collision would swap graphs */
  const void *key = (const void *)(uintptr_t)((uint64_t)g->id << 32 | site);
  Graph *r = map_get(&compilation(w)->resited, key);
  if (r) return r;
  Node **ps = NEW_ARRAY(w->arena, Node *, g->nparams + 1);
  for (int i = 0; i < g->nparams; i++) ps[i] = ir_param(w, i, g->params[i]);
  r = ir_identified(w, ir_graph(w, g->params, g->nparams, ir_instantiate(w, g, ps, site), g->name), g->identity);
  if (!compilation(w)->inlining.given_up) map_put(&compilation(w)->resited, key, r);
  return r;
}

static Node *with_site(World *w, const Node *n, Node **ops, Graph **graphs, Site site) {
  Node copy = *n;
  copy.site = ir_site_inlined(w, n->site, site);
  if (n->ngraphs && n->op != OP_CLOSURE_CAP && !(n->op == OP_INJ || n->op == OP_UNINJ)) {
    for (int i = 0; i < n->ngraphs; i++) graphs[i] = resite(w, n->graphs[i], site);
    return ir_rebuild(w, &copy, ops, graphs);
  }
  return ir_rebuild(w, &copy, ops, n->graphs);
}

static Node *instantiate_node(World *w, Node *n, const int *operands, size_t base, Site site) {
  Compilation *c = compilation(w);
  Node *few[16], **ops = n->nops <= 16 ? few : NEW_ARRAY(w->arena, Node *, n->nops);
  Graph *some[8], **graphs = n->ngraphs <= 8 ? some : NEW_ARRAY(w->arena, Graph *, n->ngraphs);
  bool same = true;
  for (int i = 0; i < n->nops; i++) {
    ops[i] = c->scratch.data[base + (size_t)operands[i]];
    same &= ops[i] == n->ops[i];
  }
  bool place = n->site || n->ngraphs || n->op == OP_FAIL; /* a failure without one is where it is inlined */
  if (site && place) return with_site(w, n, ops, graphs, site);
  if (same && !c->renormalise) return n;
  return ir_rebuild(w, n, ops, n->graphs);
}

Node *ir_instantiate_over(World *w, Graph *g, Node **args, Site site, const Map *over) {
  Compilation *c = compilation(w);
  GraphBody *b = graph_body(w, g);
  size_t base = (size_t)c->scratch.len;
  for (int i = 0; i < b->n; i++) vec_push(w->temp, c->scratch, NULL);
  const int *operands = b->operands;
  for (int i = 0; i < b->n; i++) {
    Node *n = b->nodes[i], *r;
    Node *as = over ? map_get(over, n) : NULL;
    if (as) r = as;
    else if (n->op == OP_PARAM) r = args[n->attr.i];
    else r = instantiate_node(w, n, operands, base, site);
    c->scratch.data[base + (size_t)i] = n->op == OP_PARAM ? r : ir_placed(w, r, site);
    operands += n->nops;
  }
  Node *result = c->scratch.data[base + (size_t)b->n - 1];
  c->scratch.len = (int)base;
  return result;
}

Graph *ir_graph_over(World *w, Graph *g, const Map *over) {
  Node **args = NEW_ARRAY(w->temp, Node *, g->nparams + 1);
  for (int k = 0; k < g->nparams; k++) args[k] = ir_param(w, k, g->params[k]);
  return ir_graph(w, g->params, g->nparams, ir_instantiate_over(w, g, args, 0, over), g->name);
}

Node *ir_instantiate(World *w, Graph *g, Node **args, Site site) { return ir_instantiate_over(w, g, args, site, NULL); }

Node *ir_substitute(World *w, Node *x, Node **args, int nargs, Site site) {
  if (x->op == OP_PARAM) return args[x->attr.i];
  IrType **ts = NEW_ARRAY(w->arena, IrType *, nargs + 1);
  for (int i = 0; i < nargs; i++) ts[i] = args[i] ? args[i]->type : ir_type(w, T_UNIT);
  return ir_instantiate(w, ir_graph(w, ts, nargs, x, NULL), args, site);
}

/* ---- Calls --------------------------------------------------------------------------- */
Node *ir_plain_call(World *w, Func *f, Node **args, Site site) {
  return ir_intern(
      w, &(Node){.op = OP_CALL, .type = f->result, .ops = args, .nops = f->nparams, .site = site, .attr.func = f});
}

static bool exhausted(World *w, const Inlining *i) {
  if (i->depth == LIMIT_INLINE_DEPTH) return limit_reached(w->arena, AT_INLINE_DEPTH);
  return i->left == 0 && limit_reached(w->arena, AT_INLINE_COUNT);
}

/* The call of a function with graph g, written out. f may be NULL: it is made if the call has to stay. What is made
 * after the limit was met, within the outermost call, is thrown away with it, hence is remembered nowhere. */
static Node *inlined_call(World *w, Func *f, Graph *g, Node **args, Site site) {
  Compilation *c = compilation(w);
  bool outermost = c->inlining.depth == 0;
  if (outermost) c->inlining.left = LIMIT_INLINE_COUNT;
  if (outermost && c->endless.count) {
    const Node *call = ir_plain_call(w, f ? f : ir_graph_func(w, g), args, site);
    if (map_get(&c->endless, call)) return (Node *)(uintptr_t)call;
  }
  if (!c->inlining.given_up) c->inlining.given_up = exhausted(w, &c->inlining);
  Node *r = NULL;
  if (!c->inlining.given_up) {
    c->inlining.left--;
    c->inlining.depth++;
    r = ir_instantiate(w, g, args, site);
    c->inlining.depth--;
  }
  if (!c->inlining.given_up) return r;
  Node *call = ir_plain_call(w, f ? f : ir_graph_func(w, g), args, site);
  if (!outermost) return call;
  c->inlining.given_up = false;
  map_put(&c->endless, call, call);
  return call;
}

/* A function known at compile time: it can be moved into the callee. Or a mere choice, of which some are known. */
bool ir_is_known_function(const Node *n) {
  if (n->op == OP_CLOSURE) return true;
  if (n->op != OP_SWITCH || n->type->kind != T_FUN) return false;
  bool known = false;
  for (int i = 0; i < n->ngraphs; i++) {
    const Node *r = n->graphs[i]->result;
    if (r->op == OP_PARAM) continue;
    if (!ir_is_known_function(r)) return false;
    for (int k = 0; k < r->nops; k++)
      if (r->ops[k]->op != OP_PARAM && !(op_flags[r->ops[k]->op] & OPF_K)) return false;
    known = true;
  }
  return known;
}

static bool is_known_int(const Node *x) {
  bool found = x->op == OP_INT;
  for (int i = 0; i < x->nops && x->op == OP_TUPLE; i++) found |= x->ops[i]->op == OP_INT;
  return found;
}

/* Among arguments, or the parts of one. */
static bool has_known_int(Node **args, int n) {
  bool found = false;
  for (int i = 0; i < n; i++) {
    if (args[i]->type->kind == T_TOKEN) return false;
    found |= is_known_int(args[i]);
  }
  return found;
}

/* One call of a recursion that is being followed. */
static Node *unrolled_step(World *w, Func *f, Node **args, Node *call) {
  Compilation *c = compilation(w);
  Node *known = map_get(&c->unrolling.calls, call);
  if (known || c->unrolling.failed) return known ? known : call;
  bool deep = c->unrolling.depth >= c->unrolling.deepest;
  if (deep || c->unrolling.steps >= LIMIT_UNROLL_STEPS) {
    Limit depth = c->unrolling.deepest == LIMIT_UNROLL_DEPTH ? AT_UNROLL_DEPTH : AT_UNROLL_BRANCHING;
    c->unrolling.failed = limit_reached(w->arena, deep ? depth : AT_UNROLL_STEPS);
    return call;
  }
  c->unrolling.depth++;
  c->unrolling.steps++;
  Node *r = ir_instantiate(w, f->graph, args, c->unrolling.site);
  c->unrolling.depth--;
  if (c->inlining.given_up) return call;
  if (r->flags & (NODE_CALLS | NODE_AD)) r = call;
  map_put(&c->unrolling.calls, call, r);
  return r;
}

/* How often f calls itself in graph g and in those inside. */
static int self_calls(World *w, const Func *f, Graph *g) {
  const GraphBody *b = graph_body(w, g);
  int n = 0;
  for (int i = 0; i < b->n; i++) {
    const Node *x = b->nodes[i];
    n += x->op == OP_CALL && x->attr.func == f;
    for (int k = 0; k < x->ngraphs; k++) n += self_calls(w, f, x->graphs[k]);
  }
  return n;
}

/* How deep calls of f are followed. */
static int deepest_step(World *w, const Func *f) {
  return self_calls(w, f, f->graph) > 1 ? LIMIT_UNROLL_BRANCHING : LIMIT_UNROLL_DEPTH;
}

/* Recursion on a known number: followed to its end, and kept if no call is left. Recursion that forks isn't followed:
 * it is long, and its steps are to run in several threads. What fails in it fails at the place
 * of the outermost call. The steps are counted for the definition or item that this place is in, so that what it
 * becomes doesn't depend on what was compiled before; where a step leads too far none goes on. */
static Node *unrolled_call(World *w, Func *f, Node **args, Site site) {
  Compilation *c = compilation(w);
  Node *call = ir_plain_call(w, f, args, site);
  if (c->unrolling.depth) return unrolled_step(w, f, args, call);
  const void *key = (const void *)(uintptr_t)((uint64_t)call->id << 32 | site); /* exact, as for `resited` */
  Node *r = map_get(&c->unrolled, key);
  if (r) return r;
  const void *definition = (const void *)(uintptr_t)(1 + (uint64_t)ir_site_info(w, site)->definition);
  c->unrolling.site = site;
  c->unrolling.deepest = deepest_step(w, f);
  c->unrolling.failed = false;
  c->unrolling.steps = site ? (int)(uintptr_t)map_get(&c->unroll_counts, definition) : 0;
  map_init(&c->unrolling.calls, w->temp);
  r = unrolled_step(w, f, args, call);
  if (c->inlining.given_up) return call;
  if (site) map_put(&c->unroll_counts, definition, (void *)(uintptr_t)c->unrolling.steps);
  map_put(&c->unrolled, key, r);
  return r;
}

static bool within(World *w, const Func *f, int size, Limit which) {
  return f->graph->size <= size || !limit_reached(w->arena, which);
}

static bool is_endless(World *w, const IrRule *r) {
  Compilation *c = compilation(w);
  bool deep = c->rewrite_depth >= LIMIT_RULE_DEPTH;
  if (!deep && c->rewrites < LIMIT_RULE_COUNT) return false;
  c->endless_rule = r;
  return limit_reached(w->arena, deep ? AT_RULE_DEPTH : AT_RULE_COUNT);
}

/* What the left side waits for and the right side drops. */
static Node *wait_for_dropped(World *w, const IrRule *r, Node *made, Node **bound) {
  bool *read = NEW_ARRAY(w->temp, bool, r->right->nparams + 1);
  const GraphBody *b = graph_body(w, r->right);
  for (int i = 0; i < b->n; i++)
    if (b->nodes[i]->op == OP_PARAM) read[b->nodes[i]->attr.i] = true;
  for (int i = 0; i < r->right->nparams; i++)
    if (!read[i]) made = ir_after(w, made, bound[i], bound[i]->flags & NODE_ENDLESS ? WAITS_END : WAITS_SEEN);
  return made;
}

/* What a rewrite rule makes of the call; NULL: none applies. */
static Node *rewritten_call(World *w, Func *f, Node **args, Site site) {
  Compilation *c = compilation(w);
  Node **bound;
  IrRule *r = ir_rule_for(w, f, args, &bound);
  if (!r || is_endless(w, r)) return NULL;
  r->applied++;
  c->rewrites++;
  c->rewrite_depth++;
  if (w->remarks) ir_remark(w, "rules", site, arena_printf(w->arena, "rule `%s` applied", r->name));
  Node *made = ir_instantiate(w, r->right, bound, site);
  c->rewrite_depth--;
  return wait_for_dropped(w, r, made, bound);
}

/* A call that rewrite rules may match; NULL: it is one like others by now. */
static Node *ruled_call(World *w, Func *f, Node **args, Site site) {
  const Compilation *c = compilation(w);
  if (!f->ruled || c->heads == HEADS_WRITTEN_OUT) return NULL;
  Node *r = c->heads == HEADS_REWRITTEN ? rewritten_call(w, f, args, site) : NULL;
  return r ? r : f->opaque ? ir_opaque_call(w, f, args, site) : ir_plain_call(w, f, args, site);
}

Node *ir_call(World *w, Func *f, Node **args, Site site) {
  Compilation *c = compilation(w);
  Node *ruled = ruled_call(w, f, args, site);
  if (ruled) return ruled;
  if (f->opaque && !c->inline_rules) return ir_opaque_call(w, f, args, site);
  if (!f->graph || f->outlined) return ir_plain_call(w, f, args, site);
  if (!f->recursive && within(w, f, LIMIT_INLINE_SIZE, AT_INLINE_SIZE)) return inlined_call(w, f, f->graph, args, site);
  Node *special = ir_specialised_call(w, f, args, site);
  if (special) return special;
  if (f->recursive && !(f->graph->flags & NODE_FORKS) && has_known_int(args, f->nparams) &&
      within(w, f, LIMIT_UNROLL_SIZE, AT_UNROLL_SIZE))
    return unrolled_call(w, f, args, site);
  return ir_plain_call(w, f, args, site);
}

/* ---- Closures --------------------------------------------------------------------------- */
Func *ir_graph_func(World *w, Graph *g) {
  Func *f = map_get(&tables(w)->graph_funcs, g);
  if (f) return f;
  f = ir_func(w, g->name, g->params, g->nparams, g->result->type);
  f->graph = g;
  map_put(&tables(w)->graph_funcs, g, f);
  return f;
}

/* fun x -> f x is f. */
static bool is_eta(const Graph *g, int own, int ncaps) {
  const Node *r = g->result;
  if (ncaps != 1 || r->op != OP_APPLY || r->nops != own + 1 || r->ops[0]->op != OP_PARAM || r->ops[0]->attr.i != own)
    return false;
  for (int i = 0; i < own; i++)
    if (r->ops[i + 1]->op != OP_PARAM || r->ops[i + 1]->attr.i != i) return false;
  return true;
}

Node *ir_closure(World *w, Graph *g, IrType *fun, Node **caps, int n) {
  int own = 1 + fun->effect;
  if (g->identity)
    return ir_intern(w, &(Node){.op = OP_CLOSURE, .type = fun, .ops = caps, .nops = n, .graphs = &g, .ngraphs = 1});
  CapturePlan p = ir_plan_captures(w, &g, 1, own, caps, n);
  if (p.changed) {
    Node **args = ir_plan_args(w, &p, g, own);
    g = ir_graph(w, ir_plan_types(w, &p, g, own), own + p.caps.len, ir_instantiate(w, g, args, 0), g->name);
    return ir_closure(w, g, fun, p.caps.data, p.caps.len);
  }
  if (is_eta(g, own, n)) return caps[0];
  return ir_intern(w, &(Node){.op = OP_CLOSURE, .type = fun, .ops = caps, .nops = n, .graphs = &g, .ngraphs = 1});
}

Node *ir_closure_cap(World *w, Node *c, Graph *g, int i) {
  int own = 1 + c->type->effect;
  if (c->op == OP_CLOSURE && ir_is_same_graph(c->graphs[0], g)) return c->ops[i];
  return ir_intern(w, &(Node){.op = OP_CLOSURE_CAP,
                              .type = g->params[own + i],
                              .ops = &c,
                              .nops = 1,
                              .graphs = &g,
                              .ngraphs = 1,
                              .attr.i = i});
}

Node *ir_graph_id(World *w, Graph *g) {
  return ir_intern(w, &(Node){.op = OP_GRAPH_ID, .type = ir_type(w, T_INT), .graphs = &g, .ngraphs = 1});
}

Node *ir_env(World *w, Op op, IrType *t, Graph *g, Node *x) {
  if (op == OP_UNINJ && x->op == OP_INJ && ir_is_same_graph(x->graphs[0], g)) return x->ops[0];
  if (op == OP_UNINJ && x->op == OP_ZERO) return ir_zero(w, t);
  return ir_intern(w, &(Node){.op = (uint16_t)op, .type = t, .ops = &x, .nops = 1, .graphs = &g, .ngraphs = 1});
}

/* Applying what a branch chose is choosing between applications. */
static Node *apply_switch(World *w, Node *f, Node *x, Node *token, Site site) {
  BranchBuilder *b = branch_open(w, f->ops[0]);
  for (int i = 1; i < f->nops; i++) branch_add(b, f->ops[i]);
  Node *px = branch_add(b, x), *pt = token ? branch_add(b, token) : NULL;
  for (int i = 0; i < f->ngraphs; i++) branch_arm(b, ir_apply(w, f->graphs[i]->result, px, pt, site), NULL);
  return branch_close(b);
}

Node *ir_apply(World *w, Node *f, Node *x, Node *token, Site site) {
  if (f->op == OP_CLOSURE) {
    Node **args = NEW_ARRAY(w->arena, Node *, 2 + f->nops);
    int n = 0;
    args[n++] = x;
    if (token) args[n++] = token;
    for (int i = 0; i < f->nops; i++) args[n++] = f->ops[i];
    if (f->graphs[0]->size <= LIMIT_INLINE_SIZE) return inlined_call(w, NULL, f->graphs[0], args, site);
    return ir_call(w, ir_graph_func(w, f->graphs[0]), args, site);
  }
  if (ir_is_known_function(f)) return apply_switch(w, f, x, token, site);
  IrType *r = f->type->args[1];
  IrType *ts[2] = {r, ir_type(w, T_TOKEN)};
  Node *ops[3] = {f, x, token};
  IrType *t = token ? ir_tuple_type(w, ts, NULL, 2) : r;
  return ir_intern(w, &(Node){.op = OP_APPLY, .type = t, .ops = ops, .nops = token ? 3 : 2, .site = site});
}
