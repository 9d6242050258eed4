/* SPDX-License-Identifier: MIT */
/* Ranges of integers: linear forms and proofs about them (linear.c), and the facts that proofs start from (ranges.c).
 * The object of all questions is a Ranges; a pass makes one, asks it, and drops it with the graph.
 *
 * Graphs are closed, so what a number is depends on where its graph stands. A Frame is a graph at its place: the arm of
 * one switch in one frame, the body of one loop. A captured parameter is what the frame around has for it, so that in
 * the end numbers are linear forms over Atoms, nodes in the frame where they arise.
 *
 * A Fact says that a form is at least 0. It may rest on checks having been passed, its guards: whoever draws a
 * conclusion from it must depend on these. */
#ifndef ATLED_RANGES_H
#define ATLED_RANGES_H
#include "ir/ir.h"

typedef struct Frame Frame;
typedef struct Atom {
  Frame *frame;
  Node *node;
} Atom; /* interned by frame */

typedef struct Term {
  Atom *atom;
  int64_t coef;
} Term;
__extension__ typedef __int128 Wide; /* sums of a few machine integers */
typedef struct Lin {
  Wide c;
  int n;
  Term t[LIMIT_FORM_TERMS];
  bool bad;
} Lin; /* bad: too large to say anything */

/* A check or a loop that has been evaluated. */
typedef struct Guard {
  Frame *frame;
  Node *node;
  const struct Guard *next;
} Guard;
typedef struct Linear {
  Lin lin;
  const Guard *guards;
} Linear;
typedef struct Fact {
  Lin lin; /* >= 0 */
  const Guard *guards;
  Node *after; /* holds once this node of the frame has been evaluated; NULL: always */
} Fact;

typedef enum FrameKind {
  FRAME_ROOT,
  FRAME_ARM,
  FRAME_HEAD, /* of a loop: owns its state */
  FRAME_BODY,
  FRAME_COND,
  /* the condition once more: */
  FRAME_HELD,  /* as it held of the iteration that a body is in */
  FRAME_FIRST, /* of the first iteration */
  FRAME_EXIT   /* when it ended the loop: of the results */
} FrameKind;
typedef Vec(Fact) Facts;
struct Frame {
  FrameKind kind;
  Frame *up;    /* whose facts hold here too */
  Frame *outer; /* that of the graph around */
  Node *at;     /* the switch or loop there */
  Graph *g;
  int depth;
  Map linears, atoms; /* node -> Linear *, Atom * */
  Map children;       /* node -> Frame *[]: its arms, or head, body, condition */
  Facts facts;        /* that hold in all of it */
  Facts late;         /* those with `after` */
  bool has_late;
  Node *opening; /* the loop whose frames are being made */
  Map edges;     /* node -> Guard *: nodes it is to depend on besides its operands */
};

typedef struct Ranges {
  World *w;
  Rewriter *r; /* of the pass that asks */
  int fuel;    /* steps of proofs left, in all */
  int steps;   /* in the proof under way */
  int frames;  /* left to be made */
  /* Walks of frame_depends, in memory that all of them share. */
  Map walked;     /* node -> number of the last walk that met it */
  uintptr_t walk; /* number of the latest walk */
  Vec(const Node *) worklist;
} Ranges;

/* ---- linear.c: forms and proofs ---- */
Lin lin_int(Wide c);
Lin lin_atom(Atom *a);
Lin lin_add(const Lin *a, const Lin *b, int64_t factor); /* a + factor * b */
int64_t lin_coefficient(const Lin *e, const Atom *a);    /* 0: a isn't in it */
Atom *atom_of(Ranges *p, Frame *f, Node *x);
Linear *linear(Ranges *p, Frame *f, Node *x); /* of an int */
/* Proves that e >= 0 wherever the nodes of f are evaluated; on success adds to *guards what the proof rests on. q: the
 * node of f that the conclusion is drawn for, on which no check that the proof uses depends; NULL: all of f has been
 * evaluated. use_late: the proof may use facts that hold once a check has been passed. */
bool prove(Ranges *p, Frame *f, const Node *q, Lin e, bool use_late, const Guard **guards);
const Guard *guard_add(Ranges *p, const Guard *list, Frame *f, Node *n);
const Guard *guards_join(Ranges *p, const Guard *a, const Guard *b);

/* ---- ranges.c: facts ---- */
Frame *frame_root(Ranges *p, Graph *g);
/* The frames of a switch (one for each arm) or a loop (head, body, condition or NULL) in f; NULL if there are too many,
 * or they are being made. */
Frame **frame_children(Ranges *p, Frame *f, Node *x);
/* What a parameter stands for in an enclosing frame: true, and which node of which; false if it arises here. */
bool frame_resolve(Ranges *p, Frame *f, const Node *param, Frame **of, Node **x);
/* Fills f->late. */
void frame_late_facts(Ranges *p, Frame *f);
bool frame_inside(const Frame *f, const Frame *outer, const Node *at); /* is f within node `at` of outer? */
/* Would `from` of f, evaluated, need `to`? */
bool frame_depends(Ranges *p, Frame *f, const Node *from, const Node *to);
#endif
