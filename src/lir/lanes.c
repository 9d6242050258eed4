/* SPDX-License-Identifier: MIT */
/* Lanes: loops of lowered code whose iterations are independent, so that machine code may run several at once.
 *
 * The loop counts up or down by 1, what it branches on is the same in all iterations (in a copy with private arrays,
 * lower/privatise.c, probably the same), and nothing but sums goes from one iteration to the next: partial sums
 * (LANE_ADD), and sums in order (lane_totals.c). Lowered code stays scalar: what this finds is how the same
 * instructions are done for several iterations. Of each register of the body it says whether it is the same in all of
 * them, grows by the same from one to the next, or varies:
 *
 *   f1 = LOAD r0[i]        floats      (i counts: neighbours in memory)
 *   f2 = LOAD r0[j]        uniform     (j is defined outside)
 *   f3 = * f1 f2           floats
 *   STORE r4[i] = f3
 *
 * A register is of one kind in all of the body: what holds for its definitions is joined until nothing changes, which
 * takes more than one pass where inner loops carry it.
 *
 * An array that is written to is written at places that count with the index, and it is read and written at one place
 * only: so no iteration sees what another one wrote. Or all that is done with it is to add to its elements; these
 * additions are done one by one, in the order of the iterations. Or its places are compared before the loop is entered
 * (lane_pairs.c). Arrays in different registers don't overlap, since
 * what is written to in place is held by nothing else. */
#include "lir/lane_facts.h"
#include "lir/loops.h"

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

static void count_registers(LaneFacts *facts) {
  const LFunc *f = facts->f;
  Counts c = {facts->reads, facts->defined};
  for (int r = 0; r < f->nparams; r++) facts->defined[r]++;
  for (int k = 0; k < f->ncode; k++) lir_roles(facts->m, &f->code[k], count, &c);
  for (int k = 0; k < f->ncode; k++) {
    const LInstr *in = &f->code[k];
    if (in->op == LOP_INT && in->imm.i == 0) facts->zeroed[in->dst] = true;
    if (in->dst >= 0 && lir_defines_dst(in->op) && facts->defined[in->dst] == 1) facts->one[in->dst] = k + 1;
  }
}

static void find_labels(LaneFacts *facts) {
  const LFunc *f = facts->f;
  for (int k = 0; k < f->ncode; k++)
    if (f->code[k].op == LOP_LABEL) facts->labels[f->code[k].imm.i] = k;
  for (int k = 0; k < f->ncode; k++)
    for (int64_t n = 0, l; (l = lir_target(&f->code[k], (int)n)) >= 0; n++) {
      facts->uses[l]++;
      if (f->code[k].op == LOP_JUMP && facts->labels[l] < k) facts->back[l] = k;
    }
}

LaneFacts *lanes_facts(Arena *a, const LModule *m, const LFunc *f) {
  LaneFacts *facts = NEW(a, LaneFacts);
  size_t n = (size_t)f->nregs + 1, labels = (size_t)f->nlabels + 1, code = (size_t)f->ncode + 1;
  *facts = (LaneFacts){.arena = a, .m = m, .f = f};
  facts->reads = NEW_ARRAY(a, int32_t, n);
  facts->defined = NEW_ARRAY(a, int32_t, n);
  facts->one = NEW_ARRAY(a, int32_t, n);
  facts->zeroed = NEW_ARRAY(a, bool, n);
  facts->labels = NEW_ARRAY(a, int32_t, labels);
  facts->back = NEW_ARRAY(a, int32_t, labels);
  facts->uses = NEW_ARRAY(a, int32_t, labels);
  facts->kinds = NEW_ARRAY(a, uint8_t, n);
  facts->strides = NEW_ARRAY(a, LaneStride, n);
  facts->inside = NEW_ARRAY(a, int32_t, n);
  facts->additions = NEW_ARRAY(a, uint8_t, code);
  facts->terms = NEW_ARRAY(a, LaneTerm, code);
  count_registers(facts);
  find_labels(facts);
  bool *wanted = NEW_ARRAY(a, bool, code);
  for (int k = 0; k < f->ncode; k++) {
    if (f->code[k].op == LOP_LABEL) wanted[k] = true;
    if (f->code[k].op == LOP_LOOP_HEAD && k + 4 < f->ncode) wanted[k + 3] = wanted[k + 4] = true;
  }
  facts->live = loop_live(a, m, f, wanted);
  return facts;
}

