/* SPDX-License-Identifier: MIT */
/* Sums in order: floats that a loop carries and only adds to. The terms are computed for several iterations at once,
 * and added one after the other, as the loop does:
 *
 *   t = exp x[i]          t0 … t7 = exp x[i] … x[i + 7]
 *   a = s + t        →    s = s + t0, … s = s + t7
 *   s = MOVE a
 *
 * Nothing else in the loop may read the sum, and each iteration must come by its instructions. */
#include "lir/lane_facts.h"

/* Which operand of the addition to `sum` that is; -1: it isn't one. */
static int addend_of(const LInstr *in, int sum) {
  return in && in->op == LOP_SCALAR && in->sub != OP_CADD ? lanes_added_to(in, sum) : -1;
}

/* Does every iteration come by the instruction? No inner loop is around it, and no branch leads past it. */
static bool is_on_all_paths(const LaneFacts *facts, int instr) {
  const LInstr *code = facts->f->code;
  if (lane_loop_around(facts, instr) >= 0) return false;
  for (int k = facts->loop.first; k < instr; k++)
    for (int64_t n = 0, to; (to = lir_target(&code[k], (int)n)) >= 0; n++)
      if (facts->labels[to] > instr) return false;
  return true;
}

/* How often the loop's body reads the register. */
typedef struct Reading {
  int reg, times;
} Reading;

static void count_reading(void *user, int32_t *reg, Role role) {
  Reading *r = user;
  r->times += *reg == r->reg && role != ROLE_DEF && role != ROLE_DEF_BORROWED;
}

static int reads_within(const LaneFacts *facts, int reg) {
  Reading r = {reg, 0};
  for (int k = facts->loop.first; k < facts->loop.end; k++) lir_roles(facts->m, &facts->f->code[k], count_reading, &r);
  return r.times;
}

/* The addition below `last`, which is the one value that it adds to and nobody else reads; NULL: there is none. */
static const LInstr *addition_below(const LaneFacts *facts, const LInstr *last, int *self) {
  const int32_t operands[] = {last->a, last->b, last->c};
  for (int k = 0; k < 3; k++) {
    const LInstr *in = lanes_definition(facts, operands[k]);
    if (!in || facts->reads[operands[k]] != 1 || addend_of(last, operands[k]) != k) continue;
    if (in - facts->f->code < facts->loop.first || in->op != LOP_SCALAR) continue;
    bool adds = addend_of(in, in->a) >= 0 || addend_of(in, in->b) >= 0 || addend_of(in, in->c) >= 0;
    if (!adds) continue;
    *self = k;
    return in;
  }
  return NULL;
}

/* The additions from the sum up to `last`. False: it isn't made of such. */
static bool follow(const LaneFacts *facts, const LInstr *last, LaneTotal *t) {
  const LInstr *chain[LANE_CHAIN];
  int selves[LANE_CHAIN], n = 0;
  for (const LInstr *in = last; in && n < LANE_CHAIN;) {
    int self = addend_of(in, t->reg);
    chain[n] = in;
    selves[n++] = self;
    if (self < 0) {
      in = addition_below(facts, in, &selves[n - 1]);
      continue;
    }
    t->n = n;
    for (int k = 0; k < n; k++) t->terms[k] = chain[n - 1 - k], t->self[k] = selves[n - 1 - k];
    return true;
  }
  return false;
}

LaneTotal lanes_total(const LaneFacts *facts, int instr) {
  const LInstr *in = &facts->f->code[instr], *last = in->op == LOP_MOVE ? lanes_definition(facts, in->a) : in;
  LaneTotal t = {.reg = in->dst};
  bool own = last && (last == in || facts->reads[in->a] == 1) && last - facts->f->code >= facts->loop.first;
  if (!own || last->op != LOP_SCALAR || !follow(facts, last, &t)) t.n = 0;
  return t;
}

/* Is it a sum in order, whose value nothing else needs within the loop? */
static bool is_total(const LaneFacts *facts, int instr, const LaneTotal *t) {
  if (!t->n || facts->inside[t->reg] != 1 || reads_within(facts, t->reg) != 1) return false;
  for (int k = 0; k < t->n; k++)
    if (!is_on_all_paths(facts, (int)(t->terms[k] - facts->f->code))) return false;
  return is_on_all_paths(facts, instr);
}

bool lane_is_total(const LaneFacts *facts, int instr) {
  return facts->additions[instr] == LANE_TOTAL ||
         (facts->additions[instr] == LANE_PART && facts->f->code[instr].op == LOP_SCALAR);
}

void lane_find_totals(LaneFacts *facts) {
  const LInstr *code = facts->f->code;
  const LaneLoop *l = &facts->loop;
  for (int k = l->first; k < l->end; k++) {
    const LInstr *in = &code[k];
    bool sets = in->op == LOP_MOVE || in->op == LOP_SCALAR;
    if (!sets || facts->f->regs[in->dst].kind != R_FLOAT || !lane_is_live(facts, l->first, in->dst)) continue;
    LaneTotal t = lanes_total(facts, k);
    if (!is_total(facts, k, &t)) continue;
    for (int n = 0; n < t.n; n++) {
      facts->additions[t.terms[n] - code] = LANE_PART;
      facts->kinds[t.terms[n]->dst] = LANE_FLOATS;
    }
    facts->additions[k] = LANE_TOTAL;
    facts->kinds[t.reg] = LANE_FLOATS;
    facts->loop.totals = true;
  }
}
