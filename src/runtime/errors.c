/* SPDX-License-Identifier: MIT */
/* Raising errors. An error is a kind, the place where it arose and a complete message; the calls it passes on its way
 * out add themselves to the trace. The first error stays: what fails while another one is on its way out adds
 * nothing. Everything is in the Rt itself, so that raising needs no memory. */
#include "runtime/internal.h"
#include <string.h>

/* A message that was cut may not end within a character. */
static void trim_partial_character(char *text) {
  size_t bad, n = strlen(text);
  if (!utf8_valid(text, n, &bad) && bad + 4 > n) text[bad] = 0;
}

Status rt_error(Rt *rt, ErrorKind kind, uint32_t site, const char *fmt, ...) {
  RtError *e = &rt->error;
  if (e->kind != ERR_NONE) return 1;
  e->kind = kind;
  e->site = site;
  e->ntrace = 0;
  e->depth = 0;
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(e->message, sizeof e->message, fmt, ap);
  va_end(ap);
  if (n >= (int)sizeof e->message) trim_partial_character(e->message);
  return 1;
}

void rt_trace(Rt *rt, uint32_t site) {
  RtError *e = &rt->error;
  if (!e->site) { /* raised without a place: it is the first one passed */
    e->site = site;
    return;
  }
  if (e->ntrace < RT_TRACE_MAX) e->trace[e->ntrace++] = site;
  e->depth++;
}

void rt_clear_error(Rt *rt) {
  rt->error.kind = ERR_NONE;
  rt->error.site = 0;
  rt->error.ntrace = 0;
  rt->error.depth = 0;
  rt->error.message[0] = 0;
}

Status rt_out_of_memory(Rt *rt) { return rt_error(rt, ERR_MEMORY, 0, "out of memory"); }

Status rt_fail_index(Rt *rt, int64_t i, int64_t n, uint32_t site) {
  if (n == 0) return rt_error(rt, ERR_INDEX, site, "index %lld is out of bounds for an empty array", (long long)i);
  return rt_error(rt, ERR_INDEX, site, "index %lld is out of bounds for an array of length %lld", (long long)i, (long long)n);
}

Status rt_fail_slice(Rt *rt, int64_t lo, int64_t hi, int64_t n, uint32_t site) {
  return rt_error(rt, ERR_SLICE, site, "slice %lld..%lld is out of bounds for an array of length %lld", (long long)lo,
                  (long long)hi, (long long)n);
}

Status rt_fail_size(Rt *rt, int64_t n, int64_t m, uint32_t site) {
  return rt_error(rt, ERR_SHAPE, site, "different shapes: length %lld and length %lld", (long long)n, (long long)m);
}

Status rt_fail_nonzero(Rt *rt, uint32_t site) { return rt_error(rt, ERR_DIVISION, site, "division by zero"); }

Status rt_fail_nat(Rt *rt, int64_t n, const char *what, uint32_t site) {
  return rt_error(rt, ERR_RANGE, site, "%s can't be negative, but it is %lld", what ? what : "a size", (long long)n);
}

Status rt_fail_irregular(Rt *rt, int64_t first, int64_t other, uint32_t site) {
  return rt_error(rt, ERR_IRREGULAR, site, "irregular array: its first row has length %lld, another one length %lld",
                  (long long)first, (long long)other);
}

Status rt_fail_user(Rt *rt, Obj *message, bool assertion, uint32_t site) {
  const StringObj *s = (const StringObj *)message;
  if (assertion && (!s || s->len == 0)) return rt_error(rt, ERR_ASSERT, site, "assertion failed");
  return rt_error(rt, assertion ? ERR_ASSERT : ERR_FAIL, site, "%s", s ? s->bytes : "");
}

Status rt_fail_foreign(Rt *rt, const char *library, const char *symbol, const char *why, uint32_t site) {
  if (!why) return rt_error(rt, ERR_IO, site, "there is no function `%s` in \"%s\"", symbol, library);
  size_t n = strlen(library);
  if (!strncmp(why, library, n) && !strncmp(why + n, ": ", 2)) why += n + 2; /* the system names it too */
  return rt_error(rt, ERR_IO, site, "can't load \"%s\" with the function `%s`: %s", library, symbol, why);
}

Status rt_fail_stack(Rt *rt, uint32_t site) {
  return rt_error(rt, ERR_STACK, site, "stack overflow: too many calls inside each other");
}

Status rt_entry(Rt *rt, const char *here) { return here < rt->stack_limit ? rt_fail_stack(rt, 0) : rt_poll(rt); }

Status rt_unwind(Rt *rt, const char *here, uint32_t site) {
  if (rt->unwinding) return 1;
  if (!rt_entry(rt, here)) return 0;
  rt->error.site = site;
  if (site && rt->error.kind == ERR_STACK) { /* nobody counts the calls that end now, nor notes where they came from */
    while (rt->error.ntrace < RT_TRACE_MAX) rt_trace(rt, site);
    rt->error.depth = RT_DEPTH_UNKNOWN;
  }
  rt->unwinding = 1;
  rt->true_stack_limit = rt->stack_limit;
  rt->stack_limit = (char *)UINTPTR_MAX;
  return 1;
}

Status rt_unwound(Rt *rt) {
  if (!rt->unwinding) return 0;
  rt->unwinding = 0;
  rt->stack_limit = rt->true_stack_limit;
  return 1;
}

Status rt_poll(Rt *rt) {
  if (rt->deadline > 0 && rt_now() > rt->deadline) {
    rt->interrupt = 0;
    return rt_error(rt, ERR_TIME, 0, "the time limit is over");
  }
  if (rt->interrupt == RT_INTERRUPTED) {
    rt->interrupt = 0;
    return rt_error(rt, ERR_INTERRUPT, 0, "interrupted");
  }
  rt->interrupt = 0; /* a clock that rang too late */
  return 0;
}
