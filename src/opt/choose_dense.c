/* SPDX-License-Identifier: MIT */
/* Chooses the dense representation of accumulators: an accumulator becomes an array (FILL) before a loop whose
 * additions pay for that. opt_dense then turns what is done with it into loads and stores.
 *
 *   b; loop i < n: b += (i, x i)   →   b' = to_bag (fill b n); loop i < n: b' += (i, x i)
 *
 * The loop pays if its iterations, with those of the loops inside, are about as many as the accumulator has entries, or
 * one for each LIMIT_SPARSE entries of an empty one. So does a loop that captures an accumulator and reads it so often.
 * An accumulator that isn't empty and that each iteration takes an entry out of (TAKE) is filled if the loop runs: the
 * first TAKE would fill it. One that the loop captures or carries and that each iteration fills is filled once, before
 * the loop: FILL in the body → FILL outside. What is filled in order by the loop's own index becomes a stacked output
 * instead (mapped_outputs.c). */
#include "facts/ir_loop_facts.h"
#include "ir/remarks.h"
#include "ir/world.h"
#include "opt/opt.h"

typedef struct Bags {
  World *w;
  bool changed;
} Bags;

/* The loop's operands without the trip count: carried, accumulators, slices, captures. */
typedef struct View {
  World *w;
  const LoopInfo *l;
  Node *n, **ops;
  Graph *body;
  Site site;
  int slots, own; /* state; parameters of the body before its captures */
  LoopFacts *facts;
} View;

static View view_of(World *w, const Node *n, Node **ops, Graph *body) {
  const LoopInfo *l = n->loop;
  Node **in = ops + loop_first(l);
  LoopFacts *facts = NEW(w->temp, LoopFacts);
  *facts = loop_facts(w, l, in, body, false);
  return (View){w, l, l->has_cond ? NULL : ops[0], in, body, n->site, loop_slots(l), 1 + loop_captures(l), facts};
}

/* ---- Entries taken out ------------------------------------------------------------------- */
/* Is bag x of a graph more than null, if parameter `full` (-1: none) is, and loops that add to it run? */
static bool not_null(World *w, const Node *x, int full, int depth) {
  if (depth > LIMIT_BAG_CHAIN) return !limit_reached(w->arena, AT_BAG_CHAIN);
  const Node *whole = x->op == OP_GET ? x->ops[0] : NULL;
  switch (x->op) {
  case OP_TO_BAG:
  case OP_ACC_AT: return true;
  case OP_PARAM: return x->attr.i == full;
  case OP_CUPDATE: return not_null(w, x->ops[0], full, depth + 1);
  case OP_CADD: return not_null(w, x->ops[0], full, depth + 1) || not_null(w, x->ops[1], full, depth + 1);
  case OP_GET: break;
  default: return false;
  }
  if (whole->op == OP_TAKE) return x->attr.i == 0 && not_null(w, whole->ops[0], full, depth + 1);
  int k = (int)x->attr.i;
  if (whole->op != OP_LOOP || k >= loop_slots(whole->loop)) return false;
  const Node *r = whole->graphs[0]->result;
  bool adds = k >= whole->loop->ncarried && r->op == OP_TUPLE && not_null(w, r->ops[k], 1 + k, depth + 1);
  if (adds) return true;
  if (!not_null(w, whole->ops[k + loop_first(whole->loop)], full, depth + 1)) return false;
  return k >= whole->loop->ncarried || (r->op == OP_TUPLE && not_null(w, r->ops[k], 1 + k, depth + 1));
}

/* The TAKE by which x, the next value of an accumulator, is made from parameter k, in this graph or one of its
 * loops: its dimensions in terms of the body of `v`, written to dims. */
