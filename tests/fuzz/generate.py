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

from templates import TEMPLATES, UNARY

F, I, B = ("F",), ("I",), ("B",)
SHAPE, TREE, LIST, OPT = ("shape",), ("tree",), ("list", F), ("opt", F)
FUN = ("fun", (F,), F)
RECORD = ("rec", (("b", F), ("k", I), ("w", ("arr", F, 3))))
PREAMBLE = """type shape = Dot | Circle of float | Rect of float * float | Spline of float[]
type tree = Leaf | Node of tree * float * tree
let at i n = ((i % n) + n) % n
"""


def arr(t, n):
    return ("arr", t, n)


def mat(n, m):
    return arr(arr(F, m), n)


def type_text(t):
    k = t[0]
    if k in ("F", "I", "B"):
        return {"F": "float", "I": "int", "B": "bool"}[k]
    if k == "tup":
        return "(" + " * ".join(type_text(x) for x in t[1]) + ")"
    if k == "rec":
        return "{" + ", ".join(f"{n} : {type_text(x)}" for n, x in t[1]) + "}"
    if k == "arr":
        return type_text(t[1]) + "[]"
    if k == "fun":
        return "(" + " -> ".join(type_text(x) for x in t[1] + (t[2],)) + ")"
    if k in ("list", "opt"):
        return type_text(t[1]) + (" list" if k == "list" else " option")
    return k


def is_fixed(t):
    """Has every value of the type the same shape?"""
    if t[0] in ("tup",):
        return all(is_fixed(x) for x in t[1])
    if t[0] == "rec":
        return all(is_fixed(x) for _, x in t[1])
    if t[0] == "arr":
        return is_fixed(t[1])
    return t[0] in ("F", "I", "B")


def has_float(t):
    if t[0] in ("tup",):
        return any(has_float(x) for x in t[1])
    if t[0] == "rec":
        return any(has_float(x) for _, x in t[1])
    if t[0] == "arr":
        return has_float(t[1])
    if t[0] in ("list", "opt"):
        return has_float(t[1])
    return t[0] not in ("I", "B", "fun")


class E:
    """Text and smaller expressions of a type."""
    __slots__ = ("type", "parts")

    def __init__(self, type_, *parts):
        self.type, self.parts = type_, list(parts)

    def text(self):
        return "".join(p if isinstance(p, str) else p.text() for p in self.parts)

    def size(self):
        return 1 + sum(p.size() for p in self.parts if isinstance(p, E))

    def below(self):
        for p in self.parts:
            if isinstance(p, E):
                yield p
                yield from p.below()


class Scope:
    """What an expression may use. `work` bounds how often the place runs, `order` the nesting of derivatives in it."""
    __slots__ = ("vars", "work", "order", "effect", "modes")

    def __init__(self, vars_=(), work=1, order=0, effect=False, modes=()):
        self.vars, self.work, self.order, self.effect, self.modes = vars_, work, order, effect, modes

    def change(self, **kw):
        d = {"vars_": self.vars, "work": self.work, "order": self.order, "effect": self.effect, "modes": self.modes}
        d.update(kw)
        return Scope(**d)

    def bind(self, *pairs, mut=False):
        return self.change(vars_=self.vars + tuple((n, t, mut) for n, t in pairs))

    def closed(self):
        """In the body of a function value: no variable that can be assigned."""
        return self.change(vars_=tuple(v for v in self.vars if not v[2]))

    def frozen(self):
        """In the body of a comprehension: such variables can be read only."""
        return self.change(vars_=tuple((n, t, 2 if m else False) for n, t, m in self.vars))

    def often(self, n):
        return self.change(work=self.work * n)

    def inside(self, mode):
        return self.change(order=self.order + 1, modes=self.modes + (mode,))

    def named(self, t):
        return [n for n, u, _ in self.vars if u == t]


class Program:
    def __init__(self, number, seed):
        self.number, self.seed = number, seed
        self.defs = []          # expressions whose text is a definition
        self.type = None        # of f's argument
        self.body = self.point = self.u = self.v = None
        self.central = True     # may be compared with central differences
        self.tags = set()       # (derivative operators around it, production)

    def text(self):
        k = self.number
        t = type_text(self.type)
        lines = [d.text() for d in self.defs]
        lines.append(f"let f{k} (x : {t}) : float = {self.body.text()}")
        for name, e in (("x", self.point), ("u", self.u), ("v", self.v)):
            lines.append(f"let {name}{k} : {t} = {e.text()}")
        return "\n".join(lines) + "\n"


