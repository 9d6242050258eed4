/* SPDX-License-Identifier: MIT */
/* What the files of src/lower share.
 *
 *   lower_module.c  the driver: functions one after the other, facts about them
 *   lower_tables.c  tables of the module, which graphs become functions
 *   desc.c          slot layouts and run-time descriptors of types
 *   schedule.c      order of the nodes of a graph; where values are read and consumed; which updates are in place
 *   lower_emit.c    registers, moves, what is known about arrays
 *   lower_node.c    frames; scalar nodes, products, sums, closures, calls
 *   lower_array.c   arrays and bags
 *   lower_control.c switches, functions' bodies, tail calls
 *   lower_cons.c    tail calls modulo constructor
 *   lower_loop.c    loops
 *   lower_lanes.c   which loops have partial sums
 *   privatise.c     loops with a copy whose arrays are private to a lane
 *   private_copy.c  that copy
 *   openings.c      fields moved out of uniquely referenced variants at their last use; reuse of their memory
 *   ownership.c     liveness on the finished code; puts in RETAIN, RELEASE and CLEAR
 *
 * Lowering proper never counts references: each instruction has a fixed role for each register (lir_roles: reads it,
 * takes it, defines it), and ownership.c makes the counts right from those roles alone. */
#ifndef ATLED_LOWER_INTERNAL_H
#define ATLED_LOWER_INTERNAL_H
#include "facts/changes.h"
#include "facts/uses.h"
#include "lower/lower.h"

/* ---- desc.c ---- */
typedef struct Layout {
  int n;
  uint8_t *kinds;
} Layout; /* LRegKind of each slot */
const Layout *lower_layout(World *w, const IrType *t);
int lower_slots(World *w, const IrType *t);
bool layout_has_pointers(const Layout *l);
/* Slots before component k of tuple type t. */
int lower_offset(World *w, const IrType *t, int k);
bool lower_holds_arrays(const IrType *t); /* an array or bag among the slots */

/* ---- schedule.c ---- */
typedef struct Sched {
  Graph *g;
  Node **order; /* operands first; the result is last */
  int n;
  Uses *uses;    /* in this order */
  int *last;     /* position of the last use of each node's value, through aliases; n for the result */
  bool *copied;  /* parts of arrays that are made arrays of their own, for the whole is changed while they are needed */
  Node **params; /* PARAM nodes, NULL where unused */
  int8_t *readonly; /* per parameter: 0 unknown, 1 yes, -1 no */
} Sched;

typedef struct Lower {
  World *w;
  Arena *arena;
  LModule *mod;
  const char *error;
  Map scheds;                                                          /* Graph* -> Sched* */
  Map graph_funcs;                                                     /* Graph* -> LFunc* */
  Map desc_index, string_index, box_index, global_index, func_foreign; /* -> index + 1 */
  Vec(LFunc *) funcs;
  Vec(struct Fn *) fns;
  Vec(struct Pending) pending;
  Vec(const Desc *) descs;
  Vec(LText) strings;
  Vec(int) globals;
  Vec(LBox) boxes;
  Vec(LForeign) foreigns;
  Vec(LSite) sites;
  Map site_index;     /* Site -> its number in the module */
  int lane_bodies;    /* so many loops around what is being lowered probably run several iterations at once */
  int private_bodies; /* so many loops around it may get a copy with private arrays */
} Lower;
typedef struct Pending {
  LFunc *func;
  Graph *graph;
  Func *source;
} Pending;

Sched *sched_of(Lower *m, Graph *g);
int sched_pos(const Sched *s, const Node *x); /* -1: not in this graph */
/* Something in the graph, other than what it calls, may change an array among the slots of x in place. */
bool sched_consumed(Lower *m, const Sched *s, const Node *x);
/* Nothing after position p of this graph uses the registers of x. */
bool sched_last_use(const Sched *s, const Node *x, int p);
/* The array of x (or parameter k) is only read by INDEX and LEN, here and in nested graphs: needs no object of its
 * own. */
bool sched_readonly(Lower *m, Sched *s, const Node *x, int depth);
bool sched_param_readonly(Lower *m, Graph *g, int k, int depth);
/* Where slot `slot` of parameter k, an array, ends up in the slots of the result when it is handed on only
 * through updates that are its last use; -1 if it isn't so. */
