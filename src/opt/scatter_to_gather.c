/* SPDX-License-Identifier: MIT */
/* Scattered sums are gathered: where each iteration adds to several neighbouring elements of an array, as the
 * derivative of a stencil does, what it adds is kept, and each element gets all its terms at once.
 *
 *   loop i < n: a[i] += x i; a[i + 1] += 2 * x i
 *   →  w = [ x i | i < n ];  loop e: a[e] += w[e] + 2 * w[e - 1]
 *
 * Elements near the ends get fewer terms; they have a loop of their own, which asks. What is an element of an array
 * anyway is read there rather than kept. An iteration no longer loads what the one before has stored. The order of
 * these additions is free. Runs when places are no longer checked where they are used: all from the first to the last
 * that is added to are places of the array. */
#include "facts/ir_loop_facts.h"
#include "ir/remarks.h"
#include "opt/opt.h"
#include <math.h>

/* One addition: `factor` times what is kept, to the place that is the loop's index plus `shift`. */
typedef struct Term {
  int64_t shift;
  double factor;
  Node *kept; /* in the body */
} Term;

/* Additions to one row of an array: places that differ in one index alone. */
typedef struct Row {
  int slot, moving, n; /* of the loop; which index moves, of n */
  Node **is;           /* the others, of the graph around */
  Vec(Term) terms;
} Row;

typedef struct Gather {
  World *w;
  Node *loop;
  LoopFacts facts;
  Vec(Row) rows;
  Nodes kept;
} Gather;

/* ---- What is added ----------------------------------------------------------------------------------------------- */
/* Is x the loop's index plus a constant? */
static bool is_shifted(Gather *g, const Node *x, int64_t *shift) {
  const IndexForm *form = loop_index_form(&g->facts, x);
  *shift = form->c;
  return form->affine && form->step == 1 && form->constant && *shift >= -LIMIT_GATHER_SHIFT &&
         *shift <= LIMIT_GATHER_SHIFT;
}

static bool find_place(Gather *g, const Node *x, Row *row, int64_t *shift) {
  row->n = x->nops - 2;
  row->moving = -1;
  row->is = NEW_ARRAY(g->w->temp, Node *, x->nops);
  for (int k = 0; k < row->n; k++) {
    row->is[k] = loop_invariant_number(&g->facts, x->ops[1 + k]);
    if (row->is[k]) continue;
    if (row->moving >= 0 || !is_shifted(g, x->ops[1 + k], shift)) return false;
    row->moving = k;
  }
  return row->moving >= 0;
}

static Row *row_of(Gather *g, const Row *like) {
  for (int i = 0; i < g->rows.len; i++) {
    Row *r = &g->rows.data[i];
    bool same = r->slot == like->slot && r->moving == like->moving;
    for (int k = 0; same && k < like->n; k++) same = r->is[k] == like->is[k];
    if (same) return r;
  }
  vec_push(g->w->temp, g->rows, *like);
  return &g->rows.data[g->rows.len - 1];
}

static bool is_scaled(const Node *x) { return x->op == OP_FMUL && x->ops[1]->op == OP_FLOAT; }

/* A multiple of a multiple by 2 or 4 is one of the number itself, without a difference. */
static Term term_of(Node *addend, int64_t shift) {
  Term t = {shift, 1, addend};
  if (is_scaled(addend)) t = (Term){shift, addend->ops[1]->attr.f, addend->ops[0]};
  while (is_scaled(t.kept) && (fabs(t.kept->ops[1]->attr.f) == 2 || fabs(t.kept->ops[1]->attr.f) == 4)) {
    t.factor *= t.kept->ops[1]->attr.f;
    t.kept = t.kept->ops[0];
  }
  return t;
}

static void find_rows(Gather *g, int slot, const Node *x) {
  for (Node *addend; (addend = fact_added(x)); x = x->ops[0]) {
    Row row = {.slot = slot};
    int64_t shift;
    if (!find_place(g, x, &row, &shift)) continue;
    Row *r = row_of(g, &row);
    Term t = term_of(addend, shift);
    vec_push(g->w->temp, r->terms, t);
  }
}

/* Do its terms overlap? */
static bool is_gathered(const Row *r) {
  bool overlap = false;
  for (int k = 1; k < r->terms.len; k++) overlap |= r->terms.data[k].shift != r->terms.data[0].shift;
  return overlap;
}

static int keep(Gather *g, Node *x) {
  for (int k = 0; k < g->kept.len; k++)
    if (g->kept.data[k] == x) return k;
  vec_push(g->w->temp, g->kept, x);
  return g->kept.len - 1;
}

