/* SPDX-License-Identifier: MIT */
/* Array privatisation: which outer loops get a copy whose arrays are private to a lane, so that several iterations can
 * run at once.
 *
 * Iterations of such a loop only add to what lives longer than they do, floats, and arrays whose order of additions is
 * free; the arrays that they work with they make themselves. In the copy (private_copy.c)
 *
 *   an array made in an iteration   has LIMIT_LANES numbers for each element: iteration i uses i mod LIMIT_LANES;
 *                                   LIMIT_TURN numbers where as many iterations can run at once (lir/lane_turns.c)
 *   an array added to at a place    is a reduction array of as many numbers for each element; their sums are added
 *     that iterations share           to the array after the loop
 *   a float added to                has partial sums; one whose order is that of iterations, none
 *
 * Then iterations i … i + LIMIT_LANES - 1 touch neighbours in memory and never the same number:
 *
 *   x = NEW_ARRAY (d)               x = NEW_ARRAY (8 d)
 *   x[j] = a[i, j]             →    x[8 j + i mod 8] = a[i, j]
 *   g[j] = g[j] + x[j]              t[8 j + i mod 8] = t[8 j + i mod 8] + x[8 j + i mod 8]
 *
 * which lir/lanes.c sees from the copy alone. Instead of adding to something, iterations may store rows of their own in
 * outputs. The loop itself stays, for few iterations and for large arrays; which of
 * the two runs depends on numbers known before the loop, so all back ends take the same one.
 *
 * The copy is dropped if its iterations couldn't run at once after all, or wouldn't be faster by the estimates of
 * lir/lane_choice.c. */
#include "lir/lanes.h"
#include "lower/privatise.h"
#include <string.h>

/* ---- Which loops ------------------------------------------------------------------------------------------------- */
/* Does the graph contain numbers and arrays of numbers, arithmetic, loops and branches alone? */
static bool is_plain_graph(Lower *m, Graph *g, bool *loops) {
  const Sched *s = sched_of(m, g);
  for (int i = 0; i < s->n; i++) {
    const Node *x = s->order[i];
    switch (x->op) {
    case OP_LOOP:
      *loops = true;
      if (x->loop->has_cond) return false;
      break;
    case OP_SWITCH:
    case OP_PARAM:
    case OP_TUPLE:
    case OP_GET:
    case OP_AFTER:
    case OP_INDEX:
    case OP_SLICE:
    case OP_UPDATE:
    case OP_ARRAY:
    case OP_ZEROS:
    case OP_GLOBAL:
    case OP_LEN:
    case OP_CADD:
    case OP_CHECK_INDEX:
    case OP_TRAP_NAN:
    case OP_TRAP_INF: break;
    default:
      if (!(op_flags[x->op] & (OPF_S | OPF_K | OPF_V))) return false;
    }
    for (int k = 0; k < x->ngraphs; k++)
      if (!is_plain_graph(m, x->graphs[k], loops)) return false;
  }
  return true;
}

static bool is_loop(const Node *x) { return x->op == OP_LOOP; }

/* Is there a sum that may get a copy itself: one whose terms have loops? */
static bool has_long_sum(Lower *m, Graph *g) {
  const Sched *s = sched_of(m, g);
  for (int i = 0; i < s->n; i++) {
    const Node *x = s->order[i];
    bool sum = is_loop(x) && x->loop->naccs && !x->loop->ncarried && !x->loop->has_cond;
    if (sum && ir_reaches(m->w, x->graphs[0], is_loop)) return true;
    for (int k = 0; k < x->ngraphs; k++)
      if (has_long_sum(m, x->graphs[k])) return true;
  }
  return false;
}

/* Are the outputs numbers or arrays of them? Where the loop adds nothing up, no loop inside shall have a copy: that one
 * has more iterations as a rule. */
static bool are_outputs_plain(Lower *m, const Node *loop) {
  const LoopInfo *l = loop->loop;
  for (int k = 0; k < l->nstacked; k++)
    if (layout_has_pointers(lower_layout(m->w, ir_base(loop->type->args[loop_slots(l) + k])))) return false;
  return loop_slots(l) ? !l->nstacked : l->nstacked && !has_long_sum(m, loop->graphs[0]);
}

