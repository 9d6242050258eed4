# SPDX-License-Identifier: MIT
"""The VM of a notebook: evaluates cells as the prompt evaluates entries, and answers questions about names.

A cell is a text of items and of commands, lines that begin with a colon. Items are evaluated one after the other, each as a
part of the main program; a rule (`pullback`, `tangent`) goes with its function, also where that is in an earlier cell. What
follows an item that failed isn't evaluated. What a cell gives goes to a Host, in order.

One thread uses a session at a time, but for `interrupt`."""
import collections
import ctypes
import errno
import json
import re

from .. import _library as c
from .._functions import Program, _Entry
from . import commands, tables

_lib, _byref = c.lib, ctypes.byref
SETTINGS = {"digits": 5, "width": 0, "height": 0}
COLUMNS, LINES = 100, 30
_KINDS = {"function": "function", "field": "property", "constructor": "class"}
_NAME = r"[^\W\d][\w']*"
PATH = re.compile(rf"{_NAME}(?:\.{_NAME})*")

Problem = collections.namedtuple("Problem", "kind message rendered is_error")
Shown = collections.namedtuple("Shown", "name type text")


class Host:
    """What a session tells; all functions are called by the thread that evaluates."""

    def output(self, stream, text):
        """Text (bytes) of the program: stream 0 for output, 1 for errors. False: no more is taken."""

    def display(self, media_type, data, text):
        """What the program shows, and the same as text. False: no more is taken."""

    def read(self):
        """A line of input with its end, as bytes; empty at the end; OSError: there is none."""

    def say(self, text):
        """Lines about the cell: definitions with their types, what commands print."""

    def warn(self, text):
        """The text of a warning."""

    def result(self, data):
        """The value of the cell's last expression: media type -> text."""


class CellError(Exception):
    """A cell has failed. kind, message; lines: the text for a person."""

    def __init__(self, kind, message, lines):
        super().__init__(message)
        self.kind, self.message, self.lines = kind, message, lines


def encoded(text):
    """As the library takes text: a zero byte in it is an error of the source, not its end."""
    return text.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


def decoded(text):
    return text.decode("utf-8", "replace")


def first_line(text):
    """The text from its first line on that is neither blank nor a comment."""
    return re.sub(rb"\A(?:[ \t]*(?:#[^\n]*)?\n)+", b"", text)


def begins_with(text, *words):
    return re.match(rb"(?:%s)[ \t\n]" % b"|".join(words), first_line(text)) is not None


def is_item_of(text, word):
    """Is it `word "name" = …`?"""
    return re.match(rb'%s[ \t\n]*"' % word, first_line(text)) is not None


