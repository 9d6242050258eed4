/* SPDX-License-Identifier: MIT */
/* Switches, and the bodies of functions with their tail calls.
 *
 * The arms of a switch are lowered inline with their parameters bound to the registers of the captures; each moves
 * its result to the registers of the join. An array that every arm hands on in place stays in its register. Cheap
 * arms that can't fail are both evaluated, and the result selected; their traps look at the chosen one alone.
 *
 * The result of a function is lowered in tail position: arms return by themselves, and a call of the function itself
 * assigns the parameters and jumps to the start. Functions that call each other last are lowered together: each one's
 * code holds the bodies of the others it may get to, with registers of their own for the parameters. */
#include "lower/lower_internal.h"

typedef struct TailCalls {
  Vec(Func *) funcs;
  bool conses;
} TailCalls;

/* ---- Selection instead of a branch ---- */
/* May the arm be evaluated where another one is chosen, at little cost? Where several iterations run at once, a branch
 * costs more than much arithmetic. */
static bool cheap_arm(Lower *m, Graph *g, bool lanes) {
  Sched *s = sched_of(m, g);
  int work = 0, most = lanes ? LIMIT_LANE_SELECT_WORK : LIMIT_SELECT_WORK;
  for (int i = 0; i < s->n; i++) {
    Node *x = s->order[i];
    bool scalar = op_flags[x->op] & OPF_S && !(op_flags[x->op] & OPF_F) && x->type->kind == T_FLOAT;
    if (!(op_flags[x->op] & OPF_B) && !(lanes && (scalar || ir_is_trap(x)))) return false;
    if (op_flags[x->op] & OPF_S) work += op_flags[x->op] & OPF_B ? 1 : LIMIT_SELECT_WORK;
    if (work > most) return !limit_reached(m->arena, AT_SELECT_WORK);
  }
  return !layout_has_pointers(lower_layout(m->w, g->result->type));
}

/* Is the switch lowered as a selection: are both arms numbers of so little work that both are computed? */
static bool selects(Lower *m, const Node *x) {
  if (x->ngraphs != 2 || x->ops[0]->type->kind != T_BOOL) return false;
  bool lanes = m->lane_bodies && x->ops[0]->op != OP_PARAM; /* that is the same in all iterations */
  return cheap_arm(m, x->graphs[0], lanes) && cheap_arm(m, x->graphs[1], lanes);
}

static bool has_traps(Lower *m, Graph *g) {
  const Sched *s = sched_of(m, g);
  for (int i = 0; i < s->n; i++)
    if (ir_is_trap(s->order[i])) return true;
  return false;
}

/* What the arm yields. Its traps hold where it is chosen: where `guard` is true. */
static Row lower_selected(Fn *fn, Graph *arm, Row *caps, int guard) {
  fn->guard = guard;
  Row row = lower_graph(fn, arm, caps);
  fn->guard = -1;
  return row;
}

static Row lower_select(Frame *fr, Node *x, Row *caps) {
  Fn *fn = fr->fn;
  int cond = frame_reg(fr, x->ops[0]), not_cond = -1;
  if (has_traps(fn->m, x->graphs[0])) not_cond = fn_scalar(fn, OP_NOT, cond, -1);
  Row no = lower_selected(fn, x->graphs[0], caps, not_cond), yes = lower_selected(fn, x->graphs[1], caps, cond);
  int *out = fn_copy(fn, no.r, no.n);
  for (int i = 0; i < no.n; i++) {
    if (no.r[i] == yes.r[i]) continue;
    out[i] = fn_reg(fn, fn->regs.data[no.r[i]].kind);
    fn_emit(fn, LOP_SCALAR, out[i], cond, yes.r[i], no.r[i])->sub = OP_SELECT;
  }
  return (Row){out, no.n};
}

