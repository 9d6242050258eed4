/* SPDX-License-Identifier: MIT */
/* Loops and functions made from others: the same but for some operands, nodes of the body, results or parameters. */
#ifndef ATLED_EDIT_H
#define ATLED_EDIT_H
#include "ir/world.h"

/* A copy of a loop that is edited while it is made. The steps, each of which makes those before it where the caller has
 * not:
 *
 *   edit_inputs   takes `ops` as the inputs, in their order, but for those with a value in args[1 + k], which is what
 *                 stands for the parameter of input k, that is dropped. Fills `in` and the rest of `args`. The caller
 *                 may have changed `ops`, to values of other types, too, and may change `args` afterwards.
 *   edit_body     makes the body over `args`, with the nodes in `over` replaced: fills `next`.
 *   edit_yield    hands on `next`, which the caller may have changed.
 *   edit_close    makes the loop: fills `results`.
 *   edit_value    returns `results`, which the caller may have changed, as a tuple of the old loop's type. Those who
 *                 read the old loop read this.
 *
 * Further operands and stacked results are the builder's, loop_add and loop_stack: they follow the old loop's if they
 * come after edit_inputs, and after edit_yield. */
typedef struct LoopEdit {
  World *w;
  const Node *loop; /* the old one */
  const LoopInfo *l;
  LoopBuilder *b;
  bool own;            /* the builder makes this loop alone */
  Node *count, **ops;  /* trip count (NULL: it has a condition), inputs */
  Graph *body, *cond;  /* over the old loop's parameters */
  Node **in;           /* input -> its parameter in the new body; NULL: dropped */
  Node **args;         /* parameter of the old body, or condition -> what stands for it */
  Map over, over_cond; /* node of the old body, of the old condition -> what replaces it */
  Node **next;         /* result of the old body -> the new one's; a stacked result is dropped by NULL */
  Node **results;      /* result of the old loop, trip count included -> what stands for it: zero for dropped ones */
  int *number;         /* of each stacked result among the new loop's: -1 if it is dropped */
  enum { EDIT_OPEN, EDIT_TAKEN, EDIT_MADE, EDIT_YIELDED, EDIT_CLOSED } done;
} LoopEdit;

/* ops, graphs: the loop's own, or what became of them. */
LoopEdit *edit_loop(World *w, const Node *loop, Node **ops, Graph **graphs);
/* A copy that becomes part of the loop which the caller makes with b. The caller closes that one after the edit_yield
 * of all its parts; edit_close then fills `results`. */
LoopEdit *edit_loop_into(World *w, LoopBuilder *b, const Node *loop, Node **ops, Graph **graphs);
void edit_input(LoopEdit *e, int k); /* takes input k alone, before the others */
void edit_inputs(LoopEdit *e);
/* Captures x, of the graph around the loop, to replace node `old` of graph g, 0 the body or 1 the condition, by it. */
void edit_capture(LoopEdit *e, int g, const Node *old, Node *x);
/* results: of the body, over the old parameters (NULL: those that it has; NULL in it: not made, `next` is NULL). extra:
 * n more nodes of the body, which become what they are in the new one. */
void edit_body(LoopEdit *e, Node **results, Node **extra, int n);
void edit_yield(LoopEdit *e);
void edit_close(LoopEdit *e);
Node *edit_value(LoopEdit *e);

/* What the body of a loop returns at index i. inputs: values of the slots before it, arrays, captures. */
Node *edit_iteration(World *w, const LoopInfo *l, Graph *body, Node **inputs, Node *i);

/* n with x as operand k. */
Node *edit_operand(World *w, const Node *n, int k, Node *x);

/* A copy of a function with other parameters. */
typedef struct FuncEdit {
  World *w;
  const Func *f;
  Vec(IrType *) types; /* of the new parameters */
  Node **args;         /* parameter of f -> what stands for it: filled in by the caller */
} FuncEdit;

FuncEdit edit_func(World *w, const Func *f);
Node *edit_param(FuncEdit *e, IrType *t);  /* one more parameter of the copy */
Node *edit_func_result(const FuncEdit *e); /* what f returns for `args` */
Func *edit_func_close(FuncEdit *e, Node *result);
#endif
