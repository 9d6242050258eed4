/* SPDX-License-Identifier: MIT */
/* The copy of a loop whose arrays are private to a lane (privatise.c says which loops have one, and what is in it):
 *
 *   enough iterations, and arrays small enough? else go to the loop itself
 *   reduction arrays = zeros, partial sums
 *   for i < n                             LOOP_HEAD b=2
 *     lane = i & 7
 *     the body; element j of an array is number 8 j + lane (16 j + i & 15, where 16 iterations can run at once)
 *     term i of a float to its partial sums
 *   each element of an array that was reduced += the sum of 8 numbers, as the tree of partial sums */
#include "lir/lanes.h"
#include "lower/privatise.h"

static Fn *fn_of(const Privatiser *p) { return p->fn; }

static int constant(Fn *fn, int64_t v) {
  int r = fn_reg(fn, R_INT);
  fn_emit(fn, LOP_INT, r, -1, -1, -1)->imm.i = v;
  return r;
}

static int scalar_of(Fn *fn, LRegKind kind, Op op, int a, int b) {
  int r = fn_reg(fn, kind);
  fn_emit(fn, LOP_SCALAR, r, a, b, -1)->sub = (uint16_t)op;
  return r;
}

static int number(Fn *fn, double v) {
  int r = fn_reg(fn, R_FLOAT);
  fn_emit(fn, LOP_FLOAT, r, -1, -1, -1)->imm.f = v;
  return r;
}

/* ---- Sizes, before the loop -------------------------------------------------------------------------------------- */
/* The definition that counts: of several the last, which is where lowering puts what isn't a start. */
static const LInstr *definition(const Privatiser *p, int reg) {
  const LInstr *in = NULL;
  for (int k = 0; k < p->n; k++)
    if (p->body[k].dst == reg && lir_defines_dst(p->body[k].op)) in = &p->body[k];
  return in;
}

/* The int that dimension `dim` of the array is, where it is made; of one of the arrays that the pointer may be. */
static int dimension(const Privatiser *p, int pointer, int dim) {
  for (int depth = 0; depth < LIMIT_PRIVATE_SIZE; depth++) {
    const LInstr *in = definition(p, pointer);
    if (in && in->op == LOP_NEW_ARRAY) return dim < in->nargs ? in->args[dim] : -1;
    if (!in || (in->op != LOP_MOVE && in->op != LOP_UNIQUE && in->op != LOP_COPY)) return -1;
    pointer = in->a;
  }
  return -1;
}

static bool is_size_operation(const LInstr *in) {
  return in->op == LOP_SCALAR &&
         (in->sub == OP_IADD || in->sub == OP_ISUB || in->sub == OP_IMUL || in->sub == OP_IMAX || in->sub == OP_IMIN);
}

static bool is_own_dim(const Privatiser *p, const LInstr *in) {
  return in->op == LOP_DIM && privatise_is_private(p, in->a);
}

static bool is_zero(const Privatiser *p, int reg) {
  const LInstr *in = p->defined[reg] ? definition(p, reg) : NULL;
  for (int k = 0; k < p->fn->consts.len && !in; k++)
    if (p->fn->consts.data[k].dst == reg) in = &p->fn->consts.data[k];
  return in && in->op == LOP_INT && in->imm.i == 0;
}

/* select c 0 x, as the length of rows of an array that may have none: is it at most x? */
static bool is_length_if_any(const Privatiser *p, const LInstr *in) {
  return in->op == LOP_SCALAR && in->sub == OP_SELECT && is_zero(p, in->b);
}

/* Can the int, or what it is at most, be computed before the loop? */
static bool is_known(const Privatiser *p, int reg, int depth) {
  if (reg < 0 || depth > LIMIT_PRIVATE_SIZE) return false;
  if (!p->defined[reg]) return reg != p->l->index;
  const LInstr *in = definition(p, reg);
  if (!in || in->op == LOP_INT) return in != NULL;
  if (in->op == LOP_MOVE) return is_known(p, in->a, depth + 1);
  if (is_own_dim(p, in)) return is_known(p, dimension(p, in->a, (int)in->imm.i), depth + 1);
  if (in->op == LOP_DIM) return true;
  if (is_length_if_any(p, in)) return is_known(p, in->c, depth + 1);
  if (!is_size_operation(in)) return false;
  bool a = is_known(p, in->a, depth + 1), b = is_known(p, in->b, depth + 1);
  return in->sub == OP_IMIN ? a || b : a && b;
}

