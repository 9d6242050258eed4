/* SPDX-License-Identifier: MIT */
/* Lowering of loops (see LoopInfo).
 *
 * Carried values and accumulators, the state, live in registers assigned at the end of each iteration. An array
 * among them which the body only updates in place (sched_chain) is made unshared once, before the loop, and stays in
 * its register: then no count is looked at inside.
 *
 * Stacked outputs come in three ways. Where all dimensions are known before the loop, the block is allocated there,
 * and if the row is made by another loop of the body, that one writes into the block itself (Dest), down to any
 * depth. Else the block is allocated when the first row is known, and rows are copied in. A loop with a condition
 * grows it.
 *
 * A loop that only adds numbers up, in free order, has partial sums (lower_lanes.c): an addition waits for the one
 * before it, and machine code may run several iterations at once. */
#include "facts/ir_loop_facts.h"
#include "lower/lower_internal.h"
#include <string.h>

typedef enum StackMode { STACK_KNOWN, STACK_LAZY, STACK_GROWN } StackMode;
typedef struct Stack {
  StackMode mode;
  IrType *type; /* of the array */
  const Layout *base;
  int rank, array, data;
  int *dims;         /* KNOWN: all; LAZY, GROWN: of a row, from [1] */
  bool *kept;        /* KNOWN: whether dimensions after k stay what they are where dimension k is 0 */
  int row_size;      /* -1: one */
  int at;            /* position of the whole in the block; -1: 0 */
  const Node *text;  /* the call that makes a string of it: `array` is that string; or NULL */
  bool borrowed;     /* the block is the enclosing loop's */
  const Node *maker; /* loop or literal of the body that writes the rows itself, or NULL */
  int maker_stack;
} Stack;

typedef struct Loop {
  Frame *fr;
  Fn *fn;
  Node *x;
  const LoopInfo *l;
  Node **ops; /* carried, accs, sliced, captures */
  Graph *body;
  Sched *s; /* of the body */
  int i, n;
  int nstate, *state;
  bool *certain; /* per slot of the state: an array updated in place */
  Stack *stacks;
  Row *params;           /* of the body */
  int head_at;           /* index of LOOP_HEAD */
  int body_at, body_end; /* indices of an iteration's code */
  int head, end;
  /* label before it and register: iterations go on up to `limit` before interrupts are looked for; -1 none */
  int chunk, limit;
  int limit_at;         /* index of the instruction that sets it */
  int64_t turns;        /* so many iterations at most without a look for interrupts, see unpolled_turns */
  bool down;            /* the index runs down, which partial sums don't need */
  const LaneSums *sums; /* the state are partial sums; NULL: it isn't */
  int **lanes;          /* their registers, by slot */
  bool rare;            /* of few iterations, though of how many isn't known */
} Loop;

static World *world(Loop *lp) { return lp->fn->m->w; }

/* ---- State ---- */
/* Which slots hold arrays that the body hands on, among themselves, by updates in place (and that it does update). */
static void find_certain(Loop *lp) {
  int *ends = NEW_ARRAY(lp->fn->m->arena, int, lp->nstate + 1), at = 0;
  bool *updated = NEW_ARRAY(lp->fn->m->arena, bool, lp->nstate + 1);
  for (int k = 0; k < loop_slots(lp->l); k++) {
    const Layout *l = lower_layout(world(lp), lp->ops[k]->type);
    bool arrays = lower_holds_arrays(lp->ops[k]->type);
    for (int s = 0; s < l->n; s++, at++) {
      ends[at] = arrays && l->kinds[s] == R_PTR ? sched_chain(lp->fn->m, lp->body, k + 1, s, 0) : -1;
      lp->certain[at] = ends[at] >= 0;
      updated[at] = arrays && changes_param(lp->fn->m->w, lp->body, k + 1) & (CHANGES_ITSELF | CHANGES_CALLED);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < at; i++) {
      if (!lp->certain[i]) continue;
      int e = ends[i];
      if (e >= at || !lp->certain[e]) lp->certain[i] = false, changed = true;
      else if (updated[i] && !updated[e]) updated[e] = changed = true;
    }
  }
  for (int i = 0; i < at; i++) lp->certain[i] = lp->certain[i] && updated[i];
}

/* How often register r is among the operands, itself or as what a virtual part looks into. */
static int operand_count(Loop *lp, int r) {
  int n = 0, first = loop_first(lp->l);
  for (int k = first; k < lp->x->nops; k++) {
    Row row = frame_row(lp->fr, lp->x->ops[k]);
    for (int i = 0; i < row.n; i++) n += row.r[i] == r || lp->fn->info.data[row.r[i]].base == r;
  }
  return n;
}

static void open_state(Loop *lp) {
  Fn *fn = lp->fn;
  int count = loop_slots(lp->l);
  for (int k = 0; k < count; k++) lp->nstate += lower_slots(world(lp), lp->ops[k]->type);
  lp->state = NEW_ARRAY(fn->m->arena, int, lp->nstate + 1);
  lp->certain = NEW_ARRAY(fn->m->arena, bool, lp->nstate + 1);
  find_certain(lp);
  for (int k = 0, at = 0; k < count; k++) {
    Row init = frame_row(lp->fr, lp->ops[k]);
    for (int s = 0; s < init.n; s++, at++) {
      int r = init.r[s];
      if (lp->certain[at] && fn->info.data[r].fresh && operand_count(lp, r) == 1 &&
          frame_can_take(lp->fr, lp->ops[k], r)) {
        lp->state[at] = r;
        continue;
      }
      lp->state[at] = fn_reg(fn, fn->regs.data[r].kind);
      if (lp->certain[at]) fn_emit(fn, LOP_UNIQUE, lp->state[at], r, -1, -1);
      else fn_move(fn, lp->state[at], r, false);
    }
  }
}

