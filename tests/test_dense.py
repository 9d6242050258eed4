#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gradients of walks over arrays add to arrays: no loop of their final graphs holds an accumulator of the runtime (a `bag`).

usage: test_dense.py ATLED [NAME...]

Each case: the type of the argument, and a function of it. That their gradients are right is tested elsewhere
(tests/programs/derivatives_of_views.atl and others)."""
import os
import subprocess
import sys
import tempfile

V, M, R = "float[]", "float[][]", "point[]"
CASES = [
    ("rows", M, "sum [ dot r r | r in x ]"),
    ("rows by index", M, "sum [ sin (dot x[i] x[i]) | i < length x ]"),
    ("rows, one by one", M, "sum [ sum [ e * e | e in r ] | r in x ]"),
    ("rows, mapped", M, "sum (map (fun r -> dot r r) x)"),
    ("two rows", M, "sum [ (let d = x[i] - x[i + 1] in dot d d) | i < length x - 1 ]"),
    ("all pairs of rows", M, "sum [ sum [ dot a b | a in x ] | b in x ]"),
    ("slices", V, "sum [ sin (sum x[4 * i..4 * i + 4]) | i < length x / 4 ]"),
    ("slices of rows", M, "sum [ (let r = x[i] in dot r[1..3] r[0..2]) | i < length x ]"),
    ("rows of slices", M, "sum [ dot r r | r in x[2..] ]"),
    ("carried", V, "let mut v = x in for s = 1 to 9 do v <- [ 0.9 * v[i] | i < length x ] done; dot v v"),
    ("carried, of its own length", V, "let mut v = x in for s = 1 to 9 do v <- [ sin v[i] | i < length v ] done; sum v"),
    ("carried, two of one length", V, "let mut u = x in let mut v = x in for s = 1 to 9 do u <- u + 0.1 * v; v <- v - 0.1 * u done; dot u v"),
    ("product with what is carried", V, "let mut y = x in for s = 1 to 9 do y <- x * y done; sum y"),
    ("clamped stencil", V, "let n = length x in let mut v = x in for s = 1 to 9 do "
     "v <- [ v[max 0 (i - 1)] + v[i] + v[min (n - 1) (i + 1)] | i < n ] done; dot v v"),
    ("stencil with edges", V, "let n = length x in let mut v = x in for s = 1 to 9 do "
     "v <- [ if i = 0 || i = n - 1 then v[i] else v[i - 1] + v[i] + v[i + 1] | i < n ] done; dot v v"),
    ("parts put together", V, "let mut y = x in for s = 1 to 9 do y <- [x[0]] ++ x[1..] * y[..length x - 1] done; sum y"),
    ("parts of parts", V, "let mut v = x in let mut s = 0.0 in "
     "while length v > 0 do s <- s + v[0] * v[length v - 1]; v <- v[1..] done; s"),
    ("matrix times what is carried", M, "let mut v = [1.0, 2.0] in for s = 1 to 9 do v <- 0.9 * (x @ v) done; sum v"),
    ("records", R, "sum [ p.a * p.a + p.b | p in x ]"),
    ("records by index", R, "sum [ x[i].a * x[i + 1].b | i < length x - 1 ]"),
    ("rows in branches", M, "sum [ (let r = x[i] in if i % 2 = 0 then dot r r else r[0]) | i < length x ]"),
]


def final_graph(exe, source):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "case.atl")
        with open(file, "w", encoding="utf-8") as f:
            f.write(source)
        r = subprocess.run([exe, "ir", "--stage=final", "--of=g", file], capture_output=True, text=True, timeout=60)
    if r.returncode:
        sys.exit(f"{source}: status {r.returncode}\n{r.stderr}")
    return r.stdout


def main():
    exe, names = sys.argv[1], sys.argv[2:]
    failed = 0
    for name, argument, body in CASES:
        if names and name not in names:
            continue
        graph = final_graph(exe, f"type point = {{a : float, b : float}}\nlet f (x : {argument}) = {body}\nlet g (x : {argument}) = grad f x\n")
        bags = [line for line in graph.splitlines() if "bag " in line and line.startswith("    ")]
        if bags:
            failed += 1
            print(f"{name}: `{body}` has accumulators of the runtime:\n" + "\n".join(bags))
    sys.exit(failed > 0)


main()
