/* SPDX-License-Identifier: MIT */
/* Functions as graphs. One that is known where it is applied is its closure's graph. One that isn't can
 * only be one of the closures of its type that the program makes: the dispatcher of a function type asks
 * which, and calls that graph with the captures taken out of the closure. So to a pass that transforms
 * calls an unknown call is a branch between known ones, and function values need not change (defunctionalisation of
 * the calls alone). If the program makes the closures  fun x -> a * x  and  sin , the dispatcher of float -> float is
 *
 *   apply f x = if closure_id f = 1 then capture f * x else if closure_id f = 2 then sin x else fail */
#include "ir/world.h"
#include "graph/graph.h"
#include <string.h>

Target ir_target(World *w, Node *f, Node *x, Node *token, Site site) {
  bool known = f->op == OP_CLOSURE;
  Vec(Node *) args = {0};
  vec_push(w->arena, args, x);
  if (token) vec_push(w->arena, args, token);
  int own = args.len;
  if (!known) vec_push(w->arena, args, f);
  for (int i = 0; known && i < f->nops; i++) vec_push(w->arena, args, f->ops[i]);
  if (known) return (Target){f->graphs[0], args.data};
  IrType *ps[3] = {x->type, token ? token->type : f->type, f->type};
  Node *pf = ir_param(w, own, f->type), *pt = token ? ir_param(w, 1, token->type) : NULL;
  Node *y = ir_apply(w, pf, ir_param(w, 0, x->type), pt, site);
  return (Target){ir_graph(w, ps, own + 1, y, NULL), args.data};
}

/* ---- Unknown functions ------------------------------------------------------------------------ */
typedef Vec(Graph *) Graphs;

/* How many candidates there were when a dispatcher of this type was made first. */
typedef struct Asked {
  IrType *fun;
  int n;
} Asked;

/* The closures of a pool by who makes them: the program, or differentiation. */
enum { OF_PROGRAM, PULLBACKS };

/* What function values of one entry may be: the closures that it makes, and those of the entries that it gets some
 * from. */
struct Pool {
  Map closures[2]; /* OF_PROGRAM, PULLBACKS: function type -> Graphs */
  int nkinds;      /* of these that are candidates: 2, or 1 after ir_pool_give_up */
  Vec(Pool *) from;
  Vec(Asked) asked; /* since it is in use */
  bool given;       /* others got it among those that theirs are from */
  uint32_t seen;    /* number of the walk */
};

static void find_derivative(void *user, Graph *g) {
  if (g->flags & NODE_AD) *(bool *)user = true;
}

static bool takes_derivatives(World *w, Graph *g) {
  void **known = ir_memo(w, g, "takes derivatives", NULL, 0);
  if (!*known) {
    bool found = false;
    ir_walk_rules(w, g, find_derivative, &found);
    *known = found ? (void *)g : w;
  }
  return *known == g;
}

static bool is_among(const Graphs *gs, const Graph *g) {
  for (int i = 0; i < gs->len; i++)
    if (gs->data[i] == g || (g->identity && gs->data[i]->identity == g->identity)) return true;
  return false;
}

static Pool *new_pool(Arena *a) {
  Pool *p = NEW(a, Pool);
  p->nkinds = 2;
  for (int k = 0; k < p->nkinds; k++) map_init(&p->closures[k], a);
  return p;
}

/* That of the item which is compiled; before there is any, an empty one. */
static Pool *current_pool(World *w) {
  if (!compilation(w)->pool) ir_use_pool(w, new_pool(w->arena));
  return compilation(w)->pool;
}

static void register_closure(World *w, Node *closure, int kind) {
  Graph *g = closure->graphs[0];
  Map *closures = &current_pool(w)->closures[kind];
  Graphs *all = map_get(closures, closure->type);
  if (!all) {
    all = NEW(w->arena, Graphs);
    map_put(closures, closure->type, all);
  }
  if (is_among(all, g)) return;
  SAVE(w->arena, *all);
  ir_identify(w, g);
  vec_push(w->arena, *all, g);
  compilation(w)->version++;
}

