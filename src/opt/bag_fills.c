/* SPDX-License-Identifier: MIT */
/* An accumulator that is filled in the graph in which a loop began it is filled before the loop: the whole array is
 * made either way, and opt_dense turns what is added to it into loads and stores.
 *
 *   fill (loop accs (zero) …) n  →  fill (loop accs (to_bag (zeros n)) …) n
 *
 * On the way from the loop to the FILL there may be additions, branches and further loops. */
#include "opt/opt.h"
#include "graph/graph.h"
#include "ir/world.h"

/* A loop whose operand `input` is an accumulator that is empty, and the FILL that it comes to. */
typedef struct Start {
  Node *loop, *fill;
  int input;
} Start;

static bool find_start(World *w, Node *bag, Start *out, int depth);

static bool in_loop(World *w, Node *loop, int k, Start *out, int depth) {
  if (loop->loop->has_cond || k >= loop_slots(loop->loop)) return false;
  const Node *root = opt_bag_root(w, ir_get(w, loop->graphs[0]->result, k));
  if (!root || root->op != OP_PARAM || root->attr.i != 1 + k) return false;
  int input = k + loop_first(loop->loop);
  if (loop->ops[input]->op != OP_ZERO) return find_start(w, loop->ops[input], out, depth + 1);
  out->loop = loop;
  out->input = input;
  return true;
}

static bool in_branch(World *w, Node *bag, Start *out, int depth) {
  const Node *s = bag->op == OP_GET ? bag->ops[0] : bag;
  int capture = opt_branch_root(w, s, bag == s ? -1 : (int)bag->attr.i);
  return capture >= 0 && find_start(w, s->ops[1 + capture], out, depth + 1);
}

static bool find_start(World *w, Node *bag, Start *out, int depth) {
  Node *whole = bag->op == OP_GET ? bag->ops[0] : bag;
  if (depth > LIMIT_BAG_CHAIN) return !limit_reached(w->arena, AT_BAG_CHAIN);
  switch (whole->op) {
  case OP_ACC_AT:
  case OP_CUPDATE: return find_start(w, whole->ops[0], out, depth + 1);
  case OP_TAKE: return bag->op == OP_GET && bag->attr.i == 0 && find_start(w, whole->ops[0], out, depth + 1);
  case OP_CADD:
    return bag == whole && (find_start(w, bag->ops[0], out, depth + 1) || find_start(w, bag->ops[1], out, depth + 1));
  case OP_SWITCH: return in_branch(w, bag, out, depth);
  case OP_LOOP: return bag->op == OP_GET && in_loop(w, whole, (int)bag->attr.i, out, depth);
  default: return false;
  }
}

/* Do the dimensions follow from the loop that would have to know them? */
static bool dims_depend(World *w, const Graph *g, const Start *s) {
  Node **nodes;
  Node *dims = ir_record(w, s->fill->ops + 1, s->fill->nops - 1);
  int n = ir_order(w->temp, ir_graph(w, g->params, g->nparams, dims, NULL), &nodes);
  for (int i = 0; i < n; i++)
    if (nodes[i] == s->loop) return true;
  return false;
}

static Graph *with_start(World *w, Graph *g, const Start *s) {
  Node **ops = NEW_ARRAY(w->arena, Node *, s->loop->nops), **dims = NEW_ARRAY(w->arena, Node *, s->fill->nops);
  for (int k = 0; k < s->loop->nops; k++) ops[k] = s->loop->ops[k];
  for (int k = 0; k < s->fill->nops; k++) dims[k] = s->fill->ops[k];
  dims[0] = ops[s->input];
  ops[s->input] = ir_to_bag(w, ir_rebuild(w, s->fill, dims, NULL));
  Map over;
  map_init(&over, w->temp);
  map_put(&over, s->loop, ir_rebuild(w, s->loop, ops, s->loop->graphs));
  Node **args = NEW_ARRAY(w->arena, Node *, g->nparams + 1);
  for (int k = 0; k < g->nparams; k++) args[k] = ir_param(w, k, g->params[k]);
  Node *result = ir_instantiate_over(w, g, args, 0, &over);
  return ir_graph(w, g->params, g->nparams, result, g->name);
}

/* One of them after the other: the next one may be in what the last one made. */
static bool start_one(World *w, Graph **g) {
  Node **nodes;
  int n = ir_order(w->temp, *g, &nodes);
  for (int i = 0; i < n; i++) {
    Start s = {.fill = nodes[i]};
    if (nodes[i]->op != OP_FILL || !ir_is_plain(ir_base(nodes[i]->ops[0]->type))) continue;
    if (!find_start(w, nodes[i]->ops[0], &s, 0) || dims_depend(w, *g, &s)) continue;
    *g = with_start(w, *g, &s);
    return true;
  }
  return false;
}

Graph *opt_bag_fills(World *w, Graph *g, bool *changed) {
  while (start_one(w, &g)) *changed = true;
  return g;
}
