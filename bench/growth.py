#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How the time and memory of gradients grow, beside those of the functions themselves: the programs of growth/.

usage: growth.py --atled EXE [--largest] [--evaluator] [NAME...]

Each program is run at sizes up to 10^6 (or those that a line `# sizes:` of it gives), function and gradient in turns,
and the best time of several runs counts. Printed are the times at the largest size, their ratio, the ratio of peak memory (above that of a run of size 1), and the exponents of
growth fitted over all sizes. --largest measures the largest size only, --evaluator the evaluator instead of machine code."""
import glob
import math
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
SIZES = [62_500, 125_000, 250_000, 500_000, 1_000_000]
ROUNDS = 3


def run(exe, name, n, task, cache):
    """Seconds and peak memory in KiB."""
    env = dict(os.environ, ATLED_JIT="off" if "--evaluator" in sys.argv else "always", XDG_CACHE_HOME=cache, ATLED_CACHE=cache)
    r = subprocess.run([exe, f"{here}/growth/{name}.atl", str(n), task], capture_output=True, env=env, text=True)
    seconds, peak = re.search(r"^seconds: (\S+)", r.stdout), re.search(r"^VmHWM:\s*(\d+) kB", r.stdout, re.M)
    if r.returncode != 0 or not seconds or not peak:
        sys.exit(f"{name} {n} {task} failed: {r.stderr}")
    return float(seconds.group(1)), int(peak.group(1))


def exponent(sizes, seconds):
    xs, ys = [math.log(n) for n in sizes], [math.log(s) for s in seconds]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def sizes_of(name):
    own = re.search(r"^# sizes: (.*)", open(f"{here}/growth/{name}.atl", encoding="utf-8").read(), re.M)
    return [int(n) for n in own.group(1).split()] if own else SIZES


def measure(exe, name, largest, cache):
    sizes = sizes_of(name)[-1 if largest else 0:]
    best, peak = {}, {}
    for task in ("value", "gradient"):
        run(exe, name, 1, task, cache) # compiles
        base = run(exe, name, 1, task, cache)[1]
        for n in sizes:
            best[n, task] = math.inf
            peak[n, task] = -base
    for n in sizes:
        for k in range(ROUNDS):
            for task in ("value", "gradient"):
                s, rss = run(exe, name, n, task, cache)
                best[n, task] = min(best[n, task], s)
                if k == 0:
                    peak[n, task] += rss
    n = sizes[-1]
    v, g = best[n, "value"], best[n, "gradient"]
    line = f"{name:18}{1e3 * v:9.2f} {1e3 * g:9.2f} {g / v:7.2f} {peak[n, 'gradient'] / max(1, peak[n, 'value']):8.2f}"
    if len(sizes) > 1:
        fits = [exponent(sizes, [best[m, task] for m in sizes]) for task in ("value", "gradient")]
        line += f" {fits[0]:8.2f} {fits[1]:8.2f}"
    print(line, flush=True)


def main():
    args = sys.argv[1:]
    if len(args) < 2 or args[0] != "--atled":
        sys.exit(__doc__)
    largest = "--largest" in args
    names = [a for a in args[2:] if not a.startswith("--")]
    names = names or sorted(set(os.path.basename(p)[:-4] for p in glob.glob(f"{here}/growth/*.atl")) - {"driver"})
    print(f"{'':18}{'f ms':>9} {'grad ms':>9} {'ratio':>7} {'memory':>8}" + ("" if largest else f" {'f ~ n^':>8} {'grad':>8}"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        for name in names:
            measure(os.path.abspath(args[1]), name, largest, cache)


if __name__ == "__main__":
    main()
