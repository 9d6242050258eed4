/* SPDX-License-Identifier: MIT */
/* Derivatives of `attempt f`, which is Ok y if f () yields y, else Error, in both modes. f is a closure without
 * arguments, so the inputs that are differentiated are its captures c.
 *
 * Reverse mode cuts f in two stages and attempts the first one alone. r are the residuals:
 *
 *   forward    z = attempt f   →   s = attempt (y, r);  z = match s with Ok (y, r) -> Ok y | Error e -> Error e
 *   backward                       match s with Ok (y, r) -> c̄ += pullback of f over r, not attempted | Error _ -> c̄
 *
 * Forward mode attempts value and tangent together: attempt (y, ẏ). Its error may be one of the tangent alone. So where
 * it fails, the value is attempted by itself, and if that succeeds the pair is computed again without an attempt, which
 * raises the tangent's error. A function with effects can't be run twice: its error becomes an Error in any case. */
#include "ad/ad_internal.h"

/* The parts of an attempt node: the graph of its closure, the captures as arguments, token and types. */
typedef struct Attempted {
  Target t;
  int own; /* parameters before the captures: unit, perhaps a token */
  Node *token;
  IrType *value, *result;
} Attempted;

static Attempted attempted(Diff *r, const Node *n) {
  Node *token = n->nops == 2 ? n->ops[1] : NULL, *f = n->ops[0];
  IrType *result = token ? n->type->args[0] : n->type;
  return (Attempted){.t = ir_target(r->w, f, ir_unit(r->w), token, n->site),
                     .own = token ? 2 : 1,
                     .token = token,
                     .value = f->type->args[1],
                     .result = result};
}

/* An attempt of graph g over the captures, whose values are of type t; the token is what comes out. */
static Node *attempt_graph(Diff *r, const Attempted *a, Graph *g, IrType *t, Node **caps, Node **token, Site site) {
  World *w = r->w;
  IrType *fun = ir_fun_type(w, ir_type(w, T_UNIT), t, a->token != NULL);
  Node *f = ir_closure(w, g, fun, caps, g->nparams - a->own);
  Node *x = ir_attempt(w, f, ir_attempt_type(w, a->result, t), *token, site);
  if (!*token) return x;
  *token = ir_get(w, x, 1);
  return ir_get(w, x, 0);
}

static Node *with_token(World *w, Node *x, Node *token) { return token ? ir_pair(w, x, token) : x; }
static Node *without_token(World *w, Node *x, const Node *token) { return token ? ir_get(w, x, 0) : x; }

/* A bool: is x, a result, Ok? */
static Node *is_ok(World *w, Node *x) { return ir_op2(w, OP_IEQ, ir_tag(w, x), ir_int(w, ATTEMPT_OK)); }

static Node *error_again(World *w, IrType *result, Node *x) {
  return ir_inj(w, result, ATTEMPT_ERROR, ir_uninj(w, x, ATTEMPT_ERROR));
}

/* ---- Reverse mode --------------------------------------------------------------------------- */
typedef struct AttemptMemo {
  Attempted a;
  Combined *c;
  Split split;
  Node *stage; /* Ok of (value, residuals) */
} AttemptMemo;

/* Ok of the value alone. */
static Node *value_alone(World *w, IrType *result, Node *stage) {
  BranchBuilder *b = branch_open(w, is_ok(w, stage));
  Node *x = branch_add(b, stage);
  branch_arm(b, error_again(w, result, x), NULL);
  branch_arm(b, ir_inj(w, result, ATTEMPT_OK, ir_get(w, ir_uninj(w, x, ATTEMPT_OK), 0)), NULL);
  return branch_close(b);
}

void ad_attempt_forward(Diff *r, int at) {
  World *w = r->w;
  const Node *n = r->nodes[at];
  AttemptMemo *m = r->memo[at] = NEW(w->arena, AttemptMemo);
  m->a = attempted(r, n);
  Graph *g = m->a.t.g;
  Fact *facts = ad_facts(r, m->a.t.args, g->nparams, ACTIVE | OVERWRITTEN);
  Combined *c = m->c = ad_stages(r, g, facts, &m->split);
  Node *token = m->a.token ? ad_fwd(r, m->a.token) : NULL, *y = without_token(w, c->y, token);
  Node *both = ir_pair(w, y, ir_record(w, m->split.res, m->split.nres));
  Node *result = with_token(w, both, token ? ir_get(w, c->y, 1) : NULL);
  Graph *first = ir_graph(w, g->params, g->nparams, result, g->name);
  Node **caps = ad_fwd_all(r, m->a.t.args + m->a.own, g->nparams - m->a.own);
  m->stage = attempt_graph(r, &m->a, first, both->type, caps, &token, n->site);
  r->fwd[at] = with_token(w, value_alone(w, m->a.result, m->stage), token);
}

/* The accumulators after the backward pass: what the second stage makes of them where the attempt succeeded, else as
 * they are. late: arguments of the graph, then the n accumulators. */
