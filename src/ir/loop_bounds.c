/* SPDX-License-Identifier: MIT */
/* Trip counts, and checks that the range of a loop's index proves.
 *
 * A loop whose condition only compares a counter gets a trip count. A check of the index that the trip count implies
 * is dropped. Both compare expressions over captures inside the loop with expressions outside. Besides: ordering
 * values after loops that may not terminate.
 *
 * A trip count is at most 2^63 - 1, which stands for all larger ones and for endless counting (`k <= n` where n is
 * the greatest int): no program runs long enough to see the difference. Only a result that is known without running
 * the loop could show it, so such a result is ordered after the loop (ir_after_loop). */
#include "ir/ir_internal.h"

/* Does m read only captures (parameters from `own` on)? */
static bool reads_captures_only(World *w, const Node *m, int own, int depth) {
  if (m->op == OP_PARAM) return m->attr.i >= own;
  if (depth > LIMIT_INDEX_DEPTH) return !limit_reached(w->arena, AT_INDEX_DEPTH);
  for (int i = 0; i < m->nops; i++)
    if (!reads_captures_only(w, m->ops[i], own, depth + 1)) return false;
  return true;
}

/* ---- Lengths ---- */
typedef struct Lengths {
  World *w;
  const LoopInfo *l;
  Node **ops;
  Graph *body;
  const struct Assumed *assumed;
  bool *unchecked; /* becomes true where a check is left out; or NULL */
} Lengths;

/* That carried array k has the same length in this dimension in all iterations. */
typedef struct Assumed {
  int k, dim;
  Node *start;
  const struct Assumed *before;
} Assumed;

static Node *fixed_length(const Lengths *s, int k, int dim);

/* Number x of the body in terms of what is outside, where it is made of captures and lengths that are fixed; else
 * NULL. What was checked is what it is compared with. */
static Node *fixed_number(const Lengths *s, Node *x, int depth) {
  const LoopInfo *l = s->l;
  if (ir_is_constant(x) || x->op == OP_GLOBAL) return x;
  if (op_flags[x->op] & OPF_V || x->op == OP_AFTER) {
    if (s->unchecked) *s->unchecked = true;
    return fixed_number(s, x->ops[0], depth);
  }
  const Node *array = x->op == OP_LEN ? x->ops[0] : x;
  if (array->op == OP_GLOBAL) return x;
  if (array->op == OP_PARAM) {
    int k = (int)array->attr.i - 1;
    if (k >= 0 && k < l->ncarried && x != array) return fixed_length(s, k, (int)x->attr.i);
    if (k >= loop_slots(l) && k < loop_captures(l) && x != array) return ir_len(s->w, s->ops[k], (int)x->attr.i + 1);
    if (k < loop_captures(l)) return NULL;
    return x == array ? s->ops[k] : ir_len(s->w, s->ops[k], (int)x->attr.i);
  }
  if (!(op_flags[x->op] & OPF_B) || x->nops != 2) return NULL;
  if (depth == 0 && limit_reached(s->w->arena, AT_LENGTH_SUM)) return NULL;
  Node *a = fixed_number(s, x->ops[0], depth - 1), *b = a ? fixed_number(s, x->ops[1], depth - 1) : NULL;
  return b ? ir_op2(s->w, (Op)x->op, a, b) : NULL;
}

/* By induction: if it is what it is at the start, and so are the lengths that the next one is made of, it stays. */
static Node *fixed_length(const Lengths *s, int k, int dim) {
  int depth = 0;
  for (const Assumed *a = s->assumed; a; a = a->before, depth++)
    if (a->k == k && a->dim == dim) return a->start;
  if (depth > LIMIT_LENGTH_INDUCTION && limit_reached(s->w->arena, AT_LENGTH_INDUCTION)) return NULL;
  Node *start = ir_len(s->w, s->ops[k], dim), *next = s->body->result->ops[k];
  Assumed this = {k, dim, start, s->assumed};
  Lengths inner = *s;
  inner.assumed = &this;
  return fixed_number(&inner, ir_len(s->w, next, dim), LIMIT_LENGTH_SUM) == start ? start : NULL;
}

Node *ir_carried_length(World *w, const LoopInfo *l, Node **ops, Graph *body, int k, int dim) {
  if (k < 0 || k >= l->ncarried || body->result->op != OP_TUPLE || body->params[1 + k]->kind != T_ARRAY) return NULL;
  return fixed_length(&(Lengths){w, l, ops, body, NULL, NULL}, k, dim);
}

