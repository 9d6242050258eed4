/* SPDX-License-Identifier: MIT */
/* Loop peeling (index-set splitting): the first or last iterations of a loop that differ from the others, as at the
 * edges of a stencil, are loops of their own, and what tells them apart is known in that of the others, in the middle.
 * Where any order will do, the iterations of both ends are one loop; and so is all of a short loop.
 *
 *   [ f v[max 0 (i - 1)] v[min (n - 1) (i + 1)] | i < n ]
 *   →  i = 0 and i = n - 1 as before;  f v[i - 1] v[i + 1] from 1 to n - 2
 *
 * Which iterations those are follows from linear forms of the numbers compared (linear.c): of maxima, minima,
 * comparisons and remainders. Up to LIMIT_PEELED are peeled off at either end, of loops without loops inside. What is
 * the same in all iterations goes from a loop that isn't split, too.
 *
 * The loops pass carried values and accumulators on; stacked results become arrays that each of them fills its
 * part of. Runs when the checks that can't fail are gone: there are more loops afterwards. */
#include "opt/index_sets.h"

typedef struct Peel {
  Ranges *p;
  Frame *f;   /* of the body */
  Node *loop; /* as it was */
  Linear *trips;
  int first, last; /* iterations that are peeled off at the ends */
} Peel;

/* ---- What holds in the middle ------------------------------------------------------------------------------------ */
/* Does e >= 0 hold in all iterations but few at the ends? Then those are counted in. The index is i < n; e may be
 *   c, n + c;  i + c, which holds from -c on;  n - i + c, which holds up to n + c. */
static bool holds_inside(Peel *s, const Lin *e, const Guard *guards) {
  Node *index = ir_param(s->p->w, 0, s->f->g->params[0]);
  const Lin *i = &linear(s->p, s->f, index)->lin;
  int64_t by = lin_coefficient(e, i->t[0].atom), times = 0;
  if (guards || e->bad) return false;
  Lin rest = lin_add(e, i, -by);
  if (rest.n > 0 || (by < 0 && !s->trips->lin.n)) { /* a known n, too */
    rest = lin_add(&rest, &s->trips->lin, -1);
    times = 1;
  }
  if (rest.bad || rest.n > 0 || by > 1 || by < -1 || (by < 0 && !times)) return false;
  int64_t first = 0, last = 0;
  if (by >= 0 && rest.c < -times) first = rest.c < -LIMIT_PEELED - 1 ? LIMIT_PEELED + 1 : (int64_t)-rest.c - times;
  if (by < 0 && rest.c < -1) last = rest.c < -LIMIT_PEELED - 2 ? LIMIT_PEELED + 1 : (int64_t)-rest.c - 1;
  if (by == 0 && first > 0) return false;
  if ((first > LIMIT_PEELED || last > LIMIT_PEELED) && limit_reached(s->p->w->arena, AT_PEELED)) return false;
  if (first > s->first) s->first = (int)first;
  if (last > s->last) s->last = (int)last;
  return true;
}

/* a - b + c >= 0 */
static bool exceeds(Peel *s, Node *a, Node *b, int64_t c) {
  Linear *la = linear(s->p, s->f, a), *lb = b ? linear(s->p, s->f, b) : NULL;
  Lin e = lin_int(c);
  e = lin_add(&e, &la->lin, 1);
  if (lb) e = lin_add(&e, &lb->lin, -1);
  return holds_inside(s, &e, guards_join(s->p, la->guards, lb ? lb->guards : NULL));
}

static Node *truth(World *w, bool holds, bool fails) { return holds || fails ? ir_bool(w, holds) : NULL; }

/* x where that is the index plus a constant, written so. */
static Node *shortest(Peel *s, Node *x) {
  Node *index = ir_param(s->p->w, 0, s->f->g->params[0]);
  Lin c = lin_add(&linear(s->p, s->f, x)->lin, &linear(s->p, s->f, index)->lin, -1);
  return c.n || c.bad ? x : ir_op2(s->p->w, OP_IADD, index, ir_int(s->p->w, (int64_t)c.c));
}

