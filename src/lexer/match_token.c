/* SPDX-License-Identifier: MIT */
/* Which token begins at a place of the text, and where it ends.
 *
 * match_token looks at the first byte, and calls the function of the tokens
 * that may begin with it. Each function has its production above it. Words and
 * symbols are the texts of their rows in tokens.def, found by their first byte;
 * of the symbols that fit the longest is taken. Bytes from 0x80 are letters
 * here; lexer.c looks at their code points afterwards. Only A–Z count as
 * capitals, so that Σ and Δ can be variables.
 *
 * Nothing is allocated, and what may be long looks whether the call is to end. */
#include "lexer/lexer_internal.h"
#include <string.h>

typedef enum TokenForm { CLASS, WORD, SYMBOL, NONE } TokenForm;

typedef struct Rule {
  const char *text;
  size_t len;
  TokenForm form;
} Rule;

static const Rule rules[TOK_COUNT] = {
#define TOKEN(name, text, form) {text, sizeof text - 1, form},
#include "lexer/tokens.def"
#undef TOKEN
};
_Static_assert(TOK_COUNT < 256, "a kind fits a byte of the lists");

const char *token_text(TokenKind kind) { return rules[kind].text; }

bool token_is_keyword(TokenKind kind) { return rules[kind].form == WORD; }

bool token_is_fixed(TokenKind kind) { return rules[kind].form == WORD || rules[kind].form == SYMBOL; }

/* ---- Words and symbols ------------------------------------------------------------ */

void match_prepare(Lexer *lx) {
  for (int k = TOK_COUNT - 1; k > 0; k--) {
    if (!token_is_fixed((TokenKind)k)) continue;
    unsigned char *first = &lx->first[rules[k].text[0] & (ASCII - 1)];
    lx->next[k] = *first;
    *first = (unsigned char)k;
  }
}

static int first_fixed(const Lexer *lx, char c) { return (unsigned char)c < ASCII ? lx->first[(unsigned char)c] : 0; }

TokenKind match_word(const Lexer *lx, const char *s, size_t n) {
  for (int k = first_fixed(lx, *s); k; k = lx->next[k])
    if (rules[k].form == WORD && rules[k].len == n && memcmp(rules[k].text, s, n) == 0) return (TokenKind)k;
  return TOK_IDENT;
}

static TokenKind match_symbol(const Lexer *lx, const char *s, size_t n, size_t *len) {
  TokenKind found = TOK_COUNT;
  *len = 0;
  for (int k = first_fixed(lx, *s); k; k = lx->next[k]) {
    const Rule *r = &rules[k];
    if (r->form != SYMBOL || r->len <= *len || r->len > n || memcmp(r->text, s, r->len) != 0) continue;
    found = (TokenKind)k;
    *len = r->len;
  }
  return found;
}

/* ---- Runs of bytes ------------------------------------------------------------------ */

typedef struct Text {
  Heap *heap;
  const char *s;
  size_t n;
} Text;

