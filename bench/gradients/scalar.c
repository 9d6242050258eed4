/* SPDX-License-Identifier: MIT */
/* scalar.atl by hand: of one number the derivative goes along with the value, and nothing is kept. */
#include "bench.h"

#ifdef PERTURBED
static const double more = 0.25;
#else
static const double more = 0;
#endif
typedef struct Problem {
  long n;
  double x, value, derivative;
} Problem;

static void primal(void *problem) {
  Problem *p = problem;
  double s = 0, power = 1;
  for (long i = 1; i <= p->n; i++) {
    power *= p->x;
    s += power / (double)i + more * power;
  }
  p->value = s;
}

static void gradient(void *problem) {
  Problem *p = problem;
  double s = 0, power = 1, ds = 0, dpower = 0;
  for (long i = 1; i <= p->n; i++) {
    dpower = dpower * p->x + power;
    power *= p->x;
    s += power / (double)i + more * power;
    ds += dpower / (double)i + more * dpower;
  }
  p->value = s, p->derivative = ds;
}

int main(int argc, char **argv) {
  Problem p = {.n = argument(argc, argv, 2, 10000000), .x = 0.5};
  gradient(&p);
  figure("value", p.value);
  figure("derivative", p.derivative);
  finish(argv, primal, gradient, &p);
}
