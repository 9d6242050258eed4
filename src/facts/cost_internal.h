/* SPDX-License-Identifier: MIT */
/* What the files of cost.h share. Those that evaluate call each other: a graph has nodes, a node may have graphs. */
#ifndef ATLED_COST_INTERNAL_H
#define ATLED_COST_INTERNAL_H
#include "facts/cost.h"

/* ---- cost.c ---- */
/* What the graph makes of its arguments; its cost is added to s->cost. */
CostValue *cost_graph(CostStudy *s, Graph *g, CostValue **args);

/* ---- cost_lines.c: a graph's nodes, in the order of ir_order ---- */
typedef struct Body {
  Node **nodes;
  int n;
  int *operands; /* positions of the operands of all nodes, one after the other */
  int *lines;    /* 0: that of what is around the graph */
  int *same; /* an earlier node that is equal but for its place: such are one in a program without places; or itself */
  bool *needed; /* by more than the message of an error */
} Body;
Body *cost_body_of(CostStudy *s, const Graph *g);

/* ---- cost_sums.c ---- */
void cost_note(CostStudy *s, const char *text); /* says what isn't counted, at the line under way; once */
void cost_add_to(const CostStudy *s, Cost *to, int line, const Poly *ops, const Poly *bytes);
void cost_add_ops(CostStudy *s, double ops); /* at the line under way */
/* The same, `times` times; NULL: a number that isn't known, which is noted. */
void cost_add_many(CostStudy *s, double ops, double bytes, const Poly *times);
void cost_add(const CostStudy *s, Cost *to, const Cost *c);
/* Adds the sum of c for all values of the symbol below n. */
void cost_add_sum(const CostStudy *s, Cost *to, const Cost *c, int symbol, const Poly *n);
/* *c becomes the greater of both, line by line. True where they differ. */
bool cost_bound(const CostStudy *s, Cost *c, Cost *other);

/* ---- cost_join.c ---- */
/* What is known of both; *changed where that is less than what is known of a. */
CostValue *cost_join(CostStudy *s, CostValue *a, CostValue *b, bool *changed);
/* v where the symbol is out of scope: what depends on it isn't known. */
CostValue *cost_without(CostStudy *s, CostValue *v, int symbol);

/* ---- cost_arrays.c ---- */
int cost_slots(const IrType *t);
const Poly *cost_count_of(const CostStudy *s, const CostValue *v); /* base elements; NULL: not known */
/* An array that a node makes, with so many operations for each slot: its bytes are counted here. */
CostValue *cost_made(CostStudy *s, CostValue *v, double ops);
CostValue *cost_unknown_array(const CostStudy *s, const IrType *t);
int64_t cost_exact(const Poly *p); /* a size that is a number; else -1 */
/* v[is]: an element or a part of it. */
CostValue *cost_element(CostStudy *s, const IrType *t, CostValue *v, CostValue **is, int n);
/* An array of n elements xs, or of unknown ones if that is NULL; `any` is what is known of any of them. */
CostValue *cost_array_of(CostStudy *s, const IrType *t, const Poly *length, CostValue **xs, int n, CostValue *any);
CostValue *cost_zero(CostStudy *s, const IrType *t);
/* Nodes of the operations that they are called after, with their operands. */
CostValue *cost_constant_array(CostStudy *s, const Node *n, CostValue **ops);
CostValue *cost_slice(CostStudy *s, const Node *n, CostValue **ops);
CostValue *cost_update(CostStudy *s, const Node *n, CostValue **ops);
CostValue *cost_zeros(CostStudy *s, const Node *n, CostValue **ops);
CostValue *cost_fill(CostStudy *s, const Node *n, CostValue **ops);
CostValue *cost_fill_like(CostStudy *s, const Node *n, CostValue **ops);
CostValue *cost_reshape(CostStudy *s, const Node *n, CostValue **ops);
CostValue *cost_length(CostStudy *s, const Node *n, const CostValue *v);

/* ---- cost_branches.c, cost_loops.c, cost_calls.c, cost_primitives.c: nodes with graphs or calls ---- */
CostValue *cost_switch(CostStudy *s, const Node *n, CostValue **ops);
CostValue *cost_loop(CostStudy *s, const Node *n, CostValue **given);
CostValue *cost_call(CostStudy *s, const Node *n, CostValue **ops);
CostValue *cost_rt(CostStudy *s, const Node *n, CostValue **ops);
/* A comparison: of what order is, or whether both are `equal`. */
CostValue *cost_compare(CostStudy *s, const Node *n, CostValue **ops, bool equal);
/* Closure f, applied to its own parameters; result: of what type that is. */
CostValue *cost_apply_closure(CostStudy *s, const IrType *result, const CostValue *f, CostValue **own, int nown);
CostValue *cost_typed_unknown(CostStudy *s, const IrType *t); /* of that type, and nothing else is known */
#endif
