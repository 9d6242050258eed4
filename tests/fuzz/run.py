#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs random programs in every mode and compares the values, and their derivatives with each other and with central differences.

usage: run.py --atled EXE [--programs N | --seconds S] [--seed N] [--first N] [--size N] [--batch N] [--jobs N]
              [--lines N] [--every N] [--evaluator] [--coin] [--coverage] [--stop] [--only N] [--failing] [--having TEXT]

For each program of generate.py, in the evaluator: value; gradient by reverse mode; directional derivative by forward mode, equal
to the inner product; Hessian-vector products by reverse over reverse, forward over reverse and reverse over forward, all equal;
forward over forward; central differences, loosely; and effects happen in each derivative as in a plain evaluation.
Then the same in machine code of the levels 0 and 3 in strict mode, equal to the last bit, and for every fifth file in machine
code that isn't strict, with equal numbers; so are, in every file, programs that decide by rounded products. Many programs share a
file, since starting costs more than running. With each file goes a walk (walks.py), whose gradient must not grow faster than itself.

Compiling costs most by far, and a few programs most of that. So which sections (value, gradient, …) of a program are compiled is
drawn by lot from seed and number: those of up to --lines lines of lowered code always at level 3, larger ones in proportion,
so that no kind of program is left out; five times as many lines at level 0. --lines=0: everything.

