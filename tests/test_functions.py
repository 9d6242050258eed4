#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SLEEF, the library of `exp`, `sin` and their like: programs that don't call them need none; the others say what is missing.

usage: test_functions.py ATLED"""
import os
import subprocess
import sys
import tempfile

exe = os.path.abspath(sys.argv[1])
wrong = []


def check(condition, what):
    if not condition:
        wrong.append(what)
        print(f"wrong: {what}")


def run(*arguments, **variables):
    done = subprocess.run([exe, *arguments], capture_output=True, text=True, timeout=120, env={**os.environ, **variables})
    return done.returncode, done.stdout, done.stderr


FOLDED = "print (exp 1.25)"
COMPUTED = "print (exp (1.25 + float (length args)))"
MISSING = {"ATLED_SLEEF": "/nonexistent/libsleef.so"}

for program in (FOLDED, COMPUTED):
    for jit in ("off", "always"):
        status, out, err = run(f"--jit={jit}", "-e", program, **MISSING)
        check(status == 65 and not out and "libsleef3" in err and "/nonexistent/libsleef.so" in err, f"{program}: {status} {err}")
        status, out, err = run(f"--jit={jit}", "--strict-fp", "-e", program, **MISSING)
        check(status == 0 and abs(float(out) - 3.4903429574618414) < 1e-15, f"strict {program}: {out} {err}")
check(run("-e", "print (sqrt 2.0 + floor 1.5 + 2.0 ^ 2)", **MISSING)[0] == 0, "what needs no library")
status, out, err = run("-e", COMPUTED, ATLED_SLEEF="libm.so.6")
check(status == 65 and "lacks a function" in err, f"another library: {err}")
for cpu in ("v2", "v3", "native"):
    outputs = {run(f"--cpu={cpu}", f"--jit={jit}", "-e", program)[1] for jit in ("off", "always") for program in (FOLDED, COMPUTED)}
    check(len(outputs) == 1, f"{cpu}: {outputs}")

with tempfile.TemporaryDirectory() as folder:
    source, library = os.path.join(folder, "m.atl"), os.path.join(folder, "libm1.so")
    with open(source, "w", encoding="utf-8") as f:
        f.write("let f (x : float) = exp x\nlet g (x : float) = x * x\n")
    done = run("build", source, "-o", library, "--functions", "f,g")
    check(done[0] == 0, f"build: {done}")
    host = """import ctypes, sys
model, y = ctypes.CDLL(sys.argv[1]), ctypes.c_double(0)
model.m1_last_error.restype = ctypes.c_char_p
print(model.m1_f(ctypes.c_double(1.25), ctypes.byref(y)), y.value, model.m1_last_error().decode())"""
    for variables, expected in (({}, "0 3.49"), (MISSING, "6 0.0 /nonexistent")):
        done = subprocess.run([sys.executable, "-c", host, library], capture_output=True, text=True, timeout=60, env={**os.environ, **variables})
        check(done.stdout.startswith(expected), f"built library: {done.stdout} {done.stderr}")

print(f"{len(wrong)} wrong")
sys.exit(1 if wrong else 0)
