/* SPDX-License-Identifier: MIT */
/* What is known of a function and of one of its loops, for lanes.c and the files lane_*.c alone. */
#ifndef ATLED_LANE_FACTS_H
#define ATLED_LANE_FACTS_H
#include "lir/lanes.h"

struct LaneFacts {
  Arena *arena;
  const LModule *m;
  const LFunc *f;
  int32_t *reads;   /* by register: how often it is read in the function */
  int32_t *defined; /* by register: how often it is defined */
  int32_t *one;     /* by register: 1 + index of the instruction whose dst it is, if that alone defines it; else 0 */
  bool *zeroed;     /* by register: an INT makes it 0 */
  int32_t *labels;  /* by label: the LABEL's index */
  int32_t *back;    /* by label: index of the last JUMP to it that stands behind it; else 0 */
  int32_t *uses;    /* by label: how often it is led to */
  const uint64_t *const *live; /* before LABELs, and before the bodies of loops */
  /* about the loop that was found last: */
  LaneLoop loop;
  uint8_t *kinds; /* LaneKind by register; UNIFORM for those that the body doesn't define */
  LaneStride *strides;
  int32_t *inside;    /* by register: how often the body defines it */
  uint8_t *additions; /* LaneRole by instruction */
  LaneTerm *terms;    /* by instruction: of a STORE that is an addition */
  LanePair pairs[LIMIT_LANE_TESTS];
  int npairs;
};

bool lane_is_one(const LaneFacts *facts, int reg);
bool lane_is_live(const LaneFacts *facts, int at, int reg); /* before the instruction: see `live` */
bool lane_same_stride(LaneStride a, LaneStride b);

/* ---- lane_arrays.c ----------------------------------------------------------------------------------------------- */
/* The innermost loop within the body that the instruction belongs to: its LABEL; -1: none. */
int lane_loop_around(const LaneFacts *facts, int instr);
/* Does the register keep its value within an iteration, from where it is defined? What an inner loop defines does if it
 * is made of such registers. depth: 0. */
bool lane_is_kept(const LaneFacts *facts, int reg, int depth);
/* Can the instruction be reached from the other one without another iteration? */
bool lane_leads_to(const LaneFacts *facts, int from, int to);
/* Do arrays pass nothing from one iteration to another? Finds additions and pairs. */
bool lane_all_apart(LaneFacts *facts);

/* LIMIT_LANES or LIMIT_TURN: IN computes the iteration's number modulo that, in a copy with private arrays. 0: not. */
int lane_is_number(const LaneFacts *facts, const LInstr *in);

/* So many iterations, LIMIT_LANES or LIMIT_TURN from a multiple of that on, use each another number by the LOAD or
 * STORE. 0: not so. */
int lane_modulus(const LaneFacts *facts, const LInstr *in);
/* Is the STORE an addition to what its place holds? Then its LOAD, its operation and itself get roles. */
bool lane_find_addition(LaneFacts *facts, int store);

/* ---- lane_turns.c ------------------------------------------------------------------------------------------------ */
/* Decides whether the loop is `doubled`, and gives roles to its additions to reduction arrays. */
void lane_find_turn(LaneFacts *facts);

/* ---- lane_totals.c ----------------------------------------------------------------------------------------------- */
/* Finds the loop's sums in order, and gives their instructions roles. */
void lane_find_totals(LaneFacts *facts);
/* Does the instruction belong to one? */
bool lane_is_total(const LaneFacts *facts, int instr);

/* ---- lane_pairs.c ------------------------------------------------------------------------------------------------ */
/* Compares the places of this STORE with the others of its array, or adds them to the pairs that a test can tell apart
 * before the loop. False: iterations may meet. */
bool lane_find_pairs(LaneFacts *facts, int store);
#endif
