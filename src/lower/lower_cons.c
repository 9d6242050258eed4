/* SPDX-License-Identifier: MIT */
/* Tail calls modulo constructor: `x :: map f r` in tail position makes the cell at once, with the field that the
 * call would fill left empty, and goes on as a tail call whose result goes into that field.
 *
 * A function that has such calls keeps two registers: `root`, the outermost value made so far, NULL in the
 * beginning, and `hole`, the address of the field that is still empty. To return v is to put it into the hole and
 * return the root. If the function fails, the root is released like any register, with a NULL where the hole is. */
#include "lower/lower_internal.h"

static bool is_pointer(Lower *m, const IrType *t) {
  const Layout *l = lower_layout(m->w, t);
  return l->n == 1 && l->kinds[0] == R_PTR;
}

/* The call that x is the value of, used for nothing else; with an effect, its token is what the graph returns. */
static Node *called(Lower *m, const Sched *s, Node *x) {
  Node *call = x->op == OP_GET && x->attr.i == 0 ? x->ops[0] : x;
  if (call->op != OP_CALL || !call->attr.func->graph || uses_count(s->uses, x) != 1 || !is_pointer(m, call->type))
    return NULL;
  if (call == x) return call;
  const Node *r = s->g->result, *token = r->op == OP_TUPLE && r->nops == 2 ? r->ops[1] : NULL;
  bool handed_on =
      token && token->op == OP_GET && token->ops[0] == call && token->attr.i == 1 && uses_count(s->uses, token) == 1;
  return handed_on && uses_count(s->uses, call) == 2 ? call : NULL;
}

static bool find(Lower *m, const Sched *s, Node *x, ConsTail *t) {
  if (x->op != OP_INJ || x->ngraphs || uses_count(s->uses, x) > 1) return false;
  if (t->n == LIMIT_CONS_DEPTH) return !limit_reached(m->arena, AT_CONS_DEPTH);
  Node *payload = x->ops[0], **parts = payload->op == OP_TUPLE ? payload->ops : &x->ops[0];
  int n = payload->op == OP_TUPLE ? payload->nops : 1, level = t->n++;
  if (payload->op == OP_TUPLE && uses_count(s->uses, payload) != 1) return false;
  t->injs[level] = x;
  for (int k = n - 1; k >= 0; k--) {
    t->part[level] = k;
    t->call = called(m, s, parts[k]);
    if (t->call || find(m, s, parts[k], t)) return true;
    t->n = level + 1;
  }
  t->n = level;
  return false;
}

bool lower_cons_tail(Lower *m, const Sched *s, ConsTail *t) {
  Node *x = s->g->result;
  if (x->op == OP_TUPLE && x->nops == 2 && x->ops[1]->type->kind == T_TOKEN) x = x->ops[0];
  t->n = 0;
  return find(m, s, x, t);
}

void lower_cons_mark(const Sched *s, const ConsTail *t, bool *waits) {
  for (int i = sched_pos(s, t->call); i < s->n; i++) {
    waits[i] |= s->order[i] == t->call;
    for (int k = 0; k < s->order[i]->nops; k++) waits[i] |= waits[sched_pos(s, s->order[i]->ops[k])];
  }
}

void lower_cons_open(Fn *fn) {
  fn->root = fn_reg(fn, R_PTR);
  fn->hole = fn_reg(fn, R_RAW);
  fn_emit(fn, LOP_NULLPTR, fn->root, -1, -1, -1);
}

/* The box of level `k`, `inner` standing for what leads on. */
static int make_box(Frame *fr, const ConsTail *t, int k, int inner, int *offset) {
  Fn *fn = fr->fn;
  Node *x = t->injs[k], *payload = x->ops[0];
  int n = lower_slots(fn->m->w, payload->type), *fields = NEW_ARRAY(fn->m->arena, int, n + 1);
  bool tuple = payload->op == OP_TUPLE;
  *offset = 0;
  for (int i = 0, at = 0; i < (tuple ? payload->nops : 1); i++) {
    bool here = !tuple || i == t->part[k];
    Row row = here ? (Row){&inner, 1} : frame_row(fr, payload->ops[i]);
    if (here) *offset = at;
    for (int j = 0; j < row.n; j++) fields[at++] = row.r[j];
  }
  if (x->attr.i > LIMIT_TAG) lower_error(fn->m, "a variant of more than %d constructors", LIMIT_TAG);
  int64_t desc = lower_desc_index(fn->m, x->type);
  int box = fn_reg(fn, R_PTR);
  fn_emit(fn, LOP_NEW_BOX, box, -1, (int)x->attr.i, -1)->imm.i = desc;
  fn_args(fn, fields, n);
  return box;
}

static void fill_hole(Fn *fn, int value) { fn_emit(fn, LOP_STORE, value, fn->hole, -1, 0)->imm.i = 1; }

void lower_cons_link(Frame *fr, const ConsTail *t) {
  Fn *fn = fr->fn;
  int box = fn_reg(fn, R_PTR), hole = fn_reg(fn, R_RAW), offset, first = fn_reg(fn, R_INT);
  fn_emit(fn, LOP_NULLPTR, box, -1, -1, -1);
  for (int k = t->n - 1; k >= 0; k--) {
    box = make_box(fr, t, k, box, &offset);
    if (k == t->n - 1) fn_emit(fn, LOP_FIELD_AT, hole, box, offset, -1);
  }
  int more = fn_label(fn), end = fn_label(fn);
  fn_emit(fn, LOP_IS_NULL, first, fn->root, -1, -1);
  fn_branch(fn, first, more);
  fn_move(fn, fn->root, box, false);
  fn_jump(fn, end);
  fn_place(fn, more);
  fill_hole(fn, box);
  fn_place(fn, end);
  fn_move(fn, fn->hole, hole, false);
}

void lower_cons_return(Fn *fn, int value) {
  int none = fn_reg(fn, R_INT), more = fn_label(fn);
  fn_emit(fn, LOP_IS_NULL, none, fn->root, -1, -1);
  fn_branch(fn, none, more);
  fn_emit(fn, LOP_RETURN, -1, -1, -1, -1);
  fn_args(fn, &value, 1);
  fn_place(fn, more);
  fill_hole(fn, value);
  fn_emit(fn, LOP_RETURN, -1, -1, -1, -1);
  fn_args(fn, &fn->root, 1);
}
