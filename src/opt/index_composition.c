/* SPDX-License-Identifier: MIT */
/* Views are sunk: a loop or branch that only reads the elements of a row or slice from outside is given the array and
 * the place instead.
 *
 *   r = m[i]; sum [ r[j] | j < n ]  →  sum [ m[i, j] | j < n ]
 *
 * Before differentiation, since what is read tells where the derivative goes: to an element of the array itself then,
 * without an accumulator for the view in between. A view that is needed after its array has changed stays: of that
 * the row alone is copied, not the whole (lower/schedule.c).
 *
 * Recursive functions whose recursive calls pass slices of an array parameter get the whole array, a start and a length
 * (slice_params.c). A call of such a function counts as a read of the array. Slices are moved into loops and branches
 * that contain such calls, even where an array is needed there besides.
 *
 * Graphs are done from the outside in, as what was sunk into a body may be sunk further there. */
#include "facts/changes.h"
#include "facts/ir_loop_facts.h"
#include "opt/opt.h"
#include "graph/graph.h"

static bool is_view(const Node *x) { return x->op == OP_SLICE || (x->op == OP_INDEX && x->type->kind == T_ARRAY); }

typedef struct Views {
  World *w;
  SliceParams *params; /* that functions take as an array, a start and a length */
} Views;

/* ---- Which are only read ------------------------------------------------------------------- */
static bool param_only_read(const Views *v, Graph *g, int k);

/* Does operand k serve user u, or what is a part of it there, for lengths and elements only? */
static bool reads_elements(const Views *v, const Node *u, int k) {
  IrType *t = u->ops[k]->type;
  if (u->op == OP_CALL) return opt_takes_slice(v->params, u->attr.func, k);
  if (u->op == OP_LEN) return true;
  if (u->op == OP_INDEX) return k == 0 && !is_view(u);
  if (!ir_is_control(u) || ir_inner_param(u, 0, k) < 0) return false;
  if (u->op == OP_LOOP) {
    LoopPart part = loop_part(u->loop, k - loop_first(u->loop));
    if (part == LOOP_CARRIED || part == LOOP_ACC) return false;
    if (part == LOOP_SLICED && t->args[0]->kind != T_ARRAY) return true;
  }
  for (int g = 0; g < u->ngraphs; g++) {
    int inner = ir_inner_param(u, g, k);
    if (inner >= 0 && !param_only_read(v, u->graphs[g], inner)) return false;
  }
  return true;
}

/* A question about the uses of an array. */
typedef struct Question {
  const char *name;
  bool (*is_part)(const Node *u);                   /* is what u makes of its operand 0 the array, or a part of it? */
  bool (*is)(const Views *v, const Node *u, int k); /* is that so of operand k of u, the array or a part? */
} Question;

/* Is it so of any use of parameter k of g? */
static bool any_use(const Views *v, Graph *g, int k, const Question *q) {
  World *w = v->w;
  void **known = ir_memo(w, g, q->name, &k, sizeof k);
  if (*known) return *known == g;
  Node **nodes;
  Map parts; /* of the parameter */
  int n = ir_order(w->temp, g, &nodes);
  bool found = false;
  map_init(&parts, w->temp);
  for (int i = 0; !found && i < n; i++) {
    Node *u = nodes[i];
    bool part = fact_is_param(u, k);
    for (int j = 0; !found && j < u->nops; j++) {
      if (!map_get(&parts, u->ops[j])) continue;
      if (j == 0 && q->is_part(u)) part = true;
      else found = q->is(v, u, j);
    }
    if (part) map_put(&parts, u, u);
  }
  found |= q->is(v, NULL, 0) && map_get(&parts, g->result);
  *ir_memo(w, g, q->name, &k, sizeof k) = found ? (void *)g : (void *)nodes;
  return found;
}

/* Reads more than elements and lengths? No user: the graph yields it. */
static bool reads_more(const Views *v, const Node *u, int k) { return !u || !reads_elements(v, u, k); }

