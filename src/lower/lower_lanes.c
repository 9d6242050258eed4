/* SPDX-License-Identifier: MIT */
/* Partial sums: which loops have them, and where they are added to.
 *
 * The order of sums that AD and the library make isn't promised (CADD, which there is none of in strict mode). So a
 * loop has partial sums whose state are such sums,
 *
 *   s' = s +. t     where only this addition reads s,
 *
 * and arrays of which elements are changed, that stacks numbers at most, and whose body has no calls, and branches and
 * loops of numbers only. Term number t of a sum goes to its partial sum t mod LIMIT_LANES; these are added as a tree at
 * the end (LANE_SUM). The evaluator does so one term after the other, machine code for as many iterations at once as a
 * vector has numbers. What is decided here depends on the
 * graph alone, so all of them give the same digits. */
#include "facts/ir_loop_facts.h"
#include "lower/lower_internal.h"

typedef struct Finder {
  Lower *m;
  const Sched *s;
  const LoopInfo *l;
  LaneSums *sums;
} Finder;

static void add(const Finder *f, const Node *x, Node *term, int slot) {
  LaneAddition *a = NEW(f->m->arena, LaneAddition);
  *a = (LaneAddition){.term = term, .slot = slot, .negated = x->op == OP_FSUB};
  a->fused = f->m->w->contract && term->op == OP_FMUL && uses_count(f->s->uses, term) == 1;
  map_put(&f->sums->additions, x, a);
  if (a->fused) map_put(&f->sums->fused, term, a);
}

/* Is x the parameter of the slot, or that and other terms, where nothing else reads it or a part of the sum? What is
 * added to an accumulator may be subtracted, too. */
static bool find_additions(const Finder *f, const Node *x, int slot) {
  if (uses_count(f->s->uses, x) != 1) return false;
  if (fact_is_param(x, 1 + slot)) return true;
  if (x->op == OP_FSUB && slot >= f->l->ncarried && find_additions(f, x->ops[0], slot)) {
    add(f, x, x->ops[1], slot);
    return true;
  }
  if (x->op != OP_CADD || x->type->kind != T_FLOAT) return false;
  bool first = find_additions(f, x->ops[0], slot), second = find_additions(f, x->ops[1], slot);
  if (first == second) return false;
  add(f, x, x->ops[first ? 1 : 0], slot);
  return true;
}

/* The same of a sum whose terms are added in order, as `s += x` in a loop. */
static bool adds_in_order(const Sched *s, const Node *x, int slot) {
  if (uses_count(s->uses, x) != 1) return false;
  if (fact_is_param(x, 1 + slot)) return true;
  switch (x->op) {
  case OP_FADD: return adds_in_order(s, x->ops[0], slot) || adds_in_order(s, x->ops[1], slot);
  case OP_FSUB: return adds_in_order(s, x->ops[0], slot);
  case OP_FMA: return adds_in_order(s, x->ops[2], slot);
  default: return false;
  }
}

bool lower_adds_in_order(Lower *m, const Node *loop) {
  const Node *result = loop->graphs[0]->result;
  if (loop->loop->ncarried && result->op != OP_TUPLE) return false;
  for (int k = 0; k < loop->loop->ncarried; k++)
    if (!adds_in_order(sched_of(m, loop->graphs[0]), result->ops[k], k)) return false;
  return true;
}

/* A number, or a tuple of numbers. */
static bool is_numeric(const IrType *t) {
  bool numbers = t->kind == T_TUPLE;
  for (int k = 0; k < t->n && numbers; k++) numbers = ir_is_number(t->args[k]);
  return numbers || ir_is_number(t);
}

static bool is_laneable(Lower *m, const Node *x);

/* A loop of numbers, and of arrays whose elements it changes, the same number of times in all iterations: it stays a
 * loop. (Whether that number is the same is found in lowered code.) */
static bool is_inner_loop(Lower *m, const Node *x) {
  const LoopInfo *l = x->loop;
  const Node *result = x->graphs[0]->result;
  if (l->has_cond || l->nstacked || result->op != OP_TUPLE) return false;
  for (int k = 0; k < loop_slots(l); k++)
    if (!ir_is_number(result->ops[k]->type) && result->ops[k]->type->kind != T_ARRAY) return false;
  const Sched *s = sched_of(m, x->graphs[0]);
  for (int i = 0; i < s->n; i++)
    if (!is_laneable(m, s->order[i])) return false;
  return true;
}

