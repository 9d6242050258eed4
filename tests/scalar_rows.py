# SPDX-License-Identifier: MIT
"""The scalar operations of src/ir/ops.def as expressions of the language. A row without an expression in EXPRESSIONS and
without a reason in WITHOUT is an error."""
import re
import sys

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
WITHOUT = {"ISUBS": "numbers of iterations only", "BYTES": "of strings", "NATIVE": "it tells the back ends apart"}
SIGNATURES = {"SELECT": ("bff:f", "bii:i", "bbb:b")}
# GCC makes instructions of these or leaves them to the runtime; the others are calls of the C library.
EXACT = {"ABS", "FLOOR", "CEIL", "ROUND", "TRUNC", "SQRT", "SIGN", "FMA"}
CALLS = {"DIGAMMA", "TRIGAMMA"}


def rows(path):
    """(name, operand types, result type, expression, a function of the C library or SLEEF?) of each scalar operation of ops.def."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"#ifndef.*?#endif|/\*.*?\*/", "", f.read(), flags=re.S)
    for row, name, what, third in re.findall(r'(?m)^(SCALAR|FLOAT1|FUNCTION)\((\w+), "([^"]+)", "?([^,"]+)"?,', text):
        if name in WITHOUT:
            continue
        expression = EXPRESSIONS.get(name) or (f"{what} {{0}}" if ":" not in third or third == "f:f" else None)
        if not expression:
            sys.exit(f"ops.def: no expression for {name}")
        for signature in SIGNATURES.get(name, [third if ":" in third else "f:f"]):
            operands, result = signature.split(":")
            yield name, operands, result, expression, name in CALLS or row == "FUNCTION" or (":" not in third and name not in EXACT)
