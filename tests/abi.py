#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The binary interface of the library, as text: functions with their symbol versions and prototypes, values of
constants, sizes of structures, offsets, sizes and types of their fields. A C program over atled.h measures; the names
come from the header's text, the symbols from the shared library.

usage: abi.py HEADER LIBRARY STORED [--update | --break]

Compares it with the stored description, line by line. What a host compiled earlier relies on may not change within a
SONAME: a line that is gone or different is an error, but for the size of a structure that grew. New lines are an error
until --update stores them, so that no function, field or constant becomes public by accident. --break stores anything:
then the SONAME must change (SOVERSION in CMakeLists.txt). An error too is a function whose comment doesn't end with the
kind of its contract, as the header explains them."""
import re
import subprocess
import sys
import tempfile


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"^\s*#(.*\\\n)*.*$", "", text, flags=re.M)


def without_contract(text):
    """Functions below a comment that doesn't end with a kind. Several may share a comment."""
    kinds = set(re.findall(r"^ \*   (\[\w+\]) ", text, re.M))
    comment = ""
    for part in re.findall(r"^/\*.*?\*/(?= *\n)|^ATLED_API [^;]*;|^typedef |^struct ", text, re.S | re.M):
        if part.startswith("/*"):
            comment = part
        elif not part.startswith("ATLED_API"):
            comment = ""
        elif not re.search(r"(\[\w+\]) \*/$", comment) or re.search(r"(\[\w+\]) \*/$", comment)[1] not in kinds:
            yield re.match(r"ATLED_API .*?(\w+)\(", part, re.S)[1]


def plain(text):
    return re.sub(r"\s*([*(),;\[\]])\s*", r"\1", " ".join(text.split()))


def unnamed(parameters):
    """The types of parameters, whose names may change."""
    return re.sub(r"(?<=[\w*]) ?\b\w+(?=[,)])", lambda m: m[0] if m[0] == "void" else "", plain(parameters))


def split_fields(body):
    """The declarations of a structure's body; a union within is one of them."""
    depth, start = 0, 0
    for i, c in enumerate(body):
        depth += (c == "{") - (c == "}")
        if c == ";" and depth == 0:
            yield body[start:i].strip()
            start = i + 1


def declarators(declaration):
    """Each name that a field's declaration declares, with its type: `int line, column` declares two."""
    pointer = re.match(r"(.*?)\(\*(\w+)\)(\(.*\))$", declaration, re.S)
    if pointer:
        yield pointer[2], f"{plain(pointer[1])}(*){unnamed(pointer[3])}"
        return
    first, *others = declaration.split(",")
    base, stars, name, dims = re.match(r"(.*?)([\s*]*)\b(\w+)\s*((?:\[[^]]*\])*)$", first, re.S).groups()
    yield name, plain(base + stars + dims)
    for other in others:
        stars, name, dims = re.match(r"\s*(\**)\s*(\w+)\s*((?:\[[^]]*\])*)$", other).groups()
        yield name, plain(f"{base} {stars}{dims}")


def fields_of(body, prefix=""):
    for declaration in split_fields(body):
        union = re.match(r"union\s*\{(.*)\}\s*(\w+)$", declaration, re.S)
        if union:
            yield from fields_of(union[1], f"{prefix}{union[2]}.")
        else:
            for name, kind in declarators(declaration):
                yield prefix + name, kind


def structures(text):
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\n\} \1;", text, re.S):
        yield name, list(fields_of(body))


def constants(text):
    for body in re.findall(r"\benum\s*\w*\s*\{(.*?)\}", text, re.S):
        for entry in body.split(","):
            if entry.strip():
                yield re.match(r"\s*(\w+)", entry)[1]


def measured(header, text):
    """The lines of constants and structures, from a program that the C compiler makes of the header."""
    out = [f'printf("constant {name} = %lld\\n", (long long){name});' for name in constants(text)]
    for name, fields in structures(text):
        out.append(f'printf("structure {name}: %zu bytes\\n", sizeof({name}));')
        out += [f'printf("field {name}.{field}: offset %zu, %zu bytes, {kind}\\n", offsetof({name}, {field}), '
                f'sizeof((({name} *)0)->{field}));' for field, kind in fields]
    program = f'#include "{header}"\n#include <stdio.h>\nint main(void) {{\n' + "\n".join(out) + "\n}\n"
    with tempfile.TemporaryDirectory() as work:
        with open(f"{work}/abi.c", "w", encoding="utf-8") as f:
            f.write(program)
        subprocess.run(["cc", "-std=c17", "-o", f"{work}/abi", f"{work}/abi.c"], check=True)
        return subprocess.run([f"{work}/abi"], capture_output=True, text=True, check=True).stdout.splitlines()


def functions(library, text):
    prototypes = {m[2]: plain(m[1]) + unnamed(m[3]) for m in
                  re.finditer(r"ATLED_API\s+([^;]*?)\b(atled_\w+)(\([^;]*\));", text)}
    listed = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], capture_output=True,
                            text=True, check=True).stdout
    exported = dict(re.findall(r" [TDBRW] (\w+)(@\S+)$", listed, re.M))
    for name in sorted(prototypes.keys() | exported.keys()):
        yield f"function {name}{exported.get(name, ' (not exported)')}: {prototypes.get(name, 'not in the header')}"


def callbacks(text):
    for kind, name, rest in re.findall(r"typedef ([^;{]*)\(\*(\w+)\)(\([^;]*\));", text):
        yield f"callback {name}: {plain(kind)}{unnamed(rest)}"


def describe(header, library):
    text = without_comments(open(header, encoding="utf-8").read())
    return [*functions(library, text), *callbacks(text), *measured(header, text)]


def broken(before, now):
    """Lines of before on which hosts rely and which don't hold any more."""
    sizes = dict(re.findall(r"^structure (\w+): (\d+)", "\n".join(now), re.M))
    for line in before:
        grown = re.match(r"structure (\w+): (\d+)", line)
        fixed = grown and grown[1] in ("AtledPart", "AtledValue")
        if line not in now and not (grown and not fixed and int(sizes.get(grown[1], 0)) >= int(grown[2])):
            yield line


def main():
    header, library, stored = sys.argv[1:4]
    option = sys.argv[4] if len(sys.argv) > 4 else ""
    now = describe(header, library)
    odd = [line for line in now if "(not exported)" in line or "not in the header" in line]
    with open(header, encoding="utf-8") as f:
        odd += [f"{name}: the comment doesn't end with a kind of contract" for name in without_contract(f.read())]
    try:
        before = open(stored, encoding="utf-8").read().splitlines()
    except FileNotFoundError:
        before = []
    lost = list(broken(before, now)) if option != "--break" else []
    if odd or lost:
        sys.exit("\n".join([*odd, *(f"hosts rely on: {line}" for line in lost)]))
    if option:
        with open(stored, "w", encoding="utf-8") as f:
            f.write("\n".join(now) + "\n")
    elif now != before:
        new = [line for line in now if line not in before]
        sys.exit("\n".join(["not stored yet (tests/abi.py … --update):", *new]))


if __name__ == "__main__":
    main()
