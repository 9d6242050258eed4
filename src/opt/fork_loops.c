/* SPDX-License-Identifier: MIT */
/* Loops that threads share: where a loop is much work, and its iterations don't depend on each other, it is run in
 * blocks of iterations (runtime/fork_blocks.c), of which each is the loop from some index on with accumulators of its
 * own.
 *
 *   loop i < n from s: s += f i
 *   →
 *   if 2 * BLOCK_WORK <= n * (work of f)
 *   then s + fork_blocks n (n * (work of f) / BLOCK_WORK)
 *                 (fun (from, count) -> loop i < count from -0.0: s += f (from + i))
 *   else loop i < n from s: s += f i
 *
 * Of nested loops it is the outermost that may be split: loops inside of it are left as they are. So are those in a
 * loop that adds up in order, `s += x`, where an iteration of it is too little work, so that it may run several
 * iterations at once; if only sizes tell, there are two such loops. The number of blocks
 * depends on sizes alone, never on the number of threads, and so do the digits of what is added up.
 *
 * An accumulator that is an array has to be made and added for each block. So there are so few blocks that each has
 * LIMIT_WORK_PER_ENTRY operations for each of its entries, and that the accumulators of all blocks don't exceed
 * LIMIT_PRIVATE_ENTRIES. */
#include "facts/changes.h"
#include "facts/ir_loop_facts.h"
#include "facts/work.h"
#include "graph/graph.h"
#include "ir/world.h"
#include "opt/fork_loops.h"
#include "opt/opt.h"
#include <math.h>

/* ---- How many blocks --------------------------------------------------------------------------------------------- */
static Node *least(World *w, Node *a, Node *b) {
  if (a->op == OP_FLOAT && b->op == OP_FLOAT) return a->attr.f < b->attr.f ? a : b;
  return ir_op2(w, OP_FMIN, a, b);
}

/* The entries of all arrays that are accumulators; NULL: there is none. */
static Node *private_entries(World *w, const Node *loop, Node **ops) {
  Node *all = NULL;
  for (int k = 0; k < loop_slots(loop->loop); k++) {
    Node *x = ops[1 + k];
    if (x->type->kind != T_ARRAY) continue;
    Node *n = ir_len(w, x, 0);
    for (int d = 1; d < ir_rank(x->type); d++) n = ir_op2(w, OP_IMUL, n, ir_len(w, x, d));
    all = all ? ir_op2(w, OP_IADD, all, n) : n;
  }
  return all;
}

/* trips * one / by */
static Node *share_of(World *w, Node *trips, Work one, double by) {
  return ir_op2(w, OP_FMUL, trips, ir_op2(w, OP_FMUL, work_node(w, one), ir_float(w, 1.0 / by)));
}

/* How many blocks there may be, as a float. */
static Node *number_of_blocks(World *w, const Node *loop, Node **ops, Work one) {
  Node *trips = ir_op1(w, OP_FLOAT_OF_INT, ops[0]), *entries = private_entries(w, loop, ops);
  Node *blocks = least(w, share_of(w, trips, one, LIMIT_BLOCK_WORK), trips);
  if (!entries) return blocks;
  Node *most = least(w, share_of(w, trips, one, LIMIT_WORK_PER_ENTRY), ir_float(w, LIMIT_PRIVATE_ENTRIES));
  return least(w, blocks, ir_op2(w, OP_FDIV, most, ir_op1(w, OP_FLOAT_OF_INT, entries)));
}

/* Two or more? The loop may be a short one in another loop: where the work of an iteration is known, comparisons of
 * ints tell. */
