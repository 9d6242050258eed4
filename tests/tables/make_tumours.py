#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tumours.atl: the optimum of a penalised logistic regression, for tests/programs/tumours.atl.

usage: make_tumours.py > tumours.atl      (Debian: python3-mpmath python3-numpy)

The loss is the sum over all 569 tumours of log(1 + exp(-s)), s the score of what is malignant and minus that of what isn't, and half the
square of the weights; the features have mean 0 and variance 1. Newton's method in NumPy, with the loss and its gradient to 30 digits."""
import os

import mpmath as mp
import numpy as np

mp.mp.dps = 30
DATA = os.path.join(os.path.dirname(__file__), "../../examples/data/breast_cancer.csv")


def standard(column):
    mean = mp.fsum(column) / len(column)
    sd = mp.sqrt(mp.fsum((x - mean)**2 for x in column) / len(column))
    return [(x - mean) / sd for x in column]


def main():
    rows = [line.split(",") for line in open(DATA, encoding="ascii").read().split("\n")[1:] if line]
    columns = [standard([mp.mpf(r[i]) for r in rows]) for i in range(30)] + [[mp.mpf(1)] * len(rows)]
    signs = [1 if float(r[30]) == 0 else -1 for r in rows]
    features = [[s * c[k] for c in columns] for k, s in enumerate(signs)]
    x = [mp.mpf(0)] * 31
    plain = np.array(features, dtype=float)
    for _ in range(100):
        scores = [mp.fdot(f, x) for f in features]
        slopes = [-1 / (1 + mp.exp(s)) for s in scores]
        gradient = [mp.fdot(slopes, [f[i] for f in features]) + (x[i] if i < 30 else 0) for i in range(31)]
        p = np.array([float(-s) for s in slopes])
        hessian = plain.T @ (plain * (p * (1 - p))[:, None]) + np.diag([1.0] * 30 + [0.0])
        x = [a - mp.mpf(d) for a, d in zip(x, np.linalg.solve(hessian, np.array(gradient, dtype=float)))]
        if max(abs(g) for g in gradient) < mp.mpf(10)**-20:
            break
    else:
        raise SystemExit("no convergence")
    value = mp.fsum(mp.log1p(mp.exp(-s)) for s in scores) + mp.fdot(x[:30], x[:30]) / 2
    print("# SPDX-License-Identifier: MIT\n# Made by make_tumours.py: the optimum of a logistic regression with penalty.")
    print(f"let value = {float(value)!r}\nlet bias = {float(x[30])!r}")
    print("let weights =\n  [" + ",\n   ".join(repr(float(w)) for w in x[:30]) + "]")


main()
