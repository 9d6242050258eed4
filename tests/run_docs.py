#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the examples of the documentation, and checks what they print.

usage: run_docs.py --atled EXE PAGE.md...

The fenced blocks marked `atled` under one heading (`##`) are one program, whose comments say what it prints: see
examples.py. A block that says `# error:`, `# fails:` or `# warning:` is a program of its own."""
import re
import sys

import examples

MODES = [["--jit=off"], ["--jit=auto"]]


def blocks(text):
    """(number of the heading, lines with their numbers) of each block. One that a heading or another block ends is an error."""
    heading, block = 0, None
    for n, line in enumerate(text.splitlines(), 1):
        if block is not None and re.match(r"```\w", line.strip()):
            sys.exit(f"line {n}: a block begins inside another one, which doesn't end: {line}")
        if block is None and line.startswith("## "):
            heading += 1
        elif block is not None and (line.startswith("## ") or line.strip() == "```atled"):
            sys.exit(f"line {n}: the block before isn't closed")
        elif line.strip() == "```atled":
            block = {}
        elif block is not None and line.startswith("```"):
            yield heading, block
            block = None
        elif block is not None:
            block[n] = line


def programs(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    chapters = {}
    for heading, block in blocks(text):
        if re.search(r"# (?:error|fails|warning):", "\n".join(block.values())):
            yield examples.Program(path, block)
        else:
            chapters.setdefault(heading, {}).update(block)
    for lines in chapters.values():
        yield examples.Program(path, lines)


def main():
    if len(sys.argv) < 4 or sys.argv[1] != "--atled":
        sys.exit(__doc__)
    found = [p for path in sys.argv[3:] for p in programs(path)]
    sys.exit(1 if not found or examples.run_all(sys.argv[2], found, MODES) else 0)


if __name__ == "__main__":
    main()
