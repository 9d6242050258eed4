/* SPDX-License-Identifier: MIT */
/* Mapped outputs: an accumulator or array that a loop fills in order becomes a stacked output of the loop.
 *
 *   loop i < n: bag += (i, x i)         →   [ x i | i < n ]      where bag is empty and has n entries
 *   a = zeros n; loop i < n: a[i] <- f a[i]   →   [ f 0 | i < n ]
 *   loop i < length a: a[i] <- x i            →   [ x i | i < length a ]     where x reads nothing of a
 *
 * Each iteration changes the entry at the loop's own index alone, and nothing in the body reads another one. The loop
 * runs as often as there are entries. An array comes so without zeros that are overwritten, and loops that make arrays
 * can be fused. */
#include "facts/ir_loop_facts.h"
#include "graph/graph.h"
#include "ir/world.h"
#include "opt/fuse.h"
#include "opt/opt.h"
#include <string.h>

typedef struct Outputs {
  World *w;
  const LoopInfo *l;
  Node *n, **in; /* trip count or NULL; inputs */
  LoopFacts facts;
} Outputs;

/* The entry that bag k gets by r, its next value; NULL if it isn't of that form. */
static Node *entry_of_bag(Outputs *o, const Node *r, int k) {
  if (!opt_is_empty(o->in[k]) || r->op != OP_ACC_AT) return NULL;
  int rank = ir_rank(r->type);
  if (!fact_is_param(r->ops[0], 1 + k) || r->nops != rank + 3 || !fact_is_param(r->ops[1 + rank], 0)) return NULL;
  Node *x = r->ops[r->nops - 1];
  if (x->type->kind == T_BAG) x = x->op == OP_TO_BAG ? x->ops[0] : NULL; /* a whole row, if there is one */
  Node *dim = x ? loop_invariant(&o->facts, r->ops[1]) : NULL;
  bool fits = dim && ir_same_number(o->w, o->n, dim) && fact_is_read_in_order(o->w, o->facts.body, 1 + k, r);
  return fits ? x : NULL;
}

/* The next value of element i of array k, where it is 0 before. */
static Node *from_zero(Outputs *o, Node *x, int k) {
  Graph *g = ir_graph(o->w, o->facts.body->params, o->facts.body->nparams, x, NULL);
  Map zero;
  map_init(&zero, o->w->temp);
  fuse_put_elements(o->w, g, 1 + k, ir_float(o->w, 0), &zero);
  return ir_graph_over(o->w, g, &zero)->result;
}

/* The same where it is an array of zeros already, of numbers:  a[i] <- f a[i]. */
static Node *entry_of_array(Outputs *o, int k) {
  const Node *zeros = o->in[k], *r = fact_filled_in_order(o->w, o->facts.body, k);
  if (zeros->op != OP_ZEROS || !r || r->type->args[0]->kind != T_FLOAT) return NULL;
  return ir_same_number(o->w, o->n, zeros->ops[0]) ? from_zero(o, r->ops[2], k) : NULL;
}

/* Does the loop run so often? Where n is a size that was checked, a loop up to n runs max n 0 times. */
static bool runs_so_often(const Outputs *o, Node *n) {
  const Node *trips = o->n;
  bool checked = n->op == OP_CHECK_NAT && trips->op == OP_IMAX && trips->ops[1]->op == OP_INT && !trips->ops[1]->attr.i;
  return ir_same_number(o->w, o->n, n) || (checked && ir_same_number(o->w, trips->ops[0], n->ops[0]));
}

/* Is the index of the update the loop's own, which may be checked against as many as there are iterations? */
static bool is_own_index(Outputs *o, const Node *index) {
  if (index->op != OP_CHECK_INDEX) return fact_is_param(index, 0);
  Node *limit = loop_invariant(&o->facts, index->ops[1]);
  return fact_is_param(index->ops[0], 0) && limit && runs_so_often(o, limit);
}

/* The number that element i of array k, which is carried, gets in each iteration, where nothing else is done with the
 * array, and as many iterations as it has elements. */
static Node *entry_of_carried(Outputs *o, const Node *r, int k) {
  Graph *body = o->facts.body;
  if (r->op != OP_UPDATE || r->nops != 3 || !ir_is_number(r->ops[2]->type)) return NULL;
  if (!fact_is_param(r->ops[0], 1 + k) || !is_own_index(o, r->ops[1])) return NULL;
  const NodeUse *use = uses_only(graph_uses(o->w, body), r);
  if (!use || use->user != body->result || uses_count(graph_uses(o->w, body), r->ops[0]) != 1) return NULL;
  return runs_so_often(o, ir_len(o->w, o->in[k], 0)) ? r->ops[2] : NULL;
}

/* What slot k gets at the loop's index in each iteration; NULL if it isn't filled so. */
static Node *entry_of(Outputs *o, int k) {
  const Node *r = o->facts.body->result->op == OP_TUPLE ? o->facts.body->result->ops[k] : NULL;
  if (!o->n || !r) return NULL;
  if (k < o->l->ncarried) return entry_of_carried(o, r, k);
  return r->type->kind == T_BAG ? entry_of_bag(o, r, k) : r->type->kind == T_ARRAY ? entry_of_array(o, k) : NULL;
}

Node *opt_stacked_entries(World *w, const Node *n, Node **ops, Graph **graphs) {
  const LoopInfo *l = n->loop;
  Node **in = ops + loop_first(l);
  Outputs o = {w, l, l->has_cond ? NULL : ops[0], in, loop_facts(w, l, in, graphs[0], false)};
  int slots = loop_slots(l);
  Node *length = NULL; /* of an array that is filled: it may fail, as zeros of -1 do */
  int parts = slots + l->nstacked, *number = NEW_ARRAY(w->temp, int, slots + 1);
  bool any = false, *entry = NEW_ARRAY(w->temp, bool, slots + 1);
  Node **xs = NEW_ARRAY(w->temp, Node *, parts + 1);
  for (int k = 0; k < parts; k++) {
    Node *x = k < slots ? entry_of(&o, k) : NULL;
    xs[k] = x ? x : ir_get(w, graphs[0]->result, k);
    if (x) any = entry[k] = true;
    if (x && k < l->ncarried) length = ir_len(w, in[k], 0);
  }
  if (!any) return NULL;
  Node **inputs = NEW_ARRAY(w->temp, Node *, n->nops + 1);
  memcpy(inputs, ops, sizeof *inputs * (size_t)n->nops);
  if (length && length->flags & NODE_FAILS) inputs[0] = length;
  LoopEdit *e = edit_loop(w, n, inputs, graphs);
  for (int k = 0; k < slots; k++)
    if (entry[k]) e->args[1 + k] = ir_zero(w, graphs[0]->params[1 + k]); /* no entry reads it */
  edit_body(e, xs, NULL, 0);
  edit_yield(e);
  for (int k = 0; k < slots; k++)
    if (entry[k]) number[k] = loop_stack_sized(e->b, e->next[k]);
  edit_close(e);
  for (int k = 0; k < slots; k++) {
    Node *x = entry[k] ? loop_stacked(e->b, number[k]) : e->results[k];
    e->results[k] = x->type == n->type->args[k] ? x : ir_make(w, OP_TO_BAG, n->type->args[k], &x, 1);
  }
  return edit_value(e);
}

static Node *map_loop(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r, (void)frame;
  return n->op == OP_LOOP ? opt_stacked_entries(user, n, ops, graphs) : NULL;
}

Graph *opt_mapped_outputs(World *w, Graph *g) { return ir_rewrite(w, g, (RewritePass){.user = w, .node = map_loop}); }
