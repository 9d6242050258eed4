/* SPDX-License-Identifier: MIT */
/* Rematerialisation of captures: a loop that captures a number computes it from its other captures, where that takes a
 * few operations on ints.
 *
 *   k = max n 0; loop … (captures n, k)   →   loop … (captures n; k = max n 0 inside)
 *
 * Inside the loop both are parameters otherwise, and nothing there tells how k and n are related: a trip count k and a
 * length max n 0 are one number only afterwards. The C compiler moves such arithmetic out of the loop again. */
#include "opt/opt.h"
#include "ir/world.h"

typedef struct Captures {
  World *w;
  bool changed;
} Captures;

static bool is_cheap(const Node *x) {
  return x->op == OP_IADD || x->op == OP_ISUB || x->op == OP_ISUBS || x->op == OP_IMUL || x->op == OP_IMAX ||
         x->op == OP_IMIN;
}

static bool is_capture(const LoopEdit *e, const Node *x) {
  for (int k = loop_captures(e->l); k < loop_inputs(e->l); k++)
    if (e->ops[k] == x) return true;
  return false;
}

/* Is x, of the graph around the loop, made of constants and captures by a few operations? */
static bool is_made_of_captures(const LoopEdit *e, const Node *x, int depth) {
  if (x->op == OP_INT || (depth && is_capture(e, x))) return true;
  if (!is_cheap(x)) return false;
  if (depth >= LIMIT_REMATERIALISED) return !limit_reached(e->w->arena, AT_REMATERIALISED);
  return is_made_of_captures(e, x->ops[0], depth + 1) && is_made_of_captures(e, x->ops[1], depth + 1);
}

/* x in terms of the new body's parameters. */
static Node *inside(const LoopEdit *e, Node *x) {
  for (int k = loop_captures(e->l); k < loop_inputs(e->l); k++)
    if (e->ops[k] == x && e->in[k]) return e->in[k];
  return x->op == OP_INT ? x : ir_op2(e->w, (Op)x->op, inside(e, x->ops[0]), inside(e, x->ops[1]));
}

static Node *without_made(Captures *c, Node *n, Node **ops, Graph **graphs) {
  LoopEdit *e = edit_loop(c->w, n, ops, graphs);
  int inputs = loop_inputs(e->l), first = loop_captures(e->l), made = 0;
  bool *is_made = NEW_ARRAY(c->w->temp, bool, inputs + 1);
  for (int k = first; k < inputs; k++) made += is_made[k] = is_made_of_captures(e, e->ops[k], 0);
  if (!made) return NULL;
  for (int k = 0; k < inputs; k++)
    if (!is_made[k]) edit_input(e, k);
  for (int k = first; k < inputs; k++)
    if (is_made[k]) e->args[1 + k] = inside(e, e->ops[k]);
  c->changed = true;
  return edit_value(e);
}

static Node *rematerialise(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)frame;
  return n->op == OP_LOOP ? without_made(user, n, ops, graphs) : NULL;
}

Graph *opt_rematerialise(World *w, Graph *g, int round, bool *changed) {
  (void)round;
  Captures c = {w, false};
  g = ir_rewrite(w, g, (RewritePass){.user = &c, .node = rematerialise});
  *changed = c.changed;
  return g;
}
