#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the gradients of gradients/: each NAME.atl beside NAME.c, the same by hand.

usage: run.py --atled EXE [NAME...] [--rounds N] [--cpu LEVEL] [--trap-nan] [--json FILE] [--compare FILE] [--perturb] [--large]
              [--check | --small]

Each program checks its figures against what is known before it is timed, and the two must agree. C is compiled twice, with
-O3 -march=native -ffast-math and with the options that Atled gives to GCC. Everything is measured in turns, N times (3), as
processor time of the thread, in Atled with one thread as in C (unless ATLED_THREADS says otherwise); printed are medians, and in brackets the least and the greatest ratio of one round:

    primal, gradient     milliseconds, in Atled
    grad/primal          their ratio, and C's (with Atled's options)
    gradient / C         over C's gradient: with Atled's options, and with -ffast-math
    compile              seconds of processor time to machine code, all that the program contains
    memory               peak of the process in MB: Atled's gradient, Atled's primal, C's gradient
    arrays               how many one gradient makes, and one primal

--cpu compiles Atled's code and C for processors of level v2, v3 or v4. --trap-nan has Atled stop where an operation yields NaN. --check compares figures only, in default and strict mode; --small does at small sizes, by the evaluator, for the programs as they
are and as they are changed. --json keeps all figures, --compare puts the ratios beside those of such a file. --perturb
measures changed programs too, and how much their ratios differ. What it needs to know stands in the comments of a program:

    # case NAME: WORDS             what follows the task among the arguments; FILE.txt is a file of data/
    # small: WORDS                 the same for --small
    # large case NAME: WORDS       only with --large
    # perturbed case NAME: WORDS   only with --perturb; made:1,2:30:4 is a file of the numbers 1 2, 30 made up, and 4
    # perturbed: TEXT => TEXT      with --perturb TEXT is written so instead (C gets the macro PERTURBED)
    # tolerance: X                 how well the figures of the two agree, relative (1e-10)
    # library: openblas            what its C version is linked with (and OPENBLAS defined), --small aside"""
import argparse
import glob
import gzip
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault("ATLED_THREADS", "1")
SORTS = ("atled", "same", "fast")
TASKS = ("primal", "gradient")
SHARED = ("driver.atl", "reader.atl")


def fast_options(cpu):
    return ["-O3", f"-march=x86-64-{cpu}" if cpu else "-march=native", "-ffast-math"]


def own_options(cpu):
    """Those that src/jit/translate.c gives to GCC."""
    source = open(f"{here}/../src/jit/translate.c", encoding="utf-8").read()
    always = re.search(r"always\[\] = \{(.*?)\};", source, re.S).group(1)
    flags = open("/proc/cpuinfo", encoding="utf-8").read()
    level = cpu or ("v4" if "avx512vl" in flags else "v3" if "avx2" in flags else "v2")
    return ["-O3", f"-march=x86-64-{level}"] + re.findall(r'"(-[fm][^"]*)"', always)


class Problem:
    """A program of gradients/, its cases and changes."""

    def __init__(self, path):
        self.path, self.name = path, os.path.basename(path)[:-4]
        self.text = open(path, encoding="utf-8").read()
        self.cases = dict(re.findall(r"^# case (\S+): ?(.*)", self.text, re.M)) or {self.name: ""}
        self.large_cases = dict(re.findall(r"^# large case (\S+): ?(.*)", self.text, re.M))
        self.perturbed_cases = dict(re.findall(r"^# perturbed case (\S+): ?(.*)", self.text, re.M))
        self.small = re.search(r"^# small: ?(.*)", self.text, re.M).group(1)
        self.changes = re.findall(r"^# perturbed: (.*) => (.*)", self.text, re.M)
        self.libraries = re.findall(r"^# library: (\S+)", self.text, re.M)
        self.tolerance = float((re.search(r"^# tolerance: (\S+)", self.text, re.M) or [0, "1e-10"])[1])

    def perturbed_text(self):
        text = re.sub(r"^# perturbed: .*\n", "", self.text, flags=re.M)
        for old, new in self.changes:
            if old not in text:
                sys.exit(f"{self.name}: nothing reads `{old}`")
            text = text.replace(old, new)
        return text


