#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each pass of the optimiser is worth: programs with all passes, and with all runs of one pass left out (ATLED_PASSES).

usage: ablation.py --atled EXE [--rounds N] [--json FILE] [PASS...]

The programs are those of gradients/ (time of the gradient), of growth/ (time and peak memory of the gradient at the largest
size), and two dozen ordinary ones of ../examples and ../tests/programs (time of the run in the evaluator). Of all of them the
compile time (parser to lowering) and the size of the lowered code are measured too. Runs with and without the pass
alternate; the ratio of the least times counts. A program whose lowered code is the same without the pass isn't run again.

Printed, per pass: how many programs' code it changes, and geometric means of the ratios without / with over all programs of
a set (1.05: without the pass 5 % more); then each program that is slower, or needs more memory, by over 10 %."""
import argparse
import collections
import glob
import gzip
import hashlib
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
NEEDED = {"fill_entries"} # lowering has no code for what it replaces
ORDINARY = """examples/black_scholes examples/curve_fit examples/heat examples/lagrangian_pendulum examples/lotka_volterra examples/nbody
examples/newton_root examples/ridge_regression examples/robot_arm examples/sampler examples/tree_gradient examples/tumours
tests/programs/epidemic tests/programs/implicit tests/programs/kalman tests/programs/circuit tests/programs/rays tests/programs/halves
tests/programs/controller tests/programs/tomography tests/programs/calculator tests/programs/alignment tests/programs/biquad
tests/programs/growth_fit tests/programs/markov tests/programs/linear_recursion""".split()


def passes():
    rows = re.findall(r"^PASS\((?:BEFORE|AFTER), (\w+),", open(f"{here}/../src/opt/passes.def", encoding="utf-8").read(), re.M)
    return [name for name in dict.fromkeys(rows) if name not in NEEDED]


class Program:
    def __init__(self, kind, path, words=()):
        self.kind, self.path, self.words = kind, path, list(words)
        self.name = os.path.basename(path)[:-4]


def unpacked(folder, word):
    packed = f"{here}/data/{word}.gz"
    if os.path.exists(packed):
        out = f"{folder}/{word}"
        if not os.path.exists(out):
            with open(out, "wb") as f:
                f.write(gzip.open(packed).read())
        return out
    return f"{here}/data/{word}" if os.path.exists(f"{here}/data/{word}") else word


def programs(folder):
    out = []
    for path in sorted(glob.glob(f"{here}/gradients/*.atl")):
        text = open(path, encoding="utf-8").read()
        cases = re.findall(r"^# case (\S+): ?(.*)", text, re.M)
        if "# small:" not in text:
            continue
        for name, words in (cases[-1:] or [("", "")]):
            out.append(Program("gradients", path, ["gradient", *[unpacked(folder, w) for w in words.split()]]))
    for path in sorted(glob.glob(f"{here}/growth/*.atl")):
        text = open(path, encoding="utf-8").read()
        if path.endswith("driver.atl"):
            continue
        own = re.search(r"^# sizes: (.*)", text, re.M)
        n = int(own.group(1).split()[-1]) if own else 1_000_000
        out.append(Program("growth", path, [str(n), "gradient"]))
    return out + [Program("ordinary", f"{here}/../{name}.atl") for name in ORDINARY]


class Runner:
    def __init__(self, exe, folder):
        self.exe, self.folder = os.path.abspath(exe), folder

    def env(self, left_out, jit):
        env = dict(os.environ, ATLED_JIT=jit, ATLED_CACHE=self.folder, XDG_CACHE_HOME=self.folder)
        if left_out:
            env["ATLED_PASSES"] = f"-{left_out}"
        return env

    def lowered(self, p, left_out):
        """The lowered code without its places: a hash and the number of lines."""
        r = subprocess.run([self.exe, "ir", "--stage=lowered", p.path], capture_output=True, text=True, env=self.env(left_out, "off"),
                           cwd=os.path.dirname(p.path), timeout=120)
        if r.returncode != 0:
            return None, 0
        return hashlib.sha1(r.stdout.encode()).hexdigest(), r.stdout.count("\n")

    def time(self, p, left_out):
        """Seconds, peak memory in kB, seconds to lowered code; NaN where it fails."""
        jit = "off" if p.kind == "ordinary" else "always"
        try:
            r = subprocess.run([self.exe, "--time", p.path, *p.words], capture_output=True, text=True, env=self.env(left_out, jit),
                               cwd=f"{here}/.." if p.kind == "ordinary" else os.path.dirname(p.path), timeout=180)
        except subprocess.TimeoutExpired:
            return math.nan, math.nan, math.nan
        rows = {k: float(v) for k, v in re.findall(r"^(\w+) +(\d+\.\d+)", r.stderr, re.M)}
        front = sum(rows.get(k, 0) for k in ("optimise", "differentiate", "lower"))
        peak = re.search(r"^VmHWM:\s*(\d+)", r.stdout, re.M)
        if r.returncode != 0:
            return math.nan, math.nan, math.nan
        if p.kind == "ordinary":
            return rows["evaluate"], math.nan, front
        s = re.search(r"^seconds[^:]*: (\S+)", r.stdout, re.M)
        return float(s.group(1)), int(peak.group(1)) if peak else math.nan, front


def least(values):
    values = [v for v in values if v == v]
    return min(values) if values else math.nan


def measure(runner, p, left_out, rounds):
    got = collections.defaultdict(list)
    for k in range(rounds + (p.kind != "ordinary")):
        for side in (None, left_out):
            s, m, f = runner.time(p, side)
            if k == 0 and p.kind != "ordinary":
                continue # compiled in this run
            got[side, "s"].append(s)
            got[side, "m"].append(m)
            got[side, "f"].append(f)
    return {key: least(got[left_out, key]) / least(got[None, key]) for key in "smf" if least(got[None, key])}


def mean(values):
    values = [v for v in values if v == v and v > 0]
    return statistics.geometric_mean(values) if values else math.nan


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--atled", required=True)
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--json")
    options.add_argument("names", nargs="*")
    options = options.parse_args()
    kept = {}
    with tempfile.TemporaryDirectory() as folder:
        runner, all_programs = Runner(options.atled, folder), programs(folder)
        base = {p: runner.lowered(p, None) for p in all_programs}
        all_programs = [p for p in all_programs if base[p][0]]
        print(f"{len(all_programs)} programs", flush=True)
        print(f"{'pass':20} {'changes':>7} {'gradients':>9} {'growth':>7} {'memory':>7} {'ordinary':>8} {'compile':>7} {'size':>6}", flush=True)
        for name in options.names or passes():
            rows = {}
            for p in all_programs:
                code, size = runner.lowered(p, name)
                same = code == base[p][0]
                rows[p] = {"size": size / base[p][1] if code else math.nan, "s": 1.0, "m": 1.0, "f": 1.0, "same": same}
                if not same:
                    rows[p].update(measure(runner, p, name, options.rounds))
            kept[name] = {f"{p.kind}/{p.name}": r for p, r in rows.items()}
            by = {k: mean([r["s"] for p, r in rows.items() if p.kind == k]) for k in ("gradients", "growth", "ordinary")}
            print(f"{name:20} {sum(not r['same'] for r in rows.values()):7} {by['gradients']:9.3f} {by['growth']:7.3f} "
                  f"{mean([r['m'] for p, r in rows.items() if p.kind == 'growth']):7.3f} {by['ordinary']:8.3f} "
                  f"{mean([r['f'] for r in rows.values()]):7.3f} {mean([r['size'] for r in rows.values()]):6.3f}", flush=True)
            for p, r in rows.items():
                if not (r["s"] <= 1.1 and not r["m"] > 1.1):
                    print(f"    {p.kind}/{p.name}: time {r['s']:.2f}, memory {r['m']:.2f}", flush=True)
            if options.json:
                with open(options.json, "w", encoding="utf-8") as f:
                    json.dump(kept, f, indent=1)


if __name__ == "__main__":
    sys.exit(main())
