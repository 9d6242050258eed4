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
/* by * i + rest, where i is the loop's index and rest, over captures alone, is 0 if NULL. */
typedef struct Affine { int64_t by; Node *rest; } Affine;

static bool is_index(const Node *a) { return a->op == OP_PARAM && a->attr.i == 0; }

static bool find_affine(World *w, Node *a, int own, int depth, Affine *out) {
  *out = (Affine){is_index(a), NULL};
  if (out->by) return true;
  if (reads_captures_only(a, own, 0)) {
    out->rest = a;
    return true;
  }
  if (a->op == OP_IMUL && is_index(a->ops[0]) && a->ops[1]->op == OP_INT) {
    out->by = a->ops[1]->attr.i;
    return true;
  }
  Affine x, y;
  if (a->op != OP_IADD || depth > 4) return false;
  if (!find_affine(w, a->ops[0], own, depth + 1, &x) || !find_affine(w, a->ops[1], own, depth + 1, &y)) return false;
  bool wraps = __builtin_add_overflow(x.by, y.by, &out->by);
  out->rest = !x.rest ? y.rest : !y.rest ? x.rest : ir_op2(w, OP_IADD, x.rest, y.rest);
  return !wraps;
}

/* A condition start + i < end, or start < end - i, or the like: true for end - start iterations. */
typedef struct Bound {
  Node *start, *end;             /* over captures alone; NULL is 0 */
  bool inclusive, exact;         /* <=; <> */
} Bound;

static bool find_sides(World *w, Node *low, Node *high, int own, Bound *out) {
  Affine a, b;
  if (!find_affine(w, low, own, 0, &a) || !find_affine(w, high, own, 0, &b)) return false;
  out->start = a.rest;
  out->end = b.rest;
  return (a.by == 1 && b.by == 0) || (a.by == 0 && b.by == -1 && !out->exact);
}

static bool find_bound(World *w, const Node *c, int own, Bound *out) {
  bool negated = c->op == OP_NOT;
  if (negated) c = c->ops[0];
  if (c->op == OP_IEQ ? !negated : c->op != OP_ILT && c->op != OP_ILE && c->op != OP_INE) return false;
  if (c->op == OP_INE && negated) return false;
  out->exact = c->op == OP_IEQ || c->op == OP_INE;
  bool swap = negated && !out->exact; /* not (a < b) is b <= a */
  out->inclusive = !out->exact && (c->op == OP_ILE) != swap;
  if (find_sides(w, c->ops[swap], c->ops[!swap], own, out)) return true;
  return out->exact && find_sides(w, c->ops[1], c->ops[0], own, out);
}

static bool is_natural(const Node *n) { return n->op == OP_LEN || (n->op == OP_INT && n->attr.i >= 0); }

Node *ir_trip_count(World *w, const LoopInfo *l, Node **ops, Graph *cond) {
  Bound b;
  int own = 1 + l->ncarried, before = l->ncarried + l->naccs + l->nsliced;
  Node *depth = NULL, *c = cond->result;
  if (c->op == OP_AFTER && c->ops[1]->op == OP_CHECK_DEPTH && is_index(c->ops[1]->ops[0])) {
    depth = c->ops[1];
    c = c->ops[0];
  }
  if (l->nsliced || !find_bound(w, c, own, &b)) return NULL;
  Node **outer = NEW_ARRAY(w->arena, Node *, cond->nparams + 1);
  for (int k = 0; k < own; k++) outer[k] = ir_zero(w, cond->params[k]);
  for (int k = own; k < cond->nparams; k++) outer[k] = ops[before + k - own];
  Node *end = b.end ? ir_substitute(w, b.end, outer, cond->nparams, 0) : ir_int(w, 0);
  Node *start = b.start ? ir_substitute(w, b.start, outer, cond->nparams, 0) : ir_int(w, 0);
  if (b.exact && !(is_natural(end) && start->op == OP_INT && start->attr.i <= 0)) return NULL;
  Node *n = ir_op2(w, OP_ISUB, end, start);
  if (b.inclusive) n = ir_op2(w, OP_IADD, n, ir_int(w, 1));
  if (is_natural(n)) return n; /* of an array that exists: not too many */
  if (depth) n = ir_check(w, OP_CHECK_DEPTH, n, depth->ops[1], NULL, depth->site);
  return ir_op2(w, OP_IMAX, n, ir_int(w, 0));
}
