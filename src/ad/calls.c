/* SPDX-License-Identifier: MIT */
/* Reverse mode of calls.
 *
 * A call that stays a call gets twins of its function: a forward function that also returns a tape, and a backward
 * function from the tape, the cotangent of the result and the accumulators of the arguments to those accumulators. In a
 * recursion the tape holds the tapes of the inner calls: it is a boxed value of a type made for the purpose. Twins
 * are cached before their bodies are made, so recursion, mutual too, needs no other care.
 *
 * A function with a rule of its own is a call of that rule. An unknown function is a call of the dispatcher of its type. */
#include "ad/ad_internal.h"

typedef struct Twin {
  bool *active;
  bool rerun;
  Func *fwd, *back;    /* params -> (y, tape); tape, D, accs -> accs */
  struct Twin *next;
} Twin;

typedef struct CallMemo {
  Func *f;
  Node **args;         /* forward */
  Twin *twin;
  Node *value;         /* of the twin or of the rule: (y, tape) or (y, pullback) */
} CallMemo;

Func *ad_call_target(World *w, const Node *n) {
  return n->op == OP_CALL ? n->attr.func : ad_dispatcher(w, n->ops[0]->type);
}

/* ---- Twins --------------------------------------------------------------------------- */
static Twin *find_twin(const Func *f, const bool *active, bool rerun) {
  for (Twin *t = f->ad; t; t = t->next) {
    bool same = t->rerun == rerun;
    for (int i = 0; i < f->nparams && same; i++) same = t->active[i] == active[i];
    if (same) return t;
  }
  return NULL;
}

static IrType *pair_type(World *w, IrType *a, IrType *b) {
  IrType *ts[2] = {a, b};
  return ir_tuple_type(w, ts, NULL, 2);
}

/* The backward function's declaration: tape, D, one accumulator for each active parameter. */
static Func *declare_back(World *w, Func *f, const bool *active, IrType *tape) {
  Vec(IrType *) ps = {0};
  Vec(IrType *) accs = {0};
  vec_push(w->arena, ps, tape);
  vec_push(w->arena, ps, ad_cotangent(w, f->result));
  for (int i = 0; i < f->nparams; i++) {
    if (!active[i]) continue;
    vec_push(w->arena, ps, ad_cotangent(w, f->params[i]));
    vec_push(w->arena, accs, ad_cotangent(w, f->params[i]));
  }
  Func *b = ir_func(w, f->name, ps.data, ps.len, ir_tuple_type(w, accs.data, NULL, accs.len));
  b->span = f->span;
  b->recursive = f->recursive;
  return b;
}

static void finish_back(World *w, Func *back, const Combined *c, const Split *s, Node *payload) {
  Node **args = NEW_ARRAY(w->arena, Node *, c->p + 1 + c->nacc + s->nres + 1);
  for (int i = 0; i < c->p; i++) args[i] = ir_zero(w, c->g->params[i]); /* never read */
  for (int i = 0; i <= c->nacc; i++) args[c->p + i] = ir_param(w, 1 + i, back->params[1 + i]);
  for (int j = 0; j < s->nres; j++) args[c->p + 1 + c->nacc + j] = ir_get(w, payload, j);
  Node *accs = ad_tuple(w, s->back, c->nacc);
  ir_func_finish(w, back, ir_substitute(w, accs, args, c->p + 1 + c->nacc + s->nres, 0));
}

static Twin *new_twin(World *w, Func *f, const bool *active, bool rerun) {
  Twin *t = NEW(w->arena, Twin);
  t->active = NEW_ARRAY(w->arena, bool, f->nparams + 1);
  for (int i = 0; i < f->nparams; i++) t->active[i] = active[i];
  t->rerun = rerun;
  t->next = f->ad;
  f->ad = t;
  return t;
}

