/* SPDX-License-Identifier: MIT */
/* Residuals: cutting a combined form into a forward and a backward pass.
 *
 * What the backward pass reads of the forward pass are the nodes on the border between the two: they are the residuals.
 * Not stored are constants, and cheap nodes over what is available anyway (`known` parameters: captures, the index,
 * slices; of arrays that are overwritten the lengths; and parameters that are residuals themselves): the backward pass
 * computes those again. Checks are made again with
 * them: the forward pass that made them may be dead where only the gradient is wanted. */
#include "ad/ad_internal.h"

enum { CHEAP = 12, NEVER = 1 << 20 };

typedef struct Cut {
  World *w;
  Node **nodes;
  int n, p;
  Map pos;
  const Known *known;  /* parameters */
  bool *stored;        /* parameters that are residuals */
  int *cost;           /* of computing a primal node again */
  bool *want, *border; /* what the backward pass reads, and which of it are residuals */
} Cut;

static int at(const Cut *c, const Node *x) { return (int)(uintptr_t)map_get(&c->pos, x) - 1; }
static bool is_primal(const Cut *c, const Node *x) { return x->nparams <= (uint32_t)c->p; }
static bool is_check(const Node *n) { return n->op >= OP_CHECK_INDEX && n->op <= OP_CHECK_NAT; }

static Known known_of(const Cut *c, const Node *param) { return c->known ? c->known[param->attr.i] : KNOWN_NOT; }

/* Operands that are read where n is made. The length of a parameter may be known where its elements are not. */
static int reads(const Cut *c, const Node *n) {
  bool length = n->op == OP_LEN && n->ops[0]->op == OP_PARAM && is_primal(c, n) && known_of(c, n->ops[0]);
  return length ? 0 : n->nops;
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
    else if (n->op == OP_PARAM) cost = known_of(c, n) == KNOWN_VALUE || c->stored[n->attr.i] ? 0 : NEVER;
    else if (!(op_flags[n->op] & OPF_K) && n->op != OP_GLOBAL) {
      cost = is_cheap_op(n) ? 1 : NEVER;
      for (int k = 0; k < reads(c, n) && cost < NEVER; k++) cost += c->cost[at(c, n->ops[k])];
    }
    c->cost[i] = cost > CHEAP ? NEVER : cost;
  }
}

/* From the result down to the border. A parameter on the border is stored anyway, so what is cheap over it needn't be:
 * true if there are more of those than were known. */
static bool find_border(Cut *c) {
  bool more = false;
  for (int i = 0; i < c->n; i++) c->want[i] = c->border[i] = false;
  c->want[c->n - 1] = true;
  for (int i = c->n - 1; i >= 0; i--) {
    const Node *n = c->nodes[i];
    if (!c->want[i]) continue;
    bool stored = n->op == OP_PARAM && is_primal(c, n) && c->stored[n->attr.i];
    c->border[i] = stored || (is_primal(c, n) && c->cost[i] == NEVER);
    for (int k = 0; !c->border[i] && k < reads(c, n); k++) c->want[at(c, n->ops[k])] = true;
    if (c->border[i] && n->op == OP_PARAM && !stored) more = c->stored[n->attr.i] = true;
  }
  return more;
}

static Node *rewrite(const Cut *c, Node **val, int i) {
  Node *n = c->nodes[i];
  Node **ops = NEW_ARRAY(c->w->arena, Node *, n->nops + 1);
  bool changed = false;
  for (int k = 0; k < reads(c, n); k++) {
    ops[k] = val[at(c, n->ops[k])];
    changed |= ops[k] != n->ops[k];
  }
  return changed ? ir_rebuild(c->w, n, ops, n->graphs) : n;
}

Split ad_split(World *w, Combined *c, const Known *known) {
  Cut cut = {.w = w, .p = c->p, .known = known};
  cut.n = ir_order(w->arena, ir_graph(w, c->types, c->total, c->accs, NULL), &cut.nodes);
  map_init(&cut.pos, w->arena);
  for (int i = 0; i < cut.n; i++) map_put(&cut.pos, cut.nodes[i], (void *)(uintptr_t)(i + 1));
  cut.stored = NEW_ARRAY(w->arena, bool, c->p + 1);
  cut.cost = NEW_ARRAY(w->arena, int, cut.n);
  cut.want = NEW_ARRAY(w->arena, bool, cut.n);
  cut.border = NEW_ARRAY(w->arena, bool, cut.n);
  do compute_costs(&cut);
  while (find_border(&cut));
  Split s = {.res = NEW_ARRAY(w->arena, Node *, cut.n + 1)};
  Node **val = NEW_ARRAY(w->arena, Node *, cut.n);
  for (int i = 0; i < cut.n; i++) {
    if (!cut.want[i]) continue;
    if (cut.border[i]) {
      val[i] = ir_param(w, c->total + s.nres, cut.nodes[i]->type);
      s.res[s.nres++] = cut.nodes[i];
    } else val[i] = rewrite(&cut, val, i);
  }
  s.back = val[cut.n - 1];
  return s;
}
