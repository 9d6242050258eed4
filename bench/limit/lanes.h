/* SPDX-License-Identifier: MIT */
/* Vectors of eight numbers for the programs of this folder, in GCC's vector types: any processor runs them, in as many
 * registers as it needs. Functions are exact to a few ulps on the ranges named; products and sums are fused
 * (-ffp-contract=fast). */
#include "../gradients/bench.h"
#include <stdint.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

enum { LANES = 8 };
typedef double V __attribute__((vector_size(64)));
typedef double Unaligned __attribute__((vector_size(64), aligned(8)));
typedef int64_t I __attribute__((vector_size(64)));

#define INLINE static inline __attribute__((always_inline))

INLINE V splat(double x) { return x - (V){0}; }
INLINE V load(const double *p) { return *(const Unaligned *)p; }
INLINE void store(double *p, V x) { *(Unaligned *)p = x; }
INLINE V blend(I mask, V a, V b) { return (V)((mask & (I)a) | (~mask & (I)b)); }
INLINE V larger(V a, V b) { return blend(a > b, a, b); }

/* Zeroed, aligned to a vector. */
static inline double *vectors(long n) {
  size_t size = sizeof(V) * (size_t)(n / LANES + 1);
  double *p = aligned_alloc(sizeof(V), size);
  if (!p) exit(1);
  return memset(p, 0, size);
}

static inline int rounded_up(int n) { return (n + LANES - 1) / LANES * LANES; }

INLINE double sum_of(V x) {
  double s = 0;
  for (int i = 0; i < LANES; i++) s += x[i];
  return s;
}

INLINE V pairs(V a, V b) {
  return __builtin_shuffle(a, b, (I){0, 8, 2, 10, 4, 12, 6, 14}) +
         __builtin_shuffle(a, b, (I){1, 9, 3, 11, 5, 13, 7, 15});
}
INLINE V fours(V a, V b) {
  return __builtin_shuffle(a, b, (I){0, 1, 8, 9, 4, 5, 12, 13}) +
         __builtin_shuffle(a, b, (I){2, 3, 10, 11, 6, 7, 14, 15});
}
INLINE V halves(V a, V b) {
  return __builtin_shuffle(a, b, (I){0, 1, 2, 3, 8, 9, 10, 11}) +
         __builtin_shuffle(a, b, (I){4, 5, 6, 7, 12, 13, 14, 15});
}
/* The sums of eight vectors, as a vector. */
INLINE V sums_of(const V v[LANES]) {
  return halves(fours(pairs(v[0], v[1]), pairs(v[2], v[3])), fours(pairs(v[4], v[5]), pairs(v[6], v[7])));
}

/* exp x for x up to 709; below -708 that of -708. x = n log 2 + r; Estrin's scheme for r. */
INLINE V exp_of(V x) {
  x = larger(x, splat(-708));
  V shifted = x * 0x1.71547652b82fep+0 + 0x1.8p52, n = shifted - 0x1.8p52;
  V r = x - n * 0x1.62e42fefa39efp-1 - n * 0x1.abc9e3b39803fp-56, r2 = r * r, r4 = r2 * r2;
  V low = (1 + r) + r2 * (1.0 / 2 + r * (1.0 / 6)),
    high = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
  V top = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800)) + r4 * (1.0 / 479001600);
  V y = low + r4 * (high + r4 * top);
  return (V)((I)y + ((I)shifted << 52));
}

/* log x for normal x > 0, by the series of atanh. */
INLINE V log_of(V x) {
  I bits = (I)x - 0x3fe6a09e667f3bcd, exponent = bits >> 52;
  V m = (V)((I)x - (exponent << 52)), s = (m - 1) / (m + 1), q = s * s, t = splat(1.0 / 21);
  for (int k = 19; k >= 3; k -= 2) t = t * q + 1.0 / k;
  V n = __builtin_convertvector(exponent, V);
  return n * 0x1.62e42fefa39efp-1 + (2 * s + (2 * s * q) * t + n * 0x1.abc9e3b39803fp-56);
}

INLINE V sigmoid_of(V x) { return 1 / (1 + exp_of(-larger(x, splat(-700)))); }
/* To an absolute error of an ulp of 1. */
INLINE V tanh_of(V x) { return 1 - 2 / (1 + exp_of(2 * blend(x > 300, splat(300), x))); }

/* sin and cos for |x| up to 1e5: x = n π/2 + r, Taylor's series of r. */
INLINE void sin_and_cos_of(V x, V *sine, V *cosine) {
  V shifted = x * 0x1.45f306dc9c883p-1 + 0x1.8p52, n = shifted - 0x1.8p52;
  V r = x - n * 0x1.921fb54442d18p+0 - n * 0x1.1a62633145c07p-54, q = r * r;
  V s = splat(1.0 / 355687428096000), c = splat(1.0 / 20922789888000);
  static const double of_sine[] = {-1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880,
                                   -1.0 / 5040,          1.0 / 120,        -1.0 / 6};
  static const double of_cosine[] = {-1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320,
                                     -1.0 / 720,         1.0 / 24,        -1.0 / 2};
  for (int k = 0; k < 7; k++) s = s * q + of_sine[k], c = c * q + of_cosine[k];
  s = r + r * q * s, c = 1 + q * c;
  I quadrant = (I)shifted, swapped = -(quadrant & 1);
  V a = blend(swapped, c, s), b = blend(swapped, s, c);
  *sine = (V)((I)a ^ (quadrant & 2) << 62), *cosine = (V)((I)b ^ ((quadrant + 1) & 2) << 62);
}

INLINE V gather(const double *p, I at) {
#ifdef __AVX512F__
  return (V)_mm512_i64gather_pd((__m512i)at, p, 8);
#else
  V x;
  for (int i = 0; i < LANES; i++) x[i] = p[at[i]];
  return x;
#endif
}

/* Rows become columns. */
INLINE void transpose(V v[LANES]) {
  V a[LANES], b[LANES];
  const I low = {0, 8, 2, 10, 4, 12, 6, 14}, high = {1, 9, 3, 11, 5, 13, 7, 15};
  const I low2 = {0, 1, 8, 9, 4, 5, 12, 13}, high2 = {2, 3, 10, 11, 6, 7, 14, 15};
  const I low4 = {0, 1, 2, 3, 8, 9, 10, 11}, high4 = {4, 5, 6, 7, 12, 13, 14, 15};
  for (int i = 0; i < LANES; i += 2)
    a[i] = __builtin_shuffle(v[i], v[i + 1], low), a[i + 1] = __builtin_shuffle(v[i], v[i + 1], high);
  for (int i = 0; i < LANES; i += 4)
    for (int k = 0; k < 2; k++)
      b[i + k] = __builtin_shuffle(a[i + k], a[i + k + 2], low2),
            b[i + k + 2] = __builtin_shuffle(a[i + k], a[i + k + 2], high2);
  for (int k = 0; k < 4; k++)
    v[k] = __builtin_shuffle(b[k], b[k + 4], low4), v[k + 4] = __builtin_shuffle(b[k], b[k + 4], high4);
}
