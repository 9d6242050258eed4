/* SPDX-License-Identifier: MIT */
/* Expressions: one function per kind of syntax node, and the switch that chooses (el_simple).
 *
 * Evaluation is strict and from left to right, which matters for effects only: the token passes through the operands
 * in the order in which they are elaborated. Long chains of `;`, `let … in`, `::` and `++` are followed by loops,
 * since they may have thousands of links; all else recurses. */
#include "elab/elab_internal.h"

static Expr *strip(Expr *e) {
  while (e->kind == E_ANNOT) e = e->args[0];
  return e;
}

/* ---- Constants and text ---------------------------------------------------------- */

static Node *literal_int(Ctx *c, Expr *e) {
  return el_type(c, e->type)->kind == T_FLOAT ? ir_float(c->w, e->f) : ir_int(c->w, e->i);
}

/* A structure of numbers with the format for each float in it, or for each int where there is none; NULL: the format
 * has neither a precision nor a type of numbers, so it is for the text of the whole. */
static Node *format_each(Ctx *c, Node *x, Sym format, Span at) {
  Format f;
  unsigned leaves = x->type->kind == T_STRING ? 0 : el_leaves(c->e, x->type);
  bool floats = leaves & LEAF_FLOAT;
  if (!(leaves & (LEAF_FLOAT | LEAF_INT))) return NULL;
  if (!format_parse(format, sym_len(format), floats ? FORMAT_FLOAT : FORMAT_INT, &f)) return NULL;
  if (f.precision < 0 && !f.type) return NULL;
  Node *args[3] = {x, ir_string(c->w, format), ir_bool(c->w, floats)};
  return el_rt(c, "format_each", c->e->t_string, x->type, args, 3, at);
}

static Node *text_of_hole(Ctx *c, InterpPart *p) {
  const Node *mark = el_mark(c);
  Node *x = el_expr(c, p->hole);
  Span at = p->hole->span;
  IrType *s = c->e->t_string;
  x = el_cut(c, "show", x, at);
  if (!p->format) return x->type == s ? x : el_rt(c, "display", s, x->type, &x, 1, at);
  x = el_behind(c, mark, x);
  Node *args[2] = {ir_string(c->w, p->format), x};
  if (x->type->kind == T_FLOAT) return el_rt(c, "format_float", s, NULL, args, 2, at);
  if (x->type->kind == T_INT) return el_rt(c, "format_int", s, NULL, args, 2, at);
  Node *each = format_each(c, x, p->format, at);
  if (each) return each;
  if (x->type != s) args[1] = el_rt(c, "show", s, x->type, &x, 1, at);
  return el_rt(c, "format_string", s, NULL, args, 2, at);
}

static Node *interpolation(Ctx *c, Expr *e) {
  Nodes parts = {0};
  for (int i = 0; i < e->nparts; i++) {
    InterpPart *p = &e->parts[i];
    if (!p->hole && (!p->text || !sym_len(p->text))) continue;
    Node *x = p->hole ? text_of_hole(c, p) : ir_string(c->w, p->text);
    vec_push(c->e->arena, parts, x);
  }
  if (!parts.len) return ir_string(c->w, sym_of(c->e->syms, ""));
  if (parts.len == 1) return parts.data[0];
  Node *all = ir_array(c->w, c->e->t_string, parts.data, parts.len, el_site(c, e->span));
  return el_rt(c, "concat_strings", c->e->t_string, NULL, &all, 1, e->span);
}

/* ---- Products ------------------------------------------------------------------------ */

static Node **operands(Ctx *c, Expr *e) {
  Node **out = NEW_ARRAY(c->e->arena, Node *, e->nargs + 1);
  for (int i = 0; i < e->nargs; i++) out[i] = el_expr(c, e->args[i]);
  return out;
}

static Node *record(Ctx *c, Expr *e) {
  IrType *t = el_type(c, e->type);
  Node **sorted = NEW_ARRAY(c->e->arena, Node *, t->n + 1), **written = operands(c, e);
  for (int i = 0; i < e->nargs; i++) sorted[el_field(t, e->fields[i])] = written[i];
  return ir_tuple(c->w, t, sorted);
}

