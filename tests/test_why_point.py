#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `:why f x` says of the point x: tests/traps/points.atl says for each question which notes stand at which lines. Anything
else that is said is wrong, too.

usage: test_why_point.py ATLED FILE"""
import os
import re
import subprocess
import sys

NOTE = re.compile(r"^\S+?:(?P<line>\d+):\d+: note: (?P<text>.*)$", re.M)
FAILED = [  # what is said, and what is asked
    ("(it has an effect, so it isn't run: what happens at this point isn't known)", "(fun x -> (print x; x * x)) 1.0"),
    ("(at this point there is no derivative: index 3 is out of bounds for an array of length 1)",
     "(fun x -> [x][3]) 1.0"),
    ("(the derivative is NaN at this point: `--trap-nan`, at the prompt `:trap nan`, stops where it begins)",
     "(fun (x, l) -> match l with Some ys -> sqrt (sum [ y * y | y in ys ]) * x | None -> x) (1.0, Some [0.0, 0.0])"),
]


def answers(atled, path, questions):
    typed = f":load {path}\n" + "".join(f'print "why {k}"\n:why {q}\n' for k, q in questions) + 'print "why end"\n'
    env = dict(os.environ, ATLED_HISTORY="", ATLED_INIT="", NO_COLOR="1", TERM="dumb")
    r = subprocess.run([atled, "repl"], input=typed, capture_output=True, text=True, timeout=120, env=env, check=False)
    parts = re.split(r"why (\w+)\n", r.stdout)
    return r.stderr, dict(zip(parts[1::2], parts[2::2]))


def main():
    atled, path = sys.argv[1:]
    text = open(path, encoding="utf-8").read()
    questions = re.findall(r"^# why (\d+): (.*)$", text, re.M)
    wanted = {}
    for line, source in enumerate(text.splitlines(), 1):
        for number, notes in re.findall(r"# seen (\d+): (.*)", source):
            parts = re.split(r"; (?=`)", notes)
            wanted.setdefault(number, []).extend((line, part) for part in parts)
    errors, said = answers(atled, path, questions + [(f"f{k}", asked) for k, (_, asked) in enumerate(FAILED)])
    wrong = [errors] if errors else []
    for number, _ in questions:
        answer = said.get(number, "")
        _, begins, point = answer.partition("at this point:\n")
        found = [(int(m["line"]), m["text"]) for m in NOTE.finditer(point)]
        if found != wanted.get(number, []) or bool(begins) != bool(found) or "derivative" not in answer or "\n(" in answer:
            wrong.append(f"why {number}: wanted {wanted.get(number, [])}, found {found}\n{answer}")
    for k, (says, asked) in enumerate(FAILED):
        if says not in said.get(f"f{k}", ""):
            wrong.append(f"{asked}: {said.get(f'f{k}')}")
    print("\n".join(wrong) or f"{len(questions)} questions answered")
    sys.exit(bool(wrong))


main()
