#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line: options, exit statuses, where output goes.

usage: test_cli.py EXE"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

EXE = os.path.abspath(sys.argv.pop(1))
TMP = tempfile.TemporaryDirectory()


def atled(*args, **kw):
    env = dict(os.environ, XDG_CACHE_HOME=TMP.name, ATLED_CACHE=TMP.name, **kw.pop("env", {}))
    return subprocess.run([EXE, *args], capture_output=True, text=True, timeout=60, cwd=TMP.name, env=env, **kw)


def script(text, name="script.atl"):
    with open(os.path.join(TMP.name, name), "w", encoding="utf-8") as f:
        f.write(text)
    return name


class CommandLine(unittest.TestCase):
    def same(self, r, status, out=None, err=None):
        self.assertEqual(r.returncode, status, r.stderr)
        if out is not None:
            self.assertEqual(r.stdout, out)
        if err is not None:
            self.assertIn(err, r.stderr)

    def test_expression(self):
        self.same(atled("-e", "1 + 2"), 0, "3\n")
        self.same(atled("-e", "grad (fun x -> x * x) 3.0"), 0, "6.0\n")

    def test_unit_expression_prints_nothing_more(self):
        self.same(atled("-e", 'print "a"'), 0, "a\n")

    def test_file_and_arguments(self):
        self.same(atled(script("print (Str.join \"|\" args)\n"), "a", "-b", "--jit=off"), 0, "a|-b|--jit=off\n")

    def test_standard_input(self):
        self.same(atled("-", input="print 5\n"), 0, "5\n")

    def test_shebang(self):
        self.same(atled(script("#!/usr/bin/env atled\nprint 1\n")), 0, "1\n")

    def test_help_and_version(self):
        self.assertIn("usage", atled("--help").stdout)
        self.assertRegex(atled("--version").stdout, r"^atled \d+\.\d+\.\d+\n$")

    def test_wrong_command_lines(self):
        for args in (["--nonsense", "x.atl"], ["--jit=maybe", "-e", "1"], ["test"], ["ir", "--stage=odd", "x.atl"]):
            self.same(atled(*args), 2, "", "usage")

    def test_missing_file(self):
        self.same(atled("nowhere.atl"), 66, "", "nowhere.atl")

    def test_compile_error(self):
        self.same(atled(script("let x = 1 + \"a\"\n", "bad.atl")), 65, "", "bad.atl:1")

    def test_run_time_error_after_output(self):
        self.same(atled(script("print 1\nlet f i = [1, 2][i]\nprint (f 5)\n", "late.atl")), 70, "1\n", "late.atl:2")

    def test_no_colour_in_pipes(self):
        self.assertNotIn("\x1b", atled("-e", "1 + true").stderr)

    def test_modes_from_the_environment(self):
        self.same(atled("-e", "1 + 2", env={"ATLED_JIT": "off"}), 0, "3\n")
        self.same(atled("-e", "1 + 2", env={"ATLED_JIT": "always"}), 0, "3\n")

    def test_tests(self):
        good = script('let f x = x + 1\ntest "one" = f 1 = 2\n', "good.atl")
        self.same(atled("test", good), 0, "1 passed, 0 failed\n")
        bad = script('test "wrong" = 1 = 2\ntest "fails" = fail "no"\ntest "right" = true\n', "tests.atl")
        r = atled("test", good, bad)
        self.same(r, 1)
        self.assertIn('tests.atl:1: "wrong"', r.stdout)
        self.assertIn("2 passed, 2 failed", r.stdout)

    def test_tests_are_not_run_by_running(self):
        self.same(atled(script('test "x" = fail "no"\nprint 1\n')), 0, "1\n")

    def test_check(self):
        self.same(atled("check", script("print 1\n")), 0, "")
        r = atled("check", "--json", script("let x = y\nlet z = w\n", "two.atl"))
        self.same(r, 65)
        found = [json.loads(line) for line in r.stdout.splitlines()]
        self.assertEqual([(d["file"], d["line"], d["severity"]) for d in found],
                         [("two.atl", 1, "error"), ("two.atl", 2, "error")])

    def test_json_is_json(self):
        """Bytes that are no UTF-8, in the source and in a file's name; quotes; what can't be read."""
        odd = os.path.join(TMP.name.encode(), b"caf\xe9\".atl")
        with open(odd, "wb") as f:
            f.write(b'let s = "caf\xe9" + "\\"q\t\\n\0"\n')
        r = subprocess.run([EXE, "check", "--json", odd, "nowhere.atl", TMP.name, script("let ∂ = \"é\" + 1\n")], capture_output=True,
                           timeout=60, cwd=TMP.name)
        found = [json.loads(line) for line in r.stdout.decode("utf-8").splitlines()]
        self.assertEqual((r.returncode, r.stderr), (66, b""))
        self.assertEqual({d["file"].rsplit("/", 1)[-1] for d in found[:-3]}, {'caf\ufffd".atl'})
        self.assertEqual([(d["file"], d["kind"]) for d in found[-3:-1]], [("nowhere.atl", "no-input"), (TMP.name, "no-input")])
        self.assertIn("directory", found[-2]["message"])

    def test_stages(self):
        path = script("let f x = x * x + sin x\nprint (grad f 2.0)\n")
        for stage in ("parsed", "typed", "built", "optimised", "differentiated", "lowered", "final"):
            r = atled("ir", f"--stage={stage}", path)
            self.same(r, 0)
            self.assertTrue(r.stdout.strip(), stage)
        self.assertIn("digraph", atled("ir", "--stage=built", "--dot", path).stdout)
        self.assertIn("sin", atled("ir", "--stage=built", "--of=f", path).stdout)

    def test_import_is_relative_to_the_importing_file(self):
        os.makedirs(os.path.join(TMP.name, "sub"), exist_ok=True)
        script('import "b.atl" as B\nlet twice x = B.one * 2 * x\n', "sub/a.atl")
        script("let one = 1\n", "sub/b.atl")
        self.same(atled(script('import "sub/a.atl" as A\nprint (A.twice 4)\n')), 0, "8\n")

    def test_import_cycle(self):
        script('import "r.atl" as R\nlet x = 1\n', "q.atl")
        script('import "q.atl" as Q\nlet y = 1\n', "r.atl")
        r = atled(script('import "q.atl" as Q\n', "p.atl"))
        self.same(r, 65, "", "q.atl")
        self.assertIn("r.atl", r.stderr)

    def test_interrupt_ends_a_script(self):
        path = script("let rec f n = if n < 0 then n else f (n + 1 - n % 2)\nprint (f 1)\n")
        p = subprocess.Popen([EXE, path], cwd=TMP.name, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        p.send_signal(2)
        try:
            _, err = p.communicate(timeout=10)
        finally:
            p.kill()
        self.assertEqual(p.returncode, 70)
        self.assertIn("interrupt", err)

    def written_to(self, out, args, **kw):
        env = dict(os.environ, XDG_CACHE_HOME=TMP.name, ATLED_CACHE=TMP.name)
        return subprocess.run([EXE, *args], stdout=out, stderr=subprocess.PIPE, text=True, timeout=60, cwd=TMP.name, env=env, check=False, **kw)

    def test_output_that_cannot_be_written(self):
        long = script("let rec go i = print i; go (i + 1)\ngo 0\n", "endless.atl")
        once = script("print 1\n", "once.atl")
        late = script("print 1\nprint [1][2]\n", "late.atl")
        wrong = script("let x = 1 + true\n", "wrong.atl")
        tests = script('test "one" = true\n', "one.atl")
        commands = [["-e", "1 + 2"], ["--jit=always", long], ["--jit=off", long], [once], [late], ["--version"], ["--help"],
                    ["test", tests], ["check", "--json", wrong], ["ir", "--stage=final", once]]
        for args in commands:
            with self.subTest(args=args), open("/dev/full", "w", encoding="utf-8") as full:
                r = self.written_to(full, args)
                self.assertEqual(r.returncode, 74, r.stderr)
                self.assertEqual(r.stderr.count("can't write the output: No space left on device"), 1)
                self.assertNotIn("interrupted", r.stderr)
            with self.subTest(closed=args):
                r = self.written_to(None, args, preexec_fn=lambda: os.close(1))
                self.assertEqual(r.returncode, 74, r.stderr)
                self.assertIn("can't write the output: Bad file descriptor", r.stderr)
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertIn("index 2", self.written_to(full, [late]).stderr)
            self.assertEqual(self.written_to(full, [], input="1\n2\n").returncode, 74)
            self.assertEqual(self.written_to(full, [script("let x = 1\n", "silent.atl")]).returncode, 0)

    def test_closed_pipe(self):
        long = script("let rec go i = print i; go (i + 1)\ngo 0\n", "endless.atl")
        for restore in (True, False): # SIGPIPE as it was, or ignored
            ends = os.pipe()
            os.close(ends[0])
            r = self.written_to(ends[1], [long], restore_signals=restore)
            os.close(ends[1])
            self.assertEqual(r.returncode, -signal.SIGPIPE)
            self.assertEqual(r.stderr, "")

    def test_interrupt_while_nobody_reads(self):
        long = script("let rec go i = print i; go (i + 1)\ngo 0\n", "endless.atl")
        ends = os.pipe()
        env = dict(os.environ, XDG_CACHE_HOME=TMP.name, ATLED_CACHE=TMP.name)
        p = subprocess.Popen([EXE, long], stdout=ends[1], stderr=subprocess.PIPE, text=True, cwd=TMP.name, env=env)
        time.sleep(1)
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=60)[1]
        os.close(ends[0])
        os.close(ends[1])
        self.assertEqual(p.returncode, 70)
        self.assertIn("interrupted", err)

    def test_effects_before_a_failure_happen(self):
        program = script('let f a = print "first"; let x = a[7] in print "second"; print x\nf [1.0]\n')
        for mode in ("off", "always"):
            r = atled(f"--jit={mode}", program)
            self.same(r, 70, "first\n", "index 7 is out of bounds")

    def test_interrupt_of_a_long_loop(self):
        program = script("let work n = let mut s = 0.0 in for i = 1 to n do s <- s + sin (float i) done; s\n"
                         "let start = time ()\nprint (work 1_000_000_000_000)\n")
        for mode in ("off", "always"):
            p = subprocess.Popen([EXE, f"--jit={mode}", program], cwd=TMP.name, stderr=subprocess.PIPE, text=True)
            time.sleep(1)
            p.send_signal(signal.SIGINT)
            self.assertIn("interrupted", p.communicate(timeout=60)[1])


unittest.main()
