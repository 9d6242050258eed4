/* SPDX-License-Identifier: MIT */
/* Scalar replacement and loop-invariant code: the normal forms of loops (trip counts are in loop_bounds.c). A loop
 * carries
 *
 *   no tuples                   s = (a, b)            →  a and b are carried
 *   nothing that never changes  s' = s                →  a capture
 *   no counter                  s' = s + c            →  s0 + c * i, computed in the body
 *   no unused length            length s', as length s →  length s0, from outside
 *   no part of itself           s' = s[a..b]          →  s0 is captured, where its part is is carried
 *   no mere sequencing          s' = after s x        →  s0 is captured, a number ordered after x is carried
 *
 * and captures as branches do (captures.c).
 *
 * Loops are made operand by operand, in any order, by a LoopBuilder, also here. While the body is made its parameters
 * are numbered as they come; when the loop is closed they get the places that LoopInfo wants. */
#include "ir/ir_internal.h"
#include <string.h>

/* ---- Making loops ------------------------------------------------------------------------------------------------ */
typedef struct Operand {
  LoopPart part;
  Node *outer, *inner, *next;
  int place;
} Operand;

struct LoopBuilder {
  World *w;
  LoopInfo info;
  Vec(Operand) operands;
  Vec(Node *) stacked;
  Node *loop; /* once it is closed */
};

LoopBuilder *loop_open(World *w, bool down) {
  LoopBuilder *b = NEW(w->temp, LoopBuilder);
  b->w = w;
  b->info.down = down;
  return b;
}

LoopBuilder *loop_open_like(World *w, const Node *loop) { return loop_open(w, loop->loop->down); }

Node *loop_index(LoopBuilder *b) { return ir_param(b->w, 0, ir_type(b->w, T_INT)); }

static int *count_of(LoopInfo *l, LoopPart part) {
  int *const counts[] = {&l->ncarried, &l->naccs, &l->nsliced, &l->ncaps};
  return counts[part];
}

Node *loop_add(LoopBuilder *b, LoopPart part, Node *x) {
  IrType *t = part == LOOP_SLICED ? x->type->args[0] : x->type;
  Operand o = {.part = part, .outer = x, .inner = ir_param(b->w, 1 + b->operands.len, t)};
  vec_push(b->w->temp, b->operands, o);
  ++*count_of(&b->info, part);
  return o.inner;
}

static Operand *operand_of(LoopBuilder *b, const Node *inner) { return &b->operands.data[inner->attr.i - 1]; }

void loop_next(LoopBuilder *b, const Node *inner, Node *next) { operand_of(b, inner)->next = next; }

int loop_stack(LoopBuilder *b, Node *x) {
  vec_push(b->w->temp, b->stacked, x);
  return b->info.nstacked++;
}

int loop_stack_sized(LoopBuilder *b, Node *x) {
  int k = loop_stack(b, x);
  if (k < 64) b->info.sized |= (uint64_t)1 << k;
  return k;
}

int loop_stack_as(LoopBuilder *b, Node *x, const LoopInfo *l, int k) {
  return loop_is_sized(l, k) ? loop_stack_sized(b, x) : loop_stack(b, x);
}

void loop_size_all(LoopBuilder *b) {
  for (int k = 0; k < b->info.nstacked && k < 64; k++) b->info.sized |= (uint64_t)1 << k;
}

/* Gives the operands their places: those of one part follow each other in the order they came in. */
static void place_operands(LoopBuilder *b) {
  int at = 0;
  for (LoopPart part = LOOP_CARRIED; part <= LOOP_CAPTURED; part++)
    for (int k = 0; k < b->operands.len; k++)
      if (b->operands.data[k].part == part) b->operands.data[k].place = at++;
}

