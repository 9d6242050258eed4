/* SPDX-License-Identifier: MIT */
/* Type expressions and type declarations. Postfix application and `[]` loop,
 * arrows are collected and folded from the right, so only brackets recurse.
 *
 *   type   = { class tyvar "=>" } arrow
 *   foreign_type = { class tyvar "=>" } { param "->" } ( tuple | name "[" expr "]" )
 *   arrow  = tuple { "->" tuple }
 *   tuple  = post { "*" post }
 *   post   = atom { "[" "]" | name }
 *   atom   = tyvar | name | "(" type [ "as" tyvar ] ")" | "(" type { "," type } ")" name
 *          | "{" [ field ":" type { "," … } ] [ ".." ] "}" */
#include "parser/parser_internal.h"
#include <string.h>

static TypeExpr *parse_arrow(Parser *p);

static TypeExpr *new_type(Parser *p, TypeExprKind kind, Span span, TypeExpr **args, int nargs) {
  TypeExpr *t = NEW(p->arena, TypeExpr);
  t->kind = kind;
  t->span = span;
  t->args = args;
  t->nargs = nargs;
  return t;
}

static TypeExpr **one_arg(Parser *p, TypeExpr *arg) {
  TypeExpr **args = NEW_ARRAY(p->arena, TypeExpr *, 1);
  args[0] = arg;
  return args;
}

/* record = "{" [ field { "," field } ] [ ".." ] "}"    field = name ":" type */
static TypeExpr *parse_record_type(Parser *p) {
  int first = p->pos;
  Span open = expect(p, TOK_LBRACE, NULL);
  int mark = scratch_mark(p);
  bool more = false;
  do {
    if (accept(p, TOK_DOTDOT)) {
      more = true;
      break;
    }
    Sym field = expect_ident(p, "a field name", NULL);
    expect(p, TOK_COLON, at(p, TOK_EQ) ? "the type of a field follows `:`" : "a field is written `name : type`");
    TypeExpr *t = parse_arrow(p);
    scratch_push(p, (void *)(uintptr_t)field);
    scratch_push(p, t);
  } while (accept(p, TOK_COMMA));
  expect_close(p, TOK_RBRACE, open, at(p, TOK_SEMI) ? "fields are separated by commas" : NULL);
  note(p, CONSTRUCT_GROUP, first);
  int n;
  void **pairs = scratch_take(p, mark, &n);
  TypeExpr *t = new_type(p, TE_RECORD, span_to_here(p, open), NEW_ARRAY(p->arena, TypeExpr *, n / 2), n / 2);
  t->fields = NEW_ARRAY(p->arena, Sym, n / 2);
  t->open = more;
  for (int i = 0; i < n / 2; i++) {
    t->fields[i] = pairs[2 * i];
    t->args[i] = pairs[2 * i + 1];
  }
  return t;
}

static TypeExpr *parse_type_name(Parser *p, Span start, TypeExpr **args, int nargs) {
  int first = p->pos;
  Name name = parse_name(p, "the name of a type");
  set_role(p, first, ROLE_TYPE);
  TypeExpr *t = new_type(p, TE_NAME, span_to_here(p, start), args, nargs);
  t->name = name;
  return t;
}

/* "(" type [ "as" tyvar ] ")" | "(" type { "," type } ")" name — which they are the arguments of */
static TypeExpr *parse_paren_type(Parser *p) {
  int first = p->pos;
  Span open = expect(p, TOK_LPAREN, NULL);
  int mark = scratch_mark(p), n;
  do {
    TypeExpr *t = parse_arrow(p);
    scratch_push(p, t);
  } while (accept(p, TOK_COMMA));
  bool named = scratch_mark(p) == mark + 1 && accept(p, TOK_AS);
  Name name = {.name = p->tok->text, .span = token_span(p)};
  if (named) expect(p, TOK_TYVAR, "the name of a type is a variable: ({w : float, ..} as 'r)");
  expect_close(p, TOK_RPAREN, open, NULL);
  note(p, CONSTRUCT_GROUP, first);
  TypeExpr **args = scratch_take(p, mark, &n);
  if (named) {
    TypeExpr *t = new_type(p, TE_AS, span_to_here(p, open), args, 1);
    t->name = name;
    return t;
  }
  if (n == 1) return args[0];
  if (!at(p, TOK_IDENT) && !at(p, TOK_UPPER))
    fail_expected(p, "the name of a type that takes these arguments", "a tuple type is written `a * b`", NO_SPAN, NULL);
  return parse_type_name(p, open, args, n);
}

