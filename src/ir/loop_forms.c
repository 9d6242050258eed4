/* SPDX-License-Identifier: MIT */
/* Normal forms of loops (scalar replacement and loop-invariant code, in the field's words; trip counts are in
 * loop_bounds.c). A loop carries
 *
 *   no tuples                   s = (a, b)            →  a and b are carried
 *   nothing that never changes  s' = s                →  a capture
 *   no counter                  s' = s + c            →  s0 + c * i, computed in the body
 *   no unused length            length s', as length s →  length s0, from outside
 *
 * and captures as branches do (captures.c). */
#include "ir/ir_internal.h"
#include <string.h>

/* Rebuilding a loop with other state. `slots` describes the old carried values and accumulators, in order. */
typedef enum {
  KEEP,
  DROP, /* never changes: what it is at the start */
  STEP, /* a number that a constant is added to: what it is at the start, and a multiple of the index */
  SPLIT /* a tuple: one slot for each component */
} Fate;
typedef struct Reloop {
  World *w;
  const LoopInfo *old;
  LoopInfo info;
  Node *n;
  Node **ops; /* old operands: carried, accs, sliced, caps */
  Graph *body, *cond;
  Fate *fate; /* of carried and accs */
  bool *sliced_used;
  Vec(Node *) inits, sliced;
  Vec(IrType *) own; /* parameter types of the new body before its captures */
  int nslots;
} Reloop;

static Node *body_result(const Graph *g, World *w, int k) { return ir_get(w, g->result, k); }

static bool is_captured(const Reloop *r, int k) { return r->fate[k] == DROP || r->fate[k] == STEP; }

static int width(const Reloop *r, int k) {
  return is_captured(r, k) ? 0 : r->fate[k] == SPLIT ? r->ops[k]->type->n : 1;
}

/* The constant that slot k grows by. */
static Node *step_of(const Reloop *r, int k) {
  Node *next = body_result(r->body, r->w, k);
  if (next->op != OP_IADD || r->info.down || k >= r->old->ncarried) return NULL;
  for (int i = 0; i < 2; i++) {
    Node *x = next->ops[i], *c = next->ops[1 - i];
    if (x->op == OP_PARAM && x->attr.i == 1 + k && c->op == OP_INT) return c;
  }
  return NULL;
}

/* Slot k after i iterations, where `start` stands for its value before them. */
static Node *stepped(Reloop *r, int k, Node *start, Node *i) {
  if (r->fate[k] == DROP) return start;
  return ir_op2(r->w, OP_IADD, start, ir_op2(r->w, OP_IMUL, step_of(r, k), i));
}

static bool decide(Reloop *r) {
  bool changed = false;
  Use *use = ir_param_uses(r->w, r->body);
  for (int k = 0; k < r->nslots; k++) {
    IrType *t = r->ops[k]->type;
    Node *next = body_result(r->body, r->w, k);
    r->fate[k] = next->op == OP_PARAM && next->attr.i == 1 + k ? DROP : t->kind == T_TUPLE ? SPLIT : KEEP;
    if (t->kind == T_UNIT) r->fate[k] = DROP;
    if (t->kind == T_INT && step_of(r, k)) r->fate[k] = STEP;
    changed |= r->fate[k] != KEEP;
  }
  for (int i = 0; i < r->old->nsliced; i++) {
    r->sliced_used[i] = use[1 + r->nslots + i] != UNUSED;
    changed |= !r->sliced_used[i];
  }
  return changed;
}

/* Lays out the new state: operands and parameter types. */
static void lay_out(Reloop *r) {
  World *w = r->w;
  vec_push(w->arena, r->own, ir_type(w, T_INT));
  for (int k = 0; k < r->nslots; k++) {
    int wd = width(r, k);
    for (int j = 0; j < wd; j++) {
      Node *x = r->fate[k] == SPLIT ? ir_get(w, r->ops[k], j) : r->ops[k];
      vec_push(w->arena, r->inits, x);
      vec_push(w->arena, r->own, x->type);
    }
    if (k < r->old->ncarried) r->info.ncarried += wd;
    else r->info.naccs += wd;
  }
  for (int i = 0; i < r->old->nsliced; i++)
    if (r->sliced_used[i]) {
      Node *x = r->ops[r->nslots + i];
      vec_push(w->arena, r->sliced, x);
      vec_push(w->arena, r->own, r->body->params[1 + r->nslots + i]);
    }
  r->info.nsliced = r->sliced.len;
}

