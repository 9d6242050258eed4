#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Feeds mutated programs to the whole pipeline in the evaluator: any text must end with an ordinary status.

usage: fuzz.py --atled EXE [--seconds N] [--seed N]"""
import argparse
import glob
import os
import random
import subprocess
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def mutate(rng, texts):
    lines = rng.choice(texts).splitlines()
    other = rng.choice(texts).split()
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(lines))
        words = lines[i].split(" ")
        k = rng.randrange(len(words))
        action = rng.randrange(5)
        if action == 0:
            words[k] = rng.choice(other)
        elif action == 1:
            del words[k]
        elif action == 2:
            words.insert(k, rng.choice(other))
        elif action == 3:
            words[k] = words[k][: rng.randint(0, len(words[k]))]
        else:
            lines[i:i + 1] = [lines[i], rng.choice(lines)]
            continue
        lines[i] = " ".join(words)
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--atled", required=True)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=int(time.time()))
    a = p.parse_args()
    a.atled = os.path.abspath(a.atled)
    rng = random.Random(a.seed)
    texts = [open(f, encoding="utf-8").read() for f in
             glob.glob(f"{root}/tests/programs/*.atl") + glob.glob(f"{root}/examples/*.atl")]
    end, runs = time.time() + a.seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        while time.time() < end:
            path = f"{folder}/p{runs}.atl"
            open(path, "w", encoding="utf-8").write(mutate(rng, texts))
            runs += 1
            try:
                r = subprocess.run([a.atled, "--jit=off", path], capture_output=True, text=True, timeout=20, cwd=folder,
                                   errors="replace")
            except subprocess.TimeoutExpired:
                continue
            if r.returncode not in (0, 65, 66, 70) or "Sanitizer" in r.stderr or "runtime error:" in r.stderr:
                kept = os.path.abspath(f"fuzz-{a.seed}-{runs}.atl")
                os.replace(path, kept)
                print(f"status {r.returncode} on {kept}:\n{r.stderr[:2000]}")
                sys.exit(1)
    print(f"{runs} programs, seed {a.seed}: no crash")


main()
