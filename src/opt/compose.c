/* SPDX-License-Identifier: MIT */
/* Deforestation of lists and trees, by unfolding and folding (Wadler 1990): a recursive function over what another one
 * makes, `public t (backward tape t)` or `map f (map g l)`, becomes one function, which makes nothing in between.
 *
 * The producer's graph is a tree of branches that end in values. There the consumer is applied: to a constructor by
 * its own graph, in which the branches on that constructor vanish; to a call of the producer by a call, which is
 * such a composition again, of the same two functions mostly. A composition is good if no call of the producer is
 * left in it, or in those that it calls. So no part of the value between is made, and each call of the composition
 * stands for one of either.
 *
 * The producer's call must serve the consumer alone, up to further results, which the composition has too. It must
 * not fail, other than by a stack overflow: its failures would come among the consumer's, or not at all. */
#include "ir/world.h"
#include "opt/opt.h"
#include <string.h>

/* consumer (…, component r of producer (…), …) */
typedef enum Verdict { UNDECIDED, GOOD, BAD } Verdict;
typedef struct Composition {
  Func *consumer, *producer;
  int argument;  /* of the consumer: the component */
  int component; /* -1: the producer's whole value */
  /* for each other argument of the consumer the first of the producer's that it equals, -1 if none */
  int *same;
  int depth;  /* how many functions it composes, less one */
  Func *func; /* parameters: the producer's, then the consumer's that aren't equal to one of those; its value: the
                          producer's, with the consumer's in place of the component, and bare if that is all */
  Verdict verdict;
  struct Composition *next; /* of the same producer */
} Composition;

typedef struct Compose {
  World *w;
  Map made;    /* producer -> Composition */
  Map of;      /* function -> the Composition that it is of */
  Map failing; /* producer -> may it fail? As a verdict */
  int count;
  Vec(Composition *) judging; /* what the composition being judged calls, itself first */
} Compose;

/* Where a composition stands in a graph. */
typedef struct Place {
  Composition *c;
  Node *consumer, *producer; /* the two calls */
} Place;

/* ---- Which functions --------------------------------------------------------------------------------------------- */
typedef struct FailScan {
  Compose *cs;
  Map seen;
} FailScan;

/* May anything in the graph, or in what it calls, fail but for a stack overflow? */
static bool graph_fails(FailScan *s, const Graph *g) {
  Node **nodes;
  int n = g->flags & NODE_FAILS ? ir_order(s->cs->w->temp, g, &nodes) : 0;
  for (int i = 0; i < n; i++) {
    const Node *x = nodes[i];
    Func *f = x->op == OP_CALL ? x->attr.func : NULL;
    if (f && f->graph && !map_get(&s->seen, f)) {
      map_put(&s->seen, f, f);
      if (graph_fails(s, f->graph)) return true;
    }
    if (f ? !f->graph && !f->foreign.library : (op_flags[x->op] & OPF_F) && (x->op != OP_RESHAPE || x->site))
      return true;
    if ((x->op == OP_RT && x->attr.rt->fails) || (x->op == OP_LOOP && x->loop->has_cond)) return true;
    for (int k = 0; k < x->ngraphs; k++)
      if (graph_fails(s, x->graphs[k])) return true;
  }
  return false;
}

static bool may_fail(Compose *cs, Func *producer) {
  Verdict known = (Verdict)(uintptr_t)map_get(&cs->failing, producer);
  if (known != UNDECIDED) return known == BAD;
  FailScan s = {.cs = cs};
  map_init(&s.seen, cs->w->temp);
  map_put(&s.seen, producer, producer);
  bool fails = graph_fails(&s, producer->graph);
  map_put(&cs->failing, producer, (void *)(uintptr_t)(fails ? BAD : GOOD));
  return fails;
}

static bool is_recursion(const Func *f) { return f->graph && f->recursive && !f->opaque && !ir_takes_token(f->graph); }

/* ---- Places of compositions in one graph ------------------------------------------------------------------------- */
/* Is the component of x, a call, used once, and x itself, unless it is the component, for nothing but components? */
static bool used_once(Uses *uses, const Node *x, const Node *component) {
  if (uses_count(uses, component) != 1) return false;
  if (component == x) return true;
  FOR_USES (use, uses, x)
    if (use->user->op != OP_GET) return false;
  return true;
}

