#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the index of diagnostics: each wrong program, to the byte of its message, and each mended one.

usage: check_diagnostics.py --atled EXE [--update] docs/diagnostics.md

An entry begins with `###`; the line below says of which code it is, as in "Code: `type-mismatch`.", where the command reports one
(`--json`). Its blocks, in this order:
  ```atled wrong         the program, run as wrong.atl; or ```sh wrong, a command line
  ```text status N       all of standard error, and the exit status (0 for warnings)
  ```atled mended        the program that runs without a word, as mended.atl; or ```sh mended
  ```LANG file NAME      anywhere before the program that needs it: a file beside it
Wrong programs that compile run in the evaluator and as machine code. Below `## Words of other languages` stands a table
of the rows of habits.def. --update writes the messages; read them before you commit them.

Fails too when the source can report something that no entry shows: see diagnostic_sources.py."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

import diagnostic_sources

# What no program shows, and why.
NOT_SHOWN = {
    r"src/(ir/ir|lir/lir)_verify\.c|src/api/(pipeline|run)\.c:.*(graph|lowered code)|src/api/vm\.c:.*isn't as it was": "debug builds only: a fault of the compiler",
    r"src/elab/elab.*(this can't be run|this isn't a function here|has no value here|can't be computed with together"
    r"|can't be used at this type|there is no primitive `|the primitive `|an effect can't happen here|can't be assigned to here"
    r"|a slice can't be assigned to|endlessly many types|see the error in its definition)":
        "guards of elaboration: the checker reports first",
    r"src/check/check_items\.c:.*(files can't be imported here|let mut)": "guards: the parser and the API see to it",
    r"src/check/(generalise\.c:.*is too large|scope\.c:.*needs itself)": "guards: a larger type fails before, the library has no cycle",
    r"src/api/run\.c:.*this program can't be compiled": "guards of lowering: elaboration reports first",
    r"src/lir/lir_read\.c": "the reader of lowered code's text, for tests; its labels are no hints",
    r"src/eval/eval\.c": "never leaves the VM: the program goes on natively",
    r"src/runtime/foreign\.c:.*(can't be called with|not valid UTF-8)": "the checker refuses such types; test_foreign.py has the other",
    r"src/runtime/files\.c:.*holds a name that": "not every file system has such names",
    r"src/runtime/errors\.c:.*needs the right": "the checker reports first; tests/unit/test_rights.c has it",
    r"src/api/modules\.c:.*leads out of the host's modules": "hosts give modules; tests/api/test_sandbox.c has it",
    r"src/jit/(jit|translate)\.c": "the system refuses something to the compiler; the reason is part of `can't compile`",
    r"src/jit/toolchain/cache\.c:.*(can't be|neither)": "the system refuses a folder; unit.cache has them",
    r"src/api/vm\.c:.*no part of it says why": "a guard: tests/api/test_hostile.c looks for it",
    r"src/api/evaluate\.c:.*(tests|benchmarks) failed|src/check/checker\.c:.*a type is needed, and nothing":
        "errors of hosts' calls; tests/api has them",
    r"src/runtime/arbitrary\.c:": "`atled test` prints them; tests/test_rules.py has them",
    r"src/runtime/streams\.c:.*(isn't taken|exit$|host's input gave)": "hosts stop output and give input, and `exit` is no error; tests/api has them",
    r"src/runtime/arrays\.c:.*(can't have length|of %lld rows)": "guards: a check comes before",
    r"src/runtime/errors\.c:.*time limit|out of memory$": "hosts set limits; tests/api has them",
    r"src/api/alarm\.c:|\((source|output)_limit\)$": "so are these; tests/api/test_host_limits.c has them",
    r"src/api/static_values\.c:.*is no data": "a guard: the checker and elaboration report first",
    r"src/api/kept\.c:": "hosts keep results; tests/api/test_values.c has them",
    r"src/api/replace\.c:": "hosts replace functions; tests/api/test_replace.c has them",
    r"src/api/(contexts|freeze|general|native|pins)\.c:": "hosts make native pointers; tests/api/test_native.c and test_general.c have them",
    r"src/api/build_ahead\.c:": "building ahead of time; tests/test_build.py has them",
    r"src/built/built\.c:": "of libraries that are built ahead of time; tests/build_ahead/host.c has them",
    r"src/api/(hosts|host_calls)\.c:|src/(runtime/foreign|api/values)\.c:.*the host('s function| has no)":
        "hosts define functions; tests/api/test_define.c has them",
    r"src/ad/forward\.c:.*a foreign function": "each foreign function has a name",
    r"stdlib/Optim\.atl:.*(residuals are not|the Jacobian is|xs and %s ys|curve_fit: %s after)":
        "long to compile for each mode: stdlib/tests/evaluated has them",
    r"stdlib/(Bytes|Json)\.atl:.*(the format is one of|no element %s in|was given no decoder)":
        "stdlib/tests/evaluated/bytes.atl and json.atl have them",
    r"stdlib/Npy\.atl": "of files that a block can't hold: stdlib/tests/evaluated/npy.atl has them",
    r"src/runtime/(bytes|files)\.c:.*(numbers of this format|numbers of %d bytes|in this format|floats are no ints|don't hold)":
        "guards: Bytes.atl looks before; stdlib/tests/evaluated/bytes.atl makes bytes that lie",
    r"src/runtime/bytes\.c:.*which is no int": "stdlib/tests/evaluated/bytes.atl has it",
    r"src/runtime/files\.c:.* ends after %lld": "of pipes; tests/test_data_files.py has it",
    r"src/runtime/json_values\.c:.*can't be (saved|read)": "of the host's values; a guard",
    r"src/format/reformat\.c:": "a guard: tests/test_formatter.py looks for it",
    r"src/parser/.*expected (`(\(|\[|\{|if|match|for|while|let|fun|\.|\|)`)$": "the caller has seen the token",
}
# Reported in ways that diagnostic_sources.py doesn't see.
ALSO = ["no case matches %s", "different shapes: %s and %s", "%s has no derivative rule", "atled: unknown option `%s`", "a C function with an effect has no derivative",
        "atled: can't read `%s`: %s", "the function given to a function with a derivative rule depends on what is being"]


