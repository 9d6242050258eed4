#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the random programs find faults? Plants each of these into a copy of the sources, builds it, and runs run.py until a
difference is found; prints after how many programs. Exit status 1: one wasn't found in so many.

usage: planted.py --root FOLDER [--programs N] [--seed N] [--only NAME]

A fault is a text of one file and what takes its place; the product itself has no switch for faults."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

FAULTS = {
    "a wrong derivative rule": ("stdlib/prelude.atl", "@RULE@", "@RULE2@"),
    "a dropped accumulator contribution": ("src/ad/reverse.c", "@ACC@", "@ACC2@"),
    "a missing copy": ("src/lower/ownership.c", "@COPY@", "@COPY2@"),
}
HERE = os.path.dirname(os.path.abspath(__file__))


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def plant(root, folder, fault):
    """A build of the sources with the fault; the build folder serves all faults, so that only little is compiled anew."""
    path, old, new = fault
    for name in ("CMakeLists.txt", "cmake", "include", "src", "stdlib", "repl", "tests", "examples", "bench"):
        source, target = os.path.join(root, name), os.path.join(folder, name)
        if os.path.isdir(source):
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif os.path.exists(source):
            shutil.copy2(source, target)
    place = os.path.join(folder, path)
    with open(place, encoding="utf-8") as f:
        text = f.read()
    if text.count(old) != 1:
        sys.exit(f"planted.py: {path} has the text of the fault {text.count(old)} times: {old!r}")
    with open(place, "w", encoding="utf-8") as f:
        f.write(text.replace(old, new))
    build = os.path.join(folder, "build")
    for command in (["cmake", "-S", folder, "-B", build, "-G", "Ninja"], ["cmake", "--build", build, "--target", "atled"]):
        r = run(command)
        if r.returncode:
            sys.exit(f"planted.py: {' '.join(command)}:\n{r.stdout[-2000:]}{r.stderr[-2000:]}")
    return os.path.join(build, "bin", "atled")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--root", required=True)
    a.add_argument("--programs", type=int, default=1000)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--only", help="a part of a fault's name")
    options = a.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, fault in FAULTS.items():
            if options.only and options.only not in name:
                continue
            atled = plant(options.root, folder, fault)
            r = run([sys.executable, os.path.join(HERE, "run.py"), "--atled", atled, "--programs", str(options.programs),
                     "--seed", str(options.seed), "--stop", "--effort", "0"], cwd=folder)
            done = re.search(r"^(\d+) programs", r.stdout, re.M)
            what = re.search(r"^program (\d+): (.*)", r.stdout, re.M)
            if what:
                print(f"{name}: found by program {int(what[1]) + 1} ({what[2][:70]}); {done[1] if done else '?'} programs run", flush=True)
            else:
                missed += 1
                print(f"{name}: not found in {done[1] if done else '?'} programs\n{r.stderr[-500:]}", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
