/* SPDX-License-Identifier: MIT */
/* Expressions from the outside in: sequences and what reaches as far right as
 * it can (`let`, `fun`), then operators, then application. Atoms are in atom.c.
 *
 *   expr    = let_head "in" expr | "fun" params "->" expr | binary [ ";" [ expr ] ]
 *   binary  = { "-" } apply { operator { "-" } apply }
 *   apply   = postfix { postfix }
 *   postfix = atom { "." field | "[" subscripts "]" }
 *
 * Programs hold long chains: ten thousand `let … in` in a row, a list of as
 * many `::`. So what is right-recursive in the grammar is a loop here: heads
 * and operators are stacked in the parser's scratch space and folded from the
 * right when the last part is known. Only brackets, bindings' values and
 * branches recurse, and they are counted by enter(). */
#include "parser/parser_internal.h"

/* ---- Nodes -------------------------------------------------------------------- */

Expr *new_expr(Parser *p, ExprKind kind, Span span) {
  Expr *e = NEW(p->arena, Expr);
  e->kind = kind;
  e->span = span;
  return e;
}

Expr *new_node(Parser *p, ExprKind kind, Span span, int nargs) {
  Expr *e = new_expr(p, kind, span);
  e->args = NEW_ARRAY(p->arena, Expr *, nargs);
  e->nargs = nargs;
  return e;
}

static Expr *new_pair(Parser *p, ExprKind kind, Expr *left, Expr *right) {
  Expr *e = new_node(p, kind, span_join(left->span, right->span), 2);
  e->args[0] = left;
  e->args[1] = right;
  return e;
}

/* ---- Operators ------------------------------------------------------------------ */

/* Binding strength, loosest first. */
enum {
  /* clang-format off */
  LEVEL_NONE, LEVEL_ASSIGN, LEVEL_PIPE_LEFT, LEVEL_PIPE, LEVEL_OR, LEVEL_AND, LEVEL_COMPARE, LEVEL_CONS,
  LEVEL_CONCAT, LEVEL_ADD, LEVEL_MUL, LEVEL_NEGATE, LEVEL_POWER
};
/* clang-format on */

typedef struct OperatorInfo {
  int level;
  bool right;
  BinOp op; /* of E_BINARY, and of compound assignments */
} OperatorInfo;

static const OperatorInfo operators[TOK_COUNT] = {
    [TOK_LARROW] = {LEVEL_ASSIGN, true, BIN_EQ},     [TOK_PLUS_EQ] = {LEVEL_ASSIGN, true, BIN_ADD},
    [TOK_MINUS_EQ] = {LEVEL_ASSIGN, true, BIN_SUB},  [TOK_STAR_EQ] = {LEVEL_ASSIGN, true, BIN_MUL},
    [TOK_SLASH_EQ] = {LEVEL_ASSIGN, true, BIN_DIV},  [TOK_PIPE_LEFT] = {LEVEL_PIPE_LEFT, true, BIN_PIPE_LEFT},
    [TOK_PIPE] = {LEVEL_PIPE, false, BIN_PIPE},      [TOK_COMPOSE] = {LEVEL_PIPE, false, BIN_COMPOSE},
    [TOK_OROR] = {LEVEL_OR, true, BIN_EQ},           [TOK_ANDAND] = {LEVEL_AND, true, BIN_EQ},
    [TOK_EQ] = {LEVEL_COMPARE, false, BIN_EQ},       [TOK_NE] = {LEVEL_COMPARE, false, BIN_NE},
    [TOK_LT] = {LEVEL_COMPARE, false, BIN_LT},       [TOK_LE] = {LEVEL_COMPARE, false, BIN_LE},
    [TOK_GT] = {LEVEL_COMPARE, false, BIN_GT},       [TOK_GE] = {LEVEL_COMPARE, false, BIN_GE},
    [TOK_CLOSE] = {LEVEL_COMPARE, false, BIN_CLOSE}, [TOK_CONS] = {LEVEL_CONS, true, BIN_CONS},
    [TOK_CONCAT] = {LEVEL_CONCAT, true, BIN_CONCAT}, [TOK_PLUS] = {LEVEL_ADD, false, BIN_ADD},
    [TOK_MINUS] = {LEVEL_ADD, false, BIN_SUB},       [TOK_STAR] = {LEVEL_MUL, false, BIN_MUL},
    [TOK_SLASH] = {LEVEL_MUL, false, BIN_DIV},       [TOK_PERCENT] = {LEVEL_MUL, false, BIN_REM},
    [TOK_AT] = {LEVEL_MUL, false, BIN_MATMUL},       [TOK_CARET] = {LEVEL_POWER, true, BIN_POW_INT},
    [TOK_POW] = {LEVEL_POWER, true, BIN_POW},        [TOK_EQEQ] = {LEVEL_COMPARE, false, BIN_EQ},
    [TOK_BANGEQ] = {LEVEL_COMPARE, false, BIN_NE},
};

