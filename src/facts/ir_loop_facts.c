/* SPDX-License-Identifier: MIT */
/* Loop facts: see ir_loop_facts.h. The first question about a body finds the index forms of all its nodes, operands
 * first; a node that a pass has made since is looked at when it is asked about. */
#include "facts/ir_loop_facts.h"
#include "facts/uses.h"
#include "ir/world.h"

/* ---- Index forms ------------------------------------------------------------------------------------------------- */
LoopFacts loop_facts_inside(World *w, Graph *g, const IndexForm *params, bool unchecked) {
  LoopFacts f = {.w = w, .body = g, .params = params, .unchecked = unchecked};
  map_init(&f.forms, w->temp);
  map_init(&f.starts, w->temp);
  return f;
}

LoopFacts loop_facts(World *w, const LoopInfo *l, Node **inputs, Graph *body, bool unchecked) {
  LoopFacts f = loop_facts_inside(w, body, NULL, unchecked);
  f.l = l;
  f.inputs = inputs;
  return f;
}

static bool is_capture(const LoopFacts *f, int p) { return p > 0 && loop_part(f->l, p - 1) == LOOP_CAPTURED; }

static const IndexForm *param_form(const LoopFacts *f, int p) {
  static const IndexForm index = {.affine = true, .step = 1, .constant = true, .reads_index = true};
  static const IndexForm capture = {.affine = true}, state = {.reads_state = true};
  if (f->params) return &f->params[p];
  return p == 0 ? &index : is_capture(f, p) ? &capture : &state;
}

/* a + by * b */
static IndexForm combination(const IndexForm *a, const IndexForm *b, int64_t by) {
  IndexForm r = {.affine = a->affine && b->affine, .constant = a->constant && b->constant};
  int64_t step, c;
  if (__builtin_mul_overflow(b->step, by, &step) || __builtin_add_overflow(a->step, step, &r.step)) r.affine = false;
  if (__builtin_mul_overflow(b->c, by, &c) || __builtin_add_overflow(a->c, c, &r.c)) r.constant = false;
  return r;
}

/* The form of x as a number; operands a and b (NULL: there is none). all_fixed: no operand moves. */
static IndexForm number_form(const LoopFacts *f, const Node *x, const IndexForm *a, const IndexForm *b,
                             bool all_fixed) {
  static const IndexForm zero = {.affine = true, .constant = true};
  switch (x->op) {
  case OP_INT: return (IndexForm){.affine = true, .constant = true, .c = x->attr.i};
  case OP_IADD: return combination(a, b, 1);
  case OP_ISUB: return combination(a, b, -1);
  case OP_INEG: return combination(&zero, a, -1);
  case OP_IMUL:
    if (b->affine && b->constant && b->step == 0) return combination(&zero, a, b->c);
    break;
  default:
    if (f->unchecked && (x->op == OP_AFTER || op_flags[x->op] & OPF_V)) return *a;
  }
  return (IndexForm){.affine = all_fixed};
}

static const IndexForm *form_of(LoopFacts *f, const Node *x, int depth) {
  static const IndexForm unknown = {.reads_index = true, .reads_state = true};
  if (x->op == OP_PARAM) return param_form(f, (int)x->attr.i);
  IndexForm *form = map_get(&f->forms, x);
  if (form) return form;
  if (depth > LIMIT_FORM_DEPTH && limit_reached(f->w->arena, AT_FORM_DEPTH)) return &unknown;
  bool all_fixed = true, index = false, state = x->type->kind == T_TOKEN;
  for (int k = 0; k < x->nops; k++) {
    const IndexForm *of = form_of(f, x->ops[k], depth + 1);
    all_fixed &= of->affine && of->step == 0;
    index |= of->reads_index;
    state |= of->reads_state;
  }
  form = NEW(f->w->temp, IndexForm);
  *form = number_form(f, x, x->nops ? form_of(f, x->ops[0], depth) : NULL,
                      x->nops > 1 ? form_of(f, x->ops[1], depth) : NULL, all_fixed);
  form->reads_index = index;
  form->reads_state = state;
  map_put(&f->forms, x, form);
  return form;
}

const IndexForm *loop_index_form(LoopFacts *f, const Node *x) {
  GraphBody *b = f->forms.count ? NULL : graph_body(f->w, f->body);
  for (int i = 0; b && i < b->n; i++) form_of(f, b->nodes[i], 0);
  return form_of(f, x, 0);
}