/* a % b as a, or as a - b. */
static Node *remainder_inside(Peel *s, Node *a, Node *b) {
  if (!exceeds(s, b, NULL, -1)) return NULL;
  if (exceeds(s, a, NULL, 0) && exceeds(s, b, a, -1)) return a;
  Node *less = ir_op2(s->p->w, OP_ISUB, a, b);
  return exceeds(s, less, NULL, 0) && exceeds(s, b, less, -1) ? shortest(s, less) : NULL;
}

/* What x over ops is in the middle; NULL: nothing simpler. */
static Node *inside(Peel *s, const Node *x, Node **ops) {
  World *w = s->p->w;
  if (x->nops != 2 || ops[0]->type->kind != T_INT) return NULL;
  Node *a = ops[0], *b = ops[1];
  switch (x->op) {
  case OP_IMAX: return exceeds(s, a, b, 0) ? a : exceeds(s, b, a, 0) ? b : NULL;
  case OP_IMIN: return exceeds(s, b, a, 0) ? a : exceeds(s, a, b, 0) ? b : NULL;
  case OP_ILT: {
    bool holds = exceeds(s, b, a, -1);
    return truth(w, holds, !holds && exceeds(s, a, b, 0));
  }
  case OP_ILE: {
    bool holds = exceeds(s, b, a, 0);
    return truth(w, holds, !holds && exceeds(s, a, b, -1));
  }
  case OP_IEQ: return truth(w, false, exceeds(s, a, b, -1) || exceeds(s, b, a, -1));
  case OP_INE: return truth(w, exceeds(s, a, b, -1) || exceeds(s, b, a, -1), false);
  case OP_IREM: return remainder_inside(s, a, b);
  default: return NULL;
  }
}

/* The body as it is in the middle; NULL: no simpler. */
static Graph *body_inside(Peel *s) {
  World *w = s->p->w;
  Graph *g = s->f->g;
  Node **nodes;
  Map now;
  bool simpler = false;
  int n = ir_order(w->temp, g, &nodes);
  map_init(&now, w->temp);
  for (int k = 0; k < n; k++) {
    Node *x = nodes[k], **ops = NEW_ARRAY(w->temp, Node *, x->nops + 1);
    for (int i = 0; i < x->nops; i++) ops[i] = map_get(&now, x->ops[i]);
    Node *y = inside(s, x, ops);
    simpler |= y != NULL;
    map_put(&now, x, y ? y : ir_rebuild(w, x, ops, x->graphs));
  }
  return simpler ? ir_graph(w, g->params, g->nparams, map_get(&now, g->result), g->name) : NULL;
}

/* ---- The loops of the pieces ------------------------------------------------------------------------------------- */
/* How many of n iterations aren't in the middle: `few`, or all of a short loop. So written that it is seen to be
 * little (lower_loop.c). */
static Node *at_ends(World *w, Node *n, int few) {
  Node *is_long = ir_op2(w, OP_ILE, ir_int(w, LIMIT_PEEL_TRIPS), n);
  return ir_op2(w, OP_IMIN, n, ir_op3(w, OP_SELECT, is_long, ir_int(w, few), ir_int(w, LIMIT_PEEL_TRIPS - 1)));
}

/* first + middle + last = n, and none is negative. */
static void run_pieces(const Peel *s, Pieces *all, Graph *middle) {
  World *w = s->p->w;
  Node *n = all->ops[0], *zero = ir_int(w, 0), *few = ir_int(w, s->first);
  if (pieces_are_independent(w, s->loop)) {
    Node *ends = at_ends(w, n, s->first + s->last), *count = ir_op2(w, OP_ISUB, n, ends);
    pieces_run(all, &(Piece){s->f->g, ends, zero, few, count}, 1);
    pieces_run(all, &(Piece){middle, count, few, NULL, NULL}, 1);
    return;
  }
  Node *first = s->first ? at_ends(w, n, s->first) : zero, *rest = ir_op2(w, OP_ISUB, n, first);
  Node *last = s->first ? ir_op2(w, OP_IMIN, rest, ir_int(w, s->last)) : at_ends(w, n, s->last);
  Node *count = ir_op2(w, OP_ISUB, rest, last), *to = ir_op2(w, OP_IADD, first, count);
  const Piece of[] = {
      {s->f->g, first, zero, NULL, NULL}, {middle, count, few, NULL, NULL}, {s->f->g, last, to, NULL, NULL}};
  pieces_run_each(all, s->first ? of : of + 1, 1 + (s->first > 0) + (s->last > 0));
}