static void step_state(Loop *lp, const int *result) {
  Fn *fn = lp->fn;
  int *src = fn_copy(fn, result, lp->nstate);
  for (int i = 0; i < lp->nstate; i++) {
    if (!lp->certain[i] || fn->info.data[src[i]].fresh) continue;
    int unshared = fn_reg(fn, R_PTR);
    fn_emit(fn, LOP_UNIQUE, unshared, src[i], -1, -1);
    src[i] = unshared;
  }
  fn_parallel_move(fn, lp->state, src, lp->nstate, true);
  for (int i = 0; i < lp->nstate; i++)
    if (lp->certain[i]) fn->info.data[lp->state[i]].fresh = true;
}

/* ---- Loading data and dimensions ahead of the loop ---- */
static void prefetch(Lower *m, Fn *fn, Sched *s, const Node *x, const int *row, int depth);

static void prefetch_param(Fn *fn, Graph *g, int k, const int *row, int depth) {
  Sched *s = sched_of(fn->m, g);
  if (s->params[k]) prefetch(fn->m, fn, s, s->params[k], row, depth + 1);
}

static void prefetch_array(Fn *fn, int array, int rank) {
  fn_data(fn, array);
  for (int k = 1; k < rank; k++) fn_dim(fn, array, k);
}

/* Array x of graph s, in `row`, is used in a loop: what its uses will need is loaded now. */
static void prefetch(Lower *m, Fn *fn, Sched *s, const Node *x, const int *row, int depth) {
  if (!lower_holds_arrays(x->type) || (depth > LIMIT_PREFETCH_DEPTH && limit_reached(m->arena, AT_PREFETCH_DEPTH)))
    return;
  bool array = x->type->kind == T_ARRAY;
  FOR_USES (use, s->uses, x) {
    const Node *user = use->user;
    if (user->op == OP_GET && x->type->kind == T_TUPLE)
      prefetch(m, fn, s, user, row + lower_offset(m->w, x->type, (int)user->attr.i), depth + 1);
    else if (user->op == OP_AFTER && use->operand == 0) prefetch(m, fn, s, user, row, depth + 1);
    else if (user->op == OP_LEN) fn_dim(fn, row[0], (int)user->attr.i);
    else if (array && (user->op == OP_INDEX || user->op == OP_SLICE || (user->op == OP_UPDATE && use->operand == 0)))
      prefetch_array(fn, row[0], ir_rank(x->type));
    for (int i = 0; user->op == OP_SWITCH && use->operand > 0 && i < user->ngraphs; i++)
      prefetch_param(fn, user->graphs[i], use->operand - 1, row, depth);
    int input = user->op == OP_LOOP ? use->operand - loop_first(user->loop) : -1;
    if (input < 0) continue;
    if (loop_part(user->loop, input) == LOOP_CAPTURED) prefetch_param(fn, user->graphs[0], 1 + input, row, depth);
    else if (array) prefetch_array(fn, row[0], ir_rank(x->type));
  }
}

/* ---- Shapes known before the loop ---- */
/* Bodies nested in the loop being lowered, innermost first; `up` NULL at that loop itself. */
typedef struct Nest {
  struct Nest *up;
  Sched *s;
  const Node *loop;
} Nest;

static int invariant(Loop *lp, const Nest *nest, const Node *x, int dim, int depth);

/* The register of x, arithmetic that can't fail, if its operands are the same in all iterations (invariant); -1. */
static int invariant_number(Loop *lp, const Nest *nest, const Node *x, int depth) {
  int operands[2] = {-1, -1};
  bool plain = op_flags[x->op] & OPF_S && !(op_flags[x->op] & (OPF_F | OPF_L | OPF_V)) && x->type->kind == T_INT;
  if (!plain || x->nops < 1 || x->nops > 2) return -1;
  if (depth > LIMIT_SHAPE_DEPTH && limit_reached(lp->fn->m->arena, AT_SHAPE_DEPTH)) return -1;
  for (int k = 0; k < x->nops; k++) {
    if (x->ops[k]->type->kind != T_INT) return -1;
    operands[k] = invariant(lp, nest, x->ops[k], -1, depth + 1);
    if (operands[k] < 0) return -1;
  }
  return fn_scalar(lp->fn, (Op)x->op, operands[0], operands[1]);
}

/* The parameter that x is, or is a component of; NULL. */
static const Node *parameter_of(const Node *x) {
  while (x->op == OP_GET) x = x->ops[0];
  return x->op == OP_PARAM ? x : NULL;
}

/* x, of a loop's body, with the loop's operand in the parameter's place. */
static Node *outside(Loop *lp, const Node *x, Node *operand) {
  return x->op == OP_PARAM ? operand : ir_get(world(lp), outside(lp, x->ops[0], operand), (int)x->attr.i);
}

/* At which slot of the parameter's x begins. */
static int slot_of(Loop *lp, const Node *x) {
  if (x->op == OP_PARAM) return 0;
  return slot_of(lp, x->ops[0]) + lower_offset(world(lp), x->ops[0]->type, (int)x->attr.i);
}

/* The register of integer x of nest->s if it is the same in all iterations, -1 otherwise. `dim` >= 0: of dimension
 * dim of array x. */
