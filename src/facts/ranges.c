/* SPDX-License-Identifier: MIT */
/* Frames, and the facts that hold in them: of the arm of a branch its condition, of the body of a loop the range of
 * its index, its condition, and invariants of the carried numbers.
 *
 * Invariants are found by guessing and striking out (Houdini, Flanagan and Leino 2001): the candidates are bounds by
 * the value at the start, steady growth, and what conditions and checks of the loop compare. Those that don't hold at
 * the start go; the others are assumed of an iteration, and those that the next one doesn't keep go, until all are
 * kept. */
#include "facts/ranges.h"
#include <string.h>

/* ---- Frames ---------------------------------------------------------------------------------- */
static Frame *frame_new(Ranges *p, FrameKind kind, Frame *up, Node *at, Graph *g) {
  Frame *f = NEW(p->w->temp, Frame);
  *f = (Frame){.kind = kind, .up = up, .outer = up, .at = at, .g = g, .depth = up ? up->depth + 1 : 0};
  map_init(&f->linears, p->w->temp);
  map_init(&f->atoms, p->w->temp);
  map_init(&f->children, p->w->temp);
  map_init(&f->edges, p->w->temp);
  p->frames--;
  return f;
}

Frame *frame_root(Ranges *p, Graph *g) { return frame_new(p, FRAME_ROOT, NULL, NULL, g); }

/* The body or the condition of a loop, for one iteration. */
static Frame *frame_of_iteration(Ranges *p, FrameKind kind, Frame *up, const Frame *head, Graph *g) {
  Frame *f = frame_new(p, kind, up, head->at, g);
  f->outer = head->outer;
  return f;
}

bool frame_inside(const Frame *f, const Frame *outer, const Node *at) {
  while (f->depth > outer->depth) {
    if (f->at == at && f->outer == outer) return true;
    f = f->up;
  }
  return false;
}

bool frame_resolve(Ranges *p, Frame *f, const Node *param, Frame **of, Node **x) {
  int64_t k = param->attr.i;
  if (f->kind == FRAME_ROOT || f->kind == FRAME_HEAD) return false;
  *of = f->outer;
  if (f->kind == FRAME_ARM) {
    *x = f->at->ops[1 + k];
    return true;
  }
  const LoopInfo *l = f->at->loop;
  bool cond = f->kind != FRAME_BODY;
  int input = cond ? loop_cond_input(l, (int)k) : (int)k - 1;
  if (k > 0 && loop_part(l, input) == LOOP_CAPTURED) {
    *x = f->at->ops[loop_first(l) + input];
    return true;
  }
  if (f->kind == FRAME_EXIT || f->kind == FRAME_FIRST) {
    bool end = f->kind == FRAME_EXIT;
    if (k == 0) *x = end ? ir_get(p->w, f->at, f->at->type->n - 1) : ir_int(p->w, 0);
    else *x = end ? ir_get(p->w, f->at, (int)k - 1) : f->at->ops[k - 1];
    return true;
  }
  if (k > l->ncarried) return false;
  *of = f;
  while ((*of)->kind != FRAME_HEAD) *of = (*of)->up;
  *x = ir_param(p->w, (int)k, param->type);
  return true;
}

static void walk_on(Ranges *p, const Node *x) {
  if ((uintptr_t)map_get(&p->walked, x) == p->walk) return;
  map_put(&p->walked, x, (void *)p->walk);
  vec_push(p->w->temp, p->worklist, x);
}

bool frame_depends(Ranges *p, Frame *f, const Node *from, const Node *to) {
  if (!p->walk++) map_init(&p->walked, p->w->temp);
  p->worklist.len = 0;
  walk_on(p, from);
  for (int k = 0; k < p->worklist.len; k++) {
    const Node *x = p->worklist.data[k];
    if (x == to) return true;
    for (int i = 0; i < x->nops; i++) walk_on(p, x->ops[i]);
    for (const Guard *g = map_get(&f->edges, x); g; g = g->next) walk_on(p, g->node);
  }
  return false;
}

/* ---- Conditions ---------------------------------------------------------------------------------- */
static void add_fact(Ranges *p, Facts *out, Lin e, const Guard *guards) {
  if (!e.bad && e.n) vec_push(p->w->temp, *out, ((Fact){e, guards, NULL}));
}

/* by * (a - b) + c >= 0 */
static void add_difference(Ranges *p, Facts *out, const Linear *a, const Linear *b, int by, int64_t c) {
  Lin start = lin_int(c), e = lin_add(&start, &a->lin, by);
  add_fact(p, out, lin_add(&e, &b->lin, -by), guards_join(p, a->guards, b->guards));
}

