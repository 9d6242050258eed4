# SPDX-License-Identifier: MIT
"""Random well-typed Atled programs whose values and derivatives are known to exist.

A program is a function f from a random type to float with a few definitions before it, a point and two directions.
The same seed gives the same program. Expressions are trees (class E) of text and smaller expressions, each with its
type, so that a failing program can be made smaller by putting one expression in the place of another of its type.

How to read it: types are tuples, ("F",) is a float, ("arr", t, n) an array of n elements of type t. A Scope says what may be
used at a place. A production is a method that makes an expression of a type; the tables at the end of Gen say which there
are for a type, and how often each is chosen. Most are templates: text with holes like {F}, listed in templates.py.

Values stay smooth and bounded: functions of unbounded range are applied to the sine of something, assignments in loops
go through a bounded function, indices are taken modulo the length, and array lengths are known while generating.

Every production adds its name to Program.tags, with the derivative operator it stands in."""
import random
import re

from derivatives import Derivatives
from statements import Statements
from templates import DECIDED, FAILING, ORDERED, ROUNDING, TEMPLATES, UNARY  # noqa: F401
from typed import (B, BAD, E, F, FUN, I, LIST, OPT, PREAMBLE, RECORD, SHAPE, TREE, Program, Scope, arr, has_float, is_fixed, mat,
                   type_text)