static Node *are_several(World *w, const Node *loop, Node **ops, Work one) {
  if (one.varying) return ir_op2(w, OP_FLE, ir_float(w, 2), number_of_blocks(w, loop, ops, one));
  double work = ceil(one.fixed);
  Node *trips = ops[0], *entries = private_entries(w, loop, ops);
  Node *enough = ir_op2(w, OP_ILE, ir_int(w, (int64_t)ceil(2 / fmin(1, work / LIMIT_BLOCK_WORK))), trips);
  if (!entries) return enough;
  Node *all = ir_op2(w, OP_IMUL, trips, ir_int(w, (int64_t)fmin(work, LIMIT_BLOCK_WORK)));
  Node *cheap = ir_op2(w, OP_ILE, ir_op2(w, OP_IMUL, entries, ir_int(w, 2 * LIMIT_WORK_PER_ENTRY)), all);
  Node *small = ir_op2(w, OP_ILE, entries, ir_int(w, LIMIT_PRIVATE_ENTRIES / 2));
  return ir_op2(w, OP_AND, enough, ir_op2(w, OP_AND, cheap, small));
}

/* Is an iteration too little work to be looked at, or something of it for one thread? */
static bool is_unfit(World *w, Work one) {
  if (one.in_turn) return true;
  return !one.varying && one.fixed < LIMIT_LIGHT_ITERATION && limit_reached(w->arena, AT_LIGHT_ITERATION);
}

/* ---- Some of the iterations -------------------------------------------------------------------------------------- */
/* The loop with `count` iterations from `from` on, over these operands without the trip count. */
static Node *some_iterations(World *w, const Node *loop, Node **inputs, Node *from, Node *count) {
  const LoopInfo *l = loop->loop;
  Node **ops = NEW_ARRAY(w->temp, Node *, loop->nops + 1);
  ops[0] = count;
  for (int k = 0; k < loop_inputs(l); k++)
    ops[1 + k] = loop_part(l, k) == LOOP_SLICED ? ir_slice(w, inputs[k], from, count) : inputs[k];
  LoopEdit *e = edit_loop(w, loop, ops, loop->graphs);
  edit_inputs(e);
  e->args[0] = ir_op2(w, OP_IADD, e->args[0], loop_add(e->b, LOOP_CAPTURED, from));
  return edit_value(e);
}

/* A function of from, count and the operands that does that. */
static Func *iterations_func(World *w, const Node *loop) {
  int n = loop_inputs(loop->loop);
  IrType **types = NEW_ARRAY(w->arena, IrType *, n + 2);
  Node **params = NEW_ARRAY(w->temp, Node *, n + 2);
  types[0] = types[1] = ir_type(w, T_INT);
  for (int k = 0; k < n; k++) types[2 + k] = loop->ops[1 + k]->type;
  for (int k = 0; k < n + 2; k++) params[k] = ir_param(w, k, types[k]);
  Func *f = ir_func(w, loop->graphs[0]->name, types, n + 2, loop->type);
  f->outlined = true;
  ir_func_finish(w, f, some_iterations(w, loop, params + 2, params[0], params[1]));
  return f;
}

typedef struct Blocks {
  World *w;
  const Node *loop;
  Func *f;    /* NULL: the body is so small that it is made twice instead */
  Nodes caps; /* of the block's closure, outside */
} Blocks;

static Node *run(const Blocks *s, Node **inputs, Node *from, Node *count) {
  if (!s->f) return some_iterations(s->w, s->loop, inputs, from, count);
  int n = loop_inputs(s->loop->loop);
  Node **args = NEW_ARRAY(s->w->temp, Node *, n + 2);
  args[0] = from;
  args[1] = count;
  for (int k = 0; k < n; k++) args[2 + k] = inputs[k];
  return ir_call(s->w, s->f, args, s->loop->site);
}

/* ---- The block --------------------------------------------------------------------------------------------------- */
/* x, outside of the block, in it. A part of an array is taken inside: as a value of its own it would have to be made
 * for each loop, whether that runs in blocks or not. */
static Node *inside(Blocks *s, Node *x) {
  if (ir_is_constant(x)) return x;
  if (fact_is_view(x)) {
    Node **ops = NEW_ARRAY(s->w->temp, Node *, x->nops);
    for (int k = 0; k < x->nops; k++) ops[k] = inside(s, x->ops[k]);
    return ir_rebuild(s->w, x, ops, x->graphs);
  }
  int k = 0;
  while (k < s->caps.len && s->caps.data[k] != x) k++;
  if (k == s->caps.len) vec_push(s->w->temp, s->caps, x);
  return ir_param(s->w, 1 + k, x->type);
}