/* Computes it there. */
static int hoisted(const Privatiser *p, int reg) {
  Fn *fn = fn_of(p);
  if (!p->defined[reg]) return reg;
  const LInstr *in = definition(p, reg);
  if (in->op == LOP_INT) return constant(fn, in->imm.i);
  if (in->op == LOP_MOVE) return hoisted(p, in->a);
  if (is_own_dim(p, in)) return hoisted(p, dimension(p, in->a, (int)in->imm.i));
  if (in->op == LOP_DIM) {
    int r = fn_reg(fn, R_INT);
    fn_emit(fn, LOP_DIM, r, in->a, -1, -1)->imm.i = in->imm.i;
    return r;
  }
  if (is_length_if_any(p, in)) return hoisted(p, in->c);
  if (in->sub == OP_IMIN && !is_known(p, in->a, 1)) return hoisted(p, in->b);
  if (in->sub == OP_IMIN && !is_known(p, in->b, 1)) return hoisted(p, in->a);
  int a = hoisted(p, in->a);
  return scalar_of(fn, R_INT, (Op)in->sub, a, hoisted(p, in->b));
}

/* total + the product of the sizes, as floats: they don't overflow. */
static int add_size(Fn *fn, int total, const int *sizes, int n, int slots) {
  int product = number(fn, slots);
  for (int k = 0; k < n; k++)
    product = scalar_of(fn, R_FLOAT, OP_FMUL, product, scalar_of(fn, R_FLOAT, OP_FLOAT_OF_INT, sizes[k], -1));
  return total < 0 ? product : scalar_of(fn, R_FLOAT, OP_FADD, total, product);
}

/* How many numbers the arrays that an iteration makes have; -1: none. */
static bool private_size(const Privatiser *p, int *total) {
  *total = -1;
  for (int k = 0; k < p->n; k++) {
    const LInstr *in = &p->body[k];
    if (in->op != LOP_NEW_ARRAY) continue;
    int sizes[LIMIT_RANK];
    for (int d = 0; d < in->nargs; d++) {
      if (!is_known(p, in->args[d], 0)) return false;
      sizes[d] = hoisted(p, in->args[d]);
    }
    *total = add_size(fn_of(p), *total, sizes, in->nargs, 1);
  }
  return true;
}

static int state_dim(const Privatiser *p, int s, int k) {
  Fn *fn = fn_of(p);
  int r = fn_reg(fn, R_INT);
  fn_emit(fn, LOP_DIM, r, p->l->state[s], -1, -1)->imm.i = k;
  return r;
}

/* The same of the arrays that are reduced. */
static int reduced_size(const Privatiser *p) {
  int total = -1, sizes[LIMIT_RANK];
  for (int s = 0; s < p->l->nstate; s++) {
    int slots = p->slots[p->l->state[s]];
    for (int k = 0; slots && k < p->l->ranks[s]; k++) sizes[k] = state_dim(p, s, k);
    if (slots) total = add_size(fn_of(p), total, sizes, p->l->ranks[s], slots);
  }
  return total;
}

/* Goes to the loop itself unless total <= limit. */
static void require(const Privatiser *p, int total, int limit) {
  Fn *fn = fn_of(p);
  fn_branch(fn, scalar_of(fn, R_INT, OP_FLE, total, limit), p->l->original);
}

/* Does a loop begin with instruction k of the body that has no loop in it? */
static bool is_innermost(const Privatiser *p, int k) {
  if (p->body[k].op != LOP_LOOP_HEAD) return false;
  int next = k + 1;
  while (next < p->n && p->body[next].op != LOP_LOOP_HEAD && p->body[next].op != LOP_JUMP) next++;
  return next == p->n || p->body[next].op == LOP_JUMP;
}

