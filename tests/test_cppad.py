#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles and runs examples/embed/cppad.cpp, whose derivatives come from CppAD. Skipped (status 77) where that isn't
installed; the variable CPPAD_PREFIX names a folder with its include and lib. The expected digits were computed with
central differences in 60 digits.

usage: test_cppad.py SOURCE_FOLDER LIBRARY"""
import os
import subprocess
import sys
import tempfile

source, library = map(os.path.abspath, sys.argv[1:3])
prefix = os.environ.get("CPPAD_PREFIX")
FOUND = ["-isystem", f"{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"] if prefix else []
EXPECTED = """gradient -19.445797 110.731630 191.695003 -32.116807
Hessian times [1, 0, 0, 0] -3.65387 47.20810 386.20363 -76.28315
"""


def compiled(text_or_file, exe, *options):
    """Whether g++ makes a program of it, and what it says."""
    stdin = None if os.path.exists(text_or_file) else text_or_file
    name = ["-x", "c++", "-"] if stdin else [text_or_file]
    r = subprocess.run(["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", *name, *FOUND, *options, "-lcppad_lib", "-o", exe],
                       input=stdin, capture_output=True, text=True, timeout=300, check=False)
    return r.returncode == 0, r.stderr


with tempfile.TemporaryDirectory() as work:
    if not compiled("#include <cppad/cppad.hpp>\nint main() {}\n", f"{work}/probe")[0]:
        print("skipped: CppAD isn't installed, nor does CPPAD_PREFIX name a folder with it")
        sys.exit(77)
    done, why = compiled(f"{source}/examples/embed/cppad.cpp", f"{work}/cppad", f"-I{source}/include", library,
                         f"-Wl,-rpath,{os.path.dirname(library)}")
    if not done:
        sys.exit(why)
    out = subprocess.run([f"{work}/cppad"], capture_output=True, text=True, timeout=300, check=False,
                         env=dict(os.environ, ATLED_CACHE=work))
    if out.stdout != EXPECTED:
        sys.exit(f"got\n{out.stdout}{out.stderr}\nwanted\n{EXPECTED}")
