#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds libraries ahead of time, and uses them from C.

usage: test_build.py ATLED SOURCE_FOLDER"""
import os
import subprocess
import sys
import tempfile

atled, source = map(os.path.abspath, sys.argv[1:3])
here = f"{source}/tests/build_ahead"
ALL = ("loss,grad:loss,double,scale,weigh,fib,positive,opposite,pick,norm,grad:norm,outer,vjp:outer,deep,grad:params_loss,scaled,same,"
       "refuse,nine,cube,clash")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
failures = []


def run(*command, cwd=None, env=None):
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300, check=False,
                          env=None if env is None else {**os.environ, **env})


def check(condition, what):
    if not condition:
        failures.append(what)


def must(*command, **options):
    r = run(*command, **options)
    if r.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {r.returncode}\n{r.stdout}{r.stderr}")
    return r.stdout


def build(folder, *options, model=f"{here}/model.atl", library="libmodel.so"):
    return run(atled, "build", model, "-o", library, "--header", "model.h", *options, cwd=folder)


def host(folder, *link):
    """The host's output with the library in the folder."""
    must("cc", "-std=c99", *WARNINGS, "-O1", "-D_GNU_SOURCE", "-I", folder, f"{here}/host.c", "-o", f"{folder}/host", *link,
         "-lm", "-pthread", f"-Wl,-rpath,{folder}")
    r = run(f"{folder}/host")
    check(r.stdout == "passed\n" and r.returncode == 0, f"the host of {folder}: {r.stdout}{r.stderr} {r.returncode}")


def test_shared(folder):
    r = build(folder, "--functions", ALL)
    check(r.returncode == 0 and not r.stdout and not r.stderr, f"build: {r.stdout}{r.stderr}")
    host(folder, f"{folder}/libmodel.so")
    must("c++", *WARNINGS, "-fsyntax-only", "-x", "c++", f"{folder}/model.h")
    shown = {line.split()[-1] for line in must("nm", "-D", "--defined-only", f"{folder}/libmodel.so").splitlines()}
    check(shown and all(name.startswith("model_") for name in shown), f"shown: {shown}")
    needed = {line.split("[")[1][:-1] for line in must("readelf", "-d", f"{folder}/libmodel.so").splitlines() if "(NEEDED)" in line}
    check(needed <= {"libc.so.6", "libm.so.6"}, f"needed: {needed}")
    check(sorted(os.listdir(folder)) == ["host", "libmodel.so", "model.h"], f"left behind: {os.listdir(folder)}")


tests = [function for name, function in sorted(globals().items()) if name.startswith("test_")]
for test in tests:
    with tempfile.TemporaryDirectory() as place:
        test(place)
if failures:
    sys.exit("\n".join(failures))
print(f"{len(tests)} tests passed")
