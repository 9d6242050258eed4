/* SPDX-License-Identifier: MIT */
/* Operations on whole graphs that passes build on: rewriting, splitting in two stages, dispatch of unknown
 * functions, and caches of facts about graphs. */
#ifndef ATLED_GRAPH_H
#define ATLED_GRAPH_H
#include "ir/ir.h"

/* ---- Stages (split.c) ---------------------------------------------------------------------
 * Of a graph of which the first `early` parameters are known before the others, the nodes that read only
 * those are the first stage, the others the second. */
typedef struct Split {
  Graph *late; /* the second stage: parameters as before, then the residuals */
  Node **res;  /* the residuals: nodes of the first stage that the second one reads */
  int nres;
} Split;
/* How much of an early parameter the second stage may read for itself. What is given it as a KNOWN_VALUE must be the
 * same to the last bit where it is decisive. */
typedef enum Known {
  KNOWN_NOT,
  KNOWN_SHAPE,   /* the lengths of an array */
  KNOWN_ROUNDED, /* the value, but perhaps for the last bit of a float */
  KNOWN_VALUE,
  KNOWN_FIXED /* the value, which is the same in many runs of the second stage: of all iterations of a loop */
} Known;
Split ir_split(World *w, Graph *g, int early, const Known *known); /* NULL: no parameter is known */
/* Which parameters of a recursive function follow cheaply, in each of its calls of itself, from those of the caller. */
bool *ir_derived_params(World *w, const Func *f);
Known ir_known_param(const Func *f, int k); /* what its second stage then knows of it */

/* Which carried numbers of a loop the next iteration's index tells, and how well: what one iteration makes of them
 * follows cheaply from its index and what else is known of the body's parameters, and from no other carried value. */
Known *ir_delayed(World *w, const LoopInfo *l, const Graph *body, const Known *known);
/* Such a number at the start of iteration i; ops: what stands for the loop's operands where it is asked for. */
Node *ir_delayed_value(World *w, const Node *loop, int k, Node *i, Node **ops);

/* Places for what arms of a branch hand on besides its value: arms share those of one type. */
typedef struct SharedFields {
  Vec(IrType *) types;
  Vec(bool) taken; /* which places the current arm uses already */
} SharedFields;
void share_anew(SharedFields *f); /* for another arm */
int share_field(World *w, SharedFields *f, IrType *t);

/* A branch in two stages. */
typedef struct StagedSwitch {
  Node *selector, **caps;
  int narms, ncaps;
  Split *arms;        /* the captures known early */
  int **field;        /* residual j of arm t is fields[field[t][j]] */
  Vec(Node *) fields; /* results of the first stage, shared by the arms */
} StagedSwitch;
/* To be set: selector, caps, narms, ncaps, arms. The branch between values ys[t], over the captures, which
 * also yields the residuals. */
Node *ir_switch_early(World *w, StagedSwitch *s, Node **ys);
/* The branch between the second stages, given what they take after the captures. */
Node *ir_switch_late(World *w, const StagedSwitch *s, Node **late, int n);

/* A function in two stages: parameters -> (value, residuals); residuals, known parameters, late parameters ->
 * result. In a recursion the residuals hold those of the inner calls, so they are boxed, in a type made for the
 * purpose. */
typedef struct StagedFunc {
  Func *early, *late; /* a recursive function's can be called before they are finished */
  const Func *of;
  Known *known;             /* the parameters that the second stage gets again */
  IrType **params, *result; /* of the second stage, without the residuals and those */
  int n;
} StagedFunc;
/* again: which parameters may be read again later. */
StagedFunc *ir_stage_func(World *w, const Func *f, const bool *again, IrType **late, int n, IrType *result);
/* y, over f's parameters, is the value; s cuts a graph over those, of which those in `known` are known, and then the
 * late ones. */
void ir_stage_func_finish(World *w, StagedFunc *t, Node *y, const Split *s);

/* ---- Exact values (exact.c) --------------------------------------------------------------------
 * Float arithmetic, whose result may differ in the last bit where it is computed again. */
bool ir_rounds(const Node *n);
/* Which operands of n decide something: a branch, an index, a size, how often a loop runs, a check; `need`: n itself
 * does. */
void ir_decisive(World *w, const Node *n, bool need, bool *out);
/* Do the sizes of all arrays that the body of this loop yields follow from whole numbers and lengths that are given? */
bool ir_sizes_exact(World *w, const LoopInfo *l, const Graph *body);
/* Is x, a node of the body, made of whole numbers, and of lengths and elements of what is given? */
bool ir_is_exact(World *w, const Graph *body, Node *x);

/* ---- Errors (error_slice.c) ------------------------------------------------------------------------------
 * A number that is ordered after all that can fail in x, a value over these parameters, except for what may only not
 * end; 0 itself if nothing can. */
Node *ir_errors(World *w, IrType **params, int nparams, Node *x);
/* The result of g with parameters replaced, where all that can fail is ordered after `first`, a number, except for the
 * nodes that `as_they_are`, a value over g's own parameters, consists of. NULL: no exceptions. */
Node *ir_instantiate_after(World *w, Graph *g, Node **args, Node *first, Node *as_they_are);

/* ---- Equal numbers (equal_numbers.c) ----------------------------------------------------------------- */
/* Are whole numbers a and b equal, if the checks that they are ordered after hold? */
bool ir_same_number(World *w, Node *a, Node *b);

