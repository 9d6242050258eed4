/* SPDX-License-Identifier: MIT */
/* Atoms of expressions: literals, names, everything in brackets, and the
 * constructs that bring their own keywords (`if`, `match`, loops).
 *
 *   atom = literal | name | "(" … ")" | "[" … "]" | "{" … "}" | "static" "(" expr ")" | if | match | for | while | break
 *
 * Chains of `else if` are a loop. */
#include "parser/parser_internal.h"
#include <string.h>

bool starts_atom(TokenKind kind) {
  switch (kind) {
  case TOK_INT:
  case TOK_FLOAT:
  case TOK_STRING:
  case TOK_INTERP_BEGIN:
  case TOK_TRUE:
  case TOK_FALSE:
  case TOK_IDENT:
  case TOK_UPPER:
  case TOK_LPAREN:
  case TOK_LBRACKET:
  case TOK_LBRACE: return true;
  default: return false;
  }
}

static const char *comma_hint(const Parser *p) { return at(p, TOK_SEMI) ? "elements are separated by commas" : NULL; }

/* Elements as other languages make them. */
static const char *elements_hint(const Parser *p) {
  if (at(p, TOK_FOR)) return "elements that are computed are written [ f x | x in xs ], or [ f i | i < n ]";
  if (at(p, TOK_DOTDOT)) return "`range a b` is the array of a to b - 1";
  return comma_hint(p);
}

/* Steps over a comma, behind which there must be something. */
static bool accept_comma(Parser *p, TokenKind close) {
  if (!accept(p, TOK_COMMA)) return false;
  if (at(p, close))
    fail_expected(p, close == TOK_RBRACE ? "a field name" : "an element", "no comma stands before the closing bracket",
                  NO_SPAN, NULL);
  return true;
}

/* ---- Literals and names -------------------------------------------------------- */

static Expr *parse_literal(Parser *p) {
  const Token *t = p->tok;
  ExprKind kind = t->kind == TOK_INT      ? E_INT
                  : t->kind == TOK_FLOAT  ? E_FLOAT
                  : t->kind == TOK_STRING ? E_STRING
                                          : E_BOOL;
  Expr *e = new_expr(p, kind, token_span(p));
  e->i = kind == E_BOOL ? t->kind == TOK_TRUE : t->i;
  e->f = t->f;
  e->text = t->text;
  advance(p);
  return e;
}

static Expr *parse_name_expr(Parser *p) {
  Name name = parse_name(p, "a name");
  bool capital = name.name[0] >= 'A' && name.name[0] <= 'Z';
  Expr *e = new_expr(p, capital ? E_CTOR : E_VAR, name.span);
  e->name = name;
  return e;
}

/* interpolated = BEGIN expr [ FORMAT ] { MID expr [ FORMAT ] } END */
static Expr *parse_interpolated(Parser *p) {
  int first = p->pos;
  Span start = token_span(p);
  Expr *e = new_expr(p, E_INTERP, start);
  Vec(InterpPart) parts = {0};
  for (;;) {
    if (sym_len(p->tok->text)) vec_push(p->temp, parts, ((InterpPart){.text = p->tok->text}));
    bool last = at(p, TOK_INTERP_END);
    advance(p);
    if (last) break;
    InterpPart part = {.hole = parse_expr(p)};
    if (at(p, TOK_INTERP_FORMAT)) {
      part.format = p->tok->text;
      advance(p);
    }
    vec_push(p->temp, parts, part);
    if (!at(p, TOK_INTERP_MID) && !at(p, TOK_INTERP_END)) fail_expected(p, "`}`", NULL, start, "in this string");
  }
  note(p, CONSTRUCT_STRING, first);
  e->parts = LIST_KEEP(p, parts);
  e->nparts = parts.len;
  e->span = span_to_here(p, start);
  return e;
}

/* ---- Parentheses ----------------------------------------------------------------- */

static Expr *new_var(Parser *p, const char *name, Span span) {
  Expr *e = new_expr(p, E_VAR, span);
  e->name = (Name){.name = sym_of(p->syms, name), .span = span};
  return e;
}

