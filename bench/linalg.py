#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures functions of `Linalg` in machine code beside LAPACK, in one run: SciPy's with OpenBLAS, on one thread.

usage: linalg.py --atled EXE [--size N] [--json FILE]

Each line has the milliseconds of processor time of both, the least of several batches, and their ratio. The ratio is to be 3 at
most. The results are compared first. Needs SciPy for Debian's Python (python3-scipy), OpenBLAS as its LAPACK (libopenblas0-pthread)."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"

TASKS = [   # name, function and argument in Atled, a number of its value that is compared
    ("cholesky", "Linalg.cholesky", "definite", "fun l -> trace l"),
    ("solve", "fun (a, b) -> Linalg.solve a b", "(numbers, ones)", "fun x -> sum x"),
    ("logdet and gradient", "value_and_grad Linalg.logdet", "definite", "fun (y, g) -> y + trace g"),
    ("slogdet and gradient", "value_and_grad (fun a -> (Linalg.slogdet a).log_abs)", "numbers", "fun (y, g) -> y + trace g"),
    ("eigh", "Linalg.eigh", "symmetric", "fun f -> sum (map abs f.values) + sum (map abs f.vectors[0])"),
    ("svd", "Linalg.svd", "numbers", "fun f -> sum f.s + sum (map abs f.u[0]) + sum (map abs f.vt[0])"),
    ("qr", "Linalg.qr", "numbers", "fun f -> sum (map abs f.q[0]) + sum (map abs f.r[0])"),
]


def atled_side(exe, n):
    """The matrix, and of each task the number and the milliseconds."""
    lines = [f"let n = {n}", "let numbers = reshape [n, n] (Random.normal (Random.key 31) (n * n))",
             "let symmetric = 0.5 * (numbers + transpose numbers)",
             "let definite = numbers @ transpose numbers + float n * eye n", "let ones = [ 1.0 | i < n ]",
             'write_file "numbers.csv" (Str.join "\\n" [ Str.join "," [ show x | x in row ] | row in numbers ])']
    for _, function, argument, number in TASKS:
        lines.append(f"print (({number}) (({function}) {argument}))")
        lines.append(f"print (1000.0 * (Bench.time ({function}) {argument}).best)")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "linalg.atl"), "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
        env = dict(os.environ, ATLED_THREADS="1")
        run = subprocess.run([os.path.abspath(exe), "--jit=always", "linalg.atl"], cwd=folder, env=env, capture_output=True, text=True)
        if run.returncode:
            sys.exit(run.stderr)
        with open(os.path.join(folder, "numbers.csv"), encoding="utf-8") as text:
            rows = [[float(x) for x in line.split(",")] for line in text]
    numbers = [float(x) for x in run.stdout.split()]
    return rows, list(zip(numbers[::2], numbers[1::2]))


LAPACK = r"""
import json, sys, time
import numpy as np, scipy.linalg as sl
a = np.array(json.load(sys.stdin))
n = len(a)
symmetric, definite, ones = (a + a.T) / 2, a @ a.T + n * np.eye(n), np.ones(n)
def logdet():
    c, _ = sl.lapack.dpotrf(definite, lower=1)
    inverse, _ = sl.lapack.dpotri(c, lower=1)
    return 2 * np.log(np.diag(c)).sum(), inverse
def slogdet():
    f, pivots, _ = sl.lapack.dgetrf(a)
    inverse, _ = sl.lapack.dgetri(f, pivots)
    return np.log(abs(np.diag(f))).sum(), inverse
tasks = [
    (lambda: sl.cholesky(definite, lower=True), np.trace),
    (lambda: sl.solve(a, ones), np.sum),
    (logdet, lambda r: r[0] + np.trace(r[1])),
    (slogdet, lambda r: r[0] + np.trace(r[1])),
    (lambda: sl.eigh(symmetric), lambda r: abs(r[0]).sum() + abs(r[1][0]).sum()),
    (lambda: sl.svd(a), lambda r: r[1].sum() + abs(r[0][0]).sum() + abs(r[2][0]).sum()),
    (lambda: sl.qr(a), lambda r: abs(r[0][0]).sum() + abs(r[1][0]).sum()),
]
out = []
for f, number in tasks:
    times = []
    for _ in range(9):
        start = time.thread_time()
        value = f()
        times.append(time.thread_time() - start)
    out.append((float(number(value)), 1000 * min(times)))
print(json.dumps(out))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--atled", required=True)
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--json")
    args = parser.parse_args()
    rows, ours = atled_side(args.atled, args.size)
    run = subprocess.run(["/usr/bin/python3", "-c", LAPACK], input=json.dumps(rows), capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    worst, figures = 0.0, {}
    print(f"n = {args.size}: ms\n{'':22}{'Atled':>9}{'LAPACK':>9}{'ratio':>7}")
    for (name, *_), (got, mine), (want, theirs) in zip(TASKS, ours, json.loads(run.stdout)):
        if abs(got - want) > 1e-8 * abs(want):
            sys.exit(f"{name}: {got} isn't {want}")
        print(f"{name:22}{mine:9.2f}{theirs:9.2f}{mine / theirs:7.2f}")
        figures[name] = {"atled": mine, "lapack": theirs}
        worst = max(worst, mine / theirs)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(figures, out, indent=1)
    print(f"the largest ratio is {worst:.2f}")


if __name__ == "__main__":
    main()
