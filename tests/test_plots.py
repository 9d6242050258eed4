#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the pictures of plots/pictures.atl with those that are kept beside it, and tests what `Plot.save` does where it can't write.

usage: test_plots.py EXE [--update]

--update writes the pictures. Look at each that has changed before it is committed: `rsvg-convert NAME.svg -o NAME.png`. Numbers of a
picture may differ by 0.02, all else is compared exactly."""
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

PICTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plots")
NUMBER = re.compile(r"-?\d+\.\d+")


def run(exe, *args, **more):
    return subprocess.run([exe, *args], capture_output=True, text=True, timeout=300, **more)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


def same(got, want):
    a, b = NUMBER.findall(got), NUMBER.findall(want)
    return NUMBER.sub("#", got) == NUMBER.sub("#", want) and all(abs(float(x) - float(y)) < 0.02 for x, y in zip(a, b))


def difference(got, want):
    for n, (g, w) in enumerate(zip(got.splitlines(), want.splitlines()), 1):
        if not same(g, w):
            return f"line {n} is {g!r}, expected {w!r}"
    return None if len(got.splitlines()) == len(want.splitlines()) else "another number of lines"


def check_pictures(exe, options):
    with tempfile.TemporaryDirectory() as folder:
        r = run(exe, *options, os.path.join(PICTURES, "pictures.atl"), folder)
        assert r.returncode == 0 and not r.stderr, r.stderr
        made = sorted(os.listdir(folder))
        kept = sorted(n for n in os.listdir(PICTURES) if n.endswith((".svg", ".txt")))
        assert made == kept, (made, kept)
        for name in made:
            got = read(folder, name)
            if name.endswith(".svg"):
                xml.etree.ElementTree.fromstring(got)
            problem = difference(got, read(PICTURES, name))
            assert not problem, f"{name} {options}: {problem}"


REFUSED = [
    ('Plot.save "FOLDER/missing/fit.svg" Plot.empty', 'can\'t write "FOLDER/missing/fit.svg": No such file or directory'),
    ('Plot.save "FOLDER/fit.png" Plot.empty', 'Plot.save: "FOLDER/fit.png" doesn\'t end in .svg, the only format there is'),
    ("print (Plot.text 10 8 Plot.empty)", "Plot.text: 10 by 8 characters; there must be at least 24 by 8"),
    ("print (Plot.svg (Plot.y_range 0.0 1.0 (Plot.log_y Plot.empty)))", "Plot.y_range: a logarithmic axis can't start at 0.0"),
    ("print (Plot.svg (Plot.x_range (-1.0) 1.0 (Plot.log_x Plot.empty)))", "Plot.x_range: a logarithmic axis can't start at -1.0"),
]


def check_refused(exe):
    """Each is an error, and leaves no file behind."""
    with tempfile.TemporaryDirectory() as folder:
        for program, message in REFUSED:
            r = run(exe, "--jit=off", "-e", program.replace("FOLDER", folder))
            assert r.returncode == 70 and message.replace("FOLDER", folder) in r.stderr, (r.returncode, r.stderr)
        assert not os.listdir(folder)


def main():
    exe = sys.argv[1]
    if "--update" in sys.argv:
        run(exe, os.path.join(PICTURES, "pictures.atl"), PICTURES).check_returncode()
        return
    check_pictures(exe, ["--jit=off"])
    check_refused(exe)


main()
