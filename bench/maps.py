#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Maps of 10^6 keys, strings and ints: set in no order, looked up in another, and folded, each as one program.

usage: maps.py --atled EXE [--keys N]

Printed are the seconds of processor time and the peak memory of the whole process, in modes auto and always, compiled before.
At 10^6 keys they are to be at most 5 s and 150 MB for strings, 3 s for ints. The sums are checked first."""
import argparse
import os
import subprocess
import sys
import tempfile

PROGRAM = """let n = {n}
let build n = let mut m = Map.empty in for i = 0 to n - 1 do m <- Map.set ({set}) i m done; m
let look n m = let mut found = 0 in for i = 0 to n - 1 do found <- found + Map.find 0 ({get}) m done; found
let m = build n
print (look n m, Map.fold (fun sum _ v -> sum + v) 0 m)
"""
KEYS = {"strings": '$"key{{i * {step} % n}}"', "ints": "i * {step} % n"}
STEPS = 618_033, 381_967   # without common factors with powers of ten: every key occurs once


def usage_of(command, env):
    """The output, seconds of processor time, peak memory in MB."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, env=env)
        _, status, used = os.wait4(process.pid, 0)
        out.seek(0)
        return out.read().decode() if status == 0 else None, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--atled", required=True)
    parser.add_argument("--keys", type=int, default=1_000_000)
    args = parser.parse_args()
    total = args.keys * (args.keys - 1) // 2
    print(f"{'keys':10} {'mode':8} {'seconds':>8} {'MB':>6}")
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, XDG_CACHE_HOME=folder, ATLED_CACHE=folder)
        for name, key in KEYS.items():
            path = os.path.join(folder, f"{name}.atl")
            with open(path, "w", encoding="utf-8") as file:
                file.write(PROGRAM.format(n=args.keys, set=key.format(step=STEPS[0]), get=key.format(step=STEPS[1])))
            for mode in "auto", "always":
                for _ in range(2):
                    text, seconds, megabytes = usage_of([os.path.abspath(args.atled), f"--jit={mode}", path], env)
                if text != f"({total}, {total})\n":
                    sys.exit(f"{name}: {text}")
                print(f"{name:10} {mode:8} {seconds:8.2f} {megabytes:6.0f}", flush=True)


if __name__ == "__main__":
    main()
