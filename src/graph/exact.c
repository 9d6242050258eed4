/* SPDX-License-Identifier: MIT */
/* Which values are bitwise reproducible, and which values decide something.
 *
 * A sum in free order, or one that differentiation makes, may be contracted with a product that it reads
 * (opt/contract.c); whether it is depends on what else reads the product. So a number that a second stage
 * rematerialises may differ in its last bit from that of the first stage. This is harmless in a sum. It isn't in a
 * decision: the second stage would take another arm than the first, and read what that arm never stored. Decisions
 * are selectors of branches, indices, sizes, trip counts and checked values. */
#include "ir/world.h"
#include "graph/graph.h"

/* Float arithmetic: what comes of it may differ in the last bit from place to place. */
bool ir_rounds(const Node *n) { return n->type->kind == T_FLOAT && op_flags[n->op] & OPF_R; }

static bool is_whole(const Node *x) { return x->type->kind == T_INT || x->type->kind == T_BOOL; }

/* Its value is that of its operands, rearranged or calculated: it decides nothing itself. */
static bool is_plain(const Node *n) {
  if (op_flags[n->op] & OPF_V) return false;
  if (op_flags[n->op] & OPF_S) return true;
  return n->op == OP_TUPLE || n->op == OP_GET || n->op == OP_STOP || n->op == OP_AFTER || n->op == OP_CADD ||
         ir_is_trap(n);
}

/* Which parameters of g are decisive, if its result is (`whole`) or isn't. */
static const bool *decisive_params(World *w, Graph *g, bool whole) {
  void **known = ir_memo(w, g, "decisive", &whole, sizeof whole);
  if (*known) return *known;
  Node **nodes;
  Map needed;
  int n = ir_order(w->arena, g, &nodes), most = 0;
  for (int i = 0; i < n; i++)
    if (nodes[i]->nops > most) most = nodes[i]->nops;
  bool *params = NEW_ARRAY(w->arena, bool, g->nparams + 1), *operands = NEW_ARRAY(w->arena, bool, most + 1);
  map_init(&needed, w->arena);
  if (whole) map_put(&needed, g->result, g->result);
  for (int i = n - 1; i >= 0; i--) {
    Node *x = nodes[i];
    bool need = map_get(&needed, x) != NULL;
    if (x->op == OP_PARAM && need) params[x->attr.i] = true;
    ir_decisive(w, x, need, operands);
    for (int k = 0; k < x->nops; k++)
      if (operands[k]) map_put(&needed, x->ops[k], x);
  }
  *ir_memo(w, g, "decisive", &whole, sizeof whole) = params;
  return params;
}

static void of_switch(World *w, const Node *n, bool need, bool *out) {
  out[0] = true;
  for (int t = 0; t < n->ngraphs; t++) {
    const bool *params = decisive_params(w, n->graphs[t], need);
    for (int k = 1; k < n->nops; k++) out[k] |= params[ir_inner_param(n, t, k)];
  }
}

/* A carried value that is decisive makes the next one so. */
static void of_loop(World *w, const Node *n, bool need, bool *out) {
  const LoopInfo *l = n->loop;
  int first = loop_first(l);
  const bool *test = l->has_cond ? decisive_params(w, n->graphs[1], true) : NULL, *body = NULL;
  for (bool more = true; more; need = true) {
    body = decisive_params(w, n->graphs[0], need);
    more = false;
    for (int k = 0; k < l->ncarried; k++) more |= !need && (body[1 + k] || (test && test[1 + k]));
  }
  if (first) out[0] = true;
  for (int k = first; k < n->nops; k++) {
    int asked = ir_inner_param(n, 1, k);
    out[k] = body[ir_inner_param(n, 0, k)] || (test && asked >= 0 && test[asked]);
  }
}

static void of_operands(const Node *n, bool need, bool *out) {
  for (int k = 0; k < n->nops; k++) {
    IrKind kind = n->ops[k]->type->kind;
    bool number = is_whole(n->ops[k]) || kind == T_FLOAT || kind == T_TUPLE;
    out[k] = is_plain(n) ? need && number && (k == 0 || n->op != OP_AFTER) : is_whole(n->ops[k]);
  }
}

void ir_decisive(World *w, const Node *n, bool need, bool *out) {
  for (int k = 0; k < n->nops; k++) out[k] = false;
  switch (ir_shape(n)) {
  case IR_BRANCH: of_switch(w, n, need, out); return;
  case IR_LOOP: of_loop(w, n, need, out); return;
  case IR_STRAIGHT:
  case IR_CALL: of_operands(n, need, out); return;
  }
}

/* ---- Sizes ---- */
bool ir_is_exact(World *w, const Graph *body, Node *x) {
  Node **nodes;
  int n = ir_order(w->arena, ir_graph(w, body->params, body->nparams, x, NULL), &nodes);
  for (int i = 0; i < n; i++) {
    const Node *y = nodes[i];
    bool given = (y->op == OP_PARAM && y->type->kind != T_FLOAT) || y->op == OP_GLOBAL || ir_is_constant(y);
    bool part = y->op == OP_INDEX || y->op == OP_SLICE || y->op == OP_AFTER || y->op == OP_GET;
    if (!given && !part && !((op_flags[y->op] & OPF_S) && is_whole(y) && y->op != OP_INT_OF_FLOAT)) return false;
  }
  return true;
}

bool ir_sizes_exact(World *w, const LoopInfo *l, const Graph *body) {
  for (int k = 0; k < l->nstacked; k++) {
    Node *row = ir_get(w, body->result, loop_slots(l) + k);
    for (int d = 0; row->type->kind == T_ARRAY && d < ir_rank(row->type); d++)
      if (!ir_is_exact(w, body, ir_len(w, row, d))) return false;
  }
  return true;
}
