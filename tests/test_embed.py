#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs the library into a folder, builds the examples of embedding against that copy through pkg-config alone,
in C (static and shared) and the header in C++, and runs them.

usage: test_embed.py SOURCE_FOLDER BUILD_FOLDER"""
import glob
import os
import subprocess
import sys
import tempfile

source, build = map(os.path.abspath, sys.argv[1:3])


def run(*command, env=None):
    r = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    if r.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {r.returncode}\n{r.stdout}{r.stderr}")
    return r.stdout


with tempfile.TemporaryDirectory() as prefix:
    run("cmake", "--install", build, "--prefix", prefix)
    pc = glob.glob(f"{prefix}/**/atled.pc", recursive=True)[0]
    libdir = os.path.dirname(os.path.dirname(pc))
    text = open(pc, encoding="utf-8").read().splitlines()
    text[0] = f"prefix={prefix}"
    open(pc, "w", encoding="utf-8").write("\n".join(text) + "\n")
    env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc), LD_LIBRARY_PATH=libdir, XDG_CACHE_HOME=prefix,
               ATLED_CACHE=prefix)
    shared = run("pkg-config", "--cflags", "--libs", "atled", env=env).split()
    static = [f"{libdir}/libatled.a", *run("pkg-config", "--cflags", "--libs-only-other", "atled", env=env).split(),
              "-lpcre2-8", "-lffi", "-ldl", "-lm", "-lpthread"]
    sanitize = ["-fsanitize=address,undefined"] if "asan" in os.path.basename(build) else []
    for name, expected in (("gradient", "slope"), ("two_threads", "thread 1")):
        for kind, flags in (("shared", shared), ("static", static)):
            exe = f"{prefix}/{name}_{kind}"
            run("gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", f"{source}/examples/embed/{name}.c", "-o", exe,
                *flags, "-lpthread", *sanitize)
            out = run(exe, env=env)
            if expected not in out:
                sys.exit(f"{name} ({kind}) printed {out!r}")
    header = f"{prefix}/header.cpp"
    open(header, "w", encoding="utf-8").write("#include <atled.h>\nint main() { return atled_version() == nullptr; }\n")
    run("g++", "-Wall", "-Wextra", "-Werror", header, "-o", f"{prefix}/header", *shared, env=env)
    symbols = run("nm", "-D", "--defined-only", f"{libdir}/libatled.so").splitlines()
    foreign = [s for s in symbols if not s.split()[-1].startswith(("atled_", "__asan", "__odr"))]
    if foreign and not sanitize:
        sys.exit(f"the shared library exports more than atled_*: {foreign[:5]}")
