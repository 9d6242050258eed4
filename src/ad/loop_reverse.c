/* SPDX-License-Identifier: MIT */
/* Reverse mode of loops: makes the forward and the backward loop that a plan says (loop_plan.c), which explains the
 * four strategies. With a tape:
 *
 *   forward    loop i < n, s = s0; c: (s' = f(s, c), R stacks the residuals of f at i)
 *   backward   loop i = n-1 … 0, s̄ = S̄, acc c̄; R as r: (s̄', c̄') = pullback of f over r, applied to s̄, c̄
 *
 * where S̄ is the cotangent of the loop's result. Cotangents of carried values are carried, those of captures are
 * accumulated, those of the elements of slices are stacked, and cotangents of stacked results are read as slices. Both
 * loops are made with all that they may need; the normal form of loops drops what they don't. */
#include "ad/ad_internal.h"
#include "ir/remarks.h"

/* ---- Forward ----------------------------------------------------------------------------------------------------- */
/* True if a row of the tape has to be a tuple of one: rows that are arrays are of one length, and are copied, but x may
 * be of another length in each iteration, or exists anyway and is kept by reference. An array of accumulators would
 * have the cotangent of an array of arrays. */
static bool needs_wrap(World *w, const Node *loop, Node *x) {
  Node **ops = loop->ops + loop_first(loop->loop);
  return x->type->kind == T_BAG || (x->type->kind == T_ARRAY && !ir_is_new_row(w, loop, ops, x));
}

/* What the loop makes in an iteration: carried values that become views are detached where the tape refers to them. */
static Node *taped_results(World *w, const Node *n, const LoopPlan *p) {
  Node *y = p->body->y, **xs = NEW_ARRAY(w->arena, Node *, y->type->n + 1);
  if (!ad_reads_carried_view(w, &p->split, p->facts)) return y;
  for (int k = 0; k < y->type->n; k++) {
    xs[k] = ir_get(w, y, k);
    if (k < loop_slots(n->loop) && p->facts[1 + k] & CARRIED_VIEW) xs[k] = ad_detached(w, xs[k]);
  }
  return ir_tuple(w, y->type, xs);
}

/* The loop over n's operands that also stacks the residuals, a tape each. */
static Node *taping_loop(const Diff *r, const Node *n, LoopPlan *p) {
  World *w = r->w;
  const Split *s = &p->split;
  Node **rows = NEW_ARRAY(w->arena, Node *, s->nres + 1);
  p->tapes = NEW_ARRAY(w->arena, Node *, s->nres + 1);
  p->wrapped = NEW_ARRAY(w->arena, bool, s->nres + 1);
  for (int j = 0; j < s->nres; j++) {
    p->wrapped[j] = needs_wrap(w, n, s->res[j]);
    rows[j] = ad_taped(w, s->res[j], p->facts);
    if (p->wrapped[j]) rows[j] = ir_record(w, &rows[j], 1);
  }
  return ir_loop_stacking(w, n, ad_fwd_all(r, n->ops, n->nops), taped_results(w, n, p), rows, s->nres, p->tapes);
}

void ad_loop_forward(Diff *r, int at) {
  Node *n = r->nodes[at];
  LoopPlan *p = r->memo[at] = ad_plan_loop(r, n);
  ir_remark(r->w, "backward", n->site, p->why);
  switch (p->strategy) {
  case PREACCUMULATE: r->fwd[at] = ad_preaccumulate(r, n, p); return;
  case REPLAY:
  case RERUN: r->fwd[at] = ad_rebuild(r, n); return;
  case TAPE: r->fwd[at] = taping_loop(r, n, p); return;
  }
}

/* ---- Backward ---------------------------------------------------------------------------------------------------- */
/* The backward loop under construction. Inputs of the primal loop are numbered as loop_part does; input k is parameter
 * 1 + k of the body. */
typedef struct BackLoop {
  Diff *r;
  World *w;
  const Node *n; /* the primal loop */
  const LoopInfo *l;
  const LoopPlan *plan;
  const Combined *c; /* of the body */
  int ninputs;
  Node **inputs; /* of the primal loop */
  LoopBuilder *loop;
  Node **outside; /* the inputs, captured */
  Node **args;    /* for the parameters of the combined form, and the residuals */
  Node **dy;      /* cotangents of the body's results */
  Node **cot;     /* what carries or accumulates the cotangent of input k; NULL */
} BackLoop;

