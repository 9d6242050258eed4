/* SPDX-License-Identifier: MIT */
/* Detaches residuals that may be views of a part of an array which is changed in place later. A view on the tape would
 * hold the array, so its next update would copy the whole array. With b an array that is changed:
 *
 *   b[i..j]                      →   [ x | x in b[i..j] ]
 *   switch c: b[i..j] | t        →   detached (switch c: b[i..j] | t)
 *   Some b[i..j]                 →   detached (Some b[i..j])
 *
 * The primitive `detached` (runtime/detach.c) copies views alone, so it costs no more than these are long. A carried
 * value that becomes such a view is detached when it does, since the next iteration may update b before it uses v:
 *
 *   loop: b' = update b …; v' = b[i..j]; tape v   →   loop: b' = update b …; v' = detached b[i..j]; tape v */
#include "ad/ad_internal.h"
#include "facts/changes.h"

static Fact holds(World *w, const Node *x, const Fact *facts);

/* The value of an arm that becomes x, a branch or a component of one. */
static Node *arm_value(World *w, const Node *x, const Graph *arm) {
  return x->op == OP_GET ? ir_get(w, arm->result, (int)x->attr.i) : arm->result;
}

static const Node *branch_of(const Node *x) {
  if (x->op == OP_GET) x = x->ops[0];
  return x->op == OP_SWITCH ? x : NULL;
}

static Fact branch_holds(World *w, const Node *x, const Node *branch, const Fact *facts) {
  Fact held = 0, *arm = NEW_ARRAY(w->temp, Fact, branch->nops);
  for (int i = 1; i < branch->nops; i++) arm[i - 1] = holds(w, branch->ops[i], facts);
  for (int a = 0; a < branch->ngraphs; a++) held |= holds(w, arm_value(w, x, branch->graphs[a]), arm);
  return held;
}

static Fact operands_hold(World *w, const Node *x, const Fact *facts) {
  Fact held = 0;
  for (int k = 0; k < x->nops; k++) held |= holds(w, x->ops[k], facts);
  return held;
}

static bool is_part(const Node *x) { return (x->op == OP_SLICE || x->op == OP_INDEX) && x->type->kind == T_ARRAY; }

/* The facts of parameters that x may be, or refer to; VIEW where it may be a view of a part of an overwritten one. */
static Fact holds(World *w, const Node *x, const Fact *facts) {
  bool part = false;
  Fact held = 0;
  for (;; x = x->ops[0]) {
    const Node *branch = branch_of(x);
    part |= is_part(x);
    if (branch) held = branch_holds(w, x, branch, facts);
    else if (x->op == OP_INJ || x->op == OP_TUPLE || x->op == OP_ARRAY) held = operands_hold(w, x, facts);
    else if (x->op == OP_PARAM) held = facts[x->attr.i] & (OVERWRITTEN | VIEW | CARRIED_VIEW);
    else if (fact_renames(x) || fact_is_part(x) || fact_is_view(x) || x->op == OP_UPDATE) continue;
    return part && held ? VIEW : held;
  }
}

Node *ad_detached(World *w, Node *x) { return ir_rt(w, ir_rt_find("detached"), x->type, x->type, &x, 1, 0); }

Node *ad_taped(World *w, Node *x, const Fact *facts) {
  if (x->type->kind == T_BAG || !ir_holds_arrays(w, x->type) || !(holds(w, x, facts) & VIEW)) return x;
  return is_part(x) ? ir_copy_rows(w, x) : ad_detached(w, x);
}

bool ad_reads_carried_view(World *w, const Split *s, const Fact *facts) {
  for (int j = 0; j < s->nres; j++)
    if (ir_holds_arrays(w, s->res[j]->type) && holds(w, s->res[j], facts) & CARRIED_VIEW) return true;
  return false;
}

/* Does the value that slot `to` gets refer to an overwritten array, or a view of one, that slot `from` holds? */
static bool hands_view(World *w, const Node *loop, const Fact *facts, const bool *replaced, int from, int to) {
  if (from == to || !ir_holds_arrays(w, loop->graphs[0]->params[1 + from])) return false;
  bool changed = !replaced[from] || facts[1 + from] & CARRIED_VIEW;
  return changed && changes_param_held(w, loop->graphs[0], 1 + from, to);
}

void ad_find_views(World *w, const Node *loop, const Fact *outside, Fact *facts) {
  const Graph *body = loop->graphs[0];
  int slots = loop_slots(loop->loop);
  const bool *replaced = ir_carried_kept(w, loop->loop, loop->graphs[0]);
  for (int i = 1; i < body->nparams; i++) {
    if (outside[i - 1] & OVERWRITTEN) facts[i] |= VIEW;
    if (i <= slots) facts[i] |= OVERWRITTEN;
  }
  for (bool more = true; more;) {
    more = false;
    for (int to = 0; to < slots; to++) {
      if (facts[1 + to] & CARRIED_VIEW || !ir_holds_arrays(w, body->params[1 + to])) continue;
      bool view = false;
      for (int from = 0; from < slots && !view; from++) view = hands_view(w, loop, facts, replaced, from, to);
      if (view) facts[1 + to] |= CARRIED_VIEW;
      more |= view;
    }
  }
}
