/* SPDX-License-Identifier: MIT */
/* The passes between elaboration and lowering. The stages of an entry are
 *
 *   built           what elaboration made, in normal form
 *   optimised       after the runs of passes.def that come before derivatives
 *   differentiated  derivatives are taken, innermost first (ad_expand in src/ad)
 *   final           after the other runs of passes.def: what is lowered
 *
 * passes.def lists the runs in their order, each with what it does. */
#ifndef ATLED_OPT_H
#define ATLED_OPT_H
#include "facts/uses.h"
#include "graph/graph.h"
#include "ir/edit.h"

typedef struct OptStages {
  Graph *built, *optimised, *differentiated, *final;
  const int *globals; /* that the entry makes: indices in World.globals */
  int nglobals;
  Pool *pool;                 /* what its function values may be */
  Func *const *rules;         /* of the scalar operations that are differentiated: see ad_expand */
  const IrRule *endless_rule; /* was to be applied when rewrite rules had been too often; NULL: they weren't */
  int from;                   /* the first run that is made (opt/passes.h); 0: all are */
  int nrules;                 /* rewrite rules of higher numbers don't hold in it */
  bool given;                 /* `differentiated` is a text's: no derivative is taken */
} OptStages;
/* From built to optimised, and from there, given the rules, to final. All entries of a source are optimised before
 * derivatives are taken in any: a function value that one of them differentiates may be made by another. */
void opt_before_derivatives(World *w, OptStages *stages);
void opt_derivatives_and_after(World *w, OptStages *stages);
/* The passes, each of which passes.def describes. last: is it the last run? round: how often it ran before, on its own
 * results; *changed: it shall run again. */
#define PLAIN(f)                                 f(World *w, Graph *g)
#define GIVEN(f, last)                           f(World *w, Graph *g, bool)
#define ROUND(f)                                 f(World *w, Graph *g, int round, bool *changed)
#define PASS(stage, name, call, needed_by, does) Graph *call;
#include "opt/passes.def"
#undef PLAIN
#undef GIVEN
#undef ROUND
#undef PASS
/* Calls fn for each CALL in graphs that g reaches. */
void opt_each_call(World *w, Graph *g, void (*fn)(void *user, const Node *call), void *user);
/* Which parameters, of functions that g reaches, are arrays that recursive calls get slices of; the function that takes
 * each of these as an array, a start and a length. (slice_params.c) */
typedef struct SliceParams SliceParams;
SliceParams *opt_slice_params(World *w, Graph *g);
bool opt_takes_slice(const SliceParams *s, const Func *f, int k);
bool opt_takes_slices(const SliceParams *s, const Func *f); /* any */
Func *opt_func_over_places(SliceParams *s, Func *f);
/* What a check that goes yields, of these operands: the first one, after the others, which may be checks. Builds for
 * testing test the reasons: it leaves an assertion there. */
Node *opt_unchecked(World *w, const Node *check, Node **ops);
/* a + b, arrays of one shape: a loop that adds b to a. (dense.c) */
Node *opt_array_sum(World *w, Node *a, Node *b);
/* The value of loop n over other operands and graphs, where accumulators that it fills in order are stacked outputs of
 * it; NULL: it has none. (mapped_outputs.c) */
Node *opt_stacked_entries(World *w, const Node *n, Node **ops, Graph **graphs);
/* Is the bag known to have no entry yet but zeros? */
static inline bool opt_is_empty(const Node *bag) {
  return bag->op == OP_ZERO || (bag->op == OP_TO_BAG && bag->ops[0]->op == OP_ZEROS);
}
/* Slot k of loop n over these operands and this body, an accumulator of numbers: its dimensions, and whether these are
 * few for the number of iterations, *few, in terms of the graph around; NULL if that isn't seen. (choose_dense.c) */
Node **opt_dims_if_few(World *w, const Node *n, Node **ops, Graph *body, int k, Node **few);
/* The loop, where the accumulators with dimensions in `dims`, by input, start as arrays. (choose_dense.c) */
Node *opt_start_filled(World *w, const Node *n, Node **ops, Graph *body, Node ***dims);
/* g, without what is in it, where accumulators that end filled begin filled (early_dense.c) */
Graph *opt_early_dense(World *w, Graph *g, bool *changed);
/* The array or parameter that a bag was before something was added to it, with the same dimensions; NULL: it is
 * neither. The capture of a branch that its part `bag` comes from so, the same in all arms; the parameter that result k
 * of a function does; -1: there is none. (provenance.c) */
Node *opt_provenance(World *w, Node *bag);
/* Is a bag, followed likewise, but to an empty one too, only added to by whole entries, whose parts have the same sizes
 * all the way? Does an accumulator type hold bags, outside of variants? (provenance.c) */
bool opt_bag_keeps_shapes(World *w, Node *bag);
bool opt_holds_bag(const IrType *t);
int opt_branch_provenance(World *w, const Node *branch, const Node *bag);
int opt_call_provenance(World *w, const Func *f, int k);
/* n of g, a sum of accumulators, as what is in one of ops added to the other, if that one began empty and has got no
 * array: NULL otherwise. (start_values.c) */
Node *opt_start_value(World *w, Uses *uses, const Node *n, Node **ops);
#endif
