/* SPDX-License-Identifier: MIT */
/* What the files of src/ad share.
 *
 *   expand.c         the driver: what VJP and JVP nodes become
 *   reverse.c        reverse mode of a graph, its combined form; what both modes know of a graph's nodes
 *   forward.c        forward mode of a graph: values with tangents
 *   rules.c          single operations, in both modes
 *   switches.c, calls.c, attempts.c, forks.c   these constructs, in both modes; checkpoints are calls
 *   loop_plan.c      which strategy the backward pass of a loop follows, and why
 *   loop_reverse.c   the forward and the backward loop that a plan says
 *   preaccumulate.c  loops of few inputs, with their partial derivatives
 *   loop_tangent.c   loops over values and tangents: forward mode, and preaccumulation
 *   cotangent.c      conversion between cotangents and the values users see */
#ifndef ATLED_AD_INTERNAL_H
#define ATLED_AD_INTERNAL_H
#include "ad/ad.h"
#include "facts/taped_references.h"
#include "graph/graph.h"
#include "ir/compilation.h"

/* What differentiation knows of a node or parameter. */
typedef unsigned char Fact;
enum {
  ACTIVE = 1 /* depends on an input that is differentiated, and has a cotangent by its type */,
  OVERWRITTEN = 2, /* holds an array that is changed in place later: the backward pass may read its shape alone */
  VIEW = 4,        /* may hold a view of a part of such an array */
  CARRIED_VIEW = 8 /* a loop's carried value that may become one in an iteration */
};

/* The combined form of a graph g with p parameters, of which the active ones are differentiated. Over the parameters
 *   0 … p-1 of g, then p: cotangent D of the result, then one accumulator for each active parameter,
 * `y` is the value (it reads only parameters below p), and `back` yields the tuple of the accumulators with
 * everything added. What reads parameter p or above belongs to the backward pass, all else to the forward pass. */
typedef struct Combined {
  Graph *g, *back;
  Node *y;
  Node *errors; /* what of y can fail: ir_errors; NULL until it is asked for */
  bool *active;
  int p, nacc;
} Combined;
/* The combined form of g, whose parameters have these facts. rerun: strategy RERUN is allowed, for no loop around g
 * runs its body again. */
Combined *ad_combine(World *w, Graph *g, const Fact *params, bool rerun);

/* A differentiation of one graph under way, in either mode. Everything is indexed by position: nodes in g's order,
 * then the parameters it doesn't use. */
typedef struct Diff {
  World *w;
  Node **nodes;
  int n;
  Map pos;    /* node -> position + 1 */
  Node **fwd; /* forward node */
  Fact *facts;
  Node **cot;  /* NULL is zero. Reverse: cotangent so far. Forward: tangent */
  void **memo; /* what the forward rule leaves for the backward rule */
  bool rerun;
  Map traps; /* what a trap yields -> the trap */
} Diff;
Diff *ad_begin(World *w, Graph *g, const Fact *params);
bool ad_visit(Diff *r, int at);           /* finds out whether the node is active */
Node *ad_rebuild(const Diff *r, Node *n); /* the same operation on forward nodes */
Node *ad_fwd(const Diff *r, const Node *x);
Node **ad_fwd_all(const Diff *r, Node **xs, int n);
bool ad_active(const Diff *r, const Node *x);
Fact *ad_facts(const Diff *r, Node **xs, int n, Fact which);
Node *ad_cot(const Diff *r, const Node *x); /* cot[x], or a zero */
/* The combined form of g, a graph over operands of which these facts are known, and its backward pass as a second
 * stage: this may read operands, but of those that are overwritten the shapes alone. */
Combined *ad_stages(Diff *r, Graph *g, const Fact *facts, Split *out);
void ad_add(Diff *r, const Node *x, Node *cot); /* cot[x] += cot, if x is active */
Node *ad_take(Diff *r, const Node *x);          /* moves cot[x] out */
void ad_put(Diff *r, const Node *x, Node *acc); /* moves it back: before other contributions */

/* Positions of g's nodes, which r was begun with, in the order that the backward pass reverses. */
int *ad_backward_order(const Diff *r, Graph *g);

/* The accumulator of operand x, one of the n operands xs, that the backward pass of a branch, loop or call gets. One of
 * floats alone is zero, and the result is added afterwards. Any other is moved: x's own cotangent so far, with those of
 * its components that aren't among xs. ad_region_done takes back what it became. */
