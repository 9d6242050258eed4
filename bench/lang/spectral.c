/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static double a(int64_t i, int64_t j) { return 1.0 / (double)((i + j) * (i + j + 1) / 2 + i + 1); }

static void times(int n, const double *restrict u, double *restrict r) {
  for (int i = 0; i < n; i++) {
    double s = 0;
    for (int j = 0; j < n; j++) s += a(i, j) * u[j];
    r[i] = s;
  }
}

static void times_transposed(int n, const double *restrict u, double *restrict r) {
  for (int i = 0; i < n; i++) {
    double s = 0;
    for (int j = 0; j < n; j++) s += a(j, i) * u[j];
    r[i] = s;
  }
}

static double spectral(int n) {
  double *u = malloc(sizeof(double) * n), *v = malloc(sizeof(double) * n), *w = malloc(sizeof(double) * n);
  for (int i = 0; i < n; i++) u[i] = 1;
  for (int k = 0; k < 10; k++) {
    times(n, u, w);
    times_transposed(n, w, v);
    times(n, v, w);
    times_transposed(n, w, u);
  }
  double uv = 0, vv = 0;
  for (int i = 0; i < n; i++) {
    uv += u[i] * v[i];
    vv += v[i] * v[i];
  }
  free(u);
  free(v);
  free(w);
  return sqrt(uv / vv);
}

int main(int argc, char **argv) {
  (void)argv;
  double r = 0;
  BENCH(r = spectral(1499 + argc));
  printf("result: %.17g\n", r);
}
