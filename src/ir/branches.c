/* SPDX-License-Identifier: MIT */
/* Normal forms of branches.
 *
 * A branch on a known selector is its arm. A branch whose arms are equal is one of them. One that fails unless two ints
 * are equal is a check (size_checks.c). Results that are equal in all arms move before the branch:
 *
 *   if c then (x, f y) else (x, g y)          →   (x, if c then f y else g y)
 *   if c then a[i..j] else a[k..l]            →   a[(if c then i else k)..(if c then j else l)] */
#include "ir/ir_internal.h"
#include <string.h>

static bool same_arms(Graph **arms, int n) {
  for (int i = 1; i < n; i++)
    if (arms[i] != arms[0]) return false;
  return true;
}

/* Arms that merely choose between what is there already:  if c then x else y = select c x y, for scalars. */
static Node *trivial_switch(World *w, Node *s, Graph **arms, int narms, Node **caps) {
  if (s->type->kind != T_BOOL || narms != 2) return NULL;
  Node *no = arms[0]->result, *yes = arms[1]->result;
  bool scalar = ir_is_number(no->type);
  bool plain = (no->op == OP_PARAM || ir_is_constant(no)) && (yes->op == OP_PARAM || ir_is_constant(yes));
  if (!scalar || !plain) return NULL;
  Node *a = yes->op == OP_PARAM ? caps[yes->attr.i] : yes, *b = no->op == OP_PARAM ? caps[no->attr.i] : no;
  return ir_op3(w, OP_SELECT, s, a, b);
}

static Node *size_check(World *w, Node *s, Graph **arms, int narms, Node **caps) {
  SizeCheck c;
  if (!ir_is_size_check(w, s, arms, narms, caps, &c)) return NULL;
  Node *check = ir_check_size(w, c.n, c.m, c.message, c.site);
  return c.value == c.n ? check : ir_op2(w, OP_AFTER, c.value, check);
}

/* Is x made in a few steps, of which none may fail? */
static bool is_quick(const Node *x, int *steps) {
  if (x->op == OP_PARAM || ir_is_constant(x)) return true;
  bool quick = x->op == OP_LEN || (op_flags[x->op] & OPF_S && op_flags[x->op] & OPF_B);
  if (!quick || ++*steps > LIMIT_QUICK_STEPS) return false;
  for (int k = 0; k < x->nops; k++)
    if (!is_quick(x->ops[k], steps)) return false;
  return true;
}

/*  if s then true else x = s || x    if s then x else false = s && x    and so on, where both may be evaluated: what
 * depends on an index alone needs no branch to be told again later. */
static Node *connective(World *w, Node *s, Graph **arms, int narms, Node **caps) {
  if (s->type->kind != T_BOOL || narms != 2 || arms[0]->result->type->kind != T_BOOL) return NULL;
  for (int k = 0; k < 2; k++) {
    const Node *known = arms[k]->result;
    int steps = 0;
    if (known->op != OP_BOOL || !is_quick(arms[1 - k]->result, &steps)) continue;
    Node *x = ir_instantiate(w, arms[1 - k], caps, 0);
    bool yes = known->attr.i != 0;
    return ir_op2(w, yes ? OP_OR : OP_AND, yes == (k == 1) ? s : ir_op1(w, OP_NOT, s), x);
  }
  return NULL;
}

/* Components that all arms return alike, without computing them: -1 or the index of one. */
static bool shared_component(Graph **arms, int narms, int k) {
  Node *x = arms[0]->result->ops[k];
  if (x->op != OP_PARAM && !ir_is_constant(x)) return false;
  for (int i = 1; i < narms; i++)
    if (arms[i]->result->ops[k] != x) return false;
  return true;
}

static Node *yielding(World *w, Node *s, Graph **arms, int narms, Node **caps, int ncaps, Node **results) {
  Graph **gs = NEW_ARRAY(w->temp, Graph *, narms);
  for (int i = 0; i < narms; i++) gs[i] = ir_graph(w, arms[i]->params, arms[i]->nparams, results[i], arms[i]->name);
  return ir_switch(w, s, gs, narms, caps, ncaps);
}