/* The byte at i, 0 behind the end. */
static unsigned char byte_at(const Text *t, size_t i) { return i < t->n ? (unsigned char)t->s[i] : 0; }

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
static bool is_small(unsigned char c) { return c >= 'a' && c <= 'z'; }
static bool is_capital(unsigned char c) { return c >= 'A' && c <= 'Z'; }
static bool is_hex(unsigned char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
static bool is_spaced_digit(unsigned char c) { return is_digit(c) || c == '_'; }
static bool is_spaced_hex(unsigned char c) { return is_hex(c) || c == '_'; }
static bool is_ascii_letter(unsigned char c) {
  return is_small(c) || is_capital(c) || is_digit(c) || c == '_' || c == '\'';
}
static bool is_letter(unsigned char c) { return is_ascii_letter(c) || c >= ASCII; }
static bool is_in_line(unsigned char c) { return c != '\n'; }
static bool is_in_raw_string(unsigned char c) { return c != '"'; }
static bool is_plain(unsigned char c) { return c != '"' && c != '\\'; }
static bool is_plain_or_closes(unsigned char c) { return is_plain(c) && c != '{'; }
static bool is_in_format(unsigned char c) { return c != '}' && c != '"' && c != '\n'; }

/* Where the bytes of this sort end that stand from i on. */
static inline size_t skip(const Text *t, size_t i, bool (*is_of_sort)(unsigned char c)) {
  for (; i < t->n && is_of_sort((unsigned char)t->s[i]); i++) heap_look_at(t->heap, (uint32_t)i);
  return i;
}

/* ---- Numbers -------------------------------------------------------------------------- */

/* exponent = ( "e" | "E" ) [ "+" | "-" ] digit { digit | "_" } ; returns i if there is none */
static size_t skip_exponent(const Text *t, size_t i) {
  if (byte_at(t, i) != 'e' && byte_at(t, i) != 'E') return i;
  size_t digits = i + 1;
  if (byte_at(t, digits) == '+' || byte_at(t, digits) == '-') digits++;
  return is_digit(byte_at(t, digits)) ? skip(t, digits, is_spaced_digit) : i;
}

/* int = digits, hex = "0" ( "x" | "X" ) hexdigit { hexdigit | "_" }
 * float = digits "." [ digits ] [ exponent ] | digits exponent
 *     where digits = digit { digit | "_" } ; the point of `1..3` belongs to no number
 * No letter follows, or it is a bad number: all letters and digits together, or up to the point. */
static TokenKind number(const Text *t, size_t *len) {
  size_t digits = skip(t, 0, is_spaced_digit), end = digits;
  if (byte_at(t, end) == '.' && byte_at(t, end + 1) != '.') end = skip(t, end + 1, is_spaced_digit);
  end = skip_exponent(t, end);
  if (end > digits && !is_letter(byte_at(t, end))) return *len = end, TOK_FLOAT;
  if (!is_letter(byte_at(t, digits))) return *len = digits, TOK_INT;
  *len = skip(t, 0, is_letter);
  bool prefix = t->s[0] == '0' && (t->s[1] == 'x' || t->s[1] == 'X') && is_hex(byte_at(t, 2));
  return prefix && skip(t, 2, is_spaced_hex) == *len ? TOK_HEX : TOK_BAD_NUMBER;
}

/* ---- Strings ---------------------------------------------------------------------------- */

/* Opened, but not closed. */
static TokenKind open_string(TokenKind kind, size_t opening, size_t *len) {
  *len = opening;
  return kind;
}

/* raw_string = 'r"' { any byte but '"' } '"' */
static TokenKind raw_string(const Text *t, size_t *len) {
  size_t end = skip(t, 2, is_in_raw_string);
  if (end == t->n) return open_string(TOK_OPEN_RAW, 2, len);
  *len = end + 1;
  return TOK_RAW_STRING;
}

/* string = '"' { any byte but '"' and "\" | "\" any byte } '"' */
static TokenKind string(const Text *t, size_t *len) {
  size_t i = skip(t, 1, is_plain);
  for (uint32_t turns = 0; i + 1 < t->n && t->s[i] == '\\'; turns++) {
    heap_look_at(t->heap, turns);
    i = skip(t, i + 2, is_plain);
  }
  if (byte_at(t, i) != '"') return open_string(TOK_OPEN_STRING, 1, len);
  *len = i + 1;
  return TOK_STRING;
}

/* Behind the escape at i: "\u{" { hexdigit } "}" | "\" any byte */
static size_t skip_escape(const Text *t, size_t i) {
  if (byte_at(t, i + 1) == 'u' && byte_at(t, i + 2) == '{') {
    size_t end = skip(t, i + 3, is_hex);
    if (byte_at(t, end) == '}') return end + 1;
  }
  return i + 2;
}

/* Where the text of an interpolated string from i on ends: at `"`, at the `{` of a hole, or at the end of all.
 * text = { any byte but '"', "\" and "{" | escape | "{{" } */
static size_t skip_interpolated(const Text *t, size_t i) {
  for (uint32_t turns = 0;; turns++) {
    heap_look_at(t->heap, turns);
    i = skip(t, i, is_plain_or_closes);
    if (byte_at(t, i) == '\\' && i + 1 < t->n) i = skip_escape(t, i);
    else if (byte_at(t, i) == '{' && byte_at(t, i + 1) == '{') i += 2;
    else return i;
  }
}

/* interpolated = '$"' text ( '"' | "{" ) */
static TokenKind interpolated(const Text *t, size_t *len) {
  size_t end = skip_interpolated(t, 2);
  unsigned char closing = byte_at(t, end);
  if (closing != '"' && closing != '{') return open_string(TOK_OPEN_STRING, 2, len);
  *len = end + 1;
  return closing == '"' ? TOK_INTERP_PLAIN : TOK_INTERP_BEGIN;
}

/* rest = "}" text ( '"' | "{" ), format = ":" { any byte but "}", '"' and a new line }, not "::"; where a hole can end.
 * TOK_COUNT: neither stands here. */
static TokenKind rest_of_interpolated(const Text *t, size_t *len) {
  if (t->s[0] == ':' && byte_at(t, 1) != ':') return *len = skip(t, 1, is_in_format), TOK_INTERP_FORMAT;
  if (t->s[0] != '}') return TOK_COUNT;
  size_t end = skip_interpolated(t, 1);
  unsigned char closing = byte_at(t, end);
  if (closing != '"' && closing != '{') return TOK_COUNT;
  *len = end + 1;
  return closing == '"' ? TOK_INTERP_END : TOK_INTERP_MID;
}

/* ---- Any token ------------------------------------------------------------------------ */

/* What begins with a letter, other than a number.
 * name = ( small | byte from 0x80 ) { letter } | "_" letter { letter }, upper = capital { letter }
 *     where letter = small | capital | digit | "_" | "'" | byte from 0x80
 * tyvar = "'" ( small | "_" ) { letter below 0x80 } ; TOK_COUNT: none of them */
static TokenKind name(const Text *t, size_t *len) {
  unsigned char c = byte_at(t, 0), second = byte_at(t, 1);
  if (c == '\'') {
    if (!is_small(second) && second != '_') return TOK_COUNT;
    *len = skip(t, 1, is_ascii_letter);
    return TOK_TYVAR;
  }
  if (c == '_' && !is_letter(second)) return TOK_COUNT;
  *len = skip(t, 1, is_letter);
  return is_capital(c) ? TOK_UPPER : TOK_IDENT;
}

TokenKind match_token(const Lexer *lx, const char *s, size_t n, bool hole_can_end, size_t *len) {
  Text t = {lx->heap, s, n};
  unsigned char c = byte_at(&t, 0), second = byte_at(&t, 1);
  TokenKind kind = hole_can_end ? rest_of_interpolated(&t, len) : TOK_COUNT;
  if (kind != TOK_COUNT) return kind;
  if (is_digit(c)) return number(&t, len);
  if (c == '"') return string(&t, len);
  if (second == '"' && c == 'r') return raw_string(&t, len);
  if (second == '"' && c == '$') return interpolated(&t, len);
  if (c == '#') return *len = skip(&t, 1, is_in_line), TOK_LINE_COMMENT;
  if (c == '(' && second == '*') return *len = 2, TOK_BLOCK_COMMENT;
  if (is_letter(c)) kind = name(&t, len);
  return kind != TOK_COUNT ? kind : match_symbol(lx, s, n, len);
}
