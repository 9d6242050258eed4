/* SPDX-License-Identifier: MIT */
/* From graphs to lowered code. */
#ifndef ATLED_LOWER_H
#define ATLED_LOWER_H
#include "lir/lir.h"

typedef struct LowerEntry {
  Graph *graph;
  Sym name;
  LFunc *func; /* out */
} LowerEntry;
/* Lowers the entries (closed graphs: no parameters, or a token; or with parameters when a host calls them) and
 * everything reachable into one module, in the arena. Descriptors of types are kept in the types, over modules. */
LModule *lower_module(World *w, Arena *arena, LowerEntry *entries, int n);
const Desc *lower_desc(World *w, IrType *t); /* cached in the type */
#endif
