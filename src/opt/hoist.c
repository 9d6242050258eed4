/* SPDX-License-Identifier: MIT */
/* Checks that leave loops, and divisions (loop-invariant code motion, of what the C compiler can't move): in a loop
 * that counts, a check of what is the same in all iterations is made once, before it, and so is one of an index that
 * grows by a constant,  a * i + b.
 *
 *   loop i < n: xs[check_index (2 * i + 1) len]   →   k = ends of 2 * i + 1;  loop i < after n k: xs[2 * i + 1]
 *
 * The loop waits for the check by its trip count; if it runs not at all the check holds, of other numbers. So a check
 * that left an inner loop leaves the outer one too. What is reported is the first index that fails, as if it were found
 * in the loop. Loops with effects keep their checks: what came before the failure happens. Checks in branches stay
 * there: perhaps none is made. A check that two sizes are equal leaves the loop as well; behind it one of them stands
 * for both in the loop, so that loops inside can be joined.
 *
 * Runs after those checks have gone that can't fail, and nothing is differentiated any more. A loop that doesn't fail
 * can be joined with others, and an iteration without branches can run beside the next ones. For the former an earlier
 * run takes checks of sizes alone out of loops that make a matrix: so arithmetic on whole matrices is joined before
 * derivatives. */
#include "facts/ir_loop_facts.h"
#include "ir/remarks.h"
#include "ir/world.h"
#include "opt/opt.h"

typedef struct Hoist {
  World *w;
  Node *n, **ops; /* trip count, other operands */
  Graph *body;
  bool all;        /* checks of any kind, not only of sizes */
  LoopFacts facts; /* without checks */
  Node *before;    /* what the check at hand must come after; NULL: nothing */
  Node *wait;      /* the trip count, and the checks so far */
} Hoist;

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */
static Node *op2(Hoist *h, Op op, Node *a, Node *b) { return ir_op2(h->w, op, a, b); }
static Node *constant(Hoist *h, int64_t c) { return ir_int(h->w, c); }

/* Number x of the body before the loop, without the checks in it; NULL: it isn't loop-invariant. */
static Node *outside(Hoist *h, Node *x) { return loop_invariant_number(&h->facts, x); }

static bool is_division(const Node *x) { return x->op == OP_IDIV || x->op == OP_IREM; }

/* ---- Checks ------------------------------------------------------------------------------------------------------ */
/* x if the loop runs, else y. */
static Node *if_runs(Hoist *h, Node *x, int64_t y) {
  return ir_op3(h->w, OP_SELECT, op2(h, OP_ILT, constant(h, 0), h->n), x, constant(h, y));
}

/* The first index that is wrong, if `start`, the first one, is right: step * m + start, where m iterations have a right
 * one. If the loop doesn't run so often: start. Less than 2^16 * 2^46 in absolute value. */
static Node *last_checked(Hoist *h, int64_t step, Node *start, Node *len) {
  Node *room = step > 0 ? op2(h, OP_ISUB, len, start) : start;
  int64_t by = step > 0 ? step : -step;
  if (step > 0) room = op2(h, OP_IADD, room, constant(h, by - 1));
  Node *m = by == 1 ? room : op2(h, OP_IDIV, room, constant(h, by));
  if (step < 0) m = op2(h, OP_IADD, m, constant(h, 1));
  Node *wrong = op2(h, OP_IADD, op2(h, OP_IMUL, m, constant(h, step)), start);
  Node *fits = op2(h, OP_AND, op2(h, OP_ILE, constant(h, 0), start), op2(h, OP_ILT, start, len));
  return ir_op3(h->w, OP_SELECT, op2(h, OP_AND, fits, op2(h, OP_ILT, m, h->n)), wrong, start);
}

/* A check that left an inner loop is one of  select c i 0  in  select c n 1: the condition, i and n; else NULL. */
static Node *condition_of(const Node *q, Node **i, Node **len) {
  *i = q->ops[0];
  *len = q->ops[1];
  Node *a = fact_unchecked(*i), *b = fact_unchecked(*len);
  if (a->op != OP_SELECT || b->op != OP_SELECT || a->ops[0] != b->ops[0]) return NULL;
  if (a->ops[2]->op != OP_INT || a->ops[2]->attr.i != 0 || b->ops[2]->op != OP_INT || b->ops[2]->attr.i != 1)
    return NULL;
  *i = a->ops[1];
  *len = b->ops[1];
  return a->ops[0];
}