const LInstr *lanes_definition(const LaneFacts *facts, int r) {
  return r >= 0 && facts->one[r] ? &facts->f->code[facts->one[r] - 1] : NULL;
}

bool lane_is_one(const LaneFacts *facts, int r) {
  const LInstr *in = lanes_definition(facts, r);
  return in && in->op == LOP_INT && in->imm.i == 1;
}

/* ---- What registers hold ----------------------------------------------------------------------------------------- */
LaneKind lanes_kind(const LaneFacts *facts, int r) { return r < 0 ? LANE_UNIFORM : (LaneKind)facts->kinds[r]; }
bool lanes_is_inside(const LaneFacts *facts, int r) { return facts->inside[r] > 0; }
LaneStride lanes_stride(const LaneFacts *facts, int r) { return facts->strides[r]; }

static bool is_int_kind(LaneKind k) { return k == LANE_STRIDED || k == LANE_INTS || k == LANE_BOOLS; }
bool lane_same_stride(LaneStride a, LaneStride b) { return a.times == b.times && a.by == b.by; }

/* Larger strides than any array has aren't followed. */
static bool is_moderate(int64_t times) { return times > -(1 << 30) && times < 1 << 30; }

/* By how much the int grows from one iteration to the next. False: not by the same. */
static bool find_stride(const LaneFacts *facts, const LInstr *in, LaneStride *s) {
  static const LaneStride none = {0, -1};
  LaneKind a = lanes_kind(facts, in->a), b = lanes_kind(facts, in->b);
  LaneStride x = a == LANE_STRIDED ? facts->strides[in->a] : none,
             y = in->b >= 0 && b == LANE_STRIDED ? facts->strides[in->b] : none;
  switch (in->sub) {
  case OP_INEG: *s = (LaneStride){-x.times, x.by}; return true;
  case OP_IADD:
  case OP_ISUB: {
    if (x.times && y.times && x.by != y.by) return false;
    int64_t sign = in->sub == OP_ISUB ? -1 : 1;
    *s = (LaneStride){x.times + sign * y.times, x.times ? x.by : y.by};
    return is_moderate(s->times);
  }
  case OP_IMUL: {
    if (x.times && y.times) return false;
    const LInstr *factor = lanes_definition(facts, x.times ? in->b : in->a);
    *s = x.times ? x : y;
    if (factor && factor->op == LOP_INT && factor->imm.i > -1000 && factor->imm.i < 1000) {
      s->times *= factor->imm.i;
      return is_moderate(s->times);
    }
    int by = x.times ? in->b : in->a;
    if (s->by >= 0 || facts->inside[by]) return false;
    s->by = by;
    return true;
  }
  case OP_IAND: /* the lane: iterations run together from a multiple of that on */
    *s = (LaneStride){1, -1};
    return lane_is_number(facts, in) > 0;
  default: return false;
  }
}

/* What a scalar operation gives, and how a STRIDED result grows. */
static LaneKind scalar_kind(const LaneFacts *facts, const LInstr *in, LaneStride *stride) {
  const int32_t operands[] = {in->a, in->b, in->c};
  bool uniform = true, strided = true;
  for (int k = 0; k < 3; k++) {
    LaneKind kind = lanes_kind(facts, operands[k]);
    if (kind == LANE_UNKNOWN || kind == LANE_NONE) return kind;
    uniform &= kind == LANE_UNIFORM;
    strided &= kind == LANE_UNIFORM || kind == LANE_STRIDED;
  }
  if (uniform) return LANE_UNIFORM;
  switch (facts->f->regs[in->dst].kind) {
  case R_FLOAT: return LANE_FLOATS;
  case R_INT: break;
  default: return LANE_UNKNOWN;
  }
  if (strided && find_stride(facts, in, stride)) return LANE_STRIDED;
  switch (in->sub) {
  case OP_FEQ:
  case OP_FNE:
  case OP_FLT:
  case OP_FLE:
  case OP_IEQ:
  case OP_INE:
  case OP_ILT:
  case OP_ILE:
  case OP_IS_NAN:
  case OP_NOT:
  case OP_AND:
  case OP_OR:
  case OP_BEQ: return LANE_BOOLS;
  default: return LANE_INTS;
  }
}

