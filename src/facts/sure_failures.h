/* SPDX-License-Identifier: MIT */
/* Failures that are sure before anything runs: the nodes of a graph which fail whatever its parameters are. */
#ifndef ATLED_SURE_FAILURES_H
#define ATLED_SURE_FAILURES_H
#include "ir/ir.h"

typedef struct SureFailure {
  const Node *node;  /* a check, FAIL, ARRAY, RESHAPE or RT */
  int64_t values[3]; /* of a check: its operands, */
  bool known[3];     /* where they are known */
} SureFailure;

typedef struct SureFailures {
  World *w;
  /* Does this call of a runtime primitive fail? NULL: of none that is known. */
  bool (*refused)(void *user, const Node *n);
  void *user;
  Map *met;               /* what is known of functions: shared by questions about one program, or NULL */
  Vec(SureFailure) found; /* in the world's temporary arena */
} SureFailures;

/* Does each run of g fail, unless it doesn't end or leaves by `exit`? Adds the failures that all runs meet, those of an
 * `attempt` aside. Where each arm of a branch fails, it adds those of all arms. It adds none of a function that `met`
 * knows already. */
bool facts_surely_fails(SureFailures *s, Graph *g);
/* Can these graphs, or what they call, end the program by a call that never returns? */
bool facts_may_exit(World *w, Graph *const *graphs, int n);
typedef Vec(const Node *) FoundNodes; /* in the world's temporary arena */
/* Adds each FAIL of this kind that g reaches without a branch on which function an unknown one is: its candidates may
 * never be called there. */
void facts_find_fails(World *w, Graph *g, FailKind kind, FoundNodes *out);
/* Adds the nodes that g reaches which may fail by themselves. */
void facts_find_failing(World *w, Graph *g, FoundNodes *out);
/* Adds the nodes in functions that an `attempt` in these graphs may call; an unknown function may be any of which there
 * is a value. */
void facts_find_attempted(World *w, Graph *const *graphs, int n, FoundNodes *out);
#endif
