/* SPDX-License-Identifier: MIT */
/* Preaccumulation: where few numbers go into a loop, and numbers alone come out of it, its partial derivatives are made
 * together with its values, by forward mode, and the backward pass is a product with them. So there is no tape, and
 * nothing is run again:
 *
 *   (s, t) = loop …: body x          →   (s, t, ds, dt) = loop …: body and its tangents in direction x
 *   backward: x gets dS and dT       →   dS * ds + dT * dt
 *
 * Each input is a direction of its own, over one copy of the values. (Griewank and Walther, Evaluating Derivatives,
 * chapter 10: local Jacobians.) */
#include "ad/ad_internal.h"
#include <string.h>

struct Preaccumulated {
  Node *inputs[LIMIT_DIRECTIONS]; /* operands of the loop */
  int n, slots;
  Node **partials; /* of slot k by input d: d * slots + k; NULL is zero */
};

/* ---- Which loops ------------------------------------------------------------------------------------------------- */
bool ad_holds_numbers(World *w, IrType *t) {
  if (t->kind == T_TUPLE)
    for (int k = 0; k < t->n; k++)
      if (!ad_holds_numbers(w, t->args[k])) return false;
  return t->kind == T_TUPLE || t->kind == T_FLOAT || !ad_has_slot(w, t);
}

/* Is all that is active in g, given what is of its parameters, a number, and no function of unknown cost? */
static bool only_numbers(World *w, Graph *g, const Fact *params) {
  Diff *r = ad_begin(w, g, params);
  for (int i = 0; i < r->n; i++) {
    const Node *n = r->nodes[i];
    if (n->op == OP_PARAM ? !(r->facts[i] & ACTIVE) : !ad_visit(r, i)) continue;
    if (n->op != OP_LOOP && !ad_holds_numbers(w, n->type)) return false;
    if (ir_is_attempt(n)) return false;
    switch (ir_shape(n)) {
    case IR_STRAIGHT: break;
    case IR_BRANCH:
      for (int k = 0; k < n->ngraphs; k++)
        if (!only_numbers(w, n->graphs[k], ad_facts(r, n->ops + 1, n->nops - 1, ACTIVE))) return false;
      break;
    case IR_LOOP:
      if (n->loop->nstacked || !only_numbers(w, n->graphs[0], ad_body_facts(r, n))) return false;
      break;
    case IR_CALL: /* a function with a rule for each mode has its pullback used in this one */
      if (n->op != OP_CALL || !n->attr.func->pullback || n->attr.func->tangent) return false;
    }
  }
  return true;
}

/* Finds the inputs of loop n; false: there are too many, or other things than numbers. */
static bool find_inputs(const Diff *r, const Node *n, Preaccumulated *p) {
  for (int k = loop_first(n->loop); k < n->nops; k++) {
    Node *x = n->ops[k];
    if (!ad_active(r, x)) continue;
    int d = 0;
    while (d < p->n && p->inputs[d] != x) d++;
    if (d < p->n) continue;
    bool slice = loop_part(n->loop, k - loop_first(n->loop)) == LOOP_SLICED;
    if (x->type->kind != T_FLOAT || slice || p->n == LIMIT_DIRECTIONS) return false;
    p->inputs[p->n++] = x;
  }
  return p->n > 0;
}

/* Does that cost less than a tape? Each direction has its own products with the partials, so iterations that are
 * independent, which need no tape, are worth one. */
static bool is_narrow(const Node *n, const Fact *facts, int directions) {
  const LoopInfo *l = n->loop;
  if (!l->ncarried && !l->has_cond) return directions == 1;
  int active = 0;
  for (int k = 0; k < loop_slots(l); k++) active += (facts[1 + k] & ACTIVE) != 0;
  return directions <= 2 || directions * active <= LIMIT_TANGENTS;
}

/* ---- The loop over values and tangents --------------------------------------------------------------------------- */
typedef struct Directions {
  const Diff *r;
  Node *n; /* the loop */
  Preaccumulated *p;
  LoopBuilder *loop;
  Node **values;   /* for the body's parameters */
  Node **tangents; /* of slot k in direction d: d * slots + k */
} Directions;

/* What body parameters depend on input d. */
static Fact *facts_along(const Directions *s, int d) {
  const Node *n = s->n;
  Fact *given = NEW_ARRAY(s->r->w->arena, Fact, n->nops + 1);
  for (int k = loop_first(n->loop); k < n->nops; k++)
    given[k - loop_first(n->loop)] = n->ops[k] == s->p->inputs[d] ? ACTIVE : 0;
  return ad_body_facts_from(s->r->w, n, given);
}