A program may be refused where it takes derivatives of itself (how often isn't known when it is compiled), or where a function of `par` reads
a `mut` variable; it doesn't count.
A program that fails is made smaller while it fails in the same way, and written to fuzz-SEED-NUMBER.atl; running that shows it.
Prints what was covered (coverage.py): kinds of IR nodes, and constructs under derivative operators; in full with --coverage.
--only N: program N alone. --having TEXT: of the programs those with that text. --failing: programs that may end by an error, with and without derivatives: which do is the same in every mode. --stop: end at the first difference. --evaluator: no machine code. --coin: instead of machine code a run
in which chance decides at each call and each head of a loop where it runs, with outputs equal to the evaluator's. Exit status 1: there was a difference."""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import coverage  # noqa: E402
import generate  # noqa: E402
import shrink  # noqa: E402
import walks  # noqa: E402

EVALUATOR, STRICT = ("evaluator", ["--jit=off"], "3"), ("strict evaluator", ["--jit=off", "--strict-fp"], "3")
NATIVE = {level: (f"native {level}", ["--jit=always"], level) for level in "03"}
STRICT_NATIVE = {level: (f"strict native {level}", ["--jit=always", "--strict-fp"], level) for level in "03"}
TOSSED = ("chance", [], "0")
# What is printed of a program, one item of source each; machine code is compared with the evaluator in the first table.
COMPILED = {
    "value": "{fK xK}",
    "grad": "{let (y, g) = value_and_grad fK xK in (y, floats g)}",
    "jvp": "{jvp fK xK uK}",
    "rr": "{floats (grad (fun p -> inner (grad fK p) uK) xK)}",
    "fr": "{floats (snd (jvp (grad fK) xK uK))}",
    "rf": "{floats (grad (fun p -> snd (jvp fK p uK)) xK)}",
    "ff": "{snd (jvp (fun p -> snd (jvp fK p uK)) xK vK)}",
}
OTHERS = {
    "directions": "{floats uK} {floats vK}",
    "nearby": "{[fK (xK + 1e-6 * uK), fK (xK - 1e-6 * uK)]}",
    "central": "{map (fun h -> (fK (xK + h * uK) - fK (xK - h * uK)) / (2.0 * h)) [1e-4, 1e-5, 1e-6, 1e-3]}",
    "central2": "{map (fun h -> (inner (grad fK (xK + h * uK)) vK - inner (grad fK (xK - h * uK)) vK) / (2.0 * h)) "
                "[1e-4, 1e-5, 1e-6, 1e-3]}",
}
# Of programs that may fail: which of these do, and the values of the others.
INSIDE = "(fun p -> match attempt (fun () -> fK p) with Ok y -> sin y | Error _ -> 2.0 * inner p p)"
CONSTANT = "(fun p -> inner p uK + stop_gradient (fK p))"
ATTEMPTED = {
    "attempt": "{outcome (attempt (fun () -> fK xK))}",
    "attempt_grad": "{outcome (attempt (fun () -> let (y, g) = value_and_grad fK xK in (y, floats g)))}",
    "attempt_vjp": "{outcome (attempt (fun () -> let (y, back) = vjp fK xK in (y, floats (back 0.7))))}",
    "attempt_jvp": "{outcome (attempt (fun () -> jvp fK xK uK))}",
    # where the value isn't asked for, and where the derivative needs nothing of it
    "attempt_grad_alone": "{outcome (attempt (fun () -> floats (grad fK xK)))}",
    "attempt_vjp_alone": "{outcome (attempt (fun () -> floats (snd (vjp fK xK) 0.7)))}",
    "attempt_jvp_alone": "{outcome (attempt (fun () -> snd (jvp fK xK uK)))}",
    "attempt_hvp_alone": "{outcome (attempt (fun () -> floats (hvp fK xK uK)))}",
    "attempt_rr_alone": "{outcome (attempt (fun () -> floats (grad (fun p -> inner (grad fK p) uK) xK)))}",
    "attempt_grad_constant": "{outcome (attempt (fun () -> floats (grad " + CONSTANT + " xK)))}",
    "attempt_jvp_constant": "{outcome (attempt (fun () -> snd (jvp " + CONSTANT + " xK uK)))}",
    "attempt_hvp_constant": "{outcome (attempt (fun () -> floats (hvp " + CONSTANT + " xK uK)))}",
    "attempt_cotangent": "{outcome (attempt (fun () -> floats (snd (vjp (fun p -> [" + CONSTANT + " p, 1.0]) xK) [1.0])))}",
    "attempt_inside": "{outcome (attempt (fun () -> jvp " + INSIDE + " xK uK))}",
    "attempt_inside_grad": "{outcome (attempt (fun () -> floats (grad " + INSIDE + " xK)))}",
}
# Of those with effects and errors in order, what is printed where nothing fails.
WHOLE = {
    "whole": "{outcome (attempt (fun () -> bK zero xK))}",
    "whole_grad": "{outcome (attempt (fun () -> let (y, g) = value_and_grad (bK zero) xK in (y, floats g)))}",
    "whole_vjp": "{outcome (attempt (fun () -> let (y, back) = vjp (bK zero) xK in (y, floats (back 0.7))))}",
    "whole_jvp": "{outcome (attempt (fun () -> jvp (bK zero) xK uK))}",
}
PRINTED = {**COMPILED, **OTHERS, **ATTEMPTED, **WHOLE}
SECOND = 4  # of so many programs one has central differences of its gradient too
REFUSED = re.compile("can't be differentiated: .*takes derivatives of itself|the `mut` variable .* is captured by a function")
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)(?![\w.])")
EXACT, LOOSE = 1e-9, 1e-5


def compiled(p):
    """What may be compiled: of the second derivatives the first, and another one in turn."""
    if p.failing:
        return [*ATTEMPTED]
    others = ["fr", "rf", "ff"]
    return [name for name in COMPILED if name not in others or name == others[p.number % 3]]


def all_sections(p):
    if p.failing:
        return [*ATTEMPTED] + [*WHOLE] * p.ordered
    return [*COMPILED] + [name for name in OTHERS if name != "central2" or p.number % SECOND == 0]


def source(programs, sections):
    """The programs, each with what is to be printed of it; sections: number -> names."""
    out = [generate.PREAMBLE]
    for p in programs:
        text = "".join(f'print $"@K {name} {PRINTED[name]}"\n' for name in sections[p.number])
        out.append("\n" + p.text() + text.replace("K", str(p.number)))
    return "".join(out)