/* Two numbers that differ, one of which is known to be at least the other. */
static void add_distinct(Ranges *p, Frame *in, Facts *out, const Linear *a, const Linear *b) {
  for (int by = -1; by <= 1; by += 2) {
    const Guard *guards = guards_join(p, a->guards, b->guards);
    Lin zero = lin_int(0), e = lin_add(&zero, &a->lin, by);
    e = lin_add(&e, &b->lin, -by);
    if (!prove(p, in, NULL, e, false, &guards)) continue;
    Lin one = lin_int(1);
    add_fact(p, out, lin_add(&e, &one, -1), guards);
  }
}

/* What follows for frame `in` if bool x of frame f is `truth`. */
static void add_condition(Ranges *p, Frame *in, Frame *f, Node *x, bool truth, Facts *out, int depth) {
  if (depth > LIMIT_CONDITION_DEPTH && limit_reached(p->w->arena, AT_CONDITION_DEPTH)) return;
  Frame *of;
  Node *outer;
  if (x->op == OP_PARAM && frame_resolve(p, f, x, &of, &outer)) {
    add_condition(p, in, of, outer, truth, out, depth + 1);
    return;
  }
  switch (x->op) {
  case OP_NOT: add_condition(p, in, f, x->ops[0], !truth, out, depth + 1); break;
  case OP_AND:
  case OP_OR:
    if (truth != (x->op == OP_AND)) break;
    add_condition(p, in, f, x->ops[0], truth, out, depth + 1);
    add_condition(p, in, f, x->ops[1], truth, out, depth + 1);
    break;
  case OP_SWITCH: { /* one that gives the other value in one arm: it was the other arm */
    Frame **arms = x->ngraphs == 2 && x->ops[0]->type->kind == T_BOOL ? frame_children(p, f, x) : NULL;
    for (int k = 0; arms && k < 2; k++) {
      const Node *r = arms[1 - k]->g->result;
      if (r->op != OP_BOOL || (r->attr.i != 0) == truth) continue;
      add_condition(p, in, f, x->ops[0], k == 1, out, depth + 1);
      add_condition(p, in, arms[k], arms[k]->g->result, truth, out, depth + 1);
    }
    break;
  }
  case OP_ILT:
  case OP_ILE:
  case OP_IEQ:
  case OP_INE: {
    const Linear *a = linear(p, f, x->ops[0]), *b = linear(p, f, x->ops[1]);
    if (x->op == OP_ILT) add_difference(p, out, a, b, truth ? -1 : 1, truth ? -1 : 0);
    else if (x->op == OP_ILE) add_difference(p, out, a, b, truth ? -1 : 1, truth ? 0 : -1);
    else if (truth == (x->op == OP_IEQ)) {
      add_difference(p, out, a, b, 1, 0);
      add_difference(p, out, a, b, -1, 0);
    } else add_distinct(p, in, out, a, b);
    break;
  }
  default: break;
  }
}

/* ---- Checks that have been passed ------------------------------------------------------------------- */
static void add_check(Ranges *p, Frame *f, Node *x, Facts *out) {
  bool compares = x->op != OP_CHECK;
  Linear zero = {0}, *a = compares ? linear(p, f, x->ops[0]) : NULL;
  const Linear *b = compares && x->nops > 1 ? linear(p, f, x->ops[1]) : NULL;
  switch (x->op) {
  case OP_CHECK_NAT: add_difference(p, out, a, &zero, 1, 0); break;
  case OP_CHECK_INDEX:
    add_difference(p, out, a, &zero, 1, 0);
    add_difference(p, out, b, a, 1, -1);
    break;
  case OP_CHECK_SIZE:
    add_difference(p, out, a, b, 1, 0);
    add_difference(p, out, b, a, 1, 0);
    break;
  case OP_CHECK_SLICE:
    add_difference(p, out, a, &zero, 1, 0);
    add_difference(p, out, b, a, 1, 0);
    add_difference(p, out, linear(p, f, x->ops[2]), b, 1, 0);
    break;
  case OP_CHECK: add_condition(p, f, f, x->ops[0], true, out, 0); break;
  default: break;
  }
}

/* ---- Loops --------------------------------------------------------------------------------------------- */
typedef struct Loop {
  Ranges *p;
  Frame *f, *head, *body, *cond;
  Node *x;
  const LoopInfo *l;
  Facts candidates;
  int fixed; /* facts of the head that need no proof */
} Loop;

