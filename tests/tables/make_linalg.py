#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes linalg.atl beside itself: values, and derivatives to order 3, of the functions of `Linalg`, found by mpmath (Debian:
python3-mpmath) with 80 digits and rounded once. Derivatives are central differences at that precision, so they share
nothing with the rules of the library.

Each row has a function, its argument x, a direction v, and: the value; the gradient g of f, the sum over the floats y[k] of
the value of w[k] * (y[k] + y[k]^2 / 2) with w[k] = 0.3 + 0.1 * (7 k mod 5); the product h of f's Hessian and v; the
third derivative of f in direction v. The tests take them in all mixes of modes.

usage: make_linalg.py        run the tests with: atled test tests/tables/linalg.atl"""
import os
import random
import mpmath as m
from mpmath import mp, mpf

mp.dps = 80
STEP = mpf(10) ** -18
random.seed(31)


def matrix(rows, columns, shift=0.0):
    return [[round(random.uniform(-2, 2), 2) + (shift if i == j else 0.0) for j in range(columns)] for i in range(rows)]


def vector(n):
    return [round(random.uniform(-2, 2), 2) for _ in range(n)]


def spd(n):
    b = matrix(n, n)
    return [[round(sum(b[i][k] * b[j][k] for k in range(n)) + (1.0 if i == j else 0.0), 4) for j in range(n)] for i in range(n)]


# ---- The functions, on lists of rows of mpf; results are structures ------------------------------------------------

def shape(a):
    return len(a), len(a[0]) if a else 0


def product(a, b):
    return [[sum((x * b[k][j] for k, x in enumerate(row)), mpf(0)) for j in range(shape(b)[1])] for row in a]


def transpose(a):
    return [list(c) for c in zip(*a)]


def symmetric(a):
    return [[(a[i][j] + a[j][i]) / 2 for j in range(len(a))] for i in range(len(a))]


def identity(n):
    return [[mpf(i == j) for j in range(n)] for i in range(n)]


def rows(a):
    return [[a[i, j] for j in range(a.cols)] for i in range(a.rows)]


def lu(a):
    """By partial pivoting, written out: mpmath's is for systems of equations."""
    (r, c), a = shape(a), [list(row) for row in a]
    order, sign = list(range(r)), mpf(1)
    for j in range(min(r, c)):
        p = max(range(j, r), key=lambda i: abs(a[i][j]))
        if p != j:
            a[j], a[p], order[j], order[p], sign = a[p], a[j], order[p], order[j], -sign
        for i in range(j + 1, r):
            a[i][j] /= a[j][j]
            for k in range(j + 1, c):
                a[i][k] -= a[i][j] * a[j][k]
    k = min(r, c)
    l = [[a[i][j] if j < i else mpf(i == j) for j in range(k)] for i in range(r)]
    u = [[a[i][j] if j >= i else mpf(0) for j in range(c)] for i in range(k)]
    return {"l": l, "sign": sign, "u": u}


def solve_many(a, b):
    return rows(m.matrix(a) ** -1 * m.matrix(b))


def solve(a, b):
    return [r[0] for r in solve_many(a, [[x] for x in b])]


def triangle(a, lower):
    return [[x if (j <= i if lower else j >= i) else mpf(0) for j, x in enumerate(row)] for i, row in enumerate(a)]


def cholesky(a):
    return rows(m.cholesky(m.matrix(symmetric(a))))


FUNCTIONS = [   # name in the tests, the library's function of a tuple or matrix, the same here, its argument, tolerance
    ("solve", "fun (a, b) -> Linalg.solve a b", solve, (matrix(4, 4, 3.0), vector(4))),
    ("solve, pivoted", "fun (a, b) -> Linalg.solve a b", solve, ([[0.0, 1.0], [2.0, 0.5]], [1.0, -2.0])),
    ("solve_many", "fun (a, b) -> Linalg.solve_many a b", solve_many, (matrix(3, 3, 3.0), matrix(3, 2))),
    ("solve_lower", "fun (a, b) -> Linalg.solve_lower a b", lambda a, b: solve(triangle(a, True), b),
     (matrix(3, 3, 3.0), vector(3))),
    ("solve_upper", "fun (a, b) -> Linalg.solve_upper a b", lambda a, b: solve(triangle(a, False), b),
     (matrix(3, 3, 3.0), vector(3))),
    ("solve_lower_many", "fun (a, b) -> Linalg.solve_lower_many a b", lambda a, b: solve_many(triangle(a, True), b),
     (matrix(3, 3, 3.0), matrix(3, 2))),
    ("solve_upper_many", "fun (a, b) -> Linalg.solve_upper_many a b", lambda a, b: solve_many(triangle(a, False), b),
     (matrix(3, 3, 3.0), matrix(3, 2))),
    ("lu", "Linalg.lu", lu, matrix(4, 4)),
    ("lu, tall", "Linalg.lu", lu, matrix(4, 2)),
    ("lu, wide", "Linalg.lu", lu, matrix(2, 4)),
    ("cholesky", "Linalg.cholesky", cholesky, spd(4)),
]


