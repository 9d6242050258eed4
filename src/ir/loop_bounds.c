/* SPDX-License-Identifier: MIT */
/* What a loop's index tells: how often a loop runs whose condition merely counts, and which checks hold by
 * construction. Both compare what is inside, over captures alone, with what is outside. And what comes after loops
 * that may not end.
 *
 * A number of iterations is never more than 2^63 - 1, which stands for all larger ones and for endless counting (`k
 * <= n` where n is the greatest int): no machine lives to see the difference, unless what comes out of the loop is
 * known without running it. What is known so waits (ir_after_loop). */
#include "ir/ir_internal.h"

/* Does m read only captures (parameters from `own` on)? */
static bool reads_captures_only(const Node *m, int own, int depth) {
  if (m->op == OP_PARAM) return m->attr.i >= own;
  if (depth > 4) return false;
  for (int i = 0; i < m->nops; i++)
    if (!reads_captures_only(m->ops[i], own, depth + 1)) return false;
  return true;
}

/* ---- Checks ---- */
Graph *ir_without_proved_checks(World *w, Graph *body, Node *n, Node **caps, int own) {
  GraphBody *b = graph_body(w, body);
  Map proved;
  map_init(&proved, w->arena);
  Node **outer = NULL;
  for (int i = 0; i < b->n; i++) {
    Node *c = b->nodes[i];
    if (c->op != OP_CHECK_INDEX || c->ops[0]->op != OP_PARAM || c->ops[0]->attr.i != 0) continue;
    if (!reads_captures_only(c->ops[1], own, 0)) continue;
    if (!outer) {
      outer = NEW_ARRAY(w->arena, Node *, body->nparams + 1);
      for (int k = 0; k < own; k++) outer[k] = ir_zero(w, body->params[k]);
      for (int k = own; k < body->nparams; k++) outer[k] = caps[k - own];
    }
    if (ir_substitute(w, c->ops[1], outer, body->nparams, 0) == n) map_put(&proved, c, c->ops[0]);
  }
  if (!proved.count) return body;
  Node **args = NEW_ARRAY(w->arena, Node *, body->nparams + 1);
  for (int k = 0; k < body->nparams; k++) args[k] = ir_param(w, k, body->params[k]);
  return ir_graph(w, body->params, body->nparams, ir_instantiate_over(w, body, args, 0, &proved), body->name);
}

/* ---- Numbers of iterations ---- */
/* x + 1 where that can't wrap, or where x is a sum with a constant: the program's own sum isn't looked at for
 * wrapping. */
static Node *successor(World *w, Node *x) {
  bool sum =
      (x->op == OP_IADD && x->ops[1]->op == OP_INT) || x->op == OP_LEN || (x->op == OP_INT && x->attr.i < INT64_MAX);
  return sum ? ir_op2(w, OP_IADD, x, ir_int(w, 1)) : NULL;
}

static Node *predecessor(World *w, Node *x) {
  bool sum =
      (x->op == OP_IADD && x->ops[1]->op == OP_INT) || x->op == OP_LEN || (x->op == OP_INT && x->attr.i > INT64_MIN);
  return sum ? ir_op2(w, OP_IADD, x, ir_int(w, -1)) : NULL;
}

Node *ir_count_between(World *w, Node *from, Node *to, bool inclusive) {
  Node *zero = ir_int(w, 0), *above = inclusive ? successor(w, to) : to, *below;
  if (above) return ir_op2(w, OP_IMAX, ir_op2(w, OP_ISUBS, above, from), zero);
  if ((below = predecessor(w, from))) return ir_op2(w, OP_IMAX, ir_op2(w, OP_ISUBS, to, below), zero);
  return ir_op2(w, OP_IMAX, ir_op2(w, OP_ISUBS, ir_op2(w, OP_ISUBS, to, from), ir_int(w, -1)), zero);
}

static bool is_natural(const Node *n) { return n->op == OP_LEN || (n->op == OP_INT && n->attr.i >= 0); }

/* May 2^63 - 1 stand for more, here or in what n is made of? */
static bool may_saturate(const Node *n) {
  if (n->op == OP_IMAX || n->op == OP_CHECK_NAT || n->op == OP_AFTER) return may_saturate(n->ops[0]);
  if (n->op == OP_ISUBS && is_natural(n->ops[1])) return may_saturate(n->ops[0]);
  return n->op == OP_ISUBS || n->op == OP_SELECT || is_int_const(n, INT64_MAX);
}

/* A loop that does nothing, without end if n iterations are too many to be told from none. */
static Node *endless_if_saturated(World *w, Node *n) {
  IrType *types[2] = {n->type, n->type};
  LoopInfo l = {.ncaps = 1, .has_cond = true};
  Graph *body = ir_graph(w, types, 2, ir_unit(w), NULL);
  Graph *cond = ir_graph(w, types, 2, ir_op2(w, OP_IEQ, ir_param(w, 1, n->type), ir_int(w, INT64_MAX)), NULL);
  return ir_get(w, ir_loop(w, &l, NULL, &n, body, cond, n->site), 0);
}

/* A short look: does the value of x come out of this loop? */
static bool comes_out(const Node *x, const Node *loop, int *fuel) {
  if (x == loop) return true;
  if (--*fuel < 0 || x->ngraphs) return false;
  for (int k = 0; k < x->nops && *fuel >= 0; k++)
    if (comes_out(x->ops[k], loop, fuel)) return true;
  return false;
}

