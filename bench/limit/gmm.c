/* SPDX-License-Identifier: MIT */
/* The gradient of gradients/gmm.atl in vectors of eight, forward and backward. Points are taken in chunks. For each
 * component c the residuals z = Q (x - mu) of a chunk are kept until their weights w are known; what is wanted follows from
 *
 *     A[j][i] = Σ w y[j] z[i] (i ≥ j)  and  u = Σ w z:   d below = -A,  d q[j] = Σ w - e[j] A[j][j],  d mu = Qᵀ u.
 *
 * Up to NARROW dimensions the lanes are eight points; above, eight entries of z, and both products go over tiles of the
 * triangle, 16 vectors each (Q and A are squares there; whole blocks of i < j are neither read nor written). */
#include "lanes.h"
#include <stdbool.h>

enum { NARROW = 15, CHUNK = 32, BLOCKS = CHUNK / LANES };
typedef struct Problem {
  int d, k, n, m;
  double gamma, value;
  double *alpha, *mu, *icf, *x; /* given */
  double *dalpha, *dmu, *dicf;  /* wanted */
  int wide;                     /* d rounded up to whole vectors */
  double *e, *base;             /* exp q: k × d; alpha + sum of q */
  double *q, *a, *u, *share;    /* k × d × wide (column j of Q, row j of A), k × wide, Σ w as vectors: k × 8 */
  double *sums;                 /* narrow: A, u as vectors of partial sums */
  double *z, *y, *beta, *mean;  /* of a chunk; mu in rows of `wide` */
} Problem;

static double prepare(Problem *p) {
  int d = p->d, width = d * (d + 1) / 2;
  double n = d + p->m + 1, g = 0.25 * d * (d - 1) * log(M_PI), square = p->gamma * p->gamma, total = 0;
  for (int j = 0; j < d; j++) g += lgamma(0.5 * n - 0.5 * j);
  for (int c = 0; c < p->k; c++) {
    const double *l = p->icf + (long)c * width;
    double s = 0, sum = 0, *e = p->e + c * d;
    for (int j = 0; j < d; j++) e[j] = exp(l[j]), sum += l[j], s += e[j] * e[j];
    for (int j = d; j < width; j++) s += l[j] * l[j];
    p->base[c] = p->alpha[c] + sum;
    total += 0.5 * square * s - p->m * sum;
  }
  return total - 0.5 * p->n * d * log(2 * M_PI) - p->k * (n * d * (log(p->gamma) - 0.5 * log(2)) - g);
}

/* In place of the betas of a chunk, their weights, 0 behind the first `count` points; the sum of these points'
 * log-sum-exps. */
INLINE double weigh(Problem *p, int count) {
  V total = {0};
  for (int v = 0; v < BLOCKS; v++) {
    I place = (I){0, 1, 2, 3, 4, 5, 6, 7} + v * LANES, there = place < count;
    V most = load(p->beta + v * LANES), all = {0};
    for (int c = 1; c < p->k; c++) most = larger(most, load(p->beta + c * CHUNK + v * LANES));
    for (int c = 0; c < p->k; c++) {
      double *beta = p->beta + c * CHUNK + v * LANES;
      V w = exp_of(load(beta) - most);
      w = blend(load(beta) - most < -708, (V){0}, w);
      all += w;
      store(beta, w);
    }
    total += blend(there, most + log_of(all), (V){0});
    V inverse = blend(there, 1 / all, (V){0});
    for (int c = 0; c < p->k; c++) {
      double *beta = p->beta + c * CHUNK + v * LANES;
      V w = load(beta) * inverse;
      store(beta, w);
      store(p->share + c * LANES, load(p->share + c * LANES) + w);
    }
  }
  return sum_of(total);
}

