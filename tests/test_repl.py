#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The prompt: through a pipe (`atled repl`), and on a terminal (a pseudo-terminal from Python's pty).

usage: test_repl.py EXE"""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from screen import Screen

EXE = os.path.abspath(sys.argv.pop(1))
TMP = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
ENV = dict(os.environ, XDG_CACHE_HOME=TMP.name, ATLED_CACHE=TMP.name, ATLED_HISTORY=os.path.join(TMP.name, "history"),
           TERM="dumb")


def piped(text):
    """What the prompt prints, without its prompts; the same on standard error; its status."""
    r = subprocess.run([EXE, "repl"], input=text, capture_output=True, text=True, timeout=60, env=ENV, cwd=TMP.name)
    return re.sub(r"(?m)^([∇…] )+\n?", "", r.stdout), r.stderr, r.returncode


class Limited(unittest.TestCase):
    SECONDS = 120  # of one test: what blocks ends with the place where it did

    def setUp(self):
        def end(*_):
            raise AssertionError(f"the test took more than {self.SECONDS} seconds")
        signal.signal(signal.SIGALRM, end)
        signal.alarm(self.SECONDS)
        self.addCleanup(signal.alarm, 0)


class Piped(Limited):
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

    def test_open_records_in_values(self):
        out, err, status = piped("let b_of {b, ..} = b\nlet q = (1, b_of)\nsnd q {b = 3, c = 1}\nlet z = (2, fun x -> x.b)\nfst z\n")
        self.assertEqual((err, status), ("", 0))
        self.assertEqual(out.splitlines(), ["b_of : {b : 'a, ..} -> 'a = <fun>", "q : int * ({b : 'a, ..} -> 'a) = <fun>", "it : int = 3",
                                            "z : int * ({b : 'a, ..} -> 'a) = <fun>", "it : int = 2"])

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


class Values(Limited):
    """What values look like, in 80 columns."""

    def shown(self, text):
        out, err, _ = piped(text + "\n")
        self.assertEqual(err, "")
        return out

    def test_arrays(self):
        self.assertEqual(self.shown("[1.0, 0.5, 1.0 / 3.0]"), "it : float[] = [1.0, 0.5, 0.33333]  # 3\n")
        self.assertEqual(self.shown(":set digits 17\n[1.0 / 3.0, 1e10]").splitlines()[-1],
                         "it : float[] = [0.3333333333333333, 10000000000.0]  # 2")
        self.assertEqual(self.shown("[123456.0, 1e-7, nan, -inf]"), "it : float[] = [1.2346e+05, 1e-07, nan, -inf]  # 4\n")
        self.assertEqual(self.shown("range 0 1000"), "it : int[] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, …, 998, 999]  # 1000\n")
        self.assertEqual(self.shown(":set width 40\nrange 0 1000").splitlines()[-1], "it : int[] = [0, 1, 2, …, 998, 999]  # 1000")
        self.assertEqual(self.shown("1.0 / 3.0"), "it : float = 0.3333333333333333\n")

    def test_matrices(self):
        self.assertEqual(self.shown("[[1.0, -0.5], [100.25, 2.0]]"),
                         "it : float[][] = # 2 × 2\n  [[  1.0,  -0.5],\n   [100.25,  2.0]]\n")
        self.assertEqual(self.shown("[ [ [ i + j | k < 2 ] | j < 2 ] | i < 2 ]"),
                         "it : int[][][] = # 2 × 2 × 2\n  [[[0, 0],\n    [1, 1]],\n   [[1, 1],\n    [2, 2]]]\n")
        lines = self.shown("[ [ float (i * j) / 7.0 | j < 40 ] | i < 300 ]").splitlines()
        self.assertLess(len(lines), 24)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertEqual(lines[0], "it : float[][] = # 300 × 40")
        self.assertRegex(lines[2], r"^   \[0\.0,  0\.14286, .*, …, +5\.5714\],$")
        self.assertIn("    …", lines)

    def test_tables_and_records(self):
        self.assertEqual(self.shown('[{name = "ann", x = 1.5}, {name = "bob", x = -22.25}]'),
                         'it : {name : string, x : float}[] = # 2\n  name        x\n  "ann"    1.5\n  "bob"  -22.25\n')
        self.assertEqual(self.shown('{a = range 0 100, b = "x"}'),
                         'it : {a : int[], b : string} = {a = [0, 1, 2, …, 97, 98, 99], b = "x"}\n')
        self.assertEqual(self.shown('{aaaaaaaaaaaaaaaa = range 0 100, bbbbbbbbbbbbbbbb = "xxxxxxxx"}').splitlines()[1:],
                         ["  {aaaaaaaaaaaaaaaa = [0, 1, 2, …, 97, 98, 99],", '   bbbbbbbbbbbbbbbb = "xxxxxxxx"}'])

    def test_long_values(self):
        for text in ("to_list (range 0 100000)", 'Str.join "" (replicate 100000 "x")', "(1, [to_list (range 0 9999)])"):
            out = self.shown(text)
            self.assertLess(len(out), 500)
            self.assertIn("…", out)

    def test_it(self):
        self.assertEqual(self.shown("20 + 1\nit * 2\nprint it\nlet x = it\n[]\nit").splitlines(),
                         ["it : int = 21", "it : int = 42", "42", "x : int = 42", "- : 'a[] = []  # 0", "it : int = 42"])
        self.assertEqual(self.shown("fun x -> x * 2\nit 21\n").splitlines()[-1], "it : int = 42")
        out, _, _ = piped("1 + 1\n[1][7]\nit\n")
        self.assertEqual(out, "it : int = 2\nit : int = 2\n")


class Tutorial(Limited):
    """docs/tutorial.md, typed line by line."""

    def blocks(self, fence):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "tutorial.md"), encoding="utf-8") as f:
            return re.findall(rf"(?ms)^```{fence}\n(.*?)^```$", f.read())

    def test_session(self):
        for block in self.blocks("text session"):
            lines = block.splitlines()
            out, err, _ = piped("".join(line[2:] + "\n" for line in lines if line[:1] in "∇…"))
            self.assertEqual((err, out.splitlines()), ("", [line for line in lines if line[:1] not in "∇…"]))

    def test_programs(self):
        blocks = self.blocks("atled")
        self.assertGreater(len(blocks), 10)
        out, err, _ = piped("\n\n".join(blocks))
        printed = iter(out.splitlines())
        for expected in re.findall(r"(?m)# => (.*)$", "\n".join(blocks)):
            self.assertIn(expected, printed)  # takes lines up to it
        self.assertEqual(err.count("error: "), 2 * "\n".join(blocks).count("# error: "))  # once in the source that is shown


PROMPT, KEY_UP, KEY_DOWN = "∇ ", "\x1b[A", "\x1b[B"


class Session:
    """The prompt on a pseudo-terminal."""

    def __init__(self, columns=80, shown=False, **env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # before the prompt runs: later it would be a change of size, which draws the prompt again
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            env = {**ENV, "TERM": "xterm", **env}
            os.execve(EXE, [EXE], {k: v for k, v in env.items() if v is not None})
        self.raw, self.seen, self.begun, self.screen = b"", "", "", Screen(columns) if shown else None
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def close(self):
        os.close(self.fd)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)

    def read(self):
        raw = os.read(self.fd, 65536)
        text = self.decoder.decode(raw)
        self.raw += raw
        if self.screen:
            self.screen.feed(text)
        whole, start = re.fullmatch(r"(?s)(.*?)(\x1b(?:\[[?0-9;]*)?)?", self.begun + text).groups()
        self.seen += re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", whole)
        self.begun = start or ""  # a sequence whose end is still to come

    def expect(self, pattern, seconds=30):
        """What came up to the pattern, without sequences that move the cursor or colour."""
        end = time.time() + seconds
        while not (m := re.search(pattern, self.seen)):
            if not select.select([self.fd], [], [], max(0, end - time.time()))[0]:
                raise AssertionError(f"{pattern!r} didn't come; what came is {self.seen!r}")
            self.read()
        before, self.seen = self.seen[:m.end()], self.seen[m.end():]
        return before

    def settle(self, seconds=0.5):
        """Read until nothing came for that long: the prompt reads keys again."""
        end = time.time() + 30
        while select.select([self.fd], [], [], seconds)[0]:
            if time.time() > end:
                raise AssertionError(f"the prompt writes without end: {self.seen[-1000:]!r}")
            self.seen += os.read(self.fd, 65536).decode("utf-8", "replace")
        self.seen = ""

    def send(self, text, seconds=30):
        """Write the text. What the prompt writes meanwhile is read: neither side blocks because the other one does."""
        rest, end = text if isinstance(text, bytes) else text.encode(), time.time() + seconds
        os.set_blocking(self.fd, False)
        while rest:
            readable, writable, _ = select.select([self.fd], [self.fd], [], max(0, end - time.time()))
            if not readable and not writable:
                raise AssertionError(f"the prompt doesn't read: {len(rest)} bytes are left; what came is {self.seen[-1000:]!r}")
            if readable:
                self.read()
            if writable:
                rest = rest[os.write(self.fd, rest):]
        os.set_blocking(self.fd, True)


class Terminal(Limited):
    def begin(self, **options):
        try:
            s = Session(**options)
        except OSError:  # a bare chroot without /dev/pts
            self.skipTest("this machine has no pseudo-terminals")
        self.addCleanup(s.close)
        s.expect(r":help")
        s.expect(PROMPT)
        return s

    def test_values_and_entries_of_several_lines(self):
        s = self.begin()
        s.send("1 + 2\n")
        s.expect("it : int = 3")
        s.send("let f x =\n  if x > 0 then 1\n  else 2\n\nf (-3)\n")
        s.expect("f : .*<fun>")
        s.expect("it : int = 2")
        s.send("if 1 > 2 then 10\nelse 20\n\n")
        s.expect("it : int = 20")
        s.send("let g x =\nx * 2\ng 21\n")  # not indented; the next item ends it
        s.expect("g : .*<fun>")
        s.expect("it : int = 42")
        s.send("1 +\n\n")
        s.expect("needs an operand")

    def test_history(self):
        history = os.path.join(TMP.name, "state", "atled", "history")
        env = {"ATLED_HISTORY": None, "XDG_STATE_HOME": os.path.join(TMP.name, "state")}
        s = self.begin(**env)
        s.send("let twice x =\n  x * 2\n\n")
        s.expect("twice : .*<fun>")
        s.send("twice 4\n")
        s.expect("it : int = 8")
        s.send(KEY_UP + KEY_UP + "\n")  # an entry is recalled, and runs, as a whole
        s.expect("twice : .*<fun>")
        s.send("let tw" + KEY_UP + "\n")
        s.expect("twice : .*<fun>")
        with open(history, encoding="utf-8") as f:
            self.assertEqual(f.read(), "let twice x =\\n  x * 2\ntwice 4\nlet twice x =\\n  x * 2\n")
        s = self.begin(**env)
        s.send("5 * 5\n")
        s.expect("it : int = 25")
        s.send("let" + KEY_UP + "\n")
        s.expect("twice : .*<fun>")

    def test_history_that_cannot_be_kept(self):
        for env, why in (({"ATLED_HISTORY": None, "XDG_STATE_HOME": None, "HOME": None}, "neither"), ({"ATLED_HISTORY": "/dev/full"}, "no.*file|isn't"),
                         ({"ATLED_HISTORY": "/proc/none/x"}, "No such")):
            s = Session(**env)
            self.addCleanup(s.close)
            s.expect(f"the history isn't kept: .*({why})")
            s.send("1 + 2\n")
            s.expect("it : int = 3")

    def test_paste(self):
        s = self.begin()
        s.send("\x1b[200~let a = 1\nlet b x =\n  x + a\n\nb 2\nb \"x\"\nb 3\n\x1b[201~\n")
        s.expect("a : int = 1")
        s.expect("b : .*<fun>")
        s.expect("it : int = 3")
        s.expect(r"repl:1:6:3: error.*\s+6 \| b \"x\"")
        s.expect("1 item behind the error wasn't evaluated")
        s.expect(PROMPT)  # before it the terminal makes signals of some bytes
        s.send(b"\x1b[200~" + bytes(range(256)).replace(b"\x1b", b"") * 3 + b"\x1b[201~\n\n")
        s.settle()
        s.send("\x03\x03")
        s.settle()
        s.send("20 + 22\n")
        s.expect("it : int = 42")
        s.expect(PROMPT)  # before it the terminal keeps one line of at most 4096 bytes
        s.send("\x1b[200~Str.length \"" + "x" * 300000 + "\"\x1b[201~\n")
        s.expect("it : int = 300000")
        s.send(b"\xff\xfe1\n")
        s.expect("not valid UTF-8")

    def test_interrupts(self):
        s = self.begin()
        for begun in ("", "let x = (", "let x = (\n1,", "\x12le", "Str.\t\t", "\t\t"):
            s.send("let kept = 8\n")
            s.expect("kept : int = 8")
            s.expect(PROMPT)
            s.send(begun)
            time.sleep(0.3)
            s.send("\x03\x03")
            s.expect(PROMPT)
            s.send("kept + 1\n")
            s.expect("it : int = 9")
        s.send("let rec f n = if n < 0 then n else f (n + 1 - n % 2)\n")
        s.expect("f : .*<fun>")
        for running in ("f 1\n", "read_line ()\n", ":type f 1\nf 2\n"):
            s.send(running)
            time.sleep(0.7)
            s.send("\x03")
            s.expect("error: interrupted")
            s.send("kept + 1\n")
            s.expect("it : int = 9")
        s.expect(PROMPT)
        s.send("let x = (")
        s.expect(r"x = \(")
        os.kill(s.pid, signal.SIGINT)  # from elsewhere
        s.expect(PROMPT)
        s.send("3 * 5\n")
        s.expect("it : int = 15")
        s.send("\x04")
        while select.select([s.fd], [], [], 10)[0]:
            try:
                os.read(s.fd, 4096)
            except OSError:
                break  # it has ended

    def test_completion(self):
        s = self.begin()
        os.makedirs(os.path.join(TMP.name, "files"), exist_ok=True)
        with open(os.path.join(TMP.name, "files", "some_program.atl"), "w", encoding="utf-8") as f:
            f.write("let from_file = 12\n")
        s.send("let point = {width = 3, inner = {depth = 4}}\n")
        s.expect("point : ")
        for typed, answer in (("poi\t.wi\t + 1\n", "it : int = 4"), ("point.inner.\t\n", "it : int = 4"), ("Rand\tuni\t\n", "it : .*key -> int"),
                              ("Som\t 3\n", "it : int option = Some 3"), (":ty\tpoint.wi\t\n", "int\r"),
                              (f":load {TMP.name}/files/some\t\n", "from_file : int = 12"),
                              (f'import "{TMP.name}/files/some\t as M\n', PROMPT), ("M.from\t\n", "it : int = 12")):
            s.send(typed)
            s.expect(answer)

    def test_errors_below_what_was_typed(self):
        s = self.begin()
        s.send("1 + true\n")
        self.assertNotIn(" | ", s.expect("error: expected a number, found bool"))
        s.send("let x = 1 + undefined_name\n")
        self.assertIn("\r" + " " * 14 + "^" * 14 + "\r\nerror: ", s.expect("there is no `undefined_name`"))
        s.send('print "a"; fail "x"\n')  # something stands between
        s.expect(r"repl:3:1:12: error: x\s+1 \| print")

    def test_narrow_window(self):
        s = self.begin(columns=1)
        for typed, answer in (("1 + 2\n", "int = 3"), ("range 0 100\n", "# 100"), ("[[1.0, 2.0]]\n", "# 1 × 2"), ("1 + true\n", "found bool"),
                              ("let f x =\n  x\n\n", "<fun>")):
            s.send(typed)
            s.expect(answer)

    def test_colours(self):
        for env, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            s = Session(**env)
            self.addCleanup(s.close)
            s.send("1 + 2\n")
            s.expect(" = 3")
            self.assertEqual(b"\x1b[36mint" in s.raw, coloured, s.raw)

    def screen(self, entries, columns=80, **env):
        """The screen after the entries, each with what it is answered with."""
        s = self.begin(columns=columns, shown=True, **env)
        for typed, answer in entries:
            s.send(typed)
            s.expect(answer)
            s.expect(PROMPT)
        return s.screen

    ENTRIES = [('let f (x : float) = "aé日" ++ show 1.5 # note\n', "<fun>"),
               ('let g x =\n  if x > 1.0 then "one\\n two"\n  else f 2.0\n\n', "g : .*<fun>"),
               ('let long = ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "c"]\n', "# 3"),
               ("let f = (1 + 2))\n", "no bracket"), ('test "a" = true\n', "passed")]

    def test_colours_of_entries(self):
        screen = self.screen(self.ENTRIES)
        for word, colour in (("let f", {"1;34", ""}), ("let", "1;34"), ("float", "36"), ('"aé日"', "32"), ("1.5", "33"), ("# note", "90"),
                             ("then", "1;34"), ('"one', "32"), ("two", "32"), ("…", ""), ("show", ""), ("test", "1;34"), ("))", {"", "4;31"})):
            self.assertEqual(screen.colour_of(word), colour, word)
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            plain = self.screen(self.ENTRIES[:1], **env)
            self.assertEqual({c for row in plain.rows for _, c in row.values()}, {""})

    def test_coloured_entries_stand_where_they_were_typed(self):
        for columns in (80, 61, 40, 26, 13, 8):
            self.assertEqual(self.screen(self.ENTRIES, columns).text(), self.screen(self.ENTRIES, columns, NO_COLOR="1").text(), columns)

    def test_colours_that_are_switched_off(self):
        s = self.begin(shown=True)
        s.send(":set color off\n")
        s.expect(PROMPT)
        s.send("1 + true\n")
        s.expect("found bool")
        s.expect(PROMPT)
        self.assertEqual({c for row in s.screen.rows for _, c in row.values()}, {""})
        s.send(":set color on\n")
        s.expect(PROMPT)
        s.send("2 + true\n")
        s.expect("found bool")
        s.expect(PROMPT)
        self.assertEqual(s.screen.colour_of("2 +"), {"33", ""})
        self.assertIn(("e", "1;31"), [row.get(0) for row in s.screen.rows])


unittest.main(failfast=True)  # where the prompt blocks, the time for all tests is over before the last one has said so