static Lin state_atom(Loop *lp, int k) {
  return lin_atom(atom_of(lp->p, lp->head, ir_param(lp->p->w, k, lp->head->g->params[k])));
}

/* e with the index and the carried numbers replaced: index by `i`, carried k by at(k). */
typedef Linear *(*StateFn)(Loop *lp, int k);
static Lin with_state(Loop *lp, const Lin *e, const Lin *i, StateFn at, const Guard **guards) {
  Lin r = lin_int(e->c);
  for (int k = 0; k < e->n; k++) {
    const Atom *a = e->t[k].atom;
    Lin x = lin_atom(e->t[k].atom);
    if (a->frame == lp->head && a->node->op == OP_PARAM) {
      Linear *by = a->node->attr.i ? at(lp, (int)a->node->attr.i - 1) : NULL;
      x = by ? by->lin : *i;
      if (by) *guards = guards_join(lp->p, *guards, by->guards);
    }
    r = lin_add(&r, &x, e->t[k].coef);
  }
  return r;
}

static Linear *at_start(Loop *lp, int k) { return linear(lp->p, lp->f, lp->x->ops[loop_first(lp->l) + k]); }
static Linear *at_next(Loop *lp, int k) { return linear(lp->p, lp->body, ir_get(lp->p->w, lp->body->g->result, k)); }
static Linear *at_end(Loop *lp, int k) { return linear(lp->p, lp->f, ir_get(lp->p->w, lp->x, k)); }

/* The difference that a saturating one that is at least 1 doesn't exceed. */
static Linear difference(Ranges *p, Frame *f, Node *x) {
  if (x->op != OP_ISUBS) return *linear(p, f, x);
  Linear a = difference(p, f, x->ops[0]), *b = linear(p, f, x->ops[1]);
  return (Linear){.lin = lin_add(&a.lin, &b->lin, -1), .guards = guards_join(p, a.guards, b->guards)};
}

static void add_index_range(Loop *lp) {
  Ranges *p = lp->p;
  Linear i = {.lin = state_atom(lp, 0)}, zero = {0}, last = {.lin = lin_int(INT64_MAX - 1)};
  add_difference(p, &lp->head->facts, &i, &zero, 1, 0);
  if (lp->l->has_cond) {
    add_difference(p, &lp->head->facts, &last, &i, 1, 0);
    return;
  }
  Node *trips = lp->x->ops[0];
  add_difference(p, &lp->head->facts, linear(p, lp->f, trips), &i, 1, -1);
  while (trips->op == OP_CHECK_DEPTH || trips->op == OP_AFTER) trips = trips->ops[0];
  if (trips->op != OP_IMAX || trips->ops[1]->op != OP_INT || trips->ops[1]->attr.i > 0) return;
  Linear most = difference(p, lp->f, trips->ops[0]);
  add_difference(p, &lp->head->facts, &most, &i, 1, -1);
}

static bool is_number(Loop *lp, int k) { return k < lp->l->ncarried && lp->head->g->params[1 + k]->kind == T_INT; }

/* Is e about carried numbers, and what was there before the loop? */
static bool about_state(Loop *lp, const Lin *e) {
  bool carried = false;
  for (int k = 0; k < e->n; k++) {
    const Atom *a = e->t[k].atom;
    if (a->frame->depth > lp->head->depth) return false;
    carried |= a->frame == lp->head && a->node->attr.i > 0;
  }
  return carried && !e->bad;
}

static bool same_form(const Lin *a, const Lin *b) {
  Lin d = lin_add(a, b, -1);
  return !d.bad && d.n == 0 && d.c == 0;
}

static void candidate(Loop *lp, Lin e) {
  if (!about_state(lp, &e)) return;
  for (int k = 0; k < lp->candidates.len; k++)
    if (same_form(&lp->candidates.data[k].lin, &e)) return;
  if (lp->candidates.len == LIMIT_INVARIANTS && limit_reached(lp->p->w->arena, AT_INVARIANTS)) return;
  vec_push(lp->p->w->temp, lp->candidates, ((Fact){e, NULL, NULL}));
}

/* Facts, and the same with one step to spare: what held before the step that ends the loop. */
static void candidates_from(Loop *lp, const Facts *facts) {
  for (int k = 0; k < facts->len; k++) {
    Lin one = lin_int(1), e = facts->data[k].lin;
    candidate(lp, e);
    candidate(lp, lin_add(&e, &one, 1));
  }
}

