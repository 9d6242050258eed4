#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random functions whose gradients are printed as source (`atled grad`): the printed program against the gradient itself.

usage: grads.py ATLED [N] [--seed S] [--only CLASS/NUMBER] [--jobs N] [--least PERCENT] [--native] [--show]

N (100) functions of each class: scalars, loops, arrays, recursion, closures. The gradient of each is printed; the printed
program, alone in a strict VM, takes no derivative, and at 20 points it has the same value as `grad f`, to the last bit but
for signs of zero, or fails where that fails. Prints how many could be printed in each class, and why others couldn't.
--least (90): so many percent must be. --native: as machine code, too. --show: print programs. Exit status 1: there was a
difference, or fewer could be printed."""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import generate  # noqa: E402
from typed import PREAMBLE, type_text  # noqa: E402

CLASSES = ("scalars", "loops", "arrays", "recursion", "closures")
POINTS = 20
DERIVATIVE = re.compile(r"\b(grad|value_and_grad|vjp|jvp|deriv|jacobian|hessian|hvp)\b")
SMOOTH = ("sin", "cos", "tanh", "atan", "sigmoid", "softplus", "erf")
ROUGH = ("abs", "relu", "exp", "sqrt", "log1p", "log", "cbrt", "floor")


class Gen:
    """A function f, with what it needs before it, and points for it."""

    def __init__(self, kind, number, seed):
        self.rng, self.names, self.defs = random.Random(f"{seed}/{kind}/{number}"), 0, []
        self.type, self.body = getattr(self, kind)()

    def text(self):
        return "\n".join(self.defs + [f"let f (x : {self.type}) : float =", "  " + self.body.replace("\n", "\n  "), ""])

    def points(self):
        return [self.point(k) for k in range(POINTS)]

    # ---- Choosing ---------------------------------------------------------------------------
    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *xs):
        return self.rng.choice(xs)

    def name(self, base="y"):
        self.names += 1
        return f"{base}{self.names}"

    def number(self):
        return self.pick("0.5", "2.0", "1.5", "0.1", "3.0", "0.25", "(-1.0)", "0.7")

    def float(self, k):
        r = self.rng
        special = (0.0, 1.0, -1.0, 2.0, 1e-3, 30.0, -5.5)
        x = special[k] if k < len(special) and self.chance(0.5) else round(r.uniform(-3, 3), 3)
        return f"({x})" if x < 0 else str(x)

    # ---- Expressions ------------------------------------------------------------------------
    def expr(self, vs, n):
        """A float made of the floats vs."""
        if n <= 0 or not vs:
            return self.pick(*vs, *vs, *vs, self.number()) if vs else self.number()
        a, b = (n - 1) // 2, n - 1 - (n - 1) // 2
        k = self.rng.randrange(16)
        if k < 4:
            return f"({self.expr(vs, a)} {self.pick('+', '-', '*')} {self.expr(vs, b)})"
        if k < 7:
            return f"({self.expr(vs, a)} * {self.expr(vs, b)})"
        if k == 7:
            return f"({self.expr(vs, a)} / (1.2 + sin {self.expr(vs, b)}))"
        if k < 11:
            return f"({self.pick(*SMOOTH)} {self.expr(vs, n - 1)})"
        if k == 11:
            return f"({self.pick(*ROUGH)} {self.expr(vs, n - 1)})"
        if k == 12:
            y = self.name()
            return f"(let {y} = {self.expr(vs, a)} in {self.expr(vs + [y], b)})"
        if k == 13:
            return f"(if {self.condition(vs)} then {self.expr(vs, a)} else {self.expr(vs, b)})"
        if k == 14:
            return f"({self.pick('max', 'min', 'hypot')} {self.expr(vs, a)} {self.expr(vs, b)})"
        return f"({self.expr(vs, n - 1)} ^ {self.pick(2, 3)})"

    def condition(self, vs):
        c = f"{self.expr(vs, 1)} {self.pick('<', '>', '<=')} {self.expr(vs, 1)}"
        return f"{c} && {self.expr(vs, 0)} > -2.0" if self.chance(0.2) else c

    def bounded(self, vs, n):
        return f"{self.pick('sin', 'tanh', 'atan', '0.5 *')} {self.expr(vs, n)}"

    # ---- Scalars ----------------------------------------------------------------------------
    def helper(self, arity, n):
        h, ps = self.name("h"), [self.name("a") for _ in range(arity)]
        self.defs.append(f"let {h} {' '.join(ps)} = {self.expr(ps, n)}")
        return h

    def scalars(self):
        t = self.pick("float", "float", "(float * float)", "{a : float, b : float}", "(float * (float * float))", "(float * int)")
        self.make = {
            "float": lambda k: self.float(k),
            "(float * float)": lambda k: f"({self.float(k)}, {self.float(k + 3)})",
            "{a : float, b : float}": lambda k: f"{{a = {self.float(k)}, b = {self.float(k + 2)}}}",
            "(float * (float * float))": lambda k: f"({self.float(k)}, ({self.float(k + 1)}, {self.float(k + 3)}))",
            "(float * int)": lambda k: f"({self.float(k)}, {k % 4})",
        }[t]
        vs = {"float": ["x"], "{a : float, b : float}": ["x.a", "x.b"]}.get(t, ["u", "v"] if t != "(float * (float * float))" else ["u", "v", "w"])
        lines = {"(float * float)": "let (u, v) = x in\n", "(float * (float * float))": "let (u, (v, w)) = x in\n",
                 "(float * int)": "let (u, k) = x in\nlet v = float k in\n"}.get(t, "")
        for _ in range(self.rng.randint(0, 3)):
            y, k = self.name(), self.rng.randrange(6)
            if k == 0:
                lines += f"let {y} = {self.helper(2, 4)} ({self.expr(vs, 2)}) ({self.expr(vs, 2)}) in\n"
            elif k == 1:
                lines += f"let ({y}, {y}b) = if {self.condition(vs)} then ({self.expr(vs, 2)}, {self.expr(vs, 2)}) else ({self.expr(vs, 1)}, 1.0) in\n"
                vs = vs + [y + "b"]
            elif k == 2:
                lines += f"let {y} = match int ({self.expr(vs, 1)}) with | 0 -> {self.expr(vs, 2)} | 1 -> {self.expr(vs, 2)} | _ -> {self.expr(vs, 2)} in\n"
            elif k == 3:
                lines += f"let {y} = match (if {self.condition(vs)} then Some ({self.expr(vs, 2)}) else None) with | Some z -> z * {self.expr(vs + ['z'], 2)} | None -> {self.expr(vs, 1)} in\n"
            elif k == 4 and self.chance(0.5):
                lines += self.pick(f"assert ({self.expr(vs, 1)} < 20.0);\n", f"if {self.expr(vs, 1)} > 25.0 then fail \"large\";\n")
                continue
            else:
                lines += f"let {y} = {self.expr(vs, 5)} in\n"
            vs = vs + [y]
        return t, lines + self.expr(vs, self.rng.randint(2, 9))

    def point(self, k):
        return self.make(k)

    # ---- Loops ------------------------------------------------------------------------------
    def steps(self, vs, depth=0):
        """A loop over `mut` variables: text, and the names that it leaves."""
        s, t, i = self.name("s"), self.name("t"), self.name("i")
        two = self.chance(0.5)
        head = f"let mut {s} = {self.expr(vs, 1)} in\n" + (f"let mut {t} = {self.expr(vs, 1)} in\n" if two else "")
        inside = vs + [s] + [t] * two
        body = []
        for _ in range(self.rng.randint(1, 3)):
            k = self.rng.randrange(8)
            to = self.pick(s, t) if two else s
            indexed = inside + [f"(float {i})"] if self.chance(0.3) else inside
            if k == 0:
                body.append(f"if {self.condition(inside)} then {to} <- {self.bounded(indexed, 2)} else {to} <- {to} * 0.9")
            elif k == 1:
                body.append(f"{to} += 0.1 * {self.expr(indexed, 2)}")
            elif k == 2 and depth == 0:
                j = self.name("j")
                body.append(f"for {j} = {self.pick('0', '1')} to {self.pick('2', i, '3 - ' + i)} do {to} <- {self.bounded(inside + ['(float ' + j + ')'], 2)} + 0.1 * {to} done")
            elif k == 3:
                y = self.name()
                body.append(f"let {y} = {self.expr(indexed, 2)} in {to} <- {self.bounded(inside + [y], 2)}")
            else:
                body.append(f"{to} <- {self.bounded(indexed, 3)} + 0.2 * {to}")
        count = self.pick("4", "10", "n", "n + 1", "2 * n")
        kind = self.rng.randrange(5)
        if kind < 2:
            loop = f"for {i} = {self.pick('0', '1', '2')} to {count} do\n  " + ";\n  ".join(body) + "\ndone;\n"
        elif kind == 2:
            loop = f"for {i} = {count} downto {self.pick('0', '1')} do\n  " + ";\n  ".join(body) + "\ndone;\n"
        else:
            cond = f"{i} < {count}" if self.chance(0.5) else f"{i} < 12 && abs {s} < {self.pick('2.0', '0.9', '5.0')}"
            head += f"let mut {i} = 0 in\n"
            loop = f"while {cond} do\n  " + ";\n  ".join(body + [f"{i} <- {i} + 1"]) + "\ndone;\n"
        return head + loop, [s] + [t] * two

    def loops(self):
        t = self.pick("float", "float", "(float * float)", "(float * int)")
        lines = {"float": "let n = 3 + int (abs x) in\n", "(float * float)": "let (u, v) = x in\nlet n = int (4.0 * abs u) in\n",
                 "(float * int)": "let (u, n) = x in\n"}[t]
        vs = {"float": ["x"], "(float * float)": ["u", "v"], "(float * int)": ["u"]}[t]
        self.make = {"float": lambda k: self.float(k), "(float * float)": lambda k: f"({self.float(k)}, {self.float(k + 1)})",
                     "(float * int)": lambda k: f"({self.float(k)}, {k - 1})"}[t]
        for _ in range(self.rng.randint(1, 2)):
            text, names = self.steps(vs)
            lines += text
            vs = vs + names
        if self.chance(0.15):
            lines += f"assert (abs {vs[-1]} < 1.5);\n"
        return t, lines + self.expr(vs, 3)

    # ---- Arrays -----------------------------------------------------------------------------
    def array(self, k, n=None):
        n = n if n is not None else 1 + (k * 3) % 7 if k else self.pick(0, 1)
        return "[" + ", ".join(self.float(self.rng.randrange(20)) for _ in range(n)) + "]"

    def element(self, arrays, i):
        a = self.pick(*arrays)
        return self.pick(f"{a}[{i}]", f"{a}[{i}]", f"{a}[length {a} - 1 - {i}]")

    def array_line(self, arrays, vs):
        """A definition of one more array of the same length n, or of a number."""
        y, i = self.name("v"), self.name("i")
        at = lambda m: self.expr([self.element(arrays, i), self.element(arrays, i)] + vs, m)
        a = self.pick(*arrays)
        k = self.rng.randrange(14)
        if k < 3:
            return f"let {y} = [ {at(3)} | {i} < n ] in\n", "array", y
        if k == 3:
            z = self.name("z")
            return f"let {y} = map (fun {z} -> {self.expr([z] + vs, 3)}) {a} in\n", "array", y
        if k == 4:
            return f"let {y} = {self.number()} * {a} + {self.pick(*arrays)} in\n", "array", y
        if k == 5:
            text = f"let mut {y} = {a} in\nfor {i} = {self.pick('1', '2')} to n - 1 do {y}[{i}] <- 0.5 * {y}[{i} - 1] + {at(2)} done;\n"
            return text + f"let {y} = {y} in\n", "array", y
        if k == 6:
            ks = f"[ ({i} * {self.pick(2, 3, 5)} + 1) % n | {i} < n ]"
            q = self.name("q")
            return f"let {q} = {ks} in\nlet {y} = [ {a}[{q}[{i}]] * {self.expr(vs, 1)} | {i} < n ] in\n", "array", y
        if k == 7:
            return f"let {y} = {self.pick('cumsum', 'reverse', 'softmax')} {a} in\n", "array", y
        if k == 8:
            return f"let {y} = {a}[{self.pick('0..n / 2', '..n - n / 2', 'n / 2..')}] in\nlet {y}s = {self.pick('sum', 'norm', 'mean')} (0.5 * {y}) in\n", "number", y + "s"
        if k == 9:
            m, j = self.name("m"), self.name("j")
            text = f"let {m} = [ {self.expr([f'{a}[{i}]', f'{a}[{j}]'] + vs, 2)} | {i} < n, {j} < {self.pick('n', '3')} ] in\n".replace(f"{a}[{j}]", f"{a}[{j} % n]")
            return text + f"let {y} = {self.pick(f'[ sum r | r in {m} ]', f'[ {m}[{i}, 0] | {i} < n ]', f'{m}[n - 1]', f'({m} @ transpose {m})[0]')} in\nlet {y}s = sum {y} in\n", "number", y + "s"
        if k == 10:
            return f"let {y} = {self.pick('sum', 'mean', 'maximum', 'minimum', 'product', 'norm', 'logsumexp')} {a} in\n", "number", y
        if k == 11:
            return f"let {y} = dot {a} {self.pick(*arrays)} in\n", "number", y
        if k == 12:
            z, w = self.name("z"), self.name("w")
            return f"let {y} = fold (fun {z} {w} -> {self.bounded([z, w] + vs, 2)} + 0.1 * {z}) 0.5 {a} in\n", "number", y
        return f"let {y} = {a}[{self.pick('0', 'n - 1', '2', 'n / 2')}] in\n", "number", y

    def arrays(self):
        t = self.pick("float[]", "float[]", "float[]", "(float[] * float)", "{a : float[], b : float}", "float[][]")
        lines = {"float[]": "let n = length x in\n", "(float[] * float)": "let (xs, u) = x in\nlet n = length xs in\n",
                 "{a : float[], b : float}": "let n = length x.a in\n", "float[][]": "let n = length x in\nlet r = x[0] in\nlet c = [ w[0] | w in x ] in\nlet q = sum (flatten x) in\n"}[t]
        arrays, vs = {"float[]": (["x"], []), "(float[] * float)": (["xs"], ["u"]), "{a : float[], b : float}": (["x.a"], ["x.b"]),
                      "float[][]": (["r", "c"], ["q"])}[t]
        self.make = {"float[]": self.array, "(float[] * float)": lambda k: f"({self.array(k)}, {self.float(k)})",
                     "{a : float[], b : float}": lambda k: f"{{a = {self.array(k)}, b = {self.float(k)}}}",
                     "float[][]": lambda k: "[" + ", ".join(self.array(0, 1 + k % 4) for _ in range(1 + k % 4)) + "]"}[t]
        for _ in range(self.rng.randint(1, 4)):
            text, kind, name = self.array_line(arrays, vs)
            lines += text
            arrays, vs = (arrays + [name], vs) if kind == "array" else (arrays, vs + [name])
        i = self.name("i")
        total = self.pick(f"sum [ {self.expr([self.element(arrays, i), self.element(arrays, i)] + vs, 3)} | {i} < n ]",
                          f"sum {arrays[-1]}", f"dot {arrays[-1]} {self.pick(*arrays)}")
        return t, lines + (f"{total} + {self.expr(vs, 2)}" if vs else total)

    # ---- Recursion --------------------------------------------------------------------------
    def recursion(self):
        return getattr(self, "on_" + self.pick("numbers", "numbers", "lists", "lists", "trees", "trees", "shapes", "mutual"))()

    def on_numbers(self):
        g = self.name("g")
        step, base = self.expr(["y"], 2), self.expr(["y"], 1)
        rec = self.pick(f"{self.bounded([f'({g} ({step}) (n - 1))', 'y'], 3)}", f"0.5 * {g} ({step}) (n - 1) + y * {g} (0.5 * y) (n - 2)",
                        f"if y > {self.number()} then {g} (y - 1.0) (n - 1) else sin ({g} (y + 0.3) (n - 2)) * y",
                        f"let z = {g} ({step}) (n - 1) in {self.expr(['y', 'z'], 3)}")
        self.defs.append(f"let rec {g} y n = if n <= 0 then {base} else {rec}")
        self.make = lambda k: f"({self.float(k)}, {k % 7})"
        return "(float * int)", f"let (u, n) = x in\n{self.expr([f'({g} u n)', 'u'], 2)} + {g} (0.5 * u) 3"

    def list_of(self, k):
        return "(" + " :: ".join([self.float(self.rng.randrange(20)) for _ in range(k % 6)] + ["Nil"]) + ")"

    def on_lists(self):
        g = self.name("g")
        kind, t = self.rng.randrange(5), "float list"
        self.make = self.list_of
        if kind == 0:
            self.defs.append(f"let rec {g} l = match l with | Nil -> {self.number()} | y :: r -> {self.expr(['y'], 2)} + {self.bounded([f'({g} r)', 'y'], 2)}")
            return t, f"{g} x"
        if kind == 1:
            self.defs.append(f"let rec {g} acc l = match l with | Nil -> acc | y :: r -> {g} ({self.bounded(['acc', 'y'], 2)}) r")
            return t, f"{g} 0.5 x * {g} 1.0 x"
        if kind == 2:
            self.defs.append(f"let rec {g} l = match l with | Nil -> Nil | y :: r -> ({self.expr(['y'], 2)}) :: {g} r")
            return t, f"List.fold (fun a y -> {self.bounded(['a', 'y'], 2)} + a) 0.0 ({g} x)"
        if kind == 3:
            self.defs.append(f"let rec {g} l = match l with | a :: b :: r -> {self.expr(['a', 'b'], 3)} + {g} (b :: r) | a :: Nil -> a * a | Nil -> 1.0")
            return t, f"{g} x + List.fold (fun s y -> s + y * y) 0.0 x"
        self.defs.append(f"let rec {g} l = match l with | Nil -> 0.0 | (y, k) :: r -> (if k > 1 then {self.expr(['y'], 2)} else y) + 0.5 * {g} r")
        self.make = lambda k: "(" + " :: ".join([f"({self.float(9)}, {j % 4})" for j in range(k % 6)] + ["Nil"]) + ")"
        return "(float * int) list", f"{g} x"

    def tree_of(self, depth):
        if depth == 0 or self.chance(0.2):
            return "Leaf"
        return f"(Node ({self.tree_of(depth - 1)}, {self.float(9)}, {self.tree_of(depth - 1)}))"

    def on_trees(self):
        g = self.name("g")
        self.defs.append("type tree = Leaf | Node of tree * float * tree")
        self.make = lambda k: self.tree_of(k % 4)
        kind = self.rng.randrange(4)
        if kind == 0:
            self.defs.append(f"let rec {g} t = match t with | Leaf -> {self.number()} | Node (l, y, r) -> {self.bounded([f'({g} l)', f'({g} r)', 'y'], 4)}")
            return "tree", f"{g} x"
        if kind == 1:
            self.defs.append(f"let rec {g} d t = match t with | Leaf -> d | Node (l, y, r) -> {g} (d * 0.5 + y) l + {g} ({self.bounded(['d', 'y'], 2)}) r")
            return "tree", f"{g} 1.0 x"
        if kind == 2:
            self.defs.append(f"let rec {g} t = match t with | Leaf -> Leaf | Node (l, y, r) -> Node ({g} r, {self.expr(['y'], 2)}, {g} l)")
            self.defs.append(f"let rec {g}s t = match t with | Leaf -> 0.0 | Node (l, y, r) -> {g}s l + y * 0.5 + sin y * {g}s r")
            return "tree", f"{g}s ({g} x)"
        self.defs.append(f"let rec {g} t = match t with | Leaf -> (0.0, 1.0) | Node (l, y, r) -> let (a, b) = {g} l in let (c, d) = {g} r in ({self.bounded(['a', 'c', 'y'], 2)}, {self.bounded(['b', 'd', 'y'], 2)})")
        return "tree", f"let (a, b) = {g} x in a * b + a"

    def on_shapes(self):
        g = self.name("g")
        self.defs.append("type term = Const of float | Var of float | Add of term * term | Mul of term * term | Sin of term")
        self.defs.append(f"let rec {g} t u = match t with | Const c -> c | Var w -> w * u | Add (a, b) -> {g} a u + {g} b u | Mul (a, b) -> {g} a u * {g} b u | Sin a -> {self.pick('sin', 'tanh')} ({g} a u)")

        def term(d):
            k = self.rng.randrange(5) if d else self.rng.randrange(2)
            return [f"(Const {self.float(9)})", f"(Var {self.float(9)})"][k] if k < 2 else f"(Sin {term(d - 1)})" if k == 4 else f"({'Add' if k == 2 else 'Mul'} ({term(d - 1)}, {term(d - 1)}))"
        self.make = lambda k: f"({term(1 + k % 4)}, {self.float(k)})"
        return "(term * float)", f"let (t, u) = x in\n{g} t u + {self.expr(['u'], 1)}"

    def on_mutual(self):
        g, h = self.name("g"), self.name("h")
        self.defs.append(f"let rec {g} y n = if n <= 0 then {self.expr(['y'], 1)} else {self.bounded([f'({h} (y * 0.5) (n - 1))', 'y'], 2)}\n"
                         f"and {h} y n = if n <= 0 then {self.expr(['y'], 1)} else {self.bounded([f'({g} (y + 0.2) (n - 1))', 'y'], 2)} * y")
        self.make = lambda k: f"({self.float(k)}, {k % 7})"
        return "(float * int)", f"let (u, n) = x in\n{g} u n + {h} u 2"

    # ---- Closures ---------------------------------------------------------------------------
    def lambda_of(self, vs, n=3):
        z = self.name("z")
        return f"(fun {z} -> {self.expr([z, z] + vs, n)})"

    def closures(self):
        k = self.rng.randrange(12)
        t = self.pick("float", "(float * float)")
        vs, lines = (["x"], "") if t == "float" else (["u", "v"], "let (u, v) = x in\n")
        self.make = {"float": self.float, "(float * float)": lambda k: f"({self.float(k)}, {self.float(k + 1)})"}[t]
        y = vs[0]
        if k == 0:
            return t, lines + f"let f = {self.lambda_of(vs)} in\nlet g = {self.lambda_of(vs)} in\n(f >> g) {y} + f (g {self.expr(vs, 1)})"
        if k == 1:
            self.defs.append(f"let twice f y = {self.pick('f (f y)', 'f y + f (0.5 * y)', 'f (y * f y)')}")
            return t, lines + f"twice {self.lambda_of(vs)} {y} * twice (twice {self.lambda_of(vs, 2)}) 0.5"
        if k == 2:
            self.defs.append("let rec iterate f n y = if n <= 0 then y else iterate f (n - 1) (f y)")
            return t, lines + f"iterate (fun z -> {self.bounded(['z'] + vs, 2)}) {self.pick('3', '6', f'(int (abs {y}))')} {self.expr(vs, 1)}"
        if k == 3:
            return t, lines + f"let f = if {self.condition(vs)} then {self.lambda_of(vs)} else {self.lambda_of(vs)} in\nf {y} + f {self.expr(vs, 1)}"
        if k == 4:
            return t, lines + f"let fs = [{self.lambda_of(vs, 2)}, {self.lambda_of(vs, 2)}, {self.lambda_of(vs, 2)}] in\nfs[0] {y} * fs[1] {y} + fs[2] 1.5"
        if k == 5:
            return t, lines + f"let add a b = {self.expr(['a', 'b'] + vs, 3)} in\nlet part = add {self.expr(vs, 1)} in\npart {y} * part 2.0"
        if k == 6:
            return t, lines + f"let p = {{f = {self.lambda_of(vs)}, w = {self.expr(vs, 1)}}} in\np.f p.w + p.w * p.f {y}"
        if k == 7:
            return t, lines + f"sum (map {self.lambda_of(vs)} [ {y} * float i | i < {self.pick('3', '5', f'int (abs {y})')} ])"
        if k == 8:
            return t, lines + f"fold (fun a g -> {self.bounded(['a', f'(g {y})'], 1)}) 1.0 [{self.lambda_of(vs, 2)}, {self.lambda_of(vs, 2)}]"
        if k == 9:
            self.defs.append("let compose fs y = List.fold (fun a f -> f a) y fs")
            return t, lines + f"compose ({self.lambda_of(vs, 2)} :: {self.lambda_of(vs, 2)} :: Nil) {y}"
        if k == 10:
            self.defs.append(f"let make a b = fun y -> {self.expr(['a', 'b', 'y'], 4)}")
            return t, lines + f"let g = make {self.expr(vs, 1)} {self.number()} in\ng {y} + make 1.0 {self.expr(vs, 0)} (g 0.5)"
        return t, lines + f"let mut s = {y} in\nlet step = {self.lambda_of(vs, 2)} in\nfor i = 1 to {self.pick('3', '5')} do s <- tanh (step s) done;\ns"


class Mixed:
    """A program of generate.py, with all constructs of the language, which may fail."""

    def __init__(self, number, seed):
        for draw in range(100):
            gen = generate.Gen(number + 1000 * draw, seed, 12, 0, number % 3 == 1)
            self.program = gen.program()
            if not self.program.ordered and "print" not in self.program.text():
                break
        self.like, self.type = gen.like, type_text(self.program.type)

    def text(self):
        return f"{PREAMBLE}{self.program.text()}let f (x : {self.type}) : float = f{self.program.number} x\n"

    def points(self):
        return [self.like(self.program.point).text() for _ in range(POINTS)]


# ---- Runs -----------------------------------------------------------------------------------------
def run(atled, args, text, folder, name):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    r = subprocess.run([atled, *args, path], capture_output=True, text=True, timeout=20)
    return r.returncode, r.stdout, r.stderr


def calls(function, points):
    """Each value on a line, or `fails`."""
    lines = ["let outcome r = match r with | Ok v -> show v | Error _ -> \"fails\""]
    for p in points:
        lines.append(f"print (outcome (attempt (fun () -> {function} ({p}))))")
    return "\n".join(lines) + "\n"


def without_signs(output):
    return re.sub(r"-nan", "nan", re.sub(r"-0\.0\b(?!e)", "0.0", output)).split("\n")


def compare(atled, program, folder, mode):
    """What is wrong with the printed program; None: it couldn't be printed, and the second is why."""
    source, points = program.text(), program.points()
    status, printed, error = run(atled, ["grad", "--strict-fp", "--of=f"], source, folder, "f.atl")
    if status != 0:
        why = re.search(r"can't be written as source: it (.*)", error)
        if "is captured by a function" in error and isinstance(program, Mixed):
            return None, "isn't a program"
        return (None, why[1]) if why else (f"`atled grad` ended with {status}:\n{error}", "")
    if DERIVATIVE.search(printed):
        return "the printed program takes a derivative", printed
    _, wanted, trouble = run(atled, [*mode, "--strict-fp"], source + calls("grad f", points), folder, "wanted.atl")
    status, got, error = run(atled, [*mode, "--strict-fp"], printed + calls("grad_f", points), folder, "got.atl")
    if wanted.count("\n") != len(points):
        return f"the gradient can't be run:\n{trouble}", printed
    if status != 0:
        return f"the printed program ended with {status}:\n{error}", printed
    for p, a, b in zip(points, without_signs(wanted), without_signs(got)):
        if a != b:
            return f"at {p}:\n  grad f   {a}\n  printed  {b}", printed
    return "", printed


