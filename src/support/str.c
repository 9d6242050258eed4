/* SPDX-License-Identifier: MIT */
/* Growing strings on an arena. They stay NUL-terminated, so `data` can be
 * handed out as a C string as soon as anything was written; capacity doubles,
 * and a string that is the arena's newest block grows in place. At the end: texts with holes, which need no memory. */
#include "support/support.h"
#include <string.h>

static void make_room(Str *s, size_t more) {
  size_t need = s->len + more + 1;
  if (need <= s->cap) return;
  size_t cap = s->cap ? 2 * s->cap : 32;
  while (cap < need) cap *= 2;
  s->data = arena_grow(s->arena, s->data, s->cap, cap);
  s->cap = cap;
}

void str_add(Str *s, const char *bytes, size_t n) {
  make_room(s, n);
  if (n) memcpy(s->data + s->len, bytes, n);
  s->len += n;
  s->data[s->len] = 0;
}

void str_addc(Str *s, char c) { str_add(s, &c, 1); }

void str_puts(Str *s, const char *z) { str_add(s, z, strlen(z)); }

void str_printf(Str *s, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  if (n >= 0) {
    make_room(s, (size_t)n);
    vsnprintf(s->data + s->len, (size_t)n + 1, fmt, again);
    s->len += (size_t)n;
  }
  va_end(again);
}

void str_quoted(Str *s, const char *text, size_t n) {
  str_addc(s, '"');
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '"' || c == '\\') str_printf(s, "\\%c", c);
    else if (c < 32 || c == 127) str_printf(s, "\\x%02x", c);
    else str_addc(s, (char)c);
  }
  str_addc(s, '"');
}

size_t text_fill(char *out, size_t size, const char *text, const char *n, const char *m) {
  size_t length = 0;
  for (const char *c = text; *c; c++) {
    bool hole = *c == '%' && c[1];
    if (hole) c++;
    const char *part = hole && *c == 'n' ? n : hole && *c == 'm' ? m : NULL;
    size_t bytes = part ? strlen(part) : 1;
    for (size_t i = 0; i < bytes && length + i + 1 < size; i++) out[length + i] = part ? part[i] : *c;
    length += bytes;
  }
  if (size) out[length < size ? length : size - 1] = 0;
  return length;
}
