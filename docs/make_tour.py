#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts what the compiler prints into the pages of docs/architecture/.

usage: make_tour.py --atled EXE [--check]

A page holds a comment with a command, and behind it a block with the command's output:

    <!-- atled ir --stage=built --of=g docs/architecture/example.atl -->
    ```text
    …
    ```

The lines for places in the source, for descriptors of types and for comments are left out of the block. --check writes nothing and
fails where a block isn't what the command prints, or where a page is longer than a reader should have to take in at once."""
import argparse
import glob
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BLOCK = re.compile(r"(<!-- ((?:\w+=\S+ )?)atled (.*?) -->\n```text\n)(.*?)(```\n)", re.S)
LINES, COLUMNS = 150, 100


def printed(exe, setting, command):
    """setting: an environment variable, as NAME=VALUE, or empty"""
    environment = dict(os.environ, **dict([setting.split("=", 1)] if setting else []))
    r = subprocess.run([exe, *shlex.split(command)], cwd=ROOT, capture_output=True, text=True, timeout=60, env=environment)
    if r.returncode:
        sys.exit(f"make_tour.py: atled {command}: {r.stderr}")
    lines = [line for line in r.stdout.splitlines() if not re.match(r"(site|desc|module) |#", line)]
    return "\n".join(lines).strip() + "\n"


def too_long(page, text):
    lines = text.splitlines()
    if len(lines) > LINES:
        yield f"{page}: {len(lines)} lines; a page has {LINES} at most"
    for n, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield f"{page}:{n}: {len(line)} columns; a line has {COLUMNS} at most"


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--atled", required=True)
    a.add_argument("--check", action="store_true")
    options = a.parse_args()
    exe = os.path.abspath(options.atled)
    faults = []
    for path in [os.path.join(ROOT, "docs", "architecture.md"), *sorted(glob.glob(os.path.join(ROOT, "docs/architecture/*.md")))]:
        page = os.path.relpath(path, ROOT)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        made = BLOCK.sub(lambda m: m[1] + printed(exe, m[2].strip(), m[3]) + m[5], text)
        faults += too_long(page, made)
        if made != text and options.check:
            faults.append(f"{page} isn't what docs/make_tour.py makes of it")
        elif made != text:
            with open(path, "w", encoding="utf-8") as f:
                f.write(made)
    print("\n".join(faults), end="\n" * bool(faults))
    sys.exit(1 if faults else 0)


main()