/* A graph over the index and all operands, or those that a condition may read. */
static Graph *close_graph(LoopBuilder *b, Node *result, bool cond) {
  World *w = b->w;
  int n = b->operands.len, hidden = cond ? b->info.naccs + b->info.nsliced : 0;
  Node **args = NEW_ARRAY(w->temp, Node *, n + 1);
  IrType **types = NEW_ARRAY(w->temp, IrType *, n + 1);
  args[0] = loop_index(b);
  types[0] = args[0]->type;
  for (int k = 0; k < n; k++) {
    const Operand *o = &b->operands.data[k];
    IrType *t = o->inner->type;
    if (cond && (o->part == LOOP_ACC || o->part == LOOP_SLICED)) args[1 + k] = ir_zero(w, t); /* never read */
    else {
      int place = 1 + o->place - (o->part == LOOP_CAPTURED ? hidden : 0);
      args[1 + k] = ir_param(w, place, t);
      types[place] = t;
    }
  }
  bool moved = false;
  for (int k = 0; k < n; k++) moved |= args[1 + k] != b->operands.data[k].inner;
  return ir_graph(w, types, 1 + n - hidden, moved ? ir_substitute(w, result, args, n + 1, 0) : result, NULL);
}

void loop_yield(LoopBuilder *b, Node *result) {
  int k = 0;
  for (LoopPart part = LOOP_CARRIED; part <= LOOP_ACC; part++)
    for (int i = 0; i < b->operands.len; i++)
      if (b->operands.data[i].part == part) b->operands.data[i].next = ir_get(b->w, result, k++);
  for (; k < result->type->n; k++) loop_stack(b, ir_get(b->w, result, k));
}

void loop_close(LoopBuilder *b, Node *count, Node *cond, Site site) {
  World *w = b->w;
  place_operands(b);
  int slots = loop_slots(&b->info);
  Node **in = NEW_ARRAY(w->temp, Node *, b->operands.len + 1);
  Node **out = NEW_ARRAY(w->temp, Node *, slots + b->info.nstacked + 1);
  for (int k = 0; k < b->operands.len; k++) {
    const Operand *o = &b->operands.data[k];
    in[o->place] = o->outer;
    if (o->place < slots) out[o->place] = o->next ? o->next : o->inner;
  }
  for (int k = 0; k < b->info.nstacked; k++) out[slots + k] = b->stacked.data[k];
  b->info.has_cond = cond != NULL;
  Graph *body = close_graph(b, ir_record(w, out, slots + b->info.nstacked), false);
  b->loop = ir_loop(w, &b->info, count, in, body, cond ? close_graph(b, cond, true) : NULL, site);
}

Node *loop_result(LoopBuilder *b, const Node *inner) { return ir_get(b->w, b->loop, operand_of(b, inner)->place); }

Node *loop_stacked(LoopBuilder *b, int k) { return ir_get(b->w, b->loop, loop_slots(&b->info) + k); }

Node *loop_trips(LoopBuilder *b) { return ir_get(b->w, b->loop, b->loop->type->n - 1); }

Node *loop_value(LoopBuilder *b) { return b->loop; }

Node **loop_cond_args(World *w, const LoopInfo *l, const Graph *cond, Node **args) {
  Node **in = NEW_ARRAY(w->temp, Node *, cond->nparams);
  for (int p = 0; p < cond->nparams; p++) in[p] = args[p ? 1 + loop_cond_input(l, p) : 0];
  return in;
}

void loop_close_as(LoopBuilder *b, const Node *loop, Node **ops, Graph **graphs, Node **args) {
  const LoopInfo *l = loop->loop;
  Node *cond = NULL;
  if (l->has_cond) cond = ir_instantiate(b->w, graphs[1], loop_cond_args(b->w, l, graphs[1], args), 0);
  loop_close(b, cond ? NULL : ops[0], cond, loop->site);
}

Node *ir_copy_rows(World *w, Node *array) {
  LoopBuilder *b = loop_open(w, false);
  int k = loop_stack(b, loop_add(b, LOOP_SLICED, array));
  loop_close(b, ir_len(w, array, 0), NULL, 0);
  return loop_stacked(b, k);
}

/* ---- Forms ------------------------------------------------------------------------------------------------------- */
/* A loop and what it is rebuilt as. Operands: carried values, accumulators, slices, captures. */
typedef struct Form {
  World *w;
  const LoopInfo *l;
  Node *n, **ops;
  Graph *body, *cond;
  Site site;
  Node **waits; /* per slot that only waits: what is carried instead */
} Form;

