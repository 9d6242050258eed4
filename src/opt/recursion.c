/* SPDX-License-Identifier: MIT */
/* Recursion that is iteration: a function that calls itself at most once on each way through it becomes loops.
 *
 *   f(p) = if c(p) then f(next(p)) else exit(p)           →   f(p) = loop p while c do next; exit(p)
 *   f(p) = if c(p) then post(v(p), f(next(p))) else …     →   the same loop stacks v(p); another one takes the rows,
 *                                                             last first, and does post
 *
 * The result of such a function is a tree of branches (Branch) over leaves, which call it or don't. From this tree
 * are made: `continues` (is the leaf that is reached one that calls?), `step` (the call's arguments, and the row:
 * what the rest of the leaf reads of what was there before the call), `exit` (the value of the other leaves), and
 * `post` (the rest of a leaf). What the branches test is evaluated for each of them, so it must not be costly. Where
 * it is computed with floats, and might come out otherwise there, the loop carries the number of the leaf that was
 * decided for, and `continues`, `step` and `exit` go by that.
 *
 * Everything that doesn't need the call's result comes before the call, as it does in the recursion; so what fails
 * is the same. Recursion that doesn't end must still be an error: the first loop checks how deep it would be. Rows
 * hold numbers only, and what is merely put into a constructor is left to lowering, which needs no stack for it
 * either.
 *
 * Loops are better than recursion for all that comes later: they need no stack, they are fused and vectorised, and
 * derivatives keep rows in growing arrays instead of an object and a stack frame for each step. */
#include "ir/world.h"
#include "graph/graph.h"
#include "opt/opt.h"

/* Calls inside each other that weren't made, at most: as many as fit into the default stack. */

typedef struct Branch Branch;
struct Branch {
  Graph *g;          /* the graph that it stands for */
  Node *x;           /* its result */
  Branch **arms;     /* NULL: a leaf */
  Node *call;        /* in a leaf: the call of the function itself, or NULL */
  bool calls;        /* is there a leaf below that calls? */
  const int *origin; /* which parameter of the function a parameter of this graph is, or -1 */
  int index;         /* of a leaf that calls: its number */
  int first;         /* of the first leaf below, or this one, among all leaves from left to right */
  Vec(Node *) row;   /* of a leaf that calls: what the rest of it reads */
  Vec(int) column;   /* where they stand */
};

typedef struct Recursion {
  World *w;
  Func *f;
  Branch *root;
  Vec(Branch *) leaves; /* those that call */
  SharedFields columns; /* of the rows, shared by leaves; the first one says which leaf, if there are several */
  bool *varies;         /* does a call change this parameter? */
  bool fits, tail;      /* tail: nothing is done after the calls */
  bool rounds;          /* is something tested that may come out otherwise where it is computed again? */
  int nleaves;
  Map counts; /* graph -> int: calls in it */
} Recursion;

typedef struct Pass {
  World *w;
  Map loops;        /* function -> what it becomes; itself when it stays */
  Map known;        /* those that hold loops now */
  Vec(Func *) made; /* the same, in order */
} Pass;

/* ---- The tree ---------------------------------------------------------------------------------------------------- */
static bool calls_itself(const Recursion *r, const Node *x) { return x->op == OP_CALL && x->attr.func == r->f; }

/* How often f is called in g and the graphs nested in it, LIMIT_OWN_CALLS being too often: a graph that stands in
 * several places counts there each time. */
static int count_calls(Recursion *r, Graph *g) {
  int *known = map_get(&r->counts, g);
  if (known) return *known;
  Node **nodes;
  int n = ir_order(r->w->temp, g, &nodes), calls = 0;
  for (int i = 0; i < n; i++) {
    calls += calls_itself(r, nodes[i]);
    for (int k = 0; k < nodes[i]->ngraphs; k++) calls += count_calls(r, nodes[i]->graphs[k]);
    if (calls > LIMIT_OWN_CALLS) calls = LIMIT_OWN_CALLS;
  }
  known = NEW(r->w->temp, int);
  *known = calls;
  map_put(&r->counts, g, known);
  return calls;
}

/* The only call of f among the nodes of g themselves; *n: how many there are. */
static Node *own_call(const Recursion *r, Graph *g, int *n) {
  Node **nodes, *call = NULL;
  int count = ir_order(r->w->temp, g, &nodes);
  *n = 0;
  for (int i = 0; i < count; i++)
    if (calls_itself(r, nodes[i])) {
      call = nodes[i];
      ++*n;
    }
  return call;
}

