/* SPDX-License-Identifier: MIT */
/* The world and its hash-consing: tables of nodes, graphs and source places. What a node *means* is in
 * normalise.c (scalars) and build.c (everything with structure); here a node is only identity. */
#include "ir/ir_internal.h"
#include <stddef.h>
#include <string.h>

enum {
  S = OPF_S,
  C = OPF_C,
  F = OPF_F,
  A = OPF_A,
  L = OPF_L,
  K = OPF_K,
  Q = OPF_Q,
  B = OPF_B,
  V = OPF_V,
  R = OPF_R,
  W = OPF_W,
  N = OPF_N,
  P = OPF_P,
  D = OPF_D,
  H = OPF_H
};
const char *const op_names[OP_COUNT] = {
#define OP(name, text, signature, flags) [OP_##name] = text,
#include "ir/ops.def"
#undef OP
};
const uint16_t op_flags[OP_COUNT] = {
#define OP(name, text, signature, flags) [OP_##name] = (flags),
#include "ir/ops.def"
#undef OP
};
const char *const op_signatures[OP_COUNT] = {
#define OP(name, text, signature, flags) [OP_##name] = signature,
#include "ir/ops.def"
#undef OP
};

int op_operands(Op op) {
  const char *signature = op_signatures[op];
  return signature[0] == '*' ? -1 : (int)strcspn(signature, ":");
}

World *world_new(Arena *a, SymTable *syms, bool strict, bool contract) {
  World *w = NEW(a, World), init = {.arena = a, .syms = syms, .strict = strict, .contract = contract};
#ifdef ATLED_VERIFY
  init.asserts_proofs = true;
#endif
  memcpy(w, &init, sizeof init);
  Tables *t = NEW(a, Tables);
  w->tables = t;
  map_init(&t->sites, a);
  map_init(&t->identified, a);
  map_init(&t->graph_funcs, a);
  map_init(&t->memos, a);
  vec_push(a, w->sites, ((SiteInfo){0}));
  return w;
}

/* ---- Marks and walks ------------------------------------------------------------ */
/* Saves the headers of tables and vectors, those of the symbols among them: passes name functions. What the headers
 * refer to is saved where it is changed. */
void world_save(World *w) {
  SAVE(w->arena, *w->syms);
  arena_save(w->arena, w, offsetof(World, walk));
  arena_save(w->arena, tables(w), offsetof(Tables, pool_walk));
}

#ifdef ATLED_VERIFY
void world_forget_walks(World *w, uint32_t walks[2]) {
  uint32_t now[2] = {w->walk, tables(w)->pool_walk};
  w->walk = walks[0];
  tables(w)->pool_walk = walks[1];
  memcpy(walks, now, sizeof now);
  const Table *t = &tables(w)->nodes;
  for (size_t i = 0; i < t->cap; i++) {
    Node *n = t->slots[i];
    if (n) n->mark = 0, n->pos = 0;
  }
}
#endif

/* ---- Source places ----------------------------------------------------------- */
Site ir_site_of(World *w, SiteInfo p) {
  uint64_t h = hash_mix(hash_mix(p.at.source, ((uint64_t)p.at.start << 32) | p.at.end),
                        hash_mix((uintptr_t)p.function, p.parent));
  const void *key = (const void *)(uintptr_t)(h | 1);
  Site s = (Site)(uintptr_t)map_get(&tables(w)->sites, key);
  if (s) return s;
  vec_push(w->arena, w->sites, p);
  s = (Site)(w->sites.len - 1);
  map_put(&tables(w)->sites, key, (void *)(uintptr_t)s);
  return s;
}

Site ir_site(World *w, Span at, Sym function, uint32_t definition, bool library) {
  return at.source ? ir_site_of(w, (SiteInfo){at, function, 0, definition, library}) : 0;
}

const SiteInfo *ir_site_info(const World *w, Site s) { return &w->sites.data[s < (Site)w->sites.len ? s : 0]; }

const SiteInfo *ir_shown_place(const World *w, Site s) {
  const SiteInfo *x = ir_site_info(w, s);
  while (x->library && x->parent) x = ir_site_info(w, x->parent);
  return x;
}

