/* SPDX-License-Identifier: MIT */
/* Shared by the files of src/ir only: the interning of raw nodes, and steps of their normal forms. */
#ifndef ATLED_IR_INTERNAL_H
#define ATLED_IR_INTERNAL_H
#include "ir/world.h"

Node *ir_same_elements(World *w, const Node *a);
/* globals.c; NULL: not known */
Node *ir_known_number(World *w, const Node *x);
Node *ir_known_length(World *w, const Node *array, int dim);

/* ---- data.c ---- */
/* The constant array of these elements or rows; NULL if it isn't constant, or irregular. */
Node *ir_data(World *w, IrType *array, Node **xs, int n);
/* The element or part of a constant array at n indices; NULL if they aren't known to be in bounds. */
Node *ir_data_at(World *w, const Node *data, Node **is, int n);
const char *ir_data_wrong(const Node *n); /* NULL, or what is wrong with the constant array */
/* Of the scalars of an element: T_INT, T_FLOAT, T_BOOL, or T_VARIANT for what is an operand. */
IrKind *ir_data_kinds(World *w, IrType *array, int *n);
Node *ir_data_of(World *w, IrType *array, ArrayData d, Node **ops, int nops);

/* ---- patterns.c ---- */
/* The automaton of a pattern, if there is one, in a tuple of that type; NULL: nothing is known of the pattern yet. */
Node *ir_known_tables(World *w, IrType *type, const Node *pattern);

/* The node with these contents, as it stands: no normalisation. `proto` may live on the stack. */
Node *ir_intern(World *w, Node *proto);
/* An interned node of op with operands and nothing else. */
Node *ir_raw(World *w, Op op, IrType *t, Node **ops, int n);

/* ---- consing.c ---- */
/* The entry with this hash that is the same as the key, or NULL. */
void *table_find(Table *t, uint32_t hash, bool (*same)(const void *a, const void *b), const void *key);
/* t: of the world */
void table_insert(World *w, Table *t, uint32_t hash, void *entry);

/* ---- captures.c ---- */
/* How a graph uses each of its parameters, the more the greater. */
typedef enum __attribute__((packed)) Use {
  UNUSED,
  FOR_SHAPE, /* an array of which only lengths are read */
  IN_PARTS,  /* a tuple of which only single parts are */
  USED
} Use;
Use *ir_param_uses(World *w, Graph *g);
/* Adds to the uses of the parts of a parameter, a tuple, what g does with them. */
void ir_part_uses(World *w, Graph *g, int param, Use *parts);
/* What becomes of captures: constants, known functions and tuples move into the nested graphs, duplicates and
 * unused ones go. */
typedef struct CapturePlan {
  Vec(Node *) caps; /* the new captures, in the outer graph */
  Node **inside;    /* for each old capture: what stands for it inside, over the new parameters */
  Node **arrays;    /* captured arrays, whose lengths needn't be */
  int narrays;
  bool changed;
} CapturePlan;
/* Sets the arrays of a plan to those among the captures that are used so. */
void ir_plan_lengths(World *w, CapturePlan *p, Node **caps, const Use *use, int n);
CapturePlan ir_plan_captures(World *w, Graph **graphs, int ngraphs, int own, Node **caps, int n);
/* Arguments for instantiating g (own parameters first) after the plan, and the new parameter types. */
Node **ir_plan_args(World *w, const CapturePlan *p, Graph *g, int own);
IrType **ir_plan_types(World *w, const CapturePlan *p, Graph *g, int own);
/* What stands inside for a capture used so (and its parts, if it is in parts). Of an array that serves for its lengths
 * only these are captured: zeros of that shape stand for it, and vanish, since the length of zeros is what they were
 * made of. */
Node *ir_capture_for(World *w, CapturePlan *p, int own, Node *x, Use use, const Use *parts);

/* ---- size_checks.c ---- */
typedef struct SizeCheck {
  Node *n, *m, *value; /* of the branch, behind the check */
  Sym message;
  Site site;
} SizeCheck;
/* Is the branch a check that two ints are equal? */
bool ir_is_size_check(World *w, const Node *selector, Graph **arms, int narms, Node **caps, SizeCheck *out);

/* ---- call.c ---- */
Node *ir_plain_call(World *w, Func *f, Node **args, Site site); /* neither inlined nor specialised */
/* ---- specialise.c ---- */
/* A call of f specialised to its known function arguments. NULL if no argument is one, or if specialisations are nested
 * too deep: LIMIT_SPECIAL_DEPTH, and LIMIT_SPECIAL_DERIVATIVES where an argument takes derivatives. */
Node *ir_specialised_call(World *w, Func *f, Node **args, Site site);
/* The rule that applies to a call of f, and what its parameters stand for; NULL: none does. */
IrRule *ir_rule_for(World *w, Func *f, Node **args, Node ***bound);
Node *ir_opaque_call(World *w, Func *f, Node **args, Site site); /* f has a rule, and derivatives may be taken */
/* f, to be differentiated at x, for the functions known in x. */
Node *ir_differentiated(World *w, Node *f, Node *x);

bool ir_is_length(const Node *a, const Node *b); /* is length a the length b, or checked to be? */
Node *ir_normal1(World *w, Op op, Node *a);
Node *ir_normal2(World *w, Op op, Node *a, Node *b);
Site ir_site_inlined(World *w, Site inner, Site call);
Site ir_site_of(World *w, SiteInfo place);

static inline bool is_op(const Node *n, Op op) { return n->op == op; }
static inline bool is_float_const(const Node *n, double v) { return n->op == OP_FLOAT && n->attr.f == v; }
static inline bool is_int_const(const Node *n, int64_t v) { return n->op == OP_INT && n->attr.i == v; }
/* branches.c. The normal form of a branch: all arms have the captures as parameters. Others use a BranchBuilder. */
Node *ir_switch(World *w, Node *selector, Graph **arms, int narms, Node **caps, int ncaps);
/* Of operands as a SWITCH has them. */
Node *ir_switch_over(World *w, Node **ops, int nops, Graph **arms, int narms);
/* loop_forms.c. The normal form of a loop; operands: carried, accs, sliced, caps. n: NULL if there is a condition. */
Node *ir_loop(World *w, const LoopInfo *info, Node *n, Node **operands, Graph *body, Graph *cond, Site site);
/* Of operands as a LOOP has them. */
Node *ir_loop_over(World *w, const LoopInfo *info, Node **ops, Graph *body, Graph *cond, Site site);
/* loop_bounds.c. Operands as in ir_loop. */
/* The number of iterations, where the condition only counts them; else NULL. */
Node *ir_trip_count(World *w, const LoopInfo *l, Node **ops, Graph *cond);
/* The body of a loop of n iterations without the checks of its index against a length that is n. `own`: parameters
 * before captures. */
Graph *ir_without_proved_checks(World *w, Graph *body, Node *n, Node **caps, int own);

/* ---- The text form: ir_print.c, ir_read.c ---- */
extern const char *const ir_fail_kinds[FAIL_NO_RULE + 1];
enum { IR_LOOP_COUNTS = 4 };
extern const char *const ir_loop_counts[IR_LOOP_COUNTS]; /* "carried", … */
int *ir_loop_count(LoopInfo *l, int k);
#endif