static int invariant(Loop *lp, const Nest *nest, const Node *x, int dim, int depth) {
  if (x->op == OP_INT) return fn_int(lp->fn, x->attr.i);
  if (x->op == OP_LEN && dim < 0) return invariant(lp, nest, x->ops[0], (int)x->attr.i, depth);
  if (x->op == OP_GLOBAL) {
    int r = lower_constant(lp->fr, x).r[0];
    return dim < 0 ? r : fn_dim(lp->fn, r, dim);
  }
  const Node *param = parameter_of(x);
  if (!param) return dim < 0 ? invariant_number(lp, nest, x, depth) : -1;
  const LoopInfo *l = nest->loop->loop;
  int k = (int)param->attr.i - 1, state = loop_slots(l), caps = loop_captures(l);
  if (k < state || (k < caps && (dim < 0 || x != param))) return -1;
  Node *operand = nest->loop->ops[k + loop_first(l)];
  if (k < caps) dim++; /* a row's dimensions are the next ones of the array */
  if (nest->up) return invariant(lp, nest->up, outside(lp, x, operand), dim, depth);
  int r = frame_row(lp->fr, operand).r[slot_of(lp, x)];
  return dim < 0 ? r : fn_dim(lp->fn, r, dim);
}

/* Does x serve for nothing but one of the results? */
static bool only_yielded(const Sched *s, const Node *x) {
  const NodeUse *use = uses_only(s->uses, x);
  return use && use->user == s->g->result && use->user->op == OP_TUPLE;
}

/* Is x a literal whose rows, if it has any, are literals of one length that serve for nothing else? */
static bool is_literal(const Sched *s, const Node *x, int64_t *dims) {
  int64_t others[LIMIT_RANK];
  if (x->op != OP_ARRAY || !x->nops) return false;
  dims[0] = x->nops;
  for (int i = 0; x->type->args[0]->kind == T_ARRAY && i < x->nops; i++) {
    int64_t *row = i ? others : dims + 1;
    if (uses_count(s->uses, x->ops[i]) != 1 || !is_literal(s, x->ops[i], row)) return false;
    if (memcmp(row, dims + 1, sizeof *row * (size_t)(ir_rank(x->type) - 1)) != 0) return false;
  }
  return true;
}

/* The dimensions from dims[0] of array x, stacked output of a counted loop whose sizes are invariant, or a literal;
 * `kept` as in Stack. */
static bool known_shape(Loop *lp, Nest *nest, const Node *x, int *dims, bool *kept, int depth) {
  int64_t lengths[LIMIT_RANK];
  bool literal = is_literal(nest->s, x, lengths);
  if (!literal && (x->op != OP_GET || x->ops[0]->op != OP_LOOP)) return false;
  if (depth > LIMIT_SHAPE_DEPTH) return !limit_reached(lp->fn->m->arena, AT_SHAPE_DEPTH);
  if (!only_yielded(nest->s, x)) return false;
  for (int k = 0; literal && k < ir_rank(x->type); k++) {
    dims[k] = fn_int(lp->fn, lengths[k]);
    kept[k] = true;
  }
  if (literal) return true;
  const Node *loop = x->ops[0];
  const LoopInfo *l = loop->loop;
  int k = (int)x->attr.i - l->ncarried - l->naccs;
  if (l->has_cond || k < 0 || k >= l->nstacked) return false;
  dims[0] = invariant(lp, nest, loop->ops[0], -1, 0);
  if (dims[0] < 0) return false;
  kept[0] = loop_is_sized(l, k);
  if (x->type->args[0]->kind != T_ARRAY) return true;
  Nest inner = {nest, sched_of(lp->fn->m, loop->graphs[0]), loop};
  const Node *result = inner.s->g->result;
  if (result->op != OP_TUPLE) return false;
  return known_shape(lp, &inner, result->ops[loop_slots(l) + k], dims + 1, kept + 1, depth + 1);
}

/* The dimensions from dims[0] of array x, as far as its definition tells them by ints that are known before the
 * loop. */
static bool calculated_shape(Loop *lp, const Nest *nest, Node *x, int *dims, bool *kept) {
  for (int k = 0; k < ir_rank(x->type); k++) {
    kept[k] = true;
    Node *n = ir_len(world(lp), x, k);
    dims[k] = invariant(lp, nest, n, -1, 0);
    if (dims[k] < 0) return false;
    if (!ir_is_natural(n)) dims[k] = fn_scalar(lp->fn, OP_IMAX, dims[k], fn_int(lp->fn, 0)); /* checked by rows only */
  }
  return true;
}

/* ---- Stacked outputs ---- */
static void allocate(Loop *lp, Stack *st, const int *dims) {
  int64_t desc = lower_desc_index(lp->fn->m, st->type);
  LInstr *in = fn_emit(lp->fn, LOP_NEW_ARRAY, st->array, -1, 0, -1);
  in->imm.i = desc;
  in->site = lp->x->site;
  fn_args(lp->fn, dims, st->rank);
}

/* The dimensions of a known stack: an array without rows has no columns either, unless it keeps them. */
static int *stack_dims(Fn *fn, const Stack *st) {
  int *out = fn_copy(fn, st->dims, st->rank), none = -1; /* whether a dimension is 0 that leaves no others */
  for (int k = 1; k < st->rank; k++) {
    int zero = fn_int(fn, 0), r = fn_reg(fn, R_INT);
    if (!st->kept[k - 1]) none = fn_scalar(fn, OP_IEQ, out[k - 1], zero);
    if (none < 0) continue;
    fn_emit(fn, LOP_SCALAR, r, none, zero, out[k])->sub = OP_SELECT;
    out[k] = r;
  }
  return out;
}

const Dest *frame_dest(const Frame *fr, const Node *maker, int stack) {
  for (const Dest *d = fr->dests; d; d = d->next)
    if (d->maker == maker && d->stack == stack) return d;
  return NULL;
}

