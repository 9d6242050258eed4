# SPDX-License-Identifier: MIT
"""Random nests of loops over arrays, for lane_templates.py.

A function has two or three loops, up or down, whose statements read, write and add to arrays at places such as i, i + j, 2 * i, i * m + j,
is[i] or 3, with branches that some iterations take, and sums."""


class Function:
    """One random function f of arrays a (read), w (written) and ints is, with lengths n and m; w has n * m + 3 n + 2 m + 8 elements."""

    def __init__(self, rng, number):
        self.rng, self.number, self.temporaries = rng, number, 0

    def index(self, loops):
        """A place within w: so all of them are less than n * m + 3 n + 2 m + 8 and not negative."""
        i = self.rng.choice(loops)
        j = self.rng.choice(loops)
        return self.rng.choice([i, i, f"{i} + 1", f"{i} + 2", f"2 * {i}", f"{i} + {j}", f"i * m + {j}" if "j" in loops else f"{i} * 2 + 1", f"is[i]", "3", "m",
                                f"n - {i}" if i == "i" else f"m - {i}", f"{i} + m", "(i * 5 + 2) % 7", f"is[i] + {j}"])

    def value(self, loops, depth=0):
        r = self.rng
        kinds = ["element", "element", "written", "index", "constant", "sum", "product", "sum", "fma", "function", "choice"]
        kind = r.choice(kinds if depth < 3 else kinds[:5])
        v = lambda: self.value(loops, depth + 1)
        if kind == "element":
            return f"a[{self.index(loops)}]"
        if kind == "written":
            return f"w[{self.index(loops)}]" if r.random() < 0.4 else "c"
        if kind == "index":
            return f"float ({r.choice(loops)} * {r.randint(-2, 3)} + {r.randint(0, 4)})"
        if kind == "constant":
            return r.choice(["0.5", "-1.25", "c", "0.0", "2.0"])
        if kind == "sum":
            return f"({v()} {r.choice('+-')} {v()})"
        if kind == "product":
            return f"({v()} * {v()})"
        if kind == "fma":
            return f"({v()} * {v()} + {v()})"
        if kind == "function":
            return f"({r.choice(['sin', 'exp', 'abs', 'sqrt', 'tanh', 'floor'])} ({v()} * 0.1))"
        return f"(if {self.condition(loops)} then {v()} else {v()})"

    def condition(self, loops):
        r = self.rng
        i = r.choice(loops)
        return r.choice([f"{i} = 0", "i = n - 1", f"{i} % 3 = 1", f"a[{self.index(loops)}] < 0.2", "m > 4", f"{i} < 5 || i > 12", "is[i] > 3"])

    def statement(self, loops):
        r = self.rng
        kind = r.choice(["write", "add", "add", "add", "add", "sum", "several", "branch", "neighbours", "neighbours"])
        place = self.index(loops)
        if kind == "write":
            return f"w[{place}] <- {self.value(loops)}"
        if kind == "add":
            return f"w[{place}] <- w[{place}] {r.choice('+-')} {self.value(loops)}"
        if kind == "sum":
            return f"s <- s {r.choice('+-')} {self.value(loops)}"
        if kind == "several":
            return f"({self.statement(loops)}; {self.statement(loops)})"
        if kind == "neighbours":
            i = r.choice(loops)
            return "(" + "; ".join(f"w[{i} + {k}] <- w[{i} + {k}] + {self.value(loops, 2)}" for k in r.sample([0, 1, 2, 3], 3)) + ")"
        other = f" else {self.statement(loops)}" if r.random() < 0.6 else ""
        return f"(if {self.condition(loops)} then {self.statement(loops)}{other})"

    def loop(self, name, end, body):
        if self.rng.random() < 0.3:
            return f"for {name} = {end} - 1 downto 0 do {body} done"
        return f"for {name} = 0 to {end} - 1 do {body} done"

    def text(self):
        r = self.rng
        shape = r.randint(0, 6)
        if shape == 0:
            body = self.loop("i", "n", self.statement(["i"]))
        elif shape == 1:
            body = self.loop("i", "n", self.loop("j", r.choice(["m", "m", "i", "6"]) if r.random() < 0.9 else "n", self.statement(["i", "j"])))
            body = body.replace("= n - 1 downto", "= m - 1 downto", 1) if "for j = 0 to n" in body else body
        elif shape == 2:
            inner = self.loop("j", "m", self.statement(["i", "j"]))
            body = self.loop("i", "n", f"({self.statement(['i'])}; ({inner}); {self.statement(['i'])})")
        elif shape == 3:
            inner = self.loop("j", r.choice(["m", "6"]), f"t <- t {r.choice('+-*')} {self.value(['i', 'j'], 2)}").replace("w[", "a[")
            term = f"(let mut t = {self.value(['i'], 3)} in (({inner}); t))".replace("w[", "a[")
            body = f"w <- [ {term} | i < n ]" if r.random() < 0.5 else f"s <- sum [ {term} | i < n ]"
        elif shape == 4:
            body = f"s <- sum [ {self.value(['i'])} | i < n ]"
        elif shape == 5:
            body = f"w <- [ sum [ {self.value(['i', 'j'], 1)} | j < m ] | i < n ]".replace("w[", "a[")
        else:
            body = f"({self.loop('i', 'n', self.statement(['i']))}); {self.loop('i', 'n', self.loop('j', 'm', self.statement(['i', 'j'])))}"
        return (f"let f{self.number} (a : float[]) (is : int[]) (c : float) (n : int) (m : int) =\n"
                f"  let mut w = [ 0.25 | k < n * m + 4 * n + 2 * m + n * n + 10 ] in\n  let mut s = 0.0 in\n  ({body});\n  (s, w)\n")