/* ---- Outside the loop -------------------------------------------------------------------------------------------- */
Node **loop_outer_args(const LoopFacts *f) {
  Node **args = NEW_ARRAY(f->w->temp, Node *, f->body->nparams);
  for (int p = 0; p < f->body->nparams; p++)
    args[p] = is_capture(f, p) ? f->inputs[p - 1] : ir_zero(f->w, f->body->params[p]);
  return args;
}

Node *loop_invariant(LoopFacts *f, Node *x) {
  const IndexForm *form = loop_index_form(f, x);
  return form->reads_index || form->reads_state ? NULL
                                                : ir_substitute(f->w, x, loop_outer_args(f), f->body->nparams, 0);
}

/* Is it computed without failing wherever its operands are, but for divisors that may be 0? */
static bool is_safe(const Node *x) {
  return x->op == OP_GET ||
         (op_flags[x->op] & OPF_S && op_flags[x->op] & OPF_Q && !(op_flags[x->op] & (OPF_F | OPF_L)));
}

/* Divisor d, or 1 for 0: the loop may not run, or what finds that d is 0 may come later. */
static Node *divisor(World *w, Node *d) {
  return ir_op3(w, OP_SELECT, ir_op2(w, OP_INE, d, ir_int(w, 0)), d, ir_int(w, 1));
}

static Node *start_of(LoopFacts *f, Node *x, int depth) {
  if (f->unchecked) x = fact_unchecked(x);
  if (!loop_index_form(f, x)->affine) return NULL;
  if (x->op == OP_PARAM) return x->attr.i ? f->inputs[x->attr.i - 1] : ir_int(f->w, 0);
  if (ir_is_constant(x) || x->op == OP_GLOBAL) return x;
  Node *known = map_get(&f->starts, x);
  if (known || !is_safe(x)) return known;
  if (depth > LIMIT_FORM_DEPTH && limit_reached(f->w->arena, AT_FORM_DEPTH)) return NULL;
  Node **ops = NEW_ARRAY(f->w->temp, Node *, x->nops + 1);
  for (int k = 0; k < x->nops; k++)
    if (!(ops[k] = start_of(f, x->ops[k], depth + 1))) return NULL;
  if (x->op == OP_IDIV || x->op == OP_IREM) ops[1] = divisor(f->w, ops[1]);
  Node *start = ir_rebuild(f->w, x, ops, NULL);
  map_put(&f->starts, x, start);
  return start;
}

Node *loop_start(LoopFacts *f, Node *x) { return start_of(f, x, 0); }

Node *loop_invariant_number(LoopFacts *f, Node *x) {
  return loop_index_form(f, x)->step == 0 ? start_of(f, x, 0) : NULL;
}

int64_t fact_at_most(const Node *x, int depth) {
  x = fact_unchecked(x);
  if (x->op == OP_INT) return x->attr.i;
  if (depth == 0 || x->nops < 2) return INT64_MAX;
  int64_t a = fact_at_most(x->ops[x->nops - 2], depth - 1), b = fact_at_most(x->ops[x->nops - 1], depth - 1);
  if (x->op == OP_IMIN) return a < b ? a : b;
  return x->op == OP_SELECT || x->op == OP_IMAX ? (a > b ? a : b) : INT64_MAX;
}

/* ---- Slots ------------------------------------------------------------------------------------------------------- */
Node *fact_term(const Node *next, int p) {
  if (next->op != OP_CADD) return NULL;
  return fact_is_param(next->ops[1], p) ? next->ops[0] : fact_is_param(next->ops[0], p) ? next->ops[1] : NULL;
}

bool fact_is_read_in_order(World *w, Graph *body, int p, const Node *but) {
  if (body->result->op == OP_PARAM) return false;
  FOR_USES (use, graph_uses(w, body), ir_param(w, p, body->params[p]))
    if (use->user != but && !(use->operand == 0 && fact_is_own_element(use->user, p))) return false;
  return true;
}

Node *fact_filled_in_order(World *w, Graph *body, int s) {
  const Node *result = body->result;
  Node *next = result->op == OP_TUPLE ? result->ops[s] : NULL;
  if (!next || next->op != OP_UPDATE || next->nops != 3) return NULL;
  if (!fact_is_param(next->ops[0], 1 + s) || !fact_is_param(next->ops[1], 0)) return NULL;
  const NodeUse *use = uses_only(graph_uses(w, body), next);
  return use && use->user == result && fact_is_read_in_order(w, body, 1 + s, next) ? next : NULL;
}
