/* SPDX-License-Identifier: MIT */
/* What is under way while an entry is compiled, for src/ir and src/graph, and for src/ad its rules.
 *
 * The world holds what lasts: types, nodes, graphs, functions, globals, and memos of what is true of these whoever
 * asks. All that a pass sets for others to see, and all that is true for one entry only, stands here; the object is
 * made when an entry begins and freed when it ends, however it ends, and in between nobody else refers to it. So what
 * a pass sets and doesn't put back can't be met by the next entry. What holds for a part of an entry is set by one
 * function each, which runs that part and puts it back: ir_rewrite, ir_without_rules, ir_with_rules, and call.c's
 * own. */
#ifndef ATLED_COMPILATION_H
#define ATLED_COMPILATION_H
#include "ir/ir.h"

typedef struct Pool Pool; /* graph/dispatch.c */

/* Inlining within inlining: see call.c. */
typedef struct Inlining {
  int depth;
  int left;      /* how many more the outermost one may hold */
  bool given_up; /* it met the limit: it ends as fast as it can */
} Inlining;

/* The recursion on a known number that is being followed: see call.c. */
typedef struct Unrolling {
  int depth, steps, deepest;
  bool failed; /* it goes too far, as deeper than `deepest` */
  Site site;   /* where the outermost call stands */
  Map calls;   /* CALL nodes of it -> what they became */
} Unrolling;

/* Functions that take derivatives of unknown ones, in each other: see ir_follow_paths. */
typedef struct Paths {
  int limit;      /* - 1; 0: none */
  int depth;      /* of the longest that was followed */
  bool optional;  /* what is made may be given up even if none was followed */
  uint32_t until; /* number of the last node that may be made of them */
} Paths;

struct Compilation {
  Arena arena;        /* World.temp: goes at the end */
  Compilation *outer; /* what the entry has compiled before a mark within it */
  /* The pass that runs. */
  /* What becomes of calls that rewrite rules may match: elaboration keeps them, rules are tried on them, or they are
     inlined like others. Set by ir_with_rules and where a stage begins (opt/opt.c). */
  enum { HEADS_STAY, HEADS_REWRITTEN, HEADS_WRITTEN_OUT } heads;
  int nrules;                  /* rules of higher numbers aren't tried: they were declared later */
  bool differentiated;         /* derivatives have been taken */
  int rewrites, rewrite_depth; /* rules applied so far, and within each other */
  const IrRule *endless_rule;  /* the one that was to be applied when there were too many; NULL: there weren't */
  bool inline_rules;           /* functions with a derivative rule are inlined too: set by ir_without_rules alone */
  Rewriter *rewriter;          /* and what it wants of instantiation, below: set by ir_rewrite alone */
  bool renormalise;            /* every node is made anew */
  bool general_calls;          /* calls aren't specialised to the functions that they pass */
  const struct Differentiation *differentiation; /* in ad_expand, which alone sets it: see ad/ad_internal.h */
  /* Calls under way, and what became of them. */
  Inlining inlining;
  Unrolling unrolling;
  int special_depth;
  Map resited;       /* graph id and site to the graph whose places are inlined at the site */
  Map unrolled;      /* (CALL node, its place) -> what it unrolled to, or itself */
  Map unroll_counts; /* definition -> steps of unrolling so far, of all calls in it */
  Map endless;       /* CALL nodes that stay because inlining them meets the limit */
  /* Unknown functions. */
  Pool *pool; /* what function values of the item that is compiled may be */
  Paths paths;
  int version;  /* of what an unknown function may be and which of that can be called: grows */
  Map patterns; /* constant patterns of regular expressions -> their tables (patterns.c) */
  Map memos;    /* anything -> list of what passes remember about it for this version */
  Map uses;     /* graph -> its def-use chains (facts/uses.c) */
  Map fates;    /* graph -> what becomes of its parameters (facts/changes.c) */
  /* Walks and instantiations. */
  Vec(Node *) stack, order;      /* of the walk under way */
  Vec(Node *) scratch;           /* values of the instantiations under way */
  uint32_t reached[LIMIT_COUNT]; /* how often each limit gave something up: Heap.reached */
  /* What was there before. */
  uint32_t ids, met; /* numbers given out by the world until the entry began */
  uint64_t identities;
};

static inline Compilation *compilation(const World *w) { return w->compilation; }
#endif