/* ---- Functions (dispatch.c) ----------------------------------------------------------------- */
/* A graph that applies function f, and arguments for it: x[, token] and what it captures. */
typedef struct Target {
  Graph *g;
  Node **args;
} Target;
Target ir_target(World *w, Node *f, Node *x, Node *token, Site site);
/* ---- Attempts (attempt.c) -------------------------------------------------------------------- */
enum { ATTEMPT_OK, ATTEMPT_ERROR }; /* constructors of `result` */
/* Calls f : unit -> 'a and yields Ok of its value, or Error of how it failed: of the type `result`, with the token if
 * there is one. */
Node *ir_attempt(World *w, Node *f, IrType *result, Node *token, Site site);
bool ir_is_attempt(const Node *n);
/* The type `result` for values of another type, given one. */
IrType *ir_attempt_type(World *w, const IrType *like, IrType *value);

/* ---- Forks (fork.c) -------------------------------------------------------------------------- */
/* The two functions of a fork, applied to unit: parameter 0, which the captures follow. */
typedef struct Fork {
  Target arm[2];
} Fork;
/* A call of both, in any order or at once; a pair of their values. */
Node *ir_fork(World *w, Fork f, Site site);
bool ir_is_fork(const Node *n);
/* A bool: is the place so few forks deep that it forks, too? */
bool ir_is_fork_blocks(const Node *n); /* a loop in blocks (opt/fork_loops.c) */
Node *ir_fork_here(World *w);
bool ir_is_fork_here(const Node *n);
Fork ir_fork_arms(World *w, const Node *n);
/* The same, one after the other in the graph around. */
Node *ir_fork_in_order(World *w, Fork f);

/* Notes what the graph of a global's value tells of it. */
void ir_learn_global(World *w, int global, Node *value);

/* A function value that isn't known where it is applied is one of the closures of its type that the
 * program makes. Each entry has a pool of these: its own, those of entries whose globals it reads that hold
 * functions, and, if such a function takes functions, the other way round. So the pools of all entries are
 * made before a dispatcher is asked for. */
typedef struct Pool Pool;
Pool *ir_pool(World *w, Graph *entry, const int *globals, int n); /* globals: those that the entry makes */
/* True if the entry made no closure of the pool, and no other pool refers to this one. Then it can survive a rollback
 * of the entry: ir_pool_again makes it anew, for a global, from a copy in another arena. */
bool ir_pool_is_known(World *w, const Pool *p);
Pool *ir_pool_copy(const Pool *p, Arena *a);
void ir_pool_again(World *w, const Pool *copy, int global);
void ir_use_pool(World *w, Pool *p); /* from now on function values are those of this pool */
/* Are there closures in it that a dispatcher lacks which was made since it is in use: of pullbacks that passes made
 * later? */
bool ir_pool_grew(World *w, Pool *p);
/* Calls fn for the graph of each function value in it, in no order. */
void ir_walk_pool(World *w, Pool *p, void (*fn)(void *user, Graph *g), void *user);
/* The closure of a pullback, which differentiation makes, becomes a candidate; not after ir_pool_give_up. */
void ir_register_pullback(World *w, Node *closure);
/* From now on no pullbacks of this pool are candidates: dispatchers fail with the message `unfinished` for them. */
void ir_pool_give_up(World *w, Pool *p);
/* May a closure be applied elsewhere that this user has as this operand? Else it is known where it is. */
bool ir_escapes(const Node *user, int operand);
/* A function of (f, x[, token]) that does what applying f, of this type, does, by known calls only: it
 * asks which closure f is and calls its graph. Fails with the message `unknown` for any other. While
 * graphs are rewritten, the graphs that it calls are too; those under way can't be called yet, and the
 * message is `unfinished`: they would take derivatives of themselves. */
Func *ir_dispatcher(World *w, IrType *fun, const char *unknown, const char *unfinished);
/* From now on candidates that take derivatives of unknown functions are followed into each other at most so deep; 0:
 * not at all. What this makes grows exponentially with their number and the orders of their derivatives. ir_paths_end:
 * more than LIMIT_PATH_NODES nodes were made (optional: LIMIT_PULLBACK_NODES). Then differentiation ends as fast as it
 * can, and its result is discarded; it is made again, less deep than ir_paths_depth. optional: the caller has another
 * result, so there is an end even where nothing was followed. */
void ir_follow_paths(World *w, int depth, bool optional);
bool ir_paths_end(const World *w);
int ir_paths_depth(const World *w); /* of the longest path that was followed */

/* ---- Rewrite rules (rule_overlaps.c) ----------------------------------------------------------- */
/* A term to which two rules apply, and what becomes of it by one and by the other first:
 * over the parameters of both. */
typedef struct RuleOverlap {
  Node *term, *one, *other;
} RuleOverlap;
/* Is there a term to which r applies as a whole and q within, with different results? */
bool ir_rules_disagree(World *w, const IrRule *r, const IrRule *q, RuleOverlap *out);

/* ---- Memos (memo.c) --------------------------------------------------------------------------- */
/* A place for what a pass made of a graph, a function or a type: NULL at first, one for each name and n
 * bytes of facts. */
void **ir_memo(World *w, const void *owner, const char *name, const void *facts, size_t n);
/* The same for what depends on the closures that may be called: empty again when there are more. */
void **ir_memo_closures(World *w, const void *owner, const char *name, const void *facts, size_t n);
#endif
