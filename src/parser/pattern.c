/* SPDX-License-Identifier: MIT */
/* Patterns. `::` is collected and folded from the right, `|` and `as` from the
 * left, so only brackets and constructor arguments recurse.
 *
 *   pattern = cons { "|" cons } { "as" name }
 *   cons    = app { "::" app }
 *   app     = Ctor [ atom ] | "-" number | atom
 *   atom    = "_" | name | literal | Ctor | "(" … ")" | "[" … "]" | "{" … "}" */
#include "parser/parser_internal.h"

static Pat *new_pat(Parser *p, PatKind kind, Span span) {
  Pat *pat = NEW(p->arena, Pat);
  pat->kind = kind;
  pat->span = span;
  return pat;
}

Pat *new_var_pat(Parser *p, Sym name, Span span) {
  Pat *pat = new_pat(p, P_VAR, span);
  pat->name = (Name){.name = name, .span = span};
  return pat;
}

Pat *new_wild_pat(Parser *p, Span span) { return new_pat(p, P_WILD, span); }

static Pat *new_pat_node(Parser *p, PatKind kind, Span span, int nargs) {
  Pat *pat = new_pat(p, kind, span);
  pat->args = NEW_ARRAY(p->arena, Pat *, nargs);
  pat->nargs = nargs;
  return pat;
}

bool starts_atom_pattern(TokenKind kind) {
  switch (kind) {
  case TOK_UNDERSCORE:
  case TOK_IDENT:
  case TOK_UPPER:
  case TOK_INT:
  case TOK_FLOAT:
  case TOK_STRING:
  case TOK_TRUE:
  case TOK_FALSE:
  case TOK_LPAREN:
  case TOK_LBRACKET:
  case TOK_LBRACE: return true;
  default: return false;
  }
}

/* number = [ "-" ] ( int | float ) */
static Pat *parse_number_pattern(Parser *p) {
  Span start = token_span(p);
  int first = p->pos;
  bool negative = accept(p, TOK_MINUS);
  if (!at(p, TOK_INT) && !at(p, TOK_FLOAT)) fail_expected(p, "a number", NULL, NO_SPAN, NULL);
  Pat *pat = new_pat(p, at(p, TOK_INT) ? P_INT : P_FLOAT, start);
  pat->i = negative ? (int64_t)(0 - (uint64_t)p->tok->i) : p->tok->i;
  pat->f = negative ? -p->tok->f : p->tok->f;
  advance(p);
  if (negative) note(p, CONSTRUCT_NEGATION, first);
  pat->span = span_to_here(p, start);
  return pat;
}

static const char *close_hint(const Parser *p, const char *at_semicolon) {
  return at(p, TOK_SEMI) ? at_semicolon : at(p, TOK_ARROW) ? "the bracket is closed before `->`" : NULL;
}

/* element = pattern [ ":" type ] */
static Pat *parse_annotated(Parser *p) {
  Pat *inner = parse_pattern(p);
  if (!accept(p, TOK_COLON)) return inner;
  TypeExpr *annot = parse_type(p);
  Pat *pat = new_pat_node(p, P_ANNOT, span_to_here(p, inner->span), 1);
  pat->args[0] = inner;
  pat->annot = annot;
  return pat;
}

/* paren = "(" ")" | "(" element ")" | "(" element { "," element } ")" */
static Pat *parse_paren_pattern(Parser *p) {
  int first = p->pos;
  Span open = expect(p, TOK_LPAREN, NULL);
  if (accept(p, TOK_RPAREN)) {
    note(p, CONSTRUCT_GROUP, first);
    return new_pat(p, P_UNIT, span_to_here(p, open));
  }
  int mark = scratch_mark(p);
  do {
    Pat *element = parse_annotated(p);
    scratch_push(p, element);
  } while (accept(p, TOK_COMMA));
  expect_close(p, TOK_RPAREN, open, close_hint(p, "a tuple is written with commas: (a, b)"));
  note(p, CONSTRUCT_GROUP, first);
  if (p->scratch.len - mark == 1) {
    Pat *only = p->scratch.data[mark];
    p->scratch.len = mark;
    return only;
  }
  Pat *pat = new_pat(p, P_TUPLE, span_to_here(p, open));
  pat->args = scratch_take(p, mark, &pat->nargs);
  return pat;
}

/* array = "[" [ pattern { "," pattern } ] "]" */
static Pat *parse_array_pattern(Parser *p) {
  int first = p->pos;
  Span open = expect(p, TOK_LBRACKET, NULL);
  int mark = scratch_mark(p);
  if (!at(p, TOK_RBRACKET)) {
    do {
      Pat *element = parse_pattern(p);
      scratch_push(p, element);
    } while (accept(p, TOK_COMMA));
  }
  expect_close(p, TOK_RBRACKET, open, close_hint(p, "elements are separated by commas"));
  note(p, CONSTRUCT_GROUP, first);
  Pat *pat = new_pat(p, P_ARRAY, span_to_here(p, open));
  pat->args = scratch_take(p, mark, &pat->nargs);
  return pat;
}

