/* SPDX-License-Identifier: MIT */
/* Loop peeling for sizes: an array that a loop carries may begin with a length that isn't known, and have the same
 * known one after each iteration. Then the first iteration is peeled off, and in the loop the length is known, too:
 * indices need no checks, and the cotangent of the array is an array from the start.
 *
 *   loop i < n from v: [ f v[j] | j < 64 ]
 *   →
 *   if 0 < n then (loop i < n - 1 from [ f v[j] | j < 64 ]: [ f v[j] | j < 64 ]) else v
 *
 * Literal lengths of captured arrays are made known in the graphs of loops and branches, at any depth.
 *
 * Examples: a loop that carries its function's argument first and arrays of a literal length afterwards; one that
 * carries the matrix `eye 4` first and products with a matrix of unknown size afterwards; one that adds arrays of a
 * literal length to its argument, which each iteration checks to have that length. */
#include "facts/ir_loop_facts.h"
#include "ir/edit.h"
#include "opt/opt.h"
#include <string.h>

/* Of an array, by dimension; NULL: not known. */
typedef struct Lengths {
  Node *of[LIMIT_RANK];
} Lengths;

/* The lengths of the arrays that a loop carries, after each iteration. */
typedef struct Sizes {
  World *w;
  const Node *loop;
  Node **ops; /* of the loop, new */
  Graph **graphs;
  Lengths *after; /* by carried value and dimension, around the loop; NULL: not known */
  bool differ;    /* one of them isn't known to be the length at the start */
  Graph *known;   /* the body where lengths that are literals are known, in nested graphs, too */
} Sizes;

/* The length n of an array that an iteration makes, if all make it: a number that it is checked to be, or an
 * invariant. */
static Node *length_after(LoopFacts *facts, Node *n) {
  for (const Node *x = n; x->op == OP_AFTER || op_flags[x->op] & OPF_V; x = x->ops[0])
    if (x->op == OP_CHECK_SIZE && x->ops[1]->op == OP_INT) return x->ops[1];
  return loop_invariant_number(facts, n);
}

static void find_sizes_of(Sizes *s, LoopFacts *facts, int k) {
  Node *next = ir_get(s->w, s->graphs[0]->result, k);
  Node *found[LIMIT_RANK] = {NULL};
  bool differ = false;
  for (int d = 0; d < ir_rank(next->type); d++) {
    found[d] = length_after(facts, ir_len(s->w, next, d));
    if (!found[d]) return;
    differ |= !ir_same_number(s->w, ir_len(s->w, s->ops[1 + k], d), found[d]);
  }
  memcpy(s->after[k].of, found, sizeof found);
  s->differ |= differ;
}

static void find_sizes(Sizes *s) {
  const LoopInfo *l = s->loop->loop;
  LoopFacts facts = loop_facts(s->w, l, s->ops + 1, s->graphs[0], true);
  s->after = NEW_ARRAY(s->w->temp, Lengths, l->ncarried + 1);
  s->differ = false;
  for (int k = 0; k < l->ncarried; k++) {
    const IrType *t = s->graphs[0]->params[1 + k];
    if (t->kind == T_ARRAY && ir_rank(t) <= LIMIT_RANK) find_sizes_of(s, &facts, k);
  }
}

/* ---- Literal lengths in nested graphs ---------------------------------------------------------------------------- */
static Graph *with_lengths(World *w, Graph *g, const Lengths *of);

/* The literal lengths of array x of a graph whose parameters' lengths are `of` (NULL: none is known). */
static Lengths lengths_of(World *w, Node *x, const Lengths *of) {
  Lengths found = {{NULL}};
  if (x->op == OP_PARAM && of) return of[x->attr.i];
  if (x->op == OP_ARRAY && !ir_rows_agree(w, x)) return found;
  for (int d = 0; d < ir_rank(x->type) && d < LIMIT_RANK; d++) {
    Node *n = ir_len(w, x, d);
    if (n->op != OP_INT) break;
    found.of[d] = n;
  }
  return found;
}

/* Graph g of loop or branch x over operands ops, where the lengths of captured arrays are known. */
static Graph *nested_with_lengths(World *w, const Node *x, Node **ops, Graph *g, const Lengths *of) {
  Lengths *inner = NEW_ARRAY(w->temp, Lengths, g->nparams + 1);
  bool any = false;
  int first = x->op == OP_SWITCH ? 1 : loop_first(x->loop);
  for (int k = first; k < x->nops; k++) {
    int param = x->op == OP_SWITCH ? k - 1 : 1 + k - first;
    bool captured = x->op == OP_SWITCH || loop_part(x->loop, k - first) == LOOP_CAPTURED;
    if (!captured || ops[k]->type->kind != T_ARRAY) continue;
    inner[param] = lengths_of(w, ops[k], of);
    any |= inner[param].of[0] != NULL;
  }
  return any ? with_lengths(w, g, inner) : g;
}

