#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The prompt: through a pipe (`atled repl`), and on a terminal (a pseudo-terminal from Python's pty).

usage: test_repl.py EXE"""
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

EXE = os.path.abspath(sys.argv.pop(1))
TMP = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
ENV = dict(os.environ, XDG_CACHE_HOME=TMP.name, ATLED_CACHE=TMP.name, ATLED_HISTORY=os.path.join(TMP.name, "history"),
           TERM="dumb")


def piped(text):
    """What the prompt prints, without its prompts; the same on standard error; its status."""
    r = subprocess.run([EXE, "repl"], input=text, capture_output=True, text=True, timeout=60, env=ENV, cwd=TMP.name)
    return re.sub(r"(?m)^([∇…] )+\n?", "", r.stdout), r.stderr, r.returncode


class Piped(unittest.TestCase):
    def test_definitions_and_values(self):
        out, err, status = piped("let square x = x * x\nlet y = square 3.0\ny + 1.0\nprint 7\n")
        self.assertEqual((err, status), ("", 0))
        lines = out.splitlines()
        self.assertRegex(lines[0], r"^square : .* = <fun>$")
        self.assertEqual(lines[1:], ["y : float = 9.0", "it : float = 10.0", "7"])

    def test_open_types(self):
        out, err, _ = piped("fun x -> x\n[]\n(None, 1)\nList.map\nfun x -> x * 2\n")
        self.assertEqual((err, out.splitlines()), ("", [
            "- : 'a -> 'a = <fun>", "- : 'a[] = []  # 0", "- : 'a option * int = (None, 1)",
            "- : ('a -> 'b) -> 'a list -> 'b list = <fun>", "it : int -> int = <fun>"]))

    def test_continuation(self):
        out, err, _ = piped("let f x =\n  x + 1\n\nf 2\n")
        self.assertIn("it : int = 3", out)

    def test_blank_lines_and_lines_that_are_not_indented(self):
        out, err, _ = piped("let a = [1,\n2]\n\nlet f x =\nlet y = x in\ny + a[1]\n\nf 2\n")
        self.assertEqual((err, out.splitlines()[-1]), ("", "it : int = 4"))
        out, err, _ = piped("1 +\n\n20 + 22\n")  # an empty line ends it
        self.assertEqual(out, "it : int = 42\n")
        self.assertIn("needs an operand", err)

    def test_tests_are_run(self):
        out, err, _ = piped('test "more" = 1 + 1 = 2\ntest "less" = 1 = 2\ntest = 1\n')
        self.assertEqual(out, 'passed: "more"\nFAILED: "less": is false: 1 = 2\n')
        self.assertIn("repl:3:1:", err)

    def test_cases_on_lines_of_their_own(self):
        out, err, _ = piped("type t =\n  | A\n  | B of int\n\nlet f x = match x with\n| A -> 0\n| B n ->\n    n + 1\nf (B 3)\n"
                            "match A with\n| B n -> n\n| A -> 70\n\nlet rec g x = match x with\n| 0 -> true\n| n -> h (n - 1)\n"
                            "and h x = x = 0\n\ng 1\nmatch 3 with\n| n -> 90 + n")
        self.assertEqual(err, "")
        values = [line for line in out.splitlines() if line.startswith("it :")]
        self.assertEqual(values, ["it : int = 4", "it : int = 70", "it : bool = true", "it : int = 93"])

    def test_a_type_that_cannot_be_used_is_refused_each_time(self):
        out, err, status = piped("type 'a t = N | C of ('a * ('a * 'a) t)\nlet l : int t = N\nlet m : int t = C (1, C ((1, 2), N))\n20 + 22\n")
        self.assertEqual((status, out), (0, "it : int = 42\n"))
        self.assertEqual(err.count("contains itself at ever larger types"), 2)

    def test_errors_are_survived(self):
        out, err, status = piped('let a = 5\nlet b = fail "no"\nlet c = a + true\n[1, 2][9]\na + 1\nb\n')
        self.assertEqual(status, 0)
        self.assertIn("it : int = 6", out)
        self.assertIn("no", err)
        self.assertIn("repl:6", err.splitlines()[-1] + err)

    def test_places_are_those_of_the_entry(self):
        _, err, _ = piped('let rec f n = if n = 0 then [1, 2][n + 5] else f (n - 1)\nf 100\nf 100\nlet g x = f 100 + x\ng 3\n'
                          '[ [ j | j < i ] | i < 3 ]\n(1, [ [ j | j < i ] | i < 3 ])\n')
        self.assertEqual(re.findall(r"repl:\S+", err), [
            "repl:1:1:36:", "repl:2:1:1", "repl:1:1:36:", "repl:3:1:1", "repl:1:1:36:", "repl:4:1:11", "repl:5:1:1",
            "repl:6:1:1:", "repl:7:1:5:"])

    def test_failed_definition_keeps_the_old_one(self):
        out, _, _ = piped('let a = 5\nlet a = 1 / 0\na + 1\n')
        self.assertIn("it : int = 6", out)

    def test_shadowing(self):
        out, _, _ = piped("let a = 1\nlet f x = x + a\nlet a = 100\nf 1\n")
        self.assertIn("it : int = 2", out)

    def test_commands(self):
        with open(os.path.join(TMP.name, "loaded.atl"), "w", encoding="utf-8") as f:
            f.write("let from_file = 12\n")
        out, err, _ = piped(":type fun x -> x + 1.0\n:doc sin\n:load loaded.atl\nfrom_file\n:help\n:nonsense\n:load\n"
                            ":load \"loaded.atl\"\nhelp\n:quit\n1\n")
        self.assertIn("the path of a file is missing", out)
        self.assertEqual(out.count("from_file : int = 12"), 2)
        self.assertIn("commands begin with a colon", err)
        self.assertIn("float -> float", out)
        self.assertIn("sin :", out)
        self.assertIn("it : int = 12", out)
        self.assertIn(":doc NAME", out)
        self.assertIn("no command", out)
        self.assertNotIn("int = 1\n", out)


class Terminal(unittest.TestCase):
    def setUp(self):
        try:
            self.pid, self.fd = pty.fork()
        except OSError:  # a bare chroot without /dev/pts
            self.skipTest("this machine has no pseudo-terminals")
        if self.pid == 0:
            os.execve(EXE, [EXE], ENV)  # no `repl`: it is a terminal
        self.seen = ""
        self.expect(":help")

    def tearDown(self):
        os.close(self.fd)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)

    def expect(self, pattern, seconds=20):
        end = time.time() + seconds
        while not (m := re.search(pattern, self.seen)):
            if time.time() > end or not select.select([self.fd], [], [], end - time.time())[0]:
                self.fail(f"{pattern!r} didn't come; what came is {self.seen!r}")
            self.seen += os.read(self.fd, 4096).decode("utf-8", "replace")
        self.seen = self.seen[m.end():]

    def send(self, text):
        os.write(self.fd, text.encode())

    def test_values(self):
        self.send("1 + 2\n")
        self.expect("it : int = 3")

    def test_continuation(self):
        self.send("let f x =\n")
        self.expect("…")
        self.send("  x * 2\n\nf 21\n")
        self.expect("int = 42")

    def test_interrupt_clears_the_line(self):
        self.send("let x = (")
        time.sleep(0.3)
        self.send("\x03")
        time.sleep(0.3)
        self.send("3 * 4\n")
        self.expect("it : int = 12")

    def test_interrupt_gives_up_an_entry(self):
        self.send("let x = (\n")
        self.expect("…")
        self.send("\x03")
        time.sleep(0.3)
        self.send("3 * 5\n")
        self.expect("it : int = 15")

    def test_interrupt_stops_evaluation(self):
        self.send("let kept = 8\n")
        self.expect("kept : int = 8")
        self.send("let rec f n = if n < 0 then n else f (n + 1 - n % 2)\n")
        self.expect("f : .*<fun>")
        self.send("f 1\n")
        time.sleep(1)
        self.send("\x03")
        self.expect("interrupt")
        self.send("kept + 1\n")
        self.expect("it : int = 9")

    def test_completion(self):
        self.send("let velocity = 3\n")
        self.expect("velocity : int = 3")
        self.send("velo\t + 1\n")
        self.expect("it : int = 4")


unittest.main()
