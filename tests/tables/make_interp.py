#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes interp.atl: values of interpolating curves, and their first and second derivatives by all arguments, for
stdlib/tests/interp.atl.

usage: make_interp.py > interp.atl      (pip install scipy mpmath)

The curves are computed anew with 40 digits (mpmath): a spline by a dense system of equations for the coefficients of its
polynomials, the monotone curve by the formulas of Fritsch and Butland. Derivatives are central differences with 40 digits. The values
are compared with SciPy's `CubicSpline`, `PchipInterpolator` and `numpy.interp` before anything is written."""
import mpmath as mp
import numpy as np
import scipy
from scipy.interpolate import CubicSpline, PchipInterpolator

mp.mp.dps = 60


def piece(xs, x):
    return max([i for i in range(len(xs) - 1) if xs[i] <= x], default=0)


def linear(xs, ys, x):
    i = piece(xs, x)
    return ys[i] + (x - xs[i]) * (ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i])


def spline(ends):
    """The unknowns are the four coefficients of each interval's polynomial."""
    def curve(xs, ys, x):
        pieces = len(xs) - 1
        rows, right = [], []

        def equation(value, *terms):
            row = [mp.mpf(0)] * (4 * pieces)
            for i, order, t, sign in terms:
                for k in range(order, 4):
                    row[4 * i + k] += sign * mp.factorial(k) / mp.factorial(k - order) * (t ** (k - order) if k > order else 1)
            rows.append(row)
            right.append(value)
        h = [b - a for a, b in zip(xs, xs[1:])]
        end = (pieces - 1, h[-1])
        for i in range(pieces):
            equation(ys[i], (i, 0, mp.mpf(0), 1))
            equation(ys[i + 1], (i, 0, h[i], 1))
        for i in range(pieces - 1):
            for order in (1, 2):
                equation(0, (i, order, h[i], 1), (i + 1, order, mp.mpf(0), -1))
        if ends == "natural":
            equation(0, (0, 2, mp.mpf(0), 1))
            equation(0, (end[0], 2, end[1], 1))
        elif ends == "not-a-knot":
            equation(0, (0, 3, mp.mpf(0), 1), (1, 3, mp.mpf(0), -1))
            equation(0, (pieces - 2, 3, mp.mpf(0), 1), (pieces - 1, 3, mp.mpf(0), -1))
        else:
            equation(ends[0], (0, 1, mp.mpf(0), 1))
            equation(ends[1], (end[0], 1, end[1], 1))
        c = mp.lu_solve(mp.matrix(rows), mp.matrix(right))
        i = piece(xs, x)
        return sum(c[4 * i + k] * (x - xs[i]) ** k for k in range(4))
    return curve


def monotone(xs, ys, x):
    h = [b - a for a, b in zip(xs, xs[1:])]
    d = [(b - a) / w for a, b, w in zip(ys, ys[1:], h)]

    def inner(i):
        if d[i - 1] * d[i] <= 0:
            return mp.mpf(0)
        w1, w2 = 2 * h[i] + h[i - 1], h[i] + 2 * h[i - 1]
        return (w1 + w2) / (w1 / d[i - 1] + w2 / d[i])

    def end(g, w, a, b):
        m = ((2 * g + w) * a - g * b) / (g + w)
        if mp.sign(m) != mp.sign(a):
            return mp.mpf(0)
        return 3 * a if mp.sign(a) != mp.sign(b) and abs(m) > 3 * abs(a) else m
    m = [end(h[0], h[1], d[0], d[1])] + [inner(i) for i in range(1, len(d))] + [end(h[-1], h[-2], d[-1], d[-2])]
    i = piece(xs, x)
    t = (x - xs[i]) / h[i]
    return (ys[i] * (1 + 2 * t) * (1 - t) ** 2 + ys[i + 1] * t * t * (3 - 2 * t)
            + h[i] * t * (1 - t) * ((1 - t) * m[i] - t * m[i + 1]))


def derivatives(f, v):
    """Value, gradient and Hessian of f at v by central differences: step 1e-15, error of some 1e-30."""
    v, step, n = [mp.mpf(x) for x in v], mp.mpf(10) ** -15, len(v)

    def at(*moves):
        u = list(v)
        for i, k in moves:
            u[i] += k * step
        return f(u)
    gradient = [(at((i, 1)) - at((i, -1))) / (2 * step) for i in range(n)]
    hessian = [[(at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))) / (4 * step ** 2)
                for j in range(n)] for i in range(n)]
    return f(v), gradient, hessian


def show(x):
    return "[" + ", ".join(show(row) for row in x) + "]" if isinstance(x, (list, tuple)) else repr(float(x))


def case(name, curve, reference, xs, ys, ends, at):
    """v: places and values of the points, ends, then where the curve is evaluated; the numbers are the curve's value, and its derivatives by v."""
    n, v = len(xs), xs + ys + ends + [at]

    def value(u):
        made = curve(u[2 * n:-1]) if ends else curve
        return made(u[:n], u[n:2 * n], u[-1])
    y, gradient, hessian = derivatives(value, v)
    assert abs(float(y) - reference(np.array(xs), np.array(ys), at)) < 1e-12, name
    print(f"let {name} = {{v = {show(v)}, value = {show(y)},\n  gradient = {show(gradient)},\n  hessian = {show(hessian)}}}")


print(f"""# SPDX-License-Identifier: MIT
# Made by make_interp.py from mpmath {mp.__version__}, beside SciPy {scipy.__version__}: not to be edited.
# v: places and values of the points, slopes at the ends if they are given, where the curve is evaluated; then its value, and derivatives by v.""")
XS, YS = [0.0, 0.5, 1.75, 2.0, 3.5], [1.0, 2.0, 0.5, -0.25, 1.5]
UP = [0.0, 0.1, 1.5, 1.75, 4.0]


def scipy_spline(ends):
    return lambda xs, ys, x: float(CubicSpline(xs, ys, bc_type=ends)(x))


def pchip(xs, ys, x):
    return float(PchipInterpolator(xs, ys)(x))


case("linear", linear, lambda xs, ys, x: np.interp(x, xs, ys), XS, YS, [], 0.8)
case("not_a_knot", spline("not-a-knot"), scipy_spline("not-a-knot"), XS, YS, [], 1.1)
case("not_a_knot_beyond", spline("not-a-knot"), scipy_spline("not-a-knot"), XS, YS, [], 4.2)
case("natural", spline("natural"), scipy_spline("natural"), XS, YS, [], 2.75)
case("clamped", spline, lambda xs, ys, x: scipy_spline(((1, -1.5), (1, 0.75)))(xs, ys, x), XS, YS, [-1.5, 0.75], 0.2)
case("monotone", monotone, pchip, XS, UP, [], 1.0)
case("monotone_first", monotone, pchip, XS, UP, [], 0.3)
case("monotone_last", monotone, pchip, XS, YS, [], 3.0)
case("monotone_turns", monotone, pchip, XS, YS, [], 1.2)
GRID = [round(0.07 * k, 2) for k in range(51)]
print(f"let grid = {show(GRID)}")
for name, curve in (("not_a_knot_grid", scipy_spline("not-a-knot")), ("natural_grid", scipy_spline("natural")), ("monotone_grid", pchip)):
    print(f"let {name} = {show([curve(np.array(XS), np.array(YS), x) for x in GRID])}")
print(f"let three = {show([scipy_spline('not-a-knot')(np.array(XS[:3]), np.array(YS[:3]), x) for x in (0.2, 1.0, 1.75)])}")
