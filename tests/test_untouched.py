#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Machine code is byte for byte what it is in a process without studies: one session has entries alone, the others
ask for costs, cuts, gradients as source and traps before them, or between them. Places are part of the words of errors, so the definitions are a file, whose places are the same in both.

usage: test_untouched.py ATLED"""
import glob
import os
import subprocess
import sys
import tempfile

DEFINITIONS = """
let softplus x = log (1.0 + exp x)
let layer w x = sum [ tanh (w[i] * x[i]) | i < length w ]
let loss w = layer w [ float i / 50.0 | i < length w ] + sqrt (sum [ y * y | y in w ])
let root x =
  let mut y = x in
  for i = 1 to 20 do y <- 0.5 * (y + x / y) done;
  y
type tree = Leaf of float | Node of tree * tree
let rec value t = match t with Leaf x -> softplus x * x | Node (l, r) -> sin (value l) / value r
let t = Node (Leaf 0.5, Node (Leaf 1.5, Leaf (-0.3)))
let w = [ 0.1 + 0.1 * float i | i < 50 ]
"""
ENTRIES = ["print (grad loss w)", "print (grad root 2.0)", "print (grad value t)", "print (sum [ softplus x | x in w ])"]
STUDIES = [":why loss w", ":cost loss w", ":cost value", ":cost root 2.0", ":grad root", ":grad loss", ":why value t", ":trap nan\nloss w\n:trap off"]


def objects(atled, folder, entries):
    """Name -> bytes of the objects that a session leaves in its cache, and what it prints."""
    env = dict(os.environ, ATLED_CACHE=folder, ATLED_JIT="always", ATLED_HISTORY="", ATLED_INIT="", NO_COLOR="1", TERM="dumb")
    typed = ":load definitions.atl\n" + "\n".join(entries) + "\n"
    run = subprocess.run([atled, "repl"], input=typed, capture_output=True, text=True, timeout=120, env=env, cwd=os.path.dirname(folder),
                         check=False)
    made = glob.glob(os.path.join(folder, "*.so"))
    return {os.path.basename(p): open(p, "rb").read() for p in made}, run.stdout + run.stderr


def main():
    atled = os.path.abspath(sys.argv[1])
    studied = [line for study, entry in zip(STUDIES, ENTRIES + [""] * len(STUDIES)) for line in (study, entry) if line]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "definitions.atl"), "w", encoding="utf-8") as f:
            f.write(DEFINITIONS)
        plain, said = objects(atled, os.path.join(folder, "plain"), ENTRIES)
        after, text = objects(atled, os.path.join(folder, "after"), STUDIES + ENTRIES)
        between, _ = objects(atled, os.path.join(folder, "between"), studied)
    wrong = []
    if len(plain) < len(ENTRIES) or "error" in said + text:
        wrong.append(f"{len(plain)} objects\n{said}\n{text}")
    if len(after) <= len(plain):
        wrong.append("the trapped entry was not compiled")
    for name, code in plain.items():
        for where, other in ("after", after), ("between", between):
            if other.get(name) != code:
                wrong.append(f"{name} {where} studies: {'differs' if name in other else 'is another'}")
    print("\n".join(wrong) or f"{len(plain)} objects are the same")
    sys.exit(bool(wrong))


main()
