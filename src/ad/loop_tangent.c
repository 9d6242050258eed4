/* SPDX-License-Identifier: MIT */
/* A loop over values and their tangents in one or more directions: forward mode of loops, where there is one direction,
 * and preaccumulation, where each input of the loop is one.
 *
 *   loop s = s0; c: s' = f(s, c)   →   loop s = s0, ṡ = ṡ0; c, ċ: (s', ṡ') = (f(s, c), ∂f/∂s * ṡ + ∂f/∂c * ċ)
 *
 * The tangent of a sliced array is captured as a whole, an accumulator, and read at the index. */
#include "ad/ad_internal.h"

typedef struct DualLoop {
  const Diff *r;
  World *w;
  const Node *n; /* the primal loop */
  Direction *dirs;
  int ndirs;
  LoopBuilder *loop;
  Node **values; /* for the parameters of the body */
} DualLoop;

/* What stands in the body for the tangent of input k, which is dx outside; x is the input. */
static Node *add_tangent(const DualLoop *s, int k, Node *x, Node *dx) {
  LoopPart part = loop_part(s->n->loop, k);
  if (part != LOOP_SLICED) return loop_add(s->loop, part, dx);
  Node *array = loop_add(s->loop, LOOP_CAPTURED, x);
  return ir_bag_get(s->w, loop_add(s->loop, LOOP_CAPTURED, dx), array, loop_index(s->loop));
}

static void add_inputs(DualLoop *s) {
  const LoopInfo *l = s->n->loop;
  int p = s->n->graphs[0]->nparams;
  s->values = NEW_ARRAY(s->w->arena, Node *, p);
  s->values[0] = loop_index(s->loop);
  for (int d = 0; d < s->ndirs; d++) s->dirs[d].inside = NEW_ARRAY(s->w->arena, Node *, p);
  for (int k = 0; k < loop_inputs(l); k++) {
    Node *x = ad_fwd(s->r, s->n->ops[loop_first(l) + k]);
    s->values[1 + k] = loop_add(s->loop, loop_part(l, k), x);
    for (int d = 0; d < s->ndirs; d++)
      if (s->dirs[d].facts[1 + k]) s->dirs[d].inside[1 + k] = add_tangent(s, k, x, s->dirs[d].inputs[k]);
  }
}

/* The body's results and tangents in direction d: a pair. */
static Node *body_along(const DualLoop *s, const Direction *d) {
  Graph *body = s->n->graphs[0];
  Node **args = NEW_ARRAY(s->w->arena, Node *, body->nparams);
  for (int i = 0; i < body->nparams; i++)
    args[i] = d->inside[i] ? ir_pair(s->w, s->values[i], d->inside[i]) : s->values[i];
  return ir_instantiate(s->w, ad_tangent(s->w, body, d->facts), args, 0);
}

static void fill_body(DualLoop *s) {
  World *w = s->w;
  int slots = loop_slots(s->n->loop), last = slots + s->n->loop->nstacked;
  for (Direction *d = s->dirs; d < s->dirs + s->ndirs; d++) {
    Node *both = body_along(s, d), *y = ir_get(w, both, 0), *dy = ir_get(w, both, 1);
    for (int k = 0; k < slots && d == s->dirs; k++) loop_next(s->loop, s->values[1 + k], ir_get(w, y, k));
    for (int k = slots; k < last && d == s->dirs; k++) loop_stack_as(s->loop, ir_get(w, y, k), s->n->loop, k - slots);
    for (int k = 0; k < slots; k++)
      if (d->inside[1 + k]) loop_next(s->loop, d->inside[1 + k], ir_get(w, dy, k));
    d->stacked = NEW_ARRAY(w->arena, int, last + 1);
    for (int k = slots; k < last; k++) {
      Node *dx = ir_get(w, dy, k);
      if (!ad_is_zero(dx))
        d->stacked[k] = loop_stack_as(s->loop, ir_fill(w, dx, ir_get(w, y, k)), s->n->loop, k - slots);
    }
  }
}

/* The loop's results, and its tangents in each direction. */
static Node *results(DualLoop *s) {
  World *w = s->w;
  IrType *t = s->n->type, *ct = ad_cotangent(w, t);
  int slots = loop_slots(s->n->loop), last = t->n - 1;
  Node **ys = NEW_ARRAY(w->arena, Node *, t->n);
  for (int k = 0; k < last; k++)
    ys[k] = k < slots ? loop_result(s->loop, s->values[1 + k]) : loop_stacked(s->loop, k - slots);
  ys[last] = loop_trips(s->loop);
  for (Direction *d = s->dirs; d < s->dirs + s->ndirs; d++) {
    Node **ts = NEW_ARRAY(w->arena, Node *, t->n);
    for (int k = 0; k <= last; k++) {
      ts[k] = ir_zero(w, ct->args[k]);
      if (k < slots && d->inside[1 + k]) ts[k] = loop_result(s->loop, d->inside[1 + k]);
      if (d->stacked[k]) ts[k] = ir_to_bag(w, loop_stacked(s->loop, d->stacked[k]));
    }
    d->result = ir_tuple(w, ct, ts);
  }
  return ir_tuple(w, t, ys);
}

Node *ad_dual_loop(const Diff *r, const Node *n, Direction *dirs, int ndirs) {
  DualLoop s = {.r = r, .w = r->w, .n = n, .dirs = dirs, .ndirs = ndirs, .loop = loop_open(r->w, n->loop->down)};
  add_inputs(&s);
  fill_body(&s);
  loop_close_as(s.loop, n, ad_fwd_all(r, n->ops, n->nops), n->graphs, s.values);
  return results(&s);
}

void ad_loop_tangent(Diff *f, int at) {
  const Node *n = f->nodes[at];
  Direction d = {.facts = ad_body_facts(f, n), .inputs = NEW_ARRAY(f->w->arena, Node *, n->nops + 1)};
  for (int k = loop_first(n->loop); k < n->nops; k++) d.inputs[k - loop_first(n->loop)] = ad_cot(f, n->ops[k]);
  f->fwd[at] = ad_dual_loop(f, n, &d, 1);
  f->cot[at] = d.result;
}
