/* SPDX-License-Identifier: MIT */
/* Polynomials over a few symbols, with which costs are said: sizes of an argument, steps of loops, indices of loops. */
#ifndef ATLED_POLYNOMIAL_H
#define ATLED_POLYNOMIAL_H
#include "support/support.h"

enum { POLY_SYMBOLS = 24 };
typedef struct PolyTerm {
  double c;
  uint8_t exponents[POLY_SYMBOLS];
} PolyTerm;
/* A sum of terms with different exponents and coefficients that aren't 0; without any it is 0. Never changed once made.
 * More than LIMIT_COST_TERMS terms: NULL, which all operations hand on. */
typedef struct Poly {
  int n;
  PolyTerm terms[];
} Poly;

const Poly *poly_constant(Arena *a, double c);
const Poly *poly_symbol(Arena *a, int symbol);
const Poly *poly_add(Arena *a, const Poly *p, const Poly *q);
const Poly *poly_scale(Arena *a, const Poly *p, double by);
const Poly *poly_mul(Arena *a, const Poly *p, const Poly *q);
/* Term by term the greater coefficient: an upper bound of both where symbols are >= 0. */
const Poly *poly_bound(Arena *a, const Poly *p, const Poly *q);
/* The sum of p over symbol = 0 … n - 1. */
const Poly *poly_sum(Arena *a, const Poly *p, int symbol, const Poly *n);
bool poly_same(const Poly *p, const Poly *q);
bool poly_has(const Poly *p, int symbol);
bool poly_is_constant(const Poly *p, double *c); /* writes it */
#endif
