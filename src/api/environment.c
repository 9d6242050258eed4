/* SPDX-License-Identifier: MIT */
/* The thread's surroundings while the VM runs.
 *
 * A host may round upwards, trap divisions by zero, flush subnormals to zero, or
 * write numbers with a decimal comma. None of it may reach a program, whose
 * arithmetic is that of IEEE 754 and whose numbers have a point, nor the compiler
 * and its constant folding. So each call into the VM puts the thread's own
 * aside and brings it back at the end. Other threads are never touched. */
#define _GNU_SOURCE
#include "api/environment.h"
#include <stdint.h>

/* The C library's functions take half a microsecond, reading the two control words no time. Elsewhere: false. */
#if defined __x86_64__
enum { X87_CONTROL = 0xf3f, X87_USUAL = 0x33f, SSE_FLAGS = 0x3f, SSE_USUAL = 0x1f80 };
enum { SSE_FLUSH = 0x8040 }; /* results, and operands */

bool environment_is_usual(bool flush) {
  uint16_t x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  unsigned sse = __builtin_ia32_stmxcsr() & ~(unsigned)SSE_FLAGS;
  return (x87 & X87_CONTROL) == X87_USUAL && sse == (unsigned)(SSE_USUAL | (flush ? SSE_FLUSH : 0));
}

static void begin_to_flush(Environment *host) {
  host->flushes = true;
  host->sse = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(host->sse | SSE_FLUSH);
}

static void end_flushing(const Environment *host) { __builtin_ia32_ldmxcsr(host->sse); }
#else
bool environment_is_usual(bool flush) { return (void)flush, false; }
static void begin_to_flush(Environment *host) { (void)host; }
static void end_flushing(const Environment *host) { (void)host; }
#endif

void environment_enter(Environment *host, locale_t c, bool flush) {
  host->flushes = false;
  host->usual = environment_is_usual(false);
  if (!host->usual) {
    fegetenv(&host->floats);
    fesetenv(FE_DFL_ENV);
  }
  if (flush) begin_to_flush(host);
  host->locale = uselocale(c);
}

void environment_leave(const Environment *host) {
  uselocale(host->locale);
  if (host->flushes) end_flushing(host);
  if (!host->usual) fesetenv(&host->floats);
}
