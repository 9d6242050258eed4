/* SPDX-License-Identifier: MIT */
/* kernel_bodies.h for one number: the functions of kernels.c and of kernels_plain.c, which say what FUSING (attributes
 * of functions), MUL_ADD and RESIDUAL are. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline double of_bits(uint64_t b) {
  double x;
  memcpy(&x, &b, sizeof x);
  return x;
}
static inline uint64_t bits_of(double x) {
  uint64_t b;
  memcpy(&b, &x, sizeof b);
  return b;
}

/* 2^n for a whole n between -1022 and 1023. */
static inline double power_of_two(double n) { return of_bits((uint64_t)((int64_t)n + 1023) << 52); }

static inline double scale(double a, double n) {
  if (fabs(n) < 1000) return a * power_of_two(n);
  double half = (double)(int64_t)(n / 2);
  return a * power_of_two(half) * power_of_two(n - half);
}

#define KERNEL    FUSING static inline
#define NUMBER    double
#define CONDITION bool
#define CONTEXT
#define PASS
#define CONSTANT(v)                (v)
#define BITS(b)                    of_bits(b)
#define ADD(a, b)                  ((a) + (b))
#define SUB(a, b)                  ((a) - (b))
#define MUL(a, b)                  ((a) * (b))
#define DIV(a, b)                  ((a) / (b))
#define LESS(a, b)                 ((a) < (b))
#define EQUAL(a, b)                ((a) == (b))
#define CHOOSE(condition, yes, no) ((condition) ? (yes) : (no))
#define LOWER(a, b)                ((a) < (b) ? (a) : (b))
#define HIGHER(a, b)               ((a) > (b) ? (a) : (b))
#define NEGATIVE(a)                (-(a))
#define MAGNITUDE(a)               fabs(a)
#define SIGN_OF(a)                 of_bits(bits_of(a) & (uint64_t)1 << 63)
#define WITH_SIGN(a, sign)         of_bits(bits_of(a) | bits_of(sign))
#define LONG_ADD(a, b)             of_bits(bits_of(a) + bits_of(b))
#define LONG_SUB(a, b)             of_bits(bits_of(a) - bits_of(b))
#define LONG_OR(a, b)              of_bits(bits_of(a) | bits_of(b))
#define UP_52(a)                   of_bits(bits_of(a) << 52)
#define DOWN_52(a)                 of_bits(bits_of(a) >> 52)
#define LEADING(a)                 of_bits(bits_of(a) & ~(uint64_t)0 << 27)
#define SCALE(a, n)                scale(a, n)
#include "support/kernel_bodies.h"
