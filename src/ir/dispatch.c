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
typedef struct Candidates { Vec(Graph *) all; } Candidates;

void ir_register_closure(World *w, Node *closure) {
  Candidates *c = map_get(&tables(w)->closures, closure->type);
  if (!c) {
    c = NEW(w->arena, Candidates);
    map_put(&tables(w)->closures, closure->type, c);
  }
  for (int i = 0; i < c->all.len; i++)
    if (c->all.data[i] == closure->graphs[0]) return;
  if (!closure->graphs[0]->identity) closure->graphs[0]->identity = ++w->identities;
  vec_push(w->arena, c->all, closure->graphs[0]);
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

static Node *call_candidate(World *w, Graph *g, Node **caps, int own) {
  Node **args = NEW_ARRAY(w->arena, Node *, g->nparams + 1);
  for (int i = 0; i < own; i++) args[i] = caps[1 + i];
  for (int i = own; i < g->nparams; i++) args[i] = ir_closure_cap(w, caps[0], g, i - own);
  return ir_call(w, ir_graph_func(w, g), args, 0);
}

/* types: of the function, its argument and the token, if any; n of them. */
static Node *dispatch(World *w, const Candidates *c, IrType **types, int n, Node *unknown) {
  Rewriter *r = tables(w)->rewriter;
  Node *caps[3], *y = unknown;
  for (int i = 0; i < n; i++) caps[i] = ir_param(w, i, types[i]);
  for (int i = 0; c && i < c->all.len; i++) {
    Graph *g = c->all.data[i];
    if (r && rewrite_busy(r, g)) continue;
    if (r) g = rewrite_graph(r, g);
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

/* Is a candidate being rewritten, so that what becomes of it isn't known yet? */
static bool any_busy(World *w, const Candidates *c) {
  const Rewriter *r = tables(w)->rewriter;
  for (int i = 0; c && r && i < c->all.len; i++)
    if (rewrite_busy(r, c->all.data[i])) return true;
  return false;
}

Func *ir_dispatcher(World *w, IrType *fun, const char *unknown, const char *unfinished) {
  void **known = ir_memo_closures(w, fun, "dispatcher", unknown, strlen(unknown));
  if (*known) return *known;
  const Candidates *c = map_get(&tables(w)->closures, fun);
  bool busy = any_busy(w, c);
  tables(w)->unfinished |= busy;
  int n = 2 + fun->effect;
  IrType *ts[3] = {fun, fun->args[0], ir_type(w, T_TOKEN)};
  IrType *result = fun->effect ? ir_pair_type(w, fun->args[1], ts[2]) : fun->args[1];
  Func *f = *known = ir_func(w, sym_of(w->syms, "apply"), ts, n, result);
  f->recursive = true;
  Node *fail = ir_fail(w, FAIL_RULE, result, ir_string(w, sym_of(w->syms, busy ? unfinished : unknown)), 0);
  ir_func_finish(w, f, dispatch(w, c, ts, n, fail));
  f->recursive = false;
  ir_walk_rules(w, f->graph, find_unknown, &f->recursive);
  return f;
}