Node *ir_length_outside(World *w, const Node *loop, Node **ops, Node *x) {
  return fixed_number(&(Lengths){w, loop->loop, ops, loop->graphs[0], NULL, NULL}, ir_len(w, x, 0), 4);
}

/* Dimension dim of array x of the body, as fixed_number: also of the rows that an inner loop keeps the sizes of. */
static Node *sized_dimension(const Lengths *s, Node *x, int dim) {
  for (; x->op == OP_AFTER; x = x->ops[0]) *s->unchecked = true;
  const Node *inner = x->op == OP_GET && x->ops[0]->op == OP_LOOP ? x->ops[0] : NULL;
  const LoopInfo *l = inner ? inner->loop : NULL;
  int k = inner ? (int)x->attr.i - loop_slots(l) : -1;
  Node *n = NULL;
  if (dim > 0 && k >= 0 && loop_is_sized(l, k))
    n = ir_row_length(s->w, l, inner->ops + loop_first(l), inner->graphs[0], k, dim);
  return fixed_number(s, n ? n : ir_len(s->w, x, dim), LIMIT_LENGTH_SUM);
}

Node *ir_row_length(World *w, const LoopInfo *l, Node **ops, Graph *body, int k, int dim) {
  Node *row = ir_get(w, body->result, loop_slots(l) + k);
  bool unchecked = false;
  Lengths s = {w, l, ops, body, NULL, &unchecked};
  Node *n = sized_dimension(&s, row, dim - 1);
  return n && unchecked && !ir_is_natural(n) ? ir_op2(w, OP_IMAX, n, ir_int(w, 0)) : n;
}

/* Dimension dim of array x of the body, as fixed_number: also of the rows that an inner loop stacks. */
static Node *fixed_dimension(const Lengths *s, Node *x, int dim) {
  const Node *inner = dim > 0 && x->op == OP_GET ? x->ops[0] : NULL;
  bool stacked =
      inner && inner->op == OP_LOOP && x->attr.i >= loop_slots(inner->loop) && inner->graphs[0]->result->op == OP_TUPLE;
  if (!stacked) return fixed_number(s, ir_len(s->w, x, dim), LIMIT_LENGTH_SUM);
  Lengths rows = {s->w, inner->loop, inner->ops + loop_first(inner->loop), inner->graphs[0], NULL, NULL};
  Node *n = fixed_dimension(&rows, inner->graphs[0]->result->ops[x->attr.i], dim - 1);
  return n ? fixed_number(s, n, LIMIT_LENGTH_SUM) : NULL;
}

bool ir_shape_is_fixed(World *w, const Node *loop, Node **ops, Node *x) {
  Lengths s = {w, loop->loop, ops, loop->graphs[0], NULL, NULL};
  for (int dim = 0; dim < ir_rank(x->type); dim++)
    if (!fixed_dimension(&s, x, dim)) return false;
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
    if (!reads_captures_only(w, c->ops[1], own, 0)) continue;
    if (!outer) {
      outer = NEW_ARRAY(w->arena, Node *, body->nparams + 1);
      for (int k = 0; k < own; k++) outer[k] = ir_zero(w, body->params[k]);
      for (int k = own; k < body->nparams; k++) outer[k] = caps[k - own];
    }
    if (ir_is_length(n, ir_substitute(w, c->ops[1], outer, body->nparams, 0))) map_put(&proved, c, c->ops[0]);
  }
  return proved.count ? ir_graph_over(w, body, &proved) : body;
}

/* ---- Numbers of iterations ---- */
/* x + 1 where that can't wrap, or where x is a sum with a constant: the program's own sum isn't looked at for
 * wrapping. */
static Node *successor(World *w, Node *x) {
  bool sum =
      (x->op == OP_IADD && x->ops[1]->op == OP_INT) || ir_is_size(x) || (x->op == OP_INT && x->attr.i < INT64_MAX);
  return sum ? ir_op2(w, OP_IADD, x, ir_int(w, 1)) : NULL;
}

