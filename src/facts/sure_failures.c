/* SPDX-License-Identifier: MIT */
/* Finds what is sure to fail. A graph evaluates all of its nodes, since only what its result needs is among them. So
 * it fails where one of these does:
 *
 *   a check      that the facts of ranges.c refute: its negation is proved
 *   switch       of which all arms fail
 *   loop         that runs at least once, and whose body fails in each iteration, in the first or in the last one
 *   call, apply  of a known function that fails, also for a derivative, which needs the value; not within an attempt
 *   fork         of which an arm fails
 *
 * A recursive function under way counts as one that doesn't fail. The search asks for no more than what each run does:
 * a branch that may not be taken is left alone, whatever is in it. `check` and the driver of runs ask
 * (api/foreseen.c). */
#include "facts/sure_failures.h"
#include "facts/ranges.h"
#include "graph/graph.h"

typedef struct Search {
  SureFailures *s;
  Ranges ranges;
  Map *met;  /* Func, or graph of a closure -> CALLEE_… */
  int depth; /* graphs inside each other */
  int left;  /* nodes that may still be looked at */
} Search;

enum { CALLEE_RETURNS = 1, CALLEE_FAILS };

static bool graph_fails(Search *s, Frame *f);

/* ---- Checks ---------------------------------------------------------------------------------- */
/* Which iteration of the innermost loop around is meant. */
typedef enum Moment { ANY_ITERATION, FIRST_ITERATION, LAST_ITERATION } Moment;

/* The form of a number of frame f at that moment. */
static Lin form_at(Search *s, Frame *f, Node *x, Moment moment) {
  Ranges *p = &s->ranges;
  Lin e = linear(p, f, x)->lin;
  if (moment == ANY_ITERATION) return e;
  Lin i = linear(p, f, ir_param(p->w, 0, ir_type(p->w, T_INT)))->lin, value = lin_int(0);
  int64_t times = i.n == 1 ? lin_coefficient(&e, i.t[0].atom) : 0;
  if (moment == LAST_ITERATION) {
    Lin one = lin_int(1);
    value = lin_add(&linear(p, f->outer, f->at->ops[0])->lin, &one, -1);
  }
  e = lin_add(&e, &i, -times);
  return lin_add(&e, &value, times);
}

/* Is a - b + c >= 0 wherever node q of f is evaluated? */
static bool at_least(Search *s, Frame *f, const Node *q, const Lin *a, const Lin *b, int64_t c) {
  Lin start = lin_int(c), e = lin_add(&start, a, 1);
  e = lin_add(&e, b, -1);
  const Guard *used = NULL;
  if (e.bad) return false;
  return e.n == 0 ? e.c >= 0 : prove(&s->ranges, f, q, e, true, &used);
}

static bool is_refuted(Search *s, Frame *f, const Node *x, Lin *v) {
  Lin zero = lin_int(0);
  switch (x->op) {
  case OP_CHECK_INDEX: return at_least(s, f, x, &v[0], &v[1], 0) || at_least(s, f, x, &zero, &v[0], -1);
  case OP_CHECK_SIZE: return at_least(s, f, x, &v[0], &v[1], -1) || at_least(s, f, x, &v[1], &v[0], -1);
  case OP_CHECK_SLICE:
    return at_least(s, f, x, &zero, &v[0], -1) || at_least(s, f, x, &v[0], &v[1], -1) ||
           at_least(s, f, x, &v[1], &v[2], -1);
  case OP_CHECK_DEPTH: return at_least(s, f, x, &v[0], &v[1], -1);
  case OP_CHECK_NAT: return at_least(s, f, x, &zero, &v[0], -1);
  case OP_CHECK_NONZERO: return at_least(s, f, x, &zero, &v[0], 0) && at_least(s, f, x, &v[0], &zero, 0);
  default: return false;
  }
}

static void add_failure(Search *s, const Node *x, const Lin *v) {
  SureFailure found = {.node = x};
  for (int i = 0; i < s->s->found.len; i++)
    if (s->s->found.data[i].node == x) return;
  for (int k = 0; v && k < x->nops && k < 3; k++) {
    found.known[k] = v[k].n == 0 && !v[k].bad && v[k].c >= INT64_MIN && v[k].c <= INT64_MAX;
    if (found.known[k]) found.values[k] = (int64_t)v[k].c;
  }
  vec_push(s->s->w->temp, s->s->found, found);
}