/* Few dimensions: x[j] of the chunk's points in p->y, d × CHUNK. */
INLINE void narrow_residuals(Problem *p, int d, int c) {
  const double *mu = p->mu + c * d, *e = p->e + c * d, *l = p->icf + c * (d * (d + 1) / 2) + d;
  for (int v = 0; v < BLOCKS; v++) {
    V *to = (V *)(p->z + (long)c * d * CHUNK) + v, z[NARROW], square = {0};
    for (int i = 0; i < d; i++) z[i] = e[i] * (load(p->y + i * CHUNK + v * LANES) - mu[i]);
    const double *entry = l;
    for (int j = 0; j < d; j++) {
      V y = load(p->y + j * CHUNK + v * LANES) - mu[j];
      for (int i = j + 1; i < d; i++) z[i] += *entry++ * y;
    }
    for (int i = 0; i < d; i++) to[i * BLOCKS] = z[i], square += z[i] * z[i];
    store(p->beta + c * CHUNK + v * LANES, p->base[c] - 0.5 * square);
  }
}

INLINE void narrow_products(Problem *p, int d, int c) {
  const V *z = (const V *)(p->z + (long)c * d * CHUNK), *w = (const V *)(p->beta + c * CHUNK), *x = (const V *)p->y;
  V *sums = (V *)p->sums + c * (d + d * (d + 1) / 2);
  for (int i = 0; i < d; i++)
    for (int v = 0; v < BLOCKS; v++) sums[i] += w[v] * z[i * BLOCKS + v];
  sums += d;
  for (int j = 0; j < d; j++) {
    V y[BLOCKS];
    for (int v = 0; v < BLOCKS; v++) y[v] = w[v] * (x[j * BLOCKS + v] - p->mu[c * d + j]);
    for (int i = j; i < d; i++, sums++) {
      V s = *sums;
      for (int v = 0; v < BLOCKS; v++) s += y[v] * z[i * BLOCKS + v];
      *sums = s;
    }
  }
}

INLINE double narrow_chunk(Problem *p, int d, const double *x, int count) {
  for (int s = 0; s < CHUNK; s++)
    for (int j = 0; j < d; j++) p->y[j * CHUNK + s] = x[(s < count ? s : 0) * d + j];
  for (int c = 0; c < p->k; c++) narrow_residuals(p, d, c);
  double value = weigh(p, count);
  for (int c = 0; c < p->k; c++) narrow_products(p, d, c);
  return value;
}

INLINE double narrow(Problem *p, int d) {
  double value = 0;
  int entries = d + d * (d + 1) / 2;
  memset(p->sums, 0, sizeof(V) * (size_t)(p->k * entries));
  for (int i = 0; i < p->n; i += CHUNK)
    value += narrow_chunk(p, d, p->x + (long)i * d, p->n - i < CHUNK ? p->n - i : CHUNK);
  for (int c = 0; c < p->k; c++) {
    const V *sums = (const V *)p->sums + c * entries;
    for (int i = 0; i < d; i++) p->u[c * p->wide + i] = sum_of(*sums++);
    for (int j = 0; j < d; j++)
      for (int i = j; i < d; i++) p->a[((long)c * d + j) * p->wide + i] = sum_of(*sums++);
  }
  return value;
}

/* Eight points' entries i to i + 16 of z (8 where `two` is false): Σ over j of column j of Q times y[j]. */
INLINE void residual_tile(const double *q, const double *y, double *z, int wide, int i, bool two, V squares[LANES]) {
  V low[LANES] = {0}, high[LANES] = {0};
  for (int j = 0; j < i + LANES; j++) {
    V a = load(q + j * wide + i), b = two ? load(q + j * wide + i + LANES) : a;
    for (int s = 0; s < LANES; s++) {
      low[s] += a * y[s * wide + j];
      if (two) high[s] += b * y[s * wide + j];
    }
  }
  if (two)
    for (int j = i + LANES; j < i + 2 * LANES; j++) {
      V b = load(q + j * wide + i + LANES);
      for (int s = 0; s < LANES; s++) high[s] += b * y[s * wide + j];
    }
  for (int s = 0; s < LANES; s++) {
    store(z + s * wide + i, low[s]);
    if (two) store(z + s * wide + i + LANES, high[s]);
    squares[s] += low[s] * low[s] + high[s] * high[s];
  }
}

