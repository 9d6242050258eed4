/* SPDX-License-Identifier: MIT */
/* Dead code that has users: results of branches and loops that nobody reads, and carried values that only feed
 * themselves; and those that only wait for checks which other results of the loop wait for as well. Arrays of a loop
 * that hold the same become one. Other dead nodes need no pass: nothing refers to them.
 *
 *   (xs, ys) = loop stacked 2: (e, e)   →   xs = loop stacked 1: (e); ys = xs */
#include "opt/opt.h"

static void *find_uses(void *user, Graph *g) { return graph_uses(user, g); }

/* Which components of n are read; NULL: all, since something reads n as a whole. */
static bool *components_read(World *w, Uses *uses, const Node *n) {
  bool *read = NEW_ARRAY(w->temp, bool, n->type->n + 1);
  if (uses_first(uses, n) == uses_end(uses, n)) return NULL; /* the graph's result */
  FOR_USES (use, uses, n) {
    if (use->user->op != OP_GET) return NULL;
    read[use->user->attr.i] = true;
  }
  return read;
}

/* ---- Branches ---------------------------------------------------------------------- */
static Node *prune_switch(World *w, Node *n, Node **ops, Graph **graphs, const bool *read) {
  IrType *t = n->type;
  int kept = 0;
  for (int k = 0; k < t->n; k++) kept += read[k];
  if (t->kind != T_TUPLE || kept == t->n) return NULL;
  Node **results = NEW_ARRAY(w->temp, Node *, n->ngraphs), **xs = NEW_ARRAY(w->temp, Node *, kept + 1);
  for (int a = 0; a < n->ngraphs; a++) {
    for (int k = 0, j = 0; k < t->n; k++)
      if (read[k]) xs[j++] = ir_get(w, graphs[a]->result, k);
    results[a] = kept == 1 ? xs[0] : ir_record(w, xs, kept);
  }
  Node *s = ir_switch_yielding(w, n, ops, graphs, results);
  Node **out = NEW_ARRAY(w->arena, Node *, t->n);
  for (int k = 0, j = 0; k < t->n; k++) {
    if (!read[k]) out[k] = ir_zero(w, t->args[k]);
    else out[k] = kept == 1 ? s : ir_get(w, s, j), j++;
  }
  return ir_tuple(w, t, out);
}

/* ---- Loops ---------------------------------------------------------------------------- */
/* A traversal of a loop's body from the results that are needed: each node is visited once. */
typedef struct Needed {
  World *w;
  Graph *body;
  int slots;
  bool *need; /* by slot */
  Map seen;
  Nodes left; /* to be visited */
} Needed;

static void reach(Needed *s, Node *x) {
  if (map_get(&s->seen, x)) return;
  map_put(&s->seen, x, x);
  vec_push(s->w->temp, s->left, x);
}

static void need_slot(Needed *s, int k) {
  s->need[k] = true;
  reach(s, ir_get(s->w, s->body->result, k));
}

/* Marks the slots that the condition reads. */
static void need_of_condition(Needed *s, const LoopInfo *l, const Graph *cond) {
  Node **nodes;
  int n = ir_order(s->w->temp, cond, &nodes);
  for (int i = 0; i < n; i++) {
    int k = nodes[i]->op == OP_PARAM ? (int)nodes[i]->attr.i - 1 : -1;
    if (k >= 0 && k < l->ncarried) need_slot(s, k);
  }
}

static void visit_all(Needed *s) {
  while (s->left.len) {
    const Node *x = s->left.data[--s->left.len];
    int k = x->op == OP_PARAM ? (int)x->attr.i - 1 : -1;
    if (k >= 0 && k < s->slots) need_slot(s, k);
    for (int i = 0; i < x->nops; i++) reach(s, x->ops[i]);
  }
}

static bool *needed_state(World *w, const LoopInfo *l, Graph *body, Graph *cond, const bool *read) {
  int slots = loop_slots(l);
  Needed s = {.w = w, .body = body, .slots = slots, .need = NEW_ARRAY(w->arena, bool, slots + 1)};
  map_init(&s.seen, w->temp);
  if (cond) need_of_condition(&s, l, cond);
  for (int k = 0; k < slots; k++) {
    bool ends = cond && cond->result->op == OP_BOOL && ir_get(w, body->result, k)->flags & NODE_FAILS;
    if (read[k] || ends) need_slot(&s, k); /* a constant condition: only an error ends the loop */
  }
  for (int i = 0; i < l->nstacked; i++)
    if (read[slots + i]) reach(&s, ir_get(w, body->result, slots + i));
  visit_all(&s);
  return s.need;
}

/* What slot k waits for in each iteration, where it does nothing else: it adds 0, or becomes the constant `start` that
 * it was; else NULL. */
