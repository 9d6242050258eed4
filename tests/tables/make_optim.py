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


# Functions of one parameter that a minimum, a root or a fixed point defines, as equations for mpmath.
def bilevel(t):
    """The outer function at the inner minimum of (a - t)² + a⁴/10 + a b t + b² + b⁴."""
    a, b = mp.findroot([lambda a, b: 2 * (a - t) + 4 * a ** 3 / 10 + b * t, lambda a, b: a * t + 2 * b + 4 * b ** 3],
                       (mp.mpf("0.8"), mp.mpf("-0.3")))
    return a + 2 * b + t * a * b


def circle(t):
    """x + y² where x² + t y² = 4, x y = t, near (2, 0.3)."""
    x, y = mp.findroot([lambda x, y: x ** 2 + t * y ** 2 - 4, lambda x, y: x * y - t], (mp.mpf(2), mp.mpf("0.3")))
    return x + y ** 2


def cosine(t):
    """x = cos (t x)."""
    return mp.findroot(lambda x: x - mp.cos(t * x), mp.mpf("0.7"))


def derivatives(f, t):
    """f and its first three derivatives at t."""
    mp.mp.dps = 60
    found = [float(mp.diff(f, mp.mpf(t), n)) if n else float(f(mp.mpf(t))) for n in range(4)]
    mp.mp.dps = 30
    return found


def box_minimum():
    """Rosenbrock's function in the box from (-1.5, -0.5) to (0.8, 2)."""
    r = so.minimize(lambda v: rosenbrock(v, Floats), [-1.2, 1.0], method="L-BFGS-B", bounds=[(-1.5, 0.8), (-0.5, 2)],
                    options={"gtol": 1e-12, "ftol": 1e-16})
    return [float(c) for c in r.x]


def broyden(v):
    """Broyden's tridiagonal function, problem 30 of Moré, Garbow, Hillstrom."""
    n = len(v)
    return [(3 - 2 * v[i]) * v[i] - (v[i - 1] if i else 0) - 2 * (v[i + 1] if i + 1 < n else 0) + 1 for i in range(n)]


def main():
    print("# SPDX-License-Identifier: MIT")
    print("# Made by make_optim.py from SciPy", scipy.__version__, "and mpmath", mp.__version__ + ".")
    print("# Minima: where they are, and the value there.")
    for name, f, start in PROBLEMS:
        x, value = minimum(name, f, start)
        print(f"let {name} = {{start = {show(start)}, x = {show(x)}, value = {value!r}}}")
    print("let rosenbrock_in_box =", show(box_minimum()))
    print("# Roots of functions of one float, and minima.")
    print("let cubic_root =", repr(float(mp.findroot(lambda x: x ** 3 - 2 * x - 5, 2))))
    print("let flat_root =", repr(float(mp.findroot(lambda x: mp.exp(-x) - mp.mpf(10) ** -6, 13))))
    print("let scalar_minimum =", repr(float(mp.findroot(lambda x: mp.diff(lambda x: x * mp.sin(x) + x ** 2 / 10, x), 4.5))))
    print("# The root of Broyden's tridiagonal system of 8 equations, from all -1.")
    print("let broyden =", show([float(c) for c in so.fsolve(broyden, [-1.0] * 8, xtol=1e-14)]))
    print("# Value and three derivatives by t, at t = 1, of what a minimum, a root and a fixed point define.")
    for name, f in [("bilevel", bilevel), ("circle", circle), ("cosine", cosine)]:
        print(f"let {name} =", show(derivatives(f, 1)))


if __name__ == "__main__":
    main()
