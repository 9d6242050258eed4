/* SPDX-License-Identifier: MIT */
/* Marks recursive functions (Func.recursive) once all functions are finished.
 *
 * Elaboration knows which definitions call themselves. Two other kinds of cycles close only when the last of their
 * functions is finished: a function that is specialised to a closure which calls the caller (specialise.c), and one
 * that applies an unknown function when the dispatcher of its type calls it (graph/dispatch.c).
 *
 *   f h x = … h x …,  rec g x = … f (closure g) x …   →   rec f_g x = … g x …,  rec g x = … f_g x …
 *
 * The graphs that call something recursive or unfinished (NODE_CALLS) are the nodes of a directed graph, whose edges
 * lead to nested graphs and to those of called functions. A function is recursive if its graph lies on a cycle, which
 * Tarjan's algorithm finds by strongly connected components, in linear time and with a stack of its own. */
#include "ir/ir_internal.h"

typedef struct Place {
  Graph *g;
  int edge, edges_end;  /* those still to be followed */
  int number, low;      /* order of the visit, from 1; the first one known to be of the same component */
  bool open, on_circle; /* its component isn't complete yet */
} Place;

typedef struct Marking {
  World *w;
  Map index; /* graph -> its place, from 1 */
  Vec(Place) places;
  Vec(Func *) called;
  Vec(int) edges;
  Vec(int) path, open; /* places under way; those of components that aren't complete */
  int visited;
} Marking;

static void add_place(void *user, Graph *g) {
  Marking *m = user;
  if (!(g->flags & NODE_CALLS)) return;
  vec_push(m->w->temp, m->places, ((Place){.g = g}));
  map_put(&m->index, g, (void *)(uintptr_t)m->places.len);
}

static void add_edge(Marking *m, const Graph *to) {
  int at = to ? (int)(uintptr_t)map_get(&m->index, to) : 0;
  if (at) vec_push(m->w->temp, m->edges, at - 1);
}

static void add_edges(Marking *m, Place *p) {
  const GraphBody *b = graph_body(m->w, p->g);
  p->edge = m->edges.len;
  for (int i = 0; i < b->n; i++) {
    const Node *n = b->nodes[i];
    if (!(n->flags & NODE_CALLS)) continue;
    for (int k = 0; k < n->ngraphs; k++) add_edge(m, n->graphs[k]);
    if (n->op != OP_CALL) continue;
    add_edge(m, n->attr.func->graph);
    if (!n->attr.func->recursive) vec_push(m->w->temp, m->called, n->attr.func);
  }
  p->edges_end = m->edges.len;
}

static void enter(Marking *m, int at) {
  Place *p = &m->places.data[at];
  p->number = p->low = ++m->visited;
  p->open = true;
  vec_push(m->w->temp, m->path, at);
  vec_push(m->w->temp, m->open, at);
}

/* The component that was entered at place `at` is complete. */
static void close_component(Marking *m, int at) {
  bool several = m->open.data[m->open.len - 1] != at;
  for (int k = -1; k != at;) {
    k = m->open.data[--m->open.len];
    m->places.data[k].open = false;
    m->places.data[k].on_circle |= several;
  }
}

static void leave(Marking *m, int at) {
  const Place *p = &m->places.data[at];
  m->path.len--;
  if (p->low == p->number) close_component(m, at);
  if (!m->path.len) return;
  Place *from = &m->places.data[m->path.data[m->path.len - 1]];
  if (p->low < from->low) from->low = p->low;
}

static void follow(Marking *m, int root) {
  if (m->places.data[root].number) return;
  enter(m, root);
  while (m->path.len) {
    int at = m->path.data[m->path.len - 1];
    Place *p = &m->places.data[at];
    if (p->edge == p->edges_end) {
      leave(m, at);
      continue;
    }
    int next = m->edges.data[p->edge++];
    const Place *to = &m->places.data[next];
    p->on_circle |= next == at;
    if (!to->number) enter(m, next);
    else if (to->open && to->number < p->low) p->low = to->number;
  }
}

void ir_mark_recursive(World *w, Graph *g) {
  bool rules_read = !compilation(w)->inline_rules; /* afterwards no graph is made of rules */
  if (!rules_read && !(g->flags & NODE_CALLS)) return;
  Marking m = {.w = w};
  map_init(&m.index, w->temp);
  ir_walk_rules(w, g, add_place, &m);
  for (int k = 0; k < m.places.len; k++) add_edges(&m, &m.places.data[k]);
  for (int k = 0; k < m.places.len && m.called.len; k++) follow(&m, k);
  for (int k = 0; k < m.called.len; k++) {
    Func *f = m.called.data[k];
    int at = f->graph ? (int)(uintptr_t)map_get(&m.index, f->graph) : 0;
    if (!at || f->recursive || !m.places.data[at - 1].on_circle) continue;
    SAVE(w->arena, f->recursive);
    f->recursive = true;
  }
}
