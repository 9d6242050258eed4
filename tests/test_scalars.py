#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Machine code gives what the evaluator gives, the signs of zeros too, for each operation of src/ir/ops.def on the result
of each other one, at special values: GCC knows such pairs, and some of what it makes of them is right only without signed
zeros, or with other roundings. So it is with conversions around each operation. Values are those of a table, which a loop
goes through; in default mode, and in strict mode where there are floats.

usage: test_scalars.py ATLED OPS_DEF [--all]
--all: pairs with two functions of the C library too, and pairs of them with all else (minutes)

A row of ops.def without an expression in EXPRESSIONS and without a reason in WITHOUT is an error."""
import os, re, subprocess, sys, tempfile

ATLED, OPS, ALL = sys.argv[1], sys.argv[2], "--all" in sys.argv
BATCH = 40  # pairs a file

FLOATS = ["0.0", "-0.0", "0.5", "-0.5", "0.49999999999999994", "-0.3", "1.0", "-1.0", "1.5", "-2.5", "3.7", "5e-324",
          "-2.2250738585072014e-308", "4503599627370497.5", "-9007199254740993.0", "9.3e18", "1.7e308", "inf", "-inf", "nan"]
INTS = ["0", "1", "-1", "2", "3", "-7", "64", "9007199254740993", "9223372036854775807", "-9223372036854775808"]

# Operands are {0}, {1}, {2}. What could fail gets operands with which it doesn't.
EXPRESSIONS = {
    "IADD": "{0} + {1}", "ISUB": "{0} - {1}", "IMUL": "{0} * {1}", "IDIV": "{0} / bit_or ({1}) 1", "IREM": "{0} % bit_or ({1}) 1",
    "INEG": "-{0}", "IPOW": "{0} ^ bit_and ({1}) 7", "IMIN": "min {0} {1}", "IMAX": "max {0} {1}", "IAND": "bit_and {0} {1}",
    "IOR": "bit_or {0} {1}", "IXOR": "bit_xor {0} {1}", "ISHL": "shift_left {0} {1}", "ISHR": "shift_right {0} {1}",
    "IEQ": "{0} = {1}", "INE": "{0} <> {1}", "ILT": "{0} < {1}", "ILE": "{0} <= {1}",
    "FADD": "{0} + {1}", "FSUB": "{0} - {1}", "FMUL": "{0} * {1}", "FDIV": "{0} / {1}", "FNEG": "-{0}", "FMA": "{0} * {1} + {2}",
    "FPOWI": "{0} ^ {1}", "FPOW": "{0} ** {1}", "FMIN": "min {0} {1}", "FMAX": "max {0} {1}",
    "FEQ": "{0} = {1}", "FNE": "{0} <> {1}", "FLT": "{0} < {1}", "FLE": "{0} <= {1}",
    "SIGN": "sign {0}", "ATAN2": "atan2 {0} {1}", "HYPOT": "hypot {0} {1}", "DIGAMMA": "digamma {0}", "TRIGAMMA": "trigamma {0}",
    "IS_NAN": "is_nan {0}", "FLOAT_OF_INT": "float {0}", "INT_OF_FLOAT": "int {0}",
    "NOT": "not {0}", "AND": "{0} && {1}", "OR": "{0} || {1}", "BEQ": "{0} = {1}", "SELECT": "if {0} then {1} else {2}",
}
WITHOUT = {"ISUBS": "numbers of iterations only"}
SIGNATURES = {"SELECT": ("bff:f", "bii:i", "bbb:b")}
# GCC makes instructions of these or leaves them to the runtime; the others are calls of the C library.
EXACT = {"ABS", "FLOOR", "CEIL", "ROUND", "TRUNC", "SQRT", "SIGN", "FMA"}
CALLS = {"FPOW", "ATAN2", "HYPOT", "DIGAMMA", "TRIGAMMA"}


def rows():
    """(name, operand types, result type, expression, a function of the C library?) of each scalar operation."""
    with open(OPS) as f:
        text = re.sub(r"#ifndef.*?#endif|/\*.*?\*/", "", f.read(), flags=re.S)
    for name, what, third in re.findall(r'(?m)^(?:SCALAR|FLOAT1)\((\w+), "([^"]+)", "?([^,"]+)"?,', text):
        if name in WITHOUT:
            continue
        expression = EXPRESSIONS.get(name) or (f"{what} {{0}}" if ":" not in third else None)
        if not expression:
            sys.exit(f"test_scalars.py: no expression for {name}")
        for signature in SIGNATURES.get(name, [third if ":" in third else "f:f"]):
            operands, result = signature.split(":")
            yield name, operands, result, expression, name in CALLS or (":" not in third and name not in EXACT)


def is_tried(outer, outer_call, inner, inner_call):
    return ALL or not (outer_call or inner_call) or (not (outer_call and inner_call) and bool({outer, inner} & NEAR))


FLOAT_OPERAND = re.compile(r"\b[xy]\b")
NAMES = {"f": ["x", "y", "x"], "i": ["m", "n", "m"], "b": ["p", "q", "p"]}


def pairs():
    """(what it is, type, expression): each outer operation with an inner one as each operand that has its type."""
    table = list(rows())
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
    for name, operands, result, text, _ in rows():
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
    out = [HEAD]
    for j, (_, result, text) in enumerate(batch):
        out.append(f"let f{j} (x : float) (y : float) (m : int) (n : int) (p : bool) (q : bool) : {TYPES[result]} = {text}\n"
                   f"print [ f{j} xs[i / k] xs[i % k] ms[i / k % 10] ms[i % 10] (i / k % 2 = 0) (i % 2 = 0) | i < k * k ]\n")
    return "".join(out)


def run(text, options, folder):
    path = os.path.join(folder, "pairs.atl")
    with open(path, "w") as f:
        f.write(text)
    r = subprocess.run([ATLED, *options, path], capture_output=True, text=True, timeout=600, env=dict(os.environ, ATLED_CACHE=""))
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
