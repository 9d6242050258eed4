#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes mcmc.atl: diagnostics of chains by ArviZ, and expectations of a posterior by quadrature, for stdlib/tests/mcmc.atl.

usage: make_mcmc.py > mcmc.atl      (pip install arviz==0.20.0 "matplotlib<3.9" scipy)

Eight schools (Rubin, Estimation in parallel randomized experiments, J. Educ. Stat. 6, 1981) has the priors of posteriordb's
eight_schools-eight_schools_noncentered: mu ~ normal(0, 5), tau ~ half-Cauchy(0, 5), theta ~ normal(mu, tau). Given tau, all else is normal,
so its expectations are integrals over tau alone. posteriordb's reference draws have means within their own errors of these."""
import math
import warnings

import arviz
import numpy as np
import scipy
from arviz.stats.diagnostics import _rhat, _split_chains, _z_scale
from scipy.integrate import quad

Y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
S = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def given(tau):
    """Log of the density of tau, and means and variances of mu and theta given it."""
    v = S**2 + tau**2
    precision = 1 / 25 + np.sum(1 / v)
    mu, variance = np.sum(Y / v) / precision, 1 / precision
    log_density = -math.log1p((tau / 5)**2) - 0.5 * np.sum(np.log(v)) + 0.5 * math.log(variance) \
        - 0.5 * (np.sum(Y**2 / v) - mu**2 / variance)
    part = tau**2 / v
    means = np.concatenate([[mu], (1 - part) * mu + part * Y])
    variances = np.concatenate([[variance], (1 - part)**2 * variance + part * S**2])
    return log_density, means, variances


def expectation(f):
    return quad(lambda t: f(t) * math.exp(given(t)[0] + 40), 0, math.inf, epsabs=1e-13, epsrel=1e-10, limit=500)[0]


def eight_schools():
    total = expectation(lambda t: 1.0)
    mean = [expectation(lambda t, i=i: given(t)[1][i]) / total for i in range(9)] + [expectation(lambda t: t) / total]
    square = [expectation(lambda t, i=i: given(t)[1][i]**2 + given(t)[2][i]) / total for i in range(9)]
    sd = [math.sqrt(s - m * m) for s, m in zip(square, mean)]
    sd.append(math.sqrt(expectation(lambda t: t * t) / total - mean[9]**2))
    return [float(m) for m in mean], sd


def autoregressive(rng, rho, chains, n, shift=0.0):
    x = np.zeros((chains, n))
    z = rng.normal(size=(chains, n))
    for i in range(n):
        x[:, i] = rho * (x[:, i - 1] if i else 0.0) + math.sqrt(1 - rho**2) * z[:, i]
    return np.round((x + shift * np.arange(chains)[:, None]) * 2**16) / 2**16  # so that distances from the median are exact


def rhat(chains):
    """arviz.rhat, which refuses a single chain."""
    halves = _split_chains(chains)
    return max(float(_rhat(_z_scale(x))) for x in (halves, abs(halves - np.median(halves))))


def case(chains):
    assert len(chains) == 1 or rhat(chains) == arviz.rhat(chains)
    d = {"rhat": rhat(chains), "bulk": float(arviz.ess(chains)), "tail": float(arviz.ess(chains, method="tail")),
         "error": float(arviz.mcse(chains))}
    rows = ",\n    ".join(repr([float(x) for x in row]) for row in chains)
    return "{" + ", ".join(f"{k} = {v!r}" for k, v in d.items()) + ",\n   chains = [\n    " + rows + "]}"


def main():
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(37)
    cases = [autoregressive(rng, 0.5, 4, 40), autoregressive(rng, 0.9, 2, 101), autoregressive(rng, -0.7, 4, 40),
             autoregressive(rng, 0.3, 3, 30, shift=1.0), autoregressive(rng, 0.0, 1, 60), np.round(autoregressive(rng, 0.6, 3, 41)),
             np.cumsum(autoregressive(rng, 0.0, 2, 50), axis=1), autoregressive(rng, 0.0, 2, 4)]
    print("# SPDX-License-Identifier: MIT")
    print(f"# Made by make_mcmc.py from ArviZ {arviz.__version__} and SciPy {scipy.__version__}: not to be edited.")
    print("# Diagnostics of chains: R-hat, effective sample sizes, error of the mean.")
    print("let cases = [\n  " + ",\n  ".join(case(c) for c in cases) + "]")
    mean, sd = eight_schools()
    print("# Eight schools: means and standard deviations of mu, the eight theta, tau; and the means of posteriordb's reference draws.")
    print(f"let schools = {{\n  y = {Y.tolist()!r}, s = {S.tolist()!r},\n  mean = {mean!r},\n  sd = {sd!r},\n"
          "  posteriordb = [4.41051833695493, 6.15050229334425, 4.9395811407422, 3.90590609001582, 4.79601675138494, 3.6144363246799,\n"
          "    4.0511475789675, 6.31716975886893, 4.88399694353288, 3.60205952364059]}")


main()
