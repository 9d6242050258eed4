/* SPDX-License-Identifier: MIT */
/* Which strategy the backward pass of a loop follows, and why: a LoopPlan, which a remark prints (`atled ir
 * --stage=remarks`) and of which loop_reverse.c makes both loops. Of
 *
 *   loop i < n, s = s0: s = f(i, s, c, a[i])
 *
 * with carried value s, capture c and slice a, the strategies make
 *
 *   strategy       forward pass                    backward pass
 *   PREACCUMULATE  carries s and ∂s/∂c             no loop: c̄ += s̄ * ∂s/∂c
 *   REPLAY         the loop as it is               the loop again, in the same order: each iteration adds to c̄
 *   RERUN          the loop as it is               any order; each iteration runs f, then the pullback of f
 *   TAPE           also stacks the residuals of f  i = n-1 … 0; each iteration reads its residuals, runs the pullback
 *
 * The first that is possible and pays is taken. RERUN happens at most once on a path of nested loops, so an operation
 * runs at most twice forward whatever the depth, which the cost theorem needs (docs/architecture.md). */
#include "ad/ad_internal.h"
#include "facts/ir_loop_facts.h"
#include "facts/uses.h"
#include "ir/world.h"
#include <string.h>

/* ---- Activity of the body ---------------------------------------------------------------------------------------- */
Fact *ad_body_facts_from(World *w, const Node *n, const Fact *given) {
  Graph *body = n->graphs[0];
  const LoopInfo *l = n->loop;
  Fact *facts = NEW_ARRAY(w->arena, Fact, body->nparams + 1);
  memcpy(facts + 1, given, (size_t)body->nparams - 1);
  for (bool more = true; more;) { /* a least fixed point: an iteration's results are the next one's inputs */
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

/* ---- Questions about graphs -------------------------------------------------------------------------------------- */
/* True if g runs a loop other than in a branch. */
static bool holds_loop(World *w, const Graph *g) {
  Node **nodes;
  bool any = false;
  for (int i = ir_order(w->temp, g, &nodes) - 1; i >= 0; i--) any |= nodes[i]->op == OP_LOOP;
  return any;
}

/* True if g computes floats whose last bit may differ between two runs. */
static bool holds_rounded(World *w, Graph *g) { return ir_reaches(w, g, ir_rounds); }

/* ---- Sums and filled arrays -------------------------------------------------------------------------------------- */
static bool is_updated(World *w, const Node *n, int k);
static bool derives(World *w, Graph *g, const Node *x, int p);

/* How many operands of g's nodes refer to more than x's lengths. */
static int reads(World *w, Graph *g, const Node *x) {
  int n = uses_count(graph_uses(w, g), x);
  FOR_USES (use, graph_uses(w, g), x) n -= use->user->op == OP_LEN;
  return n;
}

/* True if component k of the branch (-1: all of it) derives from parameter p of g in each arm. */
static bool branch_derives(World *w, Graph *g, const Node *branch, int k, int p) {
  int at = -1;
  for (int i = 1; i < branch->nops; i++)
    if (fact_is_param(branch->ops[i], p)) at = i - 1;
  if (at < 0 || branch->op != OP_SWITCH || reads(w, g, branch->ops[1 + at]) != 1) return false;
  for (int a = 0; a < branch->ngraphs; a++) {
    Graph *arm = branch->graphs[a];
    if (k >= 0 && arm->result->op != OP_TUPLE) return false;
    if (!derives(w, arm, k < 0 ? arm->result : arm->result->ops[k], at)) return false;
  }
  return true;
}

/* The same for component k of a branch or of a loop inside. */
static bool component_derives(World *w, Graph *g, const Node *whole, int k, int p) {
  if (whole->op != OP_LOOP) return branch_derives(w, g, whole, k, p);
  return k < whole->loop->ncarried && is_updated(w, whole, k) &&
         derives(w, g, whole->ops[k + loop_first(whole->loop)], p);
}

/* True if x is parameter p of g, ± terms, or with other entries, where nothing else reads p or what it becomes on the
 * way to x. */
static bool derives(World *w, Graph *g, const Node *x, int p) {
  if (reads(w, g, x) != 1) return false;
  if (fact_is_param(x, p)) return true;
  switch (x->op) {
  case OP_FADD:
  case OP_IADD:
  case OP_CADD: return derives(w, g, x->ops[0], p) || derives(w, g, x->ops[1], p);
  case OP_ISUB:
  case OP_FSUB:
  case OP_UPDATE: return derives(w, g, x->ops[0], p);
  case OP_FMA: return derives(w, g, x->ops[2], p);
  case OP_SWITCH: return branch_derives(w, g, x, -1, p);
  case OP_GET: return component_derives(w, g, x->ops[0], (int)x->attr.i, p);
  default: return false;
  }
}

/* True if carried value k of loop n derives from what it was in the iteration before, and nothing else reads it. */
static bool is_updated(World *w, const Node *n, int k) {
  Graph *body = n->graphs[0], *cond = n->loop->has_cond ? n->graphs[1] : NULL;
  IrType *t = body->params[1 + k];
  if (cond && reads(w, cond, ir_param(w, loop_cond_param(n->loop, k), t))) return false;
  if (body->result->op == OP_SWITCH) return branch_derives(w, body, body->result, k, 1 + k);
  return body->result->op == OP_TUPLE && derives(w, body, body->result->ops[k], 1 + k);
}

/* True if carried value k of loop n is a sum, s' = s ± x, that nothing else reads. Its cotangent is the same in every
 * iteration. */
static bool is_sum(World *w, const Node *n, int k) {
  return ir_is_number(n->graphs[0]->params[1 + k]) && is_updated(w, n, k);
}

/* True if carried value k is an array of which iterations write entries, and read its lengths alone. The backward loop
 * takes the cotangents of the entries out of that of the array: no iteration needs what another one has made. */
static bool is_filled(World *w, const Node *n, int k) {
  return ir_keeps_shape(n->loop, n->graphs[0], k) && is_updated(w, n, k);
}

/* True if no iteration reads what the one before it has made. */
static bool carries_unread(World *w, const Node *n) {
  for (int k = 0; k < n->loop->ncarried; k++)
    if (!is_sum(w, n, k) && !is_filled(w, n, k)) return false;
  return true;
}

/* ---- Replay ------------------------------------------------------------------------------------------------------ */

/* True if carried value k is the same, to the last bit, when the loop is run again. */
static bool is_reproducible(World *w, const Node *n, int k) {
  Graph *body = n->graphs[0];
  IrKind t = body->params[1 + k]->kind;
  if (t != T_INT && t != T_BOOL && t != T_STRING && t != T_VARIANT) return false;
  return !holds_rounded(w, ir_graph(w, body->params, body->nparams, ir_get(w, body->result, k), NULL));
}

/* True for a loop with a condition whose active carried values are sums and whose other ones are reproducible, as a
 * fold over a list. The cotangent of a sum is the same in every iteration, so the backward pass may visit the
 * iterations in the primal order, and no tape is needed. If the value is wanted too, one loop makes both in the end. */
static bool is_replayable(const Diff *r, const Node *n, const Fact *facts, const Fact *outside) {
  const LoopInfo *l = n->loop;
  Graph *b = n->graphs[0];
  bool calls = b->flags & (NODE_CALLS | NODE_APPLIES | NODE_AD | NODE_FORKS), sums = false;
  if (!r->rerun || !l->has_cond || l->naccs || l->nstacked || calls || holds_loop(r->w, b)) return false;
  for (int k = 0; k < l->ncarried; k++) {
    bool active = facts[1 + k] & ACTIVE;
    if (active ? !is_sum(r->w, n, k) : !is_reproducible(r->w, n, k)) return false;
    sums |= active;
  }
  for (int i = 1 + l->ncarried; i < b->nparams; i++) {
    if ((facts[i] | outside[i - 1]) & OVERWRITTEN) return false;
    /* the trip count is unknown before the loop, so no accumulator of an array would be dense */
    if (facts[i] & ACTIVE && !ad_holds_numbers(r->w, b->params[i])) return false;
  }
  return sums && !holds_rounded(r->w, n->graphs[1]);
}

/* ---- Rerun or tape ----------------------------------------------------------------------------------------------- */
/* Why the backward pass can't run the body again; NULL: it can. */
static const char *rerun_hindrance(const Diff *r, const Node *n, const Fact *facts) {
  const LoopInfo *l = n->loop;
  const Graph *b = n->graphs[0];
  if (l->has_cond) return "taped: how often the loop runs isn't known beforehand";
  if (!carries_unread(r->w, n)) return "taped: an iteration needs what the one before it has made";
  if (b->flags & (NODE_CALLS | NODE_APPLIES | NODE_AD | NODE_FORKS)) return "taped: the body calls functions";
  if (!r->rerun) return "taped: a loop around is run again already";
  for (int i = 1 + loop_slots(l); i < b->nparams; i++)
    if (facts[i] & OVERWRITTEN) return "taped: what the body reads is overwritten afterwards";
  /* what is made again must have the sizes of what was made */
  return ir_sizes_exact(r->w, l, b) ? NULL : "taped: sizes may come out differently when the body is run again";
}

/* True if the residuals are a few numbers: storing these costs less than running inner loops again. Where value and
 * backward pass end up in one loop they aren't stored at all. */
static bool is_small_tape(World *w, const Split *s) {
  if (s->nres > LIMIT_KEPT_NUMBERS) return !limit_reached(w->arena, AT_KEPT_NUMBERS);
  for (int j = 0; j < s->nres; j++)
    if (!ir_is_number(s->res[j]->type)) return false;
  return true;
}

/* How much of each parameter of the body the backward loop may read, besides residuals. Marks those in `facts` that
 * hold arrays which the loop overwrites. */
static Known *known_in_body(World *w, const Node *n, Fact *facts, const Fact *outside) {
  Graph *b = n->graphs[0];
  Known *known = NEW_ARRAY(w->arena, Known, b->nparams);
  const bool *replaced = ir_carried_kept(w, n->loop, b);
  known[0] = KNOWN_VALUE;
  for (int i = 1; i < b->nparams; i++) {
    bool state = loop_part(n->loop, i - 1) <= LOOP_ACC;
    bool shape = !state || ir_keeps_shape(n->loop, b, i - 1);
    if (ir_holds_arrays(w, b->params[i]) && ((state && !replaced[i - 1]) || outside[i - 1])) facts[i] |= OVERWRITTEN;
    known[i] = state || facts[i] & OVERWRITTEN              ? (shape ? KNOWN_SHAPE : KNOWN_NOT)
               : loop_part(n->loop, i - 1) == LOOP_CAPTURED ? KNOWN_FIXED
                                                            : KNOWN_VALUE;
  }
  return known;
}

/* ---- Tapes of what is loaded ------------------------------------------------------------------------------------- */
/* True if x is a number that the body loads at an exact index from an array that the backward pass may not read. */
static bool is_load_to_tape(World *w, const Combined *c, const Known *known, const Node *x) {
  if (x->op != OP_INDEX || !ir_is_number(x->type) || (int)x->nparams > c->p) return false;
  if (x->ops[0]->op != OP_PARAM || known[x->ops[0]->attr.i] >= KNOWN_VALUE) return false;
  for (int k = 1; k < x->nops; k++)
    if (!ir_is_exact(w, c->g, x->ops[k])) return false;
  return true;
}

/* True if `late`, the second stage of c, reads no more of the body's parameters than is known. */
static bool reads_what_is_known(World *w, const Combined *c, Graph *late, const Known *known) {
  for (int q = 0; q < c->p; q++) {
    Node *x = ir_param(w, q, late->params[q]);
    if (known[q] < KNOWN_VALUE && reads(w, late, x)) return false;
    if (known[q] < KNOWN_SHAPE && uses_count(graph_uses(w, late), x)) return false;
  }
  return true;
}

/* Splits the backward pass so that the tape holds only numbers which the body loads, and all else is computed again.
 * False if something else is needed of what an earlier iteration has made, or of what is overwritten. */
static bool split_at_loads(World *w, const Combined *c, const Known *known, Split *out) {
  const Graph *back = c->back;
  Node **nodes;
  int n = ir_order(w->temp, back, &nodes), nparams = back->nparams;
  IrType **types = NEW_ARRAY(w->arena, IrType *, nparams + n);
  memcpy(types, back->params, sizeof *types * (size_t)nparams);
  Split s = {.res = NEW_ARRAY(w->arena, Node *, n + 1)};
  Map over;
  map_init(&over, w->temp);
  for (int i = 0; i < n; i++) {
    if (!is_load_to_tape(w, c, known, nodes[i])) continue;
    s.res[s.nres++] = nodes[i];
    types[nparams] = nodes[i]->type;
    map_put(&over, nodes[i], ir_param(w, nparams++, nodes[i]->type));
  }
  s.late = ir_graph_over(w, ir_graph(w, types, nparams, back->result, back->name), &over);
  *out = s;
  return reads_what_is_known(w, c, s.late, known);
}

/* True if that is possible, and less is kept than otherwise. */
static bool keeps_fewer_loads(const Diff *r, const Node *n, LoopPlan *p, const Known *known) {
  const Graph *b = n->graphs[0];
  if (!r->rerun || b->flags & (NODE_CALLS | NODE_APPLIES | NODE_AD | NODE_FORKS) || holds_loop(r->w, b)) return false;
  Split loads;
  if (!ir_sizes_exact(r->w, n->loop, b) || !split_at_loads(r->w, p->body, known, &loads)) return false;
  if (loads.nres >= p->split.nres) return false;
  p->split = loads;
  return true;
}

/* ---- The plan ---------------------------------------------------------------------------------------------------- */
/* The backward loop runs the body's forward pass too: in it, nothing may be run again. */
static LoopPlan *run_body(World *w, LoopPlan *p, const Node *n, const Fact *facts, Strategy strategy, const char *why) {
  p->strategy = strategy;
  p->why = why;
  p->body = ad_combine(w, n->graphs[0], facts, false);
  p->split = (Split){.late = p->body->back};
  return p;
}

LoopPlan *ad_plan_loop(const Diff *r, const Node *n) {
  World *w = r->w;
  Graph *b = n->graphs[0];
  LoopPlan *p = NEW(w->arena, LoopPlan);
  Fact *facts = ad_body_facts(r, n), *outside = ad_facts(r, n->ops + loop_first(n->loop), b->nparams - 1, OVERWRITTEN);
  if (ad_find_inputs(r, n, facts, p)) {
    p->why = "preaccumulated: the loop keeps its few partial derivatives";
    return p;
  }
  p->rematerialised = NEW_ARRAY(w->arena, Known, n->loop->ncarried + 1);
  if (is_replayable(r, n, facts, outside))
    return run_body(w, p, n, facts, REPLAY, "replayed: the loop runs once more in the same order, and nothing is kept");
  Known *known = known_in_body(w, n, facts, outside);
  p->rematerialised = ir_delayed(w, n->loop, b, known);
  for (int k = 0; k < n->loop->ncarried; k++)
    if (p->rematerialised[k]) known[1 + k] = p->rematerialised[k];
  const char *hindrance = rerun_hindrance(r, n, facts);
  if (hindrance || holds_loop(w, b)) {
    p->body = ad_combine(w, b, facts, r->rerun);
    p->split = ir_split(w, p->body->back, p->body->p, known);
    if (!hindrance && is_small_tape(w, &p->split))
      hindrance = "taped: the few numbers are cheaper to keep than the loops inside to run again";
    if (hindrance && keeps_fewer_loads(r, n, p, known))
      hindrance = "taped: elements of arrays that are overwritten; the backward pass computes the rest again";
  }
  if (!hindrance)
    return run_body(w, p, n, facts, RERUN, "rerun: the backward pass runs the body again, and nothing is kept");
  ad_find_views(w, n, outside, facts);
  p->facts = facts;
  p->strategy = TAPE;
  p->why = p->split.nres ? hindrance : "linear: the backward pass needs nothing that the loop makes";
  return p;
}
