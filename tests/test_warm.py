#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that are run again, from what the cache keeps of them, against the same with an empty cache.

usage: test_warm.py ATLED [TEST…]

A record is an entry of the cache that begins with a length and the version of Atled. A run that takes one renews its time of
modification, by which `Cache.taken` sees it; one that can't use it writes another file. Nothing here needs GCC's best code, so it doesn't optimise (ATLED_OPT=0)."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
exe = os.path.abspath(sys.argv[1])
OLD = 1_000_000_000

PROGRAM = 'import "lib.atl" as Lib\nlet f x = x * x * sin x\nprint (grad f 3.0)\nprint (Lib.g 2.0)\n'
LIB = "let g x = 2.0 * x\n"


def run(cache, words, folder=".", program=exe, stdin=None, **env):
    r = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=60, input=stdin,
                       env=dict(os.environ, ATLED_CACHE=cache, ATLED_OPT="0") | env)
    return r.returncode, r.stdout, r.stderr


class Cache:
    """A cache folder, and a folder with a program and the module that it imports."""

    def __init__(self, root):
        self.cache, self.folder = f"{root}/cache", f"{root}/work"
        os.mkdir(self.folder)
        self.write("main.atl", PROGRAM)
        self.write("lib.atl", LIB)

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)

    def run(self, *options, program=exe, file="main.atl", **env):
        return run(self.cache, [*options, file], self.folder, program, **env)

    def records(self):
        return [p for p in glob.glob(f"{self.cache}/*.so")
                if re.match(rb".{8}\d+\.\d+\.\d+ [0-9a-f]{16}\n", open(p, "rb").read(40), re.S)]

    def age(self):
        self.old = {path: os.stat(path).st_ino for path in self.records()}
        for path in self.old:
            os.utime(path, (OLD, OLD))

    def taken(self):
        """Those that were read and not written anew."""
        return [p for p in self.records() if os.stat(p).st_mtime > OLD + 1 and os.stat(p).st_ino == self.old.get(p)]

    def is_warm(self, *options, **env):
        """Does a run find a record, and make none?"""
        before = self.records()
        self.age()
        result = self.run(*options, **env)
        return result, len(self.taken()) == 1 and self.records() == before


def check(holds, what):
    if not holds:
        raise AssertionError(what)


# ---- The same output -----------------------------------------------------------------------------------------------------------
# Of those in programs/ some that take little time.
PROGRAMS = """modules_main strict_constants remainders products literal_rows constant_tables text mutable_functions matches
strict_functions lengths irregular_rows inventory sine_and_cosine growth_fit constructor_tails element_updates bank signs_of_zero kepler
small_arrays effects_and_loops survey controller language shadowed_types loops_over_elements known_sizes spare_blocks derivatives
derivatives_of_links found crystal chains derivatives_of_rows iteration options map_native few_inputs breaks voting words"""


def test_programs():
    for name in PROGRAMS.split():
        text = open(f"{here}/programs/{name}.atl", encoding="utf-8").read()
        words = [f"{name}.atl", *(re.search(r"# args: (.*)", text) or [0, ""])[1].split()]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
            c = Cache(root)
            cold = run(c.cache, words, f"{here}/programs")
            kept = c.records()
            c.age()
            warm = run(c.cache, words, f"{here}/programs")
            check(cold == warm, f"{name}: cold {cold}, warm {warm}")
            expected = not "warning" in cold[2]
            check(len(kept) == len(c.taken()) == expected, f"{name}: {len(kept)} records, {len(c.taken())} taken")


