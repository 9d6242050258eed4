/* SPDX-License-Identifier: MIT */
/* What a graph costs, found by evaluating it over what is known of values.
 *
 *   loop i < n: body           Σ over i of the body's cost, once: polynomials in n, and in the indices of outer loops
 *   loop while c: body         s1 times the body's cost: how often is a symbol of its own, the same for the loop that
 *                              goes the same steps backwards
 *   switch c … (arms)          the cost of the arm that c chooses; where c isn't known, the greater one (at_most)
 *   call f, recursive          what the call costs where its arguments decide how far it goes; else a note
 *
 * With a given argument (CostStudy.concrete) loops are followed iteration by iteration, on the numbers of the argument,
 * as long as LIMIT_COST_NODES allows; nothing else of the program runs.
 *
 * Operations are: an arithmetic operation, function or comparison of floats, a float chosen, an element of an array
 * read or written. A product and sum in one count as two. Work on ints and control isn't counted. Each belongs to the
 * line of its node; nodes without a place to the line of the node that uses them. */
#include "facts/cost.h"
#include "facts/ir_loop_facts.h"
#include "graph/graph.h"
#include <string.h>

typedef struct Body {
  Node **nodes;
  int n;
  int *operands; /* positions */
  int *lines;    /* 0: that of what is around the graph */
  int *same; /* an earlier node that is equal but for its place: such are one in a program without places; or itself */
} Body;

static CostValue *eval(CostStudy *s, Graph *g, CostValue **args);
static Body *body_of(CostStudy *s, const Graph *g);

/* ---- Lines ------------------------------------------------------------------------------------------------------- */
static void take_lines_of_users(const Body *b) {
  const int *operand = b->operands;
  for (int i = 0; i < b->n; i++) operand += b->nodes[i]->nops;
  for (int i = b->n - 1; i >= 0; i--) {
    operand -= b->nodes[i]->nops;
    for (int k = 0; k < b->nodes[i]->nops && b->lines[i]; k++)
      if (!b->lines[operand[k]]) b->lines[operand[k]] = b->lines[i];
  }
}

/* What no node with a line uses is of the line of an operand. */
static void take_lines_of_operands(const Body *b) {
  const int *operand = b->operands;
  for (int i = 0; i < b->n; i++)
    for (int k = 0; k < b->nodes[i]->nops; k++, operand++)
      if (!b->lines[i]) b->lines[i] = b->lines[*operand];
}

static bool equal_but_for_places(const Body *b, const int *starts, int i, int k) {
  const Node *x = b->nodes[i], *y = b->nodes[k];
  if (x->op != y->op || x->type != y->type || x->nops != y->nops || x->attr.i != y->attr.i) return false;
  for (int o = 0; o < x->nops; o++)
    if (b->same[b->operands[starts[i] + o]] != b->same[b->operands[starts[k] + o]]) return false;
  return true;
}

static void find_same(const CostStudy *s, Body *b) {
  Map seen;
  map_init(&seen, s->a);
  b->same = NEW_ARRAY(s->a, int, b->n + 1);
  int *starts = NEW_ARRAY(s->a, int, b->n + 1), at = 0;
  for (int i = 0; i < b->n; i++) {
    const Node *x = b->nodes[i];
    starts[i] = at;
    b->same[i] = i;
    uint64_t h = hash_mix(x->op, (uint64_t)x->attr.i);
    for (int o = 0; o < x->nops; o++) h = hash_mix(h, (uint64_t)b->same[b->operands[at++]]);
    if (!(op_flags[x->op] & OPF_S) || op_flags[x->op] & OPF_F) continue;
    const void *key = (const void *)(uintptr_t)(h | 1);
    int k = (int)(uintptr_t)map_get(&seen, key) - 1;
    if (k >= 0 && equal_but_for_places(b, starts, i, k)) b->same[i] = k;
    else map_put(&seen, key, (void *)(uintptr_t)(i + 1));
  }
}

/* The first line within a branch or loop that has none itself. */
static int line_within(CostStudy *s, const Node *x) {
  for (int k = 0; k < x->ngraphs && ir_is_control(x); k++) {
    const Body *b = body_of(s, x->graphs[k]);
    for (int i = 0; i < b->n; i++)
      if (b->lines[i]) return b->lines[i];
  }
  return 0;
}

static Body *body_of(CostStudy *s, const Graph *g) {
  Body *b = map_get(&s->bodies, g);
  if (b) return b;
  b = NEW(s->a, Body);
  b->n = ir_order(s->a, g, &b->nodes);
  b->lines = NEW_ARRAY(s->a, int, b->n + 1);
  Map place;
  map_init(&place, s->a);
  int total = 0, at = 0;
  for (int i = 0; i < b->n; i++) total += b->nodes[i]->nops;
  b->operands = NEW_ARRAY(s->a, int, total + 1);
  for (int i = 0; i < b->n; i++) {
    const Node *x = b->nodes[i];
    for (int k = 0; k < x->nops; k++) b->operands[at++] = (int)(uintptr_t)map_get(&place, x->ops[k]) - 1;
    map_put(&place, x, (void *)(uintptr_t)(i + 1));
    b->lines[i] = x->site ? s->line_of(s->user, x->site) : 0;
    if (!b->lines[i]) b->lines[i] = line_within(s, x);
  }
  take_lines_of_users(b);
  take_lines_of_operands(b);
  find_same(s, b);
  map_put(&s->bodies, g, b);
  return b;
}

static void note(CostStudy *s, const char *text) {
  for (int i = 0; i < s->notes.len; i++)
    if (s->notes.data[i].line == s->line && strcmp(s->notes.data[i].text, text) == 0) return;
  if (s->notes.len < LIMIT_COST_NOTES) vec_push(s->a, s->notes, ((CostNote){text, s->line}));
}

/* ---- Costs ------------------------------------------------------------------------------------------------------- */
static CostLine *line_in(const CostStudy *s, Cost *c, int line) {
  for (int i = 0; i < c->lines.len; i++)
    if (c->lines.data[i].line == line) return &c->lines.data[i];
  const Poly *zero = poly_constant(s->a, 0);
  vec_push(s->a, c->lines, ((CostLine){line, zero, zero}));
  return &c->lines.data[c->lines.len - 1];
}

