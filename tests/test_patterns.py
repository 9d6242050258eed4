#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Constant patterns against equal ones that are known only when the program runs, in the evaluator and in machine code.

usage: test_patterns.py ATLED [--patterns N] [--seed S]

A program with N random patterns tests, finds, splits and replaces in random texts: of letters, characters outside
ASCII, NUL bytes and final newlines, and in one long text. It prints what differs; and one digest, which is the same in
all modes."""
import argparse
import os
import random
import subprocess
import sys
import tempfile

LETTERS = ["a", "b", "a", "b", "c", "k", "S", "_", " ", "1", r"\n", "é", "ſ", "ab", "ba"]
CLASSES = [".", "[ab]", "[^a]", "[a-c_]", r"\d", r"\w", r"\s", r"\W", "[^b]", "[[:alpha:]]", r"\."]
ASSERTIONS = ["^", "$", r"\b", r"\B", r"\A", r"\z"]
REPEATS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}"]
IRREGULAR = [r"(a)\1", "(?=a)b*", "a++", r"\p{L}"]


def atom(r, depth):
    which = r.randrange(40)
    if which < 18 or depth == 0:
        return r.choice(LETTERS)
    if which < 28:
        return r.choice(CLASSES)
    if which < 31:
        return r.choice(ASSERTIONS)
    if which == 39:
        return r.choice(IRREGULAR)
    return r.choice(["(", "(?:", "(?i:", "(?s:"]) + pattern(r, depth - 1) + ")"


def pattern(r, depth):
    parts = []
    for _ in range(r.randrange(1, 5)):
        a = atom(r, depth)
        parts.append(a + r.choice(REPEATS) if a not in ASSERTIONS and len(a) < 3 and r.random() < 0.35 else a)
        if r.random() < 0.15:
            parts.append("|")
    return "".join(parts)


def text(r):
    pieces = [r.choice(LETTERS) if r.random() < 0.95 else r"\x00" for _ in range(r.randrange(4) and r.randrange(8) or r.randrange(40))]
    if r.random() < 0.5:
        pieces = ["b" if p in "éſ" else p for p in pieces]
    return "".join(pieces) + (r"\n" if r.random() < 0.25 else "")


def program(r, n):
    patterns = [pattern(r, 3) for _ in range(n)]
    texts = ",\n  ".join(f'"{text(r)}"' for _ in range(60))
    literals = ",\n   ".join(f'all_of r"{p}" t' for p in patterns)
    names = ",\n   ".join(f'r"{p}"' for p in patterns)
    return f"""let texts = [ {texts} ]
let texts = texts ++ [ Str.repeat 2000 "ab c " ++ "k\\n", Str.repeat 1365 "abc", Str.repeat 1024 "abé" ]
let found re t = match Regex.find re t with Some m -> (true, m.text, m.start) | None -> (false, "", 0)
let spans re t = [ (m.text, m.start) | m in Regex.find_all re t ]
let all_of re t = (Regex.test re t, found re t, spans re t, Regex.split re t, Regex.replace re "-" t)
let constant t =
  [{literals}]
let patterns =
  [{names}]
let some = time () > 0.0
let computed t = [ (let re = if some then p else "" in all_of re t) | p in patterns ]
let digest = (
  let mut sum = 0 in
  for t in texts do
    let a = constant t in
    let b = computed t in
    for k = 0 to length patterns - 1 do
      if a[k] <> b[k] then print $"differ: pattern {{k}} {{patterns[k]}} in {{t}}: {{a[k]}}, {{b[k]}}";
      let (tested, (is, part, start), spans, pieces, replaced) = a[k] in
      if tested then sum <- sum * 31 % 1000003 + 7 * Str.length part + start + k;
      for (part, start) in spans do sum <- sum * 31 % 1000003 + 7 * Str.length part + start done;
      for piece in pieces do sum <- sum * 31 % 1000003 + Str.length piece done;
      sum <- sum * 31 % 1000003 + Str.length replaced
    done
  done;
  sum)
print $"digest {{digest}}"
"""


def run(exe, path, mode, folder):
    env = dict(os.environ, ATLED_JIT=mode, XDG_CACHE_HOME=folder)
    r = subprocess.run([exe, path], capture_output=True, text=True, timeout=600, env=env)
    return r.stdout + r.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("atled")
    parser.add_argument("--patterns", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "patterns.atl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(program(random.Random(args.seed), args.patterns))
        out = {mode: run(args.atled, path, mode, folder) for mode in ("off", "always")}
    alike = len(set(out.values())) == 1 and all(o.startswith("digest ") for o in out.values())
    if not alike:
        for mode, o in out.items():
            print(f"--- ATLED_JIT={mode}\n{o}")
    print(f"{args.patterns} patterns: {'alike' if alike else 'they differ'}")
    return not alike


if __name__ == "__main__":
    sys.exit(main())