static TypeExpr *parse_atom_type(Parser *p) {
  Span start = token_span(p);
  switch (p->tok->kind) {
  case TOK_TYVAR: {
    TypeExpr *t = new_type(p, TE_VAR, start, NULL, 0);
    t->name = (Name){.name = p->tok->text, .span = start};
    advance(p);
    return t;
  }
  case TOK_IDENT:
  case TOK_UPPER: return parse_type_name(p, start, NULL, 0);
  case TOK_LPAREN: return parse_paren_type(p);
  case TOK_LBRACE: return parse_record_type(p);
  default:
    fail_expected(p, "a type",
                  at(p, TOK_LBRACKET) ? "an array type is written `float[]`"
                  : at(p, TOK_INT)    ? "`range a b` is the array of a to b - 1"
                                      : NULL,
                  NO_SPAN, NULL);
  }
}

static TypeExpr *parse_postfix_type(Parser *p) {
  Span start = token_span(p);
  TypeExpr *t = parse_atom_type(p);
  for (;;) {
    if (at(p, TOK_LBRACKET)) {
      Span open = token_span(p);
      int first = p->pos;
      advance(p);
      bool dims = at(p, TOK_COMMA) || at(p, TOK_SEMI);
      expect_close(p, TOK_RBRACKET, open,
                   dims ? "a matrix has the type `float[][]`" : "an array type is written `float[]`");
      note(p, CONSTRUCT_INDEX, first);
      t = new_type(p, TE_ARRAY, span_to_here(p, start), one_arg(p, t), 1);
    } else if (at(p, TOK_IDENT) || at(p, TOK_UPPER)) {
      t = parse_type_name(p, start, one_arg(p, t), 1);
    } else {
      return t;
    }
  }
}

static TypeExpr *parse_tuple_type(Parser *p) {
  Span start = token_span(p);
  TypeExpr *first = parse_postfix_type(p);
  if (!at(p, TOK_STAR)) return first;
  int mark = scratch_mark(p), n;
  scratch_push(p, first);
  while (accept(p, TOK_STAR)) {
    TypeExpr *t = parse_postfix_type(p);
    scratch_push(p, t);
  }
  TypeExpr **args = scratch_take(p, mark, &n);
  return new_type(p, TE_TUPLE, span_to_here(p, start), args, n);
}

static TypeExpr *parse_arrow(Parser *p) {
  enter(p);
  int mark = scratch_mark(p), n, first = p->pos;
  do {
    TypeExpr *t = parse_tuple_type(p);
    scratch_push(p, t);
  } while (accept(p, TOK_ARROW));
  note(p, CONSTRUCT_TYPE, first);
  TypeExpr **parts = scratch_take(p, mark, &n);
  TypeExpr *result = parts[n - 1];
  for (int i = n - 2; i >= 0; i--) {
    TypeExpr **args = NEW_ARRAY(p->arena, TypeExpr *, 2);
    args[0] = parts[i];
    args[1] = result;
    result = new_type(p, TE_FUN, span_join(parts[i]->span, result->span), args, 2);
  }
  leave(p);
  return result;
}

typedef Vec(ConstraintExpr) Constraints;

static Constraints parse_constraints(Parser *p) {
  Constraints constraints = {0};
  while (at(p, TOK_IDENT) && peek_kind(p, 1) == TOK_TYVAR) {
    ConstraintExpr c = {.cls = p->tok->text, .span = token_span(p)};
    advance(p);
    c.var = p->tok->text;
    advance(p);
    set_role(p, p->pos - 2, ROLE_TYPE);
    c.span = span_to_here(p, c.span);
    expect(p, TOK_FATARROW, "a constraint is written `num 'a => …`; an argument of a type stands before it: `'a list`");
    vec_push(p->temp, constraints, c);
  }
  return constraints;
}

