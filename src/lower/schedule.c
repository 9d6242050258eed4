/* SPDX-License-Identifier: MIT */
/* The order in which the nodes of one graph are evaluated, and what follows from it.
 *
 * Graphs are closed, so each is scheduled by itself: operands first, and what only reads an array before what
 * consumes it (an update, an accumulation, a loop that carries it), where dependences allow; also where a variant holds
 * the array. Between these the order decides only cost: where a consumed value is still needed, ownership.c keeps a
 * count on it and the update copies. Where there are effects, a node that may fail or not end is scheduled after the
 * effects that the program's text has before it or in its operands, and before those that the text has behind it.
 * (Elaboration has operands of checks wait for effects by AFTER, where it can. Places do the rest: a call, say, may
 * fail in what depends on none of its arguments.)
 *
 * From the order follow: the last use of each value (through aliases, nodes that share registers with or look into
 * their operand), whether an array is only read in place (sched_readonly), and whether a loop's carried array is
 * updated in place for certain (sched_chain), so that the loop needs no test of uniqueness.
 *
 * Recursion here goes over nested graphs, and over chains of aliases with a depth limit. */
#include "graph/graph.h"
#include "facts/effect_places.h"
#include "lower/lower_internal.h"
#include <string.h>

static bool too_long(const Lower *m, int depth) { return depth > LIMIT_CHAIN && limit_reached(m->arena, AT_CHAIN); }

/* The value of u shares the registers or the elements of its operand k. */
static bool aliases(const Node *u, int k) {
  return u->op == OP_TUPLE || (k == 0 && (u->op == OP_GET || fact_renames(u) || fact_is_view(u)));
}

/* May u change arrays among the slots of operand k in place? */
static bool changes_array(Lower *m, const Node *u, int k) {
  return changes_operand(m->w, u, k) & (CHANGES_ITSELF | CHANGES_CALLED);
}

/* May u, a branch or loop, change arrays in place that operand k, a variant, refers to? */
static bool changes_held(Lower *m, const Node *u, int k) {
  bool control = u->op == OP_LOOP || (u->op == OP_SWITCH && k > 0);
  if (!control || u->ops[k]->type->kind != T_VARIANT || !ir_holds_arrays(m->w, u->ops[k]->type)) return false;
  return changes_operand(m->w, u, k) & CHANGES;
}

static bool consumed(Lower *m, const Sched *s, const Node *x, int depth) {
  if (too_long(m, depth)) return false;
  FOR_USES (use, s->uses, x) {
    const Node *user = use->user;
    bool renames = user->op == OP_GET || fact_renames(user);
    if (renames && lower_holds_arrays(user->type) && consumed(m, s, user, depth + 1)) return true;
    if (!renames && user->op != OP_CALL && changes_array(m, user, use->operand)) return true;
  }
  return false;
}

bool sched_consumed(Lower *m, const Sched *s, const Node *x) {
  return lower_holds_arrays(x->type) && consumed(m, s, x, 0);
}

/* ---- List scheduling with hard edges (operands) and soft ones (reads before the update) ---- */
typedef struct SoftEdge {
  int to, next;
  bool effect; /* orders an error among effects; the other edges affect cost only, and are ignored in cycles */
} SoftEdge;
typedef struct Planner {
  Lower *m;
  Node **order;
  int n;
  Uses *uses;                 /* in the order of the graph */
  int *hard, *soft, *effects; /* edges still to be satisfied; `effects` are among the soft ones */
  int *soft_head;             /* first soft edge from a node, 1-based; 0 none */
  Vec(SoftEdge) edges;
  int *mark, stamp; /* of the last search that met a node */
  bool *done;
} Planner;

typedef struct MinHeap {
  int *data, len;
} MinHeap;
static void heap_push(MinHeap *h, int x) {
  int i = h->len++;
  for (; i > 0 && h->data[(i - 1) / 2] > x; i = (i - 1) / 2) h->data[i] = h->data[(i - 1) / 2];
  h->data[i] = x;
}
static int heap_pop(MinHeap *h) {
  int top = h->data[0], x = h->data[--h->len], i = 0;
  for (int c; (c = 2 * i + 1) < h->len; i = c) {
    if (c + 1 < h->len && h->data[c + 1] < h->data[c]) c++;
    if (h->data[c] >= x) break;
    h->data[i] = h->data[c];
  }
  h->data[i] = x;
  return top;
}

