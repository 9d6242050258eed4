/* SPDX-License-Identifier: MIT */
/* Which of the loops that could run several iterations at once do so: of a nest one level.
 *
 * For each counted loop two estimates are compared, in operations for LIMIT_LANES of its iterations:
 *
 *   wide         on vectors: what is the same in all iterations once, arithmetic once for each vector, what is done
 *                number by number (elements that aren't neighbours, additions to places) so many times
 *   in a row     one iteration after the other, where the loops in it may be on vectors themselves
 *
 * An inner loop counts as often as it runs, FEW_TRIPS times if that isn't known. The outermost loop is taken for which
 * `wide` is clearly less; a loop on vectors has none within. */
#include "lir/lanes.h"

/* In additions. */
enum {
  COST_OF_DIVISION = 4,
  COST_OF_FUNCTION = 15,
  COST_OF_SELECT = 2,
  COST_OF_ELEMENTS = 10,  /* LIMIT_LANES numbers at equal distances, into a vector or out of it */
  COST_OF_GATHER = 18,    /* at any places */
  COST_OF_ADDITIONS = 24, /* to one place of an array */
  COST_OF_SCATTER = 40,   /* additions to any places */
  COST_OF_TERM = 32,      /* LIMIT_LANES numbers, added in order to a float */
  COST_OF_TREE = 12       /* the sum of a vector's numbers */
};
typedef struct Choosing {
  const LFunc *f;
  LaneFacts *facts;
  LaneChoice *loops;
  int n, parts;
} Choosing;

static double cost_of_scalar(const LInstr *in) {
  if (lir_calls_function(in)) return COST_OF_FUNCTION;
  switch (in->sub) {
  case OP_FDIV:
  case OP_SQRT: return COST_OF_DIVISION;
  case OP_IDIV:
  case OP_IREM: return COST_OF_FUNCTION;
  case OP_SELECT: return COST_OF_SELECT;
  default: return 1;
  }
}

static double cost_of(const LInstr *in) {
  switch (in->op) {
  case LOP_SCALAR: return cost_of_scalar(in);
  case LOP_LABEL:
  case LOP_LOOP_HEAD:
  case LOP_INT:
  case LOP_FLOAT:
  case LOP_MOVE: return 0;
  case LOP_LANE_SUM: return COST_OF_TREE;
  default: return 1;
  }
}

static bool is_elementwise(const LInstr *in) {
  return in->sub == OP_IDIV || in->sub == OP_IREM || in->sub == OP_FPOWI || in->sub == OP_INT_OF_FLOAT;
}

static double wide_cost_of_memory(const Choosing *c, int k) {
  const LInstr *in = &c->f->code[k];
  LaneRole addition = lanes_role(c->facts, k);
  if (addition == LANE_PART) return 0;
  if (lanes_is_private(c->facts, in)) return addition == LANE_ADDS ? 3 * c->parts : c->parts;
  LaneKind index = lanes_kind(c->facts, in->b);
  bool row = lanes_is_row(c->facts, in);
  if (addition != LANE_PLAIN)
    return row ? COST_OF_TREE + c->parts : index == LANE_UNIFORM ? COST_OF_ADDITIONS : COST_OF_SCATTER;
  if (in->op == LOP_LOAD && index == LANE_UNIFORM) return 1;
  return row ? c->parts : index == LANE_INTS ? COST_OF_GATHER : COST_OF_ELEMENTS;
}

