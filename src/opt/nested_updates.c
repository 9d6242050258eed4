/* SPDX-License-Identifier: MIT */
/* Destructive update of arrays that are fields of an array's elements. TAKE moves an element out of its array and
 * leaves null there. Then the element is the only owner of the arrays in it, and an update of them needs no copy. The
 * following UPDATE moves the new element back.
 *
 *   update a i {p = update (index a i).p j x, …}   →   (b, e) = take a i;  update b i {p = update e.p j x, …}
 *
 * If a or the array in the element has another owner, it is copied as without TAKE. No node may read b between TAKE and
 * UPDATE. So nodes that depend on the element may read a only through the element. The pass runs last, because a node
 * that other passes move or duplicate must not have an effect on its operand, as TAKE has. */
#include "facts/changes.h"
#include "opt/opt.h"
#include <string.h>

typedef struct Frame {
  Map elements, updates; /* INDEX nodes that are taken; UPDATE nodes that put them back */
} Frame;

/* Does something that depends on x, an element of `array`, read the array? But for the update `last`. */
static bool is_read_again(Uses *uses, const Node *x, const Node *array, const Node *last) {
  const bool *after = uses_dependents(uses, x, last);
  FOR_USES (use, uses, array)
    if (after[use->at] && use->user != last && use->user != x) return true;
  return false;
}

/* What update u writes anew; NULL: nothing that is read. */
static Node *element_of(Uses *uses, const Node *u) {
  FOR_USES (use, uses, u->ops[0]) {
    const Node *x = use->user;
    if (x->op == OP_INDEX && x->nops == u->nops - 1 && !memcmp(x->ops, u->ops, (size_t)x->nops * sizeof *x->ops))
      return use->user;
  }
  return NULL;
}

static void *find_updates(void *user, Graph *g) {
  World *w = user;
  Frame *f = NEW(w->temp, Frame);
  Uses *uses = graph_uses(w, g);
  map_init(&f->elements, w->temp);
  map_init(&f->updates, w->temp);
  for (int i = 0; i < uses->n; i++) {
    Node *u = uses->nodes[i];
    if (u->op != OP_UPDATE || !changes_type(w, u->ops[u->nops - 1]->type) || ir_rank(u->type) != u->nops - 2) continue;
    Node *x = element_of(uses, u);
    if (!x || !changes_node(w, uses, x) || is_read_again(uses, x, u->ops[0], u)) continue;
    map_put(&f->elements, x, u);
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
  World *w = user;
  Frame *f = frame;
  if (n->op == OP_INDEX && map_get(&f->elements, n)) return ir_get(w, taken(w, ops, n->nops), 1);
  if (n->op != OP_UPDATE || !map_get(&f->updates, n)) return NULL;
  Node *rest = ir_get(w, taken(w, ops, n->nops - 1), 0);
  return ir_update(w, rest, ops + 1, n->nops - 2, ops[n->nops - 1]);
}

Graph *opt_nested_updates(World *w, Graph *g) {
  return ir_rewrite(w, g, (RewritePass){.user = w, .begin = find_updates, .node = take});
}
