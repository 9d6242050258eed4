#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long the program takes to start, compile and run something small: wall time of the whole process, median of 15.
Then programs whose time is mostly that of compiling them, median of 3, with an empty cache each time: those in compile/, and literals,
which are generated here. A literal isn't code: what it costs should be what reading it costs.
Last, whether anybody waits for the compiler: seconds of whole programs (those, bench/lang, the examples, and the derivative of each case of
bench/gradients, computed once), median of 5. In mode auto a
program should take hardly longer than in the better of the other two: with an empty cache at most 1.15 times the least of evaluator alone and
compile with machine code, and 0.1 s; with a full one at most machine code and 0.02 s. What doesn't hold is marked. A run is stopped after LIMIT s.

usage: latency.py --atled EXE [NAME…]        with names, only those programs"""
import argparse
import glob
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import run

here = os.path.dirname(os.path.abspath(__file__))
GRADIENT = "let f x = x * x * sin x\nprint (grad f 3.0)\n"


SOFTMAX = """let loss w =
  let mut total = 0.0 in
  for i = 0 to length data - 1 do
    let (x, kind) = FEATURES in
    let scores = [ sum [ w[k][j] * x[j] | j < 5 ] | k < 3 ] in
    let m = max (max scores[0] scores[1]) scores[2] in
    total <- total + (log (sum [ exp (s - m) | s in scores ]) + m - scores[kind])
  done;
  total / float (length data)
let train steps =
  let mut w = [ [ 0.0 | j < 5 ] | k < 3 ] in
  for step = 1 to steps do
    let g = grad loss w in
    w <- [ [ w[k][j] - 0.1 * g[k][j] | j < 5 ] | k < 3 ]
  done;
  w
