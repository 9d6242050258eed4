# SPDX-License-Identifier: MIT
"""Random sums over samples whose terms make arrays, for lane_templates.py: the loops that get a copy with private arrays
(src/lower/privatise.c).

A function adds up a term for each row of a matrix, or makes a row, or the gradient of a term. The term makes arrays by comprehensions and by
loops that change them, branches on data, has lengths that data tell, and reads and changes elements at places that data tell. Some fail, at a
sample that data tell."""

# What is made of the terms, and whether they are rows, or gradients of terms with respect to the sample.
REDUCERS = [("sum [ ({}) | i < length xs ]", ""), ("mean [ ({}) | i < length xs ]", ""), ("sum [ exp (({}) * 0.01) | i < length xs ]", ""),
            ("[ ({}) | i < length xs ]", "rows"), ("[ ({}) | i < length xs ]", "rows"), ("", "gradients")]


class Term:
    """The term of one sample x, made of parameters p (m numbers), q (a matrix of 3 rows of m), and k, an int of the sample."""

    def __init__(self, rng, fails):
        self.rng, self.fails, self.arrays, self.numbers, self.lines = rng, fails, ["x", "p"], [], []

    def element(self, index):
        r = self.rng
        kinds = [f"{r.choice(self.arrays)}[{index}]"] * 4 + [f"q[{r.randint(0, 2)}, {index}]", f"q[k % 3, {index}]"]
        return r.choice(kinds)

    def scalar(self, depth=0):
        r = self.rng
        kind = r.choice(["number", "number", "at", "at", "constant", "sum", "product", "function", "choice"] if depth < 3 else ["number", "at", "constant"])
        v = lambda: self.scalar(depth + 1)
        if kind == "number":
            return r.choice(self.numbers) if self.numbers else "0.5"
        if kind == "at":
            return self.element(r.choice(["0", "m - 1", "k % m", "m / 2"]))
        if kind == "constant":
            return r.choice(["0.25", "-1.5", "2.0", "c"])
        if kind == "sum":
            return f"({v()} {r.choice('+-')} {v()})"
        if kind == "product":
            return f"({v()} * {v()})"
        if kind == "function":
            return f"({r.choice(['sin', 'tanh', 'exp', 'abs'])} ({v()} * 0.1))"
        return f"(if {self.condition()} then {v()} else {v()})"

    def of_index(self, depth=0):
        """A number made of index j."""
        r = self.rng
        kind = r.choice(["element", "element", "scalar", "sum", "product", "fma", "function"] if depth < 2 else ["element", "element", "scalar"])
        v = lambda: self.of_index(depth + 1)
        if kind == "element":
            return self.element("j")
        if kind == "scalar":
            return self.scalar(3)
        if kind == "function":
            return f"({r.choice(['sin', 'tanh', 'exp'])} ({v()} * 0.2))"
        return f"({v()} {r.choice('+-')} {v()})" if kind == "sum" else f"({v()} * {v()})" if kind == "product" else f"({v()} * {v()} + {v()})"

    def condition(self):
        r = self.rng
        if r.random() < 0.6:  # such as iterations aren't expected to differ at, though these do
            return r.choice([f"floor ({self.scalar(3)} * 3.0) = 0.0", "floor (x[0] * 4.0) <> 1.0", "is_nan x[0]", f"{self.scalar(3)} = {self.scalar(3)}"])
        return r.choice(["x[0] < 0.1", "k % 2 = 0", "m > 3", "i < 20", f"{self.scalar(3)} > 0.0", f"{self.scalar(3)} < 5.0", "k = 3 && x[m - 1] < 0.0"])

    def statement(self):
        r = self.rng
        name = f"v{len(self.lines)}"
        kind = r.choice(["map", "map", "map", "scan", "number", "number", "sum", "sum", "branch", "place", "max", "double", "length"])
        if kind == "map":
            self.lines.append(f"let {name} = [ {self.of_index()} | j < m ] in")
            self.arrays.append(name)
        elif kind == "scan":
            self.lines.append(f"let mut {name} = [ {self.of_index()} | j < m ] in (for j = 1 to m - 1 do {name}[j] <- {name}[j - 1] * 0.5 + {self.of_index()} done);")
            self.arrays.append(name)
        elif kind == "number":
            self.lines.append(f"let {name} = {self.scalar()} in")
            self.numbers.append(name)
        elif kind == "sum":
            self.lines.append(f"let {name} = sum [ {self.of_index()} | j < m ] in")
            self.numbers.append(name)
        elif kind == "branch":
            self.lines.append(f"let {name} = if {self.condition()} then sum [ {self.of_index()} | j < m ] else sum [ {self.of_index()} | j < m - 1 ] in")
            self.numbers.append(name)
        elif kind == "place":
            place = "k" if self.fails and r.random() < 0.7 else "k % m"
            self.lines.append(f"let mut {name} = [ {self.of_index()} | j < m ] in ({name}[{place}] <- {name}[{place}] {r.choice('+*')} {self.scalar(2)});")
            self.arrays.append(name)
        elif kind == "length":
            self.lines.append(f"let {name} = (let n = if {self.condition()} then k % m + 1 else m in let w = [ {self.of_index()} | j < n ] in sum w * w[0]) in")
            self.numbers.append(name)
        elif kind == "max":
            self.lines.append(f"let {name} = {r.choice(['maximum', 'logsumexp', 'mean', 'norm'])} {r.choice(self.arrays)} in")
            self.numbers.append(name)
        else:
            self.lines.append(f"let {name} = [ sum [ q[l, j] * {r.choice(self.arrays)}[j] | j < m ] | l < 3 ] in")
            self.numbers.append(f"{name}[k % 3]")
            self.numbers.append(f"{name}[1]")

    def statements(self):
        for _ in range(self.rng.randint(2, 6)):
            self.statement()
        return " ".join(self.lines)

    def text(self):
        return self.statements() + f" {self.scalar(1)} + {self.rng.choice(self.numbers) if self.numbers else '1.0'} * {self.rng.choice(self.arrays)}[0]"

    def row(self):
        """An array instead of a number."""
        before = self.statements()
        return f"{before} " + self.rng.choice([f"[ {self.of_index()} | j < m ]", f"{self.rng.choice(self.arrays)}", f"[{self.scalar(1)}, {self.scalar(1)}, {self.scalar(2)}]",
                                               f"{self.rng.choice(self.arrays)} + {self.rng.choice(self.arrays)}", f"[{self.scalar(1)}] ++ {self.rng.choice(self.arrays)}"])
