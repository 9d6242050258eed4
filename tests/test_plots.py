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


def check_unwritable(exe):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "missing", "fit.svg")
        r = run(exe, "-e", f'Plot.save "{path}" Plot.empty')
        assert r.returncode == 70 and "can't write" in r.stderr and "No such file" in r.stderr, r.stderr
        r = run(exe, "-e", f'Plot.save "{folder}/fit.png" Plot.empty')
        assert r.returncode == 70 and "doesn't end in .svg" in r.stderr, r.stderr
        assert not os.listdir(folder)


def main():
    exe = sys.argv[1]
    if "--update" in sys.argv:
        run(exe, os.path.join(PICTURES, "pictures.atl"), PICTURES).check_returncode()
        return
    check_pictures(exe, ["--jit=off"])
    check_pictures(exe, [])
    check_unwritable(exe)


main()