/* The number that the index of the loop with this head stays below. */
static int limit_of(const Privatiser *p, int head) {
  int k = head + 1;
  while (p->body[k].op == LOP_INT) k++;
  const LInstr *test = &p->body[k],
               *limit = test->op == LOP_SCALAR && test->sub == OP_ILT ? definition(p, test->b) : NULL;
  if (limit && limit->op == LOP_SCALAR && limit->sub == OP_IMIN)
    return limit->b; /* until the next look for interrupts */
  return limit && limit->op == LOP_MOVE ? limit->a : test->b;
}

/* The JUMP back to the loop's head. */
static int loop_end(const Privatiser *p, int head) {
  int k = head;
  while (p->body[k].op != LOP_JUMP || p->body[k].imm.i != p->body[head - 1].imm.i) k++;
  return k;
}

/* Does the loop carry a float, so that it has no vectors of its own? It is defined before the loop, and in it. */
static bool carries_float(const Privatiser *p, int head) {
  int end = loop_end(p, head);
  for (int k = head; k < end; k++) {
    int r = p->body[k].op == LOP_MOVE ? p->body[k].dst : -1, inside = 0;
    if (r < 0 || fn_of(p)->regs.data[r].kind != R_FLOAT) continue;
    for (int i = head; i < end; i++) inside += p->body[i].dst == r && lir_defines_dst(p->body[i].op);
    if (inside < p->defined[r]) return true;
  }
  return false;
}

/* Goes to the loop itself where an innermost loop is long: on vectors by its own index it reads rows of arrays as they
 * are, while the copy reads one number from each of LIMIT_LANES rows. */
static void require_short_loops(const Privatiser *p) {
  Fn *fn = fn_of(p);
  bool *seen = NEW_ARRAY(fn->m->arena, bool, p->nregs + 1);
  int longest = p->width == LIMIT_TURN ? LIMIT_TURN_INNER : LIMIT_PRIVATE_INNER;
  for (int k = 0; k < p->n; k++) {
    int limit = is_innermost(p, k) && !carries_float(p, k) ? limit_of(p, k) : -1;
    if (limit < 0 || seen[limit] || !is_known(p, limit, 0)) continue;
    seen[limit] = true;
    fn_branch(fn, scalar_of(fn, R_INT, OP_ILE, hoisted(p, limit), constant(fn, longest)), p->l->original);
  }
}

static bool emit_tests(const Privatiser *p) {
  Fn *fn = fn_of(p);
  int total;
  fn_branch(fn, scalar_of(fn, R_INT, OP_ILE, constant(fn, LIMIT_PRIVATE_TRIPS), p->l->trips), p->l->original);
  require_short_loops(p);
  if (!private_size(p, &total)) return false;
  if (total >= 0) require(p, total, number(fn, LIMIT_PRIVATE_NUMBERS));
  total = reduced_size(p);
  if (total < 0) return true;
  int trips = scalar_of(fn, R_FLOAT, OP_FLOAT_OF_INT, p->l->trips, -1);
  require(p, total, number(fn, LIMIT_REDUCED_NUMBERS));
  require(p, total, scalar_of(fn, R_FLOAT, OP_FMUL, trips, number(fn, LIMIT_REDUCED_PER_TRIP)));
  return true;
}

/* ---- Reduction arrays -------------------------------------------------------------------------------------------- */
/* How many numbers array s of the state has. */
static int count_numbers(const Privatiser *p, int s) {
  Fn *fn = fn_of(p);
  int count = constant(fn, p->slots[p->l->state[s]]);
  for (int k = 0; k < p->l->ranks[s]; k++) count = scalar_of(fn, R_INT, OP_IMUL, count, state_dim(p, s, k));
  return count;
}

static void open_reduction(Privatiser *p, int s) {
  Fn *fn = fn_of(p);
  int array = p->l->state[s], tile = fn_reg(fn, R_PTR), data = fn_reg(fn, R_RAW);
  int size = scalar_of(fn, R_INT, OP_IMUL, count_numbers(p, s), constant(fn, LIMIT_LANES));
  int64_t desc = lower_desc_index(fn->m, ir_array_type(fn->m->w, ir_type(fn->m->w, T_FLOAT)));
  LInstr *in = fn_emit(fn, LOP_NEW_ARRAY, tile, -1, 1, -1);
  in->imm.i = desc;
  in->site = p->l->site;
  fn_args(fn, &size, 1);
  fn_emit(fn, LOP_DATA, data, tile, -1, -1);
  p->data[array] = data;
}