/* Marks what depends on node `from`, up to position `limit`. */
static void mark_dependents(Planner *p, int from, int limit) {
  p->stamp++;
  p->mark[from] = p->stamp;
  for (int i = from; i <= limit; i++) {
    if (p->mark[i] != p->stamp) continue;
    FOR_USES (use, p->uses, p->order[i]) p->mark[use->at] = p->stamp;
  }
}

static bool consumes_any(Planner *p, const Node *u, const Node *x) {
  for (int k = 0; k < u->nops; k++)
    if (u->ops[k] == x && (changes_array(p->m, u, k) || changes_held(p->m, u, k))) return true;
  return false;
}

/* Node i comes after node `from`, if that can be. */
static void add_edge(Planner *p, int from, int i, bool effect) {
  vec_push(p->m->arena, p->edges, ((SoftEdge){i, p->soft_head[from], effect}));
  p->soft_head[from] = p->edges.len;
  p->soft[i]++;
  p->effects[i] += effect;
}

/* May u, a branch or a component of one, refer to what x holds, which the branch gets? */
static bool is_yielded_part(Lower *m, const Node *u, const Node *x) {
  Node *branch = u->op == OP_GET ? u->ops[0] : (Node *)(uintptr_t)u;
  if (branch->op != OP_SWITCH || !ir_holds_arrays(m->w, u->type)) return false;
  bool holds = false;
  for (int k = 1; k < branch->nops; k++) {
    if (branch->ops[k] != x) continue;
    if (u == branch) holds |= (changes_operand(m->w, branch, k) & HOLDS) != 0;
    for (int i = 0; i < branch->ngraphs && u != branch; i++)
      holds |= changes_param_held(m->w, branch->graphs[i], ir_inner_param(branch, i, k), (int)u->attr.i);
  }
  return holds;
}

static void collect_readers(Planner *p, int x, int consumer, int depth, int **out, int *n, int *cap);

/* Of branch s, which gets x: the users of what an arm yields of it. */
static void collect_from_arms(Planner *p, int x, int s, int consumer, int depth, int **out, int *n, int *cap) {
  if (is_yielded_part(p->m, p->order[s], p->order[x])) collect_readers(p, s, consumer, depth, out, n, cap);
  FOR_USES (use, p->uses, p->order[s])
    if (use->user->op == OP_GET && is_yielded_part(p->m, use->user, p->order[x]))
      collect_readers(p, use->at, consumer, depth, out, n, cap);
}

/* Collects the users of node x, looking through aliases. */
static void collect_readers(Planner *p, int x, int consumer, int depth, int **out, int *n, int *cap) {
  if (too_long(p->m, depth)) return;
  FOR_USES (use, p->uses, p->order[x]) {
    int user = use->at;
    Node *un = use->user;
    if (user == consumer) continue;
    if (user > consumer && consumes_any(p, un, p->order[x])) continue;
    if (*n == *cap) {
      *out = arena_grow(p->m->arena, *out, sizeof(int) * (size_t)*cap, sizeof(int) * (size_t)*cap * 2);
      *cap *= 2;
    }
    (*out)[(*n)++] = user;
    bool part = fact_is_part(un) || fact_renames(un) || fact_is_view(un) || un->op == OP_INJ || un->op == OP_TUPLE;
    if (part && ir_holds_arrays(p->m->w, un->type)) collect_readers(p, user, consumer, depth + 1, out, n, cap);
    else if (un->op == OP_SWITCH) collect_from_arms(p, x, user, consumer, depth + 1, out, n, cap);
  }
}

/* The consumer takes the operand, so what reads the same array under another name, its length say, comes before it
 * too. */
static void add_soft_edges(Planner *p, int consumer, const Node *operand) {
  int n = 0, cap = 16, limit = -1;
  operand = fact_named(operand);
  int *readers = NEW_ARRAY(p->m->arena, int, cap);
  collect_readers(p, uses_position(p->uses, operand), consumer, 0, &readers, &n, &cap);
  for (int i = 0; i < n; i++)
    if (readers[i] > limit) limit = readers[i];
  if (limit > consumer) mark_dependents(p, consumer, limit);
  for (int i = 0; i < n; i++) {
    if (readers[i] > consumer && p->mark[readers[i]] == p->stamp) continue;
    add_edge(p, readers[i], consumer, false);
  }
}