/* ---- Branches ---- */
/* Registers of the captures that no arm may take: they are used later, or twice, or looked into by a virtual part. */
static int *pin_captures(Frame *fr, Node *x, Row *caps, int *npins) {
  Fn *fn = fr->fn;
  int total = 0, n = 0;
  for (int k = 1; k < x->nops; k++) total += caps[k - 1].n;
  int *pins = NEW_ARRAY(fn->m->arena, int, 2 * total + 1);
  Map seen;
  map_init(&seen, fn->m->arena);
  for (int k = 1; k < x->nops; k++)
    for (int i = 0; i < caps[k - 1].n; i++) {
      int r = caps[k - 1].r[i], base = fn->info.data[r].base;
      const void *key = (const void *)(uintptr_t)(r + 1);
      if (map_get(&seen, key) || !frame_can_take(fr, x->ops[k], r)) pins[n++] = r;
      if (base >= 0) pins[n++] = base;
      map_put(&seen, key, fn);
    }
  for (int i = 0; i < n; i++) fn->info.data[pins[i]].pins++;
  *npins = n;
  return pins;
}

static void unpin(Fn *fn, const int *pins, int n) {
  for (int i = 0; i < n; i++) fn->info.data[pins[i]].pins--;
}

static Row *bind_captures(Frame *fr, Node *x) {
  Row *caps = NEW_ARRAY(fr->fn->m->arena, Row, x->nops);
  for (int k = 1; k < x->nops; k++) caps[k - 1] = frame_row(fr, x->ops[k]);
  return caps;
}

/* The registers of the join: those of arrays that all arms leave in place, else new ones. */
static int *join_regs(Frame *fr, Node *x, Row *caps) {
  Fn *fn = fr->fn;
  const Layout *l = lower_layout(fn->m->w, x->type);
  int *join = NEW_ARRAY(fn->m->arena, int, l->n + 1);
  for (int i = 0; i < l->n; i++) join[i] = -1;
  for (int k = 1; k < x->nops; k++) {
    if (x->ops[k]->type->kind != T_ARRAY) continue;
    int r = caps[k - 1].r[0];
    if (!fn->info.data[r].fresh || fn->info.data[r].pins) continue;
    int end = sched_chain_through(fn->m, x, k, 0);
    if (end >= 0) join[end] = r;
  }
  for (int i = 0; i < l->n; i++)
    if (join[i] < 0) join[i] = fn_reg(fn, l->kinds[i]);
  return join;
}

typedef void (*ArmFn)(Fn *fn, Graph *arm, Row *caps, const int *join);

/* Lowers the arms, each by `arm`; control goes to `end` after each, or nowhere if end is -1. */
static void lower_arms(Frame *fr, Node *x, Row *caps, const int *join, ArmFn arm, int end) {
  Fn *fn = fr->fn;
  int n = x->ngraphs, cond = frame_reg(fr, x->ops[0]), *labels = NEW_ARRAY(fn->m->arena, int, n + 1);
  for (int i = 0; i < n; i++) labels[i] = fn_label(fn);
  bool two = x->ops[0]->type->kind == T_BOOL && n == 2;
  if (two) {
    fn_branch(fn, cond, labels[0]);
  } else {
    fn_emit(fn, LOP_SWITCH, -1, cond, -1, -1);
    fn_args(fn, labels, n);
  }
  for (int k = 0; k < n; k++) {
    int i = two ? 1 - k : k, scope = fn_scope(fn);
    if (!two || k) fn_place(fn, labels[i]);
    arm(fn, x->graphs[i], caps, join);
    if (end >= 0 && k + 1 < n) fn_jump(fn, end);
    fn_leave(fn, scope);
  }
  if (end >= 0) fn_place(fn, end);
}

static void arm_to_join(Fn *fn, Graph *arm, Row *caps, const int *join) {
  Row row = lower_graph(fn, arm, caps);
  fn_parallel_move(fn, join, row.r, row.n, true);
}