# ---- Running -----------------------------------------------------------------------------------------
class Output:
    """What a run printed of one program: the numbers of each section, the effects before it, and the text."""

    def __init__(self):
        self.numbers, self.effects, self.lines = {}, {}, {}


def execute(exe, mode, text, limit=120):
    """Status, what each program printed, and the error. The limit is of processor time, so that a busy machine finds nothing."""
    _, options, level = mode
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fuzz.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        env = dict(os.environ, ATLED_OPT=level, ATLED_CACHE="", ASAN_OPTIONS="detect_leaks=0")
        if mode is TOSSED:
            env["ATLED_COIN"] = env["ATLED_STEAL"] = str(zlib.crc32(text.encode()))
            env["ATLED_THREADS"] = "3"
        try:
            r = subprocess.run([exe, *options, path], capture_output=True, text=True, timeout=8 * limit, env=env, cwd=folder,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10)))
        except subprocess.TimeoutExpired:
            return "no end", {}, f"no end within {8 * limit} s"
    if r.returncode == -signal.SIGXCPU:
        return "no end", {}, f"no end within {limit} s of processor time"
    outputs, effects = collections.defaultdict(Output), []
    for line in r.stdout.splitlines():
        m = re.match(r"@(\d+) (\w+)(.*)", line)
        if not m:
            effects.append(line)
            continue
        out = outputs[int(m[1])]
        out.numbers[m[2]] = [float(x) for x in NUMBER.findall(m[3])]
        out.effects[m[2]], effects = effects, []
        out.lines[m[2]] = line
    return r.returncode, outputs, r.stderr


def run_all(exe, mode, programs, sections, failures):
    """Outputs by number; those programs that don't get to their end are found by halving and put into failures."""
    if not programs:
        return {}
    status, outputs, error = execute(exe, mode, source(programs, sections), 20 + 10 * len(programs))
    if status == 0 and all(len(outputs[p.number].numbers) == len(sections[p.number]) for p in programs):
        return outputs
    if len(programs) == 1:
        lines = [x for x in error.splitlines() if "warning" not in x] or [""]
        failures.append((programs[0], f"{mode[0]}: status {status}", signature(error), error or lines[0]))
        return {}
    half = len(programs) // 2
    return {**run_all(exe, mode, programs[:half], sections, failures), **run_all(exe, mode, programs[half:], sections, failures)}


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


def fails(out, name="attempt"):
    return out.lines[name].endswith("Error")


CAUGHT = ("attempt_inside", "attempt_inside_grad")


def failing_problems(p, out):
    """A derivative fails where the value does, alone too; inside a function that catches it nothing fails; a cotangent of another shape
    is an error in any case."""
    wrong = [name for name in ATTEMPTED if name not in (*CAUGHT, "attempt_cotangent") and fails(out, name) != fails(out)]
    wrong += [f"effects of {name}" for name in ATTEMPTED if name not in CAUGHT and out.effects[name] != out.effects["attempt"]]
    wrong += [name for name in CAUGHT if fails(out, name)] + ["attempt_cotangent"] * (not fails(out, "attempt_cotangent"))
    wrong += ["order of " + name for name in ("attempt", "attempt_grad", "attempt_vjp", "attempt_jvp") if p.ordered and out_of_order(out, name)]
    wrong += [name for name in ("attempt_grad", "attempt_vjp", "attempt_jvp")
              if fails(out, name) == fails(out) and name not in wrong and not near(out.numbers[name][:1], out.numbers["attempt"], EXACT)]
    return wrong


def out_of_order(out, name):
    """What a failing run prints is what one prints that doesn't fail, up to where something says that it has just not failed: no
    effect before an error is lost, and none happens behind it. What isn't needed may be skipped with its error."""
    whole, cut = out.effects[name.replace("attempt", "whole")], out.effects[name]
    n = len(cut)
    return whole[:n] != cut or (fails(out, name) and n < len(whole) and "behind" not in whole[n])