static bool find_take(const View *v, const Node *x, int k, Node **dims, int depth) {
  const Node *whole = x->op == OP_GET ? x->ops[0] : NULL;
  if (depth > LIMIT_BAG_CHAIN) return !limit_reached(v->w->arena, AT_BAG_CHAIN);
  if (x->op == OP_ACC_AT || x->op == OP_CUPDATE) return find_take(v, x->ops[0], k, dims, depth + 1);
  if (!whole) return false;
  if (whole->op == OP_TAKE && x->attr.i == 0) {
    int rank = ir_rank(x->type);
    for (int i = 0; i < rank; i++)
      if (!(dims[i] = loop_invariant(v->facts, whole->ops[1 + i]))) return false;
    return true;
  }
  if (whole->op != OP_LOOP || x->attr.i >= loop_slots(whole->loop) || whole->graphs[0]->result->op != OP_TUPLE)
    return false;
  if (x->attr.i >= whole->loop->ncarried)
    return find_take(v, whole->ops[x->attr.i + loop_first(whole->loop)], k, dims, depth + 1);
  View inner = view_of(v->w, whole, whole->ops, whole->graphs[0]);
  int rank = ir_rank(x->type);
  if (!find_take(&inner, inner.body->result->ops[x->attr.i], (int)x->attr.i, dims, depth + 1)) return false;
  for (int i = 0; i < rank; i++)
    if (!(dims[i] = loop_invariant(v->facts, dims[i]))) return false;
  return true;
}

/* ---- As many iterations as entries ---------------------------------------------------------- */
/* About how large a number is: of * times / over. */
typedef struct Magnitude {
  const Node *of;
  int64_t times, over;
} Magnitude;

static Magnitude magnitude_of(const Node *x, int depth);

/* Of a x - b x = (a - b) x: the difference's magnitude; false: x is none. */
static bool is_difference(const Node *x, Magnitude *m, int depth) {
  if (x->op != OP_ISUB || depth > LIMIT_DIFFERENCES) return false;
  Magnitude a = magnitude_of(x->ops[0], depth + 1), b = magnitude_of(x->ops[1], depth + 1);
  *m = (Magnitude){a.of, a.times - b.times, 1};
  return a.of == b.of && a.of->op != OP_INT && a.over == 1 && b.over == 1 && m->times > 0;
}

/* x without a small constant that is added, or is a factor or divisor, or what makes it more: n for n - 1, max n 0. */
static Magnitude magnitude_of(const Node *x, int depth) {
  for (Magnitude m = {fact_unchecked(x), 1, 1}, inner;; m.of = fact_unchecked(m.of->ops[0])) {
    bool scales = m.of->op == OP_IMUL || m.of->op == OP_IDIV;
    bool adds = m.of->op == OP_IADD || m.of->op == OP_ISUB || m.of->op == OP_ISUBS || m.of->op == OP_IMAX;
    const Node *c = adds || scales ? fact_unchecked(m.of->ops[1]) : m.of;
    if (c == m.of || c->op != OP_INT || c->attr.i > LIMIT_SMALL_SIZE || c->attr.i < (scales ? 1 : -LIMIT_SMALL_SIZE)) {
      bool found = m.times == 1 && is_difference(m.of, &inner, depth);
      return found ? (Magnitude){inner.of, inner.times, m.over} : m;
    }
    int64_t *factor = m.of->op == OP_IMUL ? &m.times : &m.over;
    if (scales && *factor > INT32_MAX / LIMIT_SMALL_SIZE) return m;
    if (scales) *factor *= c->attr.i;
  }
}
static Magnitude magnitude(const Node *x) { return magnitude_of(x, 0); }

/* Where entries are added: the dimensions, the numbers of iterations around it, and how many entries an iteration of
 * the innermost loop changes. */
typedef struct Adding {
  Node **dims, *trips[LIMIT_BAG_LOOPS];
  int rank, ntrips, each;
} Adding;

static bool find_adding(World *w, Node *x, Adding *out, int depth);

/* What a number x of iterations that depends on the index of the loop around comes to at one of that loop's ends: i or
 * n - i iterations for each of n are about n for each. NULL: it depends on more, or that says nothing. */
