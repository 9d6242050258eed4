/* SPDX-License-Identifier: MIT */
/* Joining of loops of one graph that run equally often (horizontal fusion): one loop does what all of them do.
 *
 *   a = [ f i | i < n ]; b = [ g i | i < n ]   →   (a, b) = loop i < n: f i, g i
 *
 * One may also need what another one makes, if it needs it iteration by iteration: elements of arrays at its own
 * index, or an accumulator that it goes on adding to, which nobody else sees in between. What the bodies have in
 * common is one node then, and what makes arrays that all of them read can be fused into them. Only loops are joined
 * of which one reads another one's results, or that read an array in common, or whose results something reads
 * together: others would have less room in caches and registers, for nothing. They carry no values, so their
 * iterations are independent but for accumulators, and may run in either direction. If two may fail, then at the same
 * places of the program, as a value and its derivative do: else a later one of two failures might be reported; of traps
 * (--trap-nan) any may. No
 * effect is ordered after what may fail behind it, and nothing that may fail after an effect that stands behind it. In
 * strict mode, where sums have an order, no two add to one accumulator.
 *
 * Which loops need which is a matrix of bits (`needs`), which is closed again whenever two are joined: so joining never
 * makes a circle. Then the graph is made anew, all that a group needs before its loop. */
#include "graph/graph.h"
#include "ir/remarks.h"
#include "facts/effect_places.h"
#include "facts/ir_loop_facts.h"
#include "opt/fuse.h"
#include <string.h>

typedef struct JoinPass {
  World *w;
  bool joined; /* any loops: what they hold may be joined next */
} JoinPass;

typedef struct Group {
  Vec(int) members; /* nodes of the body, in order */
  uint64_t *loops;  /* the same, as bits */
  Vec(Node *) counts;
  int size; /* nodes of all bodies */
  bool fails, accumulates, down;
} Group;

typedef struct Join {
  World *w;
  Rewriter *r;
  const GraphBody *b;
  const int **ops; /* per node: the places of its operands */
  int *loop;       /* per node: which of the loops that may be joined it is; -1: none */
  Uses *uses;
  int *nodes;            /* per loop: its place in the body */
  int nloops, words;     /* of a row of bits, one for each loop */
  uint64_t *needs, *met; /* per node, the loops it needs; per loop, those worth being joined with it */
  uint64_t *effects;     /* the loops that effects need */
  int *behind;           /* per node: how many effects come before it */
  Group **group;         /* per loop */
  Node **value;          /* per node: what became of it */
} Join;

/* ---- Loops that may be joined; bits ------------------------------------------------------------------------------ */
static bool may_be_joined(const Node *n) { return n->op == OP_LOOP && !n->loop->has_cond && n->loop->ncarried == 0; }

static Node *node(const Join *j, int i) { return j->b->nodes[i]; }

static uint64_t *rows(const Join *j, int n) {
  return NEW_ARRAY(j->w->temp, uint64_t, (size_t)n * (size_t)j->words + 1);
}
static uint64_t *row(const Join *j, uint64_t *bits, int i) { return bits + (size_t)i * (size_t)j->words; }
static void unite(const Join *j, uint64_t *into, const uint64_t *other) {
  for (int k = 0; k < j->words; k++) into[k] |= other[k];
}
static bool meet(const Join *j, const uint64_t *a, const uint64_t *b) {
  for (int k = 0; k < j->words; k++)
    if (a[k] & b[k]) return true;
  return false;
}

/* ---- What loops need --------------------------------------------------------------------------------------------- */
static bool find_loops(Join *j) {
  int n = j->b->n;
  const int *ops = j->b->operands;
  j->ops = NEW_ARRAY(j->w->temp, const int *, n + 1);
  j->loop = NEW_ARRAY(j->w->temp, int, n + 1);
  j->nodes = NEW_ARRAY(j->w->temp, int, n + 1);
  for (int i = 0; i < n; i++) {
    j->ops[i] = ops;
    ops += node(j, i)->nops;
    bool member = may_be_joined(node(j, i));
    if (member && j->nloops == LIMIT_SIBLINGS) member = limit_reached(j->w->arena, AT_SIBLINGS) && false;
    j->loop[i] = member ? j->nloops : -1;
    if (member) j->nodes[j->nloops++] = i;
  }
  j->words = (j->nloops + 63) / 64;
  return j->nloops > 1;
}

