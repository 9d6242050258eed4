# SPDX-License-Identifier: MIT
"""Counts for docs/certificate.md: how often a call evaluates the function that it is given, and how many arrays it makes.

Evaluations are counted by a C function, the identity, which each evaluation calls once: it is built by `cc` for the purpose. It is
declared without an effect, so the compiler may merge calls with equal arguments, as it may with any pure function. Arrays are those
of `Bench.arrays`. Both in the evaluator."""
import os
import subprocess
import sys
import tempfile

C_SOURCE = """#include <stdint.h>
static int64_t count;
double tick(double x) { count++; return x; }
int64_t taken(int64_t unused) { (void)unused; int64_t n = count; count = 0; return n; }
"""
PROGRAM = """foreign "{library}" tick : float -> float
tangent tick x dx = (tick x, dx)
foreign "{library}!" taken : int -> int
let f (p : float) : float = {call}
let y = Bench.opaque (f (Bench.opaque 1.0))
let values = taken 0
{derivative}
"""
DERIVATIVE = """let g = Bench.opaque (grad f (Bench.opaque 1.0))
print $"{values} {taken 0} {Bench.arrays f 1.0} {Bench.arrays (grad f) 1.0}"
"""
NONE = 'print $"{values} {Bench.arrays f 1.0}"\n'


def run(atled, folder, text):
    path = os.path.join(folder, "count.atl")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return subprocess.run([atled, "--jit=off", path], capture_output=True, text=True, timeout=600)


def counted(atled, calls):
    """{name: (evaluations by the value, by value and gradient, arrays of the value, of the gradient)}; None where there is no gradient."""
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "libtick.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, "-x", "c", "-"], input=C_SOURCE, text=True, check=True)
        for name, call in calls.items():
            for derivative in (DERIVATIVE, NONE):
                done = run(atled, folder, PROGRAM.format(library=library, call=call, derivative=derivative))
                if done.returncode == 0:
                    break
            if done.returncode:
                sys.exit(f"certificate_counts.py: {name}: {done.stderr[:1000]}")
            numbers = list(map(int, done.stdout.split()))
            counts[name] = tuple(numbers) if len(numbers) == 4 else (numbers[0], None, numbers[1], None)
    return counts


def table(counts):
    yield "| call | evaluations | with its gradient | arrays | with its gradient |\n|---|---|---|---|---|\n"
    for name, numbers in counts.items():
        yield f"| {name} | " + " | ".join("" if n is None else f"{n:,}" for n in numbers) + " |\n"
