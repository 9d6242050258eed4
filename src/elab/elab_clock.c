/* SPDX-License-Identifier: MIT */
/* Readings of the clock (primitives of kind C, rt.def): what a function binds before a reading is computed before
 * it, and what follows the reading begins after it.
 *
 * The IR doesn't order pure work: equal work is one node, and unused work is dropped. So each value bound before a
 * reading becomes an operand of `opaque`, an effect that needs all of it. The rest of the block is an arm of a
 * branch on the result of `opaque`, which is true. Graphs are closed and nothing leaves an arm, so no work in the
 * arm can begin before the branch is decided, or be merged with equal work before it. The other arm never runs. It
 * has an effect, since a branch to a mere failure would become a check. */
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
