#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The coefficients of src/support/kernel_bodies.h: polynomials that interpolate functions at Chebyshev points, computed
with 110 digits and rounded to floats.

usage: coefficients.py

Prints for each function its coefficients, the constant one first, and the largest error of the polynomial on its interval;
then log 2 in the two parts by which arguments are reduced."""
import struct
from decimal import Decimal, getcontext

getcontext().prec = 110
TINY = Decimal(10) ** -68
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
LOG2 = Decimal(2).ln()


def cosine(x):
    total = term = Decimal(1)
    k = 0
    while abs(term) > TINY:
        k += 2
        term *= -x * x / (k * (k - 1))
        total += term
    return total


def interpolate(function, low, high, degree):
    """By divided differences, as coefficients of powers."""
    n = degree + 1
    xs = [(low + high) / 2 + (high - low) / 2 * cosine(PI * (2 * i + 1) / (2 * n)) for i in range(n)]
    c = [function(x) for x in xs]
    for j in range(1, n):
        for i in range(n - 1, j - 1, -1):
            c[i] = (c[i] - c[i - 1]) / (xs[i] - xs[i - j])
    p = [c[n - 1]]
    for i in range(n - 2, -1, -1):
        shifted = [Decimal(0), *p]
        for k, v in enumerate(p):
            shifted[k] -= v * xs[i]
        shifted[0] += c[i]
        p = shifted
    return [float(v) for v in p]


def exp_tail(r):
    """(exp r - 1 - r) / r^2"""
    total, term, k = Decimal(0), Decimal(1) / 2, 2
    while abs(term) > TINY:
        total += term
        k += 1
        term *= r / k
    return total


def log_tail(z):
    """(log ((1 + s) / (1 - s)) - 2 s) / s^3 for z = s^2"""
    total, power, k = Decimal(0), Decimal(1), 3
    while abs(power) > TINY:
        total += 2 * power / k
        power *= z
        k += 2
    return total


def erf(x):
    total, term, k = Decimal(0), x, 0
    while abs(term) > TINY * abs(x):
        total += term / (2 * k + 1)
        k += 1
        term *= -x * x / k
    return 2 * total / PI.sqrt()


def erf_near(z):
    """erf x / x - 1 for z = x^2"""
    x = z.sqrt()
    return erf(x) / x - 1


def erf_tail(t):
    """exp (x^2) (1 - erf x) for t = (x - 2.5) / (x + 2.5)"""
    x = Decimal("2.5") * (1 + t) / (1 - t)
    return (x * x).exp() * (1 - erf(x))


def tell(name, function, low, high, degree):
    p = interpolate(function, low, high, degree)
    points = [low + (high - low) * k / 997 for k in range(1, 997)]
    error = max(abs(sum(Decimal(c) * x**k for k, c in enumerate(p)) - function(x)) for x in points)
    print(f"{name}: degree {degree}, error {float(error):.1e}")
    for c in p:
        print(f"  {c!r:26} {c.hex()}")


half = LOG2 / 2 * Decimal("1.0001")
tell("exp", exp_tail, -half, half, 10)
root = Decimal(2).sqrt()
tell("log", log_tail, Decimal(0), ((root - 1) / (root + 1)) ** 2, 6)
tell("erf", erf_near, Decimal(10) ** -30, Decimal(1), 12)
tell("1 - erf", erf_tail, Decimal(-3) / 7, Decimal(7) / 17, 15)
bits = struct.unpack("<Q", struct.pack("<d", float(LOG2)))[0] >> 21 << 21
high = struct.unpack("<d", struct.pack("<Q", bits))[0]
print(f"log 2: {high.hex()} + {float(LOG2 - Decimal(high)).hex()}")