static const int *origins_in_arm(Recursion *r, const Branch *b, const Node *x) {
  int *origin = NEW_ARRAY(r->w->temp, int, x->nops + 1);
  for (int k = 1; k < x->nops; k++) origin[k - 1] = x->ops[k]->op == OP_PARAM ? b->origin[x->ops[k]->attr.i] : -1;
  return origin;
}

/* Does a test, in the graph of b, come of float arithmetic? What is captured may. */
static bool may_round(Recursion *r, const Branch *b, Node *test) {
  Node **nodes;
  int n = ir_order(r->w->temp, ir_graph(r->w, b->g->params, b->g->nparams, test, NULL), &nodes);
  for (int i = 0; i < n; i++) {
    const Node *x = nodes[i];
    if (ir_rounds(x) || (x->op == OP_PARAM && x->type->kind == T_FLOAT && b->origin[x->attr.i] < 0)) return true;
  }
  return false;
}

static Branch *grow(Recursion *r, Graph *g, const int *origin) {
  Branch *b = NEW(r->w->temp, Branch);
  Node *x = g->result;
  int own;
  *b = (Branch){.g = g, .x = x, .call = own_call(r, g, &own), .origin = origin, .first = r->nleaves};
  if (own > 1 || (own == 1 && count_calls(r, g) > 1)) r->fits = false;
  b->calls = count_calls(r, g) > 0;
  if (own == 1) {
    b->index = r->leaves.len;
    vec_push(r->w->temp, r->leaves, b);
  } else if (b->calls && x->op == OP_SWITCH) {
    if (x->ops[0]->flags & NODE_COSTLY) r->fits = false;
    r->rounds |= may_round(r, b, x->ops[0]);
    b->arms = NEW_ARRAY(r->w->temp, Branch *, x->ngraphs);
    const int *inside = origins_in_arm(r, b, x);
    int below = 0;
    for (int k = 0; k < x->ngraphs; k++) {
      b->arms[k] = grow(r, x->graphs[k], inside);
      below += count_calls(r, x->graphs[k]);
    }
    if (below != count_calls(r, g)) r->fits = false;
  } else if (b->calls) r->fits = false;
  if (!b->arms) r->nleaves++;
  return b;
}