class Entry:
    def __init__(self, title, line):
        self.code = None
        self.title, self.line, self.blocks = title, line, []  # blocks: [info, text, first line, end line]

    def block(self, kind):
        return next((b for b in self.blocks if b[0].endswith(kind) or kind in b[0].split()), None)


def entries_of(text):
    entries, block = [], None
    for n, line in enumerate(text.splitlines(), 1):
        if block is None and line.startswith("### "):
            entries.append(Entry(line[4:], n))
        elif block is None and line.startswith("```") and entries:
            block = [line[3:].strip(), "", n, n]
        elif block is not None and line == "```":
            block[3] = n
            entries[-1].blocks.append(block)
            block = None
        elif block is not None:
            block[1] += line + "\n"
        elif entries and not entries[-1].blocks and line.startswith("Code: "):
            entries[-1].code = line[7:-2]
    return entries


def run(exe, folder, block, name, options, cache):
    """Exit status, standard error of one program or command line."""
    env = dict(os.environ, ATLED_CACHE=cache, XDG_CACHE_HOME=cache, LC_ALL="C.UTF-8", ATLED_OPT="0", # which no message depends on
               PATH=os.path.dirname(exe) + os.pathsep + os.environ["PATH"])
    env.pop("ATLED_JIT", None)
    command = ["sh", "-c", block[1]] if block[0].startswith("sh") else [exe, *options, name]
    if not block[0].startswith("sh"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(block[1])
    r = subprocess.run(command, cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    stderr = r.stderr.decode("utf-8", "replace").replace(folder + "/", "")
    return r.returncode, re.sub(r"and (\d+|many) more calls", "and N more calls", stderr)


def write_files(entry, folder, first, last):
    for info, text, line, _ in entry.blocks:
        words = info.split()
        if len(words) == 3 and words[1] == "file" and first < line < last:
            with open(os.path.join(folder, words[2]), "w", encoding="utf-8") as f:
                f.write(text)


def code_of(exe, folder, wrong, cache):
    """The code of the first error, or warning, that the program reports; None where the command has none for it."""
    block = list(wrong)
    if block[0].startswith("sh"):
        block[1] = re.sub(r"(?<![\w/-])(atled|\$exe) (?=(--jit=\w+ |-e |[\w./-]+\.atl))", r"\1 --json ", block[1])
    _, stderr = run(exe, folder, block, "wrong.atl", ["--jit=off", "--json"], cache)
    found = []
    for line in stderr.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    found = [d for d in found if isinstance(d, dict) and "kind" in d]
    return next((d["kind"] for d in sorted(found, key=lambda d: d["severity"] != "error")), None)


def code_line(code):
    return f"Code: `{code}`."


def check(exe, entry):
    """(problems, message block as it should be, code)."""
    wrong, said, mended = entry.block("wrong"), entry.block("text status"), entry.block("mended")
    said = next((b for b in entry.blocks if b[0].startswith("text status")), None)
    if not (wrong and said and mended):
        return ["lacks one of its blocks: wrong, text status, mended"], None, None
    problems = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        write_files(entry, folder, 0, wrong[2])
        status, stderr = run(exe, folder, wrong, "wrong.atl", ["--jit=off"], cache)
        if status in (0, 70) and wrong[0].startswith("atled"):
            natively = run(exe, folder, wrong, "wrong.atl", ["--jit=always"], cache)
            if natively != (status, stderr):
                problems.append(f"machine code says otherwise: {natively}, not {(status, stderr)}")
        if (f"text status {status}", stderr) != (said[0], said[1]):
            problems.append(f"expected {said[0]}\n{said[1]}got {status}\n{stderr}")
        if not stderr:
            problems.append("the wrong program gives no message")
        checked = wrong[0].startswith("atled") or "--update" in sys.argv  # command lines may take long
        code = code_of(exe, folder, wrong, cache) if checked else entry.code
        if entry.code != code:
            problems.append(f"its code is {code}, not {entry.code}")
        write_files(entry, folder, said[2], mended[2])
        mend = run(exe, folder, mended, "mended.atl", ["--jit=off"], cache)
        if mend != (0, ""):
            problems.append(f"the mended program gives {mend[0]}\n{mend[1]}")
    return problems, (f"text status {status}", stderr), code


def shown(kind, text, messages, everything):
    """Whether the index shows this text of the source."""
    if len(re.sub(r"%\S+|[^a-z]", "", text)) < 3:
        return True  # a plural, a quote
    if kind == "expected":
        return re.search(r"expected " + re.escape(text) + ", found", messages) is not None
    return re.search(diagnostic_sources.pattern(text), messages if kind == "message" else everything) is not None


def missing(root, entries):
    text = "".join(b[1] for e in entries for b in e.blocks if b[0].startswith("text status"))
    messages = "\n".join(re.findall(r"(?m)^(?:\S+: )?(?:error|warning): .*|^atled: .*", text))
    found = list(diagnostic_sources.all_texts(root)) + [("message", "elsewhere", t) for t in ALSO]
    for kind, place, wanted in found:
        if kind.startswith("habit") or shown(kind, wanted, messages, text):
            continue
        full = f"{place}: {'expected ' if kind == 'expected' else ''}{wanted}"
        if not any(re.search(p, full) for p in NOT_SHOWN):
            yield f"{place}: no entry shows the {kind} “{wanted}”"


def check_words(exe, root, text):
    """The table of words is habits.def, and each row's hint is given."""
    rows = re.findall(r"(?m)^\| `(\w+)` \| (.*) \|$", text)
    source = [(k[6:], h) for k, _, h in diagnostic_sources.all_texts(root) if k.startswith("habit")]
    want = [(w, h.replace("|", "\\|")) for w, h in source]
    for row in set(rows) ^ set(want):
        yield f"the table of words and habits.def differ in {row}"
    with tempfile.TemporaryDirectory() as folder:
        for word, hint in source:
            status, stderr = run(exe, folder, ["atled", word_program(word)], "word.atl", ["--jit=off"], folder)
            if status != 65 or f"hint: {hint}\n" not in stderr:
                yield f"`{word}` doesn't give its hint, but\n{stderr}"


def word_program(word):
    """A program with the word where it has no meaning: in a value, or where it can only be a type in a type."""
    if word in ("array", "vector", "matrix", "double", "real", "integer", "boolean", "char", "void"):
        return f"let f (x : {word}) = x\n"
    return f"let f x = {word} {word}\n" if word not in ("and",) else "let f x = (x and x)\n"


def update(path, text, entries, results):
    lines = text.split("\n")
    for entry, (_, block, code) in reversed(list(zip(entries, results))):
        said = next((b for b in entry.blocks if b[0].startswith("text status")), None)
        if said and block:
            lines[said[2] - 1:said[3]] = ["```" + block[0], *block[1].rstrip("\n").split("\n"), "```"]
        lines[entry.line:entry.line + (entry.code is not None)] = [code_line(code)] if code else []
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))


def main():
    args = [a for a in sys.argv[1:] if a != "--update"]
    if len(args) != 3 or args[0] != "--atled":
        sys.exit(__doc__)
    exe, path = os.path.abspath(args[1]), args[2]
    root = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    with open(path, encoding="utf-8") as f:
        text = f.read()
    entries = entries_of(text)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda e: check(exe, e), entries))
    if "--update" in sys.argv:
        update(path, text, entries, results)
    problems = [f"{path}:{e.line}: {e.title}: {p}" for e, (ps, _, _) in zip(entries, results) for p in ps]
    titles = [e.title for e in entries]
    problems += [f"two entries are called “{t}”" for t in sorted(set(titles)) if titles.count(t) > 1]
    problems += [*missing(root, entries), *check_words(exe, root, text)]
    print("\n".join(problems + [f"{len(entries)} diagnostics, {len(problems)} problems"]))
    sys.exit(1 if problems else 0)


main()
