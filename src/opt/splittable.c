/* SPDX-License-Identifier: MIT */
/* Which loops can be run in blocks of iterations, with accumulators of their own (fork_loops.c):
 *
 *   loop i < n: s += f i                         a sum in free order of floats, or of ints
 *   loop i < n: m <- max m (f i)                 an extreme
 *   loop i < n: a[p i] <- a[p i] + f i           additions to an array that nothing else is done with, in branches and
 *                                                inner loops, too
 *   [ f i | i < n ]                              an array whose elements hold no objects
 *
 * Nothing but that may be carried from an iteration to the next. */
#include "facts/changes.h"
#include "facts/ir_loop_facts.h"
#include "facts/uses.h"
#include "ir/world.h"
#include "opt/fork_loops.h"

static bool holds_no_objects(const IrType *t) {
  for (int i = 0; i < t->n && t->kind == T_TUPLE; i++)
    if (!holds_no_objects(t->args[i])) return false;
  return t->kind == T_TUPLE || t->kind == T_FLOAT || t->kind == T_INT || t->kind == T_BOOL || t->kind == T_UNIT;
}

/* ---- Arrays that are added to ------------------------------------------------------------------------------------ */
/* Which operands of a sum, difference or fused product something is added to: `first` to `last`, none if last < 0. */
static void summands(const Node *sum, int *first, int *last) {
  *first = sum->op == OP_FMA ? 2 : 0;
  *last = sum->op == OP_FMA ? 2 : sum->op == OP_CADD || sum->op == OP_FADD ? 1 : sum->op == OP_FSUB ? 0 : -1;
}

/* Does `update` change an element by adding to what it was before, and does nothing else read that? */
static bool is_addition(Uses *uses, const Node *update) {
  const Node *sum = update->ops[update->nops - 1];
  int first, last;
  summands(sum, &first, &last);
  if (sum->type->kind != T_FLOAT || !uses_only(uses, sum)) return false;
  for (int k = first; k <= last; k++) {
    const Node *old = sum->ops[k];
    bool same = old->op == OP_INDEX && old->nops == update->nops - 1 && uses_only(uses, old);
    for (int i = 0; same && i < old->nops; i++) same = old->ops[i] == update->ops[i];
    if (same) return true;
  }
  return false;
}

/* Is `old`, an element of x, read for an addition to that element? */
static bool is_read_to_add(Uses *uses, const Node *x, const Node *old) {
  const NodeUse *sum = uses_only(uses, old), *update = sum ? uses_only(uses, sum->user) : NULL;
  if (!update || update->user->op != OP_UPDATE || update->user->ops[0] != x || !is_addition(uses, update->user))
    return false;
  for (int k = 0; k < old->nops; k++)
    if (old->nops != update->user->nops - 1 || old->ops[k] != update->user->ops[k]) return false;
  return true;
}

enum { NOWHERE = -2, WHOLE = -1 };
static int added_to(World *w, Graph *g, Node *x);

/* Which result of a branch has what arrives in its arms as parameter p, with additions. */
static int added_in_arms(World *w, const Node *branch, int p) {
  int part = NOWHERE;
  for (int k = 0; k < branch->ngraphs; k++) {
    Graph *arm = branch->graphs[k];
    int here = added_to(w, arm, ir_param(w, p, arm->params[p]));
    if (here == NOWHERE || (k && here != part)) return NOWHERE;
    part = here;
  }
  return part;
}

/* What `user` makes of its operand, an array, with additions; NULL: something else happens to it. */
static Node *added_by(World *w, Uses *uses, Node *user, int operand) {
  int slot = operand - 1, part = NOWHERE;
  switch (user->op) {
  case OP_AFTER: return operand == 0 ? user : NULL;
  case OP_UPDATE: return operand == 0 && is_addition(uses, user) ? user : NULL;
  case OP_SWITCH: part = added_in_arms(w, user, slot); break;
  case OP_LOOP:
    if (user->loop->has_cond || slot < user->loop->ncarried || slot >= loop_slots(user->loop)) return NULL;
    part = added_to(w, user->graphs[0], ir_param(w, operand, user->graphs[0]->params[operand]));
    return part == slot ? ir_get(w, user, part) : NULL;
  default: break;
  }
  return part == NOWHERE ? NULL : part == WHOLE ? user : ir_get(w, user, part);
}

