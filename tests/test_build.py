#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds libraries ahead of time, and uses them from C.

usage: test_build.py ATLED SOURCE_FOLDER LIBATLED.so"""
import os
import shutil
import subprocess
import sys
import tempfile

atled, source, library = map(os.path.abspath, sys.argv[1:4])
here = f"{source}/tests/build_ahead"
ALL = ("loss,grad:loss,double,scale,weigh,fib,positive,opposite,pick,norm,grad:norm,outer,vjp:outer,deep,grad:params_loss,scaled,same,"
       "refuse,nine,cube,clash,big,both")
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


def build(folder, *options, out="libmodel.so"):
    return run(atled, "build", f"{here}/model.atl", "-o", out, "--header", "model.h", *options, cwd=folder)


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


def test_static(folder):
    """Two static libraries in one program: neither sees the other's names, nor the program theirs."""
    r = build(folder, "--functions", ALL, "--static", out="libmodel.a")
    check(r.returncode == 0 and not r.stdout and not r.stderr, f"--static: {r.stdout}{r.stderr}")
    names = [line.split()[-1] for line in must("nm", "-g", "--defined-only", f"{folder}/libmodel.a").splitlines() if " " in line]
    check(names and all(name.startswith("model_") for name in names), f"shown: {names}")
    other = f"{folder}/other.atl"
    with open(other, "w", encoding="utf-8") as f:
        f.write("let add (x : float) (y : float) = x + y\n")
    must(atled, "build", other, "-o", f"{folder}/libother.a", "--static", "--cpu=v2")
    host(folder, f"{folder}/libmodel.a", f"{folder}/libother.a", "-Wl,--whole-archive", f"{folder}/libother.a", "-Wl,--no-whole-archive")
    check(sorted(os.listdir(folder)) == ["host", "libmodel.a", "libother.a", "model.h", "other.atl"], f"left: {os.listdir(folder)}")


REFUSED = """let f (x : float) = x
let prints (x : float) = print x; x
let reads (x : float) = x + float (length (read_lines "/etc/hostname"))
let matches (x : float) = if Regex.test "a" "b" then 1.0 else x
let texts (s : string) = 1.0
let apply (g : float -> float) x = g x
let list (xs : float list) = 1.0
let any x = x
let primed' (x : float) = x
let größe (x : float) = x
let pair (x : float) = (x, "a")
let bools (b : bool[]) = 1.0
let _hidden (x : float) = x
foreign "libm.so.6" cbrt : float -> float
let root (x : float) = cbrt x
let texty (x : float) = float (Str.length (show x))
let option (x : float) = if x > 0.0 then Some x else None
let g_grad (x : float) = x
let g (x : float) = x * x
let n = 3
"""
# For each list of functions a part of the message.
MESSAGES = {
    "prints": "bad.atl:2:26: a function of `prints`, which is built ahead of time, has an effect (`print`)",
    "vjp:prints": "bad.atl:2:26: a function of `vjp:prints`",
    "reads": "bad.atl:3:43: a function of `reads`, which is built ahead of time, has an effect (`read_lines`)",
    "matches": "bad.atl:4:30: a function of `matches`, which is built ahead of time, works on text (`regex_test`)",
    "root": "bad.atl:15:24: a function of `root`, which is built ahead of time, calls a C function (`cbrt`)",
    "texty": "a function of `texty`, which is built ahead of time, works on text",
    "texts": "`texts : string -> float`: `s` is a string, which isn't passed to C",
    "apply": "`g` is a function, which isn't passed to C",
    "list": "`xs` is a list, which isn't passed to C",
    "option": "`result` is a variant, which isn't passed to C",
    "pair": "`result.2` is a string, which isn't passed to C",
    "bools": "`b` is an array whose elements don't consist of floats or of ints alone, which isn't passed to C",
    "any": "`any` has the type `'a -> 'a`",
    "primed'": "`primed'` can't be called so in C, where names consist of a to z, digits and _",
    "größe": "`größe` can't be called so in C",
    "f,nothing": "nothing is named `nothing`",
    "g_grad,grad:g": "`grad:g`: there is another function `bad_g_grad` in the library",
    "f,f": "`f`: there is another function `bad_f` in the library",
    "grad:texts": "`grad:texts`: no parameter of `texts : string -> float` consists of floats",
    "grad:n": "`n` is no function",
    "": "a name is missing in the list of functions ``",
    "f,,g": "a name is missing in the list of functions `f,,g`",
    "grad:": "a name is missing",
    "jvp:f": "`jvp:f`: a function is named `f`, `grad:f` or `vjp:f`",
}


