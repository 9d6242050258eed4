#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the table of the optimiser's passes in docs/architecture/passes.md from the rows of src/opt/passes.def.

usage: make_passes.py [--check]

--check writes nothing and fails where the table isn't what it would write, or a pass has no texts in tests/ir."""
import os
import re
import sys
import textwrap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAGE = os.path.join(ROOT, "docs", "architecture", "passes.md")
ROW = re.compile(r'^PASS\((\w+), (\w+), (\w+)\((\w+)(?:, (\w+))?\), "(.*?)",\s+"(.*?)"\)$', re.M)
BEGIN, END = "<!-- passes: made by docs/make_passes.py from src/opt/passes.def -->\n", "<!-- end of passes -->\n"
COLUMNS = 98


def rows():
    with open(os.path.join(ROOT, "src", "opt", "passes.def"), encoding="utf-8") as f:
        text = f.read()
    found = ROW.findall(text)
    if len(found) != len(re.findall(r"^PASS\(", text, re.M)):
        sys.exit("make_passes.py: a row of passes.def isn't understood")
    return found


def table(found):
    """A line for each run, with a heading for each stage."""
    names, seen, stage = [r[1] for r in found], {}, None
    width = max(len(name) for name in names) + 4
    yield "```text\n"
    for at, name, _, _, _, needed, does in found:
        if at != stage:
            yield "\n" * (stage is not None) + f"{at.lower()} derivatives\n"
        stage = at
        seen[name] = seen.get(name, 0) + 1
        shown = name if names.count(name) == 1 else f"{name}.{seen[name]}"
        text = does + f"  [{needed}]" * bool(needed)
        yield textwrap.fill(text, COLUMNS, initial_indent=f"  {shown:{width}}", subsequent_indent=" " * (width + 2)) + "\n"
    yield "```\n"


ELSEWHERE = {"rules"}  # graphs' texts hold no rewrite rules: tests/language/rewriting.atl and tests/test_rules.py


def without_texts(found):
    for name, last in sorted({(r[1], r[4]) for r in found}):
        folder = name + ("_last" if last == "true" else "")
        if name not in ELSEWHERE and not os.path.isdir(os.path.join(ROOT, "tests", "ir", folder)):
            yield folder


def main():
    found = rows()
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    before, rest = page.split(BEGIN)
    made = before + BEGIN + "".join(table(found)) + END + rest.split(END)[1]
    if sys.argv[1:] != ["--check"]:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(made)
        return
    lacking = list(without_texts(found))
    if made != page:
        print("docs/architecture/passes.md isn't what docs/make_passes.py makes of src/opt/passes.def")
    if lacking:
        print("no texts in tests/ir for", ", ".join(lacking))
    sys.exit(1 if made != page or lacking else 0)


main()
