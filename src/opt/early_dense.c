/* SPDX-License-Identifier: MIT */
/* An accumulator that is filled in the graph in which an addition, a loop or a call began it is filled before that: the
 * whole array is made either way, and opt_dense turns what is added to it into loads and stores.
 *
 *   fill (loop accs (zero) …) n  →  fill (loop accs (to_bag (zeros n)) …) n
 *
 * On the way from there to the FILL there may be additions, branches, further loops and calls; and what is filled may
 * be added to it as a part, a SHIFT: then that is an array of the part's size. */
#include "opt/opt.h"
#include "graph/graph.h"
#include "ir/world.h"

/* An addition, loop or call whose operand `input` is an accumulator that is empty, and what it is filled to: an array,
 * by its dimensions. */
typedef struct Start {
  Node *at, *like, **dims; /* like: the array whose cotangent it is, where that says more than the dimensions */
  int input, rank;
  IrType *array;
} Start;

static bool find_start(World *w, Node *bag, Start *out, int depth);

/* The same where operand k of `at` is what the accumulator was before. */
static bool from_operand(World *w, Node *at, int k, Start *out, int depth) {
  if (at->ops[k]->op != OP_ZERO) return find_start(w, at->ops[k], out, depth + 1);
  out->at = at;
  out->input = k;
  return true;
}

static bool in_loop(World *w, Node *loop, int k, Start *out, int depth) {
  if (loop->loop->has_cond || k >= loop_slots(loop->loop)) return false;
  const Node *root = opt_provenance(w, ir_get(w, loop->graphs[0]->result, k));
  if (!root || root->op != OP_PARAM || root->attr.i != 1 + k) return false;
  return from_operand(w, loop, k + loop_first(loop->loop), out, depth);
}

static bool in_branch(World *w, Node *branch, Node *bag, Start *out, int depth) {
  int capture = opt_branch_provenance(w, branch, bag);
  return capture >= 0 && find_start(w, branch->ops[1 + capture], out, depth + 1);
}

static bool in_call(World *w, Node *call, int k, Start *out, int depth) {
  int param = opt_call_provenance(w, call->attr.func, k);
  return param >= 0 && from_operand(w, call, param, out, depth);
}

static bool of_component(World *w, Node *bag, Start *out, int depth) {
  Node *whole = bag->ops[0];
  int k = (int)bag->attr.i;
  switch (whole->op) {
  case OP_TAKE: return k == 0 && find_start(w, whole->ops[0], out, depth + 1);
  case OP_LOOP: return in_loop(w, whole, k, out, depth);
  case OP_CALL: return in_call(w, whole, k, out, depth);
  default: break;
  }
  while (whole->op == OP_GET) whole = whole->ops[0];
  return whole->op == OP_SWITCH && in_branch(w, whole, bag, out, depth);
}

/* shift part dims lo n: the part has n entries, each like those of the whole. */
static bool in_part(World *w, Node *shift, Start *out, int depth) {
  Node **whole = out->dims;
  out->dims = NEW_ARRAY(w->arena, Node *, out->rank);
  for (int k = 0; k < out->rank; k++) out->dims[k] = k ? whole[k] : shift->ops[shift->nops - 1];
  if (find_start(w, shift->ops[0], out, depth + 1)) return true;
  out->dims = whole;
  return false;
}

static bool find_start(World *w, Node *bag, Start *out, int depth) {
  if (depth > LIMIT_BAG_CHAIN) return !limit_reached(w->arena, AT_BAG_CHAIN);
  switch (bag->op) {
  case OP_ACC_AT: return from_operand(w, bag, 0, out, depth);
  case OP_CUPDATE: return find_start(w, bag->ops[0], out, depth + 1);
  case OP_CADD: return find_start(w, bag->ops[0], out, depth + 1) || find_start(w, bag->ops[1], out, depth + 1);
  case OP_SHIFT: return in_part(w, bag, out, depth);
  case OP_SWITCH: return in_branch(w, bag, bag, out, depth);
  case OP_GET: return of_component(w, bag, out, depth);
  default: return false;
  }
}

/* ---- Zeros, and what is filled last ---------------------------------------------------------------------------- */
/* What the parts of an accumulator, of type t, are filled to if they are zero (acc NULL), or else from acc: with the
 * sizes that those of `like` have. */
static Node *filled(World *w, IrType *t, Node *acc, Node *like) {
  if (t->kind == T_TUPLE) {
    Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
    for (int k = 0; k < t->n; k++) xs[k] = filled(w, t->args[k], acc ? ir_get(w, acc, k) : NULL, ir_get(w, like, k));
    return ir_tuple(w, ir_dense_type(w, t), xs);
  }
  if (t->kind != T_BAG) return acc ? acc : ir_zero(w, t);
  if (ir_is_plain(ir_base(t))) return ir_fill(w, acc ? acc : ir_zero(w, t), like);
  LoopBuilder *b = loop_open(w, false);
  Node *i = loop_index(b), *likes = loop_add(b, LOOP_CAPTURED, like);
  Node *accs = acc ? loop_add(b, LOOP_CAPTURED, acc) : NULL;
  Node *entry = acc ? ir_bag_get(w, accs, likes, i) : NULL;
  loop_stack_sized(b, filled(w, t->args[0], entry, ir_index(w, likes, &i, 1)));
  loop_close(b, ir_len(w, like, 0), NULL, 0);
  return loop_stacked(b, 0);
}

static Node *fill_entries(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)frame;
  (void)graphs;
  return n->op == OP_FILL_LIKE ? filled(user, n->ops[0]->type, ops[0], ops[1]) : NULL;
}

Graph *opt_fill_entries(World *w, Graph *g) { return ir_rewrite(w, g, (RewritePass){.user = w, .node = fill_entries}); }

/* ---- Starts ---- */
/* Do the dimensions follow from what would have to know them? */
static bool dims_depend(World *w, const Start *s) {
  return fact_depends(w, s->like ? s->like : ir_record(w, s->dims, s->rank), s->at);
}

static Graph *with_start(World *w, Graph *g, const Start *s) {
  IrType *t = s->at->ops[s->input]->type;
  Node *zeros = s->like ? filled(w, t, NULL, s->like) : ir_zeros(w, s->array, s->dims, 0);
  Map over;
  map_init(&over, w->temp);
  map_put(&over, s->at, edit_operand(w, s->at, s->input, ir_to_bag(w, zeros)));
  return ir_graph_over(w, g, &over);
}

/* One of them after the other: the next one may be in what the last one made. */
static bool start_one(World *w, Graph **g) {
  Node **nodes;
  int n = ir_order(w->temp, *g, &nodes);
  for (int i = 0; i < n; i++) {
    const Node *fill = nodes[i];
    bool plain = fill->op == OP_FILL && ir_is_plain(ir_base(fill->ops[0]->type));
    if (!plain && (fill->op != OP_FILL_LIKE || !opt_bag_keeps_shapes(w, fill->ops[0]))) continue;
    Start s = {.dims = fill->ops + 1, .rank = fill->nops - 1, .array = fill->type, .like = plain ? NULL : fill->ops[1]};
    if (!find_start(w, nodes[i]->ops[0], &s, 0) || dims_depend(w, &s)) continue;
    *g = with_start(w, *g, &s);
    return true;
  }
  return false;
}

Graph *opt_early_dense(World *w, Graph *g, bool *changed) {
  while (start_one(w, &g)) *changed = true;
  return g;
}