print (loss (train 300))
"""


def literals():
    """Programs that are mostly data, by name."""
    r = random.Random(1)
    number = lambda: f"{r.uniform(-2, 2):.6f}"
    row = lambda n, opening="[", closing="]": opening + ", ".join(number() for _ in range(n)) + closing
    table = lambda rows: "[\n  " + ",\n  ".join(rows) + "\n]\n"
    flowers = [[f"{r.uniform(0, 8):.1f}" for _ in range(4)] + [i // 50] for i in range(150)]
    rows = table("[%s, %s, %s, %s, %s.0]" % tuple(f) for f in flowers)
    records = table("{ a = %s, b = %s, c = %s, d = %s, kind = %s }" % tuple(f) for f in flowers)
    total = "let rec total l = match l with Nil -> 0.0 | x :: rest -> sum x + total rest\n"
    return {
        "1,000 floats": f"let xs = {row(1000)}\nprint (sum [ x * x | x in xs ])\n",
        "20,000 floats": f"let xs = {row(20000)}\nprint (sum xs)\n",
        "400 x 10 matrix": f"let m = {table(row(10) for _ in range(400))}print (sum [ sum r | r in m ])\n",
        "list of 200 arrays": f"{total}print (total ({' :: '.join(row(3) for _ in range(200))} :: Nil))\n",
        "the same, computed": f"{total}let f y = total ({' :: '.join(row(2, '[y, ') for _ in range(200))} :: Nil)\nprint (f 1.0)\n",
        "150 x 5 rows, softmax": f"let data = {rows}" + SOFTMAX.replace(
            "FEATURES", "([data[i][0], data[i][1], data[i][2], data[i][3], 1.0], int (data[i][4]))"),
        "150 records, softmax": f"let data = {records}" + SOFTMAX.replace(
            "FEATURES", "(let r = data[i] in ([r.a, r.b, r.c, r.d, 1.0], r.kind))"),
    }


LIMIT = 60


def seconds(command, cache):
    """Of one run; LIMIT where it takes longer. (A wait with a limit of its own would look every 50 ms only.)"""
    start = time.perf_counter()
    process = subprocess.Popen(command, env=dict(os.environ, ATLED_CACHE=cache), stdout=subprocess.DEVNULL)
    limit = threading.Timer(LIMIT, process.kill)
    limit.start()
    status = process.wait()
    limit.cancel()
    took = time.perf_counter() - start
    if status != 0 and took < LIMIT:
        raise subprocess.CalledProcessError(status, command)
    return took


def settled(folder):
    """Waits until what came too late for the last run is in the cache."""
    new, end = os.path.join(folder, "new"), time.time() + 30
    while os.path.isdir(new) and os.listdir(new) and time.time() < end:
        time.sleep(0.02)


def one_round(exe, words):
    """off; always and auto, both with an empty cache and a full one."""
    times = [seconds([exe, "--jit=off", *words], "")]
    for mode in ("always", "auto"):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
            command = [exe, f"--jit={mode}", *words]
            times.append(seconds(command, cache))
            settled(cache)
            for _ in range(3 if mode == "auto" else 0):  # what one run finds hot the next one has from its start
                seconds(command, cache)
                settled(cache)
            times.append(seconds(command, cache))
    return times


def median(command, fresh, runs=15):
    times = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as shared:
        for k in range(runs + 1):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as own:
                env = dict(os.environ, ATLED_CACHE=own if fresh else shared)
                start = time.perf_counter()
                subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
                times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times[1:])


def small(exe):
    with tempfile.NamedTemporaryFile("w", suffix=".atl") as f:
        f.write(GRADIENT)
        f.flush()
        rows = [("-e '1 + 2'", [exe, "-e", "1 + 2"], True), ("gradient, compiled", [exe, "--jit=always", f.name], True),
                ("gradient, cached", [exe, "--jit=always", f.name], False), ("gradient, auto", [exe, f.name], True)]
        for name, command, fresh in rows:
            print(f"{name:24}{median(command, fresh):8.1f} ms")


def compiled(exe, names):
    programs = {os.path.basename(p)[:-4]: open(p, encoding="utf-8").read() for p in sorted(glob.glob(f"{here}/compile/*.atl"))}
    programs.update(literals())
    print(f"{'':24}{'auto':>8}    {'always':>8}    {'off':>8}")
    for name, text in programs.items():
        if names and name not in names:
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".atl") as f:
            f.write(text)
            f.flush()
            times = [median([exe, f"--jit={mode}", f.name], True, 3) for mode in ("auto", "always", "off")]
        print(f"{name:24}" + "    ".join(f"{t:8.1f}" for t in times) + " ms", flush=True)


def whole_programs(exe, folder):
    """By name: the program, and the arguments it is given."""
    files = sorted(glob.glob(f"{here}/lang/*.atl") + glob.glob(f"{here}/compile/*.atl") + glob.glob(f"{here}/../examples/*.atl"))
    found = {os.path.basename(path)[:-4]: [path] for path in files}
    for name, text in literals().items():
        found[name] = [os.path.join(folder, f"{len(found)}.atl")]
        with open(found[name][0], "w", encoding="utf-8") as f:
            f.write(text)
    bench = run.Bench(argparse.Namespace(atled=exe), folder)
    for path in sorted(glob.glob(f"{here}/gradients/*.atl")):
        problem = run.Problem(path) if os.path.basename(path) not in run.SHARED else None
        for name, words in problem.cases.items() if problem else ():
            found["gradient of " + name] = [path, "figures", *map(bench.data, words.split())]
    return found


def waits(exe, names, folder, runs=5):
    print(f"\n{'seconds':24}{'off':>8}{'always':>8}{'cached':>8}{'auto':>8}{'bound':>8}{'cached':>8}{'bound':>8}")
    for name, words in whole_programs(exe, folder).items():
        if names and name not in names:
            continue
        off, cold, warm, auto, again = (statistics.median(t) for t in zip(*(one_round(exe, words) for _ in range(runs))))
        bound, bound_again = 1.15 * min(off, cold) + 0.1, warm + 0.02
        marks = (" waits" if auto > bound else "") + (" slow again" if again > bound_again else "")
        print(f"{name:24}" + "".join(f"{t:8.3f}" for t in (off, cold, warm, auto, bound, again, bound_again)) + marks, flush=True)


def main():
    if sys.argv[1:2] != ["--atled"]:
        sys.exit(__doc__)
    exe = os.path.abspath(sys.argv[2])
    if not sys.argv[3:]:
        small(exe)
    compiled(exe, sys.argv[3:])
    with tempfile.TemporaryDirectory() as folder:
        waits(exe, sys.argv[3:], folder)


if __name__ == "__main__":
    main()
