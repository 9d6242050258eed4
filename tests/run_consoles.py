#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the examples of pages that show the command line and the prompt.

usage: run_consoles.py EXE [--update] PAGE.md...

The blocks of a page, in their order and in one folder:

    ```atled file NAME     is written to that file
    ```console             what stands behind `$ ` is given to a shell, what it prints, errors too, are the other lines
    ```session             what stands behind `∇ ` is given to `atled repl`, likewise

--update writes what was printed; read it before you commit it."""
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(atled file (\S+)|console|session)\n(.*?)^```", re.S | re.M)


def run(command, folder, exe, text=None):
    env = dict(os.environ, PATH=os.path.dirname(exe) + ":" + os.environ["PATH"], COLUMNS="80", NO_COLOR="1", ATLED_CACHE="",
               ATLED_HISTORY="", ATLED_INIT="", TERM="dumb")
    r = subprocess.run(command, shell=isinstance(command, str), input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, timeout=60, cwd=folder, env=env, check=False)
    return r.stdout


def console(text, folder, exe):
    out = ""
    for line in text.splitlines():
        if line.startswith("$ "):
            out += line + "\n" + run(line[2:], folder, exe)
    return out


def session(text, folder, exe):
    """The prompt is told to flush by ends of lines, so that what it prints stands in order."""
    out = ""
    typed = [line[2:] for line in text.splitlines() if line.startswith("∇ ")]
    said = run([exe, "repl"], folder, exe, "".join(t + "\n" for t in typed)).split("∇ ")
    for entry, shown in zip(typed, said[1:]):
        out += "∇ " + entry + "\n" + shown
    return out


def main():
    exe, *pages = sys.argv[1:]
    exe, update, wrong = os.path.abspath(exe), "--update" in pages, []
    for page in [p for p in pages if p != "--update"]:
        text = open(page, encoding="utf-8").read()
        with tempfile.TemporaryDirectory() as folder:

            def one(block):
                kind, name, body = block.groups()
                if name:
                    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                        f.write(body)
                    return block[0]
                made = console(body, folder, exe) if kind == "console" else session(body, folder, exe)
                if made != body:
                    wrong.append(f"{page}: expected\n{body}but printed is\n{made}")
                return f"```{kind}\n{made}```"

            new = BLOCK.sub(one, text)
        if update:
            with open(page, "w", encoding="utf-8") as f:
                f.write(new)
    print("\n".join(wrong) or "all as shown")
    sys.exit(bool(wrong) and not update)


main()
