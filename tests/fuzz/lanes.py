#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random functions of loops with their gradients: the evaluator against machine code at every level of processors, against code
without lanes, and in strict mode, to the last digit.

usage: lanes.py ATLED [N] [--seed S] [--first K] [--batch B] [--jobs J] [--kind KIND] [--level L] [--keep FOLDER] [--effort E] [--expect-copies]
       lanes.py ATLED [--level L] [--modes NAME,…] --files FILE…   compares the output of these programs instead

N (300) functions of the kinds of lane_templates.py are compiled B (40) to a file, at GCC's level 0 (what runs at once is decided before GCC), of
each fifth file at level 1, of each twentieth at level 3; --level L: at L. Each function and its gradient are called with eight pairs of lengths from
0 to 40, with plain numbers and with NaN, infinities and subnormals among them. Compared are

  evaluator with fused products      machine code v4, v3, v4 with ATLED_LANES=off
  evaluator of v2, without           machine code v2
  evaluator in strict mode           machine code v4 (each fourth file: v2) in strict mode

or only those that --modes names, among v4, v3, "no lanes", v2, strict and "strict v2".

A function that differs is made smaller while it differs in the same mode (with up to E (60) runs), and written to
FOLDER/lanes-SEED-K.atl. Prints the progress, and how many loops had lanes, had a copy with private arrays, or had none.
Exit status 1: there was a difference; with --expect-copies also if one function in three has no loop with lanes, or none has a private copy."""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lane_templates  # noqa: E402

LIMIT = 3600  # seconds of one run, on a machine as busy as may be
# What is compared: name, level of processors, options, with lanes?
MODES = [("v4", "v4", [], "on"), ("v3", "v3", [], "on"), ("no lanes", "v4", [], "off"), ("v2", "v2", [], "on"), ("strict", "v4", ["--strict-fp"], "on"),
         ("strict v2", "v2", ["--strict-fp"], "on")]
NEEDS = {"v4": "avx512dq", "v3": "avx2", "v2": "sse2"}
DRIVER = """
let show_in_parts (v : float[]) = for k = 0 to length v / 900 do print v[k * 900..min (length v) (k * 900 + 900)] done
for (n, m) in SIZES do
  for (u, kind) in zip (inputs n m) ["plain", "rough"] do
    for (name, f) in all do
      print $"@{name} {n} {m} {kind}";
      match attempt (fun () -> f u) with Ok v -> show_in_parts v | Error e -> print $"{e.message} at {e.place}"
    done
  done
