#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each numbered paragraph of the reference has a test that names it, and each test names one that exists.

usage: check_reference.py REFERENCE.md TEST.atl..."""
import re
import sys


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as f:
        paragraphs = re.findall(r"(?m)^\*\*(R\d+\.\d+)\*\*", f.read())
    tested = {}
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as f:
            for n, line in enumerate(f, 1):
                rule = re.match(r"# (?:--- )?rule: (.*)", line)
                for name in rule.group(1).split() if rule else []:
                    tested.setdefault(name, f"{path}:{n}")
    problems = [f"{name} stands twice in the reference" for name in sorted(set(paragraphs)) if paragraphs.count(name) > 1]
    problems += [f"{name} has no test" for name in paragraphs if name not in tested]
    problems += [f"{place}: the reference has no {name}" for name, place in tested.items() if name not in paragraphs]
    print("\n".join(problems + [f"{len(paragraphs)} paragraphs"]))
    sys.exit(1 if problems else 0)


main()