Node *ad_region_acc(Diff *r, const Node *x, Node **xs, int n);
void ad_region_done(Diff *r, const Node *x, Node **xs, int n, Node *acc);
void ad_region_accs(Diff *r, Node **xs, int n, Nodes *out); /* of the active xs */
void ad_region_all_done(Diff *r, Node **xs, int n, Node *accs);

/* How each kind of node is differentiated. In reverse mode `forward` sets the forward node and leaves what the backward
 * pass needs in memo[at]; `backward` adds to the operands' cotangents, d being the node's own. In forward mode
 * `tangent` sets the node over values and its tangent. */
typedef struct Construct {
  void (*forward)(Diff *r, int at);
  void (*backward)(Diff *r, int at, Node *d);
  void (*tangent)(Diff *f, int at);
} Construct;
enum { OPERATION, ATTEMPT, FORK, BRANCH, LOOP, CALL, CHECKPOINT };
/* While ad_expand runs: it calls the walks of reverse.c and forward.c, which find the constructs' functions here. */
struct Differentiation {
  Func *const *rules; /* of scalar operations, by Op: see ad_expand */
  const Construct *constructs;
};
const Construct *ad_construct(const Diff *r, const Node *n);
void ad_keep(Diff *r, int at); /* the forward node is the same operation on forward nodes */
void ad_rule_backward(Diff *r, int at, Node *d);
void ad_rule_tangent(Diff *f, int at);
/* Residual x of a graph whose parameters these facts are known of, detached where it may be a view of an array that is
 * overwritten. A loop around would keep the view, and the next update would copy the whole array. */
Node *ad_taped(World *w, Node *x, const Fact *facts);
Node *ad_detached(World *w, Node *x); /* x without views of other arrays */
/* Adds to the facts of the parameters of a loop's body which of its state is overwritten, and what may hold a view of
 * such an array; outside: the facts of the loop's inputs. */
void ad_find_views(World *w, const Node *loop, const Fact *outside, Fact *facts);
bool ad_reads_carried_view(World *w, const Split *s, const Fact *facts); /* a residual may be, or refer to, one */
void ad_switch_forward(Diff *r, int at);
void ad_switch_backward(Diff *r, int at, Node *d);
void ad_switch_tangent(Diff *f, int at);
void ad_loop_forward(Diff *r, int at);
void ad_loop_backward(Diff *r, int at, Node *d);
void ad_loop_tangent(Diff *f, int at);
void ad_call_forward(Diff *r, int at);
void ad_call_backward(Diff *r, int at, Node *d);
void ad_call_tangent(Diff *f, int at);
void ad_checkpoint_backward(Diff *r, int at, Node *d);
void ad_checkpoint_tangent(Diff *f, int at);
void ad_attempt_forward(Diff *r, int at);
void ad_attempt_backward(Diff *r, int at, Node *d);
void ad_attempt_tangent(Diff *f, int at);
void ad_fork_forward(Diff *r, int at);
void ad_fork_backward(Diff *r, int at, Node *d);
void ad_fork_tangent(Diff *f, int at);
/* The derivative x of an operation on the n numbers xs, with a trap at `site`: d is the cotangent, or NULL, and ds
 * are the tangents of the xs; value: what the operation yields, if x is made of that, or NULL. what: "sqrt", or the
 * text of a trap. */
Node *ad_trapped(World *w, const char *what, Node *x, Node **xs, int n, Node *d, Node **ds, Node *value, Site site);
Node *ad_unless_zero(World *w, Node *d, Node *x); /* x, a product with d: 0 where d is 0 and x NaN */

/* Which strategy a loop's backward pass follows: see loop_plan.c. */
typedef enum Strategy { PREACCUMULATE, REPLAY, RERUN, TAPE } Strategy;
typedef struct LoopPlan {
  Strategy strategy;
  const char *why; /* what the remark says */
  /* PREACCUMULATE */
  Node *inputs[LIMIT_DIRECTIONS], *partials[LIMIT_DIRECTIONS]; /* those of the loop's results by each of its inputs */
  int ninputs;
  /* The others. */
  Combined *body;
  Split split;           /* what the backward loop runs; only with TAPE there are residuals */
  Fact *facts;           /* of the parameters of the primal body */
  Known *rematerialised; /* carried values that are computed from the index: see ir_delayed */
  Node **tapes;          /* of the residuals, set when the forward loop is made */
  bool *wrapped;         /* each row of the tape is a tuple of one */
} LoopPlan;
LoopPlan *ad_plan_loop(const Diff *r, const Node *n);
/* Which parameters of the body are active, given which inputs of the loop are (as ad_facts says in ad_body_facts). */
Fact *ad_body_facts_from(World *w, const Node *loop, const Fact *given);
Fact *ad_body_facts(const Diff *r, const Node *loop);
/* Can the loop be preaccumulated, and does that pay? Sets the plan's inputs if so. */
bool ad_find_inputs(const Diff *r, const Node *loop, const Fact *facts, LoopPlan *p);
Node *ad_preaccumulate(const Diff *r, const Node *loop, LoopPlan *p); /* its forward node; sets the partials */
void ad_preaccumulated_backward(Diff *r, const LoopPlan *p, Node *d);
bool ad_holds_numbers(World *w, IrType *t); /* and nothing else that has a derivative */

