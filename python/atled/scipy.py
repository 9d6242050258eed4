# SPDX-License-Identifier: MIT
"""Functions of Atled in SciPy's optimisers."""
import numpy as np
import scipy.optimize

from ._functions import hessian, value_and_grad

_WITH_HESSIAN = {"newton-cg", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr"}


def minimize(f, x0, args=(), method=None, **options):
    """scipy.optimize.minimize of a function of a vector and of `args` to a float, with its gradient, and its Hessian where the
    method uses one."""
    value = value_and_grad(f)
    if method and method.lower() in _WITH_HESSIAN and "hess" not in options:
        options["hess"] = hessian(f)
    return scipy.optimize.minimize(lambda x, *rest: value(x, *rest), np.asarray(x0, float), args, method, jac=True, **options)