/* What stands for old slot k, given the node that stands for new slot j. */
static Node *slot_value(Reloop *r, int k, Node *(*at)(Reloop *r, int j, IrType *t), int *j) {
  IrType *t = r->ops[k]->type;
  if (is_captured(r, k)) return NULL;
  if (r->fate[k] == KEEP) return at(r, (*j)++, t);
  Node **xs = NEW_ARRAY(r->w->arena, Node *, t->n);
  for (int i = 0; i < t->n; i++) xs[i] = at(r, (*j)++, t->args[i]);
  return ir_tuple(r->w, t, xs);
}

static Node *as_param(Reloop *r, int j, IrType *t) { return ir_param(r->w, 1 + j, t); }

/* Arguments for the old body or cond over the new parameters. Captures come last: the old ones, then those of slots. */
static Node **old_args(Reloop *r, bool cond) {
  World *w = r->w;
  int nslots = cond ? r->old->ncarried : r->nslots, own = cond ? 1 + r->info.ncarried : r->own.len;
  Graph *g = cond ? r->cond : r->body;
  Node **args = NEW_ARRAY(w->arena, Node *, g->nparams + 1);
  args[0] = ir_param(w, 0, ir_type(w, T_INT));
  int j = 0, captured = 0;
  for (int k = 0; k < r->nslots; k++) {
    Node *x = k < nslots ? slot_value(r, k, as_param, &j) : NULL;
    if (is_captured(r, k)) x = stepped(r, k, ir_param(w, own + r->old->ncaps + captured++, r->ops[k]->type), args[0]);
    if (k < nslots) args[1 + k] = x;
  }
  int at = 1 + nslots;
  for (int i = 0; i < r->old->nsliced && !cond; i++, at++) {
    IrType *t = r->body->params[at];
    args[at] = r->sliced_used[i] ? ir_param(w, 1 + j, t) : ir_zero(w, t);
    j += r->sliced_used[i];
  }
  for (int i = 0; i < r->old->ncaps; i++) args[at + i] = ir_param(w, own + i, g->params[at + i]);
  return args;
}

static Graph *new_body(Reloop *r, IrType **cap_types, int ncaps) {
  World *w = r->w;
  Node *old = ir_instantiate(w, r->body, old_args(r, false), 0);
  Vec(Node *) out = {0};
  for (int k = 0; k < r->nslots; k++)
    for (int j = 0; j < width(r, k); j++) {
      Node *x = ir_get(w, old, k);
      vec_push(w->arena, out, r->fate[k] == SPLIT ? ir_get(w, x, j) : x);
    }
  for (int i = 0; i < r->old->nstacked; i++) vec_push(w->arena, out, ir_get(w, old, r->nslots + i));
  Node *result = ir_record(w, out.data, out.len);
  Vec(IrType *) params = {0};
  for (int i = 0; i < r->own.len; i++) vec_push(w->arena, params, r->own.data[i]);
  for (int i = 0; i < ncaps; i++) vec_push(w->arena, params, cap_types[i]);
  return ir_graph(w, params.data, params.len, result, r->body->name);
}

static Graph *new_cond(Reloop *r, IrType **cap_types, int ncaps) {
  World *w = r->w;
  Node *result = ir_instantiate(w, r->cond, old_args(r, true), 0);
  Vec(IrType *) params = {0};
  for (int i = 0; i < 1 + r->info.ncarried; i++) vec_push(w->arena, params, r->own.data[i]);
  for (int i = 0; i < ncaps; i++) vec_push(w->arena, params, cap_types[i]);
  return ir_graph(w, params.data, params.len, result, r->cond->name);
}

static Node *loop_slot(Reloop *r, int j, IrType *t) {
  (void)t;
  return ir_get(r->w, r->n, j); /* r->n is the new loop by now */
}

