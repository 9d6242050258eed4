#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What editors/ has for editors: made from the tables of the compiler, valid, and of one mind with the lexer.

usage: test_editors.py ROOT EXE [--library LIBATLED]

The files are what editors/make_grammars.py makes. The JSON files are valid, and what they name is there. The TextMate grammar
cuts programs as the lexer does: each character that isn't blank is of a string, a comment, a number, a keyword or none of
these, by the grammar (tests/textmate.py runs it), by the lexer of fuzz/disorder.py, and by that of the library (atled_parts).
Where there is a Vim, its syntax file says the same of the first and the last character of each token, its error format reads the messages
of `atled check`, and its indentation leaves a formatted program as it is."""
import argparse
import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "fuzz"), str(HERE.parent / "editors")]
import disorder  # noqa: E402
import make_grammars  # noqa: E402
import textmate  # noqa: E402

# Scopes, outermost last in a list of names: the first that is known decides.
CLASSES = [("meta.embedded", "."), ("punctuation.section.interpolation", "s"), ("string", "s"), ("comment", "c"),
           ("constant.numeric", "n"), ("invalid.illegal.number", "n"), ("keyword.operator", "."), ("keyword", "k"),
           ("constant.language", "k"), ("constant.other.format", "s")]
PARTS = "ksncte"  # of AtledPartKind, in order
VIM_CLASSES = {"atledString": "s", "atledRawString": "s", "atledInterpolated": "s", "atledEscape": "s", "atledBraces": "s",
               "atledHoleBrace": "s", "atledFormat": "s", "atledLineComment": "c", "atledBlockComment": "c", "atledTodo": "c",
               "atledNumber": "n", "atledDefinition": "k", "atledFunction": "k", "atledConditional": "k", "atledLoop": "k",
               "atledBoolean": "k", "atledItem": "k"}
# What programs of examples/ and stdlib/ don't have.
HARD = r'''type (key 'k, 'v) tree as "te{x}t" = Leaf | Node of ('k, 'v) tree * 'k[] *
  {x : float, of_ : int} * M.t (* in a type (* nested "*) *)
(* in column 0 *)
# and this
and other = A | B of int -> string
type t = float
let x = 1..3 in [0xFF_a, 1_000, 2., 1e-3, 1.5E+7, x'r"y", r"\", a.. b, _, _a, a_, x', let', 'a]
let f (x : {a : int, b : float[], ..}) (y : num 'a => 'a list) : (int * M.t) option = x::y
let s = $"a{{b}}{x:>10.2f}c{ {a = 1}.a : d}e\u{41}\{{f (fun (x : int) -> $"in{x::y}{[1, 2][0]}")}" ++ "two
lines \" # none (* none" ++ $"{"}"}{(* "} *) 1}{r"}"}" ++ r"raw\"
let in_ = if_ + then' (* (*) *) *) - (**) 1 in ( * ) 2
test "name" = true && false
test $"plain" = true
bench "b\"" = 1
bench = 2
open M
import "f" as F
foreign "m!" f : float -> float
pullback f x = 1
tangent _f x = 2
let test = open import foreign bench
test
pullback = 3
σ'let Δx+ψ 12 ψlet
'''
# What the other lexer doesn't know: a letter, and a number with a field.
LETTERS = "let ∂let = ∂ 1 (∂r\"a\") x∂in in ∂'r\"b\" 3.x 1.e 12ab\n"


WORDS, WORDS_OF_ITEMS = set(make_grammars.tokens("WORD")), set(make_grammars.words_of_items())


def by_python(text):
    """A class for each character, by the lexer of fuzz/disorder.py; `?` of words that may begin an item."""
    out, at = ["."] * len(text), 0
    for t in disorder.tokens(text):
        at += len(t.before)
        kind = "."
        if t.kind == "comment":
            kind = "c"
        elif t.kind != "token" or t.text[0] == '"' or t.text[:2] in ('r"', '$"'):
            kind = "s"
        elif t.text[0].isdigit():
            kind = "n"
        elif t.text in WORDS:
            kind = "k"
        elif t.text in WORDS_OF_ITEMS and t.column0:
            kind = "?"
        out[at:at + len(t.text)] = kind * len(t.text)
        at += len(t.text)
    return "".join(out)


class Library:
    """The lexer and the parser of the library, by atled_parts."""

    class Part(ctypes.Structure):
        _fields_ = [("kind", ctypes.c_int), ("start", ctypes.c_size_t), ("end", ctypes.c_size_t)]

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.atled_new.restype, self.lib.atled_new.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
        self.lib.atled_parts.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.POINTER(self.Part)),
                                         ctypes.POINTER(ctypes.c_int)]
        self.vm = self.lib.atled_new(None)

    def classes(self, text):
        """`?` where an error of the syntax is underlined."""
        data, parts, count = text.encode(), ctypes.POINTER(self.Part)(), ctypes.c_int()
        if self.lib.atled_parts(self.vm, data, ctypes.byref(parts), ctypes.byref(count)):
            sys.exit("atled_parts fails")
        kinds = bytearray(b"." * len(data))
        for part in parts[:count.value]:
            kinds[part.start:part.end] = PARTS[part.kind].encode() * (part.end - part.start)
        out, at = [], 0
        for char in text:
            out.append({"t": ".", "e": "?"}.get(chr(kinds[at]), chr(kinds[at])))
            at += len(char.encode())
        return "".join(out)


def by_grammar(grammar, text):
    return "".join(class_of(scopes) for scopes in grammar.scopes(text))


def class_of(scopes):
    for scope in reversed(scopes):
        for prefix, kind in CLASSES:
            if scope.startswith(prefix):
                return kind
    return "."


def differences(name, text, got, want, whose):
    """The first place of each line where they differ."""
    start = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        for i in range(start, start + len(line)):
            if got[i] != want[i] and want[i] != "?" and not text[i].isspace():
                yield f"{name}:{number}:{i - start + 1}: `{got[i]}`, {whose}: `{want[i]}`: {line.rstrip()}"
                break
        start += len(line)


OPERATORS = [s for s in make_grammars.tokens("SYMBOL") if s not in make_grammars.BRACKETS_AND_SEPARATORS]


def check_operators(grammar):
    """Each is one token."""
    for o in OPERATORS:
        scopes = grammar.scopes(f"let x = a {o} b\n")[10:10 + len(o)]
        if len(set(scopes)) != 1 or not re.match("keyword.operator|invalid.illegal.operator", " ".join(scopes[0])):
            yield f"`{o}` is {scopes}"


def programs(root):
    for folder in ("examples", "stdlib"):
        for path in sorted((root / folder).rglob("*.atl")):
            yield str(path.relative_to(root)), path.read_text(encoding="utf-8")
    for path in sorted((root / "tests" / "format").glob("*.out")):
        yield str(path.relative_to(root)), path.read_text(encoding="utf-8")
    yield "HARD", HARD


# ---- The extension ------------------------------------------------------------------------------------
# The modules that VS Code has are stubs here; what the extension asks of them is printed.
EXTENSION = """
const Module = require('module'), load = Module._load, settings = JSON.parse(process.argv[3]);
let said = [];
class LanguageClient {
  constructor(id, name, server, options) { this.all = { id, server, languages: options.documentSelector.map((s) => s.language) }; }
  async start() { said.push(this.all); }
  async stop() { said.push('stopped'); }
}
const vscode = {
  workspace: { getConfiguration: () => ({ get: (name) => settings[name] }), createFileSystemWatcher: (glob) => glob },
  window: { showWarningMessage: (text) => said.push(text.replace(/ in .*/, '')) },
};
Module._load = (name, ...rest) => {
  if (name === 'vscode') return vscode;
  if (name !== 'vscode-languageclient/node') return load(name, ...rest);
  if (settings.lacking) throw new Error('none');
  return { LanguageClient };
};
const extension = require(process.argv[2]);
extension.activate().then(() => extension.deactivate()).then(() => console.log(JSON.stringify(said)));
"""
STARTED = {"id": "atled", "server": {"command": "/opt/atled", "args": ["lsp"]}, "languages": ["atled", "atled"]}
EXTENSION_CASES = [({"server": True, "path": "/opt/atled"}, [STARTED, "stopped"]), ({"server": False}, []),
                   ({"server": True, "lacking": True}, ["Atled: for the language server run `npm install`"])]


def check_extension(root):
    if not shutil.which("node"):
        print("the extension isn't run: there is no node")
        return
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "run.js"
        script.write_text(EXTENSION)
        for settings, expected in EXTENSION_CASES:
            run = subprocess.run(["node", script, root / "editors" / "vscode" / "extension.js", json.dumps(settings)], capture_output=True,
                                 text=True, timeout=60)
            if run.returncode or json.loads(run.stdout) != expected:
                yield f"extension.js with {settings}: {run.stdout}{run.stderr}"


# ---- Files --------------------------------------------------------------------------------------------
def check_files(root):
    made = subprocess.run([sys.executable, root / "editors" / "make_grammars.py", "--check"], capture_output=True, text=True)
    if made.returncode:
        yield made.stderr.strip()
    vscode = root / "editors" / "vscode"
    files = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted(vscode.rglob("*.json"))
             if "node_modules" not in path.parts}
    package, has = files[vscode / "package.json"], files[vscode / "package.json"]["contributes"]
    version = re.findall(r"define ATLED_VERSION_(?:MAJOR|MINOR|PATCH) +(\d+)", (root / "include" / "atled.h").read_text())
    if package["version"] != ".".join(version[:3]):
        yield f"editors/vscode/package.json: version {package['version']}, atled.h has {version}"
    named = [has["languages"][0]["configuration"], *(g["path"] for g in has["grammars"])]
    yield from (f"editors/vscode/{name} isn't there" for name in named if vscode / name not in files)
    for entry in has["grammars"]:
        if files[vscode / entry["path"]]["scopeName"] != entry["scopeName"]:
            yield f"{entry['path']}: another scope than in package.json"
    fence = files[vscode / "syntaxes" / "markdown.tmLanguage.json"]["repository"]["fence"]["begin"].replace("|\\G", "")
    for line, fits in (("```atled", True), ("~~~~ atled mended", True), ("```atl", True), ("```atledx", False), ("``` c", False)):
        if bool(re.match(fence, line)) != fits:
            yield f"markdown.tmLanguage.json: {line}"
    configuration = files[vscode / "language-configuration.json"]
    rules = {**configuration["indentationRules"], "word": configuration["wordPattern"]}
    for name, lines in INDENTATION.items():
        for line, fits in lines.items():
            if bool(re.search(rules[name], line)) != fits:
                yield f"language-configuration.json: {name} of `{line}`"


INDENTATION = {
    "increaseIndentPattern": {"let f x =": True, "  for i = 0 to n do # each": True, "| A ->": True, "let a = [": True, "else": True,
                              "let x = 1": False, "# why =": False, "if undo": False},
    "decreaseIndentPattern": {"  done;": True, "]": True, "  x": False, "done_": False},
    "word": {"x'": True, "∂x": True, "12.5": True, "+": False},
}


# ---- Messages ------------------------------------------------------------------------------------------
WRONG = 'let é = "a" in é + 1\nlet f x = match x with 1 -> 2\nlet y = undefined_name\n'
PLACES = [("wrong.atl", 1, 20, "E"), ("wrong.atl", 1, 16, "N"), ("wrong.atl", 2, 17, "W"), ("wrong.atl", 3, 9, "E")]


def messages(exe, folder):
    (folder / "wrong.atl").write_text(WRONG, encoding="utf-8")
    return subprocess.run([exe, "check", "wrong.atl"], cwd=folder, capture_output=True, text=True, timeout=60).stderr


def check_pattern(root, text):
    package = json.loads((root / "editors" / "vscode" / "package.json").read_text(encoding="utf-8"))
    p = package["contributes"]["problemPatterns"][0]
    found = [m for m in map(re.compile(p["regexp"]).match, text.split("\n")) if m]
    got = [(m[p["file"]], int(m[p["line"]]), int(m[p["column"]]), m[p["severity"]][0].upper()) for m in found]
    if sorted(got) != sorted(place for place in PLACES if place[3] != "N"):
        yield f"package.json reads {got} from\n{text}"


# ---- Vim -------------------------------------------------------------------------------------------------
VIM_SCRIPT = r"""set nocompatible encoding=utf-8 nomore
let &runtimepath = '%(vim)s,' . $VIMRUNTIME
filetype plugin indent on
syntax on
let s:out = []
try
%(commands)s
catch
  call add(s:out, 'exception ' . v:exception . ' ' . v:throwpoint)
