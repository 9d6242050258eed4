#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A cotangent of zero gives a zero, whatever the partial derivative is: for each differentiable operation of src/ir/ops.def but
sums and plain products, for powers and the library's other scalar functions, at each special value. The cotangent is given, is that
of an element nobody uses, and is a direction of forward mode; so, at finite values, in the derivative of the derivative, unless
that is a product or quotient.

usage: test_zero_cotangents.py ATLED OPS_DEF"""
import itertools, re, subprocess, sys, tempfile, os
from scalar_rows import rows

ATLED, OPS = sys.argv[1], sys.argv[2]
VALUES = ["0.0", "-0.0", "5e-324", "-5e-324", "1e-310", "0.5", "-0.5", "1.0", "-1.0", "0.9999999999999999", "2.0", "-3.0", "27.5",
          "-170.0", "710.0", "-710.0", "1000.0", "-1000.0", "1e160", "-1e200", "1.7e308", "-1.7e308", "inf", "-inf"]
PLAIN = {"FADD", "FSUB", "FMUL", "FMA", "FNEG", "SELECT"}
POWERS = [-17, -2, -1, 0, 1, 3, 4, 5, 17, 40]  # x ^ 2 is x * x
OTHERS = ["sigmoid {0}", "softplus {0}", "relu {0}", "clamp (-1.0) 1.0 {0}", "1.0 / (1.0 + exp (-{0}))", "{0} ** 0.5", "{0} ** (-1.5)",
          "2.0 ** {0}", "0.0 ** {0}"]
PRODUCTS = ("gamma", "trigamma", "1.0 /")  # of which the derivatives are products
RUNS = [["--jit=off"], ["--jit=off", "--strict-fp"], ["--jit=always"], ["--jit=always", "--strict-fp"]]


def functions():
    """(expression, number of its arguments)"""
    for name, operands, result, text, _ in rows(OPS):
        if result != "f" or "f" not in operands or name in PLAIN:
            continue
        if operands == "fi":
            yield from ((text.format("x", f"({n})"), 1) for n in POWERS)
        else:
            yield text.format("x", "y"), len(operands)
    yield from ((text.format("x"), 1) for text in OTHERS)


def program(table):
    out = ["let number s = match float_of_string s with | Some x -> x | None -> nan\n"
           f"let xs = map number [{', '.join(f'{chr(34)}{x}{chr(34)}' for x in VALUES)}]\n"
           "let used f x = (grad (fun v -> [ f y | y in v ][0]) [0.75, x])[1]\n"
           "let used2 f x y = let (a, b) = (grad (fun v -> [ f (fst p) (snd p) | p in v ][0]) [(0.75, 0.25), (x, y)])[1] in [a, b]\n"]
    for text, n in table:
        if n == 1:
            out.append(f"print (let f x : float = {text} in [ [snd (vjp f x) 0.0, snd (vjp f x) (-0.0), snd (jvp f x 0.0), used f x, "
                       "snd (vjp (grad f) x) 0.0, snd (jvp (grad f) x 0.0), snd (vjp (deriv f) x) 0.0] | x in xs ])\n")
        else:
            out.append(f"ignore (let f x y : float = {text} in let g (x, y) = f x y in let pair (a, b) = [a, b] in "
                       "map (fun x -> print [ pair (snd (vjp g (x, y)) 0.0) ++ used2 f x y ++ [snd (jvp g (x, y) (0.0, 0.0))] | y in xs ]) xs)\n")
    return "".join(out)


def check(table, options, folder):
    path = os.path.join(folder, "zeros.atl")
    with open(path, "w", encoding="utf-8") as f:
        f.write(program(table))
    r = subprocess.run([ATLED, *options, path], capture_output=True, text=True, timeout=600)
    if r.returncode:
        sys.exit(f"{options}: status {r.returncode}\n{r.stderr[:2000]}")
    lines = iter(r.stdout.splitlines())
    for text, n in table:
        shown = " ".join(itertools.islice(lines, len(VALUES) ** (n - 1)))
        found = [[float(x) for x in row.split(", ")] for row in re.findall(r"\[([^\[\]]+)\]", shown)]
        for point, row in zip(itertools.product(VALUES, repeat=n), found, strict=True):
            second = n == 2 or "inf" not in point[0] and not text.startswith(PRODUCTS)
            if any(x != 0 for x in (row if second else row[:4])):
                yield f"{text} at {', '.join(point)}: {row} {' '.join(options)}"


def main():
    table = list(functions())
    with tempfile.TemporaryDirectory() as folder:
        problems = [p for options in RUNS for p in check(table, options, folder)]
    print("\n".join(problems) or f"{len(table)} functions and powers make a zero of a zero cotangent")
    sys.exit(bool(problems))


main()
