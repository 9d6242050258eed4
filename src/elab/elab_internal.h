/* SPDX-License-Identifier: MIT */
/* What the files of elaboration share.
 *
 *   elab.c         the interface: items, values and functions for hosts
 *   elab_types.c   types of the checker to types of the IR, under a substitution
 *   elab_state.c   variables, the token, closures, joins of branches, loops
 *   elab_scan.c    questions asked of a piece of syntax before it is elaborated
 *   elab_func.c    instances of functions, calls, partial application
 *   elab_expr.c    expressions
 *   elab_clock.c   what stands before and behind a reading of the clock
 *   elab_array.c   literals, subscripts, comprehensions, assignment, for and while
 *   elab_match.c   patterns and decision trees
 *   elab_arith.c   operators; elab_struct.c: what works leaf by leaf on any structure
 *   elab_rewrites.c  patterns of rewrite rules
 *   elab_prims.c   the primitives that `foreign "prim"` binds; elab_rules.c: their derivative rules
 *
 * Nodes are read in a region (ir.h). Every function here that returns a Node returns one that is read in
 * c->region as it is at the return; a value that is kept while regions open and close is kept as a Var. */
#ifndef ATLED_ELAB_INTERNAL_H
#define ATLED_ELAB_INTERNAL_H
#include "elab/elab.h"
#include "support/phases.h"

/* Substitution for quantified variables. A pure effect is represented by T_UNIT, an effect by T_TOKEN. */
typedef struct Subst {
  Type **vars;
  IrType **types;
  int n;
  const struct Subst *outer;
} Subst;

typedef struct LocalDef LocalDef;

/* A variable: its present value and the region that node is read in. */
typedef struct Var {
  Node *node; /* NULL: see def */
  Region *region;
  LocalDef *def; /* a local definition that is instantiated at each use */
} Var;

typedef Vec(Var) Vars;

/* A function at one choice of types. */
typedef struct Instance {
  IrType **inst;
  Func *func;  /* NULL while its parameters are being worked out */
  int arity;   /* without captures and token */
  bool effect; /* the last arrow has one: takes and returns a token */
  bool failed;
  Trap traps; /* World.traps as it was made */
} Instance;
typedef Vec(Instance *) Instances;

typedef struct BindingInfo { /* Binding.elab of top-level bindings */
  Instances instances;
  int global;      /* 1 + index in World.globals; 0: none */
  int in_progress; /* instances under way */
} BindingInfo;

/* A local function, generalised or recursive: becomes a Func whose further parameters are what it captures. */
struct LocalDef {
  Binding *binding;
  Expr *value;
  bool is_fun;
  bool recursive;
  const Subst *subst;
  Binding **captures; /* shared by the members of a group */
  int ncaptures;
  Instances instances;
  int in_progress;
};

typedef struct StructFunc {
  IrType *type;
  const void *key;
  Func *func;
  Trap traps; /* World.traps as it was made */
  Site site;  /* with traps: where it is used, for it fails there */
} StructFunc;

struct Elab {
  Arena *arena;
  World *w;
  SymTable *syms;
  Sources *sources;
  Checker *checker;
  Module *prelude;
  Diags *diags;
  bool failed;
  Span condition;     /* the latest condition of an `if` that is a comparison */
  char rule;          /* within a rule: its mark in the texts of traps (ir/traps.c); else 0 */
  int depth;          /* instances under way */
  int functions_made; /* see elab_functions_made */
  uintptr_t stack_base;
  Vec(Binding *) renewed; /* of functions with rewrite rules: got an instance since patterns were made */
  Vec(IrType *) unfit;    /* variants whose conversion failed */
  Map leaves;             /* IrType -> Leaf bits + 1 */
  Vec(StructFunc) struct_funcs;
  Func *rules[OP_COUNT]; /* elab_rules.c */
  bool rule_known[OP_COUNT];
  IrType *t_int, *t_float, *t_bool, *t_string, *t_unit, *t_token;
};