static Node *predecessor(World *w, Node *x) {
  bool sum =
      (x->op == OP_IADD && x->ops[1]->op == OP_INT) || ir_is_size(x) || (x->op == OP_INT && x->attr.i > INT64_MIN);
  return sum ? ir_op2(w, OP_IADD, x, ir_int(w, -1)) : NULL;
}

Node *ir_count_between(World *w, Node *from, Node *to, bool inclusive) {
  Node *zero = ir_int(w, 0), *above = inclusive ? successor(w, to) : to, *below;
  if (above) return ir_op2(w, OP_IMAX, ir_op2(w, OP_ISUBS, above, from), zero);
  if ((below = predecessor(w, from))) return ir_op2(w, OP_IMAX, ir_op2(w, OP_ISUBS, to, below), zero);
  return ir_op2(w, OP_IMAX, ir_op2(w, OP_ISUBS, ir_op2(w, OP_ISUBS, to, from), ir_int(w, -1)), zero);
}

bool ir_may_saturate(const Node *n, bool (*is_natural)(const Node *)) {
  for (;; n = n->ops[0]) {
    bool less = n->op == OP_ISUBS && is_natural(n->ops[1]);
    if (!less && n->op != OP_IMAX && n->op != OP_CHECK_NAT && n->op != OP_AFTER) break;
  }
  return n->op == OP_ISUBS || n->op == OP_SELECT || is_int_const(n, INT64_MAX);
}

bool ir_guards_ending(const Node *x) {
  if (x->op != OP_LOOP || !x->loop->has_cond || loop_inputs(x->loop) != 1 || x->loop->ncaps != 1) return false;
  const Node *c = x->graphs[1]->result;
  return c->op == OP_IEQ && c->ops[0]->op == OP_PARAM && c->ops[0]->attr.i == 1 && is_int_const(c->ops[1], INT64_MAX);
}

/* A loop that does nothing, without end if n iterations are too many to be told from none. */
static Node *endless_if_saturated(World *w, Node *n) {
  LoopBuilder *b = loop_open(w, false);
  Node *inside = loop_add(b, LOOP_CAPTURED, n);
  loop_close(b, NULL, ir_op2(w, OP_IEQ, inside, ir_int(w, INT64_MAX)), n->site);
  return loop_trips(b);
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
  int fuel = LIMIT_LOOP_LOOK;
  if (trips->op == OP_GET && comes_out(x, trips->ops[0], &fuel)) return x;
  if (fuel < 0) limit_reached(w->arena, AT_LOOP_LOOK);
  if (ir_may_saturate(trips, ir_is_natural)) {
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
  if (reads_captures_only(w, a, own, 0)) {
    out->rest = a;
    return true;
  }
  if (a->op == OP_IMUL && is_index(a->ops[0]) && a->ops[1]->op == OP_INT) {
    out->by = a->ops[1]->attr.i;
    return true;
  }
  Affine x, y;
  if (a->op != OP_IADD || (depth > LIMIT_INDEX_DEPTH && limit_reached(w->arena, AT_INDEX_DEPTH))) return false;
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
  if (out->exact && a.by == -1 && b.by == 0) { /* n - i <> end: end + i <> n */
    out->start = b.rest;
    out->end = a.rest;
    return true;
  }
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
  if (ir_is_size(last) || (last->op == OP_IADD && ir_is_size(last->ops[0]) && last->ops[1]->op == OP_INT)) return n;
  return ir_op3(w, OP_SELECT, ir_op2(w, OP_IEQ, last, extreme), ir_int(w, INT64_MAX), n);
}

/* start + i <> end: as often as it takes to get there. Counting from beyond it goes round all ints, which NULL says; of
 * recursion, which ends before that, INT64_MAX does. */
static Node *count_to(World *w, Node *start, Node *end, bool recursion) {
  Node *n = ir_count_between(w, start, end, false);
  if (ir_is_natural(end) && start->op == OP_INT && start->attr.i <= 0) return n;
  return recursion ? ir_op3(w, OP_SELECT, ir_op2(w, OP_ILT, end, start), ir_int(w, INT64_MAX), n) : NULL;
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
  Node *n = b.exact ? count_to(w, start, end, depth) : count_of(w, &b, start, end);
  if (!n) return NULL;
  /* of an array that exists: not too many */
  if (depth && !ir_is_size(n)) n = ir_check(w, OP_CHECK_DEPTH, n, depth->ops[1], NULL, depth->site);
  return n;
}
