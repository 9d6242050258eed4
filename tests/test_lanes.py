#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loops that run several iterations at once print what the evaluator prints, to the last digit, at every level of processors
and with ATLED_LANES=off: templates of loops of 0 to 40 iterations with every operation that has lanes, and their gradients.

usage: test_lanes.py ATLED [PROGRAM…]   the programs given are compared in the same way"""
import os
import re
import subprocess
import sys
import tempfile

exe = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
wrong = []

FUNCTIONS = ["cbrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
             "asinh", "acosh", "atanh", "erf", "erfc", "abs", "sqrt", "floor", "ceil", "trunc", "sign"]
EXPRESSIONS = [f"{name} x" for name in FUNCTIONS] + [
    "x + y", "x - y", "x * y", "x / y", "-x", "min x y", "max x y", "x ** y", "atan2 x y", "hypot x y", "x * y + z", "x * y - z", "z - x * y",
    "if x < y then x else z", "if x <= y && not (y = z) then y else x * 2.0", "if x <> y || x > z then z else -y", "if is_nan x then 1.0 else x",
    "x * c", "c - x", "if c < x then c else y", "sin x * cos x", "x ^ 5", "float i * x", "float (i + 3) - y", "float (7 - i)", "1.5",
    "sin c + cos x", "exp (700.0 + x)", "exp (x * 300.0)", "sinh (x * 300.0)", "log1p (x * 1e305)", "tan (x * 4e-323)", "if c < 0.0 then x else y"]
VALUES = ["0.1 + 0.37 * float k", "-2.5 + 0.61 * float k", "1.0 / (float k - 3.0)", "(float k - 5.0) * 1e-310",
          "[0.0, -0.0, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0, 1.0, -1.0, 5e-324, 1.7e308, 0.5][k % 10]"]


def template():
    """For each expression its values and their sum, for each length and kind of values."""
    lines = [f"let values{number} (n : int) (s : int) = [ (let k = i + s in {values}) | i < n ]" for number, values in enumerate(VALUES)]
    lines += ["let lengths = [0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 23, 32, 40]",
              'let show (v : float[]) = print (v, [ 1.0 / x < 0.0 | x in v ])']
    for number, e in enumerate(EXPRESSIONS):
        lines += [f"let map{number} (xs : float[]) (ys : float[]) (zs : float[]) (c : float) = "
                  f"[ (let (x, y, z) = (xs[i], ys[i], zs[i]) in {e}) | i < length xs ]",
                  f"let sum{number} (xs : float[]) (ys : float[]) (zs : float[]) (c : float) = "
                  f"sum [ (let (x, y, z) = (xs[i], ys[i], zs[i]) in ({e}) * y) | i < length xs ]"]
    lines += ["let all (xs : float[]) (ys : float[]) (zs : float[]) (c : float) = ("]
    for number, e in enumerate(EXPRESSIONS):
        lines += [f"  show (map{number} xs ys zs c); print (sum{number} xs ys zs c);"]
    lines += ["  ())", "for n in lengths do ("]
    lines += [f"  all (values{number} n 0) (values{number} n 1) (values{number} n 7) (values{number} 1 (n % 5))[0];" for number in range(len(VALUES))]
    lines += ["  ()) done"]
    return "\n".join(lines) + "\n"


SHAPES = """
type point = {x : float, y : float}
type weight = {a : float, b : float, c : float}
let n = 27 + length args
let v = [ 0.5 + 0.25 * float i | i < n ]
let ps = [ {x = float i * 0.5, y = 1.0 / float (i + 1)} | i < n ]
let qs = [ {a = sin (float i), b = float i, c = 0.5} | i < n ]
let norms = [ sqrt (p.x * p.x + p.y * p.y) | p in ps ]
let moved = [ {x = p.x + 0.1, y = p.y * p.x} | p in ps ]
let weights = sum [ q.a * q.b + q.c | q in qs ]
print norms
print (sum [ p.x * p.y | p in moved ])
print weights
print (grad (fun (qs : weight[]) -> sum [ q.a * q.b + exp q.c | q in qs ]) qs)
let smooth (u : float[]) = [ u[i] * 2.0 - u[i + 1] - u[i + 2] | i < length u - 2 ]
print (smooth v)
print (grad (fun u -> sum [ x * x | x in smooth u ]) v)
let m = [ [ sin (float (i * 3 + j)) | j < 11 ] | i < 9 ]
let rows (m : float[][]) (w : float[]) = [ tanh (dot r w + 0.1) | r in m ]
print (rows m (v[..11]))
print (grad (fun m -> sum (rows m (v[..11]))) m)
print (hessian (fun w -> sum (rows m w)) (v[..11]))
let update (u : float[]) = (let mut w = u in (for i = 0 to length u - 1 do w[i] <- w[i] * 0.5 + u[i] done; w))
print (update v)
print (grad (fun u -> sum (update u)) v)
let shift (u : float[]) = (let mut w = u in (for i = 0 to length u - 2 do w[i] <- w[i + 1] * 0.5 done; w))
print (shift v)
let carry (u : float[]) = (let mut w = u in (for i = 1 to length u - 1 do w[i] <- w[i - 1] * 0.5 + w[i] done; w))
print (carry v)
print (grad (fun u -> sum (carry u)) v)
let logsumexp (u : float[]) = (let m = maximum u in m + log (sum [ exp (x - m) | x in u ]))
print (logsumexp v, grad logsumexp v)
let pairs (u : float[]) = sum [ sum [ 1.0 / (0.1 + abs (u[i] - u[j])) | j < i ] | i < length u ]
print (pairs v, grad pairs v)
let counted = [ float i * 0.1 | i < n ]
print counted
print (sum [ v[i] * float i | i < n ])
print (mean v, dot v v, norm v)
"""


def outputs(path):
    """The output of each way to run it."""
    found = {}
    def run(cpu, jit, *options, lanes="on"):
        done = subprocess.run([exe, f"--cpu={cpu}", f"--jit={jit}", *options, path], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "ATLED_LANES": lanes, "ATLED_OPT": "1"})
        return done.stdout + done.stderr

    for cpu in ("v2", "v3", "v4"):
        found[cpu, "evaluator"] = run(cpu, "off")
        found[cpu, "lanes"] = run(cpu, "always")
    found["v4", "scalar"] = run("v4", "always", lanes="off")
    found["v4", "strict"] = run("v4", "always", "--strict-fp")
    found["", "strict"] = run("v4", "off", "--strict-fp")
    return found


def first_difference(a, b):
    for k, (x, y) in enumerate(zip(a.split("\n"), b.split("\n"))):
        if x != y:
            return f"line {k + 1}: {x[:200]} / {y[:200]}"
    return f"{len(a)} and {len(b)} characters"


def compare(path, name):
    found = outputs(path)
    for (cpu, way), text in found.items():
        if way == "strict":
            base = found["", "strict"]
        elif cpu == "v4":
            base = found["v3", "evaluator"]
        else:
            base = found[cpu, "evaluator"]
        if text != base or "error" in text:
            wrong.append(name)
            print(f"{name}, {cpu}, {way}: {first_difference(base, text)}")
    return found


flags = open("/proc/cpuinfo", encoding="utf-8").read()
if "avx512dq" not in flags:
    print("skipped: this processor has no AVX-512")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    if len(sys.argv) > 2:
        for path in sys.argv[2:]:
            compare(path, path)
    else:
        path = os.path.join(folder, "expressions.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(template())
        compare(path, "expressions")
        path = os.path.join(folder, "shapes.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(SHAPES)
        compare(path, "shapes")
        done = subprocess.run([exe, "ir", "--stage=lowered", path], capture_output=True, text=True, timeout=60).stdout
        for text in (r"# lanes: \d+ load", r"# lanes: .*field", r"# lanes: .*\d+ sum", r"# no lanes: an array is read or written at several places"):
            if not re.search(text, done):
                wrong.append(text)
                print(f"the lowered code doesn't say {text}")
print(f"{len(wrong)} wrong")
sys.exit(1 if wrong else 0)
