/* SPDX-License-Identifier: MIT */
/* Derivatives of functions, as users see them.
 *
 * To users the derivative of a function is that function. What they get from a pullback is a carrier: a closure that does
 * what the function does, and also holds the derivative of its environment. A rule of their own that is given a
 * function hands the carrier on, and so says what becomes of what the function captured. Carriers stand where the type
 * has a function outside arrays and variants; in those nothing is carried.
 *
 * A carrier's graph has an identity, so its captures stay as they are: the function, the derivative. */
#include "ad/ad_internal.h"

static Graph *carrier(World *w, IrType *fun) {
  const void *key = (const void *)(uintptr_t)(hash_mix(fun->id, 0xca2213) | 1);
  Graph *g = map_get(&w->conversions, key);
  if (g) return g;
  int own = 1 + fun->effect;
  IrType *ps[4] = {fun->args[0], ir_type(w, T_TOKEN)};
  ps[own] = fun;
  ps[own + 1] = ad_cotangent(w, fun);
  Node *token = fun->effect ? ir_param(w, 1, ps[1]) : NULL;
  Node *y = ir_apply(w, ir_param(w, own, fun), ir_param(w, 0, ps[0]), token, 0);
  g = ir_graph(w, ps, own + 2, y, NULL);
  g->identity = ++w->identities;
  map_put(&w->conversions, key, g);
  return g;
}

Node *ad_is_carrier(World *w, Node *f) {
  return ir_op2(w, OP_IEQ, ir_op1(w, OP_CLOSURE_ID, f), ir_graph_id(w, carrier(w, f->type)));
}

static bool has_function(const IrType *t) {
  if (t->kind == T_TUPLE)
    for (int i = 0; i < t->n; i++)
      if (has_function(t->args[i])) return true;
  return t->kind == T_FUN;
}

/* ---- To users ---------------------------------------------------------------------------- */
Node *ad_with_carriers(World *w, IrType *t, Node *x, Node *cot) {
  if (!has_function(t)) return x;
  if (t->kind == T_FUN) return ir_closure(w, carrier(w, t), t, (Node *[]){x, cot}, 2);
  Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
  for (int i = 0; i < t->n; i++) xs[i] = ad_with_carriers(w, t->args[i], ir_get(w, x, i), ir_get(w, cot, i));
  return ir_tuple(w, t, xs);
}

/* ---- From users ---------------------------------------------------------------------------- */
/* c ? yes : no, over two functions, parameters 0 and 1. */
static Node *choose(World *w, Node *c, Node *f, Node *like, Node *yes, Node *no) {
  IrType *ts[2] = {f->type, like->type};
  Graph *arms[2] = {ir_graph(w, ts, 2, no, NULL), ir_graph(w, ts, 2, yes, NULL)};
  return ir_switch(w, c, arms, 2, (Node *[]){f, like}, 2);
}

/* What f carries if it is a carrier of `like`, else `no`: over parameters 0 and 1. */
static Node *carried_of(World *w, IrType *t, Node *no) {
  Node *f = ir_param(w, 0, t), *like = ir_param(w, 1, t), *kept = ir_closure_cap(w, f, carrier(w, t), 0);
  Node *same = ir_op2(w, OP_IEQ, ir_op1(w, OP_CLOSURE_ID, kept), ir_op1(w, OP_CLOSURE_ID, like));
  Node *yes = choose(w, same, f, like, ir_closure_cap(w, f, carrier(w, t), 1), no);
  return choose(w, ad_is_carrier(w, f), f, like, yes, no);
}

Node *ad_carried(World *w, Node *f, Node *like, Site site) {
  Node *lost = ir_fail(w, ad_cotangent(w, f->type), ad_lost_function(w), site);
  return ir_substitute(w, carried_of(w, f->type, lost), (Node *[]){f, like}, 2, 0);
}

Node *ad_lost_function(World *w) {
  const char *text = "the function given to a function with a derivative rule depends on what is being differentiated, and "
                     "the rule gives it no derivative";
  return ir_string(w, sym_of(w->syms, text));
}

/* The derivative of the function `like` that a user gives: what it carries. Where `like` is a carrier itself, the derivative
 * is one of the same function, and says how what `like` carries changes. Any other function says nothing. */
static Node *from_carrier(World *w, IrType *t, Node *f, Node *like, Site site) {
  const void *key = (const void *)(uintptr_t)(hash_mix(t->id, 0xca2214) | 1);
  Func *from = map_get(&w->conversions, key);
  if (!from) {
    IrType *c = ad_cotangent(w, t), *ps[2] = {t, t};
    Node *pf = ir_param(w, 0, t), *pl = ir_param(w, 1, t), *zero = ir_zero(w, c);
    Node *of_kept = ir_substitute(w, carried_of(w, t, zero), (Node *[]){pf, ir_closure_cap(w, pl, carrier(w, t), 0)}, 2, 0);
    Node *second = ir_env(w, OP_INJ, c, carrier(w, t), ir_pair(w, zero, of_kept));
    from = ir_func(w, sym_of(w->syms, "carried"), ps, 2, c);
    map_put(&w->conversions, key, from);
    ir_func_finish(w, from, carried_of(w, t, choose(w, ad_is_carrier(w, pl), pf, pl, second, zero)));
  }
  return ir_call(w, from, (Node *[]){f, like}, site);
}

Node *ad_from_carriers(World *w, IrType *t, Node *x, Node *like, Node *cot, Site site) {
  if (!has_function(t)) return cot;
  if (t->kind == T_FUN) return from_carrier(w, t, x, like, site);
  Node **cs = NEW_ARRAY(w->arena, Node *, t->n);
  for (int i = 0; i < t->n; i++)
    cs[i] = ad_from_carriers(w, t->args[i], ir_get(w, x, i), ir_get(w, like, i), ir_get(w, cot, i), site);
  return ir_tuple(w, cot->type, cs);
}

Node *ad_uncarried(World *w, IrType *t, Node *cot) {
  if (!has_function(t)) return cot;
  if (t->kind == T_FUN) {
    IrType *payload = ir_pair_type(w, cot->type, cot->type);
    return ir_get(w, ir_env(w, OP_UNINJ, payload, carrier(w, t), cot), 1);
  }
  Node **cs = NEW_ARRAY(w->arena, Node *, t->n);
  for (int i = 0; i < t->n; i++) cs[i] = ad_uncarried(w, t->args[i], ir_get(w, cot, i));
  return ir_tuple(w, cot->type, cs);
}