static Node *trips_at_end(const View *v, Node *x) {
  if (loop_index_form(v->facts, x)->reads_state) return NULL;
  Node **args = loop_outer_args(v->facts);
  Node *most = NULL;
  for (int end = 0; end < 2; end++) {
    args[0] = end ? v->n : ir_int(v->w, 0);
    Node *trips = ir_substitute(v->w, x, args, v->body->nparams, 0);
    const Node *m = magnitude(trips).of;
    if (m->op != OP_INT) return trips;
    if (m->attr.i > LIMIT_SMALL_SIZE && (!most || m->attr.i > magnitude(most).of->attr.i)) most = trips;
  }
  return most;
}

static bool is_ordered(const Node *x) { return x->op == OP_AFTER || op_flags[x->op] & OPF_V; }

/* x in terms of the graph around, without the checks that it waits for there; NULL. */
static Node *outside_without_checks(const View *v, Node *x) {
  for (;; x = x->ops[0]) {
    Node *out = loop_invariant(v->facts, x);
    if (out || !is_ordered(x)) return out;
  }
}

/* What x is checked to be equal to, among what `among` is ordered after, in terms of the graph around; NULL. */
static Node *checked_equal(const View *v, const Node *x, const Node *among, int *steps) {
  if (!is_ordered(among) || --*steps < 0) return NULL;
  for (int k = 0; k < 2 && among->op == OP_CHECK_SIZE; k++) {
    Magnitude m = magnitude(x), n = magnitude(among->ops[k]);
    bool equal = m.of == n.of && m.times == n.times && m.over == n.over;
    Node *out = equal ? outside_without_checks(v, among->ops[1 - k]) : NULL;
    if (out) return out;
  }
  for (int k = 0; k < among->nops; k++) {
    Node *out = checked_equal(v, x, among->ops[k], steps);
    if (out) return out;
  }
  return NULL;
}

/* How often a loop inside runs, in terms of the graph around; NULL: that isn't about the same in all iterations. Of
 * numbers checked to be equal either will do. */
static Node *trips_outside(const View *v, Node *x) {
  int steps = LIMIT_CHECKED_EQUAL;
  Node *out = outside_without_checks(v, x);
  return out ? out : checked_equal(v, fact_unchecked(x), x, &steps);
}

/* What was found in the loop's body, in terms of the graph around; false: the dimensions aren't known there. */
static bool seen_outside(const View *v, Adding *out) {
  Adding in = *out;
  *out = (Adding){NEW_ARRAY(v->w->arena, Node *, in.rank), {v->n}, in.rank, 1, in.each};
  for (int i = 0; i < in.rank; i++)
    if (!(out->dims[i] = loop_invariant(v->facts, in.dims[i]))) return false;
  if (in.ntrips > LIMIT_BAG_LOOPS - out->ntrips) limit_reached(v->w->arena, AT_BAG_LOOPS);
  for (int i = 0; i < in.ntrips && out->ntrips < LIMIT_BAG_LOOPS; i++) {
    Node *trips = trips_outside(v, in.trips[i]);
    if (!trips) trips = trips_at_end(v, in.trips[i]);
    if (trips) out->trips[out->ntrips++] = trips;
  }
  return true;
}

/* The same for slot k of a loop. */
static bool find_in_loop(const View *v, int k, Adding *out, int depth) {
  if (!v->n || !find_adding(v->w, ir_get(v->w, v->body->result, k), out, depth + 1)) return false;
  return seen_outside(v, out);
}

/* Where numbers of the bag that is captured as input k are read, likewise. */
static bool find_reading(const View *v, int k, Adding *out) {
  IrType *t = v->body->params[1 + k];
  if (!v->n) return false;
  FOR_USES (use, graph_uses(v->w, v->body), ir_param(v->w, 1 + k, t)) {
    const Node *x = use->user;
    bool reads = x->op == OP_BAG_GET && x->type->kind == T_FLOAT;
    if (reads) *out = (Adding){x->ops + 1, {NULL}, ir_rank(t), 0, 1};
    if (x->op == OP_LOOP) {
      View in = view_of(v->w, x, x->ops, x->graphs[0]);
      int j = use->operand - loop_first(in.l);
      reads = j >= in.own - 1 && find_reading(&in, j, out);
    }
    if (reads && seen_outside(v, out)) return true;
  }
  return false;
}

