/* SPDX-License-Identifier: MIT */
/* Parameters that recursive functions don't need: those that are only handed on, to themselves or to others like
 * them, and those that are the same constant in every call. Derivatives make such functions: a second stage gets
 * what it can be told again, whether it needs it or not, and an accumulator that every call begins anew. A frame of
 * a deep recursion that keeps less alive is smaller.
 *
 * First all calls are looked at (add_call), and all functions, until no more parameters turn out to be read
 * (find_read); then each function that has others is called through one with fewer parameters. */
#include "opt/opt.h"

typedef struct Params {
  World *w;
  Map read;      /* function -> bool[]: which parameters are read, as far as is known */
  Map constants; /* function -> Node *[]: the constant that all calls seen hand over, NULL if none */
  Map narrow;    /* function -> the one with fewer parameters; itself when all are read */
  Vec(Func *) funcs;
  bool news;
} Params;

/* ---- What is read ------------------------------------------------------------------------------------------------ */
static void add_call(void *user, const Node *call) {
  Params *p = user;
  Func *f = call->attr.func;
  Node **constants = map_get(&p->constants, f);
  bool first = !constants;
  if (first) {
    constants = NEW_ARRAY(p->w->temp, Node *, f->nparams + 1);
    map_put(&p->constants, f, constants);
    map_put(&p->read, f, NEW_ARRAY(p->w->temp, bool, f->nparams + 1));
    vec_push(p->w->temp, p->funcs, f);
  }
  for (int k = 0; k < f->nparams; k++) {
    if (first) constants[k] = ir_is_constant(call->ops[k]) && call->ops[k]->ngraphs == 0 ? call->ops[k] : NULL;
    else if (constants[k] != call->ops[k]) constants[k] = NULL;
  }
}

static void mark_read(Params *p, const Graph *g, bool *read);

/* Which captures of a branch some arm reads. */
static bool *read_by_arms(Params *p, const Node *n) {
  bool *read = NEW_ARRAY(p->w->temp, bool, n->nops + 1);
  for (int a = 0; a < n->ngraphs; a++) mark_read(p, n->graphs[a], read);
  return read;
}

/* Sets read[k] where g does more with its parameter k than hand it on to be ignored. */
static void mark_read(Params *p, const Graph *g, bool *read) {
  Node **nodes;
  int n = ir_order(p->w->temp, g, &nodes);
  if (g->result->op == OP_PARAM) read[g->result->attr.i] = true;
  for (int i = 0; i < n; i++) {
    const Node *x = nodes[i];
    const bool *in_call = x->op == OP_CALL ? map_get(&p->read, x->attr.func) : NULL;
    const bool *in_arms = x->op == OP_SWITCH ? read_by_arms(p, x) : NULL;
    for (int k = 0; k < x->nops; k++) {
      if (x->ops[k]->op != OP_PARAM || (in_call && !in_call[k]) || (in_arms && k > 0 && !in_arms[k - 1])) continue;
      read[x->ops[k]->attr.i] = true;
    }
  }
}

static void find_read(Params *p) {
  for (p->news = true; p->news;) {
    p->news = false;
    for (int i = 0; i < p->funcs.len; i++) {
      Func *f = p->funcs.data[i];
      bool *read = map_get(&p->read, f), *now = NEW_ARRAY(p->w->temp, bool, f->nparams + 1);
      Node **constants = map_get(&p->constants, f);
      if (f->graph && f->recursive) mark_read(p, f->graph, now);
      for (int k = 0; k < f->nparams; k++) {
        if (!f->graph || !f->recursive) now[k] = true;
        else if (constants[k]) now[k] = false;
        p->news |= now[k] && !read[k];
        read[k] |= now[k];
      }
    }
  }
}

/* ---- Functions with fewer parameters ----------------------------------------------------------------------------- */
static Func *narrow(Params *p, Func *f) {
  const bool *read = map_get(&p->read, f);
  Node **constants = map_get(&p->constants, f);
  FuncEdit e = edit_func(p->w, f);
  for (int k = 0; k < f->nparams; k++) {
    if (read[k]) e.args[k] = edit_param(&e, f->params[k]);
    else e.args[k] = constants[k] ? constants[k] : ir_zero(p->w, f->params[k]);
  }
  if (e.types.len == f->nparams) return f;
  Func *out = edit_func_close(&e, edit_func_result(&e));
  out->opaque = false; /* all rules have been applied */
  return out;
}

/* The functions with fewer parameters are made of the old ones' graphs; that they call each other is up to the
 * rewriting. */
static Node *call_narrow(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  (void)graphs;
  Params *p = user;
  bool *read = n->op == OP_CALL ? map_get(&p->read, n->attr.func) : NULL;
  if (!read) return NULL;
  Func *f = n->attr.func, *out = map_get(&p->narrow, f);
  if (!out) map_put(&p->narrow, f, out = narrow(p, f));
  if (out == f) return NULL;
  Node **args = NEW_ARRAY(p->w->temp, Node *, f->nparams + 1);
  int count = 0;
  for (int k = 0; k < f->nparams; k++)
    if (read[k]) args[count++] = ops[k];
  return ir_call(p->w, rewrite_func(r, out), args, n->site);
}

Graph *opt_params(World *w, Graph *g) {
  Params *p = NEW(w->temp, Params);
  p->w = w;
  map_init(&p->read, w->temp);
  map_init(&p->constants, w->temp);
  map_init(&p->narrow, w->temp);
  opt_each_call(w, g, add_call, p);
  find_read(p);
  return ir_rewrite(w, g, (RewritePass){.user = p, .node = call_narrow});
}
