/* SPDX-License-Identifier: MIT */
/* The Jacobian's blocks of gradients/ba.atl in vectors of eight: lanes are observations. What they see is gathered; their
 * 2 × 15 derivatives, 30 vectors, become rows by four transpositions of 8 × 8, and are written as one piece of 240
 * numbers. */
#include "lanes.h"

enum { CAMERA = 11, BLOCK = 15, ENTRIES = 2 * BLOCK };
typedef struct Problem {
  int n, m, p;
  double *cameras, *points, *weights, *features; /* given */
  double *blocks, *dweights;                     /* wanted */
} Problem;

INLINE void cross(const V *a, const V *b, V *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

INLINE V root_of(V x) {
  for (int i = 0; i < LANES; i++) x[i] = sqrt(x[i]);
  return x;
}

/* y = c v + a (r × v) + b (r · v) r; dv: y by v; dr: y by r, in columns. At r = 0, a is 1, and b and the slopes are 0. */
INLINE void rotate(const V *r, const V *v, V *y, V dv[3][3], V dr[3][3]) {
  V square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], rv[3], s, c;
  I zero = square == 0;
  V angle = root_of(square), inverse = 1 / blend(zero, splat(1), square);
  sin_and_cos_of(angle, &s, &c);
  V a = blend(zero, splat(1), s * angle * inverse), b = blend(zero, splat(0), (1 - c) * inverse);
  V da = blend(zero, splat(0), (c - a) * inverse), db = blend(zero, splat(0), (a - 2 * b) * inverse);
  cross(r, v, rv);
  V along = r[0] * v[0] + r[1] * v[1] + r[2] * v[2];
  for (int i = 0; i < 3; i++) y[i] = c * v[i] + a * rv[i] + b * along * r[i];
  for (int j = 0; j < 3; j++) {
    V e[3] = {splat(j == 0), splat(j == 1), splat(j == 2)}, ev[3], re[3];
    cross(e, v, ev);
    cross(r, e, re);
    for (int i = 0; i < 3; i++) {
      dv[i][j] = c * e[i] + a * re[i] + b * r[j] * r[i];
      dr[i][j] = r[j] * (da * rv[i] + db * along * r[i] - a * v[i]) + a * ev[i] + b * (along * e[i] + v[j] * r[i]);
    }
  }
}

INLINE void block(const V *camera, const V *x, V w, const V *feature, V *out) {
  V v[3] = {x[0] - camera[3], x[1] - camera[4], x[2] - camera[5]}, y[3], dv[3][3], dr[3][3];
  rotate(camera, v, y, dv, dr);
  V inverse = 1 / y[2], p[2] = {y[0] * inverse, y[1] * inverse}, rho = p[0] * p[0] + p[1] * p[1], f = w * camera[6];
  V radial = 1 + rho * (camera[9] + camera[10] * rho), slope = 2 * (camera[9] + 2 * camera[10] * rho);
  for (int k = 0; k < 2; k++, out += BLOCK) {
    V to[2] = {f * slope * p[k] * p[0], f * slope * p[k] * p[1]};
    to[k] += f * radial;
    V by[3] = {to[0] * inverse, to[1] * inverse, -(to[0] * p[0] + to[1] * p[1]) * inverse};
    for (int j = 0; j < 3; j++) {
      V s = by[0] * dv[0][j] + by[1] * dv[1][j] + by[2] * dv[2][j];
      out[j] = by[0] * dr[0][j] + by[1] * dr[1][j] + by[2] * dr[2][j];
      out[3 + j] = -s;
      out[CAMERA + j] = s;
    }
    out[6] = w * radial * p[k];
    out[7] = k == 0 ? w : splat(0);
    out[8] = k == 1 ? w : splat(0);
    out[9] = f * rho * p[k];
    out[10] = f * rho * rho * p[k];
    out[14] = camera[6] * radial * p[k] + camera[7 + k] - feature[k];
  }
}

/* Row i of eight gets entry i of each of the 30 vectors; `count` rows. The last two of 32 vectors are spare: what they
 * put behind a row is written over by the next row, or lies behind the last. */
INLINE void write_rows(V *entries, double *to, int count) {
  double rows[LANES * ENTRIES + 2] __attribute__((aligned(64)));
  for (int k = 0; k < ENTRIES; k += LANES) transpose(entries + k);
  for (int i = 0; i < LANES; i++)
    for (int k = 0; k < ENTRIES; k += LANES) store(rows + i * ENTRIES + k, entries[k + i]);
  memcpy(to, rows, sizeof(double) * (size_t)(count * ENTRIES));
}

static I reduced(I x, int n) {
  for (int i = 0; i < LANES; i++) x[i] %= n;
  return x;
}

static void gradient(void *problem) {
  Problem *p = problem;
  I at = {0, 1, 2, 3, 4, 5, 6, 7}, camera_at = reduced(at, p->n), point_at = reduced(at, p->m);
  int camera_step = LANES % p->n, point_step = LANES % p->m;
  for (long i = 0; i < p->p; i += LANES) {
    int count = p->p - i < LANES ? (int)(p->p - i) : LANES;
    V camera[CAMERA], x[3], feature[2], out[ENTRIES + 2] = {0};
    for (int k = 0; k < CAMERA; k++) camera[k] = gather(p->cameras + k, CAMERA * camera_at);
    for (int k = 0; k < 3; k++) x[k] = gather(p->points + k, 3 * point_at);
    for (int k = 0; k < 2; k++) feature[k] = gather(p->features + 2 * i + k, 2 * at);
    V w = load(p->weights + i);
    block(camera, x, w, feature, out);
    write_rows(out, p->blocks + ENTRIES * i, count);
    store(p->dweights + i, -2 * w);
    camera_at += camera_step, point_at += point_step;
    camera_at -= (camera_at >= p->n) & p->n, point_at -= (point_at >= p->m) & p->m;
  }
}

/* One is repeated n times, and once more up to a whole vector. */
static double *repeated(FILE *f, int width, int n) {
  double *one = numbers_of(f, width), *all = vectors((long)rounded_up(n) * width);
  for (long i = 0; i < (long)rounded_up(n) * width; i++) all[i] = one[i % width];
  return all;
}

int main(int argc, char **argv) {
  FILE *f = open_data(argc > 2 ? argv[2] : "../data/ba1_n49_m7776_p31843.txt");
  Problem p = {0};
  p.n = size_of(f), p.m = size_of(f), p.p = size_of(f);
  p.n = argument(argc, argv, 3, p.n), p.m = argument(argc, argv, 4, p.m), p.p = argument(argc, argv, 5, p.p);
  p.cameras = repeated(f, CAMERA, p.n), p.points = repeated(f, 3, p.m);
  p.weights = repeated(f, 1, p.p), p.features = repeated(f, 2, p.p);
  p.blocks = vectors((long)ENTRIES * p.p), p.dweights = vectors(p.p + LANES);
  gradient(&p);
  double x = p.weights[0] * p.blocks[14], y = p.weights[0] * p.blocks[BLOCK + 14];
  figure("x", x);
  figure("y", y);
  figure("weight", 1 - p.weights[0] * p.weights[0]);
  figure("all", along_ones(p.blocks, (long)ENTRIES * p.p));
  figure("weights", along_ones(p.dweights, p.p));
  for (int k = 0; k < ENTRIES; k++) {
    char name[32];
    snprintf(name, sizeof name, "entry %d %d", k / BLOCK, k % BLOCK);
    figure(name, p.blocks[k]);
  }
  finish(argv, gradient, gradient, &p);
}