/* `(&&)` as a function: fun a b -> a && b */
static Expr *lazy_operator(Parser *p, ExprKind kind, Span span) {
  Expr *body = new_node(p, kind, span, 2);
  body->args[0] = new_var(p, "a", span);
  body->args[1] = new_var(p, "b", span);
  body->op_span = span;
  Expr *fun = new_node(p, E_FUN, span, 1);
  fun->nparams = 2;
  fun->params = NEW_ARRAY(p->arena, Pat *, 2);
  fun->params[0] = new_var_pat(p, body->args[0]->name.name, span);
  fun->params[1] = new_var_pat(p, body->args[1]->name.name, span);
  fun->args[0] = body;
  return fun;
}

/* "(" operator ")"; NULL when that isn't what stands here */
static Expr *parse_operator_function(Parser *p, Span open) {
  if (peek_kind(p, 1) != TOK_RPAREN) return NULL;
  TokenKind kind = p->tok->kind;
  BinOp op;
  if (!operator_of(kind, &op) && kind != TOK_ANDAND && kind != TOK_OROR) return NULL;
  Span op_span = token_span(p);
  if (kind == TOK_EQEQ || kind == TOK_BANGEQ)
    fail_at(p, op_span, "syntax", "there is no such operator", "equality is `=`, inequality `<>`");
  advance(p);
  advance(p);
  note(p, CONSTRUCT_GROUP, p->pos - 3);
  Span span = span_to_here(p, open);
  if (kind == TOK_ANDAND || kind == TOK_OROR) return lazy_operator(p, kind == TOK_ANDAND ? E_AND : E_OR, span);
  Expr *e = new_expr(p, E_OPERATOR, span);
  e->op = op;
  e->op_span = op_span;
  return e;
}

/* element = expr [ ":" type ] */
static Expr *parse_annotated(Parser *p) {
  Expr *inner = parse_expr(p);
  if (!at(p, TOK_COLON) || peek_kind(p, 1) == TOK_EQ) return inner;
  advance(p);
  TypeExpr *annot = parse_type(p);
  Expr *e = new_node(p, E_ANNOT, span_to_here(p, inner->span), 1);
  e->args[0] = inner;
  e->annot = annot;
  return e;
}

/* paren = "(" ")" | "(" operator ")" | "(" element { "," element } ")" */
static Expr *parse_paren(Parser *p) {
  int first = p->pos;
  Span open = expect(p, TOK_LPAREN, NULL);
  if (accept(p, TOK_RPAREN)) {
    note(p, CONSTRUCT_GROUP, first);
    return new_expr(p, E_UNIT, span_to_here(p, open));
  }
  Expr *op = parse_operator_function(p, open);
  if (op) return op;
  int mark = scratch_mark(p);
  do {
    Expr *element = parse_annotated(p);
    scratch_push(p, element);
  } while (accept_comma(p, TOK_RPAREN));
  expect_close(p, TOK_RPAREN, open, elements_hint(p));
  note(p, CONSTRUCT_GROUP, first);
  if (p->scratch.len - mark == 1) {
    Expr *only = p->scratch.data[mark];
    p->scratch.len = mark;
    only->paren = true;
    only->span = span_to_here(p, open);
    return only;
  }
  Expr *e = new_expr(p, E_TUPLE, span_to_here(p, open));
  e->args = scratch_take(p, mark, &e->nargs);
  return e;
}

static bool at_static(const Parser *p) {
  return at(p, TOK_IDENT) && strcmp(p->tok->text, "static") == 0 && peek_kind(p, 1) == TOK_LPAREN;
}

/* static = "static" paren, without operators */
static Expr *parse_static(Parser *p) {
  Span at = token_span(p);
  advance(p);
  return static_value(p, parse_paren(p), at);
}

/* ---- Arrays ------------------------------------------------------------------------ */

/* generator = name "<" binary | pattern "in" binary */
static Generator *parse_generator(Parser *p) {
  Generator *g = NEW(p->temp, Generator);
  Span start = token_span(p);
  g->is_range = at(p, TOK_IDENT) && peek_kind(p, 1) == TOK_LT;
  g->pat = g->is_range ? parse_atom_pattern(p) : parse_pattern(p);
  if (g->is_range) {
    advance(p);
  } else if (at(p, TOK_LT)) {
    fail_expected(p, "`in`", "an index has a name: `i < n`", NO_SPAN, NULL);
  } else if (!accept(p, TOK_IN)) {
    fail_expected(p, "`<` or `in`", "a generator is `i < n` or `x in xs`", NO_SPAN, NULL);
  }
  g->bound = parse_binary(p);
  g->span = span_to_here(p, start);
  return g;
}

