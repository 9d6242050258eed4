/* SPDX-License-Identifier: MIT */
/* What of the calling thread would show in a program's values: its floating-point environment and its locale. */
#ifndef ATLED_ENVIRONMENT_H
#define ATLED_ENVIRONMENT_H
#include <fenv.h>
#include <locale.h>
#include <stdbool.h>

typedef struct Environment {
  bool usual; /* floats isn't needed: it was the default */
  fenv_t floats;
  locale_t locale;
} Environment;
/* Is the thread's floating point as programs need it? Not known everywhere: false then. */
bool environment_is_usual(void);
/* Rounding to nearest, no traps, subnormals kept; the locale given, which is "C". *host is what was before. */
void environment_enter(Environment *host, locale_t c);
/* Makes the thread what it was. */
void environment_leave(const Environment *host);
#endif
