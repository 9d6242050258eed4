/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include <stdbool.h>

static bool escapes(double cr, double ci) {
  double zr = 0, zi = 0, tr = 0, ti = 0;
  for (int k = 0; k < 50 && tr + ti <= 4.0; k++) {
    zi = 2.0 * zr * zi + ci;
    zr = tr - ti + cr;
    tr = zr * zr;
    ti = zi * zi;
  }
  return tr + ti > 4.0;
}

static int mandelbrot(int n) {
  int inside = 0;
  for (int y = 0; y < n; y++) {
    double ci = 2.0 * y / n - 1.0;
    for (int x = 0; x < n; x++) inside += !escapes(2.0 * x / n - 1.5, ci);
  }
  return inside;
}

int main(int argc, char **argv) {
  (void)argv;
  int r = 0;
  volatile int n = 999 + argc;
  BENCH(r = mandelbrot(n));
  printf("result: %d\n", r);
}
