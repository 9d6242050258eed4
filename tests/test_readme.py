#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The session and the picture of the README are what the program makes.

usage: test_readme.py EXE ROOT

What stands behind `∇ ` in the block marked `session` is given to `atled repl`, and what that prints is compared with the other lines.
The picture is drawn again by the example that the README names."""
import os
import re
import subprocess
import sys
import tempfile

exe, root = map(os.path.abspath, sys.argv[1:3])
PROMPT = "∇ "


def session():
    text = open(os.path.join(root, "README.md"), encoding="utf-8").read()
    lines = re.search(r"^```session\n(.*?)^```", text, re.S | re.M)[1].splitlines()
    typed = "".join(line[len(PROMPT):] + "\n" for line in lines if line.startswith(PROMPT))
    r = subprocess.run([exe, "repl"], input=typed, capture_output=True, text=True, timeout=60, env=dict(os.environ, COLUMNS="80"))
    said = r.stdout.replace(PROMPT, "").rstrip().splitlines()
    want = [line for line in lines if not line.startswith(PROMPT)]
    return [f"the prompt says `{a}`, README.md `{b}`" for a, b in zip(said, want) if a != b] or (
        [] if len(said) == len(want) else [f"the prompt says {len(said)} lines, README.md {len(want)}: {r.stderr}"])


def picture():
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "fit.svg")
        subprocess.run([exe, os.path.join(root, "examples", "enzyme.atl"), made], check=True, capture_output=True, timeout=60)
        kept = os.path.join(root, "docs", "img", "enzyme.svg")
        return [] if open(made).read() == open(kept).read() else ["examples/enzyme.atl draws another docs/img/enzyme.svg"]


wrong = session() + picture()
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