class Session(Program):
    """host: a Host. The options are those of Program."""

    _stops_at_interrupts = False  # by itself: the kernel knows which cell an interrupt means

    def __init__(self, host, **options):
        self.host, self.settings, self.last_error = host, dict(SETTINGS), None
        self.is_left = False  # by `:quit`
        self.trap = c.TRAPS[0]
        self._function = None  # the item evaluated before, with its rules, if it is a definition
        self._input = b""
        super().__init__(**options)
        self._first_undo = _lib.atled_undo(self._vm, None)

    # ---- Streams ----------------------------------------------------------------------------------------------
    def _connect(self, config):
        self.jit = c.JIT[config.jit]
        config.colour = config.errors_on_terminal = True
        self._callbacks = c.OUTPUT(self._write), c.INPUT(self._read), c.DISPLAY(self._display)
        config.output, config.input, config.display = self._callbacks

    def _write(self, user, stream, text, length):
        try:
            return self.host.output(stream, ctypes.string_at(text, length)) is not False
        except Exception:  # noqa: BLE001: nothing may be raised through the library
            return False

    def _display(self, user, shown):
        try:
            d = shown.contents
            data, text = ctypes.string_at(d.data, d.length), ctypes.string_at(d.text, d.text_length)
            return self.host.display(d.media_type.decode(), decoded(data), decoded(text)) is not False
        except Exception:  # noqa: BLE001
            return False

    def _read(self, user, buffer, size):
        try:
            self._input = self._input or self.host.read()
            piece, self._input = self._input[:size], self._input[size:]
            ctypes.memmove(buffer, piece, len(piece))
            return len(piece)
        except OSError as e:
            ctypes.set_errno(e.errno)
        except Exception:  # noqa: BLE001
            ctypes.set_errno(errno.EIO)
        return -1

    # ---- Cells ------------------------------------------------------------------------------------------------
    def begin_cell(self):
        """Before a cell is handed to the thread that evaluates: from now on `interrupt` means that cell."""
        _lib.atled_clear_interrupt(self._vm)

    def run_cell(self, text, name):
        """Evaluates a cell that messages call `name`. CellError where it fails."""
        with self._lock:
            self._release_dead()
            self._types.clear()
            chunks = list(self._chunks(encoded(text)))
            for i, (is_command, chunk) in enumerate(chunks):
                if is_command:
                    self._run_command(decoded(chunk).strip(), name, i == len(chunks) - 1)
                else:
                    self.enter(chunk, name, i == len(chunks) - 1)

    def _chunks(self, text):
        """(is it a command?, text) of commands and of the items between them, each behind as many ends of lines as stand
        above it. A line that begins with a colon within an item isn't a command."""
        lines, chunk, above = text.split(b"\n"), b"", 0
        for number, line in enumerate(lines):
            if line.startswith(b":") and (not chunk.strip() or self._status(chunk) != c.INCOMPLETE):
                if chunk.strip():
                    yield False, b"\n" * above + chunk
                yield True, line
                chunk, above = b"", number + 1
            else:
                chunk += line + b"\n"
        if chunk.strip():
            yield False, b"\n" * above + chunk.rstrip()

    def _run_command(self, line, name, is_last):
        failed = commands.run(self, line, commands.Cell(name, is_last))
        if failed:
            raise CellError("command", failed, [failed])

    def enter(self, text, name, is_last):
        """Evaluates items; is_last: they end the cell, whose result is the value of the last one."""
        pieces = self._pieces(text)
        failed_tests = []
        for i, piece in enumerate(pieces):
            try:
                self._enter_item(piece, name, is_last and i == len(pieces) - 1, failed_tests)
            except CellError as e:
                left = len(pieces) - 1 - i
                if left:
                    e.lines.append(f"{left} item{'s' * (left > 1)} behind the error {'were' if left > 1 else 'was'}n't evaluated")
                raise
        if failed_tests:
            n = len(failed_tests)
            raise CellError("test", f"{n} test{'s' * (n > 1)} failed", failed_tests)

    def _items(self, text):
        """(status of the syntax, the byte at which each item begins)"""
        starts, n = ctypes.POINTER(ctypes.c_size_t)(), ctypes.c_int()
        status = _lib.atled_items(self._vm, text, _byref(starts), _byref(n))
        return status, starts[:n.value] if n.value else []

    def _status(self, text):
        return self._items(text)[0]

    def _pieces(self, text):
        """The items, each behind as many ends of lines as stand above it; rules are with their functions."""
        _, starts = self._items(text)
        starts = [0] + [s for s in starts[1:] if not begins_with(text[s:], b"pullback", b"tangent")] + [len(text)]
        return [b"\n" * text.count(b"\n", 0, a) + text[a:b] for a, b in zip(starts, starts[1:])]

    def _enter_item(self, text, name, is_last, failed_tests):
        alone = text
        if self._function and begins_with(text, b"pullback", b"tangent"):
            text = self._function + b"\n" + text.lstrip(b"\n")  # the function is defined again, with the rule
        self._function = None
        if is_item_of(alone, b"test"):
            self._finish(self._run_test(text, name, failed_tests))
        elif is_item_of(alone, b"bench"):
            self.run_bench(text, name)
        else:
            self._finish(_lib.atled_enter(self._vm, name.encode(), text))
            self._show_results(is_last)
            if text is not alone or begins_with(text, b"let", b"foreign"):
                self._function = text.lstrip(b"\n")

    def _run_test(self, text, name, failed):
        def report(user, test, line, message):
            if message is None:
                self.host.say(f'passed: "{decoded(test)}"\n')
            else:
                failed.append(f'FAILED: "{decoded(test)}": {decoded(message)}'.rstrip("\n"))

        return _lib.atled_test(self._vm, name.encode(), text, c.TEST_REPORT(report), None)

    def run_bench(self, text, name, titled=True):
        def report(user, bench):
            b = bench.contents
            title = f'"{decoded(b.name)}": ' if titled else ""
            if b.message is not None:
                self.host.warn(title + decoded(b.message).rstrip("\n") + "\n")
            else:
                self.host.say(f"{title}{commands.seconds_text(b.median)} ± {commands.seconds_text(b.spread)} "
                              f"(best {commands.seconds_text(b.best)}, {b.runs} runs)\n")

        if self.jit == "auto":
            _lib.atled_set_jit(self._vm, c.JIT.index("always"))
        status = _lib.atled_bench(self._vm, name.encode(), text, c.BENCH_REPORT(report), None)
        problems = self._problems()
        _lib.atled_set_jit(self._vm, c.JIT.index(self.jit))
        self._finish(status, problems)

    # ---- What was said ------------------------------------------------------------------------------------------
    def _problems(self):
        found = []
        for i in range(_lib.atled_diagnostic_count(self._vm)):
            d = _lib.atled_diagnostic(self._vm, i).contents
            found.append(Problem(decoded(d.kind), decoded(d.message), decoded(d.rendered).rstrip("\n"), d.severity == 0))
        return found

    def _finish(self, status, problems=None):
        """Says the warnings of the last call, and raises its errors."""
        problems = self._problems() if problems is None else problems
        errors = [p for p in problems if p.is_error]
        for p in problems:
            if not p.is_error:
                self.host.warn(p.rendered + "\n")
        if status in (c.OK, c.TEST_FAILURE):
            return
        if status == c.EXIT:
            number = _lib.atled_exit_status(self._vm)
            raise CellError("exit", f"the program called exit {number}", [f"the program called exit {number}"])
        if errors:
            self.last_error = errors[0].kind
            raise CellError(errors[0].kind, errors[0].message, [p.rendered for p in errors])
        raise CellError("error", "no memory" if status == c.NO_MEMORY else f"status {status}", [])

    def finish(self, status):
        """For commands: says and raises what the last call came to."""
        self._finish(status)

    # ---- Values -------------------------------------------------------------------------------------------------
    def _shown(self, i):
        view = c.View(self.settings["width"] or COLUMNS, self.settings["height"] or LINES, 0, self.settings["digits"])
        r = c.Result()
        if not _lib.atled_result_view_sized(self._vm, i, _byref(view), ctypes.sizeof(view), _byref(r), ctypes.sizeof(r)):
            self._finish(c.RUNTIME_ERROR)
        return Shown(r.name and decoded(r.name), decoded(r.type), decoded(r.value))

    def _show_results(self, is_last):
        """Says each as the prompt does; the value of an expression at the end is the cell's result."""
        shown = [self._shown(i) for i in range(_lib.atled_result_count(self._vm))]
        for i, r in enumerate(shown):
            if r.name is None and r.type == "unit":
                continue
            line = f"{r.name or '-'} : {r.type} ={'' if r.text.startswith(chr(10)) else ' '}{r.text}"
            if is_last and i == len(shown) - 1 and r.name in ("it", None):
                self.host.result({"text/plain": line, **self._rich(r)})
            else:
                self.host.say(line + "\n")

    def _rich(self, r):
        """The value `it` in other forms; none where making them fails, as by an interrupt."""
        if r.name != "it" or not tables.is_rich(r.type):
            return {}
        try:
            return tables.rich(self, r.type, self.settings["digits"])
        except Exception:  # noqa: BLE001: the text is the value in any case
            return {}

    def value(self, expression):
        """The Python value of an expression."""
        return _Entry(self, expression, None).call(())

    def type_tree(self, expression):
        entry = _Entry(self, expression, None)
        return entry, entry.signature.result.type.contents

    def evaluate_expression(self, expression):
        """Its value as text, without a name for it. CellError where it fails."""
        with self._lock:
            self._finish(_lib.atled_eval(self._vm, b"<expression>", encoded(expression)))
            n = _lib.atled_result_count(self._vm)
            return self._shown(n - 1).text if n else ""

    # ---- Questions ----------------------------------------------------------------------------------------------
    def state_of(self, text):
        """"complete", "incomplete" or "invalid": whether the text is a whole entry, as at the prompt. One of several lines
        that could go on ends by an empty line."""
        with self._lock:
            source = encoded(text)
            if not source.strip() or source.lstrip().startswith(b":") or re.search(rb"\n[ \t]*\n?\Z", source):
                return "complete"
            status = self._status(source)
            if status == c.INCOMPLETE:
                return "incomplete"
            if status != c.OK:
                return "invalid"
            return "incomplete" if b"\n" in source.strip() or self._lacks_else(source) else "complete"

    def _lacks_else(self, source):
        """`if c then 1` parses, and is wrong unless an `else` comes."""
        if b"then" not in source or _lib.atled_check(self._vm, b"entry", source) == c.OK:
            return False
        found = _lib.atled_error(self._vm)
        return bool(found) and found.contents.kind == b"missing-else"

    def complete(self, text):
        """(the words that may stand instead of the last word of a text, where that begins)"""
        with self._lock:
            line = text[text.rfind("\n") + 1:]
            if line.startswith(":"):
                offered = commands.complete(line)
                if offered is not None:
                    words, start = offered
                    return words, len(text) - len(line) + start
            source, start, words = encoded(text), ctypes.c_size_t(), ctypes.POINTER(ctypes.c_char_p)()
            n = _lib.atled_complete(self._vm, source, _byref(start), _byref(words))
            known = [decoded(words[i]) for i in range(n)]
            return sorted({*known, *self._own_words(text)}), len(decoded(source[:start.value]))

    def _own_words(self, text):
        """Words that only the cell's text knows: its own definitions, local names, fields. name -> (kind, type or None)"""
        source = encoded(text[max((m.end() for m in re.finditer(r"^:.*\n", text, re.M)), default=0):])
        answer = ctypes.c_char_p()
        query = c.Query(c.ASK_WORDS, b"<cell>", source, len(source), len(source), None)
        if _lib.atled_query_sized(self._vm, _byref(query), ctypes.sizeof(query), _byref(answer)) != c.OK:
            return {}
        words = [w for w in json.loads(answer.value)["words"] if "type" in w or w["what"] in ("local", "field")]
        return {w["name"]: (_KINDS.get(w["what"], "instance"), w.get("type")) for w in words}

    def kinds(self, text, start, words):
        """For each of the words that `complete` gave for a text: ("module", "function", …, its type or None)."""
        path = re.search(r"(?:[^\W\d][\w']*\.)*\Z", text[:start])[0]
        with self._lock:
            own = {} if text[text.rfind("\n") + 1:].startswith(":") else self._own_words(text)
        for word in words:
            if word in own:
                yield own[word]
                continue
            a = {} if word.endswith(".") else self.about(path + word) or {}
            if a.get("kind") == "value":
                yield "function" if "->" in a["type"] else "instance", a["type"]
            else:
                yield {"constructor": "class", "type": "type"}.get(a.get("kind"), "module" if word.endswith(".") else ""), a.get("type")

    def about(self, name):
        """An About with Python's texts for a name, or None."""
        with self._lock:
            a = c.About()
            if _lib.atled_about_sized(self._vm, encoded(name), _byref(a), ctypes.sizeof(a)) != c.OK:
                return None
            texts = {field: getattr(a, field) for field, _ in c.About._fields_}
            return {k: decoded(v) if isinstance(v, bytes) else v for k, v in texts.items()}

    def name_at(self, text, position):
        """The name at a position of a text, or that of the function whose arguments stand before it."""
        for m in PATH.finditer(text):
            if m.start() <= position <= m.end():
                return text[m.start():re.compile(r"[\w']*").match(text, position).end()]
        m = PATH.search(re.split(r"[-=({\[,;|>]|\b(?:in|then|else)\b", text[:position])[-1])
        return m and m[0]

    def describe(self, name, with_source=False):
        """What is known of a name, as text, or None."""
        a = self.about(name)
        if a is None:
            try:
                return f"{name} : {self.type_of(name)}\n"
            except Exception:  # noqa: BLE001: it means nothing
                return None
        text = commands.about_text(name, a)
        if with_source and a["source"] and a["kind"] != "type":
            text += "\n" + a["source"]
        return text

    def names(self, call, *args):
        """The texts that a function of the library gives by pointer and number."""
        words = ctypes.POINTER(ctypes.c_char_p)()
        n = call(*args, _byref(words))
        return [decoded(words[i]) for i in range(n)]

    def undo(self):
        """What was taken back, or None."""
        if _lib.atled_undo(self._vm, None) <= self._first_undo:
            return None
        return self.names(lambda w: _lib.atled_undo(self._vm, w))
