/* SPDX-License-Identifier: MIT */
/* `atled doc`: text of any bytes as plain text, HTML, JSON within a script, and part of a URL. */
#include "doc.h"
#include <ctype.h>
#include <string.h>

static const char unknown[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Bytes of the character at s, of which `left` are there; 0: it isn't shown. */
static size_t character(const char *s, size_t left) {
  size_t n = (size_t)sequence_length((const unsigned char *)s);
  bool control = ((unsigned char)*s < 0x20 && *s != '\t' && *s != '\n') || *s == 0x7f;
  return control || n > left ? 0 : n;
}

/* What stands for a character; NULL: itself. */
typedef const char *Escape(char c);

static void put(FILE *f, const char *text, size_t n, Escape *escape) {
  for (size_t i = 0, len; i < n; i += len ? len : 1) {
    len = character(text + i, n - i);
    const char *other = len == 1 ? escape(text[i]) : NULL;
    bool line_end = text[i] == '\r' && i + 1 < n && text[i + 1] == '\n';
    if (other) fputs(other, f);
    else if (len) fwrite(text + i, 1, len, f);
    else if (!line_end) fputs(unknown, f);
  }
}

static const char *no_escape(char c) {
  (void)c;
  return NULL;
}

static const char *html_escape(char c) {
  switch (c) {
  case '&': return "&amp;";
  case '<': return "&lt;";
  case '>': return "&gt;";
  case '"': return "&quot;";
  case '\'': return "&#39;";
  default: return NULL;
  }
}

/* `<` could end the script. */
static const char *json_escape(char c) {
  switch (c) {
  case '"': return "\\\"";
  case '\\': return "\\\\";
  case '<': return "\\u003c";
  case '\n':
  case '\t': return " ";
  default: return NULL;
  }
}

void doc_plain(FILE *f, const char *text, size_t n) { put(f, text, n, no_escape); }

void doc_html(FILE *f, const char *text, size_t n) { put(f, text, n, html_escape); }

void doc_json(FILE *f, const char *text, size_t n) {
  putc('"', f);
  put(f, text, n, json_escape);
  putc('"', f);
}

void doc_fragment(FILE *f, const char *text) {
  for (const unsigned char *s = (const unsigned char *)text; *s; s++)
    if (isalnum(*s) || strchr("-._", *s)) putc(*s, f);
    else fprintf(f, "%%%02X", *s);
}
