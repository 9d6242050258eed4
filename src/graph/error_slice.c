/* SPDX-License-Identifier: MIT */
/* The error slice of a value: a number that depends on everything in the value's computation that may end in an
 * error, and on nothing else. A derivative is ordered after it (ad/expand.c), so that the derivative
 * fails where its function fails:
 *
 *   x * (a[check i n] + f y)              →   after (after 0 (check i n)) (f y)     f may fail
 *   loop s i: s + a[check (k * i) n]      →   loop i: after 0 (check (k * i) n)     a loop of the check alone
 *   if c then x / y else fail "no"        →   if c then 0 else after 0 (fail "no")
 *
 * The checks are the value's own nodes, so where both are computed they are computed once. Of a branch or loop only
 * those results count that the value reads; of a loop's state only what the checks read is carried. A branch or loop
 * that calls functions, or carries floats for its checks, isn't reduced: the slice depends on the node itself, which
 * the derivative mostly needs anyway. So it does on an array whose rows may have different lengths.
 *
 * Non-termination (NODE_ENDLESS) and exhausted stack are no errors here. Effects are ordered by their tokens. */
#include "graph/graph.h"
#include "ir/edit.h"
#include "ir/world.h"
#include <string.h>

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */
/* May n fail by itself, all that it reads being there? Of what holds graphs these aren't looked at. */
static bool fails_itself(const Node *n) {
  switch (n->op) {
  case OP_CHECK_INDEX:
  case OP_CHECK_SLICE:
  case OP_CHECK_SIZE:
  case OP_CHECK_NONZERO:
  case OP_CHECK_NAT:
  case OP_CHECK:
  case OP_FAIL:
  case OP_APPLY:
  case OP_VJP:
  case OP_JVP: return true;
  case OP_RESHAPE: return n->site != 0;
  case OP_CALL: return !n->attr.func->graph;
  case OP_ARRAY: return n->nops > 1 && n->type->args[0]->kind == T_ARRAY;
  case OP_RT: return n->attr.rt->fails && !ir_is_attempt(n);
  default: return false;
  }
}

/* May a run of g end in an error? */
static bool may_fail(World *w, Graph *g) { return g->flags & NODE_FAILS && ir_reaches(w, g, fails_itself); }

static bool call_may_fail(World *w, Func *f) {
  if (!f->graph) return true;
  void **known = ir_memo_closures(w, f, "may fail", NULL, 0);
  if (!*known) *known = may_fail(w, f->graph) ? (void *)f : w;
  return *known == f;
}

/* ---- What a value needs ------------------------------------------------------------------------------------------ */
/* A walk from results to parameters. */
typedef struct Walk {
  World *w;
  IrType **params;
  int nparams;
  Node **nodes;
  int n;
  Map place;    /* node -> place + 1 */
  bool *wanted; /* per node: it is evaluated, and its errors count */
  bool **parts; /* per branch, loop or call: which of its components are; NULL: all of it is */
  Nodes found;  /* what is to be waited for */
} Walk;

static int place_of(const Walk *s, const Node *x) { return (int)(uintptr_t)map_get(&s->place, x) - 1; }

static bool has_parts(const Node *x) { return x->type->kind == T_TUPLE && (ir_is_control(x) || x->op == OP_CALL); }

static void want(Walk *s, const Node *x) {
  if (!(x->flags & NODE_FAILS)) return;
  const Node *whole = x->op == OP_GET && has_parts(x->ops[0]) ? x->ops[0] : x;
  int i = place_of(s, whole);
  bool first = !s->wanted[i];
  s->wanted[i] = true;
  if (whole == x) s->parts[i] = NULL;
  else if (first) s->parts[i] = NEW_ARRAY(s->w->temp, bool, whole->type->n);
  if (whole != x && s->parts[i]) s->parts[i][x->attr.i] = true;
}

static bool has_part(const Walk *s, int i, int k) { return !s->parts[i] || s->parts[i][k]; }

static Node *errors_of(World *w, IrType **params, int nparams, Node **xs, int n);
static Node *errors_in(World *w, const Graph *g, Node **xs, int n) {
  return errors_of(w, g->params, g->nparams, xs, n);
}

static bool is_none(const Node *errors) { return errors->op == OP_INT; }

/* Node i itself is waited for, or those of its components that count: those that may be zero are numbers. */
static void wait_for(Walk *s, int i) {
  Node *n = s->nodes[i];
  if (!s->parts[i]) vec_push(s->w->temp, s->found, n);
  for (int k = 0; s->parts[i] && k < n->type->n; k++)
    if (s->parts[i][k]) vec_push(s->w->temp, s->found, ir_get(s->w, n, k));
}