/* Array x of graph g: is nothing done with it, or what becomes of it, but additions to its elements? Which part of the
 * graph's result it ends as, WHOLE if it is all of that; NOWHERE: no. */
static int added_to(World *w, Graph *g, Node *x) {
  Uses *uses = graph_uses(w, g);
  for (Node *next; x != g->result; x = next) {
    next = NULL;
    FOR_USES (use, uses, x) {
      Node *user = (Node *)(uintptr_t)use->user;
      if (user->op == OP_LEN || (user->op == OP_INDEX && use->operand == 0 && is_read_to_add(uses, x, user))) continue;
      if (user == g->result && user->op == OP_TUPLE && uses_count(uses, x) == 1) return use->operand;
      if (next) return NOWHERE;
      next = added_by(w, uses, user, use->operand);
      if (!next) return NOWHERE;
    }
    if (!next) return NOWHERE;
    if (next->op == OP_GET && next->ops[0] == g->result) return (int)next->attr.i;
  }
  return WHOLE;
}

static bool is_splittable_sum(World *w, const Node *loop, int k) {
  const IrType *t = loop->type->args[k];
  if (t->kind == T_FLOAT) return true;
  if (t->kind != T_ARRAY || ir_base((IrType *)(uintptr_t)t)->kind != T_FLOAT) return false;
  Graph *body = loop->graphs[0];
  return added_to(w, body, ir_param(w, 1 + k, body->params[1 + k])) == k;
}

/* ---- Carried numbers --------------------------------------------------------------------------------------------- */
/* How `next` puts parameter p of the body and something else together. A tie of floats goes to the first operand. */
static Join joined_by(const Node *next, int64_t p) {
  bool first = next->nops == 2 && fact_is_param(next->ops[0], p),
       second = next->nops == 2 && fact_is_param(next->ops[1], p);
  switch (next->op) {
  case OP_IADD: return first != second ? JOIN_SUM : JOIN_NONE;
  case OP_IMAX: return first != second ? JOIN_MAX : JOIN_NONE;
  case OP_IMIN: return first != second ? JOIN_MIN : JOIN_NONE;
  case OP_FMAX: return first && !second ? JOIN_MAX : JOIN_NONE;
  case OP_FMIN: return first && !second ? JOIN_MIN : JOIN_NONE;
  default: return JOIN_NONE;
  }
}

/* The same for the next value of a carried slot, `select c (p + x) p` for example, if nothing else reads either. */
static Join carried_join(World *w, Graph *body, int k) {
  Node *next = body->result->op == OP_TUPLE ? body->result->ops[k] : NULL, *p = ir_param(w, 1 + k, body->params[1 + k]);
  if (!next || !ir_is_number(p->type)) return JOIN_NONE;
  Uses *uses = graph_uses(w, body);
  const Node *sum = next;
  if (next->op == OP_SELECT) {
    bool other = next->ops[2] == p;
    sum = next->ops[other ? 1 : 2];
    if (next->ops[other ? 2 : 1] != p || uses_count(uses, p) != 2 || !uses_only(uses, sum)) return JOIN_NONE;
  } else if (!uses_only(uses, p)) {
    return JOIN_NONE;
  }
  return uses_only(uses, next) ? joined_by(sum, 1 + k) : JOIN_NONE;
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
Join opt_join_of(World *w, const Node *loop, int k) {
  if (k < loop->loop->ncarried) return carried_join(w, loop->graphs[0], k);
  return !w->strict && is_splittable_sum(w, loop, k) ? JOIN_SUM : JOIN_NONE;
}

static bool is_splittable_stack(World *w, const Node *loop, int k) {
  return holds_no_objects(ir_base(loop->type->args[k])) && !ir_rows_may_differ(w, loop, k);
}

bool opt_is_splittable(World *w, const Node *loop) {
  const LoopInfo *l = loop->loop;
  if (l->has_cond || loop_slots(l) > JOINS || (!loop_slots(l) && !l->nstacked)) return false;
  for (int k = 0; k < loop_slots(l); k++)
    if (opt_join_of(w, loop, k) == JOIN_NONE) return false;
  for (int k = loop_slots(l); k < loop_slots(l) + l->nstacked; k++)
    if (!is_splittable_stack(w, loop, k)) return false;
  return true;
}
