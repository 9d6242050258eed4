/* SPDX-License-Identifier: MIT */
/* The typed graph IR.
 *
 * A Node is an operation with operands, hash-consed: equal nodes are one pointer. Making a node runs its
 * normaliser, so what you get back may be another operation than the one you asked for.
 *
 * A Graph is a function: parameter types and a result node. Graphs are *closed*: a node refers to the function it
 * stands in only by PARAM k, never to nodes of an enclosing graph; what a nested graph (an arm, a loop body, a
 * closure) needs from outside is passed to it as captures, its last parameters. So graphs are values: two that
 * are equal up to renaming are one pointer, every fact about a node holds wherever it occurs, and substitution
 * never goes below one level. A node means nothing until one says in which graph it is read.
 *
 * Recursion goes through Func, which has an identity and gets its graph later.
 *
 * Effects: what has an effect takes a token as last operand and returns (value, token). An effectful graph has the
 * token as its last *own* parameter, before captures, and returns TUPLE(value, token). */
#ifndef ATLED_IR_H
#define ATLED_IR_H
#include "support/functions.h"
#include "support/rights.h"
#include "support/support.h"

typedef struct IrType IrType;
typedef struct Node Node;
typedef struct Graph Graph;
typedef struct Func Func;
typedef struct World World;
typedef struct Compilation Compilation;
typedef struct Rewriter Rewriter;
typedef struct PassWatch PassWatch;
typedef struct Remarks Remarks;

/* ---- Types -------------------------------------------------------------------- */
typedef enum IrKind {
  /* clang-format off */
  T_INT, T_FLOAT, T_BOOL, T_STRING, T_UNIT, T_TOKEN,
  /* clang-format on */
  T_TUPLE,   /* args; names when it is a record (sorted) */
  T_ARRAY,   /* args[0] element; nested arrays are one dense block: see ir_rank, ir_base */
  T_FUN,     /* args = {parameter, result}; effect. Always unary */
  T_VARIANT, /* nominal */
  T_BAG,     /* args[0]: what it accumulates for each element; an accumulator for an array (same nesting) */
  T_ENV /* an accumulator for a function: null, or (graph, accumulators for its captures); args[0] the function type */
} IrKind;

typedef struct IrCtor {
  Sym name;        /* for show and traces, which alone look at it */
  IrType *payload; /* T_UNIT: none */
  bool cons;       /* written between the two parts of its payload: head :: tail, the latter of the type itself */
  /* For each component of the payload, a tuple (else the first: for all of it): is it computed with and differentiated
   * (0), a key (KEY), which is only compared and shown, or a COUNT of keys? NULL: all are computed with. */
  const uint8_t *keys;
} IrCtor;
enum { KEY = 1, COUNT = 2 };
struct IrType {
  IrKind kind;
  uint32_t id;
  int n;
  IrType **args;
  Sym *names;
  bool effect; /* T_FUN */
  /* T_VARIANT */
  Sym name;        /* "shape", "list": for messages and pictures */
  const void *key; /* its declaration: identity with args */
  IrCtor *ctors;   /* filled by whoever interned it first; NULL until then */
  int nctors;
  Sym shown_as;        /* a tree, shown as this and the array of what stands between its subtrees; NULL */
  bool once;           /* values are mostly taken apart by their only user */
  bool nullable;       /* constructor 0 is the null, which takes no memory */
  IrType *accumulator; /* cached */
  const void *layout;  /* the runtime's, cached by lowering */
  const void *desc;
};
/* An int, a float or a bool. */
static inline bool ir_is_number(const IrType *t) { return t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_BOOL; }
IrType *ir_type(World *w, IrKind k);                               /* the argument-free kinds */
IrType *ir_tuple_type(World *w, IrType **args, Sym *names, int n); /* n = 0: T_UNIT. names NULL or sorted */
IrType *ir_pair_type(World *w, IrType *a, IrType *b);
IrType *ir_array_type(World *w, IrType *elem);
IrType *ir_fun_type(World *w, IrType *param, IrType *result, bool effect);
IrType *ir_bag_type(World *w, IrType *elem);
IrType *ir_env_type(World *w, IrType *fun);
/* Interned by (key, args). If ->ctors is NULL it is new: set ctors and nctors (types may be recursive). */
IrType *ir_variant_type(World *w, Sym name, const void *key, IrType **args, int n);
int ir_rank(const IrType *t);                    /* T_ARRAY or T_BAG: levels of nesting of that kind; else 0 */
IrType *ir_base(IrType *t);                      /* what is below them */
bool ir_holds_arrays(World *w, const IrType *t); /* it is an array or a bag, or refers to some, but in a function */
/* The type of accumulators for values of type t; T_UNIT where t holds no float. Idempotent (accumulators.c). */
IrType *ir_accumulator(World *w, IrType *t);
/* Of a constructor's payload: without keys. What is of it, x, from the accumulator of the payload as a tuple, and back,
 * with zeros for keys. */
IrType *ir_payload_accumulator(World *w, const IrCtor *c);
Node *ir_without_keys(World *w, const IrCtor *c, Node *x);
Node *ir_with_keys(World *w, const IrCtor *c, Node *x);
/* Is it a key or a count? */
static inline bool ir_is_key(const IrCtor *c, int k) { return c->keys && c->keys[k]; }
bool ir_is_plain(const IrType *t); /* an accumulator of floats alone: adding to it costs nothing */
/* What an environment for closures of this graph and function type holds: accumulators for the captures, a tuple. */
IrType *ir_env_payload(World *w, const Graph *g, const IrType *fun);