/* Of a loop that runs so often for certain: the component is read by no one else. */
Node *frame_text(const Frame *fr, const Node *loop, int stack) {
  int part = loop_slots(loop->loop) + stack;
  const Node *output = NULL;
  if (loop->loop->has_cond || ir_rank(loop->type->args[part]) != 1) return NULL;
  FOR_USES (use, fr->s->uses, loop)
    if (use->user->op == OP_GET && use->user->attr.i == part) output = use->user;
  const NodeUse *use = output ? uses_only(fr->s->uses, output) : NULL;
  bool text = use && use->user->op == OP_RT && ir_rt_id(use->user->attr.rt) == RTP_STR_OF_BYTES;
  return text && !frame_dest(fr, loop, stack) ? use->user : NULL;
}

static void allocate_text(Loop *lp, Stack *st) {
  LInstr *in = fn_emit(lp->fn, LOP_RT, -1, -1, -1, -1);
  in->sub = RTP_STR_BLANK;
  in->imm.i = -1;
  in->site = lp->x->site;
  fn_args(lp->fn, &lp->n, 1);
  fn_results(lp->fn, &st->array, 1);
}

static void open_known(Loop *lp, Stack *st, const Dest *dest) {
  Fn *fn = lp->fn;
  st->mode = STACK_KNOWN;
  if (dest) {
    st->borrowed = true;
    st->dims = dest->dims;
    st->data = dest->data;
    st->at = dest->at;
  } else if (st->text) {
    allocate_text(lp, st);
  } else {
    st->dims[0] = lp->n;
    allocate(lp, st, stack_dims(fn, st));
    st->data = fn_data(fn, st->array);
  }
  for (int k = 1; k < st->rank; k++) st->row_size = fn_mul(fn, st->row_size, st->dims[k]);
}

/* The register of x, an int made of the loop's operands: ir_row_length; -1 if it isn't one. */
static int number_outside(Loop *lp, Node *x, int depth) {
  Fn *fn = lp->fn;
  if (x->op == OP_INT) return fn_int(fn, x->attr.i);
  const Node *of = x->op == OP_LEN ? x->ops[0] : x;
  if (of->op == OP_GLOBAL)
    return x == of ? lower_constant(lp->fr, x).r[0] : fn_dim(fn, lower_constant(lp->fr, of).r[0], (int)x->attr.i);
  for (int k = 0; k < loop_inputs(lp->l); k++)
    if (lp->ops[k] == of) {
      int r = frame_row(lp->fr, lp->ops[k]).r[0];
      return x == of ? r : fn_dim(fn, r, (int)x->attr.i);
    }
  if (!(op_flags[x->op] & OPF_B) || x->nops != 2 || depth > LIMIT_SHAPE_DEPTH) return -1;
  int a = number_outside(lp, x->ops[0], depth + 1), b = a < 0 ? -1 : number_outside(lp, x->ops[1], depth + 1);
  return b < 0 ? -1 : fn_scalar(fn, (Op)x->op, a, b);
}

/* The registers of the sizes that rows of stacked output k have where there are none. */
static void open_row_dims(Loop *lp, Stack *st, int k) {
  Fn *fn = lp->fn;
  for (int d = 1; d < st->rank; d++) {
    Node *n = loop_is_sized(lp->l, k) ? ir_row_length(world(lp), lp->l, lp->ops, lp->body, k, d) : NULL;
    int r = n ? number_outside(lp, n, 0) : -1;
    st->dims[d] = fn_reg(fn, R_INT);
    if (r >= 0) fn_move(fn, st->dims[d], r, false);
    else fn_emit(fn, LOP_INT, st->dims[d], -1, -1, -1)->imm.i = 0;
  }
  st->row_size = fn_reg(fn, R_INT);
  fn_emit(fn, LOP_INT, st->row_size, -1, -1, -1)->imm.i = 0;
}

static void open_unknown(Loop *lp, Stack *st, int k) {
  Fn *fn = lp->fn;
  st->mode = lp->l->has_cond ? STACK_GROWN : STACK_LAZY;
  st->data = fn_reg(fn, R_RAW);
  if (st->rank > 1) open_row_dims(lp, st, k);
  if (st->mode == STACK_LAZY) {
    fn_emit(fn, LOP_NULLPTR, st->array, -1, -1, -1);
    return;
  }
  int *dims = NEW_ARRAY(fn->m->arena, int, st->rank);
  for (int d = 0; d < st->rank; d++) dims[d] = fn_int(fn, 0);
  allocate(lp, st, dims);
}

static void open_stack(Loop *lp, int k) {
  Stack *st = &lp->stacks[k];
  int part = loop_slots(lp->l) + k;
  st->type = lp->x->type->args[part];
  st->rank = ir_rank(st->type);
  st->base = lower_layout(world(lp), ir_base(st->type));
  st->array = fn_reg(lp->fn, R_PTR);
  st->row_size = st->at = -1;
  st->dims = NEW_ARRAY(lp->fn->m->arena, int, st->rank + 1);
  st->kept = NEW_ARRAY(lp->fn->m->arena, bool, st->rank + 1);
  st->kept[0] = loop_is_sized(lp->l, k);
  const Node *result = lp->body->result;
  Node *row = result->op == OP_TUPLE ? result->ops[part] : NULL;
  Nest nest = {NULL, lp->s, lp->x};
  const Dest *dest = frame_dest(lp->fr, lp->x, k);
  st->text = frame_text(lp->fr, lp->x, k);
  bool shaped =
      row && !lp->l->has_cond && st->rank > 1 && (dest || known_shape(lp, &nest, row, st->dims + 1, st->kept + 1, 0));
  if (shaped) {
    st->maker = row->op == OP_ARRAY ? row : row->ops[0];
    st->maker_stack = row->op == OP_ARRAY ? 0 : (int)row->attr.i - loop_slots(st->maker->loop);
  } else if (row && !dest && !lp->l->has_cond && st->rank > 1) {
    shaped = calculated_shape(lp, &nest, row, st->dims + 1, st->kept + 1);
  }
  if (shaped || dest || (st->rank == 1 && !lp->l->has_cond)) open_known(lp, st, dest);
  else open_unknown(lp, st, k);
}