/* The graphs of x, likewise; NULL: they don't ask for known lengths. */
static Graph **all_with_lengths(World *w, const Node *x, Node **ops, Graph **graphs, const Lengths *of) {
  if (x->op != OP_SWITCH && (x->op != OP_LOOP || x->loop->has_cond)) return NULL;
  Graph **out = NEW_ARRAY(w->temp, Graph *, x->ngraphs + 1);
  bool other = false;
  for (int k = 0; k < x->ngraphs; k++) {
    out[k] = nested_with_lengths(w, x, ops, graphs[k], of);
    other |= out[k] != graphs[k];
  }
  return other ? out : NULL;
}

/* The graph where `len` of its parameters is known. */
static Graph *with_own_lengths(World *w, Graph *g, const Lengths *of) {
  Node **nodes;
  Map known;
  int n = ir_order(w->temp, g, &nodes), found = 0;
  map_init(&known, w->temp);
  for (int k = 0; k < n; k++) {
    const Node *x = nodes[k], *a = x->op == OP_LEN ? x->ops[0] : NULL;
    Node *length = a && a->op == OP_PARAM && x->attr.i < LIMIT_RANK ? of[a->attr.i].of[x->attr.i] : NULL;
    if (length) map_put(&known, nodes[k], length), found++;
  }
  return found ? ir_graph_over(w, g, &known) : g;
}

/* The first loop or branch of the graph whose own graphs ask for lengths that are known, as it is with them; NULL. */
static Node *find_nested(World *w, Graph *g, const Lengths *of, Node **old) {
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  for (int k = 0; k < n; k++) {
    Graph **graphs = all_with_lengths(w, nodes[k], nodes[k]->ops, nodes[k]->graphs, of);
    *old = nodes[k];
    if (graphs) return ir_rebuild(w, nodes[k], nodes[k]->ops, graphs);
  }
  return NULL;
}

/* The graph where the lengths of its parameters are known, by parameter, in it and in nested graphs. */
static Graph *with_lengths(World *w, Graph *g, const Lengths *of) {
  Node *old, *made;
  g = with_own_lengths(w, g, of);
  for (int k = 0; k < LIMIT_SIZED_NESTS && (made = find_nested(w, g, of, &old)); k++) {
    Map known;
    map_init(&known, w->temp);
    map_put(&known, old, made);
    g = ir_graph_over(w, g, &known);
  }
  return g;
}

static void find_known_body(Sizes *s) {
  Lengths *of = NEW_ARRAY(s->w->temp, Lengths, s->graphs[0]->nparams + 1);
  for (int k = 0; k < s->loop->loop->ncarried; k++)
    for (int d = 0; d < LIMIT_RANK && s->after[k].of[d] && s->after[k].of[d]->op == OP_INT; d++)
      of[1 + k].of[d] = s->after[k].of[d];
  s->known = with_lengths(s->w, s->graphs[0], of);
}

/* ---- Lengths that are asked for ---------------------------------------------------------------------------------- */
/* The same of x, a captured length: that of an array at the start, which doesn't change but is checked. */
static Node *captured_size(const Sizes *s, const Node *x) {
  const LoopInfo *l = s->loop->loop;
  int64_t input = x->attr.i - 1;
  if (input < loop_captures(l) || x->type->kind != T_INT) return NULL;
  for (int k = 0; k < l->ncarried; k++)
    for (int d = 0; d < LIMIT_RANK && s->after[k].of[d]; d++)
      if (s->after[k].of[d]->op == OP_INT && s->ops[1 + input] == ir_len(s->w, s->ops[1 + k], d))
        return s->after[k].of[d];
  return NULL;
}

/* The length that node x of the body asks for, if it is known; NULL. */
static Node *size_asked(const Sizes *s, const Node *x) {
  if (x->op == OP_PARAM) return captured_size(s, x);
  if (x->op != OP_LEN || x->ops[0]->op != OP_PARAM || x->attr.i >= LIMIT_RANK) return NULL;
  int64_t k = x->ops[0]->attr.i - 1;
  return k >= 0 && k < s->loop->loop->ncarried ? s->after[k].of[x->attr.i] : NULL;
}

static bool asks_for_sizes(const Sizes *s) {
  if (s->known != s->graphs[0]) return true;
  Node **nodes;
  int n = ir_order(s->w->temp, s->graphs[0], &nodes);
  for (int k = 0; k < n; k++)
    if (size_asked(s, nodes[k])) return true;
  return false;
}