static Twin *make_twin(World *w, Func *f, const bool *active, bool rerun) {
  Twin *t = find_twin(f, active, rerun);
  if (t) return t;
  t = new_twin(w, f, active, rerun);
  bool *none = NEW_ARRAY(w->arena, bool, f->nparams + 1);
  IrType *tape = NULL;
  if (f->recursive) {
    tape = ir_variant_type(w, sym_of(w->syms, "tape"), t, NULL, 0);
    tape->nctors = 1;
    tape->ctors = NEW_ARRAY(w->arena, IrCtor, 1);
    tape->ctors[0] = (IrCtor){sym_of(w->syms, "Tape"), ir_type(w, T_UNIT)};
    t->fwd = ir_func(w, f->name, f->params, f->nparams, pair_type(w, f->result, tape));
    t->fwd->recursive = true;
    t->fwd->span = f->span;
    t->back = declare_back(w, f, active, tape);
  }
  Combined *c = ad_combine(w, f->graph, active, none, rerun);
  Split s = ad_split(w, c, c->accs, NEW_ARRAY(w->arena, uint8_t, c->p + 1));
  Node *record = ad_tuple(w, s.res, s.nres);
  if (tape) {
    tape->ctors[0].payload = record->type;
    ir_func_finish(w, t->fwd, ir_pair(w, c->y, ir_inj(w, tape, 0, record)));
    finish_back(w, t->back, c, &s, ir_uninj(w, ir_param(w, 0, tape), 0));
    return t;
  }
  t->fwd = ir_func(w, f->name, f->params, f->nparams, pair_type(w, f->result, record->type));
  t->back = declare_back(w, f, active, record->type);
  t->fwd->span = f->span;
  ir_func_finish(w, t->fwd, ir_pair(w, c->y, record));
  finish_back(w, t->back, c, &s, ir_param(w, 0, record->type));
  return t;
}

/* ---- Forward ---------------------------------------------------------------------------- */
void ad_call_forward(Reverse *r, int at) {
  World *w = r->w;
  Node *n = r->nodes[at];
  CallMemo *m = NEW(w->arena, CallMemo);
  Func *f = m->f = ad_call_target(w, n);
  m->args = NEW_ARRAY(w->arena, Node *, n->nops + 1);
  for (int i = 0; i < n->nops; i++) m->args[i] = ad_fwd(r, n->ops[i]);
  r->memo[at] = m;
  if (f->pullback && f->pullback->graph) {
    m->value = ir_call(w, f->pullback, m->args, n->site);
    r->fwd[at] = ir_get(w, m->value, 0);
  } else if ((f->tangent && f->tangent->graph) || !f->graph) {
    r->fwd[at] = ir_rebuild(w, n, m->args, n->graphs);
  } else {
    bool *act = NEW_ARRAY(w->arena, bool, f->nparams + 1);
    for (int i = 0; i < n->nops; i++) act[i] = ad_active(r, n->ops[i]);
    m->twin = make_twin(w, f, act, r->rerun);
    m->value = ir_call(w, m->twin->fwd, m->args, n->site);
    r->fwd[at] = ir_get(w, m->value, 0);
  }
}

/* ---- Backward ------------------------------------------------------------------------------ */
static void twin_backward(Reverse *r, const Node *n, CallMemo *m, Node *d) {
  World *w = r->w;
  Vec(Node *) args = {0};
  vec_push(w->arena, args, ir_get(w, m->value, 1));
  vec_push(w->arena, args, d);
  for (int i = 0; i < n->nops; i++)
    if (ad_active(r, n->ops[i])) vec_push(w->arena, args, ad_region_acc(r, n->ops[i]));
  Node *accs = ir_call(w, m->twin->back, args.data, n->site);
  for (int i = 0, k = 0; i < n->nops; i++)
    if (ad_active(r, n->ops[i])) ad_region_done(r, n->ops[i], ir_get(w, accs, k++));
}

/* A rule gives a function argument no cotangent: what that function captured must not be differentiated. */
static bool loses_a_function(Reverse *r, const Node *n, const Node *arg) {
  (void)n;
  return arg->type->kind == T_FUN && ad_active(r, arg);
}

static void rule_backward(Reverse *r, const Node *n, CallMemo *m, Node *d) {
  World *w = r->w;
  Node *dy = ad_to_public(w, m->f->result, ir_get(w, m->value, 0), d);
  Node *cots = ir_apply(w, ir_get(w, m->value, 1), dy, NULL, n->site);
  for (int i = 0; i < n->nops; i++) {
    const Node *x = n->ops[i];
    if (!ad_active(r, x)) continue;
    if (loses_a_function(r, n, x)) {
      ad_add(r, x, ir_fail(w, ad_cotangent(w, x->type), ir_string(w, sym_of(w->syms, "the function given to a function with a derivative rule depends on what is being differentiated")), n->site));
      continue;
    }
    Node *c = n->nops == 1 ? cots : ir_get(w, cots, i);
    ad_add(r, x, ad_to_cotangent(w, x->type, c, m->args[i], n->site));
  }
}