/* The elaboration of one Func or item. */
typedef struct Ctx {
  Elab *e;
  World *w;
  struct Ctx *outer; /* for LocalDefs */
  Region *region;
  const Subst *subst;
  Sym function;
  uint32_t definition; /* a number of the definition or item, for sites */
  Map vars;            /* Binding -> Var */
  Var token;           /* node NULL where no effect is possible */
  Vec(Var *) muts;     /* live `let mut` variables */
  int outer_muts;      /* how many of them are those of functions around this one */
  Vars bound;          /* values bound in this function since the last reading of the clock, if it has any */
  enum { CLOCK_UNKNOWN, CLOCK_NONE, CLOCK_READ } clock;
} Ctx;

/* ---- elab.c -------------------------------------------------------------------- */
/* Each entry from outside: where errors go, and from where C stack is counted. */
typedef struct Entry {
  Diags *diags;
  bool failed;
  uintptr_t stack_base;
  Phase phase;
} Entry;
Entry el_enter(Elab *e, Diags *diags); /* diags may be NULL */
bool el_leave(Elab *e, Entry saved);   /* whether all went well since */

/* ---- elab_types.c ------------------------------------------------------------- */
IrType *el_ir_type(Elab *e, const Subst *s, Type *t);
IrType *el_type(Ctx *c, Type *t);
bool el_effect(Ctx *c, Type *effect);
/* The type after n arguments. */
IrType *el_result_type(IrType *fun, int n);
/* Whether the n-th (from 1) arrow has an effect. */
bool el_arrow_effect(const IrType *fun, int n);
int el_count_arrows(const IrType *fun);
int el_field(const IrType *record, Sym name);
int el_cons_tag(const IrType *variant); /* of its constructor `::`; -1 if it has none */
enum { LEAF_FLOAT = 1, LEAF_INT = 2, LEAF_FUN = 4 };
unsigned el_leaves(Elab *e, IrType *t); /* which leaves a structure holds */
unsigned el_payload_leaves(Elab *e, const IrCtor *c);

/* ---- elab_state.c --------------------------------------------------------------- */
/* For what stands at `at`: within what `outer` (or NULL) is for, or a definition or item of its own. */
void el_init_ctx(Ctx *c, Elab *e, const Ctx *outer, Span at, Sym function, const Subst *subst);
Site el_site(Ctx *c, Span at);
Var el_var(Ctx *c, Node *x); /* x read here and now */
Node *el_read(Ctx *c, const Var *v);
void el_bind(Ctx *c, Binding *b, Node *x);
Var *el_lookup(Ctx *c, Binding *b);
Node *el_token(Ctx *c);                       /* for an operation with an effect; pair with el_take */
Node *el_take(Ctx *c, Node *value_and_token); /* sets the token, returns the value */
Node *el_settle(Ctx *c, Node *value);         /* a failing unit value becomes part of the token if there is one */
Node *el_after(Ctx *c, Node *x, Node *first);
/* What can fail waits for the effects of its operands: x, an operand, behind those since the mark. The mark is made
 * before the first operand is elaborated, the call after the last one. Functions and units don't wait, for they are
 * known where they are used: what fails without other operands is put behind by its place (lower/schedule.c). */
const Node *el_mark(const Ctx *c);
Node *el_behind(Ctx *c, const Node *mark, Node *x);
void el_all_behind(Ctx *c, const Node *mark, Node **xs, int n);
Node *el_pack_check(Ctx *c, Node *x); /* for a tuple or a loop's state, and back */
Node *el_unpack_check(Ctx *c, Node *x, IrType *t);
Node *el_with_token(Ctx *c, Node *value); /* TUPLE(value, token), settled */
Node *el_error(Ctx *c, Span at, IrType *t, const char *code, const char *message);
bool el_deep(Ctx *c, Span at); /* reports and returns true when C stack runs out */

typedef Node *(*ClosureBody)(Ctx *c, void *user, Node *x);
Node *el_closure(Ctx *c, IrType *fun, Sym name, ClosureBody body, void *user);

/* Branches. join_open; for each arm: join_arm, elaborate, join_end; then join_close makes the switch, with
 * `map[selector value] = arm` when there are more values than arms. Variables and token that an arm changed are
 * merged. */
typedef struct Join {
  int narms, arm;
  Region *outer;
  Region **regions;
  Node **values;
  Var *before, *after; /* state: after has a row for each arm */
  int nstate;
} Join;
void join_open(Ctx *c, Join *j, int narms);
void join_arm(Ctx *c, Join *j, int arm);
void join_end(Ctx *c, Join *j, Node *value);
Node *join_close(Ctx *c, Join *j, Node *selector, IrType *t, const int *map, int nmap);

