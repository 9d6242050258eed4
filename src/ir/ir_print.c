/* SPDX-License-Identifier: MIT */
/* Graphs as text and as Graphviz, counts of what they hold, and a walk over all reachable graphs. Node numbers in
 * the text are positions in the graph's own order, so that the text of a graph doesn't depend on what was built
 * before. */
#include "ir/ir_internal.h"
#include <string.h>

/* ---- Reachable graphs ------------------------------------------------------------ */
enum { MOST_SHOWN = 6 /* operands of a constant array, at either end */ };

typedef struct Walk {
  World *w;
  Map seen;
  Vec(Graph *) todo;
} Walk;

static void reach(Walk *k, Graph *g) {
  if (!g || map_get(&k->seen, g)) return;
  map_put(&k->seen, g, g);
  vec_push(k->w->arena, k->todo, g);
}

static void walk(World *w, Graph *g, bool rules, void (*fn)(void *user, Graph *g), void *user) {
  Walk k = {.w = w};
  map_init(&k.seen, w->arena);
  reach(&k, g);
  for (int at = 0; at < k.todo.len; at++) {
    Graph *x = k.todo.data[at];
    fn(user, x);
    GraphBody *b = graph_body(w, x);
    for (int i = 0; i < b->n; i++) {
      Node *n = b->nodes[i];
      for (int j = 0; j < n->ngraphs; j++) reach(&k, n->graphs[j]);
      const Func *f = n->op == OP_CALL ? n->attr.func : NULL;
      if (f) reach(&k, f->graph);
      if (f && rules && f->pullback) reach(&k, f->pullback->graph);
      if (f && rules && f->tangent) reach(&k, f->tangent->graph);
    }
  }
}

void ir_walk_graphs(World *w, Graph *g, void (*fn)(void *user, Graph *g), void *user) { walk(w, g, false, fn, user); }
void ir_walk_rules(World *w, Graph *g, void (*fn)(void *user, Graph *g), void *user) { walk(w, g, true, fn, user); }

