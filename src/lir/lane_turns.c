/* SPDX-License-Identifier: MIT */
/* Turns: may a copy with private arrays (lower/privatise.c) do LIMIT_TURN iterations at once instead of LIMIT_LANES?
 *
 * A reduction array has LIMIT_LANES numbers for each element. In a turn of twice as many iterations each of them gets
 * two terms while it is in a register, so half as much goes between memory and processor:
 *
 *   f1 = LOAD t[8 j + i mod 8];  f2 = fma f3 f4 f1;  STORE t[8 j + i mod 8] = f2
 *
 *   →  v = load t[8 j …];  v = fma f3 f4 v, lanes 0 … 7;  v = fma f3 f4 v, lanes 8 … 15;  store v
 *
 * That is the order of iterations only if no iteration adds to an element twice. So each array has one such STORE, and
 * all turns store at the same places, one after the other: nothing that differs between turns determines them. Whether
 * places rise, so that none comes twice, machine code finds in the first turn, which it does in halves. */
#include "lir/lane_facts.h"
#include <string.h>

typedef struct Turns {
  LaneFacts *facts;
  bool *conditional; /* by instruction of the body: may a turn leave it out? */
  bool *unsteady;    /* by register: may it differ between turns? */
  bool *low;         /* by register: is it i mod LIMIT_LANES, or such a place? */
  bool read_any;     /* does the instruction looked at read a register of which `asked` says so? */
  const bool *asked;
} Turns;

static const LInstr *instr(const Turns *t, int k) { return &t->facts->f->code[k]; }

static void note_read(void *user, int32_t *reg, Role role) {
  Turns *t = user;
  if (role != ROLE_DEF && role != ROLE_DEF_BORROWED) t->read_any |= t->asked[*reg];
}

static bool reads_any(Turns *t, const LInstr *in, const bool *asked) {
  t->read_any = false;
  t->asked = asked;
  lir_roles(t->facts->m, (LInstr *)in, note_read, t);
  return t->read_any;
}

static bool defines(const LInstr *in) { return in->dst >= 0 && lir_defines_dst(in->op); }

/* ---- What may differ between turns ------------------------------------------------------------------------------- */
/* Marks what stands between a branch and the place where its ways meet. */
static void mark_region(Turns *t, int branch) {
  const LaneFacts *facts = t->facts;
  int end = facts->labels[instr(t, branch)->imm.i];
  for (int k = branch + 1; k < end; k++) {
    t->conditional[k - facts->loop.first] = true;
    for (int64_t n = 0, to; (to = lir_target(instr(t, k), (int)n)) >= 0; n++)
      if (facts->labels[to] > end) end = facts->labels[to];
  }
}

static bool stores_ints(const Turns *t) {
  const LaneFacts *facts = t->facts;
  for (int k = facts->loop.first; k < facts->loop.end; k++)
    if (instr(t, k)->op == LOP_STORE && facts->f->regs[instr(t, k)->dst].kind == R_INT) return true;
  return false;
}

/* Memory that the body writes. */
static bool reads_changing(const Turns *t, const LInstr *in, bool ints_change) {
  bool number = in->op == LOP_LOAD && t->facts->f->regs[in->dst].kind == R_INT;
  return in->op == LOP_IS_NULL || (in->op == LOP_LOAD && t->facts->inside[in->a]) || (number && ints_change);
}

static void find_unsteady(Turns *t) {
  const LaneFacts *facts = t->facts;
  bool ints_change = stores_ints(t);
  for (bool news = true; news;) {
    news = false;
    for (int k = facts->loop.first; k < facts->loop.end; k++) {
      const LInstr *in = instr(t, k);
      if (in->op == LOP_BRANCH && (lanes_kind(facts, in->a) != LANE_UNIFORM || t->unsteady[in->a])) mark_region(t, k);
      if (!defines(in) || t->unsteady[in->dst]) continue;
      bool differs = t->conditional[k - facts->loop.first] || reads_changing(t, in, ints_change);
      if (differs || reads_any(t, in, t->unsteady)) t->unsteady[in->dst] = news = true;
    }
  }
}

/* ---- Reductions -------------------------------------------------------------------------------------------------- */
static bool is_low_place(const Turns *t, const LInstr *in) { return lane_modulus(t->facts, in) == LIMIT_LANES; }

