#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Functions of Atled within SciPy, PyTorch and JAX; each test is skipped without its package.

usage: test_packages.py [UNITTEST OPTIONS]"""
import importlib.util
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np  # noqa: E402

import atled  # noqa: E402

m = atled.program("""
let rosenbrock (x : float[]) = sum [ 100.0 * (x[i + 1] - x[i] ^ 2) ^ 2 + (1.0 - x[i]) ^ 2 | i < length x - 1 ]
let scaled (x : float[]) (k : float) = sum [ (k * y - 1.0) ^ 2 | y in x ]
let waves (x : float[]) (m : float[][]) = [ sin y | y in m @ x ]
""")


def needs(package):
    return unittest.skipUnless(importlib.util.find_spec(package), f"{package} isn't installed")


class Packages(unittest.TestCase):
    @needs("scipy")
    def test_minimize(self):
        import atled.scipy
        r = atled.scipy.minimize(m.rosenbrock, np.tile([-1.2, 1.0], 500), method="L-BFGS-B", options={"maxfun": 100000, "maxiter": 20000})
        self.assertLess(r.fun, 4.0)  # the other minimum has 3.99
        self.assertLess(np.abs(r.jac).max(), 1e-2)
        r = atled.scipy.minimize(m.rosenbrock, [-1.2, 1.0])
        np.testing.assert_allclose(r.x, [1.0, 1.0], atol=1e-5)
        r = atled.scipy.minimize(m.rosenbrock, np.array([-1.2, 1.0]), method="trust-exact")
        np.testing.assert_allclose(r.x, [1.0, 1.0], atol=1e-6)
        r = atled.scipy.minimize(m.scaled, [0.0, 3.0], args=(2.0,))
        np.testing.assert_allclose(r.x, [0.5, 0.5], atol=1e-6)

    @needs("torch")
    def test_torch(self):
        import torch

        import atled.torch
        waves = atled.torch.function(m.waves)
        x = torch.randn(3, dtype=torch.float64, requires_grad=True)
        w = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(waves, (x, w)))
        scaled = atled.torch.function(m.scaled)
        self.assertTrue(torch.autograd.gradcheck(scaled, (x, torch.tensor(0.7, dtype=torch.float64, requires_grad=True))))
        y = torch.sin(waves(x, w)).sum()
        y.backward()
        expected = torch.autograd.grad(torch.sin(torch.sin(w @ x)).sum(), (x, w))
        torch.testing.assert_close(x.grad, expected[0])
        torch.testing.assert_close(w.grad, expected[1])

    @needs("jax")
    def test_jax(self):
        import jax

        import atled.jax
        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp
        waves = atled.jax.function(m.waves, shape=lambda x, w: w.shape[:1])
        x, w = jnp.array([0.1, -0.4, 0.3]), jnp.arange(6.0).reshape(2, 3) / 5
        loss = jax.jit(lambda x, w: jnp.sum(jnp.exp(waves(x, w))))
        own = lambda x, w: jnp.sum(jnp.exp(jnp.sin(w @ x)))  # noqa: E731
        np.testing.assert_allclose(loss(x, w), own(x, w), rtol=1e-14)
        for a, b in zip(jax.grad(loss, (0, 1))(x, w), jax.grad(own, (0, 1))(x, w)):
            np.testing.assert_allclose(a, b, rtol=1e-13)
        scaled = atled.jax.function(m.scaled)
        np.testing.assert_allclose(jax.grad(scaled, 1)(x, 0.7), jax.grad(lambda x, k: jnp.sum((k * x - 1) ** 2), 1)(x, 0.7), rtol=1e-13)


if __name__ == "__main__":
    unittest.main()
