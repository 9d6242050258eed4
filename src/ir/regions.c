/* SPDX-License-Identifier: MIT */
/* Regions: graphs under construction. What is read in one and was made in a region around it is imported: each region
 * on the way captures it, once. */
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

void region_close_arms(Region **rs, Node **results, int n, Graph **arms, Node ***caps, int *ncaps) {
  World *w = rs[0]->w;
  Vec(Node *) all = {0};
  Vec(IrType *) types = {0};
  for (int i = 0; i < n; i++)
    for (int k = 0; k < rs[i]->ncaps; k++) {
      int j = 0;
      while (j < all.len && all.data[j] != rs[i]->caps.data[k]) j++;
      if (j < all.len) continue;
      vec_push(w->arena, all, rs[i]->caps.data[k]);
      vec_push(w->arena, types, rs[i]->caps.data[k]->type);
    }
  for (int i = 0; i < n; i++) {
    Node **args = NEW_ARRAY(w->arena, Node *, rs[i]->ncaps + 1);
    for (int k = 0; k < rs[i]->ncaps; k++)
      for (int j = 0; j < all.len; j++)
        if (all.data[j] == rs[i]->caps.data[k]) args[k] = ir_param(w, j, types.data[j]);
    arms[i] = ir_graph(w, types.data, types.len, ir_substitute(w, results[i], args, rs[i]->ncaps, 0), NULL);
  }
  *caps = all.data;
  *ncaps = all.len;
}
