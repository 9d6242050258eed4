/* SPDX-License-Identifier: MIT */
/* What of the calling thread would show in a program's values: its floating-point environment and its locale. */
#ifndef ATLED_ENVIRONMENT_H
#define ATLED_ENVIRONMENT_H
#include <fenv.h>
#include <locale.h>
#include <stdbool.h>

typedef struct Environment {
  bool usual; /* floats isn't needed: it was the default */
  bool flushes;
  unsigned sse; /* if it flushes: the control word before */
  fenv_t floats;
  locale_t locale;
} Environment;
/* Is the thread's floating point as programs need it? Not known everywhere: false then. */
bool environment_is_usual(bool flush);
/* Rounding to nearest, no traps; subnormals are kept, or flushed to zero as operands and results; the locale given,
 * which is "C". *host is what was before. */
void environment_enter(Environment *host, locale_t c, bool flush);
/* Makes the thread what it was. */
void environment_leave(const Environment *host);
#endif
