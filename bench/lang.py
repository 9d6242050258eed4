#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the programs of lang/: each NAME.atl beside NAME.c, its equal written by hand. There are no derivatives in them.

usage: lang.py --atled EXE [NAME...]

Both print lines `result: X` and `seconds: X` (or `seconds NAME: X` for several parts); the seconds are of the
measured part alone, best of several runs inside the program. `// link: -lX` in C names a library. Results must agree to a relative 1e-6 before times are
compared. The ratio is Atled's time over C's."""
import glob
import os
import re
import subprocess
import sys
import tempfile

here = f"{os.path.dirname(os.path.abspath(__file__))}/lang"
C_FLAGS = ["-O3", "-march=native", "-std=gnu17"]


def figures(command):
    r = subprocess.run(command, capture_output=True, text=True, cwd=here, timeout=600)
    if r.returncode != 0:
        return None, None, r.stderr.strip()[:300]
    results = [float(x) for x in re.findall(r"^result: (\S+)", r.stdout, re.M)]
    seconds = {m.group(1).strip(): float(m.group(2)) for m in re.finditer(r"^seconds([^:]*): (\S+)", r.stdout, re.M)}
    return results, seconds, None


def agree(a, b):
    return len(a) == len(b) and all(abs(x - y) <= 1e-6 * max(1e-300, abs(x), abs(y)) for x, y in zip(a, b))


def bench(exe, name, folder):
    results, seconds, error = figures([exe, f"{name}.atl"])
    if error:
        return print(f"{name:24} failed: {error}")
    source = f"{here}/{name}.c"
    c_seconds = {}
    if os.path.exists(source):
        binary = f"{folder}/{name}"
        libraries = re.findall(r"^// link: (\S+)$", open(source, encoding="utf-8").read(), re.M)
        subprocess.run(["gcc", *C_FLAGS, source, "-o", binary, "-lm", *libraries], check=True)
        c_results, c_seconds, error = figures([binary])
        if error or not agree(results, c_results):
            return print(f"{name:24} results differ: {results} and {error or c_results}")
    for part, s in seconds.items():
        c = c_seconds.get(part)
        ratio = f"{1e3 * c:10.3f} ms {s / c:7.2f}" if c else f"{'–':>13} {'–':>7}"
        print(f"{(name + ' ' + part).strip():24} {1e3 * s:10.3f} ms {ratio}")


def main():
    if len(sys.argv) < 3 or sys.argv[1] != "--atled":
        sys.exit(__doc__)
    names = sys.argv[3:] or sorted(os.path.basename(p)[:-4] for p in glob.glob(f"{here}/*.atl"))
    print(f"{'':24} {'atled':>13} {'C':>13} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            bench(os.path.abspath(sys.argv[2]), name, folder)


main()