static bool param_only_read(const Views *v, Graph *g, int k) {
  return !any_use(v, g, k, &(Question){"read otherwise", is_view, reads_more});
}

/* Is parameter k of g, or a slice of it, handed to a function by its place? */
static bool param_goes_on(const Views *v, Graph *g, int k);

static bool goes_on(const Views *v, const Node *u, int k) {
  if (!u) return false;
  if (u->op == OP_CALL) return opt_takes_slice(v->params, u->attr.func, k);
  if (!ir_is_control(u)) return false;
  if (u->op == OP_LOOP && loop_part(u->loop, k - loop_first(u->loop)) != LOOP_CAPTURED) return false;
  for (int g = 0; g < u->ngraphs; g++) {
    int inner = ir_inner_param(u, g, k);
    if (inner >= 0 && param_goes_on(v, u->graphs[g], inner)) return true;
  }
  return false;
}

static bool is_same_or_slice(const Node *u) { return u->op == OP_SLICE || u->op == OP_AFTER; }

static bool param_goes_on(const Views *v, Graph *g, int k) {
  return any_use(v, g, k, &(Question){"goes on", is_same_or_slice, goes_on});
}

/* ---- Which may be sunk --------------------------------------------------------------------- */
/* Is the array of view x, or x itself, changed by something that `user` depends on, or by user in another operand? User
 * may change x: that copies x, be it made inside. What a call gets it may change in place too, but only where nothing
 * else refers to it: a view would, as the array does that it is read through. */
static bool changed_before(World *w, Uses *uses, const Node *x, const Node *user) {
  const Node *array = fact_root(x);
  int at = uses_position(uses, user);
  heap_look(w->arena->heap);
  for (int i = uses_position(uses, array); i <= at; i++) {
    Node *u = uses->nodes[i];
    for (int k = 0; u->op != OP_CALL && k < u->nops; k++) {
      bool may = fact_root(u->ops[k]) == array && (u != user || u->ops[k] != x);
      if (may && changes_operand(w, u, k) & CHANGES && uses_dependents(uses, u, NULL)[at]) return true;
    }
  }
  return false;
}

/* ---- Sinking ------------------------------------------------------------------------------- */
typedef struct Sinking {
  World *w;
  Views *v;
  Rewriter *r;
  Uses *uses; /* of the graph around */
  Node **val; /* what becomes of its nodes */
} Sinking;

/* Is operand k of user, a loop or branch, a view that it may read through its array? */
static bool sinks(const Sinking *s, const Node *user, int k) {
  const Node *x = user->ops[k];
  if (!is_view(x) || !(reads_elements(s->v, user, k) || (x->op == OP_SLICE && goes_on(s->v, user, k)))) return false;
  return !changed_before(s->w, s->uses, x, user);
}

/* View x of the graph around in terms of what it is made of, which `capture` hands in. */
typedef Node *(*CaptureFn)(void *user, Node *x);
static Node *inside(World *w, Node *x, CaptureFn capture, void *user) {
  Node **ops = NEW_ARRAY(w->arena, Node *, x->nops);
  for (int k = 0; k < x->nops; k++)
    ops[k] = k == 0 && is_view(x->ops[0]) ? inside(w, x->ops[0], capture, user) : capture(user, x->ops[k]);
  return ir_rebuild(w, x, ops, NULL);
}

static Node *capture_in_loop(void *b, Node *x) { return ir_is_constant(x) ? x : loop_add(b, LOOP_CAPTURED, x); }

static Node *sink_loop(const Sinking *s, Node *n, Node **ops, const bool *sunk) {
  LoopEdit *e = edit_loop(s->w, n, ops, n->graphs);
  for (int k = 0; k < loop_inputs(n->loop); k++) {
    if (!sunk[k + loop_first(n->loop)]) {
      edit_input(e, k);
      continue;
    }
    Node *view = inside(s->w, e->ops[k], capture_in_loop, e->b);
    e->args[1 + k] = loop_part(n->loop, k) == LOOP_SLICED ? ir_index(s->w, view, e->args, 1) : view;
  }
  return edit_value(e);
}

