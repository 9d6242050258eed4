#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the golden tests of the language reference in the evaluator and as machine code.

usage: run_language.py --atled EXE [--coin N] FILE...

A file holds programs separated by lines that start with `# ---`; their comments say what they print, see examples.py.
`# rule: R3.12` names the paragraphs of docs/reference.md that a program tests. --coin: everything has machine code (of level 0),
and chance decides, by the number, at each call and each loop whether it runs."""
import os
import sys

import examples

MODES = [["--jit=off"], ["--jit=always"]]


def main():
    if len(sys.argv) < 4 or sys.argv[1] != "--atled":
        sys.exit(__doc__)
    modes, paths, programs = MODES, sys.argv[3:], []
    if paths[0] == "--coin":
        os.environ.update(ATLED_COIN=paths[1], ATLED_STEAL=paths[1], ATLED_OPT="0")
        modes, paths = [["--jit=auto"]], paths[2:]
    for path in paths:
        with open(path, encoding="utf-8") as f:
            programs += examples.split_at_rules(path, f.read())
    sys.exit(1 if examples.run_all(sys.argv[2], programs, modes) else 0)


main()
