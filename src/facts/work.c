/* SPDX-License-Identifier: MIT */
/* Estimates of work. A loop inside counts as its trip count times its iteration. The trip count is followed outwards:
 *
 *   loop i < n: (loop j < length a[i]: x * y; s += …)     an iteration: 2 + (length of a in its second dimension) * 3
 *
 * Each parameter of a graph stands for something outside: a node, an array of which it is a row, or nothing known. So
 * calls and nested loops need no nodes of their own. What depends on a loop's index is taken at its middle. Trip counts
 * that nothing outside tells, of recursion, too, are guessed; branches count as their longer arm. */
#include "facts/work.h"
#include "facts/changes.h"
#include "facts/ir_loop_facts.h"
#include "support/host_library.h"

enum { GUESSED_TRIPS = 16, GUESSED_CALL = 256, LIBRARY_CALL = 16, DEEPEST = 12 };

/* What a parameter stands for: x, or what is `rows` levels inside the array x. NULL: not known, but for the length of
 * an array that is made inside. */
typedef struct Outside {
  Node *x;
  int rows;
  Node *length;
} Outside;

typedef struct Estimate {
  World *w;
  Outside *params;
  int depth;
  int *left; /* nodes that may still be looked at: of calls of calls there are more than functions */
} Estimate;

static Work work_of(Estimate e, Graph *g);

/* ---- Amounts of work --------------------------------------------------------------------------------------------- */
Node *work_node(World *w, Work a) {
  Node *fixed = ir_float(w, a.fixed);
  if (!a.varying) return fixed;
  return a.fixed == 0 ? a.varying : ir_op2(w, OP_FADD, fixed, a.varying);
}

static void add(World *w, Work *to, Work a) {
  to->fixed += a.fixed;
  to->in_turn |= a.in_turn;
  to->guessed |= a.guessed;
  if (a.varying) to->varying = to->varying ? ir_op2(w, OP_FADD, to->varying, a.varying) : a.varying;
}

static Work times(World *w, Work a, Work by) {
  bool in_turn = a.in_turn || by.in_turn, guessed = a.guessed || by.guessed;
  if (!a.varying && !by.varying) return (Work){a.fixed * by.fixed, NULL, in_turn, guessed};
  if (!a.varying && a.fixed == 0) return a;
  return (Work){0, ir_op2(w, OP_FMUL, work_node(w, a), work_node(w, by)), in_turn, guessed};
}

static Work greater(World *w, Work a, Work b) {
  bool in_turn = a.in_turn || b.in_turn, guessed = a.guessed || b.guessed;
  if (!a.varying && !b.varying) return (Work){a.fixed > b.fixed ? a.fixed : b.fixed, NULL, in_turn, guessed};
  return (Work){0, ir_op2(w, OP_FMAX, work_node(w, a), work_node(w, b)), in_turn, guessed};
}

/* ---- Numbers outside --------------------------------------------------------------------------------------------- */
static Outside outside(const Estimate *e, const Node *x);

static Outside part_outside(const Estimate *e, const Node *x) {
  Outside o = outside(e, x->ops[0]);
  if (o.rows || !o.x || o.x->type->kind != T_TUPLE) return (Outside){0};
  o.x = ir_get(e->w, o.x, (int)x->attr.i);
  return o;
}

static Outside outside(const Estimate *e, const Node *x) {
  Outside o = {0};
  switch (x->op) {
  case OP_PARAM: return e->params[x->attr.i];
  case OP_GLOBAL: return (Outside){.x = (Node *)(uintptr_t)x};
  case OP_AFTER: return outside(e, x->ops[0]);
  case OP_GET: return part_outside(e, x);
  case OP_INDEX:
    if (x->type->kind != T_ARRAY) return o;
    o = outside(e, x->ops[0]);
    o.rows += x->nops - 1;
    return o;
  default: return o;
  }
}

static Node *number_outside(const Estimate *e, const Node *x, int depth);

