/* SPDX-License-Identifier: MIT */
/* Loops that are read as simpler ones: those over elements, and those with a `break`. Last, values that are computed
 * when a program is compiled.
 *
 *     for p in xs do … done
 *
 * is read as a loop over the indices of the array, or of the array of a list's elements,
 *
 *     let in = elements xs in
 *     for do = 0 to length in - 1 do let p = in[do] in … done
 *
 *     while c do … if d then break; rest done
 *
 * is read as
 *
 *     let mut break = true in
 *     while break && c do … if d then break <- false; if break then (rest; ()) done
 *
 * where the variables have names that no program can write. A `for` with a break becomes a `while` that counts. So
 * break stands where a statement of its loop does: what it ends early is known from the text, and no value waits for
 * it. */
#include "parser/parser_internal.h"

static Expr *variable(Parser *p, const char *name, Span at) {
  Expr *e = new_node(p, E_VAR, at, 0);
  e->name = (Name){.name = sym_of(p->syms, name), .span = at};
  return e;
}

static Expr *assign(Parser *p, const char *name, Expr *value, Span at) {
  Expr *e = new_node(p, E_ASSIGN, at, 2);
  e->args[0] = variable(p, name, at);
  e->args[1] = value;
  return e;
}

static Expr *constant(Parser *p, ExprKind kind, int64_t value, Span at) {
  Expr *e = new_node(p, kind, at, 0);
  e->i = value;
  return e;
}

static Expr *pair(Parser *p, ExprKind kind, BinOp op, Expr *a, Expr *b, Span at) {
  Expr *e = new_node(p, kind, at, 2);
  e->args[0] = a;
  e->args[1] = b;
  if (kind == E_BINARY || kind == E_AND) e->op = op, e->op_span = at;
  return e;
}

static Expr *let(Parser *p, Pat *pat, bool mut, Expr *value, Expr *body, Span at) {
  Expr *e = new_node(p, E_LET, at, 1);
  e->lets = NEW(p->arena, LetBinding);
  *e->lets = (LetBinding){.pat = pat, .value = value, .span = at, .mut = mut};
  e->nlets = 1;
  e->args[0] = body;
  return e;
}

static Expr *let_variable(Parser *p, const char *name, bool mut, Expr *value, Expr *body, Span at) {
  return let(p, new_var_pat(p, sym_of(p->syms, name), at), mut, value, body, at);
}

/* break = "break" */
Expr *parse_break(Parser *p) {
  Span at = token_span(p);
  advance(p);
  Expr *e = assign(p, "break", constant(p, E_BOOL, false, at), at);
  vec_push(p->temp, p->breaks, e);
  return e;
}

/* Is e one that no loop has yet? Then this one has it. */
static bool take_break(Parser *p, const Expr *e, int mark) {
  for (int i = mark; i < p->breaks.len; i++)
    if (p->breaks.data[i] == e) {
      p->breaks.data[i] = p->breaks.data[--p->breaks.len];
      return true;
    }
  return false;
}

/* Takes the breaks among the statements of *place, and guards what follows them. Are there any? */
static bool take_breaks(Parser *p, Expr **place, int mark) {
  bool any = false;
  for (;;) {
    Expr *e = *place;
    switch (e->kind) {
    case E_SEQ:
      place = &e->args[1];
      if (!take_breaks(p, &e->args[0], mark)) continue;
      any = true;
      Span at = e->args[1]->span;
      Expr *rest = pair(p, E_SEQ, 0, e->args[1], new_node(p, E_UNIT, at, 0), at);
      e->args[1] = pair(p, E_IF, 0, variable(p, "break", at), rest, at);
      place = &rest->args[0];
      continue;
    case E_LET: place = &e->args[0]; continue;
    case E_IF:
      for (int k = 1; k < e->nargs; k++) any |= take_breaks(p, &e->args[k], mark);
      return any;
    case E_MATCH:
      for (int k = 0; k < e->ncases; k++) any |= take_breaks(p, &e->cases[k].body, mark);
      return any;
    case E_ASSIGN: return any | take_break(p, e, mark);
    default: return any;
    }
  }
}

