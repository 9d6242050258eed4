#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The memory that a gradient by Ode.adjoint takes: 12,000 steps of 100 numbers within 32 MB, where all steps take 150 MB.

usage: test_adjoint.py EXE

The first run fills the cache: compiling takes more memory than computing. The gradient must be that of the steps."""
import os
import subprocess
import sys
import tempfile

MOST = 32  # MB
# A ring of 100 numbers that diffuse; stability bounds the steps. Arguments: the solver, and until when it solves.
PROGRAM = """
let f p t (y : float[]) =
  let n = length y in
  [ p.d * (y[(i + n - 1) % n] - 2.0 * y[i] + y[(i + 1) % n]) - p.k * y[i] + sin (p.w * t) | i < n ]
let options = {Ode.defaults with rtol = 1e-6, atol = 1e-6}
let end_time = Option.default 0.0 (float_of_string args[1])
let loss solve p = sum (solve options (f p) [ sin (0.1 * float i) | i < 100 ] [0.0, end_time]).ys[1]
let g =
  let p = {d = 100.0, k = 0.01, w = 1.0} in
  if args[0] = "adjoint" then grad (loss Ode.adjoint) p else grad (loss Ode.dopri5) p
print (floats g)
"""


def run(command, env):
    """What it prints, and the most memory it had in MB."""
    p = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    out = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    if status:
        sys.exit(f"{command}: status {status}")
    return [float(x) for x in out.strip("[]\n").split(",")], usage.ru_maxrss / 1024


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ring.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        env = dict(os.environ, ATLED_CACHE=os.path.join(folder, "cache"))
        gradient = lambda solver, end_time: run([sys.argv[1], path, solver, end_time], env)
        adjoint, _ = gradient("adjoint", "1.0")
        steps, _ = gradient("dopri5", "1.0")
        _, memory = gradient("adjoint", "100.0")
    print(adjoint, steps, f"{memory:.1f} MB")
    scale = max(map(abs, steps))
    near = all(abs(a - b) <= 1e-4 * scale for a, b in zip(adjoint, steps))
    sys.exit(0 if near and memory < MOST else 1)


main()