Row lower_switch(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  Row *caps = bind_captures(fr, x);
  if (selects(fn->m, x)) return lower_select(fr, x, caps);
  if (x->ngraphs == 1) return lower_graph(fn, x->graphs[0], caps);
  int npins, *pins = pin_captures(fr, x, caps, &npins), *join = join_regs(fr, x, caps);
  lower_arms(fr, x, caps, join, arm_to_join, fn_label(fn));
  unpin(fn, pins, npins);
  return (Row){join, lower_slots(fn->m->w, x->type)};
}

/* ---- Functions ---- */
static bool sole_use(Sched *s, const Node *x, int uses) { return uses_count(s->uses, x) == uses; }

static bool is_part(const Node *x, const Node *whole) { return x->op == OP_GET && x->ops[0] == whole; }

/* The tuple that x takes apart and puts together again, or NULL. Units are nothing, in either: so a function that
 * yields one with its token is in tail position where the token alone is handed on. */
static Node *regrouped(const Node *x) {
  int k = 0, part = 0;
  while (x->op == OP_TUPLE && k < x->nops && x->ops[k]->op == OP_UNIT) k++;
  if (x->op != OP_TUPLE || k == x->nops || x->ops[k]->op != OP_GET) return NULL;
  Node *whole = x->ops[k]->ops[0];
  if (whole->type->kind != T_TUPLE) return NULL;
  for (k = 0; k < x->nops; k++) {
    if (x->ops[k]->op == OP_UNIT) continue;
    while (part < whole->type->n && whole->type->args[part]->kind == T_UNIT) part++;
    if (!is_part(x->ops[k], whole) || x->ops[k]->attr.i != part++) return NULL;
  }
  while (part < whole->type->n && whole->type->args[part]->kind == T_UNIT) part++;
  return part == whole->type->n ? whole : NULL;
}

static int parts_of(const Node *x, const Node *whole) {
  int n = 0;
  for (int k = 0; k < x->nops; k++) n += is_part(x->ops[k], whole);
  return n;
}

/* The node whose value the graph returns as it is: behind tuples of all its projections, and checks. Marks in `passed`
 * (which may be NULL) the positions of the nodes that only pass it on. */
static Node *tail_node(Sched *s, bool *passed) {
  Node *x = s->g->result;
  for (;;) {
    Node *inner = NULL;
    if (x->op == OP_AFTER && sole_use(s, x->ops[0], 1)) inner = x->ops[0];
    else if ((inner = regrouped(x)) && !sole_use(s, inner, parts_of(x, inner))) inner = NULL;
    if (!inner) return x;
    if (passed) passed[sched_pos(s, x)] = true;
    for (int k = 0; passed && x->op == OP_TUPLE && k < x->nops; k++)
      if (is_part(x->ops[k], inner)) passed[sched_pos(s, x->ops[k])] = true;
    x = inner;
  }
}

/* Adds the functions that g calls last to `found`, each once. Branches share graphs: `seen` has those looked at too. */
static void find_tail_calls(Lower *m, Graph *g, Map *seen, TailCalls *found) {
  if (map_get(seen, g)) return;
  map_put(seen, g, g);
  Sched *s = sched_of(m, g);
  Node *x = tail_node(s, NULL);
  Func *f = x->op == OP_CALL ? x->attr.func : NULL;
  ConsTail t;
  if (lower_cons_tail(m, s, &t)) {
    f = t.call->attr.func;
    found->conses = true;
  }
  if (f && f->graph && !map_get(seen, f)) {
    map_put(seen, f, f);
    vec_push(m->arena, found->funcs, f);
  }
  for (int i = 0; x->op == OP_SWITCH && i < x->ngraphs; i++) find_tail_calls(m, x->graphs[i], seen, found);
}

bool lower_tail_reaches(Lower *m, Func *from, Func *to, bool *conses) {
  Map seen;
  map_init(&seen, m->arena);
  TailCalls found = {0};
  bool reached = false;
  find_tail_calls(m, from->graph, &seen, &found);
  for (int i = 0; i < found.funcs.len && i < LIMIT_TAIL_GROUP && (conses || !reached); i++) {
    reached |= found.funcs.data[i] == to;
    find_tail_calls(m, found.funcs.data[i]->graph, &seen, &found);
  }
  if (conses) *conses = found.conses;
  return reached;
}