const char *binop_text(BinOp op) {
  static const char *const texts[] = {
      [BIN_ADD] = "+",     [BIN_SUB] = "-",    [BIN_MUL] = "*",    [BIN_DIV] = "/",      [BIN_REM] = "%",
      [BIN_POW_INT] = "^", [BIN_POW] = "**",   [BIN_MATMUL] = "@", [BIN_CONCAT] = "++",  [BIN_CONS] = "::",
      [BIN_EQ] = "=",      [BIN_NE] = "<>",    [BIN_LT] = "<",     [BIN_LE] = "<=",      [BIN_GT] = ">",
      [BIN_GE] = ">=",     [BIN_CLOSE] = "~=", [BIN_PIPE] = "|>",  [BIN_COMPOSE] = ">>", [BIN_PIPE_LEFT] = "<|"};
  return texts[op];
}

bool operator_of(TokenKind kind, BinOp *op) {
  int level = operators[kind].level;
  *op = operators[kind].op;
  return level > LEVEL_ASSIGN && level != LEVEL_OR && level != LEVEL_AND;
}

/* place = name | place "." field | place "[" subscripts "]" */
static void check_place(Parser *p, const Expr *place, Span op) {
  while (place->kind == E_FIELD || place->kind == E_INDEX) place = place->args[0];
  if (place->kind == E_VAR && !place->name.module) return;
  report(p, place->span, "syntax", "this can't be assigned to",
         p->text[op.start] == '<' ? "the left of `<-` is a `mut` variable, or a path of fields and indices from one; "
                                    "`x < -1` needs its space"
                                  : "the left is a `mut` variable, or a path of fields and indices from one");
}

static Expr *make_operation(Parser *p, const Operator *o, Expr *left, Expr *right) {
  const OperatorInfo *info = &operators[o->kind];
  ExprKind kind = info->level == LEVEL_OR       ? E_OR
                  : info->level == LEVEL_AND    ? E_AND
                  : info->level == LEVEL_ASSIGN ? E_ASSIGN
                                                : E_BINARY;
  Expr *e = new_pair(p, kind, left, right);
  e->op = info->op;
  e->op_span = o->span;
  if (kind == E_ASSIGN) {
    e->compound = o->kind != TOK_LARROW;
    check_place(p, left, o->span);
  }
  return e;
}

/* Replaces the topmost operator and its operands by their node. */
static void apply_top(Parser *p) {
  Operator o = p->operators.data[--p->operators.len];
  Expr **top = &p->operands.data[p->operands.len - 1];
  if (o.prefix) {
    Expr *e = new_node(p, E_NEGATE, span_join(o.span, (*top)->span), 1);
    e->args[0] = *top;
    e->op_span = o.span;
    *top = e;
    note_operation(p, CONSTRUCT_NEGATION, 0, o.span.start);
    return;
  }
  note_operation(p, CONSTRUCT_CHAIN, o.level, top[-1]->span.start);
  top[-1] = make_operation(p, &o, top[-1], top[0]);
  p->operands.len--;
}

