/* SPDX-License-Identifier: MIT */
/* Products of matrices: a b, a bᵀ and aᵀ b, the transposed ones (which derivatives need) without a transposed copy.
 *
 * The result is made in tiles that fit the registers (matmul_tile.h, one version for each kind of processor). b is
 * taken in panels of PANEL_DEPTH × PANEL_WIDTH, which are copied into slivers as wide as a tile, so that tiles read it
 * in one sweep and it stays in the second-level cache while all rows of a pass by. (The scheme is Goto and van de
 * Geijn's, "Anatomy of High-Performance Matrix Multiplication", 2008.) A panel that many tiles don't share isn't worth
 * copying and is read where it lies.
 *
 * Each element is summed over k from left to right. In strict mode products are rounded before they are added; else
 * processors that can round a product and sum once do so. */
#include "runtime/pool.h"
#include "runtime/runtime_internal.h"
#ifdef __x86_64__
#include "support/cpu.h"
#include <immintrin.h>
#endif

enum { PANEL_DEPTH = 256, PANEL_WIDTH = 256, STRIPE = 128 };

/* c[i * c_row + j] += sum over k < count of a[i * a_row + k * a_step] * b[k * b_step + j], for j < width; b has
 * `columns` columns, whole vectors. */
typedef struct Tile {
  const double *a, *b;
  double *c;
  int64_t a_row, a_step, b_step, c_row, count;
  int rows, columns, width;
} Tile;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

typedef double Pair __attribute__((vector_size(2 * sizeof(double))));
#define TILE_NAME(x) x##_plain
#define TILE_TARGET
#define LANES                 2
#define TILE_ROWS             4
#define TILE_VECTORS          2
#define MULTIPLY_ADD(a, b, c) ((c) + (a) * (b))
#define LOAD_SOME(p, n)       ((n) >= 2 ? (Pair){(p)[0], (p)[1]} : (Pair){(n) == 1 ? (p)[0] : 0})
#define STORE_SOME(p, n, v)   memcpy(p, &(v), (n) <= 0 ? 0 : (size_t)least(n, 2) * sizeof(double))
#include "runtime/matmul_tile.h"

#ifdef __x86_64__
#define TILE_NAME(x)          x##_avx2
#define TILE_TARGET           __attribute__((target("avx2,fma")))
#define LANES                 4
#define TILE_ROWS             6
#define TILE_VECTORS          2
#define MULTIPLY_ADD(a, b, c) _mm256_fmadd_pd(a, b, c)
#define FIRST(n)              _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3))
#define LOAD_SOME(p, n)       _mm256_maskload_pd(p, FIRST(n))
#define STORE_SOME(p, n, v)   _mm256_maskstore_pd(p, FIRST(n), v)
#include "runtime/matmul_tile.h"

#define TILE_NAME(x)          x##_avx512
#define TILE_TARGET           __attribute__((target("avx512f")))
#define LANES                 8
#define TILE_ROWS             8
#define TILE_VECTORS          2
#define MULTIPLY_ADD(a, b, c) _mm512_fmadd_pd(a, b, c)
#undef FIRST
#define FIRST(n)            (__mmask8)((n) <= 0 ? 0 : (1 << least(n, 8)) - 1)
#define LOAD_SOME(p, n)     _mm512_maskz_loadu_pd(FIRST(n), p)
#define STORE_SOME(p, n, v) _mm512_mask_storeu_pd(p, FIRST(n), v)
#include "runtime/matmul_tile.h"
#endif

/* A kind of processor: its tiles have 1, 2, 4 or `rows` rows, and `columns` or half as many columns. */
typedef struct Kind {
  void (*tile)(const Tile *t, bool strict);
  int rows, columns;
} Kind;

/* The kind-th best of those that this processor can stand for; without a tile if there are fewer. */
static Kind kind_of_processor(int kind) {
#ifdef __x86_64__
  if (CPU_HAS(AVX512F, "avx512f") && kind-- == 0) return (Kind){tile_avx512, 8, 16};
  if (CPU_HAS(AVX2, "avx2") && CPU_HAS(FMA, "fma") && kind-- == 0) return (Kind){tile_avx2, 6, 8};
#endif
  return kind == 0 ? (Kind){tile_plain, 4, 4} : (Kind){0};
}