static Node *next_of(const Form *f, int k) { return ir_get(f->w, f->body->result, k); }

/* Input k of the loop, as it is. */
static Node *add_input(const Form *f, LoopBuilder *b, int k) { return loop_add(b, loop_part(f->l, k), f->ops[k]); }

static void close(const Form *f, LoopBuilder *b, Node **args) {
  Node **in = f->cond ? loop_cond_args(f->w, f->l, f->cond, args) : NULL;
  loop_close(b, f->n, in ? ir_instantiate(f->w, f->cond, in, 0) : NULL, f->site);
}

/* The loop whose body and condition have args in place of their parameters. */
static Node *loop_over(const Form *f, LoopBuilder *b, Node **args) {
  loop_yield(b, ir_instantiate(f->w, f->body, args, 0));
  b->info.sized = f->l->sized;
  close(f, b, args);
  return loop_value(b);
}

/* ---- Other state ------------------------------------------------------------------------------------------------- */
typedef enum {
  KEEP,
  DROP,  /* never changes: what it is at the start */
  STEP,  /* a number that a constant is added to: what it is at the start, and a multiple of the index */
  SPLIT, /* a tuple: one slot for each component */
  PART,  /* a slice of itself: a part of what it is at the start, two slots for its place and length */
  WAIT   /* never changes, but waits for something: what it is at the start, a slot for what does */
} Fate;

static bool is_carried(Fate fate) { return fate != DROP && fate != STEP; }

/* The constant that slot k grows by. */
static Node *step_of(const Form *f, int k) {
  Node *next = next_of(f, k);
  if (next->op != OP_IADD || f->l->down || k >= f->l->ncarried) return NULL;
  for (int i = 0; i < 2; i++) {
    Node *x = next->ops[i], *c = next->ops[1 - i];
    if (x->op == OP_PARAM && x->attr.i == 1 + k && c->op == OP_INT) return c;
  }
  return NULL;
}

static bool is_own(const Node *x, int k) { return x->op == OP_PARAM && x->attr.i == 1 + k; }

static Fate fate_of(const Form *f, int k) {
  const IrType *t = f->ops[k]->type;
  Node *next = next_of(f, k);
  bool constant = k < f->l->ncarried && (next->op == OP_INT || next->op == OP_BOOL) && next == f->ops[k];
  if (t->kind == T_UNIT || is_own(next, k) || constant) return DROP;
  const Node *waited = next;
  while (waited->op == OP_AFTER) waited = waited->ops[0];
  if (k < f->l->ncarried && is_own(waited, k) && t->kind != T_INT) return WAIT;
  if (t->kind == T_INT && step_of(f, k)) return STEP;
  const Node *of = next->op == OP_SLICE && k < f->l->ncarried ? next->ops[0] : next;
  if (of != next && is_own(of, k)) return PART;
  return t->kind == T_TUPLE ? SPLIT : KEEP;
}

/* Slot k after i iterations, where `start` stands for its value before them:  start + c * i. */
static Node *stepped(const Form *f, Fate fate, int k, Node *start, Node *i) {
  if (fate == DROP) return start;
  return ir_op2(f->w, OP_IADD, start, ir_op2(f->w, OP_IMUL, step_of(f, k), i));
}

/* A number that waits for what x waits for, down to what it is. */
static Node *waiting_number(World *w, const Node *x) {
  if (x->op != OP_AFTER) return ir_int(w, 0);
  Node *rest = waiting_number(w, x->ops[0]);
  return ir_after(w, rest, x->ops[1], (Waits)x->attr.i);
}

/* What stands for slot k in the body, which is kept as it is, component by component, or by its place. */
static Node *add_slot(const Form *f, LoopBuilder *b, Fate fate, int k) {
  if (fate == KEEP) return add_input(f, b, k);
  if (fate == WAIT) {
    f->waits[k] = loop_add(b, LOOP_CARRIED, ir_int(f->w, 0));
    return loop_add(b, LOOP_CAPTURED, f->ops[k]);
  }
  if (fate == PART) {
    Node *lo = loop_add(b, LOOP_CARRIED, ir_int(f->w, 0)), *n = loop_add(b, LOOP_CARRIED, ir_len(f->w, f->ops[k], 0));
    return ir_slice(f->w, loop_add(b, LOOP_CAPTURED, f->ops[k]), lo, n);
  }
  IrType *t = f->ops[k]->type;
  Node **xs = NEW_ARRAY(f->w->temp, Node *, t->n);
  for (int i = 0; i < t->n; i++) xs[i] = loop_add(b, loop_part(f->l, k), ir_get(f->w, f->ops[k], i));
  return ir_tuple(f->w, t, xs);
}

