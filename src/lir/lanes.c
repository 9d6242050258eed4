/* SPDX-License-Identifier: MIT */
/* Lanes: loops of lowered code whose iterations are independent, so that machine code may run several at once.
 *
 * The loop counts up by 1, its body is a row of instructions without jumps, and nothing but partial sums (LANE_ADD)
 * goes from one iteration to the next. Lowered code stays scalar: what this finds is how the same instructions are done
 * for several iterations. Of each register of the body it says whether it is the same in all of them, counts with the
 * index, or varies:
 *
 *   f1 = LOAD r0[i]        floats      (i counts: neighbours in memory)
 *   f2 = LOAD r0[j]        uniform     (j is defined outside)
 *   f3 = * f1 f2           floats
 *   STORE r4[i] = f3
 *
 * An array that is written to is written at places that count with the index, and it is read and written at one place
 * only: so no iteration sees what another one wrote. Arrays in different registers don't overlap, since what is written
 * to in place is held by nothing else. */
#include "lir/lanes.h"

struct LaneFacts {
  const LModule *m;
  const LFunc *f;
  int32_t *reads;   /* by register: how often it is read in the function */
  int32_t *defined; /* by register: how often it is defined */
  int32_t *one;     /* by register: 1 + index of the instruction whose dst it is, if that alone defines it; else 0 */
  bool *zeroed;     /* by register: an INT makes it 0 */
};

/* ---- The function ------------------------------------------------------------------------------------------------ */
typedef struct Counts {
  int32_t *reads, *defined;
} Counts;

static void count(void *user, int32_t *reg, Role role) {
  const Counts *c = user;
  if (role == ROLE_DEF || role == ROLE_DEF_BORROWED) c->defined[*reg]++;
  else c->reads[*reg]++;
  if (role == ROLE_INOUT) c->defined[*reg]++;
}

const LaneFacts *lanes_facts(Arena *a, const LModule *m, const LFunc *f) {
  LaneFacts *facts = NEW(a, LaneFacts);
  size_t n = (size_t)f->nregs + 1;
  *facts = (LaneFacts){
      m, f, NEW_ARRAY(a, int32_t, n), NEW_ARRAY(a, int32_t, n), NEW_ARRAY(a, int32_t, n), NEW_ARRAY(a, bool, n)};
  Counts c = {facts->reads, facts->defined};
  for (int r = 0; r < f->nparams; r++) facts->defined[r]++;
  for (int k = 0; k < f->ncode; k++) lir_roles(m, &f->code[k], count, &c);
  for (int k = 0; k < f->ncode; k++) {
    const LInstr *in = &f->code[k];
    if (in->op == LOP_INT && in->imm.i == 0) facts->zeroed[in->dst] = true;
    if (in->dst >= 0 && lir_defines_dst(in->op) && facts->defined[in->dst] == 1) facts->one[in->dst] = k + 1;
  }
  return facts;
}

static const LInstr *definition(const LaneFacts *facts, int r) {
  return r >= 0 && facts->one[r] ? &facts->f->code[facts->one[r] - 1] : NULL;
}

static bool is_one(const LaneFacts *facts, int r) {
  const LInstr *in = definition(facts, r);
  return in && in->op == LOP_INT && in->imm.i == 1;
}

/* Does the register keep its value within an iteration, from where it is defined? */
static bool is_kept(const LaneFacts *facts, const LaneLoop *l, int r) {
  int n = 0;
  for (int k = l->first; k < l->end; k++) n += facts->f->code[k].dst == r && lir_defines_dst(facts->f->code[k].op);
  return n == 0 || (n == 1 && facts->defined[r] == 1);
}

