/* SPDX-License-Identifier: MIT */
/* Making loops operand by operand, in any order. While the body is made its parameters are numbered as
 * they come; when the loop is closed they get the places that LoopInfo wants. */
#include "graph/graph.h"

typedef struct Operand {
  LoopPart part;
  Node *outer, *inner, *next;
  int place;
} Operand;

struct LoopBuilder {
  World *w;
  LoopInfo info;
  Vec(Operand) operands;
  Vec(Node *) stacked;
  Node *loop; /* once it is closed */
};

LoopBuilder *loop_open(World *w, bool down) {
  LoopBuilder *b = NEW(w->arena, LoopBuilder);
  b->w = w;
  b->info.down = down;
  return b;
}

Node *loop_index(LoopBuilder *b) { return ir_param(b->w, 0, ir_type(b->w, T_INT)); }

static int *count_of(LoopInfo *l, LoopPart part) {
  int *const counts[] = {&l->ncarried, &l->naccs, &l->nsliced, &l->ncaps};
  return counts[part];
}

Node *loop_add(LoopBuilder *b, LoopPart part, Node *x) {
  IrType *t = part == LOOP_SLICED ? x->type->args[0] : x->type;
  Operand o = {.part = part, .outer = x, .inner = ir_param(b->w, 1 + b->operands.len, t)};
  vec_push(b->w->arena, b->operands, o);
  ++*count_of(&b->info, part);
  return o.inner;
}

static Operand *operand_of(LoopBuilder *b, const Node *inner) { return &b->operands.data[inner->attr.i - 1]; }

void loop_next(LoopBuilder *b, const Node *inner, Node *next) { operand_of(b, inner)->next = next; }

int loop_stack(LoopBuilder *b, Node *x) {
  vec_push(b->w->arena, b->stacked, x);
  return b->info.nstacked++;
}

/* Gives the operands their places: those of one part follow each other in the order they came in. */
static void place_operands(LoopBuilder *b) {
  int at = 0;
  for (LoopPart part = LOOP_CARRIED; part <= LOOP_CAPTURED; part++)
    for (int k = 0; k < b->operands.len; k++)
      if (b->operands.data[k].part == part) b->operands.data[k].place = at++;
}

/* A graph over the index and all operands, or those that a condition may read. */
static Graph *close_graph(LoopBuilder *b, Node *result, bool cond) {
  World *w = b->w;
  int n = b->operands.len, hidden = cond ? b->info.naccs + b->info.nsliced : 0;
  Node **args = NEW_ARRAY(w->arena, Node *, n + 1);
  IrType **types = NEW_ARRAY(w->arena, IrType *, n + 1);
  args[0] = loop_index(b);
  types[0] = args[0]->type;
  for (int k = 0; k < n; k++) {
    const Operand *o = &b->operands.data[k];
    IrType *t = o->inner->type;
    if (cond && (o->part == LOOP_ACC || o->part == LOOP_SLICED)) args[1 + k] = ir_zero(w, t); /* never read */
    else {
      int place = 1 + o->place - (o->part == LOOP_CAPTURED ? hidden : 0);
      args[1 + k] = ir_param(w, place, t);
      types[place] = t;
    }
  }
  bool moved = false;
  for (int k = 0; k < n; k++) moved |= args[1 + k] != b->operands.data[k].inner;
  return ir_graph(w, types, 1 + n - hidden, moved ? ir_substitute(w, result, args, n + 1, 0) : result, NULL);
}

void loop_close(LoopBuilder *b, Node *count, Node *cond, Site site) {
  World *w = b->w;
  place_operands(b);
  int slots = loop_slots(&b->info);
  Node **in = NEW_ARRAY(w->arena, Node *, b->operands.len + 1);
  Node **out = NEW_ARRAY(w->arena, Node *, slots + b->info.nstacked + 1);
  for (int k = 0; k < b->operands.len; k++) {
    const Operand *o = &b->operands.data[k];
    in[o->place] = o->outer;
    if (o->place < slots) out[o->place] = o->next ? o->next : o->inner;
  }
  for (int k = 0; k < b->info.nstacked; k++) out[slots + k] = b->stacked.data[k];
  b->info.has_cond = cond != NULL;
  Graph *body = close_graph(b, ir_record(w, out, slots + b->info.nstacked), false);
  b->loop = ir_loop(w, &b->info, count, in, body, cond ? close_graph(b, cond, true) : NULL, site);
}

Node *loop_result(LoopBuilder *b, const Node *inner) { return ir_get(b->w, b->loop, operand_of(b, inner)->place); }

Node *loop_stacked(LoopBuilder *b, int k) { return ir_get(b->w, b->loop, loop_slots(&b->info) + k); }

Node *loop_trips(LoopBuilder *b) { return ir_get(b->w, b->loop, b->loop->type->n - 1); }

Node *ir_copy_rows(World *w, Node *array) {
  LoopBuilder *b = loop_open(w, false);
  int k = loop_stack(b, loop_add(b, LOOP_SLICED, array));
  loop_close(b, ir_len(w, array, 0), NULL, 0);
  return loop_stacked(b, k);
}

Node *ir_loop_stacking(World *w, const Node *loop, Node **ops, Node *result, Node **extra, int n, Node **arrays) {
  const Graph *body = loop->graphs[0];
  int before = loop->type->n - 1;
  Node **out = NEW_ARRAY(w->arena, Node *, before + n + 1);
  for (int k = 0; k < before; k++) out[k] = ir_get(w, result, k);
  for (int j = 0; j < n; j++) out[before + j] = extra[j];
  LoopInfo info = *loop->loop;
  info.nstacked += n;
  Graph *more = ir_graph(w, body->params, body->nparams, ir_record(w, out, before + n), body->name);
  Node *whole = ir_loop_over(w, &info, ops, more, info.has_cond ? loop->graphs[1] : NULL, loop->site);
  for (int j = 0; j < n; j++) arrays[j] = ir_get(w, whole, before + j);
  Node **value = NEW_ARRAY(w->arena, Node *, before + 1);
  for (int k = 0; k < before; k++) value[k] = ir_get(w, whole, k);
  value[before] = ir_get(w, whole, before + n);
  return ir_tuple(w, loop->type, value);
}