static void wide_residuals(Problem *p, int c, const double *x, int count) {
  int d = p->d, wide = p->wide;
  const double *q = p->q + (long)c * wide * wide, *mu = p->mean + c * wide;
  double *z = p->z + (long)c * CHUNK * wide;
  for (int first = 0; first < count; first += LANES) {
    double y[LANES * wide] __attribute__((aligned(64)));
    V squares[LANES] = {0};
    for (int s = 0; s < LANES; s++)
      for (int j = 0; j < wide; j++)
        y[s * wide + j] = first + s < count && j < d ? x[(long)(first + s) * d + j] - mu[j] : 0;
    int i = 0;
    for (; i + LANES < wide; i += 2 * LANES) residual_tile(q, y, z + first * wide, wide, i, true, squares);
    if (i < wide) residual_tile(q, y, z + first * wide, wide, i, false, squares);
    store(p->beta + c * CHUNK + first, p->base[c] - 0.5 * sums_of(squares));
  }
}

/* Adds to rows j to j + 8 of A the columns i to i + 16 (or 8). */
INLINE void product_tile(double *a, const double *y, const double *z, int wide, int count, int j, int i, bool two) {
  V low[LANES], high[LANES];
  for (int r = 0; r < LANES; r++) {
    low[r] = load(a + (j + r) * wide + i);
    high[r] = two ? load(a + (j + r) * wide + i + LANES) : low[r];
  }
  for (int s = 0; s < count; s++) {
    V from = load(z + s * wide + i), next = two ? load(z + s * wide + i + LANES) : from;
    for (int r = 0; r < LANES; r++) {
      low[r] += from * y[s * wide + j + r];
      if (two) high[r] += next * y[s * wide + j + r];
    }
  }
  for (int r = 0; r < LANES; r++) {
    store(a + (j + r) * wide + i, low[r]);
    if (two) store(a + (j + r) * wide + i + LANES, high[r]);
  }
}

static void wide_products(Problem *p, int c, const double *x, int count) {
  int d = p->d, wide = p->wide;
  const double *w = p->beta + c * CHUNK, *z = p->z + (long)c * CHUNK * wide, *mu = p->mean + c * wide;
  double *a = p->a + (long)c * wide * wide, *u = p->u + c * wide;
  for (int s = 0; s < count; s++)
    for (int j = 0; j < d; j++) p->y[s * wide + j] = w[s] * (x[(long)s * d + j] - mu[j]);
  for (int i = 0; i < wide; i += LANES) {
    V sum = load(u + i);
    for (int s = 0; s < count; s++) sum += w[s] * load(z + s * wide + i);
    store(u + i, sum);
  }
  for (int j = 0; j < wide; j += LANES) {
    int i = j;
    for (; i + LANES < wide; i += 2 * LANES) product_tile(a, p->y, z, wide, count, j, i, true);
    if (i < wide) product_tile(a, p->y, z, wide, count, j, i, false);
  }
}

static void fill_squares(Problem *p) {
  int d = p->d, wide = p->wide;
  for (int c = 0; c < p->k; c++) {
    const double *l = p->icf + (long)c * (d * (d + 1) / 2) + d;
    double *q = p->q + (long)c * wide * wide;
    for (int j = 0; j < d; j++) {
      q[j * wide + j] = p->e[c * d + j];
      for (int i = j + 1; i < d; i++) q[j * wide + i] = *l++;
    }
    memcpy(p->mean + c * wide, p->mu + c * d, sizeof(double) * (size_t)d);
  }
}