/* The same for a branch, in terms of the graph around. How often loops in it run depends on the way it takes. */
static bool find_in_arms(World *w, const Node *s, int k, Adding *out, int depth) {
  for (int i = 0; i < s->ngraphs; i++) {
    Node *x = s->graphs[i]->result;
    if (!find_adding(w, k >= 0 ? ir_get(w, x, k) : x, out, depth + 1)) continue;
    Node **inner = out->dims;
    bool all = true;
    out->dims = NEW_ARRAY(w->arena, Node *, out->rank);
    out->ntrips = 0;
    for (int d = 0; d < out->rank; d++) {
      const Node *of = inner[d]->op == OP_LEN ? inner[d]->ops[0] : inner[d];
      all &= of->op == OP_PARAM || of->op == OP_INT;
      if (all) out->dims[d] = ir_substitute(w, inner[d], s->ops + 1, s->nops - 1, 0);
    }
    if (all) return true;
  }
  return false;
}

/* A row that is added is as many additions as it has entries. */
static void add_row(World *w, const Node *acc_at, Adding *out) {
  const Node *row = acc_at->ops[acc_at->nops - 1];
  if (row->op == OP_TO_BAG) out->trips[out->ntrips++] = ir_len(w, row->ops[0], 0);
  if (row->op == OP_SHIFT && row->ops[0]->op == OP_TO_BAG) out->trips[out->ntrips++] = row->ops[row->nops - 1];
}

/* On the way on which bag x was made: the innermost loop counts, where there is one. */
static bool find_adding(World *w, Node *x, Adding *out, int depth) {
  Node *whole = x->op == OP_GET ? x->ops[0] : x;
  if (depth > LIMIT_BAG_CHAIN) return !limit_reached(w->arena, AT_BAG_CHAIN);
  switch (whole->op) {
  case OP_LOOP: {
    View v = view_of(w, whole, whole->ops, whole->graphs[0]);
    int k = (int)x->attr.i;
    if (k >= v.slots) return false;
    return find_in_loop(&v, k, out, depth) || find_adding(w, v.ops[k], out, depth + 1);
  }
  case OP_SWITCH: return find_in_arms(w, whole, x == whole ? -1 : (int)x->attr.i, out, depth);
  case OP_CADD: return find_adding(w, x->ops[0], out, depth + 1) || find_adding(w, x->ops[1], out, depth + 1);
  case OP_ACC_AT:
  case OP_CUPDATE:
  case OP_TAKE: {
    IrType *t = whole->ops[0]->type;
    if (t->kind != T_BAG || (x != whole && x->attr.i != 0)) return false;
    if (find_adding(w, whole->ops[0], out, depth + 1)) {
      out->each += !out->ntrips && out->each < LIMIT_SMALL_SIZE;
      return true;
    }
    *out = (Adding){whole->ops + 1, {NULL}, ir_rank(t), 0, 1};
    if (whole->op == OP_ACC_AT) add_row(w, whole, out);
    return true;
  }
  default: return false;
  }
}

static bool is_length(const Node *x) {
  const Node *n = fact_unchecked(x);
  if (n->op == OP_IMAX) return n->ops[1]->op == OP_INT && n->ops[1]->attr.i >= 0;
  return n->op == OP_LEN || (x->op == OP_CHECK_SIZE && is_length(x->ops[1]));
}

/* Is there about an iteration for each `share` entries? Also if there are more: those of `a ++ b` are those of either
 * and more. */
static bool as_many(const Node *trips, const Node *dim, int share) {
  while (trips->op == OP_AFTER) trips = trips->ops[0];
  if (trips->op == OP_CHECK_SIZE && (as_many(trips->ops[0], dim, share) || as_many(trips->ops[1], dim, share)))
    return true;
  if (trips->op == OP_IADD && is_length(trips->ops[0]) && is_length(trips->ops[1]))
    return as_many(trips->ops[0], dim, share) || as_many(trips->ops[1], dim, share);
  Magnitude m = magnitude(trips), n = magnitude(dim);
  if (m.of == n.of) return n.times * m.over <= share * m.times * n.over;
  return m.of->op == OP_INT && n.of->op == OP_INT && m.of->attr.i >= n.of->attr.i / 2;
}

