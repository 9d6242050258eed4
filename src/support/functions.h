/* SPDX-License-Identifier: MIT */
/* Exponentials, logarithms, trigonometric and other functions of floats: functions.def lists them.
 *
 * Folding, evaluator and machine code call them through one table of the VM, so a function has the same digits
 * everywhere. With strict floating point that is the C library's. Otherwise it is SLEEF's, whose functions give the
 * same digits one by one and in vectors of any width:
 *
 *   FUNCTIONS_FUSED   Sleef_finz_sind1_u10purecfma, with fused multiplication and addition
 *   FUNCTIONS_PLAIN   Sleef_cinz_sind1_u10purec, for processors that lack it; other last digits
 *
 * Those of kernels.def are our own, in both families.
 *
 * SLEEF is opened when the first of them is needed (0.14 ms), which many programs never do. */
#ifndef ATLED_FUNCTIONS_H
#define ATLED_FUNCTIONS_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum FunctionName {
#define WAVE(NAME, libm, member)                     FN_##NAME,
#define FUNCTION1(NAME, libm, sleef, accuracy, lost) FN_##NAME,
#define FUNCTION2(NAME, libm, sleef, accuracy, lost) FN_##NAME,
#include "support/functions.def"
  FN_COUNT
} FunctionName;

typedef enum FunctionFamily { FUNCTIONS_LIBM, FUNCTIONS_FUSED, FUNCTIONS_PLAIN } FunctionFamily;
/* Sine and cosine. */
typedef struct Waves {
  double first, second;
} Waves;
typedef struct Functions {
  /* By FunctionName, as the library computes it: some results are lost. Empty until functions_open. */
  union {
    double (*one)(double);
    double (*two)(double, double);
  } of[FN_COUNT];
  Waves (*waves)(double);
  /* The same of vectors of `width` numbers; waves give a structure of two vectors. NULL: there is
   * none; code has those of kernels.def in line (jit/wide_kernels.c) */
  void *wide[FN_COUNT], *wide_waves;
  int width; /* 0: no vectors */
  FunctionFamily family;
  bool open;
  void *library;
} Functions;

/* The C library's, open. */
extern const Functions functions_of_libm;
/* How many numbers a vector of processors of this x86-64 level has; 0: nothing is known of its vectors. */
static inline int functions_width(int level) { return level == 4 ? 8 : level == 3 ? 4 : level == 2 ? 2 : 0; }
/* Not open yet. The width is that of vectors that code will use: 8, 4 or, with FUNCTIONS_PLAIN, 2. */
void functions_init(Functions *f, FunctionFamily family, int width);
/* Opens the library if it isn't: $ATLED_SLEEF, or libsleef.so.3. False: it can't be opened, or isn't complete; then
 * `why` says so, and what to do. Not to be called by two threads at once. */
bool functions_open(Functions *f, char *why, size_t n);
/* Computes again, by the C library, which of the n results r of SLEEF's function of x (and y) are lost. */
void functions_mend(FunctionName name, const double *x, const double *y, double *r, int n);
/* Closes the library, when no code that calls its functions is left. */
void functions_close(Functions *f);
/* Which of SLEEF's results may be wrong. */
typedef enum FunctionLost { FUNCTION_NEVER, FUNCTION_INFINITE, FUNCTION_ZEROS } FunctionLost;
FunctionLost functions_lost(FunctionName name);
static inline bool function_is_lost(FunctionLost lost, double result) {
  return lost == FUNCTION_INFINITE ? fabs(result) == INFINITY : lost == FUNCTION_ZEROS && result == 0;
}

/* functions_EXP (f, x) is exp x, and so on. f is open. */
#define WAVE(NAME, libm, member)                                                                                       \
  static inline double functions_##NAME(const Functions *f, double x) { return f->waves(x).member; }
#define FUNCTION1(NAME, libm, sleef, accuracy, lost)                                                                   \
  static inline double functions_##NAME(const Functions *f, double x) {                                                \
    double result = f->of[FN_##NAME].one(x);                                                                           \
    return function_is_lost(FUNCTION_##lost, result) ? libm(x) : result;                                               \
  }
#define FUNCTION2(NAME, libm, sleef, accuracy, lost)                                                                   \
  static inline double functions_##NAME(const Functions *f, double x, double y) {                                      \
    double result = f->of[FN_##NAME].two(x, y);                                                                        \
    return function_is_lost(FUNCTION_##lost, result) ? libm(x, y) : result;                                            \
  }
#include "support/functions.def"
#endif
