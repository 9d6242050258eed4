#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The commands of the prompt, its init file, `--watch`, and what ends what: through a pipe, and on a pseudo-terminal.

usage: test_commands.py EXE"""
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
ENV = dict(os.environ, XDG_CACHE_HOME=TMP.name, ATLED_CACHE=TMP.name, ATLED_HISTORY="", ATLED_INIT="", TERM="dumb", NO_COLOR="1", TMPDIR=TMP.name)
ENV.pop("ATLED_JIT", None)
ENDLESS = "let rec f n = if n < 0 then n else f (n + 1 - n % 2)\n"


def path(name):
    return os.path.join(TMP.name, name)


def write(name, text):
    with open(path(name), "w", encoding="utf-8") as f:
        f.write(text)
    return name


def read(name):
    with open(path(name), encoding="utf-8") as f:
        return f.read()


class Piped(unittest.TestCase):
    def prompt(self, text, *options, **env):
        r = subprocess.run([EXE, "repl", *options], input=text, capture_output=True, text=True, timeout=120, env={**ENV, **env}, cwd=TMP.name, check=False)
        self.assertEqual(r.returncode, 0, r.stderr)
        return re.sub(r"(?m)^(?:∇ |… )+", "", r.stdout.removesuffix("∇ \n")), r.stderr

    def transcript(self, *pairs, err="", **env):
        """Each line typed in prints what stands beside it. err: None for any."""
        out, said = self.prompt("".join(f"{line}\n" for line, _ in pairs), **env)
        out = re.sub(r"repl:\d+", "repl:N", out)
        self.assertEqual((out, said), ("".join(shown for _, shown in pairs), said if err is None else err))

    def test_trap(self):
        out, err = self.prompt("let f x = x * log x\n:trap nan\n:trap\nf 0.0\n:trap nothing\n:trap off\nf 0.0\n:trap inf\nlog 0.0\n")
        self.assertEqual(out, "f : float -> float = <fun>\nnan\n`:trap` takes off, nan or inf, not `nothing`\nit : float = nan\n")
        self.assertIn("`*` of 0.0 and -inf yields NaN", err)
        self.assertIn("`log` of 0.0 yields -inf", err)
        self.assertEqual(err.count("error"), 2)

    def test_check(self):
        out, err = self.prompt("type p = {a : float, w : float[][]}\n"
                               "let f p = sum [ sum (sin row) | row in p.w ] * p.a\n".replace("sin row", "map sin row") +
                               "let wrong x = x * x\npullback wrong x = (wrong x, fun d -> d * x)\n"
                               ":check\n:check f {a = 2.0, w = [[0.5], [1.0]]}\n"
                               ":check (fun (x, ys) -> x + wrong ys[1]) (1.0, [3.0, 4.0])\n:check f\n:check g 1.0\n:why g 1.0\n")
        self.assertIn("a function and its argument are missing", out)
        self.assertRegex(out, r"all 3 derivatives agree with differences, to 1\d\.\d digits or more; the worst:\n  x\.")
        self.assertRegex(out, r"1 of 3 derivatives are far from differences:\n"
                              r"  x \(item 2\)\[1\]: gradient 4.0, differences (8.0|7.99\d+|8.0\d+) ± \S+: 0.3 digits agree\n")
        self.assertIn("an argument is missing, `f` is a function: `:check F X`\n", out)
        self.assertEqual(err.count("<expression>:1:1: error: there is no `g`\n   1 | g 1.0\n"), 2)

    def test_why_of_what_is_no_function(self):
        out, err = self.prompt(":why\n:why 3.0\n:why hypot\n:why hypot 1.0 2.0\n:why let x = 1\n:why hypot 1.0\n:why fun x -> float (int x) * x\n")
        self.assertEqual(out.splitlines()[:2], ["a function is missing: `:why F [X]`", "x: its derivative is cut off nowhere"])
        self.assertIn("   2 |     fun x -> float (int x) * x\n", out)
        messages = ["`3.0` is no function", "`hypot` takes more than one argument, and a gradient is one of a function of one: write `(fun x -> …)`",
                    "there is more than one argument: what the function takes before it stands with it in parentheses, as in `(f a) x`",
                    "a function is asked for, as in `why f`"]
        self.assertEqual(err, "".join(f"error: {m}\n" for m in messages))

    def test_names(self):
        self.transcript(
            (":type fun x -> x + 1.0", "float -> float\n"),
            (":type", "an expression is missing: `:type EXPR`\n"),
            ("let square x = x * x", "square : num 'a => 'a -> 'a = <fun>\n"),
            ("type shape = Circle of float | Point", ""),
            (":info square", "value square : num 'a => 'a -> 'a\ndefined in repl:N, line 1\n"),
            (":info shape", "type shape\ntype shape = Circle of float | Point\ndefined in repl:N, line 1\n"),
            (":info Circle", "constructor Circle : float -> shape\ndefined in repl:N, line 1\n"),
            (":info Point", "constructor Point : shape\ndefined in repl:N, line 1\n"),
            (":source square", "# repl:N, line 1\nlet square x = x * x\n"),
            (":doc square", "square : num 'a => 'a -> 'a\n"),
            (":browse square", "`square` is no module, but a value\n"))

    def test_types_have_their_names(self):
        write("points.atl", "type point = {x : float, y : float}\ntype shape = Dot of point | Empty\nlet origin : point = {x = 0.0, y = 0.0}\nlet dot p = Dot p\n")
        self.transcript(
            (":type Optim.lbfgs", "diff 'a => Optim.options -> ('a -> float) -> 'a -> 'a Optim.optimum\n"),
            (":type Map.get", "ord 'a => 'a -> ('a, 'b) Map.t -> 'b option\n"),
            (":info Map.Empty", "constructor Map.Empty : ('a, 'b) Map.t\ndefined in Map.atl, line 10\n"),
            ("let o = {Ode.defaults with rtol = 0.5}", "o : Ode.options =\n  {atol = 1e-08,\n   checkpoints = 0,\n   first_step = 0.0,\n   max_steps = 100000,\n   rtol = 0.5}\n"),
            ("let m = Map.of_array [(1, Set.of_array [true])]", "m : (int, bool Set.t) Map.t = Map.of_array [(1, Set.of_array [true])]\n"),
            ('import "points.atl" as P', ""),
            ("(P.origin, P.dot, P.Empty)", "it : P.point * (P.point -> P.shape) * P.shape = ({x = 0.0, y = 0.0}, <fun>, Empty)\n"),
            ("type options = {rtol : float}", ""),
            ("let mine : options = {rtol = 1.0}", "mine : options = {rtol = 1.0}\n"),
            ("type 'a t = A of 'a", ""),
            ("(A m, {mine with rtol = 2.0})", "it : (int, bool Set.t) Map.t t * options = (A (Map.of_array [(1, Set.of_array [true])]), {rtol = 2.0})\n"),
            ("open Map", ""),
            ("(m, A 1)", "it : (int, bool Set.t) Map.t * int t = (Map.of_array [(1, Set.of_array [true])], A 1)\n"),
            ("let a = A 1", "a : int t = A 1\n"),
            ("type t = B", ""),
            ("(a, B)", "it : int t/1 * t = (A 1, B)\n"),
            (":undo", "taken back: `it`\n"),
            (":undo", "taken back: `t` and `B`\n"),
            ("a", "it : int t = A 1\n"))

    def test_library_names(self):
        out, err = self.prompt(":doc List.map\n:info List\n:source List.map\n:browse Bench\n:browse\n:info nothing\n:source Nope.x\n")
        self.assertIn("List.map : ('a -> 'b) -> 'a list -> 'b list\n", out)
        self.assertIn("module List\nLists.", out)
        self.assertIn("\nlet map f l =\n  let rec go", out)
        self.assertRegex(out, r"Bench\.time : \('a -> 'b\) -> 'a -> ")
        self.assertIn("nothing is defined yet; modules: Bench Bytes Complex Csv", out)
        self.assertEqual(err, "error: nothing is named `nothing`\nerror: nothing is named `Nope.x`\n")

    def test_places_and_comments_of_files(self):
        write("lib.atl", "# What is doubled.\n\n# Twice x.\nlet double x =\n  2 * x\n\n# Half of it.\nlet half x = x / 2\n")
        out, err = self.prompt('import "lib.atl" as L\n:info L.double\n:source L.double\n:info L\n:browse L\n')
        self.assertEqual((out, err), ("value L.double : num 'a => 'a -> 'a\nTwice x.\ndefined in lib.atl, line 4\n# lib.atl, line 4\nlet double x =\n  2 * x\n"
                                      "module L\nWhat is doubled.\ndefined in lib.atl\nL.double : num 'a => 'a -> 'a\nL.half : " + out.rsplit("L.half : ", 1)[1], ""))

    def test_search(self):
        out, err = self.prompt("let twice_two = 4\n:search twice\n:search Str.jo\n:search float[] -> float\n:search ('a -> 'b) -> 'a list -> 'b list\n:search qqqq\n"
                               ":search float ->\n:search\n")
        lines = out.splitlines()
        self.assertEqual(lines[1], "twice_two : int")
        self.assertRegex(lines[2], r"^Str\.join : ")
        self.assertIn("mean : float[] -> float", lines)
        self.assertIn("sum : num 'a => 'a[] -> 'a", lines)
        self.assertLess(lines.index("mean : float[] -> float"), lines.index("sum : num 'a => 'a[] -> 'a"))
        self.assertIn("List.map : ('a -> 'b) -> 'a list -> 'b list", lines)
        self.assertNotRegex(out, r"(?m)^(fail|zeros|iota) :")
        self.assertIn("nothing was found", lines)
        self.assertIn("a word or a type is missing", out)
        self.assertIn("expected a type", err)

    def test_search_of_modules_and_documentation(self):
        out, err = self.prompt(":search ode\n:search LBFGS\n:search eigenvalue\n")
        lines = out.splitlines()
        self.assertEqual((lines[0], err), ("module Ode", ""))
        self.assertTrue(any(line.startswith("Optim.lbfgs : ") for line in lines))
        self.assertTrue(any(line.startswith("Linalg.eigh : ") for line in lines))

    def test_documentation_of_modules_and_types(self):
        out, err = self.prompt(":help Ode\n:doc Ode.options\n:browse Plot\n")
        self.assertEqual(err, "")
        self.assertIn("module Ode\nInitial value problems", out)
        self.assertIn("\n`:browse Ode` lists its names\ntype Ode.options\nWhat the adaptive solvers are told.", out)
        self.assertIn("\ntype options = {rtol : float", out)
        self.assertIn("\nPlot.Line : ", out)
        self.assertNotIn("Plot.Boxes", out)  # of a type that is private

    def test_undo(self):
        write("effect.txt", "")
        self.transcript(
            (":undo", "there is nothing to take back\n"),
            ("let a = 1", "a : int = 1\n"),
            ("let f x = x + a", "f : int -> int = <fun>\n"),
            ("type t = A | B", ""),
            ('let a = append_file "effect.txt" "x"; 20', "a : int = 20\n"),
            (":undo", "taken back: `a`\n"),
            ("print (a, f 1)", "(1, 2)\n"),
            ("let a = 1 / 0", ""),
            (":undo", "taken back: `t`, `A` and `B`\n"),
            (":undo", "taken back: `f`\n"),
            ("open List", ""),
            ("print (length (1 :: Nil))", "1\n"),
            (":undo", "taken back\n"),
            ("let b = a", "b : int = 1\n"),
            (":clear all", ""),
            (":undo", "there is nothing to take back\n"),
            ("a", ""),
            err=None)
        self.assertEqual(read("effect.txt"), "x")

    def test_saved_session_is_a_program(self):
        write("part.atl", "let three = 3\n")
        out, _ = self.prompt("let a = 1\nlet b = true + 1\n:load part.atl\nlet c = a + three\nlet d = 5\n:undo\nprint c\n:save saved.atl\n:save\n")
        self.assertEqual(out, "a : int = 1\nthree : int = 3\nc : int = 4\nd : int = 5\ntaken back: `d`\n4\n4 entries written to saved.atl\n"
                              "the path of a file is missing: `:save FILE`\n")
        r = subprocess.run([EXE, "saved.atl"], capture_output=True, text=True, cwd=TMP.name, env=ENV, timeout=60, check=False)
        self.assertEqual((r.stdout, r.stderr), ("4\n", ""))

    def test_a_file_that_cannot_be_saved(self):
        """No part of it is left, and what was there stays."""
        write("old.atl", "old\n")
        os.mkdir(path("locked"))
        out, _ = self.prompt("let a = 1\n:save nowhere/x.atl\n:save .\n:save /dev/full\na\n")
        self.assertEqual(out.count("can't write `"), 3)
        self.assertIn("int = 1", out.splitlines()[-1])
        limit = f"ulimit -f 0; printf 'let a = 1\\n:save old.atl\\n:save new.atl\\na\\n' | {EXE} repl | cat"
        r = subprocess.run(["bash", "-c", limit], capture_output=True, text=True, cwd=TMP.name, env=ENV, timeout=60, check=False)
        self.assertEqual(r.stdout.count("can't write `"), 2, r.stderr)
        self.assertIn("int = 1", r.stdout.splitlines()[-2])
        self.assertEqual(read("old.atl"), "old\n")
        self.assertEqual([n for n in os.listdir(TMP.name) if n.startswith(("new.atl", "old.atl"))], ["old.atl"])

    def test_load_and_reload(self):
        write("count.atl", 'print "loaded"\nlet n = 1\n')
        self.transcript((":reload", "nothing was loaded or imported\n"), (':load "count.atl"', "loaded\nn : int = 1\n"), (":reload", "loaded\nn : int = 1\n"),
                        (":load", "the path of a file is missing: `:load FILE`\n"), (":load nowhere.atl", ""),
                        err="error: can't read `nowhere.atl`: No such file or directory\n")

    def test_edited_files_and_what_used_them(self):
        write("unit.atl", "let one = 1\n")
        out, err = self.prompt('import "unit.atl" as U\nlet f x = x + U.one\nlet y = f 1\nlet other = 5\nwrite_file "unit.atl" "let one = 100"\n:reload\nf 1\nother\n'
                               'let f x = x + U.one\nlet y = f 1\nf 1\ny + 1\n')
        self.assertEqual([line.split(" = ")[-1] for line in out.splitlines() if ": int = " in line], ["2", "5", "2", "5", "101", "101", "102"])
        self.assertEqual(err, "warning: still as before the file was edited: `f` and `y`; evaluate the definitions again\n"
                              "warning: made with a file that was edited since: `f`; evaluate the definition again\n")

    def test_edit(self):
        before = self.drafts()
        editor = write("editor.sh", "#!/bin/sh\nsed -i 's/41/42/' \"$1\"\n")
        os.chmod(path(editor), 0o755)
        out, err = self.prompt("let a = 41\n:edit\na\n", EDITOR=path(editor))
        self.assertEqual((out.splitlines()[:2], err), (["a : int = 41", "a : int = 42"], ""))
        write("whole.atl", "let b = 41\n")
        out, _ = self.prompt(":edit whole.atl\n", VISUAL=path(editor), EDITOR="false")
        self.assertEqual(out, "b : int = 42\n")
        out, _ = self.prompt("let a = 41\n:edit\na\n", EDITOR="false")
        self.assertIn("the editor `false` failed", out)
        self.assertEqual(self.drafts(), before)

    @staticmethod
    def drafts():
        return {n for n in os.listdir(TMP.name) if re.match(r"atled-.{6}\.atl$", n)}

    def test_times(self):
        out, err = self.prompt(":time 1 + 2\n:bench sum [ float i | i < 100 ]\n:bench [1][2]\n:bench\n:time\n:jit\n:jit off\n:jit\n:bench 1 + 1\n:jit sometimes\n")
        lines = out.splitlines()
        self.assertIn("int = 3", lines[0])
        self.assertRegex(lines[1], r"^time: \S+ [nµm]?s$")
        self.assertRegex(lines[2], r"^\S+ [nµm]?s ± \S+ [nµm]?s \(best \S+ [nµm]?s, \d+ runs\)$")
        self.assertEqual(lines[3:7], ["an expression is missing: `:bench EXPR`", "an expression is missing: `:time EXPR`", "auto", "off"])
        self.assertRegex(lines[7], r"runs\)$")
        self.assertEqual(lines[8], "`:jit` takes off, auto or always, not `sometimes`")
        self.assertIn("index 2 is out of bounds", err)

    def test_stages(self):
        out, err = self.prompt("let f x = sin x * x\n:ir f\n:ir --parsed f 1.0\n:ir --stage=typed 1\n:ir --built grad f 1.0\n:ir --odd f\n:ir\n")
        self.assertIn("sin", out.split("(do", 1)[0])
        self.assertIn("(do", out)
        self.assertIn("no stage `odd`", out)
        self.assertIn("an expression is missing: `:ir [--STAGE] EXPR`", out)
        self.assertEqual(err, "")

    def test_gradients_as_source(self):
        self.transcript(("let cube (x : float) = x * x * x", "cube : float -> float = <fun>\n"),
                        (":grad cube", "let grad_cube (x : float) : float = x * x * 3.0\n"),
                        (":grad fun (a, b) -> a * b", "let gradient ((a, b) : float * float) : float * float = (b, a)\n"),
                        (":grad", "a function is missing: `:grad FUNCTION`\n"))
        _, err = self.prompt(":grad fun x -> x * (Random.uniform (Random.key (int x)) 1)[0]\n:grad nobody\n:grad length\n")
        self.assertIn("can't be written as source: it calls the private primitive `random_bits`", err)
        self.assertIn("there is no `nobody`", err)

    def test_explanations(self):
        out, _ = self.prompt(":explain\n1 + true\n:explain\n[1][4]\n:explain\n:explain division\n:explain infinite-type\n:explain qqqq\n")
        self.assertTrue(out.startswith("there was no error yet"))
        self.assertIn("Code: `type-mismatch`.", out)
        self.assertIn("Code: `index`.", out)
        self.assertIn("Code: `division`.", out)
        self.assertIn("Code: `infinite-type`.", out)
        self.assertIn("nothing is explained under `qqqq`", out)
        r = subprocess.run([EXE, "explain", "index"], capture_output=True, text=True, timeout=60, env=ENV, check=False)
        self.assertRegex(r.stdout, r"(?m)^wrong:\n    .*\n(.*\n)*mended:$")
        self.assertEqual(subprocess.run([EXE, "explain", "qqqq"], capture_output=True, timeout=60, env=ENV, check=False).returncode, 2)

    def test_settings(self):
        self.transcript((":set digits 3", ""), (":set digits", "digits    3     significant digits of floats in arrays and tables; 17: all\n"), (":set color off", ""),
                        (":set colour maybe", "`color` is off|on, not `maybe`\n"), (":set digits many", "`digits` is a number, 0 or more, not `many`\n"),
                        (":set nothing", "no setting `nothing`; `:set` lists them\n"))
        out, _ = self.prompt(":set\n")
        self.assertEqual([line.split()[0] for line in out.splitlines() if line[0] != " "], ["digits", "width", "height", "color", "progress"])

    def test_help_and_short_names(self):
        out, err = self.prompt(":help quit\n:help digits\n:help sin\n:help nothing\n:se digits\n:s\n:nonsense\n:\n:re\n:q\n1\n")
        self.assertIn("  :quit", out)
        self.assertIn("  :set digits NUMBER", out)
        self.assertIn("sin : float -> float", out)
        self.assertIn("nothing is named `nothing`", err)
        self.assertIn("no command `:nonsense`", out)
        self.assertIn("no command `:`", out)
        self.assertNotIn("int = 1", out)

    def test_init_file(self):
        good, bad = write("init.atl", "let from_init = 5\n"), write("bad.atl", "let x = 1 + true\n")
        self.assertIn("int = 6", self.prompt("from_init + 1\n:undo\nfrom_init\n", ATLED_INIT=good)[0])
        self.assertIn("there is no `from_init`", self.prompt("from_init\n", "--no-init", ATLED_INIT=good)[1])
        for file, why in ((bad, "bad.atl:1:13: error"), ("nowhere.atl", "can't read `nowhere.atl`")):
            out, err = self.prompt("1 + 1\n", ATLED_INIT=file)
            self.assertIn("int = 2", out)
            self.assertIn(why, err)
            self.assertIn(f"the init file `{file}` isn't in effect", err)
        os.makedirs(path("config/atled"), exist_ok=True)
        write("config/atled/init.atl", 'print "from the folder"\n')
        env = {**ENV, "XDG_CONFIG_HOME": path("config")}
        del env["ATLED_INIT"]
        r = subprocess.run([EXE, "repl"], input="", capture_output=True, text=True, timeout=60, env=env, cwd=TMP.name, check=False)
        self.assertEqual((r.stdout, r.stderr), ("from the folder\n∇ \n", ""))

    def test_closed_pipe(self):
        r = subprocess.run(["bash", "-c", f"(echo ':browse'; yes ':help') | {EXE} repl | head -1; echo ${{PIPESTATUS[1]}}"], capture_output=True, text=True, timeout=60,
                           env=ENV, cwd=TMP.name, check=False)
        self.assertEqual(r.stdout.splitlines()[1:], ["141"])


class Terminal(unittest.TestCase):
    def start(self, *args, ready=":help", **env):
        try:
            self.pid, self.fd = pty.fork()
        except OSError:  # a bare chroot without /dev/pts
            self.skipTest("this machine has no pseudo-terminals")
        if self.pid == 0:
            os.chdir(TMP.name)
            os.execve(EXE, [EXE, *args], {**ENV, **env})
        self.seen = ""
        self.addCleanup(self.stop, self.pid, self.fd)
        if ready:
            self.expect(ready)

    @staticmethod
    def stop(pid, fd):
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):  # it has ended, and ends_by has seen that
            pass
        os.close(fd)

    def expect(self, pattern, seconds=60):
        end = time.time() + seconds
        while not (m := re.search(pattern, self.seen)):
            if time.time() > end or not select.select([self.fd], [], [], end - time.time())[0]:
                self.fail(f"{pattern!r} didn't come; what came is {self.seen!r}")
            self.seen += os.read(self.fd, 4096).decode("utf-8", "replace")
        self.seen = self.seen[m.end():]

    def send(self, text):
        os.write(self.fd, text.encode())

    def ends_by(self, number, seconds=20):
        end = time.time() + seconds
        while time.time() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.assertEqual(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, number)
                return
            time.sleep(0.02)
        self.fail("the process goes on")

    def test_interrupts(self):
        """Of what is typed, an evaluation, a benchmark, a stage, a file, an editor: the session goes on, with what it had."""
        write("long.atl", ENDLESS + "let y = f 1\n")
        self.start(EDITOR="sleep 0.5; true")
        self.send("let kept = 8\n")
        self.expect("kept : int = 8")
        self.send(ENDLESS)
        self.expect("f : .*<fun>")
        for entry in ("f 1", ":time f 1", ":bench f 1", ":load long.atl"):
            self.send(entry + "\n")
            self.expect(r"running … \d+ s")
            self.send("\x03")
            self.expect("interrupted")
        self.send("let x = (")
        self.expect(r"x = \(")
        self.send("\x03")
        self.send("\nkept + 1\n")
        self.expect("int = 9")
        self.send(":edit\n")
        time.sleep(0.2)
        self.send("\x03")
        self.send("\nkept + 2\n")
        self.expect("int = 10")

    def test_progress(self):
        """A line after a second, erased at the end; none where the user wants none."""
        self.start()
        self.send(ENDLESS)
        self.expect("f : .*<fun>")
        self.send("f 1\n")
        self.expect(r"\r\x1b\[Krunning … \d+ s")
        self.expect(r"\r\x1b\[Krunning … \d+ s")
        self.send("\x03")
        self.expect(r"\r\x1b\[K[^∇]*interrupted")
        self.send(":set progress off\nf 1\n")
        time.sleep(2)
        self.send("\x03")
        self.expect("interrupted")
        self.assertNotIn("running", self.seen)

    def test_signals_end_what_was_started(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            mark = f"31{number}.5"
            self.start(EDITOR=f"sleep {mark} #")
            self.send(":edit\n")
            while not self.running(f"sleep {mark}"):
                time.sleep(0.05)
            os.kill(self.pid, number)
            self.ends_by(number)
            end = time.time() + 20
            while self.running(f"sleep {mark}") and time.time() < end:
                time.sleep(0.05)
            self.assertFalse(self.running(f"sleep {mark}"))

    @staticmethod
    def running(command):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if f.read().replace(b"\0", b" ").strip() == command.encode():
                        return True
            except OSError:
                continue
        return False

    def test_watch(self):
        write("watched_part.atl", "let n = 1\n")
        write("watched.atl", 'import "watched_part.atl" as P\nprint $"n is {P.n}"\n')
        self.start("--watch", "watched.atl", ready=None)
        self.expect("n is 1")
        self.expect("ended with status 0")
        write("watched_part.atl", "let n = 20 +\n")
        self.expect("watched_part.atl was changed")
        self.expect("ended with status 65")
        write("watched_part.atl", "let n = 300\n")
        self.expect("n is 300")
        write("watched.atl", ENDLESS + 'print "begun"\nf 1\n')
        self.expect("begun")
        write("watched.atl", 'print "other"\n')
        self.expect("other")
        self.expect("ended with status 0")
        self.send("\x03")
        self.ends_by(0)


class Compilers(unittest.TestCase):
    def test_signals_end_compilers(self):
        """What is compiled in the background isn't finished after a signal."""
        folder = path("ended")
        steps = "".join(f"    let y = if y > {k}.0 then y * cos (y + x) else exp (0.0 - y * y) + y / {k + 2}.0 in\n" for k in range(400))
        write("hot.atl", f"let f x =\n  let mut s = x in\n  while s < 1e9 do\n    let y = s in\n{steps}    s <- s + y * 1e-9\n  done;\n  s\nprint (f 0.5)\n")
        p = subprocess.Popen([EXE, "hot.atl"], cwd=TMP.name, env=dict(ENV, ATLED_CACHE=folder), stdout=subprocess.DEVNULL)
        new = os.path.join(folder, "new")
        end = time.time() + 60
        while (not os.path.isdir(new) or not os.listdir(new)) and time.time() < end:
            time.sleep(0.01)
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(timeout=60), -signal.SIGTERM)
        time.sleep(1)
        left, end = None, time.time() + 10
        while left != [] and time.time() < end:
            left = [pid for pid in filter(str.isdigit, os.listdir("/proc")) if folder.encode() in self.environ(pid)]
            time.sleep(0.1)
        self.assertEqual(left, [])

    @staticmethod
    def environ(pid):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                return f.read()
        except OSError:
            return b""


unittest.main()
