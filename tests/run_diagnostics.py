#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs wrong programs and compares their messages with the file beside them.

usage: run_diagnostics.py --atled EXE [--update] FILE...

For `name.atl`, `name.err` holds the exit status on its first line and then standard error, to the byte.
Run-time errors must read the same in evaluator and machine code, but for the number of calls
that fit on the stack (N in the file). --update writes the files."""
import os
import re
import subprocess
import sys
import tempfile


def run(exe, path, mode, cache):
    env = dict(os.environ, XDG_CACHE_HOME=cache, ATLED_CACHE=cache, ATLED_OPT="0") # no message depends on the level
    r = subprocess.run([exe, mode, os.path.basename(path)], cwd=os.path.dirname(path), env=env,
                       capture_output=True, text=True, timeout=120)
    return f"status {r.returncode}\n" + re.sub(r"and (\d+|many) more calls", "and N more calls", r.stderr)


def main():
    args = sys.argv[1:]
    if len(args) < 3 or args[0] != "--atled":
        sys.exit(__doc__)
    exe, update = os.path.abspath(args[1]), "--update" in args
    failed = 0
    for path in (os.path.abspath(a) for a in args[2:] if a != "--update"):
        expected_path = path[:-4] + ".err"
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
            outputs = {mode: run(exe, path, mode, cache) for mode in ("--jit=off", "--jit=always")}
        if update:
            open(expected_path, "w", encoding="utf-8").write(outputs["--jit=off"])
        want = open(expected_path, encoding="utf-8").read() if os.path.exists(expected_path) else ""
        for mode, got in outputs.items():
            if got != want:
                failed += 1
                print(f"{os.path.basename(path)} {mode}: expected\n{want}\ngot\n{got}")
    sys.exit(1 if failed else 0)


main()
