/* SPDX-License-Identifier: MIT */
/* What a loop's index tells: how often a loop runs whose condition merely counts, and which checks hold by construction.
 * Both compare what is inside, over captures alone, with what is outside. */
#include "ir/ir_internal.h"

/* Does m read only captures (parameters from `own` on)? */
static bool reads_captures_only(const Node *m, int own, int depth) {
  if (m->op == OP_PARAM) return m->attr.i >= own;
  if (depth > 4) return false;
  for (int i = 0; i < m->nops; i++)
    if (!reads_captures_only(m->ops[i], own, depth + 1)) return false;
  return true;
}

/* ---- Checks ---- */
Graph *ir_without_proved_checks(World *w, Graph *body, Node *n, Node **caps, int own) {
  GraphBody *b = graph_body(w, body);
  Map proved;
  map_init(&proved, w->arena);
  Node **outer = NULL;
  for (int i = 0; i < b->n; i++) {
    Node *c = b->nodes[i];
    if (c->op != OP_CHECK_INDEX || c->ops[0]->op != OP_PARAM || c->ops[0]->attr.i != 0) continue;
    if (!reads_captures_only(c->ops[1], own, 0)) continue;
    if (!outer) {
      outer = NEW_ARRAY(w->arena, Node *, body->nparams + 1);
      for (int k = 0; k < own; k++) outer[k] = ir_zero(w, body->params[k]);
      for (int k = own; k < body->nparams; k++) outer[k] = caps[k - own];
    }
    if (ir_substitute(w, c->ops[1], outer, body->nparams, 0) == n) map_put(&proved, c, c->ops[0]);
  }
  if (!proved.count) return body;
  Node **args = NEW_ARRAY(w->arena, Node *, body->nparams + 1);
  for (int k = 0; k < body->nparams; k++) args[k] = ir_param(w, k, body->params[k]);
  return ir_graph(w, body->params, body->nparams, ir_instantiate_over(w, body, args, 0, &proved), body->name);
}

/* ---- Conditions that count ---- */
/* What a condition i + x < b, or the like, reads of the captures alone; n = b - x iterations. */
typedef struct Bound { Node *x, *b; bool inclusive, exact /* the condition is i + x <> b */; } Bound;

/* a is i + x, where x reads captures only; *x NULL: nothing is added. */
static bool is_index_plus(const Node *a, int own, Node **x) {
  *x = NULL;
  if (a->op == OP_PARAM) return a->attr.i == 0;
  if (a->op != OP_IADD) return false;
  for (int k = 0; k < 2; k++) {
    *x = a->ops[1 - k];
    if (a->ops[k]->op == OP_PARAM && a->ops[k]->attr.i == 0 && reads_captures_only(*x, own, 0)) return true;
  }
  return false;
}

static bool find_bound(const Node *c, int own, Bound *out) {
  bool negated = c->op == OP_NOT;
  if (negated) c = c->ops[0];
  if (c->op == OP_IEQ ? !negated : c->op != OP_ILT && c->op != OP_ILE && c->op != OP_INE) return false;
  if (c->op == OP_INE && negated) return false;
  out->exact = c->op == OP_IEQ || c->op == OP_INE;
  bool swap = negated && !out->exact; /* not (a < b) is b <= a */
  out->inclusive = !out->exact && (c->op == OP_ILE) != swap;
  for (int k = 0; k < (out->exact ? 2 : 1); k++) {
    Node *a = c->ops[swap ? 1 - k : k];
    out->b = c->ops[swap ? k : 1 - k];
    if (is_index_plus(a, own, &out->x) && reads_captures_only(out->b, own, 0)) return true;
  }
  return false;
}

static bool is_natural(const Node *n) { return n->op == OP_LEN || (n->op == OP_INT && n->attr.i >= 0); }

Node *ir_trip_count(World *w, const LoopInfo *l, Node **ops, Graph *cond) {
  Bound b;
  int own = 1 + l->ncarried, before = l->ncarried + l->naccs + l->nsliced;
  Node *depth = NULL, *c = cond->result;
  if (c->op == OP_AFTER && c->ops[1]->op == OP_CHECK_DEPTH && c->ops[1]->ops[0]->op == OP_PARAM && c->ops[1]->ops[0]->attr.i == 0) {
    depth = c->ops[1];
    c = c->ops[0];
  }
  if (l->nsliced || !find_bound(c, own, &b)) return NULL;
  Node **outer = NEW_ARRAY(w->arena, Node *, cond->nparams + 1);
  for (int k = 0; k < own; k++) outer[k] = ir_zero(w, cond->params[k]);
  for (int k = own; k < cond->nparams; k++) outer[k] = ops[before + k - own];
  Node *end = ir_substitute(w, b.b, outer, cond->nparams, 0);
  Node *start = b.x ? ir_substitute(w, b.x, outer, cond->nparams, 0) : ir_int(w, 0);
  if (b.exact && !(is_natural(end) && start->op == OP_INT && start->attr.i <= 0)) return NULL;
  Node *n = ir_op2(w, OP_ISUB, end, start);
  if (b.inclusive) n = ir_op2(w, OP_IADD, n, ir_int(w, 1));
  if (is_natural(n)) return n; /* of an array that exists: not too many */
  if (depth) n = ir_check(w, OP_CHECK_DEPTH, n, depth->ops[1], NULL, depth->site);
  return ir_op2(w, OP_IMAX, n, ir_int(w, 0));
}
