#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The example of data-parallel training, with one process and with three, beside the same descent by NumPy.

usage: test_mpi.py; skipped without mpi4py and mpirun (Debian: python3-mpi4py, openmpi-bin)"""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]


def descend():
    """The example's last loss and weights, with the gradient by hand."""
    random = np.random.default_rng(1)
    rows = np.hstack([random.normal(size=(400, 3)), np.ones((400, 1))])
    targets = (rows @ [1.0, -2.0, 0.5, 0.3] > 0).astype(float)
    w = np.zeros(4)
    for _ in range(200):
        p = 1 / (1 + np.exp(-rows @ w))
        w = w - 0.02 * (2 * (p - targets) * p * (1 - p)) @ rows
    return np.sum((1 / (1 + np.exp(-rows @ w)) - targets) ** 2), w


@unittest.skipUnless(importlib.util.find_spec("mpi4py") and shutil.which("mpirun"), "no mpi4py, or no mpirun")
class DataParallel(unittest.TestCase):
    def test_example(self):
        loss, weights = descend()
        env = dict(os.environ, PYTHONPATH=str(ROOT / "python"), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        for n in 1, 3:
            r = subprocess.run(["mpirun", "--oversubscribe", "-n", str(n), sys.executable, str(ROOT / "examples/python/data_parallel.py")],
                               capture_output=True, text=True, timeout=120, env=env)
            self.assertEqual(r.returncode, 0, r.stderr)
            m = re.fullmatch(r"(\d+) processes: loss (\S+), weights \[(.*)\]\n", r.stdout)
            self.assertTrue(m, r.stdout)
            self.assertEqual(int(m[1]), n)
            self.assertAlmostEqual(float(m[2]), loss, places=5)
            np.testing.assert_allclose([float(x) for x in m[3].split(",")], weights, atol=2e-6)


if __name__ == "__main__":
    unittest.main()