/* Are there about as many iterations as entries, or one for each `share` of them? */
static bool trips_cover_entries(const Adding *a, int share) {
  bool used[LIMIT_BAG_LOOPS] = {false};
  int64_t few = LIMIT_SMALL_SIZE;
  for (int i = 0; i < a->rank; i++) {
    const Node *dim = magnitude(a->dims[i]).of;
    int j = 0;
    while (j < a->ntrips && (used[j] || !as_many(a->trips[j], a->dims[i], share))) j++;
    if (j < a->ntrips) used[j] = true;
    else if (dim->op != OP_INT || dim->attr.i > few) return false;
    else few /= dim->attr.i > 1 ? dim->attr.i : 1;
  }
  return true;
}

/* How many entries of slot k, to which the loop adds like this, may come to an iteration. */
static int share_of(const View *v, int k, const Adding *a) {
  return a->each * (opt_is_empty(v->ops[k]) ? LIMIT_SPARSE : 1);
}

static bool is_bag_of_numbers(const Node *x) {
  return x->type->kind == T_BAG && ir_is_plain(ir_base(x->type)) && x->op != OP_TO_BAG;
}

/* Does anything but its own steps keep slot k from being an array? Its dimensions if not. `idle`: only if the loop
 * runs. */
static Node **fillable(const View *v, int k, bool *idle) {
  IrType *t = v->ops[k]->type;
  if (!is_bag_of_numbers(v->ops[k])) return NULL;
  if (!v->n) ir_remark(v->w, "dense", v->site, "not dense: how often the loop runs isn't known beforehand");
  if (!v->n) return NULL;
  Node *next = ir_get(v->w, v->body->result, k);
  if (!fact_depends(v->w, next, ir_param(v->w, 1 + k, t))) return NULL;
  Adding a;
  bool found = find_in_loop(v, k, &a, 0);
  if (found && trips_cover_entries(&a, share_of(v, k, &a))) return a.dims;
  ir_remark(v->w, "dense", v->site,
            found ? "not dense: the loop makes fewer iterations than the accumulator has entries"
                  : "not dense: the size of the accumulator isn't known before the loop");
  if (k >= v->l->ncarried || !not_null(v->w, v->ops[k], -1, 0)) return NULL;
  Node **dims = NEW_ARRAY(v->w->arena, Node *, ir_rank(t));
  *idle = true;
  return find_take(v, next, k, dims, 0) ? dims : NULL;
}

/* The dimensions of a bag that the loop captures, if it reads about as many numbers of it as that has; or any, and
 * nothing else needs the bag, `last`: it is what an array has come to that was made for this. */
static Node **fillable_capture(const View *v, int k, bool last) {
  const Node *bag = v->ops[k];
  if (bag->type->kind != T_BAG || !ir_is_plain(ir_base((IrType *)bag->type)) || opt_is_empty(bag)) return NULL;
  Adding a;
  return bag->op != OP_TO_BAG && find_reading(v, k, &a) && (last || trips_cover_entries(&a, 1)) ? a.dims : NULL;
}

/* The dimensions of a captured bag that each iteration fills. */
static Node **filled_inside(const View *v, int k) {
  IrType *t = v->ops[k]->type;
  if (!v->n || t->kind != T_BAG || v->ops[k]->op == OP_TO_BAG) return NULL;
  FOR_USES (use, graph_uses(v->w, v->body), ir_param(v->w, 1 + k, t)) {
    const Node *fill = use->user;
    if (fill->op != OP_FILL || use->operand) continue;
    Node **dims = NEW_ARRAY(v->w->arena, Node *, fill->nops);
    int known = 1;
    while (known < fill->nops && (dims[known - 1] = loop_invariant(v->facts, fill->ops[known]))) known++;
    if (known == fill->nops) return dims;
  }
  return NULL;
}