static Node *waited_for(World *w, const LoopInfo *l, Graph *body, int k, const Node *start) {
  Node *x = ir_get(w, body->result, k), *own = ir_param(w, 1 + k, body->params[1 + k]);
  bool adds = k >= l->ncarried && x->op == OP_CADD && (x->ops[0] == own || x->ops[1] == own);
  if (adds) x = x->ops[x->ops[0] == own];
  const Node *value = x;
  while (value->op == OP_AFTER) value = value->ops[0];
  bool nothing = adds ? value->op == OP_FLOAT && value->attr.f == 0 : value->op == OP_INT && value == start;
  return nothing && x->op == OP_AFTER ? x : NULL;
}

/* Are all that x waits for among these nodes? */
static bool are_among(const Map *nodes, const Node *x) {
  for (; x->op == OP_AFTER; x = x->ops[0])
    if (!map_get(nodes, x->ops[1]) && !(x->ops[1]->op == OP_AFTER && are_among(nodes, x->ops[1]))) return false;
  return ir_is_constant(x);
}

static bool reads_param(World *w, Graph *g, int k) {
  return uses_count(graph_uses(w, g), ir_param(w, k, g->params[k])) > 0;
}

/* A needed result of the loop that waits for all that slot k, which only waits, does: -1 if there is none. */
static int waits_as_well(World *w, const Node *n, Node **start, Graph *body, const bool *read, int k) {
  const Node *x = waited_for(w, n->loop, body, k, start[k]);
  if (x && k < n->loop->ncarried && reads_param(w, body, 1 + k)) return -1;
  for (int j = 0; x && j < n->type->n - 1; j++) {
    Map met;
    Node **nodes, *y = ir_get(w, body->result, j);
    if (j == k || !read[j] || !(y->flags & NODE_FAILS)) continue;
    if (j < loop_slots(n->loop) && j > k && waited_for(w, n->loop, body, j, start[j])) continue; /* one of two stays */
    map_init(&met, w->temp);
    int count = ir_order(w->temp, ir_graph(w, body->params, body->nparams, y, NULL), &nodes);
    for (int i = 0; i < count; i++) map_put(&met, nodes[i], nodes[i]);
    if (are_among(&met, x)) return j;
  }
  return -1;
}

/* Finds slots that only wait, for what other results wait for too: they aren't needed any more. */
static int *find_waiting(World *w, const Node *n, Node **start, Graph *body, const bool *read, bool *need) {
  int *as = NEW_ARRAY(w->temp, int, n->type->n + 1);
  for (int k = 0; k < loop_slots(n->loop); k++) {
    as[k] = need[k] && read[k] ? waits_as_well(w, n, start, body, read, k) : -1;
    if (as[k] >= 0) need[k] = false;
  }
  return as;
}

/* By stacked result: an earlier one that holds the same, of those that are read; -1: none. */
static int *find_equal(World *w, const Node *n, Graph *body, const bool *read) {
  int slots = loop_slots(n->loop), stacked = n->loop->nstacked;
  int *as = NEW_ARRAY(w->temp, int, stacked + 1);
  for (int i = 0; i < stacked; i++) {
    as[i] = -1;
    for (int j = 0; read[slots + i] && j < i && as[i] < 0; j++)
      if (read[slots + j] && ir_get(w, body->result, slots + i) == ir_get(w, body->result, slots + j)) as[i] = j;
  }
  return as;
}

static Node *prune_loop(World *w, Node *n, Node **ops, Graph **graphs, const bool *read) {
  const LoopInfo *l = n->loop;
  int slots = loop_slots(l);
  Graph *body = graphs[0], *cond = l->has_cond ? graphs[1] : NULL;
  bool *need = needed_state(w, l, body, cond, read), drop = false;
  int *waiting = find_waiting(w, n, ops + loop_first(l), body, read, need);
  int *equal = find_equal(w, n, body, read);
  for (int k = 0; k < slots; k++) drop |= !need[k];
  for (int i = 0; i < l->nstacked; i++) drop |= !read[slots + i] || equal[i] >= 0;
  if (!drop) return NULL;
  LoopEdit *e = edit_loop(w, n, ops, graphs);
  edit_body(e, NULL, NULL, 0);
  for (int k = 0; k < slots; k++)
    if (!need[k]) e->next[k] = e->in[k];
  for (int i = 0; i < l->nstacked; i++)
    if (!read[slots + i] || equal[i] >= 0) e->next[slots + i] = NULL;
  edit_close(e);
  for (int k = 0; k < slots; k++)
    if (waiting[k] >= 0) e->results[k] = ir_op2(w, OP_AFTER, e->ops[k], e->results[waiting[k]]);
  for (int i = 0; i < l->nstacked; i++)
    if (equal[i] >= 0) e->results[slots + i] = e->results[slots + equal[i]];
  return edit_value(e);
}

static Node *prune_node(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  if (!ir_is_control(n)) return NULL;
  const bool *read = components_read(user, frame, n);
  if (!read) return NULL;
  return n->op == OP_LOOP ? prune_loop(user, n, ops, graphs, read) : prune_switch(user, n, ops, graphs, read);
}

Graph *opt_prune(World *w, Graph *g) {
  return ir_rewrite(w, g, (RewritePass){.user = w, .begin = find_uses, .node = prune_node});
}
