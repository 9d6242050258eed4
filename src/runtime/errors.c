/* SPDX-License-Identifier: MIT */
/* Raising errors. An error is a kind, the place where it arose and a complete message; the calls it passes on its way
 * out add themselves to the trace. The first error stays: what fails while another one is on its way out adds
 * nothing. Everything is in the Rt itself, so that raising needs no memory. */
#include "runtime/pool.h"
#include "runtime/runtime_internal.h"
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
  e->quote.length = 0;
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(e->message, sizeof e->message, fmt, ap);
  va_end(ap);
  if (n >= (int)sizeof e->message) trim_partial_character(e->message);
  return 1;
}

Status rt_deny(Rt *rt, Right right, const char *what, uint32_t site) {
  return rt_error(rt, ERR_DENIED, site, "`%s` needs the right to %s, which isn't granted", what, right_does(right));
}

void rt_trace(Rt *rt, uint32_t site) {
  RtError *e = &rt->error;
  if (!e->site) { /* raised without a place: it is the first one passed */
    e->site = site;
    return;
  }
  if (e->ntrace < LIMIT_TRACE) e->trace[e->ntrace++] = site;
  e->depth++;
}

void rt_clear_error(Rt *rt) {
  rt_release(rt, rt->error.text);
  rt->error.text = NULL;
  rt->error.kind = ERR_NONE;
  rt->error.site = 0;
  rt->error.ntrace = 0;
  rt->error.depth = 0;
  rt->error.message[0] = 0;
}

Status rt_out_of_memory(Rt *rt) { return rt_error(rt, ERR_MEMORY, 0, "out of memory"); }

Status rt_fail_byte(Rt *rt, int64_t x, uint32_t site) {
  return rt_error(rt, ERR_TEXT, site, "%lld is not a byte", (long long)x);
}

Status rt_fail_index(Rt *rt, int64_t i, int64_t n, uint32_t site) {
  if (n == 0) return rt_error(rt, ERR_INDEX, site, "index %lld is out of bounds for an empty array", (long long)i);
  return rt_error(rt, ERR_INDEX, site, "index %lld is out of bounds for an array of length %lld", (long long)i,
                  (long long)n);
}

Status rt_fail_slice(Rt *rt, int64_t lo, int64_t hi, int64_t n, uint32_t site) {
  return rt_error(rt, ERR_SLICE, site, "slice %lld..%lld is out of bounds for an array of length %lld", (long long)lo,
                  (long long)hi, (long long)n);
}

Status rt_fail_size(Rt *rt, int64_t n, int64_t m, const char *message, uint32_t site) {
  char numbers[2][24], text[sizeof rt->error.message];
  if (!message)
    return rt_error(rt, ERR_SHAPE, site, "different shapes: length %lld and length %lld", (long long)n, (long long)m);
  snprintf(numbers[0], sizeof numbers[0], "%lld", (long long)n);
  snprintf(numbers[1], sizeof numbers[1], "%lld", (long long)m);
  text_fill(text, sizeof text, message, numbers[0], numbers[1]);
  return rt_error(rt, ERR_FAIL, site, "%s", text);
}

Status rt_fail_nonzero(Rt *rt, uint32_t site) { return rt_error(rt, ERR_DIVISION, site, "division by zero"); }

Status rt_fail_nat(Rt *rt, int64_t n, const char *what, uint32_t site) {
  return rt_error(rt, ERR_RANGE, site, "%s can't be negative, but it is %lld", what ? what : "a size", (long long)n);
}

Status rt_fail_irregular(Rt *rt, int64_t first, int64_t other, uint32_t site) {
  return rt_error(rt, ERR_IRREGULAR, site, "irregular array: its first row has length %lld, another one length %lld",
                  (long long)first, (long long)other);
}

Status rt_fail_user(Rt *rt, Obj *message, int32_t kind, uint32_t site) {
  const StringObj *s = (const StringObj *)message;
  if (kind == ERR_ASSERT && (!s || s->len == 0)) return rt_error(rt, ERR_ASSERT, site, "assertion failed");
  if (rt->error.kind == ERR_NONE && kind == ERR_FAIL && s) {
    rt_retain(message);
    rt->error.text = message;
  }
  return rt_error(rt, (ErrorKind)kind, site, "%s", s ? s->bytes : "");
}

