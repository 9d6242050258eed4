#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`a @ b` of matrices is the library's product, in values and in derivatives of either mode, and products of vectors are loops
that can be fused; all of them with the values that the sums have.

    tests/test_products.py --atled build/bin/atled"""
import argparse
import subprocess
import sys
import tempfile

# (By t at 1 both terms of a derivative have the same product, which is one then.)
# A function, how many products of matrices are in its final graph (None: no matter), a call and its value, worked out by hand.
A, B, V = "[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]", "[[1.0, 0.5], [2.0, -1.0]]", "[1.0, -1.0]"
CASES = [
    ("f (a : float[][]) (b : float[][]) = a @ b", 1, f"f {A} {B}", "[[5.0, -1.5], [11.0, -2.5], [17.0, -3.5]]"),
    ("f (a : float[][]) (v : float[]) = a @ v", 0, f"f {A} {V}", "[-1.0, -1.0, -1.0]"),
    ("f (v : float[]) (a : float[][]) = v @ a", 0, f"f {V} {B}", "[-1.0, 1.5]"),
    ("f (v : float[]) (w : float[]) = v @ w", 0, f"f {V} [3.0, 5.0]", "-2.0"),
    ("f (a : float[][]) (b : float[][]) = grad (fun (a, b) -> sum (map sum (a @ b))) (a, b)", 3, f"f {A} {B}",
     "([[1.5, 1.0], [1.5, 1.0], [1.5, 1.0]], [[9.0, 9.0], [12.0, 12.0]])"),
    ("f (a : float[][]) (b : float[][]) = jvp (fun a -> a @ b) a a", 2, f"f {A} {B}",
     "([[5.0, -1.5], [11.0, -2.5], [17.0, -3.5]], [[5.0, -1.5], [11.0, -2.5], [17.0, -3.5]])"),
    ("f (a : float[][]) (v : float[]) = grad (fun (a, v) -> sum (a @ v)) (a, v)", 0, f"f {A} {V}",
     "([[1.0, -1.0], [1.0, -1.0], [1.0, -1.0]], [9.0, 12.0])"),
    ("f (v : float[]) (a : float[][]) = grad (fun (v, a) -> sum (v @ a)) (v, a)", 0, f"f {V} {B}",
     "([1.5, 1.0], [[1.0, 1.0], [-1.0, -1.0]])"),
    ("f (a : float[][]) (b : float[][]) = deriv (fun t -> sum (map sum ((t * a) @ (t * b)))) 1.0", 1, f"f {A} {B}", "51.0"),
    ("f (a : float[][]) (b : float[][]) = grad (fun a -> let g = grad (fun a -> sum (map sum ((a @ b) * (a @ b)))) a in sum (map sum g)) a", None,
     f"f {A} {B}", "[[5.5, 13.0], [5.5, 13.0], [5.5, 13.0]]"),
    ("f (a : float[][]) (b : float[][]) = shape (a @ b)", None, "f (zeros [2, 0]) (zeros [0, 3])", "[2, 3]"),
]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--atled", required=True)
    atled = options.parse_args().atled
    wrong = 0
    for function, products, call, value in CASES:
        with tempfile.NamedTemporaryFile("w", suffix=".atl") as f:
            f.write(f"let {function}\n")
            f.flush()
            ir = subprocess.run([atled, "ir", "--stage=final", "--of=f", f.name], capture_output=True, text=True, timeout=100).stdout
            if products is not None and ir.count("rt matrix_product") != products:
                wrong += 1
                print(f"{function}\nhas {ir.count('rt matrix_product')} products, not {products}\n{ir}")
            f.write(f"print ({call})\n")
            f.flush()
            for mode in (["--jit=off"], ["--jit=always"], ["--jit=always", "--strict-fp"]):
                p = subprocess.run([atled, *mode, f.name], capture_output=True, text=True, timeout=100)
                if p.stdout.strip() != value:
                    wrong += 1
                    print(f"{function}\n{call} with {mode} is {p.stdout}{p.stderr}, not {value}")
    print(f"{len(CASES)} functions, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