static LaneKind load_kind(const LaneFacts *facts, const LInstr *in) {
  LaneKind index = lanes_kind(facts, in->b);
  if (index == LANE_NONE || index == LANE_UNIFORM) return index;
  if (index != LANE_STRIDED && index != LANE_INTS) return LANE_UNKNOWN;
  uint8_t kind = facts->f->regs[in->dst].kind;
  return kind == R_FLOAT ? LANE_FLOATS : kind == R_INT ? LANE_INTS : LANE_UNKNOWN;
}

/* What the definition gives its register. */
static LaneKind defined_kind(const LaneFacts *facts, const LInstr *in, LaneStride *stride) {
  switch (in->op) {
  case LOP_SCALAR: return scalar_kind(facts, in, stride);
  case LOP_MOVE: *stride = facts->strides[in->a]; return lanes_kind(facts, in->a);
  case LOP_LOAD: return load_kind(facts, in);
  case LOP_LANE_SUM: return LANE_FLOATS;
  default: return LANE_UNIFORM;
  }
}

static LaneKind join_kinds(LaneKind a, LaneKind b, bool strides_differ) {
  if (a == LANE_NONE || b == LANE_NONE) return a == LANE_NONE ? b : a;
  if (a == LANE_UNKNOWN || b == LANE_UNKNOWN) return LANE_UNKNOWN;
  if (a == b) return a == LANE_STRIDED && strides_differ ? LANE_INTS : a;
  if (a == LANE_FLOATS || b == LANE_FLOATS) return a == LANE_UNIFORM || b == LANE_UNIFORM ? LANE_FLOATS : LANE_UNKNOWN;
  return is_int_kind(a) || is_int_kind(b) ? LANE_INTS : LANE_UNKNOWN;
}

/* Joins what the instruction defines to what is known. True if that is news. */
static bool learn(LaneFacts *facts, const LInstr *in) {
  if (in->dst < 0 || !lir_defines_dst(in->op)) return false;
  LaneStride stride = {0, -1};
  LaneKind old = lanes_kind(facts, in->dst), found = defined_kind(facts, in, &stride);
  bool differ = old == LANE_STRIDED && found == LANE_STRIDED && !lane_same_stride(stride, facts->strides[in->dst]);
  LaneKind joined = join_kinds(old, found, differ);
  if (old == LANE_NONE) facts->strides[in->dst] = stride;
  facts->kinds[in->dst] = (uint8_t)joined;
  return joined != old;
}

static void forget_loop(LaneFacts *facts) {
  const LaneLoop *l = &facts->loop;
  for (int k = l->first; k < l->end; k++) {
    const LInstr *in = &facts->f->code[k];
    facts->additions[k] = LANE_PLAIN;
    if (in->dst < 0 || !lir_defines_dst(in->op)) continue;
    facts->kinds[in->dst] = LANE_UNIFORM;
    facts->inside[in->dst] = 0;
  }
  if (l->end) facts->kinds[l->index] = LANE_UNIFORM;
  facts->loop = (LaneLoop){0};
  facts->npairs = 0;
}

