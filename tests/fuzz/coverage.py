# SPDX-License-Identifier: MIT
"""What random programs covered: kinds of IR nodes, from the text of `atled ir`, and constructs of the language under derivative
operators, from the tags that the generator leaves (Program.tags)."""
import collections
import os
import re
import subprocess
import tempfile

STAGES = ("built", "differentiated", "final")
OPERATORS = ("grad", "vjp", "deriv", "jvp", "hvp")
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
        return re.findall(r'OP\(\w+, "([^"]+)"', f.read())


class Coverage:
    def __init__(self):
        self.kinds, self.pairs, self.paths = collections.Counter(), collections.Counter(), collections.Counter()
        self.programs = self.sampled = 0

    def add(self, programs, kinds):
        """kinds: of these programs, or None where they weren't counted."""
        self.programs += len(programs)
        if kinds is not None:
            self.kinds.update(kinds)
            self.sampled += len(programs)
        for p in programs:
            innermost = {(modes[-1] if modes else "plain", construct) for modes, construct in p.tags}
            self.pairs.update(innermost)
            self.paths.update({modes for modes, _ in p.tags})

    def print(self, full):
        kinds, constructs = all_kinds(), sorted({c for _, c in self.pairs})
        seen = [k for k in kinds if self.kinds[k]]
        rare = [f"{k} {self.kinds[k]}" for k in kinds if self.kinds[k] < 100]
        print(f"IR nodes, counted in {self.sampled} programs: {len(seen)} of {len(kinds)} kinds; below 100: {', '.join(rare) or 'none'}")
        table = [(self.pairs[o, c], o, c) for o in OPERATORS for c in constructs]
        rare = [f"{o}/{c} {n}" for n, o, c in sorted(table) if n < 100]
        print(f"derivative operator and construct in it: {len(constructs)} constructs, {len(table)} pairs, "
              f"{len(table) - len(rare)} in 100 programs or more" + (f"; below: {', '.join(rare)}" if rare and len(rare) < 40 else ""))
        if not full:
            return
        print("\n".join(f"  {n:8} {k}" for k, n in self.kinds.most_common()))
        for c in constructs:
            print(f"  {c:28} " + "  ".join(f"{o} {self.pairs[o, c]}" for o in ("plain", *OPERATORS)))
        print("nested: " + ", ".join(f"{'/'.join(m)} {n}" for m, n in sorted(self.paths.items()) if len(m) > 1))
