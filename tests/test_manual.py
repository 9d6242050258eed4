#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is made of the tables of options and commands: the page of the documentation, the manual page, completions.

usage: test_manual.py EXE docs/command-line.md [--update]

The part of the page behind the line `<!-- made by … -->` is what the program prints; --update writes it."""
import os
import re
import shutil
import subprocess
import sys

MARK = "<!-- Made by `tests/test_manual.py`: what follows is written nowhere else than in repl/options.def and repl/commands.def. -->\n"


def run(*command, **kw):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **kw)


def check_page(exe, path, update):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    before, mark, after = text.partition(MARK)
    made = run(exe, "--generate=markdown").stdout
    if update:
        with open(path, "w", encoding="utf-8") as f:
            f.write(before + MARK + made)
    elif not mark or after != made:
        yield f"{path} isn't what `atled --generate=markdown` prints: run this test with --update"


def rows(root, table, kind):
    with open(os.path.join(root, "repl", table), encoding="utf-8") as f:
        return [re.findall(r'"((?:[^"\\]|\\.)*)"', line) for line in f if line.startswith(kind + "(")]


def bash_completes(script, *words):
    """What bash offers for the last word."""
    quoted = " ".join(f"'{w}'" for w in words)
    r = run("bash", "-c", f'{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _atled; printf "%s\\n" "${{COMPREPLY[@]}}"')
    return r.stdout.split(), r.stderr


def check_completions(exe, root):
    options = [r[0] for r in rows(root, "options.def", "OPTION")]
    verbs = [r[0] for r in rows(root, "options.def", "VERB") if r[0]]
    bash = run(exe, "--generate=bash").stdout
    for words, expected in ((["atled", "-"], options), (["atled", "--jit", "=", "a"], ["auto", "always"]), (["atled", "--jit", "="],
                            ["auto", "off", "always"]), (["atled", "cache", ""], ["clear"])):
        found, err = bash_completes(bash, *words)
        if sorted(found) != sorted(expected) or err:
            yield f"bash completes {words} to {found}, not {expected} {err}"
    found, _ = bash_completes(bash, "atled", "")
    if not set(verbs) <= set(found):
        yield f"bash doesn't offer the verbs {set(verbs) - set(found)}"
    for shell in ("zsh", "fish"):
        script = run(exe, f"--generate={shell}").stdout
        for name in options + verbs:
            word = name.lstrip("-") if shell == "fish" else name
            if not re.search(r"(?<![\w-])" + re.escape(word) + r"(?![\w-])", script):
                yield f"{shell}'s completions lack {name}"
        if shutil.which(shell) and run(shell, "-n", "/dev/stdin", input=script).returncode != 0:
            yield f"{shell} can't read its completions"


def check_man(exe, root):
    page = run(exe, "--generate=man").stdout
    if not page.isascii():
        yield "the manual page isn't ASCII"
    if shutil.which("groff"):
        warnings = run("groff", "-man", "-Tascii", "-ww", "-rLL=100n", input=page).stderr
        if warnings:
            yield f"groff says of the manual page: {warnings}"
    plain = page.replace("\\-", "-")
    for table, kind in (("options.def", "OPTION"), ("options.def", "VARIABLE"), ("commands.def", "COMMAND"), ("commands.def", "SETTING")):
        for row in rows(root, table, kind):
            if f"\\fB{row[0]}\\fR" not in plain and f":{row[0]}\\fR" not in plain and f":set {row[0]}\\fR" not in plain:
                yield f"the manual page lacks {row[0]}"


def check_help(exe, root):
    text = run(exe, "--help").stdout
    if text != run(exe, "-h").stdout or text != run(exe, "test", "--help").stdout:
        yield "`-h` and `test --help` aren't `--help`"
    for row in rows(root, "options.def", "OPTION") + rows(root, "options.def", "VERB"):
        if row[0] not in text:
            yield f"--help lacks {row[0]}"
    session = run(exe, "repl", input=":help\n", env=dict(os.environ, ATLED_INIT="")).stdout
    for row in rows(root, "commands.def", "COMMAND"):
        if f"  :{row[0]} " not in session:
            yield f":help lacks {row[0]}"


def main():
    args = [a for a in sys.argv[1:] if a != "--update"]
    if len(args) != 2:
        sys.exit(__doc__)
    exe, page = os.path.abspath(args[0]), args[1]
    root = os.path.dirname(os.path.dirname(os.path.abspath(page)))
    found = [*check_page(exe, page, "--update" in sys.argv), *check_completions(exe, root), *check_man(exe, root), *check_help(exe, root)]
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
