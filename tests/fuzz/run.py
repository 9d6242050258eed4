#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs random programs in every mode and compares their derivatives with each other and with central differences.

usage: run.py --atled EXE [--programs N | --seconds S] [--seed N] [--first N] [--size N] [--batch N] [--jobs N]
              [--evaluator] [--coverage] [--stop] [--only N]

For each program of generate.py: value; gradient by reverse mode; directional derivative by forward mode, equal to the inner
product; Hessian-vector products by reverse over reverse, forward over reverse and reverse over forward, all equal; forward over
forward; central differences, loosely; and effects happen in each derivative as in a plain evaluation. All that in the
evaluator and in machine code, with equal numbers, and in strict mode, where they must be equal to the last bit.
Many programs share a file, since starting and compiling cost more than running; files take the levels 0 and 3 of machine code in turn.

A program that fails is made smaller while it fails in the same way, and written to fuzz-SEED-NUMBER.atl; running that shows it.
Prints what was covered: each kind of IR node, and each production under each derivative operator (all of it with --coverage).
--only N: program N alone. --stop: end at the first difference. --evaluator: no machine code. Exit status 1: there was a difference."""
import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import generate  # noqa: E402
import shrink  # noqa: E402

EVALUATOR, STRICT = ("evaluator", ["--jit=off"], "3"), ("strict evaluator", ["--jit=off", "--strict-fp"], "3")
NATIVE = [[(f"native {level}", ["--jit=always"], level), (f"strict native {level}", ["--jit=always", "--strict-fp"], level)]
          for level in "03"]
CHECKS = """print $"@K value {fK xK}"
let (yK, gK) = value_and_grad fK xK
print $"@K grad {yK} {floats gK}"
let (zK, dK) = jvp fK xK uK
print $"@K jvp {zK} {dK}"
print $"@K inner {inner gK uK}"
print $"@K rr {floats (grad (fun p -> inner (grad fK p) uK) xK)}"
print $"@K fr {floats (snd (jvp (grad fK) xK uK))}"
print $"@K rf {floats (grad (fun p -> snd (jvp fK p uK)) xK)}"
print $"@K ff {snd (jvp (fun p -> snd (jvp fK p uK)) xK vK)}"
print $"@K directions {floats uK} {floats vK}"
let cK h = (fK (xK + h * uK) - fK (xK - h * uK)) / (2.0 * h)
print $"@K central {cK 1e-4} {cK 1e-5} {cK 1e-6} {cK 1e-3}"
let eK h = (inner (grad fK (xK + h * uK)) vK - inner (grad fK (xK - h * uK)) vK) / (2.0 * h)
print $"@K central2 {eK 1e-4} {eK 1e-5} {eK 1e-6} {eK 1e-3}"
"""
SECTIONS = re.findall(r'"@K (\w+)', CHECKS)
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)(?![\w.])")
EXACT, LOOSE = 1e-9, 1e-5


def source(programs):
    return generate.PREAMBLE + "".join("\n" + p.text() + CHECKS.replace("K", str(p.number)) for p in programs)


# ---- Running -----------------------------------------------------------------------------------------
class Output:
    """What a run printed of one program: the numbers of each section, the effects before it, and the text."""

    def __init__(self):
        self.numbers, self.effects, self.lines = {}, {}, []


def execute(exe, mode, text, limit=120):
    """Status, what each program printed, and the error."""
    _, options, level = mode
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fuzz.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        env = dict(os.environ, ATLED_OPT=level, ATLED_CACHE="", ASAN_OPTIONS="detect_leaks=0")
        try:
            r = subprocess.run([exe, *options, path], capture_output=True, text=True, timeout=limit, env=env, cwd=folder)
        except subprocess.TimeoutExpired:
            return "no end", {}, f"no end within {limit} s"
    outputs, effects = collections.defaultdict(Output), []
    for line in r.stdout.splitlines():
        m = re.match(r"@(\d+) (\w+)(.*)", line)
        if not m:
            effects.append(line)
            continue
        out = outputs[int(m[1])]
        out.numbers[m[2]] = [float(x) for x in NUMBER.findall(m[3])]
        out.effects[m[2]], effects = effects, []
        out.lines.append(line)
    return r.returncode, outputs, r.stderr


def run_all(exe, mode, programs, failures):
    """Outputs by number; those programs that don't get to their end are found by halving and put into failures."""
    if not programs:
        return {}
    status, outputs, error = execute(exe, mode, source(programs), 20 + 10 * len(programs))
    if status == 0 and all(len(outputs[p.number].numbers) == len(SECTIONS) for p in programs):
        return outputs
    if len(programs) == 1:
        lines = [x for x in error.splitlines() if "warning" not in x] or [""]
        failures.append((programs[0], f"{mode[0]}: status {status}", signature(error), error or lines[0]))
        return {}
    half = len(programs) // 2
    return {**run_all(exe, mode, programs[:half], failures), **run_all(exe, mode, programs[half:], failures)}


