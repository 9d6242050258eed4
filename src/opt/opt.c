/* SPDX-License-Identifier: MIT */
/* The stages of an entry, from `built` to `final`. passes.def lists the passes that run in them. */
#include "opt/opt.h"
#include "ad/ad.h"
#include "ir/compilation.h"
#include "graph/graph.h"
#include "opt/passes.h"
#include "support/phases.h"

/* Simplification: equal nodes of a graph become one, also checks, calls, and in studies of costs operations, that
 * differ in their places. Where equal checks stand in a graph with effects, the one that stands first in the text is
 * made: an effect between two of them happens after the error of the first. So is, in any graph, of equal checks of
 * sizes with different messages. */
typedef struct Simplify {
  World *w;
  Map places;   /* graph -> Places * */
  bool earlier; /* an equal check was met that stands before the one that was made */
} Simplify;
/* What the first time over a graph finds out for a second one. */
typedef struct Places {
  Map anywhere; /* a check -> the same without its place */
  Map first;    /* a check without its place -> the first of its equals in the text */
} Places;
typedef struct Met {
  Map made; /* a check without its place -> the one that is made */
  Places *places;
  bool effects; /* of the graph */
} Met;

static void *none_met(void *user, Graph *g) {
  Simplify *s = user;
  Met *m = NEW(s->w->arena, Met);
  map_init(&m->made, s->w->arena);
  m->effects = ir_takes_token(g);
  m->places = map_get(&s->places, g);
  if (m->places) return m;
  m->places = NEW(s->w->arena, Places);
  map_init(&m->places->anywhere, s->w->arena);
  map_init(&m->places->first, s->w->arena);
  map_put(&s->places, g, m->places);
  return m;
}

/* An operation that has a place for a study (ir_placed). */
static bool is_placed(const Node *n) { return op_flags[n->op] & OPF_S && !(op_flags[n->op] & OPF_F) && n->site; }

/* Node n over these operands and graphs, made without its source place: the same node for all that differ from n by
 * their place alone. NULL if the place is no part of n's identity, or n has effects. */
static Node *anywhere(World *w, const Node *n, Node **ops, Graph **graphs) {
  switch (n->op) {
  case OP_APPLY:
  case OP_CALL: return ir_is_effect(n) ? NULL : ir_placeless(w, n, ops, graphs);
  case OP_LOOP: return n->loop->has_cond && !ir_is_effect(n) ? ir_placeless(w, n, ops, graphs) : NULL;
  case OP_CHECK_INDEX:
  case OP_CHECK_SLICE:
  case OP_CHECK_SIZE: return ir_check(w, (Op)n->op, ops[0], ops[1], n->nops > 2 ? ops[2] : NULL, 0);
  case OP_RESHAPE: return n->site ? ir_reshape(w, n->type, ops[0], ops + 1, 0) : NULL;
  case OP_RT: {
    const RtPrim *p = n->attr.rt;
    return p->fails && !p->effect ? ir_rt(w, p, n->type, n->type_arg, ops, n->nops, 0) : NULL;
  }
  default: return is_placed(n) ? ir_placeless(w, n, ops, graphs) : NULL;
  }
}

/* n, with the place and message of the first of those that equal it, which is `any` without a place. */
static Node *make_first(const Met *m, Rewriter *r, const Node *n, Node **ops, Graph **graphs, Node *any) {
  const Node *first = map_get(&m->places->first, any);
  Node placed = *n;
  if (first) placed.site = first->site, placed.attr = first->attr;
  return rewrite_node(r, &placed, ops, graphs);
}

/* Does the check `here` stand before its equal x, where that matters? */
static bool comes_before(World *w, const Met *m, const Node *here, const Node *x) {
  if (here->op == OP_CHECK_SIZE && here->attr.text != x->attr.text)
    return ir_site_standing(w, here->site, x->site) != STANDS_ELSEWHERE;
  return m->effects && ir_site_follows(w, x->site, here->site);
}

static void note_place(Simplify *s, Met *m, Node *here, Node *any) {
  map_put(&m->places->anywhere, here, any);
  const Node *first = map_get(&m->places->first, any);
  if (first && !comes_before(s->w, m, here, first)) return;
  s->earlier |= first != NULL;
  map_put(&m->places->first, any, here);
}

/* Of equal checks and calls of primitives in one graph, which differ in their places, one is enough: all of them are
 * made, and which one reports is free but for effects. What is read behind them becomes equal too. */
