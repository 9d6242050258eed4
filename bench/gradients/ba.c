/* SPDX-License-Identifier: MIT */
/* ba.atl by hand: the residual and its 15 derivatives from the same intermediate values. */
#include "bench.h"

enum { CAMERA = 11, BLOCK = 15 };
typedef struct Problem {
  int n, m, p;
  double *cameras, *points, *weights, *features;
  double *residuals, *weight_residuals, *blocks, *dweights;
} Problem;

/* The radial distortion, and twice its slope, by the squared distance from the axis. */
static inline double radial_of(const double *camera, double rho) {
  double radial = 1 + camera[9] * rho + camera[10] * rho * rho;
#ifdef PERTURBED
  radial += 0.001 * rho * rho * rho;
#endif
  return radial;
}

static inline double slope_of(const double *camera, double rho) {
  double slope = 2 * (camera[9] + 2 * camera[10] * rho);
#ifdef PERTURBED
  slope += 0.006 * rho * rho;
#endif
  return slope;
}

static void cross(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

/* y = c v + a (r × v) + b (r · v) r, with c = cos |r|, a = sin |r| / |r|, b = (1 - c) / |r|². */
static void rotate(const double *r, const double *v, double *y) {
  double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], rv[3];
  cross(r, v, rv);
  if (square == 0) {
    for (int i = 0; i < 3; i++) y[i] = v[i] + rv[i];
    return;
  }
  double angle = sqrt(square), c = cos(angle), a = sin(angle) / angle, b = (1 - c) / square;
  double along = r[0] * v[0] + r[1] * v[1] + r[2] * v[2];
  for (int i = 0; i < 3; i++) y[i] = c * v[i] + a * rv[i] + b * along * r[i];
}

static void residual(const double *camera, const double *x, double w, const double *feature, double *out) {
  double v[3] = {x[0] - camera[3], x[1] - camera[4], x[2] - camera[5]}, y[3];
  rotate(camera, v, y);
  double px = y[0] / y[2], py = y[1] / y[2], rho = px * px + py * py;
  double f = camera[6] * radial_of(camera, rho);
  out[0] = w * (f * px + camera[7] - feature[0]);
  out[1] = w * (f * py + camera[8] - feature[1]);
}

/* dv: y by v, the rotation itself; dr: y by r, in columns. */
static void rotate_with_derivatives(const double *r, const double *v, double *y, double dv[3][3], double dr[3][3]) {
  double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], rv[3];
  double angle = sqrt(square), c = cos(angle), a = 1, b = 0, da = 0, db = 0;
  if (square != 0) {
    a = sin(angle) / angle, b = (1 - c) / square;
    da = (c - a) / square, db = (a - 2 * b) / square;
  }
  cross(r, v, rv);
  double along = r[0] * v[0] + r[1] * v[1] + r[2] * v[2];
  for (int i = 0; i < 3; i++) y[i] = c * v[i] + a * rv[i] + b * along * r[i];
  for (int j = 0; j < 3; j++) {
    double e[3] = {j == 0, j == 1, j == 2}, ev[3], re[3];
    cross(e, v, ev);
    cross(r, e, re);
    for (int i = 0; i < 3; i++) {
      dv[i][j] = c * e[i] + a * re[i] + b * r[j] * r[i];
      dr[i][j] = r[j] * (da * rv[i] + db * along * r[i] - a * v[i]) + a * ev[i] + b * (along * e[i] + v[j] * r[i]);
      if (square == 0) dr[i][j] = ev[i];
    }
  }
}

static void block(const double *camera, const double *x, double w, const double *feature, double *out) {
  double v[3] = {x[0] - camera[3], x[1] - camera[4], x[2] - camera[5]}, y[3], dv[3][3], dr[3][3];
  rotate_with_derivatives(camera, v, y, dv, dr);
  double p[2] = {y[0] / y[2], y[1] / y[2]}, rho = p[0] * p[0] + p[1] * p[1];
  double radial = radial_of(camera, rho), slope = slope_of(camera, rho);
  for (int k = 0; k < 2; k++) {
    double *row = out + k * BLOCK;
    double to[2] = {w * camera[6] * slope * p[k] * p[0], w * camera[6] * slope * p[k] * p[1]};
    to[k] += w * camera[6] * radial;
    double by[3] = {to[0] / y[2], to[1] / y[2], -(to[0] * p[0] + to[1] * p[1]) / y[2]};
    for (int j = 0; j < 3; j++) {
      double s = by[0] * dv[0][j] + by[1] * dv[1][j] + by[2] * dv[2][j];
      row[j] = by[0] * dr[0][j] + by[1] * dr[1][j] + by[2] * dr[2][j];
      row[3 + j] = -s;
      row[CAMERA + j] = s;
    }
    row[6] = w * radial * p[k];
    row[7] = k == 0 ? w : 0;
    row[8] = k == 1 ? w : 0;
    row[9] = w * camera[6] * rho * p[k];
    row[10] = w * camera[6] * rho * rho * p[k];
    row[14] = camera[6] * radial * p[k] + camera[7 + k] - feature[k];
  }
}

static void primal(void *problem) {
  Problem *p = problem;
  for (int i = 0; i < p->p; i++)
    residual(p->cameras + CAMERA * (i % p->n), p->points + 3 * (i % p->m), p->weights[i], p->features + 2 * i,
             p->residuals + 2 * i);
  for (int i = 0; i < p->p; i++) p->weight_residuals[i] = 1 - p->weights[i] * p->weights[i];
}

static void gradient(void *problem) {
  Problem *p = problem;
  for (int i = 0; i < p->p; i++)
    block(p->cameras + CAMERA * (i % p->n), p->points + 3 * (i % p->m), p->weights[i], p->features + 2 * i,
          p->blocks + 2L * BLOCK * i);
  for (int i = 0; i < p->p; i++) p->dweights[i] = -2 * p->weights[i];
}

static double *repeated(FILE *f, int width, int n) {
  double *one = numbers_of(f, width), *all = floats((long)n * width);
  for (long i = 0; i < (long)n * width; i++) all[i] = one[i % width];
  return all;
}

int main(int argc, char **argv) {
  FILE *f = open_data(argc > 2 ? argv[2] : "../data/ba1_n49_m7776_p31843.txt");
  Problem p = {0};
  p.n = size_of(f), p.m = size_of(f), p.p = size_of(f);
  p.n = argument(argc, argv, 3, p.n), p.m = argument(argc, argv, 4, p.m), p.p = argument(argc, argv, 5, p.p);
  p.cameras = repeated(f, CAMERA, p.n), p.points = repeated(f, 3, p.m);
  p.weights = repeated(f, 1, p.p), p.features = repeated(f, 2, p.p);
  p.residuals = floats(2L * p.p), p.weight_residuals = floats(p.p);
  p.blocks = floats(2L * BLOCK * p.p), p.dweights = floats(p.p);
  primal(&p);
  gradient(&p);
  figure("x", p.residuals[0]);
  figure("y", p.residuals[1]);
  figure("weight", p.weight_residuals[0]);
  figure("all", along_ones(p.blocks, 2L * BLOCK * p.p));
  figure("weights", along_ones(p.dweights, p.p));
  for (int k = 0; k < 2 * BLOCK; k++) {
    char name[32];
    snprintf(name, sizeof name, "entry %d %d", k / BLOCK, k % BLOCK);
    figure(name, p.blocks[k]);
  }
  finish(argv, primal, gradient, &p);
}