/* The first index that fails, where the last one does: the array's length, if it isn't known that the index jumps. */
static Lin first_wrong_index(Search *s, Frame *f, const Node *x, const Lin *v) {
  Lin first = linear(&s->ranges, f, x->ops[0])->lin;
  Lin i = linear(&s->ranges, f, ir_param(s->s->w, 0, ir_type(s->s->w, T_INT)))->lin;
  bool next = i.n == 1 && lin_coefficient(&first, i.t[0].atom) == 1 && !f->at->loop->down;
  return next ? v[1] : v[0];
}

static bool check_fails(Search *s, Frame *f, const Node *x) {
  bool counted = f->kind == FRAME_BODY && !f->at->loop->has_cond;
  for (Moment m = ANY_ITERATION; m <= (counted ? LAST_ITERATION : ANY_ITERATION); m++) {
    Lin v[3] = {{0}};
    for (int k = 0; k < x->nops; k++) v[k] = form_at(s, f, x->ops[k], m);
    if (!is_refuted(s, f, x, v)) continue;
    if (m == LAST_ITERATION && x->op == OP_CHECK_INDEX) v[0] = first_wrong_index(s, f, x, v);
    add_failure(s, x, v);
    return true;
  }
  return false;
}

/* ---- Sizes of arrays ------------------------------------------------------------------------- */
static bool differ(const Node *a, const Node *b) {
  return a->op == OP_INT && b->op == OP_INT && a->attr.i != b->attr.i;
}

static bool rows_differ(World *w, const Node *x) {
  int rank = ir_rank(x->type) - 1;
  for (int k = 1; k < x->nops; k++)
    for (int d = 0; d < rank; d++)
      if (differ(ir_len(w, x->ops[0], d), ir_len(w, x->ops[k], d))) return true;
  return false;
}

static bool counts_differ(World *w, const Node *x) {
  if (!x->site) return false;
  Node *before = ir_product(w, ir_dims(w, x->ops[0]), ir_rank(x->ops[0]->type));
  return differ(before, ir_product(w, x->ops + 1, x->nops - 1));
}

static bool itself_fails(Search *s, const Node *x) {
  bool fails = false;
  switch (x->op) {
  case OP_FAIL: fails = true; break;
  case OP_CHECK: fails = x->ops[0]->op == OP_BOOL && !x->ops[0]->attr.i; break;
  case OP_ARRAY: fails = rows_differ(s->s->w, x); break;
  case OP_RESHAPE: fails = counts_differ(s->s->w, x); break;
  case OP_RT: fails = s->s->refused && s->s->refused(s->s->user, x); break;
  default: break;
  }
  if (fails) add_failure(s, x, NULL);
  return fails;
}

/* ---- What holds graphs ------------------------------------------------------------------------- */
static bool switch_fails(Search *s, Frame *f, Node *x) {
  int before = s->s->found.len;
  Frame **arms = frame_children(&s->ranges, f, x);
  for (int k = 0; k < x->ngraphs; k++)
    if (!arms || !(x->graphs[k]->flags & NODE_FAILS) || !graph_fails(s, arms[k])) {
      s->s->found.len = before;
      return false;
    }
  return x->ngraphs > 0;
}

/* Is the body of the loop run at least once? Of a condition it is asked what it is at the start. */
static bool runs(Search *s, Frame *f, Node *x) {
  World *w = s->s->w;
  Lin zero = lin_int(0);
  if (!x->loop->has_cond) return at_least(s, f, NULL, &linear(&s->ranges, f, x->ops[0])->lin, &zero, -1);
  Graph *cond = x->graphs[1];
  Node **args = NEW_ARRAY(w->temp, Node *, cond->nparams);
  args[0] = ir_int(w, 0);
  for (int p = 1; p < cond->nparams; p++) args[p] = x->ops[loop_cond_input(x->loop, p)];
  const Node *first = ir_instantiate(w, cond, args, 0);
  return first->op == OP_BOOL && first->attr.i;
}

/* A condition is evaluated at least once. */
static bool loop_fails(Search *s, Frame *f, Node *x) {
  bool body = x->graphs[0]->flags & NODE_FAILS && runs(s, f, x);
  bool cond = x->loop->has_cond && x->graphs[1]->flags & NODE_FAILS;
  Frame **frames = body || cond ? frame_children(&s->ranges, f, x) : NULL;
  if (frames && body && graph_fails(s, frames[1])) return true;
  return frames && cond && frames[2] && graph_fails(s, frames[2]);
}

