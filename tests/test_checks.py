#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which checks the optimiser drops, and that those which can fail stay, and fail at the same place with the same words.

usage: test_checks.py ATLED [--show]      --show prints how many checks each function keeps

Each case: a function f, the checks that its final graph keeps, calls with their values, and calls that fail, with the
line of f (from 1), its text with a `^` before the place, and the start of the message. All calls are made in the evaluator and as machine code."""
import re, subprocess, sys, tempfile, os

ATLED, SHOW = sys.argv[1], "--show" in sys.argv
BIG = "9223372036854775807"

CASES = [
    ("index of a loop", """
let f (a : float[]) =
  let mut s = 0.0 in
  for i = 0 to length a - 1 do s += a[i] done;
  s""", [], [("f [1.0, 2.0]", "3.0"), ("f []", "0.0")], []),
    ("neighbours", """
let f (a : float[]) =
  let mut b = a in
  for i = 1 to length a - 2 do b[i] <- a[i - 1] + a[i + 1] done;
  b""", [], [("f [1.0, 2.0, 5.0]", "[1.0, 6.0, 5.0]"), ("f [1.0]", "[1.0]")], []),
    ("one too far", """
let f (a : float[]) =
  let mut s = 0.0 in
  for i = 0 to length a - 1 do s += a[i + 1] done;
  s""", ["index"], [("f []", "0.0")], [("f [1.0, 2.0]", 3, "a[^i + 1]", "index 2 is out of bounds for an array of length 2")]),
    ("one too early", """
let f (a : float[]) =
  let mut s = 0.0 in
  for i = 0 to length a - 1 do s += a[i - 1] done;
  s""", ["index"], [("f []", "0.0")], [("f [1.0]", 3, "a[^i - 1]", "index -1 is out of bounds")]),
    ("downwards", """
let f (a : float[]) =
  let mut s = 0.0 in
  for i = length a - 1 downto 1 do s <- s * 0.5 + a[i] - a[i - 1] done;
  s""", [], [("f [1.0, 2.0]", "1.0")], []),
    ("triangle", """
let f (a : float[]) (b : float[]) =
  let mut s = 0.0 in
  for i = 0 to length a - 1 do
    for j = i + 1 to length a - 1 do s += a[i] * a[j] + b[j] - b[i] done
  done;
  s""", ["index"], [("f [1.0, 2.0] [1.0, 2.0]", "3.0")], [("f [1.0, 2.0] [1.0]", 4, "b[^j]", "index 1 is out of bounds")]),
    ("counter of a while loop", """
let f (a : float[]) =
  let mut i = 0 in
  let mut s = 0.0 in
  while i < length a do
    s += a[i];
    i += 1
  done;
  s""", [], [("f [1.0, 2.0]", "3.0")], []),
    ("counter that goes down", """
let f (a : float[]) =
  let mut i = length a in
  let mut s = 0.0 in
  while i > 0 do
    i -= 1;
    s += a[i]
  done;
  s""", [], [("f [1.0, 2.0]", "3.0")], []),
    ("counter that starts anywhere", """
let f (a : float[]) k =
  let mut i = k in
  let mut s = 0.0 in
  while i < length a do
    s += a[i];
    i += 1
  done;
  s""", ["index"], [("f [1.0, 2.0] 1", "2.0")], [("f [1.0] (-1)", 5, "a[^i]", "index -1 is out of bounds")]),
    ("two ends that meet", """
let f (a : int[]) k =
  let mut b = a in
  let mut lo = 0 in
  let mut hi = k in
  while lo < hi do
    let t = b[lo] in
    b[lo] <- b[hi];
    b[hi] <- t;
    lo += 1;
    hi -= 1
  done;
  b""", ["index"], [("f [1, 2, 3] 2", "[3, 2, 1]"), ("f [1] 0", "[1]"), ("f [1] (-5)", "[1]")],
     [("f [1, 2] 2", 7, "b[^hi]", "index 2 is out of bounds for an array of length 2")]),
    ("counter that stops at a number", """
let f (a : int[]) =
  let mut r = 0 in
  let mut s = 0 in
  let mut on = length a > 0 in
  while on do
    s += a[r];
    if r = length a - 1 then on <- false else r += 1
  done;
  s""", ["index"], [("f [1, 2]", "3"), ("f []", "0")], []),
    ("guarded", """
let f (a : float[]) k = if 0 <= k && k < length a then a[k] else 0.0""", [],
     [("f [1.0] 0", "1.0"), ("f [1.0] 1", "0.0"), ("f [1.0] (-1)", "0.0")], []),
    ("guarded on one side", """
let f (a : float[]) k = if k < length a then a[k] else 0.0""", ["index"],
     [("f [1.0] 0", "1.0")], [("f [1.0] (-1)", 1, "a[^k]", "index -1 is out of bounds")]),
    ("checked before", """
let f (a : float[]) k = a[k] * (if a[k] > 0.0 then a[k] else 2.0)""", ["index"],
     [("f [1.0] 0", "1.0")], [("f [1.0] 1", 1, "a[^k]", "index 1 is out of bounds")]),
    ("between two that are checked", """
let f (a : float[]) i j = let k = if i < j then i else j in a[i] + a[j] + a[k]""", ["index", "index"],
     [("f [1.0, 2.0] 1 0", "4.0")], [("f [1.0] 0 1", 1, "a[^j]", "index 1 is out of bounds")]),
    ("a sum that wraps", """