static void set_next(const Form *f, LoopBuilder *b, Fate fate, int k, Node *inner, Node *next) {
  if (fate == KEEP) loop_next(b, inner, next);
  for (int i = 0; fate == SPLIT && i < inner->nops; i++) loop_next(b, inner->ops[i], ir_get(f->w, next, i));
  for (int i = 1; fate == PART && i < inner->nops; i++) loop_next(b, inner->ops[i], next->ops[i]);
  if (fate == WAIT) loop_next(b, f->waits[k], waiting_number(f->w, next));
}

static Node *slot_value(const Form *f, LoopBuilder *b, Fate fate, int k, const Node *inner) {
  if (fate == KEEP) return loop_result(b, inner);
  if (fate == PART) return ir_slice(f->w, f->ops[k], loop_result(b, inner->ops[1]), loop_result(b, inner->ops[2]));
  if (fate == WAIT) return ir_after(f->w, f->ops[k], loop_result(b, f->waits[k]), WAITS_END);
  Node **xs = NEW_ARRAY(f->w->temp, Node *, inner->nops);
  for (int i = 0; i < inner->nops; i++) xs[i] = loop_result(b, inner->ops[i]);
  return ir_tuple(f->w, inner->type, xs);
}

/* Fills in what stands for the parameters of the body; false: the loop's state stays as it is. */
static bool new_state(const Form *f, LoopBuilder *b, Fate *fate, Node **args) {
  const LoopInfo *l = f->l;
  Use *use = ir_param_uses(f->w, f->body);
  int slots = loop_slots(l), before = loop_captures(l);
  bool changed = false;
  for (int k = 0; k < slots; k++) changed |= (fate[k] = fate_of(f, k)) != KEEP;
  for (int k = slots; k < before; k++) changed |= use[1 + k] == UNUSED;
  if (!changed) return false;
  args[0] = loop_index(b);
  for (int k = 0; k < slots; k++)
    if (is_carried(fate[k])) args[1 + k] = add_slot(f, b, fate[k], k);
  for (int k = slots; k < before; k++)
    args[1 + k] = use[1 + k] == UNUSED ? ir_zero(f->w, f->body->params[1 + k]) : add_input(f, b, k);
  for (int k = before; k < loop_inputs(l); k++) args[1 + k] = add_input(f, b, k);
  for (int k = 0; k < slots; k++)
    if (!args[1 + k]) args[1 + k] = stepped(f, fate[k], k, loop_add(b, LOOP_CAPTURED, f->ops[k]), args[0]);
  return true;
}

static IrType *loop_type(World *w, const LoopInfo *l, const Graph *body) {
  const IrType *rt = body->result->type;
  int slots = loop_slots(l);
  IrType **ts = NEW_ARRAY(w->temp, IrType *, slots + l->nstacked + 1);
  for (int i = 0; i < slots; i++) ts[i] = rt->args[i];
  for (int i = 0; i < l->nstacked; i++) ts[slots + i] = ir_array_type(w, rt->args[slots + i]);
  ts[slots + l->nstacked] = ir_type(w, T_INT);
  return ir_tuple_type(w, ts, NULL, slots + l->nstacked + 1);
}