static Node *arithmetic_outside(const Estimate *e, const Node *x, int depth) {
  static const struct {
    Op ints, floats;
  } rows[] = {{OP_IADD, OP_FADD}, {OP_ISUB, OP_FSUB}, {OP_ISUBS, OP_FSUB},
              {OP_IMUL, OP_FMUL}, {OP_IMIN, OP_FMIN}, {OP_IMAX, OP_FMAX}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    if (rows[k].ints != (Op)x->op) continue;
    Node *a = number_outside(e, x->ops[0], depth + 1), *b = number_outside(e, x->ops[1], depth + 1);
    return a && b ? ir_op2(e->w, rows[k].floats, a, b) : NULL;
  }
  return NULL;
}

static Node *length_outside(const Estimate *e, const Node *x, int dim, int depth);

/* The length of result k of a loop, which is an array. */
static Node *length_of_result(const Estimate *e, const Node *loop, int k, int dim, int depth) {
  const LoopInfo *l = loop->loop;
  if (k < l->ncarried && !ir_keeps_shape(l, loop->graphs[0], k)) return NULL;
  if (k < loop_slots(l)) return length_outside(e, loop->ops[loop_first(l) + k], dim, depth + 1);
  return dim || l->has_cond ? NULL : number_outside(e, loop->ops[0], depth + 1);
}

/* Of array x of the graph, in that dimension, as a float; NULL: not known. */
static Node *length_outside(const Estimate *e, const Node *x, int dim, int depth) {
  if (depth > DEEPEST) return NULL;
  if (x->op == OP_AFTER || x->op == OP_UPDATE) return length_outside(e, x->ops[0], dim, depth + 1);
  if (x->op == OP_ZEROS) return number_outside(e, x->ops[dim], depth + 1);
  if (x->op == OP_GET && x->ops[0]->op == OP_LOOP) return length_of_result(e, x->ops[0], (int)x->attr.i, dim, depth);
  Outside o = outside(e, x);
  if (o.length) return o.rows || dim ? NULL : o.length;
  return o.x && o.x->type->kind == T_ARRAY ? ir_op1(e->w, OP_FLOAT_OF_INT, ir_len(e->w, o.x, o.rows + dim)) : NULL;
}

/* An int as a float; NULL: not known. */
static Node *number_outside(const Estimate *e, const Node *x, int depth) {
  World *w = e->w;
  if (depth > DEEPEST) return NULL;
  x = fact_unchecked(x);
  switch (x->op) {
  case OP_INT: return ir_float(w, (double)x->attr.i);
  case OP_PARAM:
    return e->params[x->attr.i].rows ? NULL : e->params[x->attr.i].x; /* or an element of what is outside */
  case OP_AFTER: return number_outside(e, x->ops[0], depth + 1);
  case OP_LEN: return length_outside(e, x->ops[0], (int)x->attr.i, depth);
  default: return arithmetic_outside(e, x, depth);
  }
}

/* As number_outside gives them, ints stand in Outside.x as floats. */
static Outside argument(const Estimate *e, const Node *x) {
  if (x->type->kind == T_INT) return (Outside){.x = number_outside(e, x, 0)};
  Outside o = outside(e, x);
  if (x->type->kind == T_ARRAY && !o.x && !o.length) o.length = length_outside(e, x, 0, 0);
  return o;
}

/* ---- Loops and calls --------------------------------------------------------------------------------------------- */
static Work trips_of(const Estimate *e, const Node *loop) {
  Node *n = loop->loop->has_cond ? NULL : number_outside(e, loop->ops[0], 0);
  if (!n) return (Work){.fixed = GUESSED_TRIPS, .guessed = !loop->loop->has_cond};
  if (n->op == OP_FLOAT) return (Work){.fixed = n->attr.f > 0 ? n->attr.f : 0};
  return (Work){.varying = ir_op2(e->w, OP_FMAX, n, ir_float(e->w, 0))};
}

