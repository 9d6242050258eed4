#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the C examples of docs/embedding.md: each block compiles without warnings, and prints what its comments
`/* prints: … */` say, line by line.

usage: test_embedding.py PAGE INCLUDE LIBRARY

Each block is the body of a program. Where it doesn't make `vm` itself, there is one that has evaluated the page's block marked `atled`."""
import os
import re
import subprocess
import sys
import tempfile

page, include, library = sys.argv[1:4]
TEXT = open(page, encoding="utf-8").read()
MODEL = "\n".join(re.findall(r"^```atled\n(.*?)^```", TEXT, re.S | re.M))
HEAD = "#include <atled.h>\n#include <stdio.h>\n#include <string.h>\n"
MAKE = """AtledVM *vm = atled_new(NULL);
if (!vm || atled_eval(vm, "model.atl", source) != ATLED_OK) { puts("no model"); return 1; }
"""


def as_string(text):
    return "\n".join('"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for line in text.splitlines())


def program(block):
    own = "AtledVM *vm" in block
    return (f"{HEAD}static const char source[] =\n{as_string(MODEL)};\nint main(void) {{\n(void)source;\n"
            f"{'' if own else MAKE}{block}{'' if own else 'atled_free(vm);'}\nreturn 0;\n}}\n")


def check(number, block, folder):
    path = os.path.join(folder, "example.c")
    with open(path, "w", encoding="utf-8") as f:
        f.write(program(block))
    exe = os.path.join(folder, "example")
    made = subprocess.run(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", f"-I{include}", path, "-o", exe, library,
                           f"-Wl,-rpath,{os.path.dirname(os.path.abspath(library))}"], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"example {number} doesn't compile\n{made.stderr}"
    r = subprocess.run([exe], capture_output=True, text=True, timeout=120, check=False)
    want = re.findall(r"/\* prints: (.*?) \*/", block)
    if r.returncode or r.stdout.splitlines() != want:
        return f"example {number} (status {r.returncode}) printed\n{r.stdout}{r.stderr}instead of\n" + "\n".join(want) + f"\n{block}"
    return None


blocks = re.findall(r"^```c\n(.*?)^```", TEXT, re.S | re.M)
with tempfile.TemporaryDirectory() as work:
    wrong = [w for w in (check(k + 1, block, work) for k, block in enumerate(blocks)) if w]
print("\n".join(wrong) if wrong else f"{len(blocks)} examples")
sys.exit(1 if wrong or len(blocks) < 8 else 0)