/* ---- Boxes that are handed over ---- */
/* Is u, a user of a box, a branch or test that yields nothing but numbers and may be done at any time? */
static bool reads_numbers(Lower *m, const Node *u) {
  if (u->op != OP_TAG && u->op != OP_SWITCH) return false;
  for (int k = 0; k < u->ngraphs; k++)
    if (u->graphs[k]->flags & (NODE_FAILS | NODE_ENDLESS)) return false;
  return !layout_has_pointers(lower_layout(m->w, u->type)) && !ir_is_effect(u);
}

/* What a call or a loop takes may be changed there if nobody else needs it: numbers are read from it before. */
static void read_before(Planner *p, int consumer, const Node *x) {
  bool marked = false;
  FOR_USES (use, p->uses, x) {
    if (use->at < consumer || !reads_numbers(p->m, use->user)) continue;
    if (!marked) mark_dependents(p, consumer, use_end[-1].at);
    marked = true;
    if (p->mark[use->at] != p->stamp) add_edge(p, use->at, consumer, false);
  }
}

/* ---- Effects ---- */
/* The effects of a graph, in their order, with their places. For each node: how many of them it depends on, which is
 * the number of the next one, and the first one that depends on it (n if there is none). */
typedef struct Effects {
  int *at, n;
  Site *sites;
  int *before, *behind;
} Effects;

static void find_effects(Planner *p, Effects *e) {
  Arena *a = p->m->arena;
  *e = (Effects){.at = NEW_ARRAY(a, int, p->n + 1), .sites = NEW_ARRAY(a, Site, p->n + 1)};
  e->before = NEW_ARRAY(a, int, p->n + 1);
  e->behind = NEW_ARRAY(a, int, p->n + 1);
  for (int i = 0; i < p->n; i++) {
    e->before[i] = uses_effects_before(p->uses, p->order[i]);
    if (!ir_is_effect(p->order[i])) continue;
    e->sites[e->n] = fact_place(p->m->w, p->order[i]);
    e->at[e->n++] = i;
  }
  for (int i = p->n - 1; i >= 0; i--) {
    e->behind[i] = e->n;
    FOR_USES (use, p->uses, p->order[i]) {
      int theirs = ir_is_effect(use->user) ? e->before[use->at] : e->behind[use->at];
      if (theirs < e->behind[i]) e->behind[i] = theirs;
    }
  }
}

/* Soft edges from the last effect that stands before node i in the text, or in its operands, and to the first one that
 * stands behind it, or has it in its operands: effects are in order among themselves. None where that is so anyway. */
static void add_effect_edge(Planner *p, const Effects *e, int i) {
  World *w = p->m->w;
  Site here = fact_place(w, p->order[i]);
  int next = -1;
  for (int k = e->behind[i] - 1; k >= e->before[i]; k--) {
    Site there = e->sites[k];
    if (fact_place_is_before(w, there, here)) {
      add_edge(p, e->at[k], i, true);
      break;
    }
    if (ir_site_standing(w, here, there) != STANDS_ELSEWHERE) next = k;
  }
  if (next >= 0) add_edge(p, i, e->at[next], true);
}

static void add_effect_edges(Planner *p) {
  Effects e;
  find_effects(p, &e);
  for (int i = 0; i < p->n; i++)
    if (fact_may_delay_effects(p->m->w, p->order[i])) add_effect_edge(p, &e, i);
}

/* Picks the next node where soft edges form a cycle: the first one whose operands are scheduled and that only cost
 * edges hold back; else the first whose operands are scheduled, which moves an effect: builds with the verifier report
 * that. */
static int break_circle(const Planner *p, MinHeap *held) {
  for (int i = 0; i < p->n; i++)
    if (!p->hard[i] && !p->done[i] && !p->effects[i]) return i;
#ifdef ATLED_VERIFY
  lower_error(p->m, "operands and effects depend on each other in a cycle");
#endif
  return heap_pop(held);
}