static Node *with_other_state(const Form *f) {
  World *w = f->w;
  int slots = loop_slots(f->l), parts = slots + f->l->nstacked;
  Fate *fate = NEW_ARRAY(w->temp, Fate, slots + 1);
  Node **args = NEW_ARRAY(w->temp, Node *, f->body->nparams), **xs = NEW_ARRAY(w->temp, Node *, parts + 1);
  LoopBuilder *b = loop_open(w, f->l->down);
  if (!new_state(f, b, fate, args)) return NULL;
  Node *result = ir_instantiate(w, f->body, args, 0);
  for (int k = 0; k < slots; k++) set_next(f, b, fate[k], k, args[1 + k], ir_get(w, result, k));
  for (int k = slots; k < parts; k++) loop_stack_as(b, ir_get(w, result, k), f->l, k - slots);
  close(f, b, args);
  for (int k = 0; k < slots; k++) {
    xs[k] = is_carried(fate[k]) ? slot_value(f, b, fate[k], k, args[1 + k])
                                : stepped(f, fate[k], k, f->ops[k], loop_trips(b));
    if (k < f->l->ncarried) xs[k] = ir_after_loop(w, xs[k], loop_value(b));
  }
  for (int k = slots; k < parts; k++) xs[k] = loop_stacked(b, k - slots);
  xs[parts] = loop_trips(b);
  return ir_tuple(w, loop_type(w, f->l, f->body), xs);
}

/* ---- Other captures ---------------------------------------------------------------------------------------------- */
/* A slice of an array whose elements are all the same is captured:  for x in [ c | i < n ]: f x = for i < n: f c. */
static Node *with_captured_slices(const Form *f) {
  const LoopInfo *l = f->l;
  int slots = loop_slots(l), before = loop_captures(l);
  Node **same = NEW_ARRAY(f->w->temp, Node *, before + 1), **args = NEW_ARRAY(f->w->temp, Node *, f->body->nparams);
  bool any = false;
  for (int k = slots; k < before; k++) any |= (same[k] = ir_same_elements(f->w, f->ops[k])) != NULL;
  if (!any) return NULL;
  LoopBuilder *b = loop_open(f->w, l->down);
  args[0] = loop_index(b);
  for (int k = 0; k < loop_inputs(l); k++)
    if (k >= before || !same[k]) args[1 + k] = add_input(f, b, k);
  for (int k = slots; k < before; k++)
    if (same[k]) args[1 + k] = loop_add(b, LOOP_CAPTURED, same[k]);
  return loop_over(f, b, args);
}

/* What node x of the body or condition is outside, if it is the length of a carried array and never changes; NULL. */
static Node *fixed_length(const Form *f, const Node *x) {
  if (x->op != OP_LEN || x->ops[0]->op != OP_PARAM) return NULL;
  return ir_carried_length(f->w, f->l, f->ops, f->body, (int)x->ops[0]->attr.i - 1, (int)x->attr.i);
}

static bool has_fixed_lengths(const Form *f, Graph *g) {
  const GraphBody *b = g ? graph_body(f->w, g) : NULL;
  for (int i = 0; b && i < b->n; i++)
    if (fixed_length(f, b->nodes[i])) return true;
  return false;
}

/* The result of g, body or condition, over args, with captured lengths in place of those that never change. */
static Node *over_lengths(const Form *f, LoopBuilder *b, Graph *g, Node **args) {
  const GraphBody *body = graph_body(f->w, g);
  Map fixed;
  map_init(&fixed, f->w->temp);
  for (int i = 0; i < body->n; i++) {
    Node *x = body->nodes[i];
    Node *outside = fixed_length(f, x);
    if (outside) map_put(&fixed, x, loop_add(b, LOOP_CAPTURED, outside));
  }
  return ir_instantiate_over(f->w, g, args, 0, &fixed);
}

/* Lengths of carried arrays that stay what they are at the start become captures. */
static Node *with_fixed_lengths(const Form *f) {
  if (!has_fixed_lengths(f, f->body) && !has_fixed_lengths(f, f->cond)) return NULL;
  Node **args = NEW_ARRAY(f->w->temp, Node *, f->body->nparams);
  LoopBuilder *b = loop_open(f->w, f->l->down);
  args[0] = loop_index(b);
  for (int k = 0; k < loop_inputs(f->l); k++) args[1 + k] = add_input(f, b, k);
  loop_yield(b, over_lengths(f, b, f->body, args));
  b->info.sized = f->l->sized;
  Node *cond = f->cond ? over_lengths(f, b, f->cond, loop_cond_args(f->w, f->l, f->cond, args)) : NULL;
  loop_close(b, f->n, cond, f->site);
  return loop_value(b);
}