def has_kink(value, nearby, error):
    """Do the slopes on both sides of a point differ by at least the error of the gradient's? As those of relu do at 0. Where a
    function is smooth that is 1e-6 of its second derivative."""
    return abs(sum(nearby) - 2 * value) / 1e-6 >= abs(error)


def problems(p, out):
    """What is wrong with one program's derivatives: the names of the sections that differ."""
    n = out.numbers
    if p.failing:
        return failing_problems(p, out)
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
    slope = product(gradient, u)
    same("jvp", n["jvp"][1:], [slope], size)
    for name in ("fr", "rf"):
        same(name, n[name], n["rr"])
    curved = product(n["rr"], v)
    size2 = max([size] + [abs(a * b) for a, b in zip(n["rr"], v)])
    same("ff", n["ff"], [curved], size2)
    for name in COMPILED:
        same("effects of " + name, [], [] if out.effects[name] == out.effects["value"] else [1.0])
    if any(x != x for x in gradient + n["rr"]):
        return wrong + ["not a number"]
    jumps = not near(n["nearby"], value * 2, 1e-4, size) # as a gradient does where two are least along a whole line
    kink = has_kink(value[0], n["nearby"], n["central"][0] - slope)
    if p.central and not jumps and not kink and finite(gradient + n["rr"]):
        _, wide, narrow, *_ = n["central"] # with steps of 1e-5 and 1e-6: what they tend to, for functions that bend a lot
        if not any(near([c], [slope], LOOSE, size) for c in n["central"] + [(100 * narrow - wide) / 99]):
            wrong.append("central")
        if "central2" in n and not any(near([c], [curved], 10 * LOOSE, size2) for c in n["central2"]):
            wrong.append("central2")
    return wrong


def compare(programs, mode, sections, base, other, failures):
    """Machine code with the evaluator: numbers, or in strict mode the text."""
    for p in programs:
        if p.number not in base or p.number not in other:
            continue
        a, b, bad = base[p.number], other[p.number], []
        for name in sections[p.number]:
            exact = "strict" in mode[0] or mode is TOSSED
            same = a.lines[name] == b.lines[name] if exact else near(a.numbers[name], b.numbers[name], EXACT)
            if not same or a.effects[name] != b.effects[name]:
                bad.append(f"{a.lines[name]} / {b.lines[name]}")
        if bad:
            failures.append((p, f"{mode[0]} differs from the evaluator", "", " ".join(bad)[:300]))


# ---- What is compiled ----------------------------------------------------------------------------------
def costs(exe, programs):
    """Lines of lowered code of each section, with the functions it calls: number -> name -> lines."""
    names = {p.number: compiled(p) for p in programs}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fuzz.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(source(programs, names))
        text = subprocess.run([exe, "ir", "--stage=lowered", path], capture_output=True, text=True, timeout=300).stdout
    own, calls, printers = [], [], []
    for k, part in enumerate(re.split(r"^func ", text, flags=re.M)[1:]):
        own.append(part.count("\n"))
        calls.append({int(c) for c in re.findall(r"CALL (\d+)", part)})
        if re.match(r".* -> \(\).* entry id=", part):  # no result: it prints
            printers.append(k)
    entry = dict(zip(((p.number, name) for p in programs for name in compiled(p)), printers))

    def reached(k, seen):
        if k not in seen:
            seen.add(k)
            for c in calls[k]:
                reached(c, seen)
        return seen

    return {p.number: {name: sum(own[k] for k in reached(entry[p.number, name], set())) for name in compiled(p)} for p in programs}


def drawn(options, programs, lines, level):
    """Which sections are compiled: number -> names."""
    limit = options.lines * (5 if level == "0" else 1)
    out = {}
    for p in programs:
        rng = random.Random(f"{options.seed}/{p.number}/{level}")
        lots = [(rng.random(), name) for name in compiled(p)]
        out[p.number] = [name for lot, name in lots if not limit or lot * lines[p.number][name] < limit]
    return out