def test_failures():
    """Errors at run time, with places in the program, a module and the library; warnings; exits."""
    programs = {
        "index": ("let xs = [1.0, 2.0]\nlet pick i = xs[i]\nprint (pick 1)\nprint (pick (7 - length args))\n", 70, True),
        "library": ("print (Str.repeat (length args - 1) \"x\")\nprint (List.head (if length args = 0 then Nil else 1 :: Nil))\n", None, None),
        "module": ('import "lib.atl" as Lib\nprint (Lib.bad (3 - length args))\n', 70, True),
        "exit": ("print 1\nexit 3\n", 3, True),
        "syntax": ("let = 3\n", 65, False),
        "warning": ("let pick xs = xs[5]\nlet f x = pick [x]\nprint 1\n", None, None),
        "definitions": ("let f x = x\nlet y = 3\n", 0, None),
        "values": ("1 + 2\n\"a\"\n[1, 2]\nprint 3\n", 0, True),
        "patterns": ('print (Regex.find "[0-9]+" "abc 123 def")\nprint (Regex.find "[a-z]+@x" "abc 123 def@x")\n', 0, True),
        "nothing": ("# nothing\n", 0, None),
    }
    for name, (text, status, kept) in programs.items():
        with tempfile.TemporaryDirectory() as root:
            c = Cache(root)
            c.write("lib.atl", "let bad i =\n  let a = [1, 2] in\n  a[i]\n")
            c.write("main.atl", text)
            runs = [c.run()]
            c.age()
            runs += [c.run() for _ in range(2)]
            check(c.taken() == c.records(), f"{name}: a record wasn't taken")
            check(runs[0] == runs[1] == runs[2], f"{name}: {runs}")
            check(status in (None, runs[0][0]), f"{name}: {runs[0]}")
            check(kept is None or bool(c.records()) == kept, f"{name}: {len(c.records())} records")
            check(not "warning" in runs[0][2] or not c.records(), f"{name}: a warning was kept")


# ---- What makes a record useless -----------------------------------------------------------------------------------------------
def test_invalidation():
    with tempfile.TemporaryDirectory() as root:
        c = Cache(root)
        expected = c.run()
        check(expected[0] == 0 and expected[1].endswith("\n4.0\n"), expected)
        result, warm = c.is_warm()
        check(warm and result == expected, "a second run isn't warm")
        for what, options, env in [("options", ["--strict-fp"], {}), ("traps", ["--trap-nan"], {}), ("mode", ["--jit=always"], {}),
                                   ("subnormals", ["--flush-subnormals"], {}), ("processor", ["--cpu=v2"], {}),
                                   ("lanes", [], {"ATLED_LANES": "off"}), ("passes", [], {"ATLED_PASSES": "-unroll"}),
                                   ("level", [], {"ATLED_OPT": "1"})]:
            result, warm = c.is_warm(*options, **env)
            check(not warm and result[0] == 0, f"{what}: {result}, warm: {warm}")
        check(c.is_warm() == (expected, True), "the first record is gone")


def test_edits():
    with tempfile.TemporaryDirectory() as root:
        c = Cache(root)
        c.run()
        c.write("lib.atl", "let g x = 3.0 * x\n")
        for _ in range(2):
            check(c.run()[1].endswith("\n6.0\n"), "the import was edited")
        c.write("main.atl", PROGRAM.replace("3.0", "0.0"))
        check(c.run()[1] == "0.0\n6.0\n", "the program was edited")
        c.write("other.atl", "let g x = 3.0 * x\n")
        os.remove(f"{c.folder}/lib.atl")
        status, _, errors = c.run()
        check(status == 65 and "lib.atl" in errors, "the import is gone")
        os.symlink("other.atl", f"{c.folder}/lib.atl")
        check(c.run()[1].endswith("\n6.0\n"), "the import is a link")


def test_one_module_or_two():
    """Two names of one file are one module, which is evaluated once."""
    with tempfile.TemporaryDirectory() as root:
        c = Cache(root)
        c.write("lib.atl", "print 1\nlet g = 2\n")
        os.symlink("lib.atl", f"{c.folder}/b.atl")
        c.write("main.atl", 'import "lib.atl" as A\nimport "b.atl" as B\nprint (A.g + B.g)\n')
        check([c.run()[1] for _ in range(2)] == ["1\n4\n"] * 2, "one module")
        os.remove(f"{c.folder}/b.atl")
        shutil.copy(f"{c.folder}/lib.atl", f"{c.folder}/b.atl")
        check([c.run()[1] for _ in range(2)] == ["1\n1\n4\n"] * 2, "two modules")


