#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""C functions: foreign/program.atl over foreign/library.c, and calls that fail, in every mode.

usage: test_foreign.py ATLED LIBRARY"""
import os, shutil, subprocess, sys, tempfile

ATLED, LIBRARY = map(os.path.abspath, sys.argv[1:3])
HERE = os.path.dirname(os.path.abspath(__file__))
# The last: everything has machine code, piece by piece, and chance decides where it runs.
MODES = ["off", "auto", "always", "coin"]
# Program, what it prints before it fails, what the error says.
FAILURES = [
    ('foreign "./lib.so!" nothing : unit -> string\nprint "first"\nprint (nothing ())', "first\n", "`nothing` gave NULL"),
    ('foreign "./lib.so!" bad : unit -> string\nprint "first"\nprint (bad ())', "first\n", "not valid UTF-8 at offset 1"),
    ('foreign "./nowhere.so" f : float -> float\nprint "first"\nprint (f 1.0)', "first\n", "can't load"),
    ('foreign "./lib.so" nowhere : float -> float\nprint "first"\nprint (nowhere 1.0)', "first\n", "no function `nowhere`"),
    ('foreign "./lib.so!" next : unit -> int\nprint (pmap (fun x -> next ()) [1])', "", "effect"),
    ('foreign "./lib.so!" twice : float -> float\npullback twice x = (twice x, fun d -> d)', "", "can't have a derivative rule"),
    ('foreign "./lib.so!" twice : float -> float\nprint (grad (fun x -> x * twice x) 1.0)', "", "p.atl:2:27: error: a C function with an effect has no derivative"),
    ('foreign "./lib.so!" twice : float -> float\nlet f x = if x > 9.0 then twice x else x\nprint "first"\nprint (deriv f (float (length args + 1)))', "", "p.atl:2:27: error: a C function with an effect has no derivative"),
]


def run(program, mode):
    with open("p.atl", "w") as f: f.write(program)
    command = [ATLED, "p.atl"] if mode == "coin" else [ATLED, "--jit=" + mode, "p.atl"]
    env = dict(os.environ, ATLED_COIN="1") if mode == "coin" else None
    r = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    return r.returncode, r.stdout, r.stderr


def main():
    with open(os.path.join(HERE, "foreign", "program.atl")) as f: program = f.read()
    want = "".join(l[len("# expect: "):] for l in program.splitlines(True) if l.startswith("# expect: "))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        shutil.copy(LIBRARY, "lib.so")
        for mode in MODES:
            got = run(program, mode)
            if got != (0, want, ""): wrong += 1; print(f"program.atl, {mode}: {got}")
            for text, printed, message in FAILURES:
                status, out, error = run(text, mode)
                if status == 0 or out != printed or message not in error:
                    wrong += 1
                    print(f"{text!r}, {mode}: {status} {out!r} {error!r}")
        os.chdir("/")
    print(f"{len(MODES) * (1 + len(FAILURES))} runs, {wrong} wrong")
    sys.exit(wrong > 0)


main()
