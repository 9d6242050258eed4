/* SPDX-License-Identifier: MIT */
/* Making nodes with structure: sums, functions, arrays, checks. Each constructor first looks for a simpler
 * equal (get of tuple, length of a literal, …), so that what it returns is in normal form. Branches and loops are
 * in branches.c and loop_forms.c, calls in call.c, scalars in normalise.c. */
#include "ir/ir_internal.h"
#include <math.h>
#include <string.h>

/* The array that array x was made of by updates, which has its dimensions: through branches and loops. */
static Node *shape_source(Node *x);

/* ---- Operations whose type follows from the operands ------------------------------- */
/* Is x a parameter, or a part of one? */
static bool stands_for_other(const Node *x) {
  while (x->op == OP_GET) x = x->ops[0];
  return x->op == OP_PARAM;
}

/* after a b is a, once b has been computed:
 *
 *   after a b = a if b can't fail    after (after a b) b = after a b    after a (after c b) = after a b, c constant */
static Node *after(World *w, Node *a, Node *b, Waits waits) {
  while (b->op == OP_AFTER && ir_is_constant(b->ops[0])) {
    if (b->attr.i == WAITS_END) waits = WAITS_END;
    b = b->ops[1];
  }
  if (waits == WAITS_ERROR && !stands_for_other(b)) waits = WAITS_SEEN;
  bool needed = b->flags & NODE_FAILS || (waits == WAITS_END && b->nparams) || waits == WAITS_ERROR;
  if (!needed || a == b || (a->op == OP_AFTER && a->ops[1] == b)) return a;
  return ir_intern(w, &(Node){.op = OP_AFTER, .type = a->type, .ops = (Node *[]){a, b}, .nops = 2, .attr.i = waits});
}

/* y, which was found in x, ordered after what x is ordered after. */
static Node *after_same(World *w, Node *y, const Node *x) { return after(w, y, x->ops[1], (Waits)x->attr.i); }

Node *ir_op1(World *w, Op op, Node *a) {
  if (op == OP_STOP) return ir_raw(w, OP_STOP, a->type, &a, 1);
  return ir_normal1(w, op, a);
}

Node *ir_op2(World *w, Op op, Node *a, Node *b) {
  if (op == OP_AFTER) return after(w, a, b, WAITS_SEEN);
  return ir_normal2(w, op, a, b);
}

Node *ir_after(World *w, Node *x, Node *y, Waits waits) { return after(w, x, y, waits); }
Node *ir_waiting(World *w, Node *x, Node *y) { return y->flags & NODE_ENDLESS ? after(w, x, y, WAITS_END) : x; }

/* x * y + z, rounded once. */
static Node *fused(World *w, Node *x, Node *y, Node *z) {
  if (x->op == OP_FLOAT && y->op == OP_FLOAT && z->op == OP_FLOAT)
    return ir_float(w, fma(x->attr.f, y->attr.f, z->attr.f));
  Node *ops[] = {x, y, z};
  if (is_float_const(y, 1)) return ir_apart(w, &(Node){.op = OP_FADD}, (Node *[]){x, z});
  return ir_raw(w, OP_FMA, x->type, ops, 3);
}

Node *ir_apart(World *w, const Node *sum, Node **ops) {
  Node *x = ir_op2(w, (Op)sum->op, ops[0], ops[1]);
  if (x->op != OP_FADD && x->op != OP_FSUB) return x;
  return ir_intern(w, &(Node){.op = x->op, .type = x->type, .ops = x->ops, .nops = 2, .attr.i = 1});
}

Node *ir_op3(World *w, Op op, Node *c, Node *a, Node *b) {
  if (op == OP_FMA) return fused(w, c, a, b);
  if (op != OP_SELECT) return ir_check(w, op, c, a, b, 0);
  /* select true a b = a    select c a a = a    select c true false = c    select (not c) a b = select c b a */
  if (c->op == OP_BOOL) return c->attr.i ? a : b;
  if (a == b) return ir_waiting(w, a, c);
  if (a->op == OP_BOOL && b->op == OP_BOOL) return a->attr.i ? c : ir_op1(w, OP_NOT, c);
  if (c->op == OP_NOT) return ir_op3(w, OP_SELECT, c->ops[0], b, a);
  return ir_raw(w, OP_SELECT, a->type, (Node *[]){c, a, b}, 3);
}

/* ---- Checks ------------------------------------------------------------------------- */
static bool check_holds(Op op, Node *a, Node *b, Node *c) {
  switch (op) {
  case OP_CHECK_INDEX: return a->op == OP_INT && b->op == OP_INT && a->attr.i >= 0 && a->attr.i < b->attr.i;
  case OP_CHECK_SLICE:
    if (is_int_const(a, 0) && b == c) return true;
    return a->op == OP_INT && b->op == OP_INT && c->op == OP_INT && a->attr.i >= 0 && a->attr.i <= b->attr.i &&
           b->attr.i <= c->attr.i;
  case OP_CHECK_SIZE: return a == b;
  case OP_CHECK_NONZERO: return a->op == OP_INT && a->attr.i != 0;
  case OP_CHECK_DEPTH: return a->op == OP_INT && b->op == OP_INT && a->attr.i <= b->attr.i;
  case OP_CHECK_NAT: return ir_is_natural(a);
  default: return false;
  }
}

static Node *make_check(World *w, Op op, Node *a, Node *b, Node *c, Sym what, Site site) {
  if (check_holds(op, a, b, c)) return b ? after(w, a, b, false) : a; /* b may be another check */
  Node *ops[3] = {a, b, c};
  return ir_intern(w, &(Node){.op = (uint16_t)op,
                              .type = a->type,
                              .ops = ops,
                              .nops = c   ? 3
                                      : b ? 2
                                          : 1,
                              .site = site,
                              .attr.text = what});
}

