#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""In mode `auto` Bench.time measures machine code though the evaluator computes while GCC works: with an empty cache its time is less than half of the
evaluator's. (Machine code takes less than a tenth of it here.)

    tests/test_bench_time.py ATLED"""
import os
import subprocess
import sys
import tempfile

PROGRAM = """let loss (w : float[]) =
  sum [ (let mut s = 0.0 in for k = 1 to 50 do s += sin (w[i] * float k) done; s) | i < length w ]
let t = Bench.time (grad loss) [ 0.001 * float i | i < 1000 ]
print t.best
"""


def best(exe, mode, folder):
    path = os.path.join(folder, "program.atl")
    with open(path, "w") as out:
        out.write(PROGRAM)
    env = {**os.environ, "XDG_CACHE_HOME": folder, "ATLED_THREADS": "1"}
    run = subprocess.run([exe, f"--jit={mode}", path], env=env, capture_output=True, text=True, timeout=300)
    if run.returncode:
        sys.exit(run.stderr)
    return float(run.stdout)


with tempfile.TemporaryDirectory() as folder:
    evaluator = best(sys.argv[1], "off", folder)
    auto = best(sys.argv[1], "auto", folder)
if auto > 0.5 * evaluator:
    sys.exit(f"{auto:.3g} s in mode auto, {evaluator:.3g} s in the evaluator")
print(f"{evaluator / auto:.1f} times as fast as the evaluator")