/* The old loop's value from the new loop's. */
static Node *old_value(Reloop *r, Node *loop, IrType *type) {
  World *w = r->w;
  Node **xs = NEW_ARRAY(w->arena, Node *, type->n);
  r->n = loop;
  int j = 0;
  for (int k = 0; k < r->nslots; k++) {
    Node *x = slot_value(r, k, loop_slot, &j);
    if (!x) x = stepped(r, k, r->ops[k], ir_get(w, loop, loop->type->n - 1));
    xs[k] = k < r->old->ncarried ? ir_after_loop(w, x, loop) : x;
  }
  for (int i = r->nslots; i < type->n; i++) xs[i] = ir_get(w, loop, j++);
  return ir_tuple(w, type, xs);
}

static IrType *loop_type(World *w, const LoopInfo *l, const Graph *body) {
  const IrType *rt = body->result->type;
  int slots = loop_slots(l);
  IrType **ts = NEW_ARRAY(w->arena, IrType *, slots + l->nstacked + 1);
  for (int i = 0; i < slots; i++) ts[i] = rt->args[i];
  for (int i = 0; i < l->nstacked; i++) ts[slots + i] = ir_array_type(w, rt->args[slots + i]);
  ts[slots + l->nstacked] = ir_type(w, T_INT);
  return ir_tuple_type(w, ts, NULL, slots + l->nstacked + 1);
}

static Node *reloop(World *w, const LoopInfo *l, Node *n, Node **ops, Graph *body, Graph *cond, Site site) {
  int nslots = loop_slots(l);
  Reloop r = {.w = w, .old = l, .n = n, .ops = ops, .body = body, .cond = cond, .nslots = nslots};
  r.info = (LoopInfo){.nstacked = l->nstacked, .has_cond = l->has_cond, .down = l->down};
  r.fate = NEW_ARRAY(w->arena, Fate, nslots + 1);
  r.sliced_used = NEW_ARRAY(w->arena, bool, l->nsliced + 1);
  if (!decide(&r)) return NULL;
  lay_out(&r);
  Vec(Node *) caps = {0};
  Vec(IrType *) types = {0};
  for (int i = 0; i < l->ncaps; i++) vec_push(w->arena, caps, ops[nslots + l->nsliced + i]);
  for (int k = 0; k < nslots; k++)
    if (is_captured(&r, k)) vec_push(w->arena, caps, ops[k]);
  for (int i = 0; i < caps.len; i++) vec_push(w->arena, types, caps.data[i]->type);
  Graph *nb = new_body(&r, types.data, types.len), *nc = cond ? new_cond(&r, types.data, types.len) : NULL;
  r.info.ncaps = caps.len;
  Vec(Node *) all = {0};
  for (int i = 0; i < r.inits.len; i++) vec_push(w->arena, all, r.inits.data[i]);
  for (int i = 0; i < r.sliced.len; i++) vec_push(w->arena, all, r.sliced.data[i]);
  for (int i = 0; i < caps.len; i++) vec_push(w->arena, all, caps.data[i]);
  Node *loop = ir_loop(w, &r.info, n, all.data, nb, nc, site);
  return old_value(&r, loop, loop_type(w, l, body));
}

