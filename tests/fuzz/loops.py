#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random nests of loops over arrays: the evaluator against machine code at every level of processors, and against code
without lanes, to the last digit.

usage: loops.py ATLED [N] [--seed S] [--keep FOLDER]

Each of N (20) programs has some functions of two or three loops, up or down, whose statements read, write and add to
arrays at places such as i, i + j, 2 * i, i * m + j, is[i] or 3, with branches that some iterations take, and sums. Each
function is called with lengths from 0 to 40, with values among which are NaN, infinities and subnormals, and so is its
derivative. A program that fails is kept."""
import argparse
import os
import random
import subprocess
import sys
import tempfile

LENGTHS = [(0, 3), (1, 1), (3, 5), (7, 2), (8, 8), (9, 4), (16, 3), (19, 11), (33, 2), (40, 9)]
HEAD = """
let values (n : int) (s : int) = [ (let k = i * 7 + s in if k % 29 = 0 then 0.0 / float (s % 2) else if k % 31 = 0 then 1e308
  else if k % 11 = 0 then float (k % 5) * 1e-309 else sin (float k)) | i < n ]
let plain (n : int) (s : int) = [ 0.3 + 0.2 * sin (float (i * 3 + s)) | i < n ]
"""


class Function:
    """One random function f of arrays a (read), w (written) and ints is, with lengths n and m; w has n * m + 3 n + 2 m + 8 elements."""

    def __init__(self, rng, number):
        self.rng, self.number, self.temporaries = rng, number, 0

    def index(self, loops):
        """A place within w: so all of them are less than n * m + 3 n + 2 m + 8 and not negative."""
        i = self.rng.choice(loops)
        j = self.rng.choice(loops)
        return self.rng.choice([i, i, f"{i} + 1", f"{i} + 2", f"2 * {i}", f"{i} + {j}", f"i * m + {j}" if "j" in loops else f"{i} * 2 + 1", f"is[i]", "3", "m",
                                f"n - {i}" if i == "i" else f"m - {i}", f"{i} + m", "(i * 5 + 2) % 7", f"is[i] + {j}"])

    def value(self, loops, depth=0):
        r = self.rng
        kinds = ["element", "element", "written", "index", "constant", "sum", "product", "sum", "fma", "function", "choice"]
        kind = r.choice(kinds if depth < 3 else kinds[:5])
        v = lambda: self.value(loops, depth + 1)
        if kind == "element":
            return f"a[{self.index(loops)}]"
        if kind == "written":
            return f"w[{self.index(loops)}]" if r.random() < 0.4 else "c"
        if kind == "index":
            return f"float ({r.choice(loops)} * {r.randint(-2, 3)} + {r.randint(0, 4)})"
        if kind == "constant":
            return r.choice(["0.5", "-1.25", "c", "0.0", "2.0"])
        if kind == "sum":
            return f"({v()} {r.choice('+-')} {v()})"
        if kind == "product":
            return f"({v()} * {v()})"
        if kind == "fma":
            return f"({v()} * {v()} + {v()})"
        if kind == "function":
            return f"({r.choice(['sin', 'exp', 'abs', 'sqrt', 'tanh', 'floor'])} ({v()} * 0.1))"
        return f"(if {self.condition(loops)} then {v()} else {v()})"

    def condition(self, loops):
        r = self.rng
        i = r.choice(loops)
        return r.choice([f"{i} = 0", "i = n - 1", f"{i} % 3 = 1", f"a[{self.index(loops)}] < 0.2", "m > 4", f"{i} < 5 || i > 12", "is[i] > 3"])

    def statement(self, loops):
        r = self.rng
        kind = r.choice(["write", "add", "add", "add", "add", "sum", "several", "branch", "neighbours", "neighbours"])
        place = self.index(loops)
        if kind == "write":
            return f"w[{place}] <- {self.value(loops)}"
        if kind == "add":
            return f"w[{place}] <- w[{place}] {r.choice('+-')} {self.value(loops)}"
        if kind == "sum":
            return f"s <- s {r.choice('+-')} {self.value(loops)}"
        if kind == "several":
            return f"({self.statement(loops)}; {self.statement(loops)})"
        if kind == "neighbours":
            i = r.choice(loops)
            return "(" + "; ".join(f"w[{i} + {k}] <- w[{i} + {k}] + {self.value(loops, 2)}" for k in r.sample([0, 1, 2, 3], 3)) + ")"
        other = f" else {self.statement(loops)}" if r.random() < 0.6 else ""
        return f"(if {self.condition(loops)} then {self.statement(loops)}{other})"

    def loop(self, name, end, body):
        if self.rng.random() < 0.3:
            return f"for {name} = {end} - 1 downto 0 do {body} done"
        return f"for {name} = 0 to {end} - 1 do {body} done"

    def text(self):
        r = self.rng
        shape = r.randint(0, 6)
        if shape == 0:
            body = self.loop("i", "n", self.statement(["i"]))
        elif shape == 1:
            body = self.loop("i", "n", self.loop("j", r.choice(["m", "m", "i", "6"]) if r.random() < 0.9 else "n", self.statement(["i", "j"])))
            body = body.replace("= n - 1 downto", "= m - 1 downto", 1) if "for j = 0 to n" in body else body
        elif shape == 2:
            inner = self.loop("j", "m", self.statement(["i", "j"]))
            body = self.loop("i", "n", f"({self.statement(['i'])}; ({inner}); {self.statement(['i'])})")
        elif shape == 3:
            inner = self.loop("j", r.choice(["m", "6"]), f"t <- t {r.choice('+-*')} {self.value(['i', 'j'], 2)}").replace("w[", "a[")
            term = f"(let mut t = {self.value(['i'], 3)} in (({inner}); t))".replace("w[", "a[")
            body = f"w <- [ {term} | i < n ]" if r.random() < 0.5 else f"s <- sum [ {term} | i < n ]"
        elif shape == 4:
            body = f"s <- sum [ {self.value(['i'])} | i < n ]"
        elif shape == 5:
            body = f"w <- [ sum [ {self.value(['i', 'j'], 1)} | j < m ] | i < n ]".replace("w[", "a[")
        else:
            body = f"({self.loop('i', 'n', self.statement(['i']))}); {self.loop('i', 'n', self.loop('j', 'm', self.statement(['i', 'j'])))}"
        return (f"let f{self.number} (a : float[]) (is : int[]) (c : float) (n : int) (m : int) =\n"
                f"  let mut w = [ 0.25 | k < n * m + 4 * n + 2 * m + n * n + 10 ] in\n  let mut s = 0.0 in\n  ({body});\n  (s, w)\n")


def program(rng):
    lines = [HEAD]
    for number in range(3):
        lines.append(Function(rng, number).text())
    for number in range(3):
        lines += [f"let show{number} (n : int) (m : int) = (",
                  "  let size = n * m + 4 * n + 2 * m + n * n + 10 in let is = [ (i * 5 + 2) % (n + 3) | i < n ] in",
                  f"  print (f{number} (values size 3) is 0.7 n m);",
                  f"  print (grad (fun (a, c) -> (let (s, w) = f{number} a is c n m in s + sum [ x * 0.5 | x in w ])) (plain size 1, 0.7)))"]
    lines += [f"for (n, m) in {LENGTHS} do (show0 n m; show1 n m; show2 n m) done"]
    return "\n".join(lines) + "\n"


def run(exe, path, cpu, jit, lanes="on"):
    env = {**os.environ, "ATLED_LANES": lanes, "ATLED_OPT": "1"}
    done = subprocess.run([exe, f"--cpu={cpu}", f"--jit={jit}", path], capture_output=True, text=True, timeout=300, env=env)
    return done.stdout + done.stderr


def difference(exe, path, fused):
    ways = [("v2", "off", "on"), ("v2", "always", "on")]
    if fused:
        ways = [("v4", "off", "on"), ("v4", "always", "on"), ("v3", "always", "on"), ("v4", "always", "off")] + ways
    base = None
    for cpu, jit, lanes in ways:
        text = run(exe, path, cpu, jit, lanes)
        if jit == "off":
            base = text
        elif text != base:
            lines = [(x, y) for x, y in zip(base.split("\n"), text.split("\n")) if x != y]
            return f"{cpu}, lanes {lanes}: {lines[0][0][:300]} / {lines[0][1][:300]}" if lines else f"{cpu}, lanes {lanes}: lengths differ"
    return None


def main():
    a = argparse.ArgumentParser(usage=__doc__)
    a.add_argument("atled")
    a.add_argument("programs", nargs="?", type=int, default=20)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--keep", default=tempfile.gettempdir())
    options = a.parse_args()
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        fused = "avx512dq" in f.read()
    wrong = stopped = 0
    with tempfile.TemporaryDirectory() as folder:
        for k in range(options.programs):
            path = os.path.join(folder, "loops.atl")
            text = program(random.Random(f"{options.seed} {k}"))
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            stopped += "error" in run(os.path.abspath(options.atled), path, "v2", "off")
            found = difference(os.path.abspath(options.atled), path, fused)
            if found:
                wrong += 1
                kept = os.path.join(options.keep, f"loops-{options.seed}-{k}.atl")
                with open(kept, "w", encoding="utf-8") as f:
                    f.write(text)
                print(f"program {k}, kept as {kept}: {found}", flush=True)
    print(f"{options.programs} programs, {stopped} of which end with an error, {wrong} with differences")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