/* A direction in which a loop's inputs change. */
typedef struct Direction {
  Fact *facts;   /* of the parameters of the loop's body: which have tangents */
  Node **inputs; /* the tangent of each input */
  /* Set by ad_dual_loop: */
  Node *result;  /* the tangent of the loop */
  Node **inside; /* tangents of the body's parameters */
  int *stacked;  /* by result: where its tangent is stacked */
} Direction;
/* The loop with its tangents in these directions: returns its value. */
Node *ad_dual_loop(const Diff *r, const Node *loop, Direction *dirs, int ndirs);

/* Cotangents and tangents are accumulators. */
static inline IrType *ad_cotangent(World *w, IrType *t) { return ir_accumulator(w, t); }
static inline bool ad_has_slot(World *w, IrType *t) { return ad_cotangent(w, t)->kind != T_UNIT; }
/* Known to be zero? */
static inline bool ad_is_zero(const Node *c) {
  return c->op == OP_ZERO || c->op == OP_UNIT || (c->op == OP_FLOAT && c->attr.f == 0);
}
/* like: whose shape x must have, or NULL. */
Node *ad_to_cotangent(World *w, IrType *t, Node *x, Node *like, Site site);
Node *ad_to_public(World *w, IrType *t, Node *primal, Node *cot);
/* Zero, dense where the result will be an array of numbers anyway. */
Node *ad_start(World *w, IrType *t, Node *primal);
Node *ad_zero_public(World *w, IrType *t, Node *primal);
/* The same with floats that have nothing in common. A linear function of a rule is differentiated there, so that it is
 * of no account where it branches: at zero, say, or where an iteration ends at once. */
Node *ad_general_public(World *w, IrType *t, Node *primal);
/* The cotangent of a value made by ad_zero_public, as one of what that was made from. */
Node *ad_uncarried(World *w, IrType *t, Node *cot);
/* The cotangent x that a user's rule gives for argument `like`: an error where that is a function, in a tuple too,
 * and x isn't what a pullback gave the rule for it. */
Node *ad_from_rule(World *w, IrType *t, Node *x, Node *like, Site site);
Node *ad_is_carrier(World *w, Node *f); /* a bool: is that so of f? */
Node *ad_lost_function(World *w);       /* the message of that error */

/* Forward mode: the graph over the parameters of g, of which the active ones are duals, pairs of value and tangent. It
 * yields a dual. */
Graph *ad_tangent(World *w, Graph *g, const Fact *params);
Node *ad_dual(const Diff *f, const Node *x); /* x, as a pair if it has a tangent */
void ad_set_dual(Diff *f, int at, Node *pair);
/* Forward mode of an application: the graph over duals, and the duals of its arguments. With an effect it yields
 * ((y, dy), token). */
Graph *ad_dual_target(Diff *f, const Target *t, bool effect, Node **args);
void ad_set_dual_outside(Diff *f, int at, Node *dual, Node *token); /* the same of (dual, token), if there is a token */
Node *ad_vjp(World *w, Node *f, Node *x, Node *token, Site site);   /* what a VJP node means */
/* A function of graph g that is never inlined. It may be recursive through a dispatcher. */
Func *ad_opaque_function(World *w, Sym name, Graph *g);
/* g; but a graph that only fails while the derivatives that are made will be discarded: see ir_paths_end. */
Graph *ad_unless_ended(World *w, Graph *g);
Node *ad_unmade(World *w, IrType *t); /* the failing node */
/* The failing node that stands for the derivative of a function without graph: a C function, or one that is unfinished,
 * for it takes derivatives of itself. */
Node *ad_no_graph(World *w, IrType *t, const Func *f, Site site);
#endif
