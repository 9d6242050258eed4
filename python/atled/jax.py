# SPDX-License-Identifier: MIT
"""Functions of Atled as functions of JAX, with first derivatives by reverse mode. JAX must be in double precision (the setting
jax_enable_x64). Compiled code of JAX calls them on the host."""
import jax
import jax.numpy as jnp
import numpy as np

from ._functions import vjp


def function(f, shape=lambda *xs: ()):
    """f for arrays of JAX. shape: the shape of the result for arguments, which JAX needs beforehand; that of a number if it isn't
    given."""

    def result(*xs):
        return jax.ShapeDtypeStruct(shape(*xs), jnp.float64)

    @jax.custom_vjp
    def call(*xs):
        return jax.pure_callback(lambda *ys: np.asarray(f(*map(_plain, ys))), result(*xs), *xs)

    def backward(xs, d):
        def pull(*ys):
            *ys, d = map(_plain, ys)
            _, grads = vjp(f, tuple(range(len(ys))))(*ys, d)
            return tuple(np.asarray(g) for g in (grads if len(ys) > 1 else (grads,)))

        return jax.pure_callback(pull, tuple(jax.ShapeDtypeStruct(jnp.shape(x), jnp.float64) for x in xs), *xs, d)

    call.defvjp(lambda *xs: (call(*xs), xs), backward)
    return call


def _plain(x):
    x = np.asarray(x)
    return float(x) if x.ndim == 0 else x
