# SPDX-License-Identifier: MIT
"""Productions with variables that are assigned, and with recursion: a part of the generator (generate.py)."""
from typed import B, E, F, I, LIST, RECORD, TREE, arr, has_float, is_fixed, mat, type_text


class Statements:
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
        if k < 4 and n > 1 and s.work < 40:
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

    def any_counted(self, t, s, n):
        """Loops and recursion that leave with what algebra may know, at a number of iterations that it can't; bounds at the ends of
        the ints, passed as the numbers that they are or hidden."""
        if s.work > 20:
            return None
        self.p.tags.add((s.modes, "iterations known by algebra"))
        k, y, x, go = self.name("k"), self.name("m"), self.name(), self.name("go")
        start, T = ["let ", x, f" : {type_text(t)} = ", self.expr(t, s, n), " in "], type_text(t)
        trips = self.rng.randint(0, 4)
        hidden = self.rng.choice(["{}", "({} + 0 * int (sin 0.5))", "(if at ({}) 1 = 0 then {} else 0)"])
        bound = lambda b: hidden.replace("{}", f"({b})")
        last, first = bound(2 ** 63 - 1), bound(-2 ** 63 + 1)
        counted = f"let mut {y} = 0 in %s do {y} += 1 done; if {y} = %d then {x} else fail \"count\")"
        loop = self.rng.choice([
            counted % (f"for {k} = {last} - {trips} to {last}", trips + 1),
            counted % (f"for {k} = {first} + {trips} downto {first}", trips + 1),
            counted % (f"for {k} = {last} to {first}", 0),
            (counted % (f"let mut {k} = {first} in while {k} < {first} + {trips}", trips)).replace(" do ", f" do {k} += 1; ", 1),
            counted % (f"for {k} = {first} downto {last}", 0),
            f"let mut {k} = 1 in while {k} * {k} < {trips} do {k} *= 2 done; {x})",
            f"let rec {go} ({k} : int) ({y} : {T}) : {T} = if {k} * {k} >= {trips} then {x} else {go} (2 * {k} + 1) {y} in {go} 1 {x})",
        ])
        return E(t, "(", *start, loop)

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
        """Functions each of which may call itself and the others, once or twice on each of its ways."""
        names, k, y, T = [self.name("go") for _ in range(self.rng.randint(2, 3))], self.name("k"), self.name(), type_text(t)
        inner, shares, parts = s.often(7).bind((k, I), (y, t)), self.split(n, len(names) + 1), []
        self.p.tags.add((s.modes, "mutual recursion"))
        for f, m in zip(names, shares):
            a, b, c = self.split(m, 3)
            parts += [" and " if parts else "(let rec ", f"{f} ({k} : int) ({y} : {T}) : {T} = if {k} <= 0 then ",
                      y if self.chance(0.5) else self.expr(t, inner, a), " else "]
            parts += [f"if {k} > 1 then ", self.calls(names, t, inner, k, y, b), " else "] if self.chance(0.4) else []
            way = self.calls(names, t, inner, k, y, c)
            parts += self.long(way) if t == F and self.chance(0.4) else [way]
        argument = E(t, "(", self.expr(t, s, shares[-1]), ")")
        return E(t, *parts, f" in {names[0]} {self.rng.randint(0, 3)} ", argument, ")")

    def calls(self, names, t, s, k, y, n):
        """One way through a function of such a group."""
        (p, q), (a, b) = (self.name(), self.name()), self.split(n, 2)
        parts = [f"(let {p} = {self.rng.choice(names)} ({k} - 1) (", self.bounded(t, s, a), ") in "]
        s = s.bind((p, t))
        if self.chance(0.5):
            parts, s = parts + [f"let {q} = {self.rng.choice(names)} ({k} - 2) {y} in "], s.bind((q, t))
        if t == F:
            parts.append(f"0.4 * {p} * sin {q if q in s.named(F) else y} + ")
        return E(t, *parts, self.bounded(t, s, b), ")")

    def long(self, e):
        """Near e, but too long for a function to be inlined (INLINE_SIZE)."""
        return ["(let q = ", E(F, e), " in ", "let q = q + 0.01 * sin q in " * 110, "q)"]

    def over_list(self, t, s, n):
        a, b, c = self.split(n, 3)
        go, y, l, z = self.name("go"), self.name(), self.name("l"), self.name()
        inner = s.often(3)
        self.p.tags.add((s.modes, "recursion over a list"))
        return E(t, f"(let rec {go} ({l} : {type_text(LIST)}) : {type_text(t)} = match {l} with | Nil -> ", self.expr(t, inner, a),
                 f" | {y} :: {l} -> (let {z} = {go} {l} in ", self.bounded(t, inner.bind((y, F), (l, LIST), (z, t)), b), f") in {go} ",
                 E(LIST, "(", self.expr(LIST, s, c), ")"), ")")

    def over_tree(self, t, s, n):
        a, b, c = self.split(n, 3)
        go, y, l, r, p, q = (self.name() for _ in range(6))
        inner = s.often(4)
        self.p.tags.add((s.modes, "recursion over a tree"))
        return E(t, f"(let rec {go} (t : {type_text(TREE)}) : {type_text(t)} = match t with | Leaf -> ", self.expr(t, inner, a),
                 f" | Node ({l}, {y}, {r}) -> (let {p} = {go} {l} in let {q} = {go} {r} in ",
                 self.bounded(t, inner.bind((y, F), (p, t), (q, t)), b), f") in {go} ", E(TREE, "(", self.expr(TREE, s, c), ")"), ")")