int sched_chain(Lower *m, Graph *g, int k, int slot, int depth);
/* The same of the array that loop or branch u gets as operand k, in the slots of its value. */
int sched_chain_through(Lower *m, const Node *u, int k, int depth);

/* ---- Functions being made ---- */
typedef struct RegInfo {
  int data;             /* R_RAW register with its data, or -1 */
  int *dims;            /* registers of its dimensions, -1 unknown; NULL none known */
  const int64_t *shape; /* the dimensions of a constant, else NULL */
  bool fresh;           /* an array that nothing else refers to */
  int pins;             /* > 0: belongs to an enclosing repetition or arm, must not be taken */
  bool constant;        /* defined at function entry for good */
  int base, offset;     /* base >= 0: not a register but the part of array `base` from element `offset`, */
  int skip;             /*   without its first `skip` dimensions, */
  int first;            /*   the first remaining one being register `first` if >= 0 */
} RegInfo;
typedef struct CacheUndo {
  int reg, dim;
} CacheUndo; /* dim -1: data */
/* Where tail calls of a function go, and the registers of its parameters. */
typedef struct TailTarget {
  Func *func;
  int label;
  int *regs;
} TailTarget;
/* FIELDs of the finished code that read all of a box for the last time: n from instruction `at` on. */
typedef struct Opening {
  int at, n;
} Opening;
typedef struct Fn {
  Lower *m;
  LFunc *f;
  Vec(LInstr) code, consts;
  Vec(LReg) regs;
  Vec(RegInfo) info;
  Vec(CacheUndo) undo;
  Map const_rows; /* Node* -> int* of constants in loops, defined at function entry */
  int nlabels;
  int loop_depth;
  Func *here;              /* whose body is being lowered, if it is called last by itself or by others of its group */
  Vec(TailTarget) targets; /* functions whose bodies are part of this one */
  int root, hole;          /* see lower_cons.c; root -1: none */
  int guard;               /* a bool: traps stop the program only where it is true; -1: everywhere */
  Vec(Opening) openings;   /* places where boxes may be opened, in order */
} Fn;
typedef struct Row {
  const int *r;
  int n;
} Row;
/* A loop that writes stacked output number `stack`, or a literal that writes its elements (0), into the block of an
 * enclosing loop. */
typedef struct Dest {
  const Node *maker;
  int stack, data, at; /* block, position of the first element */
  int *dims;           /* registers of the dimensions, the maker's own first */
  struct Dest *next;
} Dest;
typedef struct Frame {
  Fn *fn;
  Sched *s;
  Row *params;
  Row *rows; /* by position */
  int pos;   /* of the node being lowered */
  Dest *dests;
} Frame;
/* The call of str_of_bytes that alone uses a loop's stacked output, whose numbers are bytes of a string then; NULL:
 * there is none. */
Node *frame_text(const Frame *fr, const Node *loop, int stack);
const Dest *frame_dest(const Frame *fr, const Node *maker, int stack); /* NULL: it makes an array of its own */

