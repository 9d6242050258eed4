#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the golden tests of the language reference in the evaluator and as machine code.

usage: run_language.py --atled EXE FILE...

A file holds programs separated by lines that start with `# ---`; their comments say what they print, see examples.py.
`# rule: R3.12` names the paragraphs of docs/reference.md that a program tests."""
import sys

import examples

MODES = [["--jit=off"], ["--jit=always"]]


def main():
    if len(sys.argv) < 4 or sys.argv[1] != "--atled":
        sys.exit(__doc__)
    programs = []
    for path in sys.argv[3:]:
        with open(path, encoding="utf-8") as f:
            programs += examples.split_at_rules(path, f.read())
    sys.exit(1 if examples.run_all(sys.argv[2], programs, MODES) else 0)


main()
