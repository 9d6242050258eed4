/* SPDX-License-Identifier: MIT */
/* Loops and functions made from others: edit.h says how. A loop is copied operand by operand into a LoopBuilder; the
 * old body is then instantiated over the new parameters. */
#include "ir/edit.h"

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
LoopEdit *edit_loop_into(World *w, LoopBuilder *b, const Node *loop, Node **ops, Graph **graphs) {
  LoopEdit *e = NEW(w->temp, LoopEdit);
  const LoopInfo *l = e->l = loop->loop;
  e->w = w;
  e->loop = loop;
  e->b = b;
  e->count = l->has_cond ? NULL : ops[0];
  e->ops = NEW_ARRAY(w->temp, Node *, loop_inputs(l) + 1);
  for (int k = 0; k < loop_inputs(l); k++) e->ops[k] = ops[loop_first(l) + k];
  e->body = graphs[0];
  e->cond = l->has_cond ? graphs[1] : NULL;
  e->in = NEW_ARRAY(w->temp, Node *, loop_inputs(l) + 1);
  e->args = NEW_ARRAY(w->temp, Node *, loop_inputs(l) + 1);
  e->args[0] = loop_index(b);
  map_init(&e->over, w->temp);
  map_init(&e->over_cond, w->temp);
  return e;
}

LoopEdit *edit_loop(World *w, const Node *loop, Node **ops, Graph **graphs) {
  LoopEdit *e = edit_loop_into(w, loop_open_like(w, loop), loop, ops, graphs);
  e->own = true;
  return e;
}

void edit_input(LoopEdit *e, int k) { e->args[1 + k] = e->in[k] = loop_add(e->b, loop_part(e->l, k), e->ops[k]); }

void edit_inputs(LoopEdit *e) {
  if (e->done >= EDIT_TAKEN) return;
  for (int k = 0; k < loop_inputs(e->l); k++)
    if (!e->args[1 + k]) edit_input(e, k);
  e->done = EDIT_TAKEN;
}

void edit_capture(LoopEdit *e, int g, const Node *old, Node *x) {
  edit_inputs(e);
  map_put(g ? &e->over_cond : &e->over, old, loop_add(e->b, LOOP_CAPTURED, x));
}

static int parts_of(const LoopEdit *e) { return loop_slots(e->l) + e->l->nstacked; }

void edit_body(LoopEdit *e, Node **results, Node **extra, int n) {
  if (e->done >= EDIT_MADE) return;
  edit_inputs(e);
  World *w = e->w;
  Graph *body = e->body;
  int parts = parts_of(e);
  if (results || n) {
    Node **all = NEW_ARRAY(w->temp, Node *, parts + n);
    for (int k = 0; k < parts; k++)
      all[k] = !results ? ir_get(w, body->result, k) : results[k] ? results[k] : ir_unit(w);
    for (int k = 0; k < n; k++) all[parts + k] = extra[k];
    body = ir_graph(w, body->params, body->nparams, ir_record(w, all, parts + n), body->name);
  }
  Node *r = ir_instantiate_over(w, body, e->args, 0, &e->over);
  e->next = NEW_ARRAY(w->temp, Node *, parts + 1);
  for (int k = 0; k < parts; k++) e->next[k] = results && !results[k] ? NULL : ir_get(w, r, k);
  for (int k = 0; k < n; k++) extra[k] = ir_get(w, r, parts + k);
  e->done = EDIT_MADE;
}

void edit_yield(LoopEdit *e) {
  if (e->done >= EDIT_YIELDED) return;
  edit_body(e, NULL, NULL, 0);
  int slots = loop_slots(e->l);
  e->number = NEW_ARRAY(e->w->temp, int, e->l->nstacked + 1);
  for (int k = 0; k < slots; k++)
    if (e->in[k]) loop_next(e->b, e->in[k], e->next[k]);
  for (int k = 0; k < e->l->nstacked; k++)
    e->number[k] = e->next[slots + k] ? loop_stack_as(e->b, e->next[slots + k], e->l, k) : -1;
  e->done = EDIT_YIELDED;
}

