/* SPDX-License-Identifier: MIT */
/* Functions as graphs. One that is known where it is applied is its closure's graph. One that isn't can
 * only be one of the closures of its type that the program makes: the dispatcher of a function type asks
 * which, and calls that graph with the captures taken out of the closure. So to a pass that transforms
 * calls an unknown call is a branch between known ones, and function values need not change. */
#include "ir/ir_internal.h"
#include "ir/surgery.h"
#include <string.h>

Target ir_target(World *w, Node *f, Node *x, Node *token, Site site) {
  bool known = f->op == OP_CLOSURE;
  Vec(Node *) args = {0};
  vec_push(w->arena, args, x);
  if (token) vec_push(w->arena, args, token);
  int own = args.len;
  if (!known) vec_push(w->arena, args, f);
  for (int i = 0; known && i < f->nops; i++) vec_push(w->arena, args, f->ops[i]);
  if (known) return (Target){f->graphs[0], args.data};
  IrType *ps[3] = {x->type, token ? token->type : f->type, f->type};
  Node *pf = ir_param(w, own, f->type), *pt = token ? ir_param(w, 1, token->type) : NULL;
  Node *y = ir_apply(w, pf, ir_param(w, 0, x->type), pt, site);
  return (Target){ir_graph(w, ps, own + 1, y, NULL), args.data};
}

/* ---- Unknown functions ------------------------------------------------------------------------ */
typedef struct Candidates {
  Vec(Graph *) all;
  int derive;          /* how many of them take derivatives */
} Candidates;

static void find_derivative(void *user, Graph *g) {
  if (g->flags & NODE_AD) *(bool *)user = true;
}

void ir_register_closure(World *w, Node *closure) {
  Graph *g = closure->graphs[0];
  Candidates *c = map_get(tables(w)->closures, closure->type);
  if (!c) {
    c = NEW(w->arena, Candidates);
    map_put(tables(w)->closures, closure->type, c);
  }
  for (int i = 0; i < c->all.len; i++)
    if (c->all.data[i] == g || (g->identity && c->all.data[i]->identity == g->identity)) return;
  if (!g->identity) g->identity = ++w->identities;
  bool derives = false;
  ir_walk_rules(w, g, find_derivative, &derives);
  c->derive += derives;
  vec_push(w->arena, c->all, g);
  tables(w)->version++;
}

bool ir_escapes(const Node *user, int operand) { return operand > 0 || !(op_flags[user->op] & OPF_A); }

static void register_graph(void *user, Graph *g) {
  World *w = user;
  Node **nodes;
  int n = ir_order(w->arena, g, &nodes);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < nodes[i]->nops; k++)
      if (nodes[i]->ops[k]->op == OP_CLOSURE && ir_escapes(nodes[i], k)) ir_register_closure(w, nodes[i]->ops[k]);
  if (g->result->op == OP_CLOSURE) ir_register_closure(w, g->result);
}

void ir_register_closures(World *w, Graph *g) { ir_walk_rules(w, g, register_graph, w); }

static bool holds_function(IrType *t, Map *seen) {
  if (t->kind == T_FUN) return true;
  if (t->kind == T_VARIANT && map_get(seen, t)) return false;
  if (t->kind == T_VARIANT) map_put(seen, t, t);
  for (int i = 0; i < t->nctors; i++)
    if (holds_function(t->ctors[i].payload, seen)) return true;
  for (int i = 0; i < t->n; i++)
    if (holds_function(t->args[i], seen)) return true;
  return false;
}

typedef struct Exchange { World *w; bool found; } Exchange;

static void find_functions(void *user, Graph *g) {
  Exchange *e = user;
  Node **nodes;
  int n = ir_order(e->w->temp, g, &nodes);
  Map seen;
  map_init(&seen, e->w->temp);
  for (int i = 0; i < n; i++) e->found |= nodes[i]->op == OP_GLOBAL && holds_function(nodes[i]->type, &seen);
}

bool ir_exchanges_functions(World *w, Graph *entry) {
  Exchange e = {.w = w};
  Map seen;
  map_init(&seen, w->temp);
  e.found = holds_function(entry->result->type, &seen);
  for (int i = 0; i < entry->nparams; i++) e.found |= holds_function(entry->params[i], &seen);
  ir_walk_rules(w, entry, find_functions, &e);
  return e.found;
}