/* x, what the iteration leaves of the array `slot`, without what is gathered. */
static Node *without_gathered(Gather *g, int slot, Node *x) {
  Node *addend = fact_added(x);
  if (!addend) return x;
  Node *rest = without_gathered(g, slot, x->ops[0]);
  Row row = {.slot = slot};
  int64_t shift;
  if (find_place(g, x, &row, &shift) && is_gathered(row_of(g, &row))) return rest;
  if (rest == x->ops[0]) return x;
  Node *sum = ir_op2(g->w, OP_CADD, ir_index(g->w, rest, x->ops + 1, x->nops - 2), addend);
  return ir_update(g->w, rest, x->ops + 1, x->nops - 2, sum);
}

/* Is kept number x an element of an array that is there anyway, at a place that moves with the index? */
static bool is_there(Gather *g, Node *x, Node **array, int64_t *shift) {
  const LoopInfo *l = g->loop->loop;
  *shift = 0;
  if (x->op == OP_PARAM && loop_part(l, (int)x->attr.i - 1) == LOOP_SLICED) {
    *array = g->loop->ops[loop_first(l) + x->attr.i - 1];
    return ir_rank((*array)->type) == 1;
  }
  if (x->op != OP_INDEX || x->nops != 2 || !is_shifted(g, x->ops[1], shift)) return false;
  *array = loop_invariant_number(&g->facts, x->ops[0]);
  return *array != NULL;
}

/* ---- The loops over elements ------------------------------------------------------------------------------------- */
typedef struct Elements {
  const Gather *g;
  const Row *row;
  Node *n, **kept; /* trip count; arrays of what is kept, … */
  int64_t *from;   /* … which is their elements from there on */
} Elements;

/* The terms of element e. asks: some perhaps aren't there. */
static Node *terms_at(const Elements *el, LoopBuilder *b, Node *e, bool asks) {
  World *w = el->g->w;
  Node *sum = NULL, *zero = ir_int(w, 0), *n = asks ? loop_add(b, LOOP_CAPTURED, el->n) : NULL;
  for (int k = 0; k < el->row->terms.len; k++) {
    const Term *t = &el->row->terms.data[k];
    int at = 0;
    while (el->g->kept.data[at] != t->kept) at++;
    Node *from = loop_add(b, LOOP_CAPTURED, el->kept[at]), *there = NULL;
    Node *i = ir_op2(w, OP_IADD, e, ir_int(w, -t->shift));
    if (asks) {
      there = ir_op2(w, OP_AND, ir_op2(w, OP_ILE, zero, i), ir_op2(w, OP_ILT, i, n));
      i = ir_op3(w, OP_SELECT, there, i, zero);
    }
    Node *of = ir_op2(w, OP_IADD, i, ir_int(w, el->from[at])), *x = ir_index(w, from, &of, 1);
    if (t->factor != 1) x = ir_op2(w, OP_FMUL, x, ir_float(w, t->factor));
    if (asks) x = ir_op3(w, OP_SELECT, there, x, ir_float(w, 0));
    sum = sum ? ir_op2(w, OP_CADD, sum, x) : x;
  }
  return sum;
}

/* Elements lo, lo + 1 …, `count` of them, and `more` from `late` on (NULL: no more), which are `most` at most. */
typedef struct Part {
  Node *lo, *count, *late, *more, *most;
} Part;

static Node *element_of(World *w, LoopBuilder *b, const Part *p) {
  Node *i = ir_op2(w, OP_IADD, loop_index(b), loop_add(b, LOOP_CAPTURED, p->lo));
  if (!p->late) return i;
  Node *skipped = ir_op2(w, OP_ISUB, p->late, ir_op2(w, OP_IADD, p->lo, p->count));
  Node *early = ir_op2(w, OP_ILT, loop_index(b), loop_add(b, LOOP_CAPTURED, p->count));
  return ir_op3(w, OP_SELECT, early, i, ir_op2(w, OP_IADD, i, loop_add(b, LOOP_CAPTURED, skipped)));
}

/* The array with the terms of these elements added. */
static Node *add_terms(const Elements *el, Node *array, const Part *p) {
  World *w = el->g->w;
  const Row *row = el->row;
  LoopBuilder *b = loop_open(w, false);
  Node *in = loop_add(b, LOOP_ACC, array), **is = NEW_ARRAY(w->temp, Node *, row->n + 1);
  for (int k = 0; k < row->n; k++)
    is[k] = k == row->moving ? element_of(w, b, p) : loop_add(b, LOOP_CAPTURED, row->is[k]);
  Node *sum = terms_at(el, b, is[row->moving], p->late != NULL);
  loop_next(b, in, ir_update(w, in, is, row->n, ir_op2(w, OP_CADD, ir_index(w, in, is, row->n), sum)));
  Node *count = p->more ? ir_op2(w, OP_IMIN, ir_op2(w, OP_IADD, p->count, p->more), p->most) : p->count;
  loop_close(b, count, NULL, el->g->loop->site);
  return loop_result(b, in);
}

