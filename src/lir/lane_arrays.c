/* SPDX-License-Identifier: MIT */
/* Lanes: what the body of a loop does with arrays (lanes.c). No iteration may see what another one wrote, unless all
 * that is done with an array is to add to its elements. */
#include "lir/lane_facts.h"
#include <string.h>

/* The innermost loop within the body that the instruction belongs to: its LABEL; -1: none. */
int lane_loop_around(const LaneFacts *facts, int k) {
  const LInstr *code = facts->f->code;
  for (int n = k; n >= facts->loop.first; n--)
    if (code[n].op == LOP_LABEL && facts->back[code[n].imm.i] > k) return n;
  return -1;
}

bool lane_is_kept(const LaneFacts *facts, int r, int depth) {
  if (r < 0 || !facts->inside[r]) return true;
  if (facts->inside[r] > 1 || facts->defined[r] > 1) return false;
  int at = facts->one[r] - 1;
  const LInstr *in = &facts->f->code[at];
  if (lane_loop_around(facts, at) < 0 || in->op == LOP_INT) return true;
  return in->op == LOP_SCALAR && depth < LIMIT_LANE_INDEX && lane_is_kept(facts, in->a, depth + 1) &&
         lane_is_kept(facts, in->b, depth + 1) && lane_is_kept(facts, in->c, depth + 1);
}

/* Do both registers hold the same int throughout an iteration? */
static bool same_value(const LaneFacts *facts, int a, int b, int depth) {
  if (a == b) return lane_is_kept(facts, a, 0);
  const LInstr *x = lanes_definition(facts, a), *y = lanes_definition(facts, b);
  if (!x || !y || x->op != y->op || x->sub != y->sub || depth > LIMIT_LANE_INDEX) return false;
  if (x->op == LOP_INT) return x->imm.i == y->imm.i;
  return x->op == LOP_SCALAR && same_value(facts, x->a, y->a, depth + 1) && same_value(facts, x->b, y->b, depth + 1) &&
         same_value(facts, x->c, y->c, depth + 1);
}

static bool touches_memory(const LInstr *in) { return in->op == LOP_LOAD || in->op == LOP_STORE; }

int lanes_array(const LaneFacts *facts, int r) {
  const LInstr *in = lanes_definition(facts, r);
  return in && in->op == LOP_DATA ? in->a : -1 - r;
}

/* Do different iterations write to different places, each of them the same one throughout its iteration? */
static bool counts(const LaneFacts *facts, const LInstr *store) {
  LaneStride s = facts->strides[store->b < 0 ? 0 : store->b];
  return lanes_kind(facts, store->b) == LANE_STRIDED && s.times && s.by < 0 && lane_is_kept(facts, store->b, 0);
}

static bool same_place(const LaneFacts *facts, const LInstr *a, const LInstr *b) {
  return same_value(facts, a->b, b->b, 0) && a->imm.i == b->imm.i && (a->b >= 0 || a->c == b->c);
}

bool lanes_is_row(const LaneFacts *facts, const LInstr *in) {
  if (lanes_kind(facts, in->b) != LANE_STRIDED || in->imm.i != 1) return false;
  LaneStride s = facts->strides[in->b];
  return s.times == 1 && s.by < 0;
}

/* Adds the int, times 1, to the sum. */
static void add_place(const LaneFacts *facts, int r, LanePlace *p, int depth) {
  const LInstr *in = lanes_definition(facts, r);
  bool sum = in && in->op == LOP_SCALAR && (in->sub == OP_IADD || in->sub == OP_ISUB) && depth < LIMIT_LANE_INDEX;
  const LInstr *last = sum ? lanes_definition(facts, in->b) : NULL;
  if (in && in->op == LOP_INT) p->offset += in->imm.i;
  else if (sum && last && last->op == LOP_INT) {
    p->offset += in->sub == OP_IADD ? last->imm.i : -last->imm.i;
    add_place(facts, in->a, p, depth + 1);
  } else if (sum && in->sub == OP_IADD) {
    add_place(facts, in->a, p, depth + 1);
    add_place(facts, in->b, p, depth + 1);
  } else if (p->n < LANE_TERMS) p->terms[p->n++] = r;
  else p->n = LANE_TERMS + 1;
}

LanePlace lanes_place(const LaneFacts *facts, const LInstr *in) {
  LanePlace p = {.offset = in->c};
  add_place(facts, in->b, &p, 0);
  return p;
}

