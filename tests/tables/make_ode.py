#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes ode.atl: solutions of initial value problems, and their first and second derivatives by all parameters, for
stdlib/tests/ode.atl.

usage: make_ode.py > ode.atl      (Debian: python3-scipy)

Derivatives come with the solution: each number is a jet (value, gradient, Hessian), of which Dormand and Prince's method
of order 8 of SciPy solves the equations, at tolerances of 1e-13. Nothing is differentiated by Atled or by differences."""
import numpy as np
import scipy
import scipy.integrate

N = 6


class Jet:
    """A number with its first and second derivatives by N variables."""

    def __init__(self, value, gradient=None, hessian=None):
        self.value = value
        self.gradient = np.zeros(N) if gradient is None else gradient
        self.hessian = np.zeros((N, N)) if hessian is None else hessian

    def __add__(self, other):
        other = jet(other)
        return Jet(self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian)

    def __mul__(self, other):
        a, b = self, jet(other)
        cross = np.outer(a.gradient, b.gradient)
        return Jet(a.value * b.value, a.value * b.gradient + b.value * a.gradient,
                   a.value * b.hessian + b.value * a.hessian + cross + cross.T)

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -jet(other)

    def of(self, value, first, second):
        """A function of one number, given its value and derivatives here."""
        return Jet(value, first * self.gradient,
                   first * self.hessian + second * np.outer(self.gradient, self.gradient))

    def sin(self):
        return self.of(np.sin(self.value), np.cos(self.value), -np.sin(self.value))

    __radd__, __rmul__ = __add__, __mul__


def jet(x):
    return x if isinstance(x, Jet) else Jet(float(x))


def variables(values):
    return [Jet(v, np.eye(N)[i]) for i, v in enumerate(values)]


def pack(jets):
    return np.concatenate([np.concatenate(([j.value], j.gradient, j.hessian.ravel())) for j in jets])


def unpack(numbers):
    return [Jet(row[0], row[1:1 + N], row[1 + N:].reshape(N, N)) for row in numbers.reshape(-1, 1 + N + N * N)]


def solve(f, y0, times):
    """The solution of y' = f t y at the times, as jets."""
    ys = [pack(y0)]
    for leg in zip(times, times[1:]):
        r = scipy.integrate.solve_ivp(lambda t, y: pack(f(t, unpack(y))), leg, ys[-1], method="DOP853", rtol=1e-13, atol=1e-13)
        assert r.success
        ys.append(r.y[:, -1])
    return [unpack(y) for y in ys]


def lotka_volterra(v):
    a, b, c, d = v[:4]
    return lambda t, y: [a * y[0] - b * y[0] * y[1], c * y[0] * y[1] - d * y[1]]


def driven_pendulum(v):
    friction, force, frequency, stiffness = v[:4]
    return lambda t, y: [y[1], force * (frequency * t).sin() - friction * y[1] - stiffness * y[0].sin()]


def show(x):
    return "[" + ", ".join(show(row) for row in x) + "]" if np.ndim(x) else repr(float(x))


def table(name, rhs, values, times):
    """The sum of both parts at the last time and twice the first part at the one in the middle is what has derivatives."""
    v = variables(values)
    ys = solve(rhs(v), v[4:], times)
    total = ys[-1][0] + ys[-1][1] + 2.0 * ys[len(ys) // 2][0]
    print(f"let {name} = {{\n  v = {show(values)}, ts = {show(times)},\n  ys = {show([[j.value for j in y] for y in ys])},\n"
          f"  gradient = {show(total.gradient)},\n  hessian = {show(total.hessian)}}}")


print(f"""# SPDX-License-Identifier: MIT
# Made by make_ode.py from SciPy {scipy.__version__}: not to be edited.
# v: four parameters and two initial values. ys: the solution at the times ts. gradient, hessian: derivatives by v of the sum of
# both parts at the last time and twice the first part at the one in the middle.""")
table("lotka_volterra", lotka_volterra, [1.1, 0.1, 0.05, 0.4, 10.0, 5.0], [0.0, 1.25, 2.5, 4.0, 5.0])
table("lotka_volterra_back", lotka_volterra, [1.1, 0.1, 0.05, 0.4, 8.0, 6.0], [5.0, 4.5, 4.0, 3.0, 2.0])
table("driven_pendulum", driven_pendulum, [0.1, 0.8, 1.3, 2.0, 1.0, 0.0], [0.5, 1.0, 4.0, 4.25, 6.0])