static void add_to(const CostStudy *s, Cost *to, int line, const Poly *ops, const Poly *bytes) {
  CostLine *l = line_in(s, to, line);
  l->ops = poly_add(s->a, l->ops, ops);
  l->bytes = poly_add(s->a, l->bytes, bytes);
}

static void add_ops(CostStudy *s, double ops) {
  if (ops) add_to(s, s->cost, s->line, poly_constant(s->a, ops), poly_constant(s->a, 0));
}

/* times: NULL: a size that isn't known. */
static void add_many(CostStudy *s, double ops, double bytes, const Poly *times) {
  if (!ops && !bytes) return;
  if (times) add_to(s, s->cost, s->line, poly_scale(s->a, times, ops), poly_scale(s->a, times, bytes));
  else note(s, "an array whose size is only known when the program runs");
}

static void add_cost(const CostStudy *s, Cost *to, const Cost *c) {
  for (int i = 0; i < c->lines.len; i++)
    add_to(s, to, c->lines.data[i].line, c->lines.data[i].ops, c->lines.data[i].bytes);
  to->at_most |= c->at_most;
}

static void add_sum(const CostStudy *s, Cost *to, const Cost *c, int symbol, const Poly *n) {
  for (int i = 0; i < c->lines.len; i++) {
    const CostLine *l = &c->lines.data[i];
    add_to(s, to, l->line, poly_sum(s->a, l->ops, symbol, n), poly_sum(s->a, l->bytes, symbol, n));
  }
  to->at_most |= c->at_most;
}