Node *ir_check(World *w, Op op, Node *a, Node *b, Node *c, Site site) { return make_check(w, op, a, b, c, NULL, site); }
Node *ir_check_size(World *w, Node *n, Node *m, Sym message, Site site) {
  return make_check(w, OP_CHECK_SIZE, n, m, NULL, message, site);
}
Node *ir_check_nat(World *w, Node *n, Sym what, Site site) {
  return make_check(w, OP_CHECK_NAT, n, NULL, NULL, what, site);
}

Node *ir_assert(World *w, Node *cond, Node *message, Site site) {
  if (cond->op == OP_BOOL && cond->attr.i) return ir_unit(w);
  return ir_intern(
      w,
      &(Node){.op = OP_CHECK, .type = ir_type(w, T_UNIT), .ops = (Node *[]){cond, message}, .nops = 2, .site = site});
}

/* Is the number what this trap is for? */
static bool is_bad(Op trap, double x) { return trap == OP_TRAP_NAN ? isnan(x) : !isfinite(x); }

/* Is the trap dropped, ops being its operands: see below. */
static bool is_dropped(const World *w, Op op, Node **ops, int n, Site site) {
  const Node *y = ops[0];
  if (w->traps == TRAP_POINT) return false;
  if ((y->op == OP_FLOAT && !is_bad(op, y->attr.f)) || (ir_is_trap(y) && y->site == site)) return true;
  for (int k = 1; k < n; k++)
    if (ops[k] == y || (ops[k]->op == OP_FLOAT && isnan(ops[k]->attr.f))) return true;
  return false;
}

/* The trap is dropped where y is a constant without need of it, or trapped or an operand, or where an operand is NaN.
 * The operation's value is waited for nevertheless. With TRAP_POINT none is dropped. */
Node *ir_trap(World *w, Op op, Sym text, Node **ops, int n, Site site) {
  if (is_dropped(w, op, ops, n, site)) return strchr("{}", *text) ? ir_op2(w, OP_AFTER, ops[0], ops[n - 1]) : ops[0];
  return ir_intern(
      w, &(Node){.op = (uint16_t)op, .type = ops[0]->type, .ops = ops, .nops = n, .site = site, .attr.text = text});
}

Node *ir_mark(World *w, const char *what, Node *x, Site site) {
  if (ir_is_constant(x)) return x;
  return ir_intern(
      w,
      &(Node){.op = OP_MARK, .type = x->type, .ops = &x, .nops = 1, .site = site, .attr.text = sym_of(w->syms, what)});
}

Node *ir_fail(World *w, FailKind kind, IrType *t, Node *message, Site site) {
  return ir_intern(w, &(Node){.op = OP_FAIL, .type = t, .ops = &message, .nops = 1, .site = site, .attr.i = kind});
}

/* ---- Products and sums ------------------------------------------------------------------ */
/* The array that a counted loop slices and puts together again as result k:  [ a[i] | i < n ] = a. Of a part of an
 * array that is a copy: it doesn't keep the whole alive. */
static Node *restacked(const Node *loop, int k) {
  const LoopInfo *l = loop->loop;
  int slots = loop_slots(l);
  if (l->has_cond || k < slots || k >= slots + l->nstacked || loop->graphs[0]->result->op != OP_TUPLE) return NULL;
  const Node *x = loop->graphs[0]->result->ops[k];
  if (x->op != OP_PARAM || x->attr.i <= slots || x->attr.i > loop_captures(l)) return NULL;
  Node *whole = loop->ops[x->attr.i];
  return whole->op == OP_SLICE || whole->op == OP_INDEX ? NULL : whole;
}

/* The number of iterations where it is known before the loop; NULL: it isn't. */
static Node *known_trips(const Node *loop) {
  if (loop->loop->has_cond) return NULL;
  Node *n = loop->ops[0];
  return n->op == OP_CHECK_NAT || check_holds(OP_CHECK_NAT, n, NULL, NULL) ? n : NULL;
}

/*  get k (x0, x1, …) = xk    get k (after t y) = after (get k t) y    get k 0 = 0 */
Node *ir_get(World *w, Node *t, int k) {
  if (t->op == OP_TUPLE) return t->ops[k];
  Node *whole = t->op != OP_LOOP ? NULL : k == t->type->n - 1 ? known_trips(t) : restacked(t, k);
  if (whole) return whole;
  IrType *type = t->type->args[k];
  if (t->op == OP_ZERO) return ir_zero(w, type);
  if (type->kind == T_UNIT) return ir_unit(w);
  if (t->op == OP_AFTER) return after_same(w, ir_get(w, t->ops[0], k), t);
  if (t->op == OP_STOP) return ir_op1(w, OP_STOP, ir_get(w, t->ops[0], k));
  Node *x = ir_intern(w, &(Node){.op = OP_GET, .type = type, .ops = &t, .nops = 1, .attr.i = k});
  Node *known = ir_known_number(w, x);
  return known ? known : x;
}

Node *ir_inj(World *w, IrType *variant, int tag, Node *payload) {
  if (!payload) payload = ir_unit(w);
  return ir_intern(w, &(Node){.op = OP_INJ, .type = variant, .ops = &payload, .nops = 1, .attr.i = tag});
}

Node *ir_tag(World *w, Node *v) { return ir_normal1(w, OP_TAG, v); }

/*  uninj k (inj k x) = x    uninj k (inj l x) = 0: it is never reached */
Node *ir_uninj(World *w, Node *v, int tag) {
  IrType *payload = v->type->ctors[tag].payload;
  if (v->op == OP_INJ && v->attr.i == tag) return v->ops[0];
  if (payload->kind == T_UNIT) return ir_unit(w);
  if (v->op == OP_ZERO || v->op == OP_INJ) return ir_zero(w, payload);
  return ir_intern(w, &(Node){.op = OP_UNINJ, .type = payload, .ops = &v, .nops = 1, .attr.i = tag});
}

