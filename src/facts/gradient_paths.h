/* SPDX-License-Identifier: MIT */
/* On which paths an input reaches the result of a function, and where these are cut off from its derivative. */
#ifndef ATLED_GRADIENT_PATHS_H
#define ATLED_GRADIENT_PATHS_H
#include "ir/ir.h"

/* Where a value loses its derivative. */
typedef struct Cut {
  Sym what; /* "int", "floor", "<", "stop_gradient", …; the name of a function without a derivative */
  Site at;
  bool missing; /* that function has no rule: its derivative is an error */
} Cut;
typedef struct GradientPaths {
  bool live;     /* a path to the result isn't cut */
  Vec(Cut) cuts; /* on paths that reach it */
  bool complete; /* all of the function was looked at: no part is too large, or only known when it runs */
} GradientPaths;

/* The paths from float leaf number `leaf` of parameter 0 of closure f to its result; leaves are counted through tuples.
 * The graphs are made with World.traps = TRAP_CUTS. */
GradientPaths facts_gradient_paths(World *w, const Node *f, int leaf);
int facts_gradient_leaves(World *w, const IrType *t); /* how many leaves a parameter of the type has */
#endif
