#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes examples/README.md: for each program the comment at its top, and what it prints.

usage: make_readme.py --atled EXE [--check]"""
import argparse
import os
import re
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
MOST = 28  # lines of output that are shown
TOP = """<!-- Made by examples/make_readme.py from the programs: change those. -->
# Examples

Programs to start from: `./dev run examples/NAME.atl` runs one. Each is a test, so it prints what stands here. `embed/` has C programs that use the
library, `ahead/` a model that is built ahead of time for them, `python/` training by several processes with MPI, and `data/` says where data come from.

![Measured rates of an enzyme, the fitted curve, and a band of two standard errors](../docs/img/enzyme.svg)

"""


def opening(text):
    """The first paragraph of the comment at the top, without what is meant for the tests."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#") or (lines and line.strip() == "#"):
            break
        if not re.match(r"#!|# (modes|run in|args|tolerance|SPDX|Paths of data)", line):
            lines.append(line[1:].strip())
    return "\n".join(lines)


def section(exe, name):
    path = os.path.join(here, name)
    text = open(path, encoding="utf-8").read()
    folder = os.path.join(here, (re.search(r"# run in: (\S+)", text) or [0, "."])[1])
    r = subprocess.run([exe, path], capture_output=True, text=True, cwd=folder, timeout=120,
                       env=dict(os.environ, COLUMNS="80", ATLED_CACHE=""))  # else what isn't compiled at the end goes on, for nobody
    if r.returncode != 0:
        sys.exit(f"{name}: {r.stderr}")
    shown = r.stdout.rstrip().splitlines()
    if len(shown) > MOST:
        shown = shown[:MOST] + ["…"]
    printed = "\n".join(line.rstrip() for line in shown)
    return f"## [{name}]({name})\n\n{opening(text)}\n\n```text\n{printed}\n```\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--atled", required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    names = sorted(f for f in os.listdir(here) if f.endswith(".atl"))
    exe = os.path.abspath(options.atled)
    page = TOP + "\n".join(section(exe, name) for name in names)
    path = os.path.join(here, "README.md")
    if options.check:
        sys.exit(0 if open(path, encoding="utf-8").read() == page else "examples/README.md isn't what examples/make_readme.py makes")
    with open(path, "w", encoding="utf-8") as f:
        f.write(page)


main()
