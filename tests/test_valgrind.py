#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A few programs in the evaluator, and errors of every kind, under valgrind: no invalid access, nothing leaked.

usage: test_valgrind.py VALGRIND EXE ERRORS

ERRORS is api/test_memory_after_errors.c, built."""
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
names = ["language", "variants", "derivatives", "text"]
if not os.path.exists("/proc/self/maps"):
    print("valgrind needs /proc, which isn't mounted here")
    sys.exit(0)
failed = 0
commands = {name: [sys.argv[2], "--jit=off", f"{here}/programs/{name}.atl"] for name in names}
commands["errors"] = [sys.argv[3], "off"]
for name, command in commands.items():
    r = subprocess.run([sys.argv[1], "--quiet", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite",
                        "--max-stackframe=2000000000", *command], capture_output=True, text=True, timeout=300)
    if r.returncode != 0:
        failed += 1
        print(f"{name}: status {r.returncode}\n{r.stderr[:4000]}")
sys.exit(1 if failed else 0)
