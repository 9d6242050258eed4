/* SPDX-License-Identifier: MIT */
/* Reverse mode of branches and loops.
 *
 * A branch: each arm is split; the forward branch also returns what the backward passes of its arms need, and the
 * backward branch switches on the same selector. A loop: the backward loop runs the other way, carries the
 * cotangents of the carried values, adds into the accumulators of the captures, and reads tapes as slices; or, where
 * iterations are independent and nothing hinders it, runs the body again and needs no tape. One that only adds up what
 * it walks through is walked through again, forward.
 *
 * Both are built with all that they may need; the normal forms of branches and loops drop what they don't. */
#include "ad/ad_internal.h"
#include "ir/remarks.h"
#include <string.h>

/* ---- Branches ------------------------------------------------------------------------ */
/* A residual that is a part of an array which is overwritten is copied: a loop around would keep it as a view. */
static void copy_views(World *w, Split *arm, const Fact *facts) {
  for (int j = 0; j < arm->nres; j++) {
    int viewed = arm->res[j]->type->kind == T_ARRAY ? ir_viewed_param(arm->res[j]) : -1;
    if (viewed >= 0 && facts[viewed] & OVERWRITTEN) arm->res[j] = ir_copy_rows(w, arm->res[j]);
  }
}

void ad_switch_forward(Diff *r, int at) {
  World *w = r->w;
  Node *n = r->nodes[at], **ops = ad_fwd_all(r, n->ops, n->nops);
  StagedSwitch *s = r->memo[at] = NEW(w->arena, StagedSwitch);
  *s = (StagedSwitch){.selector = ops[0], .caps = ops + 1, .ncaps = n->nops - 1, .narms = n->ngraphs};
  Fact *facts = ad_facts(r, n->ops + 1, s->ncaps, ACTIVE | OVERWRITTEN);
  Known *known = NEW_ARRAY(w->arena, Known, s->ncaps + 1);
  for (int i = 0; i < s->ncaps; i++) known[i] = facts[i] & OVERWRITTEN ? KNOWN_SHAPE : KNOWN_VALUE;
  Node **ys = NEW_ARRAY(w->arena, Node *, s->narms);
  s->arms = NEW_ARRAY(w->arena, Split, s->narms);
  for (int t = 0; t < s->narms; t++) {
    Combined *c = ad_combine(w, n->graphs[t], facts, r->rerun);
    ys[t] = c->y;
    s->arms[t] = ir_split(w, c->back, c->p, known);
    copy_views(w, &s->arms[t], facts);
  }
  r->fwd[at] = ir_switch_early(w, s, ys);
}

void ad_switch_backward(Diff *r, int at, Node *d) {
  Node *n = r->nodes[at];
  Nodes late = {0};
  vec_push(r->w->arena, late, d);
  ad_region_accs(r, n->ops + 1, n->nops - 1, &late);
  if (late.len == 1) return;
  Node *accs = ir_switch_late(r->w, r->memo[at], late.data, late.len);
  ad_region_all_done(r, n->ops + 1, n->nops - 1, accs);
}

/* ---- Loops ------------------------------------------------------------------------------- */
typedef struct LoopMemo {
  Combined *c;
  Split split;              /* without residuals if the body is run again */
  Node **tapes;             /* of the residuals */
  bool *wrapped;            /* each row of the tape is a tuple of one */
  Known *delayed;           /* carried values that are computed again, from the index */
  bool walks;               /* the backward pass walks as the loop does: see may_walk_again */
  Preaccumulated *partials; /* NULL: all the others */
} LoopMemo;