static Node *second_stage(World *w, const AttemptMemo *m, BranchBuilder *b, Node *d, Node **late, int n) {
  const Combined *c = m->c;
  const Split *s = &m->split;
  Node **args = NEW_ARRAY(w->arena, Node *, s->late->nparams + 1), **same = NEW_ARRAY(w->arena, Node *, n + 1);
  for (int i = 0; i < c->p; i++)
    args[i] = m->a.t.args[i]->type->kind == T_TOKEN ? ir_zero(w, c->g->params[i]) : branch_add(b, late[i]);
  Node *stage = branch_add(b, m->stage), *dy = branch_add(b, d);
  for (int k = 0; k < n; k++) args[c->p + 1 + k] = same[k] = branch_add(b, late[c->p + k]);
  branch_arm(b, ir_record(w, same, n), NULL);
  dy = ir_uninj(w, dy, ATTEMPT_OK + !m->a.result->nullable);
  args[c->p] = m->a.token ? ir_only(w, c->back->params[c->p], 0, dy) : dy;
  Node *residuals = ir_get(w, ir_uninj(w, stage, ATTEMPT_OK), 1);
  for (int j = 0; j < s->nres; j++) args[c->back->nparams + j] = ir_get(w, residuals, j);
  branch_arm(b, ir_instantiate(w, s->late, args, 0), NULL);
  return branch_close(b);
}

void ad_attempt_backward(Diff *r, int at, Node *d) {
  World *w = r->w;
  const AttemptMemo *m = r->memo[at];
  int n = m->a.t.g->nparams;
  Nodes late = {0};
  for (int i = 0; i < n; i++) vec_push(w->arena, late, ad_fwd(r, m->a.t.args[i]));
  ad_region_accs(r, m->a.t.args + m->a.own, n - m->a.own, &late);
  if (late.len == n) return;
  if (m->a.token) d = ir_get(w, d, 0);
  Node *accs = second_stage(w, m, branch_open(w, is_ok(w, m->stage)), d, late.data, late.len - n);
  ad_region_all_done(r, m->a.t.args + m->a.own, n - m->a.own, accs);
}

/* ---- Forward mode ----------------------------------------------------------------------------- */
/* (Ok y, tangent of that) of the pair (y, ẏ). */
static Node *ok_dual(World *w, const Attempted *a, IrType *tangent, Node *both) {
  Node *dy = ir_get(w, both, 1);
  return ir_pair(w, ir_inj(w, a->result, ATTEMPT_OK, ir_get(w, both, 0)),
                 ir_inj(w, tangent, ATTEMPT_OK + !a->result->nullable, dy));
}

/* The dual where the attempt of value and tangent failed, `stage` being its Error. `dual` is the function that computes
 * both; `outer` is the branch in whose arm this stands. */
static Node *failed_dual(Diff *r, const Attempted *a, BranchBuilder *outer, Func *dual, Node **duals, Node *stage,
                         IrType *tangent, const Node *n) {
  World *w = r->w;
  int ncaps = a->t.g->nparams - a->own;
  Node *error = branch_add(outer, stage), **values = NEW_ARRAY(w->arena, Node *, ncaps + 1), *none = NULL;
  if (a->token) return ir_pair(w, error_again(w, a->result, error), ir_zero(w, tangent));
  Node **inner = NEW_ARRAY(w->arena, Node *, ncaps + 1);
  for (int k = 0; k < ncaps; k++) {
    inner[k] = branch_add(outer, duals[k]);
    values[k] = ad_active(r, a->t.args[a->own + k]) ? ir_get(w, inner[k], 0) : inner[k];
  }
  Node *alone = attempt_graph(r, a, a->t.g, a->value, values, &none, n->site);
  BranchBuilder *b = branch_open(w, is_ok(w, alone));
  Node *x = branch_add(b, alone), **args = NEW_ARRAY(w->arena, Node *, ncaps + 2);
  args[0] = ir_unit(w);
  for (int k = 0; k < ncaps; k++) args[1 + k] = branch_add(b, inner[k]);
  branch_arm(b, ir_pair(w, x, ir_zero(w, tangent)), NULL);
  branch_arm(b, ok_dual(w, a, tangent, ir_call(w, dual, args, n->site)), NULL);
  return branch_close(b);
}

void ad_attempt_tangent(Diff *f, int at) {
  World *w = f->w;
  const Node *n = f->nodes[at];
  Attempted a = attempted(f, n);
  int np = a.t.g->nparams;
  Node **duals = NEW_ARRAY(w->arena, Node *, np), *token = a.token ? ad_fwd(f, a.token) : NULL;
  Graph *g = ad_dual_target(f, &a.t, token != NULL, duals);
  duals += a.own;
  IrType *both = without_token(w, g->result, token)->type, *tangent = ad_cotangent(w, a.result);
  Func *dual = NULL;
  if (!token) {
    dual = ad_opaque_function(w, g->name, g);
    Node **ps = NEW_ARRAY(w->arena, Node *, np + 1);
    for (int i = 0; i < np; i++) ps[i] = ir_param(w, i, g->params[i]);
    g = ir_graph(w, g->params, np, ir_call(w, dual, ps, n->site), g->name);
  }
  Node *stage = attempt_graph(f, &a, g, both, duals, &token, n->site);
  BranchBuilder *b = branch_open(w, is_ok(w, stage));
  Node *failed = failed_dual(f, &a, b, dual, duals, stage, tangent, n), *x = branch_add(b, stage);
  branch_arm(b, failed, NULL);
  branch_arm(b, ok_dual(w, &a, tangent, ir_uninj(w, x, ATTEMPT_OK)), NULL);
  ad_set_dual_outside(f, at, branch_close(b), token);
}