/* The length of the inlining chain of s; 0 if s is no place, or if the chain is longer than LIMIT_SITE_CHAIN. */
static int site_depth(const World *w, Site s) {
  int n = 0;
  for (; s; s = ir_site_info(w, s)->parent)
    if (n++ == LIMIT_SITE_CHAIN && limit_reached(w->arena, AT_SITE_CHAIN)) return 0;
  return n;
}

/* The outermost place of the inlining chain of s that differs from the place of t at the same depth; NULL if none
 * does. */
static const SiteInfo *parting_place(const World *w, Site s, Site t) {
  int n = site_depth(w, s), m = site_depth(w, t);
  const SiteInfo *parting = NULL;
  for (; n > m; n--) parting = ir_site_info(w, s), s = parting->parent;
  for (; m > n; m--) t = ir_site_info(w, t)->parent;
  for (; n > 0; n--) {
    const SiteInfo *a = ir_site_info(w, s), *b = ir_site_info(w, t);
    if (a->function != b->function || memcmp(&a->at, &b->at, sizeof a->at) != 0) parting = a;
    s = a->parent;
    t = b->parent;
  }
  return parting;
}

Standing ir_site_standing(const World *w, Site s, Site t) {
  const SiteInfo *a = parting_place(w, s, t), *b = parting_place(w, t, s);
  if (!a || !b || a->function != b->function || a->at.source != b->at.source) return STANDS_ELSEWHERE;
  if (a->at.end <= b->at.start) return STANDS_BEFORE;
  return a->at.start >= b->at.start && a->at.end <= b->at.end ? STANDS_WITHIN : STANDS_ELSEWHERE;
}

/* The chain `inner` continued by the call it was inlined at, without what isn't shown: so what a function makes and
 * what its pullback makes again is the same, whence the library calls them. Chains stop growing at LIMIT_SITE_CHAIN
 * links. */
static Site site_append(World *w, Site inner, Site call, int depth) {
  if (!inner) return call;
  while (ir_site_info(w, call)->library && ir_site_info(w, call)->parent) call = ir_site_info(w, call)->parent;
  if (!call || (depth > LIMIT_SITE_CHAIN && limit_reached(w->arena, AT_SITE_CHAIN))) return inner;
  SiteInfo s = *ir_site_info(w, inner);
  s.parent = site_append(w, s.parent, call, depth + 1);
  s.definition = ir_site_info(w, call)->definition;
  return ir_site_of(w, s);
}

Site ir_site_inlined(World *w, Site inner, Site call) { return site_append(w, inner, call, 0); }

/* ---- Nodes ---------------------------------------------------------------------- */
/* A node that may fail, not end or have an effect is told apart by its source place: the place is shown in its error,
 * and tells which effects it precedes (lower/schedule.c). Were equal nodes of two places one, two loops that call a
 * function would share a body with the places of the first call. Of equal nodes in one graph, all of which are
 * evaluated, simplification leaves one (opt.c). Operations on numbers have no place but with TRAP_PLACES. */
bool ir_site_is_identity(const Node *n) {
  switch (n->op) {
  case OP_VJP:
  case OP_JVP:
  case OP_CHECKPOINT: return false;
  case OP_APPLY:
  case OP_MARK:
  case OP_CALL: return true;
  case OP_LOOP: return n->loop->has_cond;
  case OP_RT: return n->attr.rt->fails || n->attr.rt->effect;
  default: return (op_flags[n->op] & OPF_F) != 0 || ((op_flags[n->op] & OPF_S) && n->site);
  }
}

/* What stands in two definitions stays two nodes, so that an error is never shown in the other one; within one, equal
 * nodes are one. */
static bool definition_is_identity(const Node *n) {
  return n->op == OP_APPLY || n->op == OP_CALL || n->op == OP_LOOP || n->op == OP_ZEROS;
}

/* Adds a number to a hash: one step of hash_mix, for most nodes that are hashed have been made before. */
static uint64_t add_hash(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 32;
}

