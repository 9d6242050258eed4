#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each way to make an array bounds what it may have, slots times the dimensions that aren't 0, so that no product of
dimensions wraps: what has more is an error with its place, in both back ends and at once, also where it has no elements.

    tests/test_sizes.py --atled build/bin/atled"""
import argparse
import subprocess
import sys

# `huge` is 2^62 and `large` 2^40, which no optimisation can know.
PREFIX = "let huge = 4611686018427387904 + 0 * length args\nlet large = 1099511627776 + 0 * length args\n"
TOO_LARGE = {
    "reshape, element": "let a = reshape [huge, 4] [ 1.0 | i < 0 ]\nprint a[5, 1]",
    "reshape, row": "let a = reshape [huge, 4] [ 1.0 | i < 0 ]\nprint a[100000000][1]",
    "reshape to empty": "print (reshape [huge, 0, 4] (zeros 0))",
    "reshape, literal": "print (reshape [4611686018427387904, 0] (zeros 0))[1]",
    "reshape, update": "let mut a = reshape [huge, 4] [ 1.0 | i < 0 ] in (a[5, 1] <- 2.0; print a)",
    "zeros": "print (zeros huge)",
    "zeros, empty": "print (zeros [huge, 0, 4])",
    "zeros, literal": "print (zeros [4611686018427387904, 0, 4])",
    "zeros, product": "print (zeros [large, large])",
    "ones": "print (ones [huge, 0])",
    "comprehension": "print [ 1.0 | i < huge ]",
    "comprehension of rank 2": "print [ i + j | i < huge, j < 0 ]",
    "comprehension of rows": "print [ zeros [0, 4] | i < huge ]",
    "comprehension of pairs": "print [ (i, 2.0) | i < 64 * large ]",
    "tabulate": "print (tabulate huge (fun i -> zeros [large, 0]))",
    "replicate": "print (replicate huge [])",
    "eye": "print (eye 2147483648)",
    "outer": "let v = zeros 1\nlet w = reshape [large, 0] (zeros 0)\nprint [ x * y | x in [ 1.0 | i < large ], y in v ]",
    "append": "let a = reshape [64 * large, 0] (zeros 0)\nprint (a ++ a)",
    "append, length of many": "let d a = a ++ a\nprint (length ([1.0 + float (length args)]" + " |> d" * 64 + "))",
    "append, length": "let f n = [ 1.0 | i < n ]\nprint (length (f huge ++ f huge))",
    "product": "print (reshape [large, 0] (zeros 0) @ reshape [0, large] (zeros 0))",
    "map": "print (map (fun r -> reshape [large, 0] r) (reshape [large, 0] (zeros 0)))",
    "literal": "let a = reshape [64 * large, 0] (zeros 0)\nprint [a, a]",
    "scan": "print (scan (fun a x -> reshape [large, 0] x) (zeros [0, 0]) (reshape [large, 0] (zeros 0)))",
    "jacobian": "print (jacobian (fun x -> [ sum x | i < huge ]) [1.0, 2.0])",
    "Random": "print (Random.uniform (Random.key 1) huge)",
}
# What is allowed is written at once, however many empty rows there are, and read without a fault.
FINE = {
    "print (zeros [large, 0])": "[[], [], [], ..., [], [], []]",
    "print (shape (zeros [large, 0, 4]))": "[1099511627776, 0, 4]",
    "print (zeros [2, 0, large])": "[[], []]",
    "let a = reshape [large, 0] (zeros 0)\nprint (length a, a[large - 1], length a[5..], show a[..2])": '(1099511627776, [], 1099511627771, "[[], []]")',
    "let a = reshape [0, large] (zeros 0)\nprint (shape a, a)": "([0, 1099511627776], [])",
}


def run(atled, text, jit):
    try:
        p = subprocess.run([atled, f"--jit={jit}", "-"], input=PREFIX + text + "\n", capture_output=True, text=True, timeout=100)
    except subprocess.TimeoutExpired:
        return -1, "", "no end"
    return p.returncode, p.stdout.strip(), p.stderr


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--atled", required=True)
    atled = options.parse_args().atled
    wrong = 0
    for jit in ("off", "always"):
        for name, text in TOO_LARGE.items():
            status, out, err = run(atled, text, jit)
            if status != 70 or ":" not in err.split(" error: ")[0] or "out of memory for an array of" not in err:
                wrong += 1
                print(f"{name}, --jit={jit}: status {status}\n{text}\n{out[:200]}{err[:400]}")
        for text, want in FINE.items():
            status, out, err = run(atled, text, jit)
            if status != 0 or out != want:
                wrong += 1
                print(f"--jit={jit}: status {status}\n{text}\ngot {out[:200]}{err[:400]}\nnot {want}")
    print(f"{2 * (len(TOO_LARGE) + len(FINE))} programs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
