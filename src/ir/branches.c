/* SPDX-License-Identifier: MIT */
/* Normal forms of branches. A branch on a known selector is its arm; with equal arms it is one of them; what all arms
 * yield equally comes before it:  if c then (x, f y) else (x, g y)  →  (x, if c then f y else g y). */
#include "ir/ir_internal.h"
#include <string.h>

static bool same_arms(Graph **arms, int n) {
  for (int i = 1; i < n; i++)
    if (arms[i] != arms[0]) return false;
  return true;
}

/* Arms that merely choose between what is there already. */
static Node *trivial_switch(World *w, Node *s, Graph **arms, int narms, Node **caps) {
  if (s->type->kind != T_BOOL || narms != 2) return NULL;
  Node *no = arms[0]->result, *yes = arms[1]->result;
  bool scalar = no->type->kind == T_INT || no->type->kind == T_FLOAT || no->type->kind == T_BOOL;
  bool plain = (no->op == OP_PARAM || ir_is_constant(no)) && (yes->op == OP_PARAM || ir_is_constant(yes));
  if (!scalar || !plain) return NULL;
  Node *a = yes->op == OP_PARAM ? caps[yes->attr.i] : yes, *b = no->op == OP_PARAM ? caps[no->attr.i] : no;
  return ir_op3(w, OP_SELECT, s, a, b);
}

/* Components that all arms return alike, without computing them: -1 or the index of one. */
static bool shared_component(Graph **arms, int narms, int k) {
  Node *x = arms[0]->result->ops[k];
  if (x->op != OP_PARAM && !ir_is_constant(x)) return false;
  for (int i = 1; i < narms; i++)
    if (arms[i]->result->ops[k] != x) return false;
  return true;
}

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
    Graph **gs = NEW_ARRAY(w->arena, Graph *, narms);
    for (int i = 0; i < narms; i++) {
      Node **xs = NEW_ARRAY(w->arena, Node *, rest.len);
      for (int j = 0; j < rest.len; j++) xs[j] = arms[i]->result->ops[rest.data[j]];
      gs[i] =
          ir_graph(w, arms[i]->params, arms[i]->nparams, rest.len == 1 ? xs[0] : ir_tuple(w, tt, xs), arms[i]->name);
    }
    inner = ir_switch(w, s, gs, narms, caps, ncaps);
  }
  Node **out = NEW_ARRAY(w->arena, Node *, t->n);
  for (int k = 0, j = 0; k < t->n; k++) {
    Node *x = arms[0]->result->ops[k];
    if (j < rest.len && rest.data[j] == k) out[k] = rest.len == 1 ? inner : ir_get(w, inner, j), j++;
    else out[k] = ir_waiting(w, x->op == OP_PARAM ? caps[x->attr.i] : x, s);
  }
  return ir_tuple(w, t, out);
}

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
  Node *r = trivial_switch(w, s, arms, narms, caps);
  if (!r) r = hoist_components(w, s, arms, narms, caps, ncaps);
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