static Node *record_with(Ctx *c, Expr *e) {
  IrType *t = el_type(c, e->type);
  Node **written = operands(c, e), **parts = NEW_ARRAY(c->e->arena, Node *, t->n + 1);
  for (int i = 0; i < t->n; i++) parts[i] = ir_get(c->w, written[0], i);
  for (int i = 1; i < e->nargs; i++) parts[el_field(t, e->fields[i - 1])] = written[i];
  return ir_tuple(c->w, t, parts);
}

static Node *field(Ctx *c, Expr *e) {
  Node *x = el_expr(c, e->args[0]);
  return ir_get(c->w, x, el_field(x->type, e->text));
}

static Node *constructor(Ctx *c, Expr *e) {
  if (!e->ctor->arg) return ir_inj(c->w, el_type(c, e->type), e->ctor->tag, NULL);
  Callee *f = NEW(c->e->arena, Callee);
  el_callee(c, e, f);
  return el_eta(c, f, NULL, 0, e->span);
}

static Node *array_literal(Ctx *c, Expr *e) {
  const Node *mark = el_mark(c);
  Node **xs = operands(c, e);
  IrType *element = el_type(c, e->type)->args[0];
  if (element->kind == T_ARRAY) el_all_behind(c, mark, xs, e->nargs); /* rows are of one length */
  return ir_array(c->w, element, xs, e->nargs, el_site(c, e->span));
}

/* ---- Functions -------------------------------------------------------------------------- */

typedef struct Lambda {
  Expr *fun;
  int k;
  IrType *type;
} Lambda;

static Node *lambda_body(Ctx *c, void *user, Node *x) {
  Lambda *l = user;
  Pat *p = l->fun->params[l->k];
  el_bind_pattern(c, p, x, p->span);
  if (l->k + 1 == l->fun->nparams) return el_expr(c, l->fun->args[0]);
  Lambda next = {l->fun, l->k + 1, l->type->args[1]};
  return el_closure(c, next.type, NULL, lambda_body, &next);
}

static Node *el_fun(Ctx *c, Expr *fun, IrType *type) {
  Lambda l = {fun, 0, type};
  return el_closure(c, type, NULL, lambda_body, &l);
}

static Node *operator_value(Ctx *c, Expr *e) {
  Callee *f = NEW(c->e->arena, Callee);
  el_callee(c, e, f);
  return el_eta(c, f, NULL, 0, e->span);
}

static Node *application(Ctx *c, Expr *e) {
  int n = e->nargs - 1;
  Arg *args = NEW_ARRAY(c->e->arena, Arg, n);
  for (int i = 0; i < n; i++) args[i].expr = e->args[i + 1];
  return el_apply(c, e->args[0], args, n, el_mark(c), e->span);
}

/* ---- Chains -------------------------------------------------------------------------------- */

/* The operands of a right-nested chain of `op`, from left to right. */
static Nodes chain(Ctx *c, Expr *e, BinOp op) {
  Nodes out = {0};
  for (;;) {
    Expr *s = strip(e);
    if (s->kind != E_BINARY || s->op != op) break;
    Node *x = el_expr(c, s->args[0]);
    vec_push(c->e->arena, out, x);
    e = s->args[1];
  }
  Node *last = el_expr(c, e);
  vec_push(c->e->arena, out, last);
  return out;
}

static Node *cons(Ctx *c, Expr *e) {
  IrType *list = el_type(c, e->type);
  int tag = el_cons_tag(list);
  Nodes xs = chain(c, e, BIN_CONS);
  Node *rest = xs.data[xs.len - 1];
  for (int i = xs.len - 2; i >= 0; i--) {
    Node *cell[2] = {xs.data[i], rest};
    rest = ir_inj(c->w, list, tag, ir_tuple(c->w, list->ctors[tag].payload, cell));
  }
  return rest;
}

static Node *concatenation(Ctx *c, Expr *e) {
  const Node *mark = el_mark(c);
  Nodes xs = chain(c, e, BIN_CONCAT);
  el_all_behind(c, mark, xs.data, xs.len);
  IrType *t = xs.data[0]->type;
  if (t->kind == T_STRING && xs.len > 2) {
    Node *all = ir_array(c->w, t, xs.data, xs.len, el_site(c, e->span));
    return el_rt(c, "concat_strings", t, NULL, &all, 1, e->span);
  }
  Node *rest = xs.data[xs.len - 1];
  for (int i = xs.len - 2; i >= 0; i--) rest = el_binary(c, BIN_CONCAT, xs.data[i], rest, t, e->op_span);
  return rest;
}