/* ---- Arrays --------------------------------------------------------------------------------- */
Node *ir_array(World *w, IrType *elem, Node **xs, int n, Site site) {
  IrType *t = ir_array_type(w, elem);
  Node *data = ir_data(w, t, xs, n);
  return data ? data : ir_intern(w, &(Node){.op = OP_ARRAY, .type = t, .ops = xs, .nops = n, .site = site});
}

/* Is n at most the length of an array that exists, since it was checked to be, or the length of a part of one? */
static bool is_within_length(const Node *n) {
  if (ir_is_size(n) || n->op == OP_CHECK_INDEX || n->op == OP_CHECK_SLICE) return true;
  return n->op == OP_ISUB && n->ops[1]->op == OP_CHECK_SLICE && n->ops[1]->ops[1] == n->ops[0];
}

/* Is n the sum of a few such numbers, or of sums that were checked? `fuel`: of how many at most. */
static bool adds_few_lengths(const Node *n, int *fuel) {
  if (--*fuel < 0) return false;
  if (is_within_length(n)) return true;
  if (n->op == OP_CHECK_SIZE) return adds_few_lengths(n->ops[0], fuel) || adds_few_lengths(n->ops[1], fuel);
  if (n->op == OP_IADD || n->op == OP_ISUB)
    return adds_few_lengths(n->ops[0], fuel) && adds_few_lengths(n->ops[1], fuel);
  return n->op == OP_AFTER || (n->op == OP_INT && n->attr.i >= -LIMIT_ELEMENTS && n->attr.i <= LIMIT_ELEMENTS);
}

/* 2^63 - 1 stands for any greater number of iterations (loop_bounds.c): such a length is compared, and isn't wrong. */
Node *ir_possible_length(World *w, Node *n, Site site) {
  int fuel = LIMIT_LENGTHS;
  bool sum = n->op == OP_IADD, constant = n->op == OP_INT && n->attr.i != INT64_MAX;
  if (!(sum || constant) || adds_few_lengths(n, &fuel)) return n;
  if (fuel < 0) limit_reached(w->arena, AT_LENGTHS);
  Node *most = ir_int(w, LIMIT_ELEMENTS), *fits = ir_bool(w, sum);
  Node *message = ir_string(w, sym_of(w->syms, "out of memory for an array of more than 2^46 elements"));
  for (int k = 0; sum && k < 2; k++) fits = ir_op2(w, OP_AND, fits, ir_op2(w, OP_ILE, n->ops[k], most));
  if (sum) fits = ir_op2(w, OP_AND, fits, ir_op2(w, OP_ILE, n, most));
  return ir_op2(w, OP_AFTER, n, ir_assert(w, fits, message, site));
}

/* Dimension 0 of the k-th result of a loop. */
static Node *stacked_length(World *w, Node *loop, int k) {
  const LoopInfo *l = loop->loop;
  if (k < loop_slots(l) || k >= loop_slots(l) + l->nstacked) return NULL;
  return l->has_cond ? ir_get(w, loop, loop_slots(l) + l->nstacked) : ir_possible_length(w, loop->ops[0], loop->site);
}

/* Dimension dim > 0 of the k-th result of a loop, where it is the same with rows and without, and the loop can't fail,
 * or where it is a number and the loop is known to run; else NULL. */
static Node *row_length(World *w, const Node *loop, int k, int dim) {
  const LoopInfo *l = loop->loop;
  bool stacked = k >= loop_slots(l) && k < loop_slots(l) + l->nstacked;
  if (stacked && loop_is_sized(l, k - loop_slots(l)) && !(loop->flags & (NODE_FAILS | NODE_ENDLESS)))
    return ir_row_length(w, l, loop->ops + loop_first(l), loop->graphs[0], k - loop_slots(l), dim);
  bool runs = !l->has_cond && loop->ops[0]->op == OP_INT && loop->ops[0]->attr.i > 0;
  if (!stacked || !runs || loop->graphs[0]->result->op != OP_TUPLE) return NULL;
  Node *n = ir_len(w, loop->graphs[0]->result->ops[k], dim - 1);
  return n->op == OP_INT ? n : NULL;
}

/* The capture that all arms hand on as component k (-1: as the whole), updated at most; NULL if there is none. */
static Node *arms_shape(const Node *s, int k) {
  int64_t which = -1;
  for (int i = 0; i < s->ngraphs; i++) {
    Node *x = s->graphs[i]->result;
    if (k >= 0 && x->op != OP_TUPLE) return NULL;
    x = shape_source(k >= 0 ? x->ops[k] : x);
    if (x->op != OP_PARAM || (i && x->attr.i != which)) return NULL;
    which = x->attr.i;
  }
  return s->ops[1 + which];
}

/*  len (update a i x) = len a    len (if c then update a i x else a) = len a, and so for loops that only update it */
static Node *shape_source(Node *x) {
  for (;;) {
    Node *from = NULL, *whole = x->op == OP_GET ? x->ops[0] : NULL;
    bool waits = x->op == OP_AFTER && (x->attr.i == WAITS_END || x->ops[1]->flags & NODE_ENDLESS);
    if (x->op == OP_UPDATE || (x->op == OP_AFTER && !waits) || x->op == OP_STOP) from = x->ops[0];
    else if (x->op == OP_SWITCH) from = arms_shape(x, -1);
    else if (whole && whole->op == OP_SWITCH) from = arms_shape(whole, (int)x->attr.i);
    else if (whole && whole->op == OP_LOOP && ir_keeps_shape(whole->loop, whole->graphs[0], (int)x->attr.i))
      from = whole->ops[x->attr.i + loop_first(whole->loop)];
    if (!from) return x;
    x = from;
  }
}

bool ir_keeps_shape(const LoopInfo *l, const Graph *body, int k) {
  if (k >= l->ncarried || body->result->op != OP_TUPLE || body->params[1 + k]->kind != T_ARRAY) return false;
  const Node *from = shape_source(body->result->ops[k]);
  return from->op == OP_PARAM && from->attr.i == 1 + k;
}

