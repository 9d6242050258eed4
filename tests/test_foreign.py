#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""C functions: foreign/program.atl over foreign/library.c, and calls that fail, in every mode.

usage: test_foreign.py ATLED LIBRARY"""
import os, re, shutil, subprocess, sys, tempfile

import examples

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
    ('foreign "./lib.so" triangle : (n : int) -> int[n - 3]\nprint "first"\nprint (triangle 1)', "first\n", "`triangle` would give an array of length -2"),
    ('foreign "./lib.so" triangle : (n : int) -> int[n]\nprint "first"\nprint (length (triangle (2 ^ 47)))', "first\n", "elements"),
    ('foreign "./lib.so" triangle : (n : int) -> int[100 / n]\nprint "first"\nprint (triangle 0)', "first\n", "division by zero"),
    ('foreign "./lib.so" scaled : (x : float[]) -> (k : float) -> float[length x]\nprint "first"\nprint (grad (fun k -> sum (scaled [1.0] k)) 2.0)', "", "p.atl:1:20: error: scaled has no derivative rule"),
    ('foreign "./lib.so" triangle : (n : int) -> int[n + 0.5]', "", "float"),
    ('foreign "./lib.so" triangle : (n : int) -> int[(print n; n)]', "", "effect"),
    ('foreign "./lib.so" triangle : (n : int) -> int[m]', "", "there is no `m`"),
    ('foreign "./lib.so" triangle : int -> int[]', "", "a C function can't have this type"),
    ('foreign "./lib.so" triangle : int[3]', "", "only the array that a C function gives"),
    ('foreign "./lib.so" triangle : (n : int) -> int[n] -> int', "", "only the array that a C function gives"),
    ('foreign "./lib.so" triangle : (n : int, m : int) -> int[n]', "", "each parameter has its own brackets"),
    ('foreign "./lib.so" triangle : (n : int) -> string[n]', "", "a C function can't have this type"),
    ('foreign "./lib.so!" numbered : unit -> int[3]\npullback numbered u = (numbered u, fun d -> u)', "", "can't have a derivative rule"),
    ('foreign "./lib.so!" next : unit -> int\nprint (pmap (fun x -> next ()) [1])', "", "effect"),
    ('foreign "./lib.so!" twice : float -> float\npullback twice x = (twice x, fun d -> d)', "", "can't have a derivative rule"),
    ('foreign "./lib.so!" twice : float -> float\nprint (grad (fun x -> x * twice x) 1.0)', "", "p.atl:2:27: error: a C function with an effect has no derivative"),
    ('foreign "./lib.so!" twice : float -> float\nlet f x = if x > 9.0 then twice x else x\nprint "first"\nprint (deriv f (float (length args + 1)))', "", "p.atl:2:27: error: a C function with an effect has no derivative"),
]

# With two threads and with eight: functions of C run in any thread, one call at a time unless the library has an `&`.
SPIN = 'let rec spin (n : int) (x : float) : float = if n = 0 then x else spin (n - 1) (x * 0.999 + 0.5)\n'
THREADS = [
    (SPIN + 'foreign "./lib.so" most_at_once : float -> float\n'
     'print (fold max 0.0 (pmap (fun k -> spin 3000 1.0 * 0.0 + most_at_once (float k)) [ k | k < 200 ]))', "1.0\n"),
    (SPIN + 'foreign "./lib.so&" meet : float -> float\n'
     'print (par (fun () -> spin 3000 1.0 * 0.0 + meet 1.0) (fun () -> spin 3000 1.0 * 0.0 + meet 2.0))', "(1.0, 1.0)\n"),
    (SPIN + 'foreign "./lib.so&" text_length : string -> int\nforeign "./lib.so" greeting : string -> string\n'
     'print (sum (pmap (fun k -> int (spin 3000 1.0) * 0 + text_length (greeting (show k))) [ k | k < 1000 ]))', "8890\n"),
    # A failing one ends the fork, and the next may call again.
    (SPIN + 'foreign "./lib.so" nowhere : float -> float\nforeign "./lib.so" twice : float -> float\n'
     'let bad x = spin 3000 x + nowhere x\n'
     'print (match attempt (fun () -> par (fun () -> bad 1.0) (fun () -> bad 2.0)) with Error e -> "failed" | Ok _ -> "")\n'
     'print (sum (pmap (fun k -> spin 3000 1.0 * 0.0 + twice (float k)) [ k | k < 100 ]))', "failed\n9900.0\n"),
    # So do derivatives that call some.
    (SPIN + 'foreign "./lib.so" twice : float -> float\npullback twice x = (twice x, fun d -> twice d)\n'
     'print (grad (fun v -> sum (pmap (fun x -> spin 3000 x * 0.0 + twice x) v)) [1.0, 2.0, 3.0])', "[2.0, 2.0, 2.0]\n"),
]


def run(program, mode):
    with open("p.atl", "w") as f: f.write(program)
    command = [ATLED, "p.atl"] if mode == "coin" else [ATLED, "--jit=" + mode, "p.atl"]
    env = dict(os.environ, ATLED_COIN="1") if mode == "coin" else None
    r = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    return r.returncode, r.stdout, r.stderr


def recipe():
    """The shim for LAPACK of docs/cookbook.md: its C, compiled as its first line says, and its program. None: no LAPACK here."""
    with open(os.path.join(HERE, "..", "docs", "cookbook.md"), encoding="utf-8") as f: text = f.read()
    (c,) = re.findall(r"```c\n(.*?lapack_solve.*?)```", text, re.S)
    (program,) = re.findall(r"```atled shim\n(.*?)```", text, re.S)
    with open("shim.c", "w") as f: f.write(c)
    made = subprocess.run(re.match("// (cc .*)", c).group(1).split(), capture_output=True, text=True, timeout=60)
    if made.returncode and "cannot find -llapack" in made.stderr: return None
    assert made.returncode == 0 and not made.stderr, made.stderr
    return examples.Program("cookbook.md", enumerate(program.splitlines(), 1))


def check_recipe(program, mode):
    status, out, error = run(program.text(), mode)
    return examples.output_problem(program, out.splitlines()) if status == 0 and not error else error


def main():
    with open(os.path.join(HERE, "foreign", "program.atl")) as f: program = f.read()
    want = "".join(l[len("# expect: "):] for l in program.splitlines(True) if l.startswith("# expect: "))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        shutil.copy(LIBRARY, "lib.so")
        lapack = recipe()
        if lapack is None: print("no LAPACK: docs/cookbook.md's shim isn't tried")
        for mode in MODES:
            problem = lapack and check_recipe(lapack, mode)
            if problem: wrong += 1; print(f"cookbook.md, {mode}: {problem}")
            got = run(program, mode)
            if got != (0, want, ""): wrong += 1; print(f"program.atl, {mode}: {got}")
            for text, printed, message in FAILURES:
                status, out, error = run(text, mode)
                if status == 0 or out != printed or message not in error:
                    wrong += 1
                    print(f"{text!r}, {mode}: {status} {out!r} {error!r}")
            for text, printed in THREADS:
                for threads in "2", "8":
                    os.environ["ATLED_THREADS"] = threads
                    got = run(text, mode)
                    if got != (0, printed, ""): wrong += 1; print(f"{text!r}, {mode}, {threads} threads: {got}")
                del os.environ["ATLED_THREADS"]
        os.chdir("/")
    print(f"{len(MODES) * (1 + len(FAILURES) + 2 * len(THREADS))} runs, {wrong} wrong")
    sys.exit(wrong > 0)


main()
