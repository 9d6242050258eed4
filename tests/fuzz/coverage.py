# SPDX-License-Identifier: MIT
"""What random programs covered: kinds of IR nodes, from the text of `atled ir`, and constructs of the language under derivative
operators, from the tags that the generator leaves (Program.tags)."""
import collections
import os
import re
import subprocess
import tempfile

# No program can have the first four: only the standard library binds primitives, and none of its functions uses these.
# The others are made and folded inside passes alone: `<>` is the negation of `=`, `||` a branch.
UNREACHABLE = {"andi", "ori", "xori", "shli", "<>i", "<>", "or"}
STAGES = ("built", "differentiated", "final")
OPERAND = [("param", r"p\d+"), ("int", r"-?\d+"), ("float", r"-?(?:\d+\.\d*|\d+e|inf|nan)\S*"), ("bool", r"true|false"), ("unit", r"\(\)"),
           ("zero", r"zero")]


def node_kinds(exe, text):
    """How often each kind of node stands in the graphs of these stages. Leaves are counted where they are operands."""
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fuzz.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        for stage in STAGES:
            r = subprocess.run([exe, "ir", f"--stage={stage}", path], capture_output=True, text=True, timeout=300)
            for m in re.finditer(r"^ *%\d+ : .*? = (\S+)(.*)", r.stdout, re.M):
                counts[re.sub(r"^len\.\d+$", "len", m[1])] += 1
                for name, pattern in OPERAND:
                    counts[name] += len(re.findall(rf"(?<= )(?:{pattern})(?= |$)", m[2]))
                counts["string"] += '"' in m[2]
    return counts


def all_kinds():
    path = os.path.join(os.path.dirname(__file__), "..", "..", "src", "ir", "ops.def")
    with open(path, encoding="utf-8") as f:
        return re.findall(r'^(?:OP|SCALAR|FLOAT1|LEAF|CHECKED)\(\w+, "([^"]+)"', f.read(), re.M)


class Coverage:
    """Of programs: how many have a construct and were differentiated in a mode as wholes (self.modes), or have it under a
    derivative operator of their own (self.pairs)."""

    def __init__(self):
        self.kinds, self.modes, self.pairs, self.paths = (collections.Counter() for _ in range(4))
        self.programs = self.sampled = 0

    def add(self, program, modes):
        self.programs += 1
        self.pairs.update({(path[-1] if path else "none", construct) for path, construct in program.tags})
        self.paths.update({path for path, _ in program.tags})
        self.modes.update((mode, construct) for construct in {c for _, c in program.tags} for mode in modes)

    def add_kinds(self, programs, kinds):
        self.kinds.update(kinds)
        self.sampled += len(programs)

    def print(self, full):
        kinds, constructs = [k for k in all_kinds() if k not in UNREACHABLE], sorted({c for _, c in self.pairs})
        print(f"IR nodes, counted in {self.sampled} of {self.programs} programs: {len([k for k in kinds if self.kinds[k]])} of "
              f"{len(kinds)} kinds; below 100: {below((self.kinds[k], k) for k in kinds)}")
        for what, table in (("modes of differentiation", self.modes), ("operators in programs", self.pairs)):
            columns = sorted({mode for mode, _ in table})
            cells = [(table[m, c], f"{m}/{c}") for m in columns for c in constructs]
            print(f"{what} ({' '.join(columns)}) and {len(constructs)} constructs: {len([n for n, _ in cells if n >= 100])} of "
                  f"{len(cells)} pairs in 100 programs or more; below: {below(cells)}")
            for c in constructs if full else ():
                print(f"  {c:28} " + "  ".join(f"{m} {table[m, c]}" for m in columns))
        if full:
            print("\n".join(f"  {n:8} {k}" for k, n in self.kinds.most_common()))
            print("nested: " + ", ".join(f"{'/'.join(m)} {n}" for m, n in sorted(self.paths.items()) if len(m) > 1))


def below(cells):
    """The rare ones; a few of them by name."""
    rare = sorted(x for x in cells if x[0] < 100)
    return ", ".join(f"{name} {n}" for n, name in rare[:20]) + (f", … ({len(rare)})" if len(rare) > 20 else "") or "none"