/* ---- Nodes ---------------------------------------------------------------------- */
typedef enum Op {
#define OP(name, text, signature, flags) OP_##name,
#include "ir/ops.def"
#undef OP
} Op;
/* Apart, so that a switch over Op with a case for each operation is complete. */
enum {
  OP_COUNT = 0
#define OP(name, text, signature, flags) +1
#include "ir/ops.def"
#undef OP
};
/* As in ops.def. */
enum {
  OPF_S = 1,
  OPF_C = 2,
  OPF_F = 4,
  OPF_A = 8,
  OPF_L = 16,
  OPF_K = 32,
  OPF_Q = 64,
  OPF_B = 128,
  OPF_V = 256,
  OPF_R = 512,
  OPF_W = 1024,
  OPF_N = 2048,
  OPF_P = 4096,
  OPF_D = 8192,
  OPF_H = 16384
};
extern const char *const op_names[OP_COUNT];
extern const uint16_t op_flags[OP_COUNT];
extern const char *const op_signatures[OP_COUNT];
int op_operands(Op op); /* how many; -1: any number */

/* A runtime primitive: one row of src/prims/rt.def. */
typedef struct RtPrim {
  const char *name, *type;
  bool effect, fails;
  bool typed;      /* what 'a stands for is handed on */
  bool clock;      /* a reading of a clock, on whose two sides work stays where it is (elab_clock.c) */
  bool makes_text; /* ... and keeps nothing in text that it reads, so that several threads may read that */
  bool ends;       /* it never returns: it ends the program */
  bool pattern;    /* its first operand is a regular expression */
  bool known;      /* its value is what is known of a pattern when it is compiled (patterns.c) */
  bool of_run;     /* its value is the host's, or may be another one in the next run, or it shows something */
  Right right;     /* that the VM must have */
} RtPrim;

/* A source place with the calls it was inlined through. 0 is none. */
typedef uint32_t Site;
typedef struct SiteInfo {
  Span at;
  Sym function;
  Site parent;
  uint32_t definition; /* a number of the definition or item that the outermost place stands in */
  bool library;        /* a place of the library: what calls from there isn't shown */
} SiteInfo;
Site ir_site(World *w, Span at, Sym function, uint32_t definition, bool library);
const SiteInfo *ir_site_info(const World *w, Site s);
/* The innermost place of the chain that is none of the library's; if all are, the outermost. */
const SiteInfo *ir_shown_place(const World *w, Site s);
/* In the function where the inlining chains of s and t diverge: the place of s ends before that of t begins, or lies
 * within it, as an operand does. */
typedef enum Standing { STANDS_ELSEWHERE, STANDS_BEFORE, STANDS_WITHIN } Standing;
Standing ir_site_standing(const World *w, Site s, Site t);
/* Do two nodes that are equal but for their places stay two? So for what may fail, not end or have an effect. */
bool ir_site_is_identity(const Node *n);
static inline bool ir_site_follows(const World *w, Site s, Site t) {
  return ir_site_standing(w, t, s) == STANDS_BEFORE;
}

/* loop: operands are [n] (when !has_cond), carried…, accs…, sliced…, captures…
 * body graph[0]: parameters i, carried…, accs…, elements of sliced…, captures…; returns
 *   TUPLE(carried…, accs…, stacked elements…).
 * cond graph[1] (has_cond): parameters i, carried…, captures…; returns bool; the loop runs while it holds.
 * The loop's value is TUPLE(carried…, accs…, stacked arrays…, trips : int).
 * i counts 0 … n-1, downwards if `down`. Sliced arrays have length n (with `cond`: at least as many as trips).
 * An accumulator is only added to: its result is a chain of CADD and ACC_AT from its parameter. An array that is one is
 * changed by UPDATEs, which add to what was there, or store to elements that no other iteration reads or writes.
 * A loop without carried values has independent iterations. Stacked rows must have one length: fails at `site`. Where
 * no iteration makes one, stacked result k has rows of no elements, or, with bit k of `sized`, rows of the sizes that
 * all iterations would give them: these are known outside (ir_row_length). Results from 64 on never are. */
typedef struct LoopInfo {
  int ncarried, naccs, nsliced, nstacked, ncaps;
  bool has_cond, down;
  uint64_t sized;
} LoopInfo;
typedef enum LoopPart { LOOP_CARRIED, LOOP_ACC, LOOP_SLICED, LOOP_CAPTURED } LoopPart;
/* Places. Inputs are numbered without the trip count: input k is operand loop_first + k, the body's parameter 1 + k.
 * The slots, carried values and accumulators, come first among inputs and results. */
static inline int loop_first(const LoopInfo *l) { return l->has_cond ? 0 : 1; }
static inline int loop_slots(const LoopInfo *l) { return l->ncarried + l->naccs; }
static inline int loop_captures(const LoopInfo *l) { return loop_slots(l) + l->nsliced; } /* the first capture */
static inline int loop_inputs(const LoopInfo *l) { return loop_captures(l) + l->ncaps; }
static inline LoopPart loop_part(const LoopInfo *l, int k) {
  if (k < loop_slots(l)) return k < l->ncarried ? LOOP_CARRIED : LOOP_ACC;
  return k < loop_captures(l) ? LOOP_SLICED : LOOP_CAPTURED;
}
static inline bool loop_is_sized(const LoopInfo *l, int k) { return k < 64 && l->sized >> k & 1; }
/* Which parameter of the condition input k is, which only carried values and captures are; -1. */
static inline int loop_cond_param(const LoopInfo *l, int k) {
  LoopPart part = loop_part(l, k);
  if (part == LOOP_CARRIED) return 1 + k;
  return part == LOOP_CAPTURED ? 1 + l->ncarried + k - loop_captures(l) : -1;
}
/* And which input parameter p > 0 of the condition is. */
static inline int loop_cond_input(const LoopInfo *l, int p) {
  return p - 1 < l->ncarried ? p - 1 : loop_captures(l) + p - 1 - l->ncarried;
}

