/* SPDX-License-Identifier: MIT */
/* newton.atl by hand: the loop keeps the points it came through, and goes back over them. */
#include "bench.h"

enum { LONGEST = 1000 };
#ifdef PERTURBED
static const double more = 0.1;
#else
static const double more = 0;
#endif
typedef struct Problem {
  int n;
  double value;
  double *a, *b, *da, *db;
} Problem;

static double root(double a, double b) {
  double y = 1, step = 1;
  while (fabs(step) > 1e-12) {
    step = (y * y * y + more * y * y + a * y - b) / (3 * y * y + 2 * more * y + a);
    y -= step;
  }
  return y;
}

static void primal(void *problem) {
  Problem *p = problem;
  double s = 0;
  for (int i = 0; i < p->n; i++) s += root(p->a[i], p->b[i]);
  p->value = s;
}

static double root_with_derivatives(double a, double b, double *da, double *db) {
  double kept[LONGEST], y = 1, step = 1, d = 1, by_a = 0, by_b = 0;
  int n = 0;
  while (fabs(step) > 1e-12 && n < LONGEST) {
    kept[n++] = y;
    step = (y * y * y + more * y * y + a * y - b) / (3 * y * y + 2 * more * y + a);
    y -= step;
  }
  while (n > 0) {
    double x = kept[--n], slope = 3 * x * x + 2 * more * x + a;
    double s = (x * x * x + more * x * x + a * x - b) / slope;
    by_a -= d * (x - s) / slope;
    by_b += d / slope;
    d *= (6 * x + 2 * more) * s / slope;
  }
  *da = by_a, *db = by_b;
  return y;
}

static void gradient(void *problem) {
  Problem *p = problem;
  double s = 0;
  for (int i = 0; i < p->n; i++) s += root_with_derivatives(p->a[i], p->b[i], &p->da[i], &p->db[i]);
  p->value = s;
}

int main(int argc, char **argv) {
  Problem p = {.n = argument(argc, argv, 2, 100000)};
  int n = p.n;
  p.a = floats(n), p.b = floats(n), p.da = floats(n), p.db = floats(n);
  for (int i = 0; i < n; i++) p.a[i] = 1 + 0.5 * sin(i), p.b[i] = 2 + cos(3.0 * i);
  gradient(&p);
  figure("sum", p.value);
  figure("a.1", along_ones(p.da, n));
  figure("b.1", along_ones(p.db, n));
  figure("a.c", along_cosines(p.da, n));
  figure("b.c", along_cosines(p.db, n));
  finish(argv, primal, gradient, &p);
}