void ir_register_pullback(World *w, Node *closure) {
  if (current_pool(w)->nkinds > PULLBACKS) register_closure(w, closure, PULLBACKS);
}

static void collect_from(World *w, Pool *p, IrType *fun, uint32_t walk, Graphs *out) {
  if (p->seen == walk) return;
  SAVE(w->arena, p->seen);
  p->seen = walk;
  for (int k = 0; k < p->nkinds; k++) {
    const Graphs *own = map_get(&p->closures[k], fun);
    for (int i = 0; own && i < own->len; i++)
      if (!is_among(out, own->data[i])) vec_push(w->temp, *out, own->data[i]);
  }
  for (int i = 0; i < p->from.len; i++) collect_from(w, p->from.data[i], fun, walk, out);
}

static Graphs collect(World *w, Pool *p, IrType *fun) {
  Graphs all = {0};
  collect_from(w, p, fun, ++tables(w)->pool_walk, &all);
  return all;
}

bool ir_pool_grew(World *w, Pool *p) {
  for (int i = 0; i < p->asked.len; i++)
    if (collect(w, p, p->asked.data[i].fun).len > p->asked.data[i].n) return true;
  return false;
}

/* The graphs of the closures of one kind, type by type: NULL behind the last type, empty for a free place of the
 * map. */
static const Graphs *graphs_at(const Map *closures, size_t place) {
  static const Graphs none = {0};
  if (place >= closures->cap) return NULL;
  return closures->keys[place] ? closures->vals[place] : &none;
}

static void walk_from(World *w, Pool *p, uint32_t walk, void (*fn)(void *user, Graph *g), void *user) {
  if (p->seen == walk) return;
  SAVE(w->arena, p->seen);
  p->seen = walk;
  const Graphs *all;
  for (int k = 0; k < p->nkinds; k++)
    for (size_t at = 0; (all = graphs_at(&p->closures[k], at)); at++)
      for (int i = 0; i < all->len; i++) fn(user, all->data[i]);
  for (int i = 0; i < p->from.len; i++) walk_from(w, p->from.data[i], walk, fn, user);
}

void ir_walk_pool(World *w, Pool *p, void (*fn)(void *user, Graph *g), void *user) {
  walk_from(w, p, ++tables(w)->pool_walk, fn, user);
}

static void note_asked(World *w, Pool *p, IrType *fun, int n) {
  for (int i = 0; i < p->asked.len; i++)
    if (p->asked.data[i].fun == fun) return;
  SAVE(w->arena, p->asked);
  vec_push(w->arena, p->asked, ((Asked){fun, n}));
}

bool ir_escapes(const Node *user, int operand) { return operand > 0 || !(op_flags[user->op] & OPF_A); }

static void register_graph(void *user, Graph *g) {
  World *w = user;
  Node **nodes;
  int n = ir_order(w->arena, g, &nodes);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < nodes[i]->nops; k++)
      if (nodes[i]->ops[k]->op == OP_CLOSURE && ir_escapes(nodes[i], k))
        register_closure(w, nodes[i]->ops[k], OF_PROGRAM);
  if (g->result->op == OP_CLOSURE) register_closure(w, g->result, OF_PROGRAM);
}

static bool holds_function(IrType *t, bool taking, Map *seen) {
  if (t->kind == T_FUN && !taking) return true;
  if (t->kind == T_VARIANT) {
    uintptr_t before = (uintptr_t)map_get(seen, t), now = before | (taking ? 1 : 2);
    if (before == now) return false;
    map_put(seen, t, (void *)now);
  }
  for (int i = 0; i < t->nctors; i++)
    if (holds_function(t->ctors[i].payload, taking, seen)) return true;
  for (int i = 0; i < t->n; i++)
    if (holds_function(t->args[i], taking && !(t->kind == T_FUN && i == 0), seen)) return true;
  return false;
}

/* Is there a function in a value of this type; one that takes functions? */
static bool has_function(World *w, IrType *t, bool taking) {
  Map seen;
  map_init(&seen, w->temp);
  return holds_function(t, taking, &seen);
}

static void link_pools(World *w, Pool *to, Pool *from) {
  if (to == from) return;
  for (int i = 0; i < to->from.len; i++)
    if (to->from.data[i] == from) return;
  SAVE(w->arena, to->from);
  vec_push(w->arena, to->from, from);
}