bool lanes_comparable(const LaneFacts *facts, const LanePlace *a, const LanePlace *b) {
  bool taken[LANE_TERMS] = {false};
  if (a->n != b->n || a->n > LANE_TERMS) return false;
  for (int k = 0; k < a->n; k++) {
    int n = 0;
    while (n < b->n && (taken[n] || !same_value(facts, a->terms[k], b->terms[n], 0))) n++;
    if (n == b->n) return false;
    taken[n] = true;
  }
  return true;
}

int lane_is_number(const LaneFacts *facts, const LInstr *in) {
  const LInstr *mask = in->op == LOP_SCALAR && in->sub == OP_IAND ? lanes_definition(facts, in->b) : NULL;
  bool masks = facts->loop.privatised && facts->loop.from_zero && in->a == facts->loop.index && mask &&
               mask->op == LOP_INT && (mask->imm.i == LIMIT_LANES - 1 || mask->imm.i == LIMIT_TURN - 1);
  return masks ? (int)mask->imm.i + 1 : 0;
}

static bool is_multiple(const LaneFacts *facts, int r, int n) {
  const LInstr *in = lanes_definition(facts, r);
  const LInstr *by = in && in->op == LOP_SCALAR && in->sub == OP_IMUL ? lanes_definition(facts, in->b) : NULL;
  return by && by->op == LOP_INT && by->imm.i % n == 0;
}

/* a[8 k + lane], where k may vary */
int lane_modulus(const LaneFacts *facts, const LInstr *in) {
  if ((in->op != LOP_LOAD && in->op != LOP_STORE) || in->imm.i != 1) return 0;
  const LInstr *at = lanes_definition(facts, in->b);
  if (!at || at->op != LOP_SCALAR) return 0;
  const LInstr *lane = at->sub == OP_IADD ? lanes_definition(facts, at->b) : at;
  int n = lane ? lane_is_number(facts, lane) : 0;
  return n && in->c % n == 0 && (lane == at || is_multiple(facts, at->a, n)) ? n : 0;
}

bool lanes_is_private(const LaneFacts *facts, const LInstr *in) {
  return lanes_is_row(facts, in) && lane_modulus(facts, in) > 0;
}

/* Is it certain that no iteration reads or writes by `other` what another one writes by `store`? */
static bool keeps_apart(const LaneFacts *facts, const LInstr *store, const LInstr *other) {
  if (lanes_array(facts, store->a) != lanes_array(facts, other->a)) return true;
  int n = lane_modulus(facts, store);
  if (n && lane_modulus(facts, other) == n) return true;
  return counts(facts, store) && same_place(facts, store, other);
}

/* Is the array that the STORE writes to apart from all else that the body does with it? Or is there nothing else: then
 * its iterations write one after the other. Or is it an output of a loop with private arrays, whose iterations write
 * rows of their own (lower/privatise.c) and read none? */
static bool is_apart(const LaneFacts *facts, int store) {
  const LInstr *code = facts->f->code;
  bool apart = true, alone = lane_loop_around(facts, store) < 0, output = facts->loop.privatised;
  for (int n = facts->loop.first; n < facts->loop.end; n++) {
    if (!touches_memory(&code[n])) continue;
    bool same = lanes_array(facts, code[n].a) == lanes_array(facts, code[store].a);
    apart &= keeps_apart(facts, &code[store], &code[n]);
    alone &= n == store || !same;
    output &= !same || code[n].op == LOP_STORE;
  }
  return apart || alone || output;
}

int lanes_added_to(const LInstr *in, int r) {
  if (in->op != LOP_SCALAR) return -1;
  if (in->sub == OP_FMA) return in->c == r && in->a != r && in->b != r ? 2 : -1;
  if (in->sub == OP_FSUB) return in->a == r && in->b != r ? 0 : -1;
  if (in->sub != OP_FADD && in->sub != OP_CADD) return -1;
  return in->a == in->b ? -1 : in->a == r ? 0 : in->b == r ? 1 : -1;
}

static bool is_straight(const LaneFacts *facts, int from, int to) {
  for (int k = from; k <= to; k++) {
    const LInstr *in = &facts->f->code[k];
    if (in->op == LOP_LABEL || lir_ops[in->op].flow != LFLOW_NEXT) return false;
  }
  return true;
}

