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
bool environment_is_usual(void) {
#if defined __x86_64__
  enum { X87_CONTROL = 0xf3f, X87_USUAL = 0x33f, SSE_FLAGS = 0x3f, SSE_USUAL = 0x1f80 };
  uint16_t x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (x87 & X87_CONTROL) == X87_USUAL && (__builtin_ia32_stmxcsr() & ~(unsigned)SSE_FLAGS) == SSE_USUAL;
#else
  return false;
#endif
}

void environment_enter(Environment *host, locale_t c) {
  host->usual = environment_is_usual();
  if (!host->usual) {
    fegetenv(&host->floats);
    fesetenv(FE_DFL_ENV);
  }
  host->locale = uselocale(c);
}

void environment_leave(const Environment *host) {
  uselocale(host->locale);
  if (!host->usual) fesetenv(&host->floats);
}
