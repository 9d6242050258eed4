#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes edges.tsv beside itself: values and derivatives of the scalar functions at the edges of floating point, found with
some hundred digits by mpmath (Debian: python3-mpmath) and rounded once. test_numbers.py compares with it; only this
generator needs mpmath.

Derivatives are differences of the function at that precision, or of a first derivative given here where the function
itself is constant to any number of digits (tanh at 1e5). At a singular point the value is the limit from within the
domain, at 0.0 and -0.0 from the side of the sign; at an infinity it is the limit there, written out below.

A line is a function (tab, its expression) or a row of what precedes it: for a function of one, x, f x, f', f'', f''';
for a function of two, x, y, z, dz/dx, dz/dy, d2z/dx2, d2z/dxdy, d2z/dy2. `?` is where there is no limit: nothing is
promised. Rows outside the domain are left out.

usage: make_edges.py"""
import math, os
from mpmath import mp, mpf, inf, nan
import mpmath as m

ULP = 2.0**-52
TINY = [5e-324, 1e-308, 1e-300, 1e-160, 1e-30, 1e-20, 1e-13, 1e-8, 1e-3]
MODERATE = [0.1, 0.5, 0.75, 1 - ULP / 2, 1.0, 1 + ULP, 1.5, 2.0, 5.0, 19.0, 40.0]
LARGE = [170.0, 400.0, 709.0, 710.0, 745.0, 1e5, 1e9, 1e23, 1e100, 1e155, 1e300, 1e308]
POSITIVE = TINY + MODERATE + LARGE
GRID = [-math.inf] + [-x for x in reversed(POSITIVE)] + [-0.0, 0.0] + POSITIVE + [math.inf]
POLES = sorted([-x for x in TINY[3:]] + [-n + s * d for n in (1, 2, 3, 10, 100) for d in (1e-10, 2 * n * ULP) for s in (-1, 1)]
               + [-n - 0.5 for n in (0, 1, 2, 10, 100, 170, 184, 900)] + [-0.7, -30.3]) + [0.0] + POSITIVE[1:]

def steps_up(x):
    """x and what follows it in steps of 1 up to the first that is positive, exactly: poles are far from that one."""
    xs = [x]
    while xs[-1] <= 0: xs.append(xs[-1] + 1)
    return xs

def psi(k, x):
    *passed, last = steps_up(x)
    with m.workdps(80): rest = m.psi(k, last)
    return rest - (-1) ** k * m.factorial(k) * sum(y ** -(k + 1) for y in passed)

def log_abs_gamma(x):
    *passed, last = steps_up(x)
    with m.workdps(80): rest = m.re(m.loggamma(last))
    return rest - sum(m.log(abs(y)) for y in passed)

def gamma(x):
    *passed, last = steps_up(x)
    with m.workdps(80): rest = m.gamma(last)
    return rest / m.fprod(passed)

def gamma_row(x):
    if x > 175: return [inf] * 4
    if x < -200: return [mpf(0)] * 4
    g, p = gamma(x), [psi(k, x) for k in range(3)]
    return [g, g * p[0], g * (p[0] ** 2 + p[1]), g * (p[0] ** 3 + 3 * p[0] * p[1] + p[2])]

def sech2(x):
    e = m.exp(-2 * abs(x))
    return 4 * e / (1 + e) ** 2

def logistic1(x):
    e = m.exp(-abs(x))
    return e / (1 + e) ** 2

def logistic(x):
    return 1 / (1 + m.exp(-x)) if x > 0 else m.exp(x) / (1 + m.exp(x))

def softplus(x):
    return max(x, mpf(0)) + m.log1p(m.exp(-abs(x)))

def cbrt(x):
    return m.sign(x) * m.root(abs(x), 3)

def erfc(x):
    return m.erfc(x) if abs(x) < 1e4 else mpf(2 if x < 0 else 0)

def pi_root(x):
    return 2 / m.sqrt(m.pi) * m.exp(-x * x)

I, Z = math.inf, 0.0
FLAT = (Z, Z, Z)          # derivatives that vanish at an infinity
class F:
    """f, f' or None; the limits of f and its derivatives at -inf and inf (None: outside of the domain, or there is none);
    the singular points, with what f itself is there where that isn't seen from close by; its own scale where x is large."""
    def __init__(self, f, d1=None, low=None, high=None, lo=-I, hi=I, singular=(), at={}, unit=False, grid=GRID):
        self.f, self.d1, self.low, self.high, self.lo, self.hi = f, d1, low, high, lo, hi
        self.singular, self.at, self.unit, self.grid = singular, at, unit, grid