/* A fixed point: what a carried value is at the end of one iteration it is at the start of the next. */
Fact *ad_body_facts_from(World *w, const Node *n, const Fact *given) {
  Graph *body = n->graphs[0];
  const LoopInfo *l = n->loop;
  Fact *facts = NEW_ARRAY(w->arena, Fact, body->nparams + 1);
  memcpy(facts + 1, given, (size_t)body->nparams - 1);
  for (bool more = true; more;) {
    more = false;
    Diff *r = ad_begin(w, body, facts);
    for (int i = 0; i < r->n; i++)
      if (r->nodes[i]->op != OP_PARAM) ad_visit(r, i);
    for (int k = 0; k < loop_slots(l); k++) {
      const Node *x = body->result->op == OP_TUPLE ? body->result->ops[k] : body->result;
      if (facts[1 + k] || !ad_active(r, x) || !ad_has_slot(w, body->params[1 + k])) continue;
      facts[1 + k] = ACTIVE;
      more = true;
    }
  }
  return facts;
}

Fact *ad_body_facts(const Diff *outer, const Node *n) {
  int first = loop_first(n->loop);
  return ad_body_facts_from(outer->w, n, ad_facts(outer, n->ops + first, n->nops - first, ACTIVE));
}

/* Why the backward pass can't run the body again; NULL: it can. */
static const char *rerun_hindrance(const Diff *r, const Node *n, const Fact *facts) {
  const LoopInfo *l = n->loop;
  const Graph *b = n->graphs[0];
  if (l->has_cond) return "taped: how often the loop runs isn't known beforehand";
  if (l->ncarried) return "taped: an iteration needs what the one before it has made";
  if (b->flags & (NODE_CALLS | NODE_APPLIES | NODE_AD)) return "taped: the body calls functions";
  if (!r->rerun) return "taped: a loop around is run again already";
  for (int i = 1 + l->naccs; i < b->nparams; i++)
    if (facts[i] & OVERWRITTEN) return "taped: what the body reads is overwritten afterwards";
  /* what is made again must have the sizes of what was made */
  return ir_sizes_exact(r->w, l, b) ? NULL : "taped: sizes may come out differently when the body is run again";
}

static bool holds_loop(World *w, const Graph *g) {
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  for (int i = 0; i < n; i++)
    if (ir_shape(nodes[i]) == IR_LOOP) return true;
  return false;
}

/* Does g decide by floats that may come out differently? */
static bool holds_rounded(World *w, const Graph *g) {
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  for (int i = 0; i < n; i++) {
    if (ir_rounds(nodes[i])) return true;
    for (int k = 0; k < nodes[i]->ngraphs; k++)
      if (holds_rounded(w, nodes[i]->graphs[k])) return true;
  }
  return false;
}

static bool is_param(const Node *x, int k) { return x->op == OP_PARAM && x->attr.i == k; }

/* How many operands in g refer to its parameter k. */
static int uses_of(World *w, const Graph *g, int k) {
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes), uses = is_param(g->result, k);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < nodes[i]->nops; j++) uses += is_param(nodes[i]->ops[j], k);
  return uses;
}

/* Does the loop, which has a condition, do no more with carried number k than to add to it? */
static bool only_adds(World *w, const Node *n, int k) {
  const Graph *body = n->graphs[0];
  const Node *next = ir_get(w, body->result, k);
  if (next->type->kind != T_FLOAT || uses_of(w, body, 1 + k) != 1) return false;
  if (uses_of(w, n->graphs[1], loop_cond_param(n->loop, k))) return false;
  bool sum = next->op == OP_FADD || next->op == OP_CADD, first = sum || next->op == OP_FSUB;
  return (first && is_param(next->ops[0], 1 + k)) || (sum && is_param(next->ops[1], 1 + k)) ||
         (next->op == OP_FMA && is_param(next->ops[2], 1 + k));
}

/* Is carried value k the same, to the last bit, when the loop is run again? */
static bool is_walked_alike(World *w, const Node *n, int k) {
  Graph *body = n->graphs[0];
  IrKind t = body->params[1 + k]->kind;
  if (t != T_INT && t != T_BOOL && t != T_STRING && t != T_VARIANT) return false;
  return !holds_rounded(w, ir_graph(w, body->params, body->nparams, ir_get(w, body->result, k), NULL));
}

/* A loop that walks through something, as a list, and adds up: cotangents don't depend on the order. So the backward
 * pass walks the same way, from the start, and nothing is kept. Where the value is wanted too, one loop does both. */