/* Is i mod LIMIT_LANES used for nothing but places in reduction arrays? */
static bool are_low_numbers_places(Turns *t) {
  const LaneFacts *facts = t->facts;
  for (int k = facts->loop.first; k < facts->loop.end; k++) {
    const LInstr *in = instr(t, k);
    bool memory = in->op == LOP_LOAD || in->op == LOP_STORE;
    if (lane_is_number(facts, in) == LIMIT_LANES) t->low[in->dst] = true;
    else if (!reads_any(t, in, t->low)) continue;
    else if (in->op == LOP_SCALAR && in->sub == OP_IADD) t->low[in->dst] = true;
    else if (!memory || !is_low_place(t, in)) return false;
  }
  return true;
}

static bool loops_count_up(const Turns *t, int store) {
  const LaneFacts *facts = t->facts;
  for (int head = lane_loop_around(facts, store); head >= 0;) {
    const LInstr *step = instr(t, facts->back[instr(t, head)->imm.i] - 1);
    if (step->op == LOP_SCALAR && step->sub == OP_ISUB) return false;
    head = head > facts->loop.first ? lane_loop_around(facts, head - 1) : -1;
  }
  return true;
}

static bool is_only_store(const Turns *t, int store) {
  const LaneFacts *facts = t->facts;
  int array = lanes_array(facts, instr(t, store)->a);
  for (int k = facts->loop.first; k < facts->loop.end; k++)
    if (k != store && instr(t, k)->op == LOP_STORE && lanes_array(facts, instr(t, k)->a) == array) return false;
  return true;
}

/* Are the terms still what they were at the addition when its STORE comes? */
static bool terms_stay(const Turns *t, int store) {
  const LInstr *op = lanes_term(t->facts, store).operation;
  for (const LInstr *in = op + 1; in < instr(t, store); in++)
    if (defines(in) && (in->dst == op->a || in->dst == op->b || in->dst == op->c)) return false;
  return true;
}

/* Does the STORE add to an element, at a place that all turns come to? */
static bool is_reduction(Turns *t, int store) {
  const LInstr *in = instr(t, store);
  return !t->conditional[store - t->facts->loop.first] && !t->unsteady[in->b] && is_only_store(t, store) &&
         lanes_is_row(t->facts, in) && loops_count_up(t, store) && lane_find_addition(t->facts, store) &&
         terms_stay(t, store);
}

/* Are all uses of reduction arrays such, and is one of them within an inner loop, where it pays? */
static bool are_reductions(Turns *t) {
  const LaneFacts *facts = t->facts;
  bool inner = false;
  for (int k = facts->loop.first; k < facts->loop.end; k++) {
    if (instr(t, k)->op != LOP_STORE || !is_low_place(t, instr(t, k))) continue;
    if (!is_reduction(t, k)) return false;
    inner |= lane_loop_around(facts, k) >= 0;
  }
  for (int k = facts->loop.first; k < facts->loop.end; k++)
    if (instr(t, k)->op == LOP_LOAD && is_low_place(t, instr(t, k)) && facts->additions[k] != LANE_PART) return false;
  return inner;
}

/* Does an iteration add one term to each float? */
static bool are_sums_single(const Turns *t) {
  const LaneFacts *facts = t->facts;
  for (int k = facts->loop.first; k < facts->loop.end; k++)
    for (int n = facts->loop.first; n < k && instr(t, k)->op == LOP_LANE_ADD; n++)
      if (instr(t, n)->op == LOP_LANE_ADD && instr(t, n)->res[0] == instr(t, k)->res[0]) return false;
  return true;
}

void lane_find_turn(LaneFacts *facts) {
  LaneLoop *l = &facts->loop;
  size_t registers = (size_t)facts->f->nregs + 1, size = (size_t)(l->end - l->first);
  if (!l->privatised || facts->npairs || !l->loops) return;
  Turns t = {.facts = facts};
  t.conditional = NEW_ARRAY(facts->arena, bool, size + 1);
  t.unsteady = NEW_ARRAY(facts->arena, bool, registers);
  t.low = NEW_ARRAY(facts->arena, bool, registers);
  uint8_t *before = NEW_ARRAY(facts->arena, uint8_t, size + 1);
  memcpy(before, &facts->additions[l->first], size);
  find_unsteady(&t);
  l->doubled = are_sums_single(&t) && are_low_numbers_places(&t) && are_reductions(&t);
  if (!l->doubled) memcpy(&facts->additions[l->first], before, size);
}
