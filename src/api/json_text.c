/* SPDX-License-Identifier: MIT */
/* JSON as text, for answers of atled_query: strings whose bytes may be anything, and commas. */
#include "api/query.h"
#include <string.h>

static void add_escape(Str *out, unsigned char c) {
  switch (c) {
  case '"': str_puts(out, "\\\""); return;
  case '\\': str_puts(out, "\\\\"); return;
  case '\n': str_puts(out, "\\n"); return;
  default: str_printf(out, "\\u%04x", c); return;
  }
}

void json_string(Str *out, const char *text, size_t n) {
  str_addc(out, '"');
  for (size_t i = 0; i < n;) {
    unsigned char c = (unsigned char)text[i];
    int len = utf8_sequence(text + i, n - i, NULL);
    if (len == 0) str_puts(out, "\xef\xbf\xbd");
    else if (c < 0x20 || c == '"' || c == '\\') add_escape(out, c);
    else str_add(out, text + i, (size_t)len);
    i += len ? (size_t)len : 1;
  }
  str_addc(out, '"');
}

void json_next(Str *out, const char *name) {
  char last = out->len ? out->data[out->len - 1] : '[';
  if (last != '[' && last != '{') str_addc(out, ',');
  if (name) str_printf(out, "\"%s\":", name);
}

void json_text(Str *out, const char *name, const char *text) {
  if (!text) return;
  json_next(out, name);
  json_string(out, text, strlen(text));
}

void json_number(Str *out, const char *name, size_t n) {
  json_next(out, name);
  str_printf(out, "%zu", n);
}

void json_flag(Str *out, const char *name, bool value) {
  if (!value) return;
  json_next(out, name);
  str_puts(out, "true");
}
