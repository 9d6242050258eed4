/* SPDX-License-Identifier: MIT */
/* Loop-invariant code motion: sums, calls, functions of numbers and the like that are the same in all iterations of a
 * loop are made once, before it, if it runs at all. What a condition needs of that is made in any case.
 *
 *   [ x - mean xs | x in xs ]   →   m = if 0 < n then mean xs else whatever;  [ x - m | x in xs ]
 *   while c s do s <- f s a[i]  →   x = if c s then a[i] else whatever;  while c s do s <- f s x
 *
 * A loop with a condition runs if that holds of its first values. Mostly this folds; else the condition is evaluated
 * twice, so it must be cheap. Loads of elements always leave such a loop, and a counted one that carries numbers and
 * reads no arrays otherwise: what their derivatives depend on is then a few numbers (ad/preaccumulate.c).
 *
 * What the C compiler moves by itself, arithmetic, stays where it is. (It moves functions too, but not out of the loops
 * of their derivatives.) Arrays move if making them takes functions or nested loops, and if nothing in the body changes
 * them: a fresh array may be changed in place. So do branches that may fail, as a library's comparison of two lengths;
 * then the loop itself doesn't fail, and can be joined with others.
 *
 * Runs before derivatives are taken: before loops are fused, and when short ones are unrolled; and at last, when loads
 * leave counted loops too: where a loop stores, the C compiler can't tell that it doesn't change what it loads. Only in
 * loops without effects: of several errors any may be reported, but not before an effect that comes first. */
#include "facts/changes.h"
#include "facts/ir_loop_facts.h"
#include "opt/opt.h"
#include "ir/world.h"

typedef struct Moving {
  World *w;
  Node *loop;
  int which;  /* the graph of the loop that things leave: 0, its body, or 1, its condition */
  Graph *g;   /* that graph */
  int own;    /* parameters of it before its captures */
  bool loads; /* loads move too */
  Node **nodes;
  int n;
  Map same;   /* nodes of the graph that are the same in all iterations, without those that stay */
  Map costly; /* of these: what needs a loop, a call or the like */
  Map stays;
  Nodes out; /* what the graph needs of what moves */
} Moving;

/* ---- What is the same in all iterations -------------------------------------------------------------------------- */
static bool is_same(Moving *m, const Node *x) {
  if (x->op == OP_PARAM) return x->attr.i >= m->own;
  if (x->type->kind == T_TOKEN || map_get(&m->stays, x)) return false;
  for (int k = 0; k < x->nops; k++)
    if (!map_get(&m->same, x->ops[k])) return false;
  return true;
}

/* A function of numbers, as exp. */
static bool is_function(const Node *x) {
  return x->type->kind == T_FLOAT && op_flags[x->op] & OPF_S && !(op_flags[x->op] & OPF_Q);
}

static bool is_costly(Moving *m, const Node *x) {
  if (x->op == OP_LOOP || x->op == OP_CALL || x->op == OP_APPLY || is_function(x)) return true;
  bool read = x->op == OP_BYTE || (x->op == OP_INDEX && x->type->kind != T_ARRAY);
  if (read && m->loads) return true;
  if (x->op == OP_SWITCH && x->flags & (NODE_COSTLY | NODE_FAILS)) return true;
  for (int k = 0; k < x->nops; k++)
    if (map_get(&m->costly, x->ops[k])) return true;
  return false;
}

static void find_same(Moving *m) {
  map_init(&m->same, m->w->temp);
  map_init(&m->costly, m->w->temp);
  for (int i = 0; i < m->n; i++) {
    Node *x = m->nodes[i];
    if (!is_same(m, x)) continue;
    map_put(&m->same, x, x);
    if (is_costly(m, x)) map_put(&m->costly, x, x);
  }
}

/* ---- What moves -------------------------------------------------------------------------------------------------- */
static bool takes_effort(const Node *x) { return is_function(x) || x->op == OP_LOOP || x->op == OP_CALL; }

/* Is array x made by a function, or by a loop that can't be fused with what reads x, or each of whose elements takes
 * more than a few operations? */
static bool is_hard(World *w, const Node *x) {
  while (x->op == OP_INDEX || x->op == OP_SLICE || x->op == OP_RESHAPE || x->op == OP_GET || x->op == OP_AFTER)
    x = x->ops[0];
  if (x->op != OP_LOOP) return x->op == OP_CALL || x->op == OP_APPLY;
  return loop_slots(x->loop) || ir_reaches(w, x->graphs[0], takes_effort);
}

/* May operand k of u be changed in place, or become a part of what is? A view is copied before it is changed. */
static bool is_taken(World *w, const Node *u, int k) {
  unsigned effects = changes_operand(w, u, k);
  return effects & CHANGES || (effects & HOLDS && !fact_is_view(u));
}