/* What is read from globals: functions come from where those were made; to one that takes functions, others go
 * there. */
static void link_globals(void *user, Graph *g) {
  World *w = user;
  Tables *t = tables(w);
  Pool *pool = compilation(w)->pool;
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  for (int i = 0; i < n; i++) {
    int64_t k = nodes[i]->op == OP_GLOBAL ? nodes[i]->attr.global : t->makers.len;
    Pool *maker = k < t->makers.len ? t->makers.data[k] : NULL;
    if (!maker) continue;
    if (has_function(w, nodes[i]->type, false)) link_pools(w, pool, maker);
    if (!has_function(w, nodes[i]->type, true)) continue;
    link_pools(w, maker, pool);
    pool->given = true;
  }
}

static void set_maker(World *w, int global, Pool *p) {
  Tables *t = tables(w);
  while (t->makers.len <= global) vec_push(w->arena, t->makers, NULL);
  t->makers.data[global] = p;
}

Pool *ir_pool(World *w, Graph *entry, const int *globals, int n) {
  Pool *p = new_pool(w->arena);
  ir_use_pool(w, p);
  ir_walk_rules(w, entry, register_graph, w);
  ir_walk_rules(w, entry, link_globals, w);
  for (int i = 0; i < n; i++) set_maker(w, globals[i], p);
  return p;
}

bool ir_pool_is_known(World *w, const Pool *p) {
  const Compilation *c = compilation(w);
  while (c->outer) c = c->outer;
  const Graphs *all;
  for (int k = 0; k < p->nkinds; k++)
    for (size_t at = 0; (all = graphs_at(&p->closures[k], at)); at++)
      for (int i = 0; i < all->len; i++)
        if (!all->data[i]->identity || all->data[i]->identity > c->identities) return false;
  return !p->given;
}

static void copy_closures(Map *to, const Map *from) {
  Arena *a = to->arena;
  const Graphs *all;
  for (size_t at = 0; (all = graphs_at(from, at)); at++) {
    if (all->len == 0) continue;
    Graphs *copy = NEW(a, Graphs);
    for (int i = 0; i < all->len; i++) vec_push(a, *copy, all->data[i]);
    map_put(to, from->keys[at], copy);
  }
}

Pool *ir_pool_copy(const Pool *p, Arena *a) {
  Pool *to = new_pool(a);
  to->nkinds = p->nkinds;
  for (int k = 0; k < p->nkinds; k++) copy_closures(&to->closures[k], &p->closures[k]);
  for (int i = 0; i < p->from.len; i++) vec_push(a, to->from, p->from.data[i]);
  return to;
}

void ir_pool_again(World *w, const Pool *p, int global) { set_maker(w, global, ir_pool_copy(p, w->arena)); }

void ir_pool_give_up(World *w, Pool *p) {
  SAVE(w->arena, p->nkinds);
  p->nkinds = PULLBACKS;
  compilation(w)->version++;
}

void ir_use_pool(World *w, Pool *p) {
  compilation(w)->pool = p;
  compilation(w)->version++;
  p->asked.len = 0;
}

static Node *call_candidate(World *w, Graph *g, Node **caps, int own) {
  Node **args = NEW_ARRAY(w->arena, Node *, g->nparams + 1);
  for (int i = 0; i < own; i++) args[i] = caps[1 + i];
  for (int i = own; i < g->nparams; i++) args[i] = ir_closure_cap(w, caps[0], g, i - own);
  return ir_call(w, ir_graph_func(w, g), args, 0);
}

void ir_follow_paths(World *w, int depth, bool optional) {
  uint32_t until = w->next_id + (optional ? LIMIT_PULLBACK_NODES : LIMIT_PATH_NODES);
  compilation(w)->paths = (Paths){.limit = depth + 1, .optional = optional, .until = until};
}

bool ir_paths_end(const World *w) {
  const Paths *p = &compilation(w)->paths;
  return w->next_id > p->until && (p->depth > 0 || p->optional);
}

int ir_paths_depth(const World *w) { return compilation(w)->paths.depth; }

