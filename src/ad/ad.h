/* SPDX-License-Identifier: MIT */
/* Derivatives as rewrites of graphs. See docs/architecture.md for the method. */
#ifndef ATLED_AD_H
#define ATLED_AD_H
#include "ir/ir.h"

/* The type of cotangents (and tangents) of values of type t; T_UNIT where t holds no float. Idempotent. */
IrType *ad_cotangent(World *w, IrType *t);
/* g without VJP, JVP, CHECKPOINT and STOP, in nested graphs and called functions too. Innermost derivatives first. */
Graph *ad_expand(World *w, Graph *g);
/* Makes the closures in graphs that g reaches known: functions unknown where they are called are looked for among them.
 * To be called for every entry, in its optimised form. */
void ad_register_closures(World *w, Graph *g);
#endif
