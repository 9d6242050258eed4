/* SPDX-License-Identifier: MIT */
/* Which loops of lowered code can run several iterations at once. See lanes.c. */
#ifndef ATLED_LANES_H
#define ATLED_LANES_H
#include "lir/lir.h"

/* What a register holds in iterations i, i + 1, …: */
typedef enum LaneKind {
  LANE_UNIFORM, /* the same in all */
  LANE_LINEAR,  /* an int that grows by 1 from one to the next */
  LANE_FLOATS,
  LANE_BOOLS,
  LANE_UNKNOWN /* nothing yet: it is defined further on */
} LaneKind;
typedef struct LaneLoop {
  int head;         /* its LABEL */
  int first, end;   /* the body is instructions first … end - 1; behind it are the step and the jump to the head */
  int index, limit; /* registers: it goes on while index < limit */
  int exit;         /* the label where it ends */
  bool from_zero;   /* it is only entered with index 0, or again where it was left at a limit */
  bool sums;        /* it has partial sums */
  const char *why;  /* NULL, or why its iterations can't run at once */
} LaneLoop;
/* While a body is gone through, instruction after instruction. */
typedef struct LaneState {
  const LFunc *f;
  uint8_t *kinds; /* LaneKind by register */
} LaneState;

/* What has to be known of a function, for all of its loops. */
typedef struct LaneFacts LaneFacts;
const LaneFacts *lanes_facts(Arena *a, const LModule *m, const LFunc *f);
/* The loop whose LABEL is instruction `head`. False: there is no counted loop without branches and inner loops. */
bool lanes_find(Arena *a, const LaneFacts *facts, int head, LaneLoop *l);
/* What was found, for people: "lanes: 2 loads, 1 sum, 1 exp", or "no lanes: CHECK_INDEX". */
void lanes_describe(const LaneFacts *facts, const LaneLoop *l, Str *out);
/* The state at the beginning of the loop's body. */
LaneState lanes_begin(Arena *a, const LaneFacts *facts, const LaneLoop *l);
/* Goes over an instruction of the body: what its register holds then, LANE_UNKNOWN if it has none. */
LaneKind lanes_step(LaneState *s, const LInstr *in);
#endif
