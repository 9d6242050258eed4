# SPDX-License-Identifier: MIT
"""Templates of random functions whose loops may run several iterations at once, each with its gradient.

piece(rng, number) gives a Piece: source that defines vN, the values, and dN, the derivative, both of type input -> float[]. The
kinds are nests of loops that read and write at several places (loops.py), sums over samples whose terms make arrays (samples.py),
maps and sums of every function of one number, grids, arrays of records, and loops that end when the data say so.

HEAD defines the inputs: `inputs n m` is an array of them, of plain numbers, and of numbers among which are NaN, infinities,
zeros of both signs and subnormals. KINDS names the templates."""
import loops
import samples

HEAD = """
type point = {x : float, y : float, z : float}
type input = {a : float[], b : float[], c : float, is : int[], js : int[], n : int, m : int, xs : float[][], p : float[],
  q : float[][], ps : point[]}
let plain (n : int) (s : int) = [ 0.3 + 0.2 * sin (float (i * 3 + s)) | i < n ]
let rough (n : int) (s : int) = [ (let k = i * 7 + s in if k % 29 = 0 then 0.0 / float (s % 2) else if k % 31 = 0 then 1e308
  else if k % 23 = 0 then -1.0 / 0.0 else if k % 11 = 0 then float (k % 5 - 2) * 1e-309 else if k % 13 = 0 then -0.0
  else 3.0 * sin (float k)) | i < n ]
let matrix (v : float[]) (n : int) (m : int) = [ [ v[(i * m + j) % length v] | j < m ] | i < n ]
let input (values : int -> int -> float[]) (n : int) (m : int) =
  let size = n * m + 4 * n + 2 * m + n * n + 10 in
  {a = values size 3, b = values n 8, c = 0.7, is = [ (i * 5 + 2) % (n + 3) | i < n ], js = [ (i * 5 + 2) % (m + 30 / (n + 1)) | i < n ],
   n = n, m = m, xs = matrix (values size 1) n m, p = values m 4, q = matrix (values (3 * m + 1) 5) 3 m,
   ps = [ (let v = values 3 i in {x = v[0], y = v[1], z = v[2]}) | i < n ]}
let inputs (n : int) (m : int) = [input plain n m, input rough n m]
"""
ARGUMENTS = {"c": "float", "a": "float[]", "b": "float[]", "is": "int[]", "n": "int", "m": "int", "xs": "float[][]", "p": "float[]",
             "q": "float[][]", "ps": "point[]"}
FUNCTIONS = ["cbrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
             "asinh", "acosh", "atanh", "erf", "erfc", "abs", "sqrt", "floor", "ceil", "trunc", "round", "sign", "sigmoid", "relu", "softplus",
             "lgamma", "digamma"]
COMMON = ["sin", "exp", "abs", "sqrt", "tanh", "log"]


class Piece:
    """One function with its gradient; the text may be replaced by a smaller one."""

    def __init__(self, kind, number, text):
        self.kind, self.number, self.text = kind, number, text


