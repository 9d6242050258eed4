/* SPDX-License-Identifier: MIT */
/* Derivatives as rewrites of graphs. See docs/architecture/differentiation.md for the method. */
#ifndef ATLED_AD_H
#define ATLED_AD_H
#include "ir/ir.h"

/* g without VJP, JVP, CHECKPOINT and STOP, in nested graphs and called functions too. Innermost derivatives first.
 * rules: for each scalar Op that has a derivative rule in the library, a Func of its operands whose pullback is set. */
Graph *ad_expand(World *w, Graph *g, Func *const *rules);
#endif