static Work work_of_loop(Estimate e, const Node *n) {
  World *w = e.w;
  const LoopInfo *l = n->loop;
  Work trips = trips_of(&e, n);
  Outside *params = NEW_ARRAY(w->temp, Outside, n->graphs[0]->nparams + 1);
  params[0].x = ir_op2(w, OP_FMUL, work_node(w, trips), ir_float(w, 0.5));
  for (int k = loop_slots(l); k < loop_inputs(l); k++) {
    params[1 + k] = argument(&e, n->ops[loop_first(l) + k]);
    if (loop_part(l, k) == LOOP_SLICED) params[1 + k].rows++;
  }
  Work body = work_of((Estimate){w, params, e.depth + 1, e.left}, n->graphs[0]);
  return times(w, body, trips);
}

static Work work_of_branch(Estimate e, const Node *n) {
  Work most = {0};
  Outside *params = NEW_ARRAY(e.w->temp, Outside, n->nops);
  for (int k = 1; k < n->nops; k++) params[k - 1] = argument(&e, n->ops[k]);
  for (int k = 0; k < n->ngraphs; k++) {
    most = greater(e.w, most, work_of((Estimate){e.w, params, e.depth + 1, e.left}, n->graphs[k]));
  }
  return most;
}

static Work work_of_call(Estimate e, const Node *n) {
  const Func *f = n->op == OP_CALL ? n->attr.func : NULL;
  bool in_turn = f && f->foreign.library && !library_of_all_threads(f->foreign.library);
  if (!f || !f->graph || f->recursive) return (Work){.fixed = GUESSED_CALL, .in_turn = in_turn};
  Outside *params = NEW_ARRAY(e.w->temp, Outside, n->nops + 1);
  for (int k = 0; k < n->nops; k++) params[k] = argument(&e, n->ops[k]);
  return work_of((Estimate){e.w, params, e.depth + 1, e.left}, f->graph);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */
static Work work_of_operation(const Node *n) {
  if (op_flags[n->op] & OPF_K || fact_renames(n) || n->op == OP_PARAM || n->op == OP_GLOBAL || n->op == OP_TUPLE ||
      n->op == OP_GET)
    return (Work){0};
  bool quick = op_flags[n->op] & (OPF_Q | OPF_B) || n->op == OP_INDEX || n->op == OP_BYTE || n->op == OP_UPDATE ||
               n->op == OP_CADD;
  return (Work){.fixed = quick ? 1 : LIBRARY_CALL};
}

static Work work_of_node(Estimate e, const Node *n) {
  if (e.depth > DEEPEST) return (Work){.fixed = 1, .guessed = true};
  switch (ir_shape(n)) {
  case IR_STRAIGHT: return work_of_operation(n);
  case IR_BRANCH: return work_of_branch(e, n);
  case IR_LOOP: return work_of_loop(e, n);
  case IR_CALL: return work_of_call(e, n);
  }
  return (Work){0};
}

static Work work_of(Estimate e, Graph *g) {
  Node **nodes;
  int n = ir_order(e.w->temp, g, &nodes);
  Work all = {0};
  if (*e.left < n && limit_reached(e.w->arena, AT_ESTIMATED_NODES))
    return (Work){.fixed = GUESSED_CALL, .guessed = true};
  *e.left -= n;
  for (int i = 0; i < n; i++) add(e.w, &all, work_of_node(e, nodes[i]));
  return all;
}

Work work_of_iteration(World *w, const Node *loop, Node **ops) {
  const LoopInfo *l = loop->loop;
  Outside *params = NEW_ARRAY(w->temp, Outside, loop->graphs[0]->nparams + 1);
  params[0].x = ir_op2(w, OP_FMUL, ir_op1(w, OP_FLOAT_OF_INT, loop->ops[0]), ir_float(w, 0.5));
  for (int k = loop_slots(l); k < loop_inputs(l); k++) {
    bool number = ops[k]->type->kind == T_INT;
    params[1 + k].x = number ? ir_op1(w, OP_FLOAT_OF_INT, ops[k]) : ops[k];
    params[1 + k].rows = loop_part(l, k) == LOOP_SLICED;
  }
  int left = LIMIT_ESTIMATED_NODES;
  return work_of((Estimate){w, params, 0, &left}, loop->graphs[0]);
}
