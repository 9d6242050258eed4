#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes linalg.atl beside itself: values, and derivatives to order 3, of the functions of `Linalg`, found by mpmath (Debian:
python3-mpmath) with 80 digits and rounded once. Derivatives are central differences at that precision, so they share
nothing with the rules of the library.

Each row has a function, its argument x, a direction v, and: the value; the gradient g of f, the sum over the floats y[k] of
the value of w[k] * (y[k] + y[k]^2 / 2) with w[k] = 0.3 + 0.1 * (7 k mod 5); the product h of f's Hessian and v; the
third derivative of f in direction v, for some. The tests take them in all mixes of modes.

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


def inverse(a):
    return rows(m.matrix(a) ** -1)


def det(a):
    return sum((mpf((-1) ** j) * a[0][j] * det([r[:j] + r[j + 1:] for r in a[1:]]) for j in range(len(a))), mpf(0)) if a else mpf(1)


def slogdet(a):
    return {"log_abs": m.log(abs(det(a))), "sign": m.sign(det(a))}


def plus(a, b):
    return [[x + y for x, y in zip(p, q)] for p, q in zip(a, b)]


def qr(a):
    """By the method of Gram and Schmidt, which loses half of the digits at worst: there are enough."""
    q = []
    for c in transpose(a)[:len(a)]:
        for p in q:
            along = sum(x * y for x, y in zip(p, c))
            c = [x - along * y for x, y in zip(c, p)]
        size = m.sqrt(sum(x * x for x in c))
        q.append([x / size for x in c])
    r = product(q, a)
    return {"q": transpose(q), "r": [[x if j >= i else mpf(0) for j, x in enumerate(row)] for i, row in enumerate(r)]}


def signed(columns, others=None):
    """Each column times the sign that makes its first element of half the largest's size positive; the others likewise."""
    largest = [max(map(abs, c)) for c in columns]
    signs = [m.sign(next(x for x in c if 2 * abs(x) >= l)) for c, l in zip(columns, largest)]
    return [[[s * x for x in c] for s, c in zip(signs, cs)] for cs in ([columns] if others is None else [columns, others])]


def eigh(a):
    values, vectors = m.eigsy(m.matrix(symmetric(a)))
    pairs = sorted(zip(list(values), transpose(rows(vectors))))
    return {"values": [w for w, _ in pairs], "vectors": transpose(signed([v for _, v in pairs])[0])}


def svd(a):
    if len(a) < len(a[0]):
        f = svd(transpose(a))
        return {"s": f["s"], "u": transpose(f["vt"]), "vt": transpose(f["u"])}
    e = eigh(product(transpose(a), a))
    s = [m.sqrt(w) for w in reversed(e["values"])]
    right = list(reversed(transpose(e["vectors"])))
    left = [[x / t for x in c] for t, c in zip(s, transpose(product(a, transpose(right))))]
    left, right = signed(left, right)
    return {"s": s, "u": transpose(left), "vt": right}


def pinv(a):
    t = transpose(a)
    return product(inverse(product(t, a)), t) if len(a) >= len(a[0]) else product(t, inverse(product(a, t)))


def lstsq(a, b):
    return [r[0] for r in product(pinv(a), [[x] for x in b])]


def kron(a, b):
    return [[x * y for x in p for y in q] for p in a for q in b]


def norm_spectral(a):
    return svd(a)["s"][0]


def norm_fro(a):
    return m.sqrt(sum(x * x for row in a for x in row))


def normal(a):
    """1 + aᵀ a."""
    return plus(identity(len(a)), product(transpose(a), a))