bool lanes_differ(const LaneFacts *facts, const LInstr *a, const LInstr *b) {
  if (a->b == b->b && a->imm.i == b->imm.i) return a->c != b->c;
  const LInstr *x = lanes_definition(facts, a->b), *y = lanes_definition(facts, b->b);
  return a->imm.i == b->imm.i && x && y && x->op == LOP_INT && y->op == LOP_INT && x->imm.i != y->imm.i;
}

/* Does nothing else between the two, both included, write to the array, at what may be the same place? */
static bool is_alone_between(const LaneFacts *facts, int from, int store) {
  const LInstr *code = facts->f->code;
  for (int k = from; k < store; k++)
    if (code[k].op == LOP_STORE && lanes_array(facts, code[k].a) == lanes_array(facts, code[store].a) &&
        !lanes_differ(facts, &code[k], &code[store]))
      return false;
  return true;
}

/* Do the LOAD and the STORE, which run in a row, have one index? */
static bool same_index(const LaneFacts *facts, int load, int store) {
  const LInstr *code = facts->f->code;
  int r = code[load].b;
  if (r != code[store].b) return same_value(facts, r, code[store].b, 0);
  for (int k = load; k < store; k++)
    if (r >= 0 && code[k].dst == r && lir_defines_dst(code[k].op)) return false;
  return true;
}

bool lane_find_addition(LaneFacts *facts, int store) {
  const LInstr *code = facts->f->code, *s = &code[store], *op = lanes_definition(facts, s->dst);
  if (!op || facts->reads[s->dst] != 1 || facts->f->regs[s->dst].kind != R_FLOAT) return false;
  int at = (int)(op - code);
  const int32_t operands[] = {op->a, op->b, op->c};
  for (int k = 0; k < 3; k++) {
    const LInstr *load = lanes_definition(facts, operands[k]);
    int from = load ? (int)(load - code) : -1;
    if (from < facts->loop.first || load->op != LOP_LOAD || facts->reads[load->dst] != 1) continue;
    if (load->a != s->a || load->c != s->c || load->imm.i != s->imm.i || !same_index(facts, from, store)) continue;
    if (lanes_added_to(op, load->dst) != k || from > at || at > store || !is_straight(facts, from, store) ||
        !is_alone_between(facts, from, store))
      continue;
    facts->additions[from] = facts->additions[at] = LANE_PART;
    facts->additions[store] = LANE_ADDS;
    facts->terms[store] = (LaneTerm){s, op, k};
    return true;
  }
  return false;
}

LaneRole lanes_role(const LaneFacts *facts, int instr) { return (LaneRole)facts->additions[instr]; }
int lanes_row_start(const LaneFacts *facts, int instr) {
  while (instr > facts->loop.first && is_straight(facts, instr - 1, instr - 1)) instr--;
  return instr;
}

LaneTerm lanes_term(const LaneFacts *facts, int store) { return facts->terms[store]; }

/* Is the int another one in each iteration of the inner loop with this LABEL, which is the only one around? */
static bool counts_in(LaneFacts *facts, int head, int r, int depth) {
  const LInstr *code = facts->f->code, *test = &code[head + (code[head + 2].op == LOP_INT ? 3 : 2)];
  const LInstr *in = lanes_definition(facts, r);
  if (code[head + 1].op != LOP_LOOP_HEAD || test->op != LOP_SCALAR || test->sub != OP_ILT || depth > LIMIT_LANE_INDEX)
    return false;
  int jump = facts->back[code[head].imm.i];
  const LInstr *step = &code[jump - 1];
  bool steps = step->op == LOP_SCALAR && (step->sub == OP_IADD || step->sub == OP_ISUB) && step->dst == step->a &&
               lane_is_one(facts, step->b);
  if (!steps) return false;
  if (r == step->dst) return r == test->a || r == test->b;
  if (!in || in->op != LOP_SCALAR || (in->sub != OP_IADD && in->sub != OP_ISUB)) return false;
  const LInstr *x = lanes_definition(facts, in->a), *y = lanes_definition(facts, in->b);
  bool fixed_a = !facts->inside[in->a] || (x && x - code < head),
       fixed_b = !facts->inside[in->b] || (y && y - code < head);
  return (fixed_b && counts_in(facts, head, in->a, depth + 1)) || (fixed_a && counts_in(facts, head, in->b, depth + 1));
}

/* A loop that is interrupted after many iterations is lowered as two, the outer one of which doesn't begin the index
 * anew. Are these two such? */