static Node *index_check(Hoist *h, const Node *q) {
  Node *index, *n, *cond = condition_of(q, &index, &n), *len = outside(h, n), *start;
  if (cond && !(cond = outside(h, cond))) return NULL;
  const IndexForm *i = loop_index_form(&h->facts, index);
  bool far = i->step > LIMIT_HOIST_STEP || i->step < -LIMIT_HOIST_STEP;
  if (!len || !i->affine || (far && limit_reached(h->w->arena, AT_HOIST_STEP))) return NULL;
  if (!(start = loop_start(&h->facts, index))) return NULL;
  Node *x = if_runs(h, i->step ? last_checked(h, i->step, start, len) : start, 0);
  len = if_runs(h, len, 1);
  if (cond) {
    x = ir_op3(h->w, OP_SELECT, cond, x, constant(h, 0));
    len = ir_op3(h->w, OP_SELECT, cond, len, constant(h, 1));
  }
  return ir_check(h->w, OP_CHECK_INDEX, x, len, NULL, q->site);
}

/* The loop that makes the rows whose length x is, and runs as often as this one; NULL. */
static Node *maker_of_rows(const Hoist *h, const Node *x) {
  if (x->op != OP_LEN || x->attr.i != 1 || x->ops[0]->op != OP_GET) return NULL;
  Node *maker = x->ops[0]->ops[0];
  bool stacked = maker->op == OP_LOOP && !maker->loop->has_cond && x->ops[0]->attr.i >= loop_slots(maker->loop);
  return stacked && ir_same_number(h->w, h->n, maker->ops[0]) ? maker : NULL;
}

/* The length x of rows, by what the loops before that make them are given: so nothing but this loop needs their
 * results. What fails in a loop fails first still. */
static Node *row_length(Hoist *h, Node *x) {
  for (Node *maker; (maker = maker_of_rows(h, fact_unchecked(x)));) {
    Node *row = ir_get(h->w, maker->graphs[0]->result, (int)fact_unchecked(x)->ops[0]->attr.i);
    Node *length = ir_length_outside(h->w, maker, maker->ops + 1, row);
    if (!length) break;
    x = fact_unchecked(length);
    if (!h->before && maker->ops[0]->op == OP_AFTER) h->before = maker->ops[0]; /* which waits for those before it */
  }
  return x;
}

/* One whose operands are the same in all iterations; `idle`: what it holds of. */
static Node *same_check(Hoist *h, const Node *q, int64_t idle) {
  Node *ops[3] = {NULL, NULL, NULL};
  h->before = NULL;
  for (int k = 0; k < q->nops; k++) {
    Node *x = outside(h, q->ops[k]);
    if (!x) return NULL;
    ops[k] = if_runs(h, row_length(h, x), idle);
  }
  if (h->before) ops[0] = op2(h, OP_AFTER, ops[0], h->before);
  return ir_check(h->w, (Op)q->op, ops[0], ops[1], ops[2], q->site);
}

/* That a size is natural. */
static Node *size_check(Hoist *h, const Node *q) {
  Node *n = outside(h, q->ops[0]);
  return n ? ir_check_nat(h->w, if_runs(h, n, 0), q->attr.text, q->site) : NULL;
}

