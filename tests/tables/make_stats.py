#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes stats.atl: values of the functions of Stats, and their first and second derivatives, for stdlib/tests/stats.atl.

usage: make_stats.py > stats.atl      (Debian: python3-numpy, python3-mpmath)

Derivatives are numerical ones of definitions written here, by mpmath with 60 digits. NumPy makes the other values."""
import mpmath as mp
import numpy as np

mp.mp.dps = 60


def mean(xs):
    return sum(xs) / len(xs)


def covariance(xs, ys):
    return sum((x - mean(xs)) * (y - mean(ys)) for x, y in zip(xs, ys)) / (len(xs) - 1)


def variance(xs):
    return covariance(xs, xs)


def correlation(xs, ys):
    return covariance(xs, ys) / mp.sqrt(variance(xs) * variance(ys))


def quantile(p, xs):
    xs = sorted(xs)
    place = p * (len(xs) - 1)
    i = int(mp.floor(place))
    return xs[i] + (place - i) * (xs[min(i + 1, len(xs) - 1)] - xs[i])


def halves(f):
    return lambda *v: f(v[:len(v) // 2], v[len(v) // 2:])


FUNCTIONS = {
    "mean": lambda *v: mean(v),
    "variance": lambda *v: variance(v),
    "sd": lambda *v: mp.sqrt(variance(v)),
    "median": lambda *v: quantile(mp.mpf(1) / 2, v),
    "quantile": lambda *v: quantile(v[0], v[1:]),
    "covariance": halves(covariance),
    "correlation": halves(correlation),
}
POINT = [0.3, 1.25, -0.75, 2.5, 0.875, 3.0, -1.5, 0.625]


def derivative(f, point, orders):
    x = mp.diff(f, tuple(map(mp.mpf, point)), orders) if any(orders) else f(*map(mp.mpf, point))
    return float(x) if abs(x) > 1e-15 else 0.0


def orders(n, *places):
    return tuple(places.count(i) for i in range(n))


def show(x):
    if isinstance(x, (list, tuple, np.ndarray)):
        return "[" + ", ".join(map(show, x)) + "]"
    return str(x) if isinstance(x, (int, np.integer)) else repr(float(x))


def main():
    print(f"""# SPDX-License-Identifier: MIT
# Made by make_stats.py from mpmath {mp.__version__} and NumPy {np.__version__}: not to be edited.
# Functions of the elements of v: value, gradient, Hessian. `quantile` takes the first one as its p, `covariance` and
# `correlation` take both halves.
let v = {show(POINT)}""")
    n = len(POINT)
    for name, f in FUNCTIONS.items():
        hessian = [[derivative(f, POINT, orders(n, i, j)) for j in range(n)] for i in range(n)]
        print(f"let {name} = {{value = {show(derivative(f, POINT, orders(n)))},\n  gradient = "
              f"{show([derivative(f, POINT, orders(n, i)) for i in range(n)])},\n  hessian = {show(hessian)}}}")
    rng = np.random.default_rng(1)
    data = np.round(rng.normal(size=25), 3)
    rows = np.round(rng.normal(size=(7, 3)), 3)
    counts, edges = np.histogram(data, 6)
    ps = [0.0, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0]
    print(f"# NumPy's results for data and rows.\nlet data = {show(data)}\nlet rows = {show(rows)}\nlet ps = {show(ps)}\n"
          f"let quantiles = {show(np.quantile(data, ps))}\nlet counts = {show(counts)}\nlet edges = {show(edges)}\n"
          f"let covariances = {show(np.cov(rows.T))}\nlet correlations = {show(np.corrcoef(rows.T))}")


main()
