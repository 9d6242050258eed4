#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes certificate.txt: scalar functions with their partial derivatives to order 3 at ordinary points and at edges, for
docs/make_certificate.py.

usage: make_certificate.py > certificate.txt      (Debian: python3-sympy, python3-mpmath; about a minute)

Derivatives are those of formulas, taken by SymPy and evaluated by mpmath with digits that double until two evaluations agree.
At an edge (a zero, the end of the domain, an infinity) they are limits from inside the domain: two evaluations, 1e-340
and 1e-800 away, agree, or the second is much larger (the limit is infinite), or much smaller (it is 0).

A row is: name, arguments, then for each derivative `orders value scale`. `orders` are the orders by each argument (01: once
by the second). `scale` is |g| + sum |x_i dg/dx_i| of the derivative g, the denominator of a conditioned unit."""
import functools
import itertools
import math
import sys
import mpmath as mp
import sympy as sp

X, Y = sp.symbols("x y", real=True)
THIRD = sp.Rational(1, 3)
TINY, TINIER = mp.mpf("1e-340"), mp.mpf("1e-800")
HUGE = mp.mpf("1e320")
ORDER = 3

# ---- Points -----------------------------------------------------------------------------------------------------------
SMALL = [5e-324, 1e-300, 1e-160, 1e-20, 1e-8, 1e-3]
MIDDLE = [0.1, 0.4375, 0.7, 1.0, 1.5, 2.0, 3.141592653589793, 5.25, 9.7]
LARGE = [26.3, 50.0, 355.2, 708.5, 1e3, 1e5, 1e10, 1e100, 1e300]
INF = float("inf")
POSITIVE = SMALL + MIDDLE + LARGE
REAL = [-INF] + [-x for x in reversed(POSITIVE)] + [-0.0, 0.0] + POSITIVE + [INF]
UNIT = SMALL + [0.1, 0.4375, 0.7, 0.9, 0.999, 1 - 1e-10, 1 - 2.0**-53]
UNITS = [-1.0] + [-x for x in UNIT] + [0.0] + UNIT + [1.0]
POLES = [-0.5, -1.5, -2.457024738220801, -3.3, -10.3, -1 + 1e-10, -2 - 1e-8, -20.75, -100.5]
GAMMA = SMALL + MIDDLE + [1.4616321449683622, 1 + 1e-8, 2 - 1e-7, 12.5, 26.3, 100.0, 171.5] + POLES
HALF = [x for x in MIDDLE if x < 9] + [-x for x in MIDDLE if x < 9]


def pairs(xs, ys):
    return list(itertools.product(xs, ys))


PLANE = (pairs([-3.5, -1e-8, 0.7, 2.0], [-1.25, 1e-8, 0.7, 40.0])
         + pairs([1e-300, 1e160, 1e300], [2.0, 1e-300, 1e160]) + [(0.0, 2.0), (0.0, -2.0), (2.0, 0.0), (-2.0, 0.0)]
         + [(1.0, 1.0000000000000002), (-1e10, 1.0), (1.0, -1e10)])
POWERS = (pairs([1e-8, 0.3, 1.0, 1.0000001, 2.5, 1e3], [-2.5, -1.0, 0.0, 1e-8, 0.5, 1.0, 2.0, 3.7])
          + [(2.0, 1000.0), (2.0, -1000.0), (1e-300, 0.5), (1e300, 1.01), (0.999, 5e4), (-2.0, 3.0), (-0.5, -2.0)]
          + pairs([0.0], [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 7.25]))


# ---- Functions --------------------------------------------------------------------------------------------------------
def choose(cases):
    """A formula for each sign of x, (negative, zero, positive)."""
    return lambda x: cases[int(x > 0) - int(x < 0) + 1]


def step(f):
    return lambda x: sp.Float(f(x)) if abs(x) < INF else sp.nan


def away(x):
    """The nearest integer, halves away from zero."""
    return mp.sign(x) * mp.floor(abs(x) + mp.mpf(1) / 2)


def sign(x):
    return sp.Integer(int(x > 0) - int(x < 0))


STEPS = [x for x in REAL if 1e-10 < abs(x) < 1e12 and x != int(x)]
UNARY = {
    "abs": (choose([-X, sp.Integer(0), X]), REAL), "sign": (sign, REAL),
    "floor": (step(mp.floor), STEPS), "ceil": (step(mp.ceil), STEPS),
    "trunc": (step(lambda x: mp.sign(x) * mp.floor(abs(x))), STEPS), "round": (step(away), STEPS),
    "relu": (choose([sp.Integer(0), sp.Integer(0), X]), REAL),
    "sqrt": (sp.sqrt(X), [0.0] + POSITIVE + [INF]),
    "cbrt": (lambda x: -((-X)**THIRD) if math.copysign(1, x) < 0 else X**THIRD, [x for x in REAL if abs(x) > 1e-310 or x == 0]),
    "exp": (sp.exp(X), REAL), "expm1": (sp.exp(X) - 1, REAL),
    "log": (sp.log(X), [0.0] + POSITIVE + [1 - 2.0**-53, 1 + 2.0**-52, INF]),
    "log1p": (sp.log(1 + X), [-1.0, -1 + 2.0**-53, -0.9, -0.4375, -1e-8, -1e-300, 0.0] + POSITIVE + [INF]),
    "log2": (sp.log(X) / sp.log(2), [0.0] + POSITIVE + [1 - 2.0**-53, INF]),
    "log10": (sp.log(X) / sp.log(10), [0.0] + POSITIVE + [1 - 2.0**-53, INF]),
    "sin": (sp.sin(X), REAL), "cos": (sp.cos(X), REAL + [1.5707963267948966]), "tan": (sp.tan(X), REAL + [1.5707963267948966]),
    "asin": (sp.asin(X), UNITS), "acos": (sp.acos(X), UNITS), "atan": (sp.atan(X), REAL),
    "sinh": (sp.sinh(X), REAL), "cosh": (sp.cosh(X), REAL), "tanh": (sp.tanh(X), REAL),
    "asinh": (sp.asinh(X), REAL), "acosh": (sp.acosh(X), [1.0, 1 + 2.0**-52, 1 + 1e-8, 1.1] + [x for x in POSITIVE if x > 1] + [INF]),
    "atanh": (sp.atanh(X), UNITS), "erf": (sp.erf(X), REAL), "erfc": (sp.erfc(X), REAL),
    "gamma": (sp.gamma(X), GAMMA + [1e3]), "lgamma": (None, GAMMA + LARGE), "digamma": (sp.polygamma(0, X), GAMMA + LARGE),
    "sigmoid": (1 / (1 + sp.exp(-X)), REAL), "softplus": (sp.log(1 + sp.exp(X)), REAL),
}
for n in (-3, -1, 0, 1, 2, 3, 10):
    UNARY[f"power_{n}".replace("-", "m")] = (X**n if n else sp.Integer(1), REAL)
BINARY = {
    "hypot": (lambda x, y: sp.sqrt(X**2 + Y**2), PLANE),
    "atan2": (lambda y, x: atan2_formula(y, x), PLANE),
    "pow": (lambda x, y: X**Y, POWERS),
    "min": (lambda x, y: Y if y < x else X, PLANE), "max": (lambda x, y: Y if y > x else X, PLANE),
}


def atan2_formula(y, x):
    """The branch of atan2 y x, called with y as the first argument."""
    if abs(x) >= abs(y):
        return sp.atan(X / Y) + (0 if x > 0 else sp.pi if y >= 0 else -sp.pi)
    return (sp.pi / 2 if y > 0 else -sp.pi / 2) - sp.atan(Y / X)


# ---- Evaluation -------------------------------------------------------------------------------------------------------
@functools.cache
def compiled(expr, n):
    names = {"erfc": lambda z: mp.erfc(z) if z < 1e6 else mp.mpf(0),
             "polygamma": lambda n, z: mp.psi(int(n), z), "loggamma": lambda z: mp.log(abs(mp.gamma(z)))}
    return sp.lambdify((X, Y)[:n], expr, [names, "mpmath"])


def precise(g, point):
    """g at a point of mpf with digits that double until two evaluations agree to 30; None where it has no real value."""
    last = None
    for digits in (60, 240, 1000, 4000):
        with mp.workdps(digits):
            try:
                new = g(*[mp.mpf(v) for v in point])
            except (ZeroDivisionError, ValueError, OverflowError):
                return None
            new = mp.re(new) if abs(mp.im(new)) < mp.mpf(10)**(-digits // 2) else mp.nan
            if mp.isnan(new):
                return None
            if last and abs(new - last) <= abs(new) * mp.mpf("1e-30"):
                return new
            last = new
    return mp.mpf(0) if abs(last) < mp.mpf("1e-2000") else None


def nudged(point, name, how):
    """The point moved by a little into the domain, in place of its zeros, ends and infinities."""
    out = []
    for v in point:
        if abs(v) == INF:
            out.append(mp.sign(v) / how)
        elif v == 0 and name not in ("sin", "cos", "exp"):
            out.append(math.copysign(1, v) * how)
        elif abs(v) == 1 and name in ("asin", "acos", "atanh", "log1p"):
            out.append(mp.mpf(v) * (1 - how))
        elif v == 1 and name == "acosh":
            out.append(1 + how)
        else:
            out.append(mp.mpf(v))
    return out


def limit(g, point, name):
    if name in ("sin", "cos", "tan"):
        return mp.nan
    with mp.workdps(4000):
        near, nearer = nudged(point, name, TINY), nudged(point, name, TINIER)
    with mp.workdps(60):
        a, b = precise(g, near), precise(g, nearer)
        if a is None or b is None:
            return mp.nan
        if abs(a - b) <= abs(b) * mp.mpf("1e-25"):
            return b
        if abs(b) > 1.5 * abs(a):
            return mp.sign(b) * mp.inf
        return mp.mpf(0) if abs(b) < 0.7 * abs(a) or abs(b) < mp.mpf("1e-339") else mp.nan


def is_edge(point, name):
    ends = name in ("asin", "acos", "atanh", "log1p", "acosh")
    return any(v == 0 or abs(v) == INF or (ends and abs(v) == 1) for v in point)


def at(expr, point, name):
    g = compiled(expr, len(point))
    if not is_edge(point, name):
        value = precise(g, point)
        return mp.nan if value is None else value
    if not expr.free_symbols:
        return precise(g, [1] * len(point))
    exact = None if any(abs(v) == INF for v in point) else precise(g, point)
    if exact is not None and mp.isfinite(exact):
        return exact
    return limit(g, point, name)


def digits(v):
    if not mp.isfinite(v):
        return "nan" if mp.isnan(v) else "inf" if v > 0 else "-inf"
    if abs(v) > HUGE:
        return "1e400" if v > 0 else "-1e400"
    return "0" if v == 0 or abs(v) < mp.mpf("1e-340") else mp.nstr(v, 21, min_fixed=0, max_fixed=0).replace("e+", "e")


def shown_scale(v):
    return "inf" if v > HUGE else "0" if v < 1 / HUGE else mp.nstr(v, 4)


@functools.cache
def derivative(expr, orders):
    for symbol, k in zip((X, Y), orders):
        expr = sp.diff(expr, symbol, k) if k else expr
    return expr


def multi_indices(n):
    return [o for total in range(ORDER + 1) for o in itertools.product(range(total + 1), repeat=n) if sum(o) == total]


def row(name, expr, point):
    cells = []
    for orders in multi_indices(len(point)):
        value = at(derivative(expr, orders), point, name)
        scale = abs(value)
        for i, v in enumerate(point):
            if v != 0 and abs(v) != INF and mp.isfinite(scale):
                more = at(derivative(expr, tuple(o + (j == i) for j, o in enumerate(orders))), point, name)
                scale += abs(v * more) if mp.isfinite(more) else mp.inf
        cells.append(f"{''.join(map(str, orders))} {digits(value)} {shown_scale(scale)}")
    print(name, *map(repr, point), "", sep=" ", end="; ")
    print(*cells, sep="; ")


def log_gamma(x):
    return sp.loggamma(X)


# ---- Functions of modules, whose derivatives mpmath takes ----------------------------------------------------------------
def gamma_inc(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def beta_inc(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def normal_quantile(p):
    """The inverse of the distribution function, from a start of 15 digits by Newton's method on its logarithm."""
    if p > mp.mpf(1) / 2:
        return -normal_quantile(1 - p)
    tail = lambda x: mp.erfc(-x / mp.sqrt(2)) / 2
    x = -mp.sqrt(-2 * mp.log(2 * p)) if p < mp.mpf("0.1") else mp.sqrt(2) * mp.erfinv(2 * p - 1)
    for _ in range(12):
        x -= mp.log(tail(x) / p) * tail(x) / mp.npdf(x)
    return x


