# SPDX-License-Identifier: MIT
"""Lines of a cell that begin with a colon: the commands of the prompt (repl/commands.def) that make sense in a notebook.

A command is a function (session, rest of the line, cell) that says what it has to. It returns None, or why it
can't be carried out."""
import collections
import ctypes
import pathlib
import re
import shutil
import subprocess
import time

from .. import _library as c

_lib, _byref = c.lib, ctypes.byref
# Where a command stands: what messages call the cell; is it the cell's last line?
Cell = collections.namedtuple("Cell", "name is_last")
STAGES = ("parsed", "typed", "built", "optimised", "differentiated", "lowered", "final", "limits", "remarks")
ALIASES = {"t": "type", "h": "help", "?": "help", "l": "load", "i": "info", "b": "browse", "d": "doc", "s": "search", "q": "quit", "exit": "quit"}


def seconds_text(seconds):
    for unit, name in (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def about_text(name, a):
    """What `:info` says: kind, type, documentation, place."""
    text = f"{a['kind']} {name}" + (f" : {a['type']}" if a["type"] else "") + "\n" + (a["doc"] or "")
    if a["kind"] == "type" and a["source"]:
        text += a["source"]
    if a["file"]:
        text += f"defined in {a['file']}" + (f", line {a['line']}" if a["line"] else "") + "\n"
    return text


# ---- Names ---------------------------------------------------------------------------------------------------
def _type(session, rest, cell):
    text = ctypes.c_char_p()
    session.finish(_lib.atled_type(session._vm, rest.encode(), _byref(text)))
    session.host.say(text.value.decode().rstrip("\n") + "\n")


def _about(session, rest):
    """What is known of the name; an error of the cell where it means nothing."""
    a = session.about(rest)
    if a is None:
        session.finish(c.BAD_ARGUMENT)
    return a


def _info(session, rest, cell):
    session.host.say(about_text(rest, _about(session, rest)))


def _doc(session, rest, cell):
    a = _about(session, rest)
    if a["kind"] == "module":
        session.host.say(about_text(rest, a) + f"`:browse {rest}` lists its names\n")
    elif a["kind"] != "value":
        session.host.say(about_text(rest, a))
    else:
        text = ctypes.c_char_p()
        session.finish(_lib.atled_doc(session._vm, rest.encode(), _byref(text)))
        session.host.say(text.value.decode().rstrip("\n") + "\n")


def _source(session, rest, cell):
    a = _about(session, rest)
    if a["source"] is None:
        return f"`{rest}` is all of {a['file']}; `:browse {rest}` lists its names"
    session.host.say(f"# {a['file']}, line {a['line']}\n{a['source']}")
    return None


def _say_names(session, names):
    for full in names:
        a = session.about(full)
        if a:
            session.host.say(f"{full} : {a['type']}\n" if a["type"] else f"{a['kind']} {full}\n")


def _browse(session, rest, cell):
    if rest:
        a = _about(session, rest)
        if a["kind"] != "module":
            return f"`{rest}` is no module, but a {a['kind']}"
        _say_names(session, [f"{rest}.{n}" for n in session.complete(f"{rest}.")[0]])
        return None
    own = [(n, session.about(n)) for n in session.names(lambda w: _lib.atled_names(session._vm, b"", w))]
    own = [(n, a) for n, a in own if a and a["file"] and a["file"] != "prelude.atl" and a["kind"] != "module"]
    for n, a in own:
        session.host.say(f"{n} : {a['type'] or a['kind']}\n")
    modules = [n[:-1] for n in session.complete("")[0] if n.endswith(".")]
    session.host.say(("modules: " if own else "nothing is defined yet; modules: ") + " ".join(modules) + "\n")
    return None


def _search(session, rest, cell):
    words, n = ctypes.POINTER(ctypes.c_char_p)(), ctypes.c_int()
    session.finish(_lib.atled_search(session._vm, rest.encode(), _byref(words), _byref(n)))
    found = [words[i].decode() for i in range(n.value)]
    _say_names(session, found)
    if not found:
        session.host.say("nothing was found\n")


# ---- Running -------------------------------------------------------------------------------------------------
def _load(session, rest, cell):
    path = pathlib.Path(rest.strip('"')).expanduser()
    session.finish(_lib.atled_eval_file(session._vm, str(path).encode()))
    session._show_results(False)


def _time(session, rest, cell):
    start = time.perf_counter()
    session.enter(rest.encode(), cell.name, cell.is_last)
    session.host.say(f"time: {seconds_text(time.perf_counter() - start)}\n")


def _bench(session, rest, cell):
    session.run_bench(b'bench "" = ' + rest.encode(), "<bench>", False)


def _jit(session, rest, cell):
    if not rest:
        session.host.say(session.jit + "\n")
    elif rest not in c.JIT:
        return f"`:jit` takes off, auto or always, not `{rest}`"
    else:
        session.jit = rest
        _lib.atled_set_jit(session._vm, c.JIT.index(rest))
    return None


def _trap(session, rest, cell):
    if not rest:
        session.host.say(session.trap + "\n")
    elif rest not in c.TRAPS:
        return f"`:trap` takes off, nan or inf, not `{rest}`"
    else:
        session.trap = rest
        _lib.atled_set_trap(session._vm, c.TRAPS.index(rest))
    return None


# ---- Derivatives ---------------------------------------------------------------------------------------------
def _grad(session, rest, cell):
    text = ctypes.c_char_p()
    session.finish(_lib.atled_derivative_source(session._vm, b"<expression>", b"", rest.encode(), _byref(text)))
    session.host.say(text.value.decode())


def _study(session, study, rest):
    text = ctypes.c_char_p()
    session.finish(_lib.atled_study(session._vm, study, rest.encode(), _byref(text)))
    session.host.say(text.value.decode())


def _why(session, rest, cell):
    _study(session, c.STUDY_WHY, rest)


def _cost(session, rest, cell):
    _study(session, c.STUDY_COST, rest)


def _check(session, rest, cell):
    session.finish(_lib.atled_eval(session._vm, b"<check>", f"print (Test.report {rest})".encode()))


def _undo(session, rest, cell):
    names = session.undo()
    if names is None:
        return "there is nothing to take back"
    session.host.say("taken back" + (": " + ", ".join(f"`{n}`" for n in reversed(names)) if names else "") + "\n")
    return None


def _clear(session, rest, cell):
    if rest != "all":
        return f"`:clear` takes `all`, not `{rest}`"
    while session.undo() is not None:
        pass
    return None


def _quit(session, rest, cell):
    session.is_left = True


# ---- The compiler, settings, help ----------------------------------------------------------------------------
def _ir(session, rest, cell):
    option = re.match(r"--(?:stage=)?(\S*)\s*", rest)
    stage = option[1] if option else "final"
    if stage not in STAGES:
        return f"no stage `{stage}`; there are {', '.join(STAGES)}"
    expression = rest[option.end():] if option else rest
    if not expression:
        return "an expression is missing: `:ir [--STAGE] EXPR`"
    is_name = stage not in ("parsed", "typed") and re.fullmatch(r"[A-Za-z_][\w']*", expression, re.A)
    text, source, of = ctypes.c_char_p(), expression.encode(), None
    if is_name:  # its function's graph, which no item of a program that only uses it would show
        source, of = b"", source
    session.finish(_lib.atled_ir(session._vm, b"<expression>", source, STAGES.index(stage), False, of, _byref(text)))
    session.host.say(text.value.decode().rstrip("\n") + "\n")
    return None


def _explain(session, rest, cell):
    code = rest or session.last_error
    beside = pathlib.Path(_lib._name).resolve().parent.parent / "bin" / "atled"
    exe = str(beside) if beside.exists() else shutil.which("atled")
    if not code:
        return "there was no error yet; `:explain CODE` explains one by its code"
    if not exe:
        return "the program `atled`, which has the explanations, isn't in the PATH"
    r = subprocess.run([exe, "explain", code], capture_output=True, text=True, timeout=30, check=False)
    if r.returncode:
        return f"nothing is explained under `{code}`"
    session.host.say(r.stdout)
    return None


def _set(session, rest, cell):
    words = rest.replace("=", " ").split()
    settings = session.settings
    if words and words[0] not in settings:
        return f"no setting `{words[0]}`; there are {', '.join(settings)}"
    if len(words) == 2 and words[1].isdecimal() and int(words[1]) <= 1000000:
        settings[words[0]] = int(words[1])
    elif len(words) > 1:
        return f"`{words[0]}` is a number, 0 or more, not `{' '.join(words[1:])}`"
    else:
        for n in words or settings:
            session.host.say(f"{n} {settings[n]}  {SETTINGS[n]}\n")
    return None


def _help(session, rest, cell):
    word = rest.lstrip(":")
    if rest and find(word) is None and word not in SETTINGS:
        return _doc(session, rest, cell)
    for n, (arguments, what, _) in COMMANDS.items():
        if not rest or find(word) == n:
            session.host.say(f"  :{n} {arguments}".ljust(28) + f"{what}\n")
    for n, what in SETTINGS.items():
        if not rest or word == n:
            session.host.say(f"  :set {n} NUMBER".ljust(28) + f"{what}\n")
    return None


# name -> arguments (in brackets: they may be missing), what it does, the function. The texts are those of the prompt.
COMMANDS = {
    "help": ("[TOPIC]", "this list; or what a command, a setting or a name is for", _help),
    "type": ("EXPR", "the type of an expression, without evaluating it", _type),
    "info": ("NAME", "all about a name: its type, what it is for, where it is defined", _info),
    "doc": ("NAME", "what a name is for, and its type", _doc),
    "source": ("NAME", "the text of a definition", _source),
    "browse": ("[MODULE]", "the names of a module with their types; alone: those of the session, and the modules", _browse),
    "search": ("WORD or TYPE", "modules and names with a word in them, else in their documentation; or values that can be "
               "used at a type: `:search float[] -> float`", _search),
    "load": ("FILE", "evaluate a file", _load),
    "time": ("EXPR", "evaluate, and say how long that took", _time),
    "bench": ("EXPR", "evaluate again and again, as machine code: median time, its spread, how many times", _bench),
    "why": ("F [X]", "by which paths the floats of X reach the value of F, and where these are cut off from its derivative: "
            "ints, comparisons, steps, `stop_gradient`; with X also what happens there: derivatives that vanish, ties, branches", _why),
    "cost": ("F [X]", "operations, bytes and tape of F and its gradient by line, before they run: formulas in the sizes of "
             "an argument; or numbers for X", _cost),
    "check": ("F X", "the gradient of F at X beside differences of high order: how many digits agree, the worst place, and "
              "all that is wrong", _check),
    "grad": ("FUNCTION", "the gradient of a function as source: a program of its own that computes the same without a "
             "derivative", _grad),
    "ir": ("[--STAGE] EXPR", "what the compiler makes of an expression or function: `--typed`, `--differentiated`, "
           "`--lowered`, …", _ir),
    "explain": ("[CODE]", "what an error means, with an example; alone: the last error", _explain),
    "set": ("[NAME [VALUE]]", "change a setting; alone: show them", _set),
    "jit": ("[off|auto|always]", "when to compile to machine code", _jit),
    "trap": ("[off|nan|inf]", "stop where an operation or its derivative yields NaN, or an infinity too (`inf`), and say "
             "which: of what is entered from now on; alone: show", _trap),
    "undo": ("", "take back what the last entry defined: its names mean again what they did before; effects stay", _undo),
    "clear": ("all", "take back all that the session defined", _clear),
    "quit": ("", "leave; so does Ctrl-D", _quit),
}
SETTINGS = {"digits": "significant digits of floats in arrays and tables; 17: all",
            "width": "columns to which values are cut; 0: 100",
            "height": "lines to which values are cut; 0: 30"}


def find(word):
    """The command that the word is or, alone, begins; None: none or several."""
    word = ALIASES.get(word, word)
    begun = [n for n in COMMANDS if n.startswith(word)] if word else []
    return word if word in COMMANDS else begun[0] if len(begun) == 1 else None


def run(session, line, cell):
    """Carries a line out. Why it can't be, or None."""
    word, _, rest = line[1:].partition(" ")
    command, rest = find(word), rest.strip()
    if command is None:
        return f"no command `:{word}` in a notebook; `:help` lists them"
    arguments, _, function = COMMANDS[command]
    if arguments and not arguments.startswith("[") and not rest:
        return f"something is missing: `:{command} {arguments}`"
    return function(session, rest, cell)


def complete(line):
    """(words, the character where the last one begins) in a line with a command; None: where an expression or a name stands."""
    name, _, rest = line[1:].partition(" ")
    if " " not in line:
        return [n for n in COMMANDS if n.startswith(name)], 1
    offered = {"set": SETTINGS, "jit": c.JIT, "trap": c.TRAPS, "help": COMMANDS, "clear": ["all"]}.get(find(name))
    if offered is None or " " in rest:
        return None if offered is None else ([], len(line))
    return [w for w in offered if w.startswith(rest)], len(line) - len(rest)