/* Do both registers hold the same int within an iteration? */
static bool same_value(const LaneFacts *facts, const LaneLoop *l, int a, int b, int depth) {
  if (a == b) return a < 0 || is_kept(facts, l, a);
  const LInstr *x = definition(facts, a), *y = definition(facts, b);
  if (!x || !y || x->op != y->op || x->sub != y->sub || depth > LIMIT_LANE_INDEX) return false;
  if (x->op == LOP_INT) return x->imm.i == y->imm.i;
  return x->op == LOP_SCALAR && same_value(facts, l, x->a, y->a, depth + 1) &&
         same_value(facts, l, x->b, y->b, depth + 1) && same_value(facts, l, x->c, y->c, depth + 1);
}

/* ---- What registers hold ----------------------------------------------------------------------------------------- */
static LaneKind kind_of(const LaneState *s, int r) { return r < 0 ? LANE_UNIFORM : (LaneKind)s->kinds[r]; }

/* Can the operation be done on floats, or their bools, of several iterations? */
static bool is_wide(const LInstr *in) {
  if (lir_calls_function(in)) return in->sub != OP_FPOWI;
  switch (in->sub) {
  case OP_FADD:
  case OP_FSUB:
  case OP_FMUL:
  case OP_FDIV:
  case OP_CADD:
  case OP_FNEG:
  case OP_FMA:
  case OP_FMIN:
  case OP_FMAX:
  case OP_ABS:
  case OP_SQRT:
  case OP_FLOOR:
  case OP_CEIL:
  case OP_TRUNC:
  case OP_SIGN:
  case OP_FEQ:
  case OP_FNE:
  case OP_FLT:
  case OP_FLE:
  case OP_IS_NAN:
  case OP_NOT:
  case OP_AND:
  case OP_OR:
  case OP_BEQ:
  case OP_SELECT: return true;
  default: return false;
  }
}

static LaneKind scalar_kind(const LaneState *s, const LInstr *in) {
  LaneKind a = kind_of(s, in->a), b = kind_of(s, in->b), c = kind_of(s, in->c);
  if (a == LANE_UNKNOWN || b == LANE_UNKNOWN || c == LANE_UNKNOWN) return LANE_UNKNOWN;
  if (a == LANE_UNIFORM && b == LANE_UNIFORM && c == LANE_UNIFORM) return LANE_UNIFORM;
  if (in->sub == OP_IADD && a + b == LANE_LINEAR) return LANE_LINEAR; /* one of them, and the other one uniform */
  if (in->sub == OP_ISUB && a == LANE_LINEAR && b == LANE_UNIFORM) return LANE_LINEAR;
  if (in->sub == OP_FLOAT_OF_INT && a == LANE_LINEAR) return LANE_FLOATS;
  bool linear = a == LANE_LINEAR || b == LANE_LINEAR || c == LANE_LINEAR;
  if (linear || !is_wide(in)) return LANE_UNKNOWN;
  if (s->f->regs[in->dst].kind == R_FLOAT) return LANE_FLOATS;
  return in->sub == OP_SELECT ? LANE_UNKNOWN : LANE_BOOLS;
}

