#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data files of the benchmarks that aren't as they should be: errors with the file and the line, never numbers.

    tests/test_bench_data.py --atled build/bin/atled"""
import argparse
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = f"{here}/../bench/gradients"
GMM = "1 2 3\n0 0\n0.5\n0.6\n1\n1\n0.1\n0.2\n0.3\n1 0\n"
LSTM = "1 2 1\n" + "0.1 0.2 0.3 0.4\n" * 2 + "1\n1\n1\n" + "0 0\n" + "1 0\n"
# Program, its file, and what the message must hold.
CASES = [
    ("gmm", GMM.replace("0.3\n", ""), "line 10: the file ends after 1 of 2 numbers of gamma and m"),
    ("gmm", "1 2\n", "line 2: the file ends after 0 of 1 numbers of the number of points"),
    ("gmm", GMM + "\n5 6\n", "line 12: 2 numbers more than the sizes at the top say"),
    ("gmm", GMM.replace("0.6", "nan"), "line 4: `nan` isn't a finite number"),
    ("gmm", GMM.replace("0.6", "0.6x"), "line 4: `0.6x` isn't a finite number"),
    ("gmm", GMM.replace("0.6", "1e999"), "line 4: `1e999` isn't a finite number"),
    ("gmm", GMM.replace("1 2 3", "1 2 0"), "line 1: the number of points can't be 0"),
    ("gmm", GMM.replace("1 2 3", "1 2 2.5"), "line 1: the number of points can't be 2.5"),
    ("gmm", GMM.replace("1 2 3", "1000000000 1000000000 3"), "line 11: the file ends after 11 of 1000000000 numbers of alpha"),
    ("gmm", "", "line 1: the file ends after 0 of 1 numbers of the dimension"),
    ("lstm", LSTM.replace("1 2 1", "1 1 1").replace("1 0\n", "1\n"), "a sequence of one has no prediction"),
    ("lstm", LSTM.replace("1 0\n", "1\n"), "line 9: the file ends after 1 of 2 numbers of the sequence"),
    ("ba", "1 1 1\n", "line 2: the file ends after 0 of 11 numbers of a camera"),
    ("digits", "1,2\n3\n", "line 2 has too few cells"),
    ("digits", "1,2\n3,4\n", "2 rows, of 2 numbers the first, instead of 1797 of 65"),
]
FINE = [("gmm", GMM), ("lstm", LSTM)]


def run(atled, program, text, folder):
    path = f"{folder}/data.txt"
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return subprocess.run([atled, "--jit=off", f"{PROGRAMS}/{program}.atl", "figures", path], capture_output=True, text=True, timeout=100)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--atled", required=True)
    atled = os.path.abspath(options.parse_args().atled)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for program, text, message in CASES:
            r = run(atled, program, text, folder)
            if r.returncode != 70 or message not in r.stderr or "data.txt" not in r.stderr or r.stdout:
                wrong += 1
                print(f"{program}, {text!r}: status {r.returncode}\n{r.stdout[:300]}{r.stderr[:600]}")
        for program, text in FINE:
            r = run(atled, program, text, folder)
            if r.returncode != 0 or "figure" not in r.stdout:
                wrong += 1
                print(f"{program}, {text!r}: status {r.returncode}\n{r.stderr[:600]}")
    sys.exit(1 if wrong else 0)


main()
