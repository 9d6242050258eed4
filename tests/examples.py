# SPDX-License-Identifier: MIT
"""Programs that carry what they print, as comments: what run_docs.py, run_language.py and check_reference.py share.

`# => TEXT`        one line of the output, in order; behind code or on a line of its own
`# error: TEXT`    the program ends with an error whose message for this very line contains TEXT
`# fails: TEXT`    the same for a line of another file
`# warning: TEXT`  the same for a warning, after which the program goes on
`# args: A B`      arguments of the program
`# input: TEXT`    a line of its standard input, in order
`# options: A B`   options of the command, or `test`
`# status: N`      its exit status

Two outputs are the same where their texts are, but floats may differ by a relative 1e-9.
A program is a text file's lines with all that is not part of it left blank, so that line numbers stay true."""
import concurrent.futures
import os
import re
import subprocess
import tempfile

FLOAT = re.compile(r"(?<![\w.])-?(?:\d+\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+)(?![\w.])")
MARK = re.compile(r"# (=>|error:|warning:|fails:) ?((?:(?! # (?:=>|error:|warning:)).)*)")


class Program:
    """Some lines of a file as a program: `lines` maps line numbers (from 1) to text."""

    def __init__(self, path, lines):
        self.path, self.lines = path, dict(lines)
        self.output, self.errors, self.warnings, self.args, self.options, self.status = [], [], [], [], [], None
        self.input = ""
        for n, line in sorted(self.lines.items()):
            if line.startswith("# input: "):
                self.input += line[len("# input: "):] + "\n"
            given = re.match(r"# (args|options|status): (.*)", line)
            if given:
                setattr(self, given.group(1), given.group(2).split())
            for kind, text in MARK.findall(line):
                if kind == "=>":
                    self.output.append(text.rstrip())
                else:
                    place = None if kind == "fails:" else n
                    (self.warnings if kind == "warning:" else self.errors).append((place, text.strip()))
        self.first = min(self.lines, default=1)

    def text(self):
        return "".join(self.lines.get(n, "") + "\n" for n in range(1, max(self.lines, default=0) + 1))


def same_line(got, want):
    if got.rstrip() == want:
        return True
    a, b = FLOAT.findall(got), FLOAT.findall(want)
    return (FLOAT.sub("#", got) == FLOAT.sub("#", want)
            and all(abs(float(x) - float(y)) <= 1e-9 * max(abs(float(x)), abs(float(y))) for x, y in zip(a, b)))


def output_problem(program, got):
    for g, w in zip(got, program.output):
        if not same_line(g, w):
            return f"printed {g!r}, expected {w!r}"
    if len(got) != len(program.output):
        return f"{len(got)} lines of output, expected {len(program.output)}: the first that differ are " + repr(
            (got + program.output)[min(len(got), len(program.output)):][:2])
    return None


def diagnostics(stderr, name):
    """The diagnostics in stderr as (line or None, text), without the source that they quote, which has the comments."""
    parts = re.split(r"(?m)^(?=\S+: (?:error|warning):)", stderr)
    found = []
    for part in parts:
        place = re.search(re.escape(name) + r":(\d+)", part)
        found.append((int(place.group(1)) if place else None, re.sub(r"(?m)^ *\d+ \| .*\n", "", part)))
    return found


def other_warnings(stderr):
    """Without those that foresee an error which then ends the program at the same place."""
    errors, warnings = (re.findall(rf"(?m)^(\S+): {kind}:", stderr) for kind in ("error", "warning"))
    return [place for place in warnings if place not in errors]


def diagnostics_problem(program, stderr, name):
    found = diagnostics(stderr, name)
    for n, text in program.errors + program.warnings:
        if not any(n in (line, None) and text in part for line, part in found):
            return f"no message for line {n} with {text!r}; standard error is:\n{stderr.strip()[:700]}"
    count = len(other_warnings(stderr))
    if count != len(program.warnings):
        return f"{count} warnings, expected {len(program.warnings)}:\n{stderr.strip()[:700]}"
    return None


COMPILE_ERROR = 65


def problem(exe, program, options, folder, cache):
    """Runs a program from `folder`; its exit status, and None or what is wrong."""
    name = os.path.basename(program.path)
    env = dict(os.environ, XDG_CACHE_HOME=cache, ATLED_CACHE=cache)
    if "--jit=auto" in options and "ATLED_COIN" not in env:
        env["ATLED_CACHE"] = ""  # else what isn't compiled at the end goes on, for nobody
    try:
        r = subprocess.run([exe, *program.options, *options, name, *program.args], cwd=folder, capture_output=True, text=True,
                           timeout=60, env=env, input=program.input)
    except subprocess.TimeoutExpired:
        return None, "no end within 60 s"
    return r.returncode, difference(program, r, name)


def difference(program, r, name):
    if program.status:
        if [str(r.returncode)] != program.status:
            return f"status {r.returncode}, expected {program.status[0]}"
    elif program.errors and not 0 < r.returncode < 128:
        return f"status {r.returncode}, expected an error"
    elif not program.errors and r.returncode != 0:
        return f"status {r.returncode}: {r.stderr.strip()[:700]}"
    return diagnostics_problem(program, r.stderr, name) or output_problem(program, r.stdout.splitlines())


def run_one(exe, program, modes):
    """The problems of a program in every mode, or in one if it doesn't even compile. Its folder has links to its
    neighbours."""
    problems = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        home = os.path.dirname(os.path.abspath(program.path))
        name = os.path.basename(program.path)
        for other in os.listdir(home):
            if other != name:
                os.symlink(os.path.join(home, other), os.path.join(folder, other))
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(program.text())
        for options in modes:
            status, why = problem(exe, program, options, folder, cache)
            if why:
                problems.append(f"{program.path}:{program.first}: {' '.join(options)}: {why}")
            if status == COMPILE_ERROR:
                break
    return problems


def run_all(exe, programs, modes):
    """Runs programs two at a time, prints their problems, and returns how many had any."""
    exe, failed = os.path.abspath(exe), 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for problems in pool.map(lambda p: run_one(exe, p, modes), programs):
            failed += bool(problems)
            if problems:
                print("\n".join(problems))
    print(f"{len(programs) - failed} of {len(programs)} programs hold")
    return failed


def split_at_rules(path, text):
    """The programs of a golden test: those between lines `# ---`; what stands before the first such line that
    begins with `# ===` belongs to every program after it."""
    common, current, programs = {}, {}, []
    for n, line in enumerate(text.splitlines(), 1):
        if line.startswith("# ==="):
            common, current = current, {}
        elif line.startswith("# ---"):
            programs.append(Program(path, {**common, **current}))
            current = {}
        else:
            current[n] = line
    programs.append(Program(path, {**common, **current}))
    return [p for p in programs if any(re.sub(r"#.*", "", line).strip() for line in p.lines.values())]
