/* SPDX-License-Identifier: MIT */
/* The gradient of gradients/lstm.atl in vectors of eight, forward and backward. Lanes are units, a row of b is `blocks`
 * vectors: units meet only in the softmax of a step, so that a step waits for the one before unit by unit. The forward
 * pass keeps what gates and cells were. Spare lanes have weights of zero. */
#include "lanes.h"

enum {
  FORGET,
  IN,
  OUT,
  CHANGE,
  BEFORE,
  CELL,
  INPUT,
  HIDDEN,
  KEPT
}; /* kept of a layer in a step; CELL is tanh of the cell */
typedef struct Problem {
  int l, c, b, blocks;
  double *main, *extra, *state, *sequence, value; /* given */
  double *dmain, *dextra;                         /* wanted */
  V *w, *e, *s, *dw, *de;                         /* main, extra, sequence and the derivatives in vectors */
  V *h, *cell, *dh, *dcell;                       /* l × blocks: now */
  V *kept, *exps;                                 /* c × l × KEPT × blocks, c × blocks */
  double *all, *total;                            /* of each step: 2 + Σ exp y, Σ of what is next */
} Problem;

/* `rows` rows of b numbers in whole vectors, and back. */
static void widen(const Problem *p, const double *from, V *to, long rows) {
  for (long r = 0; r < rows; r++) memcpy(to + r * p->blocks, from + r * p->b, sizeof(double) * (size_t)p->b);
}
static void narrow(const Problem *p, const V *from, double *to, long rows) {
  for (long r = 0; r < rows; r++) memcpy(to + r * p->b, from + r * p->blocks, sizeof(double) * (size_t)p->b);
}

INLINE void layer(Problem *p, int blocks, long t, int l, V *x) {
  const V *w = p->w + 8L * l * blocks, *bias = w + 4 * blocks;
  V *kept = p->kept + (t * p->l + l) * KEPT * blocks, *h = p->h + l * blocks, *cell = p->cell + l * blocks;
  for (int i = 0; i < blocks; i++, kept++) {
    V f = sigmoid_of(x[i] * w[i] + bias[i]), g = sigmoid_of(h[i] * w[blocks + i] + bias[blocks + i]);
    V o = sigmoid_of(x[i] * w[2 * blocks + i] + bias[2 * blocks + i]);
    V c = tanh_of(h[i] * w[3 * blocks + i] + bias[3 * blocks + i]);
    kept[FORGET * blocks] = f, kept[IN * blocks] = g, kept[OUT * blocks] = o, kept[CHANGE * blocks] = c;
    kept[INPUT * blocks] = x[i], kept[HIDDEN * blocks] = h[i], kept[BEFORE * blocks] = cell[i];
    cell[i] = cell[i] * f + g * c;
    kept[CELL * blocks] = tanh_of(cell[i]);
    x[i] = h[i] = o * kept[CELL * blocks];
  }
}

/* The loss of a step without its logarithm, in lanes. */
INLINE V step(Problem *p, int blocks, long t, const I *units) {
  const V *now = p->s + t * blocks, *next = now + blocks;
  V x[blocks], sum = {0}, total = {0}, loss = {0};
  for (int i = 0; i < blocks; i++) x[i] = now[i] * p->e[i];
  for (int l = 0; l < p->l; l++) layer(p, blocks, t, l, x);
  for (int i = 0; i < blocks; i++) {
    V y = x[i] * p->e[blocks + i] + p->e[2 * blocks + i], exps = blend(units[i], exp_of(y), (V){0});
    p->exps[t * blocks + i] = exps;
    sum += exps, total += next[i], loss -= next[i] * y;
  }
  p->all[t] = 2 + sum_of(sum), p->total[t] = sum_of(total);
  return loss;
}

INLINE void layer_backward(Problem *p, int blocks, long t, int l, V *dx) {
  const V *w = p->w + 8L * l * blocks, *kept = p->kept + (t * p->l + l) * KEPT * blocks;
  V *dw = p->dw + 8L * l * blocks, *dbias = dw + 4 * blocks, *dh = p->dh + l * blocks, *dcell = p->dcell + l * blocks;
  for (int i = 0; i < blocks; i++, kept++) {
    V f = kept[FORGET * blocks], g = kept[IN * blocks], o = kept[OUT * blocks], c = kept[CHANGE * blocks];
    V x = kept[INPUT * blocks], h = kept[HIDDEN * blocks], tc = kept[CELL * blocks];
    V out = dx[i] + dh[i], dc = dcell[i] + out * o * (1 - tc * tc);
    V zf = dc * kept[BEFORE * blocks] * f * (1 - f), zg = dc * c * g * (1 - g);
    V zo = out * tc * o * (1 - o), zc = dc * g * (1 - c * c);
    dw[i] += zf * x, dw[blocks + i] += zg * h, dw[2 * blocks + i] += zo * x, dw[3 * blocks + i] += zc * h;
    dbias[i] += zf, dbias[blocks + i] += zg, dbias[2 * blocks + i] += zo, dbias[3 * blocks + i] += zc;
    dx[i] = zf * w[i] + zo * w[2 * blocks + i];
    dh[i] = zg * w[blocks + i] + zc * w[3 * blocks + i];
    dcell[i] = dc * f;
  }
}

