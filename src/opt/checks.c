/* SPDX-License-Identifier: MIT */
/* Elimination of bounds checks, and of all others that can't fail: those that the facts of ranges.c prove, and those
 * that other checks imply.
 *
 * Where a proof rests on another check, what needed the one that goes is made to depend on that other check (AFTER);
 * so the one that stays has been passed before anything that it protects is evaluated. Where that check stands in a
 * graph around, the loop or branch in between depends on it. In a graph with effects the check that stays is the one
 * that comes first: else an effect between the two would happen after the error of the one that goes.
 *
 * Runs late, over code that derivatives have been taken of: what is dropped here isn't missed by anyone. */
#include "facts/ranges.h"
#include "facts/uses.h"
#include "opt/opt.h"

static Graph *checked_graph(Ranges *p, Frame *f);

/* ---- Which go ------------------------------------------------------------------------------------ */
/* a - b + c >= 0; on success *used has what that rests on, too. */
static bool proved(Ranges *p, Frame *f, const Node *q, const Linear *a, const Linear *b, int64_t c,
                   const Guard **used) {
  Lin start = lin_int(c), e = lin_add(&start, &a->lin, 1);
  e = lin_add(&e, &b->lin, -1);
  *used = guards_join(p, guards_join(p, *used, a->guards), b->guards);
  return prove(p, f, q, e, true, used);
}

static bool check_is_proved(Ranges *p, Frame *f, Node *x, const Guard **used) {
  Linear zero = {0}, one = {.lin = lin_int(1)};
  Linear *a = linear(p, f, x->ops[0]), *b = x->nops > 1 ? linear(p, f, x->ops[1]) : NULL;
  switch (x->op) {
  case OP_CHECK_INDEX: return proved(p, f, x, a, &zero, 0, used) && proved(p, f, x, b, a, -1, used);
  case OP_CHECK_SIZE: return proved(p, f, x, a, b, 0, used) && proved(p, f, x, b, a, 0, used);
  case OP_CHECK_SLICE:
    return proved(p, f, x, a, &zero, 0, used) && proved(p, f, x, b, a, 0, used) &&
           proved(p, f, x, linear(p, f, x->ops[2]), b, 0, used);
  case OP_CHECK_NAT: return proved(p, f, x, a, &zero, 0, used);
  case OP_CHECK_NONZERO: return proved(p, f, x, a, &one, 0, used);
  default: return false;
  }
}

/* A loop or branch can be made to depend on something if it has a scalar operand that stays one. */
static int operand_to_guard(const Node *n) {
  if (n->op == OP_SWITCH || !n->loop->has_cond) return 0;
  for (int k = 0; k < n->loop->ncarried; k++)
    if (ir_is_number(n->ops[k]->type)) return k;
  return -1;
}

/* The node of frame `of` that frame f lies in. */
static Node *node_around(const Frame *f, const Frame *of) {
  while (f->up != of) f = f->up;
  return f->at;
}

static const Node *dependent(const Frame *f, Node *x, const Frame *of) { return f == of ? x : node_around(f, of); }

/* Does a check take the place of one, or of a loop with one, that fails before it? Effects may happen between them: one
 * that the check waits for, and the other one doesn't, in any case. */
static bool takes_place_of_earlier(Ranges *p, const Frame *of, const Node *guard, const Node *on) {
  if (!ir_takes_token(of->g)) return false;
  if (ir_site_follows(p->w, guard->site, on->site)) return true;
  Uses *uses = graph_uses(p->w, of->g);
  if (uses_position(uses, on) < uses_position(uses, guard)) return true;
  int guards = uses_effects_before(uses, guard) + ir_is_effect(guard);
  return guards > uses_effects_before(uses, on) + ir_is_effect(on);
}

static bool can_depend(Ranges *p, Frame *f, Node *x, const Guard *guards) {
  for (; guards; guards = guards->next) {
    const Node *on = dependent(f, x, guards->frame);
    if (on == guards->node || (on != x && operand_to_guard(on) < 0)) return false;
    if (frame_depends(p, guards->frame, guards->node, on)) return false;
    if (takes_place_of_earlier(p, guards->frame, guards->node, on)) return false;
  }
  return true;
}

static void depend(Ranges *p, Frame *f, Node *x, const Guard *guards) {
  for (; guards; guards = guards->next) {
    Frame *of = guards->frame;
    const Node *on = dependent(f, x, of);
    if (frame_depends(p, of, on, guards->node)) continue;
    map_put(&of->edges, on, (void *)(uintptr_t)guard_add(p, map_get(&of->edges, on), of, guards->node));
  }
}

static void find_proved(Ranges *p, Frame *f, Node **nodes, int n, Map *gone) {
  for (int k = 0; k < n; k++) {
    Node *x = nodes[k];
    if (x->op < OP_CHECK_INDEX || x->op > OP_CHECK_NAT) continue;
    const Guard *used = NULL;
    if (!check_is_proved(p, f, x, &used) || !can_depend(p, f, x, used)) continue;
    depend(p, f, x, used);
    map_put(gone, x, x);
  }
}