/* Over `args`; NULL: the loop is counted. */
static Node *edit_condition(const LoopEdit *e) {
  if (!e->cond) return NULL;
  return ir_instantiate_over(e->w, e->cond, loop_cond_args(e->w, e->l, e->cond, e->args), 0, &e->over_cond);
}

void edit_close(LoopEdit *e) {
  if (e->done >= EDIT_CLOSED) return;
  edit_yield(e);
  World *w = e->w;
  int slots = loop_slots(e->l), parts = parts_of(e);
  if (e->own) loop_close(e->b, e->count, edit_condition(e), e->loop->site);
  e->results = NEW_ARRAY(w->temp, Node *, parts + 1);
  for (int k = 0; k < parts; k++) {
    bool kept = k < slots ? e->in[k] != NULL : e->number[k - slots] >= 0;
    if (!kept) e->results[k] = ir_zero(w, e->loop->type->args[k]);
    else if (k < slots) e->results[k] = loop_result(e->b, e->in[k]);
    else e->results[k] = ir_sized_as(w, e->l, e->ops, e->body, k - slots, loop_stacked(e->b, e->number[k - slots]));
  }
  e->results[parts] = loop_trips(e->b);
  e->done = EDIT_CLOSED;
}

Node *edit_value(LoopEdit *e) {
  edit_close(e);
  Node *value = loop_value(e->b);
  bool same = value->type == e->loop->type;
  for (int k = 0; same && k < value->type->n; k++) same = e->results[k] == ir_get(e->w, value, k);
  return same ? value : ir_tuple(e->w, e->loop->type, e->results);
}

Node *edit_operand(World *w, const Node *n, int k, Node *x) {
  Node **ops = NEW_ARRAY(w->temp, Node *, n->nops);
  for (int i = 0; i < n->nops; i++) ops[i] = i == k ? x : n->ops[i];
  return ir_rebuild(w, n, ops, n->graphs);
}

Node *edit_iteration(World *w, const LoopInfo *l, Graph *body, Node **inputs, Node *i) {
  Node **args = NEW_ARRAY(w->temp, Node *, body->nparams);
  args[0] = i;
  for (int k = 0; k < loop_inputs(l); k++)
    args[1 + k] = loop_part(l, k) == LOOP_SLICED ? ir_index(w, inputs[k], &i, 1) : inputs[k];
  return ir_instantiate(w, body, args, 0);
}

Node *ir_loop_stacking(World *w, const Node *loop, Node **ops, Node *result, Node **extra, int n, Node **arrays) {
  LoopEdit *e = edit_loop(w, loop, ops, loop->graphs);
  int parts = parts_of(e), *number = NEW_ARRAY(w->temp, int, n + 1);
  Node **results = NEW_ARRAY(w->temp, Node *, parts + 1), **more = NEW_ARRAY(w->temp, Node *, n + 1);
  for (int k = 0; k < parts; k++) results[k] = ir_get(w, result, k);
  for (int k = 0; k < n; k++) more[k] = extra[k];
  edit_body(e, results, more, n);
  edit_yield(e);
  for (int k = 0; k < n; k++) number[k] = loop_stack(e->b, more[k]);
  edit_close(e);
  for (int k = 0; k < n; k++) arrays[k] = loop_stacked(e->b, number[k]);
  return edit_value(e);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */
FuncEdit edit_func(World *w, const Func *f) {
  return (FuncEdit){.w = w, .f = f, .args = NEW_ARRAY(w->temp, Node *, f->nparams + 1)};
}

Node *edit_param(FuncEdit *e, IrType *t) {
  vec_push(e->w->arena, e->types, t);
  return ir_param(e->w, e->types.len - 1, t);
}

Node *edit_func_result(const FuncEdit *e) { return ir_instantiate(e->w, e->f->graph, e->args, 0); }

Func *edit_func_close(FuncEdit *e, Node *result) {
  Func *out = ir_func(e->w, e->f->name, e->types.data, e->types.len, result->type);
  out->span = e->f->span;
  out->recursive = e->f->recursive;
  out->opaque = e->f->opaque;
  if (out->opaque && out->nparams == e->f->nparams) out->ruled = e->f->ruled;
  out->outlined = e->f->outlined;
  ir_func_finish(e->w, out, result);
  return out;
}
