/* SPDX-License-Identifier: MIT */
/* The innermost part of matrix products: a tile of the result, held in registers, plus a row of a times a row of b for
 * each k. matmul.c includes this file once for each kind of processor, with
 *   TILE_NAME(x)     x with the kind's suffix,
 *   TILE_TARGET      the attribute that lets the compiler use its instructions,
 *   LANES            numbers in a vector register,
 *   TILE_ROWS        rows of the largest tile; TILE_VECTORS, its vectors in a row,
 *   MULTIPLY_ADD     a * b + c of vectors, rounded once where the processor has that,
 *   LOAD_SOME, STORE_SOME   the first n numbers of a vector, n <= LANES, n <= 0 for none.
 * Each element is summed from left to right, whatever the tile. */
typedef double TILE_NAME(Vector) __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
#define VECTOR TILE_NAME(Vector)

/* The row's j-th vector of c, of which only the first columns may exist. */
static inline __attribute__((always_inline)) TILE_TARGET VECTOR TILE_NAME(load)(const Tile *t, const double *row,
                                                                                int j) {
  if (t->width == t->columns) return *(const VECTOR *)(row + j * LANES);
  return (VECTOR)LOAD_SOME(row + j * LANES, t->width - j * LANES);
}

static inline __attribute__((always_inline)) TILE_TARGET void TILE_NAME(store)(const Tile *t, double *row, int j,
                                                                               VECTOR v) {
  if (t->width == t->columns) *(VECTOR *)(row + j * LANES) = v;
  else STORE_SOME(row + j * LANES, t->width - j * LANES, v);
}

/* c[i][j] += the sum over k of a[i][k] * b[k][j], for i < rows and j < vectors * LANES; rows and vectors are constants
 * where this is inlined. In strict mode products are rounded before they are added. */
static inline __attribute__((always_inline)) TILE_TARGET void TILE_NAME(sum)(const Tile *t, int rows, int vectors,
                                                                             bool strict) {
  VECTOR acc[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; j++) acc[i][j] = TILE_NAME(load)(t, t->c + i * t->c_row, j);
  const double *a = t->a, *b = t->b;
  for (int64_t k = 0; k < t->count; k++, a += t->a_step, b += t->b_step) {
    VECTOR row[TILE_VECTORS];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; j++) row[j] = *(const VECTOR *)(b + j * LANES);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
      VECTOR factor = a[i * t->a_row] - (VECTOR){0};
#pragma GCC unroll 4
      for (int j = 0; j < vectors; j++)
        if (strict) acc[i][j] += factor * row[j];
        else acc[i][j] = (VECTOR)MULTIPLY_ADD(factor, row[j], acc[i][j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; j++) TILE_NAME(store)(t, t->c + i * t->c_row, j, acc[i][j]);
}

static inline __attribute__((always_inline)) TILE_TARGET void TILE_NAME(sum_rows)(const Tile *t, int vectors,
                                                                                  bool strict) {
  if (t->rows == TILE_ROWS) TILE_NAME(sum)(t, TILE_ROWS, vectors, strict);
  else if (t->rows == 4) TILE_NAME(sum)(t, 4, vectors, strict);
  else if (t->rows == 2) TILE_NAME(sum)(t, 2, vectors, strict);
  else TILE_NAME(sum)(t, 1, vectors, strict);
}

static TILE_TARGET void TILE_NAME(tile)(const Tile *t, bool strict) {
  bool narrow = t->columns == LANES;
  if (strict) narrow ? TILE_NAME(sum_rows)(t, 1, true) : TILE_NAME(sum_rows)(t, TILE_VECTORS, true);
  else narrow ? TILE_NAME(sum_rows)(t, 1, false) : TILE_NAME(sum_rows)(t, TILE_VECTORS, false);
}
#undef VECTOR
#undef TILE_NAME
#undef TILE_TARGET
#undef LANES
#undef TILE_ROWS
#undef TILE_VECTORS
#undef MULTIPLY_ADD
#undef LOAD_SOME
#undef STORE_SOME