static Node **plan_order(Planner *p) {
  Arena *a = p->m->arena;
  Node **out = NEW_ARRAY(a, Node *, p->n + 1);
  MinHeap ready = {NEW_ARRAY(a, int, p->n + p->edges.len + 1), 0}, held = {NEW_ARRAY(a, int, p->n + 1), 0};
  for (int i = 0; i < p->n; i++)
    if (!p->hard[i]) heap_push(p->soft[i] ? &held : &ready, i);
  for (int at = 0; at < p->n;) {
    int i = ready.len ? heap_pop(&ready) : break_circle(p, &held);
    if (p->done[i]) continue;
    p->done[i] = true;
    out[at++] = p->order[i];
    FOR_USES (use, p->uses, p->order[i])
      if (--p->hard[use->at] == 0) heap_push(p->soft[use->at] ? &held : &ready, use->at);
    for (int e = p->soft_head[i]; e; e = p->edges.data[e - 1].next) {
      int to = p->edges.data[e - 1].to;
      p->effects[to] -= p->edges.data[e - 1].effect;
      if (--p->soft[to] == 0 && !p->hard[to] && !p->done[to]) heap_push(&ready, to);
    }
  }
  return out;
}

static Node **plan(Lower *m, Graph *g, int *n_out) {
  Planner p = {.m = m};
  p.n = *n_out = ir_order(m->arena, g, &p.order);
  p.uses = uses_in_order(m->arena, p.order, p.n);
  p.hard = NEW_ARRAY(m->arena, int, p.n + 1);
  p.soft = NEW_ARRAY(m->arena, int, p.n + 1);
  p.effects = NEW_ARRAY(m->arena, int, p.n + 1);
  p.soft_head = NEW_ARRAY(m->arena, int, p.n + 1);
  p.mark = NEW_ARRAY(m->arena, int, p.n + 1);
  p.done = NEW_ARRAY(m->arena, bool, p.n + 1);
  for (int i = 0; i < p.n; i++) {
    Node *u = p.order[i];
    p.hard[i] = u->nops;
    for (int k = 0; k < u->nops; k++) {
      bool array = lower_holds_arrays(u->ops[k]->type) && changes_array(m, u, k);
      if (array || changes_held(m, u, k)) add_soft_edges(&p, i, u->ops[k]);
      else if (u->ops[k]->type->kind == T_VARIANT && changes_array(m, u, k)) read_before(&p, i, u->ops[k]);
    }
  }
  if (ir_takes_token(g)) add_effect_edges(&p);
  return plan_order(&p);
}

/* ---- The schedule ---- */
static bool shares(const Sched *s, int u, int k) { return aliases(s->order[u], k) && !s->copied[u]; }

static void find_last_uses(Sched *s) {
  for (int i = 0; i < s->n; i++) s->last[i] = i;
  s->last[s->n - 1] = s->n;
  for (int i = s->n - 1; i >= 0; i--) {
    Node *u = s->order[i];
    for (int k = 0; k < u->nops; k++) {
      int x = sched_pos(s, u->ops[k]), at = shares(s, i, k) ? s->last[i] : i;
      if (at > s->last[x]) s->last[x] = at;
    }
  }
}

/* A part of an array, at position p, is needed when or after the whole is changed by an update or a loop here. Other
 * nodes, which may not change it, would make the copy more than it saves. */
static bool outlived_by_part(Lower *m, const Sched *s, int p) {
  const Node *x = s->order[p];
  for (int depth = 0; (fact_is_view(x) || fact_renames(x) || x->op == OP_GET) && !too_long(m, depth); depth++) {
    x = x->ops[0];
    FOR_USES (use, s->uses, x) {
      bool changes = use->user->op == OP_LOOP || use->user->op == OP_UPDATE;
      if (changes && use->at > p && use->at <= s->last[p] && changes_array(m, use->user, use->operand)) return true;
    }
  }
  return false;
}

/* Such a part is copied, so that the whole needn't be. */
static void find_copied(Lower *m, Sched *s) {
  bool any = false;
  for (int p = 0; p < s->n; p++) {
    Op op = s->order[p]->op;
    bool part = op == OP_SLICE || (op == OP_INDEX && s->order[p]->type->kind == T_ARRAY);
    any |= s->copied[p] = part && outlived_by_part(m, s, p);
  }
  if (any) find_last_uses(s);
}