static Composition *composition(Compose *c, Func *consumer, Func *producer, int argument, int component,
                                const int *same);

/* The composition that argument k of a call is the inner part of. */
static Composition *composed_at(Compose *c, Uses *uses, Node *call, int k) {
  Func *consumer = call->attr.func;
  Node *x = call->ops[k], *inner = x->op == OP_GET ? x->ops[0] : x;
  if (x->type->kind != T_VARIANT || inner->op != OP_CALL || inner->type->kind == T_TOKEN) return NULL;
  Func *producer = inner->attr.func;
  if (!is_recursion(producer) || may_fail(c, producer) || !used_once(uses, inner, x)) return NULL;
  int *same = NEW_ARRAY(c->w->temp, int, consumer->nparams + 1);
  for (int j = 0; j < consumer->nparams; j++) {
    same[j] = -1;
    if (j == k) continue;
    if (fact_depends(c->w, call->ops[j], inner)) return NULL;
    for (int i = producer->nparams - 1; i >= 0 && !(op_flags[call->ops[j]->op] & OPF_K); i--)
      if (inner->ops[i] == call->ops[j]) same[j] = i;
  }
  return composition(c, consumer, producer, k, x->op == OP_GET ? (int)x->attr.i : -1, same);
}

/* The next place from node *i on, in the order of the graph. */
static bool find_place(Compose *c, Graph *g, int *i, Place *p) {
  Uses *uses = graph_uses(c->w, g);
  for (; *i < uses->n; ++*i) {
    Node *call = uses->nodes[*i];
    if (call->op != OP_CALL || !is_recursion(call->attr.func)) continue;
    for (int k = 0; k < call->nops; k++) {
      Composition *made = composed_at(c, uses, call, k);
      if (!made || made->verdict == BAD) continue;
      Node *x = call->ops[k];
      *p = (Place){made, call, made->component < 0 ? x : x->ops[0]};
      ++*i;
      return true;
    }
  }
  return false;
}

/* ---- Making one -------------------------------------------------------------------------------------------------- */
/* The consumer's arguments but for the component, and which constructors these are (-1: not known). */
typedef struct Rest {
  Node **args;
  int *tags;
} Rest;

static Node *with_component(World *w, const Composition *c, Node *x, Node *y) {
  if (c->component < 0 || x->type->n == 1) return y;
  Node **xs = NEW_ARRAY(w->arena, Node *, x->type->n);
  for (int k = 0; k < x->type->n; k++) xs[k] = k == c->component ? y : ir_get(w, x, k);
  return ir_record(w, xs, x->type->n);
}

/* The consumer's value for a component. */
static Node *consume(World *w, const Composition *c, Node *component, Rest o) {
  const Func *f = c->consumer;
  Node **args = NEW_ARRAY(w->arena, Node *, f->nparams);
  memcpy(args, o.args, sizeof *args * (size_t)f->nparams);
  args[c->argument] = component;
  if (component->op != OP_INJ && !ir_is_constant(component)) return ir_call(w, c->consumer, args, 0);
  Map known;
  map_init(&known, w->temp);
  for (int k = 0; k < f->nparams; k++)
    if (o.tags[k] >= 0) map_put(&known, ir_tag(w, ir_param(w, k, f->params[k])), ir_int(w, o.tags[k]));
  return ir_instantiate_over(w, f->graph, args, 0, &known);
}

static Node *apply_consumer(World *w, const Composition *c, Node *x, bool whole, Rest o);

/* Goes into the arms, where the selector is known. */
static Node *apply_in_arms(World *w, const Composition *c, Node *s, bool whole, Rest o) {
  const Func *f = c->consumer;
  const Node *tagged = s->ops[0]->op == OP_TAG ? s->ops[0]->ops[0] : NULL;
  BranchBuilder *b = branch_open(w, s->ops[0]);
  Rest in = {NEW_ARRAY(w->arena, Node *, f->nparams), NEW_ARRAY(w->temp, int, f->nparams)};
  for (int k = 1; k < s->nops; k++) branch_add(b, s->ops[k]);
  for (int k = 0; k < f->nparams; k++)
    if (k != c->argument) in.args[k] = branch_add(b, o.args[k]);
  for (int a = 0; a < s->ngraphs; a++) {
    for (int k = 0; k < f->nparams; k++) {
      bool here = k != c->argument && tagged && o.args[k] == tagged && tagged->type->nctors == s->ngraphs;
      in.tags[k] = here ? a : o.tags[k];
    }
    branch_arm(b, apply_consumer(w, c, s->graphs[a]->result, whole, in), s->graphs[a]->name);
  }
  return branch_close(b);
}