static void find_kinds(LaneFacts *facts) {
  const LaneLoop *l = &facts->loop;
  for (int k = l->first; k < l->end; k++) {
    const LInstr *in = &facts->f->code[k];
    if (in->dst < 0 || !lir_defines_dst(in->op)) continue;
    facts->kinds[in->dst] = LANE_NONE;
    facts->inside[in->dst]++;
  }
  facts->kinds[l->index] = LANE_STRIDED;
  facts->strides[l->index] = (LaneStride){1, -1};
  for (bool news = true; news;) {
    news = false;
    for (int k = l->first; k < l->end; k++) news |= learn(facts, &facts->f->code[k]);
    if (!l->nested) break;
  }
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */
/* What the index is compared with: a register, or an INT that the head makes. Fills in index, limit, exit and first. */
static bool find_test(const LaneFacts *facts, LaneLoop *l) {
  const LInstr *test = &facts->f->code[l->head + 2];
  l->first = l->head + 4;
  if (test->op == LOP_INT) test++, l->first++;
  const LInstr *branch = test + 1;
  if (test->op != LOP_SCALAR || test->sub != OP_ILT || branch->op != LOP_BRANCH || branch->a != test->dst) return false;
  l->exit = (int)branch->imm.i;
  const LInstr *step = &facts->f->code[l->end];
  l->down = step->sub == OP_ISUB;
  l->index = l->down ? test->b : test->a;
  l->limit = l->down ? test->a : test->b;
  return step->op == LOP_SCALAR && (step->sub == OP_IADD || l->down) && step->dst == l->index && step->a == l->index &&
         lane_is_one(facts, step->b);
}

/* Is it made as lowering makes loops that count? Fills in all but `why`. */
static bool find_frame(const LaneFacts *facts, int head, LaneLoop *l) {
  const LFunc *f = facts->f;
  const LInstr *in = &f->code[head];
  if (head + 6 >= f->ncode || in->op != LOP_LABEL || in[1].op != LOP_LOOP_HEAD) return false;
  *l = (LaneLoop){.head = head, .end = facts->back[in->imm.i] - 1};
  if (l->end < head + 4 || facts->uses[in->imm.i] > 2 || !find_test(facts, l) || l->end < l->first) return false;
  l->privatised = in[1].b == 2;
  l->from_zero = !l->down && facts->zeroed[l->index] && facts->defined[l->index] == 2;
  return true;
}

/* Do all branches of the body stay in it, and does nothing else lead into it? */
static bool is_enclosed(const LaneFacts *facts, LaneLoop *l) {
  const LInstr *code = facts->f->code;
  int uses = 0;
  for (int k = l->first; k < l->end; k++) {
    for (int64_t n = 0, to; (to = lir_target(&code[k], (int)n)) >= 0; n++, uses++)
      if (facts->labels[to] < l->first || facts->labels[to] >= l->end) return false;
    if (code[k].op == LOP_LABEL) uses -= facts->uses[code[k].imm.i];
    l->nested |= code[k].op == LOP_LABEL;
    l->loops |= code[k].op == LOP_LABEL && facts->back[code[k].imm.i] > k;
  }
  return uses == 0;
}

bool lane_is_live(const LaneFacts *facts, int at, int r) { return facts->live[at][r / 64] >> (r % 64) & 1; }

/* Does the instruction hand on to the next iteration nothing but a block of memory? The data of an array that the
 * iteration makes when it knows the first row is set before it is used, though liveness doesn't see that. */
static bool recycles(const LInstr *in) { return in->op == LOP_RENEW || in->op == LOP_KEEP || in->op == LOP_DATA; }

/* Does the body need what an earlier iteration defined, apart from the index and sums? Roles of sums are known. */
static bool is_carried(const LaneFacts *facts) {
  const LaneLoop *l = &facts->loop;
  for (int k = l->first; k < l->end; k++) {
    const LInstr *in = &facts->f->code[k];
    if (recycles(in) || lane_is_total(facts, k)) continue;
    if (in->dst >= 0 && lir_defines_dst(in->op) && lane_is_live(facts, l->first, in->dst)) return true;
    for (int n = 0; n < in->nres && in->op == LOP_LANE_OPEN; n++)
      if (lane_is_live(facts, l->first, in->res[n])) return true;
  }
  return false;
}

/* Is what the body defines needed nowhere else, so that nobody misses the values of an iteration? */
static bool is_closed(const LaneFacts *facts) {
  const LaneLoop *l = &facts->loop;
  int exit = facts->labels[l->exit];
  for (int k = l->first; k < l->end; k++) {
    const LInstr *in = &facts->f->code[k];
    if (recycles(in) || lane_is_total(facts, k)) continue;
    if (in->dst >= 0 && lir_defines_dst(in->op) && lane_is_live(facts, exit, in->dst)) return false;
  }
  return !facts->inside[l->index] && !facts->inside[l->limit];
}

/* Are the partial sums those of an inner loop, begun within the iteration? */
static bool begins_within(const LaneFacts *facts, const LInstr *add) {
  for (int k = facts->loop.first; k < facts->loop.end; k++) {
    const LInstr *in = &facts->f->code[k];
    if (in->op == LOP_LANE_OPEN && in->res[0] == add->res[0]) return true;
  }
  return false;
}

static const char *check_lane_add(const LaneFacts *facts, const LInstr *in) {
  if (in->a == facts->loop.index) return begins_within(facts, in) ? "terms aren't numbered by the index" : NULL;
  return lanes_kind(facts, in->a) == LANE_UNIFORM && begins_within(facts, in) ? NULL
                                                                              : "terms aren't numbered by the index";
}

static const char *check_memory(const LaneFacts *facts, const LInstr *in) {
  if (lanes_kind(facts, in->a) != LANE_UNIFORM || (in->op == LOP_LOAD && in->sub)) return "an array differs";
  if (in->op == LOP_LOAD) return NULL;
  uint8_t kind = facts->f->regs[in->dst].kind;
  if (kind != R_FLOAT && kind != R_INT) return "a store of objects";
  LaneKind index = lanes_kind(facts, in->b);
  return index == LANE_UNIFORM || index == LANE_STRIDED || index == LANE_INTS ? NULL : "a store at an unknown place";
}

/* A trap of numbers that have lanes. */
static const char *check_trap(const LaneFacts *facts, const LInstr *in) {
  for (int k = 0; k < in->nargs; k++)
    if (lanes_kind(facts, in->args[k]) >= LANE_NONE) return "a value without lanes";
  return NULL;
}

static bool are_uniform_args(const LaneFacts *facts, const LInstr *in) {
  bool uniform = true;
  for (int k = 0; k < in->nargs; k++) uniform &= lanes_kind(facts, in->args[k]) == LANE_UNIFORM;
  return uniform;
}

static bool are_uniform(const LaneFacts *facts, const LInstr *in) {
  bool registers = lir_holds(in->op, LOPERAND_B) != 'n', uniform = lanes_kind(facts, in->a) == LANE_UNIFORM;
  if (registers) uniform &= lanes_kind(facts, in->b) == LANE_UNIFORM;
  return uniform && are_uniform_args(facts, in);
}

/* Arrays that an iteration makes: in a copy with private arrays LIMIT_LANES iterations make one. */
static const char *check_object(const LaneFacts *facts, const LInstr *in) {
  if (!facts->loop.privatised) return in->op == LOP_MOVE ? "an object is moved" : lir_ops[in->op].name;
  return are_uniform(facts, in) ? NULL : "an array differs";
}

/* Will the condition probably be the same in all iterations? Two floats are hardly ever equal, and numbers NaN: such
 * are the exceptional cases of softmax, of norms, of rotations. */
static bool is_probably_uniform(const LaneFacts *facts, int condition, int depth) {
  const LInstr *in = lanes_definition(facts, condition);
  if (lanes_kind(facts, condition) == LANE_UNIFORM) return true;
  if (!in || in->op != LOP_SCALAR || depth > LIMIT_LANE_INDEX) return false;
  switch (in->sub) {
  case OP_FEQ:
  case OP_FNE:
  case OP_IS_NAN: return true;
  case OP_NOT: return is_probably_uniform(facts, in->a, depth + 1);
  case OP_AND:
  case OP_OR: return is_probably_uniform(facts, in->a, depth + 1) && is_probably_uniform(facts, in->b, depth + 1);
  default: return false;
  }
}

/* Where iterations differ at the branch, those of a copy with private arrays are done one by one. So it must be a
 * branch at which they seldom differ. */
static const char *check_branch(LaneFacts *facts, const LInstr *in) {
  if (lanes_kind(facts, in->a) == LANE_UNIFORM) return NULL;
  if (!facts->loop.privatised || !is_probably_uniform(facts, in->a, 0)) return "a branch that differs";
  facts->loop.agrees = true;
  return NULL;
}

/* Why the instruction can't be done for several iterations at once; NULL: it can. */
static const char *check(LaneFacts *facts, const LInstr *in) {
  if (in->dst >= 0 && lir_defines_dst(in->op) && lanes_kind(facts, in->dst) >= LANE_NONE)
    return in->op == LOP_LOAD ? "a load of objects" : "a value without lanes";
  switch (in->op) {
  case LOP_SCALAR:
  case LOP_INT:
  case LOP_FLOAT:
  case LOP_LABEL:
  case LOP_JUMP:
  case LOP_LOOP_HEAD:
  case LOP_LANE_OPEN:
  case LOP_LANE_SUM:
  case LOP_POLL: return NULL;
  case LOP_MOVE:
    return facts->f->regs[in->dst].kind == R_PTR || facts->f->regs[in->dst].kind == R_RAW ? check_object(facts, in)
                                                                                          : NULL;
  case LOP_NEW_ARRAY:
  case LOP_UNIQUE:
  case LOP_COPY:
  case LOP_RENEW:
  case LOP_KEEP:
  case LOP_RELEASE:
  case LOP_NULLPTR:
  case LOP_IS_NULL:
  case LOP_CHECK_ROW: return check_object(facts, in);
  case LOP_BRANCH: return check_branch(facts, in);
  case LOP_GLOBAL: return lanes_kind(facts, in->dst) == LANE_UNIFORM ? NULL : "a value without lanes";
  case LOP_DIM:
  case LOP_DATA:
    return lanes_kind(facts, in->a) == LANE_UNIFORM && lanes_kind(facts, in->dst) == LANE_UNIFORM ? NULL
                                                                                                  : "an array differs";
  case LOP_CHECK_INDEX: return lanes_kind(facts, in->b) == LANE_UNIFORM ? NULL : "a check that differs";
  case LOP_CHECK_SIZE:
    return lanes_kind(facts, in->a) == LANE_UNIFORM && lanes_kind(facts, in->b) == LANE_UNIFORM
               ? NULL
               : "a check that differs";
  case LOP_LOAD:
  case LOP_STORE: return check_memory(facts, in);
  case LOP_LANE_ADD: return check_lane_add(facts, in);
  case LOP_TRAP_NAN:
  case LOP_TRAP_INF: return check_trap(facts, in);
  default: return lir_ops[in->op].name;
  }
}

/* Is it a change that lasts longer than the iteration? */
static bool is_effect(const LaneFacts *facts, const LInstr *in) {
  if (lanes_role(facts, (int)(in - facts->f->code)) == LANE_TOTAL) return true;
  if (lane_modulus(facts, in) && facts->inside[in->a]) return false;
  return in->op == LOP_STORE || (in->op == LOP_LANE_ADD && in->a == facts->loop.index);
}

static bool varies(const LaneFacts *facts, const LInstr *in, LOp op) {
  return in->op == op && lanes_kind(facts, in->a) != LANE_UNIFORM;
}

/* May the check fail in some iterations and not in others? */
static bool fails_in_some(const LaneFacts *facts, const LInstr *in) {
  if (lir_is_trap(in->op)) return !are_uniform_args(facts, in);
  return varies(facts, in, LOP_CHECK_INDEX);
}

/* Does something that lasts come before the instruction, in an iteration? */
static bool follows_effect(const LaneFacts *facts, int at) {
  for (int k = facts->loop.first; k < facts->loop.end; k++)
    if (is_effect(facts, &facts->f->code[k]) && lane_leads_to(facts, k, at)) return true;
  return false;
}

/* Are varying branches taken before anything is changed that lasts? Then, where iterations differ, nothing has happened
 * of them. A varying check that fails may follow changes: they are all to arrays that the error discards. */
static bool branches_first(LaneFacts *facts) {
  LaneLoop *l = &facts->loop;
  for (int k = l->first; k < l->end; k++) {
    bool check = fails_in_some(facts, &facts->f->code[k]);
    if (check && l->privatised) l->agrees = true;
    else if (check) l->checks = true;
    if (varies(facts, &facts->f->code[k], LOP_BRANCH) && follows_effect(facts, k)) return false;
  }
  return true;
}

static const char *find_reason(LaneFacts *facts) {
  LaneLoop *l = &facts->loop;
  if (l->end - l->first > (l->privatised ? LIMIT_PRIVATE_NEST : LIMIT_LANE_NEST)) return "its body is too large";
  if (l->privatised && !l->from_zero) return "it is entered in its midst"; /* as a part that the evaluator enters */
  lane_find_totals(facts);
  if (is_carried(facts)) return "a value is carried";
  for (int k = l->first; k < l->end; k++) {
    const LInstr *in = &facts->f->code[k];
    l->sums |= in->op == LOP_LANE_ADD && in->a == l->index;
    const char *why = check(facts, in);
    bool call = in->op == LOP_SCALAR && lir_calls_function(in) && lanes_kind(facts, in->dst) != LANE_UNIFORM;
    if (call && facts->m->strict) return "a function of the C library";
    if (why) return why;
  }
  if (!is_closed(facts)) return "a value is needed afterwards";
  if (!branches_first(facts)) return "a branch that differs follows a change";
  if (!lane_all_apart(facts)) return "an array is read or written at several places";
  lane_find_turn(facts);
  return NULL;
}

bool lanes_find(LaneFacts *facts, int head, LaneLoop *out) {
  LaneLoop l;
  forget_loop(facts);
  if (!find_frame(facts, head, &l)) return false;
  if (!is_enclosed(facts, &l)) {
    l.why = "it is entered or left in its midst";
    *out = l;
    return true;
  }
  facts->loop = l;
  find_kinds(facts);
  facts->loop.why = find_reason(facts);
  *out = facts->loop;
  return true;
}

int64_t lanes_trips(const LaneFacts *facts, const LaneLoop *l) {
  if (l->down) return -1;
  const LInstr *in = lanes_definition(facts, l->limit);
  for (int k = 0; in && k < 2; k++) {
    if (in->op == LOP_INT) return in->imm.i;
    if (in->op == LOP_SCALAR && in->sub == OP_IMIN) in = lanes_definition(facts, in->b);
    else if (in->op == LOP_MOVE) in = lanes_definition(facts, in->a);
  }
  return -1;
}

/* ---- For people -------------------------------------------------------------------------------------------------- */
static void describe_count(int n, const char *what, bool *any, Str *out) {
  if (n) str_printf(out, "%s %d %s%s", *any ? "," : "", n, what, n > 1 ? "s" : "");
  *any = *any || n;
}

typedef struct Found {
  int loads, elements, stores, additions, sums, totals, calls, others, tests;
} Found;

static void tell(const LaneFacts *facts, const LInstr *in, LaneRole addition, Found *n) {
  bool varies = in->dst >= 0 && lir_defines_dst(in->op) && lanes_kind(facts, in->dst) != LANE_UNIFORM;
  bool memory = in->op == LOP_STORE || (in->op == LOP_LOAD && varies), row = memory && lanes_is_row(facts, in);
  bool call = in->op == LOP_SCALAR && varies && lir_calls_function(in);
  if (addition != LANE_PLAIN) {
    n->additions += addition == LANE_ADDS || addition == LANE_WAITS;
    n->totals += addition == LANE_TOTAL;
    return;
  }
  n->loads += row && in->op == LOP_LOAD;
  n->stores += row && in->op == LOP_STORE;
  n->elements += memory && !row;
  n->sums += in->op == LOP_LANE_ADD;
  n->calls += call;
  n->others += in->op == LOP_SCALAR && varies && !call;
}

void lanes_describe(const LaneFacts *facts, const LaneLoop *l, Str *out) {
  if (l->why) {
    str_printf(out, "no lanes: %s", l->why);
    return;
  }
  Found n = {0};
  for (int k = l->first; k < l->end; k++) tell(facts, &facts->f->code[k], lanes_role(facts, k), &n);
  n.tests = facts->npairs;
  bool any = false;
  str_puts(out, "lanes:");
  describe_count(n.loads, "load", &any, out);
  describe_count(n.stores, "store", &any, out);
  describe_count(n.elements, "element", &any, out);
  describe_count(n.additions, "addition", &any, out);
  if (n.totals) str_printf(out, "%s %d sum%s in order", any ? "," : "", n.totals, n.totals > 1 ? "s" : "");
  any |= n.totals > 0;
  describe_count(n.sums, "sum", &any, out);
  describe_count(n.calls, "function", &any, out);
  describe_count(n.others, "operation", &any, out);
  describe_count(n.tests, "test", &any, out);
  if (l->doubled) str_printf(out, "; %d at once", LIMIT_TURN);
}