bool lower_may_privatise(Lower *m, const Node *loop) {
  const LoopInfo *l = loop->loop;
  if (m->w->strict || m->private_bodies) return false;
  if (l->has_cond || !are_outputs_plain(m, loop) || !lower_adds_in_order(m, loop)) return false;
  const Node *trips = lower_unwaited(loop->ops[0]);
  if (trips->op == OP_INT && trips->attr.i < LIMIT_PRIVATE_TRIPS) return false;
  for (int k = 0; k < l->naccs; k++) {
    const IrType *t = loop->ops[loop_first(l) + l->ncarried + k]->type;
    if (t->kind != T_FLOAT && t->kind != T_ARRAY) return false;
  }
  bool loops = false;
  return is_plain_graph(m, loop->graphs[0], &loops) && loops;
}

/* ---- Registers --------------------------------------------------------------------------------------------------- */
static bool is_allowed(const LInstr *in) {
  switch (in->op) {
  case LOP_SCALAR:
  case LOP_MOVE:
  case LOP_INT:
  case LOP_FLOAT:
  case LOP_NULLPTR:
  case LOP_LABEL:
  case LOP_JUMP:
  case LOP_BRANCH:
  case LOP_LOOP_HEAD:
  case LOP_LANE_OPEN:
  case LOP_LANE_ADD:
  case LOP_LANE_SUM:
  case LOP_POLL:
  case LOP_CHECK_INDEX:
  case LOP_CHECK_SIZE:
  case LOP_CHECK_ROW:
  case LOP_TRAP_NAN:
  case LOP_TRAP_INF:
  case LOP_NEW_ARRAY:
  case LOP_UNIQUE:
  case LOP_COPY:
  case LOP_GLOBAL:
  case LOP_DIM:
  case LOP_DATA:
  case LOP_LOAD:
  case LOP_STORE:
  case LOP_IS_NULL: return true;
  default: return false;
  }
}

static void count_role(void *user, int32_t *reg, Role role) {
  Privatiser *p = user;
  bool defines = role == ROLE_DEF || role == ROLE_DEF_BORROWED;
  if (!defines) p->reads[*reg]++;
  if (defines || role == ROLE_INOUT) p->defined[*reg]++;
}

static bool count_registers(Privatiser *p) {
  for (int k = 0; k < p->n; k++) {
    if (!is_allowed(&p->body[k])) return false;
    lir_roles(&p->module, (LInstr *)&p->body[k], count_role, p);
  }
  for (int k = 0; k < p->n; k++) {
    const LInstr *in = &p->body[k];
    if (in->dst >= 0 && lir_defines_dst(in->op) && p->defined[in->dst] == 1) p->only[in->dst] = in;
  }
  return true;
}

static LRegKind kind_of(const Privatiser *p, int r) { return (LRegKind)p->fn->regs.data[r].kind; }

bool privatise_is_private(const Privatiser *p, int pointer) {
  return p->defined[pointer] > 0 && !(p->only[pointer] && p->only[pointer]->op == LOP_GLOBAL);
}

static void note_data(Privatiser *p, const LInstr *in) {
  if (in->op != LOP_DATA) return;
  int *array = &p->array[in->dst];
  bool same = *array == NO_ARRAY || *array == in->a;
  bool both = !same && *array >= 0 && privatise_is_private(p, *array) && privatise_is_private(p, in->a);
  *array = same || both ? in->a : SEVERAL_ARRAYS;
}

