/* SPDX-License-Identifier: MIT */
/* network.atl by hand: a batch at once, products of matrices by OpenBLAS on one thread. Without OPENBLAS, which the tests do
 * without, they are plain loops. */
#include "bench.h"
#include <stdbool.h>
#ifdef OPENBLAS
#include <cblas.h>
#endif

enum { LAYERS = 2 };
static const int widths[LAYERS + 1] = {784, 128, 10};
typedef struct Problem {
  int n;
  double *images, loss;
  double *a[LAYERS + 1], *d[LAYERS + 1]; /* activations and their cotangents, n rows; a[0] are the images */
  double *w[LAYERS], *b[LAYERS], *dw[LAYERS], *db[LAYERS];
} Problem;

static int label_of(int i) { return 7 * i % 10; }

/* c = a b, rows × depth times depth × columns; ta, tb: the operand lies transposed. */
static void product(bool ta, bool tb, int rows, int columns, int depth, const double *a, const double *b, double *c) {
#ifdef OPENBLAS
  cblas_dgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, rows, columns, depth, 1, a,
              ta ? rows : depth, b, tb ? depth : columns, 0, c, columns);
#else
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      double s = 0;
      for (int k = 0; k < depth; k++) s += a[ta ? k * rows + i : i * depth + k] * b[tb ? j * depth + k : k * columns + j];
      c[i * columns + j] = s;
    }
#endif
}

static void forward(Problem *p) {
  for (int l = 0; l < LAYERS; l++) {
    double *a = p->a[l + 1];
    product(false, false, p->n, widths[l + 1], widths[l], p->a[l], p->w[l], a);
    for (int i = 0; i < p->n; i++)
      for (int j = 0; j < widths[l + 1]; j++) {
        double s = a[i * widths[l + 1] + j] + p->b[l][j];
        a[i * widths[l + 1] + j] = l < LAYERS - 1 ? tanh(s) : s;
      }
  }
}

/* The loss; the last activations' cotangents too if they are wanted. */
static double cross_entropy(Problem *p, bool backward) {
  int columns = widths[LAYERS];
  double loss = 0;
  for (int i = 0; i < p->n; i++) {
    const double *y = p->a[LAYERS] + i * columns;
    double *d = p->d[LAYERS] + i * columns, m = y[0], sum = 0;
    for (int j = 1; j < columns; j++) m = y[j] > m ? y[j] : m;
    for (int j = 0; j < columns; j++) sum += d[j] = exp(y[j] - m);
    loss += m + log(sum) - y[label_of(i)];
    if (backward)
      for (int j = 0; j < columns; j++) d[j] = (d[j] / sum - (j == label_of(i))) / p->n;
  }
  return loss / p->n;
}

static void backward(Problem *p) {
  for (int l = LAYERS - 1; l >= 0; l--) {
    int columns = widths[l + 1];
    double *d = p->d[l + 1];
    const double *a = p->a[l + 1];
    memset(p->db[l], 0, sizeof(double) * (size_t)columns);
    for (int i = 0; i < p->n; i++)
      for (int j = 0; j < columns; j++) {
        int k = i * columns + j;
        if (l < LAYERS - 1) d[k] *= 1 - a[k] * a[k];
        p->db[l][j] += d[k];
      }
    product(true, false, widths[l], columns, p->n, p->a[l], d, p->dw[l]);
    if (l > 0) product(false, true, p->n, widths[l], columns, d, p->w[l], p->d[l]);
  }
}

/* The term more of the changed program, and its derivative. */
static double decay(Problem *p, bool backward) {
  double s = 0;
#ifdef PERTURBED
  for (int i = 0; i < widths[1] * widths[2]; i++) {
    s += 0.001 * p->w[1][i] * p->w[1][i];
    if (backward) p->dw[1][i] += 0.002 * p->w[1][i];
  }
#else
  (void)p, (void)backward;
#endif
  return s;
}

static void primal(void *problem) {
  Problem *p = problem;
  forward(p);
  p->loss = cross_entropy(p, false) + decay(p, false);
}

static void gradient(void *problem) {
  Problem *p = problem;
  forward(p);
  p->loss = cross_entropy(p, true);
  backward(p);
  p->loss += decay(p, true);
}

static double *made(int rows, int columns, double seed, double scale) {
  double *p = floats((long)rows * columns);
  for (int i = 0; i < rows * columns; i++) p[i] = sin(seed + (double)((long)i * i % 8191)) / scale;
  return p;
}

int main(int argc, char **argv) {
#ifdef OPENBLAS
  openblas_set_num_threads(1);
#endif
  Problem p = {.n = argument(argc, argv, 2, 128)};
  p.a[0] = made(p.n, widths[0], 3, 1);
  for (int l = 0; l < LAYERS; l++) {
    p.w[l] = made(widths[l], widths[l + 1], l + 1.0, sqrt(widths[l])), p.dw[l] = floats(widths[l] * widths[l + 1]);
    p.b[l] = floats(widths[l + 1]), p.db[l] = floats(widths[l + 1]);
    p.a[l + 1] = floats(p.n * widths[l + 1]), p.d[l + 1] = floats(p.n * widths[l + 1]);
  }
  gradient(&p);
  figure("loss", p.loss);
  figure("first.1", along_ones(p.dw[0], widths[0] * widths[1]));
  figure("first.c", along_cosines(p.dw[0], widths[0] * widths[1]));
  figure("second.c", along_cosines(p.dw[1], widths[1] * widths[2]));
  figure("biases", along_ones(p.db[0], widths[1]) + along_cosines(p.db[1], widths[2]));
  finish(argv, primal, gradient, &p);
}