static void load_number(Fn *fn, int dst, int data, int at, int offset) {
  LInstr *in = fn_emit(fn, LOP_LOAD, dst, data, at, offset);
  in->imm.i = 1;
}

/* The sum of the LIMIT_LANES numbers from data[at] on. */
static int sum_of_lanes(Fn *fn, int data, int at) {
  int sums[LIMIT_LANES];
  for (int k = 0; k < LIMIT_LANES; k++) load_number(fn, sums[k] = fn_reg(fn, R_FLOAT), data, at, k);
  for (int n = LIMIT_LANES / 2; n > 0; n /= 2)
    for (int k = 0; k < n; k++) sums[k] = scalar_of(fn, R_FLOAT, OP_FADD, sums[k], sums[k + n]);
  return sums[0];
}

/* for j < count: array[j] += the sum of tile[8 j …] */
static void close_reduction(const Privatiser *p, int s) {
  Fn *fn = fn_of(p);
  int array = p->l->state[s], data = fn_reg(fn, R_RAW), count = count_numbers(p, s), j = constant(fn, 0);
  int one = constant(fn, 1), lanes = constant(fn, LIMIT_LANES), head = fn_label(fn), end = fn_label(fn);
  fn_emit(fn, LOP_DATA, data, array, -1, -1);
  fn_place(fn, head);
  fn_emit(fn, LOP_LOOP_HEAD, -1, -1, 1, -1);
  fn_branch(fn, scalar_of(fn, R_INT, OP_ILT, j, count), end);
  int sum = sum_of_lanes(fn, p->data[array], scalar_of(fn, R_INT, OP_IMUL, j, lanes)), old = fn_reg(fn, R_FLOAT);
  load_number(fn, old, data, j, 0);
  fn_emit(fn, LOP_STORE, scalar_of(fn, R_FLOAT, OP_FADD, old, sum), data, j, 0)->imm.i = 1;
  fn_emit(fn, LOP_SCALAR, j, j, one, -1)->sub = OP_IADD;
  fn_jump(fn, head);
  fn_place(fn, end);
}

/* ---- The body ---------------------------------------------------------------------------------------------------- */
static int copied(Privatiser *p, int reg) {
  if (reg == p->l->index) return p->index;
  for (int s = 0; s < p->l->nordered; s++)
    if (reg == p->l->state[s]) return reg;
  if (reg < 0 || reg >= p->nregs || !p->defined[reg]) return reg;
  if (p->copy[reg] < 0) p->copy[reg] = fn_reg(fn_of(p), (LRegKind)fn_of(p)->regs.data[reg].kind);
  return p->copy[reg];
}

static int copied_label(Privatiser *p, int64_t label) {
  if (p->labels[label] < 0) p->labels[label] = fn_label(fn_of(p));
  return p->labels[label];
}

static void copy_register(void *user, int32_t *reg, Role role) {
  (void)role;
  *reg = copied(user, *reg);
}

/* The instruction with the copy's registers and labels. */
static LInstr copied_instr(Privatiser *p, const LInstr *in) {
  Fn *fn = fn_of(p);
  LInstr out = *in;
  if (in->nargs) out.args = fn_copy(fn, in->args, in->nargs);
  if (in->nres) out.res = fn_copy(fn, in->res, in->nres);
  if (in->op == LOP_LABEL || in->op == LOP_JUMP || in->op == LOP_BRANCH) out.imm.i = copied_label(p, in->imm.i);
  lir_roles(&p->module, &out, copy_register, p);
  return out;
}

static void push(const Privatiser *p, LInstr in) { vec_push(fn_of(p)->m->arena, fn_of(p)->code, in); }

/* a[b * k + c]  →  a[(b * 8 k + lane) * 1 + 8 c]   for 8 numbers of an element */
static void spread_place(const Privatiser *p, LInstr *in, int numbers, int lane) {
  Fn *fn = fn_of(p);
  int at = lane;
  if (in->b >= 0) {
    int scaled = scalar_of(fn, R_INT, OP_IMUL, in->b, fn_int(fn, numbers * in->imm.i));
    at = scalar_of(fn, R_INT, OP_IADD, scaled, lane);
  }
  in->b = at;
  in->c *= numbers;
  in->imm.i = 1;
}

