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
  const LoopInfo *a = p->part->loop;
  int slots = loop_slots(a), last = p->part->type->n - 1;
  Node **extra = NEW_ARRAY(w->temp, Node *, a->nstacked + 1), **stacked = NEW_ARRAY(w->temp, Node *, a->nstacked + 1);
  for (int k = 0; k < a->nstacked; k++) extra[k] = ir_get(w, p->result, slots + k);
  Node *all = ir_loop_stacking(w, p->whole, p->whole->ops, p->whole->graphs[0]->result, extra, a->nstacked, stacked);
  Node **ys = NEW_ARRAY(w->temp, Node *, last + 1);
  for (int k = 0; k < last; k++) ys[k] = k < slots ? ir_get(w, all, p->slots[k]) : stacked[k - slots];
  ys[last] = ir_get(w, all, all->type->n - 1);
  Map over;
  map_init(&over, w->temp);
  map_put(&over, p->whole, all);
  map_put(&over, p->part, ir_tuple(w, p->part->type, ys));
  return ir_graph_over(w, g, &over);
}

/* ---- Two walks --------------------------------------------------------------------------------------------------- */
/* Two loops with conditions, as they are in one that carries what either does. */
typedef struct Walks {
  World *w;
  const Node *loop[2];
  LoopEdit *e[2];
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

/* Makes both bodies over the first one's operands, and those of the second that the first one hasn't. */
static void make_bodies(Walks *s) {
  const LoopInfo *first = s->loop[0]->loop, *l = s->loop[1]->loop;
  LoopEdit *e = s->e[0] = edit_loop(s->w, s->loop[0], s->loop[0]->ops, s->loop[0]->graphs);
  LoopEdit *other = s->e[1] = edit_loop_into(s->w, e->b, s->loop[1], s->loop[1]->ops, s->loop[1]->graphs);
  edit_body(e, NULL, NULL, 0);
  for (int k = 0; k < loop_inputs(l); k++) {
    if (k < loop_slots(l) && s->same[k] >= 0) other->args[1 + k] = e->args[1 + s->same[k]];
    for (int j = loop_captures(first); k >= loop_slots(l) && j < loop_inputs(first); j++)
      if (e->ops[j] == other->ops[k]) other->args[1 + k] = e->args[1 + j];
  }
  edit_body(other, NULL, NULL, 0);
}

static bool walk_alike(const Walks *s) {
  for (int k = 0; k < loop_slots(s->loop[1]->loop); k++)
    if (s->same[k] >= 0 && s->e[0]->next[s->same[k]] != s->e[1]->next[k]) return false;
  return edit_condition(s->e[0]) == edit_condition(s->e[1]);
}

static Graph *with_one_walk(const Walks *s, Graph *g) {
  Map over;
  map_init(&over, s->w->temp);
  edit_yield(s->e[0]);
  edit_yield(s->e[1]);
  edit_close(s->e[0]);
  edit_close(s->e[1]);
  for (int k = 0; k < loop_slots(s->loop[1]->loop); k++)
    if (s->same[k] >= 0) s->e[1]->results[k] = s->e[0]->results[s->same[k]];
  for (int i = 0; i < 2; i++) map_put(&over, s->loop[i], edit_value(s->e[i]));
  return ir_graph_over(s->w, g, &over);
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
  make_bodies(s);
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
