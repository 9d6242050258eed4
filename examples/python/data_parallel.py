#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data-parallel training: each process takes the gradient of its share of the rows, and MPI adds the gradients up.

usage: mpirun -n 4 python3 data_parallel.py      (Debian: python3-mpi4py, openmpi-bin)

A gradient is a sum over rows, so the sum of the processes' gradients is that of all rows: nothing of the program has to know of the
other processes. Every process takes the same step, so the weights stay equal. One process alone gives the same, up to rounding."""
import pathlib

import atled
import numpy as np
from mpi4py import MPI

ROWS, STEPS, RATE = 400, 200, 0.02
world = MPI.COMM_WORLD

# The same table in each process; a real program reads its own rows only.
random = np.random.default_rng(1)
rows = np.hstack([random.normal(size=(ROWS, 3)), np.ones((ROWS, 1))])
targets = (rows @ [1.0, -2.0, 0.5, 0.3] > 0).astype(float)
mine = slice(world.rank * ROWS // world.size, (world.rank + 1) * ROWS // world.size)

model = atled.load(pathlib.Path(__file__).parent / "regression.atl", jit="always")
loss_and_gradient = atled.value_and_grad(model.loss)

weights, gradient = np.zeros(4), np.zeros(4)
for step in range(STEPS):
    loss, share = loss_and_gradient(weights, rows[mine], targets[mine])
    world.Allreduce(np.ascontiguousarray(share), gradient)
    weights -= RATE * gradient
total = world.allreduce(model.loss(weights, rows[mine], targets[mine]))
if world.rank == 0:
    print(f"{world.size} processes: loss {total:.6f}, weights {np.round(weights, 6).tolist()}")
