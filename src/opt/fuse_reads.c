/* SPDX-License-Identifier: MIT */
/* Loop fusion where the consumer doesn't read the whole array, or doesn't begin where it begins: in one place, in its
 * body or an arm of a branch there, at its own index plus or minus what is the same in all iterations, or at such a
 * number minus the index. Its lengths may be asked for besides.
 *
 *   loop n: if i < k then (map f a)[i] else (map g b)[i - k]   →   loop n: if i < k then f a[i] else g b[i - k]
 *   loop n: (map f a)[length (map f a) - 1 - i]                →   loop n: f a[n - 1 - i]
 *
 * No two iterations read one element, so none is computed twice. The producer can't fail: perhaps not all of its
 * elements are read. */
#include "opt/fuse.h"
#include "facts/ir_loop_facts.h"

/* Where the array is read: the node of the body, and if that is a branch the one of its arm. */
typedef struct Read {
  Node *at, *index; /* of the body: an INDEX, or a SWITCH; the INDEX */
  int arm;          /* which has it; -1: none */
  bool lengths;     /* are lengths of the array asked for in the body? */
} Read;

/* The one arm of branch s that reads capture c, in one place. */
static bool find_in_arms(World *w, Node *s, int c, Read *r) {
  *r = (Read){s, NULL, -1, r->lengths};
  for (int a = 0; a < s->ngraphs; a++) {
    Uses *uses = graph_uses(w, s->graphs[a]);
    const Node *x = ir_param(w, c, s->graphs[a]->params[c]);
    const NodeUse *use = uses_only(uses, x);
    if (uses_count(uses, x) == 0) continue;
    if (r->index || !use || !fuse_is_element(use)) return false;
    r->index = use->user;
    r->arm = a;
  }
  return r->index != NULL;
}

static bool find_read(const Fusion *f, int p, Read *r) {
  const NodeUse *read = NULL;
  *r = (Read){.arm = -1};
  FOR_USES (use, graph_uses(f->w, f->body), ir_param(f->w, p, f->body->params[p])) {
    bool length = use->user->op == OP_LEN;
    r->lengths |= length;
    if (length) continue;
    if (read) return false;
    read = use;
  }
  if (!read) return false;
  if (read->user->op == OP_SWITCH && read->operand > 0) return find_in_arms(f->w, read->user, read->operand - 1, r);
  r->at = r->index = read->user;
  return fuse_is_element(read);
}

/* Does the place that is read move by 1 or -1 with the index? Then it differs from iteration to iteration. */
static bool is_shifted(const Fusion *f, const Read *r) {
  LoopFacts facts = loop_facts(f->w, f->l, f->ops, f->body, false);
  if (r->arm >= 0) {
    IndexForm *params = NEW_ARRAY(f->w->temp, IndexForm, r->at->nops);
    for (int k = 1; k < r->at->nops; k++) params[k - 1] = *loop_index_form(&facts, r->at->ops[k]);
    facts = loop_facts_inside(f->w, r->at->graphs[r->arm], params, false);
  }
  const IndexForm *place = loop_index_form(&facts, r->index->ops[1]);
  return place->affine && (place->step == 1 || place->step == -1);
}

/* Branch r->at over what `args` says of the body's parameters, with the element in the place of the read. */
static Node *new_branch(const Fusion *f, const Read *r, Node **args, Node **own) {
  World *w = f->w;
  Node *s = r->at;
  int n = loop_inputs(f->producer->loop);
  BranchBuilder *b = branch_open(w, ir_substitute(w, s->ops[0], args, f->body->nparams, 0));
  Node **caps = NEW_ARRAY(w->temp, Node *, s->nops), **more = NEW_ARRAY(w->temp, Node *, n + 1);
  for (int k = 1; k < s->nops; k++) caps[k - 1] = branch_add(b, ir_substitute(w, s->ops[k], args, f->body->nparams, 0));
  for (int k = 0; k < n; k++) more[k] = branch_add(b, own[k]);
  for (int a = 0; a < s->ngraphs; a++) {
    Map over;
    map_init(&over, w->temp);
    Node *i = ir_substitute(w, r->index->ops[1], caps, s->nops - 1, 0);
    if (a == r->arm) map_put(&over, r->index, fuse_element(w, f->producer, 0, more, i));
    branch_arm(b, ir_instantiate_over(w, s->graphs[a], caps, 0, &over), s->graphs[a]->name);
  }
  return branch_close(b);
}

/* What has the lengths of the array, and else is never read: zeros. */
static Node *with_lengths(LoopEdit *e, Node *array) {
  int rank = ir_rank(array->type);
  Node **dims = NEW_ARRAY(e->w->temp, Node *, rank);
  for (int d = 0; d < rank; d++) dims[d] = loop_add(e->b, LOOP_CAPTURED, ir_len(e->w, array, d));
  return ir_zeros(e->w, array->type, dims, 0);
}

Node *fuse_read(const Fusion *f, int k) {
  World *w = f->w;
  Read r;
  if (!find_read(f, 1 + k, &r) || !is_shifted(f, &r)) return NULL;
  Node **own = NEW_ARRAY(w->temp, Node *, f->producer->nops), *x;
  LoopEdit *e = edit_loop(w, f->loop, f->loop->ops, f->loop->graphs);
  e->args[1 + k] = ir_zero(w, f->body->params[1 + k]);
  edit_inputs(e);
  if (r.lengths) e->args[1 + k] = with_lengths(e, f->ops[k]);
  for (int j = 0; j < loop_inputs(f->producer->loop); j++)
    own[j] = loop_add(e->b, LOOP_CAPTURED, f->producer->ops[1 + j]);
  if (r.arm >= 0) x = new_branch(f, &r, e->args, own);
  else x = fuse_element(w, f->producer, 0, own, ir_substitute(w, r.index->ops[1], e->args, f->body->nparams, 0));
  map_put(&e->over, r.at, x);
  e->count = fuse_count(f);
  return edit_value(e);
}
