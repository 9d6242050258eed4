# SPDX-License-Identifier: MIT
"""What goes wrong, as exceptions. `str` of one is the whole message with its source lines, as the command prints it."""
from . import _library as c


class Error(Exception):
    """An error of Atled. kind: a stable short name ("type-mismatch", "index", …); message: one line; file, line, column: the
    place, or None and 0."""

    def __init__(self, kind, message, file=None, line=0, column=0, rendered=None):
        super().__init__(rendered.rstrip("\n") if rendered else message)
        self.kind, self.message, self.file, self.line, self.column = kind, message, file, line, column


class CompileError(Error):
    """The source, or the expression, doesn't compile."""


class EvaluationError(Error, RuntimeError):
    """The program failed while it ran, or was stopped."""


class ArgumentError(Error, TypeError):
    """The arguments don't fit the function's type."""


class OutOfMemory(Error, MemoryError):
    """The memory limit of the VM, or of the machine."""


class Exit(Error):
    """The program called `exit`. status: with this number."""

    def __init__(self, status):
        super().__init__("exit", f"the program called exit {status}")
        self.status = status


_KINDS = {c.COMPILE_ERROR: CompileError, c.RUNTIME_ERROR: EvaluationError, c.INCOMPLETE: CompileError,
          c.BAD_ARGUMENT: ArgumentError, c.NO_MEMORY: OutOfMemory}


def _text(b):
    return b.decode() if b is not None else None


def error_of(vm, status):
    """The exception for a failed call on the VM (an address), whose lock the caller holds."""
    if status == c.EXIT:
        return Exit(c.lib.atled_exit_status(vm))
    kind, found = _KINDS.get(status, Error), c.lib.atled_error(vm)
    if not found:
        return kind("error", f"status {status}")
    d = found.contents
    return kind(_text(d.kind), _text(d.message), _text(d.file), d.line, d.column, _text(d.rendered))
