#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Input that is hostile or out of all proportion ends with a clear error, within bounds of time and memory.

usage: test_bad_input.py EXE

Each program runs in the evaluator, and as machine code if it compiles, with a limit on processor time (CPU) and on
resident memory (MEMORY, or what the case says). Then one prompt gets them all, and has to go on."""
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading

CPU = 20  # seconds
MEMORY = 700  # MB
PROMPT_MEMORY = 4800  # sources and syntax trees are kept as long as the prompt
ADDRESS_SPACE = 8 << 30
MODES = ["--jit=off", "--jit=always"]


class Case:
    """`text` is the program, `says` is in its message, `status` its exit status."""

    def __init__(self, name, text, says, status, memory=MEMORY, files=None, modes=None):
        self.name, self.text, self.says, self.status = name, text, says, status
        self.memory, self.files, self.modes = memory, files or {}, modes or (MODES if status == 70 else MODES[:1])


def nested(n, left, inner, right):
    return left * n + inner + right * n


def cases():
    many = 10 ** 5
    yield Case("bytes that are no UTF-8", b'let s = "caf\xe9"\nprint s\n', "not valid UTF-8", 65)
    yield Case("random bytes", bytes((i * 7919 + i * i * 31) % 256 for i in range(20000)), "error", 65)
    yield Case("NUL bytes", b"print 1\0\0\nprint 2\0\n", "a NUL byte", 65)
    yield Case("a line of 100 MB: a sum", b"print (1" + b"+1" * (50 << 20) + b")\n", "too long", 65, memory=1500)
    yield Case("a line of 100 MB: a name", b"print " + b"x" * (100 << 20) + b"\n", "there is no", 65, memory=1500)
    yield Case("a line of 100 MB: blanks", b"print" + b" " * (100 << 20) + b"(1 + true)\n", "expected", 65, memory=1500)
    yield Case("a string of 100 MB that never ends", b'print "' + b"x" * (100 << 20), "never closed", 65, memory=1500)
    yield Case("10^6 open brackets", "[" * 10 ** 6, "nested too deeply", 65)
    yield Case("10^6 nested arrays", "let a = " + nested(10 ** 6, "[", "1", "]"), "nested too deeply", 65)
    yield Case("10^6 nested parentheses", "let a = " + nested(10 ** 6, "(", "1", ")"), "nested too deeply", 65)
    yield Case("10^6 nested lists", "let a = " + nested(10 ** 6, "(", "1", " :: Nil)"), "nested too deeply", 65)
    yield Case("10^6 nested types", "let f (x : " + nested(10 ** 6, "(", "int", ")") + ") = x", "nested too deeply", 65)
    yield Case("10^6 nested patterns", "let f " + nested(10 ** 6, "(", "x", ")") + " = x", "nested too deeply", 65)
    yield Case("10^6 nested comments", "(*" * 10 ** 6, "never closed", 65)
    yield Case("1400 dimensions", "let f x = " + nested(1400, "[", "x", "]") + "\nprint (f 1)", "at most 16 dimensions", 65)
    yield Case("a type that doubles", "let f0 x = (x, x)\n" + "".join(
        f"let f{i + 1} x = f{i} (f{i} x)\n" for i in range(6)) + "print (f6 1)\n", "too large", 65)
    yield Case("a type that doubles by `let`", "let f x =\n  let a = (x, x) in\n" + "".join(
        "  let a = (a, a) in\n" for i in range(60)) + "  a\nprint (f 1)\n", "too large", 65)
    doubling = "".join(f"type t{i + 1} = t{i} * t{i}\n" for i in range(60))
    yield Case("a type that doubles by declarations", "type t0 = int\n" + doubling + "print 1\n", "too large", 65)
    yield Case("a constructor of a type that doubles", "type t0 = int\n" + doubling + "type d = A of t60 | B\nprint (B = B)\n", "too large", 65)
    yield Case("a type of functions that doubles", "type t0 = int -> int\n" + doubling.replace("*", "->") + "print 1\n", "too large", 65)
    yield Case("a type that doubles with a parameter", "type 'a t0 = 'a\n" + "".join(
        f"type 'a t{i + 1} = 'a t{i} * 'a t{i}\n" for i in range(60)) + "print 1\n", "too large", 65)
    yield Case("a type that multiplies with a parameter", "type 'a t0 = 'a\n" + "".join(
        f"type 'a t{i + 1} = ('a t{i} * 'a) t{i}\n" for i in range(60)) + "print 1\n", "too large", 65)
    yield Case("a match of 4^20 combinations", "let f x = match x with\n  | (" + ", ".join(["(1|2|3|4)"] * 20) + ") -> 1\n  | _ -> 0\nprint (f ("
               + ", ".join(["1"] * 20) + "))\n", "this match is too large", 65)
    yield Case("2000 cases that overlap", "let f x = match x with\n" + "".join(
        f"  | ({i}, {i * 7 % 100}, _) -> {i}\n  | (_, {i}, {i * 3 % 7}) -> {i + 1}\n" for i in range(1000)) + "  | _ -> 0\nprint (f (1, 2, 3))\n",
               "this match is too large", 65)
    yield Case("a type that contains itself doubled", "type 'a t = N | C of ('a * ('a * 'a) t)\nlet l : int t = N\nlet m = l + l\n",
               "contains itself at ever larger types", 65)
    yield Case("an import cycle", 'import "b.atl" as B\nprint B.x\n', "closes a cycle", 65,
               files={"b.atl": 'import "c.atl" as C\nlet x = C.y\n', "c.atl": 'import "b.atl" as B\nlet y = B.x\n'})
    yield Case("an import of itself", 'import "wrong.atl" as Me\n', "closes a cycle", 65)
    yield Case("a missing import", 'import "nowhere.atl" as N\nprint N.x\n', "can't read `nowhere.atl`", 65)
    yield Case("a pattern with 10^5 alternatives", "let f n = match n with " + " | ".join(map(str, range(many))) + " -> 1 | true -> 2\n",
               "expected", 65)
    yield Case("10^5 cases", "let f n = match n with\n" + "".join(f"  | {i} -> {i + 1}\n" for i in range(many)) + "print (f 7 + true)\n",
               "expected", 65)
    yield Case("20,000 cases, run", "let f n = match n with\n" + "".join(f"  | {i} -> {i + 1}\n" for i in range(20000)) + "print (f (-1))\n",
               "no case matches -1", 70, modes=["--jit=off"])
    yield Case("10^5 errors", "".join(f"let x{i} = y{i}\n" for i in range(many)), "there is no `y0`", 65)
    yield Case("a regex bomb", 'print (Regex.test r"^(?=a)(a+)+$" (Str.join "" (replicate 60 "a") ++ "b"))\n', "too many steps", 70)
    yield Case("a nested regex", "print (Regex.test (Str.join \"\" (replicate 100000 \"(\")) \"a\")\n", "bad pattern", 70)
    yield Case("a ragged CSV", 'print (Csv.numbers "data.csv")\n', '"data.csv": line 3 has too few cells', 70,
               files={"data.csv": "a,b\n1,2\n3\n"})
    yield Case("a bad cell", 'print (Csv.numbers "data.csv")\n', 'line 3, column 2: "four" is not a number', 70,
               files={"data.csv": "a,b\n1,2\n3,four\n"})
    yield Case("a CSV that is none", 'print (Csv.numbers "data.csv")\n', "not valid UTF-8", 70, files={"data.csv": b"\xff\xfe\0\0" * 1000})
    yield Case("JSON 10^5 deep", 'print (Json.parse (read_file "deep.json"))\n', "nested deeper than", 70,
               files={"deep.json": nested(many, "[", "1", "]")})
    yield Case("JSON 10^5 deep, of objects", 'print (Json.parse (read_file "deep.json"))\n', "nested deeper than", 70,
               files={"deep.json": nested(many, '{"a":', "1", "}")})
    yield Case("a run-away recursion", "let rec f n = 1 + f (n + 1)\nprint (f 0)\n", "stack overflow", 70, memory=1500)
    yield Case("a run-away recursion of two", "let rec f n = 1 + g (n + 1) and g n = 2 + f n\nprint (f 0)\n", "stack overflow", 70,
               memory=1500)
    yield Case("a run-away derivative", "let rec f (x : float) n = x * f x (n + 1)\nprint (grad (fun x -> f x 0) 2.0)\n",
               "stack overflow", 70, memory=1500)
    yield Case("an array of 10^12 zeros", "let f n = let mut a = zeros n in a[3] <- 1.0; a\nprint (sum (f 1000000000000))\n",
               "out of memory for an array of 1000000000000 elements", 70)
    yield Case("an array of 10^12 elements", "let f i = i * i\nlet a = [ f i | i < 1000000000000 ]\nprint a[3]\n",
               "out of memory for an array of 1000000000000 elements", 70)
    yield Case("a matrix of 10^12 elements", "let m = [ [ float (i * j) | j < 1000000 ] | i < 1000000 ]\nprint m[3, 3]\n",
               "out of memory", 70)
    yield Case("an array of more elements than ints", "let a = zeros [9000000000000000000, 9000000000000000000]\nprint a[3, 3]\n",
               "out of memory", 70)
    yield Case("10^12 copies of a string", 'print (Str.length (Str.join "" (replicate 1000000000000 "abc")))\n', "out of memory", 70)
    yield Case("a missing file", 'print (read_file "nowhere")\n', "can't read \"nowhere\"", 70)
    yield Case("a folder for a file", 'print (read_file "/")\n', "can't read \"/\"", 70)


def limit(cpu):
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, folder, stdin=None, cpu=CPU):
    """Exit status, output, errors and resident megabytes of a command under the limits."""
    env = dict(os.environ, ATLED_CACHE=os.path.join(folder, "cache"))
    p = subprocess.Popen(command, cwd=folder, env=env, preexec_fn=lambda: limit(cpu), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    out = []
    readers = [threading.Thread(target=lambda f=f: out.append((f, f.read()))) for f in (p.stdout, p.stderr)]
    for r in readers:
        r.start()
    try:
        p.stdin.write(stdin or b"")
        p.stdin.close()
    except BrokenPipeError:
        pass
    for r in readers:
        r.join()
    _, status, usage = os.wait4(p.pid, 0)
    texts = {f: t.decode("utf-8", "replace") for f, t in out}
    return os.waitstatus_to_exitcode(status), texts[p.stdout], texts[p.stderr], usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def write(folder, name, text):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())


def check_program(exe, case, verbose):
    problems = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        write(folder, "wrong.atl", case.text)
        for name, text in case.files.items():
            write(folder, name, text)
        for mode in case.modes:
            status, out, err, memory, seconds = run([exe, mode, "wrong.atl"], folder)
            if verbose:
                print(f"{case.name} {mode}: status {status}, {memory:.0f} MB, {seconds:.2f} s")
            where = f"{case.name} {mode}: "
            if status != case.status:
                problems.append(f"{where}status {status}, expected {case.status}\n{err[:600]}")
            if case.says not in err:
                problems.append(f"{where}no {case.says!r} in\n{err[:600]}")
            if not re.search(r"(?m)^\w+\.atl:\d+:\d+: error: ", err):
                problems.append(f"{where}no place in\n{err[:600]}")
            if len(err) > 100000 or max(map(len, err.splitlines()), default=0) > 3000:
                problems.append(f"{where}{len(err)} bytes of message")
            if memory > case.memory:
                problems.append(f"{where}{memory:.0f} MB, more than {case.memory}")
    return problems


def check_prompt(exe, verbose):
    """All programs in one prompt: one line typed in, or a `:load`. It answers after each of them."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        lines, expected = [], 0
        for k, case in enumerate(cases()):
            write(folder, f"wrong{k}.atl", case.text)
            for name, text in case.files.items():
                write(folder, name, text)
            text = case.text if isinstance(case.text, bytes) else case.text.encode()
            typed = b"\n" not in text.rstrip() and len(text) < 10 ** 7
            lines.append(text.rstrip() + b"\n\n\n" if typed else f":load wrong{k}.atl\n".encode())
            lines.append(f"1000 + {k}\n".encode())
            expected += 1
        status, out, err, memory, seconds = run([exe, "repl", "--jit=off"], folder, b"".join(lines) + b"20 + 22\n", cpu=3 * CPU)
        if verbose:
            print(f"the prompt: status {status}, {memory:.0f} MB, {seconds:.2f} s")
        problems = [] if status == 0 and "it : int = 42\n" in out else [f"the prompt ends with {status}\n{out[-500:]}\n{err[-500:]}"]
        answers = len(re.findall(r"(?m)^[∇… ]*it : int = \d+$", out)) - 1
        if answers < expected:
            problems.append(f"the prompt answers {answers} times, expected {expected}")
        if memory > PROMPT_MEMORY:
            problems.append(f"the prompt takes {memory:.0f} MB, more than {PROMPT_MEMORY}")
        return problems


