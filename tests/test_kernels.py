#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Functions of our own in vectors of 8, 4, 2 and 1: equal digits.

usage: test_kernels.py ATLED [PATTERNS]

Calls exp, log, tanh and erf of PATTERNS (8,000) numbers with all exponents and random significands, of as many between -50 and
50, and of edges, in the evaluator, in machine code for vectors, and there one by one. All must print the same; for processors without
fused multiplication (v2), which have vectors of 2, that is another text. (How right they are is measured by bench/functions.)"""
import os
import subprocess
import sys
import tempfile

exe, patterns = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8000
PROGRAM = """
let n = PATTERNS
let random = Random.key 11
let u = Random.uniform random (3 * n)
let scaled (i : int) = (let e = float (i % 2098 - 1074) in (1.0 + u[i]) * 2.0 ** (e / 2.0) * 2.0 ** (e / 2.0))
let edges = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1e308, -1e308, 709.782712893384, 709.782712893385,
  710.0, -708.4, -745.13, -745.14, -746.0, 20.0, -20.0, 19.9, 0.17328679513998632, -0.17328679513998632, 0.34657359027997264, 1.4142135623730951, 0.7071067811865475, 1e999, -1e999, 0.0 / 0.0]
let numbers = [ (if u[n + i] < 0.5 then scaled i else -(scaled i)) | i < n ] ++ [ 100.0 * u[2 * n + i] - 50.0 | i < n ] ++ edges
let tell (f : float[] -> float[]) = (let ys = f numbers in for i = 0 to length ys - 1 do print ys[i] done)
let () = tell (fun a -> [ exp x | x in a ])
let () = tell (fun a -> [ log x | x in a ])
let () = tell (fun a -> [ tanh x | x in a ])
let () = tell (fun a -> [ erf (0.1 * x) | x in a ])
let () = tell (fun a -> [ erf x | x in a ])
""".replace("PATTERNS", str(patterns))
flags = open("/proc/cpuinfo", encoding="utf-8").read()
if "avx512dq" not in flags:
    print("skipped: this processor has no AVX-512")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "kernels.atl")
    with open(path, "w", encoding="utf-8") as f:
        f.write(PROGRAM)

    def run(cpu, jit, lanes="on"):
        done = subprocess.run([exe, f"--cpu={cpu}", f"--jit={jit}", path], capture_output=True, text=True, timeout=600, env={**os.environ, "ATLED_LANES": lanes})
        return (done.stdout + done.stderr).split("\n")

    wrong = 0
    for first, ways in (("v3", (("v3", "always"), ("v4", "always"), ("v4", "always", "off"))), ("v2", (("v2", "always"), ("v2", "always", "off")))):
        base = run(first, "off")
        if len(base) < 6 * patterns:
            print("\n".join(base[:5]))
            sys.exit(1)
        for way in ways:
            found = run(*way)
            differ = [k for k, (a, b) in enumerate(zip(base, found)) if a != b]
            wrong += len(differ) + abs(len(base) - len(found))
            print(f"{' '.join(way)}: {len(differ)} of {len(base) - 1} values differ" + "".join(f"; line {k + 1}: {base[k]} / {found[k]}" for k in differ[:3]))
sys.exit(1 if wrong else 0)
