/* SPDX-License-Identifier: MIT */
/* The tables of functions.h, and how SLEEF is opened. Its functions are found by their names, so building Atled needs
 * nothing of it. */
#define _GNU_SOURCE /* secure_getenv */
#include "support/functions.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Waves waves_of_libm(double x) { return (Waves){sin(x), cos(x)}; }

const Functions functions_of_libm = {
    .of =
        {
#define WAVE(NAME, libm, member)                     [FN_##NAME] = {.one = libm},
#define FUNCTION1(NAME, libm, sleef, accuracy, lost) [FN_##NAME] = {.one = libm},
#define FUNCTION2(NAME, libm, sleef, accuracy, lost) [FN_##NAME] = {.two = libm},
#include "support/functions.def"
        },
    .waves = waves_of_libm,
    .family = FUNCTIONS_LIBM,
    .open = true,
};

typedef struct Row {
  const char *sleef, *accuracy;
  FunctionLost lost;
} Row;
static const Row rows[FN_COUNT] = {
#define FUNCTION1(NAME, libm, sleef, accuracy, lost) [FN_##NAME] = {sleef, accuracy, FUNCTION_##lost},
#define FUNCTION2(NAME, libm, sleef, accuracy, lost) [FN_##NAME] = {sleef, accuracy, FUNCTION_##lost},
#include "support/functions.def"
};

FunctionLost functions_lost(FunctionName name) { return rows[name].lost; }

void functions_init(Functions *f, FunctionFamily family) {
  if (family == FUNCTIONS_LIBM) *f = functions_of_libm;
  else *f = (Functions){.family = family};
}

/* Sleef_finz_expd1_u10purecfma; NULL: the library lacks it. POSIX has dlsym return functions as pointers to data. */
static bool find(const Functions *f, const char *name, const char *accuracy, void *to) {
  bool fused = f->family == FUNCTIONS_FUSED;
  char symbol[64];
  snprintf(symbol, sizeof symbol, "Sleef_%s_%sd1_%s%s", fused ? "finz" : "cinz", name, accuracy,
           fused ? "purecfma" : "purec");
  void *found = dlsym(f->library, symbol);
  memcpy(to, &found, sizeof found);
  return found;
}

static bool find_all(Functions *f) {
  bool complete = find(f, "sincos", "u10", &f->waves);
  for (int k = 0; k < FN_COUNT && complete; k++)
    if (rows[k].sleef) complete = find(f, rows[k].sleef, rows[k].accuracy, &f->of[k]);
  return complete;
}

bool functions_open(Functions *f, char *why, size_t n) {
  if (f->open) return true;
  const char *own = secure_getenv("ATLED_SLEEF"), *name = own && *own ? own : "libsleef.so.3";
  f->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  f->open = f->library && find_all(f);
  if (f->open) return true;
  const char *reason = f->library ? "it lacks a function" : dlerror();
  snprintf(
      why, n,
      "%s can't be used: %s. `exp`, `sin` and their like are SLEEF's: install it (Debian: libsleef3), or use the C "
      "library's by strict floating point",
      name, reason ? reason : "out of memory");
  functions_close(f);
  return false;
}

void functions_close(Functions *f) {
  if (f->library) dlclose(f->library);
  if (f->library) *f = (Functions){.family = f->family};
}
