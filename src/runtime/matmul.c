/* SPDX-License-Identifier: MIT */
/* The product of two matrices. Each element is summed over k from left to right, in strict mode and out of it; the
 * loops are ordered so that the inner one runs along rows of both the right operand and the result, four rows of the
 * result at a time, over a panel of the right operand that fits the cache. */
#include "runtime/runtime_internal.h"

enum { PANEL = 256, ROWS = 4 };

/* rows of c += rows of a · b, over k in [k0, k1) and columns in [j0, j1) */
static void kernel4(const double *a, const double *b, double *c, int64_t m, int64_t n, int64_t k0, int64_t k1,
                    int64_t j0, int64_t j1) {
  double *restrict c0 = c, *restrict c1 = c + n, *restrict c2 = c + 2 * n, *restrict c3 = c + 3 * n;
  for (int64_t k = k0; k < k1; k++) {
    const double *row = b + k * n;
    double a0 = a[k], a1 = a[m + k], a2 = a[2 * m + k], a3 = a[3 * m + k];
    for (int64_t j = j0; j < j1; j++) {
      c0[j] += a0 * row[j];
      c1[j] += a1 * row[j];
      c2[j] += a2 * row[j];
      c3[j] += a3 * row[j];
    }
  }
}

static void kernel1(const double *a, const double *b, double *restrict c, int64_t n, int64_t k0, int64_t k1, int64_t j0,
                    int64_t j1) {
  for (int64_t k = k0; k < k1; k++)
    for (int64_t j = j0; j < j1; j++) c[j] += a[k] * b[k * n + j];
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static Status multiply(Rt *rt, const double *a, const double *b, double *c, int64_t rows, int64_t m, int64_t n) {
  for (int64_t j0 = 0; j0 < n; j0 += PANEL)
    for (int64_t k0 = 0; k0 < m; k0 += PANEL) {
      int64_t j1 = least(n, j0 + PANEL), k1 = least(m, k0 + PANEL), i = 0;
      for (; i + ROWS <= rows && !rt_interrupted(rt); i += ROWS) kernel4(a + i * m, b, c + i * n, m, n, k0, k1, j0, j1);
      for (; i < rows && !rt_look(rt); i++) kernel1(a + i * m, b, c + i * n, n, k0, k1, j0, j1);
      if (i < rows) return 1;
    }
  return 0;
}

PRIM(prim_matmul) {
  PRIM_UNUSED;
  const ArrayObj *a = slot_array(&args[0]), *b = slot_array(&args[1]);
  int64_t m = a->dims[1], dims[2] = {a->dims[0], b->dims[1]};
  if (m != b->dims[0] && dims[0])
    return rt_error(rt, ERR_SHAPE, site, "a %lld x %lld matrix can't be multiplied by a %lld x %lld one",
                    (long long)dims[0], (long long)m, (long long)b->dims[0], (long long)dims[1]);
  ArrayObj *c = rt_new_array(rt, rt->desc_float_matrix, dims, true);
  if (!c) return 1;
  if (m == b->dims[0] && multiply(rt, &a->data->f, &b->data->f, &c->data->f, dims[0], m, dims[1])) {
    rt_release(rt, &c->h);
    return 1;
  }
  res->p = &c->h;
  return 0;
}