RANK_2 = (matrix(4, 2), matrix(2, 3))
FUNCTIONS = [   # name of the test, the library's function of a tuple or matrix, the same here, its argument; third derivatives too?
    ("solve", "fun (a, b) -> Linalg.solve a b", solve, (matrix(4, 4, 3.0), vector(4)), True),
    ("solve, pivoted", "fun (a, b) -> Linalg.solve a b", solve, ([[0.0, 1.0], [2.0, 0.5]], [1.0, -2.0])),
    ("solve_many", "fun (a, b) -> Linalg.solve_many a b", solve_many, (matrix(3, 3, 3.0), matrix(3, 2))),
    ("solve_lower", "fun (a, b) -> Linalg.solve_lower a b", lambda a, b: solve(triangle(a, True), b),
     (matrix(3, 3, 3.0), vector(3)), True),
    ("solve_upper", "fun (a, b) -> Linalg.solve_upper a b", lambda a, b: solve(triangle(a, False), b),
     (matrix(3, 3, 3.0), vector(3))),
    ("solve_lower_many", "fun (a, b) -> Linalg.solve_lower_many a b", lambda a, b: solve_many(triangle(a, True), b),
     (matrix(3, 3, 3.0), matrix(3, 2))),
    ("solve_upper_many", "fun (a, b) -> Linalg.solve_upper_many a b", lambda a, b: solve_many(triangle(a, False), b),
     (matrix(3, 3, 3.0), matrix(3, 2))),
    ("lu", "Linalg.lu", lu, matrix(4, 4), True),
    ("lu, tall", "Linalg.lu", lu, matrix(4, 2)),
    ("lu, wide", "Linalg.lu", lu, matrix(2, 4)),
    ("cholesky", "Linalg.cholesky", cholesky, spd(4), True),
    ("inverse", "Linalg.inverse", inverse, matrix(3, 3, 3.0), True),
    ("det", "Linalg.det", det, matrix(4, 4), True),
    ("det of rank n - 1", "Linalg.det", det, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], True),
    ("det of rank 1", "Linalg.det", det, [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [-1.0, -2.0, -3.0]]),
    ("det, nearly singular", "Linalg.det", det, [[0.1, 0.2, 1.0], [0.3, 0.6, 2.0], [0.5, 1.0, 0.25]]),
    ("logdet", "Linalg.logdet", lambda a: m.log(det(a)), spd(3), True),
    ("slogdet", "Linalg.slogdet", slogdet, matrix(3, 3)),
    ("qr", "Linalg.qr", qr, matrix(3, 3), True),
    ("qr, tall", "Linalg.qr", qr, matrix(4, 2)),
    ("qr, wide", "Linalg.qr", qr, matrix(2, 3)),
    ("eigh", "Linalg.eigh", eigh, matrix(4, 4), True),
    ("svd", "Linalg.svd", svd, matrix(3, 3), True),
    ("svd, tall", "Linalg.svd", svd, matrix(4, 2)),
    ("svd, wide", "Linalg.svd", svd, matrix(2, 3)),
    ("pinv", "Linalg.pinv", pinv, matrix(3, 2), True),
    ("pinv, wide", "Linalg.pinv", pinv, matrix(2, 3)),
    ("pinv of rank 2", "fun (x, y) -> Linalg.pinv (x @ y)", lambda x, y: product(pinv(y), pinv(x)), RANK_2),
    ("lstsq", "fun (a, b) -> Linalg.lstsq a b", lstsq, (matrix(4, 2), vector(4)), True),
    ("lstsq, wide", "fun (a, b) -> Linalg.lstsq a b", lstsq, (matrix(2, 3), vector(2))),
    ("lstsq of rank 2", "fun ((x, y), b) -> Linalg.lstsq (x @ y) b", lambda xy, b: lstsq(xy[1], lstsq(xy[0], b)), (RANK_2, vector(4))),
    ("expm", "Linalg.expm", lambda a: rows(m.expm(m.matrix(a))), matrix(3, 3), True),
    ("expm, squared", "fun a -> Linalg.expm (6.0 * a)", lambda a: rows(m.expm(6 * m.matrix(a))), matrix(2, 2)),
    ("kron", "fun (a, b) -> Linalg.kron a b", kron, (matrix(2, 2), matrix(1, 3))),
    ("norm_fro", "Linalg.norm_fro", norm_fro, matrix(2, 3)),
    ("norm_spectral", "Linalg.norm_spectral", norm_spectral, matrix(2, 3)),
    ("cond", "Linalg.cond", lambda a: svd(a)["s"][0] / svd(a)["s"][-1], matrix(3, 2)),
    ("cg", "fun (a, b) -> Linalg.cg (fun x -> x + transpose a @ (a @ x)) b", lambda a, b: solve(normal(a), b),
     (matrix(3, 3), vector(3)), True),
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


def row(name, text, function, x, order_3=False):
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
    if not order_3:
        third = mpf(0)
    return (f'test "{name}" =\n  {"agrees_thrice" if order_3 else "agrees"} ({text})\n    {atled(x)}\n    {atled(like(x, iter(v)))}\n'
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

# Reverse, forward, forward over reverse, reverse over forward, reverse over reverse, forward over forward.
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
# The same, and forward over reverse over forward.
let agrees_thrice f x v table =
  let l x = loss (f x) in
  let along x = snd (jvp l x v) in
  agrees f x v table && close "the third derivative" [inner (hvp along x v) v] [table.third]
"""


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "linalg.atl"), "w", encoding="utf-8") as out:
        out.write(HEAD + "".join("\n" + row(*f) for f in FUNCTIONS))


if __name__ == "__main__":
    main()
