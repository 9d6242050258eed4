#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes complex.atl: values and the first two complex derivatives of analytic functions, for stdlib/tests/complex.atl.

usage: make_complex.py > complex.atl      (pip install mpmath)

Derivatives are central differences with 60 digits."""
import mpmath as mp

mp.mp.dps = 60
C = mp.mpc(0.75, -1.25)
POINTS = [mp.mpc(*p) for p in ((0.5, 0.75), (-1.5, 0.25), (-0.5, -2.0), (2.0, -1.0), (0.0, 1.5), (-2.0, 0.0), (0.6, 0.8))]
FUNCTIONS = {
    "mul": lambda z: z * C, "div": lambda z: z / C, "over": lambda z: C / z, "exp": mp.exp, "log": mp.log, "sqrt": mp.sqrt,
    "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh,
    "pow": lambda z: z ** C, "to": lambda z: C ** z, "cube": lambda z: z ** 3, "back": lambda z: z ** -5}


def pair(z):
    return f"{{re = {float(z.real)!r}, im = {float(z.imag)!r}}}"


def row(name, z):
    f, h = FUNCTIONS[name], mp.mpf(10) ** -16  # along the real axis: no cut is crossed
    values = (f(z), (f(z + h) - f(z - h)) / (2 * h), (f(z + h) + f(z - h) - 2 * f(z)) / h ** 2)
    return f'  {{name = "{name}", z = {pair(z)}, value = {pair(values[0])}, first = {pair(values[1])}, second = {pair(values[2])}}}'


print(f"""# SPDX-License-Identifier: MIT
# Made by make_complex.py from mpmath {mp.__version__}: not to be edited.
# Functions of z, their values and their first and second derivatives by z. c is the other operand of mul, div (z over c), over (c over z),
# pow (z to the c) and to (c to the z).
let c = {pair(C)}
let rows = [""")
print(",\n".join(row(name, z) for name in FUNCTIONS for z in POINTS) + "]")
