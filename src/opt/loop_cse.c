/* SPDX-License-Identifier: MIT */
/* Loops that do the same: where two loops of a graph run equally often and what one carries the other carries too, the
 * other one yields what both do.
 *
 *   a = loop i < n carries s: next s;   b = loop i < n carries s: next s, stacks f s
 *   →  b alone, of which a is a part
 *
 * So do a value and its derivative, each of which runs through the values once. (Equal loops are one node anyway. Those
 * that carry nothing are joined by fuse_siblings.c.) Two carried values are the same if they start as the same and,
 * that being assumed of all of them, go on as the same: the body of one is made of the parameters of the other, and
 * then equal
 * numbers are equal nodes.
 *
 * Loops with one condition over what both of them carry, as two that walk through one list, become one that carries
 * what either does. */
#include "opt/opt.h"
#include "ir/world.h"

typedef struct Pair {
  World *w;
  const Node *part, *whole;
  int *slots;   /* which slot of the whole each of the part is */
  Node *result; /* of the part's body, over the whole's parameters */
} Pair;

/* The parameter of `whole` that has the value which input k of `part` has; NULL: there is none. */
static Node *same_input(const Pair *p, int k) {
  const LoopInfo *of = p->part->loop, *in = p->whole->loop;
  const Node *x = p->part->ops[1 + k];
  for (int j = 0; j < loop_inputs(in); j++)
    if (p->whole->ops[1 + j] == x && loop_part(in, j) == loop_part(of, k))
      return ir_param(p->w, 1 + j, p->whole->graphs[0]->params[1 + j]);
  return NULL;
}

/* Slots of the same start, each of the whole once. */
static bool guess_slots(Pair *p) {
  int n = loop_slots(p->part->loop), of = loop_slots(p->whole->loop);
  bool *taken = NEW_ARRAY(p->w->temp, bool, of + 1);
  for (int k = 0; k < n; k++) {
    int j = 0;
    while (j < of && (taken[j] || p->whole->ops[1 + j] != p->part->ops[1 + k] ||
                      loop_part(p->whole->loop, j) != loop_part(p->part->loop, k)))
      j++;
    if (j == of) return false;
    taken[j] = true;
    p->slots[k] = j;
  }
  return true;
}

static bool goes_on_as_guessed(Pair *p) {
  World *w = p->w;
  const Graph *body = p->part->graphs[0], *other = p->whole->graphs[0];
  Node **args = NEW_ARRAY(w->temp, Node *, body->nparams);
  args[0] = ir_param(w, 0, body->params[0]);
  for (int k = 0; k < loop_inputs(p->part->loop); k++) {
    bool slot = k < loop_slots(p->part->loop);
    args[1 + k] = slot ? ir_param(w, 1 + p->slots[k], body->params[1 + k]) : same_input(p, k);
    if (!args[1 + k]) return false;
  }
  p->result = ir_instantiate(w, (Graph *)body, args, 0);
  for (int k = 0; k < loop_slots(p->part->loop); k++)
    if (ir_get(w, p->result, k) != ir_get(w, other->result, p->slots[k])) return false;
  return true;
}

static bool is_part(Pair *p) {
  const LoopInfo *a = p->part->loop, *b = p->whole->loop;
  if (p->part->ops[0] != p->whole->ops[0] || a->down != b->down || a->ncarried > b->ncarried) return false;
  p->slots = NEW_ARRAY(p->w->temp, int, loop_slots(a) + 1);
  return guess_slots(p) && goes_on_as_guessed(p);
}

/* ---- One for both ------------------------------------------------------------------------------------------------ */
static bool needs(World *w, const Graph *g, Node *x, const Node *y) {
  Node **nodes;
  int n = ir_order(w->temp, ir_graph(w, g->params, g->nparams, x, NULL), &nodes);
  for (int i = 0; i < n; i++)
    if (nodes[i] == y) return true;
  return false;
}