def refused(folder, part, *options, status=2, env=None, model="bad.atl"):
    before = {name: os.path.getmtime(f"{folder}/{name}") for name in os.listdir(folder)}
    r = run(atled, "build", model, *options, cwd=folder, env=env)
    check(r.returncode == status and part in r.stderr and not r.stdout, f"{options}: {r.returncode} {r.stdout}{r.stderr}")
    after = {name: os.path.getmtime(f"{folder}/{name}") for name in os.listdir(folder)}
    check(before == after, f"{options}: left behind {set(after) - set(before)}")


def test_refusals(folder):
    with open(f"{folder}/bad.atl", "w", encoding="utf-8") as f:
        f.write(REFUSED)
    for functions, part in MESSAGES.items():
        refused(folder, part, "-o", "libbad.so", "--header", "bad.h", "--functions", functions)


def test_all_functions(folder):
    """Without a list: what can't be built is left out, and the header says why."""
    with open(f"{folder}/bad.atl", "w", encoding="utf-8") as f:
        f.write(REFUSED)
    must(atled, "build", "bad.atl", "-o", "libbad.so", "--header", "bad.h", cwd=folder)
    shown = {line.split()[-1] for line in must("nm", "-D", "--defined-only", f"{folder}/libbad.so").splitlines()}
    check(shown == {"bad_f", "bad_g", "bad_g_grad", "bad_last_error"}, f"all functions: {shown}")
    header = open(f"{folder}/bad.h", encoding="utf-8").read()
    for name in ("prints", "reads", "texts", "any", "primed'", "größe"):
        check(f" *   {name}: " in header.partition("Not here:")[2], f"the header doesn't say why {name} is missing")
    check("_hidden" not in header and " n:" not in header, "the header has what is no public function")
    must("cc", "-std=c99", *WARNINGS, "-fsyntax-only", "-x", "c", f"{folder}/bad.h")
    with open(f"{folder}/none.atl", "w", encoding="utf-8") as f:
        f.write("let n = 3\nlet show_it (s : string) = s\n")
    refused(folder, "the program has no function that can be built; `show_it`", "-o", "libnone.so", model="none.atl")


def test_paths(folder):
    with open(f"{folder}/bad.atl", "w", encoding="utf-8") as f:
        f.write("let f (x : float) = x\nlet wrong = 1\n")
    os.mkdir(f"{folder}/folder.so")
    refused(folder, "atled: `build` needs the name of the library: `-o LIBRARY`\nusage: atled build")
    refused(folder, "`-o` lacks its value", "-o")
    refused(folder, "can't write `nowhere/libbad.so`: No such file", "-o", "nowhere/libbad.so")
    refused(folder, "can't write `nowhere/bad.h`: No such file", "-o", "libbad.so", "--header", "nowhere/bad.h")
    refused(folder, "can't write `folder.so`: Is a directory", "-o", "folder.so")
    refused(folder, "names in C begin with the library's, and `2nd` is none", "-o", "lib2nd.so")
    refused(folder, "`int` is none", "-o", "libint.so")
    refused(folder, "`--cpu` is one of native|v2|v3|v4, not `v5`", "-o", "libbad.so", "--cpu=v5")
    refused(folder, "can't read `none.atl`", "-o", "libbad.so", model="none.atl", status=66)
    if os.geteuid() != 0:
        os.chmod(folder, 0o555)
        refused(folder, "can't write `libbad.so`: Permission denied", "-o", "libbad.so")
        os.chmod(folder, 0o755)


def test_missing_tools(folder):
    """Without as, ld, the compiler's program or the archive: an error that names it, and nothing is left."""
    with open(f"{folder}/bad.atl", "w", encoding="utf-8") as f:
        f.write("let f (x : float) = x\n")
    os.mkdir(f"{folder}/bin")
    os.mkdir(f"{folder}/alone")
    refused(folder, "isn't on PATH", "-o", "libbad.so", status=70, env={"PATH": f"{folder}/bin"})
    for tool in ("as", "ld"):
        os.symlink(shutil.which(tool), f"{folder}/bin/{tool}")
    refused(folder, "the program `objcopy` isn't on PATH", "-o", "libbad.a", "--static", status=70, env={"PATH": f"{folder}/bin"})
    shutil.copy(f"{os.path.dirname(atled)}/../libexec/atled/atled-compiler", f"{folder}/alone/atled-compiler")
    refused(folder, "libatled_rt.a isn't found beside the program atled-compiler", "-o", "libbad.so", status=70,
            env={"ATLED_COMPILER": f"{folder}/alone/atled-compiler"})