static void find_needs(Join *j) {
  j->needs = rows(j, j->b->n);
  j->effects = rows(j, 1);
  for (int i = 0; i < j->b->n; i++)
    for (int k = 0; k < node(j, i)->nops; k++) {
      int of = j->ops[i][k];
      unite(j, row(j, j->needs, i), row(j, j->needs, of));
      if (j->loop[of] >= 0) set_bit(row(j, j->needs, i), j->loop[of]);
    }
  for (int i = 0; i < j->b->n; i++)
    if (ir_is_effect(node(j, i))) unite(j, j->effects, row(j, j->needs, i));
}

/* How many of these effects stand before x, which may fail. */
static int effects_standing_before(World *w, const Site *effects, int n, const Node *x) {
  Site here = n ? fact_place(w, x) : 0;
  while (n && !fact_place_is_before(w, effects[n - 1], here)) n--;
  return n;
}

/* By operands, and of what may fail by places. */
static void count_effects_before(Join *j) {
  Vec(Site) effects = {0};
  j->behind = NEW_ARRAY(j->w->temp, int, j->b->n + 1);
  for (int i = 0; i < j->b->n; i++)
    if (ir_is_effect(node(j, i))) vec_push(j->w->temp, effects, fact_place(j->w, node(j, i)));
  for (int i = 0; i < j->b->n; i++) {
    const Node *x = node(j, i);
    int *n = &j->behind[i];
    if (fact_may_delay_effects(j->w, x)) *n = effects_standing_before(j->w, effects.data, effects.len, x);
    for (int k = 0; k < x->nops; k++) {
      int before = j->behind[j->ops[i][k]] + ir_is_effect(x->ops[k]);
      if (before > *n) *n = before;
    }
  }
}

/* Which loop operand k of node i is a result of; -1. */
static int loop_read(const Join *j, int i, int k) {
  int x = j->ops[i][k];
  return j->loop[node(j, x)->op == OP_GET ? j->ops[x][0] : x];
}

static void are_worth_joining(Join *j, const uint64_t *loops) {
  for (int l = 0; l < j->nloops; l++)
    if (bit_is_set(loops, l)) unite(j, row(j, j->met, l), loops);
}