static bool is_chunked(const LaneFacts *facts, int outer, int inner) {
  const LInstr *code = facts->f->code;
  int index = code[facts->back[code[inner].imm.i] - 1].dst;
  for (int k = outer + 1; k < inner; k++)
    if ((code[k].op != LOP_SCALAR && code[k].op != LOP_INT && code[k].op != LOP_MOVE) || code[k].dst == index)
      return false;
  return true;
}

/* Can what is added by the STORE be added iteration by iteration where the body stands for several? */
static bool may_add(LaneFacts *facts, int store) {
  const LInstr *code = facts->f->code, *s = &code[store];
  int around = lane_loop_around(facts, store);
  const LInstr *op = facts->terms[store].operation;
  const int32_t operands[] = {op->a, op->b, op->c};
  for (int k = 0; k < 3; k++)
    if (!lane_is_kept(facts, operands[k], 0) && around < 0) return false;
  if (around < 0) return lane_is_kept(facts, s->b, 0);
  int outer = around > facts->loop.first ? lane_loop_around(facts, around - 1) : -1;
  if (outer >= 0 && is_chunked(facts, outer, around))
    outer = outer > facts->loop.first ? lane_loop_around(facts, outer - 1) : -1;
  return outer < 0 && lanes_kind(facts, s->b) == LANE_UNIFORM && counts_in(facts, around, s->b, 0);
}

/* Can the instruction be reached from the other one without another iteration? */
bool lane_leads_to(const LaneFacts *facts, int from, int to) {
  const LInstr *code = facts->f->code;
  int first = facts->loop.first, size = facts->loop.end - first;
  bool *seen = NEW_ARRAY(facts->arena, bool, size + 1);
  int *todo = NEW_ARRAY(facts->arena, int, size + 1), n = 0;
  todo[n++] = from;
  while (n) {
    int k = todo[--n];
    LFlow flow = lir_ops[code[k].op].flow;
    for (int64_t s = -1, next; s < 0 || (next = lir_target(&code[k], (int)s)) >= 0; s++) {
      int at = s < 0 ? k + 1 : facts->labels[next];
      bool leads = s >= 0 || flow == LFLOW_NEXT || flow == LFLOW_BRANCH;
      if (!leads || at >= facts->loop.end || seen[at - first]) continue;
      if (at == to) return true;
      seen[at - first] = true;
      todo[n++] = at;
    }
  }
  return false;
}

/* All that is done with the array of this STORE, if it is nothing but additions that can be done one by one: within a
 * row of instructions, or in arms of which each iteration takes one. */
static bool find_additions(LaneFacts *facts, int store) {
  const LInstr *code = facts->f->code;
  int array = lanes_array(facts, code[store].a), last = -1, parts = 0;
  for (int k = facts->loop.first; k < facts->loop.end; k++) {
    if (!touches_memory(&code[k]) || lanes_array(facts, code[k].a) != array) continue;
    if (code[k].op == LOP_LOAD) {
      parts++;
      continue;
    }
    if (facts->additions[k] < LANE_WAITS && !lane_find_addition(facts, k)) return false;
    if (!may_add(facts, k)) return false;
    if (last >= 0 && lane_loop_around(facts, last) >= 0) return false;
    if (last >= 0 && is_straight(facts, last, k)) facts->additions[last] = LANE_WAITS;
    else if (last >= 0 && lane_leads_to(facts, last, k)) return false;
    facts->additions[k] = LANE_ADDS;
    parts--;
    last = k;
  }
  return !parts;
}

/* Additions to the array of this STORE, or else pairs of places to be compared before the loop. */
static bool find_additions_or_pairs(LaneFacts *facts, int store) {
  const LaneLoop *l = &facts->loop;
  size_t size = (size_t)(l->end - l->first);
  uint8_t *before = NEW_ARRAY(facts->arena, uint8_t, size);
  memcpy(before, &facts->additions[l->first], size);
  if (find_additions(facts, store)) return true;
  memcpy(&facts->additions[l->first], before, size);
  return lane_find_pairs(facts, store);
}

bool lane_all_apart(LaneFacts *facts) {
  const LInstr *code = facts->f->code;
  for (int k = facts->loop.first; k < facts->loop.end; k++)
    if (code[k].op == LOP_STORE && facts->additions[k] == LANE_PLAIN && !is_apart(facts, k) &&
        !find_additions_or_pairs(facts, k))
      return false;
  facts->loop.tests = facts->npairs > 0;
  return true;
}