/* Captures as the condition and the body need them (captures.c). */
static Node *with_planned_captures(const Form *f) {
  World *w = f->w;
  const LoopInfo *l = f->l;
  int before = loop_captures(l), own = 1 + before;
  Use *use = ir_param_uses(w, f->body), *asked = f->cond ? ir_param_uses(w, f->cond) : NULL;
  CapturePlan p = {.inside = NEW_ARRAY(w->temp, Node *, l->ncaps + 1)};
  for (int i = 0; asked && i < l->ncaps; i++) {
    Use u = asked[loop_cond_param(l, before + i)];
    if (u > use[own + i]) use[own + i] = u;
  }
  ir_plan_lengths(w, &p, f->ops + before, use + own, l->ncaps);
  for (int i = 0; i < l->ncaps; i++) {
    Node *old = f->ops[before + i];
    Use *parts = use[own + i] == IN_PARTS ? NEW_ARRAY(w->temp, Use, old->type->n + 1) : NULL;
    if (parts) ir_part_uses(w, f->body, own + i, parts);
    if (parts && asked) ir_part_uses(w, f->cond, loop_cond_param(l, before + i), parts);
    Node *x = p.inside[i] = ir_capture_for(w, &p, own, old, use[own + i], parts);
    p.changed |= x->op != OP_PARAM || x->attr.i != own + i;
  }
  if (!p.changed) return NULL;
  LoopBuilder *b = loop_open(w, l->down);
  Node **args = NEW_ARRAY(w->temp, Node *, f->body->nparams);
  args[0] = loop_index(b);
  for (int k = 0; k < before; k++) args[1 + k] = add_input(f, b, k);
  for (int i = 0; i < p.caps.len; i++) loop_add(b, LOOP_CAPTURED, p.caps.data[i]); /* parameters own + i, as planned */
  for (int i = 0; i < l->ncaps; i++) args[own + i] = p.inside[i];
  return loop_over(f, b, args);
}

/* ---- The normal form --------------------------------------------------------------------------------------------- */
/* Stacked output k of a loop that runs not at all; ops: without the trip count. */
static Node *empty_stack(World *w, const LoopInfo *l, Node **ops, Graph *body, int k, IrType *t) {
  Node **dims = NEW_ARRAY(w->arena, Node *, ir_rank(t));
  bool sized = loop_is_sized(l, k);
  dims[0] = ir_int(w, 0);
  for (int d = 1; sized && d < ir_rank(t); d++) sized = (dims[d] = ir_row_length(w, l, ops, body, k, d)) != NULL;
  return sized && ir_rank(t) > 1 ? ir_zeros(w, t, dims, 0) : ir_array(w, t->args[0], NULL, 0, 0);
}

/* A loop that runs not at all: carried values and accumulators are what they were, stacked outputs empty. */
static Node *empty_loop(World *w, const LoopInfo *l, Node **ops, Graph *body) {
  IrType *t = loop_type(w, l, body);
  int slots = loop_slots(l);
  Node **xs = NEW_ARRAY(w->temp, Node *, t->n);
  for (int i = 0; i < slots; i++) xs[i] = ops[i];
  for (int i = 0; i < l->nstacked; i++) xs[slots + i] = empty_stack(w, l, ops, body, i, t->args[slots + i]);
  xs[slots + l->nstacked] = ir_int(w, 0);
  return ir_tuple(w, t, xs);
}

/* Is it free which way the loop walks? Independent iterations don't care, but for sums in strict mode, and for which of
 * several errors is reported. Upwards is the normal form: loops that walk alike can be joined, and what they read is
 * loaded in the order of the machine's vectors. */
static bool may_walk_up(const World *w, const LoopInfo *l, const Graph *body) {
  return !l->has_cond && !l->ncarried && !(l->naccs && w->strict) && !(body->flags & NODE_FAILS);
}

