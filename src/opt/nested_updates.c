/* SPDX-License-Identifier: MIT */
/* Arrays in the elements of an array are changed in place: an element that an update writes anew is taken out of the
 * array, which leaves null in it, so that what it holds has one owner.
 *
 *   update a i {p = update (index a i).p j x, …}   →   (b, e) = take a i;  update b i {p = update e.p j x, …}
 *
 * Where a or the array in it has another owner it is copied as always, whatever was taken. Nothing may read b in
 * between: so what depends on the element must read a through it alone. Runs last, since a TAKE of an array says more
 * than its value. */
#include "facts/changes.h"
#include "opt/opt.h"
#include <string.h>

typedef struct Takes {
  World *w;
  Changes changes;
} Takes;
typedef struct Frame {
  Map elements, updates; /* INDEX nodes that are taken; UPDATE nodes that put them back */
} Frame;

/* Or accumulators of other things, whose sums are made in place too. */
static bool is_changeable(World *w, const IrType *t) {
  bool any = ir_holds_arrays(w, t) || t->kind == T_ENV || (t->kind == T_VARIANT && t->nullable);
  for (int k = 0; t->kind == T_TUPLE && k < t->n; k++) any |= is_changeable(w, t->args[k]);
  return any;
}

/* Is x, or a part of it, changed by one of these nodes, among which it is? */
static bool is_changed(Takes *t, Node **nodes, int n, const Node *x) {
  heap_look(t->w->arena->heap);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < nodes[i]->nops; k++) {
      if (nodes[i]->ops[k] != x) continue;
      bool part = (nodes[i]->op == OP_GET || nodes[i]->op == OP_UNINJ) && is_changeable(t->w, nodes[i]->type);
      if (part ? is_changed(t, nodes, n, nodes[i]) : changes_operand(&t->changes, nodes[i], k) != 0) return true;
    }
  return false;
}

/* Does something that depends on nodes[at], an element of `array`, read the array? But for the update `last`. */
static bool is_read_again(World *w, Node **nodes, int n, int at, const Node *array, const Node *last) {
  Map after;
  map_init(&after, w->temp);
  map_put(&after, nodes[at], nodes[at]);
  for (int i = at + 1; i < n; i++) {
    bool depends = false, reads = false;
    for (int k = 0; k < nodes[i]->nops; k++) {
      depends |= map_get(&after, nodes[i]->ops[k]) != NULL;
      reads |= nodes[i]->ops[k] == array;
    }
    if (!depends || nodes[i] == last) continue;
    if (reads) return true;
    map_put(&after, nodes[i], nodes[i]);
  }
  return false;
}

/* Where among the nodes is what update u writes anew? -1: nowhere. */
static int element_of(Node **nodes, int n, const Node *u) {
  for (int i = 0; i < n; i++) {
    const Node *x = nodes[i];
    if (x->op == OP_INDEX && x->nops == u->nops - 1 && !memcmp(x->ops, u->ops, (size_t)x->nops * sizeof *x->ops))
      return i;
  }
  return -1;
}

static void *find_updates(void *user, Graph *g) {
  Takes *t = user;
  World *w = t->w;
  Frame *f = NEW(w->temp, Frame);
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  map_init(&f->elements, w->temp);
  map_init(&f->updates, w->temp);
  for (int i = 0; i < n; i++) {
    Node *u = nodes[i];
    if (u->op != OP_UPDATE || !is_changeable(w, u->ops[u->nops - 1]->type) || ir_rank(u->type) != u->nops - 2) continue;
    int at = element_of(nodes, n, u);
    if (at < 0 || !is_changed(t, nodes, n, nodes[at]) || is_read_again(w, nodes, n, at, u->ops[0], u)) continue;
    map_put(&f->elements, nodes[at], u);
    map_put(&f->updates, u, u);
  }
  return f;
}

static Node *taken(World *w, Node **ops, int n) {
  IrType *pair = ir_pair_type(w, ops[0]->type, ir_base(ops[0]->type));
  return ir_make(w, OP_TAKE, pair, ops, n);
}

static Node *take(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)graphs;
  World *w = ((Takes *)user)->w;
  Frame *f = frame;
  if (n->op == OP_INDEX && map_get(&f->elements, n)) return ir_get(w, taken(w, ops, n->nops), 1);
  if (n->op != OP_UPDATE || !map_get(&f->updates, n)) return NULL;
  Node *rest = ir_get(w, taken(w, ops, n->nops - 1), 0);
  return ir_update(w, rest, ops + 1, n->nops - 2, ops[n->nops - 1]);
}

Graph *opt_nested_updates(World *w, Graph *g) {
  Takes t = {.w = w};
  changes_init(&t.changes, w->temp);
  return ir_rewrite(w, g, (RewritePass){.user = &t, .begin = find_updates, .node = take});
}
