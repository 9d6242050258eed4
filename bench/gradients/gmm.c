/* SPDX-License-Identifier: MIT */
/* gmm.atl by hand. For each point the residuals z = Q (x - mu) of all components are kept until their weights are known. */
#include "bench.h"

typedef struct Problem {
  int d, k, n, m;
  double gamma, value;
  double *alpha, *mu, *icf, *x; /* given */
  double *dalpha, *dmu, *dicf;  /* wanted */
  double *diagonal, *sums;      /* exp q, and the sums of q: k × d, k */
  double *beta, *y, *z;         /* of one point: k, k × d, k × d */
} Problem;

static void prepare(Problem *p) {
  int d = p->d, width = d * (d + 1) / 2;
  for (int c = 0; c < p->k; c++) {
    p->sums[c] = 0;
    for (int j = 0; j < d; j++) {
      p->diagonal[c * d + j] = exp(p->icf[c * width + j]);
      p->sums[c] += p->icf[c * width + j];
    }
  }
}

static void residual(const Problem *p, int c, const double *x, double *restrict y, double *restrict z) {
  int d = p->d, width = d * (d + 1) / 2;
  const double *mu = p->mu + c * d, *l = p->icf + c * width + d, *e = p->diagonal + c * d;
  for (int j = 0; j < d; j++) {
    y[j] = x[j] - mu[j];
    z[j] = e[j] * y[j];
  }
  for (int j = 0; j < d; j++)
    for (int i = j + 1; i < d; i++) z[i] += *l++ * y[j];
}

static double logsumexp(const double *x, int n) {
  double m = x[0], s = 0;
  for (int i = 1; i < n; i++) m = x[i] > m ? x[i] : m;
  for (int i = 0; i < n; i++) s += exp(x[i] - m);
  return m + log(s);
}

static double betas(Problem *p, const double *x) {
  int d = p->d;
  for (int c = 0; c < p->k; c++) {
    double *z = p->z + c * d, s = 0;
    residual(p, c, x, p->y + c * d, z);
    for (int j = 0; j < d; j++) s += z[j] * z[j];
    p->beta[c] = p->alpha[c] + p->sums[c] - 0.5 * s;
  }
  return logsumexp(p->beta, p->k);
}

static double constants(const Problem *p) {
  int d = p->d;
  double n = d + p->m + 1, c = n * d * (log(p->gamma) - 0.5 * log(2)), a = 0.5 * n;
  double g = 0.25 * d * (d - 1) * log(M_PI);
  for (int j = 0; j < d; j++) g += lgamma(a - 0.5 * j);
  return -0.5 * p->n * d * log(2 * M_PI) - p->k * (c - g);
}

static double prior(const Problem *p) {
  int d = p->d, width = d * (d + 1) / 2;
  double total = 0;
  for (int c = 0; c < p->k; c++) {
    double s = 0;
    for (int j = 0; j < d; j++) s += p->diagonal[c * d + j] * p->diagonal[c * d + j];
    for (int j = d; j < width; j++) s += p->icf[c * width + j] * p->icf[c * width + j];
    total += 0.5 * p->gamma * p->gamma * s - p->m * p->sums[c];
#ifdef PERTURBED
    for (int j = 0; j < d; j++) total -= 0.01 * p->mu[c * d + j] * p->mu[c * d + j];
#endif
  }
  return total;
}

static void primal(void *problem) {
  Problem *p = problem;
  prepare(p);
  double f = constants(p) + prior(p) - p->n * logsumexp(p->alpha, p->k);
  for (int i = 0; i < p->n; i++) f += betas(p, p->x + (long)i * p->d);
  p->value = f;
}

/* Adds what a component gets from one point, of whose likelihood it has the share w. */
static void add_component(const Problem *p, int c, double w) {
  int d = p->d, width = d * (d + 1) / 2;
  const double *y = p->y + c * d, *z = p->z + c * d, *e = p->diagonal + c * d, *l = p->icf + c * width + d;
  double *restrict dmu = p->dmu + c * d, *restrict dq = p->dicf + c * width, *restrict dl = dq + d;
  p->dalpha[c] += w;
  for (int j = 0; j < d; j++) {
    dq[j] += w * (1 - z[j] * e[j] * y[j]);
    dmu[j] += w * e[j] * z[j];
  }
  for (int j = 0; j < d; j++) {
    double s = 0, wy = w * y[j];
    for (int i = j + 1; i < d; i++) {
      *dl++ -= wy * z[i];
      s += *l++ * z[i];
    }
    dmu[j] += w * s;
  }
}

static void add_prior(const Problem *p) {
  int d = p->d, width = d * (d + 1) / 2;
  double all = logsumexp(p->alpha, p->k), square = p->gamma * p->gamma;
  for (int c = 0; c < p->k; c++) {
    double *dq = p->dicf + c * width;
    p->dalpha[c] -= p->n * exp(p->alpha[c] - all);
    for (int j = 0; j < d; j++) dq[j] += square * p->diagonal[c * d + j] * p->diagonal[c * d + j] - p->m;
    for (int j = d; j < width; j++) dq[j] += square * p->icf[c * width + j];
#ifdef PERTURBED
    for (int j = 0; j < d; j++) p->dmu[c * d + j] -= 0.02 * p->mu[c * d + j];
#endif
  }
}

static void gradient(void *problem) {
  Problem *p = problem;
  int d = p->d, k = p->k, width = d * (d + 1) / 2;
  memset(p->dalpha, 0, sizeof(double) * (size_t)k);
  memset(p->dmu, 0, sizeof(double) * (size_t)(k * d));
  memset(p->dicf, 0, sizeof(double) * (size_t)(k * width));
  prepare(p);
  double f = constants(p) + prior(p) - p->n * logsumexp(p->alpha, k);
  for (int i = 0; i < p->n; i++) {
    double all = betas(p, p->x + (long)i * d);
    f += all;
    for (int c = 0; c < k; c++) add_component(p, c, exp(p->beta[c] - all));
  }
  add_prior(p);
  p->value = f;
}

int main(int argc, char **argv) {
  FILE *f = open_data(argc > 2 ? argv[2] : "../data/gmm_d2_K5.txt");
  Problem p = {0};
  p.d = size_of(f), p.k = size_of(f), p.n = size_of(f);
  int d = p.d, k = p.k, width = d * (d + 1) / 2;
  p.alpha = numbers_of(f, k), p.mu = numbers_of(f, k * d), p.icf = numbers_of(f, k * width);
  p.x = numbers_of(f, (long)p.n * d);
  read_numbers(f, &p.gamma, 1);
  p.m = size_of(f);
  p.dalpha = floats(k), p.dmu = floats(k * d), p.dicf = floats(k * width);
  p.diagonal = floats(k * d), p.sums = floats(k), p.beta = floats(k), p.y = floats(k * d), p.z = floats(k * d);
  gradient(&p);
  figure("F", p.value);
  figure("D.1", along_ones(p.dalpha, k) + along_ones(p.dmu, k * d) + along_ones(p.dicf, k * width));
  figure("D.c", along_cosines(p.dalpha, k) + along_cosines(p.dmu, k * d) + along_cosines(p.dicf, k * width));
  figure("alpha first", p.dalpha[0]);
  figure("mu first", p.dmu[0]);
  figure("icf last", p.dicf[k * width - 1]);
  finish(argv, primal, gradient, &p);
}
