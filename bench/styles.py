#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the programs of gradients/ in other styles: the same mathematics by rows, by `map`, by loops, by recursion.

usage: styles.py --atled EXE [NAME...] [--rounds N] [--json FILE] [--small]

A file styles/NAME_STYLE.atl holds what that style writes differently. Its items take the places of those of the same name in
gradients/NAME.atl, new ones come before the item that follows them; the types at its top are the program's own. All figures must agree with the
program's before anything is timed. Gradients are then measured in turns, N times (5), as processor time of the thread; printed are medians,
and the median over the rounds of the ratio to the style whose median is least: at most 1.5 is asked. --small compares
figures only, at small sizes, by the evaluator."""
import argparse
import glob
import json
import os
import re
import statistics
import sys
import tempfile

import run

ASKED = 1.5


def items(text):
    """Pairs of an item's name (`let f`, `type t`; None where it has none) and its text; comments belong to what follows."""
    starts = [m.start() for m in re.finditer(r"^(?=\S)(?!#|[\])}]|(in|then|else|with|done)\b)", text, re.M)]
    cuts = [start - len(re.search(r"(?:^#.*\n)*\Z", text[:start], re.M)[0]) for start in starts]
    head = text[:cuts[0]]
    pieces = [text[a:b] for a, b in zip(cuts, cuts[1:] + [len(text)])]
    names = [re.search(r"^(let|type) +(?:rec +)?(\w+)", piece, re.M) for piece in pieces]
    return [(None, head)] + [(name and " ".join(name.groups()), piece) for name, piece in zip(names, pieces)]


def in_style(program, style):
    """The program with the items of the style in the places of its own."""
    own = {name for name, _ in items(program) if name}
    replaced, new = {}, ""
    for name, text in items(style)[1:]:
        if name.startswith("type"):
            continue
        new += text.rstrip("\n") + "\n\n"
        if name in own:
            replaced[name], new = new, ""
    if new:
        sys.exit(f"an item of a style is in no place of the program: {new}")
    return "".join(replaced.get(name, text) for name, text in items(program))


def styles_of(problem):
    """Texts of the program in its own style and in others."""
    texts = {"own": problem.text}
    for path in sorted(glob.glob(f"{run.here}/styles/{problem.name}_*.atl")):
        with open(path, encoding="utf-8") as style:
            texts[os.path.basename(path)[len(problem.name) + 1:-4]] = in_style(problem.text, style.read())
    return texts


def check(bench, problem, case, words, commands, task, mode=()):
    figures = {style: bench.run(command, words, task, mode)[0] for style, command in commands.items()}
    for style, found in figures.items():
        for name in figures["own"].keys() | found.keys():
            a, b = figures["own"].get(name), found.get(name)
            if a is None or b is None or not (a == b or abs(a - b) <= problem.tolerance * max(abs(a), abs(b))):
                sys.exit(f"{case}: {name} is {a} in {problem.name}.atl and {b} in the style {style}")
    return len(figures["own"])


def measure(bench, case, words, commands):
    """Seconds of each style, and its ratio to the fastest."""
    seconds = {style: [] for style in commands}
    for _ in range(bench.options.rounds):
        for style, command in commands.items():
            seconds[style].append(bench.run(command, words, "gradient")[1])
    best = min(seconds, key=lambda style: statistics.median(seconds[style]))
    result = {}
    for style, of_style in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(of_style, seconds[best]))
        above = "" if ratio <= ASKED else "  above"
        print(f"{case:18}{style:16}{1e3 * statistics.median(of_style):10.3f} {ratio:7.2f}{above}", flush=True)
        result[style] = {"seconds": of_style, "ratio": ratio}
    return result


def arguments():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--atled", required=True)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json")
    options.add_argument("--small", action="store_true")
    options.add_argument("names", nargs="*")
    return options.parse_args()


def problems_of(options):
    names = sorted({os.path.basename(p).split("_")[0] for p in glob.glob(f"{run.here}/styles/*.atl")})
    unknown = set(options.names) - set(names)
    if unknown:
        sys.exit(f"no such program: {' '.join(unknown)}; there are {' '.join(names)}")
    return [run.Problem(f"{run.here}/gradients/{name}.atl") for name in options.names or names]


def main():
    options = arguments()
    results = {}
    if not options.small:
        print(f"{'':34}{'gradient, ms':>10} {'ratio':>5}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = run.Bench(options, folder)
        for problem in problems_of(options):
            texts = styles_of(problem)
            commands = {s: [bench.exe, bench.write(f"{problem.name}_{s}.atl", text)] for s, text in texts.items()}
            if options.small:
                count = check(bench, problem, problem.name, problem.small, commands, "figures", ["--jit=off"])
                print(f"{problem.name:16} {count} figures agree in {len(commands)} styles", flush=True)
                continue
            for case, words in problem.cases.items():
                check(bench, problem, case, words, commands, "figures")
                results[case] = measure(bench, case, words, commands)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump({"machine": run.machine(), "results": results}, f, indent=1)


if __name__ == "__main__":
    main()