class Gen:
    def __init__(self, number, seed, size):
        self.rng = random.Random(f"{seed}/{number}")
        self.p = Program(number, seed)
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
        return f"({x})" if x < 0 else str(float(x))

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
            return self.listing(t, "(", " :: ", ")", [c(t[1]) for _ in range(self.rng.randint(0 if s else 1, 3))] + ["Nil"])
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
        parts, inner = [], s.frozen() if " | " in text else s
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
            else:
                raise KeyError(piece)
        return E(t, "(", *parts, ")")

    def table(self, t):
        """The productions for a type and their weights."""
        if t not in self.tables:
            rows = [(self.any_if, 3), (self.any_let, 4), (self.any_match, 3), (self.any_block, 5), (self.any_call, 3),
                    (self.any_recursion, 3), (self.any_get, 2), (self.any_derivative, 2), (self.any_fold, 2), (self.any_apply, 1),
                    (self.any_while, 1), (self.any_checkpoint, 0.5), (self.any_par, 0.3)]
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
            self.tables[t] = [r[0] for r in rows], [r[1] for r in rows]
        return self.tables[t]

    def templated(self, name, text):
        order = 2 if "hessian" in text else len(re.findall(r"\b(?:grad|deriv|jacobian)\b", text))

        def production(t, s, n):
            return self.template(t, s, n, text) if s.order + order <= 2 or n <= 1 else None
        production.__name__, production.order = name, order
        return production

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

    # ---- Local mutation ---------------------------------------------------------------------
    def any_block(self, t, s, n):
        """let mut …; assignments, loops; a result"""
        if s.work > 40:
            return None
        shares = self.split(n, 4)
        ys = [(self.name("m"), self.rng.choice([t, F, arr(F, 3), mat(2, 2), RECORD, self.some_type()])) for _ in range(self.rng.randint(1, 2))]
        parts, inner = [], s
        for (y, u), m in zip(ys, self.split(shares[0], len(ys))):
            parts += [f"let mut {y} : {type_text(u)} = ", self.expr(u, inner, m), " in "]
            inner = inner.bind((y, u), mut=True)
        for m in self.split(shares[1] + shares[2], self.rng.randint(1, 3)):
            parts += [self.statement(inner, m), "; "]
        return E(t, "(", *parts, self.expr(t, inner, shares[3]), ")")

    def statement(self, s, n):
        k = self.rng.randrange(10)
        if k < 4 and n > 3 and s.work < 40:
            c, i = self.rng.randint(1, 4), self.name("i")
            inner = s.often(c).bind((i, I))
            head = f"for {i} = 0 to {c - 1} do " if self.chance(0.7) else f"for {i} = {c - 1} downto 0 do "
            parts = []
            for m in self.split(n - 1, self.rng.randint(1, 2)):
                parts += ["; " if parts else "", self.statement(inner, m)]
            self.p.tags.add((s.modes, "for"))
            return E(None, head, *parts, " done")
        if k < 6 and n > 2:
            a, b = self.split(n, 2)
            self.p.tags.add((s.modes, "conditional statement"))
            return E(None, "(if ", self.expr(B, s, a), " then (", self.statement(s, b), "))")
        return self.assignment(s, n)

    def assignment(self, s, n):
        x, t = self.rng.choice([(x, t) for x, t, m in s.vars if m is True])
        if t[0] == "arr" and self.chance(0.8):
            a, b = self.split(n, 2)
            if t[1][0] == "arr" and self.chance(0.7):
                self.p.tags.add((s.modes, "matrix update"))
                return E(None, f"{x}[at ", self.expr(I, s, a), f" {t[2]}, at ", self.expr(I, s, 1), f" {t[1][2]}] {self.sign(t[1][1])} ",
                         self.bounded(t[1][1], s, b))
            self.p.tags.add((s.modes, "array update"))
            return E(None, f"{x}[at ", self.expr(I, s, a), f" {t[2]}] {self.sign(t[1])} ", self.bounded(t[1], s, b))
        if t == RECORD and self.chance(0.8):
            self.p.tags.add((s.modes, "field update"))
            if self.chance(0.5):
                return E(None, f"{x}.w[at ", self.expr(I, s, 1), f" 3] {self.sign(F)} ", self.bounded(F, s, n))
            return E(None, f"{x}.b {self.sign(F)} ", self.bounded(F, s, n))
        self.p.tags.add((s.modes, "assignment"))
        return E(None, f"{x} {self.sign(t)} ", self.bounded(t, s, n))

    def sign(self, t):
        return self.rng.choice(["<-", "<-", "+=", "-="]) if is_fixed(t) and has_float(t) else "<-"

    def any_while(self, t, s, n):
        if s.work > 20:
            return None
        a, b, c = self.split(n, 3)
        k, y, z = self.name("k"), self.name("m"), self.rng.randint(1, 4)
        inner = s.bind((y, t), mut=True).bind((k, I), mut=2)
        return E(t, f"(let mut {k} = 0 in let mut {y} : {type_text(t)} = ", self.expr(t, s, a), f" in while {k} < {z} && (",
                 self.expr(B, inner.often(4), b // 2), f") do {y} <- ", self.bounded(t, inner.often(4), b), f"; {k} <- {k} + 1 done; ",
                 self.expr(t, inner, c), ")")

    # ---- Recursion --------------------------------------------------------------------------
    def any_recursion(self, t, s, n):
        if s.work > 10:
            return None
        return self.rng.choice([self.tail, self.chain, self.forked, self.mutual, self.over_list, self.over_tree])(t, s.closed(), n)

    def tail(self, t, s, n):
        a, b = self.split(n, 2)
        go, k, y = self.name("go"), self.name("k"), self.name()
        inner = s.often(4).bind((k, I), (y, t))
        self.p.tags.add((s.modes, "tail recursion"))
        return E(t, f"(let rec {go} ({k} : int) ({y} : {type_text(t)}) : {type_text(t)} = if {k} <= 0 then {y} else {go} ({k} - 1) (",
                 self.bounded(t, inner, a), f") in {go} {self.rng.randint(0, 4)} ", E(t, "(", self.expr(t, s, b), ")"), ")")

    def chain(self, t, s, n):
        """Something is done with what the recursive call gives."""
        a, b, c, d = self.split(n, 4)
        go, k, y, z, u = self.name("go"), self.name("k"), self.name(), self.name(), self.diff_type(True)
        inner = s.often(3).bind((k, I), (y, u))
        self.p.tags.add((s.modes, "recursion"))
        return E(t, f"(let rec {go} ({k} : int) ({y} : {type_text(u)}) : {type_text(t)} = if {k} <= 0 then ", self.expr(t, inner, a),
                 f" else let {z} = {go} ({k} - 1) (", self.bounded(u, inner, b), ") in ", self.bounded(t, inner.bind((z, t)), c),
                 f" in {go} {self.rng.randint(0, 3)} ", E(u, "(", self.expr(u, s, d), ")"), ")")

    def forked(self, t, s, n):
        a, b, c, d = self.split(n, 4)
        go, k, y, p, q, u = self.name("go"), self.name("k"), self.name(), self.name(), self.name(), self.diff_type(True)
        inner = s.often(7).bind((k, I), (y, u))
        self.p.tags.add((s.modes, "tree recursion"))
        return E(t, f"(let rec {go} ({k} : int) ({y} : {type_text(u)}) : {type_text(t)} = if {k} <= 0 then ", self.expr(t, inner, a),
                 f" else (let {p} = {go} ({k} - 1) {y} in let {q} = {go} ({k} - 2) (", self.bounded(u, inner, b), ") in ",
                 self.bounded(t, inner.bind((p, t), (q, t)), c), f") in {go} {self.rng.randint(1, 3)} ", E(u, "(", self.expr(u, s, d), ")"), ")")

    def mutual(self, t, s, n):
        a, b, c, d = self.split(n, 4)
        go, on, k, y = self.name("go"), self.name("on"), self.name("k"), self.name()
        inner, z, T = s.often(4).bind((k, I), (y, t)), self.name(), type_text(t)
        self.p.tags.add((s.modes, "mutual recursion"))
        return E(t, f"(let rec {go} ({k} : int) ({y} : {T}) : {T} = if {k} <= 0 then {y} else {on} ({k} - 1) (", self.bounded(t, inner, a),
                 f") and {on} ({k} : int) ({y} : {T}) : {T} = if {k} <= 0 then ", self.expr(t, inner, b), f" else let {z} = {go} ({k} - 1) {y} in ",
                 self.bounded(t, inner.bind((z, t)), c), f" in {go} {self.rng.randint(0, 4)} ", E(t, "(", self.expr(t, s, d), ")"), ")")

    def over_list(self, t, s, n):
        a, b, c = self.split(n, 3)
        go, y, l, z = self.name("go"), self.name(), self.name("l"), self.name()
        inner = s.often(3)
        self.p.tags.add((s.modes, "recursion over a list"))
        return E(t, f"(let rec {go} ({l} : float list) : {type_text(t)} = match {l} with | Nil -> ", self.expr(t, inner, a),
                 f" | {y} :: {l} -> (let {z} = {go} {l} in ", self.bounded(t, inner.bind((y, F), (l, LIST), (z, t)), b), f") in {go} ",
                 E(LIST, "(", self.expr(LIST, s, c), ")"), ")")

    def over_tree(self, t, s, n):
        a, b, c = self.split(n, 3)
        go, y, l, r, p, q = (self.name() for _ in range(6))
        inner = s.often(4)
        self.p.tags.add((s.modes, "recursion over a tree"))
        return E(t, f"(let rec {go} (t : tree) : {type_text(t)} = match t with | Leaf -> ", self.expr(t, inner, a),
                 f" | Node ({l}, {y}, {r}) -> (let {p} = {go} {l} in let {q} = {go} {r} in ",
                 self.bounded(t, inner.bind((y, F), (p, t), (q, t)), b), f") in {go} ", E(TREE, "(", self.expr(TREE, s, c), ")"), ")")

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
            return E(t, "(map_floats (fun y -> ", self.bounded(F, s.closed().often(4).bind(("y", F)), a), ") ", x(t, b), ")")
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

    # ---- Derivatives ------------------------------------------------------------------------
    def differentiated(self, mode, u, t, s, n):
        """fun y -> … of which a derivative is taken"""
        y = self.name()
        inner = s.closed().inside(mode).bind((y, u))
        return E(None, f"(fun ({y} : {type_text(u)}) -> ", self.bounded(t, inner, n), ")")

    def any_derivative(self, t, s, n):
        """Derivatives whose value has any type."""
        if s.order > 1 or n < 3 or not has_float(t) or s.work > 60:
            return None
        a, b, c = self.split(n, 3)
        u = self.diff_type(self.chance(0.3))
        if self.chance(0.4):
            return E(t, "(deriv ", self.differentiated("deriv", F, t, s, a), " ", E(F, "(", self.expr(F, s, b), ")"), ")")
        y = self.name()
        part = self.rng.choice(["fst", "snd", "snd"])
        other = E(u, "(", self.expr(u, s, c), ")") if is_fixed(u) else E(None, y)
        return E(t, f"(let {y} = ", self.expr(u, s, b), f" in {part} (jvp ", self.differentiated("jvp", u, t, s, a), f" {y} ", other, "))")

    def fixed_gradient(self, t, s, n):
        """Derivatives that have their argument's type."""
        if s.order > 1 or n < 3 or s.work > 60:
            return None
        a, b, c = self.split(n, 3)
        k = self.rng.randrange(5)
        if k < 2:
            return E(t, "(grad ", self.differentiated("grad", t, F, s, a), " ", E(t, "(", self.expr(t, s, b), ")"), ")")
        if k == 2:
            return E(t, "(snd (value_and_grad ", self.differentiated("grad", t, F, s, a), " ", E(t, "(", self.expr(t, s, b), ")"), "))")
        if k == 3 and s.order == 0:
            return E(t, "(hvp ", self.differentiated("hvp", t, F, s, a), " ", E(t, "(", self.expr(t, s, b), ")"), " ", E(t, "(", self.expr(t, s, c), ")"), ")")
        u = self.some_type(False, True)
        if not has_float(u):
            return None
        return E(t, "(snd (vjp ", self.differentiated("vjp", t, u, s, a), " ", E(t, "(", self.expr(t, s, b), ")"), ") ",
                 E(u, "(", self.expr(u, s, c), ")"), ")")

    def float_gradient(self, t, s, n):
        """A gradient brought down to a float."""
        if s.order > 1 or n < 3 or s.work > 60:
            return None
        u = self.diff_type(self.chance(0.3))
        a, b = self.split(n, 2)
        y = self.name()
        if u == F:
            return E(F, "(", self.rng.choice(["grad ", "deriv "]), self.differentiated("grad", F, F, s, a), " ", E(F, "(", self.expr(F, s, b), ")"), ")")
        return E(F, f"(let {y} = ", self.expr(u, s, b), " in inner (grad ", self.differentiated("grad", u, F, s, a), f" {y}) {y})")

    def float_inner(self, t, s, n):
        """A pullback called twice."""
        if s.order > 1 or n < 3 or s.work > 60:
            return None
        a, b = self.split(n, 2)
        u, v = self.diff_type(self.chance(0.3)), self.diff_type()
        y, z, back = self.name(), self.name(), self.name("back")
        again = f"inner ({back} (0.7 * {z})) {y}" if is_fixed(v) else "0.2"
        return E(F, f"(let {y} = ", self.expr(u, s, b), f" in let ({z}, {back}) = vjp ", self.differentiated("vjp", u, v, s, a),
                 f" {y} in 0.5 * inner ({back} {z}) {y} + {again})")

    def float_rule(self, t, s, n):
        """A call of a function with a rule of its own, made for the purpose."""
        if len(self.p.defs) > 5:
            return None
        a, b = self.split(n, 2)
        u, f, y, d = self.diff_type(), self.name(f"r{self.p.number}_"), self.name(), self.name("d")
        body = self.bounded(F, Scope(tuple(v for v in s.vars if v[0] in self.top)).bind((y, u)), a)
        T = type_text(u)
        pullback = self.chance(0.6)
        self.p.tags.add((s.modes, "pullback rule" if pullback else "tangent rule"))
        if pullback:
            rule = [f"\npullback {f} {y} = vjp (fun ({y} : {T}) -> ", body, f") {y}"]
        else:
            rule = [f"\ntangent {f} {y} {d} = jvp (fun ({y} : {T}) -> ", body, f") {y} {d}"]
        self.p.defs.append(E(None, f"let {f} ({y} : {T}) : float = ", body, *rule))
        self.top.add(f)
        return E(F, f"({f} ", E(u, "(", self.expr(u, s, b), ")"), ")")

    def float_effect(self, t, s, n):
        if not s.effect:
            return None
        return E(F, f'(print "! {self.name()}"; ', self.expr(F, s, n), ")")

    # ---- What would be rare otherwise -----------------------------------------------------------
    def rare(self):
        """(type, production): each production once, of the type it is for."""
        seen = {}
        for t in (F, arr(F, 3), mat(2, 2), I, B, FUN, RECORD, LIST, OPT, TREE, SHAPE, ("tup", (F, F))):
            for production in self.table(t)[0]:
                seen.setdefault(production.__name__, (t, production))
        return list(seen.values())

    def as_float(self, t, s, production):
        n = 1 if getattr(production, "order", 0) else self.rng.randint(3, 5)
        e = next((e for _ in range(5) if (e := production(t, s, n)) is not None), None)
        if e is None:
            return self.expr(F, s, 4)
        self.p.tags.add((s.modes, production.__name__))
        around = {F: ("", ""), I: ("0.2 * float (at ", " 5)"), B: ("if ", " then 0.7 else -0.4"), FUN: ("", " 0.6")}
        left, right = around.get(t, ("sum (floats ", ")"))
        return E(F, "sin (", left, E(t, "(", e, ")"), right, ")")

    def under(self, mode, t, s, production):
        """A production under a derivative operator, or none."""
        y, u = self.name(), self.rng.choice([F, arr(F, 2)]) if mode != "hvp" else arr(F, 2)
        if mode is None:
            return self.as_float(t, s, production)
        f = E(None, f"(fun ({y} : {type_text(u)}) -> ", self.as_float(t, s.closed().inside(mode).bind((y, u)), production), ")")
        x, v = (E(u, "(", self.leaf(u, s), ")") for _ in range(2))
        text = {"grad": ("sum (floats (grad ", f, " ", x, "))"), "deriv": ("sum (floats (snd (jvp ", f, " ", x, " ", v, ")))"),
                "jvp": ("snd (jvp ", f, " ", x, " ", v, ")"), "hvp": ("sum (hvp ", f, " ", x, " ", v, ")"),
                "vjp": ("(let (z, back) = vjp ", f, " ", x, " in sin z + sum (floats (back 0.7)))")}[mode]
        if mode == "deriv" and u == F:
            text = ("deriv ", f, " ", x)
        return E(F, "(", *text, ")")

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

    def program(self):
        p, s = self.p, Scope()
        self.tables, self.top = {}, set()
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            s = self.definition(s)
        p.type = self.diff_type()
        effect = self.chance(0.15)
        s = s.change(effect=effect).bind(("x", p.type))
        parts = [self.expr(F, s, self.size)]
        rare = self.rare()
        for i in range(2 * p.number, 2 * p.number + 2):  # in turn, each under each operator
            t, production = rare[i % len(rare)]
            effect = production.__name__ == "float_effect"
            mode = (None, "grad", "vjp", "deriv", "jvp", "hvp")[i // len(rare) % 6]
            parts.append(self.under(mode, t, s.change(effect=effect), production))
        p.body = self.listing(F, "(", " + ", ")", parts)
        p.point = self.constant(p.type)
        p.u, p.v = self.like(p.point), self.like(p.point)
        return p

    def like(self, e):
        """The same structure with other floats."""
        if e.type == F:
            return E(F, self.number())
        return E(e.type, *(p if isinstance(p, str) else self.like(p) for p in e.parts))


def program(number, seed, size):
    """Most are small, some of that size: costs grow faster than sizes."""
    share = random.Random(f"size {seed}/{number}").random()
    return Gen(number, seed, 3 + int((size - 3) * share ** 2)).program()