typedef struct Search {
  World *w;
  const Func *f;
  bool found;
} Search;

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
  switch (n->op) {
  case OP_PARAM:
  case OP_INT:
  case OP_FLOAT:
  case OP_BOOL:
  case OP_STRING:
  case OP_UNIT:
  case OP_ZERO:
  case OP_GLOBAL:
  case OP_DATA:
  case OP_TUPLE:
  case OP_GET:
  case OP_GRAPH_ID: return;
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
  case OP_SHIFT:
    c->allocations++;
    c->arrays++;
    break;
  case OP_INDEX:
  case OP_SLICE:
  case OP_UPDATE:
  case OP_RESHAPE:
  case OP_BAG_GET: c->arrays++; break;
  default: c->scalar++;
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

/* ---- Text ---------------------------------------------------------------------------------- */
static void print_attr(const World *w, const Node *n, Str *out) {
  switch (n->op) {
  case OP_PARAM:
  case OP_INT:
  case OP_GET:
  case OP_INJ:
  case OP_UNINJ:
  case OP_CLOSURE_CAP: str_printf(out, " %lld", (long long)n->attr.i); break;
  case OP_LEN:
    if (n->attr.i) str_printf(out, ".%lld", (long long)n->attr.i);
    break;
  case OP_BOOL: str_puts(out, n->attr.i ? " true" : " false"); break;
  case OP_FLOAT: str_printf(out, " %.17g", n->attr.f); break;
  case OP_STRING: str_printf(out, " \"%.40s\"", n->attr.text); break;
  case OP_DATA: ir_data_print(n, out); break;
  /* its number is of the VM, not of the program */
  case OP_GLOBAL: str_printf(out, " %s", w->globals.data[n->attr.global].name); break;
  case OP_CALL: str_printf(out, " %s", n->attr.func->name ? n->attr.func->name : "fun"); break;
  case OP_RT: str_printf(out, " %s", n->attr.rt->name); break;
  case OP_LOOP:
    str_printf(out, " carried %d accs %d sliced %d stacked %d%s%s", n->loop->ncarried, n->loop->naccs, n->loop->nsliced,
               n->loop->nstacked, n->loop->has_cond ? " while" : "", n->loop->down ? " down" : "");
    break;
  default: break;
  }
}

static bool is_leaf(const Node *n) {
  return n->op == OP_PARAM || (ir_is_constant(n) && n->op != OP_GRAPH_ID && n->op != OP_DATA);
}

static void print_operand(const World *w, const Node *n, const Map *pos, Str *out) {
  if (n->op == OP_PARAM) str_printf(out, " p%lld", (long long)n->attr.i);
  else if (n->op == OP_INT) str_printf(out, " %lld", (long long)n->attr.i);
  else if (n->op == OP_FLOAT) str_printf(out, " %.17g", n->attr.f);
  else if (n->op == OP_BOOL) str_puts(out, n->attr.i ? " true" : " false");
  else if (n->op == OP_UNIT) str_puts(out, " ()");
  else if (n->op == OP_ZERO) str_puts(out, " zero");
  else if (n->op == OP_STRING) print_attr(w, n, out);
  else str_printf(out, " %%%d", (int)(uintptr_t)map_get(pos, n));
}

/* Long literals are cut in the middle. */
static void print_operands(const World *w, const Node *n, const Map *pos, Str *out) {
  bool cut = n->op == OP_DATA && n->nops > 2 * MOST_SHOWN;
  for (int k = 0; k < n->nops; k++) {
    if (cut && k == MOST_SHOWN) {
      k = n->nops - MOST_SHOWN;
      str_puts(out, " ...");
    }
    print_operand(w, n->ops[k], pos, out);
  }
}

static void indent(Str *out, int depth) {
  for (int i = 0; i < depth; i++) str_puts(out, "  ");
}

static void print_graph(World *w, Graph *g, int depth, Str *out) {
  GraphBody *b = graph_body(w, g);
  Map pos;
  map_init(&pos, w->arena);
  indent(out, depth);
  str_printf(out, "graph %s(", g->name ? g->name : "");
  for (int i = 0; i < g->nparams; i++) {
    str_printf(out, "%sp%d : ", i ? ", " : "", i);
    ir_type_print(g->params[i], out);
  }
  str_puts(out, ")\n");
  int number = 0;
  for (int i = 0; i < b->n; i++) {
    const Node *n = b->nodes[i];
    if (is_leaf(n)) continue;
    map_put(&pos, n, (void *)(uintptr_t)++number);
    indent(out, depth + 1);
    str_printf(out, "%%%d : ", number);
    ir_type_print(n->type, out);
    str_printf(out, " = %s", op_names[n->op]);
    print_attr(w, n, out);
    print_operands(w, n, &pos, out);
    str_addc(out, '\n');
    for (int k = 0; k < n->ngraphs && depth < 40; k++) print_graph(w, n->graphs[k], depth + 2, out);
  }
  indent(out, depth + 1);
  str_puts(out, "return");
  print_operand(w, g->result, &pos, out);
  str_addc(out, '\n');
}

typedef struct FuncList {
  World *w;
  Vec(Func *) all;
  Map seen;
} FuncList;

static void list_funcs(void *user, Graph *g) {
  FuncList *l = user;
  const GraphBody *b = g->cache;
  for (int i = 0; i < b->n; i++) {
    Node *n = b->nodes[i];
    if (n->op != OP_CALL || map_get(&l->seen, n->attr.func)) continue;
    map_put(&l->seen, n->attr.func, n);
    vec_push(l->w->arena, l->all, n->attr.func);
  }
}

void ir_print(World *w, const Graph *g, Str *out) {
  print_graph(w, (Graph *)g, 0, out);
  FuncList l = {.w = w};
  map_init(&l.seen, w->arena);
  ir_walk_graphs(w, (Graph *)g, list_funcs, &l);
  for (int i = 0; i < l.all.len; i++) {
    Func *f = l.all.data[i];
    str_printf(out, "\nfunction %s%s\n", f->name ? f->name : "", f->graph ? "" : " (foreign)");
    if (f->graph) print_graph(w, f->graph, 0, out);
  }
}

/* ---- Graphviz ---------------------------------------------------------------------------------- */
static void dot_graph(World *w, Graph *g, int *number, Str *out) {
  GraphBody *b = graph_body(w, g);
  int me = (*number)++;
  str_printf(out, "subgraph cluster_%d { label=\"%s\"; style=rounded; color=gray;\n", me, g->name ? g->name : "");
  for (int i = 0; i < b->n; i++) {
    const Node *n = b->nodes[i];
    Str label = {.arena = w->arena};
    str_puts(&label, op_names[n->op]);
    print_attr(w, n, &label);
    str_printf(out, "n%d_%d [shape=%s,label=\"", me, i,
               n->op == OP_PARAM   ? "ellipse"
               : ir_is_constant(n) ? "plaintext"
                                   : "box");
    for (const char *c = label.data; c && *c; c++) {
      if (*c == '"' || *c == '\\') str_addc(out, '\\');
      str_addc(out, *c);
    }
    str_printf(out, "\"%s];\n", n == g->result ? ",peripheries=2" : "");
  }
  const int *ops = b->operands;
  for (int i = 0; i < b->n; i++)
    for (int k = 0; k < b->nodes[i]->nops; k++) str_printf(out, "n%d_%d -> n%d_%d;\n", me, *ops++, me, i);
  for (int i = 0; i < b->n; i++)
    for (int k = 0; k < b->nodes[i]->ngraphs; k++) {
      str_printf(out, "n%d_%d -> n%d_0 [style=dashed,arrowhead=none];\n", me, i, *number);
      dot_graph(w, b->nodes[i]->graphs[k], number, out);
    }
  str_puts(out, "}\n");
}

void ir_print_dot(World *w, const Graph *g, Str *out) {
  str_puts(out, "digraph atled { rankdir=TB; node [fontname=\"monospace\",fontsize=10];\n");
  int number = 0;
  dot_graph(w, (Graph *)g, &number, out);
  str_puts(out, "}\n");
}

/* ---- Stable hash: positions instead of addresses ----------------------------------------------------- */
static uint64_t hash_type(const IrType *t, int depth) {
  uint64_t h = hash_mix(t->kind, (uint64_t)t->n);
  if (t->kind == T_VARIANT) return hash_mix(h, hash_bytes(t->name, strlen(t->name), 1));
  for (int i = 0; i < t->n && depth < 12; i++) h = hash_mix(h, hash_type(t->args[i], depth + 1));
  return h;
}

static uint64_t hash_graph(World *w, Graph *g, int depth) {
  GraphBody *b = graph_body(w, g);
  uint64_t h = (uint64_t)g->nparams;
  const int *ops = b->operands;
  for (int i = 0; i < b->n; i++) {
    const Node *n = b->nodes[i];
    h = hash_mix(hash_mix(h, n->op), hash_type(n->type, 0));
    if (n->op == OP_STRING) h = hash_mix(h, hash_bytes(n->attr.text, sym_len(n->attr.text), 2));
    else if (n->op == OP_CALL)
      h = hash_mix(h, n->attr.func->name ? hash_bytes(n->attr.func->name, strlen(n->attr.func->name), 3) : 0);
    else if (n->op == OP_RT) h = hash_mix(h, (uint64_t)ir_rt_id(n->attr.rt));
    else if (n->op == OP_DATA) h = hash_mix(h, n->attr.data->hash);
    else if (n->op != OP_CHECK_NAT) h = hash_mix(h, (uint64_t)n->attr.i);
    for (int k = 0; k < n->nops; k++) h = hash_mix(h, (uint64_t)*ops++);
    for (int k = 0; k < n->ngraphs && depth < 60; k++) h = hash_mix(h, hash_graph(w, n->graphs[k], depth + 1));
  }
  return h;
}

uint64_t ir_hash(World *w, Graph *g) { return hash_graph(w, g, 0); }
