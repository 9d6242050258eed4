#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`static` from outside: what is left of it in the compiled program, at the prompt, and what ends it.

usage: test_static_values.py EXE"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

EXE = None
LIMIT = 120  # seconds for anything, on a busy machine
ENV = {**os.environ, "ATLED_CACHE": "", "ATLED_HISTORY": "", "ATLED_INIT": ""}
ENDLESS = "let rec wait k = if k < 0 then k else wait (k + 1 - k % 2)\n"
SLOW = "let slow = [ [ float (i + j) | j < 1000 ] | i < 1000 ]\n"


def atled(*args, text=None, given="", **env):
    with tempfile.TemporaryDirectory() as folder:
        if text is not None:
            with open(os.path.join(folder, "p.atl"), "w", encoding="utf-8") as f:
                f.write(text)
            args = [*args, "p.atl"]
        return subprocess.run([EXE, *args], cwd=folder, input=given, capture_output=True, text=True, timeout=LIMIT,
                              env={**ENV, **env})


class Static(unittest.TestCase):
    def final(self, text):
        r = atled("ir", "--stage=final", text=text)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        return r.stdout

    def test_no_code_is_left(self):
        text = self.final("let rec bits n = if n = 0 then 0 else n % 2 + bits (n / 2)\nlet k = length args\n"
                          "print (static ([ bits i | i < 5 ])[k])\n")
        self.assertRegex(text, r"data 5: 0 1 1 2 1\b")
        self.assertNotRegex(text, "loop|call|static")

    def test_values_of_all_kinds(self):
        text = self.final("type t = Leaf | Node of t * float * t\n"
                          "let rec tree n = if n = 0 then Leaf else Node (tree (n - 1), float n, Leaf)\n"
                          "print (static (tree 2, Map.of_array [(\"a\", [[1.5]])], show 0.1))\n")
        self.assertNotRegex(text, "loop|call|static")
        self.assertIn('"0.1"', text)

    def test_of_functions_and_derivatives(self):
        text = self.final("let f x = sum [ x ** float i | i < 4 ]\nlet x = 2.0\n"
                          "print (static (grad f x), static (jvp f x 1.0))\n")
        self.assertNotRegex(text, "loop|call|static")
        self.assertIn("17.0", text)

    def test_what_the_program_does(self):
        text = "let t = read_line ()\nlet f (x : float) = x * static (exp x)\nprint (static (t), f (float (length args)))\n"
        remarks = atled("ir", "--stage=remarks", text=text).stdout
        self.assertEqual(re.findall(r"p\.atl:(\d+:\d+): statics: ", remarks), ["2:25", "3:8"])
        r = atled(text=text, given="hello\n")
        self.assertEqual((r.stdout, r.stderr), ("(Some \"hello\", 0.0)\n", ""))

    def test_values_of_entries_before(self):
        r = atled("repl", given="let xs = [ float (length args) + float i | i < 3 ]\nlet f k = static (sum xs) * k\nf 2.0\n"
                                ":type static (xs)\nlet words = (1, \"a\")\nstatic (snd words)\nstatic (fun x -> x)\n1 + 1\n")
        out = re.sub(r"(?m)^([∇…] )+\n?", "", r.stdout).splitlines()
        self.assertEqual(out[-4:], ["float[]", 'words : int * string = (1, "a")', 'it : string = "a"', "it : int = 2"])
        self.assertIn("it : float = 6.0", out)
        self.assertIn("this value holds a function", r.stderr)

    def test_each_place_warns_once(self):
        text = "let f (x : int) = x + static ([1][2])\n" + "let f_of n = f n\n" + "".join(f"print (attempt (fun () -> f {k}) = Ok 1)\n" for k in range(5))
        r = atled(text=text)
        self.assertEqual(r.stdout, "false\n" * 5)
        self.assertEqual(r.stderr.count("makes no constant of this: it fails"), 1)

    def test_limits(self):
        r = atled(text=ENDLESS + "let f () = static (wait 1)\nprint (length args)\n")
        self.assertEqual((r.stdout, r.stderr), ("0\n", ""))  # nothing needs it
        r = atled("check", text=ENDLESS + "print (static (wait 1))\n")
        self.assertIn("it takes more than 10000000 instructions", r.stderr)
        r = atled("check", text="let rec f n = if n = 0 then 0 else static (f (n - 1)) + 1\nprint (f 200)\n")
        self.assertEqual((r.returncode, r.stderr), (0, ""))

    def test_interrupts(self):
        p = subprocess.Popen([EXE, "repl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
        p.stdin.write(SLOW + f"print 1\nstatic (sum (flatten ({' @ '.join(['slow'] * 40)})))\n20 + 22\n")
        p.stdin.flush()
        while "1\n" != re.sub("[∇…] ", "", p.stdout.readline()):
            pass
        time.sleep(0.5)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=LIMIT)
        self.assertIn("interrupted", err, out)
        self.assertIn("it : int = 42", out)

    def test_traps(self):
        r = atled("--trap-nan", text="print (is_nan (static (0.0 / 0.0)))\n")
        self.assertEqual(r.returncode, 70)
        self.assertIn("it fails: ", r.stderr)

    def test_bad_syntax(self):
        for text, error in (("print (static (1", "expected `)`"), ("let x = static (1, )\n", "an element"),
                            ("print (static (x) + 1)\n", "there is no `x`"), ("print (static [1])\n", "expected unit -> 'a")):
            r = atled(text=text)
            self.assertEqual(r.returncode, 65, r.stderr)
            self.assertIn(error, r.stderr)


if __name__ == "__main__":
    EXE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