static bool is_active(const BackLoop *b, int k) { return b->c->active[1 + k]; }

/* An active number that is carried by a loop whose body is run again is a sum. */
static bool is_sum(const BackLoop *b, int k) {
  bool number = loop_part(b->l, k) == LOOP_CARRIED && ir_is_number(b->c->g->params[1 + k]);
  return number && b->plan->strategy != TAPE && is_active(b, k);
}

/* The accumulator of input x, a capture. An array that the loop changes as well is copied by it, which pays for zeros;
 * what was there before is added afterwards. */
static Node *capture_acc(BackLoop *b, Node *x) {
  Node *zero = ir_zero(b->w, ad_cotangent(b->w, x->type));
  bool numbers = x->type->kind == T_ARRAY && ir_is_plain(ir_base(zero->type));
  for (int k = 0; numbers && k < b->l->ncarried; k++)
    if (b->inputs[k] == x && ir_loop_copies(b->w, b->n, loop_first(b->l) + k))
      return ir_to_bag(b->w, ir_fill(b->w, zero, ad_fwd(b->r, x)));
  return ad_region_acc(b->r, x, b->inputs, b->ninputs);
}

/* What stands for input k, x outside, in the body's forward pass. Of state that isn't replayed only the shape is read:
 * all else is a residual. */
static Node *primal_input(BackLoop *b, int k, Node *x) {
  bool replay = b->plan->strategy == REPLAY;
  switch (loop_part(b->l, k)) {
  case LOOP_SLICED: return loop_add(b->loop, LOOP_SLICED, x);
  case LOOP_CAPTURED: return b->outside[k];
  default:
    if (replay && !is_active(b, k)) return loop_add(b->loop, LOOP_CARRIED, x);
    return !replay && ir_keeps_shape(b->l, b->c->g, k) ? b->outside[k] : ir_zero(b->w, x->type);
  }
}

/* The inputs, and what carries or accumulates their cotangents; d: of the loop's results. The cotangents of a sum
 * and of a mere accumulator are the same in all iterations. Those of slices' elements start at zero in
 * each. */
static void add_inputs(BackLoop *b, Node *d) {
  Node **acc = b->args + b->c->p + 1;
  for (int k = 0; k < b->ninputs; k++) {
    Node *x = ad_fwd(b->r, b->inputs[k]), *zero = ir_zero(b->w, ad_cotangent(b->w, b->c->g->params[1 + k]));
    LoopPart part = loop_part(b->l, k);
    b->outside[k] = loop_add(b->loop, LOOP_CAPTURED, x);
    b->args[1 + k] = primal_input(b, k, x);
    if (part <= LOOP_ACC) b->dy[k] = zero;
    if (!is_active(b, k)) continue;
    *acc = zero;
    if (is_sum(b, k)) b->dy[k] = loop_add(b->loop, LOOP_CAPTURED, ir_get(b->w, d, k));
    else if (part <= LOOP_ACC) b->dy[k] = b->cot[k] = loop_add(b->loop, LOOP_CARRIED, ir_get(b->w, d, k));
    else if (part == LOOP_CAPTURED) *acc = b->cot[k] = loop_add(b->loop, LOOP_ACC, capture_acc(b, b->inputs[k]));
    acc++;
  }
}

/* Residual x of the body, which came back from the tape: an array with the length it is known to have. */
static Node *sized(BackLoop *b, Node *x, Node *back, Node **ops) {
  Node *n = x->type->kind == T_ARRAY ? ir_length_outside(b->w, b->n, ops, x) : NULL;
  return n ? ir_slice(b->w, back, ir_int(b->w, 0), loop_add(b->loop, LOOP_CAPTURED, n)) : back;
}

