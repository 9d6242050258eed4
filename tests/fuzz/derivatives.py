# SPDX-License-Identifier: MIT
"""Productions with derivatives and rules, and each production in turn under each derivative operator: a part of the
generator (generate.py)."""
from typed import B, E, F, FUN, I, LIST, OPT, RECORD, SHAPE, TREE, Scope, arr, is_fixed, has_float, mat, type_text


class Derivatives:
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
        branches = is_fixed(u) and self.chance(0.5)  # on the argument of the linear function
        if pullback:
            rule = [f"\npullback {f} {y} = vjp (fun ({y} : {T}) -> ", body, f") {y}"]
        else:
            rule = [f"\ntangent {f} {y} {d} = jvp (fun ({y} : {T}) -> ", body, f") {y} {d}"]
        if branches and pullback:
            rule[0] = rule[0].replace("= vjp", "= let (z, back) = vjp")
            rule.append(f" in (z, fun {d} -> if {d} = 0.0 then 0.0 * {y} else back {d})")
        elif branches:
            rule.append(f" |> fun (z, dz) -> (z, if inner {d} {d} = 0.0 then 0.0 else dz)")
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