/*  switch s (x, f y) (x, g y) = (x, switch s (f y) (g y)) */
static Node *hoist_components(World *w, Node *s, Graph **arms, int narms, Node **caps, int ncaps) {
  IrType *t = arms[0]->result->type;
  if (t->kind != T_TUPLE) return NULL;
  for (int i = 0; i < narms; i++)
    if (arms[i]->result->op != OP_TUPLE) return NULL;
  Vec(int) rest = {0};
  for (int k = 0; k < t->n; k++)
    if (!shared_component(arms, narms, k)) vec_push(w->arena, rest, k);
  if (rest.len == t->n) return NULL;
  Node *inner = NULL;
  if (rest.len) {
    IrType **ts = NEW_ARRAY(w->arena, IrType *, rest.len);
    for (int j = 0; j < rest.len; j++) ts[j] = t->args[rest.data[j]];
    IrType *tt = ir_tuple_type(w, ts, NULL, rest.len);
    Node **results = NEW_ARRAY(w->temp, Node *, narms), **xs = NEW_ARRAY(w->temp, Node *, rest.len);
    for (int i = 0; i < narms; i++) {
      for (int j = 0; j < rest.len; j++) xs[j] = arms[i]->result->ops[rest.data[j]];
      results[i] = rest.len == 1 ? xs[0] : ir_tuple(w, tt, xs);
    }
    inner = yielding(w, s, arms, narms, caps, ncaps, results);
  }
  Node **out = NEW_ARRAY(w->arena, Node *, t->n);
  for (int k = 0, j = 0; k < t->n; k++) {
    Node *x = arms[0]->result->ops[k];
    if (j < rest.len && rest.data[j] == k) out[k] = rest.len == 1 ? inner : ir_get(w, inner, j), j++;
    else out[k] = ir_waiting(w, x->op == OP_PARAM ? caps[x->attr.i] : x, s);
  }
  return ir_tuple(w, t, out);
}

/* The capture that all arms yield a slice of, or as it is; -1: none, or no slice. */
static int sliced_capture(Graph **arms, int narms) {
  int64_t capture = -1;
  bool slice = false;
  for (int i = 0; i < narms; i++) {
    const Node *x = arms[i]->result, *whole = x->op == OP_SLICE ? x->ops[0] : x;
    if (whole->op != OP_PARAM || (i && whole->attr.i != capture)) return -1;
    capture = whole->attr.i;
    slice |= x != whole;
  }
  return slice ? (int)capture : -1;
}

/*  switch s (slice a i n) (slice a j m) = slice a (switch s i j) (switch s n m) */
static Node *chosen_slice(World *w, Node *s, Graph **arms, int narms, Node **caps, int ncaps) {
  int capture = sliced_capture(arms, narms);
  if (capture < 0) return NULL;
  Node **results = NEW_ARRAY(w->temp, Node *, narms);
  for (int i = 0; i < narms; i++) {
    Node *x = arms[i]->result;
    bool slice = x->op == OP_SLICE;
    results[i] = slice ? ir_pair(w, x->ops[1], x->ops[2]) : ir_pair(w, ir_int(w, 0), ir_len(w, x, 0));
  }
  Node *place = yielding(w, s, arms, narms, caps, ncaps, results);
  return ir_slice(w, caps[capture], ir_get(w, place, 0), ir_get(w, place, 1));
}

/*  if true then f x else g x = f x              if not c then f x else g x = if c then g x else f x
 *  if c then f c else g c = if c then f true else g false                  if c then f x else f x = f x */