/* lower_tables.c */
/* The function of an entry or of a closure: one argument, a token if it has an effect, then captures. */
LFunc *lower_graph_func(Lower *m, Graph *g, bool closure);
LFunc *lower_func(Lower *m, Func *f);
/* Of functions whose code is the same one stays. (lower_equal.c) */
void lower_share_equal(Lower *m);
int lower_foreign(Lower *m, Func *f);
const IrType *lower_foreign_result(const Func *f); /* without a token */
int lower_desc_index(Lower *m, IrType *t);
int lower_string_index(Lower *m, Sym s);
/* The module's box for x, an INJ of constants; -1: it isn't one. */
int lower_box_index(Lower *m, const Node *x);
int lower_empty_array_index(Lower *m, IrType *t); /* of a constant array without elements */
int lower_global_index(Lower *m, int global);
void lower_error(Lower *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* lower_emit.c */
int fn_reg(Fn *fn, LRegKind kind);
int *fn_regs(Fn *fn, const Layout *l);
void fn_publish_regs(Fn *fn); /* to fn->f: registers that were made since may have moved the others */
LInstr *fn_emit(Fn *fn, LOp op, int dst, int a, int b, int c); /* valid until the next one */
void fn_args(Fn *fn, const int *r, int n);                     /* of the last instruction */
void fn_results(Fn *fn, const int *r, int n);
int fn_int(Fn *fn, int64_t v);
int fn_scalar(Fn *fn, Op op, int a, int b);
int fn_label(Fn *fn);
void fn_place(Fn *fn, int label);
void fn_jump(Fn *fn, int label);
void fn_branch(Fn *fn, int cond, int label); /* when cond is 0 */
/* `reloads`: registers that remember things of the array dst are loaded anew. */
void fn_move(Fn *fn, int dst, int src, bool reloads);
/* dst[i] = src[i] at once; cycles are broken. */
void fn_parallel_move(Fn *fn, const int *dst, const int *src, int n, bool reloads);
int *fn_copy(Fn *fn, const int *r, int n);
void fn_zero(Fn *fn, IrType *t, const int *dst);
int fn_scope(Fn *fn);
void fn_leave(Fn *fn, int scope); /* forget what is known only on this path */
int fn_data(Fn *fn, int array);
int fn_dim(Fn *fn, int array, int k);

/* lower_node.c */
Row frame_row(Frame *fr, const Node *x);
int frame_reg(Frame *fr, const Node *x); /* of a value of one slot */
bool frame_can_take(Frame *fr, const Node *x, int reg);
/* A register with x's pointer that may be replaced: its own if this is the last use. */
int frame_take(Frame *fr, const Node *x);
Row lower_constant(Frame *fr, const Node *x);
void lower_node(Frame *fr, Node *x);
/* Lowers everything in the graph; the registers of its result. */
Row lower_graph(Fn *fn, Graph *g, Row *params);
void frame_open(Frame *fr, Fn *fn, Graph *g, Row *params);

/* lower_array.c */
Row lower_array(Frame *fr, Node *x);
Row lower_index(Frame *fr, Node *x);
Row lower_slice(Frame *fr, Node *x);
Row lower_update(Frame *fr, Node *x);
Row lower_zeros(Frame *fr, Node *x);
Row lower_reshape(Frame *fr, Node *x);
Row lower_take(Frame *fr, Node *x);
Row lower_cadd(Frame *fr, Node *x);
Row lower_bag_put(Frame *fr, Node *x, LOp at, LOp sub); /* sub: of a row */
Row lower_bag_get(Frame *fr, Node *x);
Row lower_bag_slice(Frame *fr, Node *x);
Row lower_shift(Frame *fr, Node *x);
Row lower_fill(Frame *fr, Node *x);
Row lower_bag_reshape(Frame *fr, Node *x);
/* Elements below dimension `from` of an array of the rank; -1 for one. */
int array_row_size(Fn *fn, int array, int from, int rank);
/* dst_data[dst_at + i] = src_data[src_at + i] for i < count, in base elements; positions may be -1 (0), count too
 * (1). */
void array_copy(Fn *fn, int dst_data, int dst_at, int src_data, int src_at, int count, const Layout *base);
/* Base element number `flat` of an array, perhaps virtual. */
int *array_load(Fn *fn, int array, int flat, const Layout *base);
void array_store(Fn *fn, int data, int flat, const int *row, const Layout *base);
/* The part of `array`, of the rank, from element `offset`, without its first `skip` dimensions, the first remaining one
 * being `first` if >= 0: as a virtual register, or as an object of type t. */
int array_part(Fn *fn, IrType *t, bool is_virtual, int array, int offset, int skip, int first);
int fn_mul(Fn *fn, int a, int b); /* -1 stands for 1 */
int fn_add(Fn *fn, int a, int b); /* -1 stands for 0 */

/* lower_control.c */
Row lower_switch(Frame *fr, Node *x);
void lower_body(Fn *fn, Graph *g, Row *params); /* ends in RETURN or a jump to the start on every path */
/* Tail calls, also modulo constructor, may lead from one function to the other. `conses`: some are such, or NULL. */
bool lower_tail_reaches(Lower *m, Func *from, Func *to, bool *conses);

/* lower_cons.c */
/* A call around which only constructors stand, outermost first: which operand of each payload leads on to it. */
typedef struct ConsTail {
  int n;
  Node *injs[LIMIT_CONS_DEPTH];
  int part[LIMIT_CONS_DEPTH];
  Node *call;
} ConsTail;
bool lower_cons_tail(Lower *m, const Sched *s, ConsTail *t);
/* by position: the call and what needs its value */
void lower_cons_mark(const Sched *s, const ConsTail *t, bool *waits);
void lower_cons_open(Fn *fn); /* at the start of a function that has such calls */
/* before the jump: makes the constructors, puts them in the hole */
void lower_cons_link(Frame *fr, const ConsTail *t);
void lower_cons_return(Fn *fn, int value);

/* lower_loop.c */
Row lower_loop(Frame *fr, Node *x);

/* lower_lanes.c */
/* A number without what it waits for: a trip count that waits for checks may be a constant. */
static inline const Node *lower_unwaited(const Node *n) {
  while (n->op == OP_AFTER) n = n->ops[0];
  return n;
}
/* s +. t, or s - t, in the body of a loop, where s is what the loop adds up in slot `slot`, or a part of that. */
typedef struct LaneAddition {
  Node *term; /* t */
  int slot;
  bool negated; /* it is s - t */
  bool fused;   /* t is a product that nothing else reads: it isn't rounded */
} LaneAddition;
typedef struct LaneSums {
  bool *slots;   /* which of the loop's state are partial sums; the others are arrays */
  Map additions; /* CADD -> LaneAddition */
  Map fused;     /* products that aren't rounded, and so not computed alone */
} LaneSums;
/* The additions of the loop's body, if all of its state are partial sums, and arrays; else NULL. */
const LaneSums *lower_lanes(Lower *m, const Node *loop);
/* Will the loop, with these sums or NULL, probably run several iterations at once, if its branches are selections? */
bool lower_has_lanes(Lower *m, const Node *loop, const LaneSums *sums);

/* Is all that the loop carries floats that it only adds to? (Whether lanes can do so: lir/lane_totals.c.) */
bool lower_adds_in_order(Lower *m, const Node *loop);

/* privatise.c, private_copy.c */
/* A loop that was just lowered. */
typedef struct PrivateLoop {
  int start, body, end;     /* in the code: where it begins; the instructions of an iteration, body … end - 1 */
  int original;             /* label of its start, not placed yet */
  int index, trips;         /* registers */
  const int *state, *ranks; /* nstate registers, floats and arrays that are added to; rank 0: a float */
  int nstate, nordered;     /* the first nordered are floats that are added to in the order of iterations */
  const int *outputs;       /* noutputs raw registers: arrays of which each iteration stores a row of its own */
  int noutputs;
  Site site;
} PrivateLoop;
/* May the loop have a copy with private arrays, as far as the graph tells? */
bool lower_may_privatise(Lower *m, const Node *loop);
/* Puts the copy before the loop, if it is faster; the loop's code is the last there is. */
void lower_privatise(Fn *fn, const PrivateLoop *l);

/* ---- ownership.c ---- */
void own_insert(Fn *fn);
typedef void (*ArgumentFn)(void *user, const LInstr *call, int k);
/* Calls fn for each argument k of a call that is a reference and needed after it. */
void own_kept_arguments(Fn *fn, ArgumentFn tell, void *user);

typedef void (*PlaceFn)(void *user, int at);
/* Calls fn for each FIELD after which its box isn't used, but for what belongs to it. */
void own_last_reads(Fn *fn, PlaceFn tell, void *user);

/* ---- openings.c ---- */
void openings_find(Fn *fn); /* once the code is finished */
/* Opens boxes whose fields are put elsewhere; true if there was a new one. There may be more once more parameters are
 * owned. */
bool openings_move(Fn *fn);
void openings_reuse(Fn *fn); /* when all that is opened is known */

/* ---- recycling.c ---- */
typedef struct Spares Spares;
Spares *spares_plan(Fn *fn); /* puts RENEW into loops; NULL: nowhere */
/* The spares that may keep what the register holds, in turn, from k = 0 on; 0: no more. */
int spares_next(const Spares *s, int reg, int k, int *spare);
LInstr spares_keep(Spares *s, int k, int reg); /* by spare k */
void spares_finish(Spares *s);

/* ---- walkers.c ---- */
/* Which registers only ever hold parts of parameters that aren't owned; NULL where no such register is assigned
 * twice. */
bool *own_walkers(const LModule *m, LFunc *f);
/* Makes parameters owned that f takes or assigns, but for walking over them; true if there was a new one. */
bool own_params(const LModule *m, LFunc *f);
/* Makes parameters owned that are walked over and that no caller needs afterwards; true if there was one. */
bool own_walked_params(Lower *m);
#endif