/* A constant array: its dimensions, and the scalars of its elements in row-major order, as bits. data.c */
typedef struct ArrayData {
  int64_t *dims;
  const int64_t *slots;
  int64_t nslots;
  uint64_t hash;
} ArrayData;

struct Node {
  uint16_t op;
  uint16_t flags; /* NODE_*: facts about the whole DAG below */
  int nops;
  uint32_t id; /* creation order: operands come first */
  uint32_t hash;
  uint32_t mark;    /* of the latest walk that reached it */
  int32_t pos;      /* its place in that walk */
  uint32_t nparams; /* 1 + greatest PARAM index below; 0: closed */
  uint32_t order;   /* number of its making in the entry that made it last: see ir_before */
  IrType *type;
  Site site; /* of what may fail by itself (checks, FAIL, RT, …), and with TRAP_PLACES of operations on floats: part of
                identity; else the first one */
  uint32_t definition; /* APPLY, CALL, LOOP, ZEROS: the site's, part of identity */
  int ngraphs;
  union {
    int64_t i;
    double f;
    Sym text;
    Func *func;
    const RtPrim *rt;
    int global;
    const ArrayData *data;
  } attr;
  Graph **graphs; /* closures, arms, loop bodies */
  LoopInfo *loop;
  IrType *type_arg; /* RT: the type it works at, where it is generic (show, compare, …) */
  Node **ops;
};
typedef Vec(Node *) Nodes;
/* An order for operands that may be exchanged: that in which the entry made them, so mostly that of the source,
 * whatever was compiled before in the VM. Parameters come first, in their order. */
static inline bool ir_before(const Node *a, const Node *b) {
  bool first = a->op == OP_PARAM, second = b->op == OP_PARAM;
  return first != second ? first : first ? a->attr.i < b->attr.i : a->order < b->order;
}
/* What passes tell apart: what is made of its operands where it stands; one of several graphs; a graph again and again;
 * a function that stands elsewhere, known or not. */
typedef enum IrShape { IR_STRAIGHT, IR_BRANCH, IR_LOOP, IR_CALL } IrShape;
static inline IrShape ir_shape(const Node *n) {
  switch ((Op)n->op) {
  case OP_SWITCH: return IR_BRANCH;
  case OP_LOOP: return IR_LOOP;
  case OP_CALL:
  case OP_APPLY:
  case OP_VJP:
  case OP_JVP:
  case OP_CHECKPOINT: return IR_CALL;
  default: return IR_STRAIGHT;
  }
}
/* Does it run its graphs itself? */
static inline bool ir_is_control(const Node *n) { return ir_shape(n) == IR_BRANCH || ir_shape(n) == IR_LOOP; }
/* Which parameter of graph g of a branch or loop operand k is; -1: none. */
static inline int ir_inner_param(const Node *n, int g, int k) {
  if (n->op == OP_SWITCH) return k - 1;
  int input = k - loop_first(n->loop);
  if (input < 0) return -1;
  return g == 0 ? 1 + input : loop_cond_param(n->loop, input);
}
/* Is it ordered among effects: does it take the token, but to hand it on? */
static inline bool ir_is_effect(const Node *n) {
  if (n->op == OP_GET || n->op == OP_TUPLE || n->op == OP_AFTER) return false;
  for (int k = 0; k < n->nops; k++)
    if (n->ops[k]->type->kind == T_TOKEN) return true;
  return false;
}
static inline bool ir_is_constant(const Node *n) { return (op_flags[n->op] & OPF_K) != 0; } /* reads nothing */
enum {
  NODE_FAILS = 1,    /* evaluating it may fail or not terminate */
  NODE_COSTLY = 2,   /* holds a loop, call or allocation */
  NODE_CALLS = 4,    /* holds a CALL of a Func that isn't finished yet, or a recursive one */
  NODE_AD = 8,       /* holds VJP, JVP or CHECKPOINT, in nested graphs too */
  NODE_APPLIES = 16, /* holds APPLY of an unknown function */
  NODE_VARIES = 32,  /* isn't data: numbers, strings, constructors, tuples and arrays of such */
  NODE_FORKS = 128,  /* holds a fork, of `par`, or depends on how many there are around it */
  NODE_ENDLESS = 64  /* may not end: holds a loop whose trips aren't known beforehand, recursion, an unknown function */
};

struct Graph {
  int nparams;
  IrType **params;
  Node *result;
  uint32_t id, hash;
  int size;          /* distinct nodes but traps, with nested graphs */
  uint16_t flags;    /* of result */
  uint64_t identity; /* not 0: closures of it may be told apart and taken apart at run time (CLOSURE_ID, CLOSURE_CAP),
                           so that their captures stay as they are, and rewritten graphs inherit the number */
  /* first name it got in the entry that made it last, for traces and pictures; no part of identity */
  Sym name;
  uint32_t named; /* the arena's epoch then */
  void *cache;    /* ir: its nodes in order */
};
/* May there be effects in it? */
static inline bool ir_takes_token(const Graph *g) {
  for (int k = 0; k < g->nparams; k++)
    if (g->params[k]->kind == T_TOKEN) return true;
  return false;
}

