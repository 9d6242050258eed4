/* SPDX-License-Identifier: MIT */
/* The formats of interpolated strings, `[[fill]align][sign][#][0][width][,][.precision][type]`: the checker asks
 * whether one fits, the runtime follows it. */
#include "support/support.h"
#include <ctype.h>
#include <string.h>

static bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

static const char *parse_int(const char *p, const char *end, int *out) {
  long n = 0;
  for (; p < end && isdigit((unsigned char)*p); p++)
    if (n < 100000) n = 10 * n + (*p - '0');
  *out = (int)n;
  return p;
}

/* [[fill]align] */
static const char *parse_align(const char *p, const char *end, Format *f) {
  int n = utf8_sequence(p, (size_t)(end - p), NULL);
  if (n && p + n < end && is_align(p[n])) {
    memcpy(f->fill, p, (size_t)n);
    f->fill_bytes = n;
    f->align = p[n];
    p += n + 1;
  } else if (p < end && is_align(*p)) {
    f->align = *p++;
  }
  return p;
}

static bool parse(const char *p, const char *end, const char *types, Format *f) {
  *f = (Format){.fill = " ", .precision = -1};
  p = parse_align(p, end, f);
  if (p < end && (*p == '+' || *p == '-' || *p == ' ')) f->sign = *p++;
  if (p < end && *p == '#') f->alternate = (p++, true);
  if (p < end && *p == '0') {
    p++;
    if (!f->fill_bytes) f->fill[0] = '0';
    if (!f->align) f->align = '=';
  }
  if (!f->fill_bytes) f->fill_bytes = 1;
  p = parse_int(p, end, &f->width);
  if (p < end && (*p == ',' || *p == '_')) f->comma = *p++;
  if (p < end && *p == '.') {
    if (++p == end || !isdigit((unsigned char)*p)) return false;
    p = parse_int(p, end, &f->precision);
  }
  if (p < end && strchr(types, *p)) f->type = *p++;
  return p == end && f->width < LIMIT_FORMAT_WIDTH && f->precision < LIMIT_FORMAT_PRECISION;
}

bool format_parse(const char *text, size_t n, FormatOf of, Format *out) {
  static const char *const types[] = {[FORMAT_INT] = "dxXobeEfFgG%", [FORMAT_FLOAT] = "eEfFgG%", [FORMAT_TEXT] = "s"};
  if (!parse(text, text + n, types[of], out)) return false;
  switch (of) {
  case FORMAT_INT: return out->precision < 0 || (out->type && !strchr("dxXob", out->type));
  case FORMAT_TEXT: return !out->sign && !out->comma && !out->alternate && out->align != '=';
  default: return true;
  }
}
