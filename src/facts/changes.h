/* SPDX-License-Identifier: MIT */
/* Which operands a node may change in place, if nothing else refers to them.
 *
 * Of single operations ops.def says it (the flag W); calls may change all arguments, loops their state; what a branch
 * changes is found in its arms, through other names and parts of what they get. The answers for graphs are remembered
 * in a table that is made for one pass, or for one module that is lowered. */
#ifndef ATLED_CHANGES_H
#define ATLED_CHANGES_H
#include "ir/ir.h"

typedef struct Changes {
  Arena *arena;
  Map params; /* Graph -> for each parameter bits of Change */
} Changes;
/* What is changed: arrays among the operand's own slots; or what a part of it refers to, as the array in a variant. */
enum { CHANGES_ITSELF = 1, CHANGES_PART = 2 };

void changes_init(Changes *c, Arena *arena);
/* Of operand k of node u, of any type: bits of Change. */
unsigned changes_operand(Changes *c, const Node *u, int k);
/* What nodes of g change of its parameter k. */
unsigned changes_param(Changes *c, Graph *g, int k);

/* x is its operand 0 under another name or type. */
static inline bool fact_renames(const Node *x) { return x->op == OP_AFTER || x->op == OP_STOP || x->op == OP_TO_BAG; }
/* x is a part of what its operand 0 holds. */
static inline bool fact_is_part(const Node *x) { return x->op == OP_UNINJ || x->op == OP_GET; }
#endif