ln2, ln10 = m.ln(2), m.ln(10)
UNARY = {
    "sqrt": F(m.sqrt, high=(I, *FLAT), lo=0.0, singular=(0,)),
    "cbrt": F(cbrt, low=(-I, *FLAT), high=(I, *FLAT), singular=(0,)),
    "exp": F(m.exp, low=(Z, *FLAT), high=(I, I, I, I), unit=True),
    "expm1": F(m.expm1, m.exp, low=(-1.0, *FLAT), high=(I, I, I, I), unit=True),
    "log": F(m.log, high=(I, *FLAT), lo=0.0, singular=(0,), at={0.0: -I, -0.0: -I}),
    "log1p": F(m.log1p, lambda x: 1 / (1 + x), high=(I, *FLAT), lo=-1.0, singular=(-1,), at={-1.0: -I}),
    "log2": F(lambda x: m.log(x) / m.log(2), high=(I, *FLAT), lo=0.0, singular=(0,), at={0.0: -I, -0.0: -I}),
    "log10": F(m.log10, high=(I, *FLAT), lo=0.0, singular=(0,), at={0.0: -I, -0.0: -I}),
    "sin": F(m.sin, unit=True), "cos": F(m.cos, unit=True), "tan": F(m.tan, unit=True),
    "asin": F(m.asin, lo=-1.0, hi=1.0, singular=(-1, 1)),
    "acos": F(m.acos, lo=-1.0, hi=1.0, singular=(-1, 1)),
    "atan": F(m.atan, lambda x: 1 / (1 + x * x), low=(-math.pi / 2, *FLAT), high=(math.pi / 2, *FLAT)),
    "sinh": F(m.sinh, m.cosh, low=(-I, I, -I, I), high=(I, I, I, I), unit=True),
    "cosh": F(m.cosh, m.sinh, low=(I, -I, I, -I), high=(I, I, I, I), unit=True),
    "tanh": F(m.tanh, sech2, low=(-1.0, *FLAT), high=(1.0, *FLAT), unit=True),
    "asinh": F(m.asinh, lambda x: 1 / m.sqrt(1 + x * x), low=(-I, *FLAT), high=(I, *FLAT)),
    "acosh": F(m.acosh, lambda x: 1 / m.sqrt((x - 1) * (x + 1)), high=(I, *FLAT), lo=1.0, singular=(1,)),
    "atanh": F(m.atanh, lambda x: 1 / ((1 - x) * (1 + x)), lo=-1.0, hi=1.0, singular=(-1, 1), at={-1.0: -I, 1.0: I}),
    "erf": F(m.erf, pi_root, low=(-1.0, *FLAT), high=(1.0, *FLAT), unit=True),
    "erfc": F(erfc, lambda x: -pi_root(x), low=(2.0, *FLAT), high=(Z, *FLAT), unit=True),
    "sigmoid": F(logistic, logistic1, low=(Z, *FLAT), high=(1.0, *FLAT), unit=True),
    "softplus": F(softplus, logistic, low=(Z, *FLAT), high=(I, 1.0, Z, Z), unit=True),
    "fun x -> abs x ** x": F(lambda x: x ** x, lambda x: x ** x * (m.log(x) + 1), lo=5e-324, singular=(0,), unit=True,
                             grid=[1e-20, 0.1, 1.0, 2.0, 40.0]),
    "fun x -> 2.0 ** x": F(lambda x: m.mpf(2) ** x, low=(Z, *FLAT), high=(I, I, I, I), unit=True),
    "fun x -> 0.5 ** x": F(lambda x: m.mpf(2) ** -x, low=(I, -I, I, -I), high=(Z, *FLAT), unit=True),
    "fun x -> x * x * x": F(lambda x: x ** 3, low=(-I, I, -I, 6.0), high=(I, I, I, 6.0)),
    "fun x -> 1.0 / x": F(lambda x: 1 / x, low=(Z, *FLAT), high=(Z, *FLAT), singular=(0,)),
}