class Bench:
    """What is compiled lies in a folder that goes at the end."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.exe = os.path.abspath(options.atled)
        self.compiled = set() # programs
        self.env = dict(os.environ, ATLED_JIT="always", XDG_CACHE_HOME=folder, ATLED_CACHE=folder)
        for name in SHARED:
            with open(f"{here}/gradients/{name}", encoding="utf-8") as source:
                self.write(name, source.read())

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
        return f"{self.folder}/{name}"

    def data(self, word):
        """The path that a word of a case stands for; other words are themselves."""
        if word.startswith("made:"):
            head, count, tail = word[5:].split(":")
            numbers = random.Random(word)
            made = [f"{numbers.uniform(-1, 1):.6f}" for _ in range(int(count))]
            return self.write(word.replace(":", "_").replace(",", "_"), "\n".join(head.split(",") + made + tail.split(",")) + "\n")
        packed = f"{here}/data/{word}.gz"
        if os.path.exists(packed) and not os.path.exists(f"{self.folder}/{word}"):
            self.write(word, gzip.open(packed, "rt", encoding="utf-8").read())
        return next((f"{d}/{word}" for d in (self.folder, f"{here}/data") if "." in word and os.path.exists(f"{d}/{word}")), word)

    def compile_c(self, problem, perturbed, sorts):
        extra = ["-DPERTURBED"] if perturbed else []
        libraries = [] if self.options.small else problem.libraries
        extra += [f"-D{name.upper()}" for name in libraries]
        commands = {}
        flags_of = {"fast": fast_options(self.options.cpu), "same": own_options(self.options.cpu)}
        for sort in sorts:
            flags = flags_of[sort]
            binary = f"{self.folder}/{problem.name}.{sort}{perturbed:d}"
            source = f"{here}/gradients/{problem.name}.c"
            subprocess.run(["gcc", "-std=gnu17", *flags, *extra, source, "-o", binary, *[f"-l{name}" for name in libraries], "-lm"], check=True)
            commands[sort] = [binary]
        return commands

    def commands(self, problem, perturbed, sorts=("fast", "same")):
        text = problem.perturbed_text() if perturbed else problem.text
        source = self.write(f"{problem.name}{'_perturbed' if perturbed else ''}.atl", text)
        cpu = [f"--cpu={self.options.cpu}"] if self.options.cpu else []
        traps = ["--trap-nan"] if getattr(self.options, "trap_nan", False) else []
        return dict(self.compile_c(problem, perturbed, sorts), atled=[self.exe, *cpu, *traps, source])

    def run(self, command, words, task, options=()):
        """Figures, seconds of the task (median), [peak memory in MB, arrays made], and what --time says."""
        command = [command[0], *options, *command[1:], task, *map(self.data, words.split())]
        r = subprocess.run(command, capture_output=True, text=True, env=self.env, cwd=f"{here}/gradients")
        if r.returncode != 0:
            sys.exit(f"{' '.join(command)}: status {r.returncode}\n{r.stderr.strip()[:2000]}")
        figures = {name: float(x) for name, x in re.findall(r"^figure (.*): (\S+)", r.stdout, re.M)}
        median = re.search(r"^seconds \S+: \S+ (\S+)", r.stdout, re.M)
        peak = re.search(r"^VmHWM:\s*(\d+)", r.stdout, re.M)
        arrays = re.search(r"^arrays \S+: (\d+)", r.stdout, re.M)
        return figures, float(median[1]) if median else None, [int(peak[1]) / 1024, int(arrays[1]) if arrays else 0], r.stderr

    def compile_seconds(self, command, words):
        """All phases in front of machine code, and the processor time of GCC's process; None if the program was compiled before."""
        if command[-1] in self.compiled:
            return None
        self.compiled.add(command[-1])
        text = self.run(command, words, "check", ["--time"])[3]
        rows = {name: float(s) for name, s in re.findall(r"^(\w+) +(\d+\.\d+)", text, re.M)}
        return sum(rows.get(k, 0) for k in ("parse", "check", "elaborate", "optimise", "differentiate", "lower", "compiler"))

    def compare_figures(self, label, problem, a, b):
        for name in sorted(set(a) | set(b)):
            x, y = a.get(name), b.get(name)
            if x is None or y is None or not (x == y or abs(x - y) <= problem.tolerance * max(abs(x), abs(y))):
                sys.exit(f"{label}: {name} is {x} in Atled and {y} in C")

    def check(self, problem, name, words, commands, task, modes):
        c = {sort: self.run(commands[sort], words, task)[0] for sort in ("fast", "same")}
        for mode in modes:
            figures = self.run(commands["atled"], words, task, mode)[0]
            for sort in c:
                self.compare_figures(f"{name} ({' '.join(mode) or 'default'}, {sort})", problem, figures, c[sort])
        print(f"{name:16} {len(figures)} figures agree", flush=True)

    def measure(self, problem, name, words, commands):
        compile_seconds = self.compile_seconds(commands["atled"], words)
        seconds = {(sort, task): [] for sort in SORTS for task in TASKS}
        memory = {}
        for _ in range(self.options.rounds):
            for task in TASKS:
                figures = {}
                for sort in SORTS:
                    figures[sort], s, memory[sort, task], _ = self.run(commands[sort], words, task)
                    seconds[sort, task].append(s)
                for sort in ("fast", "same"):
                    self.compare_figures(f"{name} ({sort})", problem, figures["atled"], figures[sort])
        return {"seconds": {f"{s} {t}": v for (s, t), v in seconds.items()}, "compile": compile_seconds,
                "memory": {f"{s} {t}": v for (s, t), (v, _) in memory.items()},
                "arrays": {t: memory["atled", t][1] for t in TASKS}}


def ratios(result, above, below):
    return [a / b for a, b in zip(result["seconds"][above], result["seconds"][below])]


def median_ratio(result, above, below):
    return statistics.median(ratios(result, above, below))


