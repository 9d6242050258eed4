/* SPDX-License-Identifier: MIT */
/* Values that are computed when a program is compiled: those of `static`.
 *
 *   static (sum [ i * i | i < 10 ])   →   285
 *   static (table 256)                →   data [0, 3988292384, …]
 *
 * The operand becomes the result of a graph without parameters, which is compiled and run in the evaluator by whoever
 * compiles the program (World.evaluator), and its value a constant. That is done if it depends on nothing that is only
 * known when the program runs: no parameter, no C function, no effect, no argument of the program. Globals that it
 * reads are computed first, of earlier items of the program from their graphs:
 *
 *   let xs = [ float i | i < 3 ]      static (sum xs)   →   static (sum (data [0.0, 1.0, 2.0]))   →   3.0
 *
 * What can't be known, fails, doesn't end in time or isn't data is computed when the program runs.
 *
 *   static (f x)   →   f x
 *
 * The first run, before rewrite rules are tried, makes constants for them to look at; later ones have what rules and
 * inlining made of the others. `last`: what isn't a constant then will not become one before derivatives are taken. */
#include "ir/compilation.h"
#include "ir/remarks.h"
#include "opt/opt.h"

typedef struct Statics {
  World *w;
  bool last;
  Map known, unknown; /* globals that were asked for: 1 + number -> value, a constant, or anything */
  Site at;            /* of the `static` whose value is asked for */
  bool tried;         /* it was known what it depends on */
  bool failed;        /* a global isn't known in the graph that is rewritten */
} Statics;

/* Is it known only when the program runs, whatever its operands are? */
static bool is_of_run(const Node *x) {
  if (x->op == OP_RT) return x->attr.rt->of_run;
  return x->op == OP_CALL && (x->attr.func->foreign.symbol || !x->attr.func->graph);
}

static bool is_global(const Node *x) { return x->op == OP_GLOBAL; }

/* How many computations of this kind the compilation is for, each within the next one. */
static int depth(const World *w) {
  int n = 0;
  for (const Compilation *c = w->compilation; c; c = c->outer) n++;
  return n;
}

/* Graphs made for studies alone are never lowered. */
static bool can_run(const World *w) {
  return w->evaluator.value && (w->traps < TRAP_CUTS || w->traps == TRAP_POINT) &&
         (depth(w) <= LIMIT_STATIC_DEPTH || !limit_reached(w->arena, AT_STATIC_DEPTH));
}

static Node *value_of(Statics *s, Node *x);

/* What global k is, a constant; NULL: that isn't known before the program runs. */
static Node *global_value(Statics *s, int k) {
  World *w = s->w;
  const void *key = (const void *)(uintptr_t)(k + 1);
  Node *known = map_get(&s->known, key);
  if (known || map_get(&s->unknown, key)) return known;
  Node *x = w->globals.data[k].value;
  if (x) known = value_of(s, x);
  else if (w->evaluator.global) known = w->evaluator.global(w->evaluator.user, k);
  map_put(known ? &s->known : &s->unknown, key, known ? (void *)known : s);
  return known;
}

static Node *fill_global(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r, (void)frame, (void)ops, (void)graphs;
  Statics *s = user;
  Node *value = is_global(n) ? global_value(s, n->attr.global) : NULL;
  s->failed |= is_global(n) && !value;
  return value;
}

/* g with the values of globals; NULL: one of them isn't known. */
static Graph *without_globals(Statics *s, Graph *g) {
  if (!ir_reaches(s->w, g, is_global)) return g;
  bool before = s->failed;
  s->failed = false;
  g = ir_rewrite(s->w, g, (RewritePass){.user = s, .node = fill_global});
  bool failed = s->failed;
  s->failed = before;
  return failed ? NULL : g;
}

/* The value of x, a constant; NULL: that isn't known before the program runs. */
static Node *value_of(Statics *s, Node *x) {
  World *w = s->w;
  if (!(x->flags & NODE_VARIES)) return x;
  if (x->nparams) return NULL;
  Graph *g = ir_graph(w, NULL, 0, x, sym_of(w->syms, "static"));
  if (ir_reaches(w, g, is_of_run) || !(g = without_globals(s, g))) return NULL;
  s->tried = true;
  if (!(g->result->flags & NODE_VARIES)) return g->result;
  return can_run(w) ? w->evaluator.value(w->evaluator.user, g, w->compilation->nrules, s->at) : NULL;
}

static Node *compute(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r, (void)frame, (void)graphs;
  Statics *s = user;
  if (!ir_is_static(n)) return NULL;
  s->at = n->site;
  s->tried = false;
  Node *value = value_of(s, ops[0]);
  if (value || (!s->tried && !s->last)) return value;
  if (!s->tried)
    ir_remark(s->w, "statics", n->site, "`static` makes no constant: this depends on what the program does");
  return ops[0];
}

Graph *opt_statics(World *w, Graph *g, bool last) {
  if (!w->has_statics || !ir_reaches(w, g, ir_is_static)) return g;
  Statics s = {.w = w, .last = last};
  map_init(&s.known, w->temp);
  map_init(&s.unknown, w->temp);
  return ir_rewrite(w, g, (RewritePass){.user = &s, .node = compute});
}
