# SPDX-License-Identifier: MIT
"""Types, expressions, scopes and programs of the generator (generate.py)."""
F, I, B = ("F",), ("I",), ("B",)
SHAPE, TREE, LIST, OPT = ("shape",), ("tree",), ("list", F), ("opt", F)
FUN = ("fun", (F,), F)
BAD = ("bad",)  # of the int on which ORDERED fails, which nothing else reads
RECORD = ("rec", (("b", F), ("k", I), ("w", ("arr", F, 3))))
# The program's own types have names of the library's, which it still uses under others: no name may mean anything.
PREAMBLE = """type 'a seq = 'a list
type 'a maybe = 'a option
type option = Dot | Circle of float | Rect of float * float | Spline of float[]
type list = Leaf | Node of list * float * list
type knot = Knot of (knot -> int -> float -> float)
let at i n = ((i % n) + n) % n
let unless k q = if k = 9 then fail "unless" else q
let (zero, nine) = Bench.opaque (0, 9)
let outcome r = match r with | Ok v -> show v | Error _ -> "Error"
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
        return type_text(t[1]) + (" seq" if k == "list" else " maybe")
    return {"shape": "option", "tree": "list"}[k]


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
    return t[0] not in ("I", "B", "fun", "bad")


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
    def __init__(self, number, seed, failing=False):
        self.number, self.seed, self.failing = number, seed, failing
        self.defs = []          # expressions whose text is a definition
        self.type = None        # of f's argument
        self.body = self.point = self.u = self.v = None
        self.central = True     # may be compared with central differences
        self.ordered = False    # are effects and errors in order? f takes `bad` first, see ORDERED
        self.tags = set()       # (derivative operators around it, production)

    def text(self):
        k = self.number
        t = type_text(self.type)
        lines = [d.text() for d in self.defs]
        if self.ordered:
            lines.append(f"let b{k} (bad : int) (x : {t}) : float = {self.body.text()}")
            lines.append(f"let f{k} = b{k} {'nine' if k % 2 else 9}")
        else:
            lines.append(f"let f{k} (x : {t}) : float = {self.body.text()}")
        for name, e in (("x", self.point), ("u", self.u), ("v", self.v)):
            lines.append(f"let {name}{k} : {t} = {e.text()}")
        return "\n".join(lines) + "\n"
