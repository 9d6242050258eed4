/* SPDX-License-Identifier: MIT */
/* digits.atl by hand: forward and backward for one example after the other. */
#include "bench.h"
#include <stdbool.h>

enum { LAYERS = 3, WIDEST = 64, PIXELS = 64 };
static const int widths[LAYERS + 1] = {PIXELS, 64, 32, 10};
typedef struct Problem {
  int n;
  double *examples, loss; /* n × 65 */
  double *w[LAYERS], *b[LAYERS], *dw[LAYERS], *db[LAYERS];
} Problem;

/* Activations of an example, layer by layer, and its loss; the last one becomes the softmax. */
static double forward(const Problem *p, const double *example, double a[LAYERS + 1][WIDEST]) {
  memcpy(a[0], example, sizeof(double) * PIXELS);
  for (int l = 0; l < LAYERS; l++)
    for (int i = 0; i < widths[l + 1]; i++) {
      double s = p->b[l][i];
      for (int j = 0; j < widths[l]; j++) s += p->w[l][i * widths[l] + j] * a[l][j];
      a[l + 1][i] = l < LAYERS - 1 ? tanh(s) : s;
    }
  double *y = a[LAYERS], m = y[0], sum = 0, right = y[(int)example[PIXELS]];
  for (int i = 1; i < widths[LAYERS]; i++) m = y[i] > m ? y[i] : m;
  for (int i = 0; i < widths[LAYERS]; i++) sum += y[i] = exp(y[i] - m);
  for (int i = 0; i < widths[LAYERS]; i++) y[i] /= sum;
  return m + log(sum) - right;
}

static void backward(Problem *p, int label, double a[LAYERS + 1][WIDEST]) {
  double d[WIDEST], before[WIDEST];
  for (int i = 0; i < widths[LAYERS]; i++) d[i] = (a[LAYERS][i] - (i == label)) / p->n;
  for (int l = LAYERS - 1; l >= 0; l--) {
    for (int j = 0; j < widths[l]; j++) before[j] = 0;
    for (int i = 0; i < widths[l + 1]; i++) {
      double di = l < LAYERS - 1 ? d[i] * (1 - a[l + 1][i] * a[l + 1][i]) : d[i];
      const double *w = p->w[l] + i * widths[l];
      double *restrict dw = p->dw[l] + i * widths[l];
      p->db[l][i] += di;
      for (int j = 0; j < widths[l]; j++) dw[j] += di * a[l][j];
      if (l > 0)
        for (int j = 0; j < widths[l]; j++) before[j] += di * w[j];
    }
    memcpy(d, before, sizeof d);
  }
}

/* The term more of the changed program, and its derivative. */
static double decay(Problem *p, bool backward) {
  double s = 0;
#ifdef PERTURBED
  for (int i = 0; i < 10 * 32; i++) {
    s += 0.001 * p->w[2][i] * p->w[2][i];
    if (backward) p->dw[2][i] += 0.002 * p->w[2][i];
  }
#else
  (void)p, (void)backward;
#endif
  return s;
}

static void primal(void *problem) {
  Problem *p = problem;
  double a[LAYERS + 1][WIDEST], s = 0;
  for (int k = 0; k < p->n; k++) s += forward(p, p->examples + k * (PIXELS + 1), a);
  p->loss = s / p->n + decay(p, false);
}

static void gradient(void *problem) {
  Problem *p = problem;
  double a[LAYERS + 1][WIDEST], s = 0;
  for (int l = 0; l < LAYERS; l++) {
    memset(p->dw[l], 0, sizeof(double) * (size_t)(widths[l] * widths[l + 1]));
    memset(p->db[l], 0, sizeof(double) * (size_t)widths[l + 1]);
  }
  for (int k = 0; k < p->n; k++) {
    const double *example = p->examples + k * (PIXELS + 1);
    s += forward(p, example, a);
    backward(p, (int)example[PIXELS], a);
  }
  p->loss = s / p->n + decay(p, true);
}

int main(int argc, char **argv) {
  FILE *f = open_data(argc > 2 ? argv[2] : "../data/digits.csv");
  Problem p = {.n = argument(argc, argv, 3, 32)};
  p.examples = floats(p.n * (PIXELS + 1));
  for (int k = 0; k < p.n * (PIXELS + 1); k++) {
    if (fscanf(f, "%lf,", &p.examples[k]) != 1) return 1;
    if (k % (PIXELS + 1) < PIXELS) p.examples[k] /= 16;
  }
  for (int l = 0; l < LAYERS; l++) {
    int n = widths[l] * widths[l + 1];
    p.w[l] = floats(n), p.dw[l] = floats(n), p.b[l] = floats(widths[l + 1]), p.db[l] = floats(widths[l + 1]);
    for (int i = 0; i < n; i++) p.w[l][i] = sin(l + 1.0 + i * i % 8191) / sqrt(widths[l]);
  }
  gradient(&p);
  figure("loss", p.loss);
  figure("first.1", along_ones(p.dw[0], 64 * 64));
  figure("first.c", along_cosines(p.dw[0], 64 * 64));
  figure("second.c", along_cosines(p.dw[1], 32 * 64));
  figure("third.c", along_cosines(p.dw[2], 10 * 32));
  figure("biases", along_ones(p.db[0], 64) + along_ones(p.db[1], 32));
  finish(argv, primal, gradient, &p);
}