def test_another_build():
    with tempfile.TemporaryDirectory() as root:
        c = Cache(root)
        other, sleef = f"{root}/atled", f"{root}/libsleef.so"
        shutil.copy2(exe, other)
        expected = c.run()
        os.utime(other, (OLD, OLD))
        check(c.is_warm(program=other) == (expected, False), "another build of Atled")
        check(c.is_warm(program=other) == (expected, True), "the same build of Atled")
        maps = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, env=dict(os.environ, PATH="/sbin:/usr/sbin:" + os.environ["PATH"])).stdout
        shutil.copy(re.search(r"libsleef\.so\.3 .*=> (\S+)", maps)[1], sleef)
        c.run(ATLED_SLEEF=sleef)
        check(c.is_warm(ATLED_SLEEF=sleef) == (expected, True), "SLEEF elsewhere")
        os.utime(sleef, (OLD, OLD))
        before = {p: open(p, "rb").read() for p in c.records()}
        check(c.run(ATLED_SLEEF=sleef) == expected, "another SLEEF")
        check({p: open(p, "rb").read() for p in c.records()} != before, "a record of another SLEEF was used")


# ---- Damage --------------------------------------------------------------------------------------------------------------------


def test_damage():
    """Bytes flipped and files cut off at 200 places, and what others could have written."""
    with tempfile.TemporaryDirectory() as root:
        c = Cache(root)
        expected = c.run()
        path, = c.records()
        whole = open(path, "rb").read()
        for k in range(200):
            at = k * (len(whole) - 1) // 199
            damaged = whole[:at] if k % 10 == 9 else whole[:at] + bytes([whole[at] ^ 1 << k % 8]) + whole[at + 1:]
            with open(path, "wb") as f:
                f.write(damaged)
            os.utime(path, (OLD, OLD))
            check(c.run() == expected, f"byte {at}")
            check(open(path, "rb").read() == whole, f"byte {at}: the record wasn't made again")
        os.chmod(path, 0o722)
        check(c.run() == expected and os.stat(path).st_mode & 0o777 == 0o700, "a record that others may write")
        os.remove(path)
        os.symlink("/dev/zero", path)
        check(c.run() == expected and not os.path.islink(path), "a link")
        os.remove(path)
        os.mkfifo(path)
        check(c.run() == expected, "a pipe")


def test_places():
    """No folder, one that can't be written, a full disk: the program runs as ever."""
    with tempfile.TemporaryDirectory() as root:
        c = Cache(root)
        expected = c.run()
        for cache in ("", "/dev/full", "/proc/self", f"{c.folder}/main.atl/x"):
            check([run(cache, ["main.atl"], c.folder)[:2] for _ in range(2)] == [expected[:2]] * 2, cache)
        new = f"{c.cache}/new"
        c.write("more.atl", PROGRAM + "print 1\n")
        shutil.rmtree(new)
        open(new, "w").close()
        check(c.run(file="more.atl")[:2] == (0, expected[1] + "1\n"), "nothing can be made")


def test_at_once():
    with tempfile.TemporaryDirectory() as root:
        c = Cache(root)
        env = dict(os.environ, ATLED_CACHE=c.cache)
        for _ in range(2):
            all_ = [subprocess.Popen([exe, "main.atl"], cwd=c.folder, env=env, stdout=subprocess.PIPE, text=True) for _ in range(6)]
            outputs = {p.communicate()[0] for p in all_}
            check(len(outputs) == 1 and outputs.pop().endswith("\n4.0\n") and not any(p.returncode for p in all_), "at once")


def test_others():
    """What isn't a run of a whole program, or is to be measured, takes no record."""
    with tempfile.TemporaryDirectory() as root:
        c = Cache(root)
        for words in (["--time", "main.atl"], ["--jit=off", "main.atl"], ["-e", "print 1"], ["test", "main.atl"], ["check", "main.atl"]):
            check(run(c.cache, words, c.folder)[0] == 0 and not c.records(), words)
        check(run(c.cache, [], c.folder, stdin=PROGRAM)[0] == 0, "the prompt")
        c.run()
        c.age()
        check("optimise" in run(c.cache, ["--time", "main.atl"], c.folder)[2] and not c.taken(), "--time")


tests = {name[5:]: f for name, f in list(globals().items()) if name.startswith("test_")}
failed = 0
for name in sys.argv[2:] or tests:
    try:
        tests[name]()
    except AssertionError as e:
        failed += 1
        print(f"{name}: {e}")
sys.exit(1 if failed else 0)