Sched *sched_of(Lower *m, Graph *g) {
  heap_look(m->arena->heap);
  Sched *s = map_get(&m->scheds, g);
  if (s) return s;
  s = NEW(m->arena, Sched);
  s->g = g;
  s->order = plan(m, g, &s->n);
  s->uses = uses_in_order(m->arena, s->order, s->n);
  s->last = NEW_ARRAY(m->arena, int, s->n + 1);
  s->params = NEW_ARRAY(m->arena, Node *, g->nparams + 1);
  s->readonly = NEW_ARRAY(m->arena, int8_t, g->nparams + 1);
  for (int i = 0; i < s->n; i++)
    if (s->order[i]->op == OP_PARAM && s->order[i]->attr.i < g->nparams) s->params[s->order[i]->attr.i] = s->order[i];
  s->copied = NEW_ARRAY(m->arena, bool, s->n + 1);
  find_last_uses(s);
  find_copied(m, s);
  map_put(&m->scheds, g, s);
  return s;
}

int sched_pos(const Sched *s, const Node *x) { return uses_position(s->uses, x); }

/* Some use of tuple t other than a projection comes after position p. */
static bool whole_used_after(const Sched *s, const Node *t, int p) {
  if (t == s->g->result) return true;
  FOR_USES (use, s->uses, t)
    if (use->user->op != OP_GET && (use->at > p || (shares(s, use->at, 0) && s->last[use->at] > p))) return true;
  return false;
}

bool sched_last_use(const Sched *s, const Node *x, int p) {
  for (;;) {
    if (s->last[sched_pos(s, x)] > p) return false;
    if (fact_renames(x)) {
      x = x->ops[0];
      continue;
    }
    for (; x->op == OP_GET; x = x->ops[0])
      if (whole_used_after(s, x->ops[0], p)) return false;
    return x->op != OP_TUPLE && x->op != OP_AFTER && x->op != OP_STOP;
  }
}

/* ---- Arrays that are only read ---- */
/* Is this closure a block of a loop? It is made in one of two ways to run the loop. So an array that it captures
 * becomes an object there, not before. */
static bool is_block(Sched *s, const Node *closure) {
  const NodeUse *use = uses_only(s->uses, closure);
  return use && ir_is_fork_blocks(use->user);
}

/* User u of x only reads elements or lengths of x. */
static bool reads_only(Lower *m, Sched *s, const Node *u, const Node *x, int depth) {
  if (too_long(m, depth)) return false;
  switch (u->op) {
  case OP_LEN: return true;
  case OP_CLOSURE: return is_block(s, u);
  case OP_INDEX: return u->type->kind != T_ARRAY || sched_readonly(m, s, u, depth + 1);
  case OP_AFTER: return u->ops[0] != x || sched_readonly(m, s, u, depth + 1);
  case OP_SLICE:
  case OP_STOP:
  case OP_GET: return sched_readonly(m, s, u, depth + 1);
  case OP_SWITCH:
    for (int k = 1; k < u->nops; k++)
      for (int i = 0; u->ops[k] == x && i < u->ngraphs; i++)
        if (!sched_param_readonly(m, u->graphs[i], ir_inner_param(u, i, k), depth + 1)) return false;
    return true;
  case OP_LOOP: {
    const LoopInfo *l = u->loop;
    int first = loop_first(l);
    for (int k = first; k < u->nops; k++) {
      if (u->ops[k] != x) continue;
      LoopPart part = loop_part(l, k - first);
      if (part < LOOP_SLICED) return false;
      for (int g = 0; g < u->ngraphs && (part == LOOP_CAPTURED || ir_rank(x->type) > 1); g++) {
        int inner = ir_inner_param(u, g, k);
        if (inner >= 0 && !sched_param_readonly(m, u->graphs[g], inner, depth + 1)) return false;
      }
    }
    return true;
  }
  default: return false;
  }
}

bool sched_readonly(Lower *m, Sched *s, const Node *x, int depth) {
  int at = sched_pos(s, x);
  if (at == s->n - 1 || s->copied[at]) return false;
  FOR_USES (use, s->uses, x)
    if (!reads_only(m, s, use->user, x, depth)) return false;
  return true;
}

bool sched_param_readonly(Lower *m, Graph *g, int k, int depth) {
  Sched *s = sched_of(m, g);
  if (!s->params[k]) return true;
  if (!s->readonly[k]) s->readonly[k] = sched_readonly(m, s, s->params[k], depth) ? 1 : -1;
  return s->readonly[k] > 0;
}

