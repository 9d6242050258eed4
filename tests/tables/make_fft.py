#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes fft.atl: elements of discrete Fourier transforms, and first and second derivatives of functions of transforms, for
stdlib/tests/fft.atl.

usage: make_fft.py > fft.atl      (pip install mpmath numpy)

Transforms are sums of 30 digits (mpmath), compared with NumPy's before they are written; derivatives are central differences with 60
digits."""
import mpmath as mp
import numpy as np

mp.mp.dps = 60


def sample(n):
    """What stdlib/tests/fft.atl transforms."""
    return [mp.mpc((37 * j + 11) % 64 - 31, (23 * j * j + 5) % 64 - 32) / 32 for j in range(n)]


def transform(z, sign=-1):
    n = len(z)
    roots = [mp.expjpi(mp.mpf(2 * sign * k) / n) for k in range(n)]
    return [mp.fsum(z[j] * roots[j * k % n] for j in range(n)) for k in range(n)]


def element(z, k):
    return mp.fsum(z[j] * mp.expjpi(mp.mpf(-2 * (j * k % len(z))) / len(z)) for j in range(len(z)))


def show(x):
    return "[" + ", ".join(show(row) for row in x) + "]" if isinstance(x, (list, tuple)) else repr(float(x))


def case(n):
    z = sample(n)
    ks = list(range(n)) if n <= 16 else sorted({0, 1, n // 3, n // 2, n - 2})
    xs = [element(z, k) for k in ks]
    reference = np.fft.fft([complex(w) for w in z])
    assert all(abs(complex(x) - reference[k]) < 1e-9 for k, x in zip(ks, xs)), n
    return f"  {{n = {n}, ks = {ks}, re = {show([x.real for x in xs])}, im = {show([x.imag for x in xs])}}}"


def weighed(z):
    """What is differentiated: the sum of (k + 1) |z[k]|^2 (1 + Re z[k])."""
    return mp.fsum((k + 1) * abs(w) ** 2 * (1 + w.real) for k, w in enumerate(z))


def forward(v):
    return weighed(transform([mp.mpc(a, b) for a, b in zip(v[:3], v[3:])]))


def inverse(v):
    return weighed([w / 3 for w in transform([mp.mpc(a, b) for a, b in zip(v[:3], v[3:])], 1)])


def real(v):
    return weighed(transform([mp.mpc(a) for a in v])[:len(v) // 2 + 1])


def real_inverse(n):
    def f(v):
        h = n // 2 + 1
        z = [mp.mpc(a, b) for a, b in zip(v[:h], v[h:])]
        z[0] = mp.mpc(z[0].real)
        if n % 2 == 0:
            z[-1] = mp.mpc(z[-1].real)
        rest = [mp.conj(z[n - k]) for k in range(h, n)]
        return weighed([w / n for w in transform(z + rest, 1)])
    return f


def convolve(v):
    a, b = v[:3], v[3:]
    return weighed([mp.mpc(mp.fsum(a[i] * b[k - i] for i in range(3) if 0 <= k - i < len(b))) for k in range(len(v) - 1)])


def derivatives(name, f, n):
    v, step = [mp.mpf((7 * i + 3) % 11 - 5) / 4 for i in range(n)], mp.mpf(10) ** -15

    def at(*moves):
        u = list(v)
        for i, k in moves:
            u[i] += k * step
        return f(u)
    gradient = [(at((i, 1)) - at((i, -1))) / (2 * step) for i in range(n)]
    hessian = [[(at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))) / (4 * step ** 2)
                for j in range(n)] for i in range(n)]
    return (f'  {{name = "{name}", v = {show(v)}, value = {show(f(v))},\n   gradient = {show(gradient)},\n'
            f"   hessian = {show(hessian)}}}")


print(f"""# SPDX-License-Identifier: MIT
# Made by make_fft.py from mpmath {mp.__version__}: not to be edited.
# Elements ks of the transform of n numbers ((37 j + 11) mod 64 - 31) / 32 + i ((23 j^2 + 5) mod 64 - 32) / 32.
let transforms = [""")
print(",\n".join(case(n) for n in (1, 2, 3, 4, 5, 6, 8, 12, 16, 31, 37, 64, 74, 210, 256, 1000, 1009)) + "]")
print("""# Functions of v: the transform named (parts of complex numbers one after the other), and the sum of (k + 1) |z[k]|^2 (1 + Re z[k]) of its
# elements.
let functions = [""")
print(",\n".join([derivatives("forward", forward, 6), derivatives("inverse", inverse, 6), derivatives("real", real, 4),
                   derivatives("real", real, 5), derivatives("real_inverse 4", real_inverse(4), 6),
                   derivatives("real_inverse 5", real_inverse(5), 6), derivatives("convolve", convolve, 7)]) + "]")
