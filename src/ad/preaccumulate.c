/* SPDX-License-Identifier: MIT */
/* Preaccumulation: a loop with few differentiated inputs, which are numbers as all its results are, computes its
 * partial derivatives together with its values, in forward mode. The backward pass is a product with them, and needs no
 * tape:
 *
 *   forward    (s, t) = loop …: body x   →   (s, t, ṡ, ṫ) = loop …: body x, and its tangents in direction ẋ = 1
 *   backward                                 x̄ += s̄ * ṡ + t̄ * ṫ
 *
 * Each input is a direction of its own; the values are computed once. (Griewank and Walther, Evaluating Derivatives,
 * chapter 10: local Jacobians.) */
#include "ad/ad_internal.h"
#include "facts/uses.h"

/* ---- Which loops ------------------------------------------------------------------------------------------------- */
bool ad_holds_numbers(World *w, IrType *t) {
  if (t->kind == T_TUPLE)
    for (int k = 0; k < t->n; k++)
      if (!ad_holds_numbers(w, t->args[k])) return false;
  return t->kind == T_TUPLE || t->kind == T_FLOAT || !ad_has_slot(w, t);
}

/* True if g reads no more of parameter p than its size. */
static bool reads_size_only(World *w, Graph *g, int p) {
  const Node *x = ir_param(w, p, g->params[p]);
  if (g->result == x) return false;
  FOR_USES (use, graph_uses(w, g), x) {
    const Node *user = use->user;
    if (user->op == OP_LEN) continue;
    if (!ir_is_control(user)) return false;
    for (int i = 0; i < user->ngraphs; i++) {
      int inner = ir_inner_param(user, i, use->operand);
      bool captured = user->op == OP_SWITCH || inner < 0 || use->operand >= user->nops - user->loop->ncaps;
      if (!captured || (inner >= 0 && !reads_size_only(w, user->graphs[i], inner))) return false;
    }
  }
  return true;
}

/* True if all active nodes of g are numbers, but for arrays of which only the sizes are read, and none calls a function
 * of unknown cost. params: which parameters are active. */
static bool only_numbers(World *w, Graph *g, const Fact *params) {
  Diff *r = ad_begin(w, g, params);
  for (int i = 0; i < r->n; i++) {
    const Node *n = r->nodes[i];
    if (n->op == OP_PARAM ? !(r->facts[i] & ACTIVE) : !ad_visit(r, i)) continue;
    if (n->op == OP_PARAM && reads_size_only(w, g, (int)n->attr.i)) continue;
    if (n->op != OP_LOOP && !ad_holds_numbers(w, n->type)) return false;
    if (ir_is_attempt(n) || ir_is_fork(n)) return false;
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

/* True if operand k of loop n is a capture of which the body reads no more than the size. */
static bool is_captured_size(World *w, const Node *n, int k) {
  return k >= n->nops - n->loop->ncaps && reads_size_only(w, n->graphs[0], 1 + k - loop_first(n->loop));
}

/* Finds the inputs of loop n; false: there are too many, or other things than numbers. */
static bool find_inputs(const Diff *r, const Node *n, LoopPlan *p) {
  for (int k = loop_first(n->loop); k < n->nops; k++) {
    Node *x = n->ops[k];
    if (!ad_active(r, x) || is_captured_size(r->w, n, k)) continue;
    int d = 0;
    while (d < p->ninputs && p->inputs[d] != x) d++;
    if (d < p->ninputs) continue;
    bool slice = loop_part(n->loop, k - loop_first(n->loop)) == LOOP_SLICED;
    if (x->type->kind != T_FLOAT || slice || p->ninputs == LIMIT_DIRECTIONS) return false;
    p->inputs[p->ninputs++] = x;
  }
  return p->ninputs > 0;
}

/* True if so many directions cost less than a tape. Each one multiplies with the body's partials by itself. Independent
 * iterations need no tape, so for these only one direction pays. */
static bool is_narrow(const Node *n, const Fact *facts, int directions) {
  const LoopInfo *l = n->loop;
  if (!l->ncarried && !l->has_cond) return directions == 1;
  int active = 0;
  for (int k = 0; k < loop_slots(l); k++) active += (facts[1 + k] & ACTIVE) != 0;
  return directions <= 2 || directions * active <= LIMIT_TANGENTS;
}

bool ad_find_inputs(const Diff *r, const Node *n, const Fact *facts, LoopPlan *p) {
  if (n->loop->nstacked || !find_inputs(r, n, p)) return false;
  return is_narrow(n, facts, p->ninputs) && only_numbers(r->w, n->graphs[0], facts);
}

/* ---- The loop and its product ------------------------------------------------------------------------------------ */
/* The direction in which input `input` of the loop grows by one, and the others stay. */
static Direction direction_of(World *w, const Node *n, const Node *input) {
  int first = loop_first(n->loop);
  Fact *given = NEW_ARRAY(w->arena, Fact, n->nops + 1);
  Direction d = {.inputs = NEW_ARRAY(w->arena, Node *, n->nops + 1)};
  for (int k = first; k < n->nops; k++) {
    given[k - first] = n->ops[k] == input ? ACTIVE : 0;
    d.inputs[k - first] = ir_float(w, n->ops[k] == input);
  }
  d.facts = ad_body_facts_from(w, n, given);
  return d;
}

Node *ad_preaccumulate(const Diff *r, const Node *n, LoopPlan *p) {
  Direction dirs[LIMIT_DIRECTIONS];
  for (int i = 0; i < p->ninputs; i++) dirs[i] = direction_of(r->w, n, p->inputs[i]);
  Node *value = ad_dual_loop(r, n, dirs, p->ninputs);
  for (int i = 0; i < p->ninputs; i++) p->partials[i] = dirs[i].result;
  return value;
}

void ad_preaccumulated_backward(Diff *r, const LoopPlan *p, Node *d) {
  World *w = r->w;
  for (int i = 0; i < p->ninputs; i++)
    for (int k = 0; k < d->type->n; k++) {
      Node *dk = ir_get(w, d, k), *partial = ir_get(w, p->partials[i], k);
      if (ad_is_zero(partial) || ad_is_zero(dk)) continue;
      ad_add(r, p->inputs[i], ad_unless_zero(w, dk, ir_op2(w, OP_FMUL, dk, partial)));
    }
}