static Graph *with_one(const Pair *p, Graph *g) {
  World *w = p->w;
  const LoopInfo *a = p->part->loop, *b = p->whole->loop;
  Node **extra = NEW_ARRAY(w->temp, Node *, a->nstacked + 1), **stacked = NEW_ARRAY(w->temp, Node *, a->nstacked + 1);
  for (int k = 0; k < a->nstacked; k++) extra[k] = ir_get(w, p->result, loop_slots(a) + k);
  Node *all = ir_loop_stacking(w, p->whole, p->whole->ops, p->whole->graphs[0]->result, extra, a->nstacked, stacked);
  int nb = loop_slots(b) + b->nstacked + 1, na = loop_slots(a) + a->nstacked + 1;
  Node **xs = NEW_ARRAY(w->temp, Node *, nb), **ys = NEW_ARRAY(w->temp, Node *, na);
  for (int k = 0; k < nb; k++) xs[k] = ir_get(w, all, k);
  for (int k = 0; k < na; k++)
    ys[k] = k < loop_slots(a) ? xs[p->slots[k]] : k < na - 1 ? stacked[k - loop_slots(a)] : xs[nb - 1];
  Map over;
  map_init(&over, w->temp);
  map_put(&over, p->whole, ir_tuple(w, p->whole->type, xs));
  map_put(&over, p->part, ir_tuple(w, p->part->type, ys));
  return ir_graph_over(w, g, &over);
}

/* ---- Two walks --------------------------------------------------------------------------------------------------- */
/* Two loops with conditions, as they are in one that carries what either does: what stands there for the parameters of
 * their bodies, and what these make of it. */
typedef struct Walks {
  World *w;
  const Node *loop[2];
  LoopBuilder *b;
  Node **args[2], *result[2];
  int *same; /* per slot of the second: which one of the first it is, -1 */
} Walks;

static Node *outer_input(const Node *loop, int k) { return loop->ops[loop_first(loop->loop) + k]; }

/* Slots that start as the same. */
static bool guess_common(Walks *s) {
  const LoopInfo *a = s->loop[0]->loop, *b = s->loop[1]->loop;
  bool any = false;
  s->same = NEW_ARRAY(s->w->temp, int, loop_slots(b) + 1);
  for (int k = 0; k < loop_slots(b); k++) {
    s->same[k] = -1;
    const Node *x = outer_input(s->loop[1], k);
    for (int j = 0; k < b->ncarried && x->type->kind != T_FLOAT && j < a->ncarried; j++)
      if (outer_input(s->loop[0], j) == x) s->same[k] = j;
    any |= s->same[k] >= 0;
  }
  return any;
}

static void add_inputs(Walks *s, int which) {
  const Node *n = s->loop[which], *other = s->loop[0];
  const LoopInfo *l = n->loop, *first = other->loop;
  Node **args = s->args[which] = NEW_ARRAY(s->w->temp, Node *, 1 + loop_inputs(l));
  args[0] = loop_index(s->b);
  for (int k = 0; k < loop_inputs(l); k++) {
    if (which && k < loop_slots(l) && s->same[k] >= 0) args[1 + k] = s->args[0][1 + s->same[k]];
    for (int j = loop_captures(first); which && k >= loop_slots(l) && j < loop_inputs(first); j++)
      if (outer_input(other, j) == outer_input(n, k)) args[1 + k] = s->args[0][1 + j];
    if (!args[1 + k]) args[1 + k] = loop_add(s->b, loop_part(l, k), outer_input(n, k));
  }
  s->result[which] = ir_instantiate(s->w, n->graphs[0], args, 0);
}

static Node *condition(const Walks *s, int which) {
  const Node *n = s->loop[which];
  Node **args = loop_cond_args(s->w, n->loop, n->graphs[1], s->args[which]);
  return ir_instantiate(s->w, n->graphs[1], args, 0);
}

static bool walk_alike(const Walks *s) {
  for (int k = 0; k < loop_slots(s->loop[1]->loop); k++)
    if (s->same[k] >= 0 && ir_get(s->w, s->result[0], s->same[k]) != ir_get(s->w, s->result[1], k)) return false;
  return condition(s, 0) == condition(s, 1);
}

