/* SPDX-License-Identifier: MIT */
/* Spaces between tokens that stand on one line: one, or none.
 *
 * Brackets hug what is in them, but for those of comprehensions: `[1, 2]`, `{x = 1}`, `[ x * x | x in xs ]`. Points,
 * ranges and indices stand tight, operators and annotations don't: `p.w[i + 1..j]`, `(x : float)`, `-x - 1`. A space
 * stands where two tokens would be read as another one without it: `( * )`, `2. ..`, a record in a hole of a string. */
#include "format/format_internal.h"

static bool closes(TokenKind kind) { return kind == TOK_RPAREN || kind == TOK_RBRACKET || kind == TOK_RBRACE; }
static bool has_star(TokenKind kind) { return kind == TOK_STAR || kind == TOK_POW; }

static bool owner_is(const Formatter *f, int i, ConstructKind kind) {
  return f->owner[i] != NO_NODE && f->nodes[f->owner[i]].kind == kind;
}

/* Is the bracket that of a comprehension? */
static bool is_wide(const Formatter *f, int i) { return owner_is(f, i, CONSTRUCT_COMPREHENSION); }

/* Behind token i. */
static bool space_inside(const Formatter *f, int i) {
  TokenKind next = kind_at(f, i + 1);
  return kind_at(f, i) == TOK_LPAREN ? has_star(next) || next == TOK_STAR_EQ : is_wide(f, i);
}

static bool is_sign(const Formatter *f, int i) {
  return kind_at(f, i) == TOK_MINUS && owner_is(f, i, CONSTRUCT_NEGATION) && f->nodes[f->owner[i]].first == i;
}

static bool space_before_bracket(const Formatter *f, int i) {
  if (closes(kind_at(f, i))) return is_wide(f, i) || (has_star(kind_at(f, i - 1)) && kind_at(f, i - 2) == TOK_LPAREN);
  return !(owner_is(f, i, CONSTRUCT_INDEX) && f->nodes[f->owner[i]].first == i);
}

static bool ends_with_point(const Formatter *f, int i) { return f->text[f->tokens[i].end - 1] == '.'; }

static bool space_before_range(const Formatter *f, int i) {
  return kind_at(f, i - 1) == TOK_COMMA || (kind_at(f, i - 1) == TOK_FLOAT && ends_with_point(f, i - 1));
}

bool space_before(const Formatter *f, int i) {
  TokenKind before = kind_at(f, i - 1), kind = kind_at(f, i);
  switch (before) {
  case TOK_LPAREN:
  case TOK_LBRACKET:
  case TOK_LBRACE: return space_inside(f, i - 1);
  case TOK_DOT:
  case TOK_DOTDOT: return false;
  case TOK_INTERP_BEGIN:
  case TOK_INTERP_MID: return kind == TOK_LBRACE;
  case TOK_MINUS:
    if (is_sign(f, i - 1)) return kind == TOK_MINUS;
    break;
  default: break;
  }
  switch (kind) {
  case TOK_COMMA:
  case TOK_SEMI:
  case TOK_DOT:
  case TOK_INTERP_MID:
  case TOK_INTERP_END:
  case TOK_INTERP_FORMAT: return false;
  case TOK_DOTDOT: return space_before_range(f, i);
  default: return !(opens_brackets(kind) || closes(kind)) || space_before_bracket(f, i);
  }
}
