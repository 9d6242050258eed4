/* SPDX-License-Identifier: MIT */
/* Loops: iteration by iteration on the numbers of an argument, or once for all iterations, with the index as a symbol
 * over which costs are summed. */
#include "facts/cost_internal.h"
#include "facts/ir_loop_facts.h"
#include <string.h>

typedef struct LoopRun {
  const Node *n;
  const LoopInfo *l;
  CostValue **ops;   /* state and inputs, by operand */
  CostValue **stack; /* results that are stacked: of one iteration, or of all, one after the other */
} LoopRun;

/* Parameters of the body or condition in iteration i. */
static CostValue **inner_args(CostStudy *s, const LoopRun *r, int graph, CostValue *i) {
  CostValue **args = NEW_ARRAY(s->a, CostValue *, r->n->graphs[graph]->nparams + 1);
  args[0] = i;
  for (int k = loop_first(r->l); k < r->n->nops; k++) {
    int p = ir_inner_param(r->n, graph, k);
    if (p < 0) continue;
    bool sliced = loop_part(r->l, k - loop_first(r->l)) == LOOP_SLICED;
    const IrType *t = r->n->graphs[graph]->params[p];
    args[p] = sliced ? cost_element(s, t, r->ops[k], &i, 1) : r->ops[k];
    if (sliced && t->kind != T_ARRAY) cost_add_ops(s, cost_slots(t));
  }
  return args;
}

/* Is part k of what the body yields an array that it makes? It is made in its place then, as the rows that a loop
 * stacks; others are copied there, as what a loop adds to. */
static bool is_made_here(const Node *result, int k) {
  const Node *x = result->op == OP_TUPLE ? fact_unchecked(result->ops[k]) : result;
  if (x->op == OP_GET && x->ops[0]->op == OP_LOOP) return x->attr.i >= loop_slots(x->ops[0]->loop);
  if (x->op == OP_GET) x = x->ops[0];
  return x->op == OP_LOOP || x->op == OP_ZEROS || x->op == OP_ARRAY || x->op == OP_FILL;
}

/* Writing the elements of stacked results. */
static void count_stacked(CostStudy *s, const LoopRun *r, CostValue *once) {
  const IrType *t = r->n->graphs[0]->result->type;
  for (int k = loop_slots(r->l); k < once->n; k++) {
    if (t->args[k]->kind != T_ARRAY) cost_add_ops(s, cost_slots(t->args[k]));
    else if (!is_made_here(r->n->graphs[0]->result, k))
      cost_add_many(s, 2.0 * cost_slots(ir_base(t->args[k])), 0, cost_count_of(s, once->parts[k]));
  }
}

/* Does a loop probably run several iterations at once (lower/lower_lanes.c)? Then branches in it are selections. */
static bool has_lanes(CostStudy *s, const Node *loop) {
  const Body *b = cost_body_of(s, loop->graphs[0]);
  const Node *result = loop->graphs[0]->result;
  if (loop->loop->has_cond || loop->loop->ncarried || result->op != OP_TUPLE) return false;
  for (int k = 0; k < result->nops; k++)
    if (!ir_is_number(result->ops[k]->type)) return false;
  for (int i = 0; i < b->n; i++)
    if (ir_shape(b->nodes[i]) == IR_LOOP || ir_shape(b->nodes[i]) == IR_CALL || b->nodes[i]->op == OP_RT ||
        op_flags[b->nodes[i]->op] & (OPF_W | OPF_F))
      return false;
  return true;
}

static CostValue *once(CostStudy *s, const LoopRun *r, CostValue *i) {
  bool outer = s->lanes;
  s->lanes = has_lanes(s, r->n);
  CostValue *v = cost_graph(s, r->n->graphs[0], inner_args(s, r, 0, i));
  s->lanes = outer;
  count_stacked(s, r, v);
  return v;
}

static CostValue *loop_value_of(CostStudy *s, const LoopRun *r, const Poly *trips, int count, CostValue **stacked) {
  const IrType *t = r->n->type;
  int slots = loop_slots(r->l), last = t->n - 1;
  CostValue **parts = NEW_ARRAY(s->a, CostValue *, t->n + 1);
  for (int k = 0; k < slots; k++) parts[k] = r->ops[loop_first(r->l) + k];
  for (int k = slots; k < last; k++) {
    CostValue **xs = stacked ? NEW_ARRAY(s->a, CostValue *, count + 1) : NULL;
    for (int i = 0; i < count && stacked; i++)
      xs[r->l->down ? count - 1 - i : i] = stacked[i * (last - slots) + k - slots];
    parts[k] = cost_array_of(s, t->args[k], trips, xs, xs ? count : 0,
                             xs && count ? xs[0]
                             : r->stack  ? r->stack[k - slots]
                                         : cost_unknown(s));
    cost_made(s, parts[k], 0);
  }
  parts[last] = cost_number(s, trips);
  return cost_tuple(s, parts, t->n);
}

/* Iteration by iteration; NULL where that isn't possible or takes too long. */
static CostValue *loop_followed(CostStudy *s, LoopRun *r, int64_t trips) {
  int slots = loop_slots(r->l), first = loop_first(r->l), nstacked = r->n->type->n - 1 - slots;
  Vec(CostValue *) stacked = {0};
  int64_t done = 0;
  for (; trips < 0 || done < trips; done++) {
    CostValue *i = cost_int(s, r->l->down ? trips - 1 - done : done);
    if (trips < 0) {
      CostValue *go = cost_graph(s, r->n->graphs[1], inner_args(s, r, 1, i));
      if (go->kind != COST_INT || !go->exact) return NULL;
      if (!go->i) break;
    }
    CostValue *v = once(s, r, i);
    if (s->left <= 0) return NULL;
    for (int k = 0; k < slots; k++) r->ops[first + k] = v->parts[k];
    for (int k = 0; k < nstacked; k++) vec_push(s->a, stacked, v->parts[slots + k]);
  }
  return loop_value_of(s, r, poly_constant(s->a, (double)done), (int)done, stacked.data ? stacked.data : r->ops);
}

