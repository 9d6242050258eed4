#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes quad.atl: integrals with their first and second derivatives, for stdlib/tests/quad.atl.

usage: make_quad.py > quad.atl      (Debian: python3-mpmath, python3-sympy)

Each integral is a function of three numbers v. SymPy differentiates integrand and limits by Leibniz' rule; mpmath integrates
with 30 digits, by tanh-sinh quadrature. Nothing is computed by Atled."""
import mpmath as mp
import sympy as sp

mp.mp.dps = 30
x, a, b, c = sp.symbols("x a b c", positive=True)
V = (a, b, c)


class Integral:
    """The integral of `inside` over x from low to high, and `outside` of it."""

    def __init__(self, inside, low, high, outside=sp.Integer(0)):
        self.inside, self.low, self.high, self.outside = inside, low, high, outside

    def by(self, v):
        """The derivative by v."""
        ends = sp.diff(self.outside, v)
        for end, s in ((self.high, 1), (self.low, -1)):
            if end.free_symbols:
                ends += s * self.inside.subs(x, end) * sp.diff(end, v)
        return Integral(sp.diff(self.inside, v), self.low, self.high, ends)

    def at(self, values, cuts):
        where = dict(zip(V, values))
        f = sp.lambdify(x, self.inside.subs(where), "mpmath")
        low, high = (mp.mpf(e) if e.is_finite else (mp.inf if e > 0 else -mp.inf) for e in (self.low.subs(where), self.high.subs(where)))
        return float(mp.quad(f, [low] + [mp.mpf(p) for p in cuts] + [high]) + mp.mpf(self.outside.subs(where).evalf(30)))


def show(name, integral, v, cuts):
    values = [sp.Rational(str(p)) for p in v]
    first = [integral.by(p) for p in V]
    gradient = ", ".join(repr(g.at(values, cuts)) for g in first)
    rows = ",\n    ".join("[" + ", ".join(repr(g.by(p).at(values, cuts)) for p in V) + "]" for g in first)
    print(f"let {name} = {{\n  v = {v}, value = {integral.at(values, cuts)!r},\n  gradient = [{gradient}],\n"
          f"  hessian = [\n    {rows}]}}")


print(f"""# SPDX-License-Identifier: MIT
# Made by make_quad.py from mpmath {mp.__version__}: not to be edited.
# Integrals as functions of v, with their derivatives by v.""")
show("bell", Integral(sp.exp(-a * x * x) * sp.cos(b * x), -c, sp.oo), [0.8, 1.5, 0.5], [1, 4])
show("peak", Integral(a / (sp.Rational(1, 10000) + (x - sp.Rational(3, 10)) ** 2), -b, c), [2.0, 1.0, 1.5], [0.2, 0.3, 0.4])
show("singular", Integral(x ** a * sp.log(x) * sp.exp(b * x), sp.Integer(0), c), [0.5, 0.7, 2.0], [0.1])
show("whole", Integral(sp.exp(-a * (x - b) ** 2) / (1 + c * x * x), -sp.oo, sp.oo), [1.2, 0.3, 0.7], [-1, 1])
