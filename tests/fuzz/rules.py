#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random programs of matrices and arrays with the library's rewrite rules and without: the same values and derivatives.

usage: rules.py ATLED [N] [--seed S] [--batch B]

N (200) expressions are compiled B (25) to a file and evaluated with ATLED_RULES=on and off, in default and in strict mode. Each is made
of transpose, `@`, reverse, sort, sums, multiples and parts, nested up to six deep, of matrices with known and unknown sizes, some of
them without rows or columns; beside its value and that value's sizes the gradient of a sum over it is printed, whose sizes must be those of
its argument. Lines are equal to the last digit in strict mode; in default mode floats may differ by a relative 1e-12. Prints how often rules
were applied. Exit status 1: there was a difference, or fewer rules were applied than expressions made."""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile

FLOAT = re.compile(r"-?(?:nan|inf|\d+\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+)")
SIZES = "other sizes than the argument"
LIMIT = 600  # seconds of one run


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.sizes = [rng.choice([0, 1, 1, 2, 2, 3, 4]) for _ in range(3)]
        self.matrices = []

    def leaf(self, rows, cols):
        """A parameter of this shape, or two times it."""
        name = f"m{rows}{cols}"
        if (name, rows, cols) not in self.matrices:
            self.matrices.append((name, rows, cols))
        return name if self.rng.random() < 0.8 else f"(2.0 * {name})"

    def matrix(self, rows, cols, depth):
        rng = self.rng
        kind = rng.choice(["leaf", "flip", "flip", "twice", "product", "product", "sum", "reverse", "let"]) if depth else "leaf"
        if kind == "flip":
            return f"(transpose {self.matrix(cols, rows, depth - 1)})"
        if kind == "twice":
            return f"(transpose (transpose {self.matrix(rows, cols, depth - 1)}))"
        if kind == "product":
            k = rng.choice(self.sizes)
            a, b = self.matrix(rows, k, depth - 1), self.matrix(k, cols, depth - 1)
            if rng.random() < 0.4:
                b = f"(transpose {self.matrix(cols, k, depth - 1)})"
            if rng.random() < 0.4:
                a = f"(transpose {self.matrix(k, rows, depth - 1)})"
            return f"(({a}) @ ({b}))"
        if kind == "sum":
            return f"(({self.matrix(rows, cols, depth - 1)}) + ({self.matrix(rows, cols, depth - 1)}))"
        if kind == "reverse":
            x = self.matrix(rows, cols, depth - 1)
            return f"(reverse (reverse ({x})))" if rng.random() < 0.6 else f"(reverse ({x}))"
        if kind == "let":
            return f"(let t = {self.matrix(cols, rows, depth - 1)} in transpose t)"
        return self.leaf(rows, cols)

    def array(self, depth):
        x = f"(flatten ({self.matrix(self.rng.choice(self.sizes), self.rng.choice(self.sizes), depth)}))"
        return f"(sort (sort {x}))" if self.rng.random() < 0.5 else f"(reverse (reverse {x}))"


def literal(rng, rows, cols):
    if not rows or not cols:
        return f"(zeros [{rows}, {cols}])"
    return "[" + ", ".join("[" + ", ".join(f"{rng.uniform(-2, 2):.3f}" for _ in range(cols)) + "]" for _ in range(rows)) + "]"


def program(rng, number):
    m = Maker(rng)
    array = rng.random() < 0.25
    text = m.array(rng.randrange(1, 5)) if array else m.matrix(rng.choice(m.sizes), rng.choice(m.sizes), rng.randrange(2, 7))
    names = [name for name, _, _ in m.matrices]
    lines = [f"let f{number} {' '.join(f'({n} : float[][])' for n in names)} = {text}"]
    total = "sum" if array else "(fun m -> sum [ sum [ x * x | x in row ] | row in m ])"
    values = " ".join(f"v{number}_{n}" for n in names)
    lines += [f"let v{number}_{n} = {literal(rng, r, c)}" for n, r, c in m.matrices]
    lines.append(f"print (attempt (fun () -> f{number} {values}))")
    lines.append(f"print (attempt (fun () -> shape (f{number} {values})))")
    for n in names:
        given = " ".join("x" if o == n else f"v{number}_{o}" for o in names)
        gradient = f"grad (fun x -> {total} (f{number} {given})) v{number}_{n}"
        lines.append(f"print (attempt (fun () -> let g = {gradient} in if shape g = shape v{number}_{n} then g else fail \"{SIZES}\"))")
    return "\n".join(lines)


def run(exe, path, rules, options):
    env = {**os.environ, "ATLED_RULES": rules, "ATLED_CACHE": ""}
    r = subprocess.run([exe, "--jit=off", *options, path], capture_output=True, text=True, env=env, timeout=LIMIT)
    if r.returncode:
        sys.exit(f"{path}: {r.stderr}")
    if SIZES in r.stdout:
        sys.exit(f"{path}: a gradient of other sizes than its argument")
    return [re.sub(r"^Error .*", "Error", line) for line in r.stdout.split("\n")]  # of several errors any may be reported


def without_elements(line):
    """Of what has none, errors in the making of elements may be skipped."""
    return line == "Error" or re.fullmatch(r"Ok [\[\], ]*", line)


def same(a, b, exact):
    if without_elements(a) and without_elements(b):
        return "Error" in (a, b) or a == b
    if a == b or exact:
        return a == b
    xs, ys = FLOAT.findall(a), FLOAT.findall(b)
    return FLOAT.sub("#", a) == FLOAT.sub("#", b) and all(
        x == y or abs(float(x) - float(y)) <= 1e-12 * max(1, abs(float(x)), abs(float(y))) for x, y in zip(xs, ys))


def applied(exe, path):
    r = subprocess.run([exe, "ir", "--stage=limits", path], capture_output=True, text=True, timeout=LIMIT)
    return sum(int(n) for n in re.findall(r"(?m)^ *(\d+)  rule [a-z_]+  +ir +calls", r.stdout))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("exe")
    p.add_argument("n", nargs="?", type=int, default=200)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--batch", type=int, default=25)
    args = p.parse_args()
    rng, wrong, total = random.Random(args.seed), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, args.n, args.batch):
            path = os.path.join(folder, f"p{first}.atl")
            with open(path, "w", encoding="utf-8") as f:
                f.write("\n".join(program(rng, k) for k in range(first, min(first + args.batch, args.n))) + "\n")
            total += applied(args.exe, path)
            for options in ([], ["--strict-fp"]):
                on, off = run(args.exe, path, "on", options), run(args.exe, path, "off", options)
                bad = [(a, b) for a, b in zip(on, off) if not same(a, b, bool(options))]
                if len(on) != len(off) or bad:
                    wrong += 1
                    print(f"seed {args.seed}, from {first}, {options}: {bad[:1] or (on[-3:], off[-3:])}")
    print(f"{args.n} programs, seed {args.seed}: rules applied {total} times, {wrong} files differ")
    sys.exit(1 if wrong or total < args.n else 0)


main()
