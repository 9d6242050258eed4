/* SPDX-License-Identifier: MIT */
/* A loop as several: each of them runs some of its iterations and passes carried values and accumulators on. Stacked
 * results become arrays that each fills its part of. */
#include "opt/index_sets.h"

static bool is_vector_of_numbers(const IrType *t) { return ir_rank(t) == 1 && t->args[0]->kind == T_FLOAT; }

bool pieces_are_possible(const Node *loop) {
  const LoopInfo *l = loop->loop;
  for (int k = loop_slots(l); k < loop_slots(l) + l->nstacked; k++)
    if (!is_vector_of_numbers(loop->type->args[k])) return false;
  for (int k = loop_slots(l); k < loop_captures(l); k++)
    if (ir_rank(loop->ops[loop_first(l) + k]->type) != 1) return false;
  return !l->has_cond;
}

bool pieces_are_independent(World *w, const Node *loop) {
  const LoopInfo *l = loop->loop;
  return !l->ncarried && !(l->naccs && w->strict) && !(loop->graphs[0]->flags & NODE_FAILS);
}

Pieces pieces_of(World *w, const Node *loop, Node **ops) {
  const LoopInfo *l = loop->loop;
  Pieces s = {.w = w, .loop = loop, .ops = ops, .nslots = loop_slots(l), .nparts = loop_slots(l) + l->nstacked};
  s.state = NEW_ARRAY(w->temp, Node *, s.nparts + 1);
  for (int k = 0; k < s.nparts; k++)
    s.state[k] = k < s.nslots ? ops[loop_first(l) + k] : ir_zeros(w, loop->type->args[k], ops, loop->site);
  return s;
}

/* ---- One loop ---------------------------------------------------------------------------------------------------- */
typedef struct Run {
  Pieces *s;
  LoopBuilder *b;
  Node **in; /* the operands from the first slot on, then the arrays of stacked results, as they are inside */
} Run;

/* x, of the graph around. */
static Node *inner(const Run *r, Node *x) {
  const LoopInfo *l = r->s->loop->loop;
  if (x->op == OP_INT) return x;
  for (int k = r->s->nslots; k < loop_inputs(l); k++)
    if (r->s->ops[loop_first(l) + k] == x) return r->in[k];
  return loop_add(r->b, LOOP_CAPTURED, x);
}

static Node *index_of(const Run *r, const Piece *p) {
  World *w = r->s->w;
  Node *i = ir_op2(w, OP_IADD, loop_index(r->b), inner(r, p->from));
  if (!p->skipped) return i;
  Node *early = ir_op2(w, OP_ILT, loop_index(r->b), inner(r, p->before));
  return ir_op2(w, OP_IADD, i, ir_op3(w, OP_SELECT, early, ir_int(w, 0), inner(r, p->skipped)));
}

/* What iteration i of the body makes of the state. */
static void run_iteration(const Run *r, Graph *body, Node *i, Node **state) {
  const Pieces *s = r->s;
  World *w = s->w;
  Node **inputs = NEW_ARRAY(w->temp, Node *, loop_inputs(s->loop->loop) + 1);
  for (int k = 0; k < loop_inputs(s->loop->loop); k++) inputs[k] = k < s->nslots ? state[k] : r->in[k];
  Node *y = edit_iteration(w, s->loop->loop, body, inputs, i);
  for (int k = 0; k < s->nslots; k++) state[k] = ir_get(w, y, k);
  for (int k = s->nslots; k < s->nparts; k++) state[k] = ir_update(w, state[k], &i, 1, ir_get(w, y, k));
}

static void take_operands(Run *r) {
  const Pieces *s = r->s;
  const LoopInfo *l = s->loop->loop;
  int inputs = loop_inputs(l), n = inputs + l->nstacked;
  r->in = NEW_ARRAY(s->w->temp, Node *, n + 1);
  for (int k = 0; k < n; k++) {
    LoopPart part = k < l->ncarried ? LOOP_CARRIED : k < s->nslots || k >= inputs ? LOOP_ACC : LOOP_CAPTURED;
    Node *x = k < s->nslots ? s->state[k] : k < inputs ? s->ops[loop_first(l) + k] : s->state[s->nslots + k - inputs];
    r->in[k] = loop_add(r->b, part, x);
  }
}

void pieces_run(Pieces *s, const Piece *p, int n) {
  const LoopInfo *l = s->loop->loop;
  Run r = {.s = s, .b = loop_open_like(s->w, s->loop)};
  take_operands(&r);
  Node **in = NEW_ARRAY(s->w->temp, Node *, s->nparts + 1), **state = NEW_ARRAY(s->w->temp, Node *, s->nparts + 1);
  for (int k = 0; k < s->nparts; k++) state[k] = in[k] = r.in[k < s->nslots ? k : loop_inputs(l) + k - s->nslots];
  for (int i = 0; i < n; i++) run_iteration(&r, p[i].body, index_of(&r, &p[i]), state);
  for (int k = 0; k < s->nparts; k++) loop_next(r.b, in[k], state[k]);
  loop_close(r.b, p->count, NULL, s->loop->site);
  for (int k = 0; k < s->nparts; k++) s->state[k] = loop_result(r.b, in[k]);
}

void pieces_run_each(Pieces *s, const Piece *p, int n) {
  for (int k = 0; k < n; k++) pieces_run(s, &p[s->loop->loop->down ? n - 1 - k : k], 1);
}

Node *pieces_result(const Pieces *s) {
  Node **xs = NEW_ARRAY(s->w->temp, Node *, s->nparts + 1);
  for (int k = 0; k < s->nparts; k++) xs[k] = s->state[k];
  xs[s->nparts] = s->ops[0];
  return ir_tuple(s->w, s->loop->type, xs);
}