class Expression:
    """Random expressions of floats, ints and conditions, from atoms that may change as the text goes on."""

    def __init__(self, rng, floats, ints, functions=None):
        self.rng, self.floats, self.ints, self.functions = rng, list(floats), list(ints), functions or COMMON

    def number(self, depth=2):
        r = self.rng
        if depth == 0 or r.random() < 0.15:
            return r.choice(self.floats) if r.random() < 0.75 else r.choice(["0.5", "(-1.25)", "2.0", "0.0", "1e-3", f"(float {self.whole(0)})"])
        v = lambda: self.number(depth - 1)
        kind = r.choice(["sum", "sum", "product", "product", "fma", "function", "function", "choice", "quotient", "two", "power"])
        if kind == "fma":
            return f"({v()} * {v()} {r.choice('+-')} {v()})"
        if kind == "function":
            return f"({r.choice(self.functions)} {self.scaled(depth - 1)})"
        if kind == "choice":
            return f"(if {self.condition(depth - 1)} then {v()} else {v()})"
        if kind == "quotient":
            return r.choice([f"({v()} / {v()})", f"({v()} / (0.5 + {v()} * {v()}))"])
        if kind == "two":
            return f"({r.choice(['min', 'max', 'hypot', 'atan2', 'max', 'min'])} {v()} {v()})"
        if kind == "power":
            return r.choice([f"({v()} ^ {r.randint(0, 5)})", f"({v()} ^ {self.whole(0)})", f"(abs {v()} ** {v()})", f"(- {v()})"])
        return f"({v()} {r.choice('+-') if kind == 'sum' else '*'} {v()})"

    def scaled(self, depth):
        return self.rng.choice([self.number(depth), self.number(depth), f"({self.number(depth)} * 0.1)", f"({self.number(depth)} * 300.0)"])

    def whole(self, depth=1):
        r = self.rng
        i = r.choice(self.ints)
        if depth == 0 or r.random() < 0.3:
            return r.choice([i, i, str(r.randint(0, 5))])
        v = lambda: self.whole(depth - 1)
        return r.choice([f"({v()} + {v()})", f"({v()} - {v()})", f"({v()} * {r.choice([-3, -1, 2, 7, 2654435761])})", f"({v()} % {r.randint(2, 9)})",
                         f"({v()} / {r.randint(2, 5)})", f"(min {v()} {v()})", f"(bit_and {v()} 12)", f"(if {self.condition(0)} then {v()} else {v()})",
                         f"(bit_xor {v()} {v()})", f"(max {v()} (abs {v()}))", f"(int (max (-9.0) (min 9.0 {self.number(0)})))",
                         f"({v()} / (1 + abs {i}))", f"({v()} % ({i} - 3))" if r.random() < 0.2 else f"(- {v()})"])

    def condition(self, depth=1):
        r = self.rng
        compare = r.choice(["<", "<=", ">", ">=", "=", "<>"])
        kind = r.randint(0, 6)
        if kind <= 2:
            return f"{self.number(min(depth, 1))} {compare} {self.number(0)}"
        if kind <= 4:
            return f"{self.whole(0)} {compare} {self.whole(0)}"
        if kind == 5:
            return f"is_nan {r.choice(self.floats)}"
        return f"({self.condition(0)} {r.choice(['&&', '||'])} {self.condition(0)})"


def piece(rng, number, kind=None):
    kind = kind or rng.choices([*KINDS], [2, 2, 1, 1, 1, 1])[0]
    return Piece(kind, number, KINDS[kind](rng, number))


def definitions(rng, number, arguments, body, wrt):
    """Source of f, v and d: f of the named arguments gives body, a structure of floats. The derivative is with respect to those of wrt:
    mostly the gradient, else one by forward mode, with recomputation, or of second order."""
    names = arguments.split()
    call = lambda of: f"f{number} " + " ".join(name if name in of else f"u.{name}" for name in names)
    pattern, at = ", ".join(wrt.split()), ", ".join(f"u.{name}" for name in wrt.split())
    lines = [f"let f{number} " + " ".join(f"({name} : {ARGUMENTS[name]})" for name in names) + f" =\n  {body}",
             f"let v{number} (u : input) = floats ({call('')})",
             f"let h{number} (u : input) ({pattern}) = (let w = floats ({call(wrt.split())}) in sum [ x * 0.5 | x in w ])"]
    lot = rng.random()
    gradient = f"grad (h{number} u) ({at})"
    if lot < 0.06:
        gradient = f"hvp (h{number} u) ({at}) ({at})"
    elif lot < 0.14:
        gradient = f"jvp (h{number} u) ({at}) ({at})"
    elif lot < 0.2:
        gradient = f"grad (checkpoint (h{number} u)) ({at})"
    return "\n".join([*lines, f"let d{number} (u : input) = floats ({gradient})", ""])


# ---- The kinds ---------------------------------------------------------------------------------------------------
def nest(rng, number):
    text = loops.Function(rng, number).text()
    return text + (f"let v{number} (u : input) = floats (f{number} u.a u.is u.c u.n u.m)\n"
                   f"let d{number} (u : input) = floats (grad (fun (a, c) -> (let (s, w) = f{number} a u.is c u.n u.m in "
                   "s + sum [ x * 0.5 | x in w ])) (u.a, u.c))\n")