static uint32_t node_hash(const Node *n) {
  uint64_t h =
      add_hash((uint64_t)n->op << 32 | n->type->id, n->op == OP_DATA ? n->attr.data->hash : (uint64_t)n->attr.i);
  h = add_hash(h, ir_site_is_identity(n) ? n->site : n->definition);
  if (n->type_arg) h = add_hash(h, n->type_arg->id);
  for (int i = 0; i < n->ngraphs; i++) h = add_hash(h, n->graphs[i]->id);
  for (int i = 0; i < n->nops; i++) h = add_hash(h, n->ops[i]->id);
  return (uint32_t)h;
}

static bool same_loop(const LoopInfo *a, const LoopInfo *b) {
  if (!a || !b) return a == b;
  return a->ncarried == b->ncarried && a->naccs == b->naccs && a->nsliced == b->nsliced && a->nstacked == b->nstacked &&
         a->ncaps == b->ncaps && a->has_cond == b->has_cond && a->down == b->down && a->sized == b->sized;
}

static bool same_attr(const Node *a, const Node *b) {
  if (a->op != OP_DATA) return a->attr.i == b->attr.i;
  const ArrayData *x = a->attr.data, *y = b->attr.data;
  size_t rank = (size_t)ir_rank(a->type), n = (size_t)x->nslots;
  return x->hash == y->hash && x->nslots == y->nslots && memcmp(x->dims, y->dims, rank * sizeof *x->dims) == 0 &&
         (n == 0 || memcmp(x->slots, y->slots, n * sizeof *x->slots) == 0);
}

static bool node_same(const void *p, const void *q) {
  const Node *a = p, *b = q;
  if (a->hash != b->hash || a->op != b->op || a->type != b->type || a->nops != b->nops || a->ngraphs != b->ngraphs)
    return false;
  if (!same_attr(a, b) || a->definition != b->definition || a->type_arg != b->type_arg || !same_loop(a->loop, b->loop))
    return false;
  if (ir_site_is_identity(a) && a->site != b->site) return false;
  return (!a->nops || memcmp(a->ops, b->ops, sizeof(Node *) * (size_t)a->nops) == 0) &&
         (!a->ngraphs || memcmp(a->graphs, b->graphs, sizeof(Graph *) * (size_t)a->ngraphs) == 0);
}

static uint16_t func_flags(const Func *f) {
  if (f->foreign.library) return NODE_COSTLY | NODE_FAILS; /* it may not be found */
  if (!f->graph) return NODE_CALLS | NODE_FAILS | NODE_COSTLY | NODE_ENDLESS;
  uint16_t fl = f->graph->flags | NODE_COSTLY;
  return f->recursive ? fl | NODE_CALLS | NODE_FAILS | NODE_ENDLESS : fl;
}

/* May it, over constants, be one itself? */
static bool stays_constant(const Node *n) {
  switch (n->op) {
  case OP_INT:
  case OP_FLOAT:
  case OP_BOOL:
  case OP_STRING:
  case OP_UNIT:
  case OP_TUPLE:
  case OP_DATA: return true;
  case OP_ZERO: return n->type->kind != T_STRING && n->type->kind != T_ARRAY && n->type->kind != T_TUPLE;
  case OP_INJ: return n->ngraphs == 0;
  default: return false;
  }
}

static uint16_t node_flags(const Node *n) {
  uint16_t fl = 0;
  for (int i = 0; i < n->nops; i++) fl |= n->ops[i]->flags;
  for (int i = 0; i < n->ngraphs; i++) fl |= n->graphs[i]->flags;
  unsigned of = op_flags[n->op];
  if ((of & OPF_F) && (n->op != OP_RESHAPE || n->site)) fl |= NODE_FAILS;
  if (of & OPF_L) fl |= NODE_COSTLY;
  if (n->op == OP_CALL) fl |= func_flags(n->attr.func);
  if (n->op == OP_RT && n->attr.rt->fails) fl |= NODE_FAILS;
  if (n->op == OP_RT && !strncmp(n->attr.rt->name, "fork", 4)) fl |= NODE_FORKS;
  if (n->op == OP_APPLY) fl |= NODE_APPLIES;
  if (of & OPF_A) fl |= NODE_ENDLESS;
  if (n->op == OP_VJP || n->op == OP_JVP || n->op == OP_CHECKPOINT || n->op == OP_STOP) fl |= NODE_AD;
  if (n->op == OP_LOOP && n->loop->has_cond) fl |= NODE_FAILS | NODE_ENDLESS;
  if (!stays_constant(n)) fl |= NODE_VARIES;
  return fl;
}