/* Is nothing done with the pointers that the body defines but making, moving and asking arrays of numbers? */
static bool are_arrays_private(const Privatiser *p) {
  for (int k = 0; k < p->n; k++) {
    const LInstr *in = &p->body[k];
    if (in->op == LOP_NEW_ARRAY && p->fn->m->descs.data[in->imm.i]->pointers) return false;
    if (in->op == LOP_MOVE && kind_of(p, in->dst) == R_RAW) return false;
    if (in->op == LOP_GLOBAL && p->defined[in->dst] > 1) return false;
    bool hands_on = in->op == LOP_UNIQUE || in->op == LOP_COPY || (in->op == LOP_MOVE && kind_of(p, in->dst) == R_PTR);
    if (hands_on && !privatise_is_private(p, in->a)) return false;
    bool memory = in->op == LOP_LOAD || in->op == LOP_STORE;
    if (memory && (kind_of(p, in->dst) == R_PTR || p->array[in->a] == SEVERAL_ARRAYS)) return false;
  }
  for (int s = 0; s < p->l->nstate; s++)
    if (kind_of(p, p->l->state[s]) == R_PTR && p->defined[p->l->state[s]]) return false;
  return true;
}

static bool is_private_data(const Privatiser *p, int raw) {
  return p->array[raw] >= 0 && privatise_is_private(p, p->array[raw]);
}

/* May what the instruction defines differ between iterations? */
static bool defines_varying(const Privatiser *p, const LInstr *in) {
  const int32_t operands[] = {in->a, in->b, in->c};
  switch (in->op) {
  case LOP_LANE_SUM: return true;
  case LOP_LOAD: return is_private_data(p, in->a) || (in->b >= 0 && p->varying[in->b]);
  case LOP_MOVE: return kind_of(p, in->a) != R_PTR && p->varying[in->a];
  case LOP_SCALAR:
    for (int k = 0; k < 3; k++)
      if (operands[k] >= 0 && p->varying[operands[k]]) return true;
    return false;
  default: return false;
  }
}

static void find_varying(Privatiser *p) {
  p->varying[p->l->index] = true;
  for (bool news = true; news;) {
    news = false;
    for (int k = 0; k < p->n; k++) {
      const LInstr *in = &p->body[k];
      if (in->dst < 0 || !lir_defines_dst(in->op) || p->varying[in->dst] || !defines_varying(p, in)) continue;
      p->varying[in->dst] = news = true;
    }
  }
}

/* ---- Sums and reduction arrays ----------------------------------------------------------------------------------- */
/* s1 = + s t1;  s2 = + s1 t2;  s = MOVE s2   where nothing else reads them. */
int privatise_sum(const Privatiser *p, const LInstr *move, const LInstr **chain) {
  int sum = move->dst, last = move->a, n = 0;
  if (p->reads[sum] != 1) return -1;
  while (n < PRIVATE_TERMS) {
    const LInstr *in = p->only[last];
    if (!in || in->op != LOP_SCALAR || p->reads[last] != 1) return -1;
    chain[n++] = in;
    if (lanes_added_to(in, sum) >= 0) return n;
    const int32_t operands[] = {in->a, in->b, in->c};
    last = -1;
    for (int k = 0; k < 3; k++)
      if (operands[k] >= 0 && p->only[operands[k]] && lanes_added_to(in, operands[k]) == k &&
          p->only[operands[k]]->op == LOP_SCALAR)
        last = operands[k];
    if (last < 0) return -1;
  }
  return -1;
}

static bool is_state(const Privatiser *p, int reg) {
  for (int s = 0; s < p->l->nstate; s++)
    if (p->l->state[s] == reg) return true;
  return false;
}

/* Is the state's only change, for each float, that terms are added? */
static bool are_sums(const Privatiser *p) {
  const LInstr *chain[PRIVATE_TERMS];
  for (int k = 0; k < p->n; k++) {
    const LInstr *in = &p->body[k];
    bool changes = in->dst >= 0 && lir_defines_dst(in->op) && is_state(p, in->dst);
    if (changes && (in->op != LOP_MOVE || p->defined[in->dst] > 1 || privatise_sum(p, in, chain) < 0)) return false;
  }
  return true;
}