def check_command_line(exe):
    """Unknown options, and a system without assembler and linker."""
    problems = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        write(folder, "fib.atl", "let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)\nprint (fib (27 + length args))\nprint (fib (26 + length args))\n")
        for options in (["--fast"], ["--jit=sometimes", "fib.atl"], ["-x", "fib.atl"], ["ir", "--stage=none", "fib.atl"], ["test"], ["check"]):
            status, out, err, _, _ = run([exe, *options], folder)
            if status != 2 or "usage: atled" not in err or out:
                problems.append(f"{' '.join(options)}: status {status}\n{err[:300]}")
        bare = ["env", "PATH=/nowhere", exe]
        status, out, err, _, _ = run([*bare, "--jit=auto", "fib.atl"], folder)
        if (status, out, err.count("warning: can't compile")) != (0, "196418\n121393\n", 1):
            problems.append(f"without assembler: status {status}\n{out}{err}")
        status, out, err, _, _ = run([*bare, "--jit=always", "fib.atl"], folder)
        if status != 70 or "error: can't compile: the program `as`" not in err or out:
            problems.append(f"without assembler, --jit=always: status {status}\n{out}{err}")
        status, _, err, _, _ = run([exe, "nowhere.atl"], folder)
        if status != 66 or "can't read `nowhere.atl`" not in err:
            problems.append(f"a missing program: status {status}\n{err}")
    return problems


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    exe, verbose = os.path.abspath(sys.argv[1]), "--verbose" in sys.argv
    problems = []
    for case in cases():
        problems += check_program(exe, case, verbose)
    problems += check_prompt(exe, verbose) + check_command_line(exe)
    print("\n".join(problems + [f"{len(problems)} problems"]))
    sys.exit(1 if problems else 0)


main()