static void candidates_of_number(Loop *lp, int k) {
  Lin x = state_atom(lp, 1 + k), i = state_atom(lp, 0), zero = lin_int(0);
  Linear *start = at_start(lp, k);
  Lin up = lin_add(&x, &start->lin, -1);
  candidate(lp, up);
  candidate(lp, lin_add(&zero, &up, -1));
  candidate(lp, x);
  const Node *next = ir_get(lp->p->w, lp->body->g->result, k), *before = next->op == OP_IADD ? next->ops[0] : next;
  if (next == before || before->op != OP_PARAM || before->attr.i != 1 + k || next->ops[1]->op != OP_INT) return;
  int64_t step = next->ops[1]->attr.i;
  if (step > 1 << 16 || step < -(1 << 16)) return;
  Lin line = lin_add(&up, &i, -step);
  candidate(lp, line);
  candidate(lp, lin_add(&zero, &line, -1));
}

/* What comparisons and checks directly in the body say of the state. */
static void candidates_of_body(Loop *lp) {
  Ranges *p = lp->p;
  Node **nodes;
  int n = ir_order(p->w->temp, lp->body->g, &nodes);
  for (int k = 0; k < n; k++) {
    Facts found = {0};
    switch (nodes[k]->op) {
    case OP_ILT:
    case OP_ILE:
    case OP_IEQ: add_condition(p, lp->body, lp->body, nodes[k], true, &found, 0); break;
    case OP_CHECK_INDEX:
    case OP_CHECK_SLICE:
    case OP_CHECK_NAT: add_check(p, lp->body, nodes[k], &found); break;
    default: continue;
    }
    candidates_from(lp, &found);
  }
}

/* The frames of an iteration, under the facts that the head has now. */
static void open_iteration(Loop *lp) {
  Ranges *p = lp->p;
  lp->body = frame_of_iteration(p, FRAME_BODY, lp->head, lp->head, lp->x->graphs[0]);
  lp->cond = NULL;
  if (!lp->l->has_cond) return;
  Graph *g = lp->x->graphs[1];
  lp->cond = frame_of_iteration(p, FRAME_COND, lp->head, lp->head, g);
  add_condition(p, lp->body, frame_new(p, FRAME_FIRST, lp->f, lp->x, g), g->result, true, &lp->body->facts, 0);
  add_condition(p, lp->body, frame_of_iteration(p, FRAME_HELD, lp->body, lp->head, g), g->result, true,
                &lp->body->facts, 0);
}

static void strike_out_at_start(Loop *lp) {
  Ranges *p = lp->p;
  Facts kept = {0};
  for (int k = 0; k < lp->candidates.len; k++) {
    Fact c = lp->candidates.data[k];
    Lin zero = lin_int(0);
    Lin e = with_state(lp, &c.lin, &zero, at_start, &c.guards);
    if (prove(p, lp->f, lp->x, e, true, &c.guards)) vec_push(p->w->temp, kept, c);
  }
  lp->candidates = kept;
}

/* One round: true if all candidates are kept by an iteration. */
static bool strike_out_unkept(Loop *lp) {
  Ranges *p = lp->p;
  Facts kept = {0};
  lp->head->facts.len = lp->fixed;
  for (int k = 0; k < lp->candidates.len; k++) vec_push(p->w->temp, lp->head->facts, lp->candidates.data[k]);
  open_iteration(lp);
  for (int k = 0; k < lp->candidates.len; k++) {
    Fact c = lp->candidates.data[k];
    Lin one = lin_int(1), i = state_atom(lp, 0), next = lin_add(&i, &one, 1);
    const Guard *used = NULL;
    Lin e = with_state(lp, &c.lin, &next, at_next, &used);
    if (!prove(p, lp->body, NULL, e, true, &used)) continue;
    for (; used; used = used->next)
      if (!frame_inside(used->frame, lp->f, lp->x)) c.guards = guard_add(p, c.guards, used->frame, used->node);
    vec_push(p->w->temp, kept, c);
  }
  bool all = kept.len == lp->candidates.len;
  lp->candidates = kept;
  return all;
}

/* Whatever the last round assumed but didn't keep must not be left. */
static void find_invariants(Loop *lp) {
  bool any = false;
  for (int k = 0; k < lp->l->ncarried; k++) any |= is_number(lp, k);
  open_iteration(lp);
  if (!any || lp->p->fuel <= 0) return;
  for (int k = 0; k < lp->l->ncarried; k++)
    if (is_number(lp, k)) candidates_of_number(lp, k);
  candidates_from(lp, &lp->body->facts);
  candidates_of_body(lp);
  strike_out_at_start(lp);
  for (int round = 0; lp->candidates.len && !strike_out_unkept(lp); round++)
    if (lp->p->fuel <= 0 || (round == LIMIT_INVARIANT_ROUNDS && limit_reached(lp->p->w->arena, AT_INVARIANT_ROUNDS)))
      lp->candidates.len = 0;
  if (lp->candidates.len) return;
  lp->head->facts.len = lp->fixed;
  open_iteration(lp);
}