/* comprehension = "[" binary "|" generator { "," generator } "]", from the bar on */
static Expr *parse_comprehension(Parser *p, int first, Span open, Expr *head) {
  int mark = scratch_mark(p);
  expect(p, TOK_BAR, NULL);
  do {
    Generator *g = parse_generator(p);
    scratch_push(p, g);
  } while (accept(p, TOK_COMMA));
  expect_close(p, TOK_RBRACKET, open,
               at(p, TOK_DOTDOT) ? "`i < n` counts from 0, and `i in range a b` from a to b - 1" : NULL);
  note(p, CONSTRUCT_COMPREHENSION, first);
  Expr *e = new_node(p, E_COMPREHENSION, span_to_here(p, open), 1);
  e->args[0] = head;
  e->gens = scratch_flatten(p, mark, sizeof *e->gens, &e->ngens);
  return e;
}

/* array = "[" [ binary { "," binary } ] "]" | comprehension */
static Expr *parse_array(Parser *p) {
  int begin = p->pos;
  Span open = expect(p, TOK_LBRACKET, NULL);
  if (accept(p, TOK_RBRACKET)) {
    note(p, CONSTRUCT_GROUP, begin);
    return new_expr(p, E_ARRAY, span_to_here(p, open));
  }
  Expr *first = parse_binary(p);
  if (at(p, TOK_BAR)) return parse_comprehension(p, begin, open, first);
  int mark = scratch_mark(p);
  scratch_push(p, first);
  while (accept_comma(p, TOK_RBRACKET)) {
    Expr *element = parse_binary(p);
    scratch_push(p, element);
  }
  expect_close(p, TOK_RBRACKET, open, elements_hint(p));
  note(p, CONSTRUCT_GROUP, begin);
  Expr *e = new_expr(p, E_ARRAY, span_to_here(p, open));
  e->args = scratch_take(p, mark, &e->nargs);
  return e;
}

/* ---- Records ----------------------------------------------------------------------- */

/* fields = field { "," field }    field = name [ "=" binary ], a lone name stands for itself.
 * Values go to the scratch stack, names to e. */
static void parse_fields(Parser *p, Expr *e) {
  Vec(Sym) fields = {0};
  do {
    Span span;
    int first = p->pos;
    if (at(p, TOK_LBRACKET))
      fail_expected(p, "a field name", "an array with another element is: let mut b = a in b[i] <- x; b", NO_SPAN,
                    NULL);
    Sym field = expect_ident(p, "a field name", &span);
    bool lone = !accept(p, TOK_EQ);
    Expr *value = lone ? new_var(p, field, span) : parse_binary(p);
    value->field = lone;
    note(p, CONSTRUCT_FIELD, first);
    vec_push(p->temp, fields, field);
    scratch_push(p, value);
  } while (accept_comma(p, TOK_RBRACE));
  e->fields = LIST_KEEP(p, fields);
}

/* record = "{" fields "}" | "{" binary "with" fields "}" */
static Expr *parse_record(Parser *p) {
  int first = p->pos;
  Span open = expect(p, TOK_LBRACE, NULL);
  if (at(p, TOK_RBRACE))
    fail_expected(p, "a field name", "a record has at least one field; unit is `()`", NO_SPAN, NULL);
  TokenKind next = peek_kind(p, 1);
  bool plain = at(p, TOK_IDENT) && (next == TOK_EQ || next == TOK_COMMA || next == TOK_RBRACE);
  int mark = scratch_mark(p);
  Expr *e = new_expr(p, plain ? E_RECORD : E_WITH, open);
  if (!plain) {
    Expr *base = parse_binary(p);
    scratch_push(p, base);
    if (!accept(p, TOK_WITH))
      fail_expected(p, "`with`",
                    at(p, TOK_COLON) && base->kind == E_STRING ? "a map is made of pairs: Map.of_array [(\"x\", 1.0)]"
                    : at(p, TOK_COLON)
                        ? "a value of a field follows `=`: {x = 1, y = 2}"
                        : "braces hold a record, {x = 1} or {p with x = 1}; parentheses hold a sequence, (a; b)",
                    open, "in this record");
  }
  parse_fields(p, e);
  expect_close(p, TOK_RBRACE, open,
               at(p, TOK_SEMI)    ? "fields are separated by commas"
               : at(p, TOK_COLON) ? "a value of a field follows `=`"
                                  : NULL);
  note(p, CONSTRUCT_GROUP, first);
  e->args = scratch_take(p, mark, &e->nargs);
  e->span = span_to_here(p, open);
  return e;
}