/* In reverse mode a branch yields its value with the token, and what the backward pass needs besides. */
static bool has_token(const IrType *t) {
  for (int k = 0; t->kind == T_TUPLE && k < t->n; k++)
    if (has_token(t->args[k])) return true;
  return t->kind == T_TOKEN;
}

/* Marks the parameters that the nodes xs over those of g read. */
static void mark_read(World *w, const Graph *g, Node **xs, int n, bool *read) {
  Node **nodes, *all = ir_record(w, xs, n);
  int count = ir_order(w->temp, ir_graph(w, g->params, g->nparams, all, NULL), &nodes);
  for (int i = 0; i < count; i++)
    if (nodes[i]->op == OP_PARAM) read[nodes[i]->attr.i] = true;
}

/* ---- Branches ---------------------------------------------------------------------------------------------------- */
/* The results of graph g that count, as a list. */
static Nodes results_of(Walk *s, int i, const Graph *g) {
  Nodes out = {0};
  if (!s->parts[i]) vec_push(s->w->temp, out, g->result);
  for (int k = 0; s->parts[i] && k < g->result->type->n; k++)
    if (s->parts[i][k]) vec_push(s->w->temp, out, ir_get(s->w, g->result, k));
  return out;
}

/* What calls functions may take as long as the value does: it isn't done a second time. */
static bool calls(const Graph *g) { return g->flags & (NODE_CALLS | NODE_APPLIES | NODE_AD); }

