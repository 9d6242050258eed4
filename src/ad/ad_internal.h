/* SPDX-License-Identifier: MIT */
/* What the files of src/ad share.
 *
 *   cotangent.c  types of cotangents; conversion between them and the values users see
 *   carriers.c   the same for functions
 *   rules.c      rules of single operations, in both modes
 *   reverse.c    the combined form of a graph: one walk forward, one walk backward
 *   split.c      residuals
 *   control.c    reverse mode of branches and loops
 *   calls.c      reverse mode of calls: twins, the user's own rules, checkpoints
 *   forward.c    tangents
 *   expand.c     the driver, and functions unknown at compile time */
#ifndef ATLED_AD_INTERNAL_H
#define ATLED_AD_INTERNAL_H
#include "ad/ad.h"

typedef Vec(Node *) Nodes;

/* The combined form of a graph g with p parameters, of which `active` are differentiated. Over the parameters
 *   0 … p-1 of g, then p: cotangent D of the result, then one accumulator for each active parameter, in order,
 * `y` is the value (it reads only parameters below p) and the tuple `accs` the accumulators with everything added. What
 * reads parameter p or above belongs to the backward pass, all else to the forward pass. */
typedef struct Combined {
  Graph *g;
  bool *active;
  Node *y, *accs;
  IrType **types;      /* of the parameters */
  int p, nacc, total;
} Combined;
/* unstable: array parameters that are overwritten while g is run again and again; NULL: none.
 * rerun: loops may run their bodies again in the backward pass. */
Combined *ad_combine(World *w, Graph *g, const bool *active, const bool *unstable, bool rerun);

/* The backward pass of a combined form on its own: `back` is `accs` over the same parameters, of which those below p are
 * read only as `known` says, followed by nres residuals. `res` are the residuals, over the parameters of g. */
typedef struct Split { Node *back, **res; int nres; } Split;
typedef enum Known { KNOWN_NOT, KNOWN_SHAPE, KNOWN_VALUE } Known; /* of a parameter, in the backward pass */
Split ad_split(World *w, Combined *c, const Known *known); /* NULL: no parameter is */

/* A differentiation of one graph under way, in either mode. Everything is indexed by position: nodes in g's order, then
 * the parameters it doesn't use. */
typedef struct Diff {
  World *w;
  Node **nodes;
  int n;
  Map pos;             /* node -> position + 1 */
  Node **fwd;          /* forward node */
  bool *act;           /* does it depend on what is differentiated? */
  Node **cot;          /* NULL is zero. Reverse: cotangent so far. Forward: tangent */
  void **memo;         /* what the forward rule leaves for the backward rule */
  bool *unstable;      /* arrays not to be read again later */
  bool rerun;
} Diff;
Diff *ad_begin(World *w, Graph *g, const bool *active);
bool ad_visit(Diff *r, int at);                              /* finds out whether the node is active */
Node *ad_rebuild(const Diff *r, Node *n);                    /* the same operation on forward nodes */
Node *ad_fwd(const Diff *r, const Node *x);
Node **ad_fwd_all(const Diff *r, Node **xs, int n);
bool ad_active(const Diff *r, const Node *x);
bool *ad_active_all(const Diff *r, Node **xs, int n);
bool ad_unstable(const Diff *r, const Node *x);              /* arrays that are overwritten later */
Node *ad_cot(const Diff *r, const Node *x);                  /* cot[x], or a zero */
void ad_add(Diff *r, const Node *x, Node *cot);              /* cot[x] += cot, if x is active */
Node *ad_take(Diff *r, const Node *x);                       /* moves cot[x] out */
void ad_put(Diff *r, const Node *x, Node *acc);              /* moves it back: before other contributions */

/* Accumulators of the backward side of a region or call: zero for plain ones (added afterwards), else moved in. */
Node *ad_region_acc(Diff *r, const Node *x);
void ad_region_done(Diff *r, const Node *x, Node *acc);
void ad_region_accs(Diff *r, Node **xs, int n, Nodes *out);  /* of the active xs */
void ad_region_all_done(Diff *r, Node **xs, int n, Node *accs);

/* What was derived from a graph or a function (its field `ad`) for these activities: a place for it, NULL at first. */
typedef enum Derived { D_COMBINED, D_COMBINED_RERUN, D_TWIN, D_TWIN_RERUN, D_DUAL } Derived;
void **ad_derived(World *w, void **owner, Derived what, int n, const bool *active, const bool *unstable);

void ad_rule_backward(Diff *r, int at, Node *d);             /* single operations: d to the operands */
Node *ad_rule_tangent(Diff *f, int at);
void ad_switch_forward(Diff *r, int at);
void ad_switch_backward(Diff *r, int at, Node *d);
void ad_loop_forward(Diff *r, int at);
void ad_loop_backward(Diff *r, int at, Node *d);
void ad_call_forward(Diff *r, int at);
void ad_call_backward(Diff *r, int at, Node *d);
void ad_checkpoint_backward(Diff *r, int at, Node *d);
bool *ad_body_activity(World *w, Graph *body, const LoopInfo *l, const bool *given); /* fixed point: of its parameters */

bool ad_has_slot(World *w, IrType *t);
bool ad_is_zero(const Node *cot);                            /* known to be zero */
Node *ad_to_cotangent(World *w, IrType *t, Node *x, Node *like, Site site); /* like: whose shape x must have, or NULL */
Node *ad_to_public(World *w, IrType *t, Node *primal, Node *cot);
Node *ad_start(World *w, IrType *t, Node *primal); /* zero, dense where the result will be an array of numbers anyway */
Node *ad_zero_public(World *w, IrType *t, Node *primal);

/* x, with functions that carry their derivatives. */
Node *ad_with_carriers(World *w, IrType *t, Node *x, Node *cot);
/* cot, with what the functions in x, a derivative of `like`, carry. */
Node *ad_from_carriers(World *w, IrType *t, Node *x, Node *like, Node *cot, Site site);
/* The cotangent of a value made by ad_zero_public, as one of what that was made from. */
Node *ad_uncarried(World *w, IrType *t, Node *cot);
/* The derivative that f carries of the function `like`; an error if it carries none. */
Node *ad_carried(World *w, Node *f, Node *like, Site site);
Node *ad_is_carrier(World *w, Node *f);                      /* a bool */
Node *ad_lost_function(World *w);                            /* the message of that error */

/* Forward: graph over the parameters of g, the active ones as pairs (value, tangent), as its result is. */
Graph *ad_tangent(World *w, Graph *g, const bool *active);

/* A graph that applies function f, and arguments for it: x[, token] and what it captures. */
typedef struct Target { Graph *g; Node **args; } Target;
Target ad_target(World *w, Node *f, Node *x, Node *token, Site site);
Node *ad_vjp(World *w, Node *f, Node *x, Node *token, Site site); /* what a VJP node means */
/* A call that does what applying a closure of this type does, for every graph such a closure may have. */
Func *ad_dispatcher(World *w, IrType *fun);
Func *ad_call_target(World *w, const Node *call);            /* CALL: its function; APPLY: the dispatcher */
Node *ad_no_rule(World *w, IrType *t, const char *what, Site site);
#endif