static void report_chain(Parser *p, Span first) {
  const char *hint = NULL;
  for (int i = p->pos - 1; i >= 0 && p->tokens[i].start > first.start && !hint; i--)
    if (p->tokens[i].kind == TOK_IDENT) hint = habit_of_word(p->tokens[i].text);
  report(p, token_span(p), "syntax", "comparisons don't chain", hint ? hint : "join two by `&&`: a < b && b < c");
}

/* Applies the operators above `base` that bind tighter than the one at hand. */
static void reduce(Parser *p, int base, const OperatorInfo *next) {
  while (p->operators.len > base) {
    const Operator *top = &p->operators.data[p->operators.len - 1];
    if (top->level < next->level || (top->level == next->level && next->right)) return;
    if (top->level == LEVEL_COMPARE && next->level == LEVEL_COMPARE) report_chain(p, top->span);
    apply_top(p);
  }
}

static void push_operator(Parser *p, int level, bool prefix) {
  Operator o = {p->tok->kind, level, prefix, token_span(p)};
  vec_push(p->temp, p->operators, o);
  advance(p);
}

static void check_foreign_operator(Parser *p) {
  if (at(p, TOK_EQEQ)) report(p, token_span(p), "syntax", "there is no operator `==`", "equality is written `=`");
  if (at(p, TOK_BANGEQ)) report(p, token_span(p), "syntax", "there is no operator `!=`", "inequality is written `<>`");
}

/* ---- Application ------------------------------------------------------------------ */

/* subscript = expr | [ expr ] ".." [ expr ] */
static Subscript *parse_subscript(Parser *p) {
  Subscript *s = NEW(p->temp, Subscript);
  s->span = token_span(p);
  if (!at(p, TOK_DOTDOT)) s->lo = parse_binary(p);
  if (accept(p, TOK_DOTDOT)) {
    s->is_slice = true;
    if (!at(p, TOK_COMMA) && !at(p, TOK_RBRACKET)) s->hi = parse_binary(p);
  }
  s->span = span_to_here(p, s->span);
  return s;
}

/* index = "[" subscript { "," subscript } "]" */
static Expr *parse_index(Parser *p, Expr *array) {
  int first = p->pos;
  Span open = expect(p, TOK_LBRACKET, NULL);
  int mark = scratch_mark(p);
  do {
    Subscript *s = parse_subscript(p);
    scratch_push(p, s);
  } while (accept(p, TOK_COMMA));
  expect_close(p, TOK_RBRACKET, open, NULL);
  note(p, CONSTRUCT_INDEX, first);
  Expr *e = new_node(p, E_INDEX, span_to_here(p, array->span), 1);
  e->args[0] = array;
  e->subs = scratch_flatten(p, mark, sizeof *e->subs, &e->nsubs);
  return e;
}

/* "." field */
static Expr *parse_field(Parser *p, Expr *record) {
  Span dot = expect(p, TOK_DOT, NULL);
  const char *hint = at(p, TOK_LBRACKET) || at(p, TOK_LPAREN) ? "an index is written without a point: a[i]"
                     : at(p, TOK_INT) ? "the parts of a tuple are taken by a pattern: let (a, b) = p in …"
                                      : NULL;
  if (!at(p, TOK_IDENT)) fail_expected(p, "a field name", hint, NO_SPAN, NULL);
  Expr *e = new_node(p, E_FIELD, span_join(record->span, token_span(p)), 1);
  e->args[0] = record;
  e->text = p->tok->text;
  e->op_span = span_join(dot, token_span(p));
  advance(p);
  return e;
}

/* postfix = atom { "." field | "[" subscripts "]" } — the bracket without space before it */
static Expr *parse_postfix(Parser *p) {
  Expr *e = parse_atom(p);
  for (;;) {
    if (at(p, TOK_DOT)) e = parse_field(p, e);
    else if (at(p, TOK_LBRACKET) && !p->tok->space_before) e = parse_index(p, e);
    else return e;
  }
}

