/* SPDX-License-Identifier: MIT */
/* Scanner for the text forms of programs (ir_print.c, lir_print.c), for their readers. It goes through a text once.
 * At the first error the text counts as ended, and `error` keeps the place and the message; so readers needn't test
 * after each step. */
#include "support/scan.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void scan_init(Scan *s, Arena *a, const char *text) {
  *s = (Scan){.arena = a, .text = text, .at = text, .end = text + strlen(text), .word = text};
}

/* Keeps the error, for a place in the text. */
static void refuse(Scan *s, const char *place, const char *fmt, va_list ap) {
  char what[200];
  int line = 1;
  const char *start = s->text;
  if (s->error) return;
  for (const char *c = s->text; c < place; c++)
    if (*c == '\n') line++, start = c + 1;
  vsnprintf(what, sizeof what, fmt, ap);
  s->error = arena_printf(s->arena, "line %d:%d: %s", line, (int)(place - start) + 1, what);
  s->at = s->end;
}

void scan_wrong(Scan *s, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  refuse(s, s->at, fmt, ap);
  va_end(ap);
}

void scan_wrong_word(Scan *s, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  refuse(s, s->word, fmt, ap);
  va_end(ap);
}

bool scan_line(Scan *s) {
  if (s->at > s->text && scan_next(s)) scan_wrong(s, "the end of the line expected");
  for (; s->at < s->end && (!scan_next(s) || scan_next(s) == '#'); s->at += s->at < s->end)
    while (s->at < s->end && *s->at != '\n') s->at++;
  return s->at < s->end;
}

char scan_next(Scan *s) {
  while (s->at < s->end && *s->at == ' ') s->at++;
  return s->at < s->end && *s->at != '\n' ? *s->at : 0;
}

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

bool scan_took(Scan *s, const char *text) {
  size_t n = strlen(text);
  scan_next(s);
  if ((size_t)(s->end - s->at) < n || memcmp(s->at, text, n) != 0) return false;
  if (in_word(text[n - 1]) && in_word(s->at[n])) return false;
  s->word = s->at;
  s->at += n;
  return true;
}

void scan_expect(Scan *s, const char *text) {
  if (!scan_took(s, text)) scan_wrong(s, "expected %s", text);
}

bool scan_another(Scan *s, int64_t n) {
  if (scan_took(s, ")")) return false;
  if (n) scan_expect(s, ",");
  return !s->error;
}

int64_t scan_number(Scan *s) {
  char c = scan_next(s), *end;
  const char *digits = s->at + (c == '-');
  if (digits == s->end || !isdigit((unsigned char)*digits)) scan_wrong(s, "expected a number");
  if (s->error) return 0;
  int64_t n = strtoll(s->at, &end, 10);
  s->word = s->at;
  s->at = end;
  return n;
}

static int64_t number_in(Scan *s, int64_t low, int64_t high) {
  int64_t n = scan_number(s);
  if (n >= low && n <= high) return n;
  scan_wrong_word(s, "a number that is too %s", n < low ? "small" : "large");
  return 0;
}

int32_t scan_int(Scan *s) { return (int32_t)number_in(s, INT32_MIN, INT32_MAX); }
uint32_t scan_unsigned(Scan *s) { return (uint32_t)number_in(s, 0, UINT32_MAX); }

uint64_t scan_bits(Scan *s) {
  char *end;
  if (!isxdigit((unsigned char)scan_next(s))) scan_wrong(s, "expected a hexadecimal number");
  if (s->error) return 0;
  uint64_t n = strtoull(s->at, &end, 16);
  s->at = end;
  return n;
}

double scan_float(Scan *s) {
  char *end;
  double f = 0;
  if (scan_took(s, "nan:")) {
    uint64_t bits = scan_bits(s);
    memcpy(&f, &bits, sizeof f);
    return f;
  }
  if (scan_next(s)) f = strtod(s->at, &end);
  if (!scan_next(s) || end == s->at) scan_wrong(s, "expected a float");
  else s->at = end;
  return f;
}

/* One character of a quoted text: itself, or what stands behind a backslash, of which \\x has two digits. */
static char quoted_char(Scan *s) {
  char c = *s->at++;
  if (c != '\\' || s->at == s->end) return c;
  c = *s->at++;
  if (c != 'x' || s->end - s->at < 2) return c;
  char digits[3] = {s->at[0], s->at[1], 0};
  s->at += 2;
  return (char)strtol(digits, NULL, 16);
}

Str scan_quoted(Scan *s) {
  Str out = {.arena = s->arena};
  scan_expect(s, "\"");
  const char *start = s->word;
  while (s->at < s->end && *s->at != '"' && *s->at != '\n') str_addc(&out, quoted_char(s));
  s->word = start;
  if (s->at < s->end && *s->at == '"') s->at++;
  else scan_wrong_word(s, "a text without end");
  str_add(&out, "", 0);
  return out;
}

const char *scan_word(Scan *s) {
  scan_next(s);
  s->word = s->at;
  while (s->at < s->end && !isspace((unsigned char)*s->at)) s->at++;
  return arena_strndup(s->arena, s->word, (size_t)(s->at - s->word));
}
