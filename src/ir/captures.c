/* SPDX-License-Identifier: MIT */
/* Capture plans (lambda lifting): nested graphs get what they need from outside as their last parameters.
 *
 * A plan brings the captures of a node into normal form: what is constant or a known function or a tuple moves inside,
 * so that folding and beta-reduction go on there; duplicates and unused ones are dropped. Of an array that serves for
 * its lengths only these are captured:  [ … length a … ] over a  →  [ … n … ] over n = length a. Where its elements are
 * read too, they are taken from it there: so what is equal outside is equal inside. Of a tuple of which not all is read
 * its parts are captured. */
#include "ir/ir_internal.h"

/* ---- Uses -------------------------------------------------------------------------------------------------------- */
/* How n uses its operand x. */
static Use use_by(const Node *n, const Node *x) {
  if (n->op == OP_LEN && x->type->kind == T_ARRAY) return FOR_SHAPE;
  return n->op == OP_GET && x->type->kind == T_TUPLE ? IN_PARTS : USED;
}

static void add_use(Use *to, Use use) {
  if (use > *to) *to = use;
}

Use *ir_param_uses(World *w, Graph *g) {
  Use *use = NEW_ARRAY(w->arena, Use, g->nparams + 1);
  GraphBody *b = graph_body(w, g);
  if (g->result->op == OP_PARAM) use[g->result->attr.i] = USED;
  for (int i = 0; i < b->n; i++)
    for (int k = 0; k < b->nodes[i]->nops; k++) {
      const Node *x = b->nodes[i]->ops[k];
      if (x->op == OP_PARAM) add_use(&use[x->attr.i], use_by(b->nodes[i], x));
    }
  return use;
}

static bool is_part(const Node *x, int param) {
  return x->op == OP_GET && x->ops[0]->op == OP_PARAM && x->ops[0]->attr.i == param;
}

void ir_part_uses(World *w, Graph *g, int param, Use *parts) {
  GraphBody *b = graph_body(w, g);
  if (is_part(g->result, param)) parts[g->result->attr.i] = USED;
  for (int i = 0; i < b->n; i++)
    for (int k = 0; k < b->nodes[i]->nops; k++) {
      const Node *x = b->nodes[i]->ops[k];
      if (!is_part(x, param)) continue;
      Use use = use_by(b->nodes[i], x);
      add_use(&parts[x->attr.i], use == IN_PARTS ? USED : use);
    }
}

/* ---- Plans ------------------------------------------------------------------------------------------------------- */
static Node *capture(World *w, CapturePlan *p, int own, Node *x, int depth);

static Node **capture_all(World *w, CapturePlan *p, int own, Node *x, int depth) {
  Node **ops = NEW_ARRAY(w->arena, Node *, x->nops + 1);
  for (int i = 0; i < x->nops; i++) ops[i] = capture(w, p, own, x->ops[i], depth + 1);
  return ops;
}

/* Does x move inside? So does an accumulator of zeros into the arms of a branch: some add nothing that isn't a whole
 * array already. */
static bool moves(const Node *x, int own, int depth) {
  if (x->op == OP_TUPLE || x->op == OP_TO_BAG || ir_is_known_function(x)) return true;
  return x->op == OP_ZEROS && depth > 0 && own == 0;
}

/* What stands for outer node x inside. */
static Node *capture(World *w, CapturePlan *p, int own, Node *x, int depth) {
  if (ir_is_constant(x) || x->op == OP_GLOBAL) return x;
  for (int i = 0; x->op == OP_LEN && i < p->narrays; i++)
    if (p->arrays[i] == x->ops[0]) return ir_len(w, capture(w, p, own, x->ops[0], depth), (int)x->attr.i);
  if (moves(x, own, depth)) {
    if (depth < LIMIT_CAPTURE_DEPTH) return ir_rebuild(w, x, capture_all(w, p, own, x, depth), x->graphs);
    limit_reached(w->arena, AT_CAPTURE_DEPTH);
  }
  for (int i = 0; i < p->caps.len; i++)
    if (p->caps.data[i] == x) return ir_param(w, own + i, x->type);
  vec_push(w->arena, p->caps, x);
  return ir_param(w, own + p->caps.len - 1, x->type);
}

static Node *capture_parts(World *w, CapturePlan *p, int own, Node *x, const Use *parts) {
  int whole = 0, n = x->type->n;
  for (int k = 0; k < n; k++) whole += parts[k] == USED;
  if (whole == n) return capture(w, p, own, x, 0);
  Node **xs = NEW_ARRAY(w->arena, Node *, n + 1);
  for (int k = 0; k < n; k++) xs[k] = ir_capture_for(w, p, own, ir_get(w, x, k), parts[k], NULL);
  return ir_tuple(w, x->type, xs);
}

Node *ir_capture_for(World *w, CapturePlan *p, int own, Node *x, Use use, const Use *parts) {
  if (use == UNUSED) return ir_zero(w, x->type);
  if (use == USED) return capture(w, p, own, x, 0);
  if (use == IN_PARTS) return capture_parts(w, p, own, x, parts);
  int rank = ir_rank(x->type);
  Node **dims = NEW_ARRAY(w->arena, Node *, rank);
  for (int k = 0; k < rank; k++) dims[k] = capture(w, p, own, ir_len(w, x, k), 0);
  return ir_zeros(w, x->type, dims, x->site);
}

void ir_plan_lengths(World *w, CapturePlan *p, Node **caps, const Use *use, int n) {
  p->arrays = NEW_ARRAY(w->arena, Node *, n + 1);
  for (int i = 0; i < n; i++)
    if (use[i] == USED && caps[i]->type->kind == T_ARRAY) p->arrays[p->narrays++] = caps[i];
}

CapturePlan ir_plan_captures(World *w, Graph **graphs, int ngraphs, int own, Node **caps, int n) {
  CapturePlan p = {.inside = NEW_ARRAY(w->arena, Node *, n + 1)};
  Use *use = NEW_ARRAY(w->arena, Use, n + 1);
  for (int k = 0; k < ngraphs; k++) {
    Use *u = ir_param_uses(w, graphs[k]);
    for (int i = 0; i < n; i++) add_use(&use[i], u[own + i]);
  }
  ir_plan_lengths(w, &p, caps, use, n);
  for (int i = 0; i < n; i++) {
    Use *parts = use[i] == IN_PARTS ? NEW_ARRAY(w->temp, Use, caps[i]->type->n + 1) : NULL;
    for (int k = 0; parts && k < ngraphs; k++) ir_part_uses(w, graphs[k], own + i, parts);
    p.inside[i] = ir_capture_for(w, &p, own, caps[i], use[i], parts);
    if (p.inside[i]->op != OP_PARAM || p.inside[i]->attr.i != own + i) p.changed = true;
  }
  return p;
}

Node **ir_plan_args(World *w, const CapturePlan *p, Graph *g, int own) {
  Node **args = NEW_ARRAY(w->arena, Node *, g->nparams + 1);
  for (int i = 0; i < own; i++) args[i] = ir_param(w, i, g->params[i]);
  for (int i = own; i < g->nparams; i++) args[i] = p->inside[i - own];
  return args;
}

IrType **ir_plan_types(World *w, const CapturePlan *p, Graph *g, int own) {
  IrType **ts = NEW_ARRAY(w->arena, IrType *, own + p->caps.len + 1);
  for (int i = 0; i < own; i++) ts[i] = g->params[i];
  for (int i = 0; i < p->caps.len; i++) ts[own + i] = p->caps.data[i]->type;
  return ts;
}