/* The STORE of an addition has its LOAD's place. */
static void spread_reduction(const Privatiser *p, const LInstr *in, LInstr *out) {
  int number = (int)(in - p->body);
  out->a = p->data[p->array[in->a]];
  if (in->op == LOP_LOAD) {
    spread_place(p, out, LIMIT_LANES, p->sum);
    p->places[number] = out->b;
    return;
  }
  out->b = p->places[p->loads[number]];
  out->c *= LIMIT_LANES;
  out->imm.i = 1;
}

static void copy_memory(Privatiser *p, const LInstr *in) {
  LInstr out = copied_instr(p, in);
  int array = p->array[in->a];
  if (p->reduces[in - p->body]) spread_reduction(p, in, &out);
  else if (array >= 0 && privatise_is_private(p, array)) spread_place(p, &out, p->width, p->lane);
  push(p, out);
}

static void copy_new_array(Privatiser *p, const LInstr *in) {
  Fn *fn = fn_of(p);
  LInstr out = copied_instr(p, in);
  out.args[0] = scalar_of(fn, R_INT, OP_IMUL, out.args[0], fn_int(fn, p->width));
  push(p, out);
}

static void copy_dim(Privatiser *p, const LInstr *in) {
  Fn *fn = fn_of(p);
  LInstr out = copied_instr(p, in);
  if (in->imm.i || !privatise_is_private(p, in->a)) {
    push(p, out);
    return;
  }
  int dim = out.dst, whole = out.dst = fn_reg(fn, R_INT);
  push(p, out);
  fn_emit(fn, LOP_SCALAR, dim, whole, fn_int(fn, p->width), -1)->sub = OP_IDIV;
}

/* Partial sums of an inner loop would be LIMIT_LANES vectors in memory: it has one sum. A loop on vectors doesn't wait
 * for it as a scalar one would.
 *
 *   LANE_OPEN a  →  s = a      LANE_ADD i, b, c  →  s = fma b c s      x = LANE_SUM  →  x = s */
static void copy_inner_sum(Privatiser *p, const LInstr *in) {
  Fn *fn = fn_of(p);
  int sum = copied(p, in->op == LOP_LANE_SUM ? in->args[0] : in->res[0]);
  if (in->op == LOP_LANE_OPEN) fn_emit(fn, LOP_MOVE, sum, copied(p, in->a), -1, -1);
  else if (in->op == LOP_LANE_SUM) fn_emit(fn, LOP_MOVE, copied(p, in->dst), sum, -1, -1);
  else if (in->c < 0) fn_emit(fn, LOP_SCALAR, sum, sum, copied(p, in->b), -1)->sub = OP_FADD;
  else fn_emit(fn, LOP_SCALAR, sum, copied(p, in->b), copied(p, in->c), sum)->sub = OP_FMA;
}

/* ---- Sums -------------------------------------------------------------------------------------------------------- */
/* s = s + t  →  LANE_ADD i, t */
static void add_term(Privatiser *p, const LInstr *in, int self, const int32_t *sums) {
  Fn *fn = fn_of(p);
  const int32_t operands[] = {copied(p, in->a), copied(p, in->b), copied(p, in->c)};
  int first = operands[self ? 0 : 1], second = in->sub == OP_FMA ? operands[1] : -1;
  if (in->sub == OP_FSUB) first = scalar_of(fn, R_FLOAT, OP_FNEG, first, -1);
  fn_emit(fn, LOP_LANE_ADD, -1, p->index, first, second);
  fn_results(fn, sums, LIMIT_LANES);
}

static void add_terms(Privatiser *p, const LInstr *move, const int32_t *sums) {
  const LInstr *chain[PRIVATE_TERMS];
  int n = privatise_sum(p, move, chain);
  for (int k = n - 1, sum = move->dst; k >= 0; sum = chain[k--]->dst)
    add_term(p, chain[k], lanes_added_to(chain[k], sum), sums);
}

/* Marks the additions themselves, which the copy doesn't have. */
static void drop_chain(const Privatiser *p, const LInstr *move, bool *dropped) {
  const LInstr *chain[PRIVATE_TERMS];
  int n = privatise_sum(p, move, chain);
  for (int k = 0; k < n; k++) dropped[chain[k] - p->body] = true;
}

