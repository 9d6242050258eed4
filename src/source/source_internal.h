/* SPDX-License-Identifier: MIT */
/* Printing graphs as source: what the files of this folder share.
 *
 *   source.c               functions, in the order in which they are defined
 *   source_blocks.c        one graph: which nodes get names, in which order, and what they are bound to
 *   source_loops.c         loops over `mut` variables, and comprehensions
 *   source_updates.c       arrays that are updated in place
 *   source_accumulators.c  accumulators that aren't arrays
 *   source_checks.c        what may fail without having a value of its own
 *   source_matches.c       branches
 *   source_expressions.c   the text of one operation
 *   source_literals.c      constants
 *   source_types.c         types, and their declarations
 *   source_names.c         names that are free */
#ifndef ATLED_SOURCE_INTERNAL_H
#define ATLED_SOURCE_INTERNAL_H
#include "facts/uses.h"
#include "ir/ir.h"
#include "source/source.h"

/* How tightly a text holds together: it is put in brackets where an operand needs more. */
typedef enum Level {
  L_MATCH,    /* ends in a `match` */
  L_SEQUENCE, /* begins with a statement */
  L_BLOCK,    /* `let … in …`, or a function */
  L_IF,
  L_OR,
  L_AND,
  L_COMPARE,
  L_CONS,
  L_APPEND,
  L_SUM,
  L_PRODUCT,
  L_MINUS,
  L_POWER,
  L_APPLY,
  L_POSTFIX,
  L_ATOM
} Level;
typedef struct Text {
  const char *s;
  Level level;
} Text;

/* A `mut` variable, of the block that declares it. */
typedef struct Block Block;
typedef struct Var {
  const char *name;
  const Block *home;
  const Node *version; /* the node whose value it holds */
} Var;

/* What stands for a node's value. */
typedef struct Val {
  Text text;
  Var *var;    /* it is this variable as it is now; NULL */
  bool is_mut; /* it names a `mut` variable, of this block or an outer one: no function value may capture it */
} Val;

/* A constructor that a `match` around has opened: names of the parts of its payload, given when they are first read. */
typedef struct Opened {
  const char *variant; /* the text of what is matched */
  int tag, nparts;
  const char **parts, *whole;
} Opened;

typedef struct Printer {
  World *w;
  Arena *arena;
  const SourceRequest *request;
  const char *why; /* the first thing without a source form; NULL */
  Str types;       /* declarations */
  Map type_names;  /* variant -> its name */
  Map ctor_names;  /* variant -> names of its constructors */
  Map taken;       /* names of values and constructors in use */
  Map taken_types;
  Map given_types;       /* of values that are read of the program, which declares them */
  Map seen_types, boxes; /* boxes: tuples of one component that are written as pairs */
  Map func_names;
  Vec(Func *) funcs;    /* that are called, in the order in which they are met */
  Map hints;            /* node -> a name for its value */
  Vec(Opened *) opened; /* by the matches around, innermost last */
  Str helpers;          /* functions that add up accumulators */
  Str uses;             /* the names of values that it reads of the program */
  Map globals;          /* name -> itself: which of them are in `uses` */
  Map adders;           /* type -> the name of its one */
  int repeated;         /* loops, recursion and function values around what is printed */
  int depth;
  int filling; /* constructors within each other in sp_some_value */
  size_t made; /* bytes of text so far */
} Printer;

/* One graph that is being printed. */
struct Block {
  Printer *p;
  Graph *g;
  Uses *uses;
  uint8_t *state; /* of each node, by position: ST_* */
  int *weight;    /* of each node that is written where it is used: its operations */
  Map vals;       /* node -> Val * */
  Val *params;
  Str lines; /* definitions and statements so far, each with its end */
  int nlines;
  bool begins_with_statement, ends_with_statement;
  Vec(const char *) declared;
};
enum { ST_DONE = 1, ST_ACTIVE = 2, ST_BOUND = 4, ST_WAITED = 8 };

/* ---- source.c ---- */
/* Notes that something has no source form; later notes change nothing. */
void sp_no_source(Printer *p, const char *why, ...) __attribute__((format(printf, 2, 3)));
const char *sp_func_name(Printer *p, Func *f);

/* ---- names.c ---- */
const char *sp_name_fresh(Printer *p, const char *base); /* taken from now on */
const char *sp_name_type(Printer *p, const char *base);
const char *sp_name_index(Printer *p); /* of a counter */
void sp_name_release(Printer *p, const char *name);
const char *sp_name_for(Block *b, Node *n); /* a name that says what the value of n is; not yet taken */
const char *sp_name_by_type(Printer *p, const IrType *t);
const char *sp_name_of_element(Printer *p, const char *array);

