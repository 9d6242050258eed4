#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the walls between the folders of src stand.

usage: test_walls.py ROOT BUILD

By the includes: a folder uses only those before it, and a private header (`…_internal.h`) is its own folder's. By the
symbols: outside the libraries nothing is to be seen but `atled_…`; every function that other files can call is called
by one (tests count); and file names are unique."""
import collections
import pathlib
import re
import subprocess
import sys

ORDER = ["support", "lexer", "parser", "check", "prims", "ir", "graph", "elab", "ad", "opt", "runtime", "lir", "lower", "eval", "jit/toolchain",
         "jit", "api"]


def folder_of(path, src):
    return str(path.parent.relative_to(src))


def included(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        m = re.match(r'#include "(.+/)?([^/]+)"', line)
        if m:
            yield number, (m[1] or "").rstrip("/"), m[2]


def wrong_includes(src):
    for path in sorted(src.rglob("*.[ch]")):
        here = folder_of(path, src)
        if here not in ORDER:
            yield f"{path}: the folder {here} isn't known to this test"
            continue
        for number, there, name in included(path):
            if there not in ORDER:
                continue
            if ORDER.index(there) > ORDER.index(here):
                yield f"{path}:{number}: {here} comes before {there}"
            if name.endswith("_internal.h") and there != here:
                yield f"{path}:{number}: {name} is private to {there}"


def same_names(src):
    seen = collections.defaultdict(list)
    for path in src.rglob("*.[ch]"):
        seen[path.name].append(path)
    return [f"two files of one name: {' '.join(map(str, paths))}" for paths in seen.values() if len(paths) > 1]


def symbols(path, *options):
    lines = subprocess.run(["nm", *options, str(path)], capture_output=True, text=True, check=True).stdout.split("\n")
    return [line.split()[-2:] for line in lines if len(line.split()) >= 2 and ":" not in line]


def strange_exports(build):
    for name, options in (("libatled.a", ["-g", "--defined-only"]), ("libatled.so", ["-D", "--defined-only"])):
        for kind, symbol in symbols(build / "lib" / name, *options):
            if not symbol.startswith("atled_"):
                yield f"{name} shows {symbol}"


def never_called(src, build):
    """Primitives are in a table in the file where some of them stand."""
    defined, used = {}, set()
    for path in build.rglob("*.o"):
        source = src / str(path).partition("atled_objects.dir/src/")[2].removesuffix(".o")
        if path.name == "atled.o" or not source.exists():  # or of a file that is gone
            continue
        for kind, symbol in symbols(path):
            if kind == "T" and "atled_objects.dir/src" in str(path):
                defined[symbol] = path
            elif kind == "U":
                used.add(symbol)
    for symbol, path in sorted(defined.items()):
        if symbol not in used and not symbol.startswith(("atled_", "prim_")):
            yield f"{symbol} of {path.name[:-2]} is called by no other file"


def main():
    root, build = map(pathlib.Path, sys.argv[1:3])
    src = root / "src"
    found = [*wrong_includes(src), *same_names(src), *strange_exports(build), *never_called(src, build)]
    print("\n".join(found))
    sys.exit(f"{len(found)} holes in the walls" if found else 0)


if __name__ == "__main__":
    main()