def power_limits(c, sign):
    """Of x ** c and its derivatives where x is infinite, for whole c at -inf too."""
    out, factor, left = [], mpf(1), mpf(c)
    for _ in range(4):
        size = Z if left < 0 or factor == 0 else I if left > 0 else 1.0
        odd = sign < 0 and left == int(left) and int(left) % 2
        out.append(Z if size == 0 else float(m.sign(factor)) * (-1 if odd else 1) * (abs(float(factor)) if size == 1 else I))
        factor, left = factor * left, left - 1
    return tuple(out)

def power_row(c, x):
    """x ** c and its derivatives, by their closed form."""
    out, factor, left = [], mpf(1), mpf(c)
    for _ in range(4):
        if factor == 0: out.append(mpf(0))
        elif x == 0: out.append(factor if left == 0 else mpf(0) if left > 0 else factor * inf)
        else: out.append(factor * x ** left)
        factor, left = factor * left, left - 1
    return out

POWERS = {f"fun x -> x ^ ({n})": n for n in (-20, -16, -7, -2, -1, 0, 1, 2, 3, 4, 5, 7, 16, 20)}
POWERS |= {f"fun x -> x ** ({c})": eval(c) for c in ("0.0", "1.0", "2.0", "3.0", "-1.0", "0.5", "1.5", "-1.5", "1.0 / 3.0", "2.5")}

def power_rows(c):
    whole = c == int(c)
    for p in GRID:
        if p < 0 and not whole: continue
        if p == -0.0 and math.copysign(1, p) < 0 and c < 3: continue   # a matter of the sign of what is infinite
        if math.isinf(p): yield p, *power_limits(c, p)
        else:
            with m.workdps(100): yield p, *power_row(mpf(c), mpf(p))

SPECIAL = {"gamma": gamma_row, "lgamma": lambda x: [log_abs_gamma(x)] + [psi(k, x) for k in range(3)],
           "digamma": lambda x: [psi(k, x) for k in range(4)], "trigamma": lambda x: [psi(k, x) for k in range(1, 4)] + [None]}
SPECIAL_INF = {"gamma": (I, I, I, I), "lgamma": (I, I, Z, Z), "digamma": (I, *FLAT), "trigamma": (Z, Z, Z, None)}
SPECIAL_ZERO = {"gamma": (I, -I, I, None), "lgamma": (I, -I, I, -I), "digamma": (-I, I, -I, I), "trigamma": (I, -I, I, None)}

def difference(f, x, h, n):
    """n-th derivative by central differences of an error of order h^4."""
    if n == 0: return f(x)
    if n == 1: return (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h)
    if n == 2: return (-f(x - 2 * h) + 16 * f(x - h) - 30 * f(x) + 16 * f(x + h) - f(x + 2 * h)) / (12 * h * h)
    return (f(x - 3 * h) - 8 * f(x - 2 * h) + 13 * f(x - h) - 13 * f(x + h) + 8 * f(x + 2 * h) - f(x + 3 * h)) / (8 * h ** 3)