# ---- Their derivatives ---------------------------------------------------------------------------------------------

def leaves(x):
    """All floats of a structure, in the order of the library: fields by name."""
    if isinstance(x, dict):
        return [y for k in sorted(x) for y in leaves(x[k])]
    if isinstance(x, (list, tuple)):
        return [z for y in x for z in leaves(y)]
    return [x]


def like(x, numbers):
    """x with its floats taken from an iterator."""
    if isinstance(x, (list, tuple)):
        return type(x)(like(y, numbers) for y in x)
    return next(numbers)


def loss(function, x, numbers):
    arg = like(x, iter(numbers))
    y = leaves(function(*arg) if isinstance(x, tuple) else function(arg))
    return sum((mpf(3 + 7 * k % 5) / 10 * (t + t * t / 2) for k, t in enumerate(y)), mpf(0))


def moved(at, v, t):
    return [a + t * b for a, b in zip(at, v)]


def gradient(f, at):
    unit = [[mpf(i == j) for j in range(len(at))] for i in range(len(at))]
    return [(f(moved(at, e, STEP)) - f(moved(at, e, -STEP))) / (2 * STEP) for e in unit]


def row(name, text, function, x):
    def f(numbers):
        return loss(function, x, numbers)
    at = [mpf(t) for t in leaves(x)]
    v = [mpf(round(random.uniform(-1, 1), 2)) for _ in at]
    arg = like(x, iter(at))
    value = leaves(function(*arg) if isinstance(x, tuple) else function(arg))
    g = gradient(f, at)
    h = [(p - q) / (2 * STEP) for p, q in zip(gradient(f, moved(at, v, STEP)), gradient(f, moved(at, v, -STEP)))]
    third = (f(moved(at, v, 2 * STEP)) - 2 * f(moved(at, v, STEP)) + 2 * f(moved(at, v, -STEP))
             - f(moved(at, v, -2 * STEP))) / (2 * STEP ** 3)
    return (f'test "{name}" =\n  agrees ({text})\n    {atled(x)}\n    {atled(like(x, iter(v)))}\n'
            f"    {{value = {atled(value)},\n     g = {atled(g)},\n     h = {atled(h)},\n     third = {atled(third)}}}\n")


def atled(x):
    if isinstance(x, tuple):
        return "(" + ", ".join(map(atled, x)) + ")"
    if isinstance(x, list):
        return "[" + ", ".join(map(atled, x)) + "]"
    return repr(float(m.nstr(x, 25)) + 0.0) if isinstance(x, mpf) else repr(x)


HEAD = """# SPDX-License-Identifier: MIT
# Values, and derivatives to order 3 in all mixes of modes, of the functions of `Linalg`: made by make_linalg.py, which says what
# the numbers are. Edit that file.

let loss y =
  let ys = floats y in
  sum [ (0.3 + 0.1 * float (7 * k % 5)) * (ys[k] + 0.5 * ys[k] * ys[k]) | k < length ys ]

# The largest difference between computed numbers and those of the table, relative to the largest of these where that exceeds 1.
let gap (got : float[]) (want : float[]) =
  if length got <> length want then inf
  else maximum (map abs (got - want)) / max 1.0 (maximum (map abs want))
let close what got want =
  let d = gap got want in
  if d < 1e-10 then true else fail $"{what} is off by {d}: {got}"

# Reverse, forward, forward over reverse, reverse over forward, reverse over reverse, forward three times.
let agrees f x v table =
  let l x = loss (f x) in
  let along x = snd (jvp l x v) in
  let twice x = snd (jvp along x v) in
  let vs = floats v in
  close "the value" (floats (f x)) table.value
  && close "the gradient" (floats (grad l x)) table.g
  && close "the derivative along v" [along x] [dot table.g vs]
  && close "forward over reverse" (floats (hvp l x v)) table.h
  && close "reverse over forward" (floats (grad along x)) table.h
  && close "reverse over reverse" (floats (grad (fun x -> inner (grad l x) v) x)) table.h
  && close "forward over forward" [twice x] [dot table.h vs]
  && close "forward three times" [snd (jvp twice x v)] [table.third]
  && close "reverse over forward twice" [inner (grad twice x) v] [table.third]
"""


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "linalg.atl"), "w", encoding="utf-8") as out:
        out.write(HEAD + "".join("\n" + row(*f) for f in FUNCTIONS))


if __name__ == "__main__":
    main()