class Gen(Statements, Derivatives):
    def __init__(self, number, seed, size, draw=0, failing=False):
        self.rng = random.Random(f"{seed}/{number}" + f"/{draw}" * (draw > 0))
        self.p = Program(number, seed, failing)
        self.size = size
        self.names = 0

    # ---- Choosing ---------------------------------------------------------------------------
    def name(self, prefix="y"):
        self.names += 1
        return f"{prefix}{self.names}"

    def chance(self, p):
        return self.rng.random() < p

    def number(self, low=-1.5, high=1.5):
        x = round(self.rng.uniform(low, high), 3)
        return f"({x})" if x < 0 else str(abs(x))

    def split(self, n, k):
        """n over k parts."""
        cuts = sorted(self.rng.randint(0, max(0, n)) for _ in range(k - 1))
        return [b - a for a, b in zip([0] + cuts, cuts + [max(0, n)])]

    def some_type(self, functions=True, fixed=False):
        r = self.rng
        k = r.randrange(12 if fixed else 17 + 3 * functions)
        if k < 4:
            return F
        if k < 6:
            return arr(F, r.randint(1, 4))
        if k == 6:
            return mat(r.randint(1, 3), r.randint(1, 3))
        if k == 7:
            return RECORD
        if k < 10:
            return ("tup", tuple(self.some_type(functions, fixed) if self.chance(0.3) else r.choice([F, F, arr(F, 2)])
                                 for _ in range(r.randint(2, 3))))
        if k == 10:
            return arr(("tup", (F, F)), r.randint(1, 3))
        if k == 11:
            return ("tup", (F, I)) if self.chance(0.5) else arr(F, 3)
        if k < 17:
            return r.choice([LIST, OPT, SHAPE, TREE, LIST])
        return r.choice([FUN, FUN, ("tup", (F, FUN)), arr(FUN, 2), ("list", FUN), ("opt", FUN), ("fun", (F, F), F)])

    def diff_type(self, functions=False):
        """A type that derivatives can be taken in."""
        while True:
            t = self.some_type(functions)
            if has_float(t):
                return t

    # ---- The driver -------------------------------------------------------------------------
    def expr(self, t, s, n):
        for _ in range(20):
            if n <= 0:
                break
            table = self.table(t)
            production = self.rng.choices(table[0], table[1])[0]
            e = production(t, s, n - 1)
            if e is not None:
                self.p.tags.add((s.modes, production.__name__))
                return e
        return self.leaf(t, s)

    def leaf(self, t, s):
        names = s.named(t)
        if names and self.chance(0.85):
            return E(t, self.rng.choice(names))
        return self.constant(t, s)

    def constant(self, t, s=None):
        k, c = t[0], lambda u: self.leaf(u, s) if s else self.constant(u)
        if k == "F":
            if s:
                fields = [f"{n}.{f}" for n, u, _ in s.vars if u[0] == "rec" for f, ft in u[1] if ft == F]
                fields += [f"{n}[{self.rng.randrange(u[2])}]" for n, u, _ in s.vars if u[0] == "arr" and u[1] == F]
                if fields and self.chance(0.6):
                    return E(t, self.rng.choice(fields))
                others = [n for n, u, _ in s.vars if u != F and has_float(u)]
                if others and self.chance(0.3):
                    return E(t, f"(sin (sum (floats {self.rng.choice(others)})))")
                functions = [n for n, u, _ in s.vars if u == FUN]
                if functions and self.chance(0.3):
                    return E(t, f"({self.rng.choice(functions)} {self.number()})")
            return E(t, self.number())
        if k == "I":
            return E(t, str(self.rng.randint(0, 5)))
        if k == "B":
            return E(t, self.rng.choice(["true", "false"]))
        if k == "tup":
            return self.listing(t, "(", ", ", ")", [c(x) for x in t[1]])
        if k == "rec":
            return self.listing(t, "{", ", ", "}", [E(None, f"{f} = ", c(x)) for f, x in t[1]])
        if k == "arr":
            return self.listing(t, "[", ", ", "]", [c(t[1]) for _ in range(t[2])])
        if k == "list":
            parts = [c(t[1]) for _ in range(self.rng.randint(0 if s else 1, 3))]
            return self.listing(t, "(", " :: ", ")", parts + ["Nil"]) if parts else E(t, f"(Nil : {type_text(t)})")
        if k == "opt":
            return E(t, "(Some ", c(t[1]), ")")
        if k == "shape":
            return E(t, "(", *self.rng.choice([("Circle ", c(F)), ("Rect (", c(F), ", ", c(F), ")"), ("Spline ", c(arr(F, 2)))]), ")")
        if k == "tree":
            leaf = "Leaf" if self.chance(0.5) else "(Node (Leaf, 0.3, Leaf))"
            return E(t, "(Node (Leaf, ", c(F), f", {leaf}))")
        ys = [self.name() for _ in t[1]]
        inner = (s.closed() if s else Scope()).bind(*zip(ys, t[1]))
        return E(t, "(fun ", " ".join(f"({y} : {type_text(u)})" for y, u in zip(ys, t[1])), " -> ", self.leaf(t[2], inner), ")")

    def listing(self, t, left, between, right, parts):
        out = [left]
        for i, p in enumerate(parts):
            out += [between, p] if i else [p]
        return E(t, *out, right)

    # ---- Templates --------------------------------------------------------------------------
    HOLE = re.compile(r"\{(\w+)\}")

    def template(self, t, s, n, text):
        """Fills holes: {F} {I} {B} {FUN} …; {A}, {M} arrays of one random length, or the target's; {T} the target;
        {c} a number; {x} an operand that is a variable; {f1} the name of a smooth function."""
        known = self.rng.randint(1, 4), self.rng.randint(1, 3)
        if t[0] == "arr":
            known = (t[2], t[1][2]) if t[1][0] == "arr" else (t[2], known[1])
        types = {"F": F, "I": I, "B": B, "T": t, "FUN": FUN, "A": arr(F, known[0]), "M": mat(*known), "L": LIST, "O": OPT,
                 "S": SHAPE, "TREE": TREE, "R": RECORD, "A3": arr(F, 3), "A2": arr(F, 2), "MT": mat(known[1], known[0]),
                 "ROW": arr(F, known[1]), "F2": ("fun", (F, F), F), "SQ": mat(known[0], known[0]), "M22": mat(2, 2),
                 "P": arr(("tup", (F, F)), known[0]), "AF": arr(FUN, 2), "LF": ("list", FUN), "OF": ("opt", FUN), "A4": arr(F, 4)}
        pieces = self.HOLE.split(text)
        holes = [i for i in range(1, len(pieces), 2) if pieces[i] in types]
        share = dict(zip(holes, self.split(n, len(holes)))) if holes else {}
        inside = s.closed().change(effect=False)
        parts, inner = [], inside if re.search("attempt|vjp|jvp", text) else s.frozen() if " | " in text else s
        for i, piece in enumerate(pieces):
            if i % 2 == 0:
                parts.append(piece)
            elif i in share:
                parts.append(self.expr(types[piece], inner, share[i]))
            elif piece == "c":
                parts.append(self.number())
            elif piece == "f1":
                parts.append(self.rng.choice(UNARY))
            elif piece == "n":
                parts.append(str(known[0]))
            elif piece == "m":
                parts.append(str(known[1]))
            elif piece == "id":
                parts.append(self.name())
            else:
                raise KeyError(piece)
        return E(t, "(", *parts, ")")

    def table(self, t):
        """The productions for a type and their weights."""
        if t not in self.tables:
            rows = [(self.any_if, 3), (self.any_let, 4), (self.any_match, 3), (self.any_block, 5), (self.any_call, 3),
                    (self.any_recursion, 3), (self.any_get, 2), (self.any_derivative, 2), (self.any_fold, 2), (self.any_apply, 1),
                    (self.any_while, 1), (self.any_counted, 0.4), (self.any_checkpoint, 0.5), (self.any_par, 0.3)]
            if has_float(t) and is_fixed(t):
                rows += [(self.fixed_arithmetic, 2), (self.fixed_gradient, 1.5), (self.any_stop, 0.15)]
            if t == F:
                rows += [(self.float_gradient, 6), (self.float_inner, 2), (self.float_rule, 2), (self.float_effect, 1)]
            elif t[0] in ("tup", "rec", "opt", "list", "shape", "tree"):
                rows += [(self.any_literal, 8)]
            elif t[0] == "arr":
                rows += [(self.any_literal, 2), (self.array_comprehension, 6), (self.array_updated, 4), (self.array_slice, 2)]
            elif t[0] == "fun":
                rows += [(self.fun_lambda, 10), (self.fun_chosen, 3), (self.fun_partial, 3), (self.fun_pullback, 1)]
            key = t[0] if t[0] != "arr" else "mat" if t[1] == arr(F, t[1][-1]) else "vec" if t[1] == F else "arr"
            if t == FUN:
                key = "FUN"
            if t == RECORD:
                key = "R"
            for name, text, weight in TEMPLATES.get(key, ()):
                rows.append((self.templated(name, text), weight))
            if t == F and self.p.ordered:
                rows.append((self.float_ordered, 6))
            if t == F and self.p.failing and not self.p.ordered:
                rows += [(self.templated("failing " + name, text), 0.3) for name, text in FAILING]
            self.tables[t] = [r[0] for r in rows], [r[1] for r in rows]
        return self.tables[t]

    def templated(self, name, text):
        order = 2 if re.search("hessian|hvp", text) else len(re.findall(r"\b(?:grad|deriv|jacobian)\b", text))

        def production(t, s, n):
            return self.template(t, s, n, text) if s.order + order <= 2 or n <= 1 else None
        production.__name__, production.order = name, order
        return production

    def float_ordered(self, t, s, n):
        """What fails where `bad` is 9, behind the effects of its operands; else it says that it was there."""
        if not s.effect or not s.named(BAD):
            return None
        name, text = self.rng.choice(ORDERED)
        self.p.tags.add((s.modes, "ordered " + name))
        y = self.name()
        return E(t, f"(let {y} = ", self.template(t, s, n, text), f'; print "! behind {y}"; {y})'.replace(";", " in", 1))

    # ---- Any type ---------------------------------------------------------------------------
    def any_if(self, t, s, n):
        a, b, c = self.split(n, 3)
        return E(t, "(if ", self.expr(B, s, a), " then ", self.expr(t, s, b), " else ", self.expr(t, s, c), ")")

    def any_let(self, t, s, n):
        a, b = self.split(n, 2)
        u, y = self.some_type(), self.name()
        return E(t, f"(let {y} : {type_text(u)} = ", self.expr(u, s, a), " in ", self.expr(t, s.bind((y, u)), b), ")")

    def any_literal(self, t, s, n):
        k = t[0]
        c = lambda types, m: [self.expr(u, s, q) for u, q in zip(types, self.split(m, len(types)))]
        if k == "tup":
            return self.listing(t, "(", ", ", ")", c(t[1], n))
        if k == "rec":
            return self.listing(t, "{", ", ", "}", [E(None, f"{f} = ", x) for (f, _), x in zip(t[1], c([u for _, u in t[1]], n))])
        if k == "arr":
            return self.listing(t, "[", ", ", "]", c([t[1]] * t[2], n))
        if k == "list":
            a, b = c([t[1], t], n)
            return E(t, "(", a, " :: ", b, ")")
        if k == "opt":
            return E(t, "(Some ", self.expr(t[1], s, n), ")")
        if k == "shape":
            i = self.rng.randrange(3)
            a, b = c([F, F], n)
            return E(t, "(Circle ", self.expr(F, s, n), ")") if i == 0 else E(t, "(Rect (", a, ", ", b, "))") if i == 1 else \
                E(t, "(Spline ", self.expr(arr(F, self.rng.randint(1, 3)), s, n), ")")
        a, b, d = c([TREE, F, TREE], n)
        return E(t, "(Node (", a, ", ", b, ", ", d, "))")

    def any_match(self, t, s, n):
        a, b, c, d = self.split(n, 4)
        y, z, w = self.name(), self.name(), self.name()
        kind = self.rng.choice(["opt", "list", "shape", "tup", "I", "arr", "tree", "rec", "guard", "optf"])
        x = lambda u: self.expr(u, s, a)
        arm = lambda m, *pairs: self.expr(t, s.bind(*pairs), m)
        if kind == "opt":
            return E(t, "(match ", x(OPT), f" with | Some {y} -> ", arm(b, (y, F)), " | None -> ", arm(c), ")")
        if kind == "optf":
            return E(t, "(match ", x(("opt", FUN)), f" with | Some {y} -> ", arm(b, (y, FUN)), " | None -> ", arm(c), ")")
        if kind == "list":
            return E(t, "(match ", x(LIST), f" with | {y} :: {z} :: {w} -> ", arm(b, (y, F), (z, F), (w, LIST)),
                     f" | {y} :: _ -> ", arm(c, (y, F)), " | Nil -> ", arm(d), ")")
        if kind == "shape":
            return E(t, "(match ", x(SHAPE), f" with | Circle {y} -> ", arm(b, (y, F)), f" | Rect ({y}, {z}) -> ",
                     arm(c, (y, F), (z, F)), f" | Dot | Spline _ -> ", arm(d), ")")
        if kind == "tree":
            return E(t, "(match ", x(TREE), f" with | Node ({y}, {z}, Leaf) -> ", arm(b, (y, TREE), (z, F)),
                     f" | Node (_, {z}, {w}) -> ", arm(c, (z, F), (w, TREE)), " | Leaf -> ", arm(d), ")")
        if kind == "tup":
            u, v = self.some_type(), self.some_type()
            return E(t, f"(let ({y}, {z}) = ", x(("tup", (u, v))), " in ", arm(b + c, (y, u), (z, v)), ")")
        if kind == "rec":
            fields = [(y, F), (z, I), (w, arr(F, 3))]
            return E(t, "(match ", x(RECORD), f" with {{b = {y}, k = {z}, w = {w}}} -> ", arm(b + c, *fields), ")")
        if kind == "arr":
            return E(t, "(match ", x(arr(F, 2)), f" with | [{y}, {z}] -> ", arm(b + c, (y, F), (z, F)), f" | {w} -> ",
                     arm(d, (w, arr(F, 2))), ")")
        if kind == "guard":
            return E(t, "(match ", x(F), f" with | {y} when {y} > ", self.expr(F, s.bind((y, F)), 1), " -> ", arm(b, (y, F)),
                     f" | {y} -> ", arm(c, (y, F)), ")")
        return E(t, "(match at ", x(I), " 3 with | 0 -> ", arm(b), " | 1 -> ", arm(c), " | _ -> ", arm(d), ")")

    def any_get(self, t, s, n):
        """A component of a tuple, an element of an array, a field."""
        if self.chance(0.4):
            u = self.some_type()
            first = self.chance(0.5)
            pair = ("tup", (t, u) if first else (u, t))
            return E(t, "(fst " if first else "(snd ", self.expr(pair, s, n), ")")
        a, b = self.split(n, 2)
        if t == arr(F, 3) and self.chance(0.3) or t == I and self.chance(0.3):
            return E(t, self.expr(RECORD, s, n), ".w" if t != I else ".k")
        k = self.rng.randint(1, 3)
        named = [(x, u[2]) for x, u, _ in s.vars if u[0] == "arr" and u[1] == t]
        if named and self.chance(0.6):
            x, k = self.rng.choice(named)
            return E(t, f"{x}[at ", self.expr(I, s, b), f" {k}]")
        y = self.name()
        return E(t, f"(let {y} = ", self.expr(arr(t, k), s, a), f" in {y}[at ", self.expr(I, s, b), f" {k}])")

    def any_call(self, t, s, n):
        """A function in scope is called."""
        found = [(x, u) for x, u, _ in s.vars if u[0] == "fun" and u[2] == t]
        if not found:
            return None
        x, u = self.rng.choice(found)
        parts = []
        for v, m in zip(u[1], self.split(n, len(u[1]))):
            parts += [" ", E(v, "(", self.expr(v, s, m), ")")]
        return E(t, f"({x}", *parts, ")")

    def any_apply(self, t, s, n):
        """A function expression is called."""
        a, b = self.split(n, 2)
        u = self.some_type()
        return E(t, "(", self.expr(("fun", (u,), t), s, a), " ", E(u, "(", self.expr(u, s, b), ")"), ")")

    def any_fold(self, t, s, n):
        if s.work > 40:
            return None
        a, b, c = self.split(n, 3)
        k, y, z = self.rng.randint(1, 4), self.name(), self.name()
        inner = s.closed().often(k).bind((y, t), (z, F))
        over = self.rng.choice(["fold", "List.fold"])
        return E(t, f"({over} (fun ({y} : {type_text(t)}) ({z} : float) -> ", self.bounded(t, inner, a), ") ", E(t, "(", self.expr(t, s, b), ")"), " ",
                 E(None, "(", self.expr(arr(F, k) if over == "fold" else LIST, s, c), ")"), ")")

    def any_checkpoint(self, t, s, n):
        a, b = self.split(n, 2)
        u, y = self.diff_type(True), self.name()
        inner = s.closed().change(effect=False).bind((y, u))
        return E(t, f"(checkpoint (fun ({y} : {type_text(u)}) -> ", self.expr(t, inner, a), ") ",
                 E(u, "(", self.expr(u, s, b), ")"), ")")

    def any_par(self, t, s, n):
        a, b, c = self.split(n, 3)
        u, y, z = self.some_type(), self.name(), self.name()
        inner = s.closed().change(effect=False)
        return E(t, f"(let ({y}, {z}) = par (fun () -> ", self.expr(t, inner, a), ") (fun () -> ", self.expr(u, inner, b), ") in ",
                 self.expr(t, s.bind((y, t), (z, u)), c), ")")

    def any_stop(self, t, s, n):
        self.p.central = False
        return E(t, "(stop_gradient ", E(t, "(", self.expr(t, s, n), ")"), ")")

    def bounded(self, t, s, n):
        """What is computed again and again doesn't grow."""
        if t != F:
            return self.expr(t, s, n)
        return E(F, self.rng.choice(["sin ", "tanh ", "atan ", "sin ", "0.4 * "]), E(F, "(", self.expr(F, s, n), ")"))

    # ---- Arrays -----------------------------------------------------------------------------
    def array_comprehension(self, t, s, n):
        if s.work > 100:
            return None
        k, i, inner = t[2], self.name("i"), s.frozen().often(t[2])
        if t[1][0] == "arr" and self.chance(0.6):
            j = self.name("j")
            return E(t, "[ ", self.expr(t[1][1], inner.often(t[1][2]).bind((i, I), (j, I)), n), f" | {i} < {k}, {j} < {t[1][2]} ]")
        a, b = self.split(n, 2)
        if self.chance(0.4):
            u = self.some_type()
            return E(t, "[ ", self.expr(t[1], inner.bind((i, u)), a), f" | {i} in ", E(arr(u, k), "(", self.expr(arr(u, k), s.frozen(), b), ")"), " ]")
        if self.chance(0.3):
            u = self.some_type()
            return E(t, f"(map (fun ({i} : {type_text(u)}) -> ", self.expr(t[1], s.closed().often(k).bind((i, u)), a), ") ",
                     E(arr(u, k), "(", self.expr(arr(u, k), s, b), ")"), ")")
        return E(t, "[ ", self.expr(t[1], inner.bind((i, I)), n), f" | {i} < {k} ]")

    def array_updated(self, t, s, n):
        a, b, c = self.split(n, 3)
        y, u, inner = self.name("m"), t[1], None
        inner = s.bind((y, t), mut=True)
        parts = [self.assignment(s.bind((y, t), mut=True).change(vars_=((y, t, True),) + tuple((x, q, 2 if m else False) for x, q, m in s.vars)), b), "; "]
        if s.work < 40:
            i = self.name("i")
            loop = inner.often(t[2]).bind((i, I))
            parts += [f"for {i} = {0 if t[2] == 1 else 1} to {t[2] - 1} do {y}[{i}] <- ", self.bounded(u, loop, c), " done; "]
        return E(t, f"(let mut {y} : {type_text(t)} = ", self.expr(t, s, a), " in ", *parts, y, ")")

    def array_slice(self, t, s, n):
        left, right = self.rng.randint(0, 2), self.rng.randint(0, 2)
        y, whole = self.name(), arr(t[1], t[2] + left + right)
        ends = f"{left}..{left + t[2]}" if right or self.chance(0.5) else f"{left}.."
        return E(t, f"(let {y} = ", self.expr(whole, s, n), f" in {y}[{ends}])")

    # ---- Arithmetic on structures ------------------------------------------------------------
    def fixed_arithmetic(self, t, s, n):
        a, b = self.split(n, 2)
        k = self.rng.randrange(5)
        x = lambda u, m: E(u, "(", self.expr(u, s, m), ")")
        if k == 0:
            return E(t, "(sin ", x(F, a), " * ", x(t, b), ")")
        if k == 1:
            return E(t, "(", x(t, a), f" / (1.5 + sin ", x(F, b), "))")
        if k == 2:
            return E(t, "(0.5 * (", x(t, a), " + ", x(t, b), "))")
        if k == 3:
            return E(t, "(map_floats (fun y -> ", self.bounded(F, s.closed().change(effect=False).often(4).bind(("y", F)), a), ") ", x(t, b), ")")
        return E(t, "(", x(t, a), " - ", x(t, b), ")")

    # ---- Functions --------------------------------------------------------------------------
    def fun_lambda(self, t, s, n):
        ys = [self.name() for _ in t[1]]
        inner = s.closed().change(effect=False).often(2).bind(*zip(ys, t[1]))
        return E(t, "(fun ", " ".join(f"({y} : {type_text(u)})" for y, u in zip(ys, t[1])), " -> ", self.bounded(t[2], inner, n), ")")

    def fun_chosen(self, t, s, n):
        """Out of an array, or of a list of functions; composed; what a recursion returns."""
        a, b, c = self.split(n, 3)
        k = self.rng.randrange(4)
        x = lambda m: E(t, "(", self.expr(t, s, m), ")")
        if k == 0:
            return E(t, "(if ", self.expr(B, s, a), " then ", x(b), " else ", x(c), ")")
        if k == 1 and t == FUN:
            return E(t, "(", x(a), " >> ", x(b), ")")
        y = self.name()
        if k == 2:
            return E(t, f"(let {y} = [", x(a), ", ", x(b), f"] in {y}[at ", self.expr(I, s, c), " 2])")
        go, q = self.name("go"), self.name()
        inner = s.closed().change(effect=False).often(3).bind((y, t), (q, I))
        return E(t, f"(let rec {go} ({q} : int) ({y} : {type_text(t)}) : {type_text(t)} = if {q} <= 0 then {y} else {go} ({q} - 1) (",
                 self.fun_lambda(t, inner, a), f") in {go} {self.rng.randint(0, 3)} ", x(b), ")")

    def fun_partial(self, t, s, n):
        """A function of more arguments, given the first."""
        a, b = self.split(n, 2)
        u = self.some_type()
        return E(t, "(", self.expr(("fun", (u,) + t[1], t[2]), s, a), " ", E(u, "(", self.expr(u, s, b), ")"), ")")

    def fun_pullback(self, t, s, n):
        """The pullback of something as a function."""
        if t != FUN or s.order > 1:
            return None
        a, b = self.split(n, 2)
        y = self.name()
        inner = s.closed().change(effect=False).inside("vjp").bind((y, F))
        return E(t, f"(snd (vjp (fun ({y} : float) -> ", self.bounded(F, inner, a), ") ", E(F, "(", self.expr(F, s, b), ")"), "))")

    # ---- Programs ---------------------------------------------------------------------------
    def definition(self, s):
        """A function at the top level."""
        f = self.name(f"h{self.p.number}_")
        ts = tuple(self.some_type() for _ in range(self.rng.randint(1, 2)))
        t = self.some_type() if self.chance(0.5) else F
        ys = [self.name() for _ in ts]
        n = self.rng.randint(3, max(4, self.size // 2))
        head = " ".join(f"({y} : {type_text(u)})" for y, u in zip(ys, ts))
        self.p.defs.append(E(None, f"let {f} {head} : {type_text(t)} = ", self.bounded(t, s.often(3).bind(*zip(ys, ts)), n)))
        self.top.add(f)
        return s.bind((f, ("fun", ts, t)))

    def failure(self, s):
        """Something that may fail, in turn."""
        name, text = FAILING[self.p.number % len(FAILING)]
        return self.templated("failing " + name, text)(F, s.frozen(), 4) or E(F, 'fail "always"')

    def program(self):
        p, s = self.p, Scope()
        p.ordered = p.failing and p.number % 3 == 0
        self.tables, self.top = {}, set()
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            s = self.definition(s)
        p.type = self.diff_type()
        effect = self.chance(0.15) or p.ordered
        s = s.change(effect=effect).bind(("x", p.type))
        if p.ordered:
            s = s.bind(("bad", BAD))
        parts = [self.expr(F, s, self.size)]
        rare = self.rare()
        for i in range(2 * p.number, 2 * p.number + 2):  # in turn, each under each operator
            t, production = rare[i % len(rare)]
            effect = production.__name__ == "float_effect"
            mode = (None, "grad", "vjp", "deriv", "jvp", "hvp")[i // len(rare) % 6]
            parts.append(self.under(mode, t, s.change(effect=effect or p.ordered), production))
        if p.ordered:
            parts += [self.float_ordered(F, s, 3) for _ in range(3)]
            self.rng.shuffle(parts)
        elif p.failing:
            parts += [self.expr(F, s, 2), self.failure(s)]
            self.rng.shuffle(parts)
        p.body = self.listing(F, "(", " + ", ")", parts)
        p.point = self.constant(p.type)
        p.u, p.v = self.like(p.point), self.like(p.point)
        return p

    def like(self, e):
        """The same structure with other floats."""
        if e.type == F:
            return E(F, self.number())
        return E(e.type, *(p if isinstance(p, str) else self.like(p) for p in e.parts))


# Sums of many terms, whose order is free: their last digit may be another one in a function and in its derivative.
LONG_SUM = re.compile(r"i < 45|i < 36 \+")


def program(number, seed, size, failing=False):
    """Most are small, some of that size: costs grow faster than sizes. Another one where a long sum may decide by its rounding.
    failing: one that may end by an error, in a place that nothing guards."""
    share = random.Random(f"size {seed}/{number}").random()
    size, draw = 3 + int((size - 3) * share ** 2), 0
    p = Gen(number, seed, size, 0, failing).program()
    while ROUNDING in p.text() and LONG_SUM.search(p.text()):
        draw += 1
        p = Gen(number, seed, size, draw, failing).program()
    return p
