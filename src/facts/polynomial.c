/* SPDX-License-Identifier: MIT */
/* Polynomials. Terms stand in the order in which they were met; there are few, so that equal ones are searched for. */
#include "facts/polynomial.h"
#include <string.h>

typedef struct Builder {
  Poly *p;
  bool full;
} Builder;

static Builder begin(Arena *a) {
  return (Builder){arena_alloc(a, sizeof(Poly) + sizeof(PolyTerm) * LIMIT_COST_TERMS), false};
}

static PolyTerm *find(const Poly *p, const PolyTerm *like) {
  for (int i = 0; i < p->n; i++)
    if (memcmp(p->terms[i].exponents, like->exponents, sizeof like->exponents) == 0)
      return (PolyTerm *)(uintptr_t)&p->terms[i];
  return NULL;
}

static void add_term(Builder *b, const PolyTerm *t) {
  PolyTerm *same = find(b->p, t);
  if (same) same->c += t->c;
  else if (b->p->n == LIMIT_COST_TERMS) b->full = true;
  else if (t->c != 0) b->p->terms[b->p->n++] = *t;
}

static const Poly *end(const Builder *b) {
  int n = 0;
  for (int i = 0; i < b->p->n; i++)
    if (b->p->terms[i].c != 0) b->p->terms[n++] = b->p->terms[i];
  b->p->n = n;
  return b->full ? NULL : b->p;
}

const Poly *poly_constant(Arena *a, double c) {
  Poly *p = arena_alloc(a, sizeof(Poly) + sizeof(PolyTerm));
  p->n = c != 0;
  p->terms[0].c = c;
  return p;
}

const Poly *poly_symbol(Arena *a, int symbol) {
  Poly *p = arena_alloc(a, sizeof(Poly) + sizeof(PolyTerm));
  p->n = 1;
  p->terms[0].c = 1;
  p->terms[0].exponents[symbol] = 1;
  return p;
}

const Poly *poly_add(Arena *a, const Poly *p, const Poly *q) {
  double x, y;
  if (!p || !q) return NULL;
  if (!p->n) return q;
  if (!q->n) return p;
  if (poly_is_constant(p, &x) && poly_is_constant(q, &y)) return poly_constant(a, x + y);
  Builder b = begin(a);
  for (int i = 0; i < p->n; i++) add_term(&b, &p->terms[i]);
  for (int i = 0; i < q->n; i++) add_term(&b, &q->terms[i]);
  return end(&b);
}

const Poly *poly_scale(Arena *a, const Poly *p, double by) {
  return by == 1 ? p : poly_mul(a, p, poly_constant(a, by));
}

const Poly *poly_mul(Arena *a, const Poly *p, const Poly *q) {
  double x, y;
  if (!p || !q) return NULL;
  if (poly_is_constant(p, &x) && poly_is_constant(q, &y)) return poly_constant(a, x * y);
  Builder b = begin(a);
  for (int i = 0; i < p->n; i++)
    for (int k = 0; k < q->n; k++) {
      PolyTerm t = p->terms[i];
      t.c *= q->terms[k].c;
      for (int s = 0; s < POLY_SYMBOLS; s++) t.exponents[s] = (uint8_t)(t.exponents[s] + q->terms[k].exponents[s]);
      add_term(&b, &t);
    }
  return end(&b);
}

const Poly *poly_bound(Arena *a, const Poly *p, const Poly *q) {
  if (!p || !q) return NULL;
  Builder b = begin(a);
  for (int i = 0; i < p->n; i++) {
    PolyTerm t = p->terms[i];
    const PolyTerm *other = find(q, &t);
    double c = other ? other->c : 0;
    t.c = t.c > c ? t.c : c;
    add_term(&b, &t);
  }
  for (int k = 0; k < q->n; k++)
    if (!find(p, &q->terms[k]) && q->terms[k].c > 0) add_term(&b, &q->terms[k]);
  return end(&b);
}

/*  Σ i^k, i = 0 … n - 1:  n    n(n-1)/2    n(n-1)(2n-1)/6    n^2(n-1)^2/4    and beyond about n^(k+1)/(k+1) */
static const Poly *power_sum(Arena *a, int k, const Poly *n) {
  const Poly *less = poly_add(a, n, poly_constant(a, -1)), *pairs = poly_scale(a, poly_mul(a, n, less), 0.5);
  switch (k) {
  case 0: return n;
  case 1: return pairs;
  case 2: return poly_scale(a, poly_mul(a, pairs, poly_add(a, n, less)), 1.0 / 3);
  case 3: return poly_mul(a, pairs, pairs);
  default: break;
  }
  const Poly *p = n;
  for (int i = 0; i < k; i++) p = poly_mul(a, p, n);
  return poly_scale(a, p, 1.0 / (k + 1));
}

const Poly *poly_sum(Arena *a, const Poly *p, int symbol, const Poly *n) {
  if (!p || !n) return NULL;
  if (!poly_has(p, symbol)) return poly_mul(a, p, n);
  const Poly *sum = poly_constant(a, 0);
  for (int i = 0; i < p->n; i++) {
    Poly *rest = arena_alloc(a, sizeof(Poly) + sizeof(PolyTerm));
    rest->n = 1;
    rest->terms[0] = p->terms[i];
    rest->terms[0].exponents[symbol] = 0;
    sum = poly_add(a, sum, poly_mul(a, rest, power_sum(a, p->terms[i].exponents[symbol], n)));
  }
  return sum;
}

bool poly_same(const Poly *p, const Poly *q) {
  if (p == q) return true;
  if (!p || !q || p->n != q->n) return false;
  for (int i = 0; i < p->n; i++) {
    const PolyTerm *t = find(q, &p->terms[i]);
    if (!t || t->c != p->terms[i].c) return false;
  }
  return true;
}

bool poly_has(const Poly *p, int symbol) {
  for (int i = 0; p && i < p->n; i++)
    if (p->terms[i].exponents[symbol]) return true;
  return false;
}

bool poly_is_constant(const Poly *p, double *c) {
  static const uint8_t none[POLY_SYMBOLS];
  if (!p || p->n > 1 || (p->n && memcmp(p->terms[0].exponents, none, sizeof none) != 0)) return false;
  *c = p->n ? p->terms[0].c : 0;
  return true;
}