/* Do both registers hold one int, in an iteration? */
static bool same_int(const Privatiser *p, int a, int b, int depth) {
  if (a == b) return true;
  const LInstr *x = a < 0 ? NULL : p->only[a], *y = b < 0 ? NULL : p->only[b];
  if (!x || !y || x->op != y->op || x->sub != y->sub || depth > LIMIT_LANE_INDEX) return false;
  if (x->op == LOP_INT) return x->imm.i == y->imm.i;
  return x->op == LOP_SCALAR && same_int(p, x->a, y->a, depth + 1) && same_int(p, x->b, y->b, depth + 1) &&
         same_int(p, x->c, y->c, depth + 1);
}

static bool *flag_of(const Privatiser *p, const LInstr *in) { return &p->reduces[in - p->body]; }

/* Is the STORE's value what its place held, to which terms were added? Then the LOAD and the STORE are such parts. */
static bool find_reduction(Privatiser *p, const LInstr *store) {
  int value = store->dst;
  for (int n = 0; n < PRIVATE_TERMS; n++) {
    const LInstr *in = p->only[value];
    if (!in || p->reads[value] != 1) return false;
    if (in->op == LOP_LOAD) {
      bool same = p->array[in->a] == p->array[store->a] && in->imm.i == store->imm.i && in->c == store->c;
      if (!same || !same_int(p, in->b, store->b, 0)) return false;
      *flag_of(p, in) = *flag_of(p, store) = true;
      p->loads[store - p->body] = (int)(in - p->body);
      return true;
    }
    const int32_t operands[] = {in->a, in->b, in->c};
    value = -1;
    for (int k = 0; k < 3; k++) {
      const LInstr *from = operands[k] < 0 ? NULL : p->only[operands[k]];
      bool part = from && lanes_added_to(in, operands[k]) == k && p->reads[operands[k]] == 1;
      bool leads = part && (from->op == LOP_SCALAR ? value < 0
                                                   : from->op == LOP_LOAD && p->array[from->a] == p->array[store->a]);
      if (leads) value = operands[k];
    }
    if (value < 0) return false;
  }
  return false;
}

static bool is_output(const Privatiser *p, int raw) {
  for (int k = 0; k < p->l->noutputs; k++)
    if (p->l->outputs[k] == raw) return true;
  return false;
}

/* Of an array of the state: where all iterations add to the same place it is reduced. What they add to places of their
 * own, or to places that data tell, is left as it is; so are the rows of outputs. */
static bool find_reductions(Privatiser *p) {
  for (int k = 0; k < p->n; k++) {
    const LInstr *in = &p->body[k];
    if (in->op != LOP_STORE || is_private_data(p, in->a) || is_output(p, in->a)) continue;
    int array = p->array[in->a];
    if (array < 0 || !is_state(p, array) || kind_of(p, in->dst) != R_FLOAT) return false;
    if (in->b >= 0 && p->varying[in->b]) continue;
    if (p->slots[array] && p->slots[array] != in->imm.i) return false;
    p->slots[array] = (int)in->imm.i;
    if (!find_reduction(p, in)) return false;
  }
  return true;
}

/* ---- The copy, and whether it is used ---------------------------------------------------------------------------- */
static int *all_minus_one(Arena *a, int n) {
  int *v = NEW_ARRAY(a, int, n + 1);
  for (int k = 0; k < n; k++) v[k] = -1;
  return v;
}

static Privatiser *open_privatiser(Fn *fn, const PrivateLoop *l, int width) {
  Arena *a = fn->m->arena;
  Privatiser *p = NEW(a, Privatiser);
  int n = fn->regs.len, length = l->end - l->body;
  LInstr *body = NEW_ARRAY(a, LInstr, length + 1);
  memcpy(body, fn->code.data + l->body, sizeof *body * (size_t)length);
  *p = (Privatiser){.fn = fn, .l = l, .body = body, .n = length, .nregs = n, .width = width};
  p->module = (LModule){.funcs = fn->m->funcs.data, .nfuncs = fn->m->funcs.len};
  p->defined = NEW_ARRAY(a, int, n + 1);
  p->only = NEW_ARRAY(a, const LInstr *, n + 1);
  p->reads = NEW_ARRAY(a, int, n + 1);
  p->varying = NEW_ARRAY(a, bool, n + 1);
  p->array = all_minus_one(a, n);
  p->copy = all_minus_one(a, n);
  p->labels = all_minus_one(a, fn->nlabels);
  p->data = all_minus_one(a, n);
  p->slots = NEW_ARRAY(a, int, n + 1);
  p->reduces = NEW_ARRAY(a, bool, length + 1);
  p->loads = NEW_ARRAY(a, int, length + 1);
  p->places = NEW_ARRAY(a, int, length + 1);
  return p;
}

