/* SPDX-License-Identifier: MIT */
/* Derivative rules of scalar operations, which the prelude has as declarations `pullback sin x = …` of primitives. They
 * are made, at first use, before differentiation, for all operations that it can meet: it makes graphs only, and
 * nothing is parsed, checked or elaborated while it runs.
 *
 * A first derivative meets what stands in the functions that it is taken of. Where such a function takes derivatives
 * itself, or applies one that isn't known there, derivatives of any order may be taken, of all that the program's
 * functions hold, and of rules too: then there are rules for what stands in rules, and so on. */
#include "elab/elab_internal.h"
#include "graph/graph.h"

typedef struct Search {
  Elab *e;
  bool higher;        /* there may be derivatives of derivatives */
  Map seen;           /* graphs that are differentiated */
  bool met[OP_COUNT]; /* scalar operations in what is differentiated */
} Search;

static bool yields_float(const Node *n) {
  bool takes = false;
  for (int i = 0; i < n->nops; i++) takes |= n->ops[i]->type->kind == T_FLOAT;
  return takes && n->type->kind == T_FLOAT && op_flags[n->op] & OPF_S;
}

/* What is differentiated. */
static void meet(void *user, Graph *g) {
  Search *s = user;
  Node **nodes;
  int n = ir_order(s->e->w->temp, g, &nodes);
  map_put(&s->seen, g, g);
  for (int i = 0; i < n; i++) {
    s->met[nodes[i]->op] |= yields_float(nodes[i]);
    s->higher |= (op_flags[nodes[i]->op] & OPF_A) != 0;
  }
}

static void meet_all(void *user, Graph *g) {
  Search *s = user;
  if (!map_get(&s->seen, g)) ir_walk_differentiated(s->e->w, g, meet, s);
}

static void find_derivatives(void *user, Graph *g) {
  Search *s = user;
  Node **nodes;
  if (!(g->flags & NODE_AD)) return;
  int n = ir_order(s->e->w->temp, g, &nodes);
  for (int i = 0; i < n; i++) {
    if (!(op_flags[nodes[i]->op] & OPF_A) || nodes[i]->op == OP_APPLY) continue;
    const Node *f = nodes[i]->ops[0];
    if (f->op != OP_CLOSURE) s->higher = true;
    else meet_all(s, f->graphs[0]);
  }
}

/* The prelude's binding of an operation that has a rule. */
static Binding *rule_binding(Elab *e, Op op) {
  for (int n = 0; prim_op_name(op, n); n++) {
    for (int hidden = 0; hidden < 2; hidden++) {
      const char *name = arena_printf(e->w->temp, "%s%s", hidden ? "_" : "", prim_op_name(op, n));
      Binding *b = checker_lookup(e->checker, e->prelude, sym_of(e->syms, name));
      if (b && b->kind == BIND_PRIM && b->pullback) return b;
    }
  }
  return NULL;
}

static void make_rule(Elab *e, Op op) {
  Binding *b = rule_binding(e, op);
  if (!b) return;
  IrType **inst = NEW_ARRAY(e->arena, IrType *, b->nqvars + 1);
  for (int i = 0; i < b->nqvars; i++) inst[i] = e->t_float; /* as an effect: none */
  const Entry saved = el_enter(e, NULL);
  Trap traps = e->w->traps;
  e->w->traps = TRAP_NOTHING;
  Func *f = el_instance(e, b, inst, b->span)->func;
  e->w->traps = traps;
  if (el_leave(e, saved) && f->pullback) e->rules[op] = f;
}

/* Rules in the order of operations, so that what is made doesn't depend on where graphs lie; then of what they hold. */
static void make_rules(Search *s) {
  bool done[OP_COUNT] = {false};
  for (bool more = true; more;) {
    more = false;
    for (int op = 0; op < OP_COUNT; op++) {
      if (!s->met[op] || done[op]) continue;
      done[op] = more = true;
      if (!s->e->rule_known[op]) make_rule(s->e, (Op)op);
      s->e->rule_known[op] = true;
      const Func *rule = s->e->rules[op];
      if (s->higher && rule) meet_all(s, rule->pullback->graph);
    }
  }
}

Func *const *elab_rules(Elab *e, Graph *g, Pool *pool) {
  Search s = {.e = e};
  map_init(&s.seen, e->w->temp);
  ir_walk_rules(e->w, g, find_derivatives, &s);
  if (s.higher) meet_all(&s, g);
  if (s.higher) ir_walk_pool(e->w, pool, meet_all, &s);
  make_rules(&s);
  return e->rules;
}
