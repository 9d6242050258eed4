/* SPDX-License-Identifier: MIT */
/* Measures the functions of support/functions.def: their errors beside MPFR's values, whether SLEEF's vectors have the
 * digits of its scalars (those of kernels.def: tests/test_kernels.py), and the time of both.
 *
 *   functions [POINTS [PATTERNS]]      1,000,000 points for errors, 320,000 patterns of bits for vectors
 *
 * A row for each function and family: the largest error in units in the last place of the exact value, the number at
 * which it is (two for functions of two), how many values are wrong altogether (infinite, NaN, zero, or of the other
 * sign where the exact one isn't), and nanoseconds a call. A third of the points are finite patterns of bits, a third
 * lie between -50 and 50, a third are small; edges are added: zeros, ends of ranges, poles, infinities, NaN.
 * Exit status 1: an error above 2 units, a wrong value, or vectors whose digits differ. */
#define _GNU_SOURCE
#include "support/functions.h"
#include <dlfcn.h>
#include <mpfr.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BITS = 160, CHUNK = 8 };
typedef int (*Exact1)(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int (*Exact2)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef struct Row {
  const char *name, *sleef, *accuracy;
  double (*one)(const Functions *, double);
  double (*two)(const Functions *, double, double);
  Exact1 exact1;
  Exact2 exact2;
} Row;
static const Row rows[FN_COUNT] = {
#define WAVE(NAME, libm, member)                            [FN_##NAME] = {#libm, NULL, NULL, functions_##NAME, NULL, mpfr_##libm, NULL},
#define FUNCTION1(NAME, libm, sleef, accuracy, lost) [FN_##NAME] = {#libm, sleef, accuracy, functions_##NAME, NULL, mpfr_##libm, NULL},
#define FUNCTION2(NAME, libm, sleef, accuracy, lost)              [FN_##NAME] = {#libm, sleef, accuracy, NULL, functions_##NAME, NULL, mpfr_##libm},
#include "support/functions.def"
};
/* Functions of our own: their vectors are in line in machine code, and tests/test_kernels.py compares those. */
static const bool own[FN_COUNT] = {
#define KERNEL1(NAME, name) [FN_##NAME] = true,
#include "support/kernels.def"
};
static const double edges[] = {0.0, -0.0, 0x1p-1074, -0x1p-1074, 0x1p-1022, -0x1p-1022, 0x1.fffffffffffffp-1023, 1e-300, 0x1p-60, 0x1p-27, 0.25, 0.5, 0x1.fffffffffffffp-1, 1.0, -1.0, 0x1.0000000000001p0, -0x1.0000000000001p0, 1.5707963267948966, 3.141592653589793, 6.283185307179586, 2.0, 3.0, -3.0, 708.0, 709.0, 709.5, 709.782712893384, 709.782712893385, 710.4758600739439, 710.5, -708.4, -709.0, -745.0, -745.2, -746.0, 1e15, 0x1p53, 1e22, 1e300, 0x1p1000, 0x1p1001, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023, INFINITY, -INFINITY, NAN, 26.5, 27.3, -6.0, 5.9};
enum { EDGES = sizeof edges / sizeof *edges };

/* ---- Points ------------------------------------------------------------------------------------------------------ */
static uint64_t state = 88172645463325252u;
static uint64_t bits(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}
static double unit(void) { return (double)(bits() >> 11) * 0x1p-53; }
static double pattern(void) {
  double x;
  uint64_t b;
  do {
    b = bits();
    memcpy(&x, &b, sizeof x);
  } while (!isfinite(x));
  return x;
}
static double point(long k) {
  if (k < EDGES) return edges[k];
  return k % 3 == 0 ? pattern() : k % 3 == 1 ? 100 * unit() - 50 : ldexp(unit() - 0.5, -(int)(bits() % 12));
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */
typedef struct Errors {
  double most, at[2];
  long wrong;
  double wrong_at[2];
} Errors;

/* The spacing of doubles at the exact value. */
static double spacing(const mpfr_t exact) {
  long e = mpfr_get_exp(exact) - 53;
  return ldexp(1, e < -1074 ? -1074 : (int)e);
}

static void measure(Errors *e, double got, const mpfr_t exact, double x, double y) {
  double rounded = mpfr_get_d(exact, MPFR_RNDN), most = 0x1.fffffffffffffp1023;
  bool fits = isnan(rounded) ? isnan(got) : rounded == 0 ? got == 0 && signbit(got) == signbit(rounded) : true;
  double error = 0;
  if (fits && isfinite(rounded) && rounded != 0) {
    mpfr_t difference;
    mpfr_init2(difference, BITS);
    if (isinf(got)) fits = fabs(rounded) == most && signbit(got) == signbit(rounded);
    else {
      mpfr_set_d(difference, got, MPFR_RNDN);
      mpfr_sub(difference, difference, exact, MPFR_RNDN);
      error = fabs(mpfr_get_d(difference, MPFR_RNDN)) / spacing(exact);
    }
    mpfr_clear(difference);
  } else if (fits && isinf(rounded)) {
    fits = got == rounded || (mpfr_regular_p(exact) && fabs(got) == most && signbit(got) == signbit(rounded));
  }
  if (!fits || isnan(error)) {
    e->wrong++;
    e->wrong_at[0] = x;
    e->wrong_at[1] = y;
  } else if (error > e->most) {
    e->most = error;
    e->at[0] = x;
    e->at[1] = y;
  }
}

static Errors errors_of(const Row *r, const Functions *f, long points) {
  Errors e = {0};
  mpfr_t a, b, exact;
  mpfr_inits2(BITS, a, b, exact, (mpfr_ptr)0);
  for (long k = 0; k < points; k++) {
    double x = point(k), y = 0;
    if (r->two) y = k < EDGES * EDGES ? edges[k / EDGES] : point(k + (long)(bits() % 3));
    if (r->two && k < EDGES * EDGES) x = edges[k % EDGES];
    mpfr_set_d(a, x, MPFR_RNDN);
    if (r->one) r->exact1(exact, a, MPFR_RNDN);
    else {
      mpfr_set_d(b, y, MPFR_RNDN);
      r->exact2(exact, a, b, MPFR_RNDN);
    }
    measure(&e, r->one ? r->one(f, x) : r->two(f, x, y), exact, x, y);
  }
  mpfr_clears(a, b, exact, (mpfr_ptr)0);
  return e;
}

/* ---- Time -------------------------------------------------------------------------------------------------------- */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* ---- Vectors ----------------------------------------------------------------------------------------------------- */
#if defined __x86_64__
typedef double D2 __attribute__((vector_size(16)));
typedef double D4 __attribute__((vector_size(32)));
typedef double D8 __attribute__((vector_size(64)));
typedef struct Two2 { D2 first, second; } Two2;
typedef struct Two4 { D4 first, second; } Two4;
typedef struct Two8 { D8 first, second; } Two8;
/* Calls f on CHUNK numbers by vectors of the type; waves' results are one behind the other. */
#define CALLS(V, T, target_name)                                                                                       \
  __attribute__((target(target_name))) static void call_##V(void *f, const Row *r, const double *x, const double *y,   \
                                                            double *out, double *second) {                             \
    for (int k = 0; k < CHUNK; k += (int)(sizeof(V) / sizeof *x)) {                                                    \
      V a, b, result;                                                                                                  \
      memcpy(&a, x + k, sizeof a);                                                                                     \
      memcpy(&b, y + k, sizeof b);                                                                                     \
      if (!r->sleef) {                                                                                                 \
        T both = ((T(*)(V))f)(a);                                                                                      \
        memcpy(second + k, &both.second, sizeof a);                                                                    \
        result = both.first;                                                                                           \
      } else {                                                                                                         \
        result = r->one ? ((V(*)(V))f)(a) : ((V(*)(V, V))f)(a, b);                                                     \
      }                                                                                                                \
      memcpy(out + k, &result, sizeof result);                                                                         \
    }                                                                                                                  \
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wpsabi"
CALLS(D2, Two2, "sse2")
CALLS(D4, Two4, "avx2")
CALLS(D8, Two8, "avx512f")
#pragma GCC diagnostic pop
typedef struct Width {
  int lanes;
  FunctionFamily family;
  const char *ending;
  void (*call)(void *, const Row *, const double *, const double *, double *, double *);
} Width;

static bool can_run(const Width *w) {
  __builtin_cpu_init();
  return w->lanes == 8 ? __builtin_cpu_supports("avx512f") : w->family == FUNCTIONS_PLAIN || __builtin_cpu_supports("avx2");
}

static bool same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)); }