bool rt_matmul_has_kind(int kind) { return kind_of_processor(kind).tile; }

/* A matrix, or its transpose: element (i, j) is data[i * row + j * column]. */
typedef struct Operand {
  const double *data;
  int64_t rows, columns, row, column;
} Operand;

typedef struct Product {
  Rt *rt;
  Kind kind;
  Operand a, b;
  double *c;
  double *panel; /* the slivers of a panel of b */
  int64_t k0, depth;
} Product;

/* Rows [i, end) of the result, in the columns of one sliver. */
static void sliver_times_rows(const Product *p, Tile t, int64_t i, int64_t end, int64_t j) {
  while (i < end) {
    int64_t left = end - i;
    t.rows = left >= p->kind.rows ? p->kind.rows : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    t.a = p->a.data + i * p->a.row + p->k0 * p->a.column;
    t.c = p->c + i * p->b.columns + j;
    p->kind.tile(&t, p->rt->strict);
    i += t.rows;
  }
}

/* Copies `width` columns of b from j on, padded with zeros to `columns`. */
static void copy_sliver(const Product *p, double *to, int64_t j, int width, int columns) {
  const Operand *b = &p->b;
  const double *from = b->data + p->k0 * b->row + j * b->column;
  for (int64_t k = 0; k < p->depth; k++, to += columns, from += b->row) {
    for (int x = 0; x < width; x++) to[x] = from[x * b->column];
    for (int x = width; x < columns; x++) to[x] = 0;
  }
}

static int sliver_columns(const Kind *kind, int64_t left) {
  return left > kind->columns / 2 ? kind->columns : kind->columns / 2;
}

/* One panel of b times all of a. */
static Status panel_times_a(Product *p, int64_t j0, int64_t j1) {
  enum { WORTH_COPYING = 8 }; /* rows of a */
  bool copied = p->b.column != 1 || p->a.rows > WORTH_COPYING;
  double *to = p->panel;
  for (int64_t j = j0; copied && j < j1; j += p->kind.columns) {
    int columns = sliver_columns(&p->kind, j1 - j);
    copy_sliver(p, to, j, (int)least(columns, j1 - j), columns);
    to += p->depth * columns;
  }
  for (int64_t i = 0; i < p->a.rows; i += STRIPE) {
    to = p->panel;
    for (int64_t j = j0; j < j1; j += p->kind.columns) {
      int columns = sliver_columns(&p->kind, j1 - j), width = (int)least(columns, j1 - j);
      Tile t = {.a_row = p->a.row,
                .a_step = p->a.column,
                .c_row = p->b.columns,
                .count = p->depth,
                .columns = columns,
                .width = width};
      if (!copied && width < columns) copy_sliver(p, to, j, width, columns);
      bool in_place = !copied && width == columns;
      t.b = in_place ? p->b.data + p->k0 * p->b.row + j : to;
      t.b_step = in_place ? p->b.row : columns;
      if (rt_look(p->rt)) return 1;
      sliver_times_rows(p, t, i, least(i + STRIPE, p->a.rows), j);
      if (copied) to += p->depth * columns;
    }
  }
  return 0;
}

static Status all_panels(Product *p) {
  for (int64_t j = 0; j < p->b.columns; j += PANEL_WIDTH)
    for (p->k0 = 0; p->k0 < p->a.columns; p->k0 += PANEL_DEPTH) {
      p->depth = least(PANEL_DEPTH, p->a.columns - p->k0);
      if (panel_times_a(p, j, least(j + PANEL_WIDTH, p->b.columns))) return 1;
    }
  return 0;
}

/* Small products: what the loops above would prepare costs more. */
static void multiply_small(const Product *p) {
  const Operand *a = &p->a, *b = &p->b;
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t k = 0; k < a->columns; k++) {
      double factor = a->data[i * a->row + k * a->column], *c = p->c + i * b->columns;
      const double *row = b->data + k * b->row;
      for (int64_t j = 0; j < b->columns; j++) c[j] += factor * row[j * b->column];
    }
}

