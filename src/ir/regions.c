/* SPDX-License-Identifier: MIT */
/* Regions: graphs under construction. A node that was made in an outer region and is read in an inner one is
 * imported: each region on the way captures it, once. */
#include "ir/ir_internal.h"

Region *region_open(World *w, Region *outer) {
  Region *r = NEW(w->arena, Region);
  r->w = w;
  r->outer = outer;
  map_init(&r->imports, w->arena);
  return r;
}

Node *region_param(Region *r, IrType *t) {
  vec_push(r->w->arena, r->params, t);
  r->nown++;
  return ir_param(r->w, r->nown - 1, t);
}

/* A node means something else in each region, so an import is known by both; those of one node are a list. */
typedef struct Import {
  const Region *from;
  Node *here;
  struct Import *next;
} Import;

static Node *capture_node(Region *r, Node *x) {
  for (int i = 0; i < r->ncaps; i++)
    if (r->caps.data[i] == x) return ir_param(r->w, r->nown + i, x->type);
  vec_push(r->w->arena, r->caps, x);
  vec_push(r->w->arena, r->params, x->type);
  r->ncaps++;
  return ir_param(r->w, r->nown + r->ncaps - 1, x->type);
}

Node *region_import(Region *r, Region *from, Node *x) {
  if (r == from || ir_is_constant(x) || x->op == OP_GLOBAL) return x;
  Import *known = map_get(&r->imports, x);
  for (Import *i = known; i; i = i->next)
    if (i->from == from) return i->here;
  Import *new = NEW(r->w->arena, Import);
  *new = (Import){from, capture_node(r, region_import(r->outer, from, x)), known};
  map_put(&r->imports, x, new);
  return new->here;
}

Graph *region_close(Region *r, Node *result, Sym name) {
  return ir_graph(r->w, r->params.data, r->params.len, result, name);
}

/* A capture of several arms is one of the branch. */
static Node *shared_capture(BranchBuilder *b, Map *seen, Node *x) {
  Node *inside = map_get(seen, x);
  if (!inside) map_put(seen, x, inside = branch_add(b, x));
  return inside;
}

Node *region_branch(Node *selector, Region **arms, Node **results, int n) {
  World *w = arms[0]->w;
  BranchBuilder *b = branch_open(w, selector);
  Map seen;
  map_init(&seen, w->temp);
  Node ***inside = NEW_ARRAY(w->temp, Node **, n);
  for (int i = 0; i < n; i++) {
    inside[i] = NEW_ARRAY(w->temp, Node *, arms[i]->ncaps + 1);
    for (int k = 0; k < arms[i]->ncaps; k++) inside[i][k] = shared_capture(b, &seen, arms[i]->caps.data[k]);
  }
  for (int i = 0; i < n; i++) branch_arm(b, ir_substitute(w, results[i], inside[i], arms[i]->ncaps, 0), NULL);
  return branch_close(b);
}
