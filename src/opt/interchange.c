/* SPDX-License-Identifier: MIT */
/* Loop interchange, where sums walk columns: a loop over i that sums up over j what lies side by side for neighbouring
 * i, and apart for neighbouring j, is cut in three, and the loops of the second part change places.
 *
 *   loop i < n: f i (sum of a[j, i] * v[j], j < m)
 *   →  s = zeros; loop j < m: loop i < n: s[i] += a[j, i] * v[j];  loop i < n: f i s[i]
 *
 * So memory is read in the order in which it lies, and additions don't wait for each other. Each sum adds up what it
 * did, in the same order; s is an accumulator, so a derivative, which reads what this reads, gains the same. The bound
 * of j may be i plus what doesn't change, as in a triangle, or that minus i: then the bounds of i depend on j.
 *
 * What the sum reads of iteration i is read again by the loop over j if that is a load or whole arithmetic. Other
 * numbers are made before, by the first of the three. Only sums that the loop makes in any case are taken out, not
 * those of branches. */
#include "facts/ir_loop_facts.h"
#include "ir/world.h"
#include "opt/opt.h"

typedef struct Nest {
  World *w;
  Node *outer, *inner; /* the loop over i; that over j, a node of its body */
  GraphBody *body;     /* of the outer one */
  int at;              /* the inner one's place in it */
  LoopFacts facts;     /* of the outer one */
  LoopFacts inside;    /* of the inner one */
  Nodes kept;          /* numbers of it that the first part makes */
  Node **made;         /* arrays of these */
  Node **sums;         /* arrays of what the loop over j makes */
} Nest;

static int first_capture(const Node *loop) { return 1 + loop_captures(loop->loop); }
static Graph *outer_body(const Nest *t) { return t->outer->graphs[0]; }
static Graph *inner_body(const Nest *t) { return t->inner->graphs[0]; }

/* ---- The order in which memory is read --------------------------------------------------------------------------- */
/* How a whole number follows the index of a loop: not at all, by 1 or -1 for each iteration, or otherwise. */
enum { STAYS = 0, OTHERWISE = 2 };

static int step_of(LoopFacts *f, const Node *x) {
  const IndexForm *form = loop_index_form(f, x);
  return form->affine && form->step >= -1 && form->step <= 1 ? (int)form->step : OTHERWISE;
}

/* How many of the reads in a graph are of places that don't lie side by side? */
static int apart(LoopFacts *f) {
  const GraphBody *b = graph_body(f->w, f->body);
  int n = 0;
  for (int i = 0; i < b->n; i++) {
    const Node *x = b->nodes[i];
    bool far = false;
    for (int k = 0; k < x->nops; k++) {
      int step = step_of(f, x->ops[k]);
      far |= step != STAYS && (k + 1 < x->nops || step == OTHERWISE);
    }
    n += x->op == OP_INDEX && far;
  }
  return n;
}

static bool pays(Nest *t) {
  IndexForm *params = NEW_ARRAY(t->w->temp, IndexForm, inner_body(t)->nparams);
  params[0].affine = true; /* j stays while i moves */
  for (int p = first_capture(t->inner); p < inner_body(t)->nparams; p++)
    params[p] = *loop_index_form(&t->facts, t->inner->ops[p]);
  LoopFacts along_i = loop_facts_inside(t->w, inner_body(t), params, true);
  return apart(&along_i) == 0 && apart(&t->inside) > 0;
}

/* ---- What can change places -------------------------------------------------------------------------------------- */
/* What the inner loop's iteration adds to sum k, as the last thing; NULL if it does otherwise. */
static Node *addend(const Nest *t, int k) { return fact_term(ir_get(t->w, inner_body(t)->result, k), 1 + k); }

/* Is it arithmetic and loads, but for additions of floats? */
static bool is_light(const Node *x) {
  if (x->op == OP_CADD) return x->type->kind == T_FLOAT;
  for (int k = 0; k < x->ngraphs; k++)
    if (x->graphs[k]->flags & NODE_COSTLY) return false;
  return ir_shape(x) != IR_LOOP && ir_shape(x) != IR_CALL && !(op_flags[x->op] & OPF_L);
}

