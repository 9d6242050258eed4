/* SPDX-License-Identifier: MIT */
/* Between the files of the lexer. */
#ifndef ATLED_LEXER_INTERNAL_H
#define ATLED_LEXER_INTERNAL_H
#include "lexer/lexer.h"
#include <locale.h>

enum { ASCII = 128 };

struct Lexer {
  Heap *heap;
  Arena temp;
  int nesting;
  locale_t c_locale; /* numbers have a point, whatever the host's locale says */
  /* The words and symbols that begin with the same byte, as a list: its first kind, and the next of each kind; 0 ends
   * it. */
  unsigned char first[ASCII], next[TOK_COUNT];
};

/* ---- match_token.c ---- */
/* Makes the lists of words and symbols. */
void match_prepare(Lexer *lx);
/* The kind of the token at the beginning of the n > 0 bytes at s, and its length in *len; TOK_COUNT if none begins
 * there. Of a block comment it is the opening bracket alone. hole_can_end: the rest of an interpolated string may
 * begin here. */
TokenKind match_token(const Lexer *lx, const char *s, size_t n, bool hole_can_end, size_t *len);
/* The reserved word that the letters are, or TOK_IDENT. */
TokenKind match_word(const Lexer *lx, const char *s, size_t n);
#endif
