/* SPDX-License-Identifier: MIT */
/* The verifier: types, parameter ranges, operand counts and shapes of nested graphs. Run after each pass in debug
 * builds and in tests. It returns the first violation as text; there is nothing it repairs. */
#include "ir/ir_internal.h"
#include <string.h>

static const char *complain(World *w, const Graph *g, const Node *n, const char *what) {
  Str s = {.arena = w->arena};
  ir_print(w, g, &s);
  return arena_printf(w->arena, "node %s: %s in\n%.3000s", n ? op_names[n->op] : "graph", what, s.data);
}

/* Is x of the type that a letter of a signature stands for? */
static bool fits(char letter, const Node *x) {
  switch (letter) {
  case 'i': return x->type->kind == T_INT;
  case 'f': return x->type->kind == T_FLOAT;
  case 'b': return x->type->kind == T_BOOL;
  default: return true;
  }
}

/* By the operation's signature: NULL, or what is wrong. */
static const char *verify_signature(const Node *n) {
  const char *signature = op_signatures[n->op];
  int operands = op_operands((Op)n->op);
  if (operands >= 0 && operands != n->nops) return "wrong number of operands";
  for (int k = 0; k < operands; k++)
    if (!fits(signature[k], n->ops[k])) return "an operand has another type";
  return fits(strchr(signature, ':')[1], n) ? NULL : "its value has another type";
}

static const char *verify_switch(World *w, const Graph *g, const Node *n) {
  IrKind k = n->ops[0]->type->kind;
  if (k != T_BOOL && k != T_INT) return complain(w, g, n, "selector is neither int nor bool");
  for (int i = 0; i < n->ngraphs; i++) {
    const Graph *a = n->graphs[i];
    if (a->nparams != n->nops - 1) return complain(w, g, n, "arm takes another number of captures");
    if (a->result->type != n->type) return complain(w, g, n, "arm yields another type");
    for (int j = 0; j < a->nparams; j++)
      if (a->params[j] != n->ops[j + 1]->type) return complain(w, g, n, "capture has another type");
  }
  return NULL;
}

static const char *verify_loop(World *w, const Graph *g, const Node *n) {
  const LoopInfo *l = n->loop;
  const Graph *b = n->graphs[0];
  int at = loop_first(l), slots = loop_slots(l);
  if (b->nparams != 1 + loop_captures(l) + l->ncaps)
    return complain(w, g, n, "body takes another number of parameters");
  if (n->nops != at + loop_captures(l) + l->ncaps) return complain(w, g, n, "operands don't fit the loop");
  if (!l->has_cond && n->ops[0]->type->kind != T_INT) return complain(w, g, n, "trip count isn't an int");
  if (b->result->type->n != slots + l->nstacked) return complain(w, g, n, "body yields another number of results");
  for (int i = 0; i < loop_captures(l) + l->ncaps; i++) {
    const IrType *have = n->ops[at + i]->type, *want = b->params[1 + i];
    if (i >= slots && i < loop_captures(l)) have = have->args[0];
    if (have != want) return complain(w, g, n, "operand and body parameter differ in type");
    if (i < slots && b->result->type->args[i] != want) return complain(w, g, n, "state changes its type");
  }
  return NULL;
}

static const char *verify_call(World *w, const Graph *g, const Node *n) {
  const Func *f = n->attr.func;
  for (int i = 0; i < n->nops; i++)
    if (n->ops[i]->type != f->params[i]) return complain(w, g, n, "argument of another type");
  bool unmarked = f->graph && !f->recursive && ir_calls(w, f->graph, f);
  return unmarked ? complain(w, g, n, "recursion of a function that isn't marked so") : NULL;
}

static const char *verify_node(World *w, const Graph *g, const Node *n) {
  const char *unfit = verify_signature(n);
  if (unfit) return complain(w, g, n, unfit);
  switch (n->op) {
  case OP_PARAM:
    if (n->attr.i >= g->nparams) return complain(w, g, n, "parameter out of range");
    return g->params[n->attr.i] == n->type ? NULL : complain(w, g, n, "parameter of another type");
  case OP_DATA: {
    const char *wrong = ir_data_wrong(n);
    return wrong ? complain(w, g, n, wrong) : NULL;
  }
  case OP_SWITCH: return verify_switch(w, g, n);
  case OP_LOOP: return verify_loop(w, g, n);
  case OP_CALL: return verify_call(w, g, n);
  case OP_APPLY:
    return n->ops[0]->type->kind == T_FUN && n->ops[0]->type->args[0] == n->ops[1]->type
               ? NULL
               : complain(w, g, n, "ill-typed application");
  case OP_CLOSURE: {
    int own = 1 + n->type->effect;
    if (n->graphs[0]->nparams != own + n->nops) return complain(w, g, n, "closure of a graph with other captures");
    for (int i = 0; i < n->nops; i++)
      if (n->ops[i]->type != n->graphs[0]->params[own + i]) return complain(w, g, n, "capture of another type");
    return NULL;
  }
  case OP_GET:
    return n->ops[0]->type->kind == T_TUPLE && n->attr.i < n->ops[0]->type->n ? NULL
                                                                              : complain(w, g, n, "get of no tuple");
  case OP_TUPLE:
    for (int i = 0; i < n->nops; i++)
      if (n->ops[i]->type != n->type->args[i]) return complain(w, g, n, "component of another type");
    return NULL;
  case OP_CADD: return n->ops[0]->type == n->ops[1]->type ? NULL : complain(w, g, n, "sum of two types");
  default: return NULL;
  }
}

typedef struct Verify {
  World *w;
  const char *why;
} Verify;

static void verify_graph(void *user, Graph *g) {
  Verify *v = user;
  GraphBody *b = graph_body(v->w, g);
  for (int i = 0; i < b->n && !v->why; i++) v->why = verify_node(v->w, g, b->nodes[i]);
}

const char *ir_verify(World *w, Graph *g) {
  Verify v = {w, NULL};
  ir_walk_rules(w, g, verify_graph, &v);
  return v.why;
}
