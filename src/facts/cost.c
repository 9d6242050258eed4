/* SPDX-License-Identifier: MIT */
/* What a graph costs, found by evaluating it over what is known of values.
 *
 *   loop i < n: body           Σ over i of the body's cost, once: polynomials in n, and in the indices of outer loops
 *   loop while c: body         s1 times the body's cost: how often is a symbol of its own, the same for the loop that
 *                              goes the same steps backwards
 *   switch c … (arms)          the cost of the arm that c chooses; where c isn't known, the greater one (at_most)
 *   call f, recursive          what the call costs where its arguments decide how far it goes; else a note
 *
 * With a given argument (CostStudy.concrete) loops are followed iteration by iteration, on the numbers of the argument,
 * as long as LIMIT_COST_NODES allows; nothing else of the program runs.
 *
 * Operations are: an arithmetic operation, function or comparison of floats, a float chosen, an element of an array
 * read or written. A product and sum in one count as two. Work on ints and control isn't counted. Each belongs to the
 * line of its node; nodes without a place to the line of the node that uses them. */
#include "facts/cost_internal.h"
#include <string.h>

/* ---- Other nodes ------------------------------------------------------------------------------------------------- */
static CostValue *eval_closure(CostStudy *s, const Node *n, CostValue **ops) {
  CostValue *v = NEW(s->a, CostValue);
  *v = (CostValue){.kind = COST_CLOSURE, .node = n, .n = n->nops, .parts = ops, .line = s->line};
  return v;
}

static CostValue *get(CostStudy *s, const Node *n, const CostValue *v) {
  return v->kind == COST_TUPLE && n->attr.i < v->n ? v->parts[n->attr.i] : cost_typed_unknown(s, n->type);
}

/* Such data is laid out when the program is compiled, and never made. */
static bool is_constant(const Node *x, int depth) {
  if (op_flags[x->op] & OPF_K) return x->op != OP_DATA || !x->nops;
  if ((x->op != OP_TUPLE && x->op != OP_INJ) || depth == LIMIT_CUT_DEPTH) return false;
  for (int k = 0; k < x->nops; k++)
    if (!is_constant(x->ops[k], depth + 1)) return false;
  return true;
}

/* Constructors and environments, told apart by constructor or graph. */
static CostValue *inject(CostStudy *s, const Node *n, CostValue **ops) {
  int tag = n->ngraphs ? (int)n->graphs[0]->identity : (int)n->attr.i, slots = cost_slots(n->ops[0]->type);
  CostValue *v = cost_choice(s, n->type, tag, ops[0]);
  v->line = s->line;
  v->given = is_constant(n, 0);
  if (slots && !v->given)
    cost_add_to(s, s->cost, s->line, poly_constant(s->a, 0), poly_constant(s->a, 8.0 * slots + 16));
  return v;
}

static CostValue *count_scalar(CostStudy *s, const Node *n, CostValue **ops) {
  bool floats = strchr(op_signatures[n->op], 'f') != NULL || n->type->kind == T_FLOAT;
  if (floats) cost_add_ops(s, n->op == OP_FMA ? 2 : 1);
  return cost_scalar(s, n, ops);
}

static CostValue *accumulate(CostStudy *s, CostValue **ops) {
  if (ops[0]->kind != COST_ARRAY) return ops[1]->kind == COST_ARRAY ? ops[1] : ops[0];
  if (ops[1]->kind == COST_ARRAY) cost_add_many(s, 3, 0, cost_count_of(s, ops[0]));
  return ops[0];
}

static CostValue *eval_cadd(CostStudy *s, const Node *n, CostValue **ops) {
  if (n->type->kind != T_FLOAT) return accumulate(s, ops);
  cost_add_ops(s, 1);
  return ops[0]->kind == COST_REAL && ops[1]->kind == COST_REAL ? cost_real(s, ops[0]->f + ops[1]->f) : cost_unknown(s);
}