NUMERIC = {
    "Stats.gamma_inc": (gamma_inc, [(0.3, 0.05), (0.3, 2.5), (2.5, 1.3), (2.5, 9.0), (30.0, 22.0), (30.0, 33.5), (150.25, 140.0),
                                    (1e-3, 0.5), (12.5, 80.0), (5.0, 1e-3)]),
    "Stats.beta_inc": (beta_inc, [(0.3, 0.7, 0.01), (0.3, 0.7, 0.9), (2.5, 1.25, 0.4), (30.0, 12.0, 0.75), (30.0, 12.0, 0.5),
                                  (0.5, 100.0, 0.02), (8.0, 0.05, 0.93), (2.0, 3.0, 1e-5), (2.5, 1e-6, 0.999), (14.0, 0.02, 0.999999),
                                  (1e-4, 3.0, 1e-5), (40.0, 0.2, 0.9999), (0.05, 0.001, 0.8)]),
    "Stats.erf_inv": (mp.erfinv, [(0.3,), (-0.7,), (0.99,), (-0.9999,), (1e-9,), (0.5,)]),
    "Stats.normal_quantile": (normal_quantile, [(0.3,), (0.975,), (1e-3,), (1e-12,), (0.7,), (1e-20,),
                                               (0.999999,)]),
}