def signature(error):
    """What two failures of one cause have in common."""
    for line in error.splitlines():
        m = re.search(r"(?:error|Error|Sanitizer|runtime error|Assertion|internal)[^\n]*", line)
        if m:
            return re.sub(r"`[^`]*`|\d+|'[^']*'", "#", m[0])[:60]
    return re.sub(r"\d+", "#", error[:60])


# ---- Comparing ---------------------------------------------------------------------------------------
def finite(xs):
    """Smooth enough for differences to mean something."""
    return all(abs(x) < 1e6 for x in xs)


def near(xs, ys, tolerance, scale=0.01):
    if len(xs) != len(ys):
        return False
    scale = max([scale] + [abs(x) for x in xs + ys if x == x and abs(x) < 1e300])
    return all(x == y or (x != x and y != y) or abs(x - y) <= tolerance * scale for x, y in zip(xs, ys))


def product(xs, ys):
    return sum(x * y for x, y in zip(xs, ys))


def problems(p, out):
    """What is wrong with one program's derivatives: the names of the sections that differ."""
    n = out.numbers
    value = n["value"]
    if not finite(value):
        return []
    k = len(n["directions"]) // 2
    u, v = n["directions"][:k], n["directions"][k:]
    gradient = n["grad"][1:]
    wrong = []

    def same(name, xs, ys, scale=0.01, tolerance=EXACT):
        if not near(xs, ys, tolerance, scale):
            wrong.append(name)

    same("value of grad", n["grad"][:1], value)
    same("value of jvp", n["jvp"][:1], value)
    if len(gradient) != k:
        return wrong + ["size of grad"]
    size = max([0.01] + [abs(a * b) for a, b in zip(gradient, u)])
    same("jvp", n["jvp"][1:], n["inner"], size)
    same("inner", n["inner"], [product(gradient, u)], size)
    for name in ("fr", "rf"):
        same(name, n[name], n["rr"])
    curved = product(n["rr"], v)
    size2 = max([size] + [abs(a * b) for a, b in zip(n["rr"], v)])
    same("ff", n["ff"], [curved], size2)
    for name in ("grad", "rr", "fr", "rf", "jvp"):
        same("effects of " + name, [], [] if out.effects[name] == out.effects["value"] else [1.0])
    if any(x != x for x in gradient + n["rr"]):
        return wrong + ["not a number"]
    if p.central and finite(gradient + n["rr"]):
        if not any(near([c], n["inner"], LOOSE, size) for c in n["central"]):
            wrong.append("central")
        if not any(near([c], [curved], 10 * LOOSE, size2) for c in n["central2"]):
            wrong.append("central2")
    return wrong


def different(a, b):
    """Sections in which two modes differ."""
    out = []
    for name in SECTIONS:
        x, y = a.numbers[name], b.numbers[name]
        central = name.startswith("central")
        if a.effects[name] != b.effects[name] or not near(x, y, LOOSE if central else EXACT, 1.0 if central else 0.01):
            out.append(name)
    return out


def compare(programs, mode, base, other, failures):
    for p in programs:
        if p.number not in base or p.number not in other:
            continue
        a, b = base[p.number], other[p.number]
        if "strict" in mode[0]:
            bad = [x for x, y in zip(a.lines, b.lines) if x != y]
        else:
            bad = different(a, b)
        if bad:
            failures.append((p, f"{mode[0]} differs from the evaluator", "", " ".join(bad)[:300]))


