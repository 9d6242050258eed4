#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the C and C++ examples of docs/embedding.md: each block compiles without warnings, and prints what its comments
`/* prints: … */` or `// prints: …` say, line by line.

usage: test_embedding.py PAGE INCLUDE LIBRARY

Each block is the body of a program. Where it doesn't make `vm` itself, there is one that has evaluated the page's block marked `atled`.
A block of C++ with ATLED_RECORD or ATLED_VARIANT has declarations: they stand before all later blocks."""
import os
import re
import subprocess
import sys
import tempfile

page, include, library = sys.argv[1:4]
TEXT = open(page, encoding="utf-8").read()
MODEL = "\n".join(re.findall(r"^```atled\n(.*?)^```", TEXT, re.S | re.M))
HEADS = {"c": "#include <atled.h>\n#include <stdio.h>\n#include <string.h>\n", "cpp": "#include <atled.hpp>\n#include <iostream>\n"}
MAKE = {"c": """AtledVM *vm = atled_new(NULL);
if (!vm || atled_eval(vm, "model.atl", source) != ATLED_OK) { puts("no model"); return 1; }
""", "cpp": "atled::VM vm;\nvm.eval(\"model.atl\", source);\n"}
COMPILERS = {"c": ["cc", "-std=c17"], "cpp": ["g++", "-std=c++20"]}
OWN = {"c": "AtledVM *vm", "cpp": "atled::VM vm"}


def as_string(text):
    return "\n".join('"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for line in text.splitlines())


def program(language, declarations, block):
    own = OWN[language] in block
    free = "" if own or language == "cpp" else "atled_free(vm);"
    return (f"{HEADS[language]}{declarations}static const char source[] =\n{as_string(MODEL)};\nint main(void) {{\n(void)source;\n"
            f"{'' if own else MAKE[language]}{block}{free}\nreturn 0;\n}}\n")


def check(number, language, declarations, block, folder):
    path = os.path.join(folder, f"example.{language}")
    with open(path, "w", encoding="utf-8") as f:
        f.write(program(language, declarations, block))
    exe = os.path.join(folder, "example")
    made = subprocess.run([*COMPILERS[language], "-Wall", "-Wextra", "-Werror", f"-I{include}", path, "-o", exe, library,
                           f"-Wl,-rpath,{os.path.dirname(os.path.abspath(library))}"], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"example {number} doesn't compile\n{made.stderr}"
    r = subprocess.run([exe], capture_output=True, text=True, timeout=120, check=False)
    want = [c or cpp for c, cpp in re.findall(r"/\* prints: (.*?) \*/|// prints: (.*)", block)]
    if r.returncode or r.stdout.splitlines() != want:
        return f"example {number} (status {r.returncode}) printed\n{r.stdout}{r.stderr}instead of\n" + "\n".join(want) + f"\n{block}"
    return None


def check_all(folder):
    declarations = ""
    for number, (language, block) in enumerate(BLOCKS, 1):
        if language == "cpp" and re.search("^ATLED_(RECORD|VARIANT)", block, re.M):
            declarations += block
        else:
            yield check(number, language, declarations if language == "cpp" else "", block, folder)


BLOCKS = re.findall(r"^```(c|cpp)\n(.*?)^```", TEXT, re.S | re.M)
with tempfile.TemporaryDirectory() as work:
    wrong = [w for w in check_all(work) if w]
print("\n".join(wrong) if wrong else f"{len(BLOCKS)} examples")
sys.exit(1 if wrong or len(BLOCKS) < 20 else 0)