static Node *capture_in_arm(void *b, Node *x) { return ir_is_constant(x) ? x : branch_add(b, x); }

static Node *sink_switch(const Sinking *s, Node *n, Node **ops, const bool *sunk) {
  World *w = s->w;
  BranchBuilder *b = branch_open(w, ops[0]);
  Node **args = NEW_ARRAY(w->temp, Node *, n->nops);
  for (int k = 1; k < n->nops; k++)
    args[k - 1] = sunk[k] ? inside(w, ops[k], capture_in_arm, b) : capture_in_arm(b, ops[k]);
  for (int i = 0; i < n->ngraphs; i++) branch_arm(b, ir_instantiate(w, n->graphs[i], args, 0), n->graphs[i]->name);
  return branch_close(b);
}

/* ---- Calls --------------------------------------------------------------------------------- */
/* Array x as a whole, start and length. */
static void place_of(World *w, Node *x, Node **place) {
  if (x->op == OP_AFTER) {
    place_of(w, x->ops[0], place);
    place[1] = ir_rebuild(w, x, (Node *[]){place[1], x->ops[1]}, NULL);
  } else if (x->op == OP_SLICE) {
    for (int i = 0; i < 3; i++) place[i] = x->ops[i];
  } else {
    place[0] = x;
    place[1] = ir_int(w, 0);
    place[2] = ir_len(w, x, 0);
  }
}

static Node *call_over_places(const Sinking *s, Node *n, Node **ops) {
  Func *f = n->attr.func;
  Node **args = NEW_ARRAY(s->w->temp, Node *, 3 * n->nops + 1), *place[3];
  int count = 0;
  for (int k = 0; k < n->nops; k++) {
    if (opt_takes_slice(s->v->params, f, k)) {
      place_of(s->w, ops[k], place);
      if (changed_before(s->w, s->uses, n->ops[k], n)) /* only the slice is copied */
        place[0] = ops[k], place[1] = ir_int(s->w, 0);
      for (int i = 0; i < 3; i++) args[count++] = place[i];
    } else args[count++] = ops[k];
  }
  return ir_call(s->w, rewrite_func(s->r, opt_func_over_places(s->v->params, f)), args, n->site);
}

static Node *sink_into(const Sinking *s, Node *n) {
  Node **ops = NEW_ARRAY(s->w->temp, Node *, n->nops + 1);
  bool *sunk = NEW_ARRAY(s->w->temp, bool, n->nops + 1), any = false, changed = false;
  for (int k = 0; k < n->nops; k++) {
    ops[k] = s->val[uses_position(s->uses, n->ops[k])];
    changed |= ops[k] != n->ops[k];
    if (!ir_is_control(n)) continue;
    any |= sunk[k] = is_view(ops[k]) && sinks(s, n, k);
  }
  if (n->op == OP_CALL && opt_takes_slices(s->v->params, n->attr.func)) return call_over_places(s, n, ops);
  if (any) return n->op == OP_LOOP ? sink_loop(s, n, ops, sunk) : sink_switch(s, n, ops, sunk);
  return changed ? ir_rebuild(s->w, n, ops, n->graphs) : n;
}

static Graph *sink_views(void *user, Rewriter *r, Graph *g) {
  Views *v = user;
  Sinking s = {.w = v->w, .v = v, .r = r, .uses = graph_uses(v->w, g)};
  s.val = NEW_ARRAY(s.w->temp, Node *, s.uses->n);
  for (int i = 0; i < s.uses->n; i++) s.val[i] = sink_into(&s, s.uses->nodes[i]);
  g = ir_graph(s.w, g->params, g->nparams, s.val[s.uses->n - 1], g->name);
  return rewrite_nodes(r, g);
}

Graph *opt_index_composition(World *w, Graph *g) {
  Views v = {.w = w, .params = opt_slice_params(w, g)};
  return ir_rewrite(w, g, (RewritePass){.user = &v, .graph = sink_views});
}
