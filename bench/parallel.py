#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures programs that use `par` and `pmap` with one thread and with several, in turn.

usage: parallel.py --atled EXE [--threads N] [--rounds N] [--json FILE] [NAME…]

Each line has, for a function and its gradient, the milliseconds on the clock with one thread, the least of several rounds, and how
many times faster N threads are (2). Values are compared to the last bit. Other programs on the machine count: its load comes first."""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "parallel")
TIMING = """
print (value 0.5)
print (gradient 0.5)
print (Bench.elapsed value 0.5).best
print (Bench.elapsed gradient 0.5).best
"""


def run(exe, path, threads):
    """Values, and milliseconds, of the function and its gradient."""
    out = subprocess.run([exe, "--jit=always", f"--threads={threads}", path], capture_output=True, text=True, timeout=600)
    if out.returncode:
        sys.exit(out.stderr)
    lines = out.stdout.split()
    return lines[:2], [1e3 * float(x) for x in lines[2:]]


def measure(exe, name, threads, rounds):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name + ".atl")
        with open(os.path.join(HERE, name + ".atl"), encoding="utf-8") as source, open(path, "w", encoding="utf-8") as program:
            program.write(source.read() + TIMING)
        values, best = None, {1: [1e300, 1e300], threads: [1e300, 1e300]}
        for _ in range(rounds):
            for n in best:
                got, times = run(exe, path, n)
                if values not in (None, got):
                    sys.exit(f"{name}: {n} threads give {got}, not {values}")
                values = got
                best[n] = [min(a, b) for a, b in zip(best[n], times)]
    return best[1], [one / many for one, many in zip(best[1], best[threads])]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:])
    parser.add_argument("--atled", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    names = a.names or sorted(os.path.basename(f)[:-4] for f in glob.glob(os.path.join(HERE, "*.atl")))
    print(f"load {os.getloadavg()[0]:.2f}, {os.cpu_count()} processors, {a.threads} threads")
    print(f"{'':14}{'function':>12}{'faster':>8}{'gradient':>12}{'faster':>8}")
    results = {}
    for name in names:
        one, faster = measure(os.path.abspath(a.atled), name, a.threads, a.rounds)
        results[name] = {"function": faster[0], "gradient": faster[1]}
        print(f"{name:14}{one[0]:9.2f} ms{faster[0]:8.2f}{one[1]:9.2f} ms{faster[1]:8.2f}", flush=True)
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)


main()