/* The list with what d is for, and, if that is a literal, with its rows. */
static Dest *add_dest(Loop *lp, Dest *list, Dest d) {
  Dest *made = NEW(lp->fn->m->arena, Dest);
  *made = d;
  made->next = list;
  list = made;
  if (d.maker->op != OP_ARRAY || d.maker->type->args[0]->kind != T_ARRAY) return list;
  for (int i = 0, size = -1; i < d.maker->nops; i++) {
    for (int k = 1; !i && k < ir_rank(d.maker->type); k++) size = fn_mul(lp->fn, size, d.dims[k]);
    int at = fn_add(lp->fn, d.at, fn_mul(lp->fn, fn_int(lp->fn, i), size));
    list = add_dest(lp, list, (Dest){d.maker->ops[i], 0, d.data, at, d.dims + 1, NULL});
  }
  return list;
}

/* At the start of an iteration: where the loops and literals that make rows put them. */
static Dest *make_dests(Loop *lp) {
  Dest *list = NULL;
  for (int k = 0; k < lp->l->nstacked; k++) {
    Stack *st = &lp->stacks[k];
    if (!st->maker) continue;
    int at = fn_add(lp->fn, st->at, fn_mul(lp->fn, lp->i, st->row_size));
    list = add_dest(lp, list, (Dest){st->maker, st->maker_stack, st->data, at, st->dims + 1, NULL});
  }
  return list;
}

/* Dimensions of rows, taken from the first one. */
static void take_row_dims(Fn *fn, Stack *st, int row) {
  int size = -1, scope = fn_scope(fn);
  for (int k = 1; k < st->rank; k++) {
    int d = fn_dim(fn, row, k - 1);
    fn_move(fn, st->dims[k], d, false);
    size = fn_mul(fn, size, d);
  }
  fn_move(fn, st->row_size, size, false);
  fn_leave(fn, scope);
}

static void check_row_dims(Loop *lp, Stack *st, int row) {
  int scope = fn_scope(lp->fn);
  for (int k = 1; k < st->rank; k++)
    fn_emit(lp->fn, LOP_CHECK_ROW, -1, st->dims[k], fn_dim(lp->fn, row, k - 1), -1)->site = lp->x->site;
  fn_leave(lp->fn, scope);
}

/* The first row decides the dimensions, the others must agree. The first is the one that finds no array yet, or is
 * number 0 of a grown one. */
static void ready_block(Loop *lp, Stack *st, int row) {
  Fn *fn = lp->fn;
  int first = fn_reg(fn, R_INT), check = fn_label(fn), end = fn_label(fn);
  bool lazy = st->mode == STACK_LAZY;
  if (lazy) fn_emit(fn, LOP_IS_NULL, first, st->array, -1, -1);
  else fn_emit(fn, LOP_SCALAR, first, lp->i, fn_int(fn, 0), -1)->sub = OP_IEQ;
  fn_branch(fn, first, check);
  take_row_dims(fn, st, row);
  if (lazy) {
    st->dims[0] = lp->n;
    allocate(lp, st, st->dims);
    fn_emit(fn, LOP_DATA, st->data, st->array, -1, -1);
  }
  fn_jump(fn, end);
  fn_place(fn, check);
  check_row_dims(lp, st, row);
  fn_place(fn, end);
}

static void grow(Loop *lp, Stack *st) {
  Fn *fn = lp->fn;
  int slots = fn_int(fn, st->base->n);
  slots = st->row_size < 0 ? slots : fn_mul(fn, st->row_size, slots);
  fn_emit(fn, LOP_GROW, st->array, lp->i, slots, -1)->site = lp->x->site;
  fn_emit(fn, LOP_DATA, st->data, st->array, -1, -1);
}

/* The row has been stored: if the loop fails later, it is freed with the array. */
static void count_row(Loop *lp, Stack *st) {
  Fn *fn = lp->fn;
  int len = fn_scalar(fn, OP_IADD, lp->i, fn_int(fn, 1));
  for (int k = 1; k < st->rank; k++) fn_emit(fn, LOP_SET_DIM, -1, st->array, st->dims[k], -1)->imm.i = k;
  fn_emit(fn, LOP_SET_DIM, -1, st->array, len, -1)->imm.i = 0;
}

static void push_row(Loop *lp, Stack *st, const int *row) {
  Fn *fn = lp->fn;
  if (st->maker) return;
  if (st->text) {
    fn_emit(fn, LOP_PUT_BYTE, -1, st->array, lp->i, row[0])->site = st->text->site;
    return;
  }
  if (st->rank > 1 && st->mode != STACK_KNOWN) ready_block(lp, st, row[0]);
  if (st->mode == STACK_GROWN) grow(lp, st);
  int at = fn_add(fn, st->at, fn_mul(fn, lp->i, st->row_size));
  if (st->rank == 1) array_store(fn, st->data, at, row, st->base);
  else array_copy(fn, st->data, at, fn_data(fn, row[0]), -1, st->row_size, st->base);
  if (st->mode == STACK_GROWN) count_row(lp, st);
}

static void close_stack(Loop *lp, Stack *st) {
  Fn *fn = lp->fn;
  if (st->mode != STACK_LAZY) return;
  int null = fn_reg(fn, R_INT), end = fn_label(fn), *dims = NEW_ARRAY(fn->m->arena, int, st->rank);
  fn_emit(fn, LOP_IS_NULL, null, st->array, -1, -1);
  fn_branch(fn, null, end);
  for (int k = 0; k < st->rank; k++) dims[k] = k ? st->dims[k] : fn_int(fn, 0);
  allocate(lp, st, dims);
  fn_place(fn, end);
}