/* A named function. Non-recursive ones are mere names for a graph and are usually inlined. */
struct Func {
  Sym name;
  uint32_t id;
  int nparams;
  IrType **params;
  IrType *result;
  Graph *graph;   /* NULL until it is finished */
  bool recursive; /* set if a graph reachable from its own calls it: by ir_mark_recursive at the latest */
  bool opaque;    /* has a derivative rule: not inlined before AD is done */
  bool outlined;  /* stands for code that would be made several times: never inlined */
  /* Rewrite rules may match its calls, so these stay until rules have been tried: the function as elaboration made it,
     which has the rules; NULL: there are none. */
  struct Func *ruled;
  struct IrRule *rules; /* that begin with its calls, in order of declaration */
  Func *pullback;       /* rule: same parameters -> (value, closure) */
  Func *tangent;        /* rule: parameters, tangents -> (value, tangent) */
  /* With a rule: of each parameter a number for the closures in it that the function is specialised to, 0: none;
     NULL: none at all. See specialise.c. */
  const uint64_t *made_for;
  struct {
    Sym library, symbol;
  } foreign; /* a C function of floats/ints: no graph */
  Span span;
  struct Map *specialised; /* (argument position, closure graph) -> Func */
  void *lower;             /* cache of a later stage */
};

/* A rewrite rule: calls that `left` matches become `right` of what its parameters stand for. Both are over the rule's
 * parameters, those of `right`. See rule_matches.c. */
typedef struct IrRule {
  Sym name;
  Span at;
  int number;        /* rules are tried in the order of their numbers */
  bool library;      /* it is one of the library's */
  const bool *off;   /* whether it doesn't hold (RewriteRule.off) */
  const Sym *names;  /* of the parameters */
  const bool *known; /* the parameters that have to be constants */
  Node *left;        /* a CALL of a Func that is ruled */
  Graph *right;
  uint32_t applied; /* how often, since the count was set back */
  struct IrRule *next;
} IrRule;

/* ---- World ------------------------------------------------------------------------ */
typedef struct GlobalInfo {
  Sym name;
  IrType *type;
  int64_t *facts; /* globals.c; NULL: none */
  Node *value;    /* made of nothing that is only known when the program runs; NULL: that isn't so, or not seen */
} GlobalInfo;
/* Which floats end the program where an operation makes them: see traps.c. TRAP_CUTS: none, but what cuts a value off
 * from derivatives has a MARK, for facts/gradient_paths.c. TRAP_PLACES: none, but operations on floats have places, for
 * facts/cost.c. Graphs of these two are never lowered. TRAP_POINT: none, but what operations and their derivatives are
 * given and yield is recorded (Rt.record), for api/study_point.c. */
typedef enum Trap { TRAP_NOTHING, TRAP_NANS, TRAP_INFINITIES, TRAP_CUTS, TRAP_PLACES, TRAP_POINT } Trap;
struct World {
  Arena *arena;
  Arena *temp;              /* what passes need while they run: the compilation's */
  Compilation *compilation; /* what is under way; NULL between entries */
  SymTable *syms;
  const bool strict;    /* strict floating point: AD's sums aren't collected either */
  const bool contract;  /* products and sums may be one operation, and the CPU has it */
  Functions *functions; /* by which constants are folded; NULL: the C library's */
  Trap traps;           /* what elaboration traps; constant in an entry */
  bool asserts_proofs;  /* each check that a pass removes as proved leaves an assertion: in builds for testing */
  Vec(SiteInfo) sites;
  Vec(GlobalInfo) globals;
  Vec(Func *) funcs;
  bool no_rules;       /* rewrite rules aren't applied */
  int nrules;          /* rewrite rules that have begun to hold */
  int ruled;           /* functions that rewrite rules may match calls of */
  bool has_statics;    /* elaboration has made a call of `static` */
  void *tables;        /* hash tables, private to ir.c */
  uint64_t identities; /* given out so far: Graph.identity */
  uint32_t next_id;    /* the latest number of a node, type, graph or function */
  uint32_t met;        /* the latest one given out as Node.order */
  /* world_save doesn't save what follows. */
  uint32_t walk; /* number of the latest walk: Node.mark; it only grows */
  /* Runs g, which has no parameters and no effect, and yields its value as a constant; NULL: that can't be had, and has
     been reported at the place. Rules of higher numbers than nrules don't hold in it. `value` NULL: nothing is run. */
  struct Evaluator {
    Node *(*value)(void *user, Graph *g, int nrules, Site at);
    Node *(*global)(void *user, int global); /* a global's value, a constant; NULL: it has none yet, or it is no data */
    void *user;
  } evaluator;
  PassWatch *watch; /* who wants to know of the optimiser's runs (opt/passes.h); NULL: nobody */
  Remarks *remarks; /* what passes say of what they leave as it is; NULL: nobody asks */
};
World *world_new(Arena *a, SymTable *syms, bool strict, bool contract);
/* For arena_roll_back: all of the world but the numbers of walks, which marks in nodes refer to. */
void world_save(World *w);
#ifdef ATLED_VERIFY
/* Before memory is compared with a copy: clears the marks that traversals left in nodes, and exchanges the world's
 * numbers of traversals with these. */
void world_forget_walks(World *w, uint32_t walks[2]);
#endif

/* Graphs are made in a compilation: compilation.h says what that is. One begun in another, after an arena_mark, goes
 * before arena_roll_back and arena_commit. Without one the latter does nothing, so what failed is ended by calling it
 * until there is none. */