static Node *pipe_left(Ctx *c, Expr *e) {
  Arg x = {.expr = e->args[1]};
  return el_apply(c, e->args[0], &x, 1, el_mark(c), e->span);
}

static bool is_number(const Node *x) { return x->type->kind == T_INT || x->type->kind == T_FLOAT; }

static bool can_fail(BinOp op, const Node *a, const Node *b) {
  if (op >= BIN_EQ && op <= BIN_CLOSE) return false;
  bool divides = op == BIN_DIV || op == BIN_REM || op == BIN_POW_INT;
  return !is_number(a) || !is_number(b) || (divides && a->type->kind == T_INT);
}

/* The operator applied to its left operand's value. Its checks are of the right operand, or of both. */
static Node *binary_with(Ctx *c, Expr *e, Node *a, const Node *mark) {
  Arg x = {.node = a};
  if (e->op == BIN_PIPE) return el_apply(c, e->args[1], &x, 1, mark, e->span);
  Node *b = el_expr(c, e->args[1]);
  if (can_fail(e->op, a, b)) b = el_behind(c, mark, b);
  return el_binary(c, e->op, a, b, el_type(c, e->type), e->span);
}

static bool right_nested(const Expr *e) { return e->op == BIN_CONS || e->op == BIN_CONCAT || e->op == BIN_PIPE_LEFT; }

typedef Vec(Expr *) ExprList;

/* A left-nested chain is evaluated from its innermost operand outwards. */
static Node *binary(Ctx *c, Expr *e) {
  if (e->op == BIN_CONS) return cons(c, e);
  if (e->op == BIN_CONCAT) return concatenation(c, e);
  if (e->op == BIN_PIPE_LEFT) return pipe_left(c, e);
  ExprList spine = {0};
  for (; e->kind == E_BINARY && !right_nested(e); e = strip(e->args[0])) vec_push(c->e->arena, spine, e);
  const Node *mark = el_mark(c);
  Node *a = el_expr(c, spine.data[spine.len - 1]->args[0]);
  for (int i = spine.len - 1; i >= 0; i--) a = binary_with(c, spine.data[i], a, mark);
  return a;
}

/* ---- Branches --------------------------------------------------------------------------------- */

static Node *conditional(Ctx *c, Expr *e) {
  const Node *mark = el_mark(c);
  const Expr *asked = strip(e->args[0]);
  if (asked->kind == E_BINARY) c->e->condition = asked->span;
  Node *cond = el_expr(c, e->args[0]);
  cond = el_behind(c, mark, cond);
  Join j;
  join_open(c, &j, 2);
  join_arm(c, &j, 0);
  join_end(c, &j, e->nargs > 2 ? el_expr(c, e->args[2]) : ir_unit(c->w));
  join_arm(c, &j, 1);
  join_end(c, &j, el_expr(c, e->args[1]));
  return join_close(c, &j, cond, el_type(c, e->type), NULL, 0);
}

/* 1 or 0, the truth of a bool; of a recorded comparison what records it (ir/traps.c), so that a derivative which goes
 * through it records it, too. */
static Node *truth(World *w, Node *b) {
  bool recorded = b->op == OP_FLT && b->ops[0]->op == OP_FLOAT && b->ops[0]->attr.f == 0;
  return recorded ? b->ops[1] : ir_op3(w, OP_SELECT, b, ir_float(w, 1), ir_float(w, 0));
}

/* `a && b`: the right side is an arm. In a study of a point it is a float, see `truth`. */
static Node *lazy_logic(Ctx *c, Expr *e) {
  bool is_and = e->kind == E_AND, recorded = c->w->traps == TRAP_POINT;
  const Node *mark = el_mark(c);
  Node *a = el_expr(c, e->args[0]);
  a = el_behind(c, mark, a);
  Join j;
  join_open(c, &j, 2);
  for (int arm = 0; arm < 2; arm++) {
    join_arm(c, &j, arm);
    bool decided = (arm == 1) != is_and;
    Node *b = decided ? ir_bool(c->w, !is_and) : el_expr(c, e->args[1]);
    join_end(c, &j, recorded ? truth(c->w, b) : b);
  }
  if (!recorded) return join_close(c, &j, a, c->e->t_bool, NULL, 0);
  return ir_op2(c->w, OP_FLT, ir_float(c->w, 0), join_close(c, &j, a, c->e->t_float, NULL, 0));
}

