#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a page of each library module from the comments in its source: docs/modules/NAME.md, and their index.

usage: make_modules.py --atled EXE [--check]

A comment directly above a definition is its documentation. `# ---- Title ---` lines are headings, the first paragraph at the top
of the file is the introduction. A line `Example: EXPR → VALUE` becomes a block that the documentation's tests run. Types are
what the prompt says (`:type Module.name`). --check writes nothing and fails where a page isn't what it would write."""
import argparse
import os
import re
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
library = os.path.join(here, "..", "stdlib")
NOTE = "<!-- Made by docs/make_modules.py from the comments of stdlib/{name}.atl: change those. -->\n"


class Item:
    """A definition: `kind` is let, foreign or type."""

    def __init__(self, kind, name, comment, text):
        self.kind, self.name, self.comment, self.text = kind, name, comment, text


def definition(line):
    """Kind and name of what a line defines; None."""
    m = re.match(r"""(let)\s+(?:rec\s+)?([a-z_]\w*)|(foreign)\s+"[^"]*"\s+([a-z_]\w*)|(type)\s+(?:key\s+)?(?:'\w+\s+|\([^)]*\)\s+)?(\w+)""", line)
    if not m:
        return None
    kind, name = [g for g in m.groups() if g]
    return kind, name


def text_of(lines, at):
    """The lines of a type's definition: up to the next line in column 0."""
    end = at + 1
    while end < len(lines) and lines[end][:1] in (" ", "|"):
        end += 1
    return "\n".join(lines[at:end]).rstrip()


def read(path):
    """Introduction, then headings (strings) and items in their order."""
    lines = open(path, encoding="utf-8").read().splitlines()
    start = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    intro = [line[1:].strip() for line in lines[:start] if "SPDX" not in line]
    if "" in intro:
        intro = intro[:intro.index("")]  # the next paragraphs are about the source
    parts, comment, met = [], [], set()
    for at, line in enumerate(lines[start:], start):
        if line.startswith("# ----"):
            parts.append(line.strip("# -"))
            comment = []
        elif line.startswith("#"):
            comment.append(line[1:].strip())
        else:
            found = definition(line)
            if found and not found[1].startswith("_") and (found[0] == "type", found[1]) not in met:
                met.add((found[0] == "type", found[1]))
                parts.append(Item(*found, comment, text_of(lines, at)))
            comment = []
    return intro, parts


def types(exe, module, items):
    """By name, what the prompt says of each."""
    names = [i.name for i in items if i.kind != "type"]
    asked = "".join(f":type {module}.{name}\n" for name in names)
    r = subprocess.run([exe, "repl"], input=asked, capture_output=True, text=True, env=dict(os.environ, COLUMNS="100000"), timeout=120)
    said = [line for line in r.stdout.replace("∇ ", "").splitlines() if line.strip()]
    if len(said) != len(names):
        sys.exit(f"{module}: {len(names)} types asked for, {len(said)} lines said:\n{r.stdout}{r.stderr}")
    return dict(zip(names, said))


def examples(comment):
    """The comment without its examples, and these as (expression, value)."""
    rest, found, current = [], [], None
    for line in comment:
        if line.startswith("Example:"):
            found.append(line[len("Example:"):].strip())
            current = True
        elif current and line:
            found[-1] += " " + line
        else:
            rest.append(line)
    pairs = [re.fullmatch(r"`?(.*?)`? → `?(.*?)`?", e) for e in found]
    for e, pair in zip(found, pairs):
        if not pair:
            sys.exit(f"an example reads `EXPR → VALUE`: {e}")
    return rest, [pair.groups() for pair in pairs]


def page_of_item(item, type_said):
    rest, shown = examples(item.comment)
    signature = item.text if item.kind == "type" else f"{item.name} : {type_said}"
    out = [f"### {item.name}\n", f"```\n{signature}\n```\n"]
    if any(rest):
        out.append("\n".join(rest).strip() + "\n")
    if shown:
        out.append("```atled\n" + "".join(f"print ({e})    # => {v}\n" for e, v in shown) + "```\n")
    return "\n".join(out)


def page(exe, name):
    intro, parts = read(os.path.join(library, name + ".atl"))
    items = [p for p in parts if isinstance(p, Item)]
    said = types(exe, name, items)
    out = [NOTE.format(name=name), f"# {name}\n", "\n".join(intro).strip() + "\n"]
    for at, part in enumerate(parts):
        if isinstance(part, Item):
            out.append(page_of_item(part, said.get(part.name)))
        elif at + 1 < len(parts) and isinstance(parts[at + 1], Item):
            out.append(f"## {part}\n")
    return "\n".join(out)


def index(names):
    rows = []
    for name in names:
        intro, _ = read(os.path.join(library, name + ".atl"))
        first = re.split(r"(?<=[.])\s", " ".join(intro).strip())[0]
        rows.append(f"- [{name}]({name}.md): {first}\n")
    return "# The library's modules\n\nWhat needs no module stands in [library.md](../library.md).\n\n" + "".join(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--atled", required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    names = sorted(f[:-4] for f in os.listdir(library) if f.endswith(".atl") and f != "prelude.atl")
    pages = {name: page(options.atled, name) for name in names}
    pages["README"] = index(names)
    folder, wrong = os.path.join(here, "modules"), []
    os.makedirs(folder, exist_ok=True)
    for name, text in pages.items():
        path = os.path.join(folder, name + ".md")
        if options.check:
            if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
                wrong.append(path)
        else:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
    if wrong:
        sys.exit("not as docs/make_modules.py makes them: " + ", ".join(map(os.path.basename, wrong)))


main()
