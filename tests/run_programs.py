#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs Atled programs in every mode and compares what they print with their comments.

usage: run_programs.py --atled EXE [--evaluator|--full] FILE...

In a program, each `# expect: TEXT`, behind code or on a line of its own, is one line of the output, in order.
Numbers may differ by a relative 1e-9, or what a line `# tolerance: X` says; all else is compared exactly.
`# args: A B` gives the program arguments; it runs in its own folder, or in the one `# run in: FOLDER` names from there. A program without `# expect:` must only end without an error.
Modes: evaluator, machine code, both in strict mode, and the default; and one in which everything has machine code but chance, by a
number drawn from the file's name, decides at each call and each head of a loop where it runs, and which function of a `par` comes first. There and in strict machine
code a VM has several threads. GCC takes most of the time. Chance compiles most, each function and the body of each loop, and is
about changes between evaluator and machine code: -O0, which takes half the time of -O1, but -O1 for an eighth of the programs and -O3 for a
sixteenth. Each program has -O3 in one of the modes native and strict native, three of four in the former. In the other, whose code is the
same but for roundings, -O1 for one program in four, and -O0. A line `# level: 1` or `# level: 0` is for programs of
very much code, about what comes before GCC: that level is the highest. --full: -O3 in all of them. Outputs of
evaluator, default and chance must be equal, and those of the two strict modes. A line `# modes: A, B` names those in which a program runs: one that draws is a lot of machine code.
--evaluator runs them in the evaluator alone."""
import os
import re
import subprocess
import sys
import tempfile
import zlib

MODES = {
    "default": [],
    "evaluator": ["--jit=off"],
    "native": ["--jit=always"],
    "chance": [],
    "strict evaluator": ["--jit=off", "--strict-fp"],
    "strict native": ["--jit=always", "--strict-fp"],
}
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.\d*(?:e[-+]?\d+)?|\d+(?:e[-+]?\d+)?|inf|nan)(?![\w.])")


def same_number(got, want, tolerance):
    a, b = float(got), float(want)
    return a == b or (a != a and b != b) or abs(a - b) <= tolerance * max(abs(a), abs(b)) + 1e-300


def same_line(got, want, tolerance):
    if got == want:
        return True
    numbers = NUMBER.findall(got), NUMBER.findall(want)
    return (NUMBER.sub("#", got) == NUMBER.sub("#", want)
            and all(same_number(a, b, tolerance) for a, b in zip(*numbers)))


def difference(got, want, tolerance):
    for i, (g, w) in enumerate(zip(got, want)):
        if not same_line(g, w, tolerance):
            return f"line {i + 1} of the output is {g!r}, expected {w!r}"
    if len(got) != len(want):
        return f"{len(got)} lines of output, expected {len(want)}: {(got + want)[min(len(got), len(want)):][:3]}"
    return None


def level(mode, number, most, full):
    """GCC's level of optimisation for the program with this number, whose highest is `most`: 3, 1 or 0."""
    if full:
        return "3"
    lower = {3: 1, 1: 0, 0: 0}[most]
    if mode == "chance":
        return str({0: most, 1: lower, 2: lower}.get(number >> 8 & 15, 0))
    if (mode == "strict native") == (number >> 12 & 3 == 0):
        return str(most)
    return str(lower if number >> 14 & 3 == 0 else 0)


def run(exe, path, folder, mode, args, cache, most, full):
    env, options = dict(os.environ, XDG_CACHE_HOME=cache, ATLED_CACHE=cache), MODES[mode]
    number = zlib.crc32(os.path.basename(path).encode())
    if mode in ("native", "chance", "strict native"):
        env["ATLED_OPT"] = level(mode, number, most, full)
    if mode == "default":
        env["ATLED_CACHE"] = "" # else what isn't compiled at the end goes on, for nobody
    if mode == "chance":
        env["ATLED_COIN"] = str(number)
        env["ATLED_STEAL"] = str(number)
        env["ATLED_THREADS"] = "4"
        env["ATLED_PASSES"] = "-choose_forks" # so that small ones stay, too
    if mode == "strict native":
        env["ATLED_THREADS"] = "3"
    return subprocess.run([exe, *options, os.path.relpath(path, folder), *args], cwd=folder,
                          capture_output=True, text=True, timeout=120, env=env)


def check(exe, path, among, full):
    text = open(path, encoding="utf-8").read()
    want = [m.group(1) for m in re.finditer(r"# expect: ?(.*)", text)]
    tolerance = float((re.search(r"# tolerance: (\S+)", text) or [0, "1e-9"])[1])
    args = (re.search(r"# args: (.*)", text) or [0, ""])[1].split()
    most = int((re.search(r"# level: (\d)", text) or [0, "3"])[1])
    named = (re.search(r"# modes: (.*)", text) or [0, ", ".join(MODES)])[1].split(", ")
    modes = [mode for mode in named if mode in among]
    folder = os.path.join(os.path.dirname(path), (re.search(r"# run in: (\S+)", text) or [0, "."])[1])
    problems, outputs = [], {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        for mode in modes:
            try:
                r = run(exe, path, folder, mode, args, cache, most, full)
            except subprocess.TimeoutExpired:
                problems.append(f"{mode}: no end within 120 s")
                continue
            outputs[mode] = r.stdout
            if r.returncode != 0:
                problems.append(f"{mode}: status {r.returncode}: {r.stderr.strip()[:600]}")
            elif want:
                why = difference(r.stdout.splitlines(), want, tolerance)
                if why:
                    problems.append(f"{mode}: {why}")
    if "strict native" in modes and outputs.get("strict evaluator") != outputs.get("strict native"):
        problems.append("strict mode: evaluator and machine code print different things")
    for mode in ("default", "chance"):
        if mode in modes and "evaluator" in modes and outputs.get("evaluator") != outputs.get(mode):
            problems.append(f"{mode}: not what the evaluator prints")
    return problems


def main():
    if len(sys.argv) < 4 or sys.argv[1] != "--atled":
        sys.exit(__doc__)
    failed, quick, full = 0, sys.argv[3] == "--evaluator", sys.argv[3] == "--full"
    for path in sys.argv[3 + quick + full:]:
        problems = check(os.path.abspath(sys.argv[2]), os.path.abspath(path), ["evaluator"] if quick else list(MODES), full)
        for p in problems:
            print(f"{path}: {p}")
        failed += bool(problems)
    sys.exit(1 if failed else 0)


main()