/* A function's graph, whoever calls it: its failures are added once. */
static bool callee_fails(Search *s, const void *callee, Graph *g) {
  if (!g || !(g->flags & NODE_FAILS)) return false;
  void *known = map_get(s->met, callee);
  if (known) return known == (void *)CALLEE_FAILS;
  map_put(s->met, callee, (void *)CALLEE_RETURNS);
  bool fails = s->ranges.frames > 0 && graph_fails(s, frame_root(&s->ranges, g));
  if (fails) map_put(s->met, callee, (void *)CALLEE_FAILS);
  return fails;
}

static bool closure_fails(Search *s, const Node *f) {
  return f->op == OP_CLOSURE && callee_fails(s, f->graphs[0], f->graphs[0]);
}

static bool nodes_fail(Search *s, Frame *f, const Graph *g);

/* g for these arguments, which stand in frame f: what is known of them is known within. */
static bool instance_fails(Search *s, Frame *f, Graph *g, Node **args, Site site) {
  World *w = s->s->w;
  if (!(g->flags & NODE_FAILS) || g->size > LIMIT_SURE_INLINED || s->depth >= LIMIT_SURE_DEPTH) return false;
  s->left -= g->size;
  Node *y = ir_instantiate(w, g, args, site);
  return nodes_fail(s, f, ir_graph(w, f->g->params, f->g->nparams, y, NULL));
}

/* A function with a rule is a call until derivatives are taken. */
static bool call_fails(Search *s, Frame *f, Node *x) {
  Func *of = x->attr.func;
  if (callee_fails(s, of, of->graph)) return true;
  return of->opaque && of->graph && instance_fails(s, f, of->graph, x->ops, x->site);
}

/* Of a derivative: its function fails for the argument. */
static bool application_fails(Search *s, Frame *f, Node *x) {
  Node *of = x->ops[0], *token = of->type->effect ? x->ops[x->nops - 1] : NULL;
  if (closure_fails(s, of)) return true;
  if (of->op != OP_CLOSURE || x->op == OP_APPLY) return false;
  Target t = ir_target(s->s->w, of, x->ops[1], token, x->site);
  return instance_fails(s, f, t.g, t.args, x->site);
}

static bool node_fails(Search *s, Frame *f, Node *x) {
  if (op_flags[x->op] & OPF_V) return check_fails(s, f, x);
  if (op_flags[x->op] & OPF_A) return application_fails(s, f, x);
  switch (x->op) {
  case OP_SWITCH: return switch_fails(s, f, x);
  case OP_LOOP: return loop_fails(s, f, x);
  case OP_CALL: return call_fails(s, f, x);
  case OP_RT:
    for (int k = 0; ir_is_fork(x) && k < 2; k++)
      if (closure_fails(s, x->ops[k])) return true;
    break;
  default: break;
  }
  return itself_fails(s, x);
}

/* The nodes of g, read in frame f. */
static bool nodes_fail(Search *s, Frame *f, const Graph *g) {
  if (s->depth >= LIMIT_SURE_DEPTH || s->left <= 0) return false;
  s->depth++;
  Node **nodes;
  int n = ir_order(s->s->w->temp, g, &nodes);
  bool fails = false;
  for (int k = 0; k < n && s->left-- > 0; k++)
    if (nodes[k]->flags & NODE_FAILS) fails |= node_fails(s, f, nodes[k]);
  s->depth--;
  return fails;
}

static bool graph_fails(Search *s, Frame *f) { return nodes_fail(s, f, f->g); }

bool facts_surely_fails(SureFailures *s, Graph *g) {
  if (!(g->flags & NODE_FAILS)) return false;
  Search search = {
      .s = s, .ranges = {.w = s->w, .fuel = LIMIT_SURE_STEPS, .frames = LIMIT_SURE_FRAMES}, .left = LIMIT_SURE_NODES};
  Map own;
  map_init(&own, s->w->temp);
  search.met = s->met ? s->met : &own;
  return graph_fails(&search, frame_root(&search.ranges, g));
}

/* ---- What is reached ---------------------------------------------------------------------------- */
/* A walk over all graphs that some reach, each once. */
typedef struct Reached {
  World *w;
  bool calls_only; /* not into the arms of a branch on which function a value is */
  Map seen;
  Vec(Graph *) worklist;
  int at; /* in the worklist */
} Reached;

static void reach(Reached *r, Graph *g) {
  if (!g || map_get(&r->seen, g)) return;
  map_put(&r->seen, g, g);
  vec_push(r->w->temp, r->worklist, g);
}

