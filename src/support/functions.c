/* SPDX-License-Identifier: MIT */
/* The tables of functions.h, and how SLEEF is opened. Its functions are found by their names, so building Atled needs
 * nothing of it. */
#define _GNU_SOURCE /* secure_getenv */
#include "support/functions.h"
#include "support/kernels.h"
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
  int operands;
} Row;
static const Row rows[FN_COUNT] = {
#define FUNCTION1(NAME, libm, sleef, accuracy, lost) [FN_##NAME] = {sleef, accuracy, FUNCTION_##lost, 1},
#define FUNCTION2(NAME, libm, sleef, accuracy, lost) [FN_##NAME] = {sleef, accuracy, FUNCTION_##lost, 2},
#include "support/functions.def"
};

FunctionLost functions_lost(FunctionName name) { return rows[name].lost; }

void functions_init(Functions *f, FunctionFamily family, int width) {
  if (family == FUNCTIONS_LIBM) *f = functions_of_libm;
  else *f = (Functions){.family = family, .width = width};
}

void functions_mend(FunctionName name, const double *x, const double *y, double *r, int n) {
  bool two = rows[name].operands == 2;
  for (int k = 0; k < n; k++) {
    if (!function_is_lost(rows[name].lost, r[k])) continue;
    r[k] = two ? functions_of_libm.of[name].two(x[k], y[k]) : functions_of_libm.of[name].one(x[k]);
  }
}

/* Sleef_finz_expd1_u10purecfma, and of eight numbers Sleef_finz_expd8_u10avx512f. NULL: the library lacks it. POSIX has
 * dlsym return functions as pointers to data. */
static bool find(const Functions *f, const char *name, int width, const char *accuracy, void *to) {
  bool fused = f->family == FUNCTIONS_FUSED;
  const char *cpu = width == 1 ? (fused ? "purecfma" : "purec") : width == 8 ? "avx512f" : width == 4 ? "avx2" : "sse2";
  char symbol[64];
  snprintf(symbol, sizeof symbol, "Sleef_%s_%sd%d_%s%s", fused ? "finz" : "cinz", name, width, accuracy, cpu);
  void *found = dlsym(f->library, symbol);
  memcpy(to, &found, sizeof found);
  return found;
}

static bool find_all(Functions *f) {
  bool complete = find(f, "sincos", 1, "u10", &f->waves);
  if (f->width) complete = find(f, "sincos", f->width, "u10", &f->wide_waves) && complete;
  for (int k = 0; k < FN_COUNT && complete; k++) {
    if (!rows[k].sleef) continue;
    complete = find(f, rows[k].sleef, 1, rows[k].accuracy, &f->of[k]);
    if (f->width) complete = find(f, rows[k].sleef, f->width, rows[k].accuracy, &f->wide[k]) && complete;
  }
  return complete;
}

/* Functions of our own instead. Their vectors are in line. */
static void replace_by_kernels(Functions *f) {
  bool fused = f->family == FUNCTIONS_FUSED;
#define KERNEL1(NAME, name)                                                                                            \
  f->of[FN_##NAME].one = fused ? kernels_##name : kernels_plain_##name;                                                \
  f->wide[FN_##NAME] = NULL;
#include "support/kernels.def"
}

bool functions_open(Functions *f, char *why, size_t n) {
  if (f->open) return true;
  const char *own = secure_getenv("ATLED_SLEEF"), *name = own && *own ? own : "libsleef.so.3";
  f->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  f->open = f->library && find_all(f);
  if (f->open) replace_by_kernels(f);
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
  if (f->library) *f = (Functions){.family = f->family, .width = f->width};
}