static CostValue *eval_node(CostStudy *s, const Node *n, CostValue **ops) {
  if (n->type->kind == T_TOKEN) return cost_unknown(s);
  switch ((Op)n->op) {
  case OP_INT:
  case OP_BOOL: return cost_int(s, n->attr.i);
  case OP_FLOAT: return cost_real(s, n->attr.f);
  case OP_STRING: return cost_text(s, n->attr.text, (int64_t)sym_len(n->attr.text));
  case OP_DATA: return cost_constant_array(s, n, ops);
  case OP_GLOBAL: return s->global(s->user, n->attr.global);
  case OP_ZERO: return cost_zero(s, n->type);
  case OP_TUPLE: return cost_tuple(s, ops, n->nops);
  case OP_GET: return get(s, n, ops[0]);
  case OP_INJ: return inject(s, n, ops);
  case OP_TAG: return ops[0]->kind == COST_CHOICE ? cost_int(s, ops[0]->i) : cost_unknown(s);
  case OP_UNINJ: return ops[0]->kind == COST_CHOICE ? ops[0]->parts[0] : cost_typed_unknown(s, n->type);
  case OP_CLOSURE: return eval_closure(s, n, ops);
  case OP_CLOSURE_ID:
    return ops[0]->kind == COST_CLOSURE ? cost_int(s, (int64_t)ops[0]->node->graphs[0]->identity) : cost_unknown(s);
  case OP_GRAPH_ID: return cost_int(s, (int64_t)n->graphs[0]->identity);
  case OP_CLOSURE_CAP:
    return ops[0]->kind == COST_CLOSURE && n->attr.i < ops[0]->n ? ops[0]->parts[n->attr.i]
                                                                 : cost_typed_unknown(s, n->type);
  case OP_AFTER:
  case OP_STOP:
  case OP_MARK:
  case OP_TO_BAG: return ops[0];
  case OP_SWITCH: return cost_switch(s, n, ops);
  case OP_LOOP: return cost_loop(s, n, ops);
  case OP_APPLY:
  case OP_CHECKPOINT: return cost_apply_closure(s, n->type, ops[0], ops + 1, n->nops - 1);
  case OP_CALL: return cost_call(s, n, ops);
  case OP_RT: return cost_rt(s, n, ops);
  case OP_LEN: return cost_length(s, n, ops[0]);
  case OP_INDEX:
    if (n->type->kind != T_ARRAY) cost_add_ops(s, cost_slots(n->type));
    return cost_element(s, n->type, ops[0], ops + 1, n->nops - 1);
  case OP_NATIVE: return cost_int(s, false);
  case OP_BYTE: cost_add_ops(s, 1); return cost_unknown(s);
  case OP_SLICE: return cost_slice(s, n, ops);
  case OP_UPDATE: return cost_update(s, n, ops);
  case OP_ARRAY: {
    CostValue *v =
        cost_array_of(s, n->type, poly_constant(s->a, n->nops), ops, n->nops, n->nops ? ops[0] : cost_unknown(s));
    return cost_made(s, v, n->nops && n->ops[0]->type->kind == T_ARRAY ? 2 : 1); /* rows are copied */
  }
  case OP_ZEROS: return cost_zeros(s, n, ops);
  case OP_RESHAPE: return cost_reshape(s, n, ops);
  case OP_FILL: return cost_fill(s, n, ops);
  case OP_FILL_LIKE: return cost_fill_like(s, n, ops);
  case OP_CADD: return eval_cadd(s, n, ops);
  case OP_ACC_AT: cost_add_ops(s, cost_slots(n->ops[n->nops - 1]->type)); return ops[0];
  case OP_BAG_GET: cost_add_ops(s, cost_slots(n->type)); return cost_typed_unknown(s, n->type);
  case OP_CUPDATE: cost_add_ops(s, cost_slots(n->ops[n->nops - 1]->type)); return ops[0];
  case OP_SHIFT: return ops[0];
  default: break;
  }
  if (op_flags[n->op] & OPF_V) return ops[0];
  if (op_flags[n->op] & OPF_S) return count_scalar(s, n, ops);
  return cost_typed_unknown(s, n->type);
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */
CostValue *cost_graph(CostStudy *s, Graph *g, CostValue **args) {
  const Body *b = cost_body_of(s, g);
  int around = s->line;
  if (s->depth > LIMIT_CUT_DEPTH + LIMIT_COST_CALLS) {
    cost_note(s, "what is nested deeper");
    return cost_typed_unknown(s, g->result->type);
  }
  heap_look(s->w->arena->heap);
  s->depth++;
  s->left -= b->n;
  CostValue **vals = NEW_ARRAY(s->a, CostValue *, b->n + 1);
  const int *operand = b->operands;
  for (int i = 0; i < b->n; i++) {
    const Node *x = b->nodes[i];
    CostValue **ops = NEW_ARRAY(s->a, CostValue *, x->nops + 1);
    for (int k = 0; k < x->nops; k++) ops[k] = vals[*operand++];
    s->line = b->lines[i] ? b->lines[i] : around;
    if (x->op == OP_PARAM) vals[i] = args[x->attr.i];
    else if (!b->needed[i]) vals[i] = cost_unknown(s);
    else vals[i] = b->same[i] < i && b->needed[b->same[i]] ? vals[b->same[i]] : eval_node(s, x, ops);
    if (x->op != OP_PARAM && !vals[i]->line) vals[i]->line = s->line;
  }
  s->line = around;
  s->depth--;
  return vals[b->n - 1];
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
void cost_open(CostStudy *s, World *w, Arena *a) {
  *s = (CostStudy){.w = w, .a = a, .left = LIMIT_COST_NODES};
  map_init(&s->steps, a);
  map_init(&s->bodies, a);
}

CostValue *cost_eval(CostStudy *s, Graph *g, CostValue **args, Cost *out) {
  s->cost = out;
  s->left = LIMIT_COST_NODES;
  s->program++;
  return cost_graph(s, g, args);
}

CostValue *cost_apply(CostStudy *s, CostValue *f, CostValue *x, Cost *out) {
  s->cost = out;
  return cost_apply_closure(s, f->kind == COST_CLOSURE ? f->node->graphs[0]->result->type : ir_type(s->w, T_UNIT), f,
                            &x, 1);
}