static bool makes_array(const Privatiser *p) {
  for (int k = 0; k < p->n; k++)
    if (p->body[k].op == LOP_NEW_ARRAY) return true;
  return false;
}

/* Instructions of the body, but for traps: with these as many loops have copies as without. */
static int size_of(const Privatiser *p) {
  int n = 0;
  for (int k = 0; k < p->n; k++) n += !lir_is_trap(p->body[k].op);
  return n;
}

static bool can_copy(Privatiser *p) {
  if (size_of(p) > LIMIT_PRIVATE_BODY || !count_registers(p)) return false;
  if (!p->l->nstate && !makes_array(p)) return false; /* the loop itself may run on vectors */
  for (int k = 0; k < p->fn->consts.len; k++) note_data(p, &p->fn->consts.data[k]);
  for (int k = 0; k < p->l->end; k++) note_data(p, &p->fn->code.data[k]);
  if (!are_arrays_private(p)) return false;
  find_varying(p);
  return are_sums(p) && find_reductions(p);
}

/* ---- An excerpt -------------------------------------------------------------------------------------------------- */
/* Both loops as a function of their own, whose registers and labels are numbered anew: the whole function may be large.
 * Before them stands what makes the constants and data that they use. */
typedef struct Excerpt {
  const Privatiser *p;
  int *regs, *labels; /* number + 1 in the excerpt, by number in the function; 0: none yet */
  LFunc *f;
  Vec(LReg) kinds;
} Excerpt;

static void renumber(void *user, int32_t *reg, Role role) {
  Excerpt *x = user;
  (void)role;
  int *number = &x->regs[*reg];
  if (!*number) {
    vec_push(x->p->fn->m->arena, x->kinds, x->p->fn->regs.data[*reg]);
    *number = x->kinds.len;
  }
  *reg = *number - 1;
}

static void add_instr(Excerpt *x, const LInstr *in) {
  Fn *fn = x->p->fn;
  LInstr *out = &x->f->code[x->f->ncode++];
  *out = *in;
  if (in->nargs) out->args = fn_copy(fn, in->args, in->nargs);
  if (in->nres) out->res = fn_copy(fn, in->res, in->nres);
  lir_roles(&x->p->module, out, renumber, x);
  if (in->op != LOP_LABEL && in->op != LOP_JUMP && in->op != LOP_BRANCH) return;
  int *label = &x->labels[in->imm.i];
  if (!*label) *label = ++x->f->nlabels;
  out->imm.i = *label - 1;
}

/* How often the instructions define each register. */
static void count_definitions(const LInstr *code, int n, int *defined) {
  for (int k = 0; k < n; k++) {
    if (code[k].dst >= 0 && lir_defines_dst(code[k].op)) defined[code[k].dst]++;
    for (int r = 0; r < code[k].nres && lir_defines_results(code[k].op); r++) defined[code[k].res[r]]++;
  }
}

/* The ints and data among the instructions that the excerpt uses, and that nothing else defines. */
static void add_constants(Excerpt *x, const LInstr *code, int n, const int *defined) {
  for (int k = 0; k < n; k++) {
    bool wanted = code[k].op == LOP_INT || code[k].op == LOP_DATA;
    if (wanted && x->regs[code[k].dst] && defined[code[k].dst] == 1) add_instr(x, &code[k]);
  }
}

