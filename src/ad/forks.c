/* SPDX-License-Identifier: MIT */
/* Derivatives of a fork, (f (), g ()) of two closures, in both modes. The inputs that are differentiated are what the
 * closures capture, c.
 *
 * Reverse mode cuts each arm in two stages, as that of an attempt does (attempts.c). r are the residuals:
 *
 *   forward    (y, z) = fork f g   →   ((y, r), (z, s)) = fork (first stage of f) (first stage of g)
 *   backward                           (a, b) = fork (second stage of f over ȳ, r) (second stage of g over z̄, s)
 *                                      c̄ = (c̄ + a) + b
 *
 * The second stages begin with empty accumulators of their own. So neither reads what the other adds, and the order of
 * the additions is that of the program, whichever runs first. What an arm adds costs what is in it: three entries of an
 * array of a million are a log of three.
 *
 * Forward mode: a fork of the duals. */
#include "ad/ad_internal.h"

typedef struct ForkArm {
  Target t;
  Combined *c;
  Split split;
} ForkArm;
typedef struct ForkMemo {
  ForkArm arm[2];
  Node *stage; /* ((value, residuals), (value, residuals)) */
} ForkMemo;

/* ---- Reverse mode ------------------------------------------------------------------------------------------ */
static Target first_stage(Diff *r, ForkArm *a) {
  World *w = r->w;
  Graph *g = a->t.g;
  a->c = ad_stages(r, g, ad_facts(r, a->t.args, g->nparams, ACTIVE | OVERWRITTEN), &a->split);
  Node *both = ir_pair(w, a->c->y, ir_record(w, a->split.res, a->split.nres));
  return (Target){ir_graph(w, g->params, g->nparams, both, g->name), ad_fwd_all(r, a->t.args, g->nparams)};
}

void ad_fork_forward(Diff *r, int at) {
  World *w = r->w;
  const Node *n = r->nodes[at];
  ForkMemo *m = r->memo[at] = NEW(w->arena, ForkMemo);
  Fork arms = ir_fork_arms(w, n), first;
  for (int k = 0; k < 2; k++) {
    m->arm[k].t = arms.arm[k];
    first.arm[k] = first_stage(r, &m->arm[k]);
  }
  m->stage = ir_fork(w, first, n->site);
  Node *y = ir_get(w, ir_get(w, m->stage, 0), 0), *z = ir_get(w, ir_get(w, m->stage, 1), 0);
  r->fwd[at] = ir_pair(w, y, z);
}

/* A graph over the parameters of the arm, the cotangent of its value and the residuals, with its arguments. It yields
 * what the arm adds to each of its accumulators. */
static Target second_stage(Diff *r, const ForkArm *a, Node *d, Node *residuals) {
  World *w = r->w;
  const Combined *c = a->c;
  Nodes outer = {0}, args = {0};
  for (int i = 0; i < c->p; i++) vec_push(w->arena, outer, ad_fwd(r, a->t.args[i]));
  vec_push(w->arena, outer, d);
  for (int j = 0; j < a->split.nres; j++) vec_push(w->arena, outer, ir_get(w, residuals, j));
  IrType **types = NEW_ARRAY(w->arena, IrType *, outer.len);
  for (int i = 0; i < outer.len; i++) {
    types[i] = i < c->p ? c->g->params[i] : outer.data[i]->type;
    vec_push(w->arena, args, ir_param(w, i, types[i]));
    for (int k = 0; i == c->p && k < c->nacc; k++) vec_push(w->arena, args, ir_zero(w, c->back->params[c->p + 1 + k]));
  }
  Node *accs = ir_instantiate(w, a->split.late, args.data, 0);
  return (Target){ir_graph(w, types, outer.len, accs, c->g->name), outer.data};
}

/* Adds what an arm has added to its own accumulators to those of its captures. */
static void join(Diff *r, const ForkArm *a, Node *own) {
  World *w = r->w;
  Nodes accs = {0};
  Node **caps = a->t.args + 1;
  int n = a->t.g->nparams - 1;
  ad_region_accs(r, caps, n, &accs);
  for (int k = 0; k < accs.len; k++) accs.data[k] = ir_op2(w, OP_CADD, accs.data[k], ir_get(w, own, k));
  ad_region_all_done(r, caps, n, ir_record(w, accs.data, accs.len));
}

void ad_fork_backward(Diff *r, int at, Node *d) {
  World *w = r->w;
  const ForkMemo *m = r->memo[at];
  Fork second;
  for (int k = 0; k < 2; k++)
    second.arm[k] = second_stage(r, &m->arm[k], ir_get(w, d, k), ir_get(w, ir_get(w, m->stage, k), 1));
  bool both = m->arm[0].c->nacc && m->arm[1].c->nacc;
  Node *own = both ? ir_fork(w, second, r->nodes[at]->site) : NULL;
  for (int k = 0; k < 2; k++) {
    if (!m->arm[k].c->nacc) continue;
    Target t = second.arm[k];
    join(r, &m->arm[k], own ? ir_get(w, own, k) : ir_instantiate(w, t.g, t.args, 0));
  }
}

/* ---- Forward mode -------------------------------------------------------------------------------------------- */
void ad_fork_tangent(Diff *f, int at) {
  World *w = f->w;
  const Node *n = f->nodes[at];
  Fork arms = ir_fork_arms(w, n), dual;
  for (int k = 0; k < 2; k++) {
    Node **args = NEW_ARRAY(w->arena, Node *, arms.arm[k].g->nparams);
    dual.arm[k] = (Target){ad_dual_target(f, &arms.arm[k], false, args), args};
  }
  Node *both = ir_fork(w, dual, n->site), *a = ir_get(w, both, 0), *b = ir_get(w, both, 1);
  Node *y = ir_pair(w, ir_get(w, a, 0), ir_get(w, b, 0));
  ad_set_dual(f, at, ir_pair(w, y, ir_pair(w, ir_get(w, a, 1), ir_get(w, b, 1))));
}