/* The dimensions of a carried bag that each iteration fills before all else: it is carried as what it is filled to.
 * `idle`: only if the loop runs. */
static Node **refilled(const View *v, int k, bool *idle) {
  Node *start = v->ops[k], *next = ir_get(v->w, v->body->result, k);
  if (!v->n || k >= v->l->ncarried || start->type->kind != T_BAG || next->op == OP_TO_BAG) return NULL;
  const NodeUse *use = uses_only(graph_uses(v->w, v->body), ir_param(v->w, 1 + k, start->type));
  if (!use || use->user->op != OP_FILL) return NULL;
  for (int i = 1; i < use->user->nops; i++)
    if (!loop_invariant(v->facts, use->user->ops[i])) return NULL;
  *idle |= start->op != OP_TO_BAG;
  return use->user->ops + 1;
}

/* Fills the next value of slot k, too. Its dimensions in terms of the graph around. */
static Node **fill_next(View *v, int k, Node **dims) {
  World *w = v->w;
  int parts = v->slots + v->l->nstacked;
  Node **xs = NEW_ARRAY(w->arena, Node *, parts + 1);
  for (int i = 0; i < parts; i++) xs[i] = ir_get(w, v->body->result, i);
  int rank = ir_rank(xs[k]->type);
  xs[k] = ir_to_bag(w, ir_bag(w, OP_FILL, ir_dense_type(w, xs[k]->type), xs[k], dims, rank, NULL));
  Node **around = NEW_ARRAY(w->arena, Node *, rank + 1);
  for (int i = 0; i < rank; i++) around[i] = loop_invariant(v->facts, dims[i]);
  v->body = ir_graph(w, v->body->params, v->body->nparams, ir_record(w, xs, parts), v->body->name);
  return around;
}

/* The loop whose slots and captures with `dims` start as arrays. */
static Node *start_filled(World *w, const Node *n, Node **ops, Graph *body, Node ***dims) {
  LoopEdit *e = edit_loop(w, n, ops, &body);
  for (int k = 0; k < loop_inputs(n->loop); k++) {
    IrType *t = e->ops[k]->type;
    if (dims[k])
      e->ops[k] = ir_to_bag(w, ir_bag(w, OP_FILL, ir_dense_type(w, t), e->ops[k], dims[k], ir_rank(t), NULL));
  }
  return edit_value(e);
}

/* ---- Sizes that the loop's trip count says nothing of ------------------------------------------------------------ */
/* Is x computed before loop n in any case, or with few operations that can't fail? */
static bool is_at_hand(const View *v, const Node *x, int depth) {
  if (!(x->flags & (NODE_FAILS | NODE_COSTLY | NODE_CALLS))) return true;
  for (int k = -loop_first(v->l); k < loop_inputs(v->l); k++)
    if (v->ops[k] == x) return true;
  if (!(op_flags[x->op] & OPF_S) || op_flags[x->op] & OPF_F || depth > LIMIT_DIFFERENCES) return false;
  for (int k = 0; k < x->nops; k++)
    if (!is_at_hand(v, x->ops[k], depth + 1)) return false;
  return true;
}

/* The product of these numbers, each at most `most`, without the checks that they wait for; NULL if one isn't at hand.
 * Where it wraps, another choice is made, which is right, too. */
static Node *product(const View *v, Node **xs, int n, int64_t most) {
  Node *all = ir_int(v->w, 1);
  for (int i = 0; i < n; i++) {
    Node *x = fact_unchecked(xs[i]);
    if (!is_at_hand(v, x, 0)) return NULL;
    all = ir_op2(v->w, OP_IMUL, all, ir_op2(v->w, OP_IMIN, x, ir_int(v->w, most)));
  }
  return all;
}