void compilation_begin(World *w);
void compilation_end(World *w);
/* What the pass makes of g, with functions that have a derivative rule inlined too: no derivative is taken any more. */
Graph *ir_without_rules(World *w, Graph *g, Graph *(*pass)(World *w, Graph *g, void *user), void *user);
/* What the pass makes of g while rewrite rules are tried on all calls that it makes. */
Graph *ir_with_rules(World *w, Graph *g, Graph *(*pass)(World *w, Graph *g, void *user), void *user);
/* Was the type there before the entry? */
bool ir_is_older(const World *w, const IrType *t);

/* ---- Making nodes ------------------------------------------------------------------- */
Node *ir_param(World *w, int k, IrType *t);
Node *ir_int(World *w, int64_t v);
Node *ir_float(World *w, double v);
Node *ir_bool(World *w, bool v);
Node *ir_string(World *w, Sym s);
Node *ir_text(World *w, const char *text);
Node *ir_unit(World *w);
Node *ir_zero(World *w, IrType *t);
Node *ir_global(World *w, int global); /* index in w->globals; an int or bool that is known is that */
/* What is known of globals (globals.c). The facts can be written into; NULL: there can't be any. */
#define FACT_UNKNOWN INT64_MIN
int ir_fact_slots(const IrType *t); /* how many a value of the type has */
int64_t *ir_global_facts(World *w, int global);
/* Scalar operations and others whose type follows from the operands: everything flagged S but LEN, SELECT of two
 * equal types, AFTER, STOP, CHECK_*. */
Node *ir_op1(World *w, Op op, Node *a);
Node *ir_op2(World *w, Op op, Node *a, Node *b);
Node *ir_op3(World *w, Op op, Node *a, Node *b, Node *c);
/* CHECK_INDEX, _SLICE, _SIZE, _NONZERO, _DEPTH, _NAT; b, c NULL where unused */
Node *ir_check(World *w, Op op, Node *a, Node *b, Node *c, Site site);
Node *ir_check_size(World *w, Node *n, Node *m, Sym message, Site site); /* message: NULL, or with holes (text_fill) */
Node *ir_check_nat(World *w, Node *n, Sym what, Site site);
/* traps.c. y, what `op` makes of the n numbers xs, trapped as w->traps says; `text` as there. */
Node *ir_trapped(World *w, Op op, const char *text, Node *y, Node **xs, int n, Site site);
/* The bool y, what comparison `what` makes of the floats a and b, recorded with TRAP_POINT; `what` begins with '?'. */
Node *ir_recorded(World *w, const char *what, Node *y, Node *a, Node *b, Site site);
/* The text of a recorded comparison whose operands depend on what a derivative is taken by: with '!' for '?'. */
Sym ir_recorded_text(World *w, Sym text);
/* x, an operation on floats without a place, with this one, where operations have places (TRAP_PLACES); else x. */
Node *ir_placed(World *w, Node *x, Site site);
Node *ir_mark(World *w, const char *what, Node *x, Site site);
Node *ir_trap(World *w, Op op, Sym text, Node **ops, int n, Site site); /* op: TRAP_NAN or TRAP_INF */
/* Can the trap's operation yield what it traps? If not, the trap is there for derivatives alone. */
bool ir_trap_is_needed(const Node *n);
static inline bool ir_is_trap(const Node *n) { return n->op == OP_TRAP_NAN || n->op == OP_TRAP_INF; }
Node *ir_assert(World *w, Node *cond, Node *message, Site site); /* CHECK: unit; use with AFTER */
Node *ir_same_key(World *w, Node *a, Node *b, Site site);        /* unit; fails if the keys differ. Use with AFTER */
/* The message for a, of constructor k, and b, of another one, whose keys ought to be the same; NULL: there are none. */
Node *ir_missing_key(World *w, Node *a, int k, Node *b);
/* What a failing node is reported as: `fail` of the program, no case of a match, unequal shapes; a derivative that is
 * dropped, or of a function that is unknown; one of what can have no rule; one of what has none. The last two are
 * errors before the program runs. */
typedef enum FailKind { FAIL_USER, FAIL_MATCH, FAIL_SHAPE, FAIL_RULE, FAIL_EFFECT, FAIL_NO_RULE } FailKind;
Node *ir_fail(World *w, FailKind kind, IrType *t, Node *message, Site site);
/* FADD or FSUB of ops, like sum, marked to stay apart from products. */
Node *ir_apart(World *w, const Node *sum, Node **ops);
Node *ir_tuple(World *w, IrType *t, Node **xs); /* t a T_TUPLE (or T_UNIT); t->n elements */
Node *ir_pair(World *w, Node *a, Node *b);
Node *ir_record(World *w, Node **xs, int n); /* a tuple of what is given, without names */
/* x, which was found without y: y is waited for all the same if it may not end. (Its error may be lost.) */
Node *ir_waiting(World *w, Node *x, Node *y);
/* What an AFTER waits for, its attr.i: what is seen to fail; what may not end, also where that isn't seen, since a
 * parameter stands for it (the residual of another stage, say); what can fail, also where it is a parameter or a part
 * of one, that stands for it. */
typedef enum Waits { WAITS_SEEN, WAITS_END, WAITS_ERROR } Waits;
Node *ir_after(World *w, Node *x, Node *y, Waits waits);
Node *ir_only(World *w, IrType *tuple, int k, Node *x); /* a tuple that is zero but for component k */
Node *ir_get(World *w, Node *t, int k);
Node *ir_inj(World *w, IrType *variant, int tag, Node *payload); /* payload NULL or UNIT for none */
Node *ir_tag(World *w, Node *v);
Node *ir_uninj(World *w, Node *v, int tag);
/* g: 1 own parameter (+ token if effect), then captures */
Node *ir_closure(World *w, Graph *g, IrType *fun, Node **caps, int n);
Node *ir_apply(World *w, Node *f, Node *x, Node *token, Site site); /* token NULL unless f's type has effect */
Node *ir_call(World *w, Func *f, Node **args, Site site);           /* inlines or specialises where that pays */
/* A branch made capture by capture, and then arm by arm. In its arms a capture is a parameter: what branch_add
 * returns. A bool's arms are those of false and true; an int that is out of range chooses the last one. */