def sample(rng, number):
    fails = rng.random() < 0.2
    ints = "js" if fails else "is"
    reducer, rows = rng.choice(samples.REDUCERS)
    term = samples.Term(rng, fails)
    body = reducer.replace("{}", f"let x = xs[i] in let k = is[i] in {term.row() if rows == 'rows' else term.text()}")
    if rows == "gradients":
        body = f"[ (let k = is[i] in grad (fun x -> {term.text()}) xs[i]) | i < length xs ]"
    f = f"f{number} "
    of = f"sum (flatten ({f}" if rows else f"(({f}"
    wrt = rng.choice(["p, q", "xs, c", "p, xs"])
    at = ", ".join("u." + name for name in wrt.split(", "))
    names = [name if name in wrt.split(", ") else "u." + name for name in ["xs", ints, "c", "p", "q", "m"]]
    return (f"let {f}(xs : float[][]) (is : int[]) (c : float) (p : float[]) (q : float[][]) (m : int) = {body}\n"
            f"let v{number} (u : input) = floats ({f}u.xs u.{ints} u.c u.p u.q u.m)\n"
            f"let d{number} (u : input) = floats (grad (fun ({wrt}) -> {of}{' '.join(names)}))) ({at}))\n")


def elements(rng, number):
    """Maps, sums and folds over a and b, of every function."""
    e = Expression(rng, ["x", "y", "x", "y", "c"], ["i", "i", "n", "k"], FUNCTIONS)
    binds = "let (x, y) = (a[i], b[i]) in let k = is[i] in "
    if rng.random() < 0.3:
        binds = rng.choice(["let (x, y) = (a[i + 1], b[n - 1 - i]) in let k = is[i] in ", "let (x, y) = (a[2 * i], b[i]) in let k = is[n - 1 - i] in ",
                            "let (x, y) = (a[is[i]], a[i]) in let k = i % 4 in "])
    value = lambda: f"({binds}{e.number(rng.randint(2, 3))})"
    shapes = [lambda: f"[ {value()} | i < n ]", lambda: f"sum [ {value()} | i < n ]",
              lambda: f"(let w = [ {value()} | i < n ] in (sum w, [ x * 2.0 - c | x in w ]))",
              lambda: f"(let mut s = 0.5 in let mut t = 1.0 in (for i = 0 to n - 1 do ({binds}(s <- s + {e.number(2)}; t <- {e.two()})) done; (s, t)))",
              lambda: f"(let mut s = 0.5 in let mut l = 0 in (for i = 0 to n - 1 do ({binds}(l <- l + {e.whole(1)}; s <- s + {e.number(2)})) done; (s, float l)))",
              lambda: f"(let mut w = b in (for i = 0 to n - 1 do ({binds}(w[i] <- {e.number(2)}; (if {e.condition()} then w[i] <- w[i] * 0.5))) done; w))",
              lambda: f"[ [ ({binds}{e.number(2)}), ({binds}{e.number(1)}) ] | i < n ]",
              lambda: f"(let ks = [ ({binds}{e.whole(2)}) | i < n ] in [ float (ks[i] - ks[n - 1 - i]) * b[i] | i < n ])",
              lambda: f"(let cs = [ ({binds}{e.condition()}) | i < n ] in sum [ if cs[i] then {value()} else b[i] | i < n ])",
              lambda: f"(let w = map2 (fun x y -> (let (i, k) = (n - 1, 2) in {e.number(2)})) b b in (fold (fun s x -> s * 0.5 + x) c w, scan (+) w))",
              lambda: f"[ a[({binds}abs {e.whole(1)})] * {value()} | i < n ]"]
    e.two = lambda: rng.choice([f"max t {e.number(1)}", f"min t {e.number(1)}", f"t * (1.0 + 0.01 * {e.number(1)})", f"t * 0.5 + {e.number(1)}"])
    return definitions(rng, number, "a b is c n", rng.choice(shapes)(), rng.choice(["a b", "a c", "b c"]))


