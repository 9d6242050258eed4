/* SPDX-License-Identifier: MIT */
/* Readings of the clock (primitives of kind C, rt.def): what is bound before one in a function is done by then, and
 * what stands behind it has not begun.
 *
 * To the IR most of this is out of sight: pure work has no order, equal work is one node, and what nobody needs is
 * dropped. So each value bound before a reading goes to `opaque`, an effect that needs all of it, and the
 * rest of the block is an arm of a branch on what `opaque` gives for true. Graphs are closed and nothing leaves an arm:
 * no work in it can begin before the branch is decided, nor be one with equal work in front of it. The other arm never
 * runs; it is an effect, for a branch to a mere failure would become a check. */
#include "elab/elab_internal.h"

/* An effect of one argument. */
static Node *effect(Ctx *c, const char *name, Node *x, IrType *t, Span at) {
  const RtPrim *rt = ir_rt_find(name);
  Node *args[2] = {x, el_token(c)};
  return el_take(c, ir_rt(c->w, rt, t, rt->typed ? x->type : NULL, args, 2, el_site(c, at)));
}

static Node *opaque(Ctx *c, Node *x, Span at) { return effect(c, "opaque", x, x->type, at); }

static bool is_work(const Node *x) {
  switch (x->type->kind) {
  case T_UNIT:
  case T_TOKEN:
  case T_FUN: return false;
  default: return x->nops && x->op != OP_PARAM;
  }
}

static void finish(Ctx *c, Node *x, Span at) {
  if (x->type->kind != T_TUPLE) {
    if (is_work(x)) opaque(c, x, at);
    return;
  }
  for (int i = 0; i < x->type->n; i++) finish(c, ir_get(c->w, x, i), at);
}

void el_finish_bound(Ctx *c, Span at) {
  for (int i = 0; i < c->bound.len; i++) finish(c, el_read(c, &c->bound.data[i]), at);
  for (int i = c->outer_muts; i < c->muts.len; i++) finish(c, el_read(c, c->muts.data[i]), at);
  c->bound.len = 0;
}

Node *el_behind_clock(Ctx *c, Expr *rest, Node *(*elaborate)(Ctx *, Expr *)) {
  IrType *t = el_type(c, rest->type);
  Node *go = opaque(c, ir_bool(c->w, true), rest->span);
  Join j;
  join_open(c, &j, 2);
  join_arm(c, &j, 0);
  join_end(c, &j, effect(c, "exit", ir_int(c->w, 0), t, rest->span));
  join_arm(c, &j, 1);
  join_end(c, &j, elaborate(c, rest));
  return join_close(c, &j, go, t, NULL, 0);
}
