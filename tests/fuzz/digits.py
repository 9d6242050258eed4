#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs programs that use threads again and again, with other numbers of threads, in other modes and with chance deciding who runs what:
the output is always the one of the evaluator with one thread, to the last digit.

usage: digits.py --atled EXE [--runs N] [--seed N] [--only TEXT]

The programs are those of tests/programs that fork, those of bench/parallel, and those of bench/gradients, whose loops run in blocks. Each run
draws a program, 1, 2, 4 or 16 threads, a mode (evaluator, machine code, both in turn, both by chance at each call), and in half of the runs
ATLED_STEAL, which makes chance decide which arm of a fork runs first. Exit status 1: some output was another one."""
import argparse
import collections
import glob
import gzip
import os
import random
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FORKS = re.compile(r"\bpar\b|\bpmap\b|\bPar\.|# .*in blocks")
THREADS = (1, 2, 4, 16)
MODES = {"evaluator": ["--jit=off"], "machine code": ["--jit=always"], "both": ["--jit=auto"], "chance": []}


def with_data(words, folder):
    """The words of a case; a name of a file of bench/data stands for that file, unpacked."""
    for word in words.split():
        path = os.path.join(ROOT, "bench", "data", word)
        if os.path.exists(path + ".gz"):
            with gzip.open(path + ".gz") as packed, open(os.path.join(folder, word), "wb") as f:
                f.write(packed.read())
            path = os.path.join(folder, word)
        yield path if os.path.exists(path) else word


def programs(folder):
    """Name -> command line behind the options."""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "programs", "*.atl"))):
        with open(path, encoding="utf-8") as f:
            if FORKS.search(f.read()):
                found[os.path.basename(path)] = [path]
    for path in sorted(glob.glob(os.path.join(ROOT, "bench", "parallel", "*.atl"))):
        copy = os.path.join(folder, os.path.basename(path))
        with open(path, encoding="utf-8") as f, open(copy, "w", encoding="utf-8") as g:
            g.write(f.read() + "print (value 0.5)\nprint (gradient 0.5)\n")
        found["parallel/" + os.path.basename(path)] = [copy]
    for path in sorted(glob.glob(os.path.join(ROOT, "bench", "gradients", "*.atl"))):
        with open(path, encoding="utf-8") as f:
            cases = re.findall(r"^# case (\S+): ?(.*)", f.read(), re.M)
        for name, words in cases[-1:]:
            found["gradients/" + name] = [path, "figures", *with_data(words, folder)]
    return found


def output(exe, mode, command, threads, steal, cache):
    env = dict(os.environ, ATLED_THREADS=str(threads), XDG_CACHE_HOME=cache)
    if steal:
        env["ATLED_STEAL"] = str(steal)
    if mode == "chance":
        env["ATLED_COIN"] = str(steal or 1)
    r = subprocess.run([exe, *MODES[mode], *command], capture_output=True, text=True, timeout=900, env=env)
    lines = [line for line in r.stdout.splitlines() if not line.startswith("VmHWM")]
    return r.returncode, lines, r.stderr


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:])
    parser.add_argument("--atled", required=True)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    a = parser.parse_args()
    chance, wrong, counts = random.Random(a.seed), 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        cache = os.path.join(folder, "cache")
        all_programs = {name: command for name, command in programs(folder).items() if a.only in name}
        expected = {}
        for run in range(a.runs):
            name = chance.choice(sorted(all_programs))
            command = all_programs[name]
            if name not in expected:
                expected[name] = output(a.atled, "evaluator", command, 1, 0, cache)
            mode, threads = chance.choice(sorted(MODES)), chance.choice(THREADS)
            steal = chance.randrange(1, 1 << 60) if chance.random() < 0.5 else 0
            got = output(a.atled, mode, command, threads, steal, cache)
            counts[mode, threads] += 1
            if got != expected[name]:
                wrong += 1
                print(f"{name}, {mode}, {threads} threads, ATLED_STEAL={steal}: {got}, not {expected[name]}"[:2000], flush=True)
            if run % 100 == 99:
                print(f"… {run + 1} runs", flush=True)
    for mode in sorted(MODES):
        print(f"{mode}: " + ", ".join(f"{counts[mode, n]} runs with {n} threads" for n in THREADS))
    print(f"{a.runs} runs of {len(all_programs)} programs, {wrong} other outputs")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
