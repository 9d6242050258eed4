#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scalar functions and their derivatives at the edges of floating point, against gradients/edges.tsv, whose values were found
with hundreds of digits (gradients/make_edges.py). Each derivative is taken in every mode and in both back ends, with and
without --strict-fp; an error is measured in units of the last place.

usage: test_numbers.py ATLED [--show]      --show prints the largest error of each function and order"""
import math, os, subprocess, sys, tempfile

ATLED, SHOW = sys.argv[1], "--show" in sys.argv
HERE = os.path.dirname(os.path.abspath(__file__))
MODES = [("f", 0), ("grad f", 1), ("deriv f", 1), ("grad (grad f)", 2), ("deriv (grad f)", 2), ("grad (deriv f)", 2),
         ("deriv (deriv f)", 2), ("grad (grad (grad f))", 3), ("deriv (deriv (deriv f))", 3)]
PAIR_MODES = [("f x y", (0,)), ("grad g (x, y)", (1, 2)), ("snd (jvp g (x, y) (1.0, 0.0))", (1,)), ("snd (jvp g (x, y) (0.0, 1.0))", (2,)),
              ("grad (fun p -> fst (grad g p)) (x, y)", (3, 4)), ("grad (fun p -> snd (grad g p)) (x, y)", (4, 5)),
              ("snd (jvp (fun p -> grad g p) (x, y) (1.0, 0.0))", (3, 4)), ("snd (jvp (fun p -> grad g p) (x, y) (0.0, 1.0))", (4, 5)),
              ("grad (fun p -> snd (jvp g p (1.0, 0.0))) (x, y)", (3, 4)),
              ("(fun p -> snd (jvp (fun q -> snd (jvp g q (0.0, 1.0))) p (0.0, 1.0))) (x, y)", (5,))]
# Options, and whether in every mode: compiling takes longer than all else, and both back ends run the same code.
PAIR_ORDER = (0, 1, 1, 2, 2, 2)
RUNS = [(("--jit=off",), True), (("--jit=off", "--strict-fp"), True), (("--jit=always",), False)]
FEW = ("f", "grad f", "deriv (grad f)")

# Units in the last place that are allowed, by order of the derivative; of powers that are products, more.
BOUND = {0: 4, 1: 6, 2: 12, 3: 24}
PRODUCTS = {"fun x -> x ^ (16)": 8, "fun x -> x ^ (-16)": 8}
NORMAL = 2.2250738585072014e-308   # an error below it doesn't count


def read_table(path):
    table, rows = {}, None
    with open(path) as f:
        for line in f:
            cells = line.rstrip("\n").split("\t")
            if cells[0] == "function": rows = table.setdefault(cells[1], [])
            else: rows.append([None if c == "?" else float(c) for c in cells])
    return table


def ulps(got, want):
    """The distance of two floats in units of the last place of what is wanted."""
    if want is None or got == want or (math.isnan(got) and math.isnan(want)): return 0.0
    if not (math.isfinite(got) and math.isfinite(want)): return math.inf
    return 0.0 if abs(got - want) <= NORMAL else abs(got - want) / math.ulp(want)


def expression(name):
    return name if name.isalnum() else f"({name})"


def modes(rows, every):
    """What is computed of a function: expression, columns of the table."""
    if is_pair(rows): return PAIR_MODES if every else []
    return [(mode, (order,)) for mode, order in MODES if every or mode in FEW]


def program(table, folder, every):
    """Reads the points from files, so that nothing is folded."""
    out = ["let number s = match float_of_string s with | Some x -> x | None -> nan\n"]
    for k, (name, rows) in enumerate(table.items()):
        two = is_pair(rows)
        points = os.path.join(folder, f"{k}.txt")
        with open(points, "w") as f: f.writelines("".join(f"{x!r}\n" for x in r[:1 + two]) for r in rows)
        out.append(f'let points = [ number s | s in read_lines "{points}" ]\n')
        parameters = "(x : float) (y : float)" if two else "(x : float)"
        out.append(f"let f{k} {parameters} : float = {expression(name)} {'x y' if two else 'x'}\n")
        for mode, _ in modes(rows, every):
            if two: out.append(f"print (let f = f{k} in let g (x, y) = f x y in\n"
                               f"  [ let x = points[2 * i] in let y = points[2 * i + 1] in {mode} | i < length points / 2 ])\n")
            else: out.append(f"print (let f = f{k} in [ {mode} x | x in points ])\n")
    path = os.path.join(folder, "edges.atl")
    with open(path, "w") as f: f.write("".join(out))
    return path


def is_pair(rows):
    return len(rows[0]) == 8


def run(path, options):
    r = subprocess.run([ATLED, *options, path], capture_output=True, text=True, timeout=300)
    if r.returncode: sys.exit(f"{options}: status {r.returncode}\n{r.stderr[:2000]}")
    return [eval(line, {"nan": math.nan, "inf": math.inf}) for line in r.stdout.splitlines()]


def check(table, results, options, every, worst):
    """The values that are wrong, one line each; `worst` takes the largest error of each function and order."""
    problems, results = [], iter(results)
    for name, rows in table.items():
        for mode, columns in modes(rows, every):
            for row, y in zip(rows, next(results), strict=True):
                point, wanted = (row[:2], row[2:]) if is_pair(rows) else (row[:1], row[1:])
                for k, v in zip(columns, y if isinstance(y, tuple) else (y,), strict=True):
                    order = PAIR_ORDER[k] if is_pair(rows) else k
                    # forward mode over forward mode multiplies a direction's zero by what overflows
                    lost = math.isnan(v) and any(w is not None and math.isinf(w) for w in wanted[3:]) and is_pair(rows)
                    error = 0.0 if lost else ulps(v, wanted[k])
                    worst[name, order] = max(worst.get((name, order), 0), error)
                    if error > max(BOUND[order], PRODUCTS.get(name, 0)):
                        problems.append(f"{name}: {mode} at {', '.join(map(repr, point))}: {v!r}, not {wanted[k]!r} "
                                        f"({error:.3g} ulp) {' '.join(options)}")
    return problems


def main():
    table = read_table(os.path.join(HERE, "gradients", "edges.tsv"))
    problems, worst = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for options, every in RUNS: problems += check(table, run(program(table, folder, every), options), options, every, worst)
    if SHOW:
        for (name, order), error in worst.items(): print(f"{name:26} {order} {error:.3g}")
    print("\n".join(problems) or f"{len(table)} functions have their values at the edges")
    sys.exit(bool(problems))


main()
