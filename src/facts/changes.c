/* SPDX-License-Identifier: MIT */
/* What nodes may change in place: see changes.h. A value is followed from use to use, with a list of what is still to
 * be followed; the recursion goes into the arms of branches and the bodies of loops. */
#include "facts/changes.h"
#include "ir/compilation.h"

/* What becomes of a parameter of a graph. */
typedef struct Fate {
  unsigned changed;
  bool held;  /* by the graph's result; */
  bool *slot; /* by its components, if it is a tuple */
} Fate;

/* Sums of accumulators are made in place, too. */
bool changes_type(World *w, const IrType *t) {
  bool any = ir_holds_arrays(w, t) || t->kind == T_ENV || (t->kind == T_VARIANT && t->nullable);
  for (int k = 0; !any && t->kind == T_TUPLE && k < t->n; k++) any = changes_type(w, t->args[k]);
  return any;
}

/* ---- Following a value ---- */
typedef struct Held {
  Node *x;
  unsigned changes; /* what a change of x is: of the value itself, of a part of it; 0: a copy is changed */
} Held;
typedef struct Trail {
  World *w;
  Uses *uses;
  Vec(Held) worklist;
  Map seen; /* node -> with which `changes` it was met, one bit each */
  Fate *fate;
} Trail;

static const Fate *fate_of(World *w, Graph *g, int k);

static void add(Trail *t, Node *x, unsigned changes) {
  uintptr_t met = (uintptr_t)map_get(&t->seen, x), bit = (uintptr_t)1 << changes;
  if (met & bit || !changes_type(t->w, x->type)) return;
  map_put(&t->seen, x, (void *)(met | bit));
  vec_push(t->w->temp, t->worklist, ((Held){x, changes}));
}

/* Is n a branch or loop with a tuple of results? */
static bool has_components(const Node *n) { return ir_is_control(n) && n->type->kind == T_TUPLE; }

/* The value of u, a branch or loop, refers to what its operand k holds: so do components that graph 0 of a loop, or an
 * arm, makes of it. */
static void follow_components(Trail *t, Node *u, int k, unsigned changes) {
  FOR_USES (use, t->uses, u) {
    bool held = false;
    for (int i = 0; use->user->op == OP_GET && !held && i < (u->op == OP_LOOP ? 1 : u->ngraphs); i++)
      held = changes_param_held(t->w, u->graphs[i], ir_inner_param(u, i, k), (int)use->user->attr.i);
    if (held) add(t, use->user, changes);
  }
}

static void follow(Trail *t, Held h, const NodeUse *use) {
  Node *u = use->user;
  if (has_components(h.x) && u->op == OP_GET) return; /* follow_components has met it */
  unsigned effects = changes_operand(t->w, u, use->operand), changes = op_flags[u->op] & OPF_D ? 0 : h.changes;
  if (effects & CHANGES_ITSELF) t->fate->changed |= h.changes;
  if (h.changes) t->fate->changed |= effects & (CHANGES_PART | CHANGES_CALLED);
  if (!(effects & HOLDS)) return;
  if (has_components(u)) follow_components(t, u, use->operand, changes);
  add(t, u, changes && (u->op == OP_UNINJ || u->op == OP_INJ) ? CHANGES_PART : changes);
}

/* Does component k of the graph's result refer to what is followed? */
static bool component_holds(Trail *t, const Node *result, int k) {
  if (result->op == OP_TUPLE) return map_get(&t->seen, result->ops[k]) != NULL;
  bool held = result->op != OP_SWITCH;
  for (int j = 1; !held && j < result->nops; j++)
    for (int i = 0; !held && map_get(&t->seen, result->ops[j]) && i < result->ngraphs; i++)
      held = changes_param_held(t->w, result->graphs[i], ir_inner_param(result, i, j), k);
  return held && map_get(&t->seen, result);
}

static Fate *follow_all(World *w, Uses *uses, Node *x) {
  Fate *f = NEW(w->temp, Fate);
  Trail t = {.w = w, .uses = uses, .fate = f};
  map_init(&t.seen, w->temp);
  add(&t, x, CHANGES_ITSELF);
  while (t.worklist.len) {
    Held h = t.worklist.data[--t.worklist.len];
    FOR_USES (use, uses, h.x) follow(&t, h, use);
  }
  const Node *result = uses->nodes[uses->n - 1];
  f->held = map_get(&t.seen, result) != NULL;
  f->slot = NEW_ARRAY(w->temp, bool, result->type->n + 1);
  for (int k = 0; f->held && result->type->kind == T_TUPLE && k < result->type->n; k++)
    f->slot[k] = component_holds(&t, result, k);
  return f;
}

unsigned changes_node(World *w, Uses *uses, Node *x) { return follow_all(w, uses, x)->changed; }

static const Fate *fate_of(World *w, Graph *g, int k) {
  Fate **known = map_get(&compilation(w)->fates, g);
  if (!known) map_put(&compilation(w)->fates, g, known = NEW_ARRAY(w->temp, Fate *, g->nparams + 1));
  if (!known[k]) known[k] = follow_all(w, graph_uses(w, g), ir_param(w, k, g->params[k]));
  return known[k];
}

unsigned changes_param(World *w, Graph *g, int k) { return fate_of(w, g, k)->changed; }

bool changes_param_held(World *w, Graph *g, int k, int slot) { return fate_of(w, g, k)->slot[slot]; }

/* ---- Effects of one node ---- */
bool changes_copies(const Node *loop, int k) {
  for (int j = loop_first(loop->loop) + loop_slots(loop->loop); j < loop->nops; j++)
    if (fact_root(loop->ops[j]) == loop->ops[k]) return true;
  return false;
}

static unsigned loop_effects(World *w, const Node *loop, int k) {
  int input = k - loop_first(loop->loop);
  if (input < 0) return 0;
  if (loop_part(loop->loop, input) <= LOOP_ACC) return changes_copies(loop, k) ? HOLDS : CHANGES_ITSELF | HOLDS;
  return fate_of(w, loop->graphs[0], 1 + input)->held ? HOLDS : 0;
}

static unsigned arm_effects(World *w, const Node *branch, int k) {
  unsigned all = 0;
  for (int i = 0; k > 0 && i < branch->ngraphs; i++) {
    const Fate *f = fate_of(w, branch->graphs[i], ir_inner_param(branch, i, k));
    all |= f->changed | (f->held ? HOLDS : 0);
  }
  return all;
}

unsigned changes_operand(World *w, const Node *u, int k) {
  unsigned flags = op_flags[u->op];
  switch (u->op) {
  case OP_LOOP: return loop_effects(w, u, k);
  case OP_SWITCH: return arm_effects(w, u, k);
  case OP_CALL: return CHANGES_CALLED | HOLDS;
  case OP_CADD: return CHANGES_ITSELF | HOLDS;
  default: break;
  }
  bool row = u->ops[k]->type->kind == T_ARRAY && (u->op == OP_ARRAY || (u->op == OP_UPDATE && k > 0));
  bool held = flags & (OPF_H | OPF_W | OPF_A) || (k == 0 && flags & (OPF_N | OPF_P | OPF_D));
  unsigned changed = k == 0 && flags & OPF_W ? CHANGES_ITSELF : 0;
  return held && !row && changes_type(w, u->type) ? changed | HOLDS : changed; /* a row is copied */
}