/* A slice of an array whose elements are all the same is captured. */
static Node *capture_slices(World *w, const LoopInfo *l, Node *n, Node **ops, Graph *body, Graph *cond, Site site) {
  int slots = loop_slots(l), before = loop_captures(l), more = 0;
  Vec(Node *) all = {0}, caps = {0};
  Vec(IrType *) types = {0};
  Node **args = NEW_ARRAY(w->arena, Node *, body->nparams + 1);
  for (int i = 0; i < l->nsliced; i++) more += ir_same_elements(ops[slots + i]) != NULL;
  if (!more) return NULL;
  for (int i = 0; i < before + l->ncaps; i++) {
    Node *same = i >= slots && i < before ? ir_same_elements(ops[i]) : NULL;
    if (same) {
      args[1 + i] = ir_param(w, 1 + before + l->ncaps - more + caps.len, same->type);
      vec_push(w->arena, caps, same);
      continue;
    }
    args[1 + i] = ir_param(w, 1 + all.len, body->params[1 + i]);
    vec_push(w->arena, all, ops[i]);
    vec_push(w->arena, types, body->params[1 + i]);
  }
  args[0] = ir_param(w, 0, body->params[0]);
  for (int i = 0; i < more; i++) {
    vec_push(w->arena, all, caps.data[i]);
    vec_push(w->arena, types, caps.data[i]->type);
  }
  IrType **params = NEW_ARRAY(w->arena, IrType *, types.len + 1);
  params[0] = body->params[0];
  for (int i = 0; i < types.len; i++) params[1 + i] = types.data[i];
  Graph *b = ir_graph(w, params, 1 + types.len, ir_instantiate(w, body, args, 0), body->name), *c = NULL;
  if (cond) { /* it sees no slices: its captures get company */
    int own = cond->nparams;
    IrType **ts = NEW_ARRAY(w->arena, IrType *, own + more);
    for (int i = 0; i < own + more; i++) ts[i] = i < own ? cond->params[i] : caps.data[i - own]->type;
    c = ir_graph(w, ts, own + more, cond->result, cond->name);
  }
  LoopInfo info = *l;
  info.nsliced -= more;
  info.ncaps += more;
  return ir_loop(w, &info, n, all.data, b, c, site);
}

/* Lengths of carried arrays that are only updated are those at the start: they become captures, the same for the
 * body and the condition. */
static Node *fix_lengths(World *w, const LoopInfo *l, Node *n, Node **ops, Graph *body, Graph *cond, Site site) {
  Graph *gs[2] = {body, cond};
  Map fixed[2];
  Vec(Node *) all = {0};
  int total = loop_inputs(l);
  for (int i = 0; i < total; i++) vec_push(w->arena, all, ops[i]);
  for (int k = 0; k < 2; k++) {
    map_init(&fixed[k], w->arena);
    GraphBody *b = gs[k] ? graph_body(w, gs[k]) : NULL;
    for (int i = 0; b && i < b->n; i++) {
      Node *c = b->nodes[i];
      int64_t slot = c->op == OP_LEN && c->ops[0]->op == OP_PARAM ? c->ops[0]->attr.i - 1 : -1;
      if (slot < 0 || !ir_keeps_shape(l, body, (int)slot)) continue;
      Node *outside = ir_len(w, ops[slot], (int)c->attr.i);
      int j = total;
      while (j < all.len && all.data[j] != outside) j++;
      if (j == all.len) vec_push(w->arena, all, outside);
      map_put(&fixed[k], c, ir_param(w, gs[k]->nparams + j - total, c->type));
    }
  }
  int more = all.len - total;
  if (!more) return NULL;
  for (int k = 0; k < 2 && gs[k]; k++) {
    int old = gs[k]->nparams;
    IrType **types = NEW_ARRAY(w->arena, IrType *, old + more);
    Node **args = NEW_ARRAY(w->arena, Node *, old + 1);
    for (int i = 0; i < old + more; i++) types[i] = i < old ? gs[k]->params[i] : ir_type(w, T_INT);
    for (int i = 0; i < old; i++) args[i] = ir_param(w, i, types[i]);
    gs[k] = ir_graph(w, types, old + more, ir_instantiate_over(w, gs[k], args, 0, &fixed[k]), gs[k]->name);
  }
  LoopInfo info = *l;
  info.ncaps += more;
  return ir_loop(w, &info, n, all.data, gs[0], gs[1], site);
}

/* A loop that runs not at all. */
static Node *empty_loop(World *w, const LoopInfo *l, Node **ops, const Graph *body) {
  IrType *t = loop_type(w, l, body);
  int slots = loop_slots(l);
  Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
  for (int i = 0; i < slots; i++) xs[i] = ops[i];
  for (int i = 0; i < l->nstacked; i++) xs[slots + i] = ir_array(w, t->args[slots + i]->args[0], NULL, 0, 0);
  xs[slots + l->nstacked] = ir_int(w, 0);
  return ir_tuple(w, t, xs);
}

