#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes stiff.atl: solutions of three stiff problems, for stdlib/tests/evaluated/ode_stiff.atl.

usage: make_stiff.py > stiff.atl      (Debian: python3-scipy)

The problems are those of Hairer, Wanner, Solving Ordinary Differential Equations II, 2nd ed., IV.10. SciPy's Radau solves each at
relative tolerances of 1e-13 and 1e-12, with the Jacobian written out; the two solutions must agree to 1e-10, and the digits below that
aren't written."""
import sys

import numpy as np
from scipy.integrate import solve_ivp


def robertson(t, y):
    a, b, c = y
    fast, slow = 3e7 * b * b, 1e4 * b * c
    return [-0.04 * a + slow, 0.04 * a - slow - fast, fast]


def robertson_jacobian(t, y):
    a, b, c = y
    return [[-0.04, 1e4 * c, 1e4 * b], [0.04, -1e4 * c - 6e7 * b, -1e4 * b], [0, 6e7 * b, 0]]


LINEAR = np.array([[-1.71, 0.43, 8.32, 0, 0, 0, 0, 0], [1.71, -8.75, 0, 0, 0, 0, 0, 0], [0, 0, -10.03, 0.43, 0.035, 0, 0, 0],
                   [0, 8.32, 1.71, -1.12, 0, 0, 0, 0], [0, 0, 0, 0, -1.745, 0.43, 0.43, 0], [0, 0, 0, 0.69, 1.71, -0.43, 0.69, 0],
                   [0, 0, 0, 0, 0, 0, -1.81, 0], [0, 0, 0, 0, 0, 0, 1.81, 0]])


def hires(t, y):
    change = LINEAR @ y
    change[0] += 0.0007
    reaction = 280 * y[5] * y[7]
    return change + reaction * np.array([0, 0, 0, 0, 0, -1, 1, -1])


def hires_jacobian(t, y):
    jacobian = LINEAR.copy()
    for row, sign in (5, -1), (6, 1), (7, -1):
        jacobian[row, 5] += sign * 280 * y[7]
        jacobian[row, 7] += sign * 280 * y[5]
    return jacobian


MU = 1000.0


def van_der_pol(t, y):
    return [y[1], MU * (1 - y[0]**2) * y[1] - y[0]]


def van_der_pol_jacobian(t, y):
    return [[0, 1], [-2 * MU * y[0] * y[1] - 1, MU * (1 - y[0]**2)]]


PROBLEMS = {
    "robertson": (robertson, robertson_jacobian, [1, 0, 0], 1e11, 1e-25),
    "hires": (hires, hires_jacobian, [1, 0, 0, 0, 0, 0, 0, 0.0057], 321.8122, 1e-18),
    "van_der_pol": (van_der_pol, van_der_pol_jacobian, [2, 0], 2000.0, 1e-17),
}


def solved(name, rtol):
    f, jacobian, y0, end, atol = PROBLEMS[name]
    r = solve_ivp(f, (0, end), y0, method="Radau", jac=jacobian, rtol=rtol, atol=atol)
    print(name, rtol, r.message, len(r.t), [repr(float(x)) for x in r.y[:, -1]], file=sys.stderr)
    return r.y[:, -1]


def main():
    print("# SPDX-License-Identifier: MIT\n# Made by make_stiff.py: solutions of stiff problems at their last time.")
    for name in PROBLEMS:
        fine, coarse = solved(name, 1e-13), solved(name, 1e-12)
        assert np.all(np.abs(fine / coarse - 1) < 1e-10), name
        print(f"let {name} = [" + ", ".join(f"{x:.11e}" for x in fine) + "]")


main()