static bool is_float_state(const Privatiser *p, int s) { return fn_of(p)->regs.data[p->l->state[s]].kind == R_FLOAT; }

static const LInstr *move_to(const Privatiser *p, int s) {
  for (int k = 0; k < p->n; k++)
    if (p->body[k].op == LOP_MOVE && p->body[k].dst == p->l->state[s]) return &p->body[k];
  return NULL;
}

static int32_t **open_sums(const Privatiser *p) {
  Fn *fn = fn_of(p);
  int32_t **sums = NEW_ARRAY(fn->m->arena, int32_t *, p->l->nstate + 1);
  for (int s = 0; s < p->l->nstate; s++) {
    if (s < p->l->nordered || !is_float_state(p, s) || !move_to(p, s)) continue;
    sums[s] = NEW_ARRAY(fn->m->arena, int32_t, LIMIT_LANES);
    for (int k = 0; k < LIMIT_LANES; k++) sums[s][k] = fn_reg(fn, R_FLOAT);
    fn_emit(fn, LOP_LANE_OPEN, -1, p->l->state[s], -1, -1);
    fn_results(fn, sums[s], LIMIT_LANES);
  }
  return sums;
}

static void copy_body(Privatiser *p, int32_t **sums) {
  bool *dropped = NEW_ARRAY(fn_of(p)->m->arena, bool, p->n + 1);
  for (int s = 0; s < p->l->nstate; s++)
    if (sums[s]) drop_chain(p, move_to(p, s), dropped), dropped[move_to(p, s) - p->body] = true;
  for (int k = 0; k < p->n; k++) {
    const LInstr *in = &p->body[k];
    if (dropped[k]) continue;
    switch (in->op) {
    case LOP_LOAD:
    case LOP_STORE: copy_memory(p, in); break;
    case LOP_NEW_ARRAY: copy_new_array(p, in); break;
    case LOP_DIM: copy_dim(p, in); break;
    case LOP_LANE_OPEN:
    case LOP_LANE_ADD:
    case LOP_LANE_SUM: copy_inner_sum(p, in); break;
    default: push(p, copied_instr(p, in));
    }
  }
  for (int s = 0; s < p->l->nstate; s++)
    if (sums[s]) add_terms(p, move_to(p, s), sums[s]);
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */
static void emit_loop(Privatiser *p, int32_t **sums) {
  Fn *fn = fn_of(p);
  int head = fn_label(fn), end = fn_label(fn);
  p->index = constant(fn, 0);
  fn->loop_depth++;
  fn_place(fn, head);
  fn_emit(fn, LOP_LOOP_HEAD, -1, -1, 2, -1);
  fn_branch(fn, scalar_of(fn, R_INT, OP_ILT, p->index, p->l->trips), end);
  p->sum = scalar_of(fn, R_INT, OP_IAND, p->index, fn_int(fn, LIMIT_LANES - 1));
  p->lane = p->width == LIMIT_LANES ? p->sum : scalar_of(fn, R_INT, OP_IAND, p->index, fn_int(fn, p->width - 1));
  copy_body(p, sums);
  fn_emit(fn, LOP_POLL, -1, -1, -1, -1);
  fn_emit(fn, LOP_SCALAR, p->index, p->index, fn_int(fn, 1), -1)->sub = OP_IADD;
  fn_jump(fn, head);
  fn_place(fn, end);
  fn->loop_depth--;
}

bool privatise_emit(Privatiser *p) {
  Fn *fn = fn_of(p);
  if (!emit_tests(p)) return false;
  for (int s = 0; s < p->l->nstate; s++)
    if (p->slots[p->l->state[s]]) open_reduction(p, s);
  int32_t **sums = open_sums(p);
  emit_loop(p, sums);
  for (int s = 0; s < p->l->nstate; s++) {
    if (p->slots[p->l->state[s]]) close_reduction(p, s);
    if (!sums[s]) continue;
    fn_emit(fn, LOP_LANE_SUM, p->l->state[s], -1, -1, -1);
    fn_args(fn, sums[s], LIMIT_LANES);
  }
  return true;
}
