#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line: options, exit statuses, where output goes.

usage: test_cli.py EXE"""
import json
import glob
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

EXE = os.path.abspath(sys.argv.pop(1))
TMP = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def atled(*args, **kw):
    env = {**os.environ, "XDG_CACHE_HOME": TMP.name, "ATLED_CACHE": TMP.name, **kw.pop("env", {})}
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

    def test_flushed_subnormals(self):
        program = "print ([ x * 0.5 | x in [ 1e-300 * 10.0 ** (-(float i)) | i < 9 ] ][8] = 0.0, exp (-740.0 + 0.0 * float (length args)))\n"
        for jit in ("off", "always"):
            self.same(atled("--flush-subnormals", f"--jit={jit}", script(program)), 0, "(true, 0.0)\n")
        self.same(atled(script(program)), 0, "(false, 4.2e-322)\n")
        self.same(atled("--flush-subnormals", "--strict-fp", script(program)), 2, "", "can't flush them")

    def test_traps(self):
        program = "let f x = x / x\nprint (f (float (length args)))\n"
        self.same(atled("--jit=off", script(program)), 0, "nan\n")
        for jit in ("off", "always"):
            self.same(atled("--trap-nan", f"--jit={jit}", script(program)), 70, "", ":1:11: error: `/` of 0.0 and 0.0 yields NaN")
        self.same(atled("--trap-nan=inf", "-e", "1.0 / float (length args)"), 70, "", "`/` of 1.0 and 0.0 yields inf")
        self.same(atled("--trap-nan=zero", "-e", "1.0"), 2, "", "makes no sense with `zero`")

    def test_unit_expression_prints_nothing_more(self):
        self.same(atled("-e", 'print "a"'), 0, "a\n")

    def test_file_and_arguments(self):
        self.same(atled(script("print (Str.join \"|\" args)\n"), "a", "-b", "--jit=off"), 0, "a|-b|--jit=off\n")

    def test_standard_input(self):
        self.same(atled("-", input="print 5\n"), 0, "5\n")
        self.same(atled(input="let x = 5\nprint x\n"), 0, "5\n")
        self.same(atled("--jit=off", input="let x = 1 +\n"), 65, "", "<stdin>:1")

    def test_shebang(self):
        self.same(atled(script("#!/usr/bin/env atled\nprint 1\n")), 0, "1\n")

    def test_help_and_version(self):
        self.assertIn("usage", atled("--help").stdout)
        self.assertRegex(atled("--version").stdout, r"^atled \d+\.\d+\.\d+\n$")

    def test_wrong_command_lines(self):
        for args, why in ((["--nonsense", "x.atl"], "unknown option `--nonsense`"), (["--jit=maybe", "-e", "1"], "auto|off|always"),
                          (["test"], "usage: atled test"), (["ir", "--stage=odd", "x.atl"], "not `odd`"), (["-e"], "lacks its value"),
                          (["test", "--dot", "x.atl"], "an option of `ir`"), (["--time=1", "x.atl"], "takes no value")):
            self.same(atled(*args), 2, "", "usage")
            self.assertIn(why, atled(*args).stderr)
        self.same(atled("--jit", "off", "-e", "1 + 2"), 0, "3\n")
        self.same(atled("check", "--", script("print 1\n", "--odd.atl")), 0, "")

    def test_missing_file(self):
        self.same(atled("nowhere.atl"), 66, "", "nowhere.atl")

    def test_compile_error(self):
        self.same(atled(script("let x = 1 + \"a\"\n", "bad.atl")), 65, "", "bad.atl:1")

    def test_run_time_error_after_output(self):
        self.same(atled(script("print 1\nlet f i = [1, 2][i]\nprint (f 5)\n", "late.atl")), 70, "1\n", "late.atl:2")

    def test_no_colour_in_pipes(self):
        self.assertNotIn("\x1b", atled("-e", "1 + true").stderr)
        self.assertIn("\x1b[1;31merror", atled("--color=always", "-e", "1 + true", env={"NO_COLOR": "1"}).stderr)
        self.assertNotIn("\x1b", atled("--color=never", "-e", "1 + true").stderr)

    def test_modes_from_the_environment(self):
        self.same(atled("-e", "1 + 2", env={"ATLED_JIT": "off"}), 0, "3\n")
        self.same(atled("-e", "1 + 2", env={"ATLED_JIT": "always"}), 0, "3\n")

    def kept(self, **env):
        r = atled("cache", env=env)
        self.same(r, 0, err="")
        return dict(line.split(None, 1) for line in r.stdout.replace(" use", "_use").splitlines())

    def test_cache(self):
        folder = os.path.join(TMP.name, "kept")
        env = {"ATLED_CACHE": folder}
        empty = self.kept(**env)
        self.assertEqual(empty, {"folder": folder, "entries": "0", "bytes": "0", "limit": str(256 << 20)})
        for k in range(3):
            self.same(atled("--jit=always", "-e", f"{k} + 2", env=env), 0, f"{k + 2}\n")
        self.same(atled("--jit=always", "-e", "0 + 2", env=env), 0, "2\n")
        files = [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".so")]
        used = sorted(os.stat(f).st_mtime for f in files)
        now = self.kept(**env)
        self.assertEqual(now, {"folder": folder, "entries": "3", "bytes": str(sum(map(os.path.getsize, files))), "limit": str(256 << 20),
                               "oldest_use": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(used[0])),
                               "newest_use": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(used[-1]))})
        self.assertEqual(self.kept(ATLED_CACHE_SIZE="3M", **env)["limit"], str(3 << 20))
        self.assertIn("makes room", self.kept(ATLED_CACHE_SIZE="1", **env)["limit"])
        self.same(atled("cache", "clear", env=env), 0, "", "")
        self.assertEqual(self.kept(**env), empty)
        self.assertEqual(os.listdir(os.path.join(folder, "new")), [])
        self.same(atled("cache", "clean", env=env), 2, "", "usage")
        self.same(atled("cache", "clear", "all", env=env), 2, "", "usage")

    def compiles(self, processes, out):
        """How many modules the processes had compiled, all of which ended well."""
        total = 0
        for p in processes:
            told, err = p.communicate(timeout=300)
            self.assertEqual((p.returncode, told), (0, out), err)
            total += int(re.search(r"(?m)^compiler +\S+ +(\d+)", err).group(1))
        return total

    def start_timed(self, program, folder, mode="always"):
        return subprocess.Popen([EXE, "--time", f"--jit={mode}", program], cwd=TMP.name, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=dict(os.environ, ATLED_CACHE=folder))

    def test_hundred_processes_on_a_cold_cache(self):
        folder = os.path.join(TMP.name, "hundred")
        program = script("let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)\nprint (fib 20)\n", "hundred.atl")
        self.assertEqual(self.compiles([self.start_timed(program, folder) for _ in range(100)], "6765\n"), 1)
        self.assertEqual(sorted(os.listdir(folder))[1:], ["new", "size"])
        self.assertEqual(os.listdir(os.path.join(folder, "new")), [])
        self.same(atled("cache", "clear", env={"ATLED_CACHE": folder}), 0)
        self.assertLessEqual(self.compiles([self.start_timed(program, folder, "auto") for _ in range(20)], "6765\n"), 1)

    def await_entries(self, folder, n, program, want):
        """Runs the program until there are so many; what comes too late is dropped where it gets too little of the machine."""
        for _ in range(20):
            self.same(atled(program, env={"ATLED_CACHE": folder}), 0, want)
            self.await_helper(folder)
            if len([f for f in os.listdir(folder) if f.endswith(".so")]) >= n:
                break
        self.assertEqual(self.kept(ATLED_CACHE=folder)["entries"], str(n))

    def await_helper(self, folder):
        """Until nothing is compiled for the cache any more; what a process left that was ended goes at the next start."""
        new, end = os.path.join(folder, "new"), time.time() + 60
        while os.path.isdir(new) and os.listdir(new) and time.time() < end:
            time.sleep(0.02)

    def test_hot_code_is_kept_by_fragments(self):
        """What is compiled too late is in the cache nonetheless, with a note of what was hot; an edit elsewhere in the file costs another
        note and another record of the program, and no compile."""
        folder = os.path.join(TMP.name, "hot")
        loop = "let f n =\n  let mut s = 0.0 in\n  for i = 0 to n do\n    s <- s * 0.5 + float (i % 7)\n  done;\n  s\nprint (f 5000000)\n"
        more = 'print "more"\nlet table = [2.5, 3.5]\nlet rec g l = match l with Nil -> 0.0 | x :: rest -> x + g rest\n'
        end = "print (table[0] + g (1.0 :: Nil))\n"
        want = atled("--jit=off", script(loop, "hot.atl")).stdout
        self.await_entries(folder, 3, "hot.atl", want)
        self.await_entries(folder, 5, script(more + loop + end, "warm.atl"), f"more\n{want}3.5\n")
        self.same(atled("warm.atl", env={"ATLED_CACHE": folder}), 0, f"more\n{want}3.5\n")
        self.await_helper(folder)
        self.assertEqual(self.kept(ATLED_CACHE=folder)["entries"], "5")

    def test_killed_while_it_compiles(self):
        """The compiler's process ends with a host that is killed; so do its files, at the next start."""
        folder = os.path.join(TMP.name, "kill")
        steps = "".join(f"    let y = if y > {k}.0 then y * cos (y + x) else exp (0.0 - y * y) + y / {k + 2}.0 in\n" for k in range(150))
        program = script(f"let f x =\n  let mut s = x in\n  while s < 1e9 do\n    let y = s in\n{steps}    s <- s + y * 1e-9\n  done;\n  s\nprint (f 0.5)\n")
        p = subprocess.Popen([EXE, program], cwd=TMP.name, env=dict(os.environ, ATLED_CACHE=folder))
        new = os.path.join(folder, "new")
        while not os.path.isdir(new) or not os.listdir(new):
            time.sleep(0.001)
        p.kill()
        p.communicate()
        mine, end = None, time.time() + 60 # a second at most, where there is nothing else to do
        while mine != [] and time.time() < end:
            mine = [c for c in glob.glob("/proc/[0-9]*/environ") if folder.encode() in self.bytes_of(c)]
        self.assertEqual(mine, [])
        self.same(atled("--jit=always", "-e", "1 + 2", env={"ATLED_CACHE": folder}), 0, "3\n")
        self.assertEqual(os.listdir(new), [])

    @staticmethod
    def bytes_of(path):
        try:
            with open(path, "rb") as f:
                return f.read()
        except OSError:
            return b""

    def test_times_of_fragments(self):
        """In mode auto what is hot comes to run as machine code, at the latest when it is in the cache."""
        folder = os.path.join(TMP.name, "fragments")
        program = script("let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)\nprint (fib (31 + length args))\n", "fragments.atl")
        for _ in range(20):
            out, table = self.times(program, ATLED_CACHE=folder)
            self.assertEqual(out, "1346269\n")
            self.assertGreater(table["evaluate"][0], 0)
            if table["run"][0] > 0:
                break
            time.sleep(0.5)
        self.assertGreater(table["run"][0], 0)

    def test_next_process_takes_over(self):
        """Whoever compiles is killed: another one that waits for it does it, and the rest wait on."""
        for size in (150, 600, 2400):  # until it is killed before it is done, on any machine
            folder = os.path.join(TMP.name, f"killed{size}")
            steps = "".join(f"  let y = if y > {k}.0 then y * cos (y + x) else exp (0.0 - y * y) + y / {k + 2}.0 in\n" for k in range(size))
            program = script(f"let f x =\n  let y = x in\n{steps}  y\nprint (f 0.5 + f 0.25 < 20.0)\n", "takeover.atl")
            first = self.start_timed(program, folder)
            while not os.path.isdir(os.path.join(folder, "new")) or not os.listdir(os.path.join(folder, "new")):
                time.sleep(0.001)
            others = [self.start_timed(program, folder) for _ in range(4)]
            time.sleep(0.2)
            done = any(name.endswith(".so") for name in os.listdir(folder))
            first.kill()
            first.communicate()
            compiled = self.compiles(others, "true\n")
            if not done:
                break
        self.assertEqual(compiled, 1 if first.returncode else 0)
        self.assertEqual(os.listdir(os.path.join(folder, "new")), [])

    def test_no_cache(self):
        folder = os.path.join(TMP.name, "none")
        for off in ({"ATLED_CACHE": ""}, {"ATLED_CACHE": folder, "ATLED_CACHE_SIZE": "0"}):
            r = atled("--jit=always", "-e", "1 + 2", env=off)
            self.assertEqual((r.returncode, r.stdout, r.stderr), (0, "3\n", ""))
            self.same(atled("cache", env=off), 0, "machine code isn't kept\n")
        self.assertFalse(os.path.exists(folder))

    def test_cache_that_others_can_write(self):
        folder = os.path.join(TMP.name, "open")
        os.mkdir(folder)
        os.chmod(folder, 0o755)
        twice = script("print (1 + 2)\nprint (2 + 2)\n")
        for args, warnings in ((["--jit=always", twice], 1), (["--jit=off", twice], 0), ([twice], 0)):
            r = atled(*args, env={"ATLED_CACHE": folder})
            self.same(r, 0, "3\n4\n")
            self.assertEqual(r.stderr.count(f"warning: machine code isn't kept for the next run: others can get into the folder {folder}"), warnings)
        r = atled("test", "--jit=always", script('test "a" = 1 = 1\ntest "b" = 2 = 2\n'), env={"ATLED_CACHE": folder})
        self.assertEqual(r.stderr.count("warning"), 1)
        r = atled("repl", "--jit=always", input="1 + 2\n3 + 4\n5 + 6\n", env={"ATLED_CACHE": folder}) # the prompt
        self.assertEqual((r.stderr.count("warning"), r.stdout.count("int")), (1, 3))
        self.same(atled("cache", env={"ATLED_CACHE": folder}), 0, None, "")
        self.assertIn("others can get into", atled("cache", env={"ATLED_CACHE": folder}).stdout)
        self.assertEqual(os.listdir(folder), [])

    def test_settings_that_make_no_sense(self):
        for name, values in (("ATLED_JIT", ["foo", "Off", "alway"]), ("ATLED_STRICT_FP", ["yes", "2"]), ("ATLED_OPT", ["4", "-1", "O2"]),
                             ("ATLED_CACHE_SIZE", ["-1", "1.5G", "10T", "M", "99999999999999999999", "9999999999999G", "10MB", "x"]),
                             ("ATLED_DUMP_JIT", ["/nowhere", "/etc/hostname"]), ("ATLED_COMPILER", ["/nowhere", "/etc/passwd"])):
            for value in values:
                r = atled("-e", "1 + 2", env={name: value})
                self.same(r, 0, "3\n")
                self.assertTrue(r.stderr.startswith(f"warning: the environment variable {name} is `{value}`, which is ignored: "), r.stderr)
                self.assertEqual(r.stderr.count("warning"), 1)
        good = {"ATLED_JIT": "auto", "ATLED_STRICT_FP": "0", "ATLED_OPT": "0", "ATLED_CACHE_SIZE": "100K", "ATLED_DUMP_JIT": TMP.name}
        for env in (good, dict.fromkeys(good, "")):
            self.assertEqual(atled("-e", "1 + 2", env=env).stderr, "")
        self.assertEqual(atled("repl", input="1\n2\n", env={"ATLED_JIT": "foo"}).stderr.count("warning"), 1)
        self.assertEqual(atled("repl", input="let f x =\n  x\n\nf 2\n", env={"ATLED_JIT": "foo"}).stderr.count("warning"), 1)

    def times(self, *args, **env):
        """Of each row of the table: seconds, count, MB."""
        r = atled("--time", *args, env={"ATLED_CACHE": "", **env})
        self.assertEqual(r.returncode, 0, r.stderr)
        head, *rows = r.stderr.splitlines()
        self.assertEqual(head.split(), ["phase", "seconds", "count", "memory"])
        heads = [k for k, row in enumerate(rows) if row.split() == ["optimise", "seconds", "count"]] + [len(rows)]
        for row in rows[heads[0] + 1:]:
            self.assertRegex(row, r"^[a-z_]+(\.\d)? +\d+\.\d{6} +\d+$")
        rows = rows[:heads[0]]
        for row in rows:
            self.assertRegex(row, r"^\w+ +\d+\.\d{6} +\d+ +\d+\.\d MB(  \(CPU time of its process\))?$")
        names = ["read", "parse", "check", "elaborate", "optimise", "differentiate", "lower", "evaluate", "load", "compile", "run", "other",
                 "total", "compiler"]
        self.assertEqual([row.split()[0] for row in rows], names)
        table = {row.split()[0]: (float(row.split()[1]), int(row.split()[2]), float(row.split()[3])) for row in rows}
        self.assertAlmostEqual(sum(table[n][0] for n in names[:-2]), table["total"][0], delta=1e-5)
        self.assertEqual(sum(table[n][1] for n in names[:-2]), table["total"][1])
        self.assertEqual(max(table[n][2] for n in names[:-2]), table["total"][2])
        return r.stdout, table

    def test_times(self):
        script("let g x = sin x * x\n", "imported.atl")
        program = script('import "imported.atl" as I\nlet a = [ float i | i < 200000 ]\nprint (length (grad (fun x -> sum [ I.g y | y in x ]) a))\n')
        front = {"read", "parse", "check", "elaborate", "optimise", "differentiate", "lower", "other"}
        for mode, back, never in (("off", {"evaluate"}, {"load", "compile", "run", "compiler"}),
                                  ("always", {"load", "compile", "run", "compiler"}, {"evaluate"})):
            out, table = self.times(f"--jit={mode}", program)
            self.assertEqual(out, "200000\n")
            for name in front | back:
                self.assertTrue(table[name][0] > 0 or name == "load", name) # there is no folder to look at
                self.assertGreater(table[name][1], 0, name)
            for name in never:
                self.assertEqual(table[name], (0, 0, 0), name)
            self.assertEqual((table["read"][1], table["lower"][1], table["differentiate"][1]), (2, 1, 1))
            self.assertGreater(table["run" if mode == "always" else "evaluate"][2], 1.6)
        self.assertEqual((table["compile"][1], table["compiler"][1]), (1, 1))
        self.assertGreater(table["compiler"][2], 10)
        self.assertEqual(self.times("-e", "1 + 2")[0], "3\n")
        r = atled("repl", "--time", input="1 + 2\n3 + 4\n")
        self.assertEqual((r.stdout.count("int"), r.stderr.count("phase")), (2, 1))
        r = atled("--time", script("print [1][2]\n"))
        self.same(r, 70, "", "total")
        self.assertLess(r.stderr.index("out of bounds"), r.stderr.index("phase"))

    def test_times_of_code_from_the_cache(self):
        env = {"ATLED_CACHE": os.path.join(TMP.name, "warm")}
        self.assertEqual(self.times("--jit=always", "-e", "11 + 2", **env)[1]["compile"][1], 1)
        table = self.times("--jit=always", "-e", "11 + 2", **env)[1]
        self.assertEqual((table["load"][1], table["compile"][1], table["run"][1], table["compiler"][1]), (1, 0, 1, 0))

    def test_tests(self):
        good = script('let f x = x + 1\ntest "one" = f 1 = 2\n', "good.atl")
        self.same(atled("test", good), 0, "1 passed, 0 failed\n")
        bad = script('test "wrong" = 1 = 2\ntest "fails" = fail "no"\ntest "right" = true\n', "tests.atl")
        r = atled("test", good, bad)
        self.same(r, 1)
        self.assertIn('tests.atl:1: "wrong"', r.stdout)
        self.assertIn("2 passed, 2 failed", r.stdout)
        self.same(atled("test", script('test "no program" = 1 +\n', "wrong.atl")), 65, "")

    def test_benchmarks(self):
        """Machine code is measured unless something else is asked for; what fails is said; a stored run is compared with."""
        path = script('test "no test" = fail "no"\nlet f n = sum [ sqrt (float i) | i < n ]\nbench "f of 10" = f 10\nbench "all of it" = f\n', "bench.atl")
        r = atled("bench", "--save=run.txt", path)
        self.same(r, 0, err="")
        self.assertRegex(r.stdout, r"^f of 10 +\S+ [nµm]s ± \S+ [nµm]?s +\d+ runs\nall of it .*\n$")
        with open(os.path.join(TMP.name, "run.txt"), encoding="utf-8") as f:
            stored = f.read()
        self.assertRegex(stored, r"^(\d\S*\t){3}\d+\tf of 10\n(\d\S*\t){3}\d+\tall of it\n$")
        with open(os.path.join(TMP.name, "run.txt"), "w", encoding="utf-8") as f:
            f.write("1e-12\t0\t0\t5\tall of it\n100\t0\t0\t5\tf of 10\n")
        r = atled("bench", "--jit=off", "--compare=run.txt", path)
        self.assertRegex(r.stdout, r"runs +0\.00 × 100 s, faster\n.* × 0\.001 ns, slower\n$")
        r = atled("bench", script('bench "first" = [1][2]\nbench "second" = 1\n', "bad_bench.atl"))
        self.same(r, 1, err="")
        self.assertIn('FAILED 1: "first": bad_bench.atl:1:21: error: index 2 is out of bounds', r.stdout)
        self.assertIn("second", r.stdout)
        self.same(atled("bench", script("let x = 1 + true\n", "wrong.atl")), 65, "", "wrong.atl:1")
        self.same(atled("bench", "--save=nowhere/run.txt", path), 74, "", "can't write `nowhere/run.txt`")
        self.same(atled("bench", "--compare=nowhere.txt", path), 66, "", "can't read `nowhere.txt`")
        self.same(atled("bench", script("let x = 1\n")), 0, "no benchmarks: an item of one is written bench \"name\" = expression\n")

    def test_both_sides_of_a_test(self):
        """Long sides stand on lines of their own, and are cut."""
        r = atled("test", script('test "long" = [ i | i < 1000 ] = [0]\ntest "none" = [] = [1]\n', "sides.atl"))
        self.same(r, 1)
        self.assertRegex(r.stdout, r'^FAILED sides.atl:1: "long": is false:\n    \[0, 1, 2, .{500,600} …\n  =\n    \[0\]\nFAILED sides.atl:2: "none": is false: \[\] = \[1\]\n')

    def test_interrupt_ends_a_run_of_tests(self):
        path = script('test "a" = let mut n = 0 in while n >= 0 do n <- (n + 1) % 7 done; n = 0\ntest "b" = false\n', "endless.atl")
        p = subprocess.Popen([EXE, "test", path], cwd=TMP.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
        self.assertEqual((p.returncode, out), (70, "0 passed, 0 failed\n"))
        self.assertIn("interrupted", err)

    def test_tests_are_not_run_by_running(self):
        self.same(atled(script('test "x" = fail "no"\nprint 1\n')), 0, "1\n")

    def test_check(self):
        self.same(atled("check", script("print 1\n")), 0, "")
        r = atled("check", "--json", script("let x = y\nlet z = w\n", "two.atl"))
        self.same(r, 65)
        found = [json.loads(line) for line in r.stdout.splitlines()]
        self.assertEqual([(d["file"], d["line"], d["severity"]) for d in found],
                         [("two.atl", 1, "error"), ("two.atl", 2, "error")])
        r = atled("check", script("let spy (x : float) = x\npullback spy x = (x, fun d -> (print d; d))\n"))
        self.same(r, 65, "")
        self.assertIn("2:32: error: the pullback of `spy` has an effect here", r.stderr)

    def test_sandbox(self):
        folder = os.path.join(TMP.name, "boxed")
        os.makedirs(folder, exist_ok=True)
        script("let x = 7\n", "boxed/m.atl")
        use = script("print (read_file \"boxed/m.atl\")\n", "use.atl")
        importing = script("import \"boxed/m.atl\" as M\nprint M.x\n", "importing.atl")
        self.same(atled("--sandbox", "-e", "sin 0.0"), 0, "0.0\n")
        self.same(atled("--sandbox", use), 65, "", "`read_file` needs the right to read files")
        self.same(atled("check", "--sandbox", use), 65, "", "needs the right to read files")
        self.same(atled("--sandbox", importing), 65, "", "`import` needs the right to import files")
        self.same(atled("--sandbox", "-e", "args", "a"), 65, "", "--allow=environment")
        self.same(atled("--allow-read=boxed", use), 0, "let x = 7\n\n")
        self.same(atled("--allow-read", folder, use), 0, "let x = 7\n\n")
        self.same(atled("--allow=read", use), 0, "let x = 7\n\n")
        self.same(atled("--allow-write=boxed", use), 65, "", "needs the right to read files")
        self.same(atled("--allow-read=nowhere", use), 70, "", "granted for other folders only")
        self.same(atled("--allow-import=.", "--sandbox", importing), 0, "7\n")
        self.same(atled("--allow=environment", "--allow=clock", "-e", "(length args, time () > 0.0)", "a"), 0, "(1, true)\n")
        self.same(atled("--allow=everything", "-e", "1"), 2, "", "is one of read|write|import")

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
        for stage in ("parsed", "typed", "built", "optimised", "differentiated", "lowered", "final", "limits", "after:fuse.2"):
            r = atled("ir", f"--stage={stage}", path)
            self.same(r, 0)
            self.assertTrue(r.stdout.strip(), stage)
        self.assertIn("digraph", atled("ir", "--stage=built", "--dot", path).stdout)
        self.assertIn("sin", atled("ir", "--stage=built", "--of=f", path).stdout)

    def test_gradients_as_source(self):
        path = script("let f x = x * x + sin x\nprint (f 2.0)\n")
        self.same(atled("grad", "--of=f", path), 0, "let grad_f (x : float) : float = cos x + x * 2.0\n")
        self.same(atled("grad", path), 2, "", "needs the name of a function")
        self.assertEqual(atled("grad", "--of=g", path).returncode, 65)

    def test_studies(self):
        path = script("let f p = p.a * floor p.b\nlet g (x : float) = x * x\npullback g x = (g x, fun d -> d * x)\n")
        r = atled("why", "--of=f", path)
        self.same(r, 0)
        self.assertIn("x.a: its derivative is cut off nowhere\nx.b: its derivative is zero", r.stdout)
        self.assertEqual(r.stdout, atled("why", "--of=f", "--at={a = 1.0, b = 2.0}", path).stdout)
        self.same(atled("why", path), 2, "", "`why` needs the name of a function")
        self.same(atled("why", "--of=h", path), 65, "", "there is no `h`")
        self.same(atled("why", "--of=f", "--at=1.0", path), 65, "", "expected {a : ")
        self.same(atled("why", "--of=f", path + ".none"), 66, "", "can't read")
        r = atled("cost", "--of=fun (xs : float[]) -> sum [ x * x | x in xs ]", path)
        self.same(r, 0)
        self.assertIn("n = length x\n", r.stdout)
        self.assertRegex(r.stdout, r"\nall +3 n +0 +3 n +8 n +8\n")
        r = atled("cost", "--of=fun xs -> sum [ x * x | x in xs ]", "--at=[ float i | i < 10 ]", path)
        self.assertRegex(r.stdout, r"\nall +30 +0 +30 +80 +8\n")
        self.same(atled("cost", path), 2, "", "`cost` needs the name of a function")
        self.same(atled("cost", "--of=h", path), 65, "", "there is no `h`")
        self.same(atled("cost", "--of=f", "--at=1.0", path), 65, "", "expected {a : ")
        self.assertIn("all 2 derivatives agree", atled("check-grad", "--of=fun p -> p.a * p.b", "--at={a = 1.0, b = 2.0}", path).stdout)
        r = atled("check-grad", "--of=g", "--at=3.0", path)
        self.assertEqual(r.returncode, 1)
        self.assertIn("1 of 1 derivatives are far from differences", r.stdout)
        self.same(atled("check-grad", "--of=g", path), 2, "", "needs an argument")
        self.same(atled("check-grad", "--of=fun x -> assert (x < 0.0); x", "--at=3.0", path), 70, "", "assert")

    def test_runs_of_passes(self):
        path = script("let g v = grad (fun x -> sum [ sin a * a | a in x ]) v\n")
        def ir(*options):
            r = atled("ir", *options)
            self.same(r, 0)
            return r.stdout
        def code(text): # without places: a text doesn't say which are the library's
            return re.sub(r" @\d+|^site .*\n", "", text, flags=re.M)
        final = ir("--of=g", path)
        self.assertEqual(ir("--of=g", "--stage=after:fork_loops", path), final)
        self.assertEqual(ir("--of=g", "--stage=after:contract", path), ir("--of=g", "--stage=optimised", path))
        self.assertNotEqual(ir("--of=g", "--stage=after:simplify.3", path), final)
        for stage in ("built", "optimised", "differentiated", "after:interchange", "after:scalars.2"):
            text = script(ir("--of=g", f"--stage={stage}", path), "g.ir")
            self.assertEqual(code(ir(f"--from={stage}", text)), code(final), stage)
        self.same(atled("ir", "--stage=after:nothing", path), 2, "", "the runs are statics.1, rules.1, simplify.1, statics.2, choose_forks.1,")
        self.same(atled("ir", "--from=built", path), 2, "", "this is no graph's text")

    def test_calls_of_calls_in_a_loop(self):
        """The estimate of a loop's work must not follow each of 6^8 calls. Functions are too large to be inlined."""
        own = " + ".join(f"sin (x * {k}.5) * cos (y + {k}.25)" for k in range(60))
        text = f"let f0 (x : float) (y : float) : float = {own}\n"
        for i in range(1, 9):
            calls = " + ".join(f"f{i - 1} (x + {k}.0) y" for k in range(6))
            text += f"let f{i} (x : float) (y : float) : float = {calls} + {own}\n"
        path = script(text + "print (sum (map (fun x -> f8 x 1.0) [ float i | i < Bench.opaque 0 ]))\n")
        began = time.monotonic()
        self.same(atled("--jit=off", path), 0, "0.0\n")
        self.assertLess(time.monotonic() - began, 5)

    def test_remarks(self):
        path = script("let f x =\n  let mut s = 1.0 in\n  (for i = 0 to length x - 1 do s <- sin (s * x[i]) done;\n  s)\n"
                      "let g v = grad f v\n"
                      "let h x = sum [ (if v > 0.0 then v else fail \"h\") | v in map (fun v -> if v < 9.0 then v else fail \"map\") x ]\n")
        self.same(atled("ir", "--stage=remarks", "--of=g", path), 0,
                  f"{path}:3:4: backward: taped: an iteration needs what the one before it has made\n")
        self.assertIn("fuse: not fused with the loop that makes its array: both may fail", atled("ir", "--stage=remarks", "--of=h", path).stdout)

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

    def test_interrupt_while_a_script_is_compiled(self):
        path = script("let f x = sin (x * x) * exp (cos x)\nprint (" + "grad (" * 9 + "f" + ")" * 9 + " 0.5)\n")
        p = subprocess.Popen([EXE, path], cwd=TMP.name, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        time.sleep(1)
        self.assertIsNone(p.poll())
        p.send_signal(2)
        try:
            out, err = p.communicate(timeout=10)
        finally:
            p.kill()
        self.assertEqual((p.returncode, out, err), (70, "", "error: interrupted\n"))

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
            self.assertEqual(self.written_to(full, ["repl"], input="1\n2\n").returncode, 74)
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

    def test_ending_signals_lose_nothing(self):
        started = os.path.join(TMP.name, "started")
        endless = script(f'print 1\nwrite_file "{started}" ""\nlet mut n = 0 in while n >= 0 do n <- (n + 1) % 7 done\nprint 2\n', "printed.atl")
        env = dict(os.environ, XDG_CACHE_HOME=TMP.name, ATLED_CACHE=TMP.name)
        for number in (signal.SIGTERM, signal.SIGHUP):
            for mode in ("off", "auto", "always"):
                with self.subTest(signal=number, mode=mode):
                    p = subprocess.Popen([EXE, "--jit=" + mode, endless], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         text=True, cwd=TMP.name, env=env)
                    while not os.path.exists(started) and p.poll() is None:
                        time.sleep(0.05)
                    os.remove(started)
                    p.send_signal(number)
                    out, err = p.communicate(timeout=60)
                    self.assertEqual((p.returncode, out, err), (-number, "1\n", ""))

    def test_ending_signal_while_nobody_reads(self):
        long = script("let rec go i = print i; go (i + 1)\ngo 0\n", "endless.atl")
        ends = os.pipe()
        p = subprocess.Popen([EXE, long], stdout=ends[1], stderr=subprocess.PIPE, text=True, cwd=TMP.name)
        time.sleep(1)
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.communicate(timeout=60)[1], "")
        self.assertEqual(p.returncode, -signal.SIGTERM)
        os.close(ends[0])
        os.close(ends[1])

    def test_effects_before_a_failure_happen(self):
        program = script('let f a = print "first"; let x = a[7] in print "second"; print x\nf [1.0]\n')
        for mode in ("off", "always"):
            r = atled(f"--jit={mode}", program)
            self.same(r, 70, "first\n", "index 7 is out of bounds")

    def test_progress_of_a_compile_on_a_terminal(self):
        """A line after a second; an interrupt ends the compile, and the line goes."""
        steps = "".join(f"  let y = if y > {k}.0 then y * cos (y + x) else exp (0.0 - y * y) + y / {k + 2}.0 in\n" for k in range(8000))
        program = script(f"let f x =\n  let y = x in\n{steps}  y\nassert (f (float (length args)) < 10.0)\n", "slow.atl")
        main, end = pty.openpty()
        p = subprocess.Popen([EXE, "--jit=always", program], cwd=TMP.name, stderr=end, env=dict(os.environ, ATLED_CACHE="", NO_COLOR="1"))
        os.close(end)
        shown = b""
        while b"1 s" not in shown:
            shown += os.read(main, 100)
        self.assertTrue(shown.decode().startswith("\rcompiling … 1 s"), shown)
        p.send_signal(signal.SIGINT)
        p.wait(timeout=60)
        self.assertRegex(os.read(main, 1000).decode(), "^(\\rcompiling … \\d+ s)*\\r\x1b\\[K.*error: interrupted")
        os.close(main)
        self.assertEqual(p.returncode, 70)

    def test_interrupt_of_a_long_loop(self):
        program = script("let work n = let mut s = 0.0 in for i = 1 to n do s <- s + sin (float i) done; s\n"
                         "let start = time ()\nprint (work 1_000_000_000_000)\n")
        for mode in ("off", "always"):
            p = subprocess.Popen([EXE, f"--jit={mode}", program], cwd=TMP.name, stderr=subprocess.PIPE, text=True)
            time.sleep(1)
            p.send_signal(signal.SIGINT)
            self.assertIn("interrupted", p.communicate(timeout=60)[1])


unittest.main()