/* The element of array a where all are one value known outside of the loop that makes it; NULL otherwise. */
Node *ir_same_elements(World *w, const Node *a) {
  const Node *loop = a->op == OP_GET ? a->ops[0] : NULL;
  if (!loop || loop->op != OP_LOOP || loop->graphs[0]->result->op != OP_TUPLE) return NULL;
  const LoopInfo *l = loop->loop;
  int64_t k = a->attr.i, slots = loop_slots(l), own = 1 + loop_captures(l);
  if (k < slots || k >= slots + l->nstacked) return NULL;
  Node *x = loop->graphs[0]->result->ops[k];
  if (ir_is_constant(x)) return x;
  const Node *of = x->op == OP_LEN ? x->ops[0] : x;
  Node *outside = of->op == OP_PARAM && of->attr.i >= own ? loop->ops[of->attr.i - 1 + loop_first(l)] : NULL;
  return outside && x != of ? ir_len(w, outside, (int)x->attr.i) : outside;
}

/*  len [x, y] = 2    len (slice a lo n) = n    len k (index a i) = len (k + 1) a    len (zeros n) = n
 *  len (reshape a n) = n    len [ x | i < n ] = n */
Node *ir_len(World *w, Node *a, int dim) {
  a = shape_source(a);
  switch (a->op) {
  case OP_DATA: return ir_int(w, a->attr.data->dims[dim]);
  case OP_ARRAY:
    if (dim == 0) return ir_int(w, a->nops);
    if (a->nops) return ir_len(w, a->ops[0], dim - 1);
    break;
  case OP_SLICE: return dim == 0 ? a->ops[2] : ir_len(w, a->ops[0], dim);
  case OP_INDEX: return ir_len(w, a->ops[0], dim + a->nops - 1);
  case OP_ZEROS: return a->ops[dim];
  case OP_RESHAPE:
  case OP_FILL: return a->ops[1 + dim];
  case OP_FILL_LIKE: return ir_len(w, a->ops[1], dim);
  case OP_AFTER: return after_same(w, ir_len(w, a->ops[0], dim), a);
  case OP_GET:
    if (a->ops[0]->op == OP_LOOP) {
      const Node *loop = a->ops[0];
      Node *n = dim == 0 ? stacked_length(w, a->ops[0], (int)a->attr.i) : row_length(w, loop, (int)a->attr.i, dim);
      if (!n)
        n = ir_carried_length(w, loop->loop, loop->ops + loop_first(loop->loop), loop->graphs[0], (int)a->attr.i, dim);
      if (n) return n;
    }
    break;
  default: break;
  }
  Node *known = ir_known_length(w, a, dim);
  if (known) return known;
  return ir_intern(w, &(Node){.op = OP_LEN, .type = ir_type(w, T_INT), .ops = &a, .nops = 1, .attr.i = dim});
}

/*  byte "abc" 1 = 98 */
Node *ir_byte(World *w, Node *s, Node *i) {
  bool known = s->op == OP_STRING && i->op == OP_INT && i->attr.i >= 0 && i->attr.i < (int64_t)sym_len(s->attr.text);
  if (known) return ir_int(w, (unsigned char)s->attr.text[i->attr.i]);
  return ir_raw(w, OP_BYTE, ir_type(w, T_INT), (Node *[]){s, i}, 2);
}

static const Node *without_checks(const Node *n) {
  while (n->op == OP_AFTER || op_flags[n->op] & OPF_V) n = n->ops[0];
  return n;
}

bool ir_is_length(const Node *a, const Node *b) {
  for (const Node *n = a;; n = n->ops[0]) {
    if (n == b || (n->op == OP_CHECK_SIZE && without_checks(n->ops[1]) == without_checks(b))) return true;
    if (n->op != OP_AFTER && !(op_flags[n->op] & OPF_V)) return n == without_checks(b);
  }
}

bool ir_rows_agree(World *w, const Node *array) {
  int rank = ir_rank(array->type);
  for (int k = 1; rank > 1 && k < array->nops; k++)
    for (int d = 0; d < rank - 1; d++) {
      const Node *first = ir_len(w, array->ops[0], d), *other = ir_len(w, array->ops[k], d);
      if (!ir_is_length(first, other) && !ir_is_length(other, first)) return false;
    }
  return true;
}

/* ops = {base, is…} in fresh memory; `room` more slots. */
static Node **with_indices(World *w, Node *base, Node **before, int nbefore, Node **is, int n, int room) {
  Node **ops = NEW_ARRAY(w->arena, Node *, 1 + nbefore + n + room);
  ops[0] = base;
  if (nbefore) memcpy(ops + 1, before, sizeof(Node *) * (size_t)nbefore);
  if (n) memcpy(ops + 1 + nbefore, is, sizeof(Node *) * (size_t)n);
  return ops;
}

static IrType *below(IrType *t, int n) {
  while (n--) t = t->args[0];
  return t;
}

/* Whether x can't be computed without y: a short look. */
static bool needs(const Node *x, const Node *y, int depth) {
  if (x == y) return true;
  if (depth == 0 || x->ngraphs) return false;
  for (int k = 0; k < x->nops; k++)
    if (needs(x->ops[k], y, depth - 1)) return true;
  return false;
}

/* x, which stands for an element whatever the indices are: they are to be in bounds all the same. */
static Node *after_indices(World *w, Node *x, Node **is, int n) {
  for (int k = 0; k < n; k++)
    if ((is[k]->flags & NODE_FAILS) && !needs(x, is[k], 4)) x = ir_op2(w, OP_AFTER, x, is[k]);
  return x;
}

