/* SPDX-License-Identifier: MIT */
/* Loops that do the same: where two loops of a graph run equally often and what one carries the other carries too, the
 * other one yields what both do.
 *
 *   a = loop i < n carries s: next s;   b = loop i < n carries s: next s, stacks f s
 *   →  b alone, of which a is a part
 *
 * So do a value and its derivative, each of which runs through the values once. (Equal loops are one node anyway. Those
 * that carry nothing are joined by join.c.) Two carried values are the same if they start as the same and, that being
 * assumed of all of them, go on as the same: the body of one is made of the parameters of the other, and then equal
 * numbers are equal nodes. */
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
  Node **args = NEW_ARRAY(w->temp, Node *, g->nparams + 1);
  for (int k = 0; k < g->nparams; k++) args[k] = ir_param(w, k, g->params[k]);
  return ir_graph(w, g->params, g->nparams, ir_instantiate_over(w, g, args, 0, &over), g->name);
}

static bool may_merge(const Node *x) { return x->op == OP_LOOP && !x->loop->has_cond && x->loop->ncarried; }

static bool merge_one(World *w, Graph **g) {
  Node **nodes;
  int n = ir_order(w->temp, *g, &nodes), tries = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; may_merge(nodes[i]) && k < n; k++) {
      if (k == i || !may_merge(nodes[k])) continue;
      if (++tries > LIMIT_MERGED && limit_reached(w->arena, AT_MERGED)) return false;
      Pair p = {.w = w, .part = nodes[i], .whole = nodes[k]};
      if (!is_part(&p) || needs(w, *g, nodes[k], nodes[i]) || needs(w, *g, nodes[i], nodes[k])) continue;
      *g = with_one(&p, *g);
      return true;
    }
  return false;
}

static Graph *merged(void *user, Rewriter *r, Graph *g) {
  while (merge_one(user, &g)) continue;
  return rewrite_nodes(r, g);
}

Graph *opt_merge(World *w, Graph *g) { return ir_rewrite(w, g, (RewritePass){.user = w, .graph = merged}); }