void ir_closures_of(World *w, Graph *entry) {
  Tables *t = tables(w);
  t->version++;
  t->closures = &t->shared;
  if (ir_exchanges_functions(w, entry)) return;
  t->closures = NEW(w->arena, Map);
  map_init(t->closures, w->arena);
  ir_register_closures(w, entry);
}

static Node *call_candidate(World *w, Graph *g, Node **caps, int own) {
  Node **args = NEW_ARRAY(w->arena, Node *, g->nparams + 1);
  for (int i = 0; i < own; i++) args[i] = caps[1 + i];
  for (int i = own; i < g->nparams; i++) args[i] = ir_closure_cap(w, caps[0], g, i - own);
  return ir_call(w, ir_graph_func(w, g), args, 0);
}

/* A candidate that takes derivatives of unknown functions does so of other candidates, these of others, and so on, each at most
 * once on such a path. So deep paths are followed: as deep as there are few enough of them. */
enum { MOST_PATHS = 1500 };
static int deepest(const Candidates *c) {
  int depth = 1;
  for (int64_t paths = c->derive; depth < c->derive && paths * c->derive <= MOST_PATHS; paths *= c->derive) depth++;
  return depth;
}

/* The candidates that can be called now; those that are being rewritten can't, nor, too deep, those that take derivatives. */
static int available(World *w, const Candidates *c, Graph **out) {
  Rewriter *r = tables(w)->rewriter;
  int n = 0;
  bool deep = c && r && rewrite_depth(r) > deepest(c);
  for (int i = 0; c && i < c->all.len; i++) {
    Graph *g = c->all.data[i];
    if (r && rewrite_miss(r, g)) continue;
    bool derives = false;
    if (deep) ir_walk_rules(w, g, find_derivative, &derives);
    if (derives) rewrite_miss_all(r);
    else out[n++] = g;
  }
  return n;
}

/* types: of the function, its argument and the token, if any; n of them. */
static Node *dispatch(World *w, Graph **candidates, int count, IrType **types, int n, Node *unknown) {
  Rewriter *r = tables(w)->rewriter;
  Node *caps[3], *y = unknown;
  for (int i = 0; i < n; i++) caps[i] = ir_param(w, i, types[i]);
  for (int i = 0; i < count; i++) {
    Graph *g = r ? rewrite_graph(r, candidates[i]) : candidates[i];
    Node *is = ir_op2(w, OP_IEQ, ir_op1(w, OP_CLOSURE_ID, caps[0]), ir_graph_id(w, g));
    Node *call = call_candidate(w, g, caps, n - 1);
    Graph *arms[2] = {ir_graph(w, types, n, y, NULL), ir_graph(w, types, n, call, NULL)};
    y = ir_switch(w, is, arms, 2, caps, n);
  }
  return y;
}

/* Whoever applies an unknown function, now or when derivatives are made, may come back to any dispatcher. */
static void find_unknown(void *user, Graph *g) {
  if (g->flags & (NODE_APPLIES | NODE_AD)) *(bool *)user = true;
}

Func *ir_dispatcher(World *w, IrType *fun, const char *unknown, const char *unfinished) {
  const Candidates *c = map_get(tables(w)->closures, fun);
  Graph **candidates = NEW_ARRAY(w->temp, Graph *, (c ? c->all.len : 0) + 1);
  int count = available(w, c, candidates);
  void **known = ir_memo_closures(w, fun, "dispatcher", unknown, strlen(unknown));
  if (*known) return *known;
  int n = 2 + fun->effect;
  IrType *ts[3] = {fun, fun->args[0], ir_type(w, T_TOKEN)};
  IrType *result = fun->effect ? ir_pair_type(w, fun->args[1], ts[2]) : fun->args[1];
  Func *f = *known = ir_func(w, sym_of(w->syms, "apply"), ts, n, result);
  f->recursive = true;
  const char *why = c && count < c->all.len ? unfinished : unknown;
  Node *fail = ir_fail(w, FAIL_RULE, result, ir_string(w, sym_of(w->syms, why)), 0);
  ir_func_finish(w, f, dispatch(w, candidates, count, ts, n, fail));
  f->recursive = false;
  ir_walk_rules(w, f->graph, find_unknown, &f->recursive);
  *ir_memo_closures(w, fun, "dispatcher", unknown, strlen(unknown)) = f; /* others may have been missed meanwhile, but not here */
  return f;
}