endtry
call writefile(s:out, '%(out)s')
qall!
"""
CLASS_COMMANDS = r"""  edit %(file)s
  call add(s:out, &filetype . ' ' . &commentstring . ' ' . &formatprg)
  for s:at in readfile('%(places)s')
    let [s:line, s:column] = split(s:at)
    call add(s:out, synIDattr(synID(s:line, s:column, 1), 'name') . ' ' . s:line . ' ' . s:column)
  endfor
"""
MAKE_COMMANDS = r"""  cd %(folder)s
  edit wrong.atl
  let &l:makeprg = substitute(&l:makeprg, '^atled', '%(exe)s', '')
  silent! make
  for s:q in getqflist()
    call add(s:out, json_encode([bufname(s:q.bufnr), s:q.lnum, s:q.col, toupper(s:q.type), s:q.valid, s:q.text]))
  endfor
"""
INDENT_COMMANDS = r"""  edit %(file)s
  normal! gg=G
  call extend(s:out, getline(1, '$'))
"""
INDENTED = """let f x =
  let y = x in
  let g z =
    if z > 0 then
      z + 1
    else
      z - 1
  in
  match y with
  | 0 -> 1
  | _ ->
    for i = 0 to 1 do
      print i
    done;
    [
      1,
      2
    ]

