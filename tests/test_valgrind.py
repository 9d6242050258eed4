#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program in the evaluator, or errors of every kind, under valgrind: no invalid access, nothing leaked.

usage: test_valgrind.py VALGRIND COMMAND..."""
import os
import subprocess
import sys

if not os.path.exists("/proc/self/maps"):
    print("valgrind needs /proc, which isn't mounted here")
    sys.exit(0)
r = subprocess.run([sys.argv[1], "--quiet", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite",
                    "--max-stackframe=2000000000", *sys.argv[2:]], capture_output=True, text=True)
if r.returncode != 0:
    print(f"status {r.returncode}\n{r.stderr[:4000]}")
    sys.exit(1)
