/* SPDX-License-Identifier: MIT */
/* The places in the source of effects and of what may fail: they order an error among the effects of a graph where no
 * operand does. */
#ifndef ATLED_EFFECT_PLACES_H
#define ATLED_EFFECT_PLACES_H
#include "ir/ir.h"

/* May x, which has no effect, fail or not end? What can't has one place for all its equals in the program, which says
 * nothing of order. */
bool fact_may_delay_effects(World *w, const Node *x);
/* The place of x; of a branch without one, and of a loop without effects, a place in it: what fails in a loop may come
 * from another loop that was fused into it. */
Site fact_place(World *w, const Node *x);
/* Does an effect at place `effect` happen before what stands at `here`? It does if it stands before it or in it. */
bool fact_place_is_before(const World *w, Site effect, Site here);
#endif