static bool is_small(World *w, Graph *body) {
  OpCounts c = ir_count(w, body);
  return c.total <= LIMIT_SIZED_BODY || !limit_reached(w->arena, AT_SIZED_BODY);
}

/* A copy of the loop over the inputs, in whose body the lengths are known. */
static LoopEdit *with_sizes(const Sizes *s, Node **ops) {
  LoopEdit *e = edit_loop(s->w, s->loop, ops, (Graph *[]){s->known});
  edit_inputs(e);
  Node **nodes;
  int n = ir_order(s->w->temp, s->known, &nodes);
  for (int k = 0; k < n; k++) {
    Node *size = size_asked(s, nodes[k]);
    if (size) edit_capture(e, 0, nodes[k], size);
  }
  return e;
}

/* The loop without its first iteration, which has made `state`, and one fewer of them. */
static Node *rest_of(const Sizes *s, Node *state) {
  World *w = s->w;
  const LoopInfo *l = s->loop->loop;
  Node *one = ir_int(w, 1), *count = ir_op2(w, OP_ISUB, s->ops[0], one), *from = l->down ? ir_int(w, 0) : one;
  Node **in = NEW_ARRAY(w->temp, Node *, s->loop->nops + 1);
  in[0] = count;
  for (int k = 0; k < loop_inputs(l); k++) {
    Node *x = s->ops[1 + k];
    bool sliced = loop_part(l, k) == LOOP_SLICED;
    in[1 + k] = k < loop_slots(l) ? ir_get(w, state, k) : sliced ? ir_slice(w, x, from, count) : x;
  }
  LoopEdit *e = with_sizes(s, in);
  if (!l->down) e->args[0] = ir_op2(w, OP_IADD, e->args[0], one);
  edit_close(e);
  e->results[loop_slots(l)] = s->ops[0];
  return edit_value(e);
}

static Node *peeled(const Sizes *s) {
  World *w = s->w;
  const LoopInfo *l = s->loop->loop;
  Node *first = l->down ? ir_op2(w, OP_ISUB, s->ops[0], ir_int(w, 1)) : ir_int(w, 0);
  return rest_of(s, edit_iteration(w, l, s->graphs[0], s->ops + 1, first));
}

/* What the loop yields without an iteration. */
static Node *unchanged(const Sizes *s) {
  int slots = loop_slots(s->loop->loop);
  Node **results = NEW_ARRAY(s->w->temp, Node *, slots + 1);
  for (int k = 0; k < slots; k++) results[k] = s->ops[1 + k];
  results[slots] = s->ops[0];
  return ir_record(s->w, results, slots + 1);
}

/* peeled, if there is an iteration. */
static Node *peeled_if_any(Sizes *s) {
  World *w = s->w;
  if (s->ops[0]->op == OP_INT) return peeled(s);
  int n = s->loop->nops;
  BranchBuilder *b = branch_open(w, ir_op2(w, OP_ILT, ir_int(w, 0), s->ops[0]));
  Node **caps = NEW_ARRAY(w->temp, Node *, n + 1);
  for (int k = 0; k < n; k++) caps[k] = branch_add(b, s->ops[k]);
  s->ops = caps;
  find_sizes(s);
  branch_arm(b, unchanged(s), NULL);
  branch_arm(b, peeled(s), NULL);
  return branch_close(b);
}

/* Loop n where the lengths of carried arrays are known, with its first iteration peeled if need be; NULL: unchanged. */
static Node *settle_carried(World *w, Node *n, Node **ops, Graph **graphs) {
  if (n->op != OP_LOOP || n->loop->has_cond || !n->loop->ncarried) return NULL;
  if (ops[0]->op == OP_INT && ops[0]->attr.i < 2) return NULL;
  Sizes s = {.w = w, .loop = n, .ops = ops, .graphs = graphs};
  find_sizes(&s);
  find_known_body(&s);
  if (!asks_for_sizes(&s)) return NULL;
  if (!s.differ) return edit_value(with_sizes(&s, ops));
  return n->loop->nstacked || !is_small(w, graphs[0]) ? NULL : peeled_if_any(&s);
}

static Node *settle_sizes(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)frame;
  World *w = user;
  if (n->op != OP_LOOP && n->op != OP_SWITCH) return NULL;
  Graph **known = all_with_lengths(w, n, ops, graphs, NULL);
  Node *x = settle_carried(w, n, ops, known ? known : graphs);
  return x || !known ? x : ir_rebuild(w, n, ops, known);
}

Graph *opt_carried_sizes(World *w, Graph *g) {
  return ir_rewrite(w, g, (RewritePass){.user = w, .node = settle_sizes});
}
