/* SPDX-License-Identifier: MIT */
/* What a graph costs, before it runs: operations on floats and on elements of arrays, bytes of the arrays and data that
 * it makes, bytes that a closure keeps. By line, as polynomials in sizes and step counts; cost.c says how. */
#ifndef ATLED_COST_H
#define ATLED_COST_H
#include "facts/polynomial.h"
#include "ir/ir.h"

/* ---- Values: what is known of one ---- */
typedef enum CostKind {
  COST_UNKNOWN,
  COST_INT,  /* an int or a bool: `i` if it is exact, else `poly` */
  COST_REAL, /* a float: f */
  COST_TEXT, /* text, of i bytes */
  COST_TUPLE,
  COST_ARRAY,
  COST_CLOSURE,
  COST_CHOICE /* a value of a variant: constructor `tag`, and in parts[0] what it holds */
} CostKind;
typedef struct CostValue CostValue;
struct CostValue {
  CostKind kind;
  bool exact;
  bool given; /* it is a part of the argument, which is kept anyway */
  int line;   /* where an array or data was made */
  int n;      /* parts; of an array: its base elements, if these are known, which parts are then */
  int64_t i;  /* or the tag */
  const char *text;
  double f;
  const Poly *poly;
  CostValue **parts;
  int rank;
  const Poly **dims;  /* NULL among them: not known */
  CostValue *elem;    /* an array: what is known of any base element */
  const Node *node;   /* CLOSURE */
  const IrType *type; /* ARRAY, CHOICE: of the base element, of the variant */
};

/* ---- Costs ---- */
typedef struct CostLine {
  int line;
  const Poly *ops, *bytes; /* NULL: of too many terms */
} CostLine;
typedef struct Cost {
  Vec(CostLine) lines;
  bool at_most; /* a branch counts as its costlier arm */
} Cost;
/* A size, of what `means` says; or, where that is NULL, the steps of a loop of the line. */
typedef struct CostSymbol {
  const char *name, *means;
  int line;
} CostSymbol;
/* The first symbols are sizes; steps come from this one on, and the last LIMIT_COST_DEPTH ones are indices of loops. */
enum { COST_SIZES = 8 };
/* What isn't counted, and where. */
typedef struct CostNote {
  const char *text;
  int line;
} CostNote;

typedef struct CostStudy {
  World *w;
  Arena *a;
  int (*line_of)(void *user, Site s); /* a number for the line; 0: none */
  uint64_t (*chain_of)(void *user,
                       Site s); /* the same number for a place and its calls in each of the programs; 0: none */
  CostValue *(*global)(void *user, int index);
  void *user;
  bool concrete; /* the argument is given: loops and branches are followed with its numbers */
  CostSymbol symbols[POLY_SYMBOLS];
  int program; /* number of the one that is evaluated */
  int nsizes, nsteps, nindices;
  const Poly *limits[LIMIT_COST_DEPTH]; /* indices of loops under way, the outermost first, are below these; or NULL */
  Map steps;  /* loops, and places and number of those whose steps aren't known -> 1 + symbol; see steps_of */
  Map bodies; /* graphs with the lines of their nodes */
  Vec(CostNote) notes;
  Cost *cost; /* where costs are added now */
  int line;   /* of what is around the graph under way */
  int left;   /* nodes that may still be evaluated one by one */
  int depth;
  int uncertain;
  bool lanes; /* the loop under way probably runs several iterations at once */
} CostStudy;

void cost_open(CostStudy *s, World *w, Arena *a); /* then the callbacks are set */
/* An argument of the type, of which the sizes alone are known, as symbols; path: how the program writes it. */
CostValue *cost_argument(CostStudy *s, const IrType *t, const char *path);
/* Makers of given arguments; those with parts take the array. */
CostValue *cost_unknown(const CostStudy *s);
CostValue *cost_int(const CostStudy *s, int64_t i);
CostValue *cost_real(const CostStudy *s, double f);
CostValue *cost_text(const CostStudy *s, const char *text, int64_t length); /* keeps the text */
CostValue *cost_tuple(const CostStudy *s, CostValue **parts, int n);
CostValue *cost_choice(const CostStudy *s, const IrType *t, int tag, CostValue *payload);
/* elements: `count` base elements, or NULL; elem: what is known of any. */
CostValue *cost_array(const CostStudy *s, const IrType *t, const Poly **dims, CostValue **elements, int count,
                      CostValue *elem);
/* The result of g, whose cost is added to *out. */
CostValue *cost_eval(CostStudy *s, Graph *g, CostValue **args, Cost *out);
/* The result of closure f, applied to x. */
CostValue *cost_apply(CostStudy *s, CostValue *f, CostValue *x, Cost *out);
/* Adds to *out, as `bytes`, what closure f keeps but the argument. */
void cost_kept(CostStudy *s, CostValue *f, Cost *out);

/* ---- cost_scalars.c ---- */
/* What the scalar operation makes of its operands. */
CostValue *cost_scalar(CostStudy *s, const Node *n, CostValue **ops);
/* An int as a polynomial; NULL: it isn't known. */
const Poly *cost_poly(const CostStudy *s, const CostValue *v);
CostValue *cost_number(const CostStudy *s, const Poly *p); /* the int; unknown for NULL */
#endif