def derivatives(f, p):
    """f and three derivatives at the float p."""
    x = mpf(p)
    digits = 1000 + (4 * int(m.log10(abs(x))) if f.unit and abs(x) > 1 else 0)
    with m.workdps(digits):
        singular = x in f.singular
        if singular:   # a point so close by that what isn't finite there exceeds the largest float
            inward = -1 if x == f.hi or (p == 0 and math.copysign(1, p) < 0) else 1
            m.mp.dps = 2400
            x += inward * mpf(10) ** -2000
        size = min([mpf(1) if f.unit else max(mpf(1), abs(x))] + [abs(x - s) for s in f.singular])
        h = size * mpf(10) ** -20
        if f.d1: values = [f.f(x), f.d1(x), difference(f.d1, x, h, 1), difference(f.d1, x, h, 2)]
        else: values = [difference(f.f, x, h, n) for n in range(4)]
        if not singular:   # what is left of a zero
            scale = max(abs(v) * size ** k for k, v in enumerate(values) if not f.d1 or k)
            values = [mpf(0) if k and abs(v) * size ** k < scale * mpf(10) ** -700 else v for k, v in enumerate(values)]
        if p in f.at: values[0] = f.at[p]
        return [float(v) for v in values]

def text(v):
    if v is None: return "?"
    v = float(v)
    return "0" if v == 0 else repr(v).removesuffix(".0")

def number(p):
    return "-0.0" if p == 0 and math.copysign(1, p) < 0 else text(p)

def unary_rows(f):
    for p in f.grid:
        if not f.lo <= p <= f.hi or (p == f.lo == 0 and math.copysign(1, p) < 0): continue
        limits = f.low if p == -I else f.high if p == I else None
        if math.isinf(p) and not limits: continue
        yield p, *(limits or derivatives(f, p))

def special_rows(name):
    for p in POLES:
        if p == 0: values = SPECIAL_ZERO[name]
        else:
            with m.workdps(500): values = [v if v is None else float(v) for v in SPECIAL[name](mpf(p))]
        yield p, *values
    yield I, *SPECIAL_INF[name]

# ---- Functions of two -----------------------------------------------------------------------------------------------------
SIDES = [1e-300, 1e-160, 1e-13, 0.5, 1.0, 3.0, 1e9, 1e155, 1e300]
def both(sides):
    return [-x for x in reversed(sides)] + sides

PAIRS = {"atan2": (m.atan2, [(a, b) for a in both(SIDES) for b in both(SIDES)] + [(0.0, b) for b in SIDES] + [(a, 0.0) for a in both(SIDES)]),
         "hypot": (lambda x, y: m.sqrt(x * x + y * y), [(a, b) for a in both(SIDES) for b in SIDES]
                   + [(0.0, b) for b in both(SIDES)] + [(a, 0.0) for a in both(SIDES)]),
         "fun x y -> x ** y": (lambda x, y: x ** y, [(a, b) for a in SIDES for b in
                                                     (-700.0, -2.0, -1.0, -0.5, -1e-3, 0.0, 1e-3, 0.5, 1.0, 1.0 / 3.0, 2.0, 3.0, 700.0)])}

def pair_rows(name, f, points):
    for a, b in points:
        with m.workdps(1400):
            x, y = mpf(a), mpf(b)
            if name == "fun x y -> x ** y":   # closed forms: y may be 0, and steps of it relative to that of log x are tiny
                z, l = x ** y, m.log(x)
                values = [z, y * z / x, z * l, y * (y - 1) * z / x / x, z / x * (1 + y * l), z * l * l]
            elif name == "hypot":
                r = m.sqrt(x * x + y * y)
                values = [r, x / r, y / r, y * y / r ** 3, -x * y / r ** 3, x * x / r ** 3]
            else:   # of atan2 x y: y is the abscissa
                q = x * x + y * y
                values = [m.atan2(x, y), y / q, -x / q, -2 * x * y / q / q, (x - y) * (x + y) / q / q, 2 * x * y / q / q]
            yield a, b, *(float(v) for v in values)

def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "edges.tsv")
    with open(path, "w") as out:
        tables = [(name, unary_rows(f)) for name, f in UNARY.items()] + [(name, power_rows(c)) for name, c in POWERS.items()]
        tables += [(name, special_rows(name)) for name in SPECIAL]
        for name, rows in tables + [(name, pair_rows(name, f, points)) for name, (f, points) in PAIRS.items()]:
            inputs = 2 if name in PAIRS else 1
            out.write(f"function\t{name}\n")
            for row in rows:
                out.write("\t".join([number(v) for v in row[:inputs]] + [text(v) for v in row[inputs:]]) + "\n")

main()