/* Can the graph do with x as it was made before the loop? */
static bool can_move(Moving *m, const Node *x) {
  if (ir_is_number(x->type)) return true;
  if (x->type->kind != T_ARRAY || !ir_is_plain(ir_base(x->type)) || !is_hard(m->w, x)) return false;
  FOR_USES (use, graph_uses(m->w, m->g), x)
    if (!map_get(&m->same, use->user) && is_taken(m->w, use->user, use->operand)) return false;
  return m->g->result != x;
}

/* What is the same and costly, and needed by what isn't. False: some of that can't move, and is noted to stay. */
static bool find_edge(Moving *m) {
  Map seen;
  map_init(&seen, m->w->temp);
  m->out.len = 0;
  bool all = true;
  for (int i = 0; i <= m->n; i++) {
    Node *u = i < m->n ? m->nodes[i] : NULL;
    if (u && map_get(&m->same, u)) continue;
    for (int k = 0; k < (u ? u->nops : 1); k++) {
      Node *x = u ? u->ops[k] : m->g->result;
      if (!map_get(&m->costly, x) || map_get(&seen, x)) continue;
      map_put(&seen, x, x);
      vec_push(m->w->temp, m->out, x);
      if (can_move(m, x)) continue;
      map_put(&m->stays, x, x);
      all = false;
    }
  }
  return all;
}

/* What needs something that stays does, too, and what that needs may still move: so nothing is made twice. */
static bool find_moving(Moving *m) {
  for (int round = 0; round < LIMIT_MOVED_ROUNDS; round++) {
    find_same(m);
    if (find_edge(m)) return m->out.len > 0;
  }
  limit_reached(m->w->arena, AT_MOVED_ROUNDS);
  return false;
}

/* ---- Loads before derivatives ------------------------------------------------------------------------------------ */
/* True if loop n is counted and nothing but carried numbers come out of it. */
static bool carries_numbers(const Node *n) {
  const LoopInfo *l = n->loop;
  bool all = !l->has_cond && l->ncarried && !l->naccs && !l->nstacked && !l->nsliced;
  for (int k = 0; all && k < l->ncarried; k++) all = ir_is_number(n->type->args[k]);
  return all;
}

/* True if without what is the same in all iterations the body reads no arrays, and no more than a few floats that the
 * loop may be differentiated by. */
static bool is_left_with_numbers(Moving *m) {
  Map seen;
  int floats = 0;
  map_init(&seen, m->w->temp);
  for (int i = 0; i < m->n; i++)
    for (int k = 0; !map_get(&m->same, m->nodes[i]) && k < m->nodes[i]->nops; k++) {
      Node *x = m->nodes[i]->ops[k];
      if (!map_get(&m->same, x) || map_get(&seen, x)) continue;
      if (!ir_is_number(x->type)) return false;
      map_put(&seen, x, x);
      floats += x->type->kind == T_FLOAT && !ir_is_constant(x);
    }
  return floats <= LIMIT_DIRECTIONS;
}

/* ---- The loop without it ----------------------------------------------------------------------------------------- */
/* Does the loop run at all? */
static Node *runs(const Moving *m) {
  World *w = m->w;
  const Node *loop = m->loop;
  if (!loop->loop->has_cond) return ir_op2(w, OP_ILT, ir_int(w, 0), loop->ops[0]);
  Graph *cond = loop->graphs[1];
  Node **args = NEW_ARRAY(w->temp, Node *, cond->nparams);
  args[0] = ir_int(w, 0);
  for (int p = 1; p < cond->nparams; p++) args[p] = loop->ops[loop_cond_input(loop->loop, p)];
  return ir_instantiate(w, cond, args, 0);
}

/* Index check q of the body as it is made before the loop, of other numbers if that doesn't run; NULL: its operands may
 * fail. */
static Node *check_before(LoopFacts *f, const Node *q, Node *runs) {
  World *w = f->w;
  Node *i = loop_invariant_number(f, q->ops[0]), *n = loop_invariant_number(f, q->ops[1]);
  if (!i || !n) return NULL;
  i = ir_op3(w, OP_SELECT, runs, i, ir_int(w, 0));
  n = ir_op3(w, OP_SELECT, runs, n, ir_int(w, 1));
  return ir_check(w, OP_CHECK_INDEX, i, n, NULL, q->site);
}

/* Makes the index checks of `moved` before the branch, where they can leave further loops (hoist.c). over: check ->
 * what stands for it in the branch. */
static void make_checks(Moving *m, const Graph *moved, BranchBuilder *b, Node *runs, Map *over) {
  LoopFacts facts = loop_facts_of(m->w, m->loop, false);
  Node **nodes;
  int n = ir_order(m->w->temp, moved, &nodes);
  for (int i = 0; i < n; i++) {
    Node *check = nodes[i]->op == OP_CHECK_INDEX ? check_before(&facts, nodes[i], runs) : NULL;
    if (check) map_put(over, nodes[i], branch_add(b, check));
  }
}

