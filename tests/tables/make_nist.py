#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes ../data/nist.atl from NIST's files: for each problem both starts, certified values, standard deviations, sum of squares, data.

usage: make_nist.py FOLDER > ../data/nist.atl       FOLDER has the files, Misra1a.dat and so on
       make_nist.py --scipy FOLDER                   what SciPy's curve_fit makes of them

The files are the nonlinear regression sets of the Statistical Reference Datasets of the National Institute of Standards and Technology,
https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml, which are in the public domain."""
import re
import sys

LEVELS = {"lower": ["Misra1a", "Chwirut2", "Chwirut1", "Lanczos3", "Gauss1", "Gauss2", "DanWood", "Misra1b"],
          "average": ["Kirby2", "Hahn1", "Nelson", "MGH17", "Lanczos1", "Lanczos2", "Gauss3", "Misra1c", "Misra1d", "Roszman1", "ENSO"],
          "higher": ["MGH09", "Thurber", "BoxBOD", "Rat42", "MGH10", "Eckerle4", "Rat43", "Bennett5"]}
NUMBER = r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?"


def read(folder, name):
    text = open(f"{folder}/{name}.dat", encoding="latin-1").read()
    rows = [[float(c) for c in r] for r in re.findall(
        rf"(?m)^\s*b\d+\s*=\s*({NUMBER})\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s*$", text)]
    squares = float(re.search(rf"Residual Sum of Squares:\s*({NUMBER})", text).group(1))
    body = text[text.rindex("Data:") :].splitlines()[1:]
    data = [[float(c) for c in line.split()] for line in body if re.match(r"\s*[-+.\d]", line)]
    count = int(re.search(r"Number of Observations:\s*(\d+)", text).group(1))
    assert len(data) == count and rows, name
    return [list(c) for c in zip(*rows)], squares, [list(c) for c in zip(*data)]


def show(xs):
    lines, line = [], ""
    for x in xs:
        line += ("" if not line and not lines else ", ") + repr(x)
        if len(line) > 100:
            lines, line = lines + [line], ""
    return "[" + "\n    ".join(lines + [line]) + "]"


def write(folder):
    print("# SPDX-License-Identifier: MIT")
    print("# Made by ../tables/make_nist.py from the nonlinear regression sets of NIST's Statistical Reference Datasets (public domain),")
    print("# https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml: two starts, certified parameters, their standard deviations,")
    print("# certified sum of squares; y and x, of nelson x and x2.")
    for level in LEVELS.values():
        for name in level:
            (one, two, certified, deviations), squares, data = read(folder, name)
            more = f",\n  x2 = {show(data[2])}" if len(data) > 2 else ""
            print(f"let {name.lower()} =\n  {{starts = [{show(one)}, {show(two)}],\n  certified = {show(certified)},\n"
                  f"  deviations = {show(deviations)}, squares = {squares!r},\n  y = {show(data[0])},\n  x = {show(data[1])}{more}}}")


def models():
    import numpy as np
    e, pi = np.exp, np.pi
    gauss = lambda x, b: b[0] * e(-b[1] * x) + b[2] * e(-(x - b[3]) ** 2 / b[4] ** 2) + b[5] * e(-(x - b[6]) ** 2 / b[7] ** 2)
    lanczos = lambda x, b: b[0] * e(-b[1] * x) + b[2] * e(-b[3] * x) + b[4] * e(-b[5] * x)
    chwirut = lambda x, b: e(-b[0] * x) / (b[1] + b[2] * x)
    cubic = lambda x, b: (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) / (1 + x * (b[4] + x * (b[5] + x * b[6])))
    enso = lambda x, b: (b[0] + b[1] * np.cos(2 * pi * x / 12) + b[2] * np.sin(2 * pi * x / 12)
                         + b[4] * np.cos(2 * pi * x / b[3]) + b[5] * np.sin(2 * pi * x / b[3])
                         + b[7] * np.cos(2 * pi * x / b[6]) + b[8] * np.sin(2 * pi * x / b[6]))
    return {"Misra1a": lambda x, b: b[0] * (1 - e(-b[1] * x)), "Chwirut1": chwirut, "Chwirut2": chwirut, "Lanczos1": lanczos,
            "Lanczos2": lanczos, "Lanczos3": lanczos, "Gauss1": gauss, "Gauss2": gauss, "Gauss3": gauss,
            "DanWood": lambda x, b: b[0] * x ** b[1], "Misra1b": lambda x, b: b[0] * (1 - (1 + b[1] * x / 2) ** -2.0),
            "Kirby2": lambda x, b: (b[0] + b[1] * x + b[2] * x ** 2) / (1 + b[3] * x + b[4] * x ** 2), "Hahn1": cubic,
            "Nelson": lambda x, b: b[0] - b[1] * x[0] * e(-b[2] * x[1]),
            "MGH17": lambda x, b: b[0] + b[1] * e(-x * b[3]) + b[2] * e(-x * b[4]),
            "Misra1c": lambda x, b: b[0] * (1 - (1 + 2 * b[1] * x) ** -0.5), "Misra1d": lambda x, b: b[0] * b[1] * x / (1 + b[1] * x),
            "Roszman1": lambda x, b: b[0] - b[1] * x - np.arctan(b[2] / (x - b[3])) / pi, "ENSO": enso,
            "MGH09": lambda x, b: b[0] * (x ** 2 + x * b[1]) / (x ** 2 + x * b[2] + b[3]), "Thurber": cubic,
            "BoxBOD": lambda x, b: b[0] * (1 - e(-b[1] * x)), "Rat42": lambda x, b: b[0] / (1 + e(b[1] - b[2] * x)),
            "MGH10": lambda x, b: b[0] * e(b[1] / (x + b[2])), "Eckerle4": lambda x, b: b[0] / b[1] * e(-0.5 * ((x - b[2]) / b[1]) ** 2),
            "Rat43": lambda x, b: b[0] / (1 + e(b[1] - b[2] * x)) ** (1 / b[3]), "Bennett5": lambda x, b: b[0] * (b[1] + x) ** (-1 / b[2])}


def scipy(folder):
    import warnings
    import numpy as np
    import scipy.optimize as so
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for level, names in LEVELS.items():
        for name in names:
            (one, two, certified, _), _, data = read(folder, name)
            y = np.log(data[0]) if name == "Nelson" else np.array(data[0])
            x = np.array(data[1:]) if name == "Nelson" else np.array(data[1])
            f, digits = models()[name], []
            for start in (one, two):
                try:
                    b, _ = so.curve_fit(lambda x, *b: f(x, b), x, y, start, method="lm", maxfev=100000, ftol=1e-15, xtol=1e-15, gtol=1e-15)
                    error = max(abs(p - c) / abs(c) for p, c in zip(b, certified))
                    digits.append(round(-np.log10(max(error, 1e-12)), 1))
                except (RuntimeError, ValueError) as problem:
                    digits.append(str(problem)[:40])
            print(level, name, *digits)


if __name__ == "__main__":
    scipy(sys.argv[2]) if sys.argv[1] == "--scipy" else write(sys.argv[1])
