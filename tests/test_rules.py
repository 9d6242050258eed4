#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rewrite rules from outside: `atled test`, ATLED_RULES, remarks and counts, the prompt, and bad input.

usage: test_rules.py EXE"""
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

EXE = None
LIMIT = 120  # seconds for anything, on a busy machine


def atled(*args, text=None, given="", **env):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.atl")
        if text is not None:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            args = [*args, "p.atl"]
        return subprocess.run([EXE, *args], cwd=folder, input=given, capture_output=True, text=True, timeout=LIMIT,
                              env={**os.environ, "ATLED_CACHE": "", "ATLED_HISTORY": "", "ATLED_INIT": "", **env})


LIES = """let f (x : float) = x * x
rule tenfold x : f (f x) = 10.0 * x   # it isn't
print (f (f 3.0))
"""


class Rules(unittest.TestCase):
    def test_off(self):
        self.assertEqual(atled(text=LIES).stdout, "30.0\n")
        self.assertEqual(atled(text=LIES, ATLED_RULES="off").stdout, "81.0\n")
        self.assertIn("should be on or off", atled(text=LIES, ATLED_RULES="no").stderr)

    def test_remarks_and_counts(self):
        self.assertRegex(atled("ir", "--stage=remarks", text=LIES).stdout, r"p\.atl:3:7: rules: rule `tenfold` applied")
        self.assertRegex(atled("ir", "--stage=limits", text=LIES).stdout, r"(?m)^ +1  rule tenfold ")

    def test_traps_and_studies_go_without(self):
        self.assertEqual(atled("--trap-nan", text=LIES).stdout, "81.0\n")

    def wrong(self, text):
        r = atled("test", text=text)
        self.assertEqual(r.returncode, 1, r.stderr)
        return r.stdout + r.stderr

    def test_wrong_rules_are_found(self):
        self.assertRegex(self.wrong(LIES), r'p\.atl:2: "rule tenfold": the sides differ at -?\d')
        derivative = "let g (x : float) = stop_gradient x\nrule same x : g x = x\n"
        self.assertIn("the derivatives of the sides differ", self.wrong(derivative))
        fails = "let h (n : int) = 10 / n\nrule total n : h n = if n = 0 then 0 else 10 / n\n"
        self.assertIn("the left side fails: division by zero; the right side is 0", self.wrong(fails))
        trees = "type t = Leaf | Node of t * int * t\nlet rec flip t = match t with Leaf -> Leaf | Node (l, x, r) -> Node (flip r, x, flip l)\n"
        self.assertIn("the sides differ at Node", self.wrong(trees + "rule once t : flip t = t\n"))
        functions = "let app f (x : float) = f x + 0.0 * x\nrule twice f x : app f (app f x) = app f x\n"
        self.assertIn("the sides differ", self.wrong(functions))
        generic = "let swap p = (snd p, fst p)\nrule swapped p : swap p = swap (swap p)\n"
        self.assertIn("applies to what it makes", atled("test", text=generic).stderr)

    def test_values_that_cant_be_made(self):
        maps = "let f (m : (string, int) Map.t) = m\nrule r m : f (f m) = m\n"
        self.assertIn("can be tried", self.wrong(maps))
        endless = "type t = Node of t * t\nlet f (x : t) = x\nrule r x : f (f x) = x\n"
        self.assertIn("values of this type don't end", self.wrong(endless))

    def test_right_rules_pass(self):
        r = atled("test", text="""type t = Leaf | Node of t * int * t
let rec flip t = match t with Leaf -> Leaf | Node (l, x, r) -> Node (flip r, x, flip l)
rule twice t : flip (flip t) = t
let scale (k : float) (v : float[]) = [ k * x | x in v ]
rule scaled j k v : scale j (scale k v) = scale (j * k) v
let decay (t : float) (x : float) = x * exp (-t)
rule semigroup s t x : decay s (decay t x) = decay (s + t) x
let apply f x = f x
rule applied f g x : apply f (apply g x) = apply (g >> f) x
let word (s : string) n = Str.join "" (replicate n s)
rule once s : word s 1 = s
let swap p = (snd p, fst p)
rule swapped p : swap (swap p) = p
""")
        self.assertEqual(r.stderr, "")
        self.assertEqual((r.returncode, r.stdout), (0, "6 passed, 0 failed\n"), r.stderr)

    def test_other_users_of_items(self):
        text = "let f (x : float) = x\nrule zero : f 0.0 = 0.0\nrule neg (x : float) : f (-x) = -(f x) when known x\n"
        self.assertEqual(atled("check", text=text).returncode, 0)
        r = atled("fmt", "--check", text=text)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertIn("(rule neg", atled("ir", "--stage=parsed", text=text).stdout.replace("\n", " "))

    def test_prompt(self):
        lines = ["let f (x : int) = x + 1", "f 1", "rule r x : f x = 10", "f 1", "rule r x : f x = 20", "f 1", "let g x = f x; [1][7]", "g 1"]
        r = atled("repl", given="\n".join(lines) + "\n")
        values = re.findall(r"it : int = (\d+)", r.stdout)
        self.assertEqual(values, ["2", "10", "20"], r.stdout + r.stderr)

    def test_taken_back(self):
        """A rule of an entry that fails before it doesn't hold."""
        lines = ["let f (x : int) = x + 1", "let () = ignore [1][length args + 5]", "f 1"]
        r = atled("repl", given="\n".join(lines) + "\n")
        self.assertIn("2", r.stdout)

    def test_many_and_deep(self):
        many = "let f (n : int) (x : float) = x + float n\n" + "".join(f"rule r{k} x : f {k} x = x + {k}.0\n" for k in range(300))
        start = time.monotonic()
        self.assertEqual(atled(text=many + "print (f 299 1.0, f 300 1.0)\n").stdout, "(300.0, 301.0)\n")
        self.assertLess(time.monotonic() - start, 60)
        deep = "let f (x : float) = x\nrule r x : f (f x) = x\nprint (" + "f (" * 200 + "1.0" + ")" * 200 + ")\n"
        self.assertEqual(atled(text=deep).stdout, "1.0\n")
        doubling = "let f (x : float) (y : float) = x + y\nlet g (x : float) = x\nrule r x : g x = f (g (x + 1.0)) (g (x + 2.0))\nprint (g 1.0)\n"
        r = atled(text=doubling)
        self.assertIn("it would never end", r.stderr)
        grows = "let f (x : float) = x\nlet g (x : float) = x\nrule a x : f x = g (x + 1.0) + g (x + 2.0)\nrule b x : g x = f (2.0 * x) * f (3.0 * x)\nprint (f 1.0)\n"
        start = time.monotonic()
        r = atled(text=grows)
        self.assertIn("without end", r.stderr)
        self.assertLess(time.monotonic() - start, 60)


if __name__ == "__main__":
    EXE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
