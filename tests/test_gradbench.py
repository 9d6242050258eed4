#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tool for GradBench, bench/gradbench/tool.atl: replays the recorded sessions of gradbench/, message by message, and compares
what it answers, as GradBench does: floats to 1e-4 of max(1, |a| + |b|), integers and structure exactly.

usage: test_gradbench.py ATLED TOOL"""
import glob, gzip, json, math, os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))


def is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def alike(want, got):
    if isinstance(want, dict):
        return isinstance(got, dict) and want.keys() == got.keys() and all(alike(want[k], got[k]) for k in want)
    if isinstance(want, list):
        return isinstance(got, list) and len(want) == len(got) and all(map(alike, want, got))
    if not is_number(want): return type(want) is type(got) and want == got
    if not is_number(got) or not math.isfinite(got): return False
    if isinstance(want, int) and isinstance(got, int): return want == got
    return abs(want - got) <= 1e-4 * max(1.0, abs(want) + abs(got))


def enough_runs(asked, answer):
    times = [t["nanoseconds"] for t in answer.get("timings", []) if t["name"] == "evaluate"]
    return all(type(t) is int and t >= 0 for t in times) and len(times) >= asked.get("min_runs", 0) \
        and sum(times) >= 1e9 * asked.get("min_seconds", 0)


def is_right(message, want, got):
    if got.get("id") != want["id"] or got.get("success") != want.get("success"): return False
    if want.get("success") is False: return isinstance(got.get("error"), str) and "output" not in got
    if "output" not in want: return True
    asked = message["input"] if isinstance(message["input"], dict) else {}
    return alike(want["output"], got.get("output")) and enough_runs(asked, got)


def session(command, path):
    with gzip.open(path, "rt", encoding="utf8") as f: lines = f.read().splitlines()
    tool = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf8")
    wrong = 0
    for a, b in zip(lines[::2], lines[1::2]):
        message, want = json.loads(a)["message"], json.loads(b)["response"]
        tool.stdin.write(json.dumps(message) + "\n")
        tool.stdin.flush()
        line = tool.stdout.readline()
        if not line or not is_right(message, want, json.loads(line)):
            wrong += 1
            print(f"{os.path.basename(path)}, message {message['id']}: {line[:300]!r}")
        if not line: break
    rest, _ = tool.communicate(timeout=60)
    if rest or tool.returncode != 0:
        wrong += 1
        print(f"{os.path.basename(path)}: status {tool.returncode}, then {rest[:300]!r}")
    return wrong


paths = sorted(glob.glob(os.path.join(HERE, "gradbench", "*.jsonl.gz")))
failed = sum(session(sys.argv[1:3], path) for path in paths)
print(f"{len(paths)} sessions, {failed} wrong answers")
sys.exit(failed > 0 or not paths)