/* ---- The loop ---- */
static void pin(Loop *lp, int by) {
  int first = loop_slots(lp->l);
  for (int k = first; k < first + lp->l->nsliced + lp->l->ncaps; k++) {
    Row row = frame_row(lp->fr, lp->ops[k]);
    for (int i = 0; i < row.n; i++) lp->fn->info.data[row.r[i]].pins += by;
  }
}

static void bind_params(Loop *lp) {
  const LoopInfo *l = lp->l;
  lp->params = NEW_ARRAY(lp->fn->m->arena, Row, lp->body->nparams + 1);
  lp->params[0] = (Row){fn_copy(lp->fn, &lp->i, 1), 1};
  int at = 0, state = loop_slots(l);
  for (int k = 0; k < state; k++) {
    int n = lower_slots(world(lp), lp->ops[k]->type);
    lp->params[1 + k] = (Row){lp->state + at, n};
    at += n;
  }
  for (int k = loop_captures(l); k < loop_captures(l) + l->ncaps; k++)
    lp->params[1 + k] = frame_row(lp->fr, lp->ops[k]);
}

static void prefetch_all(Loop *lp) {
  const LoopInfo *l = lp->l;
  int state = loop_slots(l), caps = loop_captures(l), at = 0;
  for (int k = 0; k < state; k++) {
    if (lp->ops[k]->type->kind == T_ARRAY && lp->certain[at])
      prefetch_param(lp->fn, lp->body, k + 1, lp->state + at, 0);
    at += lp->params[1 + k].n;
  }
  for (int k = state; k < caps; k++)
    if (lp->ops[k]->type->kind == T_ARRAY)
      prefetch_array(lp->fn, frame_reg(lp->fr, lp->ops[k]), ir_rank(lp->ops[k]->type));
  for (int k = caps; k < caps + l->ncaps; k++) prefetch_param(lp->fn, lp->body, k + 1, lp->params[1 + k].r, 0);
}

static void load_elements(Loop *lp) {
  Fn *fn = lp->fn;
  int first = loop_slots(lp->l);
  for (int k = first; k < first + lp->l->nsliced; k++) {
    Node *a = lp->ops[k];
    int array = frame_reg(lp->fr, a), rank = ir_rank(a->type);
    if (a->type->kind != T_ARRAY) {
      lower_error(fn->m, "a loop over something that isn't an array");
    } else if (!lp->s->params[k + 1]) {
      lp->params[k + 1] = (Row){NULL, 0};
    } else if (rank == 1) {
      const Layout *base = lower_layout(world(lp), ir_base(a->type));
      lp->params[k + 1] = (Row){array_load(fn, array, lp->i, base), base->n};
    } else {
      int at = fn_mul(fn, lp->i, array_row_size(fn, array, 1, rank));
      bool is_virtual = sched_param_readonly(fn->m, lp->body, k + 1, 0);
      int row = array_part(fn, a->type->args[0], is_virtual, array, at, 1, -1);
      lp->params[k + 1] = (Row){fn_copy(fn, &row, 1), 1};
    }
  }
}

static void test_condition(Loop *lp) {
  Fn *fn = lp->fn;
  if (!lp->l->has_cond) {
    int limit = lp->limit >= 0 ? lp->limit : lp->down ? fn_int(fn, -1) : lp->n;
    fn_branch(fn, lp->down ? fn_scalar(fn, OP_ILT, limit, lp->i) : fn_scalar(fn, OP_ILT, lp->i, limit), lp->end);
    return;
  }
  const LoopInfo *l = lp->l;
  Row *params = NEW_ARRAY(fn->m->arena, Row, 1 + l->ncarried + l->ncaps);
  for (int k = 0; k <= l->ncarried; k++) params[k] = lp->params[k];
  for (int k = 0; k < l->ncaps; k++) params[1 + l->ncarried + k] = lp->params[1 + loop_captures(l) + k];
  for (int i = 0; i < lp->nstate; i++) fn->info.data[lp->state[i]].pins++;
  Row more = lower_graph(fn, lp->x->graphs[1], params);
  for (int i = 0; i < lp->nstate; i++) fn->info.data[lp->state[i]].pins--;
  fn_branch(fn, more.r[0], lp->end);
}

static bool simple_instr(const Fn *fn, const LInstr *in) {
  return lir_simple(in, in->dst >= 0 ? fn->regs.data[in->dst].kind : R_INT);
}

/* Between two looks for interrupts a loop takes some milliseconds in the evaluator, where a quick operation counts one:
 * TURNS iterations of up to UNPOLLED_COST / TURNS operations, fewer of longer ones. */
enum { TURNS = 1 << 16, UNPOLLED_COST = 1 << 20, CALL_COST = 16 };

/* What an iteration costs, branches included, in operations; those that take a call of the C library, the runtime or a
 * function count more. What holds loops looks for interrupts in each iteration. */
static int64_t cost_of(Lower *m, Graph *g) {
  const Sched *s = sched_of(m, g);
  int64_t cost = 1;
  for (int i = 0; i < s->n && cost < UNPOLLED_COST; i++) {
    const Node *x = s->order[i];
    if (op_flags[x->op] & OPF_K || x->op == OP_PARAM || x->op == OP_TUPLE || x->op == OP_GET || x->op == OP_AFTER)
      continue;
    cost += op_flags[x->op] & (OPF_Q | OPF_B) || x->op == OP_INDEX || x->op == OP_BYTE ? 1 : CALL_COST;
    for (int k = 0; x->op == OP_SWITCH && k < x->ngraphs; k++) cost += cost_of(m, x->graphs[k]);
  }
  return cost;
}

