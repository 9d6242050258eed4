/* SPDX-License-Identifier: MIT */
/* Which carried arrays of a loop can be taped by reference.
 *
 * An array that is never updated in place, only replaced by another one, can be: the tape holds a reference, and the
 * second stage reads the array as it was in any iteration. To keep a reference to an array that is updated would
 * make the next update copy the whole array. That costs nothing more where the update copies anyway, since it also
 * reads the array as it was. The same holds for values that refer to arrays, like variants. */
#include "facts/taped_references.h"
#include "facts/changes.h"
#include "graph/graph.h"

bool ir_loop_copies(World *w, const Node *loop, int k) {
  if (loop->op != OP_LOOP || !changes_copies(loop, k)) return false;
  return changes_param(w, loop->graphs[0], ir_inner_param(loop, 0, k)) & (CHANGES_ITSELF | CHANGES_PART);
}

/* Does the body of a loop leave the arrays unchanged that carried value k holds? Of what they become a part in the next
 * iteration `kept` tells the same. */
static bool is_kept(World *w, const LoopInfo *l, Graph *body, int k, const bool *kept) {
  if (changes_param(w, body, 1 + k)) return false;
  for (int j = 0; j < l->ncarried; j++)
    if (!kept[j] && changes_param_held(w, body, 1 + k, j)) return false;
  return true;
}

bool *ir_carried_kept(World *w, const LoopInfo *l, Graph *body) {
  bool *kept = NEW_ARRAY(w->arena, bool, loop_slots(l) + 1);
  for (int k = 0; k < l->ncarried; k++) {
    const IrType *t = body->params[1 + k];
    kept[k] = t->kind != T_BAG && ir_holds_arrays(w, t);
  }
  for (bool more = true; more;) {
    more = false;
    for (int k = 0; k < l->ncarried; k++) {
      if (!kept[k] || is_kept(w, l, body, k, kept)) continue;
      kept[k] = false;
      more = true;
    }
  }
  return kept;
}

/* Is x made here: by a loop, as a literal or zeros, of what a loop added up, or one of these, updated by a loop? */
static bool is_made(const Node *x) {
  while (x->op == OP_AFTER) x = x->ops[0];
  if (x->op == OP_ARRAY || x->op == OP_ZEROS) return true;
  if (x->op == OP_FILL) return x->ops[0]->op == OP_GET && x->ops[0]->ops[0]->op == OP_LOOP;
  const Node *loop = x->op == OP_GET ? x->ops[0] : NULL;
  if (!loop || loop->op != OP_LOOP) return false;
  int k = (int)x->attr.i;
  if (k >= loop_slots(loop->loop)) return true;
  return ir_keeps_shape(loop->loop, loop->graphs[0], k) && is_made(loop->ops[k + loop_first(loop->loop)]);
}

bool ir_is_new_row(World *w, const Node *loop, Node **ops, Node *x) {
  if (x->type->kind != T_ARRAY || !ir_is_plain(ir_base(x->type))) return false;
  int64_t k = x->op == OP_PARAM ? x->attr.i - 1 : -1;
  const Node *result = loop->graphs[0]->result;
  if (k >= 0 && (k >= loop->loop->ncarried || result->op != OP_TUPLE)) return false;
  return is_made(k >= 0 ? result->ops[k] : x) && ir_shape_is_fixed(w, loop, ops, x);
}
