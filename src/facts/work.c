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

enum { GUESSED_TRIPS = 16, GUESSED_CALL = 256, LIBRARY_CALL = 16, DEEPEST = 12 };

/* What a parameter stands for: x, or what is `rows` levels inside the array x. NULL: not known. */
typedef struct Outside {
  Node *x;
  int rows;
} Outside;

typedef struct Estimate {
  World *w;
  Outside *params;
  int depth;
  int *left; /* nodes that may still be looked at: of calls of calls there are more than functions */
} Estimate;

static Work work_of(Estimate e, Graph *g);

/* ---- Amounts ----------------------------------------------------------------------------------------------------- */
Node *amount_node(World *w, Amount a) {
  Node *fixed = ir_float(w, a.fixed);
  if (!a.varying) return fixed;
  return a.fixed == 0 ? a.varying : ir_op2(w, OP_FADD, fixed, a.varying);
}

static void add(World *w, Amount *to, Amount a) {
  to->fixed += a.fixed;
  if (a.varying) to->varying = to->varying ? ir_op2(w, OP_FADD, to->varying, a.varying) : a.varying;
}

static Amount times(World *w, Amount a, Amount by) {
  if (!a.varying && !by.varying) return (Amount){a.fixed * by.fixed, NULL};
  if (!a.varying && a.fixed == 0) return a;
  return (Amount){0, ir_op2(w, OP_FMUL, amount_node(w, a), amount_node(w, by))};
}

static Amount greater(World *w, Amount a, Amount b) {
  if (!a.varying && !b.varying) return a.fixed > b.fixed ? a : b;
  return (Amount){0, ir_op2(w, OP_FMAX, amount_node(w, a), amount_node(w, b))};
}

static void add_work(World *w, Work *to, Work a) {
  add(w, &to->operations, a.operations);
  add(w, &to->additions, a.additions);
}

/* ---- Numbers outside --------------------------------------------------------------------------------------------- */
static Outside outside(const Estimate *e, const Node *x) {
  Outside o = {0};
  if (x->op == OP_PARAM) return e->params[x->attr.i];
  if (x->op == OP_AFTER) return outside(e, x->ops[0]);
  if (x->op == OP_INDEX && x->type->kind == T_ARRAY) {
    o = outside(e, x->ops[0]);
    o.rows += x->nops - 1;
  }
  return o;
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
  case OP_LEN: {
    Outside o = outside(e, x->ops[0]);
    return o.x && o.x->type->kind == T_ARRAY ? ir_op1(w, OP_FLOAT_OF_INT, ir_len(w, o.x, o.rows + (int)x->attr.i))
                                             : NULL;
  }
  default: return arithmetic_outside(e, x, depth);
  }
}

/* As number_outside gives them, ints stand in Outside.x as floats. */
static Outside argument(const Estimate *e, const Node *x) {
  if (x->type->kind != T_INT) return outside(e, x);
  return (Outside){number_outside(e, x, 0), 0};
}

/* ---- Loops and calls --------------------------------------------------------------------------------------------- */
static Amount trips_of(const Estimate *e, const Node *loop) {
  Node *n = loop->loop->has_cond ? NULL : number_outside(e, loop->ops[0], 0);
  if (!n) return (Amount){GUESSED_TRIPS, NULL};
  if (n->op == OP_FLOAT) return (Amount){n->attr.f > 0 ? n->attr.f : 0, NULL};
  return (Amount){0, ir_op2(e->w, OP_FMAX, n, ir_float(e->w, 0))};
}

static Work work_of_loop(Estimate e, const Node *n) {
  World *w = e.w;
  const LoopInfo *l = n->loop;
  Amount trips = trips_of(&e, n);
  Outside *params = NEW_ARRAY(w->temp, Outside, n->graphs[0]->nparams + 1);
  params[0].x = ir_op2(w, OP_FMUL, amount_node(w, trips), ir_float(w, 0.5));
  for (int k = loop_slots(l); k < loop_inputs(l); k++) {
    params[1 + k] = argument(&e, n->ops[loop_first(l) + k]);
    if (loop_part(l, k) == LOOP_SLICED) params[1 + k].rows++;
  }
  Work body = work_of((Estimate){w, params, e.depth + 1, e.left}, n->graphs[0]);
  return (Work){times(w, body.operations, trips), times(w, body.additions, trips)};
}

static Work work_of_branch(Estimate e, const Node *n) {
  Work most = {0};
  Outside *params = NEW_ARRAY(e.w->temp, Outside, n->nops);
  for (int k = 1; k < n->nops; k++) params[k - 1] = argument(&e, n->ops[k]);
  for (int k = 0; k < n->ngraphs; k++) {
    Work arm = work_of((Estimate){e.w, params, e.depth + 1, e.left}, n->graphs[k]);
    most.operations = greater(e.w, most.operations, arm.operations);
    most.additions = greater(e.w, most.additions, arm.additions);
  }
  return most;
}

static Work work_of_call(Estimate e, const Node *n) {
  const Func *f = n->op == OP_CALL ? n->attr.func : NULL;
  if (!f || !f->graph || f->recursive) return (Work){{GUESSED_CALL, NULL}, {0, NULL}};
  Outside *params = NEW_ARRAY(e.w->temp, Outside, n->nops + 1);
  for (int k = 0; k < n->nops; k++) params[k] = argument(&e, n->ops[k]);
  return work_of((Estimate){e.w, params, e.depth + 1, e.left}, f->graph);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */
static Work work_of_operation(const Node *n) {
  if (op_flags[n->op] & OPF_K || fact_renames(n) || n->op == OP_PARAM || n->op == OP_GLOBAL || n->op == OP_TUPLE ||
      n->op == OP_GET)
    return (Work){0};
  bool quick = op_flags[n->op] & (OPF_Q | OPF_B) || n->op == OP_INDEX || n->op == OP_UPDATE || n->op == OP_CADD;
  return (Work){{quick ? 1 : LIBRARY_CALL, NULL}, {n->op == OP_UPDATE, NULL}};
}

static Work work_of_node(Estimate e, const Node *n) {
  if (e.depth > DEEPEST) return (Work){{1, NULL}, {0, NULL}};
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
  if (*e.left < n && limit_reached(e.w->arena, AT_ESTIMATED_NODES)) return (Work){{GUESSED_CALL, NULL}, {0, NULL}};
  *e.left -= n;
  for (int i = 0; i < n; i++) add_work(e.w, &all, work_of_node(e, nodes[i]));
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
