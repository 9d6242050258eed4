/* SPDX-License-Identifier: MIT */
/* Effects of nodes on their operands: which arrays a node may change in place if nothing else refers to them, and which
 * its value refers to.
 *
 * Of single operations ops.def says it (the flags W, N, P, D, H); calls may change all arguments, loops their state.
 * What a branch does with an operand is found in its arms, and what a loop does with one that it only reads, in its
 * body: a parameter is followed there through names, parts, and what it is put into. An array that is changed through
 * a view, or that a loop captures, is always copied, since something else refers to it. The same holds for an operand
 * that a loop carries and also reads as it was. What is found of a graph's parameters is kept until the compilation
 * ends. */
#ifndef ATLED_CHANGES_H
#define ATLED_CHANGES_H
#include "facts/uses.h"

/* What is changed: arrays among the operand's own slots; what a part of it refers to, as the array in a variant; either
 * of these by a function that gets it, perhaps. HOLDS: the node's value refers to what the operand holds. */
enum { CHANGES_ITSELF = 1, CHANGES_PART = 2, CHANGES_CALLED = 4, CHANGES = 7, HOLDS = 8 };

/* May something that a value of the type refers to be changed in place: an array, or an accumulator? */
bool changes_type(World *w, const IrType *t);
/* The effects on operand k of node u, of any type. */
unsigned changes_operand(World *w, const Node *u, int k);
/* Does the loop read its operand k, if it carries that, also as it was before? Then it changes a copy. */
bool changes_copies(const Node *loop, int k);
/* What nodes of g change of its parameter k, or of what is made of it. */
unsigned changes_param(World *w, Graph *g, int k);
/* What nodes of a graph with these uses change of x, or of what is made of it. */
unsigned changes_node(World *w, Uses *uses, Node *x);
/* Does component `slot` of g's result, a tuple, refer to what parameter k holds? */
bool changes_param_held(World *w, Graph *g, int k, int slot);

/* x is its operand 0 under another name or type. */
static inline bool fact_renames(const Node *x) { return op_flags[x->op] & OPF_N; }
/* x is a part of what its operand 0 holds. */
static inline bool fact_is_part(const Node *x) { return op_flags[x->op] & OPF_P; }
/* x is an array that shares its elements with its operand 0. */
static inline bool fact_is_view(const Node *x) { return op_flags[x->op] & OPF_D && x->type->kind == T_ARRAY; }
/* What x is another name of. */
static inline const Node *fact_named(const Node *x) {
  while (fact_renames(x)) x = x->ops[0];
  return x;
}
/* The array that x is another name or a view of. */
static inline const Node *fact_root(const Node *x) {
  while (fact_is_view(x) || fact_renames(x)) x = x->ops[0];
  return x;
}
#endif