/*  index (index a i) j = index a i j    index [x, y] 1 = y    index (slice a lo n) i = index a (lo + i)
 *  index (zeros n) i = 0    index (update a i x) i = x    index [ x | k < n ] i = x, if x doesn't depend on k */
Node *ir_index(World *w, Node *a, Node **is, int n) {
  if (n == 0) return a;
  Node *same = ir_same_elements(w, a);
  if (same) return after_indices(w, ir_index(w, same, is + 1, n - 1), is, 1);
  switch (a->op) {
  case OP_INDEX: {
    int before = a->nops - 1;
    return ir_index(w, a->ops[0], with_indices(w, a, a->ops + 1, before, is, n, 0) + 1, before + n);
  }
  case OP_DATA: {
    Node *known = ir_data_at(w, a, is, n);
    if (known) return known;
    break;
  }
  case OP_ARRAY:
    if (is[0]->op == OP_INT && is[0]->attr.i >= 0 && is[0]->attr.i < a->nops && ir_rows_agree(w, a))
      return ir_index(w, a->ops[is[0]->attr.i], is + 1, n - 1);
    break;
  case OP_SLICE: {
    Node **js = with_indices(w, a, NULL, 0, is, n, 0) + 1;
    js[0] = ir_op2(w, OP_IADD, is[0], a->ops[1]);
    return ir_index(w, a->ops[0], js, n);
  }
  case OP_ZEROS:
    if (n == ir_rank(a->type)) return after_indices(w, ir_zero(w, ir_base(a->type)), is, n);
    break;
  case OP_UPDATE: { /* what was just written */
    int written = a->nops - 2;
    if (written <= n && memcmp(a->ops + 1, is, (size_t)written * sizeof *is) == 0)
      return after_indices(w, ir_index(w, a->ops[written + 1], is + written, n - written), is, written);
    break;
  }
  case OP_AFTER: return after_same(w, ir_index(w, a->ops[0], is, n), a);
  case OP_STOP: return ir_op1(w, OP_STOP, ir_index(w, a->ops[0], is, n));
  default: break;
  }
  return ir_raw(w, OP_INDEX, below(a->type, n), with_indices(w, a, NULL, 0, is, n, 0), n + 1);
}

/*  slice a 0 (len a) = a    slice (slice a lo n) lo' n' = slice a (lo + lo') n' */
Node *ir_slice(World *w, Node *a, Node *lo, Node *count) {
  if (is_int_const(lo, 0) && count == ir_len(w, a, 0)) return a;
  if (a->op == OP_SLICE) return ir_slice(w, a->ops[0], ir_op2(w, OP_IADD, a->ops[1], lo), count);
  return ir_raw(w, OP_SLICE, a->type, (Node *[]){a, lo, count}, 3);
}

Node *ir_update(World *w, Node *a, Node **is, int n, Node *v) {
  Node **ops = with_indices(w, a, NULL, 0, is, n, 1);
  ops[n + 1] = v;
  return ir_raw(w, OP_UPDATE, a->type, ops, n + 2);
}

Node *ir_zeros(World *w, IrType *array, Node **dims, Site site) {
  return ir_intern(w, &(Node){.op = OP_ZEROS, .type = array, .ops = dims, .nops = ir_rank(array), .site = site});
}

Node *ir_product(World *w, Node **dims, int n) {
  Node *x = ir_int(w, 1);
  for (int k = 0; k < n; k++) x = ir_op2(w, OP_IMUL, x, dims[k]);
  return x;
}

static bool has_dims(World *w, Node *a, Node **dims) {
  for (int k = 0; k < ir_rank(a->type); k++)
    if (dims[k] != ir_len(w, a, k)) return false;
  return true;
}

/* reshape a (shape a) = a. One that has as many elements for certain can't fail, and has no place: so equal ones are
 * one node. */
Node *ir_reshape(World *w, IrType *array, Node *a, Node **dims, Site site) {
  int r = ir_rank(array);
  if (array == a->type && has_dims(w, a, dims)) return a;
  Node **ops = with_indices(w, a, NULL, 0, dims, r, 0);
  if (ir_product(w, dims, r) == ir_product(w, ir_dims(w, a), ir_rank(a->type))) site = 0;
  return ir_intern(w, &(Node){.op = OP_RESHAPE, .type = array, .ops = ops, .nops = r + 1, .site = site});
}