def grid(rng, number):
    """Matrices: by rows, by columns, stencils with edges, and sweeps that change them."""
    e = Expression(rng, ["xs[i, j]", "p[j]", "b[i]", "c", "xs[i, j]"], ["i", "j", "n", "m"])
    edge = rng.choice(["i = 0 || j = 0 || i = n - 1 || j = m - 1", "i = 0 || j = 0", "j = m - 1 || i > n - 2", "i < 1 || i >= n - 1 || j < 1 || j > m - 2"])
    inside = rng.choice(["i > 0 && j > 0 && i < n - 1 && j < m - 1", "not (i = 0 || j = 0 || i = n - 1 || j = m - 1)"])
    far = "i = 0 || j = 0 || i = n - 1 || j = m - 1" if "n - 1 ||" not in edge else edge
    near = rng.sample(["w[i - 1, j]", "w[i + 1, j]", "w[i, j - 1]", "w[i, j + 1]", "w[i, j]", "w[i - 1, j + 1]"], 3)
    stencil = f"w[i, j] + c * ({near[0]} + {near[1]} - 2.0 * {near[2]})"
    shapes = [lambda: f"[ [ {e.number(3)} | j < m ] | i < n ]", lambda: f"[ sum [ {e.number(2)} | j < m ] | i < n ]",
              lambda: f"[ sum [ {e.number(2)} | i < n ] | j < m ]", lambda: f"[ [ {e.number(2)} | i < n ] | j < m ]",
              lambda: f"(let w = xs in [ [ if {far} then {e.number(1)} else {stencil} | j < m ] | i < n ])",
              lambda: f"[ [ if {edge} then {e.number(1)} else {e.number(2)} | j < m ] | i < n ]",
              lambda: f"(let mut w = xs in (for t = 1 to 3 do w <- [ [ if {far} then w[i, j] else {stencil} | j < m ] | i < n ] done; w))",
              lambda: f"(let mut w = xs in (for i = 0 to n - 1 do for j = 0 to m - 1 do (if {inside} then w[i, j] <- {stencil}) done done; w))",
              lambda: f"(let mut w = xs in (for j = m - 1 downto 0 do for i = 0 to n - 1 do w[i, j] <- w[i, j] * 0.5 + {e.number(2)} done done; w))",
              lambda: f"(let mut s = p in (for i = 0 to n - 1 do for j = 0 to m - 1 do (s[j] <- s[j] + {e.number(2)}; s[(i + j) % m] <- s[(i + j) % m] - {e.number(1)}) done done; s))",
              lambda: f"(xs @ p, b @ xs, [ {rng.choice(['dot', 'inner'])} r p + c | r in xs ])",
              lambda: f"(let w = [ [ {e.number(1)} | j < m ] | i < n ] in (transpose w @ w, [ {rng.choice(['sum', 'norm', 'mean', 'product'])} r | r in w ]))",
              lambda: f"[ (let r = xs[i] in {rng.choice(['softmax r', 'r * c + p', 'cumsum r', 'reverse r', 'p - c * r'])}) | i < n ]",
              lambda: f"[ (let mut s = 0.5 in (for j = 0 to m - 1 do (if {e.condition()} then s <- s + {e.number(1)} else s <- s - {e.number(1)}) done; s)) | i < n ]"]
    return definitions(rng, number, "xs b p c n m", rng.choice(shapes)(), rng.choice(["xs c", "p b", "xs p", "xs b"]))