static bool is_false(const Node *x) { return x->op == OP_BOOL && !x->attr.i; }

static Node *plan_loop(World *w, const LoopInfo *l, Node *n, Node **ops, Graph *body, Graph *cond, Site site) {
  int before = loop_captures(l), own = 1 + before, cown = 1 + l->ncarried;
  /* body and cond differ in their own parameters: plan over the body's, with the cond's uses added */
  Use *use = ir_param_uses(w, body), *in_cond = cond ? ir_param_uses(w, cond) : NULL;
  CapturePlan p = {.inside = NEW_ARRAY(w->arena, Node *, l->ncaps + 1)}, q = p;
  q.inside = NEW_ARRAY(w->arena, Node *, l->ncaps + 1);
  for (int i = 0; i < l->ncaps; i++) {
    Node *x = ops[before + i];
    Use u = in_cond && in_cond[cown + i] > use[own + i] ? in_cond[cown + i] : use[own + i];
    p.inside[i] = ir_capture_for(w, &p, own, x, u);
    q.inside[i] = ir_capture_for(w, &q, cown, x, u);
    p.changed |= p.inside[i]->op != OP_PARAM || p.inside[i]->attr.i != own + i;
  }
  if (!p.changed) return NULL;
  Graph *nb = ir_graph(w, ir_plan_types(w, &p, body, own), own + p.caps.len,
                       ir_instantiate(w, body, ir_plan_args(w, &p, body, own), 0), body->name);
  Graph *nc = NULL;
  if (cond)
    nc = ir_graph(w, ir_plan_types(w, &q, cond, cown), cown + q.caps.len,
                  ir_instantiate(w, cond, ir_plan_args(w, &q, cond, cown), 0), cond->name);
  LoopInfo info = *l;
  info.ncaps = p.caps.len;
  Node **all = NEW_ARRAY(w->arena, Node *, before + p.caps.len + 1);
  memcpy(all, ops, sizeof(Node *) * (size_t)before);
  if (p.caps.len) memcpy(all + before, p.caps.data, sizeof(Node *) * (size_t)p.caps.len);
  return ir_loop(w, &info, n, all, nb, nc, site);
}

Node *ir_loop(World *w, const LoopInfo *l, Node *n, Node **ops, Graph *body, Graph *cond, Site site) {
  int before = loop_captures(l);
  bool never = cond ? is_false(cond->result) : n->op == OP_INT && n->attr.i <= 0;
  if (never) return empty_loop(w, l, ops, body);
  Node *r = plan_loop(w, l, n, ops, body, cond, site);
  if (!r) r = reloop(w, l, n, ops, body, cond, site);
  if (!r) r = capture_slices(w, l, n, ops, body, cond, site);
  if (!r) r = fix_lengths(w, l, n, ops, body, cond, site);
  if (r) return r;
  if (cond) {
    LoopInfo counted = *l;
    counted.has_cond = false;
    Node *count = ir_trip_count(w, l, ops, cond);
    if (count) return ir_loop(w, &counted, count, ops, body, NULL, site);
  }
  if (n) {
    Graph *b = ir_without_proved_checks(w, body, n, ops + before, 1 + before);
    if (b != body) return ir_loop(w, l, n, ops, b, cond, site);
  }
  int counted = n != NULL, total = before + l->ncaps;
  Node **all = NEW_ARRAY(w->arena, Node *, total + 2);
  if (n) all[0] = n;
  if (total) memcpy(all + counted, ops, sizeof(Node *) * (size_t)total);
  Graph *gs[2] = {body, cond};
  return ir_intern(w, &(Node){.op = OP_LOOP,
                              .type = loop_type(w, l, body),
                              .ops = all,
                              .nops = total + counted,
                              .site = site,
                              .graphs = gs,
                              .ngraphs = cond ? 2 : 1,
                              .loop = (LoopInfo *)l});
}

Node *ir_loop_over(World *w, const LoopInfo *l, Node **ops, Graph *body, Graph *cond, Site site) {
  return ir_loop(w, l, l->has_cond ? NULL : ops[0], ops + loop_first(l), body, cond, site);
}
