#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Differentiation leaves nothing behind: the final graphs of small derivatives hold no closure, call or allocation, at
most two operations more than the derivative of the textbook, and have its values at random points.

usage: test_residue.py ATLED [--show]      --show prints the table of counts

Each case: the function's definition in Atled; its derivative as one would write it, in Python (of x, y, z); how many
operations that takes, a function of the library counting as one and repeated parts as often as good code computes them.
Sharing is tested last: thirty chained steps, each of which uses its argument eight times."""
import math, random, re, subprocess, sys, tempfile, os

ATLED, SHOW = sys.argv[1], "--show" in sys.argv

POW = "let rec pow x n = if n = 0 then 1.0 else x * pow x (n - 1)\n"
COMPOSE = "let compose f g x = f (g x)\n"
# name, helpers, body of `g x y z`, textbook derivative (tuple), operations of the textbook's, or a bound of its own
CASES = [
    ("x^3", "", "grad (fun x -> x * x * x) x", lambda x, y, z: (3 * x**2,), 2),
    ("(x + y) y", "", "grad (fun (x, y) -> (x + y) * y) (x, y)", lambda x, y, z: (y, x + 2 * y), 2),
    ("sin(x^2)", "", "grad (fun x -> sin (x ^ 2)) x", lambda x, y, z: (2 * x * math.cos(x * x),), 4),
    ("x exp(-x^2/2)", "", "grad (fun x -> x * exp (-x ^ 2 / 2.0)) x", lambda x, y, z: ((1 - x * x) * math.exp(-x * x / 2),), 6),
    ("compose", COMPOSE, "grad (compose sin (compose exp cos)) x",
     lambda x, y, z: (-math.sin(x) * math.exp(math.cos(x)) * math.cos(math.exp(math.cos(x))),), 7),
    ("two closures", "", "grad (fun x -> let k = fun u -> x * u in let m = fun u -> k u * x in m y) x", lambda x, y, z: (2 * x * y,), 2),
    ("dot of records", "type v3 = {a : float, b : float, c : float}\nlet dot3 p q = p.a * q.a + p.b * q.b + p.c * q.c\n",
     "let g = grad (fun p -> dot3 p {a = z, b = y, c = x}) {a = x, b = y, c = z} in (g.a, g.b, g.c)", lambda x, y, z: (z, y, x), 0),
    ("value and gradient", "", "value_and_grad (fun x -> exp (sin x)) x",
     lambda x, y, z: (math.exp(math.sin(x)), math.cos(x) * math.exp(math.sin(x))), 4),
    ("second derivative of x^4", "", "grad (grad (fun x -> x * x * x * x)) x", lambda x, y, z: (12 * x * x,), 2),
    ("pow x 5", POW, "grad (fun x -> pow x 5) x", lambda x, y, z: (5 * x**4,), 10),
    # as 4 e / (1 + e)^2, e = exp (-2 |y|): 1 - tanh^2 has no digits left where tanh is nearly 1
    ("x tanh y", "", "grad (fun (x, y) -> x * tanh y) (x, y)", lambda x, y, z: (math.tanh(y), x * (1 - math.tanh(y) ** 2)), 8),
    ("x^2 y + y^3", "", "grad (fun (x, y) -> x * x * y + y ^ 3) (x, y)", lambda x, y, z: (2 * x * y, x * x + 3 * y * y), 6),
    ("mixed modes", "", "deriv (fun x -> grad (fun u -> u * u * x * x) y) x", lambda x, y, z: (4 * x * y,), 2),
]

FREE = {"tuple", "get", "param", "global"}
FORBIDDEN = {"closure", "apply", "call", "inj", "array", "zeros", "loop", "acc_at", "fill", "take", "vjp", "jvp", "fail"}


def operations(text):
    """The operations of a printed graph."""
    ops = [m.group(1) for m in re.finditer(r"^\s*%\d+ : .* = (\S+)", text, re.M)]
    return [o for o in ops if o not in FREE]


def run(args):
    r = subprocess.run([ATLED] + args, capture_output=True, text=True, timeout=60)
    if r.returncode:
        sys.exit(f"{args}: status {r.returncode}\n{r.stderr}")
    return r.stdout


def close(a, b):
    return abs(a - b) <= 1e-12 * max(1.0, abs(b))


def check(case, folder, points):
    name, helpers, body, textbook, expected = case
    path = os.path.join(folder, "case.atl")
    source = f"{helpers}let g x y z = {body}\n"
    source += "".join(f"print (g ({x!r}) ({y!r}) ({z!r}))\n" for x, y, z in points)
    with open(path, "w") as f:
        f.write(source.replace("let g x y z", "let g (x : float) (y : float) (z : float)"))
    ops = operations(run(["ir", "--stage=final", "--of=g", path]))
    left = FORBIDDEN.intersection(ops)
    if SHOW:
        print(f"{name:28} {len(ops):2} operations, textbook {expected:2}")
    problems = []
    if left:
        problems.append(f"left behind: {sorted(left)}")
    if len(ops) > expected + 2:
        problems.append(f"{len(ops)} operations, the textbook's has {expected}: {ops}")
    got = [float(t) for t in re.findall(r"[-+]?[\d.]+(?:e[-+]?\d+)?", run([path]))]
    want = [v for p in points for v in textbook(*p)]
    if len(got) != len(want) or not all(map(close, got, want)):
        problems.append(f"values {got}, expected {want}")
    return [f"{name}: {p}" for p in problems]


def check_sharing(folder):
    """Thirty steps of eight additions: linear in size in every mode, and 8^30 or 0 in value."""
    f = "let step x = x + x + x + x + x + x + x + x\nlet f x = " + "step (" * 30 + "x" + ")" * 30 + "\n"
    path = os.path.join(folder, "sharing.atl")
    problems = []
    for mode, value in [("grad f", 8.0**30), ("deriv f", 8.0**30), ("grad (grad f)", 0.0), ("deriv (grad f)", 0.0),
                        ("grad (deriv f)", 0.0), ("deriv (deriv f)", 0.0)]:
        with open(path, "w") as out:
            out.write(f + f"let g (x : float) = {mode} x\nprint (g 0.5)\n")
        n = len(operations(run(["ir", "--stage=final", "--of=g", path])))
        if n > 300 or not close(float(run([path])), value):
            problems.append(f"sharing, {mode}: {n} operations")
    return problems


def main():
    rng = random.Random(7)
    points = [tuple(round(rng.uniform(-2, 2), 6) for _ in range(3)) for _ in range(5)]
    with tempfile.TemporaryDirectory() as folder:
        problems = [p for c in CASES for p in check(c, folder, points)] + check_sharing(folder)
    print("\n".join(problems) or f"{len(CASES)} derivatives are as small as the textbook's")
    sys.exit(bool(problems))


main()
