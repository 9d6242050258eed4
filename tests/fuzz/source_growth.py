#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the time of a gradient that is printed as source (`atled grad`) grow as that of the gradient itself? The programs of
bench/growth, each at two sizes, in the evaluator.

usage: source_growth.py ATLED [--size N] [--times K] [NAME...]

N (1000), and K (4) times as many elements. Printed are both growths. Exit status 1: a printed gradient's time grows 1.7 times
as much as the other's in each of three attempts, or fewer than half of the programs can be compared."""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
PACK = "let _tie f input touch = let _ = (fun n -> touch (input n)) in input\n"
FUNCTION = "fun x -> f 0.0 x"
TYPE = re.compile(r"^type (\w+)", re.M)
LIMIT, ATTEMPTS = 1.7, 3


def run(exe, *args):
    return subprocess.run([exe, *args], capture_output=True, text=True, timeout=300, check=False)


def program(path):
    """The program without what measures it; its input is a function of the size."""
    text = re.sub(r"^import .*\n", "", open(path, encoding="utf-8").read(), flags=re.M)
    return re.sub(r"^Driver\.run f", PACK + "let input = _tie f", text, flags=re.M)


def growth(exe, folder, text, gradient, sizes):
    """Time at the larger size over that at the smaller one."""
    source = os.path.join(folder, "timed.atl")
    best = f"(Bench.time ({gradient}) (input n)).best"
    with open(source, "w", encoding="utf-8") as f:
        f.write(f"{text}\nlet best n = {best}\nlet small = best {sizes[0]}\nprint (best {sizes[1]} / small)\n")
    r = run(exe, "--jit=off", "--strict-fp", source)
    if r.returncode:
        raise RuntimeError(r.stderr)
    return float(r.stdout.split()[-1])


def compare(exe, folder, path, sizes):
    """The growths of gradient and printed gradient; or why there is no printed one."""
    text, source = program(path), os.path.join(folder, "program.atl")
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    r = run(exe, "grad", "--strict-fp", f"--of={FUNCTION}", source)
    if r.returncode:
        return r.stderr.strip().splitlines()[0]
    if set(TYPE.findall(text)) & set(TYPE.findall(r.stdout)):
        return "printed, but the types of its argument are its own"
    name = re.findall(r"^let (?:rec )?(\w+)", r.stdout, re.M)[-1]
    for _ in range(ATTEMPTS):
        own = growth(exe, folder, text, f"grad ({FUNCTION})", sizes)
        printed = growth(exe, folder, text + "\n" + r.stdout, name, sizes)
        if printed <= LIMIT * own:
            break
    return own, printed


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("exe")
    options.add_argument("names", nargs="*")
    options.add_argument("--size", type=int, default=1000)
    options.add_argument("--times", type=int, default=4)
    o = options.parse_intermixed_args()
    paths = [p for p in sorted(glob.glob(f"{here}/../../bench/growth/*.atl")) if re.search(r"^Driver\.run f", open(p, encoding="utf-8").read(), re.M)]
    paths = [p for p in paths if not o.names or os.path.basename(p)[:-4] in o.names]
    printed, wrong = 0, 0
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            found = compare(o.exe, folder, path, (o.size, o.size * o.times))
        name = os.path.basename(path)[:-4]
        if isinstance(found, str):
            print(f"{name:24} {found[:100]}", flush=True)
            continue
        printed += 1
        bad = found[1] > LIMIT * found[0]
        wrong += bad
        print(f"{name:24} gradient {found[0]:6.2f}, printed {found[1]:6.2f}{'  GROWS MORE' if bad else ''}", flush=True)
    print(f"{printed} of {len(paths)} compared, {wrong} grow more")
    sys.exit(wrong > 0 or 2 * printed < len(paths))


main()