static Node *asserted(World *w, const Node *check, Node **ops) {
  Node *a = ops[0], *b = check->nops > 1 ? ops[1] : NULL, *zero = ir_int(w, 0), *holds;
  switch (check->op) {
  case OP_CHECK_SIZE: holds = ir_op2(w, OP_IEQ, a, b); break;
  case OP_CHECK_NONZERO: holds = ir_op2(w, OP_INE, a, zero); break;
  default: holds = ir_op2(w, OP_ILE, zero, a);
  }
  if (check->op == OP_CHECK_INDEX) holds = ir_op2(w, OP_AND, holds, ir_op2(w, OP_ILT, a, b));
  if (check->op == OP_CHECK_SLICE)
    holds = ir_op2(w, OP_AND, holds, ir_op2(w, OP_AND, ir_op2(w, OP_ILE, a, b), ir_op2(w, OP_ILE, b, ops[2])));
  Node *message = ir_text(w, "a check that was proved fails");
  return ir_op2(w, OP_AFTER, a, ir_assert(w, holds, message, check->site));
}

Node *opt_unchecked(World *w, const Node *check, Node **ops) {
  Node *x = w->asserts_proofs ? asserted(w, check, ops) : ops[0];
  for (int k = 1; k < check->nops; k++) x = ir_op2(w, OP_AFTER, x, ops[k]);
  return x;
}

/* ---- Making it anew ------------------------------------------------------------------------------- */
typedef struct Remake {
  Ranges *p;
  Frame *f;
  Map gone, graphs, value; /* checks; node -> its new graphs; node -> what became of it */
  Vec(Node *) worklist;
} Remake;

/* A number that is there when x is: to ask for all of a loop's results would keep its arrays alive. */
static Node *evidence(World *w, Node *x) {
  if (!ir_is_control(x)) return x;
  for (int k = x->type->kind == T_TUPLE ? x->type->n - 1 : -1; k >= 0; k--)
    if (x->type->args[k]->kind == T_INT || x->type->args[k]->kind == T_BOOL) return ir_get(w, x, k);
  return x;
}

static Node *after_all(Remake *m, Node *x, const Guard *guards) {
  World *w = m->p->w;
  for (; guards; guards = guards->next) x = ir_op2(w, OP_AFTER, x, evidence(w, map_get(&m->value, guards->node)));
  return x;
}

static Node *remade(Remake *m, Node *x) {
  World *w = m->p->w;
  const Guard *edges = map_get(&m->f->edges, x);
  Node **ops = NEW_ARRAY(w->temp, Node *, x->nops + 1);
  Graph **graphs = map_get(&m->graphs, x);
  for (int k = 0; k < x->nops; k++) ops[k] = map_get(&m->value, x->ops[k]);
  if (map_get(&m->gone, x)) {
    ops[0] = after_all(m, ops[0], edges);
    return opt_unchecked(w, x, ops);
  }
  if (edges) {
    int k = operand_to_guard(x);
    ops[k] = after_all(m, ops[k], edges);
  }
  return rewrite_node(m->p->r, x, ops, graphs);
}

/* True if everything that x needs is there. */
static bool ready(Remake *m, Node *x) {
  bool all = true;
  for (int k = x->nops - 1; k >= 0; k--)
    if (!map_get(&m->value, x->ops[k])) {
      vec_push(m->p->w->temp, m->worklist, x->ops[k]);
      all = false;
    }
  for (const Guard *g = map_get(&m->f->edges, x); g; g = g->next)
    if (!map_get(&m->value, g->node)) {
      vec_push(m->p->w->temp, m->worklist, g->node);
      all = false;
    }
  return all;
}

static Graph **nested(Ranges *p, Frame *f, Node *x) {
  Graph **graphs = NEW_ARRAY(p->w->temp, Graph *, x->ngraphs + 1);
  Frame **frames = ir_is_control(x) ? frame_children(p, f, x) : NULL;
  for (int k = 0; k < x->ngraphs; k++) {
    Frame *in = frames ? frames[x->op == OP_LOOP ? 1 + k : k] : NULL;
    graphs[k] = in ? checked_graph(p, in) : rewrite_graph(p->r, x->graphs[k]);
  }
  return graphs;
}

static Graph *checked_graph(Ranges *p, Frame *f) {
  World *w = p->w;
  Graph *g = f->g;
  if (!(g->flags & NODE_FAILS)) return g;
  Remake m = {.p = p, .f = f};
  map_init(&m.gone, w->temp);
  map_init(&m.graphs, w->temp);
  map_init(&m.value, w->temp);
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  find_proved(p, f, nodes, n, &m.gone);
  for (int k = 0; k < n; k++)
    if (nodes[k]->ngraphs) map_put(&m.graphs, nodes[k], nested(p, f, nodes[k]));
  vec_push(w->temp, m.worklist, g->result);
  while (m.worklist.len) {
    Node *x = m.worklist.data[m.worklist.len - 1];
    if (!map_get(&m.value, x) && !ready(&m, x)) continue;
    m.worklist.len--;
    if (!map_get(&m.value, x)) map_put(&m.value, x, remade(&m, x));
  }
  return ir_graph(w, g->params, g->nparams, map_get(&m.value, g->result), g->name);
}

static Graph *graph_without_checks(void *user, Rewriter *r, Graph *g) {
  Ranges *p = user;
  p->r = r;
  return checked_graph(p, frame_root(p, g));
}

Graph *opt_checks(World *w, Graph *g) {
  Ranges p = {.w = w, .fuel = LIMIT_PROOF_FUEL, .frames = LIMIT_PROOF_FRAMES};
  return ir_rewrite(w, g, (RewritePass){.user = &p, .graph = graph_without_checks});
}
