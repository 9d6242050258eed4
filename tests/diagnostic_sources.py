# SPDX-License-Identifier: MIT
"""What the source can report: the texts of all messages, hints and labels, as found in the C and Atled files.

A text counts when it stands in a call of one of the functions that report (REPORTERS), in an assignment to a `hint` or
`label`, in a function whose name ends in `hint` or `message`, in a row of habits.def, or in a `fail` of the library. A
message is then a pattern: `%s` and its like, and the holes of an interpolated string, fit anything."""
import functools
import os
import re

# name: which string arguments are messages ("expected" for what is printed as "expected …, found …")
REPORTERS = {
    "diag_error": "message", "diag_warning": "message", "complain": "message", "unfinished": "message",
    "fail_at": "message", "report": "message", "el_error": "message", "rt_error": "message",
    "report_error": "message", "report_warning": "message", "refuse": "message", "no_rule": "message", "too_large": "message",
    "fail_expected": "expected", "expect_ident": "expected", "expect_string": "expected",
    "parse_name": "expected", "expect": "token", "expect_close": "token",
}
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_]\w*|#[^\n]*(?:\\\n[^\n]*)*|->|\S', re.S)
CODE = re.compile(r"[a-z]+(-[a-z]+)*$")  # `type-mismatch`, `syntax`: what tools see


def unescape(literal):
    return literal[1:-1].encode().decode("unicode_escape").encode("latin-1").decode()


def tokens_of(text):
    """(line, token) without comments and preprocessor lines; adjacent string literals are one."""
    out, line, counted = [], 1, 0
    for m in TOKEN.finditer(text):
        t = m.group()
        if t.startswith(("/*", "//", "#")):
            continue
        if t[0] == '"' and out and out[-1][1][0] == '"':
            out[-1] = (out[-1][0], out[-1][1][:-1] + t[1:])
        else:
            line += text.count("\n", counted, m.start())
            counted = m.start()
            out.append((line, t))
    return out


def arguments(tokens, i):
    """The tokens of each argument of the call whose `(` stands at i."""
    depth, args = 0, [[]]
    for line, t in tokens[i:]:
        depth += t in "([{" and len(t) == 1
        depth -= t in ")]}" and len(t) == 1
        if depth == 0:
            return args
        if depth == 1 and t == ",":
            args.append([])
        elif not (depth == 1 and t == "(" and args == [[]]):
            args[-1].append((line, t))
    return args


def token_texts(root):
    with open(os.path.join(root, "src/lexer/tokens.def"), encoding="utf-8") as f:
        return dict(re.findall(r'TOKEN\((\w+), "([^"]*)"', f.read()))


def from_call(name, args, words):
    """(kind, line, text) of the strings of one call."""
    kind = REPORTERS[name]
    if kind == "token":
        for line, t in args[1]:
            if t.startswith("TOK_") and t[4:] in words:
                text = words[t[4:]]
                yield "expected", line, text if " " in text else f"`{text}`"
    for k, arg in enumerate(args):
        for line, t in arg:
            if t[0] != '"':
                continue
            text = unescape(t)
            wanted = kind == "expected" and k == 1
            if wanted:
                yield "expected", line, text
            elif kind in ("expected", "token"):
                yield "hint", line, text
            elif CODE.match(text) and k <= 3:
                continue
            elif name in ("report", "fail_at", "unfinished") and k == 4:
                yield "hint", line, text
            else:
                yield "message", line, text


def in_c(path, words):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    tokens = tokens_of(text)
    function, depth = "", 0
    for i, (line, t) in enumerate(tokens):
        follows = tokens[i + 1][1] if i + 1 < len(tokens) else ""
        if depth == 0 and follows == "(" and re.match(r"[a-z_]\w*$", t):
            function = t
        depth += (t == "{") - (t == "}")
        if t in REPORTERS and follows == "(" and depth > 0:
            yield from from_call(t, arguments(tokens, i + 1), words)
        elif t in ("hint", "label", "also_label") and follows == "=":
            for line, s in statement(tokens, i + 2):
                if s[0] == '"':
                    yield "hint", line, unescape(s)
        elif t.endswith("_hint") and follows == "[":
            yield "hint", line, unescape(next(s for _, s in tokens[i + 1:] if s[0] == '"'))
        elif t == "return" and function.endswith(("hint", "message")) and depth > 0:
            for line, s in statement(tokens, i + 1):
                if s[0] == '"':
                    yield ("message" if function.endswith("message") else "hint"), line, unescape(s)


def statement(tokens, i):
    depth, condition = 0, []
    for line, t in tokens[i:]:
        if (t in ";" or (t in ",}" and depth == 0)) and len(t) == 1:
            return
        if t == ")" and depth == 0:
            return
        depth += (t in "({") - (t in ")}")
        yield line, t


def in_library(path):
    with open(path, encoding="utf-8") as f:
        for n, line in enumerate(f, 1):
            for text in re.findall(r'(?:fail|Error \(if .* then|Error|else) \$?"((?:[^"\\]|\\.)*)"', re.sub(r"^#.*", "", line)):
                if re.search(r"fail|Error", line):
                    yield "message", n, re.sub(r"\{[^}]*\}", "%s", text.replace(r"\"", "\""))


def in_habits(path):
    with open(path, encoding="utf-8") as f:
        for n, line in enumerate(f, 1):
            row = re.match(r'(?:HABIT|KEYWORD_ELSEWHERE)\("(\w+)", ("(?:[^"\\]|\\.)*")\)', line)
            if row:
                yield "habit " + row.group(1), n, unescape(row.group(2))


@functools.cache
def all_texts(root):
    """(kind, place, text) of everything that the source can report."""
    return tuple(texts_of_files(root))


def texts_of_files(root):
    words = token_texts(root)
    for folder, _, files in sorted(os.walk(os.path.join(root, "src"))):
        for name in sorted(files):
            path = os.path.join(folder, name)
            found = in_c(path, words) if name.endswith(".c") else in_habits(path) if name == "habits.def" else ()
            for kind, line, text in found:
                yield kind, f"{os.path.relpath(path, root)}:{line}", text
    for name in sorted(os.listdir(os.path.join(root, "stdlib"))):
        if name.endswith(".atl"):
            for kind, line, text in in_library(os.path.join(root, "stdlib", name)):
                yield kind, f"stdlib/{name}:{line}", text


def pattern(text):
    """A regular expression for what the format prints."""
    parts = re.split(r"%(?:\.\*|\.\d+)?(?:lld|zu|04X|s|d|u|c)", text)
    return ".*?".join(re.escape(p) for p in parts)