/* Loops whose results one node reads, or another loop, and loops that read one array. */
static void find_readers(Join *j) {
  uint64_t *readers = rows(j, j->b->n);
  j->met = rows(j, j->nloops);
  for (int i = 0; i < j->b->n; i++) {
    uint64_t *read = rows(j, 1);
    if (j->loop[i] >= 0) set_bit(read, j->loop[i]);
    for (int k = 0; k < node(j, i)->nops; k++) {
      int l = loop_read(j, i, k), x = j->ops[i][k];
      if (l >= 0) set_bit(read, l);
      if (j->loop[i] >= 0 && node(j, x)->type->kind == T_ARRAY) set_bit(row(j, readers, x), j->loop[i]);
    }
    if (node(j, i)->op != OP_GET) are_worth_joining(j, read);
  }
  for (int i = 0; i < j->b->n; i++) are_worth_joining(j, row(j, readers, i));
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */
static bool is_filled_in_order(const Join *j, const Node *loop, int s) {
  return fuse_is_fusible(loop->type->args[s]) && fact_filled_in_order(j->w, loop->graphs[0], s);
}

static bool accumulates(const Join *j, const Node *n) {
  bool any = false;
  for (int s = n->loop->ncarried; s < loop_slots(n->loop); s++) any |= !is_filled_in_order(j, n, s);
  return any;
}

static Group *group_of_one(Join *j, int l) {
  const Node *n = node(j, j->nodes[l]);
  Group *g = NEW(j->w->temp, Group);
  g->size = n->graphs[0]->size;
  g->fails = n->graphs[0]->flags & NODE_FAILS;
  g->accumulates = accumulates(j, n);
  g->down = n->loop->down;
  g->loops = rows(j, 1);
  set_bit(g->loops, l);
  vec_push(j->w->temp, g->members, j->nodes[l]);
  vec_push(j->w->temp, g->counts, n->ops[0]);
  return g;
}

static bool changes_what_is_read(const Join *j, const Group *of, const Group *by) {
  for (int a = 0; a < of->members.len; a++)
    for (int c = 0; c < by->members.len; c++)
      if (fuse_changes_what_is_read(node(j, of->members.data[a]), node(j, by->members.data[c]))) return true;
  return false;
}

/* Does slot s of loop i begin as an array that a loop stacks, from where it may be made element by element? */
static bool begins_stacked(const Join *j, int i, int s) {
  for (;;) {
    int of = loop_read(j, i, 1 + s);
    if (of < 0) return false;
    s = (int)node(j, j->ops[i][1 + s])->attr.i;
    i = j->nodes[of];
    if (s >= loop_slots(node(j, i)->loop)) return true;
  }
}

/* Is result r of loop i, an accumulator, made element by element, in this loop and those that it begins in? */
static bool is_made_element_by_element(const Join *j, int i, int r) {
  while (r < loop_slots(node(j, i)->loop)) {
    if (!is_filled_in_order(j, node(j, i), r)) return false;
    int of = loop_read(j, i, 1 + r);
    if (of < 0) return true;
    r = (int)node(j, j->ops[i][1 + r])->attr.i;
    i = j->nodes[of];
  }
  return true;
}

/* The loop that makes operand k of loop i iteration by iteration as that one needs it: its place; -1. */
static int maker(const Join *j, int i, int k) {
  const LoopInfo *l = node(j, i)->loop;
  int x = j->ops[i][k], of = loop_read(j, i, k);
  if (of < 0 || k == 0) return -1;
  const LoopInfo *made = node(j, j->nodes[of])->loop;
  int result = (int)node(j, x)->attr.i;
  bool stacked = result >= loop_slots(made);
  bool acc = loop_part(l, k - 1) == LOOP_ACC;
  if (acc && !stacked && (uses_count(j->uses, node(j, x)) != 1 || j->w->strict)) return -1;
  if (acc && !stacked && !begins_stacked(j, j->nodes[of], result)) return j->nodes[of];
  if (!fuse_is_fusible(node(j, x)->type)) return -1;
  if (acc) return is_filled_in_order(j, node(j, i), k - 1) ? j->nodes[of] : -1;
  if (!is_made_element_by_element(j, j->nodes[of], result)) return -1;
  bool in_order = loop_part(l, k - 1) == LOOP_SLICED || fact_is_read_in_order(j->w, node(j, i)->graphs[0], k, NULL);
  return in_order ? j->nodes[of] : -1;
}

static bool is_in(const Join *j, int i, const Group *g) { return j->loop[i] >= 0 && j->group[j->loop[i]] == g; }

/* Does an iteration of a loop of g need more of a loop of g or h than what that makes in the same iteration, or than
 * the accumulator that both add to? */
static bool needs_whole(const Join *j, const Group *g, const Group *h) {
  for (int m = 0; m < g->members.len; m++) {
    int i = g->members.data[m];
    for (int k = 0; k < node(j, i)->nops; k++) {
      int of = maker(j, i, k);
      if (of >= 0 && (is_in(j, of, g) || is_in(j, of, h))) continue;
      int x = j->ops[i][k];
      if (is_in(j, x, g) || is_in(j, x, h)) return true;
      if (meet(j, row(j, j->needs, x), g->loops) || meet(j, row(j, j->needs, x), h->loops)) return true;
    }
  }
  return false;
}

/* ---- Whether it pays --------------------------------------------------------------------------------------------- */
/* Scalar functions that are calls: an iteration with several of them, one after the other, overlaps less with the next
 * ones, so loops that call some are joined only if they call one together. */
static bool is_called(const Node *n) { return op_flags[n->op] & OPF_S && !(op_flags[n->op] & (OPF_Q | OPF_B | OPF_F)); }

static bool calls_functions(const Join *j, const Group *g) {
  for (int m = 0; m < g->members.len; m++) {
    const GraphBody *b = graph_body(j->w, node(j, g->members.data[m])->graphs[0]);
    for (int i = 0; i < b->n; i++)
      if (is_called(b->nodes[i])) return true;
  }
  return false;
}

/* The body of loop b with the parameters of loop a's in the places of those that are the same, before its own. */
static Graph *in_terms_of(const Join *j, const Node *a, const Node *b) {
  Graph *body = b->graphs[0];
  const Graph *other = a->graphs[0];
  int n = other->nparams + body->nparams;
  Node **args = NEW_ARRAY(j->w->temp, Node *, body->nparams);
  IrType **types = NEW_ARRAY(j->w->temp, IrType *, n);
  for (int k = 0; k < n; k++) types[k] = k < other->nparams ? other->params[k] : body->params[k - other->nparams];
  args[0] = ir_param(j->w, 0, types[0]);
  for (int k = 1; k < body->nparams; k++) {
    int same = 1;
    while (same < other->nparams && (a->ops[same] != b->ops[k] || types[same] != body->params[k])) same++;
    args[k] = ir_param(j->w, same < other->nparams ? same : other->nparams + k, body->params[k]);
  }
  return ir_graph(j->w, types, n, ir_instantiate(j->w, body, args, 0), NULL);
}

static void add_called(const Join *j, Graph *g, Map *to) {
  const GraphBody *b = graph_body(j->w, g);
  for (int i = 0; i < b->n; i++)
    for (int k = 0; is_called(b->nodes[i]) && k < b->nodes[i]->nops; k++) map_put(to, b->nodes[i]->ops[k], b->nodes[i]);
}

/* Do loops a and b call functions of one value? */
static bool calls_together(const Join *j, const Node *a, const Node *b) {
  Map called;
  map_init(&called, j->w->temp);
  add_called(j, a->graphs[0], &called);
  const GraphBody *other = graph_body(j->w, in_terms_of(j, a, b));
  for (int i = 0; i < other->n; i++)
    for (int k = 0; is_called(other->nodes[i]) && k < other->nodes[i]->nops; k++)
      if (map_get(&called, other->nodes[i]->ops[k])) return true;
  return false;
}

/* Sums of free order, with little else to do, have partial sums (lower_lanes.c), and aren't if there is
 * more. */
static bool is_sum(const Node *n) {
  bool sum = n->loop->naccs > 0 && n->graphs[0]->size <= LIMIT_JOINED_BODY && !(n->graphs[0]->flags & NODE_COSTLY);
  for (int s = 0; s < loop_slots(n->loop); s++) sum &= n->type->args[s]->kind == T_FLOAT;
  return sum;
}

static bool holds_sum(const Join *j, const Group *g) {
  for (int m = 0; m < g->members.len; m++)
    if (is_sum(node(j, g->members.data[m]))) return !calls_functions(j, g);
  return false;
}

static bool only_sums(const Join *j, const Group *g) {
  bool only = !calls_functions(j, g);
  for (int m = 0; m < g->members.len; m++) {
    const Node *n = node(j, g->members.data[m]);
    only &= n->loop->naccs == 0 || is_sum(n);
  }
  return only;
}

static bool is_profitable(const Join *j, const Group *g, const Group *h) {
  if (holds_sum(j, g) || holds_sum(j, h)) {
    if (g->size + h->size > LIMIT_JOINED_BODY) return !limit_reached(j->w->arena, AT_JOINED_BODY);
    return only_sums(j, g) && only_sums(j, h);
  }
  if (!calls_functions(j, g) || !calls_functions(j, h)) return true;
  for (int a = 0; a < g->members.len; a++)
    for (int b = 0; b < h->members.len; b++)
      if (calls_together(j, node(j, g->members.data[a]), node(j, h->members.data[b]))) return true;
  return false;
}

static bool run_equally_often(const Join *j, const Group *g, const Group *h) {
  if (g->counts.data[0] == h->counts.data[0]) return true;
  for (int a = 0; a < g->counts.len; a++)
    for (int b = 0; b < h->counts.len; b++)
      if (ir_same_number(j->w, g->counts.data[a], h->counts.data[b])) return true;
  return false;
}

/* Would an effect that needs loops of g wait for what the others need, which may fail and comes after it? */
static bool delays_effects(const Join *j, const Group *g, const Group *h) {
  bool needed = meet(j, j->effects, g->loops), fails = false;
  for (int m = 0; m < h->members.len; m++) fails |= (node(j, h->members.data[m])->flags & NODE_FAILS) != 0;
  return needed && fails;
}

static int effects_before(const Join *j, const Group *g) {
  int n = 0;
  for (int m = 0; m < g->members.len; m++)
    if (j->behind[g->members.data[m]] > n) n = j->behind[g->members.data[m]];
  return n;
}

/* Would what may fail or not end, and needs loops of g, come after effects that only loops of h need? */
static bool delays_failures(const Join *j, const Group *g, const Group *h) {
  int effects = effects_before(j, h);
  if (effects_before(j, g) >= effects) return false;
  for (int i = 0; i < j->b->n; i++) {
    bool fails = node(j, i)->flags & (NODE_FAILS | NODE_ENDLESS), needs = meet(j, row(j, j->needs, i), g->loops);
    if (fails && j->behind[i] < effects && (needs || is_in(j, i, g))) return true;
  }
  return false;
}

typedef struct Places {
  World *w;
  Map seen; /* where what may fail stands in the source, */
  Vec(const void *) all;
} Places;

static void add_places(void *user, Graph *g) {
  Places *p = user;
  const GraphBody *b = graph_body(p->w, g);
  for (int i = 0; i < b->n; i++) {
    const Node *x = b->nodes[i];
    if (!(x->flags & NODE_FAILS) || x->ngraphs) continue;
    Span at = ir_site_info(p->w, x->site)->at;
    const void *key = (const void *)(uintptr_t)((uint64_t)at.source << 32 | (at.start + 1)); /* exact */
    if (map_get(&p->seen, key)) continue;
    map_put(&p->seen, key, p);
    vec_push(p->w->temp, p->all, key);
  }
}

static Places places_of(const Join *j, const Group *g) {
  Places p = {.w = j->w};
  map_init(&p.seen, j->w->temp);
  for (int m = 0; m < g->members.len; m++) ir_walk_graphs(j->w, node(j, g->members.data[m])->graphs[0], add_places, &p);
  return p;
}

/* Are there only traps in both? Which of two is reported doesn't matter: each is right. */
static bool fail_by_traps(const Join *j, const Group *g) {
  for (int m = 0; m < g->members.len; m++)
    if (ir_fails_beyond_traps(j->w, node(j, g->members.data[m])->graphs[0])) return false;
  return true;
}

static bool fail_alike(const Join *j, const Group *g, const Group *h) {
  if (!g->fails || !h->fails || (fail_by_traps(j, g) && fail_by_traps(j, h))) return true;
  Places a = places_of(j, g), b = places_of(j, h);
  const Places *few = a.all.len < b.all.len ? &a : &b, *more = few == &a ? &b : &a;
  for (int i = 0; i < few->all.len; i++)
    if (!map_get(&more->seen, few->all.data[i])) return false;
  return true;
}

/* Why loops that run equally often aren't joined; NULL: they are. */
static const char *hindrance(const Join *j, const Group *g, const Group *h) {
  if (delays_effects(j, g, h) || delays_effects(j, h, g)) return "not joined: an effect would come after what may fail";
  if (delays_failures(j, g, h) || delays_failures(j, h, g))
    return "not joined: what may fail would come after an effect";
  if (changes_what_is_read(j, g, h) || changes_what_is_read(j, h, g))
    return "not joined: one loop changes an array that the other one reads";
  if (needs_whole(j, g, h) || needs_whole(j, h, g))
    return "not joined: one loop needs the whole result of the other one";
  if (!is_profitable(j, g, h)) return "not joined: iterations would overlap less";
  if (!fail_alike(j, g, h)) return "not joined: the loops may fail at different places";
  if (g->size + h->size <= LIMIT_JOINED) return NULL;
  return limit_reached(j->w->arena, AT_JOINED) ? "not joined: the loop would be too large" : NULL;
}

static bool can_join(const Join *j, const Group *g, const Group *h) {
  bool ordered = j->w->strict && g->accumulates && h->accumulates;
  if (g == h || (ordered && g->down != h->down) || !run_equally_often(j, g, h)) return false;
  const char *why_not = hindrance(j, g, h);
  if (why_not) ir_remark(j->w, "fuse_siblings", node(j, h->members.data[0])->site, why_not);
  return !why_not;
}

/* What needs loop a or b, which are of one group now, needs all of that and what it needs. */
static void join_needs(Join *j, int a, int b) {
  uint64_t *both = rows(j, 1);
  unite(j, both, row(j, j->needs, j->nodes[a]));
  unite(j, both, row(j, j->needs, j->nodes[b]));
  unite(j, both, j->group[a]->loops);
  int effects = effects_before(j, j->group[a]);
  for (int i = 0; i < j->b->n; i++) {
    uint64_t *needs = row(j, j->needs, i);
    if (!is_in(j, i, j->group[a]) && !bit_is_set(needs, a) && !bit_is_set(needs, b)) continue;
    unite(j, needs, both);
    if (j->behind[i] < effects) j->behind[i] = effects;
  }
  if (bit_is_set(j->effects, a) || bit_is_set(j->effects, b)) unite(j, j->effects, both);
}

static void add_once(Join *j, Group *g, Node *count) {
  for (int i = 0; i < g->counts.len; i++)
    if (g->counts.data[i] == count) return;
  vec_push(j->w->temp, g->counts, count);
}

static void join(Join *j, int a, int b) {
  const Group *g = j->group[a], *h = j->group[b];
  Group *both = NEW(j->w->temp, Group);
  both->size = g->size + h->size;
  both->fails = g->fails || h->fails;
  both->accumulates = g->accumulates || h->accumulates;
  both->down = h->accumulates ? h->down : g->down;
  both->loops = rows(j, 1);
  unite(j, both->loops, g->loops);
  unite(j, both->loops, h->loops);
  for (int l = 0; l < j->nloops; l++) {
    if (j->group[l] != g && j->group[l] != h) continue;
    j->group[l] = both;
    vec_push(j->w->temp, both->members, j->nodes[l]);
  }
  for (int i = 0; i < g->counts.len; i++) add_once(j, both, g->counts.data[i]);
  for (int i = 0; i < h->counts.len; i++) add_once(j, both, h->counts.data[i]);
  join_needs(j, a, b);
}

static bool find_groups(Join *j) {
  bool any = false;
  j->group = NEW_ARRAY(j->w->temp, Group *, j->nloops + 1);
  for (int l = 0; l < j->nloops; l++) j->group[l] = group_of_one(j, l);
  for (int b = 1; b < j->nloops; b++)
    for (int a = 0; a < b; a++)
      if (bit_is_set(row(j, j->met, a), b) && can_join(j, j->group[a], j->group[b])) {
        join(j, a, b);
        any = true;
      }
  return any;
}

/* ---- The new graph ----------------------------------------------------------------------------------------------- */
static void make_until(Join *j, const Group *g);

static void make(Join *j, int i) {
  Node *n = node(j, i), **ops = NEW_ARRAY(j->w->temp, Node *, n->nops + 1);
  Graph **graphs = NEW_ARRAY(j->w->temp, Graph *, n->ngraphs + 1);
  for (int k = 0; k < n->nops; k++) ops[k] = j->value[j->ops[i][k]];
  for (int k = 0; k < n->ngraphs; k++) graphs[k] = rewrite_graph(j->r, n->graphs[k]);
  j->value[i] = rewrite_node(j->r, n, ops, graphs);
}

/* One loop's part of a group's. */
typedef struct Member {
  int at; /* its place in the body */
  LoopEdit *e;
  bool *made;  /* per slot: does an array begin as what is made there? So its elements are stacked, … */
  int *number; /* … as this result */
} Member;

typedef struct Joined {
  Join *j;
  LoopBuilder *b;
  Vec(Member) members;
  Map sliced; /* array -> its element: two loops take slices of an array once */
} Joined;

static const Member *member_at(const Joined *d, int at) {
  for (int i = 0; i < d->members.len; i++)
    if (d->members.data[i].at == at) return &d->members.data[i];
  return NULL;
}

/* Result r of p as a later loop of the group needs it in an iteration: an accumulator, or an element. */
static Node *made_by(Joined *d, const Member *p, int r, bool element) {
  Node *x = p->e->next[r];
  bool array = element && r < loop_slots(p->e->l) && !p->made[r];
  return array ? ir_index(d->j->w, x, (Node *[]){loop_index(d->b)}, 1) : x;
}

/* Input k of member m: an operand of the new loop, or what member p, whose result r it is, makes in the new body. */
static void take_input(Joined *d, Member *m, int k) {
  Join *j = d->j;
  LoopEdit *e = m->e;
  LoopPart part = loop_part(e->l, k);
  int of = maker(j, m->at, 1 + k), r = (int)node(j, j->ops[m->at][1 + k])->attr.i;
  const Member *p = of >= 0 ? member_at(d, of) : NULL;
  Node *known = part == LOOP_SLICED && !p ? map_get(&d->sliced, e->ops[k]) : NULL;
  if (p) {
    bool begins = part == LOOP_ACC && (r >= loop_slots(p->e->l) || p->made[r]), goes_on = part == LOOP_ACC && !begins;
    Node *made = made_by(d, p, r, !goes_on);
    if (goes_on) e->in[k] = p->e->in[r];
    if (begins) m->made[k] = true;
    if (goes_on || part == LOOP_SLICED) known = made;
    else {
      fuse_put_elements(j->w, e->body, 1 + k, made, &e->over);
      known = ir_zero(j->w, e->body->params[1 + k]);
    }
  }
  e->args[1 + k] = known;
  if (!known) edit_input(e, k);
  if (part == LOOP_SLICED && !p) map_put(&d->sliced, e->ops[k], e->args[1 + k]);
}

/* Puts the body of m, with elements in place of arrays that begin as what is made in the group, into the new one. */
static void add_body(Joined *d, Member *m) {
  World *w = d->j->w;
  LoopEdit *e = m->e;
  int n = e->loop->type->n - 1;
  Node **xs = NEW_ARRAY(w->temp, Node *, n + 1);
  for (int k = 0; k < n; k++) {
    xs[k] = ir_get(w, e->body->result, k);
    if (k < loop_slots(e->l) && m->made[k]) xs[k] = xs[k]->ops[xs[k]->nops - 1];
  }
  edit_body(e, xs, NULL, 0);
  for (int k = 0; k < loop_slots(e->l); k++)
    if (m->made[k]) m->number[k] = loop_stack_sized(d->b, e->next[k]);
  edit_yield(e);
}

static void add_member(Joined *d, int at) {
  World *w = d->j->w;
  const Node *n = node(d->j, at);
  Node **ops = NEW_ARRAY(w->temp, Node *, n->nops);
  for (int k = 0; k < n->nops; k++) ops[k] = d->j->value[d->j->ops[at][k]];
  Member m = {.at = at, .e = edit_loop_into(w, d->b, n, ops, n->graphs)};
  m.made = NEW_ARRAY(w->temp, bool, n->nops);
  m.number = NEW_ARRAY(w->temp, int, n->nops);
  for (int k = 0; k < loop_inputs(n->loop); k++) take_input(d, &m, k);
  add_body(d, &m);
  vec_push(w->temp, d->members, m);
}

/* What the member yields, as its own loop did. */
static Node *member_value(const Joined *d, const Member *m) {
  edit_close(m->e);
  for (int k = 0; k < loop_slots(m->e->l); k++)
    if (m->made[k]) m->e->results[k] = loop_stacked(d->b, m->number[k]);
  return edit_value(m->e);
}

/* Effects that stand before the place happen before the loop: so it is that of the one that may fail, or the first. */
static Site site_of(const Join *j, const Group *g) {
  const Node *n = node(j, g->members.data[0]);
  for (int m = 1; m < g->members.len && !(n->graphs[0]->flags & NODE_FAILS); m++) {
    const Node *other = node(j, g->members.data[m]);
    if (other->graphs[0]->flags & NODE_FAILS) n = other;
  }
  return n->site;
}

static void make_joined(Join *j, const Group *g) {
  Joined d = {.j = j, .b = loop_open(j->w, g->down)};
  map_init(&d.sliced, j->w->temp);
  Node *count = NULL;
  for (int m = 0; m < g->members.len; m++) {
    Node *own = j->value[j->ops[g->members.data[m]][0]];
    count = !count || count == own ? own : ir_op2(j->w, OP_AFTER, count, own);
    add_member(&d, g->members.data[m]);
  }
  loop_close(d.b, count, NULL, site_of(j, g));
  for (int m = 0; m < d.members.len; m++) j->value[d.members.data[m].at] = member_value(&d, &d.members.data[m]);
}

static void make_with_group(Join *j, int i) {
  const Group *g = j->loop[i] >= 0 ? j->group[j->loop[i]] : NULL;
  if (g && g->members.len > 1) make_until(j, g);
  else make(j, i);
}

/* The group's loop, and before it all that it needs. */
static void make_until(Join *j, const Group *g) {
  bool *needed = NEW_ARRAY(j->w->temp, bool, j->b->n + 1);
  int last = 0;
  for (int m = 0; m < g->members.len; m++) {
    int i = g->members.data[m];
    if (i > last) last = i;
    for (int k = 0; k < node(j, i)->nops; k++) {
      int of = maker(j, i, k);
      if (of < 0 || !is_in(j, of, g)) needed[j->ops[i][k]] = true;
    }
  }
  for (int i = last; i >= 0; i--)
    for (int k = 0; needed[i] && !j->value[i] && k < node(j, i)->nops; k++) needed[j->ops[i][k]] = true;
  for (int i = 0; i < last; i++)
    if (needed[i] && !j->value[i]) make_with_group(j, i);
  make_joined(j, g);
}

static Graph *join_graph(void *user, Rewriter *r, Graph *g) {
  JoinPass *p = user;
  Join j = {.w = p->w, .r = r, .b = graph_body(p->w, g), .uses = graph_uses(p->w, g)};
  if (!find_loops(&j)) return rewrite_nodes(r, g);
  find_needs(&j);
  count_effects_before(&j);
  find_readers(&j);
  if (!find_groups(&j)) return rewrite_nodes(r, g);
  p->joined = true;
  j.value = NEW_ARRAY(p->w->temp, Node *, j.b->n + 1);
  for (int i = 0; i < j.b->n; i++)
    if (!j.value[i]) make_with_group(&j, i);
  return ir_graph(p->w, g->params, g->nparams, j.value[j.b->n - 1], g->name);
}

Graph *opt_fuse_siblings(World *w, Graph *g) {
  JoinPass p = {w, true};
  while (p.joined) {
    p.joined = false;
    g = ir_rewrite(w, g, (RewritePass){.user = &p, .graph = join_graph});
  }
  return g;
}
