/* SPDX-License-Identifier: MIT */
/* Rewrite rules of the program and of the library (ir/rule_matches.c), applied to a graph and to all that it reaches.
 *
 *   transpose (transpose m)   →   m          by   rule twice m : transpose (transpose m) = m
 *
 * All nodes are made anew, so that inlining brings the calls together that a rule's left side consists of, and rules
 * are tried on each call whose operands are in normal form. What a rule makes is tried again. Calls that stay are
 * written out by the simplification after it, but for those of functions with a derivative rule: these stay until
 * derivatives have been taken, and rules are tried once more then. A graph that reaches no call that a rule may match
 * isn't made anew. */
#include "ir/compilation.h"
#include "opt/opt.h"

static bool is_ruled_call(const Node *x) { return x->op == OP_CALL && x->attr.func->ruled; }

static Graph *simplify(World *w, Graph *g, void *user) {
  (void)user;
  return opt_simplify(w, g);
}

Graph *opt_rules(World *w, Graph *g) {
  if (!w->ruled || !w->compilation->nrules || !ir_reaches(w, g, is_ruled_call)) return g;
  return ir_with_rules(w, g, simplify, NULL);
}