/* Check q of the body as it is made before the loop; NULL if it can't be. */
static Node *hoisted(Hoist *h, const Node *q) {
  if (!h->all && q->op != OP_CHECK_SIZE) return NULL;
  switch (q->op) {
  case OP_CHECK_INDEX: return index_check(h, q);
  case OP_CHECK_NAT: return size_check(h, q);
  case OP_CHECK_SIZE:
  case OP_CHECK_SLICE: return same_check(h, q, 0);
  case OP_CHECK_NONZERO: return same_check(h, q, 1);
  default: return NULL;
  }
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
/* Of two sizes that a check before the loop finds to be the same, the one that is made later: the other one. */
static void find_equal(Hoist *h, const GraphBody *b, Map *equal) {
  Uses *uses = graph_uses(h->w, h->body);
  for (int i = 0; i < b->n; i++) {
    const Node *q = b->nodes[i];
    if (q->op != OP_CHECK_SIZE || !outside(h, q->ops[0]) || !outside(h, q->ops[1])) continue;
    Node *x = fact_unchecked(q->ops[0]), *y = fact_unchecked(q->ops[1]);
    bool later = uses_position(uses, x) < uses_position(uses, y);
    if (x != y) map_put(equal, later ? y : x, later ? x : y);
  }
}

/* What stands for check q in the body once it has moved; a size stays known to be natural. */
static Node *without_check(Hoist *h, const Node *q, Node **ops) {
  Node *x = opt_unchecked(h->w, q, ops);
  return q->op == OP_CHECK_NAT ? op2(h, OP_IMAX, x, constant(h, 0)) : x;
}

/* The body without the checks that `h` has moved. */
static Graph *without_moved(Hoist *h) {
  World *w = h->w;
  GraphBody *b = graph_body(w, h->body);
  Map value, equal;
  map_init(&value, w->temp);
  map_init(&equal, w->temp);
  find_equal(h, b, &equal);
  for (int i = 0; i < b->n; i++) {
    Node *x = b->nodes[i], **ops = NEW_ARRAY(w->temp, Node *, x->nops + 1), *same = map_get(&equal, x);
    for (int k = 0; k < x->nops; k++) ops[k] = map_get(&value, x->ops[k]);
    Node *check = op_flags[x->op] & OPF_V ? hoisted(h, x) : NULL;
    if (check) h->wait = ir_op2(w, OP_AFTER, h->wait, check);
    else if (h->all && op_flags[x->op] & OPF_V)
      ir_remark(w, "hoist", x->site,
                "the check stays in its loop: it isn't of an index that moves evenly, or of fixed numbers");
    if (same) map_put(&value, x, map_get(&value, same));
    else map_put(&value, x, check ? without_check(h, x, ops) : ir_rebuild(w, x, ops, x->graphs));
  }
  return ir_graph(w, h->body->params, h->body->nparams, map_get(&value, h->body->result), h->body->name);
}

/* The loop, which waits for the checks that left it. Results that need no loop any more, since nothing but checks made
 * them, wait for these themselves. */
static Node *with_checks_before(Hoist *h, const Node *loop) {
  Graph *body = without_moved(h);
  LoopEdit *e = edit_loop(h->w, loop, loop->ops, &body);
  e->count = h->wait;
  Node *made = edit_value(e);
  for (int k = 0; made->op == OP_TUPLE && k < made->nops; k++) {
    const Node *x = made->ops[k];
    if (x->op != OP_GET || x->ops[0]->op != OP_LOOP) e->results[k] = op2(h, OP_AFTER, made->ops[k], h->wait);
  }
  return edit_value(e);
}

/* The loop with its invariant divisions as captures, x / c → q where q = x / c before the loop. The C compiler leaves a
 * division where it stands, since it may trap. */
static Node *with_divisions_before(Hoist *h, Node *loop) {
  GraphBody *b = graph_body(h->w, h->body);
  LoopEdit *e = NULL;
  for (int i = 0; i < b->n; i++) {
    Node *x = b->nodes[i];
    Node *out = is_division(x) && x->ops[1]->op != OP_INT ? outside(h, x) : NULL;
    if (out && !e) e = edit_loop(h->w, loop, loop->ops, loop->graphs);
    if (out) edit_capture(e, 0, x, out);
  }
  return e ? edit_value(e) : loop;
}

static Hoist hoisting(World *w, const Node *loop, bool all) {
  Hoist h = {
      .w = w, .all = all, .n = loop->ops[0], .ops = loop->ops + 1, .body = loop->graphs[0], .wait = loop->ops[0]};
  h.facts = loop_facts_of(w, loop, true);
  return h;
}

/* Does the loop make a matrix row by row, and nothing else? */
static bool makes_matrix(const Node *loop) {
  const LoopInfo *l = loop->loop;
  return !loop_slots(l) && l->nstacked == 1 && ir_rank(loop->type->args[0]) > 1;
}

static Node *hoist(World *w, Rewriter *r, Node *n, Node **ops, Graph **graphs, bool all) {
  if (n->op != OP_LOOP || n->loop->has_cond) return NULL;
  Node *loop = rewrite_node(r, n, ops, graphs);
  if (loop->op != OP_LOOP || loop->loop->has_cond || !(all || makes_matrix(loop))) return loop;
  int flags = loop->graphs[0]->flags;
  Hoist h = hoisting(w, loop, all);
  bool endless = flags & NODE_ENDLESS, fails = flags & NODE_FAILS, pure = !ir_takes_token(loop->graphs[0]);
  if (fails && pure && !endless) loop = with_checks_before(&h, loop);
  else if (fails && all)
    ir_remark(w, "hoist", loop->site,
              pure ? "checks stay in the loop: something in it may not end"
                   : "checks stay in the loop: it has effects");
  if (loop->op != OP_LOOP || !all) return loop;
  h = hoisting(w, loop, all);
  return with_divisions_before(&h, loop);
}

static Node *hoist_sizes(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  return hoist(user, r, n, ops, graphs, false);
}

static Node *hoist_all(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  return hoist(user, r, n, ops, graphs, true);
}

Graph *opt_hoist(World *w, Graph *g, bool last) {
  return ir_rewrite(w, g, (RewritePass){.user = w, .node = last ? hoist_all : hoist_sizes});
}