static TypeExpr *with_constraints(Parser *p, TypeExpr *t, Constraints constraints) {
  t->constraints = LIST_KEEP(p, constraints);
  t->nconstraints = constraints.len;
  return t;
}

TypeExpr *parse_type(Parser *p) {
  Constraints constraints = parse_constraints(p);
  return with_constraints(p, parse_arrow(p), constraints);
}

/* ---- Types of foreign functions ------------------------------------------------ */

/* param = "(" name ":" type ")" | tuple — the pattern goes to the scratch stack, `_` where there is no name */
static TypeExpr *parse_foreign_param(Parser *p) {
  int first = p->pos;
  Span open = token_span(p);
  if (!at(p, TOK_LPAREN) || peek_kind(p, 1) != TOK_IDENT || peek_kind(p, 2) != TOK_COLON) {
    scratch_push(p, new_wild_pat(p, open));
    return parse_tuple_type(p);
  }
  advance(p);
  scratch_push(p, new_var_pat(p, p->tok->text, token_span(p)));
  advance(p);
  advance(p);
  TypeExpr *t = parse_arrow(p);
  expect_close(p, TOK_RPAREN, open, "each parameter has its own brackets: (x : float) -> (n : int) -> …");
  note(p, CONSTRUCT_GROUP, first);
  return t;
}

/* name "[" expr "]" */
static TypeExpr *parse_sized_array(Parser *p, Expr **size) {
  Span start = token_span(p);
  TypeExpr *element = parse_type_name(p, start, NULL, 0);
  int first = p->pos;
  Span open = expect(p, TOK_LBRACKET, NULL);
  *size = parse_expr(p);
  expect_close(p, TOK_RBRACKET, open, "a length stands in the brackets: float[2 * n]");
  note(p, CONSTRUCT_INDEX, first);
  if (at(p, TOK_ARROW)) fail_at(p, start, "syntax", "only the array that a C function gives has its length here", NULL);
  return new_type(p, TE_ARRAY, span_to_here(p, start), one_arg(p, element), 1);
}

static bool at_sized_array(Parser *p) {
  return at(p, TOK_IDENT) && peek_kind(p, 1) == TOK_LBRACKET && peek_kind(p, 2) != TOK_RBRACKET;
}

/* The patterns and types of the parameters, in turn, on the scratch stack; returns the result's type. */
static TypeExpr *parse_foreign_parts(Parser *p, Expr **size) {
  for (;;) {
    if (at_sized_array(p)) return parse_sized_array(p, size);
    TypeExpr *t = parse_foreign_param(p);
    if (!accept(p, TOK_ARROW)) {
      p->scratch.len--;
      return t;
    }
    scratch_push(p, t);
  }
}

TypeExpr *parse_foreign_type(Parser *p, Expr **size) {
  Constraints constraints = parse_constraints(p);
  Span start = token_span(p);
  int mark = scratch_mark(p), n, first = p->pos;
  Expr *length = NULL;
  TypeExpr *t = parse_foreign_parts(p, &length);
  note(p, CONSTRUCT_TYPE, first);
  void **parts = scratch_take(p, mark, &n);
  Pat **params = NEW_ARRAY(p->arena, Pat *, n / 2 + 1);
  for (int i = n - 2; i >= 0; i -= 2) {
    params[i / 2] = parts[i];
    TypeExpr **args = NEW_ARRAY(p->arena, TypeExpr *, 2), *param = parts[i + 1];
    args[0] = param;
    args[1] = t;
    t = new_type(p, TE_FUN, span_join(param->span, t->span), args, 2);
  }
  if (length && !n)
    fail_at(p, start, "syntax", "only the array that a C function gives has its length here",
            "a function without arguments takes `unit`: unit -> float[3]");
  *size = length ? make_fun(p, params, n / 2, length, start) : NULL;
  return with_constraints(p, t, constraints);
}

/* ---- Declarations ------------------------------------------------------------ */

static bool at_key_mark(Parser *p) {
  return at(p, TOK_IDENT) && p->tok->text == sym_of(p->syms, "key") && peek_kind(p, 1) == TOK_TYVAR;
}

