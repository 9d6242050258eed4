/* SPDX-License-Identifier: MIT */
/* Where the time of a VM goes.
 *
 * A clock is always in one phase. Phases nest, and the time of an inner one isn't counted for the outer one:
 * elaboration that happens on demand during checking counts as elaboration. The clock is reached through the heap,
 * which everything that works for a VM has. Usually there is none; then entering a phase costs a test for NULL.
 * After a jump out of phases the next call into the VM begins anew. */
#ifndef ATLED_PHASES_H
#define ATLED_PHASES_H
#include "support/support.h"

#define PHASES(P)                                                                                                      \
  P(READ, "read")   /* source files */                                                                                 \
  P(PARSE, "parse") /* tokens too */                                                                                   \
  P(CHECK, "check")                                                                                                    \
  P(ELABORATE, "elaborate")                                                                                            \
  P(OPTIMISE, "optimise")                                                                                              \
  P(DIFFERENTIATE, "differentiate")                                                                                    \
  P(LOWER, "lower")                                                                                                    \
  P(EVALUATE, "evaluate")                                                                                              \
  P(LOAD, "load")       /* look-ups in the cache of machine code, and what is found there */                           \
  P(COMPILE, "compile") /* waiting for the compiler */                                                                 \
  P(RUN, "run")         /* machine code */                                                                             \
  P(OTHER, "other")
typedef enum Phase {
#define P(id, name) PHASE_##id,
  PHASES(P)
#undef P
      PHASE_COUNT
} Phase;

typedef struct PhaseTotal {
  double seconds;
  int64_t count; /* how often it was entered */
  size_t memory; /* the most that the heap held meanwhile, in bytes */
} PhaseTotal;

struct Phases {
  Phase now;
  double since;
  PhaseTotal all[PHASE_COUNT];
};

const char *phase_name(Phase p);
/* A call into the VM begins, or ends: between calls the clock stands still. */
void phases_begin(Heap *h);
void phases_end(Heap *h);
/* The phase goes on as `to`; the one that it was. */
Phase phase_switch(Heap *h, Phase to);

/* What phase_leave goes back to. */
static inline Phase phase_enter(Heap *h, Phase to) {
  if (!h->phases) return PHASE_OTHER;
  h->phases->all[to].count++;
  return phase_switch(h, to);
}
static inline void phase_leave(Heap *h, Phase before) {
  if (h->phases) phase_switch(h, before);
}
#endif
