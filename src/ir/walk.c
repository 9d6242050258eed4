/* SPDX-License-Identifier: MIT */
/* Walks over all graphs that one reaches: what they call, how many operations of each kind they hold, and a hash of one
 * that is the same in each run of the compiler. */
#include "ir/ir_internal.h"
#include <string.h>

/* ---- Reachable graphs ------------------------------------------------------------ */
typedef struct Walk {
  World *w;
  Map seen;
  Vec(Graph *) worklist;
} Walk;

static void reach(Walk *k, Graph *g) {
  if (!g || map_get(&k->seen, g)) return;
  map_put(&k->seen, g, g);
  vec_push(k->w->temp, k->worklist, g);
}

/* Where a walk goes at the call of a function. */
enum { BODIES = 1, RULES = 2, INSTEAD = 4 /* the rules alone, if there are any */ };
static void reach_called(Walk *k, const Func *f, int where) {
  bool rules = f->pullback || f->tangent;
  if (where & BODIES && !(where & INSTEAD && rules)) reach(k, f->graph);
  if (where & RULES && f->pullback) reach(k, f->pullback->graph);
  if (where & RULES && f->tangent) reach(k, f->tangent->graph);
}

static void walk(World *w, Graph *g, int where, void (*fn)(void *user, Graph *g), void *user) {
  Walk k = {.w = w};
  map_init(&k.seen, w->temp);
  reach(&k, g);
  for (int at = 0; at < k.worklist.len; at++) {
    Graph *x = k.worklist.data[at];
    fn(user, x);
    GraphBody *b = graph_body(w, x);
    for (int i = 0; i < b->n; i++) {
      Node *n = b->nodes[i];
      for (int j = 0; j < n->ngraphs; j++) reach(&k, n->graphs[j]);
      if (n->op == OP_CALL) reach_called(&k, n->attr.func, where);
    }
  }
}

void ir_walk_graphs(World *w, Graph *g, void (*fn)(void *user, Graph *g), void *user) { walk(w, g, BODIES, fn, user); }
void ir_walk_rules(World *w, Graph *g, void (*fn)(void *user, Graph *g), void *user) {
  walk(w, g, BODIES | RULES, fn, user);
}
void ir_walk_differentiated(World *w, Graph *g, void (*fn)(void *user, Graph *g), void *user) {
  walk(w, g, BODIES | RULES | INSTEAD, fn, user);
}

typedef struct Search {
  World *w;
  const Func *f;
  bool (*is)(const Node *n);
  bool found;
} Search;

static void find_node(void *user, Graph *g) {
  Search *s = user;
  const GraphBody *b = s->found ? NULL : graph_body(s->w, g);
  for (int i = 0; b && i < b->n; i++) s->found |= s->is(b->nodes[i]);
}

bool ir_reaches(World *w, Graph *g, bool (*is)(const Node *n)) {
  Search s = {.w = w, .is = is};
  ir_walk_graphs(w, g, find_node, &s);
  return s.found;
}

/* Does it fail itself, by what its operands and graphs don't fail by, and is it no trap? */
static bool fails_beyond_traps(World *w, const Node *n) {
  if (ir_is_trap(n)) return false;
  if (n->op == OP_CALL) return !n->attr.func->graph || n->attr.func->recursive;
  if (op_flags[n->op] & OPF_F) return n->op != OP_RESHAPE || n->site;
  if (n->op == OP_RT) return n->attr.rt->fails;
  if (n->op != OP_LOOP) return false;
  for (int k = loop_slots(n->loop); k < n->type->n - 1; k++)
    if (ir_rows_may_differ(w, n, k)) return true;
  return n->loop->has_cond;
}

static void find_failure(void *user, Graph *g) {
  Search *s = user;
  const GraphBody *b = s->found || !(g->flags & NODE_FAILS) ? NULL : graph_body(s->w, g);
  for (int i = 0; b && i < b->n; i++) s->found |= fails_beyond_traps(s->w, b->nodes[i]);
}

bool ir_fails_beyond_traps(World *w, Graph *g) {
  Search s = {.w = w};
  if (g->flags & NODE_FAILS) ir_walk_graphs(w, g, find_failure, &s);
  return s.found;
}

static void find_call(void *user, Graph *g) {
  Search *s = user;
  if (s->found || !(g->flags & NODE_CALLS)) return;
  GraphBody *b = graph_body(s->w, g);
  for (int i = 0; i < b->n; i++) s->found |= b->nodes[i]->op == OP_CALL && b->nodes[i]->attr.func == s->f;
}

bool ir_calls(World *w, Graph *g, const Func *f) {
  Search s = {.w = w, .f = f};
  if (g->flags & NODE_CALLS) ir_walk_graphs(w, g, find_call, &s);
  return s.found;
}