/* Does it nothing but add to numbers which begin at zero, each time what depends on none of them? */
static bool only_sums(Nest *t) {
  const LoopInfo *l = t->inner->loop;
  if (l->has_cond || l->ncarried || l->nsliced || l->nstacked || !l->naccs) return false;
  GraphBody *b = graph_body(t->w, inner_body(t));
  for (int i = 0; i < b->n; i++)
    if (b->nodes[i] != inner_body(t)->result && !is_light(b->nodes[i])) return false;
  t->inside = loop_facts_of(t->w, t->inner, true);
  for (int k = 0; k < l->naccs; k++) {
    const Node *start = t->inner->ops[1 + k], *x = addend(t, k);
    if (start->op != OP_FLOAT || start->attr.f != 0 || !x || loop_index_form(&t->inside, x)->reads_state) return false;
  }
  return true;
}

/* Is x a scalar of whole numbers and lengths that can neither fail nor, with `small`, wrap? */
static bool is_bound(const Node *x, bool small) {
  if (x->op == OP_PARAM) return x->attr.i == 0 || !small;
  if (x->op == OP_LEN) return x->ops[0]->op == OP_PARAM;
  if (x->op == OP_INT) return x->attr.i == (int32_t)x->attr.i;
  if (x->op != OP_IADD && x->op != OP_ISUB && x->op != OP_IMAX && x->op != OP_IMIN) return false;
  return is_bound(x->ops[0], small) && is_bound(x->ops[1], small);
}

/* The inner loop's trip count, less than zero if that means none. */
static Node *bound(const Nest *t) {
  Node *n = t->inner->ops[0];
  bool clamped = n->op == OP_IMAX && n->ops[1]->op == OP_INT && n->ops[1]->attr.i == 0;
  return clamped ? n->ops[0] : n;
}

static bool has_bounds(Nest *t) {
  int step = step_of(&t->facts, bound(t));
  bool reads_index = loop_index_form(&t->facts, bound(t))->reads_index;
  return step != OTHERWISE && is_bound(bound(t), step != STAYS) && reads_index == (step != STAYS);
}

/* Is x, whose operands are known, to be computed again in the loop over j: a load, or whole arithmetic? */
static bool is_again(const Node *x) {
  if (ir_is_constant(x) || x->op == OP_INDEX || x->op == OP_GET || x->op == OP_AFTER) return true;
  bool whole = x->type->kind == T_INT || x->type->kind == T_BOOL;
  return whole && op_flags[x->op] & OPF_Q && op_flags[x->op] & OPF_S;
}

/* Finds what must be kept of what is needed of the outer loop's iteration; false if that can't be. */
static bool find_kept(Nest *t) {
  World *w = t->w;
  const GraphBody *b = t->body;
  Uses *uses = graph_uses(w, outer_body(t));
  bool *needed = NEW_ARRAY(w->temp, bool, b->n + 1);
  for (int p = first_capture(t->inner); p < inner_body(t)->nparams; p++)
    needed[uses_position(uses, t->inner->ops[p])] = true;
  for (int i = t->at - 1; i >= 0; i--) {
    Node *x = b->nodes[i];
    bool reads_state = loop_index_form(&t->facts, x)->reads_state;
    if (needed[i] && x->op == OP_PARAM && reads_state) return false;
    if (!needed[i] || x->op == OP_PARAM) continue;
    if (is_again(x)) {
      for (int k = 0; k < x->nops; k++) needed[uses_position(uses, x->ops[k])] = true;
    } else {
      if (reads_state || !ir_is_number(x->type) || x->flags & NODE_ENDLESS) return false;
      vec_push(w->temp, t->kept, x);
    }
  }
  return true;
}

/* ---- The three parts --------------------------------------------------------------------------------------------- */
/* The outer loop, which stacks what is kept and makes nothing else. */
static void make_kept(Nest *t) {
  World *w = t->w;
  if (!t->kept.len) return;
  LoopEdit *e = edit_loop(w, t->outer, t->outer->ops, t->outer->graphs);
  t->made = NEW_ARRAY(w->temp, Node *, t->kept.len);
  for (int k = 0; k < t->kept.len; k++) t->made[k] = t->kept.data[k];
  for (int p = 1; p < first_capture(t->outer); p++) e->args[p] = ir_zero(w, outer_body(t)->params[p]);
  edit_body(e, NEW_ARRAY(w->temp, Node *, t->outer->type->n), t->made, t->kept.len);
  for (int k = 0; k < t->kept.len; k++) loop_stack(e->b, t->made[k]);
  edit_close(e);
  for (int k = 0; k < t->kept.len; k++) t->made[k] = loop_stacked(e->b, k);
}