/* params = param | "(" param { "," param } ")" | (nothing)
 * param = [ "key" ] tyvar */
static void parse_type_params(Parser *p, TypeDecl *d) {
  Span open = token_span(p);
  int first = p->pos;
  bool several = accept(p, TOK_LPAREN);
  if (!several && !at(p, TOK_TYVAR) && !at_key_mark(p)) return;
  Vec(Sym) params = {0};
  Vec(bool) keys = {0};
  do {
    bool key = at_key_mark(p);
    if (key) advance(p);
    Sym name = p->tok->text;
    expect(p, TOK_TYVAR, "parameters of types are written 'a");
    vec_push(p->temp, params, name);
    vec_push(p->temp, keys, key);
  } while (several && accept(p, TOK_COMMA));
  if (several) {
    expect_close(p, TOK_RPAREN, open, NULL);
    note(p, CONSTRUCT_GROUP, first);
  }
  d->params = LIST_KEEP(p, params);
  d->keys = LIST_KEEP(p, keys);
  d->nparams = params.len;
}

/* shown_as = "as" string */
static void parse_shown_as(Parser *p, TypeDecl *d) {
  if (!accept(p, TOK_AS)) return;
  d->shown_span = token_span(p);
  d->shown_as = p->tok->text;
  expect(p, TOK_STRING, "what values are shown as is a text: type t as \"Module.of_array\" = …");
}

/* ctor = Ctor | "(" "::" ")" — the second is what the library's list is made of */
static void parse_ctor_name(Parser *p, CtorDecl *c) {
  c->span = token_span(p);
  if (at(p, TOK_LPAREN) && peek_kind(p, 1) == TOK_CONS && peek_kind(p, 2) == TOK_RPAREN) {
    for (int i = 0; i < 3; i++) advance(p);
    c->name = sym_of(p->syms, "::");
    c->span = span_to_here(p, c->span);
    return;
  }
  if (!at(p, TOK_UPPER)) fail_expected(p, "a constructor", "constructors begin with a capital", NO_SPAN, NULL);
  c->name = p->tok->text;
  advance(p);
}

/* variant = [ "|" ] ctor [ "of" type ] { "|" ctor [ "of" type ] } */
static void parse_variant(Parser *p, TypeDecl *d) {
  Vec(CtorDecl) ctors = {0};
  accept(p, TOK_BAR);
  do {
    CtorDecl c = {0};
    parse_ctor_name(p, &c);
    if (accept(p, TOK_OF)) c.arg = parse_arrow(p);
    vec_push(p->temp, ctors, c);
  } while (accept(p, TOK_BAR));
  d->ctors = LIST_KEEP(p, ctors);
  d->nctors = ctors.len;
}

/* type_decl = params name [ shown_as ] "=" ( variant | type )
 * A type of the host's has no more than a name. */
void parse_type_decl(Parser *p, TypeDecl *d) {
  Span start = token_span(p);
  parse_type_params(p, d);
  if (!at(p, TOK_IDENT))
    fail_expected(p, "the name of a type", at(p, TOK_UPPER) ? "names of types begin with a small letter" : NULL,
                  NO_SPAN, NULL);
  d->name = expect_ident(p, "the name of a type", &d->name_span);
  set_role(p, p->pos - 1, ROLE_TYPE);
  if (at(p, TOK_TYVAR)) fail_expected(p, "`=`", "parameters stand before the name: type 'a t = …", NO_SPAN, NULL);
  parse_shown_as(p, d);
  if (p->diags->sources && sources_get(p->diags->sources, p->source)->host && at(p, TOK_EOF)) {
    d->span = span_to_here(p, start);
    return;
  }
  expect(p, TOK_EQ, "a type is declared by its constructors, or another type: type t = A | B of int");
  bool cons = at(p, TOK_LPAREN) && peek_kind(p, 1) == TOK_CONS;
  bool variant = cons || at(p, TOK_BAR) || (at(p, TOK_UPPER) && peek_kind(p, 1) != TOK_DOT);
  if (variant) parse_variant(p, d);
  else d->alias = parse_arrow(p);
  d->span = span_to_here(p, start);
}