def records(rng, number):
    """Arrays of records of three floats: maps, sums, pairs, and updates."""
    e = Expression(rng, ["o.x", "o.y", "o.z", "c", "b[i]"], ["i", "n", "k"])
    f = Expression(rng, ["o.x", "o.y", "r.z", "r.x", "c"], ["i", "j", "n"])
    point = lambda g=e, d=1: f"{{x = {g.number(d)}, y = {g.number(d)}, z = {g.number(d)}}}"
    at = rng.choice(["i", "i", "n - 1 - i", "is[i] % n", "(i * 3) % n"])
    bind = f"let o = ps[{at}] in let k = is[i] in "
    pair = "let (o, r) = (ps[i], ps[j]) in "
    shapes = [lambda: f"[ ({bind}{point()}) | i < n ]", lambda: f"[ ({bind}{e.number(3)}) | i < n ]", lambda: f"sum [ ({bind}{e.number(3)}) | i < n ]",
              lambda: f"[ ({bind}({e.number(2)}, {e.number(1)})) | i < n ]",
              lambda: f"[ ({bind}if {e.condition()} then {point()} else o) | i < n ]",
              lambda: f"[ ({bind}{{o with y = {e.number(2)}}}) | i < n ]",
              lambda: f"sum [ sum [ ({pair}{f.number(2)}) | j < {rng.choice(['i', 'n'])} ] | i < n ]",
              lambda: f"[ sum [ ({pair}{f.number(2)}) | j < {rng.choice(['i', 'n', 'min n 6'])} ] | i < n ]",
              lambda: f"(let mut w = ps in (for i = 0 to n - 1 do ({bind}w[{rng.choice(['i', 'is[i] % n'])}] <- {point()}) done; w))",
              lambda: f"(let mut w = ps in (for i = 0 to n - 1 do ({bind}(w[i].x <- w[i].x + {e.number(1)}; w[is[i] % n].y <- w[is[i] % n].y - {e.number(1)})) done; w))",
              lambda: f"(let mut w = ps in (for i = 0 to n - 1 do for j = 0 to i - 1 do ({pair}(let d = {f.number(2)} in (w[i].x <- w[i].x + d; w[j].x <- w[j].x - d))) done done; w))",
              lambda: f"(let mut g = {{x = 0.0, y = 0.0, z = 0.0}} in (for i = 0 to n - 1 do ({bind}g <- g + {point()}) done; g))"]
    return definitions(rng, number, "ps b is c n", rng.choice(shapes)(), rng.choice(["ps c", "ps b"]))


def ending(rng, number):
    """Iterations with loops that end when the data say so, and loops that carry several numbers."""
    e = Expression(rng, ["x", "s", "t", "c", "p[j]"], ["j", "i", "k"])
    o = Expression(rng, ["x", "c", "b[i]"], ["i", "k", "m"])
    start = f"let x = b[i] in let k = is[i] in let mut s = {o.number(1)} in let mut t = 0.25 in "
    steps = lambda: f"(s <- s * 0.5 + {e.number(1)}; t <- {rng.choice(['t + ', 't * 0.9 + ', 'max t '])}{e.number(1)})"
    terms = [lambda: f"({start}let mut j = 0 in (while j < m && {e.condition()} do ({steps()}; j <- j + 1) done; s + t))",
             lambda: f"({start}(for j = 0 to m - 1 do {steps()} done; s - t))",
             lambda: f"({start}(for j = 0 to k % (m + 1) - 1 do {steps()} done; s * 0.5 + t))",
             lambda: f"({start}(for j = m - 1 downto 0 do (if {e.condition()} then {steps()} else s <- {e.number(1)}) done; s + t))",
             lambda: f"(let x = b[i] in let k = is[i] in if {o.condition()} then {o.number(2)} else ({start}(for j = 0 to m - 1 do {steps()} done; t)))",
             lambda: f"(let x = b[i] in let k = is[i] in let w = [ {o.number(1)} * p[j] | j < m ] in (w[k % m] + {rng.choice(['sum', 'maximum', 'logsumexp', 'norm'])} w))"]
    reducer = rng.choice(["sum [ {} | i < n ]", "[ {} | i < n ]", "mean [ {} | i < n ]", "(let mut h = 0.0 in (for i = n - 1 downto 0 do h <- h + {} done; h))",
                          "(let mut h = a[..n + m] in (for i = 0 to n - 1 do h[is[i] % n] <- h[is[i] % n] + {} done; h))",
                          "(let mut h = a[..n + m] in (for i = 0 to n - 1 do (h[i] <- h[i + 1] * 0.5 + {}) done; h))"])
    return definitions(rng, number, "a b is c p n m", reducer.replace("{}", rng.choice(terms)()), rng.choice(["b c", "p b", "p c", "a p"]))


KINDS = {"nest": nest, "sample": sample, "elements": elements, "grid": grid, "records": records, "ending": ending}
