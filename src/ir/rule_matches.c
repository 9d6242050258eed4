/* SPDX-License-Identifier: MIT */
/* Rewrite rules: which rule applies to a call, and what its parameters stand for.
 *
 * The left side of a rule is a graph like any other: a call whose operands are parameters, constants, operations and
 * further calls. It is compared with a call as both are, in normal form, since equal nodes are one:
 *
 *   a parameter                  matches anything, the second time only the same node
 *   a call of a ruled function   matches a call of that function, or of a copy of it (Func.ruled)
 *   any other node               matches one of the same operation, over operands that match, wherever it stands;
 *                                operands that may be exchanged are tried in both orders
 *
 * Graphs are closed, so what a loop's body captures is a parameter there: a pattern lies within one graph. This file
 * only compares; ir_call (call.c) makes the right side. */
#include "ir/compilation.h"
#include "ir/ir_internal.h"
#include <string.h>

typedef struct Match {
  World *w;
  int nparams;
  Node **bound; /* what the rule's parameters stand for; NULL: not met yet */
} Match;

static bool matches(Match *m, const Node *p, Node *x);

static bool operands_match(Match *m, const Node *p, const Node *x, bool exchanged) {
  for (int i = 0; i < p->nops; i++)
    if (!matches(m, p->ops[exchanged ? 1 - i : i], x->ops[i])) return false;
  return true;
}

static bool same_head(const Func *f, const Func *g) { return f == g || (f->ruled && f->ruled == g->ruled); }

static bool same_graphs(const Node *p, const Node *x) {
  for (int i = 0; i < p->ngraphs; i++)
    if (!ir_is_same_graph(p->graphs[i], x->graphs[i])) return false;
  return true;
}

bool ir_same_operation(const Node *p, const Node *x) {
  if (p->op != x->op || p->type != x->type || p->nops != x->nops || p->ngraphs != x->ngraphs) return false;
  if (p->op == OP_CALL) return same_head(p->attr.func, x->attr.func);
  bool plain = p->op != OP_LOOP && p->op != OP_DATA && p->type_arg == x->type_arg;
  return plain && p->attr.i == x->attr.i && same_graphs(p, x);
}

static bool bind(Match *m, int64_t k, Node *x) {
  if (!m->bound[k]) m->bound[k] = x;
  return m->bound[k] == x;
}

static bool matches(Match *m, const Node *p, Node *x) {
  if (p->op == OP_PARAM) return bind(m, p->attr.i, x);
  if (p == x && !p->nparams) return true;
  if (!ir_same_operation(p, x)) return false;
  bool exchangeable = op_flags[p->op] & OPF_C && p->nops == 2;
  if (!exchangeable) return operands_match(m, p, x, false);
  Node **before = NEW_ARRAY(m->w->temp, Node *, m->nparams + 1);
  size_t size = sizeof *before * (size_t)m->nparams;
  memcpy(before, m->bound, size);
  if (operands_match(m, p, x, false)) return true;
  memcpy(m->bound, before, size);
  return operands_match(m, p, x, true);
}

bool ir_matches(World *w, const Node *p, Node *x, int n) {
  Match m = {w, n, NEW_ARRAY(w->temp, Node *, n + 1)};
  bool same = p == x || matches(&m, p, x);
  for (int k = 0; k < n && p != x; k++) same &= !m.bound[k] || (m.bound[k]->op == OP_PARAM && m.bound[k]->attr.i == k);
  return same;
}

/* Is its value a constant of the program? */
static bool is_known(const Node *x) {
  bool made = x->op == OP_TUPLE || x->op == OP_INJ || x->op == OP_ARRAY || x->op == OP_CLOSURE;
  for (int i = 0; i < x->nops && made; i++) made = is_known(x->ops[i]);
  return made || ir_is_constant(x);
}

static bool are_known(const IrRule *r, Node **bound) {
  for (int i = 0; i < r->right->nparams; i++)
    if (r->known[i] && !is_known(bound[i])) return false;
  return true;
}

/* What the parameters of the rule stand for in the call x; NULL: the rule doesn't apply. */
static Node **applies(World *w, const IrRule *r, Node *x) {
  int n = r->right->nparams;
  Match m = {w, n, NEW_ARRAY(w->temp, Node *, n + 1)};
  return matches(&m, r->left, x) && are_known(r, m.bound) ? m.bound : NULL;
}

/* What differentiation has made can't take derivatives, and no function that it doesn't know of is to come. */
static bool may_come_late(const IrRule *r) {
  return !(r->right->flags & (NODE_AD | NODE_APPLIES)) && r->right->result->type->kind != T_FUN;
}

IrRule *ir_rule_for(World *w, Func *f, Node **args, Node ***bound) {
  if (!f->ruled || !f->ruled->rules) return NULL;
  Node call = {.op = OP_CALL, .type = f->result, .ops = args, .nops = f->nparams, .attr.func = f};
  bool late = compilation(w)->differentiated;
  for (IrRule *r = f->ruled->rules; r; r = r->next)
    if (r->number <= compilation(w)->nrules && !*r->off && (!late || may_come_late(r)) &&
        (*bound = applies(w, r, &call)))
      return r;
  return NULL;
}

/* ---- Rules ------------------------------------------------------------------------------------------ */
void ir_mark_ruled(World *w, Func *f) {
  if (f->ruled) return;
  SAVE(w->arena, f->ruled);
  f->ruled = f;
  SAVE(w->arena, w->ruled);
  w->ruled++;
}

void ir_add_rule(World *w, IrRule *rule) {
  Func *head = rule->left->attr.func->ruled;
  IrRule **at = &head->rules;
  while (*at && (*at)->number < rule->number) at = &(*at)->next;
  rule->next = *at;
  SAVE(w->arena, *at);
  *at = rule;
}

static bool holds_match(World *w, const IrRule *rule, Graph *g) {
  const GraphBody *b = graph_body(w, g);
  for (int i = 0; i < b->n; i++) {
    Node *x = b->nodes[i];
    if (x->op == OP_CALL && applies(w, rule, x)) return true;
    for (int k = 0; k < x->ngraphs; k++)
      if (holds_match(w, rule, x->graphs[k])) return true;
  }
  return false;
}

bool ir_rule_matches_itself(World *w, const IrRule *rule) { return holds_match(w, rule, rule->right); }