# a comment
type t =
  | A
  | B of int

let rec even n = n = 0 || odd (n - 1)
and odd n = n <> 0 && even (n - 1)
"""


class Vim:
    def __init__(self, root, folder, program):
        self.vim, self.folder, self.program = root / "editors" / "vim", folder, program

    def run(self, commands, **values):
        script, out = self.folder / "script.vim", self.folder / "out"
        values = {"vim": self.vim, "out": out, "folder": self.folder, **values}
        script.write_text(VIM_SCRIPT % {**values, "commands": commands % values}, encoding="utf-8")
        out.unlink(missing_ok=True)
        mode = ["--headless"] if "nvim" in self.program else ["-e", "-s", "-X"]
        subprocess.run([self.program, *mode, "-u", "NONE", "-i", "NONE", "-n", "-S", str(script)], stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=120, env=dict(os.environ, TERM="dumb", LC_ALL="C.UTF-8"))
        return out.read_text(encoding="utf-8").splitlines() if out.exists() else ["Vim wrote nothing"]

    def check_classes(self, name, text):
        """Of the first and the last character of each token and comment."""
        (self.folder / "a.atl").write_text(text, encoding="utf-8")
        want, at, places = by_python(text), 0, []
        for t in disorder.tokens(text):
            at += len(t.before)
            for i in sorted({at, at + len(t.text.rstrip()) - 1}):
                line_start = text.rfind("\n", 0, i) + 1
                places.append((text.count("\n", 0, i) + 1, len(text[line_start:i].encode()) + 1, want[i], t.text))
            at += len(t.text)
        (self.folder / "places").write_text("".join(f"{line} {column}\n" for line, column, _, _ in places))
        out = self.run(CLASS_COMMANDS, file=self.folder / "a.atl", places=self.folder / "places")
        if out[0] != "atled # %s atled fmt -" or len(out) != len(places) + 1:
            yield f"Vim, {name}: {out[0]} {out[-1]}"
            return
        for (line, column, kind, token), said in zip(places, out[1:]):
            group = said.split(" ")[0]
            if kind != "?" and VIM_CLASSES.get(group, ".") != kind:
                yield f"Vim, {name}:{line}:{column}: {group or 'no group'} in `{token}`, `{kind}`"

    def check_operators(self):
        (self.folder / "c.atl").write_text("".join(f"let x = a {o} b\n" for o in OPERATORS))
        places = [(n, c) for n, o in enumerate(OPERATORS, 1) for c in (11, 10 + len(o))]
        (self.folder / "places").write_text("".join(f"{n} {c}\n" for n, c in places))
        for (n, _), said in zip(places, self.run(CLASS_COMMANDS, file=self.folder / "c.atl", places=self.folder / "places")[1:]):
            if said.split(" ")[0] not in ("atledOperator", "atledNoOperator"):
                yield f"Vim: `{OPERATORS[n - 1]}` is {said}"

    def check_messages(self, exe):
        out = self.run(MAKE_COMMANDS, exe=exe)
        got = [json.loads(line) if line[0] == "[" else line for line in out]
        if sorted(tuple(q[:4]) for q in got if q[4]) != sorted(PLACES):
            yield f"Vim's list of errors: {got}"

    def check_indent(self):
        (self.folder / "b.atl").write_text("".join(line.lstrip() + "\n" for line in INDENTED.splitlines()), encoding="utf-8")
        out = self.run(INDENT_COMMANDS, file=self.folder / "b.atl")
        if out != INDENTED.splitlines():
            yield "Vim indents\n" + "\n".join(out)


def check_vim(root, exe, folder):
    program = shutil.which("vim") or shutil.which("nvim")
    has_syntax = program and subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if not program or "-syntax" in has_syntax or "-eval" in has_syntax:
        print("Vim's files aren't looked at: there is no Vim with its features syntax and eval")
        return
    vim = Vim(root, folder, program)
    for name, text in programs(root):
        if not name.startswith("stdlib") or name == "stdlib/Csv.atl":
            yield from vim.check_classes(name, text)
    yield from vim.check_operators()
    yield from vim.check_messages(exe)
    yield from vim.check_indent()


# ---- All ---------------------------------------------------------------------------------------------------
def check_grammar(root, library):
    grammar = textmate.Grammar(json.loads(make_grammars.TEXTMATE.read_text(encoding="utf-8")))
    yield from check_operators(grammar)
    for name, text in programs(root):
        got = by_grammar(grammar, text)
        yield from differences(name, text, got, by_python(text), "the lexer of fuzz/disorder.py")
        if library:
            yield from differences(name, text, got, library.classes(text), "the library")
    if library:
        yield from differences("LETTERS", LETTERS, by_grammar(grammar, LETTERS), library.classes(LETTERS), "the library")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("exe")
    parser.add_argument("--library")
    o = parser.parse_args()
    root, exe = pathlib.Path(o.root).resolve(), os.path.abspath(o.exe)
    wrong = [*check_files(root), *check_extension(root)]
    wrong += check_grammar(root, Library(o.library) if o.library else None)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        wrong += check_pattern(root, messages(exe, folder))
        wrong += check_vim(root, exe, folder)
    print("\n".join(wrong[:100]))
    sys.exit(f"{len(wrong)} problems" if wrong else 0)


if __name__ == "__main__":
    main()