typedef struct LoopSpec {
  Node *n;      /* trips; NULL with cond */
  Node **state; /* carried values, at entry and then at exit; the last naccs are accumulators */
  int nstate, naccs;
  IrType *elem; /* of the stacked output, or NULL */
  bool effect;  /* carries the token */
  bool sized;   /* the array's rows have the sizes that an iteration would give them also where there is none */
  Node *(*body)(Ctx *c, void *user, Node *i, Node **state); /* returns the element to be stacked */
  Node *(*cond)(Ctx *c, void *user, Node **state);
  void *user;
  Span at;
  Node *loop; /* its value, once it is made */
} LoopSpec;
Node *el_loop(Ctx *c, LoopSpec *s); /* the stacked array, or NULL */
/* [ body i | i < n ], n not negative; `sized` where rows keep their sizes (LoopSpec), if they can be known. */
Node *el_build(Ctx *c, Node *n, IrType *elem, bool effect, bool sized, Span at,
               Node *(*body)(Ctx *, void *, Node *, Node **), void *user);

/* ---- elab_scan.c ------------------------------------------------------------------ */
bool scan_effect(Ctx *c, Expr *e);                      /* does evaluating it have an effect? */
bool scan_clock(Ctx *c, Expr **es, int n, bool within); /* is the clock read in any, or (within) in a function there? */
bool scan_work(Ctx *c, Expr *e);                        /* may evaluating it be more than single operations? */
bool scan_unit_calls(Ctx *c, Expr *e);                  /* may it hold a check that only its unit value carries? */
Var **scan_assigned(Ctx *c, Expr **es, int n, int *count); /* live mut variables assigned in any of es */
Binding **scan_captures(Ctx *c, Expr **es, int n, Binding **group, int ngroup, int *count);
bool scan_reaches_itself(Elab *e, Binding *const *group, Expr *const *values, int n, int member);

/* ---- elab_func.c -------------------------------------------------------------------- */
typedef struct Prim Prim;
/* Something that can be called with `arity` arguments at once. */
typedef struct Callee {
  int arity;
  IrType *type; /* at this use */
  Sym name;
  Instance *instance; /* a Func, with its captures from def */
  LocalDef *def;
  const Prim *prim;
  const Ctor *ctor;
  int op; /* BinOp, when none of the above */
} Callee;
typedef struct Arg {
  Expr *expr;
  Node *node;
} Arg; /* one of them */
bool el_callee(Ctx *c, Expr *head, Callee *out);
Node *el_eta(Ctx *c, const Callee *f, Node **args, int n, Span at);
Node *el_apply_value(Ctx *c, Node *f, Node *x, Span at);
Node *el_apply(Ctx *c, Expr *head, Arg *args, int n, const Node *mark,
               Span at); /* mark: before args, as for el_behind */
Node *el_variable(Ctx *c, Expr *e);
Instance *el_instance(Elab *e, Binding *b, IrType **inst, Span use);
bool el_is_function(const Binding *b);
bool el_is_global(const Binding *b);
BindingInfo *el_info(Elab *e, Binding *b);
Node *el_let(Ctx *c, Expr *let); /* binds; returns unit, or the checks that only a unit value carries */

/* The library's rules don't hold in strict floating point: contributions to a cotangent may come in another order. */
static inline bool el_may_hold(const Elab *e, const RewriteRule *r) {
  return !e->w->strict || !r->item->binding->module->library;
}

/* ---- elab_rewrites.c ------------------------------------------------------------------ */
/* Instances of the function were made: makes what patterns its rules can have now. */
void el_rewrites(Elab *e, const Binding *b);
/* Makes the patterns of the rule at one choice of types. False after an error in diags. */
bool el_rewrite_rule(Elab *e, const Item *item, Diags *diags);

/* ---- elab_expr.c ---------------------------------------------------------------------- */
Node *el_expr(Ctx *c, Expr *e);