Status rt_fail_foreign(Rt *rt, const char *library, const char *symbol, const char *why, uint32_t site) {
  if (!why) return rt_error(rt, ERR_FOREIGN, site, "there is no function `%s` in \"%s\"", symbol, library);
  size_t n = strlen(library);
  if (!strncmp(why, library, n) && !strncmp(why + n, ": ", 2)) why += n + 2; /* the system names it too */
  return rt_error(rt, ERR_FOREIGN, site, "can't load \"%s\" with the function `%s`: %s", library, symbol, why);
}

Status rt_fail_stack(Rt *rt, uint32_t site) {
  return rt_error(rt, ERR_STACK, site, "stack overflow: too many calls inside each other");
}

Status rt_fail_depth(Rt *rt, int64_t depth, uint32_t site) {
  rt_fail_stack(rt, site);
  rt->error.depth = depth;
  return 1;
}

/* ---- Entries of machine code: one comparison finds out about the stack, interrupts and unwinding ---- */
static void reset_entry_limit(Rt *rt) {
  __atomic_store_n(&rt->entry_limit, rt->stack_limit, __ATOMIC_SEQ_CST);
  /* an interrupt that came in between must not be overlooked; one that was just cleared costs a closer look */
  if (rt->unwinding || __atomic_load_n(&rt->interrupt, __ATOMIC_SEQ_CST))
    __atomic_store_n(&rt->entry_limit, (char *)UINTPTR_MAX, __ATOMIC_SEQ_CST);
}

void rt_set_stack_limit(Rt *rt, char *limit) {
  rt->stack_limit = limit;
  reset_entry_limit(rt);
}

void rt_interrupt(Rt *rt, int32_t why) {
  int32_t none = 0;
  if (why == RT_INTERRUPTED) __atomic_store_n(&rt->interrupt, why, __ATOMIC_SEQ_CST);
  else __atomic_compare_exchange_n(&rt->interrupt, &none, why, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  __atomic_store_n(&rt->entry_limit, (char *)UINTPTR_MAX, __ATOMIC_SEQ_CST);
}

void rt_clear_interrupt(Rt *rt) {
  __atomic_store_n(&rt->interrupt, 0, __ATOMIC_SEQ_CST);
  reset_entry_limit(rt);
}

Status rt_entry(Rt *rt, const char *here) {
  return rt->unwinding || here < rt->stack_limit ? rt_fail_stack(rt, 0) : rt_poll(rt);
}

Status rt_unwind(Rt *rt, const char *here, uint32_t site) {
  if (rt->unwinding) return 1;
  if (!rt_entry(rt, here)) return 0;
  rt->error.site = site;
  if (site && rt->error.kind == ERR_STACK) { /* nobody counts the calls that end now, nor notes where they came from */
    while (rt->error.ntrace < LIMIT_TRACE) rt_trace(rt, site);
    rt->error.depth = RT_DEPTH_UNKNOWN;
  }
  rt->unwinding = 1;
  reset_entry_limit(rt);
  return 1;
}

Status rt_unwound(Rt *rt) {
  if (!rt->unwinding) return 0;
  rt->unwinding = 0;
  reset_entry_limit(rt);
  return 1;
}

Status rt_fail_ended(Rt *rt, ErrorKind why) {
  if (why == ERR_TIME) return rt_error(rt, why, 0, "the time limit is over");
  return rt_error(rt, why, 0, why == ERR_INTERRUPT ? "interrupted" : "");
}

Status rt_poll(Rt *rt) {
  int32_t why = __atomic_exchange_n(&rt->interrupt, 0, __ATOMIC_SEQ_CST); /* one that comes now stays */
  reset_entry_limit(rt);
  if (rt->job && why != RT_INTERRUPTED && pool_stops(rt)) return rt_fail_ended(rt, ERR_STOPPED);
  if (rt->deadline > 0 && rt_now() > rt->deadline) return rt_fail_ended(rt, ERR_TIME);
  if (why == RT_INTERRUPTED) return rt_fail_ended(rt, ERR_INTERRUPT);
  return 0; /* a clock that rang too late */
}
