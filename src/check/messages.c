/* SPDX-License-Identifier: MIT */
/* What messages are made of: stable codes, formatted texts, short pieces of the
 * source. Below everything else of the checker, which reports errors everywhere. */
#include "check/check_internal.h"
#include <string.h>

static const char *const codes[D_COUNT] = {
#define DIAG(name, code) [D_##name] = code,
#include "check/diagnostics.def"
#undef DIAG
};

const char *tc_diag_code(DiagId id) { return codes[id]; }

const char *tc_format(Checker *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char buffer[512];
  int n = vsnprintf(buffer, sizeof buffer, fmt, ap);
  va_end(ap);
  size_t len = n < 0 ? 0 : (size_t)n < sizeof buffer ? (size_t)n : sizeof buffer - 1;
  return arena_strndup(c->temp, buffer, len);
}

/* The source text at a place where it is short, else `otherwise`. */
const char *tc_short_text(Checker *c, Span at, const char *otherwise) {
  const char *text = sources_get(c->diags->sources, at.source)->text;
  uint32_t n = at.end - at.start;
  if (!at.source || n == 0 || n > 24 || memchr(text + at.start, '\n', n)) return otherwise;
  text = tc_format(c, "%.*s", (int)n, text + at.start);
  return strpbrk(text, " +-*/") && text[0] != '(' && text[0] != '[' ? tc_format(c, "(%s)", text) : text;
}
