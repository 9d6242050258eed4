#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The formatter: `atled fmt` of every program here, of programs in disorder, of tests/format, and of files that are no programs.

usage: test_formatter.py EXE ROOT [--programs N] [--seed N] [--ir STAGE [--share N]]

Of each text: what is formatted has the same tokens and comments in the same order (by the lexer of fuzz/disorder.py), the same
syntax tree, and is its own result. --ir: so is the program after that stage of the compiler, but for places in the source, and
the programs here are formatted, too; --share N: one in N of them. --programs N: so many programs in disorder. What fails is
kept in a folder."""
import argparse
import itertools
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuzz"))
import disorder  # noqa: E402
import generate  # noqa: E402

WIDE = 100
SKIPPED = {"build", "build-package"}
problems = []


def say(text):
    problems.append(text)
    print(text)


def run(*command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, check=False, timeout=300, **more)


def stage(exe, path, name):
    """The program after the stage, without places in the source."""
    r = run(exe, "ir", f"--stage={name}", path, cwd=path.parent)
    return r.returncode, re.sub(rb"\d+:\d+-\d+", b"", r.stdout)


def same(exe, before, after, names):
    old, new = before.read_text(encoding="utf-8"), after.read_text(encoding="utf-8")
    if disorder.content(old) != disorder.content(new):
        say(f"{after}: other tokens or comments than {before}")
    for name in names:
        if stage(exe, before, name) != stage(exe, after, name):
            say(f"{after}: another program than {before} ({name})")


def check_folder(exe, before, after, names):
    """Formats the folder `after`, a copy of `before`, and compares them."""
    r = run(exe, "fmt", after)
    if r.returncode:
        say(f"fmt of {after}: status {r.returncode}: {r.stderr.decode()[:2000]}")
    again = run(exe, "fmt", "--check", after)
    if again.returncode:
        say(f"not their own results: {again.stdout.decode()[:2000]}{again.stderr.decode()[:2000]}")
    for path in sorted(after.rglob("*.atl")):
        same(exe, before / path.relative_to(after), path, names)


# ---- The programs here ----------------------------------------------------------------------------------
def programs_here(root):
    for path in sorted(root.rglob("*.atl")):
        if not SKIPPED & {p for p in path.relative_to(root).parts}:
            yield path


def copy_programs(exe, root, folder, share):
    """One in `share` of those without errors of their syntax, at their places below folder/before and folder/after."""
    for path in programs_here(root):
        if zlib.crc32(str(path.relative_to(root)).encode()) % share or run(exe, "ir", "--stage=parsed", path).returncode:
            continue
        for side in ("before", "after"):
            to = folder / side / path.relative_to(root)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)


def check_programs(exe, root, folder, names, share):
    copy_programs(exe, root, folder, share)
    check_folder(exe, folder / "before", folder / "after", names)


# ---- Programs in disorder --------------------------------------------------------------------------------
def sources(root, rng, seed):
    """Texts without end: beginnings of programs here, and random programs."""
    texts = [p.read_text(encoding="utf-8") for p in programs_here(root) if not {"diagnostics", "language", "data", "stdlib"} & set(p.parts)]
    texts = [t for t in texts if "\nimport " not in "\n" + t]
    for number in itertools.count():
        if number % 4 == 0:
            yield generate.PREAMBLE + "\n" + generate.program(number, seed, 12).text()
            continue
        items = re.split(r"\n(?=let |test |type |rule |print )", rng.choice(texts))
        yield "\n".join(items[:rng.randrange(1, 16)]) + "\n"


def check_disorder(exe, root, folder, programs, seed, names):
    rng = random.Random(seed)
    for side in ("before", "after"):
        (folder / side).mkdir(parents=True)
    made, texts = 0, sources(root, rng, seed)
    while made < programs:
        text = next(texts)
        if len(text) > 20000:
            continue
        new = disorder.disordered(text, rng, rng.choice([0.02, 0.1, 0.1, 0.3, 0.6]))
        for side in ("before", "after"):
            (folder / side / f"{made}.atl").write_text(new, encoding="utf-8", newline="")
        made += 1
    refused = [p for p in (folder / "before").iterdir() if run(exe, "ir", "--stage=parsed", p).returncode]
    for path in refused:  # an item that was cut at a wrong place
        path.unlink()
        (folder / "after" / path.name).unlink()
    if len(refused) > programs // 10:
        say(f"{len(refused)} of {programs} programs aren't programs")
    check_folder(exe, folder / "before", folder / "after", names)


# ---- Layout ------------------------------------------------------------------------------------------------
def check_layouts(exe, root):
    for path in sorted((root / "tests" / "format").glob("*.in")):
        wanted = path.with_suffix(".out").read_bytes()
        r = run(exe, "fmt", "-", input=path.read_bytes())
        if r.returncode or r.stdout != wanted:
            say(f"{path}: status {r.returncode}\n{r.stderr.decode()}{r.stdout.decode()}")
        if run(exe, "fmt", "-", input=wanted).stdout != wanted:
            say(f"{path.with_suffix('.out')} isn't its own result")
        for number, line in enumerate(wanted.decode().split("\n"), 1):
            if len(line) > WIDE and '"' not in line and "#" not in line and "(*" not in line:
                say(f"{path}: line {number} is {len(line)} columns wide")


# ---- The command -------------------------------------------------------------------------------------------
def expect(what, got, wanted):
    if got != wanted:
        say(f"{what}: {got!r}, not {wanted!r}")


def check_files(exe, folder):
    """In place, as a whole, with the same rights; through links; in folders."""
    path, link, inner = folder / "a.atl", folder / "link.atl", folder / "inner"
    (inner / ".hidden").mkdir(parents=True)
    path.write_text("let  x=1\n")
    path.chmod(0o640)
    link.symlink_to("a.atl")
    for name in ("b.atl", "c.txt", ".hidden/d.atl"):
        (inner / name).write_text("let  y=1")
    expect("--check", run(exe, "fmt", "--check", folder, cwd=folder).stdout.decode().split(), [str(path), str(inner / "b.atl")])
    expect("status of --check", run(exe, "fmt", "--check", path).returncode, 1)
    expect("text after --check", path.read_text(), "let  x=1\n")
    expect("fmt", run(exe, "fmt", link, inner).returncode, 0)
    expect("text", path.read_text(), "let x = 1\n")
    expect("rights", path.stat().st_mode & 0o777, 0o640)
    expect("link", link.is_symlink(), True)
    check_owner(exe, path)
    expect("texts in the folder", [(inner / n).read_text() for n in ("b.atl", "c.txt", ".hidden/d.atl")], ["let y = 1\n"] + 2 * ["let  y=1"])
    expect("names", sorted(p.name for p in folder.iterdir()), ["a.atl", "inner", "link.atl"])
    before = path.stat()
    expect("fmt again", run(exe, "fmt", path).returncode, 0)
    expect("a file that doesn't change", path.stat().st_mtime_ns, before.st_mtime_ns)
    expect("--check of it", run(exe, "fmt", "--check", path).returncode, 0)


def check_owner(exe, path):
    """Nobody but the superuser can give a file away, or write one without the right."""
    path.write_text("let  x=1\n")
    if os.getuid() == 0:
        os.chown(path, 1, 1)
        expect("fmt of another's file", run(exe, "fmt", path).returncode, 0)
        expect("owner", (path.stat().st_uid, path.stat().st_gid), (1, 1))
        return
    path.chmod(0o440)
    r = run(exe, "fmt", path)
    expect("fmt without the right", (r.returncode, b"can't write" in r.stderr, path.read_text()), (74, True, "let  x=1\n"))
    path.chmod(0o640)
    run(exe, "fmt", path)


def check_streams(exe, folder):
    r = run(exe, "fmt", "-", input=b"let  x=1")
    expect("-", (r.returncode, r.stdout), (0, b"let x = 1\n"))
    expect("nothing", run(exe, "fmt", "-", input=b"").stdout, b"")
    expect("blanks", run(exe, "fmt", "-", input=b" \n\n\t").stdout, b"")
    expect("a comment", run(exe, "fmt", "-", input=b"\n\n# words  ").stdout, b"# words\n")
    r = run(exe, "fmt", "--check", "-", input=b"let  x=1")
    expect("--check -", (r.returncode, r.stdout), (1, b"<stdin>\n"))
    expect("no file", run(exe, "fmt").returncode, 2)
    r = run(exe, "fmt", folder / "none.atl")
    expect("a file that isn't there", (r.returncode, b"can't read" in r.stderr), (66, True))
    with open("/dev/full", "wb") as full:
        r = subprocess.run([exe, "fmt", "-"], input=b"let x = 1", stdout=full, stderr=subprocess.PIPE, check=False)
    expect("a full stream", (r.returncode, bool(r.stderr)), (74, True))


def check_stays(exe, folder):
    """A file that can't be formatted or written stays as it is, and nothing is left beside it."""
    path = folder / "a.atl"
    texts = {"error": (b"let x = \nlet  y=1", b"1:8"), "byte": (b"let x = \"\xff\"\nlet  y=1", b"UTF-8"),
             "zero": (b"let  x = \x001", b"NUL"), "open": (b"let  x = 1 (* ", b"never closed"),
             "deep": (b"let  x = " + b"(" * 100000 + b"1" + b")" * 100000, b"nested too deeply"),
             "many": (b"\n".join(b"let  x%d = )" % k for k in range(300)), b"expected")}
    for name, (text, message) in texts.items():
        path.write_bytes(text)
        r = run(exe, "fmt", path)
        expect(f"{name}: status, message", (r.returncode, message in r.stderr), (65, True))
        expect(f"{name}: text", path.read_bytes(), text)
    text = b"let  x = 1\n" * 4000
    path.write_bytes(text)
    bound = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))  # noqa: E731
    r = run(exe, "fmt", path, preexec_fn=bound)
    expect("full disk", (r.returncode, b"can't write" in r.stderr, path.read_bytes() == text), (74, True, True))
    expect("names", [p.name for p in folder.iterdir()], ["a.atl"])
    (folder / "b.atl").write_text("let  z=1")
    path.write_text("let x =")
    expect("the others", (run(exe, "fmt", folder).returncode, (folder / "b.atl").read_text()), (65, "let z = 1\n"))


