#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the sources, C, C++ and Atled, are as `./dev format` leaves them, and no line of C code or comment is longer than the
column limit.

usage: test_format.py ROOT [EXE]

Tables between `clang-format off` and `on`, and strings of test programs, may be wider. Where there is no clang-format,
the lines' length alone is looked at. The Atled programs are looked at with EXE."""
import pathlib
import re
import shutil
import subprocess
import sys

SUFFIXES = (".c", ".h", ".cpp", ".hpp")
PROGRAMS = ["bench", "docs", "examples", "stdlib"]  # those of tests are as their subject needs them
FOLDERS = ["src", "repl", "include", "compiler", "cmake", "tests", "examples"]


def long_lines(path, limit):
    table = False
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        table = "clang-format off" in line or (table and "clang-format on" not in line)
        if len(line) > limit and not table and '"' not in line:
            yield f"{path}:{number}: {len(line)} columns, {limit} are allowed"


def main():
    root = pathlib.Path(sys.argv[1])
    limit = int(re.search(r"^ColumnLimit: (\d+)", (root / ".clang-format").read_text(), re.M).group(1))
    files = sorted(p for f in FOLDERS for p in (root / f).rglob("*") if p.suffix in SUFFIXES)
    found = [line for path in files for line in long_lines(path, limit)]
    if shutil.which("clang-format"):
        run = subprocess.run(["clang-format", "--dry-run", "-Werror", *map(str, files)], capture_output=True, text=True)
        found += [line for line in run.stderr.split("\n") if "error:" in line]
    if len(sys.argv) > 2:
        run = subprocess.run([sys.argv[2], "fmt", "--check", *(str(root / f) for f in PROGRAMS)], capture_output=True, text=True)
        found += [f"{path}: not as `atled fmt` leaves it" for path in run.stdout.split("\n") if path] + run.stderr.split("\n")[:-1]
    print("\n".join(found))
    sys.exit(f"{len(found)} places; `./dev format` mends most" if found else 0)


if __name__ == "__main__":
    main()
