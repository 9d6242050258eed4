#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gradients as source: `atled grad` of the function f of each program of a folder.

usage: test_source.py EXE FOLDER [--update]

NAME.atl begins with `# at: POINT, …`, and NAME.out is what is printed of it: a program that has the value of `grad f` at each
point in a strict VM, to the last bit, or fails as that does. Or it begins with `# error: TEXT`, why there is no such program.
--update writes the texts of .out, to be read before they are committed."""
import pathlib
import subprocess
import sys
import tempfile

EXE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
problems = []


def run(*args, text):
    with tempfile.NamedTemporaryFile("w", suffix=".atl") as f:
        f.write(text)
        f.flush()
        return subprocess.run([EXE, *args, "--strict-fp", f.name], capture_output=True, text=True, timeout=60, check=False)


def values(program, function, points):
    """What the function is at the points, or `fails`."""
    lines = ['let outcome r = match r with | Ok v -> show v | Error _ -> "fails"']
    lines += [f"print (outcome (attempt (fun () -> {function} ({p}))))" for p in points]
    r = run(text=program + "\n".join(lines) + "\n")
    return r.stdout or r.stderr


def points_of(line):
    """Parted by commas outside of brackets."""
    points, depth = [""], 0
    for c in line:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            points.append("")
        else:
            points[-1] += c
    return points


def check(path):
    program = path.read_text(encoding="utf-8")
    kind, _, rest = program.split("\n", 1)[0][2:].partition(": ")
    printed = run("grad", "--of=f", text=program)
    if kind == "error":
        if printed.returncode == 0 or rest not in printed.stderr:
            problems.append(f"{path.name}: the error isn't `{rest}`, but {printed.stderr or printed.stdout}")
        return
    out = path.with_suffix(".out")
    if "--update" in sys.argv:
        out.write_text(printed.stdout, encoding="utf-8")
    if printed.stdout != out.read_text(encoding="utf-8"):
        problems.append(f"{out.name}: this is printed:\n{printed.stdout}{printed.stderr}")
    given = program if printed.stdout.startswith("# With") else ""  # the values that it names
    wanted = values(program, "grad f", points_of(rest))
    got = values(given + printed.stdout, "grad_f", points_of(rest))
    if wanted != got:
        problems.append(f"{path.name}: grad f is\n{wanted}and what is printed is\n{got}")


programs = sorted(FOLDER.glob("*.atl"))
for one in programs:
    check(one)
print("\n".join(problems) if problems else f"{len(programs)} gradients as source")
sys.exit(1 if problems or not programs else 0)