/* x: the producer's value, `whole` or only its component. */
static Node *apply_consumer(World *w, const Composition *c, Node *x, bool whole, Rest o) {
  if (x->op == OP_SWITCH) return apply_in_arms(w, c, x, whole, o);
  if (!whole) return consume(w, c, x, o);
  Node *component = ir_get(w, x, c->component);
  return with_component(w, c, x, apply_consumer(w, c, component, false, o));
}

static IrType *result_type(World *w, const Composition *c) {
  const IrType *t = c->producer->result;
  if (c->component < 0 || t->n == 1) return c->consumer->result;
  IrType **ts = NEW_ARRAY(w->arena, IrType *, t->n);
  for (int k = 0; k < t->n; k++) ts[k] = k == c->component ? c->consumer->result : t->args[k];
  return ir_tuple_type(w, ts, NULL, t->n);
}

static int depth_of(const Compose *cs, const Func *f) {
  const Composition *c = map_get(&cs->of, f);
  return c ? c->depth : 0;
}

static void declare(Compose *cs, Composition *c) {
  World *w = cs->w;
  const Func *f = c->consumer, *g = c->producer;
  int n = g->nparams;
  IrType **types = NEW_ARRAY(w->arena, IrType *, n + f->nparams);
  memcpy(types, g->params, sizeof *types * (size_t)n);
  for (int k = 0; k < f->nparams; k++)
    if (k != c->argument && c->same[k] < 0) types[n++] = f->params[k];
  c->func = ir_func(w, f->name, types, n, result_type(w, c));
  c->func->recursive = true;
  c->func->span = f->span;
  c->depth = 1 + depth_of(cs, f) + depth_of(cs, g);
  map_put(&cs->of, c->func, c);
}

/* NULL if that would be too many. */
static bool too_many(const Compose *cs, int functions) {
  if (cs->count == LIMIT_COMPOSITIONS) return limit_reached(cs->w->arena, AT_COMPOSITIONS);
  return functions > LIMIT_COMPOSED_FUNCTIONS && limit_reached(cs->w->arena, AT_COMPOSED_FUNCTIONS);
}

static Composition *composition(Compose *cs, Func *consumer, Func *producer, int argument, int component,
                                const int *same) {
  Composition *first = map_get(&cs->made, producer), *c = first;
  for (; c; c = c->next)
    if (c->consumer == consumer && c->argument == argument && c->component == component &&
        memcmp(c->same, same, sizeof *same * (size_t)consumer->nparams) == 0)
      return c;
  if (too_many(cs, depth_of(cs, consumer) + depth_of(cs, producer) + 2)) return NULL;
  cs->count++;
  c = NEW(cs->w->temp, Composition);
  *c = (Composition){consumer,     producer, argument, component, NEW_ARRAY(cs->w->temp, int, consumer->nparams + 1),
                     .next = first};
  memcpy(c->same, same, sizeof *same * (size_t)consumer->nparams);
  map_put(&cs->made, producer, c);
  declare(cs, c);
  return c;
}

/* ---- Calls of compositions --------------------------------------------------------------------------------------- */
/* The graph with a call of the composition in place of the two calls. */
static Graph *replaced(Compose *cs, Graph *g, const Place *p) {
  World *w = cs->w;
  const Composition *c = p->c;
  Node **args = NEW_ARRAY(w->arena, Node *, c->func->nparams);
  int n = p->producer->nops;
  for (int k = 0; k < n; k++) args[k] = p->producer->ops[k];
  for (int k = 0; k < p->consumer->nops; k++)
    if (k != c->argument && c->same[k] < 0) args[n++] = p->consumer->ops[k];
  Node *call = ir_call(w, c->func, args, p->consumer->site);
  bool bare = c->component < 0 || p->producer->type->n == 1;
  Map over;
  map_init(&over, w->temp);
  map_put(&over, p->consumer, bare ? call : ir_get(w, call, c->component));
  for (int k = 0; k < p->producer->type->n && !bare; k++)
    if (k != c->component) map_put(&over, ir_get(w, p->producer, k), ir_get(w, call, k));
  return ir_graph_over(w, g, &over);
}