static LFunc *excerpt(const Privatiser *p, int start) {
  Fn *fn = p->fn;
  Arena *a = fn->m->arena;
  const LInstr *own = fn->code.data + start, none = {.dst = -1, .a = -1, .b = -1, .c = -1};
  int n = fn->code.len - start, *defined = NEW_ARRAY(a, int, fn->regs.len + 1);
  Excerpt x = {p, NEW_ARRAY(a, int, fn->regs.len + 1), NEW_ARRAY(a, int, fn->nlabels + 1), NEW(a, LFunc), {0}};
  x.f->code = NEW_ARRAY(a, LInstr, fn->consts.len + fn->code.len + 2);
  count_definitions(fn->consts.data, fn->consts.len, defined);
  count_definitions(fn->code.data, fn->code.len, defined);
  for (int k = 0; k < n; k++) add_instr(&x, &own[k]);
  LInstr *loops = x.f->code, end = none;
  x.f->code = NEW_ARRAY(a, LInstr, fn->consts.len + fn->code.len + 2);
  x.f->ncode = 0;
  add_constants(&x, fn->consts.data, fn->consts.len, defined);
  add_constants(&x, fn->code.data, start, defined);
  memcpy(x.f->code + x.f->ncode, loops, sizeof *loops * (size_t)n);
  x.f->ncode += n;
  end.op = LOP_RETURN;
  x.f->code[x.f->ncode++] = end;
  x.f->regs = x.kinds.data;
  x.f->nregs = x.kinds.len;
  return x.f;
}

/* ---- Which is faster? -------------------------------------------------------------------------------------------- */
/* By how much the copy is faster than the estimates say, which don't know what it costs to begin a loop on vectors:
 * 1.15 to 8 times, by measurements. */
#define WORTH 0.8

/* Would the copy run several iterations at once, p->width if that is LIMIT_TURN, and faster than the loop, which comes
 * last? For vectors of LIMIT_LANES numbers, whatever the processor has: all shall take the same loop. */
static bool is_faster(const Privatiser *p) {
  const LFunc *f = excerpt(p, p->l->start);
  LaneFacts *facts = lanes_facts(p->fn->m->arena, &p->module, f);
  int n;
  const LaneChoice *choices = lanes_choose(p->fn->m->arena, facts, f, LIMIT_LANES, &n), *copy = NULL, *loop = NULL;
  for (int k = 0; k < n; k++) {
    if (choices[k].loop.privatised) copy = &choices[k];
    if (!loop || choices[k].loop.end > loop->loop.end) loop = &choices[k]; /* the outermost one of the last nest */
  }
  bool wide = copy && !copy->loop.why && (copy->loop.doubled || p->width == LIMIT_LANES);
  return wide && loop && copy->wide * WORTH < loop->row * LIMIT_LANES;
}

/* Puts what was emitted since `from` before instruction `to`. */
static void move_code(Fn *fn, int from, int to) {
  int n = fn->code.len - from;
  LInstr *moved = NEW_ARRAY(fn->m->arena, LInstr, n + 1);
  memcpy(moved, fn->code.data + from, sizeof(LInstr) * (size_t)n);
  memmove(fn->code.data + to + n, fn->code.data + to, sizeof(LInstr) * (size_t)(from - to));
  memcpy(fn->code.data + to, moved, sizeof(LInstr) * (size_t)n);
}

typedef enum Outcome { NO_COPY, DROPPED, KEPT } Outcome;

static Outcome try_copy(Fn *fn, const PrivateLoop *l, int width) {
  Privatiser *p = open_privatiser(fn, l, width);
  if (!can_copy(p)) return NO_COPY;
  int from = fn->code.len, end = fn_label(fn);
  if (!privatise_emit(p)) {
    fn->code.len = from;
    return NO_COPY;
  }
  fn_jump(fn, end);
  fn_place(fn, p->l->original);
  move_code(fn, from, l->start);
  fn_place(fn, end);
  if (is_faster(p)) return KEPT;
  int added = fn->code.len - 1 - from;
  memmove(fn->code.data + l->start, fn->code.data + l->start + added, sizeof(LInstr) * (size_t)(from - l->start));
  fn->code.len = from;
  return DROPPED;
}

void lower_privatise(Fn *fn, const PrivateLoop *l) {
  if (try_copy(fn, l, LIMIT_TURN) == DROPPED) try_copy(fn, l, LIMIT_LANES);
}