def check_large(exe, folder):
    """Long lines, long chains and deep nesting take their share of time and memory, and are their own results."""
    texts = {"line": "let x = [" + ", ".join(str(k) for k in range(200000)) + "]", "string": 'let x = "' + "a" * 3000000 + '"',
             "chain": "let x = " + " + ".join(["1"] * 100000), "lets": "let f x = " + "let x = x + 1 in " * 20000 + "x",
             "ifs": "let f x = " + "if x = 1 then 2 else " * 20000 + "3", "cons": "let x = " + "1 :: " * 50000 + "Nil",
             "nested": "let x = " + "(f 1 " * 700 + "2" + ")" * 700, "lists": "let x = " + "[" * 700 + "1" + "]" * 700,
             "comment": "let x = 1 (* " + "a\n" * 300000 + "*)", "comments": "let x = (" + "(* c *)" * 100000 + "1)",
             "minus": "let x = " + "- " * 100000 + "1", "fun": "let f = " + "fun x -> " * 20000 + "1",
             "blank": "\n" * 1000000 + "let x = 1", "match": "let f x = match x with " + " | ".join(f"{k} -> {k}" for k in range(20000))}
    for name, text in texts.items():
        path = folder / f"{name}.atl"
        path.write_text(text)
        r = run(exe, "fmt", path)
        expect(f"{name}: status", (r.returncode, r.stderr[:300]), (0, b""))
        expect(f"{name} again", run(exe, "fmt", "--check", path).returncode, 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("exe")
    parser.add_argument("root")
    parser.add_argument("--programs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ir")
    parser.add_argument("--share", type=int, default=1)
    o = parser.parse_args()
    exe, root = os.path.abspath(o.exe), pathlib.Path(o.root).resolve()
    names = ["parsed", o.ir] if o.ir else ["parsed"]
    top = pathlib.Path(tempfile.mkdtemp(prefix="formatter-"))
    for part in ("here", "disorder", "files", "streams", "stays", "large"):
        (top / part).mkdir()
    check_layouts(exe, root)
    check_files(exe, top / "files")
    check_streams(exe, top / "streams")
    check_stays(exe, top / "stays")
    check_large(exe, top / "large")
    if o.ir:
        check_programs(exe, root, top / "here", names, o.share)
    if o.programs:
        check_disorder(exe, root, top / "disorder", o.programs, o.seed, names)
    if problems:
        sys.exit(f"{len(problems)} problems; the files are in {top}")
    shutil.rmtree(top)


if __name__ == "__main__":
    main()
