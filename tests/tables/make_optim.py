#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes optim.atl: what SciPy and mpmath give for the problems of stdlib/tests/optim.atl.

usage: make_optim.py > optim.atl

Minima: SciPy's BFGS from the start given, then Newton's method on the gradient in mpmath, 30 digits, where the Hessian is
not singular. Functions: Moré, Garbow, Hillstrom, Testing unconstrained optimization software, ACM TOMS 7 (1981), 17–41, and
Himmelblau's and Branin's."""
import mpmath as mp
import numpy as np
import scipy
import scipy.optimize as so

mp.mp.dps = 30


def rosenbrock(v, m):
    return (1 - v[0]) ** 2 + 100 * (v[1] - v[0] ** 2) ** 2


def beale(v, m):
    x, y = v
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y ** 2) ** 2 + (2.625 - x + x * y ** 3) ** 2


def powell(v, m):
    a, b, c, d = v
    return (a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4


def helical(v, m):
    theta = m.atan2(v[1], v[0]) / (2 * m.pi)
    return 100 * ((v[2] - 10 * theta) ** 2 + (m.sqrt(v[0] ** 2 + v[1] ** 2) - 1) ** 2) + v[2] ** 2


def wood(v, m):
    a, b, c, d = v
    return (100 * (b - a ** 2) ** 2 + (1 - a) ** 2 + 90 * (d - c ** 2) ** 2 + (1 - c) ** 2
            + 10 * (b + d - 2) ** 2 + (b - d) ** 2 / 10)


def freudenstein(v, m):
    x, y = v
    return (-13 + x + ((5 - y) * y - 2) * y) ** 2 + (-29 + x + ((y + 1) * y - 14) * y) ** 2


def himmelblau(v, m):
    return (v[0] ** 2 + v[1] - 11) ** 2 + (v[0] + v[1] ** 2 - 7) ** 2


def branin(v, m):
    x, y = v
    b, c, t = m.mpf("5.1") / (4 * m.pi ** 2) if m is mp else 5.1 / (4 * m.pi ** 2), 5 / m.pi, 1 / (8 * m.pi)
    return (y - b * x ** 2 + c * x - 6) ** 2 + 10 * (1 - t) * m.cos(x) + 10


class Floats:
    atan2, sqrt, cos, pi = staticmethod(np.arctan2), staticmethod(np.sqrt), staticmethod(np.cos), np.pi


PROBLEMS = [("rosenbrock", rosenbrock, [-1.2, 1.0]), ("beale", beale, [1.0, 1.0]), ("powell", powell, [3.0, -1.0, 0.0, 1.0]),
            ("helical", helical, [-1.0, 0.0, 0.0]), ("wood", wood, [-3.0, -1.0, -3.0, -1.0]),
            ("freudenstein", freudenstein, [0.5, -2.0]), ("himmelblau", himmelblau, [1.0, 1.0]), ("branin", branin, [2.0, 3.0])]


def gradient(f):
    def partial(i):
        return lambda *v: mp.diff(f, v, tuple(int(k == i) for k in range(len(v))))
    return partial


def minimum(name, f, start):
    r = so.minimize(lambda v: f(v, Floats), start, method="BFGS", options={"gtol": 1e-9})
    if name == "powell":  # singular Hessian; the minimum is known
        return [0.0] * 4, 0.0
    partial = gradient(lambda *v: f(v, mp))
    x = mp.findroot([partial(i) for i in range(len(start))], [mp.mpf(float(c)) for c in r.x], tol=1e-20)
    x = [c if abs(c) > 1e-18 else 0.0 for c in x]
    value = f(x, mp)
    return [float(c) for c in x], float(value) if value > 1e-30 else 0.0


def show(x):
    return "[" + ", ".join(repr(c) for c in x) + "]"


def main():
    print("# SPDX-License-Identifier: MIT")
    print("# Made by make_optim.py from SciPy", scipy.__version__, "and mpmath", mp.__version__ + ".")
    print("# Minima: where they are, and the value there.")
    for name, f, start in PROBLEMS:
        x, value = minimum(name, f, start)
        print(f"let {name} = {{start = {show(start)}, x = {show(x)}, value = {value!r}}}")


if __name__ == "__main__":
    main()
