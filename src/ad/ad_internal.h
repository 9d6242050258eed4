/* SPDX-License-Identifier: MIT */
/* What the files of src/ad share.
 *
 *   cotangent.c  types of cotangents; conversion between them and the values users see
 *   reverse.c    the combined form of a graph: one walk forward, one walk backward; rules of single operations
 *   split.c      residuals
 *   control.c    rules of branches and loops
 *   calls.c      rules of calls: twins, the user's own rules, checkpoints
 *   forward.c    tangents
 *   expand.c     the driver, and functions unknown at compile time */
#ifndef ATLED_AD_INTERNAL_H
#define ATLED_AD_INTERNAL_H
#include "ad/ad.h"

/* The combined form of a graph g with p parameters, of which `active` are differentiated. Over the parameters
 *   0 … p-1 of g, then p: cotangent D of the result, then one accumulator for each active parameter, in order,
 * `y` is the value (it reads only parameters below p) and `accs` are the accumulators with everything added. What reads
 * parameter p or above belongs to the backward pass, all else to the forward pass. */
typedef struct Combined {
  Graph *g;
  bool *active;
  bool rerun;          /* loops may run their bodies again in the backward pass */
  bool *unstable;      /* array parameters that are overwritten while this graph is run again and again */
  Node *y;
  Node **accs;
  int p, nacc;
  struct Combined *next;
} Combined;
Combined *ad_combine(World *w, Graph *g, const bool *active, const bool *unstable, bool rerun);

/* The backward pass of a combined form on its own: `back` over the same parameters, of which those below p are read only as
 * `known` says, followed by nres residuals. `res` are the residuals, over the parameters of g. */
typedef struct Split { Node **back; Node **res; int nres; } Split;
typedef enum Known { KNOWN_NOT, KNOWN_SHAPE, KNOWN_VALUE } Known; /* of a parameter, in the backward pass */
Split ad_split(World *w, Combined *c, Node **back, const uint8_t *known);

/* A differentiation of one graph under way. Everything is indexed by the position of nodes in g's order. */
typedef struct Reverse {
  World *w;
  Graph *g;
  Node **nodes;
  int n;
  Map pos;             /* node -> position + 1 */
  Node **fwd;          /* forward node */
  bool *act;
  Node **adj;          /* cotangent so far; NULL is zero */
  void **memo;         /* what the forward rule leaves for the backward rule */
  bool *unstable;      /* by position: arrays not to be read again later */
  bool rerun;
} Reverse;
Node *ad_fwd(const Reverse *r, const Node *x);
bool ad_active(const Reverse *r, const Node *x);
bool ad_unstable(const Reverse *r, const Node *x);           /* arrays that are overwritten later */
void ad_add(Reverse *r, const Node *x, Node *cot);           /* adj[x] += cot, if x is active */
Node *ad_take(Reverse *r, const Node *x);                    /* moves adj[x] out: zero if there is none */
void ad_put(Reverse *r, const Node *x, Node *acc);           /* moves it back: before other contributions */
bool ad_has_slot(World *w, IrType *t);
bool ad_is_plain(const IrType *cot);                         /* floats only: adding costs nothing */

void ad_switch_forward(Reverse *r, int at);
void ad_switch_backward(Reverse *r, int at, Node *d);
void ad_loop_forward(Reverse *r, int at);
void ad_loop_backward(Reverse *r, int at, Node *d);
void ad_call_forward(Reverse *r, int at);
void ad_call_backward(Reverse *r, int at, Node *d);
void ad_checkpoint_backward(Reverse *r, int at, Node *d);
bool *ad_body_activity(World *w, Graph *body, const LoopInfo *l, const bool *operands); /* fixed point: activity of the body's parameters */
bool ad_result_active(World *w, Graph *g, const bool *active, int k);                   /* k-th component of the result */

/* Accumulators of the backward side of a region: zero for plain ones (added afterwards), else moved in. */
Node *ad_region_acc(Reverse *r, const Node *x);
void ad_region_done(Reverse *r, const Node *x, Node *acc);

Node *ad_tuple(World *w, Node **xs, int n);                  /* a tuple of what is given */
Node **ad_dims(World *w, Node *array, IrType *type, int *n); /* LEN nodes of all dimensions */
/* op(bag, dims of `array`, indices…, [v]) */
Node *ad_bag_op(World *w, Op op, IrType *t, Node *bag, Node **dims, int ndims, Node **is, int n, Node *v);
Node *ad_fill(World *w, Node *bag, Node **dims, int ndims);  /* the array of a bag */
Node *ad_to_cotangent(World *w, IrType *t, Node *x, Node *like, Site site); /* like: a value whose shape x must have, or NULL */
Node *ad_to_public(World *w, IrType *t, Node *primal, Node *cot);
Node *ad_start(World *w, IrType *t, Node *primal);            /* zero, dense where the result will be an array of numbers anyway */
Node *ad_zero_public(World *w, IrType *t, Node *primal);
Node *ad_one_component(World *w, IrType *tuple, int k, Node *x); /* cotangent tuple, zero but for component k */

/* Partial products of a scalar operation: out[i] = D * d node / d operand i, NULL if that operand has no slot. */
void ad_scalar_rule(World *w, const Node *n, Node **args, Node *value, Node *d, Node **out);
/* Forward: graph over params and tangents of the active ones; result TUPLE(value, tangent). */
Graph *ad_tangent(World *w, Graph *g, const bool *active);
/* A call that does what applying a closure of this type does, for every graph such a closure may have. */
Func *ad_dispatcher(World *w, IrType *fun);
Func *ad_call_target(World *w, const Node *call);            /* CALL: its function; APPLY: the dispatcher */
Node *ad_no_rule(World *w, IrType *t, const char *what, Site site);
#endif
