/* SPDX-License-Identifier: MIT */
/* Reductions: which loops add up in several chains at once.
 *
 * An addition of floats takes some four cycles, and a sum in one chain waits that long for each of its terms; several
 * chains, added at the end, don't. The order of sums that AD and the library make isn't promised (CADD, which there
 * is none of in strict mode). So a loop qualifies that has no state but such sums,
 *
 *   s' = s +. t     where only this addition reads s,
 *
 * that stacks numbers at most, and whose body is a few operations without calls, branches or objects: where there is
 * more to do, nothing waits. What is decided here depends on the graph alone, so both back ends add in one order. */
#include "facts/ir_loop_facts.h"
#include "lower/lower_internal.h"

/* How often x, or what it adds up, is parameter k; 2 where something else reads that, or a partial sum with it. */
static int additions(const Sched *s, const Node *x, int64_t k) {
  bool leaf = fact_is_param(x, k);
  if (!leaf && (x->op != OP_CADD || x->type->kind != T_FLOAT)) return 0;
  int n = leaf ? 1 : additions(s, x->ops[0], k) + additions(s, x->ops[1], k);
  return n && uses_count(s->uses, x) != 1 ? 2 : n;
}

/* A few instructions, made once for each iteration. */
static bool is_light(const Node *x) {
  if (x->ngraphs) return false;
  switch (x->op) {
  case OP_PARAM:
  case OP_TUPLE:
  case OP_GET:
  case OP_AFTER:
  case OP_GLOBAL: return true;
  case OP_INDEX: return ir_is_number(x->type);
  case OP_CADD: return x->type->kind == T_FLOAT;
  default: return op_flags[x->op] & OPF_K || (op_flags[x->op] & OPF_S && op_flags[x->op] & (OPF_Q | OPF_B));
  }
}

bool lower_chains(Lower *m, const Node *loop) {
  const LoopInfo *l = loop->loop;
  const Node *result = loop->graphs[0]->result;
  int slots = loop_slots(l);
  if (m->w->strict || l->has_cond || !slots || result->op != OP_TUPLE) return false;
  for (int k = 0; k < l->nstacked; k++)
    if (!ir_is_number(result->ops[slots + k]->type)) return false;
  const Node *n = lower_unwaited(loop->ops[0]);
  if (n->op == OP_INT && n->attr.i <= LIMIT_CHAINED_TRIPS) return false;
  const Sched *s = sched_of(m, loop->graphs[0]);
  if (s->n > LIMIT_CHAINED_BODY) return !limit_reached(m->arena, AT_CHAINED_BODY);
  for (int k = 0; k < slots; k++)
    if (result->ops[k]->type->kind != T_FLOAT || additions(s, result->ops[k], 1 + k) != 1) return false;
  for (int i = 0; i < s->n; i++)
    if (!is_light(s->order[i])) return false;
  return true;
}