/* ---- types.c ---- */
const char *sp_type_text(Printer *p, IrType *t);
bool sp_is_bare(const Printer *p, const IrType *t);       /* a tuple of one component that is written as that */
void sp_find_boxes(void *user, Graph *g);                 /* those of a graph that aren't; user: the printer */
const char *sp_variant_name(Printer *p, const IrType *t); /* for a value of it */
const char *sp_type_operand(Printer *p, IrType *t);       /* in brackets where it isn't one word */
/* Has it no value that ends? Then it is declared with one constructor more, for values that are never read. */
bool sp_needs_empty(const IrType *t);
const char *sp_ctor_name(Printer *p, IrType *variant, int tag);

/* ---- literals.c ---- */
Text sp_literal(Printer *p, Node *n);
bool sp_is_literal(const Node *n);
/* A value of the type, whichever; "" if there is none that can be written. */
const char *sp_some_value(Printer *p, IrType *t);

/* ---- expressions.c ---- */
Text sp_text_of(Printer *p, Level level, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *sp_at_level(Printer *p, Text t, Level least); /* in brackets if t holds together less */
const char *sp_operand(Block *b, Node *n, Level least);
/* An interpolated string: the text, with the expressions n and m in its holes (text_fill). */
const char *sp_filled_text(Block *b, Sym text, const char *n, const char *m);
Text sp_expression(Block *b, Node *n);
Text sp_tuple_text(Block *b, IrType *t, Text *parts, int n);

/* ---- blocks.c ---- */
Block *sp_block_open(Printer *p, Graph *g, Val *params);
void sp_block_run(Block *b); /* all nodes but those that are written where they are used */
Text sp_block_close(Block *b, Text result);
Text sp_block_close_unit(Block *b); /* of type unit */
/* A graph as one expression. */
Text sp_block_text(Block *outer, Graph *g, Val *params);
Val *sp_val_of(Block *b, const Node *n); /* what is bound to it; NULL */
void sp_bind(Block *b, const Node *n, Val v);
Text sp_use(Block *b, Node *n);
Val sp_capture(Block *b, Node *n); /* for a nested graph */
void sp_define(Block *b, Node *n);
bool sp_is_inline(Block *b, Node *n);                 /* written where it is used */
bool sp_is_captured(const NodeUse *use);              /* by a nested graph */
bool sp_reads_var(Block *b, Node *n, const Var *var); /* does the text of n read it? NULL: any `mut` variable */
void sp_ensure(Block *b, Node *n);                    /* n and what it needs are bound or written where they are used */
bool sp_is_done(Block *b, const Node *n);
void sp_add_let(Block *b, const char *pattern, Text t);
void sp_add_mut(Block *b, const char *name, Text t);
void sp_add_statement(Block *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *sp_declare(Block *b, const char *base); /* a fresh name, until the block is closed */
const char *sp_as_statement(Printer *p, Text t);    /* as the right side of `<-` */
/* The parts of what the graph returns, as many as its type has, written where they are used. */
Text *sp_result_parts(Block *b, int n, Node **nodes); /* nodes: those that have one, else NULL */
const Node *sp_root_of(const Node *n);                /* the node whose value it has, checks aside */

/* ---- updates.c ---- */
/* The variable that holds operand k of u, and that u may change: made if need be. */
Var *sp_take_var(Block *b, Node *u, int k, const char *base);
void sp_emit_update(Block *b, Node *u);
bool sp_is_updated(Block *b, const Node *n);

/* ---- accumulators.c ---- */
Text sp_sum_text(Block *b, const Node *n); /* of accumulators that are no numbers */
bool sp_is_bag_operation(const Node *n);
Text sp_bag_text(Block *b, const Node *n);
void sp_emit_addition(Block *b, Node *u); /* to an entry of an array's accumulator */

void sp_emit_take(Block *b, Node *u); /* of an entry, out of one or out of an array */

/* ---- checks.c ---- */
bool sp_is_check(const Node *n);
void sp_emit_check(Block *b, Node *n);
void sp_emit_wait(Block *b, Node *y); /* y is needed for its failure alone */
bool sp_is_for_failure(Block *b, const Node *n);

/* ---- loops.c ---- */
void sp_emit_loop(Block *b, Node *n);
Text sp_comprehension_text(Block *b, Node *loop);

/* ---- matches.c ---- */
Text sp_branch_text(Block *b, Node *n);
Text sp_payload_text(Block *b, Node *n);
Text sp_tag_text(Block *b, const Node *n);
bool sp_is_tag_test(const Node *n); /* tag x = k */
Text sp_tag_test(Block *b, const Node *n);
void sp_emit_branch_effect(Block *b, Node *n);
bool sp_is_payload(const Node *n);          /* taken out of a constructor, or a part of that */
bool sp_is_opened(Block *b, const Node *n); /* … which a match around has opened */
#endif
