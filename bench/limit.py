#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs gradients of gradients/ beside those of limit/: C with vectors of eight, forward and backward by hand.

usage: limit.py --atled EXE [CASE...] [--rounds N] [--cpu LEVEL] [--json FILE] [--check | --small]

The figures of both, and of the plain C in gradients/, must agree before anything is timed. Programs are then measured in turns, N
times (5), as processor time of the thread; printed are medians, and in brackets the least and the greatest ratio of one round. --check compares
figures only; --small does at small sizes, by the evaluator."""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile

import run

# What a gradient may take, as a multiple of the limit's time.
ASKED = {"gmm_d2_K5": 6, "gmm_d10_K25": 6, "gmm_d32_K25": 3, "gmm_d64_K25": 3, "lstm_l2": 6, "ba1": 3}
PROGRAMS = ("gmm", "lstm", "ba")
# Both layouts of gmm.c, and sizes that aren't multiples of eight.
SMALL = {"gmm": {"gmm_d3_K4": "made:3,4,41:163:1,0", "gmm_d20_K3": "made:20,3,41:1513:1,0"}}


def compile_limit(bench, name):
    binary = f"{bench.folder}/{name}.limit"
    march = f"-march=x86-64-{bench.options.cpu}" if bench.options.cpu else "-march=native"
    options = ["-std=gnu17", "-O3", march, "-ffp-contract=fast", "-fno-math-errno", "-Wno-psabi"]
    subprocess.run(["gcc", *options, f"{run.here}/limit/{name}.c", "-o", binary, "-lm"], check=True)
    return [binary]


def figures(bench, problem, case, words, commands, task, mode=()):
    """Of the three, which must agree."""
    atled = bench.run(commands["atled"], words, task, mode)[0]
    for sort in ("same", "limit"):
        bench.compare_figures(f"{case} ({sort})", problem, atled, bench.run(commands[sort], words, task)[0])
    return atled


def measure(bench, case, words, commands):
    seconds = {"atled": [], "limit": []}
    for _ in range(bench.options.rounds):
        for sort, list_of_sort in seconds.items():
            list_of_sort.append(bench.run(commands[sort], words, "gradient")[1])
    ratios = [a / b for a, b in zip(seconds["atled"], seconds["limit"])]
    own, limit = (1e3 * statistics.median(s) for s in seconds.values())
    print(f"{case:16}{own:10.4f} {limit:10.4f}  {run.spread(ratios)} {ASKED[case]:6}"
          f"{'' if statistics.median(ratios) <= ASKED[case] else '  above'}", flush=True)
    return dict(seconds, ratio=statistics.median(ratios))


def cases_of(problem, options):
    if options.small:
        return SMALL.get(problem.name, {problem.name: problem.small})
    return {n: w for n, w in {**problem.cases, **problem.large_cases}.items() if n in (options.cases or ASKED)}


def arguments():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--atled", required=True)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--cpu", choices=("v2", "v3", "v4"))
    options.add_argument("--json")
    options.add_argument("--check", action="store_true")
    options.add_argument("--small", action="store_true")
    options.add_argument("cases", nargs="*")
    return options.parse_args()


def main():
    options = arguments()
    unknown = set(options.cases) - set(ASKED)
    if unknown:
        sys.exit(f"no such case: {' '.join(unknown)}; there are {' '.join(ASKED)}")
    if not (options.check or options.small):
        print(f"{'':16}{'atled, ms':>10} {'limit, ms':>10}  {'ratio':<20} {'asked':>6}", flush=True)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = run.Bench(options, folder)
        for problem in (run.Problem(f"{run.here}/gradients/{name}.atl") for name in PROGRAMS):
            cases = cases_of(problem, options)
            if not cases:
                continue
            commands = dict(bench.commands(problem, False, ["same"]), limit=compile_limit(bench, problem.name))
            for case, words in cases.items():
                task, mode = ("figures", ["--jit=off"]) if options.small else ("check", [])
                found = figures(bench, problem, case, words, commands, task, mode)
                if options.check or options.small:
                    print(f"{case:16} {len(found)} figures agree", flush=True)
                else:
                    results[case] = measure(bench, case, words, commands)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump({"machine": run.machine(), "results": results}, f, indent=1)


if __name__ == "__main__":
    main()
