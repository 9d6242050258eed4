#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes fit.atl: an epidemic model of five parameters with priors, fitted to noisy data by SciPy, for stdlib/tests/fit.atl.

usage: make_fit.py > fit.atl      (python3-numpy, python3-scipy)

The model is that of the test: susceptible and infected parts, four Runge-Kutta steps a day, reported cases of each day log-normal
around rho times the new infections. SciPy's Nelder-Mead and BFGS find the mode over the parameters themselves, Newton's method
polishes it; gradients are by complex steps, the Hessian by central differences of those. Standard errors are from its inverse,
profiles from the same search with one parameter held."""
import numpy as np
import scipy
import scipy.optimize as so
import scipy.special as ss

DAYS, POPULATION = 30, 10000.0
NAMES = ["beta", "gamma", "i0", "rho", "phi"]


def incidence(beta, gamma, i0):
    def slope(s, i):
        return -beta * s * i, beta * s * i - gamma * i
    s, i, out, h = 1.0 - i0, i0, [], 0.25
    for _ in range(DAYS):
        before = s
        for _ in range(4):
            a1, b1 = slope(s, i)
            a2, b2 = slope(s + h / 2 * a1, i + h / 2 * b1)
            a3, b3 = slope(s + h / 2 * a2, i + h / 2 * b2)
            a4, b4 = slope(s + h * a3, i + h * b3)
            s = s + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            i = i + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
        out.append(POPULATION * (before - s))
    return np.array(out)


def lognormal(x, mean, sd):
    return -((np.log(x) - mean) / sd) ** 2 / 2 - np.log(x * sd * np.sqrt(2 * np.pi))


def log_posterior(p, data):
    beta, gamma, i0, rho, phi = p
    likelihood = np.sum(lognormal(data, np.log(rho * incidence(beta, gamma, i0)), phi))
    prior = (lognormal(beta, -0.5, 0.5) + lognormal(gamma, -1.5, 0.5) + 49 * np.log(1 - i0) - ss.betaln(1, 50)
             + np.log(rho) + np.log(1 - rho) - ss.betaln(2, 2) + np.log(5.0) - 5 * phi)
    return likelihood + prior


def gradient(f, p):
    out = []
    for k in range(len(p)):
        z = np.array(p, complex)
        z[k] += 1e-30j
        out.append(f(z).imag / 1e-30)
    return np.array(out)


def hessian(f, p):
    rows = []
    for k in range(len(p)):
        h = 1e-4 * p[k]
        rows.append(sum(c * gradient(f, p + d * h * np.eye(len(p))[k]) for c, d in
                        ((1 / 12, -2), (-2 / 3, -1), (2 / 3, 1), (-1 / 12, 2))) / h)
    rows = np.array(rows)
    return (rows + rows.T) / 2


def minimum(f, start):
    def safe(p):
        with np.errstate(all="ignore"):
            y = f(p)
        return y if np.isfinite(y) else 1e10
    p = so.minimize(safe, start, method="Nelder-Mead", options={"maxiter": 20000, "xatol": 1e-9, "fatol": 1e-11}).x
    p = so.minimize(safe, p, jac=lambda q: gradient(f, q), method="BFGS").x
    for _ in range(5):
        p = p - np.linalg.solve(hessian(f, p), gradient(f, p))
    return p


def show(x):
    return "[" + ", ".join(map(show, x)) + "]" if isinstance(x, (list, tuple, np.ndarray)) else repr(float(x))


def main():
    rng = np.random.default_rng(37)
    data = np.round(0.4 * incidence(0.7, 0.25, 0.002) * np.exp(0.15 * rng.normal(size=DAYS)), 1)
    loss = lambda p: -log_posterior(p, data)
    p = minimum(loss, np.array([0.6, 0.2, 0.003, 0.4, 0.2]))
    covariance = np.linalg.inv(hessian(loss, p))
    print(f"""# SPDX-License-Identifier: MIT
# Made by make_fit.py from SciPy {scipy.__version__} and NumPy {np.__version__}: not to be edited.
# Reported cases of each day; estimates, standard errors and covariance of {", ".join(NAMES)}; the largest log posterior.
let data = {show(data)}
let estimates = {show(p)}
let errors = {show(np.sqrt(np.diag(covariance)))}
let covariance = {show(covariance)}
let log_posterior = {show(-loss(p))}
# Profiles: values at which a parameter is held, and the largest log posterior over the others.""")
    for k in (0, 3):
        sd = np.sqrt(covariance[k, k])
        grid = np.round([p[k] - 1.5 * sd, p[k] + 0.5 * sd, p[k] + 2 * sd], 3)
        found = []
        for x in grid:
            held = lambda q: loss(np.insert(q, k, x))
            found.append(-held(minimum(held, np.delete(p, k))))
        print(f"let {NAMES[k]}_grid = {show(grid)}\nlet {NAMES[k]}_profile = {show(found)}")


main()