/* ---- Control ------------------------------------------------------------------------ */

/* A branch of `if` in the making: its condition and value. */
static Expr *parse_branch(Parser *p, Span start) {
  Expr *e = new_node(p, E_IF, start, 3);
  e->args[0] = parse_binary(p);
  expect(p, TOK_THEN, at(p, TOK_ELSE) || at(p, TOK_COLON) ? "a condition is followed by `then`" : NULL);
  e->args[1] = parse_binary(p);
  return e;
}

/* if = "if" binary "then" binary { "else" "if" binary "then" binary } [ "else" binary ] */
static Expr *parse_if(Parser *p) {
  int mark = scratch_mark(p), first = p->pos;
  Expr *last = NULL;
  do {
    Span start = expect(p, TOK_IF, NULL);
    Expr *branch = parse_branch(p, start);
    scratch_push(p, branch);
    if (!accept(p, TOK_ELSE)) break;
    if (!at(p, TOK_IF)) last = parse_binary(p);
  } while (!last);
  note(p, CONSTRUCT_IF, first);
  Span end = last ? last->span : NO_SPAN;
  while (p->scratch.len > mark) {
    Expr *branch = p->scratch.data[--p->scratch.len];
    branch->args[2] = last;
    branch->nargs = last ? 3 : 2;
    branch->span = span_join(span_join(branch->span, branch->args[1]->span), end);
    end = branch->span;
    last = branch;
  }
  return last;
}

/* case = pattern [ "when" expr ] "->" expr */
static MatchCase *parse_case(Parser *p) {
  MatchCase *c = NEW(p->temp, MatchCase);
  int first = p->pos;
  c->span = token_span(p);
  c->pat = parse_pattern(p);
  if (accept(p, TOK_WHEN)) c->guard = parse_expr(p);
  expect(p, TOK_ARROW,
         at(p, TOK_IF)                          ? "a condition of a case follows `when`"
         : at(p, TOK_IN) || at(p, TOK_LT)       ? "before the `|` of a comprehension a `match` stands in parentheses"
         : at(p, TOK_COMMA)                     ? "a tuple stands in parentheses: (a, b)"
         : at(p, TOK_EQ) || at(p, TOK_FATARROW) ? "the value of a case follows `->`"
                                                : NULL);
  c->body = parse_expr(p);
  note(p, CONSTRUCT_CASE, first);
  c->span = span_to_here(p, c->span);
  return c;
}

/* match = "match" expr "with" [ "|" ] case { "|" case } */
static Expr *parse_match(Parser *p) {
  int first = p->pos;
  Expr *e = new_node(p, E_MATCH, expect(p, TOK_MATCH, NULL), 1);
  e->args[0] = parse_expr(p);
  expect(p, TOK_WITH, at(p, TOK_BAR) ? "the cases follow `with`: match x with | … -> …" : NULL);
  accept(p, TOK_BAR);
  int mark = scratch_mark(p);
  do {
    MatchCase *c = parse_case(p);
    scratch_push(p, c);
  } while (accept(p, TOK_BAR));
  note(p, CONSTRUCT_MATCH, first);
  e->cases = scratch_flatten(p, mark, sizeof *e->cases, &e->ncases);
  e->span = span_to_here(p, e->span);
  return e;
}

static void expect_done(Parser *p, Span start) {
  if (!accept(p, TOK_DONE)) fail_expected(p, "`done`", NULL, start, "to end this loop");
}

static const char for_hint[] = "a loop is written: for i = 0 to n - 1 do … done";
static const char for_in_hint[] = "a loop over elements is written: for x in xs do … done";

/* for_in = "for" pattern "in" binary "do" expr "done", behind the "for" */
static Expr *parse_for_in(Parser *p, Span start) {
  int breaks = p->breaks.len, first = p->pos - 1;
  Pat *pat = parse_pattern(p);
  expect(p, TOK_IN, for_in_hint);
  Expr *xs = parse_binary(p);
  expect(p, TOK_DO, for_in_hint);
  Expr *body = parse_expr(p);
  expect_done(p, start);
  note(p, CONSTRUCT_LOOP, first);
  return loop_over_elements(p, pat, xs, body, breaks, span_to_here(p, start));
}

