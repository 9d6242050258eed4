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

static Func *split(World *w, const Func *f) {
  Nodes params = {0}, results = {0};
  Vec(IrType *) types = {0};
  Node **args = NEW_ARRAY(w->temp, Node *, f->nparams + 1);
  for (int k = 0; k < f->nparams; k++) {
    int first = params.len;
    add_parts(w, ir_param(w, k, f->params[k]), &params);
    for (int i = first; i < params.len; i++) {
      vec_push(w->arena, types, params.data[i]->type);
      params.data[i] = ir_param(w, i, params.data[i]->type);
    }
    Node **at = params.data + first;
    args[k] = of_parts(w, f->params[k], &at);
  }
  add_parts(w, ir_instantiate(w, f->graph, args, 0), &results);
  Node *result = ir_record(w, results.data, results.len);
  Func *out = ir_func(w, f->name, types.data, types.len, result->type);
  out->span = f->span;
  out->recursive = f->recursive;
  out->opaque = f->opaque;
  ir_func_finish(w, out, result);
  return out;
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