/* ---- Chains of updates in place ---- */
/* The node for slot *slot of x, a tuple all of whose uses are projections; *slot becomes the slot within the node.
 * If x is the result itself, that is x. NULL if some use takes the tuple whole, or none takes the slot. */
static const Node *project(Lower *m, Sched *s, const Node *x, int *slot) {
  while (x->type->kind == T_TUPLE) {
    int want = 0, off = 0;
    if (x == s->g->result) return x;
    while (want < x->type->n && off + lower_slots(m->w, x->type->args[want]) <= *slot)
      off += lower_slots(m->w, x->type->args[want++]);
    const Node *next = NULL;
    FOR_USES (use, s->uses, x) {
      if (use->user->op != OP_GET) return NULL;
      if (use->user->attr.i == want) next = use->user;
    }
    if (!next) return NULL;
    *slot -= off;
    x = next;
  }
  return x;
}

/* User u of x leaves x alone: it reads it, or copies a part of it. */
static bool leaves_alone(Lower *m, Sched *s, int u, const Node *x, int depth) {
  return s->copied[u] || reads_only(m, s, s->order[u], x, depth);
}

/* The slot of the result where x, used by nothing but the tuples it is packed in, is found; -1 if it isn't. */
static int slot_in_result(Lower *m, Sched *s, const Node *x) {
  for (int slot = 0;;) {
    if (x == s->g->result) return slot;
    const NodeUse *part = NULL;
    FOR_USES (use, s->uses, x) {
      if (use->user->op == OP_TUPLE && !part) part = use;
      else if (use->user->op == OP_TUPLE || !leaves_alone(m, s, use->at, x, 0)) return -1;
    }
    if (!part) return -1;
    slot += lower_offset(m->w, part->user->type, part->operand);
    x = part->user;
  }
}

/* The one use of x that isn't a mere read and comes after all reads; NULL if there isn't exactly one. */
static const NodeUse *sole_consumer(Lower *m, Sched *s, const Node *x, int depth) {
  const NodeUse *found = NULL;
  FOR_USES (use, s->uses, x) {
    if (leaves_alone(m, s, use->at, x, depth)) continue;
    if (found) return NULL;
    found = use;
  }
  if (!found || found->user->op == OP_TUPLE) return found;
  FOR_USES (use, s->uses, x) {
    int last = shares(s, use->at, 0) ? s->last[use->at] : use->at;
    if (use->user != found->user && last >= found->at) return NULL;
  }
  return found;
}

int sched_chain_through(Lower *m, const Node *u, int k, int depth) {
  if (u->op == OP_SWITCH) {
    int end = -1;
    for (int i = 0; i < u->ngraphs; i++) {
      int e = sched_chain(m, u->graphs[i], k - 1, 0, depth + 1);
      if (e < 0 || (i && e != end)) return -1;
      end = e;
    }
    return end;
  }
  int first = loop_first(u->loop), c = k - first;
  if (c < 0 || c >= loop_slots(u->loop)) return -1;
  int end = sched_chain(m, u->graphs[0], c + 1, 0, depth + 1);
  return end == lower_offset(m->w, u->type, c) ? end : -1;
}

int sched_chain(Lower *m, Graph *g, int k, int slot, int depth) {
  Sched *s = sched_of(m, g);
  if (too_long(m, depth) || !s->params[k]) return -1;
  const Node *x = project(m, s, s->params[k], &slot);
  while (x) {
    if (x->type->kind != T_ARRAY) return x->type->kind == T_TUPLE ? slot : -1;
    int end = slot_in_result(m, s, x);
    if (end >= 0) return end;
    const NodeUse *use = sole_consumer(m, s, x, depth);
    if (!use) return -1;
    const Node *u = use->user;
    int operand = use->operand;
    slot = 0;
    if (u->op == OP_UPDATE && operand == 0) {
      x = u;
    } else if (u->op == OP_TAKE && operand == 0) {
      x = project(m, s, u, &slot);
    } else if (ir_is_control(u)) {
      slot = sched_chain_through(m, u, operand, depth);
      x = slot < 0 ? NULL : project(m, s, u, &slot);
    } else {
      return -1;
    }
  }
  return -1;
}