static Node *fail_once(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  Simplify *s = user;
  Met *m = frame;
  Node *any = map_get(&m->places->anywhere, n); /* known the second time, whatever places its operands have got */
  if (!any) any = anywhere(s->w, n, ops, graphs);
  Node *made = any ? map_get(&m->made, any) : NULL;
  bool ordered = n->op == OP_CHECK_SIZE || (m->effects && !is_placed(n));
  if (any && n->site && ordered) note_place(s, m, n, any);
  if (any && !made) map_put(&m->made, any, made = make_first(m, r, n, ops, graphs, any));
  return made;
}

Graph *opt_simplify(World *w, Graph *g) {
  Simplify s = {.w = w};
  map_init(&s.places, w->arena);
  const RewritePass pass = {.user = &s, .begin = none_met, .node = fail_once, .renormalise = true};
  Graph *simple = ir_rewrite(w, g, pass);
  return s.earlier ? ir_rewrite(w, g, pass) : simple;
}

static void holds_ad(void *user, Graph *g) {
  if (g->flags & NODE_AD) *(bool *)user = true;
}

/* A compilation of a stage: calls that rewrite rules may match are written out but in opt_rules. */
static void begin(World *w, const OptStages *s, bool differentiated) {
  compilation_begin(w);
  w->compilation->nrules = s->nrules;
  w->compilation->heads = HEADS_WRITTEN_OUT;
  w->compilation->differentiated = differentiated;
}

static void end(World *w, OptStages *s) {
  if (!s->endless_rule) s->endless_rule = w->compilation->endless_rule;
  compilation_end(w);
}

/* What passes remember goes after each entry's stage, so that a source of many items takes no more than its largest
 * one needs. */
void opt_before_derivatives(World *w, OptStages *s) {
  Phase before = phase_enter(w->arena->heap, PHASE_OPTIMISE);
  begin(w, s, false);
  if (w->watch) w->watch->entry = s;
  ir_mark_recursive(w, s->built);
  s->optimised = passes_run(w, s->built, STAGE_BEFORE, s->from);
  s->pool = ir_pool(w, s->optimised, s->globals, s->nglobals);
  end(w, s);
  phase_leave(w->arena->heap, before);
}

static Graph *after_derivatives(World *w, Graph *g, void *from) {
  return passes_run(w, g, STAGE_AFTER, *(const int *)from);
}

/* NULL, and nothing is left of it, if too much would be made; then the next depth to try, -1 if there is none. */
static Graph *differentiate_so_deep(World *w, OptStages *s, int *depth, bool optional) {
  arena_mark(w->arena);
  world_save(w);
  begin(w, s, false);
  ir_use_pool(w, s->pool);
  ir_follow_paths(w, *depth, optional);
  Graph *g = ad_expand(w, s->optimised, s->rules);
  bool end = ir_paths_end(w);
  if (!end) ir_mark_recursive(w, g);
  int followed = ir_paths_depth(w);
  compilation_end(w);
  if (end) arena_roll_back(w->arena);
  else arena_commit(w->arena);
  if (!end || !limit_reached(w->arena, optional ? AT_PULLBACK_NODES : AT_PATH_NODES)) return g;
  *depth = followed - 1;
  return NULL;
}

/* optional: NULL if even the least deep result is too large. */
static Graph *differentiate(World *w, OptStages *s, bool optional) {
  Phase before = phase_enter(w->arena->heap, PHASE_DIFFERENTIATE);
  Graph *g = NULL;
  for (int depth = LIMIT_PATHS; !g && depth >= 0;) g = differentiate_so_deep(w, s, &depth, optional);
  phase_leave(w->arena->heap, before);
  return g;
}

/* The pullbacks that differentiation makes may be what its unknown functions are. So it is done again with these as
 * candidates, where there are any; a pullback that takes derivatives itself can make that too large. Then pullbacks are
 * no candidates, and only a program that differentiates such an unknown one fails. */
static Graph *differentiate_all(World *w, OptStages *s) {
  Graph *g = differentiate(w, s, false);
  if (!ir_pool_grew(w, s->pool)) return g;
  Graph *again = differentiate(w, s, true);
  if (again) return again;
  ir_pool_give_up(w, s->pool);
  return differentiate(w, s, false);
}

void opt_derivatives_and_after(World *w, OptStages *s) {
  Phase before = phase_enter(w->arena->heap, PHASE_OPTIMISE);
  Graph *g = s->optimised;
  bool ad = false;
  begin(w, s, true);
  if (w->watch) w->watch->entry = s;
  ir_use_pool(w, s->pool);
  if (!s->given) ir_walk_graphs(w, g, holds_ad, &ad);
  if (ad) g = differentiate_all(w, s);
  if (!s->given) s->differentiated = g;
  s->final = ir_without_rules(w, s->differentiated, after_derivatives, &s->from);
  end(w, s);
  phase_leave(w->arena->heap, before);
}