/* What one of the loops yields, after loop_close. */
static Node *yielded(const Walks *s, int which, int stacked) {
  const Node *n = s->loop[which];
  int slots = loop_slots(n->loop), parts = slots + n->loop->nstacked;
  Node **xs = NEW_ARRAY(s->w->temp, Node *, parts + 1);
  for (int k = 0; k < slots; k++) xs[k] = loop_result(s->b, s->args[which][1 + k]);
  for (int k = slots; k < parts; k++) xs[k] = loop_stacked(s->b, stacked + k - slots);
  xs[parts] = loop_trips(s->b);
  return ir_tuple(s->w, n->type, xs);
}

static Graph *with_one_walk(const Walks *s, Graph *g) {
  World *w = s->w;
  int stacked[2] = {0};
  for (int i = 0; i < 2; i++) {
    const LoopInfo *l = s->loop[i]->loop;
    int slots = loop_slots(l);
    for (int k = 0; k < slots; k++)
      if (i == 0 || s->same[k] < 0) loop_next(s->b, s->args[i][1 + k], ir_get(w, s->result[i], k));
    for (int k = 0; k < l->nstacked; k++) {
      int at = loop_stack(s->b, ir_get(w, s->result[i], slots + k));
      if (k == 0) stacked[i] = at;
    }
  }
  loop_close(s->b, NULL, condition(s, 0), s->loop[0]->site);
  Map over;
  map_init(&over, w->temp);
  for (int i = 0; i < 2; i++) map_put(&over, s->loop[i], yielded(s, i, stacked[i]));
  return ir_graph_over(w, g, &over);
}

static bool may_fail(const Node *loop) { return (loop->graphs[0]->flags | loop->graphs[1]->flags) & NODE_FAILS; }

static bool walks_alone(const Node *x) {
  for (int k = 1; k < x->nops; k++)
    if (x->ops[k]->type->kind == T_TOKEN) return false;
  return x->op == OP_LOOP && x->loop->has_cond;
}

/* Of two that may fail another failure might be the first. */
static bool are_one_walk(Walks *s) {
  const Node *a = s->loop[0], *b = s->loop[1];
  if (a->loop->down != b->loop->down || (may_fail(a) && may_fail(b)) || !guess_common(s)) return false;
  s->b = loop_open(s->w, a->loop->down);
  add_inputs(s, 0);
  add_inputs(s, 1);
  return walk_alike(s);
}

/* ---- The pass ---------------------------------------------------------------------------------------------------- */
/* The graph with one of the loops a and b instead of both; NULL: they aren't of that kind. */
static Graph *with_one_of(World *w, Graph *g, const Node *a, const Node *b) {
  if (walks_alone(a) && walks_alone(b) && a->id < b->id) {
    Walks s = {.w = w, .loop = {a, b}};
    return are_one_walk(&s) && !needs(w, g, (Node *)b, a) && !needs(w, g, (Node *)a, b) ? with_one_walk(&s, g) : NULL;
  }
  Pair p = {.w = w, .part = a, .whole = b};
  if (a->loop->has_cond || b->loop->has_cond || !is_part(&p)) return NULL;
  return !needs(w, g, (Node *)b, a) && !needs(w, g, (Node *)a, b) ? with_one(&p, g) : NULL;
}

static bool may_merge(const Node *x) { return x->op == OP_LOOP && x->loop->ncarried; }

static bool merge_one(World *w, Graph **g) {
  Node **nodes;
  int n = ir_order(w->temp, *g, &nodes), tries = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; may_merge(nodes[i]) && k < n; k++) {
      if (k == i || !may_merge(nodes[k])) continue;
      if (++tries > LIMIT_MERGED && limit_reached(w->arena, AT_MERGED)) return false;
      Graph *one = with_one_of(w, *g, nodes[i], nodes[k]);
      if (!one) continue;
      *g = one;
      return true;
    }
  return false;
}

static Graph *merged(void *user, Rewriter *r, Graph *g) {
  while (merge_one(user, &g)) continue;
  return rewrite_nodes(r, g);
}

Graph *opt_loop_cse(World *w, Graph *g) { return ir_rewrite(w, g, (RewritePass){.user = w, .graph = merged}); }