/* Only a tangent rule: the tangent is linear in the directions, so its reverse derivative at zero is the pullback. */
static void tangent_backward(Reverse *r, const Node *n, CallMemo *m, Node *d) {
  World *w = r->w;
  Graph *g = m->f->tangent->graph;
  bool *act = NEW_ARRAY(w->arena, bool, g->nparams + 1);
  for (int i = 0; i < n->nops; i++) act[n->nops + i] = ad_has_slot(w, n->ops[i]->type);
  Combined *c = ad_combine(w, g, act, NULL, false);
  Node **args = NEW_ARRAY(w->arena, Node *, c->p + 1 + c->nacc + 1);
  for (int i = 0; i < n->nops; i++) {
    args[i] = m->args[i];
    args[n->nops + i] = ad_zero_public(w, n->ops[i]->type, m->args[i]);
  }
  IrType *ct = ad_cotangent(w, g->result->type);
  args[c->p] = ad_one_component(w, ct, 1, d);
  for (int i = 0; i < c->nacc; i++) args[c->p + 1 + i] = ir_zero(w, c->accs[i]->type);
  Node *accs = ir_substitute(w, ad_tuple(w, c->accs, c->nacc), args, c->p + 1 + c->nacc, n->site);
  for (int i = 0, k = 0; i < n->nops; i++)
    if (act[n->nops + i]) ad_add(r, n->ops[i], ir_get(w, accs, k++));
}

void ad_call_backward(Reverse *r, int at, Node *d) {
  const Node *n = r->nodes[at];
  CallMemo *m = r->memo[at];
  if (m->twin) {
    twin_backward(r, n, m, d);
  } else if (m->f->pullback && m->f->pullback->graph) {
    rule_backward(r, n, m, d);
  } else if (m->f->tangent && m->f->tangent->graph) {
    tangent_backward(r, n, m, d);
  } else {
    const char *name = m->f->name ? m->f->name : "a foreign function";
    for (int i = 0; i < n->nops; i++)
      if (ad_active(r, n->ops[i])) ad_add(r, n->ops[i], ad_no_rule(r->w, ad_cotangent(r->w, n->ops[i]->type), name, n->site));
  }
}

/* ---- Checkpoints: the backward pass is a call that computes the function again ------------------------------ */
static Func *recompute_function(World *w, Combined *c) {
  IrType **ts = NEW_ARRAY(w->arena, IrType *, c->p + 1 + c->nacc);
  for (int i = 0; i < c->p; i++) ts[i] = c->g->params[i];
  ts[c->p] = ad_cotangent(w, c->g->result->type);
  for (int i = 0; i < c->nacc; i++) ts[c->p + 1 + i] = c->accs[i]->type;
  Node *accs = ad_tuple(w, c->accs, c->nacc);
  Func *f = ir_func(w, c->g->name, ts, c->p + 1 + c->nacc, accs->type);
  f->opaque = true; /* inlined, it would share its work with the forward pass again */
  ir_func_finish(w, f, accs);
  return f;
}

void ad_checkpoint_backward(Reverse *r, int at, Node *d) {
  World *w = r->w;
  const Node *n = r->nodes[at], *f = n->ops[0];
  Vec(const Node *) xs = {0};
  Graph *g = NULL;
  if (f->op == OP_CLOSURE) {
    g = f->graphs[0];
    vec_push(w->arena, xs, n->ops[1]);
    if (n->nops == 3) vec_push(w->arena, xs, n->ops[2]);
    for (int i = 0; i < f->nops; i++) vec_push(w->arena, xs, f->ops[i]);
  } else {
    g = ad_dispatcher(w, f->type)->graph;
    for (int i = 0; i < n->nops; i++) vec_push(w->arena, xs, n->ops[i]);
  }
  bool *act = NEW_ARRAY(w->arena, bool, xs.len + 1);
  for (int i = 0; i < xs.len; i++) act[i] = ad_active(r, xs.data[i]);
  Combined *c = ad_combine(w, g, act, NULL, r->rerun);
  Vec(Node *) args = {0};
  for (int i = 0; i < xs.len; i++) vec_push(w->arena, args, ad_fwd(r, xs.data[i]));
  vec_push(w->arena, args, d);
  for (int i = 0; i < xs.len; i++)
    if (act[i]) vec_push(w->arena, args, ad_region_acc(r, xs.data[i]));
  Node *accs = ir_call(w, recompute_function(w, c), args.data, n->site);
  for (int i = 0, k = 0; i < xs.len; i++)
    if (act[i]) ad_region_done(r, xs.data[i], ir_get(w, accs, k++));
}