/* What an entry makes that an earlier one has made too gets a number as if it were new. */
static void meet(World *w, Node *n) {
  if (n->order > compilation(w)->met) return;
  SAVE(w->arena, n->order);
  n->order = ++w->met;
}

Node *ir_intern(World *w, Node *proto) {
  heap_look(w->arena->heap);
  if (definition_is_identity(proto)) proto->definition = ir_site_info(w, proto->site)->definition;
  proto->hash = node_hash(proto);
  Node *found = table_find(&tables(w)->nodes, proto->hash, node_same, proto);
  if (found) {
    meet(w, found);
    return found;
  }
  Node *n = NEW(w->arena, Node);
  *n = *proto;
  n->id = ++w->next_id;
  n->nparams = n->op == OP_PARAM ? (uint32_t)n->attr.i + 1 : 0;
  n->ops = n->nops ? NEW_ARRAY(w->arena, Node *, n->nops) : NULL;
  for (int i = 0; i < n->nops; i++) {
    n->ops[i] = proto->ops[i];
    if (n->ops[i]->nparams > n->nparams) n->nparams = n->ops[i]->nparams;
  }
  if (n->ngraphs) {
    n->graphs = NEW_ARRAY(w->arena, Graph *, n->ngraphs);
    memcpy(n->graphs, proto->graphs, sizeof(Graph *) * (size_t)n->ngraphs);
  }
  if (n->loop) {
    n->loop = NEW(w->arena, LoopInfo);
    *n->loop = *proto->loop;
  }
  n->flags = node_flags(n);
  n->order = ++w->met;
  table_insert(w, &tables(w)->nodes, n->hash, n);
  return n;
}

Node *ir_placed(World *w, Node *x, Site site) {
  bool operation = op_flags[x->op] & OPF_S && x->op != OP_FNEG; /* a sum takes up the sign */
  if (w->traps != TRAP_PLACES || !site || x->site || x->type->kind != T_FLOAT || !operation) return x;
  Node copy = *x;
  copy.site = site;
  return ir_intern(w, &copy);
}

Node *ir_raw(World *w, Op op, IrType *t, Node **ops, int n) {
  return ir_intern(w, &(Node){.op = (uint16_t)op, .type = t, .ops = ops, .nops = n});
}

/* ---- Graphs ------------------------------------------------------------------------ */
static bool graph_same(const void *p, const void *q) {
  const Graph *a = p, *b = q;
  if (a->result != b->result || a->nparams != b->nparams) return false;
  return !a->nparams || memcmp(a->params, b->params, sizeof(IrType *) * (size_t)a->nparams) == 0;
}

/* What an entry calls a graph that an earlier one made too. */
static void name_graph(World *w, Graph *g, Sym name) {
  if (g->named == w->arena->epoch) return;
  SAVE(w->arena, g->name);
  SAVE(w->arena, g->named);
  g->name = name;
  g->named = w->arena->epoch;
}

Graph *ir_graph(World *w, IrType **params, int n, Node *result, Sym name) {
  uint64_t h = hash_mix(result->id, (uint64_t)n);
  for (int i = 0; i < n; i++) h = hash_mix(h, params[i]->id);
  Graph key = {.nparams = n, .params = params, .result = result, .hash = (uint32_t)(h ^ h >> 32)};
  Graph *g = table_find(&tables(w)->graphs, key.hash, graph_same, &key);
  if (g) {
    name_graph(w, g, name);
    return g;
  }
  g = NEW(w->arena, Graph);
  *g = key;
  g->params = NEW_ARRAY(w->arena, IrType *, n + 1);
  if (n) memcpy(g->params, params, sizeof(IrType *) * (size_t)n);
  g->id = ++w->next_id;
  g->flags = result->flags;
  g->name = name;
  g->named = w->arena->epoch;
  GraphBody *b = graph_body(w, g);
  g->size = b->n;
  for (int i = 0; i < b->n; i++) {
    g->size -= ir_is_trap(b->nodes[i]);
    for (int k = 0; k < b->nodes[i]->ngraphs; k++) g->size += b->nodes[i]->graphs[k]->size;
  }
  table_insert(w, &tables(w)->graphs, g->hash, g);
  return g;
}

