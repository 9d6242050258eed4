/* SPDX-License-Identifier: MIT */
/* Residuals: cutting a combined form into a forward and a backward pass.
 *
 * What the backward pass reads of the forward pass are the nodes on the border between the two: they are the residuals.
 * Not stored are constants, and cheap nodes over what is available anyway (`known` parameters: captures, the index,
 * slices; of arrays that are overwritten the lengths; and parameters that are residuals themselves): the backward pass
 * computes those again. Checks that the forward pass has passed are not made again. */
#include "ad/ad_internal.h"

enum { CHEAP = 12 };

typedef struct Cut {
  World *w;
  Node **nodes;
  int n, p;
  Map pos;
  const uint8_t *known; /* parameters */
  bool *stored;        /* parameters that are residuals */
  int *cost;           /* of computing a primal node again; -1 unknown, INT_MAX never */
  bool *border;
} Cut;
enum { NEVER = 1 << 20 };

static int at(const Cut *c, const Node *x) { return (int)(uintptr_t)map_get(&c->pos, x) - 1; }
static bool is_primal(const Cut *c, const Node *x) { return x->nparams <= (uint32_t)c->p; }
static bool is_check(const Node *n) { return n->op >= OP_CHECK_INDEX && n->op <= OP_CHECK_NAT; }

/* The length of an array which may have other elements by the time of the backward pass. */
static bool is_known_length(const Cut *c, const Node *n) {
  return n->op == OP_LEN && n->ops[0]->op == OP_PARAM && is_primal(c, n) && c->known[n->ops[0]->attr.i];
}

static bool is_cheap_op(const Node *n) {
  if (n->op >= OP_IADD && n->op <= OP_ILE && n->op != OP_IPOW) return true;
  if (n->op >= OP_FADD && n->op <= OP_FNEG) return true;
  if (n->op >= OP_FEQ && n->op <= OP_SIGN) return true;
  switch (n->op) {
  case OP_TAG: case OP_LEN: case OP_GET: case OP_UNINJ: case OP_CLOSURE_CAP: case OP_CLOSURE_ID: case OP_TUPLE: case OP_SELECT:
  case OP_NOT: case OP_AND: case OP_OR: case OP_BEQ: case OP_FLOAT_OF_INT: case OP_INT_OF_FLOAT: case OP_IS_NAN:
    return true;
  case OP_INDEX: return n->type->kind != T_ARRAY;
  case OP_CADD: return n->type->kind == T_FLOAT;
  default: return is_check(n);
  }
}

static void compute_costs(Cut *c) {
  for (int i = 0; i < c->n; i++) {
    const Node *n = c->nodes[i];
    int cost = 0;
    if (!is_primal(c, n)) cost = NEVER;
    else if (is_known_length(c, n)) cost = 1;
    else if (n->op == OP_PARAM) cost = c->known[n->attr.i] == KNOWN_VALUE || c->stored[n->attr.i] ? 0 : NEVER;
    else if (!(op_flags[n->op] & OPF_K) && n->op != OP_GLOBAL) {
      cost = is_cheap_op(n) ? 1 : NEVER;
      for (int k = 0; k < n->nops && cost < NEVER; k++) cost += c->cost[at(c, n->ops[k])];
    }
    c->cost[i] = cost > CHEAP ? NEVER : cost;
  }
}

static void need(Cut *c, const Node *x) {
  if (is_primal(c, x) && (c->cost[at(c, x)] == NEVER || (x->op == OP_PARAM && c->stored[x->attr.i]))) c->border[at(c, x)] = true;
}

/* Parameters read by a node that is computed again must be there: stored ones go to the border. */
static void need_leaves(Cut *c, const Node *x) {
  if (c->border[at(c, x)] || is_known_length(c, x)) return;
  if (x->op == OP_PARAM) need(c, x);
  for (int i = 0; i < x->nops; i++) need_leaves(c, x->ops[i]);
}

static void find_border(Cut *c, Node **back, int nback) {
  for (int i = 0; i < c->n; i++) c->border[i] = false;
  for (int i = 0; i < c->n; i++) {
    const Node *n = c->nodes[i];
    if (is_primal(c, n)) continue;
    for (int k = 0; k < n->nops; k++) need(c, n->ops[k]);
  }
  for (int i = 0; i < nback; i++) need(c, back[i]);
}

