/* SPDX-License-Identifier: MIT */
/* The optimiser's pipeline as data: the rows of passes.def, how they are run, and who watches.
 *
 * A run is a row. Its number is its place in the table, from 0; its full name has the number of its occurrence behind a
 * point where a pass runs several times: "fuse.2". */
#ifndef ATLED_PASSES_H
#define ATLED_PASSES_H
#include "ir/ir.h"

typedef enum PassStage {
  STAGE_BEFORE, /* derivatives are taken */
  STAGE_AFTER,
} PassStage;

typedef struct PassRun {
  const char *name;
  int occurrence; /* from 1; 0: the pass runs once */
  PassStage stage;
  const char *does;
} PassRun;

enum { PASS_BITS = 64 }; /* of runs: so many at most */

/* Who watches the runs: World.watch. NULL there, as is usual: nobody does. */
struct PassWatch {
  uint64_t off; /* bits of the runs that are left out */
  int64_t left; /* so many runs are still made, those behind them left out; negative: all are made */
  bool timed;   /* seconds and count are kept */
  double seconds[PASS_BITS];
  int64_t count[PASS_BITS];
  const void *entry;                                      /* the OptStages under way */
  void (*after)(void *user, World *w, int run, Graph *g); /* a run; NULL: nothing is to be done */
  void *user;
};

int passes_count(void);
int passes_first_after(void); /* the first run after derivatives */
PassRun passes_get(int run);
/* Writes the full name, which has at most 31 bytes. */
void passes_name(int run, char name[static 32]);
/* Reads "-fuse,-peel.2,stop=12": passes or runs to leave out, and after how many runs all are left out. False: it isn't
 * of that form, or there is no such pass. p NULL: the text is only looked at. */
bool passes_read(const char *text, PassWatch *p);
/* g after the runs of a stage from run `from` on. */
Graph *passes_run(World *w, Graph *g, PassStage stage, int from);
#endif
