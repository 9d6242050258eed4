/* SPDX-License-Identifier: MIT */
/* What the world keeps of graphs, for src/ir and src/graph: tables, memos, and the state of what is under way. */
#ifndef ATLED_WORLD_H
#define ATLED_WORLD_H
#include "ir/ir.h"

typedef struct Pool Pool; /* graph/dispatch.c */
typedef struct Table {    /* open addressing over pointers, keyed by a hash the entries know */
  void **slots;
  size_t cap, count;
  uint32_t made; /* the arena's epoch when the slots were allocated */
} Table;

/* Inlining within inlining: see call.c. */
typedef struct Inlining {
  int depth;
  int left;      /* how many more the outermost one may hold */
  bool given_up; /* it met the limit: it ends as fast as it can */
} Inlining;

typedef struct Tables {
  Table nodes, graphs, types;
  Map sites;          /* (at, function, parent) chains by hash */
  Map resited;        /* graph id and site to the graph whose places are inlined at the site */
  Map identified;     /* graph id and identity to the copy of the graph with that identity */
  Map unrolled;       /* (CALL node, its place) -> what it unrolled to, or itself */
  Map unroll_counts;  /* definition -> steps of unrolling so far, of all calls in it */
  Map unrolling;      /* CALL nodes of the recursion that is being followed -> the same; temporary */
  Map endless;        /* CALL nodes that stay because inlining them meets the limit */
  Map graph_funcs;    /* Graph -> Func that names it */
  Map memos;          /* anything -> list of what passes remember about it */
  Pool *pool;         /* what function values of the entry that is compiled may be */
  Vec(Pool *) makers; /* by number of a global: of the entry that made it, or NULL */
  int version;        /* of what an unknown function may be and which of that can be called: grows */
  Rewriter *rewriter; /* the run under way */
  IrType *plain[T_TUPLE];
  Vec(Node *) stack, order; /* of the walk under way */
  Vec(Node *) scratch;      /* values of the instantiations under way */
  int unroll_depth, special_depth, unroll_steps;
  bool unroll_failed; /* what is being followed goes too far */
  Inlining inlining;
  Site unroll_site;   /* where the call stands whose recursion is being followed */
  uint32_t pool_walk; /* number of the latest walk through pools. Last: it only grows, see world_begin */
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

/* ir_instantiate, with some nodes of g replaced by given ones. */
Node *ir_instantiate_over(World *w, Graph *g, Node **args, Site site, const Map *over);
bool ir_is_known_function(const Node *n);
#endif
