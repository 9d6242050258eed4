#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Feeds programs that are almost right (fuzz/mutate.py) to the whole pipeline: any text must end with an ordinary status, soon, and
leave the VM as good as it was.

usage: fuzz.py --build FOLDER [--seconds N | --sessions N] [--seed N] [--jit=MODE] [--keep FOLDER]

Most of it runs in FOLDER/bin/fuzz_session: several sources one after the other in one VM, each checked and evaluated. Running
code has a limit of time there, so a compiler that doesn't end is told from a program that doesn't. One session of each batch
goes through the command as well: `atled check`, and the prompt.
What fails is made smaller as long as it fails in the same way, and written to fuzz-SEED-NUMBER.atl: `fuzz_session FILE` shows it.
Exit status 1: something was found. Up to five different failures are looked for."""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuzz"))
import mutate  # noqa: E402

BATCH, MOST_FOUND = 25, 5
SHRINK_SECONDS = 60
NO_END = 3600  # seconds of waiting for a batch, on a machine as busy as may be; fuzz_session itself counts processor time
COMPILING = 60  # seconds of processor time for a source; sanitizers and the verifier take tenfold what a release does
ORDINARY = (0, 65, 66, 70)
ENV = dict(os.environ, ATLED_CACHE="", ATLED_HISTORY="/dev/null", UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
           ASAN_OPTIONS="allocator_may_return_null=1:detect_stack_use_after_return=0")


def execute(command, folder, stdin=""):
    """Exit status (None: no end), output, errors."""
    try:
        r = subprocess.run(command, cwd=folder, env=ENV, input=stdin, capture_output=True, text=True, errors="replace", timeout=NO_END)
    except subprocess.TimeoutExpired as e:
        return None, (e.stdout or b"").decode(errors="replace"), ""
    return r.returncode, r.stdout, r.stderr


def signature(status, errors):
    """What failures of one cause have in common: the kind of error, and where it arose."""
    if status is None:
        return "no end"
    frames = re.findall(r"(?m)^ +#\d+ 0x[0-9a-f]+ in (\w+) [^\n]*?/(?:src|repl)/", errors)[:3]
    kind = re.search(r"AddressSanitizer: [\w-]+|LeakSanitizer|\S+: runtime error: [^\n]*|defect: [^\n]*(?:\n[^\n]*error: [^\n]*)?", errors)
    text = re.sub(r"`[^`]*`|\b\d+\b|\S*/\S*", "#", kind[0]) if kind else f"status {status}"
    return " ".join([text, *frames])


class Failed(Exception):
    """A session that fails, and how."""

    def __init__(self, sources, how, errors):
        super().__init__(how)
        self.sources, self.how, self.errors = sources, how, errors


class Fuzz:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.session = [os.path.abspath(f"{options.build}/bin/fuzz_session"), "--seconds", str(COMPILING), options.jit]
        self.atled = os.path.abspath(f"{options.build}/bin/atled")

    def write(self, name, sources):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write("#---\n".join(sources))
        return path

    def run_session(self, sources):
        """None, or how it fails and what was said."""
        path = self.write("one.atl", sources)
        status, _, errors = execute([*self.session, path], self.folder)
        return None if status == 0 else (signature(status, errors), errors)

    def run_batch(self, sessions):
        """Raises Failed for the first session that fails."""
        paths = [self.write(f"batch{i}.atl", s) for i, s in enumerate(sessions)]
        status, output, errors = execute([*self.session, *paths], self.folder)
        if status == 0:
            return
        reached = re.findall(r"batch(\d+)\.atl", output)
        suspects = [int(reached[-1])] if reached and "LeakSanitizer" not in errors else []
        for i in suspects + list(range(len(sessions))):
            failure = self.run_session(sessions[i])
            if failure:
                raise Failed(sessions[i], *failure)
        raise Failed([s for session in sessions for s in session], "only together: " + signature(status, errors), errors)

    def run_command(self, sources):
        """The same through the command: checked from a file, and typed in at the prompt. Programs may be endless there."""
        path = self.write("command.atl", ["".join(sources)])
        for command, stdin in (([self.atled, "check", path], ""), ([self.atled, "repl", "--jit=off"], "\n".join(sources))):
            try:
                r = subprocess.run(command, cwd=self.folder, env=ENV, input=stdin, capture_output=True, text=True, errors="replace", timeout=20)
            except subprocess.TimeoutExpired:
                continue
            if r.returncode not in ORDINARY or "Sanitizer: " in r.stderr or "runtime error: " in r.stderr:
                raise Failed(sources, "at the command: " + signature(r.returncode, r.stderr), r.stderr)

    def shrink(self, failed):
        """Smaller sources that fail in the same way."""
        end = time.time() + SHRINK_SECONDS

        def fails(sources):
            failure = time.time() < end and self.run_session(sources)
            return failure and failure[0] == failed.how

        sources = failed.sources
        if not fails(sources):
            return sources
        sources = without(sources, fails)
        for cut in (mutate.items, lambda t: t.splitlines(True), mutate.TOKEN.findall):
            for i in range(len(sources)):
                parts = without(cut(sources[i]), lambda ps, k=i: fails(sources[:k] + ["".join(ps)] + sources[k + 1:]))
                sources = sources[:i] + ["".join(parts)] + sources[i + 1:]
        return sources


def without(parts, fails):
    """What is left of the parts when as many as possible go."""
    size = max(1, len(parts) // 2)
    while parts:
        i = 0
        while i < len(parts):
            rest = parts[:i] + parts[i + size:]
            if rest and fails(rest):
                parts = rest
            else:
                i += size
        if size == 1:
            break
        size //= 2
    return parts


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--seconds", type=float)
    p.add_argument("--sessions", type=int)
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--jit", default="off")
    p.add_argument("--keep", default=".")
    a = p.parse_args()
    a.jit = f"--jit={a.jit}"
    rng = random.Random(a.seed)
    mutator = mutate.Mutator(rng, mutate.corpus())
    end, runs, found = time.time() + (a.seconds or 1e9), 0, {}
    most = a.sessions or (10 ** 9 if a.seconds else BATCH)
    with tempfile.TemporaryDirectory() as folder:
        fuzz = Fuzz(a, folder)
        while time.time() < end and runs < most and len(found) < MOST_FOUND:
            sessions = [mutator.session() for _ in range(min(BATCH, most - runs))]
            runs += len(sessions)
            try:
                fuzz.run_batch(sessions)
                fuzz.run_command(sessions[0])
            except Failed as f:
                if f.how in found:
                    continue
                kept = os.path.abspath(f"{a.keep}/fuzz-{a.seed}-{runs}.atl")
                found[f.how] = kept
                with open(kept, "w", encoding="utf-8") as out:
                    out.write("#---\n".join(fuzz.shrink(f)))
                print(f"{f.how}: {kept}\n{f.errors[:3000]}", flush=True)
    print(f"{runs} sessions, seed {a.seed}: " + (f"{len(found)} failures" if found else "no failure"))
    sys.exit(1 if found else 0)


main()
