#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `:why` finds: tests/traps/cuts.atl says for each question on which line a value is cut off from derivatives, and by
what. Anything else that is found is wrong, too.

usage: test_why.py ATLED FILE"""
import os
import re
import subprocess
import sys

NOTE = re.compile(r"^(?P<file>\S+):(?P<line>\d+):\d+: note: `(?P<what>[^`]+)`", re.M)


def main():
    atled, path = sys.argv[1:]
    text = open(path, encoding="utf-8").read()
    questions = re.findall(r"^# why (\d+): (.*)$", text, re.M)
    wanted = {}
    for line, source in enumerate(text.splitlines(), 1):
        for number, what in re.findall(r"# cut (\d+): (\S+)", source):
            wanted.setdefault(number, []).append((line, what))
    typed = f":load {path}\n" + "".join(f'print "why {n}"\n:why {q}\n' for n, q in questions) + 'print "why end"\n'
    env = dict(os.environ, ATLED_HISTORY="", ATLED_INIT="", NO_COLOR="1", TERM="dumb")
    r = subprocess.run([atled, "repl", "--jit=off"], input=typed, capture_output=True, text=True, timeout=120, env=env, check=False)
    parts = re.split(r"why (\d+|end)\n", r.stdout)
    wrong = [] if not r.stderr else [r.stderr]
    for number, said in zip(parts[1::2], parts[2::2]):
        paths = said.partition("at this point:\n")[0]  # the rest is test_why_point.py's
        found = [(int(m["line"]), m["what"]) for m in NOTE.finditer(paths)]
        if found != wanted.get(number, []):
            wrong.append(f"why {number}: wanted {wanted.get(number, [])}, found {found}\n{said}")
        if number not in wanted and number != "end" and "derivative" not in said:
            wrong.append(f"why {number}: nothing is said of the derivative\n{said}")
    if len(parts) // 2 != len(questions) + 1:
        wrong.append(f"{len(questions)} questions, {len(parts) // 2 - 1} answers")
    print("\n".join(wrong) or f"{len(questions)} questions answered")
    sys.exit(bool(wrong))


main()