/* The second part, while it is made. Its loop over j is the outer one. */
typedef struct Exchange {
  Nest *t;
  LoopBuilder *over_j, *over_i;
  Node *j, *i; /* in the loop over i */
  Map brought; /* node of the graph around -> what it is there */
  Map again;   /* node of the old outer body -> that computed again there */
} Exchange;

static Node *bring(Exchange *e, Node *x) {
  if (ir_is_constant(x)) return x;
  Node *known = map_get(&e->brought, x);
  if (known) return known;
  Node *there = loop_add(e->over_i, LOOP_CAPTURED, loop_add(e->over_j, LOOP_CAPTURED, x));
  map_put(&e->brought, x, there);
  return there;
}

/* Node x of the outer loop's body, in the loop over i. */
static Node *again(Exchange *e, Node *x) {
  Nest *t = e->t;
  if (x->op == OP_PARAM) return x->attr.i == 0 ? e->i : bring(e, t->outer->ops[x->attr.i]);
  Node *known = map_get(&e->again, x);
  if (known) return known;
  Node *made = NULL;
  for (int k = 0; k < t->kept.len; k++)
    if (t->kept.data[k] == x) made = ir_index(t->w, bring(e, t->made[k]), &e->i, 1);
  if (!made) {
    Node **ops = NEW_ARRAY(t->w->temp, Node *, x->nops + 1);
    for (int k = 0; k < x->nops; k++) ops[k] = again(e, x->ops[k]);
    made = ir_rebuild(t->w, x, ops, x->graphs);
  }
  map_put(&e->again, x, made);
  return made;
}

/* Where j runs to, and for one j, in the loop over j, where i begins and how often that runs. */
typedef struct Bounds {
  Node *to, *from, *count;
} Bounds;

static Bounds find_bounds(Nest *t, LoopBuilder *over_j) {
  World *w = t->w;
  Node *one = ir_int(w, 1), *zero = ir_int(w, 0), *n = t->outer->ops[0], *c = loop_start(&t->facts, bound(t));
  Node *j = loop_index(over_j), *n_there = loop_add(over_j, LOOP_CAPTURED, n);
  Node *c_there = ir_is_constant(c) ? c : loop_add(over_j, LOOP_CAPTURED, c);
  switch (step_of(&t->facts, bound(t))) {
  case 1: { /* j < i + c */
    Node *to = ir_op2(w, OP_IADD, ir_op2(w, OP_ISUB, n, one), c);
    Node *from = ir_op2(w, OP_ISUB, j, ir_op2(w, OP_ISUB, c_there, one));
    Node *count = ir_op2(w, OP_ISUB, n_there, from);
    /* As a rule some i follow each j. */
    if (c->op == OP_INT && c->attr.i <= 1) return (Bounds){to, from, ir_op2(w, OP_IMAX, count, one)};
    from = ir_op2(w, OP_IMAX, from, zero);
    return (Bounds){to, from, ir_op2(w, OP_ISUB, n_there, from)};
  }
  case -1: /* j < c - i */ return (Bounds){c, zero, ir_op2(w, OP_IMIN, n_there, ir_op2(w, OP_ISUB, c_there, j))};
  default: return (Bounds){c, zero, n_there};
  }
}

static Node *none_below_zero(World *w, Node *n) { return ir_op2(w, OP_IMAX, n, ir_int(w, 0)); }

/* What the inner loop's iteration adds, in the loop over i: a tuple. */
static Node *addends(Exchange *e) {
  Nest *t = e->t;
  Graph *body = inner_body(t);
  int n = t->inner->loop->naccs;
  Node **xs = NEW_ARRAY(t->w->temp, Node *, n), **args = NEW_ARRAY(t->w->temp, Node *, body->nparams);
  for (int k = 0; k < n; k++) xs[k] = addend(t, k);
  args[0] = e->j;
  for (int p = 1; p < body->nparams; p++)
    args[p] = p < first_capture(t->inner) ? ir_zero(t->w, body->params[p]) : again(e, t->inner->ops[p]);
  return ir_substitute(t->w, ir_record(t->w, xs, n), args, body->nparams, 0);
}