let f (a : float[]) k = if k >= 0 then (if k + 1 < length a then a[k + 1] else 0.0) else 1.0""", ["index"],
     [("f [1.0, 2.0] 0", "2.0")], [(f"f [1.0] {BIG}", 1, "a[^k + 1]", "index -9223372036854775808 is out of bounds")]),
    ("a difference that wraps", """
let f (a : float[]) k = if k <= length a then (if k - 1 >= 0 then a[k - 1] else 0.0) else 1.0""", ["index"],
     [("f [1.0] 1", "1.0")], [(f"f [1.0] (-{BIG} - 1)", 1, "a[^k - 1]", f"index {BIG} is out of bounds")]),
    ("a ring", """
let f (a : float[]) =
  let n = length a in
  sum [ a[i] * a[(i + 1) % n] | i < n ]""", [], [("f [1.0, 2.0, 3.0]", "11.0"), ("f []", "0.0")], []),
    ("a remainder of either sign", """
let f (a : float[]) k = a[k % 3]""", ["index"],
     [("f [1.0, 2.0, 3.0] 4", "2.0")], [("f [1.0] (-1)", 1, "a[^k % 3]", "index -1 is out of bounds")]),
    ("clamped", """
let f (a : float[]) k = if length a > 0 then a[max 0 (min k (length a - 1))] else 0.0""", [],
     [("f [1.0, 2.0] 7", "2.0"), ("f [1.0] (-7)", "1.0"), ("f [] 3", "0.0")], []),
    ("halves", """
let f (a : float[]) = [ a[i / 2] | i < length a ]""", [], [("f [1.0, 2.0, 3.0]", "[1.0, 1.0, 2.0]")], []),
    ("rows and columns", """
let f (m : float[][]) = [ sum [ m[i][j] * m[i][j] | j < length m[i] ] | i < length m ]""", [],
     [("f [[1.0, 2.0], [3.0, 4.0]]", "[5.0, 25.0]")], []),
    ("a transposed read", """
let f (m : float[][]) =
  let n = length m in
  [ sum [ m[j][i] | j < n ] | i < n ]""", ["index"],
     [("f [[1.0, 2.0], [3.0, 4.0]]", "[4.0, 6.0]")], [("f [[1.0], [2.0]]", 3, "m[j][^i]", "index 1 is out of bounds")]),
    ("an index from an array", """
let f (a : float[]) (p : int[]) = [ a[p[i]] | i < length p ]""", ["index"],
     [("f [1.0, 2.0] [1, 0]", "[2.0, 1.0]")], [("f [1.0] [0, 1]", 1, "a[^p[i]]", "index 1 is out of bounds")]),
    ("slices", """
let f (a : float[]) = sum [ sum a[0..i] | i < length a ]""", [], [("f [1.0, 2.0]", "1.0")], []),
    ("a slice too long", """
let f (a : float[]) = sum [ sum a[0..i + 2] | i < length a ]""", ["slice"], [("f []", "0.0")],
     [("f [1.0, 2.0]", 1, "a[^0..i + 2]", "slice 0..3 is out of bounds for an array of length 2")]),
]
GRADIENTS = [
    ("gradient of neighbours", """
let f (a : float[]) =
  let mut b = a in
  for i = 1 to length a - 2 do b[i] <- 0.5 * b[i - 1] * a[i] + a[i + 1] done;
  sum b
let g a = grad f a""", []),
    ("gradient of a while loop", """
let f (a : float[]) =
  let mut i = 0 in
  let mut s = 0.0 in
  while i < length a do
    s <- sin s + a[i];
    i += 1
  done;
  s
let g a = grad f a""", []),
]


def atled(source, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".atl", encoding="utf-8") as f:
        f.write(source)
        f.flush()
        return subprocess.run([ATLED, *options, f.name], capture_output=True, text=True, timeout=120)


def kept(source, name):
    r = atled(source, "ir", "--stage=final", f"--of={name}")
    if r.returncode:
        return r.stderr
    return sorted(re.findall(r" = check_(\w+)", r.stdout))


def show_problem(name, got, want):
    print(f"{name}: {got}, expected {want}")
    return 1


def check_calls(name, source, works, fails):
    bad = 0
    for mode in ("--jit=off", "--jit=always"):
        for call, value in works:
            r = atled(f"{source}\nprint ({call})\n", mode)
            if r.stdout.strip() != value:
                bad += show_problem(f"{name} {call} {mode}", r.stdout + r.stderr, value)
        for call, line, text, message in fails:
            r = atled(f"{source}\nprint ({call})\n", mode)
            column = source.split("\n")[line - 1].find(text.replace("^", "")) + text.index("^") + 1
            if r.returncode != 70 or f":{line}:{column}: error: {message}" not in r.stderr:
                bad += show_problem(f"{name} {call} {mode}", r.stdout + r.stderr, f"{line}:{column}: {message}")
    return bad


def main():
    bad = 0
    for name, source, checks, works, fails in CASES:
        source = source.strip()
        got = kept(source, "f")
        if SHOW:
            print(f"{name:32} {len(got)}")
        if got != checks:
            bad += show_problem(name, got, checks)
        bad += check_calls(name, source, works, fails)
    for name, source, checks in GRADIENTS:
        got = kept(source.strip(), "g")
        if SHOW:
            print(f"{name:32} {len(got)}")
        if got != checks:
            bad += show_problem(name, got, checks)
    sys.exit(1 if bad else 0)


main()