def one(atled, kind, number, seed, native, show):
    program = Mixed(number, seed) if kind == "mixed" else Gen(kind, number, seed)
    with tempfile.TemporaryDirectory() as folder:
        try:
            wrong, other = compare(atled, program, folder, ["--jit=off"])
            if wrong == "" and native:
                wrong, other = compare(atled, program, folder, ["--jit=always"])
        except subprocess.TimeoutExpired:
            wrong, other = "it takes more than 20 seconds", ""
    if show:
        print(f"{program.text()}\n{other}")
    return kind, number, wrong, other, program.text()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("atled")
    parser.add_argument("n", nargs="?", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=90)
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--show", action="store_true")
    o = parser.parse_args()
    work = [(kind, k) for kind in CLASSES for k in range(o.n)]
    if o.only:
        kind, _, k = o.only.partition("/")
        work = [(kind, int(k))] if k else [(kind, k) for k in range(o.n)]
    printed, reasons, bad = collections.Counter(), collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for kind, k, wrong, other, text in pool.map(lambda w: one(o.atled, *w, o.seed, o.native, o.show), work):
            if wrong is None:
                reasons[f"{kind}: it {other}"] += 1
            elif wrong:
                bad += 1
                print(f"{kind}/{k}: {wrong}\n{text}\n--- printed:\n{other}")
            else:
                printed[kind] += 1
    of = collections.Counter(kind for kind, _ in work)
    print(", ".join(f"{kind} {printed[kind]}/{of[kind]}" for kind in of) + f": {sum(printed.values())} of {len(work)} printed and equal")
    for why, count in reasons.most_common():
        print(f"  {count:3} {why}")
    return 1 if bad or 100 * sum(printed.values()) < o.least * len(work) else 0


if __name__ == "__main__":
    sys.exit(main())