/* Which of the stacked outputs that are to keep the sizes of rows can do so. */
static uint64_t known_sizes(World *w, const LoopInfo *l, Node **ops, Graph *body) {
  uint64_t known = 0;
  for (int k = 0; k < l->nstacked && k < 64 && l->sized; k++) {
    int rank = ir_rank(ir_get(w, body->result, loop_slots(l) + k)->type);
    bool all = loop_is_sized(l, k) && !l->has_cond && rank > 0;
    for (int d = 1; all && d <= rank; d++) all = ir_row_length(w, l, ops, body, k, d);
    if (all) known |= (uint64_t)1 << k;
  }
  return known;
}

static bool is_false(const Node *x) { return x->op == OP_BOOL && !x->attr.i; }

Node *ir_loop(World *w, const LoopInfo *l, Node *n, Node **ops, Graph *body, Graph *cond, Site site) {
  int before = loop_captures(l);
  bool never = cond ? is_false(cond->result) : n->op == OP_INT && n->attr.i <= 0;
  if (never) return empty_loop(w, l, ops, body);
  const Form f = {w, l, n, ops, body, cond, site, NEW_ARRAY(w->temp, Node *, loop_slots(l) + 1)};
  Node *r = with_planned_captures(&f);
  if (!r) r = with_other_state(&f);
  if (!r) r = with_captured_slices(&f);
  if (!r) r = with_fixed_lengths(&f);
  if (r) return r;
  if (cond) {
    LoopInfo counted = *l;
    counted.has_cond = false;
    Node *count = ir_trip_count(w, l, ops, cond);
    if (count) return ir_loop(w, &counted, count, ops, body, NULL, site);
  }
  if (n) {
    Graph *b = ir_without_proved_checks(w, body, n, ops + before, 1 + before);
    if (b != body) return ir_loop(w, l, n, ops, b, cond, site);
  }
  LoopInfo info = *l;
  info.down &= !may_walk_up(w, l, body);
  info.sized = known_sizes(w, l, ops, body);
  int counted = n != NULL, total = before + l->ncaps;
  Node **all = NEW_ARRAY(w->temp, Node *, total + 2);
  if (n) all[0] = n;
  if (total) memcpy(all + counted, ops, sizeof(Node *) * (size_t)total);
  Graph *gs[2] = {body, cond};
  Node *loop = ir_intern(w, &(Node){.op = OP_LOOP,
                                    .type = loop_type(w, l, body),
                                    .ops = all,
                                    .nops = total + counted,
                                    .site = site,
                                    .graphs = gs,
                                    .ngraphs = cond ? 2 : 1,
                                    .loop = &info});
  for (int k = loop_slots(l); k < loop_slots(l) + l->nstacked; k++)
    if (ir_rows_may_differ(w, loop, k)) loop->flags |= NODE_FAILS;
  return loop;
}

Node *ir_sized_as(World *w, const LoopInfo *l, Node **ops, Graph *body, int k, Node *x) {
  if (k >= l->nstacked || !loop_is_sized(l, k) || x->op != OP_GET || x->ops[0]->op != OP_LOOP) return x;
  const LoopInfo *made = x->ops[0]->loop;
  if (loop_is_sized(made, (int)x->attr.i - loop_slots(made))) return x;
  Node **dims = NEW_ARRAY(w->arena, Node *, ir_rank(x->type));
  dims[0] = ir_len(w, x, 0);
  for (int d = 1; d < ir_rank(x->type); d++)
    if (!(dims[d] = ir_row_length(w, l, ops, body, k, d))) return x;
  return ir_reshape(w, x->type, x, dims, 0);
}

bool ir_rows_may_differ(World *w, const Node *loop, int k) {
  const LoopInfo *l = loop->loop;
  if (k < loop_slots(l) || k == loop->type->n - 1 || loop->type->args[k]->args[0]->kind != T_ARRAY) return false;
  return !ir_shape_is_fixed(w, loop, loop->ops + loop_first(l), ir_get(w, loop->graphs[0]->result, k));
}

Node *ir_loop_over(World *w, const LoopInfo *l, Node **ops, Graph *body, Graph *cond, Site site) {
  return ir_loop(w, l, l->has_cond ? NULL : ops[0], ops + loop_first(l), body, cond, site);
}