def run_batch(options, numbers):
    programs = [generate.program(k, options.seed, options.size) for k in numbers]
    failures = []
    plain = run_all(options.atled, EVALUATOR, programs, failures)
    programs = [p for p in programs if p.number in plain]
    for p in programs:
        wrong = problems(p, plain[p.number])
        if wrong:
            failures.append((p, "derivatives", wrong[0], ", ".join(wrong)))
    if not options.evaluator:
        strict = run_all(options.atled, STRICT, programs, failures)
        for native, base in zip(NATIVE[numbers[0] // options.batch % 2], (plain, strict)):
            compare(programs, native, base, run_all(options.atled, native, programs, failures), failures)
    return programs, failures


# ---- Coverage ----------------------------------------------------------------------------------------
def node_kinds(exe, programs):
    """How often each kind of IR node stands in the final form, and what kinds there are."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fuzz.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(source(programs))
        counts = collections.Counter()
        for stage in ("optimised", "final"):
            r = subprocess.run([exe, "ir", f"--stage={stage}", path], capture_output=True, text=True, timeout=120)
            for m in re.finditer(r"^ *%\d+ : .*? = (\S+)(?: (\S+))?", r.stdout, re.M):
                counts[m[1] + " " + m[2] if m[1] == "rt" else m[1]] += 1
    return counts


def all_kinds():
    path = os.path.join(os.path.dirname(__file__), "..", "..", "src", "ir", "ops.def")
    with open(path, encoding="utf-8") as f:
        return re.findall(r'OP\(\w+, "([^"]+)"', f.read())


def print_coverage(options, tags, kinds, done):
    missing = [k for k in all_kinds() if not kinds[k] and k not in ("param", "global", "rt")]
    print(f"IR nodes: {len([k for k in all_kinds() if kinds[k]])} kinds of {len(all_kinds())} seen; not: {' '.join(missing)}")
    modes = sorted({m for m, _ in tags}, key=lambda m: (len(m), m))
    constructs = sorted({c for _, c in tags})
    print(f"{len(tags)} pairs of (derivative operators around, production); each program also in all modes from outside")
    if options.coverage:
        print("\n".join(f"  {n:7} {k}" for k, n in kinds.most_common()))
        for c in constructs:
            row = "  ".join(f"{'/'.join(m) or '-'} {tags[m, c]}" for m in modes if tags[m, c])
            print(f"  {c:28} {row}")


# ---- The driver --------------------------------------------------------------------------------------
def report(options, failure):
    p, kind, sign, detail = failure
    small = shrink.shrink(p, lambda q: fails_so(options, q, kind, sign), options.effort)
    path = os.path.abspath(f"fuzz-{options.seed}-{p.number}.atl")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"# Seed {options.seed}, program {p.number}: {kind}: {sign}\n" + source([small]))
    print(f"program {p.number}: {kind}: {detail.strip()[:600]}\n  smaller: {path}", flush=True)


def fails_so(options, p, kind, sign):
    """Does the program fail in the same way?"""
    mode = next((m for m in [EVALUATOR, STRICT] + NATIVE[0] + NATIVE[1] if kind.startswith(m[0])), EVALUATOR)
    failures = []
    out = run_all(options.atled, mode, [p], failures)
    if ": status" in kind:
        return any(f[1] == kind and f[2] == sign for f in failures)
    if failures:
        return False
    if kind == "derivatives":
        return sign in problems(p, out[p.number])
    base = run_all(options.atled, STRICT if "strict" in mode[0] else EVALUATOR, [p], failures)
    compare([p], mode, base, out, failures)
    return any(f[1] == kind for f in failures)


def arguments():
    a = argparse.ArgumentParser()
    a.add_argument("--atled", required=True)
    a.add_argument("--programs", type=int)
    a.add_argument("--seconds", type=float)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--first", type=int, default=0)
    a.add_argument("--size", type=int, default=25)
    a.add_argument("--batch", type=int, default=10)
    a.add_argument("--jobs", type=int, default=2)
    a.add_argument("--effort", type=int, default=300, help="runs to make a failing program smaller")
    a.add_argument("--only", type=int)
    for flag in ("--evaluator", "--coverage", "--stop"):
        a.add_argument(flag, action="store_true")
    options = a.parse_args()
    options.atled = os.path.abspath(options.atled)
    if options.only is not None:
        options.first, options.programs, options.batch = options.only, 1, 1
    return options


def main():
    options = arguments()
    start = time.time()
    end = start + options.seconds if options.seconds else None
    count = options.programs or (10 ** 9 if end else 200)
    tags, kinds, done, failed, seen = collections.Counter(), collections.Counter(), 0, 0, collections.Counter()
    batches = ([*range(k, min(k + options.batch, options.first + count))]
               for k in range(options.first, options.first + count, options.batch))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        under_way = set()
        for numbers in batches:
            under_way.add(pool.submit(run_batch, options, numbers))
            while under_way and (len(under_way) >= options.jobs):
                ready, under_way = concurrent.futures.wait(under_way, return_when=concurrent.futures.FIRST_COMPLETED)
                for r in ready:
                    done, failed = account(options, r.result(), tags, kinds, seen, done, failed)
            if (end and time.time() > end) or (failed and options.stop):
                break
        for r in under_way:
            done, failed = account(options, r.result(), tags, kinds, seen, done, failed)
    print_coverage(options, tags, kinds, done)
    print(f"{done} programs, seed {options.seed}, {time.time() - start:.0f} s: {failed} differences")
    sys.exit(1 if failed else 0)


def account(options, result, tags, kinds, seen, done, failed):
    programs, failures = result
    for p in programs:
        tags.update(p.tags)
    if done == 0 or options.coverage and done < 200:
        kinds.update(node_kinds(options.atled, programs))
    for f in failures:
        seen[f[1:3]] += 1
        if seen[f[1:3]] <= 2:
            report(options, f)
        else:
            print(f"program {f[0].number}: {f[1]}: {f[2] or f[3][:80]}", flush=True)
    return done + len(programs), failed + len(failures)


if __name__ == "__main__":
    main()
