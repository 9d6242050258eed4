/* SPDX-License-Identifier: MIT */
/* `attempt` as a node: a primitive of the runtime that gets a closure without parameters. The function keeps a graph
 * of its own, into which no pass looks from outside. So nothing of it is moved out, merged with other work, or
 * dropped because its value is unused. */
#include "graph/graph.h"
#include "ir/world.h"
#include <string.h>

bool ir_is_attempt(const Node *n) {
  return n->op == OP_RT && (!strcmp(n->attr.rt->name, "attempt") || !strcmp(n->attr.rt->name, "attempt_effect"));
}

IrType *ir_attempt_type(World *w, const IrType *like, IrType *value) {
  IrType *t = ir_variant_type(w, like->name, like->key, (IrType *[]){value, like->args[1]}, 2);
  if (t->ctors) return t;
  t->nctors = like->nctors;
  t->ctors = NEW_ARRAY(w->arena, IrCtor, t->nctors);
  for (int k = 0; k < t->nctors; k++) t->ctors[k] = like->ctors[k];
  t->ctors[ATTEMPT_OK].payload = value;
  return t;
}

Node *ir_attempt(World *w, Node *f, IrType *result, Node *token, Site site) {
  Node *unit = ir_unit(w), *args[2] = {f, token};
  if (f->op != OP_CLOSURE) {
    Target t = ir_target(w, f, unit, token, site);
    args[0] = ir_closure(w, t.g, f->type, t.args + (token ? 2 : 1), t.g->nparams - (token ? 2 : 1));
  }
  const RtPrim *p = ir_rt_find(token ? "attempt_effect" : "attempt");
  return ir_rt(w, p, result, result, args, token ? 2 : 1, site);
}