def test_other_processors(folder):
    """Valgrind's processor has no AVX-512: what is built for x86-64-v4 is refused, and v2 runs."""
    for level, prints in (("v4", "5 this processor lacks instructions that the library was built with\n"), ("v2", "0 \n")):
        r = build(folder, "--functions", "loss", f"--cpu={level}")
        check(r.returncode == 0, f"--cpu={level}: {r.stdout}{r.stderr}")
        with open(f"{folder}/small.c", "w", encoding="utf-8") as f:
            f.write('#include "model.h"\n#include <stdio.h>\nint main(void) { double x[] = {1, 2}, y; int s = model_loss(x, 2, &y);\n'
                    '  printf("%d %s\\n", s, model_last_error()); return 0; }\n')
        must("cc", "-I", folder, f"{folder}/small.c", f"{folder}/libmodel.so", f"-Wl,-rpath,{folder}", "-o", f"{folder}/small")
        if shutil.which("valgrind"):
            r = run("valgrind", "-q", f"{folder}/small")
            check(r.stdout == prints and r.returncode == 0, f"--cpu={level} under valgrind: {r.stdout}{r.stderr}")


def test_unloading(folder):
    """Two libraries loaded by one program, used by threads that end and by one that doesn't, and unloaded: no leak."""
    for name in ("first", "second"):
        r = build(folder, "--functions", "weigh", "--cpu=v2", out=f"lib{name}.so")
        check(r.returncode == 0, f"{name}: {r.stdout}{r.stderr}")
    must("cc", "-Wall", "-O1", f"{here}/loader.c", "-o", f"{folder}/loader", "-ldl", "-pthread")
    loader = (f"{folder}/loader", f"{folder}/libfirst.so", f"{folder}/libsecond.so")
    check(must(*loader) == "passed\n", "loader")
    if shutil.which("valgrind"):
        r = run("valgrind", "-q", "--leak-check=full", "--error-exitcode=9", *loader)
        check(r.stdout == "passed\n" and r.returncode == 0, f"loader under valgrind: {r.returncode} {r.stdout}{r.stderr}")


def test_gmm(folder):
    """The gradient of a Gaussian mixture: the digits of the VM's machine code, less than 190 KB: its loop over points is there
    three times, one of them with private arrays; so is the one over components."""
    text = open(f"{source}/bench/gradients/gmm.atl", encoding="utf-8").read().partition("\nlet load")[0]
    with open(f"{folder}/gmm.atl", "w", encoding="utf-8") as f:
        f.write("\n".join(line for line in text.split("\n") if not line.startswith("import")))
    for level in ("native", "v2"):
        must(atled, "build", "gmm.atl", "-o", "libgmm.so", "--header", "gmm.h", "--functions=grad:objective", f"--cpu={level}", cwd=folder)
        must("strip", f"{folder}/libgmm.so")
        size = os.path.getsize(f"{folder}/libgmm.so")
        check(size < 190_000, f"libgmm.so takes {size} bytes")
        must("cc", *WARNINGS, "-I", folder, "-I", f"{source}/include", f"{here}/compare.c", "-o", f"{folder}/compare",
             f"{folder}/libgmm.so", library, "-lm", f"-Wl,-rpath,{folder}:{os.path.dirname(library)}")
        r = run(f"{folder}/compare", f"{folder}/gmm.atl", "0" if level == "native" else level[1])
        check(r.returncode == 0 and r.stdout.startswith("same "), f"GMM for {level}: {r.stdout}{r.stderr}")


def test_examples(folder):
    """Those of examples/ahead, in three languages, by the commands in their comments."""
    for name in os.listdir(f"{source}/examples/ahead"):
        shutil.copy(f"{source}/examples/ahead/{name}", folder)
    must(atled, "build", "decay.atl", "-o", "libdecay.so", "--header", "decay.h", "--functions", "decay,loss,grad:loss", cwd=folder)
    commands = [("cc", *WARNINGS, "fit.c", "libdecay.so", "-Wl,-rpath,.", "-lm", "-o", "c"), ("c++", *WARNINGS, "fit.cpp", "libdecay.so", "-Wl,-rpath,.", "-o", "cpp")]
    for command in commands:
        must(*command, cwd=folder)
    for command in (("./c",), ("./cpp",), (sys.executable, "fit.py")):
        out = must(*command, cwd=folder).split("\n")
        check(out[0].startswith("amplitude 2.000000, rate 0.500000, loss "), f"{command}: {out}")
        check(out[1].startswith("as expected: decay_loss") and ": decay.atl:11:" in out[1] and out[1].endswith("index 19 is out of bounds for an array of length 19"),
              f"{command}: {out}")


wanted = sys.argv[4:]
tests = [function for name, function in sorted(globals().items()) if name.startswith("test_") and (not wanted or name in wanted)]
for test in tests:
    with tempfile.TemporaryDirectory() as place:
        test(place)
if failures:
    sys.exit("\n".join(failures))
print(f"{len(tests)} tests passed")