def spread(values):
    return f"{statistics.median(values):6.2f} [{min(values):.2f} {max(values):.2f}]"


def seconds(s):
    return f"{s:7.2f}" if s is not None else f"{'':7}"


def heading():
    print(f"{'':18}{'primal':>9} {'gradient':>9} {'grad/primal':>12} {'C':>5}  {'gradient / C, same':<20} {'C -ffast-math':<20} "
          f"{'compile':>7}  {'memory':<12} arrays", flush=True)


def show(name, result):
    own = {t: 1e3 * statistics.median(result["seconds"][f"atled {t}"]) for t in TASKS}
    m, arrays = result["memory"], result["arrays"]
    memory = f"{m['atled gradient']:.0f} {m['atled primal']:.0f} {m['fast gradient']:.0f}"
    print(f"{name:18}{own['primal']:9.3f} {own['gradient']:9.3f} {median_ratio(result, 'atled gradient', 'atled primal'):12.2f}"
          f" {median_ratio(result, 'same gradient', 'same primal'):5.2f}  {spread(ratios(result, 'atled gradient', 'same gradient')):<20}"
          f" {spread(ratios(result, 'atled gradient', 'fast gradient')):<20} {seconds(result['compile'])}"
          f"  {memory:<12} {arrays['gradient']} {arrays['primal']}", flush=True)


def show_means(results):
    def mean(below):
        return statistics.geometric_mean(median_ratio(r, "atled gradient", below) for r in results.values())
    print(f"geometric means of gradient / C: {mean('same gradient'):.2f} with the same options, {mean('fast gradient'):.2f} with -ffast-math")


def compare(results, path):
    before = json.load(open(path, encoding="utf-8"))["results"]
    print(f"\n{'':18}{'gradient / C':>13} {'before':>8} {'change':>8} {'compile':>8} {'before':>8}")
    for name in [n for n in results if n in before]:
        now, then = (median_ratio(r[name], "atled gradient", "same gradient") for r in (results, before))
        print(f"{name:18}{now:13.2f} {then:8.2f} {100 * (now / then - 1):+7.0f}% {seconds(results[name]['compile'])}  {seconds(before[name]['compile'])}")


def machine():
    cpu = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo", encoding="utf-8").read())
    commit = subprocess.run(["git", "-C", here, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"cpu": cpu.group(1) if cpu else "", "load": os.getloadavg()[0], "commit": commit}


def perturbed(bench, problem, results):
    """The changed program at the same sizes, and at others; the ratios beside those of the program itself."""
    commands = bench.commands(problem, True)
    usual = statistics.geometric_mean(median_ratio(results[n], "atled gradient", "same gradient") for n in problem.cases)
    for name, words in {**problem.cases, **problem.perturbed_cases}.items():
        result = bench.measure(problem, name, words, commands)
        show(f"  {name}", result)
        base = median_ratio(results[name], "atled gradient", "same gradient") if name in results else usual
        print(f"{'':18}  {median_ratio(result, 'atled gradient', 'same gradient') / base:.2f} times the ratio of the unchanged program")


def arguments():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--atled", required=True)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--cpu", choices=("v2", "v3", "v4"))
    options.add_argument("--trap-nan", action="store_true")
    options.add_argument("--json")
    options.add_argument("--compare")
    options.add_argument("--perturb", action="store_true")
    options.add_argument("--large", action="store_true")
    options.add_argument("--check", action="store_true")
    options.add_argument("--small", action="store_true")
    options.add_argument("names", nargs="*")
    return options.parse_args()


def check(bench, problem):
    if bench.options.small:
        for changed in (False, True):
            name = f"{problem.name}{' changed' if changed else ''}"
            bench.check(problem, name, problem.small, bench.commands(problem, changed), "figures", [["--jit=off"], ["--jit=off", "--strict-fp"]])
        return
    commands = bench.commands(problem, False)
    for name, words in problem.cases.items():
        bench.check(problem, name, words, commands, "check", [[], ["--strict-fp"]])


def measure(bench, problem, results):
    commands = bench.commands(problem, False)
    for name, words in problem.cases.items():
        results[name] = bench.measure(problem, name, words, commands)
        show(name, results[name])
    if bench.options.perturb:
        perturbed(bench, problem, results)


def main():
    options = arguments()
    problems = [Problem(p) for p in sorted(glob.glob(f"{here}/gradients/*.atl")) if os.path.basename(p) not in SHARED]
    unknown = set(options.names) - {p.name for p in problems}
    if unknown:
        sys.exit(f"no such program: {' '.join(unknown)}; there are {' '.join(p.name for p in problems)}")
    problems = [p for p in problems if not options.names or p.name in options.names]
    for problem in problems if options.large else []:
        problem.cases.update(problem.large_cases)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        if options.check or options.small:
            for problem in problems:
                check(bench, problem)
            return
        results = {}
        heading()
        for problem in problems:
            measure(bench, problem, results)
    show_means(results)
    if options.compare:
        compare(results, options.compare)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump({"machine": machine(), "results": results}, f, indent=1)


if __name__ == "__main__":
    main()