/* ---- The graph of a composition ---------------------------------------------------------------------------------- */
static Graph *fold(void *user, Rewriter *r, Graph *g) {
  if (g->identity) return g; /* it is the same for all, and not all are rewritten */
  Compose *cs = user;
  Place p;
  for (int i = 0; find_place(cs, g, &i, &p); i = 0) {
    bool known = false;
    for (int k = 0; k < cs->judging.len; k++) known |= cs->judging.data[k] == p.c;
    if (!known) vec_push(cs->w->temp, cs->judging, p.c);
    g = replaced(cs, g, &p);
  }
  return rewrite_nodes(r, g);
}

static Node *same_function(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r, (void)frame, (void)graphs;
  const Compose *cs = user;
  return n->op == OP_CALL ? ir_call(cs->w, n->attr.func, ops, n->site) : NULL;
}

/* Of the calls in it, too, some are of compositions, which are to be judged with it. */
static void make(Compose *cs, Composition *c) {
  World *w = cs->w;
  const Func *f = c->consumer;
  Rest o = {NEW_ARRAY(w->arena, Node *, f->nparams), NEW_ARRAY(w->temp, int, f->nparams)};
  for (int k = 0, n = c->producer->nparams; k < f->nparams; k++) {
    o.tags[k] = -1;
    if (k != c->argument) o.args[k] = ir_param(w, c->same[k] >= 0 ? c->same[k] : n++, f->params[k]);
  }
  Node *y = apply_consumer(w, c, c->producer->graph->result, c->component >= 0, o);
  Graph *g = ir_graph(w, c->func->params, c->func->nparams, y, NULL);
  g = ir_rewrite(w, g, (RewritePass){.user = cs, .graph = fold, .node = same_function});
  ir_func_finish(w, c->func, g->result);
}

/* ---- Is it good? ------------------------------------------------------------------------------------------------- */
/* Are there calls of the producers of what is judged? */
static bool calls_producer(const Compose *cs, const Graph *g) {
  Node **nodes;
  int n = ir_order(cs->w->temp, g, &nodes);
  for (int i = 0; i < n; i++) {
    for (int k = 0; nodes[i]->op == OP_CALL && k < cs->judging.len; k++)
      if (cs->judging.data[k]->producer == nodes[i]->attr.func) return true;
    for (int k = 0; k < nodes[i]->ngraphs; k++)
      if (calls_producer(cs, nodes[i]->graphs[k])) return true;
  }
  return false;
}

/* So are, or aren't, all those that it calls. */
static bool judge(Compose *cs, Composition *root) {
  if (root->verdict != UNDECIDED) return root->verdict == GOOD;
  cs->judging.len = 0;
  vec_push(cs->w->temp, cs->judging, root);
  bool good = true;
  for (int k = 0; good && k < cs->judging.len; k++) {
    Composition *c = cs->judging.data[k];
    if (!c->func->graph) make(cs, c);
    good = c->func->graph->size <= LIMIT_COMPOSED_SIZE || !limit_reached(cs->w->arena, AT_COMPOSED_SIZE);
  }
  for (int k = 0; good && k < cs->judging.len; k++) good = !calls_producer(cs, cs->judging.data[k]->func->graph);
  for (int k = 0; k < cs->judging.len; k++) cs->judging.data[k]->verdict = good ? GOOD : BAD;
  return good;
}

/* ---- Rewriting --------------------------------------------------------------------------------------------------- */
static Graph *compose_graph(void *user, Rewriter *r, Graph *g) {
  Compose *cs = user;
  Place p;
  for (int i = 0; find_place(cs, g, &i, &p);) {
    if (!judge(cs, p.c)) continue;
    g = replaced(cs, g, &p);
    i = 0;
  }
  return rewrite_nodes(r, g);
}

Graph *opt_compose(World *w, Graph *g) {
  Compose *cs = NEW(w->temp, Compose);
  cs->w = w;
  map_init(&cs->made, w->temp);
  map_init(&cs->of, w->temp);
  map_init(&cs->failing, w->temp);
  return ir_rewrite(w, g, (RewritePass){.user = cs, .graph = compose_graph});
}