/* A parameter on the border is stored anyway, so what is cheap over it needn't be. */
static bool store_params(Cut *c) {
  bool more = false;
  for (int i = 0; i < c->n; i++) {
    const Node *n = c->nodes[i];
    if (!c->border[i] || n->op != OP_PARAM || c->stored[n->attr.i]) continue;
    c->stored[n->attr.i] = true;
    more = true;
  }
  return more;
}

static Node *rewrite(Cut *c, Node **val, int i) {
  Node *n = c->nodes[i];
  if (n->op == OP_PARAM || !n->nops) return n;
  if (is_check(n) && is_primal(c, n)) return val[at(c, n->ops[0])];
  Node **ops = NEW_ARRAY(c->w->arena, Node *, n->nops);
  bool changed = false;
  for (int k = 0; k < n->nops; k++) {
    ops[k] = val[at(c, n->ops[k])];
    changed |= ops[k] != n->ops[k];
  }
  return changed ? ir_rebuild(c->w, n, ops, n->graphs) : n;
}

/* Which nodes the backward pass has to compute. */
static bool *wanted(Cut *c, Node **back, int nback) {
  bool *want = NEW_ARRAY(c->w->arena, bool, c->n);
  for (int i = 0; i < nback; i++) want[at(c, back[i])] = true;
  for (int i = c->n - 1; i >= 0; i--)
    for (int k = 0; want[i] && !c->border[i] && k < c->nodes[i]->nops; k++) want[at(c, c->nodes[i]->ops[k])] = true;
  return want;
}

Split ad_split(World *w, Combined *c, Node **back, const uint8_t *known) {
  int total = c->p + 1 + c->nacc;
  Node **roots = NEW_ARRAY(w->arena, Node *, c->nacc + 1); /* one more, so that the tuple can't collapse */
  for (int i = 0; i < c->nacc; i++) roots[i] = back[i];
  roots[c->nacc] = ir_int(w, 0);
  Node *all = ad_tuple(w, roots, c->nacc + 1);
  IrType **ts = NEW_ARRAY(w->arena, IrType *, total);
  for (int i = 0; i < c->p; i++) ts[i] = c->g->params[i];
  ts[c->p] = ad_cotangent(w, c->g->result->type);
  for (int i = 0; i < c->nacc; i++) ts[c->p + 1 + i] = back[i]->type;
  Cut cut = {.w = w, .p = c->p, .known = known};
  cut.n = ir_order(w->arena, ir_graph(w, ts, total, all, NULL), &cut.nodes);
  map_init(&cut.pos, w->arena);
  for (int i = 0; i < cut.n; i++) map_put(&cut.pos, cut.nodes[i], (void *)(uintptr_t)(i + 1));
  cut.stored = NEW_ARRAY(w->arena, bool, c->p + 1);
  cut.cost = NEW_ARRAY(w->arena, int, cut.n);
  cut.border = NEW_ARRAY(w->arena, bool, cut.n);
  do {
    compute_costs(&cut);
    find_border(&cut, back, c->nacc);
  } while (store_params(&cut));
  for (int i = 0; i < cut.n; i++) { /* stored parameters that only recomputed nodes read */
    const Node *n = cut.nodes[i];
    for (int k = 0; !is_primal(&cut, n) && k < n->nops; k++)
      if (is_primal(&cut, n->ops[k])) need_leaves(&cut, n->ops[k]);
  }
  for (int i = 0; i < c->nacc; i++)
    if (is_primal(&cut, back[i])) need_leaves(&cut, back[i]);
  bool *want = wanted(&cut, back, c->nacc);
  Split s = {.back = NEW_ARRAY(w->arena, Node *, c->nacc + 1), .res = NEW_ARRAY(w->arena, Node *, cut.n + 1)};
  Node **val = NEW_ARRAY(w->arena, Node *, cut.n);
  for (int i = 0; i < cut.n; i++) {
    if (!want[i]) continue;
    if (cut.border[i]) {
      val[i] = ir_param(w, total + s.nres, cut.nodes[i]->type);
      s.res[s.nres++] = cut.nodes[i];
    } else val[i] = rewrite(&cut, val, i);
  }
  for (int i = 0; i < c->nacc; i++) s.back[i] = val[at(&cut, back[i])];
  return s;
}