static double wide(Problem *p) {
  double value = 0;
  size_t square = (size_t)p->wide * (size_t)p->wide;
  memset(p->a, 0, sizeof(double) * (size_t)p->k * square);
  memset(p->u, 0, sizeof(double) * (size_t)(p->k * p->wide));
  fill_squares(p);
  for (int i = 0; i < p->n; i += CHUNK) {
    int count = p->n - i < CHUNK ? p->n - i : CHUNK;
    const double *x = p->x + (long)i * p->d;
    for (int c = 0; c < p->k; c++) wide_residuals(p, c, x, count);
    value += weigh(p, count);
    for (int c = 0; c < p->k; c++) wide_products(p, c, x, count);
  }
  return value;
}

/* Component c's derivatives from A, u and Σ w, with those of the prior. */
static void finish_component(Problem *p, int c, double all) {
  int d = p->d, rows = d > NARROW ? p->wide : d, width = d * (d + 1) / 2;
  const double *a = p->a + (long)c * rows * p->wide, *u = p->u + c * p->wide, *e = p->e + c * d;
  const double *l = p->icf + (long)c * width + d;
  double *dq = p->dicf + (long)c * width, *dl = dq + d, share = sum_of(load(p->share + c * LANES)),
         square = p->gamma * p->gamma;
  p->dalpha[c] = share - p->n * exp(p->alpha[c] - all);
  for (int j = 0; j < d; j++) {
    double s = e[j] * u[j];
    dq[j] = share - e[j] * a[j * p->wide + j] + square * e[j] * e[j] - p->m;
    for (int i = j + 1; i < d; i++, l++) {
      s += *l * u[i];
      *dl++ = square * *l - a[j * p->wide + i];
    }
    p->dmu[c * d + j] = s;
  }
}

static double log_of_sum(const double *x, int n) {
  double most = x[0], s = 0;
  for (int i = 1; i < n; i++) most = x[i] > most ? x[i] : most;
  for (int i = 0; i < n; i++) s += exp(x[i] - most);
  return most + log(s);
}

static void gradient(void *problem) {
  Problem *p = problem;
  double all = log_of_sum(p->alpha, p->k), value = prepare(p) - p->n * all;
  memset(p->share, 0, sizeof(V) * (size_t)p->k);
  if (p->d > NARROW) value += wide(p);
  else if (p->d == 2) value += narrow(p, 2);
  else if (p->d == 10) value += narrow(p, 10);
  else value += narrow(p, p->d);
  for (int c = 0; c < p->k; c++) finish_component(p, c, all);
  p->value = value;
}

int main(int argc, char **argv) {
  FILE *f = open_data(argc > 2 ? argv[2] : "../data/gmm_d2_K5.txt");
  Problem p = {0};
  p.d = size_of(f), p.k = size_of(f), p.n = size_of(f);
  int d = p.d, k = p.k, width = d * (d + 1) / 2, w = p.wide = rounded_up(d);
  p.alpha = numbers_of(f, k), p.mu = numbers_of(f, k * d), p.icf = numbers_of(f, k * width);
  p.x = numbers_of(f, (long)p.n * d);
  read_numbers(f, &p.gamma, 1);
  p.m = size_of(f);
  p.dalpha = floats(k), p.dmu = floats(k * d), p.dicf = floats(k * width);
  p.e = vectors(k * d), p.base = vectors(k), p.share = vectors(k * LANES), p.mean = vectors(k * w);
  p.q = vectors((long)k * w * w), p.a = vectors((long)k * w * w), p.u = vectors(k * w),
  p.sums = vectors(LANES * k * (d + width));
  p.z = vectors((long)k * CHUNK * w), p.y = vectors(CHUNK * w), p.beta = vectors(k * CHUNK);
  gradient(&p);
  figure("F", p.value);
  figure("D.1", along_ones(p.dalpha, k) + along_ones(p.dmu, k * d) + along_ones(p.dicf, k * width));
  figure("D.c", along_cosines(p.dalpha, k) + along_cosines(p.dmu, k * d) + along_cosines(p.dicf, k * width));
  figure("alpha first", p.dalpha[0]);
  figure("mu first", p.dmu[0]);
  figure("icf last", p.dicf[k * width - 1]);
  finish(argv, gradient, gradient, &p);
}