/* ---- elab_clock.c --------------------------------------------------------------------- */
void el_finish_bound(Ctx *c, Span at); /* what is bound so far is done before any later effect */
/* `rest`, elaborated so that none of its work can have begun before. */
Node *el_behind_clock(Ctx *c, Expr *rest, Node *(*elaborate)(Ctx *, Expr *));

/* ---- elab_array.c --------------------------------------------------------------------- */
Node *el_index(Ctx *c, Expr *e);
Node *el_comprehension(Ctx *c, Expr *e);
Node *el_assign(Ctx *c, Expr *e);
Node *el_for(Ctx *c, Expr *e);
Node *el_while(Ctx *c, Expr *e);
Node *el_array_append(Ctx *c, Node *a, Node *b, Span at);

/* ---- elab_match.c ---------------------------------------------------------------------- */
void el_bind_pattern(Ctx *c, Pat *p, Node *x, Span at);
Node *el_match(Ctx *c, Expr *e);
Node *el_if(Ctx *c, Node *cond, Node *(*arm)(Ctx *, void *, bool), void *user, IrType *t);

/* ---- elab_arith.c, elab_struct.c --------------------------------------------------------- */
Node *el_binary(Ctx *c, BinOp op, Node *a, Node *b, IrType *result, Span at);
Node *el_negate(Ctx *c, Node *a, Span at);
Node *el_equal(Ctx *c, Node *a, Node *b);
Node *el_less(Ctx *c, Node *a, Node *b);
Node *el_rt(Ctx *c, const char *name, IrType *result, IrType *type_arg, Node **args, int n, Span at);
Node *el_dot(Ctx *c, Node *a, Node *b, Span at);
Node *el_sum(Ctx *c, Node *a, Span at);

/* What is done at each leaf of a structure. */
typedef enum StructKind {
  SK_BINARY, /* a op b */
  SK_SCALE,  /* leaf op extra, or extra op leaf when flipped */
  SK_NEGATE,
  SK_ZEROS,
  SK_MAP,   /* extra leaf */
  SK_MAP2,  /* extra a b */
  SK_INNER, /* state: the sum of products so far */
  SK_COUNT, /* state: how many so far */
  SK_WRITE, /* state: array, place of the next */
  SK_READ   /* extra: array; state: place of the next */
} StructKind;
/* The structure computed leaf by leaf: only leaves of kind `target` (LEAF_FLOAT or LEAF_INT) are, the others are a's.
 * b and extra NULL where the kind has none. */
Node *el_leafwise(Ctx *c, StructKind kind, BinOp op, unsigned target, Node *a, Node *b, Node *extra, bool flipped,
                  Span at);
Node *el_inner(Ctx *c, Node *a, Node *b, Span at);
Node *el_floats(Ctx *c, Node *a, Span at);
Node *el_with_floats(Ctx *c, Node *a, Node *floats, Span at);
/* y, what a scalar operation makes of xs, with a trap if the program wants traps (World.traps). */
Node *el_trapped(Ctx *c, Op op, Node *y, Node **xs, int n, Span at);
/* x, marked as what `what` takes the derivative of, where a study asks for that (TRAP_CUTS). */
Node *el_cut(Ctx *c, const char *what, Node *x, Span at);
bool el_sums_in_order(const Ctx *c); /* are terms added one after the other, rather than to an accumulator? */
Node *el_add_term(Ctx *c, Node *sum, Node *x, Span at);
Node *el_add_product(Ctx *c, Node *sum, Node *x, Node *y, Span at); /* sum + x * y */
Node *el_scalar_op(Ctx *c, BinOp op, Node *a, Node *b, Span at);    /* + - * / on two ints or two floats */

/* ---- elab_prims.c --------------------------------------------------------------------------- */
typedef struct PrimCall {
  Ctx *c;
  const Prim *prim;
  Node **args;
  IrType *result;
  Span at;
} PrimCall;
struct Prim {
  const char *name;
  int arity;
  Node *(*fn)(PrimCall *p);
  int op; /* scalar operation, or -1 */
  const RtPrim *rt;
};
const Prim *prim_find(Elab *e, const Binding *b);    /* NULL: there is none of this name and type */
const char *prim_lacking(Elab *e, const Binding *b); /* why: a message */
Node *prim_call(Ctx *c, const Prim *p, Node **args, IrType *type, Span at);
const char *prim_op_name(Op op, int n);
#endif