static bool may_walk_again(const Diff *r, const Node *n, const Fact *facts, const Fact *outside) {
  const LoopInfo *l = n->loop;
  const Graph *b = n->graphs[0];
  bool calls = b->flags & (NODE_CALLS | NODE_APPLIES | NODE_AD), sums = false;
  if (!r->rerun || !l->has_cond || l->naccs || l->nstacked || calls || holds_loop(r->w, b)) return false;
  for (int k = 0; k < l->ncarried; k++) {
    bool active = facts[1 + k] & ACTIVE;
    if (active ? !only_adds(r->w, n, k) : !is_walked_alike(r->w, n, k)) return false;
    sums |= active;
  }
  for (int i = 1 + l->ncarried; i < b->nparams; i++) {
    if ((facts[i] | outside[i - 1]) & OVERWRITTEN) return false;
    /* How often it runs isn't known beforehand, so no accumulator of an array would be dense. */
    if (facts[i] & ACTIVE && !ad_holds_numbers(r->w, b->params[i])) return false;
  }
  return sums && !holds_rounded(r->w, n->graphs[1]);
}

/* Are the residuals a few numbers, and less to keep than loops to run again? Where value and backward pass end up in
 * one loop they aren't kept at all. */
static bool better_kept(World *w, const Split *s) {
  if (s->nres > LIMIT_KEPT_NUMBERS) return !limit_reached(w->arena, AT_KEPT_NUMBERS);
  for (int j = 0; j < s->nres; j++) {
    IrKind t = s->res[j]->type->kind;
    if (t != T_FLOAT && t != T_INT && t != T_BOOL) return false;
  }
  return true;
}

/* Rows of an array are of one length, and are copied; what may differ from iteration to iteration, or is there for
 * longer and is kept by reference, goes into a tuple of one. So does a bag: an array of bags would have the cotangent
 * of an array of arrays. */
static bool needs_wrap(World *w, const Node *loop, Node **ops, Node *x) {
  return x->type->kind == T_BAG || (x->type->kind == T_ARRAY && !ir_is_new_row(w, loop, ops, x));
}

/* What a tape keeps of residual x. A part of a carried array is copied: kept as a view it would make the next update
 * copy the whole. */
static Node *kept(World *w, const LoopInfo *l, Node *x) {
  int viewed = x->type->kind == T_ARRAY ? ir_viewed_param(x) : -1;
  if (viewed > 0 && loop_part(l, viewed - 1) <= LOOP_ACC) x = ir_copy_rows(w, x);
  return ir_record(w, &x, 1);
}

/* The backward pass runs the loop's body again. */
static void keep_nothing(Diff *r, int at, const Fact *facts) {
  Node *n = r->nodes[at];
  LoopMemo *m = r->memo[at];
  m->c = ad_combine(r->w, n->graphs[0], facts, false);
  m->split = (Split){.late = m->c->back};
  r->fwd[at] = ad_rebuild(r, n);
}