/* What moves out of the body, made if the loop runs. */
static Node *made_if_runs(Moving *m) {
  World *w = m->w;
  Node **inputs = m->loop->ops + loop_first(m->loop->loop), *cond = runs(m);
  BranchBuilder *b = branch_open(w, cond);
  Graph *moved = ir_graph(w, m->g->params, m->g->nparams, ir_record(w, m->out.data, m->out.len), NULL);
  Map over;
  map_init(&over, w->temp);
  make_checks(m, moved, b, cond, &over);
  Node **args = NEW_ARRAY(w->arena, Node *, m->g->nparams), **xs = NEW_ARRAY(w->temp, Node *, m->out.len + 1);
  for (int k = 0; k < m->g->nparams; k++)
    args[k] = k < m->own ? ir_zero(w, m->g->params[k]) : branch_add(b, inputs[k - 1]);
  for (int i = 0; i < m->out.len; i++) xs[i] = ir_zero(w, m->out.data[i]->type);
  branch_arm(b, ir_record(w, xs, m->out.len), NULL);
  branch_arm(b, ir_instantiate_over(w, moved, args, 0, &over), NULL);
  return branch_close(b);
}

/* What moves out of the condition, which is evaluated at least once. */
static Node *made_anyway(Moving *m) {
  World *w = m->w;
  const LoopInfo *l = m->loop->loop;
  Node **args = NEW_ARRAY(w->arena, Node *, m->g->nparams);
  for (int p = 0; p < m->g->nparams; p++)
    args[p] = p < m->own ? ir_zero(w, m->g->params[p]) : m->loop->ops[loop_cond_input(l, p)];
  return ir_substitute(w, ir_record(w, m->out.data, m->out.len), args, m->g->nparams, 0);
}

/* The loop, which captures what was moved before it. */
static Node *without(Moving *m) {
  Node *made = m->which ? made_anyway(m) : made_if_runs(m);
  LoopEdit *e = edit_loop(m->w, m->loop, m->loop->ops, m->loop->graphs);
  for (int i = 0; i < m->out.len; i++) edit_capture(e, m->which, m->out.data[i], ir_get(m->w, made, i));
  return edit_value(e);
}

typedef struct Motion {
  World *w;
  bool last; /* loads leave counted loops, too */
} Motion;

static Moving moving(World *w, Node *loop, int which, bool loads) {
  const LoopInfo *l = loop->loop;
  Moving m = {.w = w, .loop = loop, .which = which, .g = loop->graphs[which], .loads = loads};
  m.own = 1 + (which ? l->ncarried : loop_captures(l));
  m.n = ir_order(w->temp, m.g, &m.nodes);
  map_init(&m.stays, w->temp);
  return m;
}

/* The loop without what leaves that graph of it. */
static Node *emptied(const Motion *motion, Node *loop, int which) {
  Moving m = moving(motion->w, loop, which, motion->last || loop->loop->has_cond);
  return find_moving(&m) ? without(&m) : loop;
}

/* The counted loop with a few numbers in place of the only arrays that it reads; NULL: it isn't one of those. */
static Node *with_numbers_for_arrays(const Motion *motion, Node *loop) {
  if (motion->last || !carries_numbers(loop)) return NULL;
  Moving m = moving(motion->w, loop, 0, true);
  return find_moving(&m) && is_left_with_numbers(&m) ? without(&m) : NULL;
}

/* May the loop's condition, if it has one, be evaluated once more? */
static bool is_cheap_to_start(const Node *loop) {
  const int dear = NODE_COSTLY | NODE_CALLS | NODE_APPLIES | NODE_AD | NODE_FORKS | NODE_ENDLESS;
  return !loop->loop->has_cond || !(loop->graphs[1]->flags & dear);
}

static bool is_pure_loop(const Node *n) { return n->op == OP_LOOP && !ir_takes_token(n->graphs[0]); }

static Node *move(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  const Motion *motion = user;
  if (n->op != OP_LOOP) return NULL;
  Node *loop = rewrite_node(r, n, ops, graphs);
  if (is_pure_loop(loop) && loop->loop->has_cond) loop = emptied(motion, loop, 1);
  if (!is_pure_loop(loop) || !is_cheap_to_start(loop)) return loop;
  Node *narrow = with_numbers_for_arrays(motion, loop);
  return narrow ? narrow : emptied(motion, loop, 0);
}

Graph *opt_invariants(World *w, Graph *g, bool last) {
  Motion m = {w, last};
  return ir_rewrite(w, g, (RewritePass){.user = &m, .node = move});
}
