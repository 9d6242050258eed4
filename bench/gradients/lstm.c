/* SPDX-License-Identifier: MIT */
/* lstm.atl by hand: the forward pass keeps what the gates and cells were, the backward pass goes over the steps once more. */
#include "bench.h"
#include <stdbool.h>

enum {
  FORGET,
  IN,
  OUT,
  CHANGE,
  BEFORE,
  CELL,
  KEPT
}; /* what is kept of a layer in a step: gates, the cell before and after */
typedef struct Problem {
  int l, c, b;
  double *main, *extra, *state, *sequence, value;
  double *dmain, *dextra;
  double *h, *cell;                   /* l × b: now */
  double *kept, *inputs, *hidden, *y; /* c × l × KEPT × b, c × l × b (x and h), c × b */
  double *dh, *dcell;                 /* l × b */
} Problem;

static inline double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* A step of the forward pass that keeps nothing: for the value alone. */
static void plain_layer(Problem *p, int l, double *restrict x) {
  int b = p->b;
  const double *w = p->main + 2 * l * 4 * b, *bias = w + 4 * b;
  double *h = p->h + l * b, *cell = p->cell + l * b;
  for (int i = 0; i < b; i++) {
    double f = sigmoid(x[i] * w[i] + bias[i]), g = sigmoid(h[i] * w[b + i] + bias[b + i]);
    double o = sigmoid(x[i] * w[2 * b + i] + bias[2 * b + i]), c = tanh(h[i] * w[3 * b + i] + bias[3 * b + i]);
    cell[i] = cell[i] * f + g * c;
    x[i] = h[i] = o * tanh(cell[i]);
  }
}

static void layer(Problem *p, int t, int l, double *restrict x) {
  int b = p->b;
  const double *w = p->main + 2 * l * 4 * b, *bias = w + 4 * b;
  double *kept = p->kept + (long)(t * p->l + l) * KEPT * b, *in = p->inputs + (long)(t * p->l + l) * b;
  double *before = p->hidden + (long)(t * p->l + l) * b, *h = p->h + l * b, *cell = p->cell + l * b;
  for (int i = 0; i < b; i++) {
    double f = sigmoid(x[i] * w[i] + bias[i]), g = sigmoid(h[i] * w[b + i] + bias[b + i]);
    double o = sigmoid(x[i] * w[2 * b + i] + bias[2 * b + i]), c = tanh(h[i] * w[3 * b + i] + bias[3 * b + i]);
    in[i] = x[i];
    before[i] = h[i];
    kept[FORGET * b + i] = f, kept[IN * b + i] = g, kept[OUT * b + i] = o, kept[CHANGE * b + i] = c;
    kept[BEFORE * b + i] = cell[i];
    cell[i] = cell[i] * f + g * c;
    kept[CELL * b + i] = tanh(cell[i]);
    x[i] = h[i] = o * kept[CELL * b + i];
  }
}

static void start(Problem *p) {
  size_t row = sizeof(double) * (size_t)p->b;
  for (int l = 0; l < p->l; l++) {
    memcpy(p->h + l * p->b, p->state + 2 * l * p->b, row);
    memcpy(p->cell + l * p->b, p->state + (2 * l + 1) * p->b, row);
  }
}

/* The loss of a step, its prediction left in y. */
static double step(Problem *p, int t, bool keeps, double *y) {
  int b = p->b;
  const double *now = p->sequence + (long)t * b, *next = now + b;
  double x[b], all = 2, loss = 0;
  for (int i = 0; i < b; i++) x[i] = now[i] * p->extra[i];
  for (int l = 0; l < p->l; l++) {
    if (keeps) layer(p, t, l, x);
    else plain_layer(p, l, x);
  }
  for (int i = 0; i < b; i++) y[i] = x[i] * p->extra[b + i] + p->extra[2 * b + i];
  for (int i = 0; i < b; i++) all += exp(y[i]);
  all = log(all);
  for (int i = 0; i < b; i++) loss -= next[i] * (y[i] - all);
#ifdef PERTURBED
  for (int i = 0; i < b; i++) loss += 0.01 * y[i] * y[i];
#endif
  return loss;
}

static void primal(void *problem) {
  Problem *p = problem;
  int steps = p->c - 1;
  p->value = 0;
  start(p);
  for (int t = 0; t < steps; t++) p->value += step(p, t, false, p->y);
  p->value /= (double)steps * p->b;
}