/* ---- Blocks -------------------------------------------------------------------------------------- */

static Node *elements(Ctx *c, Expr *e) {
  if (e->nargs == 1) return el_expr(c, e->args[0]);
  Arg list = {e->args[0], NULL};
  return el_apply(c, e->args[1], &list, 1, el_mark(c), e->span);
}

static Node *el_simple(Ctx *c, Expr *e) {
  switch (e->kind) {
  case E_INT: return literal_int(c, e);
  case E_FLOAT: return ir_float(c->w, e->f);
  case E_BOOL: return ir_bool(c->w, e->i != 0);
  case E_STRING: return ir_string(c->w, e->text);
  case E_UNIT: return ir_unit(c->w);
  case E_INTERP: return interpolation(c, e);
  case E_VAR: return el_variable(c, e);
  case E_CTOR: return constructor(c, e);
  case E_OPERATOR: return operator_value(c, e);
  case E_TUPLE: return ir_tuple(c->w, el_type(c, e->type), operands(c, e));
  case E_RECORD: return record(c, e);
  case E_WITH: return record_with(c, e);
  case E_FIELD: return field(c, e);
  case E_ARRAY: return array_literal(c, e);
  case E_COMPREHENSION: return el_comprehension(c, e);
  case E_INDEX: return el_index(c, e);
  case E_APPLY: return application(c, e);
  case E_FUN: return el_fun(c, e, el_type(c, e->type));
  case E_IF: return conditional(c, e);
  case E_MATCH: return el_match(c, e);
  case E_BINARY: return binary(c, e);
  case E_NEGATE: return el_negate(c, el_expr(c, e->args[0]), e->span);
  case E_AND:
  case E_OR: return lazy_logic(c, e);
  case E_ASSIGN: return el_assign(c, e);
  case E_FOR: return el_for(c, e);
  case E_WHILE: return el_while(c, e);
  case E_ELEMENTS: return elements(c, e);
  default: return el_error(c, e->span, el_type(c, e->type), "unsupported", "this can't be run");
  }
}

static void add_check(Ctx *c, Nodes *checks, Node *x) {
  if (x->type->kind != T_UNIT) return; /* a value thrown away: may be skipped with its error */
  x = el_settle(c, x);
  if (x->op != OP_UNIT) vec_push(c->e->arena, *checks, x);
}

/* Is the clock read by e, or by the statement or definition that e begins with? */
static bool reads_clock(Ctx *c, Expr *e) {
  if (c->clock == CLOCK_UNKNOWN) c->clock = scan_clock(c, &e, 1, true) ? CLOCK_READ : CLOCK_NONE;
  if (c->clock == CLOCK_NONE || !c->token.node) return false;
  if (e->kind == E_SEQ) return scan_clock(c, e->args, 1, false);
  if (e->kind != E_LET) return (c->bound.len || c->muts.len > c->outer_muts) && scan_clock(c, &e, 1, false);
  for (int i = 0; i < e->nlets; i++)
    if (scan_clock(c, &e->lets[i].value, 1, false)) return true;
  return false;
}

static bool is_statement(const Expr *e) { return e->kind == E_SEQ || e->kind == E_LET || e->kind == E_ANNOT; }

/* Statements and definitions up to the value at their end, which comes after the checks met on the way. */
Node *el_expr(Ctx *c, Expr *e) {
  if (el_deep(c, e->span)) return ir_zero(c->w, el_type(c, e->type));
  Nodes checks = {0};
  int muts = c->muts.len, bound = c->bound.len;
  bool clock = false;
  for (; !clock && is_statement(e); e = e->args[e->kind == E_SEQ]) {
    if (e->kind == E_ANNOT) continue;
    clock = reads_clock(c, e);
    if (clock) el_finish_bound(c, e->span);
    Node *x = e->kind == E_SEQ ? el_expr(c, e->args[0]) : el_let(c, e);
    add_check(c, &checks, x);
  }
  if (!clock && reads_clock(c, e)) el_finish_bound(c, e->span);
  Node *value = clock && scan_work(c, e) ? el_behind_clock(c, e, el_expr) : clock ? el_expr(c, e) : el_simple(c, e);
  for (int i = 0; i < checks.len; i++) value = el_after(c, value, checks.data[i]);
  c->muts.len = muts;
  if (c->bound.len > bound) c->bound.len = bound;
  return value;
}