/* An error if a break behind the mark is left. */
void refuse_breaks(Parser *p, int mark, const char *message) {
  if (p->breaks.len > mark)
    fail_at(p, p->breaks.data[mark]->span, "break", message, "as in: while true do …; if x < eps then break; … done");
}

static Expr *while_unbroken(Parser *p, Expr *condition, Expr *body, Span at) {
  Expr *both = pair(p, E_AND, 0, variable(p, "break", at), condition, at);
  return pair(p, E_WHILE, 0, both, body, at);
}

/* The `while` or `for` loop, without the breaks that were met since the mark. */
Expr *loop_of_breaks(Parser *p, Expr *loop, int mark) {
  if (p->breaks.len == mark) return loop;
  Span at = loop->span;
  bool counts = loop->kind == E_FOR, down = counts && loop->down;
  take_breaks(p, &loop->args[counts ? 2 : 1], mark);
  refuse_breaks(p, mark, "`break` has to be a statement of its loop");
  Expr *yes = constant(p, E_BOOL, true, at);
  if (!counts) return let_variable(p, "break", true, yes, while_unbroken(p, loop->args[0], loop->args[1], at), at);
  Expr *more = pair(p, E_BINARY, down ? BIN_GE : BIN_LE, variable(p, "for", at), variable(p, "to", at), at);
  Expr *last = pair(p, E_BINARY, BIN_EQ, variable(p, "for", at), variable(p, "to", at), at);
  Expr *one = constant(p, E_INT, 1, at);
  Expr *next = pair(p, E_BINARY, down ? BIN_SUB : BIN_ADD, variable(p, "for", at), one, at);
  Expr *step = new_node(p, E_IF, at, 3); /* the bound may be the largest int */
  step->args[0] = last;
  step->args[1] = assign(p, "break", constant(p, E_BOOL, false, at), at);
  step->args[2] = assign(p, "for", next, at);
  Expr *body = let(p, loop->var, false, variable(p, "for", at), loop->args[2], at);
  Expr *repeat = while_unbroken(p, more, pair(p, E_SEQ, 0, body, step, at), at);
  Expr *begun = let_variable(p, "break", true, yes, repeat, at);
  return let_variable(p, "for", true, loop->args[0], let_variable(p, "to", false, loop->args[1], begun, at), at);
}

/* A function of the prelude, whatever its name means here. */
static Expr *prelude_function(Parser *p, const char *name, Span at) {
  Expr *e = variable(p, name, at);
  e->name.module = sym_of(p->syms, "prelude");
  return e;
}

/* The loop over the elements of xs, without the breaks that were met since the mark. */
Expr *loop_over_elements(Parser *p, Pat *pat, Expr *xs, Expr *body, int mark, Span at) {
  Expr *elements = new_node(p, E_ELEMENTS, xs->span, 2);
  elements->nargs = 1;
  elements->args[0] = xs;
  elements->args[1] = prelude_function(p, "of_list", xs->span);
  Expr *length = pair(p, E_APPLY, 0, prelude_function(p, "length", at), variable(p, "in", at), at);
  Expr *element = new_node(p, E_INDEX, pat->span, 1);
  element->args[0] = variable(p, "in", at);
  element->nsubs = 1;
  element->subs = NEW(p->arena, Subscript);
  *element->subs = (Subscript){.lo = variable(p, "do", at), .span = at};
  Expr *loop = new_node(p, E_FOR, at, 3);
  loop->var = new_var_pat(p, sym_of(p->syms, "do"), at);
  loop->args[0] = constant(p, E_INT, 0, at);
  loop->args[1] = pair(p, E_BINARY, BIN_SUB, length, constant(p, E_INT, 1, at), at);
  loop->args[2] = let(p, pat, false, element, body, pat->span);
  return let_variable(p, "in", false, elements, loop_of_breaks(p, loop, mark), at);
}

/*  static (e)  →  prelude.static (fun () -> e) */
Expr *static_value(Parser *p, Expr *e, Span at) {
  Pat **unit = NEW(p->arena, Pat *);
  *unit = new_wild_pat(p, e->span);
  Expr *fun = make_fun(p, unit, 1, e, e->span);
  return pair(p, E_APPLY, 0, prelude_function(p, "static", at), fun, span_join(at, e->span));
}
