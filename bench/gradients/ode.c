/* SPDX-License-Identifier: MIT */
/* ode.atl by hand: the states are kept, the slopes within a step are computed again on the way back. */
#include "bench.h"

enum { WIDEST = 64 };
typedef struct Problem {
  int n, steps; /* n: at most WIDEST */
  double h, value;
  double *x, *y, *dx; /* n, (steps + 1) × n, n */
} Problem;

static void slope(int n, const double *restrict x, const double *restrict y, double *restrict k) {
  k[0] = x[0] * y[n - 1] - 0.5 * x[0] * y[0] - 0.1 * y[1 % n];
  for (int i = 1; i < n - 1; i++) k[i] = x[i] * y[i - 1] - 0.5 * x[i] * y[i] - 0.1 * y[i + 1];
  k[n - 1] = x[n - 1] * y[n - 2] - 0.5 * x[n - 1] * y[n - 1] - 0.1 * y[0];
#ifdef PERTURBED
  for (int i = 0; i < n - 2; i++) k[i] += 0.01 * y[i + 2];
  k[n - 2] += 0.01 * y[0], k[n - 1] += 0.01 * y[1];
#endif
}

/* Adds to dx and dy what the slope's derivatives dk are worth. */
static void slope_backward(int n, const double *restrict x, const double *restrict y, const double *restrict dk,
                           double *restrict dx, double *restrict dy) {
  for (int i = 0; i < n; i++) {
    int before = i ? i - 1 : n - 1, after = i < n - 1 ? i + 1 : 0;
    dx[i] += dk[i] * (y[before] - 0.5 * y[i]);
    dy[i] += dk[before] * -0.1 - dk[i] * 0.5 * x[i] + dk[after] * x[after];
  }
#ifdef PERTURBED
  for (int i = 2; i < n; i++) dy[i] += 0.01 * dk[i - 2];
  dy[0] += 0.01 * dk[n - 2], dy[1] += 0.01 * dk[n - 1];
#endif
}

static void add(int n, const double *y, double s, const double *k, double *restrict out) {
  for (int i = 0; i < n; i++) out[i] = y[i] + s * k[i];
}

static void step(const Problem *p, const double *y, double *restrict next) {
  int n = p->n;
  if (n < 1) return;
  double k1[WIDEST], k2[WIDEST], k3[WIDEST], k4[WIDEST], at[WIDEST];
  slope(n, p->x, y, k1);
  add(n, y, 0.5 * p->h, k1, at);
  slope(n, p->x, at, k2);
  add(n, y, 0.5 * p->h, k2, at);
  slope(n, p->x, at, k3);
  add(n, y, p->h, k3, at);
  slope(n, p->x, at, k4);
  for (int i = 0; i < n; i++) next[i] = y[i] + p->h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
}

/* dy: by the next state on entry, by y at the end. */
static void step_backward(const Problem *p, const double *y, double *restrict dy) {
  int n = p->n;
  double h = p->h, k[WIDEST], y2[WIDEST], y3[WIDEST], y4[WIDEST], dk[WIDEST], da[WIDEST], sum[WIDEST];
  slope(n, p->x, y, k);
  add(n, y, 0.5 * h, k, y2);
  slope(n, p->x, y2, k);
  add(n, y, 0.5 * h, k, y3);
  slope(n, p->x, y3, k);
  add(n, y, h, k, y4);
  for (int i = 0; i < n; i++) dk[i] = h / 6 * dy[i], da[i] = 0, sum[i] = dy[i];
  slope_backward(n, p->x, y4, dk, p->dx, da);
  for (int i = 0; i < n; i++) dk[i] = h / 3 * dy[i] + h * da[i], sum[i] += da[i], da[i] = 0;
  slope_backward(n, p->x, y3, dk, p->dx, da);
  for (int i = 0; i < n; i++) dk[i] = h / 3 * dy[i] + 0.5 * h * da[i], sum[i] += da[i], da[i] = 0;
  slope_backward(n, p->x, y2, dk, p->dx, da);
  for (int i = 0; i < n; i++) dk[i] = h / 6 * dy[i] + 0.5 * h * da[i], sum[i] += da[i], da[i] = 0;
  slope_backward(n, p->x, y, dk, p->dx, da);
  for (int i = 0; i < n; i++) dy[i] = sum[i] + da[i];
}

static void primal(void *problem) {
  Problem *p = problem;
  int n = p->n;
  double y[2][WIDEST];
  for (int i = 0; i < n; i++) y[0][i] = 1.0 / (i + 1);
  for (int k = 0; k < p->steps; k++) step(p, y[k % 2], y[(k + 1) % 2]);
  p->value = y[p->steps % 2][n - 1];
}

static void gradient(void *problem) {
  Problem *p = problem;
  int n = p->n;
  double dy[WIDEST];
  for (int i = 0; i < n; i++) p->y[i] = 1.0 / (i + 1), p->dx[i] = 0, dy[i] = i == n - 1;
  for (long k = 0; k < p->steps; k++) step(p, p->y + k * n, p->y + (k + 1) * n);
  p->value = p->y[(long)p->steps * n + n - 1];
  for (long k = p->steps - 1; k >= 0; k--) step_backward(p, p->y + k * n, dy);
}

int main(int argc, char **argv) {
  Problem p = {.n = argument(argc, argv, 2, 10), .steps = argument(argc, argv, 3, 10000)};
  p.h = 2.0 / p.steps;
  p.x = floats(p.n), p.dx = floats(p.n), p.y = floats((p.steps + 1L) * p.n);
  for (int i = 0; i < p.n; i++) p.x[i] = 0.5 + 0.4 * sin(3 * i + 1);
  gradient(&p);
  figure("y last", p.value);
  figure("D.1", along_ones(p.dx, p.n));
  figure("D.c", along_cosines(p.dx, p.n));
  figure("x first", p.dx[0]);
  finish(argv, primal, gradient, &p);
}
