#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes npy.atl: files that NumPy wrote, as hexadecimal text, and what Npy must read of them.

usage: make_npy.py > npy.atl     (needs NumPy)"""
import io
import sys

import numpy as np

HEAD = '''# SPDX-License-Identifier: MIT
# Made by make_npy.py: files that numpy.save of NumPy %s wrote, byte by byte, and the elements that they hold.
let path = "/tmp/atled_npy_table.npy"
let digit c = match Str.find c "0123456789abcdef" with Some k -> k | None -> fail "no digit"
let of_hex lines =
  let text = Str.join "" lines in
  Bytes.of_array
    [ 16 * digit (Str.sub text (2 * i) 1) + digit (Str.sub text (2 * i + 1) 1)
    | i < Str.length text / 2 ]
let holds (shape : int[]) (data : float[]) text =
  write_bytes path (of_hex text);
  let a = Npy.read path in
  a.shape = shape && length a.data = length data && all (fun k -> a.data[k] = data[k]) (iota (length data))
let holds_ints (shape : int[]) (data : int[]) text =
  write_bytes path (of_hex text);
  let a = Npy.read_ints path in
  a.shape = shape && a.data = data
'''


def packed(array, version):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue().hex()


def lines(text):
    """As an array of strings, one a line."""
    return "[" + ",\n     ".join(f'"{text[k:k + 84]}"' for k in range(0, len(text), 84)) + "]"


def number(x):
    return {"inf": "inf", "-inf": "(-inf)"}.get(repr(float(x)), f"({float(x)!r})" if x < 0 else repr(float(x)))


def test(name, array, version=(1, 0)):
    values = ", ".join(number(x) for x in array.flatten(order="C"))
    shape = ", ".join(map(str, array.shape))
    print(f'test "{name}" =\n  holds [{shape}] [{values}]\n    {lines(packed(array, version))}')
    if array.dtype.kind in "iu" and array.max(initial=0) < 2 ** 63:
        values = ", ".join(f"({x})" if x < 0 else str(x) for x in array.flatten(order="C"))
        print(f'test "{name}, as ints" =\n  holds_ints [{shape}] [{values}]\n    {lines(packed(array, version))}')


def main():
    sys.stdout.write(HEAD % np.__version__)
    for order in "<>":
        for kind in ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]:
            limits = np.finfo(kind) if kind[0] == "f" else np.iinfo(kind)
            values = [limits.max, limits.min, 0, 1, 7, 100]
            test(f"{order}{kind}", np.array(values, dtype=order + kind).reshape(2, 3))
    test("bool", np.array([True, False, True]))
    test("infinities", np.array([np.inf, -np.inf, 0.1]))
    test("no dimension", np.array(2.5))
    test("no elements", np.zeros((0, 3)))
    test("no columns", np.zeros((2, 0)))
    ramp = np.arange(24.0).reshape(2, 3, 4)
    test("three dimensions", ramp)
    test("Fortran's order", np.asfortranarray(ramp))
    test("Fortran's order, a matrix of int16", np.asfortranarray(np.arange(6, dtype="<i2").reshape(3, 2)))
    test("version 2", ramp[0], (2, 0))
    test("version 3", ramp[1], (3, 0))


main()