/* apply = postfix { postfix } | what begins with a keyword */
static Expr *parse_apply(Parser *p) {
  if (at(p, TOK_LET) || at(p, TOK_FUN)) return parse_expr(p);
  if (!starts_atom(p->tok->kind)) return parse_atom(p);
  int first = p->pos;
  Expr *fn = parse_postfix(p);
  if (!starts_atom(p->tok->kind)) return fn;
  int mark = scratch_mark(p);
  scratch_push(p, fn);
  while (starts_atom(p->tok->kind)) {
    Expr *arg = parse_postfix(p);
    scratch_push(p, arg);
  }
  note(p, CONSTRUCT_APPLICATION, first);
  Expr *e = new_expr(p, E_APPLY, span_to_here(p, fn->span));
  e->args = scratch_take(p, mark, &e->nargs);
  return e;
}

/* binary = { "-" } apply { operator { "-" } apply }, by precedence; only operators that bind tighter than `loosest` */
static Expr *parse_operations_above(Parser *p, int loosest) {
  int base = p->operators.len;
  for (;;) {
    while (at(p, TOK_MINUS)) push_operator(p, LEVEL_NEGATE, true);
    Expr *operand = parse_apply(p);
    vec_push(p->temp, p->operands, operand);
    const OperatorInfo *info = &operators[p->tok->kind];
    if (info->level <= loosest) break;
    check_foreign_operator(p);
    reduce(p, base, info);
    push_operator(p, info->level, false);
  }
  while (p->operators.len > base) apply_top(p);
  return p->operands.data[--p->operands.len];
}

static Expr *parse_operations(Parser *p) { return parse_operations_above(p, LEVEL_NONE); }

Expr *parse_binary(Parser *p) {
  enter(p);
  Expr *e = parse_operations(p);
  leave(p);
  return e;
}

/* ---- Bindings and functions --------------------------------------------------------- */

Expr *make_fun(Parser *p, Pat **params, int nparams, Expr *body, Span start) {
  Expr *e = new_node(p, E_FUN, span_to_here(p, start), 1);
  e->params = params;
  e->nparams = nparams;
  e->args[0] = body;
  return e;
}

/* params = atom_pattern { atom_pattern } */
static Pat **parse_params(Parser *p, int *n) {
  int mark = scratch_mark(p);
  do {
    Pat *param = parse_atom_pattern(p);
    scratch_push(p, param);
  } while (starts_atom_pattern(p->tok->kind));
  return scratch_take(p, mark, n);
}

Expr *parse_rule(Parser *p, Span start) {
  int n;
  Pat **params = parse_params(p, &n);
  expect(p, TOK_EQ, "a rule is written: pullback f x = (value, fun d -> …)");
  return make_fun(p, params, n, parse_expr(p), start);
}

#define RULE_FORM "a rule is written: rule again xs : sort (sort xs) = sort xs"

Expr *parse_equation(Parser *p, Span start) {
  int n = 0;
  Pat **params = starts_atom_pattern(p->tok->kind) ? parse_params(p, &n) : NULL;
  expect(p, TOK_COLON, RULE_FORM);
  Expr *left = parse_operations_above(p, LEVEL_COMPARE);
  expect(p, TOK_EQ, RULE_FORM);
  Expr *sides = new_pair(p, E_TUPLE, left, parse_expr(p));
  return n ? make_fun(p, params, n, sides, start) : sides;
}

/* binding = [ "mut" ] ( name params | pattern ) [ ":" type ] "=" expr */
static LetBinding *parse_binding(Parser *p) {
  LetBinding *b = NEW(p->temp, LetBinding);
  Pat **params = NULL;
  Span start = token_span(p);
  int start_pos = p->pos, nparams = 0;
  b->mut = accept(p, TOK_MUT);
  if (at(p, TOK_IDENT) && starts_atom_pattern(peek_kind(p, 1))) {
    b->pat = parse_atom_pattern(p);
    params = parse_params(p, &nparams);
  } else {
    if (at(p, TOK_REC)) fail_expected(p, "a name", "`rec` stands directly after the first `let`", NO_SPAN, NULL);
    b->pat = parse_pattern(p);
  }
  if (accept(p, TOK_COLON)) b->result = parse_type(p);
  bool meant_and = start_pos > 0 && p->tokens[start_pos - 1].kind == TOK_AND;
  expect(p, TOK_EQ,
         at(p, TOK_ARROW)              ? "only `fun` takes `->`: let f x = …"
         : meant_and && !at(p, TOK_EQ) ? habit_of_word("and")
         : at(p, TOK_LT) && b->result  ? "an argument of a type stands before it: int list"
                                       : NULL);
  b->value = parse_expr(p);
  note(p, CONSTRUCT_BINDING, start_pos);
  b->has_params = nparams > 0;
  if (nparams) b->value = make_fun(p, params, nparams, b->value, start);
  b->span = span_to_here(p, start);
  return b;
}