typedef struct BranchBuilder BranchBuilder;
BranchBuilder *branch_open(World *w, Node *selector);
Node *branch_add(BranchBuilder *b, Node *x);
void branch_add_all(BranchBuilder *b, Node **xs, int n);
void branch_arm(BranchBuilder *b, Node *result, Sym name);
void branch_graph(BranchBuilder *b, Graph *arm); /* an arm that is a function of all captures */
Node *branch_close(BranchBuilder *b);
/* Branch n, a SWITCH, over other operands and arms of the same parameters, which yield these results. */
Node *ir_switch_yielding(World *w, const Node *n, Node **ops, Graph **arms, Node **results);
/* How many ints there are from `from` up to `to`, itself included if `inclusive`: 2^63 - 1 if there are more. */
Node *ir_count_between(World *w, Node *from, Node *to, bool inclusive);
/* x, the value of something after the loop whose value is `loop`, having waited for its end. */
Node *ir_after_loop(World *w, Node *x, Node *loop);
bool ir_is_natural(const Node *x); /* not negative, as far as that is seen */
/* Is x the loop that ir_after_loop makes, without end if its operand, a trip count, stands for endless counting? */
bool ir_guards_ending(const Node *x);
/* May trip count n be 2^63 - 1, which stands for all that is more, by what it is made of? is_natural: what is known. */
bool ir_may_saturate(const Node *n, bool (*is_natural)(const Node *));
/* The length in dimension dim of carried value k of a loop, if it is an array whose length never changes; else NULL.
 * Operands from the first carried value on. */
Node *ir_carried_length(World *w, const LoopInfo *l, Node **ops, Graph *body, int k, int dim);
/* The length of x, an array in the loop's body, in terms of the loop's operands without the trip count, where it is
 * the same in all iterations; else NULL. */
Node *ir_length_outside(World *w, const Node *loop, Node **ops, Node *x);
/* Dimension dim > 0 of stacked output k of a loop over `ops`, inputs without the trip count, in terms of these: as its
 * rows have it in all iterations, and not negative; NULL: it isn't known. */
Node *ir_row_length(World *w, const LoopInfo *l, Node **ops, Graph *body, int k, int dim);
/* x, which is made as stacked output k of such a loop is by another body: with the sizes of that output's rows where it
 * has none, though the other body may not tell them. */
Node *ir_sized_as(World *w, const LoopInfo *l, Node **ops, Graph *body, int k, Node *x);
/* Has x, an array in the loop's body, the same dimensions in all iterations? */
bool ir_shape_is_fixed(World *w, const Node *loop, Node **ops, Node *x);
/* Does result k of the loop stack rows that may be of different lengths, which is an error? */
bool ir_rows_may_differ(World *w, const Node *loop, int k);
/* Does every iteration leave carried value k, an array, with the dimensions it had? */
bool ir_keeps_shape(const LoopInfo *l, const Graph *body, int k);
/* Are the rows of a literal, ARRAY, certainly of one length? If they aren't, making it is an error: then no element may
 * be read from a row instead, as its indices are checked against the first row's length. */
bool ir_rows_agree(World *w, const Node *array);
/* The constant array of these dimensions, as ArrayData says: `slots` are its own from here on. */
Node *ir_constant_array(World *w, IrType *array, int64_t *dims, int64_t *slots, int64_t nslots, Node **ops, int64_t n);
/* DATA, if all are constants and rows of one length */
Node *ir_array(World *w, IrType *elem, Node **xs, int n, Site site);
/* n, the length of an array that may never be made, where its size would be looked at: checked if it is a sum that
 * may wrap. */