/* *c becomes the greater of both, line by line. True where they differ. */
static bool bound(const CostStudy *s, Cost *c, Cost *other) {
  bool differ = false;
  for (int i = 0; i < other->lines.len; i++) line_in(s, c, other->lines.data[i].line);
  for (int i = 0; i < c->lines.len; i++) {
    CostLine *l = &c->lines.data[i], *o = line_in(s, other, l->line);
    differ |= !poly_same(l->ops, o->ops) || !poly_same(l->bytes, o->bytes);
    l->ops = poly_bound(s->a, l->ops, o->ops);
    l->bytes = poly_bound(s->a, l->bytes, o->bytes);
  }
  c->at_most |= other->at_most || differ;
  return differ;
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */
static int slots_of(const IrType *t) {
  if (t->kind == T_UNIT || t->kind == T_TOKEN) return 0;
  if (t->kind != T_TUPLE) return 1;
  int n = 0;
  for (int k = 0; k < t->n; k++) n += slots_of(t->args[k]);
  return n;
}

static const Poly *count_of(const CostStudy *s, const CostValue *v) {
  const Poly *p = poly_constant(s->a, 1);
  if (v->kind != COST_ARRAY) return NULL;
  for (int k = 0; k < v->rank; k++) p = v->dims[k] ? poly_mul(s->a, p, v->dims[k]) : NULL;
  return p;
}

/* An array that a node makes: its bytes are counted here. */
static CostValue *made(CostStudy *s, CostValue *v, double ops) {
  v->line = s->line;
  int slots = slots_of(v->type);
  add_many(s, ops * slots, 8.0 * slots, count_of(s, v));
  return v;
}

static const Poly **dims_from(const CostStudy *s, CostValue **ops, int n) {
  const Poly **dims = NEW_ARRAY(s->a, const Poly *, n + 1);
  for (int k = 0; k < n; k++) dims[k] = cost_poly(s, ops[k]);
  return dims;
}

static CostValue *unknown_array(const CostStudy *s, const IrType *t) {
  return cost_array(s, t, NEW_ARRAY(s->a, const Poly *, ir_rank(t) + 1), NULL, 0, NULL);
}

/* ---- Joins ------------------------------------------------------------------------------------------------------- */
static CostValue *join(CostStudy *s, CostValue *a, CostValue *b, bool *changed);

static CostValue *join_parts(CostStudy *s, CostValue *a, const CostValue *b, bool *changed) {
  CostValue *v = NEW(s->a, CostValue);
  *v = *a;
  v->parts = NEW_ARRAY(s->a, CostValue *, a->n + 1);
  for (int k = 0; k < a->n; k++) v->parts[k] = join(s, a->parts[k], b->parts[k], changed);
  return v;
}

static CostValue *join_arrays(CostStudy *s, CostValue *a, const CostValue *b, bool *changed) {
  if (a->rank != b->rank) return cost_unknown(s);
  CostValue *v = NEW(s->a, CostValue);
  *v = *a;
  v->dims = NEW_ARRAY(s->a, const Poly *, a->rank + 1);
  for (int k = 0; k < a->rank; k++) {
    v->dims[k] = a->dims[k] && b->dims[k] && poly_same(a->dims[k], b->dims[k]) ? a->dims[k] : NULL;
    *changed |= a->dims[k] && !v->dims[k];
  }
  *changed |= a->n > 0;
  v->n = 0, v->parts = NULL;
  v->given &= b->given;
  v->elem = join(s, a->elem, b->elem, changed);
  return v;
}

/* What is known of both; *changed where that is less than what is known of a. */
static CostValue *join(CostStudy *s, CostValue *a, CostValue *b, bool *changed) {
  if (a == b || a->kind == COST_UNKNOWN) return a;
  if (a->kind == b->kind) switch (a->kind) {
    case COST_INT:
      if (poly_same(cost_poly(s, a), cost_poly(s, b))) return a;
      break;
    case COST_REAL:
      if (a->f == b->f) return a;
      break;
    case COST_TUPLE:
      if (a->n == b->n) return join_parts(s, a, b, changed);
      break;
    case COST_ARRAY: return join_arrays(s, a, b, changed);
    case COST_CLOSURE:
      if (a->node == b->node) return join_parts(s, a, b, changed);
      break;
    case COST_CHOICE:
      if (a->i == b->i) return join_parts(s, a, b, changed);
      break;
    case COST_UNKNOWN: break;
    }
  *changed = true;
  return cost_unknown(s);
}

/* v where the symbol is out of scope: what depends on it isn't known. */
static CostValue *without(CostStudy *s, CostValue *v, int symbol) {
  if (v->kind == COST_INT && !v->exact && poly_has(v->poly, symbol)) return cost_unknown(s);
  if (v->kind != COST_TUPLE && v->kind != COST_ARRAY) return v;
  CostValue *out = NEW(s->a, CostValue);
  *out = *v;
  if (v->kind == COST_TUPLE) {
    out->parts = NEW_ARRAY(s->a, CostValue *, v->n + 1);
    for (int k = 0; k < v->n; k++) out->parts[k] = without(s, v->parts[k], symbol);
    return out;
  }
  out->dims = NEW_ARRAY(s->a, const Poly *, v->rank + 1);
  for (int k = 0; k < v->rank; k++) out->dims[k] = poly_has(v->dims[k], symbol) ? NULL : v->dims[k];
  return out;
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */
static int64_t exact_of(const Poly *p) {
  double c;
  return p && poly_is_constant(p, &c) && c >= 0 && c < 1e9 ? (int64_t)c : -1;
}

/* Base elements of one element, if exact; else -1. */
static int64_t stride_of(const CostValue *v, int from) {
  int64_t n = 1;
  for (int k = from; k < v->rank && n >= 0; k++) {
    int64_t d = exact_of(v->dims[k]);
    n = d < 0 ? -1 : n * d;
  }
  return n;
}

/* Where the element at the indices begins among v's known ones; -1: unknown. */
static int64_t place_of(const CostValue *v, CostValue **is, int n) {
  int64_t at = 0;
  for (int k = 0; k < n; k++) {
    int64_t stride = stride_of(v, k + 1);
    if (is[k]->kind != COST_INT || !is[k]->exact || stride < 0) return -1;
    at += is[k]->i * stride;
  }
  return at >= 0 && v->parts && at + stride_of(v, n) <= v->n ? at : -1;
}

static CostValue *element(CostStudy *s, const IrType *t, CostValue *v, CostValue **is, int n) {
  if (v->kind != COST_ARRAY) return t->kind == T_ARRAY ? unknown_array(s, t) : cost_unknown(s);
  int64_t at = place_of(v, is, n);
  if (t->kind != T_ARRAY || n >= v->rank) return at >= 0 ? v->parts[at] : v->elem;
  CostValue *row = NEW(s->a, CostValue);
  *row = *v;
  row->rank -= n;
  row->dims += n;
  row->parts = at >= 0 ? v->parts + at : NULL;
  row->n = at >= 0 ? (int)stride_of(v, n) : 0;
  return row;
}

static CostValue *slice(CostStudy *s, const Node *n, CostValue **ops) {
  if (ops[0]->kind != COST_ARRAY) return unknown_array(s, n->type);
  CostValue *v = NEW(s->a, CostValue);
  *v = *ops[0];
  v->dims = NEW_ARRAY(s->a, const Poly *, v->rank + 1);
  memcpy(v->dims, ops[0]->dims, sizeof *v->dims * (size_t)v->rank);
  v->dims[0] = cost_poly(s, ops[2]);
  int64_t stride = stride_of(v, 1), count = exact_of(v->dims[0]), at = place_of(ops[0], ops + 1, 1);
  bool known = at >= 0 && stride >= 0 && count >= 0 && at + count * stride <= ops[0]->n;
  v->parts = known ? ops[0]->parts + at : NULL;
  v->n = known ? (int)(count * stride) : 0;
  return v;
}

static CostValue *update(CostStudy *s, const Node *n, CostValue **ops) {
  CostValue *a = ops[0], *x = ops[n->nops - 1];
  if (x->kind == COST_ARRAY) add_many(s, 2.0 * slots_of(x->type), 0, count_of(s, x));
  else add_ops(s, slots_of(n->ops[n->nops - 1]->type));
  if (a->kind != COST_ARRAY) return unknown_array(s, n->type);
  CostValue *v = NEW(s->a, CostValue);
  bool changed = false;
  *v = *a;
  v->given = false;
  v->line = s->line;
  int64_t at = a->n <= LIMIT_COST_COPIES ? place_of(a, ops + 1, n->nops - 2) : -1;
  int count = x->kind == COST_ARRAY ? x->n : 1;
  v->parts = NULL, v->n = 0;
  v->elem = join(s, a->elem, x->kind == COST_ARRAY ? x->elem : x, &changed);
  if (at < 0 || (x->kind == COST_ARRAY && !x->parts)) return v;
  v->n = a->n;
  v->parts = NEW_ARRAY(s->a, CostValue *, a->n + 1);
  memcpy(v->parts, a->parts, sizeof *v->parts * (size_t)a->n);
  for (int k = 0; k < count; k++) v->parts[at + k] = x->kind == COST_ARRAY ? x->parts[k] : x;
  return v;
}

/* An array of these elements, which are arrays of one shape themselves or base elements. */
static CostValue *array_of(CostStudy *s, const IrType *t, const Poly *length, CostValue **xs, int n, CostValue *any) {
  int rank = ir_rank(t);
  bool changed = false, known = xs != NULL;
  const Poly **dims = NEW_ARRAY(s->a, const Poly *, rank + 1);
  dims[0] = length;
  for (int k = 1; k < rank; k++) dims[k] = any->kind == COST_ARRAY ? any->dims[k - 1] : NULL;
  int each = rank > 1 ? any->n : 1, total = 0;
  for (int i = 0; i < n && known; i++)
    known = rank == 1 || (xs[i]->kind == COST_ARRAY && xs[i]->n == each && xs[i]->parts);
  known &= (int64_t)n * each <= LIMIT_COST_ELEMENTS;
  CostValue **parts = known ? NEW_ARRAY(s->a, CostValue *, n * each + 1) : NULL, *elem = rank > 1 ? any->elem : any;
  for (int i = 0; i < n && known; i++)
    for (int k = 0; k < each; k++) parts[total++] = rank > 1 ? xs[i]->parts[k] : xs[i];
  for (int i = 0; i < n && xs; i++) elem = join(s, elem ? elem : xs[i], rank > 1 ? xs[i]->elem : xs[i], &changed);
  return cost_array(s, t, dims, parts, total, elem);
}

static CostValue *constant_array(CostStudy *s, const Node *n) {
  const ArrayData *d = n->attr.data;
  int rank = ir_rank(n->type);
  IrType *base = ir_base(n->type);
  const Poly **dims = NEW_ARRAY(s->a, const Poly *, rank + 1);
  for (int k = 0; k < rank; k++) dims[k] = poly_constant(s->a, (double)d->dims[k]);
  bool known = ir_is_number(base) && d->nslots <= LIMIT_COST_ELEMENTS;
  CostValue **xs = known ? NEW_ARRAY(s->a, CostValue *, d->nslots + 1) : NULL;
  for (int64_t i = 0; i < d->nslots && known; i++) {
    double f;
    memcpy(&f, &d->slots[i], sizeof f);
    xs[i] = base->kind == T_FLOAT ? cost_real(s, f) : cost_int(s, d->slots[i]);
  }
  CostValue *v = cost_array(s, n->type, dims, xs, (int)d->nslots, NULL);
  v->given = true;
  return v;
}

static CostValue *zero_of(CostStudy *s, const IrType *t) {
  CostValue **parts;
  switch (t->kind) {
  case T_INT:
  case T_BOOL: return cost_int(s, 0);
  case T_FLOAT: return cost_real(s, 0);
  case T_TUPLE:
    parts = NEW_ARRAY(s->a, CostValue *, t->n + 1);
    for (int k = 0; k < t->n; k++) parts[k] = zero_of(s, t->args[k]);
    return cost_tuple(s, parts, t->n);
  default: return cost_unknown(s);
  }
}

static CostValue *zeros(CostStudy *s, const Node *n, CostValue **ops) {
  CostValue *v = cost_array(s, n->type, dims_from(s, ops, n->nops), NULL, 0, zero_of(s, ir_base(n->type)));
  int64_t count = stride_of(v, 0);
  if (s->concrete && count >= 0 && count <= LIMIT_COST_COPIES) {
    v->n = (int)count;
    v->parts = NEW_ARRAY(s->a, CostValue *, count + 1);
    for (int k = 0; k < v->n; k++) v->parts[k] = v->elem;
  }
  return made(s, v, 0);
}

/* A bag becomes an array with the dimensions given; one that is dense is it already. */
static CostValue *fill(CostStudy *s, const Node *n, CostValue **ops) {
  if (ops[0]->kind == COST_ARRAY || n->type->kind != T_ARRAY) return ops[0];
  return made(s, cost_array(s, n->type, dims_from(s, ops + 1, n->nops - 1), NULL, 0, NULL), 0);
}

static CostValue *fill_like(CostStudy *s, const Node *n, CostValue **ops) {
  if (ops[0]->kind == COST_ARRAY || n->type->kind != T_ARRAY) return ops[0];
  CostValue *like = ops[1]->kind == COST_ARRAY ? ops[1] : unknown_array(s, n->type);
  return made(s, cost_array(s, n->type, like->dims, NULL, 0, NULL), 0);
}

static CostValue *reshape(CostStudy *s, const Node *n, CostValue **ops) {
  CostValue *v =
      cost_array(s, n->type, dims_from(s, ops + 1, n->nops - 1), ops[0]->kind == COST_ARRAY ? ops[0]->parts : NULL,
                 ops[0]->n, ops[0]->kind == COST_ARRAY ? ops[0]->elem : NULL);
  v->line = ops[0]->line;
  v->given = ops[0]->given;
  return v;
}

static CostValue *length(CostStudy *s, const Node *n, const CostValue *v) {
  return v->kind == COST_ARRAY && n->attr.i < v->rank ? cost_number(s, v->dims[n->attr.i]) : cost_unknown(s);
}

/* ---- Branches ---------------------------------------------------------------------------------------------------- */
static bool only_fails(const Graph *g) { return g->result->op == OP_FAIL; }

static CostValue *eval_arm(CostStudy *s, Graph *g, CostValue **ops, Cost *out) {
  Cost *outer = s->cost;
  s->cost = out;
  CostValue *v = eval(s, g, ops + 1);
  s->cost = outer;
  return v;
}

/* As lowering has it (lower/lower_control.c): an arm of so little work that it is computed where the other is taken. */
static bool is_cheap(CostStudy *s, const Graph *g, bool lanes) {
  const Body *b = body_of(s, g);
  int work = 0;
  for (int i = 0; i < b->n; i++) {
    unsigned flags = op_flags[b->nodes[i]->op];
    bool scalar = flags & OPF_S && !(flags & OPF_F) && b->nodes[i]->type->kind == T_FLOAT;
    if (!(flags & OPF_B) && !(lanes && scalar)) return false;
    if (flags & OPF_S) work += flags & OPF_B ? 1 : LIMIT_SELECT_WORK;
  }
  if (work > (lanes ? LIMIT_LANE_SELECT_WORK : LIMIT_SELECT_WORK)) return false;
  return ir_is_number(g->result->type) || g->result->type->kind == T_TUPLE;
}

static bool selects(CostStudy *s, const Node *n) {
  bool lanes = s->lanes && n->ops[0]->op != OP_PARAM;
  return n->ngraphs == 2 && n->ops[0]->type->kind == T_BOOL && is_cheap(s, n->graphs[0], lanes) &&
         is_cheap(s, n->graphs[1], lanes);
}

static CostValue *eval_selection(CostStudy *s, const Node *n, CostValue **ops) {
  CostValue *arms[2];
  bool changed = false;
  for (int k = 0; k < 2; k++) arms[k] = eval(s, n->graphs[k], ops + 1);
  add_ops(s, slots_of(n->type));
  if (ops[0]->kind == COST_INT && ops[0]->exact) return arms[ops[0]->i != 0];
  return join(s, arms[0], arms[1], &changed);
}

static CostValue *eval_switch(CostStudy *s, const Node *n, CostValue **ops) {
  if (selects(s, n)) return eval_selection(s, n, ops);
  if (ops[0]->kind == COST_INT && ops[0]->exact) {
    int64_t k = ops[0]->i;
    return eval(s, n->graphs[k >= 0 && k < n->ngraphs ? k : n->ngraphs - 1], ops + 1);
  }
  CostValue *all = NULL;
  Cost most = {0};
  bool changed = false;
  for (int k = 0; k < n->ngraphs; k++) {
    Cost one = {0};
    if (only_fails(n->graphs[k])) continue;
    CostValue *v = eval_arm(s, n->graphs[k], ops, &one);
    if (!all) most = one;
    else if (bound(s, &most, &one)) s->uncertain++;
    all = all ? join(s, all, v, &changed) : v;
  }
  add_cost(s, s->cost, &most);
  return all ? all : cost_unknown(s);
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
typedef struct LoopRun {
  const Node *n;
  const LoopInfo *l;
  CostValue **ops;   /* state and inputs, by operand */
  CostValue **stack; /* results that are stacked: of one iteration, or of all, one after the other */
} LoopRun;

/* Parameters of the body or condition in iteration i. */
static CostValue **inner_args(CostStudy *s, const LoopRun *r, int graph, CostValue *i) {
  CostValue **args = NEW_ARRAY(s->a, CostValue *, r->n->graphs[graph]->nparams + 1);
  args[0] = i;
  for (int k = loop_first(r->l); k < r->n->nops; k++) {
    int p = ir_inner_param(r->n, graph, k);
    if (p < 0) continue;
    bool sliced = loop_part(r->l, k - loop_first(r->l)) == LOOP_SLICED;
    const IrType *t = r->n->graphs[graph]->params[p];
    args[p] = sliced ? element(s, t, r->ops[k], &i, 1) : r->ops[k];
    if (sliced && t->kind != T_ARRAY) add_ops(s, slots_of(t));
  }
  return args;
}

/* Is part k of what the body yields an array that it makes? It is made in its place then; others are copied there. */
static bool is_made_here(const Node *result, int k) {
  const Node *x = result->op == OP_TUPLE ? fact_unchecked(result->ops[k]) : result;
  if (x->op == OP_GET) x = x->ops[0];
  return x->op == OP_LOOP || x->op == OP_ZEROS || x->op == OP_ARRAY || x->op == OP_FILL;
}

/* Writing the elements of stacked results. */
static void count_stacked(CostStudy *s, const LoopRun *r, CostValue *once) {
  const IrType *t = r->n->graphs[0]->result->type;
  for (int k = loop_slots(r->l); k < once->n; k++) {
    if (t->args[k]->kind != T_ARRAY) add_ops(s, slots_of(t->args[k]));
    else if (!is_made_here(r->n->graphs[0]->result, k))
      add_many(s, 2.0 * slots_of(ir_base(t->args[k])), 0, count_of(s, once->parts[k]));
  }
}

/* Does a loop probably run several iterations at once (lower/lower_lanes.c)? Then branches in it are selections. */
static bool has_lanes(CostStudy *s, const Node *loop) {
  const Body *b = body_of(s, loop->graphs[0]);
  const Node *result = loop->graphs[0]->result;
  if (loop->loop->has_cond || loop->loop->ncarried || result->op != OP_TUPLE) return false;
  for (int k = 0; k < result->nops; k++)
    if (!ir_is_number(result->ops[k]->type)) return false;
  for (int i = 0; i < b->n; i++)
    if (ir_shape(b->nodes[i]) == IR_LOOP || ir_shape(b->nodes[i]) == IR_CALL ||
        op_flags[b->nodes[i]->op] & (OPF_W | OPF_F))
      return false;
  return true;
}

static CostValue *once(CostStudy *s, const LoopRun *r, CostValue *i) {
  bool outer = s->lanes;
  s->lanes = has_lanes(s, r->n);
  CostValue *v = eval(s, r->n->graphs[0], inner_args(s, r, 0, i));
  s->lanes = outer;
  count_stacked(s, r, v);
  return v;
}

static CostValue *loop_value_of(CostStudy *s, const LoopRun *r, const Poly *trips, int count, CostValue **stacked) {
  const IrType *t = r->n->type;
  int slots = loop_slots(r->l), last = t->n - 1;
  CostValue **parts = NEW_ARRAY(s->a, CostValue *, t->n + 1);
  for (int k = 0; k < slots; k++) parts[k] = r->ops[loop_first(r->l) + k];
  for (int k = slots; k < last; k++) {
    CostValue **xs = stacked ? NEW_ARRAY(s->a, CostValue *, count + 1) : NULL;
    for (int i = 0; i < count && stacked; i++)
      xs[r->l->down ? count - 1 - i : i] = stacked[i * (last - slots) + k - slots];
    parts[k] = array_of(s, t->args[k], trips, xs, xs ? count : 0,
                        xs && count ? xs[0]
                        : r->stack  ? r->stack[k - slots]
                                    : cost_unknown(s));
    made(s, parts[k], 0);
  }
  parts[last] = cost_number(s, trips);
  return cost_tuple(s, parts, t->n);
}

/* Iteration by iteration; NULL where that isn't possible or takes too long. */
static CostValue *loop_followed(CostStudy *s, LoopRun *r, int64_t trips) {
  int slots = loop_slots(r->l), first = loop_first(r->l), nstacked = r->n->type->n - 1 - slots;
  Vec(CostValue *) stacked = {0};
  int64_t done = 0;
  for (; trips < 0 || done < trips; done++) {
    CostValue *i = cost_int(s, r->l->down ? trips - 1 - done : done);
    if (trips < 0) {
      CostValue *go = eval(s, r->n->graphs[1], inner_args(s, r, 1, i));
      if (go->kind != COST_INT || !go->exact) return NULL;
      if (!go->i) break;
    }
    CostValue *v = once(s, r, i);
    if (s->left <= 0) return NULL;
    for (int k = 0; k < slots; k++) r->ops[first + k] = v->parts[k];
    for (int k = 0; k < nstacked; k++) vec_push(s->a, stacked, v->parts[slots + k]);
  }
  return loop_value_of(s, r, poly_constant(s->a, (double)done), (int)done, stacked.data ? stacked.data : r->ops);
}

static int new_steps(CostStudy *s) {
  int at = COST_SIZES + s->nsteps;
  if (at == POLY_SYMBOLS - LIMIT_COST_DEPTH) return -1;
  s->nsteps++;
  s->symbols[at].name = arena_printf(s->a, "s%d", s->nsteps);
  s->symbols[at].line = s->line;
  return at;
}

/* The symbol of a loop that another program of the study has at the same place; else a new one. Loops of one place in
 * one program are told apart: they need not run equally often. */
static int steps_at(CostStudy *s, const Node *loop) {
  uint64_t chain = loop->site ? s->chain_of(s->user, loop->site) : 0;
  if (!chain) return new_steps(s);
  for (;; chain = hash_mix(chain, 1)) {
    const void *key = (const void *)(uintptr_t)(chain | 1),
               *here = (const void *)(uintptr_t)(hash_mix(chain, (uint64_t)s->program) | 1);
    if (map_get(&s->steps, here)) continue;
    int at = (int)(uintptr_t)map_get(&s->steps, key) - 1;
    if (at < 0 && (at = new_steps(s)) < 0) return -1;
    map_put(&s->steps, key, (void *)(uintptr_t)(at + 1));
    map_put(&s->steps, here, (void *)(uintptr_t)(at + 1));
    return at;
  }
}

/* How often a loop runs of which that isn't known. */
static const Poly *steps_of(CostStudy *s, const Node *loop) {
  int at = (int)(uintptr_t)map_get(&s->steps, loop) - 1;
  if (at < 0 && (at = steps_at(s, loop)) < 0) return NULL;
  map_put(&s->steps, loop, (void *)(uintptr_t)(at + 1));
  s->uncertain++;
  return poly_symbol(s->a, at);
}

/* Once for all iterations, until what is known of the state doesn't change. */
static CostValue *loop_at_once(CostStudy *s, LoopRun *r, const Poly *trips) {
  int slots = loop_slots(r->l), first = loop_first(r->l);
  bool indexed = s->nindices < LIMIT_COST_DEPTH;
  int symbol = POLY_SYMBOLS - 1 - s->nindices;
  if (indexed) s->limits[s->nindices++] = trips;
  CostValue *i = indexed ? cost_number(s, poly_symbol(s->a, symbol)) : cost_unknown(s), *v = NULL;
  Cost body = {0}, cond = {0}, *outer = s->cost;
  bool changed = true;
  for (int round = 0; changed && round < LIMIT_CUT_ROUNDS; round++) {
    changed = false;
    body = cond = (Cost){0};
    s->cost = &cond;
    if (r->l->has_cond) eval(s, r->n->graphs[1], inner_args(s, r, 1, i));
    s->cost = &body;
    v = once(s, r, i);
    for (int k = 0; k < slots; k++) {
      CostValue *next = v->n > k ? without(s, v->parts[k], symbol) : cost_unknown(s);
      r->ops[first + k] = join(s, r->ops[first + k], next, &changed);
    }
  }
  s->nindices -= indexed;
  s->cost = outer;
  add_sum(s, outer, &body, symbol, trips);
  add_sum(s, outer, &cond, symbol, poly_add(s->a, trips, poly_constant(s->a, r->l->has_cond)));
  r->stack = NEW_ARRAY(s->a, CostValue *, r->n->type->n + 1);
  for (int k = slots; k < r->n->type->n - 1; k++)
    r->stack[k - slots] = v && v->n > k ? without(s, v->parts[k], symbol) : cost_unknown(s);
  return loop_value_of(s, r, trips, 0, NULL);
}

static CostValue *eval_loop(CostStudy *s, const Node *n, CostValue **given) {
  LoopRun r = {.n = n, .l = n->loop};
  const Poly *trips = r.l->has_cond ? NULL : cost_poly(s, given[0]);
  int64_t exact = exact_of(trips);
  double c;
  if (poly_is_constant(trips, &c) && c < 0) trips = poly_constant(s->a, 0), exact = 0;
  bool follows = s->concrete && (r.l->has_cond || (exact >= 0 && exact * n->graphs[0]->size < s->left));
  for (int way = !follows; way < 2; way++) {
    Cost all = {0}, *outer = s->cost;
    int steps = s->notes.len;
    s->cost = &all;
    r.ops = NEW_ARRAY(s->a, CostValue *, n->nops + 1);
    memcpy(r.ops, given, sizeof *given * (size_t)n->nops);
    CostValue *v = way == 0 ? loop_followed(s, &r, r.l->has_cond ? -1 : exact)
                            : loop_at_once(s, &r, trips ? trips : steps_of(s, n));
    s->cost = outer;
    if (!v) s->notes.len = steps;
    else add_cost(s, outer, &all);
    if (v) return v;
  }
  return cost_unknown(s);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */
static CostValue *typed_unknown(CostStudy *s, const IrType *t) {
  if (t->kind == T_ARRAY) return unknown_array(s, t);
  if (t->kind != T_TUPLE) return cost_unknown(s);
  CostValue **parts = NEW_ARRAY(s->a, CostValue *, t->n + 1);
  for (int k = 0; k < t->n; k++) parts[k] = typed_unknown(s, t->args[k]);
  return cost_tuple(s, parts, t->n);
}

static CostValue *apply(CostStudy *s, const IrType *result, const CostValue *f, CostValue **own, int nown) {
  if (f->kind != COST_CLOSURE) {
    note(s, "a function that is only known when the program runs");
    return typed_unknown(s, result);
  }
  Graph *g = f->node->graphs[0];
  CostValue **args = NEW_ARRAY(s->a, CostValue *, g->nparams + 1);
  int first = g->nparams - f->n;
  for (int k = 0; k < g->nparams; k++) args[k] = k >= first ? f->parts[k - first] : k < nown ? own[k] : cost_unknown(s);
  return eval(s, g, args);
}

static const char *recursion(const CostStudy *s, const Func *f, const char *what) {
  if (!f->span.source || !f->name) return arena_printf(s->a, "recursion that %s", what);
  return arena_printf(s->a, "the recursion of `%s`, which %s", f->name, what);
}

static CostValue *eval_call(CostStudy *s, const Node *n, CostValue **ops) {
  Func *f = n->attr.func;
  if (!f->graph) {
    note(s, arena_printf(s->a, "the C function `%s`", f->name));
    return typed_unknown(s, n->type);
  }
  if (f->recursive && (!s->concrete || s->depth > LIMIT_COST_CALLS || s->left <= 0)) {
    note(s, recursion(s, f, s->concrete ? "goes too far" : "goes as far as its data says"));
    return typed_unknown(s, n->type);
  }
  return eval(s, f->graph, ops);
}

static CostValue *eval_closure(CostStudy *s, const Node *n, CostValue **ops) {
  CostValue *v = NEW(s->a, CostValue);
  *v = (CostValue){.kind = COST_CLOSURE, .node = n, .n = n->nops, .parts = ops, .line = s->line};
  return v;
}

static CostValue *matrix_product(CostStudy *s, const Node *n, CostValue **ops) {
  const CostValue *a = ops[2], *b = ops[3];
  if (a->kind != COST_ARRAY || b->kind != COST_ARRAY || ops[0]->kind != COST_INT || ops[1]->kind != COST_INT) {
    note(s, "a matrix product whose sizes are only known when the program runs");
    return unknown_array(s, n->type);
  }
  const Poly **dims = NEW_ARRAY(s->a, const Poly *, 2), *inner = a->dims[ops[0]->i ? 0 : 1];
  dims[0] = a->dims[ops[0]->i ? 1 : 0];
  dims[1] = b->dims[ops[1]->i ? 0 : 1];
  CostValue *v = made(s, cost_array(s, n->type, dims, NULL, 0, NULL), 0);
  const Poly *count = count_of(s, v);
  add_many(s, 2, 0, count && inner ? poly_mul(s->a, count, inner) : NULL);
  return v;
}

static CostValue *eval_rt(CostStudy *s, const Node *n, CostValue **ops) {
  const char *name = n->attr.rt->name;
  if (strcmp(name, "matrix_product") == 0) return matrix_product(s, n, ops);
  if (strcmp(name, "watched") == 0 || strcmp(name, "detached") == 0 || strcmp(name, "opaque") == 0) return ops[0];
  if (ir_is_fork(n) && n->nops >= 2) {
    CostValue **both = NEW_ARRAY(s->a, CostValue *, 2);
    for (int k = 0; k < 2; k++) both[k] = apply(s, n->type->args[k], ops[k], NULL, 0);
    return cost_tuple(s, both, 2);
  }
  for (int k = 0; k < n->nops; k++)
    if (n->ops[k]->type->kind == T_FUN) apply(s, n->type, ops[k], NULL, 0);
  if (strcmp(name, "argsort") == 0) {
    note(s, "the comparisons of a sort");
    CostValue *v = unknown_array(s, n->type);
    if (ops[0]->kind == COST_ARRAY) v->dims[0] = ops[0]->dims[0];
    return made(s, v, 0);
  }
  return typed_unknown(s, n->type);
}

/* ---- Other nodes ------------------------------------------------------------------------------------------------- */
static CostValue *get(CostStudy *s, const Node *n, const CostValue *v) {
  return v->kind == COST_TUPLE && n->attr.i < v->n ? v->parts[n->attr.i] : typed_unknown(s, n->type);
}

/* Constructors and environments, told apart by constructor or graph. */
static CostValue *inject(CostStudy *s, const Node *n, CostValue **ops) {
  int tag = n->ngraphs ? (int)n->graphs[0]->identity : (int)n->attr.i, slots = slots_of(n->ops[0]->type);
  CostValue *v = cost_choice(s, n->type, tag, ops[0]);
  v->line = s->line;
  if (slots) add_to(s, s->cost, s->line, poly_constant(s->a, 0), poly_constant(s->a, 8.0 * slots + 16));
  return v;
}

static CostValue *count_scalar(CostStudy *s, const Node *n, CostValue **ops) {
  bool floats = strchr(op_signatures[n->op], 'f') != NULL || n->type->kind == T_FLOAT;
  if (floats) add_ops(s, n->op == OP_FMA ? 2 : 1);
  return cost_scalar(s, n, ops);
}

static CostValue *accumulate(CostStudy *s, CostValue **ops) {
  if (ops[0]->kind != COST_ARRAY) return ops[1]->kind == COST_ARRAY ? ops[1] : ops[0];
  if (ops[1]->kind == COST_ARRAY) add_many(s, 3, 0, count_of(s, ops[0]));
  return ops[0];
}

static CostValue *eval_cadd(CostStudy *s, const Node *n, CostValue **ops) {
  if (n->type->kind != T_FLOAT) return accumulate(s, ops);
  add_ops(s, 1);
  return ops[0]->kind == COST_REAL && ops[1]->kind == COST_REAL ? cost_real(s, ops[0]->f + ops[1]->f) : cost_unknown(s);
}

static CostValue *eval_node(CostStudy *s, const Node *n, CostValue **ops) {
  if (n->type->kind == T_TOKEN) return cost_unknown(s);
  switch ((Op)n->op) {
  case OP_INT:
  case OP_BOOL: return cost_int(s, n->attr.i);
  case OP_FLOAT: return cost_real(s, n->attr.f);
  case OP_DATA: return constant_array(s, n);
  case OP_GLOBAL: return s->global(s->user, n->attr.global);
  case OP_ZERO: return zero_of(s, n->type);
  case OP_TUPLE: return cost_tuple(s, ops, n->nops);
  case OP_GET: return get(s, n, ops[0]);
  case OP_INJ: return inject(s, n, ops);
  case OP_TAG: return ops[0]->kind == COST_CHOICE ? cost_int(s, ops[0]->i) : cost_unknown(s);
  case OP_UNINJ: return ops[0]->kind == COST_CHOICE ? ops[0]->parts[0] : typed_unknown(s, n->type);
  case OP_CLOSURE: return eval_closure(s, n, ops);
  case OP_CLOSURE_ID:
    return ops[0]->kind == COST_CLOSURE ? cost_int(s, (int64_t)ops[0]->node->graphs[0]->identity) : cost_unknown(s);
  case OP_GRAPH_ID: return cost_int(s, (int64_t)n->graphs[0]->identity);
  case OP_CLOSURE_CAP:
    return ops[0]->kind == COST_CLOSURE && n->attr.i < ops[0]->n ? ops[0]->parts[n->attr.i] : typed_unknown(s, n->type);
  case OP_AFTER:
  case OP_STOP:
  case OP_MARK:
  case OP_TO_BAG: return ops[0];
  case OP_SWITCH: return eval_switch(s, n, ops);
  case OP_LOOP: return eval_loop(s, n, ops);
  case OP_APPLY:
  case OP_CHECKPOINT: return apply(s, n->type, ops[0], ops + 1, n->nops - 1);
  case OP_CALL: return eval_call(s, n, ops);
  case OP_RT: return eval_rt(s, n, ops);
  case OP_LEN: return length(s, n, ops[0]);
  case OP_INDEX:
    if (n->type->kind != T_ARRAY) add_ops(s, slots_of(n->type));
    return element(s, n->type, ops[0], ops + 1, n->nops - 1);
  case OP_SLICE: return slice(s, n, ops);
  case OP_UPDATE: return update(s, n, ops);
  case OP_ARRAY: {
    CostValue *v = array_of(s, n->type, poly_constant(s->a, n->nops), ops, n->nops, n->nops ? ops[0] : cost_unknown(s));
    return made(s, v, 1);
  }
  case OP_ZEROS: return zeros(s, n, ops);
  case OP_RESHAPE: return reshape(s, n, ops);
  case OP_FILL: return fill(s, n, ops);
  case OP_FILL_LIKE: return fill_like(s, n, ops);
  case OP_CADD: return eval_cadd(s, n, ops);
  case OP_ACC_AT: add_ops(s, slots_of(n->ops[n->nops - 1]->type)); return ops[0];
  case OP_BAG_GET: add_ops(s, slots_of(n->type)); return typed_unknown(s, n->type);
  case OP_CUPDATE: add_ops(s, slots_of(n->ops[n->nops - 1]->type)); return ops[0];
  case OP_SHIFT: return ops[0];
  default: break;
  }
  if (op_flags[n->op] & OPF_V) return ops[0];
  if (op_flags[n->op] & OPF_S) return count_scalar(s, n, ops);
  return typed_unknown(s, n->type);
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */
static CostValue *eval(CostStudy *s, Graph *g, CostValue **args) {
  const Body *b = body_of(s, g);
  int around = s->line;
  if (s->depth > LIMIT_CUT_DEPTH + LIMIT_COST_CALLS) {
    note(s, "what is nested deeper");
    return typed_unknown(s, g->result->type);
  }
  heap_look(s->w->arena->heap);
  s->depth++;
  s->left -= b->n;
  CostValue **vals = NEW_ARRAY(s->a, CostValue *, b->n + 1);
  const int *operand = b->operands;
  for (int i = 0; i < b->n; i++) {
    const Node *x = b->nodes[i];
    CostValue **ops = NEW_ARRAY(s->a, CostValue *, x->nops + 1);
    for (int k = 0; k < x->nops; k++) ops[k] = vals[*operand++];
    s->line = b->lines[i] ? b->lines[i] : around;
    vals[i] = x->op == OP_PARAM ? args[x->attr.i] : b->same[i] < i ? vals[b->same[i]] : eval_node(s, x, ops);
    if (x->op != OP_PARAM && !vals[i]->line) vals[i]->line = s->line;
  }
  s->line = around;
  s->depth--;
  return vals[b->n - 1];
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
void cost_open(CostStudy *s, World *w, Arena *a) {
  *s = (CostStudy){.w = w, .a = a, .left = LIMIT_COST_NODES};
  map_init(&s->steps, a);
  map_init(&s->bodies, a);
}

CostValue *cost_eval(CostStudy *s, Graph *g, CostValue **args, Cost *out) {
  s->cost = out;
  s->left = LIMIT_COST_NODES;
  s->program++;
  return eval(s, g, args);
}

CostValue *cost_apply(CostStudy *s, CostValue *f, CostValue *x, Cost *out) {
  s->cost = out;
  return apply(s, f->kind == COST_CLOSURE ? f->node->graphs[0]->result->type : ir_type(s->w, T_UNIT), f, &x, 1);
}

/* ---- What a closure keeps ---------------------------------------------------------------------------------------- */
static void keep(CostStudy *s, const CostValue *v, const IrType *t, Cost *out, Map *seen) {
  const Poly *none = poly_constant(s->a, 0);
  if (v->given || t->kind == T_TOKEN || t->kind == T_UNIT) return;
  if (t->kind != T_TUPLE && !ir_is_number(t)) {
    if (map_get(seen, v)) return;
    map_put(seen, v, (void *)(uintptr_t)1);
  }
  s->line = v->line ? v->line : s->line;
  switch (v->kind) {
  case COST_TUPLE:
    for (int k = 0; k < v->n; k++) keep(s, v->parts[k], t->args[k], out, seen);
    return;
  case COST_ARRAY: {
    const Poly *n = count_of(s, v);
    if (n) add_to(s, out, s->line, none, poly_scale(s->a, n, 8.0 * slots_of(v->type)));
    else note(s, "an array whose size is only known when the program runs");
    return;
  }
  case COST_CLOSURE:
    for (int k = 0; k < v->n; k++) {
      bool number = ir_is_number(v->node->ops[k]->type);
      if (number && map_get(seen, v->parts[k])) continue;
      if (number) map_put(seen, v->parts[k], (void *)(uintptr_t)1);
      int line = v->parts[k]->line ? v->parts[k]->line : v->line;
      add_to(s, out, line, none, poly_constant(s->a, 8.0 * slots_of(v->node->ops[k]->type)));
      keep(s, v->parts[k], v->node->ops[k]->type, out, seen);
    }
    return;
  case COST_CHOICE:
    if (t->kind == T_VARIANT && slots_of(t->ctors[v->i].payload)) {
      add_to(s, out, s->line, none, poly_constant(s->a, 8.0 * slots_of(t->ctors[v->i].payload) + 16));
      keep(s, v->parts[0], t->ctors[v->i].payload, out, seen);
    }
    return;
  case COST_UNKNOWN:
    if (!ir_is_number(t)) note(s, "what is kept of data that is only known when the program runs");
    return;
  case COST_INT:
  case COST_REAL: return;
  }
}

void cost_kept(CostStudy *s, CostValue *f, Cost *out) {
  Map seen;
  map_init(&seen, s->a);
  s->line = 0;
  keep(s, f, f->kind == COST_CLOSURE ? f->node->type : ir_type(s->w, T_FUN), out, &seen);
}