/* let_head = "let" [ "rec" ] binding { "and" binding } */
Expr *parse_let_head(Parser *p) {
  enter(p);
  int first = p->pos;
  Expr *e = new_node(p, E_LET, expect(p, TOK_LET, NULL), 1);
  e->rec = accept(p, TOK_REC);
  int mark = scratch_mark(p);
  do {
    LetBinding *b = parse_binding(p);
    scratch_push(p, b);
  } while (accept(p, TOK_AND));
  e->lets = scratch_flatten(p, mark, sizeof *e->lets, &e->nlets);
  note(p, CONSTRUCT_LET, first);
  leave(p);
  return e;
}

/* "fun" params "->", the body still missing */
static Expr *parse_fun_head(Parser *p) {
  Expr *e = new_node(p, E_FUN, expect(p, TOK_FUN, NULL), 1);
  e->params = parse_params(p, &e->nparams);
  expect(p, TOK_ARROW, at(p, TOK_EQ) ? "the body of `fun` follows `->`" : NULL);
  return e;
}

/* ---- Sequences -------------------------------------------------------------------------- */

/* After a `;` these end the sequence: the `;` was a last one too many, which is let pass. */
static bool ends_sequence(TokenKind kind) {
  switch (kind) {
  case TOK_EOF:
  case TOK_DONE:
  case TOK_RPAREN:
  case TOK_RBRACE:
  case TOK_IN:
  case TOK_BAR:
  case TOK_AND: return true;
  default: return false;
  }
}

/* Puts `last` into the open end of each head above the mark, innermost first. */
static Expr *close_heads(Parser *p, int mark, Expr *last) {
  while (p->scratch.len > mark) {
    Expr *head = p->scratch.data[--p->scratch.len];
    head->args[head->nargs - 1] = last;
    head->span = span_join(head->span, last->span);
    last = head;
  }
  return last;
}

static _Noreturn void fail_missing_in(Parser *p, Span let) {
  bool text_ends = at(p, TOK_EOF) && p->item_end == p->ntokens;
  if (!p->cut_off && step_to_line_of_body(p, let)) p->diags->incomplete |= text_ends;
  fail_expected(p, "`in`", "inside an item a definition is written `let x = e in …`", let, "for this `let`");
}

/* expr = let_head "in" expr | "fun" params "->" expr | binary [ ";" [ expr ] ] */
Expr *parse_expr(Parser *p) {
  enter(p);
  int mark = scratch_mark(p), first = p->pos;
  for (;;) {
    if (at(p, TOK_LET)) {
      Expr *let = parse_let_head(p);
      if (!at(p, TOK_IN)) fail_missing_in(p, let->span);
      advance(p);
      scratch_push(p, let);
    } else if (at(p, TOK_FUN)) {
      Expr *fun = parse_fun_head(p);
      scratch_push(p, fun);
    } else {
      Expr *e = parse_operations(p); /* counted already */
      bool more = at(p, TOK_SEMI) && peek_kind(p, 1) != TOK_SEMI;
      if (more) advance(p);
      if (!more || ends_sequence(p->tok->kind)) {
        leave(p);
        if (more || p->scratch.len > mark) note(p, CONSTRUCT_BLOCK, first);
        return close_heads(p, mark, e);
      }
      Expr *seq = new_node(p, E_SEQ, e->span, 2);
      seq->args[0] = e;
      scratch_push(p, seq);
    }
  }
}