/* Nanoseconds a number. */
static double time_of_vectors(const Row *r, void *found, const Width *w) {
  enum { ROUNDS = 4000 };
  double x[CHUNK], y[CHUNK], out[CHUNK], second[CHUNK], best = INFINITY;
  for (int n = 0; n < 20; n++) {
    for (int k = 0; k < CHUNK; k++) x[k] = 0.01 + 0.98 * unit(), y[k] = 0.01 + 0.98 * unit();
    double begin = now();
    for (int k = 0; k < ROUNDS; k++) w->call(found, r, x, y, out, second);
    double each = (now() - begin) / (ROUNDS * CHUNK);
    if (each < best) best = each;
  }
  return best;
}

/* How many of the patterns' values differ; -1: the library lacks the function. */
static long differences(const Row *r, const Functions *f, const Width *w, long patterns, double *time) {
  char symbol[64];
  snprintf(symbol, sizeof symbol, "Sleef_%s_%sd%d_%s%s", f->family == FUNCTIONS_FUSED ? "finz" : "cinz",
           r->sleef ? r->sleef : "sincos", w->lanes, r->sleef ? r->accuracy : "u10", w->ending);
  void *found = dlsym(f->library, symbol);
  if (!found) return -1;
  *time = time_of_vectors(r, found, w);
  int name = (int)(r - rows);
  double x[CHUNK], y[CHUNK], out[CHUNK], second[CHUNK];
  long wrong = 0;
  for (long k = 0; k < patterns; k += CHUNK) {
    for (int i = 0; i < CHUNK; i++) x[i] = k % 16 ? pattern() : point(k + i), y[i] = k % 16 ? pattern() : point(k + i + 1);
    w->call(found, r, x, y, out, second);
    for (int i = 0; i < CHUNK; i++) {
      Waves both = r->sleef ? (Waves){0, 0} : f->waves(x[i]);
      double alone = !r->sleef ? (name == FN_SIN ? both.first : both.second) : r->one ? f->of[name].one(x[i]) : f->of[name].two(x[i], y[i]);
      wrong += !same(alone, !r->sleef && name == FN_COS ? second[i] : out[i]);
    }
  }
  return wrong;
}