static Reached reach_from(World *w, Graph *const *graphs, int n) {
  Reached r = {.w = w};
  map_init(&r.seen, w->temp);
  for (int i = 0; i < n; i++) reach(&r, graphs[i]);
  return r;
}

static bool is_dispatch(const Node *x) {
  const Node *c = x->op == OP_SWITCH ? x->ops[0] : x;
  if (c->op == OP_NOT) c = c->ops[0];
  return c->op == OP_IEQ && (c->ops[0]->op == OP_GRAPH_ID || c->ops[1]->op == OP_GRAPH_ID);
}

/* The nodes of the next graph, whose own graphs are reached too. NULL after the last one. */
static Node **reached_nodes(Reached *r, int *n) {
  if (r->at == r->worklist.len) return NULL;
  Node **nodes;
  *n = ir_order(r->w->temp, r->worklist.data[r->at++], &nodes);
  for (int k = 0; k < *n; k++) {
    const Node *x = nodes[k];
    bool into = !(r->calls_only && x->op == OP_SWITCH && is_dispatch(x));
    for (int i = 0; into && i < x->ngraphs; i++) reach(r, x->graphs[i]);
    if (x->op == OP_CALL) reach(r, x->attr.func->graph);
  }
  return nodes;
}

/* An unknown function with an effect may be any. */
static bool may_end(const Node *x) {
  return x->op == OP_RT ? x->attr.rt->ends : x->op == OP_APPLY && x->ops[0]->op != OP_CLOSURE && ir_is_effect(x);
}

bool facts_may_exit(World *w, Graph *const *graphs, int n) {
  Reached r = reach_from(w, graphs, n);
  int count = 0;
  for (Node **nodes; (nodes = reached_nodes(&r, &count));)
    for (int k = 0; k < count; k++)
      if (may_end(nodes[k])) return true;
  return false;
}

void facts_find_fails(World *w, Graph *g, FailKind kind, FoundNodes *out) {
  Reached r = reach_from(w, &g, 1);
  int count = 0;
  r.calls_only = true;
  for (Node **nodes; (nodes = reached_nodes(&r, &count));)
    for (int k = 0; k < count; k++)
      if (nodes[k]->op == OP_FAIL && nodes[k]->attr.i == (int64_t)kind) vec_push(w->temp, *out, nodes[k]);
}

typedef Vec(Graph *) Graphs;

/* The graphs of closures that r still reaches, and of those that attempts get. True: one gets an unknown function. */
static bool find_closures(Reached *r, Graphs *all, Graphs *attempted) {
  int count = 0;
  bool unknown = false;
  for (Node **nodes; (nodes = reached_nodes(r, &count));)
    for (int k = 0; k < count; k++) {
      const Node *x = nodes[k], *f = ir_is_attempt(x) ? x->ops[0] : NULL;
      unknown |= f && f->op != OP_CLOSURE;
      if (f && f->op == OP_CLOSURE) vec_push(r->w->temp, *attempted, f->graphs[0]);
      if (x->op == OP_CLOSURE) vec_push(r->w->temp, *all, x->graphs[0]);
    }
  return unknown;
}

void facts_find_attempted(World *w, Graph *const *graphs, int n, FoundNodes *out) {
  Reached r = reach_from(w, graphs, n);
  Graphs all = {0}, attempted = {0};
  bool unknown = find_closures(&r, &all, &attempted);
  Reached in = reach_from(w, attempted.data, attempted.len);
  int count = 0;
  for (Node **nodes = NULL; unknown || (nodes = reached_nodes(&in, &count));) {
    for (int k = 0; nodes && k < count; k++) {
      vec_push(w->temp, *out, nodes[k]);
      unknown |= nodes[k]->op == OP_APPLY;
    }
    for (int i = 0; unknown && i < all.len; i++) reach(&in, all.data[i]);
    all.len = unknown ? 0 : all.len;
    unknown = false;
    nodes = NULL;
  }
}

void facts_find_failing(World *w, Graph *g, FoundNodes *out) {
  Reached r = reach_from(w, &g, 1);
  int count = 0;
  for (Node **nodes; (nodes = reached_nodes(&r, &count));)
    for (int k = 0; k < count; k++)
      if (op_flags[nodes[k]->op] & OPF_F || nodes[k]->op == OP_RT) vec_push(w->temp, *out, nodes[k]);
}