void ad_loop_forward(Diff *r, int at) {
  World *w = r->w;
  Node *n = r->nodes[at], **ops = n->ops + loop_first(n->loop);
  Graph *b = n->graphs[0];
  LoopMemo *m = r->memo[at] = NEW(w->arena, LoopMemo);
  if ((m->partials = ad_preaccumulate(r, at))) {
    ir_remark(w, "backward", n->site, "preaccumulated: the loop keeps its few partial derivatives");
    return;
  }
  Fact *facts = ad_body_facts(r, n), *outside = ad_facts(r, ops, b->nparams - 1, OVERWRITTEN);
  if ((m->walks = may_walk_again(r, n, facts, outside))) {
    ir_remark(w, "backward", n->site, "replayed: the loop runs once more in the same order, and nothing is kept");
    keep_nothing(r, at, facts);
    return;
  }
  Known *known = NEW_ARRAY(w->arena, Known, b->nparams);
  known[0] = KNOWN_VALUE;
  const bool *replaced = ir_carried_kept(w, n->loop, b);
  for (int i = 1; i < b->nparams; i++) {
    bool state = loop_part(n->loop, i - 1) <= LOOP_ACC;
    bool shape = !state || ir_keeps_shape(n->loop, b, i - 1);
    if (ir_holds_arrays(w, b->params[i]) && ((state && !replaced[i - 1]) || outside[i - 1])) facts[i] |= OVERWRITTEN;
    known[i] = state || facts[i] & OVERWRITTEN              ? (shape ? KNOWN_SHAPE : KNOWN_NOT)
               : loop_part(n->loop, i - 1) == LOOP_CAPTURED ? KNOWN_FIXED
                                                            : KNOWN_VALUE;
  }
  Known *delayed = m->delayed = ir_delayed(w, n->loop, b, known);
  for (int k = 0; k < n->loop->ncarried; k++)
    if (delayed[k]) known[1 + k] = delayed[k];
  const char *taped = rerun_hindrance(r, n, facts);
  bool again = !taped;
  Split *s = &m->split;
  if (!again || holds_loop(w, b)) {
    m->c = ad_combine(w, b, facts, r->rerun);
    *s = ir_split(w, m->c->back, m->c->p, known);
    again = again && !better_kept(w, s);
    if (!taped) taped = "taped: the few numbers are cheaper to keep than the loops inside to run again";
  }
  if (again) taped = "rerun: the backward pass runs the body again, and nothing is kept";
  else if (!s->nres) taped = "linear: the backward pass needs nothing that the loop makes";
  ir_remark(w, "backward", n->site, taped);
  if (again) {
    keep_nothing(r, at, facts);
    return;
  }
  Node **rows = NEW_ARRAY(w->arena, Node *, s->nres + 1);
  m->wrapped = NEW_ARRAY(w->arena, bool, s->nres + 1);
  for (int j = 0; j < s->nres; j++) {
    m->wrapped[j] = needs_wrap(w, n, ops, s->res[j]);
    rows[j] = m->wrapped[j] ? kept(w, n->loop, s->res[j]) : s->res[j];
  }
  m->tapes = NEW_ARRAY(w->arena, Node *, s->nres + 1);
  r->fwd[at] = ir_loop_stacking(w, n, ad_fwd_all(r, n->ops, n->nops), m->c->y, rows, s->nres, m->tapes);
}

/* The backward loop under construction. */
typedef struct BackLoop {
  Diff *r;
  World *w;
  const Node *n; /* the primal loop */
  const LoopMemo *m;
  Node **operands; /* of the primal loop: one for each parameter of the body but i */
  LoopBuilder *loop;
  Node **args; /* for the combined form's parameters and residuals */
  Node **cot;  /* what carries or accumulates the cotangent of a parameter of the body */
} BackLoop;

static LoopPart part_of(const BackLoop *b, int i) { return loop_part(b->n->loop, i - 1); }

/* The accumulator of capture x. An array that the loop changes as well is copied by it, which pays for zeros; what was
 * there before is added afterwards. */
static Node *capture_acc(BackLoop *b, Node *x) {
  Node *zero = ir_zero(b->w, ad_cotangent(b->w, x->type));
  bool numbers = x->type->kind == T_ARRAY && ir_is_plain(ir_base(zero->type));
  for (int k = 0; numbers && k < b->n->loop->ncarried; k++)
    if (b->operands[k] == x && ir_loop_copies(b->w, b->n, loop_first(b->n->loop) + k))
      return ir_to_bag(b->w, ir_fill(b->w, zero, ad_fwd(b->r, x)));
  return ad_region_acc(b->r, x, b->operands, b->m->c->p - 1);
}

/* Carried: cotangents of carried values and accumulators. (That of a mere accumulator never changes.) Accumulated:
 * cotangents of captures. Those of slices start at zero in each iteration. */