done
"""


def source(pieces, sizes):
    names = [f"{letter}{p.number}" for p in pieces for letter in "vd"]
    return (lane_templates.HEAD + "".join(p.text for p in pieces) + "let all = [" + ", ".join(f'("{name}", {name})' for name in names) + "]" +
            DRIVER.replace("SIZES", str(sizes)))


def sizes_of(rng):
    """Pairs of lengths: none, one vector and its neighbours, and others."""
    some = [(0, 3), (1, rng.randint(1, 9)), (8, rng.randint(1, 9)), (rng.choice([7, 9, 16, 17]), rng.choice([2, 4, 8, 11]))]
    return some + [(rng.randint(2, 40), rng.randint(1, 12)) for _ in range(3)] + [(rng.randint(24, 40), rng.randint(2, 9))]


class Runner:
    def __init__(self, options):
        self.exe = os.path.abspath(options.atled)
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            flags = set(f.read().split())
        self.modes = [m for m in MODES if NEEDS[m[1]] in flags and m[0] in options.modes.split(",")]

    def output(self, path, mode, jit, level="0", arguments=(), folder="."):
        """What is printed, and after a last @ the status and the errors."""
        _, cpu, more, lanes = mode
        env = {**os.environ, "ATLED_LANES": lanes, "ATLED_OPT": level, "ATLED_CACHE": ""}
        command = [self.exe, f"--cpu={cpu}", f"--jit={jit}", *more, path, *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LIMIT, env=env, cwd=folder)
        except subprocess.TimeoutExpired:
            return "@\nno end"
        return f"{done.stdout}@\n{done.returncode} {done.stderr}"

    def heads(self, *run):
        """What is printed under each head, "" for status and errors."""
        parts = re.split(r"^@(.*)\n", self.output(*run), flags=re.M)
        return dict(zip(parts[1::2], parts[2::2]))

    def evaluated(self, path, mode):
        return self.heads(path, mode, "off")

    def compiled(self, path, mode, level):
        return self.heads(path, mode, "always", level)

    def remarks(self, path):
        """What the lowered code says at the heads of loops."""
        done = subprocess.run([self.exe, "ir", "--stage=lowered", path], capture_output=True, text=True, timeout=LIMIT)
        counts = collections.Counter(copies=done.stdout.count("LOOP_HEAD b=2"), lanes=len(re.findall("# lanes", done.stdout)))
        for why in re.findall(r"# no lanes: ([^\n;]*)", done.stdout):
            counts["no lanes: " + re.sub(r"\d+", "N", why)] += 1
        return counts


def differences(base, other):
    """Name of a function -> heads whose texts differ; with None where the whole run does."""
    found = collections.defaultdict(list)
    for head in dict.fromkeys([*base, *other]):
        if base.get(head) != other.get(head):
            found[int(head.split()[0][1:]) if head else None].append(head)
    return found


def first_difference(a, b):
    a, b = a or "nothing", b or "nothing"
    for x, y in zip(re.split(r"(?<=,) |\n", a), re.split(r"(?<=,) |\n", b)):
        if x != y:
            return f"{x[:150]} / {y[:150]}"
    return f"{len(a)} and {len(b)} characters"


class Batch:
    """Some functions in one file, run in all modes."""

    def __init__(self, runner, options, numbers, folder):
        index = numbers[0] // options.batch
        self.options, self.runner, self.folder = options, runner, folder
        self.level = options.level or ("3" if index % 20 == 19 else "1" if index % 5 == 4 else "0")
        self.sizes = sizes_of(random.Random(f"{options.seed} sizes {numbers[0]}"))
        self.pieces = [lane_templates.piece(random.Random(f"{options.seed} {k}"), k, options.kind) for k in numbers]
        self.failures, self.errors = [], 0
        path = self.write("batch", self.pieces)
        self.counts = runner.remarks(path)
        bases = {}
        for mode in self.modes(index):
            key = (mode[1] == "v2", *mode[2])
            if key not in bases:
                bases[key] = runner.evaluated(path, mode)
            self.note(mode, bases[key], runner.compiled(path, mode, self.level))
        base = bases[min(bases)]
        self.counts["results"] = len(base) - 1
        self.counts["errors"] = sum(" at " in text and not text.startswith("[") for head, text in base.items() if head)
        os.unlink(path)

    def modes(self, index):
        skipped = "strict" if index % 4 == 3 else "strict v2"
        return [m for m in self.runner.modes if m[0] != skipped or len(self.runner.modes) <= 2]

    def write(self, name, pieces):
        path = os.path.join(self.folder, f"{name}-{self.pieces[0].number}.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(source(pieces, self.sizes))
        return path

    def note(self, mode, base, other):
        found = differences(base, other)
        if base[""] != "0 ":
            found[None].append("")
        if None in found:
            self.failures.append((None, mode, f"{base['']} / {other['']}"[:600]))
        if len(base) > 1 and len(other) > 1:
            for number, heads in found.items():
                if number is not None:
                    piece = next(p for p in self.pieces if p.number == number)
                    self.failures.append((piece, mode, f"{heads[0]}: {first_difference(base.get(heads[0]), other.get(heads[0]))}"))

    def fails(self, pieces, mode):
        path = self.write("small", pieces)
        base = self.runner.evaluated(path, mode)
        return base[""] == "0 " and differences(base, self.runner.compiled(path, mode, self.level))

    def smaller(self, piece, mode):
        """The pieces of a file that still shows it: the function alone, made smaller, or else all of them."""
        if not self.fails([piece], mode):
            return self.pieces
        runs, progress = self.options.effort, True
        while progress and runs > 0:
            progress = False
            for text in parts_dropped(piece.text):
                runs -= 1
                candidate = lane_templates.Piece(piece.kind, piece.number, text)
                if self.fails([candidate], mode):
                    piece, progress = candidate, True
                    break
                if runs <= 0:
                    break
        return [piece]

    def save(self, pieces, mode, detail):
        path = os.path.join(os.path.abspath(self.options.keep), f"lanes-{self.options.seed}-{pieces[0].number}.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"# {mode[0]}, level {self.level}: {detail}\n".replace("\n", " ") + "\n" + source(pieces, self.sizes))
        return path


def parts_dropped(text):
    """Texts with one bracketed part replaced by a constant or by one of its own parts, or one statement dropped, the largest first.
    What isn't a program any more doesn't fail, so nothing here needs to know what it cuts."""
    pairs, stack = [], []
    for k, ch in enumerate(text):
        if ch == "(":
            stack.append(k)
        elif ch == ")" and stack:
            pairs.append((stack.pop(), k + 1))
    head = text.index("=") if "=" in text else 0
    pairs = sorted((p for p in pairs if p[0] > head), key=lambda p: p[0] - p[1])
    for a, b in pairs:
        inside = [p for p in pairs if a < p[0] and p[1] < b][:3]
        yield from (text[:a] + new + text[b:] for new in ["0.5", "()"] + [text[p[0]:p[1]] for p in inside])
    for found in re.finditer(r"; [^;()]*", text):
        yield text[:found.start()] + text[found.end():]
    for found in re.finditer(r"let (?:mut )?\w+ = [^;()]*? in ", text):
        yield text[:found.start()] + text[found.end():]


# ---- Programs that exist -----------------------------------------------------------------------------
def compare_file(runner, path, level):
    """Number of modes in which the program prints something else than in the evaluator; `# args:` and `# run in:` as in run_programs.py."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    arguments = (re.search(r"^# args: (.*)", text, re.M) or [0, ""])[1].split()
    folder = os.path.join(os.path.dirname(os.path.abspath(path)), (re.search(r"# run in: (\S+)", text) or [0, "."])[1])
    bases, wrong = {}, 0
    for mode in runner.modes:
        key = (mode[1] == "v2", *mode[2])
        if key not in bases:
            bases[key] = runner.output(path, mode, "off", level, arguments, folder)
        got = runner.output(path, mode, "always", level, arguments, folder)
        if got != bases[key]:
            wrong += 1
            print(f"{path}, {mode[0]}: {first_difference(bases[key], got)}", flush=True)
    return wrong