Node *ir_possible_length(World *w, Node *n, Site site);
Node *ir_len(World *w, Node *a, int dim);
/* Byte i of string s, for an index in bounds. */
Node *ir_byte(World *w, Node *s, Node *i);
/* Is it the length of an array or string that exists? */
static inline bool ir_is_size(const Node *x) { return x->op == OP_LEN || x->op == OP_BYTES; }
Node *ir_index(World *w, Node *a, Node **is, int n);
Node *ir_slice(World *w, Node *a, Node *lo, Node *count);
Node *ir_update(World *w, Node *a, Node **is, int n, Node *v);
Node *ir_zeros(World *w, IrType *array, Node **dims, Site site);
Node *ir_product(World *w, Node **dims, int n); /* the number of elements of an array with these dimensions */
/* Fails where the numbers of elements differ; without a place they are known to be equal. */
Node *ir_reshape(World *w, IrType *array, Node *a, Node **dims, Site site);
Node **ir_dims(World *w, Node *array); /* LEN of each dimension, ir_rank of them; room for one more */
/* An operation on a bag; `rest`: dimensions, then indices; v the entry put in, or NULL. */
Node *ir_bag(World *w, Op op, IrType *t, Node *bag, Node **rest, int n, Node *v);
Node *ir_bag_reshape(World *w, IrType *t, Node *bag, Node **from, int nfrom, Node **to, int nto);
Node *ir_bag_get(World *w, Node *bag, Node *array, Node *i); /* entry i of an accumulator for `array` */
/* What an accumulator is filled to: with arrays for bags, but for those within variants. */
IrType *ir_dense_type(World *w, IrType *accumulator);
Node *ir_fill_like(World *w, Node *bag, Node *like); /* … with the sizes of `like`, whose cotangent the bag is */
Node *ir_fill(World *w, Node *bag, Node *like);      /* an array shaped like `like`; what is no bag stays as it is */
Node *ir_to_bag(World *w, Node *array);              /* what is no array stays as it is */
/* with effect: last arg the token; value is (result, token) */
Node *ir_rt(World *w, const RtPrim *p, IrType *result, IrType *type_arg, Node **args, int n, Site site);
/* x, which is to be computed when the program is compiled: see opt/statics.c. Of a constant that itself. */
Node *ir_static(World *w, Node *x, Site site);
bool ir_is_static(const Node *n);
/* (y, closure C->C as public types: 'b -> 'a); with token: ((y, pb), token) */
Node *ir_vjp(World *w, Node *f, Node *x, Node *token, Site site);
Node *ir_jvp(World *w, Node *f, Node *x, Node *dx, Node *token, Site site); /* (y, dy) */
Node *ir_checkpoint(World *w, Node *f, Node *x, Node *token, Site site);
/* The node with these operands and graphs that has no source place, as it is: for comparing nodes. */
Node *ir_placeless(World *w, const Node *old, Node **ops, Graph **graphs);
/* Any node again with other operands (and graphs): renormalises. */
Node *ir_rebuild(World *w, const Node *old, Node **ops, Graph **graphs);
/* Generic constructor behind the above; for AD and passes. */
Node *ir_make(World *w, Op op, IrType *t, Node **ops, int n);

Graph *ir_graph(World *w, IrType **params, int n, Node *result, Sym name);
Func *ir_func(World *w, Sym name, IrType **params, int n, IrType *result); /* unfinished */
void ir_func_finish(World *w, Func *f, Node *result);
/* From now on calls of f stay calls until rewrite rules have been tried. */
void ir_mark_ruled(World *w, Func *f);
/* Adds the rule to those of the function that its left side begins with. */
void ir_add_rule(World *w, IrRule *rule);
/* Does the right side hold a call that the left one matches? */
bool ir_rule_matches_itself(World *w, const IrRule *rule);
/* Are they nodes of one operation, but for their operands and places? */
bool ir_same_operation(const Node *p, const Node *x);
/* Is x what p is, but for places? Both are over the same n parameters. */
bool ir_matches(World *w, const Node *p, Node *x, int n);
/* The result of g with parameters replaced. Sites inside become inlined at `site` (0: unchanged). */
Node *ir_instantiate(World *w, Graph *g, Node **args, Site site);
/* x with PARAM k replaced by args[k]. */
Node *ir_substitute(World *w, Node *x, Node **args, int nargs, Site site);
/* Environments (T_ENV): OP_INJ and OP_UNINJ with the closure's graph; the payload is a tuple, ir_env_payload. */
Node *ir_env(World *w, Op op, IrType *t, Graph *g, Node *x);
Node *ir_closure_cap(World *w, Node *closure, Graph *g, int i);
Node *ir_graph_id(World *w, Graph *g);
Func *ir_graph_func(World *w, Graph *g); /* a function with that graph, one for each graph */
int ir_rt_id(const RtPrim *p);           /* its row: RtPrimId */
const char *ir_rt_name(int id);
const RtPrim *ir_rt_row(int id);
const RtPrim *ir_rt_find(const char *name); /* a row of src/prims/rt.def, or NULL */
int ir_rt_operands(const RtPrim *p);        /* without the token */
int ir_op_find(const char *name);           /* the scalar op named so in ops.def for floats ("sin"), or -1 */

/* ---- Rewriting: see rewrite.c ----------------------------------------------------------- */
typedef struct RewritePass {
  void *user;
  void *(*begin)(void *user, Graph *g); /* what is known of one graph: handed to `node`; may be NULL */
  /* What becomes of a node of it, given what became of its operands and graphs; NULL: the same operation again. */
  Node *(*node)(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs);
  /* What becomes of a graph, instead of the two above: for passes that need to know where a nested graph stands. */
  Graph *(*graph)(void *user, Rewriter *r, Graph *g);
  bool renormalise;   /* instantiation makes every node anew */
  bool general_calls; /* no call is specialised: for passes that go over what they made, which would go on for ever */
} RewritePass;
Graph *ir_rewrite(World *w, Graph *g, RewritePass pass);
/* A rewriter by itself, for passes that make two versions of functions: what it makes of a graph or function it makes
 * once. */
Rewriter *rewriter_new(World *w, RewritePass pass);
Graph *rewriter_run(Rewriter *r, Graph *g);
Graph *rewrite_graph(Rewriter *r, Graph *g);
Graph *rewrite_nodes(Rewriter *r, Graph *g); /* node by node: what a pass's `graph` may end with */
/* the same operation, what it calls rewritten */
Node *rewrite_node(Rewriter *r, Node *n, Node **ops, Graph **graphs);
Func *rewrite_func(Rewriter *r, Func *f);
/* Is g, which has an identity, being rewritten, so that what becomes of it can't be called yet? What is made until
 * it is done is made without it then, and made again for other uses. rewrite_miss_all: without something that is not
 * to be made at this depth. */
bool rewrite_miss(Rewriter *r, const Graph *g);
void rewrite_miss_all(Rewriter *r);
int rewrite_depth(const Rewriter *r); /* how many graphs with an identity are being rewritten */

