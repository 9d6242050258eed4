#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `--trap-nan` finds: tests/traps/nan.atl says where each of its tests stops, and for what operation. The evaluator
and machine code must say the same. Tests whose name begins with "-" pass.

usage: test_traps.py ATLED FILE [LEVEL...]    LEVEL: machine code for these x86-64 levels, too
       test_traps.py ATLED --silent PROGRAM...   none of these, which yield no NaN, stops, but for those in STOPS"""
import os
import re
import subprocess
import sys

MARK = re.compile(r"# (\d+): (value|backward|tangent) (\S+)")
ERROR = re.compile(r"(the derivative of )?`(\S+)` of .* yields NaN(.*)")


def wanted(path):
    """number of a test -> (line, direction, operation)"""
    marks = {}
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        for test, direction, operation in MARK.findall(line):
            marks[test] = (number, direction, operation)
    return marks


def found(text, path):
    """The same of a report of `atled test`; and the names of the tests that failed otherwise."""
    stops, others = {}, []
    for name, message in re.findall(r'^FAILED \S+: "([^"]*)": (.*)$', text, re.M):
        place = re.match(re.escape(path) + r":(\d+):\d+: error: (.*)", message)
        error = place and ERROR.match(place[2])
        if not error:
            others.append(f"{name}: {message}")
            continue
        direction = "backward" if "backward" in error[3] else "tangent" if "forward" in error[3] else "value"
        stops[name.split()[0]] = (int(place[1]), direction, error[2])
    return stops, others


# They have such operations.
STOPS = {"chains.atl": "`+` of inf and -inf", "order_and_hash.atl": "`*` of 0.0 and inf", "sine_and_cosine.atl": "`sin` of inf",
         "zero_cotangents.atl": "the derivative of `*`"}


def silent(atled, programs):
    wrong = []
    for path in programs:
        run = subprocess.run([atled, "--trap-nan", "--jit=off", path], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
                             check=False)
        stop, wanted = "yields NaN" in run.stderr, STOPS.get(os.path.basename(path))
        if stop != bool(wanted) or (wanted and wanted not in run.stderr):
            wrong.append(f"{path}: {run.stderr}")
    print("\n".join(wrong) or f"{len(programs)} programs as they should")
    sys.exit(bool(wrong))


def main():
    if sys.argv[2] == "--silent":
        silent(sys.argv[1], sys.argv[3:])
    atled, path, *levels = sys.argv[1:]
    marks, texts, wrong = wanted(path), [], []
    for mode in ["--jit=off"], ["--jit=always"], *(["--jit=always", f"--cpu={level}"] for level in levels):
        run = subprocess.run([atled, "test", "--trap-nan", *mode, path], capture_output=True, text=True, timeout=300)
        jit = " ".join(mode)
        texts.append(run.stdout + run.stderr)
        stops, others = found(texts[-1], path)
        wrong += [f"{jit}: {o}" for o in others]
        for test in sorted(marks.keys() | stops.keys(), key=lambda t: (len(t), t)):
            if marks.get(test) != stops.get(test):
                wrong.append(f"{jit}: test {test}: wanted {marks.get(test)}, found {stops.get(test)}")
    if len(set(texts)) > 1:
        wrong.append("the evaluator and machine code report differently")
    print("\n".join(wrong) or f"{len(marks)} tests stop where they should")
    sys.exit(bool(wrong))


main()
