/* SPDX-License-Identifier: MIT */
/* What calls hold of accumulators gets places of its own: of a function with accumulators in tuples, which records of
 * arrays have, each part is a parameter or a result.
 *
 *   f t (a, b)  =  … (c, d)      →      f t a b  =  … c d
 *
 * So opt_dense can make arrays of some of them, and opt_provenance follow them through calls. */
#include "opt/opt.h"

typedef struct Calls {
  World *w;
  Map split; /* function -> the one with parts */
} Calls;

static void add_parts(World *w, Node *x, Nodes *out) {
  if (x->type->kind != T_TUPLE) vec_push(w->temp, *out, x);
  else
    for (int k = 0; k < x->type->n; k++) add_parts(w, ir_get(w, x, k), out);
}

/* A value of type t of its parts, the next ones of those from *at on. */
static Node *of_parts(World *w, IrType *t, Node ***at) {
  if (t->kind != T_TUPLE) return *(*at)++;
  Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
  for (int k = 0; k < t->n; k++) xs[k] = of_parts(w, t->args[k], at);
  return ir_tuple(w, t, xs);
}

static bool is_flat(const IrType *t) {
  for (int k = 0; k < t->n; k++)
    if (t->args[k]->kind == T_TUPLE) return false;
  return t->kind == T_TUPLE;
}

static bool is_worth_it(const Func *f) {
  bool bags = opt_holds_bag(f->result), parts = is_flat(f->result);
  for (int k = 0; k < f->nparams; k++) {
    bags |= opt_holds_bag(f->params[k]);
    parts &= f->params[k]->kind != T_TUPLE;
  }
  return f->graph && bags && !parts;
}

/* A value of type t, whose parts are parameters of their own. */
static Node *of_params(FuncEdit *e, IrType *t) {
  if (t->kind != T_TUPLE) return edit_param(e, t);
  Node **xs = NEW_ARRAY(e->w->arena, Node *, t->n);
  for (int k = 0; k < t->n; k++) xs[k] = of_params(e, t->args[k]);
  return ir_tuple(e->w, t, xs);
}

static Func *split(World *w, const Func *f) {
  FuncEdit e = edit_func(w, f);
  Nodes results = {0};
  for (int k = 0; k < f->nparams; k++) e.args[k] = of_params(&e, f->params[k]);
  add_parts(w, edit_func_result(&e), &results);
  return edit_func_close(&e, ir_record(w, results.data, results.len));
}

static Node *call_split(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  (void)graphs;
  Calls *c = user;
  if (n->op != OP_CALL || !is_worth_it(n->attr.func)) return NULL;
  Func *f = n->attr.func, *out = map_get(&c->split, f);
  if (!out) map_put(&c->split, f, out = split(c->w, f));
  Nodes args = {0}, results = {0};
  for (int k = 0; k < f->nparams; k++) add_parts(c->w, ops[k], &args);
  add_parts(c->w, ir_call(c->w, rewrite_func(r, out), args.data, n->site), &results);
  Node **at = results.data;
  return of_parts(c->w, f->result, &at);
}

Graph *opt_unpack_accumulators(World *w, Graph *g) {
  Calls c = {.w = w};
  map_init(&c.split, w->temp);
  return ir_rewrite(w, g, (RewritePass){.user = &c, .node = call_split});
}
