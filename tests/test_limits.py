#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The limits of the compiler: src/support/limits.def has all of them, each does what its row says, and what is counted
is counted.

usage: test_limits.py ROOT ATLED"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT, ATLED = pathlib.Path(sys.argv[1]), sys.argv[2]
ROWS = re.findall(r'^(?:LIMIT|BIG)\((\w+), (.+?), "(.+?)", "(.+?)", (\w+)\)', (ROOT / "src/support/limits.def").read_text(), re.M)
SOURCES = {p: p.read_text(encoding="utf-8") for p in sorted((ROOT / "src").rglob("*.[ch]"))}
WORDS = {word for path, text in SOURCES.items() if path.stem != "limits" for word in re.findall(r"\w+", text)}


def sines(n):
    return " + ".join(f"sin (x * {k}.5)" for k in range(n))


def products(n):
    return " + ".join(f"x * {k}.5" for k in range(n))


def choices(n):
    return "; ".join(f"if i > {k} then g <- (fun y -> y * {k}.5)" for k in range(n))


POW = "let rec pow x n = if n = 0 then 1.0 else x * pow x (n - 1)\nprint (pow 2.0 %d)\n"
FLOATS = "let f x = %s\nprint (sum [ f (float i) | i < 30 ])\n"
INTS = "let f n = match n with %s | _ -> 0\nprint [ f i | i < 3 ]\n"
SUM = "print (sum [ sin (float (length args * i)) | i < %d ])\n"
CHOICES = "let f x n = let mut g = sin in for i = 0 to n do %s done; g x\nprint [ f (float i) i | i < 3 ]\n"
# Derivatives of high order of functions that take derivatives of unknown ones, which may be each other. One of two such takes
# few nodes, their sum over half a million: it is made again with fewer functions in each other.
PATHS = """
let h (y : float) : float = 0.4 * fold (fun y f -> sin (y + grad f y)) (tanh y) [(fun p -> p), (fun p -> p)]
let f (x : float) =
  let (z, back) = vjp (fun (y : float) -> sin (fold (fun y f -> sin (y + grad f y)) 0.267 [(fun (t : float) -> x), h])) x in
  sin z + back 0.7
let g (x : float) =
  let (z, back) = vjp (fun y ->
      let q = [ (fun p -> sin (grad f p)) | f in [h, (fun (t : float) -> t)] ] in
      sin (deriv q[0] (maximum [x, x, 0.045, y]))) x in
  sin z + back 0.7
"""
APART, TOGETHER = PATHS + "let a = grad f 0.1\nlet b = grad g 0.1\nprint (a + b)\n", PATHS + "print (grad (fun x -> f x + g x) 0.1)\n"
# A pullback that takes derivatives of unknown functions, of the type that these have. As a candidate it would be one of them itself.
PULLBACK = """
let k = Bench.opaque 1
let square (y : float) = sin (y * y)
let (z, slope) = vjp square 0.5
let fs = [ (fun p -> sin (grad f p)) | f in [ (fun (b : float) -> 0.5 * b * b) | i < 2 ] ]
"""
OTHER = PULLBACK + "print (deriv [slope, sin][k - 1] 1.0)\n"
ITSELF = PULLBACK + """
let h (y : float) : float =
  0.4 * (let q = [ (fun p -> sin (grad f p)) | f in [ ((fun (a : float) (b : float) -> b) y) | i < 2 ] ] in deriv q[k] y)
let r (y : float) : float = h y
pullback r y = let (z, back) = vjp h y in (z, fun d -> if d = 0.0 then 0.0 * y else back d)
print (grad r 0.3)
"""
# limit, a program that stays within it, one that doesn't
PAIRS = [
    ("unroll depth", POW % 5, POW % 40),
    ("unroll size", POW % 5, "let rec f x n = if n = 0 then x else f (%s) (n - 1)\nprint [ f (float i) 3 | i < 2 ]\n" % sines(30)),
    ("inline size", FLOATS % "sin x", FLOATS % sines(200)),
    ("select work", FLOATS % "if x > 1.0 then x + 1.0 else x", FLOATS % f"if x > 1.0 then {products(70)} else x"),
    ("power", FLOATS % "x ^ 4", FLOATS % "x ^ 20"),
    ("match spread", INTS % "1 -> 2 | 2 -> 3 | 3 -> 5 | 4 -> 7", INTS % "1 -> 2 | 200 -> 3 | 300 -> 5 | 4000 -> 7"),
    ("candidates", CHOICES % choices(2), CHOICES % choices(12)),
    ("small array", SUM % 10, SUM % 40),
    ("path nodes", APART, TOGETHER),
    ("pullback nodes", OTHER, ITSELF),
    ("long function", FLOATS % "sin x", FLOATS % f"let y = x * 0.5 in {sines(800)}"),
]


def table(source):
    with tempfile.NamedTemporaryFile("w", suffix=".atl") as f:
        f.write(source)
        f.flush()
        r = subprocess.run([ATLED, "ir", "--stage=limits", f.name], capture_output=True, text=True, timeout=120)
    if r.returncode:
        raise AssertionError(f"{source}\n{r.stderr}")
    return [re.split(r"  +", line.strip(), maxsplit=4) for line in r.stdout.splitlines()]


def reached(source):
    return {row[1]: int(row[0]) for row in table(source)[1:] if row[0].isdigit()}


class Limits(unittest.TestCase):
    def test_each_is_used_and_counted_as_it_says(self):
        names = [row[0] for row in ROWS]
        self.assertGreater(len(names), 80)
        self.assertEqual(len(names), len(set(names)))
        for name, _, _, _, how in ROWS:
            self.assertIn(f"LIMIT_{name}", WORDS, "nobody asks for it")
            self.assertEqual(f"AT_{name}" in WORDS, how == "COUNTED", name)

    def test_there_are_no_others(self):
        """A comparison of a depth with a number, or a constant that is named like a limit. Sizes of buffers may be."""
        sizes = {"MAX_STATE", "MAX_PARAMS", "MAX_DIMS", "MOST_BLOCKS", "LARGEST_BLOCK", "LARGEST_BYTES", "MOST"}
        for path, text in SOURCES.items():
            for found in re.findall(r"\bdepth (?:<|>|<=|>=) ?[1-9]\d*\b", text):
                self.fail(f"{path}: {found}")
            for found in re.findall(r"\b(?:fuel|budget) = \d+", text):
                self.fail(f"{path}: {found}")
            for name in re.findall(r"\b((?:MAX|MOST|LARGEST|FUEL|BUDGET)(?:_[A-Z_]+)?) = ", text):
                self.assertIn(name, sizes, path)

    def test_the_table_shows_all(self):
        shown = table("print 1\n")
        self.assertEqual(shown[0], ["reached", "limit", "value", "in", "what is given up"])
        self.assertEqual([row[1] for row in shown[1:]], [row[0].lower().replace("_", " ") for row in ROWS])
        hows = {"error": "ERROR", "shown": "SHOWN", "0": "COUNTED"}
        self.assertEqual([hows[row[0]] for row in shown[1:]], [row[4] for row in ROWS])

    def test_what_is_reached_is_counted(self):
        for name, within, beyond in PAIRS:
            with self.subTest(name):
                self.assertEqual(reached(within)[name], 0)
                self.assertGreater(reached(beyond)[name], 0)

    def test_what_is_made_again_has_the_same_value(self):
        said = [subprocess.run([ATLED, "--jit=off", "-"], input=s, capture_output=True, text=True, timeout=300).stdout
                for s in (APART, TOGETHER)]
        self.assertAlmostEqual(float(said[0]), float(said[1]), places=14)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