/* The body's values and tangents along input d. */
static Node *body_along(Directions *s, int d) {
  World *w = s->r->w;
  Node *n = s->n, **args = NEW_ARRAY(w->arena, Node *, n->graphs[0]->nparams);
  const Fact *facts = facts_along(s, d);
  for (int i = 0; i < n->graphs[0]->nparams; i++) {
    args[i] = s->values[i];
    if (i == 0 || !facts[i]) continue;
    Node *start = ir_float(w, n->ops[loop_first(n->loop) + i - 1] == s->p->inputs[d]), *dx = start;
    if (i <= s->p->slots)
      dx = s->tangents[d * s->p->slots + i - 1] = loop_add(s->loop, loop_part(n->loop, i - 1), start);
    args[i] = ir_pair(w, args[i], dx);
  }
  return ir_instantiate(w, ad_tangent(w, n->graphs[0], facts), args, 0);
}

static void fill_body(Directions *s) {
  World *w = s->r->w;
  const LoopInfo *l = s->n->loop;
  int slots = s->p->slots;
  for (int d = 0; d < s->p->n; d++) {
    Node *both = body_along(s, d), *y = ir_get(w, both, 0), *dy = ir_get(w, both, 1);
    for (int k = 0; k < slots; k++) {
      Node *dx = s->tangents[d * slots + k];
      if (d == 0) loop_next(s->loop, s->values[1 + k], ir_get(w, y, k));
      if (dx) loop_next(s->loop, dx, ir_get(w, dy, k));
    }
    for (int k = 0; d == 0 && k < l->nstacked; k++) loop_stack(s->loop, ir_get(w, y, slots + k));
  }
}

static Node *value_of(const Directions *s) {
  World *w = s->r->w;
  const Node *n = s->n;
  Node **ys = NEW_ARRAY(w->arena, Node *, n->type->n);
  for (int k = 0; k < n->type->n - 1; k++) {
    int slots = s->p->slots;
    ys[k] = k < slots ? loop_result(s->loop, s->values[1 + k]) : loop_stacked(s->loop, k - slots);
  }
  ys[n->type->n - 1] = loop_trips(s->loop);
  return ir_tuple(w, n->type, ys);
}

Preaccumulated *ad_preaccumulate(Diff *r, int at) {
  World *w = r->w;
  Node *n = r->nodes[at];
  const LoopInfo *l = n->loop;
  Preaccumulated *p = NEW(w->arena, Preaccumulated);
  if (l->nstacked || !find_inputs(r, n, p)) return NULL;
  const Fact *facts = ad_body_facts(r, n);
  if (!is_narrow(n, facts, p->n) || !only_numbers(w, n->graphs[0], facts)) return NULL;
  p->slots = loop_slots(l);
  Directions s = {.r = r, .n = n, .p = p, .loop = loop_open(w, l->down)};
  s.values = NEW_ARRAY(w->arena, Node *, n->graphs[0]->nparams);
  s.tangents = NEW_ARRAY(w->arena, Node *, p->n * p->slots + 1);
  s.values[0] = loop_index(s.loop);
  for (int k = 0; k < loop_inputs(l); k++)
    s.values[1 + k] = loop_add(s.loop, loop_part(l, k), ad_fwd(r, n->ops[loop_first(l) + k]));
  fill_body(&s);
  Node *cond = NULL;
  if (l->has_cond) cond = ir_instantiate(w, n->graphs[1], loop_cond_args(w, l, n->graphs[1], s.values), 0);
  loop_close(s.loop, cond ? NULL : ad_fwd(r, n->ops[0]), cond, n->site);
  r->fwd[at] = value_of(&s);
  p->partials = NEW_ARRAY(w->arena, Node *, p->n * p->slots + 1);
  for (int k = 0; k < p->n * p->slots; k++)
    if (s.tangents[k]) p->partials[k] = loop_result(s.loop, s.tangents[k]);
  return p;
}

void ad_preaccumulated_backward(Diff *r, const Preaccumulated *p, Node *d) {
  World *w = r->w;
  for (int i = 0; i < p->n; i++)
    for (int k = 0; k < p->slots; k++) {
      Node *dk = ir_get(w, d, k), *partial = p->partials[i * p->slots + k];
      if (!partial || ad_is_zero(dk)) continue;
      ad_add(r, p->inputs[i], ad_unless_zero(w, dk, ir_op2(w, OP_FMUL, dk, partial)));
    }
}