/* A candidate that takes derivatives of unknown functions does so of other candidates, these of others, and so on,
 * each at most once on such a path. So there is an end, and paths are followed as deep as there are few enough of
 * them, and as few enough nodes are made. */
static int deepest(World *w, const Graphs *candidates) {
  int depth = 0, n = 0;
  for (int i = 0; i < candidates->len; i++) n += takes_derivatives(w, candidates->data[i]);
  for (int paths = n; depth < n && paths * n <= LIMIT_PATHS; paths *= n) depth++;
  int limit = compilation(w)->paths.limit;
  return limit && limit - 1 < depth ? limit - 1 : depth;
}

/* Takes out those that can't be called now: that are being rewritten, or, too deep, that take derivatives. */
static void leave_available(World *w, Graphs *candidates) {
  Rewriter *r = compilation(w)->rewriter;
  int depth = rewrite_depth(r);
  bool deep = depth > 0 && depth > deepest(w, candidates);
  int n = 0;
  for (int i = 0; i < candidates->len; i++) {
    Graph *g = candidates->data[i];
    if (rewrite_miss(r, g)) continue;
    bool takes = depth > 0 && takes_derivatives(w, g);
    if (takes && !deep && depth > compilation(w)->paths.depth) compilation(w)->paths.depth = depth;
    if (takes && deep && limit_reached(w->arena, AT_PATHS)) rewrite_miss_all(r);
    else candidates->data[n++] = g;
  }
  candidates->len = n;
}

/* types: of the function, its argument and the token, if any; n of them. */
static Node *dispatch(World *w, const Graphs *candidates, IrType **types, int n, Node *unknown) {
  Rewriter *r = compilation(w)->rewriter;
  Node *caps[3], *y = unknown;
  for (int i = 0; i < n; i++) caps[i] = ir_param(w, i, types[i]);
  for (int i = 0; i < candidates->len; i++) {
    Graph *g = r ? rewrite_graph(r, candidates->data[i]) : candidates->data[i];
    Node *is = ir_op2(w, OP_IEQ, ir_op1(w, OP_CLOSURE_ID, caps[0]), ir_graph_id(w, g));
    Node *call = call_candidate(w, g, caps, n - 1);
    BranchBuilder *b = branch_open(w, is);
    for (int k = 0; k < n; k++) branch_add(b, caps[k]);
    branch_arm(b, y, NULL);
    branch_arm(b, call, NULL);
    y = branch_close(b);
  }
  return y;
}

/* Whoever applies an unknown function, now or when derivatives are made, may come back to any dispatcher. */
static void find_unknown(void *user, Graph *g) {
  if (g->flags & (NODE_APPLIES | NODE_AD)) *(bool *)user = true;
}

Func *ir_dispatcher(World *w, IrType *fun, const char *unknown, const char *unfinished) {
  Graphs candidates = collect(w, current_pool(w), fun);
  int all = candidates.len;
  note_asked(w, current_pool(w), fun, all);
  if (compilation(w)->rewriter) leave_available(w, &candidates);
  void **known = ir_memo_closures(w, fun, "dispatcher", unknown, strlen(unknown));
  if (*known) return *known;
  int n = 2 + fun->effect;
  IrType *ts[3] = {fun, fun->args[0], ir_type(w, T_TOKEN)};
  IrType *result = fun->effect ? ir_pair_type(w, fun->args[1], ts[2]) : fun->args[1];
  Func *f = *known = ir_func(w, sym_of(w->syms, "apply"), ts, n, result);
  f->recursive = true;
  bool complete = candidates.len == all && current_pool(w)->nkinds > PULLBACKS;
  const char *why = complete ? unknown : unfinished;
  Node *fail = ir_fail(w, FAIL_RULE, result, ir_text(w, why), 0);
  ir_func_finish(w, f, dispatch(w, &candidates, ts, n, fail));
  f->recursive = false;
  ir_walk_rules(w, f->graph, find_unknown, &f->recursive);
  /* what was missed meanwhile was missed in candidates, not here */
  *ir_memo_closures(w, fun, "dispatcher", unknown, strlen(unknown)) = f;
  return f;
}