static void make_sums(Nest *t) {
  World *w = t->w;
  int n = t->inner->loop->naccs;
  IrType *array = ir_array_type(w, ir_type(w, T_FLOAT)), *bag = ir_accumulator(w, array);
  Exchange e = {.t = t, .over_j = loop_open_like(w, t->inner), .over_i = loop_open(w, false)};
  map_init(&e.brought, w->temp);
  map_init(&e.again, w->temp);
  Node **there = NEW_ARRAY(w->temp, Node *, n), **in = NEW_ARRAY(w->temp, Node *, n);
  for (int k = 0; k < n; k++) {
    there[k] = loop_add(e.over_j, LOOP_ACC, ir_zero(w, bag));
    in[k] = loop_add(e.over_i, LOOP_ACC, there[k]);
  }
  Bounds b = find_bounds(t, e.over_j);
  e.j = loop_add(e.over_i, LOOP_CAPTURED, loop_index(e.over_j));
  Node *from = ir_is_constant(b.from) ? b.from : loop_add(e.over_i, LOOP_CAPTURED, b.from);
  e.i = ir_op2(w, OP_IADD, from, loop_index(e.over_i));
  Node *xs = addends(&e), *size = none_below_zero(w, t->outer->ops[0]);
  for (int k = 0; k < n; k++) {
    Node *rest[] = {bring(&e, size), e.i};
    loop_next(e.over_i, in[k], ir_bag(w, OP_ACC_AT, bag, in[k], rest, 2, ir_get(w, xs, k)));
  }
  loop_close(e.over_i, none_below_zero(w, b.count), NULL, t->inner->site);
  for (int k = 0; k < n; k++) loop_next(e.over_j, there[k], loop_result(e.over_i, in[k]));
  loop_close(e.over_j, none_below_zero(w, b.to), NULL, t->outer->site);
  t->sums = NEW_ARRAY(w->temp, Node *, n);
  for (int k = 0; k < n; k++) t->sums[k] = ir_bag(w, OP_FILL, array, loop_result(e.over_j, there[k]), &size, 1, NULL);
}

static Node *array_of(const Nest *t, Node **xs, const Node *x) {
  for (int k = 0; k < t->inner->loop->naccs; k++)
    if (xs[k] == x) return t->sums[k];
  return NULL;
}

/* The third part: the outer loop, which reads what the others made. An array of mere sums is there already. */
static Node *make_rest(const Nest *t) {
  World *w = t->w;
  int slots = loop_slots(t->outer->loop), parts = t->outer->type->n - 1, naccs = t->inner->loop->naccs;
  Node **xs = NEW_ARRAY(w->temp, Node *, t->inner->type->n), **there = NEW_ARRAY(w->temp, Node *, parts + 1);
  LoopEdit *e = edit_loop(w, t->outer, t->outer->ops, t->outer->graphs);
  edit_inputs(e);
  for (int k = 0; k < naccs; k++) xs[k] = ir_index(w, loop_add(e->b, LOOP_CAPTURED, t->sums[k]), e->args, 1);
  for (int k = 0; k < t->kept.len; k++)
    map_put(&e->over, t->kept.data[k], ir_index(w, loop_add(e->b, LOOP_CAPTURED, t->made[k]), e->args, 1));
  xs[naccs] = ir_substitute(w, none_below_zero(w, bound(t)), e->args, outer_body(t)->nparams, 0);
  map_put(&e->over, t->inner, ir_tuple(w, t->inner->type, xs));
  edit_body(e, NULL, NULL, 0);
  for (int k = slots; k < parts; k++)
    if ((there[k] = array_of(t, xs, e->next[k]))) e->next[k] = NULL;
  edit_close(e);
  for (int k = slots; k < parts; k++)
    if (there[k]) e->results[k] = there[k];
  return edit_value(e);
}

/* ---- The pass ---------------------------------------------------------------------------------------------------- */
/* A loop in its body that is to change places with it; false: there is none. */
static bool find_nest(Nest *t) {
  World *w = t->w;
  if (t->outer->op != OP_LOOP || t->outer->loop->has_cond || t->outer->loop->ncarried) return false;
  t->body = graph_body(w, outer_body(t));
  t->facts = loop_facts_of(w, t->outer, true);
  for (t->at = 0; t->at < t->body->n; t->at++) {
    t->inner = t->body->nodes[t->at];
    t->kept.len = 0;
    if (t->inner->op == OP_LOOP && only_sums(t) && has_bounds(t) && pays(t) && find_kept(t)) return true;
  }
  return false;
}

static Node *interchange(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  if (n->op != OP_LOOP) return NULL;
  Nest t = {.w = user, .outer = rewrite_node(r, n, ops, graphs)};
  while (find_nest(&t)) {
    make_kept(&t);
    make_sums(&t);
    t.outer = make_rest(&t);
  }
  return t.outer;
}

Graph *opt_interchange(World *w, Graph *g) { return ir_rewrite(w, g, (RewritePass){.user = w, .node = interchange}); }
