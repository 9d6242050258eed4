#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Machine code gives what the evaluator gives, the signs of zeros too, for each operation of src/ir/ops.def on the result
of each other one, at special values: GCC knows such pairs, and some of what it makes of them is right only without signed
zeros, or with other roundings. So it is with conversions around each operation. Values are those of a table, which a loop
goes through; in default mode, and in strict mode where there are floats, there with little optimisation (-O1, which knows the pairs too).

usage: test_scalars.py ATLED OPS_DEF [--all]
--all: pairs with two functions of the C library too, and pairs of them with all else (minutes)"""
import os, re, subprocess, sys, tempfile
from scalar_rows import rows

ATLED, OPS, ALL = sys.argv[1], sys.argv[2], "--all" in sys.argv
BATCH, TOGETHER = 80, 10  # pairs a file, and a statement, which GCC gets at once

FLOATS = ["0.0", "-0.0", "0.5", "-0.5", "0.49999999999999994", "-0.3", "1.0", "-1.0", "1.5", "-2.5", "3.7", "5e-324",
          "-2.2250738585072014e-308", "4503599627370497.5", "-9007199254740993.0", "9.3e18", "1.7e308", "inf", "-inf", "nan"]
INTS = ["0", "1", "-1", "2", "3", "-7", "64", "9007199254740993", "9223372036854775807", "-9223372036854775808"]

def is_tried(outer, outer_call, inner, inner_call):
    return ALL or not (outer_call or inner_call) or (not (outer_call and inner_call) and bool({outer, inner} & NEAR))


FLOAT_OPERAND = re.compile(r"\b[xy]\b")
NAMES = {"f": ["x", "y", "x"], "i": ["m", "n", "m"], "b": ["p", "q", "p"]}


def pairs():
    """(what it is, type, expression): each outer operation with an inner one as each operand that has its type."""
    table = list(rows(OPS))
    for outer, wanted, result, text, call in table:
        for k, kind in enumerate(wanted):
            for inner, operands, made, inside, inner_call in table:
                if made != kind or not is_tried(outer, call, inner, inner_call):
                    continue
                parts = [NAMES[t][1 - (j == k)] for j, t in enumerate(wanted)]
                parts[k] = "(" + inside.format(*(NAMES[t][j] for j, t in enumerate(operands))) + ")"
                yield f"{outer} of {inner}", result, text.format(*parts)


def converted():
    """Each operation on ints or floats with conversions around it."""
    for name, operands, result, text, _ in rows(OPS):
        around = {"i": ("f", "float (%s)", "(int %s)"), "f": ("i", "int (%s)", "(float %s)")}
        if result not in around:
            continue
        kind, outside, inside = around[result]
        parts = [inside % NAMES[kind][j] if t == result else NAMES[t][j] for j, t in enumerate(operands)]
        yield f"conversions around {name}", kind, outside % text.format(*parts)


NEAR = {"FNEG", "ABS", "FLOAT_OF_INT", "ROUND"}  # with these functions of the C library are tried, too
HEAD = (f"let xs : float[] = [ (match float_of_string s with | Some x -> x | None -> nan) | s in [{', '.join(chr(34) + x + chr(34) for x in FLOATS)}] ]\n"
        f"let ms : int[] = [ (match int_of_string s with | Some n -> n | None -> 0) | s in [{', '.join(chr(34) + x + chr(34) for x in INTS)}] ]\n"
        "let k = length xs\n")
TYPES = {"f": "float", "i": "int", "b": "bool"}


def program(batch):
    out, shown = [HEAD], []
    for j, (_, result, text) in enumerate(batch):
        out.append(f"let f{j} (x : float) (y : float) (m : int) (n : int) (p : bool) (q : bool) : {TYPES[result]} = {text}\n")
        shown.append(f"{{[ f{j} xs[i / k] xs[i % k] ms[i / k % 10] ms[i % 10] (i / k % 2 = 0) (i % 2 = 0) | i < k * k ]}}")
    for j in range(0, len(shown), TOGETHER):
        out.append('print $"' + "\\n".join(shown[j:j + TOGETHER]) + '"\n')
    return "".join(out)


def run(text, options, folder):
    path = os.path.join(folder, "pairs.atl")
    with open(path, "w") as f:
        f.write(text)
    r = subprocess.run([ATLED, *options, path], capture_output=True, text=True, timeout=600, env=dict(os.environ, ATLED_CACHE="", ATLED_OPT="1" if options[1:] else "3"))
    if r.returncode:
        sys.exit(f"{options}: status {r.returncode}\n{r.stderr[:2000]}")
    return r.stdout.splitlines()


def check(batch, options, folder):
    text, problems = program(batch), []
    for (name, _, expression), a, b in zip(batch, run(text, ["--jit=off", *options], folder),
                                           run(text, ["--jit=always", *options], folder), strict=True):
        if a == b:
            continue
        values = list(zip(a.strip("[]").split(", "), b.strip("[]").split(", "), strict=True))
        i = next(i for i, (u, v) in enumerate(values) if u != v)
        k = len(FLOATS)
        problems.append(f"{name} {' '.join(options)}: {expression} is {values[i][1]} in machine code, {values[i][0]} in the evaluator; x = "
                        f"{FLOATS[i // k]}, y = {FLOATS[i % k]}, m = {INTS[i // k % 10]}, n = {INTS[i % 10]}; {sum(u != v for u, v in values)} differ")
    return problems


def main():
    table, problems = [*pairs(), *converted()], []
    with tempfile.TemporaryDirectory() as folder:
        for options in ([], ["--strict-fp"]):
            tried = [pair for pair in table if not options or FLOAT_OPERAND.search(pair[2])]
            for start in range(0, len(tried), BATCH):
                problems += check(tried[start:start + BATCH], options, folder)
    print("\n".join(problems) or f"{len(table)} pairs of operations are the same in machine code")
    sys.exit(bool(problems))


main()
