#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes distributions.atl: special functions, densities and distribution functions of Stats with their first and second
derivatives, for stdlib/tests/distributions.atl.

usage: make_distributions.py > distributions.atl      (Debian: python3-mpmath)

Derivatives are numerical ones of definitions written here, by mpmath with 60 digits. Distribution functions of discrete
distributions are sums of probabilities, those of others integrals or mpmath's incomplete functions."""
import mpmath as mp

mp.mp.dps = 60


def gamma_inc(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def beta_inc(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def normal(mean, sd, x):
    return -((x - mean) / sd) ** 2 / 2 - mp.log(sd * mp.sqrt(2 * mp.pi))


def lognormal(mean, sd, x):
    return normal(mean, sd, mp.log(x)) - mp.log(x)


def gamma(shape, rate, x):
    return shape * mp.log(rate) + (shape - 1) * mp.log(x) - rate * x - mp.loggamma(shape)


def beta(a, b, x):
    return (a - 1) * mp.log(x) + (b - 1) * mp.log(1 - x) - mp.log(mp.beta(a, b))


def student(dof, location, scale, x):
    z = (x - location) / scale
    return (mp.loggamma((dof + 1) / 2) - mp.loggamma(dof / 2) - mp.log(dof * mp.pi) / 2 - mp.log(scale)
            - (dof + 1) / 2 * mp.log(1 + z * z / dof))


def student_cdf(dof, location, scale, x):
    z = (x - location) / scale
    c = mp.gamma((dof + 1) / 2) / (mp.gamma(dof / 2) * mp.sqrt(dof * mp.pi))
    return mp.mpf(1) / 2 + z * c * mp.hyp2f1(mp.mpf(1) / 2, (dof + 1) / 2, mp.mpf(3) / 2, -z * z / dof)


def poisson(mean, k):
    return k * mp.log(mean) - mean - mp.log(mp.factorial(k))


def binomial(n, p, k):
    return mp.log(mp.binomial(n, k)) + k * mp.log(p) + (n - k) * mp.log(1 - p)


def dirichlet(*v):
    alpha, x = v[:len(v) // 2], v[len(v) // 2:]
    return (mp.loggamma(sum(alpha)) - sum(map(mp.loggamma, alpha))
            + sum((a - 1) * mp.log(y) for a, y in zip(alpha, x)))


def mvnormal(m, n, a, b, c, x, y):
    """Mean (m, n), covariance ((a, b), (b, c))."""
    det = a * c - b * b
    x, y = x - m, y - n
    return -(c * x * x - 2 * b * x * y + a * y * y) / (2 * det) - mp.log(2 * mp.pi) - mp.log(det) / 2


# Name, function of floats, places.
CASES = [
    ("gamma_inc", gamma_inc,
     [(0.3, 0.05), (0.3, 2.5), (2.5, 1.3), (2.5, 9.0), (30.0, 22.0), (30.0, 33.5), (150.25, 140.0), (1e-3, 0.5),
      (400.0, 385.0), (12.5, 80.0)]),
    ("beta_inc", beta_inc,
     [(0.3, 0.7, 0.01), (0.3, 0.7, 0.9), (2.5, 1.25, 0.4), (30.0, 12.0, 0.75), (30.0, 12.0, 0.5), (0.5, 100.0, 0.02),
      (120.0, 300.0, 0.3), (8.0, 0.05, 0.93)]),
    ("erf_inv", mp.erfinv, [(0.0,), (0.3,), (-0.7,), (0.99,), (-0.9999,), (1e-9,)]),
    ("normal_quantile", lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), [(0.5,), (0.3,), (0.975,), (1e-3,), (1e-12,)]),
    ("normal", normal, [(1.0, 2.0, 2.5), (-0.5, 0.25, 3.0)]),
    ("normal_cdf", lambda m, s, x: mp.ncdf((x - m) / s), [(1.0, 2.0, 2.5), (-0.5, 0.25, -2.0)]),
    ("lognormal", lognormal, [(0.5, 0.75, 2.0), (0.5, 0.75, 0.1)]),
    ("lognormal_cdf", lambda m, s, x: mp.ncdf((mp.log(x) - m) / s), [(0.5, 0.75, 2.0)]),
    ("exponential", lambda r, x: mp.log(r) - r * x, [(2.0, 0.75)]),
    ("exponential_cdf", lambda r, x: 1 - mp.exp(-r * x), [(2.0, 0.75), (2.0, 1e-6)]),
    ("gamma", gamma, [(0.3, 2.0, 0.01), (2.5, 0.5, 3.0), (25.0, 2.0, 14.0), (5000.0, 1.0, 4900.0)]),
    ("gamma_cdf", lambda a, r, x: gamma_inc(a, r * x), [(0.3, 2.0, 0.01), (25.0, 2.0, 14.0)]),
    ("beta", beta, [(0.3, 0.7, 0.01), (2.5, 1.25, 0.4), (30.0, 12.0, 0.75), (30.0, 0.5, 0.75), (400.0, 600.0, 0.38)]),
    ("beta_cdf", beta_inc, [(2.5, 1.25, 0.4)]),
    ("student", student, [(0.3, 0.5, 2.0, 4.0), (5.0, 0.0, 1.0, -1.5), (30.0, 1.0, 0.5, 1.25), (1e4, 0.0, 1.0, 2.0)]),
    ("student_cdf", student_cdf, [(0.3, 0.5, 2.0, 4.0), (5.0, 0.0, 1.0, -1.5), (30.0, 1.0, 0.5, 1.25), (5.0, 0.0, 1.0, -8.0)]),
    ("poisson_0", lambda m: poisson(m, 0), [(2.5,)]),
    ("poisson_3", lambda m: poisson(m, 3), [(2.5,)]),
    ("poisson_900", lambda m: poisson(m, 900), [(1000.0,)]),
    ("poisson_cdf_3", lambda m: sum(mp.exp(poisson(m, k)) for k in range(4)), [(2.5,)]),
    ("binomial_0", lambda p: binomial(12, p, 0), [(0.25,)]),
    ("binomial_4", lambda p: binomial(12, p, 4), [(0.25,)]),
    ("binomial_300", lambda p: binomial(1000, p, 300), [(0.25,)]),
    ("binomial_cdf_4", lambda p: sum(mp.exp(binomial(12, p, k)) for k in range(5)), [(0.25,)]),
    ("dirichlet", dirichlet, [(0.5, 2.0, 12.0, 0.125, 0.25, 0.625)]),
    ("mvnormal", mvnormal, [(1.0, -0.5, 2.0, 0.5, 1.0, 0.25, 1.5)]),
]


def derivative(f, point, orders):
    x = mp.diff(f, tuple(map(mp.mpf, point)), orders) if any(orders) else f(*map(mp.mpf, point))
    return float(x) if abs(x) > 1e-300 else 0.0


def orders(n, *places):
    return tuple(places.count(i) for i in range(n))


def show(x):
    return "[" + ", ".join(map(show, x)) + "]" if isinstance(x, (list, tuple)) else repr(float(x))


def row(f, point):
    n = len(point)
    hessian = [[0.0] * n for _ in point]
    for i in range(n):
        for j in range(i + 1):
            hessian[i][j] = hessian[j][i] = derivative(f, point, orders(n, i, j))
    gradient = [derivative(f, point, orders(n, i)) for i in range(n)]
    return (f"{{at = {show(point)}, value = {show(derivative(f, point, orders(n)))},\n   gradient = {show(gradient)},\n"
            f"   hessian = {show(hessian)}}}")


def main():
    print(f"""# SPDX-License-Identifier: MIT
# Made by make_distributions.py from mpmath {mp.__version__}: not to be edited.
# Functions at places: value, gradient, Hessian by all arguments.""")
    for name, f, places in CASES:
        print(f"let {name} =\n  [" + ",\n   ".join(row(f, p) for p in places) + "]")


main()