/* ---- Regions: building nested graphs without knowing the captures beforehand ---------------------------
 * Region *r = region_open(w, outer); own parameters: region_param(r, type) in order, all before the first import.
 * A node made while r is innermost is read in r. To use node x of region `from` (r or an ancestor):
 * region_import(r, from, x); it becomes a capture of every region between, or itself if it is constant.
 * region_close makes the graph: own parameters, then captures; r->caps (nodes of the outer region), r->ncaps.
 * Arms of one switch must share their captures: region_branch. */
typedef struct Region {
  World *w;
  struct Region *outer;
  int nown, ncaps;
  Vec(IrType *) params;
  Vec(Node *) caps; /* in terms of `outer` */
  Map imports;      /* what has been imported */
} Region;
Region *region_open(World *w, Region *outer);
Node *region_param(Region *r, IrType *t);
Node *region_import(Region *r, Region *from, Node *x);
Graph *region_close(Region *r, Node *result, Sym name);
/* The branch whose arms are n regions, opened with the same outer and without own parameters. */
Node *region_branch(Node *selector, Region **arms, Node **results, int n);

/* ---- Loops (loop_forms.c) ------------------------------------------------------------------------
 * A loop made operand by operand. In its body an operand is a parameter: what loop_add returns, which also
 * names it. */
typedef struct LoopBuilder LoopBuilder;
LoopBuilder *loop_open(World *w, bool down);
LoopBuilder *loop_open_like(World *w, const Node *loop); /* in the direction of that one */
Node *loop_index(LoopBuilder *b);
Node *loop_add(LoopBuilder *b, LoopPart part, Node *x);
/* The next value of a carried value or accumulator: unless it stays as it is. */
void loop_next(LoopBuilder *b, const Node *inner, Node *next);
int loop_stack(LoopBuilder *b, Node *x); /* one more stacked result: its number */
/* The same, with the sizes of its rows also where it has none, if they are known outside. */
int loop_stack_sized(LoopBuilder *b, Node *x);
/* The same, as result k of a loop like `l` is made. */
int loop_stack_as(LoopBuilder *b, Node *x, const LoopInfo *l, int k);
void loop_size_all(LoopBuilder *b); /* those so far become such */
/* All that, as a body returns it: the next carried values and accumulators, then elements of stacked results. */
void loop_yield(LoopBuilder *b, Node *result);
/* One of count and cond, a bool over the index, carried values and captures, is NULL. */
void loop_close(LoopBuilder *b, Node *count, Node *cond, Site site);
/* The same with the count or condition of `loop` over other operands and graphs; args: what stands for the parameters
 * of its body. */
void loop_close_as(LoopBuilder *b, const Node *loop, Node **ops, Graph **graphs, Node **args);
/* Then: a carried value or accumulator at the end, stacked result k, how often the body was run. */
Node *loop_result(LoopBuilder *b, const Node *inner);
Node *loop_stacked(LoopBuilder *b, int k);
Node *loop_trips(LoopBuilder *b);
Node *loop_value(LoopBuilder *b); /* all of these, as a LOOP yields them */
/* What stands for the parameters of the condition of a loop where `args` do for those of its body. */
Node **loop_cond_args(World *w, const LoopInfo *l, const Graph *cond, Node **args);
Node *ir_copy_rows(World *w, Node *array); /* an array of its own, though `array` may be a view */
/* edit.c. The value of a loop over other operands, whose body returns `result`, which is of the same type, and n more
 * elements: the arrays of those are written to `arrays`. */
Node *ir_loop_stacking(World *w, const Node *loop, Node **ops, Node *result, Node **extra, int n, Node **arrays);

/* ---- Walking and checking ------------------------------------------------------------- */
/* Nodes of g in dependency order (operands first), without nested graphs. Returns the count. */
int ir_order(Arena *a, const Graph *g, Node ***out);
/* Calls fn for each graph reachable from g, through nested graphs and called functions, each once. */
void ir_walk_graphs(World *w, Graph *g, void (*fn)(void *user, Graph *g), void *user);
/* The same, through the derivative rules of those functions too. */
void ir_walk_rules(World *w, Graph *g, void (*fn)(void *user, Graph *g), void *user);
/* The same, through those rules instead of the functions that have any: what derivatives of g are made of. */
void ir_walk_differentiated(World *w, Graph *g, void (*fn)(void *user, Graph *g), void *user);
/* Is there a node of which `is` says yes in g or a graph reachable from it? */
bool ir_reaches(World *w, Graph *g, bool (*is)(const Node *n));
/* May the graph end in an error that is none of a trap's (traps.c)? */
bool ir_fails_beyond_traps(World *w, Graph *g);
/* Is f, which may be recursive, called in a graph reachable from g, all of them being finished? */
bool ir_calls(World *w, Graph *g, const Func *f);
/* Marks the functions reachable from g, through derivative rules too, that call themselves, directly or through others
 * (Func.recursive). All of them are finished. Marks are never removed. Elaboration and each pass are followed by it. */
void ir_mark_recursive(World *w, Graph *g);
typedef struct OpCounts {
  int scalar, arrays, loops, closures, calls, applies, allocations, total;
} OpCounts;
OpCounts ir_count(World *w, Graph *g);
/* NULL, or what is wrong. */
const char *ir_verify(World *w, Graph *g);
void ir_print(World *w, const Graph *g, Str *out); /* as text, which says all of it */
/* The graph that a text says; NULL, with what is wrong and where. As it stands: neither in normal form nor verified. */
Graph *ir_read(World *w, const char *text, const char **wrong);
void ir_print_dot(World *w, const Graph *g, Str *out);
uint64_t ir_hash(World *w, Graph *g); /* up to renaming; stable between runs */
#endif
