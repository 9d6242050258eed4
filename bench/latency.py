#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long the program takes to start, compile and run something small: wall time of the whole process, median of 15.

usage: latency.py --atled EXE"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
GRADIENT = "let f x = x * x * sin x\nprint (grad f 3.0)\n"


def median(command, fresh):
    times = []
    with tempfile.TemporaryDirectory() as shared:
        for k in range(16):
            with tempfile.TemporaryDirectory() as own:
                env = dict(os.environ, ATLED_CACHE=own if fresh else shared)
                start = time.perf_counter()
                subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
                times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times[1:])


def main():
    if sys.argv[1:2] != ["--atled"]:
        sys.exit(__doc__)
    exe = os.path.abspath(sys.argv[2])
    with tempfile.NamedTemporaryFile("w", suffix=".atl") as f:
        f.write(GRADIENT)
        f.flush()
        rows = [("-e '1 + 2'", [exe, "-e", "1 + 2"], True), ("gradient, compiled", [exe, "--jit=always", f.name], True),
                ("gradient, cached", [exe, "--jit=always", f.name], False), ("gradient, auto", [exe, f.name], True)]
        for name, command, fresh in rows:
            print(f"{name:22}{median(command, fresh):8.1f} ms")


if __name__ == "__main__":
    main()
