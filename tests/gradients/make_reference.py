#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes scalar_functions.atl and functions_of_two.atl beside itself: values, first and second derivatives of every
differentiable scalar function, found with 120 digits by mpmath (Debian: python3-mpmath) and rounded once. They share
nothing with the rules of the library. Derivatives are by numerical differentiation at that precision, so that no
table of derivatives, which could be wrong in the same place, stands behind them.

usage: make_reference.py        run the tests with: atled test tests/gradients/*.atl"""
import os
from mpmath import mp, mpf
import mpmath as m

mp.dps = 120
half = mpf(1) / 2

def real_cbrt(x):
    return m.sign(x) * m.cbrt(abs(x))

def log_abs_gamma(x):
    return m.log(abs(m.gamma(x)))

UNARY = {   # name: (function, points)
    "abs": (abs, [-1.5, 2.5]),
    "sqrt": (m.sqrt, [1e-300, 0.3, 1.0, 4.0, 1e10]),
    "cbrt": (real_cbrt, [-8.0, -0.2, 1e-12, 0.3, 27.0, 1e10]),
    "exp": (m.exp, [-700.0, -40.0, -0.5, 0.0, 1.0, 3.25, 700.0]),
    "expm1": (m.expm1, [-30.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 20.0]),
    "log": (m.log, [1e-150, 0.3, 1.0, 1.0000001, 2.0, 1e10]),
    "log1p": (m.log1p, [-0.999, -0.5, -1e-10, 0.0, 1e-10, 1.0, 1e10]),
    "log2": (lambda x: m.log(x) / m.log(2), [1e-150, 0.3, 1.0, 2.0, 1e10]),
    "log10": (m.log10, [1e-150, 0.3, 1.0, 10.0, 1e10]),
    "sin": (m.sin, [-2.0, -1e-8, 0.0, 0.5, 1.5, 3.0, 100.0, 1e5]),
    "cos": (m.cos, [-2.0, -1e-8, 0.0, 0.5, 1.5, 3.0, 100.0, 1e5]),
    "tan": (m.tan, [-2.0, -1e-8, 0.0, 0.5, 1.5, 3.0, 100.0]),
    "asin": (m.asin, [-0.999, -0.5, 0.0, 1e-8, 0.3, 0.999999]),
    "acos": (m.acos, [-0.999, -0.5, 0.0, 1e-8, 0.3, 0.999999]),
    "atan": (m.atan, [-1e5, -1.0, 0.0, 1e-8, 0.5, 3.0, 1e8]),
    "sinh": (m.sinh, [-5.0, -1e-8, 0.0, 0.5, 20.0]),
    "cosh": (m.cosh, [-5.0, -1e-8, 0.0, 0.5, 20.0]),
    "tanh": (m.tanh, [-4.0, -0.5, -1e-8, 0.0, 0.3, 2.0]),
    "asinh": (m.asinh, [-1e5, -1.0, 0.0, 1e-8, 0.5, 3.0, 1e10]),
    "acosh": (m.acosh, [1.000001, 1.5, 3.0, 1e10]),
    "atanh": (m.atanh, [-0.999, -0.5, 0.0, 1e-8, 0.3, 0.999999]),
    "erf": (m.erf, [-3.0, -0.5, 0.0, 1e-8, 0.3, 1.0, 4.0]),
    "erfc": (m.erfc, [-3.0, -0.5, 0.0, 1e-8, 0.3, 1.0, 4.0, 10.0]),
    "gamma": (m.gamma, [-2.5, -0.7, 0.1, 0.5, 1.0, 2.0, 4.5, 20.0]),
    "lgamma": (log_abs_gamma, [-2.5, -0.7, 0.1, 0.5, 3.0, 4.5, 20.0, 1e5]),
    "digamma": (m.digamma, [-2.6, -0.7, 0.1, 0.5, 1.0, 2.0, 4.5, 20.0, 1e5]),
    "trigamma": (lambda x: m.psi(1, x), [-2.6, -0.7, 0.1, 0.5, 1.0, 2.0, 4.5, 20.0, 1e5]),
    "sigmoid": (lambda x: 1 / (1 + m.exp(-x)), [-40.0, -1.0, 0.0, 0.5, 5.0, 40.0]),
    "softplus": (lambda x: m.log1p(m.exp(x)), [-40.0, -1.0, 0.0, 0.5, 5.0, 40.0]),
    "relu": (lambda x: x if x > 0 else mpf(0), [-2.0, 3.0]),
    "floor": (m.floor, [-1.5, 0.3]),
    "ceil": (m.ceil, [-1.5, 0.3]),
    "round": (lambda x: m.floor(x + half), [-1.3, 0.7]),
    "trunc": (lambda x: m.sign(x) * m.floor(abs(x)), [-1.5, 2.3]),
    "sign": (m.sign, [-1.5, 2.3]),
}
for n in range(-3, 6):
    UNARY[f"fun x -> x ^ ({n})"] = (lambda x, n=n: x ** n, [-1.5, -1e-3, 0.5, 2.0] + ([0.0] if n >= 0 else []))
for c in ("0.5", "2.0", "-1.5", "3.0"):
    UNARY[f"fun x -> x ** ({c})"] = (lambda x, c=mpf(c): x ** c, [1e-3, 0.5, 2.0, 1e5])
    UNARY[f"fun x -> abs ({c}) ** x"] = (lambda x, c=abs(mpf(c)): c ** x, [-2.0, 0.0, 0.5, 3.0])

BINARY = {
    "atan2": (m.atan2, [(0.5, 2.0), (1.0, -1.5), (-2.0, -0.3), (-1.0, 1e-3), (3.0, 0.0), (0.0, 2.0), (1e-150, 2e-150), (1e150, -2e150)]),
    "hypot": (m.hypot, [(3.0, 4.0), (-1.0, 2.0), (0.0, 2.0), (-3.0, 0.0), (1e-150, 1e-150), (1e150, -1e150)]),
    "fun x y -> x ** y": (lambda x, y: x ** y, [(0.5, 2.0), (2.0, -1.5), (3.0, 0.5), (1.0, 3.0), (2.0, 0.0), (1e-3, 0.1)]),
    "min": (lambda x, y: x if x < y else y, [(1.0, 2.0), (2.0, 1.0)]),
    "max": (lambda x, y: x if x > y else y, [(1.0, 2.0), (2.0, 1.0)]),
    "fun x y -> x / y": (lambda x, y: x / y, [(1.0, 3.0), (-2.0, 0.5), (0.0, 2.0)]),
    "fun x y -> x * y": (lambda x, y: x * y, [(1.5, 3.0), (0.0, 0.0)]),
    "fun x y -> x - y": (lambda x, y: x - y, [(1.5, 3.0)]),
}

def step(x):
    """A step so small that differences of high order lose nothing that is shown."""
    return mpf(10) ** -18 * (abs(x) if x else 1)

def rounded(v):
    v = float(v)
    text = repr(v)
    if text in ("-0.0",):
        text = "0.0"
    return f"({text})" if text.startswith("-") else text

def derivative(f, x, n):
    """n-th derivative by central differences of an error of order h^4."""
    h = step(x)
    if n == 0:
        return f(x)
    if n == 1:
        return (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h)
    return (-f(x - 2 * h) + 16 * f(x - h) - 30 * f(x) + 16 * f(x + h) - f(x + 2 * h)) / (12 * h * h)

def clean(v, scale):
    """Zero, where what is left is the error of the differences."""
    return mpf(0) if abs(v) <= mpf(10) ** -50 * scale else v

def unary_rows(f, points):
    for p in points:
        x = mpf(p)
        size = abs(x) if x else mpf(1)
        values = [derivative(f, x, n) for n in range(3)]
        scale = max(abs(v) * size ** k for k, v in enumerate(values)) or mpf(1)
        if not x:
            scale = max(scale, mpf(1))
        yield (p, *(clean(v, scale / size ** k) for k, v in enumerate(values)))

def binary_rows(f, points):
    for a, b in points:
        x, y = mpf(a), mpf(b)
        sx, sy = (abs(v) if v else max(abs(x), abs(y), mpf(10) ** -300) or mpf(1) for v in (x, y))
        sx, sy = sx or mpf(1), sy or mpf(1)
        fx = lambda t: f(x + t * sx, y)
        fy = lambda t: f(x, y + t * sy)
        mixed = derivative(lambda s: derivative(lambda t: f(x + s * sx, y + t * sy), mpf(0), 1), mpf(0), 1)
        scaled = [f(x, y), derivative(fx, mpf(0), 1), derivative(fy, mpf(0), 1), derivative(fx, mpf(0), 2), mixed, derivative(fy, mpf(0), 2)]
        scale = max(abs(v) for v in scaled)
        sizes = [1, sx, sy, sx * sx, sx * sy, sy * sy]
        yield (a, b, *(clean(v, scale) / s for v, s in zip(scaled, sizes)))

HEAD = "# SPDX-License-Identifier: MIT\n# Made by make_reference.py: not to be edited.\n"
UNARY_HEAD = HEAD + """# Rows: x, f x, f' x, f'' x, correctly rounded. All ways to take the derivatives have to agree with them, second
# derivatives near their zeros up to rounding errors of the size of the first.
let agrees f rows =
  all (fun (x, y, d1, d2) ->
    let near d = d = d2 || abs (d - d2) <= 1e-9 * abs d2 + 1e-15 * abs d1 in
    f x ~= y && grad f x ~= d1 && deriv f x ~= d1
    && near (grad (grad f) x) && near (deriv (grad f) x) && near (grad (deriv f) x) && near (deriv (deriv f) x)) rows

"""
BINARY_HEAD = HEAD + """# Rows: x, y, z = f x y, dz/dx, dz/dy, d2z/dx2, d2z/dxdy, d2z/dy2, correctly rounded. Second derivatives
# are compared relative to the largest of the three.
let near a b = norm (flatten a - flatten b) <= 1e-9 * norm (flatten b)
let agrees f rows =
  all (fun (x, y, z, zx, zy, zxx, zxy, zyy) ->
    let g v = f v[0] v[1] in
    f x y ~= z && grad g [x, y] ~= [zx, zy] && jacfwd (fun v -> [g v]) [x, y] ~= [[zx, zy]]
    && near (hessian g [x, y]) [[zxx, zxy], [zxy, zyy]] && near (jacrev (grad g) [x, y]) [[zxx, zxy], [zxy, zyy]]) rows

"""

def write(path, head, table, rows_of):
    with open(path, "w") as out:
        out.write(head)
        for name, (f, points) in table.items():
            argument = name if name.isalnum() else f"({name})"
            rows = ",\n   ".join("(" + ", ".join(rounded(v) for v in row) + ")" for row in rows_of(f, points))
            out.write(f'test "{name}" = agrees {argument}\n  [{rows}]\n')

here = os.path.dirname(os.path.abspath(__file__))
write(os.path.join(here, "scalar_functions.atl"), UNARY_HEAD, UNARY, unary_rows)
write(os.path.join(here, "functions_of_two.atl"), BINARY_HEAD, BINARY, binary_rows)