static Frame **loop_frames(Ranges *p, Frame *f, Node *x) {
  Loop *lp = NEW(p->w->temp, Loop);
  *lp = (Loop){.p = p, .f = f, .x = x, .l = x->loop};
  lp->head = frame_new(p, FRAME_HEAD, f, x, x->graphs[0]);
  add_index_range(lp);
  lp->fixed = lp->head->facts.len;
  find_invariants(lp);
  Frame **out = NEW_ARRAY(p->w->temp, Frame *, 3);
  out[0] = lp->head;
  out[1] = lp->body;
  out[2] = lp->cond;
  return out;
}

/* What holds of the results of loop x of f: the invariants, and that its condition doesn't. */
static void add_results(Ranges *p, Frame *f, Node *x, Facts *out) {
  Frame **frames = frame_children(p, f, x);
  if (!frames) return;
  Loop lp = {.p = p, .f = f, .x = x, .l = x->loop, .head = frames[0], .body = frames[1]};
  Linear *trips = linear(p, f, ir_get(p->w, x, x->type->n - 1));
  for (int k = 0; k < lp.head->facts.len; k++) {
    Fact c = lp.head->facts.data[k];
    if (!about_state(&lp, &c.lin)) continue;
    Lin e = with_state(&lp, &c.lin, &trips->lin, at_end, &c.guards);
    add_fact(p, out, e, c.guards);
  }
  if (!x->loop->has_cond) return;
  Frame *end = frame_new(p, FRAME_EXIT, f, x, x->graphs[1]);
  add_condition(p, f, end, end->g->result, false, out, 0);
}

/* ---- Frames of nodes ------------------------------------------------------------------------------------ */
static Frame **arm_frames(Ranges *p, Frame *f, Node *s) {
  Frame **arms = NEW_ARRAY(p->w->temp, Frame *, s->ngraphs);
  bool two = s->ops[0]->type->kind == T_BOOL;
  for (int k = 0; k < s->ngraphs; k++) arms[k] = frame_new(p, FRAME_ARM, f, s, s->graphs[k]);
  map_put(&f->children, s, arms);
  for (int k = 0; k < s->ngraphs; k++) {
    if (two) {
      add_condition(p, arms[k], f, s->ops[0], k == 1, &arms[k]->facts, 0);
    } else if (k + 1 < s->ngraphs) {
      Linear number = {.lin = lin_int(k)}, *sel = linear(p, f, s->ops[0]);
      add_difference(p, &arms[k]->facts, sel, &number, 1, 0);
      add_difference(p, &arms[k]->facts, sel, &number, -1, 0);
    }
  }
  return arms;
}

Frame **frame_children(Ranges *p, Frame *f, Node *x) {
  Frame **known = map_get(&f->children, x);
  if (known) return known;
  if (p->frames < x->ngraphs + 3 && limit_reached(p->w->arena, AT_PROOF_FRAMES)) return NULL;
  if (x->op == OP_SWITCH) return arm_frames(p, f, x);
  if (f->opening == x) return NULL;
  Node *outer = f->opening;
  f->opening = x;
  known = loop_frames(p, f, x);
  f->opening = outer;
  map_put(&f->children, x, known);
  return known;
}

void frame_late_facts(Ranges *p, Frame *f) {
  if (f->has_late) return;
  f->has_late = true; /* what asks meanwhile gets those of earlier nodes */
  Node **nodes;
  int n = ir_order(p->w->temp, f->g, &nodes);
  for (int k = 0; k < n; k++) {
    Facts found = {0};
    switch (nodes[k]->op) {
    case OP_CHECK_INDEX:
    case OP_CHECK_SLICE:
    case OP_CHECK_SIZE:
    case OP_CHECK_NAT:
    case OP_CHECK: add_check(p, f, nodes[k], &found); break;
    case OP_LOOP: add_results(p, f, nodes[k], &found); break;
    default: continue;
    }
    for (int i = 0; i < found.len; i++) {
      found.data[i].after = nodes[k];
      vec_push(p->w->temp, f->late, found.data[i]);
    }
  }
}