Node *ir_switch(World *w, Node *s, Graph **arms, int narms, Node **caps, int ncaps) {
  if (s->op == OP_BOOL || s->op == OP_INT) {
    int k = s->attr.i >= 0 && s->attr.i < narms ? (int)s->attr.i : narms - 1;
    return ir_instantiate(w, arms[k], caps, 0);
  }
  if (s->op == OP_NOT && narms == 2) return ir_switch(w, s->ops[0], (Graph *[]){arms[1], arms[0]}, 2, caps, ncaps);
  CapturePlan p = ir_plan_captures(w, arms, narms, 0, caps, ncaps);
  bool selector = false;
  for (int i = 0; i < p.caps.len; i++) selector |= p.caps.data[i] == s;
  if (p.changed || selector) {
    Graph **gs = NEW_ARRAY(w->arena, Graph *, narms);
    for (int i = 0; i < narms; i++) {
      Node **args = ir_plan_args(w, &p, arms[i], 0);
      /* inside an arm the selector is known, but for the last arm of an integer switch */
      for (int k = 0; k < ncaps; k++)
        if (caps[k] == s && args[k]->op == OP_PARAM && (s->type->kind == T_BOOL || i + 1 < narms))
          args[k] = s->type->kind == T_BOOL ? ir_bool(w, i) : ir_int(w, i);
      gs[i] =
          ir_graph(w, ir_plan_types(w, &p, arms[i], 0), p.caps.len, ir_instantiate(w, arms[i], args, 0), arms[i]->name);
    }
    if (p.changed || s->type->kind == T_BOOL) return ir_switch(w, s, gs, narms, p.caps.data, p.caps.len);
    arms = gs;
    caps = p.caps.data;
    ncaps = p.caps.len;
  }
  if (same_arms(arms, narms)) return ir_waiting(w, ir_instantiate(w, arms[0], caps, 0), s);
  Node *r = size_check(w, s, arms, narms, caps);
  if (!r) r = trivial_switch(w, s, arms, narms, caps);
  if (!r) r = connective(w, s, arms, narms, caps);
  if (!r) r = hoist_components(w, s, arms, narms, caps, ncaps);
  if (!r) r = chosen_slice(w, s, arms, narms, caps, ncaps);
  if (r) return r;
  Node **ops = NEW_ARRAY(w->arena, Node *, ncaps + 1);
  ops[0] = s;
  if (ncaps) memcpy(ops + 1, caps, sizeof(Node *) * (size_t)ncaps);
  return ir_intern(w, &(Node){.op = OP_SWITCH,
                              .type = arms[0]->result->type,
                              .ops = ops,
                              .nops = ncaps + 1,
                              .graphs = arms,
                              .ngraphs = narms});
}

Node *ir_switch_over(World *w, Node **ops, int nops, Graph **arms, int narms) {
  return ir_switch(w, ops[0], arms, narms, ops + 1, nops - 1);
}

Node *ir_switch_yielding(World *w, const Node *n, Node **ops, Graph **arms, Node **results) {
  return yielding(w, ops[0], arms, n->ngraphs, ops + 1, n->nops - 1, results);
}

/* ---- Making branches ----------------------------------------------------------------------------------------- */
struct BranchBuilder {
  World *w;
  Node *selector;
  Nodes caps;
  Vec(IrType *) types;
  Vec(Graph *) arms;
};

BranchBuilder *branch_open(World *w, Node *selector) {
  BranchBuilder *b = NEW(w->temp, BranchBuilder);
  b->w = w;
  b->selector = selector;
  return b;
}

Node *branch_add(BranchBuilder *b, Node *x) {
  vec_push(b->w->temp, b->caps, x);
  vec_push(b->w->temp, b->types, x->type);
  return ir_param(b->w, b->caps.len - 1, x->type);
}

void branch_add_all(BranchBuilder *b, Node **xs, int n) {
  for (int k = 0; k < n; k++) branch_add(b, xs[k]);
}

void branch_graph(BranchBuilder *b, Graph *arm) { vec_push(b->w->temp, b->arms, arm); }

void branch_arm(BranchBuilder *b, Node *result, Sym name) {
  branch_graph(b, ir_graph(b->w, b->types.data, b->types.len, result, name));
}

Node *branch_close(BranchBuilder *b) {
  return ir_switch(b->w, b->selector, b->arms.data, b->arms.len, b->caps.data, b->caps.len);
}