/* record = "{" [ field { "," field } ] [ ".." ] "}"    field = name [ "=" pattern ] */
static Pat *parse_record_pattern(Parser *p) {
  int first = p->pos;
  Span open = expect(p, TOK_LBRACE, NULL);
  Pat *pat = new_pat(p, P_RECORD, open);
  int mark = scratch_mark(p), n;
  Vec(Sym) fields = {0};
  do {
    if (accept(p, TOK_DOTDOT)) {
      pat->open = true;
      break;
    }
    Span span;
    Sym field = expect_ident(p, "a field name", &span);
    bool lone = !accept(p, TOK_EQ);
    Pat *value = lone ? new_var_pat(p, field, span) : parse_pattern(p);
    value->field = lone;
    vec_push(p->temp, fields, field);
    scratch_push(p, value);
  } while (accept(p, TOK_COMMA));
  expect_close(p, TOK_RBRACE, open, close_hint(p, "fields are separated by commas"));
  note(p, CONSTRUCT_GROUP, first);
  pat->args = scratch_take(p, mark, &n);
  pat->nargs = n;
  pat->fields = LIST_KEEP(p, fields);
  pat->span = span_to_here(p, open);
  return pat;
}

static Pat *parse_ctor_name(Parser *p) {
  Span start = token_span(p);
  Name name = parse_name(p, "a constructor");
  char first = name.name[0];
  if (first < 'A' || first > 'Z')
    fail_at(p, name.span, "syntax", "a pattern can't hold the value of another module", "compare with `when`");
  Pat *pat = new_pat(p, P_CTOR, span_to_here(p, start));
  pat->name = name;
  return pat;
}

static const char *no_pattern_hint(const Parser *p) {
  const char *text = token_text(p->tok->kind);
  if (token_is_fixed(p->tok->kind) && text[0] >= 'a' && text[0] <= 'z')
    return arena_printf(p->arena, "`%s` is a word of the grammar, and can't be a name", text);
  return at(p, TOK_ARROW) ? "a pattern stands before `->`; `_` matches any value" : NULL;
}

Pat *parse_atom_pattern(Parser *p) {
  Span span = token_span(p);
  Pat *pat;
  switch (p->tok->kind) {
  case TOK_UNDERSCORE: pat = new_wild_pat(p, span); break;
  case TOK_IDENT: pat = new_var_pat(p, p->tok->text, span); break;
  case TOK_STRING:
    pat = new_pat(p, P_STRING, span);
    pat->text = p->tok->text;
    break;
  case TOK_TRUE:
  case TOK_FALSE:
    pat = new_pat(p, P_BOOL, span);
    pat->i = at(p, TOK_TRUE);
    break;
  case TOK_INT:
  case TOK_FLOAT: return parse_number_pattern(p);
  case TOK_UPPER: return parse_ctor_name(p);
  case TOK_LPAREN: return parse_paren_pattern(p);
  case TOK_LBRACKET: return parse_array_pattern(p);
  case TOK_LBRACE: return parse_record_pattern(p);
  default: fail_expected(p, "a pattern", no_pattern_hint(p), NO_SPAN, NULL);
  }
  advance(p);
  return pat;
}

static Pat *parse_app_pattern(Parser *p) {
  if (at(p, TOK_MINUS)) return parse_number_pattern(p);
  if (!at(p, TOK_UPPER)) return parse_atom_pattern(p);
  Pat *ctor = parse_ctor_name(p);
  if (!at(p, TOK_MINUS) && !starts_atom_pattern(p->tok->kind)) return ctor;
  ctor->args = NEW_ARRAY(p->arena, Pat *, 1);
  ctor->args[0] = at(p, TOK_MINUS) ? parse_number_pattern(p) : parse_atom_pattern(p);
  ctor->nargs = 1;
  ctor->span = span_to_here(p, ctor->span);
  if (starts_atom_pattern(p->tok->kind))
    fail_expected(p, "`->`", "a constructor takes one argument: several are a tuple, Node (l, x, r)", NO_SPAN, NULL);
  return ctor;
}

static Pat *make_cons(Parser *p, Pat *head, Pat *tail, Span op) {
  Span span = span_join(head->span, tail->span);
  Pat *pair = new_pat_node(p, P_TUPLE, span, 2);
  pair->args[0] = head;
  pair->args[1] = tail;
  Pat *cons = new_pat_node(p, P_CTOR, span, 1);
  cons->name = (Name){.name = sym_of(p->syms, "::"), .span = op};
  cons->args[0] = pair;
  return cons;
}

static Pat *parse_cons_pattern(Parser *p) {
  Pat *first = parse_app_pattern(p);
  if (!at(p, TOK_CONS)) return first;
  int mark = scratch_mark(p), n;
  Vec(Span) ops = {0};
  scratch_push(p, first);
  while (at(p, TOK_CONS)) {
    vec_push(p->temp, ops, token_span(p));
    advance(p);
    Pat *part = parse_app_pattern(p);
    scratch_push(p, part);
  }
  Pat **parts = scratch_take(p, mark, &n);
  Pat *result = parts[n - 1];
  for (int i = n - 2; i >= 0; i--) result = make_cons(p, parts[i], result, ops.data[i]);
  return result;
}

Pat *parse_pattern(Parser *p) {
  enter(p);
  int first = p->pos;
  Pat *pat = parse_cons_pattern(p);
  while (accept(p, TOK_BAR)) {
    Pat *right = parse_cons_pattern(p);
    Pat *both = new_pat_node(p, P_OR, span_join(pat->span, right->span), 2);
    both->args[0] = pat;
    both->args[1] = right;
    pat = both;
  }
  while (accept(p, TOK_AS)) {
    Span span;
    Sym name = expect_ident(p, "a name", &span);
    Pat *named = new_pat_node(p, P_AS, span_to_here(p, pat->span), 1);
    named->name = (Name){.name = name, .span = span};
    named->args[0] = pat;
    pat = named;
  }
  note(p, CONSTRUCT_PATTERN, first);
  leave(p);
  return pat;
}