def compare_files(options, runner):
    paths = [os.path.abspath(path) for path in options.files]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        wrong = sum(count > 0 for count in pool.map(lambda path: compare_file(runner, path, options.level or "1"), paths))
    print(f"{len(paths)} programs in {len(runner.modes)} modes: {wrong} print different digits")
    return wrong > 0


# ---- The driver --------------------------------------------------------------------------------------
class Campaign:
    """What all batches gave."""

    def __init__(self, options):
        self.options, self.start, self.told, self.done, self.failed = options, time.time(), time.time(), 0, set()
        self.counts = collections.Counter()

    def add(self, batch):
        self.done += len(batch.pieces)
        self.counts.update(batch.counts)
        for piece, mode, detail in batch.failures:
            number = piece.number if piece else f"file of {batch.pieces[0].number}"
            if number in self.failed:
                print(f"  function {number}: {mode[0]} too", flush=True)
                continue
            self.failed.add(number)
            print(f"function {number} ({piece.kind if piece else '-'}), {mode[0]}, level {batch.level}: {detail}", flush=True)
            pieces = batch.smaller(piece, mode) if piece and len(self.failed) <= 20 and self.options.effort else batch.pieces
            print(f"  {batch.save(pieces, mode, detail)}", flush=True)
        if time.time() > self.told + 60:
            self.progress()

    def progress(self):
        self.told = time.time()
        print(f"… {self.done} functions, {len(self.failed)} that differ, {self.counts['lanes']} loops with lanes, {self.counts['copies']} private copies, "
              f"{time.time() - self.start:.0f} s", flush=True)

    def summary(self):
        for why, count in self.counts.most_common():
            print(f"{count:8} {why}")
        print(f"{self.done} functions with gradients, seed {self.options.seed}, {time.time() - self.start:.0f} s: {len(self.failed)} differ")


def arguments():
    a = argparse.ArgumentParser(usage=__doc__)
    a.add_argument("atled")
    a.add_argument("functions", nargs="?", type=int, default=300)
    a.add_argument("--files", nargs="+")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--first", type=int, default=0)
    a.add_argument("--batch", type=int, default=40)
    a.add_argument("--jobs", type=int, default=2)
    a.add_argument("--kind", choices=[*lane_templates.KINDS])
    a.add_argument("--level", choices="0123")
    a.add_argument("--modes", default=",".join(m[0] for m in MODES))
    a.add_argument("--keep", default=tempfile.gettempdir())
    a.add_argument("--effort", type=int, default=60)
    a.add_argument("--expect-copies", action="store_true")
    return a.parse_args()


def main():
    options = arguments()
    campaign, runner = Campaign(options), Runner(options)
    if options.files:
        sys.exit(compare_files(options, runner))
    numbers = range(options.first, options.first + options.functions)
    batches = iter([*numbers[k:k + options.batch]] for k in range(0, len(numbers), options.batch))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        start = lambda some: pool.submit(Batch, runner, options, some, folder)
        waiting = {start(some) for _, some in zip(range(options.jobs), batches)}
        while waiting:
            ready, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for some in (next(batches, None) for _ in ready):
                if some:
                    waiting.add(start(some))
            for r in ready:
                campaign.add(r.result())
    campaign.summary()
    few = options.expect_copies and (campaign.counts["lanes"] < options.functions / 3 or not campaign.counts["copies"])
    sys.exit(1 if campaign.failed or few else 0)


if __name__ == "__main__":
    main()