/* The number of iterations, a power of 2. */
static int64_t unpolled_turns(const Loop *lp) {
  int64_t cost = cost_of(lp->fn->m, lp->body), turns = TURNS;
  while (turns > 1 && turns * cost > UNPOLLED_COST) turns /= 2;
  return turns;
}

/* Is the loop so short that interrupts needn't be looked for within it? */
static bool is_brief(const Loop *lp) {
  const Node *n = lower_unwaited(lp->ops[-1]);
  return n->op == OP_INT && n->attr.i <= lp->turns;
}

/* Is the trip count at most LIMIT_FEW_TRIPS, so that running several iterations at once doesn't pay? */
static bool runs_rarely(const Loop *lp) {
  if (lp->l->has_cond || lower_unwaited(lp->ops[-1])->op == OP_INT) return false;
  return fact_at_most(lp->ops[-1], LIMIT_TRIPS_DEPTH) <= LIMIT_FEW_TRIPS;
}

/* Interrupts. A loop looks for them once per iteration; but one that counts and holds nothing else that takes long,
 * which GCC may vectorise, only between chunks of iterations, if it may be long. */
static void open_chunk(Loop *lp) {
  Fn *fn = lp->fn;
  lp->limit = lp->chunk = -1;
  if (lp->l->has_cond || is_brief(lp) || lp->rare) return;
  lp->chunk = fn_label(fn);
  fn_place(fn, lp->chunk);
  int far = fn_scalar(fn, lp->down ? OP_ISUB : OP_IADD, lp->i, fn_int(fn, lp->turns));
  lp->limit = fn_reg(fn, R_INT);
  int end = lp->down ? fn_int(fn, -1) : lp->n;
  fn_emit(fn, LOP_SCALAR, lp->limit, far, end, -1)->sub = lp->down ? OP_IMAX : OP_IMIN;
  lp->limit_at = fn->code.len - 1;
}

/* After the loop's end. Without chunks the limit is the end. */
static void close_chunk(Loop *lp) {
  Fn *fn = lp->fn;
  if (lp->limit < 0) return;
  LInstr *set = &fn->code.data[lp->limit_at];
  int end = set->b;
  if (!fn->code.data[lp->head_at].b) {
    *set = (LInstr){.op = LOP_MOVE, .dst = lp->limit, .a = end, .b = -1, .c = -1};
    return;
  }
  int done = fn_label(fn);
  fn_branch(fn, lp->down ? fn_scalar(fn, OP_ILT, end, lp->limit) : fn_scalar(fn, OP_ILT, lp->limit, end), done);
  fn_emit(fn, LOP_POLL, -1, -1, -1, -1);
  fn_jump(fn, lp->chunk);
  fn_place(fn, done);
}

/* Marks an innermost loop free of calls. */
static void close_iteration(Loop *lp) {
  Fn *fn = lp->fn;
  bool simple = !lp->rare;
  for (int i = lp->head_at + 1; i < fn->code.len; i++) simple = simple && simple_instr(fn, &fn->code.data[i]);
  fn->code.data[lp->head_at].b = simple;
  if (!simple || lp->l->has_cond) fn_emit(fn, LOP_POLL, -1, -1, -1, -1);
  fn_emit(fn, LOP_SCALAR, lp->i, lp->i, fn_int(fn, 1), -1)->sub = lp->down ? OP_ISUB : OP_IADD;
  fn_jump(fn, lp->head);
}

/* ---- Partial sums ---- */
static void open_lanes(Loop *lp) {
  Fn *fn = lp->fn;
  lp->lanes = NEW_ARRAY(fn->m->arena, int *, lp->nstate + 1);
  for (int k = 0; k < lp->nstate; k++) {
    if (!lp->sums->slots[k]) continue;
    lp->lanes[k] = NEW_ARRAY(fn->m->arena, int, LIMIT_LANES);
    for (int n = 0; n < LIMIT_LANES; n++) lp->lanes[k][n] = fn_reg(fn, R_FLOAT);
    fn_emit(fn, LOP_LANE_OPEN, -1, lp->state[k], -1, -1);
    fn_results(fn, lp->lanes[k], LIMIT_LANES);
  }
}

static void close_lanes(Loop *lp) {
  for (int k = 0; k < lp->nstate; k++) {
    if (!lp->sums->slots[k]) continue;
    fn_emit(lp->fn, LOP_LANE_SUM, lp->state[k], -1, -1, -1);
    fn_args(lp->fn, lp->lanes[k], LIMIT_LANES);
  }
}

static int negation(Fn *fn, int r) {
  int negative = fn_reg(fn, R_FLOAT);
  fn_emit(fn, LOP_SCALAR, negative, r, -1, -1)->sub = OP_FNEG;
  return negative;
}

/* s +. t  →  LANE_ADD number, t      s +. x * y  →  LANE_ADD number, x, y  where nothing else reads the product
 * s - t   →  LANE_ADD number, -t     s - x * y   →  LANE_ADD number, -x, y */
static void lower_addition(Loop *lp, Frame *body, const Node *x, const LaneAddition *a) {
  Fn *fn = lp->fn;
  const Node *t = a->term;
  int first = frame_reg(body, a->fused ? t->ops[0] : t), second = a->fused ? frame_reg(body, t->ops[1]) : -1;
  if (a->negated) first = negation(fn, first);
  fn_emit(fn, LOP_LANE_ADD, -1, lp->i, first, second);
  fn_results(fn, lp->lanes[a->slot], LIMIT_LANES);
  body->rows[sched_pos(body->s, x)] = lp->params[1 + a->slot];
}

