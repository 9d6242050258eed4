/* SPDX-License-Identifier: MIT */
/* Elaboration: from the checked syntax tree to monomorphic graphs, on demand.
 *
 * A definition of a function makes nothing by itself. It becomes a Func when something that is elaborated uses it,
 * once for each choice of types for its quantified variables. What is computed at top level becomes a graph without
 * parameters (or with one, the token, when it has an effect), whose values are stored as globals by whoever runs it.
 *
 * Everything lives in the arena given to elab_new. Diagnostics are few: the checker has seen the program before. */
#ifndef ATLED_ELAB_H
#define ATLED_ELAB_H
#include "ir/ir.h"
#include "check/check.h"

typedef struct Elab Elab;
typedef struct Pool Pool; /* graph/graph.h */

/* What an item amounts to. */
typedef struct ElabItem {
  Graph *graph;       /* NULL: nothing to compute (a type, a function, …). No parameter, or one: the token */
  bool effect;        /* one parameter: the graph takes a token and returns TUPLE(value, token) */
  int *globals;       /* I_LET: the value is TUPLE of these, indices in World.globals, in this order */
  Binding **bindings; /* for each of `globals` the binding that it is a part of */
  int nglobals;
} ElabItem;

/* The prelude is where rules of primitives and matrix product are looked up; it may be set
 * later, but before the first item is elaborated. */
Elab *elab_new(Arena *arena, World *w, SymTable *syms, Sources *sources);
void elab_set_prelude(Elab *e, Checker *checker, Module *prelude);

/* For arena_roll_back. */
void elab_save(Elab *e);
/* How many times so far a top-level definition became a function at types that were there before the entry, which later
 * entries may use it at too. */
int elab_functions_made(const Elab *e);

/* Elaborates an item that was checked without errors. I_LET of computed values: see ElabItem. I_EXPR, I_TEST and
 * I_BENCH: the graph's value is that of the expression (`run`, if there is one). I_RULE: its patterns at one choice of
 * types are made; the graph is that of its test, if there is one. False after an error in diags; `out`
 * is then empty. */
bool elab_item(Elab *e, Module *m, Item *item, Diags *diags, ElabItem *out);

/* How many rewrite rules have begun to hold; and warns of overlaps of the program's rules since then, with each other
 * and with older ones of it, that make different things of a term. */
int elab_rules_held(const Elab *e);
void elab_check_rules(Elab *e, int since, Diags *diags);

/* Are the item's values of the types that their bindings have, so that these suffice to make their globals again? And
 * is there a function in one? */
bool elab_is_plain(Elab *e, const ElabItem *item);
bool elab_holds_functions(Elab *e, const ElabItem *item);
/* Makes the binding, of such a value, a new global. */
int elab_define_global(Elab *e, Binding *b);

/* The function a binding names, at types inst[0 … b->nqvars) (NULL: each variable's default): parameters are its first
 * `nargs` arguments, then the token if the last of these arrows has an effect (the result is then TUPLE(value, token)).
 * nargs 0: as many as the definition has. NULL after an error, or when the binding isn't a function of that many. */
Func *elab_function(Elab *e, Binding *b, Type *const *inst, int nargs, Diags *diags);
/* A graph without parameters whose result is the value of the binding (a closure if it is a function). */
Graph *elab_value(Elab *e, Binding *b, Type *const *inst, Diags *diags);
/* Derivative rules by Op: there is one for each scalar operation that differentiation of g can meet, if the prelude has
 * one. pool: what function values in g may be. */
Func *const *elab_rules(Elab *e, Graph *g, Pool *pool);
/* A checked type without type variables, as graphs have it. */
IrType *elab_ir_type(Elab *e, Type *t);
/* The World global of a top-level value, or -1. */
int elab_global(const Binding *b);
#endif
