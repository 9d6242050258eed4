/* SPDX-License-Identifier: MIT */
/* The world's tables and memos of graphs, for src/ir and src/graph. */
#ifndef ATLED_WORLD_H
#define ATLED_WORLD_H
#include "ir/compilation.h"

typedef struct Table { /* open addressing over pointers */
  void **slots;
  uint32_t *hashes; /* of what stands in the slots, with the highest bit set; 0: free */
  size_t cap, count;
  uint32_t made; /* the arena's epoch when the slots were allocated */
} Table;

typedef struct Tables {
  Table nodes, graphs, types;
  Map sites;          /* (at, function, parent) chains by hash */
  Map identified;     /* graph id and identity to the copy of the graph with that identity */
  Map graph_funcs;    /* Graph -> Func that names it */
  Map memos;          /* anything -> list of what passes remember about it */
  Vec(Pool *) makers; /* by number of a global: of the entry that made it, or NULL */
  IrType *plain[T_TUPLE];
  uint32_t pool_walk; /* number of the latest walk through pools. Last: it only grows, see world_save */
} Tables;
static inline Tables *tables(World *w) { return w->tables; }

/* A graph's nodes in dependency order, with operand positions: what instantiation walks. */
typedef struct GraphBody {
  int n;
  Node **nodes;
  int *operands; /* positions, flattened in node order; the last node is the result */
} GraphBody;
GraphBody *graph_body(World *w, Graph *g);
/* g with this identity, or, if that is 0, as it is. */
Graph *ir_identified(World *w, Graph *g, uint64_t identity);
void ir_identify(World *w, Graph *g);                                 /* gives g an identity, if it has none */
static inline bool ir_is_same_graph(const Graph *a, const Graph *b) { /* or a copy */
  return a == b || (a->identity && a->identity == b->identity);
}

/* ir_instantiate, with some nodes of g replaced by given ones. */
Node *ir_instantiate_over(World *w, Graph *g, Node **args, Site site, const Map *over);
/* g with some of its own nodes replaced. */
Graph *ir_graph_over(World *w, Graph *g, const Map *over);
bool ir_is_known_function(const Node *n);
#endif