static bool vectors(const Functions *f, long patterns) {
  static const Width widths[] = {{8, FUNCTIONS_FUSED, "avx512f", call_D8}, {4, FUNCTIONS_FUSED, "avx2", call_D4}, {2, FUNCTIONS_FUSED, "avx2128", call_D2}, {2, FUNCTIONS_PLAIN, "sse2", call_D2}};
  bool fine = true;
  for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
    const Width *w = &widths[k];
    if (w->family != f->family || !can_run(w)) continue;
    long functions = 0, all = 0;
    for (int n = 0; n < FN_COUNT; n++) {
      double time = NAN;
      if (own[n]) continue;
      all++;
      long wrong = differences(&rows[n], f, w, patterns, &time);
      functions += wrong == 0;
      printf("%-7s vectors of %d (%s) %ld values differ, %.2f ns a number\n", rows[n].name, w->lanes, w->ending, wrong, time);
      fine = fine && wrong == 0;
    }
    printf("vectors of %d (%s): %ld of %ld functions have the scalars' digits at %ld patterns\n", w->lanes, w->ending,
           functions, all, patterns);
  }
  return fine;
}
#else
static bool vectors(const Functions *f, long patterns) { return (void)f, (void)patterns, true; }
#endif

static double time_of(const Row *r, const Functions *f) {
  enum { N = 1000, ROUNDS = 50 };
  double x[N], best = INFINITY;
  volatile double sink = 0;
  for (int k = 0; k < N; k++) x[k] = 0.01 + 0.98 * unit();
  for (int n = 0; n < ROUNDS; n++) {
    double begin = now(), s = 0;
    for (int k = 0; k < N; k++) s += r->one ? r->one(f, x[k]) : r->two(f, x[k], x[N - 1 - k]);
    double each = (now() - begin) / N;
    sink += s;
    if (each < best) best = each;
  }
  return best;
}

int main(int argc, char **argv) {
  static const char *const families[] = {"libm", "SLEEF, fused", "SLEEF, plain"};
  long points = argc > 1 ? atol(argv[1]) : 1000000, patterns = argc > 2 ? atol(argv[2]) : 320000;
  bool fine = true;
  Functions all[3];
  for (int family = 0; family < 3; family++) {
    char why[512];
    functions_init(&all[family], (FunctionFamily)family, 0);
    if (!functions_open(&all[family], why, sizeof why)) {
      fprintf(stderr, "%s\n", why);
      return 2;
    }
  }
  printf("%-7s %-13s %8s  %-48s %6s %7s\n", "", "", "ulp", "at", "wrong", "ns");
  for (int n = 0; n < FN_COUNT; n++)
    for (int family = 0; family < 3; family++) {
      Errors e = errors_of(&rows[n], &all[family], points);
      char at[100];
      snprintf(at, sizeof at, rows[n].two ? "%.17g, %.17g" : "%.17g", e.at[0], e.at[1]);
      printf("%-7s %-13s %8.3f  %-48s %6ld %7.2f\n", rows[n].name, families[family], e.most, at, e.wrong,
             time_of(&rows[n], &all[family]));
      if (e.wrong) printf("  the last wrong one: at %.17g, %.17g\n", e.wrong_at[0], e.wrong_at[1]);
      fflush(stdout);
      if (family != FUNCTIONS_LIBM) fine = fine && e.most <= 2 && e.wrong == 0;
    }
  fine = vectors(&all[FUNCTIONS_FUSED], patterns) && fine;
  fine = vectors(&all[FUNCTIONS_PLAIN], patterns) && fine;
  return fine ? 0 : 1;
}
