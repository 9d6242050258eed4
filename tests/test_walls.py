#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the walls between the folders of src stand.

usage: test_walls.py ROOT BUILD

By the includes: a folder uses only those before it, and a private header (`…_internal.h`) is its own folder's. By the
symbols: outside the libraries nothing is to be seen but `atled_…`; every function that other files can call is called
by one (tests count); branches and loops are made by their builders; and no more than seven files (of the parser and jit
eight, of ir nine) call each other in a circle, all of one folder. File names are unique, and a test of hostile hosts calls
every function of atled.h."""
import collections
import pathlib
import re
import subprocess
import sys

ORDER = ["support", "regex", "lexer", "parser", "format", "check", "prims", "ir", "graph", "facts", "elab", "ad", "opt", "runtime", "source", "built", "lir", "lower", "eval", "jit/toolchain",
         "jit", "api"]
# Functions that one file alone calls, and who makes such calls for the others.
RAW = {"ir_switch": "BranchBuilder", "ir_loop": "LoopBuilder"}
# Of files that call each other. Each kind of expression may hold any other, and its type decides others' types.
MOST_IN_CIRCLE, MOST_OF_FOLDER = 7, {"check": 13, "ir": 9, "jit": 8, "parser": 8, "source": 11}


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
            if kind != "A" and not symbol.startswith("atled_"):  # A: the name of a symbol version
                yield f"{name} shows {symbol}"


def objects(src, build):
    """Of each object file: its source in src (None: of a test or program), the functions and data that others can use,
    and what it uses."""
    names = {str(path): str(path).partition("atled_objects.dir/src/")[2].removesuffix(".o") for path in build.rglob("*.o")}
    names = {path: name for path, name in names.items()
             if not path.endswith("/atled.o") and (src / name).exists()}  # not of a file that is gone
    lines = subprocess.run(["nm", "-A", *names], capture_output=True, text=True, check=True).stdout.split("\n")
    of_path = {path: [] for path in names}
    for path, _, symbol in (line.partition(".o:") for line in lines if line):
        of_path[path + ".o"].append(symbol.split()[-2:])
    for path, name in names.items():
        found = of_path[path]
        yield (name or None, {s for kind, s in found if kind in "TDBRC"}, {s for kind, s in found if kind == "U"},
               {s for kind, s in found if kind == "T"})


def never_called(all_objects):
    """Primitives are in a table in the file where some of them stand."""
    used = set().union(*(uses for _, _, uses, _ in all_objects))
    for name, _, _, functions in sorted(o for o in all_objects if o[0]):
        for symbol in sorted(functions - used):
            if not symbol.startswith(("atled_", "prim_")):
                yield f"{symbol} of {name} is called by no other file"


def laid_out_by_hand(all_objects):
    """What makes branches and loops of arms and operands that are laid out already is the builders'."""
    for name, _, used, _ in all_objects:
        for symbol in sorted(set(RAW) & used) if name else ():
            yield f"{name} calls {symbol}, which is for {RAW[symbol]}"


def circles(uses):
    """The strongly connected parts of a graph, from name to names (Tarjan): sets of more than one."""
    number, low, stack, found = {}, {}, [], []

    def visit(x):
        number[x] = low[x] = len(number)
        stack.append(x)
        for y in uses[x]:
            if y not in number:
                visit(y)
            if y in stack:
                low[x] = min(low[x], low[y])
        if low[x] == number[x]:
            part = stack[stack.index(x):]
            del stack[stack.index(x):]
            if len(part) > 1:
                found.append(set(part))

    for x in sorted(uses):
        if x not in number:
            visit(x)
    return found


def long_circles(all_objects):
    ours = [o for o in all_objects if o[0]]
    maker = {symbol: name for name, defined, _, _ in ours for symbol in defined}
    uses = {name: sorted({maker[s] for s in used if s in maker} - {name}) for name, _, used, _ in ours}
    for circle in circles(uses):
        folders = {str(pathlib.Path(name).parent) for name in circle}
        most = MOST_OF_FOLDER.get(folders.pop(), MOST_IN_CIRCLE) if len(folders) == 1 else 0
        if len(circle) > most:
            yield f"{len(circle)} files call each other in a circle: {' '.join(sorted(circle))}"


def not_attacked(root):
    """tests/api/test_hostile.c calls every function of atled.h."""
    test = (root / "tests/api/test_hostile.c").read_text(encoding="utf-8")
    for name in sorted(set(re.findall(r"(atled_\w+)\(", (root / "include/atled.h").read_text(encoding="utf-8")))):
        if name + "(" not in test:
            yield f"tests/api/test_hostile.c doesn't call {name}"


def main():
    root, build = map(pathlib.Path, sys.argv[1:3])
    src = root / "src"
    compiled = list(objects(src, build))
    found = [*wrong_includes(src), *same_names(src), *strange_exports(build), *never_called(compiled),
             *laid_out_by_hand(compiled),
             *long_circles(compiled), *not_attacked(root)]
    print("\n".join(found))
    sys.exit(f"{len(found)} holes in the walls" if found else 0)


if __name__ == "__main__":
    main()
