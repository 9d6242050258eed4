/* SPDX-License-Identifier: MIT */
/* The ends of programs where an operation makes NaN, or an infinity, if they were compiled so: ir/traps.c says what the
 * texts of traps are, of which the messages are made here. */
#include "runtime/runtime_internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Adds "0.5", "0.5 and 1" or "0.5, 1 and 2" to the n bytes in `out`. */
static size_t add_numbers(char *out, size_t n, size_t size, const Slot *xs, int count) {
  for (int k = 0; k < count && n + 48 < size; k++) {
    char number[40];
    rt_format_double(xs[k].f, number);
    n += (size_t)snprintf(out + n, size - n, "%s%s", k == 0 ? "" : k + 1 < count ? ", " : " and ", number);
  }
  return n;
}

/* What the mark of a trap's text adds to the message. */
static const char *trapped_where(char mark) {
  switch (mark) {
  case '<':
  case '{': return " (backward)";
  case '>':
  case '}': return " (forward mode)";
  case '[': return " in a derivative rule (backward)";
  case ']': return " in a derivative rule (forward mode)";
  default: return "";
  }
}

/* "`/` of 0 and 0 yields NaN"; of text "</" with a last operand that is the cotangent, of ">/" with tangents. */
static Status trapped(Rt *rt, ErrorKind kind, const char *text, const Slot *args, int n, uint32_t site) {
  const char *where = trapped_where(*text);
  bool backward = strchr("<{", *text), forward = strchr(">}", *text);
  n -= strchr("{}", *text) != NULL; /* the value */
  int operands = backward ? n - 2 : forward ? (n - 1) / 2 : n - 1, others = n - 1 - operands;
  char y[40] = "NaN", of[400] = "";
  if (kind != ERR_NAN) rt_format_double(args[0].f, y);
  size_t at = add_numbers(of, 0, sizeof of, args + 1, operands);
  if (others > 0) {
    const char *what = backward ? "cotangent" : others == 1 ? "tangent" : "tangents";
    at += (size_t)snprintf(of + at, sizeof of - at, ", with %s ", what);
    add_numbers(of, at, sizeof of, args + 1 + operands, others);
  }
  return rt_error(rt, kind, site, "%s`%s` of %s yields %s%s", backward || forward ? "the derivative of " : "",
                  text + (*where != 0), of, y, where);
}

Status rt_trap_nan(Rt *rt, const char *text, const Slot *args, int32_t n, uint32_t site) {
  for (int k = 1; k < n; k++)
    if (isnan(args[k].f)) return 0;
  return trapped(rt, ERR_NAN, text, args, n, site);
}

Status rt_trap_inf(Rt *rt, const char *text, const Slot *args, int32_t n, uint32_t site) {
  if (isnan(args[0].f)) return rt_trap_nan(rt, text, args, n, site);
  for (int k = 1; k < n; k++)
    if (!isfinite(args[k].f)) return 0;
  return trapped(rt, ERR_INFINITY, text, args, n, site);
}
