/* SPDX-License-Identifier: MIT */
/* Lanes: arrays that a loop reads and writes at several places (lanes.c).
 *
 *   f1 = LOAD r0[i];  …;  STORE r0[i + h] = f2
 *
 * Whether iterations meet there depends on h, which is known when the loop is entered. This finds the pairs of places
 * that have to be compared then; jit/lane_tests.c compares them. The places of a pair
 *
 *   both move by s:          LANES iterations don't meet if they are less than |s| apart, or LANES * |s| or more
 *   one moves by 1 or -1:    iterations don't meet if the other one isn't among the places that it comes to */
#include "lir/lane_facts.h"

/* Can the int be computed before the loop, for its next iteration? */
static bool is_known_before(const LaneFacts *facts, int r, int depth) {
  if (r < 0 || !facts->inside[r]) return true;
  const LInstr *in = lanes_definition(facts, r);
  if (!in || depth > LIMIT_LANE_INDEX) return false;
  if (in->op == LOP_INT) return true;
  bool sum = in->op == LOP_SCALAR && (in->sub == OP_IADD || in->sub == OP_ISUB || in->sub == OP_IMUL);
  return sum && is_known_before(facts, in->a, depth + 1) && is_known_before(facts, in->b, depth + 1);
}

static bool moves(const LaneFacts *facts, const LInstr *in) {
  return in->b >= 0 && lanes_kind(facts, in->b) == LANE_STRIDED && facts->strides[in->b].times;
}

static bool moves_by_one(const LaneFacts *facts, const LInstr *in) {
  LaneStride s = facts->strides[in->b];
  return (s.times == 1 || s.times == -1) && s.by < 0;
}

typedef enum Meeting { THEY_MEET, THEY_DO_NOT, NOT_KNOWN } Meeting;

/* Do LANES iterations in a row meet at places that move alike, whatever the loop is entered with? Where it is known how
 * far apart they are, they do if that is as far as one of them moves in a few iterations. */
static Meeting meeting_of(const LaneFacts *facts, const LInstr *a, const LInstr *b) {
  LanePlace x = lanes_place(facts, a), y = lanes_place(facts, b);
  LaneStride s = facts->strides[a->b];
  if (s.by >= 0 || !lanes_comparable(facts, &x, &y)) return NOT_KNOWN;
  int64_t apart = x.offset - y.offset, iterations = apart / s.times;
  int64_t most = facts->loop.privatised ? LIMIT_TURN : LIMIT_LANES;
  bool meet = apart % s.times == 0 && iterations && iterations > -most && iterations < most;
  return meet ? THEY_MEET : THEY_DO_NOT;
}

/* Do the places of the STORE and the other instruction never meet, or can a test before the loop tell? That is added
 * to the pairs. */
static bool find_pair(LaneFacts *facts, const LInstr *store, const LInstr *other) {
  if (store->imm.i != 1 || other->imm.i != 1 || !moves(facts, store)) return false;
  bool stays = !moves(facts, other);
  if (stays && (lanes_kind(facts, other->b) != LANE_UNIFORM || !moves_by_one(facts, store))) return false;
  if (!stays && !lane_same_stride(facts->strides[store->b], facts->strides[other->b])) return false;
  Meeting meeting = stays ? NOT_KNOWN : meeting_of(facts, store, other);
  if (meeting != NOT_KNOWN) return meeting == THEY_DO_NOT;
  if (facts->npairs == LIMIT_LANE_TESTS || !is_known_before(facts, store->b, 0) || !is_known_before(facts, other->b, 0))
    return false;
  facts->pairs[facts->npairs++] = (LanePair){store, other, stays};
  return true;
}

bool lane_find_pairs(LaneFacts *facts, int store) {
  const LInstr *code = facts->f->code;
  if (lane_loop_around(facts, store) >= 0 && !lane_is_kept(facts, code[store].b, 0)) return false;
  for (int k = facts->loop.first; k < facts->loop.end; k++) {
    bool later = code[k].op == LOP_STORE && k > store;
    if ((code[k].op != LOP_LOAD && !later) || lanes_array(facts, code[k].a) != lanes_array(facts, code[store].a))
      continue;
    if (!find_pair(facts, &code[store], &code[k])) return false;
  }
  return true;
}

const LanePair *lanes_pairs(const LaneFacts *facts, int *n) {
  *n = facts->npairs;
  return facts->pairs;
}