static Node *pieces(const Peel *s, Node **ops, Graph *middle) {
  Pieces all = pieces_of(s->p->w, s->loop, ops);
  run_pieces(s, &all, middle);
  return pieces_result(&all);
}

/* Few iterations: a small number, or the first and last ones of a loop that is peeled already (at_ends). */
static bool is_short(const Node *n) {
  if (n->op == OP_IMIN && n->ops[1]->op == OP_SELECT && n->ops[1]->ops[2]->op == OP_INT) n = n->ops[1]->ops[2];
  return n->op == OP_INT && n->attr.i < LIMIT_PEEL_TRIPS;
}

static bool is_small(World *w, Graph *body) {
  OpCounts c = ir_count(w, body);
  return !c.loops && !c.calls && (c.total <= LIMIT_PEEL_BODY || !limit_reached(w->arena, AT_PEEL_BODY));
}

/* ---- The pass ---------------------------------------------------------------------------------------------------- */
static Node *peeled(Ranges *p, Frame *f, Frame *body, Node *loop, Node **ops) {
  if (loop->loop->has_cond || is_short(loop->ops[0]) || !is_small(p->w, body->g)) return NULL;
  Peel s = {.p = p, .f = body, .loop = loop, .trips = linear(p, f, loop->ops[0])};
  Graph *middle = s.trips->guards ? NULL : body_inside(&s);
  if (!middle) return opt_split_loops(p, f, body, loop, ops);
  if (!s.first && !s.last) return rewrite_node(p->r, loop, ops, &middle);
  return pieces_are_possible(loop) ? pieces(&s, ops, middle) : NULL;
}

static Graph *peeled_graph(Ranges *p, Frame *f) {
  World *w = p->w;
  Graph *g = f->g;
  Node **nodes;
  Map now;
  int n = ir_order(w->temp, g, &nodes);
  map_init(&now, w->temp);
  for (int k = 0; k < n; k++) {
    Node *x = nodes[k], **ops = NEW_ARRAY(w->temp, Node *, x->nops + 1);
    Graph **graphs = NEW_ARRAY(w->temp, Graph *, x->ngraphs + 1);
    for (int i = 0; i < x->nops; i++) ops[i] = map_get(&now, x->ops[i]);
    Frame **frames = ir_is_control(x) ? frame_children(p, f, x) : NULL;
    for (int i = 0; i < x->ngraphs; i++) {
      Frame *in = frames ? frames[x->op == OP_LOOP ? 1 + i : i] : NULL;
      graphs[i] = in ? peeled_graph(p, in) : rewrite_graph(p->r, x->graphs[i]);
    }
    Node *y = x->op == OP_LOOP && frames ? peeled(p, f, frames[1], x, ops) : NULL;
    map_put(&now, x, y ? y : rewrite_node(p->r, x, ops, graphs));
  }
  return ir_graph(w, g->params, g->nparams, map_get(&now, g->result), g->name);
}

static Graph *from_root(void *user, Rewriter *r, Graph *g) {
  Ranges *p = user;
  p->r = r;
  return peeled_graph(p, frame_root(p, g));
}

Graph *opt_peel(World *w, Graph *g) {
  Ranges p = {.w = w, .fuel = LIMIT_PROOF_FUEL, .frames = LIMIT_PROOF_FRAMES};
  return ir_rewrite(w, g, (RewritePass){.user = &p, .graph = from_root});
}