/* With which slot k of a block begins: what changes nothing. */
static Node *neutral(Blocks *s, int k, Node *x) {
  World *w = s->w;
  Join join = opt_join_of(w, s->loop, k);
  bool max = join == JOIN_MAX;
  if (x->type->kind == T_FLOAT) return ir_float(w, join == JOIN_SUM ? -0.0 : max ? -INFINITY : INFINITY);
  if (x->type->kind == T_INT) return ir_int(w, join == JOIN_SUM ? 0 : max ? INT64_MIN : INT64_MAX);
  Node **dims = ir_dims(w, x);
  for (int d = 0; d < ir_rank(x->type); d++) dims[d] = inside(s, dims[d]);
  return ir_zeros(w, x->type, dims, s->loop->site);
}

/* The function of (from, count) that runs a block. */
static Node *block_closure(Blocks *s, Node **inputs) {
  World *w = s->w;
  int n = loop_inputs(s->loop->loop);
  IrType *number = ir_type(w, T_INT), *range = ir_pair_type(w, number, number), *type = s->loop->type;
  Node *p = ir_param(w, 0, range), **in = NEW_ARRAY(w->temp, Node *, n + 1);
  for (int k = 0; k < n; k++) in[k] = k < loop_slots(s->loop->loop) ? neutral(s, k, inputs[k]) : inside(s, inputs[k]);
  Node *y = run(s, in, ir_get(w, p, 0), ir_get(w, p, 1));
  IrType **params = NEW_ARRAY(w->temp, IrType *, s->caps.len + 1);
  params[0] = range;
  for (int k = 0; k < s->caps.len; k++) params[1 + k] = s->caps.data[k]->type;
  Graph *g = ir_graph(w, params, 1 + s->caps.len, y, s->loop->graphs[0]->name);
  return ir_closure(w, g, ir_fun_type(w, range, type, false), s->caps.data, s->caps.len);
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */
/* x, and behind it what blocks have made of slot k. */
static Node *joined(World *w, Join join, Node *x, Node *more) {
  static const Op ints[] = {[JOIN_SUM] = OP_IADD, [JOIN_MAX] = OP_IMAX, [JOIN_MIN] = OP_IMIN},
                  floats[] = {[JOIN_SUM] = OP_CADD, [JOIN_MAX] = OP_FMAX, [JOIN_MIN] = OP_FMIN};
  if (x->type->kind == T_ARRAY) return opt_array_sum(w, x, more);
  return ir_op2(w, x->type->kind == T_INT ? ints[join] : floats[join], x, more);
}

static Node *in_blocks(Blocks *s, Node **ops, Node *blocks) {
  World *w = s->w;
  const Node *loop = s->loop;
  const LoopInfo *l = loop->loop;
  int64_t joins = 0;
  for (int k = loop_slots(l) - 1; k >= 0; k--) joins = joins << JOIN_BITS | opt_join_of(w, loop, k);
  Node *most = least(w, blocks, ir_float(w, LIMIT_BLOCKS));
  Node *args[] = {ops[0], ir_op1(w, OP_INT_OF_FLOAT, most), ir_int(w, joins), ir_bool(w, l->down),
                  block_closure(s, ops + 1)};
  Node *all = ir_rt(w, ir_rt_find("fork_blocks"), loop->type, loop->type, args, 5, loop->site);
  Node **results = NEW_ARRAY(w->temp, Node *, loop->type->n);
  for (int k = 0; k < loop->type->n; k++) {
    results[k] = ir_get(w, all, k);
    if (k < loop_slots(l)) results[k] = joined(w, opt_join_of(w, loop, k), ops[1 + k], results[k]);
  }
  return ir_tuple(w, loop->type, results);
}

static Node *in_one(const Blocks *s, Node **ops) {
  if (s->f) return run(s, ops + 1, ir_int(s->w, 0), ops[0]);
  return ir_rebuild(s->w, s->loop, ops, s->loop->graphs);
}

/* x in the arms of the branch: likewise. */
static Node *in_arms(World *w, BranchBuilder *b, Node *x) {
  if (!fact_is_view(x)) return branch_add(b, x);
  Node **ops = NEW_ARRAY(w->temp, Node *, x->nops);
  for (int k = 0; k < x->nops; k++) ops[k] = in_arms(w, b, x->ops[k]);
  return ir_rebuild(w, x, ops, x->graphs);
}

/* One of two arms is chosen when the sizes are known. */
static Node *choice(const Blocks *s, Node **ops, Work one) {
  World *w = s->w;
  Blocks several = *s;
  BranchBuilder *b = branch_open(w, are_several(w, s->loop, ops, one));
  Node **in = NEW_ARRAY(w->temp, Node *, s->loop->nops + 1);
  for (int k = 0; k < s->loop->nops; k++) in[k] = in_arms(w, b, ops[k]);
  Node *number =
      one.varying ? branch_add(b, number_of_blocks(w, s->loop, ops, one)) : number_of_blocks(w, s->loop, in, one);
  branch_arm(b, in_one(s, in), NULL);
  branch_arm(b, in_blocks(&several, in, number), NULL);
  return branch_close(b);
}

/* There are three ways not to run the loop in several blocks:
 *
 *   it stands there twice   if it is small, or `repeated`: in each iteration of another loop a call would cost too much
 *                           where sizes are small, and arrays of one iteration wouldn't be used again in the next
 *   it is one block         otherwise, but not if an accumulator is an array, to which less may be added than it has
 *                           entries
 *   a function does it      that the block calls, too */
static Node *in_either_way(World *w, const Node *loop, Work one, bool repeated) {
  Blocks s = {.w = w, .loop = loop};
  OpCounts body = ir_count(w, loop->graphs[0]);
  if (repeated || (body.total <= LIMIT_DOUBLED_BODY && !body.loops)) return choice(&s, loop->ops, one);
  (void)limit_reached(w->arena, AT_DOUBLED_BODY);
  if (!private_entries(w, loop, loop->ops)) return in_blocks(&s, loop->ops, number_of_blocks(w, loop, loop->ops, one));
  s.f = iterations_func(w, loop);
  return choice(&s, loop->ops, one);
}

/* The pass is two rewriters: one that splits loops, and one for the bodies of these, in which the loops stay as they
 * are. Functions and closures are those of the first one everywhere. */
typedef struct Passes {
  World *w;
  Rewriter *splits, *keeps;
  Map repeated; /* graphs within loops */
} Passes;

/* g is run again and again. */
static void note_graph(Passes *p, Graph *g) {
  if (map_get(&p->repeated, g)) return;
  map_put(&p->repeated, g, p);
  Node **nodes;
  int n = ir_order(p->w->temp, g, &nodes);
  for (int i = 0; i < n; i++)
    for (int k = 0; ir_is_control(nodes[i]) && k < nodes[i]->ngraphs; k++) note_graph(p, nodes[i]->graphs[k]);
}

static void note_loops(void *user, Graph *g) {
  Passes *p = user;
  Node **nodes;
  int n = ir_order(p->w->temp, g, &nodes);
  for (int i = 0; i < n; i++)
    if (nodes[i]->op == OP_LOOP) note_graph(p, nodes[i]->graphs[0]);
}

static Node *keep(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r, (void)frame, (void)graphs;
  const Passes *p = user;
  if (n->op == OP_LOOP || n->op == OP_SWITCH || (n->op != OP_CALL && !n->ngraphs)) return NULL;
  Graph **made = NEW_ARRAY(p->w->temp, Graph *, n->ngraphs + 1);
  for (int k = 0; k < n->ngraphs; k++) made[k] = rewrite_graph(p->splits, n->graphs[k]);
  return rewrite_node(p->splits, n, ops, made);
}

/* ---- Loops that add up in order ---------------------------------------------------------------------------------- */
/* Is carried value k of the loop a sum in order, s' = s + x, that nothing else reads? */
static bool is_sum_in_order(World *w, const Node *loop, int k) {
  Graph *body = loop->graphs[0];
  Node *next = ir_get(w, body->result, k), *sum = ir_param(w, 1 + k, next->type);
  const NodeUse *use = uses_only(graph_uses(w, body), sum);
  bool adds = next->op == OP_FADD || (next->op == OP_FSUB && next->ops[0] == sum) || next->op == OP_FMA;
  return adds && use && use->user == next && use->operand >= (next->op == OP_FMA ? 2 : 0) &&
         uses_count(graph_uses(w, body), next) == 1;
}

static bool adds_in_order(World *w, const Node *loop) {
  if (loop->loop->has_cond || loop->graphs[0]->result->op != OP_TUPLE) return false;
  for (int k = 0; k < loop->loop->ncarried; k++)
    if (!is_sum_in_order(w, loop, k)) return false;
  return loop->loop->ncarried > 0;
}

/* What becomes of a loop that adds up in order, whose body with loops that may be split is `split`: NULL: that. */
static Node *unsplit_inside(const Passes *p, Rewriter *r, Node *n, Node **ops, Graph *split) {
  World *w = p->w;
  Graph *whole = rewriter_run(p->keeps, n->graphs[0]);
  if (whole == split) return NULL;
  Work one = work_of_iteration(w, n, ops + 1);
  if (one.guessed) return NULL;
  if (!one.varying) return one.fixed < 2 * LIMIT_BLOCK_WORK ? rewrite_node(r, n, ops, &whole) : NULL;
  if (whole->size > LIMIT_DOUBLED_SUM && limit_reached(w->arena, AT_DOUBLED_SUM)) return NULL;
  BranchBuilder *b = branch_open(w, ir_op2(w, OP_FLE, ir_float(w, 2 * LIMIT_BLOCK_WORK), work_node(w, one)));
  Node **in = NEW_ARRAY(w->temp, Node *, n->nops + 1);
  for (int k = 0; k < n->nops; k++) in[k] = in_arms(w, b, ops[k]);
  branch_arm(b, rewrite_node(r, n, in, &whole), NULL);
  branch_arm(b, rewrite_node(r, n, in, &split), NULL);
  return branch_close(b);
}

static void *begin_graph(void *user, Graph *g) {
  (void)user;
  return g;
}

static Node *split(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  const Passes *p = user;
  World *w = p->w;
  if (n->op != OP_LOOP) return NULL;
  if (!opt_is_splittable(w, n)) return adds_in_order(w, n) ? unsplit_inside(p, r, n, ops, graphs[0]) : NULL;
  bool few = ops[0]->op == OP_INT && ops[0]->attr.i < LIMIT_FEW_ITERATIONS;
  if (few && limit_reached(w->arena, AT_FEW_ITERATIONS)) return NULL;
  Work one = work_of_iteration(w, n, ops + 1);
  if (is_unfit(w, one)) return NULL;
  Node *number = number_of_blocks(w, n, ops, one);
  if (number->op == OP_FLOAT && number->attr.f < 2) return NULL;
  Graph *body = rewriter_run(p->keeps, n->graphs[0]);
  Node *loop = rewrite_node(r, n, ops, &body);
  if (loop->op != OP_LOOP || loop->type != n->type || !opt_is_splittable(w, loop)) return loop;
  return in_either_way(w, loop, one, map_get(&p->repeated, frame) != NULL);
}

Graph *opt_fork_loops(World *w, Graph *g) {
  Passes p = {.w = w};
  map_init(&p.repeated, w->temp);
  ir_walk_graphs(w, g, note_loops, &p);
  p.splits = rewriter_new(w, (RewritePass){.user = &p, .begin = begin_graph, .node = split});
  p.keeps = rewriter_new(w, (RewritePass){.user = &p, .node = keep});
  return rewriter_run(p.splits, g);
}