def numeric(f, point, orders):
    with mp.workdps(60):
        x = tuple(map(mp.mpf, point))
        return +mp.diff(f, x if len(x) > 1 else x[0], orders if len(x) > 1 else orders[0]) if any(orders) else f(*x)


def numeric_row(name, f, point):
    """To order 2: a third derivative of these takes minutes."""
    cells = []
    for orders in [o for o in multi_indices(len(point)) if sum(o) < ORDER]:
        value = numeric(f, point, orders)
        more = [numeric(f, point, tuple(o + (j == i) for j, o in enumerate(orders))) for i in range(len(point))]
        scale = abs(value) + sum(abs(v * m) for v, m in zip(point, more))
        cells.append(f"{''.join(map(str, orders))} {digits(value)} {shown_scale(scale)}")
    print(name, *map(repr, point), "", sep=" ", end="; ")
    print(*cells, sep="; ")


def main():
    print("# SPDX-License-Identifier: MIT")
    print(f"# Made by make_certificate.py from SymPy {sp.__version__} and mpmath {mp.__version__}: not to be edited.")
    for name, (made, points) in UNARY.items():
        for x in points:
            expr = log_gamma(x) if made is None else made(x) if callable(made) and not isinstance(made, sp.Basic) else made
            row(name, expr, (x,))
        print(name, file=sys.stderr)
    for name, (made, points) in BINARY.items():
        for point in points:
            row(name, made(*point), point)
        print(name, file=sys.stderr)
    for name, (f, points) in NUMERIC.items():
        for point in points:
            numeric_row(name, f, point)
        print(name, file=sys.stderr)


main()
