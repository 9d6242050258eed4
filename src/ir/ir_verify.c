/* SPDX-License-Identifier: MIT */
/* The verifier: types, parameter ranges, operand counts and shapes of nested graphs. Run after each pass in debug
 * builds and in tests. It returns the first violation as text; there is nothing it repairs. */
#include "ir/ir_internal.h"
#include <string.h>

static const char *complain(World *w, const Graph *g, const Node *n, const char *what) {
  Str s = {.arena = w->arena};
  ir_print(w, g, &s);
  return arena_printf(w->arena, "node %s: %s in\n%.3000s", op_names[n->op], what, s.data);
}

/* Is x of the type that a letter of a signature stands for? */
static bool fits(char letter, const Node *x) {
  switch (letter) {
  case 'i': return x->type->kind == T_INT;
  case 'f': return x->type->kind == T_FLOAT;
  case 'b': return x->type->kind == T_BOOL;
  case 's': return x->type->kind == T_STRING;
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

/* How many nested graphs belong to n, as far as that isn't free. */
static bool has_its_graphs(const Node *n) {
  switch (n->op) {
  case OP_SWITCH: return n->ngraphs > 0;
  case OP_LOOP: return n->ngraphs == 1 + n->loop->has_cond;
  case OP_CLOSURE:
  case OP_GRAPH_ID:
  case OP_CLOSURE_CAP: return n->ngraphs == 1;
  case OP_INJ:
  case OP_UNINJ: return n->ngraphs <= 1;
  default: return n->ngraphs == 0;
  }
}

static const char *verify_switch(const Node *n) {
  IrKind k = n->nops ? n->ops[0]->type->kind : T_UNIT;
  if (k != T_BOOL && k != T_INT) return "selector is neither int nor bool";
  for (int i = 0; i < n->ngraphs; i++) {
    const Graph *a = n->graphs[i];
    if (a->nparams != n->nops - 1) return "arm takes another number of captures";
    if (a->result->type != n->type) return "arm yields another type";
    for (int j = 0; j < a->nparams; j++)
      if (a->params[j] != n->ops[j + 1]->type) return "capture has another type";
  }
  return NULL;
}

/* The loop's value, of which the body yields what an iteration makes. */
static const char *verify_loop_value(const LoopInfo *l, const Graph *body, const IrType *t) {
  const IrType *made = body->result->type;
  int n = loop_slots(l) + l->nstacked;
  if (made->n != n || (n && made->kind != T_TUPLE)) return "body yields another number of results";
  if (t->kind != T_TUPLE || t->n != n + 1 || t->args[n]->kind != T_INT)
    return "the loop yields another number of values";
  for (int k = 0; k < n; k++) {
    bool stacked = k >= loop_slots(l), array = t->args[k]->kind == T_ARRAY;
    if (stacked && !array) return "a stacked result is no array";
    if ((stacked ? t->args[k]->args[0] : t->args[k]) != made->args[k]) return "body yields another type than the loop";
  }
  return NULL;
}

static const char *verify_cond(const LoopInfo *l, const Graph *body, const Graph *cond) {
  if (cond->result->type->kind != T_BOOL) return "condition is no bool";
  if (cond->nparams != 1 + l->ncarried + l->ncaps) return "condition takes another number of parameters";
  for (int p = 1; p < cond->nparams; p++)
    if (cond->params[p] != body->params[1 + loop_cond_input(l, p)]) return "condition takes another type than the body";
  return cond->params[0]->kind == T_INT ? NULL : "condition has no index";
}

static const char *verify_loop(const Node *n) {
  const LoopInfo *l = n->loop;
  const Graph *b = n->graphs[0];
  int at = loop_first(l), slots = loop_slots(l);
  if (l->nstacked < 64 && l->sized >> l->nstacked) return "a result that isn't stacked is to keep sizes";
  if (l->ncaps < 0 || n->nops != at + loop_inputs(l)) return "operands don't fit the loop";
  if (b->nparams != 1 + loop_inputs(l)) return "body takes another number of parameters";
  if (b->params[0]->kind != T_INT) return "body has no index";
  if (!l->has_cond && n->ops[0]->type->kind != T_INT) return "trip count isn't an int";
  const char *wrong = verify_loop_value(l, b, n->type);
  if (!wrong && l->has_cond) wrong = verify_cond(l, b, n->graphs[1]);
  for (int k = 0; k < loop_inputs(l) && !wrong; k++) {
    const IrType *have = n->ops[at + k]->type, *want = b->params[1 + k];
    if (loop_part(l, k) == LOOP_SLICED) have = have->kind == T_ARRAY ? have->args[0] : NULL;
    if (have != want) wrong = "operand and body parameter differ in type";
    else if (k < slots && b->result->type->args[k] != want) wrong = "state changes its type";
  }
  return wrong;
}

static const char *verify_call(World *w, const Node *n) {
  const Func *f = n->attr.func;
  if (n->nops != f->nparams) return "another number of arguments";
  if (n->type != f->result) return "the function yields another type";
  for (int i = 0; i < n->nops; i++)
    if (n->ops[i]->type != f->params[i]) return "argument of another type";
  bool unmarked = f->graph && !f->recursive && ir_calls(w, f->graph, f);
  return unmarked ? "recursion of a function that isn't marked so" : NULL;
}

static const char *verify_apply(const Node *n) {
  const IrType *f = n->nops >= 2 ? n->ops[0]->type : NULL;
  if (!f || f->kind != T_FUN || f->args[0] != n->ops[1]->type) return "ill-typed application";
  if (n->nops != 2 + f->effect) return "application with another number of operands";
  const IrType *value = f->effect && n->type->kind == T_TUPLE ? n->type->args[0] : n->type;
  return value == f->args[1] ? NULL : "the function yields another type";
}

static const char *verify_closure(const Node *n) {
  if (n->type->kind != T_FUN) return "closure that is no function";
  const Graph *g = n->graphs[0];
  int own = 1 + n->type->effect;
  if (g->nparams != own + n->nops) return "closure of a graph with other captures";
  if (g->params[0] != n->type->args[0]) return "closure of a graph with another parameter";
  for (int i = 0; i < n->nops; i++)
    if (n->ops[i]->type != g->params[own + i]) return "capture of another type";
  return NULL;
}

static const char *verify_tuple(const Node *n) {
  if (n->type->kind != T_TUPLE || n->type->n != n->nops) return "tuple of another number of components";
  for (int i = 0; i < n->nops; i++)
    if (n->ops[i]->type != n->type->args[i]) return "component of another type";
  return NULL;
}

static const char *verify_get(const Node *n) {
  const IrType *t = n->ops[0]->type;
  if (t->kind != T_TUPLE || n->attr.i < 0 || n->attr.i >= t->n) return "get of no tuple";
  return t->args[n->attr.i] == n->type ? NULL : "the component has another type";
}

/* Making or taking apart a value of a variant. Those of environments hold what their graph captures. */
static const char *verify_variant(const Node *n) {
  const IrType *t = n->op == OP_INJ ? n->type : n->ops[0]->type, *payload = n->op == OP_INJ ? n->ops[0]->type : n->type;
  if (n->ngraphs) return t->kind == T_ENV ? NULL : "no environment";
  if (t->kind != T_VARIANT || n->attr.i < 0 || n->attr.i >= t->nctors) return "no such constructor";
  return t->ctors[n->attr.i].payload == payload ? NULL : "payload of another type";
}

/* Operands 1 to n-1 are indices: one for each of the first dimensions. */
static const char *verify_index(const Node *n, int indices, const IrType *element) {
  const IrType *t = indices >= 0 ? n->ops[0]->type : NULL;
  if (!t || ir_rank(t) < indices || t->kind != T_ARRAY) return "an index too many";
  for (int k = 1; k <= indices; k++, t = t->args[0])
    if (n->ops[k]->type->kind != T_INT) return "an index isn't an int";
  return t == element ? NULL : "the element has another type";
}

static const char *verify_array(const Node *n) {
  if (n->type->kind != T_ARRAY) return "no array";
  for (int k = 0; k < n->nops; k++)
    if (n->ops[k]->type != n->type->args[0]) return "element of another type";
  return NULL;
}

static const char *verify_data(const Node *n) { return n->type->kind == T_ARRAY ? ir_data_wrong(n) : "no array"; }

static const char *verify_select(const Node *n) {
  return n->ops[1]->type == n->type && n->ops[2]->type == n->type ? NULL : "choice between two types";
}

static const char *verify_trap(const Node *n) {
  if (!n->nops || !n->attr.text) return "a trap of nothing";
  for (int k = 0; k < n->nops; k++)
    if (n->ops[k]->type->kind != T_FLOAT && (k == 0 || *n->attr.text != '?')) return "a trap of what is no float";
  return NULL;
}

static const char *verify_node(World *w, const Graph *g, const Node *n) {
  const char *unfit = verify_signature(n);
  if (unfit) return unfit;
  if (!has_its_graphs(n)) return "another number of nested graphs";
  switch ((Op)n->op) {
  case OP_PARAM:
    if (n->attr.i >= g->nparams) return "parameter out of range";
    return g->params[n->attr.i] == n->type ? NULL : "parameter of another type";
  case OP_SWITCH: return verify_switch(n);
  case OP_LOOP: return verify_loop(n);
  case OP_CALL: return verify_call(w, n);
  case OP_APPLY: return verify_apply(n);
  case OP_CLOSURE: return verify_closure(n);
  case OP_GET: return verify_get(n);
  case OP_TUPLE: return verify_tuple(n);
  case OP_INJ:
  case OP_UNINJ: return verify_variant(n);
  case OP_ARRAY: return verify_array(n);
  case OP_LEN:
    return n->attr.i >= 0 && n->attr.i < ir_rank(n->ops[0]->type) ? NULL : "length of a dimension that isn't there";
  case OP_INDEX: return verify_index(n, n->nops - 1, n->type);
  case OP_UPDATE: return verify_index(n, n->nops - 2, n->nops ? n->ops[n->nops - 1]->type : NULL);
  case OP_TAKE: return n->ops[0]->type->kind == T_ARRAY ? verify_index(n, n->nops - 1, n->type->args[1]) : NULL;
  case OP_FILL_LIKE:
    return n->type == ir_dense_type(w, n->ops[0]->type) ? NULL : "it has another type than what it is filled to";
  case OP_CADD: return n->ops[0]->type == n->ops[1]->type && n->type == n->ops[0]->type ? NULL : "sum of two types";
  case OP_AFTER:
  case OP_MARK:
  case OP_STOP: return n->type == n->ops[0]->type ? NULL : "its value has another type";
#include "ir/leaf_cases.h"
    return n->op == OP_DATA ? verify_data(n) : NULL;
#include "ir/scalar_cases.h"
    return n->op == OP_SELECT ? verify_select(n) : NULL;
  /* The signature says all of it. */
  case OP_GLOBAL:
  case OP_TAG:
  case OP_BYTE:
  case OP_CLOSURE_ID:
  case OP_GRAPH_ID:
#include "ir/check_cases.h"
  case OP_CHECK:
  case OP_FAIL: return NULL;
  case OP_TRAP_NAN:
  case OP_TRAP_INF: return verify_trap(n);
  case OP_VJP:
  case OP_JVP:
  case OP_CHECKPOINT: return n->nops > 1 && n->ops[0]->type->kind == T_FUN ? NULL : "a derivative of no function";
  case OP_CLOSURE_CAP: return n->ops[0]->type->kind == T_FUN ? NULL : "a capture of no function";
  case OP_SLICE: return n->type == n->ops[0]->type && n->type->kind == T_ARRAY ? NULL : "a slice of another type";
  case OP_ZEROS: return n->type->kind == T_ARRAY && n->nops == ir_rank(n->type) ? NULL : "zeros of another rank";
  case OP_RESHAPE:
    return n->type->kind == T_ARRAY && n->nops == 1 + ir_rank(n->type) ? NULL : "another number of dimensions";
  case OP_ACC_AT:
  case OP_CUPDATE:
  case OP_BAG_SLICE:
  case OP_SHIFT:
  case OP_BAG_RESHAPE: return n->type->kind == T_BAG ? NULL : "no accumulator";
  case OP_BAG_GET: return n->nops && n->ops[0]->type->kind == T_BAG ? NULL : "an entry of no accumulator";
  case OP_FILL:
    return n->type->kind == T_ARRAY && n->nops == 1 + ir_rank(n->type) ? NULL : "another number of dimensions";
  case OP_TO_BAG:
    return n->type->kind == T_BAG && n->ops[0]->type->kind == T_ARRAY ? NULL : "no accumulator of an array";
  case OP_RT: return n->attr.rt ? NULL : "no primitive";
  }
  return "no operation";
}

typedef struct Verify {
  World *w;
  const char *why;
} Verify;

static void verify_graph(void *user, Graph *g) {
  Verify *v = user;
  GraphBody *b = graph_body(v->w, g);
  for (int i = 0; i < b->n && !v->why; i++) {
    const char *why = verify_node(v->w, g, b->nodes[i]);
    if (why) v->why = complain(v->w, g, b->nodes[i], why);
  }
}

const char *ir_verify(World *w, Graph *g) {
  Verify v = {w, NULL};
  ir_walk_rules(w, g, verify_graph, &v);
  return v.why;
}