/* c, which is zero, becomes a b. */
static Status multiply(Product *p) {
  enum { SMALL = 100, ON_STACK = 1024 };
  if (p->a.rows * p->b.columns <= SMALL && p->a.rows * p->b.columns * p->a.columns <= SMALL) {
    multiply_small(p);
    return 0;
  }
  int64_t width = least(p->b.columns, PANEL_WIDTH) + p->kind.columns, depth = least(p->a.columns, PANEL_DEPTH);
  size_t size = ((size_t)(width * depth) * sizeof(double) + 63) / 64 * 64;
  double on_stack[ON_STACK];
  if (size <= sizeof on_stack) {
    p->panel = on_stack;
    return all_panels(p);
  }
  p->panel = rt_array_block_new(p->rt, size, false);
  if (!p->panel) return rt_out_of_memory(p->rt);
  Status failed = all_panels(p);
  rt_array_block_free(p->rt, p->panel, size);
  return failed;
}

/* ---- Rows in several threads ------------------------------------------------------------------------------------- */
typedef struct Rows {
  Arm arm;
  Product p;
} Rows;

static Rows rows_from(const Rows *r, int64_t first, int64_t count) {
  Rows part = *r;
  part.p.a.data += first * part.p.a.row;
  part.p.a.rows = count;
  part.p.c += first * part.p.b.columns;
  return part;
}

/* Halves of the rows are arms of a fork, down to parts that aren't worth it. Sizes alone decide. */
static Status multiply_rows(Rt *rt, const Arm *arm) {
  enum { LEAST_ROWS = 16, WORTH_SHARING = 1 << 22 }; /* the latter: multiplications */
  const Rows *r = (const Rows *)(const void *)arm;
  const Operand *a = &r->p.a;
  double work = (double)a->rows * (double)a->columns * (double)r->p.b.columns;
  if (a->rows < 2 * LEAST_ROWS || work < WORTH_SHARING) {
    Product p = r->p;
    p.rt = rt;
    return multiply(&p);
  }
  int64_t first = (a->rows / 2 + LEAST_ROWS - 1) / LEAST_ROWS * LEAST_ROWS;
  const Rows half[2] = {rows_from(r, 0, first), rows_from(r, first, a->rows - first)};
  return rt_fork(rt, (const Arm *const[]){&half[0].arm, &half[1].arm});
}

static Operand operand(const ArrayObj *a, bool transposed) {
  int64_t rows = a->dims[0], columns = a->dims[1];
  const double *data = &a->data->f;
  return transposed ? (Operand){data, columns, rows, 1, columns} : (Operand){data, rows, columns, columns, 1};
}

Status rt_matmul(Rt *rt, int kind, const Slot *args, Slot *res, uint32_t site) {
  Product p = {.rt = rt,
               .kind = kind_of_processor(kind),
               .a = operand(slot_array(&args[2]), args[0].i != 0),
               .b = operand(slot_array(&args[3]), args[1].i != 0)};
  if (p.a.columns != p.b.rows && p.a.rows)
    return rt_error(rt, ERR_SHAPE, site, "a %lld x %lld matrix can't be multiplied by a %lld x %lld one",
                    (long long)p.a.rows, (long long)p.a.columns, (long long)p.b.rows, (long long)p.b.columns);
  int64_t dims[2] = {p.a.rows, p.b.columns};
  ArrayObj *c = rt_new_array(rt, rt->desc_float_matrix, dims, true);
  if (!c) return 1;
  p.c = &c->data->f;
  static const Desc nothing = {.kind = D_UNIT};
  const Rows all = {{multiply_rows, NULL, &nothing, NULL}, p};
  if (p.a.rows && p.a.columns == p.b.rows && p.a.columns && p.b.columns && multiply_rows(rt, &all.arm)) {
    rt_release(rt, &c->h);
    return 1;
  }
  res->p = &c->h;
  return 0;
}

PRIM(prim_matmul) {
  PRIM_UNUSED;
  return rt_matmul(rt, 0, args, res, site);
}