/* Of the instruction in the body of the loop that was found last. */
static double wide_cost_of(const Choosing *c, int k) {
  const LInstr *in = &c->f->code[k];
  if (in->op == LOP_LOAD || in->op == LOP_STORE) return wide_cost_of_memory(c, k);
  if (lanes_role(c->facts, k) == LANE_PART) return 0;
  if (lanes_role(c->facts, k) == LANE_TOTAL) return COST_OF_TERM * lanes_total(c->facts, k).n;
  if (in->op == LOP_LANE_ADD) return c->parts * (in->a == 0 ? 1 : 2);
  if (in->op == LOP_LANE_SUM) return c->parts * LIMIT_LANES;
  bool varies = in->dst >= 0 && lir_defines_dst(in->op) && lanes_kind(c->facts, in->dst) > LANE_STRIDED;
  if (!varies) return cost_of(in);
  if (in->op == LOP_SCALAR && is_elementwise(in)) return cost_of(in) * LIMIT_LANES + COST_OF_ELEMENTS;
  return cost_of(in) * c->parts;
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
static LaneChoice *loop_at(const Choosing *c, int head) {
  for (int k = 0; k < c->n; k++)
    if (c->loops[k].loop.head == head) return &c->loops[k];
  return NULL;
}

static double whole_blocks(double trips) {
  double blocks = (trips + LIMIT_LANES - 1) / LIMIT_LANES;
  return (double)(int64_t)blocks;
}

/* LIMIT_LANES iterations on vectors. The found loop is that. */
static double wide_cost(const Choosing *c, const LaneLoop *l) {
  double cost = 0, often[LIMIT_LANE_LEVELS] = {1};
  int level = 0, ends[LIMIT_LANE_LEVELS] = {0};
  for (int k = l->first; k < l->end; k++) {
    while (level && k > ends[level]) level--;
    const LaneChoice *inner = loop_at(c, k);
    if (inner && level + 1 < LIMIT_LANE_LEVELS) {
      often[level + 1] = often[level] * inner->trips;
      ends[++level] = inner->loop.end + 1;
    }
    cost += often[level] * wide_cost_of(c, k);
  }
  return cost;
}

/* One iteration in a row. */
static double cost_in_a_row(const Choosing *c, const LaneLoop *l) {
  double cost = 0;
  for (int k = l->first; k < l->end; k++) {
    const LaneChoice *inner = loop_at(c, k);
    if (!inner) {
      cost += cost_of(&c->f->code[k]);
      continue;
    }
    bool wide = !inner->loop.why && inner->wide < inner->row * LIMIT_LANES;
    cost +=
        wide ? inner->wide * whole_blocks(inner->trips) + COST_OF_TREE * inner->loop.sums : inner->row * inner->trips;
    k = inner->loop.end;
  }
  return cost;
}

static double trips_of(const LaneFacts *facts, const LaneLoop *l) {
  int64_t n = lanes_trips(facts, l);
  return n < 0 ? LIMIT_FEW_TRIPS : (double)n;
}

static void estimate(const Choosing *c, LaneChoice *choice) {
  const LaneLoop *l = &choice->loop;
  choice->trips = trips_of(c->facts, l);
  choice->row = cost_in_a_row(c, l);
  if (l->why) return;
  choice->wide = wide_cost(c, l);
  double used = choice->trips / (LIMIT_LANES * whole_blocks(choice->trips));
  if (used > 0) choice->wide /= used;
}

/* Is it so much faster that it is worth the code, and an estimate's errors? */
static bool is_worth_it(const LaneChoice *choice) { return choice->wide * 1.4 < choice->row * LIMIT_LANES; }

static void decide(const Choosing *c) {
  int covered = -1;
  for (int k = c->n - 1; k >= 0; k--) {
    LaneChoice *choice = &c->loops[k];
    if (choice->loop.why) choice->verdict = LANES_IMPOSSIBLE;
    else if (choice->loop.head < covered) choice->verdict = LANES_WITHIN;
    else if (!choice->loop.privatised && !is_worth_it(choice)) choice->verdict = LANES_DEARER;
    else {
      choice->verdict = LANES_TAKEN;
      covered = choice->loop.end;
    }
  }
}

/* Loops are found from the last head to the first, so inner ones come before those around them. */
const LaneChoice *lanes_choose(Arena *a, LaneFacts *facts, const LFunc *f, int width, int *n) {
  int heads = 0;
  for (int k = 0; k < f->ncode; k++) heads += f->code[k].op == LOP_LOOP_HEAD;
  Choosing c = {f, facts, NEW_ARRAY(a, LaneChoice, heads + 1), 0, LIMIT_LANES / width};
  for (int k = f->ncode - 1; k > 0; k--) {
    if (f->code[k].op != LOP_LOOP_HEAD || !lanes_find(facts, k - 1, &c.loops[c.n].loop)) continue;
    estimate(&c, &c.loops[c.n]);
    c.n++;
  }
  decide(&c);
  *n = c.n;
  return c.loops;
}