/* ---- Counts --------------------------------------------------------------------------- */
static void count_node(OpCounts *c, const Node *n) {
  switch ((Op)n->op) {
  case OP_PARAM:
#include "ir/leaf_cases.h"
  case OP_GRAPH_ID:
  case OP_GLOBAL:
  case OP_TUPLE:
  case OP_GET: return;
  case OP_CLOSURE:
    c->closures++;
    c->allocations++;
    break;
  case OP_CALL: c->calls++; break;
  case OP_APPLY: c->applies++; break;
  case OP_LOOP:
    c->loops++;
    c->allocations += n->loop->nstacked > 0;
    break;
  case OP_INJ:
  case OP_ARRAY:
  case OP_ZEROS:
  case OP_ACC_AT:
  case OP_TAKE:
  case OP_CUPDATE:
  case OP_FILL:
  case OP_FILL_LIKE:
  case OP_SHIFT:
    c->allocations++;
    c->arrays++;
    break;
  case OP_INDEX:
  case OP_SLICE:
  case OP_UPDATE:
  case OP_RESHAPE:
  case OP_BYTE:
  case OP_BAG_GET: c->arrays++; break;
#include "ir/scalar_cases.h"
  case OP_TAG:
  case OP_UNINJ:
  case OP_SWITCH:
  case OP_VJP:
  case OP_JVP:
  case OP_CHECKPOINT:
  case OP_STOP:
  case OP_CLOSURE_ID:
  case OP_CLOSURE_CAP:
#include "ir/check_cases.h"
  case OP_TRAP_NAN:
  case OP_TRAP_INF:
  case OP_MARK:
  case OP_CHECK:
  case OP_AFTER:
  case OP_FAIL:
  case OP_LEN:
  case OP_CADD:
  case OP_BAG_SLICE:
  case OP_TO_BAG:
  case OP_BAG_RESHAPE:
  case OP_RT: c->scalar++;
  }
  c->total++;
}

static void count_graph(void *user, Graph *g) {
  const GraphBody *b = g->cache;
  for (int i = 0; i < b->n; i++) count_node(user, b->nodes[i]);
}

OpCounts ir_count(World *w, Graph *g) {
  OpCounts c = {0};
  ir_walk_graphs(w, g, count_graph, &c);
  return c;
}

/* ---- Stable hash: positions instead of addresses ----------------------------------------------------- */
static uint64_t hash_type(World *w, const IrType *t, int depth) {
  uint64_t h = hash_mix(t->kind, (uint64_t)t->n);
  if (t->kind == T_VARIANT) return hash_mix(h, hash_bytes(t->name, strlen(t->name), 1));
  if (t->n && depth == LIMIT_TYPE_HASH_DEPTH && limit_reached(w->arena, AT_TYPE_HASH_DEPTH)) return h;
  for (int i = 0; i < t->n; i++) h = hash_mix(h, hash_type(w, t->args[i], depth + 1));
  return h;
}

/* A function by its name; a C function by its library, too. */
static uint64_t hash_func(const Func *f) {
  uint64_t h = f->name ? hash_bytes(f->name, strlen(f->name), 3) : 0;
  return f->foreign.library ? hash_bytes(f->foreign.library, strlen(f->foreign.library), h) : h;
}

static uint64_t hash_graph(World *w, Graph *g, int depth) {
  uint64_t h = (uint64_t)g->nparams;
  if (depth > LIMIT_HASH_DEPTH && limit_reached(w->arena, AT_HASH_DEPTH)) return h;
  GraphBody *b = graph_body(w, g);
  const int *ops = b->operands;
  for (int i = 0; i < b->n; i++) {
    const Node *n = b->nodes[i];
    h = hash_mix(hash_mix(h, n->op), hash_type(w, n->type, 0));
    if (n->op == OP_STRING) h = hash_mix(h, hash_bytes(n->attr.text, sym_len(n->attr.text), 2));
    else if (n->op == OP_CALL) h = hash_mix(h, hash_func(n->attr.func));
    else if (n->op == OP_RT) h = hash_mix(h, (uint64_t)ir_rt_id(n->attr.rt));
    else if (n->op == OP_DATA) h = hash_mix(h, n->attr.data->hash);
    else if (n->op == OP_CHECK_SIZE)
      h = n->attr.text ? hash_mix(h, hash_bytes(n->attr.text, sym_len(n->attr.text), 4)) : h;
    else if (n->op != OP_CHECK_NAT && !ir_is_trap(n) && n->op != OP_MARK) h = hash_mix(h, (uint64_t)n->attr.i);
    for (int k = 0; k < n->nops; k++) h = hash_mix(h, (uint64_t)*ops++);
    for (int k = 0; k < n->ngraphs; k++) h = hash_mix(h, hash_graph(w, n->graphs[k], depth + 1));
  }
  return h;
}

uint64_t ir_hash(World *w, Graph *g) { return hash_graph(w, g, 0); }