static void want_branch(Walk *s, int i) {
  World *w = s->w;
  Node *n = s->nodes[i], **errors = NEW_ARRAY(w->temp, Node *, n->ngraphs);
  bool any = false, whole = has_token(n->type), *read = NEW_ARRAY(w->temp, bool, n->nops + 1);
  for (int t = 0; t < n->ngraphs; t++) {
    Nodes xs = results_of(s, i, n->graphs[t]);
    errors[t] = errors_in(w, n->graphs[t], xs.data, xs.len);
    any |= !is_none(errors[t]);
    whole |= calls(n->graphs[t]);
    mark_read(w, n->graphs[t], xs.data, xs.len, read);
  }
  want(s, n->ops[0]);
  for (int k = 1; k < n->nops; k++)
    if (read[k - 1]) want(s, n->ops[k]);
  if (any && whole) wait_for(s, i);
  else if (any) vec_push(w->temp, s->found, ir_switch_yielding(w, n, n->ops, n->graphs, errors));
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
typedef struct LoopErrors {
  Walk *s;
  Node *n;
  Graph *body, *cond;
  bool *read; /* parameters of the body */
  Nodes xs;   /* results of the body */
} LoopErrors;

/* The slots that are read, and those that their next values read. */
static void close_state(LoopErrors *e, bool *read, Nodes *next) {
  World *w = e->s->w;
  const LoopInfo *l = e->n->loop;
  bool *seen = NEW_ARRAY(w->temp, bool, loop_slots(l) + 1);
  for (bool more = true; more;) {
    more = false;
    for (int k = 0; k < loop_slots(l); k++) {
      if (!read[1 + k] || seen[k]) continue;
      seen[k] = more = true;
      Node *x = ir_get(w, e->body->result, k);
      vec_push(w->temp, *next, x);
      mark_read(w, e->body, &x, 1, read);
    }
  }
}

static void read_by_condition(LoopErrors *e, bool *read) {
  if (!e->cond) return;
  bool *asked = NEW_ARRAY(e->s->w->temp, bool, e->cond->nparams + 1);
  mark_read(e->s->w, e->cond, &e->cond->result, 1, asked);
  for (int p = 1; p < e->cond->nparams; p++)
    if (asked[p]) read[1 + loop_cond_input(e->n->loop, p)] = true;
}

/* What the value needs of the body. */
static void needed_of_loop(LoopErrors *e, int i) {
  World *w = e->s->w;
  int slots = loop_slots(e->n->loop), last = e->n->type->n - 1;
  read_by_condition(e, e->read);
  for (int k = 0; k < last; k++) {
    if (!has_part(e->s, i, k)) continue;
    if (k < slots) e->read[1 + k] = true;
    else {
      if (ir_rows_may_differ(w, e->n, k)) vec_push(w->temp, e->s->found, ir_get(w, e->n, k));
      Node *x = ir_get(w, e->body->result, k);
      vec_push(w->temp, e->xs, x);
      mark_read(w, e->body, &x, 1, e->read);
    }
  }
  close_state(e, e->read, &e->xs);
}

/* The loop slots that the loop of the checks has to carry: one flag for each body parameter. NULL if one of them is
 * neither an int, a bool, nor a list that the loop only traverses. Variants that hold arrays are excluded: the original
 * loop and the loop of the checks would both update the arrays in place, so each iteration would copy them. */
static bool *carried_by_checks(LoopErrors *e, Node *errors) {
  World *w = e->s->w;
  Nodes next = {0};
  bool *read = NEW_ARRAY(w->temp, bool, e->body->nparams + 1);
  mark_read(w, e->body, &errors, 1, read);
  read_by_condition(e, read);
  close_state(e, read, &next);
  for (int k = 0; k < loop_slots(e->n->loop); k++) {
    IrType *t = e->body->params[1 + k];
    bool costly = ir_get(w, e->body->result, k)->flags & NODE_COSTLY;
    bool walks = t->kind == T_VARIANT && !costly && !ir_holds_arrays(w, t); /* as through a list */
    if (read[1 + k] && t->kind != T_INT && t->kind != T_BOOL && !walks) return NULL;
  }
  return read;
}

/* Waits for a loop that makes the checks alone. */
static void wait_for_checks(LoopErrors *e, const bool *read, Node *errors) {
  World *w = e->s->w;
  int slots = loop_slots(e->n->loop);
  LoopEdit *loop = edit_loop(w, e->n, e->n->ops, e->n->graphs);
  Node **results = NEW_ARRAY(w->temp, Node *, e->n->type->n), *made = errors;
  bool carries = e->cond != NULL;
  for (int k = 0; k < loop_inputs(e->n->loop); k++) {
    carries |= k < slots && read[1 + k];
    if (!read[1 + k]) loop->args[1 + k] = ir_zero(w, e->body->params[1 + k]);
    else if (k < slots) results[k] = ir_get(w, e->body->result, k);
  }
  edit_inputs(loop);
  /* Iterations that carry nothing stay independent: what they add is 0. */
  Node *zero = carries ? ir_int(w, 0) : ir_float(w, 0);
  Node *sum = loop_add(loop->b, carries ? LOOP_CARRIED : LOOP_ACC, zero);
  edit_body(loop, results, &made, 1);
  Node *waiting = ir_op2(w, OP_AFTER, zero, made);
  loop_next(loop->b, sum, carries ? waiting : ir_op2(w, OP_CADD, sum, waiting));
  edit_close(loop);
  if (!is_none(errors)) vec_push(w->temp, e->s->found, loop_result(loop->b, sum));
  if (e->cond) vec_push(w->temp, e->s->found, loop_trips(loop->b));
}

static void want_loop(Walk *s, int i) {
  World *w = s->w;
  Node *n = s->nodes[i];
  LoopErrors e = {.s = s, .n = n, .body = n->graphs[0], .cond = n->loop->has_cond ? n->graphs[1] : NULL};
  e.read = NEW_ARRAY(w->temp, bool, e.body->nparams + 1);
  needed_of_loop(&e, i);
  Node *errors = errors_in(w, e.body, e.xs.data, e.xs.len);
  bool fails = !is_none(errors) || (e.cond && !is_none(errors_in(w, e.cond, &e.cond->result, 1)));
  if (!n->loop->has_cond) want(s, n->ops[0]);
  for (int k = 0; k < loop_inputs(n->loop); k++)
    if (e.read[1 + k]) want(s, n->ops[loop_first(n->loop) + k]);
  if (!fails) return;
  bool whole = has_token(n->type) || calls(e.body), *carried = whole ? NULL : carried_by_checks(&e, errors);
  if (carried) wait_for_checks(&e, carried, errors);
  else wait_for(s, i);
}

/* ---- Other nodes ------------------------------------------------------------------------------------------------- */
static void want_operands(Walk *s, const Node *n) {
  for (int k = 0; k < n->nops; k++) want(s, n->ops[k]);
}

static void want_call(Walk *s, int i) {
  Node *n = s->nodes[i];
  if (call_may_fail(s->w, n->attr.func)) wait_for(s, i);
  else want_operands(s, n);
}

/* It fails where the numbers of elements differ; else it isn't needed. */
static void want_reshape(Walk *s, Node *n) {
  World *w = s->w;
  Node *from = ir_product(w, ir_dims(w, n->ops[0]), ir_rank(n->ops[0]->type));
  Node *to = ir_product(w, n->ops + 1, n->nops - 1);
  BranchBuilder *b = branch_open(w, ir_op2(w, OP_IEQ, from, to));
  Node **ops = NEW_ARRAY(w->temp, Node *, n->nops);
  for (int k = 0; k < n->nops; k++) ops[k] = branch_add(b, n->ops[k]);
  branch_arm(b, ir_op2(w, OP_AFTER, ir_int(w, 0), ir_rebuild(w, n, ops, NULL)), NULL);
  branch_arm(b, ir_int(w, 0), NULL);
  vec_push(w->temp, s->found, branch_close(b));
  want_operands(s, n);
}

static void want_checkpoint(Walk *s, Node *n) {
  World *w = s->w;
  Target t = ir_target(w, n->ops[0], n->ops[1], n->nops == 3 ? n->ops[2] : NULL, n->site);
  Node *errors = ir_errors(w, t.g->params, t.g->nparams, t.g->result);
  if (n->nops == 3) vec_push(w->temp, s->found, n);
  else if (!is_none(errors)) vec_push(w->temp, s->found, ir_substitute(w, errors, t.args, t.g->nparams, n->site));
  want_operands(s, n);
}

static void visit(Walk *s, int i) {
  Node *n = s->nodes[i];
  switch (n->op) {
  case OP_SWITCH: want_branch(s, i); return;
  case OP_LOOP: want_loop(s, i); return;
  case OP_CALL: want_call(s, i); return;
  case OP_RESHAPE:
    if (fails_itself(n)) want_reshape(s, n);
    else want_operands(s, n);
    return;
  case OP_CHECKPOINT: want_checkpoint(s, n); return;
  default:
    if (ir_is_effect(n)) return; /* its token is waited for */
    if (fails_itself(n)) vec_push(s->w->temp, s->found, n);
    else want_operands(s, n);
  }
}

/* A number that is ordered after all that can fail in the nodes xs over these parameters; 0 itself if nothing can. */
static Node *errors_of(World *w, IrType **params, int nparams, Node **xs, int n) {
  Walk s = {.w = w, .params = params, .nparams = nparams};
  Node *errors = ir_int(w, 0), *all = n == 1 ? xs[0] : ir_record(w, xs, n);
  if (!(all->flags & NODE_FAILS)) return errors;
  s.n = ir_order(w->temp, ir_graph(w, params, nparams, all, NULL), &s.nodes);
  map_init(&s.place, w->temp);
  for (int i = 0; i < s.n; i++) map_put(&s.place, s.nodes[i], (void *)(uintptr_t)(i + 1));
  s.wanted = NEW_ARRAY(w->temp, bool, s.n);
  s.parts = NEW_ARRAY(w->temp, bool *, s.n);
  want(&s, all);
  for (int i = s.n - 1; i >= 0; i--)
    if (s.wanted[i]) visit(&s, i);
  for (int k = 0; k < s.found.len; k++) errors = ir_op2(w, OP_AFTER, errors, s.found.data[k]);
  return errors;
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */
/* How many operands of n have to wait, so that n fails, by itself or in a graph that it runs, after that: one, but all
 * of a call, for it may be inlined. */
static int operands_to_wait(const Node *n) {
  if (n->op == OP_CALL) return n->nops;
  bool fails = fails_itself(n);
  for (int k = 0; k < n->ngraphs && ir_is_control(n); k++) fails |= (n->graphs[k]->flags & NODE_FAILS) != 0;
  return fails && n->nops;
}

Node *ir_instantiate_after(World *w, Graph *g, Node **args, Node *first, Node *as_they_are) {
  Node **nodes, **kept;
  int n = ir_order(w->temp, g, &nodes), nkept = 0;
  Map made;
  map_init(&made, w->temp);
  if (as_they_are) nkept = ir_order(w->temp, ir_graph(w, g->params, g->nparams, as_they_are, NULL), &kept);
  for (int i = 0; i < nkept; i++) map_put(&made, kept[i], kept[i]);
  for (int i = 0; i < n; i++) {
    Node *x = nodes[i], **ops = NEW_ARRAY(w->temp, Node *, x->nops + 1);
    if (map_get(&made, x)) continue;
    for (int k = 0; k < x->nops; k++) ops[k] = map_get(&made, x->ops[k]);
    for (int k = 0; k < operands_to_wait(x); k++) ops[k] = ir_after(w, ops[k], first, WAITS_ERROR);
    map_put(&made, x, x->op == OP_PARAM ? args[x->attr.i] : ir_rebuild(w, x, ops, x->graphs));
  }
  return map_get(&made, g->result);
}

Node *ir_errors(World *w, IrType **params, int nparams, Node *x) { return errors_of(w, params, nparams, &x, 1); }