/* May an iteration end the loop by an error in what becomes of result k? */
static bool may_break(const Node *loop, int k) {
  const Node *x = loop->op == OP_TUPLE ? loop->ops[k] : loop;
  if (x->op == OP_GET) k = (int)x->attr.i, x = x->ops[0];
  if (x->op != OP_LOOP) return false;
  const Node *body = x->graphs[0]->result;
  return k < x->type->n - 1 && (body->op == OP_TUPLE ? body->ops[k] : body)->flags & NODE_FAILS;
}

Node *ir_after_loop(World *w, Node *x, Node *loop) {
  Node *trips = ir_get(w, loop, loop->type->n - 1);
  int fuel = 16;
  if (trips->op == OP_GET && comes_out(x, trips->ops[0], &fuel)) return x;
  if (may_saturate(trips)) {
    for (int k = 0; k < loop->type->n - 1; k++)
      if (may_break(loop, k)) trips = ir_op2(w, OP_AFTER, trips, ir_get(w, loop, k));
    trips = endless_if_saturated(w, trips);
  }
  return ir_waiting(w, x, trips);
}

/* ---- Conditions that count ---- */
/* by * i + rest, where i is the loop's index and rest, over captures alone, is 0 if NULL. */
typedef struct Affine {
  int64_t by;
  Node *rest;
} Affine;

static bool is_index(const Node *a) { return a->op == OP_PARAM && a->attr.i == 0; }

static bool find_affine(World *w, Node *a, int own, int depth, Affine *out) {
  *out = (Affine){is_index(a), NULL};
  if (out->by) return true;
  if (reads_captures_only(a, own, 0)) {
    out->rest = a;
    return true;
  }
  if (a->op == OP_IMUL && is_index(a->ops[0]) && a->ops[1]->op == OP_INT) {
    out->by = a->ops[1]->attr.i;
    return true;
  }
  Affine x, y;
  if (a->op != OP_IADD || depth > 4) return false;
  if (!find_affine(w, a->ops[0], own, depth + 1, &x) || !find_affine(w, a->ops[1], own, depth + 1, &y)) return false;
  bool wraps = __builtin_add_overflow(x.by, y.by, &out->by);
  out->rest = !x.rest ? y.rest : !y.rest ? x.rest : ir_op2(w, OP_IADD, x.rest, y.rest);
  return !wraps;
}

/* A condition start + i < end, or start < end - i, or the like: true for end - start iterations. */
typedef struct Bound {
  Node *start, *end;           /* over captures alone; NULL is 0 */
  bool inclusive, exact, down; /* <=; <>; the end comes nearer */
} Bound;

static bool find_sides(World *w, Node *low, Node *high, int own, Bound *out) {
  Affine a, b;
  if (!find_affine(w, low, own, 0, &a) || !find_affine(w, high, own, 0, &b)) return false;
  out->start = a.rest;
  out->end = b.rest;
  out->down = a.by == 0;
  return (a.by == 1 && b.by == 0) || (a.by == 0 && b.by == -1 && !out->exact);
}

static bool find_bound(World *w, const Node *c, int own, Bound *out) {
  bool negated = c->op == OP_NOT;
  if (negated) c = c->ops[0];
  if (c->op == OP_IEQ ? !negated : c->op != OP_ILT && c->op != OP_ILE && c->op != OP_INE) return false;
  if (c->op == OP_INE && negated) return false;
  out->exact = c->op == OP_IEQ || c->op == OP_INE;
  bool swap = negated && !out->exact; /* not (a < b) is b <= a */
  out->inclusive = !out->exact && (c->op == OP_ILE) != swap;
  if (find_sides(w, c->ops[swap], c->ops[!swap], own, out)) return true;
  return out->exact && find_sides(w, c->ops[1], c->ops[0], own, out);
}

/* How often the condition holds. If it is true of every int, and counting goes on beyond the last one: for ever. */
static Node *count_of(World *w, const Bound *b, Node *start, Node *end) {
  Node *n = ir_count_between(w, start, end, b->inclusive);
  if (!b->inclusive) return n;
  Node *last = b->down ? start : end, *extreme = ir_int(w, b->down ? INT64_MIN : INT64_MAX);
  if (last->op == OP_LEN || (last->op == OP_IADD && is_natural(last->ops[0]) && last->ops[1]->op == OP_INT)) return n;
  return ir_op3(w, OP_SELECT, ir_op2(w, OP_IEQ, last, extreme), ir_int(w, INT64_MAX), n);
}

Node *ir_trip_count(World *w, const LoopInfo *l, Node **ops, Graph *cond) {
  Bound b;
  int own = 1 + l->ncarried, before = loop_captures(l);
  Node *depth = NULL, *c = cond->result;
  if (c->op == OP_AFTER && c->ops[1]->op == OP_CHECK_DEPTH && is_index(c->ops[1]->ops[0])) {
    depth = c->ops[1];
    c = c->ops[0];
  }
  if (l->nsliced || !find_bound(w, c, own, &b)) return NULL;
  Node **outer = NEW_ARRAY(w->arena, Node *, cond->nparams + 1);
  for (int k = 0; k < own; k++) outer[k] = ir_zero(w, cond->params[k]);
  for (int k = own; k < cond->nparams; k++) outer[k] = ops[before + k - own];
  Node *end = b.end ? ir_substitute(w, b.end, outer, cond->nparams, 0) : ir_int(w, 0);
  Node *start = b.start ? ir_substitute(w, b.start, outer, cond->nparams, 0) : ir_int(w, 0);
  if (b.exact && !(is_natural(end) && start->op == OP_INT && start->attr.i <= 0)) return NULL;
  Node *n = count_of(w, &b, start, end);
  /* of an array that exists: not too many */
  if (depth && !is_natural(n)) n = ir_check(w, OP_CHECK_DEPTH, n, depth->ops[1], NULL, depth->site);
  return n;
}