INLINE void step_backward(Problem *p, int blocks, long t, double scale) {
  const V *now = p->s + t * blocks, *next = now + blocks, *last = p->kept + (t * p->l + p->l - 1) * KEPT * blocks;
  double share = p->total[t] / p->all[t];
  V dx[blocks];
  for (int i = 0; i < blocks; i++) {
    V dy = (share * p->exps[t * blocks + i] - next[i]) * scale;
    p->de[blocks + i] += dy * last[OUT * blocks + i] * last[CELL * blocks + i];
    p->de[2 * blocks + i] += dy;
    dx[i] = dy * p->e[blocks + i];
  }
  for (int l = p->l - 1; l >= 0; l--) layer_backward(p, blocks, t, l, dx);
  for (int i = 0; i < blocks; i++) p->de[i] += dx[i] * now[i];
}

/* `all` is one vector longer than the steps, and 1 there. */
INLINE void passes(Problem *p, int blocks) {
  long steps = p->c - 1;
  double scale = 1.0 / ((double)steps * p->b);
  I units[blocks];
  V loss = {0};
  for (int i = 0; i < blocks; i++) units[i] = ((I){0, 1, 2, 3, 4, 5, 6, 7} + i * LANES) < p->b;
  for (long t = 0; t < steps; t++) loss += step(p, blocks, t, units);
  for (long t = 0; t < steps; t += LANES) loss += log_of(load(p->all + t)) * load(p->total + t);
  p->value = sum_of(loss) * scale;
  for (long t = steps - 1; t >= 0; t--) step_backward(p, blocks, t, scale);
}

static void gradient(void *problem) {
  Problem *p = problem;
  size_t states = sizeof(V) * (size_t)(p->l * p->blocks);
  widen(p, p->main, p->w, 8L * p->l);
  widen(p, p->extra, p->e, 3);
  widen(p, p->sequence, p->s, p->c);
  for (int l = 0; l < p->l; l++) {
    widen(p, p->state + 2L * l * p->b, p->h + l * p->blocks, 1);
    widen(p, p->state + (2L * l + 1) * p->b, p->cell + l * p->blocks, 1);
  }
  memset(p->dw, 0, 8 * states);
  memset(p->de, 0, sizeof(V) * (size_t)(3 * p->blocks));
  memset(p->dh, 0, states);
  memset(p->dcell, 0, states);
  if (p->blocks == 2) passes(p, 2);
  else passes(p, p->blocks);
  narrow(p, p->dw, p->dmain, 8L * p->l);
  narrow(p, p->de, p->dextra, 3);
}

static V *rows(const Problem *p, long n) { return (V *)vectors(n * p->blocks * LANES); }

int main(int argc, char **argv) {
  FILE *f = open_data(argc > 2 ? argv[2] : "../data/lstm_l2_c1024.txt");
  Problem p = {0};
  p.l = size_of(f), p.c = size_of(f), p.b = size_of(f);
  int l = p.l, b = p.b;
  p.blocks = rounded_up(b) / LANES;
  p.main = numbers_of(f, 8L * l * b), p.extra = numbers_of(f, 3 * b), p.state = numbers_of(f, 2L * l * b);
  p.sequence = numbers_of(f, (long)p.c * b);
  p.dmain = floats(8L * l * b), p.dextra = floats(3 * b);
  p.w = rows(&p, 8L * l), p.e = rows(&p, 3), p.s = rows(&p, p.c), p.dw = rows(&p, 8L * l), p.de = rows(&p, 3);
  p.h = rows(&p, l), p.cell = rows(&p, l), p.dh = rows(&p, l), p.dcell = rows(&p, l);
  p.kept = rows(&p, (long)p.c * l * KEPT), p.exps = rows(&p, p.c);
  p.all = vectors(p.c + LANES), p.total = vectors(p.c + LANES);
  for (int t = 0; t < p.c + LANES; t++) p.all[t] = 1;
  gradient(&p);
  figure("loss", p.value);
  figure("D.1", along_ones(p.dmain, 8L * l * b) + along_ones(p.dextra, 3 * b));
  figure("D.c", along_cosines(p.dmain, 8L * l * b) + along_cosines(p.dextra, 3 * b));
  figure("main first", p.dmain[0]);
  figure("extra last", p.dextra[3 * b - 1]);
  finish(argv, gradient, gradient, &p);
}