static void find_varying(Recursion *r) {
  for (int i = 0; i < r->leaves.len; i++) {
    const Branch *b = r->leaves.data[i];
    for (int k = 0; k < r->f->nparams; k++) {
      const Node *arg = b->call->ops[k];
      if (arg->op != OP_PARAM || b->origin[arg->attr.i] != k) r->varies[k] = true;
    }
  }
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
static bool is_numbers(const IrType *t) {
  if (t->kind == T_TUPLE)
    for (int k = 0; k < t->n; k++)
      if (!is_numbers(t->args[k])) return false;
  return t->kind == T_TUPLE || t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_BOOL || t->kind == T_UNIT;
}

/* Can the second loop make x itself, from what never changes? */
static bool is_at_hand(Recursion *r, const Branch *b, const Node *x) {
  if (x->op == OP_PARAM) return b->origin[x->attr.i] >= 0 && !r->varies[b->origin[x->attr.i]];
  if (x->flags & (NODE_COSTLY | NODE_FAILS) || x->ngraphs) return false;
  for (int k = 0; k < x->nops; k++)
    if (!is_at_hand(r, b, x->ops[k])) return false;
  return true;
}

static void add_to_row(Recursion *r, Branch *b, Node *x) {
  for (int k = 0; k < b->row.len; k++)
    if (b->row.data[k] == x) return;
  if (!is_numbers(x->type)) r->fits = false;
  int column = share_field(r->w, &r->columns, x->type);
  vec_push(r->w->temp, b->row, x);
  vec_push(r->w->temp, b->column, column);
}

/* Lowering makes such a call fill in a field of an object that exists: no stack, and no rows. */
static bool fills_field(const Node *x, const Map *late) {
  if (x->op != OP_INJ || x->nops != 1) return false;
  const Node *payload = x->ops[0];
  if (payload->op == OP_CALL) return true;
  for (int k = 0; payload->op == OP_TUPLE && k < payload->nops; k++)
    if (payload->ops[k]->op == OP_CALL && map_get(late, payload->ops[k])) return true;
  return false;
}

/* What the nodes after the call read of those before it. */
static void find_row(Recursion *r, Branch *b) {
  Map late;
  map_init(&late, r->w->temp);
  map_put(&late, b->call, b->call);
  Node **nodes;
  int n = ir_order(r->w->temp, b->g, &nodes);
  for (int i = 0; i < n; i++) {
    Node *x = nodes[i];
    bool is_late = false;
    for (int k = 0; k < x->nops; k++) is_late |= map_get(&late, x->ops[k]) != NULL;
    if (!is_late || x == b->call) continue;
    map_put(&late, x, x);
    for (int k = 0; k < x->nops; k++)
      if (!map_get(&late, x->ops[k]) && !is_at_hand(r, b, x->ops[k])) add_to_row(r, b, x->ops[k]);
  }
  if (fills_field(b->x, &late)) r->fits = false;
}

static bool holds_kind(const IrType *t, IrKind kind) {
  if (t->kind == kind) return true;
  for (int k = 0; k < t->n && t->kind != T_VARIANT; k++)
    if (holds_kind(t->args[k], kind)) return true;
  return false;
}

static bool fits(Recursion *r) {
  Func *f = r->f;
  if (!f->recursive || !f->graph || f->opaque || f->pullback || f->tangent) return false;
  int *origin = NEW_ARRAY(r->w->temp, int, f->nparams + 1);
  for (int k = 0; k < f->nparams; k++) origin[k] = k;
  r->fits = r->tail = true;
  map_init(&r->counts, r->w->temp);
  if (count_calls(r, f->graph) == LIMIT_OWN_CALLS) return !limit_reached(r->w->arena, AT_OWN_CALLS);
  r->root = grow(r, f->graph, origin);
  if (!r->fits || r->leaves.len == 0) return false;
  for (int i = 0; i < r->leaves.len; i++) r->tail &= r->leaves.data[i]->x == r->leaves.data[i]->call;
  if (r->tail) return true;
  if (f->result->kind == T_TOKEN || holds_kind(f->result, T_TOKEN) || holds_kind(f->result, T_FUN)) return false;
  r->varies = NEW_ARRAY(r->w->temp, bool, f->nparams + 1);
  find_varying(r);
  for (int i = 0; i < r->leaves.len; i++) {
    share_anew(&r->columns);
    if (r->leaves.len > 1) share_field(r->w, &r->columns, ir_type(r->w, T_INT));
    find_row(r, r->leaves.data[i]);
  }
  return r->fits;
}

/* ---- What the first loop consists of ----------------------------------------------------------------------------- */
typedef enum Part { CONTINUES, STEP, EXIT, LEAF /* its number */ } Part;

/* Two leaves are told apart once. */
static bool carries_leaf(const Recursion *r) { return r->rounds && r->nleaves > 2; }

static IrType *step_type(Recursion *r) {
  Vec(IrType *) types = {0};
  for (int k = 0; k < r->f->nparams; k++) vec_push(r->w->arena, types, r->f->params[k]);
  for (int k = 0; k < r->columns.types.len; k++) vec_push(r->w->arena, types, r->columns.types.data[k]);
  return ir_tuple_type(r->w, types.data, NULL, types.len);
}

/* The arguments of a leaf's call, then its row. */
static Node *step(Recursion *r, const Branch *b) {
  IrType *t = step_type(r);
  int n = r->f->nparams;
  if (!b->call) return ir_zero(r->w, t);
  Node **xs = NEW_ARRAY(r->w->arena, Node *, t->n + 1);
  for (int k = 0; k < t->n; k++) xs[k] = k < n ? b->call->ops[k] : ir_zero(r->w, t->args[k]);
  for (int k = 0; k < b->row.len; k++) xs[n + b->column.data[k]] = b->row.data[k];
  if (r->leaves.len > 1 && !r->tail) xs[n] = ir_int(r->w, b->index);
  return ir_tuple(r->w, t, xs);
}

static Node *leaf(Recursion *r, Part part, const Branch *b) {
  switch (part) {
  case CONTINUES: return ir_bool(r->w, b->call != NULL);
  case STEP: return step(r, b);
  case LEAF: return ir_int(r->w, b->first);
  default: return b->call ? ir_zero(r->w, r->f->result) : b->x;
  }
}

/* Has b leaves that `step`, or `exit`, is asked for? */
static bool concerns(Part part, const Branch *b) {
  if (!b->arms) return part == STEP ? b->call != NULL : !b->call;
  for (int k = 0; k < b->x->ngraphs; k++)
    if (concerns(part, b->arms[k])) return true;
  return false;
}

/* Which arm of b the leaf with number `leaf` is in. */
static Node *arm_of(Recursion *r, const Branch *b, Node *leaf) {
  World *w = r->w;
  const Node *x = b->x;
  if (x->ops[0]->type->kind == T_BOOL) return ir_op2(w, OP_ILE, ir_int(w, b->arms[1]->first), leaf);
  Node *arm = ir_int(w, 0);
  for (int k = 1; k < x->ngraphs; k++)
    arm = ir_op3(w, OP_SELECT, ir_op2(w, OP_ILE, ir_int(w, b->arms[k]->first), leaf), ir_int(w, k), arm);
  return arm;
}

/* Where it is known which arm was taken, since no other one concerns this part, the branch isn't taken again. */
static Node *tree(Recursion *r, Part part, const Branch *b) {
  World *w = r->w;
  if (!b->arms) return leaf(r, part, b);
  Node *x = b->x;
  int concerned = 0, last = 0;
  for (int k = 0; k < x->ngraphs; k++)
    if (concerns(part, b->arms[k])) concerned++, last = k;
  bool given = part != LEAF && carries_leaf(r); /* the number of the leaf: one more parameter of each graph */
  Node *number = ir_param(w, b->g->nparams, ir_type(w, T_INT));
  if ((part == STEP || part == EXIT) && concerned == 1) {
    Node **args = NEW_ARRAY(w->arena, Node *, x->nops);
    for (int k = 1; k < x->nops; k++) args[k - 1] = x->ops[k];
    args[x->nops - 1] = number;
    return ir_substitute(w, tree(r, part, b->arms[last]), args, x->nops, 0);
  }
  BranchBuilder *made = branch_open(w, given ? arm_of(r, b, number) : x->ops[0]);
  branch_add_all(made, x->ops + 1, x->nops - 1);
  if (given) branch_add(made, number);
  for (int k = 0; k < x->ngraphs; k++) branch_arm(made, tree(r, part, b->arms[k]), x->graphs[k]->name);
  return branch_close(made);
}

/* What `step` makes, and after the arguments the number of the leaf that they lead to. */
static Node *with_leaf(Recursion *r, Node *step) {
  World *w = r->w;
  int n = r->f->nparams, total = n + r->columns.types.len;
  Node **xs = NEW_ARRAY(w->arena, Node *, total + 1);
  for (int k = 0; k < total; k++) xs[k < n ? k : k + 1] = ir_get(w, step, k);
  xs[n] = ir_substitute(w, tree(r, LEAF, r->root), xs, n, 0);
  return ir_record(w, xs, total + 1);
}

/* One of these over the loop's index and what it carries: f's parameters and perhaps the number of a leaf. */
static Node *loop_part_of(Recursion *r, Part part, Node *index, Node **state) {
  World *w = r->w;
  Node *x = ir_substitute(w, tree(r, part, r->root), state, r->f->nparams + carries_leaf(r), 0);
  if (part != CONTINUES || r->tail) return x;
  Site site = r->leaves.data[0]->call->site;
  return ir_op2(w, OP_AFTER, x, ir_check(w, OP_CHECK_DEPTH, index, ir_int(w, LIMIT_ITERATED_CALLS), NULL, site));
}

/* ---- What the second one does ------------------------------------------------------------------------------------ */
/* The rest of a leaf, over the parameters of f, of which only those that never change are read, the columns, and the
 * result of the call. */
static Node *rest_of(Recursion *r, const Branch *b) {
  World *w = r->w;
  int n = r->f->nparams, columns = r->columns.types.len;
  Map over;
  map_init(&over, w->temp);
  for (int k = 0; k < b->row.len; k++)
    map_put(&over, b->row.data[k], ir_param(w, n + b->column.data[k], b->row.data[k]->type));
  map_put(&over, b->call, ir_param(w, n + columns, r->f->result));
  Node **args = NEW_ARRAY(w->arena, Node *, b->g->nparams + 1);
  for (int k = 0; k < b->g->nparams; k++) {
    int from = b->origin[k];
    args[k] = from >= 0 && !r->varies[from] ? ir_param(w, from, b->g->params[k]) : ir_zero(w, b->g->params[k]);
  }
  return ir_instantiate_over(w, b->g, args, 0, &over);
}

/* After the first loop: `end` is the value where the recursion ended. */
static Node *do_posts(Recursion *r, Node *first, Node **params, Node *end) {
  World *w = r->w;
  int n = r->f->nparams, columns = r->columns.types.len, count = r->leaves.len, rows = n + carries_leaf(r);
  LoopBuilder *b = loop_open(w, true);
  Node *value = loop_add(b, LOOP_CARRIED, end);
  Node **args = NEW_ARRAY(w->arena, Node *, n + columns + 1);
  for (int k = 0; k < columns; k++) args[n + k] = loop_add(b, LOOP_SLICED, ir_get(w, first, rows + k));
  for (int k = 0; k < n; k++)
    args[k] = r->varies[k] ? ir_zero(w, r->f->params[k]) : loop_add(b, LOOP_CAPTURED, params[k]);
  args[n + columns] = value;
  BranchBuilder *rests = branch_open(w, count > 1 ? args[n] : ir_int(w, 0));
  branch_add_all(rests, args, n + columns + 1);
  for (int i = 0; i < count; i++) branch_arm(rests, rest_of(r, r->leaves.data[i]), r->f->name);
  loop_next(b, value, branch_close(rests));
  loop_close(b, ir_get(w, first, first->type->n - 1), NULL, 0);
  return loop_result(b, value);
}

static Func *iterate(Recursion *r) {
  World *w = r->w;
  Func *f = r->f, *n = ir_func(w, f->name, f->params, f->nparams, f->result);
  int slots = f->nparams + carries_leaf(r);
  Node **params = NEW_ARRAY(w->arena, Node *, slots + 1), **last = NEW_ARRAY(w->arena, Node *, slots + 1);
  Node **state = NEW_ARRAY(w->arena, Node *, slots + 1);
  LoopBuilder *b = loop_open(w, false);
  for (int k = 0; k < f->nparams; k++) params[k] = ir_param(w, k, f->params[k]);
  if (carries_leaf(r)) params[f->nparams] = tree(r, LEAF, r->root);
  for (int k = 0; k < slots; k++) state[k] = loop_add(b, LOOP_CARRIED, params[k]);
  Node *next = loop_part_of(r, STEP, loop_index(b), state);
  loop_yield(b, carries_leaf(r) ? with_leaf(r, next) : next);
  loop_close(b, NULL, loop_part_of(r, CONTINUES, loop_index(b), state), 0);
  Node *loop = loop_value(b);
  for (int k = 0; k < slots; k++) last[k] = ir_get(w, loop, k);
  Node *end = ir_substitute(w, tree(r, EXIT, r->root), last, slots, 0);
  n->span = f->span;
  end = ir_after_loop(w, end, loop);
  ir_func_finish(w, n, r->tail ? end : do_posts(r, loop, params, end));
  return n;
}

/* ---- The pass ---------------------------------------------------------------------------------------------------- */
static Node *call_loop(void *user, Rewriter *rw, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  (void)graphs;
  Pass *t = user;
  if (n->op != OP_CALL || !n->attr.func->recursive) return NULL;
  Func *f = n->attr.func, *loop = map_get(&t->loops, f);
  if (!loop) {
    Recursion *r = NEW(t->w->temp, Recursion);
    r->w = t->w;
    r->f = f;
    map_put(&t->loops, f, loop = fits(r) ? iterate(r) : f);
  }
  if (loop == f) return NULL;
  Func *made = rewrite_func(rw, loop);
  if (!map_get(&t->known, made)) vec_push(t->w->temp, t->made, made);
  map_put(&t->known, made, made);
  return ir_call(t->w, made, ops, n->site);
}

/* What has a loop in place of its calls of itself may still call others that call it. It counts as not recursive until
 * all are made, so that it is written out in those if it is small. */
static void find_recursive(Pass *t) {
  for (int i = 0; i < t->made.len; i++) {
    Func *f = t->made.data[i];
    f->recursive = ir_calls(t->w, f->graph, f);
  }
}

Graph *opt_recursion(World *w, Graph *g) {
  Pass *t = NEW(w->temp, Pass);
  t->w = w;
  map_init(&t->loops, w->temp);
  map_init(&t->known, w->temp);
  g = ir_rewrite(w, g, (RewritePass){.user = t, .node = call_loop});
  find_recursive(t);
  return g;
}
