#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random sums over samples whose terms make arrays: the evaluator against machine code at every level of processors, and
against code without lanes, to the last digit. These are the loops that get a copy with private arrays (src/lower/privatise.c).

usage: samples.py ATLED [N] [--seed S] [--keep FOLDER] [--check-copies]

Each of N (20) programs has some functions that add up a term for each row of a matrix, or make a row, or the gradient of a
term: the term makes arrays by comprehensions and by loops that change them, branches on data, has lengths that data tell, and reads and changes elements
at places that data tell. Each function is called with 0 to 70 samples of 1 to 50 numbers, and so is its derivative with
respect to its parameters and samples. Some programs fail, at a sample that data tell. With --check-copies at least one
function in three must have had a copy. A program that fails the comparison is kept."""
import argparse
import os
import random
import subprocess
import sys
import tempfile

from loops import difference, run

SIZES = [(0, 3), (3, 2), (15, 1), (16, 3), (17, 4), (33, 8), (40, 5), (64, 9), (70, 2), (20, 50)]
HEAD = """
let matrix (n : int) (m : int) (s : int) = [ [ 0.4 * sin (float (i * m * 3 + j * 7 + s)) | j < m ] | i < n ]
let rough (n : int) (m : int) = [ [ (let k = i * m + j in if k % 61 = 17 then 1.0 / 0.0 else if k % 53 = 9 then 0.0 / 0.0 else if k % 19 = 3 then 3e-310 else cos (float k)) | j < m ] | i < n ]
"""
# What is made of the terms, and whether they are rows, or gradients of terms with respect to the sample.
REDUCERS = [("sum [ ({}) | i < length xs ]", ""), ("mean [ ({}) | i < length xs ]", ""), ("sum [ exp (({}) * 0.01) | i < length xs ]", ""),
            ("[ ({}) | i < length xs ]", "rows"), ("[ ({}) | i < length xs ]", "rows"), ("", "gradients")]


class Term:
    """The term of one sample x, made of parameters p (m numbers), q (a matrix of 3 rows of m), and k, an int of the sample."""

    def __init__(self, rng, fails):
        self.rng, self.fails, self.arrays, self.numbers, self.lines = rng, fails, ["x", "p"], [], []

    def element(self, index):
        r = self.rng
        kinds = [f"{r.choice(self.arrays)}[{index}]"] * 4 + [f"q[{r.randint(0, 2)}, {index}]", f"q[k % 3, {index}]"]
        return r.choice(kinds)

    def scalar(self, depth=0):
        r = self.rng
        kind = r.choice(["number", "number", "at", "at", "constant", "sum", "product", "function", "choice"] if depth < 3 else ["number", "at", "constant"])
        v = lambda: self.scalar(depth + 1)
        if kind == "number":
            return r.choice(self.numbers) if self.numbers else "0.5"
        if kind == "at":
            return self.element(r.choice(["0", "m - 1", "k % m", "m / 2"]))
        if kind == "constant":
            return r.choice(["0.25", "-1.5", "2.0", "c"])
        if kind == "sum":
            return f"({v()} {r.choice('+-')} {v()})"
        if kind == "product":
            return f"({v()} * {v()})"
        if kind == "function":
            return f"({r.choice(['sin', 'tanh', 'exp', 'abs'])} ({v()} * 0.1))"
        return f"(if {self.condition()} then {v()} else {v()})"

    def of_index(self, depth=0):
        """A number made of index j."""
        r = self.rng
        kind = r.choice(["element", "element", "scalar", "sum", "product", "fma", "function"] if depth < 2 else ["element", "element", "scalar"])
        v = lambda: self.of_index(depth + 1)
        if kind == "element":
            return self.element("j")
        if kind == "scalar":
            return self.scalar(3)
        if kind == "function":
            return f"({r.choice(['sin', 'tanh', 'exp'])} ({v()} * 0.2))"
        return f"({v()} {r.choice('+-')} {v()})" if kind == "sum" else f"({v()} * {v()})" if kind == "product" else f"({v()} * {v()} + {v()})"

    def condition(self):
        r = self.rng
        if r.random() < 0.6:  # such as iterations aren't expected to differ at, though these do
            return r.choice([f"floor ({self.scalar(3)} * 3.0) = 0.0", "floor (x[0] * 4.0) <> 1.0", "is_nan x[0]", f"{self.scalar(3)} = {self.scalar(3)}"])
        return r.choice(["x[0] < 0.1", "k % 2 = 0", "m > 3", "i < 20", f"{self.scalar(3)} > 0.0", f"{self.scalar(3)} < 5.0", "k = 3 && x[m - 1] < 0.0"])

    def statement(self):
        r = self.rng
        name = f"v{len(self.lines)}"
        kind = r.choice(["map", "map", "map", "scan", "number", "number", "sum", "sum", "branch", "place", "max", "double", "length"])
        if kind == "map":
            self.lines.append(f"let {name} = [ {self.of_index()} | j < m ] in")
            self.arrays.append(name)
        elif kind == "scan":
            self.lines.append(f"let mut {name} = [ {self.of_index()} | j < m ] in (for j = 1 to m - 1 do {name}[j] <- {name}[j - 1] * 0.5 + {self.of_index()} done);")
            self.arrays.append(name)
        elif kind == "number":
            self.lines.append(f"let {name} = {self.scalar()} in")
            self.numbers.append(name)
        elif kind == "sum":
            self.lines.append(f"let {name} = sum [ {self.of_index()} | j < m ] in")
            self.numbers.append(name)
        elif kind == "branch":
            self.lines.append(f"let {name} = if {self.condition()} then sum [ {self.of_index()} | j < m ] else sum [ {self.of_index()} | j < m - 1 ] in")
            self.numbers.append(name)
        elif kind == "place":
            place = "k" if self.fails and r.random() < 0.7 else "k % m"
            self.lines.append(f"let mut {name} = [ {self.of_index()} | j < m ] in ({name}[{place}] <- {name}[{place}] {r.choice('+*')} {self.scalar(2)});")
            self.arrays.append(name)
        elif kind == "length":
            self.lines.append(f"let {name} = (let n = if {self.condition()} then k % m + 1 else m in let w = [ {self.of_index()} | j < n ] in sum w * w[0]) in")
            self.numbers.append(name)
        elif kind == "max":
            self.lines.append(f"let {name} = {r.choice(['maximum', 'logsumexp', 'mean', 'norm'])} {r.choice(self.arrays)} in")
            self.numbers.append(name)
        else:
            self.lines.append(f"let {name} = [ sum [ q[l, j] * {r.choice(self.arrays)}[j] | j < m ] | l < 3 ] in")
            self.numbers.append(f"{name}[k % 3]")
            self.numbers.append(f"{name}[1]")

    def statements(self):
        for _ in range(self.rng.randint(2, 6)):
            self.statement()
        return " ".join(self.lines)

    def text(self):
        return self.statements() + f" {self.scalar(1)} + {self.rng.choice(self.numbers) if self.numbers else '1.0'} * {self.rng.choice(self.arrays)}[0]"

    def row(self):
        """An array instead of a number."""
        before = self.statements()
        return f"{before} " + self.rng.choice([f"[ {self.of_index()} | j < m ]", f"{self.rng.choice(self.arrays)}", f"[{self.scalar(1)}, {self.scalar(1)}, {self.scalar(2)}]",
                                               f"{self.rng.choice(self.arrays)} + {self.rng.choice(self.arrays)}", f"[{self.scalar(1)}] ++ {self.rng.choice(self.arrays)}"])


def program(rng):
    fails = rng.random() < 0.25
    lines = [HEAD]
    for number in range(3):
        reducer, rows = rng.choice(REDUCERS)
        term = Term(rng, fails)
        body = reducer.replace("{}", f"let x = xs[i] in let k = is[i] in {term.row() if rows == 'rows' else term.text()}")
        if rows == "gradients":
            body = f"[ (let k = is[i] in grad (fun x -> {term.text()}) xs[i]) | i < length xs ]"
        of = f"sum (flatten (f{number}" if rows else f"((f{number}"
        lines += [f"let f{number} (xs : float[][]) (is : int[]) (c : float) (p : float[]) (q : float[][]) (m : int) = {body}",
                  f"let show{number} (n : int) (m : int) = (",
                  f"  let is = [ (i * 5 + 2) % {'(m + 30 / (n + 1))' if fails else '(n + 3)'} | i < n ] in let p = (matrix 1 m 4)[0] in let q = matrix 3 m 5 in",
                  f"  print (f{number} (matrix n m 3) is 0.7 p q m);",
                  f"  print (f{number} (rough n m) is 0.7 p q m);",
                  f"  print (grad (fun (p, q) -> {of} (matrix n m 1) is 0.7 p q m))) (p, q));",
                  f"  print (grad (fun (xs, c) -> {of} xs is c p q m))) (matrix n m 2, 0.3)))"]
    calls = "; ".join(f"print (attempt (fun () -> show{k} n m))" for k in range(3))
    lines += [f"for (n, m) in {SIZES} do ({calls}) done"]
    return "\n".join(lines) + "\n"


def count_copies(exe, path):
    code = subprocess.run([exe, "ir", "--stage=lowered", path], capture_output=True, text=True, timeout=120).stdout
    return code.count("LOOP_HEAD b=2")


def main():
    a = argparse.ArgumentParser(usage=__doc__)
    a.add_argument("atled")
    a.add_argument("programs", nargs="?", type=int, default=20)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--keep", default=tempfile.gettempdir())
    a.add_argument("--check-copies", action="store_true")
    options = a.parse_args()
    exe = os.path.abspath(options.atled)
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        fused = "avx512dq" in f.read()
    wrong = stopped = copies = 0
    with tempfile.TemporaryDirectory() as folder:
        for k in range(options.programs):
            path = os.path.join(folder, "samples.atl")
            text = program(random.Random(f"{options.seed} {k}"))
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            stopped += "Error" in run(exe, path, "v2", "off")
            copies += count_copies(exe, path) if fused else 0
            found = difference(exe, path, fused)
            if found:
                wrong += 1
                kept = os.path.join(options.keep, f"samples-{options.seed}-{k}.atl")
                with open(kept, "w", encoding="utf-8") as f:
                    f.write(text)
                print(f"program {k}, kept as {kept}: {found}", flush=True)
    print(f"{options.programs} programs, {copies} copies, {stopped} of which have errors, {wrong} with differences")
    return wrong > 0 or (options.check_copies and fused and copies < options.programs)


if __name__ == "__main__":
    sys.exit(main())
