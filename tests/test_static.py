#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `atled check` says without running anything, and that it says nothing of what works.

usage: test_static.py EXE [--programs N] [--seed N] [FILE.atl | PAGE.md]…

tests/static/*.atl are programs separated by lines that start with `# ---`. On a line stands what is reported there, to the letter:
`# error: TEXT` or `# warning: TEXT`, several one behind the other; `# note: LINE: TEXT` is a further place of one of them. A program
with an error ends with status 65, any other with 0. What is reported must also stand in a run: a warning, and then an error.

Of silent.atl, of each FILE, of the examples in each PAGE and of N generated programs (tests/fuzz) that run to their end nothing is
reported but what a checker of types says."""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "fuzz")]
import examples  # noqa: E402
import generate  # noqa: E402
import run as fuzz  # noqa: E402
import run_docs  # noqa: E402

FORESEEN = {"index", "slice", "shape", "division", "range", "irregular", "match", "fail", "assert", "regex", "stack", "rule"}
LIMIT = 120  # seconds for anything, on a busy machine
BATCH = 10   # generated programs in one file


def call(command, folder, given=""):
    env = dict(os.environ, ATLED_CACHE="", LC_ALL="C.UTF-8")
    return subprocess.run(command, cwd=folder, env=env, input=given, capture_output=True, text=True, errors="replace", timeout=LIMIT)


def check(exe, path):
    """Exit status, and what was reported."""
    r = call([exe, "check", "--json", os.path.basename(path)], os.path.dirname(path))
    return r.returncode, [json.loads(line) for line in r.stdout.splitlines()]


def foreseen(found):
    return [d for d in found if d["kind"] in FORESEEN]


def write(folder, text, name="program.atl"):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


# ---- Wrong programs ------------------------------------------------------------------------------------------
def expected(program):
    said, notes = [], []
    for n, line in sorted(program.lines.items()):
        note = re.match(r"# note: (\d+): (.*)", line)
        if note:
            notes.append((int(note[1]), note[2].strip()))
        elif not line.startswith("# "):
            said += [(kind[:-1], n, text.strip()) for kind, text in examples.MARK.findall(line) if kind != "=>"]
    return sorted(said), sorted(notes)


def wrong_program(exe, program):
    """None, or what isn't as the program says."""
    want, notes = expected(program)
    with tempfile.TemporaryDirectory() as folder:
        path = write(folder, program.text())
        status, found = check(exe, path)
        got = sorted((d["severity"], d["line"], d["message"]) for d in found)
        got_notes = sorted((n["line"], n["message"]) for d in found if d["kind"] in FORESEEN for n in d.get("notes", []))
        errors = any(severity == "error" for severity, _, _ in want)
        if got != want or got_notes != notes or status != (65 if errors else 0):
            return f"expected {want} {notes}\n  got {got} {got_notes}, status {status}"
        ran = call([exe, "--jit=off", path], folder)
        sure = [d for d in found if d["severity"] == "error" and d["kind"] != "rule"]  # one without a rule may not be reached
        if sure and ran.returncode == 0 and "test " not in program.text():
            return "an error is reported, and the program runs to its end"
    return None


def wrong_programs(exe):
    paths = sorted(p for p in glob.glob(os.path.join(HERE, "static", "*.atl")) if not p.endswith("silent.atl"))
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            found += examples.split_at_rules(path, f.read())
    found = [p for p in found if expected(p)[0]]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda p: wrong_program(exe, p), found))
    failures = [f"{p.path}:{p.first}: {why}" for p, why in zip(found, results) if why]
    if len(found) < 60:
        failures.append(f"only {len(found)} wrong programs")
    print(f"{len(found)} wrong programs")
    return failures


# ---- What works ----------------------------------------------------------------------------------------------
def works(exe, program, folder, path=None):
    """None, or what is said of a program that runs to its end."""
    path = path or write(folder, program.text())
    _, found = check(exe, path)
    said = foreseen(found)
    if not said:
        return None
    ran = call([exe, "--jit=off", os.path.basename(path), *(program.args if program else [])], os.path.dirname(path),
               program.input if program else "")
    return f"{said[0]['line']}: {said[0]['severity']}: {said[0]['message']}" if ran.returncode == 0 else None


def programs_of(path):
    if path.endswith(".md"):
        return list(run_docs.programs(path))
    with open(path, encoding="utf-8") as f:
        return examples.split_at_rules(path, f.read())


def silent(exe, path):
    """Failures of a file's programs. A file of one program is checked at its place, beside what it imports."""
    failures, parts = [], programs_of(path)
    with tempfile.TemporaryDirectory() as folder:
        for p in parts:
            place = path if len(parts) == 1 and not path.endswith(".md") else None
            why = works(exe, p, folder, place)
            if why:
                failures.append(f"{path}:{why}, of a program that works")
    return failures


def silent_programs(exe, files):
    own = os.path.join(HERE, "static", "silent.atl")
    failures = []
    for p in programs_of(own):
        with tempfile.TemporaryDirectory() as folder:
            path = write(folder, p.text())
            status, found = check(exe, path)
            ran = call([exe, "--jit=off", path], folder)
            said = re.sub(r"(?m)^==\d+==WARNING: ASan doesn't fully support .*\n?", "", ran.stderr).strip()
            if status or foreseen(found) or ran.returncode or said:
                failures.append(f"{own}:{p.first}: {foreseen(found)}, status {ran.returncode}, {said}")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for some in pool.map(lambda f: silent(exe, f), files):
            failures += some
    print(f"{len(files)} files")
    return failures


def generated(exe, numbers, seed):
    some = [generate.program(n, seed, 40) for n in numbers]
    text = fuzz.source(some, {p.number: fuzz.all_sections(p) for p in some})
    with tempfile.TemporaryDirectory() as folder:
        path = write(folder, text)
        _, found = check(exe, path)
        said = foreseen(found)
        if not said:
            return []
        if len(numbers) > 1:
            return [f for n in numbers for f in generated(exe, [n], seed)]
        ran = call([exe, "--jit=off", path], folder)
        return [f"generated program {seed}/{numbers[0]}: {said[0]}"] if ran.returncode == 0 else []


def generated_programs(exe, n, seed):
    batches = [range(k, min(k + BATCH, n)) for k in range(0, n, BATCH)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [f for some in pool.map(lambda b: generated(exe, list(b), seed), batches) for f in some]
    print(f"{n} generated programs")
    return failures


# ---- Bounds --------------------------------------------------------------------------------------------------
def endless():
    """Programs whose runs would take ages, or that are large or deep."""
    chain = "let f0 x = x * 2.0\n" + "".join(
        f"let f{i} x = if x > {i}.0 then sin x * 3.0 else f{i - 1} (x - 1.0)\nlet a{i} = [ float i | i < {i % 9 + 2} ]\n"
        f"print (f{i} (sum a{i}))\n" for i in range(1, 1667))
    yield "5,000 lines", chain
    yield "endless", ("let xs = [ [ float (i * j) | j < 100000 ] | i < 100000 ]\n"
                      "for i = 0 to 9000000000000 do for j = 0 to 9000000000000 do print xs[i, j] done done\n"
                      "let rec f n = if n = 0 then 0 else 1 + f (n - 1)\nprint (f 1000000000)\n"
                      "let rec loop n = loop (n + 1)\nprint (loop 0 + 1)\nprint (2 ^ 1000000)\n")
    yield "deep", f"let f x = {'(' * 1400}x{')' * 1400}\nlet g x = {' + '.join(['sin x'] * 20000)}\nprint (g 1.0)\n"
    yield "doubling", "let f0 x = x + 1.0\n" + "".join(f"let f{i} x = f{i - 1} (f{i - 1} x)\n" for i in range(1, 60)) + "print (f59 0.0)\n"
    yield "many errors", "".join(f"let e{i} = [1, 2][{i + 2}]\n" for i in range(3000))


def bounded(exe):
    failures = []
    for name, text in endless():
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            status, _ = check(exe, write(folder, text))
            took = time.monotonic() - start
            print(f"{name}: {took:.2f} s")
            if status not in (0, 65) or took > 20:
                failures.append(f"{name}: status {status}, {took:.1f} s")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("exe")
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*")
    o = parser.parse_intermixed_args()
    exe = os.path.abspath(o.exe)
    failures = (wrong_programs(exe) + silent_programs(exe, [os.path.abspath(f) for f in o.files])
                + generated_programs(exe, o.programs, o.seed) + bounded(exe))
    for f in failures:
        print(f)
    sys.exit(1 if failures else 0)


main()
