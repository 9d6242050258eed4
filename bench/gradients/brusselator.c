/* SPDX-License-Identifier: MIT */
/* brusselator.atl by hand: all states are kept, and the derivatives of a state are gathered from those of the next one. */
#include "bench.h"

typedef struct Problem {
  int n, steps;
  double value;
  double *u, *v, *du, *dv; /* (steps + 1) × n × n; n × n */
  double *eu, *ev;         /* n × n: the other one of two */
} Problem;

static const double dt = 1e-3, diffusion = 2;

static inline double laplacian(const double *a, long n, long up, long i, long down, long left, long j, long right) {
  return a[up * n + j] + a[down * n + j] + a[i * n + left] + a[i * n + right] - 4 * a[i * n + j];
}

/* The term more of the changed program. */
static inline double damping(double a) {
#ifdef PERTURBED
  return 0.01 * a * a * a;
#else
  return 0 * a;
#endif
}

static inline double damping_slope(double a) {
#ifdef PERTURBED
  return 0.03 * a * a;
#else
  return 0 * a;
#endif
}

static inline void cell(const Problem *p, const double *u, const double *v, double *restrict nu, double *restrict nv,
                        long i, long j, long left, long right) {
  long n = p->n, up = i ? i - 1 : n - 1, down = i < n - 1 ? i + 1 : 0;
  double a = u[i * n + j], b = v[i * n + j];
  nu[i * n + j] =
      a + dt * (1 + a * a * b - 4.4 * a - damping(a) + diffusion * laplacian(u, n, up, i, down, left, j, right));
  nv[i * n + j] = b + dt * (3.4 * a - a * a * b + diffusion * laplacian(v, n, up, i, down, left, j, right));
}

static void step(const Problem *p, const double *u, const double *v, double *restrict nu, double *restrict nv) {
  long n = p->n;
  for (long i = 0; i < n; i++) {
    cell(p, u, v, nu, nv, i, 0, n - 1, 1 % n);
    for (long j = 1; j < n - 1; j++) cell(p, u, v, nu, nv, i, j, j - 1, j + 1);
    cell(p, u, v, nu, nv, i, n - 1, n - 2, 0);
  }
}

/* The Laplacian is its own transpose. */
static inline void cell_backward(const Problem *p, const double *u, const double *v, const double *du, const double *dv,
                                 double *restrict eu, double *restrict ev, long i, long j, long left, long right) {
  long n = p->n, up = i ? i - 1 : n - 1, down = i < n - 1 ? i + 1 : 0, k = i * n + j;
  double a = u[k], b = v[k], x = du[k], y = dv[k];
  eu[k] = x + dt * (x * (2 * a * b - 4.4 - damping_slope(a)) + y * (3.4 - 2 * a * b) +
                    diffusion * laplacian(du, n, up, i, down, left, j, right));
  ev[k] = y + dt * ((x - y) * a * a + diffusion * laplacian(dv, n, up, i, down, left, j, right));
}

static void step_backward(const Problem *p, const double *u, const double *v, const double *du, const double *dv,
                          double *restrict eu, double *restrict ev) {
  long n = p->n;
  for (long i = 0; i < n; i++) {
    cell_backward(p, u, v, du, dv, eu, ev, i, 0, n - 1, 1 % n);
    for (long j = 1; j < n - 1; j++) cell_backward(p, u, v, du, dv, eu, ev, i, j, j - 1, j + 1);
    cell_backward(p, u, v, du, dv, eu, ev, i, n - 1, n - 2, 0);
  }
}

static double weighted(const Problem *p, const double *u, const double *v) {
  double s = 0;
  int n = p->n;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) s += cos(i + 2 * j) * u[i * n + j] + 0.5 * v[i * n + j];
  return s / (n * n);
}

static void primal(void *problem) {
  Problem *p = problem;
  long m = (long)p->n * p->n;
  for (int k = 0; k < p->steps; k++) { /* in turns between two states; the first one stays */
    long from = k == 0 ? 0 : 1 + k % 2, to = 1 + (k + 1) % 2;
    step(p, p->u + from * m, p->v + from * m, p->u + to * m, p->v + to * m);
  }
  long last = 1 + p->steps % 2;
  p->value = weighted(p, p->u + last * m, p->v + last * m);
}

static void gradient(void *problem) {
  Problem *p = problem;
  long n = p->n, m = n * n;
  for (long k = 0; k < p->steps; k++) step(p, p->u + k * m, p->v + k * m, p->u + (k + 1) * m, p->v + (k + 1) * m);
  p->value = weighted(p, p->u + p->steps * m, p->v + p->steps * m);
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      p->du[i * n + j] = cos((double)(i + 2 * j)) / (double)m, p->dv[i * n + j] = 0.5 / (double)m;
  for (long k = p->steps - 1; k >= 0; k--) {
    step_backward(p, p->u + k * m, p->v + k * m, p->du, p->dv, p->eu, p->ev);
    double *u = p->du, *v = p->dv;
    p->du = p->eu, p->dv = p->ev, p->eu = u, p->ev = v;
  }
}

int main(int argc, char **argv) {
  Problem p = {.n = argument(argc, argv, 2, 32), .steps = argument(argc, argv, 3, 1000)};
  long n = p.n, m = n * n;
  p.u = floats((p.steps + 3) * m), p.v = floats((p.steps + 3) * m);
  p.du = floats(m), p.dv = floats(m), p.eu = floats(m), p.ev = floats(m);
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++) {
      p.u[i * n + j] = 1 + 0.3 * sin((double)(7 * i + j));
      p.v[i * n + j] = 3 + 0.2 * cos((double)(i + 5 * j));
    }
  gradient(&p);
  figure("sum", p.value);
  figure("u.1", along_ones(p.du, m));
  figure("v.1", along_ones(p.dv, m));
  figure("u.c", along_cosines(p.du, m));
  figure("v.c", along_cosines(p.dv, m));
  figure("u first", p.du[0]);
  finish(argv, primal, gradient, &p);
}
