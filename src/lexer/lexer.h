/* SPDX-License-Identifier: MIT */
/* Tokens, by one table (tokens.def). */
#ifndef ATLED_LEXER_H
#define ATLED_LEXER_H
#include "support/support.h"

typedef struct Lexer Lexer; /* what runs share; one per VM, no state of a run */
/* nesting: how deep a source that isn't the library's may be nested; below 1, or beyond LIMIT_NESTING: that. NULL when
 * memory is gone. */
Lexer *lexer_new(Heap *heap, int nesting);
void lexer_free(Lexer *lx);
int lexer_nesting(const Lexer *lx);

typedef enum TokenKind {
#define TOKEN(name, text, form) TOK_##name,
#include "lexer/tokens.def"
#undef TOKEN
  TOK_COUNT
} TokenKind;
/* As messages call it: "a name", "->", "let". */
const char *token_text(TokenKind kind);
/* Whether the text is the token's own spelling, to be quoted in messages. */
bool token_is_fixed(TokenKind kind);
bool token_is_keyword(TokenKind kind); /* a word that is reserved everywhere */

/* What the parser knows of a token beside its kind. */
typedef enum TokenRole {
  ROLE_NONE,
  ROLE_KEYWORD, /* a name that is a keyword where it stands: `test`, `import`, … */
  ROLE_TYPE     /* of the name of a type, a type variable or a class */
} TokenRole;

typedef struct Token {
  TokenKind kind;
  uint32_t start, end;
  TokenRole role;    /* set by the parser */
  bool column0;      /* first on its line, in column 0 */
  bool space_before; /* white space or comment directly before */
  int64_t i;         /* INT */
  double f;          /* INT, FLOAT */
  Sym text;          /* names; strings with escapes resolved; unquoted type variable */
  const char *doc;   /* comment lines directly above a column-0 token */
} Token;
typedef struct Tokens {
  Token *data;
  int len;
} Tokens; /* ends with TOK_EOF */

/* A comment as it stands in the source, `#` or the brackets included, without the end of its line. */
typedef struct Comment {
  uint32_t start, end;
} Comment;
typedef Vec(Comment) Comments;

/* An empty arena, for tokens and whatever else is needed until the next call of this, which gives that back. */
Arena *lexer_temp(Lexer *lx);
/* Lexes [start, end) of a source. Bad bytes, open strings and open comments give diagnostics; an unfinished
 * string or comment at the end also sets diags->incomplete. Interpolated strings come as
 * INTERP_BEGIN text hole-tokens… INTERP_FORMAT? INTERP_MID … INTERP_END (see tokens.def). */
Tokens lex(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source, uint32_t start, uint32_t end);
/* As lex, and adds the comments to a list in the arena. */
Tokens lex_with_comments(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source, uint32_t start,
                         uint32_t end, Comments *comments);
#endif