/* ---- Iterations ---- */
/* One iteration, with the index, state and parameters that lp says. What is known since `scope` is forgotten. */
static void lower_iteration(Loop *lp, int scope) {
  Fn *fn = lp->fn;
  Frame body;
  load_elements(lp);
  frame_open(&body, fn, lp->body, lp->params);
  body.dests = make_dests(lp);
  for (int i = 0; i < body.s->n; i++) {
    Node *x = body.s->order[i];
    const LaneAddition *a = lp->sums ? map_get(&lp->sums->additions, x) : NULL;
    if (a) lower_addition(lp, &body, x, a);
    else if (!lp->sums || !map_get(&lp->sums->fused, x)) lower_node(&body, x);
  }
  const int *result = body.rows[body.s->n - 1].r;
  int at = lp->nstate;
  for (int k = 0; k < lp->l->nstacked; k++) {
    push_row(lp, &lp->stacks[k], result + at);
    at += lower_slots(world(lp), lp->stacks[k].type->args[0]);
  }
  fn_leave(fn, scope);
  step_state(lp, result);
}

static void iterate(Loop *lp) {
  Fn *fn = lp->fn;
  lp->head = fn_label(fn);
  lp->end = fn_label(fn);
  fn->loop_depth++;
  open_chunk(lp);
  fn_place(fn, lp->head);
  fn_emit(fn, LOP_LOOP_HEAD, -1, -1, 0, -1);
  lp->head_at = fn->code.len - 1;
  int scope = fn_scope(fn);
  test_condition(lp);
  lp->body_at = fn->code.len;
  lower_iteration(lp, scope);
  lp->body_end = fn->code.len;
  close_iteration(lp);
  fn_place(fn, lp->end);
  close_chunk(lp);
  fn->loop_depth--;
}

/* ---- A copy with private arrays ---- */
static void privatise(Loop *lp, int start) {
  Fn *fn = lp->fn;
  int *ranks = NEW_ARRAY(fn->m->arena, int, lp->nstate + 1);
  for (int k = 0; k < lp->nstate; k++) ranks[k] = ir_rank(lp->ops[k]->type);
  int *outputs = NEW_ARRAY(fn->m->arena, int, lp->l->nstacked + 1);
  for (int k = 0; k < lp->l->nstacked; k++) outputs[k] = lp->stacks[k].data;
  PrivateLoop l = {start, lp->body_at, lp->body_end,    fn_label(fn), lp->i,           lp->n,      lp->state,
                   ranks, lp->nstate,  lp->l->ncarried, outputs,      lp->l->nstacked, lp->x->site};
  lower_privatise(fn, &l);
}

/* Is where an iteration stores its rows known before the loop? */
static bool are_outputs_known(const Loop *lp) {
  for (int k = 0; k < lp->l->nstacked; k++)
    if (lp->stacks[k].mode != STACK_KNOWN || lp->stacks[k].text) return false;
  return true;
}

static Row loop_results(Loop *lp) {
  Fn *fn = lp->fn;
  int n = 0, *r = NEW_ARRAY(fn->m->arena, int, lp->nstate + lp->l->nstacked + 1);
  for (int i = 0; i < lp->nstate; i++) r[n++] = lp->state[i];
  for (int k = 0; k < lp->l->nstacked; k++) {
    close_stack(lp, &lp->stacks[k]);
    r[n++] = lp->stacks[k].array;
  }
  r[n++] = lp->l->has_cond ? lp->i : lp->n;
  return (Row){r, n};
}

Row lower_loop(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  Loop *lp = NEW(fn->m->arena, Loop);
  *lp = (Loop){.fr = fr, .fn = fn, .x = x, .l = x->loop, .body = x->graphs[0]};
  lp->ops = x->ops + loop_first(x->loop);
  lp->s = sched_of(fn->m, lp->body);
  lp->n = x->loop->has_cond ? -1 : frame_reg(fr, x->ops[0]);
  lp->stacks = NEW_ARRAY(fn->m->arena, Stack, x->loop->nstacked + 1);
  open_state(lp);
  for (int k = 0; k < x->loop->nstacked; k++) open_stack(lp, k);
  lp->i = fn_reg(fn, R_INT);
  lp->rare = runs_rarely(lp);
  lp->sums = lp->rare ? NULL : lower_lanes(fn->m, x);
  /* Only what is carried tells the order of iterations; that of additions is free. */
  lp->down = x->loop->down && !lp->sums && (x->loop->ncarried || fn->m->w->strict);
  if (lp->down) fn_emit(fn, LOP_SCALAR, lp->i, lp->n, fn_int(fn, 1), -1)->sub = OP_ISUB;
  else fn_emit(fn, LOP_INT, lp->i, -1, -1, -1)->imm.i = 0;
  bind_params(lp);
  prefetch_all(lp);
  pin(lp, 1);
  lp->turns = lp->l->has_cond ? 1 : unpolled_turns(lp);
  if (lp->sums && lp->turns < LIMIT_LANES) lp->turns = LIMIT_LANES;
  if (lp->sums) open_lanes(lp);
  bool lanes = !lp->rare && lower_has_lanes(fn->m, x, lp->sums);
  bool private = !lp->rare && !lp->sums && !lp->down && are_outputs_known(lp) && lower_may_privatise(fn->m, x);
  int start = fn->code.len;
  fn->m->lane_bodies += lanes || private;
  fn->m->private_bodies += private;
  iterate(lp);
  fn->m->lane_bodies -= lanes || private;
  fn->m->private_bodies -= private;
  if (private) privatise(lp, start);
  if (lp->sums) close_lanes(lp);
  pin(lp, -1);
  return loop_results(lp);
}