/* Carried numbers that are rematerialised, residuals from the tapes, cotangents of stacked results. */
static void add_tapes(BackLoop *b, Node *d) {
  World *w = b->w;
  const Combined *c = b->c;
  const Split *s = &b->plan->split;
  Node **ops = ad_fwd_all(b->r, b->inputs, b->ninputs);
  for (int k = 0; k < b->l->ncarried; k++)
    if (b->plan->rematerialised[k]) b->args[1 + k] = ir_delayed_value(w, b->n, k, b->args[0], b->outside);
  for (int j = 0; j < s->nres; j++) {
    Node *row = loop_add(b->loop, LOOP_SLICED, b->plan->tapes[j]);
    b->args[c->back->nparams + j] = sized(b, s->res[j], b->plan->wrapped[j] ? ir_get(w, row, 0) : row, ops);
  }
  for (int k = loop_slots(b->l); k < b->n->type->n - 1; k++) {
    Node *bag = ir_get(w, d, k), *like = ir_get(w, ad_fwd(b->r, b->n), k);
    if (ad_is_zero(bag)) b->dy[k] = ir_zero(w, c->back->params[c->p]->args[k]);
    else b->dy[k] = ir_to_bag(w, loop_add(b->loop, LOOP_SLICED, ir_fill(w, bag, like)));
  }
}

/* The body: the pullback, and where the loop is replayed what other carried values are next. Fills in which result is
 * stacked for input k. */
static void fill_body(BackLoop *b, int *stacked) {
  World *w = b->w;
  Node *accs = ir_instantiate(w, b->plan->split.late, b->args, 0), *y = NULL;
  if (b->plan->strategy == REPLAY) y = ir_instantiate(w, b->c->g, b->args, 0);
  for (int k = 0, at = 0; k < b->ninputs; k++) {
    Node *x = is_active(b, k) ? ir_get(w, accs, at++) : NULL;
    if (b->cot[k]) loop_next(b->loop, b->cot[k], x);
    else if (x && loop_part(b->l, k) == LOOP_SLICED)
      stacked[k] = loop_stack_sized(b->loop, ir_fill(w, x, b->args[1 + k]));
    else if (y && !x && k < b->l->ncarried) loop_next(b->loop, b->args[1 + k], ir_get(w, y, k));
  }
}

/* What becomes of the cotangents after the loop: accumulators that were moved into it first, then what is added to
 * other inputs' cotangents. */
static void hand_on(BackLoop *b, Node *d, const int *stacked) {
  for (int k = loop_captures(b->l); k < b->ninputs; k++)
    if (b->cot[k]) ad_region_done(b->r, b->inputs[k], b->inputs, b->ninputs, loop_result(b->loop, b->cot[k]));
  for (int k = 0; k < loop_captures(b->l); k++) {
    if (!is_active(b, k)) continue;
    Node *x = b->cot[k]      ? loop_result(b->loop, b->cot[k])
              : is_sum(b, k) ? ir_get(b->w, d, k)
                             : ir_to_bag(b->w, loop_stacked(b->loop, stacked[k]));
    ad_add(b->r, b->inputs[k], x);
  }
}

void ad_loop_backward(Diff *r, int at, Node *d) {
  World *w = r->w;
  const Node *n = r->nodes[at];
  const LoopInfo *l = n->loop;
  const LoopPlan *p = r->memo[at];
  if (p->strategy == PREACCUMULATE) {
    ad_preaccumulated_backward(r, p, d);
    return;
  }
  if (!p->body->nacc) return;
  bool replay = p->strategy == REPLAY;
  BackLoop b = {.r = r, .w = w, .n = n, .l = l, .plan = p, .c = p->body, .ninputs = loop_inputs(l)};
  b.inputs = n->ops + loop_first(l);
  b.loop = loop_open(w, replay ? l->down : !l->down);
  b.outside = NEW_ARRAY(w->arena, Node *, b.ninputs + 1);
  b.args = NEW_ARRAY(w->arena, Node *, p->split.late->nparams);
  b.dy = NEW_ARRAY(w->arena, Node *, n->type->n);
  b.cot = NEW_ARRAY(w->arena, Node *, b.ninputs + 1);
  int *stacked = NEW_ARRAY(w->arena, int, b.ninputs + 1);
  b.args[0] = loop_index(b.loop);
  add_inputs(&b, d);
  add_tapes(&b, d);
  b.args[b.c->p] = ir_tuple(w, b.c->back->params[b.c->p], b.dy);
  fill_body(&b, stacked);
  if (replay) loop_close_as(b.loop, n, ad_fwd_all(r, n->ops, n->nops), n->graphs, b.args);
  else loop_close(b.loop, l->has_cond ? ir_get(w, ad_fwd(r, n), n->type->n - 1) : ad_fwd(r, n->ops[0]), NULL, n->site);
  hand_on(&b, d, stacked);
}