static int new_steps(CostStudy *s) {
  int at = COST_SIZES + s->nsteps;
  if (at == POLY_SYMBOLS - LIMIT_COST_DEPTH) return -1;
  s->nsteps++;
  s->symbols[at].name = arena_printf(s->a, "s%d", s->nsteps);
  s->symbols[at].line = s->line;
  return at;
}

/* Recursion that became a loop is where its depth is checked. */
static uint64_t chain_of_loop(CostStudy *s, const Node *loop) {
  const Body *cond = loop->loop->has_cond ? cost_body_of(s, loop->graphs[1]) : NULL;
  for (int i = 0; cond && i < cond->n; i++)
    if (cond->nodes[i]->op == OP_CHECK_DEPTH && cond->nodes[i]->site) return s->chain_of(s->user, cond->nodes[i]->site);
  return loop->site ? s->chain_of(s->user, loop->site) : 0;
}

/* The symbol of a loop that another program of the study has at the same place; else a new one. Loops of one place in
 * one program are told apart: they need not run equally often. */
static int steps_at(CostStudy *s, const Node *loop) {
  uint64_t chain = chain_of_loop(s, loop);
  if (!chain) return new_steps(s);
  for (;; chain = hash_mix(chain, 1)) {
    const void *key = (const void *)(uintptr_t)(chain | 1),
               *here = (const void *)(uintptr_t)(hash_mix(chain, (uint64_t)s->program) | 1);
    if (map_get(&s->steps, here)) continue;
    int at = (int)(uintptr_t)map_get(&s->steps, key) - 1;
    if (at < 0 && (at = new_steps(s)) < 0) return -1;
    map_put(&s->steps, key, (void *)(uintptr_t)(at + 1));
    map_put(&s->steps, here, (void *)(uintptr_t)(at + 1));
    return at;
  }
}

/* How often a loop runs of which that isn't known. */
static const Poly *steps_of(CostStudy *s, const Node *loop) {
  int at = (int)(uintptr_t)map_get(&s->steps, loop) - 1;
  if (at < 0 && (at = steps_at(s, loop)) < 0) return NULL;
  map_put(&s->steps, loop, (void *)(uintptr_t)(at + 1));
  s->uncertain++;
  return poly_symbol(s->a, at);
}

/* Once for all iterations, until what is known of the state doesn't change. */
static CostValue *loop_at_once(CostStudy *s, LoopRun *r, const Poly *trips) {
  int slots = loop_slots(r->l), first = loop_first(r->l);
  bool indexed = s->nindices < LIMIT_COST_DEPTH;
  int symbol = POLY_SYMBOLS - 1 - s->nindices;
  if (indexed) s->limits[s->nindices++] = trips;
  CostValue *i = indexed ? cost_number(s, poly_symbol(s->a, symbol)) : cost_unknown(s), *v = NULL;
  Cost body = {0}, cond = {0}, *outer = s->cost;
  bool changed = true;
  for (int round = 0; changed && round < LIMIT_CUT_ROUNDS; round++) {
    changed = false;
    body = cond = (Cost){0};
    s->cost = &cond;
    if (r->l->has_cond) cost_graph(s, r->n->graphs[1], inner_args(s, r, 1, i));
    s->cost = &body;
    v = once(s, r, i);
    for (int k = 0; k < slots; k++) {
      CostValue *next = v->n > k ? cost_without(s, v->parts[k], symbol) : cost_unknown(s);
      r->ops[first + k] = cost_join(s, r->ops[first + k], next, &changed);
    }
  }
  s->nindices -= indexed;
  s->cost = outer;
  cost_add_sum(s, outer, &body, symbol, trips);
  cost_add_sum(s, outer, &cond, symbol, poly_add(s->a, trips, poly_constant(s->a, r->l->has_cond)));
  r->stack = NEW_ARRAY(s->a, CostValue *, r->n->type->n + 1);
  for (int k = slots; k < r->n->type->n - 1; k++)
    r->stack[k - slots] = v && v->n > k ? cost_without(s, v->parts[k], symbol) : cost_unknown(s);
  return loop_value_of(s, r, trips, 0, NULL);
}

CostValue *cost_loop(CostStudy *s, const Node *n, CostValue **given) {
  LoopRun r = {.n = n, .l = n->loop};
  const Poly *trips = r.l->has_cond ? NULL : cost_poly(s, given[0]);
  int64_t exact = cost_exact(trips);
  double c;
  if (poly_is_constant(trips, &c) && c < 0) trips = poly_constant(s->a, 0), exact = 0;
  bool follows = s->concrete && (r.l->has_cond || (exact >= 0 && exact * n->graphs[0]->size < s->left));
  for (int way = !follows; way < 2; way++) {
    Cost all = {0}, *outer = s->cost;
    int steps = s->notes.len;
    s->cost = &all;
    r.ops = NEW_ARRAY(s->a, CostValue *, n->nops + 1);
    memcpy(r.ops, given, sizeof *given * (size_t)n->nops);
    CostValue *v = way == 0 ? loop_followed(s, &r, r.l->has_cond ? -1 : exact)
                            : loop_at_once(s, &r, trips ? trips : steps_of(s, n));
    s->cost = outer;
    if (!v) s->notes.len = steps;
    else cost_add(s, outer, &all);
    if (v) return v;
  }
  return cost_unknown(s);
}