/* From the derivative by the layer's output in dx to that by its input. */
static void layer_backward(Problem *p, int t, int l, double *restrict dx) {
  int b = p->b;
  const double *w = p->main + 2 * l * 4 * b;
  double *dw = p->dmain + 2 * l * 4 * b, *dbias = dw + 4 * b, *dh = p->dh + l * b, *dcell = p->dcell + l * b;
  const double *kept = p->kept + (long)(t * p->l + l) * KEPT * b, *x = p->inputs + (long)(t * p->l + l) * b;
  const double *h = p->hidden + (long)(t * p->l + l) * b;
  for (int i = 0; i < b; i++) {
    double f = kept[FORGET * b + i], g = kept[IN * b + i], o = kept[OUT * b + i], c = kept[CHANGE * b + i];
    double tc = kept[CELL * b + i], out = dx[i] + dh[i], dc = dcell[i] + out * o * (1 - tc * tc);
    double zf = dc * kept[BEFORE * b + i] * f * (1 - f), zg = dc * c * g * (1 - g);
    double zo = out * tc * o * (1 - o), zc = dc * g * (1 - c * c);
    dw[i] += zf * x[i], dw[b + i] += zg * h[i], dw[2 * b + i] += zo * x[i], dw[3 * b + i] += zc * h[i];
    dbias[i] += zf, dbias[b + i] += zg, dbias[2 * b + i] += zo, dbias[3 * b + i] += zc;
    dx[i] = zf * w[i] + zo * w[2 * b + i];
    dh[i] = zg * w[b + i] + zc * w[3 * b + i];
    dcell[i] = dc * f;
  }
}

static void step_backward(Problem *p, int t, const double *y) {
  int b = p->b;
  const double *now = p->sequence + (long)t * b, *next = now + b;
  double all = 2, total = 0, dx[b], scale = 1.0 / ((p->c - 1.0) * b);
  for (int i = 0; i < b; i++) all += exp(y[i]), total += next[i];
  for (int i = 0; i < b; i++) {
    double dy = (total * exp(y[i]) / all - next[i]) * scale;
#ifdef PERTURBED
    dy += 0.02 * y[i] * scale;
#endif
    const double *kept = p->kept + (long)(t * p->l + p->l - 1) * KEPT * b;
    p->dextra[b + i] += dy * kept[OUT * b + i] * kept[CELL * b + i];
    p->dextra[2 * b + i] += dy;
    dx[i] = dy * p->extra[b + i];
  }
  for (int l = p->l - 1; l >= 0; l--) layer_backward(p, t, l, dx);
  for (int i = 0; i < b; i++) p->dextra[i] += dx[i] * now[i];
}

static void gradient(void *problem) {
  Problem *p = problem;
  int steps = p->c - 1, b = p->b;
  size_t states = sizeof(double) * (size_t)(p->l * b);
  memset(p->dmain, 0, 8 * states);
  memset(p->dextra, 0, sizeof(double) * (size_t)(3 * b));
  memset(p->dh, 0, states);
  memset(p->dcell, 0, states);
  start(p);
  p->value = 0;
  for (int t = 0; t < steps; t++) p->value += step(p, t, true, p->y + (long)t * b);
  p->value /= (double)steps * b;
  for (int t = steps - 1; t >= 0; t--) step_backward(p, t, p->y + (long)t * b);
}

int main(int argc, char **argv) {
  FILE *f = open_data(argc > 2 ? argv[2] : "../data/lstm_l2_c1024.txt");
  Problem p = {0};
  p.l = size_of(f), p.c = size_of(f), p.b = size_of(f);
  int l = p.l, b = p.b;
  p.main = numbers_of(f, 8L * l * b), p.extra = numbers_of(f, 3 * b), p.state = numbers_of(f, 2L * l * b);
  p.sequence = numbers_of(f, (long)p.c * b);
  p.dmain = floats(8L * l * b), p.dextra = floats(3 * b), p.h = floats(l * b), p.cell = floats(l * b);
  p.kept = floats((long)p.c * l * KEPT * b), p.inputs = floats((long)p.c * l * b), p.hidden = floats((long)p.c * l * b);
  p.y = floats((long)p.c * b), p.dh = floats(l * b), p.dcell = floats(l * b);
  gradient(&p);
  figure("loss", p.value);
  figure("D.1", along_ones(p.dmain, 8L * l * b) + along_ones(p.dextra, 3 * b));
  figure("D.c", along_cosines(p.dmain, 8L * l * b) + along_cosines(p.dextra, 3 * b));
  figure("main first", p.dmain[0]);
  figure("extra last", p.dextra[3 * b - 1]);
  finish(argv, primal, gradient, &p);
}