/* Where a tail call of f goes: a place in this function, if f may come back by tail calls to the one it is called
 * from. */
static TailTarget *tail_target(Fn *fn, Func *f) {
  if (!fn->here || !f->graph) return NULL;
  for (int i = 0; i < fn->targets.len; i++)
    if (fn->targets.data[i].func == f) return &fn->targets.data[i];
  if (!lower_tail_reaches(fn->m, f, fn->here, NULL)) return NULL;
  if (fn->targets.len == LIMIT_TAIL_GROUP && limit_reached(fn->m->arena, AT_TAIL_GROUP)) return NULL;
  int n = 0, at = 0;
  for (int k = 0; k < f->nparams; k++) n += lower_slots(fn->m->w, f->params[k]);
  TailTarget t = {f, fn_label(fn), NEW_ARRAY(fn->m->arena, int, n + 1)};
  for (int k = 0; k < f->nparams; k++) {
    const Layout *l = lower_layout(fn->m->w, f->params[k]);
    for (int i = 0; i < l->n; i++) t.regs[at++] = fn_reg(fn, l->kinds[i]);
  }
  vec_push(fn->m->arena, fn->targets, t);
  return &fn->targets.data[fn->targets.len - 1];
}

static void return_row(Fn *fn, Row row) {
  if (fn->root >= 0) {
    lower_cons_return(fn, row.r[0]);
    return;
  }
  fn_emit(fn, LOP_RETURN, -1, -1, -1, -1);
  fn_args(fn, row.r, row.n);
}

static void jump_to(Frame *fr, const TailTarget *target, Node *call) {
  Fn *fn = fr->fn;
  int label = target->label, n = 0, at = 0;
  const int *regs = target->regs;
  for (int k = 0; k < call->nops; k++) n += frame_row(fr, call->ops[k]).n;
  int *args = NEW_ARRAY(fn->m->arena, int, n + 1);
  for (int k = 0; k < call->nops; k++) {
    Row row = frame_row(fr, call->ops[k]);
    for (int i = 0; i < row.n; i++) args[at++] = row.r[i];
  }
  fn_parallel_move(fn, regs, args, n, false);
  fn_emit(fn, LOP_POLL, -1, -1, -1, -1);
  fn_jump(fn, label);
}

static void arm_in_tail(Fn *fn, Graph *arm, Row *caps, const int *join) {
  (void)join;
  lower_body(fn, arm, caps);
}

void lower_body(Fn *fn, Graph *g, Row *params) {
  Frame fr;
  frame_open(&fr, fn, g, params);
  bool *passed = NEW_ARRAY(fn->m->arena, bool, fr.s->n);
  Node *x = tail_node(fr.s, passed);
  ConsTail cons = {0};
  bool conses = fn->root >= 0 && lower_cons_tail(fn->m, fr.s, &cons) && tail_target(fn, cons.call->attr.func);
  if (conses) {
    x = cons.call;
    lower_cons_mark(fr.s, &cons, passed);
  }
  const TailTarget *target = x->op == OP_CALL ? tail_target(fn, x->attr.func) : NULL;
  bool arms = x->op == OP_SWITCH && x->ngraphs > 1 && !selects(fn->m, x);
  if (!target && !arms) {
    return_row(fn, lower_graph(fn, g, params));
    return;
  }
  for (int i = 0; i < fr.s->n; i++)
    if (fr.s->order[i] != x && !passed[i]) lower_node(&fr, fr.s->order[i]);
  fr.pos = fr.s->n;
  if (conses) lower_cons_link(&fr, &cons);
  if (target) {
    jump_to(&fr, tail_target(fn, x->attr.func), x);
    return;
  }
  Row *caps = bind_captures(&fr, x);
  int npins, *pins = pin_captures(&fr, x, caps, &npins);
  lower_arms(&fr, x, caps, NULL, arm_in_tail, -1);
  unpin(fn, pins, npins);
}