def compare_native(options, programs, index, failures, counts):
    """The evaluator runs the same source: the order in which derivatives add up may depend on all that a file computes."""
    lines = costs(options.atled, programs)
    decided = [p for p in programs if any(name.startswith(generate.DECIDED) for _, name in p.tags)]
    kinds = [(STRICT_NATIVE["0"], STRICT, programs), (STRICT_NATIVE["3"], STRICT, programs)]
    if index // options.every % 5 == 0:
        kinds.append((NATIVE["03"[index // options.every // 5 % 2]], EVALUATOR, programs))
    elif decided:
        kinds.append((NATIVE["3"], EVALUATOR, decided))
    if options.coin:
        kinds = [(TOSSED, EVALUATOR, programs)]
    for mode, evaluator, some in kinds:
        names = drawn(options, some, lines, mode[2])
        chosen = [p for p in some if names[p.number]]
        base = run_all(options.atled, evaluator, chosen, names, failures)
        other = run_all(options.atled, mode, chosen, names, failures)
        compare(chosen, mode, names, base, other, failures)
        counts[mode[0], "programs"] += len(other)
        counts[mode[0], "sections"] += sum(len(names[p.number]) for p in chosen)


class Batch:
    """Some programs, run in every mode."""

    def __init__(self, options, numbers):
        index = numbers[0] // options.batch
        programs = [generate.program(k, options.seed, options.size, options.failing) for k in numbers]
        programs = [p for p in programs if options.having in p.text()]
        self.failures, self.counts, ended = [], collections.Counter(), []
        everything = {p.number: all_sections(p) for p in programs}
        plain = run_all(options.atled, EVALUATOR, programs, everything, ended)
        self.refused = [f[0] for f in ended if REFUSED.search(f[3])]
        self.failures += [f for f in ended if f[0] not in self.refused]
        self.programs = [p for p in programs if p.number in plain]
        self.errors = sum(p.failing and fails(plain[p.number]) for p in self.programs)
        for p in self.programs:
            wrong = problems(p, plain[p.number])
            if wrong:
                self.failures.append((p, "derivatives", wrong[0], ", ".join(wrong)))
        if not options.evaluator and self.programs and index % options.every == 0:
            compare_native(options, self.programs, index, self.failures, self.counts)
        self.walks = [] if options.failing else walks.check(options.cost, [walks.Walk(numbers[0], options.seed)])
        sampled = index % 10 == 0 or options.only is not None
        self.kinds = coverage.node_kinds(options.atled, source(self.programs, everything)) if sampled else None


# ---- The driver --------------------------------------------------------------------------------------
def report(options, failure):
    p, kind, sign, detail = failure
    small = shrink.shrink(p, lambda q: fails_so(options, q, kind, sign), options.effort)
    path = os.path.abspath(f"fuzz-{options.seed}-{p.number}.atl")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"# Seed {options.seed}, program {p.number}: {kind}: {sign}\n" + source([small], {p.number: all_sections(p)}))
    print(f"program {p.number}: {kind}: {detail.strip()[:600]}\n  smaller: {path}", flush=True)


def fails_so(options, p, kind, sign):
    """Does the program fail in the same way?"""
    native = [*NATIVE.values(), *STRICT_NATIVE.values(), TOSSED]
    mode = next((m for m in [EVALUATOR, STRICT] + native if kind.startswith(m[0])), EVALUATOR)
    sections = {p.number: compiled(p) if mode in native else all_sections(p)}
    failures = []
    out = run_all(options.atled, mode, [p], sections, failures)
    if ": status" in kind:
        return any(f[1] == kind and f[2] == sign for f in failures)
    if failures:
        return False
    if kind == "derivatives":
        return sign in problems(p, out[p.number])
    base = run_all(options.atled, STRICT if "strict" in mode[0] else EVALUATOR, [p], sections, failures)
    compare([p], mode, sections, base, out, failures)
    return any(f[1] == kind for f in failures)


class Campaign:
    """What all batches gave."""

    def __init__(self, options):
        self.options, self.start = options, time.time()
        self.done = self.refused = self.failed = self.errors = 0
        self.counts, self.seen, self.covered = collections.Counter(), collections.Counter(), coverage.Coverage()

    def add(self, batch):
        self.done += len(batch.programs)
        self.refused += len(batch.refused)
        self.errors += batch.errors
        self.failed += len(batch.failures) + len(batch.walks)
        self.counts.update(batch.counts)
        for p in batch.programs:
            self.covered.add(p, [name for name in COMPILED if name != "value"])
        if batch.kinds is not None:
            self.covered.add_kinds(batch.programs, batch.kinds)
        for f in batch.failures:
            self.seen[f[1:3]] += 1
            if self.seen[f[1:3]] <= 2 and self.options.effort:
                report(self.options, f)
            else:
                print(f"program {f[0].number}: {f[1]}: {f[2] or f[3][:80]}", flush=True)
        for walk, wrong in batch.walks:
            print(f"program {walk.number}: the walk that goes with it: {wrong[:600]}\n  {walk.save(self.options.seed)}", flush=True)
        if self.done // 1000 != (self.done - len(batch.programs)) // 1000:
            print(f"… {self.done} programs, {time.time() - self.start:.0f} s", flush=True)

    def summary(self):
        for name in dict.fromkeys(k[0] for k in self.counts):
            print(f"{name}: {self.counts[name, 'programs']} programs, {self.counts[name, 'sections']} sections")
        print(f"{self.done} programs, seed {self.options.seed}, size {self.options.size}, {time.time() - self.start:.0f} s: "
              f"{self.failed} differences, {self.refused} refused" + f", {self.errors} end by an error" * self.options.failing)


def arguments():
    a = argparse.ArgumentParser()
    a.add_argument("--atled", required=True)
    a.add_argument("--programs", type=int)
    a.add_argument("--seconds", type=float)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--first", type=int, default=0)
    a.add_argument("--size", type=int, default=12, help="of the largest programs")
    a.add_argument("--batch", type=int, default=10)
    a.add_argument("--jobs", type=int, default=1)
    a.add_argument("--lines", type=int, default=12)
    a.add_argument("--every", type=int, default=1, help="compile programs of every so many files")
    a.add_argument("--effort", type=int, default=300, help="runs to make a failing program smaller")
    a.add_argument("--only", type=int)
    a.add_argument("--having", default="")
    for flag in ("--evaluator", "--coin", "--coverage", "--stop", "--failing"):
        a.add_argument(flag, action="store_true")
    options = a.parse_args()
    options.atled = os.path.abspath(options.atled)
    options.cost = os.path.join(os.path.dirname(options.atled), "fuzz_cost")
    if options.only is not None:
        options.first, options.programs, options.batch, options.lines = options.only, 1, 1, 0
    return options


def main():
    options = arguments()
    campaign = Campaign(options)
    end = time.time() + options.seconds if options.seconds else None
    last = options.first + (options.programs or (10 ** 9 if end else 200))
    batches = iter([*range(k, min(k + options.batch, last))] for k in range(options.first, last, options.batch))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = {pool.submit(Batch, options, numbers) for _, numbers in zip(range(options.jobs), batches)}
        while waiting:
            ready, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for r in ready:
                campaign.add(r.result())
                over = (end and time.time() > end) or (campaign.failed and options.stop)
                numbers = None if over else next(batches, None)
                if numbers:
                    waiting.add(pool.submit(Batch, options, numbers))
    campaign.covered.print(options.coverage)
    campaign.summary()
    sys.exit(1 if campaign.failed else 0)


if __name__ == "__main__":
    main()