static void carry(BackLoop *b, Node *d, Node **dy) {
  const Combined *c = b->m->c;
  Node **acc = b->args + c->p + 1;
  for (int i = 1; i < c->p; i++) {
    LoopPart part = part_of(b, i);
    Node *zero = ir_zero(b->w, ad_cotangent(b->w, c->g->params[i])), *x = b->operands[i - 1];
    if (part <= LOOP_ACC) dy[i - 1] = zero;
    if (!c->active[i]) continue;
    *acc = zero;
    if (part <= LOOP_ACC) dy[i - 1] = b->cot[i] = loop_add(b->loop, LOOP_CARRIED, ir_get(b->w, d, i - 1));
    else if (part == LOOP_CAPTURED) *acc = b->cot[i] = loop_add(b->loop, LOOP_ACC, capture_acc(b, x));
    acc++;
  }
}

/* Residual x of the body, an array that came back from the tape, with the length it is known to have. */
static Node *sized(BackLoop *b, Node *x, Node *back, Node **ops) {
  Node *n = x->type->kind == T_ARRAY ? ir_length_outside(b->w, b->n, ops, x) : NULL;
  return n ? ir_slice(b->w, back, ir_int(b->w, 0), loop_add(b->loop, LOOP_CAPTURED, n)) : back;
}

/* Read: what the primal loop reads, of its state at most the shape (all else is a residual); tapes; cotangents of
 * stacked results. */
static void read_primal(BackLoop *b, Node *d, Node **dy) {
  World *w = b->w;
  const Combined *c = b->m->c;
  const Split *s = &b->m->split;
  const LoopInfo *l = b->n->loop;
  Node **ops = NEW_ARRAY(w->arena, Node *, c->p), **outside = ad_fwd_all(b->r, b->operands, c->p - 1);
  for (int i = 1; i < c->p; i++) {
    Node *x = outside[i - 1];
    ops[i - 1] = loop_add(b->loop, LOOP_CAPTURED, x);
    if (part_of(b, i) == LOOP_SLICED) b->args[i] = loop_add(b->loop, LOOP_SLICED, x);
    else
      b->args[i] = part_of(b, i) == LOOP_CAPTURED || ir_keeps_shape(l, c->g, i - 1) ? ops[i - 1] : ir_zero(w, x->type);
  }
  for (int k = 0; k < l->ncarried; k++)
    if (b->m->delayed[k]) b->args[1 + k] = ir_delayed_value(w, b->n, k, b->args[0], ops);
  for (int j = 0; j < s->nres; j++) {
    Node *row = loop_add(b->loop, LOOP_SLICED, b->m->tapes[j]);
    b->args[c->back->nparams + j] = sized(b, s->res[j], b->m->wrapped[j] ? ir_get(w, row, 0) : row, outside);
  }
  for (int k = loop_slots(l); k < b->n->type->n - 1; k++) {
    Node *bag = ir_get(w, d, k), *like = ir_get(w, ad_fwd(b->r, b->n), k);
    if (ad_is_zero(bag)) dy[k] = ir_zero(w, c->back->params[c->p]->args[k]);
    else dy[k] = ir_to_bag(w, loop_add(b->loop, LOOP_SLICED, ir_fill(w, bag, like)));
  }
}

/* The new cotangents of the carried values, accumulators of the captures, cotangents of the slices' elements; and
 * what becomes of them after the loop: moved accumulators first, then what is added to other operands. */
static void finish(BackLoop *b, Node *trips) {
  World *w = b->w;
  const Combined *c = b->m->c;
  Node *accs = ir_instantiate(w, b->m->split.late, b->args, 0);
  int *stack = NEW_ARRAY(w->arena, int, c->p);
  for (int i = 1, k = 0; i < c->p; i++) {
    if (!c->active[i]) continue;
    Node *x = ir_get(w, accs, k++);
    if (b->cot[i]) loop_next(b->loop, b->cot[i], x);
    else stack[i] = loop_stack(b->loop, ir_fill(w, x, b->args[i]));
  }
  loop_close(b->loop, trips, NULL, b->n->site);
  for (int i = 1; i < c->p; i++)
    if (c->active[i] && part_of(b, i) == LOOP_CAPTURED)
      ad_region_done(b->r, b->operands[i - 1], b->operands, c->p - 1, loop_result(b->loop, b->cot[i]));
  for (int i = 1; i < c->p; i++) {
    if (!c->active[i] || part_of(b, i) == LOOP_CAPTURED) continue;
    Node *x = b->cot[i] ? loop_result(b->loop, b->cot[i]) : ir_to_bag(w, loop_stacked(b->loop, stack[i]));
    ad_add(b->r, b->operands[i - 1], x);
  }
}

