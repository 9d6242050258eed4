#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes powers_of_ten.def, the table of shortest.c: POWER(K, HIGH, LOW) for the powers of ten that doubles need, each
as the 128-bit number g with 10^k < g * 2^(e - 127) <= 10^k * (1 + 2^-127), where e = floor(log2 10^k).

usage: make_powers_of_ten.py > powers_of_ten.def"""
from fractions import Fraction


def floor_log2(x):
    n = x.numerator.bit_length() - x.denominator.bit_length()
    return n if Fraction(2) ** n <= x else n - 1


print("/* SPDX-License-Identifier: MIT */")
print("/* Powers of ten as 128-bit numbers, made by make_powers_of_ten.py: POWER(K, HIGH, LOW). See shortest.c. */")
for k in range(-292, 325):
    power = Fraction(10) ** k
    g = int(power * Fraction(2) ** (127 - floor_log2(power)))
    if g * Fraction(2) ** (floor_log2(power) - 127) != power:
        g += 1
    assert 1 << 127 <= g < 1 << 128
    print(f"POWER({k}, 0x{g >> 64:016x}, 0x{g & (1 << 64) - 1:016x})")
# the approximations of logarithms in shortest.c
for e in range(-1500, 1500):
    two = Fraction(2) ** e
    def floor_log10(x):
        n = len(str(x.numerator)) - len(str(x.denominator))
        while Fraction(10) ** n > x:
            n -= 1
        while Fraction(10) ** (n + 1) <= x:
            n += 1
        return n
    assert (e * 1262611) >> 22 == floor_log10(two)
    assert (e * 1262611 - 524031) >> 22 == floor_log10(two * 3 / 4)
    if abs(e) < 400:
        assert (e * 1741647) >> 19 == floor_log2(Fraction(10) ** e)