Node **opt_dims_if_few(World *w, const Node *n, Node **ops, Graph *body, int k, Node **few) {
  View v = view_of(w, n, ops, body);
  Adding a;
  if (!v.n || k >= v.slots || !is_bag_of_numbers(v.ops[k])) return NULL;
  Node *next = ir_get(w, body->result, k);
  if (!fact_depends(w, next, ir_param(w, 1 + k, next->type)) || !find_in_loop(&v, k, &a, 0)) return NULL;
  if (a.rank == 1 && a.ntrips == 1 && magnitude(a.dims[0]).of == magnitude(a.trips[0]).of) return NULL;
  Node *entries = product(&v, a.dims, a.rank, LIMIT_ELEMENTS),
       *trips = product(&v, a.trips, a.ntrips, LIMIT_COUNTED_TRIPS);
  if (!entries || !trips || trips->op == OP_INT || entries->op == OP_INT) return NULL;
  *few = ir_op2(w, OP_ILE, ir_op2(w, OP_IDIV, entries, ir_int(w, share_of(&v, k, &a))), trips);
  return a.dims;
}

Node *opt_start_filled(World *w, const Node *n, Node **ops, Graph *body, Node ***dims) {
  return start_filled(w, n, ops, body, dims);
}

static Node *filled_start(World *w, Uses *uses, const Node *n, Node **ops, Graph **graphs) {
  View v = view_of(w, n, ops, graphs[0]);
  int inputs = loop_inputs(v.l);
  Node ***dims = NEW_ARRAY(w->arena, Node **, inputs + 1);
  bool any = false, unless_idle = false;
  for (int k = 0; k < v.slots; k++) {
    Node **refilling = refilled(&v, k, &unless_idle);
    dims[k] = refilling ? fill_next(&v, k, refilling) : fillable(&v, k, &unless_idle);
    any |= dims[k] != NULL;
  }
  for (int k = v.own - 1; k < inputs; k++) {
    bool last = uses_count(uses, n->ops[k + loop_first(v.l)]) == 1;
    dims[k] = fillable_capture(&v, k, last);
    if (!dims[k] && (dims[k] = filled_inside(&v, k))) unless_idle |= v.n->op != OP_INT;
    any |= dims[k] != NULL;
  }
  if (!any) return NULL;
  if (!unless_idle) return start_filled(w, n, ops, v.body, dims);
  BranchBuilder *b = branch_open(w, ir_op2(w, OP_ILT, ir_int(w, 0), v.n));
  Node **in = NEW_ARRAY(w->temp, Node *, n->nops);
  for (int k = 0; k < inputs; k++) in[1 + k] = branch_add(b, ops[1 + k]);
  for (int k = 0; k < inputs; k++)
    for (int i = 0; dims[k] && i < ir_rank(ops[1 + k]->type); i++) dims[k][i] = branch_add(b, dims[k][i]);
  in[0] = branch_add(b, ops[0]);
  Node *runs = start_filled(w, n, in, v.body, dims);
  in[0] = ir_int(w, 0);
  branch_arm(b, ir_rebuild(w, n, in, &v.body), NULL);
  branch_arm(b, runs, NULL);
  return branch_close(b);
}

static void *bags_begin(void *user, Graph *g) { return graph_uses(((Bags *)user)->w, g); }

static Node *bags_node(void *user, Rewriter *r, void *uses, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  Bags *b = user;
  bool sum = n->op == OP_CADD && n->type->kind == T_BAG;
  Node *x = sum                ? opt_start_value(b->w, uses, n, ops)
            : n->op == OP_LOOP ? opt_stacked_entries(b->w, n, ops, graphs)
                               : NULL;
  if (!x && n->op == OP_LOOP) x = filled_start(b->w, uses, n, ops, graphs);
  b->changed |= x != NULL;
  return x;
}

static Graph *bags_graph(void *user, Rewriter *r, Graph *g) {
  Bags *b = user;
  return rewrite_nodes(r, opt_early_dense(b->w, g, &b->changed));
}

Graph *opt_choose_dense(World *w, Graph *g, int round, bool *changed) {
  if (w->remarks) remark_round(w->remarks, round);
  Bags b = {.w = w};
  g = ir_rewrite(w, g, (RewritePass){.user = &b, .begin = bags_begin, .graph = bags_graph, .node = bags_node});
  *changed = b.changed;
  return g;
}
