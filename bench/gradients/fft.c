/* SPDX-License-Identifier: MIT */
/* fft.atl by hand: recursive with strides, the factors of each size from a table; backwards, the butterflies transposed. */
#include "bench.h"

typedef struct Problem {
  int n;
  double value;
  double *re, *im, *yr, *yi, *dr, *di, *tr, *ti; /* points, spectrum, derivatives, room */
  double *cosine, *sine;                         /* of all factors of n */
} Problem;

/* y: the transform of n points x, `stride` apart. */
static void fft(const Problem *p, int n, int stride, const double *xr, const double *xi, double *restrict yr,
                double *restrict yi) {
  if (n == 1) {
    yr[0] = xr[0], yi[0] = xi[0];
    return;
  }
  int h = n / 2;
  fft(p, h, 2 * stride, xr, xi, yr, yi);
  fft(p, h, 2 * stride, xr + stride, xi + stride, yr + h, yi + h);
  for (int i = 0; i < h; i++) {
    double c = p->cosine[(long)i * stride], s = p->sine[(long)i * stride];
    double re = c * yr[h + i] - s * yi[h + i], im = c * yi[h + i] + s * yr[h + i];
    yr[h + i] = yr[i] - re, yi[h + i] = yi[i] - im;
    yr[i] += re, yi[i] += im;
  }
}

/* d: derivatives by the transform, which are overwritten; out: by the points. */
static void backward(const Problem *p, int n, int stride, double *restrict dr, double *restrict di,
                     double *restrict outr, double *restrict outi) {
  if (n == 1) {
    outr[0] = dr[0], outi[0] = di[0];
    return;
  }
  int h = n / 2;
  for (int i = 0; i < h; i++) {
    double c = p->cosine[(long)i * stride], s = p->sine[(long)i * stride];
    double re = dr[i] - dr[h + i], im = di[i] - di[h + i];
    dr[i] += dr[h + i], di[i] += di[h + i];
    dr[h + i] = c * re + s * im, di[h + i] = c * im - s * re;
  }
  backward(p, h, 2 * stride, dr, di, outr, outi);
  backward(p, h, 2 * stride, dr + h, di + h, outr + stride, outi + stride);
}

static void factors(const Problem *p) {
  for (int i = 0; i < p->n / 2; i++) {
    p->cosine[i] = cos(2 * M_PI * i / p->n);
    p->sine[i] = -sin(2 * M_PI * i / p->n);
  }
}

static double power(const Problem *p) {
  double s = 0;
  for (int k = 0; k < p->n; k++) s += (p->yr[k] * p->yr[k] + p->yi[k] * p->yi[k]) / (k + 1);
#ifdef PERTURBED
  for (int k = 0; k < p->n; k++) s += 0.1 * p->yr[k] * p->yi[k] / (k + 1);
#endif
  return s / p->n;
}

static void primal(void *problem) {
  Problem *p = problem;
  factors(p);
  fft(p, p->n, 1, p->re, p->im, p->yr, p->yi);
  p->value = power(p);
}

static void gradient(void *problem) {
  Problem *p = problem;
  primal(p);
  for (int k = 0; k < p->n; k++) {
    double w = 2.0 / ((k + 1.0) * p->n);
    p->tr[k] = w * p->yr[k], p->ti[k] = w * p->yi[k];
#ifdef PERTURBED
    p->tr[k] += 0.05 * w * p->yi[k], p->ti[k] += 0.05 * w * p->yr[k];
#endif
  }
  backward(p, p->n, 1, p->tr, p->ti, p->dr, p->di);
}

int main(int argc, char **argv) {
  Problem p = {.n = argument(argc, argv, 2, 16384)};
  int n = p.n;
  p.re = floats(n), p.im = floats(n), p.yr = floats(n), p.yi = floats(n), p.dr = floats(n), p.di = floats(n);
  p.tr = floats(n), p.ti = floats(n), p.cosine = floats(n), p.sine = floats(n);
  for (long i = 0; i < n; i++) {
    p.re[i] = sin(0.3 * (double)i) + 0.1 * cos((double)(i * i % 97));
    p.im[i] = 0.2 * cos((double)(i % 1013));
  }
  gradient(&p);
  figure("power", p.value);
  figure("re.1", along_ones(p.dr, n));
  figure("im.1", along_ones(p.di, n));
  figure("re.c", along_cosines(p.dr, n));
  figure("im.c", along_cosines(p.di, n));
  figure("re first", p.dr[0]);
  finish(argv, primal, gradient, &p);
}