LaneKind lanes_step(LaneState *s, const LInstr *in) {
  LaneKind kind = LANE_UNKNOWN;
  switch (in->op) {
  case LOP_SCALAR: kind = scalar_kind(s, in); break;
  case LOP_MOVE: kind = kind_of(s, in->a); break;
  case LOP_INT:
  case LOP_FLOAT:
  case LOP_GLOBAL:
  case LOP_DIM:
  case LOP_DATA: kind = LANE_UNIFORM; break;
  case LOP_LOAD: {
    LaneKind index = kind_of(s, in->b);
    bool number = s->f->regs[in->dst].kind == R_FLOAT;
    kind = index == LANE_UNIFORM ? LANE_UNIFORM : index == LANE_LINEAR && number ? LANE_FLOATS : LANE_UNKNOWN;
    break;
  }
  default: return LANE_UNKNOWN;
  }
  s->kinds[in->dst] = (uint8_t)kind;
  return kind;
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */
static bool touches_memory(const LInstr *in) { return in->op == LOP_LOAD || in->op == LOP_STORE; }

/* The array whose data register r is; -1 - r: unknown. */
static int array_of(const LaneFacts *facts, int r) {
  const LInstr *in = definition(facts, r);
  return in && in->op == LOP_DATA ? in->a : -1 - r;
}

/* Is it certain that no iteration reads or writes by `other` what another one writes by `store`? */
static bool keeps_apart(const LaneFacts *facts, const LaneLoop *l, const LInstr *store, const LInstr *other) {
  if (array_of(facts, store->a) != array_of(facts, other->a)) return true;
  return same_value(facts, l, store->b, other->b, 0) && store->imm.i == other->imm.i;
}

static bool all_apart(const LaneFacts *facts, const LaneLoop *l) {
  const LInstr *code = facts->f->code;
  for (int k = l->first; k < l->end; k++)
    for (int n = l->first; n < l->end && code[k].op == LOP_STORE; n++)
      if (touches_memory(&code[n]) && !keeps_apart(facts, l, &code[k], &code[n])) return false;
  return true;
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */
/* Is it made as lowering makes loops that count up? Fills in all but `why`. */
static bool find_frame(const LaneFacts *facts, int head, LaneLoop *l) {
  const LFunc *f = facts->f;
  const LInstr *in = &f->code[head];
  if (head + 5 >= f->ncode || in->op != LOP_LABEL || in[1].op != LOP_LOOP_HEAD) return false;
  const LInstr *test = in + 2, *branch = in + 3;
  if (test->op != LOP_SCALAR || test->sub != OP_ILT || branch->op != LOP_BRANCH || branch->a != test->dst) return false;
  *l = (LaneLoop){.head = head, .first = head + 4, .index = test->a, .limit = test->b, .exit = (int)branch->imm.i};
  l->from_zero = facts->zeroed[l->index] && facts->defined[l->index] == 2;
  int jump = l->first;
  while (jump < f->ncode && f->code[jump].op != LOP_JUMP && f->code[jump].op != LOP_LABEL &&
         lir_ops[f->code[jump].op].flow == LFLOW_NEXT)
    jump++;
  l->end = jump - 1;
  if (jump >= f->ncode || f->code[jump].op != LOP_JUMP || f->code[jump].imm.i != in->imm.i || l->end < l->first)
    return false;
  const LInstr *step = &f->code[l->end];
  return step->op == LOP_SCALAR && step->sub == OP_IADD && step->dst == l->index && step->a == l->index &&
         is_one(facts, step->b);
}

/* Is what the body defines read nowhere else, so that nobody misses the values of an iteration? */
static bool is_closed(Arena *a, const LaneFacts *facts, const LaneLoop *l) {
  const LFunc *f = facts->f;
  size_t n = (size_t)f->nregs + 1;
  Counts c = {NEW_ARRAY(a, int32_t, n), NEW_ARRAY(a, int32_t, n)};
  for (int k = l->first; k < l->end; k++) {
    LInstr *in = &f->code[k];
    if (in->op != LOP_LANE_ADD) lir_roles(facts->m, in, count, &c);
    else c.reads[in->b]++, c.reads[in->a]++, c.reads[in->c < 0 ? in->b : in->c]++;
  }
  for (int k = l->first; k < l->end; k++) {
    const LInstr *in = &f->code[k];
    if (lir_defines_dst(in->op) && in->dst >= 0 && c.reads[in->dst] < facts->reads[in->dst]) return false;
  }
  return c.defined[l->index] == 0 && c.defined[l->limit] == 0;
}

LaneState lanes_begin(Arena *a, const LaneFacts *facts, const LaneLoop *l) {
  const LFunc *f = facts->f;
  LaneState s = {f, NEW_ARRAY(a, uint8_t, f->nregs + 1)};
  for (int k = l->first; k < l->end; k++) {
    const LInstr *in = &f->code[k];
    if (lir_defines_dst(in->op) && in->dst >= 0) s.kinds[in->dst] = LANE_UNKNOWN;
  }
  s.kinds[l->index] = LANE_LINEAR;
  return s;
}

/* Why the instruction can't be done for several iterations at once; NULL: it can. */
static const char *check(LaneState *s, const LInstr *in, const LaneLoop *l) {
  switch (in->op) {
  case LOP_SCALAR: return lanes_step(s, in) == LANE_UNKNOWN ? "an operation without lanes" : NULL;
  case LOP_MOVE:
    if (s->f->regs[in->dst].kind == R_PTR || s->f->regs[in->dst].kind == R_RAW) return "an object is moved";
    return lanes_step(s, in) == LANE_UNKNOWN ? "a value is carried" : NULL;
  case LOP_INT:
  case LOP_FLOAT:
  case LOP_GLOBAL:
  case LOP_DIM:
  case LOP_DATA:
    if (in->a >= 0 && in->op != LOP_GLOBAL && kind_of(s, in->a) != LANE_UNIFORM) return "an array differs";
    lanes_step(s, in);
    return NULL;
  case LOP_LOAD:
    if (in->sub || kind_of(s, in->a) != LANE_UNIFORM) return "an array differs";
    return lanes_step(s, in) == LANE_UNKNOWN ? "a load at places that don't count" : NULL;
  case LOP_STORE:
    if (kind_of(s, in->a) != LANE_UNIFORM) return "an array differs";
    if (kind_of(s, in->b) != LANE_LINEAR) return "a store at places that don't count";
    if (s->f->regs[in->dst].kind != R_FLOAT) return "a store of what isn't a float";
    return kind_of(s, in->dst) == LANE_UNKNOWN ? "a value is carried" : NULL;
  case LOP_LANE_ADD:
    if (in->a != l->index) return "terms aren't numbered by the index";
    return kind_of(s, in->b) == LANE_UNKNOWN || kind_of(s, in->c) == LANE_UNKNOWN ? "a value is carried" : NULL;
  default: return lir_ops[in->op].name;
  }
}

bool lanes_find(Arena *a, const LaneFacts *facts, int head, LaneLoop *l) {
  if (!find_frame(facts, head, l)) return false;
  LaneState s = lanes_begin(a, facts, l);
  for (int k = l->first; k < l->end && !l->why; k++) {
    const LInstr *in = &facts->f->code[k];
    l->sums |= in->op == LOP_LANE_ADD;
    l->why = check(&s, in, l);
    if (!l->why && facts->m->strict && in->op == LOP_SCALAR && lir_calls_function(in))
      l->why = "a function of the C library";
  }
  if (!l->why && !all_apart(facts, l)) l->why = "an array is read or written at several places";
  if (!l->why && !is_closed(a, facts, l)) l->why = "a value is needed afterwards";
  return true;
}

/* ---- For people -------------------------------------------------------------------------------------------------- */
static void describe_count(int n, const char *what, bool *any, Str *out) {
  if (n) str_printf(out, "%s %d %s%s", *any ? "," : "", n, what, n > 1 ? "s" : "");
  *any = *any || n;
}

void lanes_describe(const LaneFacts *facts, const LaneLoop *l, Str *out) {
  if (l->why) {
    str_printf(out, "no lanes: %s", l->why);
    return;
  }
  int loads = 0, records = 0, stores = 0, sums = 0, calls = 0, others = 0;
  for (int k = l->first; k < l->end; k++) {
    const LInstr *in = &facts->f->code[k];
    bool call = in->op == LOP_SCALAR && lir_calls_function(in);
    loads += in->op == LOP_LOAD && in->b >= 0 && in->imm.i == 1;
    records += touches_memory(in) && in->b >= 0 && in->imm.i != 1;
    stores += in->op == LOP_STORE && in->imm.i == 1;
    sums += in->op == LOP_LANE_ADD;
    calls += call;
    others += in->op == LOP_SCALAR && !call;
  }
  bool any = false;
  str_puts(out, "lanes:");
  describe_count(loads, "load", &any, out);
  describe_count(stores, "store", &any, out);
  describe_count(records, "field", &any, out);
  describe_count(sums, "sum", &any, out);
  describe_count(calls, "function", &any, out);
  describe_count(others, "operation", &any, out);
}