/* g with this identity, by which graphs of equal contents stay distinct. g itself gets it if it has none; else a copy
 * of g, one for each identity. */
Graph *ir_identified(World *w, Graph *g, uint64_t identity) {
  if (!identity || g->identity == identity) return g;
  if (!g->identity) {
    SAVE(w->arena, g->identity);
    g->identity = identity;
    return g;
  }
  const void *key = (const void *)(uintptr_t)((uint64_t)g->id << 32 | identity); /* exact */
  Graph *copy = map_get(&tables(w)->identified, key);
  if (copy) return copy;
  copy = NEW(w->arena, Graph);
  *copy = *g;
  copy->id = ++w->next_id;
  copy->identity = identity;
  map_put(&tables(w)->identified, key, copy);
  return copy;
}

void ir_identify(World *w, Graph *g) {
  if (g->identity) return;
  SAVE(w->arena, g->identity);
  g->identity = ++w->identities;
  /* copies of it there, and those within copies of others, lack the number */
  map_init(&compilation(w)->resited, w->temp);
}

Func *ir_func(World *w, Sym name, IrType **params, int n, IrType *result) {
  Func *f = NEW(w->arena, Func);
  f->name = name;
  f->id = ++w->next_id;
  f->nparams = n;
  f->params = NEW_ARRAY(w->arena, IrType *, n + 1);
  if (n) memcpy(f->params, params, sizeof(IrType *) * (size_t)n);
  f->result = result;
  vec_push(w->arena, w->funcs, f);
  return f;
}

void ir_func_finish(World *w, Func *f, Node *result) { f->graph = ir_graph(w, f->params, f->nparams, result, f->name); }

/* ---- Order: iterative depth-first, operands before users ------------------------------
 * Marks live in the nodes: `mark` is the number of the walk that reached it, `pos` its place in the order. */
static bool is_done(const World *w, const Node *n) { return n->mark == w->walk; }

/* Fills the compilation's `order`; both vectors are kept from walk to walk. */
static void order_from(World *w, Node *root) {
  Compilation *c = compilation(w);
  c->order.len = c->stack.len = 0;
  vec_push(w->temp, c->stack, root);
  while (c->stack.len) {
    Node *n = c->stack.data[c->stack.len - 1];
    bool ready = true;
    for (int i = n->nops - 1; i >= 0 && !is_done(w, n); i--)
      if (!is_done(w, n->ops[i])) {
        vec_push(w->temp, c->stack, n->ops[i]);
        ready = false;
      }
    if (!ready) continue;
    c->stack.len--;
    if (is_done(w, n)) continue;
    n->mark = w->walk;
    n->pos = c->order.len;
    vec_push(w->temp, c->order, n);
  }
}

GraphBody *graph_body(World *w, Graph *g) {
  heap_look(w->arena->heap);
  if (g->cache) return g->cache;
  w->walk++;
  order_from(w, g->result);
  GraphBody *b = NEW(w->arena, GraphBody);
  b->n = compilation(w)->order.len;
  b->nodes = NEW_ARRAY(w->arena, Node *, b->n);
  memcpy(b->nodes, compilation(w)->order.data, sizeof(Node *) * (size_t)b->n);
  int total = 0;
  for (int i = 0; i < b->n; i++) total += b->nodes[i]->nops;
  b->operands = NEW_ARRAY(w->arena, int, total + 1);
  int *p = b->operands;
  for (int i = 0; i < b->n; i++)
    for (int k = 0; k < b->nodes[i]->nops; k++) *p++ = b->nodes[i]->ops[k]->pos;
  g->cache = b;
  return b;
}

int ir_order(Arena *a, const Graph *g, Node ***out) {
  const GraphBody *b = g->cache;
  *out = NEW_ARRAY(a, Node *, b->n);
  memcpy(*out, b->nodes, sizeof(Node *) * (size_t)b->n);
  return b->n;
}