/* for = "for" ( name | "_" ) "=" binary ( "to" | "downto" ) binary "do" expr "done" | for_in */
static Expr *parse_for(Parser *p) {
  int first = p->pos;
  Span start = expect(p, TOK_FOR, NULL), name_span;
  bool named = at(p, TOK_IDENT) || at(p, TOK_UNDERSCORE);
  bool is_pattern = at(p, TOK_LPAREN) || at(p, TOK_LBRACE) || at(p, TOK_LBRACKET);
  if (is_pattern || (named && peek_kind(p, 1) == TOK_IN)) return parse_for_in(p, start);
  int breaks = p->breaks.len;
  Expr *e = new_node(p, E_FOR, start, 3);
  bool unnamed = at(p, TOK_UNDERSCORE); /* then the variable is called `_`, which no expression can */
  if (unnamed) name_span = token_span(p), advance(p);
  Sym name = unnamed ? sym_of(p->syms, "_") : expect_ident(p, "the name of the loop's variable", &name_span);
  e->var = new_var_pat(p, name, name_span);
  expect(p, TOK_EQ, NULL);
  e->args[0] = parse_binary(p);
  e->down = at(p, TOK_DOWNTO);
  if (!accept(p, TOK_TO) && !accept(p, TOK_DOWNTO)) fail_expected(p, "`to` or `downto`", for_hint, NO_SPAN, NULL);
  e->args[1] = parse_binary(p);
  expect(p, TOK_DO, for_hint);
  e->args[2] = parse_expr(p);
  expect_done(p, start);
  note(p, CONSTRUCT_LOOP, first);
  e->span = span_to_here(p, start);
  return loop_of_breaks(p, e, breaks);
}

/* while = "while" expr "do" expr "done" */
static Expr *parse_while(Parser *p) {
  int first = p->pos;
  Span start = expect(p, TOK_WHILE, NULL);
  int breaks = p->breaks.len;
  Expr *e = new_node(p, E_WHILE, start, 2);
  e->args[0] = parse_expr(p);
  expect(p, TOK_DO, "a loop is written: while condition do … done");
  e->args[1] = parse_expr(p);
  expect_done(p, start);
  note(p, CONSTRUCT_LOOP, first);
  e->span = span_to_here(p, start);
  return loop_of_breaks(p, e, breaks);
}

/* ---- Atoms ----------------------------------------------------------------------------- */

static _Noreturn void fail_no_expression(Parser *p) {
  const char *hint = NULL;
  const Token *before = p->pos > 0 ? &p->tokens[p->pos - 1] : NULL;
  BinOp op;
  if (at(p, TOK_UNDERSCORE)) hint = "`_` is a pattern; an expression needs a name";
  else if (at(p, TOK_BAR)) hint = "an array is written [1, 2]";
  else if (at(p, TOK_DOT)) hint = "a number begins with a digit: 0.5";
  else if (at(p, TOK_INTERP_MID) || at(p, TOK_INTERP_END)) hint = "a brace that is meant as text is written `{{`";
  else if (operator_of(p->tok->kind, &op) && before && before->kind == TOK_LPAREN)
    hint = "an operator with one operand is written `fun x -> x + 1`";
  else hint = operand_hint(p);
  fail_expected(p, "an expression", hint, NO_SPAN, NULL);
}

Expr *parse_atom(Parser *p) {
  switch (p->tok->kind) {
  case TOK_INT:
  case TOK_FLOAT:
  case TOK_STRING:
  case TOK_TRUE:
  case TOK_FALSE: return parse_literal(p);
  case TOK_INTERP_BEGIN: return parse_interpolated(p);
  case TOK_IDENT:
    if (at_static(p)) return parse_static(p);
    /* fall through */
  case TOK_UPPER: return parse_name_expr(p);
  case TOK_LPAREN: return parse_paren(p);
  case TOK_LBRACKET: return parse_array(p);
  case TOK_LBRACE: return parse_record(p);
  case TOK_IF: return parse_if(p);
  case TOK_MATCH: return parse_match(p);
  case TOK_FOR: return parse_for(p);
  case TOK_WHILE: return parse_while(p);
  case TOK_BREAK: return parse_break(p);
  default: fail_no_expression(p);
  }
}