/* A branch whose arms are such numbers. (Whether all iterations take the same arm is found in lowered code.) */
static bool is_branch(Lower *m, const Node *x) {
  if (x->op != OP_SWITCH) return false;
  for (int k = 0; k < x->ngraphs; k++) {
    const Sched *s = sched_of(m, x->graphs[k]);
    for (int i = 0; i < s->n; i++)
      if (!is_laneable(m, s->order[i])) return false;
  }
  return true;
}

/* Numbers made of numbers, once for each iteration. */
static bool is_laneable(Lower *m, const Node *x) {
  if (x->op == OP_LOOP) return is_inner_loop(m, x);
  if (x->ngraphs) return is_branch(m, x);
  switch (x->op) {
  case OP_PARAM:
  case OP_TUPLE:
  case OP_GET:
  case OP_AFTER:
  case OP_GLOBAL:
  case OP_CHECK_INDEX:
  case OP_TRAP_NAN:
  case OP_TRAP_INF:
  case OP_LEN: return true;
  case OP_INDEX: return is_numeric(x->type);
  case OP_UPDATE: return is_numeric(x->ops[x->nops - 1]->type);
  case OP_CADD: return x->type->kind == T_FLOAT;
  default: break;
  }
  if (op_flags[x->op] & OPF_K) return true;
  bool numbers = ir_is_number(x->type);
  for (int k = 0; k < x->nops; k++) numbers = numbers && ir_is_number(x->ops[k]->type);
  return numbers && op_flags[x->op] & OPF_S && !(op_flags[x->op] & OPF_F);
}

/* Is the state that of partial sums: floats that are added to, and arrays? A loop that counts down counts up then, so
 * its arrays must not be carried. */
static bool finds_sums(Finder *f, const Node *result) {
  bool any = false;
  for (int k = 0; k < loop_slots(f->l); k++) {
    const IrType *t = result->ops[k]->type;
    if (t->kind == T_ARRAY && (k >= f->l->ncarried || !f->l->down)) continue;
    if (t->kind != T_FLOAT || !find_additions(f, result->ops[k], k)) return false;
    f->sums->slots[k] = any = true;
  }
  return any;
}

const LaneSums *lower_lanes(Lower *m, const Node *loop) {
  const LoopInfo *l = loop->loop;
  const Node *result = loop->graphs[0]->result;
  int slots = loop_slots(l);
  if (m->w->strict || l->has_cond || !slots || result->op != OP_TUPLE) return NULL;
  for (int k = 0; k < l->nstacked; k++)
    if (!ir_is_number(result->ops[slots + k]->type)) return NULL;
  const Node *n = lower_unwaited(loop->ops[0]);
  if (n->op == OP_INT && n->attr.i < LIMIT_LANE_TRIPS) return NULL;
  Finder f = {m, sched_of(m, loop->graphs[0]), l, NEW(m->arena, LaneSums)};
  if (f.s->n > LIMIT_LANE_BODY) {
    limit_reached(m->arena, AT_LANE_BODY);
    return NULL;
  }
  for (int i = 0; i < f.s->n; i++)
    if (!is_laneable(m, f.s->order[i])) return NULL;
  map_init(&f.sums->additions, m->arena);
  map_init(&f.sums->fused, m->arena);
  f.sums->slots = NEW_ARRAY(m->arena, bool, slots);
  return finds_sums(&f, result) ? f.sums : NULL;
}

static bool is_array_update(const Node *x) { return x->op == OP_UPDATE; }

/* Not where arrays are changed: whether their places allow lanes is found in lowered code. */
bool lower_has_lanes(Lower *m, const Node *loop, const LaneSums *sums) {
  const LoopInfo *l = loop->loop;
  const Node *result = loop->graphs[0]->result;
  if (m->w->strict || l->has_cond || ir_reaches(m->w, loop->graphs[0], is_array_update)) return false;
  if (sums) return true;
  const Sched *s = sched_of(m, loop->graphs[0]);
  if (l->naccs || !lower_adds_in_order(m, loop) || result->op != OP_TUPLE || s->n > LIMIT_LANE_BODY) return false;
  for (int k = 0; k < l->nstacked; k++)
    if (!ir_is_number(result->ops[l->ncarried + k]->type)) return false;
  for (int i = 0; i < s->n; i++)
    if (!is_laneable(m, s->order[i])) return false;
  return true;
}
