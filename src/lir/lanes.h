/* SPDX-License-Identifier: MIT */
/* Which loops of lowered code can run several iterations at once. See lanes.c. */
#ifndef ATLED_LANES_H
#define ATLED_LANES_H
#include "lir/lir.h"

/* What a register holds in iterations i, i + 1, …: */
typedef enum LaneKind {
  LANE_UNIFORM, /* the same in all */
  LANE_STRIDED, /* an int that grows by the same from one to the next (LaneStride) */
  LANE_INTS,
  LANE_BOOLS,
  LANE_FLOATS,
  LANE_NONE,   /* nothing yet: it is defined further on */
  LANE_UNKNOWN /* what has no lanes */
} LaneKind;
typedef struct LaneStride {
  int64_t times;
  int32_t by; /* a register that is defined outside the loop, -1: 1. The int grows by times * by */
} LaneStride;
typedef struct LaneLoop {
  int head;         /* its LABEL */
  int first, end;   /* the body is instructions first … end - 1; behind it are the step and the jump to the head */
  int index, limit; /* registers: it goes on while index < limit; if it counts down, while limit < index */
  bool down;
  int exit;        /* the label where it ends */
  bool from_zero;  /* it is only entered with index 0, or again where it was left at a limit */
  bool sums;       /* it has partial sums */
  bool totals;     /* it has sums in order */
  bool nested;     /* there are inner loops or branches in it */
  bool loops;      /* there are inner loops in it */
  bool tests;      /* lanes_pairs: only where these pass, iterations can run at once */
  bool checks;     /* something that varies is checked: where a check fails, the iterations are done one by one */
  bool privatised; /* it is a copy with private arrays (lower/privatise.c) */
  bool doubled;    /* LIMIT_TURN of its iterations can run at once (lane_turns.c) */
  bool agrees;     /* iterations may differ at a branch or a check: where they do, they are done one by one */
  const char *why; /* NULL, or why its iterations can't run at once */
} LaneLoop;
/* What is done with an array in place:
 *
 *   f1 = LOAD r0[j];  f2 = + f1 f3;  STORE r0[j] = f2
 *
 * Where such an array is used by nothing else in the loop, the additions of several iterations are done one after
 * the other, in the order of iterations. */
typedef enum LaneRole {
  LANE_PLAIN,
  LANE_PART,  /* the LOAD, or the operation: nothing is to be done there */
  LANE_WAITS, /* the STORE: it is done with the next one of its array that isn't put off */
  LANE_ADDS,  /* the STORE: it is done here, after those of its array that were put off */
  LANE_TOTAL  /* the last instruction of a sum in order (lane_totals.c): its terms are added here */
} LaneRole;

/* What has to be known of a function, for all of its loops. */
typedef struct LaneFacts LaneFacts;
LaneFacts *lanes_facts(Arena *a, const LModule *m, const LFunc *f);
/* The loop whose LABEL is instruction `head`. False: there is no counted loop. What the functions below say is about
 * the loop that was found last. */
bool lanes_find(LaneFacts *facts, int head, LaneLoop *l);
/* What was found, for people: "lanes: 2 loads, 1 sum, 1 exp", or "no lanes: CHECK_INDEX". */
void lanes_describe(const LaneFacts *facts, const LaneLoop *l, Str *out);
LaneKind lanes_kind(const LaneFacts *facts, int reg);
bool lanes_is_inside(const LaneFacts *facts, int reg); /* does the body define it? */
LaneStride lanes_stride(const LaneFacts *facts, int reg);
LaneRole lanes_role(const LaneFacts *facts, int instr);
/* The addition whose STORE is instruction `store`: its operation, whose operand `self` (0 … 2) is what was loaded. */
typedef struct LaneTerm {
  const LInstr *store, *operation;
  int self;
} LaneTerm;
LaneTerm lanes_term(const LaneFacts *facts, int store);
/* A sum that the loop carries, whose terms are added in the order of iterations (lane_totals.c). */
enum { LANE_CHAIN = 8 };
typedef struct LaneTotal {
  int reg;                         /* it */
  int n;                           /* how many terms an iteration adds */
  const LInstr *terms[LANE_CHAIN]; /* the additions, first to last */
  int self[LANE_CHAIN];            /* which operand, 0 … 2, is the sum so far */
} LaneTotal;
/* The sum whose last instruction is this one: its role is LANE_TOTAL. */
LaneTotal lanes_total(const LaneFacts *facts, int instr);
/* Which operand, 0 … 2, of an addition to the register, or a subtraction from it, is that register? -1: the instruction
 * is none, or another operand is the register, too. */
int lanes_added_to(const LInstr *in, int reg);
/* The first of the instructions that run in a row up to this one. */
int lanes_row_start(const LaneFacts *facts, int instr);
/* Do the places of two additions certainly differ? */
bool lanes_differ(const LaneFacts *facts, const LInstr *a, const LInstr *b);
/* Does the LOAD or STORE, in iterations i, i + 1, …, use neighbours in memory? */
bool lanes_is_row(const LaneFacts *facts, const LInstr *in);
/* Is it a row of an array with LIMIT_LANES or LIMIT_TURN numbers for each element, of which each iteration uses its own
 * (lower/privatise.c)? */
bool lanes_is_private(const LaneFacts *facts, const LInstr *in);
/* The place of a LOAD or STORE: the sum of some registers, and so much more. Two of them can be compared if the
 * registers are the same ones; then they differ by the same in all iterations. */
enum { LANE_TERMS = 4 };
typedef struct LanePlace {
  int64_t offset;
  int terms[LANE_TERMS], n; /* n > LANE_TERMS: too many */
} LanePlace;
LanePlace lanes_place(const LaneFacts *facts, const LInstr *in);
bool lanes_comparable(const LaneFacts *facts, const LanePlace *a, const LanePlace *b);
/* The array whose data the register holds, < 0: unknown (each such register has another number). */
int lanes_array(const LaneFacts *facts, int reg);
/* Places of one array that iterations may meet at: LOADs and STOREs that the loop can be entered with only if they are
 * apart (lane_pairs.c says when). Their indices can be computed before the loop, by lanes_definition. */
typedef struct LanePair {
  const LInstr *moving, *other;
  bool stays; /* `other` is the same place in all iterations; else it moves as `moving` does */
} LanePair;
const LanePair *lanes_pairs(const LaneFacts *facts, int *n);
/* The instruction that alone defines the register; NULL. */
const LInstr *lanes_definition(const LaneFacts *facts, int reg);
/* How often the loop runs, if that is known; -1. */
int64_t lanes_trips(const LaneFacts *facts, const LaneLoop *l);

/* ---- lane_choice.c ----------------------------------------------------------------------------------------------- */
typedef enum LaneVerdict {
  LANES_TAKEN,
  LANES_WITHIN, /* a loop around it has lanes */
  LANES_DEARER, /* one iteration after the other is faster */
  LANES_IMPOSSIBLE
} LaneVerdict;
typedef struct LaneChoice {
  LaneLoop loop;
  double trips;     /* how often it runs, about */
  double wide, row; /* costs of LIMIT_LANES iterations on vectors, and of one in a row with others */
  LaneVerdict verdict;
} LaneChoice;
/* What is decided about the counted loops of f, *n of them, for vectors of `width` numbers. */
const LaneChoice *lanes_choose(Arena *a, LaneFacts *facts, const LFunc *f, int width, int *n);
#endif