static Node *room(World *w, Node *from, Node *to) {
  return ir_op2(w, OP_IMAX, ir_op2(w, OP_ISUB, to, from), ir_int(w, 0));
}

/* All the row's terms: those of its first and last elements, and of those between, which get all. */
static Node *with_row(const Elements *el, Node *array) {
  World *w = el->g->w;
  int64_t least = INT64_MAX, most = INT64_MIN;
  for (int k = 0; k < el->row->terms.len; k++) {
    int64_t shift = el->row->terms.data[k].shift;
    if (shift < least) least = shift;
    if (shift > most) most = shift;
  }
  Node *start = ir_int(w, least), *runs = ir_op2(w, OP_ILT, ir_int(w, 0), el->n);
  Node *end = ir_op3(w, OP_SELECT, runs, ir_op2(w, OP_IADD, el->n, ir_int(w, most)), start);
  Node *full = ir_op2(w, OP_ILT, ir_int(w, most - least), el->n); /* some get all */
  Node *from = ir_op3(w, OP_SELECT, full, ir_int(w, most), end);
  Node *to = ir_op3(w, OP_SELECT, full, ir_op2(w, OP_IADD, el->n, start), end);
  Node *ends = ir_int(w, 2 * (most - least)); /* also of a short row, all of which are there */
  array = add_terms(el, array, &(Part){start, room(w, start, from), to, room(w, to, end), ends});
  return add_terms(el, array, &(Part){from, room(w, from, to), NULL, NULL, NULL});
}

/* ---- The pass ---------------------------------------------------------------------------------------------------- */
/* The loop without the additions, which stacks the terms that aren't elements of arrays already, and the loops over
 * elements after it. */
static Node *gathered(Gather *g, Node **results) {
  World *w = g->w;
  const Node *n = g->loop;
  int count = g->kept.len, *number = NEW_ARRAY(w->temp, int, count + 1);
  Node **kept = NEW_ARRAY(w->temp, Node *, count + 1), **terms = NEW_ARRAY(w->temp, Node *, count + 1);
  int64_t *from = NEW_ARRAY(w->temp, int64_t, count + 1);
  LoopEdit *e = edit_loop(w, n, n->ops, n->graphs);
  for (int k = 0; k < count; k++) {
    terms[k] = g->kept.data[k];
    if (!is_there(g, terms[k], &kept[k], &from[k])) kept[k] = NULL;
  }
  edit_body(e, results, terms, count);
  edit_yield(e);
  for (int k = 0; k < count; k++)
    if (!kept[k]) number[k] = loop_stack(e->b, terms[k]);
  edit_close(e);
  for (int k = 0; k < count; k++)
    if (!kept[k]) kept[k] = loop_stacked(e->b, number[k]), from[k] = 0;
  for (int i = 0; i < g->rows.len; i++) {
    const Row *row = &g->rows.data[i];
    Elements el = {g, row, n->ops[0], kept, from};
    if (is_gathered(row)) e->results[row->slot] = with_row(&el, e->results[row->slot]);
  }
  return edit_value(e);
}

static Node *gather(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  if (n->op != OP_LOOP || n->loop->has_cond || n->loop->ncarried || !n->loop->naccs) return NULL;
  Node *loop = rewrite_node(r, n, ops, graphs);
  if (loop->op != OP_LOOP || loop->graphs[0]->result->op != OP_TUPLE || loop->loop->ncarried) return loop;
  Gather g = {.w = user, .loop = loop, .facts = loop_facts_of(user, loop, false)};
  const Node *result = loop->graphs[0]->result;
  int slots = loop_slots(loop->loop);
  for (int k = 0; k < slots; k++)
    if (result->ops[k]->type->kind == T_ARRAY) find_rows(&g, k, result->ops[k]);
  for (int i = 0; i < g.rows.len; i++)
    for (int k = 0; is_gathered(&g.rows.data[i]) && k < g.rows.data[i].terms.len; k++)
      keep(&g, g.rows.data[i].terms.data[k].kept);
  bool many = g.kept.len > LIMIT_GATHERED && limit_reached(g.w->arena, AT_GATHERED);
  if (many)
    ir_remark(g.w, "scatter_to_gather", loop->site, "not gathered: each iteration adds too many different terms");
  if (!g.kept.len || many) return loop;
  Node **results = NEW_ARRAY(g.w->temp, Node *, result->nops + 1);
  for (int k = 0; k < result->nops; k++)
    results[k] = k < slots ? without_gathered(&g, k, result->ops[k]) : result->ops[k];
  return gathered(&g, results);
}

Graph *opt_scatter_to_gather(World *w, Graph *g) { return ir_rewrite(w, g, (RewritePass){.user = w, .node = gather}); }