/* ---- Runtime primitives and derivatives ------------------------------------------------------- */
enum { T = 1, F = 2, E = 4, C = 8, M = 16, N = 32, P = 64, K = 128, H = 256 };
static const RtPrim rt_table[] = {
#define RT(NAME, function, name_of, type_of, flags, right_of)                                                          \
  {.name = name_of,                                                                                                    \
   .type = type_of,                                                                                                    \
   .effect = ((flags)&E) != 0,                                                                                         \
   .fails = ((flags)&F) != 0,                                                                                          \
   .typed = ((flags)&T) != 0,                                                                                          \
   .clock = ((flags)&C) != 0,                                                                                          \
   .makes_text = ((flags)&M) != 0,                                                                                     \
   .ends = ((flags)&N) != 0,                                                                                           \
   .pattern = ((flags)&P) != 0,                                                                                        \
   .known = ((flags)&K) != 0,                                                                                          \
   .of_run = ((flags)&H) != 0,                                                                                         \
   .right = RIGHT_##right_of},
#include "prims/rt.def"
#undef RT
};

#define RT(NAME, function, name, type, flags, right)                                                                   \
  _Static_assert(RIGHT_##right == RIGHT_NONE || ((flags)&F), name " fails where its right isn't granted");
#include "prims/rt.def"
#undef RT

const RtPrim *ir_rt_find(const char *name) {
  for (size_t i = 0; i < sizeof rt_table / sizeof *rt_table; i++)
    if (!strcmp(rt_table[i].name, name)) return &rt_table[i];
  return NULL;
}

int ir_rt_operands(const RtPrim *p) {
  int n = 0;
  for (const char *at = p->type; (at = strstr(at, " -> ")) != NULL; at += 4) n++;
  return n;
}

int ir_rt_id(const RtPrim *p) { return (int)(p - rt_table); }
const char *ir_rt_name(int id) { return rt_table[id].name; }
const RtPrim *ir_rt_row(int id) { return &rt_table[id]; }

int ir_op_find(const char *name) {
  for (int op = 0; op < OP_COUNT; op++)
    if ((op_flags[op] & OPF_S) && !strchr(op_signatures[op], '.') && !strcmp(op_names[op], name)) return op;
  return -1;
}

static IrType *with_token(World *w, IrType *t, bool effect) {
  if (!effect) return t;
  IrType *ts[2] = {t, ir_type(w, T_TOKEN)};
  return ir_tuple_type(w, ts, NULL, 2);
}

static Node *normal_rt(World *w, Node *rt) {
  Node *known = rt->attr.rt->known ? ir_known_tables(w, rt->type, rt->ops[0]) : NULL;
  return known ? known : ir_intern(w, rt);
}

Node *ir_rt(World *w, const RtPrim *p, IrType *result, IrType *type_arg, Node **args, int n, Site site) {
  return normal_rt(w, &(Node){.op = OP_RT,
                              .type = with_token(w, result, p->effect),
                              .ops = args,
                              .nops = n,
                              .site = p->fails || p->effect ? site : 0,
                              .attr.rt = p,
                              .type_arg = type_arg});
}

Node *ir_static(World *w, Node *x, Site site) {
  if (!(x->flags & NODE_VARIES)) return x;
  w->has_statics = true;
  return ir_rt(w, ir_rt_find("static"), x->type, x->type, &x, 1, site);
}

bool ir_is_static(const Node *n) { return n->op == OP_RT && strcmp(n->attr.rt->name, "static") == 0; }

static Node *derivative(World *w, Op op, IrType *t, Node **ops, int n, Node *token, Site site) {
  if (token) ops[n++] = token;
  Node *r = ir_intern(w, &(Node){.op = (uint16_t)op, .type = with_token(w, t, token != NULL), .ops = ops, .nops = n});
  if (!r->site) r->site = site;
  return r;
}

Node *ir_vjp(World *w, Node *f, Node *x, Node *token, Site site) {
  IrType *b = f->type->args[1];
  Node *ops[3] = {ir_differentiated(w, f, x), x};
  return derivative(w, OP_VJP, ir_pair_type(w, b, ir_fun_type(w, b, x->type, false)), ops, 2, token, site);
}

Node *ir_jvp(World *w, Node *f, Node *x, Node *dx, Node *token, Site site) {
  IrType *b = f->type->args[1];
  Node *ops[4] = {ir_differentiated(w, f, x), x, dx};
  return derivative(w, OP_JVP, ir_pair_type(w, b, b), ops, 3, token, site);
}

Node *ir_checkpoint(World *w, Node *f, Node *x, Node *token, Site site) {
  Node *ops[3] = {f, x};
  return derivative(w, OP_CHECKPOINT, f->type->args[1], ops, 2, token, site);
}

/* ---- Accumulators --------------------------------------------------------------------------------- */
static bool is_empty_array(const Node *bag) { return bag->op == OP_TO_BAG && bag->ops[0]->op == OP_ZEROS; }

/* acc_at (take b is).0 is (bag_get b is + v) = acc_at b is v: what was taken is put back. NULL: it isn't. */
static Node *put_back(World *w, IrType *t, Node **ops, int n) {
  const Node *take = ops[0]->op == OP_GET && ops[0]->attr.i == 0 ? ops[0]->ops[0] : NULL;
  if (!take || take->op != OP_TAKE || take->nops != n - 1) return NULL;
  for (int k = 1; k < n - 1; k++)
    if (take->ops[k] != ops[k]) return NULL;
  Node *v = ops[n - 1], *rest = NULL;
  bool sum = v->op == OP_CADD;
  for (int side = 0; side < 1 + sum; side++) {
    const Node *x = sum ? v->ops[side] : v;
    bool taken = x->op == OP_BAG_GET && x->nops == take->nops;
    for (int k = 0; taken && k < x->nops; k++) taken = x->ops[k] == take->ops[k];
    if (taken) rest = sum ? v->ops[1 - side] : ir_zero(w, v->type);
  }
  if (!rest) return NULL;
  Node **all = NEW_ARRAY(w->arena, Node *, n);
  for (int k = 0; k < n; k++) all[k] = k == 0 ? take->ops[0] : k == n - 1 ? rest : ops[k];
  return ir_make(w, OP_ACC_AT, t, all, n);
}

/* x, with arrays in it where the accumulator type t has bags, as one of that type. */
static Node *emptied(World *w, IrType *t, Node *x) {
  if (x->type == t) return x;
  if (t->kind != T_TUPLE) return ir_make(w, OP_TO_BAG, t, &x, 1);
  Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
  for (int i = 0; i < t->n; i++) xs[i] = emptied(w, t->args[i], ir_get(w, x, i));
  return ir_tuple(w, t, xs);
}

/* What an operation on a bag is equal to; NULL: nothing simpler. ops: bag, dims…, indices… */
static Node *bag_identity(World *w, Op op, IrType *t, Node **ops, int n) {
  Node *bag = n ? ops[0] : NULL;
  switch (op) {
  case OP_BAG_GET: {
    int rank = ir_rank(bag->type);
    if (bag->op == OP_ZERO) return ir_zero(w, t);
    if (bag->op == OP_TO_BAG) return emptied(w, t, ir_index(w, bag->ops[0], ops + 1 + rank, n - 1 - rank));
    return NULL;
  }
  case OP_FILL_LIKE: return bag->op == OP_TO_BAG && bag->ops[0]->type == t ? bag->ops[0] : NULL;
  case OP_FILL:
    if (bag->op == OP_TO_BAG) return bag->ops[0];
    if (bag->op == OP_ZERO) return ir_zeros(w, t, ops + 1, 0);
    for (int k = 0; bag->op == OP_CADD && k < 2; k++)
      if (is_empty_array(bag->ops[k])) {
        ops[0] = bag->ops[1 - k];
        return ir_make(w, op, t, ops, n);
      }
    return NULL;
  case OP_ACC_AT:
  case OP_CUPDATE: {
    Node *v = ops[n - 1];
    bool none = v->op == OP_ZERO || is_float_const(v, 0);
    if (none && (op == OP_ACC_AT || bag->op == OP_ZERO)) return bag;
    return op == OP_ACC_AT ? put_back(w, t, ops, n) : NULL;
  }
  case OP_BAG_SLICE:
  case OP_SHIFT:
  case OP_BAG_RESHAPE: return bag->op == OP_ZERO ? ir_zero(w, t) : NULL;
  case OP_TAKE:
    if (bag->op == OP_ZERO) return ir_pair(w, bag, ir_zero(w, t->args[1]));
    return NULL;
  default: return NULL;
  }
}

Node **ir_dims(World *w, Node *array) {
  int n = ir_rank(array->type);
  Node **dims = NEW_ARRAY(w->arena, Node *, n + 1);
  for (int i = 0; i < n; i++) dims[i] = ir_len(w, array, i);
  return dims;
}

Node *ir_bag(World *w, Op op, IrType *t, Node *bag, Node **rest, int n, Node *v) {
  Node **ops = with_indices(w, bag, NULL, 0, rest, n, 1);
  if (v) ops[n + 1] = v;
  return ir_make(w, op, t, ops, n + 1 + (v != NULL));
}

Node *ir_bag_reshape(World *w, IrType *t, Node *bag, Node **from, int nfrom, Node **to, int nto) {
  if (bag->op == OP_ZERO) return ir_zero(w, t);
  Node **ops = with_indices(w, bag, from, nfrom, to, nto, 0);
  return ir_intern(w, &(Node){.op = OP_BAG_RESHAPE, .type = t, .ops = ops, .nops = 1 + nfrom + nto, .attr.i = nfrom});
}

Node *ir_bag_get(World *w, Node *bag, Node *array, Node *i) {
  int n = ir_rank(array->type);
  Node **rest = ir_dims(w, array);
  rest[n] = i;
  return ir_bag(w, OP_BAG_GET, bag->type->args[0], bag, rest, n + 1, NULL);
}

static IrType *filled_type(World *w, IrType *bag) {
  return bag->kind == T_BAG ? ir_array_type(w, filled_type(w, bag->args[0])) : bag;
}

static IrType *map_parts(World *w, IrType *tuple, IrType *(*map)(World *w, IrType *t)) {
  IrType **ts = NEW_ARRAY(w->arena, IrType *, tuple->n);
  for (int i = 0; i < tuple->n; i++) ts[i] = map(w, tuple->args[i]);
  return ir_tuple_type(w, ts, tuple->names, tuple->n);
}

static IrType *emptied_type(World *w, IrType *t) {
  if (t->kind == T_TUPLE) return map_parts(w, t, emptied_type);
  return t->kind == T_ARRAY ? ir_bag_type(w, emptied_type(w, t->args[0])) : t;
}

IrType *ir_dense_type(World *w, IrType *t) {
  if (t->kind == T_TUPLE) return map_parts(w, t, ir_dense_type);
  return t->kind == T_BAG ? ir_array_type(w, ir_dense_type(w, t->args[0])) : t;
}

Node *ir_fill(World *w, Node *bag, Node *like) {
  if (bag->type->kind != T_BAG) return bag;
  return ir_bag(w, OP_FILL, filled_type(w, bag->type), bag, ir_dims(w, like), ir_rank(like->type), NULL);
}

Node *ir_fill_like(World *w, Node *bag, Node *like) {
  if (ir_is_plain(ir_base(bag->type))) return ir_fill(w, bag, like);
  return ir_make(w, OP_FILL_LIKE, ir_dense_type(w, bag->type), (Node *[]){bag, like}, 2);
}

Node *ir_to_bag(World *w, Node *array) {
  if (array->type->kind != T_ARRAY) return array;
  return ir_make(w, OP_TO_BAG, emptied_type(w, array->type), &array, 1);
}

/* ---- The generic constructor ------------------------------------------------------------------------ */
Node *ir_make(World *w, Op op, IrType *t, Node **ops, int n) {
  switch (op) {
  case OP_TUPLE: return ir_tuple(w, t, ops);
  case OP_AFTER:
  case OP_CADD: return ir_op2(w, op, ops[0], ops[1]);
  case OP_STOP: return ir_op1(w, op, ops[0]);
  case OP_SELECT:
  case OP_FMA: return ir_op3(w, op, ops[0], ops[1], ops[2]);
  case OP_INDEX: return ir_index(w, ops[0], ops + 1, n - 1);
  case OP_BYTE: return ir_byte(w, ops[0], ops[1]);
  case OP_SLICE: return ir_slice(w, ops[0], ops[1], ops[2]);
  default: break;
  }
  if ((op_flags[op] & OPF_S) && !(op_flags[op] & OPF_F) && op != OP_LEN)
    return n == 1 ? ir_normal1(w, op, ops[0]) : ir_normal2(w, op, ops[0], ops[1]);
  Node *simpler = bag_identity(w, op, t, ops, n);
  return simpler ? simpler : ir_raw(w, op, t, ops, n);
}

static Node *rebuild_apply(World *w, const Node *old, Node **ops) {
  return ir_apply(w, ops[0], ops[1], old->nops == 3 ? ops[2] : NULL, old->site);
}

static Node *rebuild_derivative(World *w, const Node *old, Node **ops) {
  int own = old->op == OP_JVP ? 3 : 2;
  Node *token = old->nops > own ? ops[own] : NULL;
  if (old->op == OP_JVP) return ir_jvp(w, ops[0], ops[1], ops[2], token, old->site);
  if (old->op == OP_VJP) return ir_vjp(w, ops[0], ops[1], token, old->site);
  return ir_checkpoint(w, ops[0], ops[1], token, old->site);
}

static Node *rebuild_loop(World *w, const Node *old, Node **ops, Graph **graphs) {
  const LoopInfo *l = old->loop;
  Node *loop = ir_loop_over(w, l, ops, graphs[0], l->has_cond ? graphs[1] : NULL, old->site);
  if (!l->sized || (loop->op == OP_LOOP && loop->loop->sized == l->sized)) return loop;
  Node **xs = NEW_ARRAY(w->temp, Node *, loop->type->n);
  for (int k = 0; k < loop->type->n; k++) {
    int stack = k - loop_slots(l);
    xs[k] = ir_get(w, loop, k);
    if (stack >= 0) xs[k] = ir_sized_as(w, l, ops + loop_first(l), old->graphs[0], stack, xs[k]);
  }
  return ir_tuple(w, loop->type, xs);
}

/* INJ and UNINJ serve variants and, with a graph, environments. */
static Node *rebuild_sum(World *w, const Node *old, Node **ops) {
  if (old->ngraphs) return ir_env(w, (Op)old->op, old->type, old->graphs[0], ops[0]);
  if (old->op == OP_INJ) return ir_inj(w, old->type, (int)old->attr.i, ops[0]);
  return ir_uninj(w, ops[0], (int)old->attr.i);
}

/* A sum that isn't to be contracted (opt/contract.c). */
static bool is_apart(const Node *n) { return (n->op == OP_FADD || n->op == OP_FSUB) && n->attr.i; }

Node *ir_placeless(World *w, const Node *old, Node **ops, Graph **graphs) {
  Node copy = *old;
  copy.ops = ops;
  copy.graphs = graphs;
  copy.site = 0;
  return ir_intern(w, &copy);
}

Node *ir_rebuild(World *w, const Node *old, Node **ops, Graph **graphs) {
  int n = old->nops;
  if (ir_is_constant(old) && !old->ngraphs) return (Node *)old;
  switch ((Op)old->op) {
  case OP_PARAM: return (Node *)old;
  case OP_GLOBAL: return ir_global(w, (int)old->attr.i);
  case OP_AFTER: return after(w, ops[0], ops[1], (Waits)old->attr.i);
#include "ir/scalar_cases.h"
    return ir_placed(w, is_apart(old) ? ir_apart(w, old, ops) : ir_make(w, (Op)old->op, old->type, ops, n), old->site);
  case OP_GRAPH_ID: return ir_graph_id(w, graphs[0]);
  case OP_GET: return ir_get(w, ops[0], (int)old->attr.i);
  case OP_INJ:
  case OP_UNINJ: return rebuild_sum(w, old, ops);
  case OP_CLOSURE: return ir_closure(w, graphs[0], old->type, ops, n);
  case OP_CLOSURE_CAP: return ir_closure_cap(w, ops[0], graphs[0], (int)old->attr.i);
  case OP_APPLY: return rebuild_apply(w, old, ops);
  case OP_CALL: return ir_call(w, old->attr.func, ops, old->site);
  case OP_SWITCH: return ir_switch_over(w, ops, n, graphs, old->ngraphs);
  case OP_LOOP: return rebuild_loop(w, old, ops, graphs);
  case OP_VJP:
  case OP_JVP:
  case OP_CHECKPOINT: return rebuild_derivative(w, old, ops);
#include "ir/check_cases.h"
    return make_check(w, (Op)old->op, ops[0], n > 1 ? ops[1] : NULL, n > 2 ? ops[2] : NULL, old->attr.text, old->site);
  case OP_CHECK: return ir_assert(w, ops[0], ops[1], old->site);
  case OP_MARK: return ir_mark(w, old->attr.text, ops[0], old->site);
  case OP_TRAP_NAN:
  case OP_TRAP_INF: return ir_trap(w, (Op)old->op, old->attr.text, ops, n, old->site);
  case OP_FAIL: return ir_fail(w, (FailKind)old->attr.i, old->type, ops[0], old->site);
  case OP_ARRAY: return ir_array(w, old->type->args[0], ops, n, old->site);
  case OP_LEN: return ir_len(w, ops[0], (int)old->attr.i);
  case OP_UPDATE: return ir_update(w, ops[0], ops + 1, n - 2, ops[n - 1]);
  case OP_ZEROS: return ir_zeros(w, old->type, ops, old->site);
  case OP_RESHAPE: return ir_reshape(w, old->type, ops[0], ops + 1, old->site);
  case OP_RT:
    return normal_rt(w, &(Node){.op = OP_RT,
                                .type = old->type,
                                .ops = ops,
                                .nops = n,
                                .site = old->site,
                                .attr.rt = old->attr.rt,
                                .type_arg = old->type_arg});
  case OP_BAG_RESHAPE: {
    int from = (int)old->attr.i;
    return ir_bag_reshape(w, old->type, ops[0], ops + 1, from, ops + 1 + from, n - 1 - from);
  }
#include "ir/leaf_cases.h"
  case OP_TUPLE:
  case OP_TAG:
  case OP_STOP:
  case OP_CLOSURE_ID:
  case OP_BYTE:
  case OP_INDEX:
  case OP_SLICE:
  case OP_CADD:
  case OP_ACC_AT:
  case OP_BAG_GET:
  case OP_TAKE:
  case OP_CUPDATE:
  case OP_BAG_SLICE:
  case OP_SHIFT:
  case OP_FILL:
  case OP_FILL_LIKE:
  case OP_TO_BAG: return ir_make(w, (Op)old->op, old->type, ops, n);
  }
  return (Node *)old;
}