/* The backward pass of a loop that is walked through again: `d`, of its sums, goes into each iteration. */
static void walk_again(BackLoop *b, Node *d) {
  World *w = b->w;
  const Combined *c = b->m->c;
  Node **acc = b->args + c->p + 1, **dy = NEW_ARRAY(w->arena, Node *, b->n->type->n);
  Node **ops = ad_fwd_all(b->r, b->n->ops, b->n->nops);
  for (int i = 1; i < c->p; i++) {
    bool carried = part_of(b, i) == LOOP_CARRIED, sum = carried && c->active[i];
    Node *zero = ir_zero(w, ad_cotangent(w, c->g->params[i])), *x = ad_fwd(b->r, b->operands[i - 1]);
    b->args[i] = sum ? ir_zero(w, x->type) : loop_add(b->loop, part_of(b, i), x);
    if (carried) dy[i - 1] = sum ? loop_add(b->loop, LOOP_CAPTURED, ir_get(w, d, i - 1)) : zero;
    if (!c->active[i]) continue;
    *acc++ = sum ? zero : (b->cot[i] = loop_add(b->loop, LOOP_ACC, capture_acc(b, b->operands[i - 1])));
  }
  b->args[c->p] = ir_tuple(w, c->back->params[c->p], dy);
  Node *accs = ir_instantiate(w, b->m->split.late, b->args, 0), *y = ir_instantiate(w, c->g, b->args, 0);
  for (int i = 1, k = 0; i < c->p; i++) {
    if (part_of(b, i) == LOOP_CARRIED && !c->active[i]) loop_next(b->loop, b->args[i], ir_get(w, y, i - 1));
    if (c->active[i] && b->cot[i]) loop_next(b->loop, b->cot[i], ir_get(w, accs, k));
    k += c->active[i];
  }
  loop_close_as(b->loop, b->n, ops, b->n->graphs, b->args);
  for (int i = 1; i < c->p; i++) {
    Node *x = b->operands[i - 1];
    if (b->cot[i]) ad_region_done(b->r, x, b->operands, c->p - 1, loop_result(b->loop, b->cot[i]));
    else if (c->active[i]) ad_add(b->r, x, ir_get(w, d, i - 1));
  }
}

void ad_loop_backward(Diff *r, int at, Node *d) {
  World *w = r->w;
  const Node *n = r->nodes[at];
  const LoopInfo *l = n->loop;
  const LoopMemo *m = r->memo[at];
  const Combined *c = m->c;
  if (m->partials) ad_preaccumulated_backward(r, m->partials, d);
  if (m->partials || !c->nacc) return;
  BackLoop b = {.r = r, .w = w, .n = n, .m = m, .operands = n->ops + loop_first(l)};
  b.loop = loop_open(w, m->walks ? l->down : !l->down);
  b.args = NEW_ARRAY(w->arena, Node *, m->split.late->nparams);
  b.cot = NEW_ARRAY(w->arena, Node *, c->p);
  b.args[0] = loop_index(b.loop);
  if (m->walks) {
    walk_again(&b, d);
    return;
  }
  Node **dy = NEW_ARRAY(w->arena, Node *, n->type->n);
  carry(&b, d, dy);
  read_primal(&b, d, dy);
  b.args[c->p] = ir_tuple(w, c->back->params[c->p], dy);
  finish(&b, l->has_cond ? ir_get(w, ad_fwd(r, n), n->type->n - 1) : ad_fwd(r, n->ops[0]));
}
